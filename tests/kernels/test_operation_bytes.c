/* Every operation, forward and backward, gives the known bytes: sums are made in the same order as they were
 * when the values in support_operation_values.h were taken. Sizes lie around vectors, registers and blocks.
 * A change that shall change the order of a sum takes the values anew: LUDUS_GOLDEN_PRINT=1 prints rows for
 * that table. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "held_to_avx2.h"
#include "kernels/support_cases.h"
#include "kernels/support_operation_values.h"

/* rows, a, b and c of a case, from which it may deviate */
static const int64_t sizes[][4] = {{1, 1, 1, 1},     {3, 8, 4, 2},      {9, 7, 5, 3},      {16, 16, 16, 4},
                                   {17, 33, 6, 5},   {40, 24, 9, 8},    {64, 12, 32, 1},   {5, 65, 17, 9},
                                   {130, 10, 3, 2},  {33, 40, 20, 7},   {2, 128, 64, 8},   {32, 64, 64, 4},
                                   {70, 200, 31, 9}, {257, 129, 40, 5}, {200, 48, 100, 1}, {150, 14, 14, 2},
                                   {160, 30, 7, 3},  {90, 62, 6, 2}};
enum { SIZES = sizeof sizes / sizeof *sizes };

static uint64_t hash_of(const kernel_case *c, lud_device *device, bool in_double) {
    uint64_t hash = 0;
    for (int k = 0; k < SIZES; k++) {
        case_layout l = case_layout_sized(c, sizes[k][0], sizes[k][1], sizes[k][2], sizes[k][3]);
        int64_t n;
        void *results = in_double ? (void *)case_run_f64(c, &l, device, 0, -1, 0, &n)
                                  : (void *)case_run_f32(c, &l, device, &n);
        hash = XXH3_64bits_withSeed(results, (size_t)n * (in_double ? sizeof(double) : sizeof(float)), hash);
        free(results);
        case_layout_free(&l);
    }
    return hash;
}

static uint64_t hash_with(const kernel_case *c, const char *set, bool in_double) {
    setenv("LUDUS_CPU", set, 1);
    lud_device *device;
    lud_error error = {0};
    if (lud_device_open("cpu", 1, &device, &error)) fail_msg("%s", error.text);
    const uint64_t hash = hash_of(c, device, in_double);
    lud_device_close(device);
    return hash;
}

static void bytes_are_known(void **state) {
    const kernel_case *c = *state;
    const uint64_t found[] = {hash_with(c, "plain", false), hash_with(c, "avx2", false),
                              hash_with(c, "plain", true)};
    size_t k = 0;
    while (k < sizeof values / sizeof *values && strcmp(values[k].name, c->name) != 0) k++;
    const bool same = k < sizeof values / sizeof *values && !memcmp(values[k].hash, found, sizeof found);
    const bool prints = getenv("LUDUS_GOLDEN_PRINT");
    if (!same || prints)
        printf("{\"%s\", {0x%016" PRIx64 ", 0x%016" PRIx64 ", 0x%016" PRIx64 "}},\n", c->name, found[0],
               found[1], found[2]);
    if (!same && !prints) fail_msg("%s has other bytes than are known", c->name);
}

/* What keeps these bytes from being made here; null: nothing. */
static const char *why_not(void) {
#if __GNUC__ == 12 && !defined(__clang__) && defined(NDEBUG)
    return held_to_avx2();
#else /* sums over a vector's lanes are put into the order that the compiler finds best */
    return "the values are those of a release build by GCC 12";
#endif
}

static void none_here(void **state) {
    (void)state;
    print_message("%s\n", why_not());
    skip();
}

int main(void) {
    if (why_not()) {
        const struct CMUnitTest none[] = {cmocka_unit_test(none_here)};
        return cmocka_run_group_tests(none, NULL, NULL);
    }
    struct CMUnitTest *tests = calloc((size_t)n_kernel_cases, sizeof *tests);
    if (!tests) return 1;
    for (int i = 0; i < n_kernel_cases; i++)
        tests[i] = (struct CMUnitTest){kernel_cases[i].name, bytes_are_known, NULL, NULL,
                                       (void *)(uintptr_t)&kernel_cases[i]};
    const int failed =
        _cmocka_run_group_tests("bytes of operations", tests, (size_t)n_kernel_cases, NULL, NULL);
    free(tests);
    return failed;
}
