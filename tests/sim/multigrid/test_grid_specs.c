/* Descriptions of multigrids: what cannot be is named, what just can be is taken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/support_sketch.h"

static void rejects(const sketch *s, const char *expected) {
    lud_model *model = NULL;
    lud_error error = {0};
    assert_int_not_equal(lud_grid_model_create(&s->spec, &model, &error), LUD_OK);
    assert_null(model);
    if (!strstr(error.text, expected)) fail_msg("expected \"%s\" in \"%s\"", expected, error.text);
}

static const char *const room[] = {"#####", "#y.e#", "#...#", "#####", NULL};

static void wrong_specs_are_named(void **unused) {
    (void)unused;
    sketch s;
#define REJECTS(change, message)                                                                             \
    do {                                                                                                     \
        sketch_draw(&s, room, "ee", false);                                                                  \
        change;                                                                                              \
        rejects(&s, message);                                                                                \
    } while (0)
    REJECTS(s.spec.width = 2, "each side must be 3 to 255");
    REJECTS(s.spec.width = 256, "each side must be 3 to 255");
    REJECTS(s.spec.height = 2, "each side must be 3 to 255");
    REJECTS(s.spec.height = 256, "each side must be 3 to 255");
    REJECTS(s.spec.n_agents = 65, "at most 64");
    REJECTS(s.spec.n_agents = -1, "-1 agents");
    REJECTS(s.spec.max_steps = 0, "max_steps is 0");
    REJECTS(s.spec.max_steps = 65536, "max_steps is 65536");
    REJECTS(s.spec.n_maps = 0, "0 maps");
    REJECTS(s.spec.n_maps = LUD_GRID_MAX_MAPS + 1, "are possible");
    REJECTS(s.spec.actions = LUD_ACTIONS_MINE + 1, "unknown action set");
    REJECTS(s.spec.actions = -1, "unknown action set");
    REJECTS((s.spec.observation.view = LUD_VIEW_PARTIAL, s.spec.observation.size = 4), "view_size is 4");
    REJECTS((s.spec.observation.view = LUD_VIEW_PARTIAL, s.spec.observation.size = 1), "view_size is 1");
    REJECTS((s.spec.observation.view = LUD_VIEW_PARTIAL, s.spec.observation.size = LUD_GRID_MAX_VIEW + 2),
            "view_size is 33");
    REJECTS(s.cells[12] = lud_grid_object_default(LUD_KEY),
            "cell (2, 2): this type cannot be a fixed object");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_UNSTEADY_GROUND), s.cells[12].stumble = 1.5),
            "stumble probability");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_MAGIC_WALL), s.cells[12].entry = -1),
            "entry probability");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_MAGIC_WALL), s.cells[12].solidify = 2),
            "solidify probability");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_MAGIC_WALL), s.cells[12].side = 9), "magic side");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_BUSH), s.cells[12].enter = 2), "probability to enter");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_DOOR), s.cells[12].door = 7),
            "neither open nor closed");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_CONTROL_BUTTON), s.cells[12].target = LUD_YELLOW),
            "must differ");
    REJECTS((s.cells[12] = lud_grid_object_default(LUD_DISABLING_SWITCH), s.cells[12].target_type = LUD_DOOR),
            "a disabling switch works on");
    REJECTS(s.cells[0].colour = LUD_COLOURS, "unknown colour");
    REJECTS(s.cells[0].trigger = LUD_COLOURS, "unknown colour");
    REJECTS(s.cells[0].target = LUD_COLOURS, "unknown colour");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_KEY), 2, 2},
             s.pieces[0].object.colour = LUD_COLOURS),
            "unknown colour");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_BOX), 2, 2},
             s.pieces[0].object.content_colour = LUD_COLOURS),
            "unknown colour");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_GOAL), 2, 2}),
            "a piece is a block");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_KEY), 9, 2}),
            "is outside");
    static const int beyond[3][2] = {{-1, 2}, {2, -1}, {2, 4}};
    for (int k = 0; k < 3; k++) {
        REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_KEY),
                                                                    beyond[k][0], beyond[k][1]}),
                "is outside");
        REJECTS((s.agents[0].x = beyond[k][0], s.agents[0].y = beyond[k][1]), "outside the grid");
    }
    REJECTS(s.agents[0].x = 5, "outside the grid");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_KEY), 0, 0}),
            "the ground cannot carry it");
    REJECTS((s.map.n_pieces = 2,
             s.pieces[0] = s.pieces[1] = (lud_grid_piece){lud_grid_object_default(LUD_KEY), 2, 2}),
            "two pieces in one cell");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_BOX), 2, 2},
             s.pieces[0].object.content_type = LUD_LAVA),
            "a box holds");
    REJECTS((s.map.n_pieces = 1, s.pieces[0] = (lud_grid_piece){lud_grid_object_default(LUD_KEY), 1, 1}),
            "a piece lies in the cell of the agent");
    REJECTS(s.agents[1].x = 1, "two agents in one cell");
    REJECTS(s.agents[1].x = 0, "nobody can stand on this ground");
    REJECTS(s.agents[1].x = -1, "outside the grid");
    REJECTS(s.agents[1].colour = LUD_COLOURS, "unknown colour, role or direction");
    REJECTS(s.agents[1].role = LUD_ROLE_ROBOT + 1, "unknown colour, role or direction");
    REJECTS(s.agents[1].direction = LUD_NORTH + 1, "unknown colour, role or direction");
    lud_grid_goal goal = {.x1 = 1, .y1 = 1, .x2 = 3, .y2 = 1, .weight = 1, .agent = -1};
    s.spec.goals = &goal;
#define REJECTS_GOAL(change, message)                                                                        \
    REJECTS((s.spec.goals = &goal, s.spec.n_goals = 1, goal = (lud_grid_goal){1, 1, 3, 1, false, 1, -1},     \
             change),                                                                                        \
            message)
    REJECTS_GOAL(goal.x2 = 5, "is not a rectangle");
    REJECTS_GOAL(goal.y2 = 4, "is not a rectangle");
    REJECTS_GOAL(goal.x1 = -1, "is not a rectangle");
    REJECTS_GOAL(goal.y1 = -1, "is not a rectangle");
    REJECTS_GOAL(goal.x1 = 4, "is not a rectangle");
    REJECTS_GOAL(goal.y1 = 2, "is not a rectangle");
    REJECTS_GOAL(goal.agent = 2, "there is no agent 2");
    REJECTS_GOAL(goal.agent = -2, "there is no agent -2");
    REJECTS_GOAL(goal.weight = -1, "not below 0");
    REJECTS_GOAL(goal.weight = INFINITY, "not below 0");
    REJECTS_GOAL(goal.weight = NAN, "not below 0");
    REJECTS_GOAL(s.spec.goals_must_cover = true, "no goal of agent 0 covers the walkable cell (1, 2)");
    /* each person's own goals must cover, not those of all people together */
    sketch_draw(&s, (const char *[]){"####", "#yy#", "####", NULL}, "ee", false);
    lud_grid_goal both[2] = {{1, 1, 2, 1, false, 1, 0}, {1, 1, 1, 1, false, 1, 1}};
    s.spec.goals = both;
    s.spec.n_goals = 2;
    s.spec.goals_must_cover = true;
    rejects(&s, "no goal of agent 1 covers the walkable cell (2, 1)");
    both[1].x2 = 2;
    lud_grid_model_destroy(sketch_model(&s));
    sketch_draw(&s, room, "ee", false);
    lud_grid_map maps[2] = {s.map, s.map};
    lud_grid_agent others[2] = {s.agents[0], s.agents[1]};
    maps[1].agents = others;
    s.spec.maps = maps;
    s.spec.n_maps = 2;
    for (int k = 0; k < 4; k++) {
        others[1] = s.agents[1];
        if (k == 0) others[1].can_enter_magic_walls = !others[1].can_enter_magic_walls;
        if (k == 1) others[1].can_push_rocks = !others[1].can_push_rocks;
        if (k == 2) others[1].colour = LUD_PURPLE;
        if (k == 3) others[1].role = others[1].role == LUD_ROLE_HUMAN ? LUD_ROLE_ROBOT : LUD_ROLE_HUMAN;
        rejects(&s, "agent 1 differs between map 0 and map 1");
    }
    others[1] = s.agents[1];
    others[1].direction = LUD_NORTH; /* and a place of its own in each */
    others[1].y = 2;
    lud_grid_model_destroy(sketch_model(&s));
    sketch_draw(&s, (const char *[]){"####", "#ye#", "####", NULL}, "ee", false);
    s.spec.random_start = true;
    s.cells[5] = lud_grid_object_default(LUD_GOAL);
    rejects(&s, "1 free cells for 2 random agents");
}

/* The ends of what there can be are in it. */
static void specs_at_their_limits(void **unused) {
    (void)unused;
    sketch s;
#define TAKES(change)                                                                                        \
    do {                                                                                                     \
        sketch_draw(&s, room, "ee", false);                                                                  \
        change;                                                                                              \
        lud_grid_model_destroy(sketch_model(&s));                                                            \
    } while (0)
    TAKES(s.spec.max_steps = 1);
    TAKES(s.spec.max_steps = 65535);
    TAKES(s.spec.n_agents = 0);
    TAKES(s.spec.actions = LUD_ACTIONS_MINE);
    TAKES((s.spec.observation.view = LUD_VIEW_PARTIAL, s.spec.observation.size = 3));
    TAKES((s.spec.observation.view = LUD_VIEW_PARTIAL, s.spec.observation.size = LUD_GRID_MAX_VIEW));
    lud_grid_goal goal = {0, 0, 4, 3, false, 0, -1};
    TAKES((s.spec.goals = &goal, s.spec.n_goals = 1));
    TAKES((s.spec.goals = &goal, s.spec.n_goals = 1, goal.weight = 1e300, goal.agent = 1));
    for (int k = 0; k < 2; k++) {
        const double chance = k;
        TAKES((s.cells[12] = lud_grid_object_default(LUD_UNSTEADY_GROUND), s.cells[12].stumble = chance));
        TAKES((s.cells[12] = lud_grid_object_default(LUD_MAGIC_WALL), s.cells[12].entry = chance,
               s.cells[12].solidify = 1 - chance));
        TAKES((s.cells[12] = lud_grid_object_default(LUD_BUSH), s.cells[12].enter = chance));
    }
    sketch_draw(&s, (const char *[]){"###", "#y#", "###", NULL}, "e", false);
    lud_grid_model_destroy(sketch_model(&s));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_specs_are_named),
                                       cmocka_unit_test(specs_at_their_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
