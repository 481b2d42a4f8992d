/* The delights of the last experiences, and the price that follows from them: what a gate by rate needs where
 * a batch has one row or few, since a quantile of one row always lets it pass. */
#pragma once

#include "learn/store/checkpoint.h"

typedef struct lud_gate_history {
    int64_t capacity; /* delights that are remembered, 0: none, and there is never a price */
    int64_t minimum;  /* delights before there is a price */
    uint64_t n_pushed;
    float *delight; /* [capacity] number i is at i % capacity */
    float *scratch; /* [capacity] */
} lud_gate_history;

/* Takes memory for `capacity` delights (0 is allowed). LUD_ERROR_MEMORY. */
lud_status lud_gate_history_create(lud_gate_history *history, int64_t capacity, int64_t minimum,
                                   lud_error *error);
/* Safe on a zeroed struct. */
void lud_gate_history_destroy(lud_gate_history *history);
/* Remembers delight[n] in this order; the oldest give way. NaN counts as -infinity. */
void lud_gate_history_push(lud_gate_history *history, int64_t n, const float *delight);
/* The (1 - rate) quantile of what is remembered (lud_gate_quantile). False, and nothing set, while there are
 * fewer than the minimum. */
bool lud_gate_history_price(const lud_gate_history *history, double rate, float *price);
/* Saves or loads all of it under `name`; a history of another capacity is refused. */
void lud_gate_history_visit(lud_gate_history *history, lud_checkpoint *checkpoint, const char *name);
