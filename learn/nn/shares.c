#include "learn/nn/shares.h"

#include <assert.h>
#include <string.h>

#include "kernels/device_ranks.h"

lud_status lud_shares_check(int64_t n, int64_t n_items, const char *items, lud_place place,
                            lud_error *error) {
    if (n <= n_items) return LUD_OK;
    return lud_invalid_at(error, place,
                          "learner.shares: %lld shares of %lld %s; expected at least one for each",
                          (long long)n, (long long)n_items, items);
}

uint64_t lud_shares_seed(uint64_t seed, int share) {
    return seed ^ (uint64_t)share * 0x9e3779b97f4a7c15u;
}

lud_status lud_shares_open(lud_parameters *parameters, int n, int n_sums, lud_shares *s, lud_error *error) {
    lud_ranks *ranks = parameters->device->ranks;
    *s = (lud_shares){.parameters = parameters, .ranks = ranks, .n = n > 1 ? n : 1, .n_sums = n_sums};
    LUD_TRY(lud_ranks_check_shares(ranks, s->n, error));
    s->first = lud_ranks_first_share(ranks, s->n, lud_ranks_rank(ranks));
    s->end = lud_ranks_first_share(ranks, s->n, lud_ranks_rank(ranks) + 1);
    LUD_TAKE(&s->arrays, s->sums, (size_t)(s->n * n_sums) + 1);
    if (s->n > 1) {
        assert(parameters->real_bytes == sizeof(float));
        const size_t n_own = (size_t)(s->end - s->first) * (size_t)parameters->size;
        s->arrays.device = parameters->device;
        s->gradients = parameters->gradients;
        if (s->end - s->first > 1) LUD_TAKE_ON_DEVICE(&s->arrays, s->gradients, n_own);
        if (!lud_device_adds_up(parameters->device)) LUD_TAKE(&s->arrays, s->on_host, n_own);
    }
    return s->arrays.failed ? lud_no_memory(error, "shares of gradients") : LUD_OK;
}

void lud_shares_close(lud_shares *s) {
    lud_arrays_free(&s->arrays);
    *s = (lud_shares){0};
}

void lud_shares_begin(lud_shares *s) {
    lud_parameters_zero_gradients(s->parameters);
}

void lud_shares_keep(lud_shares *s, int share, double weight, const double *sums) {
    const lud_parameters *p = s->parameters;
    memcpy(s->sums + share * s->n_sums, sums, (size_t)s->n_sums * sizeof *sums);
    if (s->n == 1) return;
    float *gradients = s->gradients + (share - s->first) * p->size;
    if (gradients != p->gradients)
        lud_device_copy(p->device, gradients, p->gradients, (size_t)p->size * sizeof *gradients);
    if (weight != 1.0) p->device->ops->combine(p->device, p->size, weight, gradients, 0.0, NULL, gradients);
    if (share + 1 < s->end) lud_parameters_zero_gradients(s->parameters);
}

/* The gradients of all shares in the parameters. */
static lud_status add_gradients(lud_shares *s, lud_error *error) {
    const lud_parameters *p = s->parameters;
    lud_device *device = p->device;
    const size_t bytes = (size_t)p->size * sizeof(float);
    if (!s->on_host) {
        const lud_ranks_memory memory = lud_device_memory(device);
        return lud_ranks_add(s->ranks, device->backend->host_memory ? NULL : &memory, s->n, p->size,
                             s->gradients, p->gradients, error);
    }
    lud_device_download(device, s->on_host, s->gradients, (size_t)(s->end - s->first) * bytes);
    LUD_TRY(lud_ranks_add(s->ranks, NULL, s->n, p->size, s->on_host, s->on_host, error));
    lud_device_upload(device, p->gradients, s->on_host, bytes);
    return LUD_OK;
}

lud_status lud_shares_add(lud_shares *s, lud_status status, double *sums, lud_error *error) {
    const lud_parameters *p = s->parameters;
    const lud_ranks_array all = {s->sums, (size_t)s->n_sums * sizeof *s->sums, 1, s->n};
    if (!status) status = lud_device_check(p->device, error);
    LUD_TRY(lud_ranks_agree(s->ranks, status, error));
    LUD_TRY(lud_ranks_complete(s->ranks, &all, 1, s->n, error));
    memset(sums, 0, (size_t)s->n_sums * sizeof *sums);
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i < s->n_sums; i++) sums[i] += s->sums[k * s->n_sums + i];
    return s->n == 1 ? LUD_OK : add_gradients(s, error);
}
