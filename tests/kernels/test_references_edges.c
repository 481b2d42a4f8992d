/* As test_references.c, at the edges of what may be asked: choices of which nothing is left, draws of one,
 * images that fill their room, layers of every shape around the registers that multiply them. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_references.h"

/* ---- choices ---- */

/* Rounding may make one of a number that is below it: the last choice is taken that can be at all, whether
 * rows are few or many, choices few or many, masked or only beyond all reach. */
static void last_possible_choice(void **state) {
    (void)state;
    static const int widths[] = {1, 3, 16, 32, 37}, last[] = {0, 1, 9, 31, 20};
    what = "categorical_sample of one";
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        for (int masked = 0; masked < 2; masked++) {
            const int width = widths[k];
            float *logits = numbers(0, ROWS * width, -2, 2), u[ROWS];
            uint8_t mask[ROWS * 37];
            int32_t action[ROWS];
            for (int i = 0; i < ROWS; i++) u[i] = 1;
            for (int i = 0; i < ROWS * width; i++) {
                mask[i] = i % width <= last[k];
                if (!masked && !mask[i]) logits[i] = -200;
            }
            for (int i = 0; i < ROWS; i++) {
                double sum = 0;
                for (int j = 0; j <= last[k]; j++) sum += exp((double)logits[i * width + j]);
                expected[i] = (double)logits[i * width + last[k]] - log(sum);
            }
            ops->categorical_sample(device, ROWS, width, logits, masked ? mask : NULL, NULL, u, action,
                                    fresh(0));
            for (int i = 0; i < ROWS; i++) assert_int_equal(action[i], last[k]);
            check(0, ROWS, expected, 1);
        }
}

/* A choice of no weight at all adds nothing to the entropy and has no gradient. */
static void impossible_choices(void **state) {
    (void)state;
    enum { CHOICES = 6, LEFT = 4 };
    float *logits = numbers(0, ROWS * CHOICES, -2, 2);
    float *slope = numbers(1, ROWS, -1, 1), *entropy_slope = numbers(2, ROWS, -1, 1);
    static float less[ROWS * LEFT];
    int32_t action[ROWS];
    for (int i = 0; i < ROWS; i++) {
        logits[i * CHOICES + 4] = -INFINITY;
        logits[i * CHOICES + 5] = -FLT_MAX;
        for (int j = 0; j < LEFT; j++) less[i * LEFT + j] = logits[i * CHOICES + j];
        action[i] = i % LEFT;
    }
    what = "categorical_log_prob with impossible choices";
    ops->categorical_log_prob(device, ROWS, LEFT, less, NULL, action, fresh(0), fresh(1));
    ops->categorical_log_prob(device, ROWS, CHOICES, logits, NULL, action, fresh(2), fresh(3));
    for (int i = 0; i < ROWS; i++) {
        close_to(out[2][i], (double)out[0][i], 1, i);
        close_to(out[3][i], (double)out[1][i], 1, i);
    }
    what = "categorical_backward with impossible choices";
    ops->categorical_backward(device, ROWS, LEFT, less, NULL, action, slope, entropy_slope, fresh(0), false);
    ops->categorical_backward(device, ROWS, CHOICES, logits, NULL, action, slope, entropy_slope, fresh(1),
                              false);
    for (int i = 0; i < ROWS * CHOICES; i++)
        close_to(out[1][i], i % CHOICES < LEFT ? (double)out[0][i / CHOICES * LEFT + i % CHOICES] : 0, 1, i);
}

/* What is left out already stays so, whatever it is divided by. */
static void filtered_again(void **state) {
    (void)state;
    enum { CHOICES = 9 };
    static const double temperatures[] = {0.25, 1, 3};
    what = "filter_logits of filtered logits";
    for (size_t k = 0; k < sizeof temperatures / sizeof *temperatures; k++)
        for (int top_p = 0; top_p < 2; top_p++) {
            float *x = numbers(0, ROWS * CHOICES, -3, 3);
            for (int i = 0; i < ROWS * CHOICES; i++)
                if (i % CHOICES % 4 == 1) x[i] = -FLT_MAX;
            ops->filter_logits(device, ROWS, CHOICES, temperatures[k], CHOICES - 1, top_p ? 0.9 : 1, x,
                               fresh(0));
            for (int i = 0; i < ROWS * CHOICES; i++) {
                if (i % CHOICES % 4 == 1)
                    assert_true(out[0][i] == -FLT_MAX);
                else if (!top_p)
                    close_to(out[0][i], (double)x[i] / temperatures[k], 1, i);
                else
                    assert_true(out[0][i] >= -FLT_MAX);
            }
        }
}

/* Rows of which all, some and no numbers are left out, and the gradients of those that are not. */
static void masked_softmaxes(void **state) {
    (void)state;
    const int64_t n = ROWS * WIDTH;
    const float *x = numbers(0, n, -2, 2), *dy = numbers(1, n, -1, 1);
    static uint8_t mask[ROWS * WIDTH];
    static double logs[ROWS * WIDTH], slopes[ROWS * WIDTH];
    for (int i = 0; i < n; i++) mask[i] = i / WIDTH % 3 == 0 || (i / WIDTH % 3 == 1 && i * 7919 % 5 < 3);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, total = 0;
        for (int j = i * WIDTH; j < (i + 1) * WIDTH; j++) {
            sum += mask[j] ? exp(0.5 * (double)x[j]) : 0;
            total += mask[j] ? (double)dy[j] : 0;
        }
        for (int j = i * WIDTH; j < (i + 1) * WIDTH; j++) {
            expected[j] = mask[j] ? exp(0.5 * (double)x[j]) / sum : 0;
            logs[j] = mask[j] ? 0.5 * (double)x[j] - log(sum) : -(double)FLT_MAX;
            slopes[j] = mask[j] ? 0.5 * ((double)dy[j] - expected[j] * total) : 0;
        }
    }
    what = "softmax, masked";
    ops->softmax(device, ROWS, WIDTH, 0.5, x, mask, fresh(0));
    check(0, n, expected, 1e-3);
    what = "log_softmax, masked";
    ops->log_softmax(device, ROWS, WIDTH, 0.5, x, mask, fresh(0));
    check(0, n, logs, 1);
    what = "log_softmax_backward, masked";
    ops->log_softmax_backward(device, ROWS, WIDTH, 0.5, out[0], mask, dy, fresh(1), false);
    check(1, n, slopes, 1);
    for (int i = 0; i < n; i++) out[1][i] = 5, slopes[i] += 5;
    ops->log_softmax_backward(device, ROWS, WIDTH, 0.5, out[0], mask, dy, out[1], true);
    check(1, n, slopes, 1);
}

/* ---- images ---- */

/* 3 x 3 on images whose cells and filters fill the registers' room to the last number, and one filter more.
 */
static void full_images(void **state) {
    (void)state;
    enum { SIDE = 8, CELLS = SIDE * SIDE, MOST_FILTERS = 65, CHANNELS = 2, TAPS = 9 };
    static float x[MOST_FILTERS * CELLS], w[MOST_FILTERS * CHANNELS * TAPS], y[MOST_FILTERS * CELLS + GUARD],
        dx[MOST_FILTERS * CELLS + GUARD];
    what = "conv2d of full images";
    for (int filters = 63; filters <= MOST_FILTERS; filters++)
        for (int back = 0; back < 2; back++) {
            /* the gradient has as many channels as the image filters */
            const int channels = back ? filters : CHANNELS, n_out = back ? CHANNELS : filters;
            const lud_conv shape = {1, channels, SIDE, SIDE, n_out, 3, 1, 1};
            const int64_t n_in = channels * CELLS, n = n_out * CELLS;
            for (int64_t i = 0; i < (back ? n : n_in); i++) x[i] = (float)(i * 7919 % 41 - 20) / 20;
            for (int64_t i = 0; i < n_out * channels * TAPS; i++) w[i] = (float)(i * 104729 % 37 - 18) / 20;
            static double sums[MOST_FILTERS * CELLS];
            for (int64_t i = 0; i < (back ? n_in : n); i++) sums[i] = 0;
            for (int64_t i = 0; i < n; i++)
                for (int k = 0; k < channels * TAPS; k++) {
                    const int64_t row = i / SIDE % SIDE + k / 3 % 3 - 1, column = i % SIDE + k % 3 - 1,
                                  at = k / TAPS * CELLS + row * SIDE + column;
                    if (row < 0 || row >= SIDE || column < 0 || column >= SIDE) continue;
                    const double weight = (double)w[i / CELLS * channels * TAPS + k];
                    if (back)
                        sums[at] += (double)x[i] * weight;
                    else
                        sums[i] += (double)x[at] * weight;
                }
            const lud_map identity = {LUD_MAP_IDENTITY, 0, 0};
            float *found = back ? dx : y;
            const int64_t size = back ? n_in : n;
            for (int64_t i = 0; i < size + GUARD; i++) found[i] = untouched;
            if (back)
                ops->conv2d_backward(device, identity, &shape, NULL, w, NULL, NULL, x, NULL, dx, false, NULL,
                                     NULL);
            else
                ops->conv2d(device, identity, &shape, x, w, NULL, NULL, y);
            for (int64_t i = 0; i < size; i++) close_to(found[i], sums[i], 3, i);
            for (int64_t i = size; i < size + GUARD; i++) assert_true(found[i] == untouched);
        }
}

/* Images as small as those that stay in registers, through kernels, steps and borders that do not: forward,
 * and what that does to the images' gradient. */
static void small_images_of_other_kernels(void **state) {
    (void)state;
    enum { H = 5, W = 4, CELLS = H * W, IN = 3, OUT = 5, IMAGES = 2 };
    for (int kernel = 1; kernel <= 5; kernel++)
        for (int stride = 1; stride <= 2; stride++)
            for (int padding = 0; padding < kernel; padding++) {
                const lud_conv shape = {IMAGES, IN, H, W, OUT, kernel, stride, padding};
                const int rows = (int)lud_conv_height_out(&shape), columns = (int)lud_conv_width_out(&shape);
                if (rows < 1 || columns < 1) continue;
                const int n = IMAGES * OUT * rows * columns, n_in = IMAGES * IN * CELLS,
                          taps = kernel * kernel;
                const float *x = numbers(0, n_in, -1, 1), *w = numbers(1, OUT * IN * taps, -1, 1),
                            *dy = numbers(2, n, -1, 1);
                static double dx[IMAGES * IN * CELLS];
                for (int i = 0; i < n_in; i++) dx[i] = 0;
                for (int i = 0; i < n; i++) {
                    const int column = i % columns, row = i / columns % rows,
                              filter = i / columns / rows % OUT, image = i / columns / rows / OUT;
                    expected[i] = 0;
                    for (int k = 0; k < IN * taps; k++) {
                        const int y = row * stride + k / kernel % kernel - padding,
                                  z = column * stride + k % kernel - padding,
                                  at = (image * IN + k / taps) * CELLS + y * W + z;
                        if (y < 0 || y >= H || z < 0 || z >= W) continue;
                        expected[i] += (double)x[at] * (double)w[filter * IN * taps + k];
                        dx[at] += (double)dy[i] * (double)w[filter * IN * taps + k];
                    }
                }
                const lud_map identity = {LUD_MAP_IDENTITY, 0, 0};
                what = "conv2d of small images";
                ops->conv2d(device, identity, &shape, x, w, NULL, NULL, fresh(0));
                check(0, n, expected, 1);
                what = "conv2d_backward of small images";
                ops->conv2d_backward(device, identity, &shape, x, w, NULL, NULL, dy, NULL, fresh(0), false,
                                     NULL, NULL);
                check(0, n_in, dx, 1);
            }
}

/* An image that is smaller than the kernel gives nothing and has no gradient. */
static void images_below_the_kernel(void **state) {
    (void)state;
    const lud_conv shape = {2, 3, 2, 2, 4, 3, 1, 0};
    const float *x = numbers(0, 24, -1, 1), *w = numbers(1, 108, -1, 1);
    const lud_map identity = {LUD_MAP_IDENTITY, 0, 0};
    for (int i = 0; i < 24; i++) expected[i] = 0;
    what = "conv2d of images below the kernel";
    ops->conv2d(device, identity, &shape, x, w, NULL, NULL, fresh(0));
    check(0, 0, expected, 0);
    ops->conv2d_backward(device, identity, &shape, x, w, NULL, NULL, x, NULL, fresh(0), false, fresh(1),
                         fresh(2));
    check(0, 24, expected, 0);
    check(1, 0, expected, 0);
    check(2, 0, expected, 0);
}

/* ---- layers ---- */

/* y = x w^T + b through a ReLU and its gradients. */
static void layer(int rows, int n_in, int n_out) {
    const float *x = numbers(0, rows * n_in, -1, 1), *w = numbers(1, n_out * n_in, -1, 1),
                *b = numbers(2, n_out, -1, 1), *dy = numbers(3, rows * n_out, -1, 1);
    const lud_map relu = {LUD_MAP_RELU, 0, 0};
    static double raw[MOST], dx[MOST], dw[MOST], db[MOST];
    for (int i = 0; i < rows * n_in; i++) dx[i] = 0;
    for (int i = 0; i < n_out * n_in; i++) dw[i] = 5;
    for (int j = 0; j < n_out; j++) db[j] = 5;
    for (int i = 0; i < rows * n_out; i++) {
        raw[i] = (double)b[i % n_out];
        for (int k = 0; k < n_in; k++)
            raw[i] += (double)x[i / n_out * n_in + k] * (double)w[i % n_out * n_in + k];
        expected[i] = fmax(raw[i], 0);
    }
    what = "linear";
    ops->linear(device, relu, rows, n_in, n_out, x, w, b, NULL, fresh(0));
    check(0, rows * n_out, expected, 1);
    ops->linear(device, relu, rows, n_in, n_out, x, w, b, fresh(1), fresh(0));
    check(0, rows * n_out, expected, 1);
    check(1, rows * n_out, raw, 1);
    for (int i = 0; i < rows * n_out; i++) {
        const double g = out[0][i] > 0 ? (double)dy[i] : 0;
        db[i % n_out] += g;
        for (int k = 0; k < n_in; k++) {
            dx[i / n_out * n_in + k] += g * (double)w[i % n_out * n_in + k];
            dw[i % n_out * n_in + k] += g * (double)x[i / n_out * n_in + k];
        }
    }
    static float dz[MOST];
    what = "linear_backward";
    fresh(2);
    for (int i = 0; i < n_out * n_in; i++) out[2][i] = 5;
    fresh(3);
    for (int j = 0; j < n_out; j++) out[3][j] = 5;
    ops->linear_backward(device, relu, rows, n_in, n_out, x, w, NULL, out[0], dy, dz, fresh(1), false, out[2],
                         out[3]);
    check(1, rows * n_in, dx, 3);
    check(2, n_out * n_in, dw, 3);
    check(3, n_out, db, 3);
}

static void layers(void **state) {
    (void)state;
    static const int rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 24, 29, 95, 96, 97, 200},
                     widths[] = {1,  7,  8,  9,  15, 16, 17, 31, 32,  33,
                                 47, 48, 49, 63, 64, 65, 79, 80, 113, 128},
                     inputs[] = {1, 3, 16, 31, 50, 255, 256, 257, 700};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
            for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
                if (rows[r] * widths[w] <= MOST && rows[r] * inputs[i] <= MOST &&
                    inputs[i] * widths[w] <= MOST)
                    layer(rows[r], inputs[i], widths[w]);
}

/* ---- recurrences ---- */

/* A state so wide that one row alone is more than is taken together, beside others. */
static void wide_states(void **state) {
    (void)state;
    enum { SIZE = 16390, STEPS = 3, N = 2, ROW = 2 * SIZE };
    float *v = malloc(sizeof(float) * STEPS * N * ROW), *h = malloc(sizeof(float) * STEPS * N * ROW);
    float *rates = malloc(sizeof(float) * SIZE);
    assert_true(v && h && rates);
    for (int i = 0; i < STEPS * N * ROW; i++) v[i] = (float)(i * 7919 % 41 - 20) / 20;
    for (int s = 0; s < SIZE; s++) rates[s] = (float)(s % 13) / 10 - 1;
    what = "lru of wide states";
    ops->lru(device, STEPS, N, SIZE, rates, rates, rates, v, NULL, NULL, h);
    for (int64_t i = 0; i < N * SIZE; i++) {
        const double rate = exp((double)rates[i % SIZE]), size = exp(-rate);
        double re = 0, im = 0;
        for (int64_t t = 0; t < STEPS; t++) {
            const int64_t at = (t * N * SIZE + i) * 2;
            const double a = re, b = im;
            re = size * (cos(rate) * a - sin(rate) * b) + rate * (double)v[at];
            im = size * (sin(rate) * a + cos(rate) * b) + rate * (double)v[at + 1];
            close_to(h[at], re, 1, at);
            close_to(h[at + 1], im, 1, at + 1);
        }
    }
    free(v);
    free(h);
    free(rates);
}

/* ---- statistics ---- */

/* What has seen nothing so far takes a mean of zero and the least deviation; clipping leaves what is small
 * enough, and everything where there is no largest norm. */
static void least_statistics(void **state) {
    (void)state;
    enum { N = 20 };
    const float *x = numbers(0, N, -2, 2), nothing[3] = {0, 0, 0}, barely[3] = {4e-6f, 4e-6f, 1e-6f};
    what = "normalise without statistics";
    for (int i = 0; i < N; i++) expected[i] = (double)x[i] / 0.1;
    ops->normalise(device, N, 1, nothing, false, x, fresh(0));
    check(0, N, expected, 1);
    what = "normalise with hardly any statistics"; /* divided by no less than 1e-5 */
    for (int i = 0; i < N; i++) expected[i] = (double)x[i] * sqrt(0.4 - 0.16) + 0.4;
    ops->normalise(device, N, 1, barely, true, x, fresh(0));
    check(0, N, expected, 1);
    static const struct {
        double most;
        float squares;
        double norm, scale;
    } cases[] = {{2, 4, 2, 2 / (2 + 1e-6)}, {2, 0.25f, 0.5, 1}, {0, 25, 5, 1}, {-1, 25, 5, 1}, {2, 0, 0, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        what = "clip_scale";
        ops->clip_scale(device, cases[k].most, &cases[k].squares, fresh(0), fresh(1));
        check(0, 1, &cases[k].norm, 0);
        check(1, 1, &cases[k].scale, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(last_possible_choice),
                                       cmocka_unit_test(impossible_choices),
                                       cmocka_unit_test(filtered_again),
                                       cmocka_unit_test(masked_softmaxes),
                                       cmocka_unit_test(full_images),
                                       cmocka_unit_test(small_images_of_other_kernels),
                                       cmocka_unit_test(images_below_the_kernel),
                                       cmocka_unit_test(layers),
                                       cmocka_unit_test(wide_states),
                                       cmocka_unit_test(least_statistics)};
    return run_with_every_set(tests, sizeof tests / sizeof *tests);
}
