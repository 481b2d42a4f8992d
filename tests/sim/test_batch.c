#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "base/clock.h"
#include "sim/batch.h"
#include "sim/support_walk.h"

enum { WALKERS = 3, ENVS = 300, STEPS = 90, SEED = 11 };

/* A run's every visible number, one after the other. */
typedef struct trace {
    uint8_t states[STEPS][ENVS][2 + 2 * WALKERS];
    uint8_t final_states[ENVS][2 + 2 * WALKERS];
    float rewards[STEPS][ENVS][WALKERS];
    uint8_t terminated[STEPS][ENVS], truncated[STEPS][ENVS];
    int32_t places[STEPS][ENVS][WALKERS];
} trace;

static void choose(int step, int first, int n, int32_t *actions) {
    for (int e = 0; e < n; e++)
        for (int i = 0; i < WALKERS; i++)
            actions[e * WALKERS + i] =
                (int32_t)lud_below(lud_draw((lud_random_key){5, (uint32_t)(first + e)}, (uint32_t)step,
                                            (uint32_t)i, LUD_PURPOSE_USER, 0)
                                       .v[0],
                                   3);
}

/* Runs environments first..first+n-1 from step `from` on and writes them where they belong in the trace. */
static void run(lud_batch *batch, int first, int from, int to, trace *t) {
    int n = batch->n_envs;
    int32_t *actions = malloc((size_t)n * WALKERS * sizeof *actions);
    for (int step = from; step < to; step++) {
        choose(step, first, n, actions);
        void *parts[] = {t->places[step][first]};
        lud_batch_step(batch, (lud_actions){.discrete = actions},
                       &(lud_batch_out){.observations = parts,
                                        .rewards = t->rewards[step][first],
                                        .terminated = t->terminated[step] + first,
                                        .truncated = t->truncated[step] + first,
                                        .final_states = t->final_states[first]});
        memcpy(t->states[step][first], batch->states, (size_t)n * batch->model->layout.state_bytes);
    }
    free(actions);
}

static trace *run_whole(const walk_model *walk, int n_threads, int n_batches) {
    trace *t = calloc(1, sizeof *t);
    for (int b = 0; b < n_batches; b++) {
        int first = ENVS * b / n_batches, n = ENVS * (b + 1) / n_batches - first;
        lud_batch *batch;
        assert_int_equal(lud_batch_create(&walk->model, n, SEED, (uint32_t)first, &batch, NULL), LUD_OK);
        batch->n_threads = n_threads;
        lud_batch_reset(batch, NULL);
        run(batch, first, 0, STEPS, t);
        lud_batch_destroy(batch);
    }
    return t;
}

static walk_model *make_walk(void) {
    walk_model *walk = walk_create(WALKERS, 5, 13);
    walk->random_start = true;
    return walk;
}

static void test_threads_and_splits_agree(void **state) {
    (void)state;
    walk_model *walk = make_walk();
    trace *one = run_whole(walk, 1, 1);
    int n_done = 0;
    for (int s = 0; s < STEPS; s++)
        for (int e = 0; e < ENVS; e++) n_done += one->terminated[s][e] || one->truncated[s][e];
    assert_true(n_done > ENVS * (STEPS / 13)); /* episodes did end and start anew */
    int threads[] = {2, 3, 8, 1, 2}, batches[] = {1, 1, 1, 3, ENVS};
    for (int i = 0; i < 5; i++) {
        trace *other = run_whole(walk, threads[i], batches[i]);
        assert_memory_equal(one, other, sizeof *one);
        free(other);
    }
    free(one);
    walk_destroy(walk);
}

/* The batch against calls of the world by hand, environment by environment. */
static void test_batch_equals_singles(void **state) {
    (void)state;
    walk_model *walk = make_walk();
    trace *whole = run_whole(walk, 2, 1);
    const lud_world *world = walk->model.world;
    size_t state_bytes = walk->model.layout.state_bytes;
    for (int e = 0; e < ENVS; e++) {
        uint8_t single[2 + 2 * WALKERS];
        uint32_t tick = 0;
        lud_range range = {.seed = SEED, .first_environment = (uint32_t)e, .n = 1, .tick = &tick};
        world->reset(&walk->model, range, single);
        for (int s = 0; s < STEPS; s++) {
            int32_t actions[WALKERS];
            float rewards[WALKERS];
            uint8_t terminated, truncated;
            choose(s, e, 1, actions);
            world->step(
                &walk->model, range, single, (lud_actions){.discrete = actions},
                (lud_outcome){.rewards = rewards, .terminated = &terminated, .truncated = &truncated});
            tick++;
            assert_memory_equal(rewards, whole->rewards[s][e], sizeof rewards);
            assert_int_equal(terminated, whole->terminated[s][e]);
            assert_int_equal(truncated, whole->truncated[s][e]);
            if (terminated || truncated) world->reset(&walk->model, range, single);
            assert_memory_equal(single, whole->states[s][e], state_bytes);
            int32_t places[WALKERS];
            void *parts[] = {places};
            world->observe(&walk->model, range, single, parts);
            assert_memory_equal(places, whole->places[s][e], sizeof places);
        }
    }
    free(whole);
    walk_destroy(walk);
}

static void test_snapshot_continues_bit_for_bit(void **state) {
    (void)state;
    walk_model *walk = make_walk();
    trace *whole = run_whole(walk, 2, 1), *t = calloc(1, sizeof *t);
    lud_batch *batch;
    assert_int_equal(lud_batch_create(&walk->model, ENVS, SEED, 0, &batch, NULL), LUD_OK);
    lud_batch_reset(batch, NULL);
    run(batch, 0, 0, 40, t);
    void *snapshot = malloc(lud_batch_snapshot_bytes(batch));
    lud_batch_save(batch, snapshot);
    run(batch, 0, 40, 60, t);
    assert_int_equal(lud_batch_load(batch, snapshot, NULL), LUD_OK);
    run(batch, 0, 40, STEPS, t);
    assert_memory_equal(t, whole, sizeof *t);
    /* and in a batch that never ran */
    lud_batch *other;
    assert_int_equal(lud_batch_create(&walk->model, ENVS, SEED, 0, &other, NULL), LUD_OK);
    assert_int_equal(lud_batch_load(other, snapshot, NULL), LUD_OK);
    memset(t->states[40], 0, sizeof *t->states * (STEPS - 40));
    run(other, 0, 40, STEPS, t);
    assert_memory_equal(t, whole, sizeof *t);
    lud_batch_destroy(batch);
    lud_batch_destroy(other);
    free(snapshot);
    free(t);
    free(whole);
    walk_destroy(walk);
}

/* A step that no episode has is refused: one before its begin, and one behind which there is no other. */
static void test_impossible_steps_are_refused(void **state) {
    (void)state;
    walk_model *walk = make_walk();
    lud_batch *batch;
    assert_int_equal(lud_batch_create(&walk->model, ENVS, SEED, 0, &batch, NULL), LUD_OK);
    lud_batch_reset(batch, NULL);
    void *snapshot = malloc(lud_batch_snapshot_bytes(batch));
    const int32_t impossible[] = {-1, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 3; i++) {
        batch->episode_step[ENVS - 1] = impossible[i];
        lud_batch_save(batch, snapshot);
        assert_int_equal(lud_batch_load(batch, snapshot, NULL), LUD_ERROR_INPUT);
    }
    batch->episode_step[ENVS - 1] = 3;
    lud_batch_save(batch, snapshot);
    assert_int_equal(lud_batch_load(batch, snapshot, NULL), LUD_OK);
    lud_batch_destroy(batch);
    free(snapshot);
    walk_destroy(walk);
}

static void test_final_states_and_counters(void **state) {
    (void)state;
    walk_model *walk = walk_create(1, 7, 4);
    walk->slip[0] = 0;
    lud_batch *batch;
    assert_int_equal(lud_batch_create(&walk->model, 2, 1, 0, &batch, NULL), LUD_OK);
    lud_batch_reset(batch, NULL);
    uint8_t final_states[2][4] = {{0}}, expected[4];
    uint8_t terminated[2], truncated[2];
    int32_t actions[] = {2, 1}; /* one walks 1 2 3 4 5 to the limit, one goes 1 0: home */
    lud_batch_out out = {.final_states = final_states[0], .terminated = terminated, .truncated = truncated};
    lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
    assert_int_equal(terminated[1], 1);
    assert_int_equal(truncated[1], 0);
    assert_int_equal(batch->episode[1], 1);
    assert_int_equal(batch->episode_step[1], 0);
    walk_state(walk, 1, (int[]){0}, expected);
    assert_memory_equal(final_states[1], expected, 4);
    walk_state(walk, 0, (int[]){1}, expected);
    assert_memory_equal(batch->states + 4, expected, 4);
    for (int s = 0; s < 3; s++) lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
    assert_int_equal(truncated[0], 1);
    assert_int_equal(terminated[0], 0);
    assert_int_equal(batch->episode[0], 1);
    assert_int_equal(batch->tick[0], 4);
    walk_state(walk, 4, (int[]){5}, expected);
    assert_memory_equal(final_states[0], expected, 4);
    lud_batch_destroy(batch);

    assert_int_equal(lud_batch_create(&walk->model, 1, 1, 0, &batch, NULL), LUD_OK);
    batch->end = LUD_END_GOES_ON;
    lud_batch_reset(batch, NULL);
    for (int s = 0; s < 4; s++) lud_batch_step(batch, (lud_actions){.discrete = actions}, NULL);
    assert_memory_equal(batch->states, expected, 4); /* stays at its end */
    lud_batch_destroy(batch);

    lud_error error = {0};
    assert_int_equal(lud_batch_create(&walk->model, 0, 1, 0, &batch, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "a batch needs at least one environment, not 0");
    walk_destroy(walk);
}

/* What becomes of environments that are over: they wait for the next step, for a reset, or for nothing. */
static void test_ends(void **state) {
    (void)state;
    walk_model *walk = walk_create(1, 7, 3);
    walk->slip[0] = 0;
    static const lud_batch_end ends[] = {LUD_END_RESETS_NEXT, LUD_END_STAYS, LUD_END_GOES_ON};
    for (int k = 0; k < 3; k++) {
        lud_batch *batch;
        assert_int_equal(lud_batch_create(&walk->model, 3, 1, 0, &batch, NULL), LUD_OK);
        batch->end = ends[k];
        lud_batch_reset(batch, NULL);
        uint8_t terminated[3], truncated[3], home[4], start[4], second[4];
        float rewards[3] = {0};
        walk_state(walk, 0, (int[]){1}, start);
        const int32_t actions[] = {2, 1,
                                   2}; /* the one in the middle goes home at once, the others to the limit */
        const lud_batch_out out = {.rewards = rewards, .terminated = terminated, .truncated = truncated};
        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        walk_state(walk, 1, (int[]){0}, home);
        assert_memory_equal(batch->states + 4, home, 4); /* its last state is still there */
        assert_true(terminated[1] == 1 && truncated[1] == 0 && terminated[0] == 0 && truncated[0] == 0);
        assert_int_equal(batch->episode[1], 1);
        walk_state(walk, 2, (int[]){3}, second);

        for (int e = 0; e < 3; e++) terminated[e] = truncated[e] = 7;
        for (int e = 0; e < 3; e++) rewards[e] = 7.0f;
        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        assert_memory_equal(batch->states, second, 4);
        assert_memory_equal(batch->states + 8, second, 4);
        assert_true(terminated[0] == 0 && truncated[2] == 0);
        assert_int_equal(batch->tick[0], 2);
        if (ends[k] == LUD_END_RESETS_NEXT) {
            assert_memory_equal(batch->states + 4, start, 4);
            assert_true(terminated[1] == 0 && truncated[1] == 0 && rewards[1] == 0.0f);
            assert_true(batch->tick[1] == 2 && batch->episode_step[1] == 0 && batch->episode[1] == 1);
        } else if (ends[k] == LUD_END_STAYS) {
            assert_memory_equal(batch->states + 4, home, 4);
            assert_true(terminated[1] == 1 && truncated[1] == 0 && rewards[1] == 0.0f);
            assert_true(batch->tick[1] == 1 && batch->episode_step[1] == 1 && batch->episode[1] == 1);
        } else {
            assert_int_equal(batch->tick[1], 2);
            assert_int_equal(batch->episode_step[1], 2);
        }

        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        assert_true(truncated[0] == 1 && terminated[0] == 0 && truncated[2] == 1);
        if (ends[k] == LUD_END_RESETS_NEXT) {
            assert_memory_equal(batch->states + 4, home, 4); /* the new episode ends as the one before */
            assert_int_equal(terminated[1], 1);
            assert_int_equal(batch->episode[1], 2);
        }
        if (ends[k] == LUD_END_STAYS) {
            lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
            assert_true(truncated[0] == 1 && terminated[0] == 0 && terminated[1] == 1 && truncated[1] == 0);
            lud_batch_reset(batch, NULL); /* nobody waits any more */
            lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
            assert_true(truncated[0] == 0 && terminated[1] == 1 && batch->episode_step[0] == 1);
        }
        lud_batch_destroy(batch);
    }
    walk_destroy(walk);
}

static int walk_elapsed(const lud_model *model, const uint8_t *state) {
    (void)model;
    return state[0] | state[1] << 8;
}

/* Environments that are put into states go on from there, over or not before; the others know nothing of it.
 */
static void test_environments_are_put_into_states(void **state) {
    (void)state;
    enum { FOUR = 4 };
    walk_model *walk = walk_create(1, 7, 5);
    walk->slip[0] = 0;
    const lud_world *plain = walk->model.world;
    lud_world counting = *plain; /* whose states say how many steps they are from the start */
    counting.elapsed = walk_elapsed;
    static const lud_batch_end ends[] = {LUD_END_RESETS_NEXT, LUD_END_STAYS};
    for (int k = 0; k < 4; k++) {
        const bool counts = k < 2, stays = ends[k % 2] == LUD_END_STAYS;
        walk->model.world = counts ? &counting : plain;
        lud_batch *batch;
        assert_int_equal(lud_batch_create(&walk->model, FOUR, 1, 0, &batch, NULL), LUD_OK);
        batch->end = ends[k % 2];
        lud_batch_reset(batch, NULL);
        uint8_t terminated[FOUR], truncated[FOUR], there[2][4], wanted[4];
        const int32_t home[] = {1, 1, 1, 1}, away[] = {2, 2, 2, 2};
        const lud_batch_out out = {.terminated = terminated, .truncated = truncated};
        lud_batch_step(batch, (lud_actions){.discrete = home}, &out);
        for (int e = 0; e < FOUR; e++) assert_int_equal(terminated[e], 1);
        walk_state(walk, 2, (int[]){3}, there[0]);
        walk_state(walk, 3, (int[]){4}, there[1]);
        lud_batch_put(batch, 1, 2, there[0]);
        walk_state(walk, 1, (int[]){0}, wanted);
        for (int e = 0; e < FOUR; e++) {
            const bool put = e == 1 || e == 2;
            assert_memory_equal(batch->states + 4 * e, put ? there[e - 1] : wanted, 4);
            assert_int_equal(batch->episode_step[e], !put ? 1 : counts ? e + 1 : 0);
        }
        lud_batch_step(batch, (lud_actions){.discrete = away}, &out);
        for (int e = 1; e <= 2; e++) {
            walk_state(walk, e + 2, (int[]){e + 3}, wanted);
            assert_memory_equal(batch->states + 4 * e, wanted, 4);
            assert_true(!terminated[e] && !truncated[e] && batch->episode_step[e] == (counts ? e + 2 : 1));
        }
        for (int e = 0; e < FOUR; e += 3) /* they waited, or began anew */
            assert_int_equal(batch->episode_step[e], stays);
        lud_batch_destroy(batch);
    }
    walk->model.world = plain;
    walk_destroy(walk);
}

/* A world without a limit of steps: whoever waits for whole episodes sets one, and they begin anew behind it.
 */
static void test_a_limit_of_the_batch(void **state) {
    (void)state;
    walk_model *limited = walk_create(1, 7, 3), *walk = walk_create(1, 7, 0);
    assert_int_equal(lud_batch_limit(&limited->model), 0);
    assert_int_equal(lud_batch_limit(&walk->model), LUD_ENDLESS_STEPS);
    lud_batch *batch;
    assert_int_equal(lud_batch_create(&walk->model, 2, 1, 0, &batch, NULL), LUD_OK);
    assert_int_equal(batch->most_steps, 0);
    lud_batch_reset(batch, NULL);
    uint8_t terminated[2], truncated[2];
    const int32_t actions[] = {0, 0}; /* both stay where they are */
    const lud_batch_out out = {.terminated = terminated, .truncated = truncated};
    for (int s = 0; s < 20; s++) {
        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        assert_true(!terminated[0] && !truncated[0] && !truncated[1]);
    }
    lud_batch_reset(batch, NULL);
    batch->most_steps = 4;
    for (int s = 1; s <= 12; s++) {
        lud_batch_step(batch, (lud_actions){.discrete = actions}, &out);
        for (int e = 0; e < 2; e++) {
            assert_int_equal(truncated[e], s % 4 == 0);
            assert_int_equal(terminated[e], 0);
            assert_int_equal(batch->episode[e], s / 4);
            assert_int_equal(batch->episode_step[e], s % 4);
        }
    }
    lud_batch_destroy(batch);
    walk_destroy(walk);
    walk_destroy(limited);
}

/* ---- pieces ---- */

static const lud_world *quick_world;
static _Atomic unsigned threads_seen; /* a bit each */

static void step_slowly(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                        lud_outcome outcome) {
    const double began = lud_clock_seconds();
    threads_seen |= 1u << omp_get_thread_num();
    quick_world->step(model, range, states, actions, outcome);
    while (lud_clock_seconds() - began < 1e-4 * range.n) continue;
}

/* Of a world whose steps take long a few environments are already worth a thread. */
static void test_few_slow_environments_are_shared(void **state) {
    (void)state;
    enum { FEW = 16, TAKEN = 5 };
    walk_model *walk = make_walk();
    quick_world = walk->model.world;
    lud_world slow = *quick_world;
    slow.step = step_slowly;
    walk->model.world = &slow;
    trace *t[2];
    for (int k = 0; k < 2; k++) {
        t[k] = calloc(1, sizeof *t[k]);
        lud_batch *batch;
        assert_int_equal(lud_batch_create(&walk->model, FEW, SEED, 0, &batch, NULL), LUD_OK);
        batch->n_threads = 1 + k;
        lud_batch_reset(batch, NULL);
        threads_seen = 0;
        run(batch, 0, 0, TAKEN, t[k]);
        assert_int_equal(threads_seen, k == 0 ? 1 : 3);
        lud_batch_destroy(batch);
    }
    assert_memory_equal(t[0], t[1], sizeof *t[0]);
    free(t[0]);
    free(t[1]);
    walk->model.world = quick_world;
    walk_destroy(walk);
}

/* ---- parts of rewards ---- */

enum { PARTS = 2 };

/* One part is what the reward is above one, the other is one. */
static void step_in_parts(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                          lud_outcome outcome) {
    quick_world->step(model, range, states, actions, outcome);
    for (int i = 0; i < range.n * model->layout.n_agents; i++) {
        outcome.components[i * PARTS] = outcome.rewards[i] - 1.0f;
        outcome.components[i * PARTS + 1] = 1.0f;
    }
}

/* Parts are those of the environment and agent; who waits, or begins anew, has neither rewards nor parts. */
static void test_parts_of_rewards(void **state) {
    (void)state;
    enum { FEW = 4, AGENTS = 2 };
    static const char *const names[PARTS] = {"above", "one"};
    walk_model *walk = walk_create(AGENTS, 7, 9);
    for (int i = 0; i < AGENTS; i++) walk->slip[i] = 0;
    quick_world = walk->model.world;
    lud_world parted = *quick_world;
    parted.step = step_in_parts;
    walk->model.world = &parted;
    walk->model.layout.n_components = PARTS;
    walk->model.layout.components = names;
    static const lud_batch_end ends[] = {LUD_END_RESETS_NEXT, LUD_END_STAYS};
    for (int k = 0; k < 2; k++) {
        lud_batch *batch;
        assert_int_equal(lud_batch_create(&walk->model, FEW, 1, 0, &batch, NULL), LUD_OK);
        batch->end = ends[k];
        lud_batch_reset(batch, NULL);
        float rewards[FEW][AGENTS], parts[FEW][AGENTS][PARTS];
        uint8_t terminated[FEW];
        int n_waited = 0;
        const lud_batch_out out = {
            .rewards = rewards[0], .components = parts[0][0], .terminated = terminated};
        for (int step = 0; step < 3; step++) {
            /* those in the middle are home after two steps */
            const int32_t actions[FEW][AGENTS] = {{2, 2}, {step > 0, 1}, {step > 0, 1}, {2, 1}};
            memset(rewards, 0x7f, sizeof rewards);
            memset(parts, 0x7f, sizeof parts);
            lud_batch_step(batch, (lud_actions){.discrete = actions[0]}, &out);
            for (int e = 0; e < FEW; e++) {
                const bool waits = step == 2 && (e == 1 || e == 2);
                if (step == 1) assert_int_equal(terminated[e], e == 1 || e == 2);
                for (int i = 0; i < AGENTS; i++) {
                    if (waits) assert_true(rewards[e][i] == 0.0f);
                    assert_true(parts[e][i][0] == (waits ? 0.0f : rewards[e][i] - 1.0f));
                    assert_true(parts[e][i][1] == (waits ? 0.0f : 1.0f));
                }
                n_waited += waits;
            }
        }
        assert_int_equal(n_waited, 2);
        lud_batch_destroy(batch);
    }
    walk->model.world = quick_world;
    walk_destroy(walk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_splits_agree),
        cmocka_unit_test(test_batch_equals_singles),
        cmocka_unit_test(test_snapshot_continues_bit_for_bit),
        cmocka_unit_test(test_impossible_steps_are_refused),
        cmocka_unit_test(test_final_states_and_counters),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_environments_are_put_into_states),
        cmocka_unit_test(test_a_limit_of_the_batch),
        cmocka_unit_test(test_few_slow_environments_are_shared),
        cmocka_unit_test(test_parts_of_rewards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
