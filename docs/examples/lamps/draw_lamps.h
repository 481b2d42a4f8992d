/* Drawing of the lamps. */
#ifndef LUDUS_RENDER_DRAW_LAMPS_H
#define LUDUS_RENDER_DRAW_LAMPS_H

#include "render/draw.h"

extern const lud_draw_world lud_draw_lamps;

#endif
