/* Pay for what is new: what counts as the same situation, what a visit is worth, and that a training with it
 * goes on from a checkpoint as if it had not stopped. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "learn/mappo/support_mappo.h"
#include "sim/multigrid/grid_model.h"

#define GRID_PAID(step)                                                                                      \
    "ludus: 1\nname: t\nworld: multigrid\n"                                                                  \
    "multigrid:\n"                                                                                           \
    "  map: |\n"                                                                                             \
    "    We We We We We We\n"                                                                                \
    "    We Ar .. Cy Gr We\n"                                                                                \
    "    We Ab Ky We .. We\n"                                                                                \
    "    We We We We We We\n"                                                                                \
    "  actions: object\n"                                                                                    \
    "  agents: [{facing: east}, {facing: east}]\n"                                                           \
    "  rewards: {goal: 1, step: " step "}\n"                                                                 \
    "  max_steps: 7\n"

#define GRID GRID_PAID("-0.01")

static lud_scenario *read_grid(void) {
    lud_scenario *s = NULL;
    lud_error error = {0};
    if (lud_scenario_read("test", GRID, strlen(GRID), NULL, 0, &s, &error)) fail_msg("%s", error.text);
    return s;
}

enum { STILL, LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE };

static void act(lud_batch *batch, int first, int second) {
    const int32_t actions[2] = {first, second};
    lud_batch_step(batch, (lud_actions){actions, NULL}, NULL);
}

/* Where an agent is, what it carries and what was opened make a situation; time, others and where it looks do
 * not. */
static void situations(void **state) {
    (void)state;
    lud_scenario *s = read_grid();
    lud_batch *batch = NULL;
    lud_error error = {0};
    assert_int_equal(lud_batch_create(s->model, 1, 1, 0, &batch, &error), LUD_OK);
    lud_batch_reset(batch, NULL);
    const lud_world *world = s->model->world;
#define SITUATION(agent) world->situation(s->model, batch->states, agent)
    const uint64_t first = SITUATION(0), second = SITUATION(1);
    assert_true(first != second);
    act(batch, LEFT, STILL); /* looks elsewhere */
    assert_true(SITUATION(0) == first);
    act(batch, RIGHT, PICKUP); /* the other one has the key now */
    assert_true(SITUATION(0) == first && SITUATION(1) != second);
    act(batch, FORWARD, DROP);
    const uint64_t moved = SITUATION(0);
    assert_true(moved != first && SITUATION(1) == second);
    act(batch, TOGGLE, STILL);
    assert_true(SITUATION(0) != moved && SITUATION(1) != second); /* the door is open, for both */
#undef SITUATION
    lud_batch_destroy(batch);
    lud_scenario_destroy(s);
}

/* The N-th visit is worth 1 / sqrt(N); of an episode that ended its last state counts, and who is out of it
 * finds nothing. */
static void visits(void **state) {
    (void)state;
    enum { ENVS = 3, ROWS = 2 * ENVS };
    lud_scenario *s = read_grid();
    lud_batch *batch = NULL;
    lud_error error = {0};
    lud_arrays arrays = {0};
    lud_mappo_novelty novelty = {0};
    assert_int_equal(lud_batch_create(s->model, ENVS, 1, 0, &batch, &error), LUD_OK);
    lud_mappo_novelty_open(&novelty, &arrays, 2 * ROWS, 2, false);
    assert_false(arrays.failed);
    lud_batch_reset(batch, NULL);
    const size_t bytes = s->model->layout.state_bytes;
    uint8_t none[ENVS] = {0}, ended[ENVS] = {0, 1, 0}, *last = calloc(ENVS, bytes);
    assert_non_null(last);
    lud_mappo_novelty_meet(&novelty, batch, 0, none, none, last);
    lud_mappo_novelty_count(&novelty, ROWS);
    for (int e = 0; e < ENVS; e++)
        for (int a = 0; a < 2; a++)
            assert_float_equal(novelty.found[e * 2 + a], 1.0f / sqrtf((float)e + 1.0f), 1e-6f);
    /* environment 1 has ended elsewhere, environment 2 has its first agent out of play */
    memcpy(last, batch->states, ENVS * bytes);
    const int32_t actions[ROWS] = {STILL, STILL, FORWARD, STILL, STILL, STILL};
    lud_batch_step(batch, (lud_actions){actions, NULL}, NULL);
    memcpy(last + bytes, batch->states + bytes, bytes);
    memcpy(batch->states + bytes, batch->states, bytes); /* as if it had begun anew */
    const lud_grid_model *m = (const lud_grid_model *)s->model;
    batch->states[2 * bytes + m->at.agent] |= LUD_AGENT_TERMINATED;
    lud_mappo_novelty_meet(&novelty, batch, 1, none, ended, last);
    lud_mappo_novelty second = {
        .counts = novelty.counts, .met = novelty.met + ROWS, .found = novelty.found + ROWS};
    lud_mappo_novelty_count(&second, ROWS);
    const float *found = second.found;
    assert_float_equal(found[0], 0.5f, 1e-6f);
    assert_float_equal(found[2], 1.0f, 1e-6f);
    assert_float_equal(found[4], 0.0f, 0.0f);
    assert_float_equal(found[5], 1.0f / sqrtf(6.0f), 1e-6f);
    free(last);
    lud_arrays_free(&arrays);
    lud_batch_destroy(batch);
    lud_scenario_destroy(s);
}

static void the_weight_falls(void **state) {
    (void)state;
    assert_float_equal((float)lud_mappo_novelty_weight(0.2, 0, 100), 0.2f, 1e-6f);
    assert_float_equal((float)lud_mappo_novelty_weight(0.2, 25, 100), 0.1f, 1e-6f);
    assert_float_equal((float)lud_mappo_novelty_weight(0.2, 50, 100), 0.0f, 1e-6f);
    assert_float_equal((float)lud_mappo_novelty_weight(0.2, 99, 100), 0.0f, 1e-6f);
}

/* The most that followed a step, by a sum of its own for each step; agents that learn together share a unit.
 */
static void what_is_earned(void **state) {
    (void)state;
    enum { STEPS = 5, AGENTS = 3, ROWS = 2 * AGENTS };
    lud_mappo_novelty novelty = {0}, plain = {0};
    lud_arrays arrays = {0};
    lud_mappo_novelty_open(&novelty, &arrays, STEPS * ROWS, AGENTS, true);
    lud_mappo_novelty_open(&plain, &arrays, STEPS * ROWS, AGENTS, false);
    assert_false(arrays.failed);
    static const int all[AGENTS] = {0, 1, 2}, last[] = {2};
    assert_true(lud_mappo_novelty_unit(&novelty, all, AGENTS) == 1.0); /* nothing yet */
    static const int32_t second[] = {1};
    float little[STEPS * ROWS], one[(STEPS + 1) * ROWS];
    for (int i = 0; i < STEPS * ROWS; i++) little[i] = -0.01f;
    for (int i = 0; i < (STEPS + 1) * ROWS; i++) one[i] = 1.0f;
    lud_mappo_novelty_earn(&novelty, STEPS, ROWS, 0.9, little, one);
    assert_true(lud_mappo_novelty_unit(&novelty, second, 1) == 1.0); /* as little as nothing */
    float rewards[STEPS * ROWS], masks[(STEPS + 1) * ROWS];
    for (int i = 0; i < STEPS * ROWS; i++) /* agent 1 loses more than agent 0 gains, agent 2 has nothing */
        rewards[i] = (float)(i % AGENTS == 0 ? i % 7 : i % AGENTS == 1 ? -(i % 11) : 0);
    for (int i = 0; i < (STEPS + 1) * ROWS; i++) masks[i] = i % 4 != 0;
    double most[AGENTS] = {0};
    for (int t = 0; t < STEPS; t++)
        for (int row = 0; row < ROWS; row++) {
            double sum = 0.0, weight = 1.0;
            for (int u = t; u < STEPS; u++) {
                sum += weight * (double)rewards[u * ROWS + row];
                if (masks[(u + 1) * ROWS + row] == 0.0f) break;
                weight *= 0.9;
            }
            most[row % AGENTS] = fmax(most[row % AGENTS], fabs(sum));
        }
    assert_true(most[1] > most[0] && most[0] > 1.0);
    lud_mappo_novelty_earn(&novelty, STEPS, ROWS, 0.9, rewards, masks);
    lud_mappo_novelty_earn(&plain, STEPS, ROWS, 0.9, rewards, masks);
    assert_float_equal((float)lud_mappo_novelty_unit(&novelty, all, 1), (float)most[0], 1e-5f);
    assert_float_equal((float)lud_mappo_novelty_unit(&novelty, all, AGENTS), (float)most[1], 1e-5f);
    assert_true(lud_mappo_novelty_unit(&novelty, last, 1) == 1.0);
    assert_true(lud_mappo_novelty_unit(&plain, all, AGENTS) == 1.0);
    /* what was earned once is not forgotten, and ten times the rewards are ten times the unit */
    for (int i = 0; i < STEPS * ROWS; i++) rewards[i] *= 0.5f;
    lud_mappo_novelty_earn(&novelty, STEPS, ROWS, 0.9, rewards, masks);
    assert_float_equal((float)lud_mappo_novelty_unit(&novelty, all, AGENTS), (float)most[1], 1e-5f);
    for (int i = 0; i < STEPS * ROWS; i++) rewards[i] *= 20.0f;
    lud_mappo_novelty_earn(&novelty, STEPS, ROWS, 0.9, rewards, masks);
    assert_float_equal((float)(lud_mappo_novelty_unit(&novelty, all, AGENTS) / (10.0 * most[1])), 1.0f,
                       1e-5f);
    lud_arrays_free(&arrays);
}

#define LEARNER(novelty) LEARNER_ON(GRID, novelty)
#define LEARNER_ON(grid, novelty)                                                                            \
    grid "run: {environments: 4, seed: 3}\nlearner: {type: graph-mappo, automatic: false, steps: 160, "      \
         "rollout_length: 10, epochs: 2, hidden_size: 8, channels: 2, novelty: " novelty "}\n"

/* What is paid reaches the updates; what is reported of a first rollout, in which everybody still acts as
 * without it, is the world's own. */
static void what_is_reported_is_the_worlds(void **state) {
    (void)state;
    support_mappo with = support_mappo_open(LEARNER("0.3")), without = support_mappo_open(LEARNER("0"));
    double a[64], b[64];
    lud_error error = {0};
    for (int i = 0; i < 64; i++) a[i] = b[i] = -1.0;
    assert_int_equal(with.learner->base.kind->iterate(&with.learner->base, a, &error), LUD_OK);
    assert_int_equal(without.learner->base.kind->iterate(&without.learner->base, b, &error), LUD_OK);
    assert_true(a[LUD_MAPPO_REWARD] == b[LUD_MAPPO_REWARD] && a[LUD_MAPPO_RETURN] == b[LUD_MAPPO_RETURN]);
    const lud_parameters *p = support_mappo_parameters(&with), *q = support_mappo_parameters(&without);
    assert_memory_not_equal(p->values, q->values, (size_t)p->size * sizeof(float));
    assert_null(without.learner->novelty.counts);
    support_mappo_close(&with);
    support_mappo_close(&without);
}

static void resume(const char *text) {
    char folder[] = "/tmp/ludus-novelty-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/half.safetensors", folder);
    double row[64];
    lud_error error = {0};
    support_mappo whole = support_mappo_open(text), rest = support_mappo_open(text);
    lud_learner *w = &whole.learner->base, *r = &rest.learner->base;
    lud_checkpoint *c = lud_checkpoint_create();
    assert_int_equal(w->kind->iterate(w, row, &error), LUD_OK);
    w->kind->visit(w, c);
    assert_int_equal(lud_checkpoint_write(c, path, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    assert_int_equal(w->kind->iterate(w, row, &error), LUD_OK);
    assert_int_equal(lud_checkpoint_open(path, &c, &error), LUD_OK);
    r->kind->visit(r, c);
    assert_int_equal(lud_checkpoint_status(c, &error), LUD_OK);
    lud_checkpoint_destroy(c);
    assert_int_equal(r->kind->iterate(r, row, &error), LUD_OK);
    const lud_parameters *a = support_mappo_parameters(&whole), *b = support_mappo_parameters(&rest);
    assert_memory_equal(a->values, b->values, (size_t)a->size * sizeof(float));
    support_mappo_close(&whole);
    support_mappo_close(&rest);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void resuming_is_exact(void **state) {
    (void)state;
    resume(LEARNER("0.3"));
    resume(LEARNER_ON(GRID_PAID("-1"), "0.3, novelty_relative: true"));
}

/* Of two trainings that differ in the unit of their pay alone, the first rollout is the same; what is learned
 * from it is too where little is earned, else not. */
static void compare_units(const char *in_share, const char *in_units, bool same) {
    support_mappo relative = support_mappo_open(in_share), plain = support_mappo_open(in_units);
    double row[64];
    lud_error error = {0};
    assert_int_equal(relative.learner->base.kind->iterate(&relative.learner->base, row, &error), LUD_OK);
    assert_int_equal(plain.learner->base.kind->iterate(&plain.learner->base, row, &error), LUD_OK);
    assert_true(relative.learner->novelty.earned[0] > 0.0f);
    assert_null(plain.learner->novelty.earned);
    const lud_parameters *p = support_mappo_parameters(&relative), *q = support_mappo_parameters(&plain);
    assert_true((memcmp(p->values, q->values, (size_t)p->size * sizeof(float)) == 0) == same);
    support_mappo_close(&relative);
    support_mappo_close(&plain);
}

static void pay_follows_what_is_earned(void **state) {
    (void)state;
    compare_units(LEARNER("0.3, novelty_relative: true"), LEARNER("0.3"), true);
    compare_units(LEARNER_ON(GRID_PAID("-1"), "0.3, novelty_relative: true"),
                  LEARNER_ON(GRID_PAID("-1"), "0.3"), false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(situations),
        cmocka_unit_test(visits),
        cmocka_unit_test(the_weight_falls),
        cmocka_unit_test(what_is_reported_is_the_worlds),
        cmocka_unit_test(resuming_is_exact),
        cmocka_unit_test(what_is_earned),
        cmocka_unit_test(pay_follows_what_is_earned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
