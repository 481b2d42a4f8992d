/* The typeface of the program: glyph pictures and advances at a pixel size. Digits are tabular: all as wide
 * as the widest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct lud_font lud_font;

/* A glyph's picture relative to the pen on the baseline. */
typedef struct lud_glyph {
    int left, top, width, height; /* top counts downwards, so it is negative above the baseline */
} lud_glyph;

/* The font that is part of the program; LUD_ERROR_INPUT where it is damaged. A font is used by one
 * thread at a time. */
lud_status lud_font_create(lud_font **font, lud_error *error);
void lud_font_destroy(lud_font *font);

/* Baseline below the top of a line, and the height of a line, in pixels. */
float lud_font_ascent(const lud_font *font, float size);
float lud_font_line_height(const lud_font *font, float size);
/* How far the pen moves. */
float lud_font_advance(const lud_font *font, uint32_t code_point, float size);
lud_glyph lud_font_glyph(const lud_font *font, uint32_t code_point, float size);
/* Coverage bytes mask[height][width] of the glyph; false, and no picture, without memory. */
bool lud_font_render(const lud_font *font, uint32_t code_point, float size, uint8_t *mask);

/* The next code point of UTF-8 text, moving *text on; U+FFFD for bytes that are not UTF-8, 0 at the end. */
uint32_t lud_utf8_next(const char **text);
