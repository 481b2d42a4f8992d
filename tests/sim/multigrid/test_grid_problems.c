/* What the editor finds wrong with a grid: goals out of reach or missing, keys that are nowhere, nobody who
 * acts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/edit/grid_edit_check.h"
#include "sim/multigrid/support_grid_edit.h"

static bool finds(const lud_grid_edit *edit, const char *part) {
    lud_grid_problem problems[32];
    const int n = lud_grid_edit_check(edit, problems, 32, NULL);
    for (int k = 0; k < n; k++)
        if (strstr(problems[k].text, part)) return true;
    return false;
}

/* Who is walled in still is where she is. */
static void test_problems_of_who_is_walled_in(void **state) {
    (void)state;
    static const char walled[] = "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n"
                                 "    We Ay We .. We\n    We We We We We\n"
                                 "goals: [{cell: [1, 1]}, {cell: [3, 1]}]\n";
    lud_grid_edit *edit = edit_open_text(walled, 0);
    assert_false(finds(edit, "cannot reach goal 0"));
    assert_true(finds(edit, "cannot reach goal 1"));
    lud_error error = {0};
    if (lud_grid_edit_set(edit, "goals_must_cover", "true", &error)) fail_msg("%s", error.text);
    assert_false(finds(edit, "of agent 0 (goals_must_cover)")); /* both cells are goals */
    assert_int_equal(lud_grid_edit_remove(edit, (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = 1}, &error),
                     LUD_OK);
    assert_true(finds(edit, "1 cell is in no goal of agent 0 (goals_must_cover)"));
    lud_grid_edit_close(edit);
}

/* Where one may go says nothing of where another may, whoever has the larger room. */
static void test_problems_of_rooms_apart(void **state) {
    (void)state;
    static const char *const rows[] = {"    We Ay We Ay .. .. We\n    We We We .. .. .. We\n",
                                       "    We Ay .. .. We Ay We\n    We .. .. .. We We We\n"};
    for (int k = 0; k < 2; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We We\n%s"
                 "    We We We We We We We\n"
                 "goals: [{cell: [5, 1], agents: [0]}, {cell: [1, 1], agents: [1]}]\n",
                 rows[k]);
        lud_grid_edit *edit = edit_open_text(text, 0);
        assert_true(finds(edit, "agent 0 cannot reach goal 0"));
        assert_true(finds(edit, "agent 1 cannot reach goal 1"));
        lud_grid_edit_close(edit);
    }
}

static void test_problems_of_an_empty_grid(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We "
                                         "We\n    We .. .. We\n    We We We We\n",
                                         0);
    lud_grid_problem problems[4];
    assert_int_equal(lud_grid_edit_check(edit, problems, 4, NULL), 1);
    assert_string_equal(problems[0].text, "nobody acts: place an agent");
    lud_grid_edit_close(edit);
}

static void test_problems(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    assert_false(finds(edit, "reach"));
    lud_grid_pick key = {.kind = LUD_PICK_CELL, .x = 3, .y = 3};
    assert_int_equal(lud_grid_edit_remove(edit, key, &error), LUD_OK);
    assert_true(finds(edit, "no yellow key for the door at (4, 3)"));
    assert_true(finds(edit, "agent 1 cannot reach goal 0"));
    assert_false(finds(edit, "cannot reach goal 1"));
    lud_grid_study study;
    if (lud_grid_study_model(lud_grid_edit_model(edit), &study, &error)) fail_msg("%s", error.text);
    lud_grid_edit_undo(edit, &error);
    if (lud_grid_edit_set(edit, "goals_must_cover", "true", &error)) fail_msg("%s", error.text);
    uint8_t marked[9 * 6];
    lud_grid_problem problems[8];
    assert_true(lud_grid_edit_check(edit, problems, 8, marked) > 0);
    assert_true(problems[0].refused);
    assert_int_equal(marked[1 * 9 + 1], 0); /* in goal 0 */
    assert_int_equal(marked[2 * 9 + 6], 1);
    lud_grid_edit_close(edit);

    /* a small world is known state by state: with one step nobody comes far */
    edit = edit_open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay .. .. We\n"
        "    We We We We We\n  max_steps: 1\n  actions: minimal\ngoals:\n  - {cell: [3, 1]}\n"
        "  - {cell: [2, 1]}\n",
        0);
    if (lud_grid_study_model(lud_grid_edit_model(edit), &study, &error)) fail_msg("%s", error.text);
    assert_true(study.exact && study.reach_known);
    assert_true(study.states == 3); /* the start, one forward, one turned */
    assert_int_equal(study.n_out_of_reach, 1);
    assert_int_equal(study.out_of_reach[0].goal, 0);
    lud_grid_edit_close(edit);

    /* the first sixteen of more goals than are listed */
    enum { GOALS = LUD_GRID_OUT_OF_REACH + 4 };
    lud_text text = {0};
    lud_text_append(&text, "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n");
    for (int row = 0; row < 3; row++) {
        lud_text_append(&text, "    We%s", row == 1 ? " Ay" : " We");
        for (int k = 0; k < GOALS + 1; k++) lud_text_append(&text, row == 1 ? " .." : " We");
        lud_text_append(&text, " We\n");
    }
    lud_text_append(&text, "  max_steps: 1\n  actions: minimal\ngoals:\n  - {cell: [1, 1]}\n");
    for (int k = 0; k < GOALS; k++) lud_text_append(&text, "  - {cell: [%d, 1]}\n", 3 + k);
    edit = edit_open_text(text.bytes, 0);
    if (lud_grid_study_model(lud_grid_edit_model(edit), &study, &error)) fail_msg("%s", error.text);
    assert_int_equal(study.n_out_of_reach, LUD_GRID_OUT_OF_REACH);
    for (int k = 0; k < LUD_GRID_OUT_OF_REACH; k++) assert_int_equal(study.out_of_reach[k].goal, 1 + k);
    lud_grid_edit_close(edit);
    lud_text_free(&text);
}

/* A key in a box opens its door; a key of another colour, or another thing of the same, does not. */
static void test_problems_of_keys_in_boxes(void **state) {
    (void)state;
    static const struct {
        const char *content;
        bool opens;
    } cases[] = {{"{key: {colour: purple}}", true},
                 {"{key: {colour: blue}}", false},
                 {"{ball: {colour: purple}}", false}};
    for (int k = 0; k < 3; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: box\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n"
                 "    We Ay b1 d1 .. We\n    We We We We We We\n  legend:\n    b1: {box: {colour: red, "
                 "contains: %s}}\n"
                 "    d1: {door: {colour: purple, state: locked}}\ngoals: [{cell: [4, 1]}]\n",
                 cases[k].content);
        lud_grid_edit *edit = edit_open_text(text, 0);
        assert_int_equal(finds(edit, "no purple key for the door at (3, 1)"), !cases[k].opens);
        assert_int_equal(finds(edit, "cannot reach goal 0"), !cases[k].opens);
        lud_grid_edit_close(edit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_problems_of_who_is_walled_in), cmocka_unit_test(test_problems_of_rooms_apart),
        cmocka_unit_test(test_problems_of_an_empty_grid), cmocka_unit_test(test_problems),
        cmocka_unit_test(test_problems_of_keys_in_boxes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
