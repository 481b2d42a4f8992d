/* Includes the file TEMPLATE, which is written for numbers `real`, for float and for double: functions are
 * called NAME(name), the operations on a device OPERATIONS(device), their table's type LUD_OPS. Doubles stay
 * on the CPU. No include guard on purpose. */

#define real          float
#define LUD_OPS       lud_ops
#define NAME(name)    name##_f32
#define OPERATIONS(d) ((d)->ops)
#include TEMPLATE
#undef real
#undef LUD_OPS
#undef NAME
#undef OPERATIONS

#define real          double
#define LUD_OPS       lud_ops_f64
#define NAME(name)    name##_f64
#define OPERATIONS(d) lud_cpu_ops_f64()
#include TEMPLATE
#undef TEMPLATE
