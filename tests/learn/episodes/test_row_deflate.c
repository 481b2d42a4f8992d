/* Arrays of rows, compressed by comparing each with the one before, come back byte by byte from another
 * implementation of deflate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "base/random.h"
#include "learn/episodes/file/row_deflate.h"

static uint32_t drawn(uint32_t i, uint32_t lane, uint32_t below) {
    return lud_below(lud_draw((lud_random_key){7, lane}, i, 0, LUD_PURPOSE_USER, 0).v[0], below);
}

/* Bytes written; 0: refused. What was written is read again. One plane: by rows that are alike. */
static size_t round_trip_of(const uint8_t *from, size_t n, size_t row_bytes, int n_planes, size_t capacity) {
    uint16_t *room = malloc(lud_row_deflate_room(n) * sizeof *room);
    uint8_t *packed = malloc(capacity + 1), *back = malloc(n + 1);
    assert_true(room && packed && back);
    packed[capacity] = 0xa5;
    const size_t bytes = n_planes == 1
                             ? lud_row_deflate(from, n, row_bytes, room, packed, capacity)
                             : lud_plane_deflate(from, n, row_bytes, n_planes, room, packed, capacity);
    assert_int_equal(packed[capacity], 0xa5);
    assert_true(bytes <= capacity && (n_planes > 1 || bytes <= n / 2));
    if (bytes) {
        struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
        assert_non_null(d);
        assert_int_equal(libdeflate_zlib_decompress(d, packed, bytes, back, n, NULL), LIBDEFLATE_SUCCESS);
        assert_memory_equal(back, from, n);
        libdeflate_free_decompressor(d);
    }
    free(room);
    free(packed);
    free(back);
    return bytes;
}

static size_t round_trip(const uint8_t *from, size_t n, size_t row_bytes, size_t capacity) {
    return round_trip_of(from, n, row_bytes, 1, capacity);
}

/* Rows of any width, in which any share of the bytes changes to any of so many values. */
static void test_any_rows_come_back(void **state) {
    (void)state;
    int written = 0, refused = 0;
    for (uint32_t k = 0; k < 300; k++) {
        const size_t row_bytes = 1 + drawn(k, 1, k % 10 ? 400 : 40000), n = drawn(k, 2, 150000);
        const uint32_t changes = 1 + drawn(k, 3, 100), values = 1 + drawn(k, 4, 256);
        uint8_t *rows = calloc(n + 1, 1);
        assert_non_null(rows);
        for (size_t i = 0; i < n; i++)
            rows[i] = i < row_bytes || drawn((uint32_t)i, 1000 + k, changes) == 0
                          ? (uint8_t)drawn((uint32_t)i, 2000 + k, values)
                          : rows[i - row_bytes];
        if (round_trip(rows, n, row_bytes, n + 16))
            written++;
        else
            refused++;
        free(rows);
    }
    assert_true(written > 100 && refused > 10);
}

/* Matches of every length up to several of the longest. */
static void test_every_length_of_a_match(void **state) {
    (void)state;
    enum { ROW = 1100, ROWS = ROW };
    uint8_t *rows = calloc(ROWS, ROW);
    assert_non_null(rows);
    for (size_t k = 1; k < ROWS; k++) {
        memcpy(rows + k * ROW, rows + (k - 1) * ROW, ROW);
        rows[k * ROW + k] ^= (uint8_t)(1 + drawn((uint32_t)k, 5, 255));
    }
    assert_true(round_trip(rows, (size_t)ROWS * ROW, ROW, (size_t)ROWS * ROW) > 0);
    free(rows);
}

/* Bytes as frequent as the numbers of Fibonacci: Huffman's words would be longer than deflate allows. */
static void test_rare_symbols_get_words_that_are_allowed(void **state) {
    (void)state;
    enum { SYMBOLS = 20, ROW = 1 << 15, ROWS = 6 };
    uint8_t *rows = calloc(ROWS, ROW);
    assert_non_null(rows);
    size_t at = 0, frequency = 1, before = 0;
    for (int k = 0; k < SYMBOLS; k++) {
        const size_t next = frequency + before;
        for (size_t c = 0; c < frequency; c++) rows[at++] = (uint8_t)(3 * k);
        before = frequency;
        frequency = next;
    }
    assert_true(at < ROW);
    while (at < ROW) rows[at++] = 3 * (SYMBOLS - 1);
    for (; at < (size_t)ROWS * ROW; at++) rows[at] = rows[at - ROW];
    assert_true(round_trip(rows, (size_t)ROWS * ROW, ROW, (size_t)ROWS * ROW) > 0);
    free(rows);
}

/* Planes that are noise, that repeat the row before, and that have few values, next to each other. */
static void test_any_planes_come_back(void **state) {
    (void)state;
    int written = 0;
    for (uint32_t k = 0; k < 200; k++) {
        const int n_planes = 2 << drawn(k, 11, 3);
        const size_t row = 1 + drawn(k, 12, k % 10 ? 300 : 40000),
                     n = (size_t)n_planes * (1 + drawn(k, 13, 60000)), plane = n / (size_t)n_planes;
        uint8_t *bytes = calloc(n + 1, 1);
        assert_non_null(bytes);
        for (size_t i = 0; i < n; i++) {
            const uint32_t kind = drawn((uint32_t)(i / plane), 3000 + k, 3), at = (uint32_t)i;
            const bool repeats = kind == 1 && i % plane >= row && drawn(at, 4000 + k, 20) != 0;
            bytes[i] = repeats ? bytes[i - row] : (uint8_t)drawn(at, 5000 + k, kind == 2 ? 9 : 256);
        }
        written += round_trip_of(bytes, n, row * (size_t)n_planes, n_planes, n + 5000) > 0;
        free(bytes);
    }
    assert_int_equal(written, 200);
}

/* Noise costs hardly more than its bytes; where even that does not fit, nothing is written. */
static void test_noise_is_kept_as_it_is(void **state) {
    (void)state;
    enum { N = 300000 };
    uint8_t *noise = calloc(N, 1);
    assert_non_null(noise);
    for (uint32_t i = 0; i < N; i++) noise[i] = (uint8_t)drawn(i, 14, 256);
    assert_in_range(round_trip_of(noise, N, 400, 4, N + 3000), N, N + 100);
    assert_int_equal(round_trip_of(noise, N, 400, 4, N - 1), 0);
    assert_int_equal(round_trip_of(noise, 3, 4, 4, 1000), 0);
    assert_int_equal(round_trip_of(noise, N, 400, 4, 100), 0);
    free(noise);
}

static void test_edges(void **state) {
    (void)state;
    uint8_t zeros[5000] = {0}, noise[5000];
    for (uint32_t k = 0; k < sizeof noise; k++) noise[k] = (uint8_t)drawn(k, 9, 256);
    assert_true(round_trip(zeros, sizeof zeros, 1, sizeof zeros) > 0);
    assert_int_equal(round_trip(zeros, 0, 1, 100), 0);
    assert_int_equal(round_trip(zeros, 1, 1, 100), 0);
    assert_int_equal(round_trip(zeros, 100, 5000, 1000), 0); /* a row that is longer than everything */
    assert_int_equal(round_trip(zeros, sizeof zeros, 1, 100), 0);
    assert_int_equal(round_trip(noise, sizeof noise, 50, sizeof noise), 0);
    uint8_t *wide = calloc(200000, 1);
    assert_non_null(wide);
    assert_int_equal(round_trip(wide, 200000, (1 << 15) + 1, 200000), 0); /* further than deflate looks */
    assert_true(round_trip(wide, 200000, 1 << 15, 200000) > 0);
    free(wide);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_rows_come_back),
        cmocka_unit_test(test_every_length_of_a_match),
        cmocka_unit_test(test_rare_symbols_get_words_that_are_allowed),
        cmocka_unit_test(test_any_planes_come_back),
        cmocka_unit_test(test_noise_is_kept_as_it_is),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
