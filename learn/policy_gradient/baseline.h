/* What a reward is compared with before it becomes an advantage.
 *
 * Running baselines keep the mean and the variance of rewards and standardise (running mean and variance by
 * Welford, "Note on a method for calculating corrected sums of squares and products", 1962, while they warm
 * up; exponentially weighted afterwards):
 *
 *     ema_only         first reward: mean = r, advantage 0; then d = r - mean, mean += alpha d,
 *                      var = (1 - alpha) var + alpha d d, advantage = d / max(sqrt(var), 1e-8)
 *     warmup_then_ema  rewards 2 to `warmup`: mean and variance of all so far, this one among them,
 *                      advantage = (r - mean) / max(sqrt(var), 1e-8); then as above
 *
 * The others subtract and keep nothing:
 *
 *     group_mean           the mean of the rewards of a group (samples of one prompt, agents of one team)
 *     expected_confidence  sum over actions of pi(a | o)^2: what a policy expects where it is paid 1 for the
 *                          right action and 0 for the rest
 *     critic               a value head
 *     zero                 nothing: the advantage is the reward */
#pragma once

#include "base/options/options.h"
#include "learn/store/checkpoint.h"

typedef enum lud_baseline_type {
    LUD_BASELINE_EMA_ONLY,
    LUD_BASELINE_WARMUP_THEN_EMA,
    LUD_BASELINE_GROUP_MEAN,
    LUD_BASELINE_EXPECTED_CONFIDENCE,
    LUD_BASELINE_ZERO,
    LUD_BASELINE_CRITIC
} lud_baseline_type;
extern const char *const lud_baseline_names[]; /* null-terminated */

typedef enum lud_baseline_order {
    LUD_BASELINE_SEQUENTIAL, /* every reward is judged by those before it in its batch too */
    LUD_BASELINE_TICK        /* all of a batch are judged by what was known before it, then all are counted */
} lud_baseline_order;

/* As lud_baseline_table fills it: section `baseline` with keys type, alpha, warmup, update. */
typedef struct lud_baseline_options {
    int type;       /* lud_baseline_type */
    double alpha;   /* weight of a new reward in the running statistics */
    int64_t warmup; /* rewards of which the exact mean and variance are kept */
    int update;     /* lud_baseline_order */
} lud_baseline_options;

/* The same keys; the type is warmup_then_ema unless it is said, or critic for learners that have one. */
extern const lud_option_table lud_baseline_table, lud_critic_baseline_table;

typedef struct lud_baseline {
    lud_baseline_options options;
    double mean, var;           /* begin as 0 and 1 */
    uint64_t count;             /* rewards so far */
    double first;               /* the first of them */
    double sum, sum_of_squares; /* of the others of the warm-up less the first: equal rewards are exactly 0 */
} lud_baseline;

void lud_baseline_init(lud_baseline *baseline, const lud_baseline_options *options);

/* Whether advantages need `expected` (expected_confidence, critic). */
bool lud_baseline_needs_expected(const lud_baseline *baseline);

/* advantage[n] of reward[n] in this order. group[n] is read by group_mean only, any numbers; null: all are
 * one group. expected[n], the expected confidence or the critic's value, is read where
 * lud_baseline_needs_expected, else may be null. Running baselines take the rewards into their statistics.
 * advantage must not be reward. */
void lud_baseline_advantages(lud_baseline *baseline, int64_t n, const float *reward, const int32_t *group,
                             const float *expected, float *advantage);

/* One reward of a running baseline, in double precision: counts it and returns its advantage. */
double lud_baseline_update(lud_baseline *baseline, double reward);

/* mean[n] of the rewards of every row's group: sum of reward mask over (sum of mask + 1e-9). group null: one
 * group; mask null: all ones. mean must not be reward. */
void lud_baseline_group_means(int64_t n, const float *reward, const float *mask, const int32_t *group,
                              float *mean);

/* confidence[n] = sum of probability[n][n_choices]^2 of every row. */
void lud_baseline_expected_confidence(int64_t n, int64_t n_choices, const float *probability,
                                      float *confidence);

/* Saves or loads the statistics, sums of the warm-up included, under `name`. */
void lud_baseline_visit(lud_baseline *baseline, lud_checkpoint *checkpoint, const char *name);
