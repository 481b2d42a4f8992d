/* The two executions of a network: floats on any device, doubles on the CPU. */
#include "learn/nn/graph.h"

/* A batch without rows has nothing to do, and its pointers may be anything. */
static int64_t rows_of(const lud_nn *net, int value) {
    return value < 0 ? 0 : net->rows[net->values[value].axis];
}

static int64_t width_of(const lud_nn *net, int value) {
    return value < 0 ? 0 : net->values[value].width;
}

/* Of the elements of a value that is dropped out of, where its rows are the last of more
 * (lud_nn_set_first_row).
 */
static uint32_t first_draw(const lud_nn *net, int value) {
    return net->values[value].axis == 0 ? (uint32_t)(net->first_row * width_of(net, value) / 4) : 0;
}

#define TEMPLATE "learn/nn/run_template.h"
#include "learn/nn/both_reals.h"
