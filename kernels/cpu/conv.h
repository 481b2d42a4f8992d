/* Convolutions of the CPU through oneDNN (see cpu.h for the call itself). */
#ifndef LUDUS_KERNELS_CPU_CONV_H
#define LUDUS_KERNELS_CPU_CONV_H

#include "kernels/cpu/cpu.h"

/* The convolution primitives made so far. Null when memory is out or the library refuses. */
lud_cpu_conv_cache *lud_cpu_conv_cache_create(void);
void lud_cpu_conv_cache_destroy(lud_cpu_conv_cache *cache);

#endif
