#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(lud_text *text, size_t extra) {
    size_t need = text->length + extra + 1;
    if (text->failed) return false;
    if (need <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < need) capacity *= 2;
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void lud_text_append(lud_text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void lud_text_append_bytes(lud_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void lud_text_append_word(lud_text *text, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.,:/=+%@";
    if (*word && !word[strspn(word, plain)]) {
        lud_text_append(text, "%s", word);
        return;
    }
    lud_text_append(text, "'");
    for (const char *c = word; *c; c++) lud_text_append(text, *c == '\'' ? "'\\''" : "%c", *c);
    lud_text_append(text, "'");
}

const char *lud_text_word(lud_text *text, const char *word) {
    lud_text_clear(text);
    lud_text_append_word(text, word);
    return text->failed ? word : text->bytes;
}

void lud_text_tame(char *bytes) {
    unsigned char *to = (unsigned char *)bytes;
    for (const unsigned char *c = to; *c; c++) {
        const bool beyond_ascii = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0; /* U+0080 to U+009F */
        *to++ = beyond_ascii || *c < 0x20 || *c == 0x7f ? '?' : *c;
        c += beyond_ascii;
    }
    *to = 0;
}

void lud_text_clear(lud_text *text) {
    text->length = 0;
    if (text->bytes) text->bytes[0] = 0;
}

void lud_text_free(lud_text *text) {
    free(text->bytes);
    *text = (lud_text){0};
}

size_t lud_utf8_put(char *to, uint32_t character) {
    static const uint32_t ends[] = {0x80, 0x800, 0x10000};
    size_t more = 0;
    while (more < 3 && character >= ends[more]) more++;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(first[more] | character >> 6 * more);
    for (size_t k = 1; k <= more; k++) to[k] = (char)(0x80 | (character >> 6 * (more - k) & 0x3f));
    return more + 1;
}

int lud_hex_value(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}
