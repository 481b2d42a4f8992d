/* `ludus sweep` over trainings: a candidate is a point of the sweep, trained with every seed. They are the
 * variants of an experiment (cli/experiment), whose processes, marks and tables they share. */
#pragma once

#include "cli/sweep/sweep.h"

/* Trains what is missing and writes OUTPUT/sweep.csv, .md, .tex and runs.csv, also at an interrupt. Says on
 * standard output what was best and what to do next. */
lud_status lud_sweep_train(const lud_sweep *sweep, lud_error *error);
