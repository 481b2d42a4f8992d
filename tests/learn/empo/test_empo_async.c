/* Actors in threads: nothing is lost, waiting is counted, the memory fills, weights arrive, saving in the
 * middle keeps every environment, failures are told. Counts are compared, never times or schedules. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/support_empo.h"

static const char corridor[] = "ludus: 1\n"
                               "name: corridor\n"
                               "world: multigrid\n"
                               "multigrid:\n"
                               "  map: |\n"
                               "    We We We We We\n"
                               "    We Ay Ae .. We\n"
                               "    We We .. We We\n"
                               "    We We We We We\n"
                               "  max_steps: 5\n"
                               "  actions: small\n"
                               "goals:\n"
                               "  - {cell: [1, 1]}\n"
                               "  - {cell: [2, 1]}\n"
                               "  - {cell: [3, 1]}\n"
                               "learner:\n"
                               "  type: empo-phase2\n  automatic: false\n"
                               "  human_prior: {type: heuristic}\n"
                               "  hidden_dim: 8\n"
                               "  goal_feature_dim: 4\n"
                               "  num_training_steps: 60\n"
                               "  updates_per_iteration: 10\n"
                               "  batch_size: 6\n"
                               "  warmup_v_h_e_steps: 5\n"
                               "  warmup_x_h_steps: 5\n"
                               "  warmup_q_r_steps: 5\n"
                               "  beta_r_rampup_steps: 0\n"
                               "  epsilon_r_decay_steps: 10\n"
                               "  buffer_size: 100000\n"
                               "  environments: 3\n"
                               "  exact_max_states: 0\n"
                               "  async_training: true\n"
                               "  num_actors: 2\n"
                               "  actor_sync_freq: 4\n"
                               "  async_min_buffer_size: 30\n"
                               "  async_queue_size: 12\n";

/* Every step of every environment is in the memory once the actors stand still: the queue drops nothing. */
static void nothing_is_lost(void **state) {
    (void)state;
    static const char *const settings[][2] = {
        {"learner.async_queue_size=1",
         "learner.max_env_steps_per_training_step=0"}, /* the queue holds them */
        {"learner.async_queue_size=10000",
         "learner.max_env_steps_per_training_step=1"}, /* the throttle does */
        {"learner.use_rnd=true", "learner.rnd_sync_freq=1"}};
    for (int s = 0; s < 3; s++) {
        support_empo r;
        support_empo_open(&r, corridor, "", 2, settings[s]);
        lud_empo_phase2_learner *l = r.learner;
        lud_error error = {0};
        for (int round = 0; round < 3; round++) {
            support_empo_iterate(&r, 2);
            /* two buffers of three transitions an actor, and what it holds: all else is in the memory */
            assert_int_equal(lud_empo_async_pause(l->async, l->replay, l->step, &error), LUD_OK);
            const lud_empo_async_counts counts = lud_empo_async_get_counts(l->async);
            assert_int_equal(counts.queued, 0);
            assert_int_equal(counts.taken, counts.actors.steps);
            assert_int_equal(lud_empo_replay_count(l->replay), (int64_t)counts.taken);
            assert_true(counts.published >= 1);
            if (s ==
                1) /* 30 and one step of everybody, then one for each training step, and a step underway */
                assert_true(counts.actors.steps <= 30 + 6 + (uint64_t)l->step + 6);
        }
        support_empo_close(&r);
    }
}

/* An actor whose buffers are full waits until the learner takes them: without anybody to take, the steps done
 * stay at what fits, however long one looks. */
static void a_full_queue_holds_the_actors(void **state) {
    (void)state;
    static const char *const set[] = {"learner.max_env_steps_per_training_step=0"};
    support_empo r;
    support_empo_open(&r, corridor, "", 1, set);
    lud_empo_phase2_learner *l = r.learner;
    lud_error error = {0};
    assert_int_equal(lud_empo_async_run(l->async, 0, &error), LUD_OK);
    lud_empo_async_counts counts = {0};
    /* both actors come to wait for a third buffer, having filled their two: seen by the counter, not the
     * clock */
    while (counts.waits < 2) counts = lud_empo_async_get_counts(l->async);
    for (int look = 0; look < 1000; look++) {
        counts = lud_empo_async_get_counts(l->async);
        assert_int_equal(counts.waits, 2);
        assert_int_equal(counts.queued, 12);
        assert_int_equal(counts.taken, 0);
    }
    assert_int_equal(lud_empo_async_dequeue(l->async, l->replay, 0, 40, &error), LUD_OK);
    assert_true(lud_empo_replay_count(l->replay) >= 40);
    assert_int_equal(lud_empo_async_pause(l->async, l->replay, 0, &error), LUD_OK);
    counts = lud_empo_async_get_counts(l->async);
    assert_int_equal(counts.taken, counts.actors.steps);
    assert_int_equal(lud_empo_replay_count(l->replay), (int64_t)counts.taken);
    support_empo_close(&r);
}

/* Saved in the middle and loaded into another learner: the same environments, memory and counters. */
static void saving_keeps_every_environment(void **state) {
    (void)state;
    support_empo r, again;
    support_empo_open(&r, corridor, "", 0, NULL);
    support_empo_open(&again, corridor, "", 0, NULL);
    support_empo_iterate(&r, 3);
    static const char path[] = LUDUS_BINARY_DIR "/test_empo_async.safetensors";
    lud_error error = {0};
    lud_checkpoint *first = lud_checkpoint_create(), *second = lud_checkpoint_create(), *loaded = NULL;
    lud_empo_phase2.visit(&r.learner->base, first);
    if (lud_checkpoint_status(first, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_checkpoint_write(first, path, &error), LUD_OK);
    assert_int_equal(lud_checkpoint_open(path, &loaded, &error), LUD_OK);
    remove(path);
    lud_empo_phase2.visit(&again.learner->base, loaded);
    if (lud_checkpoint_status(loaded, &error)) fail_msg("%s", error.text);
    lud_empo_phase2.visit(&again.learner->base, second);
    assert_int_equal(lud_checkpoint_n_tensors(first), lud_checkpoint_n_tensors(second));
    for (int i = 0; i < lud_checkpoint_n_tensors(first); i++) {
        const lud_tensor *one = lud_checkpoint_get(first, i), *other = lud_checkpoint_find(second, one->name);
        assert_non_null(other);
        assert_int_equal(one->bytes, other->bytes);
        if (one->bytes && memcmp(one->data, other->data, one->bytes) != 0) fail_msg("%s differs", one->name);
    }
    assert_non_null(lud_checkpoint_find(first, "actor1.states"));
    support_empo_iterate(&again, 3); /* both go on */
    support_empo_iterate(&r, 3);
    assert_int_equal(again.learner->step, 60);
    lud_checkpoint_destroy(first);
    lud_checkpoint_destroy(second);
    lud_checkpoint_destroy(loaded);
    support_empo_close(&r);
    support_empo_close(&again);
}

static void failures_are_told(void **state) {
    (void)state;
    static const char *const tables[] = {"learner.use_lookup_tables=true"};
    static const char *const actions[] = {"learner.use_rnd=true", "learner.use_human_action_rnd=true"};
    support_empo r;
    lud_error error = {0};
    assert_int_not_equal(support_empo_try(&r, corridor, "", 1, tables, &error), LUD_OK);
    assert_non_null(strstr(error.text, "use_lookup_q_r"));
    support_empo_close(&r);
    assert_int_not_equal(support_empo_try(&r, corridor, "", 2, actions, &error), LUD_OK);
    assert_non_null(strstr(error.text, "use_human_action_rnd"));
    support_empo_close(&r);
}

/* Training that waits for more transitions than memory can hold says so, with actors in threads and without;
 * whether actors wait for it or not, and as soon as as many as are waited for fit it begins. */
static void too_little_memory_is_told(void **state) {
    (void)state;
    static const struct {
        const char *set[5];
        bool fits;
    } cases[] = {
        {{"learner.buffer_memory=110K", "learner.async_min_buffer_size=5000"}, false},
        {{"learner.buffer_memory=110K", "learner.async_min_buffer_size=5000",
          "learner.max_env_steps_per_training_step=0"},
         false},
        {{"learner.buffer_memory=110K", "learner.async_min_buffer_size=5000",
          "learner.max_env_steps_per_training_step=0.01", "learner.q_r_target_mode=episode",
          "learner.fresh_goals=false"},
         false},
        {{"learner.buffer_memory=110K", "learner.async_training=false", "learner.batch_size=5000"}, false},
        {{"learner.buffer_memory=110K", "learner.max_env_steps_per_training_step=0.01"}, true},
        {{"learner.buffer_memory=110K", "learner.async_training=false", "learner.batch_size=20"}, true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_empo r;
        lud_error error = {0};
        double row[128];
        int n_set = 0;
        while (n_set < 5 && cases[k].set[n_set]) n_set++;
        support_empo_open(&r, corridor, "", n_set, cases[k].set);
        const lud_status status = r.learner->base.kind->iterate(&r.learner->base, row, &error);
        assert_int_equal(status, cases[k].fits ? LUD_OK : LUD_ERROR_LIMIT);
        if (!cases[k].fits) {
            assert_non_null(strstr(error.text, "learner.buffer_memory"));
            assert_non_null(strstr(error.text, "room for 5000"));
        }
        support_empo_close(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(a_full_queue_holds_the_actors),
        cmocka_unit_test(saving_keeps_every_environment),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(too_little_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
