/* Moments of advantages and what a critic explains of returns, against sums over all pairs: the variance is
 * half the mean square of the differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/policy_gradient/advantage.h"

enum { MOST = 41 };

static float number(uint32_t i, uint32_t lane) {
    return 4.0f * lud_unit_float(lud_draw((lud_random_key){12, 3}, i, lane, LUD_PURPOSE_USER, 0).v[0]) - 1.0f;
}

static double mean_of(int n, const double *x) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum / n;
}

/* Of the whole. */
static double variance_of(int n, const double *x) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += (x[i] - x[j]) * (x[i] - x[j]);
    return sum / (2.0 * n * n);
}

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 2e-6 * (1 + fabs(expected))))
        fail_msg("%.9g, expected %.9g", found, expected);
}

static void explained(void **state) {
    (void)state;
    for (int n = 2; n <= MOST; n += 13) {
        float returns[MOST], value[MOST], shifted[MOST];
        double r[MOST], error[MOST];
        for (int i = 0; i < n; i++) {
            returns[i] = 20 + number((uint32_t)i, 0);
            value[i] = 15 + number((uint32_t)i, 1);
            shifted[i] = returns[i] - 7;
            r[i] = (double)returns[i];
            error[i] = (double)returns[i] - (double)value[i];
        }
        near(lud_explained_variance(n, returns, value), 1 - variance_of(n, error) / variance_of(n, r));
        near(lud_explained_variance(n, returns, shifted), 1); /* all but a constant */
        for (int i = 0; i < n; i++) value[i] = 3;
        near(lud_explained_variance(n, returns, value), 0);
        for (int i = 0; i < n; i++) returns[i] = 2;
        assert_true(isnan(lud_explained_variance(n, returns, shifted)));
    }
}

static void normalised(void **state) {
    (void)state;
    for (int n = 2; n <= MOST; n += 13)
        for (int k = 0; k < 3; k++) {
            const double least = (double[]){0, 0.5, 100}[k];
            float advantage[MOST + 1];
            double a[MOST];
            for (int i = 0; i < n; i++) a[i] = (double)(advantage[i] = 5 + number((uint32_t)i, 2));
            advantage[n] = 777;
            lud_advantage_normalise(n, least, advantage);
            const double divisor = fmax(sqrt(variance_of(n, a)), least) + 1e-5;
            for (int i = 0; i < n; i++) near((double)advantage[i], (a[i] - mean_of(n, a)) / divisor);
            assert_true(advantage[n] == 777);
        }
}

static void moments(void **state) {
    (void)state;
    float advantage[MOST];
    int32_t row[MOST];
    for (int i = 0; i < MOST; i++) {
        advantage[i] = 5 + number((uint32_t)i, 3);
        row[i] = i * 7 % MOST;
    }
    for (int n = 0; n <= MOST; n++) {
        double mean = 777, deviation = 777, a[MOST];
        for (int i = 0; i < n; i++) a[i] = (double)advantage[row[i]];
        lud_advantage_moments(n, row, advantage, &mean, &deviation);
        near(mean, n > 1 ? mean_of(n, a) : 0);
        near(deviation, n > 1 ? sqrt(variance_of(n, a) * n / (n - 1)) + 1e-8 : 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(explained), cmocka_unit_test(normalised),
                                       cmocka_unit_test(moments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
