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
/* Merges n_lists lists of states[begin[n_lists]][state_bytes], each sorted and without equal ones: list k has
 * those from begin[k] up to begin[k + 1]. Returns how many different ones there are; they stand, sorted, in
 * `states` or in `scratch`, which is as large: *merged points there. `begin` [n_lists + 1] is overwritten. */
size_t lud_state_merge(uint8_t *states, uint8_t *scratch, size_t state_bytes, size_t *begin, int n_lists,
                       uint8_t **merged);
