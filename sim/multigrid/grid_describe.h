/* Multigrid states in words. */
#pragma once

#include "sim/multigrid/grid_model.h"

/* lud_world.describe of this world. */
void lud_grid_describe(const lud_model *model, const uint8_t *state, lud_text *out);
/* lud_world.describe_agent: who and where it is, what it carries, what lies ahead, the goals that count most
 * (3 at most), then the things and agents nearest to it (8 at most; distance in steps over open ground, then
 * from north to south and from west to east), each with its way in steps ahead, behind, left and right. */
void lud_grid_tell_agent(const lud_model *model, const uint8_t *state, int agent, lud_text *out);
