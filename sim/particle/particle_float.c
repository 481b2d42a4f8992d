/* Single precision, for any processor. */
#define real           float
#define REAL_IS_DOUBLE 0
#define CODE_NAME      lud_particle_float_code
#include "sim/particle/particle_block.h"
