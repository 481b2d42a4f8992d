/* Texts are cut before pairs are merged as the patterns say: against a library of regular expressions (golden
 * data), and what is no UTF-8 against the table of well-formed bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "learn/language/tokenizer/pre_tokenizer.h"
#include "learn/language/tokenizer/unicode_ranges.h"

static void texts_are_cut_as_the_patterns_say(void **state) {
    (void)state;
    json_error_t wrong;
    json_t *golden = json_load_file(LUDUS_SOURCE_DIR "/tests/golden/language/pre_tokens.json", 0, &wrong);
    if (!golden) fail_msg("%s", wrong.text);
    static const char *const names[] = {[LUD_PRE_TOKENIZER_GPT2] = "gpt2",
                                        [LUD_PRE_TOKENIZER_LLAMA3] = "llama3",
                                        [LUD_PRE_TOKENIZER_QWEN2] = "qwen2"};
    const json_t *texts = json_object_get(golden, "texts");
    assert_true(json_array_size(texts) >= 400);
    for (int kind = 0; kind < LUD_PRE_TOKENIZER_NONE; kind++)
        for (size_t t = 0; t < json_array_size(texts); t++) {
            const json_t *text = json_array_get(texts, t),
                         *pieces = json_array_get(json_object_get(golden, names[kind]), t);
            const char *bytes = json_string_value(text);
            const size_t length = json_string_length(text);
            size_t at = 0;
            for (size_t p = 0; p < json_array_size(pieces); p++) {
                const size_t n = lud_pre_tokenizer_next((lud_pre_tokenizer)kind, bytes + at, length - at);
                const size_t expected = (size_t)json_integer_value(json_array_get(pieces, p));
                if (n != expected)
                    fail_msg("%s: text %zu, `%s`, at byte %zu: %zu bytes, expected %zu", names[kind], t,
                             bytes, at, n, expected);
                at += n;
            }
            assert_int_equal(at, length);
        }
    json_decref(golden);
}

/* What stands behind the end is not looked at: a text that is cut off anywhere is as one that ends there. */
static void nothing_is_read_behind_the_end(void **state) {
    (void)state;
    static const char *const texts[] = {"'re'll've", "'S'T'D", "  \t\n\n a",
                                        "a\xc3\xa9\xe6\xbc\xa2\xf0\x9d\x92\x9c", "1234 !!\r\n"};
    for (int kind = 0; kind <= LUD_PRE_TOKENIZER_NONE; kind++)
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            for (size_t from = 0; from < strlen(texts[t]); from++)
                for (size_t length = 1; from + length <= strlen(texts[t]); length++) {
                    char *alone = malloc(length);
                    assert_non_null(alone);
                    memcpy(alone, texts[t] + from, length);
                    const size_t n = lud_pre_tokenizer_next((lud_pre_tokenizer)kind, texts[t] + from, length);
                    assert_int_equal(n, lud_pre_tokenizer_next((lud_pre_tokenizer)kind, alone, length));
                    assert_in_range(n, 1, length);
                    free(alone);
                }
}

/* ---- bytes that are no text ---- */

/* Well-formed UTF-8, a row a range of first bytes (The Unicode Standard, table 3-7). */
static const struct {
    uint8_t first[2], second[2];
    int size;
} well_formed[] = {
    {{0x00, 0x7f}, {0, 0}, 1},       {{0xc2, 0xdf}, {0x80, 0xbf}, 2}, {{0xe0, 0xe0}, {0xa0, 0xbf}, 3},
    {{0xe1, 0xec}, {0x80, 0xbf}, 3}, {{0xed, 0xed}, {0x80, 0x9f}, 3}, {{0xee, 0xef}, {0x80, 0xbf}, 3},
    {{0xf0, 0xf0}, {0x90, 0xbf}, 4}, {{0xf1, 0xf3}, {0x80, 0xbf}, 4}, {{0xf4, 0xf4}, {0x80, 0x8f}, 4}};

/* Bytes of the character that begins here, and the character; what is none is a byte. */
static size_t first_character(const uint8_t *s, size_t length, uint32_t *character) {
    *character = UINT32_MAX;
    for (size_t i = 0; i < sizeof well_formed / sizeof *well_formed; i++) {
        const size_t size = (size_t)well_formed[i].size;
        if (s[0] < well_formed[i].first[0] || s[0] > well_formed[i].first[1] || size > length) continue;
        if (size > 1 && (s[1] < well_formed[i].second[0] || s[1] > well_formed[i].second[1])) continue;
        if (size > 2 && (s[2] < 0x80 || s[2] > 0xbf)) continue;
        if (size > 3 && (s[3] < 0x80 || s[3] > 0xbf)) continue;
        static const uint8_t own_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
        *character = s[0] & own_bits[size];
        for (size_t k = 1; k < size; k++) *character = *character * 64 + (s[k] - 0x80u);
        return size;
    }
    return 1;
}

static bool is_one_of(uint32_t c, const uint32_t (*ranges)[2], int n) {
    for (int i = 0; i < n; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static char kind_of(uint32_t c) {
    if (c == UINT32_MAX) return 'o';
    if (is_one_of(c, lud_unicode_letters, LUD_UNICODE_LETTERS)) return 'l';
    if (is_one_of(c, lud_unicode_numbers, LUD_UNICODE_NUMBERS)) return 'n';
    return is_one_of(c, lud_unicode_spaces, LUD_UNICODE_SPACES) ? 's' : 'o';
}

/* Four bytes of those where a rule of UTF-8 begins or ends, in every order, and a letter behind them: a run
 * of a kind ends where the next kind begins, and a byte that belongs to no character is of the kind of signs.
 */
static void bytes_that_are_no_text_are_signs(void **state) {
    (void)state;
    static const uint8_t edges[] = {0x21, 0x61, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xb9,
                                    0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed,
                                    0xee, 0xef, 0xf0, 0xf4, 0xf5, 0xf8, 0xff};
    enum { N = sizeof edges, LENGTH = 5 };
    int n_characters[LENGTH] = {0};
    for (int k = 0; k < N * N * N * N; k++) {
        const uint8_t text[LENGTH] = {edges[k % N], edges[k / N % N], edges[k / N / N % N],
                                      edges[k / N / N / N], 'a'};
        uint32_t character;
        size_t expected = first_character(text, LENGTH, &character);
        const char kind = kind_of(character);
        if (character != UINT32_MAX) n_characters[expected]++;
        if (kind == 's') continue;
        while (expected < LENGTH) {
            const size_t n = first_character(text + expected, LENGTH - expected, &character);
            if (kind_of(character) != kind) break;
            expected += n;
        }
        const size_t n = lud_pre_tokenizer_next(LUD_PRE_TOKENIZER_GPT2, (const char *)text, LENGTH);
        if (n != expected)
            fail_msg("%02x %02x %02x %02x: %zu bytes, expected %zu", text[0], text[1], text[2], text[3], n,
                     expected);
    }
    for (int size = 1; size < LENGTH; size++) assert_true(n_characters[size] > 0);
}

/* Every character that there is, alone before a letter and before a sign: it goes with its own kind. */
static void every_character_has_its_kind(void **state) {
    (void)state;
    int n_letters = 0, n_numbers = 0;
    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        if (c == ' ' || (c >= 0xd800 && c < 0xe000)) continue; /* a blank goes with any other */
        char text[6];
        size_t n = 0;
        if (c >= 0x10000) {
            text[n++] = (char)(0xf0 | c >> 18);
            text[n++] = (char)(0x80 | (c >> 12 & 63));
        } else if (c >= 0x800)
            text[n++] = (char)(0xe0 | c >> 12);
        if (c >= 0x800)
            text[n++] = (char)(0x80 | (c >> 6 & 63));
        else if (c >= 0x80)
            text[n++] = (char)(0xc0 | c >> 6);
        text[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 63));
        char kind = 's';
        text[n] = 'a';
        if (lud_pre_tokenizer_next(LUD_PRE_TOKENIZER_GPT2, text, n + 1) == n + 1) kind = 'l';
        text[n] = '!';
        if (lud_pre_tokenizer_next(LUD_PRE_TOKENIZER_GPT2, text, n + 1) == n + 1) kind = 'o';
        text[n] = '1';
        if (lud_pre_tokenizer_next(LUD_PRE_TOKENIZER_GPT2, text, n + 1) == n + 1) kind = 'n';
        if (kind != kind_of(c)) fail_msg("U+%04X is taken for a %c, expected a %c", c, kind, kind_of(c));
        n_letters += kind == 'l';
        n_numbers += kind == 'n';
    }
    assert_true(n_letters > 100000 && n_numbers > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_cut_as_the_patterns_say), cmocka_unit_test(nothing_is_read_behind_the_end),
        cmocka_unit_test(bytes_that_are_no_text_are_signs), cmocka_unit_test(every_character_has_its_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
