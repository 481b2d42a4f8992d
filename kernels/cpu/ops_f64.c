/* The operations in double precision, for gradient checks. */
#define LUD_REAL_F64
#define LUD_OPS_TYPE  lud_ops_f64
#define LUD_OPS_TABLE cpu_ops_f64
#define LUD_OPS_LOCAL static
#include "kernels/cpu/operations/ops_all.inc"

const lud_ops_f64 *lud_cpu_ops_f64(void) {
    return &cpu_ops_f64;
}
