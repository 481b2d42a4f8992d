/* Training of phase 2 on the states met (met_memory): acting by look-ahead, values by sweeping, networks
 * for what is not met. Stands where rollout, replay memory and update do otherwise. */
#pragma once

#include "learn/empo/met/actor.h"
#include "learn/empo/met/ahead.h"
#include "learn/empo/met/fit.h"
#include "learn/empo/met/trust.h"

typedef struct lud_empo_met_training {
    const lud_empo_learner_options *options;
    const lud_model *model;
    uint64_t seed;
    lud_empo_met *met;
    lud_empo_asker asker;
    lud_empo_actor *actor;
    lud_empo_fit *fit;
    lud_empo_ahead ahead;
    bool tried;      /* whether all that can be reached fits */
    int64_t rest;    /* levels of states that updates are worth before there is another sweep */
    int64_t swept;   /* that the present one has computed, where it was broken off */
    int64_t refresh; /* where the networks are asked again next */
    lud_arrays arrays;
    uint32_t *rim; /* [met_refresh] */
} lud_empo_met_training;

/* All of them outlive it. */
lud_status lud_empo_met_training_create(const lud_empo_features *features,
                                        const lud_empo_learner_options *options, const lud_empo_prior *prior,
                                        lud_empo_values *values, uint64_t seed,
                                        lud_empo_met_training **training, lud_error *error);
/* Null is allowed. */
void lud_empo_met_training_destroy(lud_empo_met_training *training);
/* What comes before the first training step, also of a resumed run. */
lud_status lud_empo_met_training_begin(lud_empo_met_training *training, lud_progress *progress,
                                       lud_error *error);
/* Acting that training step number `step` is due, by `credit` that is counted on; and the step. Processes do
 * the same but for gradients, of which each has its shares. */
lud_status lud_empo_met_training_act(lud_empo_met_training *training, int64_t step, const lud_empo_now *now,
                                     double *credit, lud_progress *progress, double part, lud_error *error);
lud_status lud_empo_met_training_step(lud_empo_met_training *training, int64_t step, const lud_empo_now *now,
                                      bool measure, lud_error *error);
/* After the last step: what is left behind agrees with the networks as they are then, everywhere.
 * LUD_INTERRUPTED: it is done anew by the next call. */
lud_status lud_empo_met_training_finish(lud_empo_met_training *training, lud_progress *progress,
                                        lud_error *error);
/* Table and actor; `policy`: the table alone. */
void lud_empo_met_training_visit(lud_empo_met_training *training, bool policy, lud_checkpoint *checkpoint);
void lud_empo_met_training_report(const lud_empo_met_training *training, lud_text *out);
