/* A target set moves towards another by a share of the way, in float and in double; a share of one is a copy,
 * a share of none leaves it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learn/nn/parameters.h"

static void targets_go_a_share_of_the_way(void **state) {
    (void)state;
    enum { A = 7, B = 30 };
    static const double shares[] = {0, 0.005, 0.25, 1};
    lud_device *device = NULL;
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    for (int in_double = 0; in_double < 2; in_double++)
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
            lud_parameters *online = lud_parameters_create(device, in_double);
            lud_parameters_add(online, "a", 1, (const int64_t[]){A}, (lud_init){0});
            lud_parameters_add(online, "b", 1, (const int64_t[]){B}, (lud_init){0});
            assert_int_equal(lud_parameters_build(online, 1, &error), LUD_OK);
            lud_parameters *target = lud_parameters_clone(online);
            assert_non_null(target);
            double from[2][B], to[2][B], found[B];
            for (int p = 0; p < 2; p++) {
                for (int i = 0; i < B; i++) from[p][i] = i - 4 * p, to[p][i] = 100 - 3 * i;
                lud_parameters_write(target, p, from[p]);
                lud_parameters_write(online, p, to[p]);
            }
            lud_parameters_blend(target, online, shares[k]);
            for (int p = 0; p < 2; p++) {
                lud_parameters_read(target, p, found);
                for (int i = 0; i < (p ? B : A); i++)
                    assert_true(fabs(found[i] - from[p][i] - shares[k] * (to[p][i] - from[p][i])) <
                                (in_double ? 1e-12 : 1e-4));
                lud_parameters_read(online, p, found);
                for (int i = 0; i < (p ? B : A); i++) assert_true(found[i] == to[p][i]);
            }
            lud_parameters_destroy(target);
            lud_parameters_destroy(online);
        }
    lud_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(targets_go_a_share_of_the_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
