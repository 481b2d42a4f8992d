/* Windows over recorded episodes on CUDA: on a GPU where there is one, and in any case as
 * `test_cuda_windows_emulated`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "learn/episodes/support_windows.h"

static lud_device *cuda;

static int open_device(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_device_open("cuda", 0, &cuda, &error) == LUD_OK) return 0;
    print_message("no CUDA: %s\n", error.text);
    cuda = NULL;
    /* asked for and not there is a failure, not a reason to skip */
    return getenv("LUDUS_CUDA_MODULE") ? -1 : 0;
}

static int close_device(void **state) {
    (void)state;
    lud_device_close(cuda);
    return 0;
}

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
