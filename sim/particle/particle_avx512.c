/* Single precision for processors with AVX-512; the same results as particle_float.c. */
#if defined(__x86_64__)
#define real           float
#define REAL_IS_DOUBLE 0
#define CODE_NAME      lud_particle_avx512_code
#include "sim/particle/particle_block.h"
#else
typedef int particle_not_built_here;
#endif
