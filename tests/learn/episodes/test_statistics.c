/* Statistics of recorded numbers against plain sums and sorted lists, and what windows of a hand amount to.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/episodes/statistics.h"
#include "learn/episodes/summary.h"

enum { ROWS = 600, WIDTH = 4, WORKERS = 3 };

static double draw(uint32_t i) {
    const lud_words w = lud_draw((lud_random_key){9, 0}, i, 0, LUD_PURPOSE_USER, 0);
    return lud_unit53(w.v[0], w.v[1]);
}

/* Columns: numbers far from zero, a constant, few values, a wide range; some rows have what is no number. */
static void fill(double *x, int64_t *kept) {
    *kept = 0;
    for (int i = 0; i < ROWS; i++) {
        double *row = x + i * WIDTH;
        row[0] = 1e6 + draw((uint32_t)i * 4);
        row[1] = -2.5;
        row[2] = floor(3 * draw((uint32_t)i * 4 + 1));
        row[3] = exp(20 * draw((uint32_t)i * 4 + 2)) - 1e3;
        if (i % 50 == 17) row[i % WIDTH] = i % 100 == 17 ? NAN : -INFINITY;
        *kept += i % 50 != 17;
    }
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What column j of the rows without such numbers is, by sorting. */
static void expect_column(const double *x, int64_t kept, int j, const lud_column_statistics *c) {
    double sorted[ROWS], sum = 0, squares = 0;
    int n = 0;
    for (int i = 0; i < ROWS; i++)
        if (i % 50 != 17) sorted[n++] = x[i * WIDTH + j];
    assert_int_equal(n, kept);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    for (int i = 0; i < n; i++) sum += sorted[i];
    sum /= n;
    for (int i = 0; i < n; i++) squares += (sorted[i] - sum) * (sorted[i] - sum) / n;
    const double range = sorted[n - 1] - sorted[0], bin = (range + 2e-12) / LUD_QUANTILE_BINS;
    assert_int_equal(c->n, n);
    assert_true(c->low == sorted[0] && c->high == sorted[n - 1]);
    assert_true(fabs(c->mean - sum) <= 1e-12 * fabs(sum) + 1e-12);
    assert_true(fabs(c->deviation - sqrt(squares)) <= 1e-7 * sqrt(squares));
    for (int k = 0; k < 2; k++) { /* the left edge of the bin in which the share is reached */
        const double reached = sorted[(int)ceil((k ? 0.99 : 0.01) * n) - 1], edge = k ? c->q99 : c->q01;
        if (range == 0) assert_true(edge == reached);
        if (range > 0) assert_true(edge <= reached + 1e-6 * bin && edge > reached - 1.000001 * bin);
    }
}

static void test_columns_are_those_of_sorted_lists(void **state) {
    (void)state;
    static double x[ROWS * WIDTH];
    int64_t kept;
    lud_error error = {0};
    lud_column_statistics columns[WIDTH];
    lud_statistics statistics;
    fill(x, &kept);
    assert_int_equal(
        lud_statistics_of(ROWS, WIDTH, (lud_numbers){LUD_TENSOR_F64, x}, 5, columns, &statistics, &error),
        LUD_OK);
    assert_true(statistics.n_rows == kept && statistics.n_tracks == 5 && statistics.width == WIDTH &&
                statistics.columns == columns);
    for (int j = 0; j < WIDTH; j++) expect_column(x, kept, j, &columns[j]);
}

/* Workers that each see a part of the rows, one of them none, find what one finds. */
static void test_workers_join(void **state) {
    (void)state;
    static double x[ROWS * WIDTH];
    static const int first[WORKERS + 1] = {0, 211, 211, ROWS};
    int64_t kept;
    lud_error error = {0};
    lud_statistics_sums sums[WORKERS];
    lud_column_statistics columns[WIDTH], alone[WIDTH];
    lud_statistics statistics;
    fill(x, &kept);
    for (int order = 0; order < 2; order++) { /* who joins whom does not matter */
        for (int w = 0; w < WORKERS; w++)
            assert_int_equal(lud_statistics_sums_create(WIDTH, &sums[w], &error), LUD_OK);
        for (int pass = 0; pass < 2; pass++) {
            const int to = order ? 1 : 0;
            for (int w = 0; w < WORKERS; w++)
                lud_statistics_add(&sums[w], first[w + 1] - first[w],
                                   (lud_numbers){LUD_TENSOR_F64, x + first[w] * WIDTH});
            for (int w = 0; w < WORKERS; w++)
                if (w != to) lud_statistics_join(&sums[to], &sums[w]);
            assert_int_equal(sums[to].n_rows, kept);
            for (int w = 0; w < WORKERS && !pass; w++)
                if (w != to) lud_statistics_begin_second(&sums[w], &sums[to]);
            if (!pass) lud_statistics_begin_second(&sums[to], &sums[to]);
            if (pass) assert_int_equal(lud_statistics_finish(&sums[to], columns), 0);
        }
        assert_int_equal(
            lud_statistics_of(ROWS, WIDTH, (lud_numbers){LUD_TENSOR_F64, x}, 1, alone, &statistics, &error),
            LUD_OK);
        for (int j = 0; j < WIDTH; j++) {
            expect_column(x, kept, j, &columns[j]);
            assert_true(columns[j].q01 == alone[j].q01 && columns[j].q99 == alone[j].q99);
        }
        for (int w = 0; w < WORKERS; w++) lud_statistics_sums_destroy(&sums[w]);
    }
}

static void test_numbers_of_every_type(void **state) {
    (void)state;
    static const double f64[] = {-1.5, 3};
    static const float f32[] = {-1.5f, 3};
    static const int64_t i64[] = {-5000000000, 3};
    static const int32_t i32[] = {-70000, 3};
    static const int16_t i16[] = {-300, 3};
    static const int8_t i8[] = {-100, 3};
    static const uint64_t u64[] = {1ull << 63, 3};
    static const uint32_t u32[] = {4000000000u, 3};
    static const uint16_t u16[] = {60000, 3};
    static const uint8_t u8[] = {200, 3}, boolean[] = {1, 0};
    const struct {
        lud_tensor_type type;
        const void *data;
        double first, second;
    } cases[] = {
        {LUD_TENSOR_F64, f64, -1.5, 3},   {LUD_TENSOR_F32, f32, -1.5, 3},   {LUD_TENSOR_I64, i64, -5e9, 3},
        {LUD_TENSOR_I32, i32, -7e4, 3},   {LUD_TENSOR_I16, i16, -300, 3},   {LUD_TENSOR_I8, i8, -100, 3},
        {LUD_TENSOR_U64, u64, 0x1p63, 3}, {LUD_TENSOR_U32, u32, 4e9, 3},    {LUD_TENSOR_U16, u16, 6e4, 3},
        {LUD_TENSOR_U8, u8, 200, 3},      {LUD_TENSOR_BOOL, boolean, 1, 0}, {LUD_TENSOR_BF16, u16, 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const lud_numbers numbers = {cases[k].type, cases[k].data};
        assert_true(lud_number(numbers, 0) == cases[k].first && lud_number(numbers, 1) == cases[k].second);
    }
}

/* Sources that lack columns, by the three ways to count them. */
static void test_sources_are_merged(void **state) {
    (void)state;
    lud_column_statistics a[] = {{10, 1.0, 2.0, -3.0, 4.0, -2.0, 3.0}, {10, 5.0, 0.5, 4.0, 6.0, 4.25, 5.75}},
                          b[] = {{30, 3.0, 1.0, 0.5, 9.0, 1.0, 8.0}};
    const lud_statistics sources[] = {{2, 10, 1, a}, {1, 30, 2, b}};
    for (int kind = LUD_MERGE_PER_DIMENSION; kind <= LUD_MERGE_PADDED_ZERO; kind++) {
        lud_column_statistics all[3];
        const double one = kind == LUD_MERGE_PADDED_ZERO ? 0.0 : 1.0;
        assert_int_equal(lud_statistics_merge(2, sources, (lud_merge_kind)kind, 3, all), 40);
        assert_true(all[0].n == 40 && all[0].mean == 2.5);
        /* (10 (4 + 1.5^2) + 30 (1 + 0.5^2)) / 40 */
        assert_true(fabs(all[0].deviation - sqrt(2.5)) < 1e-12);
        assert_true(all[0].low == -3.0 && all[0].high == 9.0 && all[0].q01 == -2.0 && all[0].q99 == 8.0);
        if (kind == LUD_MERGE_PER_DIMENSION) {
            assert_true(all[1].n == 10 && all[1].mean == 5.0 && all[1].deviation == 0.5 &&
                        all[1].low == 4.0 && all[1].high == 6.0 && all[1].q01 == 4.25 && all[1].q99 == 5.75);
            assert_true(all[2].n == 0 && all[2].mean == 0.0 && all[2].deviation == 1.0);
            continue;
        }
        assert_true(all[1].n == 40 && all[1].mean == 1.25);
        /* (10 (0.25 + 3.75^2) + 30 (one^2 + 1.25^2)) / 40 */
        assert_true(fabs(all[1].deviation - sqrt((143.125 + 30.0 * (one + 1.5625)) / 40.0)) < 1e-12);
        assert_true(all[1].low == 0.0 && all[1].high == 6.0 && all[1].q01 == 0.0 && all[1].q99 == 5.75);
        assert_true(all[2].n == 40 && all[2].mean == 0.0 && all[2].deviation == one && all[2].q99 == one &&
                    all[2].high == one && all[2].q01 == 0.0);
    }
}

static void test_normalisations(void **state) {
    (void)state;
    const lud_column_statistics columns[] = {{10, 3.0, 2.0, -1.0, 7.0, 0.0, 4.0},
                                             {10, 5.0, 0.0, 5.0, 5.0, 5.0, 5.0}};
    const lud_normalisation none = lud_normalisation_of(LUD_NORMALISE_NONE, columns),
                            normal = lud_normalisation_of(LUD_NORMALISE_NORMAL, columns),
                            bounds = lud_normalisation_of(LUD_NORMALISE_BOUNDS, columns),
                            q99 = lud_normalisation_of(LUD_NORMALISE_BOUNDS_Q99, columns);
    assert_true(lud_normalise(&none, 0, 2.25) == 2.25 && lud_denormalise(&none, 0, 2.25) == 2.25);
    assert_true(fabs(lud_normalise(&normal, 0, 6.0) - 3.0 / (2.0 + 1e-6)) < 1e-15);
    assert_true(fabs(lud_denormalise(&normal, 0, -1.0) - (1.0 - 1e-6)) < 1e-15);
    assert_true(fabs(lud_normalise(&bounds, 0, 5.0) - 0.5) < 1e-8 &&
                fabs(lud_normalise(&q99, 0, 3.0) - 0.5) < 1e-8);
    assert_true(lud_normalise(&bounds, 0, 7.5) == 1.0 && lud_normalise(&q99, 0, -0.5) == -1.0);
    assert_true(lud_normalise(&bounds, 0, -1.0) == -1.0 && fabs(lud_denormalise(&q99, 0, 0.0) - 2.0) < 1e-8);
    assert_true(lud_normalise(&bounds, 1, 17.0) == 0.0 && lud_denormalise(&q99, 1, 0.75) == 5.0);
}

/* ---- a hand ---- */

static void expect_said(const double *window, int64_t n, const char *format, bool rotations,
                        const char *expected) {
    lud_summary_format f = {.rotations = rotations};
    lud_text text = {0};
    assert_true(lud_summary_format_read(format, &f));
    assert_int_equal(f.rotations, rotations);
    lud_text_append(&text, "so: ");
    assert_true(lud_summary_hand(n, 8, window, &f, &text));
    assert_string_equal(text.bytes + 4, expected);
    lud_text_free(&text);
}

static void test_what_a_hand_did(void **state) {
    (void)state;
    const double turn = acos(-1.0) / 180;
    /* forward, left, up, roll, pitch, yaw, whether it is open; a number more, which nobody reads */
    const double there[2][8] = {{0.01, 0.05, 0.0, 4 * turn, 0, -50 * turn, 1, 99},
                                {0.0125, 0.033, -0.05, 4 * turn, -3 * turn, -38 * turn, 0.25, 99}},
                 back[1][8] = {{-0.02, -0.004, 0.004, -8 * turn, 13 * turn, 92 * turn, 0.75, 99}},
                 still[1][8] = {{0, 0, 0, 0, 0, 0, 0.5, 99}},
                 hardly[1][8] = {{0.005, 0.0051, -0.005, 2.4 * turn, 2.6 * turn, 7.4 * turn, 0.6, 99}};
    expect_said(there[0], 2, "0f", false,
                "move forward 2 cm and move down 5 cm and move left 8 cm and close gripper");
    expect_said(there[0], 2, "2f", false,
                "move forward 2.25 cm and move down 5.00 cm and move left 8.30 cm and close gripper");
    expect_said(
        there[0], 2, "0f", true,
        "move forward 2 cm and move down 5 cm and move left 8 cm and tilt left 10 degrees and tilt down 5 "
        "degrees and rotate clockwise 90 degrees and close gripper");
    expect_said(there[0], 2, "no_number", false,
                "move forward and move left and move down and close gripper");
    expect_said(
        there[0], 2, "no_number", true,
        "move forward and move left and move down and tilt left and tilt down and rotate clockwise and close "
        "gripper");
    expect_said(there[0], 2, "compact", false, "<+02 +08 -05 0>");
    expect_said(there[0], 2, "compact", true, "<+02 +08 -05 +10 -05 -90 0>");
    expect_said(
        back[0], 1, "0f", true,
        "move back 2 cm and tilt right 10 degrees and tilt up 15 degrees and rotate counterclockwise 90 "
        "degrees and open gripper");
    expect_said(back[0], 1, "1f", false,
                "move back 2.0 cm and move up 0.4 cm and move right 0.4 cm and open gripper");
    expect_said(back[0], 1, "compact", false, "<-02 +00 +00 1>");
    expect_said(still[0], 1, "0f", true, "close gripper");
    expect_said(still[0], 1, "no_number", true, "close gripper");
    expect_said(still[0], 1, "compact", false, "<+00 +00 +00 1>");
    expect_said(hardly[0], 1, "0f", true,
                "move left 1 cm and tilt up 5 degrees and rotate counterclockwise 5 degrees "
                "and open gripper");
    lud_text text = {0};
    lud_summary_format f = {.style = LUD_SUMMARY_WORDS};
    assert_false(lud_summary_hand(0, 8, there[0], &f, &text)); /* no row; too narrow a one */
    assert_false(lud_summary_hand(1, 6, there[0], &f, &text));
    assert_true(lud_summary_hand(1, 7, there[0], &f, &text));
    lud_text_free(&text);
    static const char *const unknown[] = {"", "f", "0", "10f", "0ff", "af", "/f", ":f", "words"};
    for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++)
        assert_false(lud_summary_format_read(unknown[k], &f));
    assert_true(lud_summary_format_read("9f", &f) && f.style == LUD_SUMMARY_DECIMALS && f.decimals == 9);
}

static void test_whether_a_hand_is_idle(void **state) {
    (void)state;
    const double turn = acos(-1.0) / 180;
    static const double lengths[] = {0.0, 0.0057, 0.0058}; /* of three numbers: just below and above 1 cm */
    for (int k = 0; k < 3; k++) {
        const double window[2][7] = {{lengths[k] + 1, lengths[k], -lengths[k], 0, 0, 0, 1},
                                     {-1, 0, 0, 0, 0, 0, 1}};
        assert_int_equal(lud_summary_hand_is_idle(2, 7, window[0], true), k < 2);
    }
    for (int axis = 3; axis < 6; axis++)
        for (int degrees = -11; degrees <= 11; degrees++) {
            double window[7] = {0};
            window[axis] = degrees * turn;
            if (abs(degrees) == 10) window[axis] *= 1 + 1e-12;
            assert_int_equal(lud_summary_hand_is_idle(1, 7, window, true), abs(degrees) < 10);
            assert_true(lud_summary_hand_is_idle(1, 7, window, false));
        }
    const double none[7] = {0};
    assert_false(lud_summary_hand_is_idle(0, 7, none, true));
    assert_false(lud_summary_hand_is_idle(1, 6, none, false));
}

/* Bins of quantiles begin with their left edge and end before the next one, to the last bit. */
static void test_bins_have_their_edges(void **state) {
    (void)state;
    static const double ranges[][2] = {{0.1, 0.9}, {-1, 1}, {0, 1e-6}, {-3e5, 7e6}, {1e3, 1e3 + 1.0 / 3}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        const double low = ranges[r][0], high = ranges[r][1], from = low - 1e-12,
                     width = (high + 1e-12 - from) / LUD_QUANTILE_BINS;
        static double x[2 * LUD_QUANTILE_BINS + 2];
        int64_t n = 0, expected[LUD_QUANTILE_BINS] = {0};
        x[n++] = low;
        x[n++] = high;
        for (int64_t bin = 1; bin < LUD_QUANTILE_BINS; bin++) { /* the edge, and the number before it */
            x[n] = from + (double)bin * width;
            x[n + 1] = nextafter(x[n], -INFINITY);
            if (x[n + 1] < low || x[n] > high) continue;
            expected[bin]++;
            expected[bin - 1]++;
            n += 2;
        }
        lud_statistics_sums sums;
        lud_error error = {0};
        if (lud_statistics_sums_create(1, &sums, &error)) fail_msg("%s", error.text);
        const lud_numbers numbers = {LUD_TENSOR_F64, x};
        lud_statistics_add(&sums, n, numbers);
        lud_statistics_begin_second(&sums, &sums);
        lud_statistics_add(&sums, n, numbers);
        expected[0]++;
        expected[LUD_QUANTILE_BINS - 1]++;
        for (int bin = 0; bin < LUD_QUANTILE_BINS; bin++)
            if (sums.counts[bin] != expected[bin])
                fail_msg("%g to %g, bin %d has %lld, expected %lld", low, high, bin,
                         (long long)sums.counts[bin], (long long)expected[bin]);
        lud_statistics_sums_destroy(&sums);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bins_have_their_edges),
                                       cmocka_unit_test(test_columns_are_those_of_sorted_lists),
                                       cmocka_unit_test(test_workers_join),
                                       cmocka_unit_test(test_numbers_of_every_type),
                                       cmocka_unit_test(test_sources_are_merged),
                                       cmocka_unit_test(test_normalisations),
                                       cmocka_unit_test(test_what_a_hand_did),
                                       cmocka_unit_test(test_whether_a_hand_is_idle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
