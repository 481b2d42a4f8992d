/* A palette of 256 colours that follows what is drawn, for GIF. */
#pragma once

#include <stdint.h>

typedef struct lud_palette lud_palette;

lud_palette *lud_palette_create(void);
void lud_palette_destroy(lud_palette *palette);
/* Translates a picture to indices, making the palette anew (by median cut over all frames so far) only when a
 * colour of this frame is badly served by the present one, so that colours stay the same from frame to frame.
 * pixels: [height] rows of `pitch` bytes; indices: [height] rows of `index_pitch` bytes. colours[256] gets
 * the palette as ARGB words. */
void lud_palette_translate(lud_palette *palette, const uint32_t *pixels, int width, int height, int pitch,
                           uint8_t *indices, int index_pitch, uint32_t colours[256]);
