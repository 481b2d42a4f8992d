/* What the neural EMPO learner reads from a scenario's `learner:` section of type empo-phase2. */
#pragma once

#include "learn/empo/stages.h"
#include "learn/empo/theory.h"
#include "learn/nn/optimiser.h"

/* What the archive of states to restart from takes in. */
typedef enum lud_empo_restart_from {
    LUD_EMPO_VISITED,
    LUD_EMPO_SUCCESSORS,
    LUD_EMPO_CONFIGURATIONS
} lud_empo_restart_from;

/* How robots act: by pi_r of the learned Q_r, or by a search from the present state. */
typedef enum lud_empo_pi_r_mode { LUD_EMPO_DIRECT, LUD_EMPO_MCTS } lud_empo_pi_r_mode;

/* Steps that a target looks ahead: one, n, or all that are stored of the episode
 * (learn/empo/targets/trajectory.h). */
typedef enum lud_empo_target_mode {
    LUD_EMPO_ONE_STEP,
    LUD_EMPO_N_STEP,
    LUD_EMPO_EPISODE
} lud_empo_target_mode;

/* What open options are set to: the best that is known for any world, or the reference's values. */
typedef enum lud_empo_preset { LUD_EMPO_BEST, LUD_EMPO_AS_REFERENCE } lud_empo_preset;

typedef struct lud_empo_learner_options {
    const char *type; /* empo-phase2 */
    bool automatic;
    int preset; /* lud_empo_preset */
    lud_empo_theory theory;
    lud_empo_stages stages; /* its beta_r, gamma_h and gamma_r are taken from the theory */
    lud_tree *human_prior;  /* `exact`, or a policy; null: heuristic */

    /* actor */
    int64_t environments, steps_per_episode, buffer_size;
    double buffer_memory; /* GiB */
    double training_steps_per_env_step, goal_resample_prob;
    bool fresh_goals, expected_people, use_count_based_curiosity, count_curiosity_use_ucb;
    double restart_prob;
    int64_t restart_steps, restart_choices, restart_states;
    int restart_from; /* lud_empo_restart_from */
    double count_curiosity_scale, count_curiosity_bonus_coef_r, count_curiosity_bonus_coef_h;
    bool use_rnd, normalize_rnd, use_human_action_rnd, rnd_use_adaptive_lr;
    int64_t rnd_feature_dim, rnd_hidden_dim;
    double rnd_bonus_coef_r, rnd_bonus_coef_h, lr_rnd, rnd_weight_decay, rnd_grad_clip,
        rnd_normalization_decay;
    double rnd_adaptive_lr_scale, rnd_adaptive_lr_min, rnd_adaptive_lr_max;

    int pi_r_mode; /* lud_empo_pi_r_mode */
    int64_t mcts_num_simulations, mcts_max_depth, mcts_enable_after_training_step;
    double mcts_c_puct, mcts_temperature, mcts_dirichlet_alpha, mcts_root_noise_frac;

    bool async_training;
    int64_t num_actors, actor_sync_freq, rnd_sync_freq, async_min_buffer_size, async_queue_size;
    double max_env_steps_per_training_step;

    /* states met */
    double met_memory; /* GiB; 0: targets from a replay memory instead */
    int64_t met_refresh;
    bool path_features;

    /* update */
    int64_t replay_contest, batch_size, shares, updates_per_iteration, x_h_goals;
    int v_h_e_target_mode, q_r_target_mode; /* lud_empo_target_mode */
    int64_t v_h_e_n_step, q_r_n_step, trajectory_max_age;
    bool trajectory_cut_at_exploration;
    double hindsight_prob;
    bool hindsight_whole;
    int64_t target_interval[LUD_EMPO_NETS];
    lud_optimiser_options optimiser;
    double weight_decay[LUD_EMPO_NETS]; /* -1: of the optimiser; so is rnd_weight_decay */
    bool advantage_loss;
    double advantage_floor;
    bool include_step_count;

    /* networks */
    int64_t hidden_dim, goal_feature_dim, agent_embedding_dim, agent_position_feature_dim, agent_feature_dim;
    double dropout, x_h_floor;
    double head_dropout[LUD_EMPO_NETS]; /* -1: dropout */
    bool z_space, log_space, dueling;

    /* tables */
    bool use_lookup_tables, use_lookup[LUD_EMPO_NETS];
    double lookup_default[LUD_EMPO_NETS];
    bool lookup_use_adaptive_lr;
    double lookup_lr, lookup_adaptive_lr_min, lookup_adaptive_lr_power;

    /* evaluation and diagnosis */
    int64_t plasticity_interval, plasticity_batch_size;
    double plasticity_tau;
    int64_t exact_max_states;
} lud_empo_learner_options;
extern const lud_option_table lud_empo_learner_table;

/* The quantities that networks learn, a bit 1 << LUD_NET_... each: neither tables nor closed forms. */
unsigned lud_empo_learner_networks(const lud_empo_learner_options *options);
/* Whether targets need more than single transitions: for trajectories or for goals in hindsight. */
bool lud_empo_learner_uses_trajectories(const lud_empo_learner_options *options);
bool lud_empo_learner_keeps_trajectories(const lud_empo_learner_options *options);

/* The name of an option asked for that met_memory excludes, or null. */
const char *lud_empo_learner_needs_replay(const lud_empo_learner_options *options);

/* Checks that both phases share; `instead` says what they do without the habit of nu_h. */
lud_status lud_empo_learning_check(lud_empo_theory *theory, lud_optimiser_options *optimiser,
                                   int64_t batch_size, int64_t buffer_size, const char *instead,
                                   lud_tree *learner, lud_error *error);
/* Reads the section; then, when automatic options are chosen (phase2/automatic.h), checks what ranges alone
 * cannot say and resolves what follows. */
lud_status lud_empo_learner_options_begin(lud_arena *arena, lud_tree *learner,
                                          lud_empo_learner_options *options, lud_error *error);
lud_status lud_empo_learner_options_end(lud_tree *learner, lud_empo_learner_options *options,
                                        lud_error *error);
