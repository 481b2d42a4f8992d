/* Memory that runs out while learners, networks, checkpoints and exact solutions are made and used. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <omp.h>

#include "agents/kinds.h"
#include "base/file.h"
#include "learn/empo/evaluation/policy_estimate.h"
#include "learn/empo/exact/chain.h"
#include "learn/learner.h"
#include "learn/runs/run.h"
#include "learn/ticks/ticks.h"
#include "learn/train.h"
#include "out_of_memory.h"

static char folder[] = "/tmp/ludus-memory-XXXXXX";

#define CORRIDOR                                                                                             \
    "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay Ae We\n"   \
    "    We We .. We\n    We We We We\n  max_steps: 2\n  actions: small\n"                                   \
    "goals:\n  - {cell: [1, 1]}\n  - {cell: [2, 1]}\n"

static lud_scenario *opened(const char *text) {
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

/* ---- learners ---- */

enum { MOST_COLUMNS = 128 };

static lud_status save(lud_learner *learner, uint64_t *result, lud_error *error) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    if (!checkpoint) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a checkpoint");
    learner->kind->visit(learner, checkpoint);
    lud_status status = lud_checkpoint_status(checkpoint, error);
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint) && !status; i++) {
        const lud_tensor *tensor = lud_checkpoint_get(checkpoint, i);
        if (!strstr(tensor->name, "seconds")) out_of_memory_hash(result, tensor->data, tensor->bytes);
    }
    lud_checkpoint_destroy(checkpoint);
    return status;
}

/* Creates a learner, lets it learn, evaluates it, and asks for all else it can do. */
static lud_status learn(const void *argument, uint64_t *result, lud_error *error) {
    const lud_scenario *scenario = argument;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    double row[MOST_COLUMNS] = {0}, figures[MOST_COLUMNS] = {0};
    lud_status status = lud_device_open("cpu", 1, &device, error);
    if (!status) status = lud_learner_create(scenario, device, &learner, error);
    if (!status) assert_true(learner->n_columns <= MOST_COLUMNS);
    if (!status) assert_true(learner->n_evaluation_columns <= MOST_COLUMNS);
    if (!status) status = learner->kind->iterate(learner, row, error);
    for (int i = 0; i < MOST_COLUMNS && !status; i++) /* so are the figures of a training */
        if (i < learner->n_columns && !strstr(learner->columns[i].name, "second"))
            out_of_memory_hash(result, &row[i], sizeof row[i]);
    if (!status && learner->kind->evaluate) status = learner->kind->evaluate(learner, figures, error);
    if (!status) out_of_memory_hash(result, figures, sizeof figures); /* none is better for a failure */
    if (!status) status = save(learner, result, error);
    if (!status && learner->kind->policy) {
        lud_policy *policy = NULL;
        status = learner->kind->policy(learner, &policy, error);
        if (!status) lud_policy_destroy(policy);
    }
    lud_arena *arena = status ? NULL : lud_arena_create(0);
    if (!status && !arena) status = lud_fail(error, LUD_ERROR_MEMORY, "no memory for the test");
    lud_tree *root = NULL;
    if (!status) status = lud_scenario_effective(scenario, arena, &root, error);
    if (!status) status = lud_learner_write(learner, arena, root, error);
    lud_arena_destroy(arena);
    lud_learner_destroy(learner);
    lud_device_close(device);
    return status;
}

static void test_learner(const char *name, const char *text) {
    lud_scenario *scenario = opened(text);
    out_of_memory_test(name, learn, scenario);
    lud_scenario_destroy(scenario);
}

#define PHASE2                                                                                               \
    "learner:\n  type: empo-phase2\n  automatic: false\n  hidden_dim: 8\n  goal_feature_dim: 4\n  "          \
    "num_training_steps: 4\n"                                                                                \
    "  updates_per_iteration: 2\n  batch_size: 4\n  warmup_v_h_e_steps: 0\n  warmup_x_h_steps: 0\n"          \
    "  warmup_u_r_steps: 0\n  warmup_q_r_steps: 0\n  warmup_v_r_steps: 0\n  beta_r_rampup_steps: 0\n"        \
    "  buffer_size: 16\n  buffer_memory: 1M\n  environments: 2\n"

static void empo_networks(void **state) {
    (void)state;
    test_learner("empo-phase2, networks", CORRIDOR PHASE2 "  human_prior: {type: random}\n");
}

static void empo_tables(void **state) {
    (void)state;
    test_learner("empo-phase2, tables", CORRIDOR PHASE2 "  human_prior: exact\n  use_lookup_tables: true\n");
}

static void empo_trajectories(void **state) {
    (void)state;
    test_learner("empo-phase2, trajectories", CORRIDOR PHASE2
                 "  human_prior: {type: random}\n  use_lookup_tables: true\n  q_r_target_mode: episode\n"
                 "  hindsight_prob: 0.5\n  use_count_based_curiosity: true\n");
}

static void empo_plasticity(void **state) {
    (void)state;
    test_learner("empo-phase2, plasticity",
                 CORRIDOR PHASE2 "  human_prior: {type: random}\n  restart_prob: 0.5\n"
                                 "  plasticity_diagnostics_interval: 1\n"
                                 "  plasticity_diagnostics_batch_size: 4\n");
}

static void empo_people(void **state) {
    (void)state;
    test_learner("empo-phase1",
                 CORRIDOR "learner:\n  type: empo-phase1\n  hidden_dim: 8\n  goal_feature_dim: 4\n"
                          "  num_training_steps: 4\n  updates_per_iteration: 2\n  batch_size: 4\n"
                          "  buffer_size: 16\n  buffer_memory: 1M\n  environments: 2\n");
}

#define PARTICLE                                                                                             \
    "ludus: 1\nname: t\nworld: particle\n"                                                                   \
    "particle: {task: navigation_graph, agents: 2, obstacles: 1, actions: continuous, episode_length: 4}\n"  \
    "run: {environments: 2, seed: 5}\n"
#define MAPPO                                                                                                \
    "learner: {type: graph-mappo, automatic: false, rollout_length: 4, chunk_length: 2, hidden_size: 8, "    \
    "steps: 8, "                                                                                             \
    "epochs: 1, minibatches: 1, evaluation_episodes: 2, "                                                    \
    "graph: {hidden_size: 4, heads: 1, embed_hidden_size: 4, layers: 1}"

static void cloning(void **state) {
    (void)state;
    test_learner("clone", PARTICLE
                 "learner: {type: clone, steps: 2, report_every: 1, batch: 4, windows: {horizon: 2}, "
                 "summary: {weight: 1}, pairs: {weight: 1}, evaluation_episodes: 2, dagger: {rounds: 1, "
                 "labels: 4, environments: 1, expert: random}, network: {hidden_size: 8, encoder: mlp}}\n");
}

static void mappo(void **state) {
    (void)state;
    test_learner("graph-mappo", PARTICLE MAPPO "}\n");
    test_learner(
        "graph-mappo with states", PARTICLE MAPPO
        ", control: mad, centralised: false, mad: {state_size: 4, hidden_size: 4}, "
        "gate: {mode: top_k, rate: 0.5, history: 8, history_min: 2}, baseline: {type: group_mean}}\n");
}

/* Where memory for a pass of all rows is out they go in several, which may change the last bits of sums and
 * nothing that is done. */
static lud_status act_in_ticks(const void *argument, uint64_t *result, lud_error *error) {
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    lud_status status = lud_device_open("cpu", 1, &device, error);
    if (!status) status = lud_learner_create(argument, device, &learner, error);
    for (int t = 0; t < 6 && !status; t++) {
        lud_tick_learner *l = (lud_tick_learner *)learner;
        status = lud_tick_run(l, error);
        if (!status)
            out_of_memory_hash(result, l->training.discrete,
                               (size_t)l->training.n_rows * sizeof *l->training.discrete);
    }
    lud_learner_destroy(learner);
    lud_device_close(device);
    return status;
}

#define TICKS(agents, environments)                                                                          \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: navigation_graph, agents: " agents                 \
    ", obstacles: 1, actions: discrete, episode_length: 4}\nrun: {environments: " environments               \
    ", seed: 5}\nlearner: {type: ticks, ticks: 3, ticks_per_iteration: 3, evaluation_episodes: 1, "          \
    "gate: {mode: threshold, rate: 0.5, history: 8, history_min: 2}, policy: {hidden_size: 8, graph: "       \
    "{hidden_size: 4, heads: 1, embed_hidden_size: 4, layers: 1}}}\n"

static void ticks(void **state) {
    (void)state;
    test_learner("ticks of one row", TICKS("1", "1")); /* which cannot be split */
    lud_scenario *scenario = opened(TICKS("4", "2"));
    out_of_memory_test("ticks of eight rows", act_in_ticks, scenario);
    lud_scenario_destroy(scenario);
}

/* Agents that write: fewer at a time where memory is short, who say the same. */
static void token_ticks(void **state) {
    (void)state;
    lud_scenario *scenario =
        opened("ludus: 1\nname: t\nworld: tribes\ntribes:\n  map: |\n    g . 1\n    . A 1\n  teams:\n"
               "    - {name: red, values: [1, 1, 1]}\n  max_steps: 8\nrun: {environments: 2, seed: 5}\n"
               "learner: {type: ticks, ticks: 3, ticks_per_iteration: 3, evaluation_episodes: 1, "
               "policy: {type: tokens, language: {width: 8, layers: 1, heads: 1, hidden: 16, context: 320, "
               "vocabulary: 300, vocabulary_states: 2, max_new_tokens: 3, share_prefixes: false}}}\n");
    out_of_memory_test("ticks of agents that write", act_in_ticks, scenario);
    lud_scenario_destroy(scenario);
}

static const char *proof_text(const char *learner) {
    static const char *const names[] = {"facts.txt", "rules.txt", "queries.txt"};
    static const char *const texts[] = {"parent(ann,bob)\nparent(bob,cat)\nparent(cat,dan)\nelder(ann,bob)\n",
                                        ("r0:1:parent(X,Y) -> elder(X,Y)\n"
                                         "r1:0.5:parent(X,Y), elder(Y,Z) -> elder(X,Z)\n"),
                                        "elder(ann,cat)\nelder(ann,dan)\nelder(bob,dan)\n"};
    static char text[1024];
    for (int i = 0; i < 3; i++) {
        char path[128];
        lud_error error = {0};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (lud_file_write(path, texts[i], strlen(texts[i]), &error)) fail_msg("%s", error.text);
    }
    snprintf(text, sizeof text,
             "ludus: 1\nworld: proof\nproof:\n  folder: %s\n  facts: facts.txt\n  rules: rules.txt\n"
             "  queries: {train: queries.txt, valid: queries.txt, test: queries.txt}\n"
             "  limits: {depth: 4, goals: 4, successors: 8}\n  negatives: {per_positive: 1}\n%s",
             folder, learner);
    return text;
}

static void proof_ppo(void **state) {
    (void)state;
    test_learner(
        "proof-ppo",
        proof_text("learner:\n  type: proof-ppo\n  automatic: false\n  network: {embedding_size: 4, hidden: "
                   "4, layers: 1, dropout: 0, states: concat}\n"
                   "  n_envs: 4\n  n_steps: 4\n  batch_size: 8\n  total_steps: 16\n"
                   "  evaluation: {every: 1, queries: 2, candidates: 2, slots: 3}\n"));
}

static void kge(void **state) {
    (void)state;
    test_learner("kge",
                 proof_text("learner: {type: kge, scorer: complex, dimension: 4, negatives: 2, epochs: 1, "
                            "batch_size: 2}\n"));
}

/* ---- exact solutions ---- */

static lud_status solve(const void *argument, uint64_t *result, lud_error *error) {
    const lud_scenario *scenario = argument;
    char run[128];
    snprintf(run, sizeof run, "%s/solved", folder);
    lud_empo_solve_options options = {.run = run, .n_threads = 1};
    lud_empo_case c;
    lud_empo_solution *solution = NULL;
    lud_empo_chain *chain = NULL;
    lud_status status = lud_empo_case_open(scenario, &options, &c, error);
    if (status) return status;
    status = lud_empo_case_solve(&c, &options, &solution, error);
    if (!status) status = lud_empo_chain_create(c.problem, solution->records, &chain, error);
    if (!status)
        out_of_memory_hash(result, solution->records,
                           solution->header->n_states * solution->header->record_doubles * sizeof(double));
    lud_empo_policy_evaluation evaluation = {0};
    lud_policy *random = NULL;
    const lud_empo_estimate_options two = {.episodes = 2, .rollouts = 8, .seed = 1};
    if (!status)
        status = lud_policy_random.create(&lud_policy_random, scenario->model, NULL, "", &random, error);
    if (!status) status = lud_empo_case_evaluate(&c, solution, &random, &two, 1, &evaluation, error);
    lud_empo_policy_evaluation_free(&evaluation);
    if (!status)
        status = lud_empo_estimate_policy(c.problem, solution->records, 0, &random, &two, &evaluation, error);
    if (!status) out_of_memory_hash(result, &evaluation.v_r, sizeof evaluation.v_r);
    lud_empo_policy_evaluation_free(&evaluation);
    lud_policy_destroy(random);
    lud_empo_chain_destroy(chain);
    lud_empo_solution_close(solution);
    lud_empo_case_close(&c);
    return status;
}

static lud_status solve_by_levels(const void *argument, uint64_t *result, lud_error *error) {
    char run[128];
    snprintf(run, sizeof run, "%s/levels", folder);
    const lud_empo_solve_options options = {.run = run, .n_threads = 1, .method = LUD_EMPO_BY_LEVELS};
    lud_empo_case c;
    lud_empo_solution *solution = NULL;
    lud_status status = lud_empo_case_open(argument, &options, &c, error);
    if (status) return status;
    status = lud_empo_case_solve(&c, &options, &solution, error);
    if (!status)
        out_of_memory_hash(result, solution->records,
                           solution->header->n_states * solution->header->record_doubles * sizeof(double));
    lud_empo_solution_close(solution);
    lud_empo_case_close(&c);
    return status;
}

static void exact(void **state) {
    (void)state;
    lud_scenario *scenario = opened(CORRIDOR "learner: {type: empo-exact}\n");
    out_of_memory_test("an exact solution", solve, scenario);
    out_of_memory_test("an exact solution by levels", solve_by_levels, scenario);
    lud_scenario_destroy(scenario);
}

/* ---- runs and checkpoints ---- */

typedef struct run_case {
    lud_scenario *scenario;
    const char *text; /* it was read from */
} run_case;

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about, (void)kind, (void)place;
    return remove(path);
}

/* Over what the run before left there, which is set aside. */
static lud_status train(const void *argument, uint64_t *result, lud_error *error) {
    const run_case *r = argument;
    const lud_scenario *scenario = r->scenario;
    char run[128], aside[160];
    snprintf(run, sizeof run, "%s/trained", folder);
    snprintf(aside, sizeof aside, "%s/aside-1", run);
    nftw(aside, remove_one, 8, FTW_DEPTH | FTW_PHYS); /* not of all runs */
    lud_train_options options = {.folder = run,
                                 .overwrite = true,
                                 .checkpoint_every = 1,
                                 .evaluate_every = 1,
                                 .configuration = r->text};
    lud_train_result trained;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    lud_status status = lud_device_open("cpu", 1, &device, error);
    if (!status) status = lud_learner_create(scenario, device, &learner, error);
    if (!status) status = lud_train(learner, &options, &trained, error);
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_cast *cast = NULL;
    if (!status) status = lud_cast_create(scenario->model, NULL, "test", &cast, error);
    if (!status) status = lud_run_act(run, scenario, cast, error);
    lud_cast_destroy(cast);
    if (!status) out_of_memory_hash(result, &trained.iterations, sizeof trained.iterations);
    return status;
}

static void test_run(const char *name, const char *text) {
    const run_case r = {opened(text), text};
    out_of_memory_test(name, train, &r);
    lud_scenario_destroy(r.scenario);
}

static void runs(void **state) {
    (void)state;
    test_run("a run",
             proof_text("learner: {type: kge, scorer: complex, dimension: 4, negatives: 2, epochs: 1, "
                        "batch_size: 2}\n"));
    test_run("a run with a policy", PARTICLE MAPPO "}\n");
}

static int set_up(void **state) {
    (void)state;
    omp_set_num_threads(1); /* allocations come in one order */
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(empo_networks),
                                       cmocka_unit_test(empo_tables),
                                       cmocka_unit_test(empo_trajectories),
                                       cmocka_unit_test(empo_people),
                                       cmocka_unit_test(empo_plasticity),
                                       cmocka_unit_test(mappo),
                                       cmocka_unit_test(cloning),
                                       cmocka_unit_test(ticks),
                                       cmocka_unit_test(token_ticks),
                                       cmocka_unit_test(proof_ppo),
                                       cmocka_unit_test(kge),
                                       cmocka_unit_test(exact),
                                       cmocka_unit_test(runs)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
