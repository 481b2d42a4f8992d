/* Speed of the operations, one row each, with the floor beside it, measured in turns with the operation. For
 * what moves memory: the rate of a plain loop over the same arrays that reads, changes and writes as many
 * bytes or, where that is lower, the rate at which the processor could do the operation's arithmetic; for
 * what computes: the rate of bare library products (of the same shapes for linear layers). On a GPU, with
 * --device cuda, the floors are the rates of a copy and of a large product. */
#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/products.h"
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
    int32_t nothing, found; /* 0, which the compiler does not know, and what a walk has read */
    int32_t *index, *offsets, *code;
    int64_t m, n, k; /* of a product */
    lud_edges edges; /* complete graphs of GRAPH_NODES nodes */
    int32_t *graph;  /* its arrays, behind each other */
    lud_conv conv;
    bool on_cuda;
    void (*work)(void *context); /* what is called again and again before the device is waited for */
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

/* ---- floors of what moves memory ---- */

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { QUAD = 4 }; /* numbers that every processor moves at once */
typedef int32_t quad __attribute__((vector_size(4 * QUAD), may_alias));

/* Steps first .. end - 1 of a walk through the arrays of the rig: first those that are only read, then those
 * that are changed in place, then those that are only written, so many quads of each a step. Numbers of the
 * first array go to what is written; what is changed stays as it is. Returns something of all that was read.
 */
static inline __attribute__((always_inline)) int32_t walk_piece(const rig *r, int64_t first, int64_t end,
                                                                int read, int read_quads, int change,
                                                                int write, int write_quads) {
    quad *x[N_ARRAYS], seen = {0}, number = seen + 0x3c000000; /* 1/128, where nothing is read */
    const int32_t nothing = r->nothing;
    for (int i = 0; i < N_ARRAYS; ++i) x[i] = (quad *)__builtin_assume_aligned(r->x[i], sizeof(quad));
    for (int64_t s = first; s < end; ++s) {
        if (read > 0) number = x[0][s * read_quads];
        UNROLL
        for (int i = 0; i < read; ++i) {
            UNROLL
            for (int l = 0; l < read_quads; ++l) seen |= x[i][s * read_quads + l];
        }
        UNROLL
        for (int i = read; i < read + change; ++i) x[i][s] |= nothing;
        UNROLL
        for (int i = read + change; i < read + change + write; ++i) {
            UNROLL
            for (int l = 0; l < write_quads; ++l) x[i][s * write_quads + l] = number;
        }
    }
    return seen[0] | seen[1] | seen[2] | seen[3];
}

static void walk(rig *r, int64_t steps, int32_t (*piece)(const rig *r, int64_t first, int64_t end)) {
    enum { PIECE = 1024 };
    int32_t found = 0;
#pragma omp parallel for schedule(static) num_threads(r->device->n_threads) reduction(| : found)
    for (int64_t first = 0; first < steps; first += PIECE)
        found |= piece(r, first, first + PIECE < steps ? first + PIECE : steps);
    r->found = found;
}

/* What an operation moves, of what cannot stay in a cache, and the walk that does no more. */
typedef struct moved {
    void (*walk)(void *context);
    double floats;
} moved;

#define MOVED(name, steps, read, read_quads, change, write, write_quads)                                     \
    static int32_t name##_piece(const rig *r, int64_t first, int64_t end) {                                  \
        return walk_piece(r, first, end, read, read_quads, change, write, write_quads);                      \
    }                                                                                                        \
    static void name##_walk(void *context) {                                                                 \
        walk(context, steps, name##_piece);                                                                  \
    }                                                                                                        \
    static const moved name = {name##_walk,                                                                  \
                               1.0 * QUAD * (steps) *                                                        \
                                   ((read) * (read_quads) + 2 * (change) + (write) * (write_quads))};

MOVED(copied, BIG / QUAD, 1, 1, 0, 1, 1)
MOVED(read_only, BIG / QUAD, 1, 1, 0, 0, 0)
MOVED(written_only, BIG / QUAD, 0, 0, 0, 1, 1)
MOVED(two_to_one, BIG / QUAD, 2, 1, 0, 1, 1)
MOVED(into_another, BIG / QUAD, 1, 1, 1, 0, 0)
MOVED(fours, BIG / QUAD / 4, 1, 4, 0, 1, 1)
MOVED(sixteens, BIG / QUAD / 16, 1, 16, 0, 2, 1)
MOVED(eightfold, BIG / QUAD / 8, 1, 1, 0, 1, 8)
MOVED(of_gae, 128 * ROWS / QUAD, 3, 1, 0, 2, 1)
MOVED(of_adam, BIG / QUAD, 1, 1, 3, 0, 0)

/* ---- operations ---- */

WORK(copy) ops->copy_block(d, ROWS, WIDTH, x[0], WIDTH, x[1], WIDTH, false);
END WORK(map_relu) ops->map(d, relu, BIG, x[0], x[1]);
END WORK(map_gelu) ops->map(d, (lud_map){LUD_MAP_GELU, 0, 0}, BIG, x[0], x[1]);
END WORK(map_silu) ops->map(d, (lud_map){LUD_MAP_SILU, 0, 0}, BIG, x[0], x[1]);
END WORK(map_tanh) ops->map(d, (lud_map){LUD_MAP_TANH, 0, 0}, BIG, x[0], x[1]);
END WORK(map_softplus) ops->map(d, (lud_map){LUD_MAP_SOFTPLUS, 0, 0}, BIG, x[0], x[1]);
END WORK(map_backward) ops->map_backward(d, relu, BIG, 0, x[0], x[1], x[2], false);
END WORK(combine) ops->combine(d, BIG, 0.9, x[0], 0.1, x[1], x[1]);
END WORK(transpose) ops->transpose(d, 64, ROWS / 64, WIDTH, x[0], x[1]);
END WORK(dropout) ops->dropout(d, BIG, 0.5, 1, 2, 3, 0, 0, x[0], x[1]);
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
END WORK(rms_norm) ops->rms_norm(d, ROWS, WIDTH, 1e-5, x[0], x[4], x[1], x[5]);
END WORK(rms_norm_backward) ops->rms_norm_backward(d, ROWS, WIDTH, x[0], x[4], x[5], x[1], x[2], false,
                                                   x[4] + 512);
END WORK(pack_weights) ops->pack_weights(d, false, 2048, BIG / 2048, x[0], x[1]);
END WORK(linear_packed) ops->linear_packed(d, false, 1, BIG / 2048, 2048, x[4], x[0], x[1], false);
END WORK(linear_packed_half) ops->linear_packed(d, true, 1, BIG / 1024, 2048, x[4], x[0], x[1], false);
END WORK(quantise_rows) ops->quantise_rows(d, ROWS, WIDTH, 64, x[0], r->index, (int8_t *)(void *)x[1], x[5]);
END WORK(dequantise_rows) ops->dequantise_rows(d, ROWS, WIDTH, 64, (int8_t *)(void *)x[0], x[5], x[1]);
END WORK(softmax) ops->softmax(d, ROWS, WIDTH, 1, x[0], 0, x[1]);
END WORK(log_softmax) ops->log_softmax(d, ROWS, WIDTH, 1, x[0], 0, x[1]);
END WORK(categorical_sample)
lud_draws draws = {.seed = 1, .n_agents = 4, .purpose = LUD_PURPOSE_ACTION};
ops->categorical_sample(d, BIG / 16, 16, x[0], 0, &draws, 0, (int32_t *)(void *)x[1], x[2]);
END WORK(gae) ops->gae(d, 128, ROWS, 0.99, 0.95, x[0], x[1], x[2], 0, x[3], x[4]);
END WORK(gather_windows) const lud_windows windows = {
    .n = ROWS, .horizon = 8, .row_bytes = WIDTH / 8 * sizeof(float)};
ops->gather_windows(d, &windows, x[0], LUD_PAD_ZERO, 0, x[1], 0);
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
END WORK(rounded_linear) lud_device_set_precision(d, LUD_PRECISION_BF16);
linear(r);
lud_device_set_precision(d, LUD_PRECISION_F32);
END WORK(rounded_backward) lud_device_set_precision(d, LUD_PRECISION_BF16);
linear_backward(r);
lud_device_set_precision(d, LUD_PRECISION_F32);
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

    /* Name, work, what it moves, and vector instructions an element beside loads and stores where these may
     * bound it: e^x 27, ln 30, a division or root 8, a Philox word 39, a step of a polynomial 2, what is done
     * in double twice as many. */
    static const struct {
    const char *name;
    void (*work)(void *);
    const moved *moves;
    double steps;
} moving[] = {{"copy_block", copy, &copied, 0},
              {"map relu", map_relu, &copied, 0},
              {"map gelu", map_gelu, &copied, 105},
              {"map silu", map_silu, &copied, 45},
              {"map tanh", map_tanh, &copied, 65},
              {"map softplus", map_softplus, &copied, 100},
              {"map_backward relu", map_backward, &two_to_one, 0},
              {"combine (Polyak copy)", combine, &into_another, 0},
              {"transpose", transpose, &copied, 0},
              {"dropout", dropout, &copied, 44},
              {"random_normal", random_normal, &written_only, 149},
              {"sum_squares", sum_squares, &read_only, 6},
              {"column_sum", column_sum, &read_only, 0},
              {"gather_rows", gather_rows, &copied, 0},
              {"scatter_add", scatter_add, &into_another, 0},
              {"segment_reduce sum", segment_sum, &fours, 0},
              {"segment_softmax", segment_softmax, &copied, 34},
              {"layer_norm", layer_norm, &copied, 0},
              {"layer_norm_backward", layer_norm_backward, &two_to_one, 0},
              {"rms_norm", rms_norm, &copied, 0},
              {"rms_norm_backward", rms_norm_backward, &two_to_one, 0},
              {"pack_weights", pack_weights, &copied, 0},
              {"linear_packed of 1 row", linear_packed, &read_only, 0},
              {"linear_packed of 1 row, bfloat16", linear_packed_half, &read_only, 0},
              {"quantise_rows", quantise_rows, &read_only, 0},
              {"dequantise_rows", dequantise_rows, &written_only, 0},
              {"softmax", softmax, &copied, 34},
              {"log_softmax", log_softmax, &copied, 36},
              {"categorical_sample of 16", categorical_sample, &sixteens, 52},
              {"gae", gae, &of_gae, 0},
              {"gather_windows", gather_windows, &eightfold, 0},
              {"lru 64 steps", lru, &copied, 0},
              {"adam_step", adam_step, &of_adam, 0}};

static const struct {
    int64_t m, n, k;
} shapes[] = {{1, 64, 64},      {32, 64, 64},   {32, 64, 6},     {1024, 64, 64},
              {1024, 256, 256}, {4096, 64, 64}, {1024, 512, 512}};

static lud_status add(lud_bench_report *report, const char *name, const lud_bench_piece *piece,
                      const char *unit, double floor, lud_error *error) {
    return lud_bench_add(report, (lud_bench_row){name, piece->rate, piece->spread, unit, floor}, error);
}

/* A fused multiply-add of a product is one instruction on a register and two operations on each of its
 * numbers. */
enum { PEAK_SIDE = 512 };
static void peak_product(void *context) {
    rig *r = context;
    r->m = r->n = r->k = PEAK_SIDE;
    bare_product(r);
}
static const lud_bench_piece peak = {.work = peak_product, .items = 2e-9 * PEAK_SIDE * PEAK_SIDE * PEAK_SIDE};

/* ---- where arrays are memory of a GPU: calls are queued and waited for together ---- */

enum { QUEUED = 20, DEVICE_SIDE = 2048 };

static void queue_work(void *context) {
    rig *r = context;
    for (int i = 0; i < QUEUED; ++i) r->work(r);
    lud_device_synchronise(r->device);
}
static void device_copy(void *context) {
    rig *r = context;
    lud_device_copy(r->device, r->x[1], r->x[0], BIG * sizeof(float));
}
static void device_product(void *context) {
    rig *r = context;
    r->device->ops->matmul(r->device, false, true, DEVICE_SIDE, DEVICE_SIDE, DEVICE_SIDE, 1, r->x[0],
                           DEVICE_SIDE, r->x[1], DEVICE_SIDE, 0, r->x[2], DEVICE_SIDE);
}
static const lud_bench_piece device_copying = {.work = device_copy, .items = 8e-9 * BIG},
                             device_peak = {.work = device_product,
                                            .items = 2e-9 * DEVICE_SIDE * DEVICE_SIDE * DEVICE_SIDE};

/* Rates of pieces, in turns; on a GPU one after the other. */
static void measure_rates(rig *r, int n, lud_bench_piece *pieces) {
    if (!r->on_cuda) {
        lud_bench_rates(n, pieces, r);
        return;
    }
    for (int i = 0; i < n; ++i) {
        r->work = pieces[i].work;
        pieces[i].rate = lud_bench_rate(queue_work, r, QUEUED * pieces[i].items, &pieces[i].spread);
    }
}

static lud_status measure_moving(rig *r, lud_bench_report *report, lud_error *error) {
    char name[96];
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof moving / sizeof *moving && status == LUD_OK; ++i) {
        const double steps = moving[i].steps, bytes = 4e-9 * moving[i].moves->floats;
        /* what an operation has to compute stands beside its name: then the bound may be arithmetic */
        if (steps > 0)
            snprintf(name, sizeof name, "%s, %g steps a number", moving[i].name, steps);
        else
            snprintf(name, sizeof name, "%s", moving[i].name);
        if (!lud_bench_wants(report, name)) continue;
        lud_bench_piece pieces[] = {
            {.work = moving[i].work, .items = bytes}, {.work = moving[i].moves->walk, .items = bytes}, peak};
        if (r->on_cuda) pieces[1] = device_copying;
        measure_rates(r, steps > 0 && !r->on_cuda ? 3 : 2, pieces);
        const double memory = pieces[1].rate;
        const double arithmetic =
            steps > 0 && !r->on_cuda ? bytes * 1e9 / BIG / steps * pieces[2].rate / 2 : memory;
        status = add(report, name, &pieces[0], "GB/s", arithmetic < memory ? arithmetic : memory, error);
    }
    return status;
}

/* Layers beside the bare products of the same shapes, and in bfloat16 beside themselves in float32. */
static lud_status measure_linear(rig *r, lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *name;
        void (*work)(void *), (*beside)(void *);
        bool backward;
    } layers[] = {{"linear", linear, bare_product, false},
                  {"linear bias relu", linear_relu, bare_product, false},
                  {"linear_backward", linear_backward, bare_backward, true},
                  {"bfloat16 linear", rounded_linear, linear, false},
                  {"bfloat16 linear_backward", rounded_backward, linear_backward, true}};
    char name[96];
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (size_t l = 0; l < sizeof layers / sizeof *layers && status == LUD_OK; ++l) {
            r->m = shapes[i].m, r->n = shapes[i].n, r->k = shapes[i].k;
            const bool rounded = layers[l].beside == linear || layers[l].beside == linear_backward;
            if (rounded && r->n * r->k < LUD_CPU_FEW_WEIGHTS) continue; /* stays float32 */
            snprintf(name, sizeof name, "%s %ld x %ld -> %ld", layers[l].name, (long)r->m, (long)r->k,
                     (long)r->n);
            if (!lud_bench_wants(report, name)) continue;
            const double flops = 2e-9 * (double)(r->m * r->n * r->k) * (layers[l].backward ? 2 : 1);
            lud_bench_piece pieces[] = {{.work = layers[l].work, .items = flops},
                                        {.work = layers[l].beside, .items = flops}};
            if (r->on_cuda) pieces[1] = device_peak;
            measure_rates(r, r->on_cuda && rounded ? 1 : 2, pieces); /* whose bound is another */
            status = add(report, name, &pieces[0], "GFLOP/s", pieces[1].rate, error);
        }
    return status;
}

/* What is made of products: multiplications and additions, and the vector instructions beside them that
 * cannot be spared, as so many multiplications and additions. */
static lud_status measure_products(rig *r, lud_bench_report *report, lud_error *error) {
    /* e^x and what a softmax does beside it; two logistic functions, a tanh and what mixes them */
    enum { SCORES = 8 * 4 * 128 * 129 / 2, SOFTMAX_STEPS = 34, UNITS = 8 * 512 * 64, GATE_STEPS = 147 };
    static const struct {
        const char *name;
        void (*work)(void *);
        double flops, beside;
    } made[] = {
        {"gru 8 x 512 x 64", gru, 2.0 * 192 * UNITS, 2.0 * GATE_STEPS * UNITS},
        {"attention 8 x 128 tokens, 4 x 32", attention, 4.0 * 32 * SCORES, 2.0 * SOFTMAX_STEPS * SCORES},
        /* four multiplications forward an edge and channel, and twice as many backward: scores, values */
        {"graph_attention 128 x 9 nodes, 3 x 16", graph, 4.0 * EDGES * 48, 0},
        {"graph_attention_backward 128 x 9 nodes", graph_backward, 8.0 * EDGES * 48, 0}};
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof made / sizeof *made && status == LUD_OK; ++i) {
        if (!lud_bench_wants(report, made[i].name)) continue;
        lud_bench_piece pieces[] = {{.work = made[i].work, .items = 1e-9 * made[i].flops}, peak};
        if (r->on_cuda) pieces[1] = device_peak;
        measure_rates(r, 2, pieces);
        const double floor = pieces[1].rate * made[i].flops / (made[i].flops + made[i].beside);
        status = add(report, made[i].name, &pieces[0], "GFLOP/s", floor, error);
    }
    return status;
}

/* The floor of the sparse convolution is what was asked for: five times the dense way. */
static lud_status measure_grids(rig *r, lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *dense_name, *sparse_name;
        void (*dense)(void *), (*sparse)(void *);
    } passes[] = {
        {"grid_decode + conv2d", "grid_conv", grid_dense, grid_sparse},
        {"grid_decode + conv2d_backward", "grid_conv_backward", grid_dense_backward, grid_sparse_backward}};
    char dense[96], sparse[96];
    lud_status status = LUD_OK;
    for (int filters = 32; filters <= FILTERS; filters *= 2)
        for (size_t i = 0; i < sizeof passes / sizeof *passes && status == LUD_OK; ++i) {
            snprintf(dense, sizeof dense, "%s, %d filters", passes[i].dense_name, filters);
            snprintf(sparse, sizeof sparse, "%s, %d filters", passes[i].sparse_name, filters);
            if (!lud_bench_wants(report, dense) && !lud_bench_wants(report, sparse)) continue;
            r->conv = (lud_conv){GRIDS, LUD_GRID_CHANNELS, SIDE, SIDE, filters, 3, 1, 1};
            lud_bench_piece pieces[] = {{.work = passes[i].dense, .items = GRIDS},
                                        {.work = passes[i].sparse, .items = GRIDS}};
            measure_rates(r, 2, pieces);
            status = add(report, dense, &pieces[0], "grids/s", 0, error);
            if (status == LUD_OK)
                status = add(report, sparse, &pieces[1], "grids/s", 5 * pieces[0].rate, error);
        }
    return status;
}

/* What the machine can do. */
static lud_status measure_machine(rig *r, lud_bench_report *report, lud_error *error) {
    lud_bench_piece product = peak, copying = device_copying;
    lud_status status = LUD_OK;
    if (r->on_cuda) {
        char name[64];
        product = device_peak;
        snprintf(name, sizeof name, "product %d x %d x %d", DEVICE_SIDE, DEVICE_SIDE, DEVICE_SIDE);
        measure_rates(r, 1, &product);
        measure_rates(r, 1, &copying);
        status = add(report, name, &product, "GFLOP/s", 0, error);
        if (status) return status;
        return add(report, "copying 16 MiB", &copying, "GB/s", 0, error);
    }
    if (lud_bench_wants(report, "product 512 x 512 x 512")) {
        lud_bench_rates(1, &product, r);
        status = add(report, "product 512 x 512 x 512", &product, "GFLOP/s", 0, error);
    }
    return status;
}

static lud_status measure(rig *r, lud_bench_report *report, lud_error *error) {
    static lud_status (*const parts[])(rig *, lud_bench_report *, lud_error *) = {
        measure_machine, measure_moving, measure_linear, measure_products, measure_grids};
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == LUD_OK; ++i)
        status = parts[i](r, report, error);
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

static void fill_graphs(rig *r, int32_t *graph) {
    int32_t *offsets = graph, *by_source = offsets + NODES + 1, *source = by_source + NODES + 1;
    int32_t *target = source + EDGES, *edges = target + EDGES, n = 0;
    for (int32_t i = 0; i < NODES; ++i) {
        for (int32_t j = i / GRAPH_NODES * GRAPH_NODES; j < (i / GRAPH_NODES + 1) * GRAPH_NODES; ++j)
            if (j != i) source[n++] = j;
        offsets[i + 1] = n;
    }
    lud_edges_by_source(NODES, EDGES, offsets, source, target, by_source, edges);
    const int32_t *at = r->graph; /* where they will be on the device */
    r->edges = (lud_edges){NODES,
                           EDGES,
                           at,
                           at + (source - graph),
                           at + (target - graph),
                           at + (by_source - graph),
                           at + (edges - graph)};
}

enum { N_GRAPH = 2 * (NODES + 1) + 3 * EDGES, N_CODE = GRIDS * SIDE * SIDE, N_OFFSETS = ROWS / 4 + 1 };

/* Whole numbers are made on the host. */
static bool fill_whole_numbers(rig *r) {
    int32_t *host = calloc(N_GRAPH > N_CODE ? N_GRAPH : N_CODE, sizeof *host);
    if (!host) return false;
    fill_graphs(r, host);
    lud_device_upload(r->device, r->graph, host, N_GRAPH * sizeof *host);
    for (int32_t i = 0; i < ROWS; ++i) host[i] = (int32_t)((uint32_t)i * 7919u % ROWS);
    lud_device_upload(r->device, r->index, host, ROWS * sizeof *host);
    for (int32_t i = 0; i < N_OFFSETS; ++i) host[i] = 4 * i;
    lud_device_upload(r->device, r->offsets, host, N_OFFSETS * sizeof *host);
    fill_grids(host);
    lud_device_upload(r->device, r->code, host, N_CODE * sizeof *host);
    free(host);
    return true;
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    rig r = {.on_cuda = !lud_bench_measures(report, "cpu")};
    lud_status status = r.on_cuda ? lud_device_open("cuda", 0, &r.device, error)
                                  : lud_device_open("cpu", omp_get_max_threads(), &r.device, error);
    if (status != LUD_OK) return status;
    bool ok = true;
    for (int i = 0; i < N_ARRAYS; ++i) {
        r.x[i] = lud_device_allocate(r.device, BIG * sizeof(float));
        ok = ok && r.x[i];
        if (r.x[i]) r.device->ops->random_uniform(r.device, BIG, 3, (uint32_t)i, 0, 0.01, 0.02, r.x[i]);
    }
    r.index = lud_device_allocate(r.device, ROWS * sizeof(int32_t));
    r.offsets = lud_device_allocate(r.device, N_OFFSETS * sizeof(int32_t));
    r.code = lud_device_allocate(r.device, N_CODE * sizeof(int32_t));
    r.graph = lud_device_allocate(r.device, N_GRAPH * sizeof(int32_t));
    if (ok && r.index && r.offsets && r.code && r.graph && fill_whole_numbers(&r))
        status = measure(&r, report, error);
    else
        status = lud_no_memory(error, "the arrays of the benchmark");
    if (!status) status = lud_device_check(r.device, error);
    for (int i = 0; i < N_ARRAYS; ++i) lud_device_release(r.device, r.x[i]);
    lud_device_release(r.device, r.index);
    lud_device_release(r.device, r.offsets);
    lud_device_release(r.device, r.code);
    lud_device_release(r.device, r.graph);
    lud_device_close(r.device);
    return status;
}

const lud_bench lud_bench_kernels = {.name = "kernels",
                                     .about = "every operation beside what the machine could do",
                                     .on_cuda = true,
                                     .run = run};
