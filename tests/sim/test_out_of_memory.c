/* Memory that runs out while a world is read, run, or searched, at every place where it can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "agents/policy.h"
#include "base/file.h"
#include "out_of_memory.h"
#include "sim/batch.h"
#include "sim/multigrid/grid_view.h"
#include "sim/proof/knowledge/family_tree.h"
#include "sim/proof/proof_batch.h"
#include "sim/proof/proof_tree.h"
#include "sim/proof/prover.h"
#include "sim/scenario.h"
#include "sim/statespace/levels.h"
#include "sim/statespace/statespace.h"

static char folder[] = "/tmp/ludus-memory-XXXXXX";

#define SCENARIOS LUDUS_SOURCE_DIR "/scenarios/"

/* ---- worlds: from the file to the first steps ---- */

static lud_status run_batch(const lud_model *model, uint64_t *result, lud_error *error) {
    enum { ENVS = 2, STEPS = 3 };
    lud_batch *batch;
    LUD_TRY(lud_batch_create(model, ENVS, 3, 0, &batch, error));
    static int32_t discrete[1024];
    static float continuous[1024];
    const size_t n = (size_t)(ENVS * model->layout.n_agents);
    assert_true(n <= 1024 && n * (size_t)lud_max_continuous(&model->layout) <= 1024);
    for (size_t i = 0; i < n; i++) discrete[i] = 0;
    batch->n_threads = 1;
    batch->end = LUD_END_RESETS;
    lud_batch_reset(batch, NULL);
    for (int t = 0; t < STEPS; t++)
        lud_batch_step(batch, (lud_actions){.discrete = discrete, .continuous = continuous}, NULL);
    out_of_memory_hash(result, batch->states, ENVS * model->layout.state_bytes);
    lud_batch_destroy(batch);
    return LUD_OK;
}

/* Reads a scenario, runs it, and writes what is in effect. */
static lud_status work_with(lud_scenario *scenario, uint64_t *result, lud_error *error) {
    lud_status status = run_batch(scenario->model, result, error);
    lud_arena *arena = status ? NULL : lud_arena_create(0);
    if (!status && !arena) status = lud_no_memory(error, "the test");
    lud_tree *root;
    char *text;
    size_t length;
    if (!status) status = lud_scenario_effective(scenario, arena, &root, error);
    if (!status) status = lud_tree_write(arena, root, &text, &length, error);
    if (!status) out_of_memory_hash(result, text, length);
    lud_arena_destroy(arena);
    return status;
}

static lud_status load(const void *path, uint64_t *result, lud_error *error) {
    lud_scenario *scenario;
    const char *const set[] = {"run.seed=3"};
    const struct lud_scenario_number number = {"--vary", "run.steps", 7, NULL};
    const lud_scenario_overrides overrides = {
        .set = set, .n_set = 1, .numbers = &number, .n_numbers = 1, .run = lud_run_as_written};
    lud_tree_files files = {0};
    lud_status status = lud_scenario_load_with(path, &overrides, &files, &scenario, error);
    if (!status) status = work_with(scenario, result, error);
    lud_scenario_destroy(scenario);
    lud_tree_files_free(&files);
    return status;
}

static lud_status read(const void *text, uint64_t *result, lud_error *error) {
    lud_scenario *scenario;
    lud_status status = lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &scenario, error);
    if (!status) status = work_with(scenario, result, error);
    lud_scenario_destroy(scenario);
    return status;
}

static void multigrid(void **state) {
    (void)state;
    static const char *const files[] = {"multigrid/tiny.yaml", "multigrid/two_rescues.yaml",
                                        "multigrid/control_button.yaml", "multigrid/unsteady_ground.yaml",
                                        "empo/learned/people_who_pass.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        snprintf(path, sizeof path, SCENARIOS "%s", files[i]);
        out_of_memory_test(files[i], load, path);
    }
    out_of_memory_test(
        "generated maps", read,
        "ludus: 1\nworld: multigrid\nmultigrid:\n"
        "  generate: {style: rooms, size: [7, 5], rooms: [2, 1], doors: closed, locked_doors: 1, "
        "humans: 1, robots: 1, maps: 2, solvable: true, objects: {ball: 1}}\n"
        "goals: [{rectangle: [1, 1, 2, 2]}]\n");
}

static void particle(void **state) {
    (void)state;
    static const char *const files[] = {"particle/simple_tag.yaml", "particle/navigation_graph.yaml",
                                        "particle/simple_reference.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        snprintf(path, sizeof path, SCENARIOS "%s", files[i]);
        out_of_memory_test(files[i], load, path);
    }
    out_of_memory_test(
        "a ready-made task", read,
        "ludus: 1\nworld: particle\nparticle: {task: navigation_graph, agents: 2, obstacles: 1}\n");
}

static void tribes(void **state) {
    (void)state;
    static const char *const files[] = {"tribes/small.yaml", "tribes/raid.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        snprintf(path, sizeof path, SCENARIOS "%s", files[i]);
        out_of_memory_test(files[i], load, path);
    }
    out_of_memory_test("generated land", read,
                       "ludus: 1\nworld: tribes\ntribes:\n  generate: {size: [7, 7], grain: 2, wood: 2, ore: "
                       "2, maps: 2}\n  teams: [{agents: 2}, {agents: 1}]\n");
}

/* ---- knowledge bases ---- */

/* Every relation of a family of a few people, and rules for two of them. */
static const char small_facts[] = "parent(ann,bob)\nparent(bob,cat)\nparent(cat,dan)\nold(ann,ann)\n";
static const char small_rules[] = "r0:1:parent(X,Y) -> elder(X,Y)\n"
                                  "r1:0.5:parent(X,Y), elder(Y,Z) -> elder(X,Z)\n";

static lud_status family(const void *argument, uint64_t *result, lud_error *error) {
    (void)argument;
    lud_family_options options = lud_family_default();
    options.n_founders = 4;
    options.n_generations = 3;
    lud_text texts[3] = {0};
    lud_status status = lud_family_write(&options, &texts[0], &texts[1], &texts[2], error);
    for (int i = 0; i < 3; i++) {
        if (!status) out_of_memory_hash(result, texts[i].bytes, texts[i].length);
        lud_text_free(&texts[i]);
    }
    return status;
}

static lud_status read_base(lud_proof_base **base, lud_error *error) {
    static const char queries[] = "elder(ann,cat)\t2\nelder(ann,dan)\t3\n",
                      domains[] = "people ann bob cat dan\n",
                      scores[] = "elder(ann,bob) 0.9 1\nelder(bob,ann) 0.1 2\n";
    *base = NULL;
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_RELATIONS);
    if (!builder) return lud_no_memory(error, "a knowledge base");
    lud_status status = lud_proof_read_facts(builder, "facts", small_facts, strlen(small_facts), error);
    if (!status) status = lud_proof_read_rules(builder, "rules", small_rules, strlen(small_rules), error);
    if (!status)
        status = lud_proof_read_queries(builder, LUD_PROOF_TRAIN, "queries", queries, strlen(queries), error);
    if (!status) status = lud_proof_read_domains(builder, "domains", domains, strlen(domains), error);
    if (!status)
        status = lud_proof_read_scores(builder, "scores", scores, strlen(scores), true, 2, 0.0, error);
    if (!status) status = lud_proof_build(builder, NULL, base, error);
    lud_proof_builder_destroy(builder);
    return status;
}

static lud_status base_from_texts(const void *argument, uint64_t *result, lud_error *error) {
    (void)argument;
    lud_proof_base *base;
    lud_status status = read_base(&base, error);
    if (!status) out_of_memory_hash(result, base->facts, (size_t)base->n_facts * sizeof *base->facts);
    lud_proof_base_destroy(base);
    return status;
}

typedef struct question {
    const lud_proof_base *base;
    lud_proof_atom atom;
} question;

static lud_status prove(const void *argument, uint64_t *result, lud_error *error) {
    const question *q = argument;
    lud_prover *prover;
    lud_prover_answer answer = LUD_PROVER_UNDECIDED;
    lud_proof_tree tree = {0};
    int64_t n = 0;
    lud_status status = lud_prover_create(q->base, NULL, &prover, error);
    if (status) return status;
    status = lud_prover_ask(prover, &q->atom, &answer, error);
    if (!status) status = lud_prover_tree(prover, &q->atom, &tree, error);
    if (!status) status = lud_prover_count(prover, &q->atom, &n, error);
    out_of_memory_hash(result, &answer, sizeof answer);
    out_of_memory_hash(result, &tree.n, sizeof tree.n);
    out_of_memory_hash(result, &n, sizeof n);
    lud_proof_tree_free(&tree);
    lud_prover_destroy(prover);
    return status;
}

static lud_status find_path(const void *argument, uint64_t *result, lud_error *error) {
    const question *q = argument;
    lud_proof_search_options options = {.max_depth = 5, .max_goals = 4};
    lud_proof_search_result found;
    lud_proof_tree tree = {0};
    lud_status status = lud_proof_search(q->base, &q->atom, &options, &found, error);
    if (status) return status;
    status = lud_proof_tree_from_path(q->base, &q->atom, found.path, found.n_path, &tree, error);
    out_of_memory_hash(result, &found.steps, sizeof found.steps);
    out_of_memory_hash(result, &tree.n, sizeof tree.n);
    lud_proof_tree_free(&tree);
    lud_proof_search_result_free(&found);
    return status;
}

static lud_status play_batch(const void *argument, uint64_t *result, lud_error *error) {
    const lud_scenario *scenario = argument;
    const lud_proof_model *model = (const lud_proof_model *)(const void *)scenario->model;
    lud_proof_batch_options options = lud_proof_training_options(model, 3, 5);
    lud_proof_batch *batch;
    LUD_TRY(lud_proof_batch_create(model, &options, &batch, error));
    lud_proof_batch_reset(batch);
    static const int32_t first[3] = {0};
    for (int t = 0; t < 4; t++) lud_proof_batch_step_reset(batch, first);
    const size_t bytes = lud_proof_batch_snapshot_bytes(batch);
    out_of_memory_hash(result, &bytes, sizeof bytes);
    lud_proof_batch_destroy(batch);
    return LUD_OK;
}

static void write_text(const char *name, const char *text) {
    char path[128];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

static void proof(void **state) {
    (void)state;
    write_text("facts.txt", small_facts);
    write_text("rules.txt", small_rules);
    write_text("queries.txt", "elder(ann,cat)\t2\nelder(ann,dan)\t3\n");
    char text[512];
    snprintf(text, sizeof text,
             "ludus: 1\nworld: proof\nproof:\n  folder: %s\n  facts: facts.txt\n  rules: rules.txt\n"
             "  queries: {train: queries.txt, valid: queries.txt, test: queries.txt}\n"
             "  limits: {depth: 5, goals: 4, successors: 8}\n  negatives: {per_positive: 1}\n",
             folder);
    out_of_memory_test("a proof scenario", read, text);
    out_of_memory_test("a family", family, NULL);
    out_of_memory_test("a knowledge base", base_from_texts, NULL);
    question q = {0};
    lud_error error = {0};
    lud_proof_base *base;
    if (read_base(&base, &error) || lud_proof_parse_atom(base, "elder(ann,dan)", &q.atom, NULL, &error))
        fail_msg("%s", error.text);
    q.base = base;
    out_of_memory_test("a prover", prove, &q);
    out_of_memory_test("a search for a proof", find_path, &q);
    lud_proof_base_destroy(base);
    lud_scenario *scenario;
    if (lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    out_of_memory_test("a batch of proofs", play_batch, scenario);
    lud_scenario_destroy(scenario);
}

/* ---- state spaces ---- */

static lud_scenario *opened(const char *path) {
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
    return scenario;
}

typedef struct search {
    const lud_model *model;
    lud_statespace_options options;
} search;

static lud_status build(const void *argument, uint64_t *result, lud_error *error) {
    const search *s = argument;
    lud_statespace *space;
    LUD_TRY(lud_statespace_build(s->model, &s->options, &space, error));
    out_of_memory_hash(result, space->states, space->n_states * space->state_bytes);
    out_of_memory_hash(result, space->rows,
                       space->n_states * (uint64_t)space->n_joint_actions * sizeof *space->rows);
    out_of_memory_hash(result, space->successor, space->n_successors * sizeof *space->successor);
    out_of_memory_hash(result, &space->n_transitions, sizeof space->n_transitions);
    lud_statespace_destroy(space);
    return LUD_OK;
}

static lud_status levels(const void *argument, uint64_t *result, lud_error *error) {
    const search *s = argument;
    char path[128];
    lud_level_file *file;
    lud_levels found = {0};
    snprintf(path, sizeof path, "%s/levels", folder);
    LUD_TRY(lud_level_file_open(path, s->model->layout.state_bytes, 1, false, &file, error));
    const lud_levels_options options = {.seed = 1, .n_threads = 1, .file = file};
    lud_status status = lud_levels_find(s->model, &options, &found, error);
    uint64_t widest = 0;
    for (int i = 0; i < found.n; i++)
        if (file->levels[i].n_states > widest) widest = file->levels[i].n_states;
    uint8_t *states = status ? NULL : malloc(widest * s->model->layout.state_bytes);
    if (!status && !states) status = lud_no_memory(error, "a level");
    for (int i = 0; i < found.n && !status; i++) {
        status = lud_level_file_read(file, i, states, error);
        if (!status)
            out_of_memory_hash(result, states, file->levels[i].n_states * s->model->layout.state_bytes);
    }
    if (!status) out_of_memory_hash(result, &found.n_transitions, sizeof found.n_transitions);
    free(states);
    lud_levels_free(&found);
    lud_level_file_discard(file);
    lud_level_file_close(file);
    return status;
}

static lud_status guess(const void *argument, uint64_t *result, lud_error *error) {
    const search *s = argument;
    lud_statespace_estimate estimate;
    lud_status status = lud_statespace_guess(s->model, &s->options, &estimate, error);
    if (!status) out_of_memory_hash(result, &estimate.states, sizeof estimate.states);
    return status;
}

static lud_status successors(const void *argument, uint64_t *result, lud_error *error) {
    const lud_model *model = argument;
    lud_successors out = {0};
    uint8_t state[4096];
    int32_t action[16] = {0};
    assert_true(model->layout.state_bytes <= sizeof state && model->layout.n_agents <= 16);
    uint32_t tick = 0;
    memset(state, 0, sizeof state);
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    lud_status status = LUD_OK;
    for (int k = 0; k < 4 && !status; k++) {
        for (int a = 0; a < model->layout.n_agents; a++) action[a] = k;
        status = model->world->successors(model, state, action, &out, error);
        if (!status) {
            out_of_memory_hash(result, out.states, (size_t)out.n * model->layout.state_bytes);
            out_of_memory_hash(result, out.probability, (size_t)out.n * sizeof *out.probability);
        }
    }
    lud_successors_free(&out);
    return status;
}

static lud_status scene(const void *argument, uint64_t *result, lud_error *error) {
    (void)result;
    lud_grid_scene *made = lud_grid_scene_create(argument);
    if (!made) return lud_no_memory(error, "a scene");
    lud_grid_scene_destroy(made);
    return LUD_OK;
}

static void statespaces(void **state) {
    (void)state;
    static const char *const files[] = {"multigrid/tiny.yaml", "empo/steady_the_bridge.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512], what[600];
        snprintf(path, sizeof path, SCENARIOS "%s", files[i]);
        lud_scenario *scenario = opened(path);
        search s = {.model = scenario->model, .options = {.n_threads = 1, .seed = 1}};
        snprintf(what, sizeof what, "graph of %s", files[i]);
        out_of_memory_test(what, build, &s);
        snprintf(what, sizeof what, "levels of %s", files[i]);
        if (lud_levels_possible(scenario->model)) out_of_memory_test(what, levels, &s);
        snprintf(what, sizeof what, "size of %s", files[i]);
        out_of_memory_test(what, guess, &s);
        snprintf(what, sizeof what, "successors in %s", files[i]);
        out_of_memory_test(what, successors, scenario->model);
        snprintf(what, sizeof what, "scene of %s", files[i]);
        out_of_memory_test(what, scene, scenario->model);
        s.options.folder = folder;
        s.options.memory_limit = 1; /* everything that can be goes to files */
        snprintf(what, sizeof what, "graph in files of %s", files[i]);
        uint64_t ignored = 0;
        lud_error error = {0};
        if (build(&s, &ignored, &error) == LUD_OK) out_of_memory_test(what, build, &s);
        lud_scenario_destroy(scenario);
    }
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(multigrid), cmocka_unit_test(particle),
                                       cmocka_unit_test(tribes), cmocka_unit_test(proof),
                                       cmocka_unit_test(statespaces)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
