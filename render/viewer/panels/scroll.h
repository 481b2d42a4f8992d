/* A part of the picture whose content may be taller than it: it is moved by the mouse wheel, and a bar at its
 * right edge says where it is. */
#pragma once

#include "render/canvas/canvas.h"

typedef struct lud_scroll {
    lud_box box;   /* what is seen; empty where nothing is drawn */
    float content; /* height of all */
    float offset;  /* pixels that are above what is seen */
} lud_scroll;

/* What is drawn from now on is seen in the box alone; returns the y where content of this height begins. */
float lud_scroll_begin(lud_scroll *scroll, lud_canvas *canvas, lud_box box, float content);
void lud_scroll_end(const lud_scroll *scroll, lud_canvas *canvas, const lud_theme *theme);
/* Moves it so many pixels down; false where all is seen already. */
bool lud_scroll_turn(lud_scroll *scroll, float by);
