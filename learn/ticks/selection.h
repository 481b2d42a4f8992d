/* Which experiences of a tick are learned from, and how strongly: from advantages and the log-probabilities
 * of acting to the coefficients of one backward pass.
 *
 * Delight is advantage times surprisal, surprisal -ln of the probability under the weights that acted (mean
 * over the tokens of a reply). The gate decides about the rows (learn/policy_gradient/gate.h); row i of those
 * it keeps enters the loss with the coefficient -w_i A_i / Z by its log-probability. */
#pragma once

#include "learn/policy_gradient/gate.h"

/* What becomes of a tick. */
typedef enum lud_tick_end {
    LUD_TICK_UPDATED,
    LUD_TICK_NO_TRAINABLE, /* nobody of a training team acted */
    LUD_TICK_NO_TOKENS,    /* nobody of them said anything */
    LUD_TICK_GATED_ALL,    /* nothing was worth the price */
    LUD_TICK_NO_SIGNAL,    /* what was kept has no advantage: the gradient would be zero */
    LUD_TICK_ENDS
} lud_tick_end;
extern const char *const lud_tick_end_names[LUD_TICK_ENDS];

/* One tick's experiences; arrays of the caller, each [n]. */
typedef struct lud_tick_selection {
    int64_t n;              /* experiences that are scored, in the order of the batch */
    const float *advantage; /* [n] */
    const float *log_prob;  /* [n] under the weights that acted */
    const float *uniform;   /* [n] draws in [0, 1); null for gates that draw nothing */
    float *delight;         /* [n] result: what the gate compares (its priority) */
    float *weight;          /* [n] result */
    float *scratch;         /* [n] */
    int32_t *kept;          /* [n_kept] result: the rows that are learned from, ascending */
    float *coefficient;     /* [n_kept] result: of the loss by the log-probability of a kept row */
    int64_t n_kept;
    double rate, price; /* in force; price 0 where the gate has none */
    double loss;        /* sum over kept rows of coefficient log_prob */
    double delights;    /* sum over all rows of |advantage log_prob| */
    lud_tick_end end;   /* UPDATED, GATED_ALL or NO_SIGNAL */
} lud_tick_selection;

/* Fills the results. `experiences` were had by all teams, those of the tick among them. A price by history
 * (null: none) follows from what it knew before the tick; then it remembers the tick's delights. */
void lud_tick_select(const lud_gate *gate, lud_gate_history *history, uint64_t experiences,
                     lud_tick_selection *selection);
