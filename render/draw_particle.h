/* Drawing of the particle world. */
#ifndef LUDUS_RENDER_DRAW_PARTICLE_H
#define LUDUS_RENDER_DRAW_PARTICLE_H

#include "render/draw.h"

extern const lud_draw_world lud_draw_particle;

#endif
