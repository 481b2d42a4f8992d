/* One training step of the neural EMPO learner: a batch from the replay memory, targets in five stages, the
 * losses of all quantities that learn at present, optimiser steps or table moves, target copies.
 *
 * Terminal states count as the exact solver counts them: V_r is the terminal value, V_h^e is 0 beyond them
 * and achievements on entering them count. */
#pragma once

#include "learn/empo/memory/replay.h"
#include "learn/empo/targets/trajectory.h"
#include "learn/empo/targets/values.h"

/* Stages of the profile beyond those of lud_batching_stage. */
enum {
    LUD_STAGE_LOSS = LUD_BATCHING_STAGES, /* training pass and losses */
    LUD_STAGE_BACKWARD,
    LUD_STAGE_OPTIMISER, /* steps, table moves, target copies */
    LUD_STAGE_ACTOR,     /* of the learner: environment steps */
    LUD_UPDATE_STAGES
};
extern const char *const lud_empo_update_stages[LUD_UPDATE_STAGES];

typedef struct lud_empo_update lud_empo_update;

/* values, replay and options must outlive it. */
lud_status lud_empo_update_create(lud_empo_values *values, lud_empo_replay *replay,
                                  const lud_empo_learner_options *options, uint64_t seed,
                                  lud_empo_update **update, lud_error *error);
/* Null is allowed. */
void lud_empo_update_destroy(lud_empo_update *update);
/* Training step number `step`, with the schedules at that step. The memory must hold a batch. With `measure`
 * losses and spreads are measured. */
lud_status lud_empo_update_run(lud_empo_update *update, int64_t step, const lud_empo_now *now, bool measure,
                               lud_error *error);

/* Mean and deviation of what a quantity was predicted to be in the states of the last measured update, and of
 * its targets there; of U_r these are those of y. */
typedef struct lud_empo_spread {
    double prediction_mean, prediction_deviation, target_mean, target_deviation;
} lud_empo_spread;
/* Of the last update, and of the last measured one; NaN where there is no such thing. */
typedef struct lud_empo_update_figures {
    double loss[LUD_EMPO_NETS]; /* measured: mean squared error of what learned; of U_r that of y */
    lud_empo_spread spread[LUD_EMPO_NETS];    /* measured */
    double norm[LUD_EMPO_NETS];               /* of the gradient before clipping; NaN for tables */
    lud_empo_trajectory_figures trajectories; /* of targets over several steps */
    double hindsight_share, hindsight_weight; /* of goals replaced; mean over entries */
    uint64_t n, n_replayed; /* updates so far, and those whose device work was one recorded graph */
} lud_empo_update_figures;
lud_empo_update_figures lud_empo_update_get(const lud_empo_update *update);

/* Targets of the last update, on the host; for tests. V_h^e [batch][n_entries], Q_r [batch][n_robot_actions]
 * (zeros while it does not learn). Indices of the batch in the replay memory. */
typedef struct lud_empo_batch_view {
    int64_t n;
    const int64_t *indices;
    const float *v_h_e, *q_r, *x_h;
    const int32_t *goals; /* [batch][n_humans] after hindsight, and the weights of entries; null without */
    const float *weights;
} lud_empo_batch_view;
lud_empo_batch_view lud_empo_update_targets(lud_empo_update *update);

void lud_empo_update_visit(lud_empo_update *update, lud_checkpoint *checkpoint);
