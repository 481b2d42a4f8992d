/* As test_references.c: the same operations in their other forms. What may be added is added, what may be
 * null is null, what may be asked for is asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_references.h"

/* An output that holds `value` where it will be added to. */
static float *filled(int k, int64_t n, float value) {
    fresh(k);
    for (int64_t i = 0; i < n; i++) out[k][i] = value;
    return out[k];
}

static void added(void **state) {
    (void)state;
    const int64_t n = ROWS * WIDTH;
    const float *a = numbers(0, n, -2, 2), *b = numbers(1, n, -3, 3), *dy = numbers(2, n, -1, 1);
    double other[MOST];
    for (int add = 0; add < 2; add++) {
        const double held = add ? 5 : 0;
        what = "multiply_backward";
        for (int64_t i = 0; i < n; i++) {
            expected[i] = held + (double)dy[i] * (double)b[i];
            other[i] = held + (double)dy[i] * (double)a[i];
        }
        ops->multiply_backward(device, n, a, b, dy, filled(0, n, 5), filled(1, n, 5), add);
        check(0, n, expected, 1);
        check(1, n, other, 1);
        ops->multiply_backward(device, n, a, b, dy, NULL, filled(1, n, 5), add);
        check(1, n, other, 1);
        ops->multiply_backward(device, n, a, b, dy, filled(0, n, 5), NULL, add);
        check(0, n, expected, 1);
        what = "sum_groups"; /* [19][37] read as [1][19][37] and as [19][37][1] */
        for (int j = 0; j < WIDTH; j++) expected[j] = held;
        for (int i = 0; i < ROWS; i++) other[i] = held;
        for (int64_t i = 0; i < n; i++) {
            expected[i % WIDTH] += 0.25 * (double)a[i];
            other[i / WIDTH] += 0.25 * (double)a[i];
        }
        ops->sum_groups(device, 1, ROWS, WIDTH, 0.25, a, filled(0, WIDTH, 5), add);
        check(0, WIDTH, expected, 1);
        ops->sum_groups(device, ROWS, WIDTH, 1, 0.25, a, filled(0, ROWS, 5), add);
        check(0, ROWS, other, 1);
        what = "broadcast_groups";
        for (int64_t i = 0; i < n; i++) expected[i] = held + 0.5 * (double)a[i / WIDTH];
        ops->broadcast_groups(device, ROWS, WIDTH, 1, 0.5, a, filled(0, n, 5), add);
        check(0, n, expected, 1);
        what = "copy_block";
        for (int i = 0; i < ROWS * 9; i++)
            expected[i] = i % 9 < 5 ? held + (double)a[i / 9 * WIDTH + i % 9] : 5;
        ops->copy_block(device, ROWS, 5, a, WIDTH, filled(0, ROWS * 9, 5), 9, add);
        check(0, ROWS * 9, expected, 1);
        what = "softmax_backward"; /* y need not sum to 1 */
        for (int i = 0; i < ROWS; i++) {
            double inner = 0;
            for (int j = i * WIDTH; j < (i + 1) * WIDTH; j++) inner += (double)a[j] * (double)dy[j];
            for (int j = i * WIDTH; j < (i + 1) * WIDTH; j++)
                expected[j] = held + 0.7 * (double)a[j] * ((double)dy[j] - inner);
        }
        ops->softmax_backward(device, ROWS, WIDTH, 0.7, a, dy, filled(0, n, 5), add);
        check(0, n, expected, 10);
    }
    what = "combine"; /* one array alone */
    for (int64_t i = 0; i < n; i++) expected[i] = 0.3 * (double)a[i];
    ops->combine(device, n, 0.3, a, 7, NULL, fresh(0));
    check(0, n, expected, 0);
    what = "transpose"; /* several blocks */
    for (int i = 0; i < ROWS * WIDTH; i++) expected[i] = (double)a[i];
    ops->transpose(device, ROWS, 1, WIDTH, a, fresh(0));
    check(0, n, expected, 0);
    for (int i = 0; i < 3 * 5 * 7; i++) expected[i / 35 * 35 + i % 7 * 5 + i / 7 % 5] = (double)a[i];
    ops->transpose(device, 3, 5, 7, a, fresh(0));
    check(0, 3 * 5 * 7, expected, 0);
}

static void products(void **state) {
    (void)state;
    enum { M = 11, N = 23, K = 29, STRIDE = 31 };
    const float *a = numbers(0, K * STRIDE, -1, 1), *b = numbers(1, K * STRIDE, -1, 1);
    static const double betas[] = {1, 0.5, 0};
    static const int sizes[][3] = {{M, N, K}, {2, 9, 5}, {1, 4, 3}, {3, 1, 2}, {7, 6, 1}}; /* m, n, k */
    what = "matmul"; /* rows longer than the matrices; what is there counts too, but for beta 0: it is not
                        read */
    for (int form = 0; form < 12 * (int)(sizeof sizes / sizeof *sizes); form++) {
        const bool ta = form & 1, tb = form & 2;
        const double beta = betas[(form >> 2) % 3];
        const int m = sizes[form / 12][0], n = sizes[form / 12][1], terms = sizes[form / 12][2];
        for (int i = 0; i < m * STRIDE; i++) {
            double s = i % STRIDE < n ? beta * (5 + i % 3) : 5 + i % 3;
            for (int k = 0; k < terms && i % STRIDE < n; k++)
                s += 0.7 * (double)(ta ? a[k * STRIDE + i / STRIDE] : a[i / STRIDE * STRIDE + k]) *
                     (double)(tb ? b[i % STRIDE * STRIDE + k] : b[k * STRIDE + i % STRIDE]);
            expected[i] = s;
        }
        filled(0, m * STRIDE, 5);
        for (int i = 0; i < m * STRIDE; i++)
            out[0][i] = beta == 0 && i % STRIDE < n ? NAN : (float)(5 + i % 3);
        ops->matmul(device, ta, tb, m, n, terms, 0.7, a, STRIDE, b, STRIDE, beta, out[0], STRIDE);
        check(0, m * STRIDE, expected, 1);
    }
    what = "linear"; /* without a bias, kept before the map and not */
    const float *x = numbers(0, M * K, -1, 1), *w = numbers(1, N * K, -1, 1);
    double raw[M * N];
    for (int i = 0; i < M * N; i++) {
        raw[i] = 0;
        for (int k = 0; k < K; k++) raw[i] += (double)x[i / N * K + k] * (double)w[i % N * K + k];
        expected[i] = fmax(raw[i], 0);
    }
    ops->linear(device, (lud_map){LUD_MAP_RELU, 0, 0}, M, K, N, x, w, NULL, fresh(1), fresh(0));
    check(0, M * N, expected, 1);
    check(1, M * N, raw, 1);
    ops->linear(device, (lud_map){LUD_MAP_RELU, 0, 0}, M, K, N, x, w, NULL, NULL, fresh(0));
    check(0, M * N, expected, 1);
    ops->linear(device, (lud_map){LUD_MAP_IDENTITY, 0, 0}, M, K, N, x, w, NULL, NULL, fresh(0));
    check(0, M * N, raw, 1);
    what = "linear_packed"; /* added, and of every count of rows that is taken together */
    float *packed = calloc((size_t)lud_pack_numbers(N, K), sizeof *packed);
    assert_non_null(packed);
    ops->pack_weights(device, false, N, K, w, packed);
    for (int rows = 0; rows <= M; rows++) {
        for (int i = 0; i < rows * N; i++) expected[i] = 5 + raw[i];
        ops->linear_packed(device, false, rows, K, N, x, packed, filled(0, rows * N, 5), true);
        check(0, rows * N, expected, 1);
    }
    free(packed);
}

/* Strides, borders, kernels of one; places of what is largest. */
static void images(void **state) {
    (void)state;
    enum { IN = 3, OUT = 4, H = 9, W = 8 };
    for (int kernel = 1; kernel <= 4; kernel++)
        for (int stride = 1; stride <= 3; stride++)
            for (int padding = 0; padding < kernel; padding++) {
                const lud_conv shape = {2, IN, H, W, OUT, kernel, stride, padding};
                const int rows = (int)lud_conv_height_out(&shape), columns = (int)lud_conv_width_out(&shape);
                const int n = 2 * OUT * rows * columns;
                const float *x = numbers(0, 2 * IN * H * W, -1, 1),
                            *w = numbers(1, OUT * IN * kernel * kernel, -1, 1);
                assert_int_equal(rows, (H + 2 * padding - kernel) / stride + 1);
                what = "conv2d";
                for (int i = 0; i < n; i++) {
                    const int column = i % columns, row = i / columns % rows,
                              channel = i / columns / rows % OUT, image = i / columns / rows / OUT;
                    expected[i] = 0;
                    for (int k = 0; k < IN * kernel * kernel; k++) {
                        const int y = row * stride + k / kernel % kernel - padding,
                                  z = column * stride + k % kernel - padding;
                        if (y < 0 || y >= H || z < 0 || z >= W) continue;
                        expected[i] += (double)x[((image * IN + k / (kernel * kernel)) * H + y) * W + z] *
                                       (double)w[channel * IN * kernel * kernel + k];
                    }
                }
                ops->conv2d(device, (lud_map){LUD_MAP_IDENTITY, 0, 0}, &shape, x, w, NULL, NULL, fresh(0));
                check(0, n, expected, 1);
            }
    for (int size = 1; size <= 4; size++) {
        const int rows = H / size, columns = W / size, n = 6 * rows * columns;
        float *x = numbers(0, 6 * H * W, -1, 1);
        for (int i = 0; i < 6 * H * W; i += 5) x[i] = 0.75f; /* several that are as large */
        int32_t place[6 * H * W + 1], wanted[6 * H * W];
        what = "max_pool";
        place[n] = 4711;
        for (int i = 0; i < n; i++) {
            wanted[i] = -1;
            for (int k = 0; k < size * size; k++) {
                const int at = (i / columns % rows * size + k / size) * W + i % columns * size + k % size;
                const float *plane = x + i / columns / rows * H * W;
                if (wanted[i] < 0 || plane[at] > plane[wanted[i]]) wanted[i] = at;
            }
            expected[i] = (double)x[i / columns / rows * H * W + wanted[i]];
        }
        ops->max_pool(device, 6, H, W, size, x, fresh(0), place);
        check(0, n, expected, 0);
        for (int i = 0; i < n; i++) assert_int_equal(place[i], wanted[i]);
        assert_int_equal(place[n], 4711);
    }
}

/* 3 x 3 on images of every width and height that fit into registers, or nearly: few and many channels and
 * filters, with a bias, through a ReLU that keeps what came before; and what that does to the images'
 * gradient. */
static void small_images(void **state) { /* with steps of one cell and of two */
    (void)state;
    static const int filters[] = {1, 7, 16, 17, 20}, channels[] = {3, 17, 1};
    enum { IMAGES = 2, SIDES = 10, MOST_FILTERS = 20, MOST_CHANNELS = 17, TAPS = 9 };
    for (int form = 0; form < 2 * SIDES * SIDES; form++) {
        const int stride = 1 + form / (SIDES * SIDES), height = 1 + form / SIDES % SIDES,
                  width = 1 + form % SIDES;
        const int n_filters = filters[(height + width) % 5], n_channels = channels[(height + 2 * width) % 3];
        const lud_conv shape = {IMAGES, n_channels, height, width, n_filters, 3, stride, 1};
        const int columns = (int)lud_conv_width_out(&shape), cells = height * width,
                  cells_out = (int)lud_conv_height_out(&shape) * columns;
        const int n = IMAGES * n_filters * cells_out, n_in = IMAGES * n_channels * cells;
        assert_int_equal(cells_out, ((height + stride - 1) / stride) * ((width + stride - 1) / stride));
        const float *x = numbers(0, n_in, -1, 1), *w = numbers(1, n_filters * n_channels * TAPS, -1, 1),
                    *b = numbers(2, n_filters, -1, 1), *dy = numbers(3, n, -1, 1);
        static double raw[IMAGES * MOST_FILTERS * SIDES * SIDES], dx[IMAGES * MOST_CHANNELS * SIDES * SIDES];
        for (int i = 0; i < n_in; i++) dx[i] = 0;
        for (int i = 0; i < n; i++) {
            const int column = i % columns, row = i / columns % (cells_out / columns),
                      filter = i / cells_out % n_filters, image = i / cells_out / n_filters;
            raw[i] = (double)b[filter];
            for (int k = 0; k < n_channels * TAPS; k++) {
                const int y = row * stride + k / 3 % 3 - 1, z = column * stride + k % 3 - 1;
                if (y < 0 || y >= height || z < 0 || z >= width) continue;
                const int at = (image * n_channels + k / TAPS) * cells + y * width + z;
                raw[i] += (double)x[at] * (double)w[filter * n_channels * TAPS + k];
                dx[at] += (double)dy[i] * (double)w[filter * n_channels * TAPS + k];
            }
            expected[i] = fmax(raw[i], 0);
        }
        what = "conv2d of small images";
        ops->conv2d(device, (lud_map){LUD_MAP_RELU, 0, 0}, &shape, x, w, b, fresh(1), fresh(0));
        check(0, n, expected, 3);
        check(1, n, raw, 3);
        ops->conv2d(device, (lud_map){LUD_MAP_RELU, 0, 0}, &shape, x, w, b, NULL, fresh(0));
        check(0, n, expected, 3);
        what = "conv2d_backward of small images";
        ops->conv2d_backward(device, (lud_map){LUD_MAP_IDENTITY, 0, 0}, &shape, x, w, NULL, NULL, dy, NULL,
                             fresh(0), false, NULL, NULL);
        check(0, n_in, dx, 3);
        for (int i = 0; i < n_in; i++) dx[i] += 5;
        ops->conv2d_backward(device, (lud_map){LUD_MAP_IDENTITY, 0, 0}, &shape, x, w, NULL, NULL, dy, NULL,
                             filled(0, n_in, 5), true, NULL, NULL);
        check(0, n_in, dx, 3);
    }
}

/* The largest of squares of two, as when nobody asks where it stood, in rows of every length. */
static void pooled_pairs(void **state) {
    (void)state;
    enum { PLANES = 3, H = 5, WIDEST = 40 };
    what = "max_pool of pairs";
    for (int width = 2; width <= WIDEST; width++) {
        const int columns = width / 2, n = PLANES * (H / 2) * columns;
        const float *x = numbers(0, PLANES * H * width, -1, 1);
        for (int i = 0; i < n; i++) {
            const float *top =
                x + (i / columns / (H / 2) * H + i / columns % (H / 2) * 2) * width + i % columns * 2;
            expected[i] = (double)fmaxf(fmaxf(top[0], top[1]), fmaxf(top[width], top[width + 1]));
        }
        ops->max_pool(device, PLANES, H, width, 2, x, fresh(0), NULL);
        check(0, n, expected, 0);
    }
}

static void segments(void **state) {
    (void)state;
    static const int32_t offsets[] = {0, 3, 3, 4, 12, ROWS};
    float *x = numbers(0, ROWS * WIDTH, -1, 1);
    for (int i = 0; i < ROWS * WIDTH; i += 7) x[i] = 0.5f;
    int32_t index[ROWS], place[5 * WIDTH + 1], wanted[5 * WIDTH];
    for (int i = 0; i < ROWS; i++) index[i] = i * 7 % ROWS;
    for (int kind = 0; kind < 3; kind++) {
        what = "segment_reduce, by index";
        for (int i = 0; i < 5 * WIDTH; i++) {
            const int first = offsets[i / WIDTH], end = offsets[i / WIDTH + 1];
            double value = first < end && kind == 2 ? -INFINITY : 0;
            wanted[i] = -1;
            for (int e = first; e < end; e++) {
                const double v = (double)x[index[e] * WIDTH + i % WIDTH];
                if (kind == 2 && v > value) wanted[i] = e;
                value = kind == 2 ? fmax(value, v) : value + (kind == 1 ? v / (end - first) : v);
            }
            expected[i] = value;
        }
        place[5 * WIDTH] = 4711;
        ops->segment_reduce(device, (lud_reduce)kind, 5, WIDTH, offsets, index, x, fresh(0),
                            kind == 2 ? place : NULL);
        check(0, 5 * WIDTH, expected, 1);
        for (int i = 0; i < 5 * WIDTH && kind == 2; i++) assert_int_equal(place[i], wanted[i]);
        assert_int_equal(place[5 * WIDTH], 4711);
    }
    what = "scatter_add"; /* without weights */
    for (int i = 0; i < ROWS; i++) index[i] = i % 6 == 5 ? -1 : i % 4;
    for (int i = 0; i < 4 * WIDTH; i++) expected[i] = 5;
    for (int i = 0; i < ROWS * WIDTH; i++)
        if (index[i / WIDTH] >= 0) expected[index[i / WIDTH] * WIDTH + i % WIDTH] += (double)x[i];
    ops->scatter_add(device, ROWS, WIDTH, 4, x, NULL, index, filled(0, 4 * WIDTH, 5));
    check(0, 4 * WIDTH, expected, 1);
}

/* Masked choices; a row that is all masked counts as uniform; deviations of every row. */
static void distributions(void **state) {
    (void)state;
    const float *logits = numbers(0, ROWS * WIDTH, -3, 3);
    uint8_t mask[ROWS * WIDTH];
    int32_t action[ROWS];
    double entropy[ROWS];
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        action[i] = i * 5 % WIDTH;
        entropy[i] = 0;
        for (int j = 0; j < WIDTH; j++)
            mask[i * WIDTH + j] = i % 5 != 4 && ((i * 31 + j * 7919) % 3 != 0 || j == action[i]);
        mask[i * WIDTH + action[i]] = i % 7 != 3 && i % 5 != 4; /* some chose what they may not */
        for (int j = 0; j < WIDTH; j++)
            sum += i % 5 == 4 ? 1 : mask[i * WIDTH + j] ? exp((double)logits[i * WIDTH + j]) : 0;
        for (int j = 0; j < WIDTH; j++) {
            const double p = (i % 5 == 4            ? 1
                              : mask[i * WIDTH + j] ? exp((double)logits[i * WIDTH + j])
                                                    : 0) /
                             sum;
            if (p > 0) entropy[i] -= p * log(p);
            if (j == action[i]) expected[i] = p > 0 ? log(p) : -3.4028234663852886e38;
        }
    }
    what = "categorical_log_prob";
    ops->categorical_log_prob(device, ROWS, WIDTH, logits, mask, action, fresh(0), fresh(1));
    check(0, ROWS, expected, 1);
    check(1, ROWS, entropy, 1);
    ops->categorical_log_prob(device, ROWS, WIDTH, logits, mask, action, fresh(0), NULL);
    check(0, ROWS, expected, 1);
    ops->categorical_log_prob(device, ROWS, WIDTH, logits, mask, action, NULL, fresh(1));
    check(1, ROWS, entropy, 1);
    what = "cross_entropy_loss"; /* the mean over rows with a target, weighted and masked */
    const float *weight = numbers(1, ROWS, 0, 2);
    double slope[ROWS * WIDTH];
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        const int target = i % 5 == 2 ? -1 : action[i];
        if (target >= 0 && i % 5 != 4) mask[i * WIDTH + target] = 1;
        for (int j = 0; j < WIDTH; j++)
            sum +=
                i % 5 == 4 || mask[i * WIDTH + j] ? exp(i % 5 == 4 ? 0 : (double)logits[i * WIDTH + j]) : 0;
        for (int j = 0; j < WIDTH; j++) {
            const double p = i % 5 != 4 && mask[i * WIDTH + j] ? exp((double)logits[i * WIDTH + j]) / sum : 0;
            slope[i * WIDTH + j] = target < 0 ? 5 : 5 + 0.4 * (double)weight[i] * (p - (j == target));
        }
        expected[i] = target < 0 ? 0 : log(sum) - (double)logits[i * WIDTH + target];
        action[i] = target;
    }
    for (int add = 0; add < 2; add++) {
        filled(1, ROWS * WIDTH, 5);
        ops->cross_entropy_loss(device, ROWS, WIDTH, logits, mask, action, weight, 0.4, fresh(0), out[1],
                                add != 0);
        for (int i = 0; i < ROWS; i++) {
            if (i % 5 == 4) continue; /* a target that nobody may choose */
            close_to(out[0][i], expected[i], 1, i);
            for (int j = i * WIDTH; j < (i + 1) * WIDTH; j++)
                close_to(out[1][j], slope[j] - (add ? 0 : 5), 1, j);
        }
    }
    what = "gaussian_log_prob"; /* a deviation of each row, in rows that are longer */
    enum { A = 3, STRIDE = 5 };
    const float *mean = numbers(2, ROWS * A, -1, 1), *log_std = numbers(3, ROWS * STRIDE, -1, 0.5),
                *taken = numbers(4, ROWS * A, -2, 2);
    for (int i = 0; i < ROWS; i++) {
        expected[i] = entropy[i] = 0;
        for (int j = 0; j < A; j++) {
            const double s = (double)log_std[i * STRIDE + j],
                         z = ((double)taken[i * A + j] - (double)mean[i * A + j]) / exp(s);
            expected[i] += -0.5 * z * z - s - 0.5 * log(2 * M_PI);
            entropy[i] += 0.5 + 0.5 * log(2 * M_PI) + s;
        }
    }
    ops->gaussian_log_prob(device, ROWS, A, mean, log_std, STRIDE, taken, fresh(0), fresh(1));
    check(0, ROWS, expected, 1);
    check(1, ROWS, entropy, 1);
    ops->gaussian_log_prob(device, ROWS, A, mean, log_std, STRIDE, taken, NULL, fresh(1));
    check(1, ROWS, entropy, 1);
    ops->gaussian_log_prob(device, ROWS, A, mean, log_std, STRIDE, taken, fresh(0), NULL);
    check(0, ROWS, expected, 1);
}

/* Rows of a cache: keys before the queries, a common beginning, more query heads than key heads; with and
 * without a look ahead; scores near each other, and scores that lie hundreds apart, seen and not seen. */
static void attention(void **state) {
    (void)state;
    enum { R = 4, HEADS = 4, KV = 2, MOST_KEYS = 12, CACHE = 4 + R * MOST_KEYS };
    static const int head_dims[] = {1, 4, 8, 17};
    static const int32_t queries[] = {0, 5, 6, 6, 13}, prefix_at[] = {0, 1, 0, 2}, prefix[] = {0, 3, 2, 1};
    static const int32_t own[] = {7, 1, 4,
                                  6}; /* the last row has as many queries as keys with its beginning */
    int32_t at[R];
    for (int r = 0; r < R; r++) at[r] = 4 + MOST_KEYS * r;
    for (int form = 0; form < 4 * 2 * 2; form++) {
        const bool causal = form & 1, apart = form & 2;
        const int d = head_dims[form >> 2], n = queries[R];
        const double scale = apart ? 32 : 0.3;
        const lud_attention shape = {.n_rows = R,
                                     .n_tokens = n,
                                     .heads = HEADS,
                                     .kv_heads = KV,
                                     .head_dim = d,
                                     .max_keys = MOST_KEYS,
                                     .scale = scale,
                                     .causal = causal,
                                     .query_offsets = queries,
                                     .key_offsets = at,
                                     .key_lengths = own,
                                     .prefix_offsets = prefix_at,
                                     .prefix_lengths = prefix};
        float *q = numbers(0, n * HEADS * d, -2, 2), *keys = numbers(1, CACHE * KV * d, -2, 2);
        const float *v = numbers(2, CACHE * KV * d, -2, 2);
        for (int i = 0; i < n * HEADS * d && apart; i++) q[i] = roundf(8 * q[i]) / 8; /* exact scores */
        for (int i = 0; i < CACHE * KV * d && apart; i++) keys[i] = roundf(8 * keys[i]) / 8;
        double log_sum[64];
        for (int r = 0; r < R; r++)
            for (int t = queries[r]; t < queries[r + 1]; t++)
                for (int h = 0; h < HEADS; h++) {
                    const int all = prefix[r] + own[r], seen = causal ? all - (queries[r + 1] - 1 - t) : all;
                    double sum = 0, value[17] = {0}, scores[MOST_KEYS], largest = -INFINITY;
                    for (int s = 0; s < seen; s++) {
                        const int token = s < prefix[r] ? prefix_at[r] + s : at[r] + s - prefix[r];
                        const int place = (token * KV + h / (HEADS / KV)) * d;
                        scores[s] = 0;
                        for (int i = 0; i < d; i++)
                            scores[s] += scale * (double)q[(t * HEADS + h) * d + i] * (double)keys[place + i];
                        largest = fmax(largest, scores[s]);
                    }
                    for (int s = 0; s < seen; s++) {
                        const int token = s < prefix[r] ? prefix_at[r] + s : at[r] + s - prefix[r];
                        const int place = (token * KV + h / (HEADS / KV)) * d;
                        const double power = exp(scores[s] - largest);
                        sum += power;
                        for (int i = 0; i < d; i++) value[i] += power * (double)v[place + i];
                    }
                    log_sum[t * HEADS + h] = largest + log(sum);
                    for (int i = 0; i < d; i++) expected[(t * HEADS + h) * d + i] = value[i] / sum;
                }
        what = "attention";
        ops->attention(device, &shape, q, keys, v, fresh(0), fresh(1));
        check(0, n * HEADS * d, expected, 1);
        check(1, n * HEADS, log_sum, 1);
        ops->attention(device, &shape, q, keys, v, fresh(0), NULL);
        check(0, n * HEADS * d, expected, 1);
    }
}

/* Turned there and back; a head of odd size keeps its last number. */
static void rotary(void **state) {
    (void)state;
    for (int d = 1; d <= 19; d++)
        for (int inverse = 0; inverse < 2; inverse++) {
            enum { TOKENS = 7, HEADS = 3 };
            const int n = TOKENS * HEADS * d;
            const float *x = numbers(0, n, -2, 2);
            int32_t position[TOKENS];
            for (int t = 0; t < TOKENS; t++) position[t] = t * t * 5 % 90;
            for (int i = 0; i < n; i++) {
                const int j = i % d;
                const double angle =
                    (inverse ? -1 : 1) * position[i / (HEADS * d)] * pow(50.0, -(double)(j / 2 * 2) / d);
                expected[i] = j / 2 * 2 + 1 == d ? (double)x[i]
                              : j % 2 == 0       ? (double)x[i] * cos(angle) - (double)x[i + 1] * sin(angle)
                                                 : (double)x[i] * cos(angle) + (double)x[i - 1] * sin(angle);
            }
            what = "rotary";
            ops->rotary(device, TOKENS, HEADS, d, 50, position, inverse, x, fresh(0));
            check(0, n, expected, 2);
        }
}

/* Edges with features; heads that fill registers, and heads that leave some of one. */
static void graph_attention(void **state) {
    (void)state;
    enum { NODES = 21, HEADS = 2, MOST_EDGES = 64, MOST_CHANNELS = 65 };
    static const int channel_counts[] = {1, 3, 8, 9, 16, 17, 24, 31, 33, 63, 64, 65};
    int32_t into[NODES + 1] = {0}, from[MOST_EDGES];
    for (int i = 0; i < NODES; i++) {
        into[i + 1] = into[i];
        for (int k = 0; k < i * 5 % 6; k++) from[into[i + 1]++] = (i * 7 + k * k * 3) % NODES;
    }
    const lud_edges edges = {.n_nodes = NODES, .n_edges = into[NODES], .offsets = into, .source = from};
    for (size_t k = 0; k < sizeof channel_counts / sizeof *channel_counts; k++)
        for (int features = 0; features < 4; features++) {
            const int c = channel_counts[k], width = HEADS * c;
            const float *q = numbers(0, NODES * width, -1, 1), *key = numbers(1, NODES * width, -1, 1),
                        *v = numbers(2, NODES * width, -1, 1), *d = numbers(3, into[NODES] * features, -1, 1),
                        *we = numbers(4, width * features, -1, 1);
            double share[MOST_EDGES * HEADS];
            for (int i = 0; i < NODES; i++)
                for (int h = 0; h < HEADS; h++) {
                    double sum = 1e-16, largest = -INFINITY, value[MOST_CHANNELS] = {0}, scores[MOST_EDGES],
                           e_ij[MOST_EDGES][MOST_CHANNELS];
                    for (int e = into[i]; e < into[i + 1]; e++) {
                        scores[e] = 0;
                        for (int j = 0; j < c; j++) {
                            e_ij[e][j] = 0;
                            for (int f = 0; f < features; f++)
                                e_ij[e][j] +=
                                    (double)we[(h * c + j) * features + f] * (double)d[e * features + f];
                            scores[e] += (double)q[i * width + h * c + j] *
                                         ((double)key[from[e] * width + h * c + j] + e_ij[e][j]) / sqrt(c);
                        }
                        largest = fmax(largest, scores[e]);
                    }
                    for (int e = into[i]; e < into[i + 1]; e++) sum += exp(scores[e] - largest);
                    for (int e = into[i]; e < into[i + 1]; e++) {
                        share[e * HEADS + h] = exp(scores[e] - largest) / sum;
                        for (int j = 0; j < c; j++)
                            value[j] +=
                                share[e * HEADS + h] * ((double)v[from[e] * width + h * c + j] + e_ij[e][j]);
                    }
                    for (int j = 0; j < c; j++) expected[i * width + h * c + j] = value[j];
                }
            what = "graph_attention";
            ops->graph_attention(device, &edges, HEADS, c, features, q, key, v, features ? d : NULL,
                                 features ? we : NULL, fresh(1), fresh(0));
            check(0, NODES * width, expected, 1);
            check(1, into[NODES] * HEADS, share, 1);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(added),         cmocka_unit_test(products),
                                       cmocka_unit_test(images),        cmocka_unit_test(small_images),
                                       cmocka_unit_test(pooled_pairs),  cmocka_unit_test(segments),
                                       cmocka_unit_test(distributions), cmocka_unit_test(attention),
                                       cmocka_unit_test(rotary),        cmocka_unit_test(graph_attention)};
    return run_with_every_set(tests, sizeof tests / sizeof *tests);
}
