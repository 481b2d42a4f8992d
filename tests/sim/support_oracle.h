/* A slow second opinion on the multigrid's rules, written from their description alone. It shares with the
 * world only the unpacked form of a state (lud_grid_scene) and the spec; it looks everything up by walking
 * over lists and enumerates winners and chances by recursion. */
#pragma once

#include "sim/multigrid/grid_view.h"

/* Receives one outcome (equal ones may come several times, none with probability zero). */
typedef void oracle_emit(void *context, const lud_grid_scene *outcome, double probability);

/* Every outcome of a joint action; `names` are the actions' names. Nothing is emitted at or past the step
 * limit. */
void oracle_outcomes(const lud_grid_spec *spec, const lud_grid_scene *from, const int32_t *actions,
                     const char *const *names, oracle_emit *emit, void *context);
