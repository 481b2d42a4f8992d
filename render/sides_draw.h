/* How sides that go in step are drawn: where each has its place, the heading above it, and marks where it is
 * otherwise than the first. Each side has a colour, that of its curves. */
#pragma once

#include "render/sides.h"

/* Divides an area between `n` worlds of the shape `extent` so that they become as large as they can; each box
 * has `heading` pixels of its height for the heading. */
void lud_sides_divide(int n, lud_box extent, lud_box area, float heading, lud_box boxes[LUD_SIDES]);
/* The boxes of so many columns. */
void lud_sides_grid(int n, int columns, lud_box area, lud_box boxes[LUD_SIDES]);
/* Lines between the boxes. */
void lud_sides_draw_rules(int n, const lud_box boxes[LUD_SIDES], lud_canvas *canvas, const lud_theme *theme);
/* Columns and rows of a picture that may have any shape: that which is nearest to a screen's. */
void lud_sides_arrange(int n, int width, int height, int *columns, int *rows);

/* Pixels of a heading's height, even. */
int lud_sides_heading_height(const lud_canvas *canvas);
/* Environments that go apart have one line, their seeds, in boxes as high as this. */
int lud_sides_label_height(const lud_canvas *canvas);
/* Who acts, the step, returns and outcome, and since when the states differ from the first side's. `chosen`:
 * it is the one that panels are about. */
void lud_sides_draw_heading(const lud_sides *sides, int side, lud_canvas *canvas, const lud_theme *theme,
                            lud_box box, bool chosen);
/* Over a side's world: cells that differ, and a ring where an agent that stands elsewhere stands on the other
 * side: on the first side those of all others, on another those of the first. moments[n] are those that were
 * drawn, with the camera of this side. */
void lud_sides_draw_marks(const lud_sides *sides, int side, lud_canvas *canvas, const lud_theme *theme,
                          const lud_camera *camera, const lud_moment *moments);
