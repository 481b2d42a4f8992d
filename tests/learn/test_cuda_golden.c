/* The same on CUDA as tests/emulation computes it: `test_cuda_golden_emulated`. A GPU has last bits of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "learn/support_golden.h"

static bool is_possible;

static void emulated(void **state) {
    (void)state;
    if (!is_possible) skip();
    support_golden_check("cuda", 1);
}

int main(void) {
    is_possible = getenv("LUDUS_CUDA_MODULE") && support_golden_begin();
    const struct CMUnitTest tests[] = {cmocka_unit_test(emulated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
