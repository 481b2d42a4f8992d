/* Double precision, for checks. */
#define real           double
#define REAL_IS_DOUBLE 1
#define CODE_NAME      lud_particle_double_code
#include "sim/particle/particle_block.h"
