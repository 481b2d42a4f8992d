/* Ways of editing that are rare: agents of another colour, goals of another kind, what lies below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/support_grid_edit.h"

/* A person, a robot, and a robot that is said to be one and to push nothing. */
static const char team[] =
    "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay Ae Ab We\n"
    "    We .. .. .. We\n    We We We We We\n  can_push_rocks: [grey, blue]\n"
    "  can_enter_magic_walls: [yellow]\n"
    "  roles: {yellow: human, grey: robot, blue: human}\n  agents:\n    - {}\n    - {}\n"
    "    - {role: robot, can_push_rocks: false}   # the third\n";

static void recolour(lud_grid_edit *edit, int x, lud_colour colour) {
    lud_error error = {0};
    const lud_grid_pick agent = {.kind = LUD_PICK_CELL, .x = x, .y = 1};
    if (lud_grid_edit_change_parameter(edit, agent, edit_parameter(edit, agent, "colour"), colour, &error))
        fail_msg("%s", error.text);
}

/* An agent of another colour is what agents of that colour are, but for what is said of itself alone. */
static void test_agents_of_another_colour(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(team, 0);
    recolour(edit, 1, LUD_GREY); /* the person */
    lud_grid_agent agent = edit_thing_at(edit, 1, 1).agent;
    assert_int_equal(agent.colour, LUD_GREY);
    assert_int_equal(agent.role, LUD_ROLE_ROBOT);
    assert_true(agent.can_push_rocks);
    assert_false(agent.can_enter_magic_walls);
    edit_expect(edit, "We Ae Ae Ab We");
    assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
    assert_string_equal(lud_grid_edit_text(edit), team);

    recolour(edit, 2, LUD_YELLOW);
    agent = edit_thing_at(edit, 2, 1).agent;
    assert_int_equal(agent.role, LUD_ROLE_HUMAN);
    assert_false(agent.can_push_rocks);
    assert_true(agent.can_enter_magic_walls);
    lud_grid_edit_undo(edit, &error);

    recolour(edit, 3, LUD_YELLOW); /* a robot among people stays one, and pushes nothing, as it did not */
    agent = edit_thing_at(edit, 3, 1).agent;
    assert_int_equal(agent.colour, LUD_YELLOW);
    assert_int_equal(agent.role, LUD_ROLE_ROBOT);
    assert_false(agent.can_push_rocks);
    assert_true(agent.can_enter_magic_walls);
    edit_expect(edit, "# the third");
    lud_grid_edit_undo(edit, &error);

    recolour(edit, 3, LUD_GREY); /* nor among those who push */
    assert_false(edit_thing_at(edit, 3, 1).agent.can_push_rocks);
    edit_expect(edit, "can_push_rocks: false}   # the third");
    lud_grid_edit_undo(edit, &error);

    recolour(edit, 1, LUD_BROWN); /* for which maps have no letter */
    assert_int_equal(edit_thing_at(edit, 1, 1).agent.colour, LUD_BROWN);
    assert_int_equal(lud_grid_edit_get(edit)->agent[1 * 5 + 1], 0);
    edit_expect(edit, "brown");
    lud_grid_edit_close(edit);
}

/* Switches of agents and things are what they are set to. */
static void test_switches(void **state) {
    (void)state;
    lud_error error = {0};
    static const char machine[] = "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n"
                                  "    We Ay Ki We\n    We We We We\n";
    lud_grid_edit *edit = edit_open_text(machine, 0);
    const lud_grid_pick agent = {.kind = LUD_PICK_CELL, .x = 1, .y = 1},
                        button = {.kind = LUD_PICK_CELL, .x = 2, .y = 1};
    static const struct {
        const char *name;
        bool of_agent;
    } switches[] = {{"can_push_rocks", true}, {"can_enter_magic_walls", true}, {"enabled", false}};
    for (size_t k = 0; k < sizeof switches / sizeof *switches; k++)
        for (int on = 1; on >= 0; on--) {
            const lud_grid_pick pick = switches[k].of_agent ? agent : button;
            const int number = edit_parameter(edit, pick, switches[k].name);
            if (lud_grid_edit_change_parameter(edit, pick, number, on, &error)) fail_msg("%s", error.text);
            lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
            lud_grid_edit_parameters(edit, pick, parameters);
            assert_true(parameters[number].value == on);
            assert_string_equal(parameters[number].shown, on ? "true" : "false");
            edit_check_text(edit);
        }
    assert_false(edit_thing_at(edit, 1, 1).agent.can_push_rocks);
    assert_false(edit_thing_at(edit, 2, 1).object.enabled);
    lud_grid_edit_close(edit);
}

/* A document in braces without a list of agents comes to have one. */
static void test_list_of_agents_in_braces(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(
        "{ludus: 1, world: multigrid, multigrid: {map: [We We We, We Ay We, We We We], max_steps: 9}}\n", 0);
    const lud_grid_pick agent = {.kind = LUD_PICK_CELL, .x = 1, .y = 1};
    const lud_direction before = edit_thing_at(edit, 1, 1).agent.direction;
    assert_int_equal(lud_grid_edit_turn(edit, agent, 2, &error), LUD_OK);
    assert_int_equal(edit_thing_at(edit, 1, 1).agent.direction, (before + 2) % 4);
    edit_expect(edit, "We We We], agents: [{facing: ");
    edit_expect(edit, "}], max_steps: 9}}\n");
    lud_grid_edit_close(edit);
}

static void change_goal(lud_grid_edit *edit, int number, lud_grid_edit_goal goal) {
    lud_grid_edit_world wanted;
    lud_error error = {0};
    assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted));
    lud_grid_edit_goal *is = &wanted.goals[number];
    is->x1 = goal.x1, is->y1 = goal.y1, is->x2 = goal.x2, is->y2 = goal.y2, is->cell = goal.cell;
    if (lud_grid_edit_apply(edit, &wanted, "change", &error)) fail_msg("%s", error.text);
    lud_grid_edit_world_free(&wanted);
}

/* Weight, agents and comments of a goal stay with it. */
static void test_goals_of_another_kind(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    change_goal(edit, 0, (lud_grid_edit_goal){.x1 = 2, .y1 = 3, .x2 = 2, .y2 = 3, .cell = true});
    edit_expect(edit, "  - {cell: [2, 3], weight: 2}   # left\n");
    change_goal(edit, 1, (lud_grid_edit_goal){.x1 = 5, .y1 = 1, .x2 = 6, .y2 = 4});
    edit_expect(edit, "  - rectangle: [5, 1, 6, 4]\n    agents: [1]   # hers\n");
    change_goal(edit, 2, (lud_grid_edit_goal){.x1 = 5, .y1 = 3, .x2 = 7, .y2 = 4});
    edit_expect(edit, "  - {rectangle: [5, 3, 7, 4]}\n");
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    assert_int_equal(w->n_goals, 3);
    assert_true(w->goals[0].cell && w->goals[0].weight == 2 && w->goals[0].for_all);
    assert_true(!w->goals[1].cell && w->goals[1].x2 == 6 && !w->goals[1].for_all && w->goals[1].agents == 2);
    assert_true(!w->goals[2].cell && w->goals[2].y1 == 3 && w->goals[2].weight == 1);
    change_goal(edit, 0, (lud_grid_edit_goal){.x1 = 1, .y1 = 1, .x2 = 3, .y2 = 4}); /* and back */
    edit_expect(edit, "  - {rectangle: [1, 1, 3, 4], weight: 2}   # left\n");
    lud_grid_edit_close(edit);
}

/* A new goal is written with all it is. */
static void test_new_goal_of_one_agent(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    lud_grid_edit_world wanted;
    assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted));
    const int n = wanted.n_goals;
    lud_grid_edit_goal *const goals = malloc((size_t)(n + 1) * sizeof *goals);
    assert_non_null(goals);
    memcpy(goals, wanted.goals, (size_t)n * sizeof *goals);
    goals[n] = (lud_grid_edit_goal){
        .x1 = 2, .y1 = 1, .x2 = 2, .y2 = 1, .cell = true, .weight = 0.25, .agents = 2, .origin = -1};
    free(wanted.goals);
    wanted.goals = goals;
    wanted.n_goals = n + 1;
    if (lud_grid_edit_apply(edit, &wanted, "add", &error)) fail_msg("%s", error.text);
    edit_expect(edit, "  - {cell: [7, 4]}\n  - {cell: [2, 1], weight: 0.25, agents: [1]}\n");
    lud_grid_edit_world_free(&wanted);
    lud_grid_edit_close(edit);
}

static void expect_words(const lud_grid_edit *edit, lud_grid_pick pick, const char *words) {
    lud_text said = {0};
    lud_grid_pick_describe(edit, pick, &said);
    assert_string_equal(said.bytes, words);
    lud_text_free(&said);
}

/* What lies below somebody is told of, and goes by itself; somebody else in the same place has the number. */
static void test_what_lies_below(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    const lud_grid_thing ground = {.object = lud_grid_object_default(LUD_UNSTEADY_GROUND)};
    if (lud_grid_edit_put(edit, 6, 2, &ground, &error)) fail_msg("%s", error.text);
    const lud_grid_pick top = {.kind = LUD_PICK_CELL, .x = 6, .y = 2},
                        below = {.kind = LUD_PICK_CELL, .x = 6, .y = 2, .layer = 1};
    expect_words(edit, top, "yellow agent 1, human, at (6, 2)");
    expect_words(edit, below, "unsteady ground below, at (6, 2)");
    if (lud_grid_edit_remove(edit, below, &error)) fail_msg("%s", error.text);
    assert_int_equal(edit_thing_at(edit, 6, 2).under.type, LUD_EMPTY);
    assert_true(edit_thing_at(edit, 6, 2).is_agent && edit_thing_at(edit, 6, 2).agent.can_push_rocks);
    assert_int_equal(lud_grid_edit_get(edit)->agent[2 * 9 + 6], 1);
    assert_false(lud_grid_pick_is(edit, below));
    edit_expect(edit, "- facing: west     # the person\n");

    lud_grid_thing person;
    lud_text name = {0};
    bool found = false;
    for (int i = 0; !found && lud_grid_edit_brush(edit, i, &person, &name); i++) found = person.is_agent;
    lud_text_free(&name);
    assert_true(found);
    if (lud_grid_edit_put(edit, 1, 2, &person, &error)) fail_msg("%s", error.text); /* on the robot */
    assert_int_equal(lud_grid_edit_get(edit)->agent[2 * 9 + 1], 0);
    assert_int_equal(edit_thing_at(edit, 1, 2).agent.role, LUD_ROLE_HUMAN);
    edit_expect(edit, "# the robot\n");
    lud_grid_edit_close(edit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agents_of_another_colour), cmocka_unit_test(test_switches),
        cmocka_unit_test(test_list_of_agents_in_braces), cmocka_unit_test(test_goals_of_another_kind),
        cmocka_unit_test(test_new_goal_of_one_agent),    cmocka_unit_test(test_what_lies_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
