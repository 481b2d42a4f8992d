/* What a tick needs of the policy that all agents share: one table of functions, behind which stand networks
 * over observations (learn/ticks/networks.h) or a language model that reads a prompt and writes an action.
 *
 * In a tick the learner calls, in this order and with one version of the weights,
 *
 *     act     once, for everybody who is alive,
 *     value   at most twice, where there is a critic, for what is seen after the step,
 *     learn   at most once, for the few rows of that act which the gate has kept,
 *
 * and then steps the optimiser. So a policy keeps from act to learn what was chosen (actions, or prompts and
 * replies as tokens) and whatever else a backward pass over single rows needs; what it keeps of act must not
 * share memory with what learn writes. Caches that hang on weights (keys and values of attention) live at
 * most from one act to the next. Everything is host memory of the caller; a policy moves what it needs to its
 * device. All memory is taken when a policy is created; where that much cannot be had it takes less and
 * splits rows over several passes, which changes no result beyond rounding.
 *
 * What a row does must follow from the row alone: its action is drawn with the key (range.seed, environment)
 * at the counter (clock of the environment, agent, LUD_PURPOSE_ACTION; a token's number is the lane), never
 * with its place in the batch. */
#pragma once

#include "base/text.h"
#include "kernels/device.h"
#include "learn/nn/parameters.h"
#include "learn/policy_gradient/value_normaliser.h"
#include "sim/world.h"

/* Who is asked: n agents of a range of environments. */
typedef struct lud_tick_rows {
    const lud_model *model;
    lud_range range;           /* row's environment e has the number range.first_environment + e and the clock
                                  range.tick[e] */
    const uint8_t *states;     /* [range.n][state_bytes] for describe_agent, describe_team */
    void *const *observations; /* [n_parts] of the whole range; null: parts that `reads` of the policy leaves
                                  out */
    int64_t first, n;          /* rows first .. n - 1 are asked; what comes of them stands at their numbers */
    const int32_t *environment; /* [n] below range.n, ascending */
    const int32_t *agent;       /* [n] ascending within an environment */
    bool greedy;                /* the likeliest action instead of a draw */
} lud_tick_rows;

/* Where a row stands among all agents of the range, [range.n][n_agents]. */
static inline int64_t lud_tick_place(const lud_tick_rows *rows, int64_t row) {
    return (int64_t)rows->environment[row] * rows->model->layout.n_agents + rows->agent[row];
}

/* What they do; every array [n], null: not wanted. */
typedef struct lud_tick_choices {
    int32_t *discrete; /* the choice; that of layout.idle, or 0, where a reply meant none */
    float *continuous; /* [n][largest n_continuous] */
    float *log_prob;   /* mean over the tokens, of the distribution that learn trains: of no truncation, at
                          temperature 1, among the choices there are; 0 without tokens */
    int32_t *n_tokens; /* 1 where the action is chosen at once; 0: nothing was said, the row is not scored */
    uint8_t *failed;   /* 1: a reply that meant no action */
    float *entropy;    /* of the distribution (mean over the tokens), 0 where it is not known */
    float *confidence; /* sum over choices of probability^2, for the baseline expected_confidence; asked only
                          of policies that can (`gives_confidence`) */
} lud_tick_choices;

/* As lud_tick_lesson's n_seen. */
enum { LUD_TICK_SEEN = -1 };

/* What is to be learned: adds to the gradients of the parameters those of
 *
 *     sum_i coefficient[i] lp(row[i]) - entropy_coefficient / n sum_i entropy_weight[i] H(row[i])
 *         + value_coefficient / n_valued sum_j value_weight[j] loss(V(valued[j]) - target[j])
 *
 * lp the log-probability as in lud_tick_choices, H the entropy (a policy may leave that term out where it
 * has no entropy to tell), V the critic of policies that have one. Rows are numbers of rows of the last act.
 */
typedef struct lud_tick_lesson {
    const lud_tick_rows *rows; /* of the last act; observations are as they were, states have moved on */
    int64_t n;
    const int32_t *row;       /* [n] ascending */
    const float *coefficient; /* [n] of the loss by lp: -weight advantage / normaliser */
    double entropy_coefficient;
    const float *entropy_weight; /* [n] null: 1 */
    int64_t n_valued;
    const int32_t *valued;     /* [n_valued] ascending */
    const float *target;       /* [n_valued] in units of reward */
    const float *value_weight; /* [n_valued] null: 1 */
    double value_coefficient;
    int64_t n_seen; /* of the targets that the statistics of a normaliser follow, also where none are valued;
                       0: those above; LUD_TICK_SEEN: an earlier lesson of the tick had them */
    const float *seen;
} lud_tick_lesson;

/* The statistics of a critic's normaliser follow what the lesson has seen; in_order as of
 * lud_value_normaliser_update. */
static inline void lud_tick_lesson_follow(const lud_tick_lesson *lesson, lud_value_normaliser *normaliser,
                                          const int32_t *in_order) {
    if (lesson->n_seen == LUD_TICK_SEEN) return;
    const bool apart = lesson->n_seen > 0;
    lud_value_normaliser_update(normaliser, apart ? lesson->n_seen : lesson->n_valued, in_order,
                                apart ? lesson->seen : lesson->target);
}

/* What learn has seen on the way, for metrics. */
typedef struct lud_tick_losses {
    double value;    /* mean over valued rows */
    double log_prob; /* mean over rows, of policies that learn from texts; else 0 */
} lud_tick_losses;

typedef struct lud_tick_policy lud_tick_policy;

typedef struct lud_tick_policy_kind {
    const char *name; /* the word after `policy: {type: ...}` */
    /* Parameters whose names begin with `actor` are the policy's, with `critic` the critic's; each is clipped
     * and stepped by itself. critic null: there is none, and no value. */
    const char *actor, *critic;
    bool gives_confidence;
    void (*destroy)(lud_tick_policy *policy);
    lud_status (*act)(lud_tick_policy *policy, const lud_tick_rows *rows, const lud_tick_choices *choices,
                      lud_error *error);
    /* The critic's value[n] of what the rows see, in units of reward. Does not disturb what act has kept.
     * Null: none. */
    lud_status (*value)(lud_tick_policy *policy, const lud_tick_rows *rows, float *value, lud_error *error);
    lud_status (*learn)(lud_tick_policy *policy, const lud_tick_lesson *lesson, lud_tick_losses *losses,
                        lud_error *error);
    /* The prompts that were read since the last call and the lines that they had no room for. Null: none are.
     */
    void (*lines)(lud_tick_policy *policy, int64_t *n_prompts, int64_t *n_left_out);
    /* As act, but with the choices given, discrete[n]: what follows may learn from these rows. Null: the
     * policy cannot imitate. */
    lud_status (*assume)(lud_tick_policy *policy, const lud_tick_rows *rows, const int32_t *discrete,
                         lud_error *error);
    /* p[n][largest n_discrete] of every choice, for distributions that are drawn over the world. Disturbs
     * nothing that act has kept. Null: choices do not follow from what is seen alone. */
    lud_status (*probabilities)(lud_tick_policy *policy, const lud_tick_rows *rows, float *p,
                                lud_error *error);
    /* Takes over what acts in a RUN, before the first act. Null: the policy cannot. */
    lud_status (*begin_with)(lud_tick_policy *policy, const char *folder, lud_error *error);
    /* Saves or loads what parameters do not hold (statistics of returns). Null: nothing. */
    void (*visit)(lud_tick_policy *policy, lud_checkpoint *checkpoint);
    /* Appends what it was told and what it said in the last act, for the inspector. Null: nothing. */
    void (*describe)(const lud_tick_policy *policy, int64_t row, lud_text *read, lud_text *written);
} lud_tick_policy_kind;

/* Every policy's own struct begins with this. */
struct lud_tick_policy {
    const lud_tick_policy_kind *kind;
    lud_device *device;
    lud_parameters *parameters;            /* the policy's own */
    bool reads[LUD_MAX_OBSERVATION_PARTS]; /* parts of the observation that it needs */
    bool has_critic;                       /* created with one */
    int64_t n_acting;                      /* most rows of an act, as it was created for */
    int64_t act_rows, learn_rows;          /* most rows of a pass */
    size_t act_bytes, learn_bytes; /* what such passes hold beside the parameters: activations, caches */
};

/* What a policy is created for. */
typedef struct lud_tick_policy_request {
    const lud_model *model;
    lud_device *device;
    uint64_t seed;      /* of initial weights */
    int64_t n_acting;   /* most rows of an act */
    int64_t n_learning; /* most rows of a lesson; 0: it never learns */
    int64_t max_rows;   /* most rows of a pass, 0: as many as memory and the device are good for */
    bool critic;
} lud_tick_policy_request;
