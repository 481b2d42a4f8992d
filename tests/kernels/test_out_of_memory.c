/* Memory that runs out inside operations: they return nothing, so the device says it (lud_device_check). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <omp.h>

#include "kernels/cpu/cpu.h"
#include "kernels/support_cases.h"
#include "out_of_memory.h"

static lud_device *open_cpu(int n_threads) {
    lud_device *device;
    lud_error error = {0};
    if (lud_device_open("cpu", n_threads, &device, &error) != LUD_OK) fail_msg("%s", error.text);
    ((lud_cpu *)device)->work_per_thread = 1; /* all threads, however small the work */
    return device;
}

static void around(bool begins) {
    begins ? out_of_memory_resume() : out_of_memory_pause();
}

/* Every operation and its gradient, each on a device that has no scratch yet. */
static lud_status operations(const void *argument, uint64_t *result, lud_error *error) {
    (void)argument;
    lud_status status = LUD_OK;
    out_of_memory_pause();
    case_around = around;
    for (int i = 0; i < n_kernel_cases && !status; i++) {
        case_layout l = case_layout_make(&kernel_cases[i], 2);
        lud_device *device = open_cpu(1);
        int64_t n;
        float *results = case_run_f32(&kernel_cases[i], &l, device, &n);
        status = lud_device_check(device, error);
        out_of_memory_hash(result, results, (size_t)n * sizeof *results);
        free(results);
        lud_device_close(device);
        case_layout_free(&l);
    }
    case_around = NULL;
    out_of_memory_resume();
    return status;
}

static void test_operations(void **state) {
    (void)state;
    out_of_memory_test("operations", operations, NULL);
}

/* Products that are cut: into tiles, and into pieces of long sums; with rounded factors. */
static lud_status products(const void *argument, uint64_t *result, lud_error *error) {
    enum { ROWS = 300, INNER = 130, COLUMNS = 170, LONG = 2100, MOST = LONG * COLUMNS };
    const lud_precision precision = *(const lud_precision *)argument;
    const lud_map plain = {LUD_MAP_IDENTITY, 0, 0};
    out_of_memory_pause();
    lud_device *device = open_cpu(2);
    lud_device_set_precision(device, precision);
    float *x[4];
    for (uint32_t i = 0; i < 4; i++) {
        x[i] = lud_device_allocate(device, MOST * sizeof **x);
        assert_non_null(x[i]);
        device->ops->random_uniform(device, MOST, 5, i, 0, -1, 1, x[i]);
    }
    out_of_memory_resume();
    const lud_ops *ops = device->ops;
    ops->matmul(device, false, false, ROWS, COLUMNS, INNER, 1, x[0], INNER, x[1], COLUMNS, 0, x[2], COLUMNS);
    ops->matmul(device, true, false, INNER, COLUMNS, LONG, 1, x[0], INNER, x[1], COLUMNS, 0.5, x[3], COLUMNS);
    ops->linear(device, plain, ROWS, INNER, COLUMNS, x[0], x[1], NULL, NULL, x[2]);
    ops->linear_backward(device, plain, ROWS, INNER, COLUMNS, x[0], x[1], NULL, NULL, x[2], NULL, x[3], false,
                         x[3] + ROWS * INNER, NULL);
    out_of_memory_pause();
    const lud_status status = lud_device_check(device, error);
    for (int i = 2; i < 4; i++) out_of_memory_hash(result, x[i], MOST * sizeof **x);
    for (int i = 0; i < 4; i++) lud_device_release(device, x[i]);
    lud_device_close(device);
    out_of_memory_resume();
    return status;
}

static void test_products(void **state) {
    (void)state;
    out_of_memory_test("products", products, &(lud_precision){LUD_PRECISION_F32});
    out_of_memory_test("products with rounded factors", products, &(lud_precision){LUD_PRECISION_BF16});
}

/* What fails in either of two pieces of work is known to the device that ran both. */
static void fill_or_sum(lud_device *device, void *context) {
    float *x = context;
    if (x) device->ops->sum(device, 8192, x, x, false);
}

static lud_status pairs(const void *argument, uint64_t *result, lud_error *error) {
    const bool second = *(const bool *)argument;
    out_of_memory_pause();
    lud_device *device = open_cpu(2);
    float *x = lud_device_allocate(device, 8192 * sizeof *x);
    assert_non_null(x);
    device->ops->fill(device, 8192, 1, x);
    lud_device_run_both(device, fill_or_sum, NULL, fill_or_sum,
                        NULL); /* the second device is made and kept */
    out_of_memory_resume();
    lud_device_run_both(device, fill_or_sum, second ? NULL : x, fill_or_sum, second ? x : NULL);
    out_of_memory_pause();
    const lud_status status = lud_device_check(device, error);
    out_of_memory_hash(result, x, 8192 * sizeof *x);
    lud_device_release(device, x);
    lud_device_close(device);
    out_of_memory_resume();
    return status;
}

static void test_pairs(void **state) {
    (void)state;
    out_of_memory_test("the first of a pair", pairs, &(bool){false});
    out_of_memory_test("the second of a pair", pairs, &(bool){true});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operations), cmocka_unit_test(test_products),
                                       cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
