/* Every learner on CUDA from its creation to a checkpoint: near the CPU's training, equal to itself after
 * resuming, a policy that acts. Runs on a GPU where there is one, and in any case as
 * `test_cuda_learners_emulated` on tests/emulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/train.h"

static bool have_cuda;

static int look_for_cuda(void **state) {
    (void)state;
    lud_error error = {0};
    lud_device *device;
    have_cuda = lud_device_open("cuda", 0, &device, &error) == LUD_OK;
    if (have_cuda)
        lud_device_close(device);
    else
        print_message("no CUDA: %s\n", error.text);
    return !have_cuda && getenv("LUDUS_CUDA_MODULE") ? -1 : 0; /* asked for and not there */
}

/* ---- the trainings ---- */

typedef struct training {
    const char *name;
    const char *text; /* a scenario, or null: the file */
    const char *file;
    const char *set[10];
    bool continuous;
    double tolerance; /* of metrics and weights after the first iteration, relative to the largest of each
                         array */
} training;

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
    "learner:\n  type: empo-phase2\n  zeta: 2\n  eta: 1.1\n  gamma_h: 0.95\n  gamma_r: 0.97\n  beta_r: 3\n"  \
    "  human_prior: {type: random}\n  num_training_steps: 12\n  updates_per_iteration: 4\n  batch_size: 6\n" \
    "  warmup_v_h_e_steps: 2\n  warmup_x_h_steps: 2\n  warmup_u_r_steps: 2\n  warmup_q_r_steps: 2\n"         \
    "  warmup_v_r_steps: 2\n  beta_r_rampup_steps: 0\n  v_h_e_target_update_interval: 3\n"                   \
    "  q_r_target_update_interval: 2\n  buffer_size: 40\n  environments: 2\n  exact_max_states: 0\n"
#define NAVIGATION(actions, agents)                                                                          \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: " agents                 \
    ", obstacles: 1, actions: " actions ", episode_length: 4}\nrun: {environments: 3, seed: 5}\n"
#define MAPPO                                                                                                \
    "hidden_size: 16, steps: 36, epochs: 1, minibatches: 2, evaluation_episodes: 6, "                        \
    "graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1}}\n"

static const training trainings[] = {
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
    {"empo tables", CORRIDOR EMPO "  use_lookup_tables: true\n", NULL, {NULL}, false, 1e-4},
    {"mappo, magnitude and direction",
     NAVIGATION("continuous",
                "2") "learner: {type: graph-mappo, control: mad, rollout_length: 6, "
                     "chunk_length: 5, centralised: false, mad: {state_size: 6, hidden_size: 8}, " MAPPO,
     NULL,
     {NULL},
     true,
     1e-3},
    {"mappo, continuous, recurrent",
     NAVIGATION("continuous", "3") "learner: {type: graph-mappo, rollout_length: 6, chunk_length: 3, "
                                   "recurrent: true, " MAPPO,
     NULL,
     {NULL},
     true,
     1e-3},
    {"mappo, discrete",
     NAVIGATION("discrete", "3") "learner: {type: graph-mappo, rollout_length: 6, recurrent: false, " MAPPO,
     NULL,
     {NULL},
     false,
     1e-3},
    {"mappo on a grid",
     NULL,
     LUDUS_SOURCE_DIR "/scenarios/multigrid/collect_balls.yaml",
     {"run.environments=2", "learner={type: graph-mappo, rollout_length: 4, hidden_size: 16, steps: 16, "
                            "epochs: 1, minibatches: 1, evaluation_episodes: 2}"},
     false,
     1e-3},
    {"proof",
     NULL,
     LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml",
     {"learner.network={embedding_size: 12, hidden: 16, layers: 1, dropout: 0.1, constant_scale: 0.02, "
      "states: concat, temperature: 0.2}",
      "learner.n_envs=8", "learner.n_steps=8", "learner.batch_size=32", "learner.total_steps=192",
      "learner.evaluation={every: 2, queries: 3, candidates: 3, slots: 4}"},
     false,
     1e-3},
};
enum { N_TRAININGS = sizeof trainings / sizeof *trainings };

typedef struct bed {
    lud_device *device;
    lud_scenario *scenario;
    lud_learner *learner;
} bed;

static bed open_bed(const training *t, const char *device) {
    bed b = {0};
    lud_error error = {0};
    int n_set = 0;
    while (n_set < 10 && t->set[n_set]) n_set++;
    if (lud_device_open(device, device[1] == 'p' ? 1 : 0, &b.device, &error)) fail_msg("%s", error.text);
    lud_status status =
        t->text ? lud_scenario_read("test.yaml", t->text, strlen(t->text), t->set, n_set, &b.scenario, &error)
                : lud_scenario_load(t->file, t->set, n_set, &b.scenario, &error);
    if (status) fail_msg("%s: %s", t->name, error.text);
    if (lud_learner_create(b.scenario, b.device, &b.learner, &error)) fail_msg("%s: %s", t->name, error.text);
    return b;
}

static void close_bed(bed *b) {
    lud_learner_destroy(b->learner);
    lud_device_synchronise(b->device);
    if (lud_device_failure(b->device)) fail_msg("%s", lud_device_failure(b->device));
    lud_device_close(b->device);
    lud_scenario_destroy(b->scenario);
}

static void iterate(const training *t, bed *b, double *row) {
    lud_error error = {0};
    if (b->learner->kind->iterate(b->learner, row, &error)) fail_msg("%s: %s", t->name, error.text);
    if (lud_device_failure(b->device)) fail_msg("%s: %s", t->name, lud_device_failure(b->device));
}

static lud_checkpoint *save(bed *b) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_error error = {0};
    assert_non_null(checkpoint);
    b->learner->kind->visit(b->learner, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

static double element(const lud_tensor *t, size_t i) {
    if (t->type == LUD_TENSOR_F32) return (double)((const float *)t->data)[i];
    return ((const double *)t->data)[i];
}

/* Tensors of numbers are near, everything else (environments, counters, what was drawn) is equal where
 * actions are discrete. */
static void near(const training *t, lud_checkpoint *a, lud_checkpoint *b) {
    assert_int_equal(lud_checkpoint_n_tensors(a), lud_checkpoint_n_tensors(b));
    for (int k = 0; k < lud_checkpoint_n_tensors(a); k++) {
        const lud_tensor *x = lud_checkpoint_get(a, k), *y = lud_checkpoint_find(b, x->name);
        assert_non_null(y);
        assert_int_equal(x->bytes, y->bytes);
        if (strstr(x->name, "seconds")) continue;
        if (x->type != LUD_TENSOR_F32 && x->type != LUD_TENSOR_F64) {
            if (!t->continuous && memcmp(x->data, y->data, x->bytes) != 0)
                fail_msg("%s: %s differs", t->name, x->name);
            continue;
        }
        double largest = 1e-2;
        const size_t n = x->bytes / (x->type == LUD_TENSOR_F32 ? 4 : 8);
        for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(element(y, i)));
        for (size_t i = 0; i < n; i++)
            if (!(fabs(element(x, i) - element(y, i)) <= t->tolerance * largest))
                fail_msg("%s: %s[%zu]: %.9g, on the CPU %.9g", t->name, x->name, i, element(x, i),
                         element(y, i));
    }
}

static void rows_near(const training *t, const lud_metric *columns, int n, const double *a, const double *b) {
    for (int i = 0; i < n; i++) {
        if (strstr(columns[i].name, "second") || strstr(columns[i].name, "speed") ||
            strstr(columns[i].name, "per_s") || strstr(columns[i].name, "time"))
            continue;
        if (isnan(a[i]) && isnan(b[i])) continue;
        if (!(fabs(a[i] - b[i]) <= t->tolerance * fmax(1.0, fabs(b[i]))))
            fail_msg("%s: %s is %.9g, on the CPU %.9g", t->name, columns[i].name, a[i], b[i]);
    }
}

static void the_first_iteration_is_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    for (int k = 0; k < N_TRAININGS; k++) {
        const training *t = &trainings[k];
        bed a = open_bed(t, "cuda"), b = open_bed(t, "cpu");
        double x[128], y[128];
        assert_in_range(a.learner->n_columns, 1, 128);
        iterate(t, &a, x);
        iterate(t, &b, y);
        rows_near(t, a.learner->columns, a.learner->n_columns, x, y);
        lud_checkpoint *of_a = save(&a), *of_b = save(&b);
        near(t, of_a, of_b);
        lud_checkpoint_destroy(of_a);
        lud_checkpoint_destroy(of_b);
        if (a.learner->kind->evaluate) {
            lud_error error = {0};
            if (a.learner->kind->evaluate(a.learner, x, &error)) fail_msg("%s: %s", t->name, error.text);
            if (b.learner->kind->evaluate(b.learner, y, &error)) fail_msg("%s: %s", t->name, error.text);
            rows_near(t, a.learner->evaluation_columns, a.learner->n_evaluation_columns, x, y);
        }
        close_bed(&a);
        close_bed(&b);
    }
}

/* Training to the end, and the same with a checkpoint in between that another device continues: the same
 * bytes. */
static void resuming_changes_nothing(void **state) {
    (void)state;
    if (!have_cuda) skip();
    char folder[] = "/tmp/cuda_learners_XXXXXX", path[64], previous[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    snprintf(previous, sizeof previous, "%s/a.previous.safetensors", folder);
    for (int k = 0; k < N_TRAININGS; k++) {
        const training *t = &trainings[k];
        lud_error error = {0};
        double row[128];
        bed whole = open_bed(t, "cuda"), half = open_bed(t, "cuda"), rest = open_bed(t, "cuda");
        const uint64_t n = whole.learner->n_iterations;
        assert_in_range(n, 2, 100);
        for (uint64_t i = 0; i < n; i++) iterate(t, &whole, row);
        for (uint64_t i = 0; i < n / 2; i++) iterate(t, &half, row);
        lud_checkpoint *saved = save(&half), *loaded = NULL;
        if (lud_checkpoint_write(saved, path, &error)) fail_msg("%s", error.text);
        lud_checkpoint_destroy(saved);
        close_bed(&half);
        if (lud_checkpoint_open(path, &loaded, &error)) fail_msg("%s", error.text);
        rest.learner->kind->visit(rest.learner, loaded);
        if (lud_checkpoint_status(loaded, &error)) fail_msg("%s: %s", t->name, error.text);
        lud_checkpoint_destroy(loaded);
        for (uint64_t i = n / 2; i < n; i++) iterate(t, &rest, row);
        lud_checkpoint *a = save(&whole), *b = save(&rest);
        for (int i = 0; i < lud_checkpoint_n_tensors(a); i++) {
            const lud_tensor *x = lud_checkpoint_get(a, i), *y = lud_checkpoint_find(b, x->name);
            if (strstr(x->name, "seconds")) continue;
            if (memcmp(x->data, y->data, x->bytes) != 0)
                fail_msg("%s: %s differs after resuming", t->name, x->name);
        }
        lud_checkpoint_destroy(a);
        lud_checkpoint_destroy(b);
        close_bed(&whole);
        close_bed(&rest);
    }
    remove(path);
    remove(previous);
    assert_int_equal(remove(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_first_iteration_is_near),
                                       cmocka_unit_test(resuming_changes_nothing)};
    return cmocka_run_group_tests(tests, look_for_cuda, NULL);
}
