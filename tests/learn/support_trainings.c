#include "learn/support_trainings.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/cpu.h"

#define CORRIDOR                                                                                             \
    "ludus: 1\nname: corridor\nworld: multigrid\n"                                                           \
    "multigrid:\n"                                                                                           \
    "  map: |\n"                                                                                             \
    "    We We We We We\n"                                                                                   \
    "    We Ay Ae .. We\n"                                                                                   \
    "    We We .. We We\n"                                                                                   \
    "    We We We We We\n"                                                                                   \
    "  max_steps: 5\n"                                                                                       \
    "  actions: small\n"                                                                                     \
    "goals: [{cell: [1, 1]}, {cell: [2, 1]}, {cell: [3, 1]}, {cell: [2, 2]}]\n"
#define EMPO                                                                                                 \
    "learner:\n  type: empo-phase2\n  automatic: false\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.95\n  gamma_r: " \
    "0.97\n  beta_r: 3\n"                                                                                    \
    "  human_prior: {type: random}\n  num_training_steps: 12\n  updates_per_iteration: 4\n  batch_size: 6\n" \
    "  warmup_v_h_e_steps: 2\n  warmup_x_h_steps: 2\n  warmup_u_r_steps: 2\n  warmup_q_r_steps: 2\n"         \
    "  warmup_v_r_steps: 2\n  beta_r_rampup_steps: 0\n  v_h_e_target_update_interval: 3\n"                   \
    "  q_r_target_update_interval: 2\n  buffer_size: 40\n  buffer_memory: 1M\n  environments: 2\n  "         \
    "exact_max_states: 0\n"
#define NAVIGATION(actions, agents)                                                                          \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: " agents                 \
    ", obstacles: 1, actions: " actions ", episode_length: 4}\nrun: {environments: 3, seed: 5}\n"
#define TRIBE                                                                                                \
    "ludus: 1\nname: t\nworld: tribes\ntribes:\n  map: |\n    g . w\n    1 A 1\n    . ~ .\n"                 \
    "  teams:\n    - {name: people, role: human, robots: 1, values: [1, 2, 3]}\n"                            \
    "  carry: 1\n  stock: 1\n  regrow: {grain: 0.5, wood: 0.5}\n  max_steps: 9\n"                            \
    "run: {environments: 3, seed: 7}\n"
#define DISTURBED                                                                                            \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: 2, obstacles: 1, "       \
    "actions: continuous, episode_length: 4, graph: {nodes: relative, edges: true}, disturbance: {std: "     \
    "0.1}}"                                                                                                  \
    "\nrun: {environments: 3, seed: 5}\n"
#define MAPPO                                                                                                \
    "hidden_size: 16, steps: 36, epochs: 1, minibatches: 2, evaluation_episodes: 6, "                        \
    "graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1}}\n"

const support_training support_trainings[] = {
    {"empo networks", CORRIDOR EMPO "  hidden_dim: 8\n  goal_feature_dim: 4\n", NULL, {NULL}, false, 1e-4},
    {"empo networks, all heads",
     CORRIDOR EMPO
     "  hidden_dim: 8\n  goal_feature_dim: 4\n  x_h_use_network: true\n  u_r_use_network: true\n"
     "  v_r_use_network: true\n  dropout: 0.2\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo over several steps, dueling",
     CORRIDOR EMPO
     "  hidden_dim: 8\n  goal_feature_dim: 4\n  v_h_e_target_mode: n_step\n  v_h_e_n_step: 3\n"
     "  q_r_target_mode: episode\n  fresh_goals: false\n  q_r_dueling: true\n  epsilon_r_start: 0.2\n"
     "  epsilon_h_start: 0.1\n",
     NULL,
     {"learner.warmup_v_h_e_steps=1", "learner.warmup_x_h_steps=0", "learner.warmup_q_r_steps=1"},
     false,
     1e-4},
    {"empo in hindsight",
     CORRIDOR EMPO "  hidden_dim: 8\n  goal_feature_dim: 4\n  hindsight_prob: 0.5\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo in expectation",
     CORRIDOR EMPO "  hidden_dim: 8\n  goal_feature_dim: 4\n  expected_people: true\n"
                   "  x_h_use_network: false\n  use_log_space_transform: true\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo in expectation, all heads",
     CORRIDOR EMPO
     "  hidden_dim: 8\n  goal_feature_dim: 4\n  expected_people: true\n  u_r_use_network: true\n"
     "  v_r_use_network: true\n  q_r_advantage_weighted_loss: true\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo, goals of X_h drawn",
     CORRIDOR EMPO "  hidden_dim: 8\n  goal_feature_dim: 4\n  x_h_use_network: false\n  x_h_goals: 3\n"
                   "  gamma_r_curriculum: true\n  gamma_r_rampup_steps: 2\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo, states met",
     CORRIDOR EMPO "  hidden_dim: 8\n  goal_feature_dim: 4\n  expected_people: true\n"
                   "  x_h_use_network: false\n  v_r_use_network: true\n  met_memory: 4M\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo, states met and forgotten",
     CORRIDOR EMPO "  hidden_dim: 8\n  goal_feature_dim: 4\n  expected_people: true\n"
                   "  x_h_use_network: false\n  v_r_use_network: true\n  met_memory: 0.005M\n"
                   "  met_refresh: 5\n  restart_prob: 0.5\n  restart_from: configurations\n"
                   "  path_features: true\n  use_log_space_transform: true\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"empo tables", CORRIDOR EMPO "  use_lookup_tables: true\n", NULL, {NULL}, false, 1e-4},
    {"mappo, magnitude and direction",
     NAVIGATION("continuous",
                "2") "learner: {type: graph-mappo, automatic: false, control: mad, rollout_length: 6, "
                     "chunk_length: 5, centralised: false, mad: {state_size: 6, hidden_size: 8}, " MAPPO,
     NULL,
     {NULL},
     true,
     1e-3},
    {"mappo, continuous, recurrent",
     NAVIGATION("continuous",
                "3") "learner: {type: graph-mappo, automatic: false, rollout_length: 6, chunk_length: 3, "
                     "recurrent: true, " MAPPO,
     NULL,
     {NULL},
     true,
     1e-3},
    {"mappo, discrete",
     NAVIGATION(
         "discrete",
         "3") "learner: {type: graph-mappo, automatic: false, rollout_length: 6, recurrent: false, " MAPPO,
     NULL,
     {NULL},
     false,
     1e-3},
    {"mappo, gated",
     NAVIGATION("discrete",
                "3") "learner: {type: graph-mappo, automatic: false, rollout_length: 6, chunk_length: 3, "
                     "gate: {mode: top_k, rate: 0.3, warmup_experiences: 0, history: 20, "
                     "history_min: 5}, baseline: {type: ema_only}, " MAPPO,
     NULL,
     {NULL},
     false,
     1e-3},
    {"mappo, magnitude of disturbances",
     DISTURBED
     "learner: {type: graph-mappo, automatic: false, control: mad, rollout_length: 6, chunk_length: 4, "
     "mad: {state_size: 4, hidden_size: 6, input: disturbance}, " MAPPO,
     NULL,
     {NULL},
     true,
     1e-3},
    {"mappo, central magnitude",
     DISTURBED "learner: {type: graph-mappo, automatic: false, control: mad, encoder: mlp, rollout_length: "
               "6, recurrent: false, "
               "mad: {state_size: 4, hidden_size: 6, input: central}, " MAPPO,
     NULL,
     {NULL},
     true,
     1e-3},
    {"mappo, unlike agents, cut off by length",
     "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_world_comm, agents: 1, adversaries: 1, "
     "episode_length: 4}\nrun: {environments: 3, seed: 5}\n"
     "learner: {type: graph-mappo, automatic: false, rollout_length: 6, chunk_length: 3, identify: true, "
     "time_limits: bootstrap, " MAPPO,
     NULL,
     {NULL},
     false,
     1e-3},
    {"mappo, words and moves",
     "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_reference, episode_length: 4}\n"
     "run: {environments: 3, seed: 5}\n"
     "learner: {type: graph-mappo, automatic: false, rollout_length: 6, recurrent: false, factored: "
     "true, " MAPPO,
     NULL,
     {NULL},
     false,
     1e-3},
    {"a policy for each role",
     "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_world_comm, agents: 1, adversaries: 1, "
     "episode_length: 4}\nrun: {environments: 3, seed: 5}\n"
     "learner: {type: graph-mappo, automatic: false, rollout_length: 6, chunk_length: 3, groups: kinds, "
     "time_limits: bootstrap, " MAPPO,
     NULL,
     {NULL},
     false,
     1e-3},
    {"mappo on a grid",
     NULL,
     LUDUS_SOURCE_DIR "/scenarios/multigrid/collect_balls.yaml",
     {"run.environments=2",
      "learner={type: graph-mappo, automatic: false, rollout_length: 4, hidden_size: 16, steps: 16, "
      "epochs: 1, minibatches: 1, evaluation_episodes: 2}"},
     false,
     1e-3},
    {"ticks, a graph",
     NAVIGATION("discrete",
                "3") "learner: {type: ticks, ticks: 60, ticks_per_iteration: 3, evaluation_episodes: 3, "
                     "gate: {mode: top_k, rate: 0.3, warmup_experiences: 0}, value_rate: 0.5, "
                     "policy: {hidden_size: 16, graph: {hidden_size: 4, heads: 2, "
                     "embed_hidden_size: 8, layers: 1}}}\n",
     NULL,
     {NULL},
     false,
     1e-3},
    {"ticks, continuous",
     NAVIGATION("continuous",
                "3") "learner: {type: ticks, ticks: 60, ticks_per_iteration: 3, evaluation_episodes: 3, "
                     "baseline: {type: warmup_then_ema}, optimiser: {type: apollo, rank: 2}, "
                     "policy: {encoder: mlp, hidden_size: 16}}\n",
     NULL,
     {NULL},
     true,
     1e-3},
    {"clone, choices that are asked for",
     NAVIGATION("discrete", "2") "learner: {type: clone, steps: 6, report_every: 2, batch: 16, windows: "
                                 "{horizon: 3}, idle_weight: 1, "
                                 "summary: {weight: 1}, evaluation_episodes: 6, dagger: {rounds: 2, labels: "
                                 "24, environments: 3, "
                                 "expert: random}, network: {hidden_size: 16, graph: {hidden_size: 4, heads: "
                                 "2, embed_hidden_size: 8, "
                                 "layers: 1}}}\n",
     NULL,
     {NULL},
     false,
     1e-3},
    {"clone, numbers that are asked for",
     NAVIGATION(
         "continuous",
         "3") "learner: {type: clone, steps: 6, report_every: 2, batch: 16, windows: {horizon: 2}, "
              "evaluation_episodes: 6, dagger: {rounds: 1, labels: 24, environments: 3, expert: random}, "
              "network: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL},
     true,
     1e-3},
    {"clone, choices that a world offers",
     TRIBE "learner: {type: clone, agents: all, steps: 6, report_every: 2, batch: 16, windows: {horizon: 2}, "
           "evaluation_episodes: 6, ensemble: true, pairs: {weight: 1, prob: 1}, "
           "dagger: {rounds: 2, labels: 24, environments: 3, expert: random}, "
           "network: {hidden_size: 16, encoder: mlp}}\n",
     NULL,
     {NULL},
     false,
     1e-3},
    {"recurrent, choices that a world offers",
     TRIBE "learner: {type: graph-mappo, automatic: false, steps: 90, recurrent: true, rollout_length: 6, "
           "hidden_size: 8, "
           "encoder: mlp, epochs: 2, minibatches: 2, chunk_length: 3}\n",
     NULL,
     {NULL},
     false,
     1e-3},
    {"empo, people alone",
     CORRIDOR
     "learner:\n  type: empo-phase1\n  gamma_h: 0.9\n  beta_h: 5\n  hidden_dim: 8\n  goal_feature_dim: 4\n"
     "  num_training_steps: 12\n  updates_per_iteration: 4\n  batch_size: 6\n  buffer_size: 40\n  "
     "buffer_memory: 1M\n"
     "  environments: 2\n  target_update_interval: 3\n  epsilon_h_decay_steps: 10\n",
     NULL,
     {NULL},
     false,
     1e-4},
    {"proof",
     NULL,
     LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml",
     {"learner.network={embedding_size: 12, hidden: 16, layers: 1, dropout: 0.1, constant_scale: 0.02, "
      "states: concat, temperature: 0.2}",
      "learner.n_envs=8", "learner.n_steps=8", "learner.batch_size=32", "learner.total_steps=192",
      "learner.evaluation={every: 2, queries: 3, candidates: 3, slots: 4}"},
     false,
     1e-3},
    {"proof, gated",
     NULL,
     LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml",
     {"learner.network={embedding_size: 12, hidden: 16, layers: 1, dropout: 0.1, constant_scale: 0.02, "
      "states: concat, temperature: 0.2}",
      "learner.n_envs=8", "learner.n_steps=8", "learner.batch_size=32", "learner.total_steps=192",
      "learner.evaluation={every: 2, queries: 3, candidates: 3, slots: 4}",
      "learner.gate={mode: top_k, rate: 0.3, warmup_experiences: 100}", "learner.baseline.type=group_mean"},
     false,
     1e-3},
    {"embeddings of a knowledge graph",
     NULL,
     LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml",
     {"learner={type: kge, scorer: complex, dimension: 12, negatives: 8, epochs: 4}"},
     false,
     1e-3},
};
const int n_support_trainings = (int)(sizeof support_trainings / sizeof *support_trainings);

bool support_has_cuda(void) {
    lud_error error = {0};
    lud_device *device;
    const bool opens = lud_device_open("cuda", 0, &device, &error) == LUD_OK;
    if (opens)
        lud_device_close(device);
    else
        print_message("no CUDA: %s\n", error.text);
    return opens;
}

lud_status support_bed_try(const support_training *t, const char *device, int n_threads, support_bed *b,
                           lud_error *error) {
    int n_set = 0;
    while (n_set < SUPPORT_MOST_SET && t->set[n_set]) n_set++;
    *b = (support_bed){0};
    LUD_TRY(lud_device_open(device, n_threads, &b->device, error));
    if (b->device->backend->host_memory && n_threads > 1) ((lud_cpu *)b->device)->work_per_thread = 1;
    LUD_TRY(t->text
                ? lud_scenario_read("test.yaml", t->text, strlen(t->text), t->set, n_set, &b->scenario, error)
                : lud_scenario_load(t->file, t->set, n_set, &b->scenario, error));
    return lud_learner_create(b->scenario, b->device, &b->learner, error);
}

support_bed support_bed_open(const support_training *t, const char *device, int n_threads) {
    support_bed b;
    lud_error error = {0};
    if (support_bed_try(t, device, n_threads, &b, &error)) fail_msg("%s: %s", t->name, error.text);
    return b;
}

void support_bed_close(support_bed *b) {
    lud_learner_destroy(b->learner);
    b->learner = NULL;
    lud_device_synchronise(b->device);
    if (lud_device_failure(b->device)) fail_msg("%s", lud_device_failure(b->device));
    support_bed_drop(b);
}

void support_bed_drop(support_bed *b) {
    lud_learner_destroy(b->learner);
    lud_scenario_destroy(b->scenario);
    lud_device_close(b->device);
}

void support_bed_iterate(const support_training *t, support_bed *b, double *row) {
    lud_error error = {0};
    if (b->learner->kind->iterate(b->learner, row, &error)) fail_msg("%s: %s", t->name, error.text);
    if (lud_device_failure(b->device)) fail_msg("%s: %s", t->name, lud_device_failure(b->device));
}

lud_status support_train(const lud_scenario *scenario, lud_learner *learner, const lud_train_options *options,
                         lud_train_result *result, lud_error *error) {
    lud_carried carried = {0};
    char *configuration = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_status status = lud_train_configuration(scenario, learner, options->folder,
                                                options->resume || options->resume_previous, arena, &carried,
                                                &configuration, error);
    if (!status) {
        lud_train_options all = *options;
        all.configuration = configuration;
        all.carried = &carried;
        all.model = scenario->model;
        status = lud_train(learner, &all, result, error);
    }
    lud_carried_free(&carried);
    lud_arena_destroy(arena);
    return status;
}

void support_expect_same_evaluation(const lud_learner *learner, const double *a, const double *b) {
    for (int i = 0; i < learner->n_evaluation_columns; i++) {
        const char *name = learner->evaluation_columns[i].name;
        if (!strstr(name, "seconds") && !(isnan(a[i]) && isnan(b[i])) && a[i] != b[i])
            fail_msg("%s: %g, then %g", name, a[i], b[i]);
    }
}

void support_tell(const support_bed *b) {
    const lud_learner_kind *kind = b->learner->kind;
    lud_error error = {0};
    lud_text text = {0};
    if (kind->inspect && kind->inspect(b->learner, &text, &error)) fail_msg("inspection: %s", error.text);
    if (kind->report) kind->report(b->learner, &text);
    assert_false(text.failed);
    lud_text_free(&text);
}

lud_checkpoint *support_learner_save(lud_learner *learner) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_error error = {0};
    assert_non_null(checkpoint);
    learner->kind->visit(learner, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

lud_checkpoint *support_bed_save(support_bed *b) {
    return support_learner_save(b->learner);
}

/* The same tensor, byte for byte but for the training's clock. */
static void expect_tensor(const lud_tensor *x, const lud_tensor *y, const char *what) {
    if (!y || strcmp(x->name, y->name) != 0) fail_msg("%s: no %s", what, x->name);
    assert_int_equal(x->bytes, y->bytes);
    if (strcmp(x->name, "seconds") != 0 && memcmp(x->data, y->data, x->bytes) != 0)
        fail_msg("%s: %s differs", what, x->name);
}

void support_expect_within(lud_checkpoint *part, lud_checkpoint *whole, const char *what) {
    for (int i = 0; i < lud_checkpoint_n_tensors(part); i++) {
        const lud_tensor *x = lud_checkpoint_get(part, i);
        expect_tensor(x, lud_checkpoint_find(whole, x->name), what);
    }
}

void support_expect_same(lud_checkpoint *a, lud_checkpoint *b, const char *what) {
    assert_int_equal(lud_checkpoint_n_tensors(a), lud_checkpoint_n_tensors(b));
    for (int i = 0; i < lud_checkpoint_n_tensors(a); i++)
        expect_tensor(lud_checkpoint_get(a, i), lud_checkpoint_get(b, i), what);
}

static lud_checkpoint *checkpoint_of(const char *folder, const char *run) {
    char path[512];
    lud_error error = {0};
    lud_checkpoint *checkpoint = NULL;
    snprintf(path, sizeof path, "%s/%s/checkpoint.safetensors", folder, run);
    if (lud_checkpoint_open(path, &checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

void support_expect_same_runs(const char *folder, const char *a_run, const char *b_run) {
    lud_checkpoint *a = checkpoint_of(folder, a_run), *b = checkpoint_of(folder, b_run);
    support_expect_same(a, b, b_run);
    lud_checkpoint_destroy(a);
    lud_checkpoint_destroy(b);
}
