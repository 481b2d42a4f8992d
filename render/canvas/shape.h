/* Antialiased shapes as coverage masks: bytes, 255 = inside. Coordinates in pixels, (0, 0) the upper left
 * corner of the mask; a pixel's centre is at +0.5. */
#pragma once

#include <stdint.h>

/* An annular sector. inner_radius 0: a disc or pie. Angles in radians clockwise from east; a sweep of 2 pi or
 * more is the whole ring. mask[height][width] */
void lud_shape_ring(uint8_t *mask, int width, int height, float cx, float cy, float outer_radius,
                    float inner_radius, float from, float sweep);
/* A chain of n >= 2 points as a line of the given width with round ends and joints. points[n][2] */
void lud_shape_polyline(uint8_t *mask, int width, int height, const float (*points)[2], int n,
                        float line_width);
/* A closed polygon of n >= 3 points, even-odd rule. points[n][2] */
void lud_shape_polygon(uint8_t *mask, int width, int height, const float (*points)[2], int n);
