/* What is quick gives what the plain way does: steps without a plan, features from tables, states a step
 * later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_observe.h"
#include "sim/multigrid/grid_quick.h"
#include "sim/multigrid/grid_step.h"
#include "sim/support_grids.h"

enum { N_GRIDS = 1500, N_STATES = 12, MAX_STATE_BYTES = 512 };

/* A random grid with random rewards, and its model. */
static lud_grid_model *random_model(random_source *source, random_grid *grid) {
    random_grid_make(source, grid);
    lud_grid_rewards *r = &grid->spec.rewards;
    if (random_chance(source, 0.5)) {
        r->goal = 3;
        r->step = -0.25;
        r->lava = -2;
        r->open_door = 0.5;
        r->collect.key = 1;
        r->own_goal_only = random_chance(source, 0.5);
        r->goal_ends = random_chance(source, 0.5);
        r->shared = random_chance(source, 0.3);
    }
    lud_model *model;
    lud_error error = {0};
    if (lud_grid_model_create(&grid->spec, &model, &error)) fail_msg("%s", error.text);
    assert_true(model->layout.state_bytes <= MAX_STATE_BYTES);
    return (lud_grid_model *)model;
}

static void random_state(random_source *source, const random_grid *grid, lud_grid_model *m,
                         lud_grid_scene *scene, uint8_t *state) {
    lud_error error = {0};
    m->model.world->reset(&m->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
    lud_grid_scene_read(scene, &m->model, state);
    random_scene(source, &grid->spec, scene, m->n_actions);
    if (lud_grid_scene_write(scene, &m->model, state, &error)) fail_msg("%s", error.text);
}

static void random_actions(random_source *source, const lud_grid_model *m, int32_t *actions) {
    for (int i = 0; i < m->n_agents; i++) actions[i] = (int32_t)random_below(source, (uint32_t)m->n_actions);
}

/* Whether the step is quick, by a board of its own. */
static bool is_quick(const lud_grid_model *m, const uint8_t *state, const int32_t *actions) {
    uint8_t content[RANDOM_GRID_CELLS + 1], start[RANDOM_GRID_CELLS + 1] = {0}, copy[MAX_STATE_BYTES];
    memcpy(copy, state, m->model.layout.state_bytes);
    memcpy(content, m->layers[0].base, (size_t)m->n_cells + 1);
    lud_grid_run run = {.m = m, .layer = &m->layers[0], .content = content, .start = start};
    lud_grid_load(&run, copy);
    return lud_grid_is_quick(&run, actions);
}

typedef struct outcome {
    uint8_t state[MAX_STATE_BYTES];
    float reward[RANDOM_GRID_AGENTS];
    uint8_t terminated, truncated;
} outcome;

static void take_step(const lud_grid_model *m, const uint8_t *state, const int32_t *actions, uint32_t tick,
                      outcome *out) {
    memset(out, 0, sizeof *out);
    memcpy(out->state, state, m->model.layout.state_bytes);
    m->model.world->step(&m->model, (lud_range){.seed = 5, .n = 1, .tick = &tick}, out->state,
                         (lud_actions){.discrete = actions},
                         (lud_outcome){out->reward, &out->terminated, &out->truncated, NULL});
}

static void copy_successors(const lud_successors *from, size_t bytes, lud_successors *to) {
    to->n = 0;
    assert_int_equal(lud_successors_reserve(to, bytes, from->n + 1, NULL), LUD_OK);
    to->n = from->n;
    memcpy(to->states, from->states, from->n * bytes);
    memcpy(to->probability, from->probability, from->n * sizeof *to->probability);
}

static void assert_same_successors(const lud_successors *a, const lud_successors *b, size_t bytes) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->states, b->states, a->n * bytes);
    assert_memory_equal(a->probability, b->probability, a->n * sizeof *a->probability);
}

static void quick_steps_equal_planned_ones(void **unused) {
    (void)unused;
    random_source source = {2024};
    lud_successors found = {0}, planned = {0};
    size_t n_quick = 0, n_all = 0, n_rewarded = 0;
    for (int g = 0; g < N_GRIDS; g++) {
        random_grid grid;
        lud_grid_model *m = random_model(&source, &grid);
        const size_t bytes = m->model.layout.state_bytes;
        const bool possible = m->quick.possible;
        lud_grid_scene *scene = lud_grid_scene_create(&m->model);
        for (int s = 0; s < N_STATES; s++) {
            uint8_t state[MAX_STATE_BYTES];
            int32_t actions[RANDOM_GRID_AGENTS];
            outcome quick, plain;
            random_state(&source, &grid, m, scene, state);
            random_actions(&source, m, actions);
            n_all++;
            n_quick += is_quick(m, state, actions);
            take_step(m, state, actions, (uint32_t)s, &quick);
            assert_int_equal(m->model.world->successors(&m->model, state, actions, &found, NULL), LUD_OK);
            copy_successors(&found, bytes, &planned);
            m->quick.possible = false;
            take_step(m, state, actions, (uint32_t)s, &plain);
            assert_int_equal(m->model.world->successors(&m->model, state, actions, &found, NULL), LUD_OK);
            m->quick.possible = possible;
            assert_memory_equal(&quick, &plain, sizeof quick);
            assert_same_successors(&found, &planned, bytes);
            for (int i = 0; i < m->n_agents; i++) n_rewarded += plain.reward[i] > 0;
        }
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(&m->model);
    }
    lud_successors_free(&found);
    lud_successors_free(&planned);
    print_message("%zu of %zu steps are quick\n", n_quick, n_all);
    assert_true(n_quick > n_all / 10 && n_quick < n_all && n_rewarded > n_all / 1000);
}

/* All joint actions at once, and one by one. */
static void all_successors_are_those_of_each_action(void **unused) {
    (void)unused;
    random_source source = {5150};
    lud_successors all = {0}, one = {0}, scratch = {0};
    size_t terminal = 0, branching = 0;
    uint32_t *count = malloc(sizeof *count * 4096);
    for (int g = 0; g < N_GRIDS; g++) {
        random_grid grid;
        lud_grid_model *m = random_model(&source, &grid);
        const lud_model *model = &m->model;
        const size_t bytes = model->layout.state_bytes;
        const int32_t n_joint = lud_joint_action_count(&model->layout);
        assert_true(n_joint <= 4096);
        lud_grid_scene *scene = lud_grid_scene_create(model);
        for (int s = 0; s < 4; s++) {
            uint8_t state[MAX_STATE_BYTES];
            random_state(&source, &grid, m, scene, state);
            assert_int_equal(model->world->all_successors(model, state, &scratch, &all, count, NULL), LUD_OK);
            size_t at = 0;
            for (int32_t k = 0; k < n_joint; k++) {
                int32_t actions[RANDOM_GRID_AGENTS];
                lud_joint_action_decode(&model->layout, k, actions);
                assert_int_equal(lud_grid_successors(model, state, actions, &one, NULL), LUD_OK);
                assert_int_equal(count[k], one.n);
                assert_true(at + one.n <= all.n);
                assert_memory_equal(all.states + at * bytes, one.states, one.n * bytes);
                assert_memory_equal(all.probability + at, one.probability, one.n * sizeof *one.probability);
                at += one.n;
                branching += one.n > 1;
                terminal += one.n == 0;
            }
            assert_int_equal(at, all.n);
        }
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(&m->model);
    }
    free(count);
    lud_successors_free(&all);
    lud_successors_free(&one);
    lud_successors_free(&scratch);
    assert_true(terminal > 100 && branching > 100);
}

/* On grids whose cells share their bits a step may be planned where it need not be, with the same result. */
static void quick_steps_on_large_grids(void **unused) {
    (void)unused;
    enum { SIDE = 23, N_AGENTS = 40, N_STEPS = 60 };
    static lud_grid_object cells[SIDE * SIDE];
    lud_grid_agent agents[N_AGENTS];
    random_source source = {31};
    lud_grid_map map = {.cells = cells, .agents = agents};
    lud_grid_spec spec = {.width = SIDE,
                          .height = SIDE,
                          .max_steps = 1000,
                          .n_maps = 1,
                          .maps = &map,
                          .n_agents = N_AGENTS,
                          .actions = LUD_ACTIONS_SMALL};
    for (int c = 0; c < SIDE * SIDE; c++)
        cells[c] = lud_grid_object_default(random_chance(&source, 0.1) ? LUD_WALL : LUD_EMPTY);
    for (int i = 0; i < N_AGENTS; i++) {
        const int c = i * 13;
        cells[c] = lud_grid_object_default(LUD_EMPTY);
        agents[i] =
            (lud_grid_agent){.x = c % SIDE, .y = c / SIDE, .colour = LUD_GREY, .role = LUD_ROLE_ROBOT};
    }
    lud_model *model;
    assert_int_equal(lud_grid_model_create(&spec, &model, NULL), LUD_OK);
    lud_grid_model *m = (lud_grid_model *)model;
    assert_int_equal(m->cell_bytes, 2);
    uint8_t quick[MAX_STATE_BYTES], plain[MAX_STATE_BYTES];
    assert_true(model->layout.state_bytes <= sizeof quick);
    model->world->reset(model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, quick);
    memcpy(plain, quick, sizeof quick);
    for (uint32_t tick = 0; tick < N_STEPS; tick++) {
        int32_t actions[N_AGENTS];
        random_actions(&source, m, actions);
        const lud_range one = {.seed = 1, .n = 1, .tick = &tick};
        model->world->step(model, one, quick, (lud_actions){.discrete = actions}, (lud_outcome){0});
        m->quick.possible = false;
        model->world->step(model, one, plain, (lud_actions){.discrete = actions}, (lud_outcome){0});
        m->quick.possible = true;
        assert_memory_equal(quick, plain, model->layout.state_bytes);
    }
    lud_grid_model_destroy(model);
}

/* The promise of lud_clock: what follows is the same at every step, a step later. */
static void successors_do_not_depend_on_the_step(void **unused) {
    (void)unused;
    random_source source = {88};
    lud_successors now = {0}, later = {0};
    size_t branching = 0;
    for (int g = 0; g < N_GRIDS; g++) {
        random_grid grid;
        lud_grid_model *m = random_model(&source, &grid);
        const lud_clock clock = m->model.layout.clock;
        const size_t bytes = m->model.layout.state_bytes;
        assert_int_equal(clock.bytes, 2);
        lud_grid_scene *scene = lud_grid_scene_create(&m->model);
        for (int s = 0; s < N_STATES; s++) {
            uint8_t state[MAX_STATE_BYTES];
            int32_t actions[RANDOM_GRID_AGENTS];
            random_state(&source, &grid, m, scene, state);
            random_actions(&source, m, actions);
            const uint32_t steps[2] = {random_below(&source, (uint32_t)grid.spec.max_steps),
                                       random_below(&source, (uint32_t)grid.spec.max_steps)};
            lud_grid_put16(state + clock.offset, steps[0]);
            assert_int_equal(m->model.world->successors(&m->model, state, actions, &now, NULL), LUD_OK);
            lud_grid_put16(state + clock.offset, steps[1]);
            assert_int_equal(m->model.world->successors(&m->model, state, actions, &later, NULL), LUD_OK);
            assert_int_equal(now.n, later.n);
            branching += now.n > 1;
            for (size_t k = 0; k < now.n; k++) {
                assert_int_equal(lud_grid_get16(now.states + k * bytes + clock.offset), steps[0] + 1);
                assert_int_equal(lud_grid_get16(later.states + k * bytes + clock.offset), steps[1] + 1);
                lud_grid_put16(now.states + k * bytes + clock.offset, steps[1] + 1);
            }
            assert_same_successors(&now, &later, bytes);
        }
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(&m->model);
    }
    lud_successors_free(&now);
    lud_successors_free(&later);
    assert_true(branching > 100);
}

/* Types as an agent's features name them. */
static float carried_type(lud_grid_type type) {
    return type == LUD_KEY ? 31.0f : type == LUD_BALL ? (float)LUD_CHANNEL_BALL : (float)LUD_CHANNEL_BOX;
}

/* Part `agents` against the unpacked state: by colour name, then by index. */
static void features_are_those_of_the_scene(void **unused) {
    (void)unused;
    static const lud_colour by_name[] = {LUD_BLUE,   LUD_BROWN, LUD_GREEN, LUD_GREY,
                                         LUD_PURPLE, LUD_RED,   LUD_YELLOW};
    random_source source = {99};
    size_t carrying = 0;
    for (int g = 0; g < N_GRIDS; g++) {
        random_grid grid;
        lud_grid_model *m = random_model(&source, &grid);
        lud_grid_scene *scene = lud_grid_scene_create(&m->model);
        uint8_t state[MAX_STATE_BYTES];
        random_state(&source, &grid, m, scene, state);
        lud_grid_scene_read(scene, &m->model, state);
        float found[RANDOM_GRID_AGENTS][LUD_GRID_AGENT_FEATURES];
        void *const parts[] = {NULL, NULL, found, NULL};
        m->model.world->observe(&m->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state, parts);
        int row = 0;
        for (int k = 0; k < LUD_COLOURS; k++)
            for (int i = 0; i < m->n_agents; i++) {
                const lud_grid_scene_agent *a = &scene->agents[i];
                if (a->colour != by_name[k]) continue;
                float expected[LUD_GRID_AGENT_FEATURES] = {(float)a->x, (float)a->y};
                expected[2 + a->direction] = 1;
                expected[6] = a->can_enter_magic_walls;
                expected[7] = a->can_push_rocks;
                expected[8] = a->carries ? carried_type(a->carried.type) : -1.0f;
                expected[9] = a->carries ? (float)a->carried.colour : -1.0f;
                expected[10] = a->paused;
                expected[11] = a->terminated;
                expected[12] = (float)a->forced_action;
                carrying += a->carries;
                assert_memory_equal(found[row++], expected, sizeof expected);
            }
        assert_int_equal(row, m->n_agents);
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(&m->model);
    }
    assert_true(carrying > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_steps_equal_planned_ones),
        cmocka_unit_test(quick_steps_on_large_grids),
        cmocka_unit_test(all_successors_are_those_of_each_action),
        cmocka_unit_test(successors_do_not_depend_on_the_step),
        cmocka_unit_test(features_are_those_of_the_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
