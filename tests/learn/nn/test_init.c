/* What parameters begin with: how each kind is spread, and from what every number follows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/nn/parameters.h"

/* Orthogonal rows or columns, and the spread and bounds that each kind says. */
static void initial_values(void **state) {
    (void)state;
    static double v[40 * 60], w[40 * 60];
    const int64_t tall[2] = {60, 40}, wide[2] = {40, 60}, ring[1] = {2000};
    const lud_init orthogonal = {.kind = LUD_INIT_ORTHOGONAL, .a = 1.5};
    for (int side = 0; side < 2; side++) {
        lud_init_values(&orthogonal, "o", 2, side ? wide : tall, 1, 2, v);
        for (int a = 0; a < 40; a++)
            for (int b = 0; b < 40; b++) {
                double dot = 0.0;
                for (int k = 0; k < 60; k++)
                    dot += side ? v[a * 60 + k] * v[b * 60 + k] : v[k * 40 + a] * v[k * 40 + b];
                assert_true(fabs(dot - (a == b ? 2.25 : 0.0)) < 1e-12);
            }
    }
    const struct {
        lud_init init;
        double variance, bound;
    } kinds[] = {{{.kind = LUD_INIT_FAN_IN}, 1.0 / 60.0 / 3.0, 0.1291},
                 {{.kind = LUD_INIT_KAIMING, .a = sqrt(2.0)}, 2.0 / 60.0, 10.0},
                 {{.kind = LUD_INIT_XAVIER, .a = 1.0}, 2.0 / 100.0, 0.24495},
                 {{.kind = LUD_INIT_NORMAL, .a = 1.0}, 1.0, 10.0},
                 {{.kind = LUD_INIT_UNIFORM, .a = 3.0}, 3.0, 3.0}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        lud_init_values(&kinds[k].init, "w", 2, wide, 1, 2, v);
        double mean = 0.0, square = 0.0;
        for (int i = 0; i < 2400; i++) {
            mean += v[i] / 2400.0;
            square += v[i] * v[i] / 2400.0;
            assert_true(fabs(v[i]) <= kinds[k].bound);
        }
        assert_true(fabs(mean) < 5.0 * sqrt(kinds[k].variance / 2400.0));
        assert_true(fabs(square / kinds[k].variance - 1.0) < 0.15);
    }
    const lud_init nu = {.kind = LUD_INIT_LRU_NU, .a = 0.5, .b = 0.9};
    lud_init gamma = nu;
    gamma.kind = LUD_INIT_LRU_GAMMA;
    gamma.stream = "nu";
    lud_init_values(&nu, "nu", 1, ring, 1, 2, v);
    lud_init_values(&gamma, "gamma", 1, ring, 1, 1, w);
    for (int i = 0; i < 2000; i++) {
        const double radius = exp(-exp(v[i]));
        assert_true(radius >= 0.5 && radius <= 0.9);
        assert_true(fabs(exp(w[i]) - sqrt(1.0 - radius * radius)) < 1e-12);
    }
}

/* Value i follows from the seed, the parameter's name and i: not from threads, nor from how many there are.
 */
static void initial_values_are_counted(void **state) {
    (void)state;
    enum { N = 100003 };
    static const lud_init kinds[] = {
        {.kind = LUD_INIT_CONSTANT, .a = 0.25},  {.kind = LUD_INIT_UNIFORM, .a = 2.0},
        {.kind = LUD_INIT_NORMAL, .a = 0.5},     {.kind = LUD_INIT_LRU_NU, .a = 0.4, .b = 0.99},
        {.kind = LUD_INIT_LRU_THETA, .a = 6.28}, {.kind = LUD_INIT_LRU_GAMMA, .a = 0.4, .b = 0.99}};
    double *one = malloc(N * sizeof *one), *more = malloc(N * sizeof *more);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        lud_init_values(&kinds[k], "a", 1, (const int64_t[]){N}, 5, 1, one);
        for (int n_threads = 2; n_threads < 5; n_threads++) {
            lud_init_values(&kinds[k], "a", 1, (const int64_t[]){N}, 5, n_threads, more);
            assert_memory_equal(one, more, N * sizeof *one);
        }
        for (int64_t n = 1; n < 10; n++) {
            memset(more, 0x55, 11 * sizeof *more);
            const double untouched = more[n];
            lud_init_values(&kinds[k], "a", 1, &n, 5, 2, more);
            assert_memory_equal(one, more, (size_t)n * sizeof *one);
            assert_memory_equal(&more[n], &untouched, sizeof untouched);
        }
        lud_init_values(&kinds[k], "b", 1, (const int64_t[]){N}, 5, 1, more);
        assert_int_equal(memcmp(one, more, N * sizeof *one) == 0, kinds[k].kind == LUD_INIT_CONSTANT);
        lud_init_values(&kinds[k], "a", 1, (const int64_t[]){N}, 6, 1, more);
        assert_int_equal(memcmp(one, more, N * sizeof *one) == 0, kinds[k].kind == LUD_INIT_CONSTANT);
    }
    free(one);
    free(more);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(initial_values),
                                       cmocka_unit_test(initial_values_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
