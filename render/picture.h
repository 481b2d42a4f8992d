/* Single pictures: PNG files. */
#ifndef LUDUS_RENDER_PICTURE_H
#define LUDUS_RENDER_PICTURE_H

#include <stdint.h>

#include "base/status.h"

/* Writes words 0xxxRRGGBB, [height] rows of `pitch` bytes, replacing the file when complete. */
lud_status lud_picture_write(const char *path, const uint32_t *pixels, int width, int height, int pitch,
                             lud_error *error);

#endif
