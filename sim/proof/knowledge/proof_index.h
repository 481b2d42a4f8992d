/* The index of facts by one argument: an open-addressing table from (predicate, position, constant) to a
 * range. */
#pragma once

#include "sim/proof/knowledge/proof_base.h"

typedef struct lud_proof_bucket {
    uint64_t key; /* 0: empty */
    int32_t begin, end;
} lud_proof_bucket;

static inline uint64_t lud_proof_bucket_key(int32_t predicate, int position, int32_t constant) {
    return (uint64_t)(uint32_t)predicate << 34 | (uint64_t)(uint32_t)position << 32 | (uint32_t)constant;
}
static inline uint32_t lud_proof_bucket_slot(uint64_t key) {
    key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(key >> 32);
}

static inline lud_proof_range lud_proof_bucket_find(const lud_proof_base *base, int32_t predicate,
                                                    int position, int32_t constant) {
    uint64_t key = lud_proof_bucket_key(predicate, position, constant);
    lud_proof_range range = {base->by_argument[position], 0, 0};
    for (uint32_t i = lud_proof_bucket_slot(key) & base->bucket_mask; base->buckets[i].key;
         i = (i + 1) & base->bucket_mask)
        if (base->buckets[i].key == key) {
            range.begin = base->buckets[i].begin;
            range.end = base->buckets[i].end;
            break;
        }
    return range;
}
