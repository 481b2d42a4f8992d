/* A palette that follows what is drawn, for GIF: 255 colours, and one that is transparent. */
#pragma once

#include <stdint.h>

typedef struct lud_palette lud_palette;

enum { LUD_PALETTE_TRANSPARENT = 255 }; /* no pixel has it: what has not changed since the last picture may */

lud_palette *lud_palette_create(void);
void lud_palette_destroy(lud_palette *palette);
/* The colours of a picture join those that the palette is made for. pixels: [height] rows of `pitch` bytes;
 * words[height][width]: from which lud_palette_translate makes indices, at once or later. */
void lud_palette_count(lud_palette *palette, const uint32_t *pixels, int width, int height, int pitch,
                       uint16_t *words);
/* Translates a picture that was counted to indices. The palette is made at first, and anew (by median cut
 * over all pictures so far) only when a colour of this picture is badly served by it and others were counted
 * since, so that colours stay the same from picture to picture. indices: [height] rows of `index_pitch`
 * bytes. colours[256] gets the palette as ARGB words. */
void lud_palette_translate(lud_palette *palette, const uint16_t *words, int width, int height,
                           uint8_t *indices, int index_pitch, uint32_t colours[256]);
