/* What every use of oneDNN shares. */
#ifndef LUDUS_KERNELS_CPU_ONEDNN_H
#define LUDUS_KERNELS_CPU_ONEDNN_H

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"

/* oneDNN fails only when memory is out or a call is malformed: neither can be repaired while a network runs.
 */
static inline void lud_onednn_check(dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return;
    fprintf(stderr, "ludus: oneDNN: %s failed with status %d\n", what, (int)status);
    abort();
}
#define LUD_ONEDNN(call) lud_onednn_check(call, #call)

/* The settings of a thread that calls the library. It takes as many threads as OpenMP would; it always runs
 * on the thread that calls it, and the work is cut by the caller: by shape alone, so that no result depends
 * on the number of threads. (Its own threads also wait in a loop for each other, which is ruinous where a
 * processor is shared.) Subnormal numbers count as zero. */
typedef struct lud_onednn_settings {
    int threads;
    unsigned subnormals;
} lud_onednn_settings;

/* Makes them and returns what they were before, for lud_onednn_leave on the same thread. */
static inline lud_onednn_settings lud_onednn_enter(void) {
    const lud_onednn_settings before = {omp_get_max_threads(), lud_cpu_flush_subnormals()};
    if (before.threads != 1) omp_set_num_threads(1);
    return before;
}
static inline void lud_onednn_leave(lud_onednn_settings before) {
    if (before.threads != 1) omp_set_num_threads(before.threads);
    lud_cpu_restore_subnormals(before.subnormals);
}

#endif
