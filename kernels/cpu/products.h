/* Matrix products of the CPU through oneDNN: in float32 (products.c) and with rounded factors
 * (products_bf16.c). */
#pragma once

#include "kernels/cpu/cpu.h"

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
 * and nothing done, where lud_cpu_bf16_product would not multiply by instructions for rounded factors. */
bool lud_cpu_bf16_linear_backward(lud_device *device, int64_t n, int64_t n_in, int64_t n_out, const float *g,
                                  const float *x, const float *w, float *dx, bool add, float *dw);
/* Null is allowed. */
void lud_cpu_bf16_destroy(lud_cpu_bf16 *bf16);
