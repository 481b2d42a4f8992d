/* Windows over recorded episodes on CUDA: on a GPU where there is one, and in any case as
 * `test_cuda_windows_emulated`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cuda_device.h"
#include "learn/episodes/support_windows.h"

static void test_edges(void **state) {
    (void)state;
    if (!cuda) skip();
    windows_check_edges(cuda);
}

static void test_against_loop(void **state) {
    (void)state;
    if (!cuda) skip();
    windows_check_against_loop(cuda);
}

static void test_happened(void **state) {
    (void)state;
    if (!cuda) skip();
    windows_check_happened(cuda);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_against_loop),
        cmocka_unit_test(test_happened),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
