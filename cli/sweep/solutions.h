/* `ludus sweep` over exact solutions: one after another, a CSV row each. */
#pragma once

#include "cli/sweep/sweep.h"

/* Solves every point of the sweep, side by side in memory, and writes the table to the sweep's output or to
 * standard output. The file is written anew every few seconds; beside it OUTPUT.state says by what settings,
 * and rows of the same are not solved again. What was finished before Ctrl-C is written. */
lud_status lud_sweep_solve(const lud_sweep *sweep, lud_error *error);
