/* Schedules: end points, continuity at the seams, and the closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learn/nn/schedule.h"

static void check(double actual, double expected) {
    assert_true(fabs(actual - expected) <= 1e-14);
}

static void constant_holds(void **state) {
    (void)state;
    const lud_schedule schedule = {.kind = LUD_SCHEDULE_CONSTANT, .start = 0.25};
    check(lud_schedule_at(&schedule, 0), 0.25);
    check(lud_schedule_at(&schedule, 1e9), 0.25);
}

static void warmup_rises_to_start(void **state) {
    (void)state;
    const lud_schedule schedule = {.kind = LUD_SCHEDULE_CONSTANT, .start = 2.0, .warmup = 4};
    check(lud_schedule_at(&schedule, 0), 0.5);
    check(lud_schedule_at(&schedule, 2), 1.5);
    check(lud_schedule_at(&schedule, 3), 2.0);
    check(lud_schedule_at(&schedule, 4), 2.0);
}

static void bounded_kinds_meet_both_ends(void **state) {
    (void)state;
    const lud_schedule_kind kinds[] = {LUD_SCHEDULE_LINEAR, LUD_SCHEDULE_COSINE, LUD_SCHEDULE_EXPONENTIAL};
    const double middle[] = {0.55, 0.55, 0.31622776601683794};
    for (int k = 0; k < 3; k++) {
        const lud_schedule schedule = {.kind = kinds[k], .start = 1.0, .end = 0.1, .hold = 10, .length = 20};
        check(lud_schedule_at(&schedule, 0), 1.0);
        check(lud_schedule_at(&schedule, 10), 1.0);
        check(lud_schedule_at(&schedule, 20), middle[k]);
        check(lud_schedule_at(&schedule, 30), 0.1);
        check(lud_schedule_at(&schedule, 1000), 0.1);
        for (int step = 10; step < 30; step++)
            assert_true(lud_schedule_at(&schedule, step + 1) < lud_schedule_at(&schedule, step));
        const lud_schedule jump = {.kind = kinds[k], .start = 1.0, .end = 0.1, .hold = 5};
        check(lud_schedule_at(&jump, 4), 1.0);
        check(lud_schedule_at(&jump, 5), 0.1);
    }
}

static void inverse_kinds_decay_from_the_hold(void **state) {
    (void)state;
    lud_schedule schedule = {.kind = LUD_SCHEDULE_INVERSE, .start = 3.0, .hold = 100};
    check(lud_schedule_at(&schedule, 100), 3.0);
    check(lud_schedule_at(&schedule, 400), 0.75);
    schedule.kind = LUD_SCHEDULE_INVERSE_SQRT;
    check(lud_schedule_at(&schedule, 400), 1.5);
    schedule.hold = 0; /* no hold: finite from the first step */
    check(lud_schedule_at(&schedule, 0), 3.0);
    check(lud_schedule_at(&schedule, 9), 1.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_holds),
        cmocka_unit_test(warmup_rises_to_start),
        cmocka_unit_test(bounded_kinds_meet_both_ends),
        cmocka_unit_test(inverse_kinds_decay_from_the_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
