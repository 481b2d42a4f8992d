/* Small images of ten kinds of strokes, distorted and noisy: something to classify that is in no file. */
#pragma once

#include <stdint.h>

enum { LUD_BANDIT_SIDE = 16, LUD_BANDIT_PIXELS = LUD_BANDIT_SIDE * LUD_BANDIT_SIDE, LUD_BANDIT_KINDS = 10 };

/* Image number `index`: a digit, turned, sheared, shifted and drawn by an unsteady hand, crossed by another
 * stroke, with noise. A function of the number alone; training and test images are different numbers. Returns
 * the kind. */
int lud_bandit_image(uint32_t index, float pixel[LUD_BANDIT_PIXELS]);
