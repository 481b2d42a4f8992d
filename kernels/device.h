/* A device: memory, a queue of work, and the operations (ops.h) that run on it.
 *
 * Two kinds: `cpu`, built in, and `cuda`, a shared object (ludus_cuda.so) loaded at run time. Work is queued
 * in call order: on the CPU a call has finished when it returns, on CUDA after lud_device_synchronise or a
 * download. Nothing allocates after warm-up: take memory first, call each operation once at its largest size
 * (that grows the workspace), then run.
 *
 * A device is used by one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "kernels/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arithmetic of matrix products; everything else is float32. */
typedef enum lud_precision {
    LUD_PRECISION_F32,  /* full float32 */
    LUD_PRECISION_TF32, /* CUDA: float32 in memory, tensor cores with 10-bit mantissas; the CPU computes in
                           float32 */
    LUD_PRECISION_BF16 /* operands rounded to bfloat16, float32 accumulation; on the CPU in layers with 12,288
                          weights and more, convolutions in float32 */
} lud_precision;

typedef struct lud_graph lud_graph; /* a recorded piece of the queue */

typedef void (*lud_device_work)(lud_device *device, void *context); /* of lud_device_run_both */

/* Messages between devices of several processes, from memory to memory. A message of 256 bytes says why not
 * where a call returns false. */
enum { LUD_MEETING_BYTES = 128 };
typedef struct lud_device_messages {
    /* Whether there can be any, and a name under which processes meet, of which that of the first counts. */
    bool (*prepare)(char meeting[LUD_MEETING_BYTES], char message[256]);
    /* Meets the others; `carrier` becomes what carries messages, with its version. */
    bool (*meet)(lud_device *device, int rank, int size, const char meeting[LUD_MEETING_BYTES],
                 char carrier[64], char message[256]);
    /* As in lud_ranks_memory, with a device for `self`. */
    bool (*gather)(void *device, const void *own, size_t n, void *all, const int *counts, const int *offsets);
    bool (*exchange)(void *device, const void *from, const int *from_counts, const int *from_offsets,
                     void *to, const int *to_counts, const int *to_offsets);
    bool (*done)(void *device, bool *well);
    void (*abandon)(void *device);
} lud_device_messages;

/* What a kind of device can do, and what it does beside the operations. Whoever must know asks one of the
 * first members; the name is for people. */
typedef struct lud_backend {
    uint32_t abi; /* of a module: LUD_MODULE_ABI of its build (cmake/abi.cmake), compared when it is loaded */
    const char *name; /* "cpu", "cuda" */
    bool host_memory; /* its memory is the host's: the host reads and writes it in place, nothing is copied */
    bool records_graphs;  /* queued work can be recorded: sizes that repeat are worth padding for */
    int64_t rows_per_run; /* rows of a network that keep it busy and stay in its caches or its memory */
    /* `place`: which one of them, where a machine has several, counted round. */
    lud_status (*create)(int n_threads, int place, lud_device **device, lud_error *error);
    void (*destroy)(lud_device *device);
    void *(*allocate)(lud_device *device,
                      size_t bytes); /* 256-byte aligned, zeroed; null when memory is out */
    void (*release)(lud_device *device, void *memory);
    void (*upload)(lud_device *device, void *to, const void *from_host, size_t bytes);
    void (*download)(lud_device *device, void *to_host, const void *from, size_t bytes);
    void (*copy)(lud_device *device, void *to, const void *from, size_t bytes);
    void (*zero)(lud_device *device, void *memory, size_t bytes);
    void (*synchronise)(lud_device *device);
    bool (*reserve)(lud_device *device, size_t bytes); /* grows the workspace; false when memory is out */
    /* lud_device_run_both at the same time; false when it could not, and nothing was run. Null: one behind
     * the other. */
    bool (*run_both)(lud_device *device, lud_device_work first, void *first_context, lud_device_work second,
                     void *second_context);
    bool (*record_begin)(lud_device *device); /* this and the next three: null without records_graphs */
    lud_graph *(*record_end)(lud_device *device);
    void (*graph_launch)(lud_device *device, lud_graph *graph);
    void (*graph_destroy)(lud_device *device, lud_graph *graph);
    const lud_device_messages *messages; /* null: what processes exchange goes through the host's memory */
} lud_backend;

/* Every backend's device begins with this. Everybody reads the fields, the functions below set them. */
struct lud_device {
    const lud_backend *backend;
    const lud_ops *ops;
    char name[96]; /* "cpu, 2 threads, AVX-512", "cuda, NVIDIA H200" */
    int n_threads; /* CPU threads; 1 on CUDA */
    bool strict;   /* results independent of the number of threads (lud_device_set_strict) */
    lud_precision precision;
    bool rows_apart;         /* lud_device_set_rows_apart */
    struct lud_ranks *ranks; /* processes that compute together, each on a device of its own; null: alone */
    char carrier[64];        /* what takes messages to the devices of others: "NCCL 2.28.9"; else empty */
    char no_carrier[256];    /* why there is none, where the device has company and a memory of its own */
    void *post[2];           /* messages that leave and that come (device_ranks.c) */
    size_t post_bytes[2];
    void *workspace; /* scratch of the operation that runs now */
    size_t workspace_bytes;
    lud_error failure; /* the first; its status LUD_OK while all is well (lud_device_check) */
};

/* Opens `choice`: "cpu", "cuda" or "auto" (cuda where it works, else cpu). n_threads 0: OMP_NUM_THREADS, else
 * all processors this process may use (CPU). For tests, the environment variable LUDUS_CPU = plain | avx2 |
 * avx512 lowers the instruction set, and LUDUS_CUDA_MODULE = FILE names what "cuda" loads instead of
 * ludus_cuda.so ("auto" never does). Errors: an unknown word (LUD_ERROR_INPUT), no working CUDA driver or
 * shared object (LUD_ERROR_UNSUPPORTED, the message says which step failed). */
lud_status lud_device_open(const char *choice, int n_threads, lud_device **device, lud_error *error);
/* The same for one of several processes (device_ranks.h), the `place`th of its machine. */
lud_status lud_device_open_at(const char *choice, int n_threads, int place, lud_device **device,
                              lud_error *error);
/* Null is allowed. Memory and graphs of the device must have been given back. */
void lud_device_close(lud_device *device);

/* Strict: every result must be the same bits for any number of threads of the CPU. Every operation keeps this
 * without being asked, so the switch changes nothing; docs/measurements/performance.md has what the fixed
 * order of sums costs. It binds operations that might one day gain by giving it up. Off at first. */
void lud_device_set_strict(lud_device *device, bool strict);
void lud_device_set_precision(lud_device *device, lud_precision precision);
/* Rows apart: on the CPU a row that passes through layers (`linear`, and products with transposed weights
 * that nothing is added to) has the same bits whatever rows pass beside it, and however many. Without it the
 * library that multiplies orders its sums by the number of rows. In float32; backward runs stay as they are.
 * Off at first, as it is for runs whose results are kept and compared. */
void lud_device_set_rows_apart(lud_device *device, bool apart);

/* Memory of the device; on the CPU it is ordinary memory. Allocate before running. */
void *lud_device_allocate(lud_device *device, size_t bytes);
void lud_device_release(lud_device *device, void *memory);
/* Host to device and back. A download waits until what was queued before is done. */
void lud_device_upload(lud_device *device, void *to, const void *from_host, size_t bytes);
void lud_device_download(lud_device *device, void *to_host, const void *from, size_t bytes);
/* Device to device; the ranges do not overlap. */
void lud_device_copy(lud_device *device, void *to, const void *from, size_t bytes);
void lud_device_zero(lud_device *device, void *memory, size_t bytes);
void lud_device_synchronise(lud_device *device);

/* Grows the workspace to at least `bytes`. Operations call it; before recording a graph, warm up. */
bool lud_device_reserve(lud_device *device, size_t bytes);

/* Two pieces of work that do not touch each other's results: at the same time where the device has threads
 * for both, else one behind the other. Each calls operations on the device it is handed (half the threads,
 * its own scratch) and not on `device`; memory is common. A piece may itself run two on the device it has.
 * Results are the same either way. On CUDA the two are queued one behind the other, on `device` itself. Both
 * run in any case: what goes wrong in one is told by its context, or by lud_device_check. */
void lud_device_run_both(lud_device *device, lud_device_work first, void *first_context,
                         lud_device_work second, void *second_context);

/* Recording: operations called between begin and end are not run but kept, and lud_graph_launch runs them all
 * with the same pointers and sizes at the cost of one call. The CPU has nothing to gain and returns false
 * from begin: then simply call the operations each time. */
bool lud_device_record_begin(lud_device *device);
lud_graph *lud_device_record_end(lud_device *device);
void lud_graph_launch(lud_device *device, lud_graph *graph);
void lud_graph_destroy(lud_device *device, lud_graph *graph);

/* What the device's module exports under this name, for the CUDA halves of worlds; null where there is
 * nothing, and on the CPU. */
const void *lud_device_symbol(const lud_device *device, const char *name);

/* Operations return nothing. What goes wrong in one is kept by the device, and from then on no result is
 * worth anything: on the CPU an operation without scratch leaves its results as they were, on CUDA later
 * calls do nothing. LUD_OK while all is well, else what came first; LUD_ERROR_MEMORY where memory ran out.
 * Whoever hands results on checks first, on CUDA after a synchronise or a download. */
lud_status lud_device_check(const lud_device *device, lud_error *error);
/* Keeps `failure` too, where the device has none yet: of work on it that can return nothing either. */
static inline void lud_device_keep(lud_device *device, const lud_error *failure) {
    if (!device->failure.status) device->failure = *failure;
}
/* Its text alone; null while all is well. */
static inline const char *lud_device_failure(const lud_device *device) {
    return device->failure.status ? device->failure.text : 0;
}

#ifdef __cplusplus
}
#endif
