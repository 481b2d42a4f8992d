/* Products and convolutions large enough to be cut: against the definition, the same bytes for any number of
 * threads without strict; uniform numbers stay below the end of their range. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/products.h"
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
                 {false, true, 1, 64, 3000, 1},
                 {false, true, 230, 300, 512, 0}, /* two tiles of few rows; six, the last smaller */
                 {false, false, 1297, 512, 100, 1}};
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

static float nearest_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Both factors rounded and nothing else, in all forms, with rows that are no multiple of anything; what lies
 * between rows stays. The same bytes for any number of threads, and for a row by itself. `set`: the
 * instruction set, null for the processor's own. */
static void check_bf16(const char *set) {
    static const struct {
        bool transpose_a, transpose_b;
        int64_t m, n, k;
        double alpha, beta;
    } cases[] = {
        {false, true, 403, 130, 190, 1, 0},  {false, false, 300, 70, 1130, 1, 1},
        {true, false, 133, 145, 2117, 1, 1}, {true, true, 131, 1100, 70, 1, 0},
        {false, true, 1, 64, 3000, 1, 1},    {false, true, 40, 200, 100, 0.5, 0.25},
        {false, true, 129, 193, 190, 1, 0},  {true, false, 65, 257, 1025, 1, 0}, /* one more than blocks */
        {false, true, 100, 64, 96, 1, 0}}; /* few weights: not rounded */
    enum { PAD = 5 };
    if (set) setenv("LUDUS_CPU", set, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const int64_t m = cases[i].m, n = cases[i].n, k = cases[i].k;
        const bool ta = cases[i].transpose_a, tb = cases[i].transpose_b,
                   narrow = (ta ? m * n : n * k) < LUD_CPU_FEW_WEIGHTS;
        const int64_t lda = (ta ? m : k) + PAD, ldb = (tb ? k : n) + PAD, ldc = n + PAD;
        float *first = NULL;
        for (int n_threads = 1; n_threads <= 3; ++n_threads) {
            lud_device *device = open_cpu(n_threads);
            lud_device_set_precision(device, LUD_PRECISION_BF16);
            float *a = numbers(device, (ta ? k : m) * lda, 1), *b = numbers(device, (tb ? n : k) * ldb, 2);
            float *c = numbers(device, m * ldc, 3), *before = numbers(device, m * ldc, 3);
            device->ops->matmul(device, ta, tb, m, n, k, cases[i].alpha, a, lda, b, ldb, cases[i].beta, c,
                                ldc);
            for (int64_t at = 0; at < m * ldc; at += n_threads == 1 ? 7 : m * ldc) {
                const int64_t row = at / ldc, column = at % ldc;
                double sum = 0;
                for (int64_t l = 0; l < k && column < n; ++l) {
                    const float x = a[ta ? l * lda + row : row * lda + l],
                                y = b[tb ? column * ldb + l : l * ldb + column];
                    sum += (double)(narrow ? x : nearest_bf16(x)) * (double)(narrow ? y : nearest_bf16(y));
                }
                const double was = (double)before[at];
                if (column >= n)
                    assert_true((double)c[at] == was);
                else
                    assert_true(fabs((double)c[at] - cases[i].alpha * sum - cases[i].beta * was) <
                                1e-6 * sqrt((double)k));
            }
            if (!first) {
                first = malloc((size_t)(m * ldc) * sizeof *first);
                assert_non_null(first);
                memcpy(first, c, (size_t)(m * ldc) * sizeof *first);
            }
            assert_memory_equal(first, c, (size_t)(m * ldc) * sizeof *c);
            if (!ta && !narrow) { /* the last row alone */
                const int64_t last = m - 1;
                memcpy(c + last * ldc, before + last * ldc, (size_t)n * sizeof *c);
                device->ops->matmul(device, ta, tb, 1, n, k, cases[i].alpha, a + last * lda, lda, b, ldb,
                                    cases[i].beta, c + last * ldc, ldc);
                for (int64_t j = 0; j < n; ++j)
                    assert_true(fabsf(first[last * ldc + j] - c[last * ldc + j]) < 1e-5F * sqrtf((float)k));
            }
            float *const all[] = {a, b, c, before};
            for (int p = 0; p < 4; ++p) lud_device_release(device, all[p]);
            lud_device_close(device);
        }
        free(first);
    }
    if (set) unsetenv("LUDUS_CPU");
}

static void test_bf16(void **state) {
    (void)state;
    check_bf16(NULL);
    check_bf16("avx2");
    check_bf16("plain");
}

/* The gradients of a layer, whose first factor is rounded once for both, are the two products. */
static void test_bf16_layer(void **state) {
    (void)state;
    enum { ROWS = 1501, IN = 130, OUT = 190 };
    for (int add = 0; add < 2; ++add)
        for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
            lud_device *device = open_cpu(n_threads);
            lud_device_set_precision(device, LUD_PRECISION_BF16);
            float *g = numbers(device, ROWS * OUT, 1), *x = numbers(device, ROWS * IN, 2);
            float *w = numbers(device, OUT * IN, 3), *z = numbers(device, ROWS * OUT, 4);
            float *dx = numbers(device, ROWS * IN, 5), *dw = numbers(device, OUT * IN, 6);
            float *dx_too = numbers(device, ROWS * IN, 5), *dw_too = numbers(device, OUT * IN, 6);
            const lud_map identity = {LUD_MAP_IDENTITY, 0, 0};
            device->ops->linear_backward(device, identity, ROWS, IN, OUT, x, w, z, z, g, z, dx, add, dw,
                                         NULL);
            device->ops->matmul(device, false, false, ROWS, IN, OUT, 1, g, OUT, w, IN, add, dx_too, IN);
            device->ops->matmul(device, true, false, OUT, IN, ROWS, 1, g, OUT, x, IN, 1, dw_too, IN);
            for (int64_t i = 0; i < ROWS * IN; ++i) assert_true(fabsf(dx[i] - dx_too[i]) < 1e-5F);
            for (int64_t i = 0; i < OUT * IN; ++i) assert_true(fabsf(dw[i] - dw_too[i]) < 1e-4F);
            float *const all[] = {g, x, w, z, dx, dw, dx_too, dw_too};
            for (int i = 0; i < 8; ++i) lud_device_release(device, all[i]);
            lud_device_close(device);
        }
}

/* A product of one precision behind that of the other, shapes that come back, and the largest and smallest
 * numbers. */
static void test_bf16_again(void **state) {
    (void)state;
    enum { M = 64, N = 128, K = 128 };
    lud_device *device = open_cpu(2);
    float *a = numbers(device, M * K, 1), *b = numbers(device, N * K, 2), *c = numbers(device, M * N, 3);
    float *exact = numbers(device, M * N, 3), *rounded = numbers(device, M * N, 3);
    for (int i = 0; i < 3; ++i) {
        lud_device_set_precision(device, i % 2 ? LUD_PRECISION_BF16 : LUD_PRECISION_F32);
        device->ops->matmul(device, false, true, M, N, K, 1, a, K, b, K, 0, c, N);
        if (i < 2) memcpy(i ? rounded : exact, c, M * N * sizeof *c);
    }
    assert_memory_equal(c, exact, M * N * sizeof *c);
    double most = 0;
    for (int i = 0; i < M * N; ++i) most = fmax(most, fabs((double)exact[i] - (double)rounded[i]));
    assert_true(most > 1e-4 && most < 0.1);
    lud_device_set_precision(device, LUD_PRECISION_BF16);
    memset(b, 0, N * K * sizeof *b);
    for (int j = 0; j < N; ++j) b[j * K + j] = 1; /* what a itself becomes */
    const float special[] = {0, -0.0F, 3.3895314e38F, 1.0039062F, 1.0117188F, 1e-30F};
    const float become[] = {0, 0.0F, 3.3895314e38F, 1.0F, 1.015625F};
    memset(a, 0, M * K * sizeof *a);
    for (int i = 1; i < 6; ++i) a[i * K + i] = special[i];
    device->ops->matmul(device, false, true, M, N, K, 1, a, K, b, K, 0, c, N);
    for (int i = 1; i < 5; ++i) assert_true(c[i * N + i] == become[i]);
    assert_true(fabsf(c[5 * N + 5] / 1e-30F - 1) < 0.004F);
    a[0] = NAN;
    device->ops->matmul(device, false, true, M, N, K, 1, a, K, b, K, 0, c, N);
    assert_true(isnan(c[0]));
    float *const all[] = {a, b, c, exact, rounded};
    for (int i = 0; i < 5; ++i) lud_device_release(device, all[i]);
    lud_device_close(device);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),     cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_bf16_layer),   cmocka_unit_test(test_bf16_again),
        cmocka_unit_test(test_convolutions), cmocka_unit_test(test_uniform_range)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
