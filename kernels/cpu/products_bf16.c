/* Matrix products of LUD_PRECISION_BF16: both factors are rounded to bfloat16 (to nearest, ties to even),
 * products of such numbers are exact in float32, and sums are taken in float32. Processors with AVX-512 BF16
 * or AMX do two to sixteen times as many of them as products of float32; elsewhere the rounded factors are
 * multiplied as float32. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/onednn.h"
#include "kernels/cpu/products.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The result is cut into tiles of so many rows, of gradients of weights (first factor transposed), which have
 * few rows, into smaller ones. Sums are cut into chunks of CHUNK terms; the last one is filled with zeros up
 * to a multiple of GRAIN, so that few shapes exist. */
enum {
    TILE_ROWS = 128,
    GRADIENT_ROWS = 64,
    CHUNK = 1024,
    GRAIN = 32,
    MAX_PRIMITIVES = 1024,
    TILE_SIZE = TILE_ROWS * CHUNK
};

/* c[m][n] (+)= op(a)[m][k] op(b)[k][n]: everything the library must know in advance. Compared as bytes. */
typedef struct product_key {
    int64_t m, n, k, lda, ldb, ldc, transpose_a, transpose_b, add;
} product_key;

typedef struct product_primitive {
    product_key key;
    dnnl_primitive_t primitive;
    dnnl_memory_t a, b, c, scratch; /* scratch: null where none is needed */
    struct product_primitive *next;
} product_primitive;

/* What one thread has: the library's objects hold pointers. */
typedef struct slot {
    dnnl_stream_t stream;
    void *scratch; /* as much as the most demanding primitive needs */
    size_t scratch_bytes;
    product_primitive *first;
    int64_t n_primitives;
} slot;

struct lud_cpu_bf16 {
    dnnl_engine_t engine;
    int n_slots;
    slot *slots;
};

/* ---- the library's objects ---- */

static void primitive_destroy(product_primitive *p) {
    dnnl_memory_t memory[] = {p->a, p->b, p->c, p->scratch};
    for (int i = 0; i < 4; ++i)
        if (memory[i]) lud_onednn.memory_destroy(memory[i]);
    if (p->primitive) lud_onednn.primitive_destroy(p->primitive);
    free(p);
}

static void primitives_destroy(slot *s) {
    while (s->first) {
        product_primitive *p = s->first;
        s->first = p->next;
        primitive_destroy(p);
    }
    s->n_primitives = 0;
}

void lud_cpu_bf16_destroy(lud_cpu_bf16 *bf16) {
    if (!bf16) return;
    for (int i = 0; i < bf16->n_slots; ++i) {
        primitives_destroy(&bf16->slots[i]);
        lud_onednn.stream_destroy(bf16->slots[i].stream);
        free(bf16->slots[i].scratch);
    }
    lud_onednn.engine_destroy(bf16->engine);
    free(bf16->slots);
    free(bf16);
}

static void *out_of_memory(lud_device *device) {
    lud_cpu_fail(device, LUD_ERROR_MEMORY, "out of memory for products in bfloat16");
    return 0;
}

/* Null when memory is out. */
static lud_cpu_bf16 *state_of(lud_device *device) {
    lud_cpu *cpu = (lud_cpu *)device;
    if (!cpu->bf16) {
        lud_cpu_bf16 *made = calloc(1, sizeof *made);
        if (!made) return out_of_memory(device);
        if (!LUD_ONEDNN(device, lud_onednn.engine_create(&made->engine, dnnl_cpu, 0))) {
            free(made);
            return 0;
        }
        cpu->bf16 = made;
    }
    lud_cpu_bf16 *bf16 = cpu->bf16;
    if (bf16->n_slots < device->n_threads) {
        slot *slots = realloc(bf16->slots, (size_t)device->n_threads * sizeof *slots);
        if (!slots) return out_of_memory(device);
        bf16->slots = slots;
        for (; bf16->n_slots < device->n_threads; ++bf16->n_slots) {
            slot *s = &slots[bf16->n_slots];
            *s = (slot){0};
            if (!LUD_ONEDNN(device,
                            lud_onednn.stream_create(&s->stream, bf16->engine, dnnl_stream_default_flags)))
                return 0;
        }
    }
    return bf16;
}

static bool matrix(lud_device *device, int64_t rows, int64_t columns, int64_t ld, bool transposed,
                   dnnl_data_type_t type, dnnl_memory_desc_t *description) {
    const dnnl_dims_t dims = {rows, columns}, strides = {transposed ? 1 : ld, transposed ? ld : 1};
    return LUD_ONEDNN(device, lud_onednn.memory_desc_init_by_strides(description, 2, dims, type, strides));
}

static bool scratch_grow(lud_device *device, slot *s, size_t bytes) {
    if (bytes <= s->scratch_bytes) return true;
    free(s->scratch);
    s->scratch_bytes = (bytes + 4095) / 4096 * 4096;
    s->scratch = aligned_alloc(4096, s->scratch_bytes);
    if (s->scratch) return true;
    s->scratch_bytes = 0;
    out_of_memory(device);
    return false;
}

/* Everything of a primitive whose key is known. */
static bool primitive_make(lud_device *device, dnnl_engine_t engine, slot *s, product_primitive *p) {
    const product_key *key = &p->key;
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t product;
    dnnl_primitive_attr_t attributes = 0;
    dnnl_primitive_desc_t description = 0;
    bool ok =
        matrix(device, key->m, key->k, key->lda, key->transpose_a, dnnl_bf16, &a) &&
        matrix(device, key->k, key->n, key->ldb, key->transpose_b, dnnl_bf16, &b) &&
        matrix(device, key->m, key->n, key->ldc, false, dnnl_f32, &c) &&
        LUD_ONEDNN(device, lud_onednn.matmul_desc_init(&product, &a, &b, 0, &c)) &&
        lud_onednn_attributes(device, false, key->add, &attributes) &&
        LUD_ONEDNN(device, lud_onednn.primitive_desc_create(&description, &product, attributes, engine, 0)) &&
        LUD_ONEDNN(device, lud_onednn.primitive_create(&p->primitive, description)) &&
        LUD_ONEDNN(device, lud_onednn.memory_create(&p->a, &a, engine, DNNL_MEMORY_NONE)) &&
        LUD_ONEDNN(device, lud_onednn.memory_create(&p->b, &b, engine, DNNL_MEMORY_NONE)) &&
        LUD_ONEDNN(device, lud_onednn.memory_create(&p->c, &c, engine, DNNL_MEMORY_NONE));
    const dnnl_memory_desc_t *scratch =
        ok ? dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0) : 0;
    const size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    if (bytes > 0)
        ok = LUD_ONEDNN(device, lud_onednn.memory_create(&p->scratch, scratch, engine, DNNL_MEMORY_NONE)) &&
             scratch_grow(device, s, bytes);
    if (description) lud_onednn.primitive_desc_destroy(description);
    if (attributes) lud_onednn.primitive_attr_destroy(attributes);
    return ok;
}

/* Null when memory is out. */
static product_primitive *primitive_create(lud_device *device, slot *s, const product_key *key) {
    if (s->n_primitives == MAX_PRIMITIVES) primitives_destroy(s);
    product_primitive *p = calloc(1, sizeof *p);
    if (!p) return out_of_memory(device);
    p->key = *key;
    if (!primitive_make(device, ((lud_cpu *)device)->bf16->engine, s, p)) {
        primitive_destroy(p);
        return 0;
    }
    p->next = s->first;
    s->first = p;
    s->n_primitives++;
    return p;
}

static void primitive_run(lud_device *device, slot *s, const product_key *key, uint16_t *a, uint16_t *b,
                          float *c) {
    product_primitive *p = s->first;
    while (p && (p->key.m != key->m || p->key.k != key->k || memcmp(&p->key, key, sizeof *key) != 0))
        p = p->next;
    if (!p) p = primitive_create(device, s, key);
    if (!p || !LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(p->a, a)) ||
        !LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(p->b, b)) ||
        !LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(p->c, c)) ||
        (p->scratch && !LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(p->scratch, s->scratch))))
        return;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, p->a},
                                         {DNNL_ARG_WEIGHTS, p->b},
                                         {DNNL_ARG_DST, p->c},
                                         {DNNL_ARG_SCRATCHPAD, p->scratch}};
    if (LUD_ONEDNN(device,
                   lud_onednn.primitive_execute(p->primitive, s->stream, p->scratch ? 4 : 3, arguments)))
        LUD_ONEDNN(device, lud_onednn.stream_wait(s->stream));
}

/* ---- rounding ---- */

static uint16_t rounded(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40); /* not a number */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float widened(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* to[columns] from x[columns]. */
#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) static void
round_row(int64_t columns, const float *x, uint16_t *to) {
    int64_t j = 0;
    for (; j + 16 <= columns; j += 16) {
        const __m256bh y = _mm512_cvtneps_pbh(_mm512_loadu_ps(x + j));
        memcpy(to + j, &y, sizeof y);
    }
    for (; j < columns; ++j) to[j] = rounded(x[j]);
}
#else
static void round_row(int64_t columns, const float *x, uint16_t *to) {
    for (int64_t j = 0; j < columns; ++j) to[j] = rounded(x[j]);
}
#endif

/* to[padded_rows][ld_to] from x[rows][columns], zeros beyond. */
static void round_matrix(int64_t rows, int64_t columns, const float *x, int64_t ld, int64_t padded_rows,
                         int64_t ld_to, uint16_t *to) {
    for (int64_t i = 0; i < rows; ++i) {
        round_row(columns, x + i * ld, to + i * ld_to);
        for (int64_t j = columns; j < ld_to; ++j) to[i * ld_to + j] = 0;
    }
    if (padded_rows > rows) memset(to + rows * ld_to, 0, (size_t)((padded_rows - rows) * ld_to) * sizeof *to);
}

/* ---- products ---- */

typedef struct product {
    bool transpose_a, transpose_b, add;
    int64_t m, n, k, lda, ldb, ldc, tile_rows; /* ldb: of the rounded factor */
    const float *a;
    uint16_t *rounded_a; /* null: each tile rounds its own; else lda belongs to it, with zeros up to a grain
                            of terms */
    uint16_t *b;
    float *c;
} product;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t grains(int64_t k) {
    return (k + GRAIN - 1) / GRAIN * GRAIN;
}

/* Some rows of the result; tile[]: memory for the rounded factor of one chunk. */
static void tile_job(lud_device *device, slot *s, const product *p, int64_t first, uint16_t *tile) {
    const int64_t rows = least(p->tile_rows, p->m - first);
    for (int64_t l = 0; l < p->k; l += CHUNK) {
        const int64_t terms = least(CHUNK, p->k - l), padded = grains(terms);
        const int64_t from = p->transpose_a ? l * p->lda + first : first * p->lda + l;
        int64_t lda = p->lda;
        uint16_t *a = p->rounded_a ? p->rounded_a + from : tile;
        if (!p->rounded_a) {
            lda = p->transpose_a ? p->tile_rows : padded;
            if (p->transpose_a)
                round_matrix(terms, rows, p->a + from, p->lda, padded, lda, tile);
            else
                round_matrix(rows, terms, p->a + from, p->lda, rows, lda, tile);
        }
        uint16_t *b = p->b + (p->transpose_b ? l : l * p->ldb);
        /* the rows in powers of two: few shapes */
        for (int64_t i = 0, piece = p->tile_rows; i < rows; i += piece) {
            while (piece > rows - i) piece /= 2;
            product_key key;
            memset(&key, 0, sizeof key);
            key = (product_key){.m = piece,
                                .n = p->n,
                                .k = padded,
                                .lda = lda,
                                .ldb = p->ldb,
                                .ldc = p->ldc,
                                .transpose_a = p->transpose_a,
                                .transpose_b = p->transpose_b,
                                .add = p->add || l > 0};
            primitive_run(device, s, &key, a + (p->transpose_a ? i : i * lda), b,
                          p->c + (first + i) * p->ldc);
        }
    }
}

/* A whole factor, rounded: to[padded_rows][ld_to] from x[rows][columns]. */
static void round_factor(lud_device *device, int64_t rows, int64_t columns, const float *x, int64_t ld,
                         int64_t padded_rows, int64_t ld_to, uint16_t *to) {
    enum { ROWS = 64 };
    const int64_t n_jobs = (rows + ROWS - 1) / ROWS;
    const int n_threads = lud_cpu_threads(device, 2 * rows * columns);
#pragma omp parallel for schedule(static) num_threads(n_threads) if (n_threads > 1)
    for (int64_t job = 0; job < n_jobs; ++job) {
        const int64_t first = job * ROWS, n = least(ROWS, rows - first);
        round_matrix(n, columns, x + first * ld, ld, job + 1 < n_jobs ? n : padded_rows - first, ld_to,
                     to + first * ld_to);
    }
}

/* The second factor is rounded into p->b: [n][ldb] when transposed, else [terms up to a grain][ldb]. */
static void run(lud_device *device, const product *p, const float *b, int64_t ldb, uint16_t *tiles) {
    lud_cpu_bf16 *bf16 = state_of(device);
    if (!bf16) return;
    if (p->transpose_b)
        round_factor(device, p->n, p->k, b, ldb, p->n, p->ldb, p->b);
    else
        round_factor(device, p->k, p->n, b, ldb, grains(p->k), p->ldb, p->b);
    const int64_t n_jobs = (p->m + p->tile_rows - 1) / p->tile_rows;
    const int n_threads = n_jobs == 1 ? 1 : lud_cpu_threads(device, p->m * p->n * p->k / 16);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const int self = omp_get_thread_num();
        const lud_onednn_settings before = lud_onednn_enter();
#pragma omp for schedule(dynamic)
        for (int64_t job = 0; job < n_jobs; ++job)
            tile_job(device, &bf16->slots[self], p, job * p->tile_rows, tiles + self * TILE_SIZE);
        lud_onednn_leave(before);
    }
}

/* x[rows][columns] as it is after rounding, as float32. */
static void round_copy(int64_t rows, int64_t columns, const float *x, int64_t ld, float *to) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = widened(rounded(x[i * ld + j]));
}

void lud_cpu_bf16_product(lud_device *device, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                          int64_t k, float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc) {
    if ((transpose_a ? m * n : k * n) < LUD_CPU_FEW_WEIGHTS) {
        lud_cpu_sgemm(device, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return;
    }
    if (!((lud_cpu *)device)->has_bf16 || alpha != 1 || (beta != 0 && beta != 1)) {
        float *copy = lud_cpu_operand_scratch(device, (size_t)((m + n) * k) * sizeof *copy);
        if (!copy) return;
        const int64_t a_columns = transpose_a ? m : k, b_columns = transpose_b ? k : n;
        round_copy(transpose_a ? k : m, a_columns, a, lda, copy);
        round_copy(transpose_b ? n : k, b_columns, b, ldb, copy + m * k);
        lud_cpu_sgemm(device, transpose_a, transpose_b, m, n, k, alpha, copy, a_columns, copy + m * k,
                      b_columns, beta, c, ldc);
        return;
    }
    /* tiles first: all begin at a line of 64 bytes */
    const int64_t n_tiles = device->n_threads * TILE_SIZE;
    const int64_t b_size = transpose_b ? n * grains(k) : grains(k) * n;
    uint16_t *memory = lud_cpu_operand_scratch(device, (size_t)(n_tiles + b_size) * sizeof *memory);
    if (!memory) return;
    const product p = {.transpose_a = transpose_a,
                       .transpose_b = transpose_b,
                       .add = beta != 0,
                       .m = m,
                       .n = n,
                       .k = k,
                       .lda = lda,
                       .ldb = transpose_b ? grains(k) : n,
                       .ldc = ldc,
                       .tile_rows = transpose_a ? GRADIENT_ROWS : TILE_ROWS,
                       .a = a,
                       .b = memory + n_tiles,
                       .c = c};
    run(device, &p, b, ldb, memory);
}

bool lud_cpu_bf16_linear_backward(lud_device *device, int64_t n, int64_t n_in, int64_t n_out, const float *g,
                                  const float *x, const float *w, float *dx, bool add, float *dw) {
    if (n_in * n_out < LUD_CPU_FEW_WEIGHTS || !((lud_cpu *)device)->has_bf16) return false;
    const int64_t n_tiles = device->n_threads * TILE_SIZE, ld = grains(n_out);
    const int64_t g_size = grains(n) * ld, x_size = grains(n) * n_in, w_size = ld * n_in;
    uint16_t *memory = lud_cpu_operand_scratch(
        device, (size_t)(n_tiles + g_size + (x_size > w_size ? x_size : w_size)) * sizeof *memory);
    if (!memory) return true; /* and the device has failed */
    product p = {.add = add,
                 .m = n,
                 .n = n_in,
                 .k = n_out,
                 .lda = ld,
                 .ldb = n_in,
                 .ldc = n_in,
                 .tile_rows = TILE_ROWS,
                 .rounded_a = memory + n_tiles,
                 .b = memory + n_tiles + g_size,
                 .c = dx};
    round_factor(device, n, n_out, g, n_out, grains(n), ld, p.rounded_a);
    run(device, &p, w, n_in, memory);
    p.transpose_a = p.add = true;
    p.m = n_out;
    p.k = n;
    p.tile_rows = GRADIENT_ROWS;
    p.c = dw;
    run(device, &p, x, n_in, memory);
    return true;
}
