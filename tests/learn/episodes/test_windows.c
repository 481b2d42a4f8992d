/* Windows over recorded episodes on the CPU: edge cases, properties, statistics, texts. On CUDA: in
 * test_cuda_windows.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/episodes/summary.h"
#include "learn/episodes/support_windows.h"

static lud_device *devices[2]; /* of one thread and of two */

static int open_devices(void **state) {
    (void)state;
    lud_error error = {0};
    for (int i = 0; i < 2; i++)
        if (lud_device_open("cpu", i + 1, &devices[i], &error)) return -1;
    return 0;
}

static int close_devices(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) lud_device_close(devices[i]);
    return 0;
}

static void test_edges(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) windows_check_edges(devices[i]);
}

static void test_against_loop(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) windows_check_against_loop(devices[i]);
}

static void test_happened(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) windows_check_happened(devices[i]);
}

/* Many windows are shared by the threads; the bytes are those of one. */
static void test_threads(void **state) {
    (void)state;
    enum { ROWS = 40000, HORIZON = 16 };
    int64_t offsets[ROWS / 100 + 1];
    for (int i = 0; i <= ROWS / 100; i++) offsets[i] = 100 * i;
    const lud_tracks tracks = {.n = ROWS / 100, .offsets = offsets, .last_action_valid = true};
    float *rows = calloc(ROWS, sizeof *rows), *out[2];
    assert_non_null(rows);
    for (int i = 0; i < ROWS; i++) rows[i] = (float)i;
    for (int d = 0; d < 2; d++) {
        lud_window_set set;
        lud_error error = {0};
        assert_int_equal(lud_window_set_create(devices[d], ROWS, &set, &error), LUD_OK);
        assert_non_null(out[d] = calloc((size_t)ROWS * HORIZON, sizeof *out[d]));
        lud_window_set_all(&set, &tracks, HORIZON, NULL);
        lud_window_set_gather(&set, sizeof *rows, rows, LUD_PAD_LAST, NULL, out[d]);
        lud_window_set_destroy(&set);
    }
    assert_memory_equal(out[0], out[1], (size_t)ROWS * HORIZON * sizeof *out[0]);
    free(out[0]);
    free(out[1]);
    free(rows);
}

/* ---- draws ---- */

/* A step's draw follows from who is keyed, not from what stands around it; all distances come about equally
 * often; steps of one episode decide for themselves. */
static void test_draws(void **state) {
    (void)state;
    enum { LENGTH = 3000, HORIZON = 5 };
    const int64_t alone_offsets[] = {0, LENGTH}, among_offsets[] = {0, 4, 4 + LENGTH};
    const lud_tracks alone = {.n = 1, .offsets = alone_offsets}, among = {.n = 2, .offsets = among_offsets};
    const uint32_t episode = 17, agent = 2, episodes[] = {3, 17}, agents[] = {0, 2};
    const lud_pair_options options = {.max_horizon = HORIZON, .probability = 0.2, .seed = 5};
    const lud_pair_source one = {&alone, &episode, &agent}, two = {&among, episodes, agents};
    int64_t counts[HORIZON + 1] = {0}, n_pairs = 0, n_changes = 0;
    bool before = false;
    for (int64_t t = 0; t < LENGTH; t++) {
        const int32_t d = lud_pair_draw(&options, &one, 0, t);
        bool primary;
        const bool is_pair = lud_pair_is_drawn(&options, &one, 0, t, &primary);
        assert_int_equal(d, lud_pair_draw(&options, &two, 1, t));
        assert_int_equal(is_pair, lud_pair_is_drawn(&options, &two, 1, t, NULL));
        assert_in_range(d, 1, HORIZON);
        counts[d]++;
        n_pairs += is_pair;
        n_changes += t > 0 && is_pair != before;
        before = is_pair;
    }
    for (int d = 1; d <= HORIZON; d++)
        assert_in_range(counts[d], LENGTH / HORIZON - 120, LENGTH / HORIZON + 120);
    assert_in_range(n_pairs, 480, 720);
    assert_in_range(n_changes, 700, 1200);
}

static void test_horizon_draws(void **state) {
    (void)state;
    enum { LENGTH = 600 };
    const int64_t offsets[] = {0, LENGTH};
    const lud_tracks tracks = {.n = 1, .offsets = offsets};
    const double seconds[] = {0.01, 0.5, 2.0};
    static const int32_t steps[] = {1, 5, 20};
    int32_t lengths[LENGTH], chosen[LENGTH];
    int counts[3] = {0};
    lud_horizons_draw(&tracks, 9, NULL, NULL, 3, seconds, 10.0, lengths, chosen);
    for (int t = 0; t < LENGTH; t++) {
        assert_int_equal(lengths[t], steps[chosen[t]]);
        counts[chosen[t]]++;
    }
    for (int k = 0; k < 3; k++) assert_in_range(counts[k], 140, 260);
}

/* ---- statistics ---- */

static double normal(uint32_t i, uint32_t lane) {
    const lud_words w = lud_draw((lud_random_key){3, lane}, i, 0, LUD_PURPOSE_USER, 0);
    double pair[2];
    lud_normal_pair(w.v[0], w.v[1], pair);
    return pair[0];
}

/* Merged statistics of parts are those of the whole, also where a part has fewer columns. */
static void test_merge_is_whole(void **state) {
    (void)state;
    enum { PARTS = 3, WIDTH = 3, MOST = 400 };
    static const int64_t sizes[PARTS] = {37, 400, 5}, widths[PARTS] = {3, 2, 3};
    double *part[PARTS], whole[WIDTH][PARTS * MOST];
    int64_t n_whole[WIDTH] = {0};
    lud_column_statistics columns[PARTS][WIDTH], merged[WIDTH], alone;
    lud_statistics sources[PARTS], of_whole;
    lud_error error = {0};
    for (uint32_t p = 0; p < PARTS; p++) {
        assert_non_null(part[p] = calloc((size_t)(sizes[p] * widths[p]), sizeof *part[p]));
        for (int64_t i = 0; i < sizes[p]; i++)
            for (int64_t j = 0; j < widths[p]; j++) {
                const double x = 1e6 * (double)j + 5.0 * (double)p + normal((uint32_t)(i * WIDTH + j), p);
                part[p][i * widths[p] + j] = whole[j][n_whole[j]++] = x;
            }
        assert_int_equal(lud_statistics_of(sizes[p], widths[p], (lud_numbers){LUD_TENSOR_F64, part[p]}, 1,
                                           columns[p], &sources[p], &error),
                         LUD_OK);
        free(part[p]);
    }
    assert_int_equal(lud_statistics_merge(PARTS, sources, LUD_MERGE_PER_DIMENSION, WIDTH, merged), 442);
    for (int j = 0; j < WIDTH; j++) {
        assert_int_equal(lud_statistics_of(n_whole[j], 1, (lud_numbers){LUD_TENSOR_F64, whole[j]}, 1, &alone,
                                           &of_whole, &error),
                         LUD_OK);
        assert_int_equal(merged[j].n, n_whole[j]);
        windows_expect(merged[j].mean, alone.mean, 1e-9 * (1.0 + fabs(alone.mean)));
        windows_expect(merged[j].deviation, alone.deviation, 1e-7 * alone.deviation);
        windows_expect(merged[j].low, alone.low, 0);
        windows_expect(merged[j].high, alone.high, 0);
        assert_true(merged[j].q01 <= alone.q01 + 1e-2 && merged[j].q99 >= alone.q99 - 1e-2);
    }
}

/* Rows with a number that is not finite count nowhere; no rows give no statistics. */
static void test_rows_left_out(void **state) {
    (void)state;
    const double x[] = {1, 2, NAN, 100, 3, 4, 5, INFINITY};
    lud_column_statistics columns[2];
    lud_statistics statistics;
    lud_error error = {0};
    const lud_numbers numbers = {LUD_TENSOR_F64, x};
    assert_int_equal(lud_statistics_of(4, 2, numbers, 1, columns, &statistics, &error), LUD_OK);
    assert_int_equal(statistics.n_rows, 2);
    windows_expect(columns[1].mean, 3.0, 0);
    windows_expect(columns[1].high, 4.0, 0);
    assert_int_equal(lud_statistics_of(0, 2, numbers, 0, columns, &statistics, &error), LUD_OK);
    assert_int_equal(columns[0].n, 0);
    windows_expect(columns[0].mean, 0.0, 0);
    windows_expect(columns[0].deviation, 1.0, 0);
}

/* The left edge of the bin that the quantile falls into is within one bin of it. */
static void test_quantiles(void **state) {
    (void)state;
    enum { N = 10000 };
    float x[N];
    lud_column_statistics column;
    lud_statistics statistics;
    lud_error error = {0};
    for (uint32_t i = 0; i < N; i++) x[i] = (float)((i * 7919) % N) / N; /* every value once, in any order */
    assert_int_equal(
        lud_statistics_of(N, 1, (lud_numbers){LUD_TENSOR_F32, x}, 1, &column, &statistics, &error), LUD_OK);
    assert_true(column.q01 <= 0.01 && column.q01 > 0.01 - 1.1 / LUD_QUANTILE_BINS);
    assert_true(column.q99 <= 0.99 && column.q99 > 0.99 - 1.1 / LUD_QUANTILE_BINS);
}

/* Every left edge is counted in its own bin, however its quotient is rounded. */
static void test_bins(void **state) {
    (void)state;
    static const double ranges[][2] = {{0, 1}, {-3.7, 11.3}, {1e-3, 1.7e5}, {-0.1, 0.2}, {1e6, 1e6 + 7}};
    const int64_t n = LUD_QUANTILE_BINS + 1;
    double *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        const double from = ranges[r][0] - 1e-12, to = ranges[r][1] + 1e-12;
        lud_statistics_sums sums;
        lud_error error = {0};
        x[0] = ranges[r][0];
        for (int64_t bin = 1; bin < LUD_QUANTILE_BINS; bin++)
            x[bin] = from + (double)bin * ((to - from) / LUD_QUANTILE_BINS);
        x[n - 1] = ranges[r][1];
        assert_int_equal(lud_statistics_sums_create(1, &sums, &error), LUD_OK);
        lud_statistics_add(&sums, n, (lud_numbers){LUD_TENSOR_F64, x});
        lud_statistics_begin_second(&sums, &sums);
        lud_statistics_add(&sums, n, (lud_numbers){LUD_TENSOR_F64, x});
        for (int64_t bin = 0; bin < LUD_QUANTILE_BINS; bin++)
            if (sums.counts[bin] != 1 + (bin == LUD_QUANTILE_BINS - 1))
                fail_msg("range %zu: bin %lld has %lld", r, (long long)bin, (long long)sums.counts[bin]);
        lud_statistics_sums_destroy(&sums);
    }
    free(x);
}

static void test_normalising_is_undone(void **state) {
    (void)state;
    const lud_column_statistics column = {
        .n = 9, .mean = 3.0, .deviation = 0.2, .low = 1.0, .high = 7.0, .q01 = 2.0, .q99 = 6.0};
    for (int kind = LUD_NORMALISE_NONE; kind <= LUD_NORMALISE_BOUNDS_Q99; kind++) {
        const lud_normalisation n = lud_normalisation_of((lud_normalisation_kind)kind, &column);
        for (double x = 2.0; x <= 6.0; x += 0.25)
            windows_expect(lud_denormalise(&n, 0, lud_normalise(&n, 0, x)), x, 1e-12);
    }
    const lud_normalisation bounds = lud_normalisation_of(LUD_NORMALISE_BOUNDS_Q99, &column);
    windows_expect(lud_normalise(&bounds, 0, 100.0), 1.0, 0);
    windows_expect(lud_normalise(&bounds, 0, -100.0), -1.0, 0);
}

/* ---- chunks, texts ---- */

static void test_worlds_of_numbered_successors(void **state) {
    (void)state;
    lud_error error = {0};
    const lud_model proof = {.world = lud_world_find("proof")}, grid = {.world = lud_world_find("multigrid")};
    assert_int_equal(lud_chunks_check(&proof, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "mean something else in the next one"));
    assert_int_equal(lud_chunks_check(&grid, &error), LUD_OK);
}

static void test_idle_choice(void **state) {
    (void)state;
    const int idle[] = {6, 6, -1};
    lud_layout layout = {.n_agents = 2, .idle = idle};
    assert_int_equal(lud_idle_choice(&layout, 0), 6);
    layout.n_agents = 3; /* one has none: nothing stands for all */
    assert_int_equal(lud_idle_choice(&layout, 0), -1);
    assert_int_equal(lud_idle_choice(&layout, 3), 6);
    layout.idle = NULL;
    assert_int_equal(lud_idle_choice(&layout, 0), -1);
    assert_int_equal(lud_padding_of(LUD_ACTION_INCREMENT), LUD_PAD_ZERO);
    assert_int_equal(lud_padding_of(LUD_ACTION_ABSOLUTE), LUD_PAD_LAST);
    assert_int_equal(lud_padding_of(LUD_ACTION_CHOICE), LUD_PAD_VALUE);
}

/* Displacements from where a chunk begins, angles the short way round. */
static void test_relative_angles(void **state) {
    (void)state;
    const double gathered[] = {3.0, 0.0, -3.0, 1.0, 3.1, 0.0};
    const bool is_angle = true;
    double chunks[6] = {0, 0, 0, 0, 77, 78};
    lud_chunks_relative(1, 2, 2, 1, &is_angle, gathered, chunks);
    assert_true(chunks[4] == 77 && chunks[5] == 78);
    windows_expect(chunks[0], 2.0 * M_PI - 6.0, 1e-12);
    windows_expect(chunks[1], 0.0, 0);
    windows_expect(chunks[2], 0.1, 1e-12);
    windows_expect(chunks[3], 1.0, 0);
    /* a place that is no angle beside one that is, and places of which none is */
    const double places[] = {3.0, 3.0, 0.5, -3.0, -3.0, 1.0};
    const bool one_angle[] = {false, true};
    for (int k = 0; k < 2; k++) {
        lud_chunks_relative(1, 1, 3, 2, k ? NULL : one_angle, places, chunks);
        windows_expect(chunks[0], -6.0, 0);
        windows_expect(chunks[1], k ? -6.0 : 2.0 * M_PI - 6.0, 1e-12);
        windows_expect(chunks[2], 0.5, 0);
    }
    windows_expect(lud_wrap_angle(-M_PI), M_PI, 0);
    windows_expect(lud_wrap_angle(M_PI), M_PI, 0);
}

static void expect_choices(int n, const int32_t *choices, const char *expected) {
    static const char *const names[] = {"left", "right", "forward", "pickup"};
    const lud_action_space space = {.n_discrete = 4, .names = names};
    lud_text text = {0};
    assert_int_equal(lud_summary_choices(n, choices, &space, &text), expected != NULL);
    if (expected) assert_string_equal(text.bytes, expected);
    lud_text_free(&text);
}

static void test_texts(void **state) {
    (void)state;
    expect_choices(6, (const int32_t[]){2, 2, 0, 2, 3, -1}, "forward 3, left 1, pickup 1");
    expect_choices(2, (const int32_t[]){3, 9}, "pickup 1, action 9: 1");
    expect_choices(2, (const int32_t[]){-1, -1}, NULL);
    expect_choices(0, NULL, NULL);
    assert_true(lud_summary_choices_are_idle(2, (const int32_t[]){1, 1}, 1));
    assert_false(lud_summary_choices_are_idle(2, (const int32_t[]){1, 0}, 1));
    assert_false(lud_summary_choices_are_idle(0, NULL, 1));
    const double still[] = {0.002, 0, 0, 0.1, 0, 0, 1}, turning[] = {0.002, 0, 0, 0.2, 0, 0, 1};
    assert_true(lud_summary_hand_is_idle(1, 7, still, true));
    assert_true(lud_summary_hand_is_idle(1, 7, turning, false));
    assert_false(lud_summary_hand_is_idle(1, 7, turning, true));
    assert_false(lud_summary_hand_is_idle(0, 7, still, true)); /* no summary, not idle */
    lud_text text = {0};
    lud_summary_format format = {0};
    assert_true(lud_summary_format_read("0f", &format));
    assert_false(lud_summary_hand(1, 6, still, &format, &text));
    assert_false(lud_summary_format_read("2d", &format));
    assert_int_equal(text.length, 0);
}

/* Batches larger than the caches are written past them; their bytes are those of a loop, wherever they lie.
 */
static void test_large_batches(void **state) {
    (void)state;
    enum { TRACKS = 9001, SHIFTS = 2 };
    static const struct { int64_t width, horizon; } shapes[] = {{1, 8}, {2, 16}, {3, 8}, {1, 31}, {1, 32}};
    static int64_t offsets[TRACKS + 1];
    for (int i = 0; i < TRACKS; i++) offsets[i + 1] = offsets[i] + 1 + (i * 37) % 80;
    const int64_t n = offsets[TRACKS];
    const lud_tracks tracks = {.n = TRACKS, .offsets = offsets, .last_action_valid = true};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t width = shapes[s].width, horizon = shapes[s].horizon, full = width * horizon;
        int32_t *rows = calloc((size_t)(n * width), sizeof *rows);
        int32_t *out = aligned_alloc(64, (size_t)((n * full + SHIFTS) * 4 + 63) / 64 * 64);
        assert_true(rows && out && n * full > 1 << 21);
        for (int64_t i = 0; i < n * width; i++) rows[i] = (int32_t)(i * 2654435761u); /* NaN among them */
        for (int i = 0; i < 2 * SHIFTS; i++) {
            lud_window_set set;
            lud_error error = {0};
            int32_t *to = out + i / 2;
            assert_int_equal(lud_window_set_create(devices[i % 2], n, &set, &error), LUD_OK);
            lud_window_set_all(&set, &tracks, horizon, NULL);
            memset(to, 0xa5, (size_t)(n * full) * 4);
            lud_window_set_gather(&set, width * 4, rows, LUD_PAD_LAST, NULL, to);
            int64_t wrong = 0;
            for (int64_t track = 0, w = 0; track < TRACKS; track++)
                for (int64_t t = offsets[track]; t < offsets[track + 1]; t++, w++)
                    for (int64_t k = 0; k < horizon; k++) {
                        const int64_t row = t + k < offsets[track + 1] ? t + k : offsets[track + 1] - 1;
                        wrong +=
                            memcmp(to + w * full + k * width, rows + row * width, (size_t)width * 4) != 0;
                    }
            assert_int_equal(wrong, 0);
            lud_window_set_destroy(&set);
        }
        free(rows);
        free(out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_against_loop),
        cmocka_unit_test(test_happened),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_large_batches),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_horizon_draws),
        cmocka_unit_test(test_merge_is_whole),
        cmocka_unit_test(test_rows_left_out),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_normalising_is_undone),
        cmocka_unit_test(test_worlds_of_numbered_successors),
        cmocka_unit_test(test_idle_choice),
        cmocka_unit_test(test_relative_angles),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
