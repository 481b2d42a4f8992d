#include "learn/nn/shares.h"

#include <assert.h>
#include <string.h>

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
        LUD_TAKE(&s->arrays, s->gradients, (size_t)(s->end - s->first) * (size_t)parameters->size);
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
    lud_device_download(p->device, gradients, p->gradients, (size_t)p->size * sizeof *gradients);
    for (int64_t i = 0; i < p->size && weight != 1.0; i++) gradients[i] *= (float)weight;
    if (share + 1 < s->end) lud_parameters_zero_gradients(s->parameters);
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
    if (s->n == 1) return LUD_OK;
    LUD_TRY(lud_ranks_add(s->ranks, s->n, p->size, s->gradients, s->gradients, error));
    lud_device_upload(p->device, p->gradients, s->gradients, (size_t)p->size * sizeof *s->gradients);
    return LUD_OK;
}
