/* What the window's editor solves worlds with. */
#pragma once

#include "base/text.h"
#include "sim/scenario.h"

/* The exact solution of a small world, in memory: its size, and what is worth what at the start. As
 * lud_view_options.solve; `context` is not used. */
lud_status lud_edit_solve(void *context, const lud_scenario *scenario, lud_text *report, lud_error *error);
