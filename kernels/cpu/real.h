/* What the templates kernels/cpu/operations/ops_*.inc are written in: `real` (float or double) and its
 * functions. */
#pragma once

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/products.h"
#include "kernels/real_math.h"

#if defined(LUD_REAL_F64)
typedef double real;
#define REAL_MAX DBL_MAX
static inline double real_exp(double x) {
    return exp(x);
}
static inline double real_log(double x) {
    return log(x);
}
static inline double real_tanh(double x) {
    return tanh(x);
}
static inline double real_sqrt(double x) {
    return sqrt(x);
}
static inline double real_nearest(double x) {
    return rint(x);
}
static inline double real_abs(double x) {
    return fabs(x);
}
static inline double real_pow(double x, double a) {
    return pow(x, a);
}
static inline double real_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
static inline double real_softplus(double x) {
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
static inline double real_normal_cdf(double x) {
    return 0.5 * erfc(-x * 0.70710678118654752440);
}
#else
typedef float real;
#define REAL_MAX FLT_MAX
static inline float real_exp(float x) {
    return lud_expf(x);
}
static inline float real_log(float x) {
    return lud_logf(x);
}
static inline float real_tanh(float x) {
    return lud_tanhf(x);
}
static inline float real_sqrt(float x) {
    return sqrtf(x);
}
static inline float real_nearest(float x) {
    return rintf(x);
}
static inline float real_abs(float x) {
    return fabsf(x);
}
static inline float real_pow(float x, float a) {
    return powf(x, a);
}
static inline float real_sigmoid(float x) {
    return lud_sigmoidf(x);
}
static inline float real_softplus(float x) {
    return lud_softplusf(x);
}
static inline float real_normal_cdf(float x) {
    return lud_normal_cdff(x);
}
#endif

static inline real real_max(real a, real b) {
    return a > b ? a : b;
}
static inline real real_min(real a, real b) {
    return a < b ? a : b;
}

/* Elements of one block of an elementwise loop or a sum over elements, and rows of one block of a sum over
 * rows: fixed, so that sums do not depend on the number of threads. */
enum { BLOCK = 4096, ROW_BLOCK = 256 };

static inline int64_t blocks_of(int64_t n, int64_t block) {
    return (n + block - 1) / block;
}
static inline int64_t block_end(int64_t index, int64_t block, int64_t n) {
    int64_t end = (index + 1) * block;
    return end < n ? end : n;
}

#define PRAGMA(text) _Pragma(#text)
#define SIMD         PRAGMA(omp simd)
#define SIMD_SUM(s)  PRAGMA(omp simd reduction(+ : s))
#define SIMD_MAX(s)  PRAGMA(omp simd reduction(max : s))
/* A loop over independent i shared by the threads that `work` (the whole loop's) is worth. */
#define PARALLEL_FOR(i, n, work)                                                                             \
    PRAGMA(omp parallel for schedule(static) num_threads(lud_cpu_threads(device, work)))                     \
    for (int64_t i = 0; i < (n); ++i)
/* A loop over blocks of elements: inside, `first` and `end` bound the block. */
#define PARALLEL_BLOCKS(first, end, n, cost)                                                                 \
    PRAGMA(omp parallel for schedule(static) num_threads(lud_cpu_threads(device, (n) * (cost))))             \
    for (int64_t first = 0; first < (n); first += BLOCK)                                                     \
        for (int64_t end = first + BLOCK < (n) ? first + BLOCK : (n), once_ = 1; once_; once_ = 0)
