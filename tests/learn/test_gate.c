/* The gate against the plainest way to say the same: quantiles by counting, top k by repeated search. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/policy_gradient/gate.h"

enum { MAX_ROWS = 97 };

static float number(uint32_t trial, uint32_t i, uint32_t lane) {
    return lud_unit_float(lud_draw((lud_random_key){11, trial}, i, lane, LUD_PURPOSE_USER, 0).v[0]);
}

/* Delights with ties (a coarse grid) in every second trial and some NaN in every third. */
static void fill(uint32_t trial, int64_t n, float *delight, float *uniform) {
    for (int64_t i = 0; i < n; ++i) {
        float x = 4.0f * number(trial, (uint32_t)i, 0) - 2.0f;
        delight[i] = trial % 2 ? roundf(2.0f * x) / 2.0f : x;
        if (trial % 3 == 2 && i % 7 == 3) delight[i] = NAN;
        uniform[i] = number(trial, (uint32_t)i, 1);
    }
}

static float plain(float x) {
    return isnan(x) ? -INFINITY : x;
}

/* The value with exactly `rank` rows before it in ascending order, ties in order of index. */
static float ranked(int64_t n, const float *x, int64_t rank) {
    for (int64_t i = 0; i < n; ++i) {
        int64_t before = 0;
        for (int64_t j = 0; j < n; ++j)
            before += plain(x[j]) < plain(x[i]) || (plain(x[j]) == plain(x[i]) && j < i);
        if (before == rank) return plain(x[i]);
    }
    fail();
    return 0;
}

static float naive_quantile(int64_t n, const float *x, double rate) {
    float position = (float)(1.0 - rate) * (float)(n - 1);
    int64_t below = (int64_t)position;
    float low = ranked(n, x, below), weight = position - (float)below;
    return weight > 0 ? low + weight * (ranked(n, x, below + 1) - low) : low;
}

static void test_quantile(void **state) {
    (void)state;
    static const double rates[] = {0.03, 0.25, 0.5, 0.9, 1.0};
    float delight[MAX_ROWS], uniform[MAX_ROWS], scratch[MAX_ROWS];
    for (uint32_t trial = 0; trial < 60; ++trial) {
        int64_t n = 1 + trial * 37 % MAX_ROWS;
        fill(trial, n, delight, uniform);
        for (size_t r = 0; r < sizeof rates / sizeof *rates; ++r) {
            float got = lud_gate_quantile(n, delight, rates[r], scratch);
            float expected = naive_quantile(n, delight, rates[r]);
            if (isfinite(expected)) assert_true(got == expected);
        }
    }
}

/* Takes the largest row left, the first among equals, again and again. */
static void naive_top(int64_t n, const float *delight, int64_t k, float *weight) {
    for (int64_t i = 0; i < n; ++i) weight[i] = 0;
    for (; k > 0; --k) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; ++i)
            if (weight[i] == 0 && (best < 0 || plain(delight[i]) > plain(delight[best]))) best = i;
        weight[best] = 1;
    }
}

static void test_top_k(void **state) {
    (void)state;
    float delight[MAX_ROWS], uniform[MAX_ROWS], scratch[MAX_ROWS], weight[MAX_ROWS], expected[MAX_ROWS];
    int32_t index[MAX_ROWS];
    for (uint32_t trial = 0; trial < 90; ++trial) {
        int64_t n = 1 + trial * 41 % MAX_ROWS;
        fill(trial, n, delight, uniform);
        lud_gate gate = lud_gate_default();
        gate.mode = LUD_GATE_TOP_K;
        gate.rate = 0.01 + 0.11 * (double)(trial % 9);
        gate.min_keep = trial % 4;
        gate.rounding = (int)(trial % 3);
        double wanted = gate.rate * (double)n;
        int64_t k = (int64_t)(gate.rounding == LUD_GATE_FLOOR  ? floor(wanted)
                              : gate.rounding == LUD_GATE_CEIL ? ceil(wanted)
                                                               : rint(wanted));
        k = k < gate.min_keep ? gate.min_keep : k;
        k = k > n ? n : k;
        assert_int_equal(lud_gate_top_count(&gate, n), k);
        float price = lud_gate_weights(&gate, n, delight, uniform, weight, NULL, scratch);
        naive_top(n, delight, k, expected);
        int64_t kept = 0;
        for (int64_t i = 0; i < n; ++i) {
            assert_true(weight[i] == expected[i]);
            kept += weight[i] == 1;
        }
        assert_int_equal(kept, k);
        if (k > 0) assert_true(price == ranked(n, delight, n - k));
        assert_int_equal(lud_gate_kept(n, weight, index), k);
        for (int64_t i = 0; i < k; ++i)
            assert_true(weight[index[i]] == 1 && (i == 0 || index[i] > index[i - 1]));
    }
}

static void test_modes(void **state) {
    (void)state;
    float delight[MAX_ROWS], uniform[MAX_ROWS], scratch[MAX_ROWS], weight[MAX_ROWS], probability[MAX_ROWS];
    for (uint32_t trial = 0; trial < 60; trial += trial % 3 == 1 ? 2 : 1) { /* those without NaN */
        int64_t n = 1 + trial * 29 % MAX_ROWS;
        fill(trial, n, delight, uniform);
        for (int mode = LUD_GATE_OFF; mode < LUD_GATE_TOP_K; ++mode) {
            lud_gate gate = lud_gate_default();
            gate.mode = mode;
            gate.rate = 0.3;
            gate.fixed_price = trial % 2;
            gate.price = 0.25;
            double price = gate.fixed_price ? 0.25
                           : mode == LUD_GATE_OFF || mode == LUD_GATE_DELIGHT
                               ? 0
                               : (double)naive_quantile(n, delight, 0.3);
            float got = lud_gate_weights(&gate, n, delight, uniform, weight, probability, scratch);
            assert_true(fabs((double)got - price) < 1e-6);
            for (int64_t i = 0; i < n; ++i) {
                double p = 1 / (1 + exp(-((double)delight[i] - price) / gate.temperature));
                assert_true(fabs((double)probability[i] - p) < 1e-5);
                double expected = mode == LUD_GATE_OFF         ? 1
                                  : mode == LUD_GATE_THRESHOLD ? (double)delight[i] >= price
                                  : mode == LUD_GATE_BERNOULLI ? (double)uniform[i] < (double)probability[i]
                                                               : p;
                assert_true(fabs((double)weight[i] - expected) < 1e-5);
            }
        }
    }
    /* temperature 0 turns the sigmoid of delight into a step */
    lud_gate step = lud_gate_default();
    step.mode = LUD_GATE_DELIGHT;
    step.temperature = 0;
    const float three[3] = {-1, 0, 2};
    lud_gate_weights(&step, 3, three, NULL, weight, NULL, scratch);
    assert_true(weight[0] == 0 && weight[1] == 0 && weight[2] == 1);
    assert_true(lud_gate_weights(&step, 0, NULL, NULL, NULL, NULL, NULL) == 0);
}

static void test_priorities(void **state) {
    (void)state;
    const float advantage[3] = {1.5f, -2, 0}, log_prob[3] = {-0.5f, -1, -3}, uniform[3] = {0.1f, 0.2f, 0.3f};
    const float expected[][3] = {{0.75f, -2, 0}, {1.5f, -2, 0},          {1.5f, 2, 0},
                                 {0.5f, 1, 3},   {1.25f, -1.25f, 0.75f}, {0.1f, 0.2f, 0.3f}};
    for (int priority = 0; priority <= LUD_PRIORITY_UNIFORM; ++priority) {
        float out[3];
        lud_gate_priorities(priority, 0.25, 3, advantage, log_prob, uniform, out);
        for (int i = 0; i < 3; ++i) assert_true(fabsf(out[i] - expected[priority][i]) < 1e-6f);
    }
}

static void test_check(void **state) {
    (void)state;
    lud_error error = {0};
    lud_gate gate = lud_gate_default();
    assert_int_equal(lud_gate_check(&gate, &error), LUD_OK);
    gate.rate = 0;
    assert_int_equal(lud_gate_check(&gate, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "gate rate 0, expected above 0 and at most 1");
    gate.fixed_price = true; /* then no rate is needed */
    assert_int_equal(lud_gate_check(&gate, &error), LUD_OK);
    gate.temperature = 0;
    assert_int_equal(lud_gate_check(&gate, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "gate temperature 0, expected above 0");
    gate.mode = LUD_GATE_DELIGHT;
    assert_int_equal(lud_gate_check(&gate, &error), LUD_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantile), cmocka_unit_test(test_top_k),
                                       cmocka_unit_test(test_modes), cmocka_unit_test(test_priorities),
                                       cmocka_unit_test(test_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
