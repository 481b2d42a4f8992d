/* The float operations for processors with AVX2 and FMA. */
#define LUD_OPS_TYPE  lud_ops
#define LUD_OPS_TABLE lud_cpu_ops_avx2
#include "kernels/cpu/operations/ops_all.inc"
