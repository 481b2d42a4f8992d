/* People without an open goal: power 0 and an infinite V_r, for which a world cannot be solved. */
#pragma once

#include "learn/empo/layout.h"

/* The failure of a state in which no goal of person `human` (a number of the layout) can be reached any more:
 * LUD_ERROR_INPUT, where it stands and what its goals are. */
lud_status lud_empo_no_open_goal(const lud_model *model, const lud_empo_layout *layout, int human,
                                 const uint8_t *state, lud_error *error);

/* Looks for such a state before a world is solved, from the start that `seed` draws: among the last states of
 * all episodes in which one person acts and the others take their first action (at most some ten thousand
 * states a person), and of some thousand episodes in which everybody acts at random. It finds a cell of open
 * ground without a goal in it or beside it. What it finds would fail in the solution; what it does not find
 * may. LUD_INTERRUPTED. */
lud_status lud_empo_check_open_goals(const lud_model *model, const lud_empo_layout *layout, uint64_t seed,
                                     lud_error *error);
