/* The tests of the Python package against this build's library, where build/python-package has what they
 * stand on
 * (`make python-packages`). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PYTHON LUDUS_SOURCE_DIR "/build/python-package/bin/python"

static void test_package(void **state) {
    (void)state;
    if (*SANITIZED) {
        print_message("skipped: an interpreter without sanitizers cannot load a library with them\n");
        skip();
    }
    if (system(PYTHON " -c 'import cffi, numpy, pytest' 2>/dev/null")) {
        print_message("skipped: " PYTHON " with cffi, numpy and pytest is not there: make python-packages\n");
        skip();
    }
    assert_int_equal(setenv("LUDUS_LIBRARY", LUDUS_BINARY_DIR "/libludus.so", 1), 0);
    assert_int_equal(setenv("PYTHONDONTWRITEBYTECODE", "1", 1), 0);
    assert_int_equal(system(PYTHON " -m pytest -q -rs -p no:cacheprovider --rootdir " LUDUS_SOURCE_DIR
                                   "/python " LUDUS_SOURCE_DIR "/python/tests"),
                     0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_package)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
