#include "learn/language/tokenizer/pre_tokenizer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "learn/language/tokenizer/unicode_ranges.h"

static const char *const patterns[LUD_PRE_TOKENIZERS] = {
    [LUD_PRE_TOKENIZER_GPT2] =
        "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    [LUD_PRE_TOKENIZER_LLAMA3] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                                 "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
    [LUD_PRE_TOKENIZER_QWEN2] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
                                "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"};

const char *lud_pre_tokenizer_pattern(lud_pre_tokenizer kind) {
    return patterns[kind];
}

/* --- characters --- */

typedef enum class { END, LETTER, NUMBER, SPACE, LINE_END, OTHER } class;

/* Whether the character lies in one of n ranges {first, last}, ascending. */
static bool within(uint32_t character, const uint32_t (*ranges)[2], size_t n) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (character > ranges[middle][1])
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && character >= ranges[low][0];
}

/* The character that begins here and its bytes; what is no UTF-8 is one byte and no character. */
static uint32_t decode(const char *text, size_t length, size_t *n) {
    const unsigned char *s = (const unsigned char *)text;
    const size_t size = s[0] < 0x80                   ? 1
                        : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                        : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                        : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                      : 0;
    *n = 1;
    if (size == 1) return s[0];
    if (size == 0 || size > length) return UINT32_MAX;
    uint32_t character = s[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((s[i] & 0xc0) != 0x80) return UINT32_MAX;
        character = character << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (character < least[size] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return UINT32_MAX;
    *n = size;
    return character;
}

/* What stands at the beginning of the text, and how many bytes it takes (0 at its end). */
static class class_of(const char *text, size_t length, size_t *n) {
    *n = 0;
    if (length == 0) return END;
    const uint32_t c = decode(text, length, n);
    if (c < 0x80) {
        if (c == '\r' || c == '\n') return LINE_END;
        if (c == ' ' || (c >= 9 && c <= 13)) return SPACE;
        if (c >= '0' && c <= '9') return NUMBER;
        return (c | 32) >= 'a' && (c | 32) <= 'z' ? LETTER : OTHER;
    }
    if (c == UINT32_MAX) return OTHER;
    if (within(c, lud_unicode_letters, LUD_UNICODE_LETTERS)) return LETTER;
    if (within(c, lud_unicode_numbers, LUD_UNICODE_NUMBERS)) return NUMBER;
    return within(c, lud_unicode_spaces, LUD_UNICODE_SPACES) ? SPACE : OTHER;
}

/* Bytes of the characters of a class from `at` on, at most `most` characters (0: any number). */
static size_t run(const char *text, size_t length, size_t at, class wanted, int most) {
    const size_t begin = at;
    size_t n;
    for (int i = 0; (most == 0 || i < most) && class_of(text + at, length - at, &n) == wanted; i++) at += n;
    return at - begin;
}

static size_t run_of_lines(const char *text, size_t length, size_t at) {
    return run(text, length, at, LINE_END, 0);
}

/* --- patterns --- */

/* 's, 't, 're ... at the beginning, 0: none. */
static size_t contraction(const char *text, size_t length, bool any_case) {
    static const char *const ends[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (text[0] != '\'') return 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n = strlen(ends[i]);
        bool same = 1 + n <= length;
        for (size_t k = 0; same && k < n; k++) {
            const char c = text[1 + k];
            same = c == ends[i][k] || (any_case && c == ends[i][k] - 32);
        }
        if (same) return 1 + n;
    }
    return 0;
}

/* Space characters of any kind from the beginning, and where the last of them begins. */
static size_t spaces(const char *text, size_t length, size_t *last, size_t *behind_last_line) {
    size_t at = 0, n;
    *last = *behind_last_line = 0;
    for (class c; (c = class_of(text + at, length - at, &n)) == SPACE || c == LINE_END; at += n) {
        *last = at;
        if (c == LINE_END) *behind_last_line = at + n;
    }
    return at;
}

/* Spaces: all at the end of the text, else all but the last one, which belongs to what follows; a single one
 * alone. */
static size_t space_piece(size_t all, size_t last, size_t length) {
    return all == length || last == 0 ? all : last;
}

static size_t next_gpt2(const char *text, size_t length) {
    const size_t short_form = contraction(text, length, false);
    if (short_form) return short_form;
    const size_t begin = text[0] == ' ' ? 1 : 0;
    size_t n;
    const class c = class_of(text + begin, length - begin, &n);
    if (c == LETTER || c == NUMBER || c == OTHER) return begin + run(text, length, begin, c, 0);
    size_t last, behind;
    const size_t all = spaces(text, length, &last, &behind);
    return space_piece(all, last, length);
}

static size_t next_llama3(const char *text, size_t length, int digits) {
    const size_t short_form = contraction(text, length, true);
    if (short_form) return short_form;
    size_t n, behind_n;
    const class c = class_of(text, length, &n);
    const class behind = class_of(text + n, length - n, &behind_n);
    if (c == LETTER) return run(text, length, 0, LETTER, 0);
    if ((c == OTHER || c == SPACE) && behind == LETTER) return n + run(text, length, n, LETTER, 0);
    if (c == NUMBER) return run(text, length, 0, NUMBER, digits);
    const size_t begin = text[0] == ' ' && behind == OTHER ? 1 : 0;
    if (begin || c == OTHER) {
        const size_t end = begin + run(text, length, begin, OTHER, 0);
        return end + run_of_lines(text, length, end);
    }
    size_t last, behind_line;
    const size_t all = spaces(text, length, &last, &behind_line);
    return behind_line ? behind_line : space_piece(all, last, length);
}

size_t lud_pre_tokenizer_next(lud_pre_tokenizer kind, const char *text, size_t length) {
    switch (kind) {
    case LUD_PRE_TOKENIZER_GPT2:
        return next_gpt2(text, length);
    case LUD_PRE_TOKENIZER_LLAMA3:
        return next_llama3(text, length, 3);
    case LUD_PRE_TOKENIZER_QWEN2:
        return next_llama3(text, length, 1);
    case LUD_PRE_TOKENIZER_NONE:
    case LUD_PRE_TOKENIZERS:
        break;
    }
    return length;
}
