/* States that were in the layer before, but for their step. Where a world says that the step is all that
 * tells such states apart (lud_layout's `clock`), what follows from the earlier one follows from the later
 * one, a step later: it need not be listed and looked up again. Not for use outside this folder. */
#pragma once

#include "sim/statespace/statespace.h"

#define LUD_NOT_RECURRING UINT32_MAX

/* Whether layers are of one step each: all starts say the same one, and the world counts it in a clock. */
bool lud_recurring_possible(const lud_layout *layout, const uint8_t *starts, int n_starts);

/* For each state of the layer begin..end-1 the number of the same state in the layer earlier_begin..begin-1,
 * or LUD_NOT_RECURRING, also where one of the two has no successors. before[end - begin]. Returns whether
 * there are any. */
bool lud_recurring_find(const lud_statespace *space, uint64_t earlier_begin, uint64_t begin, uint64_t end,
                        int n_threads, uint32_t *before);

/* Marks by 0, in later[end - begin] of which all are LUD_NOT_RECURRING, the states of the layer to which rows
 * of `before` lead. Returns their number. */
uint64_t lud_recurring_mark(const lud_statespace *space, uint64_t begin, uint64_t end, int n_threads,
                            const uint32_t *before, uint32_t *later);

/* The successors of a finished row while the space is built, when distributions are not in it yet. Returns
 * their number. */
static inline uint32_t lud_recurring_row(const lud_statespace *space, uint64_t state, int32_t joint_action,
                                         const uint32_t **successor) {
    const uint32_t *word = &space->rows[state * (uint64_t)space->n_joint_actions + (uint64_t)joint_action];
    *successor = word;
    if (*word < LUD_ROW_BRANCH) return 1;
    if (*word == LUD_ROW_NONE) return 0;
    const uint64_t *begin = &space->branch_begin[*word - LUD_ROW_BRANCH];
    *successor = space->successor + begin[0];
    return (uint32_t)(begin[1] - begin[0]);
}

/* Puts a state a step later. */
void lud_recurring_advance(const lud_layout *layout, uint8_t *state);
