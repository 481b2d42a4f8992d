/* States of every world: those that a world makes are states, whatever else is in a file is refused or can be
 * gone on from. And properties of worlds that small changes to their code would break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/batch.h"
#include "sim/multigrid/grid_board.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/particle/particle.h"
#include "sim/proof/proof_model.h"
#include "sim/scenario.h"
#include "sim/support_shipped.h"

enum { ENVS = 3, STEPS = 25, CHANGES = 60 };

static support_shipped shipped;

typedef struct bed {
    lud_scenario *scenario;
    const lud_model *model;
    lud_batch *batch;
    int32_t *discrete;
    float *continuous;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
} bed;

static bool open_bed(const char *file, bed *b) {
    *b = (bed){0};
    if (lud_scenario_load(file, NULL, 0, &b->scenario, NULL)) return false;
    b->model = b->scenario->model;
    const lud_layout *layout = &b->model->layout;
    assert_int_equal(lud_batch_create(b->model, ENVS, 5, 0, &b->batch, NULL), LUD_OK);
    b->discrete = calloc((size_t)(ENVS * layout->n_agents), sizeof *b->discrete);
    b->continuous = calloc((size_t)(ENVS * layout->n_agents) * 64, sizeof *b->continuous);
    for (int p = 0; p < layout->n_parts; p++) b->parts[p] = calloc(ENVS, layout->parts[p].bytes);
    lud_batch_reset(b->batch, NULL);
    return true;
}

static void close_bed(bed *b) {
    lud_batch_destroy(b->batch);
    lud_scenario_destroy(b->scenario);
    free(b->discrete);
    free(b->continuous);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(b->parts[p]);
}

static uint32_t draw(uint32_t a, uint32_t c, uint32_t below) {
    return lud_below(lud_draw((lud_random_key){9, a}, c, 0, LUD_PURPOSE_USER, 0).v[0], below);
}

static void step(bed *b, uint32_t t) {
    const lud_layout *layout = &b->model->layout;
    for (int i = 0; i < ENVS * layout->n_agents; i++) {
        const lud_action_space *space = &layout->actions[i % layout->n_agents];
        if (space->n_discrete) b->discrete[i] = (int32_t)draw(t, (uint32_t)i, (uint32_t)space->n_discrete);
    }
    const lud_batch_out to = {.observations = b->parts};
    lud_batch_step(b->batch, (lud_actions){b->discrete, b->continuous}, &to);
}

static void worlds_make_states(void **state) {
    (void)state;
    int n_worlds = 0;
    for (int k = 0; k < shipped.n; k++) {
        bed b;
        lud_error error = {0};
        if (!open_bed(shipped.files[k], &b)) continue;
        assert_non_null(b.model->world->check_state);
        n_worlds++;
        for (uint32_t t = 0; t < STEPS; t++) {
            if (lud_world_check_states(b.model, ENVS, b.batch->states, &error))
                fail_msg("%s, step %u: %s", shipped.files[k], t, error.text);
            step(&b, t);
        }
        close_bed(&b);
    }
    print_message("%d scenarios\n", n_worlds);
    assert_true(n_worlds > 40);
}

/* The promise of lud_clock about goals: with another time they are achieved alike. */
static void goals_do_not_depend_on_the_clock(void **state) {
    (void)state;
    int64_t achieved = 0, open = 0;
    for (int k = 0; k < shipped.n; k++) {
        bed b;
        if (!open_bed(shipped.files[k], &b)) continue;
        const lud_world *world = b.model->world;
        const lud_layout *layout = &b.model->layout;
        uint8_t *other = calloc(1, layout->state_bytes);
        for (uint32_t t = 0; layout->clock.bytes && world->n_goals && t < STEPS; t++) {
            for (int e = 0; e < ENVS; e++) {
                const uint8_t *at = b.batch->states + (size_t)e * layout->state_bytes;
                memcpy(other, at, layout->state_bytes);
                memset(other + layout->clock.offset, 0, layout->clock.bytes);
                for (int agent = 0; agent < layout->n_agents; agent++)
                    for (int g = 0; g < world->n_goals(b.model, agent); g++) {
                        const bool is = world->achieved(b.model, at, agent, g);
                        assert_true(is == world->achieved(b.model, other, agent, g));
                        achieved += is;
                        open += !is;
                    }
            }
            step(&b, t);
        }
        free(other);
        close_bed(&b);
    }
    assert_true(achieved > 1000 && open > 1000);
}

static void other_states_are_refused_or_borne(void **state) {
    (void)state;
    int refused = 0, borne = 0;
    for (int k = 0; k < shipped.n; k++) {
        bed b;
        if (!open_bed(shipped.files[k], &b)) continue;
        const size_t bytes = b.model->layout.state_bytes;
        uint8_t *kept = malloc(bytes * ENVS);
        for (uint32_t c = 0; c < CHANGES; c++) {
            step(&b, c);
            memcpy(kept, b.batch->states, bytes * ENVS);
            for (uint32_t n = 0; n <= c % 3; n++) {
                uint8_t *byte = &b.batch->states[draw(c, 100 + n, (uint32_t)bytes)];
                *byte = draw(c, 200 + n, 2) ? (uint8_t)(*byte + 1) : (uint8_t)draw(c, 300 + n, 256);
            }
            lud_error error = {0};
            if (b.model->world->check_state(b.model, b.batch->states, &error)) {
                refused++;
                assert_int_equal(error.status, LUD_ERROR_INPUT);
                assert_true(error.text[0]);
                memcpy(b.batch->states, kept, bytes * ENVS);
                continue;
            }
            borne++;
            lud_text text = {0};
            b.model->world->describe(b.model, b.batch->states, &text);
            lud_text_free(&text);
            lud_batch_observe(b.batch, b.parts);
            for (uint32_t t = 0; t < 4; t++) step(&b, 1000 + t);
        }
        free(kept);
        close_bed(&b);
    }
    print_message("%d changed states: %d refused, %d gone on from\n", refused + borne, refused, borne);
    assert_true(refused > 100 && borne > 100);
}

/* A snapshot from a file is checked too. */
static void snapshots_are_checked(void **state) {
    (void)state;
    bed b;
    assert_true(open_bed(LUDUS_SOURCE_DIR "/scenarios/multigrid/rescue.yaml", &b));
    uint8_t *snapshot = malloc(lud_batch_snapshot_bytes(b.batch));
    lud_error error = {0};
    lud_batch_save(b.batch, snapshot);
    assert_int_equal(lud_batch_load(b.batch, snapshot, &error), LUD_OK);
    const lud_grid_model *m = (const lud_grid_model *)b.model;
    snapshot[b.model->layout.state_bytes + m->at.cell] = 255;
    assert_int_equal(lud_batch_load(b.batch, snapshot, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "state 2 of 3: agent 0 is in cell 255"));
    free(snapshot);
    close_bed(&b);
}

/* ---- properties ---- */

static lud_status read_text(const char *text, lud_scenario **s, lud_error *error) {
    return lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, s, error);
}

static void chances_are_chances(void **state) {
    (void)state;
    static const char *const values[] = {"1.5", "-0.1", "1", "0"};
    for (int i = 0; i < 4; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay U1 We\n"
            "    We We We We\n  legend: {U1: {unsteady_ground: {stumble: %s}}}\n",
            values[i]);
        lud_scenario *s = NULL;
        lud_error error = {0};
        const lud_status status = read_text(text, &s, &error);
        if ((status == LUD_OK) != (i >= 2)) fail_msg("stumble %s: %s", values[i], error.text);
        if (i < 2 && !strstr(error.text, "stumble")) fail_msg("%s", error.text);
        lud_scenario_destroy(s);
    }
}

/* An enabled kill button and a disabled one look different. */
static void buttons_show_their_condition(void **state) {
    (void)state;
    bed b;
    assert_true(open_bed(LUDUS_SOURCE_DIR "/scenarios/multigrid/kill_button.yaml", &b));
    const lud_grid_model *m = (const lud_grid_model *)b.model;
    int seen = 0;
    for (int i = 0; i < m->layers[0].n_fixed; i++) {
        const lud_grid_fixed *f = &m->layers[0].fixed[i];
        if (f->type != LUD_KILL_BUTTON) continue;
        float before[LUD_GRID_INTERACTIVE] = {0}, after[LUD_GRID_INTERACTIVE] = {0};
        lud_grid_encode_interactive(m, b.batch->states, before);
        lud_grid_put_condition(m, b.batch->states, f->slot, !lud_grid_condition(m, b.batch->states, f->slot));
        lud_grid_encode_interactive(m, b.batch->states, after);
        assert_memory_not_equal(before, after, sizeof before);
        /* in each of the codings */
        const size_t bytes_of_cells = (size_t)m->n_cells * LUD_GRID_CELL_NUMBERS;
        uint8_t *cells = calloc(2, bytes_of_cells);
        assert_non_null(cells);
        lud_grid_encode_cells(m, b.batch->states, 0, cells);
        lud_grid_put_condition(m, b.batch->states, f->slot, !lud_grid_condition(m, b.batch->states, f->slot));
        lud_grid_encode_cells(m, b.batch->states, 0, cells + bytes_of_cells);
        lud_grid_put_condition(m, b.batch->states, f->slot, !lud_grid_condition(m, b.batch->states, f->slot));
        assert_memory_not_equal(cells, cells + bytes_of_cells, bytes_of_cells);
        free(cells);
        /* and so does what an agent beside it is shown */
        size_t differing = 0;
        for (int p = 0; p < b.model->layout.n_parts; p++) {
            const size_t bytes = b.model->layout.parts[p].bytes;
            uint8_t *first = malloc(bytes * ENVS);
            lud_batch_observe(b.batch, b.parts);
            memcpy(first, b.parts[p], bytes);
            lud_grid_put_condition(m, b.batch->states, f->slot,
                                   !lud_grid_condition(m, b.batch->states, f->slot));
            lud_batch_observe(b.batch, b.parts);
            differing += memcmp(first, b.parts[p], bytes) != 0;
            free(first);
        }
        assert_true(differing > 0);
        seen++;
    }
    assert_true(seen > 0);
    close_bed(&b);
}

/* Corruptions of `both` are of both ends. */
static void both_ends_are_corrupted(void **state) {
    (void)state;
    lud_scenario *s = NULL;
    lud_error error = {0};
    static const char *const set[] = {"proof.negatives={per_positive: 1, corrupt: both}"};
    if (lud_scenario_load(LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml", set, 1, &s, &error))
        fail_msg("%s", error.text);
    const lud_proof_model *m = (const lud_proof_model *)(const void *)s->model;
    enum { N = 400 };
    uint8_t *states = calloc(N, s->model->layout.state_bytes);
    uint32_t tick[N] = {0};
    s->model->world->reset(s->model, (lud_range){.seed = 3, .n = N, .tick = tick}, states);
    int heads = 0, tails = 0, whole = 0;
    for (int e = 0; e < N; e++) {
        const lud_proof_state *own =
            (const lud_proof_state *)(const void *)(states + (size_t)e * s->model->layout.state_bytes);
        const lud_proof_atom *from = &m->pools[m->options.queries.play].atoms[own->query_index];
        const bool head = own->query.terms[0] != from->terms[0], tail = own->query.terms[1] != from->terms[1];
        assert_false(head && tail);
        assert_true(own->label == !(head || tail));
        heads += head;
        tails += tail;
        whole += own->label;
    }
    assert_true(heads > N / 8 && tails > N / 8 && whole > N / 4); /* a quarter, a quarter and a half */
    free(states);
    lud_scenario_destroy(s);
}

/* A body that moves and is no agent: it is pushed, and only then it moves. Without a success rule nothing
 * ends before its time and nothing succeeds. */
static void bodies_move_when_pushed(void **state) {
    (void)state;
    static const char text[] =
        "ludus: 1\nname: t\nworld: particle\nparticle:\n  episode_length: 40\n  bodies:\n"
        "    - {name: agent, type: agent, count: 1, radius: 0.2, at: [[-0.3, 0]]}\n"
        "    - {name: ball, type: landmark, count: 1, radius: 0.2, movable: true, collides: true, at: [[0.3, "
        "0]]}\n"
        "  rewards: []\n";
    lud_scenario *s = NULL;
    lud_error error = {0};
    if (read_text(text, &s, &error)) {
        print_message("%s\n", error.text);
        fail();
    }
    const lud_particle_model *m = (const lud_particle_model *)(const void *)s->model;
    assert_false(lud_particle_has_success(m));
    lud_batch *batch;
    assert_int_equal(lud_batch_create(s->model, 1, 1, 0, &batch, NULL), LUD_OK);
    batch->end = LUD_END_GOES_ON;
    lud_batch_reset(batch, NULL);
    const double start = lud_particle_get_body(m, batch->states, 1).position[0];
    const int32_t none = 0;
    uint8_t terminated = 0;
    const lud_batch_out to = {.terminated = &terminated};
    lud_batch_step(batch, (lud_actions){.discrete = &none}, &to);
    assert_true(lud_particle_get_body(m, batch->states, 1).position[0] == start);
    int32_t right = -1;
    for (int a = 1; a < s->model->layout.actions[0].n_discrete && right < 0; a++) {
        lud_batch_reset(batch, NULL);
        lud_batch_step(batch, (lud_actions){.discrete = &a}, &to);
        if (lud_particle_get_body(m, batch->states, 0).velocity[0] > 0) right = a;
    }
    assert_true(right > 0);
    lud_batch_reset(batch, NULL);
    for (int t = 0; t < 39; t++) {
        lud_batch_step(batch, (lud_actions){.discrete = &right}, &to);
        assert_false(terminated);
    }
    assert_true(lud_particle_get_body(m, batch->states, 1).position[0] > start + 0.05);
    assert_true(lud_particle_get_metrics(m, batch->states).success == 0);
    lud_batch_destroy(batch);
    lud_scenario_destroy(s);
}

/* A rule of success that is about nobody is met by nothing: no episode ends by it. */
static void nothing_succeeds_without_things_to_reach(void **state) {
    (void)state;
    static const char text[] =
        "ludus: 1\nname: t\nworld: particle\nparticle:\n  episode_length: 9\n  parameters: {goals: 0}\n  "
        "bodies:\n"
        "    - {name: agent, type: agent, count: 1, radius: 0.2}\n"
        "    - {name: goal, type: landmark, count: \"$goals\", radius: 0.2, collides: false}\n"
        "  rewards: []\n  success: {every: goal, reaches: agent, terminate: true}\n";
    lud_scenario *s = NULL;
    lud_error error = {0};
    if (read_text(text, &s, &error)) fail_msg("%s", error.text);
    assert_false(lud_particle_has_success((const lud_particle_model *)(const void *)s->model));
    lud_batch *batch;
    assert_int_equal(lud_batch_create(s->model, 1, 1, 0, &batch, NULL), LUD_OK);
    batch->end = LUD_END_GOES_ON;
    lud_batch_reset(batch, NULL);
    const int32_t none = 0;
    for (int t = 0; t < 5; t++) {
        uint8_t terminated = 0;
        lud_batch_step(batch, (lud_actions){.discrete = &none}, &(lud_batch_out){.terminated = &terminated});
        assert_false(terminated);
    }
    lud_batch_destroy(batch);
    lud_scenario_destroy(s);
}

static int count_of(const char *text, const char *word) {
    int n = 0;
    while ((text = strstr(text, word)) != NULL) {
        n++;
        text += strlen(word);
    }
    return n;
}

/* What lies outside a map without walls is a wall, whatever has been taken off the board before: nobody steps
 * out, and nothing can be taken, opened or pushed there. */
static void outside_is_a_wall(void **state) {
    (void)state;
    static const char *const texts[] = {
        "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    Ay .. ..\n    .. .. ..\n    .. .. "
        "..\n"
        "  max_steps: 1000\n",
        "ludus: 1\nname: t\nworld: multigrid\nmultigrid:\n  map: |\n    Ay B1 ..\n    Ro Ky ..\n    .. .. "
        "..\n"
        "  legend: {B1: {box: {contains: {ball: {colour: yellow}}}}}\n  max_steps: 1000\n"};
    int most_seen = 0;
    for (int k = 0; k < 2; k++) {
        lud_scenario *s = NULL;
        lud_error error = {0};
        if (read_text(texts[k], &s, &error)) fail_msg("%s", error.text);
        const lud_grid_model *m = (const lud_grid_model *)(const void *)s->model;
        lud_batch *batch;
        assert_int_equal(lud_batch_create(s->model, 1, 1, 0, &batch, NULL), LUD_OK);
        lud_batch_reset(batch, NULL);
        for (uint32_t t = 0; t < 900; t++) {
            const lud_random_key key = {5, 0};
            const int32_t action = (int32_t)lud_below(lud_draw(key, t, 0, LUD_PURPOSE_USER, 0).v[0],
                                                      (uint32_t)s->model->layout.actions[0].n_discrete);
            lud_batch_step(batch, (lud_actions){.discrete = &action}, NULL);
            assert_true(lud_grid_get_cell(m, batch->states, m->at.cell, 0) < (uint32_t)m->n_cells);
            if (lud_world_check_states(s->model, 1, batch->states, &error))
                fail_msg("step %u: %s", t, error.text);
            lud_text told = {0};
            s->world->describe(s->model, batch->states, &told);
            if (count_of(told.bytes, "ball") > 1 || count_of(told.bytes, "key") > 1 ||
                count_of(told.bytes, "rock") > 1)
                fail_msg("step %u: %s", t, told.bytes);
            most_seen += count_of(told.bytes, "ball");
            lud_text_free(&told);
        }
        lud_batch_destroy(batch);
        lud_scenario_destroy(s);
    }
    assert_true(most_seen > 0);
}

int main(void) {
    support_list_shipped(&shipped);
    const struct CMUnitTest tests[] = {cmocka_unit_test(worlds_make_states),
                                       cmocka_unit_test(goals_do_not_depend_on_the_clock),
                                       cmocka_unit_test(other_states_are_refused_or_borne),
                                       cmocka_unit_test(snapshots_are_checked),
                                       cmocka_unit_test(chances_are_chances),
                                       cmocka_unit_test(buttons_show_their_condition),
                                       cmocka_unit_test(both_ends_are_corrupted),
                                       cmocka_unit_test(bodies_move_when_pushed),
                                       cmocka_unit_test(nothing_succeeds_without_things_to_reach),
                                       cmocka_unit_test(outside_is_a_wall)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
