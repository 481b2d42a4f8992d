/* The Kondo gate: which experiences are worth a backward pass (paper: arXiv 2603.20526; docs of the batched
 * agents).
 *
 * delight = advantage * surprisal, surprisal = -log_prob. The gate compares it with a price: a quantile of
 * the batch (so that about `rate` of the rows pass) or a fixed number. All arrays are host memory of a few
 * dozen to a few thousand numbers; weights are constants in the loss, no gradient flows through them. */
#ifndef LUDUS_LEARN_POLICY_GRADIENT_GATE_H
#define LUDUS_LEARN_POLICY_GRADIENT_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum lud_gate_mode {
    LUD_GATE_OFF,       /* 1: plain policy gradient */
    LUD_GATE_THRESHOLD, /* 1 if delight >= price, else 0 */
    LUD_GATE_BERNOULLI, /* 1 if a uniform draw is below sigmoid((delight - price) / temperature) */
    LUD_GATE_SOFT,      /* that sigmoid */
    LUD_GATE_DELIGHT,   /* sigmoid(delight / temperature) without a price; temperature 0: 1 if delight > price
                         */
    LUD_GATE_TOP_K      /* exactly k rows, by delight, then by index */
} lud_gate_mode;

typedef enum lud_gate_priority {
    LUD_PRIORITY_DELIGHT,
    LUD_PRIORITY_ADVANTAGE,
    LUD_PRIORITY_ABS_ADVANTAGE,
    LUD_PRIORITY_SURPRISAL,
    LUD_PRIORITY_ADDITIVE, /* (1 - alpha) advantage + alpha surprisal */
    LUD_PRIORITY_UNIFORM   /* a draw */
} lud_gate_priority;

typedef enum lud_gate_rounding { LUD_GATE_ROUND, LUD_GATE_FLOOR, LUD_GATE_CEIL } lud_gate_rounding;

/* As the option table of learn/policy_gradient/options.h fills it. */
typedef struct lud_gate {
    int mode;           /* lud_gate_mode */
    int priority;       /* lud_gate_priority: what stands for delight */
    double alpha;       /* of ADDITIVE */
    bool fixed_price;   /* price is given; else it is the (1 - rate) quantile */
    double rate, price; /* rate in (0, 1] */
    double temperature; /* > 0, except for DELIGHT */
    int64_t min_keep;   /* TOP_K keeps at least so many (and at most all) */
    int rounding;       /* lud_gate_rounding */
} lud_gate;

/* Threshold at rate 0.03, temperature 0.1, min_keep 1. */
lud_gate lud_gate_default(void);
/* LUD_ERROR_INPUT when a rate or temperature is out of range. */
lud_status lud_gate_check(const lud_gate *gate, lud_error *error);

/* priority[n] (lud_gate_priority) of every row; uniform[n] is read by UNIFORM only and may be null otherwise.
 */
void lud_gate_priorities(int priority, double alpha, int64_t n, const float *advantage, const float *log_prob,
                         const float *uniform, float *out);

/* The (1 - rate) quantile of delight[n] with linear interpolation, in float32 as the reference computes it;
 * NaN counts as -infinity. n >= 1; scratch[n]. */
float lud_gate_quantile(int64_t n, const float *delight, double rate, float *scratch);

/* How many rows a top-k gate keeps of n: rate n rounded (to even), at least min_keep, at most n. */
int64_t lud_gate_top_count(const lud_gate *gate, int64_t n);

/* weight[n] of every row, and probability[n] = sigmoid((delight - price) / temperature) (may be null).
 * Returns the price in force (0 where there is none). uniform[n] is read by BERNOULLI only. scratch[n]. n = 0
 * is allowed. */
float lud_gate_weights(const lud_gate *gate, int64_t n, const float *delight, const float *uniform,
                       float *weight, float *probability, float *scratch);

/* Indices of the rows with weight above 0, ascending; returns their number. */
int64_t lud_gate_kept(int64_t n, const float *weight, int32_t *index);

#endif
