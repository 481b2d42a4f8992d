/* Fitted power laws: exact ones come back, noise is told by the error, and the figures of a worked example.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/power_law.h"
#include "base/random.h"

static void exact_laws_come_back(void **state) {
    (void)state;
    const double exponents[] = {0.0, 1.0, 2.0, -0.5, 1.37};
    for (int k = 0; k < 5; k++) {
        double x[6], y[6];
        for (int i = 0; i < 6; i++) {
            x[i] = pow(3.0, i);
            y[i] = 0.25 * pow(x[i], exponents[k]);
        }
        for (int n = 2; n <= 6; n++) {
            const lud_power_law law = lud_power_law_fit(n, x, y);
            assert_true(fabs(law.exponent - exponents[k]) < 1e-9 && fabs(law.factor - 0.25) < 1e-9);
            assert_true(law.error < 1e-6);
        }
    }
}

/* ln y = 0, 1, 1, 2 at ln x = 0, 1, 2, 3: slope 3/5, and squares of 0.2 are left of 2. */
static void a_worked_example(void **state) {
    (void)state;
    const double x[] = {1.0, exp(1.0), exp(2.0), exp(3.0)}, y[] = {1.0, exp(1.0), exp(1.0), exp(2.0)};
    const lud_power_law law = lud_power_law_fit(4, x, y);
    assert_true(fabs(law.exponent - 0.6) < 1e-12);
    assert_true(fabs(law.factor - exp(0.1)) < 1e-12);
    assert_true(fabs(law.error - sqrt(0.2 / 2 / 5)) < 1e-12);
}

/* The error is what the exponents of many noisy tables scatter by. */
static void the_error_is_the_scatter(void **state) {
    (void)state;
    enum { TABLES = 400, POINTS = 8 };
    double sum = 0.0, squares = 0.0, errors = 0.0;
    for (uint32_t t = 0; t < TABLES; t++) {
        double x[POINTS], y[POINTS];
        for (uint32_t i = 0; i < POINTS; i++) {
            const lud_words w = lud_draw((lud_random_key){3, t}, i, 0, LUD_PURPOSE_USER, 0);
            x[i] = ldexp(1.0, (int)i);
            y[i] = x[i] * exp(0.2 * ((double)w.v[0] / 4294967296.0 - 0.5));
        }
        const lud_power_law law = lud_power_law_fit(POINTS, x, y);
        sum += law.exponent;
        squares += (law.exponent - 1.0) * (law.exponent - 1.0);
        errors += law.error;
    }
    assert_true(fabs(sum / TABLES - 1.0) < 0.002);
    assert_true(fabs(errors / TABLES / sqrt(squares / TABLES) - 1.0) < 0.15);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact_laws_come_back),
                                       cmocka_unit_test(a_worked_example),
                                       cmocka_unit_test(the_error_is_the_scatter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
