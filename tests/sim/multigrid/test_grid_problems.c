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
#include "sim/statespace/statespace.h"

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

/* A hall with a wall across, which the piece `gap` of the legend is in; the person wants to get past it. */
static lud_grid_edit *open_hall(const char *gap, const char *more) {
    char text[1024];
    snprintf(text, sizeof text,
             "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay g1 .. We\n"
             "    We We We We We\n  legend: {g1: %s}\n%sgoals: [{cell: [3, 1]}]\n",
             gap, more);
    return edit_open_text(text, 0);
}

/* A magic wall lets in who can enter such walls, while it is active and the chance is not zero; a closed door
 * opens to those who have an action for it. */
static void test_ways_through(void **state) {
    (void)state;
    static const char can[] = "  can_enter_magic_walls: [yellow]\n";
    static const struct {
        const char *gap, *more;
        bool opens;
    } cases[] = {{"{magic_wall: {side: west, entry: 1}}", can, true},
                 {"{magic_wall: {side: west, entry: 0.25}}", can, true},
                 {"{magic_wall: {side: west, entry: 0}}", can, false},
                 {"{magic_wall: {side: west, entry: 1, active: false}}", can, false},
                 {"{magic_wall: {side: west, entry: 1}}", "", false},
                 {"{door: {colour: red, state: closed}}", "  actions: full\n", true},
                 {"{door: {colour: red, state: closed}}", "  actions: small\n", false},
                 {"{door: {colour: red, state: open}}", "  actions: small\n", true},
                 {"bush", "", true},
                 {"lava", "", true},
                 {"wall", "", false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_grid_edit *edit = open_hall(cases[k].gap, cases[k].more);
        if (finds(edit, "agent 0 cannot reach goal 0") == cases[k].opens)
            fail_msg("%s%s", cases[k].gap, cases[k].more);
        lud_grid_edit_close(edit);
    }
    /* from where is not known where everybody starts at random */
    lud_grid_edit *edit = open_hall("wall", "  random_start: true\n");
    assert_false(finds(edit, "cannot reach"));
    lud_grid_edit_close(edit);
}

/* Doors want a key of their colour, each by itself; no more is told than there is room for. */
static void test_keys_of_other_colours(void **state) {
    (void)state;
    lud_grid_edit *edit =
        edit_open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n"
                       "    We Ay Kb d1 d2 We\n    We .. Kr d1 d2 We\n    We We We We We We\n"
                       "  legend:\n    Kb: {key: {colour: blue}}\n"
                       "    d1: {door: {colour: blue, state: locked}}\n"
                       "    d2: {door: {colour: green, state: locked}}\n",
                       0);
    assert_false(finds(edit, "no blue key"));
    assert_true(finds(edit, "no green key for the door at (4, 1)"));
    assert_true(finds(edit, "no green key for the door at (4, 2)"));
    lud_grid_problem problems[3] = {{.text = ""}, {.text = "as it was"}, {.text = "as it was"}};
    assert_int_equal(lud_grid_edit_check(edit, problems, 1, NULL), 1);
    assert_string_equal(problems[0].text, "no green key for the door at (4, 1)");
    for (int k = 1; k < 3; k++) assert_string_equal(problems[k].text, "as it was");
    lud_grid_edit_close(edit);
}

/* Goals of every human want one; those of somebody by number, and none at all, do not. */
static void test_goals_without_people(void **state) {
    (void)state;
    static const struct {
        const char *agent, *goals;
        bool wanting;
    } cases[] = {{"Ae", "goals: [{cell: [1, 1]}]\n", true},
                 {"Ay", "goals: [{cell: [1, 1]}]\n", false},
                 {"Ae", "goals: [{cell: [1, 1], agents: [0]}]\n", false},
                 {"Ae", "goals: [{cell: [1, 1], agents: [0]}, {cell: [2, 1]}]\n", true},
                 {"Ae", "goals: [{cell: [2, 1]}, {cell: [1, 1], agents: [0]}]\n", true},
                 {"Ae", "", false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We %s .. We\n"
                 "    We We We We\n%s",
                 cases[k].agent, cases[k].goals);
        lud_grid_edit *edit = edit_open_text(text, 0);
        assert_int_equal(finds(edit, "goals are for humans, and there are none"), cases[k].wanting);
        assert_false(finds(edit, "nobody acts"));
        lud_grid_edit_close(edit);
    }
}

/* Cells in no goal are counted and marked, the first of them is where the problem is; marks of before go. */
static void test_cells_in_no_goal(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit =
        edit_open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n"
                       "    We Ay .. .. We\n    We .. .. .. We\n    We We We We We\n"
                       "goals: [{rectangle: [1, 1, 2, 2]}]\n",
                       0);
    uint8_t marked[5 * 4];
    lud_grid_problem problems[4];
    memset(marked, 1, sizeof marked);
    lud_grid_edit_check(edit, problems, 4, marked);
    for (int c = 0; c < 5 * 4; c++) assert_int_equal(marked[c], 0);
    if (lud_grid_edit_set(edit, "goals_must_cover", "true", &error)) fail_msg("%s", error.text);
    memset(marked, 1, sizeof marked);
    assert_int_equal(lud_grid_edit_check(edit, problems, 4, marked), 1);
    assert_string_equal(problems[0].text, "2 cells are in no goal of agent 0 (goals_must_cover)");
    assert_true(problems[0].refused && problems[0].x == 3 && problems[0].y == 1);
    for (int c = 0; c < 5 * 4; c++) assert_int_equal(marked[c], c % 5 == 3 && (c / 5 == 1 || c / 5 == 2));
    lud_grid_edit_close(edit);
}

/* A world whose layers are larger than a sample, but which is small, is known to the last state. */
static void test_study_of_wide_layers(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We Ay .. .. .. We\n"
        "    We .. .. .. .. We\n    We .. .. .. Ae We\n    We We We We We We\n  max_steps: 12\n"
        "  actions: small\n",
        0);
    lud_grid_study study;
    if (lud_grid_study_model(lud_grid_edit_model(edit), &study, &error)) fail_msg("%s", error.text);
    lud_statespace *space;
    if (lud_statespace_build(lud_grid_edit_model(edit), &(lud_statespace_options){.n_threads = 1}, &space,
                             &error))
        fail_msg("%s", error.text);
    uint64_t widest = 0;
    for (int layer = 0; layer < space->n_layers; layer++) {
        const uint64_t n = space->layer_begin[layer + 1] - space->layer_begin[layer];
        widest = n > widest ? n : widest;
    }
    assert_true(widest > 2048 && space->n_states < LUD_GRID_STUDIED_STATES);
    assert_true(study.exact && study.reach_known && study.states == (double)space->n_states);
    lud_statespace_destroy(space);
    lud_grid_edit_close(edit);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_problems_of_who_is_walled_in),
                                       cmocka_unit_test(test_problems_of_rooms_apart),
                                       cmocka_unit_test(test_problems_of_an_empty_grid),
                                       cmocka_unit_test(test_problems),
                                       cmocka_unit_test(test_problems_of_keys_in_boxes),
                                       cmocka_unit_test(test_ways_through),
                                       cmocka_unit_test(test_keys_of_other_colours),
                                       cmocka_unit_test(test_goals_without_people),
                                       cmocka_unit_test(test_cells_in_no_goal),
                                       cmocka_unit_test(test_study_of_wide_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
