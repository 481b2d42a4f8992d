/* The gate against the plainest way to say the same: quantiles by counting, top k by repeated search. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    const float expected[][3] = {{0.75f, -2, 0},         {1.5f, -2, 0},      {1.5f, 2, 0}, {0.5f, 1, 3},
                                 {1.25f, -1.25f, 0.75f}, {0.1f, 0.2f, 0.3f}, {0.75f, 2, 0}};
    for (int priority = 0; priority <= LUD_PRIORITY_ABS_DELIGHT; ++priority) {
        float out[3];
        lud_gate_priorities(priority, 0.25, 3, advantage, log_prob, uniform, out);
        for (int i = 0; i < 3; ++i) assert_true(fabsf(out[i] - expected[priority][i]) < 1e-6f);
    }
}

/* Drawn rows weigh back: on average every row counts as without the gate, times the rate; large ones are
 * drawn more often; the number of rows is that of the rate, not one more or less. */
static void test_importance(void **state) {
    (void)state;
    enum { N = 50, TRIALS = 20000 };
    const lud_gate gate = {.mode = LUD_GATE_IMPORTANCE, .rate = 0.11, .min_keep = 1};
    float delight[N], uniform[N], weight[N], probability[N], scratch[N];
    double mean[N] = {0}, square[N] = {0}, drawn[N] = {0};
    int64_t together = 0;
    for (int i = 0; i < N; i++) delight[i] = i % 5 == 0 ? 0.0f : (i % 2 ? 1.0f : -1.0f) * (float)i / N;
    assert_true(lud_gate_draws(&gate));
    for (uint32_t t = 0; t < TRIALS; t++) {
        uniform[0] = number(t, 0, 2);
        lud_gate_weights(&gate, N, delight, uniform, weight, probability, scratch);
        int n = 0;
        for (int i = 0; i < N; i++) {
            assert_true(weight[i] == 0.0f || fabsf(weight[i] * probability[i] - (float)gate.rate) < 1e-6f);
            mean[i] += (double)weight[i] / TRIALS;
            square[i] += (double)(weight[i] * weight[i]) / TRIALS;
            drawn[i] += weight[i] > 0.0f;
            n += weight[i] > 0.0f;
            together += i > 0 && weight[i] > 0.0f && weight[i - 1] > 0.0f;
        }
        assert_true(n == 5 || n == 6); /* 5.5 on average */
    }
    for (int i = 0; i < N; i++) {
        const double error = sqrt((square[i] - mean[i] * mean[i]) / TRIALS);
        assert_true(fabs(mean[i] - gate.rate) < 5.0 * error);
    }
    assert_true(drawn[49] > 3.0 * drawn[11] && drawn[11] > drawn[10]); /* 10 has no delight */
    assert_int_equal(together, 0);
    for (int i = 0; i < N; i++) delight[i] = i % 2 ? NAN : 0.0f;
    lud_gate_weights(&gate, N, delight, uniform, weight, probability, scratch);
    for (int i = 0; i < N; i++) assert_true(fabsf(probability[i] - 0.11f) < 1e-6f);
    /* a row that is all there is goes with certainty and weighs as little as it must */
    for (int i = 0; i < N; i++) delight[i] = i == 7 ? 1.0f : 0.0f;
    for (uint32_t t = 0; t < 100; t++) {
        lud_gate_sample(0.11, N, delight, number(t, 0, 2), weight, probability);
        assert_true(weight[7] == 0.11f && probability[7] == 1.0f);
        for (int i = 0; i < N; i++) assert_true(weight[i] <= 10.001f);
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

/* Rates are shares above none and up to all, where a price follows from one; a history is no shorter than
 * what it needs. */
static void test_limits(void **state) {
    (void)state;
    static const struct {
        double rate;
        bool fits;
    } rates[] = {{-0.1, false}, {0, false}, {1e-9, true}, {1, true}, {1.0001, false}, {NAN, false}};
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
        for (int mode = LUD_GATE_OFF; mode <= LUD_GATE_IMPORTANCE; mode++)
            for (int warm_up = 0; warm_up < 2; warm_up++) {
                lud_gate gate = lud_gate_default();
                const bool by_rate = mode != LUD_GATE_OFF && mode != LUD_GATE_DELIGHT;
                gate.mode = mode;
                gate.warmup_rate = rates[k].rate;
                gate.warmup_experiences = warm_up;
                assert_int_equal(lud_gate_check(&gate, NULL) == LUD_OK,
                                 rates[k].fits || !by_rate || !warm_up);
                gate.warmup_rate = 0.5;
                gate.rate = rates[k].rate;
                assert_int_equal(lud_gate_check(&gate, NULL) == LUD_OK, rates[k].fits || !by_rate);
                gate.fixed_price = true;
                assert_int_equal(lud_gate_check(&gate, NULL), LUD_OK);
            }
    for (int64_t history = 0; history < 4; history++)
        for (int64_t least = 1; least < 5; least++) {
            lud_gate gate = lud_gate_default();
            gate.history = history;
            gate.history_min = least;
            assert_int_equal(lud_gate_check(&gate, NULL) == LUD_OK, history == 0 || least <= history);
        }
    lud_gate gate = lud_gate_default();
    for (int mode = LUD_GATE_OFF; mode <= LUD_GATE_IMPORTANCE; mode++) {
        gate.mode = mode;
        gate.temperature = -1;
        assert_int_equal(lud_gate_check(&gate, NULL), LUD_ERROR_INPUT);
        gate.temperature = NAN;
        assert_int_equal(lud_gate_check(&gate, NULL), LUD_ERROR_INPUT);
        gate.temperature = 0;
        assert_int_equal(lud_gate_check(&gate, NULL) == LUD_OK, mode == LUD_GATE_DELIGHT);
    }
}

/* One decision about n rows. */
typedef struct decided {
    lud_gate_decision decision;
    float weight[MAX_ROWS];
} decided;

static decided decide(const lud_gate *gate, int64_t n, const float *delight, const float *uniform,
                      uint64_t experiences, const lud_gate_history *history) {
    decided d;
    float scratch[MAX_ROWS];
    d.decision = lud_gate_decide(gate, &(lud_gate_batch){.n = n,
                                                         .delight = delight,
                                                         .uniform = uniform,
                                                         .experiences = experiences,
                                                         .history = history,
                                                         .weight = d.weight,
                                                         .scratch = scratch});
    return d;
}

/* The formula of the rows that a threshold keeps, and the higher rate of the warm-up. */
static void test_warm_up(void **state) {
    (void)state;
    float delight[30], uniform[30];
    lud_gate gate = lud_gate_default();
    gate.warmup_experiences = 500;
    fill(0, 30, delight, uniform); /* without ties */
    const decided before = decide(&gate, 30, delight, NULL, 499, NULL),
                  after = decide(&gate, 30, delight, NULL, 500, NULL);
    assert_true(before.decision.rate == 0.3 && after.decision.rate == 0.03);
    assert_int_equal(before.decision.n_kept, 30 - (int)ceil(0.7 * 29));
    assert_int_equal(after.decision.n_kept, 1);
    assert_true(before.decision.price == naive_quantile(30, delight, 0.3));
}

static void test_one_row(void **state) {
    (void)state;
    const float delight[] = {-3.0f}, uniform[] = {0.9999f};
    for (int mode = LUD_GATE_THRESHOLD; mode <= LUD_GATE_TOP_K; mode++) {
        lud_gate gate = lud_gate_default();
        gate.mode = mode;
        gate.min_keep = 0;
        const decided d = decide(&gate, 1, delight, uniform, 0, NULL);
        const bool weighs = mode == LUD_GATE_SOFT || mode == LUD_GATE_DELIGHT;
        assert_true(weighs ? d.weight[0] < 1 : d.weight[0] == 1);
        gate.fixed_price = true; /* then a row is dropped like any other */
        if (mode == LUD_GATE_THRESHOLD)
            assert_int_equal(decide(&gate, 1, delight, uniform, 0, NULL).decision.n_kept, 0);
    }
}

/* Where no row is better than another a rate still keeps its share, the first. */
static void test_no_difference(void **state) {
    (void)state;
    float delight[40] = {0};
    lud_gate gate = lud_gate_default();
    gate.rate = 0.1;
    const decided d = decide(&gate, 40, delight, NULL, 0, NULL);
    assert_int_equal(d.decision.n_kept, 4);
    for (int i = 0; i < 40; i++) assert_true(d.weight[i] == (i < 4 ? 1.0f : 0.0f));
}

static void test_kept_at_least(void **state) {
    (void)state;
    const float delight[] = {-1.0f, NAN, 0.5f, -4.0f, 2.0f, -2.0f};
    lud_gate gate = lud_gate_default();
    gate.fixed_price = true;
    gate.price = 100;
    for (int64_t least = 0; least < 5; least++) {
        static const int order[] = {3, 4, 5, 0}; /* by |delight|, the first among equals */
        gate.min_keep = least;
        const decided d = decide(&gate, 6, delight, NULL, 0, NULL);
        assert_int_equal(d.decision.n_kept, least);
        for (int k = 0; k < 4; k++) assert_true(d.weight[order[k]] == (k < least ? 1.0f : 0.0f));
        assert_true(d.weight[1] == 0.0f && d.weight[2] == 0.0f);
    }
    gate.min_keep = 0;
    gate.warmup_experiences = 10; /* one is kept until the warm-up is over */
    assert_int_equal(decide(&gate, 6, delight, NULL, 9, NULL).decision.n_kept, 1);
    assert_int_equal(decide(&gate, 6, delight, NULL, 10, NULL).decision.n_kept, 0);
}

/* Rows that come one by one: the price is that of the last H delights, against a list of all. */
static void test_history(void **state) {
    (void)state;
    enum { H = 40, MINIMUM = 12, ROWS = 3 * H };
    lud_gate gate = lud_gate_default();
    lud_gate_history history = {0}, none = {0};
    lud_error error = {0};
    float all[ROWS];
    int n_kept = 0;
    gate.rate = 0.25;
    gate.min_keep = 0;
    assert_int_equal(lud_gate_history_create(&history, H, MINIMUM, &error), LUD_OK);
    for (int i = 0; i < ROWS; i++) all[i] = 4.0f * number(77, (uint32_t)i, 0) - 2.0f;
    for (int i = 0; i < ROWS; i++) {
        lud_gate_history_push(&history, 1, &all[i]);
        const int n = i + 1 < H ? i + 1 : H;
        float price = 0;
        assert_int_equal(lud_gate_history_price(&history, gate.rate, &price), n >= MINIMUM);
        const decided d = decide(&gate, 1, &all[i], NULL, 0, &history);
        assert_true(decide(&gate, 1, &all[i], NULL, 0, &none).weight[0] == 1);
        if (n < MINIMUM) {
            assert_true(d.weight[0] == 1);
            continue;
        }
        const float expected = naive_quantile(n, all + i + 1 - n, gate.rate);
        assert_true(price == expected && d.decision.price == expected);
        assert_true(d.weight[0] == (all[i] >= expected));
        n_kept += d.decision.n_kept > 0;
    }
    assert_in_range(n_kept, (ROWS - MINIMUM) / 8, (ROWS - MINIMUM) / 2);

    /* saved, and gone on with */
    lud_gate_history second = {0};
    lud_checkpoint *saved = lud_checkpoint_create(), *loaded = NULL;
    char path[] = "/tmp/ludus-gate-XXXXXX";
    assert_int_equal(lud_gate_history_create(&second, H, MINIMUM, &error), LUD_OK);
    lud_gate_history_visit(&history, saved, "gate");
    const int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0 && remove(path) == 0); /* only the name is wanted */
    assert_int_equal(lud_checkpoint_write(saved, path, &error), LUD_OK);
    assert_int_equal(lud_checkpoint_open(path, &loaded, &error), LUD_OK);
    lud_gate_history_visit(&second, loaded, "gate");
    assert_int_equal(lud_checkpoint_status(loaded, &error), LUD_OK);
    lud_gate_history_push(&history, 5, all);
    lud_gate_history_push(&second, 5, all);
    assert_memory_equal(history.delight, second.delight, H * sizeof(float));
    assert_true(history.n_pushed == second.n_pushed);
    lud_gate_history other = {0};
    assert_int_equal(lud_gate_history_create(&other, H + 1, MINIMUM, &error), LUD_OK);
    lud_gate_history_visit(&other, loaded, "gate");
    assert_int_not_equal(lud_checkpoint_status(loaded, &error), LUD_OK);
    lud_checkpoint_destroy(saved);
    lud_checkpoint_destroy(loaded);
    remove(path);
    lud_gate_history_destroy(&history);
    lud_gate_history_destroy(&second);
    lud_gate_history_destroy(&other);
}

/* Delights that are no numbers are refused with the name of what holds them; infinite ones are delights. */
static void test_unreal_history(void **state) {
    (void)state;
    enum { H = 5 };
    for (int at = 0; at < H; at++)
        for (int unreal = 0; unreal < 2; unreal++) {
            lud_error error = {0};
            lud_gate_history history = {0}, second = {0};
            lud_checkpoint *saved = lud_checkpoint_create(), *loaded = NULL;
            char path[] = "/tmp/ludus-gate-XXXXXX";
            assert_int_equal(lud_gate_history_create(&history, H, 1, &error), LUD_OK);
            assert_int_equal(lud_gate_history_create(&second, H, 1, &error), LUD_OK);
            lud_gate_history_push(&history, H, (const float[H]){1, 2, 3, 4, 5});
            history.delight[at] = unreal ? NAN : -INFINITY;
            lud_gate_history_visit(&history, saved, "gate");
            const int file = mkstemp(path);
            assert_true(file >= 0 && close(file) == 0 && remove(path) == 0); /* only the name is wanted */
            assert_int_equal(lud_checkpoint_write(saved, path, &error), LUD_OK);
            assert_int_equal(lud_checkpoint_open(path, &loaded, &error), LUD_OK);
            lud_gate_history_visit(&second, loaded, "gate");
            assert_int_equal(lud_checkpoint_status(loaded, &error), unreal ? LUD_ERROR_NUMERIC : LUD_OK);
            if (unreal) assert_string_equal(error.text, "'gate.delights' is no number");
            lud_checkpoint_destroy(saved);
            lud_checkpoint_destroy(loaded);
            remove(path);
            lud_gate_history_destroy(&history);
            lud_gate_history_destroy(&second);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantile),      cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_modes),         cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_check),         cmocka_unit_test(test_limits),
        cmocka_unit_test(test_importance),    cmocka_unit_test(test_warm_up),
        cmocka_unit_test(test_one_row),       cmocka_unit_test(test_no_difference),
        cmocka_unit_test(test_kept_at_least), cmocka_unit_test(test_history),
        cmocka_unit_test(test_unreal_history)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
