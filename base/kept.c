#include "base/kept.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/arena.h"

struct lud_kept {
    size_t key_bytes, value_bytes; /* of a place; values lie on multiples of 8 bytes */
    uint64_t n;
    bool *used;
    char *keys, *values;
};

lud_kept *lud_kept_create(size_t key_bytes, size_t value_bytes, size_t bytes) {
    enum { LEAST = 4, MOST = 1024 };
    lud_kept *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->key_bytes = key_bytes;
    k->value_bytes = (value_bytes + 8) & ~(size_t)7;
    k->n = bytes / (k->key_bytes + k->value_bytes);
    k->n = k->n < LEAST ? LEAST : k->n > MOST ? MOST : k->n;
    k->used = calloc(k->n, sizeof *k->used);
    k->keys = calloc(k->n, k->key_bytes);
    k->values = calloc(k->n, k->value_bytes);
    if (k->used && k->keys && k->values) return k;
    lud_kept_destroy(k);
    return NULL;
}

void lud_kept_destroy(lud_kept *k) {
    if (k) LUD_FREE(k->used, k->keys, k->values, k);
}

void *lud_kept_of(lud_kept *k, const void *key, bool *known) {
    const size_t at = (size_t)(XXH3_64bits(key, k->key_bytes) % k->n);
    char *there = k->keys + at * k->key_bytes;
    *known = k->used[at] && memcmp(there, key, k->key_bytes) == 0;
    k->used[at] = true;
    if (!*known) memcpy(there, key, k->key_bytes);
    return k->values + at * k->value_bytes;
}
