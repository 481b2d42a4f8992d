/* Sorting states by their bytes, in parallel. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One state while it is sorted: the bits in which states differ, as far as 64 hold them, and its number. */
typedef struct lud_sort_item {
    uint64_t key;
    uint32_t number;
} lud_sort_item;

/* Sorts items[n] by the bytes of states[items.number][state_bytes] (as memcmp does). `number` must be set,
 * `key` is filled here; scratch[n]. The states must be all different; the result does not depend on
 * n_threads. */
void lud_state_sort(const uint8_t *states, size_t state_bytes, lud_sort_item *items, lud_sort_item *scratch,
                    size_t n, int n_threads);
