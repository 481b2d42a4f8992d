#include "learn/language/tokenizer/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "learn/language/tokenizer/tokenizer.h"
#include "learn/nn/arrays.h"

static uint32_t slot_of(const lud_vocabulary *v, const char *word, size_t length) {
    uint32_t slot = (uint32_t)XXH3_64bits(word, length) & (v->table_size - 1);
    for (; v->table[slot]; slot = (slot + 1) & (v->table_size - 1)) {
        const char *other = v->words[v->table[slot] - 1];
        if (strlen(other) == length && memcmp(other, word, length) == 0) break;
    }
    return slot;
}

/* The table anew, with room for `capacity` words. */
static bool build_table(lud_vocabulary *v, int64_t capacity) {
    uint32_t size = 64;
    while ((int64_t)size < 2 * capacity) size *= 2;
    int32_t *table = calloc(size, sizeof *table);
    if (!table) return false;
    free(v->table);
    v->table = table;
    v->table_size = size;
    for (int64_t i = 0; i < v->n; i++) table[slot_of(v, v->words[i], strlen(v->words[i]))] = (int32_t)i + 1;
    return true;
}

static bool grow(lud_vocabulary *v) {
    if (v->n < v->capacity) return true;
    const int64_t capacity = v->capacity ? 2 * v->capacity : 256;
    if (!lud_grow(&v->words, (size_t)capacity, sizeof *v->words) ||
        !lud_grow(&v->counts, (size_t)capacity, sizeof *v->counts) || !build_table(v, capacity))
        return false;
    v->capacity = capacity;
    return true;
}

void lud_vocabulary_add(lud_vocabulary *v, const char *word, size_t length, int64_t times) {
    if (v->failed || length == 0 || length > LUD_TOKEN_MAX_BYTES || v->n == LUD_TOKENIZER_MAX_TOKENS / 2)
        return;
    if (!grow(v)) {
        v->failed = true;
        return;
    }
    const uint32_t slot = slot_of(v, word, length);
    if (!v->table[slot]) {
        char *copy = malloc(length + 1);
        if (!copy) {
            v->failed = true;
            return;
        }
        memcpy(copy, word, length);
        copy[length] = 0;
        v->words[v->n] = copy;
        v->counts[v->n++] = 0;
        v->table[slot] = (int32_t)v->n;
    }
    v->counts[v->table[slot] - 1] += times;
}

typedef enum class { LETTER, DIGIT, OTHER, BLANK } class;

static class class_of(char c) {
    if (c == ' ' || c == '\n' || c == 0) return BLANK;
    if (c >= '0' && c <= '9') return DIGIT;
    return c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z') ? LETTER : OTHER;
}

void lud_vocabulary_read(lud_vocabulary *vocabulary, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        const size_t begin = at;
        if (text[at] == ' ' && at + 1 < length && class_of(text[at + 1]) != BLANK) at++;
        const class kind = class_of(text[at]);
        if (kind == BLANK) {
            at++;
            continue;
        }
        while (at < length && class_of(text[at]) == kind) at++;
        lud_vocabulary_add(vocabulary, text + begin, at - begin, 1);
    }
}

typedef struct entry {
    char *word;
    int64_t count;
} entry;

static int frequent_first(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->word, y->word);
}

void lud_vocabulary_order(lud_vocabulary *v, int64_t most) {
    entry *entries = malloc(((size_t)v->n + 1) * sizeof *entries);
    if (!entries) {
        v->failed = true;
        return;
    }
    for (int64_t i = 0; i < v->n; i++) entries[i] = (entry){v->words[i], v->counts[i]};
    qsort(entries, (size_t)v->n, sizeof *entries, frequent_first);
    for (int64_t i = 0; i < v->n; i++) {
        v->words[i] = entries[i].word;
        v->counts[i] = entries[i].count;
    }
    free(entries);
    for (; v->n > most; v->n--) free(v->words[v->n - 1]);
    if (!build_table(v, v->capacity)) v->failed = true;
}

void lud_vocabulary_free(lud_vocabulary *v) {
    for (int64_t i = 0; i < v->n; i++) free(v->words[i]);
    free(v->words);
    free(v->counts);
    free(v->table);
    *v = (lud_vocabulary){0};
}
