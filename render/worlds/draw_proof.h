/* Drawing of the proof world: the tree as it grows, the goals that are left, and the rule just used. */
#pragma once

#include "render/draw.h"

extern const lud_draw_world lud_draw_proof;
