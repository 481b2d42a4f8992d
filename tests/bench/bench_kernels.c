/* Speed of the operations, one row each, with the floor beside it: for what moves memory the rate of a plain
 * copy of as many bytes or, where that is lower, the rate at which the processor could do the operation's
 * arithmetic; for what computes the rate of bare library products (of the same shapes for linear layers). */
#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/device.h"
#include "tests/bench/bench.h"

/* Arrays of BIG floats: well beyond the second-level cache. */
enum {
    BIG = 1 << 22,
    ROWS = 1 << 14,
    WIDTH = BIG / ROWS,
    N_ARRAYS = 6,
    GRIDS = 1024,
    SIDE = 7,
    FILTERS = 64,
    GRAPHS = 128,
    GRAPH_NODES = 9,
    NODES = GRAPHS * GRAPH_NODES,
    EDGES = NODES * (GRAPH_NODES - 1)
};

typedef struct rig {
    lud_device *device;
    float *x[N_ARRAYS];
    int32_t *index, *offsets, *code;
    int64_t m, n, k; /* of a product */
    lud_edges edges; /* complete graphs of GRAPH_NODES nodes */
    int32_t *graph;  /* its arrays, behind each other */
    lud_conv conv;
} rig;

static const lud_map plain = {LUD_MAP_IDENTITY, 0, 0}, relu = {LUD_MAP_RELU, 0, 0};

#define WORK(name)                                                                                           \
    static void name(void *context) {                                                                        \
        rig *r = context;                                                                                    \
        lud_device *d = r->device;                                                                           \
        const lud_ops *ops = d->ops;                                                                         \
        float **x = r->x;                                                                                    \
        (void)ops, (void)x, (void)d;
#define END }

WORK(copy) ops->copy_block(d, ROWS, WIDTH, x[0], WIDTH, x[1], WIDTH, false);
END WORK(map_relu) ops->map(d, relu, BIG, x[0], x[1]);
END WORK(map_gelu) ops->map(d, (lud_map){LUD_MAP_GELU, 0, 0}, BIG, x[0], x[1]);
END WORK(map_silu) ops->map(d, (lud_map){LUD_MAP_SILU, 0, 0}, BIG, x[0], x[1]);
END WORK(map_tanh) ops->map(d, (lud_map){LUD_MAP_TANH, 0, 0}, BIG, x[0], x[1]);
END WORK(map_softplus) ops->map(d, (lud_map){LUD_MAP_SOFTPLUS, 0, 0}, BIG, x[0], x[1]);
END WORK(map_backward) ops->map_backward(d, relu, BIG, 0, x[0], x[1], x[2], false);
END WORK(combine) ops->combine(d, BIG, 0.9, x[0], 0.1, x[1], x[1]);
END WORK(transpose) ops->transpose(d, 64, ROWS / 64, WIDTH, x[0], x[1]);
END WORK(dropout) ops->dropout(d, BIG, 0.5, 1, 2, 3, 0, x[0], x[1]);
END WORK(random_normal) ops->random_normal(d, BIG, 1, 2, 3, 1, x[1]);
END WORK(sum_squares) ops->sum_squares(d, BIG, x[0], x[1], false);
END WORK(column_sum) ops->column_sum(d, ROWS, WIDTH, x[0], x[1], false);
END WORK(gather_rows) ops->gather_rows(d, ROWS, WIDTH, x[0], r->index, x[1]);
END WORK(scatter_add) ops->scatter_add(d, ROWS, WIDTH, ROWS, x[0], 0, r->index, x[1]);
END WORK(segment_sum) ops->segment_reduce(d, LUD_REDUCE_SUM, ROWS / 4, WIDTH, r->offsets, 0, x[0], x[1], 0);
END WORK(segment_softmax) ops->segment_softmax(d, ROWS / 4, WIDTH, r->offsets, x[0], x[1]);
END WORK(layer_norm) ops->layer_norm(d, ROWS, WIDTH, 1e-5, x[0], x[4], x[4], x[1], x[5], x[5] + ROWS);
END WORK(layer_norm_backward) ops->layer_norm_backward(d, ROWS, WIDTH, x[0], x[4], x[5], x[5] + ROWS, x[1],
                                                       x[2], false, x[4] + 512, x[4] + 1024);
END WORK(softmax) ops->softmax(d, ROWS, WIDTH, 1, x[0], 0, x[1]);
END WORK(log_softmax) ops->log_softmax(d, ROWS, WIDTH, 1, x[0], 0, x[1]);
END WORK(categorical_sample)
lud_draws draws = {.seed = 1, .n_agents = 4, .purpose = LUD_PURPOSE_ACTION};
ops->categorical_sample(d, BIG / 16, 16, x[0], 0, &draws, 0, (int32_t *)(void *)x[1], x[2]);
END WORK(gae) ops->gae(d, 128, ROWS, 0.99, 0.95, x[0], x[1], x[2], 0, x[3], x[4]);
END WORK(gather_windows) ops->gather_windows(d, ROWS, WIDTH / 8, 8, x[0], 0, LUD_PAD_ZERO, 0, x[1], 0);
END WORK(lru) ops->lru(d, 64, BIG / 2 / 64 / 64, 64, x[4], x[4], x[4], x[0], 0, 0, x[1]);
END WORK(adam_step) static const lud_adam adam = {0.9, 0.999, 1e-8, 0, false};
static const float schedule[3] = {1e-3f, 1, 0};
ops->adam_step(d, BIG, &adam, schedule, 0, x[0], x[1], x[2], x[3]);
END WORK(attention) static const int32_t starts[9] = {0, 128, 256, 384, 512, 640, 768, 896, 1024};
static const int32_t lengths[8] = {128, 128, 128, 128, 128, 128, 128, 128};
lud_attention s = {.n_rows = 8,
                   .n_tokens = 1024,
                   .heads = 4,
                   .kv_heads = 4,
                   .head_dim = 32,
                   .max_keys = 128,
                   .scale = 0.17,
                   .causal = true,
                   .query_offsets = starts,
                   .key_offsets = starts,
                   .key_lengths = lengths};
ops->attention(d, &s, x[0], x[1], x[2], x[3], 0);
END

    WORK(graph) ops->graph_attention(d, &r->edges, 3, 16, 1, x[0], x[1], x[2], x[3], x[4], x[5],
                                     x[5] + BIG / 2);
END WORK(graph_backward) ops->graph_attention_backward(d, &r->edges, 3, 16, 1, x[0], x[1], x[2], x[3], x[4],
                                                       x[5], x[5] + BIG / 2, x[3] + BIG / 4, x[3] + BIG / 2,
                                                       x[3] + BIG / 4 * 3, x[4] + 64, false);
END

    WORK(bare_product) omp_set_num_threads(d->n_threads);
dnnl_sgemm('N', 'T', r->m, r->n, r->k, 1, x[0], r->k, x[1], r->k, 0, x[2], r->n);
END WORK(bare_backward) omp_set_num_threads(d->n_threads);
dnnl_sgemm('N', 'N', r->m, r->k, r->n, 1, x[2], r->n, x[1], r->k, 0, x[3], r->k);
dnnl_sgemm('T', 'N', r->n, r->k, r->m, 1, x[2], r->n, x[0], r->k, 1, x[5], r->k);
END WORK(linear) ops->linear(d, plain, r->m, r->k, r->n, x[0], x[1], 0, 0, x[2]);
END WORK(linear_relu) ops->linear(d, relu, r->m, r->k, r->n, x[0], x[1], x[4], 0, x[2]);
END WORK(linear_backward) ops->linear_backward(d, plain, r->m, r->k, r->n, x[0], x[1], 0, x[2], x[2], 0, x[3],
                                               false, x[5], x[4]);
END WORK(gru) ops->gru(d, 8, 512, 64, x[0], x[1], x[4], 0, 0, x[2], x[3]);
END

    WORK(grid_sparse) ops->grid_conv(d, relu, LUD_GRID_FULL, &r->conv, r->code, x[4], x[5], 0, x[1]);
END WORK(grid_dense) ops->grid_decode(d, LUD_GRID_FULL, GRIDS, SIDE *SIDE, r->code, x[0]);
ops->conv2d(d, relu, &r->conv, x[0], x[4], x[5], 0, x[1]);
END WORK(grid_sparse_backward) ops->grid_conv_backward(d, plain, LUD_GRID_FULL, &r->conv, r->code, 0, x[1],
                                                       x[1], 0, x[4], x[5]);
END WORK(grid_dense_backward) ops->grid_decode(d, LUD_GRID_FULL, GRIDS, SIDE *SIDE, r->code, x[0]);
ops->conv2d_backward(d, plain, &r->conv, x[0], x[4], 0, x[1], x[1], 0, 0, false, x[4], x[5]);
END

    /* Name, work, floats moved a call (read and written, of what cannot stay in a cache), and vector
     * instructions an element beside loads and stores where these bound it: e^x 27, ln 30, a division or root
     * 8, a Philox word 70, a step of a polynomial 2. */
    static const struct {
    const char *name;
    void (*work)(void *);
    double floats, steps;
} moving[] = {{"map relu", map_relu, 2.0 * BIG, 0},
              {"map gelu", map_gelu, 2.0 * BIG, 105},
              {"map silu", map_silu, 2.0 * BIG, 45},
              {"map tanh", map_tanh, 2.0 * BIG, 65},
              {"map softplus", map_softplus, 2.0 * BIG, 100},
              {"map_backward relu", map_backward, 3.0 * BIG, 0},
              {"combine (Polyak copy)", combine, 3.0 * BIG, 0},
              {"transpose", transpose, 2.0 * BIG, 0},
              {"dropout", dropout, 2.0 * BIG, 75},
              {"random_normal", random_normal, 1.0 * BIG, 180},
              {"sum_squares", sum_squares, 1.0 * BIG, 0},
              {"column_sum", column_sum, 1.0 * BIG, 0},
              {"gather_rows", gather_rows, 2.0 * BIG, 0},
              {"scatter_add", scatter_add, 3.0 * BIG, 0},
              {"segment_reduce sum", segment_sum, 1.25 * BIG, 0},
              {"segment_softmax", segment_softmax, 2.0 * BIG, 34},
              {"layer_norm", layer_norm, 2.0 * BIG, 0},
              {"layer_norm_backward", layer_norm_backward, 3.0 * BIG, 0},
              {"softmax", softmax, 2.0 * BIG, 34},
              {"log_softmax", log_softmax, 2.0 * BIG, 36},
              {"categorical_sample of 16", categorical_sample, 1.125 * BIG, 60},
              {"gae", gae, 5.0 * 128 * ROWS, 0},
              {"gather_windows", gather_windows, 1.125 * BIG, 0},
              {"lru 64 steps", lru, 2.0 * BIG, 0},
              {"adam_step", adam_step, 7.0 * BIG, 0}};

static const struct {
    int64_t m, n, k;
} shapes[] = {{1, 64, 64},      {32, 64, 64},   {32, 64, 6},     {1024, 64, 64},
              {1024, 256, 256}, {4096, 64, 64}, {1024, 512, 512}};

static lud_status add(lud_bench_report *report, const char *name, double value, double spread,
                      const char *unit, double floor, lud_error *error) {
    return lud_bench_add(report, (lud_bench_row){name, value, spread, unit, floor}, error);
}

static lud_status measure(rig *r, lud_bench_report *report, lud_error *error) {
    char name[96];
    double spread, floor = lud_bench_rate(copy, r, 8e-9 * BIG, &spread);
    lud_status status = add(report, "copy", floor, spread, "GB/s", 0, error);
    /* a fused multiply-add of a product is one instruction and two operations */
    r->m = r->n = r->k = 512;
    double peak = lud_bench_rate(bare_product, r, 2e-9 * 512 * 512 * 512, &spread);
    if (status == LUD_OK) status = add(report, "product 512 x 512 x 512", peak, spread, "GFLOP/s", 0, error);
    for (size_t i = 0; i < sizeof moving / sizeof *moving && status == LUD_OK; ++i) {
        double rate = lud_bench_rate(moving[i].work, r, 4e-9 * moving[i].floats, &spread);
        double arithmetic =
            moving[i].steps > 0 ? 4 * moving[i].floats / BIG / moving[i].steps * peak / 2 : floor;
        /* what an operation has to compute stands beside its name: then the bound may be arithmetic */
        if (moving[i].steps > 0)
            snprintf(name, sizeof name, "%s, %g steps a number", moving[i].name, moving[i].steps);
        else
            snprintf(name, sizeof name, "%s", moving[i].name);
        status = add(report, name, rate, spread, "GB/s", arithmetic < floor ? arithmetic : floor, error);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && status == LUD_OK; ++i) {
        r->m = shapes[i].m, r->n = shapes[i].n, r->k = shapes[i].k;
        double flops = 2e-9 * (double)(r->m * r->n * r->k);
        double bare = lud_bench_rate(bare_product, r, flops, &spread);
        if (bare > peak) peak = bare;
        double rate = lud_bench_rate(linear, r, flops, &spread);
        snprintf(name, sizeof name, "linear %ld x %ld -> %ld", (long)r->m, (long)r->k, (long)r->n);
        status = add(report, name, rate, spread, "GFLOP/s", bare, error);
        rate = lud_bench_rate(linear_relu, r, flops, &spread);
        snprintf(name, sizeof name, "linear bias relu %ld x %ld -> %ld", (long)r->m, (long)r->k, (long)r->n);
        if (status == LUD_OK) status = add(report, name, rate, spread, "GFLOP/s", bare, error);
        bare = lud_bench_rate(bare_backward, r, 2 * flops, &spread);
        rate = lud_bench_rate(linear_backward, r, 2 * flops, &spread);
        snprintf(name, sizeof name, "linear_backward %ld x %ld -> %ld", (long)r->m, (long)r->k, (long)r->n);
        if (status == LUD_OK) status = add(report, name, rate, spread, "GFLOP/s", bare, error);
    }
    if (status != LUD_OK) return status;
    double rate = lud_bench_rate(gru, r, 8 * 2e-9 * 512 * 192 * 64, &spread);
    status = add(report, "gru 8 x 512 x 64", rate, spread, "GFLOP/s", peak, error);
    rate = lud_bench_rate(attention, r, 4e-9 * 8 * 4 * 32 * 128 * 64.5, &spread);
    if (status == LUD_OK)
        status = add(report, "attention 8 x 128 tokens, 4 x 32", rate, spread, "GFLOP/s", peak, error);
    /* four multiplications forward an edge and channel, and twice as many backward: scores, values */
    rate = lud_bench_rate(graph, r, 4e-9 * EDGES * 48, &spread);
    snprintf(name, sizeof name, "graph_attention %d x %d nodes, 3 x 16", GRAPHS, GRAPH_NODES);
    if (status == LUD_OK) status = add(report, name, rate, spread, "GFLOP/s", peak, error);
    rate = lud_bench_rate(graph_backward, r, 8e-9 * EDGES * 48, &spread);
    snprintf(name, sizeof name, "graph_attention_backward %d x %d nodes", GRAPHS, GRAPH_NODES);
    if (status == LUD_OK) status = add(report, name, rate, spread, "GFLOP/s", peak, error);
    /* the floor of the sparse convolution is what was asked for: five times the dense way */
    for (int64_t filters = 32; filters <= FILTERS && status == LUD_OK; filters *= 2) {
        r->conv = (lud_conv){GRIDS, LUD_GRID_CHANNELS, SIDE, SIDE, filters, 3, 1, 1};
        double dense = lud_bench_rate(grid_dense, r, GRIDS, &spread);
        snprintf(name, sizeof name, "grid_decode + conv2d, %ld filters", (long)filters);
        status = add(report, name, dense, spread, "grids/s", 0, error);
        rate = lud_bench_rate(grid_sparse, r, GRIDS, &spread);
        snprintf(name, sizeof name, "grid_conv, %ld filters", (long)filters);
        if (status == LUD_OK) status = add(report, name, rate, spread, "grids/s", 5 * dense, error);
        dense = lud_bench_rate(grid_dense_backward, r, GRIDS, &spread);
        snprintf(name, sizeof name, "grid_decode + conv2d_backward, %ld filters", (long)filters);
        if (status == LUD_OK) status = add(report, name, dense, spread, "grids/s", 0, error);
        rate = lud_bench_rate(grid_sparse_backward, r, GRIDS, &spread);
        snprintf(name, sizeof name, "grid_conv_backward, %ld filters", (long)filters);
        if (status == LUD_OK) status = add(report, name, rate, spread, "grids/s", 5 * dense, error);
    }
    return status;
}

/* A room: walls around, a few things and two agents inside. */
static void fill_grids(int32_t *code) {
    for (int64_t i = 0; i < GRIDS * SIDE * SIDE; ++i) {
        int64_t x = i % SIDE, y = i / SIDE % SIDE, at = i % (SIDE * SIDE), grid = i / (SIDE * SIDE);
        lud_words words = lud_draw((lud_random_key){7, 0}, 0, (uint32_t)i, LUD_PURPOSE_USER, 0);
        bool wall = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1;
        lud_grid_cell cell = {wall ? LUD_CHANNEL_WALL : LUD_CODE_NOTHING, 0, 0, LUD_CODE_NO_AGENT, 0, 0};
        if (!wall && words.v[0] % 8 == 0) cell.type = LUD_CHANNEL_BALL + (int)(words.v[1] % 8);
        if (!wall && words.v[0] % 8 == 1)
            cell.type = LUD_CODE_DOOR, cell.door = 2, cell.colour = (int)(words.v[1] % 7);
        if (at == 8 + grid % 5 || at == 22 + grid % 5) cell.agent = (int)(grid % 7);
        code[i] = lud_grid_code_make(cell);
    }
}

static void fill_graphs(rig *r) {
    int32_t *offsets = r->graph, *by_source = offsets + NODES + 1, *source = by_source + NODES + 1;
    int32_t *target = source + EDGES, *edges = target + EDGES, n = 0;
    for (int32_t i = 0; i < NODES; ++i) {
        for (int32_t j = i / GRAPH_NODES * GRAPH_NODES; j < (i / GRAPH_NODES + 1) * GRAPH_NODES; ++j)
            if (j != i) source[n++] = j;
        offsets[i + 1] = n;
    }
    lud_edges_by_source(NODES, EDGES, offsets, source, target, by_source, edges);
    r->edges = (lud_edges){NODES, EDGES, offsets, source, target, by_source, edges};
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    rig r = {0};
    lud_status status = lud_device_open("cpu", 0, &r.device, error);
    if (status != LUD_OK) return status;
    bool ok = true;
    for (int i = 0; i < N_ARRAYS; ++i) {
        r.x[i] = lud_device_allocate(r.device, BIG * sizeof(float));
        ok = ok && r.x[i];
        if (r.x[i]) r.device->ops->random_uniform(r.device, BIG, 3, (uint32_t)i, 0, 0.01, 0.02, r.x[i]);
    }
    r.index = lud_device_allocate(r.device, ROWS * sizeof(int32_t));
    r.offsets = lud_device_allocate(r.device, (ROWS / 4 + 1) * sizeof(int32_t));
    r.code = lud_device_allocate(r.device, GRIDS * SIDE * SIDE * sizeof(int32_t));
    r.graph = lud_device_allocate(r.device, (2 * (NODES + 1) + 3 * EDGES) * sizeof(int32_t));
    ok = ok && r.index && r.offsets && r.code && r.graph;
    if (ok) {
        fill_graphs(&r);
        for (int32_t i = 0; i < ROWS; ++i) r.index[i] = (int32_t)((uint32_t)i * 7919u % ROWS);
        for (int32_t i = 0; i <= ROWS / 4; ++i) r.offsets[i] = 4 * i;
        fill_grids(r.code);
        status = measure(&r, report, error);
    } else {
        status = lud_fail(error, LUD_ERROR_MEMORY, "no memory for the arrays of the benchmark");
    }
    for (int i = 0; i < N_ARRAYS; ++i) lud_device_release(r.device, r.x[i]);
    lud_device_release(r.device, r.index);
    lud_device_release(r.device, r.offsets);
    lud_device_release(r.device, r.code);
    lud_device_release(r.device, r.graph);
    lud_device_close(r.device);
    return status;
}

const lud_bench lud_bench_kernels = {
    .name = "kernels", .about = "every operation beside what the machine could do", .run = run};
