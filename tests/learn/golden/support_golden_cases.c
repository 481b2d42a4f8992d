/* What is trained in support_golden.c: every option of a learner and every choice of it stands in one of
 * these. */
#include "learn/golden/support_golden_cases.h"

#include <stddef.h>

#define FAMILY LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml"
#define BALLS  LUDUS_SOURCE_DIR "/scenarios/multigrid/collect_balls.yaml"
#define PARTICLE_WORLD(section)                                                                              \
    "ludus: 1\nname: t\nworld: particle\nparticle: {" section ", episode_length: 4}\n"                       \
    "run: {environments: 3, seed: 5}\n"
#define PARTICLE(section, learner)                                                                           \
    PARTICLE_WORLD(section)                                                                                  \
    "learner: {type: graph-mappo, automatic: false, rollout_length: 6, steps: 54, " learner "}\n"
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
#define TWO_PEOPLE                                                                                           \
    "ludus: 1\nname: three\nworld: multigrid\nmultigrid:\n  map: |\n"                                        \
    "    We We We We We We\n    We Ay Ae .. Ay We\n    We We .. .. We We\n    We We We We We We\n"           \
    "  max_steps: 5\n  actions: small\n"                                                                     \
    "goals: [{cell: [1, 1]}, {cell: [2, 1]}, {cell: [3, 2]}]\n"
#define STAGES                                                                                               \
    "  num_training_steps: 24\n  updates_per_iteration: 8\n  batch_size: 6\n"                                \
    "  warmup_v_h_e_steps: 4\n  warmup_x_h_steps: 4\n  warmup_u_r_steps: 4\n  warmup_q_r_steps: 4\n"         \
    "  warmup_v_r_steps: 2\n  beta_r_rampup_steps: 2\n  v_h_e_target_update_interval: 3\n"                   \
    "  q_r_target_update_interval: 2\n  buffer_size: 40\n  environments: 2\n"
#define EMPO(more)                                                                                           \
    CORRIDOR                                                                                                 \
    "learner:\n  type: empo-phase2\n  automatic: false\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.95\n  gamma_r: " \
    "0.97\n  beta_r: 3\n" STAGES more
#define ACTS      "learner.num_training_steps=60", "learner.epsilon_r_start=0.1", "learner.epsilon_h_start=0.1"
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

const golden_case golden_cases[] = {
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
    {"empo, states met, far",
     NULL,
     ROOMS,
     {MET("1M"), "learner.gamma_r=0.98", "learner.steps_per_episode=12"}},
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
                    "  mcts_dirichlet_alpha: 0.6\n  mcts_enable_after_training_step: 13\n"),
     NULL,
     {"learner.num_training_steps=48", "learner.epsilon_r_start=0.1"}},
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
     {MET("0.11M"), "learner.training_steps_per_env_step=0.04", "learner.restart_prob=0.7",
      "learner.restart_from=successors", "learner.restart_choices=3"}},
    {"empo, states met, begun where others acted",
     NULL,
     KEY,
     {MET("0.11M"), "learner.training_steps_per_env_step=0.04", "learner.restart_prob=0.7",
      "learner.restart_from=visited", "learner.restart_choices=2"}},
    {"people, other theory",
     TWO_PEOPLE
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
    {"mappo, opponents of the past",
     PARTICLE("task: simple_tag, agents: 1, adversaries: 2",
              "recurrent: false, groups: kinds, opponents: {past: 2, every: 1, share: 0.7}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, three shares, apollo",
     PARTICLE(NAVIGATION("continuous"),
              "recurrent: false, shares: 3, optimiser: {type: apollo, rank: 2, projection_gap: 2}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, grid, ends of every kind",
     "ludus: 1\nname: ends\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We Ae .. G1 "
     ".. We\n"
     "    We We We We We We\n  legend: {G1: {goal: {colour: green}}}\n  max_steps: 4\n  actions: small\n"
     "  rewards: {goal: 1, goal_ends: true, step: -0.1}\nrun: {environments: 4, seed: 3}\n"
     "learner: {" GRID_SMALL ", recurrent: false, minibatches: 2, time_limits: bootstrap}\n",
     NULL,
     {"learner.steps=80"}},
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
    {"clone, idle windows",
     PARTICLE_WORLD(
         NAVIGATION("discrete")) "learner: {type: clone, steps: 6, report_every: 2, batch: 16, "
                                 "windows: {horizon: 2}, idle_weight: 0.25, evaluation_episodes: 6, "
                                 "dagger: {rounds: 2, labels: 48, environments: 3, expert: random}, "
                                 "network: {hidden_size: 16, encoder: mlp}}\n",
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
    {"proof, sums",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: sum, states: sum"), PROOF_SET,
      "learner.learning_rate={start: 0.01, decay: constant}",
      "learner.gate={mode: threshold, price: 0.1, fixed_price: true, priority: advantage, "
      "warmup_experiences: 50}"}},
    {"proof, embeddings side by side, a recurrent state",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: concat, states: rnn"), PROOF_SET,
      "learner.learning_rate={start: 0.01, end: 0.001, decay: exponential}",
      "learner.gate={mode: bernoulli, rate: 0.4, temperature: 0.5, priority: abs_advantage, "
      "warmup_experiences: 50}"}},
    {"proof, complex numbers, a transformer",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: complex, states: transformer"), PROOF_SET,
      "learner.gate={mode: soft, rate: 0.4, temperature: 0.5, priority: surprisal, warmup_experiences: 50}"}},
    {"proof, rotations",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: rotate, states: mean"), PROOF_SET,
      "learner.gate={mode: delight, temperature: 0.5, warmup_experiences: 50}"}},
    {"proof, recurrent atoms",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: rnn, states: attention"), PROOF_SET,
      "learner.gate={mode: top_k, rate: 0.3, rounding: floor, priority: additive, alpha: 0.3, normalise: "
      "all, "
      "warmup_experiences: 50}"}},
    {"proof, atoms that attend",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: attention, states: mean"), PROOF_SET,
      "learner.gate={mode: top_k, rate: 0.3, rounding: ceil, priority: uniform, normalise: none, critic: "
      "kept, "
      "warmup_experiences: 50}"}},
    {"proof, atoms of a transformer",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16, atoms: transformer, states: concat"), PROOF_SET,
      "learner.gate={mode: importance, rate: 0.3, priority: abs_delight, min_keep: 5, history: 100, "
      "history_min: 20, "
      "warmup_experiences: 50}",
      "learner.baseline={type: ema_only, alpha: 0.2}"}},
    {"proof, ranked by odds",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16"), PROOF_SET,
      "learner.evaluation={every: 1, queries: 3, candidates: 3, slots: 4, score: odds, ties: mean, failure: "
      "complement}",
      "learner.baseline.type=zero",
      "learner.gate={mode: top_k, rate: 0.5, warmup_experiences: 50, warmup_rate: 0.7}"}},
    {"proof, ranked by the best paths first",
     NULL,
     FAMILY,
     {PROOF_NET("hidden: 16"), PROOF_SET,
      "learner.evaluation={every: 1, queries: 3, candidates: 3, slots: 4, best_first: 30, fail_penalty: 3, "
      "give_up: false}",
      "learner.optimiser={type: apollo-mini, rank: 1, limiter: false, correct_bias: false}"}},
    {"embeddings, products",
     NULL,
     FAMILY,
     {"learner={type: kge, scorer: distmult, dimension: 3, negatives: 4, epochs: 2, batch_size: 50, "
      "learning_rate: {start: 0.02, end: 0.005, warmup: 0.3, decay: exponential}, "
      "evaluation: {every: 1, queries: 5, candidates: 7, ties: mean}}"}},
    {"mappo, gated otherwise",
     PARTICLE(NAVIGATION("discrete"), "recurrent: false, gate: {mode: threshold, rate: 0.4, priority: "
                                      "abs_delight, warmup_experiences: 10, "
                                      "history: 50, history_min: 5}, baseline: {type: zero}, optimiser: "
                                      "{type: sgd, momentum: 0.5}, " SMALL),
     NULL,
     {NULL}},
    {"mappo, gated by chance",
     PARTICLE(NAVIGATION("continuous"),
              "recurrent: true, chunk_length: 3, gate: {mode: bernoulli, rate: 0.5, priority: additive, "
              "alpha: 0.7, "
              "warmup_experiences: 10}, optimiser: {type: apollo, rank: 3, tensor_scaling: true, "
              "scale_front: true, "
              "zero_gradient_freezes: true, limiter_gamma: 1.2, scale: 0.5}, "
              "hidden_size: 16, epochs: 2, evaluation_episodes: 4, graph: {hidden_size: 4, heads: 2, "
              "embed_hidden_size: 8, layers: 2, pooling: sum}, "),
     NULL,
     {NULL}},
    {"ticks, a threshold",
     PARTICLE_WORLD(NAVIGATION("discrete")) "learner: {type: ticks, ticks: 60, ticks_per_iteration: 3, "
                                            "evaluation_episodes: 3, time_limits: terminal, "
                                            "deterministic: true, discount: 0.8, max_norm: 0.1, "
                                            "value_coefficient: 0.3, huber_delta: 0.5, "
                                            "gate: {mode: threshold, rate: 0.3, priority: surprisal, "
                                            "warmup_experiences: 20, history: 30, history_min: 10}, "
                                            "baseline: {type: expected_confidence}, policy: {hidden_size: "
                                            "16, encoder: mlp, centralised: true}}\n",
     NULL,
     {NULL}},
    {"ticks, soft weights",
     PARTICLE_WORLD(NAVIGATION(
         "continuous")) "learner: {type: ticks, ticks: 60, ticks_per_iteration: 3, evaluation_episodes: 3, "
                        "gate: {mode: soft, rate: 0.3, temperature: 0.4, priority: advantage, "
                        "warmup_experiences: 20}, "
                        "baseline: {type: warmup_then_ema, warmup: 3, alpha: 0.3, update: tick}, "
                        "policy: {encoder: mlp, hidden_size: 16}}\n",
     NULL,
     {NULL}},
    {"clone, aligned windows",
     PARTICLE_WORLD(
         NAVIGATION("discrete")) "learner: {type: clone, steps: 6, report_every: 2, batch: 16, windows: "
                                 "{horizon: 3, layout: aligned, pad: last, "
                                 "train_on_padding: true}, decay_learning_rate: false, max_norm: 0.05, "
                                 "evaluation_episodes: 6, deterministic: true, dagger: {rounds: 2, labels: "
                                 "24, environments: 3, expert: random}, "
                                 "network: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL}},
    {"clone, zeros behind the end",
     PARTICLE_WORLD(NAVIGATION("continuous")) "learner: {type: clone, steps: 6, report_every: 2, batch: 16, "
                                              "windows: {horizon: 3, pad: zero, "
                                              "train_on_padding: true}, normalisation: none, "
                                              "evaluation_episodes: 6, dagger: {rounds: 2, labels: 24, "
                                              "environments: 3, expert: random}, "
                                              "network: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL}},
    /* those before, at first, do what they like 999 times of 1000 */
    {"empo, acting by what is learned", EMPO(EMPO_NETS "  exact_max_states: 0\n"), NULL, {ACTS}},
    {"empo, all heads, acting by what is learned",
     EMPO(EMPO_NETS "  human_prior: {type: random}\n  u_r_use_network: true\n  v_r_use_network: true\n"
                    "  dropout: 0.2\n  expected_people: true\n"),
     NULL,
     {ACTS}},
    {"empo, curious, acting by what is learned",
     EMPO(EMPO_NETS "  use_rnd: true\n  rnd_feature_dim: 4\n  rnd_hidden_dim: 8\n"
                    "  use_human_action_rnd: true\n  q_r_dueling: true\n"),
     NULL,
     {ACTS}},
    {"empo, tables, acting by what is learned",
     EMPO("  use_lookup_tables: true\n  human_prior: exact\n  use_count_based_curiosity: true\n"
          "  hindsight_prob: 0.3\n"),
     NULL,
     {ACTS}},
    {"empo, two people, acting by what is learned",
     TWO_PEOPLE "learner:\n  type: empo-phase2\n  automatic: false\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.9\n"
                "  gamma_r: 0.95\n  beta_r: 4\n  exact_max_states: 0\n" STAGES EMPO_NETS,
     NULL,
     {ACTS}},
};
const int n_golden_cases = (int)(sizeof golden_cases / sizeof *golden_cases);
