/* The multigrid's models, observations, rewards and goals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/file/grid_parse.h"
#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/support_grids.h"
#include "sim/support_sketch.h"

enum { STILL, LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE };

static const lud_range one_environment = {.n = 1, .tick = &(uint32_t){0}};

/* --- States --- */

static void states_are_small(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(
        &s,
        (const char *[]){"#######", "#y...y#", "#.....#", "#.....#", "#.....#", "#e...e#", "#######", NULL},
        "eeww", false);
    lud_model *plain = sketch_model(&s);
    assert_int_equal(plain->layout.state_bytes, 2 + 4 + 4);
    lud_grid_model_destroy(plain);
    sketch_draw(
        &s,
        (const char *[]){"#######", "#y.k.y#", "#.B.B.#", "#DOM*K#", "#.C.R.#", "#e...e#", "#######", NULL},
        "eeww", false);
    lud_model *full = sketch_model(&s);
    /* step, cells, agent bytes, carried; four pieces; five conditions in two bytes; a control button */
    assert_int_equal(full->layout.state_bytes, 2 + 4 + 4 + 4 + 4 + 2 + 2);
    lud_grid_model_destroy(full);
}

/* Grids that have no form as a file. */
static void some_grids_cannot_be_written(void **unused) {
    (void)unused;
    sketch s;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = lud_arena_take(arena, sizeof *root);
    root->kind = LUD_TREE_MAPPING;
    sketch_draw(&s, (const char *[]){"#####", "#e.y#", "#####", NULL}, "ee", false);
    assert_int_equal(lud_grid_spec_write(&s.spec, arena, root, &error), LUD_OK);
    const lud_grid_agent first = s.agents[0];
    s.agents[0] = s.agents[1];
    s.agents[1] = first;
    assert_int_equal(lud_grid_spec_write(&s.spec, arena, root, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text,
                        "a map whose agents do not come in reading order, each in a cell of its own, "
                        "cannot be written");
    /* unsteady ground of thousands of kinds; a legend has a code of two letters for each */
    enum { SIDE = 80 };
    lud_grid_object *cells = calloc(SIDE * SIDE, sizeof *cells);
    for (int c = 0; c < SIDE * SIDE; c++)
        cells[c] = (lud_grid_object){.type = LUD_UNSTEADY_GROUND, .stumble = (1 + c) / 10000.0};
    lud_grid_map map = {.cells = cells, .agents = s.agents};
    lud_grid_spec wide = s.spec;
    wide.width = wide.height = SIDE;
    wide.n_agents = 0;
    wide.maps = &map;
    assert_int_equal(lud_grid_spec_write(&wide, arena, root, &error), LUD_ERROR_LIMIT);
    assert_string_equal(error.text, "the map has more kinds of things than there are codes for a legend");
    free(cells);
    lud_arena_destroy(arena);
}

static void equal_states_are_equal_bytes(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"#######", "#eB.B.#", "#######", NULL}, "e", false);
    lud_model *model = sketch_model(&s);
    lud_grid_scene *scene = lud_grid_scene_create(model);
    uint8_t a[64], b[64];
    lud_error error = {0};
    model->world->reset(model, one_environment, a);
    lud_grid_scene_read(scene, model, a);
    lud_grid_piece swapped = scene->pieces[0];
    scene->pieces[0] = scene->pieces[1];
    scene->pieces[1] = swapped;
    assert_int_equal(lud_grid_scene_write(scene, model, b, &error), LUD_OK);
    assert_memory_equal(a, b, model->layout.state_bytes);
    lud_text text = {0};
    lud_grid_diff(model, a, b, &text);
    assert_int_equal(text.length, 0);
    scene->agents[0].direction = LUD_NORTH;
    assert_int_equal(lud_grid_scene_write(scene, model, b, &error), LUD_OK);
    lud_grid_diff(model, a, b, &text);
    assert_string_equal(text.bytes, "agent[0]: 0 -> 3\n");
    lud_text_free(&text);
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

static void wide_grids_use_two_bytes_a_cell(void **unused) {
    (void)unused;
    static lud_grid_object cells[255 * 255];
    lud_grid_agent agent = {
        .x = 250, .y = 254, .direction = LUD_EAST, .colour = LUD_GREY, .can_push_rocks = true};
    lud_grid_piece block = {lud_grid_object_default(LUD_BLOCK), 252, 254};
    for (int c = 0; c < 255 * 255; c++) cells[c] = lud_grid_object_default(LUD_EMPTY);
    lud_grid_map map = {.cells = cells, .pieces = &block, .n_pieces = 1, .agents = &agent};
    lud_grid_spec spec = {
        .width = 255, .height = 255, .n_agents = 1, .max_steps = 65535, .maps = &map, .n_maps = 1};
    lud_model *model;
    lud_error error = {0};
    assert_int_equal(lud_grid_model_create(&spec, &model, &error), LUD_OK);
    assert_int_equal(model->layout.state_bytes, 2 + 2 + 1 + 2);
    uint8_t state[16];
    int32_t forward = FORWARD;
    model->world->reset(model, one_environment, state);
    for (int k = 0; k < 6; k++)
        model->world->step(model, one_environment, state, (lud_actions){.discrete = &forward},
                           (lud_outcome){0});
    lud_grid_scene *scene = lud_grid_scene_create(model);
    lud_grid_scene_read(scene, model, state);
    assert_int_equal(scene->agents[0].x, 253);
    assert_int_equal(scene->pieces[0].x, 254);
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

static void wrong_scenes_are_refused(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"######", "#yCDk#", "######", NULL}, "e", false);
    lud_model *model = sketch_model(&s);
    lud_grid_scene *scene = lud_grid_scene_create(model);
    uint8_t state[64];
    model->world->reset(model, one_environment, state);
#define REFUSES(change, message)                                                                             \
    do {                                                                                                     \
        lud_error error = {0};                                                                               \
        uint8_t packed[64];                                                                                  \
        lud_grid_scene_read(scene, model, state);                                                            \
        change;                                                                                              \
        assert_int_equal(lud_grid_scene_write(scene, model, packed, &error), LUD_ERROR_INPUT);               \
        if (!strstr(error.text, message)) fail_msg("expected \"%s\" in \"%s\"", message, error.text);        \
    } while (0)
    REFUSES(scene->step = 65536, "step 65536");
    REFUSES(scene->step = -1, "step -1");
    REFUSES(scene->map = 1, "no map 1");
    REFUSES(scene->map = -1, "no map -1");
    REFUSES(scene->agents[0].x = 6, "agent 0: it is outside");
    REFUSES(scene->agents[0].x = -1, "agent 0: it is outside");
    REFUSES(scene->agents[0].y = 3, "agent 0: it is outside");
    REFUSES(scene->agents[0].y = -1, "agent 0: it is outside");
    REFUSES(scene->agents[0].direction = LUD_ALL_SIDES, "agent 0: unknown direction");
    REFUSES(scene->agents[0].forced_action = 7, "agent 0: forced to an unknown action");
    REFUSES(scene->agents[0].forced_action = -2, "agent 0: forced to an unknown action");
    REFUSES((scene->agents[0].carries = true, scene->agents[0].carried = lud_grid_object_default(LUD_BALL)),
            "agent 0 carries a thing");
    REFUSES(scene->cells[8].controlled_agent = 1, "cell (2, 1): the button controls");
    REFUSES(scene->cells[8].controlled_agent = -2, "cell (2, 1): the button controls");
    REFUSES(scene->cells[8].recorded_action = -2, "cell (2, 1): the button recorded");
    REFUSES(scene->cells[8].recorded_action = 7, "cell (2, 1): the button recorded");
    REFUSES(scene->cells[9].ground.door = 3, "cell (3, 1): the door");
    REFUSES(scene->pieces[0].x = -1, "no room for piece 0");
    REFUSES(scene->pieces[0].x = 6, "no room for piece 0");
    REFUSES(scene->pieces[0].y = -1, "no room for piece 0");
    REFUSES(scene->pieces[0].y = 3, "no room for piece 0");
    REFUSES(scene->pieces[0].object.type = LUD_GRID_TYPES, "no room for piece 0");
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

/* --- Specs --- */

static const char *const room[] = {"#####", "#y.e#", "#...#", "#####", NULL};

static void actions_are_chosen_by_what_there_is(void **unused) {
    (void)unused;
    static const struct {
        const char *row;
        int n_actions;
    } cases[] = {{"#y..#", 4}, {"#yK.#", 4}, {"#y*M#", 4}, {"#yD.#", 7},
                 {"#yk.#", 7}, {"#yP.#", 7}, {"#yC.#", 7}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sketch s;
        sketch_draw(&s, (const char *[]){"#####", cases[k].row, "#####", NULL}, "e", false);
        s.spec.actions = LUD_ACTIONS_AUTOMATIC;
        lud_model *model = sketch_model(&s);
        assert_int_equal(model->layout.actions[0].n_discrete, cases[k].n_actions);
        lud_grid_model_destroy(model);
    }
}

static void random_starts_draw_maps_and_places(void **unused) {
    (void)unused;
    enum { N = 3000 };
    sketch s, t;
    sketch_draw(&s, room, "ee", false);
    sketch_draw(&t, (const char *[]){"#####", "#y..#", "#..e#", "#####", NULL}, "ee", false);
    lud_grid_map maps[2] = {s.map, t.map};
    s.spec.maps = maps;
    s.spec.n_maps = 2;
    s.spec.random_start = true;
    lud_model *model = sketch_model(&s);
    lud_grid_scene *scene = lud_grid_scene_create(model);
    size_t bytes = model->layout.state_bytes;
    uint32_t *tick = calloc(N, sizeof *tick);
    uint8_t *states = malloc(N * bytes), *again = malloc(N * bytes);
    model->world->reset(model, (lud_range){.seed = 1, .n = N, .tick = tick}, states);
    model->world->reset(model, (lud_range){.seed = 1, .n = N, .tick = tick}, again);
    assert_memory_equal(states, again, N * bytes);
    int map_count[2] = {0}, place[20] = {0}, facing[4] = {0};
    for (size_t e = 0; e < N; e++) {
        lud_grid_scene_read(scene, model, states + e * bytes);
        map_count[scene->map]++;
        place[scene->agents[1].y * 5 + scene->agents[1].x]++;
        facing[scene->agents[1].direction]++;
        assert_true(scene->agents[0].x != scene->agents[1].x || scene->agents[0].y != scene->agents[1].y);
    }
    /* Means 1500, 500 and 750; five standard deviations are below 140, 103 and 119. */
    assert_in_range(map_count[0], 1360, 1640);
    for (int y = 1; y < 3; y++)
        for (int x = 1; x < 4; x++) assert_in_range(place[y * 5 + x], 397, 603);
    for (int d = 0; d < 4; d++) assert_in_range(facing[d], 631, 869);
    free(tick);
    free(states);
    free(again);
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

/* As many agents as there may be, and no cell more. In most environments everybody gets a place in a few
 * hundred draws; the environment of the first is one of some millions where the last agent meets a thousand
 * refusals. */
static void random_starts_on_a_full_map(void **unused) {
    (void)unused;
    enum { SIDE = 10, REFUSED = 9969742 };
    static lud_grid_object cells[SIDE * SIDE];
    static lud_grid_agent agents[LUD_GRID_MAX_AGENTS];
    for (int c = 0; c < SIDE * SIDE; c++) {
        const bool inside = c / SIDE % (SIDE - 1) && c % SIDE % (SIDE - 1);
        cells[c] = lud_grid_object_default(inside ? LUD_EMPTY : LUD_WALL);
    }
    for (int i = 0; i < LUD_GRID_MAX_AGENTS; i++)
        agents[i] = (lud_grid_agent){.x = 1 + i % 8, .y = 1 + i / 8, .colour = LUD_GREY};
    lud_grid_map map = {.cells = cells, .agents = agents};
    lud_grid_spec spec = {.width = SIDE,
                          .height = SIDE,
                          .n_agents = LUD_GRID_MAX_AGENTS,
                          .max_steps = 9,
                          .maps = &map,
                          .n_maps = 1,
                          .random_start = true};
    lud_model *model;
    lud_error error = {0};
    assert_int_equal(lud_grid_model_create(&spec, &model, &error), LUD_OK);
    lud_grid_scene *scene = lud_grid_scene_create(model);
    uint8_t state[1024];
    assert_true(model->layout.state_bytes <= sizeof state);
    for (uint32_t k = 0; k < 20; k++) {
        uint32_t tick = 0;
        bool taken[SIDE * SIDE] = {false};
        model->world->reset(
            model, (lud_range){.seed = 1, .first_environment = REFUSED + k, .n = 1, .tick = &tick}, state);
        lud_grid_scene_read(scene, model, state);
        for (int i = 0; i < LUD_GRID_MAX_AGENTS; i++) {
            const int at = scene->agents[i].y * SIDE + scene->agents[i].x;
            assert_int_equal(cells[at].type, LUD_EMPTY);
            assert_false(taken[at]);
            taken[at] = true;
        }
    }
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

/* A map with more agents than one byte of a joint action can hold still fails cleanly. */
static void too_many_outcomes_are_an_error(void **unused) {
    (void)unused;
    static lud_grid_object cells[40 * 3];
    static lud_grid_agent agents[40];
    for (int c = 0; c < 120; c++) cells[c] = lud_grid_object_default(LUD_UNSTEADY_GROUND);
    for (int i = 0; i < 40; i++) agents[i] = (lud_grid_agent){.x = i, .y = 1, .colour = LUD_GREY};
    lud_grid_map map = {.cells = cells, .agents = agents};
    lud_grid_spec spec = {
        .width = 40, .height = 3, .n_agents = 40, .max_steps = 9, .maps = &map, .n_maps = 1};
    lud_model *model;
    lud_error error = {0};
    assert_int_equal(lud_grid_model_create(&spec, &model, &error), LUD_OK);
    assert_int_equal(lud_joint_action_count(&model->layout), 0);
    uint8_t state[256];
    int32_t forward[40];
    for (int i = 0; i < 40; i++) forward[i] = FORWARD;
    model->world->reset(model, one_environment, state);
    lud_successors found = {0};
    assert_int_equal(model->world->successors(model, state, forward, &found, &error), LUD_ERROR_LIMIT);
    /* Stepping needs no list. */
    model->world->step(model, one_environment, state, (lud_actions){.discrete = forward}, (lud_outcome){0});
    /* Fewer: 3^9 outcomes, found through a table and merged. */
    for (int i = 9; i < 40; i++) forward[i] = STILL;
    model->world->reset(model, one_environment, state);
    assert_int_equal(model->world->successors(model, state, forward, &found, &error), LUD_OK);
    double sum = 0;
    for (size_t k = 0; k < found.n; k++) sum += found.probability[k];
    assert_true(found.n > 1000 && sum > 1 - 1e-12 && sum < 1 + 1e-12);
    lud_successors_free(&found);
    lud_grid_model_destroy(model);
}

/* --- Rewards and goals --- */

static void rewards_are_paid_to_those_who_earn_them(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"#######", "#ykgl.#", "#e....#", "#######", NULL}, "ee", false);
    s.spec.rewards = (lud_grid_rewards){.goal = 10, .step = -0.5, .lava = -7};
    s.spec.rewards.collect.key = 2;
    lud_model *model = sketch_model(&s);
    uint8_t state[64], terminated;
    model->world->reset(model, one_environment, state);
    static const struct {
        int32_t actions[2];
        float rewards[2];
    } steps[] = {{{PICKUP, STILL}, {1.5f, -0.5f}},
                 {{FORWARD, STILL}, {-0.5f, -0.5f}},
                 {{FORWARD, STILL}, {9.5f, -0.5f}},
                 {{FORWARD, STILL}, {-7.5f, -0.5f}},
                 {{FORWARD, STILL}, {0, -0.5f}}};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        float rewards[2];
        model->world->step(model, one_environment, state, (lud_actions){.discrete = steps[k].actions},
                           (lud_outcome){.rewards = rewards, .terminated = &terminated});
        assert_memory_equal(rewards, steps[k].rewards, sizeof rewards);
        assert_int_equal(terminated, 0);
    }
    lud_grid_model_destroy(model);
    s.spec.rewards.shared = s.spec.rewards.goal_ends = true;
    model = sketch_model(&s);
    model->world->reset(model, one_environment, state);
    for (size_t k = 0; k < 3; k++) {
        float rewards[2];
        assert_false(model->world->is_terminal(model, state));
        model->world->step(model, one_environment, state, (lud_actions){.discrete = steps[k].actions},
                           (lud_outcome){.rewards = rewards, .terminated = &terminated});
        assert_true(rewards[0] == rewards[1]);
        assert_true(rewards[0] == steps[k].rewards[0] + steps[k].rewards[1]);
        assert_int_equal(terminated, k == 2);
    }
    assert_true(model->world->is_terminal(model, state));
    lud_grid_model_destroy(model);
    /* The own goal counts, somebody else's for nothing. */
    s.spec.rewards.own_goal_only = 1;
    for (int own = 0; own < 2; own++) {
        s.cells[10].colour = own ? s.agents[0].colour : LUD_BLUE;
        model = sketch_model(&s);
        model->world->reset(model, one_environment, state);
        for (size_t k = 0; k < 3; k++) {
            float rewards[2];
            model->world->step(model, one_environment, state, (lud_actions){.discrete = steps[k].actions},
                               (lud_outcome){.rewards = rewards, .terminated = &terminated});
            if (k == 2) assert_true(rewards[0] == (own ? 9.0f : -1.0f) && rewards[1] == rewards[0]);
            assert_int_equal(terminated, own && k == 2);
            assert_int_equal(model->world->is_terminal(model, state), own && k == 2);
        }
        lud_grid_model_destroy(model);
    }
}

static void goals_belong_to_people(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, room, "ee", false);
    lud_grid_goal goals[3] = {
        {2, 1, 2, 1, true, 0.25, -1}, {1, 1, 3, 2, false, 0.75, -1}, {3, 1, 3, 1, true, 1, 1}};
    s.spec.goals = goals;
    s.spec.n_goals = 3;
    lud_model *model = sketch_model(&s);
    const lud_world *world = model->world;
    assert_int_equal(world->n_goals(model, 0), 2);
    assert_int_equal(world->n_goals(model, 1), 1);
    assert_true(world->goal_weight(model, 0, 0) == 0.25 && world->goal_weight(model, 0, 1) == 0.75);
    uint8_t state[64];
    world->reset(model, one_environment, state);
    assert_false(world->achieved(model, state, 0, 0));
    assert_true(world->achieved(model, state, 0, 1));
    assert_true(world->achieved(model, state, 1, 0));
    lud_text text = {0};
    world->describe_goal(model, 0, 0, &text);
    assert_string_equal(text.bytes, "be at (2, 1)");
    lud_text_free(&text);
    lud_grid_model_destroy(model);
}

/* --- Observations --- */

static void observe(const lud_model *model, const uint8_t *state, void *const *parts) {
    model->world->observe(model, one_environment, state, parts);
}

/* Words and cells of a partial view: light stops at walls and closed doors, the window turns with the agent.
 */
static void partial_views_show_what_is_lit(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(
        &s,
        (const char *[]){"#######", "#..k..#", "#.....#", "###D###", "#.....#", "#..y.B#", "#######", NULL},
        "n", false);
    s.spec.observation.view = LUD_VIEW_PARTIAL;
    s.spec.observation.size = 5;
    for (int through = 0; through < 2; through++) {
        s.spec.observation.see_through_walls = through;
        s.spec.observation.coding = LUD_CODING_COMPACT;
        lud_model *model = sketch_model(&s);
        assert_string_equal(model->layout.parts[0].name, "grid");
        assert_int_equal(model->layout.parts[0].bytes, 25 * 4);
        uint8_t state[64];
        int32_t grid[25];
        float globals[4], self[13];
        model->world->reset(model, one_environment, state);
        observe(model, state, (void *const[]){grid, globals, self});
        /* Rows from the top: two beyond the door, the wall with the door, the room, the agent's row. */
        assert_int_equal(lud_grid_code_fields(grid[4 * 5 + 2]).agent, LUD_YELLOW);
        assert_int_equal(grid[4 * 5 + 1], LUD_CODE_EMPTY);
        assert_int_equal(lud_grid_code_fields(grid[4 * 5 + 4]).type, LUD_CHANNEL_BLOCK);
        assert_int_equal(lud_grid_code_fields(grid[2 * 5 + 2]).type, LUD_CODE_DOOR);
        assert_int_equal(grid[2 * 5 + 1], LUD_CODE_WALL);
        assert_int_equal(grid[1 * 5 + 2], through ? LUD_CODE_EMPTY : LUD_GRID_WORD_UNSEEN);
        assert_int_equal(lud_grid_code_fields(grid[0 * 5 + 2]).type,
                         through ? LUD_CODE_KEY : LUD_CODE_NOTHING);
        assert_true(self[0] == 3 && self[1] == 5 && self[5] == 1);
        lud_grid_model_destroy(model);
        s.spec.observation.coding = LUD_CODING_CELLS;
        model = sketch_model(&s);
        uint8_t cells[5][5][6];
        observe(model, state, (void *const[]){cells});
        const uint8_t me[6] = {LUD_AGENT, LUD_YELLOW, 0, 0, LUD_NORTH, 1}, nothing[6] = {LUD_EMPTY},
                      dark[6] = {0};
        assert_memory_equal(cells[2][4], me, 6);
        assert_memory_equal(cells[1][4], nothing, 6);
        assert_memory_equal(cells[2][1], through ? nothing : dark, 6);
        assert_int_equal(cells[2][2][0], LUD_DOOR);
        assert_int_equal(cells[2][2][2], LUD_DOOR_CLOSED);
        /* Facing east at the same place: the block two cells ahead, the outer wall beyond. */
        int32_t right = RIGHT;
        model->world->step(model, one_environment, state, (lud_actions){.discrete = &right},
                           (lud_outcome){0});
        observe(model, state, (void *const[]){cells});
        assert_int_equal(cells[2][2][0], LUD_BLOCK);
        assert_int_equal(cells[2][1][0], LUD_WALL);
        assert_int_equal(cells[3][4][0], LUD_WALL);               /* on its right hand: south */
        assert_int_equal(cells[4][4][0], through ? LUD_WALL : 0); /* outside the grid is wall */
        lud_grid_model_destroy(model);
    }
}

/* A situation is what changes for good: where the agent is and what it holds, rocks, and every door, bush and
 * button, however many there are; neither the time nor other agents. */
static void situations_are_what_changes_for_good(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"########", "#yDDDDD#", "#e*DLDO#", "#.kR.KP#", "########", NULL}, "es",
                false);
    lud_model *model = sketch_model(&s);
    const lud_grid_model *m = (const lud_grid_model *)model;
    uint8_t start[64], state[64];
    model->world->reset(model, one_environment, start);
    const uint64_t here = model->world->situation(model, start, 0);
    assert_true(here != model->world->situation(model, start, 1));
    assert_in_range(m->n_conditions, 9, 64);
    for (int c = 0; c < m->n_conditions; c++) {
        memcpy(state, start, sizeof state);
        state[m->at.condition + (uint32_t)c / 4] ^= (uint8_t)(1 << 2 * (c % 4));
        assert_true(model->world->situation(model, state, 0) != here);
    }
    memcpy(state, start, sizeof state);
    state[m->at.step] ^= 1;
    state[m->at.agent] ^= LUD_AGENT_DIRECTION;
    lud_grid_put_cell(m, state, m->at.cell, 1, lud_grid_get_cell(m, state, m->at.cell, 1) + 1);
    assert_true(model->world->situation(model, state, 0) == here);
    const int n_pushed = m->classes[LUD_CLASS_ROCK].begin + m->classes[LUD_CLASS_ROCK].n;
    assert_true(n_pushed > 0 && n_pushed < m->n_slots);
    for (int slot = 0; slot < m->n_slots; slot++) { /* what is carried lies anywhere */
        memcpy(state, start, sizeof state);
        lud_grid_put_cell(m, state, m->at.piece, slot, lud_grid_get_cell(m, state, m->at.piece, slot) + 1);
        assert_int_equal(model->world->situation(model, state, 0) == here, slot >= n_pushed);
    }
    memcpy(state, start, sizeof state);
    lud_grid_put_cell(m, state, m->at.cell, 0, lud_grid_get_cell(m, state, m->at.cell, 0) + 1);
    assert_true(model->world->situation(model, state, 0) != here);
    lud_grid_model_destroy(model);
}

/* Every number of a state that differs has a line of its own. */
static void differences_are_listed(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"#######", "#y.kDb#", "#eBPR*#", "#..KCC#", "#######", NULL}, "es",
                false);
    lud_model *model = sketch_model(&s);
    const lud_grid_model *m = (const lud_grid_model *)model;
    uint8_t start[64], state[64];
    int n_lines = 0;
    model->world->reset(model, one_environment, start);
    for (size_t at = 0; at < model->layout.state_bytes; at++) {
        lud_text found = {0};
        char wanted[128] = "";
        memcpy(state, start, sizeof state);
        state[at] ^= 5;
        for (int k = 0; k < LUD_GRID_N_FIELDS; k++)
            for (int i = 0; i < m->field[k].count; i++) {
                const size_t begin = (size_t)(m->field[k].offset + i * m->field[k].bytes);
                if (at < begin || at >= begin + (size_t)m->field[k].bytes) continue;
                unsigned numbers[2] = {0};
                for (int b = 0; b < m->field[k].bytes; b++) {
                    numbers[0] |= (unsigned)start[begin + (size_t)b] << 8 * b;
                    numbers[1] |= (unsigned)state[begin + (size_t)b] << 8 * b;
                }
                snprintf(wanted, sizeof wanted, "%s[%d]: %u -> %u\n", m->field[k].name, i, numbers[0],
                         numbers[1]);
                n_lines++;
            }
        lud_grid_diff(model, start, state, &found);
        assert_string_equal(found.bytes ? found.bytes : "", wanted);
        lud_text_free(&found);
    }
    assert_int_equal(n_lines, model->layout.state_bytes);
    lud_grid_model_destroy(model);
}

/* The choice that does nothing is called so, where there is one. */
static void nothing_is_done_by_name(void **unused) {
    (void)unused;
    int n_idle = 0;
    for (int set = 0; set <= LUD_ACTIONS_MINE; set++) {
        sketch s;
        sketch_draw(&s, (const char *[]){"#####", "#y.r#", "#####", NULL}, "ew", false);
        s.spec.actions = (lud_grid_action_set)set;
        lud_model *model = sketch_model(&s);
        const lud_layout *layout = &model->layout;
        for (int i = 0; i < layout->n_agents; i++) {
            const int idle = layout->idle ? layout->idle[i] : -1;
            for (int a = 0; a < layout->actions[i].n_discrete; a++)
                assert_int_equal(!strcmp(layout->actions[i].names[a], "still"), a == idle);
            n_idle += idle >= 0;
        }
        lud_grid_model_destroy(model);
    }
    assert_true(n_idle > 0);
}

/* No two pieces in one cell, none outside. */
static void states_that_cannot_be_are_refused(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"#######", "#y.k.b#", "#.B.R.#", "#######", NULL}, "e", false);
    lud_model *model = sketch_model(&s);
    const lud_grid_model *m = (const lud_grid_model *)model;
    uint8_t start[64], state[64];
    lud_error error = {0};
    model->world->reset(model, one_environment, start);
    assert_int_equal(model->world->check_state(model, start, &error), LUD_OK);
    assert_int_equal(m->n_slots, 4);
    for (int a = 0; a < m->n_slots; a++)
        for (int b = 0; b < m->n_slots; b++) { /* one piece on another */
            const uint32_t cell = lud_grid_get_cell(m, start, m->at.piece, b);
            memcpy(state, start, sizeof state);
            lud_grid_put_cell(m, state, m->at.piece, a, cell);
            const lud_status status = model->world->check_state(model, state, &error);
            assert_int_equal(status, a == b ? LUD_OK : LUD_ERROR_INPUT);
            if (a != b) assert_non_null(strstr(error.text, "two pieces are in cell"));
        }
    memcpy(state, start, sizeof state); /* beyond the map */
    lud_grid_put_cell(m, state, m->at.piece, 0, (uint32_t)m->n_cells + 1);
    assert_int_equal(model->world->check_state(model, state, &error), LUD_ERROR_INPUT);
    lud_grid_model_destroy(model);
}

/* The lossless words tell what the reference's cannot: empty from wall, and what an agent stands on. */
static void words_lose_nothing_under_agents(void **unused) {
    (void)unused;
    sketch s;
    sketch_draw(&s, (const char *[]){"#####", "#yg.#", "#MO~#", "#####", NULL}, "e", true);
    lud_model *model = sketch_model(&s);
    const lud_grid_model *m = (const lud_grid_model *)model;
    lud_grid_scene *scene = lud_grid_scene_create(model);
    uint8_t state[64];
    int32_t words[20], reference[20];
    lud_error error = {0};
    model->world->reset(model, one_environment, state);
    lud_grid_scene_read(scene, model, state);
    static const int places[][2] = {{2, 1}, {1, 2}, {2, 2}, {3, 2}};
    for (size_t k = 0; k < 4; k++) {
        int c = places[k][1] * 5 + places[k][0];
        lud_grid_encode_words(m, state, false, 4, 5, words);
        lud_grid_cell before = lud_grid_code_fields(words[c]);
        scene->agents[0].x = places[k][0];
        scene->agents[0].y = places[k][1];
        assert_int_equal(lud_grid_scene_write(scene, model, state, &error), LUD_OK);
        lud_grid_encode_words(m, state, false, 4, 5, words);
        lud_grid_cell after = lud_grid_code_fields(words[c]);
        assert_int_equal(after.agent, LUD_YELLOW);
        after.agent = before.agent;
        assert_memory_equal(&before, &after, sizeof before);
        lud_grid_encode_words(m, state, true, 4, 5, reference);
        assert_int_equal(lud_grid_code_fields(reference[c]).type, 0);
    }
    assert_int_equal(words[8], LUD_CODE_EMPTY);
    assert_int_equal(words[0], LUD_CODE_WALL);
    assert_int_equal(reference[8], reference[0]);
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

/* Parts of a range are those of its environments, whatever the kind of observation. */
static void observations_of_ranges_are_those_of_states(void **unused) {
    (void)unused;
    enum { N = 8 };
    random_source source = {31};
    for (int g = 0; g < 60; g++) {
        random_grid grid;
        random_grid_make(&source, &grid);
        grid.spec.observation.view = g % 2;
        grid.spec.observation.coding = g / 2 % 2;
        grid.spec.observation.size = 3 + 2 * (g % 3);
        lud_model *model;
        lud_error error = {0};
        assert_int_equal(lud_grid_model_create(&grid.spec, &model, &error), LUD_OK);
        lud_grid_scene *scene = lud_grid_scene_create(model);
        const lud_layout *layout = &model->layout;
        uint8_t *states = malloc(N * layout->state_bytes);
        for (size_t e = 0; e < N; e++) {
            uint8_t *state = states + e * layout->state_bytes;
            model->world->reset(model, one_environment, state);
            lud_grid_scene_read(scene, model, state);
            random_scene(&source, &grid.spec, scene, layout->actions[0].n_discrete);
            assert_int_equal(lud_grid_scene_write(scene, model, state, &error), LUD_OK);
        }
        void *all[LUD_MAX_OBSERVATION_PARTS], *one[LUD_MAX_OBSERVATION_PARTS];
        for (int p = 0; p < layout->n_parts; p++) {
            all[p] = malloc(N * layout->parts[p].bytes);
            one[p] = malloc(layout->parts[p].bytes);
            memset(all[p], 0xab, N * layout->parts[p].bytes);
        }
        model->world->observe(model, (lud_range){.n = N, .tick = (uint32_t[N]){0}}, states, all);
        for (size_t e = 0; e < N; e++) {
            observe(model, states + e * layout->state_bytes, one);
            for (int p = 0; p < layout->n_parts; p++)
                assert_memory_equal((char *)all[p] + e * layout->parts[p].bytes, one[p],
                                    layout->parts[p].bytes);
        }
        for (int p = 0; p < layout->n_parts; p++) {
            free(all[p]);
            free(one[p]);
        }
        free(states);
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_small),
        cmocka_unit_test(differences_are_listed),
        cmocka_unit_test(situations_are_what_changes_for_good),
        cmocka_unit_test(nothing_is_done_by_name),
        cmocka_unit_test(states_that_cannot_be_are_refused),
        cmocka_unit_test(some_grids_cannot_be_written),
        cmocka_unit_test(equal_states_are_equal_bytes),
        cmocka_unit_test(wide_grids_use_two_bytes_a_cell),
        cmocka_unit_test(wrong_scenes_are_refused),
        cmocka_unit_test(actions_are_chosen_by_what_there_is),
        cmocka_unit_test(random_starts_draw_maps_and_places),
        cmocka_unit_test(random_starts_on_a_full_map),
        cmocka_unit_test(too_many_outcomes_are_an_error),
        cmocka_unit_test(rewards_are_paid_to_those_who_earn_them),
        cmocka_unit_test(goals_belong_to_people),
        cmocka_unit_test(partial_views_show_what_is_lit),
        cmocka_unit_test(words_lose_nothing_under_agents),
        cmocka_unit_test(observations_of_ranges_are_those_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
