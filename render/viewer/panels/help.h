/* The page of all keys, and the line of the first ones. */
#pragma once

#include "render/canvas/canvas.h"

/* Over the whole picture. */
void lud_help_draw(lud_canvas *canvas, const lud_theme *theme);
/* The same while the world is edited. */
void lud_help_draw_editor(lud_canvas *canvas, const lud_theme *theme);
/* At its lower edge. */
void lud_help_draw_first_keys(lud_canvas *canvas, const lud_theme *theme);
