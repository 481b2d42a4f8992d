/* Convolutions of the CPU through oneDNN. */
#pragma once

#include "kernels/cpu/cpu.h"

/* The convolution primitives made so far. Null when memory is out or the library refuses. */
lud_cpu_conv_cache *lud_cpu_conv_cache_create(void);
void lud_cpu_conv_cache_destroy(lud_cpu_conv_cache *cache);

typedef enum lud_conv_pass { LUD_CONV_FORWARD, LUD_CONV_DATA, LUD_CONV_WEIGHTS } lud_conv_pass;

/* One pass of a convolution through oneDNN. FORWARD: y from x, w and b (may be null), with a ReLU behind it
 * when `relu`. DATA: x (the gradient) from y (the gradient) and w. WEIGHTS: w (the gradient) from x and y.
 * The result overwrites, or is added when `add`. Primitives are made once per pass and shape and kept; any
 * number of images is run as pieces of powers of two, so that few shapes exist. */
void lud_cpu_conv(lud_device *device, lud_conv_pass pass, const lud_conv *shape, bool relu, bool add,
                  float *x, float *w, const float *b, float *y);
