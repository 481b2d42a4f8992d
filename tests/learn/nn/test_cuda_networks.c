/* Networks and optimisers on CUDA against the CPU: forward and backward runs, recorded graphs, precisions.
 * Runs on a GPU where there is one, and in any case as `test_cuda_networks_emulated` on tests/emulation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/nn/capture.h"
#include "learn/nn/nn.h"
#include "learn/nn/optimiser.h"

static lud_device *cpu, *cuda;

static int open_devices(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_device_open("cpu", 1, &cpu, &error) != LUD_OK) return -1;
    if (lud_device_open("cuda", 0, &cuda, &error) == LUD_OK) return 0;
    print_message("no CUDA: %s\n", error.text);
    cuda = NULL;
    return getenv("LUDUS_CUDA_MODULE") ? -1 : 0; /* asked for and not there */
}

static int close_devices(void **state) {
    (void)state;
    lud_device_close(cuda);
    lud_device_close(cpu);
    return 0;
}

static double number(uint32_t a, uint32_t b) {
    return 2 * lud_unit(lud_draw((lud_random_key){29, a}, b, 0, LUD_PURPOSE_USER, 0).v[0]) - 1;
}

/* ---- three networks that together use every layer ---- */

enum { ROWS = 12, MAX_NUMBERS = 4096 };

typedef struct bench {
    lud_parameters *parameters;
    lud_nn *net;
    int out;
    int64_t out_rows;
    /* CSR arrays that some layers read at every run, in device memory */
    void *arrays[16];
    int n_arrays;
    lud_edges edges;
    lud_attention attention;
} bench;

static void write_numbers(lud_nn *net, int value, int64_t rows, uint32_t stream) {
    double numbers[MAX_NUMBERS];
    const int64_t n = rows * lud_nn_width(net, value);
    assert_in_range(n, 0, MAX_NUMBERS);
    for (int64_t i = 0; i < n; i++) numbers[i] = number(stream, (uint32_t)i);
    lud_nn_write(net, value, rows, numbers);
}

static const void *on_device(bench *b, const void *host, size_t bytes) {
    lud_device *device = b->parameters->device;
    void *memory = lud_device_allocate(device, bytes);
    assert_non_null(memory);
    lud_device_upload(device, memory, host, bytes);
    b->arrays[b->n_arrays++] = memory;
    return memory;
}

static void plan(bench *b, lud_nn_mode mode) {
    lud_error error = {0};
    if (lud_parameters_build(b->parameters, 7, &error)) fail_msg("%s", error.text);
    if (lud_nn_plan(b->net, mode, &error)) fail_msg("%s", error.text);
}

static const lud_map linear = {LUD_MAP_IDENTITY, 0, 0}, silu = {LUD_MAP_SILU, 0, 0},
                     gelu = {LUD_MAP_GELU, 0, 0}, relu = {LUD_MAP_RELU, 0, 0},
                     tanh_map = {LUD_MAP_TANH, 0, 0};

static void declare_grids(bench *b) {
    lud_nn *net = b->net;
    enum { SIDE = 6 };
    const int code = lud_nn_input_on(net, 0, LUD_NN_I32, SIDE * SIDE, 0);
    const int mask = lud_nn_input_on(net, 0, LUD_NN_U8, 5, 0);
    int x = lud_nn_grid_conv(net, code, "grid", LUD_GRID_FULL, SIDE, SIDE, 4, 3, relu);
    x = lud_nn_conv(net, x, "conv", SIDE, SIDE, 5, 3, silu);
    x = lud_nn_max_pool(net, x, SIDE, SIDE, 2);
    x = lud_nn_layer_norm(net, lud_nn_linear(net, x, "dense", 20, gelu), "norm", 1e-5);
    x = lud_nn_dropout(net, x, 0.3, 2);
    const int halves[] = {lud_nn_slice(net, x, 0, 8), lud_nn_slice(net, x, 12, 8)};
    x = lud_nn_concat(net, halves, 2);
    x = lud_nn_multiply(net, x, lud_nn_map(net, x, tanh_map));
    x = lud_nn_broadcast_groups(net, lud_nn_sum_groups(net, x, 2, 0.5), 3, 0.8);
    x = lud_nn_softmax(net, lud_nn_linear(net, x, "logits", 5, linear), mask, 1.0);
    b->out = lud_nn_log_softmax(net, lud_nn_linear(net, x, "last", 5, linear), mask, 2.0);
    lud_nn_output(net, b->out);
    plan(b, LUD_NN_TRAIN);
    int32_t words[ROWS * SIDE * SIDE];
    for (int i = 0; i < ROWS * SIDE * SIDE; i++)
        words[i] = lud_grid_code_make((lud_grid_cell){.type = (int)((number(1, (uint32_t)i) + 1) * 7.9),
                                                      .agent = i % 7 ? LUD_CODE_NO_AGENT : i % 5});
    lud_nn_write_i32(net, code, ROWS, words);
    uint8_t allowed[ROWS * 5];
    for (int i = 0; i < ROWS * 5; i++) allowed[i] = i % 5 == 0 || number(2, (uint32_t)i) > -0.4;
    lud_device_upload(b->parameters->device, lud_nn_value(net, mask), allowed, sizeof allowed);
    b->out_rows = ROWS;
}

static void declare_sequences(bench *b) {
    lud_nn *net = b->net;
    enum { N = 3 };
    const int envs = lud_nn_axis(net, N);
    const int x = lud_nn_input(net, 4), mask = lud_nn_input_on(net, 0, LUD_NN_REAL, 1, 0);
    const int h0 = lud_nn_input_on(net, envs, LUD_NN_REAL, 2 * 5, 0);
    const int g0 = lud_nn_input_on(net, envs, LUD_NN_REAL, 3, 0);
    const int u = lud_nn_linear(net, x, "u", 4, tanh_map);
    const int lru = lud_nn_lru(net, u, "lru", 5, envs, h0, mask, 0.4, 0.9, 1.5);
    const int read = lud_nn_linear_without_bias(net, lru, "lru.c", 4, linear);
    const int gru = lud_nn_gru(net, lud_nn_add(net, read, u), "gru", 3, envs, g0, mask);
    b->out = lud_nn_linear(net, gru, "out", 2, linear);
    lud_nn_output(net, b->out);
    plan(b, LUD_NN_TRAIN);
    write_numbers(net, x, ROWS, 3);
    write_numbers(net, h0, N, 4);
    write_numbers(net, g0, N, 5);
    double on[ROWS];
    for (int i = 0; i < ROWS; i++) on[i] = i != 5 && i != 7;
    lud_nn_write(net, mask, ROWS, on);
    lud_nn_set_rows(net, envs, N);
    b->out_rows = ROWS;
}

/* Nodes of a graph, read by packed sequences; entries look nodes up and are gathered into segments. */
static void declare_graph(bench *b) {
    lud_nn *net = b->net;
    enum { EDGES = 20, ENTRIES = 9, SEGMENTS = 4 };
    const int edge_axis = lud_nn_axis(net, EDGES), entry_axis = lud_nn_axis(net, ENTRIES);
    const int segment_axis = lud_nn_axis(net, SEGMENTS);
    int32_t offsets[ROWS + 1] = {0}, source[EDGES], target[EDGES], by_source[ROWS + 1], order[EDGES];
    for (int i = 0; i < ROWS; i++) offsets[i + 1] = (i + 1) * EDGES / ROWS;
    for (int e = 0; e < EDGES; e++) source[e] = (e * 7 + 3) % ROWS;
    lud_edges_by_source(ROWS, EDGES, offsets, source, target, by_source, order);
    b->edges = (lud_edges){.n_nodes = ROWS,
                           .n_edges = EDGES,
                           .offsets = on_device(b, offsets, sizeof offsets),
                           .source = on_device(b, source, sizeof source),
                           .target = on_device(b, target, sizeof target),
                           .source_offsets = on_device(b, by_source, sizeof by_source),
                           .source_edges = on_device(b, order, sizeof order)};
    const int32_t queries[] = {0, 5, 5, ROWS}, keys[] = {0, 5, 5}, lengths[] = {5, 0, ROWS - 5};
    b->attention = (lud_attention){.n_rows = 3,
                                   .n_tokens = ROWS,
                                   .heads = 2,
                                   .kv_heads = 1,
                                   .head_dim = 4,
                                   .max_keys = ROWS,
                                   .scale = 0.5,
                                   .causal = true,
                                   .query_offsets = on_device(b, queries, sizeof queries),
                                   .key_offsets = on_device(b, keys, sizeof keys),
                                   .key_lengths = on_device(b, lengths, sizeof lengths)};
    const int x = lud_nn_input(net, 3), d = lud_nn_input_on(net, edge_axis, LUD_NN_REAL, 2, 0);
    const int position = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 0);
    const int kind = lud_nn_input_on(net, 0, LUD_NN_I32, 1, 0);
    const int node_of = lud_nn_input_on(net, entry_axis, LUD_NN_I32, 1, 0);
    const int begin = lud_nn_input_on(net, segment_axis, LUD_NN_I32, 1, 1);
    const int all[] = {x, lud_nn_embedding(net, kind, "kinds", 4, 3)};
    const int nodes = lud_nn_concat(net, all, 2);
    const int graph = lud_nn_graph_attention(
        net, lud_nn_linear(net, nodes, "q", 6, linear), lud_nn_linear(net, nodes, "k", 6, linear),
        lud_nn_linear(net, nodes, "v", 6, linear), d, "edge", edge_axis, 2, &b->edges);
    const int q = lud_nn_rotary(net, lud_nn_linear(net, graph, "tq", 8, linear), position, 2, 100.0);
    const int k = lud_nn_rotary(net, lud_nn_linear(net, graph, "tk", 4, linear), position, 1, 100.0);
    const int text = lud_nn_attention(net, q, k, lud_nn_linear(net, graph, "tv", 4, linear), &b->attention);
    const int entries = lud_nn_gather(net, text, node_of);
    const int share = lud_nn_segment_softmax(net, lud_nn_linear(net, entries, "score", 8, linear), begin);
    const int of_segments =
        lud_nn_segment_reduce(net, lud_nn_multiply(net, share, entries), begin, LUD_REDUCE_SUM);
    const int largest = lud_nn_segment_reduce(net, entries, begin, LUD_REDUCE_MAX);
    const int both[] = {of_segments, largest};
    b->out = lud_nn_linear(net, lud_nn_concat(net, both, 2), "out", 2, linear);
    lud_nn_output(net, b->out);
    plan(b, LUD_NN_TRAIN);
    write_numbers(net, x, ROWS, 6);
    write_numbers(net, d, EDGES, 7);
    int32_t places[ROWS], kinds[ROWS];
    for (int i = 0; i < ROWS; i++) places[i] = i < 5 ? i : i - 5, kinds[i] = i % 5 - 1;
    lud_nn_write_i32(net, position, ROWS, places);
    lud_nn_write_i32(net, kind, ROWS, kinds);
    lud_nn_write_i32(net, node_of, ENTRIES, (const int32_t[]){0, 3, 3, 11, -1, 7, 8, 2, 0});
    lud_nn_set_rows(net, segment_axis, SEGMENTS);
    /* an input with an extra row is written as it lies */
    lud_device_upload(b->parameters->device, lud_nn_value(net, begin), (const int32_t[]){0, 2, 2, 6, 9},
                      (SEGMENTS + 1) * sizeof(int32_t));
    lud_nn_set_rows(net, edge_axis, EDGES);
    lud_nn_set_rows(net, entry_axis, ENTRIES);
    b->out_rows = SEGMENTS;
}

static void (*const declarations[])(bench *) = {declare_grids, declare_sequences, declare_graph};
enum { N_NETWORKS = sizeof declarations / sizeof *declarations };

static void open_bench(bench *b, int network, lud_device *device) {
    *b = (bench){.parameters = lud_parameters_create(device, false)};
    assert_non_null(b->parameters);
    b->net = lud_nn_create(b->parameters, ROWS);
    assert_non_null(b->net);
    declarations[network](b);
}

static void close_bench(bench *b) {
    lud_device *device = b->parameters->device;
    lud_nn_destroy(b->net);
    lud_parameters_destroy(b->parameters);
    for (int i = 0; i < b->n_arrays; i++) lud_device_release(device, b->arrays[i]);
    lud_device_synchronise(device);
    if (lud_device_failure(device)) fail_msg("%s", lud_device_failure(device));
}

/* Gradients of the outputs, forward, backward: what a recorded update consists of. */
static void update(void *context) {
    bench *b = context;
    lud_device *device = b->parameters->device;
    lud_parameters_zero_gradients(b->parameters);
    lud_nn_forward(b->net, ROWS, true);
    const int64_t n = b->out_rows * lud_nn_width(b->net, b->out);
    device->ops->combine(device, n, 0.5, lud_nn_value(b->net, b->out), 0, NULL,
                         lud_nn_gradient(b->net, b->out));
    lud_nn_backward(b->net);
}

/* Outputs, then gradients of the parameters. */
static float *results(const bench *b, int64_t *n) {
    const int64_t outputs = b->out_rows * lud_nn_width(b->net, b->out);
    *n = outputs + b->parameters->size;
    float *all = malloc((size_t)*n * sizeof *all);
    assert_non_null(all);
    lud_device *device = b->parameters->device;
    lud_device_download(device, all, lud_nn_value(b->net, b->out), (size_t)outputs * sizeof *all);
    lud_device_download(device, all + outputs, b->parameters->gradients,
                        (size_t)b->parameters->size * sizeof *all);
    if (lud_device_failure(device)) fail_msg("%s", lud_device_failure(device));
    return all;
}

static double distance(const float *a, const float *b, int64_t n) {
    double largest = 1e-3, difference = 0;
    for (int64_t i = 0; i < n; i++) {
        if (fabsf(b[i]) >= 1e30F && fabsf(a[i]) >= 1e30F) continue; /* masked on both */
        largest = fmax(largest, fabs((double)b[i]));
        const double d = fabs((double)a[i] - (double)b[i]);
        if (!(d <= difference)) difference = d; /* NaN counts */
    }
    return difference / largest;
}

static void networks_agree(void **state) {
    (void)state;
    if (!cuda) skip();
    for (int k = 0; k < N_NETWORKS; k++) {
        bench a, b;
        int64_t n;
        open_bench(&a, k, cuda);
        open_bench(&b, k, cpu);
        for (uint32_t step = 1; step < 4; step++) {
            lud_nn_set_step(a.net, 5, step);
            lud_nn_set_step(b.net, 5, step);
            update(&a);
            update(&b);
            float *x = results(&a, &n), *y = results(&b, &n);
            if (!(distance(x, y, n) < 2e-5)) fail_msg("network %d, step %u: %g", k, step, distance(x, y, n));
            free(x);
            free(y);
        }
        close_bench(&a);
        close_bench(&b);
    }
}

/* A recorded update gives the bytes of a plain one at every step, also after a run with other rows and after
 * the workspace has moved. */
static void recorded_updates(void **state) {
    (void)state;
    if (!cuda) skip();
    for (int k = 0; k < N_NETWORKS; k++) {
        bench a, b;
        int64_t n;
        lud_capture replay;
        open_bench(&a, k, cuda);
        open_bench(&b, k, cuda);
        lud_capture_start(&replay, cuda, update, &a);
        static const struct {
            uint64_t key;
            unsigned recorded, replayed; /* so far */
        } expected[] = {{1, 0, 0}, {1, 1, 1}, {1, 1, 2}, {1, 1, 3}, {2, 1, 3},
                        {2, 2, 4}, {1, 2, 5}, {1, 3, 6}, {1, 3, 7}};
        for (uint32_t step = 1; step <= sizeof expected / sizeof *expected; step++) {
            lud_nn_set_step(a.net, 5, step);
            lud_nn_set_step(b.net, 5, step);
            if (step == 8) assert_true(lud_device_reserve(cuda, 2 * cuda->workspace_bytes));
            lud_capture_run(&replay, expected[step - 1].key);
            assert_int_equal(replay.n_recorded, expected[step - 1].recorded);
            assert_int_equal(replay.n_replayed, expected[step - 1].replayed);
            update(&b);
            float *x = results(&a, &n), *y = results(&b, &n);
            assert_memory_equal(x, y, (size_t)n * sizeof *x);
            free(x);
            free(y);
        }
        lud_capture_end(&replay);
        close_bench(&a);
        close_bench(&b);
    }
}

static void reduced_precision(void **state) {
    (void)state;
    if (!cuda) skip();
    static const lud_precision precisions[] = {LUD_PRECISION_TF32, LUD_PRECISION_BF16};
    static const double bounds[] = {1e-2, 8e-2};
    for (int k = 0; k < N_NETWORKS; k++)
        for (int p = 0; p < 2; p++) {
            bench a, b;
            int64_t n;
            open_bench(&a, k, cuda);
            open_bench(&b, k, cpu);
            lud_nn_set_step(a.net, 5, 1);
            lud_nn_set_step(b.net, 5, 1);
            lud_device_set_precision(cuda, precisions[p]);
            update(&a);
            lud_device_set_precision(cuda, LUD_PRECISION_F32);
            update(&b);
            float *x = results(&a, &n), *y = results(&b, &n);
            if (!(distance(x, y, n) < bounds[p])) fail_msg("network %d: %g", k, distance(x, y, n));
            assert_true(distance(x, y, n) > 1e-6);
            free(x);
            free(y);
            close_bench(&a);
            close_bench(&b);
        }
}

/* ---- optimisers: the same gradients on both devices ---- */

/* `packed`: the rates go with an upload. */
static void step_both(lud_optimiser *const optimisers[2], lud_parameters *const parameters[2], uint32_t step,
                      bool packed) {
    const int64_t n = parameters[0]->size;
    float *gradients = malloc((size_t)n * sizeof *gradients);
    assert_non_null(gradients);
    for (int64_t i = 0; i < n; i++) gradients[i] = (float)number(100 + step, (uint32_t)i);
    for (int d = 0; d < 2; d++) {
        lud_device_upload(parameters[d]->device, parameters[d]->gradients, gradients,
                          (size_t)n * sizeof *gradients);
        if (!packed) {
            lud_optimiser_step(optimisers[d], 0, 0.01);
            continue;
        }
        lud_upload_batch upload;
        lud_upload_batch_start(&upload, parameters[d]->device);
        lud_optimiser_pack(optimisers[d], 0, 0.01, &upload);
        assert_true(lud_upload_batch_send(&upload));
        lud_optimiser_apply(optimisers[d], 0);
        lud_upload_batch_end(&upload);
    }
    free(gradients);
}

static void optimisers_agree(void **state) {
    (void)state;
    if (!cuda) skip();
    for (int kind = 0; kind < LUD_OPTIMISER_KINDS; kind++)
        for (int variant = 0; variant < 3; variant++) { /* plain, clipped, by a limit that moves */
            lud_optimiser_options o = lud_optimiser_defaults((lud_optimiser_kind)kind);
            if (o.rank > 2) o.rank = 2;
            o.weight_decay = variant ? 0.1 : 0;
            o.max_norm = variant ? 0.5 : 0;
            o.momentum = variant ? 0.9 : 0;
            o.tensor_scaling ^= variant > 0;
            o.scale_front = variant > 0;
            o.projection_gap = 3;
            lud_device *const devices[2] = {cuda, cpu};
            lud_parameters *parameters[2];
            lud_optimiser *optimisers[2];
            for (int d = 0; d < 2; d++) {
                lud_error error = {0};
                parameters[d] = lud_parameters_create(devices[d], false);
                assert_non_null(parameters[d]);
                const lud_init init = {.kind = LUD_INIT_FAN_IN};
                lud_parameters_add(parameters[d], "wide.weight", 2, (const int64_t[]){9, 31}, init);
                lud_parameters_add(parameters[d], "tall.weight", 2, (const int64_t[]){31, 9}, init);
                lud_parameters_add(parameters[d], "bias", 1, (const int64_t[]){31}, init);
                lud_parameters_set_low_rank(parameters[d], "wide", true);
                lud_parameters_set_low_rank(parameters[d], "tall", true);
                if (lud_parameters_build(parameters[d], 3, &error)) fail_msg("%s", error.text);
                optimisers[d] = lud_optimiser_create(parameters[d]);
                assert_int_equal(lud_optimiser_group(optimisers[d], "", &o, true), 0);
                if (lud_optimiser_build(optimisers[d], 4, &error)) fail_msg("%s", error.text);
            }
            for (uint32_t step = 0; step < 10; step++) {
                for (int d = 0; d < 2 && variant == 2; d++)
                    lud_optimiser_set_max_norm(optimisers[d], 0, 3.0 - 0.25 * step);
                step_both(optimisers, parameters, step, variant == 2);
            }
            for (int p = 0; p < parameters[0]->n; p++) {
                double a[300], b[300];
                assert_in_range(parameters[0]->items[p].n, 1, 300);
                lud_parameters_read(parameters[0], p, a);
                lud_parameters_read(parameters[1], p, b);
                for (int64_t i = 0; i < parameters[0]->items[p].n; i++)
                    if (!(fabs(a[i] - b[i]) < 1e-5))
                        fail_msg("%s, variant %d, %s[%ld]: %.9g, on the CPU %.9g", lud_optimiser_names[kind],
                                 variant, parameters[0]->items[p].name, (long)i, a[i], b[i]);
            }
            assert_true(fabs(lud_optimiser_norm(optimisers[0], 0) - lud_optimiser_norm(optimisers[1], 0)) <
                        1e-4);
            for (int d = 0; d < 2; d++) {
                lud_optimiser_destroy(optimisers[d]);
                lud_parameters_destroy(parameters[d]);
            }
            if (lud_device_failure(cuda)) fail_msg("%s", lud_device_failure(cuda));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks_agree), cmocka_unit_test(recorded_updates),
                                       cmocka_unit_test(reduced_precision),
                                       cmocka_unit_test(optimisers_agree)};
    return cmocka_run_group_tests(tests, open_devices, close_devices);
}
