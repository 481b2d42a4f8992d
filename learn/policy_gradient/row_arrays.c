#include "learn/policy_gradient/row_arrays.h"

#include <assert.h>
#include <stdlib.h>

/* Numbers from one array of n rows to the next: each begins on a line of the cache. */
static int64_t stride_of(int64_t n) {
    return (n + 15) / 16 * 16;
}

static bool moves(const lud_row_arrays *a) {
    return a->to_send != a->sent;
}

bool lud_row_arrays_create(lud_row_arrays *a) {
    const size_t rows = (size_t)stride_of(a->max_rows);
    const size_t sent = ((size_t)a->n_sent * rows + (size_t)a->max_words) * sizeof(float),
                 fetched = (size_t)a->n_fetched * rows * sizeof(float),
                 kept = (size_t)a->n_kept * rows * sizeof(float);
    const bool on_host = a->device->backend->host_memory;
    a->sent = lud_device_allocate(a->device, sent);
    a->fetched = lud_device_allocate(a->device, fetched + kept);
    a->to_send = on_host ? a->sent : calloc(1, sent);
    a->got = on_host ? a->fetched : calloc(1, fetched);
    if (a->sent && a->fetched && a->to_send && a->got) return true;
    lud_row_arrays_destroy(a);
    return false;
}

void lud_row_arrays_destroy(lud_row_arrays *a) {
    if (a->to_send != a->sent) free(a->to_send);
    if (a->got != a->fetched) free(a->got);
    if (a->sent) lud_device_release(a->device, a->sent);
    if (a->fetched) lud_device_release(a->device, a->fetched);
    *a = (lud_row_arrays){0};
}

void lud_row_arrays_set(lud_row_arrays *a, int64_t n, int64_t n_words) {
    assert(n <= a->max_rows && n_words <= a->max_words);
    a->n = n;
    a->stride = stride_of(n);
    a->n_words = n_words;
}

static float *at(const lud_row_arrays *a, float *sent, float *fetched, int array) {
    assert(array < a->n_sent + a->n_fetched + a->n_kept);
    return array < a->n_sent ? sent + array * a->stride : fetched + (array - a->n_sent) * a->stride;
}

float *lud_row_host(const lud_row_arrays *a, int array) {
    assert(array < a->n_sent + a->n_fetched || !moves(a));
    return at(a, a->to_send, a->got, array);
}

float *lud_row_device(const lud_row_arrays *a, int array) {
    return at(a, a->sent, a->fetched, array);
}

int32_t *lud_row_words_host(const lud_row_arrays *a) {
    return (int32_t *)(void *)(a->to_send + a->n_sent * a->stride);
}

int32_t *lud_row_words_device(const lud_row_arrays *a) {
    return (int32_t *)(void *)(a->sent + a->n_sent * a->stride);
}

void lud_row_arrays_send(const lud_row_arrays *a) {
    if (moves(a))
        lud_device_upload(a->device, a->sent, a->to_send,
                          (size_t)(a->n_sent * a->stride + a->n_words) * sizeof *a->sent);
}

void lud_row_arrays_fetch(const lud_row_arrays *a) {
    if (moves(a))
        lud_device_download(a->device, a->got, a->fetched,
                            (size_t)(a->n_fetched * a->stride) * sizeof *a->got);
}
