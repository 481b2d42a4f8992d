/* Every learner ends small trainings with the known bytes, with one thread and with two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "learn/support_golden.h"

static bool have_avx2;

static void one_thread(void **state) {
    (void)state;
    if (!have_avx2) skip();
    support_golden_check("cpu", 1);
}

static void two_threads(void **state) {
    (void)state;
    if (!have_avx2 || getenv("LUDUS_GOLDEN_PRINT")) skip();
    support_golden_check("cpu", 2);
}

int main(void) {
    have_avx2 = support_golden_begin();
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_thread), cmocka_unit_test(two_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
