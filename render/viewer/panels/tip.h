/* What is said about the place that is pointed at, beside it. */
#pragma once

#include "render/canvas/canvas.h"

/* The pointer, and how long it has rested there. */
typedef struct lud_pointer {
    float x, y;
    double rested; /* seconds; negative: nothing is said before it moves again */
} lud_pointer;

void lud_pointer_move(lud_pointer *pointer, float x, float y);
/* Says nothing until it moves again. */
void lud_pointer_quiet(lud_pointer *pointer);
/* Whether a tip may be about to appear, so that time must go on. */
bool lud_pointer_waits(const lud_pointer *pointer);
/* Draws the hint of this frame (lud_canvas_hint) that is pointed at. */
void lud_tip_draw(const lud_pointer *pointer, lud_canvas *canvas, const lud_theme *theme);
