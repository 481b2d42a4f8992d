/* A world of several maps is, once it is in one of them, the world of that map alone: the same observations
 * in every coding and view, the same steps and the same rewards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "sim/multigrid/grid_model.h"
#include "sim/scenario.h"
#include "sim/world.h"

enum { MAPS = 3, STEPS = 40, MOST_BYTES = 256, MOST_PARTS = 16, MOST_OBSERVED = 1 << 14 };

static lud_range one(const uint32_t *tick) {
    return (lud_range){.seed = 3, .n = 1, .tick = tick};
}

/* They differ in walls, doors, things and where agents start; in what there is at most they are alike. */
static const char *const maps[MAPS] = {
    "        We We We We We We\n        We Ay .. Cr .. We\n        We .. We Kr Ro We\n"
    "        We Ae .. .. Gr We\n        We We We We We We\n",
    "        We We We We We We\n        We .. Ay We Ro We\n        We Lr .. .. Kr We\n"
    "        We .. Ae Gr .. We\n        We We We We We We\n",
    "        We We We We We We\n        We Gr .. .. .. We\n        We Kr Ay Or Ae We\n"
    "        We .. .. We Ro We\n        We We We We We We\n"};

static const char *const options[] = {
    "", "  observation: {coding: cells}\n", "  observation: {view: partial, size: 5}\n",
    "  observation: {view: partial, size: 3, coding: cells, see_through_walls: true}\n"};

static lud_scenario *make(const int *which, int n, const char *more) {
    lud_text text = {0};
    lud_error error = {0};
    lud_scenario *scenario;
    lud_text_append(&text,
                    "ludus: 1\nworld: multigrid\nmultigrid:\n  actions: object\n  max_steps: 30\n"
                    "  rewards: {goal: 1, step: -0.1, open_door: 0.5}\n%s  ensemble:\n",
                    more);
    for (int k = 0; k < n; k++) lud_text_append(&text, "    - map: |\n%s", maps[which[k]]);
    if (lud_scenario_read("maps.yaml", text.bytes, strlen(text.bytes), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    lud_text_free(&text);
    return scenario;
}

/* All that agents see, one array behind the other; how many bytes. */
static size_t observe(const lud_model *model, const uint8_t *state, uint8_t *to) {
    const lud_layout *layout = &model->layout;
    void *parts[MOST_PARTS];
    size_t n = 0;
    const uint32_t tick = 0;
    assert_in_range(layout->n_parts, 1, MOST_PARTS);
    for (int p = 0; p < layout->n_parts; p++) {
        parts[p] = to + n;
        n += (layout->parts[p].bytes + 15) / 16 * 16;
        assert_in_range(n, 0, MOST_OBSERVED);
    }
    memset(to, 0, n);
    model->world->observe(model, one(&tick), state, parts);
    return n;
}

static void expect_same(const lud_model *a, const uint8_t *state_of_a, const lud_model *b,
                        const uint8_t *state_of_b) {
    static uint8_t seen[2][MOST_OBSERVED];
    const size_t n = observe(a, state_of_a, seen[0]);
    assert_int_equal(observe(b, state_of_b, seen[1]), n);
    assert_memory_equal(seen[0], seen[1], n);
}

/* Which of its maps a state is of. */
static int map_of(const lud_model *model, const uint8_t *state) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    return m->n_maps > 1 ? state[m->at.map] | state[m->at.map + 1] << 8 : 0;
}

static void one_map_is_as_if_alone(void **unused) {
    (void)unused;
    static const int all[MAPS] = {0, 1, 2};
    for (int n_maps = 2; n_maps <= MAPS; n_maps++)
        for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
            lud_scenario *ensemble = make(all, n_maps, options[o]), *alone[MAPS];
            bool met[MAPS] = {0};
            for (int k = 0; k < n_maps; k++) alone[k] = make(&all[k], 1, options[o]);
            const lud_model *model = ensemble->model;
            for (uint32_t episode = 0; episode < 30; episode++) {
                uint8_t state[MOST_BYTES] = {0}, own[MOST_BYTES] = {0};
                uint32_t tick = 100 * episode;
                assert_in_range(model->layout.state_bytes, 1, MOST_BYTES);
                model->world->reset(model, one(&tick), state);
                const int map = map_of(model, state);
                assert_in_range(map, 0, n_maps - 1);
                met[map] = true;
                const lud_model *other = alone[map]->model;
                other->world->reset(other, one(&tick), own);
                expect_same(model, state, other, own);
                for (int t = 0; t < STEPS; t++, tick++) {
                    int32_t actions[2];
                    float rewards[2][2] = {{0}};
                    uint8_t ended[4] = {0};
                    for (int i = 0; i < 2; i++)
                        actions[i] = (int32_t)((episode * 31 + (uint32_t)(t * 7 + i * 3) * 5) %
                                               (uint32_t)model->layout.actions[i].n_discrete);
                    const lud_actions act = {.discrete = actions};
                    model->world->step(model, one(&tick), state, act,
                                       (lud_outcome){.rewards = rewards[0],
                                                     .terminated = &ended[0],
                                                     .truncated = &ended[1]});
                    other->world->step(other, one(&tick), own, act,
                                       (lud_outcome){.rewards = rewards[1],
                                                     .terminated = &ended[2],
                                                     .truncated = &ended[3]});
                    assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
                    assert_memory_equal(&ended[0], &ended[2], 2);
                    assert_int_equal(map_of(model, state), map);
                    expect_same(model, state, other, own);
                    if (ended[0] || ended[1]) break;
                }
            }
            for (int k = 0; k < n_maps; k++) {
                assert_true(met[k]);
                lud_scenario_destroy(alone[k]);
            }
            lud_scenario_destroy(ensemble);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_map_is_as_if_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
