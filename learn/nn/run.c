/* The two executions of a network: floats on any device, doubles on the CPU. */
#include "learn/nn/graph.h"

/* A batch without rows has nothing to do, and its pointers may be anything. */
static int64_t rows_of(const lud_nn *net, int value) {
    return value < 0 ? 0 : net->rows[net->values[value].axis];
}

static int64_t width_of(const lud_nn *net, int value) {
    return value < 0 ? 0 : net->values[value].width;
}

#define real          float
#define LUD_OPS       lud_ops
#define NAME(name)    name##_f32
#define OPERATIONS(d) ((d)->ops)
#include "learn/nn/run_template.h"
#undef real
#undef LUD_OPS
#undef NAME
#undef OPERATIONS

#define real          double
#define LUD_OPS       lud_ops_f64
#define NAME(name)    name##_f64
#define OPERATIONS(d) lud_cpu_ops_f64()
#include "learn/nn/run_template.h"
