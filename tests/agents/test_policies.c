#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/cast.h"
#include "agents/keyboard.h"
#include "agents/support_grid.h"
#include "base/file.h"

static const char *const rows[] = {"#######", "#>..e.#", "#.<..V#", "#######"};

static lud_model *make_model(void) {
    static const lud_grid_goal goals[] = {
        {.x1 = 1, .y1 = 1, .x2 = 3, .y2 = 2, .weight = 3, .agent = -1},
        {.x1 = 5, .y1 = 2, .x2 = 5, .y2 = 2, .cell = true, .weight = 1, .agent = -1},
        {.x1 = 4, .y1 = 1, .x2 = 4, .y2 = 1, .cell = true, .weight = 0, .agent = -1}};
    return grid_create(rows, 4, LUD_ACTIONS_SMALL, goals, 3);
}

static lud_cast *cast_from(const lud_model *model, const char *text, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_tree *tree;
    lud_cast *cast = NULL;
    assert_int_equal(lud_tree_read_text(arena, "test.yaml", text, strlen(text), &tree, NULL), LUD_OK);
    lud_cast_create(model, tree, "test.yaml", &cast, error);
    lud_arena_destroy(arena);
    return cast;
}

/* Everybody's actions in n environments at the start. The caller frees. */
static int32_t *act_once(const lud_model *model, const lud_cast *cast, int n, int first) {
    size_t state_bytes = model->layout.state_bytes, n_agents = (size_t)model->layout.n_agents;
    uint8_t *states = calloc((size_t)n, state_bytes),
            *hidden = calloc((size_t)n, lud_cast_hidden_bytes(cast));
    uint32_t *tick = calloc((size_t)n, sizeof *tick);
    int32_t *actions = calloc((size_t)n * n_agents, sizeof *actions);
    lud_range range = {.seed = 9, .first_environment = (uint32_t)first, .n = n, .tick = tick};
    model->world->reset(model, range, states);
    lud_cast_reset(cast, range, states, hidden);
    lud_cast_act(cast, range, states, NULL, hidden, actions, NULL);
    free(states);
    free(hidden);
    free(tick);
    return actions;
}

/* Frequencies of agent `agent` against probabilities p, by a chi-square at about one in a million (4
 * actions). */
static void check_frequencies(const lud_model *model, const lud_cast *cast, int agent, const double p[4]) {
    enum { N = 20000 };
    int32_t *actions = act_once(model, cast, N, 0);
    int count[4] = {0};
    for (int e = 0; e < N; e++) count[actions[e * model->layout.n_agents + agent]]++;
    double chi = 0;
    for (int k = 0; k < 4; k++) {
        if (p[k] == 0)
            assert_int_equal(count[k], 0);
        else
            chi += (count[k] - N * p[k]) * (count[k] - N * p[k]) / (N * p[k]);
    }
    assert_true(chi < 31);
    free(actions);
}

static void test_random_and_weighted(void **state) {
    (void)state;
    lud_model *model = make_model();
    lud_cast *cast = cast_from(model,
                               "human: {type: weighted}\n"
                               "robot: random\n"
                               "2: {type: weighted, weights: {left: 3, forward: 1}}\n",
                               NULL);
    assert_non_null(cast);
    check_frequencies(model, cast, 0, (double[]){0.06, 0.18, 0.18, 0.58}); /* a person */
    check_frequencies(model, cast, 1, (double[]){0.25, 0.25, 0.25, 0.25}); /* the robot */
    check_frequencies(model, cast, 2, (double[]){0, 0.75, 0, 0.25}); /* a person with an entry of its own */
    assert_string_equal(lud_cast_get(cast, 1)->kind->name, "random");
    lud_cast_destroy(cast);
    cast = cast_from(model, "{}", NULL);
    check_frequencies(model, cast, 3, (double[]){0.25, 0.25, 0.25, 0.25});
    lud_cast_destroy(cast);
    model->world->free(model);
}

/* Exact probabilities and log probabilities on request. */
static void test_probabilities(void **state) {
    (void)state;
    lud_model *model = make_model();
    lud_cast *cast = cast_from(model, "human: weighted", NULL);
    lud_policy *policy = lud_cast_get(cast, 0);
    uint32_t tick[2] = {4, 5};
    int agents[] = {0, 3};
    int32_t actions[2][4];
    memset(actions, 0xff, sizeof actions);
    float log_prob[2][4];
    double p[4];
    lud_act act = {.model = model,
                   .range = {.seed = 1, .n = 2, .tick = tick},
                   .agents = agents,
                   .n_agents_acting = 2,
                   .discrete = actions[0],
                   .log_prob = log_prob[0]};
    policy->kind->act(policy, &act);
    static const double expected[] = {0.06, 0.18, 0.18, 0.58};
    for (int e = 0; e < 2; e++)
        for (int slot = 0; slot < 2; slot++) {
            assert_true(lud_policy_distribution(policy, NULL, agents[slot], -1, p));
            for (int k = 0; k < 4; k++) assert_true(fabs(p[k] - expected[k]) < 1e-15);
            int action = actions[e][agents[slot]];
            assert_in_range(action, 0, 3);
            assert_true(fabs(log_prob[e][agents[slot]] - log(expected[action])) < 1e-6);
            assert_int_equal(actions[e][1], -1); /* others are left alone */
        }
    lud_cast_destroy(cast);
    model->world->free(model);
}

static void test_same_for_any_split(void **state) {
    (void)state;
    lud_model *model = make_model();
    lud_cast *cast = cast_from(model, "human: {type: heuristic, beta: 30}\nrobot: random", NULL);
    enum { N = 200 };
    int32_t *whole = act_once(model, cast, N, 0);
    for (int e = 0; e < N; e++) {
        int32_t *single = act_once(model, cast, 1, e);
        assert_memory_equal(single, whole + e * model->layout.n_agents, 4 * sizeof *single);
        free(single);
    }
    free(whole);
    lud_cast_destroy(cast);
    model->world->free(model);
}

static void test_goals(void **state) {
    (void)state;
    lud_model *model = make_model();
    lud_cast *cast = cast_from(model, "human: keyboard", NULL);
    enum { N = 4000 };
    size_t hidden_bytes = lud_cast_hidden_bytes(cast);
    uint8_t *states = calloc(N, model->layout.state_bytes), *hidden = calloc(N, hidden_bytes);
    uint32_t *tick = calloc(N, sizeof *tick);
    int32_t *actions = calloc(N * 4, sizeof *actions);
    lud_range range = {.seed = 3, .n = N, .tick = tick};
    model->world->reset(model, range, states);
    lud_cast_reset(cast, range, states, hidden);
    int count[3] = {0}, first[N];
    for (int e = 0; e < N; e++) {
        const uint8_t *own = hidden + (size_t)e * hidden_bytes;
        first[e] = lud_cast_goal(cast, own, 0);
        count[first[e]]++;
        assert_int_equal(lud_cast_goal(cast, own, 1), -1); /* robots want nothing */
        assert_int_equal(lud_cast_goals_reached(cast, own, 0), 0);
    }
    assert_int_equal(count[2], 0); /* weight 0 is never drawn, the others 3 to 1 */
    assert_in_range(count[0], N * 0.70, N * 0.80);
    /* agent 0 stands in goal 0: that goal is counted and drawn anew, the other one kept */
    lud_cast_act(cast, range, states, NULL, hidden, actions, NULL);
    int changed = 0;
    for (int e = 0; e < N; e++) {
        const uint8_t *own = hidden + (size_t)e * hidden_bytes;
        assert_int_equal(lud_cast_goals_reached(cast, own, 0), first[e] == 0);
        if (first[e] == 1) assert_int_equal(lud_cast_goal(cast, own, 0), 1);
        changed += lud_cast_goal(cast, own, 0) != first[e];
    }
    assert_in_range(changed, N * 0.13, N * 0.25);
    free(states);
    free(hidden);
    free(tick);
    free(actions);
    lud_cast_destroy(cast);
    model->world->free(model);
}

static void test_script(void **state) {
    (void)state;
    lud_model *model = make_model();
    char path[] = "/tmp/ludus-script-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char file_text[] = "actions: [[left, 0, forward, right], still]\n";
    assert_int_equal(write(fd, file_text, sizeof file_text - 1), sizeof file_text - 1);
    close(fd);
    char text[256];
    snprintf(text, sizeof text,
             "robot: {type: script, actions: [forward, left]}\n"
             "0: {type: script, actions: [left, right, 3], repeat: true}\n"
             "3: {type: script, file: %s}\n",
             path);
    lud_cast *cast = cast_from(model, text, NULL);
    assert_non_null(cast);
    uint8_t *at = grid_start(model), *hidden = calloc(1, lud_cast_hidden_bytes(cast));
    uint32_t tick = 0;
    lud_range range = {.n = 1, .tick = &tick};
    lud_cast_reset(cast, range, at, hidden);
    static const int robot[] = {3, 1, 0, 0, 0}, person[] = {1, 2, 3, 1, 2}, last[] = {2, 0, 0, 0, 0};
    for (int step = 0; step < 5; step++) {
        int32_t actions[4];
        lud_cast_act(cast, range, at, NULL, hidden, actions, NULL);
        assert_int_equal(actions[1], robot[step]);
        assert_int_equal(actions[0], person[step]);
        assert_int_equal(actions[3], last[step]);
    }
    lud_cast_reset(cast, range, at, hidden);
    int32_t actions[4];
    lud_cast_act(cast, range, at, NULL, hidden, actions, NULL);
    assert_int_equal(actions[1], 3); /* from the beginning */
    unlink(path);
    free(at);
    free(hidden);
    lud_cast_destroy(cast);
    model->world->free(model);
}

static void test_keyboard_takes_over(void **state) {
    (void)state;
    lud_model *model = make_model();
    lud_cast *cast = cast_from(model, "human: {type: script, actions: [left], repeat: true}", NULL);
    size_t hidden_bytes = lud_cast_hidden_bytes(cast);
    lud_policy *keyboard;
    assert_int_equal(lud_keyboard_create(model, &keyboard, NULL), LUD_OK);
    lud_cast_set(cast, 2, keyboard);
    assert_int_equal(lud_cast_hidden_bytes(cast), hidden_bytes);
    int32_t *actions = act_once(model, cast, 1, 0);
    assert_int_equal(actions[0], 1);
    assert_int_equal(actions[2], 0); /* still until told otherwise */
    free(actions);
    lud_keyboard_set(keyboard, 2, 3);
    actions = act_once(model, cast, 1, 0);
    assert_int_equal(actions[2], 3);
    free(actions);
    lud_keyboard_release(keyboard);
    actions = act_once(model, cast, 1, 0);
    assert_int_equal(actions[2], 0);
    free(actions);
    lud_cast_set(cast, 2, NULL); /* given back */
    actions = act_once(model, cast, 1, 0);
    assert_int_equal(actions[2], 1);
    free(actions);
    lud_cast_destroy(cast);
    model->world->free(model);
}

/* What says that it does not look at the clock does not; a script does. */
static void test_the_clock_is_ignored(void **state) {
    (void)state;
    static const char *const doors[] = {"#######", "#>.L.e#", "#k.#.V#", "#######"};
    static const struct {
        const char *text;
        bool ignores;
    } cases[] = {{"type: heuristic\n", true},
                 {"type: random\n", true},
                 {"type: script\nactions: [forward, left, right]\n", false}};
    static const lud_grid_goal goal = {
        .x1 = 5, .y1 = 2, .x2 = 5, .y2 = 2, .cell = true, .weight = 1, .agent = -1};
    lud_model *model = grid_create(doors, 4, LUD_ACTIONS_FULL, &goal, 1);
    const lud_clock *clock = &model->layout.clock;
    assert_true(clock->bytes > 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_arena *arena = lud_arena_create(0);
        lud_tree *tree;
        lud_policy *policy;
        lud_error error = {0};
        assert_int_equal(
            lud_tree_read_text(arena, "test.yaml", cases[i].text, strlen(cases[i].text), &tree, NULL),
            LUD_OK);
        if (lud_policy_create(model, tree, "test.yaml", &policy, &error)) fail_msg("%s", error.text);
        assert_true(policy->kind->ignores_clock == cases[i].ignores);
        uint8_t *at = grid_start(model), *later = calloc(1, model->layout.state_bytes);
        bool same = true;
        for (uint32_t step = 0; step < 60; step++) {
            double p[2][16];
            const uint32_t tick = step;
            memcpy(later, at, model->layout.state_bytes);
            later[clock->offset] = (uint8_t)(later[clock->offset] + 1 + step % 7);
            for (int agent = 0; agent < model->layout.n_agents; agent++) {
                const int goal_of = model->world->n_goals(model, agent) > 0 ? 0 : -1;
                assert_true(lud_policy_distribution(policy, at, agent, goal_of, p[0]));
                assert_true(lud_policy_distribution(policy, later, agent, goal_of, p[1]));
                same &= !memcmp(p[0], p[1], (size_t)model->layout.actions[agent].n_discrete * sizeof(double));
            }
            int32_t actions[3];
            for (int agent = 0; agent < 3; agent++)
                actions[agent] = (int32_t)lud_below(
                    lud_draw((lud_random_key){5, step}, 0, (uint32_t)agent, LUD_PURPOSE_USER, 0).v[0],
                    (uint32_t)model->layout.actions[agent].n_discrete);
            model->world->step(model, (lud_range){.seed = 5, .n = 1, .tick = &tick}, at,
                               (lud_actions){.discrete = actions}, (lud_outcome){0});
        }
        assert_true(same == cases[i].ignores);
        free(at);
        free(later);
        lud_policy_destroy(policy);
        lud_arena_destroy(arena);
    }
    model->world->free(model);
}

static void check_message(const lud_model *model, const char *text, const char *expected) {
    lud_error error = {0};
    lud_cast *cast = cast_from(model, text, &error);
    assert_null(cast);
    if (strcmp(error.text, expected) != 0) fail_msg("message: %s\nexpected: %s", error.text, expected);
}

static void test_messages(void **state) {
    (void)state;
    lud_model *model = make_model();
    check_message(
        model, "humans: random",
        "test.yaml:1:1: unknown key 'humans', expected human, robot, other or the number of an agent, below "
        "4; did you mean 'human'?");
    check_message(
        model, "4: random",
        "test.yaml:1:1: unknown key '4', expected human, robot, other or the number of an agent, below 4");
    check_message(model, "human: {beta: 3}",
                  "test.yaml:1:8: a policy needs a 'type', for example {type: random}");
    check_message(model, "[random]",
                  "test.yaml:1:1: policies: expected a mapping such as {human: {type: random}}");
    check_message(model, "human: {type: weighted, weights: {forwrad: 1}}",
                  "test.yaml:1:35: no agent has an action 'forwrad', did you mean 'forward'?");
    check_message(
        model, "human: {type: weighted, weights: 3}",
        "test.yaml:1:34: weights: expected a mapping from action to weight, such as {forward: 3, left: 1}");
    check_message(model, "human: script", "script: needs 'actions' or 'file'");
    check_message(model, "human: {type: script, actions: go}",
                  "test.yaml:1:32: actions: expected a list with one entry a step");
    check_message(model, "human: {type: script, actions: [[left, left]]}",
                  "test.yaml:1:33: expected an action for each of the 4 agents, found 2");
    check_message(model, "human: {type: script, actions: [left], file: x}",
                  "test.yaml:1:32: script: give 'actions' or 'file', not both");
    lud_error error = {0};
    assert_null(cast_from(model, "human: {type: controller}", &error));
    assert_string_equal(error.text,
                        "test.yaml:1:8: the policy controller is for the particle world, not for multigrid");
    assert_null(cast_from(model, "human: heuristc", &error));
    assert_non_null(strstr(error.text, "test.yaml:1:8:"));
    assert_non_null(strstr(error.text, "heuristic"));
    assert_null(cast_from(model, "human: {type: heuristic, bta: 3}", &error));
    assert_non_null(strstr(error.text, "beta"));
    model->world->free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_and_weighted),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_same_for_any_split),
        cmocka_unit_test(test_goals),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_keyboard_takes_over),
        cmocka_unit_test(test_the_clock_is_ignored),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
