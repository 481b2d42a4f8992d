/* Equal successors become one. */
#pragma once

#include "sim/world.h"

enum { LUD_MERGER_FEW = 512 };

/* For many outcomes a table of 1 + index of a successor, keyed by the hash of its state; few are compared one
 * by one. */
typedef struct lud_merger {
    uint32_t *slot;
    size_t mask; /* 0: compare one by one */
    uint32_t few[LUD_MERGER_FEW];
} lud_merger;

/* For at most `n` outcomes. Free with lud_merger_end. */
lud_status lud_merger_begin(lud_merger *merger, size_t n, lud_error *error);
/* Keeps the state at out->states[out->n], for which there is room, as a new successor, or adds its
 * probability to the equal one. */
void lud_merger_add(lud_merger *merger, lud_successors *out, double probability);
void lud_merger_end(lud_merger *merger);
