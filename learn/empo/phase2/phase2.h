/* The learner `empo-phase2`: rollout, replay memory and update together, and the policy it has learned. */
#pragma once

#include "agents/policy.h"
#include "learn/empo/evaluation/reference.h"
#include "learn/empo/people/prior.h"
#include "learn/empo/phase2/async.h"
#include "learn/empo/phase2/met_training.h"
#include "learn/empo/phase2/plasticity.h"
#include "learn/empo/phase2/update.h"
#include "learn/learner.h"

extern const lud_learner_kind lud_empo_phase2;

typedef struct lud_empo_phase2_learner {
    lud_learner base;
    const lud_scenario *scenario;
    lud_device *device;
    lud_arena *arena; /* options, texts */
    lud_empo_learner_options options;
    lud_empo_features features;
    lud_empo_human_net human_net; /* its networks when it was learned */
    lud_empo_prior prior;
    lud_empo_reference reference;
    lud_empo_replay *replay;
    lud_empo_values values;
    lud_empo_rollout *rollout; /* null with async_training */
    lud_empo_async *async;
    lud_empo_update *update;         /* null, like rollout and replay, with met_memory */
    lud_empo_met_training *met;      /* with it only */
    lud_empo_novelty *novelty;       /* with use_rnd */
    lud_empo_search *search;         /* with pi_r_mode mcts */
    lud_empo_plasticity *plasticity; /* with plasticity_diagnostics_interval */
    lud_profile profile;
    lud_arrays arrays;
    int64_t step;                             /* training steps done */
    double credit;                            /* training steps that environment steps have paid for */
    const int32_t **sampled, **sampled_goals; /* of a batch, the update's or the diagnosis's */
    int64_t *probed;                          /* indices of the latter */
    bool evaluated;
    lud_empo_distance distance; /* of the last evaluation, and that of the networks alone (with met) */
    lud_empo_distance alone;
    bool has_alone; /* false: too many states to ask them about */
    bool has_trust;
    lud_empo_trust trust; /* with met */
} lud_empo_phase2_learner;

/* One step of every environment with these schedules; for benchmarks. */
lud_status lud_empo_phase2_act(lud_empo_phase2_learner *learner, const lud_empo_now *now, lud_error *error);

/* A policy for all agents: robots by one common draw from the learned pi_r at its final exponent (pi_r_mode
 * mcts: from what a search finds), people by the prior. The learner stays the caller's and must outlive it;
 * one thread at a time. */
lud_status lud_empo_learned_policy_create(lud_empo_phase2_learner *learner, lud_policy **policy,
                                          lud_error *error);
