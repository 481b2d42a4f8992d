/* An update ends before its epochs do when the policy has moved too far: at 1.5 times the target, and the
 * minibatch that says so is no step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/mappo/support_mappo.h"

#define TAG                                                                                                  \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_tag, episode_length: 5}\n"                  \
    "run: {environments: 5, seed: 9}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 8, "    \
    "recurrent: false, target_kl: 0.02, epochs: 3, minibatches: 4, hidden_size: 8, layers: 1}\n"

enum { MINIBATCHES = 4, EPOCHS = 3, ALL = MINIBATCHES * EPOCHS };

/* What minibatches say of how far the policy has moved, instead of networks. */
typedef struct scripted {
    lud_update *update;
    double kl[ALL]; /* mean of a minibatch */
    int n;          /* that were asked */
    double places[ALL];
    int n_places;
} scripted;

static lud_status take_all(void *learner, const lud_chunk *chunks, int64_t n, int64_t *n_taken,
                           lud_error *error) {
    scripted *s = learner;
    (void)error;
    double rows = 0.0;
    for (int64_t c = 0; c < n; c++) rows += chunks[c].length;
    assert_true(s->n < ALL);
    s->update->minibatch.rows += rows;
    s->update->minibatch.kl += rows * s->kl[s->n++];
    *n_taken = n;
    return LUD_OK;
}

static void note_place(void *learner, double place) {
    scripted *s = learner;
    assert_true(s->n_places < ALL);
    s->places[s->n_places++] = place;
}

static void too_far_is_one_and_a_half_times_the_target(void **state) {
    (void)state;
    static const struct {
        double kl;
        bool stops;
    } cases[] = {{0.0, false}, {0.02, false}, {0.0299, false}, {0.0301, true}, {0.04, true}, {-1.0, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int at = 0; at < ALL; at++) {
            support_mappo b = support_mappo_open(TAG);
            assert_int_equal(support_mappo_collect(&b), LUD_OK);
            lud_update *u = &b.learner->groups[0].ppo.core;
            u->n_chunks =
                lud_mappo_buffer_cut(&b.learner->training.buffer, b.learner->options.chunk_length, u->chunks);
            u->n_minibatches = MINIBATCHES;
            scripted s = {.update = u};
            s.kl[at] = cases[k].kl;
            const lud_update_calls calls = {.schedule = note_place, .slice = take_all};
            lud_error error = {0};
            if (lud_update_run(u, 2, &calls, &s, &error)) fail_msg("%s", error.text);
            assert_int_equal(s.n, cases[k].stops ? at + 1 : ALL);
            assert_int_equal(u->n_stepped, cases[k].stops ? at : ALL);
            /* a stop stretches no schedule: places are those of all that is planned */
            assert_int_equal(s.n_places, s.n);
            for (int i = 0; i < s.n; i++) assert_true(s.places[i] == 2.0 * ALL + i);
            support_mappo_close(&b);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_far_is_one_and_a_half_times_the_target)};
    return cmocka_run_group_tests_name("early stop", tests, NULL, NULL);
}
