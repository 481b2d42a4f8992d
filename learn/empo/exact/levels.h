/* The order of backward induction: levels of states whose successors are all in later levels. */
#pragma once

#include "sim/statespace/statespace.h"

typedef struct lud_empo_levels {
    int n;
    uint64_t *begin;  /* [n + 1] first position of each level */
    uint32_t *order;  /* [n_states] state at each position; null: position and state number are the same */
    bool consecutive; /* successors are always in the very next level */
} lud_empo_levels;

/* The layers of the state space where they serve as levels (worlds that count steps); otherwise levels by the
 * longest way to a terminal state. A cycle is an error. Memory is the arena's. */
lud_status lud_empo_levels_find(const lud_statespace *space, lud_arena *arena, lud_empo_levels *levels,
                                lud_error *error);

static inline uint64_t lud_empo_level_state(const lud_empo_levels *levels, uint64_t position) {
    return levels->order ? levels->order[position] : position;
}
