/* Gradients in shares of one process: what each share came to, weighted, is added up with its sums, whatever
 * stood there before. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/nn/shares.h"

enum { NUMBERS = 37, MOST = 6, SUMS = 3 };

/* Of a share, in whole numbers that floats hold exactly. */
static float gradient(int share, int i) {
    return (float)((share * 31 + i * 7) % 50 - 20);
}

static void shares_add_up(void **state) {
    (void)state;
    lud_device *device = NULL;
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    for (int n = 1; n <= MOST; n++) {
        lud_parameters *p = lud_parameters_create(device, false);
        lud_parameters_add(p, "w", 1, (const int64_t[]){NUMBERS}, (lud_init){0});
        assert_int_equal(lud_parameters_build(p, 1, &error), LUD_OK);
        lud_shares shares;
        assert_int_equal(lud_shares_open(p, n, SUMS, &shares, &error), LUD_OK);
        assert_int_equal(shares.end - shares.first, n);
        float *g = lud_parameters_gradient(p, 0);
        for (int round = 0; round < 2; round++) { /* nothing is left of the first */
            double expected[NUMBERS] = {0}, total[SUMS] = {0};
            for (int i = 0; i < NUMBERS; i++) g[i] = 1000;
            lud_shares_begin(&shares);
            for (int s = shares.first; s < shares.end; s++) {
                /* a single share stays where it is, as it is */
                const double weight = n == 1 ? 1.0 : 0.5 * (s + 1);
                double sums[SUMS];
                for (int i = 0; i < NUMBERS; i++) {
                    g[i] += gradient(s, i);
                    expected[i] += weight * (double)gradient(s, i);
                }
                for (int k = 0; k < SUMS; k++) total[k] += sums[k] = s * 10 + k + 1;
                lud_shares_keep(&shares, s, weight, sums);
            }
            double found[SUMS] = {-1, -1, -1};
            assert_int_equal(lud_shares_add(&shares, LUD_OK, found, &error), LUD_OK);
            for (int i = 0; i < NUMBERS; i++) assert_true((double)g[i] == expected[i]);
            for (int k = 0; k < SUMS; k++) assert_true(found[k] == total[k]);
        }
        lud_shares_close(&shares);
        lud_parameters_destroy(p);
    }
    lud_device_close(device);
}

static void seeds_differ(void **state) {
    (void)state;
    assert_true(lud_shares_seed(5, 0) == 5);
    for (int a = 0; a < MOST; a++)
        for (int b = 0; b < a; b++) assert_true(lud_shares_seed(5, a) != lud_shares_seed(5, b));
}

static void every_share_has_an_item(void **state) {
    (void)state;
    for (int64_t n = 1; n < 5; n++)
        for (int64_t items = 0; items < 5; items++) {
            lud_error error = {0};
            const lud_status status = lud_shares_check(n, items, "environments", (lud_place){0}, &error);
            assert_int_equal(status, n <= items ? LUD_OK : LUD_ERROR_INPUT);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_add_up), cmocka_unit_test(seeds_differ),
                                       cmocka_unit_test(every_share_has_an_item)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
