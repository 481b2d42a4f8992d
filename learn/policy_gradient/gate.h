/* The Kondo gate: which experiences are worth a backward pass (arXiv 2603.20526; the gradient weighted by
 * delight is arXiv 2603.14608).
 *
 * delight = advantage * surprisal, surprisal = -log_prob. The gate compares it with a price: a quantile of
 * the batch (so that about `rate` of the rows pass) or a fixed number. All arrays are host memory of a few
 * dozen to a few thousand numbers; weights are constants in the loss, no gradient flows through them.
 *
 * lud_gate_weights is the bare rule. lud_gate_decide is what a learner asks: the rule with the rate of the
 * warm-up, a price from a history, and what is done where a batch has one row, no difference or nothing to
 * keep. What the weights do in a loss stands in gated_loss.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "learn/policy_gradient/gate_history.h"

typedef enum lud_gate_mode {
    LUD_GATE_OFF,       /* 1: plain policy gradient */
    LUD_GATE_THRESHOLD, /* 1 if delight >= price, else 0 */
    LUD_GATE_BERNOULLI, /* 1 if a uniform draw is below sigmoid((delight - price) / temperature) */
    LUD_GATE_SOFT,      /* that sigmoid */
    LUD_GATE_DELIGHT,   /* sigmoid(delight / temperature) without a price; temperature 0: 1 if delight > price
                         */
    LUD_GATE_TOP_K,     /* exactly k rows, by delight, then by index */
    LUD_GATE_IMPORTANCE /* rate / p if drawn, else 0 (lud_gate_sample); p in proportion to |delight|: in
                           expectation the gradient of all rows */
} lud_gate_mode;

typedef enum lud_gate_priority {
    LUD_PRIORITY_DELIGHT,
    LUD_PRIORITY_ADVANTAGE,
    LUD_PRIORITY_ABS_ADVANTAGE,
    LUD_PRIORITY_SURPRISAL,
    LUD_PRIORITY_ADDITIVE,   /* (1 - alpha) advantage + alpha surprisal */
    LUD_PRIORITY_UNIFORM,    /* a draw */
    LUD_PRIORITY_ABS_DELIGHT /* |delight|: bad surprises beside good ones, so that luck evens out */
} lud_gate_priority;
extern const char *const lud_gate_priority_names[]; /* null-terminated */

typedef enum lud_gate_rounding { LUD_GATE_ROUND, LUD_GATE_FLOOR, LUD_GATE_CEIL } lud_gate_rounding;

/* What the sum of the gated loss is divided by: the rows that are kept, all rows, or nothing. Of all rows a
 * gradient shrinks with the rate. */
typedef enum lud_gate_normalise { LUD_GATE_BY_KEPT, LUD_GATE_BY_ALL, LUD_GATE_BY_NONE } lud_gate_normalise;

/* The rows that a critic learns from: all, which is what a baseline needs, in a pass of its own; or those
 * that the gate keeps. */
typedef enum lud_gate_critic { LUD_GATE_CRITIC_ALL, LUD_GATE_CRITIC_KEPT } lud_gate_critic;

/* As the option table of learn/policy_gradient/options.h fills it. */
typedef struct lud_gate {
    int mode;                   /* lud_gate_mode */
    int priority;               /* lud_gate_priority: what stands for delight */
    double alpha;               /* of ADDITIVE */
    bool fixed_price;           /* price is given; else it is the (1 - rate) quantile */
    double rate, price;         /* rate in (0, 1] */
    double temperature;         /* > 0, except for DELIGHT */
    int64_t min_keep;           /* rows that are kept at least (and at most all) */
    int rounding;               /* lud_gate_rounding */
    int normalise;              /* lud_gate_normalise */
    int critic;                 /* lud_gate_critic */
    int64_t warmup_experiences; /* until there were so many the rate is */
    double warmup_rate;
    int64_t history, history_min; /* see gate_history.h; 0: prices are those of the batch */
} lud_gate;

/* Threshold at rate 0.03, temperature 0.1, min_keep 1, divided by the kept rows, no warm-up, no history. */
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

/* The k-th largest of delight[n], 1 <= k <= n; NaN counts as -infinity. scratch[n]. */
float lud_gate_kth_largest(int64_t n, const float *delight, int64_t k, float *scratch);

/* Draws about rate n of n rows, each with a probability p in proportion to |size| (never below a tenth of the
 * rate, so that no weight passes ten; 1 at most): weight[n] is rate / p for those drawn, else 0,
 * probability[n] (may be null) p. Systematic sampling (Madow, "On the theory of systematic sampling II",
 * 1949): `start` in [0, 1) is the only draw, rows are taken at equal steps of the sum of p, so their number
 * is the sum of p rounded down or up, and neighbours, agents of one world, seldom go together. */
void lud_gate_sample(double rate, int64_t n, const float *size, float start, float *weight,
                     float *probability);

/* How many rows a top-k gate keeps of n: rate n rounded (to even), at least min_keep, at most n. */
int64_t lud_gate_top_count(const lud_gate *gate, int64_t n);

/* weight[n] of every row, and probability[n] = sigmoid((delight - price) / temperature) (may be null).
 * Returns the price in force (0 where there is none). uniform[n] is read by BERNOULLI, its first number by
 * IMPORTANCE. scratch[n]. n = 0 is allowed. */
float lud_gate_weights(const lud_gate *gate, int64_t n, const float *delight, const float *uniform,
                       float *weight, float *probability, float *scratch);

/* Whether weights or priorities need draws. */
bool lud_gate_draws(const lud_gate *gate);

/* The rate in force when `experiences` were had, those of the present batch among them. */
double lud_gate_rate(const lud_gate *gate, uint64_t experiences);

/* A batch that is to be decided about. */
typedef struct lud_gate_batch {
    int64_t n;
    const float *delight;            /* [n] lud_gate_priorities */
    const float *uniform;            /* [n] read by BERNOULLI and IMPORTANCE only, else may be null */
    uint64_t experiences;            /* see lud_gate_rate */
    const lud_gate_history *history; /* null: none. Delights are pushed by the caller, before or after. */
    float *weight;                   /* [n] result */
    float *probability;              /* [n] result, or null */
    float *scratch;                  /* [n] */
} lud_gate_batch;

typedef struct lud_gate_decision {
    double rate;    /* in force */
    float price;    /* 0 where there is none */
    int64_t n_kept; /* rows with weight above 0 */
} lud_gate_decision;

/* Fills weight and probability as lud_gate_weights does, but
 *  - at the rate in force, or the price of the history once that has enough delights;
 *  - a single row under a rate without such a price is kept by every mode that keeps or drops;
 *  - a threshold by rate in a batch whose delights are all the same keeps the rows of TOP_K, not all;
 *  - where less than min_keep rows are kept (during the warm-up: none), those with the largest |delight| are
 *    kept too, the first among equals. */
lud_gate_decision lud_gate_decide(const lud_gate *gate, const lud_gate_batch *batch);

/* Indices of the rows with weight above 0, ascending; returns their number. */
int64_t lud_gate_kept(int64_t n, const float *weight, int32_t *index);
