/* Chunks of a minibatch come to whoever makes gradients of them once each: a share after the other, those of
 * a share with the longest first, else in the order of the epoch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/mappo/support_mappo.h"

enum { MOST = 400, EPOCHS = 2, MINIBATCHES = 3, AT_ONCE = 4, ENVIRONMENTS = 5 };

/* What was asked for, instead of networks. */
typedef struct listener {
    lud_chunk seen[MOST];
    int64_t n, ends[MOST]; /* where a minibatch has come to its end */
    int n_minibatches;
} listener;

static void end_minibatch(void *learner, double place) {
    listener *l = learner;
    (void)place;
    l->ends[l->n_minibatches++] = l->n;
}

static lud_status take_some(void *learner, const lud_chunk *chunks, int64_t n, int64_t *n_taken,
                            lud_error *error) {
    listener *l = learner;
    (void)error;
    *n_taken = n < AT_ONCE ? n : AT_ONCE;
    for (int64_t c = 0; c < *n_taken; c++) {
        assert_true(l->n < MOST);
        l->seen[l->n++] = chunks[c];
    }
    return LUD_OK;
}

static int64_t environment_of(const lud_update *u, const lud_chunk *chunk) {
    return chunk->first % u->stride / (u->stride / ENVIRONMENTS);
}

/* How many times the listed chunks are one of these. */
static int count(const lud_chunk *list, int64_t n, const lud_chunk *chunk) {
    int found = 0;
    for (int64_t i = 0; i < n; i++) found += list[i].first == chunk->first && list[i].length == chunk->length;
    return found;
}

/* The place of a chunk in the order of the epoch. */
static int64_t place_of(const lud_update *u, const lud_chunk *chunk) {
    for (int64_t i = 0; i < u->n_chunks; i++)
        if (u->chunks[i].first == chunk->first) return i;
    fail();
    return -1;
}

static void chunks_come_once_and_in_order(void **state) {
    (void)state;
    for (int shares = 1; shares <= 4; shares++) {
        char text[500];
        snprintf(
            text, sizeof text,
            "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_tag, episode_length: 5}\n"
            "run: {environments: %d, seed: 9}\nlearner: {type: graph-mappo, automatic: false, "
            "rollout_length: 8, recurrent: true, chunk_length: 3, shares: %d, epochs: %d, minibatches: %d, "
            "hidden_size: 8, layers: 1}\n",
            ENVIRONMENTS, shares, EPOCHS, MINIBATCHES);
        support_mappo b = support_mappo_open(text);
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        lud_update *u = &b.learner->groups[0].ppo.core;
        u->n_chunks =
            lud_mappo_buffer_cut(&b.learner->training.buffer, b.learner->options.chunk_length, u->chunks);
        u->n_minibatches = MINIBATCHES;
        assert_int_equal(u->shares.n, shares);
        assert_true(u->n_chunks * EPOCHS <= MOST && u->n_chunks > 3 * AT_ONCE * MINIBATCHES);
        listener l = {0};
        const lud_update_calls calls = {.schedule = end_minibatch, .slice = take_some};
        lud_error error = {0};
        if (lud_update_run(u, 2, &calls, &l, &error)) fail_msg("%s", error.text);
        end_minibatch(&l, 0);
        assert_int_equal(l.n_minibatches, EPOCHS * MINIBATCHES + 1);
        assert_int_equal(l.n, EPOCHS * u->n_chunks);
        for (int64_t i = 0; i < u->n_chunks; i++)
            for (int epoch = 0; epoch < EPOCHS; epoch++)
                assert_int_equal(count(l.seen + epoch * u->n_chunks, u->n_chunks, &u->chunks[i]), 1);
        for (int m = 0; m < l.n_minibatches - 1; m++)
            for (int64_t i = l.ends[m] + 1; i < l.ends[m + 1]; i++) {
                const lud_chunk *before = &l.seen[i - 1], *now = &l.seen[i];
                const int was = lud_share_of(ENVIRONMENTS, shares, environment_of(u, before)),
                          is = lud_share_of(ENVIRONMENTS, shares, environment_of(u, now));
                assert_true(was <= is);
                if (was < is) continue;
                assert_true(before->length >= now->length);
                /* the order of the last epoch is still there */
                if (before->length == now->length && m >= (EPOCHS - 1) * MINIBATCHES)
                    assert_true(place_of(u, before) < place_of(u, now));
            }
        support_mappo_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_come_once_and_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
