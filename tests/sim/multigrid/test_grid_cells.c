/* Six numbers a cell against the scene that the state unpacks to, in random states of random grids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_model.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/support_grids.h"

enum { N = LUD_GRID_CELL_NUMBERS };

static uint8_t part_of_255(double probability) {
    return (uint8_t)(255 * probability);
}

/* What never moves: four numbers that depend on its type. */
static void of_ground(const lud_grid_scene_cell *cell, uint8_t *to) {
    const lud_grid_object *o = &cell->ground;
    if (o->type == LUD_EMPTY || cell->trampled) {
        to[0] = LUD_EMPTY;
        return;
    }
    to[0] = (uint8_t)o->type;
    to[1] = (uint8_t)o->colour;
    if (o->type == LUD_DOOR) to[2] = (uint8_t)o->door;
    if (o->type == LUD_UNSTEADY_GROUND) to[2] = part_of_255(o->stumble);
    if (o->type == LUD_MAGIC_WALL) {
        to[2] = (uint8_t)o->side;
        to[3] = part_of_255(o->entry);
        to[4] = part_of_255(o->solidify);
        to[5] = o->active;
    }
    if (o->type == LUD_KILL_BUTTON || o->type == LUD_PAUSE_SWITCH || o->type == LUD_CONTROL_BUTTON) {
        to[2] = (uint8_t)o->trigger;
        to[3] = (uint8_t)o->target;
        to[4] = o->type == LUD_PAUSE_SWITCH ? o->on : o->enabled;
        to[5] = o->type == LUD_PAUSE_SWITCH     ? o->enabled
                : o->type == LUD_CONTROL_BUTTON ? (uint8_t)(cell->recorded_action + 1)
                                                : 0;
    }
    if (o->type == LUD_DISABLING_SWITCH) {
        static const uint8_t numbers[LUD_GRID_TYPES] = {[LUD_PAUSE_SWITCH] = 1, [LUD_CONTROL_BUTTON] = 2};
        to[2] = (uint8_t)o->trigger;
        to[3] = numbers[o->target_type];
    }
}

static void of_scene(const lud_grid_scene *scene, int observer, int x, int y, uint8_t *to) {
    const lud_grid_scene_cell *cell = &scene->cells[y * scene->width + x];
    memset(to, 0, N);
    of_ground(cell, to);
    if (cell->piece >= 0) {
        const lud_grid_object *o = &scene->pieces[cell->piece].object;
        memcpy(to, (const uint8_t[N]){(uint8_t)o->type, (uint8_t)o->colour}, N);
    }
    if (cell->agent >= 0) {
        const lud_grid_scene_agent *a = &scene->agents[cell->agent];
        const uint8_t carried = a->carries ? (uint8_t)a->carried.type : 0,
                      colour = a->carries ? (uint8_t)a->carried.colour : 0;
        memcpy(to,
               (const uint8_t[N]){LUD_AGENT, (uint8_t)a->colour, carried, colour, (uint8_t)a->direction,
                                  cell->agent == observer},
               N);
    }
}

static void cells_are_those_of_the_scene(void **unused) {
    (void)unused;
    random_source r = {41};
    int seen[LUD_GRID_TYPES + 1] = {0}, carrying = 0;
    for (int k = 0; k < 400; k++) {
        random_grid grid;
        lud_error error = {0};
        lud_model *model = NULL;
        random_grid_make(&r, &grid);
        if (lud_grid_model_create(&grid.spec, &model, &error)) fail_msg("%s", error.text);
        lud_grid_scene *scene = lud_grid_scene_create(model);
        uint8_t *state = calloc(1, model->layout.state_bytes);
        const uint32_t tick = 0;
        model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
        lud_grid_scene_read(scene, model, state);
        random_scene(&r, &grid.spec, scene, model->layout.actions[0].n_discrete);
        if (lud_grid_scene_write(scene, model, state, &error)) fail_msg("%s", error.text);
        lud_grid_scene_read(scene, model, state);
        const size_t n = (size_t)(scene->width * scene->height) * N;
        uint8_t cells[RANDOM_GRID_CELLS * N + 1], wanted[N];
        for (int observer = -1; observer < scene->n_agents; observer++) {
            memset(cells, 77, sizeof cells);
            lud_grid_encode_cells((const lud_grid_model *)model, state, observer, cells);
            assert_int_equal(cells[n], 77);
            for (int x = 0; x < scene->width; x++)
                for (int y = 0; y < scene->height; y++) {
                    const uint8_t *found = cells + (x * scene->height + y) * N;
                    of_scene(scene, observer, x, y, wanted);
                    seen[wanted[0]]++;
                    carrying += wanted[0] == LUD_AGENT && wanted[2];
                    if (memcmp(found, wanted, N) != 0)
                        fail_msg("grid %d, cell %d,%d: %d %d %d %d %d %d, expected %d %d %d %d %d %d", k, x,
                                 y, found[0], found[1], found[2], found[3], found[4], found[5], wanted[0],
                                 wanted[1], wanted[2], wanted[3], wanted[4], wanted[5]);
                }
        }
        free(state);
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(model);
    }
    static const int types[] = {LUD_WALL,
                                LUD_DOOR,
                                LUD_UNSTEADY_GROUND,
                                LUD_MAGIC_WALL,
                                LUD_KILL_BUTTON,
                                LUD_PAUSE_SWITCH,
                                LUD_DISABLING_SWITCH,
                                LUD_CONTROL_BUTTON,
                                LUD_BUSH,
                                LUD_KEY,
                                LUD_ROCK,
                                LUD_AGENT};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) assert_true(seen[types[i]] > 20);
    assert_true(carrying > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_are_those_of_the_scene)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
