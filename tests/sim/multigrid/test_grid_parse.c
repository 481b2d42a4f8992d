/* Multigrid scenarios: both formats, every message, and that what is written reads back as the same spec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sim/multigrid/file/grid_codes.h"
#include "sim/multigrid/file/grid_parse.h"
#include "sim/multigrid/grid_model.h"

static lud_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = lud_arena_create(0);
    return arena == NULL;
}

static int teardown(void **state) {
    (void)state;
    lud_arena_destroy(arena);
    return 0;
}

static lud_status read_spec(const char *text, lud_grid_spec *spec, lud_error *error) {
    lud_tree *root;
    lud_status status = lud_tree_read_text(arena, "g", text, strlen(text), &root, error);
    return status ? status : lud_grid_spec_read(arena, root, 5, spec, error);
}

static lud_grid_spec read_ok(const char *text) {
    lud_grid_spec spec;
    lud_error error = {0};
    if (read_spec(text, &spec, &error)) fail_msg("%s", error.text);
    return spec;
}

static void fails(const char *text, const char *message) {
    lud_grid_spec spec;
    lud_error error = {0};
    assert_int_equal(read_spec(text, &spec, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, message);
}

#define OWN "ludus: 1\nmultigrid:\n" /* two lines */

static const char *const everything = OWN
    "  map: |\n"
    "    We Wr We We We We We We We\n"
    "    We Ae Ay A1 Ab Am .. f1 We\n"
    "    We Bl Ro Bu La Sw Un f2 We\n"
    "    We M1 Mn Ks Kb Pa Dk DC We\n"
    "    We C1 Lr Cg Op Ky Bb Xr We\n"
    "    We X1 X2 G1 Gy og b1 B2 We\n"
    "    We P1 K1 D1 U1 u2 .. .. We\n"
    "    We We We We We We We We We\n"
    "  legend:\n"
    "    A1: {agent: {colour: brown, role: human, facing: north, can_push_rocks: true}}\n"
    "    Am: {agent: {can_enter_magic_walls: true, role: robot}, under: Ma}\n"
    "    f1: floor\n"
    "    f2: {floor: {colour: red}}\n"
    "    M1: {magic_wall: {side: north, entry: 0.3, solidify: 0, active: false}}\n"
    "    Ks: {key: {colour: brown}}\n"
    "    X1: {box: {contains: {key: {colour: blue}}}}\n"
    "    X2: {box: {colour: green, contains: Bb}}\n"
    "    G1: {goal: {colour: purple}}\n"
    "    og: {object_goal: {colour: blue}}\n"
    "    b1: {bush: {enter: 0.25}}\n"
    "    B2: {block: , under: {goal: {}}}\n"
    "    P1: {pause_switch: {trigger: grey, target: yellow, on: true, enabled: false}}\n"
    "    K1: {kill_button: {trigger: blue, target: red, enabled: false}}\n"
    "    D1: {disabling_switch: {trigger: yellow, disables: control_button}}\n"
    "    C1: {control_button: {trigger: green, target: purple, enabled: false}}\n"
    "    U1: {unsteady_ground: {stumble: 0.125}}\n"
    "    u2: {ball: {colour: yellow}, under: Un}\n"
    "  chances: {stumble: 0.75, enter_bush: 0.9}\n"
    "  max_steps: 33\n"
    "  actions: full\n"
    "  random_start: true\n"
    "  agents: [{facing: west}, {role: other}]\n"
    "  roles: {blue: robot}\n"
    "  can_push_rocks: [grey, blue]\n"
    "  can_enter_magic_walls: [grey]\n"
    "  observation: {view: partial, size: 5, see_through_walls: true, coding: cells}\n"
    "  rewards: {goal: 1, own_goal_only: true, step: -0.01, lava: -1, collect: {key: 0.5, ball: 2, box: 3}, "
    "open_door: 4, shared: true, goal_ends: true}\n"
    "goals:\n"
    "  - {cell: [1, 1]}\n"
    "  - {rectangle: [3, 4, 1, 2], weight: 3}\n";

static const lud_grid_object *cell(const lud_grid_spec *spec, int x, int y) {
    return &spec->maps[0].cells[y * spec->width + x];
}

static const lud_grid_object *piece(const lud_grid_spec *spec, int x, int y) {
    for (int i = 0; i < spec->maps[0].n_pieces; i++)
        if (spec->maps[0].pieces[i].x == x && spec->maps[0].pieces[i].y == y)
            return &spec->maps[0].pieces[i].object;
    fail_msg("no piece at (%d, %d)", x, y);
    return NULL;
}

static void test_everything(void **state) {
    (void)state;
    lud_grid_spec s = read_ok(everything);
    assert_int_equal(s.width, 9);
    assert_int_equal(s.height, 8);
    assert_int_equal(s.n_maps, 1);
    assert_int_equal(s.max_steps, 33);
    assert_int_equal(s.actions, LUD_ACTIONS_FULL);
    assert_true(s.random_start);
    assert_int_equal(s.observation.view, LUD_VIEW_PARTIAL);
    assert_int_equal(s.observation.coding, LUD_CODING_CELLS);
    assert_int_equal(s.observation.size, 5);
    assert_true(s.observation.see_through_walls);
    assert_true(s.rewards.goal == 1 && s.rewards.own_goal_only != 0 && s.rewards.step == -0.01 &&
                s.rewards.lava == -1);
    assert_true(s.rewards.collect.key == 0.5 && s.rewards.collect.ball == 2 && s.rewards.collect.box == 3);
    assert_true(s.rewards.open_door == 4 && s.rewards.shared && s.rewards.goal_ends);

    assert_int_equal(s.n_agents, 5);
    const lud_grid_agent *a = s.maps[0].agents;
    assert_int_equal(a[0].colour, LUD_GREY);
    assert_int_equal(a[0].role, LUD_ROLE_ROBOT);
    assert_int_equal(a[0].direction, LUD_WEST);
    assert_true(a[0].can_push_rocks && a[0].can_enter_magic_walls);
    assert_int_equal(a[1].colour, LUD_YELLOW);
    assert_int_equal(a[1].role, LUD_ROLE_NONE); /* the list says so */
    assert_false(a[1].can_push_rocks || a[1].can_enter_magic_walls);
    assert_int_equal(a[2].colour, LUD_BROWN);
    assert_int_equal(a[2].role, LUD_ROLE_HUMAN);
    assert_int_equal(a[2].direction, LUD_NORTH);
    assert_true(a[2].can_push_rocks);
    assert_int_equal(a[3].role, LUD_ROLE_ROBOT); /* blue robots */
    assert_true(a[3].can_push_rocks);
    assert_int_equal(a[4].role, LUD_ROLE_ROBOT);
    assert_true(a[4].can_enter_magic_walls);
    assert_int_equal(cell(&s, 5, 1)->type, LUD_MAGIC_WALL); /* it stands in one */
    assert_int_equal(cell(&s, 1, 1)->type, LUD_EMPTY);

    assert_int_equal(cell(&s, 1, 0)->colour, LUD_RED);
    assert_int_equal(cell(&s, 7, 1)->type, LUD_FLOOR);
    assert_int_equal(cell(&s, 7, 1)->colour, LUD_BLUE);
    assert_int_equal(cell(&s, 7, 2)->colour, LUD_RED);
    assert_true(cell(&s, 6, 2)->stumble == 0.75 && cell(&s, 4, 6)->stumble == 0.125);
    assert_true(cell(&s, 3, 2)->enter == 0.9 && cell(&s, 6, 5)->enter == 0.25);
    const lud_grid_object *m = cell(&s, 1, 3);
    assert_true(m->side == LUD_NORTH && m->entry == 0.3 && m->solidify == 0 && !m->active);
    m = cell(&s, 2, 3);
    assert_true(m->side == LUD_NORTH && m->entry == 0.5 && m->solidify == 0.1 && m->active);
    assert_int_equal(piece(&s, 3, 3)->colour, LUD_BROWN);
    assert_int_equal(cell(&s, 4, 3)->type, LUD_KILL_BUTTON); /* not a blue key */
    assert_int_equal(cell(&s, 2, 4)->door, LUD_DOOR_LOCKED);
    assert_int_equal(cell(&s, 3, 4)->door, LUD_DOOR_CLOSED);
    assert_int_equal(cell(&s, 4, 4)->door, LUD_DOOR_OPEN);
    assert_int_equal(piece(&s, 1, 5)->content_type, LUD_KEY);
    assert_int_equal(piece(&s, 1, 5)->content_colour, LUD_BLUE);
    assert_int_equal(piece(&s, 2, 5)->content_type, LUD_BALL);
    assert_int_equal(piece(&s, 7, 4)->content_type, LUD_EMPTY);
    assert_int_equal(cell(&s, 5, 5)->type, LUD_OBJECT_GOAL);
    assert_int_equal(piece(&s, 7, 5)->type, LUD_BLOCK);
    assert_int_equal(cell(&s, 7, 5)->type, LUD_GOAL);
    assert_int_equal(cell(&s, 5, 6)->type, LUD_UNSTEADY_GROUND);
    const lud_grid_object *p = cell(&s, 1, 6);
    assert_true(p->trigger == LUD_GREY && p->target == LUD_YELLOW && p->on && !p->enabled);
    assert_int_equal(cell(&s, 3, 6)->target_type, LUD_CONTROL_BUTTON);
    assert_int_equal(cell(&s, 7, 3)->target_type, LUD_CONTROL_BUTTON);

    assert_int_equal(s.n_goals, 2);
    assert_true(s.goals[0].cell && s.goals[0].weight == 0.25 && s.goals[0].agent == -1);
    assert_true(!s.goals[1].cell && s.goals[1].weight == 0.75);
    assert_true(s.goals[1].x1 == 1 && s.goals[1].y1 == 2 && s.goals[1].x2 == 3 && s.goals[1].y2 == 4);
}

static char *written(const lud_grid_spec *spec) {
    lud_tree root = {.kind = LUD_TREE_MAPPING};
    lud_error error = {0};
    char *text = NULL;
    size_t length;
    lud_tree_add_int(arena, &root, "ludus", 1);
    if (lud_grid_spec_write(spec, arena, &root, &error) ||
        lud_tree_write(arena, &root, &text, &length, &error))
        fail_msg("%s", error.text);
    return text;
}

static void same_spec(const lud_grid_spec *a, const lud_grid_spec *b) {
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_int_equal(a->n_maps, b->n_maps);
    assert_int_equal(a->n_agents, b->n_agents);
    for (int k = 0; k < a->n_maps; k++) {
        const lud_grid_map *m = &a->maps[k], *n = &b->maps[k];
        for (int c = 0; c < a->width * a->height; c++)
            assert_true(lud_grid_object_equal(&m->cells[c], &n->cells[c]));
        assert_int_equal(m->n_pieces, n->n_pieces);
        for (int i = 0; i < m->n_pieces; i++) {
            assert_true(lud_grid_object_equal(&m->pieces[i].object, &n->pieces[i].object));
            assert_true(m->pieces[i].x == n->pieces[i].x && m->pieces[i].y == n->pieces[i].y);
        }
        for (int i = 0; i < a->n_agents; i++) {
            const lud_grid_agent *x = &m->agents[i], *y = &n->agents[i];
            assert_true(x->x == y->x && x->y == y->y && x->direction == y->direction &&
                        x->colour == y->colour);
            assert_true(x->role == y->role && x->can_push_rocks == y->can_push_rocks);
            assert_true(x->can_enter_magic_walls == y->can_enter_magic_walls);
        }
    }
    assert_int_equal(a->n_goals, b->n_goals);
    for (int g = 0; g < a->n_goals; g++) {
        const lud_grid_goal *x = &a->goals[g], *y = &b->goals[g];
        assert_true(x->x1 == y->x1 && x->y1 == y->y1 && x->x2 == y->x2 && x->y2 == y->y2 &&
                    x->cell == y->cell);
        assert_true(x->weight == y->weight && x->agent == y->agent);
    }
    assert_true(a->max_steps == b->max_steps && a->actions == b->actions &&
                a->observation.view == b->observation.view && a->observation.coding == b->observation.coding);
    assert_true(a->goals_must_cover == b->goals_must_cover && a->random_start == b->random_start);
    assert_true(a->observation.size == b->observation.size &&
                a->observation.see_through_walls == b->observation.see_through_walls);
    assert_memory_equal(&a->rewards, &b->rewards, offsetof(lud_grid_rewards, shared));
    assert_true(a->rewards.shared == b->rewards.shared && a->rewards.goal_ends == b->rewards.goal_ends);
}

static void round_trip(const char *text) {
    lud_grid_spec spec = read_ok(text), again = read_ok(written(&spec));
    same_spec(&spec, &again);
    assert_string_equal(written(&spec), written(&again));
}

#define SMALL "  map: [We We We We, We Ay .. We, We We We We]\n"

/* A door of a legend is in the state that it is given, whatever the code means elsewhere. */
static void test_doors_of_a_legend(void **state) {
    (void)state;
    static const char *const names[] = {"open", "closed", "locked"};
    static const lud_door_state states[] = {LUD_DOOR_OPEN, LUD_DOOR_CLOSED, LUD_DOOR_LOCKED};
    for (int k = 0; k < 3; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 OWN "  map: |\n    We We We We We\n    We Ay d1 d2 We\n    We We We We We\n  legend:\n"
                     "    d1: {door: {colour: purple, state: %s}}\n    d2: {door: {colour: brown}}\n",
                 names[k]);
        lud_grid_spec s = read_ok(text);
        assert_true(cell(&s, 2, 1)->type == LUD_DOOR && cell(&s, 2, 1)->colour == LUD_PURPLE);
        assert_int_equal(cell(&s, 2, 1)->door, states[k]);
        assert_true(cell(&s, 3, 1)->door == lud_grid_object_default(LUD_DOOR).door &&
                    cell(&s, 3, 1)->colour == LUD_BROWN);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    round_trip(everything);
    round_trip(OWN "  map: [[We, We, We], [We, Ay, We], [We, We, We]]\n");
    round_trip(OWN SMALL
               "goals:\n  - {cell: [1, 1], agents: [0], weight: 7}\n  - {rectangle: [1, 1, 2, 1]}\n");
    round_trip("map: |\n  We We We We\n  We Ay Ae We\n  We We We We\npossible_goals: ['1,1', '1,1,2,1', "
               "'2,1']\norientations: "
               "[n, 2]\nstumble_probability: 0.1\n");
    round_trip(OWN "  generate: {size: [15, 9], rooms: [3, 2], locked_doors: 1, objects: {goal: 1, rock: 1, "
                   "unsteady_ground: "
                   "2}, maps: 4}\n  chances: {stumble: 0.2}\n  agents: [{can_enter_magic_walls: true}]\n");
}

/* Chances that all things of a type share are written once, whatever the order of the things; where the first
 * differs from others, these others alone have their own in the legend. */
static void test_shared_chances_are_written_once(void **state) {
    (void)state;
    static const char *const maps[] = {"We Un Bu Mn Un Bu Ay", "Mn Bu Un Ms We Un Ay",
                                       "Bu Mn We Bu Ma Un Ay", "Un Bu .. .. .. .. Ay",
                                       "Bu Mn .. .. .. .. Ay", "Mn Un .. .. .. .. Ay"};
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 OWN "  map: [.. .. .. .. .. .. .., %s, .. .. .. .. .. .. ..]\n  chances: {stumble: 0.2, "
                     "enter_bush: 0.3, enter_magic_wall: 0.4, solidify: 0.6}\n",
                 maps[k]);
        round_trip(text);
        const lud_grid_spec spec = read_ok(text);
        const char *found = written(&spec);
        assert_null(strstr(found, "legend"));
        assert_true(!strstr(maps[k], "Un") == !strstr(found, "0.2"));
        assert_true(!strstr(maps[k], "Bu") == !strstr(found, "0.3"));
        assert_true(!strstr(maps[k], "M") == !strstr(found, "0.4"));
        assert_true(!strstr(maps[k], "M") == !strstr(found, "0.6"));
    }
    const char *two = OWN "  map: [.. .. .. .., Bu L1 Bu Ay, .. .. .. ..]\n  chances: {enter_bush: 0.3}\n"
                          "  legend: {L1: {bush: {enter: 0.7}}}\n";
    round_trip(two);
    const lud_grid_spec spec = read_ok(two);
    const char *found = written(&spec), *legend = strstr(found, "legend");
    assert_non_null(legend);
    assert_true(strstr(found, "0.3") && strstr(legend, "0.7"));
}

/* Comments in a map, which is a text to YAML. */
static void test_comments(void **state) {
    (void)state;
    lud_grid_spec with = read_ok(OWN "  map: |\n    # a hut\n    We We We We  # its wall\n    We Ay #f We #\n"
                                     "    # ---\n    WeWeWeWe\t#\twall\n  legend: {'#f': floor}\n"),
                  without = read_ok(OWN "  map: |\n    We We We We\n    We Ay #f We\n    We We We We\n"
                                        "  legend: {'#f': floor}\n");
    assert_int_equal(with.maps[0].cells[1 * 4 + 2].type, LUD_FLOOR);
    assert_string_equal(written(&with), written(&without));
}

#define TWO_MAPS                                                                                             \
    "  ensemble:\n    - map: [We We We We We, We Ay Gg Ae We, We We We We We]\n"                             \
    "    - map: [We We We We, We Ay Bl We, We Ae L1 We, We We We We]\n"                                      \
    "      agents: [{facing: north}, {facing: south}]\n"                                                     \
    "  legend: {L1: {lava: }, L2: {unsteady_ground: {stumble: 0.3}}}\n  agents: [{facing: west}]\n"

static void test_ensemble(void **state) {
    (void)state;
    lud_grid_spec s = read_ok(OWN TWO_MAPS);
    assert_int_equal(s.n_maps, 2);
    assert_int_equal(s.n_agents, 2);
    assert_int_equal(s.width, 5);
    assert_int_equal(s.height, 4);
    assert_int_equal(s.maps[0].cells[1 * 5 + 2].type, LUD_GOAL);
    assert_int_equal(s.maps[1].cells[2 * 5 + 2].type, LUD_LAVA);
    assert_int_equal(s.maps[1].n_pieces, 1);
    for (int x = 0; x < 5; x++) assert_int_equal(s.maps[0].cells[3 * 5 + x].type, LUD_WALL); /* added */
    for (int y = 0; y < 4; y++) assert_int_equal(s.maps[1].cells[y * 5 + 4].type, LUD_WALL);
    assert_int_equal(s.maps[0].agents[0].direction, LUD_WEST); /* the section's list */
    assert_int_equal(s.maps[1].agents[0].direction, LUD_NORTH);
    assert_int_equal(s.maps[1].agents[1].direction, LUD_SOUTH);
    assert_true(s.maps[1].agents[1].x == 1 && s.maps[1].agents[1].y == 2);
    /* an ensemble of one is a map; a smaller one later changes nothing but its own walls */
    lud_grid_spec one = read_ok(OWN "  ensemble: [{map: [We We We We, We Ay .. We, We We We We]}]\n"),
                  map = read_ok(OWN "  map: [We We We We, We Ay .. We, We We We We]\n");
    assert_string_equal(written(&one), written(&map));
    round_trip(OWN TWO_MAPS);

    fails(OWN "  ensemble: 3\n",
          "g:3:13: ensemble: expected a list of maps, each after `- map: |`, found '3'");
    fails(OWN "  ensemble: []\n",
          "g:3:13: ensemble: expected a list of maps, each after `- map: |`, found a list of 0");
    fails(OWN "  ensemble: [{agents: []}]\n",
          "g:3:14: expected a map in every entry of the ensemble, found a section of 1 keys");
    fails(OWN "  ensemble: [{mapp: []}]\n",
          "g:3:15: expected map or agents as key, found 'mapp'; did you mean 'map'?");
    fails(OWN "  ensemble: [{map: [WeWeWe, WeAyWe, WeWeWe]}, {map: [WeWeWe, We..We, WeWeWe]}]\n",
          "g:3:47: expected as many agents as in the first map of the ensemble, 1, found 0");
    lud_text text = {0};
    lud_text_append(&text, OWN "  ensemble:\n");
    for (int k = 0; k <= LUD_GRID_MAX_MAPS; k++) lud_text_append(&text, "    - map: 3\n");
    fails(text.bytes, "g:4:5: ensemble: expected at most 4096 maps, found a list of 4097");
    lud_text_free(&text);
    /* the model has the last word */
    const char *other =
        OWN "  ensemble: [{map: [WeWeWe, WeAyWe, WeWeWe]}, {map: [WeWeWe, WeAeWe, WeWeWe]}]\n";
    lud_tree *root;
    lud_model *model;
    lud_error error = {0};
    assert_int_equal(lud_tree_read_text(arena, "g", other, strlen(other), &root, &error), LUD_OK);
    assert_int_equal(lud_grid_parse(&lud_multigrid_world, root, "g", 1, &model, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text,
                        "g:3:3: agent 0 differs between map 0 and map 1 in colour, role or capabilities");
}

static void test_goals(void **state) {
    (void)state;
    lud_grid_spec s = read_ok(
        OWN
        "  map: [We We We We We, We Ay Ae Ay We, We We We We We]\n"
        "goals:\n  - {cell: [1, 1]}\n  - {cell: [2, 1], agents: [2, 1]}\n  - {cell: [3, 1], weight: 3}\n");
    /* agents are named, so every goal is written out for each of its agents: humans 0 and 2, and robot 1 */
    static const int agents[] = {0, 2, 2, 1, 0, 2};
    static const double weights[] = {0.25, 0.2, 0.2, 1, 0.75, 0.6};
    assert_int_equal(s.n_goals, 6);
    for (int g = 0; g < 6; g++) {
        assert_int_equal(s.goals[g].agent, agents[g]);
        assert_true(s.goals[g].weight == weights[g]);
    }
}

static void test_own_errors(void **state) {
    (void)state;
    fails("ludus: 1\n", "g:1:1: expected the section 'multigrid', found none");
    fails("ludus: 1\nmultigrid: 3\n",
          "g:2:12: multigrid: expected the keys of the world, a map among them, found '3'");
    fails(OWN "  max_steps: 3\n", "g:3:3: multigrid: expected either a map, an ensemble or the section "
                                  "generate, found a section of 1 keys");
    fails(OWN SMALL "  generate: {}\n", "g:3:3: multigrid: expected either a map, an ensemble or the section "
                                        "generate, found a section of 2 keys");
    fails(OWN SMALL "  max_steps: 65536\n",
          "g:4:14: max_steps: expected an integer from 1 to 65535, found '65536'");
    fails(OWN "  map: |\n    We We We\n    We Zz We\n    We We We\n",
          "g:5:8: expected a code of the map such as We, .. or Ay, or one of the legend, found 'Zz'");
    fails(OWN "  map: |\n    We We We\n    We Ax We\n    We We We\n",
          "g:5:8: expected a colour r, g, b, p, y or e behind A, found 'Ax'");
    fails(OWN "  map: |\n    We We We\n    We Mx We\n    We We We\n",
          "g:5:8: expected a magic wall Mn, Ms, Mw, Me or Ma, found 'Mx'");
    fails(OWN "  map: |\n    We We We\n    We Ay W\n    We We We\n",
          "g:5:11: expected two characters for every cell, found one left over");
    fails(OWN "  map: |\n    We We We  # a wall\n    We A # We\n    We We We\n",
          "g:5:8: expected a colour r, g, b, p, y or e behind A, found 'A#'");
    fails(OWN "  map: |\n    We We We\n    We Ay We We\n    We We We\n",
          "g:5:5: expected a row of 3 cells like the first of the map, found 4");
    fails(OWN "  map: |\n    We We\n    We We\n    We We\n",
          "g:4:5: expected 3 to 255 cells in a row of the map, found 2");
    fails(OWN "  map: |\n    We We We\n    We Ay We\n",
          "g:4:5: expected at least 3 rows in the map, found 2");
    fails(OWN "  map:\n    We We We\n    We Ay We\n    We We We\n",
          "g:4:5: expected at least 3 rows in the map, found 1; YAML keeps rows apart behind `map: |`");
    fails(OWN "  map: {a: b}\n", "g:3:8: map: expected the rows of a map, found a section of 1 keys");
    fails(OWN "  map: [We We We, {a: b}]\n", "g:3:19: expected a row of the map, found a section of 1 keys");
    fails(OWN "  map: ['We We We', 'We Ay Wx', 'We We We']\n",
          "g:3:28: expected a colour r, g, b, p, y or e behind W, found 'Wx'");
    fails(OWN "  map: [[We, We, We], [We, Ayy, We]]\n",
          "g:3:28: expected a code of two characters, found 'Ayy'");
    /* legend */
    fails(OWN SMALL "  legend: 3\n",
          "g:4:11: legend: expected a section of codes, such as M1: {magic_wall: {side: north}}, found '3'");
    fails(OWN SMALL "  legend: {abc: floor}\n",
          "g:4:12: expected a code of two printable ASCII characters in the legend, found 3 bytes");
    lud_error error = {0};
    lud_grid_spec spec;
    assert_int_equal(read_spec(OWN SMALL "  legend: {aa: {magc_wall: }}\n", &spec, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "g:4:17: expected empty, wall, floor, "));
    assert_non_null(strstr(error.text, "as key in 'aa', found 'magc_wall'; did you mean 'magic_wall'?"));
    assert_int_equal(read_spec(OWN SMALL "  legend: {aa: flor}\n", &spec, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "g:4:16: aa: expected empty, wall, "));
    assert_non_null(strstr(error.text, "found 'flor'; did you mean 'floor'?"));
    fails(OWN SMALL "  legend: {aa: {magic_wall: {sid: all}}}\n",
          "g:4:30: expected side, entry, solidify or active as key in 'magic_wall', found 'sid'; did you "
          "mean 'side'?");
    fails(OWN SMALL "  legend: {aa: {magic_wall: {entry: 2}}}\n",
          "g:4:37: entry: expected a number from 0 to 1, found '2'");
    fails(OWN SMALL "  legend: {aa: {lava: {colour: red}}}\n",
          "g:4:24: expected no keys in 'lava', found 'colour'");
    fails(OWN SMALL "  legend: {aa: {wall: , floor: }}\n",
          "g:4:16: aa: expected one thing, such as {wall: {colour: red}}, found a section of 2 keys");
    fails(OWN SMALL "  legend: {aa: {under: Gg}}\n",
          "g:4:16: aa: expected one thing, such as {wall: {colour: red}}, found a section of 1 keys");
    fails(OWN SMALL "  legend: {aa: {wall: , under: Gg}}\n",
          "g:4:32: under: expected nothing under a thing that stays where it is, found 'Gg'");
    fails(OWN SMALL "  legend: {aa: {block: , under: Kr}}\n",
          "g:4:33: under: expected something under it that stays where it is, such as goal or floor, found "
          "'Kr'");
    fails(OWN SMALL "  legend: {aa: {box: {contains: floor}}}\n",
          "g:4:33: contains: expected a key, a ball or an empty box inside the box, found 'floor'");
    fails(
        OWN SMALL "  legend: {aa: {box: {contains: {box: {contains: Kr}}}}}\n",
        "g:4:33: contains: expected a key, a ball or an empty box inside the box, found a section of 1 keys");
    fails(OWN SMALL "  legend: {aa: {control_button: {target: yellow}}}\n",
          "g:4:33: control_button: expected a control button whose trigger and target differ, found a "
          "section of 1 keys");
    fails(OWN SMALL "  legend: {aa: {empty: {a: b}}}\n",
          "g:4:24: empty: expected nothing behind empty, found a section of 1 keys");
    /* agents, colours, observation */
    fails(OWN SMALL "  agents: [{}, {}]\n", "g:4:11: agents: expected a list of at most 1 agents, in the "
                                            "reading order of the map, found a list of 2");
    fails(OWN SMALL "  agents: {role: human}\n",
          "g:4:11: agents: expected a list of at most 1 agents, in the reading order "
          "of the map, found a section of 1 keys");
    fails(OWN SMALL "  agents: [{facing: up}]\n",
          "g:4:21: facing: expected east, south, west or north, found 'up'");
    fails(OWN SMALL "  agents: [{role: humn}]\n",
          "g:4:19: role: expected other, human or robot, found 'humn'; did you mean 'human'?");
    fails(OWN SMALL "  can_push_rocks: [gray]\n",
          "g:4:20: expected red, green, blue, purple, yellow, grey or brown, found "
          "'gray'; did you mean 'grey'?");
    fails(OWN SMALL "  can_enter_magic_walls: red\n",
          "g:4:26: can_enter_magic_walls: expected a list of texts, found 'red'");
    fails(OWN SMALL "  observation: {view: partial, size: 4}\n",
          "g:4:38: size: expected an odd number, found '4'");
    /* goals */
    fails(OWN SMALL "goals: 3\n",
          "g:4:8: goals: expected a list of goals, such as - {cell: [1, 2]}, found '3'");
    fails(OWN SMALL "goals: [{weight: 1}]\n",
          "g:4:9: expected a goal with either a cell or a rectangle, found a section of 1 keys");
    fails(OWN SMALL "goals: [{cell: [1, 1], rectangle: [1, 1, 2, 2]}]\n",
          "g:4:9: expected a goal with either a cell or a rectangle, found a section of 2 keys");
    fails(OWN SMALL "goals: [{cell: [1, 1, 1]}]\n", "g:4:16: cell: expected [x, y], found a list of 3");
    fails(OWN SMALL "goals: [{rectangle: [1, 1]}]\n",
          "g:4:21: rectangle: expected [x1, y1, x2, y2], found a list of 2");
    fails(OWN SMALL "goals: [{cell: [4, 1]}]\n", "g:4:17: expected an integer from 0 to 3, found '4'");
    fails(OWN SMALL "goals: [{cell: [1, 1], weight: 0}]\n",
          "g:4:8: goals: expected a goal with a weight above 0 for every "
          "agent that has goals, found a list of 1");
    fails(OWN SMALL "goals: [{cell: [1, 1], agents: []}]\n",
          "g:4:32: agents: expected a list of numbers of agents, found a list of 0");
    fails(OWN SMALL "goals: [{cell: [1, 1], agents: [1]}]\n",
          "g:4:33: expected an integer from 0 to 0, found '1'");
    /* random maps */
    fails(OWN SMALL "  generate:\n  legend: {aa: floor}\n  map: \n",
          "g:6:3: expected each key once, found 'map' again (first in line 3)");
    fails(OWN "  generate: {}\n  legend: {aa: floor}\n",
          "g:4:11: legend: expected no legend beside generate, found a section of 1 keys");
}

static void test_too_large(void **state) {
    (void)state;
    lud_text text = {0};
    lud_text_append(&text, OWN "  map:\n");
    for (int y = 0; y < 256; y++) lud_text_append(&text, "    - WeWeWe\n");
    fails(text.bytes, "g:259:7: expected at most 255 rows in the map, found more");
    lud_text_clear(&text);
    lud_text_append(&text, OWN "  map:\n    - ");
    for (int x = 0; x < 256; x++) lud_text_append(&text, "We");
    fails(text.bytes, "g:4:7: expected 3 to 255 cells in a row of the map, found 256");
    lud_text_clear(&text);
    lud_text_append(&text, OWN "  map:\n");
    for (int y = 0; y < 5; y++) lud_text_append(&text, "    - AyAyAyAyAyAyAyAyAyAyAyAyAyAy\n");
    fails(text.bytes, "g:8:23: expected at most 64 agents in the map, found more");
    lud_text_free(&text);
}

static void test_reference_errors(void **state) {
    (void)state;
#define MAP "map: ['WeWeWe', 'WeAyWe', 'WeWeWe']\n"
    fails(MAP "grid_size: 3\n", "g:2:12: grid_size: expected no grid_size in a file with a map, found '3'");
    fails(MAP "max_steps: 0\n", "g:2:12: max_steps: expected an integer from 1 to 65535, found '0'");
    fails(MAP "stumble_probability: 2\n",
          "g:2:22: stumble_probability: expected a number from 0 to 1, found '2'");
    fails(MAP "orientations: x\n",
          "g:2:15: orientations: expected a direction e, s, w, n or 0 to 3, found 'x'");
    fails(MAP "orientations: [4]\n", "g:2:16: expected a direction e, s, w, n or 0 to 3, found '4'");
    fails(MAP "can_push_rocks: ex\n",
          "g:2:17: can_push_rocks: expected letters of the colours r, g, b, p, y and e, found 'ex'");
    fails(MAP "action_class: SmalActions\n", "g:2:15: action_class: expected Actions, ObjectActions, "
                                             "SmallActions, MinimalActions or MineActions, found "
                                             "'SmalActions'; did you mean 'SmallActions'?");
    fails(MAP "possible_goals: 1\n", "g:2:17: possible_goals: expected a list of goals, found '1'");
    fails(MAP "possible_goals: ['1,1,1']\n",
          "g:2:18: expected a goal: x and y of a cell, or x1, y1, x2, y2 of a rectangle, found \"1,1,1\"");
    fails(MAP "possible_goals: ['1;1']\n",
          "g:2:18: expected a goal: x and y of a cell, or x1, y1, x2, y2 of a rectangle, found \"1;1\"");
    fails(MAP "possible_goals: ['3,1']\n", "g:2:18: expected a goal in the 3 x 3 grid, found \"3,1\"");
    fails(MAP "possible_goals: [[[1, 1], 2]]\n",
          "g:2:18: expected a goal: x and y of a cell, or x1, y1, x2, y2 of a rectangle, found a list of 2");
    fails(MAP "possible_goals: [[1, 1, 1, 1, 1]]\n",
          "g:2:18: expected a goal: x and y of a cell, or x1, y1, x2, y2 of a rectangle, found a list of 5");
    fails("map:\n", "g:1:1: map: expected the rows of a map, found nothing");
    /* the model has the last word; the place is that of the file */
    const char *text = "map: [WeWeWeWe, WeAy..We, WeWeWeWe]\npossible_goals: ['1,1']\n";
    lud_tree *root;
    lud_model *model;
    lud_error error = {0};
    assert_int_equal(lud_tree_read_text(arena, "g", text, strlen(text), &root, &error), LUD_OK);
    assert_int_equal(lud_grid_parse(&lud_multigrid_world, root, "g", 1, &model, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "g:1:1: no goal of agent 0 covers the walkable cell (2, 1)");
}

static void test_reference(void **state) {
    (void)state;
    lud_grid_spec all =
        read_ok("map: \"WeWeWeWe\\nWeAeAyWe\\nWeWeWeWe\"\norientations: n\npossible_goals: ['1,1']\n");
    for (int i = 0; i < 2; i++) assert_int_equal(all.maps[0].agents[i].direction, LUD_NORTH); /* for all */
    all = read_ok(
        "map: \"WeWeWeWe\\nWeAeAyWe\\nWeWeWeWe\"\norientations: [1, 2, 3]\npossible_goals: ['1,1']\n");
    assert_int_equal(all.maps[0].agents[0].direction, LUD_SOUTH);
    assert_int_equal(all.maps[0].agents[1].direction, LUD_WEST);
    lud_grid_spec s = read_ok(
        "map: \"\\n  WeWe We We\\n We Ae A y We \\nWeWeWeWe\\n \\n\"\norientations: [s]\npossible_goals: "
        "['2, 1', [[2, 1], [1, 1]]]\nunknown: {is: ignored}\naction_class: MineActions\n");
    assert_int_equal(s.width, 4);
    assert_int_equal(s.height, 3);
    assert_int_equal(s.n_agents, 2);
    assert_int_equal(s.maps[0].agents[0].direction, LUD_SOUTH);
    assert_int_equal(s.maps[0].agents[1].direction, LUD_EAST);
    assert_int_equal(s.maps[0].agents[1].role, LUD_ROLE_HUMAN);
    assert_true(s.maps[0].agents[0].can_push_rocks && !s.maps[0].agents[1].can_push_rocks);
    assert_int_equal(s.actions, LUD_ACTIONS_MINE);
    assert_int_equal(s.max_steps, 100);
    assert_true(s.goals_must_cover);
    assert_int_equal(s.n_goals, 2);
    assert_true(s.goals[0].cell && !s.goals[1].cell && s.goals[1].x1 == 1 && s.goals[1].x2 == 2);
}

/* Goals that name agents again and again are counted as what they become. */
static void too_many_goals(void **state) {
    (void)state;
    lud_text text = {0};
    lud_text_append(&text, "%s", OWN SMALL "goals:\n  - cell: [1, 1]\n    agents: [0");
    for (int i = 1; i < 65536; i++) lud_text_append(&text, "%s", ", 0");
    lud_text_append(&text, "%s", "]\n");
    lud_grid_spec spec;
    lud_error error = {0};
    if (read_spec(text.bytes, &spec, &error)) fail_msg("%s", error.text);
    assert_int_equal(spec.n_goals, 65536);
    lud_text_append(&text, "%s", "  - {cell: [1, 1]}\n");
    assert_int_equal(read_spec(text.bytes, &spec, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "g:7:5: expected at most 65536 goals, found more");
    lud_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_many_goals),
                                       cmocka_unit_test(test_everything),
                                       cmocka_unit_test(test_shared_chances_are_written_once),
                                       cmocka_unit_test(test_doors_of_a_legend),
                                       cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_comments),
                                       cmocka_unit_test(test_ensemble),
                                       cmocka_unit_test(test_goals),
                                       cmocka_unit_test(test_own_errors),
                                       cmocka_unit_test(test_too_large),
                                       cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_reference_errors)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
