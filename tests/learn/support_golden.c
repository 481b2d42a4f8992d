#include "learn/support_golden.h"

#include <assert.h>
#include <dnnl.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "agents/rollout.h"
#include "kernels/cpu/cpu.h"
#include "learn/runs/run.h"
#include "learn/support_golden_values.h"
#include "learn/support_trainings.h"
#include "learn/train.h"

#define FAMILY LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml"
#define BALLS  LUDUS_SOURCE_DIR "/scenarios/multigrid/collect_balls.yaml"
#define PARTICLE_WORLD(section)                                                                              \
    "ludus: 1\nname: t\nworld: particle\nparticle: {" section ", episode_length: 4}\n"                       \
    "run: {environments: 3, seed: 5}\n"
#define PARTICLE(section, learner)                                                                           \
    "ludus: 1\nname: t\nworld: particle\nparticle: {" section ", episode_length: 4}\n"                       \
    "run: {environments: 3, seed: 5}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 6, "    \
    "steps: 54, " learner "}\n"
#define NAVIGATION(actions) "task: navigation_graph, agents: 3, obstacles: 1, actions: " actions
#define DISTURBED           NAVIGATION("continuous") ", graph: {nodes: relative, edges: true}, disturbance: {std: 0.1}"
#define SMALL                                                                                                \
    "hidden_size: 16, epochs: 2, evaluation_episodes: 4, graph: {hidden_size: 4, heads: 2, "                 \
    "embed_hidden_size: 8, layers: 1}"
#define MAD_SMALL "state_size: 6, hidden_size: 8"
#define GRID_SMALL                                                                                           \
    "type: graph-mappo, automatic: false, rollout_length: 5, hidden_size: 16, channels: 4, steps: 20, "      \
    "epochs: 2, "                                                                                            \
    "evaluation_episodes: 2"
#define PROOF_SET                                                                                            \
    "learner.n_envs=8", "learner.n_steps=8", "learner.batch_size=24", "learner.n_epochs=2",                  \
        "learner.total_steps=192", "learner.evaluation={every: 2, queries: 3, candidates: 3, slots: 4}"
#define PROOF_NET(more)                                                                                      \
    "learner.network={embedding_size: 12, layers: 1, constant_scale: 0.02, temperature: 0.2, " more "}"
#define CORRIDOR                                                                                             \
    "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n"                                     \
    "    We We We We We\n    We Ay Ae .. We\n    We We .. We We\n    We We We We We\n"                       \
    "  max_steps: 5\n  actions: small\n"                                                                     \
    "goals: [{cell: [1, 1]}, {cell: [2, 1]}, {cell: [3, 1]}, {cell: [2, 2]}]\n"
#define TWO_PEOPLE_MAP                                                                                       \
    "    We We We We We We\n    We Ay Ae .. Ay We\n    We We .. .. We We\n    We We We We We We\n"           \
    "  max_steps: 5\n  actions: small\n"                                                                     \
    "goals: [{cell: [1, 1]}, {cell: [2, 1]}, {cell: [3, 2]}]\n"
#define TWO_PEOPLE "ludus: 1\nname: three\nworld: multigrid\nmultigrid:\n  map: |\n" TWO_PEOPLE_MAP
#define STAGES                                                                                               \
    "  num_training_steps: 24\n  updates_per_iteration: 8\n  batch_size: 6\n"                                \
    "  warmup_v_h_e_steps: 4\n  warmup_x_h_steps: 4\n  warmup_u_r_steps: 4\n  warmup_q_r_steps: 4\n"         \
    "  warmup_v_r_steps: 2\n  beta_r_rampup_steps: 2\n  v_h_e_target_update_interval: 3\n"                   \
    "  q_r_target_update_interval: 2\n  buffer_size: 40\n  environments: 2\n"
#define EMPO(more)                                                                                           \
    CORRIDOR                                                                                                 \
    "learner:\n  type: empo-phase2\n  automatic: false\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.95\n  gamma_r: " \
    "0.97\n  beta_r: 3\n" STAGES more
#define EMPO_NETS "  hidden_dim: 8\n  goal_feature_dim: 4\n"
#define PEOPLE(more)                                                                                         \
    CORRIDOR                                                                                                 \
    "learner:\n  type: empo-phase1\n  gamma_h: 0.9\n  beta_h: 5\n" EMPO_NETS                                 \
    "  num_training_steps: 24\n  updates_per_iteration: 8\n  batch_size: 6\n  buffer_size: 40\n"             \
    "  environments: 2\n  target_update_interval: 3\n  epsilon_h_decay_steps: 10\n" more

#define KEY        LUDUS_SOURCE_DIR "/scenarios/empo/fetch_the_key.yaml"
#define TWO_TRIBES LUDUS_SOURCE_DIR "/scenarios/tribes/raid.yaml"
#define ROOMS      LUDUS_SOURCE_DIR "/scenarios/empo/beyond/two_locked_rooms.yaml"
#define MET(memory)                                                                                          \
    "learner={type: empo-phase2, gamma_h: 0.98, beta_r: 30, zeta: 2, eta: 1.1, hidden_dim: 8, "              \
    "goal_feature_dim: 4, num_training_steps: 60, updates_per_iteration: 20, batch_size: 6, "                \
    "training_steps_per_env_step: 0.5, "                                                                     \
    "exact_max_states: 0, met_memory: " memory "}"

/* A scenario as text or a file, and what is set in it. */
typedef struct golden_case {
    const char *name, *text, *file, *set[16];
} golden_case;

static const golden_case cases[] = {
    {"mappo, mlp", PARTICLE("task: simple_spread", "recurrent: false, minibatches: 1, " SMALL), NULL, {NULL}},
    {"mappo, mlp, popart, three minibatches",
     PARTICLE("task: simple_spread",
              "recurrent: false, minibatches: 3, normaliser: popart, decay_learning_rate: true, "
              "time_limits: bootstrap, " SMALL),
     NULL,
     {NULL}},
    {"mappo, mlp, plain returns, own observations",
     PARTICLE(
         "task: simple_spread, actions: continuous",
         "recurrent: false, minibatches: 2, normaliser: none, gae: false, clip_value: false, "
         "centralised: false, huber_delta: 0, time_limits: discard, optimiser: {weight_decay: 0.01}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, unlike agents",
     PARTICLE("task: simple_world_comm, agents: 1, adversaries: 1",
              "chunk_length: 3, identify: true, time_limits: bootstrap, minibatches: 2, " SMALL),
     NULL,
     {NULL}},
    {"mappo, words and moves",
     PARTICLE("task: simple_reference", "recurrent: false, factored: true, " SMALL),
     NULL,
     {NULL}},
    {"mappo, graph", PARTICLE(NAVIGATION("discrete"), "recurrent: false, " SMALL), NULL, {NULL}},
    {"mappo, graph, recurrent",
     PARTICLE(NAVIGATION("discrete"), "recurrent: true, chunk_length: 4, minibatches: 2, " SMALL),
     NULL,
     {NULL}},
    {"mappo, graph, recurrent, continuous",
     PARTICLE(NAVIGATION("continuous"), "recurrent: true, chunk_length: 3, normaliser: popart, " SMALL),
     NULL,
     {NULL}},
    {"mappo, graph, bf16",
     PARTICLE(NAVIGATION("discrete"), "recurrent: true, chunk_length: 4, epochs: 2, hidden_size: 112, "
                                      "evaluation_episodes: 4"),
     NULL,
     {"run.precision=bf16"}},
    {"mappo, magnitude and direction",
     PARTICLE(NAVIGATION("continuous"),
              "control: mad, chunk_length: 5, centralised: false, minibatches: 2, mad: {" MAD_SMALL
              "}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, magnitude with a rate of its own",
     PARTICLE(NAVIGATION("continuous"),
              "control: mad, chunk_length: 3, mad: {" MAD_SMALL
              ", learning_rate: 0.001, entropy: replayed, magnitude: softplus}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, magnitude of disturbances",
     PARTICLE(DISTURBED, "control: mad, chunk_length: 4, mad: {" MAD_SMALL ", input: disturbance}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, central magnitude",
     PARTICLE(DISTURBED, "control: mad, encoder: mlp, recurrent: false, mad: {" MAD_SMALL
                         ", input: central, detach: true}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, base controller",
     PARTICLE(NAVIGATION("continuous"), "control: base, recurrent: false, " SMALL),
     NULL,
     {NULL}},
    {"mappo, grid",
     NULL,
     BALLS,
     {"run.environments=2", "learner={" GRID_SMALL ", recurrent: false, minibatches: 2}"}},
    {"mappo, grid, recurrent",
     NULL,
     BALLS,
     {"run.environments=2", "learner={" GRID_SMALL ", chunk_length: 3, normaliser: popart}"}},
    {"proof",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, dropout: 0.1, states: concat"), PROOF_SET, "learner.target_kl=0"}},
    {"proof, rate of the value",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, dropout: 0, states: concat"), PROOF_SET, "learner.learning_rate.value=0.01"}},
    {"proof, stopped by divergence",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, dropout: 0, states: attention, separate_value: false"), PROOF_SET,
      "learner.target_kl=0.03", "learner.learning_rate={start: 0.02, warmup: 0}",
      "learner.normalise_advantage=true", "learner.value_clip_range=0"}},
    {"proof, look-ahead",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, states: mean, look_ahead: 2, l2_norm: false, sqrt_scale: true"), PROOF_SET,
      "learner.target_kl=0", "learner.chunk_rows=16"}},
    {"proof, bf16",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 112, dropout: 0.1, states: concat"), PROOF_SET, "learner.target_kl=0",
      "run.precision=bf16"}},
    {"people", PEOPLE(""), NULL, {NULL}},
    {"people, without the marginal network",
     PEOPLE("  marginal_network: false\n  goals_per_state: 2\n  dropout: 0.2\n  exact_max_states: 0\n"),
     NULL,
     {NULL}},
    {"empo, networks", EMPO(EMPO_NETS "  human_prior: exact\n"), NULL, {NULL}},
    {"empo, all heads",
     EMPO(EMPO_NETS "  human_prior: {type: random}\n  u_r_use_network: true\n  v_r_use_network: true\n"
                    "  dropout: 0.2\n  exact_max_states: 0\n"),
     NULL,
     {NULL}},
    {"empo, several steps",
     EMPO(EMPO_NETS "  v_h_e_target_mode: n_step\n  v_h_e_n_step: 3\n  q_r_target_mode: episode\n"
                    "  fresh_goals: false\n  q_r_dueling: true\n  epsilon_r_start: 0.2\n"
                    "  epsilon_h_start: 0.1\n  replay_contest: 2\n  hindsight_prob: 0\n"),
     NULL,
     {NULL}},
    {"empo, in hindsight", EMPO(EMPO_NETS "  hindsight_prob: 0.5\n  x_h_goals: 3\n"), NULL, {NULL}},
    {"empo, curious",
     EMPO(EMPO_NETS "  use_rnd: true\n  rnd_feature_dim: 4\n  rnd_hidden_dim: 8\n"
                    "  use_human_action_rnd: true\n  rnd_use_adaptive_lr: true\n"),
     NULL,
     {NULL}},
    {"empo, in expectation, by tree search",
     EMPO(EMPO_NETS "  human_prior: exact\n  expected_people: true\n  x_h_use_network: false\n"
                    "  use_log_space_transform: true\n  pi_r_mode: mcts\n  mcts_num_simulations: 4\n"),
     NULL,
     {NULL}},
    {"empo, tables",
     EMPO("  use_lookup_tables: true\n  human_prior: exact\n  use_count_based_curiosity: true\n"),
     NULL,
     {NULL}},
    {"empo, tables in expectation",
     EMPO("  use_lookup_tables: true\n  expected_people: true\n  u_r_use_network: true\n"
          "  v_r_use_network: true\n  lookup_use_adaptive_lr: true\n  restart_prob: 0.5\n"
          "  restart_from: successors\n  restart_steps: 1\n"),
     NULL,
     {NULL}},
    {"empo, states met", NULL, KEY, {MET("24M")}},
    {"empo, states met, little memory",
     NULL,
     KEY,
     {MET("0.11M"), "learner.training_steps_per_env_step=0.04"}},
    {"empo, states met, far", NULL, ROOMS, {MET("1M"), "learner.gamma_r=0.98"}},
    {"empo, powers",
     EMPO(EMPO_NETS "  use_z_space_transform: true\n  use_z_based_loss: true\n  cosine_lr_decay: true\n"
                    "  lr_constant_fraction: 0.9\n  q_r_advantage_weighted_loss: true\n"
                    "  q_r_advantage_weight_floor: 0.1\n  x_h_use_network: false\n  x_h_floor: 0.05\n"),
     NULL,
     {"learner.zeta=1.5"}},
    {"empo, curricula",
     EMPO(EMPO_NETS
          "  gamma_h_curriculum: true\n  gamma_h_start: 0.3\n  gamma_h_rampup_steps: 3\n"
          "  gamma_r_curriculum: true\n  gamma_r_start: 0.2\n  gamma_r_rampup_steps: 2\n"
          "  lr_constant_fraction: 0.2\n  constant_lr_then_1_over_t: false\n  auto_grad_clip: false\n"
          "  gradual_buffer_clearing: false\n  v_r_use_network: true\n  agent_embedding_dim: 4\n"
          "  agent_position_feature_dim: 4\n  agent_feature_dim: 4\n  plasticity_diagnostics_interval: 5\n"
          "  restart_prob: 0.4\n  restart_choices: 3\n  goal_resample_prob: 0.2\n"
          "  include_step_count: false\n  steps_per_episode: 7\n"),
     NULL,
     {NULL}},
    {"empo, counting",
     EMPO(EMPO_NETS "  use_lookup_tables: true\n  use_lookup_q_r: false\n  use_lookup_x_h: false\n"
                    "  lookup_use_adaptive_lr: true\n  lookup_adaptive_lr_power: 0.6\n"
                    "  use_count_based_curiosity: true\n  count_curiosity_use_ucb: true\n"
                    "  count_curiosity_scale: 2\n  count_curiosity_bonus_coef_r: 0.7\n"
                    "  count_curiosity_bonus_coef_h: 0.9\n  buffer_clearing_lasts: false\n"),
     NULL,
     {NULL}},
    {"empo, search with noise",
     EMPO(EMPO_NETS "  pi_r_mode: mcts\n  mcts_num_simulations: 6\n  mcts_c_puct: 2.5\n"
                    "  mcts_temperature: 0.5\n  mcts_max_depth: 3\n  mcts_root_noise_frac: 0.3\n"
                    "  mcts_dirichlet_alpha: 0.6\n  mcts_enable_after_training_step: 19\n"),
     NULL,
     {NULL}},
    {"empo, whole episodes in hindsight",
     EMPO(EMPO_NETS "  v_h_e_target_mode: episode\n  q_r_target_mode: n_step\n  q_r_n_step: 2\n"
                    "  fresh_goals: false\n  trajectory_cut_at_exploration: false\n"
                    "  trajectory_replay_max_age_training_steps: 9\n  epsilon_r_start: 0.3\n"
                    "  use_log_space_transform: true\n"),
     NULL,
     {NULL}},
    {"empo, frequencies kept",
     EMPO(EMPO_NETS "  hindsight_prob: 0.4\n  hindsight_keeps_frequencies: true\n  \n"),
     NULL,
     {NULL}},
    {"mappo, another graph",
     PARTICLE(NAVIGATION("discrete"),
              "recurrent: false, minibatches: 0, minibatch_size: 20, target_kl: 0.02, decay_entropy: true, "
              "value_coefficient: 0.5, max_norm: 0, discount: 0.9, lambda: 0.8, clip: 0.1, "
              "normaliser_beta: 0.99, deterministic: false, hidden_size: 16, epochs: 2, "
              "evaluation_episodes: 4, graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1, "
              "embedding_size: 3, embed_layers: 2, embed_relu: false, concatenate_heads: true, relu: false, "
              "pooling: max, actor_pools: true}"),
     NULL,
     {NULL}},
    {"mappo, an own graph for the critic",
     PARTICLE(NAVIGATION("continuous"),
              "recurrent: true, chunk_length: 4, log_std: -0.5, "
              "hidden_size: 16, epochs: 2, evaluation_episodes: 4, graph: {hidden_size: 4, heads: 2, "
              "embed_hidden_size: 8, layers: 1, ego_critic: true}"),
     NULL,
     {NULL}},
    {"mappo, grid, novelty",
     NULL,
     BALLS,
     {"run.environments=2",
      "learner={" GRID_SMALL
      ", recurrent: false, novelty: 0.5, novelty_relative: true, decay_entropy: true}"}},
    {"mappo, another magnitude",
     PARTICLE(
         DISTURBED,
         "control: mad, chunk_length: 3, mad: {state_size: 6, hidden_size: 8, base_gain: 2, floor: 0.02, "
         "floor_in_action: true, limit: 1.5, features: 5, input: disturbance, r_min: 0.2, r_max: "
         "0.6}, " SMALL),
     NULL,
     {NULL}},
    {"proof, other forms",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, dropout: 0, fact_counts: true, value_head_scale: 2"), PROOF_SET,
      "learner.gamma=0.9", "learner.gae_lambda=0.8", "learner.value_coefficient=0.7",
      "learner.learning_rate={start: 0.01, end: 0.002, warmup: 0.2, decay: linear}",
      "learner.evaluation={every: 1, queries: 3, candidates: 3, slots: 4, keep_best: false, beam: 2}"}},
    {"embeddings, complex",
     NULL,
     FAMILY,
     {"learner={type: kge, scorer: complex, dimension: 8, negatives: 4, epochs: 2, "
      "evaluation: {every: 1, queries: 5}}"}},
    {"embeddings, rotate",
     NULL,
     FAMILY,
     {"learner={type: kge, scorer: rotate, dimension: 3, negatives: 4, epochs: 2, loss: bce, "
      "evaluation: {every: 1, queries: 5}}"}},
    {"empo, other theory",
     TWO_PEOPLE
     "learner:\n  type: empo-phase2\n  automatic: false\n  zeta: 1.5\n  eta: 1.3\n  xi: 1.4\n  "
     "aggregate: sum\n  reward_weight: one\n  terminal_value: -0.001\n  rho_h: 0.05\n  rho_r: 0.03\n"
     "  optimistic: true\n  beta_r: 4\n" STAGES EMPO_NETS "  x_h_goals: 2\n",
     NULL,
     {NULL}},
    {"empo, two people in expectation",
     TWO_PEOPLE "learner:\n  type: empo-phase2\n  automatic: false\n  zeta: 2\n  eta: 1.1\n  xi: 1.2\n"
                "  gamma_h: 0.9\n  gamma_r: 0.95\n  beta_r: 4\n  u_r_use_network: true\n"
                "  v_r_use_network: true\n  expected_people: true\n" STAGES EMPO_NETS,
     NULL,
     {NULL}},
    {"empo, rates and limits",
     EMPO(EMPO_NETS
          "  u_r_use_network: true\n  v_r_use_network: true\n  x_h_use_network: true\n  lr_v_h_e: 2e-3\n"
          "  lr_x_h: 3e-3\n  lr_u_r: 4e-3\n  lr_q_r: 5e-3\n  lr_v_r: 6e-3\n  use_sqrt_lr_decay: false\n"
          "  v_h_e_weight_decay: 0.01\n  x_h_weight_decay: 0.02\n  u_r_weight_decay: 0.03\n"
          "  q_r_weight_decay: 0.04\n  v_r_weight_decay: 0.05\n  v_h_e_grad_clip: 0.02\n  x_h_grad_clip: "
          "0.03\n"
          "  u_r_grad_clip: 0.04\n  q_r_grad_clip: 0.05\n  v_r_grad_clip: 0.06\n"
          "  auto_grad_clip_reference_lr: 1e-3\n  x_h_target_update_interval: 4\n"
          "  u_r_target_update_interval: 5\n  v_r_target_update_interval: 6\n  v_h_e_dropout: 0.1\n"
          "  x_h_dropout: 0.15\n  u_r_dropout: 0.2\n  q_r_dropout: 0.25\n  v_r_dropout: 0.3\n"
          "  exact_max_states: 0\n"),
     NULL,
     {NULL}},
    {"empo, otherwise curious",
     EMPO(EMPO_NETS
          "  use_rnd: true\n  rnd_feature_dim: 4\n  rnd_hidden_dim: 8\n  use_human_action_rnd: true\n"
          "  rnd_bonus_coef_r: 0.4\n  rnd_bonus_coef_h: 0.3\n  lr_rnd: 2e-3\n  rnd_weight_decay: 0.02\n"
          "  rnd_grad_clip: 0.05\n  rnd_normalization_decay: 0.8\n  rnd_use_adaptive_lr: true\n"
          "  rnd_adaptive_lr_scale: 3\n  rnd_adaptive_lr_min: 0.5\n  rnd_adaptive_lr_max: 2\n"
          "  epsilon_r_start: 0.5\n  epsilon_r_end: 0.2\n  epsilon_r_decay_steps: 7\n  epsilon_h_start: 0.4\n"
          "  epsilon_h_end: 0.3\n  restart_prob: 0.5\n  restart_states: 3\n  buffer_memory: 1M\n"),
     NULL,
     {NULL}},
    {"empo, curious in plain units",
     EMPO(EMPO_NETS "  use_rnd: true\n  rnd_feature_dim: 4\n  rnd_hidden_dim: 8\n  normalize_rnd: false\n"),
     NULL,
     {NULL}},
    {"empo, some tables",
     EMPO(EMPO_NETS "  use_lookup_tables: true\n  use_lookup_v_h_e: false\n  use_lookup_u_r: true\n  "
                    "use_lookup_v_r: false\n"
                    "  u_r_use_network: true\n  v_r_use_network: true\n  lookup_default_x_h: 0.01\n  "
                    "lookup_default_y: 3\n"
                    "  lookup_default_q_r: -2\n  lookup_lr: 0.3\n"),
     NULL,
     {NULL}},
    {"empo, tables from other values",
     EMPO("  use_lookup_tables: true\n  use_lookup_u_r: false\n  u_r_use_network: true\n  v_r_use_network: "
          "true\n"
          "  lookup_default_v_h_e: 0.3\n  lookup_default_v_r: -3\n  lookup_use_adaptive_lr: true\n"
          "  lookup_adaptive_lr_min: 0.4\n" EMPO_NETS),
     NULL,
     {NULL}},
    {"empo, dormant units",
     EMPO(EMPO_NETS "  plasticity_diagnostics_interval: 4\n  plasticity_diagnostics_batch_size: 5\n"
                    "  plasticity_dormant_tau: 0.6\n"),
     NULL,
     {NULL}},
    {"empo, states met, begun anywhere",
     NULL,
     KEY,
     {MET("24M"), "learner.training_steps_per_env_step=0.05", "learner.restart_prob=0.7",
      "learner.restart_from=successors", "learner.restart_choices=3"}},
    {"empo, states met, begun where others acted",
     NULL,
     KEY,
     {MET("24M"), "learner.training_steps_per_env_step=0.05", "learner.restart_prob=0.7",
      "learner.restart_from=visited", "learner.restart_choices=2"}},
    {"people, other theory",
     "ludus: 1\nname: three\nworld: multigrid\nmultigrid:\n  map: |\n" TWO_PEOPLE_MAP
     "learner:\n  type: empo-phase1\n  rho_h: 0.08\n  optimistic: true\n  beta_h: 3\n"
     "  buffer_memory: 1M\n  epsilon_h_start: 0.6\n  epsilon_h_end: 0.2\n  lr_q_h: 2e-3\n  lr_marginal: "
     "3e-3\n"
     "  grad_clip: 0.1\n" EMPO_NETS
     "  num_training_steps: 24\n  updates_per_iteration: 8\n  batch_size: 6\n  buffer_size: 40\n"
     "  environments: 2\n  target_update_interval: 3\n  epsilon_h_decay_steps: 10\n",
     NULL,
     {NULL}},
    {"mappo, other networks",
     PARTICLE(
         NAVIGATION("discrete"),
         "recurrent: true, chunk_length: 3, tanh: true, orthogonal: false, feature_normalisation: false, "
         "output_gain: 0.3, critic_learning_rate: 0.003, entropy_coefficient: 0.05, advantage_floor: "
         "0.5, " SMALL),
     NULL,
     {NULL}},
    {"mappo, three shares, apollo",
     PARTICLE(NAVIGATION("continuous"),
              "recurrent: false, shares: 3, optimiser: {type: apollo, rank: 2, projection_gap: 2}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, grid, more convolutions",
     NULL,
     BALLS,
     {"run.environments=2", "learner={" GRID_SMALL ", recurrent: false, convolutions: 3}"}},
    {"proof, two shares, other limits",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, dropout: 0, states: concat"), PROOF_SET, "learner.shares=2",
      "learner.clip_range=0.05", "learner.max_grad_norm=0.05",
      "learner.optimiser={type: adamw, weight_decay: 0.02}"}},
    {"embeddings, transe",
     NULL,
     FAMILY,
     {"learner={type: kge, scorer: transe, norm: 2, margin: 5, dimension: 3, negatives: 4, epochs: 2, "
      "bernoulli: false, max_grad_norm: 0.1, shares: 2, loss: self_adversarial, alpha: 0.5, "
      "evaluation: {every: 1, queries: 5}}"}},
    {"embeddings, transe by absolute values",
     NULL,
     FAMILY,
     {"learner={type: kge, scorer: transe, norm: 1, dimension: 3, negatives: 4, epochs: 2, loss: bce, "
      "evaluation: {every: 1, queries: 5}}"}},
    {"embeddings, short ones",
     NULL,
     FAMILY,
     {"learner={type: kge, scorer: rotate, dimension: 3, negatives: 4, epochs: 2, max_modulus: 0.4, "
      "evaluation: {every: 1, queries: 5}}"}},
    {"ticks, a critic",
     PARTICLE_WORLD(
         NAVIGATION("discrete")) "learner: {type: ticks, ticks: 60, ticks_per_iteration: 3, "
                                 "evaluation_episodes: 3, shares: 2, "
                                 "baseline: {type: critic}, critic_ticks: 9, critic_learning_rate: 0.004, "
                                 "entropy_coefficient: 0.03, "
                                 "standardise: false, max_rows: 5, normaliser: popart, normaliser_beta: 0.9, "
                                 "policy: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL}},
    {"ticks, by importance",
     PARTICLE_WORLD(NAVIGATION("discrete")) "learner: {type: ticks, ticks: 60, ticks_per_iteration: 3, "
                                            "evaluation_episodes: 3, gate: {mode: importance, rate: 0.3, "
                                            "warmup_experiences: 0}, baseline: {type: critic}, "
                                            "policy: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL}},
    {"ticks, a team learns",
     NULL,
     TWO_TRIBES,
     {"run.environments=2", "learner={type: ticks, ticks: 24, ticks_per_iteration: 3, evaluation_episodes: "
                            "2, training_teams: [raiders], "
                            "baseline: {type: critic}, policy: {hidden_size: 16, encoder: mlp}}"}},
    {"clone, over positions, an ensemble",
     PARTICLE_WORLD(NAVIGATION(
         "discrete")) "learner: {type: clone, steps: 6, report_every: 2, batch: 16, windows: {horizon: 3}, "
                      "average_positions: true, "
                      "shares: 2, ensemble: true, ensemble_decay: 0.5, evaluation_episodes: 6, dagger: "
                      "{rounds: 2, labels: 24, "
                      "environments: 3, expert: random}, network: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL}},
    {"clone, bounded numbers, carried out",
     PARTICLE_WORLD(NAVIGATION(
         "continuous")) "learner: {type: clone, steps: 6, report_every: 2, batch: 16, windows: {horizon: 3}, "
                        "normalisation: bounds_q99, execute: 2, evaluation_episodes: 6, dagger: {rounds: 1, "
                        "labels: 24, "
                        "environments: 3, expert: random}, network: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL}},
};

/* Trainings of support_trainings.c that none of the above is like; named after them. */
static const char *const others[] = {"mappo, gated",
                                     "a policy for each role",
                                     "empo, goals of X_h drawn",
                                     "ticks, a graph",
                                     "ticks, continuous",
                                     "clone, choices that are asked for",
                                     "clone, numbers that are asked for",
                                     "proof, gated"};
enum { OWN = sizeof cases / sizeof *cases, CASES = OWN + sizeof others / sizeof *others };

static golden_case case_of(int i) {
    if (i < OWN) return cases[i];
    int k = 0;
    while (strcmp(support_trainings[k].name, others[i - OWN]) != 0) k++;
    const support_training *t = &support_trainings[k];
    golden_case c = {.name = t->name, .text = t->text, .file = t->file};
    memcpy(c.set, t->set, sizeof t->set);
    return c;
}

/* A tensor or a column. */
typedef struct part {
    char name[112];
    size_t bytes;
    uint64_t hash;
} part;

enum { MAX_PARTS = 4096 };
typedef struct parts {
    part items[MAX_PARTS];
    int n_tensors, n; /* columns lie behind the tensors */
    uint64_t played, reported;
} parts;

static int by_hash(const void *a, const void *b) {
    const uint64_t x = ((const part *)a)->hash, y = ((const part *)b)->hash;
    return x < y ? -1 : x > y;
}

static uint64_t combined(part *items, int n) {
    uint64_t hashes[MAX_PARTS];
    qsort(items, (size_t)n, sizeof *items, by_hash);
    for (int i = 0; i < n; i++) hashes[i] = items[i].hash;
    return XXH3_64bits(hashes, (size_t)n * sizeof *hashes);
}

static bool is_of_time(const char *name) {
    return strstr(name, "second") || strstr(name, "speed") || strstr(name, "per_s") || strstr(name, "time");
}

static void add(parts *p, const char *name, const void *bytes, size_t n) {
    if (is_of_time(name)) return;
    assert_in_range(p->n, 0, MAX_PARTS - 1);
    part *item = &p->items[p->n++];
    snprintf(item->name, sizeof item->name, "%s", name);
    item->bytes = n;
    item->hash = XXH3_64bits(bytes, n);
}

static void add_tensors(parts *p, const char *folder) {
    char path[128];
    lud_error error = {0};
    lud_checkpoint *checkpoint = NULL;
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    if (lud_checkpoint_open(path, &checkpoint, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++) {
        const lud_tensor *t = lud_checkpoint_get(checkpoint, i);
        add(p, t->name, t->data, t->bytes);
    }
    lud_checkpoint_destroy(checkpoint);
    p->n_tensors = p->n;
}

/* Every column of metrics.csv as one text, its rows one below the other. */
static void add_metrics(parts *p, const char *folder) {
    enum { MAX_COLUMNS = 160 };
    static char column[MAX_COLUMNS][512];
    char path[128], names[MAX_COLUMNS][96], *line = NULL;
    size_t room = 0;
    ssize_t length;
    int n_columns = 0, n_rows = 0;
    snprintf(path, sizeof path, "%s/metrics.csv", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    memset(column, 0, sizeof column);
    for (; (length = getline(&line, &room, file)) > 0; n_rows++) {
        line[length - 1] = '\0';
        int k = 0;
        for (char *cell = line, *next; cell; cell = next, k++) {
            next = strchr(cell, ',');
            if (next) *next++ = '\0';
            assert_in_range(k, 0, MAX_COLUMNS - 1);
            const size_t used = strlen(column[k]);
            if (n_rows == 0)
                snprintf(names[k], sizeof names[k], "metrics: %s", cell);
            else
                assert_true(snprintf(column[k] + used, sizeof column[k] - used, "%s\n", cell) <
                            (int)(sizeof column[k] - used));
        }
        if (n_rows == 0) n_columns = k;
        assert_int_equal(k, n_columns);
    }
    assert_in_range(n_rows, 3, 25);
    for (int k = 0; k < n_columns; k++) add(p, names[k], column[k], strlen(column[k]));
    free(line);
    fclose(file);
}

static lud_status read_scenario(const golden_case *c, const char *threads, lud_scenario **scenario,
                                lud_error *error) {
    const char *set[17];
    int n_set = 0;
    for (; c->set[n_set]; n_set++) set[n_set] = c->set[n_set];
    set[n_set++] = threads;
    return c->text ? lud_scenario_read("golden.yaml", c->text, strlen(c->text), set, n_set, scenario, error)
                   : lud_scenario_load(c->file, set, n_set, scenario, error);
}

/* What the run's agents do, where others can use it: states and actions of some steps in some environments.
 * What cannot act says so. */
static uint64_t play(const golden_case *c, const char *folder, const char *threads) {
    enum { ENVIRONMENTS = 3, STEPS = 12 };
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_run run = {0};
    lud_runner runner = {0};
    uint64_t hash = 0;
    if (read_scenario(c, threads, &scenario, &error)) fail_msg("%s: %s", c->name, error.text);
    if (lud_run_open(folder, scenario, &run, &error)) return XXH3_64bits("none", 4);
    const lud_layout *layout = &run.scenario->model->layout;
    if (lud_runner_create(run.scenario->model, run.cast, ENVIRONMENTS, 77, 0, &runner, &error))
        fail_msg("%s: %s", c->name, error.text);
    if (lud_runner_tell(&runner, false, &error)) fail_msg("%s: %s", c->name, error.text);
    lud_runner_start(&runner);
    for (int t = 0; t < STEPS; t++) {
        lud_runner_step(&runner);
        const size_t chosen = ENVIRONMENTS * (size_t)layout->n_agents;
        for (size_t i = 0; i < chosen; i++)
            if (isnan(runner.log_probs[i])) runner.log_probs[i] = 1.0f; /* whatever kind it is */
        hash = XXH3_64bits_withSeed(runner.log_probs, chosen * sizeof *runner.log_probs, hash);
        if (runner.discrete && lud_max_discrete(layout) > 0)
            hash = XXH3_64bits_withSeed(runner.discrete, chosen * sizeof *runner.discrete, hash);
        if (runner.continuous && lud_max_continuous(layout) > 0)
            hash = XXH3_64bits_withSeed(runner.continuous,
                                        sizeof *runner.continuous * ENVIRONMENTS * (size_t)layout->n_agents *
                                            (size_t)lud_max_continuous(layout),
                                        hash);
        hash = XXH3_64bits_withSeed(runner.batch->states, ENVIRONMENTS * layout->state_bytes, hash);
        lud_runner_renew(&runner);
    }
    lud_runner_destroy(&runner);
    lud_run_close(&run);
    return hash;
}

/* Numbers of a report; its texts may have names of folders. */
static uint64_t hash_of_json(const json_t *json, uint64_t hash) {
    const char *key;
    size_t i;
    json_t *value;
    if (json_is_object(json)) {
        json_object_foreach((json_t *)(uintptr_t)json, key, value) {
            if (is_of_time(key)) continue;
            hash = hash_of_json(value, XXH3_64bits_withSeed(key, strlen(key), hash));
        }
    } else if (json_is_array(json)) {
        json_array_foreach(json, i, value) hash = hash_of_json(value, hash + 1);
    } else if (json_is_number(json)) {
        const double number = json_number_value(json);
        hash = XXH3_64bits_withSeed(&number, sizeof number, hash);
    } else if (!json_is_string(json)) {
        hash = XXH3_64bits_withSeed(&json->type, sizeof json->type, hash);
    }
    return hash;
}

/* What is reported of the run as a whole, and of the states in which some environments begin. */
static uint64_t report(const golden_case *c, const char *folder, const char *threads) {
    enum { ENVIRONMENTS = 2 };
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    const lud_learner_kind *kind = NULL;
    uint64_t hash = 0;
    if (read_scenario(c, threads, &scenario, &error) || lud_run_kind(folder, scenario, &kind, &error))
        fail_msg("%s: %s", c->name, error.text);
    const size_t bytes = scenario->model->layout.state_bytes;
    uint8_t *states = calloc(ENVIRONMENTS, bytes + 1);
    uint32_t ticks[ENVIRONMENTS] = {0};
    assert_non_null(states);
    scenario->world->reset(scenario->model, (lud_range){.seed = 3, .n = ENVIRONMENTS, .tick = ticks}, states);
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    for (int e = -1; e < ENVIRONMENTS; e++) {
        const lud_report_request request = {.folder = folder,
                                            .scenario = scenario,
                                            .overrides = &none,
                                            .json = true,
                                            .n_queries = 2,
                                            .episodes = 2,
                                            .state = states + (size_t)(e < 0 ? 0 : e) * bytes};
        lud_report found = {0};
        lud_status (*say)(const lud_report_request *, lud_report *, lud_error *) =
            e < 0 ? kind->evaluate_run : kind->describe_state;
        /* of stability much is computed: once is enough */
        if (e < 0 && !strncmp(c->name, "mappo", 5) && strcmp(c->name, "mappo, magnitude and direction") != 0)
            continue;
        if (say && say(&request, &found, &error)) hash++; /* it cannot say anything */
        if (found.json) hash = hash_of_json(found.json, hash);
        lud_text_free(&found.text);
        json_decref(found.json);
        lud_arena_destroy(found.arena);
    }
    free(states);
    lud_scenario_destroy(scenario);
    return hash;
}

/* Trains into a folder of its own and takes in what it wrote. */
static void train(const golden_case *c, const char *choice, int n_threads, parts *p) {
    char folder[] = "/tmp/ludus-golden-XXXXXX", threads[32], command[64];
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    lud_train_result result;
    snprintf(threads, sizeof threads, "run.threads=%d", n_threads);
    if (read_scenario(c, threads, &scenario, &error)) fail_msg("%s: %s", c->name, error.text);
    if (lud_scenario_device(scenario, choice, &device, &error)) fail_msg("%s: %s", c->name, error.text);
    if (device->backend->host_memory && n_threads > 1) ((lud_cpu *)device)->work_per_thread = 1;
    if (lud_learner_create(scenario, device, &learner, &error)) fail_msg("%s: %s", c->name, error.text);
    assert_non_null(mkdtemp(folder));
    lud_carried carried = {0};
    char *configuration = NULL;
    lud_arena *arena = lud_arena_create(0);
    if (lud_train_configuration(scenario, learner, folder, false, arena, &carried, &configuration, &error))
        fail_msg("%s: %s", c->name, error.text);
    const lud_train_options options = {
        .folder = folder, .configuration = configuration, .carried = &carried, .model = scenario->model};
    if (lud_train(learner, &options, &result, &error)) fail_msg("%s: %s", c->name, error.text);
    assert_in_range(result.iterations, 2, 20);
    lud_carried_free(&carried);
    lud_arena_destroy(arena);
    lud_learner_destroy(learner);
    if (lud_device_failure(device)) fail_msg("%s: %s", c->name, lud_device_failure(device));
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    p->n_tensors = p->n = 0;
    add_tensors(p, folder);
    add_metrics(p, folder);
    p->played = p->reported = 0;
    if (strcmp(choice, "cpu") == 0) p->played = play(c, folder, threads);
    if (strcmp(choice, "cpu") == 0 && n_threads == 1) p->reported = report(c, folder, threads);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static bool is_printing(void) {
    const char *wish = getenv("LUDUS_GOLDEN_PRINT");
    return wish && strcmp(wish, "0") != 0;
}

static void print_parts(const golden_case *c, const parts *p) {
    for (int i = 0; i < p->n; i++)
        printf("//   %016llx %8zu bytes  %s: %s\n", (unsigned long long)p->items[i].hash, p->items[i].bytes,
               c->name, p->items[i].name);
}

/* Null: the case has no known value on the device. */
static const golden_value *known(const char *name, const char *device) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name) && !strcmp(values[i].device, device)) return &values[i];
    return NULL;
}

/* A case on a device. */
typedef struct golden_test {
    golden_case c;
    char name[112];
    const char *device;
    int n_threads;
} golden_test;

static void check(void **state) {
    static parts p;
    const golden_test *t = *state;
    const golden_value *value = known(t->c.name, t->device);
    train(&t->c, t->device, t->n_threads, &p);
    const uint64_t checkpoint = combined(p.items, p.n_tensors),
                   metrics = combined(p.items + p.n_tensors, p.n - p.n_tensors);
    const bool same =
        value && value->checkpoint == checkpoint && value->metrics == metrics && value->played == p.played;
    if (is_printing() || !same) {
        printf("{\"%s\", \"%s\", 0x%016llx, 0x%016llx, 0x%016llx, 0x%016llx},\n", t->c.name, t->device,
               (unsigned long long)checkpoint, (unsigned long long)metrics, (unsigned long long)p.played,
               (unsigned long long)p.reported);
        print_parts(&t->c, &p);
    }
    if (same || is_printing()) return;
    fail_msg("not what is known:%s%s%s%s", value->checkpoint != checkpoint ? " the checkpoint" : "",
             value->metrics != metrics ? " the metrics" : "",
             value->played != p.played ? " what its agents do" : "",
             value->reported != p.reported ? " what is reported" : "");
}

/* Whether the processor, or one emulated, computes the known bytes; a message says why not. */
static bool is_possible(void) {
    setenv("LUDUS_CPU", "avx2", 1);
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    setenv("DNNL_MAX_CPU_ISA", "AVX2", 1);
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        print_message("the values are those of AVX2 and FMA, which this processor has not\n");
        return false;
    }
    if (dnnl_get_effective_cpu_isa() != dnnl_cpu_isa_avx2) {
        print_message("oneDNN cannot be held to AVX2 here\n");
        return false;
    }
    return true;
#else
    print_message("the values are those of x86-64 with AVX2\n");
    return false;
#endif
}

static void none_here(void **state) {
    (void)state;
    skip();
}

int support_golden_tests(const char *device, int n_threads, struct CMUnitTest *tests) {
    if (!device || !is_possible()) {
        tests[0] = (struct CMUnitTest)cmocka_unit_test(none_here);
        return 1;
    }
    static golden_test all[SUPPORT_GOLDEN_TESTS];
    static int n_all;
    int n = 0;
    for (int i = 0; i < CASES; i++) {
        golden_test *t = &all[n_all];
        *t = (golden_test){.c = case_of(i), .device = device, .n_threads = n_threads};
        if (!known(t->c.name, device) && !is_printing()) continue;
        if (is_printing() && n_threads > 1) continue;
        assert(n_all < SUPPORT_GOLDEN_TESTS);
        n_all++;
        snprintf(t->name, sizeof t->name, "%.80s, threads: %d", t->c.name, n_threads);
        tests[n++] = (struct CMUnitTest){.name = t->name, .test_func = check, .initial_state = t};
    }
    return n;
}
