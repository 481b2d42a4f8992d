/* Drawing of the particle world. */
#pragma once

#include "render/draw.h"

extern const lud_draw_world lud_draw_particle;
