/* The two readings of the rules: sampling a step and enumerating its successors. */
#pragma once

#include "sim/multigrid/grid_model.h"

/* lud_world's reset, step, successors, all_successors and is_terminal of this world. `step` goes on counting
 * past the step limit; `terminated` is set when all agents are terminated or a goal ends the episode,
 * `truncated` at the step limit. `successors` fails with LUD_ERROR_LIMIT when a joint action has more than
 * 2^24 outcomes before merging. */
void lud_grid_reset(const lud_model *model, lud_range range, uint8_t *states);
void lud_grid_step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                   lud_outcome outcome);
lud_status lud_grid_successors(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                               lud_successors *out, lud_error *error);
lud_status lud_grid_all_successors(const lud_model *model, const uint8_t *state, lud_successors *scratch,
                                   lud_successors *out, uint32_t *count, lud_error *error);
bool lud_grid_is_terminal(const lud_model *model, const uint8_t *state);
/* lud_world's check_state of this world (grid_check.c). */
lud_status lud_grid_check_state(const lud_model *model, const uint8_t *state, lud_error *error);
