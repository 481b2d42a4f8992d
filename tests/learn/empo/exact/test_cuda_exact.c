/* Exact EMPO on CUDA against the CPU: random games, shipped scenarios, habits, beliefs, given robots, chunks,
 * resuming, errors. Runs on a GPU where there is one, and in any case as `test_cuda_exact_emulated` on
 * tests/emulation. */
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

#include "cuda_device.h"
#include "learn/empo/evaluation/policy_estimate.h"
#include "learn/empo/exact/support_table_world.h"

static const lud_empo_theory usual = {.beta_h = 5,
                                      .gamma_h = 0.9,
                                      .rho_h = -1,
                                      .gamma_r = 0.95,
                                      .rho_r = -1,
                                      .beta_r = 4,
                                      .zeta = 2,
                                      .xi = 1,
                                      .eta = 1.1,
                                      .terminal_value = -1e-3};

/* Records agree within 1e-9 of each value's size. */
static void compare(const lud_empo_problem *problem, const double *a, const double *b, const char *what) {
    const uint64_t width = (uint64_t)problem->layout.record_doubles, n = problem->space->n_states * width;
    for (uint64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-9 * fmax(fabs(b[i]), 1e-12)))
            fail_msg("%s: state %lu, number %lu of its record: %.17g, on the CPU %.17g", what,
                     (unsigned long)(i / width), (unsigned long)(i % width), a[i], b[i]);
}

static double *records_of(const lud_empo_problem *problem) {
    double *records =
        calloc(problem->space->n_states * (size_t)problem->layout.record_doubles, sizeof *records);
    assert_non_null(records);
    return records;
}

static void solve(const lud_empo_problem *problem, const lud_empo_hooks *hooks, lud_device *device,
                  double *records) {
    lud_error error = {0};
    const lud_empo_run run = {
        .records = records, .hooks = hooks, .n_threads = 1, .first_level = INT32_MAX, .device = device};
    if (lud_empo_solve(problem, &run, &error)) fail_msg("%s", error.text);
}

static void solve_both(const lud_empo_problem *problem, const lud_empo_hooks *hooks, const char *what) {
    double *a = records_of(problem), *b = records_of(problem);
    solve(problem, hooks, cuda, a);
    solve(problem, hooks, NULL, b);
    compare(problem, a, b, what);
    free(a);
    free(b);
}

/* ---- random games with every option ---- */

/* Made-up distributions, different for every state. */
static void made_up(uint64_t a, int b, int n, double *to) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += to[i] = (double)(1 + (a * 7 + (uint64_t)(b * 5 + i * i)) % 4);
    for (int i = 0; i < n; i++) to[i] /= sum;
}
static void habit_hook(void *context, uint64_t index, const uint8_t *state, double *policies) {
    (void)state;
    const lud_empo_problem *p = context;
    for (int h = 0; h < p->layout.n_humans; h++)
        for (int g = p->layout.goal_begin[h]; g < p->layout.goal_begin[h + 1];
             g++, policies += p->layout.n_human_actions[h])
            made_up(index, h * 3 + g, p->layout.n_human_actions[h], policies);
}
static void belief_hook(void *context, const uint8_t *state, int human, int action, double *probability) {
    const lud_empo_problem *p = context;
    double sum = 0;
    for (int i = 0; i < p->layout.n_human_profiles; i++) {
        bool own = lud_empo_own_action(&p->layout, human, i) == action;
        sum += probability[i] = own ? (double)(1 + (state[0] + i * i + human) % 5) : 0;
    }
    for (int i = 0; i < p->layout.n_human_profiles; i++) probability[i] /= sum;
}
static void robot_hook(void *context, uint64_t index, const uint8_t *state, double *pi_r) {
    (void)state;
    const lud_empo_problem *p = context;
    made_up(index, 1, p->layout.n_robot_actions, pi_r);
}

static void random_games(void **state) {
    (void)state;
    if (!cuda) skip();
    lud_empo_theory plain = usual;
    for (int k = 0; k < 24; k++) {
        lud_error error = {0};
        const int humans = 1 + k % 3, robots = humans < 3 ? 1 + k / 3 % 2 : 1;
        table_model *model =
            table_world_random((uint64_t)(700 + k), humans, robots, humans + robots > 3 ? 2 : 3, 5, 9, k % 2);
        lud_statespace *space = NULL;
        lud_empo_problem *problem = NULL;
        const lud_statespace_options options = {.n_threads = 1};
        if (lud_statespace_build(&model->base, &options, &space, &error)) fail_msg("%s", error.text);
        lud_empo_theory theory = plain;
        if (k % 4 == 1) theory.beta_h = INFINITY;
        if (k % 5 == 2) theory.optimistic = true, theory.aggregate = LUD_EMPO_SUM;
        if (k % 4 == 2) theory.nu_h = 0.3;
        if (k % 6 == 3) theory.reward_weight = LUD_EMPO_ONE, theory.zeta = 1, theory.xi = 2.5, theory.eta = 1;
        if (k % 7 == 4) theory.beta_r = 0, theory.gamma_h = 1, theory.gamma_r = 1;
        if (lud_empo_problem_create(space, &theory, &problem, &error)) fail_msg("%s", error.text);
        const lud_empo_hooks hooks = {.habit = k % 4 >= 2 ? habit_hook : NULL,
                                      .belief = k % 3 == 1 ? belief_hook : NULL,
                                      .robot = k % 8 == 5 ? robot_hook : NULL,
                                      .context = problem};
        char what[32];
        snprintf(what, sizeof what, "game %d", k);
        solve_both(problem, k % 6 ? &hooks : NULL, what);
        lud_empo_problem_destroy(problem);
        lud_statespace_destroy(space);
        free(model);
    }
}

/* ---- shipped scenarios ---- */

static const struct {
    const char *file, *set[4];
} scenarios[] = {
    {"bridge_the_lava", {NULL}},
    {"fetch_the_key", {"learner.beta_h=.inf"}},
    {"keep_off_the_button", {NULL}},
    {"leave_the_key", {NULL}},
    {"one_rock_two_people", {NULL}},
    {"open_the_box", {"learner.optimistic=true"}},
    {"push_the_rock_aside", {"learner.nu_h=0.2", "learner.habit={type: heuristic}"}},
    {"steady_the_bridge", {NULL}},
    {"step_out_of_the_way", {"learner.belief={type: random}", "learner.gamma_h=0.9"}},
    {"trample_the_bush", {NULL}},
};

static void open_case(const char *file, const char *const *set, lud_scenario **scenario, lud_empo_case *c) {
    lud_error error = {0};
    char path[512];
    int n_set = 0;
    while (set && set[n_set]) n_set++;
    snprintf(path, sizeof path, "%s/scenarios/empo/%s.yaml", LUDUS_SOURCE_DIR, file);
    if (lud_scenario_load(path, set, n_set, scenario, &error)) fail_msg("%s", error.text);
    const lud_empo_solve_options options = {.n_threads = 1};
    if (lud_empo_case_open(*scenario, &options, c, &error)) fail_msg("%s: %s", file, error.text);
}

static void shipped_scenarios(void **state) {
    (void)state;
    if (!cuda) skip();
    enum { MOST_STATES = 6000 }; /* what a minute of emulation can bear */
    int solved = 0;
    for (size_t k = 0; k < sizeof scenarios / sizeof *scenarios; k++) {
        lud_scenario *scenario;
        lud_empo_case c;
        open_case(scenarios[k].file, scenarios[k].set, &scenario, &c);
        if (c.space->n_states <= MOST_STATES) {
            lud_empo_hooks hooks;
            lud_empo_policies_hook(&c.policies, &hooks);
            solve_both(c.problem, &hooks, scenarios[k].file);
            solved++;
        }
        lud_empo_case_close(&c);
        lud_scenario_destroy(scenario);
    }
    print_message("%d scenarios solved twice\n", solved);
    assert_true(solved >= 5);
}

/* ---- a solution file that was begun on one device and finished on the other ---- */

typedef struct stop {
    int at;
} stop;
static lud_status stop_at(void *context, int level, lud_error *error) {
    const stop *s = context;
    return level == s->at ? lud_fail(error, LUD_INTERRUPTED, "stopped") : LUD_OK;
}

static void resuming(void **state) {
    (void)state;
    if (!cuda) skip();
    for (int skips = 0; skips < 2; skips++) { /* levels that follow each other, and levels in any order */
        lud_error error = {0};
        table_model *model = table_world_random(41, 2, 1, 3, 6, 8, skips);
        lud_statespace *space = NULL;
        lud_empo_problem *problem = NULL;
        const lud_statespace_options options = {.n_threads = 1};
        if (lud_statespace_build(&model->base, &options, &space, &error)) fail_msg("%s", error.text);
        if (lud_empo_problem_create(space, &usual, &problem, &error)) fail_msg("%s", error.text);
        double *expected = records_of(problem), *records = records_of(problem);
        solve(problem, NULL, NULL, expected);
        for (int first_on_cuda = 0; first_on_cuda < 2; first_on_cuda++) {
            stop at = {2};
            lud_empo_run run = {.records = records,
                                .n_threads = 1,
                                .first_level = INT32_MAX,
                                .device = first_on_cuda ? cuda : NULL,
                                .level_done = stop_at,
                                .context = &at};
            assert_int_equal(lud_empo_solve(problem, &run, &error), LUD_INTERRUPTED);
            run.first_level = at.at;
            run.device = cuda;
            run.level_done = NULL;
            if (lud_empo_solve(problem, &run, &error)) fail_msg("%s", error.text);
            compare(problem, records, expected, "resumed");
        }
        free(expected);
        free(records);
        lud_empo_problem_destroy(problem);
        lud_statespace_destroy(space);
        free(model);
    }
}

/* ---- a person without power is the same error ---- */

static void no_power(void **state) {
    (void)state;
    if (!cuda) skip();
    lud_error error = {0}, expected = {0};
    table_model *model = table_world_random(5, 2, 1, 2, 4, 6, false);
    for (int g = 0; g < model->n_goals; g++)
        for (int s = 0; s < model->n_states; s++)
            model->achieved[s][1][g] = false; /* nothing is ever achieved */
    lud_statespace *space = NULL;
    lud_empo_problem *problem = NULL;
    const lud_statespace_options options = {.n_threads = 1};
    if (lud_statespace_build(&model->base, &options, &space, &error)) fail_msg("%s", error.text);
    if (lud_empo_problem_create(space, &usual, &problem, &error)) fail_msg("%s", error.text);
    double *records = records_of(problem);
    lud_empo_run run = {.records = records, .n_threads = 1, .first_level = INT32_MAX};
    const lud_status on_cpu = lud_empo_solve(problem, &run, &expected);
    assert_int_equal(on_cpu, LUD_ERROR_INPUT);
    run.device = cuda;
    assert_int_equal(lud_empo_solve(problem, &run, &error), on_cpu);
    assert_string_equal(error.text, expected.text);
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
    free(model);
}

/* ---- a device with little memory: smaller chunks, then the processors, then an error ---- */

static void *(*allocate)(lud_device *device, size_t bytes);
static size_t allowance;
static void *allocate_little(lud_device *device, size_t bytes) {
    return bytes > allowance ? NULL : allocate(device, bytes);
}

static void little_memory(void **state) {
    (void)state;
    if (!cuda) skip();
    lud_scenario *scenario;
    lud_empo_case c;
    open_case("step_out_of_the_way", NULL, &scenario, &c);
    double *expected = records_of(c.problem), *records = records_of(c.problem);
    solve(c.problem, NULL, NULL, expected);
    const lud_backend *whole = cuda->backend;
    lud_backend little = *whole;
    allocate = whole->allocate;
    little.allocate = allocate_little;
    cuda->backend = &little;
    lud_error error = {0};
    lud_empo_run run = {.records = records, .n_threads = 1, .first_level = INT32_MAX, .device = cuda};
    int in_chunks = 0, refused = 0;
    for (allowance = (size_t)1 << 24; allowance >= 1 << 8; allowance /= 2) {
        const lud_status status = lud_empo_solve(c.problem, &run, &error);
        if (status == LUD_OK) {
            assert_false(refused);
            in_chunks++;
            compare(c.problem, records, expected, "in chunks");
        } else {
            assert_int_equal(status, LUD_ERROR_MEMORY);
            assert_non_null(strstr(error.text, "has no memory for two levels"));
            refused++;
        }
    }
    assert_true(in_chunks > 3 && refused > 1);
    allowance = 1;
    run.device_may_fail = true;
    memset(records, 0, c.space->n_states * (size_t)c.problem->layout.record_doubles * sizeof *records);
    if (lud_empo_solve(c.problem, &run, &error)) fail_msg("%s", error.text);
    assert_memory_equal(records, expected,
                        c.space->n_states * (size_t)c.problem->layout.record_doubles * sizeof *records);
    cuda->backend = whole;
    free(expected);
    free(records);
    lud_empo_case_close(&c);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_games), cmocka_unit_test(shipped_scenarios),
                                       cmocka_unit_test(resuming), cmocka_unit_test(no_power),
                                       cmocka_unit_test(little_memory)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
