/* Agents in the editor: as many as can be, codes that say what they are, and all that is said of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/support_grid_edit.h"

/* A hall of 8 x 9 cells, the first 64 of them with somebody, of whom the list says something each. */
static lud_grid_edit *open_crowd(void) {
    lud_text text = {0};
    lud_text_append(&text, "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n");
    for (int y = 0; y < 11; y++) {
        lud_text_append(&text, "   ");
        for (int x = 0; x < 10; x++)
            lud_text_append(&text, x == 0 || x == 9 || y == 0 || y == 10 ? " We" : y <= 8 ? " Ay" : " ..");
        lud_text_append(&text, "\n");
    }
    lud_text_append(&text, "  agents:\n");
    for (int i = 0; i < LUD_GRID_MAX_AGENTS; i++) lud_text_append(&text, "    - {facing: west}\n");
    lud_text_append(&text, "goals:\n  - {cell: [8, 9], agents: [63]}\n");
    lud_grid_edit *edit = edit_open_text(text.bytes, 0);
    lud_text_free(&text);
    return edit;
}

/* The last of as many as can be is as good as the first; one more is not. */
static void test_as_many_as_can_be(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_crowd();
    const lud_grid_pick last = {.kind = LUD_PICK_CELL, .x = 8, .y = 8};
    assert_int_equal(lud_grid_edit_get(edit)->agent[8 * 10 + 8], LUD_GRID_MAX_AGENTS - 1);
    assert_true(lud_grid_edit_get(edit)->goals[0].agents == UINT64_C(1) << (LUD_GRID_MAX_AGENTS - 1));
    if (lud_grid_edit_turn(edit, last, 1, &error)) fail_msg("%s", error.text);
    assert_int_equal(edit_thing_at(edit, 8, 8).agent.direction, LUD_NORTH);
    edit_expect(edit, "    - {facing: west}\n    - {facing: north}\ngoals:");
    lud_grid_thing person;
    lud_text name = {0};
    bool found = false;
    for (int i = 0; !found && lud_grid_edit_brush(edit, i, &person, &name); i++) found = person.is_agent;
    lud_text_free(&name);
    assert_int_equal(lud_grid_edit_put(edit, 1, 9, &person, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "at most 64 agents can be in a map");
    assert_false(edit_thing_at(edit, 1, 9).is_agent);
    lud_grid_edit_close(edit);
}

/* Who goes takes along what the list says of it: the last, one before it, and all. */
static void test_entries_go_with_their_agents(void **state) {
    (void)state;
    static const char text[] = "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n"
                               "    We Ay Ay We\n    We We We We\n  max_steps: 9\n  agents:\n"
                               "    - {facing: south}   # the first\n    - {facing: north}   # the second\n";
    static const struct {
        int cells[2], n;
        const char *left;
    } cases[] = {{{2}, 1, "  agents:\n    - {facing: south}   # the first\n"},
                 {{1}, 1, "  agents:\n    - {facing: north}   # the second\n"},
                 {{1, 2}, 2, "  max_steps: 9\n"},
                 {{2, 1}, 2, "  max_steps: 9\n"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_grid_edit *edit = edit_open_text(text, 0);
        for (int i = 0; i < cases[k].n; i++) {
            lud_error error = {0};
            const lud_grid_pick agent = {.kind = LUD_PICK_CELL, .x = cases[k].cells[i], .y = 1};
            if (lud_grid_edit_remove(edit, agent, &error)) fail_msg("%s", error.text);
        }
        edit_expect(edit, cases[k].left);
        assert_int_equal(edit_count(lud_grid_edit_text(edit), "facing"), 2 - cases[k].n);
        lud_grid_edit_close(edit);
    }
}

/* A code of the legend that says more of an agent than its colour stays with who has it, wherever that goes,
 * and nobody else of the colour comes to have it. */
static void test_codes_that_say_what_an_agent_is(void **state) {
    (void)state;
    static const char *const said[] = {"role: robot", "can_push_rocks: true", "can_enter_magic_walls: true",
                                       "facing: south"};
    for (size_t k = 0; k < sizeof said / sizeof *said; k++) {
        lud_text text = {0};
        lud_error error = {0};
        lud_text_append(&text,
                        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We A1 Ay We\n"
                        "    We .. .. We\n    We We We We\n  legend:\n    A1: {agent: {colour: brown, %s}}\n",
                        said[k]);
        lud_grid_edit *edit = edit_open_text(text.bytes, 0);
        const lud_grid_pick other = {.kind = LUD_PICK_CELL, .x = 2, .y = 1};
        const int number = edit_parameter(edit, other, "colour");
        if (lud_grid_edit_change_parameter(edit, other, number, LUD_BROWN, &error))
            fail_msg("%s", error.text);
        edit_expect(edit, "We A1 1a We\n");
        edit_expect(edit, "\n    1a: {agent: {colour: brown}}\n");
        lud_grid_pick own = {.kind = LUD_PICK_CELL, .x = 1, .y = 1};
        if (lud_grid_edit_move(edit, &own, 1, 2, &error)) fail_msg("%s", error.text);
        edit_expect(edit, "We .. 1a We\n    We A1 .. We\n");
        assert_int_equal(edit_count(lud_grid_edit_text(edit), "{agent: "), 2);
        lud_grid_edit_close(edit);
        lud_text_free(&text);
    }
}

/* Whatever somebody is to be, whose colour the list says, the list comes to say it. */
static void test_whatever_an_agent_is_to_be(void **state) {
    (void)state;
    static const char text[] =
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We\n    We Ay We\n"
        "    We We We\n  can_push_rocks: [grey, blue]\n"
        "  can_enter_magic_walls: [yellow, grey]\n"
        "  roles: {yellow: human, grey: robot, blue: human}\n"
        "  agents:\n    - {colour: blue}   # she\n";
    for (int colour = 0; colour < LUD_COLOURS; colour++)
        for (int more = 0; more < 12; more++) {
            lud_grid_edit *edit = edit_open_text(text, 0);
            lud_grid_edit_world wanted;
            lud_error error = {0};
            assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted));
            lud_grid_agent *agent = &wanted.things[1 * 3 + 1].agent;
            agent->colour = (lud_colour)colour;
            agent->can_push_rocks = more & 1;
            agent->can_enter_magic_walls = more >> 1 & 1;
            agent->role = (lud_role)(more / 4);
            if (lud_grid_edit_apply(edit, &wanted, "change", &error)) fail_msg("%s", error.text);
            const lud_grid_thing now = edit_thing_at(edit, 1, 1);
            assert_true(lud_grid_edit_same(&now, &wanted.things[1 * 3 + 1]));
            edit_expect(edit, "# she");
            lud_grid_edit_world_free(&wanted);
            lud_grid_edit_close(edit);
        }
}

/* An empty box that no code means stands in the legend as one. */
static void test_boxes_without_a_code(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    lud_error error = {0};
    lud_grid_thing box = edit_kind("box", LUD_BROWN);
    if (lud_grid_edit_put(edit, 2, 1, &box, &error)) fail_msg("%s", error.text);
    edit_expect(edit, "    1a: {box: {colour: brown}}\n");
    box.object.content_type = LUD_BALL;
    box.object.content_colour = LUD_BLUE;
    if (lud_grid_edit_put(edit, 2, 2, &box, &error)) fail_msg("%s", error.text);
    edit_expect(edit, "    1b: {box: {colour: brown, contains: {ball: {colour: blue}}}}\n");
    lud_grid_edit_close(edit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_can_be),
        cmocka_unit_test(test_entries_go_with_their_agents),
        cmocka_unit_test(test_codes_that_say_what_an_agent_is),
        cmocka_unit_test(test_whatever_an_agent_is_to_be),
        cmocka_unit_test(test_boxes_without_a_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
