/* Sixteen numbers at a time, for the kernels whose shape a compiler does not find by itself: one register
 * with AVX-512, two with AVX2, a vector of the compiler's elsewhere (and in double, where speed is not the
 * point). Memory that `load` and `store` touch needs no alignment. Included by the templates through real.h's
 * `real`. */
#pragma once

#include "kernels/cpu/real.h"

enum { VEC = 16 };

#if defined(__AVX512F__) && !defined(LUD_REAL_F64)
#include <immintrin.h>
#define VEC_AVX512
typedef __m512 vec;
#elif defined(__AVX2__) && defined(__FMA__) && !defined(LUD_REAL_F64)
#include <immintrin.h>
#define VEC_AVX2
typedef struct vec {
    __m256 low, high;
} vec;
#else
#define VEC_PLAIN
typedef real vec_numbers __attribute__((vector_size(VEC * sizeof(real)), aligned(sizeof(real))));
typedef struct vec {
    vec_numbers at;
} vec;
#endif

/* Before a loop of constant length over registers: kept in a loop they would live in memory. */
#if defined(__clang__)
#define UNROLL PRAGMA(unroll)
#else
#define UNROLL PRAGMA(GCC unroll 16)
#endif

#define VEC_INLINE static inline __attribute__((always_inline))

#if defined(VEC_PLAIN)
/* The compiler turns these into what the processor has. */
#define VEC_EACH(expression)                                                                                 \
    vec y;                                                                                                   \
    for (int i = 0; i < VEC; ++i) y.at[i] = (expression);                                                    \
    return y
VEC_INLINE vec vec_load(const real *x) {
    vec y;
    memcpy(&y, x, sizeof y);
    return y;
}
VEC_INLINE vec vec_all(real x) {
    return (vec){x - (vec_numbers){0}}; /* less zero, since -0 plus zero is not -0 */
}
VEC_INLINE vec vec_add(vec a, vec b) {
    return (vec){a.at + b.at};
}
VEC_INLINE vec vec_subtract(vec a, vec b) {
    return (vec){a.at - b.at};
}
VEC_INLINE vec vec_multiply(vec a, vec b) {
    return (vec){a.at * b.at};
}
VEC_INLINE vec vec_divide(vec a, vec b) {
    return (vec){a.at / b.at};
}
/* The larger; b where either is no number. */
VEC_INLINE vec vec_max(vec a, vec b) {
    VEC_EACH(a.at[i] > b.at[i] ? a.at[i] : b.at[i]);
}
VEC_INLINE vec vec_min(vec a, vec b) {
    VEC_EACH(a.at[i] < b.at[i] ? a.at[i] : b.at[i]);
}
VEC_INLINE vec vec_root(vec a) {
    VEC_EACH(real_sqrt(a.at[i]));
}
/* The bits of real_exp. */
VEC_INLINE vec vec_exp(vec a) {
    VEC_EACH(real_exp(a.at[i]));
}
/* a b + c, rounded once where the instruction set has that. */
VEC_INLINE vec vec_multiply_add(vec a, vec b, vec c) {
    return (vec){a.at * b.at + c.at};
}
VEC_INLINE void vec_store(real *y, vec x) {
    memcpy(y, &x, sizeof x);
}
/* Sixteen numbers kept as bfloat16. */
VEC_INLINE vec vec_load_half(const uint16_t *x) {
    vec y;
    for (int i = 0; i < VEC; ++i) {
        const uint32_t bits = (uint32_t)x[i] << 16;
        float single;
        memcpy(&single, &bits, sizeof single);
        y.at[i] = (real)single;
    }
    return y;
}
#undef VEC_EACH
#elif defined(VEC_AVX2)
VEC_INLINE vec vec_load(const float *x) {
    return (vec){_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
}
VEC_INLINE vec vec_all(float x) {
    return (vec){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
#define VEC_OF_TWO(name, operation)                                                                          \
    VEC_INLINE vec vec_##name(vec a, vec b) {                                                                \
        return (vec){_mm256_##operation##_ps(a.low, b.low), _mm256_##operation##_ps(a.high, b.high)};        \
    }
VEC_INLINE vec vec_root(vec a) {
    return (vec){_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)};
}
VEC_INLINE __m256 vec_exp_half(__m256 x) { /* lud_expf, operation by operation */
    const __m256 magic = _mm256_set1_ps(12582912.0f);
    x = _mm256_max_ps(_mm256_set1_ps(-105.0f), _mm256_min_ps(_mm256_set1_ps(89.0f), x)); /* NaN stays */
    const __m256 shifted = _mm256_add_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), magic);
    const __m256 n = _mm256_sub_ps(shifted, magic);
    const __m256i exponent = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(0x4b400000));
    __m256 r = _mm256_sub_ps(x, _mm256_mul_ps(n, _mm256_set1_ps(0.693145752f)));
    r = _mm256_sub_ps(r, _mm256_mul_ps(n, _mm256_set1_ps(1.42860677e-06f)));
    __m256 y = _mm256_set1_ps(1.0f / 5040.0f);
    y = _mm256_add_ps(_mm256_mul_ps(y, r), _mm256_set1_ps(1.0f / 720.0f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), _mm256_set1_ps(1.0f / 120.0f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), _mm256_set1_ps(1.0f / 24.0f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), _mm256_set1_ps(1.0f / 6.0f));
    y = _mm256_add_ps(_mm256_mul_ps(y, r), _mm256_set1_ps(0.5f));
    y = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(_mm256_mul_ps(y, r), r), r), _mm256_set1_ps(1.0f));
    const __m256i half = _mm256_srai_epi32(exponent, 1), bias = _mm256_set1_epi32(127);
    const __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    const __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(exponent, half), bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(y, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}
VEC_INLINE vec vec_exp(vec a) {
    return (vec){vec_exp_half(a.low), vec_exp_half(a.high)};
}
VEC_INLINE vec vec_multiply_add(vec a, vec b, vec c) {
    return (vec){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
VEC_INLINE void vec_store(float *y, vec x) {
    _mm256_storeu_ps(y, x.low);
    _mm256_storeu_ps(y + 8, x.high);
}
VEC_INLINE __m256 vec_widen_half(const uint16_t *x) {
    const __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)x);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16));
}
VEC_INLINE vec vec_load_half(const uint16_t *x) {
    return (vec){vec_widen_half(x), vec_widen_half(x + VEC / 2)};
}
#else
VEC_INLINE vec vec_load(const float *x) {
    return _mm512_loadu_ps(x);
}
VEC_INLINE vec vec_all(float x) {
    return _mm512_set1_ps(x);
}
#define VEC_OF_TWO(name, operation)                                                                          \
    VEC_INLINE vec vec_##name(vec a, vec b) {                                                                \
        return _mm512_##operation##_ps(a, b);                                                                \
    }
VEC_INLINE vec vec_root(vec a) {
    return _mm512_sqrt_ps(a);
}
VEC_INLINE vec vec_exp(vec x) { /* lud_expf, operation by operation; the power of two is one instruction */
    const __m512 magic = _mm512_set1_ps(12582912.0f);
    x = _mm512_max_ps(_mm512_set1_ps(-105.0f), _mm512_min_ps(_mm512_set1_ps(89.0f), x)); /* NaN stays */
    const __m512 shifted = _mm512_add_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), magic);
    const __m512 n = _mm512_sub_ps(shifted, magic);
    __m512 r = _mm512_sub_ps(x, _mm512_mul_ps(n, _mm512_set1_ps(0.693145752f)));
    r = _mm512_sub_ps(r, _mm512_mul_ps(n, _mm512_set1_ps(1.42860677e-06f)));
    __m512 y = _mm512_set1_ps(1.0f / 5040.0f);
    y = _mm512_add_ps(_mm512_mul_ps(y, r), _mm512_set1_ps(1.0f / 720.0f));
    y = _mm512_add_ps(_mm512_mul_ps(y, r), _mm512_set1_ps(1.0f / 120.0f));
    y = _mm512_add_ps(_mm512_mul_ps(y, r), _mm512_set1_ps(1.0f / 24.0f));
    y = _mm512_add_ps(_mm512_mul_ps(y, r), _mm512_set1_ps(1.0f / 6.0f));
    y = _mm512_add_ps(_mm512_mul_ps(y, r), _mm512_set1_ps(0.5f));
    y = _mm512_add_ps(_mm512_add_ps(_mm512_mul_ps(_mm512_mul_ps(y, r), r), r), _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(y, n);
}
VEC_INLINE vec vec_multiply_add(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}
VEC_INLINE void vec_store(float *y, vec x) {
    _mm512_storeu_ps(y, x);
}
VEC_INLINE vec vec_load_half(const uint16_t *x) {
    const __m256i sixteen = _mm256_loadu_si256((const __m256i *)(const void *)x);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(sixteen), 16));
}
#endif
#if !defined(VEC_PLAIN)
VEC_OF_TWO(add, add)
VEC_OF_TWO(subtract, sub)
VEC_OF_TWO(multiply, mul)
VEC_OF_TWO(divide, div)
VEC_OF_TWO(max, max)
VEC_OF_TWO(min, min)
#undef VEC_OF_TWO
#endif

#if defined(VEC_AVX2)
/* From VEC - n on: n masks that are set. */
static const int32_t vec_masks[2 * VEC] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
#endif

/* The first n (at most 16) numbers of x, zeros behind. */
VEC_INLINE vec vec_load_some(const real *x, int64_t n) {
#if defined(VEC_AVX512)
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), x);
#elif defined(VEC_AVX2)
    if (__builtin_constant_p(n) && n == VEC) return vec_load(x);
    const int32_t *mask = vec_masks + VEC - n;
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)mask);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(mask + VEC / 2));
    return (vec){_mm256_maskload_ps(x, low), _mm256_maskload_ps(x + VEC / 2, high)};
#else
    real whole[VEC] = {0};
    for (int64_t i = 0; i < n; ++i) whole[i] = x[i];
    return vec_load(whole);
#endif
}

/* The first n numbers of x, to y. */
VEC_INLINE void vec_store_some(real *y, int64_t n, vec x) {
#if defined(VEC_AVX512)
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << n) - 1), x);
#elif defined(VEC_AVX2)
    if (n == VEC) { /* asked also where n is no constant: a masked store takes as long as a dozen of these */
        vec_store(y, x);
        return;
    }
    const int32_t *mask = vec_masks + VEC - n;
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)mask);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(mask + VEC / 2));
    _mm256_maskstore_ps(y, low, x.low);
    if (n > VEC / 2) _mm256_maskstore_ps(y + VEC / 2, high, x.high);
#else
    real whole[VEC];
    vec_store(whole, x);
    for (int64_t i = 0; i < n; ++i) y[i] = whole[i];
#endif
}

/* Whether y can be written past the caches: whole lines, which begin where lines do. */
VEC_INLINE bool vec_can_pass(const real *y) {
#if defined(VEC_PLAIN)
    (void)y;
    return false;
#else
    return (uintptr_t)y % (VEC * sizeof *y) == 0;
#endif
}

/* Whether a result of n numbers in rows of `width` should go there: it leaves the caches before anybody reads
 * it, and lines that do not come in one after another are slow to fetch only to be overwritten. */
VEC_INLINE bool vec_should_pass(int64_t n, int64_t width, const real *y) {
    enum { MANY = 1 << 21 };
    return n >= MANY && width % VEC == 0 && vec_can_pass(y);
}

/* Past the caches where the processor can; y as vec_can_pass wants it, and a vec_fence behind the last. */
VEC_INLINE void vec_store_past(real *y, vec x) {
#if defined(VEC_AVX512)
    _mm512_stream_ps(y, x);
#elif defined(VEC_AVX2)
    _mm256_stream_ps(y, x.low);
    _mm256_stream_ps(y + 8, x.high);
#else
    vec_store(y, x);
#endif
}

/* What was written past the caches is there for everyone. */
VEC_INLINE void vec_fence(void) {
#if !defined(VEC_PLAIN)
    _mm_sfence();
#endif
}

/* Zeros behind the first n numbers. */
VEC_INLINE vec vec_keep(vec x, int64_t n) {
#if defined(VEC_AVX512)
    return _mm512_maskz_mov_ps((__mmask16)((1u << n) - 1), x);
#else
    real whole[VEC];
    vec_store(whole, x);
    return vec_load_some(whole, n);
#endif
}

/* x with `other` in the place of its first n (at most 16) numbers. */
VEC_INLINE vec vec_replace(vec x, int64_t n, real other) {
#if defined(VEC_AVX512)
    return _mm512_mask_mov_ps(x, (__mmask16)((1u << n) - 1), _mm512_set1_ps(other));
#else
    real whole[VEC];
    vec_store(whole, x);
    for (int64_t i = 0; i < n; ++i) whole[i] = other;
    return vec_load(whole);
#endif
}

/* The largest of the 16, and their sum: of halves, of halves of these, and so on. */
#if defined(VEC_PLAIN)
VEC_INLINE real vec_largest(vec x) {
    for (int half = VEC / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) x.at[i] = real_max(x.at[i], x.at[i + half]);
    return x.at[0];
}
VEC_INLINE real vec_sum(vec x) {
    for (int half = VEC / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) x.at[i] += x.at[i + half];
    return x.at[0];
}
#else
#if defined(VEC_AVX512)
#define VEC_LOW(x)  _mm512_castps512_ps256(x)
#define VEC_HIGH(x) _mm512_extractf32x8_ps(x, 1)
#else
#define VEC_LOW(x)  (x).low
#define VEC_HIGH(x) (x).high
#endif
VEC_INLINE float vec_largest(vec x) {
    __m256 eight = _mm256_max_ps(VEC_LOW(x), VEC_HIGH(x));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}
VEC_INLINE float vec_sum(vec x) {
    __m256 eight = _mm256_add_ps(VEC_LOW(x), VEC_HIGH(x));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}
#undef VEC_LOW
#undef VEC_HIGH
#endif

/* Neighbours change places: of complex numbers as pairs, real and imaginary parts. */
VEC_INLINE vec vec_swap_pairs(vec x) {
#if defined(VEC_AVX512)
    return _mm512_permute_ps(x, 0xb1);
#elif defined(VEC_AVX2)
    return (vec){_mm256_permute_ps(x.low, 0xb1), _mm256_permute_ps(x.high, 0xb1)};
#else
    vec y;
    for (int i = 0; i < VEC; ++i) y.at[i] = x.at[i ^ 1];
    return y;
#endif
}

/* Every second number, from the first on, in the first half. */
VEC_INLINE vec vec_evens(vec x) {
#if defined(VEC_AVX512)
    return _mm512_maskz_compress_ps(0x5555, x);
#elif defined(VEC_AVX2)
    const __m256i places = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    const __m256 low = _mm256_permutevar8x32_ps(x.low, places),
                 high = _mm256_permutevar8x32_ps(x.high, places);
    const __m256 evens = _mm256_blend_ps(low, high, 0xf0);
    return (vec){evens, evens};
#else
    vec y = x;
    for (int i = 0; i < VEC / 2; ++i) y.at[i] = x.at[2 * i];
    return y;
#endif
}

/* Sum of the numbers of each of the 16: sums of pairs, of pairs of these, and so on. */
VEC_INLINE vec vec_sums(const vec rows[VEC]) {
#if defined(VEC_AVX512)
    __m512 pairs[8], fours[4], halves[2];
    for (int i = 0; i < 8; ++i)
        pairs[i] = _mm512_add_ps(_mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]),
                                 _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]));
    for (int i = 0; i < 4; ++i) {
        __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
        fours[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                                 _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    for (int i = 0; i < 2; ++i)
        halves[i] = _mm512_add_ps(_mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0x88),
                                  _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
    return _mm512_add_ps(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88),
                         _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
#else
    real all[VEC][VEC], sums[VEC];
    for (int i = 0; i < VEC; ++i) vec_store(all[i], rows[i]);
    for (int i = 0; i < VEC; ++i) {
        for (int half = VEC / 2; half > 0; half /= 2)
            for (int j = 0; j < half; ++j) all[i][j] += all[i][j + half];
        sums[i] = all[i][0];
    }
    return vec_load(sums);
#endif
}

#if defined(VEC_AVX512)
/* Rows become columns. */
VEC_INLINE void vec_transpose_registers(__m512 a[VEC]) {
    __m512 b[VEC];
    UNROLL
    for (int i = 0; i < VEC; i += 2) { /* pairs */
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    UNROLL
    for (int i = 0; i < VEC; i += 4) { /* fours */
        a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(b[i]), _mm512_castps_pd(b[i + 2])));
        a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(b[i]), _mm512_castps_pd(b[i + 2])));
        a[i + 2] =
            _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(b[i + 1]), _mm512_castps_pd(b[i + 3])));
        a[i + 3] =
            _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(b[i + 1]), _mm512_castps_pd(b[i + 3])));
    }
    UNROLL
    for (int i = 0; i < 4; ++i) { /* quarters of four registers, twice */
        b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
    }
    UNROLL
    for (int i = 0; i < 4; ++i) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
        a[i + 4] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0x88);
        a[i + 12] = _mm512_shuffle_f32x4(b[i + 4], b[i + 12], 0xdd);
    }
}
#else
/* A tile of 8 x 8 through registers: three rounds of exchanging halves, quarters, pairs. */
typedef real vec_tile_row __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias));
enum { VEC_TILE = 8 };

VEC_INLINE void vec_transpose_tile(const real *x, int64_t stride, real *y, int64_t width) {
    vec_tile_row a[VEC_TILE], b[VEC_TILE];
    for (int i = 0; i < 8; ++i) memcpy(&a[i], x + i * stride, sizeof a[i]);
    for (int i = 0; i < 4; ++i) {
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int k = 0; k < 8; k += 4)
        for (int i = k; i < k + 2; ++i) {
            a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int k = 0; k < 8; k += 2) {
        b[k] = __builtin_shufflevector(a[k], a[k + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        b[k + 1] = __builtin_shufflevector(a[k], a[k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; ++i) memcpy(y + i * width, &b[i], sizeof b[i]);
}
#endif

/* m columns of n rows of x (both at most 16; rows `stride` apart) become m rows of n numbers of y, `width`
 * apart. `past`: where the processor can, past the caches: whole aligned lines (n = 16) only, and a vec_fence
 * behind the last. */
VEC_INLINE void vec_transpose_part(int64_t n, int64_t m, const real *x, int64_t stride, real *y,
                                   int64_t width, bool past) {
#if defined(VEC_AVX512)
    const __mmask16 columns = (__mmask16)((1u << m) - 1), rows = (__mmask16)((1u << n) - 1);
    __m512 a[VEC];
    UNROLL
    for (int i = 0; i < VEC; ++i)
        a[i] = i < n ? _mm512_maskz_loadu_ps(columns, x + i * stride) : _mm512_setzero_ps();
    vec_transpose_registers(a);
    UNROLL
    for (int i = 0; i < VEC; ++i) {
        if (i < m && past) vec_store_past(y + i * width, a[i]);
        if (i < m && !past) _mm512_mask_storeu_ps(y + i * width, rows, a[i]);
    }
#else
    (void)past;
    for (int64_t i = 0; i < n; i += VEC_TILE)
        for (int64_t j = 0; j < m; j += VEC_TILE) {
            if (i + VEC_TILE <= n && j + VEC_TILE <= m) {
                vec_transpose_tile(x + i * stride + j, stride, y + j * width + i, width);
                continue;
            }
            for (int64_t l = j; l < m && l < j + VEC_TILE; ++l)
                for (int64_t k = i; k < n && k < i + VEC_TILE; ++k) y[l * width + k] = x[k * stride + l];
        }
#endif
}

/* Columns 0 .. 15 of x (n rows, at most 16, `stride` apart) become rows of y, `width` apart, of 16 numbers
 * each: zeros behind the n-th. */
VEC_INLINE void vec_transpose(int64_t n, const real *x, int64_t stride, real *y, int64_t width) {
#if defined(VEC_AVX512)
    __m512 a[VEC];
    UNROLL
    for (int i = 0; i < VEC; ++i) a[i] = i < n ? _mm512_loadu_ps(x + i * stride) : _mm512_setzero_ps();
    vec_transpose_registers(a);
    UNROLL
    for (int i = 0; i < VEC; ++i) _mm512_storeu_ps(y + i * width, a[i]);
#else
    for (int j = 0; j < VEC && n < VEC; ++j) vec_store(y + j * width, vec_all(0));
    vec_transpose_part(n, VEC, x, stride, y, width, false);
#endif
}

/* A call with the number of registers a row, at most four, known to the compiler. */
#define VEC_CALL(width, function, ...)                                                                       \
    switch (((width) + VEC - 1) / VEC) {                                                                     \
    case 1:                                                                                                  \
        function(1, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 2:                                                                                                  \
        function(2, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    case 3:                                                                                                  \
        function(3, __VA_ARGS__);                                                                            \
        break;                                                                                               \
    default:                                                                                                 \
        function(4, __VA_ARGS__);                                                                            \
    }
