/* The memory of a device as sums over processes see it (lud_ranks_add): numbers are copied and added there,
 * and where devices reach one another directly, messages go between their memories. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lud_ranks_memory {
    void *self; /* the first argument of all functions */
    /* to[n] = from[n], and to[n] += from[n]. */
    void (*copy)(void *self, float *to, const float *from, int64_t n);
    void (*add)(void *self, float *to, const float *from, int64_t n);
    /* Room for so many bytes that leave and that come, until the next call; false: memory is out. It, and
     * what follows, is null in a memory that no message reaches. */
    bool (*reserve)(void *self, size_t bytes_out, size_t bytes_in, void **out, void **in);
    /* One exchange at a time, as in lud_ranks_backend. */
    bool (*gather)(void *self, const void *own, size_t n, void *all, const int *counts, const int *offsets);
    bool (*exchange)(void *self, const void *from, const int *from_counts, const int *from_offsets, void *to,
                     const int *to_counts, const int *to_offsets);
    bool (*done)(void *self, bool *well);
    /* Leaves the exchange in hand, and with it all others; null: nothing has to be done for that. */
    void (*abandon)(void *self);
} lud_ranks_memory;
