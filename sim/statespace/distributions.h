/* A dictionary of probability vectors: each different one is kept once and has a number. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zero-initialise before use. */
typedef struct lud_distributions {
    uint32_t n;
    uint64_t *begin; /* [n + 1] into `probability`; null while empty */
    double *probability;
    uint32_t *slots; /* [1 << log2_slots] number + 1, 0: empty */
    unsigned log2_slots;
    uint32_t capacity;
    uint64_t probability_capacity;
} lud_distributions;

void lud_distributions_free(lud_distributions *distributions);
/* Forgets everything, keeping the memory. */
void lud_distributions_clear(lud_distributions *distributions);
/* The number of the vector, added when it is new; equal means equal bits. Fails when memory is out. */
lud_status lud_distributions_number(lud_distributions *distributions, const double *probability, size_t n,
                                    uint32_t *number, lud_error *error);
uint64_t lud_distributions_bytes(const lud_distributions *distributions);
