/* Single pictures: PNG files. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Whether the path ends in .png; if not, the error says that it should. */
lud_status lud_picture_check_path(const char *path, lud_error *error);
/* Writes words 0xxxRRGGBB, [height] rows of `pitch` bytes, replacing the file when complete. The path must
 * end in .png. */
lud_status lud_picture_write(const char *path, const uint32_t *pixels, int width, int height, int pitch,
                             lud_error *error);
