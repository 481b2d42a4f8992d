/* What an episode of a multigrid is judged by: who is where it wanted to be. */
#pragma once

#include "sim/multigrid/grid_model.h"

/* Describes the measures in the layout; false when memory is out. */
bool lud_grid_compile_measures(lud_grid_model *m);
/* lud_world.measure of this world. */
void lud_grid_measure(const lud_model *model, int n, const uint8_t *states, double *values);
