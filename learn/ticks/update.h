/* Phases 3 and 4 of a tick: advantages, the gate, one backward run over what it keeps, one step of the
 * optimiser. */
#pragma once

#include "learn/policy_gradient/baseline.h"
#include "learn/ticks/rollout.h"
#include "learn/ticks/selection.h"

/* What scoring works on and remembers. */
typedef struct lud_tick_scoring {
    lud_baseline baseline;
    lud_gate_history history;
    double square, square_weight; /* running mean of squared advantages, and how much of it is known */
    float *values;                /* [n_rows] of what everybody sees at present, 0 for those who are dead */
    float *final_values;          /* [n_rows] of what was seen last where an episode was cut off */
    bool valued;                  /* values are those of the present */
    int64_t n_trained;
    int32_t *trained;             /* [n_trained] rows of the last act whose teams train */
    float *reward;                /* [n_trained] with what is expected behind it, where there is a critic */
    float *expected;              /* [n_trained] */
    int32_t *team;                /* [n_trained] */
    float *advantage;             /* [n_trained] */
    lud_tick_selection selection; /* of the last tick */
    int32_t *scored;              /* [selection.n] rows of the last act that are scored */
    float *scored_advantage, *scored_log_prob, *scored_reward, *uniform; /* [selection.n] */
    int32_t *row, *valued_row; /* [n_kept], [n_valued] rows of the last act that are learned from */
    int64_t n_valued;
    float *target;                        /* [n_valued] */
    float *entropy_weight, *value_weight; /* [kept], [n_valued] of gates that draw by size */
    /* what the worlds ended in, and what was seen there */
    void *final_parts[LUD_MAX_OBSERVATION_PARTS];
    int32_t *environment, *agent; /* [n_rows] */
    float *found;                 /* [n_rows] values in the order of rows */
    lud_arrays arrays;
} lud_tick_scoring;

/* For the learner's options and training environments. After a failure too it is to be destroyed. */
lud_status lud_tick_scoring_create(const lud_tick_learner *learner, lud_tick_scoring *scoring,
                                   lud_error *error);
/* Safe on a zeroed struct. */
void lud_tick_scoring_destroy(lud_tick_scoring *scoring);
/* Saves or loads what says how much a moment is worth. */
void lud_tick_scoring_visit_policy(lud_tick_scoring *scoring, lud_checkpoint *checkpoint);
/* Saves or loads what else later ticks depend on. */
void lud_tick_scoring_visit(lud_tick_scoring *scoring, lud_checkpoint *checkpoint, int64_t n_rows);

/* The gradients of a lesson of all shares, each by its process, and what was seen on the way. */
lud_status lud_tick_learn(lud_tick_learner *learner, const lud_tick_lesson *lesson, lud_tick_losses *losses,
                          lud_error *error);
/* The critic's values of the present, where the learner has one. */
lud_status lud_tick_find_values(lud_tick_learner *learner, lud_error *error);
/* Behind a step of the training's worlds: scores its experiences, lets the gate choose, learns and steps the
 * optimiser, or finds a reason not to, and counts. */
lud_status lud_tick_update(lud_tick_learner *learner, lud_error *error);
