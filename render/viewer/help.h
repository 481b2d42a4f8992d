/* The page of all keys, and the line of the first ones. */
#ifndef LUDUS_RENDER_VIEWER_HELP_H
#define LUDUS_RENDER_VIEWER_HELP_H

#include "render/canvas.h"

/* Over the whole picture. */
void lud_help_draw(lud_canvas *canvas, const lud_theme *theme);
/* At its lower edge. */
void lud_help_draw_first_keys(lud_canvas *canvas, const lud_theme *theme);

#endif
