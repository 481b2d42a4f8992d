/* Arrays of rows, compressed by comparing each with the one before, come back byte by byte from another
 * implementation of deflate. */
#include <setjmp.h>
#include <stdarg.h>
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

/* Bytes written; 0: refused. What was written is read again. */
static size_t round_trip(const uint8_t *from, size_t n, size_t row_bytes, size_t capacity) {
    uint16_t *room = malloc(lud_row_deflate_room(n) * sizeof *room);
    uint8_t *packed = malloc(capacity + 1), *back = malloc(n + 1);
    assert_true(room && packed && back);
    packed[capacity] = 0xa5;
    const size_t bytes = lud_row_deflate(from, n, row_bytes, room, packed, capacity);
    assert_int_equal(packed[capacity], 0xa5);
    assert_true(bytes <= capacity && bytes <= n / 2);
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
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
