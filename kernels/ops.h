/* The numeric operations: types and the two function tables.
 *
 * `lud_ops` holds every operation on float32 arrays and is what networks run on: device->ops->linear(device,
 * ...). `lud_ops_f64` is the same table on doubles; only the CPU has it, for gradient checks
 * (lud_cpu_ops_f64). Each operation is declared and explained once, in ops_table.h, and named once more in
 * LUD_OPERATIONS below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "kernels/grid_code.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lud_device lud_device;

/* Elementwise maps y = f(x); a and b are parameters of some. */
typedef enum lud_map_kind {
    LUD_MAP_IDENTITY,
    LUD_MAP_RELU,
    LUD_MAP_GELU, /* x Phi(x), exact (Hendrycks and Gimpel, 2016) */
    LUD_MAP_SILU, /* x sigmoid(x) */
    LUD_MAP_TANH,
    LUD_MAP_SIGMOID,
    LUD_MAP_SOFTPLUS,         /* ln(1 + e^x) */
    LUD_MAP_SOFTPLUS_SHIFTED, /* ln(1 + e^x) - ln 2: zero at zero */
    LUD_MAP_NEG_SOFTPLUS,     /* -ln(1 + e^x): below zero */
    LUD_MAP_NEG_SOFTPLUS_NEG, /* -ln(1 + e^-x): below zero, rising */
    LUD_MAP_EXP,
    LUD_MAP_ONE_PLUS_EXP, /* 1 + e^x */
    LUD_MAP_NEG_POWER,    /* -(x^a), x > 0: -y^eta, and -z^(-eta xi) */
    LUD_MAP_POWER,        /* x^a, x > 0 */
    LUD_MAP_LOG,          /* ln x, x > 0 */
    LUD_MAP_LOG_NEGATED,  /* ln(-x), x < 0 */
    LUD_MAP_SQUARE,
    LUD_MAP_AFFINE,     /* a x + b */
    LUD_MAP_CLAMP,      /* into [a, b]; derivative 1 inside and at the ends, 0 outside */
    LUD_MAP_ABS_CLAMP,  /* |x| into [a, b] */
    LUD_MAP_SOFT_CLAMP, /* x inside [a, b]; R = b - a: b + R (1 - exp(-(x - b)/R)) above, mirrored below */
    LUD_MAP_KINDS
} lud_map_kind;

typedef struct lud_map {
    lud_map_kind kind;
    double a, b;
} lud_map;

/* Whether the derivative of a map is computed from its input x (then `z` must be kept), else from its output
 * y. */
static inline bool lud_map_needs_input(lud_map_kind kind) {
    return kind != LUD_MAP_IDENTITY && kind != LUD_MAP_RELU && kind != LUD_MAP_TANH &&
           kind != LUD_MAP_SIGMOID && kind != LUD_MAP_EXP && kind != LUD_MAP_ONE_PLUS_EXP &&
           kind != LUD_MAP_AFFINE;
}

/* Convolution, square kernel, zero padding. Output side: (side + 2 padding - kernel) / stride + 1. */
typedef struct lud_conv {
    int64_t n;                          /* images */
    int64_t channels_in, height, width; /* of the input */
    int64_t channels_out, kernel, stride, padding;
} lud_conv;

static inline int64_t lud_conv_height_out(const lud_conv *c) {
    return (c->height + 2 * c->padding - c->kernel) / c->stride + 1;
}
static inline int64_t lud_conv_width_out(const lud_conv *c) {
    return (c->width + 2 * c->padding - c->kernel) / c->stride + 1;
}

/* Where the random numbers of a batch come from: row i uses lud_draw(key(seed, environment_i), step, agent_i,
 * purpose, lane + block), so a draw depends on who draws and not on the place in the batch. */
typedef struct lud_draws {
    uint64_t seed;
    const uint32_t *environment; /* [rows] or null: first_environment + row / n_agents */
    const uint32_t *agent;       /* [rows] or null: row % n_agents */
    uint32_t first_environment;
    uint32_t n_agents; /* at least 1 */
    uint32_t step;
    const uint32_t *step_added; /* one number in device memory added to `step` (recorded graphs), or null */
    lud_purpose purpose;
    uint32_t lane;
} lud_draws;

typedef enum lud_reduce { LUD_REDUCE_SUM, LUD_REDUCE_MEAN, LUD_REDUCE_MAX } lud_reduce;

/* Directed edges grouped by target (CSR), and the same edges grouped by source for the backward pass. All
 * arrays in device memory. lud_edges_by_source fills the second half on the host. */
typedef struct lud_edges {
    int64_t n_nodes, n_edges;
    const int32_t *offsets;        /* [n_nodes + 1] edges into node i are offsets[i] .. offsets[i + 1] - 1 */
    const int32_t *source;         /* [n_edges] */
    const int32_t *target;         /* [n_edges]; needed backward only */
    const int32_t *source_offsets; /* [n_nodes + 1]; needed backward only */
    const int32_t *source_edges;   /* [n_edges] edge numbers grouped by source; needed backward only */
} lud_edges;

/* Fills target[n_edges], source_offsets[n_nodes + 1], source_edges[n_edges] (ascending edge numbers) on the
 * host. */
void lud_edges_by_source(int64_t n_nodes, int64_t n_edges, const int32_t *offsets, const int32_t *source,
                         int32_t *target, int32_t *source_offsets, int32_t *source_edges);

/* Attention of packed rows over keys in blocks. Row r has the queries query_offsets[r] .. query_offsets[r +
 * 1] - 1 (token numbers in q); its keys are, in order, prefix_lengths[r] tokens from prefix_offsets[r] and
 * key_lengths[r] tokens from key_offsets[r] of k and v. Its last query stands at its last key; with `causal`
 * a query sees no key after its own place. Query heads h * kv_heads / heads share a key head. A query without
 * visible keys gives 0.
 *
 * Training on packed sequences: key_offsets = query_offsets, key_lengths the sequence lengths, no prefix.
 * Generation: k and v are the cache [n_rows * capacity] tokens, key_offsets[r] = r * capacity. */
typedef struct lud_attention {
    int64_t n_rows, n_tokens; /* n_tokens = query_offsets[n_rows] */
    int64_t heads, kv_heads, head_dim;
    int64_t max_keys; /* largest prefix + own length of a row (workspace) */
    double scale;     /* of q . k, usually 1 / sqrt(head_dim) */
    bool causal;
    const int32_t *query_offsets;                   /* [n_rows + 1] */
    const int32_t *key_offsets;                     /* [n_rows] */
    const int32_t *key_lengths;                     /* [n_rows] */
    const int32_t *prefix_offsets, *prefix_lengths; /* [n_rows] or both null */
} lud_attention;

/* Outputs of a layer that linear_packed takes at a time. */
enum { LUD_PACK = 16 };
static inline int64_t lud_pack_numbers(int64_t n_out, int64_t n_in) {
    return (n_out + LUD_PACK - 1) / LUD_PACK * LUD_PACK * n_in;
}

/* Windows over rows of `row_bytes` bytes that lie flat in memory, whatever numbers they hold: window i begins
 * at row first[i], holds the rows before end[i] (the end of its episode, exclusive) and of these at most
 * length[i]. All arrays in device memory. */
typedef struct lud_windows {
    int64_t n, horizon, row_bytes;
    const int64_t *first;  /* [n], null: window i begins at row i */
    const int64_t *end;    /* [n], null: `n` for all */
    const int32_t *length; /* [n], null: as long as fits; 0 and less: nothing is valid */
} lud_windows;

/* What stands behind the valid rows of a window: zero bytes; its last valid row (a length below 1 counts as
 * 1; zero bytes where its episode has no row left); one given row. */
typedef enum lud_padding { LUD_PAD_ZERO, LUD_PAD_LAST, LUD_PAD_VALUE } lud_padding;

typedef struct lud_adam {
    double beta1, beta2, epsilon;
    double l2;        /* added to the gradient: g + l2 w */
    bool decay_after; /* decoupled decay multiplies w after the update instead of before */
} lud_adam;

/* The value normaliser of one output: x <- beta x + (1 - beta) batch, debiased by the same average of 1. */
enum { LUD_NORMALISER_MEAN, LUD_NORMALISER_MEAN_SQUARE, LUD_NORMALISER_DEBIAS, LUD_NORMALISER_FIELDS };

/* Every operation of ops_table.h, in order. */
// clang-format off
#define LUD_OPERATIONS(X) \
    X(fill) X(combine) X(multiply) X(multiply_backward) X(map) X(map_backward) X(copy_block) \
    X(transpose) X(dropout) X(sum) X(sum_squares) X(dot) X(column_sum) X(sum_groups) \
    X(broadcast_groups) X(row_norms) X(column_norms) X(scale_rows) X(scale_columns) \
    X(random_uniform) X(random_normal) X(matmul) X(linear) X(linear_backward) X(pack_weights) \
    X(linear_packed) X(conv2d) X(conv2d_backward) X(max_pool) X(max_pool_backward) X(grid_decode) \
    X(grid_conv) X(grid_conv_pool) X(grid_conv_backward) X(gather_rows) X(scatter_rows) X(scatter_add) X(quantise_rows) \
    X(dequantise_rows) X(segment_reduce) X(segment_reduce_backward) X(segment_softmax) \
    X(segment_softmax_backward) X(layer_norm) X(layer_norm_backward) X(rms_norm) X(rms_norm_backward) \
    X(softmax) X(softmax_backward) X(log_softmax) X(log_softmax_backward) \
    X(categorical_sample) X(categorical_log_prob) X(categorical_backward) X(filter_logits) \
    X(gaussian_sample) X(gaussian_log_prob) X(gaussian_backward) X(graph_attention) \
    X(graph_attention_backward) X(attention) X(attention_backward) X(rotary) X(lru) X(lru_backward) \
    X(gru) X(gru_backward) X(mse_loss) X(huber_loss) X(cross_entropy_loss) X(ppo_policy_loss) \
    X(ppo_value_loss) X(gae) X(discounted_returns) X(n_step_returns) X(gather_windows) X(moments) \
    X(normaliser_update) X(normalise) X(popart_rescale) X(sgd_step) X(adam_step) X(clip_scale)
// clang-format on

#define real    float
#define LUD_OPS lud_ops
#include "kernels/ops_table.h"
#undef real
#undef LUD_OPS

#define real    double
#define LUD_OPS lud_ops_f64
#include "kernels/ops_table.h"
#undef real
#undef LUD_OPS

/* The operations in double precision on the CPU. Pass any CPU device. Written for checking, not for speed. */
const lud_ops_f64 *lud_cpu_ops_f64(void);

#ifdef __cplusplus
}
#endif
