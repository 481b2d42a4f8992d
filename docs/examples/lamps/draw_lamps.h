/* Drawing of the lamps. */
#pragma once

#include "render/draw.h"

extern const lud_draw_world lud_draw_lamps;
