/* The float operations for processors with AVX-512 (F, VL, DQ, BW). */
#define LUD_OPS_TYPE  lud_ops
#define LUD_OPS_TABLE lud_cpu_ops_avx512
#include "kernels/cpu/operations/ops_all.inc"
