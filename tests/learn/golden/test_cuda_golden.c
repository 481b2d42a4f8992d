/* The same on CUDA as tests/emulation computes it: `test_cuda_golden_emulated`. A GPU has last bits of its
 * own. */
#include <stdlib.h>

#include "learn/golden/support_golden.h"

int main(void) {
    static struct CMUnitTest tests[SUPPORT_GOLDEN_TESTS];
    const int n = support_golden_tests(getenv("LUDUS_CUDA_MODULE") ? "cuda" : NULL, 1, tests);
    return _cmocka_run_group_tests("golden bytes on CUDA", tests, (size_t)n, NULL, NULL);
}
