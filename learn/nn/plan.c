/* Planning: which gradients flow, how long each buffer lives, and where it lies in the one allocation. */
#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "learn/nn/graph.h"

enum { BUFFER_ALIGNMENT = 256 };

static const struct {
    bool inputs, output;
} needs[LUD_N_NODE_KINDS] = {
#define X(kind, needs_inputs, needs_output) {needs_inputs, needs_output},
    LUD_NODE_KINDS(X)
#undef X
};

/* A piece of memory that must hold its contents from time `first` to time `last`. Forward runs of nodes
 * 0..n-1 are the times 0..n-1, their backward runs 2n-1..n. */
typedef struct buffer {
    size_t bytes, offset;
    int first, last;
    size_t *place; /* where the offset goes */
} buffer;

typedef struct planner {
    buffer *buffers;
    int *by_offset; /* those placed so far, the lowest first */
    int n;
} planner;

static size_t type_bytes(const lud_nn *net, lud_nn_type type) {
    return type == LUD_NN_REAL ? net->parameters->real_bytes : type == LUD_NN_I32 ? sizeof(int32_t) : 1;
}

static size_t slot_bytes(const lud_nn *net, const lud_nn_slot *slot) {
    const size_t rows = (size_t)(net->max_rows[slot->axis] + slot->extra_rows);
    const size_t bytes = rows * (size_t)slot->width * type_bytes(net, slot->type);
    return (bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
}

/* Operations that cannot leave out the gradients of their first inputs: these get room even where nobody
 * reads them. */
static bool writes_input_gradients(lud_node_kind kind) {
    return kind == LUD_NODE_LAYER_NORM || kind == LUD_NODE_RMS_NORM || kind == LUD_NODE_LRU ||
           kind == LUD_NODE_GRU || kind == LUD_NODE_GRAPH_ATTENTION || kind == LUD_NODE_ATTENTION;
}

/* A gradient flows through a node that has a parameter in training or an input with a gradient, and only if
 * its output can reach an output of the network. */
static void mark_gradients(lud_nn *net, bool *reaches) {
    for (int i = 0; i < net->n_values; i++)
        if (net->values[i].output) reaches[i] = true;
    for (int i = net->n_nodes - 1; i >= 0; i--) {
        const lud_node *node = &net->nodes[i];
        if (!reaches[node->output]) continue;
        /* an alias cuts the gradient, so only the named value itself is reached */
        for (int k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] >= 0) reaches[node->inputs[k]] = true;
    }
    for (int i = 0; i < net->n_nodes; i++) {
        lud_node *node = &net->nodes[i];
        bool flows = false;
        for (int k = 0; k < LUD_NODE_MAX_PARAMETERS; k++)
            flows |= node->parameters[k] >= 0 && !net->parameters->items[node->parameters[k]].frozen;
        for (int k = 0; k < node->n_inputs; k++)
            flows |= node->inputs[k] >= 0 && net->values[node->inputs[k]].gradient;
        node->backward = flows && reaches[node->output];
        net->values[node->output].gradient = node->backward;
        if (node->backward && writes_input_gradients(node->kind))
            for (int k = 0; k < node->n_inputs && k < 3; k++)
                if (node->inputs[k] >= 0 && net->values[node->inputs[k]].type == LUD_NN_REAL)
                    net->values[node->inputs[k]].gradient = true;
    }
}

/* The first backward contribution to a gradient overwrites, later ones add; an output's gradient is there
 * before. */
static void mark_adds(lud_nn *net, bool *written) {
    for (int i = 0; i < net->n_values; i++) written[i] = net->values[i].output;
    for (int i = net->n_nodes - 1; i >= 0; i--) {
        lud_node *node = &net->nodes[i];
        if (!node->backward) continue;
        for (int k = 0; k < node->n_inputs; k++) {
            const int input = node->inputs[k];
            node->add[k] = input >= 0 && written[input];
            if (input >= 0) written[input] = true;
        }
    }
}

static bool may_share(const lud_nn_slot *input, const lud_nn_slot *sum) {
    return input->gradient && !input->output && !input->input && input->axis == sum->axis;
}

/* A sum hands its gradient on as it is: one input whose gradient holds nothing yet takes it over, memory and
 * all. A second input that a dropout made just before reads it there, too: the dropout's backward run, which
 * comes next, leaves it as it is. owner[i]: the value whose memory the gradient of value i has. */
static void share_gradients(const lud_nn *net, int *owner) {
    for (int i = 0; i < net->n_values; i++) owner[i] = i;
    for (int i = net->n_nodes - 1; i >= 0; i--) {
        const lud_node *node = &net->nodes[i], *before = i > 0 ? node - 1 : NULL;
        const lud_nn_slot *sum = &net->values[node->output];
        if (node->kind != LUD_NODE_ADD || !node->backward || sum->output) continue;
        bool taken = false;
        for (int k = 0; k < node->n_inputs; k++) {
            const int input = node->inputs[k];
            if (!may_share(&net->values[input], sum) || node->add[k]) continue;
            const bool read_next =
                before && before->kind == LUD_NODE_DROPOUT && before->output == input && !before->add[0];
            if (!taken || read_next) owner[input] = owner[node->output];
            taken = true;
        }
    }
}

static int readers_of(const lud_nn *net, int value) {
    int n = 0;
    for (int i = 0; i < net->n_nodes; i++)
        for (int k = 0; k < net->nodes[i].n_inputs; k++) n += net->nodes[i].inputs[k] == value;
    for (int i = 0; i < net->n_values; i++) n += net->values[i].alias == value;
    return n;
}

/* Dropout hands its input on where nothing learns: whoever reads it reads the input. */
static void pass_dropouts(lud_nn *net) {
    int n = 0;
    for (int i = 0; i < net->n_nodes; i++) {
        const lud_node node = net->nodes[i];
        if (node.kind != LUD_NODE_DROPOUT || net->values[node.output].output) {
            net->nodes[n++] = node;
            continue;
        }
        for (int j = i + 1; j < net->n_nodes; j++)
            for (int k = 0; k < net->nodes[j].n_inputs; k++)
                if (net->nodes[j].inputs[k] == node.output) net->nodes[j].inputs[k] = node.inputs[0];
        for (int v = 0; v < net->n_values; v++)
            if (net->values[v].alias == node.output) net->values[v].alias = node.inputs[0];
    }
    net->n_nodes = n;
}

/* Without a backward run nobody reads what a convolution gives its pooling: both are one operation. */
static void join_pools(lud_nn *net) {
    int n = 0;
    for (int i = 0; i < net->n_nodes; i++) {
        const lud_node *pool = &net->nodes[i];
        lud_node *conv = NULL;
        for (int k = 0; k < n && pool->kind == LUD_NODE_MAX_POOL && pool->k == 2; k++)
            if (net->nodes[k].kind == LUD_NODE_GRID_CONV && net->nodes[k].output == pool->inputs[0])
                conv = &net->nodes[k];
        const bool joins = conv && (conv->map.kind == LUD_MAP_RELU || conv->map.kind == LUD_MAP_IDENTITY) &&
                           conv->evaluation_map.kind == conv->map.kind && !net->values[conv->output].output &&
                           readers_of(net, conv->output) == 1;
        if (joins) {
            conv->pools = true;
            conv->output = pool->output;
            conv->kept[0] = conv->kept[1] = -1;
        } else {
            net->nodes[n++] = net->nodes[i];
        }
    }
    net->n_nodes = n;
}

/* A draw is never constant. Aliases follow what they stand for. */
static void mark_constants(lud_nn *net) {
    for (int i = 0; i < net->n_nodes; i++) {
        const lud_node *node = &net->nodes[i];
        bool constant = node->n_inputs > 0 && node->kind != LUD_NODE_DROPOUT;
        for (int k = 0; k < node->n_inputs; k++)
            constant &= node->inputs[k] >= 0 && net->values[lud_nn_owner(net, node->inputs[k])].constant;
        net->values[node->output].constant = constant;
    }
}

static void extend(int *first, int *last, int time) {
    if (time < *first) *first = time;
    if (time > *last) *last = time;
}

static void add_buffer(planner *p, size_t bytes, int first, int last, size_t *place) {
    p->buffers[p->n++] = (buffer){.bytes = bytes, .first = first, .last = last, .place = place};
}

/* The result of a dropout or a sum takes over the memory of an input that nobody reads afterwards, so that it
 * passes through the caches once. place[i]: the value whose memory value i has; that one's life becomes the
 * life of both. */
static void take_over(const lud_nn *net, int *place, int *last) {
    for (int i = 0; i < net->n_nodes; i++) {
        const lud_node *node = &net->nodes[i];
        const lud_nn_slot *result = &net->values[node->output];
        const bool fits = node->kind == LUD_NODE_DROPOUT || node->kind == LUD_NODE_ADD;
        for (int k = node->n_inputs - 1; fits && k >= 0; k--) {
            const lud_nn_slot *input = &net->values[node->inputs[k]];
            const int own = place[node->inputs[k]];
            /* inputs, outputs and what has another name live longer */
            if (result->output || input->axis != result->axis || last[own] != i) continue;
            place[node->output] = own;
            last[own] = last[node->output];
            break;
        }
    }
}

static void collect_buffers(lud_nn *net, const int *owner, int *place, bool training, planner *p, int *first,
                            int *last) {
    const int n = net->n_nodes, end = 2 * n;
    for (int i = 0; i < net->n_values; i++) {
        first[i] = end;
        last[i] = -1;
        if (net->values[i].input || net->values[i].output) {
            /* filled by the caller before, or read after the run */
            extend(&first[i], &last[i], net->values[i].input || net->values[i].constant ? 0 : end);
            extend(&first[i], &last[i], end);
        }
    }
    for (int i = 0; i < n; i++) {
        const lud_node *node = &net->nodes[i];
        const int back = 2 * n - 1 - i;
        const bool backward = training && node->backward;
        const int output = lud_nn_owner(net, node->output);
        extend(&first[output], &last[output], i);
        if (backward && needs[node->kind].output) extend(&first[output], &last[output], back);
        for (int k = 0; k < LUD_NODE_MAX_KEPT; k++) {
            if (node->kept[k] < 0) continue;
            extend(&first[node->kept[k]], &last[node->kept[k]], i);
            if (backward) extend(&first[node->kept[k]], &last[node->kept[k]], back);
        }
        for (int k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] < 0) continue;
            const int input = lud_nn_owner(net, node->inputs[k]);
            extend(&first[input], &last[input], i);
            const bool meets = net->values[input].constant && !net->values[node->output].constant;
            if (!training && meets) { /* may be held from run to run */
                extend(&first[input], &last[input], 0);
                extend(&first[input], &last[input], end);
            }
            if (backward && needs[node->kind].inputs) extend(&first[input], &last[input], back);
        }
    }
    /* an alias that is an output keeps the memory of its owner */
    for (int i = 0; i < net->n_values; i++)
        if (net->values[i].alias >= 0 && last[i] >= 0) {
            const int own = lud_nn_owner(net, i);
            extend(&first[own], &last[own], last[i]);
        }
    if (training) take_over(net, place, last);
    for (int i = 0; i < net->n_values; i++)
        if (net->values[i].alias < 0 && last[i] >= 0 && place[i] == i)
            add_buffer(p, slot_bytes(net, &net->values[i]), first[i], last[i], &net->values[i].offset);
    if (!training) return;

    for (int i = 0; i < net->n_values; i++) {
        first[i] = net->values[i].output ? 0 : end;
        last[i] = net->values[i].output ? end : -1;
    }
    for (int i = n - 1; i >= 0; i--) {
        const lud_node *node = &net->nodes[i];
        if (!node->backward) continue;
        const int back = 2 * n - 1 - i;
        extend(&first[owner[node->output]], &last[owner[node->output]], back);
        for (int k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] >= 0)
                extend(&first[owner[node->inputs[k]]], &last[owner[node->inputs[k]]], back);
    }
    for (int i = 0; i < net->n_values; i++) /* of an input: read after the run */
        if (net->values[i].input) extend(&first[owner[i]], &last[owner[i]], end);
    for (int i = 0; i < net->n_values; i++)
        if ((net->values[i].gradient || net->values[i].output) && owner[i] == i && last[i] >= 0)
            add_buffer(p, slot_bytes(net, &net->values[i]), first[i], last[i],
                       &net->values[i].gradient_offset);
}

static int larger_first(const void *a, const void *b) {
    const buffer *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->first != y->first) return x->first - y->first;
    return (x->place > y->place) - (x->place < y->place);
}

/* Greedy by size (Pisarchyk and Lee, 2020): the largest buffer first, each at the lowest place that is free
 * during its whole life. Returns the total size. */
static size_t place_buffers(planner *p) {
    qsort(p->buffers, (size_t)p->n, sizeof *p->buffers, larger_first);
    size_t total = 0;
    for (int i = 0; i < p->n; i++) {
        buffer *b = &p->buffers[i];
        int n = i; /* where it stands in by_offset */
        for (int k = 0; k < i; k++) {
            const buffer *other = &p->buffers[p->by_offset[k]];
            if (other->offset >= b->offset + b->bytes) break;
            const bool together = other->first <= b->last && b->first <= other->last;
            if (together && b->offset < other->offset + other->bytes)
                b->offset = other->offset + other->bytes;
        }
        for (; n > 0 && p->buffers[p->by_offset[n - 1]].offset > b->offset; n--)
            p->by_offset[n] = p->by_offset[n - 1];
        p->by_offset[n] = i;
        *b->place = b->offset;
        if (b->offset + b->bytes > total) total = b->offset + b->bytes;
    }
    return total;
}

lud_status lud_nn_plan(lud_nn *net, lud_nn_mode mode, lud_error *error) {
    assert(!net->planned && net->parameters->values);
    const size_t n = (size_t)net->n_values + 1;
    bool *marks = calloc(n, sizeof *marks);
    int *times = calloc(2 * n, sizeof *times), *owner = calloc(n, sizeof *owner),
        *place = calloc(n, sizeof *place);
    planner p = {.buffers = calloc(2 * n, sizeof *p.buffers),
                 .by_offset = calloc(2 * n, sizeof *p.by_offset)};
    const bool training = mode == LUD_NN_TRAIN;
    bool ok = !net->failed && marks && times && owner && place && p.buffers && p.by_offset;
    if (ok) {
        if (training) {
            mark_gradients(net, marks);
            mark_adds(net, marks);
            share_gradients(net, owner);
        } else {
            pass_dropouts(net);
            join_pools(net);
            mark_constants(net);
        }
        for (int i = 0; i < net->n_values; i++) place[i] = i;
        collect_buffers(net, owner, place, training, &p, times, times + n);
        for (int i = 0; i < p.n; i++) net->bytes_unshared += p.buffers[i].bytes;
        const size_t bytes = place_buffers(&p);
        assert(!net->borrowed || bytes <= net->bytes);
        net->bytes = bytes;
        for (int i = 0; i < net->n_values && training; i++) {
            net->values[i].offset = net->values[place[i]].offset;
            net->values[i].gradient_offset = net->values[owner[i]].gradient_offset;
        }
        if (!net->borrowed)
            net->memory =
                lud_device_allocate(net->parameters->device, net->bytes ? net->bytes : BUFFER_ALIGNMENT);
        net->step = lud_device_allocate(net->parameters->device, sizeof *net->step);
        net->step_read = net->step;
        ok = net->memory && net->step;
    }
    LUD_FREE(marks, times, owner, place, p.buffers, p.by_offset);
    if (!ok) return lud_no_memory(error, "a network of %zu bytes", net->bytes);
    net->planned = true;
    net->training_plan = training;
    return LUD_OK;
}

/* --- running --- */

void lud_nn_use(lud_nn *net, lud_parameters *parameters) {
    assert(parameters->size == net->parameters->size &&
           parameters->real_bytes == net->parameters->real_bytes);
    net->parameters = parameters;
    net->held = 0;
}

void lud_nn_hold(lud_nn *net, uint64_t version) {
    assert(net->planned && !net->training_plan && !net->borrowed);
    net->version = version;
}

void lud_nn_bind(lud_nn *net, int input, const void *memory) {
    assert(net->values[input].input);
    net->values[input].bound = memory;
}

void lud_nn_set_rows(lud_nn *net, int axis, int64_t n_rows) {
    assert(axis < net->n_axes && n_rows >= 0 && n_rows <= net->max_rows[axis]);
    net->rows[axis] = n_rows;
}

int64_t lud_nn_rows(const lud_nn *net, int axis) {
    return net->rows[axis];
}

void lud_nn_set_step(lud_nn *net, uint64_t seed, uint32_t step) {
    net->seed = seed;
    net->step_read = net->step;
    lud_device_upload(net->parameters->device, net->step, &step, sizeof step);
}

void lud_nn_set_first_row(lud_nn *net, int64_t first_row) {
    assert(first_row % 4 == 0);
    net->first_row = first_row;
}

void lud_nn_pack_step(lud_nn *net, uint64_t seed, uint32_t step, lud_upload_batch *upload) {
    net->seed = seed;
    net->step_packed = step;
    lud_upload_batch_add(upload, &net->step_read, &net->step_packed, sizeof net->step_packed);
}

void lud_nn_run_on(lud_nn *net, lud_device *device) {
    net->device = device;
}

void *lud_nn_value(const lud_nn *net, int value) {
    assert(net->planned);
    const lud_nn_slot *slot = &net->values[lud_nn_owner(net, value)];
    return slot->bound ? (void *)(uintptr_t)slot->bound : net->memory + slot->offset;
}

void *lud_nn_gradient(const lud_nn *net, int value) {
    assert(net->training_plan);
    return net->memory + net->values[value].gradient_offset;
}

void lud_nn_write(lud_nn *net, int value, int64_t n_rows, const double *host) {
    assert(net->values[value].type == LUD_NN_REAL && !net->values[value].bound);
    lud_write_reals(net->parameters->device, net->parameters->real_bytes, lud_nn_value(net, value),
                    n_rows * net->values[value].width, host);
}

void lud_nn_read(const lud_nn *net, int value, int64_t n_rows, double *host) {
    lud_read_reals(net->parameters->device, net->parameters->real_bytes, lud_nn_value(net, value),
                   n_rows * net->values[value].width, host);
}

void lud_nn_write_gradient(lud_nn *net, int value, int64_t n_rows, const double *host) {
    lud_write_reals(net->parameters->device, net->parameters->real_bytes, lud_nn_gradient(net, value),
                    n_rows * net->values[value].width, host);
}

void lud_nn_write_i32(lud_nn *net, int value, int64_t n_rows, const int32_t *host) {
    assert(net->values[value].type == LUD_NN_I32 && !net->values[value].bound);
    lud_device_upload(net->parameters->device, lud_nn_value(net, value), host,
                      (size_t)(n_rows * net->values[value].width) * sizeof *host);
}

size_t lud_nn_bytes(const lud_nn *net) {
    return net->bytes;
}
size_t lud_nn_bytes_unshared(const lud_nn *net) {
    return net->bytes_unshared;
}

void lud_nn_set_run(lud_nn *net, int64_t n_rows, bool training) {
    lud_nn_set_rows(net, 0, n_rows);
    net->training = training;
}

void lud_nn_forward(lud_nn *net, int64_t n_rows, bool training) {
    assert(net->planned);
    lud_nn_set_run(net, n_rows, training);
    if (net->parameters->real_bytes == sizeof(float))
        lud_nn_forward_f32(net);
    else
        lud_nn_forward_f64(net);
    net->held = net->version;
}

void lud_nn_backward(lud_nn *net) {
    assert(net->training_plan && net->parameters->gradients);
    if (net->parameters->real_bytes == sizeof(float))
        lud_nn_backward_f32(net);
    else
        lud_nn_backward_f64(net);
}

double lud_nn_multiply_adds(const lud_nn *net) {
    double total = 0.0;
    for (int i = 0; i < net->n_nodes; i++) {
        const lud_node *node = &net->nodes[i];
        const double rows = (double)net->rows[net->values[node->output].axis];
        const lud_conv *c = &node->conv;
        if (node->kind == LUD_NODE_LINEAR)
            total += rows * (double)(net->values[node->inputs[0]].width * net->values[node->output].width);
        if (node->kind == LUD_NODE_CONV)
            total += rows * (double)(c->channels_in * c->channels_out * c->kernel * c->kernel * c->height *
                                     c->width);
    }
    return total;
}
