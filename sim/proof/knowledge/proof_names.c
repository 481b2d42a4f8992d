#include <stdlib.h>
#include <string.h>

#include "sim/proof/knowledge/proof_builder.h"

static uint32_t hash_bytes(const char *text, size_t length) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        text += 8;
        length -= 8;
    }
    uint64_t tail = 0;
    memcpy(&tail, text, length);
    h = (h ^ tail) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

const char *lud_proof_names_get(const lud_proof_names *names, int32_t index, size_t *length) {
    size_t begin = names->offset[index];
    if (length) *length = names->offset[index + 1] - begin - 1;
    return names->pool + begin;
}

static int32_t index_in(uint64_t slot) {
    return (int32_t)(uint32_t)slot - 1;
}

/* The slot that holds the name, or the empty one where it belongs. */
static uint32_t find_slot(const lud_proof_names *names, const char *text, size_t length, uint32_t hash) {
    uint32_t slot = hash & names->mask;
    for (; names->table[slot]; slot = (slot + 1) & names->mask) {
        if (names->table[slot] >> 32 != hash) continue;
        size_t other;
        const char *name = lud_proof_names_get(names, index_in(names->table[slot]), &other);
        if (other == length && memcmp(name, text, length) == 0) break;
    }
    return slot;
}

static bool grow_table(lud_proof_names *names) {
    uint32_t size = names->table ? (names->mask + 1) * 2 : 64;
    uint64_t *table = calloc(size, sizeof *table);
    if (!table) return false;
    for (uint32_t i = 0; names->table && i <= names->mask; i++) {
        if (!names->table[i]) continue;
        uint32_t slot = (uint32_t)(names->table[i] >> 32) & (size - 1);
        while (table[slot]) slot = (slot + 1) & (size - 1);
        table[slot] = names->table[i];
    }
    free(names->table);
    names->table = table;
    names->mask = size - 1;
    return true;
}

static bool grow_lists(lud_proof_names *names, size_t length) {
    if (names->n + 1 >= names->capacity) {
        int32_t capacity = names->capacity ? names->capacity * 2 : 64;
        size_t *offset = realloc(names->offset, (size_t)capacity * sizeof *offset);
        if (!offset) return false;
        if (!names->offset) offset[0] = 0;
        names->offset = offset;
        names->capacity = capacity;
    }
    if (names->pool_used + length + 1 > names->pool_capacity) {
        size_t capacity = names->pool_capacity ? names->pool_capacity * 2 : 1024;
        while (capacity < names->pool_used + length + 1) capacity *= 2;
        char *pool = realloc(names->pool, capacity);
        if (!pool) return false;
        names->pool = pool;
        names->pool_capacity = capacity;
    }
    return true;
}

int32_t lud_proof_names_find(const lud_proof_names *names, const char *text, size_t length) {
    if (!names->table) return -1;
    return index_in(names->table[find_slot(names, text, length, hash_bytes(text, length))]);
}

int32_t lud_proof_names_add(lud_proof_names *names, const char *text, size_t length) {
    if (!names->table && !grow_table(names)) return -1;
    uint32_t hash = hash_bytes(text, length);
    uint32_t slot = find_slot(names, text, length, hash);
    if (names->table[slot]) return index_in(names->table[slot]);
    if (names->n >= 1 << 30 || !grow_lists(names, length)) return -1;
    int32_t index = names->n;
    memcpy(names->pool + names->pool_used, text, length);
    names->pool[names->pool_used + length] = 0;
    names->pool_used += length + 1;
    names->offset[index + 1] = names->pool_used;
    names->table[slot] = (uint64_t)hash << 32 | (uint32_t)(index + 1);
    names->n++;
    if ((uint32_t)names->n * 2 > names->mask && !grow_table(names)) return -1;
    return index;
}

void lud_proof_names_free(lud_proof_names *names) {
    LUD_FREE(names->pool, names->offset, names->table);
    *names = (lud_proof_names){0};
}
