/* A learner that is given nothing but its type: what it chooses follows from the world, is said and written,
 * gives way to what is given, and learns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/options.h"
#include "learn/mappo/mappo.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/train.h"

#define SCENARIO(name) LUDUS_SOURCE_DIR "/scenarios/defaults/" name ".yaml"

typedef struct bed {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
} bed;

static bed open_with(const char *file, const char *const *set, int n_set) {
    bed b = {0};
    lud_error error = {0};
    if (lud_scenario_load(file, set, n_set, &b.scenario, &error)) fail_msg("%s", error.text);
    if (lud_device_open("cpu", 1, &b.device, &error)) fail_msg("%s", error.text);
    if (lud_learner_create(b.scenario, b.device, &b.learner, &error)) fail_msg("%s: %s", file, error.text);
    return b;
}

static bed open_bed(const char *file) {
    return open_with(file, NULL, 0);
}

static void close_bed(bed *b) {
    lud_learner_destroy(b->learner);
    lud_device_close(b->device);
    lud_scenario_destroy(b->scenario);
}

static const lud_mappo_options *mappo_options(const bed *b) {
    return &((const lud_mappo_learner_state *)b->learner)->options;
}

static const lud_empo_learner_options *empo_options(const bed *b) {
    return (const void *)((const char *)b->learner + b->learner->kind->values);
}

/* --- what is chosen --- */

static void agents_on_a_map(void **state) {
    (void)state;
    bed b = open_bed(SCENARIO("crossing"));
    const lud_mappo_options *o = mappo_options(&b);
    assert_false(o->recurrent);
    assert_false(o->identify); /* there is nobody to be told from */
    assert_int_equal(o->update.time_limits, LUD_LIMIT_BOOTSTRAP);
    assert_true(o->decay_learning_rate && o->decay_entropy);
    assert_true(o->update.advantage_floor > 0.0 && o->update.target_kl > 0.0);
    assert_int_equal(o->rollout_length, 64);
    assert_int_equal(b.learner->n_environments, 64);
    assert_true(b.learner->n_iterations >= 30);
    assert_non_null(strstr(b.learner->chosen, "  rollout_length "));
    assert_non_null(strstr(b.learner->chosen, "  (run.environments) "));
    close_bed(&b);
    b = open_bed(SCENARIO("swap"));
    assert_true(mappo_options(&b)->identify);
    close_bed(&b);
}

static void agents_on_a_graph(void **state) {
    (void)state;
    bed b = open_bed(SCENARIO("navigation_4"));
    const lud_mappo_options *o = mappo_options(&b);
    assert_false(o->identify); /* alike: any number can act so */
    assert_false(o->centralised);
    assert_true(o->graph.ego_critic);
    assert_int_equal(o->graph.layers, 1);
    assert_int_equal(o->rollout_length, 30); /* an episode */
    close_bed(&b);
    static const char *const unlike[] = {"particle={task: simple_tag}"};
    b = open_with(SCENARIO("spread_2"), unlike, 1);
    assert_true(mappo_options(&b)->identify && mappo_options(&b)->centralised);
    close_bed(&b);
}

/* A critic that sees what all see costs the square of their number. */
static void crowds(void **state) {
    (void)state;
    static const char *const set[] = {"learner={type: graph-mappo}", "run.steps=100"};
    bed b = open_with(LUDUS_SOURCE_DIR "/scenarios/tribes/market.yaml", set, 2);
    assert_in_range(b.scenario->model->layout.n_agents, 2, 32);
    assert_true(mappo_options(&b)->centralised);
    close_bed(&b);
    b = open_with(LUDUS_SOURCE_DIR "/scenarios/tribes/crowd.yaml", set, 2);
    assert_in_range(b.scenario->model->layout.n_agents, 33, 1000);
    assert_false(mappo_options(&b)->centralised);
    close_bed(&b);
}

/* A short training is cut into as many updates as a long one, of fewer samples. */
static void the_total_counts(void **state) {
    (void)state;
    static const char *const set[] = {"run.steps=3000"};
    bed b = open_with(SCENARIO("crossing"), set, 1);
    assert_int_equal(mappo_options(&b)->steps, 3000);
    assert_in_range(b.learner->n_iterations, 30, 60);
    close_bed(&b);
    static const char *const few[] = {"learner.total_steps=20000"};
    b = open_with(SCENARIO("company"), few, 1);
    assert_in_range(b.learner->n_iterations, 20, 60);
    close_bed(&b);
}

static void what_is_given_holds(void **state) {
    (void)state;
    static const char *const set[] = {"run.environments=5",     "learner.rollout_length=7",
                                      "learner.discount=0.5",   "learner.recurrent=true",
                                      "learner.graph.layers=3", "learner.target_kl=0"};
    bed b = open_with(SCENARIO("navigation_4"), set, 6);
    const lud_mappo_options *o = mappo_options(&b);
    assert_int_equal(b.learner->n_environments, 0);
    assert_int_equal(o->rollout_length, 7);
    assert_true(o->update.gamma == 0.5 && o->recurrent && o->update.target_kl == 0.0);
    assert_int_equal(o->graph.layers, 3);
    assert_null(strstr(b.learner->chosen, "discount"));
    assert_null(strstr(b.learner->chosen, "environments"));
    close_bed(&b);
    static const char *const fixed[] = {"learner.automatic=false"};
    b = open_with(SCENARIO("navigation_4"), fixed, 1);
    o = mappo_options(&b);
    assert_true(o->recurrent);
    assert_int_equal(o->steps, 2000000);
    assert_int_equal(o->update.epochs, 15);
    assert_int_equal(b.learner->n_environments, 0);
    assert_string_equal(b.learner->chosen, "");
    close_bed(&b);
}

static void queries(void **state) {
    (void)state;
    bed b = open_bed(SCENARIO("company"));
    const lud_proof_ppo_options *o = lud_proof_ppo_get_options(b.learner);
    assert_int_equal(o->network.states, LUD_PROOF_STATE_CONCAT);
    assert_true(o->network.fact_counts && o->network.dropout == 0.0);
    assert_in_range(o->total_steps, 40000, 100000);
    assert_in_range(o->n_envs * o->n_steps, 512, 8192);
    assert_in_range(o->evaluation.n_queries, 1, 50);
    assert_non_null(strstr(b.learner->chosen, "8 rules, 561 queries to learn from"));
    close_bed(&b);
}

static void people_and_robots(void **state) {
    (void)state;
    bed b = open_bed(SCENARIO("between"));
    const lud_empo_learner_options *o = empo_options(&b);
    assert_true(o->met_memory > 0.0 && o->expected_people && !o->use_lookup_tables);
    assert_string_equal(o->human_prior->text, "exact");
    assert_int_equal(o->restart_from, LUD_EMPO_SUCCESSORS);
    assert_in_range(o->stages.total, 5000, 30000);
    close_bed(&b);
    static const char *const tables[] = {"learner.use_lookup_tables=true"};
    b = open_with(SCENARIO("between"), tables, 1);
    o = empo_options(&b);
    assert_true(o->use_lookup_tables && o->expected_people && o->lookup_lr == 1.0 && o->met_memory == 0.0);
    assert_int_equal(o->restart_from, LUD_EMPO_SUCCESSORS);
    assert_in_range(o->stages.total, 5000, 20000);
    close_bed(&b);
    static const char *const large[] = {"learner.exact_max_states=100"}; /* too many to be counted */
    b = open_with(SCENARIO("between"), large, 1);
    o = empo_options(&b);
    assert_false(o->use_lookup_tables);
    assert_null(o->human_prior);
    assert_true(o->met_memory > 0.0 && o->log_space && o->stages.cosine_decay);
    assert_int_equal(o->hidden_dim, 64);
    close_bed(&b);
    /* a person who wants nothing in some places has no exact policy: it is said, and heuristic */
    static const char *const uncovered[] = {"goals=[{cell: [1, 1]}, {cell: [5, 1]}]"};
    b = open_with(SCENARIO("between"), uncovered, 1);
    assert_null(empo_options(&b)->human_prior);
    assert_non_null(strstr(b.learner->chosen, "heuristic  exact people are not possible"));
    close_bed(&b);
}

/* --- what is written --- */

/* The effective configuration has numbers in place of `auto`, and chooses nothing when it is read again. */
static void the_run_says_what_was_chosen(void **state) {
    (void)state;
    static const char *const files[] = {SCENARIO("navigation_4"), SCENARIO("company"), SCENARIO("between")};
    for (int i = 0; i < 3; i++) {
        bed b = open_bed(files[i]);
        lud_arena *arena = lud_arena_create(0);
        lud_tree *root = NULL;
        lud_error error = {0};
        char *text = NULL, *again = NULL;
        size_t length = 0;
        assert_int_equal(lud_scenario_effective(b.scenario, arena, &root, &error), LUD_OK);
        assert_int_equal(lud_learner_write(b.learner, arena, root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &text, &length, &error), LUD_OK);
        if (b.learner->n_environments > 0) {
            char line[64];
            snprintf(line, sizeof line, "run: {environments: %lld,", (long long)b.learner->n_environments);
            assert_non_null(strstr(text, line));
        }
        bed c = {.device = b.device};
        if (lud_scenario_read(files[i], text, length, NULL, 0, &c.scenario, &error))
            fail_msg("%s", error.text);
        if (lud_learner_create(c.scenario, b.device, &c.learner, &error)) fail_msg("%s", error.text);
        assert_string_equal(c.learner->chosen, "");
        assert_int_equal(c.learner->n_iterations, b.learner->n_iterations);
        assert_int_equal(lud_scenario_effective(c.scenario, arena, &root, &error), LUD_OK);
        assert_int_equal(lud_learner_write(c.learner, arena, root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &again, &length, &error), LUD_OK);
        assert_string_equal(text, again);
        lud_learner_destroy(c.learner);
        lud_scenario_destroy(c.scenario);
        lud_arena_destroy(arena);
        close_bed(&b);
    }
}

/* --- that it learns --- */

/* The last value of a column after the training with what is set. */
static double trained(const char *file, const char *const *set, int n_set, const char *column) {
    bed b = open_with(file, set, n_set);
    lud_error error = {0};
    lud_learner *l = b.learner;
    double row[160] = {0}, *evaluation = row + l->n_columns, value = 0.0;
    bool found = false;
    assert_in_range(l->n_columns + l->n_evaluation_columns, 1, 160);
    for (uint64_t i = 0; i < l->n_iterations; i++)
        if (l->kind->iterate(l, row, &error)) fail_msg("%s", error.text);
    if (l->kind->evaluate && l->kind->evaluate(l, evaluation, &error)) fail_msg("%s", error.text);
    for (int i = 0; i < l->n_columns && !found; i++)
        if ((found = strcmp(l->columns[i].name, column) == 0)) value = row[i];
    for (int i = 0; i < l->n_evaluation_columns && !found; i++)
        if ((found = strcmp(l->evaluation_columns[i].name, column) == 0)) value = evaluation[i];
    assert_true(found);
    close_bed(&b);
    return value;
}

static void learns_on_a_map(void **state) {
    (void)state;
    static const char *const set[] = {
        "multigrid.map=\"We We We We We\\nWe Ar Cy Gr We\\nWe .. We .. We\\nWe We We We We\\n\"",
        "multigrid.max_steps=30", "learner.steps=16000"};
    assert_true(trained(SCENARIO("crossing"), set, 3, "evaluation/return") > 0.9);
}

static void learns_rules(void **state) {
    (void)state;
    static const char *const set[] = {"learner.total_steps=12000", "learner.evaluation.queries=20",
                                      "learner.evaluation.every=0"};
    assert_true(trained(SCENARIO("company"), set, 3, "valid/mrr") > 0.7);
}

static void learns_to_empower(void **state) {
    (void)state;
    static const char *const set[] = {"multigrid.max_steps=4"};
    const double regret = trained(SCENARIO("between"), set, 1, "exact/regret");
    assert_true(regret > -1e-3 && regret < 1e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_on_a_map),
        cmocka_unit_test(agents_on_a_graph),
        cmocka_unit_test(crowds),
        cmocka_unit_test(the_total_counts),
        cmocka_unit_test(what_is_given_holds),
        cmocka_unit_test(queries),
        cmocka_unit_test(people_and_robots),
        cmocka_unit_test(the_run_says_what_was_chosen),
        cmocka_unit_test(learns_on_a_map),
        cmocka_unit_test(learns_rules),
        cmocka_unit_test(learns_to_empower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
