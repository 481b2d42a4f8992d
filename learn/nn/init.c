/* Initial values of parameters. */
#include "learn/nn/parameters.h"

#include <math.h>
#include <string.h>

#include <xxhash.h>

#include "base/random.h"

/* Four words per counter; a parameter's stream is its name, so declaration order does not matter. */
typedef struct draws {
    lud_random_key key;
} draws;

static uint32_t word(const draws *d, int64_t i) {
    const uint64_t block = (uint64_t)i / 4;
    const lud_words words =
        lud_draw(d->key, (uint32_t)(block >> 32), (uint32_t)block, LUD_PURPOSE_PARAMETERS, 0);
    return words.v[i % 4];
}

static double uniform(const draws *d, int64_t i) {
    return lud_unit(word(d, i));
}

static double normal(const draws *d, int64_t i) {
    double pair[2];
    lud_normal_pair(word(d, i & ~INT64_C(1)), word(d, i | 1), pair);
    return pair[i & 1];
}

/* |lambda| of the ring's element i: uniform in area between the radii a and b. */
static double ring_radius(const lud_init *init, const draws *d, int64_t i) {
    const double inner = init->a * init->a, outer = init->b * init->b;
    return sqrt(inner + (outer - inner) * (1.0 - uniform(d, i)));
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
                     uint64_t seed, double *values) {
    int64_t n = 1, rows = n_dimensions ? dimensions[0] : 1;
    for (int i = 0; i < n_dimensions; i++) n *= dimensions[i];
    if (n == 0) return;
    const int64_t columns = n / rows;
    const double fan_in = init->fan_in ? (double)init->fan_in : (double)columns;
    int64_t receptive = 1; /* cells of a convolution's kernel */
    for (int i = 2; i < n_dimensions; i++) receptive *= dimensions[i];
    const double fan_out = (double)(rows * receptive);
    const char *stream = init->stream ? init->stream : name;
    const draws d = {{seed, (uint32_t)XXH3_64bits(stream, strlen(stream))}};

    double bound = init->a;
    if (init->kind == LUD_INIT_FAN_IN) bound = 1.0 / sqrt(fan_in);
    if (init->kind == LUD_INIT_XAVIER) bound = init->a * sqrt(6.0 / (fan_in + fan_out));
    const double deviation = init->kind == LUD_INIT_KAIMING ? init->a / sqrt(fan_in) : init->a;
    for (int64_t i = 0; i < n; i++) {
        switch (init->kind) {
        case LUD_INIT_CONSTANT:
            values[i] = init->a;
            break;
        case LUD_INIT_UNIFORM:
        case LUD_INIT_FAN_IN:
        case LUD_INIT_XAVIER:
            values[i] = bound * (2.0 * uniform(&d, i) - 1.0);
            break;
        case LUD_INIT_NORMAL:
        case LUD_INIT_KAIMING:
            values[i] = deviation * normal(&d, i);
            break;
        case LUD_INIT_ORTHOGONAL:
            values[i] = normal(&d, i);
            break;
        case LUD_INIT_LRU_NU:
            values[i] = log(-log(ring_radius(init, &d, i)));
            break;
        case LUD_INIT_LRU_THETA:
            values[i] = log(init->a * (1.0 - uniform(&d, i)));
            break;
        case LUD_INIT_LRU_GAMMA: {
            const double radius = ring_radius(init, &d, i);
            values[i] = 0.5 * log1p(-radius * radius);
            break;
        }
        }
    }
    if (init->kind == LUD_INIT_ORTHOGONAL) {
        if (rows <= columns)
            orthonormalise(values, rows, columns, columns, 1);
        else
            orthonormalise(values, columns, 1, rows, columns);
        for (int64_t i = 0; i < n; i++) values[i] *= init->a;
    }
}
