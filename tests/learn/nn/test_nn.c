/* Networks: every gradient against central differences, batches, threads, sharing, freezing, targets,
 * dropout. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cpu_device.h"
#include "learn/empo/networks/networks.h"
#include "learn/nn/nn.h"

TEST_DEVICE(2)

enum { MAX_NUMBERS = 1 << 16 };

static double random_number(uint32_t stream, uint32_t i) {
    double pair[2];
    const lud_words words = lud_draw((lud_random_key){99, stream}, i, 0, LUD_PURPOSE_USER, 0);
    lud_normal_pair(words.v[0], words.v[1], pair);
    return pair[0];
}

static void fill(lud_nn *net, int value, int64_t n_rows, uint32_t stream) {
    static double numbers[MAX_NUMBERS];
    const int64_t n = n_rows * lud_nn_width(net, value);
    for (int64_t i = 0; i < n; i++) numbers[i] = random_number(stream, (uint32_t)i);
    lud_nn_write(net, value, n_rows, numbers);
}

static void build(lud_parameters *parameters, lud_nn *net) {
    lud_error error = {0};
    assert_int_equal(lud_parameters_build(parameters, 5, &error), LUD_OK);
    assert_int_equal(lud_nn_plan(net, LUD_NN_TRAIN, &error), LUD_OK);
}

/* loss = sum of fixed random weights times the output */
static double loss(lud_nn *net, int64_t n_rows, int output, int64_t n_output_rows, double *weights) {
    static double values[MAX_NUMBERS];
    lud_nn_forward(net, n_rows, true);
    lud_nn_read(net, output, n_output_rows, values);
    double sum = 0.0;
    for (int64_t i = 0; i < n_output_rows * lud_nn_width(net, output); i++) {
        weights[i] = random_number(1000, (uint32_t)i);
        sum += weights[i] * values[i];
    }
    return sum;
}

/* Compares up to 40 numbers of every parameter's gradient with central differences. The graph runs twice
 * backward, so that accumulation is checked too. */
static void check_gradients(lud_parameters *parameters, lud_nn *net, int64_t n_rows, int output,
                            int64_t n_output_rows) {
    static double weights[MAX_NUMBERS], values[MAX_NUMBERS], gradients[MAX_NUMBERS];
    lud_parameters_zero_gradients(parameters);
    for (int round = 0; round < 2; round++) {
        loss(net, n_rows, output, n_output_rows, weights);
        lud_nn_write_gradient(net, output, n_output_rows, weights);
        lud_nn_backward(net);
    }
    for (int p = 0; p < parameters->n; p++) {
        const int64_t n = parameters->items[p].n, stride = n / 40 + 1;
        lud_parameters_read_gradient(parameters, p, gradients);
        lud_parameters_read(parameters, p, values);
        for (int64_t i = 0; i < n; i += stride) {
            const double h = 1e-5, old = values[i];
            values[i] = old + h;
            lud_parameters_write(parameters, p, values);
            const double above = loss(net, n_rows, output, n_output_rows, weights);
            values[i] = old - h;
            lud_parameters_write(parameters, p, values);
            const double below = loss(net, n_rows, output, n_output_rows, weights);
            values[i] = old;
            lud_parameters_write(parameters, p, values);
            const double expected = 2.0 * (above - below) / (2.0 * h); /* two backward runs */
            if (parameters->items[p].frozen) {
                assert_true(gradients[i] == 0.0);
            } else if (fabs(gradients[i] - expected) > 1e-6 * (1.0 + fabs(expected) + fabs(above)))
                fail_msg("%s[%lld]: gradient %.10g, differences give %.10g", parameters->items[p].name,
                         (long long)i, gradients[i], expected);
        }
    }
}

/* Batch sizes with nothing, one row, and numbers that are no multiple of a vector. */
static const int64_t row_counts[] = {0, 1, 3, 7};

static void dense_operations(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof row_counts / sizeof *row_counts; k++) {
        lud_parameters *parameters = lud_parameters_create(device, true);
        lud_nn *net = lud_nn_create(parameters, 7);
        const int x = lud_nn_input(net, 5);
        const int a = lud_nn_linear(net, x, "a", 9, LUD_SILU);
        const int b = lud_nn_linear(net, a, "b", 9, LUD_TANH);
        const int c = lud_nn_linear_without_bias(net, x, "c", 9, LUD_GELU);
        const int sum = lud_nn_add(net, a, b);
        const int product = lud_nn_multiply(net, sum, c);
        const int norm = lud_nn_layer_norm(net, product, "norm", 1e-5);
        const int raw_norm = lud_nn_layer_norm(net, x, "raw_norm", 1e-5);
        const int root = lud_nn_rms_norm(net, product, "root", 1e-5);
        const int joined = lud_nn_concat(net, (const int[]){root, norm, a, raw_norm}, 4);
        const int piece = lud_nn_slice(net, joined, 4, 12);
        const int groups = lud_nn_sum_groups(
            net, lud_nn_broadcast_groups(net, lud_nn_sum_groups(net, piece, 3, 0.5), 3, 0.7), 3, 0.9);
        const int soft = lud_nn_softmax(net, groups, -1, 1.5);
        const int logs = lud_nn_log_softmax(net, lud_nn_linear(net, groups, "d", 6, LUD_LINEAR), -1, 0.7);
        const int fixed = lud_nn_stop_gradient(net, lud_nn_linear(net, x, "fixed", 4, LUD_TANH));
        const int mapped = lud_nn_map(net, fixed, LUD_SIGMOID);
        const int ends[4] = {soft, logs, mapped,
                             lud_nn_map(net, sum, (lud_map){LUD_MAP_SOFT_CLAMP, -0.5, 0.5})};
        const int out = lud_nn_linear(net, lud_nn_concat(net, ends, 4), "out", 3, LUD_SIGMOID);
        lud_nn_output(net, out);
        /* differences see through a stopped gradient; frozen parameters are expected to have none */
        lud_parameters_freeze(parameters, "fixed", true);
        build(parameters, net);
        fill(net, x, row_counts[k], 1);
        if (row_counts[k] == 0) {
            lud_nn_forward(net, 0, true);
            lud_nn_backward(net);
        } else {
            check_gradients(parameters, net, row_counts[k], out, row_counts[k]);
        }
        lud_nn_destroy(net);
        lud_parameters_destroy(parameters);
    }
}

static void image_operations(void **state) {
    (void)state;
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, 5);
    const int code = lud_nn_input_on(net, 0, LUD_NN_I32, 5 * 6, 0);
    const int grid = lud_nn_grid_conv(net, code, "grid", LUD_GRID_FULL, 5, 6, 4, 3, LUD_SILU);
    const int pooled = lud_nn_max_pool(net, grid, 5, 6, 2);
    const int conv = lud_nn_conv(net, pooled, "conv", 2, 3, 3, 3, LUD_TANH);
    const int out = lud_nn_linear(net, conv, "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    build(parameters, net);
    int32_t words[5 * 30];
    for (int i = 0; i < 150; i++)
        words[i] =
            lud_grid_code_make((lud_grid_cell){.type = i % 16, .agent = i % 5 ? LUD_CODE_NO_AGENT : i % 7});
    lud_nn_write_i32(net, code, 5, words);
    check_gradients(parameters, net, 5, out, 5);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

static void rows_between_axes(void **state) {
    (void)state;
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, 3);
    const int entries = lud_nn_axis(net, 8);
    const int x = lud_nn_input(net, 4);
    const int index = lud_nn_input_on(net, entries, LUD_NN_I32, 1, 0);
    const int word = lud_nn_input_on(net, entries, LUD_NN_I32, 1, 0);
    const int offsets = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 1);
    const int h = lud_nn_linear(net, x, "h", 6, LUD_TANH);
    const int gathered = lud_nn_gather(net, h, index);
    const int embedded = lud_nn_embedding(net, word, "words", 5, 6);
    const int mixed = lud_nn_linear(net, lud_nn_multiply(net, gathered, embedded), "mixed", 6, LUD_SILU);
    const int share = lud_nn_segment_softmax(net, lud_nn_linear(net, mixed, "share", 6, LUD_LINEAR), offsets);
    const int parts[3] = {
        lud_nn_segment_reduce(net, lud_nn_multiply(net, share, mixed), offsets, LUD_REDUCE_SUM),
        lud_nn_segment_reduce(net, mixed, offsets, LUD_REDUCE_MEAN),
        lud_nn_segment_reduce(net, mixed, offsets, LUD_REDUCE_MAX)};
    const int out = lud_nn_linear(net, lud_nn_concat(net, parts, 3), "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    build(parameters, net);
    fill(net, x, 3, 2);
    lud_nn_set_rows(net, entries, 8);
    lud_nn_write_i32(net, index, 8, (const int32_t[]){2, 0, 0, -1, 1, 2, 1, 0});
    lud_nn_write_i32(net, word, 8, (const int32_t[]){4, 4, 0, 1, 2, 3, 3, 1});
    lud_nn_write_i32(net, offsets, 4, (const int32_t[]){0, 5, 5, 8}); /* the middle segment is empty */
    check_gradients(parameters, net, 3, out, 3);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

/* Rows behind the last segment: no sum takes them in, and no gradient reaches the layers below them. A first
 * run without them leaves other gradients in their memory. */
static void segments_that_leave_rows_out(void **state) {
    (void)state;
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, 3);
    const int entries = lud_nn_axis(net, 8);
    const int x = lud_nn_input(net, 4);
    const int index = lud_nn_input_on(net, entries, LUD_NN_I32, 1, 0);
    const int offsets = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 1);
    const int h = lud_nn_gather(net, lud_nn_linear(net, x, "h", 6, LUD_TANH), index);
    const int sums =
        lud_nn_segment_reduce_part(net, lud_nn_linear(net, h, "entry", 5, LUD_SILU), offsets, LUD_REDUCE_SUM);
    const int out = lud_nn_linear(net, sums, "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    build(parameters, net);
    fill(net, x, 3, 2);
    lud_nn_set_rows(net, entries, 8);
    lud_nn_write_i32(net, index, 8, (const int32_t[]){2, 0, 0, 1, 1, 2, 1, 0});
    lud_nn_write_i32(net, offsets, 4, (const int32_t[]){0, 3, 6, 8});
    check_gradients(parameters, net, 3, out, 3);
    lud_nn_write_i32(net, offsets, 4, (const int32_t[]){0, 2, 2, 5});
    check_gradients(parameters, net, 3, out, 3);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

static void recurrences(void **state) {
    (void)state;
    enum { STEPS = 4, N = 3 };
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, STEPS * N);
    const int envs = lud_nn_axis(net, N);
    const int x = lud_nn_input(net, 4);
    const int mask = lud_nn_input_on(net, 0, LUD_NN_REAL, 1, 0);
    const int h0 = lud_nn_input_on(net, envs, LUD_NN_REAL, 2 * 5, 0);
    const int g0 = lud_nn_input_on(net, envs, LUD_NN_REAL, 3, 0);
    const int u = lud_nn_linear(net, x, "u", 4, LUD_TANH);
    const int lru = lud_nn_lru(net, u, "lru", 5, envs, h0, mask, 0.4, 0.9, 1.5);
    const int read = lud_nn_linear_without_bias(net, lru, "lru.c", 4, LUD_LINEAR);
    const int gru = lud_nn_gru(net, lud_nn_add(net, read, u), "gru", 3, envs, g0, mask);
    const int out = lud_nn_linear(net, gru, "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    build(parameters, net);
    fill(net, x, STEPS * N, 3);
    fill(net, h0, N, 4);
    fill(net, g0, N, 5);
    double ones[STEPS * N];
    for (int i = 0; i < STEPS * N; i++) ones[i] = i == 5 || i == 7 ? 0.0 : 1.0;
    lud_nn_write(net, mask, STEPS * N, ones);
    lud_nn_set_rows(net, envs, N);
    check_gradients(parameters, net, STEPS * N, out, STEPS * N);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

static void attentions(void **state) {
    (void)state;
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, 5);
    const int edge_axis = lud_nn_axis(net, 6);
    const int x = lud_nn_input(net, 3), d = lud_nn_input_on(net, edge_axis, LUD_NN_REAL, 2, 0);
    const int position = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 0);
    int32_t offsets[6] = {0, 2, 3, 5, 5, 6}, source[6] = {1, 2, 0, 3, 4, 0}, target[6], by_source[6],
            edges_of[6];
    lud_edges_by_source(5, 6, offsets, source, target, by_source, edges_of);
    const lud_edges edges = {5, 6, offsets, source, target, by_source, edges_of};
    const int32_t queries[3] = {0, 3, 5}, keys[2] = {0, 3}, lengths[2] = {3, 2};
    const lud_attention shape = {.n_rows = 2,
                                 .n_tokens = 5,
                                 .heads = 2,
                                 .kv_heads = 1,
                                 .head_dim = 4,
                                 .max_keys = 3,
                                 .scale = 0.5,
                                 .causal = true,
                                 .query_offsets = queries,
                                 .key_offsets = keys,
                                 .key_lengths = lengths};
    const int graph = lud_nn_graph_attention(
        net, lud_nn_linear(net, x, "q", 6, LUD_LINEAR), lud_nn_linear(net, x, "k", 6, LUD_LINEAR),
        lud_nn_linear(net, x, "v", 6, LUD_LINEAR), d, "edge", edge_axis, 2, &edges);
    const int q = lud_nn_rotary(net, lud_nn_linear(net, graph, "tq", 8, LUD_LINEAR), position, 2, 100.0);
    const int k = lud_nn_rotary(net, lud_nn_linear(net, graph, "tk", 4, LUD_LINEAR), position, 1, 100.0);
    const int text = lud_nn_attention(net, q, k, lud_nn_linear(net, graph, "tv", 4, LUD_LINEAR), &shape);
    const int out = lud_nn_linear(net, text, "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    build(parameters, net);
    fill(net, x, 5, 6);
    fill(net, d, 6, 7);
    lud_nn_set_rows(net, edge_axis, 6);
    lud_nn_write_i32(net, position, 5, (const int32_t[]){0, 1, 2, 0, 1});
    check_gradients(parameters, net, 5, out, 5);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

/* With dropout the draws of a step are fixed, so differences see the same mask. */
static void dropout_has_the_gradient_of_its_mask(void **state) {
    (void)state;
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, 50);
    const int x = lud_nn_input(net, 4);
    const int h = lud_nn_dropout(net, lud_nn_linear(net, x, "h", 20, LUD_SILU), 0.25, 3);
    const int out = lud_nn_linear(net, h, "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    lud_nn_output(net, h);
    build(parameters, net);
    fill(net, x, 50, 8);
    lud_nn_set_step(net, 11, 1);
    static double dropped[1000], again[1000];
    lud_nn_forward(net, 50, true);
    lud_nn_read(net, h, 50, dropped);
    int zeros = 0;
    for (int i = 0; i < 1000; i++) zeros += dropped[i] == 0.0;
    assert_in_range(zeros, 200, 300); /* 250 expected, deviation 14 */
    lud_nn_set_step(net, 11, 2);
    lud_nn_forward(net, 50, true);
    lud_nn_read(net, h, 50, again);
    assert_memory_not_equal(dropped, again, sizeof dropped);
    lud_nn_forward(net, 50, false);
    lud_nn_read(net, h, 50, again);
    for (int i = 0; i < 1000; i++)
        assert_true(dropped[i] == 0.0 || fabs(dropped[i] - again[i] / 0.75) < 1e-12);
    /* the gradient of h itself must be zero, so only `out` carries a loss */
    static double none[1000];
    lud_nn_forward(net, 50, true);
    lud_parameters_zero_gradients(parameters);
    lud_nn_write_gradient(net, h, 50, none);
    static double ones[100];
    for (int i = 0; i < 100; i++) ones[i] = 1.0;
    lud_nn_write_gradient(net, out, 50, ones);
    lud_nn_backward(net);
    static double gradient[80], weights[80];
    const int index = lud_parameters_find(parameters, "h.weight");
    lud_parameters_read_gradient(parameters, index, gradient);
    lud_parameters_read(parameters, index, weights);
    for (int i = 0; i < 80; i += 7) {
        double sums[2] = {0, 0}, values[100];
        const double old = weights[i];
        for (int side = 0; side < 2; side++) {
            weights[i] = old + (side ? -1e-5 : 1e-5);
            lud_parameters_write(parameters, index, weights);
            lud_nn_forward(net, 50, true);
            lud_nn_read(net, out, 50, values);
            for (int k = 0; k < 100; k++) sums[side] += values[k];
        }
        weights[i] = old;
        assert_true(fabs((sums[0] - sums[1]) / 2e-5 - gradient[i]) < 1e-6 * (1.0 + fabs(gradient[i])));
    }
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

/* --- the networks of the EMPO learner as a large example --- */

typedef struct example {
    lud_device *device;
    lud_parameters *parameters;
    lud_nn *net;
    lud_empo_shape shape;
    lud_empo_graph graph;
} example;

enum { STATES = 33, ENTRIES = 70 };

static void open_example(example *e, int n_threads, bool strict, bool in_double) {
    lud_error error = {0};
    *e = (example){.shape = lud_empo_shape_defaults()};
    assert_int_equal(lud_device_open("cpu", n_threads, &e->device, &error), LUD_OK);
    lud_device_set_strict(e->device, strict);
    e->shape.height = 7;
    e->shape.width = 7;
    e->shape.n_agents = 3;
    e->shape.n_actions = 4;
    e->shape.hidden = 32;
    e->parameters = lud_parameters_create(e->device, in_double);
    e->net = lud_nn_create(e->parameters, STATES);
    e->graph = lud_empo_declare(e->net, &e->shape, LUD_EMPO_ALL_HEADS, ENTRIES);
    build(e->parameters, e->net);
    assert_true(lud_empo_prepare(e->net, &e->graph, &e->shape));
}

static void close_example(example *e) {
    lud_nn_destroy(e->net);
    lud_parameters_destroy(e->parameters);
    lud_device_close(e->device);
}

/* Inputs of states first .. first + n - 1, two entries a state. */
static void fill_example(example *e, int first, int n) {
    static int32_t words[STATES * 49], entry_state[ENTRIES], agent[ENTRIES], cell[ENTRIES];
    static double global[STATES * 4], agents[STATES * 39], interactive[STATES * 96], features[ENTRIES * 13],
        goals[ENTRIES * 4];
    for (int i = 0; i < n; i++) {
        const uint32_t s = (uint32_t)(first + i);
        for (int k = 0; k < 49; k++) {
            const lud_words w = lud_draw((lud_random_key){3, 0}, s, (uint32_t)k, LUD_PURPOSE_USER, 0);
            words[i * 49 + k] = lud_grid_code_make(
                (lud_grid_cell){.type = (int)lud_below(w.v[0], 16),
                                .agent = w.v[1] % 8 ? LUD_CODE_NO_AGENT : (int)(w.v[2] % 7)});
        }
        for (int k = 0; k < 4; k++) global[i * 4 + k] = random_number(s, (uint32_t)(100 + k));
        for (int k = 0; k < 39; k++) agents[i * 39 + k] = random_number(s, (uint32_t)(200 + k));
        for (int k = 0; k < 96; k++) interactive[i * 96 + k] = random_number(s, (uint32_t)(300 + k));
        for (int h = 0; h < 2; h++) {
            const int j = 2 * i + h;
            entry_state[j] = i;
            agent[j] = h;
            cell[j] = (int32_t)((s * 7 + (uint32_t)h * 13) % 50);
            for (int k = 0; k < 13; k++)
                features[j * 13 + k] = random_number(s, (uint32_t)(500 + 20 * h + k));
            for (int k = 0; k < 4; k++) goals[j * 4 + k] = (double)((s + (uint32_t)(k + h)) % 7);
        }
    }
    const lud_empo_graph *g = &e->graph;
    lud_nn_write_i32(e->net, g->grid, n, words);
    lud_nn_write(e->net, g->global, n, global);
    lud_nn_write(e->net, g->agents, n, agents);
    lud_nn_write(e->net, g->interactive, n, interactive);
    lud_nn_set_rows(e->net, g->entries, 2 * n);
    lud_nn_write_i32(e->net, g->entry_state, 2 * n, entry_state);
    lud_nn_write_i32(e->net, g->entry_agent, 2 * n, agent);
    lud_nn_write_i32(e->net, g->entry_cell, 2 * n, cell);
    lud_nn_write(e->net, g->entry_features, 2 * n, features);
    lud_nn_write(e->net, g->entry_goal, 2 * n, goals);
}

static void run_example(example *e, int n, double *outputs, int *n_outputs) {
    const int values[] = {e->graph.v_h_e, e->graph.x_h, e->graph.y, e->graph.u_r, e->graph.q_r, e->graph.v_r};
    *n_outputs = 0;
    for (int k = 0; k < 6; k++) {
        const int64_t rows = k < 2 ? 2 * n : n;
        lud_nn_read(e->net, values[k], rows, outputs + *n_outputs);
        *n_outputs += (int)(rows * lud_nn_width(e->net, values[k]));
    }
}

static void backward_example(example *e, int n) {
    static double gradient[STATES * 8];
    const int values[] = {e->graph.v_h_e, e->graph.x_h, e->graph.y, e->graph.u_r, e->graph.q_r, e->graph.v_r};
    for (int i = 0; i < STATES * 8; i++) gradient[i] = random_number(77, (uint32_t)i);
    for (int k = 0; k < 6; k++) lud_nn_write_gradient(e->net, values[k], k < 2 ? 2 * n : n, gradient);
    lud_parameters_zero_gradients(e->parameters);
    lud_nn_backward(e->net);
}

static void a_row_of_a_batch_equals_the_row_alone(void **state) {
    (void)state;
    example e;
    open_example(&e, 2, false, false);
    static double batch[STATES * 16], single[16];
    int n_batch, n_single;
    fill_example(&e, 0, STATES);
    lud_nn_forward(e.net, STATES, false);
    run_example(&e, STATES, batch, &n_batch);
    const int widths[] = {2, 2, 1, 1, 4, 1};
    for (int s = 0; s < STATES; s += 4) {
        fill_example(&e, s, 1);
        lud_nn_forward(e.net, 1, false);
        run_example(&e, 1, single, &n_single);
        int at = 0, of_one = 0;
        for (int k = 0; k < 6; k++) {
            for (int i = 0; i < widths[k]; i++) {
                const double a = batch[at + s * widths[k] + i], b = single[of_one + i];
                assert_true(fabs(a - b) <= 1e-6 * fmax(fabs(a), 1.0));
            }
            at += STATES * widths[k];
            of_one += widths[k];
        }
    }
    close_example(&e);
}

/* Forward and backward runs give the same bytes on 1, 2, 3 and 4 threads under strict. */
static void strict_runs_do_not_depend_on_threads(void **state) {
    (void)state;
    static double outputs[2][STATES * 16];
    float *gradients[2] = {NULL, NULL};
    size_t bytes = 0;
    for (int n_threads = 1; n_threads <= 4; n_threads++) {
        example e;
        open_example(&e, n_threads, true, false);
        fill_example(&e, 0, STATES);
        lud_nn_set_step(e.net, 3, 5);
        lud_nn_forward(e.net, STATES, true);
        const int slot = n_threads > 1;
        int n;
        run_example(&e, STATES, outputs[slot], &n);
        backward_example(&e, STATES);
        bytes = (size_t)e.parameters->size * sizeof(float);
        if (!gradients[slot]) gradients[slot] = malloc(bytes);
        lud_device_download(e.device, gradients[slot], e.parameters->gradients, bytes);
        if (n_threads > 1) {
            assert_memory_equal(outputs[0], outputs[1], sizeof outputs[0]);
            assert_memory_equal(gradients[0], gradients[1], bytes);
        }
        close_example(&e);
    }
    free(gradients[0]);
    free(gradients[1]);
}

/* Both streams of the dueling head have the gradient that differences give, and the state's level and the
 * actions' mean are told apart: Q_r is negative, and adding the same number to all advantages changes
 * nothing. */
static void the_dueling_head_has_its_gradient(void **state) {
    (void)state;
    enum { N = 3 };
    example e = {.shape = lud_empo_shape_defaults()};
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &e.device, &error), LUD_OK);
    e.shape.height = e.shape.width = 7;
    e.shape.n_agents = 3;
    e.shape.n_actions = 4;
    e.shape.hidden = 8;
    e.shape.dueling = true;
    e.shape.dropout[LUD_NET_Q_R] = 0.0;
    e.parameters = lud_parameters_create(e.device, true);
    e.net = lud_nn_create(e.parameters, STATES);
    e.graph = lud_empo_declare(e.net, &e.shape, LUD_EMPO_Q_R, 2 * STATES);
    lud_parameters_freeze(e.parameters, "v_h_e.", true); /* differences see through a stopped gradient */
    lud_parameters_freeze(e.parameters, "q_r.own_state_encoder.", true); /* its kinks are not the heads' */
    build(e.parameters, e.net);
    assert_true(lud_empo_prepare(e.net, &e.graph, &e.shape));
    fill_example(&e, 0, N);
    check_gradients(e.parameters, e.net, N, e.graph.q_r, N);
    double q[N * 4], shifted[N * 4], bias[4];
    lud_nn_forward(e.net, N, false);
    lud_nn_read(e.net, e.graph.q_r, N, q);
    const int advantages = lud_parameters_find(e.parameters, "q_r.q_head.4.bias"),
              level = lud_parameters_find(e.parameters, "q_r.state_head.4.bias");
    lud_parameters_read(e.parameters, advantages, bias);
    for (int a = 0; a < 4; a++) bias[a] += 3.0;
    lud_parameters_write(e.parameters, advantages, bias);
    lud_nn_forward(e.net, N, false);
    lud_nn_read(e.net, e.graph.q_r, N, shifted);
    for (int i = 0; i < N * 4; i++) assert_true(q[i] < 0 && fabs(shifted[i] - q[i]) < 1e-9);
    lud_parameters_write(e.parameters, level, (const double[]){-20.0});
    lud_nn_forward(e.net, N, false);
    lud_nn_read(e.net, e.graph.q_r, N, shifted);
    for (int i = 0; i < N * 4; i++) assert_true(shifted[i] < 0 && shifted[i] > -1e-6);
    close_example(&e);
}

/* --- what a plan lets share memory --- */

/* Blocks with dropout whose results take over memory that nobody reads any more: outputs and gradients are
 * those of the same blocks when every value in between is read by the caller and has memory of its own. */
static void taken_memory_changes_nothing(void **state) {
    (void)state;
    enum { ROWS = 30, WIDTH = 12, BLOCKS = 3, WEIGHTS = BLOCKS * WIDTH * WIDTH };
    static double values[2][ROWS * WIDTH], gradients[2][WEIGHTS], given[ROWS * WIDTH], none[ROWS * WIDTH];
    size_t bytes[2];
    for (int i = 0; i < ROWS * WIDTH; i++) given[i] = random_number(30, (uint32_t)i);
    for (int read = 0; read < 2; read++) {
        lud_parameters *parameters = lud_parameters_create(device, true);
        lud_nn *net = lud_nn_create(parameters, ROWS);
        const int input = lud_nn_input(net, WIDTH);
        int x = input, between[3 * BLOCKS], n = 0;
        for (int block = 0; block < BLOCKS; block++) {
            char name[32];
            snprintf(name, sizeof name, "linear%d", block);
            int y = lud_nn_linear(net, x, name, WIDTH, LUD_RELU);
            snprintf(name, sizeof name, "norm%d", block);
            between[n++] = y = lud_nn_layer_norm(net, y, name, 1e-5);
            between[n++] = y = lud_nn_dropout(net, y, 0.25, (uint32_t)block);
            between[n++] = x = lud_nn_add(net, x, y);
        }
        lud_nn_output(net, x);
        for (int i = 0; read && i < n - 1; i++) lud_nn_output(net, between[i]);
        build(parameters, net);
        bytes[read] = lud_nn_bytes(net);
        fill(net, input, ROWS, 31);
        lud_nn_set_step(net, 11, 1);
        lud_nn_forward(net, ROWS, true);
        lud_nn_read(net, x, ROWS, values[read]);
        lud_parameters_zero_gradients(parameters);
        for (int i = 0; read && i < n - 1; i++) lud_nn_write_gradient(net, between[i], ROWS, none);
        lud_nn_write_gradient(net, x, ROWS, given);
        lud_nn_backward(net);
        for (int block = 0; block < BLOCKS; block++) {
            char name[32];
            snprintf(name, sizeof name, "linear%d.weight", block);
            lud_parameters_read_gradient(parameters, lud_parameters_find(parameters, name),
                                         gradients[read] + block * WIDTH * WIDTH);
        }
        lud_nn_destroy(net);
        lud_parameters_destroy(parameters);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
    for (int i = 0; i < WEIGHTS; i++)
        assert_true(fabs(gradients[0][i] - gradients[1][i]) <= 1e-12 * (1.0 + fabs(gradients[1][i])));
    assert_true(bytes[0] < bytes[1]);
}

static void sharing_buffers_saves_memory(void **state) {
    (void)state;
    example e;
    open_example(&e, 1, false, false);
    lud_nn *inference = lud_nn_create(e.parameters, STATES);
    lud_empo_declare(inference, &e.shape, LUD_EMPO_ALL_HEADS, ENTRIES);
    assert_int_equal(lud_nn_plan(inference, LUD_NN_INFERENCE, NULL), LUD_OK);
    assert_true(lud_nn_bytes(inference) < lud_nn_bytes_unshared(inference) / 2);
    assert_true(lud_nn_bytes(e.net) < lud_nn_bytes_unshared(e.net));
    print_message("training plan %zu of %zu bytes, inference plan %zu of %zu\n", lud_nn_bytes(e.net),
                  lud_nn_bytes_unshared(e.net), lud_nn_bytes(inference), lud_nn_bytes_unshared(inference));
    lud_nn_destroy(inference);
    close_example(&e);
}

/* A shared buffer that is overwritten too early would show here: the inference plan against the training
 * plan, which keeps far more. */
static void plans_agree(void **state) {
    (void)state;
    example e, i;
    open_example(&e, 1, false, false);
    open_example(&i, 1, false, false);
    lud_nn_destroy(i.net);
    i.net = lud_nn_create(i.parameters, STATES);
    i.graph = lud_empo_declare(i.net, &i.shape, LUD_EMPO_ALL_HEADS, ENTRIES);
    assert_int_equal(lud_nn_plan(i.net, LUD_NN_INFERENCE, NULL), LUD_OK);
    assert_true(lud_empo_prepare(i.net, &i.graph, &i.shape));
    static double a[STATES * 16], b[STATES * 16];
    int n;
    fill_example(&e, 0, STATES);
    fill_example(&i, 0, STATES);
    lud_nn_forward(e.net, STATES, false);
    lud_nn_forward(i.net, STATES, false);
    run_example(&e, STATES, a, &n);
    run_example(&i, STATES, b, &n);
    assert_memory_equal(a, b, (size_t)n * sizeof *a);
    close_example(&e);
    close_example(&i);
}

/* --- parameters --- */

static void targets_copy_and_blend(void **state) {
    (void)state;
    example e;
    open_example(&e, 1, false, false);
    lud_parameters *target = lud_parameters_clone(e.parameters);
    assert_non_null(target);
    fill_example(&e, 0, 4);
    static double online[256], of_target[256], old[4096], changed[4096], blended[4096];
    int n;
    lud_nn_forward(e.net, 4, false);
    run_example(&e, 4, online, &n);
    const int index = lud_parameters_find(e.parameters, "q_r.q_head.4.weight");
    lud_parameters_read(e.parameters, index, old);
    const int64_t size = e.parameters->items[index].n;
    for (int64_t i = 0; i < size; i++) changed[i] = old[i] + 1.0;
    lud_parameters_write(e.parameters, index, changed);
    lud_nn_use(e.net, target);
    lud_nn_forward(e.net, 4, false);
    run_example(&e, 4, of_target, &n);
    assert_memory_equal(online, of_target, (size_t)n * sizeof *online);
    lud_parameters_blend(target, e.parameters, 0.25);
    lud_parameters_read(target, index, blended);
    for (int64_t i = 0; i < size; i++) assert_true(fabs(blended[i] - (old[i] + 0.25)) < 1e-6);
    lud_parameters_copy(target, e.parameters);
    lud_parameters_read(target, index, blended);
    lud_parameters_read(e.parameters, index, changed); /* as rounded to float */
    assert_memory_equal(blended, changed, (size_t)size * sizeof *blended);
    lud_nn_use(e.net, e.parameters);
    lud_parameters_destroy(target);
    close_example(&e);
}

static void frozen_parameters_get_no_gradient(void **state) {
    (void)state;
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, 4);
    const int x = lud_nn_input(net, 3);
    const int h = lud_nn_linear(net, x, "body.h", 5, LUD_SILU);
    const int twice = lud_nn_linear(net, h, "shared", 5, LUD_TANH);
    const int out =
        lud_nn_linear(net, lud_nn_linear(net, twice, "shared", 5, LUD_TANH), "out", 2, LUD_LINEAR);
    lud_nn_output(net, out);
    assert_int_equal(lud_parameters_freeze(parameters, "body.", true), 2);
    assert_int_equal(parameters->n, 6); /* "shared" is there once */
    build(parameters, net);
    fill(net, x, 4, 12);
    check_gradients(parameters, net, 4, out, 4);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

/* The shared encoders learn from V_h^e only: a loss on the other networks leaves them alone. */
static void stopped_gradients_stay_out(void **state) {
    (void)state;
    example e;
    open_example(&e, 1, false, false);
    fill_example(&e, 0, 4);
    lud_nn_forward(e.net, 4, true);
    static double gradient[64], numbers[MAX_NUMBERS];
    lud_nn_write_gradient(e.net, e.graph.v_h_e, 8, gradient);
    for (int i = 0; i < 64; i++) gradient[i] = 1.0 + i;
    const int others[] = {e.graph.x_h, e.graph.y, e.graph.u_r, e.graph.q_r, e.graph.v_r};
    for (int k = 0; k < 5; k++) lud_nn_write_gradient(e.net, others[k], k ? 4 : 8, gradient);
    lud_parameters_zero_gradients(e.parameters);
    lud_nn_backward(e.net);
    for (int p = 0; p < e.parameters->n; p++) {
        double largest = 0.0;
        lud_parameters_read_gradient(e.parameters, p, numbers);
        for (int64_t i = 0; i < e.parameters->items[p].n; i++) largest = fmax(largest, fabs(numbers[i]));
        if (strncmp(e.parameters->items[p].name, "v_h_e.", 6) == 0)
            assert_true(largest == 0.0);
        else
            assert_true(largest > 0.0);
    }
    close_example(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_operations),
        cmocka_unit_test(image_operations),
        cmocka_unit_test(rows_between_axes),
        cmocka_unit_test(segments_that_leave_rows_out),
        cmocka_unit_test(recurrences),
        cmocka_unit_test(attentions),
        cmocka_unit_test(dropout_has_the_gradient_of_its_mask),
        cmocka_unit_test(a_row_of_a_batch_equals_the_row_alone),
        cmocka_unit_test(strict_runs_do_not_depend_on_threads),
        cmocka_unit_test(the_dueling_head_has_its_gradient),
        cmocka_unit_test(taken_memory_changes_nothing),
        cmocka_unit_test(sharing_buffers_saves_memory),
        cmocka_unit_test(plans_agree),
        cmocka_unit_test(targets_copy_and_blend),
        cmocka_unit_test(frozen_parameters_get_no_gradient),
        cmocka_unit_test(stopped_gradients_stay_out),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
