#include "kernels/support_cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

double case_uniform(uint64_t seed, uint32_t index) {
    lud_random_key key = {seed, 1};
    lud_words words = lud_draw(key, 0, index, LUD_PURPOSE_USER, 0);
    return lud_unit53(words.v[0], words.v[1]);
}
int64_t case_below(uint64_t seed, uint32_t index, int64_t n) {
    return (int64_t)(case_uniform(seed, index) * (double)n);
}
double case_weight(int output, int64_t i) {
    return 2 * case_uniform(100 + (uint64_t)output, (uint32_t)i) - 1;
}

static void call_f64(const kernel_case *c, const lud_ops_f64 *ops, lud_device *device, const case_layout *l,
                     case_f64 *x, bool backward) {
    (backward ? c->backward_f64 : c->forward_f64)(ops, device, l, x);
}
void (*case_around)(bool begins);

static void call_f32(const kernel_case *c, const lud_ops *ops, lud_device *device, const case_layout *l,
                     case_f32 *x, bool backward) {
    if (case_around) case_around(true);
    (backward ? c->backward_f32 : c->forward_f32)(ops, device, l, x);
    if (case_around) case_around(false);
}

#define real    double
#define OPS     lud_ops_f64
#define CASE    case_f64
#define NAME(x) x##_f64
#include "kernels/cases.inc"
#undef real
#undef OPS
#undef CASE
#undef NAME

#define real    float
#define OPS     lud_ops
#define CASE    case_f32
#define NAME(x) x##_f32
#include "kernels/cases.inc"

float *case_run_f32(const kernel_case *c, const case_layout *l, lud_device *device, int64_t *n) {
    return run_f32(c, l, device->ops, device, 0, -1, 0, false, n);
}
float *case_run_recorded(const kernel_case *c, const case_layout *l, lud_device *device, int64_t *n) {
    return run_f32(c, l, device->ops, device, 0, -1, 0, true, n);
}
double *case_run_f64(const kernel_case *c, const case_layout *l, lud_device *device, int which, int64_t bump,
                     double step, int64_t *n) {
    return run_f64(c, l, lud_cpu_ops_f64(), device, which, bump, step, false, n);
}

void case_compare(const kernel_case *c, int variant, const case_layout *l, const float *a, const double *b,
                  double tolerance, const char *what) {
    int64_t sizes[CASE_OUTPUTS + CASE_INPUTS], n = 0;
    for (int i = 0; i < CASE_OUTPUTS; ++i) sizes[n++] = l->out[i];
    for (int i = 0; i < CASE_INPUTS; ++i)
        if (l->gradient[i]) sizes[n++] = l->in[i];
    for (int64_t part = 0; part < n; a += sizes[part], b += sizes[part], ++part) {
        double largest = 1e-3;
        for (int64_t j = 0; j < sizes[part]; ++j)
            if (fabs(b[j]) < 1e30) largest = fmax(largest, fabs(b[j]));
        for (int64_t j = 0; j < sizes[part]; ++j) {
            if (fabs(b[j]) >= 1e30 && fabs((double)a[j]) >= 1e30) continue; /* masked on both */
            if (!(fabs((double)a[j] - b[j]) <= tolerance * largest))
                fail_msg("%s variant %d part %ld element %ld: %.9g %s %.9g", c->name, variant, (long)part,
                         (long)j, (double)a[j], what, b[j]);
        }
    }
}

/* ---- layouts ---- */

/* Sums of products run in another order where rows are few. */
static const double ROW_PRODUCT = 1e-6;

static int32_t *indices(case_layout *l, int i, int64_t n) {
    l->index[i] = n;
    l->index_values[i] = calloc((size_t)n + 1, sizeof(int32_t));
    assert_non_null(l->index_values[i]);
    return l->index_values[i];
}
/* Inputs and outputs that are arrays of one row behind another, as bits. */
static void by_rows(case_layout *l, unsigned in, unsigned out) {
    for (int i = 0; i < CASE_INPUTS; ++i)
        if (in >> i & 1) l->in_batch[i] = CASE_ROWS;
    for (int i = 0; i < CASE_OUTPUTS; ++i)
        if (out >> i & 1) l->out_batch[i] = CASE_ROWS;
}
static void by_steps(case_batch *batch, int64_t *step_width, int i, int64_t width) {
    batch[i] = CASE_STEPS, step_width[i] = width;
}
static void in_steps(case_layout *l, int i, int64_t width) {
    by_steps(l->in_batch, l->in_step_width, i, width);
}
static void out_steps(case_layout *l, int i, int64_t width) {
    by_steps(l->out_batch, l->out_step_width, i, width);
}
static void on_off(case_layout *l, int i) {
    l->low[i] = -0.0, l->high[i] = 1;
}
static void random_mask(case_layout *l, int64_t rows, int64_t width) {
    l->mask = rows * width; /* index 5: the bytes of rows */
    uint8_t *mask = (uint8_t *)indices(l, 5, (l->mask + 3) / 4);
    for (int64_t i = 0; i < rows * width; ++i)
        mask[i] = case_uniform(55, (uint32_t)i) < 0.7 || i % width == 1;
}
/* Segments of 0 .. 5 rows; returns how many rows. */
static int32_t segments(case_layout *l, int i, int64_t n) {
    int32_t *offsets = indices(l, i, n + 1);
    l->index_batch[i] = CASE_OFFSETS;
    for (int64_t s = 0; s < n; ++s) offsets[s + 1] = offsets[s] + (int32_t)case_below(9, (uint32_t)s, 6);
    return offsets[n];
}

static void elementwise(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[0] = l->rows * l->a;
    l->low[0] = -4, l->high[0] = 4;
    l->gradient[0] = true;
    by_rows(l, 1, 1);
}
static void positive(case_layout *l, uint64_t seed) {
    elementwise(l, seed);
    l->low[0] = 0.3, l->high[0] = 3;
}
static void negative(case_layout *l, uint64_t seed) {
    elementwise(l, seed);
    l->low[0] = -3, l->high[0] = -0.3;
}
static void two(case_layout *l, uint64_t seed) {
    elementwise(l, seed);
    l->in[1] = l->in[0];
    l->gradient[1] = true;
    l->unwanted = 3;
    by_rows(l, 3, 1);
}
static void combine(case_layout *l, uint64_t seed) {
    two(l, seed);
    l->rule[0] = l->rule[1] = CASE_ALWAYS_WRITTEN;
    l->unwanted = 0;
}
/* The mask goes by the place in the array. */
static void dropout(case_layout *l, uint64_t seed) {
    elementwise(l, seed);
    l->rule[0] = CASE_ALWAYS_WRITTEN;
    l->in_batch[0] = l->out_batch[0] = CASE_WHOLE;
}
static void copy_block(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->rows * l->a;
    l->out[0] = l->rows * (l->a + l->b);
    l->gradient[0] = true;
    by_rows(l, 1, 1);
}
static void transpose(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[0] = l->rows * l->a * l->b;
    l->gradient[0] = true;
    l->rule[0] = CASE_ALWAYS_WRITTEN;
    by_rows(l, 1, 1);
}
static void sums(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[1] = l->rows * l->a;
    l->out[0] = 3, l->out[1] = l->a, l->out[2] = l->rows, l->out[3] = l->a;
    by_rows(l, 3, 4);
}
static void groups(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->rows * l->a * l->b;
    l->out[0] = l->rows * l->a;
    l->gradient[0] = true;
    by_rows(l, 1, 1);
}
static void scales(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[0] = l->out[1] = l->rows * l->a;
    l->in[1] = l->rows, l->in[2] = l->a;
    by_rows(l, 3, 3);
}
static void randoms(case_layout *l, uint64_t seed) {
    (void)seed;
    l->out[0] = l->out[1] = l->out[2] = l->rows * l->a;
}
static void matmul(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[2] = l->rows * l->a;
    l->in[1] = l->in[3] = l->a * l->b;
    l->out[0] = l->rows * l->b;
    by_rows(l, 1, 1);
    in_steps(l, 2, 1);
    l->row_tolerance = ROW_PRODUCT;
}
static void linear(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->rows * l->a, l->in[1] = l->a * l->b, l->in[2] = l->b;
    l->out[0] = l->out[1] = l->rows * l->b;
    l->kept[1] = true;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = true;
    l->rule[1] = l->rule[2] = CASE_ALWAYS_ADDED;
    l->unwanted = 7;
    by_rows(l, 1, 3);
    l->row_tolerance = ROW_PRODUCT;
}
static void conv(case_layout *l, uint64_t seed) {
    (void)seed;
    l->a = 3 + l->a % 5, l->b = 3 + l->b % 6, l->c = 1 + l->c % 7;
    l->in[0] = l->rows * 3 * l->a * l->b, l->in[1] = l->c * 3 * 9, l->in[2] = l->c;
    l->out[0] = l->rows * l->c * l->a * l->b;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = true;
    l->rule[1] = l->rule[2] = CASE_ALWAYS_ADDED;
    l->unwanted = 7;
    by_rows(l, 1, 3);
    l->row_tolerance = ROW_PRODUCT;
}
static void conv_stride(case_layout *l, uint64_t seed) {
    conv(l, seed);
    l->out[0] = l->out[1] = l->rows * l->c * ((l->a - 3) / 2 + 1) * ((l->b - 3) / 2 + 1);
    l->kept[1] = true;
}
static void max_pool(case_layout *l, uint64_t seed) {
    (void)seed;
    l->a = 1 + l->a % 8, l->b = 1 + l->b % 8;
    l->in[0] = l->rows * l->a * l->b;
    l->out[0] = l->rows * (l->a / 2) * (l->b / 2);
    indices(l, 0, l->out[0]);
    l->index_batch[0] = CASE_ROWS;
    l->gradient[0] = true;
    by_rows(l, 1, 1);
}
static void grid_conv(case_layout *l, uint64_t seed) {
    (void)seed;
    l->a = 1 + l->a % 7, l->b = 1 + l->b % 7, l->c = 1 + l->c % 20;
    int64_t cells = l->rows * l->a * l->b;
    int32_t *code = indices(l, 0, cells);
    for (int64_t i = 0; i < cells; ++i) {
        uint32_t at = (uint32_t)i;
        static const int types[] = {0, 1, 3, 7, 14, 15, 15, 15, 15, 30, 31};
        lud_grid_cell cell = {types[case_below(61, at, 11)], 0, 0, LUD_CODE_NO_AGENT, 0, 0};
        if (cell.type >= 30) cell.colour = (int)case_below(62, at, 7);
        if (cell.type == 30) cell.door = 1 + (int)case_below(63, at, 3);
        if (case_uniform(64, at) < 0.1) cell.magic = (int)case_below(65, at, 7);
        if (case_uniform(66, at) < 0.1) cell.other = (int)case_below(67, at, 4);
        if (case_uniform(68, at) < 0.2) cell.agent = (int)case_below(69, at, 7);
        code[i] = lud_grid_code_make(cell);
    }
    l->in[0] = l->c * LUD_GRID_CHANNELS * 9, l->in[1] = l->c;
    l->gradient[0] = l->gradient[1] = true;
    l->rule[0] = l->rule[1] = CASE_ALWAYS_ADDED;
    l->unwanted = 3;
    l->out[0] = cells * l->c;
    l->out[1] = cells * LUD_GRID_CHANNELS;
    l->out[2] = l->rows * (l->a / 2) * (l->b / 2) * l->c;
    l->kept[1] = l->kept[2] = true;
    l->index_batch[0] = CASE_ROWS;
    by_rows(l, 0, 7);
}
static void gather_rows(case_layout *l, uint64_t seed) {
    (void)seed;
    int32_t *index = indices(l, 0, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) index[i] = (int32_t)case_below(21, (uint32_t)i, l->b + 1) - 1;
    l->in[0] = l->a * l->b;
    l->out[0] = l->rows * l->a;
    l->gradient[0] = true;
    l->rule[0] = CASE_ALWAYS_ADDED;
    l->index_batch[0] = CASE_ROWS;
    by_rows(l, 0, 1);
}
static void scatter(case_layout *l, uint64_t seed) {
    gather_rows(l, seed);
    int32_t *place = indices(l, 1, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) place[i] = i % 3 == 0 ? -1 : (int32_t)(l->rows - 1 - i);
    l->in[0] = l->rows * l->a, l->in[1] = l->rows;
    l->out[0] = l->b * l->a, l->out[1] = l->rows * l->a;
    l->gradient[0] = false;
    l->out_batch[0] = CASE_WHOLE; /* rows go where indices say */
}
static void segment(case_layout *l, uint64_t seed) {
    (void)seed;
    int32_t n = segments(l, 0, l->rows);
    indices(l, 1, l->rows * l->a);
    int32_t *index = indices(l, 2, n); /* each segment backwards */
    const int32_t *offsets = l->index_values[0];
    for (int64_t r = 0; r < l->rows; ++r)
        for (int32_t e = offsets[r]; e < offsets[r + 1]; ++e) index[e] = offsets[r] + offsets[r + 1] - 1 - e;
    l->in[0] = n * l->a;
    l->out[0] = l->out[1] = l->rows * l->a;
    l->kept[1] = true;
    l->gradient[0] = true;
    l->in_batch[0] = CASE_SEGMENTS;
    l->index_batch[1] = CASE_ROWS;
    l->index_batch[2] = CASE_EDGES;
    by_rows(l, 0, 3);
}
static void segment_indexed(case_layout *l, uint64_t seed) {
    (void)seed;
    int32_t n = segments(l, 0, l->rows), *index = indices(l, 2, n);
    for (int32_t i = 0; i < n; ++i) index[i] = (int32_t)case_below(22, (uint32_t)i, l->b);
    l->in[0] = l->b * l->a;
    l->out[0] = l->rows * l->a;
    l->index_batch[2] = CASE_SEGMENTS;
    by_rows(l, 0, 1);
}
static void segment_softmax(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[0] = segments(l, 0, l->rows) * l->a;
    l->gradient[0] = true;
    l->in_batch[0] = l->out_batch[0] = CASE_SEGMENTS;
}
static void layer_norm(case_layout *l, uint64_t seed) {
    (void)seed;
    l->a += 2;
    l->in[0] = l->out[0] = l->rows * l->a, l->in[1] = l->in[2] = l->a;
    l->out[1] = l->out[2] = l->rows;
    l->kept[1] = l->kept[2] = true;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = true;
    l->rule[1] = l->rule[2] = CASE_ALWAYS_ADDED;
    l->unwanted = 1, l->unwanted_together = 6;
    by_rows(l, 1, 7);
}
static void rms_norm(case_layout *l, uint64_t seed) {
    (void)seed;
    l->a += 2;
    l->in[0] = l->out[0] = l->rows * l->a, l->in[1] = l->a;
    l->out[1] = l->rows;
    l->kept[1] = true;
    l->gradient[0] = l->gradient[1] = true;
    l->rule[1] = CASE_ALWAYS_ADDED;
    l->unwanted = 2;
    by_rows(l, 1, 3);
}
/* Outputs in several panels, the last one not whole; out[1] is what was packed. */
static void packed(case_layout *l, uint64_t seed) {
    (void)seed;
    l->b = 11 * l->b + 130;
    l->in[0] = l->in[2] = l->rows * l->a, l->in[1] = l->a * l->b;
    l->out[0] = l->rows * l->b, l->out[1] = lud_pack_numbers(l->b, l->a);
    by_rows(l, 5, 1);
}
/* The packed numbers are compared through their product alone. */
static void packed_half(case_layout *l, uint64_t seed) {
    packed(l, seed);
    l->in[2] = l->out[1] = 0;
    indices(l, 0, lud_pack_numbers(l->b, l->a) / 2);
}
static void quantised(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[1] = l->rows * 3 * l->a;
    l->out[0] = l->rows * 3;
    int32_t *index = indices(l, 0, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) index[i] = (int32_t)(l->rows - 1 - i);
    indices(l, 1, l->rows * 3 * l->a / 4 + 1);
    l->discrete = true;
}
static void log_softmax(case_layout *l, uint64_t seed) {
    elementwise(l, seed);
}
static void softmax(case_layout *l, uint64_t seed) {
    elementwise(l, seed);
    random_mask(l, l->rows, l->a);
}
static void categorical(case_layout *l, uint64_t seed) {
    softmax(l, seed);
    int32_t *action = indices(l, 0, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) { /* an unmasked one, so that finite differences stay finite */
        const uint8_t *mask = (const uint8_t *)l->index_values[5] + i * l->a;
        action[i] = (int32_t)case_below(31, (uint32_t)i, l->a);
        for (int64_t j = 0; j < l->a && !mask[action[i]]; ++j) action[i] = (int32_t)((action[i] + 1) % l->a);
    }
    l->out[0] = l->out[1] = l->rows;
    l->index_batch[0] = CASE_ROWS;
    by_rows(l, 1, 3);
}
static void cross_entropy(case_layout *l, uint64_t seed) {
    categorical(l, seed);
    l->out[1] = 0;
    if (l->rows > 1) l->index_values[0][1] = -1;
}
/* The same where every choice is open: no mask is given. */
static void categorical_open(case_layout *l, uint64_t seed) {
    categorical(l, seed);
    l->mask = 0;
}
static void cross_entropy_open(case_layout *l, uint64_t seed) {
    cross_entropy(l, seed);
    l->mask = 0;
}
/* Who draws, for the rows of a batch: environments (index 1) and agents (index 2). */
static void drawers(case_layout *l) {
    int32_t *environment = indices(l, 1, l->rows), *agent = indices(l, 2, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) environment[i] = (int32_t)(i / 3 + 5), agent[i] = (int32_t)(i % 3);
    l->index_batch[1] = l->index_batch[2] = CASE_ROWS;
}
static void categorical_sample(case_layout *l, uint64_t seed) {
    categorical(l, seed);
    drawers(l);
    l->out[0] = l->out[3] = l->out[4] = l->rows, l->out[1] = l->out[2] = l->rows * l->a;
    l->in[1] = l->rows;
    l->low[1] = 0, l->high[1] = 0.999;
    by_rows(l, 3, 7);
    l->gradient[0] = false;
    l->discrete = true;
}
static void categorical_sample_open(case_layout *l, uint64_t seed) {
    categorical_sample(l, seed);
    l->mask = 0;
}
static void gaussian_shared(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[2] = l->rows * l->a, l->in[1] = l->a;
    l->out[0] = l->out[1] = l->rows;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = true;
    l->rule[1] = CASE_ALWAYS_ADDED;
    l->unwanted = 7;
    l->tolerance = 1e-4;
    by_rows(l, 5, 3);
}
static void gaussian_rows(case_layout *l, uint64_t seed) {
    gaussian_shared(l, seed);
    l->in[1] = l->rows * l->a;
    l->rule[1] = CASE_ASKED;
    by_rows(l, 2, 0);
}
static void gaussian_sample(case_layout *l, uint64_t seed) {
    gaussian_shared(l, seed);
    drawers(l);
    l->out[0] = l->out[2] = l->rows * l->a, l->out[3] = l->rows;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = false;
}
/* Sizes of graph attention once offsets (index 0) and sources (index 1) stand. */
static void graph_attention_sizes(case_layout *l, int64_t heads, int64_t channels, int64_t edge_dim) {
    l->a = heads, l->b = channels, l->c = edge_dim;
    int32_t n_edges = l->index_values[0][l->rows];
    int32_t *target = indices(l, 2, n_edges), *by_source = indices(l, 3, l->rows + 1),
            *edges = indices(l, 4, n_edges);
    lud_edges_by_source(l->rows, n_edges, l->index_values[0], l->index_values[1], target, by_source, edges);
    l->in[0] = l->in[1] = l->in[2] = l->out[0] = l->rows * heads * channels;
    l->in[3] = n_edges * edge_dim, l->in[4] = heads * channels * edge_dim;
    l->out[1] = n_edges * heads;
    l->kept[1] = true;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = true;
    l->gradient[4] = true;
    l->rule[4] = CASE_ALWAYS_ADDED;
    l->unwanted = 1 << 4;
    by_rows(l, 7, 1);
    l->in_batch[3] = l->out_batch[1] = CASE_SEGMENTS;
    l->index_batch[0] = l->index_batch[3] = CASE_OFFSETS;
    l->index_batch[1] = l->index_batch[2] = CASE_NODES;
    l->index_batch[4] = CASE_EDGES;
}
/* Edges from anywhere: one large graph. */
static void graph_attention(case_layout *l, uint64_t seed) {
    (void)seed;
    int32_t n_edges = segments(l, 0, l->rows), *source = indices(l, 1, n_edges);
    for (int32_t e = 0; e < n_edges; ++e) source[e] = (int32_t)case_below(41, (uint32_t)e, l->rows);
    l->row_ends = calloc(1, sizeof *l->row_ends);
    assert_non_null(l->row_ends);
    l->row_ends[0] = (int32_t)l->rows;
    graph_attention_sizes(l, 1 + l->b % 3, 1 + l->a % 9, l->c % 3);
}
/* A batch of graphs of 1 to 40 nodes and one of up to 100, dense and sparse, some nodes without edges, some
 * edges twice. `mixed`: in the largest graph nodes of few edges stand between those of many. */
static void graphs_with(case_layout *l, uint64_t seed, const int64_t channels[6], bool mixed) {
    int32_t *offsets = indices(l, 0, l->rows + 1), n_edges = 0;
    int32_t *source = indices(l, 1, l->rows * 101);
    l->row_ends = calloc((size_t)l->rows + 1, sizeof *l->row_ends);
    assert_non_null(l->row_ends);
    for (int64_t first = 0, graph = 0, size; first < l->rows; first += size, ++graph) {
        size = graph == 2 ? 100 : 1 + case_below(seed + 1, (uint32_t)graph, graph % 2 ? 40 : 10);
        if (size > l->rows - first) size = l->rows - first;
        l->row_ends[graph] = (int32_t)(first + size);
        double share = graph == 2 ? 0.9 : graph % 4 == 0 ? 1 : graph % 4 == 1 ? 0.2 : 0.6;
        for (int64_t i = first; i < first + size; ++i) {
            for (int64_t j = first; j < first + size; ++j) {
                const double own = mixed && graph == 2 && i % 3 == 1 ? 0.2 : share;
                if (i % 7 == 3 || case_uniform(seed + 2, (uint32_t)(i * 128 + j - first)) > own) continue;
                source[n_edges++] = (int32_t)j;
                if (graph % 5 == 3 && i == first) source[n_edges++] = (int32_t)j;
            }
            offsets[i + 1] = n_edges;
        }
    }
    l->index[1] = n_edges;
    graph_attention_sizes(l, 1 + l->b % 3, channels[l->rows < 2 ? 0 : l->c % 6], (l->c + l->rows) % 4);
}
/* Heads that fill registers and heads that do not. */
static void graph_attention_graphs(case_layout *l, uint64_t seed) {
    static const int64_t channels[6] = {16, 16, 32, 5, 48, 16};
    graphs_with(l, seed, channels, false);
}
/* Heads of several registers, the last of them with a rest. */
static void graph_attention_rests(case_layout *l, uint64_t seed) {
    static const int64_t channels[6] = {17, 24, 31, 9, 40, 63};
    graphs_with(l, seed, channels, true);
}
static void attention(case_layout *l, uint64_t seed) {
    (void)seed;
    l->rows = l->rows > 7 ? 7 : l->rows;
    int32_t n = segments(l, 0, l->rows);
    int32_t *lengths = indices(l, 2, l->rows);
    for (int64_t r = 0; r < l->rows; ++r) lengths[r] = l->index_values[0][r + 1] - l->index_values[0][r];
    l->in[0] = l->out[0] = n * 4 * l->a, l->in[1] = l->in[2] = n * 2 * l->a;
    l->out[1] = n * 4;
    l->kept[1] = true;
    l->gradient[0] = l->gradient[1] = l->gradient[2] = true;
    l->rule[1] = l->rule[2] = CASE_ALWAYS_ADDED; /* rows may share keys */
    for (int i = 0; i < 3; ++i) l->in_batch[i] = CASE_SEGMENTS;
    l->out_batch[0] = l->out_batch[1] = CASE_SEGMENTS;
    l->index_batch[2] = CASE_ROWS;
}
/* The cache of a batch: a shared prefix of 3 tokens, then blocks of 8 a row; some keys older than the
 * queries. */
static void attention_prefix(case_layout *l, uint64_t seed) {
    attention(l, seed);
    int32_t *offsets = indices(l, 1, l->rows), *at = indices(l, 3, l->rows), *prefix = indices(l, 4, l->rows);
    for (int64_t r = 0; r < l->rows; ++r) {
        offsets[r] = (int32_t)(3 + 8 * r);
        at[r] = 0;
        prefix[r] = (int32_t)(r % 4);
        l->index_values[2][r] += (int32_t)(r % 3);
    }
    l->in[1] = l->in[2] = (3 + 8 * l->rows) * 2 * l->a;
    l->in_batch[1] = l->in_batch[2] = CASE_WHOLE; /* a cache */
    l->index_batch[1] = l->index_batch[3] = l->index_batch[4] = CASE_ROWS;
}
static void rotary(case_layout *l, uint64_t seed) {
    (void)seed;
    l->a = 1 + l->a % 4, l->b = 2 + l->b % 5;
    l->in[0] = l->out[0] = l->rows * l->a * l->b;
    int32_t *position = indices(l, 0, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) position[i] = (int32_t)case_below(71, (uint32_t)i, 300);
    l->gradient[0] = true;
    l->rule[0] = CASE_ALWAYS_WRITTEN;
    l->index_batch[0] = CASE_ROWS;
    by_rows(l, 1, 1);
}
static void lru(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[1] = l->in[2] = l->a;
    l->low[0] = -3, l->high[0] = -0.5;
    l->in[3] = l->out[0] = l->c * l->rows * l->a * 2, l->in[4] = l->rows * l->a * 2,
    l->in[5] = l->c * l->rows;
    on_off(l, 5);
    for (int i = 0; i < 5; ++i) l->gradient[i] = true;
    for (int i = 0; i < 3; ++i) l->rule[i] = CASE_ALWAYS_ADDED;
    l->unwanted = 3 << 3, l->unwanted_together = 7;
    in_steps(l, 3, 2 * l->a);
    by_rows(l, 1 << 4, 0);
    in_steps(l, 5, 1);
    out_steps(l, 0, 2 * l->a);
}
static void lru_long(case_layout *l, uint64_t seed) {
    l->c = 700;
    l->rows = l->rows > 3 ? 3 : l->rows;
    l->a = 1 + l->a % 5;
    lru(l, seed);
    l->low[0] = -6;
    l->low[5] = l->rows == 1 ? 1 : -0.0; /* also a scan without any reset */
    l->tolerance = 2e-4;
}
static void gru(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->c * l->rows * 3 * l->a, l->in[1] = 3 * l->a * l->a, l->in[2] = 3 * l->a,
    l->in[3] = l->rows * l->a;
    l->in[4] = l->c * l->rows;
    on_off(l, 4);
    l->out[0] = l->c * l->rows * l->a, l->out[1] = 4 * l->out[0];
    l->kept[1] = true;
    for (int i = 0; i < 4; ++i) l->gradient[i] = true;
    l->rule[1] = l->rule[2] = CASE_ALWAYS_ADDED;
    l->unwanted = 7 << 1;
    l->tolerance = 1e-4;
    in_steps(l, 0, 3 * l->a);
    by_rows(l, 1 << 3, 0);
    in_steps(l, 4, 1);
    out_steps(l, 0, l->a);
    out_steps(l, 1, 4 * l->a);
    l->row_tolerance = 4 * ROW_PRODUCT; /* steps hand differences on */
}
static void loss(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[1] = l->in[2] = l->out[0] = l->rows;
    l->gradient[0] = true;
    by_rows(l, 7, 1);
}
static void ppo_policy(case_layout *l, uint64_t seed) {
    loss(l, seed);
    l->out[1] = l->rows;
    l->kept[1] = true;
    by_rows(l, 0, 2);
}
static void returns(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[0] = l->out[1] = l->out[2] = l->out[3] = l->c * l->rows;
    l->in[1] = l->in[2] = l->in[3] = (l->c + 1) * l->rows;
    on_off(l, 2);
    on_off(l, 3);
    for (int i = 0; i < 4; ++i) in_steps(l, i, 1), out_steps(l, i, 1);
}
static void windows(case_layout *l, uint64_t seed) {
    (void)seed;
    l->b = l->b % 9;
    l->in[0] = l->rows * l->a, l->in[1] = l->a;
    int32_t *window = indices(l, 0, l->rows);
    for (int64_t i = 0; i < l->rows; ++i) window[i] = (int32_t)case_below(81, (uint32_t)i, l->b + 4) - 1;
    indices(l, 1, l->rows);
    /* int64 in two halves: anywhere in two episodes */
    int32_t *first = indices(l, 2, 2 * l->rows), *end = indices(l, 3, 2 * l->rows);
    for (int64_t i = 0; i < l->rows; ++i) {
        const int64_t row = case_below(82, (uint32_t)i, l->rows);
        first[2 * i] = (int32_t)row;
        end[2 * i] = (int32_t)(row < l->rows / 2 ? l->rows / 2 : l->rows);
    }
    l->out[0] = l->out[1] = l->out[2] = l->rows * l->a * l->b;
}
static void statistics(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[2] = l->out[3] = l->rows * l->a, l->in[1] = l->rows;
    on_off(l, 1);
    l->out[0] = 2 * l->a, l->out[1] = 3 * l->a;
}
static void normalise(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->out[0] = l->out[1] = l->rows * l->a, l->in[1] = 3 * l->a;
    l->low[1] = 0.2, l->high[1] = 1;
    by_rows(l, 1, 3);
}
static void popart(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[1] = 3 * l->b, l->in[2] = l->a * l->b, l->in[3] = l->b;
    for (int i = 0; i < 2; ++i) l->low[i] = 0.1 + i * 0.2, l->high[i] = 1;
    l->out[0] = l->a * l->b, l->out[1] = l->b;
    l->discrete = true; /* a variance near the floor of 1e-8 amplifies rounding */
}
static void optimisers(case_layout *l, uint64_t seed) {
    (void)seed;
    l->in[0] = l->in[1] = l->out[0] = l->out[1] = l->out[2] = l->rows * l->a, l->in[2] = 3;
    l->low[2] = 0.01, l->high[2] = 0.1;
    l->out[3] = 3;
}

// clang-format off
#define CASE_OF(name, operation, layout) {#name, layout, operation##_forward_f64, operation##_backward_f64, operation##_forward_f32, operation##_backward_f32},
#define CASE_ROW(name, layout) CASE_OF(name, name, layout)
const kernel_case kernel_cases[] = {
    CASE_ROW(identity, elementwise)
    CASE_ROW(relu, elementwise)
    CASE_ROW(gelu, elementwise)
    CASE_ROW(silu, elementwise)
    CASE_ROW(tanh, elementwise)
    CASE_ROW(sigmoid, elementwise)
    CASE_ROW(softplus, elementwise)
    CASE_ROW(softplus_shifted, elementwise)
    CASE_ROW(neg_softplus, elementwise)
    CASE_ROW(neg_softplus_neg, elementwise)
    CASE_ROW(exp, elementwise)
    CASE_ROW(one_plus_exp, elementwise)
    CASE_ROW(neg_power, positive)
    CASE_ROW(power, positive)
    CASE_ROW(log, positive)
    CASE_ROW(log_negated, negative)
    CASE_ROW(square, elementwise)
    CASE_ROW(affine, elementwise)
    CASE_ROW(clamp, elementwise)
    CASE_ROW(abs_clamp, elementwise)
    CASE_ROW(soft_clamp, elementwise)
    CASE_ROW(combine, combine)
    CASE_ROW(multiply, two)
    CASE_ROW(dropout, dropout)
    CASE_ROW(copy_block, copy_block)
    CASE_ROW(transpose, transpose)
    CASE_ROW(sums, sums)
    CASE_ROW(groups, groups)
    CASE_ROW(scales, scales)
    CASE_ROW(randoms, randoms)
    CASE_ROW(matmul, matmul)
    CASE_ROW(linear_relu, linear)
    CASE_ROW(linear_gelu, linear)
    CASE_ROW(linear_plain, linear)
    CASE_ROW(conv2d, conv)
    CASE_ROW(conv2d_stride, conv_stride)
    CASE_ROW(max_pool, max_pool)
    CASE_ROW(grid_conv, grid_conv)
    CASE_ROW(gather_rows, gather_rows)
    CASE_ROW(scatter, scatter)
    CASE_ROW(segment_sum, segment)
    CASE_ROW(segment_mean, segment)
    CASE_ROW(segment_max, segment)
    CASE_ROW(segment_softmax, segment_softmax)
    CASE_ROW(layer_norm, layer_norm)
    CASE_ROW(softmax, softmax)
    CASE_ROW(log_softmax, log_softmax)
    CASE_ROW(categorical, categorical)
    CASE_ROW(categorical_sample, categorical_sample)
    CASE_ROW(gaussian_shared, gaussian_shared)
    CASE_ROW(gaussian_rows, gaussian_rows)
    CASE_ROW(gaussian_sample, gaussian_sample)
    CASE_ROW(graph_attention, graph_attention)
    CASE_ROW(graph_attention_graphs, graph_attention_graphs)
    CASE_ROW(attention, attention)
    CASE_ROW(attention_prefix, attention_prefix)
    CASE_ROW(rotary, rotary)
    CASE_ROW(lru, lru)
    CASE_OF(lru_long, lru, lru_long)
    CASE_ROW(gru, gru)
    CASE_ROW(mse, loss)
    CASE_ROW(huber, loss)
    CASE_ROW(cross_entropy, cross_entropy)
    CASE_ROW(ppo_policy, ppo_policy)
    CASE_ROW(ppo_value, loss)
    CASE_ROW(ppo_value_square, loss)
    CASE_ROW(returns, returns)
    CASE_ROW(windows, windows)
    CASE_ROW(statistics, statistics)
    CASE_ROW(popart, popart)
    CASE_ROW(optimisers, optimisers)
    /* sizes go by the place in the table: new cases to the end */
    CASE_ROW(segment_indexed, segment_indexed)
    CASE_ROW(normalise, normalise)
    CASE_ROW(rms_norm, rms_norm)
    CASE_ROW(packed, packed)
    CASE_ROW(packed_half, packed_half)
    CASE_ROW(quantised, quantised)
    CASE_OF(softmax_open, softmax, elementwise)
    CASE_OF(categorical_open, categorical, categorical_open)
    CASE_OF(categorical_sample_open, categorical_sample, categorical_sample_open)
    CASE_OF(cross_entropy_open, cross_entropy, cross_entropy_open)
    CASE_OF(graph_attention_rests, graph_attention, graph_attention_rests)
};
// clang-format on
const int n_kernel_cases = (int)(sizeof kernel_cases / sizeof *kernel_cases);

case_layout case_layout_sized(const kernel_case *c, int64_t rows, int64_t a, int64_t b, int64_t width_c) {
    case_layout l = {.rows = rows, .a = a, .b = b, .c = width_c};
    c->layout(&l, 1000 + (uint64_t)rows);
    return l;
}

case_layout case_layout_make(const kernel_case *c, int variant) {
    case_layout l = {0};
    uint64_t seed = 1000 + (uint64_t)variant;
    uint32_t salt = (uint32_t)(c - kernel_cases) * 8;
    l.rows = variant == 0 ? 0 : variant == 1 ? 1 : 2 + case_below(seed, salt, variant == 2 ? 600 : 30);
    l.a = variant == 3 ? 1 : 2 + case_below(seed, salt + 1, 40);
    l.b = 2 + case_below(seed, salt + 2, 20);
    l.c = 1 + case_below(seed, salt + 3, 9);
    if (variant == 2) l.a = l.a > 20 ? l.a - 15 : l.a;
    c->layout(&l, seed);
    return l;
}

bool case_adds(const case_layout *l, int input) {
    return l->rule[input] == CASE_ASKED ? l->add == CASE_ADDED : l->rule[input] == CASE_ALWAYS_ADDED;
}

void case_hold(case_layout *l, case_add add, double added_to, double written_over) {
    l->add = add;
    for (int i = 0; i < CASE_INPUTS; ++i) l->held[i] = case_adds(l, i) ? added_to : written_over;
}

void case_layout_free(case_layout *l) {
    for (int i = 0; i < CASE_INDICES; ++i) free(l->index_values[i]);
    free(l->row_ends);
}
