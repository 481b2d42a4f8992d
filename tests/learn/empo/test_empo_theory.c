/* EMPO's small functions, each against its definition: parameters, draws, distances between distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/empo/evaluation/policy_evaluation.h"
#include "learn/empo/theory.h"

static const lud_empo_theory usual = {.beta_h = 10,
                                      .gamma_h = 1,
                                      .rho_h = -1,
                                      .gamma_r = 1,
                                      .rho_r = -1,
                                      .beta_r = 10,
                                      .zeta = 1,
                                      .xi = 1,
                                      .eta = 1};

static lud_status check(lud_empo_theory theory, lud_empo_theory *resolved, lud_error *error) {
    *error = (lud_error){0};
    const lud_status status = lud_empo_theory_check(&theory, (lud_place){0}, error);
    *resolved = theory;
    return status;
}

/* Rates become factors; both at once, negative rates, factors of 0 and above 1 are refused and named. */
static void rates_become_factors(void **state) {
    (void)state;
    lud_empo_theory t = usual, r;
    lud_error error;
    assert_int_equal(check(t, &r, &error), LUD_OK);
    assert_true(r.gamma_h == 1 && r.gamma_r == 1);
    static const double rates[] = {0, 0.25, 3};
    for (int k = 0; k < 3; k++) {
        t = usual;
        t.rho_h = rates[k];
        t.rho_r = 2 * rates[k];
        assert_int_equal(check(t, &r, &error), LUD_OK);
        assert_true(fabs(r.gamma_h - exp(-rates[k])) < 1e-15 && fabs(r.gamma_r - exp(-2 * rates[k])) < 1e-15);
        assert_true(r.rho_h == -1 && r.rho_r == -1); /* so that a second check finds nothing given twice */
        assert_int_equal(check(r, &r, &error), LUD_OK);
    }
#define REFUSED(field, value, word)                                                                          \
    do {                                                                                                     \
        t = usual;                                                                                           \
        t.field = value;                                                                                     \
        assert_int_equal(check(t, &r, &error), LUD_ERROR_INPUT);                                             \
        assert_non_null(strstr(error.text, word));                                                           \
    } while (0)
    REFUSED(beta_h, 0, "beta_h");
    REFUSED(beta_h, NAN, "beta_h");
    REFUSED(gamma_h, 0, "gamma_h");
    REFUSED(gamma_h, 1.01, "gamma_h");
    REFUSED(gamma_r, -0.5, "gamma_r");
    REFUSED(rho_h, -0.5, "rho_h");
    REFUSED(rho_r, -2, "rho_r");
    REFUSED(rho_r, 1000, "gamma_r"); /* its factor is 0 */
    t = usual;
    t.gamma_h = 0.5;
    t.rho_h = 0.1;
    assert_int_equal(check(t, &r, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "both"));
    t = usual;
    t.beta_h = INFINITY;
    assert_int_equal(check(t, &r, &error), LUD_OK);
}

/* The discounted time that a step takes: the integral of gamma^t from 0 to 1. */
static void weights_are_durations(void **state) {
    (void)state;
    lud_empo_theory t = usual;
    for (double gamma = 0.05; gamma < 1; gamma += 0.05) {
        double sum = 0;
        enum { PARTS = 20000 };
        for (int i = 0; i < PARTS; i++) sum += pow(gamma, (i + 0.5) / PARTS) / PARTS;
        t.gamma_r = gamma;
        t.reward_weight = LUD_EMPO_BY_DURATION;
        assert_true(fabs(lud_empo_reward_weight_of(&t) - sum) < 1e-8);
        t.reward_weight = LUD_EMPO_ONE;
        assert_true(lud_empo_reward_weight_of(&t) == 1);
    }
    t.gamma_r = 1;
    t.reward_weight = LUD_EMPO_BY_DURATION;
    assert_true(lud_empo_reward_weight_of(&t) == 1);
}

/* Uniform numbers in equal steps draw each index in proportion to its probability, in ascending order. */
static void draws_follow_the_distribution(void **state) {
    (void)state;
    static const double p[][5] = {{0.25, 0.25, 0, 0.5, 0},   {0, 1, 0, 0, 0},
                                  {0, 0, 0, 0, 1},           {1, 0, 0, 0, 0},
                                  {0.2, 0.2, 0.2, 0.2, 0.2}, {0.125, 0, 0.5, 0.25, 0.125}};
    for (size_t k = 0; k < sizeof p / sizeof *p; k++) {
        enum { STEPS = 4000 };
        int count[5] = {0}, before = 0;
        for (int i = 0; i < STEPS; i++) {
            const int drawn = lud_empo_draw(p[k], 5, (i + 0.5) / STEPS);
            assert_in_range(drawn, before, 4);
            before = drawn;
            count[drawn]++;
        }
        for (int j = 0; j < 5; j++) assert_int_equal(count[j], (int)lround(p[k][j] * STEPS));
        int first = 0, last = 4;
        while (p[k][first] == 0) first++;
        while (p[k][last] == 0) last--;
        assert_int_equal(lud_empo_draw(p[k], 5, 0), first);
        assert_int_equal(lud_empo_draw(p[k], 5, nextafter(1, 0)), last);
    }
    assert_int_equal(lud_empo_draw(p[0], 5, 0.25), 1); /* a border belongs to the next */
    const double short_of_one[] = {0.3, 0.6, 0};
    assert_int_equal(lud_empo_draw(short_of_one, 3, 0.95), 1);
    const double alone[] = {1};
    assert_int_equal(lud_empo_draw(alone, 1, 0.5), 0);
}

static void distances_between_distributions(void **state) {
    (void)state;
    enum { N = 7 };
    for (uint32_t k = 0; k < 200; k++) {
        double p[N], q[N], sums[2] = {0}, largest = 0, divergence = 0;
        const int n = 1 + (int)(k % N);
        for (int i = 0; i < n; i++) {
            const lud_words w = lud_draw((lud_random_key){3, k}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0);
            p[i] = w.v[2] % 3 ? lud_unit(w.v[0]) : 0;
            q[i] = 0.01 + lud_unit(w.v[1]);
            if (i == n - 1) p[i] += 0.5;
            sums[0] += p[i];
            sums[1] += q[i];
        }
        for (int i = 0; i < n; i++) p[i] /= sums[0], q[i] /= sums[1];
        /* total variation: the largest difference that any set of choices has in probability */
        for (int set = 0; set < 1 << n; set++) {
            double difference = 0;
            for (int i = 0; i < n; i++)
                if (set >> i & 1) difference += p[i] - q[i];
            largest = fmax(largest, difference);
        }
        for (int i = 0; i < n; i++)
            if (p[i] > 0) divergence -= p[i] * (log(q[i]) - log(p[i]));
        assert_true(fabs(lud_empo_total_variation(p, q, n) - largest) < 1e-12);
        assert_true(fabs(lud_empo_total_variation(q, p, n) - largest) < 1e-12);
        assert_true(lud_empo_total_variation(p, p, n) == 0);
        assert_true(fabs(lud_empo_kullback_leibler(p, q, n) - divergence) < 1e-12);
        assert_true(fabs(lud_empo_kullback_leibler(q, q, n)) < 1e-15);
        assert_true(divergence >= 2 * largest * largest - 1e-12); /* Pinsker's inequality */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_become_factors), cmocka_unit_test(weights_are_durations),
        cmocka_unit_test(draws_follow_the_distribution), cmocka_unit_test(distances_between_distributions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
