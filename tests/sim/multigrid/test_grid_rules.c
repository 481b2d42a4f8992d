/* The multigrid's step and successors against the oracle, against each other, and against exact figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/support_grids.h"
#include "sim/support_oracle.h"

enum { N_GRIDS = 12000, N_STATES = 5, N_ACTIONS = 6, MAX_STATE_BYTES = 512 };

/* Outcomes of the oracle, merged by state bytes. */
typedef struct gathered {
    const lud_model *model;
    size_t n, capacity;
    uint8_t *states;
    double *probability;
} gathered;

static void gather(void *context, const lud_grid_scene *outcome, double probability) {
    gathered *g = context;
    lud_error error = {0};
    size_t bytes = g->model->layout.state_bytes;
    uint8_t state[MAX_STATE_BYTES];
    if (lud_grid_scene_write(outcome, g->model, state, &error)) fail_msg("%s", error.text);
    for (size_t k = 0; k < g->n; k++)
        if (memcmp(g->states + k * bytes, state, bytes) == 0) {
            g->probability[k] += probability;
            return;
        }
    if (g->n == g->capacity) {
        g->capacity = g->capacity ? 2 * g->capacity : 64;
        g->states = realloc(g->states, g->capacity * bytes);
        g->probability = realloc(g->probability, g->capacity * sizeof *g->probability);
        assert_non_null(g->states);
        assert_non_null(g->probability);
    }
    memcpy(g->states + g->n * bytes, state, bytes);
    g->probability[g->n++] = probability;
}

static void report_difference(const lud_model *model, const uint8_t *state, const int32_t *actions,
                              const gathered *expected, const lud_successors *found) {
    lud_text text = {0};
    model->world->describe(model, state, &text);
    for (int i = 0; i < model->layout.n_agents; i++)
        lud_text_append(&text, "%s ", model->layout.actions[i].names[actions[i]]);
    for (size_t k = 0; k < expected->n; k++) {
        lud_text_append(&text, "\noracle %.12g:\n", expected->probability[k]);
        lud_grid_diff(model, state, expected->states + k * model->layout.state_bytes, &text);
    }
    for (size_t k = 0; k < found->n; k++) {
        lud_text_append(&text, "\nsuccessors %.12g:\n", found->probability[k]);
        lud_grid_diff(model, state, found->states + k * model->layout.state_bytes, &text);
    }
    print_message("%s\n", text.bytes);
    lud_text_free(&text);
    fail();
}

static int find_state(const uint8_t *states, size_t n, size_t bytes, const uint8_t *state) {
    for (size_t k = 0; k < n; k++)
        if (memcmp(states + k * bytes, state, bytes) == 0) return (int)k;
    return -1;
}

/* One transition: oracle, successors and a few sampled steps. */
static void check_transition(const random_grid *grid, const lud_model *model, lud_grid_scene *scene,
                             const uint8_t *state, const int32_t *actions, lud_successors *found) {
    size_t bytes = model->layout.state_bytes;
    gathered expected = {.model = model};
    lud_error error = {0};
    lud_grid_scene_read(scene, model, state);
    oracle_outcomes(&grid->spec, scene, actions, model->layout.actions[0].names, gather, &expected);
    assert_int_equal(model->world->successors(model, state, actions, found, &error), LUD_OK);
    assert_int_equal(found->n == 0, model->world->is_terminal(model, state));
    bool same = found->n == expected.n;
    double sum = 0;
    for (size_t k = 0; k < found->n && same; k++) {
        int at = find_state(expected.states, expected.n, bytes, found->states + k * bytes);
        same = at >= 0 && fabs(expected.probability[at] - found->probability[k]) < 1e-12;
        sum += found->probability[k];
    }
    if (!same) report_difference(model, state, actions, &expected, found);
    if (found->n) assert_true(fabs(sum - 1.0) < 1e-12);
    for (uint32_t tick = 0; tick < 3 && found->n; tick++) {
        uint8_t next[MAX_STATE_BYTES];
        memcpy(next, state, bytes);
        lud_range one = {.seed = 7, .first_environment = (uint32_t)actions[0], .n = 1, .tick = &tick};
        model->world->step(model, one, next, (lud_actions){.discrete = actions}, (lud_outcome){0});
        assert_true(find_state(found->states, found->n, bytes, next) >= 0);
    }
    free(expected.states);
    free(expected.probability);
}

static void random_actions(random_source *source, const lud_model *model, int32_t *actions) {
    for (int i = 0; i < model->layout.n_agents; i++) {
        uint32_t n = (uint32_t)model->layout.actions[i].n_discrete;
        actions[i] = (int32_t)random_below(source, n);
        /* Moves and presses make things happen: favour forward and toggle. */
        if (n >= 4 && random_chance(source, 0.6)) actions[i] = n >= 7 && random_chance(source, 0.4) ? 6 : 3;
    }
}

static void random_grids_agree_with_the_oracle(void **unused) {
    (void)unused;
    random_source source = {12345};
    lud_successors found = {0};
    size_t transitions = 0, branching = 0;
    for (int g = 0; g < N_GRIDS; g++) {
        random_grid grid;
        random_grid_make(&source, &grid);
        lud_model *model;
        lud_error error = {0};
        if (lud_grid_model_create(&grid.spec, &model, &error)) fail_msg("%s", error.text);
        lud_grid_scene *scene = lud_grid_scene_create(model);
        assert_non_null(scene);
        uint8_t state[MAX_STATE_BYTES];
        assert_true(model->layout.state_bytes <= sizeof state);
        lud_range one = {.n = 1, .tick = &(uint32_t){0}};
        model->world->reset(model, one, state);
        for (int s = 0; s < N_STATES; s++) {
            for (int a = 0; a < N_ACTIONS; a++) {
                int32_t actions[RANDOM_GRID_AGENTS];
                random_actions(&source, model, actions);
                check_transition(&grid, model, scene, state, actions, &found);
                transitions++;
                branching += found.n > 1;
            }
            if (s % 2 == 0 || found.n == 0) {
                model->world->reset(model, one, state);
                lud_grid_scene_read(scene, model, state);
                random_scene(&source, &grid.spec, scene, model->layout.actions[0].n_discrete);
                assert_int_equal(lud_grid_scene_write(scene, model, state, &error), LUD_OK);
            } else {
                size_t k = random_below(&source, (uint32_t)found.n);
                memcpy(state, found.states + k * model->layout.state_bytes, model->layout.state_bytes);
            }
        }
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(model);
    }
    lud_successors_free(&found);
    print_message("%zu of %zu transitions branch\n", branching, transitions);
    assert_true(transitions == (size_t)N_GRIDS * N_STATES * N_ACTIONS);
    assert_true(branching > transitions / 20); /* the random states are worth the trouble */
}

/* Sampled steps follow the enumerated probabilities: Pearson's statistic, summed over many transitions,
 * against its normal approximation. */
static void steps_follow_successors(void **unused) {
    (void)unused;
    enum { N_CASES = 60, N_SAMPLES = 4000 };
    random_source source = {999};
    lud_successors found = {0};
    double statistic = 0, freedom = 0;
    uint32_t *ticks = calloc(N_SAMPLES, sizeof *ticks);
    uint8_t *states = malloc((size_t)N_SAMPLES * MAX_STATE_BYTES);
    int32_t *joint = malloc(sizeof *joint * N_SAMPLES * RANDOM_GRID_AGENTS);
    assert_true(ticks && states && joint);
    for (int done = 0; done < N_CASES;) {
        random_grid grid;
        random_grid_make(&source, &grid);
        lud_model *model;
        lud_error error = {0};
        assert_int_equal(lud_grid_model_create(&grid.spec, &model, &error), LUD_OK);
        size_t bytes = model->layout.state_bytes, n_agents = (size_t)model->layout.n_agents;
        lud_grid_scene *scene = lud_grid_scene_create(model);
        uint8_t state[MAX_STATE_BYTES];
        lud_range one = {.n = 1, .tick = ticks};
        model->world->reset(model, one, state);
        lud_grid_scene_read(scene, model, state);
        random_scene(&source, &grid.spec, scene, model->layout.actions[0].n_discrete);
        assert_int_equal(lud_grid_scene_write(scene, model, state, &error), LUD_OK);
        int32_t actions[RANDOM_GRID_AGENTS];
        random_actions(&source, model, actions);
        assert_int_equal(model->world->successors(model, state, actions, &found, &error), LUD_OK);
        if (found.n > 1) {
            done++;
            for (size_t e = 0; e < N_SAMPLES; e++) {
                ticks[e] = (uint32_t)done;
                memcpy(states + e * bytes, state, bytes);
                memcpy(joint + e * n_agents, actions, n_agents * sizeof *joint);
            }
            lud_range many = {.seed = 5, .n = N_SAMPLES, .tick = ticks};
            model->world->step(model, many, states, (lud_actions){.discrete = joint}, (lud_outcome){0});
            double rare_expected = 0, rare_seen = 0;
            for (size_t k = 0; k < found.n; k++) {
                double expected = found.probability[k] * N_SAMPLES, seen = 0;
                for (size_t e = 0; e < N_SAMPLES; e++)
                    seen += memcmp(states + e * bytes, found.states + k * bytes, bytes) == 0;
                if (expected < 5) { /* too rare for the statistic: together */
                    rare_expected += expected;
                    rare_seen += seen;
                    continue;
                }
                statistic += (seen - expected) * (seen - expected) / expected;
                freedom += 1;
            }
            if (rare_expected >= 5) {
                statistic += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
                freedom += 1;
            }
            freedom -= 1;
            for (size_t e = 0; e < N_SAMPLES; e++) ticks[e] = 0;
        }
        lud_grid_scene_destroy(scene);
        lud_grid_model_destroy(model);
    }
    lud_successors_free(&found);
    free(ticks);
    free(states);
    free(joint);
    assert_true(freedom >= N_CASES);
    double deviation = (statistic - freedom) / sqrt(2 * freedom);
    print_message("chi-square %.1f on %.0f degrees of freedom\n", statistic, freedom);
    assert_true(fabs(deviation) < 4.5);
}

/* A range steps like its environments one by one, and a copied state goes on as the original does. */
static void batches_equal_singles_and_copies_go_on(void **unused) {
    (void)unused;
    enum { N = 64, STEPS = 60 };
    random_source source = {4242};
    for (int g = 0; g < 40; g++) {
        random_grid grid;
        random_grid_make(&source, &grid);
        lud_model *model;
        lud_error error = {0};
        assert_int_equal(lud_grid_model_create(&grid.spec, &model, &error), LUD_OK);
        size_t bytes = model->layout.state_bytes, n_agents = (size_t)model->layout.n_agents;
        uint32_t tick[N] = {0};
        uint8_t together[N * MAX_STATE_BYTES], alone[N * MAX_STATE_BYTES], saved[N * MAX_STATE_BYTES];
        int32_t joint[N * RANDOM_GRID_AGENTS];
        lud_range all = {.seed = 3, .first_environment = 10, .n = N, .tick = tick};
        model->world->reset(model, all, together);
        memcpy(alone, together, N * bytes);
        for (int s = 0; s < STEPS; s++) {
            if (s == STEPS / 2) memcpy(saved, together, N * bytes);
            for (size_t e = 0; e < N; e++) random_actions(&source, model, joint + e * n_agents);
            model->world->step(model, all, together, (lud_actions){.discrete = joint}, (lud_outcome){0});
            for (size_t e = 0; e < N; e++) {
                lud_range one = {.seed = 3, .first_environment = 10 + (uint32_t)e, .n = 1, .tick = tick + e};
                model->world->step(model, one, alone + e * bytes,
                                   (lud_actions){.discrete = joint + e * n_agents}, (lud_outcome){0});
                tick[e]++;
            }
            assert_memory_equal(together, alone, N * bytes);
            if (s == STEPS / 2) {
                /* Rewind: the saved states take the same step to the same states. */
                for (size_t e = 0; e < N; e++) tick[e]--;
                model->world->step(model, all, saved, (lud_actions){.discrete = joint}, (lud_outcome){0});
                for (size_t e = 0; e < N; e++) tick[e]++;
                assert_memory_equal(together, saved, N * bytes);
            }
        }
        lud_grid_model_destroy(model);
    }
}

/* Unpacking and packing a state gives the state back. */
static void scenes_are_lossless(void **unused) {
    (void)unused;
    random_source source = {77};
    for (int g = 0; g < 500; g++) {
        random_grid grid;
        random_grid_make(&source, &grid);
        lud_model *model;
        lud_error error = {0};
        assert_int_equal(lud_grid_model_create(&grid.spec, &model, &error), LUD_OK);
        lud_grid_scene *scene = lud_grid_scene_create(model), *again = lud_grid_scene_create(model);
        uint8_t state[MAX_STATE_BYTES], packed[MAX_STATE_BYTES];
        lud_range one = {.n = 1, .tick = &(uint32_t){0}};
        model->world->reset(model, one, state);
        lud_grid_scene_read(scene, model, state);
        random_scene(&source, &grid.spec, scene, model->layout.actions[0].n_discrete);
        assert_int_equal(lud_grid_scene_write(scene, model, state, &error), LUD_OK);
        lud_grid_scene_read(again, model, state);
        assert_int_equal(lud_grid_scene_write(again, model, packed, &error), LUD_OK);
        assert_memory_equal(state, packed, model->layout.state_bytes);
        assert_int_equal(again->n_pieces, scene->n_pieces);
        for (int i = 0; i < scene->n_agents; i++)
            assert_int_equal(again->agents[i].carries, scene->agents[i].carries);
        lud_text text = {0};
        model->world->describe(model, state, &text);
        assert_false(text.failed);
        assert_non_null(strstr(text.bytes, "agent 0"));
        lud_text_free(&text);
        lud_grid_scene_destroy(scene);
        lud_grid_scene_destroy(again);
        lud_grid_model_destroy(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_grids_agree_with_the_oracle),
        cmocka_unit_test(steps_follow_successors),
        cmocka_unit_test(batches_equal_singles_and_copies_go_on),
        cmocka_unit_test(scenes_are_lossless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
