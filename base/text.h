/* A growing string that never truncates; writing fails only when memory is out, which sticks in `failed`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise before use. */
typedef struct lud_text {
    char *bytes; /* zero-terminated, or null while empty */
    size_t length, capacity;
    bool failed;
} lud_text;

void lud_text_append(lud_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lud_text_append_bytes(lud_text *text, const char *bytes, size_t length);
/* Appends a word as a shell reads it back: in single quotes where it has to be. */
void lud_text_append_word(lud_text *text, const char *word);
/* The word as a shell reads it back, made in `text`, whose place it takes; as it is when memory is out. */
const char *lud_text_word(lud_text *text, const char *word);
/* Puts '?' in the place of every control character of UTF-8 text in `bytes`, so that printing it disturbs no
 * terminal. */
void lud_text_tame(char *bytes);
/* Empties it, keeping the memory. */
void lud_text_clear(lud_text *text);
void lud_text_free(lud_text *text);

/* Writes a character (below 2^21) as UTF-8 to `to`, at most four bytes; returns how many. */
size_t lud_utf8_put(char *to, uint32_t character);
/* What a hexadecimal digit is worth; -1: it is none. */
int lud_hex_value(char digit);
