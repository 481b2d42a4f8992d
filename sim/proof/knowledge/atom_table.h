/* Tables that find atoms in an array by what they are: open addressing, each slot 0 (free) or the atom's
 * number and one. Atoms stand `stride` bytes apart at `atoms`, at the beginning of what holds them. */
#pragma once

#include <stdlib.h>

#include "sim/proof/knowledge/proof_base.h"

/* Doubles a table that is half full with n atoms, or makes the first one (null). False when memory is out. */
static inline bool lud_proof_atom_table_grow(int32_t **table, uint32_t *mask, const void *atoms,
                                             size_t stride, int32_t n) {
    if (*table && (uint32_t)n * 2 < *mask) return true;
    uint32_t wide = *table ? *mask * 2 + 1 : 63;
    int32_t *grown = calloc((size_t)wide + 1, sizeof *grown);
    if (!grown) return false;
    for (int32_t k = 0; k < n; k++) {
        const lud_proof_atom *atom = (const void *)((const char *)atoms + (size_t)k * stride);
        uint32_t i = (uint32_t)lud_proof_atom_hash(atom) & wide;
        while (grown[i]) i = (i + 1) & wide;
        grown[i] = k + 1;
    }
    free(*table);
    *table = grown;
    *mask = wide;
    return true;
}

/* The slot of an equal atom, or the free one where it would be. */
static inline uint32_t lud_proof_atom_table_slot(const int32_t *table, uint32_t mask, const void *atoms,
                                                 size_t stride, const lud_proof_atom *atom) {
    uint32_t i = (uint32_t)lud_proof_atom_hash(atom) & mask;
    while (table[i] &&
           !lud_proof_atom_equal((const void *)((const char *)atoms + (size_t)(table[i] - 1) * stride), atom))
        i = (i + 1) & mask;
    return i;
}
