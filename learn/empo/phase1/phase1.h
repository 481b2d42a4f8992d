/* The learner `empo-phase1`: what people would do for each goal, learned by networks (phase 1 of EMPO).
 *
 * People walk about by what has been learned so far, robots at random. For every state met and every person
 * the successors of all own actions and all joint robot actions are kept, under one draw of what the other
 * people do. A target is equation (1) in that draw,
 *
 *   Q_h^m(s, g, a) = min (optimistic: max) over a_r of E_s' [ 1 if s' achieves g else gamma_h V_h^m(s', g) ],
 *
 * so its mean over draws is the exact one under the uniform belief, for every action and any goal at once. */
#pragma once

#include "learn/empo/evaluation/reference.h"
#include "learn/empo/memory/replay.h"
#include "learn/empo/phase1/networks.h"
#include "learn/learner.h"
#include "learn/nn/optimiser.h"

extern const lud_learner_kind lud_empo_phase1;

/* How far the learned behaviour is from the exact one: means over states, people and goals not yet achieved,
 * weighted by the visits of the exact policy, or every state that is not terminal counting once. */
typedef struct lud_empo_phase1_distance {
    double v_h_m, v_h_m_everywhere;           /* absolute error of V_h^m */
    double divergence, divergence_everywhere; /* total variation of pi_h(.|s, g) */
    double kl;                                /* KL(learned || exact), nats */
    double marginal;                          /* total variation of pi_h(.|s) */
} lud_empo_phase1_distance;

typedef struct lud_empo_phase1_learner {
    lud_learner base;
    const lud_scenario *scenario;
    lud_device *device;
    lud_arena *arena;
    lud_empo_phase1_options options;
    lud_empo_human_net net;
    lud_empo_replay *replay;
    struct lud_empo_phase1_rollout *rollout;
    struct lud_empo_phase1_update *update;
    lud_empo_reference reference;
    bool evaluated;
    lud_empo_phase1_distance distance;
    int64_t step;
    double credit;
} lud_empo_phase1_learner;

/* Targets of the last update, on the host; for tests: q[n][goals][n_actions], with the goal drawn and a
 * weight of 0 where the goal was achieved already or does not exist. Indices into the replay memory. */
typedef struct lud_empo_phase1_view {
    int64_t n, goals;
    const int64_t *indices;
    const int32_t *goal; /* [n][goals] */
    const float *q, *weight;
} lud_empo_phase1_view;

/* ---- parts (learn/empo/phase1/evaluation.c) ---- */

extern const lud_metric lud_empo_phase1_evaluation_columns[];
extern const int lud_empo_phase1_n_evaluation_columns;
/* The comparison, for lud_learner_kind.evaluate, and a table of the last one. */
lud_status lud_empo_phase1_evaluate(lud_learner *learner, double *row, lud_error *error);
void lud_empo_phase1_report_evaluation(const lud_empo_phase1_learner *learner, lud_text *out);

/* ---- parts (learn/empo/phase1/rollout.c, learn/empo/phase1/update.c) ---- */

typedef struct lud_empo_phase1_rollout lud_empo_phase1_rollout;
lud_status lud_empo_phase1_rollout_create(lud_empo_human_net *net, const lud_model *model, uint64_t seed,
                                          lud_empo_phase1_rollout **rollout, lud_error *error);
/* Null is allowed. */
void lud_empo_phase1_rollout_destroy(lud_empo_phase1_rollout *rollout);
/* One step of every environment; a transition for each person goes to the memory: its one "goal" is the
 * person, its joint action a * n_robot_actions + r. */
lud_status lud_empo_phase1_rollout_step(lud_empo_phase1_rollout *rollout, double epsilon, int64_t step,
                                        lud_empo_replay *replay, lud_error *error);
void lud_empo_phase1_rollout_counts(const lud_empo_phase1_rollout *rollout, uint64_t *steps,
                                    uint64_t *achieved);
void lud_empo_phase1_rollout_visit(lud_empo_phase1_rollout *rollout, const char *prefix,
                                   lud_checkpoint *checkpoint);

typedef struct lud_empo_phase1_update lud_empo_phase1_update;
lud_status lud_empo_phase1_update_create(lud_empo_human_net *net, const lud_empo_replay *replay,
                                         uint64_t seed, lud_empo_phase1_update **update, lud_error *error);
/* Null is allowed. */
void lud_empo_phase1_update_destroy(lud_empo_phase1_update *update);
lud_status lud_empo_phase1_update_run(lud_empo_phase1_update *update, int64_t step,
                                      const lud_empo_phase1_now *now, bool measure, lud_error *error);
/* Losses of the last measured update: mean squared error of Q, cross-entropy of the marginal or NaN. */
void lud_empo_phase1_update_losses(const lud_empo_phase1_update *update, double *q, double *marginal);
lud_empo_phase1_view lud_empo_phase1_update_view(const lud_empo_phase1_update *update);
void lud_empo_phase1_update_visit(lud_empo_phase1_update *update, lud_checkpoint *checkpoint);
