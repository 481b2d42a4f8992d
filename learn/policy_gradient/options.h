/* What every learner by policy gradient can be told: embedded in its options. */
#pragma once

#include "base/options/options.h"
#include "learn/nn/shares.h"
#include "learn/policy_gradient/baseline.h"
#include "learn/policy_gradient/gate.h"

typedef enum lud_time_limits {
    LUD_LIMIT_TERMINAL, /* the end of an episode by its length is an end like any other */
    LUD_LIMIT_DISCARD,  /* its last step gives no advantage */
    LUD_LIMIT_BOOTSTRAP /* the value of what was seen last stands for what would have come */
} lud_time_limits;
extern const char *const lud_time_limit_names[]; /* null-terminated */

typedef enum lud_advantage_scale {
    LUD_ADVANTAGE_PLAIN,       /* as they are */
    LUD_ADVANTAGE_OF_ROLLOUT,  /* mean 0 and deviation 1 over the rollout (Yu et al., 2022) */
    LUD_ADVANTAGE_OF_MINIBATCH /* over every minibatch */
} lud_advantage_scale;

/* The row of that, for a learner whose options have these as `update`. */
#define LUD_SHARES_ROW LUD_SHARES_ROW_AT(update.shares)

/* The second is the same, but its priority is abs_delight unless it is said. */
extern const lud_option_table lud_gate_table, lud_size_gate_table;

typedef struct lud_policy_gradient_options {
    /* advantages */
    double gamma, lambda;
    bool gae;        /* else discounted sums of rewards */
    int time_limits; /* lud_time_limits */
    bool of_returns; /* the advantage is the return less the value instead of its own sum: the same but for
                        rounding */
    int scale;       /* lud_advantage_scale */
    double advantage_floor; /* OF_ROLLOUT: the deviation counts as at least this share of the size of returns,
                               the root of their mean square */
    /* losses */
    double clip;        /* of ratios */
    double value_clip;  /* of changes of values, 0: none */
    bool value_clipped; /* the clipped value loss alone counts, not the larger of both */
    double huber_delta; /* where the value loss turns linear, 0: squared loss */
    double value_coefficient, entropy_coefficient;
    /* updates */
    int64_t epochs;
    int64_t shares;   /* parts that the sum of gradients is cut into, for processes that train together */
    double target_kl; /* an update stops when a minibatch's divergence passes 1.5 of it; 0: never */
    lud_gate gate;
    lud_baseline_options baseline; /* what returns are compared with */
} lud_policy_gradient_options;

/* LUD_ERROR_INPUT with the place for a gate that is on and that lud_gate_check refuses. */
lud_status lud_gate_options_check(const lud_gate *gate, lud_place place, lud_error *error);
/* The same, and for a baseline that needs what rollouts do not keep. */
lud_status lud_policy_gradient_check(const lud_policy_gradient_options *options, lud_place place,
                                     lud_error *error);
