#include "learn/mappo/networks.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "learn/mappo/head.h"
#include "sim/particle/particle.h"

static const double norm_epsilon = 1e-5;

/* Declaring one network: where names begin and what the options say. */
typedef struct builder {
    lud_mappo_net *net;
    lud_nn *nn;
    lud_parameters *parameters;
    const lud_mappo_options *options;
    const char *prefix;
    char text[2][128];
    int turn;
} builder;

/* prefix + format; valid until the call after the next. */
__attribute__((format(printf, 2, 3))) static const char *name(builder *b, const char *format, ...) {
    char *text = b->text[b->turn ^= 1];
    const int length = snprintf(text, sizeof b->text[0], "%s", b->prefix);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof b->text[0] - (size_t)length, format, arguments);
    va_end(arguments);
    return text;
}

static double gain_of(bool relu) {
    return relu ? sqrt(2.0) : 5.0 / 3.0;
}

static void init_layers(builder *b, double gain, const char *stream) {
    const lud_init_kind kind = b->options->orthogonal ? LUD_INIT_ORTHOGONAL : LUD_INIT_XAVIER;
    lud_nn_set_init(b->nn, (lud_init){.kind = kind, .a = gain, .stream = stream},
                    (lud_init){.kind = LUD_INIT_CONSTANT});
}

static void init_default(builder *b) {
    lud_nn_set_init(b->nn, (lud_init){.kind = LUD_INIT_FAN_IN}, (lud_init){.kind = LUD_INIT_FAN_IN});
}

/* Kaiming uniform with gain sqrt 2. */
static void init_kaiming(builder *b, int64_t fan_in) {
    const lud_init init = {.kind = LUD_INIT_UNIFORM, .a = sqrt(6.0 / (double)fan_in)};
    lud_nn_set_init(b->nn, init, init);
}

static int input(builder *b, lud_mappo_input which, int axis, int64_t extra_rows) {
    if (b->net->values[which] < 0) {
        const lud_mappo_array *item = &b->net->inputs->items[which];
        b->net->values[which] = lud_nn_input_on(b->nn, axis, item->type, item->width, extra_rows);
    }
    return b->net->values[which];
}

static int attention(builder *b, int x, int length, int layer, const char *path, bool bias) {
    const lud_mappo_graph_options *g = &b->options->graph;
    const int64_t channels = bias ? g->hidden_size : b->options->mad.features, width = g->heads * channels;
    const bool concatenate = g->concatenate_heads;
    static const char *const kinds[] = {"query", "key", "value"};
    int qkv[3];
    init_default(b);
    for (int k = 0; k < 3; k++) {
        const char *full = name(b, "%s.attention.%d.%s", path, layer, kinds[k]);
        qkv[k] = bias ? lud_nn_linear(b->nn, x, full, width, LUD_LINEAR)
                      : lud_nn_linear_without_bias(b->nn, x, full, width, LUD_LINEAR);
    }
    int m = lud_nn_graph_attention(b->nn, qkv[0], qkv[1], qkv[2], length,
                                   name(b, "%s.attention.%d.edge", path, layer), b->net->edge_axis, g->heads,
                                   &b->net->inputs->edges);
    if (bias) {
        b->net->query = qkv[0];
        b->net->key = qkv[1];
        snprintf(b->net->edge_weight, sizeof b->net->edge_weight, "%s",
                 name(b, "%s.attention.%d.edge.weight", path, layer));
    }
    if (!concatenate) m = lud_nn_sum_groups(b->nn, m, g->heads, 1.0 / (double)g->heads);
    const int64_t out = concatenate ? width : channels;
    const int skip =
        bias ? lud_nn_linear(b->nn, x, name(b, "%s.attention.%d.skip", path, layer), out, LUD_LINEAR)
             : lud_nn_linear_without_bias(b->nn, x, name(b, "%s.attention.%d.skip", path, layer), out,
                                          LUD_LINEAR);
    return lud_nn_map(b->nn, lud_nn_add(b->nn, m, skip), g->relu ? LUD_RELU : LUD_TANH);
}

/* Messages along edges, summed at their targets, then attention. `plain`: no type, no lengths, no biases, no
 * norms, so that zeros give zeros. */
static int graph(builder *b, bool plain, bool pool) {
    const lud_mappo_graph_options *g = &b->options->graph;
    lud_mappo_net *net = b->net;
    const char *path = plain ? "magnitude.graph" : "graph";
    const lud_map map = g->embed_relu ? LUD_RELU : LUD_TANH;
    const int source = input(b, LUD_MAPPO_EDGE_SOURCE, net->edge_axis, 0);
    const int offsets = input(b, LUD_MAPPO_NODE_OFFSETS, net->node_axis, 1);
    int x, length = -1;
    if (plain) {
        x = lud_nn_gather(b->nn, input(b, LUD_MAPPO_DISTURBANCE, net->node_axis, 0), source);
    } else {
        length = input(b, LUD_MAPPO_EDGE_LENGTH, net->edge_axis, 0);
        const int nodes = input(b, LUD_MAPPO_NODES, net->node_axis, 0);
        const int type = input(b, LUD_MAPPO_TYPES, net->node_axis, 0);
        const int embedded = lud_nn_embedding(b->nn, type, name(b, "graph.embedding"), LUD_MAPPO_NODE_TYPES,
                                              g->embedding_size);
        const int node = lud_nn_concat(b->nn, (const int[]){nodes, embedded}, 2);
        x = lud_nn_concat(b->nn, (const int[]){lud_nn_gather(b->nn, node, source), length}, 2);
    }
    init_layers(b, gain_of(g->embed_relu), NULL);
    for (int k = 0; k <= g->embed_layers; k++) {
        x = plain ? lud_nn_linear_without_bias(b->nn, x, name(b, "%s.message.%d", path, k),
                                               g->embed_hidden_size, map)
                  : lud_nn_linear(b->nn, x, name(b, "%s.message.%d", path, k), g->embed_hidden_size, map);
        if (!plain && b->options->feature_normalisation)
            x = lud_nn_layer_norm(b->nn, x, name(b, "graph.message.norm"), norm_epsilon);
    }
    x = net->inputs->pads_edges ? lud_nn_segment_reduce_part(b->nn, x, offsets, LUD_REDUCE_SUM)
                                : lud_nn_segment_reduce(b->nn, x, offsets, LUD_REDUCE_SUM);
    for (int k = 0; k <= g->layers; k++) x = attention(b, x, length, k, path, !plain);
    if (pool)
        return lud_nn_segment_reduce(b->nn, x, input(b, LUD_MAPPO_POOL_OFFSETS, 0, 1),
                                     (lud_reduce)g->pooling);
    return lud_nn_gather(b->nn, x, input(b, LUD_MAPPO_EGO, 0, 0));
}

static int grid(builder *b) {
    const lud_mappo_shape *shape = b->net->inputs->shape;
    const int64_t height = shape->grid_height, width = shape->grid_width, channels = b->options->channels;
    const int cells = input(b, LUD_MAPPO_CELLS, 0, 0);
    init_layers(b, sqrt(2.0), NULL);
    int x = lud_nn_grid_conv(b->nn, cells, name(b, "grid.0"), LUD_GRID_FULL, height, width, channels, 3,
                             LUD_RELU);
    int k = 1;
    for (; k < b->options->convolutions; k++)
        x = lud_nn_conv(b->nn, x, name(b, "grid.%d", k), height, width, channels, 3, LUD_RELU);
    return lud_nn_linear(b->nn, x, name(b, "grid.%d", k), b->options->hidden_size, LUD_RELU);
}

/* Encoder and observation through the layers and the recurrent unit. */
static int trunk(builder *b, lud_mappo_part part) {
    const lud_mappo_options *o = b->options;
    const bool actor = part == LUD_MAPPO_ACTOR;
    int pieces[2], n = 0;
    const lud_mappo_input seen = actor ? LUD_MAPPO_OBSERVATION : LUD_MAPPO_SHARED;
    const bool pool = actor ? o->graph.actor_pools : !o->graph.ego_critic;
    /* a decentralised critic of a pooled graph sees the graph alone */
    const bool graph_only = !actor && o->encoder == LUD_MAPPO_GRAPH && !o->centralised && pool;
    if (b->net->inputs->items[seen].width > 0 && !graph_only) pieces[n++] = input(b, seen, 0, 0);
    if (o->encoder == LUD_MAPPO_GRAPH) pieces[n++] = graph(b, false, pool);
    if (o->encoder == LUD_MAPPO_GRID) pieces[n++] = grid(b);
    int x = n > 1 ? lud_nn_concat(b->nn, pieces, n) : pieces[0];
    if (o->feature_normalisation) x = lud_nn_layer_norm(b->nn, x, name(b, "norm"), norm_epsilon);
    const lud_map map = o->tanh ? LUD_TANH : LUD_RELU;
    for (int k = 0; k <= o->layers; k++) {
        /* layers behind the first start as copies of one */
        init_layers(b, gain_of(!o->tanh), k == 0 ? NULL : actor ? "actor.layer" : "critic.layer");
        x = lud_nn_linear(b->nn, x, name(b, "layer.%d", k), o->hidden_size, map);
        x = lud_nn_layer_norm(b->nn, x, name(b, "layer.%d.norm", k), norm_epsilon);
    }
    if (!o->recurrent) return x;
    init_layers(b, 1.0, NULL);
    const int mask = input(b, LUD_MAPPO_MASK, 0, 0);
    const int state =
        input(b, actor ? LUD_MAPPO_ACTOR_HIDDEN : LUD_MAPPO_CRITIC_HIDDEN, b->net->chunk_axis, 0);
    b->net->hidden =
        lud_nn_gru(b->nn, x, name(b, "recurrent"), o->hidden_size, b->net->chunk_axis, state, mask);
    return lud_nn_layer_norm(b->nn, b->net->hidden, name(b, "recurrent.norm"), norm_epsilon);
}

/* y = MLP(Re(C h) + D v) + L v with h the new state; nothing has a bias, so zeros give zero. The block's
 * names begin with `path`; *state gets h. */
static int state_space(builder *b, const char *path, int v, int before, int *state) {
    const lud_mappo_mad_options *mad = &b->options->mad;
    const int64_t size = mad->state_size, width = mad->hidden_size, read = b->options->hidden_size;
    const int64_t n_in = lud_nn_width(b->nn, v);
    const int mask = input(b, LUD_MAPPO_MASK, 0, 0);
    /* phases over the whole circle */
    *state = lud_nn_lru(b->nn, v, name(b, "%s.lru", path), size, b->net->state_axis, before, mask, mad->r_min,
                        mad->r_max, 6.283);
    lud_parameters *parameters = b->parameters;
    const int weight = lud_parameters_find(parameters, name(b, "%s.lru.b.weight", path));
    if (weight >= 0)
        parameters->items[weight].init = (lud_init){.kind = LUD_INIT_UNIFORM, .a = sqrt(6.0 / (double)n_in)};
    init_kaiming(b, size);
    const int c = lud_nn_linear_without_bias(b->nn, *state, name(b, "%s.c", path), read, LUD_LINEAR);
    init_kaiming(b, n_in);
    const int d = lud_nn_linear_without_bias(b->nn, v, name(b, "%s.d", path), read, LUD_LINEAR);
    init_kaiming(b, read);
    int x = lud_nn_add(b->nn, c, d);
    x = lud_nn_linear_without_bias(b->nn, x, name(b, "%s.layer.0", path), width, LUD_SILU);
    init_kaiming(b, width);
    x = lud_nn_linear_without_bias(b->nn, x, name(b, "%s.layer.1", path), width, LUD_RELU);
    x = lud_nn_linear_without_bias(b->nn, x, name(b, "%s.layer.2", path), 1, LUD_LINEAR);
    init_kaiming(b, n_in);
    const int skip = lud_nn_linear_without_bias(b->nn, v, name(b, "%s.skip", path), 1, LUD_LINEAR);
    return lud_nn_add(b->nn, x, skip);
}

/* Descriptions of all entities as one row. */
static int entities(builder *b, lud_mappo_input which) {
    if (b->net->values[which] < 0) {
        const lud_mappo_array *item = &b->net->inputs->items[which];
        const int64_t width = item->width * (item->max_rows / b->net->inputs->max_rows);
        b->net->values[which] = lud_nn_input_on(b->nn, 0, item->type, width, 0);
    }
    return b->net->values[which];
}

static bool is_central(const lud_mappo_options *options) {
    return options->control == LUD_MAPPO_MAD && options->mad.drive == LUD_DRIVE_CENTRAL;
}

static void magnitude(builder *b) {
    const lud_mappo_mad_options *mad = &b->options->mad;
    lud_mappo_net *net = b->net;
    const int before = input(b, LUD_MAPPO_STATE, net->state_axis, 0);
    if (!is_central(b->options)) {
        const int v = mad->drive == LUD_DRIVE_GOAL ? input(b, LUD_MAPPO_DRIVE, 0, 0) : graph(b, true, false);
        net->magnitude = state_space(b, "magnitude", v, before, &net->state);
        return;
    }
    /* one block for disturbances, one for the start; their states lie beside each other */
    const int64_t width = 2 * mad->state_size;
    int states[2];
    const int disturbed = state_space(b, "magnitude", entities(b, LUD_MAPPO_DISTURBANCE),
                                      lud_nn_slice(b->nn, before, 0, width), &states[0]);
    const int started = state_space(b, "magnitude.start", entities(b, LUD_MAPPO_DRIVE),
                                    lud_nn_slice(b->nn, before, width, width), &states[1]);
    net->magnitude = lud_nn_add(b->nn, disturbed, started);
    net->state = lud_nn_concat(b->nn, states, 2);
}

/* The direction of the central policy: plain layers without biases over everything. */
static int central_trunk(builder *b) {
    const int seen[2] = {input(b, LUD_MAPPO_OBSERVATION, 0, 0), entities(b, LUD_MAPPO_EVERYTHING)};
    int x = lud_nn_concat(b->nn, seen, 2);
    for (int k = 0; k < 3; k++) {
        init_layers(b, gain_of(false), NULL);
        x = lud_nn_linear_without_bias(b->nn, x, name(b, "direction.%d", k), b->options->hidden_size,
                                       k < 2 ? LUD_TANH : LUD_LINEAR);
    }
    return x;
}

/* Logits of 5 * word + move as sums of one for the word and one for the move: the product of two
 * distributions. */
static int pairs(builder *b, int x, int n_words) {
    enum { GROUP = 8, GROUPS = LUD_PARTICLE_MAX_SPEECH / GROUP }; /* a concatenation takes few pieces */
    int groups[GROUPS], n_groups = 0;
    const int moves = lud_nn_linear(b->nn, x, name(b, "move"), LUD_MAPPO_MOVES, LUD_LINEAR);
    const int words = lud_nn_linear(b->nn, x, name(b, "word"), n_words, LUD_LINEAR);
    for (int first = 0; first < n_words; first += GROUP) {
        int each[GROUP], n = 0;
        for (int w = first; w < n_words && n < GROUP; w++)
            each[n++] =
                lud_nn_broadcast_groups(b->nn, lud_nn_slice(b->nn, words, w, 1), LUD_MAPPO_MOVES, 1.0);
        groups[n_groups++] = lud_nn_concat(b->nn, each, n);
    }
    return lud_nn_add(b->nn, lud_nn_concat(b->nn, groups, n_groups),
                      lud_nn_broadcast_groups(b->nn, moves, n_words, 1.0));
}

void lud_mappo_net_declare(lud_mappo_net *net, lud_parameters *parameters, lud_mappo_part part,
                           const lud_mappo_options *options, lud_mappo_inputs *inputs, lud_nn_mode mode) {
    const lud_mappo_shape *shape = inputs->shape;
    const int64_t rows = inputs->max_rows, nodes = rows * (shape->n_nodes > 0 ? shape->n_nodes : 1);
    *net =
        (lud_mappo_net){.inputs = inputs, .hidden = -1, .magnitude = -1, .state = -1, .query = -1, .key = -1};
    for (int i = 0; i < LUD_MAPPO_INPUTS; i++) net->values[i] = -1;
    net->nn = lud_nn_create(parameters, rows);
    if (!net->nn) return;
    net->node_axis = lud_nn_axis(net->nn, nodes);
    net->edge_axis = lud_nn_axis(net->nn, shape->n_nodes > 0 ? nodes * (shape->n_nodes - 1) : 1);
    net->chunk_axis = lud_nn_axis(net->nn, rows);
    net->state_axis = lud_nn_axis(net->nn, rows);
    builder b = {.net = net,
                 .nn = net->nn,
                 .parameters = parameters,
                 .options = options,
                 .prefix = part == LUD_MAPPO_ACTOR ? "actor." : "critic."};
    const bool actor = part == LUD_MAPPO_ACTOR;
    const int x = actor && is_central(options) ? central_trunk(&b) : trunk(&b, part);
    net->out_width = !actor ? 1 : shape->n_discrete > 0 ? shape->n_discrete : shape->n_continuous;
    init_layers(&b, actor ? options->output_gain : 1.0, NULL);
    net->out = actor && options->factored
                   ? pairs(&b, x, shape->n_words)
                   : lud_nn_linear(net->nn, x, name(&b, "out"), net->out_width, LUD_LINEAR);
    if (actor && options->control == LUD_MAPPO_MAD) magnitude(&b);
    if (actor && shape->n_discrete == 0)
        lud_parameters_add(parameters, "actor.log_std", 1, &net->out_width,
                           (lud_init){.kind = LUD_INIT_CONSTANT, .a = options->log_std});
    lud_nn_output(net->nn, net->out);
    if (actor && options->heads) options->heads->declare(options->heads->context, net->nn, x, net->out);
    if (net->magnitude >= 0) lud_nn_output(net->nn, net->magnitude);
    if (mode == LUD_NN_INFERENCE && net->query >= 0) {
        lud_nn_output(net->nn, net->query);
        lud_nn_output(net->nn, net->key);
    }
    if (mode == LUD_NN_INFERENCE && net->hidden >= 0) lud_nn_output(net->nn, net->hidden);
    if (mode == LUD_NN_INFERENCE && net->state >= 0) lud_nn_output(net->nn, net->state);
}

lud_status lud_mappo_net_plan(lud_mappo_net *net, lud_nn_mode mode, lud_error *error) {
    if (!net->nn) return lud_no_memory(error, "a network");
    lud_status status = lud_nn_plan(net->nn, mode, error);
    for (int i = 0; i < LUD_MAPPO_INPUTS && !status; i++)
        if (net->values[i] >= 0) lud_nn_bind(net->nn, net->values[i], net->inputs->items[i].device);
    return status;
}

void lud_mappo_net_destroy(lud_mappo_net *net) {
    lud_nn_destroy(net->nn);
    net->nn = NULL;
}

void lud_mappo_net_forward(lud_mappo_net *net, bool training) {
    const lud_mappo_inputs *inputs = net->inputs;
    lud_nn_set_rows(net->nn, net->node_axis, inputs->n * inputs->shape->n_nodes);
    lud_nn_set_rows(net->nn, net->edge_axis, inputs->n_edges);
    lud_nn_set_rows(net->nn, net->chunk_axis, inputs->n_chunks);
    lud_nn_set_rows(net->nn, net->state_axis, inputs->n);
    lud_nn_forward(net->nn, inputs->n, training);
}

/* --- both, with what stands beside their rows --- */

static size_t field_bytes(const lud_mappo_array *field, int64_t n) {
    return (size_t)(n * field->width) * (field->type == LUD_NN_U8 ? 1 : 4);
}

static bool take_fields(lud_mappo_networks *t, int64_t rows) {
    for (int f = 0; f < LUD_FIELDS; f++) {
        lud_mappo_array *field = &t->fields[f];
        *field = (lud_mappo_array){.type = LUD_NN_REAL, .width = 1, .max_rows = rows};
        if (f == LUD_FIELD_ACTION) field->type = LUD_NN_I32;
        if (f == LUD_FIELD_NUMBER || f == LUD_FIELD_NORMAL) field->width = t->shape.n_continuous;
        if (f == LUD_FIELD_CHOICES) {
            field->type = LUD_NN_U8;
            field->width = t->shape.masked ? t->shape.n_discrete : 0;
        }
        if (field->width == 0) continue;
        const size_t bytes = field_bytes(field, rows);
        field->device = lud_device_allocate(t->device, bytes);
        field->host = t->device->backend->host_memory ? field->device : calloc(bytes, 1);
        if (!field->device || !field->host) return false;
    }
    t->device_step = lud_device_allocate(t->device, sizeof *t->device_step);
    const int64_t wide = t->shape.n_discrete > 8 ? t->shape.n_discrete : 8;
    t->scratch = malloc((size_t)(rows * wide) * sizeof *t->scratch);
    return t->device_step && t->scratch;
}

static lud_status build(lud_mappo_networks *t, uint64_t seed, bool own, lud_error *error) {
    const bool update = t->use == LUD_MAPPO_UPDATE || t->use == LUD_MAPPO_UPDATE_ACTOR;
    const lud_nn_mode mode = update ? LUD_NN_TRAIN : LUD_NN_INFERENCE;
    lud_status status = LUD_OK;
    lud_mappo_net_declare(&t->actor, t->parameters, LUD_MAPPO_ACTOR, &t->options, &t->inputs, mode);
    const bool critic = t->use == LUD_MAPPO_UPDATE || t->use == LUD_MAPPO_ROLLOUT;
    if (critic)
        lud_mappo_net_declare(&t->critic, t->parameters, LUD_MAPPO_CRITIC, &t->options, &t->inputs, mode);
    if (own) status = lud_parameters_build(t->parameters, seed, error);
    if (!status) status = lud_mappo_net_plan(&t->actor, mode, error);
    if (!status && critic) status = lud_mappo_net_plan(&t->critic, mode, error);
    t->log_std = lud_parameters_find(t->parameters, "actor.log_std");
    return status;
}

/* A recorded piece: it calls operations and nothing else. */
static void enqueue_values(void *networks) {
    lud_mappo_net_forward(&((lud_mappo_networks *)networks)->critic, false);
}

lud_status lud_mappo_networks_create(const lud_model *model, const lud_mappo_options *options,
                                     lud_device *device, uint64_t seed, int64_t max_rows, lud_mappo_use use,
                                     lud_parameters *parameters, lud_mappo_networks **networks,
                                     lud_error *error) {
    *networks = NULL;
    lud_mappo_networks *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "a policy");
    t->device = device;
    t->options = *options;
    t->use = use;
    t->shares_parameters = parameters;
    lud_capture_start(&t->acting, device, lud_mappo_enqueue_actions, t);
    lud_capture_start(&t->valuing, device, enqueue_values, t);
    lud_status status = lud_mappo_shape_find(model, &t->options, &t->shape, error);
    if (!status)
        status = lud_mappo_inputs_create(device, &t->shape, &t->options, max_rows, &t->inputs, error);
    if (!status) {
        t->parameters = parameters ? parameters : lud_parameters_create(device, false);
        if (!t->parameters || !take_fields(t, max_rows)) status = lud_no_memory(error, "a policy");
    }
    if (!status) status = build(t, seed, !parameters, error);
    if (status) {
        lud_mappo_networks_destroy(t);
        return status;
    }
    *networks = t;
    return LUD_OK;
}

void lud_mappo_networks_destroy(lud_mappo_networks *t) {
    if (!t) return;
    lud_capture_end(&t->acting);
    lud_capture_end(&t->valuing);
    lud_mappo_net_destroy(&t->actor);
    lud_mappo_net_destroy(&t->critic);
    lud_mappo_inputs_destroy(&t->inputs);
    for (int f = 0; f < LUD_FIELDS; f++) {
        if (t->fields[f].host != t->fields[f].device) free(t->fields[f].host);
        if (t->fields[f].device) lud_device_release(t->device, t->fields[f].device);
    }
    if (t->device_step) lud_device_release(t->device, t->device_step);
    if (!t->shares_parameters) lud_parameters_destroy(t->parameters);
    free(t->scratch);
    free(t);
}

void lud_mappo_field_send(lud_mappo_networks *t, lud_mappo_field f) {
    const lud_mappo_array *field = &t->fields[f];
    if (field->host != field->device && field->width > 0)
        lud_device_upload(t->device, field->device, field->host, field_bytes(field, t->inputs.n));
}

void lud_mappo_field_fetch(lud_mappo_networks *t, lud_mappo_field f) {
    const lud_mappo_array *field = &t->fields[f];
    if (field->host != field->device)
        lud_device_download(t->device, field->host, field->device, field_bytes(field, t->inputs.n));
}

void lud_mappo_run(const lud_mappo_networks *t, lud_capture *piece, uint64_t number) {
    uint64_t key = lud_capture_key(0, number);
    key = lud_capture_key(key, (uint64_t)t->inputs.n);
    key = lud_capture_key(key, (uint64_t)t->inputs.n_edges);
    key = lud_capture_key(key, (uint64_t)t->inputs.n_chunks);
    lud_capture_run(piece, key);
}

static void read_rows(lud_mappo_networks *t, const lud_mappo_net *net, int value, const int32_t *row,
                      float *to) {
    if (value < 0) return;
    const int64_t width = lud_nn_width(net->nn, value);
    const float *from = lud_nn_value(net->nn, value);
    for (int64_t i = 0; i < t->inputs.n; i++)
        lud_device_download(t->device, to + row[i] * width, from + i * width, (size_t)width * sizeof *to);
}

void lud_mappo_read_states(lud_mappo_networks *t, const int32_t *row, float *actor_hidden, float *states) {
    assert(t->use == LUD_MAPPO_ROLLOUT || t->use == LUD_MAPPO_PLAY);
    read_rows(t, &t->actor, t->actor.hidden, row, actor_hidden);
    read_rows(t, &t->actor, t->actor.state, row, states);
}

void lud_mappo_read_critic(lud_mappo_networks *t, const int32_t *row, float *critic_hidden) {
    assert(t->use == LUD_MAPPO_ROLLOUT);
    read_rows(t, &t->critic, t->critic.hidden, row, critic_hidden);
}

void lud_mappo_value(lud_mappo_networks *t, float *values) {
    lud_mappo_run(t, &t->valuing, 0);
    lud_device_download(t->device, values, lud_nn_value(t->critic.nn, t->critic.out),
                        (size_t)t->inputs.n * sizeof *values);
}
