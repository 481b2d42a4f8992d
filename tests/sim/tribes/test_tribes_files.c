/* Tribes files: what is read, what is refused and where, what is written back, random maps; and what agents
 * are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_model.h"
#include "sim/scenario.h"
#include "sim/tribes/support_tribes.h"
#include "sim/tribes/tribes_map.h"

/* --- What is refused --- */

static void test_errors_name_place_and_expectation(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"tribes:\n  map: [A1]\n", "test:2:3: expected the key 'teams'"},
        {"tribes:\n  teams: [{agents: 1}]\n", "test:2:3: tribes: expected either a map or"},
        {"tribes:\n  map: [A1]\n  generate: {}\n  teams: [{}]\n", "expected either a map or"},
        {"tribes:\n  map: [A1]\n  teams: []\n", "test:3:10: teams: expected a list of 1 to 6 teams"},
        {"tribes:\n  map: [A1, 'x.']\n  teams: [{}]\n", "test:2:14: expected one of . ~ g w o, A to A"},
        {"tribes:\n  map: |\n    A1.\n    .2.\n  teams: [{}]\n", "test:4:6: expected one of"},
        {"tribes:\n  map: [A1., '..']\n  teams: [{}]\n", "expected a row of 3 cells, found 2"},
        {"tribes:\n  map: [.1]\n  teams: [{}]\n", "expected a storehouse A of the team red"},
        {"tribes:\n  map: [A.]\n  teams: [{}]\n", "expected 1 agents 1 of the team red in the map, found 0"},
        {"tribes:\n  map: [A1]\n  teams: [{agents: 2}]\n", "expected 2 agents 1 of the team red"},
        {"tribes:\n  map: [A1]\n  teams: [{values: [1, 2]}]\n", "three numbers, of grain, wood and ore"},
        {"tribes:\n  map: [A1]\n  teams: [{values: [1, 2, 10]}]\n", "10"},
        {"tribes:\n  map: [A1B2]\n  teams: [{name: a}, {name: a}]\n", "two teams of the name 'a'"},
        {"tribes:\n  map: [A1]\n  teams: [{name: 'a b'}]\n", "one word, found 'a b'"},
        {"tribes:\n  map: [A1]\n  teams: [{}]\n  carryy: 3\n", "did you mean 'carry'"},
        {"tribes:\n  map: [A1]\n  teams: [{}]\n  steal: {open: 2}\n", "test:4:17"},
        {"tribes:\n  map: [A1.]\n  random_start: true\n  teams: [{}]\ngoals: [{cell: [3, 0]}]\n",
         "test:5:17"},
        {"tribes:\n  map: [A1]\n  teams: [{}]\ngoals: [{stored: 1, cell: [0, 0]}]\n",
         "expected one of stored, cell and rectangle"},
        {"tribes:\n  generate: {size: [5, 5]}\n  teams: [{}]\n", "how many agents the team red has"},
        {"tribes:\n  generate: {size: [5, 5]}\n  teams: [{agents: 200}, {agents: 57}]\n",
         "at most 256 agents"},
        {"tribes:\n  generate: {size: [5, 5], grain: 20}\n  teams: [{agents: 9}]\n",
         "found no map of 5 by 5"},
        {"tribes: 3\n", "expected the keys of the world"},
        {"world: tribes\n", "expected the section 'tribes'"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        lud_arena *arena = lud_arena_create(0);
        lud_error error = {0};
        lud_tree *root;
        lud_model *model;
        assert_int_equal(
            lud_tree_read_text(arena, "test", wrong[k].text, strlen(wrong[k].text), &root, &error), LUD_OK);
        if (!lud_tribes_world.parse(&lud_tribes_world, root, "test", 1, &model, &error))
            fail_msg("read without an error:\n%s", wrong[k].text);
        if (!strstr(error.text, wrong[k].message))
            fail_msg("expected '%s', found '%s'", wrong[k].message, error.text);
        lud_arena_destroy(arena);
    }
}

/* --- What is written back --- */

static void test_files_are_written_back(void **unused) {
    (void)unused;
    static const char *const names[] = {"market", "village", "raid", "small", "crowd"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char path[256];
        lud_error error = {0};
        lud_scenario *scenario, *again;
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/tribes/%s.yaml", names[k]);
        if (lud_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
        lud_arena *arena = lud_arena_create(0);
        lud_tree *root;
        char *text[2];
        size_t length[2];
        assert_int_equal(lud_scenario_effective(scenario, arena, &root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &text[0], &length[0], &error), LUD_OK);
        if (lud_scenario_read("again", text[0], length[0], NULL, 0, &again, &error))
            fail_msg("%s\n%s", error.text, text[0]);
        assert_int_equal(lud_scenario_effective(again, arena, &root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &text[1], &length[1], &error), LUD_OK);
        assert_string_equal(text[0], text[1]);
        const lud_tribes_model *a = lud_tribes_of(scenario->model), *b = lud_tribes_of(again->model);
        assert_int_equal(a->base.layout.state_bytes, b->base.layout.state_bytes);
        for (int m = 0; m < a->spec.n_maps; m++)
            assert_memory_equal(a->spec.maps[m], b->spec.maps[m], (size_t)a->n_cells);
        lud_arena_destroy(arena);
        lud_scenario_destroy(scenario);
        lud_scenario_destroy(again);
    }
}

/* Goals are written as they were read, however many there are. */
static void test_goals_are_written_back(void **unused) {
    (void)unused;
    static const char *const goals[] = {
        "", "goals:\n  - {stored: 2, weight: 3}\n", "goals:\n  - {cell: [1, 0]}\n",
        "goals:\n  - {rectangle: [0, 0, 2, 1], weight: 0.5}\n  - {cell: [2, 0]}\n"
        "  - {stored: 1}\n"};
    for (size_t k = 0; k < sizeof goals / sizeof *goals; k++) {
        char text[512], *written;
        size_t length;
        lud_error error = {0};
        lud_scenario *scenario, *again;
        lud_tree *root;
        snprintf(text, sizeof text,
                 "ludus: 1\nworld: tribes\ntribes:\n  map: |\n    g . w\n    1 A 1\n"
                 "  teams: [{role: human, robots: 1}]\n%s",
                 goals[k]);
        if (lud_scenario_read("goals", text, strlen(text), NULL, 0, &scenario, &error))
            fail_msg("%s", error.text);
        lud_arena *arena = lud_arena_create(0);
        assert_int_equal(lud_scenario_effective(scenario, arena, &root, &error), LUD_OK);
        assert_int_equal(lud_tree_write(arena, root, &written, &length, &error), LUD_OK);
        if (lud_scenario_read("again", written, length, NULL, 0, &again, &error)) fail_msg("%s", error.text);
        const lud_tribes_spec *a = &lud_tribes_of(scenario->model)->spec,
                              *b = &lud_tribes_of(again->model)->spec;
        assert_int_equal(a->n_goals, k < 3 ? k > 0 : 3);
        assert_int_equal(b->n_goals, a->n_goals);
        for (int g = 0; g < a->n_goals; g++) {
            const lud_tribes_goal *x = &a->goals[g], *y = &b->goals[g];
            assert_true(x->stored == y->stored && x->units == y->units && x->cell == y->cell &&
                        x->x1 == y->x1 && x->y1 == y->y1 && x->x2 == y->x2 && x->y2 == y->y2 &&
                        x->weight == y->weight);
        }
        lud_arena_destroy(arena);
        lud_scenario_destroy(scenario);
        lud_scenario_destroy(again);
    }
}

/* --- Random maps --- */

static void test_random_maps_have_what_is_asked_for(void **unused) {
    (void)unused;
    for (int seed = 0; seed < 20; seed++) {
        char section[512];
        snprintf(section, sizeof section,
                 "  generate: {size: [22, 15], houses: 2, water: 0.1, grain: 11, wood: 12, ore: 13, maps: 3, "
                 "seed: %d}\n  teams: [{agents: 5}, {agents: 3}, {agents: 7}]\n",
                 seed);
        lud_model *model = tribes_make(section), *same = tribes_make(section);
        const lud_tribes_model *m = lud_tribes_of(model);
        uint8_t mark[22 * 15];
        uint16_t queue[22 * 15];
        assert_int_equal(m->spec.n_maps, 3);
        assert_memory_not_equal(m->spec.maps[0], m->spec.maps[1], (size_t)m->n_cells);
        for (int k = 0; k < 3; k++) {
            int count[128] = {0};
            for (int c = 0; c < m->n_cells; c++) count[(int)m->spec.maps[k][c]]++;
            assert_int_equal(count['g'], 11);
            assert_int_equal(count['w'], 12);
            assert_int_equal(count['o'], 13);
            assert_int_equal(count['~'], 33);
            assert_true(count['A'] == 2 && count['B'] == 2 && count['C'] == 2);
            assert_true(count['1'] == 5 && count['2'] == 3 && count['3'] == 7);
            assert_true(lud_tribes_is_connected(m->spec.maps[k], 22, 15, mark, queue));
            assert_memory_equal(m->spec.maps[k], lud_tribes_of(same)->spec.maps[k], (size_t)m->n_cells);
        }
        lud_tribes_world.free(model);
        lud_tribes_world.free(same);
    }
    uint8_t mark[6];
    uint16_t queue[6];
    assert_false(lud_tribes_is_connected("1~gA~.", 3, 2, mark, queue));
    assert_true(lud_tribes_is_connected("1.gA~.", 3, 2, mark, queue));
}

/* Goals are what the file says, their weights in parts of one. */
static void test_goals_are_read(void **unused) {
    (void)unused;
    lud_model *model =
        tribes_make("  map: ['1..', 'A..']\n  teams: [{}]\n"
                    "goals: [{cell: [2, 1]}, {rectangle: [1, 0, 2, 1], weight: 2}, {stored: 4}]\n");
    static const lud_tribes_goal expected[] = {
        {.x1 = 2, .y1 = 1, .x2 = 2, .y2 = 1, .cell = true, .weight = 0.25},
        {.x1 = 1, .y1 = 0, .x2 = 2, .y2 = 1, .weight = 0.5},
        {.stored = true, .units = 4, .weight = 0.25}};
    const lud_tribes_spec *spec = &lud_tribes_of(model)->spec;
    assert_int_equal(spec->n_goals, 3);
    for (int g = 0; g < 3; g++) {
        const lud_tribes_goal *a = &spec->goals[g], *b = &expected[g];
        assert_true(a->stored == b->stored && a->units == b->units && a->cell == b->cell);
        if (!a->stored) assert_true(a->x1 == b->x1 && a->y1 == b->y1 && a->x2 == b->x2 && a->y2 == b->y2);
        assert_true(a->weight == b->weight);
    }
    lud_tribes_world.free(model);
}

/* A cell, a rectangle with its edges, and what a team has stored, whoever asks. */
static void test_goals_are_reached(void **unused) {
    (void)unused;
    lud_model *model =
        tribes_make("  map: ['1...2', '.....', 'A...B', '.....']\n"
                    "  teams: [{role: human}, {role: human}]\n"
                    "goals: [{cell: [2, 1]}, {rectangle: [1, 1, 3, 2], weight: 2}, {stored: 4}]\n");
    static const double weights[] = {0.25, 0.5, 0.25};
    uint8_t *state = calloc(1, model->layout.state_bytes);
    uint32_t tick = 0;
    lud_tribes_world.reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    for (int agent = 0; agent < 2; agent++) {
        assert_int_equal(lud_tribes_world.n_goals(model, agent), 3);
        for (int g = 0; g < 3; g++) {
            lud_text said = {0};
            assert_true(lud_tribes_world.goal_weight(model, agent, g) == weights[g]);
            lud_tribes_world.describe_goal(model, agent, g, &said);
            assert_string_equal(said.bytes, g == 0   ? "be at (2, 1)"
                                            : g == 1 ? "be in the rectangle (1, 1) to (3, 2)"
                                                     : "4 units in the storehouse");
            lud_text_free(&said);
        }
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 5; x++) {
                tribes_put(model, state, agent, x, y, 0, 0, 0);
                assert_int_equal(lud_tribes_world.achieved(model, state, agent, 0), x == 2 && y == 1);
                assert_int_equal(lud_tribes_world.achieved(model, state, agent, 1),
                                 x >= 1 && x <= 3 && y >= 1 && y <= 2);
            }
    }
    for (int units = 2; units < 6; units++) {
        tribes_put_store(model, state, 1, LUD_GRAIN, 1);
        tribes_put_store(model, state, 1, LUD_ORE, units - 1);
        assert_int_equal(lud_tribes_world.achieved(model, state, 1, 2), units >= 4);
        assert_false(lud_tribes_world.achieved(model, state, 0, 2)); /* that is another team's */
    }
    tribes_put_store(model, state, 1, LUD_GRAIN, 9);
    assert_false(lud_tribes_world.achieved(model, state, 0, 2));
    free(state);
    lud_tribes_world.free(model);
}

/* Every free cell is as likely as any other, two agents never share one, and on a map that is full each has
 * the one that is left. */
static void test_random_starts(void **unused) {
    (void)unused;
    enum { EPISODES = 4000, CELLS = 9, AGENTS = 3 };
    lud_model *model = tribes_make("  map: ['1~..', '.1A.', '~.1.']\n  teams: [{}]\n  random_start: true\n");
    const lud_tribes_model *m = lud_tribes_of(model);
    const size_t bytes = model->layout.state_bytes;
    uint8_t *states = calloc(EPISODES, bytes);
    uint32_t *ticks = calloc(EPISODES, sizeof *ticks);
    int count[AGENTS][12] = {{0}}, free_cells = 0;
    lud_tribes_world.reset(model, (lud_range){.seed = 8, .n = EPISODES, .tick = ticks}, states);
    for (int e = 0; e < EPISODES; e++) {
        int at[AGENTS];
        for (int i = 0; i < AGENTS; i++) {
            at[i] = lud_tribes_cell(m, states + (size_t)e * bytes, i);
            assert_in_range(at[i], 0, 11);
            count[i][at[i]]++;
            for (int j = 0; j < i; j++) assert_int_not_equal(at[i], at[j]);
        }
        if (e < 10) { /* an environment is by itself what it is among others */
            uint8_t own[256];
            assert_true(bytes <= sizeof own);
            lud_tribes_world.reset(
                model, (lud_range){.seed = 8, .first_environment = (uint32_t)e, .n = 1, .tick = ticks}, own);
            assert_memory_equal(own, states + (size_t)e * bytes, bytes);
        }
    }
    for (int c = 0; c < 12; c++) {
        if (count[0][c] == 0) continue;
        free_cells++;
        for (int i = 0; i < AGENTS; i++) /* 5 standard deviations about a ninth */
            assert_in_range(count[i][c], EPISODES / CELLS - 105, EPISODES / CELLS + 105);
    }
    assert_int_equal(free_cells, CELLS); /* neither water nor the storehouse, but the cells of others */
    free(ticks);
    free(states);
    lud_tribes_world.free(model);

    model = tribes_make("  map: ['11', '1A']\n  teams: [{}]\n  random_start: true\n");
    uint8_t state[256];
    bool differs = false;
    for (uint32_t tick = 0; tick < 20; tick++) {
        int at[AGENTS];
        lud_tribes_world.reset(model, (lud_range){.seed = 8, .n = 1, .tick = &tick}, state);
        for (int i = 0; i < AGENTS; i++) at[i] = lud_tribes_cell(lud_tribes_of(model), state, i);
        assert_true(at[0] + at[1] + at[2] == 0 + 1 + 2 && at[0] != at[1] && at[1] != at[2]);
        differs |= at[0] != 0;
    }
    assert_true(differs);
    lud_tribes_world.free(model);
}

/* As many agents as there may be, and no cell more: of fifty times the last one is drawn its place in more
 * than a thousand draws once, and gets it all the same. */
static void test_crowded_starts(void **unused) {
    (void)unused;
    enum { SIDE = 17, AGENTS = LUD_TRIBES_MAX_AGENTS, EPISODES = 400 };
    char text[1024];
    int n = snprintf(text, sizeof text, "  map:\n");
    for (int y = 0; y < SIDE; y++) {
        char row[SIDE + 1] = {0};
        for (int x = 0; x < SIDE; x++) {
            const int cell = y * SIDE + x;
            row[x] = (char)(cell < AGENTS ? '1' : cell == AGENTS ? 'A' : '~');
        }
        n += snprintf(text + n, sizeof text - (size_t)n, "    - '%s'\n", row);
    }
    snprintf(text + n, sizeof text - (size_t)n, "  teams: [{}]\n  random_start: true\n");
    lud_model *model = tribes_make(text);
    uint8_t *state = malloc(model->layout.state_bytes);
    for (uint32_t tick = 0; tick < EPISODES; tick++) {
        bool taken[AGENTS] = {false};
        lud_tribes_world.reset(model, (lud_range){.seed = 8, .n = 1, .tick = &tick}, state);
        for (int i = 0; i < AGENTS; i++) {
            const int at = lud_tribes_cell(lud_tribes_of(model), state, i);
            assert_in_range(at, 0, AGENTS - 1);
            assert_false(taken[at]);
            taken[at] = true;
        }
    }
    free(state);
    lud_tribes_world.free(model);
}

static void test_ways_home(void **unused) {
    (void)unused;
    lud_model *model = tribes_make("  map: ['1.~.', 'A.~.', '..~.']\n  teams: [{}]\n");
    const lud_tribes_model *m = lud_tribes_of(model);
    static const int expected[] = {0, 1, -1, -1, -1, 0, -1, -1, 0, 1, -1, -1};
    for (int c = 0; c < 12; c++)
        assert_int_equal(m->maps[0].way_home[c], expected[c] < 0 ? LUD_TRIBES_NOBODY : expected[c]);
    lud_tribes_world.free(model);
}

/* --- What agents are told --- */

static void test_description_of_an_agent(void **unused) {
    (void)unused;
    lud_model *model = tribes_make("  map: ['A.g.', '1..2', '.1.B']\n  max_steps: 50\n  sight: 3\n"
                                   "  teams: [{values: [1, 3, 2]}, {values: [2, 1, 3]}]\n");
    uint8_t state[256];
    const uint32_t tick = 0;
    lud_text text = {0};
    lud_tribes_world.reset(model, (lud_range){.n = 1, .tick = &tick}, state);
    tribes_put(model, state, 0, 2, 1, 1, 0, 0);
    tribes_put(model, state, 2, 3, 1, 0, 2, 0);
    tribes_put_store(model, state, 1, LUD_ORE, 7);
    lud_tribes_world.describe_agent(model, state, 0, &text);
    assert_string_equal(text.bytes, "step 0 of 50\n"
                                    "you are agent 0 of red\n"
                                    "you carry 1 grain, room for 3\n"
                                    "home 2 west 1 north, holds nothing, go west or north\n"
                                    "grain 1 north, 5 units, go north\n"
                                    "blue 1 east, carries 2 wood, a swap pays\n"
                                    "friend 1 west 1 south, carries nothing\n"
                                    "store of blue 1 east 1 south, holds 7 ore, go south\n"
                                    "you can wait south west north trade steal defend\n");
    lud_text_clear(&text);
    lud_tribes_world.describe_team(model, 0, &text);
    assert_non_null(
        strstr(text.bytes, "You are of the team red. A unit is worth to you: grain 1, wood 3, ore 2."));
    assert_non_null(strstr(text.bytes, "To the team blue it is worth: grain 2, wood 1, ore 3."));
    for (int a = 0; a < LUD_TRIBES_ACTIONS; a++)
        assert_non_null(strstr(text.bytes, lud_tribes_action_names[a]));
    lud_text_free(&text);
    lud_tribes_world.free(model);
}

static void test_idle_choices(void **unused) {
    (void)unused;
    static const struct {
        const char *file;
        int idle;
    } worlds[] = {{"tribes/market", 0},
                  {"multigrid/rescue", 0},
                  {"particle/navigation", 0},
                  {"particle/simple_reference", -1}};
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds; k++) {
        char path[256];
        lud_error error = {0};
        lud_scenario *scenario;
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/%s.yaml", worlds[k].file);
        if (lud_scenario_load(path, NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
        assert_non_null(scenario->model->layout.idle);
        assert_int_equal(scenario->model->layout.idle[0], worlds[k].idle);
        lud_scenario_destroy(scenario);
    }
}

static void test_multigrid_tells_an_agent_what_is_near(void **unused) {
    (void)unused;
    static const char text[] = "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n"
                               "    We We We We We\n    We Ay .. Kr We\n    We .. Lr .. We\n"
                               "    We Ae .. .. We\n    We We We We We\n  max_steps: 9\n"
                               "goals:\n  - {cell: [3, 3], weight: 2}\n  - {cell: [1, 2]}\n";
    lud_error error = {0};
    lud_scenario *scenario;
    if (lud_scenario_read("test", text, strlen(text), NULL, 0, &scenario, &error)) fail_msg("%s", error.text);
    uint8_t state[64];
    const uint32_t tick = 0;
    lud_text told = {0};
    scenario->world->reset(scenario->model, (lud_range){.n = 1, .tick = &tick}, state);
    scenario->world->describe_agent(scenario->model, state, 0, &told);
    assert_string_equal(told.bytes, "step 0 of 9\n"
                                    "you are agent 0 (yellow, human) at (1, 1) facing east\n"
                                    "ahead free\n"
                                    "goal be at (3, 3)\n"
                                    "goal be at (1, 2)\n"
                                    "red key, 2 ahead\n"
                                    "red door: locked, 1 ahead 1 right\n"
                                    "grey agent 1, 2 right\n");
    assert_true(scenario->world->is_alive(scenario->model, state, 0));
    lud_text_free(&told);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_name_place_and_expectation),
        cmocka_unit_test(test_files_are_written_back),
        cmocka_unit_test(test_goals_are_written_back),
        cmocka_unit_test(test_random_maps_have_what_is_asked_for),
        cmocka_unit_test(test_goals_are_read),
        cmocka_unit_test(test_goals_are_reached),
        cmocka_unit_test(test_random_starts),
        cmocka_unit_test(test_crowded_starts),
        cmocka_unit_test(test_ways_home),
        cmocka_unit_test(test_description_of_an_agent),
        cmocka_unit_test(test_idle_choices),
        cmocka_unit_test(test_multigrid_tells_an_agent_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
