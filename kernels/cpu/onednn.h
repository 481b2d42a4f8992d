/* What every use of oneDNN shares. */
#pragma once

#include <dnnl.h>
#include <omp.h>

#include "kernels/cpu/cpu.h"

/* Whether a call of the library went well; else the device has failed. */
static inline bool lud_onednn_check(lud_device *device, dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return true;
    if (status == dnnl_out_of_memory)
        lud_cpu_fail(device, LUD_ERROR_MEMORY, "out of memory in oneDNN: %s", what);
    else
        lud_cpu_fail(device, LUD_ERROR_UNSUPPORTED, "oneDNN: %s failed with status %d", what, (int)status);
    return false;
}
#define LUD_ONEDNN(device, call) lud_onednn_check(device, call, #call)

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
