/* Six numbers a cell, and the features of the world, agents and buttons, against the scene that the state
 * unpacks to, in random states of random grids. */
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

/* A random grid, and a random state of it as a scene. */
typedef struct random_state {
    random_grid grid;
    lud_model *model;
    lud_grid_scene *scene;
    uint8_t *state;
} random_state;

static void make_state(random_source *r, random_state *s) {
    lud_error error = {0};
    random_grid_make(r, &s->grid);
    if (lud_grid_model_create(&s->grid.spec, &s->model, &error)) fail_msg("%s", error.text);
    s->scene = lud_grid_scene_create(s->model);
    s->state = calloc(1, s->model->layout.state_bytes);
    const uint32_t tick = 0;
    s->model->world->reset(s->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, s->state);
    lud_grid_scene_read(s->scene, s->model, s->state);
    random_scene(r, &s->grid.spec, s->scene, s->model->layout.actions[0].n_discrete);
    if (lud_grid_scene_write(s->scene, s->model, s->state, &error)) fail_msg("%s", error.text);
    lud_grid_scene_read(s->scene, s->model, s->state);
}

static void free_state(random_state *s) {
    free(s->state);
    lud_grid_scene_destroy(s->scene);
    lud_grid_model_destroy(s->model);
}

static void cells_are_those_of_the_scene(void **unused) {
    (void)unused;
    random_source r = {41};
    int seen[LUD_GRID_TYPES + 1] = {0}, carrying = 0;
    for (int k = 0; k < 400; k++) {
        random_state own;
        make_state(&r, &own);
        const lud_model *model = own.model;
        const lud_grid_scene *scene = own.scene;
        const uint8_t *state = own.state;
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
        free_state(&own);
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

static void same_numbers(const char *what, int grid, int n, const float *found, const float *wanted) {
    for (int i = 0; i < n; i++)
        if (found[i] != wanted[i])
            fail_msg("grid %d, %s %d: %g, expected %g", grid, what, i, (double)found[i], (double)wanted[i]);
}

/* Steps left, and what the first unsteady ground and the first magic wall have. */
static void check_globals(const random_state *s, int k) {
    const lud_grid_model *m = (const lud_grid_model *)s->model;
    float wanted[LUD_GRID_GLOBALS] = {(float)(m->spec.max_steps - s->scene->step)}, found[LUD_GRID_GLOBALS];
    bool ground = false, wall = false;
    for (int c = 0; c < s->scene->width * s->scene->height; c++) {
        const lud_grid_object *o = &s->scene->cells[c].ground;
        if (o->type == LUD_UNSTEADY_GROUND && !ground) wanted[1] = (float)o->stumble;
        if (o->type == LUD_MAGIC_WALL && !wall) {
            wanted[2] = (float)o->entry;
            wanted[3] = (float)o->solidify;
        }
        ground |= o->type == LUD_UNSTEADY_GROUND;
        wall |= o->type == LUD_MAGIC_WALL;
    }
    lud_grid_encode_globals(m, s->state, false, found);
    same_numbers("global", k, LUD_GRID_GLOBALS, found, wanted);
    /* as the golden data has it: chances are those of a world without any */
    const float reference[LUD_GRID_GLOBALS] = {wanted[0], 0, 1, 0};
    lud_grid_encode_globals(m, s->state, true, found);
    same_numbers("global of the reference", k, LUD_GRID_GLOBALS, found, reference);
}

/* Agents by the names of their colours, then by number. */
static void check_agents(const random_state *s, int k) {
    enum { F = LUD_GRID_AGENT_FEATURES };
    const lud_grid_scene *scene = s->scene;
    float wanted[RANDOM_GRID_CELLS * F] = {0}, found[RANDOM_GRID_CELLS * F];
    int most[LUD_COLOURS] = {0};
    for (int i = 0; i < scene->n_agents; i++) {
        const lud_grid_scene_agent *a = &scene->agents[i];
        int place = 0;
        most[a->colour]++;
        for (int j = 0; j < scene->n_agents; j++) {
            const int order = strcmp(lud_colour_names[scene->agents[j].colour], lud_colour_names[a->colour]);
            place += order < 0 || (order == 0 && j < i);
        }
        const float carried = !a->carries                   ? -1
                              : a->carried.type == LUD_BALL ? 1
                              : a->carried.type == LUD_BOX  ? 2
                                                            : 31;
        const float own[F] = {(float)a->x,
                              (float)a->y,
                              a->direction == LUD_EAST,
                              a->direction == LUD_SOUTH,
                              a->direction == LUD_WEST,
                              a->direction == LUD_NORTH,
                              a->can_enter_magic_walls,
                              a->can_push_rocks,
                              carried,
                              a->carries ? (float)a->carried.colour : -1,
                              a->paused,
                              a->terminated,
                              (float)a->forced_action};
        memcpy(wanted + (size_t)place * F, own, sizeof own);
        assert_int_equal(lud_grid_agent_place((const lud_grid_model *)s->model, i), place);
    }
    lud_grid_encode_agents((const lud_grid_model *)s->model, s->state, false, most, found);
    same_numbers("number of agents", k, scene->n_agents * F, found, wanted);
    lud_grid_encode_agents((const lud_grid_model *)s->model, s->state, true, most, found);
    for (int i = 0; i < scene->n_agents; i++) /* the golden data overlooks carried keys */
        if (wanted[i * F + LUD_GRID_AGENT_CARRIED_TYPE] == 31)
            wanted[i * F + LUD_GRID_AGENT_CARRIED_TYPE] = -1;
    same_numbers("number of agents of the reference", k, scene->n_agents * F, found, wanted);
}

/* Up to four of each kind, in the order of reading. */
static int check_buttons(const random_state *s, int k) {
    static const int begin[] = {0, 20, 44, 68}, size[] = {5, 6, 6, 7};
    float wanted[LUD_GRID_INTERACTIVE] = {0}, found[LUD_GRID_INTERACTIVE];
    int count[4] = {0}, n = 0;
    for (int c = 0; c < s->scene->width * s->scene->height; c++) {
        const lud_grid_scene_cell *cell = &s->scene->cells[c];
        const lud_grid_object *o = &cell->ground;
        const float x = (float)(c % s->scene->width), y = (float)(c / s->scene->width);
        const float trigger = (float)o->trigger, target = (float)o->target, enabled = o->enabled;
        const float kill[] = {x, y, enabled, trigger, target},
                    pause[] = {x, y, enabled, o->on, trigger, target},
                    control[] = {
                        x, y, enabled, trigger, target, (float)cell->recorded_action, cell->awaiting};
        const float of_type = o->target_type == LUD_KILL_BUTTON    ? 10
                              : o->target_type == LUD_PAUSE_SWITCH ? 11
                                                                   : 13;
        const float disabling[] = {x, y, 1, 0, trigger, of_type};
        const int kind = o->type == LUD_KILL_BUTTON        ? 0
                         : o->type == LUD_PAUSE_SWITCH     ? 1
                         : o->type == LUD_DISABLING_SWITCH ? 2
                         : o->type == LUD_CONTROL_BUTTON   ? 3
                                                           : -1;
        if (kind < 0 || count[kind] == 4) continue;
        const float *const own[] = {kill, pause, disabling, control};
        memcpy(wanted + begin[kind] + size[kind] * count[kind]++, own[kind],
               (size_t)size[kind] * sizeof **own);
        n++;
    }
    lud_grid_encode_interactive((const lud_grid_model *)s->model, s->state, found);
    same_numbers("number of buttons", k, LUD_GRID_INTERACTIVE, found, wanted);
    return n;
}

static void features_are_those_of_the_scene(void **unused) {
    (void)unused;
    random_source r = {43};
    int n_buttons = 0;
    for (int k = 0; k < 400; k++) {
        random_state own;
        make_state(&r, &own);
        check_globals(&own, k);
        check_agents(&own, k);
        n_buttons += check_buttons(&own, k);
        free_state(&own);
    }
    assert_true(n_buttons > 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cells_are_those_of_the_scene),
                                       cmocka_unit_test(features_are_those_of_the_scene)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
