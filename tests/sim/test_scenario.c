/* Scenario files as a whole: keys, world, run section, overrides, effective configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "sim/scenario.h"

static const char *const small =
    "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We\n    We Ay We\n    We We We\n";

static lud_scenario *read_ok(const char *text, const char *const *set, int n_set) {
    lud_scenario *s;
    lud_error error = {0};
    if (lud_scenario_read("s.yaml", text, strlen(text), set, n_set, &s, &error)) fail_msg("%s", error.text);
    return s;
}

static void read_fails(const char *text, const char *message) {
    lud_scenario *s;
    lud_error error = {0};
    assert_int_equal(lud_scenario_read("s.yaml", text, strlen(text), NULL, 0, &s, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, message);
    assert_null(s);
}

static void test_read(void **state) {
    (void)state;
    const char *const set[] = {"run.seed=7", "multigrid.max_steps=12", "policies.human={type: random}"};
    lud_scenario *s = read_ok(small, set, 3);
    assert_string_equal(s->name, "s");
    assert_null(s->about);
    assert_string_equal(s->world->name, "multigrid");
    assert_int_equal(s->run.seed, 7);
    assert_int_equal(s->run.environments, 16);
    assert_int_equal(s->model->layout.max_steps, 12);
    assert_non_null(s->policies);
    assert_null(s->learner);
    lud_scenario_destroy(s);
    lud_scenario_destroy(NULL);
}

/* A device has the run's threads and precision; the effective scenario, which a training's folder keeps, says
 * both. */
static void test_device(void **state) {
    (void)state;
    const char *const set[] = {"run.threads=3", "run.precision=bf16"};
    for (int n_set = 0; n_set <= 2; n_set += 2) {
        lud_scenario *s = read_ok(small, set, n_set);
        lud_device *device;
        lud_error error = {0};
        assert_int_equal(lud_scenario_device(s, "cpu", &device, &error), LUD_OK);
        assert_int_equal(device->precision, n_set ? LUD_PRECISION_BF16 : LUD_PRECISION_F32);
        if (n_set) assert_int_equal(device->n_threads, 3);
        lud_device_close(device);
        assert_int_equal(lud_scenario_device(s, "abacus", &device, &error), LUD_ERROR_INPUT);
        lud_scenario_destroy(s);
    }
}

static void test_errors(void **state) {
    (void)state;
    read_fails("", "s.yaml:1:1: expected a scenario: lines of `key: value`, the first of them `ludus: 1`, "
                   "found nothing");
    read_fails("world: multigrid\n",
               "s.yaml:1:1: expected the line `ludus: 1` (the version of the format), found none");
    read_fails("name: x\n",
               "s.yaml:1:1: expected the line `ludus: 1` (the version of the format), found none");
    read_fails("ludus: 2\nworld: multigrid\n",
               "s.yaml:1:8: ludus: expected an integer from 1 to 1, found '2'");
    read_fails("ludus: 1\n", "s.yaml:1:1: expected the key 'world' (the kind of world), found none");
    lud_scenario *s;
    lud_error error = {0};
    const char *text = "ludus: 1\nworld: multigird\n";
    assert_int_equal(lud_scenario_read("s.yaml", text, strlen(text), NULL, 0, &s, &error), LUD_ERROR_INPUT);
    assert_int_equal(strncmp(error.text, "s.yaml:2:8: world: expected ", 28), 0);
    assert_non_null(strstr(error.text, "found 'multigird'; did you mean 'multigrid'?"));
    read_fails("ludus: 1\nworld: multigrid\npolices: 1\n",
               "s.yaml:3:1: expected ludus, name, about, world, multigrid, policies, learner, view, run or "
               "goals as key, "
               "found 'polices'; did you mean 'policies'?");
    read_fails("ludus: 1\nworld: multigrid\nname: [a]\n",
               "s.yaml:3:7: name: expected text, found a list of 1");
    read_fails("ludus: 1\nworld: multigrid\nrun: {seed: -1}\n",
               "s.yaml:3:13: seed: expected an integer of at least 0, found '-1'");
    read_fails("ludus: 1\nworld: multigrid\nview: {nonsense: 1}\n",
               "s.yaml:3:8: expected theme, speed, motion, goals, labels, successors, size, scale, agent, "
               "cell, panels, camera, overlay or caption as key in 'view', found 'nonsense'");
    read_fails("ludus: 1\nworld: multigrid\nview: {theme: drak}\n",
               "s.yaml:3:15: theme: expected light or dark, found 'drak'; did you mean 'dark'?");
    read_fails("ludus: 1\nworld: multigrid\n", "s.yaml:1:1: expected the section 'multigrid', found none");
    const char *const set[] = {"run.sede=1"};
    assert_int_equal(lud_scenario_read("s.yaml", small, strlen(small), set, 1, &s, &error), LUD_ERROR_INPUT);
    assert_string_equal(
        error.text,
        "--set run.sede=1: expected environments, seed, episodes, steps, threads or precision as key in "
        "'run', found 'sede'; did you mean 'seed'?");
    assert_int_equal(lud_scenario_load("no/such.yaml", NULL, 0, &s, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "no/such.yaml: no such file");
    assert_null(s);
}

/* Effective configuration as text. */
static char *effective(const lud_scenario *s, lud_arena *arena) {
    lud_tree *root;
    char *text = NULL;
    size_t length;
    lud_error error = {0};
    if (lud_scenario_effective(s, arena, &root, &error) ||
        lud_tree_write(arena, root, &text, &length, &error))
        fail_msg("%s", error.text);
    return text;
}

static void round_trip(const char *text) {
    lud_arena *arena = lud_arena_create(0);
    lud_scenario *s = read_ok(text, NULL, 0);
    char *first = effective(s, arena);
    lud_scenario *again = read_ok(first, NULL, 0);
    assert_string_equal(first, effective(again, arena));
    assert_string_equal(s->name, again->name);
    assert_int_equal(s->model->layout.state_bytes, again->model->layout.state_bytes);
    size_t bytes = s->model->layout.state_bytes;
    uint8_t *a = lud_arena_take(arena, bytes), *b = lud_arena_take(arena, bytes);
    uint32_t tick = 0;
    s->world->reset(s->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, a);
    again->world->reset(again->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, b);
    assert_memory_equal(a, b, bytes);
    lud_scenario_destroy(s);
    lud_scenario_destroy(again);
    lud_arena_destroy(arena);
}

static void test_effective(void **state) {
    (void)state;
    round_trip(small);
    round_trip(
        "ludus: 1\nname: '12'\nabout: |\n  two\n  lines\nworld: multigrid\nmultigrid:\n  map: [WeWeWe, "
        "WeAyWe, "
        "WeWeWe]\npolicies: {human: {type: random}}\nlearner: {type: x, 'y z': [1, 2]}\nview: {speed: 3}\n"
        "run: {seed: 9223372036854775807}\n");
    round_trip(
        "{\"map\": \"We We We\\nWe Ay We\\nWe We We\", \"max_steps\": 7, \"possible_goals\": [\"1,1\"]}");
}

static void test_reference(void **state) {
    (void)state;
    const char *const set[] = {"run.seed=3", "max_steps=9", "policies.human={type: random}"};
    lud_scenario *s = read_ok(
        "metadata: {any: thing}\nrocks_can_kill: true\nmap: |\n  We We We\n  We Ay We\n  We We We\n", set, 3);
    assert_int_equal(s->run.seed, 3);
    assert_int_equal(s->model->layout.max_steps, 9);
    assert_non_null(s->policies);
    lud_scenario_destroy(s);
}

static void test_include(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-scenario-XXXXXX", path[100], expected[400];
    assert_non_null(mkdtemp(folder));
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/base.yaml", folder);
    assert_int_equal(lud_file_write(path, small, strlen(small), &error), LUD_OK);
    snprintf(path, sizeof path, "%s/harder.yaml", folder);
    const char *text = "include: base.yaml\nname: harder\nmultigrid: {max_steps: 3}\n";
    assert_int_equal(lud_file_write(path, text, strlen(text), &error), LUD_OK);
    lud_scenario *s;
    if (lud_scenario_load(path, NULL, 0, &s, &error)) fail_msg("%s", error.text);
    assert_string_equal(s->name, "harder");
    assert_int_equal(s->model->layout.max_steps, 3);
    lud_scenario_destroy(s);
    text = "include: base.yaml\n\nmultigrid: {max_step: 3}\n";
    assert_int_equal(lud_file_write(path, text, strlen(text), &error), LUD_OK);
    assert_int_equal(lud_scenario_load(path, NULL, 0, &s, &error), LUD_ERROR_INPUT);
    snprintf(expected, sizeof expected, "%s/harder.yaml:3:13: expected map, ensemble, legend, ", folder);
    assert_int_equal(strncmp(error.text, expected, strlen(expected)), 0);
    assert_non_null(strstr(error.text, "found 'max_step'; did you mean 'max_steps'?"));
    snprintf(path, sizeof path, "rm -r %s", folder);
    assert_int_equal(system(path), 0);
}

static void test_worlds(void **state) {
    (void)state;
    int n;
    const lud_world *const *worlds = lud_worlds(&n);
    assert_true(n >= 1);
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(lud_world_find(worlds[i]->name), worlds[i]);
        assert_non_null(worlds[i]->about);
        assert_non_null(worlds[i]->parse);
        assert_non_null(worlds[i]->write);
    }
    assert_null(lud_world_find("nowhere"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read),      cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_effective), cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_include),   cmocka_unit_test(test_worlds),
                                       cmocka_unit_test(test_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
