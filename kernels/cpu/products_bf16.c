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

/* The result is cut into tiles of at most so many rows, of gradients of weights, which have few rows and long
 * sums, into smaller ones. Sums are cut into chunks of CHUNK terms; the last one is filled with zeros up to a
 * multiple of GRAIN. Rows go in pieces of a multiple of PIECE, and what is left in one of its own, so that
 * few shapes exist. */
enum {
    TILE_ROWS = 128,
    GRADIENT_ROWS = 64,
    CHUNK = 1024,
    GRAIN = 32,
    PIECE = 16,
    MAX_PRIMITIVES = 1024,
    BUCKETS = 256,
    TILE_SIZE = TILE_ROWS * CHUNK
};

/* c[m][n] (+)= a[m][k] b[k][n], b packed: everything the library must know in advance. Compared as bytes.
 * Rows lie behind each other: with gaps between them the library has only its slowest way. */
typedef struct product_key {
    int64_t m, n, k, add;
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
    product_primitive *buckets[BUCKETS];
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
    for (int i = 0; i < BUCKETS; ++i)
        while (s->buckets[i]) {
            product_primitive *p = s->buckets[i];
            s->buckets[i] = p->next;
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

static bool matrix(lud_device *device, int64_t rows, int64_t columns, dnnl_data_type_t type,
                   dnnl_memory_desc_t *description) {
    const dnnl_dims_t dims = {rows, columns};
    return LUD_ONEDNN(device, lud_onednn.memory_desc_init_by_tag(description, 2, dims, type, dnnl_ab));
}

/* Columns that lie together in a packed second factor: as many as the library takes at a time. */
static int64_t packed_columns(int64_t n) {
    return n > 48 ? 64 : (n + 15) / 16 * 16;
}

/* The layout that the library's kernel reads: columns in stretches of packed_columns, each of all terms in
 * ascending order, where the two terms of a pair stand side by side. It would pack a plain matrix anew for
 * every few rows. */
static bool packed(lud_device *device, int64_t k, int64_t n, dnnl_memory_desc_t *description) {
    static const dnnl_format_tag_t tags[] = {dnnl_BA16a16b2a, dnnl_BA16a32b2a, dnnl_BA16a48b2a,
                                             dnnl_BA16a64b2a};
    const dnnl_dims_t dims = {k, n};
    return LUD_ONEDNN(device, lud_onednn.memory_desc_init_by_tag(description, 2, dims, dnnl_bf16,
                                                                 tags[packed_columns(n) / 16 - 1]));
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
        matrix(device, key->m, key->k, dnnl_bf16, &a) && packed(device, key->k, key->n, &b) &&
        matrix(device, key->m, key->n, dnnl_f32, &c) &&
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

static product_primitive **bucket_of(slot *s, const product_key *key) {
    const int64_t mixed = key->m + 37 * key->k + 1009 * key->n + 131 * key->add;
    return &s->buckets[(uint64_t)mixed * UINT64_C(0x9e3779b97f4a7c15) >> 56];
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
    product_primitive **bucket = bucket_of(s, key);
    p->next = *bucket;
    *bucket = p;
    s->n_primitives++;
    return p;
}

static void primitive_run(lud_device *device, slot *s, const product_key *key, const uint16_t *a,
                          const uint16_t *b, float *c) {
    product_primitive *p = *bucket_of(s, key);
    while (p && memcmp(&p->key, key, sizeof *key) != 0) p = p->next;
    if (!p) p = primitive_create(device, s, key);
    if (!p || !LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(p->a, (void *)a)) ||
        !LUD_ONEDNN(device, lud_onednn.memory_set_data_handle(p->b, (void *)b)) ||
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

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t grains(int64_t k) {
    return (k + GRAIN - 1) / GRAIN * GRAIN;
}

/* A factor, with terms (the index of the sums) and lines (the other index): from x[terms][lines] when
 * `terms_first`, else from x[lines][terms]. Either is packed or becomes lines of terms, to[lines][terms]; in
 * chunks of CHUNK terms, with zeros up to a grain of terms, and up to as many lines as go together. */
typedef struct factor {
    bool terms_first, pack;
    int64_t terms, lines, ld;
    const float *x;
    uint16_t *to;
} factor;

/* Terms and lines that are turned at a time: 16 registers of 16 pairs. */
enum { BLOCK_TERMS = 32, BLOCK_LINES = 16, BLOCK_PAIRS = 16 };

#if defined(__x86_64__)
#define WITH_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

/* to[columns] from x[columns]. */
WITH_BF16 static void round_row(int64_t columns, const float *x, uint16_t *to) {
    int64_t j = 0;
    for (; j + 16 <= columns; j += 16) {
        const __m256bh y = _mm512_cvtneps_pbh(_mm512_loadu_ps(x + j));
        memcpy(to + j, &y, sizeof y);
    }
    for (; j < columns; ++j) to[j] = rounded(x[j]);
}

#define ALWAYS_INLINE __attribute__((always_inline)) static inline
#define UNROLL        _Pragma("GCC unroll 16")

/* Up to 16 numbers, zeros behind them. */
WITH_BF16 ALWAYS_INLINE __m512 load_some(const float *x, int64_t n) {
    const uint32_t mask = n >= 16 ? 0xffff : n <= 0 ? 0 : (1u << n) - 1;
    return _mm512_maskz_loadu_ps((__mmask16)mask, x);
}

WITH_BF16 ALWAYS_INLINE __m512i round_both(__m512 low, __m512 high) {
    const __m512bh y = _mm512_cvtne2ps_pbh(high, low);
    __m512i bits;
    memcpy(&bits, &y, sizeof bits);
    return bits;
}

/* 16 x 16 words of 32 bits, in four steps of pairs, quadruples, halves and wholes. */
WITH_BF16 ALWAYS_INLINE void turn(__m512i r[16]) {
    __m512i t[16];
    UNROLL
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 16; i += 4) UNROLL
    for (int j = 0; j < 2; ++j) {
        r[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
        r[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
    UNROLL
    for (int i = 0; i < 16; i += 8) UNROLL
    for (int j = 0; j < 4; ++j) {
        t[i + j] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0x88);
        t[i + j + 4] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0xdd);
    }
    UNROLL
    for (int j = 0; j < 8; ++j) {
        r[j] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88);
        r[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd);
    }
}

/* A block from x on, of so many terms and lines; zeros stand for what is missing. Pairs of terms become rows
 * of the result where it is packed, else lines do; its rows lie `stride` numbers apart. */
WITH_BF16 ALWAYS_INLINE void block_of_terms(bool pack, const float *x, int64_t ld, int64_t terms,
                                            int64_t lines, uint16_t *to, int64_t stride) {
    const __m512i side_by_side = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                                  8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i r[16];
    UNROLL
    for (int i = 0; i < 16; ++i) {
        const __m512 low = load_some(x + 2 * i * ld, 2 * i < terms ? lines : 0);
        const __m512 high = load_some(x + (2 * i + 1) * ld, 2 * i + 1 < terms ? lines : 0);
        r[i] = _mm512_permutexvar_epi16(side_by_side, round_both(low, high));
    }
    if (!pack) turn(r);
    UNROLL
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * stride, r[i]);
}

WITH_BF16 ALWAYS_INLINE void block_of_lines(bool pack, const float *x, int64_t ld, int64_t terms,
                                            int64_t lines, uint16_t *to, int64_t stride) {
    __m512i r[16];
    UNROLL
    for (int i = 0; i < 16; ++i)
        r[i] = round_both(load_some(x + i * ld, i < lines ? terms : 0),
                          load_some(x + i * ld + 16, i < lines ? terms - 16 : 0));
    if (pack) turn(r);
    UNROLL
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * stride, r[i]);
}

/* Whole blocks without masks. */
#define ROUND_BLOCK(block, pack)                                                                             \
    (terms >= BLOCK_TERMS && lines >= BLOCK_LINES)                                                           \
        ? block(pack, x, f->ld, BLOCK_TERMS, BLOCK_LINES, to, stride)                                        \
        : block(pack, x, f->ld, terms, lines, to, stride)
WITH_BF16 static void round_block(const factor *f, const float *x, int64_t terms, int64_t lines, uint16_t *to,
                                  int64_t stride) {
    if (f->terms_first && f->pack)
        ROUND_BLOCK(block_of_terms, true);
    else if (f->terms_first)
        ROUND_BLOCK(block_of_terms, false);
    else if (f->pack)
        ROUND_BLOCK(block_of_lines, true);
    else
        ROUND_BLOCK(block_of_lines, false);
}
#else
static void round_row(int64_t columns, const float *x, uint16_t *to) {
    for (int64_t j = 0; j < columns; ++j) to[j] = rounded(x[j]);
}

static void round_block(const factor *f, const float *x, int64_t terms, int64_t lines, uint16_t *to,
                        int64_t stride) {
    for (int64_t l = 0; l < BLOCK_TERMS; ++l)
        for (int64_t j = 0; j < BLOCK_LINES; ++j) {
            const int64_t at = f->terms_first ? l * f->ld + j : j * f->ld + l;
            to[f->pack ? l / 2 * stride + 2 * j + l % 2 : j * stride + l] =
                l < terms && j < lines ? rounded(x[at]) : 0;
        }
}
#endif

/* to[rows][ld_to] from x[rows][columns], zeros beyond. */
static void round_matrix(int64_t rows, int64_t columns, const float *x, int64_t ld, int64_t ld_to,
                         uint16_t *to) {
    for (int64_t i = 0; i < rows; ++i) {
        round_row(columns, x + i * ld, to + i * ld_to);
        for (int64_t j = columns; j < ld_to; ++j) to[i * ld_to + j] = 0;
    }
}

/* Lines of a factor with those that fill it up. */
static int64_t padded_lines(bool pack, int64_t lines) {
    const int64_t together = pack ? packed_columns(lines) : BLOCK_LINES;
    return (lines + together - 1) / together * together;
}

static int64_t factor_size(bool pack, int64_t terms, int64_t lines) {
    return grains(terms) * padded_lines(pack, lines);
}

/* Where the block with this term and line goes, and how far apart its rows are. */
static uint16_t *block_place(const factor *f, int64_t term, int64_t line, int64_t *stride) {
    const int64_t chunk = term / CHUNK * CHUNK, size = grains(least(CHUNK, f->terms - chunk));
    uint16_t *to = f->to + chunk * padded_lines(f->pack, f->lines);
    if (!f->pack) {
        *stride = size;
        return to + line * size + term - chunk;
    }
    const int64_t together = packed_columns(f->lines);
    *stride = 2 * together;
    return to + line / together * together * size + (term - chunk) * together + line % together * 2;
}

/* Rows of the source that are rounded at a time. */
enum { FACTOR_ROWS = 64 };

static int64_t factor_jobs(const factor *f) {
    const int64_t rows = f->terms_first ? f->terms : padded_lines(f->pack, f->lines);
    return (rows + FACTOR_ROWS - 1) / FACTOR_ROWS;
}

static void factor_job(const factor *f, int64_t job) {
    const int64_t first = job * FACTOR_ROWS, lines = padded_lines(f->pack, f->lines);
    const int64_t first_term = f->terms_first ? first : 0, first_line = f->terms_first ? 0 : first;
    const int64_t end_term = f->terms_first ? least(first + FACTOR_ROWS, f->terms) : f->terms;
    const int64_t end_line = f->terms_first ? lines : least(first + FACTOR_ROWS, lines);
    for (int64_t l = first_term; l < end_term; l += BLOCK_TERMS)
        for (int64_t j = first_line; j < end_line; j += BLOCK_LINES) {
            int64_t stride;
            uint16_t *to = block_place(f, l, j, &stride);
            const float *x = f->x + (f->terms_first ? l * f->ld + j : j * f->ld + l);
            round_block(f, x, f->terms - l, f->lines - j, to, stride);
        }
}

/* x[rows][columns] as it is after rounding, as float32. */
static void round_copy(int64_t rows, int64_t columns, const float *x, int64_t ld, float *to) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = widened(rounded(x[i * ld + j]));
}

/* ---- products ---- */

typedef struct product {
    bool add;
    int64_t m, n, k, lda, ldc, tile_rows;
    const float *a;         /* [m][lda], each tile rounds its own rows */
    const uint16_t *turned; /* or, if not null: lines of terms */
    const uint16_t *b;      /* packed */
    float *c;
} product;

/* What a thread has for a tile: a chunk of its rows of the first factor, and its rows of the result where
 * those do not lie behind each other. */
typedef struct tile {
    uint16_t *a;
    float *c;
} tile;

/* Rows of a tile: an even number of nearly equal ones, as in products.c. */
static int64_t tile_rows(int64_t m, int64_t most) {
    const int64_t n_tiles = m <= PIECE ? 1 : (m + 2 * most - 1) / (2 * most) * 2;
    return ((m + n_tiles - 1) / n_tiles + PIECE - 1) / PIECE * PIECE;
}

static int64_t tile_jobs(const product *p) {
    return (p->m + p->tile_rows - 1) / p->tile_rows;
}

/* One chunk of the sums of some rows of the result, c. */
static void tile_chunk(lud_device *device, slot *s, const product *p, int64_t first, int64_t rows, int64_t l,
                       uint16_t *rounded, float *c) {
    const int64_t terms = least(CHUNK, p->k - l), padded = grains(terms);
    const uint16_t *a = rounded;
    if (p->turned)
        a = p->turned + l * padded_lines(false, p->m) + first * padded;
    else
        round_matrix(rows, terms, p->a + first * p->lda + l, p->lda, padded, rounded);
    for (int64_t i = 0, piece; i < rows; i += piece) {
        piece = rows - i >= PIECE ? (rows - i) / PIECE * PIECE : rows - i;
        product_key key;
        memset(&key, 0, sizeof key);
        key = (product_key){.m = piece, .n = p->n, .k = padded, .add = p->add || l > 0};
        primitive_run(device, s, &key, a + i * padded, p->b + l * padded_lines(true, p->n), c + i * p->n);
    }
}

static void copy_rows(int64_t rows, int64_t columns, const float *from, int64_t ld, float *to,
                      int64_t ld_to) {
    for (int64_t i = 0; i < rows; ++i) memcpy(to + i * ld_to, from + i * ld, (size_t)columns * sizeof *to);
}

static void tile_job(lud_device *device, slot *s, const product *p, int64_t job, tile own) {
    const int64_t first = job * p->tile_rows, rows = least(p->tile_rows, p->m - first);
    float *to = p->c + first * p->ldc, *c = p->ldc == p->n ? to : own.c;
    if (c != to && p->add) copy_rows(rows, p->n, to, p->ldc, c, p->n);
    for (int64_t l = 0; l < p->k; l += CHUNK) tile_chunk(device, s, p, first, rows, l, own.a, c);
    if (c != to) copy_rows(rows, p->n, c, p->n, to, p->ldc);
}

/* Room for a tile's rows of the result, in units of the rounded factors. */
static int64_t tile_result(const product *p) {
    return p->ldc == p->n ? 0 : (p->tile_rows * p->n * 2 + 31) / 32 * 32;
}

/* Rounds the factors and multiplies; no product needs the result of another. Tiles are taken in turn, those
 * of the first product first. */
static void run(lud_device *device, int n_factors, const factor *factors, int n_products,
                const product *products, uint16_t *memory) {
    lud_cpu_bf16 *bf16 = state_of(device);
    if (!bf16) return;
    int64_t n_roundings = 0, n_tiles = 0, work = 0, tile_size = TILE_SIZE + tile_result(&products[0]);
    for (int i = 0; i < n_factors; ++i) n_roundings += factor_jobs(&factors[i]);
    for (int i = 0; i < n_products; ++i) {
        n_tiles += tile_jobs(&products[i]);
        work += products[i].m * products[i].n * products[i].k;
    }
    const int n_threads = lud_cpu_threads(device, work / 16);
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const int self = omp_get_thread_num();
        const lud_onednn_settings before = lud_onednn_enter();
#pragma omp for schedule(dynamic)
        for (int64_t job = 0; job < n_roundings; ++job) {
            int64_t own = job;
            const factor *f = factors;
            for (; own >= factor_jobs(f); ++f) own -= factor_jobs(f);
            factor_job(f, own);
        }
#pragma omp for schedule(dynamic)
        for (int64_t job = 0; job < n_tiles; ++job) {
            int64_t own = job;
            const product *p = products;
            for (; own >= tile_jobs(p); ++p) own -= tile_jobs(p);
            uint16_t *at = memory + self * tile_size;
            tile_job(device, &bf16->slots[self], p, own, (tile){at, (float *)(void *)(at + TILE_SIZE)});
        }
        lud_onednn_leave(before);
    }
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
    product p = {.add = beta != 0,
                 .m = m,
                 .n = n,
                 .k = k,
                 .lda = lda,
                 .ldc = ldc,
                 .tile_rows = tile_rows(m, transpose_a ? GRADIENT_ROWS : TILE_ROWS),
                 .a = a,
                 .c = c};
    /* tiles first: all begin at a line of 64 bytes */
    const int64_t n_tiles = device->n_threads * (TILE_SIZE + tile_result(&p));
    const int64_t a_size = transpose_a ? factor_size(false, k, m) : 0, b_size = factor_size(true, k, n);
    uint16_t *memory = lud_cpu_operand_scratch(device, (size_t)(n_tiles + a_size + b_size) * sizeof *memory);
    if (!memory) return;
    uint16_t *turned = memory + n_tiles, *packed_b = turned + a_size;
    const factor factors[] = {{!transpose_b, true, k, n, ldb, b, packed_b},
                              {true, false, k, m, lda, a, turned}};
    p.b = packed_b;
    if (transpose_a) p.turned = turned;
    run(device, transpose_a ? 2 : 1, factors, 1, &p, memory);
}

bool lud_cpu_bf16_linear_backward(lud_device *device, int64_t n, int64_t n_in, int64_t n_out, const float *g,
                                  const float *x, const float *w, float *dx, bool add, float *dw) {
    if (n_in * n_out < LUD_CPU_FEW_WEIGHTS || !((lud_cpu *)device)->has_bf16) return false;
    const int64_t n_tiles = device->n_threads * TILE_SIZE, g_size = factor_size(false, n, n_out),
                  x_size = factor_size(true, n, n_in), w_size = factor_size(true, n_out, n_in);
    uint16_t *memory =
        lud_cpu_operand_scratch(device, (size_t)(n_tiles + g_size + x_size + w_size) * sizeof *memory);
    if (!memory) return true; /* and the device has failed */
    uint16_t *turned = memory + n_tiles, *packed_x = turned + g_size, *packed_w = packed_x + x_size;
    const factor factors[] = {{true, false, n, n_out, n_out, g, turned},
                              {true, true, n, n_in, n_in, x, packed_x},
                              {true, true, n_out, n_in, n_in, w, packed_w}};
    const product products[] = {{.add = true,
                                 .m = n_out,
                                 .n = n_in,
                                 .k = n,
                                 .ldc = n_in,
                                 .tile_rows = tile_rows(n_out, GRADIENT_ROWS),
                                 .turned = turned,
                                 .b = packed_x,
                                 .c = dw},
                                {.add = add,
                                 .m = n,
                                 .n = n_in,
                                 .k = n_out,
                                 .lda = n_out,
                                 .ldc = n_in,
                                 .tile_rows = tile_rows(n, TILE_ROWS),
                                 .a = g,
                                 .b = packed_w,
                                 .c = dx}};
    run(device, 3, factors, 2, products, memory);
    return true;
}
