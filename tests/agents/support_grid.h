/* Small multigrid models for tests of policies, drawn with one character a cell. */
#pragma once

#include "sim/multigrid/grid_model.h"

/* '#' wall, '.' empty, 'L' locked, 'C' closed, 'O' open yellow door, 'k' yellow key, 'K' red key, 'b' block,
 * 'r' rock, 'v' lava, '~' unsteady ground, 'B' bush, '>' 'V' '<' '^' a person facing that way, 'e' a robot
 * facing east. goals: every human may want each of the n_goals rectangles. Free with model->world->free. */
lud_model *grid_create(const char *const *rows, int height, lud_grid_action_set actions,
                       const lud_grid_goal *goals, int n_goals);
/* The model's initial state; the caller frees it. */
uint8_t *grid_start(const lud_model *model);
