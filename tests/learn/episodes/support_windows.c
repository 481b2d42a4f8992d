#include "learn/episodes/support_windows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"

void windows_expect(double got, double expected, double most) {
    if (!(fabs(got - expected) <= most)) fail_msg("%.17g, expected %.17g", got, expected);
}

static uint32_t drawn(uint32_t i, uint32_t lane, uint32_t n) {
    return lud_below(lud_draw((lud_random_key){7, lane}, i, 0, LUD_PURPOSE_USER, 0).v[0], n);
}

static void *zeros(int64_t n, size_t size) {
    void *memory = calloc(n > 0 ? (size_t)n : 1, size);
    assert_non_null(memory);
    return memory;
}

static lud_window_set open_set(lud_device *device, int64_t n) {
    lud_window_set set;
    lud_error error = {0};
    if (lud_window_set_create(device, n, &set, &error)) fail_msg("%s", error.text);
    return set;
}

static void *to_device(lud_device *device, const void *host, int64_t bytes) {
    void *memory = lud_device_allocate(device, bytes > 0 ? (size_t)bytes : 1);
    assert_non_null(memory);
    if (bytes > 0) lud_device_upload(device, memory, host, (size_t)bytes);
    return memory;
}

void windows_gather(lud_window_set *set, int64_t n_rows, int64_t row_bytes, const void *rows,
                    lud_padding padding, const void *value, void *out) {
    lud_device *device = set->device;
    const int64_t bytes = set->n * set->horizon * row_bytes;
    void *data = to_device(device, rows, n_rows * row_bytes);
    void *pad = value ? to_device(device, value, row_bytes) : NULL;
    void *gathered = lud_device_allocate(device, bytes > 0 ? (size_t)bytes : 1);
    assert_non_null(gathered);
    lud_window_set_gather(set, row_bytes, data, padding, pad, gathered);
    if (bytes > 0) lud_device_download(device, out, gathered, (size_t)bytes);
    lud_device_release(device, data);
    if (pad) lud_device_release(device, pad);
    lud_device_release(device, gathered);
}

/* ---- edge cases ---- */

/* One or more tracks of these lengths, ending with -1, over actions 1, 2, 3, ... */
typedef struct episode {
    int64_t offsets[8];
    lud_tracks tracks;
    int32_t actions[64];
} episode;

static void make(episode *e, const int64_t *lengths, bool last_action_valid) {
    *e = (episode){.offsets = {0}};
    int n = 0;
    for (; lengths[n] >= 0; n++) e->offsets[n + 1] = e->offsets[n] + lengths[n];
    for (int k = n + 1; k < 8; k++) e->offsets[k] = e->offsets[k - 1] + 3; /* of no track */
    for (int32_t i = 0; i < 64; i++) e->actions[i] = i + 1;
    e->tracks = (lud_tracks){.n = n, .offsets = e->offsets, .last_action_valid = last_action_valid};
}
#define LENGTHS(...) ((const int64_t[]){__VA_ARGS__, -1})

/* All windows of the tracks; expects the numbers and counts, row by row. */
static void expect_windows(lud_device *device, const char *what, const episode *e, int64_t horizon,
                           const int32_t *lengths, lud_padding padding, const int32_t *expected,
                           const int32_t *valid, const int32_t *happened) {
    const int64_t n = e->offsets[e->tracks.n];
    lud_window_set set = open_set(device, n);
    int32_t *out = zeros(n * horizon, sizeof *out);
    const int32_t value = -9;
    lud_window_set_all(&set, &e->tracks, horizon, lengths);
    windows_gather(&set, n, sizeof *out, e->actions, padding, padding == LUD_PAD_VALUE ? &value : NULL, out);
    assert_int_equal(set.n, n);
    for (int64_t i = 0; i < n; i++) {
        if (valid && set.valid[i] != valid[i])
            fail_msg("%s: row %d has %d valid, expected %d", what, (int)i, set.valid[i], valid[i]);
        if (happened && set.happened[i] != happened[i])
            fail_msg("%s: row %d has %d that happened, expected %d", what, (int)i, set.happened[i],
                     happened[i]);
        for (int64_t k = 0; k < horizon; k++)
            if (out[i * horizon + k] != expected[i * horizon + k])
                fail_msg("%s: [%d][%d] is %d, expected %d", what, (int)i, (int)k, out[i * horizon + k],
                         expected[i * horizon + k]);
    }
    free(out);
    lud_window_set_destroy(&set);
}

#define INTS(...) ((const int32_t[]){__VA_ARGS__})

static void check_lengths(lud_device *device) {
    episode e;
    make(&e, LENGTHS(2, 0, 3), true);
    expect_windows(device, "an episode of no steps among others", &e, 2, NULL, LUD_PAD_ZERO,
                   INTS(1, 2, 2, 0, 3, 4, 4, 5, 5, 0), INTS(2, 1, 2, 2, 1), INTS(2, 1, 2, 2, 1));
    make(&e, LENGTHS(0), true);
    expect_windows(device, "no steps at all", &e, 3, NULL, LUD_PAD_LAST, INTS(0), NULL, NULL);
    make(&e, LENGTHS(1), true);
    expect_windows(device, "one step, its action valid", &e, 3, NULL, LUD_PAD_ZERO, INTS(1, 0, 0), INTS(1),
                   INTS(1));
    make(&e, LENGTHS(1), false);
    expect_windows(device, "one step, its action invalid", &e, 3, NULL, LUD_PAD_ZERO, INTS(1, 0, 0), INTS(1),
                   INTS(0));
    make(&e, LENGTHS(3), true);
    expect_windows(device, "a horizon beyond the end", &e, 5, NULL, LUD_PAD_ZERO,
                   INTS(1, 2, 3, 0, 0, 2, 3, 0, 0, 0, 3, 0, 0, 0, 0), INTS(3, 2, 1), INTS(3, 2, 1));
    expect_windows(device, "windows of one", &e, 1, NULL, LUD_PAD_ZERO, INTS(1, 2, 3), INTS(1, 1, 1), NULL);
    expect_windows(device, "windows of none", &e, 0, NULL, LUD_PAD_LAST, INTS(0), INTS(0, 0, 0), NULL);
    expect_windows(device, "no or negative length", &e, 2, INTS(0, -4, 1), LUD_PAD_ZERO,
                   INTS(0, 0, 0, 0, 3, 0), INTS(0, 0, 1), INTS(0, 0, 1));
    expect_windows(device, "no or negative length, the last repeated", &e, 2, INTS(0, -4, 1), LUD_PAD_LAST,
                   INTS(1, 1, 2, 2, 3, 3), INTS(0, 0, 1), NULL);
    expect_windows(device, "a length beyond the window", &e, 2, INTS(9, 9, 9), LUD_PAD_ZERO,
                   INTS(1, 2, 2, 3, 3, 0), INTS(2, 2, 1), NULL);
    expect_windows(device, "an idle choice behind the end", &e, 3, NULL, LUD_PAD_VALUE,
                   INTS(1, 2, 3, 2, 3, -9, 3, -9, -9), INTS(3, 2, 1), NULL);
    make(&e, LENGTHS(3), false);
    expect_windows(device, "the last action of as many observations", &e, 2, NULL, LUD_PAD_ZERO,
                   INTS(1, 2, 2, 3, 3, 0), INTS(2, 2, 1), INTS(2, 1, 0));
    make(&e, LENGTHS(4, 2), true);
    expect_windows(device, "one agent's episode shorter than the other's; a reset in a recording", &e, 3,
                   NULL, LUD_PAD_ZERO, INTS(1, 2, 3, 2, 3, 4, 3, 4, 0, 4, 0, 0, 5, 6, 0, 6, 0, 0),
                   INTS(3, 3, 2, 1, 2, 1), NULL);
}

static void check_sums(lud_device *device) {
    episode e;
    int32_t lengths[6];
    make(&e, LENGTHS(6), true);
    assert_int_equal(lud_group_steps(50, 4), 4); /* frequency above the steps of a window */
    assert_int_equal(lud_group_steps(3, 5), 3);
    for (int t = 0; t < 6; t++) lengths[t] = (int32_t)lud_group_steps(2, 4);
    expect_windows(device, "a frequency below the steps of a window", &e, 4, lengths, LUD_PAD_ZERO,
                   INTS(1, 2, 0, 0, 2, 3, 0, 0, 3, 4, 0, 0, 4, 5, 0, 0, 5, 6, 0, 0, 6, 0, 0, 0),
                   INTS(2, 2, 2, 2, 2, 1), NULL);
    assert_int_equal(lud_horizon_steps(0.04, 10), 1); /* below half a step */
    assert_int_equal(lud_horizon_steps(0.25, 10), 2); /* halves to even */
    assert_int_equal(lud_horizon_steps(0.35, 10), 4);
    /* last valid row, not the last row; nothing where nothing is valid */
    lud_window_set set = open_set(device, 6);
    const int32_t some[] = {3, 3, 3, 3, 3, 0};
    double sums[12];
    const double rows[] = {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60};
    lud_window_set_all(&set, &e.tracks, 3, some);
    lud_window_sums(&set, 2, (const lud_sum_kind[]){LUD_SUM_ADD, LUD_SUM_LAST},
                    (lud_numbers){LUD_TENSOR_F64, rows}, sums);
    const double expected[] = {6, 30, 9, 40, 12, 50, 15, 60, 11, 60};
    for (int i = 0; i < 10; i++) windows_expect(sums[i], expected[i], 1e-12);
    assert_true(isnan(sums[10]) && isnan(sums[11]));
    lud_window_sums(&set, 1, (const lud_sum_kind[]){LUD_SUM_TURN}, (lud_numbers){LUD_TENSOR_I32, e.actions},
                    sums);
    windows_expect(sums[1], 1.0, 0); /* 2 + 3 + 4 quarters */
    lud_window_sums(&set, 1, (const lud_sum_kind[]){LUD_SUM_ANGLE}, (lud_numbers){LUD_TENSOR_I32, e.actions},
                    sums);
    windows_expect(sums[1], 9.0 - 2.0 * M_PI, 1e-12);
    lud_window_set_destroy(&set);
}

static void check_pairs(lud_device *device) {
    episode e;
    lud_pair_options options = {.max_horizon = 30, .summation_steps = 2, .drop_zero = true, .seed = 3};
    const lud_pair_source source = {.tracks = &e.tracks};
    lud_pair pairs[8];
    (void)device;
    make(&e, LENGTHS(1), false);
    assert_int_equal(lud_pair_horizon(&options, 1), 1);
    assert_int_equal(lud_pair_draw(&options, &source, 0, 0), 1);
    const lud_pair lonely = lud_pair_at(&options, &e.tracks, 0, 0, 1);
    assert_int_equal(lonely.future, 0);
    assert_int_equal(lonely.realised, 0);
    assert_int_equal(lonely.window, 0);
    assert_int_equal(lud_pairs_add(&options, &source, pairs), 0);
    options.drop_zero = false;
    assert_int_equal(lud_pairs_add(&options, &source, pairs), 1);
    options.drop_zero = true;
    make(&e, LENGTHS(5, 0), true);
    assert_int_equal(lud_pair_horizon(&options, 5), 4);                      /* a horizon beyond the track */
    assert_int_equal(lud_pair_at(&options, &e.tracks, 0, 4, 3).realised, 0); /* the last step */
    const lud_pair wide = lud_pair_at(&options, &e.tracks, 0, 0, 4);         /* a gap beyond the window */
    assert_int_equal(wide.realised, 4);
    assert_int_equal(wide.window, 2);
    assert_true(wide.truncated);
    assert_false(lud_pair_at(&options, &e.tracks, 0, 0, 2).truncated);
    options.farthest = true;
    assert_int_equal(lud_pairs_add(&options, &source, pairs), 4);
    for (int t = 0; t < 4; t++) assert_int_equal(pairs[t].future, 4);
}

/* Numbers keep their type and every bit; what is not finite stays where it is. */
static void check_types(lud_device *device) {
    const int64_t offsets[] = {0, 3}, large = ((int64_t)1 << 53) + 1;
    const lud_tracks tracks = {.n = 1, .offsets = offsets, .last_action_valid = true};
    const int64_t longs[] = {large, -large, 3};
    const uint8_t bytes[] = {255, 128, 1};
    const float reals[] = {1.5f, 2.5f, NAN};
    int64_t longs_out[6];
    uint8_t bytes_out[6];
    float reals_out[6];
    lud_window_set set = open_set(device, 3);
    lud_window_set_all(&set, &tracks, 2, NULL);
    windows_gather(&set, 3, sizeof *longs, longs, LUD_PAD_ZERO, NULL, longs_out);
    windows_gather(&set, 3, sizeof *bytes, bytes, LUD_PAD_LAST, NULL, bytes_out);
    windows_gather(&set, 3, sizeof *reals, reals, LUD_PAD_ZERO, NULL, reals_out);
    assert_memory_equal(longs_out, ((const int64_t[]){large, -large, -large, 3, 3, 0}), sizeof longs_out);
    assert_memory_equal(bytes_out, ((const uint8_t[]){255, 128, 128, 1, 1, 1}), sizeof bytes_out);
    assert_true(isnan(reals_out[4]));
    assert_true(reals_out[5] == 0.0f && !signbit(reals_out[5])); /* chosen, not multiplied by 0 */
    lud_window_set_destroy(&set);
}

/* No tracks, no windows; those before the first one's row are not counted. */
static void check_nothing(lud_device *device) {
    const int64_t none[] = {0}, later[] = {4, 6};
    lud_window_set set = open_set(device, 3);
    lud_window_set_all(&set, &(lud_tracks){.n = 0, .offsets = none}, 2, NULL);
    assert_int_equal(set.n, 0);
    lud_window_set_all(&set, &(lud_tracks){.n = 1, .offsets = later}, 2, NULL);
    assert_int_equal(set.n, 2);
    lud_window_set_destroy(&set);
}

static void check_dimensions(lud_device *device) {
    const float actions[] = {1, 5, 3, 5, 5, 5};
    const lud_numbers numbers = {LUD_TENSOR_F32, actions};
    lud_column_statistics columns[3];
    lud_statistics statistics;
    lud_error error = {0};
    float rows[9], out[18];
    assert_int_equal(lud_statistics_of(3, 2, numbers, 1, columns, &statistics, &error), LUD_OK);
    windows_expect(columns[1].deviation, 0.0, 0); /* constant: kept */
    assert_int_equal(lud_statistics_merge(1, &statistics, LUD_MERGE_PER_DIMENSION, 3, columns), 3);
    windows_expect(columns[2].deviation, 1.0, 0); /* not there: 1 */
    const lud_normalisation normal = lud_normalisation_of(LUD_NORMALISE_NORMAL, columns);
    const lud_normalisation bounds = lud_normalisation_of(LUD_NORMALISE_BOUNDS, columns);
    windows_expect(lud_normalise(&normal, 1, 5.0), 0.0, 0);
    windows_expect(lud_normalise(&bounds, 1, 5.0), 0.0, 0);
    windows_expect(lud_denormalise(&bounds, 1, 0.0), 5.0, 0);
    assert_int_equal(lud_chunk_rows(3, 2, numbers, &normal, 1, sizeof *rows, rows, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "action_dim 2"));
    assert_int_equal(lud_chunk_rows(3, 2, numbers, &normal, 3, sizeof *rows, rows, &error), LUD_OK);
    const int64_t offsets[] = {0, 3};
    const lud_tracks tracks = {.n = 1, .offsets = offsets, .last_action_valid = true};
    lud_window_set set = open_set(device, 3);
    lud_window_set_all(&set, &tracks, 2, NULL);
    windows_gather(&set, 3, 3 * (int64_t)sizeof *rows, rows, LUD_PAD_ZERO, NULL, out);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 3; j++) {
                const double expected =
                    i + k > 2 || j > 0 ? 0.0 : (2.0 * (i + k) - 2.0) / (columns[0].deviation + 1e-6);
                windows_expect(out[(i * 2 + k) * 3 + j], expected, 1e-6);
            }
    lud_window_set_destroy(&set);
}

void windows_check_edges(lud_device *device) {
    check_lengths(device);
    check_sums(device);
    check_pairs(device);
    check_types(device);
    check_nothing(device);
    check_dimensions(device);
}

/* ---- properties ---- */

/* Tracks of 0 to 12 steps. */
static lud_tracks random_tracks(uint32_t seed, int64_t *offsets, int64_t n, bool last_action_valid) {
    offsets[0] = 0;
    for (int64_t i = 0; i < n; i++) offsets[i + 1] = offsets[i] + (int64_t)drawn((uint32_t)i, 100 + seed, 13);
    return (lud_tracks){.n = n, .offsets = offsets, .last_action_valid = last_action_valid};
}

static uint8_t byte_of(lud_padding padding, const uint8_t *rows, const uint8_t *value, int64_t row_bytes,
                       int64_t first, int64_t left, int64_t wanted, int64_t horizon, int64_t k, int64_t j) {
    int64_t count = left < horizon ? left : horizon;
    if (wanted < count) count = wanted;
    if (k < count) return rows[(first + k) * row_bytes + j];
    if (padding == LUD_PAD_VALUE) return value[j];
    if (padding == LUD_PAD_ZERO) return 0;
    return rows[(first + (count > 1 ? count - 1 : 0)) * row_bytes + j];
}

static void check_one_against_loop(lud_device *device, uint32_t seed, int64_t horizon, int64_t row_bytes,
                                   lud_padding padding, bool variable) {
    enum { TRACKS = 9, SOME = 33 };
    int64_t offsets[TRACKS + 1], track[SOME], step[SOME];
    int32_t lengths[SOME];
    const lud_tracks tracks = random_tracks(seed, offsets, TRACKS, true);
    const int64_t n_rows = offsets[TRACKS];
    uint8_t *rows = zeros(n_rows * row_bytes, 1), *value = zeros(row_bytes, 1),
            *out = zeros(SOME * horizon * row_bytes, 1);
    int64_t n = 0;
    for (int64_t i = 0; i < n_rows * row_bytes; i++) rows[i] = (uint8_t)drawn((uint32_t)i, 1, 256);
    for (int64_t i = 0; i < row_bytes; i++) value[i] = (uint8_t)drawn((uint32_t)i, 2, 256);
    for (uint32_t i = 0; i < SOME; i++) { /* in any order */
        track[n] = drawn(i, 200 + seed, TRACKS);
        if (lud_track_length(&tracks, track[n]) == 0) continue;
        step[n] = drawn(i, 300 + seed, (uint32_t)lud_track_length(&tracks, track[n]));
        lengths[n] = (int32_t)drawn(i, 400 + seed, 16) - 2;
        n++;
    }
    lud_window_set set = open_set(device, SOME);
    lud_window_set_some(&set, &tracks, horizon, n, track, step, variable ? lengths : NULL);
    windows_gather(&set, n_rows, row_bytes, rows, padding, padding == LUD_PAD_VALUE ? value : NULL, out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < horizon; k++)
            for (int64_t j = 0; j < row_bytes; j++) {
                const uint8_t expected = byte_of(padding, rows, value, row_bytes, offsets[track[i]] + step[i],
                                                 lud_track_length(&tracks, track[i]) - step[i],
                                                 variable ? lengths[i] : horizon, horizon, k, j);
                if (out[(i * horizon + k) * row_bytes + j] != expected)
                    fail_msg("horizon %d, rows of %d bytes, padding %d: [%d][%d][%d] differs", (int)horizon,
                             (int)row_bytes, (int)padding, (int)i, (int)k, (int)j);
            }
    lud_window_set_destroy(&set);
    free(rows);
    free(value);
    free(out);
}

void windows_check_against_loop(lud_device *device) {
    static const int64_t horizons[] = {1, 3, 8, 40}, sizes[] = {1, 2, 4, 6, 8, 12, 16, 24};
    static const lud_padding paddings[] = {LUD_PAD_ZERO, LUD_PAD_LAST, LUD_PAD_VALUE};
    uint32_t seed = 0;
    for (int h = 0; h < 4; h++)
        for (int s = 0; s < 8; s++)
            for (int p = 0; p < 3; p++, seed++)
                check_one_against_loop(device, seed, horizons[h], sizes[s], paddings[p], seed % 2 == 0);
}

/* Every action is its own number: 1000 * track + t + 1. */
static int32_t *numbered(const lud_tracks *tracks) {
    int32_t *actions = zeros(tracks->offsets[tracks->n], sizeof *actions);
    for (int64_t i = 0; i < tracks->n; i++)
        for (int64_t t = 0; t < lud_track_length(tracks, i); t++)
            actions[tracks->offsets[i] + t] = (int32_t)(1000 * i + t + 1);
    return actions;
}

static void check_chunks_happened(lud_device *device, const lud_tracks *tracks, const int32_t *actions) {
    enum { HORIZON = 5 };
    const int64_t n = tracks->offsets[tracks->n];
    int32_t *out = zeros(n * HORIZON, sizeof *out);
    lud_window_set set = open_set(device, n);
    lud_window_set_all(&set, tracks, HORIZON, NULL);
    windows_gather(&set, n, sizeof *out, actions, LUD_PAD_ZERO, NULL, out);
    for (int64_t track = 0, i = 0; track < tracks->n; track++) {
        const int64_t length = lud_track_length(tracks, track);
        const int64_t n_happened = tracks->last_action_valid ? length : length - 1;
        for (int64_t t = 0; t < length; t++, i++)
            for (int64_t k = 0; k < HORIZON; k++) {
                const bool happens = t + k < n_happened, valid = t + k < length;
                assert_int_equal(k < set.happened[i], happens);
                assert_int_equal(k < set.valid[i], valid);
                assert_int_equal(out[i * HORIZON + k], valid ? 1000 * track + t + k + 1 : 0);
            }
    }
    lud_window_set_destroy(&set);
    free(out);
}

/* How many windows hold an action that is not between their frames, or not as many as they say. */
static int64_t count_wrong_pairs(lud_device *device, const lud_tracks *tracks, const int32_t *actions,
                                 int rule) {
    enum { STEPS = 4 };
    const lud_pair_options options = {
        .max_horizon = 6, .summation_steps = STEPS, .delta_rule = rule, .drop_zero = true, .seed = 11};
    const lud_pair_source source = {.tracks = tracks};
    const int64_t n_rows = tracks->offsets[tracks->n];
    lud_pair *pairs = zeros(n_rows, sizeof *pairs);
    const int64_t n = lud_pairs_add(&options, &source, pairs);
    int64_t *scratch = zeros(2 * n, sizeof *scratch), n_wrong = 0;
    int32_t *out = zeros(n * STEPS, sizeof *out);
    lud_window_set set = open_set(device, n);
    lud_pairs_windows(&options, tracks, n, pairs, &set, scratch);
    windows_gather(&set, n_rows, sizeof *out, actions, LUD_PAD_ZERO, NULL, out);
    for (int64_t i = 0; i < n; i++) {
        const lud_pair *p = pairs + i;
        const int64_t gap = p->future - p->step;
        int64_t count = 0;
        bool wrong = p->delta != gap;
        for (int64_t k = 0; k < STEPS; k++) {
            const int64_t number = out[i * STEPS + k], t = (number - 1) % 1000;
            count += number != 0;
            wrong |= number != 0 && ((number - 1) / 1000 != p->track || t < p->step || t >= p->future);
        }
        wrong |= count != (gap < STEPS ? gap : STEPS);
        n_wrong += wrong;
    }
    lud_window_set_destroy(&set);
    free(pairs);
    free(scratch);
    free(out);
    return n_wrong;
}

void windows_check_happened(lud_device *device) {
    enum { TRACKS = 12 };
    int64_t offsets[TRACKS + 1];
    for (uint32_t seed = 0; seed < 6; seed++) {
        const lud_tracks tracks = random_tracks(500 + seed, offsets, TRACKS, seed % 2 == 0);
        int32_t *actions = numbered(&tracks);
        check_chunks_happened(device, &tracks, actions);
        assert_int_equal(count_wrong_pairs(device, &tracks, actions, LUD_DELTA_REALISED), 0);
        assert_true(count_wrong_pairs(device, &tracks, actions, LUD_DELTA_SAMPLED) > 0);
        free(actions);
    }
}
