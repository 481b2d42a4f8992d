/* Updates of graph MAPPO: proximal policy optimisation for agents that share parameters (Yu et al., "The
 * surprising effectiveness of PPO in cooperative multi-agent games", NeurIPS 2022). The core is
 * learn/policy_gradient; here is what a slice of it is. */
#pragma once

#include "learn/mappo/head.h"
#include "learn/policy_gradient/update.h"

typedef struct lud_mappo_learner_state lud_mappo_learner_state;
typedef struct lud_mappo_group lud_mappo_group;

typedef struct lud_mappo_ppo {
    lud_mappo_networks *networks; /* for updates */
    lud_optimiser *optimiser;
    lud_value_normaliser normaliser;
    lud_update core;
    int magnitude, actor, critic; /* groups of the core, -1: none */
    /* The gradients of a slice, on CUDA a recorded graph. With magnitude and direction the head is computed
     * on the host, and nothing is recorded. */
    lud_capture adding;
} lud_mappo_ppo;

/* Updates of networks that outlive it, as do `options`, from rollouts of n_samples, rows of a step n_rows
 * apart. It must not move; it is to be destroyed after an error too. */
lud_status lud_mappo_ppo_create(lud_mappo_ppo *ppo, lud_mappo_networks *networks,
                                const lud_mappo_options *options, uint64_t seed, int64_t n_samples,
                                int64_t n_rows, lud_error *error);
/* Safe on a zeroed struct. */
void lud_mappo_ppo_destroy(lud_mappo_ppo *ppo);
/* Sets the rates of all groups to those of the options times a factor. */
void lud_mappo_ppo_set_rates(lud_mappo_ppo *ppo, const lud_mappo_options *options, double factor);
/* Adds the gradients of a slice whose inputs and fields are filled (host views), and its sums. */
void lud_mappo_ppo_add_slice(lud_mappo_ppo *ppo);
/* Weights, and what values are measured in; `prefix` stands before all names. */
void lud_mappo_ppo_visit_policy(lud_mappo_ppo *ppo, const char *prefix, lud_checkpoint *checkpoint);
/* These, moments, statistics. */
void lud_mappo_ppo_visit(lud_mappo_ppo *ppo, const char *prefix, lud_checkpoint *checkpoint);

/* Returns, advantages, all epochs of all groups, then slot T to slot 0. */
lud_status lud_mappo_update(lud_mappo_learner_state *learner, lud_error *error);
/* Fills inputs, fields and the core's arrays of a group with `n` chunks of equal length from the buffer. */
lud_status lud_mappo_gather(lud_mappo_learner_state *learner, lud_mappo_group *group, const lud_chunk *chunks,
                            int64_t n, lud_error *error);
