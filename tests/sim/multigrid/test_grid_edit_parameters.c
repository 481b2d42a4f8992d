/* Parameters in the editor: their steps and ranges, whose they are, and who may have a goal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/support_grid_edit.h"

static const lud_grid_pick world = {.kind = LUD_PICK_WORLD};

static lud_grid_parameter parameter_of(const lud_grid_edit *edit, lud_grid_pick pick, const char *name) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    lud_grid_edit_parameters(edit, pick, parameters);
    return parameters[edit_parameter(edit, pick, name)];
}

/* Chances are stepped by a twentieth, other real numbers by a half, whole ones by one. */
static void test_steps(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    static const struct {
        const char *name;
        double step, minimum, maximum;
        bool whole;
    } cases[] = {{"chances.stumble", 0.05, 0, 1, false},
                 {"rewards.step", 0.5, -1e6, 1e6, false},
                 {"max_steps", 1, 1, 65535, true},
                 {"observation.size", 1, 3, 31, true},
                 {"width", 1, 3, 255, true},
                 {"height", 1, 3, 255, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const lud_grid_parameter p = parameter_of(edit, world, cases[k].name);
        assert_true(p.step == cases[k].step);
        assert_true(p.minimum == cases[k].minimum && p.maximum == cases[k].maximum);
        assert_true(p.number && p.whole == cases[k].whole);
        /* the ends of the range can be typed, and what is beyond them cannot */
        double value;
        lud_error error = {0};
        char typed[32];
        for (int end = 0; end < 2; end++) {
            const double at = end ? p.maximum : p.minimum;
            snprintf(typed, sizeof typed, "%.17g", at);
            if (lud_grid_parameter_read(&p, typed, &value, &error)) fail_msg("%s", error.text);
            assert_true(value == at);
            snprintf(typed, sizeof typed, "%.17g", at + (end ? 1 : -1));
            assert_int_equal(lud_grid_parameter_read(&p, typed, &value, &error), LUD_ERROR_INPUT);
        }
        assert_int_equal(lud_grid_parameter_read(&p, "3.5", &value, &error) == LUD_ERROR_INPUT,
                         cases[k].whole || p.maximum < 3.5);
    }
    lud_grid_edit_close(edit);
}

/* A magic wall is turned through all its sides, and one from all sides. */
static void test_walls_turn(void **state) {
    (void)state;
    static const lud_grid_pick wall = {.kind = LUD_PICK_CELL, .x = 3, .y = 2};
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_flow, 0);
    const lud_grid_parameter side = parameter_of(edit, wall, "side");
    const int n = (int)side.maximum + 1;
    assert_true(side.turns && n == 5);
    for (int by = -2 * n; by <= 2 * n; by++) {
        const int before = (int)parameter_of(edit, wall, "side").value;
        if (lud_grid_edit_turn(edit, wall, by, &error)) fail_msg("%s", error.text);
        assert_int_equal((int)parameter_of(edit, wall, "side").value, ((before + by) % n + n) % n);
        assert_true(parameter_of(edit, wall, "entry").value == 0.25);
    }
    lud_grid_edit_close(edit);
}

/* Step by step a chance goes from 0 to 1, and is written as a person would. */
static void test_twentieths(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    const int number = edit_parameter(edit, world, "chances.stumble");
    if (lud_grid_edit_change_parameter(edit, world, number, 0, &error)) fail_msg("%s", error.text);
    for (int k = 1; k <= 20; k++) {
        const lud_grid_parameter p = parameter_of(edit, world, "chances.stumble");
        if (lud_grid_edit_change_parameter(edit, world, number, p.value + p.step, &error))
            fail_msg("%s", error.text);
        char shown[32];
        snprintf(shown, sizeof shown, "%g", k / 20.0);
        assert_string_equal(parameter_of(edit, world, "chances.stumble").shown, shown);
    }
    lud_grid_edit_close(edit);
}

/* There are as many parameters as are listed, and none takes a value that it cannot have. */
static void test_numbers_of_parameters(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const lud_grid_pick picks[] = {world,
                                   {.kind = LUD_PICK_GOAL},
                                   {.kind = LUD_PICK_CELL, .x = 6, .y = 2},
                                   {.kind = LUD_PICK_CELL, .x = 3, .y = 3}};
    for (size_t k = 0; k < sizeof picks / sizeof *picks; k++) {
        const int n = lud_grid_edit_parameters(edit, picks[k], parameters);
        assert_true(n > 0);
        for (int number = -1; number <= n; number += n + 1) {
            lud_error error = {0};
            assert_int_equal(lud_grid_edit_change_parameter(edit, picks[k], number, 1, &error),
                             LUD_ERROR_INPUT);
            assert_string_equal(error.text, "there is no such parameter");
        }
        for (int number = 0; number < n; number++)
            for (int end = 0; end < 2; end++) {
                const lud_grid_parameter *p = &parameters[number];
                const double value = end ? p->maximum + 0.5 : p->minimum - 0.5;
                lud_error error = {0};
                assert_int_equal(lud_grid_edit_type_parameter(edit, picks[k], number, value, &error),
                                 LUD_ERROR_INPUT);
                assert_non_null(strstr(error.text, "is out of range"));
            }
    }
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);
    lud_grid_edit_close(edit);
}

/* Below somebody lies what has parameters of its own. */
static void test_parameters_of_what_lies_below(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    const lud_grid_thing ground = edit_kind("unsteady ground", LUD_RED);
    if (lud_grid_edit_put(edit, 6, 2, &ground, &error)) fail_msg("%s", error.text);
    const lud_grid_pick top = {.kind = LUD_PICK_CELL, .x = 6, .y = 2},
                        below = {.kind = LUD_PICK_CELL, .x = 6, .y = 2, .layer = 1};
    assert_string_equal(parameter_of(edit, top, "facing").shown, "west");
    const int number = edit_parameter(edit, below, "stumble");
    if (lud_grid_edit_change_parameter(edit, below, number, 0.25, &error)) fail_msg("%s", error.text);
    assert_true(edit_thing_at(edit, 6, 2).under.stumble == 0.25);
    assert_int_equal(edit_thing_at(edit, 6, 2).agent.direction, LUD_WEST);
    edit_check_text(edit);
    lud_grid_edit_close(edit);
}

/* Who may have a goal: every human at first, then those who are chosen, and never nobody. */
static void test_who_may_have_a_goal(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit =
        edit_open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n"
                       "    We We We We We We\n    We Ay Ae Ay .. We\n    We We We We We We\n"
                       "goals:\n  - {cell: [4, 1], weight: 2}\n",
                       0);
    const lud_grid_pick goal = {.kind = LUD_PICK_GOAL};
    static const char *const agents[] = {"agent 0", "agent 1", "agent 2"};
    static const struct {
        int agent, to;
        bool have[3];
        const char *list; /* null: it is refused */
    } steps[] = {{0, 0, {false, false, true}, "agents: [2]}"},
                 {1, 1, {false, true, true}, "agents: [1, 2]}"},
                 {2, 0, {false, true, false}, "agents: [1]}"},
                 {1, 0, {false, true, false}, NULL},
                 {0, 1, {true, true, false}, "agents: [0, 1]}"}};
    for (int i = 0; i < 3; i++) {
        const lud_grid_parameter p = parameter_of(edit, goal, agents[i]);
        assert_true(p.value == (i != 1));
        assert_string_equal(p.shown, i != 1 ? "may have it" : "no");
    }
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        const int number = edit_parameter(edit, goal, agents[steps[k].agent]);
        const lud_status status = lud_grid_edit_change_parameter(edit, goal, number, steps[k].to, &error);
        assert_int_equal(status, steps[k].list ? LUD_OK : LUD_ERROR_INPUT);
        if (steps[k].list)
            edit_expect(edit, steps[k].list);
        else
            assert_string_equal(error.text, "somebody must have the goal; Delete removes it");
        for (int i = 0; i < 3; i++)
            assert_true(parameter_of(edit, goal, agents[i]).value == steps[k].have[i]);
    }
    lud_grid_edit_close(edit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_walls_turn),
        cmocka_unit_test(test_twentieths),
        cmocka_unit_test(test_numbers_of_parameters),
        cmocka_unit_test(test_parameters_of_what_lies_below),
        cmocka_unit_test(test_who_may_have_a_goal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
