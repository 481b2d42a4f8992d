/* The inside of a network, shared by the declaring, planning and running parts. Not for users of networks. */
#pragma once

#include "learn/nn/nn.h"

enum { LUD_NODE_MAX_INPUTS = 12, LUD_NODE_MAX_PARAMETERS = 3, LUD_NODE_MAX_KEPT = 2, LUD_NN_MAX_AXES = 8 };

/* X(kind, backward needs the inputs, backward needs the output) */
#define LUD_NODE_KINDS(X)                                                                                    \
    X(LINEAR, 1, 1)                                                                                          \
    X(CONV, 1, 1)                                                                                            \
    X(GRID_CONV, 1, 1)                                                                                       \
    X(MAX_POOL, 0, 0)                                                                                        \
    X(EMBEDDING, 1, 0)                                                                                       \
    X(LAYER_NORM, 1, 0)                                                                                      \
    X(RMS_NORM, 1, 0)                                                                                        \
    X(LRU, 1, 1)                                                                                             \
    X(GRU, 1, 1)                                                                                             \
    X(GRAPH_ATTENTION, 1, 0)                                                                                 \
    X(ATTENTION, 1, 1)                                                                                       \
    X(MAP, 1, 1)                                                                                             \
    X(DROPOUT, 0, 0)                                                                                         \
    X(CONCAT, 0, 0)                                                                                          \
    X(SLICE, 0, 0)                                                                                           \
    X(ADD, 0, 0)                                                                                             \
    X(MULTIPLY, 1, 0)                                                                                        \
    X(GATHER, 1, 0)                                                                                          \
    X(SEGMENT_REDUCE, 1, 0)                                                                                  \
    X(SEGMENT_SOFTMAX, 1, 1)                                                                                 \
    X(SOFTMAX, 1, 1)                                                                                         \
    X(LOG_SOFTMAX, 1, 1)                                                                                     \
    X(SUM_GROUPS, 0, 0)                                                                                      \
    X(BROADCAST_GROUPS, 0, 0)                                                                                \
    X(ROTARY, 1, 0)

typedef enum lud_node_kind {
#define X(kind, inputs, output) LUD_NODE_##kind,
    LUD_NODE_KINDS(X)
#undef X
        LUD_N_NODE_KINDS
} lud_node_kind;

typedef struct lud_nn_slot {
    lud_nn_type type;
    int axis;
    int64_t width, extra_rows;
    int alias;     /* the value whose memory this one shares, -1: its own */
    bool input;    /* filled by the caller */
    bool output;   /* read by the caller */
    bool gradient; /* a gradient flows through it */
    bool constant; /* an input that stays as it is, or made of such and of parameters alone */
    size_t offset, gradient_offset;
    const void *bound; /* input: the caller's memory */
} lud_nn_slot;

typedef struct lud_node {
    lud_node_kind kind;
    int n_inputs, inputs[LUD_NODE_MAX_INPUTS]; /* -1: left out */
    bool add[LUD_NODE_MAX_INPUTS];             /* backward: the input's gradient already holds something */
    int output;
    int kept[LUD_NODE_MAX_KEPT]; /* values that backward needs beside inputs and output, -1: none */
    int parameters[LUD_NODE_MAX_PARAMETERS]; /* -1: none */
    bool backward;                           /* takes part in backward runs */
    lud_map map, evaluation_map;
    lud_conv conv;
    lud_grid_form form;
    lud_reduce reduce;
    bool pools;   /* GRID_CONV with the pooling behind it, in inference */
    bool partial; /* segments leave rows out */
    int64_t k;    /* heads, group size, pool size, first column */
    int64_t height, width;
    int state_axis;
    double factor; /* rate, epsilon, scale, base */
    uint32_t stream;
    const lud_edges *edges;
    const lud_attention *attention;
} lud_node;

struct lud_nn {
    lud_parameters *parameters;
    lud_init weight_init, bias_init;
    int n_axes;
    int64_t max_rows[LUD_NN_MAX_AXES], rows[LUD_NN_MAX_AXES];
    int n_values, values_capacity;
    lud_nn_slot *values;
    int n_nodes, nodes_capacity;
    lud_node *nodes;
    bool failed; /* memory ran out while declaring */
    bool planned, training_plan;
    bool training;          /* the run in progress */
    uint64_t version, held; /* of the parameters: now, and when constant values were computed; 0: unknown */
    uint64_t seed;
    int64_t first_row;         /* lud_nn_set_first_row */
    lud_device *device;        /* that runs it, the parameters' unless lud_nn_run_on */
    uint32_t *step;            /* in device memory, so that recorded runs see new values */
    uint32_t step_packed;      /* the same in an upload */
    const uint32_t *step_read; /* the one of both that runs read */
    char *memory;
    bool borrowed; /* the memory is another network's */
    size_t bytes, bytes_unshared;
};

/* The two executions of the graph: on floats with the device's operations, on doubles with the CPU's. */
void lud_nn_forward_f32(lud_nn *net);
void lud_nn_backward_f32(lud_nn *net);
void lud_nn_forward_f64(lud_nn *net);
void lud_nn_backward_f64(lud_nn *net);

/* The value that owns the memory of `value`. */
int lud_nn_owner(const lud_nn *net, int value);
