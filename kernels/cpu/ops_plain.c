/* The float operations for any x86-64 or other processor. */
#define LUD_OPS_TYPE  lud_ops
#define LUD_OPS_TABLE lud_cpu_ops_plain
#include "kernels/cpu/operations/ops_all.inc"
