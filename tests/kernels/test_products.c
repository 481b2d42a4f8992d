/* Products and convolutions large enough to be cut: against the definition, the same bytes for any number of
 * threads without strict; uniform numbers stay below the end of their range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/cpu.h"
#include "kernels/device.h"

static lud_device *open_cpu(int n_threads) {
    lud_device *device;
    lud_error error = {0};
    if (lud_device_open("cpu", n_threads, &device, &error) != LUD_OK) fail_msg("%s", error.text);
    ((lud_cpu *)device)->work_per_thread = 1;
    return device;
}

static float *numbers(lud_device *device, int64_t n, uint32_t stream) {
    float *x = lud_device_allocate(device, (size_t)n * sizeof *x);
    assert_non_null(x);
    device->ops->random_uniform(device, n, 5, stream, 0, -1, 1, x);
    return x;
}

/* Many tiles; few tiles with a long sum; with and without transposition and a term added. */
static void test_products(void **state) {
    (void)state;
    static const struct {
        bool transpose_a, transpose_b;
        int64_t m, n, k;
        double beta;
    } cases[] = {{false, true, 1500, 67, 190, 0},
                 {true, false, 33, 45, 5000, 1},
                 {false, false, 300, 700, 130, 0.5},
                 {true, true, 70, 1100, 2100, 0},
                 {false, true, 1, 64, 3000, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int64_t m = cases[i].m, n = cases[i].n, k = cases[i].k;
        bool ta = cases[i].transpose_a, tb = cases[i].transpose_b;
        float *first = NULL;
        for (int n_threads = 1; n_threads <= 4; ++n_threads) {
            lud_device *device = open_cpu(n_threads);
            float *a = numbers(device, m * k, 1), *b = numbers(device, n * k, 2),
                  *c = numbers(device, m * n, 3);
            float *before = numbers(device, m * n, 3);
            device->ops->matmul(device, ta, tb, m, n, k, 2, a, ta ? m : k, b, tb ? k : n, cases[i].beta, c,
                                n);
            for (int64_t at = 0; at < m * n; at += n_threads == 1 ? 97 : m * n) {
                double sum = 0;
                for (int64_t l = 0; l < k; ++l)
                    sum += (double)a[ta ? l * m + at / n : at / n * k + l] *
                           (double)b[tb ? at % n * k + l : l * n + at % n];
                double expected = 2 * sum + cases[i].beta * (double)before[at];
                assert_true(fabs((double)c[at] - expected) < 1e-5 * sqrt((double)k));
            }
            if (!first) {
                first = malloc((size_t)(m * n) * sizeof *first);
                assert_non_null(first);
                memcpy(first, c, (size_t)(m * n) * sizeof *first);
            }
            assert_memory_equal(first, c, (size_t)(m * n) * sizeof *c);
            lud_device_release(device, a);
            lud_device_release(device, b);
            lud_device_release(device, c);
            lud_device_release(device, before);
            lud_device_close(device);
        }
        free(first);
    }
}

/* 300 images: several pieces and a rest. Twice, so that kept primitives are used again. */
static void test_convolutions(void **state) {
    (void)state;
    const lud_map relu = {LUD_MAP_RELU, 0, 0};
    const lud_conv s = {300, 16, 7, 7, 24, 3, 1, 1};
    const int64_t x_size = s.n * s.channels_in * 49, y_size = s.n * s.channels_out * 49, w_size = 24 * 16 * 9;
    float *first = NULL;
    const size_t bytes = (size_t)(y_size + x_size + w_size) * sizeof *first;
    for (int n_threads = 1; n_threads <= 4; ++n_threads) {
        lud_device *device = open_cpu(n_threads);
        float *x = numbers(device, x_size, 1), *w = numbers(device, w_size, 2), *b = numbers(device, 24, 3);
        float *dy = numbers(device, y_size, 4), *db = numbers(device, 24, 5),
              *dz = numbers(device, y_size, 6);
        float *result = numbers(device, y_size + x_size + w_size, 7);
        for (int run = 0; run < 2; ++run) {
            device->ops->fill(device, x_size + w_size, 0.5, result + y_size);
            device->ops->conv2d(device, relu, &s, x, w, b, 0, result);
            device->ops->conv2d_backward(device, relu, &s, x, w, 0, result, dy, dz, result + y_size, true,
                                         result + y_size + x_size, db);
            if (!first) {
                first = malloc(bytes);
                assert_non_null(first);
                memcpy(first, result, bytes);
            }
            assert_memory_equal(first, result, bytes);
        }
        /* one weight's gradient by the definition */
        double sum = 0.5;
        for (int64_t i = 0; i < s.n; ++i)
            for (int64_t r = 0; r < 7; ++r)
                for (int64_t q = 0; q < 7; ++q)
                    if (r > 0 && q < 6) /* tap (0, 2) of channel 5 to 9 */
                        sum += (double)x[(i * 16 + 5) * 49 + (r - 1) * 7 + q + 1] *
                               (double)dz[(i * 24 + 9) * 49 + r * 7 + q];
        assert_true(fabs(sum - (double)result[y_size + x_size + (9 * 16 + 5) * 9 + 2]) < 2e-3);
        float *const all[] = {x, w, b, dy, db, dz, result};
        for (size_t i = 0; i < sizeof all / sizeof *all; ++i) lud_device_release(device, all[i]);
        lud_device_close(device);
    }
    free(first);
}

static void test_uniform_range(void **state) {
    (void)state;
    enum { N = 1 << 20 };
    lud_device *device = open_cpu(1);
    float *x = numbers(device, N, 1);
    static const double ranges[][2] = {
        {16777215, 16777216}, {-1e-3, 0}, {1, 1.0000001}, {-3, 1e30}, {0, 0.1}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i) {
        device->ops->random_uniform(device, N, 5, 1, 0, ranges[i][0], ranges[i][1], x);
        for (int j = 0; j < N; ++j) assert_true((double)x[j] < ranges[i][1] && x[j] >= (float)ranges[i][0]);
    }
    device->ops->random_uniform(device, 8, 5, 1, 0, 2, 2, x);
    assert_true(x[0] == 2 && x[7] == 2);
    lud_device_release(device, x);
    lud_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_products), cmocka_unit_test(test_convolutions),
                                       cmocka_unit_test(test_uniform_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
