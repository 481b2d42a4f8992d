/* The proof world behind the common interface: scenario files, stepping, exact successors, observations,
 * words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "sim/batch.h"
#include "sim/proof/support_proof.h"
#include "sim/scenario.h"

static lud_scenario *load(const char *file, const char *const *set, int n_set) {
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/scenarios/proof/%s", LUDUS_SOURCE_DIR, file);
    if (lud_scenario_load(path, set, n_set, &scenario, &error)) fail_msg("%s", error.text);
    return scenario;
}

static const lud_proof_model *model_of(const lud_scenario *scenario) {
    return (const lud_proof_model *)(const void *)scenario->model;
}

/* What ships loads, and its effective configuration reads back as the same model from anywhere. */
static void test_scenario(void **state) {
    (void)state;
    static const char *const set[] = {"proof.limits.depth=7", "proof.queries.depths=[1, 2]"};
    lud_error error = {0};
    lud_scenario *first = load("family_tree.yaml", set, 2), *second = NULL;
    const lud_proof_model *m = model_of(first);
    assert_int_equal(m->max_depth, 7);
    assert_true(m->base->n_facts > 4000 && m->base->n_rules > 80);
    for (int32_t i = 0; i < m->pools[LUD_PROOF_TRAIN].n; i++)
        assert_in_range(m->pool_depths[LUD_PROOF_TRAIN][i], 1, 2);
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = NULL;
    char *text;
    size_t length;
    assert_int_equal(lud_scenario_effective(first, arena, &root, &error), LUD_OK);
    assert_int_equal(lud_tree_write(arena, root, &text, &length, &error), LUD_OK);
    if (lud_scenario_read("/somewhere/else.yaml", text, length, NULL, 0, &second, &error))
        fail_msg("%s", error.text);
    const lud_proof_model *n = model_of(second);
    assert_int_equal(n->max_depth, 7);
    assert_int_equal(n->base->n_facts, m->base->n_facts);
    assert_int_equal(n->base->n_rules, m->base->n_rules);
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) assert_int_equal(n->pools[s].n, m->pools[s].n);
    lud_scenario_destroy(second);
    lud_scenario_destroy(first);
    lud_arena_destroy(arena);
}

/* The scenarios of the standard data sets, on small files of the same form. */
static void test_standard_scenarios(void **state) {
    (void)state;
    static const char *const scenarios[] = {"family.yaml", "countries.yaml", "umls.yaml", "nations.yaml",
                                            "wn18rr.yaml"};
    static const char *const files[][2] = {{"train.txt", "p(a,b).\np(b,c).\n"},
                                           {"train_depths.txt", "p(a,b) 1\np(b,c) -1\n"},
                                           {"valid.txt", "p(a,c)\n"},
                                           {"valid_depths.txt", "p(a,c) 2\n"},
                                           {"test.txt", "p(c,a)\n"},
                                           {"test_depths.txt", "p(c,a) -1\n"},
                                           {"rules.txt", "r:1:p(x,z), p(z,y) -> p(x,y)\n"},
                                           {"domain2constants.txt", "all a b c\n"}};
    char folder[] = "/tmp/ludus-proof-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[4096], set[4096];
    lud_error error = {0};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[f][0]);
        assert_int_equal(lud_file_write(path, files[f][1], strlen(files[f][1]), &error), LUD_OK);
    }
    snprintf(set, sizeof set, "proof.folder=%s", folder);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        lud_scenario *scenario = load(scenarios[i], (const char *const[]){set}, 1);
        assert_int_equal(model_of(scenario)->base->n_facts, 2);
        assert_int_equal(model_of(scenario)->pools[LUD_PROOF_TEST].n, 1);
        lud_scenario_destroy(scenario);
    }
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[f][0]);
        unlink(path);
    }
    rmdir(folder);
}

static void test_scenario_errors(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"proof: {rules: r.txt}", "x.yaml: proof: no `facts`"},
        {"proof: {facts: missing.txt, rules: missing.txt}", "missing.txt"},
        {"proof: {fatcs: a, rules: b}", "x.yaml:3:9: "},
        {"proof: {facts: a, rules: b, limits: {goals: 17}}", "x.yaml:3:45: "},
        {"proof: {facts: a, rules: b, negatives: {corrupt: heads}}", "x.yaml:3:50: "},
        {"proof: {facts: a, rules: b, reward: 6}", "x.yaml:3:37: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, "ludus: 1\nworld: proof\n%s\n", cases[i][0]);
        lud_error error = {0};
        lud_scenario *scenario = NULL;
        assert_int_not_equal(lud_scenario_read("x.yaml", text, strlen(text), NULL, 0, &scenario, &error),
                             LUD_OK);
        if (!strstr(error.text, cases[i][1]))
            fail_msg("%s: `%s`, expected `%s`", cases[i][0], error.text, cases[i][1]);
    }
}

/* Random play: observation and mask say what the successors are, the exact model has one successor, which is
 * what a step does, and states are equal bytes when reached twice. */
static void test_play(void **state) {
    (void)state;
    enum { N = 24 };
    lud_scenario *scenario = load("family_tree.yaml", NULL, 0);
    const lud_model *model = scenario->model;
    const lud_proof_model *m = model_of(scenario);
    const lud_layout *layout = &model->layout;
    lud_error error = {0};
    lud_batch *batch = NULL;
    assert_int_equal(lud_batch_create(model, N, 4, 0, &batch, &error), LUD_OK);
    batch->end = LUD_END_RESETS;
    void *parts[3];
    for (int p = 0; p < 3; p++) parts[p] = malloc(N * layout->parts[p].bytes);
    float rewards[N];
    uint8_t terminated[N], truncated[N];
    uint8_t *final_states = malloc(N * layout->state_bytes);
    lud_batch_out out = {.observations = parts,
                         .rewards = rewards,
                         .terminated = terminated,
                         .truncated = truncated,
                         .final_states = final_states};
    lud_successors next = {0};
    lud_proof_successors list = proof_successors(m->limits.max_successors, m->limits.max_goals);
    lud_batch_reset(batch, &out);
    int32_t actions[N];
    uint32_t d = 0;
    int ended = 0, labels[2] = {0};
    for (int t = 0; t < 150; t++) {
        uint8_t *expected = malloc(N * layout->state_bytes);
        for (size_t e = 0; e < N; e++) {
            const uint8_t *now = batch->states + e * layout->state_bytes;
            list.n = list.begin[0] = 0;
            lud_proof_successors_of(m, now, &list, NULL);
            const uint8_t *mask = (const uint8_t *)parts[2] + e * layout->parts[2].bytes;
            for (int32_t i = 0; i < m->limits.max_successors; i++) assert_int_equal(mask[i], i < list.n);
            const int32_t *seen = (const int32_t *)parts[1] + e * layout->parts[1].bytes / 4;
            for (int32_t i = 0; i < list.n; i++)
                for (int32_t g = 0; g < m->limits.max_goals; g++) {
                    const int32_t *goal = seen + (i * m->limits.max_goals + g) * 3;
                    int32_t at = list.begin[i] + g;
                    bool there = at < list.begin[i + 1];
                    assert_int_equal(goal[0], there ? list.atoms[at].predicate : 0);
                    assert_int_equal(goal[1], there ? list.atoms[at].terms[0] : 0);
                    assert_int_equal(goal[2], there ? list.atoms[at].terms[1] : 0);
                }
            /* any number is an action: it counts round the successors */
            actions[e] = (int32_t)proof_draw(6, &d, (uint32_t)m->limits.max_successors);
            assert_int_equal(model->world->successors(model, now, &actions[e], &next, &error), LUD_OK);
            assert_int_equal(next.n, 1);
            assert_true(next.probability[0] == 1.0);
            memcpy(expected + e * layout->state_bytes, next.states, layout->state_bytes);
        }
        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        for (size_t e = 0; e < N; e++) {
            bool done = terminated[e] || truncated[e];
            const uint8_t *now = (done ? final_states : batch->states) + e * layout->state_bytes;
            assert_memory_equal(now, expected + e * layout->state_bytes, layout->state_bytes);
            assert_int_equal(model->world->is_terminal(model, now), done);
            assert_true(rewards[e] == lud_proof_reward(m, now));
            ended += done;
            labels[((const lud_proof_state *)(const void *)now)->label] += done;
            if (done) {
                assert_int_equal(model->world->successors(model, now, actions, &next, &error), LUD_OK);
                assert_int_equal(next.n, 0);
            }
        }
        free(expected);
    }
    assert_true(ended > 100 && labels[0] > 20 && labels[1] > 20);
    for (int p = 0; p < 3; p++) free(parts[p]);
    free(final_states);
    proof_successors_free(&list);
    lud_successors_free(&next);
    lud_batch_destroy(batch);
    lud_scenario_destroy(scenario);
}

/* The words for a state: query, goals, choices with their rule, and the tree. */
static void test_describe(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_options o = proof_options();
    lud_proof_base *base =
        proof_base(LUD_PROOF_TRIPLES, "father(hans,otto)\nfather(otto,anna)\n",
                   "g:1:father(x,z), father(z,y) -> grandfather(x,y)\n", "grandfather(hans,anna)\n");
    lud_proof_model *model = NULL;
    assert_int_equal(lud_proof_model_create(base, &o, &model, &error), LUD_OK);
    uint8_t *bytes = malloc(model->model.layout.state_bytes);
    lud_proof_atom query = proof_atom(base, "grandfather(hans,anna)");
    lud_proof_start(model, &query, 1, 0, bytes);
    lud_text text = {0};
    lud_proof_world.describe(&model->model, bytes, &text);
    assert_string_equal(text.bytes, "query: grandfather(hans,anna) (true triple)\n"
                                    "step 0 of 20, running\n"
                                    "goals: grandfather(hans,anna)\n"
                                    "  0: father(hans,?0), father(?0,anna)  by g\n"
                                    "  1: Endf\n"
                                    "grandfather(hans,anna)  open\n");
    for (int i = 0; i < 2; i++) {
        uint32_t tick = 0;
        int32_t action = 0;
        lud_proof_world.step(&model->model, (lud_range){.n = 1, .tick = &tick}, bytes,
                             (lud_actions){.discrete = &action}, (lud_outcome){0});
    }
    lud_text_clear(&text);
    lud_proof_world.describe(&model->model, bytes, &text);
    assert_string_equal(text.bytes,
                        "query: grandfather(hans,anna) (true triple)\n"
                        "step 2 of 20, proved\n"
                        "goals: True\n"
                        "grandfather(hans,anna)  by g: father(x,z), father(z,y) -> grandfather(x,y)\n"
                        "├─ father(hans,otto)  fact\n"
                        "└─ father(otto,anna)  fact\n");
    lud_text_free(&text);
    free(bytes);
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scenario),        cmocka_unit_test(test_standard_scenarios),
        cmocka_unit_test(test_scenario_errors), cmocka_unit_test(test_play),
        cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
