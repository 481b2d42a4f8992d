/* Paths of a multigrid, against walking through everything that the world's own steps allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/grid_code.h"
#include "sim/multigrid/paths/grid_paths.h"
#include "sim/multigrid/support_small_worlds.h"
#include "sim/support_grids.h"

enum { HEIGHT = SMALL_HEIGHT, WIDTH = SMALL_WIDTH, CELLS = SMALL_CELLS, N_MAPS = 60, N_FROM = 8 };

static bool is_inside(const small_look *l, const void *rectangle) {
    const int32_t *r = rectangle;
    return l->agent[0] >= (float)r[0] && l->agent[0] <= (float)r[2] && l->agent[1] >= (float)r[1] &&
           l->agent[1] <= (float)r[3];
}

/* Fewest actions into the rectangle by turning, walking and opening, in breadth; LUD_GRID_NO_PATH: never. */
static int walk_through(const lud_model *model, const uint8_t *start, const int32_t rectangle[4]) {
    static const char *const names[] = {"left", "right", "forward", "toggle"};
    return small_world_search(model, start, names, 4, is_inside, rectangle);
}

/* The person takes a key that lies about in hand; false: there is none. */
static bool take_key(lud_grid_scene *scene) {
    for (int i = 0; i < scene->n_pieces; i++) {
        lud_grid_piece *piece = &scene->pieces[i];
        if (piece->object.type != LUD_KEY) continue;
        scene->agents[0].carries = true;
        scene->agents[0].carried = piece->object;
        *piece = scene->pieces[--scene->n_pieces];
        return true;
    }
    return false;
}

/* The person stands somewhere else. */
static void place(lud_grid_scene *scene, random_source *source) {
    int c;
    do c = (int)random_below(source, CELLS);
    while (scene->cells[c].ground.type != LUD_EMPTY || scene->cells[c].piece >= 0);
    scene->agents[0].x = c % WIDTH;
    scene->agents[0].y = c / WIDTH;
    scene->agents[0].direction = random_below(source, 4);
}

static int path_of(const lud_model *model, const uint8_t *state, lud_grid_walker walker,
                   const int32_t rectangle[4]) {
    uint8_t cost[CELLS], into[CELLS];
    uint16_t actions[4 * CELLS];
    int32_t memory[12 * CELLS];
    const small_look l = small_world_look(model, state);
    assert_int_equal(lud_grid_paths_words(HEIGHT, WIDTH), sizeof memory / sizeof *memory);
    lud_grid_entering(l.words, CELLS, walker, cost);
    for (int c = 0; c < CELLS; c++)
        into[c] = c % WIDTH >= rectangle[0] && c % WIDTH <= rectangle[2] && c / WIDTH >= rectangle[1] &&
                  c / WIDTH <= rectangle[3];
    lud_grid_paths_to(cost, HEIGHT, WIDTH, into, actions, memory);
    return actions[small_look_place(&l)];
}

/* With few things in the way, since each doubles the states to walk through. */
static void draw_map(random_source *source, const char *inside[CELLS]) {
    static const char *const open[] = {"..", "..", "..", "..", "Sw", "We", "We"}, *const things[] = {
                                                                                      "Cr", "Lr", "Lb", "Kr",
                                                                                      "Ro", "Or", "Gr"};
    enum { THINGS = 5 };
    for (int c = 0; c < CELLS; c++) {
        const int x = c % WIDTH, y = c / WIDTH;
        const bool wall = x == 0 || y == 0 || x == WIDTH - 1 || y == HEIGHT - 1;
        inside[c] = wall ? "We" : open[random_below(source, sizeof open / sizeof *open)];
    }
    for (int k = 0; k < THINGS; k++)
        inside[WIDTH * (1 + (int)random_below(source, HEIGHT - 2)) + 1 +
               (int)random_below(source, WIDTH - 2)] =
            things[random_below(source, sizeof things / sizeof *things)];
    inside[WIDTH + 1] = "Ay";
}

static void draw_rectangle(random_source *source, int32_t r[4]) {
    r[0] = 1 + (int32_t)random_below(source, WIDTH - 2);
    r[1] = 1 + (int32_t)random_below(source, HEIGHT - 2);
    r[2] = r[0] + (int32_t)random_below(source, 2);
    r[3] = r[1] + (int32_t)random_below(source, 2);
}

/* Compares from some places of a map: as it is, with and without a key in hand; or cleared, where what is in
 * the way is as a door that anybody can open, which is what the map `walked` has there. Returns how many
 * paths there were. */
static int compare(const char *const given[CELLS], const char *const walked[CELLS], bool cleared,
                   random_source *source) {
    lud_scenario *const worlds[2] = {small_world_make(given, ""), small_world_make(walked, "")};
    int found = 0;
    for (int i = 0; i < N_FROM; i++) {
        int32_t rectangle[4];
        uint8_t state[2][64] = {{0}};
        const random_source before = *source;
        bool key = false;
        for (int k = 0; k < 2; k++) {
            const lud_model *model = worlds[k]->model;
            lud_grid_scene *scene = lud_grid_scene_create(model);
            lud_error error = {0};
            assert_true(model->layout.state_bytes <= sizeof state[k]);
            model->world->reset(model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state[k]);
            lud_grid_scene_read(scene, model, state[k]);
            *source = before;
            draw_rectangle(source, rectangle);
            place(scene, source);
            if (!cleared && random_chance(source, 0.5)) key = take_key(scene);
            if (lud_grid_scene_write(scene, model, state[k], &error)) fail_msg("%s", error.text);
            lud_grid_scene_destroy(scene);
        }
        const lud_grid_walker walker = {.key = key ? LUD_RED : -1, .cleared = cleared};
        const int expected = walk_through(worlds[1]->model, state[1], rectangle);
        assert_int_equal(path_of(worlds[0]->model, state[0], walker, rectangle), expected);
        found += expected != LUD_GRID_NO_PATH && expected > 0;
    }
    for (int k = 0; k < 2; k++) lud_scenario_destroy(worlds[k]);
    return found;
}

static void test_as_everything_lies(void **unused) {
    (void)unused;
    random_source source = {1};
    int found = 0;
    for (int i = 0; i < N_MAPS; i++) {
        const char *map[CELLS];
        draw_map(&source, map);
        found += compare(map, map, false, &source);
    }
    assert_true(found > N_MAPS);
}

static void test_cleared(void **unused) {
    (void)unused;
    random_source source = {2};
    int found = 0;
    for (int i = 0; i < N_MAPS; i++) {
        const char *map[CELLS], *open[CELLS];
        draw_map(&source, map);
        for (int c = 0; c < CELLS; c++) open[c] = strchr("LKR", map[c][0]) ? "Cr" : map[c];
        found += compare(map, open, true, &source);
    }
    assert_true(found > N_MAPS);
}

/* Magic walls are in the way whatever is in hand and cleared; agents are not, the walker itself and others.
 */
static void test_walls_and_agents_in_the_way(void **unused) {
    (void)unused;
    random_source source = {4};
    const char *map[CELLS];
    draw_map(&source, map);
    const int own = WIDTH + 1, other = WIDTH + 2, first_wall = WIDTH + 3, free_cell = 2 * WIDTH + 1;
    static const char *const walls[] = {"Ma", "Mn", "Mw"};
    for (size_t k = 0; k < sizeof walls / sizeof *walls; k++) {
        map[other] = "Ae";
        map[first_wall] = walls[k];
        map[free_cell] = "..";
        lud_scenario *world = small_world_make(map, "can_enter_magic_walls: [yellow]");
        uint8_t state[64] = {0}, cost[CELLS];
        assert_true(world->model->layout.state_bytes <= sizeof state);
        world->world->reset(world->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
        int32_t words[CELLS];
        lud_grid_encode_words((const lud_grid_model *)world->model, state, false, HEIGHT, WIDTH, words);
        static const lud_grid_walker walkers[] = {
            {.key = -1}, {.key = LUD_GREY, .rocks = true}, {.key = LUD_RED, .rocks = true, .cleared = true}};
        for (int w = 0; w < 3; w++) {
            lud_grid_entering(words, CELLS, walkers[w], cost);
            assert_int_equal(cost[own], 1);
            assert_int_equal(cost[free_cell], 1);
            assert_int_equal(cost[other], 1);
            assert_int_equal(cost[first_wall], 0);
        }
        lud_scenario_destroy(world);
    }
}

/* From a place to all is to all from that place. */
static void test_both_ways(void **unused) {
    (void)unused;
    random_source source = {3};
    for (int i = 0; i < N_MAPS; i++) {
        uint8_t cost[CELLS], into[CELLS] = {0};
        uint16_t from[4 * CELLS], to[4 * CELLS];
        int32_t memory[12 * CELLS];
        for (int c = 0; c < CELLS; c++) cost[c] = (uint8_t)random_below(&source, 3);
        const int32_t place = (int32_t)random_below(&source, 4 * CELLS),
                      end = (int32_t)random_below(&source, CELLS);
        cost[place / 4] = 1;
        into[end] = 1;
        lud_grid_paths_from(cost, HEIGHT, WIDTH, place, from, memory);
        lud_grid_paths_to(cost, HEIGHT, WIDTH, into, to, memory);
        int least = LUD_GRID_NO_PATH;
        for (int d = 0; d < 4; d++) least = from[4 * end + d] < least ? from[4 * end + d] : least;
        assert_int_equal(least, to[place]);
    }
}

/* Actions to enter each kind of cell: of somebody with nothing, with a key of the cell's colour, who pushes
 * rocks, and where all is cleared. */
static void test_what_it_takes_to_enter(void **unused) {
    (void)unused;
    enum { COLOUR = 2 };
    static const lud_grid_walker walkers[] = {{.key = -1},
                                              {.key = COLOUR},
                                              {.key = COLOUR + 1, .rocks = true},
                                              {.key = -1, .cleared = true},
                                              {.key = -1, .rocks = true, .cleared = true}};
    static const struct {
        lud_grid_cell cell;
        uint8_t actions[5];
    } cases[] = {{{.type = LUD_CODE_NOTHING}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CHANNEL_GOAL}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CHANNEL_FLOOR}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CHANNEL_SWITCH}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CHANNEL_UNSTEADY_GROUND}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CHANNEL_WALL}, {0, 0, 0, 0, 0}},
                 {{.type = LUD_CHANNEL_LAVA}, {0, 0, 0, 0, 0}},
                 {{.type = LUD_CHANNEL_BLOCK}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CHANNEL_ROCK}, {0, 0, 1, 2, 1}},
                 {{.type = LUD_CHANNEL_BALL}, {0, 0, 0, 2, 2}},
                 {{.type = LUD_CHANNEL_BOX}, {0, 0, 0, 2, 2}},
                 {{.type = LUD_CODE_KEY, .colour = COLOUR}, {0, 0, 0, 2, 2}},
                 {{.type = LUD_CODE_DOOR, .colour = COLOUR, .door = 1}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CODE_DOOR, .colour = COLOUR, .door = 2}, {2, 2, 2, 2, 2}},
                 {{.type = LUD_CODE_DOOR, .colour = COLOUR, .door = 3}, {0, 2, 0, 2, 2}},
                 {{.type = LUD_CODE_NOTHING, .magic = 1}, {0, 0, 0, 0, 0}},
                 {{.type = LUD_CODE_NOTHING, .magic = 5}, {0, 0, 0, 0, 0}},
                 {{.type = LUD_CODE_NOTHING, .magic = 6}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CODE_NOTHING, .other = 1}, {1, 1, 1, 1, 1}},
                 {{.type = LUD_CODE_NOTHING, .other = 2}, {0, 0, 0, 0, 0}},
                 {{.type = LUD_CODE_NOTHING, .other = 3}, {0, 0, 0, 0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t w = 0; w < sizeof walkers / sizeof *walkers; w++)
            for (int agent = 0; agent <= LUD_CODE_NO_AGENT; agent += LUD_CODE_NO_AGENT) {
                lud_grid_cell cell = cases[i].cell;
                cell.agent = agent; /* agents are taken to step aside */
                const int32_t words[2] = {LUD_CODE_WALL, lud_grid_code_make(cell)};
                uint8_t cost[2] = {9, 9};
                lud_grid_entering(words, 2, walkers[w], cost);
                assert_int_equal(cost[0], 0);
                if (cost[1] != cases[i].actions[w] || lud_grid_entering_cell(words[1], walkers[w]) != cost[1])
                    fail_msg("case %zu, walker %zu: %d, expected %d", i, w, cost[1], cases[i].actions[w]);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_everything_lies),
                                       cmocka_unit_test(test_cleared), cmocka_unit_test(test_both_ways),
                                       cmocka_unit_test(test_walls_and_agents_in_the_way),
                                       cmocka_unit_test(test_what_it_takes_to_enter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
