/* How what agents are told is laid out and scaled, who belongs to whom, what a map is like, and what a state
 * can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/tribes/support_tribes.h"
#include "sim/tribes/tribes_map.h"

/* Every option that a scale takes after another number, so that none can stand for another. */
#define SECTION                                                                                              \
    "  map: ['A1.2B2', '.g.w.2', 'C3.o..']\n  carry: 5\n  stock: 7\n  health: 11\n  hunger: 13\n"            \
    "  max_steps: 170\n  sight: 2\n  teams: [{robots: 1}, {role: human, robots: 2}, {role: human}]\n"
enum {
    TEAMS = 3,
    AGENTS = 5,
    WIDTH = 6,
    HEIGHT = 3,
    CARRY = 5,
    STOCK = 7,
    HEALTH = 11,
    STEPS = 170,
    SIGHT = 2
};

/* The next n factors bring numbers of up to `largest` to 1. */
static void assert_scaled(const float **at, int n, int largest) {
    for (int i = 0; i < n; i++, ++*at) assert_true(**at == (float)(1.0 / largest));
}

static const lud_observation_part *part(const lud_model *model, int p, const char *name, int n_dimensions) {
    const lud_observation_part *found = &model->layout.parts[p];
    assert_string_equal(found->name, name);
    assert_true(found->per_agent);
    assert_int_equal(found->n_dimensions, n_dimensions);
    for (int d = n_dimensions; d < 3; d++) assert_int_equal(found->dimensions[d], 0);
    return found;
}

static void test_numbers_are_scaled_to_one(void **unused) {
    (void)unused;
    lud_model *model = tribes_make(SECTION);
    assert_int_equal(model->layout.n_parts, 5);
    const lud_observation_part *self = part(model, 0, "self", 1);
    const float *at = self->scale;
    assert_scaled(&at, TEAMS, 1);
    assert_scaled(&at, 3, 3);         /* worth */
    assert_scaled(&at, 3 + 1, CARRY); /* load, room */
    assert_scaled(&at, 1, HEALTH);
    assert_scaled(&at, 1, STEPS);
    assert_scaled(&at, 1, WIDTH);
    assert_scaled(&at, 1, HEIGHT);
    assert_scaled(&at, 3, STOCK);
    assert_scaled(&at, 1, 1);
    assert_scaled(&at, 3, 50); /* in the storehouse */
    assert_scaled(&at, LUD_TRIBES_ACTIONS, 1);
    assert_int_equal(self->dimensions[0], at - self->scale);

    const lud_observation_part *ways = part(model, 1, "ways", 1);
    at = ways->scale;
    for (int w = 0; w < 5; w++) {
        assert_scaled(&at, 1, 1);
        assert_scaled(&at, 2, 10);
        assert_scaled(&at, 1, 20);
        assert_scaled(&at, 4, 1);
    }
    assert_int_equal(ways->dimensions[0], at - ways->scale);

    const lud_observation_part *others = part(model, 2, "others", 1);
    at = others->scale;
    for (int k = 0; k < 4; k++) {
        assert_scaled(&at, 1, 1);
        assert_scaled(&at, 2, SIGHT);
        assert_scaled(&at, 3, CARRY);
        assert_scaled(&at, 3, 3);
        assert_scaled(&at, 1, 1);
    }
    for (int k = 0; k < 3; k++) {
        assert_scaled(&at, 1, 1);
        assert_scaled(&at, 2, SIGHT);
        assert_scaled(&at, 1, CARRY);
    }
    assert_int_equal(others->dimensions[0], at - others->scale);

    const lud_observation_part *window = part(model, 3, "window", 3);
    at = window->scale;
    for (int c = 0; c < (2 * SIGHT + 1) * (2 * SIGHT + 1); c++) {
        assert_scaled(&at, 1, 6);
        assert_scaled(&at, 1, STOCK);
        assert_scaled(&at, 1, 2);
        assert_scaled(&at, 1, CARRY);
    }
    assert_true(window->dimensions[0] == 2 * SIGHT + 1 && window->dimensions[1] == 2 * SIGHT + 1);
    assert_int_equal(window->dimensions[2], 4);
    assert_int_equal(window->dimensions[0] * window->dimensions[1] * 4, at - window->scale);
    assert_int_equal(part(model, 4, "mask", 1)->dimensions[0], LUD_TRIBES_ACTIONS);
    assert_null(model->layout.parts[4].scale);
    lud_tribes_world.free(model);

    model = tribes_make("  map: [A1]\n  carry: 1\n  stock: 1\n  max_steps: 1\n  sight: 1\n  teams: [{}]\n");
    at = model->layout.parts[0].scale + 1 + 3;
    assert_scaled(&at, 3 + 1 + 1 + 1, 1); /* where nobody dies there is no health, which is 0 */
    assert_scaled(&at, 1, 2);
    assert_scaled(&at, 1 + 3, 1);
    lud_tribes_world.free(model);
}

static void test_parts_have_the_bytes_of_their_rows(void **unused) {
    (void)unused;
    lud_model *model = tribes_make(SECTION);
    for (int p = 0; p < model->layout.n_parts; p++) {
        const lud_observation_part *o = &model->layout.parts[p];
        size_t numbers = AGENTS;
        for (int d = 0; d < o->n_dimensions; d++) numbers *= (size_t)o->dimensions[d];
        assert_int_equal(o->dtype, p < 3 ? LUD_F32 : LUD_U8);
        assert_int_equal(o->bytes, numbers * (p < 3 ? sizeof(float) : 1));
    }
    lud_tribes_world.free(model);
}

static void test_agents_of_teams(void **unused) {
    (void)unused;
    static const int teams[AGENTS] = {0, 1, 1, 1, 2};
    static const lud_role roles[AGENTS] = {LUD_ROLE_ROBOT, LUD_ROLE_HUMAN, LUD_ROLE_ROBOT, LUD_ROLE_ROBOT,
                                           LUD_ROLE_HUMAN};
    static const char *const names[TEAMS] = {"red", "blue", "green"};
    lud_model *model = tribes_make(SECTION);
    const lud_layout *layout = &model->layout;
    assert_int_equal(layout->n_agents, AGENTS);
    assert_int_equal(layout->n_teams, TEAMS);
    assert_int_equal(layout->max_steps, STEPS);
    for (int t = 0; t < TEAMS; t++) assert_string_equal(layout->team_names[t], names[t]);
    for (int i = 0; i < AGENTS; i++) {
        assert_int_equal(layout->teams[i], teams[i]);
        assert_int_equal(layout->roles[i], roles[i]);
        assert_int_equal(layout->idle[i], LUD_TRIBES_WAIT);
        assert_int_equal(layout->actions[i].n_discrete, LUD_TRIBES_ACTIONS);
        assert_ptr_equal(layout->actions[i].names, lud_tribes_action_names);
    }
    lud_tribes_world.free(model);
}

/* --- Goals --- */

/* What reading the section and goals says; null: nothing. */
static char *refused(const char *text) {
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_tree *root;
    lud_model *model = NULL;
    assert_int_equal(lud_tree_read_text(arena, "test", text, strlen(text), &root, &error), LUD_OK);
    const lud_status status = lud_tribes_world.parse(&lud_tribes_world, root, "test", 1, &model, &error);
    if (!status) lud_tribes_world.free(model);
    lud_arena_destroy(arena);
    return status ? strdup(error.text) : NULL;
}

static void test_corners_of_rectangles(void **unused) {
    (void)unused;
    for (int x1 = 0; x1 < 4; x1++)
        for (int y1 = 0; y1 < 3; y1++)
            for (int x2 = 0; x2 < 4; x2++)
                for (int y2 = 0; y2 < 3; y2++) {
                    char text[256];
                    snprintf(text, sizeof text,
                             "tribes:\n  map: [A1., '...']\n  teams: [{}]\ngoals: [{rectangle: [%d, %d, %d, "
                             "%d]}]\n",
                             x1, y1, x2, y2);
                    char *message = refused(text);
                    assert_int_equal(message == NULL, x1 <= x2 && y1 <= y2 && x2 < 3 && y2 < 2);
                    if (message && x1 < 3 && x2 < 3 && y1 < 2 && y2 < 2)
                        assert_non_null(
                            strstr(message, "a rectangle whose second corner is not before the first"));
                    free(message);
                }
}

/* A single goal has the whole weight. What is so near to it that it was written by us is left to the bit. */
static void test_weights_of_goals(void **unused) {
    (void)unused;
    static const double weights[] = {0.5,         3,           1,           1 - 1e-12,  1 + 1e-12,
                                     1 - 0.8e-12, 1 + 0.8e-12, 1 - 1.2e-12, 1 + 1.2e-12};
    for (size_t k = 0; k < sizeof weights / sizeof *weights; k++) {
        char text[256];
        snprintf(text, sizeof text, "  map: [A1]\n  teams: [{}]\ngoals: [{stored: 1, weight: %.17g}]\n",
                 weights[k]);
        lud_model *model = tribes_make(text);
        const double weight = lud_tribes_of(model)->spec.goals[0].weight;
        assert_true(weight == (weights[k] > 1 - 1e-12 && weights[k] < 1 + 1e-12 ? weights[k] : 1));
        lud_tribes_world.free(model);
    }
    char *message = refused(
        "tribes:\n  map: [A1]\n  teams: [{}]\ngoals: [{stored: 1, weight: 0}, {cell: [0, 0], weight: 0}]\n");
    assert_non_null(message);
    assert_non_null(strstr(message, "a goal with a weight above 0"));
    free(message);
}

/* --- Maps --- */

static void test_maps_that_are_refused(void **unused) {
    (void)unused;
    static const struct {
        const char *map, *message; /* null: it is a map */
    } maps[] = {
        {"{a: 1}", "expected the rows of a map"},
        {"[[A1]]", "expected a row of the map"},
        {"[A]", "a map of two cells or more"},
        {"[A1]", NULL},
        {"[A, 1]", NULL},
        {"[' A\t1 ', ' ', '. .']", NULL},
        {"[A1, 2.]", "expected one of"},
        {"[A1, B.]", "expected one of"},
        {"[A1, 0.]", "expected one of"},
        {"[A1, '@.']", "expected one of"},
    };
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) {
        char text[256];
        snprintf(text, sizeof text, "tribes:\n  teams: [{}]\n  map: %s\n", maps[k].map);
        char *message = refused(text);
        if (!maps[k].message != !message || (message && !strstr(message, maps[k].message)))
            fail_msg("%s: %s", maps[k].map, message ? message : "no error");
        free(message);
    }
}

/* The largest map is read, and one with a row or a column more is not. */
static void test_size_of_maps(void **unused) {
    (void)unused;
    for (int more = 0; more < 3; more++) {
        const int width = LUD_TRIBES_MAX_SIDE + (more == 1), height = LUD_TRIBES_MAX_SIDE + (more == 2);
        lud_text text = {0};
        lud_text_append(&text, "tribes:\n  teams: [{}]\n  map:\n");
        for (int y = 0; y < height; y++) {
            lud_text_append(&text, "    - '");
            for (int x = 0; x < width; x++)
                lud_text_append(&text, y ? "." : x == 0 ? "A" : x == 1 ? "1" : ".");
            lud_text_append(&text, "'\n");
        }
        char *message = refused(text.bytes);
        assert_int_equal(message != NULL, more > 0);
        if (message) assert_non_null(strstr(message, "expected a map of at most 128 by 128 cells"));
        free(message);
        lud_text_free(&text);
    }
}

static void test_connected_maps(void **unused) {
    (void)unused;
    static const struct {
        const char *map;
        int width, height;
        bool connected;
    } maps[] = {
        {"1~", 2, 1, true},     {"~1", 2, 1, true},        {"1.A", 3, 1, true},        {"1~A", 3, 1, false},
        {"A~1", 3, 1, false},   {"1A", 2, 1, true},        {"A1", 2, 1, true},         {"1Ag", 3, 1, false},
        {"..~1", 4, 1, true},   {"1.~.", 4, 1, true},      {"1~.g", 4, 1, false},      {"1g2wo", 5, 1, true},
        {"1~~2", 2, 2, false},  {"1.~2", 2, 2, true},      {"1~.2", 2, 2, true},       {"....", 4, 1, true},
        {"A~~1..", 3, 2, true}, {"~A~~~1", 3, 2, false},   {"F~~1..", 3, 2, true},     {"1F.", 3, 1, true},
        {"1F2", 3, 1, false},   {"~~~~1~~~~", 3, 3, true}, {"1~~~~~~~2", 3, 3, false},
    };
    for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) {
        uint8_t mark[9];
        uint16_t queue[9];
        if (lud_tribes_is_connected(maps[k].map, maps[k].width, maps[k].height, mark, queue) !=
            maps[k].connected)
            fail_msg("%s", maps[k].map);
    }
}

/* Outside of the map there is water, no field and no way home, whoever asks. */
static void test_outside_of_the_map(void **unused) {
    (void)unused;
    lud_model *model = tribes_make(SECTION);
    const lud_tribes_model *m = lud_tribes_of(model);
    const lud_tribes_map *map = &m->maps[0];
    assert_int_equal(m->n_cells, WIDTH * HEIGHT);
    assert_int_equal(map->ground[m->n_cells], LUD_TRIBES_WATER);
    assert_int_equal(map->field_at[m->n_cells], -1);
    for (int t = 0; t < TEAMS; t++)
        assert_int_equal(map->way_home[t * (m->n_cells + 1) + m->n_cells], LUD_TRIBES_NOBODY);
    for (int d = 0; d < 4; d++) assert_int_equal(lud_tribes_neighbour(m, m->n_cells, d), m->n_cells);
    assert_int_equal(lud_tribes_neighbour(m, 0, 0), 1);
    assert_int_equal(lud_tribes_neighbour(m, 0, 1), WIDTH);
    assert_int_equal(lud_tribes_neighbour(m, 0, 2), m->n_cells);
    assert_int_equal(lud_tribes_neighbour(m, 0, 3), m->n_cells);
    assert_int_equal(map->n_houses, 3);
    for (int h = 0; h < 3; h++) {
        static const int cells[] = {0, 4, 12};
        assert_int_equal(map->house[h], cells[h]);
        assert_int_equal(map->owner[h], h);
    }
    assert_int_equal(map->n_free, WIDTH * HEIGHT - 3 - 3);
    lud_tribes_world.free(model);
}

/* --- States --- */

static void test_states_that_cannot_be(void **unused) {
    (void)unused;
    lud_model *model = tribes_make(SECTION);
    const lud_tribes_model *m = lud_tribes_of(model);
    uint8_t *good = malloc(model->layout.state_bytes), *state = malloc(model->layout.state_bytes);
    const uint32_t tick = 0;
    lud_tribes_world.reset(model, (lud_range){.n = 1, .tick = &tick}, good);
    assert_int_equal(lud_tribes_world.check_state(model, good, NULL), LUD_OK);
    for (int cell = 0; cell <= m->n_cells; cell++) { /* where the last agent can be */
        memcpy(state, good, model->layout.state_bytes);
        lud_tribes_put(state + m->at.cell + 2 * 4, 2, (uint32_t)cell);
        bool can_be = cell < m->n_cells && m->maps[0].ground[cell] < LUD_TRIBES_WATER;
        for (int i = 0; i < 4; i++) can_be = can_be && lud_tribes_cell(m, good, i) != cell;
        assert_int_equal(lud_tribes_world.check_state(model, state, NULL) == LUD_OK, can_be);
    }
    for (int grain = 0; grain < 8; grain++)
        for (int ore = 0; ore < 8; ore++) {
            memcpy(state, good, model->layout.state_bytes);
            tribes_put(model, state, 4, 1, 2, grain, 0, ore);
            assert_int_equal(lud_tribes_world.check_state(model, state, NULL) == LUD_OK,
                             grain + ore <= CARRY);
        }
    for (int dead = 0; dead < 2; dead++)
        for (int health = 0; health < 14; health++) {
            memcpy(state, good, model->layout.state_bytes);
            if (dead) tribes_put(model, state, 4, -1, -1, 0, 0, 0);
            state[m->at.health + 4] = (uint8_t)health;
            assert_int_equal(lud_tribes_world.check_state(model, state, NULL) == LUD_OK,
                             dead ? health == 0 : health >= 1 && health <= HEALTH);
        }
    for (int f = 0; f < 3; f++)
        for (int units = 0; units < 10; units++) {
            memcpy(state, good, model->layout.state_bytes);
            tribes_put_stock(model, state, f, units);
            assert_int_equal(lud_tribes_world.check_state(model, state, NULL) == LUD_OK, units <= STOCK);
        }
    free(good);
    free(state);
    lud_tribes_world.free(model);

    model = tribes_make("  map: [A1]\n  teams: [{}]\n");
    uint8_t alone[64];
    lud_tribes_world.reset(model, (lud_range){.n = 1, .tick = &tick}, alone);
    assert_int_equal(lud_tribes_world.check_state(model, alone, NULL), LUD_OK);
    tribes_put(model, alone, 0, -1, -1, 0, 0, 0); /* where nobody dies */
    assert_int_equal(lud_tribes_world.check_state(model, alone, NULL), LUD_ERROR_INPUT);
    lud_tribes_world.free(model);

    model = tribes_make("  map: ['.~', '1A']\n  teams: [{}]\n");
    for (int cell = 0; cell < 6; cell++) {
        lud_tribes_world.reset(model, (lud_range){.n = 1, .tick = &tick}, alone);
        lud_tribes_put(alone + lud_tribes_of(model)->at.cell, 2, (uint32_t)cell);
        assert_int_equal(lud_tribes_world.check_state(model, alone, NULL) == LUD_OK, cell == 0 || cell == 2);
    }
    lud_tribes_world.free(model);
}

/* Of several maps a state names one that there is; of a single one it names none. */
static void test_maps_of_states(void **unused) {
    (void)unused;
    const uint32_t tick = 0;
    for (int maps = 1; maps < 4; maps++) {
        char section[256];
        snprintf(section, sizeof section,
                 "  generate: {size: [8, 8], maps: %d, grain: 2, wood: 2, ore: 2, seed: 1}\n"
                 "  teams: [{agents: 1}]\n",
                 maps);
        lud_model *model = tribes_make(section);
        const lud_tribes_model *m = lud_tribes_of(model);
        uint8_t *state = malloc(model->layout.state_bytes + 1);
        for (int k = 0; k < 5 && maps > 1; k++) {
            lud_tribes_world.reset(model, (lud_range){.n = 1, .tick = &tick}, state);
            state[m->at.map] = (uint8_t)k;
            if (k < maps) { /* where it starts there */
                assert_ptr_equal(lud_tribes_map_of(m, state), &m->maps[k]);
                lud_tribes_put(state + m->at.cell, 2, m->maps[k].start[0]);
            }
            assert_int_equal(lud_tribes_world.check_state(model, state, NULL) == LUD_OK, k < maps);
        }
        lud_tribes_world.reset(model, (lud_range){.n = 1, .tick = &tick}, state);
        assert_int_equal(lud_tribes_world.check_state(model, state, NULL), LUD_OK);
        assert_int_equal(m->at.cell - m->at.map, maps > 1);
        free(state);
        lud_tribes_world.free(model);
    }
}

/* The map of an episode says nothing of where its agents start. */
static void test_maps_and_starts_are_drawn_apart(void **unused) {
    (void)unused;
    enum { EPISODES = 4000 };
    lud_model *model =
        tribes_make("  generate: {size: [8, 8], maps: 2, grain: 2, wood: 2, ore: 2, water: 0, seed: 1}\n"
                    "  random_start: true\n  teams: [{agents: 2}]\n");
    const lud_tribes_model *m = lud_tribes_of(model);
    uint8_t *state = malloc(model->layout.state_bytes);
    int count[2][2][2] = {{{0}}}; /* map, agent, whether it starts in the second half of the cells */
    for (uint32_t tick = 0; tick < EPISODES; tick++) {
        lud_tribes_world.reset(model, (lud_range){.seed = 9, .n = 1, .tick = &tick}, state);
        const lud_tribes_map *map = lud_tribes_map_of(m, state);
        for (int i = 0; i < 2; i++)
            count[state[m->at.map]][i][lud_tribes_cell(m, state, i) >= map->free[map->n_free / 2]]++;
    }
    for (int k = 0; k < 8; k++) /* 5 standard deviations about a quarter, and the odd cell */
        assert_in_range(count[k / 4][k / 2 % 2][k % 2], EPISODES / 4 - 190, EPISODES / 4 + 190);
    free(state);
    lud_tribes_world.free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_scaled_to_one),
        cmocka_unit_test(test_parts_have_the_bytes_of_their_rows),
        cmocka_unit_test(test_agents_of_teams),
        cmocka_unit_test(test_corners_of_rectangles),
        cmocka_unit_test(test_weights_of_goals),
        cmocka_unit_test(test_maps_that_are_refused),
        cmocka_unit_test(test_size_of_maps),
        cmocka_unit_test(test_connected_maps),
        cmocka_unit_test(test_outside_of_the_map),
        cmocka_unit_test(test_states_that_cannot_be),
        cmocka_unit_test(test_maps_of_states),
        cmocka_unit_test(test_maps_and_starts_are_drawn_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
