/* Two pieces of work at the same time (lud_device_run_both): the same bits as one behind the other, scratch
 * of their own, nested pairs, errors of either. */
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kernels/cpu/cpu.h"
#include "kernels/support_cases.h"
#include "module_abi.h"

static lud_device *open_cpu(int n_threads) {
    lud_device *device;
    lud_error error = {0};
    if (lud_device_open("cpu", n_threads, &device, &error) != LUD_OK) fail_msg("%s", error.text);
    ((lud_cpu *)device)->work_per_thread = 1; /* all threads, however small the work */
    return device;
}

/* Some cases of the table in a row, their results behind each other. */
typedef struct piece {
    int first, step;
    lud_device *ran_on;
    void *workspace;
    int n_threads;
    float *results;
    int64_t n;
} piece;

static void run_cases(lud_device *device, void *context) {
    piece *p = context;
    p->ran_on = device;
    p->n_threads = device->n_threads;
    p->n = 0;
    for (int i = p->first; i < n_kernel_cases; i += p->step) {
        case_layout l = case_layout_make(&kernel_cases[i], 2 + i % 4);
        int64_t n;
        float *results = case_run_f32(&kernel_cases[i], &l, device, &n);
        p->results = realloc(p->results, (size_t)(p->n + n + 1) * sizeof *results);
        memcpy(p->results + p->n, results, (size_t)n * sizeof *results);
        p->n += n;
        free(results);
        case_layout_free(&l);
    }
    p->workspace = device->workspace;
}

static void same(const piece *a, const piece *b) {
    assert_int_equal(a->n, b->n);
    assert_true(a->n > 1000);
    assert_memory_equal(a->results, b->results, (size_t)a->n * sizeof *a->results);
}

/* Every operation in the one piece beside every other in the other. */
static void test_both_halves(void **state) {
    (void)state;
    lud_device *one = open_cpu(1);
    piece expected[2] = {{.first = 0, .step = 2}, {.first = 1, .step = 2}};
    lud_device_run_both(one, run_cases, &expected[0], run_cases, &expected[1]);
    assert_ptr_equal(expected[0].ran_on, one);
    assert_ptr_equal(expected[1].ran_on, one); /* one behind the other */
    for (int n_threads = 2; n_threads <= 5; n_threads++) {
        lud_device *device = open_cpu(n_threads);
        for (int again = 0; again < 2; again++) { /* with workspaces that have grown */
            piece p[2] = {{.first = 0, .step = 2}, {.first = 1, .step = 2}};
            lud_device_run_both(device, run_cases, &p[0], run_cases, &p[1]);
            assert_ptr_not_equal(p[0].ran_on, p[1].ran_on);
            assert_ptr_not_equal(p[0].workspace, p[1].workspace);
            assert_int_equal(p[0].n_threads + p[1].n_threads, n_threads);
            assert_true(p[1].n_threads >= 1 && p[0].n_threads >= p[1].n_threads);
            assert_int_equal(device->n_threads, n_threads);
            for (int k = 0; k < 2; k++) {
                same(&expected[k], &p[k]);
                free(p[k].results);
            }
        }
        /* what ran as a half before runs as a whole afterwards */
        piece whole = {.first = 0, .step = 2};
        run_cases(device, &whole);
        same(&expected[0], &whole);
        free(whole.results);
        lud_device_close(device);
    }
    for (int k = 0; k < 2; k++) free(expected[k].results);
    lud_device_close(one);
}

/* The pair that a piece runs on the device it was handed. */
static void run_pair(lud_device *device, void *context) {
    piece *p = context;
    lud_device_run_both(device, run_cases, &p[0], run_cases, &p[1]);
}

static void test_nested_pairs(void **state) {
    (void)state;
    enum { N = 4 };
    lud_device *one = open_cpu(1);
    piece expected[N];
    for (int k = 0; k < N; k++) {
        expected[k] = (piece){.first = k, .step = N};
        run_cases(one, &expected[k]);
    }
    lud_device_close(one);
    for (int n_threads = 1; n_threads <= 8; n_threads++) {
        lud_device *device = open_cpu(n_threads);
        piece p[N];
        for (int k = 0; k < N; k++) p[k] = (piece){.first = k, .step = N};
        lud_device_run_both(device, run_pair, &p[0], run_pair, &p[2]);
        for (int k = 0; k < N; k++) same(&expected[k], &p[k]);
        /* with four threads all four pieces run at once */
        for (int k = 0; k < N && n_threads >= 4; k++)
            for (int other = 0; other < k; other++) {
                assert_ptr_not_equal(p[k].ran_on, p[other].ran_on);
                assert_ptr_not_equal(p[k].workspace, p[other].workspace);
            }
        for (int k = 0; k < N; k++) free(p[k].results);
        assert_int_equal(device->n_threads, n_threads);
        lud_device_close(device);
    }
    for (int k = 0; k < N; k++) free(expected[k].results);
}

/* Sleeps longer than anybody looks for the other, then counts. */
static void sleep_and_count(lud_device *device, void *count) {
    (void)device;
    const struct timespec while_asleep = {.tv_nsec = 3000000};
    nanosleep(&while_asleep, NULL);
    ++*(int *)count;
}
static void count_at_once(lud_device *device, void *count) {
    (void)device;
    ++*(int *)count;
}

static void test_waiting(void **state) {
    (void)state;
    enum { TIMES = 20 };
    static const lud_device_work works[2] = {sleep_and_count, count_at_once};
    lud_device *device = open_cpu(2);
    int counts[2] = {0};
    for (int i = 0; i < TIMES; i++) {
        lud_device_run_both(device, works[i & 1], &counts[0], works[i >> 1 & 1], &counts[1]);
        assert_int_equal(counts[0], i + 1);
        assert_int_equal(counts[1], i + 1);
        if (i % 5 == 0) sleep_and_count(device, &(int){0}); /* the second thread falls asleep between two */
    }
    lud_device_close(device);
}

/* Nothing keeps the one piece from running because the other failed; each tells by its context. */
typedef struct attempt {
    bool fails;
    lud_status status;
    lud_error error;
    int runs;
} attempt;

static void try_something(lud_device *device, void *context) {
    attempt *a = context;
    (void)device;
    lud_device *other;
    a->runs++;
    a->status = lud_device_open(a->fails ? "abacus" : "cpu", 1, &other, &a->error);
    if (!a->status) lud_device_close(other);
}

static void test_errors_of_either(void **state) {
    (void)state;
    for (int n_threads = 1; n_threads <= 3; n_threads++)
        for (int fails = 0; fails < 4; fails++) {
            lud_device *device = open_cpu(n_threads);
            attempt a[2] = {{.fails = fails & 1}, {.fails = fails & 2}};
            lud_device_run_both(device, try_something, &a[0], try_something, &a[1]);
            for (int k = 0; k < 2; k++) {
                assert_int_equal(a[k].runs, 1);
                assert_int_equal(a[k].status, a[k].fails ? LUD_ERROR_INPUT : LUD_OK);
                assert_int_equal(strstr(a[k].error.text, "abacus") != NULL, a[k].fails);
            }
            lud_device_close(device);
        }
}

/* What a thread has set for its own parallel regions and its arithmetic is as before after every operation,
 * and after pairs; with products in both precisions. */
static void test_settings_stay(void **state) {
    (void)state;
    enum { SIDE = 160 }; /* products too large for panels, and large enough to be rounded */
    lud_device *device = open_cpu(4);
    float *x = lud_device_allocate(device, 2 * SIDE * SIDE * sizeof *x);
    assert_non_null(x);
    omp_set_num_threads(3);
    const int levels = omp_get_max_active_levels();
    const unsigned subnormals = lud_cpu_flush_subnormals();
    lud_cpu_restore_subnormals(subnormals);
    for (int precision = 0; precision < 2; precision++) {
        lud_device_set_precision(device, precision ? LUD_PRECISION_BF16 : LUD_PRECISION_F32);
        for (int i = 0; i < n_kernel_cases; i++)
            for (int size = 2; size < 6; size++) {
                case_layout l = case_layout_make(&kernel_cases[i], size);
                int64_t n;
                free(case_run_f32(&kernel_cases[i], &l, device, &n));
                case_layout_free(&l);
                if (omp_get_max_threads() != 3) fail_msg("%s sets the threads", kernel_cases[i].name);
            }
        device->ops->matmul(device, false, true, SIDE, SIDE, SIDE, 1, x, SIDE, x, SIDE, 0, x + SIDE * SIDE,
                            SIDE);
        assert_int_equal(omp_get_max_threads(), 3);
    }
    piece p[4] = {
        {.first = 0, .step = 8}, {.first = 1, .step = 8}, {.first = 2, .step = 8}, {.first = 3, .step = 8}};
    lud_device_run_both(device, run_pair, &p[0], run_pair, &p[2]);
    for (int k = 0; k < 4; k++) free(p[k].results);
    assert_int_equal(omp_get_max_threads(), 3);
    assert_int_equal(omp_get_max_active_levels(), levels);
    const unsigned after = lud_cpu_flush_subnormals(), flags = 0x3f; /* what happened meanwhile */
    lud_cpu_restore_subnormals(subnormals);
    assert_int_equal(after & ~flags, subnormals & ~flags);
    lud_device_release(device, x);
    lud_device_close(device);
}

/* A module of another build has other types behind the same names. */
static void test_module_of_another_build(void **state) {
    (void)state;
    const char *module = LUDUS_BINARY_DIR "/other_module.so";
    lud_device *device;
    lud_error error = {0};
    setenv("LUDUS_CUDA_MODULE", module, 1);
    assert_int_equal(lud_device_open("cuda", 1, &device, &error), LUD_ERROR_UNSUPPORTED);
    assert_null(device);
    char expected[512];
    snprintf(expected, sizeof expected, "%s is of another build: its ABI number is %08x, expected %08x",
             module, LUD_MODULE_ABI + 1, LUD_MODULE_ABI);
    assert_string_equal(error.text, expected);
    unsetenv("LUDUS_CUDA_MODULE");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_module_of_another_build),
                                       cmocka_unit_test(test_settings_stay),
                                       cmocka_unit_test(test_both_halves),
                                       cmocka_unit_test(test_nested_pairs),
                                       cmocka_unit_test(test_waiting),
                                       cmocka_unit_test(test_errors_of_either)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
