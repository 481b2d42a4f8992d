/* What the files share that compare operations with a few plain lines each: arrays of made-up numbers, room
 * for results with numbers behind it that must stay, and comparisons. Every test has its own. */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "kernels/device.h"

enum { ROWS = 19, WIDTH = 37, MOST = 4096, GUARD = 32, ARRAYS = 8, OUTPUTS = 4 };
static const float untouched = 777.5f;

static lud_device *device;
static float in[ARRAYS][MOST], out[OUTPUTS][MOST + GUARD];
static const char *what; /* the operation in hand */

/* Uniform numbers in [low, high). */
static float *numbers(int k, int64_t n, double low, double high) {
    for (int64_t i = 0; i < n; i++) {
        const lud_words w =
            lud_draw((lud_random_key){(uint64_t)k + 31, 7}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0);
        in[k][i] = (float)(low + (high - low) * lud_unit53(w.v[0], w.v[1]));
    }
    return in[k];
}

static float *fresh(int k) {
    for (int i = 0; i < MOST + GUARD; i++) out[k][i] = untouched;
    return out[k];
}

static void close_to(float found, double expected, double size, int64_t at) {
    if (!(fabs((double)found - expected) <= 2e-5 * (size + fabs(expected)) + 1e-30))
        fail_msg("%s: number %lld is %.9g, expected %.9g", what, (long long)at, (double)found, expected);
}

/* n numbers of output k, and nothing behind them. */
static void check(int k, int64_t n, const double *expected, double size) {
    for (int64_t i = 0; i < n; i++) close_to(out[k][i], expected[i], size, i);
    for (int64_t i = n; i < n + GUARD; i++)
        if (out[k][i] != untouched)
            fail_msg("%s: wrote number %lld of %lld", what, (long long)i, (long long)n);
}

static double expected[MOST];
static const lud_ops *ops;

static int set_up(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_device_open("cpu", 1, &device, &error)) fail_msg("%s", error.text);
    ops = device->ops;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    lud_device_close(device);
    return 0;
}

/* All tests with every instruction set; how many failed. */
static int run_with_every_set(const struct CMUnitTest *tests, size_t n) {
    static const char *const sets[] = {"plain", "avx2", "avx512"};
    int failed = 0;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        setenv("LUDUS_CPU", sets[i], 1);
        failed += _cmocka_run_group_tests(sets[i], tests, n, set_up, tear_down);
    }
    return failed;
}
