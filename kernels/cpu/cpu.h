/* The CPU device and what its operations share: threads, matrix products and convolutions of oneDNN. */
#ifndef LUDUS_KERNELS_CPU_CPU_H
#define LUDUS_KERNELS_CPU_CPU_H

#include "kernels/device.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

typedef struct lud_cpu_conv_cache lud_cpu_conv_cache;
typedef struct lud_cpu_bf16 lud_cpu_bf16;

typedef struct lud_cpu {
    lud_device device;
    lud_cpu_conv_cache *conv_cache;
    int64_t work_per_thread; /* elementary steps that are worth one more thread */
    void *product_scratch; /* parts of sums of products: an operation that calls one may hold the workspace */
    size_t product_scratch_bytes;
    void *operand_scratch; /* factors of products in bfloat16 */
    size_t operand_scratch_bytes;
    lud_cpu_bf16 *bf16; /* made by the first such product */
    bool has_bf16;      /* the processor multiplies such numbers */
    /* what the second of two pieces of work runs on, made when first needed; another one for each nested pair
     */
    struct lud_cpu *halves, *next_half;
} lud_cpu;

extern const lud_backend lud_cpu_backend;

/* The float table compiled for three instruction sets, in kernels/cpu/ops_*.c. */
extern const lud_ops lud_cpu_ops_plain, lud_cpu_ops_avx2, lud_cpu_ops_avx512;

/* Products with so few weights are panels' work (ops_dense.inc), and are not worth rounding. */
enum { LUD_CPU_FEW_WEIGHTS = 64 * 192 };

/* c = alpha op(a) op(b) + beta c through oneDNN; arguments as the operation `matmul`. */
void lud_cpu_sgemm(lud_device *device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                   float alpha, const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                   float *c, int64_t ldc);

/* The same with both factors rounded to bfloat16 (LUD_PRECISION_BF16); layers with fewer than 12,288 weights
 * are left in float32. */
void lud_cpu_bf16_product(lud_device *device, bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                          int64_t k, float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float beta, float *c, int64_t ldc);
/* dx (+)= g w and dw += g^T x for g[n][n_out], x[n][n_in], w[n_out][n_in], with g rounded only once. False,
 * and nothing done, where lud_cpu_bf16_product would not multiply rounded factors by instructions for them.
 */
bool lud_cpu_bf16_linear_backward(lud_device *device, int64_t n, int64_t n_in, int64_t n_out, const float *g,
                                  const float *x, const float *w, float *dx, bool add, float *dw);
/* Null is allowed. */
void lud_cpu_bf16_destroy(lud_cpu_bf16 *bf16);

typedef enum lud_conv_pass { LUD_CONV_FORWARD, LUD_CONV_DATA, LUD_CONV_WEIGHTS } lud_conv_pass;

/* One pass of a convolution through oneDNN. FORWARD: y from x, w and b (may be null), with a ReLU behind it
 * when `relu`. DATA: x (the gradient) from y (the gradient) and w. WEIGHTS: w (the gradient) from x and y.
 * The result overwrites, or is added when `add`. Primitives are made once per pass and shape and kept; any
 * number of images is run as pieces of powers of two, so that few shapes exist. */
void lud_cpu_conv(lud_device *device, lud_conv_pass pass, const lud_conv *shape, bool relu, bool add,
                  float *x, float *w, const float *b, float *y);

/* Scratch memory of at least `bytes`, aligned to 64, valid until the next call. Aborts when memory is out: it
 * grows only while warming up. */
void *lud_cpu_workspace(lud_device *device, size_t bytes);

/* The same for the products inside an operation. */
void *lud_cpu_product_scratch(lud_device *device, size_t bytes);

/* The same for the rounded factors of a product, which may itself need scratch. */
void *lud_cpu_operand_scratch(lud_device *device, size_t bytes);

/* Inside products subnormal numbers count as zero: the weights of units that weight decay lets die end there,
 * and arithmetic with them is ten times slower. Returns what to restore. */
static inline unsigned lud_cpu_flush_subnormals(void) {
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | _MM_FLUSH_ZERO_ON | 0x0040u); /* results, and operands */
    return before;
#else
    return 0;
#endif
}
static inline void lud_cpu_restore_subnormals(unsigned before) {
#if defined(__SSE2__)
    _mm_setcsr(before);
#else
    (void)before;
#endif
}

/* Threads for `work` elementary steps, some 0.07 nanoseconds each (an element moved, eight multiplications of
 * a product): waking a sleeping thread costs 10 to 20 microseconds, so it gets at least as much to do. */
static inline int lud_cpu_threads(const lud_device *device, int64_t work) {
    int64_t useful = work / ((const lud_cpu *)device)->work_per_thread;
    return useful <= 1 ? 1 : useful < device->n_threads ? (int)useful : device->n_threads;
}

#endif
