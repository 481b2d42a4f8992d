/* Row i of a batch is the same row alone: outputs and gradients of rows, for every operation that works on
 * rows, on every instruction set. Where sums of products run in another order for few rows the two agree
 * within 1e-6 of the row's largest number, else in every bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "kernels/support_cases.h"

/* These work on a whole array: their draws go by the place in it, their results are totals, rows are steps of
 * one episode, or go to places of their own. */
static bool works_on_rows(const char *name) {
    static const char *const others[] = {"dropout",    "randoms", "scatter",    "windows",
                                         "statistics", "popart",  "optimisers", "quantised"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strcmp(name, others[i]) == 0) return false;
    return true;
}

static void check_all(const char *set) {
    /* widths around a register's, products of panels and of the library, few rows and many */
    static const int64_t sizes[][4] = {{1, 7, 5, 3},   {2, 33, 19, 4},    {3, 1, 2, 1},    {3, 64, 64, 2},
                                       {4, 16, 48, 2}, {5, 41, 17, 5},    {17, 13, 64, 3}, {40, 5, 3, 9},
                                       {300, 3, 2, 1}, {270, 130, 110, 1}};
    lud_device *device = open_set_of(set, 2);
    for (int i = 0; i < n_kernel_cases; ++i) {
        const kernel_case *c = &kernel_cases[i];
        int64_t n = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            case_layout l = case_layout_sized(c, sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3]);
            n += case_check_rows(c, &l, device);
            case_layout_free(&l);
        }
        if ((n > 0) != works_on_rows(c->name)) fail_msg("%s: %ld numbers of rows compared", c->name, (long)n);
    }
    lud_device_close(device);
}

static void test_rows_plain(void **state) {
    (void)state;
    check_all("plain");
}
static void test_rows_avx2(void **state) {
    (void)state;
    check_all("avx2");
}
static void test_rows_avx512(void **state) {
    (void)state;
    check_all("avx512");
}

/* With rows apart a row of a layer has the same bits in any company, and is what the formula says. */
static void check_apart(const char *set) {
    enum { ROWS = 205, MOST = 600 };
    static const int64_t sizes[][2] = {{1, 1},    {7, 15},   {48, 24},   {64, 192}, {250, 512},
                                       {512, 67}, {600, 64}, {256, 130}, {257, 48}, {512, 512}};
    static const lud_map maps[] = {{LUD_MAP_IDENTITY, 0, 0}, {LUD_MAP_RELU, 0, 0}, {LUD_MAP_TANH, 0, 0}};
    static const int64_t parts[] = {1, 2, 3, 5, 95, 96, 97, 204};
    lud_device *device = open_set_of(set, 2);
    const lud_ops *ops = device->ops;
    float *x = lud_device_allocate(device, sizeof(float) * ROWS * MOST),
          *w = lud_device_allocate(device, sizeof(float) * MOST * MOST),
          *b = lud_device_allocate(device, sizeof(float) * MOST),
          *all = lud_device_allocate(device, sizeof(float) * ROWS * MOST),
          *some = lud_device_allocate(device, sizeof(float) * ROWS * MOST);
    assert_true(x && w && b && all && some);
    ops->random_uniform(device, ROWS * MOST, 5, 1, 0, -1, 1, x);
    ops->random_uniform(device, MOST * MOST, 5, 2, 0, -1, 1, w);
    ops->random_uniform(device, MOST, 5, 3, 0, -1, 1, b);
    lud_device_set_rows_apart(device, true);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
        for (size_t m = 0; m < sizeof maps / sizeof *maps; ++m) {
            const int64_t n_in = sizes[s][0], n_out = sizes[s][1];
            const float *bias = s % 3 == 2 ? NULL : b;
            ops->linear(device, maps[m], ROWS, n_in, n_out, x, w, bias, all, all);
            for (int64_t i = 0; i < ROWS; i += 51)
                for (int64_t j = 0; j < n_out; ++j) {
                    double sum = bias ? (double)bias[j] : 0.0;
                    for (int64_t l = 0; l < n_in; ++l)
                        sum += (double)x[i * n_in + l] * (double)w[j * n_in + l];
                    const double y = maps[m].kind == LUD_MAP_RELU   ? fmax(sum, 0.0)
                                     : maps[m].kind == LUD_MAP_TANH ? tanh(sum)
                                                                    : sum;
                    assert_true(fabs((double)all[i * n_out + j] - y) < 1e-5 * sqrt((double)n_in));
                }
            for (size_t p = 0; p < sizeof parts / sizeof *parts; ++p) {
                const int64_t n = parts[p], first = (ROWS - n) * (int64_t)p / 8;
                ops->linear(device, maps[m], n, n_in, n_out, x + first * n_in, w, bias, some, some);
                assert_memory_equal(some, all + first * n_out, sizeof(float) * (size_t)(n * n_out));
            }
            ops->matmul(device, false, true, ROWS, n_out, n_in, 1, x, n_in, w, n_in, 0, all, n_out);
            ops->matmul(device, false, true, 3, n_out, n_in, 1, x + 40 * n_in, n_in, w, n_in, 0, some, n_out);
            assert_memory_equal(some, all + 40 * n_out, sizeof(float) * (size_t)(3 * n_out));
        }
    float *const arrays[] = {x, w, b, all, some};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) lud_device_release(device, arrays[i]);
    lud_device_close(device);
}

static void test_rows_apart(void **state) {
    (void)state;
    check_apart("plain");
    check_apart("avx2");
    check_apart("avx512");
}

/* A long recurrence is cut in chunks, however many rows it has. */
static void test_rows_of_long_recurrences(void **state) {
    (void)state;
    enum { STEPS = 700, ROWS = 260, SIZE = 5, ROW = 2 * SIZE };
    lud_device *device = open_set_of("avx512", 2);
    const lud_ops *ops = device->ops;
    float *v = lud_device_allocate(device, sizeof(float) * STEPS * ROWS * ROW);
    float *h = lud_device_allocate(device, sizeof(float) * STEPS * ROWS * ROW);
    float *own = lud_device_allocate(device, sizeof(float) * STEPS * ROW);
    float *alone = lud_device_allocate(device, sizeof(float) * STEPS * ROW);
    float *rates = lud_device_allocate(device, sizeof(float) * 3 * SIZE);
    assert_true(v && h && own && alone && rates);
    ops->random_uniform(device, STEPS * ROWS * ROW, 5, 1, 0, -1, 1, v);
    ops->random_uniform(device, SIZE, 5, 2, 0, -6, -1, rates);
    ops->random_uniform(device, 2 * SIZE, 5, 3, 0, -1, 0, rates + SIZE);
    ops->lru(device, STEPS, ROWS, SIZE, rates, rates + SIZE, rates + 2 * SIZE, v, 0, 0, h);
    for (int64_t i = 0; i < ROWS; i += 37) {
        for (int64_t t = 0; t < STEPS; ++t)
            memcpy(own + t * ROW, v + (t * ROWS + i) * ROW, sizeof(float) * ROW);
        ops->lru(device, STEPS, 1, SIZE, rates, rates + SIZE, rates + 2 * SIZE, own, 0, 0, alone);
        for (int64_t t = 0; t < STEPS; ++t)
            assert_memory_equal(alone + t * ROW, h + (t * ROWS + i) * ROW, sizeof(float) * ROW);
    }
    float *const all[] = {v, h, own, alone, rates};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) lud_device_release(device, all[i]);
    lud_device_close(device);
}

/* Results of millions of numbers are written past the caches: they are those of parts, which are not. */
static void check_large(const char *set) {
    enum {
        LARGE = 1 << 21,
        STEPS = 64,
        WIDTH = 128,
        ROWS = LARGE / WIDTH,
        N = LARGE / STEPS,
        SIZE = 32,
        ROOM = LARGE / 4 * 5
    };
    lud_device *device = open_set_of(set, 2);
    const lud_ops *ops = device->ops;
    float *x[3], *whole[2], *parts[2], *ones = lud_device_allocate(device, sizeof(float) * ROOM);
    int32_t *index = lud_device_allocate(device, sizeof(int32_t) * ROWS);
    assert_true(ones && index);
    for (int i = 0; i < 3; ++i) {
        x[i] = lud_device_allocate(device, sizeof(float) * ROOM);
        assert_non_null(x[i]);
        ops->random_uniform(device, ROOM, 5, (uint32_t)i, 0, -1, 1, x[i]);
    }
    for (int i = 0; i < 2; ++i) {
        whole[i] = lud_device_allocate(device, sizeof(float) * ROOM);
        parts[i] = lud_device_allocate(device, sizeof(float) * ROOM);
        assert_true(whole[i] && parts[i]);
    }
    ops->fill(device, ROOM, 1, ones);

    const int64_t rows = 192, columns = LARGE / 8 / rows, block = rows * columns;
    ops->transpose(device, 9, rows, columns, x[0], whole[0]); /* more than LARGE with the ninth block */
    for (int64_t b = 0; b < 8; ++b)
        ops->transpose(device, 1, rows, columns, x[0] + b * block, parts[0] + b * block);
    assert_memory_equal(whole[0], parts[0], sizeof(float) * (size_t)(8 * block));

    for (int32_t i = 0; i < ROWS; ++i) index[i] = i % 7 == 0 ? -1 : (int32_t)((uint32_t)i * 7919u % ROWS);
    ops->gather_rows(device, ROWS, WIDTH, x[0], index, whole[0]);
    for (int64_t i = 0; i < ROWS; i += ROWS / 4)
        ops->gather_rows(device, ROWS / 4, WIDTH, x[0], index + i, parts[0] + i * WIDTH);
    assert_memory_equal(whole[0], parts[0], sizeof(float) * LARGE);

    /* a mask of ones asks for the general way */
    ops->gae(device, STEPS, N, 0.99, 0.95, x[0], x[1], ones, 0, whole[0], whole[1]);
    ops->gae(device, STEPS, N, 0.99, 0.95, x[0], x[1], ones, ones, parts[0], parts[1]);
    for (int i = 0; i < 2; ++i) assert_memory_equal(whole[i], parts[i], sizeof(float) * LARGE);

    const int64_t n = N / 2 / SIZE, step = N;
    for (int64_t i = 0; i < STEPS * n; i += 5) ones[i] = 0;
    ops->lru(device, STEPS, n, SIZE, x[2], x[2] + SIZE, x[2] + 64, x[0], x[1], ones, whole[0]);
    for (int64_t t = 0; t < STEPS; t += 16)
        ops->lru(device, 16, n, SIZE, x[2], x[2] + SIZE, x[2] + 64, x[0] + t * step,
                 t == 0 ? x[1] : parts[0] + (t - 1) * step, ones + t * n, parts[0] + t * step);
    assert_memory_equal(whole[0], parts[0], sizeof(float) * LARGE);

    float *const all[] = {x[0], x[1], x[2], whole[0], whole[1], parts[0], parts[1], ones};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) lud_device_release(device, all[i]);
    lud_device_release(device, index);
    lud_device_close(device);
}
static void test_large_results(void **state) {
    (void)state;
    check_large("plain");
    check_large("avx2");
    check_large("avx512");
}

/* A row without choices has no gradient: zeros, or what was there. The rows beside it do not notice. */
static void check_without_choices(const char *set) {
    enum { ROWS = 3, CHOICES = 5 };
    lud_device *device = open_set_of(set, 2);
    float logits[ROWS * CHOICES], fresh[ROWS * CHOICES], added[ROWS * CHOICES];
    uint8_t mask[ROWS * CHOICES];
    const int32_t action[ROWS] = {1, 0, 4};
    const float slope[ROWS] = {0.5f, 0.25f, -1.0f};
    for (int i = 0; i < ROWS * CHOICES; ++i) {
        logits[i] = (float)(i % 4) - 1.5f;
        mask[i] = i / CHOICES != 1;
        fresh[i] = added[i] = 7.0f;
    }
    device->ops->categorical_backward(device, ROWS, CHOICES, logits, mask, action, slope, slope, fresh,
                                      false);
    device->ops->categorical_backward(device, ROWS, CHOICES, logits, mask, action, slope, slope, added, true);
    for (int i = 0; i < ROWS * CHOICES; ++i) {
        if (i / CHOICES == 1)
            assert_true(fresh[i] == 0.0f);
        else
            assert_true(fresh[i] != 0.0f && fabsf(fresh[i]) < 2.0f);
        assert_true(added[i] == 7.0f + fresh[i]);
    }
    lud_device_close(device);
}
static void test_gradients_without_choices(void **state) {
    (void)state;
    check_without_choices("plain");
    check_without_choices("avx2");
    check_without_choices("avx512");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_plain),
                                       cmocka_unit_test(test_rows_avx2),
                                       cmocka_unit_test(test_rows_avx512),
                                       cmocka_unit_test(test_rows_apart),
                                       cmocka_unit_test(test_rows_of_long_recurrences),
                                       cmocka_unit_test(test_large_results),
                                       cmocka_unit_test(test_gradients_without_choices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
