/* Running a network on arrays of `real`. run.c includes this file for float and for double; no include guard
 * on purpose. */

static void *NAME(data)(const lud_nn *net, int value) {
    return value < 0 ? NULL : lud_nn_value(net, value);
}

static const real *NAME(weight)(const lud_nn *net, int parameter) {
    return parameter < 0 ? NULL : lud_parameters_value(net->parameters, parameter);
}

static real *NAME(weight_gradient)(const lud_nn *net, int parameter) {
    if (parameter < 0 || net->parameters->items[parameter].frozen) return NULL;
    return lud_parameters_gradient(net->parameters, parameter);
}

/* The gradient of an input, null when none flows there. */
static real *NAME(input_gradient)(const lud_nn *net, int value) {
    return value >= 0 && net->values[value].gradient ? lud_nn_gradient(net, value) : NULL;
}

static void NAME(forward_node)(const lud_nn *net, const lud_node *node) {
    lud_device *device = net->device ? net->device : net->parameters->device;
    const LUD_OPS *ops = OPERATIONS(device);
    const int x_value = node->inputs[0], y_value = node->output;
    const int64_t n = rows_of(net, y_value), n_in = width_of(net, x_value), width = width_of(net, y_value);
    const real *x = NAME(data)(net, x_value), *w = NAME(weight)(net, node->parameters[0]),
               *b = NAME(weight)(net, node->parameters[1]);
    const void *second = node->n_inputs > 1 ? NAME(data)(net, node->inputs[1]) : NULL;
    const void *third = node->n_inputs > 2 ? NAME(data)(net, node->inputs[2]) : NULL;
    real *y = NAME(data)(net, y_value);
    void *kept = NAME(data)(net, node->kept[0]);
    /* what only the backward run reads need not be written without one */
    void *kept_for_backward = net->training_plan ? kept : NULL;
    const lud_map map = net->training ? node->map : node->evaluation_map;
    const int64_t n_states = net->rows[node->state_axis], n_steps = n_states ? n / n_states : 0;
    lud_conv conv = node->conv;
    conv.n = n;

    switch (node->kind) {
    case LUD_NODE_LINEAR:
        ops->linear(device, map, n, n_in, width, x, w, b, kept_for_backward, y);
        break;
    case LUD_NODE_CONV:
        ops->conv2d(device, map, &conv, x, w, b, kept_for_backward, y);
        break;
    case LUD_NODE_GRID_CONV:
        if (node->pools)
            ops->grid_conv_pool(device, map, node->form, &conv, (const int32_t *)(const void *)x, w, b, y);
        else
            ops->grid_conv(device, map, node->form, &conv, (const int32_t *)(const void *)x, w, b,
                           kept_for_backward, y);
        break;
    case LUD_NODE_MAX_POOL:
        ops->max_pool(device, n * conv.channels_in, node->height, node->width, node->k, x, y,
                      kept_for_backward);
        break;
    case LUD_NODE_EMBEDDING:
        ops->gather_rows(device, n, width, w, (const int32_t *)(const void *)x, y);
        break;
    case LUD_NODE_LAYER_NORM:
        ops->layer_norm(device, n, width, node->factor, x, w, b, y, kept, NAME(data)(net, node->kept[1]));
        break;
    case LUD_NODE_RMS_NORM:
        ops->rms_norm(device, n, width, node->factor, x, w, y, kept);
        break;
    case LUD_NODE_LRU:
        ops->lru(device, n_steps, n_states, node->k, w, b, NAME(weight)(net, node->parameters[2]), x, second,
                 third, y);
        break;
    case LUD_NODE_GRU:
        ops->gru(device, n_steps, n_states, node->k, x, w, b, second, third, y, kept);
        break;
    case LUD_NODE_GRAPH_ATTENTION:
        ops->graph_attention(device, node->edges, node->k, width / node->k, width_of(net, node->inputs[3]), x,
                             second, third, NAME(data)(net, node->inputs[3]), w, kept, y);
        break;
    case LUD_NODE_ATTENTION:
        ops->attention(device, node->attention, x, second, third, y, kept_for_backward);
        break;
    case LUD_NODE_MAP:
        ops->map(device, map, n * width, x, y);
        break;
    case LUD_NODE_DROPOUT:
        if (net->training)
            ops->dropout(device, n * width, node->factor, net->seed, node->stream, 0, net->step_read,
                         first_draw(net, y_value), x, y);
        else
            ops->combine(device, n * width, 1.0, x, 0.0, NULL, y);
        break;
    case LUD_NODE_CONCAT: {
        int64_t at = 0;
        for (int i = 0; i < node->n_inputs; i++) {
            const int64_t piece = width_of(net, node->inputs[i]);
            ops->copy_block(device, n, piece, NAME(data)(net, node->inputs[i]), piece, y + at, width, false);
            at += piece;
        }
        break;
    }
    case LUD_NODE_SLICE:
        ops->copy_block(device, n, width, x + node->k, n_in, y, width, false);
        break;
    case LUD_NODE_ADD:
        ops->combine(device, n * width, 1.0, x, 1.0, second, y);
        break;
    case LUD_NODE_MULTIPLY:
        ops->multiply(device, n * width, x, second, y);
        break;
    case LUD_NODE_GATHER:
        ops->gather_rows(device, n, width, x, second, y);
        break;
    case LUD_NODE_SEGMENT_REDUCE:
        ops->segment_reduce(device, node->reduce, n, width, second, NULL, x, y, kept_for_backward);
        break;
    case LUD_NODE_SEGMENT_SOFTMAX:
        ops->segment_softmax(device, rows_of(net, node->inputs[1]), width, second, x, y);
        break;
    case LUD_NODE_SOFTMAX:
        ops->softmax(device, n, width, node->factor, x, second, y);
        break;
    case LUD_NODE_LOG_SOFTMAX:
        ops->log_softmax(device, n, width, node->factor, x, second, y);
        break;
    case LUD_NODE_SUM_GROUPS:
        ops->sum_groups(device, n, node->k, width, node->factor, x, y, false);
        break;
    case LUD_NODE_BROADCAST_GROUPS:
        ops->broadcast_groups(device, n, node->k, width / node->k, node->factor, x, y, false);
        break;
    case LUD_NODE_ROTARY:
        ops->rotary(device, n, node->k, width / node->k, node->factor, second, false, x, y);
        break;
    case LUD_N_NODE_KINDS:
        assert(false); /* no such node */
    }
}

static void NAME(backward_node)(const lud_nn *net, const lud_node *node) {
    lud_device *device = net->device ? net->device : net->parameters->device;
    const LUD_OPS *ops = OPERATIONS(device);
    const int x_value = node->inputs[0], y_value = node->output;
    const int64_t n = rows_of(net, y_value), n_in = width_of(net, x_value), width = width_of(net, y_value);
    const real *x = NAME(data)(net, x_value), *w = NAME(weight)(net, node->parameters[0]);
    real *dw = NAME(weight_gradient)(net, node->parameters[0]);
    real *db = NAME(weight_gradient)(net, node->parameters[1]);
    const void *second = node->n_inputs > 1 ? NAME(data)(net, node->inputs[1]) : NULL;
    const void *third = node->n_inputs > 2 ? NAME(data)(net, node->inputs[2]) : NULL;
    const real *y = NAME(data)(net, y_value);
    real *dy = lud_nn_gradient(net, y_value);
    real *dx = NAME(input_gradient)(net, x_value);
    real *dsecond = node->n_inputs > 1 ? NAME(input_gradient)(net, node->inputs[1]) : NULL;
    real *dthird = node->n_inputs > 2 ? NAME(input_gradient)(net, node->inputs[2]) : NULL;
    const void *kept = NAME(data)(net, node->kept[0]);
    const bool add = node->add[0];
    const lud_map map = net->training ? node->map : node->evaluation_map;
    const int64_t n_states = net->rows[node->state_axis], n_steps = n_states ? n / n_states : 0;
    lud_conv conv = node->conv;
    conv.n = n;

    switch (node->kind) {
    case LUD_NODE_LINEAR: /* dy is not needed afterwards and serves as scratch */
        ops->linear_backward(device, map, n, n_in, width, x, w, kept, y, dy, dy, dx, add, dw, db);
        break;
    case LUD_NODE_CONV:
        ops->conv2d_backward(device, map, &conv, x, w, kept, y, dy, dy, dx, add, dw, db);
        break;
    case LUD_NODE_GRID_CONV:
        ops->grid_conv_backward(device, map, node->form, &conv, (const int32_t *)(const void *)x, kept, y, dy,
                                dy, dw, db);
        break;
    case LUD_NODE_MAX_POOL:
        ops->max_pool_backward(device, n * conv.channels_in, node->height, node->width, node->k, kept, dy, dx,
                               add);
        break;
    case LUD_NODE_EMBEDDING:
        ops->scatter_add(device, n, width, node->k, dy, NULL, (const int32_t *)(const void *)x, dw);
        break;
    case LUD_NODE_LAYER_NORM:
        ops->layer_norm_backward(device, n, width, x, w, kept, NAME(data)(net, node->kept[1]), dy, dx, add,
                                 dw, db);
        break;
    case LUD_NODE_RMS_NORM:
        ops->rms_norm_backward(device, n, width, x, w, kept, dy, dx, add, dw);
        break;
    case LUD_NODE_LRU:
        ops->lru_backward(device, n_steps, n_states, node->k, w, NAME(weight)(net, node->parameters[1]),
                          NAME(weight)(net, node->parameters[2]), x, second, third, y, dy, dx, NULL, dw, db,
                          NAME(weight_gradient)(net, node->parameters[2]), add);
        break;
    case LUD_NODE_GRU:
        ops->gru_backward(device, n_steps, n_states, node->k, w, second, third, y, kept, dy, dx, NULL, dw, db,
                          add);
        break;
    case LUD_NODE_GRAPH_ATTENTION: {
        /* the operation adds to all three or to none */
        real *const gradients[3] = {dx, dsecond, dthird};
        const bool any = node->add[0] || node->add[1] || node->add[2];
        for (int i = 0; i < 3 && any; i++)
            if (!node->add[i]) ops->fill(device, n * width, 0.0, gradients[i]);
        ops->graph_attention_backward(
            device, node->edges, node->k, width / node->k, width_of(net, node->inputs[3]), x, second, third,
            NAME(data)(net, node->inputs[3]), w, kept, dy, dx, dsecond, dthird, dw, any);
        break;
    }
    case LUD_NODE_ATTENTION: {
        const int64_t n_keys = rows_of(net, node->inputs[1]) * width_of(net, node->inputs[1]);
        /* keys may be shared by rows, so the operation always adds to their gradients */
        if (!node->add[1]) ops->fill(device, n_keys, 0.0, dsecond);
        if (!node->add[2]) ops->fill(device, n_keys, 0.0, dthird);
        ops->attention_backward(device, node->attention, x, second, third, y, kept, dy, dx, dsecond, dthird,
                                add);
        break;
    }
    case LUD_NODE_MAP:
        ops->map_backward(device, map, n * width, x, y, dy, dx, add);
        break;
    case LUD_NODE_DROPOUT:
        if (net->training)
            ops->dropout(device, n * width, node->factor, net->seed, node->stream, 0, net->step_read,
                         first_draw(net, y_value), dy, add ? dy : dx);
        if (add || !net->training) ops->combine(device, n * width, 1.0, dy, 1.0, add ? dx : NULL, dx);
        break;
    case LUD_NODE_CONCAT: {
        int64_t at = 0;
        for (int i = 0; i < node->n_inputs; i++) {
            const int64_t piece = width_of(net, node->inputs[i]);
            real *dpiece = NAME(input_gradient)(net, node->inputs[i]);
            if (dpiece) ops->copy_block(device, n, piece, dy + at, width, dpiece, piece, node->add[i]);
            at += piece;
        }
        break;
    }
    case LUD_NODE_SLICE:
        if (!add) ops->fill(device, n * n_in, 0.0, dx);
        ops->copy_block(device, n, width, dy, width, dx + node->k, n_in, true);
        break;
    case LUD_NODE_ADD:
        for (int i = 0; i < 2; i++) {
            real *dinput = NAME(input_gradient)(net, node->inputs[i]);
            if (dinput && (dinput != dy || node->add[i])) /* else taken over (plan.c); x + x doubles it */
                ops->combine(device, n * width, 1.0, dy, 1.0, node->add[i] ? dinput : NULL, dinput);
        }
        break;
    case LUD_NODE_MULTIPLY:
        if (dx) ops->multiply_backward(device, n * width, x, second, dy, dx, NULL, add);
        if (dsecond) ops->multiply_backward(device, n * width, x, second, dy, NULL, dsecond, node->add[1]);
        break;
    case LUD_NODE_GATHER: {
        const int64_t n_source = rows_of(net, x_value);
        if (!add) ops->fill(device, n_source * width, 0.0, dx);
        ops->scatter_add(device, n, width, n_source, dy, NULL, second, dx);
        break;
    }
    case LUD_NODE_SEGMENT_REDUCE:
        if (node->partial && !add) ops->fill(device, rows_of(net, x_value) * width, 0.0, dx);
        ops->segment_reduce_backward(device, node->reduce, n, width, second, kept, dy, dx, add);
        break;
    case LUD_NODE_SEGMENT_SOFTMAX:
        ops->segment_softmax_backward(device, rows_of(net, node->inputs[1]), width, second, y, dy, dx, add);
        break;
    case LUD_NODE_SOFTMAX:
        ops->softmax_backward(device, n, width, node->factor, y, dy, dx, add);
        break;
    case LUD_NODE_LOG_SOFTMAX:
        ops->log_softmax_backward(device, n, width, node->factor, y, second, dy, dx, add);
        break;
    case LUD_NODE_SUM_GROUPS:
        ops->broadcast_groups(device, n, node->k, width, node->factor, dy, dx, add);
        break;
    case LUD_NODE_BROADCAST_GROUPS:
        ops->sum_groups(device, n, node->k, width / node->k, node->factor, dy, dx, add);
        break;
    case LUD_NODE_ROTARY:
        ops->rotary(device, n, node->k, width / node->k, node->factor, second, true, dy, dy);
        ops->combine(device, n * width, 1.0, dy, 1.0, add ? dx : NULL, dx);
        break;
    case LUD_N_NODE_KINDS:
        assert(false); /* no such node */
    }
}

void NAME(lud_nn_forward)(lud_nn *net) {
    const bool holds = net->version && net->held == net->version;
    for (int i = 0; i < net->n_nodes; i++)
        if (!holds || !net->values[net->nodes[i].output].constant) NAME(forward_node)(net, &net->nodes[i]);
}

void NAME(lud_nn_backward)(lud_nn *net) {
    for (int i = net->n_nodes - 1; i >= 0; i--)
        if (net->nodes[i].backward) NAME(backward_node)(net, &net->nodes[i]);
}
