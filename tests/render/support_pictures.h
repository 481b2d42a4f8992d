/* Pictures of the tests of render/: copied, read, and compared pixel by pixel or as a person sees them. */
#pragma once

#include "render/canvas/canvas.h"

typedef struct picture {
    int width, height;
    uint32_t *pixels; /* [height][width] 0x00RRGGBB; freed with picture_free */
} picture;

picture picture_of(const lud_canvas *canvas);
/* Fails the running test where there is no PNG. */
picture picture_read(const char *path);
void picture_write(picture p, const char *path);
void picture_free(picture *p);
/* Pixels that are not the same; -1: the sizes are other. */
int picture_differing(picture a, picture b);

/* How far two pictures of one size are apart as seen from where single pixels cannot be told: both are
 * blurred by a box of 3 x 3 pixels. Differences are absolute, of a channel, 0 to 255. */
typedef struct picture_distance {
    double mean;  /* over the picture */
    double worst; /* over the square of 16 x 16 pixels that has the most, about as large as a letter */
} picture_distance;
picture_distance picture_compare(picture a, picture b);
