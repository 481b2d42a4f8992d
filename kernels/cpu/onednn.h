/* What every use of oneDNN shares. */
#pragma once

#include <dnnl.h>
#include <omp.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/onednn_calls.h"

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

/* What primitives have in common, and what follows them: relu, or a sum with what is there. The library's own
 * scratch memory belongs to the thread that makes the primitive. */
static inline bool lud_onednn_attributes(lud_device *device, bool relu, bool add,
                                         dnnl_primitive_attr_t *attributes) {
    if (!LUD_ONEDNN(device, lud_onednn.primitive_attr_create(attributes)) ||
        !LUD_ONEDNN(device,
                    lud_onednn.primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user)))
        return false;
    if (!relu && !add) return true;
    dnnl_post_ops_t after = 0;
    const bool ok =
        LUD_ONEDNN(device, lud_onednn.post_ops_create(&after)) &&
        (!relu ||
         LUD_ONEDNN(device, lud_onednn.post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0))) &&
        (!add || LUD_ONEDNN(device, lud_onednn.post_ops_append_sum(after, 1))) &&
        LUD_ONEDNN(device, lud_onednn.primitive_attr_set_post_ops(*attributes, after));
    if (after) lud_onednn.post_ops_destroy(after);
    return ok;
}

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
