/* States from outside: of each field of a state's things the values that can be are taken, others refused.
 * And what lies in several maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_view.h"
#include "sim/scenario.h"
#include "sim/support_sketch.h"

static const lud_range one_environment = {.n = 1, .tick = &(uint32_t){0}};

enum { MOST_BYTES = 128 };

static lud_model *model_of(const char *facing, uint8_t start[MOST_BYTES]) {
    sketch s;
    sketch_draw(&s, (const char *[]){"#########", "#yDOL*KP#", "#r~C.bxM#", "#.B.k.RC#", "#########", NULL},
                facing, false);
    lud_model *model = sketch_model(&s);
    assert_in_range(model->layout.state_bytes, 1, MOST_BYTES);
    memset(start, 0, MOST_BYTES);
    model->world->reset(model, one_environment, start);
    return model;
}

static bool is_taken(const lud_model *model, const uint8_t *state) {
    lud_error error = {0};
    const lud_status status = model->world->check_state(model, state, &error);
    if (status) assert_int_equal(status, LUD_ERROR_INPUT);
    return !status;
}

/* Doors are open, closed or locked; a pause switch is on or off, enabled or not; everything else is or is
 * not. */
static void conditions(void **unused) {
    (void)unused;
    uint8_t start[MOST_BYTES], state[MOST_BYTES];
    lud_model *model = model_of("es", start);
    const lud_grid_model *m = (const lud_grid_model *)model;
    const lud_grid_layer *layer = &m->layers[0];
    int n = 0;
    for (int i = 0; i < layer->n_fixed; i++) {
        const lud_grid_fixed *f = &layer->fixed[i];
        const int most = f->type == LUD_DOOR ? 2 : f->type == LUD_PAUSE_SWITCH ? 3 : 1;
        if (f->slot == LUD_GRID_NONE || f->type == LUD_CONTROL_BUTTON) continue;
        for (int condition = 0; condition < 4; condition++) {
            memcpy(state, start, sizeof state);
            lud_grid_put_condition(m, state, f->slot, condition);
            assert_int_equal(is_taken(model, state), condition <= most);
        }
        n++;
    }
    assert_int_equal(n, 7);
    lud_grid_model_destroy(model);
}

/* A control button knows of an agent that there is, or none, and of an action that there is, or none. */
static void control_buttons(void **unused) {
    (void)unused;
    uint8_t start[MOST_BYTES], state[MOST_BYTES];
    lud_model *model = model_of("es", start);
    const lud_grid_model *m = (const lud_grid_model *)model;
    for (int k = 0; k < 2 * 256; k++)
        for (int action = 0; action < 64; action++)
            for (int flags = 0; flags < 4; flags++) {
                const int agent = k / 2;
                uint8_t *control = &state[m->at.control + 2u * (unsigned)(k % 2)]; /* of one of the two */
                memcpy(state, start, sizeof state);
                control[0] = (uint8_t)agent;
                control[1] = (uint8_t)(action << LUD_CONTROL_RECORDED_SHIFT | flags);
                const bool awaits = flags & LUD_CONTROL_AWAITING;
                assert_int_equal(is_taken(model, state),
                                 agent <= m->n_agents && action <= m->n_actions && !(awaits && agent == 0));
            }
    lud_grid_model_destroy(model);
}

static void agents(void **unused) {
    (void)unused;
    uint8_t start[MOST_BYTES], state[MOST_BYTES];
    lud_model *model = model_of("es", start);
    const lud_grid_model *m = (const lud_grid_model *)model;
    for (uint32_t i = 0; i < (uint32_t)m->n_agents; i++) {
        for (uint32_t cell = 0; cell < 256; cell++) {
            memcpy(state, start, sizeof state);
            lud_grid_put_cell(m, state, m->at.cell, (int)i, cell);
            assert_int_equal(is_taken(model, state), cell < (uint32_t)m->n_cells);
        }
        for (int forced = 0; forced < 256 >> LUD_AGENT_FORCED_SHIFT; forced++) {
            memcpy(state, start, sizeof state);
            state[m->at.agent + i] = (uint8_t)(forced << LUD_AGENT_FORCED_SHIFT);
            assert_int_equal(is_taken(model, state), forced <= m->n_actions);
        }
        for (int carried = 0; carried < 256; carried++) { /* that one lies somewhere else then */
            memcpy(state, start, sizeof state);
            state[m->at.carried + i] = (uint8_t)carried;
            const bool can_be = carried == 0 || (carried > LUD_CLASS_ROCK && carried < m->n_classes);
            if (carried && carried < m->n_classes) {
                const lud_grid_class *class = &m->classes[carried];
                for (int s = class->begin; s < class->begin + class->n; s++)
                    lud_grid_put_cell(m, state, m->at.piece, s, (uint32_t)m->n_cells);
            }
            assert_int_equal(is_taken(model, state), can_be);
            if (!can_be || !carried) continue;
            memcpy(state, start, sizeof state); /* it cannot lie and be carried */
            state[m->at.carried + i] = (uint8_t)carried;
            assert_false(is_taken(model, state));
        }
    }
    lud_grid_model_destroy(model);
}

/* What cannot be told by a colour of its own has one to be shown in: blocks are brown, rocks grey. */
static void colours_of_pieces(void **unused) {
    (void)unused;
    uint8_t start[MOST_BYTES];
    lud_model *model = model_of("es", start);
    lud_grid_scene *scene = lud_grid_scene_create(model);
    int n = 0;
    lud_grid_scene_read(scene, model, start);
    for (int i = 0; i < scene->n_pieces; i++) {
        const lud_grid_object *piece = &scene->pieces[i].object;
        if (piece->type != LUD_BLOCK && piece->type != LUD_ROCK) continue;
        assert_int_equal(piece->colour, piece->type == LUD_BLOCK ? LUD_BROWN : LUD_GREY);
        n++;
    }
    assert_int_equal(n, 2);
    lud_grid_scene_destroy(scene);
    lud_grid_model_destroy(model);
}

/* The maps of an ensemble, however few: a state is of one of them, and a situation in one is none in another.
 */
static void maps_of_ensembles(void **unused) {
    (void)unused;
    for (int n_maps = 1; n_maps <= 3; n_maps++) {
        char text[600] = "ludus: 1\nworld: multigrid\nmultigrid:\n  ensemble:\n";
        lud_error error = {0};
        lud_scenario *scenario;
        uint8_t start[MOST_BYTES] = {0}, state[MOST_BYTES];
        for (int k = 0; k < n_maps; k++)
            strcat(text, "    - map: |\n        We We We We\n        We Ay .. We\n        We We We We\n");
        if (lud_scenario_read("maps.yaml", text, strlen(text), NULL, 0, &scenario, &error))
            fail_msg("%s", error.text);
        const lud_model *model = scenario->model;
        const lud_grid_model *m = (const lud_grid_model *)model;
        assert_in_range(model->layout.state_bytes, 1, MOST_BYTES);
        model->world->reset(model, one_environment, start);
        assert_int_equal(m->n_maps, n_maps);
        const uint64_t here = model->world->situation(model, start, 0);
        for (unsigned map = 0; map < 260 && n_maps > 1; map++) {
            memcpy(state, start, sizeof state);
            const bool same = state[m->at.map] == (map & 255) && state[m->at.map + 1] == map >> 8;
            state[m->at.map] = (uint8_t)(map & 255);
            state[m->at.map + 1] = (uint8_t)(map >> 8);
            assert_int_equal(is_taken(model, state), map < (unsigned)n_maps);
            if (map < (unsigned)n_maps)
                assert_int_equal(model->world->situation(model, state, 0) == here, same);
        }
        lud_scenario_destroy(scenario);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(conditions), cmocka_unit_test(control_buttons),
                                       cmocka_unit_test(agents), cmocka_unit_test(colours_of_pieces),
                                       cmocka_unit_test(maps_of_ensembles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
