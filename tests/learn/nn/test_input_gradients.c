/* Gradients of inputs through every operation, against central differences: where the operation is the only
 * reader of the input, and where another adds to the same gradient before it or behind it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cpu_device.h"
#include "learn/nn/nn.h"

enum {
    ROWS = 6,
    WIDTH = 12,
    NUMBERS = ROWS * WIDTH,
    ENTRIES = 7,
    SEGMENTS = 4,
    EDGES = 8,
    STATES = 2,
    MOST = 1024
};

TEST_DEVICE(1)

static double number(uint32_t stream, uint32_t i) {
    double pair[2];
    const lud_words w = lud_draw((lud_random_key){31, stream}, i, 0, LUD_PURPOSE_USER, 0);
    lud_normal_pair(w.v[0], w.v[1], pair);
    return pair[0];
}

/* A network that reads one input, and what else it needs. */
typedef struct reader {
    lud_parameters *parameters;
    lud_nn *net;
    int x, out[2], n_out;
    int entries, segments, edge_axis, states; /* axes */
    int index, offsets, mask, position, features, keep;
    int32_t edge_offsets[ROWS + 1], source[EDGES], target[EDGES], by_source[ROWS + 1], edges_of[EDGES];
    lud_edges edges;
    lud_attention attention;
} reader;

static const int32_t queries[3] = {0, 4, ROWS}, keys[2] = {0, 4}, lengths[2] = {4, 2};

static void make_edges(reader *r) {
    static const int32_t offsets[ROWS + 1] = {0, 2, 3, 3, 6, 7, EDGES},
                                        source[EDGES] = {1, 5, 0, 4, 2, 3, 0, 1};
    memcpy(r->edge_offsets, offsets, sizeof offsets);
    memcpy(r->source, source, sizeof source);
    lud_edges_by_source(ROWS, EDGES, r->edge_offsets, r->source, r->target, r->by_source, r->edges_of);
    r->edges = (lud_edges){ROWS, EDGES, r->edge_offsets, r->source, r->target, r->by_source, r->edges_of};
    r->attention = (lud_attention){.n_rows = 2,
                                   .n_tokens = ROWS,
                                   .heads = 3,
                                   .kv_heads = 3,
                                   .head_dim = WIDTH / 3,
                                   .max_keys = 4,
                                   .scale = 0.5,
                                   .causal = true,
                                   .query_offsets = queries,
                                   .key_offsets = keys,
                                   .key_lengths = lengths};
}

#define OPERATION(name, ...)                                                                                 \
    static int name(reader *r) {                                                                             \
        return __VA_ARGS__;                                                                                  \
    }
OPERATION(linear, lud_nn_linear(r->net, r->x, "f", 5, LUD_TANH))
OPERATION(linear_kept, lud_nn_linear_without_bias(r->net, r->x, "f", 5, LUD_GELU))
OPERATION(conv, lud_nn_conv(r->net, r->x, "f", 3, 4, 2, 3, LUD_SILU))
OPERATION(max_pool, lud_nn_max_pool(r->net, r->x, 3, 4, 2))
OPERATION(layer_norm, lud_nn_layer_norm(r->net, r->x, "f", 1e-5))
OPERATION(rms_norm, lud_nn_rms_norm(r->net, r->x, "f", 1e-5))
OPERATION(lru, lud_nn_lru(r->net, r->x, "f", 3, r->states, -1, r->keep, 0.4, 0.9, 1.5))
OPERATION(gru, lud_nn_gru(r->net, r->x, "f", 3, r->states, -1, r->keep))
/* The input as queries, keys or values, which are three different ones. */
static const int *one_of_three(reader *r, int which) {
    static int qkv[3];
    for (int i = 0; i < 3; i++)
        qkv[i] = i == which ? r->x : lud_nn_map(r->net, r->x, i ? LUD_TANH : LUD_SIGMOID);
    return qkv;
}
static int graph_of(reader *r, int which, int features) {
    const int *qkv = one_of_three(r, which);
    return lud_nn_graph_attention(r->net, qkv[0], qkv[1], qkv[2], features, "f", r->edge_axis, 3, &r->edges);
}
static int attention_of(reader *r, int which) {
    const int *qkv = one_of_three(r, which);
    return lud_nn_attention(r->net, qkv[0], qkv[1], qkv[2], &r->attention);
}
OPERATION(graph_queries, graph_of(r, 0, -1))
OPERATION(graph_keys, graph_of(r, 1, r->features))
OPERATION(graph_values, graph_of(r, 2, r->features))
OPERATION(queries_of, attention_of(r, 0))
OPERATION(keys_of, attention_of(r, 1))
OPERATION(values_of, attention_of(r, 2))
OPERATION(map, lud_nn_map(r->net, r->x, LUD_GELU))
OPERATION(dropout, lud_nn_dropout(r->net, r->x, 0.4, 3))
OPERATION(concat, lud_nn_concat(r->net, (const int[]){r->x, r->x, r->x}, 3))
OPERATION(slice, lud_nn_slice(r->net, r->x, 3, 5))
OPERATION(add, lud_nn_add(r->net, r->x, r->x))
OPERATION(multiply, lud_nn_multiply(r->net, r->x, r->x))
OPERATION(gather, lud_nn_gather(r->net, r->x, r->index))
OPERATION(segment_sum, lud_nn_segment_reduce(r->net, r->x, r->offsets, LUD_REDUCE_SUM))
OPERATION(segment_mean, lud_nn_segment_reduce(r->net, r->x, r->offsets, LUD_REDUCE_MEAN))
OPERATION(segment_max, lud_nn_segment_reduce(r->net, r->x, r->offsets, LUD_REDUCE_MAX))
OPERATION(segment_part, lud_nn_segment_reduce_part(r->net, r->x, r->offsets, LUD_REDUCE_MEAN))
OPERATION(segment_softmax, lud_nn_segment_softmax(r->net, r->x, r->offsets))
OPERATION(softmax, lud_nn_softmax(r->net, r->x, -1, 1.5))
OPERATION(softmax_masked, lud_nn_softmax(r->net, r->x, r->mask, 0.5))
OPERATION(log_softmax, lud_nn_log_softmax(r->net, r->x, -1, 1.5))
OPERATION(log_softmax_masked, lud_nn_log_softmax(r->net, r->x, r->mask, 0.5))
OPERATION(sum_groups, lud_nn_sum_groups(r->net, r->x, 3, 0.7))
OPERATION(broadcast_groups, lud_nn_broadcast_groups(r->net, r->x, 3, 0.7))
OPERATION(rotary, lud_nn_rotary(r->net, r->x, r->position, 2, 100.0))

static const struct {
    const char *name;
    int (*declare)(reader *r);
} operations[] = {{"linear", linear},
                  {"linear, kept before its map", linear_kept},
                  {"conv", conv},
                  {"max_pool", max_pool},
                  {"layer_norm", layer_norm},
                  {"rms_norm", rms_norm},
                  {"lru", lru},
                  {"gru", gru},
                  {"graph_attention, queries", graph_queries},
                  {"graph_attention, keys", graph_keys},
                  {"graph_attention, values", graph_values},
                  {"attention, queries", queries_of},
                  {"attention, keys", keys_of},
                  {"attention, values", values_of},
                  {"map", map},
                  {"dropout", dropout},
                  {"concat", concat},
                  {"slice", slice},
                  {"add", add},
                  {"multiply", multiply},
                  {"gather", gather},
                  {"segment_reduce, sum", segment_sum},
                  {"segment_reduce, mean", segment_mean},
                  {"segment_reduce, max", segment_max},
                  {"segment_reduce_part", segment_part},
                  {"segment_softmax", segment_softmax},
                  {"softmax", softmax},
                  {"softmax, masked", softmax_masked},
                  {"log_softmax", log_softmax},
                  {"log_softmax, masked", log_softmax_masked},
                  {"sum_groups", sum_groups},
                  {"broadcast_groups", broadcast_groups},
                  {"rotary", rotary}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The operation alone; behind another reader; before another reader. */
enum { ALONE, BEHIND, BEFORE, ORDERS };

static void open_reader(reader *r, int operation, int order) {
    lud_error error = {0};
    *r = (reader){.parameters = lud_parameters_create(device, true)};
    r->net = lud_nn_create(r->parameters, ROWS);
    r->entries = lud_nn_axis(r->net, ENTRIES), r->segments = lud_nn_axis(r->net, SEGMENTS);
    r->edge_axis = lud_nn_axis(r->net, EDGES), r->states = lud_nn_axis(r->net, STATES);
    if (order == ALONE) lud_nn_input(r->net, 1); /* else it is the first of all values */
    r->x = lud_nn_input(r->net, WIDTH);
    r->index = lud_nn_input_on(r->net, r->entries, LUD_NN_I32, 1, 0);
    r->offsets = lud_nn_input_on(r->net, r->segments, LUD_NN_I32, 1, 1);
    r->mask = lud_nn_input_on(r->net, 0, LUD_NN_U8, WIDTH, 0);
    r->position = lud_nn_input_on(r->net, 0, LUD_NN_I32, 1, 0);
    r->features = lud_nn_input_on(r->net, r->edge_axis, LUD_NN_REAL, 2, 0);
    r->keep = lud_nn_input_on(r->net, 0, LUD_NN_REAL, 1, 0);
    make_edges(r);
    lud_nn_want_gradient(r->net, r->x);
    if (order == BEHIND) r->out[r->n_out++] = lud_nn_map(r->net, r->x, LUD_TANH);
    r->out[r->n_out++] = operations[operation].declare(r);
    if (order == BEFORE) r->out[r->n_out++] = lud_nn_map(r->net, r->x, LUD_TANH);
    for (int k = 0; k < r->n_out; k++) lud_nn_output(r->net, r->out[k]);
    lud_parameters_add(r->parameters, "unused", 1, (const int64_t[]){1}, (lud_init){0});
    if (lud_parameters_build(r->parameters, 7, &error) || lud_nn_plan(r->net, LUD_NN_TRAIN, &error))
        fail_msg("%s: %s", operations[operation].name, error.text);

    lud_nn_set_rows(r->net, r->entries, ENTRIES);
    lud_nn_set_rows(r->net, r->segments, SEGMENTS);
    lud_nn_set_rows(r->net, r->edge_axis, EDGES);
    lud_nn_set_rows(r->net, r->states, STATES);
    lud_nn_write_i32(r->net, r->index, ENTRIES, (const int32_t[]){2, 0, 0, -1, 5, 2, 1});
    /* an empty segment; of a part rows are left over */
    const bool part = operations[operation].declare == segment_part;
    lud_nn_write_i32(r->net, r->offsets, SEGMENTS + 1, (const int32_t[]){0, 3, 3, 4, part ? ROWS - 1 : ROWS});
    lud_nn_write_i32(r->net, r->position, ROWS, (const int32_t[]){0, 1, 2, 5, 0, 3});
    uint8_t mask[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        mask[i] = i / WIDTH != 3 && i % 5 != 2; /* all of one row are left out */
    memcpy(lud_nn_value(r->net, r->mask), mask, sizeof mask);
    double features[2 * EDGES], kept[ROWS];
    for (int i = 0; i < 2 * EDGES; i++) features[i] = number(2, (uint32_t)i);
    for (int i = 0; i < ROWS; i++) kept[i] = i != 3;
    lud_nn_write(r->net, r->features, EDGES, features);
    lud_nn_write(r->net, r->keep, ROWS, kept);
    lud_nn_set_step(r->net, 11, 1);
}

static void close_reader(reader *r) {
    lud_nn_destroy(r->net);
    lud_parameters_destroy(r->parameters);
}

static int64_t rows_of(const reader *r, int value) {
    return lud_nn_rows(r->net, lud_nn_axis_of(r->net, value));
}

/* The sum of random weights times the outputs; what is left out counts nothing. The weights become the
 * outputs' gradients where asked. */
static double loss(reader *r, const double *x, bool give_gradients) {
    static double values[MOST], weights[MOST];
    double sum = 0.0;
    lud_nn_write(r->net, r->x, ROWS, x);
    lud_nn_forward(r->net, ROWS, true);
    for (int k = 0; k < r->n_out; k++) {
        const int64_t rows = rows_of(r, r->out[k]), n = rows * lud_nn_width(r->net, r->out[k]);
        assert_true(n <= MOST);
        lud_nn_read(r->net, r->out[k], rows, values);
        for (int64_t i = 0; i < n; i++) {
            weights[i] = fabs(values[i]) > 1e30 ? 0.0 : number(100 + (uint32_t)k, (uint32_t)i);
            sum += weights[i] * (weights[i] == 0.0 ? 0.0 : values[i]);
        }
        if (give_gradients) lud_nn_write_gradient(r->net, r->out[k], rows, weights);
    }
    return sum;
}

static void inputs_have_their_gradients(void **state) {
    (void)state;
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (int order = 0; order < ORDERS; order++) {
            reader r;
            open_reader(&r, operation, order);
            double x[NUMBERS], gradient[NUMBERS];
            for (int i = 0; i < NUMBERS; i++) x[i] = number(1, (uint32_t)i);
            for (int round = 0; round < 2; round++) { /* the second is no sum with the first */
                loss(&r, x, true);
                lud_nn_backward(r.net);
            }
            memcpy(gradient, lud_nn_gradient(r.net, r.x), sizeof gradient);
            double largest = 0.0;
            for (int i = 0; i < NUMBERS; i++) {
                const double h = 1e-5, old = x[i];
                x[i] = old + h;
                const double above = loss(&r, x, false);
                x[i] = old - h;
                const double slope = (above - loss(&r, x, false)) / (2.0 * h);
                x[i] = old;
                largest = fmax(largest, fabs(slope));
                if (!(fabs(gradient[i] - slope) <= 1e-7 * (1.0 + fabs(slope) + fabs(above))))
                    fail_msg("%s, order %d: gradient %d is %.9g, differences give %.9g",
                             operations[operation].name, order, i, gradient[i], slope);
            }
            assert_true(largest > 0.0);
            close_reader(&r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inputs_have_their_gradients)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
