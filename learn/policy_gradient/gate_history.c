#include "learn/policy_gradient/gate_history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "learn/policy_gradient/gate.h"

lud_status lud_gate_history_create(lud_gate_history *h, int64_t capacity, int64_t minimum, lud_error *error) {
    *h = (lud_gate_history){.capacity = capacity, .minimum = minimum};
    if (capacity == 0) return LUD_OK;
    h->delight = calloc((size_t)capacity, sizeof *h->delight);
    h->scratch = calloc((size_t)capacity, sizeof *h->scratch);
    if (h->delight && h->scratch) return LUD_OK;
    lud_gate_history_destroy(h);
    return lud_no_memory(error, "a history of %lld delights", (long long)capacity);
}

void lud_gate_history_destroy(lud_gate_history *h) {
    free(h->delight);
    free(h->scratch);
    h->delight = h->scratch = NULL;
}

void lud_gate_history_push(lud_gate_history *h, int64_t n, const float *delight) {
    if (h->capacity == 0) return;
    for (int64_t i = 0; i < n; i++)
        h->delight[h->n_pushed++ % (uint64_t)h->capacity] = isnan(delight[i]) ? -INFINITY : delight[i];
}

bool lud_gate_history_price(const lud_gate_history *h, double rate, float *price) {
    const uint64_t capacity = (uint64_t)h->capacity, n = h->n_pushed < capacity ? h->n_pushed : capacity;
    if (n == 0 || n < (uint64_t)h->minimum) return false;
    *price = lud_gate_quantile((int64_t)n, h->delight, rate, h->scratch);
    return true;
}

void lud_gate_history_visit(lud_gate_history *h, lud_checkpoint *checkpoint, const char *name) {
    char key[256];
    if (h->capacity == 0) return;
    snprintf(key, sizeof key, "%s.delights", name);
    lud_checkpoint_any_tensor(checkpoint, key, LUD_TENSOR_F32, 1, (int64_t[]){h->capacity}, h->delight);
    for (int64_t i = 0; i < h->capacity && lud_checkpoint_loading(checkpoint); i++)
        if (isnan(h->delight[i]))
            lud_checkpoint_fail(checkpoint, LUD_ERROR_NUMERIC, "'%s' is no number", key);
    snprintf(key, sizeof key, "%s.pushed", name);
    lud_checkpoint_u64(checkpoint, key, &h->n_pushed);
}
