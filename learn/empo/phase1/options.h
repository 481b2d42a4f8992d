/* What the learner of people's behaviour reads from a scenario's `learner:` section of type empo-phase1. */
#pragma once

#include "learn/empo/theory.h"
#include "learn/nn/optimiser.h"
#include "learn/nn/schedule.h"

typedef struct lud_empo_phase1_options {
    const char *type; /* empo-phase1 */
    lud_empo_theory theory;

    /* actor */
    int64_t environments, steps_per_episode, buffer_size;
    double buffer_memory; /* GiB */
    double training_steps_per_env_step, goal_resample_prob;
    double epsilon_start, epsilon_end;
    int64_t epsilon_steps;

    /* update */
    int64_t num_training_steps, updates_per_iteration, batch_size, shares, goals_per_state, target_interval;
    double lr_q_h, lr_marginal, lr_constant_fraction, grad_clip;
    lud_optimiser_options optimiser;
    bool marginal_network, include_step_count;

    /* networks */
    int64_t hidden_dim, goal_feature_dim, agent_embedding_dim, agent_position_feature_dim, agent_feature_dim;
    double dropout;

    /* evaluation */
    int64_t exact_max_states;
} lud_empo_phase1_options;
extern const lud_option_table lud_empo_phase1_table;

/* Reads the section and checks what ranges alone cannot say. */
lud_status lud_empo_phase1_options_read(lud_arena *arena, lud_tree *learner, lud_empo_phase1_options *options,
                                        lud_error *error);
/* Learning rates and exploration at a training step. */
typedef struct lud_empo_phase1_now {
    double epsilon, lr_q_h, lr_marginal;
} lud_empo_phase1_now;
lud_empo_phase1_now lud_empo_phase1_at(const lud_empo_phase1_options *options, int64_t step);
