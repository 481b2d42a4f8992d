/* As test_references.c, of the operations that are no sums of products: draws and what is made of them,
 * compact grids, numbers as bytes, filtered logits, windows, and PopArt's rescaling. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_references.h"

/* A whole number below n that goes by two numbers alone. */
static int32_t below(uint32_t a, uint32_t b, int32_t n) {
    return (int32_t)(lud_draw((lud_random_key){91, a}, b, 0, LUD_PURPOSE_USER, 1).v[0] % (uint32_t)n);
}

/* Of a standard normal number, the share that lies below it. */
static double normal_share(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

/* ---- draws ---- */

/* Lengths around four words, a vector of each instruction set, and a block. */
static const int64_t lengths[] = {0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 703, MOST - 1, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void random_numbers(void **state) {
    (void)state;
    const uint64_t seed = 0xabcdef0123456789ull;
    const lud_random_key key = {seed, 6};
    for (int k = 0; k < LENGTHS; k++) {
        const int64_t n = lengths[k];
        what = "random_uniform";
        for (int64_t i = 0; i < n; i++)
            expected[i] =
                -1.5 + 4 * lud_unit(lud_draw(key, 8, (uint32_t)(i / 4), LUD_PURPOSE_PARAMETERS, 0).v[i % 4]);
        ops->random_uniform(device, n, seed, 6, 8, -1.5, 2.5, fresh(0));
        check(0, n, expected, 1);
        for (int64_t i = 0; i < n; i++) assert_true(out[0][i] >= -1.5f && out[0][i] < 2.5f);
        what = "random_normal"; /* the share of normal numbers below each is the word that it was made of */
        ops->random_normal(device, n, seed, 6, 8, 1.5, fresh(0));
        for (int64_t i = 0; i < n; i++) {
            const uint32_t word = lud_draw(key, 8, (uint32_t)(i / 4), LUD_PURPOSE_PARAMETERS, 0).v[i % 4];
            const double share = normal_share((double)out[0][i] / 1.5);
            if (fabs(share - lud_unit(word)) > 1e-6)
                fail_msg("%s: number %lld of %lld is above %.9g of all, expected %.9g", what, (long long)i,
                         (long long)n, share, lud_unit(word));
        }
        for (int64_t i = n; i < n + GUARD; i++) assert_true(out[0][i] == untouched);
        const float *x = numbers(0, n, -2, 2);
        const uint32_t added = 5;
        /* no step added; one in device memory; a rate of 0; of 1; of a draw, which is kept */
        const double drawn = lud_unit(lud_draw(key, 8, 0, LUD_PURPOSE_DROPOUT, 0).v[0]);
        for (int form = 0; form < 5; form++) {
            const double rate = form < 2 ? 0.3 : form < 4 ? form - 2 : drawn;
            what = "dropout";
            for (int64_t i = 0; i < n; i++) {
                const uint32_t word =
                    lud_draw(key, form == 1 ? 13 : 8, (uint32_t)(i / 4), LUD_PURPOSE_DROPOUT, 0).v[i % 4];
                expected[i] = lud_unit(word) >= rate ? (double)x[i] / (1 - rate) : 0;
            }
            ops->dropout(device, n, rate, seed, 6, 8, form == 1 ? &added : NULL, 0, x, fresh(0));
            check(0, n, expected, 0);
        }
    }
}

/* Who draws in a row: environments and agents that are counted, or given; a step that is added or not. */
typedef struct row_draws {
    lud_draws draws;
    uint32_t environment[ROWS], agent[ROWS], added;
} row_draws;

static const lud_draws *some_draws(row_draws *d, int form) {
    *d = (row_draws){.added = 1000};
    d->draws = (lud_draws){.seed = 0x77777777123ull,
                           .first_environment = 4,
                           .n_agents = 3,
                           .step = 21,
                           .step_added = form & 1 ? &d->added : NULL,
                           .purpose = LUD_PURPOSE_ACTION,
                           .lane = 2};
    for (int i = 0; i < ROWS; i++) {
        d->environment[i] = (uint32_t)below(1, (uint32_t)i, 50);
        d->agent[i] = (uint32_t)below(2, (uint32_t)i, 9);
    }
    if (form & 2) d->draws.environment = d->environment;
    if (form & 4) d->draws.agent = d->agent;
    return &d->draws;
}

static lud_words words_of(const row_draws *d, int form, int row, uint32_t block) {
    const lud_random_key key = {0x77777777123ull, form & 2 ? d->environment[row] : 4 + (uint32_t)row / 3};
    return lud_draw(key, form & 1 ? 1021 : 21, form & 4 ? d->agent[row] : (uint32_t)row % 3,
                    LUD_PURPOSE_ACTION, 2 + block);
}

/* Choices by the row's own draw; a row whose choices are all masked draws any of them alike. */
static void drawn_choices(void **state) {
    (void)state;
    static const int widths[] = {1, 2, 7, 8, 9, 16, 33};
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        for (int form = 0; form < 8; form++) {
            const int width = widths[k];
            row_draws d;
            const lud_draws *draws = some_draws(&d, form);
            const float *logits = numbers(0, ROWS * width, -4, 4);
            uint8_t mask[ROWS * 33];
            int32_t action[ROWS + 1];
            for (int i = 0; i < ROWS * width; i++)
                mask[i] = i / width % 5 != 4 && (below(3, (uint32_t)i, 3) > 0 || i % width == 0);
            what = "categorical_sample";
            action[ROWS] = 4711;
            ops->categorical_sample(device, ROWS, width, logits, form % 3 ? mask : NULL, draws, NULL, action,
                                    fresh(0));
            for (int i = 0; i < ROWS; i++) {
                double sum = 0, under = 0, share[33];
                bool any = false;
                for (int j = 0; j < width; j++) any = any || !(form % 3) || mask[i * width + j];
                for (int j = 0; j < width; j++) {
                    const bool in_it = !(form % 3) || mask[i * width + j];
                    share[j] = !any ? 1 : in_it ? exp((double)logits[i * width + j]) : 0;
                    sum += share[j];
                }
                const double u = lud_unit(words_of(&d, form, i, 0).v[0]);
                assert_in_range(action[i], 0, width - 1);
                for (int j = 0; j < action[i]; j++) under += share[j] / sum;
                /* rounding may decide where the draw lies at the border of two */
                if (under > u + 1e-5 || under + share[action[i]] / sum < u - 1e-5 || share[action[i]] == 0)
                    fail_msg("%s: row %d drew %d, whose chances are %.9g .. %.9g, with %.9g", what, i,
                             action[i], under, under + share[action[i]] / sum, u);
                expected[i] = log(share[action[i]] / sum);
            }
            assert_int_equal(action[ROWS], 4711);
            check(0, ROWS, expected, 1);
        }
}

static void drawn_normals(void **state) {
    (void)state;
    static const int widths[] = {1, 3, 4, 5, 9};
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++)
        for (int form = 0; form < 16; form++) {
            const int width = widths[k];
            const bool own = form & 8; /* a deviation of each row */
            row_draws d;
            const lud_draws *draws = some_draws(&d, form);
            const float *mean = numbers(0, ROWS * width, -2, 2), *log_std = numbers(1, ROWS * width, -1, 1);
            what = "gaussian_sample";
            ops->gaussian_sample(device, ROWS, width, mean, log_std, own ? width : 0, draws, NULL, fresh(0),
                                 fresh(1));
            for (int i = 0; i < ROWS; i++) {
                expected[i] = 0;
                for (int j = 0; j < width; j++) {
                    const double log_deviation = (double)log_std[own ? i * width + j : j],
                                 z = ((double)out[0][i * width + j] - (double)mean[i * width + j]) /
                                     exp(log_deviation),
                                 u = lud_unit(words_of(&d, form, i, (uint32_t)j / 4).v[j % 4]);
                    if (fabs(normal_share(z) - u) > 2e-6)
                        fail_msg("%s: number %d of row %d lies above %.9g of all, expected %.9g", what, j, i,
                                 normal_share(z), u);
                    expected[i] -= z * z / 2 + log_deviation + 0.5 * log(2 * M_PI);
                }
            }
            check(1, ROWS, expected, 2);
            for (int64_t i = ROWS * width; i < ROWS * width + GUARD; i++) assert_true(out[0][i] == untouched);
        }
}

/* ---- logits that are left out ---- */

static const double left_out = -3.4028234663852886e38;

/* Row by row: divided, all but the k largest left out, then the smallest as long as no more than 1 - p goes.
 */
static void filtered(int width, double temperature, int k, double p, const float *x, double *y) {
    int largest = 0;
    double total = 0, gone = 0;
    int left = 0;
    for (int j = 0; j < width; j++) largest = x[j] > x[largest] ? j : largest;
    if (temperature == 0) {
        for (int j = 0; j < width; j++) y[j] = j == largest ? (double)x[j] : left_out;
        return;
    }
    for (int j = 0; j < width; j++) {
        int larger = 0;
        for (int i = 0; i < width; i++) larger += x[i] > x[j];
        y[j] = k > 0 && larger >= k ? left_out : (double)x[j] / temperature;
        if (y[j] == left_out) continue;
        total += exp(y[j] - (double)x[largest] / temperature);
        left++;
    }
    for (; p < 1 && left > 1; left--) {
        int smallest = -1;
        for (int j = 0; j < width; j++)
            if (y[j] > left_out && (smallest < 0 || y[j] < y[smallest])) smallest = j;
        const double mass = exp(y[smallest] - (double)x[largest] / temperature);
        if (gone + mass > (1 - p) * total) break;
        gone += mass;
        y[smallest] = left_out;
    }
}

static void logits_filtered(void **state) {
    (void)state;
    static const int widths[] = {1, 2, 9, 37};
    static const struct {
        double temperature, p;
        int k;
    } forms[] = {{1, 1, 0},       {0, 0.5, 3},    {0.6, 1, 0},   {2.5, 1, 1}, {0.7, 1, 4},
                 {0.7, 1, 37},    {1, 0.9, 0},    {0.5, 0.5, 0}, {3, 0.3, 6}, {1, 0.001, 0},
                 {1, 0.9999, 36}, {4, 0.77, 100}, {1, 0, 0},     {0.7, 0, 5}};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            const int width = widths[w];
            float *x = numbers(0, ROWS * width, -3, 3);
            for (int i = 0; i < ROWS && width > 3; i += 3) x[i * width + 2] = x[i * width + 3]; /* ties */
            for (int i = 1; i < ROWS; i += 3) /* of which some go and some stay */
                for (int j = 0; j < width; j++) x[i * width + j] = 0.5f * (float)(j % 3 > 0);
            what = "filter_logits";
            for (int i = 0; i < ROWS; i++) {
                filtered(width, forms[f].temperature, forms[f].k, forms[f].p, x + i * width,
                         expected + i * width);
            }
            ops->filter_logits(device, ROWS, width, forms[f].temperature, forms[f].k, forms[f].p, x,
                               fresh(0));
            check(0, ROWS * width, expected, 1);
        }
}

/* ---- numbers as bytes ---- */

static void bytes_for_numbers(void **state) {
    (void)state;
    static const int groups[] = {1, 3, 8, 37};
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++) {
        enum { OF_ROW = 2, PLACES = ROWS + 3 };
        const int group = groups[k], width = OF_ROW * group;
        float *x = numbers(0, ROWS * width, -3, 2);
        for (int j = 0; j < group; j++) x[4 * width + j] = 0; /* a group without a largest number */
        int32_t index[ROWS];
        int8_t code[PLACES * OF_ROW * 37 + GUARD];
        bool written[PLACES] = {false};
        memset(code, 99, sizeof code);
        fresh(0);
        for (int i = 0; i < ROWS; i++) index[i] = i % 6 == 5 ? -1 : (i * 5 + 2) % PLACES;
        what = "quantise_rows";
        ops->quantise_rows(device, ROWS, width, group, x, index, code, out[0]);
        for (int i = 0; i < ROWS; i++) {
            if (index[i] < 0) continue;
            written[index[i]] = true;
            for (int g = 0; g < OF_ROW; g++) {
                double largest = 0;
                for (int j = 0; j < group; j++)
                    largest = fmax(largest, fabs((double)x[i * width + g * group + j]));
                close_to(out[0][index[i] * OF_ROW + g], largest / 127, 0, index[i] * OF_ROW + g);
                for (int j = 0; j < group; j++) {
                    const double exact =
                        largest > 0 ? (double)x[i * width + g * group + j] / largest * 127 : 0;
                    const int8_t found = code[index[i] * width + g * group + j];
                    if (!(fabs(found - exact) <= 0.5 + 1e-4))
                        fail_msg("%s: code %d of row %d, group %d is %d, expected %.6g", what, j, i, g, found,
                                 exact);
                }
            }
        }
        for (int r = 0; r < PLACES; r++) {
            if (written[r]) continue;
            for (int j = 0; j < width; j++) assert_int_equal(code[r * width + j], 99);
            for (int g = 0; g < OF_ROW; g++) assert_true(out[0][r * OF_ROW + g] == untouched);
        }
        for (int i = PLACES * width; i < PLACES * width + GUARD; i++) assert_int_equal(code[i], 99);
        for (int i = PLACES * OF_ROW; i < PLACES * OF_ROW + GUARD; i++) assert_true(out[0][i] == untouched);
        what = "dequantise_rows";
        const float *scale = numbers(1, ROWS * OF_ROW, 0, 2);
        for (int i = 0; i < ROWS * width; i++) {
            code[i] = (int8_t)(below(4, (uint32_t)i, 255) - 127);
            expected[i] = code[i] * (double)scale[i / group];
        }
        ops->dequantise_rows(device, ROWS, width, group, code, scale, fresh(0));
        check(0, ROWS * width, expected, 0);
    }
}

/* ---- windows ---- */

static void check_windows(const lud_windows *w, const uint8_t *data, lud_padding padding,
                          const uint8_t *value, const uint8_t *found, const int32_t *valid) {
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t first = w->first ? w->first[i] : i, left = (w->end ? w->end[i] : w->n) - first;
        int64_t n = left < w->horizon ? left : w->horizon;
        if (w->length && w->length[i] < n) n = w->length[i];
        if (n < 0) n = 0;
        if (valid) assert_int_equal(valid[i], n);
        for (int64_t k = 0; k < w->horizon; k++)
            for (int64_t b = 0; b < w->row_bytes; b++) {
                int64_t row = first + k; /* -1: zeros, -2: the given one */
                if (k >= n)
                    row = padding == LUD_PAD_VALUE              ? -2
                          : padding == LUD_PAD_LAST && left > 0 ? first + (n > 0 ? n - 1 : 0)
                                                                : -1;
                const uint8_t byte = row == -1 ? 0 : row == -2 ? value[b] : data[row * w->row_bytes + b];
                if (found[(i * w->horizon + k) * w->row_bytes + b] != byte)
                    fail_msg(
                        "gather_windows: byte %lld of row %lld of window %lld (of %lld valid rows of %lld "
                        "bytes) is not that of the data",
                        (long long)b, (long long)k, (long long)i, (long long)n, (long long)w->row_bytes);
            }
    }
}

/* Episodes one behind another, windows anywhere in them; rows of all sizes at which bytes are copied
 * otherwise. */
static void windows_of(int64_t n, int64_t horizon, int64_t row_bytes) {
    const size_t size = (size_t)(n * horizon * row_bytes), rows = (size_t)(n * row_bytes);
    uint8_t *data = malloc(rows + 1), *value = malloc((size_t)row_bytes), *found = NULL;
    assert_int_equal(posix_memalign((void **)&found, 64, size + GUARD), 0);
    int64_t *first = malloc((size_t)n * sizeof *first), *end = malloc((size_t)n * sizeof *end);
    int32_t *length = malloc((size_t)n * sizeof *length), *valid = malloc((size_t)(n + 1) * sizeof *valid);
    assert_true(data && value && first && end && length && valid);
    for (size_t i = 0; i < rows; i++) data[i] = (uint8_t)(1 + (i * 2654435761u >> 7) % 250);
    for (int64_t b = 0; b < row_bytes; b++) value[b] = (uint8_t)(251 + b % 5);
    for (int64_t i = 0; i < n; i++) {
        first[i] = below(5, (uint32_t)i, (int32_t)n);
        end[i] = first[i] + below(6, (uint32_t)i, (int32_t)horizon + 3) - (i % 11 == 0);
        if (end[i] > n) end[i] = n;
        length[i] = below(7, (uint32_t)i, (int32_t)horizon + 3) - 1;
    }
    for (int form = 0; form < 12; form++) {
        const lud_windows w = {.n = n,
                               .horizon = horizon,
                               .row_bytes = row_bytes,
                               .first = form & 1 ? NULL : first,
                               .end = form & 1 ? NULL : end,
                               .length = form & 2 ? NULL : length};
        const lud_padding padding = (lud_padding)(form / 4);
        memset(found, 77, size + GUARD);
        valid[n] = 4711;
        ops->gather_windows(device, &w, data, padding, padding == LUD_PAD_VALUE ? value : NULL, found,
                            form % 5 ? valid : NULL);
        check_windows(&w, data, padding, value, found, form % 5 ? valid : NULL);
        assert_int_equal(valid[n], 4711);
        for (size_t i = size; i < size + GUARD; i++) assert_int_equal(found[i], 77);
    }
    free(data);
    free(value);
    free(found);
    free(first);
    free(end);
    free(length);
    free(valid);
}

static void windows(void **state) {
    (void)state;
    static const int64_t row_bytes[] = {1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 64, 65, 1023, 1024, 1030};
    for (size_t k = 0; k < sizeof row_bytes / sizeof *row_bytes; k++)
        for (int64_t horizon = 1; horizon < 9; horizon++) windows_of(41, horizon, row_bytes[k]);
    for (int64_t horizon = 1; horizon < 9; horizon++) windows_of(1, horizon, 5);
}

/* Batches that leave the caches before anybody reads them are written past these, in pieces. */
static void large_windows(void **state) {
    (void)state;
    windows_of((1 << 20) + 16, 2, 4);
    windows_of((1 << 18) + 48, 2, 16);
}

/* ---- value normalisation ---- */

/* What the outputs stand for before and after: deviation * (w x + b) + mean. */
static void popart(void **state) {
    (void)state;
    enum { IN = 5, OUT = 7 };
    float *before = numbers(0, OUT * 3, 0.2, 0.7), *after = numbers(1, OUT * 3, 0.3, 0.8);
    const float *w = numbers(2, OUT * IN, -1, 1), *b = numbers(3, OUT, -1, 1);
    double weights[OUT * IN], bias[OUT];
    for (int j = 0; j < OUT; j++) {
        before[3 * j + 1] += before[3 * j] * before[3 * j];
        after[3 * j + 1] += after[3 * j] * after[3 * j];
    }
    before[3 * 1 + 2] = 0;                                     /* nothing seen so far */
    before[3 * 2 + 1] = before[3 * 2] * before[3 * 2] - 0.01f; /* rounding below a variance of 0 */
    after[3 * 3 + 1] = after[3 * 3] * after[3 * 3] - 0.01f;
    after[3 * 4] = 0, after[3 * 4 + 1] = 4e-8f; /* a deviation just above the least */
    for (int j = 0; j < OUT; j++) {
        const double m0 = before[3 * j + 2] == 0.0f ? 0 : (double)before[3 * j], m1 = (double)after[3 * j];
        double v0 = before[3 * j + 2] == 0.0f ? 1 : (double)before[3 * j + 1] - m0 * m0;
        double v1 = (double)after[3 * j + 1] - m1 * m1;
        const double d0 = fmax(sqrt(fmax(v0, 0)), 1e-4), d1 = fmax(sqrt(fmax(v1, 0)), 1e-4);
        for (int i = 0; i < IN; i++) weights[j * IN + i] = (double)w[j * IN + i] * d0 / d1;
        bias[j] = (d0 * (double)b[j] + m0 - m1) / d1;
    }
    what = "popart_rescale";
    memcpy(fresh(0), w, sizeof *w * OUT * IN);
    memcpy(fresh(1), b, sizeof *b * OUT);
    ops->popart_rescale(device, IN, OUT, before, after, out[0], out[1]);
    check(0, OUT * IN, weights, 1);
    check(1, OUT, bias, 1);
}

/* ---- compact grids ---- */

/* The number that a word puts into a channel, field by field of the text of grid_code.h. */
static double channel_of(int32_t word, lud_grid_form form, int channel) {
    const int type = word & 31, colour = word >> 5 & 7, door = word >> 8 & 3, agent = word >> 10 & 7,
              magic = word >> 13 & 7, other = word >> 16 & 3;
    const bool covered = form == LUD_GRID_COVERED && agent != 7;
    if (channel >= 33) return agent == channel - 33;
    if (covered) return channel == 31 || (channel == 14 && type == 14);
    if (channel <= 14) return type == channel;
    if (channel <= 21)
        return type == 30 && colour == channel - 15 ? door / (form == LUD_GRID_REFERENCE ? 3.0 : 1) : 0;
    if (channel <= 28) return type == 31 && colour == channel - 22;
    if (channel == 29) return magic;
    return other == channel - 29;
}

/* Every word that can be, in each form. */
static void grid_words(void **state) {
    (void)state;
    enum { CELLS = 1 << 10, AT_ONCE = 16, NUMBERS = CELLS * AT_ONCE * LUD_GRID_CHANNELS };
    int32_t *code = malloc(CELLS * AT_ONCE * sizeof *code);
    float *y = malloc((NUMBERS + GUARD) * sizeof *y);
    assert_true(code && y);
    for (int form = 0; form < 3; form++)
        for (int32_t start = 0; start < 1 << LUD_CODE_BITS; start += CELLS * AT_ONCE) {
            for (int32_t i = 0; i < CELLS * AT_ONCE; i++)
                code[i] = lud_grid_code_is_word(start + i) ? start + i : LUD_CODE_EMPTY;
            for (int i = 0; i < NUMBERS + GUARD; i++) y[i] = untouched;
            ops->grid_decode(device, (lud_grid_form)form, AT_ONCE, CELLS, code, y);
            for (int i = 0; i < NUMBERS; i++) {
                const int cell = i % CELLS, channel = i / CELLS % LUD_GRID_CHANNELS,
                          image = i / CELLS / LUD_GRID_CHANNELS;
                const double value = channel_of(code[image * CELLS + cell], (lud_grid_form)form, channel);
                if (y[i] != (float)value)
                    fail_msg("grid_decode, form %d: channel %d of word %d is %g, expected %g", form, channel,
                             code[image * CELLS + cell], (double)y[i], value);
            }
            for (int i = NUMBERS; i < NUMBERS + GUARD; i++) assert_true(y[i] == untouched);
        }
    free(code);
    free(y);
}

/* A word of some cell; most are empty, few repeat. */
static int32_t some_word(uint32_t i) {
    for (uint32_t k = 0;; k++) {
        const int32_t word = below(8, 100 * i + k, 1 << LUD_CODE_BITS);
        if (below(9, i, 3) == 0) return below(10, i, 2) ? LUD_CODE_EMPTY : LUD_CODE_WALL;
        if (lud_grid_code_is_word(word)) return word;
    }
}

enum { SIDE = 5, CELLS = SIDE * (SIDE + 1), IMAGES = 11, FILTERS = 131 };
static float grid_weights[FILTERS * LUD_GRID_CHANNELS * 25], grid_slopes[IMAGES * FILTERS * CELLS];
static float grid_found[IMAGES * FILTERS * CELLS + GUARD], grid_kept[IMAGES * FILTERS * CELLS + GUARD];
static double slope_sums[FILTERS * LUD_GRID_CHANNELS * 25];

/* The same bits as the largest of every square of y[n][filters][CELLS], which grid_conv made. */
static void grid_pooling(const lud_conv *s, lud_grid_form form, const int32_t *code, const float *bias,
                         lud_map map, const float *y) {
    static float pooled[IMAGES * FILTERS * CELLS + GUARD];
    const int64_t rows = SIDE / 2, columns = (SIDE + 1) / 2, n = s->n * s->channels_out * rows * columns;
    for (int64_t i = 0; i < n + GUARD; i++) pooled[i] = untouched;
    ops->grid_conv_pool(device, map, form, s, code, grid_weights, bias, pooled);
    what = "grid_conv_pool";
    for (int64_t i = 0; i < n; i++) {
        const int64_t r = i / columns % rows, q = i % columns;
        const float *top = y + i / (rows * columns) * CELLS + 2 * r * (SIDE + 1) + 2 * q,
                    *bottom = top + SIDE + 1;
        const float largest = fmaxf(fmaxf(top[0], top[1]), fmaxf(bottom[0], bottom[1]));
        if (pooled[i] != largest)
            fail_msg("%s: %ld is %g, not %g", what, (long)i, (double)pooled[i], (double)largest);
    }
    for (int64_t i = n; i < n + GUARD; i++) assert_true(pooled[i] == untouched);
}

/* Against sums over the neighbours of every cell, of all channels. */
static void grid_convolution(int64_t n, int filters, int kernel, lud_grid_form form, const int32_t *code) {
    const lud_conv shape = {.n = n,
                            .channels_in = LUD_GRID_CHANNELS,
                            .height = SIDE,
                            .width = SIDE + 1,
                            .channels_out = filters,
                            .kernel = kernel,
                            .stride = 1,
                            .padding = kernel / 2};
    const lud_map relu = {LUD_MAP_RELU, 0, 0};
    const int taps = kernel * kernel, n_weights = filters * LUD_GRID_CHANNELS * taps;
    const int64_t n_out = n * filters * CELLS;
    for (int i = 0; i < n_weights; i++) grid_weights[i] = (float)(below(11, (uint32_t)i, 2001) - 1000) / 1000;
    for (int64_t i = 0; i < n_out; i++) grid_slopes[i] = (float)(below(12, (uint32_t)i, 2001) - 1000) / 1000;
    const float *bias = numbers(1, filters, -1, 1);
    for (int64_t i = 0; i < n_out + GUARD; i++) grid_found[i] = grid_kept[i] = untouched;
    ops->grid_conv(device, relu, form, &shape, code, grid_weights, bias, grid_kept, grid_found);
    for (int i = 0; i < n_weights; i++) slope_sums[i] = 2;
    for (int o = 0; o < filters; o++) expected[o] = 3;
    for (int64_t i = 0; i < n_out; i++) {
        const int cell = (int)(i % CELLS), o = (int)(i / CELLS % filters), row = cell / (SIDE + 1),
                  column = cell % (SIDE + 1);
        const int64_t image = i / CELLS / filters;
        double sum = (double)bias[o];
        const double slope = grid_kept[i] > 0 ? (double)grid_slopes[i] : 0;
        for (int t = 0; t < taps; t++) {
            const int r = row + t / kernel - kernel / 2, q = column + t % kernel - kernel / 2;
            if (r < 0 || r >= SIDE || q < 0 || q > SIDE) continue;
            const int32_t word = code[image * CELLS + r * (SIDE + 1) + q];
            for (int c = 0; c < LUD_GRID_CHANNELS; c++) {
                const double x = channel_of(word, form, c);
                sum += x * (double)grid_weights[(o * LUD_GRID_CHANNELS + c) * taps + t];
                slope_sums[(o * LUD_GRID_CHANNELS + c) * taps + t] += x * slope;
            }
        }
        expected[o] += slope;
        what = "grid_conv";
        close_to(grid_kept[i], sum, 3, i);
        close_to(grid_found[i], fmax(sum, 0), 3, i);
    }
    for (int64_t i = n_out; i < n_out + GUARD; i++)
        assert_true(grid_found[i] == untouched && grid_kept[i] == untouched);
    grid_pooling(&shape, form, code, bias, relu, grid_found);
    grid_pooling(&shape, form, code, bias, (lud_map){LUD_MAP_IDENTITY, 0, 0}, grid_kept);
    what = "grid_conv_backward"; /* added to what is there */
    static float dz[IMAGES * FILTERS * CELLS], dw[FILTERS * LUD_GRID_CHANNELS * 25 + GUARD];
    for (int i = 0; i < n_weights + GUARD; i++) dw[i] = i < n_weights ? 2 : untouched;
    fresh(0);
    for (int o = 0; o < filters; o++) out[0][o] = 3;
    ops->grid_conv_backward(device, relu, form, &shape, code, grid_kept, grid_found, grid_slopes, dz, dw,
                            out[0]);
    check(0, filters, expected, 10);
    for (int i = 0; i < n_weights; i++) close_to(dw[i], slope_sums[i], 10, i);
    for (int i = n_weights; i < n_weights + GUARD; i++) assert_true(dw[i] == untouched);
}

static void grid_convolutions(void **state) {
    (void)state;
    static const int filters[] = {1, 15, 16, 17, 33, FILTERS}, images[] = {1, 2, 8, IMAGES};
    int32_t code[IMAGES * CELLS];
    for (uint32_t i = 0; i < IMAGES * CELLS; i++) code[i] = some_word(i);
    for (int f = 0; f < 6; f++)
        for (int kernel = 1; kernel <= 5; kernel += 2)
            grid_convolution(images[(f + kernel) % 4], filters[f], kernel,
                             (lud_grid_form)((f + kernel / 2) % 3), code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_numbers),    cmocka_unit_test(drawn_choices),
        cmocka_unit_test(drawn_normals),     cmocka_unit_test(logits_filtered),
        cmocka_unit_test(bytes_for_numbers), cmocka_unit_test(windows),
        cmocka_unit_test(large_windows),     cmocka_unit_test(popart),
        cmocka_unit_test(grid_words),        cmocka_unit_test(grid_convolutions)};
    return run_with_every_set(tests, sizeof tests / sizeof *tests);
}
