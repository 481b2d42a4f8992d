#include "sim/statespace/distributions.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/arena.h"

enum { FIRST_LOG2_SLOTS = 8 };

void lud_distributions_free(lud_distributions *d) {
    LUD_FREE(d->begin, d->probability, d->slots);
    *d = (lud_distributions){0};
}

void lud_distributions_clear(lud_distributions *d) {
    d->n = 0;
    if (d->slots) memset(d->slots, 0, sizeof *d->slots << d->log2_slots);
}

uint64_t lud_distributions_bytes(const lud_distributions *d) {
    if (!d->begin) return 0;
    return (d->n + 1) * sizeof *d->begin + d->begin[d->n] * sizeof *d->probability +
           (sizeof *d->slots << d->log2_slots);
}

static uint64_t hash_of(const double *probability, size_t n) {
    return XXH3_64bits(probability, n * sizeof *probability);
}

static lud_status grow_slots(lud_distributions *d, lud_error *error) {
    unsigned log2_slots = d->slots ? d->log2_slots + 1 : FIRST_LOG2_SLOTS;
    uint32_t *slots = calloc((size_t)1 << log2_slots, sizeof *slots);
    if (!slots) return lud_no_memory(error, "distributions");
    size_t mask = ((size_t)1 << log2_slots) - 1;
    for (uint32_t i = 0; i < d->n; i++) {
        size_t at = hash_of(d->probability + d->begin[i], d->begin[i + 1] - d->begin[i]) & mask;
        while (slots[at]) at = (at + 1) & mask;
        slots[at] = i + 1;
    }
    free(d->slots);
    d->slots = slots;
    d->log2_slots = log2_slots;
    return LUD_OK;
}

static lud_status grow_arrays(lud_distributions *d, size_t n, lud_error *error) {
    if (d->n + 1 >= d->capacity) {
        uint32_t capacity = d->capacity ? d->capacity * 2 : 64;
        uint64_t *begin = realloc(d->begin, (capacity + 1) * sizeof *begin);
        if (!begin) return lud_no_memory(error, "distributions");
        d->begin = begin;
        d->capacity = capacity;
        d->begin[0] = 0;
    }
    if (d->begin[d->n] + n > d->probability_capacity) {
        uint64_t capacity = d->probability_capacity * 2 + n + 256;
        double *probability = realloc(d->probability, capacity * sizeof *probability);
        if (!probability) return lud_no_memory(error, "distributions");
        d->probability = probability;
        d->probability_capacity = capacity;
    }
    return LUD_OK;
}

lud_status lud_distributions_number(lud_distributions *d, const double *probability, size_t n,
                                    uint32_t *number, lud_error *error) {
    if (!d->slots || d->n >= ((uint32_t)1 << d->log2_slots) / 2) LUD_TRY(grow_slots(d, error));
    size_t mask = ((size_t)1 << d->log2_slots) - 1, at = hash_of(probability, n) & mask;
    for (; d->slots[at]; at = (at + 1) & mask) {
        uint32_t i = d->slots[at] - 1;
        if (d->begin[i + 1] - d->begin[i] == n &&
            memcmp(d->probability + d->begin[i], probability, n * sizeof *probability) == 0) {
            *number = i;
            return LUD_OK;
        }
    }
    LUD_TRY(grow_arrays(d, n, error));
    memcpy(d->probability + d->begin[d->n], probability, n * sizeof *probability);
    d->begin[d->n + 1] = d->begin[d->n] + n;
    d->slots[at] = d->n + 1;
    *number = d->n++;
    return LUD_OK;
}
