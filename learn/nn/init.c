/* Initial values of parameters. */
#include "learn/nn/parameters.h"

#include <math.h>
#include <string.h>

#include <xxhash.h>

#include "base/random.h"

/* What the values of one parameter are drawn from: four numbers a counter. A parameter's stream is its name,
 * so declaration order does not matter. */
typedef struct draws {
    lud_init_kind kind;
    lud_random_key key;
    double inner, outer;     /* of a ring: squares of its radii */
    double bound, deviation; /* of uniform and of normal numbers */
} draws;

/* |lambda| of a ring: uniform in area between its radii. */
static double ring_radius(const draws *d, double uniform) {
    return sqrt(d->inner + (d->outer - d->inner) * (1.0 - uniform));
}

static double value_of(const draws *d, double uniform, double normal) {
    switch (d->kind) {
    case LUD_INIT_CONSTANT:
        return d->bound;
    case LUD_INIT_UNIFORM:
    case LUD_INIT_FAN_IN:
    case LUD_INIT_XAVIER:
        return d->bound * (2.0 * uniform - 1.0);
    case LUD_INIT_NORMAL:
    case LUD_INIT_KAIMING:
        return d->deviation * normal;
    case LUD_INIT_ORTHOGONAL:
        return normal;
    case LUD_INIT_LRU_NU:
        return log(-log(ring_radius(d, uniform)));
    case LUD_INIT_LRU_THETA:
        return log(d->bound * (1.0 - uniform));
    case LUD_INIT_LRU_GAMMA: {
        const double radius = ring_radius(d, uniform);
        return 0.5 * log1p(-radius * radius);
    }
    }
    return 0.0;
}

/* Values 4 block ... of n. */
static void draw_block(const draws *d, int64_t block, int64_t n, double *values) {
    const bool normal =
        d->kind == LUD_INIT_NORMAL || d->kind == LUD_INIT_KAIMING || d->kind == LUD_INIT_ORTHOGONAL;
    const lud_words w =
        lud_draw(d->key, (uint32_t)((uint64_t)block >> 32), (uint32_t)block, LUD_PURPOSE_PARAMETERS, 0);
    double normals[4] = {0};
    if (normal) {
        lud_normal_pair(w.v[0], w.v[1], normals);
        lud_normal_pair(w.v[2], w.v[3], normals + 2);
    }
    for (int k = 0; k < 4 && 4 * block + k < n; k++)
        values[4 * block + k] = value_of(d, lud_unit(w.v[k]), normals[k]);
}

/* Gram-Schmidt, done twice against rounding, on `n` vectors of `length` standing `stride` apart with elements
 * `step` apart. n <= length. */
static void orthonormalise(double *m, int64_t n, int64_t stride, int64_t length, int64_t step) {
    for (int64_t i = 0; i < n; i++) {
        double *row = m + i * stride;
        for (int round = 0; round < 2; round++)
            for (int64_t j = 0; j < i; j++) {
                const double *other = m + j * stride;
                double dot = 0.0;
                for (int64_t k = 0; k < length; k++) dot += row[k * step] * other[k * step];
                for (int64_t k = 0; k < length; k++) row[k * step] -= dot * other[k * step];
            }
        double norm = 0.0;
        for (int64_t k = 0; k < length; k++) norm += row[k * step] * row[k * step];
        norm = 1.0 / sqrt(norm);
        for (int64_t k = 0; k < length; k++) row[k * step] *= norm;
    }
}

void lud_init_values(const lud_init *init, const char *name, int n_dimensions, const int64_t *dimensions,
                     uint64_t seed, int n_threads, double *values) {
    int64_t n = 1, rows = n_dimensions ? dimensions[0] : 1;
    for (int i = 0; i < n_dimensions; i++) n *= dimensions[i];
    if (n == 0) return;
    const int64_t columns = n / rows;
    const double fan_in = init->fan_in ? (double)init->fan_in : (double)columns;
    int64_t receptive = 1; /* cells of a convolution's kernel */
    for (int i = 2; i < n_dimensions; i++) receptive *= dimensions[i];
    const double fan_out = (double)(rows * receptive);
    const char *stream = init->stream ? init->stream : name;
    draws d = {.kind = init->kind,
               .key = {seed, (uint32_t)XXH3_64bits(stream, strlen(stream))},
               .inner = init->a * init->a,
               .outer = init->b * init->b,
               .bound = init->a,
               .deviation = init->a};
    if (init->kind == LUD_INIT_FAN_IN) d.bound = 1.0 / sqrt(fan_in);
    if (init->kind == LUD_INIT_XAVIER) d.bound = init->a * sqrt(6.0 / (fan_in + fan_out));
    if (init->kind == LUD_INIT_KAIMING) d.deviation = init->a / sqrt(fan_in);
    const int64_t n_blocks = (n + 3) / 4;
#pragma omp parallel for schedule(static) num_threads(n_threads) if (n_threads > 1 && n_blocks > 1 << 13)
    for (int64_t block = 0; block < n_blocks; block++) draw_block(&d, block, n, values);
    if (init->kind == LUD_INIT_ORTHOGONAL) {
        if (rows <= columns)
            orthonormalise(values, rows, columns, columns, 1);
        else
            orthonormalise(values, columns, 1, rows, columns);
        for (int64_t i = 0; i < n; i++) values[i] *= init->a;
    }
}
