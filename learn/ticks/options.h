/* The `learner` section of ticks: who acts, how it learns, what is worth learning from. */
#pragma once

#include "learn/language/language_model.h"
#include "learn/mappo/options.h"
#include "learn/nn/optimiser.h"
#include "learn/policy_gradient/baseline.h"
#include "learn/policy_gradient/options.h"

typedef enum lud_tick_policy_type { LUD_TICK_VECTOR, LUD_TICK_TOKENS } lud_tick_policy_type;

typedef struct lud_tick_policy_options {
    int type;                      /* lud_tick_policy_type */
    lud_mappo_options network;     /* of vector; the fields that shape networks */
    lud_language_options language; /* of tokens */
} lud_tick_policy_options;

/* Ticks at the beginning in which others act and the policy learns to do as they do. */
typedef struct lud_tick_imitation_options {
    int64_t ticks;
    lud_tree *policies; /* as the scenario's section of that name */
    double share;       /* of the rows of a tick, drawn */
    double learning_rate;
} lud_tick_imitation_options;

typedef struct lud_tick_options {
    const char *type;
    const char *start; /* a RUN; null: none */
    lud_tick_policy_options policy;
    lud_tick_imitation_options imitation;
    int64_t ticks, critic_ticks, ticks_per_iteration, shares;
    lud_text_list training_teams; /* names; none: all */
    double failure_cost, discount;
    int time_limits; /* lud_time_limits */
    double learning_rate, critic_learning_rate;
    bool decay_learning_rate;
    lud_optimiser_options optimiser;
    double max_norm;
    double entropy_coefficient, value_coefficient, huber_delta;
    double value_rate;
    bool standardise;
    int normaliser; /* lud_value_normaliser_kind */
    double normaliser_beta;
    lud_gate gate;
    lud_baseline_options baseline;
    int64_t max_rows;
    int64_t evaluation_episodes;
    bool deterministic;
} lud_tick_options;

extern const lud_option_table lud_tick_option_table;

/* Reads a `learner:` section of type ticks (null: defaults) and checks it. Texts live in the arena. */
lud_status lud_tick_options_read(lud_arena *arena, lud_tree *learner, lud_tick_options *options,
                                 lud_error *error);
