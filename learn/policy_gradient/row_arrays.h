/* Arrays of one number a row that are used together: some go to the device in one upload, some come back in
 * one download, some stay there. On the CPU nothing moves: the host's view and the device's are the same
 * memory. */
#pragma once

#include "kernels/device.h"

typedef struct lud_row_arrays {
    lud_device *device;
    int n_sent, n_fetched, n_kept; /* arrays; they are numbered in this order */
    int64_t max_rows, max_words;
    int64_t n, stride;                     /* rows at hand; numbers from one array to the next */
    int64_t n_words;                       /* words of 4 bytes that go to the device behind the arrays */
    float *to_send, *sent, *got, *fetched; /* host and device; the arrays that stay lie behind the fetched */
} lud_row_arrays;

/* Takes memory for `device`, the numbers of arrays, max_rows and max_words, which the caller has set. False:
 * memory is out, and nothing is held. */
bool lud_row_arrays_create(lud_row_arrays *arrays);
/* Safe on a zeroed struct. */
void lud_row_arrays_destroy(lud_row_arrays *arrays);
/* From now on n rows and n_words words. Where the arrays lie depends on these alone. */
void lud_row_arrays_set(lud_row_arrays *arrays, int64_t n, int64_t n_words);
/* An array on the host (not one that stays, except on the CPU) and on the device. */
float *lud_row_host(const lud_row_arrays *arrays, int array);
float *lud_row_device(const lud_row_arrays *arrays, int array);
/* The words on the host and on the device. */
int32_t *lud_row_words_host(const lud_row_arrays *arrays);
int32_t *lud_row_words_device(const lud_row_arrays *arrays);
void lud_row_arrays_send(const lud_row_arrays *arrays);
void lud_row_arrays_fetch(const lud_row_arrays *arrays);
