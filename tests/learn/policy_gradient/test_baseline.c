/* Baselines of rewards against lists of all rewards and sums over all pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/policy_gradient/baseline.h"

enum { N = 57, WARMUP = 20 };

static void assert_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.12g, expected %.12g", got, expected);
}

static float number(uint32_t i, uint32_t lane) {
    return 6.0f * lud_unit_float(lud_draw((lud_random_key){5, 1}, i, lane, LUD_PURPOSE_USER, 0).v[0]) - 2.0f;
}

static lud_baseline make(lud_baseline_type type, lud_baseline_order order) {
    lud_baseline b;
    lud_baseline_init(
        &b, &(lud_baseline_options){.type = (int)type, .alpha = 0.1, .warmup = WARMUP, .update = (int)order});
    return b;
}

/* From the list of all rewards, two passes over it while it warms up. */
static void running_statistics(void **state) {
    (void)state;
    double mean = 0.0, var = 1.0, reward[N];
    lud_baseline b = make(LUD_BASELINE_WARMUP_THEN_EMA, LUD_BASELINE_SEQUENTIAL);
    for (int i = 0; i < N; i++) {
        reward[i] = (double)number((uint32_t)i, 0) + 1000.0; /* far from 0: sums of squares would cancel */
        double expected = 0.0;
        if (i == 0) {
            mean = reward[0];
        } else if (i < WARMUP) {
            mean = var = 0.0;
            for (int k = 0; k <= i; k++) mean += reward[k] / (i + 1);
            for (int k = 0; k <= i; k++) var += (reward[k] - mean) * (reward[k] - mean) / (i + 1);
            expected = (reward[i] - mean) / sqrt(var);
        } else {
            const double d = reward[i] - mean;
            mean += 0.1 * d;
            var = 0.9 * var + 0.1 * d * d;
            expected = d / sqrt(var);
        }
        assert_near(lud_baseline_update(&b, reward[i]), expected, 1e-9);
        assert_near(b.mean, mean, 1e-9);
        assert_near(b.var, var, 1e-9);
    }
}

static void equal_rewards_are_no_advantage(void **state) {
    (void)state;
    static const lud_baseline_type types[] = {LUD_BASELINE_EMA_ONLY, LUD_BASELINE_WARMUP_THEN_EMA};
    for (int t = 0; t < 2; t++) {
        lud_baseline b = make(types[t], LUD_BASELINE_SEQUENTIAL);
        for (int i = 0; i < 3 * WARMUP; i++) assert_true(lud_baseline_update(&b, 0.1) == 0.0);
    }
}

/* In batches: sequential is one after the other; a tick judges all by what was known before it. */
static void order_of_a_batch(void **state) {
    (void)state;
    float reward[N], advantage[N];
    lud_baseline one = make(LUD_BASELINE_WARMUP_THEN_EMA, LUD_BASELINE_SEQUENTIAL), many = one;
    lud_baseline tick = make(LUD_BASELINE_WARMUP_THEN_EMA, LUD_BASELINE_TICK);
    for (int i = 0; i < N; i++) reward[i] = number((uint32_t)i, 1);
    lud_baseline_advantages(&many, 10, reward, NULL, NULL, advantage);
    lud_baseline_advantages(&many, N - 10, reward + 10, NULL, NULL, advantage + 10);
    for (int i = 0; i < N; i++)
        assert_true(advantage[i] == (float)lud_baseline_update(&one, (double)reward[i]));
    lud_baseline_advantages(&tick, 10, reward, NULL, NULL, advantage);
    for (int i = 0; i < 10; i++) assert_true(advantage[i] == 0.0f); /* nothing was known */
    const lud_baseline known = tick;
    lud_baseline_advantages(&tick, N - 10, reward + 10, NULL, NULL, advantage);
    for (int i = 10; i < N; i++)
        assert_near((double)advantage[i - 10], ((double)reward[i] - known.mean) / sqrt(known.var), 1e-5);
    assert_true(tick.mean == many.mean && tick.var == many.var && tick.count == many.count);
}

static void means_of_groups(void **state) {
    (void)state;
    float reward[N], mask[N], mean[N], advantage[N];
    int32_t group[N];
    for (int i = 0; i < N; i++) {
        reward[i] = number((uint32_t)i, 2);
        group[i] = (int32_t)(3.0f * number((uint32_t)i, 3)); /* of either sign */
        mask[i] = i % 5 != 0;
    }
    lud_baseline_group_means(N, reward, mask, group, mean);
    lud_baseline b = make(LUD_BASELINE_GROUP_MEAN, LUD_BASELINE_SEQUENTIAL);
    lud_baseline_advantages(&b, N, reward, group, NULL, advantage);
    for (int i = 0; i < N; i++) {
        double some = 0.0, n_some = 1e-9, all = 0.0, n_all = 1e-9;
        for (int k = 0; k < N; k++) {
            if (group[k] != group[i]) continue;
            some += (double)(mask[k] * reward[k]);
            n_some += (double)mask[k];
            all += (double)reward[k];
            n_all += 1.0;
        }
        assert_near((double)mean[i], some / n_some, 1e-5);
        assert_near((double)advantage[i], (double)reward[i] - all / n_all, 1e-5);
    }
    float total = 0.0f;
    lud_baseline_advantages(&b, N, reward, NULL, NULL, advantage); /* one group */
    for (int i = 0; i < N; i++) total += advantage[i];
    assert_near((double)total, 0.0, 1e-3);
}

static void others_subtract(void **state) {
    (void)state;
    const float reward[] = {1.0f, 0.0f, -2.0f},
                probability[] = {1, 0, 0, 0.25f, 0.25f, 0.5f, 1.0f / 3, 1.0f / 3, 1.0f / 3};
    float expected[3], advantage[3];
    lud_baseline_expected_confidence(3, 3, probability, expected);
    assert_near((double)expected[0], 1.0, 1e-6);
    assert_near((double)expected[1], 0.375, 1e-6);
    assert_near((double)expected[2], 1.0 / 3, 1e-6);
    for (lud_baseline_type type = LUD_BASELINE_EXPECTED_CONFIDENCE; type <= LUD_BASELINE_CRITIC; type++) {
        lud_baseline b = make(type, LUD_BASELINE_SEQUENTIAL);
        assert_int_equal(lud_baseline_needs_expected(&b), type != LUD_BASELINE_ZERO);
        lud_baseline_advantages(&b, 3, reward, NULL, expected, advantage);
        for (int i = 0; i < 3; i++)
            assert_true(advantage[i] == reward[i] - (type == LUD_BASELINE_ZERO ? 0.0f : expected[i]));
    }
}

/* A checkpoint in the middle of the warm-up, and behind it. */
static void goes_on_where_it_was(void **state) {
    (void)state;
    for (int at = 1; at < N; at += 7) {
        lud_baseline whole = make(LUD_BASELINE_WARMUP_THEN_EMA, LUD_BASELINE_SEQUENTIAL), second = whole;
        for (int i = 0; i < at; i++) lud_baseline_update(&whole, (double)number((uint32_t)i, 4));
        lud_checkpoint *saved = lud_checkpoint_create(), *loaded = NULL;
        lud_error error = {0};
        lud_baseline_visit(&whole, saved, "baseline");
        char path[] = "/tmp/ludus-baseline-XXXXXX";
        const int file = mkstemp(path);
        assert_true(file >= 0 && close(file) == 0 && remove(path) == 0); /* only the name is wanted */
        assert_int_equal(lud_checkpoint_write(saved, path, &error), LUD_OK);
        if (lud_checkpoint_open(path, &loaded, &error)) fail_msg("%s", error.text);
        lud_baseline_visit(&second, loaded, "baseline");
        assert_int_equal(lud_checkpoint_status(loaded, &error), LUD_OK);
        for (int i = at; i < N; i++) {
            const double reward = (double)number((uint32_t)i, 4),
                         expected = lud_baseline_update(&whole, reward);
            assert_true(lud_baseline_update(&second, reward) == expected);
        }
        assert_true(second.mean == whole.mean && second.var == whole.var && second.count == whole.count);
        lud_checkpoint_destroy(saved);
        lud_checkpoint_destroy(loaded);
        remove(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(running_statistics), cmocka_unit_test(equal_rewards_are_no_advantage),
        cmocka_unit_test(order_of_a_batch),   cmocka_unit_test(means_of_groups),
        cmocka_unit_test(others_subtract),    cmocka_unit_test(goes_on_where_it_was)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
