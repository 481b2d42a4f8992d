/* Operations against a few plain lines each, written from the formulas of ops_table.h and from nothing else,
 * in double. The variants of an operation come from one file and are compared with each other elsewhere: a
 * wrong formula in it is wrong in all of them, and shows here. Gradients are compared with differences of
 * these values (test_operations.c). Behind every array that is written stand numbers that must stay. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_references.h"

/* ---- elementwise, sums ---- */

static void elementwise(void **state) {
    (void)state;
    const int64_t n = ROWS * WIDTH;
    const float *a = numbers(0, n, -2, 2), *b = numbers(1, n, -3, 3), *factor = numbers(2, n, -1, 1);
    what = "combine";
    for (int64_t i = 0; i < n; i++) expected[i] = 0.3 * (double)a[i] - 1.7 * (double)b[i];
    ops->combine(device, n, 0.3, a, -1.7, b, fresh(0));
    check(0, n, expected, 1);
    what = "multiply";
    for (int64_t i = 0; i < n; i++) expected[i] = (double)a[i] * (double)b[i];
    ops->multiply(device, n, a, b, fresh(0));
    check(0, n, expected, 0);
    what = "fill";
    for (int64_t i = 0; i < n; i++) expected[i] = -4.25;
    ops->fill(device, n, -4.25, fresh(0));
    check(0, n, expected, 0);
    what = "transpose";
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < WIDTH; c++) expected[c * ROWS + r] = (double)a[r * WIDTH + c];
    ops->transpose(device, 1, ROWS, WIDTH, a, fresh(0));
    check(0, n, expected, 0);
    what = "scale_rows";
    for (int64_t i = 0; i < n; i++) expected[i] = (double)a[i] * (double)factor[i / WIDTH];
    ops->scale_rows(device, ROWS, WIDTH, a, factor, fresh(0));
    check(0, n, expected, 0);
    what = "scale_columns";
    for (int64_t i = 0; i < n; i++) expected[i] = (double)a[i] * (double)factor[i % WIDTH];
    ops->scale_columns(device, ROWS, WIDTH, a, factor, fresh(0));
    check(0, n, expected, 0);
    what = "copy_block";
    for (int64_t i = 0; i < ROWS * 9; i++) expected[i] = i % 9 < 5 ? (double)a[i / 9 * WIDTH + i % 9] : 777.5;
    ops->copy_block(device, ROWS, 5, a, WIDTH, fresh(0), 9, false);
    check(0, ROWS * 9, expected, 0);
}

static double map_of(lud_map m, double x) {
    switch (m.kind) {
    case LUD_MAP_IDENTITY:
        return x;
    case LUD_MAP_RELU:
        return x > 0 ? x : 0;
    case LUD_MAP_GELU:
        return x * 0.5 * erfc(-x / sqrt(2));
    case LUD_MAP_SILU:
        return x / (1 + exp(-x));
    case LUD_MAP_TANH:
        return tanh(x);
    case LUD_MAP_SIGMOID:
        return 1 / (1 + exp(-x));
    case LUD_MAP_SOFTPLUS:
        return log1p(exp(x));
    case LUD_MAP_SOFTPLUS_SHIFTED:
        return log1p(exp(x)) - log(2);
    case LUD_MAP_NEG_SOFTPLUS:
        return -log1p(exp(x));
    case LUD_MAP_NEG_SOFTPLUS_NEG:
        return -log1p(exp(-x));
    case LUD_MAP_EXP:
        return exp(x);
    case LUD_MAP_ONE_PLUS_EXP:
        return 1 + exp(x);
    case LUD_MAP_NEG_POWER:
        return -pow(x, m.a);
    case LUD_MAP_POWER:
        return pow(x, m.a);
    case LUD_MAP_LOG:
        return log(x);
    case LUD_MAP_LOG_NEGATED:
        return log(-x);
    case LUD_MAP_SQUARE:
        return x * x;
    case LUD_MAP_AFFINE:
        return m.a * x + m.b;
    case LUD_MAP_CLAMP:
        return fmin(fmax(x, m.a), m.b);
    case LUD_MAP_ABS_CLAMP:
        return fmin(fmax(fabs(x), m.a), m.b);
    case LUD_MAP_SOFT_CLAMP: {
        const double r = m.b - m.a;
        return x > m.b   ? m.b + r * (1 - exp(-(x - m.b) / r))
               : x < m.a ? m.a - r * (1 - exp((x - m.a) / r))
                         : x;
    }
    default:
        return NAN;
    }
}

static void maps(void **state) {
    (void)state;
    static char name[32];
    for (int kind = 0; kind < LUD_MAP_KINDS; kind++) {
        const lud_map m = {(lud_map_kind)kind, kind == LUD_MAP_POWER || kind == LUD_MAP_NEG_POWER ? 1.7 : 0.2,
                           0.9};
        const bool above = kind == LUD_MAP_POWER || kind == LUD_MAP_NEG_POWER || kind == LUD_MAP_LOG;
        const float *x = numbers(0, ROWS * WIDTH, above ? 0.1 : -4, kind == LUD_MAP_LOG_NEGATED ? -0.1 : 4);
        snprintf(name, sizeof name, "map %d", kind);
        what = name;
        for (int64_t i = 0; i < ROWS * WIDTH; i++) expected[i] = map_of(m, (double)x[i]);
        ops->map(device, m, ROWS * WIDTH, x, fresh(0));
        check(0, ROWS * WIDTH, expected, 1);
    }
}

/* The ends of a range belong to it, and what is next to them outside does not. */
static void slopes_at_the_ends(void **state) {
    (void)state;
    enum { N = 8 };
    const float a = 0.25F, b = 0.75F, below = nextafterf(a, 0), above = nextafterf(b, 1);
    const float at[N] = {a, b, below, above, -a, -b, -below, -above};
    static const struct {
        lud_map_kind kind;
        double slopes[N];
    } cases[] = {{LUD_MAP_CLAMP, {1, 1, 0, 0, 0, 0, 0, 0}}, {LUD_MAP_ABS_CLAMP, {1, 1, 0, 0, -1, -1, 0, 0}}};
    what = "map_backward at the ends";
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        float *dy = numbers(0, N, 1, 1);
        ops->map_backward(device, (lud_map){cases[c].kind, (double)a, (double)b}, N, at, NULL, dy, fresh(0),
                          false);
        check(0, N, cases[c].slopes, 0);
    }
    const float y[N] = {0, 1, 0, 1e-30F, 0, 2, 0, 0};
    static const double slopes[N] = {0, 1, 0, 1, 0, 1, 0, 0};
    ops->map_backward(device, (lud_map){LUD_MAP_RELU, 0, 0}, N, NULL, y, numbers(0, N, 1, 1), fresh(0),
                      false);
    check(0, N, slopes, 0);
}

static void sums(void **state) {
    (void)state;
    const int64_t n = ROWS * WIDTH;
    const float *a = numbers(0, n, -2, 3), *b = numbers(1, n, -3, 3);
    double total = 0, squares = 0, product = 0, columns[WIDTH] = {0}, column_squares[WIDTH] = {0},
           row_squares[ROWS] = {0};
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)a[i];
        total += x;
        squares += x * x;
        product += x * (double)b[i];
        columns[i % WIDTH] += x;
        column_squares[i % WIDTH] += x * x;
        row_squares[i / WIDTH] += x * x;
    }
    what = "sum";
    ops->sum(device, n, a, fresh(0), false);
    check(0, 1, &total, 1);
    what = "sum_squares";
    ops->sum_squares(device, n, a, fresh(0), false);
    check(0, 1, &squares, 1);
    what = "dot";
    ops->dot(device, n, a, b, fresh(0), false);
    check(0, 1, &product, 10);
    what = "column_sum";
    ops->column_sum(device, ROWS, WIDTH, a, fresh(0), false);
    check(0, WIDTH, columns, 1);
    what = "row_norms";
    for (int i = 0; i < ROWS; i++) expected[i] = sqrt(row_squares[i]);
    ops->row_norms(device, ROWS, WIDTH, a, fresh(0));
    check(0, ROWS, expected, 0);
    what = "column_norms";
    for (int i = 0; i < WIDTH; i++) expected[i] = sqrt(column_squares[i]);
    ops->column_norms(device, ROWS, WIDTH, a, fresh(0));
    check(0, WIDTH, expected, 0);
    what = "sum_groups"; /* 19 rows of 37 read as [19][37][1] and as [1][19][37] */
    for (int i = 0; i < WIDTH; i++) expected[i] = 0.25 * columns[i];
    ops->sum_groups(device, 1, ROWS, WIDTH, 0.25, a, fresh(0), false);
    check(0, WIDTH, expected, 1);
    what = "broadcast_groups";
    for (int64_t i = 0; i < n; i++) expected[i] = 0.5 * (double)a[i % WIDTH];
    ops->broadcast_groups(device, 1, ROWS, WIDTH, 0.5, a, fresh(0), false);
    check(0, n, expected, 0);
    what = "moments";
    const float *weight = numbers(2, ROWS, 0, 2);
    double sum = 0, mean[WIDTH] = {0}, mean_square[WIDTH] = {0};
    for (int i = 0; i < ROWS; i++) sum += (double)weight[i];
    for (int64_t i = 0; i < n; i++) {
        mean[i % WIDTH] += (double)weight[i / WIDTH] * (double)a[i] / sum;
        mean_square[i % WIDTH] += (double)weight[i / WIDTH] * (double)a[i] * (double)a[i] / sum;
    }
    ops->moments(device, ROWS, WIDTH, a, weight, fresh(0), fresh(1));
    check(0, WIDTH, mean, 1);
    check(1, WIDTH, mean_square, 0);
}

/* Sums are made of blocks, those of columns of blocks of rows: of whole ones and of the rest that is left, of
 * one and of many, also where they are added to what is there. */
static void long_sums(void **state) {
    (void)state;
    enum { LONGEST = 40000 };
    static float a[LONGEST], b[LONGEST];
    static const int lengths[] = {1, 4095, 4096, 4097, 8192, 12295, LONGEST};
    for (uint32_t i = 0; i < LONGEST; i++) {
        const lud_words w = lud_draw((lud_random_key){77, 7}, i, 0, LUD_PURPOSE_USER, 0);
        a[i] = (float)(2 * lud_unit53(w.v[0], w.v[1]) - 1);
        b[i] = (float)(2 * lud_unit53(w.v[2], w.v[3]) - 0.5);
    }
    for (size_t l = 0; l < 2 * sizeof lengths / sizeof *lengths; l++) {
        const int n = lengths[l / 2];
        const bool add = l % 2;
        double sum = add ? 3 : 0, squares = sum, product = sum;
        for (int i = 0; i < n; i++) {
            sum += (double)a[i];
            squares += (double)a[i] * (double)a[i];
            product += (double)a[i] * (double)b[i];
        }
        what = "sum";
        fresh(0)[0] = 3;
        ops->sum(device, n, a, out[0], add);
        check(0, 1, &sum, 10);
        what = "sum_squares";
        fresh(0)[0] = 3;
        ops->sum_squares(device, n, a, out[0], add);
        check(0, 1, &squares, 10);
        what = "dot";
        fresh(0)[0] = 3;
        ops->dot(device, n, a, b, out[0], add);
        check(0, 1, &product, 10);
        enum { COLUMNS = 5 };
        const int rows = n / COLUMNS;
        double columns[COLUMNS] = {0}, norms[COLUMNS] = {0}, mean[COLUMNS] = {0}, square[COLUMNS] = {0},
               weight = 0;
        for (int r = 0; r < rows; r++) {
            const double by = fabs((double)b[r]);
            weight += by;
            for (int k = 0; k < COLUMNS; k++) {
                const double x = (double)a[r * COLUMNS + k];
                columns[k] += x;
                norms[k] += x * x;
                mean[k] += by * x;
                square[k] += by * x * x;
            }
        }
        for (int k = 0; k < COLUMNS; k++) {
            norms[k] = sqrt(norms[k]);
            mean[k] /= weight;
            square[k] /= weight;
            if (add) columns[k] += 3;
        }
        if (rows == 0) continue;
        what = "column_sum";
        for (int k = 0; k < COLUMNS; k++) (k ? out[0] : fresh(0))[k] = 3;
        ops->column_sum(device, rows, COLUMNS, a, out[0], add);
        check(0, COLUMNS, columns, 10);
        what = "column_norms";
        ops->column_norms(device, rows, COLUMNS, a, fresh(0));
        check(0, COLUMNS, norms, 1);
        what = "moments";
        static float weights[LONGEST];
        for (int r = 0; r < rows; r++) weights[r] = fabsf(b[r]);
        ops->moments(device, rows, COLUMNS, a, weights, fresh(0), fresh(1));
        check(0, COLUMNS, mean, 1);
        check(1, COLUMNS, square, 1);
    }
}

/* ---- products ---- */

static void products(void **state) {
    (void)state;
    enum { M = 11, N = 23, K = 29 };
    for (int form = 0; form < 4; form++) {
        const bool ta = form & 1, tb = form & 2;
        const float *a = numbers(0, M * K, -1, 1), *b = numbers(1, K * N, -1, 1);
        what = "matmul";
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double s = 0;
                for (int k = 0; k < K; k++)
                    s += (double)(ta ? a[k * M + i] : a[i * K + k]) *
                         (double)(tb ? b[j * K + k] : b[k * N + j]);
                expected[i * N + j] = 0.7 * s;
            }
        ops->matmul(device, ta, tb, M, N, K, 0.7, a, ta ? M : K, b, tb ? K : N, 0.0, fresh(0), N);
        check(0, M * N, expected, 1);
    }
    what = "linear";
    const float *x = numbers(0, M * K, -1, 1), *w = numbers(1, N * K, -1, 1), *bias = numbers(2, N, -1, 1);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = (double)bias[j];
            for (int k = 0; k < K; k++) s += (double)x[i * K + k] * (double)w[j * K + k];
            expected[i * N + j] = tanh(s);
        }
    ops->linear(device, (lud_map){LUD_MAP_TANH, 0, 0}, M, K, N, x, w, bias, fresh(1), fresh(0));
    check(0, M * N, expected, 1);
    what = "linear_packed";
    float *packed = calloc((size_t)lud_pack_numbers(N, K), sizeof *packed);
    for (int i = 0; i < M * N; i++) {
        expected[i] = 0;
        for (int k = 0; k < K; k++) expected[i] += (double)x[i / N * K + k] * (double)w[i % N * K + k];
    }
    ops->pack_weights(device, false, N, K, w, packed);
    ops->linear_packed(device, false, M, K, N, x, packed, fresh(0), false);
    check(0, M * N, expected, 1);
    free(packed);
}

static void images(void **state) {
    (void)state;
    const lud_conv shape = {.n = 2,
                            .channels_in = 3,
                            .height = 7,
                            .width = 6,
                            .channels_out = 4,
                            .kernel = 3,
                            .stride = 1,
                            .padding = 1};
    const float *x = numbers(0, 2 * 3 * 42, -1, 1), *w = numbers(1, 4 * 3 * 9, -1, 1),
                *b = numbers(2, 4, -1, 1);
    what = "conv2d";
    for (int i = 0; i < 2 * 4 * 42; i++) {
        const int image = i / 168, channel = i / 42 % 4, row = i / 6 % 7, column = i % 6;
        double s = (double)b[channel];
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 9; k++) {
                const int y = row + k / 3 - 1, z = column + k % 3 - 1;
                if (y < 0 || y >= 7 || z < 0 || z >= 6) continue;
                s += (double)x[(image * 3 + c) * 42 + y * 6 + z] * (double)w[(channel * 3 + c) * 9 + k];
            }
        expected[i] = s > 0 ? s : 0;
    }
    ops->conv2d(device, (lud_map){LUD_MAP_RELU, 0, 0}, &shape, x, w, b, fresh(1), fresh(0));
    check(0, 2 * 4 * 42, expected, 1);
    what = "max_pool";
    for (int i = 0; i < 6 * 9; i++) {
        expected[i] = -INFINITY;
        for (int k = 0; k < 4; k++)
            expected[i] = fmax(expected[i],
                               (double)x[i / 9 * 42 + (2 * (i / 3 % 3) + k / 2) * 6 + 2 * (i % 3) + k % 2]);
    }
    ops->max_pool(device, 6, 7, 6, 2, x, fresh(0), NULL);
    check(0, 6 * 9, expected, 0);
}

/* ---- rows and segments ---- */

/* Sums, means, largest and softmax of segments of rows. */
static void segments_of(int n, const int32_t *offsets, int width, const float *x) {
    for (int kind = 0; kind < 3; kind++) {
        what = kind == 0 ? "segment sum" : kind == 1 ? "segment mean" : "segment max";
        for (int i = 0; i < n * width; i++) {
            const int first = offsets[i / width], end = offsets[i / width + 1];
            double value = first < end && kind == 2 ? -INFINITY : 0;
            for (int e = first; e < end; e++) {
                const double v = (double)x[e * width + i % width];
                value = kind == 2 ? fmax(value, v) : value + (kind == 1 ? v / (end - first) : v);
            }
            expected[i] = value;
        }
        ops->segment_reduce(device, (lud_reduce)kind, n, width, offsets, NULL, x, fresh(0), NULL);
        check(0, n * width, expected, 1);
    }
    what = "segment_softmax";
    for (int s = 0; s < n; s++)
        for (int j = 0; j < width; j++) {
            double sum = 0;
            for (int e = offsets[s]; e < offsets[s + 1]; e++) sum += exp((double)x[e * width + j]);
            for (int e = offsets[s]; e < offsets[s + 1]; e++)
                expected[e * width + j] = exp((double)x[e * width + j]) / sum;
        }
    ops->segment_softmax(device, n, width, offsets, x, fresh(0));
    check(0, offsets[n] * width, expected, 0);
}

static void rows(void **state) {
    (void)state;
    const float *x = numbers(0, ROWS * WIDTH, -1, 1);
    int32_t index[ROWS];
    for (int i = 0; i < ROWS; i++) index[i] = i % 5 == 4 ? -1 : i * 7 % ROWS;
    what = "gather_rows";
    for (int i = 0; i < ROWS * WIDTH; i++)
        expected[i] = index[i / WIDTH] < 0 ? 0 : (double)x[index[i / WIDTH] * WIDTH + i % WIDTH];
    ops->gather_rows(device, ROWS, WIDTH, x, index, fresh(0));
    check(0, ROWS * WIDTH, expected, 0);
    what = "scatter_rows";
    for (int i = 0; i < ROWS * WIDTH; i++) expected[i] = 777.5;
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (index[i / WIDTH] >= 0) expected[index[i / WIDTH] * WIDTH + i % WIDTH] = (double)x[i];
    ops->scatter_rows(device, ROWS, WIDTH, x, index, fresh(0));
    check(0, ROWS * WIDTH, expected, 0);
    what = "scatter_add";
    for (int i = 0; i < ROWS; i++) index[i] = i % 6 == 5 ? -1 : i % 4;
    const float *weight = numbers(1, ROWS, -1, 1);
    for (int i = 0; i < 4 * WIDTH; i++) expected[i] = 1.5;
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (index[i / WIDTH] >= 0)
            expected[index[i / WIDTH] * WIDTH + i % WIDTH] += (double)weight[i / WIDTH] * (double)x[i];
    fresh(0);
    for (int i = 0; i < 4 * WIDTH; i++) out[0][i] = 1.5f;
    ops->scatter_add(device, ROWS, WIDTH, 4, x, weight, index, out[0]);
    check(0, 4 * WIDTH, expected, 1);
    static const int32_t offsets[] = {0, 3, 3, 4, 12, ROWS};
    segments_of(5, offsets, WIDTH, x);
}

/* Rows that are wider than what is held of one at a time. */
static void wide_segments(void **state) {
    (void)state;
    static const int widths[] = {123, 125, 250, 511, 1000};
    static const int32_t offsets[] = {0, 1, 1, 4};
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        segments_of(3, offsets, widths[k], numbers(0, 4 * widths[k], -1, 1));
}

/* Widths around vectors and pieces of rows. */
static const int widths[] = {1,  2,  5,  7,  8,  9,  15, 16,  17,  24,  31,
                             32, 33, 47, 48, 64, 65, 96, 127, 128, 129, 200};
enum { WIDTHS = sizeof widths / sizeof *widths };

static void norms_of(int width) {
    const float *x = numbers(0, ROWS * width, -3, 5), *gain = numbers(1, width, 0.5, 2),
                *bias = numbers(2, width, -1, 1);
    static double rms[MOST];
    for (int i = 0; i < ROWS; i++) {
        double mean = 0, square = 0, variance = 0;
        for (int j = 0; j < width; j++) mean += (double)x[i * width + j] / width;
        for (int j = 0; j < width; j++) square += pow((double)x[i * width + j], 2) / width;
        for (int j = 0; j < width; j++) variance += pow((double)x[i * width + j] - mean, 2) / width;
        for (int j = 0; j < width; j++) {
            const double v = (double)x[i * width + j];
            expected[i * width + j] = (v - mean) / sqrt(variance + 1e-5) * (double)gain[j] + (double)bias[j];
            rms[i * width + j] = v / sqrt(square + 1e-6) * (double)gain[j];
        }
    }
    what = "layer_norm";
    ops->layer_norm(device, ROWS, width, 1e-5, x, gain, bias, fresh(0), NULL, NULL);
    check(0, ROWS * width, expected, 1);
    what = "rms_norm";
    const float *scale = fresh(1);
    ops->rms_norm(device, ROWS, width, 1e-6, x, gain, fresh(0), out[1]);
    check(0, ROWS * width, rms, 1);
    what = "rms_norm backward"; /* dx = s (g dy - x s^2 mean(x g dy)) */
    const float *dy = numbers(3, ROWS * width, -1, 1);
    for (int i = 0; i < ROWS; i++) {
        double inner = 0;
        const double s = (double)scale[i];
        for (int j = 0; j < width; j++)
            inner += (double)x[i * width + j] * (double)gain[j] * (double)dy[i * width + j] / width;
        for (int j = 0; j < width; j++)
            expected[i * width + j] =
                s * ((double)gain[j] * (double)dy[i * width + j] - (double)x[i * width + j] * s * s * inner);
    }
    ops->rms_norm_backward(device, ROWS, width, x, gain, scale, dy, fresh(0), false, NULL);
    check(0, ROWS * width, expected, 1);
}

static void norms(void **state) {
    (void)state;
    for (int k = 0; k < WIDTHS; k++) norms_of(widths[k]);
}

/* Rows of very different size side by side: each is its own. */
static void softmaxes_of(int width) {
    for (int masked = 0; masked < 2; masked++) {
        static const double sizes[] = {1, 80, 0.001, 1000, 10, 1e-20};
        float *x = numbers(0, ROWS * width, -1, 1);
        static uint8_t mask[MOST];
        static double logs[MOST];
        for (int i = 0; i < ROWS * width; i++) {
            x[i] *= (float)sizes[i / width % 6];
            x[i] += i / width % 4 == 3 ? 500.0f : 0.0f;
            mask[i] = (i * 7919 % 5) != 0 || i % width == 0;
        }
        for (int i = 0; i < ROWS; i++) {
            double largest = -INFINITY, sum = 0;
            for (int j = i * width; j < (i + 1) * width; j++)
                if (!masked || mask[j]) largest = fmax(largest, 0.5 * (double)x[j]);
            for (int j = i * width; j < (i + 1) * width; j++)
                if (!masked || mask[j]) sum += exp(0.5 * (double)x[j] - largest);
            for (int j = i * width; j < (i + 1) * width; j++) {
                const bool in_it = !masked || mask[j];
                expected[j] = in_it ? exp(0.5 * (double)x[j] - largest) / sum : 0;
                logs[j] = in_it ? 0.5 * (double)x[j] - largest - log(sum) : -3.4028234663852886e38;
            }
        }
        what = masked ? "softmax, masked" : "softmax";
        ops->softmax(device, ROWS, width, 0.5, x, masked ? mask : NULL, fresh(0));
        check(0, ROWS * width, expected, 1e-3);
        what = masked ? "log_softmax, masked" : "log_softmax";
        ops->log_softmax(device, ROWS, width, 0.5, x, masked ? mask : NULL, fresh(0));
        check(0, ROWS * width, logs, 50);
    }
}

static void softmaxes(void **state) {
    (void)state;
    for (int k = 0; k < WIDTHS; k++) softmaxes_of(widths[k]);
}

static void distributions(void **state) {
    (void)state;
    const float *logits = numbers(0, ROWS * WIDTH, -3, 3), *u = numbers(1, ROWS, 0, 1);
    int32_t action[ROWS + 1], wanted[ROWS];
    double log_prob[ROWS], entropy[ROWS];
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, below = 0;
        for (int j = 0; j < WIDTH; j++) sum += exp((double)logits[i * WIDTH + j]);
        wanted[i] = -1;
        entropy[i] = 0;
        for (int j = 0; j < WIDTH; j++) {
            const double p = exp((double)logits[i * WIDTH + j]) / sum;
            below += p;
            if (wanted[i] < 0 && below > (double)u[i]) wanted[i] = j;
            entropy[i] -= p * log(p);
        }
        log_prob[i] = (double)logits[i * WIDTH + wanted[i]] - log(sum);
    }
    what = "categorical_sample";
    action[ROWS] = 4711;
    ops->categorical_sample(device, ROWS, WIDTH, logits, NULL, NULL, u, action, fresh(0));
    for (int i = 0; i < ROWS; i++) assert_int_equal(action[i], wanted[i]);
    assert_int_equal(action[ROWS], 4711);
    check(0, ROWS, log_prob, 1);
    what = "categorical_log_prob";
    ops->categorical_log_prob(device, ROWS, WIDTH, logits, NULL, wanted, fresh(0), fresh(1));
    check(0, ROWS, log_prob, 1);
    check(1, ROWS, entropy, 1);
    what = "gaussian_log_prob";
    const float *mean = numbers(2, ROWS * 3, -1, 1), *log_std = numbers(3, 3, -1, 0.5),
                *taken = numbers(4, ROWS * 3, -2, 2);
    for (int i = 0; i < ROWS; i++) {
        log_prob[i] = entropy[i] = 0;
        for (int j = 0; j < 3; j++) {
            const double s = exp((double)log_std[j]),
                         z = ((double)taken[i * 3 + j] - (double)mean[i * 3 + j]) / s;
            log_prob[i] += -0.5 * z * z - log(s) - 0.5 * log(2 * M_PI);
            entropy[i] += 0.5 + 0.5 * log(2 * M_PI) + log(s);
        }
    }
    ops->gaussian_log_prob(device, ROWS, 3, mean, log_std, 0, taken, fresh(0), fresh(1));
    check(0, ROWS, log_prob, 1);
    check(1, ROWS, entropy, 1);
    what = "gaussian_sample";
    for (int i = 0; i < ROWS * 3; i++)
        expected[i] = (double)mean[i] + exp((double)log_std[i % 3]) * (double)taken[i];
    ops->gaussian_sample(device, ROWS, 3, mean, log_std, 0, NULL, taken, fresh(0), NULL);
    check(0, ROWS * 3, expected, 1);
}

/* Edges listed by their source, against a search for each of them; a graph may have no nodes. */
static void edges_by_source(void **state) {
    (void)state;
    enum { EDGES = 40, NODES = 6 };
    for (int64_t n_nodes = 0; n_nodes <= NODES; n_nodes++) {
        int32_t offsets[NODES + 1] = {0}, source[EDGES] = {0}, target[EDGES] = {0}, edges[EDGES] = {0};
        int32_t room[NODES + 2], *by_source = room + 1, n = 0, listed = 0;
        for (int i = 0; i < NODES + 2; i++) room[i] = 7; /* what stands before and behind is nobody's */
        for (int i = 0; i < n_nodes; i++) {
            for (int k = 0; k < (i * 5) % 7; k++) source[n++] = (int32_t)((i * 3 + k * k) % n_nodes);
            offsets[i + 1] = n;
        }
        lud_edges_by_source(n_nodes, n, offsets, source, target, by_source, edges);
        assert_int_equal(by_source[0], 0);
        for (int32_t s = 0; s < n_nodes; s++) {
            for (int32_t e = 0; e < n; e++)
                if (source[e] == s) assert_int_equal(edges[listed++], e);
            assert_int_equal(by_source[s + 1], listed);
        }
        for (int32_t i = 0; i < n_nodes; i++)
            for (int32_t e = offsets[i]; e < offsets[i + 1]; e++) assert_int_equal(target[e], i);
        assert_int_equal(room[0], 7);
        for (int64_t i = n_nodes + 2; i < NODES + 2; i++) assert_int_equal(room[i], 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_by_source),    cmocka_unit_test(elementwise), cmocka_unit_test(maps),
        cmocka_unit_test(slopes_at_the_ends), cmocka_unit_test(sums),        cmocka_unit_test(long_sums),
        cmocka_unit_test(products),           cmocka_unit_test(images),      cmocka_unit_test(rows),
        cmocka_unit_test(wide_segments),      cmocka_unit_test(norms),       cmocka_unit_test(softmaxes),
        cmocka_unit_test(distributions)};
    return run_with_every_set(tests, sizeof tests / sizeof *tests);
}
