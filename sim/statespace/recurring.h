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

/* Puts a state a step later. */
void lud_recurring_advance(const lud_layout *layout, uint8_t *state);
