/* Gates where there is little to decide about: numbers that are none, single rows, the least that is kept,
 * histories of one; a gate over minibatches against its parts; and statistics of rewards that cannot be. */
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

#include "learn/policy_gradient/baseline.h"
#include "learn/policy_gradient/minibatch_gate.h"

/* What was saved, to be loaded from. */
static lud_checkpoint *reopened(lud_checkpoint *saved) {
    char path[] = "/tmp/ludus-gate-XXXXXX";
    lud_checkpoint *loaded = NULL;
    lud_error error = {0};
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0 && remove(path) == 0); /* only the name is wanted */
    if (lud_checkpoint_write(saved, path, &error) || lud_checkpoint_open(path, &loaded, &error))
        fail_msg("%s", error.text);
    remove(path);
    lud_checkpoint_destroy(saved);
    return loaded;
}

static lud_gate_decision decide(const lud_gate *gate, int64_t n, const float *delight, float *weight) {
    float scratch[16];
    const lud_gate_batch batch = {.n = n, .delight = delight, .weight = weight, .scratch = scratch};
    return lud_gate_decide(gate, &batch);
}

/* As many as are to be kept at least are kept: others than those that are kept already, the largest first,
 * numbers that are none last. */
static void the_least_is_kept(void **state) {
    (void)state;
    static const struct {
        float delight[4];
        int order[4]; /* in which they are kept */
    } cases[] = {{{5, 0, 0, 0}, {0, 1, 2, 3}},           {{0, 0, 0, 5}, {3, 0, 1, 2}},
                 {{5, NAN, 0.5f, -0.25f}, {0, 2, 3, 1}}, {{NAN, 7, NAN, -3}, {1, 3, 0, 2}},
                 {{-1, -4, 9, 2}, {2, 1, 3, 0}},         {{NAN, NAN, 1, 0}, {2, 3, 0, 1}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int64_t least = 1; least <= 5; least++) {
            lud_gate gate = lud_gate_default();
            gate.rate = 0.01;
            gate.min_keep = least;
            float weight[4];
            const lud_gate_decision d = decide(&gate, 4, cases[c].delight, weight);
            const int64_t n = least < 4 ? least : 4;
            assert_int_equal(d.n_kept, n);
            for (int64_t k = 0; k < 4; k++) assert_true(weight[cases[c].order[k]] == (k < n));
        }
}

/* A single row is kept, and its delight is the price, however many are to be kept. */
static void a_single_row_sets_the_price(void **state) {
    (void)state;
    for (int64_t least = 0; least < 3; least++)
        for (int k = 0; k < 3; k++) {
            const float delight = (float[]){-2, 0, 3}[k];
            lud_gate gate = lud_gate_default();
            gate.min_keep = least;
            float weight = -1;
            const lud_gate_decision d = decide(&gate, 1, &delight, &weight);
            assert_true(d.price == delight && d.n_kept == 1 && weight == 1);
        }
}

/* What is no number has the share of those that are drawn whatever their size. */
static void sizes_that_are_no_numbers(void **state) {
    (void)state;
    const float size[] = {NAN, 1, -3, INFINITY, 0};
    for (int start = 0; start < 10; start++) {
        float weight[5], probability[5];
        lud_gate_sample(0.2, 5, size, (float)start / 10, weight, probability);
        for (int i = 0; i < 5; i++) {
            const double own = i == 1 ? 0.25 : i == 2 ? 0.75 : 0;
            assert_true(fabs((double)probability[i] - (0.9 * own + 0.1 / 5)) < 1e-6);
        }
    }
}

static void defaults_are_as_described(void **state) {
    (void)state;
    const lud_gate gate = lud_gate_default();
    assert_int_equal(lud_gate_check(&gate, NULL), LUD_OK);
    assert_int_equal(gate.mode, LUD_GATE_THRESHOLD);
    assert_true(gate.rate == 0.03 && gate.temperature == 0.1 && gate.warmup_rate == 0.3);
    assert_true(gate.min_keep == 1 && gate.warmup_experiences == 0 && gate.history == 0 && !gate.fixed_price);
    for (int64_t history = 31; history < 34; history++) {
        lud_gate with = gate;
        with.history = history; /* fewer than a price is made of are never enough */
        assert_int_equal(lud_gate_check(&with, NULL) == LUD_OK, history >= 32);
    }
}

/* A history has the price of what it remembers, of one delight too; what is no number counts as the least. */
static void histories_of_few(void **state) {
    (void)state;
    for (int64_t capacity = 1; capacity < 4; capacity++)
        for (int64_t minimum = 0; minimum <= capacity; minimum++) {
            lud_gate_history history, again;
            assert_int_equal(lud_gate_history_create(&history, capacity, minimum, NULL), LUD_OK);
            assert_int_equal(lud_gate_history_create(&again, capacity, minimum, NULL), LUD_OK);
            float price = 77;
            assert_false(lud_gate_history_price(&history, 0.5, &price));
            assert_true(price == 77);
            const float delight[] = {2, -1, NAN, 4, 0.5f, NAN, NAN};
            for (int64_t n = 1; n <= 7; n++) {
                lud_gate_history_push(&history, 1, &delight[n - 1]);
                const int64_t remembered = n < capacity ? n : capacity;
                float most = -INFINITY, least = INFINITY;
                for (int64_t i = n - remembered; i < n; i++) {
                    const float one = isnan(delight[i]) ? -INFINITY : delight[i];
                    most = fmaxf(most, one);
                    least = fminf(least, one);
                }
                lud_checkpoint *saved = lud_checkpoint_create();
                lud_gate_history_visit(&history, saved, "history");
                lud_checkpoint *loaded = reopened(saved);
                lud_gate_history_visit(&again, loaded, "history");
                assert_int_equal(lud_checkpoint_status(loaded, NULL), LUD_OK);
                lud_checkpoint_destroy(loaded);
                const lud_gate_history *both[] = {&history, &again};
                for (int k = 0; k < 2; k++) {
                    assert_int_equal(lud_gate_history_price(both[k], 0.0, &price), remembered >= minimum);
                    if (remembered < minimum) continue;
                    assert_true(price == most);
                    assert_true(lud_gate_history_price(both[k], 1.0, &price) && price == least);
                }
            }
            lud_gate_history_destroy(&history);
            lud_gate_history_destroy(&again);
        }
}

/* --- Minibatches --- */

enum { CHUNKS = 5, SAMPLES = 16 };
static const lud_chunk chunks[CHUNKS] = {{0, 3}, {3, 1}, {4, 5}, {9, 3}, {12, 4}};

/* Chunks are kept as the gate decides about their means; draws follow from a chunk's first sample, not from
 * its place. */
static void minibatches_are_decided_by_their_means(void **state) {
    (void)state;
    static const int modes[] = {LUD_GATE_THRESHOLD, LUD_GATE_BERNOULLI, LUD_GATE_TOP_K};
    float advantage[SAMPLES], log_prob[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        advantage[i] = (float)sin(2.3 * i);
        log_prob[i] = -(float)fabs(cos(1.1 * i)) - 0.1f;
    }
    for (size_t m = 0; m < 3; m++) {
        lud_gate options = lud_gate_default();
        options.mode = modes[m];
        options.rate = 0.4;
        options.temperature = 0.5;
        options.history = 8;
        options.history_min = 8;
        options.warmup_experiences = 40;
        options.warmup_rate = 0.9;
        lud_minibatch_gate gate;
        assert_int_equal(lud_minibatch_gate_create(&gate, &options, SAMPLES, NULL), LUD_OK);
        assert_true(isnan(lud_minibatch_gate_price(&gate)) && isnan(lud_minibatch_gate_share(&gate)));
        lud_gate_history history;
        assert_int_equal(lud_gate_history_create(&history, 8, 8, NULL), LUD_OK);
        for (int update = 1; update < 5; update++) {
            double prices = 0, rows = 0, kept = 0;
            int n_minibatches = 0;
            lud_minibatch_gate_begin(&gate, SAMPLES);
            assert_int_equal(gate.experiences, update * SAMPLES);
            assert_int_equal(gate.n_minibatches, 0);
            for (uint32_t epoch = 0; epoch < 3; epoch++)
                for (int part = 0; part < 2; part++, n_minibatches++) { /* chunks 3, 1, 4, then 2, 0 */
                    static const int order[2][3] = {{3, 1, 4}, {2, 0, -1}};
                    const int n = part ? 2 : 3;
                    const lud_random_key key = {7, (uint32_t)update};
                    const double mean = 0.1, deviation = 1.7;
                    lud_chunk some[3];
                    int32_t row[SAMPLES], n_rows = 0;
                    float delight[3], uniform[3], weight[3], scratch[3];
                    for (int c = 0; c < n; c++) {
                        some[c] = chunks[order[part][c]];
                        double a = 0, l = 0;
                        for (int32_t i = 0; i < some[c].length; i++) {
                            row[n_rows++] = some[c].first + i;
                            a += ((double)advantage[some[c].first + i] - mean) / deviation / some[c].length;
                            l += (double)log_prob[some[c].first + i] / some[c].length;
                        }
                        delight[c] = (float)(-a * l);
                        uniform[c] = lud_unit_float(
                            lud_draw(key, (uint32_t)some[c].first, epoch, LUD_PURPOSE_GATE, 0).v[0]);
                    }
                    const lud_gate_batch batch = {.n = n,
                                                  .delight = delight,
                                                  .uniform = uniform,
                                                  .experiences = (uint64_t)(update * SAMPLES),
                                                  .history = &history,
                                                  .weight = weight,
                                                  .scratch = scratch};
                    const lud_gate_decision d = lud_gate_decide(&options, &batch);
                    lud_minibatch_gate_decide(&gate, some, n, row, advantage, mean, deviation, log_prob, key,
                                              epoch);
                    assert_true(fabs(gate.price - (double)d.price) < 1e-5);
                    assert_int_equal(gate.n_rows, n_rows);
                    int64_t samples = 0, left = 0;
                    lud_chunk compact[3];
                    memcpy(compact, some, sizeof some);
                    const int64_t n_left = lud_minibatch_gate_compact(&gate, compact, n);
                    for (int c = 0; c < n; c++) {
                        for (int32_t i = 0; i < some[c].length; i++)
                            assert_true(gate.weight[some[c].first + i] == weight[c]);
                        if (weight[c] == 0) continue;
                        assert_true(left < n_left && compact[left].first == some[c].first &&
                                    compact[left].length == some[c].length);
                        left++;
                        samples += some[c].length;
                    }
                    assert_int_equal(n_left, left);
                    assert_int_equal(gate.n_kept, samples);
                    if (epoch == 0) lud_gate_history_push(&history, n, gate.delight);
                    assert_int_equal(gate.history.n_pushed, history.n_pushed);
                    prices += (double)d.price;
                    rows += n_rows;
                    kept += (double)samples;
                }
            assert_int_equal(gate.n_minibatches, n_minibatches);
            assert_true(fabs(lud_minibatch_gate_price(&gate) - prices / n_minibatches) < 1e-5);
            assert_true(fabs(lud_minibatch_gate_share(&gate) - kept / rows) < 1e-9);
        }
        lud_gate_history_destroy(&history);
        lud_minibatch_gate_destroy(&gate);
    }
    const lud_gate off = {.mode = LUD_GATE_OFF};
    lud_minibatch_gate none;
    assert_int_equal(lud_minibatch_gate_create(&none, &off, SAMPLES, NULL), LUD_OK);
    assert_null(none.options);
    lud_minibatch_gate_destroy(&none);
}

/* --- Statistics of rewards --- */

/* Each of the numbers has to be one, and a variance none below zero. */
static void statistics_that_cannot_be(void **state) {
    (void)state;
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    for (int number = -1; number < 5; number++)
        for (int w = 0; w < 4; w++) {
            const lud_baseline_options options = {
                .type = LUD_BASELINE_WARMUP_THEN_EMA, .alpha = 0.1, .warmup = 5};
            lud_baseline from, to;
            lud_baseline_init(&from, &options);
            lud_baseline_init(&to, &options);
            for (int i = 0; i < 3; i++) lud_baseline_update(&from, i);
            double *numbers[] = {&from.mean, &from.var, &from.first, &from.sum, &from.sum_of_squares};
            if (number >= 0) *numbers[number] = w < 3 ? (double)wrong[w] : -0.5;
            lud_checkpoint *saved = lud_checkpoint_create();
            lud_baseline_visit(&from, saved, "baseline");
            lud_checkpoint *loaded = reopened(saved);
            lud_baseline_visit(&to, loaded, "baseline");
            const bool fine = number < 0 || (w == 3 && number != 1);
            assert_int_equal(lud_checkpoint_status(loaded, NULL) == LUD_OK, fine);
            assert_int_equal(to.count, fine ? 3 : 0);
            if (fine) assert_true(to.mean == from.mean && to.var == from.var && to.sum == from.sum);
            lud_checkpoint_destroy(loaded);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_is_kept),         cmocka_unit_test(a_single_row_sets_the_price),
        cmocka_unit_test(sizes_that_are_no_numbers), cmocka_unit_test(defaults_are_as_described),
        cmocka_unit_test(histories_of_few),          cmocka_unit_test(minibatches_are_decided_by_their_means),
        cmocka_unit_test(statistics_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
