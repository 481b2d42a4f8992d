/* What the CPU's operations and their products share: the device, its scratch memory, its threads. */
#pragma once

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
    /* what the second of two pieces of work runs on, made when first needed; another for each nested pair */
    struct lud_cpu *halves, *next_half;
    struct lud_second_thread *thread; /* of a half: what its work runs on; else null */
} lud_cpu;

/* Memory that starts at a multiple of `alignment` bytes, or at a large page where it is much larger than one:
 * rows in any order would else miss the processor's table of pages at every step. For `free`; null when
 * memory is out. */
void *lud_cpu_memory(size_t alignment, size_t bytes);

/* The workspace of at least `bytes`; false when memory is out. */
bool lud_cpu_reserve(lud_device *device, size_t bytes);

/* Keeps what went wrong first, on any of the device's threads (lud_device_check). */
void lud_cpu_fail(lud_device *device, lud_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Scratch memory of at least `bytes`, aligned to 64, valid until the next call. Null, and kept as the
 * device's failure, when memory is out: then the operation leaves its results as they are. */
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
