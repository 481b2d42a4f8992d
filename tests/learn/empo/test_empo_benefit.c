/* What people have of robots, against an expectation over all successors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/equations.h"
#include "learn/empo/evaluation/benefit.h"
#include "learn/empo/evaluation/robots.h"

/* Somebody behind a robot that stands in a corridor, on ground where one stumbles; there is room for the
 * robot further on. */
static const char world[] = "ludus: 1\n"
                            "name: corridor\n"
                            "world: multigrid\n"
                            "multigrid:\n"
                            "  map: |\n"
                            "    We We We We We We We\n"
                            "    We Ay Un .. Ae .. We\n"
                            "    We We We We We .. We\n"
                            "    We We We We We We We\n"
                            "  max_steps: 10\n"
                            "  actions: small\n"
                            "goals:\n"
                            "  - {cell: [1, 1]}\n"
                            "  - {cell: [3, 1], weight: 0.5}\n"
                            "  - {rectangle: [4, 1, 5, 1], weight: 2}\n"
                            "policies: {human: {type: heuristic, beta: 4000}}\n"
                            "run: {seed: 3, environments: 4}\n";

static const lud_empo_theory theory = {
    .beta_h = 10, .gamma_h = 0.9, .rho_h = -1, .gamma_r = 1, .rho_r = -1, .zeta = 2, .xi = 1, .eta = 1};

static lud_scenario *open_scenario(void) {
    lud_scenario *scenario;
    lud_error error = {0};
    if (lud_scenario_read("test.yaml", world, strlen(world), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return scenario;
}

static lud_empo_layout layout_of(const lud_scenario *scenario) {
    lud_empo_layout layout;
    lud_error error = {0};
    assert_int_equal(lud_empo_layout_find(scenario->model, &layout, &error), LUD_OK);
    return layout;
}

/* Equation (6) by walking through everything that can happen: the person pursues the goal, the robot does
 * nothing. */
static double v_h_e(const lud_model *model, lud_policy *person, const uint8_t *state, int goal) {
    double p[16], sum = 0;
    uint8_t next[256];
    if (model->world->is_terminal(model, state)) return 0;
    assert_true(lud_policy_distribution(person, state, 0, goal, p));
    for (int a = 0; a < model->layout.actions[0].n_discrete; a++) {
        if (p[a] < 1e-9) continue;
        lud_successors found = {0};
        lud_error error = {0};
        const int32_t joint[2] = {a, model->layout.idle[1]};
        assert_int_equal(model->world->successors(model, state, joint, &found, &error), LUD_OK);
        for (size_t i = 0; i < found.n; i++) {
            assert_true(model->layout.state_bytes <= sizeof next);
            memcpy(next, found.states + i * model->layout.state_bytes, model->layout.state_bytes);
            sum += p[a] * found.probability[i] *
                   (model->world->achieved(model, next, 0, goal)
                        ? 1
                        : theory.gamma_h * v_h_e(model, person, next, goal));
        }
        lud_successors_free(&found);
    }
    return sum;
}

static double power(const lud_model *model, lud_policy *person, const uint8_t *state) {
    double sum = 0;
    for (int g = 0; g < 3; g++) {
        const double v = v_h_e(model, person, state, g);
        sum += model->world->goal_weight(model, 0, g) * v * v;
    }
    return sum;
}

/* What is measured, by robots that follow `text`. */
static lud_empo_benefit measure(const lud_scenario *scenario, const char *text, int rollouts) {
    const lud_empo_layout layout = layout_of(scenario);
    const lud_empo_benefit_options options = {.episodes = 400, .rollouts = rollouts};
    lud_cast *cast;
    lud_empo_benefit b;
    lud_error error = {0};
    if (lud_empo_robots_cast(text, scenario, &layout, &cast, &error)) fail_msg("%s", error.text);
    if (lud_empo_benefit_measure(scenario, cast, &theory, &options, NULL, &b, &error))
        fail_msg("%s", error.text);
    lud_cast_destroy(cast);
    assert_int_equal(b.episodes, options.episodes);
    return b;
}

static void assert_near(const lud_mean *mean, double expected) {
    if (!(fabs(mean->mean - expected) <= 2 * lud_empo_benefit_interval(mean) + 1e-9))
        fail_msg("measured %.5f +- %.5f, expected %.5f", mean->mean, lud_empo_benefit_interval(mean),
                 expected);
}

/* Power where episodes begin, also from few rollouts, whose halves are needed then. Who is shut in stays so.
 */
static void power_is_that_of_the_equations(void **state) {
    (void)state;
    lud_scenario *scenario = open_scenario();
    const lud_model *model = scenario->model;
    const lud_empo_layout layout = layout_of(scenario);
    lud_cast *cast;
    lud_error error = {0};
    uint8_t first[256];
    const uint32_t tick = 0;
    assert_int_equal(
        lud_empo_robots_cast("{type: script, actions: [still]}", scenario, &layout, &cast, &error), LUD_OK);
    lud_policy *person = lud_cast_get(cast, 0);
    model->world->reset(model, (lud_range){3, 0, 1, &tick}, first);
    const double expected = power(model, person, first);
    for (int rollouts = 2; rollouts <= 16; rollouts += 14) {
        lud_empo_benefit b = measure(scenario, "{type: script, actions: [still]}", rollouts);
        assert_true(b.begin[0].n == 400 && b.end[0].n == 400);
        assert_near(&b.begin[0], expected);
        assert_true(lud_empo_benefit_interval(&b.begin[0]) > 0);
        assert_true(b.end[0].mean < 0.45);
        lud_empo_benefit_free(&b);
    }
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
}

/* Goals that are reached, and power, where the robot leaves the way. */
static void helpful_robots_are_told_from_others(void **state) {
    (void)state;
    lud_scenario *scenario = open_scenario();
    static const char leaves[] =
        "{type: script, actions: [forward, right, forward, still, still, still, still]}";
    lud_empo_benefit idle = measure(scenario, "{type: script, actions: [still]}", 4),
                     helps = measure(scenario, leaves, 4);
    assert_near(&helps.begin[0], idle.begin[0].mean);
    assert_true(helps.end[0].mean > idle.end[0].mean + 0.3);
    assert_true(helps.goals[0].mean > idle.goals[0].mean + 0.1);
    assert_true(idle.ended == 0);
    lud_empo_benefit_free(&idle);
    lud_empo_benefit_free(&helps);
    lud_scenario_destroy(scenario);
}

/* Episodes that a rule ends, and not the clock: of people on their way past the thing that ends them. */
static void ended_episodes_are_counted(void **state) {
    (void)state;
    lud_text text = {0};
    lud_scenario *scenario;
    lud_error error = {0};
    const char *ground = strstr(world, "Un"), *actions = strstr(world, "  actions:");
    lud_text_append(&text, "%.*sGg%.*s  rewards: {goal: 1, goal_ends: true}\n%s", (int)(ground - world),
                    world, (int)(actions - ground - 2), ground + 2, actions);
    if (lud_scenario_read("test.yaml", text.bytes, text.length, NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    lud_empo_benefit b = measure(scenario, "{type: script, actions: [still]}", 2);
    assert_in_range(b.ended, 200,
                    400); /* five of seven goals lie behind it, and people seldom stay at the other */
    lud_empo_benefit_free(&b);
    lud_scenario_destroy(scenario);
    lud_text_free(&text);
}

/* Whoever cannot act in a state alone is refused by name. */
static void who_remembers_is_refused(void **state) {
    (void)state;
    lud_scenario *scenario = open_scenario();
    const lud_empo_layout layout = layout_of(scenario);
    const lud_empo_benefit_options options = {.episodes = 2, .rollouts = 2};
    lud_cast *cast;
    lud_policy *script;
    lud_empo_benefit b;
    lud_error error = {0};
    lud_tree *tree;
    lud_arena *arena = lud_arena_create(0);
    static const char text[] = "{type: script, actions: [still]}";
    assert_int_equal(lud_empo_robots_cast("random", scenario, &layout, &cast, &error), LUD_OK);
    assert_int_equal(lud_tree_read_text(arena, "test", text, strlen(text), &tree, &error), LUD_OK);
    assert_int_equal(lud_policy_create(scenario->model, tree, "test", &script, &error), LUD_OK);
    assert_true(script->hidden_bytes > 0);
    lud_cast_set(cast, 0, script);
    assert_int_equal(lud_empo_benefit_measure(scenario, cast, &theory, &options, NULL, &b, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "'script'"));
    lud_empo_benefit_free(&b);
    lud_cast_destroy(cast);
    lud_arena_destroy(arena);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_is_that_of_the_equations),
        cmocka_unit_test(helpful_robots_are_told_from_others),
        cmocka_unit_test(ended_episodes_are_counted),
        cmocka_unit_test(who_remembers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
