/* Declaring networks. */
#include "learn/nn/nn.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "learn/nn/graph.h"

enum { FIRST_CAPACITY = 64 }; /* of values and nodes */

lud_nn *lud_nn_create(lud_parameters *parameters, int64_t max_rows) {
    lud_nn *net = calloc(1, sizeof *net);
    if (!net) return NULL;
    net->parameters = parameters;
    net->values_capacity = net->nodes_capacity = FIRST_CAPACITY;
    net->values = malloc(FIRST_CAPACITY * sizeof *net->values);
    net->nodes = malloc(FIRST_CAPACITY * sizeof *net->nodes);
    if (!net->values || !net->nodes) {
        lud_nn_destroy(net);
        return NULL;
    }
    net->weight_init = net->bias_init = (lud_init){.kind = LUD_INIT_FAN_IN};
    lud_nn_axis(net, max_rows);
    return net;
}

void lud_nn_destroy(lud_nn *net) {
    if (!net) return;
    if (net->memory && !net->borrowed) lud_device_release(net->parameters->device, net->memory);
    if (net->step) lud_device_release(net->parameters->device, net->step);
    LUD_FREE(net->values, net->nodes, net);
}

int lud_nn_axis(lud_nn *net, int64_t max_rows) {
    assert(net->n_axes < LUD_NN_MAX_AXES && max_rows >= 0);
    net->max_rows[net->n_axes] = max_rows;
    return net->n_axes++;
}

void lud_nn_set_init(lud_nn *net, lud_init weight, lud_init bias) {
    net->weight_init = weight;
    net->bias_init = bias;
}

int lud_nn_owner(const lud_nn *net, int value) {
    while (net->values[value].alias >= 0) value = net->values[value].alias;
    return value;
}

int64_t lud_nn_width(const lud_nn *net, int value) {
    return net->values[value].width;
}

int lud_nn_axis_of(const lud_nn *net, int value) {
    return net->values[value].axis;
}

int lud_nn_relu_layers(const lud_nn *net, int most, lud_nn_layer *layers) {
    int n = 0;
    if (net->failed) return 0; /* which lud_nn_plan reports; nodes are no longer what they should be */
    for (int i = 0; i < net->n_nodes; i++) {
        const lud_node *node = &net->nodes[i];
        const bool layer =
            node->kind == LUD_NODE_LINEAR || node->kind == LUD_NODE_CONV || node->kind == LUD_NODE_GRID_CONV;
        if (!layer || node->map.kind != LUD_MAP_RELU) continue;
        if (node->parameters[0] < 0) continue; /* memory ran out, which planning reports */
        const lud_parameter *weight = &net->parameters->items[node->parameters[0]];
        if (n < most)
            layers[n] =
                (lud_nn_layer){.value = node->output, .name = weight->name, .units = weight->dimensions[0]};
        n++;
    }
    return n;
}

/* --- growing; after a failure the last entry is used again and lud_parameters_build and lud_nn_plan report
 * it --- */

/* Room for one more of the `n` entries; false when memory is out. */
static bool grow(lud_nn *net, void *table, int n, int *capacity, size_t size) {
    if (n < *capacity) return true;
    void *old, *larger;
    memcpy(&old, table, sizeof old);
    larger = realloc(old, (size_t)*capacity * 2 * size);
    if (!larger) {
        net->failed = net->parameters->failed = true;
        return false;
    }
    memcpy(table, &larger, sizeof larger);
    *capacity *= 2;
    return true;
}

static int add_value(lud_nn *net, int axis, lud_nn_type type, int64_t width) {
    assert(!net->planned && axis >= 0 && axis < net->n_axes && width >= 0);
    if (grow(net, &net->values, net->n_values, &net->values_capacity, sizeof *net->values)) net->n_values++;
    net->values[net->n_values - 1] = (lud_nn_slot){.type = type, .axis = axis, .width = width, .alias = -1};
    return net->n_values - 1;
}

/* Adds the node with its output value; n inputs, -1 where an optional one is left out. */
static lud_node *add_node(lud_nn *net, lud_node_kind kind, int axis, int64_t width, int n,
                          const int *inputs) {
    assert(n <= LUD_NODE_MAX_INPUTS);
    if (grow(net, &net->nodes, net->n_nodes, &net->nodes_capacity, sizeof *net->nodes)) net->n_nodes++;
    lud_node *node = &net->nodes[net->n_nodes - 1];
    *node = (lud_node){.kind = kind, .n_inputs = n, .map = LUD_LINEAR, .evaluation_map = LUD_LINEAR};
    for (int i = 0; i < n; i++) {
        assert(inputs[i] >= -1 && inputs[i] < net->n_values);
        node->inputs[i] = inputs[i];
    }
    for (int i = 0; i < LUD_NODE_MAX_KEPT; i++) node->kept[i] = -1;
    for (int i = 0; i < LUD_NODE_MAX_PARAMETERS; i++) node->parameters[i] = -1;
    node->output = add_value(net, axis, LUD_NN_REAL, width);
    return node;
}

static void keep(lud_nn *net, lud_node *node, int which, lud_nn_type type, int axis, int64_t width) {
    node->kept[which] = add_value(net, axis, type, width);
}

static int parameter(lud_nn *net, const char *name, const char *suffix, int n_dimensions,
                     const int64_t *dimensions, lud_init init) {
    char full[512];
    const int length = snprintf(full, sizeof full, "%s%s", name, suffix);
    assert(length > 0 && (size_t)length < sizeof full);
    (void)length;
    if (net->failed) return -1; /* shapes are no longer what they should be */
    const int index = lud_parameters_add(net->parameters, full, n_dimensions, dimensions, init);
    net->failed = index < 0;
    return index;
}

/* The weight of a layer: one of the matrices of which optimisers may keep low-rank moments. */
static int matrix(lud_nn *net, const char *name, const char *suffix, int64_t rows, int64_t columns) {
    const int index = parameter(net, name, suffix, 2, (const int64_t[]){rows, columns}, net->weight_init);
    if (index >= 0) net->parameters->items[index].low_rank = true;
    return index;
}

static int axis_of(const lud_nn *net, int value) {
    return net->values[value].axis;
}
static int64_t width_of(const lud_nn *net, int value) {
    return net->values[value].width;
}

/* The bias of a layer draws within the fan of its weight. */
static lud_init bias_init(const lud_nn *net, int64_t fan_in) {
    lud_init init = net->bias_init;
    if (init.fan_in == 0) init.fan_in = fan_in;
    return init;
}

/* --- inputs --- */

int lud_nn_input_on(lud_nn *net, int axis, lud_nn_type type, int64_t width, int64_t extra_rows) {
    const int value = add_value(net, axis, type, width);
    net->values[value].input = true;
    net->values[value].extra_rows = extra_rows;
    return value;
}

void lud_nn_set_constant(lud_nn *net, int input) {
    assert(net->values[input].input && !net->planned);
    net->values[input].constant = true;
}

int lud_nn_input(lud_nn *net, int64_t width) {
    return lud_nn_input_on(net, 0, LUD_NN_REAL, width, 0);
}

/* --- layers --- */

static int linear(lud_nn *net, int x, const char *name, int64_t width, lud_map map, bool bias) {
    const int64_t n_in = width_of(net, x);
    const int axis = axis_of(net, x);
    lud_node *node = add_node(net, LUD_NODE_LINEAR, axis, width, 1, &x);
    node->map = node->evaluation_map = map;
    node->parameters[0] = matrix(net, name, ".weight", width, n_in);
    if (bias) node->parameters[1] = parameter(net, name, ".bias", 1, &width, bias_init(net, n_in));
    if (lud_map_needs_input(map.kind)) keep(net, node, 0, LUD_NN_REAL, axis, width);
    return node->output;
}

int lud_nn_linear(lud_nn *net, int x, const char *name, int64_t width, lud_map map) {
    return linear(net, x, name, width, map, true);
}

int lud_nn_linear_without_bias(lud_nn *net, int x, const char *name, int64_t width, lud_map map) {
    return linear(net, x, name, width, map, false);
}

static int convolution(lud_nn *net, lud_node_kind kind, int x, const char *name, lud_conv conv, lud_map map) {
    assert(conv.kernel % 2 == 1);
    const int64_t out = conv.channels_out * conv.height * conv.width;
    const int64_t fan_in = conv.channels_in * conv.kernel * conv.kernel;
    const int axis = axis_of(net, x);
    lud_node *node = add_node(net, kind, axis, out, 1, &x);
    node->conv = conv;
    node->map = node->evaluation_map = map;
    const int64_t shape[4] = {conv.channels_out, conv.channels_in, conv.kernel, conv.kernel};
    node->parameters[0] = parameter(net, name, ".weight", 4, shape, net->weight_init);
    node->parameters[1] = parameter(net, name, ".bias", 1, &conv.channels_out, bias_init(net, fan_in));
    if (lud_map_needs_input(map.kind)) keep(net, node, 0, LUD_NN_REAL, axis, out);
    return node->output;
}

int lud_nn_conv(lud_nn *net, int x, const char *name, int64_t height, int64_t width, int64_t channels_out,
                int64_t kernel, lud_map map) {
    assert(width_of(net, x) % (height * width) == 0);
    const lud_conv conv = {.channels_in = width_of(net, x) / (height * width),
                           .height = height,
                           .width = width,
                           .channels_out = channels_out,
                           .kernel = kernel,
                           .stride = 1,
                           .padding = (kernel - 1) / 2};
    return convolution(net, LUD_NODE_CONV, x, name, conv, map);
}

int lud_nn_grid_conv(lud_nn *net, int code, const char *name, lud_grid_form form, int64_t height,
                     int64_t width, int64_t channels_out, int64_t kernel, lud_map map) {
    assert(net->values[code].type == LUD_NN_I32 && width_of(net, code) == height * width);
    const lud_conv conv = {.channels_in = LUD_GRID_CHANNELS,
                           .height = height,
                           .width = width,
                           .channels_out = channels_out,
                           .kernel = kernel,
                           .stride = 1,
                           .padding = (kernel - 1) / 2};
    const int output = convolution(net, LUD_NODE_GRID_CONV, code, name, conv, map);
    net->nodes[net->n_nodes - 1].form = form;
    return output;
}

int lud_nn_max_pool(lud_nn *net, int x, int64_t height, int64_t width, int64_t size) {
    assert(width_of(net, x) % (height * width) == 0 && size >= 1);
    const int64_t channels = width_of(net, x) / (height * width);
    const int64_t out = channels * (height / size) * (width / size);
    const int axis = axis_of(net, x);
    lud_node *node = add_node(net, LUD_NODE_MAX_POOL, axis, out, 1, &x);
    node->conv.channels_in = channels;
    node->height = height;
    node->width = width;
    node->k = size;
    keep(net, node, 0, LUD_NN_I32, axis, out);
    return node->output;
}

int lud_nn_embedding(lud_nn *net, int index, const char *name, int64_t n_entries, int64_t width) {
    assert(net->values[index].type == LUD_NN_I32 && width_of(net, index) == 1);
    lud_node *node = add_node(net, LUD_NODE_EMBEDDING, axis_of(net, index), width, 1, &index);
    node->k = n_entries;
    node->parameters[0] = parameter(net, name, ".weight", 2, (const int64_t[]){n_entries, width},
                                    (lud_init){.kind = LUD_INIT_NORMAL, .a = 1.0});
    return node->output;
}

int lud_nn_layer_norm(lud_nn *net, int x, const char *name, double epsilon) {
    const int64_t width = width_of(net, x);
    const int axis = axis_of(net, x);
    lud_node *node = add_node(net, LUD_NODE_LAYER_NORM, axis, width, 1, &x);
    node->factor = epsilon;
    node->parameters[0] =
        parameter(net, name, ".weight", 1, &width, (lud_init){.kind = LUD_INIT_CONSTANT, .a = 1.0});
    node->parameters[1] = parameter(net, name, ".bias", 1, &width, (lud_init){.kind = LUD_INIT_CONSTANT});
    keep(net, node, 0, LUD_NN_REAL, axis, 1);
    keep(net, node, 1, LUD_NN_REAL, axis, 1);
    return node->output;
}

int lud_nn_rms_norm(lud_nn *net, int x, const char *name, double epsilon) {
    const int64_t width = width_of(net, x);
    lud_node *node = add_node(net, LUD_NODE_RMS_NORM, axis_of(net, x), width, 1, &x);
    node->factor = epsilon;
    node->parameters[0] =
        parameter(net, name, ".weight", 1, &width, (lud_init){.kind = LUD_INIT_CONSTANT, .a = 1.0});
    keep(net, node, 0, LUD_NN_REAL, axis_of(net, x), 1);
    return node->output;
}

int lud_nn_lru(lud_nn *net, int x, const char *name, int64_t size, int state_axis, int h0, int mask,
               double r_min, double r_max, double max_phase) {
    assert(h0 < 0 || (width_of(net, h0) == 2 * size && axis_of(net, h0) == state_axis));
    char text[512];
    const lud_init old = net->weight_init;
    snprintf(text, sizeof text, "%s.b", name);
    net->weight_init = (lud_init){.kind = LUD_INIT_NORMAL, .a = sqrt(0.5 / (double)width_of(net, x))};
    const int v = lud_nn_linear_without_bias(net, x, text, 2 * size, LUD_LINEAR);
    net->weight_init = old;
    const int inputs[3] = {v, h0, mask};
    lud_node *node = add_node(net, LUD_NODE_LRU, axis_of(net, x), 2 * size, 3, inputs);
    node->k = size;
    node->state_axis = state_axis;
    const lud_init nu = {.kind = LUD_INIT_LRU_NU, .a = r_min, .b = r_max};
    node->parameters[0] = parameter(net, name, ".nu_log", 1, &size, nu);
    node->parameters[1] =
        parameter(net, name, ".theta_log", 1, &size, (lud_init){.kind = LUD_INIT_LRU_THETA, .a = max_phase});
    lud_init gamma = nu;
    gamma.kind = LUD_INIT_LRU_GAMMA;
    if (node->parameters[0] >= 0) gamma.stream = net->parameters->items[node->parameters[0]].name;
    node->parameters[2] = parameter(net, name, ".gamma_log", 1, &size, gamma);
    return node->output;
}

int lud_nn_gru(lud_nn *net, int x, const char *name, int64_t size, int state_axis, int h0, int mask) {
    assert(h0 < 0 || (width_of(net, h0) == size && axis_of(net, h0) == state_axis));
    char text[512];
    snprintf(text, sizeof text, "%s.input", name);
    const int gates = lud_nn_linear(net, x, text, 3 * size, LUD_LINEAR);
    const int inputs[3] = {gates, h0, mask};
    const int axis = axis_of(net, x);
    lud_node *node = add_node(net, LUD_NODE_GRU, axis, size, 3, inputs);
    node->k = size;
    node->state_axis = state_axis;
    const int64_t wide = 3 * size;
    node->parameters[0] = matrix(net, name, ".hidden.weight", wide, size);
    node->parameters[1] = parameter(net, name, ".hidden.bias", 1, &wide, bias_init(net, size));
    keep(net, node, 0, LUD_NN_REAL, axis, 4 * size);
    return node->output;
}

int lud_nn_graph_attention(lud_nn *net, int q, int k, int v, int d, const char *name, int edge_axis,
                           int64_t heads, const lud_edges *edges) {
    const int64_t width = width_of(net, q), edge_width = d < 0 ? 0 : width_of(net, d);
    assert(width == width_of(net, k) && width == width_of(net, v) && width % heads == 0);
    assert(q != k && q != v && k != v);
    const int inputs[4] = {q, k, v, d};
    lud_node *node = add_node(net, LUD_NODE_GRAPH_ATTENTION, axis_of(net, q), width, 4, inputs);
    node->k = heads;
    node->edges = edges;
    if (d >= 0) node->parameters[0] = matrix(net, name, ".weight", width, edge_width);
    keep(net, node, 0, LUD_NN_REAL, edge_axis, heads);
    return node->output;
}

int lud_nn_attention(lud_nn *net, int q, int k, int v, const lud_attention *shape) {
    assert(width_of(net, q) == shape->heads * shape->head_dim && width_of(net, k) == width_of(net, v));
    assert(width_of(net, k) == shape->kv_heads * shape->head_dim);
    assert(q != k && q != v && k != v);
    const int inputs[3] = {q, k, v}, axis = axis_of(net, q);
    lud_node *node = add_node(net, LUD_NODE_ATTENTION, axis, width_of(net, q), 3, inputs);
    node->attention = shape;
    keep(net, node, 0, LUD_NN_REAL, axis, shape->heads);
    return node->output;
}

/* --- without parameters --- */

int lud_nn_map_by_mode(lud_nn *net, int x, lud_map training, lud_map evaluation) {
    lud_node *node = add_node(net, LUD_NODE_MAP, axis_of(net, x), width_of(net, x), 1, &x);
    node->map = training;
    node->evaluation_map = evaluation;
    return node->output;
}

int lud_nn_map(lud_nn *net, int x, lud_map map) {
    return lud_nn_map_by_mode(net, x, map, map);
}

int lud_nn_dropout(lud_nn *net, int x, double rate, uint32_t stream) {
    assert(rate >= 0.0 && rate < 1.0);
    if (rate == 0.0) return x;
    lud_node *node = add_node(net, LUD_NODE_DROPOUT, axis_of(net, x), width_of(net, x), 1, &x);
    node->factor = rate;
    node->stream = stream;
    return node->output;
}

int lud_nn_concat(lud_nn *net, const int *values, int n) {
    int64_t width = 0;
    for (int i = 0; i < n; i++) {
        assert(axis_of(net, values[i]) == axis_of(net, values[0]));
        width += width_of(net, values[i]);
    }
    return add_node(net, LUD_NODE_CONCAT, axis_of(net, values[0]), width, n, values)->output;
}

int lud_nn_slice(lud_nn *net, int x, int64_t first, int64_t width) {
    assert(first >= 0 && first + width <= width_of(net, x));
    lud_node *node = add_node(net, LUD_NODE_SLICE, axis_of(net, x), width, 1, &x);
    node->k = first;
    return node->output;
}

static int binary(lud_nn *net, lud_node_kind kind, int a, int b) {
    assert(axis_of(net, a) == axis_of(net, b) && width_of(net, a) == width_of(net, b));
    return add_node(net, kind, axis_of(net, a), width_of(net, a), 2, (const int[]){a, b})->output;
}

int lud_nn_add(lud_nn *net, int a, int b) {
    return binary(net, LUD_NODE_ADD, a, b);
}
int lud_nn_multiply(lud_nn *net, int a, int b) {
    return binary(net, LUD_NODE_MULTIPLY, a, b);
}

int lud_nn_stop_gradient(lud_nn *net, int x) {
    const int value = add_value(net, axis_of(net, x), net->values[x].type, width_of(net, x));
    if (value != x) net->values[value].alias = x; /* equal after a failure */
    return value;
}

int lud_nn_gather(lud_nn *net, int x, int index) {
    assert(net->values[index].type == LUD_NN_I32 && width_of(net, index) == 1);
    return add_node(net, LUD_NODE_GATHER, axis_of(net, index), width_of(net, x), 2, (const int[]){x, index})
        ->output;
}

static int reduce_segments(lud_nn *net, int x, int offsets, lud_reduce reduce, bool partial) {
    assert(net->values[offsets].type == LUD_NN_I32 && net->values[offsets].extra_rows == 1);
    const int axis = axis_of(net, offsets);
    lud_node *node =
        add_node(net, LUD_NODE_SEGMENT_REDUCE, axis, width_of(net, x), 2, (const int[]){x, offsets});
    node->reduce = reduce;
    node->partial = partial;
    if (reduce == LUD_REDUCE_MAX) keep(net, node, 0, LUD_NN_I32, axis, width_of(net, x));
    return node->output;
}

int lud_nn_segment_reduce(lud_nn *net, int x, int offsets, lud_reduce reduce) {
    return reduce_segments(net, x, offsets, reduce, false);
}
int lud_nn_segment_reduce_part(lud_nn *net, int x, int offsets, lud_reduce reduce) {
    return reduce_segments(net, x, offsets, reduce, true);
}

int lud_nn_segment_softmax(lud_nn *net, int x, int offsets) {
    assert(net->values[offsets].type == LUD_NN_I32 && net->values[offsets].extra_rows == 1);
    return add_node(net, LUD_NODE_SEGMENT_SOFTMAX, axis_of(net, x), width_of(net, x), 2,
                    (const int[]){x, offsets})
        ->output;
}

static int soft(lud_nn *net, lud_node_kind kind, int x, int mask, double factor) {
    assert(mask < 0 || (net->values[mask].type == LUD_NN_U8 && width_of(net, mask) == width_of(net, x)));
    lud_node *node = add_node(net, kind, axis_of(net, x), width_of(net, x), 2, (const int[]){x, mask});
    node->factor = factor;
    return node->output;
}

int lud_nn_softmax(lud_nn *net, int x, int mask, double factor) {
    return soft(net, LUD_NODE_SOFTMAX, x, mask, factor);
}

int lud_nn_log_softmax(lud_nn *net, int x, int mask, double factor) {
    return soft(net, LUD_NODE_LOG_SOFTMAX, x, mask, factor);
}

int lud_nn_sum_groups(lud_nn *net, int x, int64_t k, double scale) {
    assert(k > 0 && width_of(net, x) % k == 0);
    lud_node *node = add_node(net, LUD_NODE_SUM_GROUPS, axis_of(net, x), width_of(net, x) / k, 1, &x);
    node->k = k;
    node->factor = scale;
    return node->output;
}

int lud_nn_broadcast_groups(lud_nn *net, int x, int64_t k, double scale) {
    assert(k > 0);
    lud_node *node = add_node(net, LUD_NODE_BROADCAST_GROUPS, axis_of(net, x), width_of(net, x) * k, 1, &x);
    node->k = k;
    node->factor = scale;
    return node->output;
}

int lud_nn_rotary(lud_nn *net, int x, int position, int64_t heads, double base) {
    assert(net->values[position].type == LUD_NN_I32 && width_of(net, x) % (2 * heads) == 0);
    lud_node *node =
        add_node(net, LUD_NODE_ROTARY, axis_of(net, x), width_of(net, x), 2, (const int[]){x, position});
    node->k = heads;
    node->factor = base;
    return node->output;
}

void lud_nn_output(lud_nn *net, int value) {
    net->values[value].output = true;
}

void lud_nn_want_gradient(lud_nn *net, int input) {
    assert(!net->planned && net->values[input].input && net->values[input].type == LUD_NN_REAL);
    net->values[input].gradient = true;
}

void lud_nn_borrow(lud_nn *net, const lud_nn *lender) {
    assert(!net->planned && lender->planned && net->parameters->device == lender->parameters->device);
    net->memory = lender->memory;
    net->bytes = lender->bytes;
    net->borrowed = true;
}
