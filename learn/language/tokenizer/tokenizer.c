#include "learn/language/tokenizer/tokenizer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "learn/language/tokenizer/byte_pairs.h"
#include "learn/language/tokenizer/tokenizer_parts.h"

enum { N_BYTES = 256, BEGIN = N_BYTES, END, FIRST_WORD };

/* --- tables --- */

static uint32_t table_size_for(int64_t n) {
    uint32_t size = 16;
    while ((int64_t)size < 2 * n) size *= 2;
    return size;
}

lud_status lud_tokenizer_make(int64_t n, int64_t n_pairs, lud_tokenizer **tokenizer, lud_error *error) {
    assert(n >= 0 && n <= LUD_TOKENIZER_MAX_TOKENS && n_pairs <= 2 * LUD_TOKENIZER_MAX_TOKENS);
    lud_tokenizer *t = calloc(1, sizeof *t);
    if (t && (t->arena = lud_arena_create(0)) != NULL) {
        t->n = (int32_t)n;
        t->begin = t->end = -1;
        t->table_size = table_size_for(n);
        t->tokens = lud_arena_take_array(t->arena, (size_t)n, sizeof *t->tokens);
        t->table = lud_arena_take_array(t->arena, t->table_size, sizeof *t->table);
        t->pair_table_size = table_size_for(n_pairs);
        t->pairs = lud_arena_take_array(t->arena, t->pair_table_size, sizeof *t->pairs);
    }
    if (!t || !t->arena || !t->tokens || !t->table || !t->pairs) {
        lud_tokenizer_destroy(t);
        return lud_no_memory(error, "a tokeniser of %lld tokens", (long long)n);
    }
    for (int i = 0; i < N_BYTES; i++) t->byte[i] = -1;
    for (uint32_t i = 0; i < t->pair_table_size; i++) t->pairs[i].merged = -1;
    *tokenizer = t;
    return LUD_OK;
}

void lud_tokenizer_destroy(lud_tokenizer *tokenizer) {
    if (!tokenizer) return;
    lud_arena_destroy(tokenizer->arena);
    free(tokenizer);
}

static uint32_t slot_of(const lud_tokenizer *t, const char *bytes, size_t length) {
    uint32_t slot = (uint32_t)XXH3_64bits(bytes, length) & (t->table_size - 1);
    for (; t->table[slot]; slot = (slot + 1) & (t->table_size - 1)) {
        const lud_token *token = &t->tokens[t->table[slot] - 1];
        if ((size_t)token->length == length && memcmp(token->bytes, bytes, length) == 0) break;
    }
    return slot;
}

int32_t lud_tokenizer_find(const lud_tokenizer *tokenizer, const char *bytes, size_t length) {
    return tokenizer->table[slot_of(tokenizer, bytes, length)] - 1;
}

bool lud_tokenizer_set(lud_tokenizer *t, int32_t token, const char *bytes, size_t length, bool silent) {
    assert(token >= 0 && token < t->n && length <= LUD_TOKEN_MAX_BYTES);
    const char *copy = lud_arena_text(t->arena, bytes, length);
    if (!copy) return false;
    t->tokens[token] = (lud_token){.bytes = copy, .length = (int32_t)length, .silent = silent};
    const uint32_t slot = slot_of(t, copy, length);
    if (t->table[slot]) return true;
    t->table[slot] = token + 1;
    if (length == 1) t->byte[(unsigned char)*copy] = token;
    if ((int32_t)length > t->longest) t->longest = (int32_t)length;
    return true;
}

static uint32_t pair_slot(const lud_tokenizer *t, int32_t left, int32_t right) {
    const int32_t key[2] = {left, right};
    uint32_t slot = (uint32_t)XXH3_64bits(key, sizeof key) & (t->pair_table_size - 1);
    while (t->pairs[slot].merged >= 0 && (t->pairs[slot].left != left || t->pairs[slot].right != right))
        slot = (slot + 1) & (t->pair_table_size - 1);
    return slot;
}

void lud_tokenizer_set_pair(lud_tokenizer *tokenizer, lud_token_pair pair) {
    const uint32_t slot = pair_slot(tokenizer, pair.left, pair.right);
    if (tokenizer->pairs[slot].merged < 0) tokenizer->pairs[slot] = pair;
}

const lud_token_pair *lud_tokenizer_pair(const lud_tokenizer *tokenizer, int32_t left, int32_t right) {
    const lud_token_pair *pair = &tokenizer->pairs[pair_slot(tokenizer, left, right)];
    return pair->merged < 0 ? NULL : pair;
}

/* --- bytes and words --- */

lud_status lud_tokenizer_bytes(lud_tokenizer **tokenizer, lud_error *error) {
    return lud_tokenizer_words(NULL, 0, tokenizer, error);
}

lud_status lud_tokenizer_words(const char *const *words, int64_t n_words, lud_tokenizer **tokenizer,
                               lud_error *error) {
    if (n_words > LUD_TOKENIZER_MAX_TOKENS - FIRST_WORD)
        return lud_fail(error, LUD_ERROR_LIMIT, "a vocabulary of %lld words, at most %d are possible",
                        (long long)n_words, LUD_TOKENIZER_MAX_TOKENS - FIRST_WORD);
    lud_tokenizer *t = NULL;
    lud_status status = lud_tokenizer_make(FIRST_WORD + n_words, 0, &t, error);
    if (status) return status;
    bool ok = true;
    for (int i = 0; ok && i < N_BYTES; i++) ok = lud_tokenizer_set(t, i, &(char){(char)i}, 1, false);
    /* marks are no part of any text: they are not in the table of what is found there */
    t->tokens[BEGIN] = (lud_token){.bytes = "<begin>", .length = 7, .silent = true};
    t->tokens[END] = (lud_token){.bytes = "<end>", .length = 5, .silent = true};
    t->begin = BEGIN;
    t->end = END;
    int32_t next = FIRST_WORD;
    for (int64_t i = 0; ok && i < n_words && !status; i++) {
        const size_t length = strlen(words[i]);
        if (length == 0 || length > LUD_TOKEN_MAX_BYTES)
            status = lud_invalid(error,
                                 "word %lld of the vocabulary has %zu bytes, expected 1 "
                                 "to %d",
                                 (long long)i, length, LUD_TOKEN_MAX_BYTES);
        else if (lud_tokenizer_find(t, words[i], length) < 0)
            ok = lud_tokenizer_set(t, next++, words[i], length, false);
    }
    t->n = next;
    if (!ok) status = lud_no_memory(error, "a vocabulary");
    if (status) {
        lud_tokenizer_destroy(t);
        return status;
    }
    *tokenizer = t;
    return LUD_OK;
}

/* --- looking --- */

int64_t lud_tokenizer_size(const lud_tokenizer *tokenizer) {
    return tokenizer->n;
}
int32_t lud_tokenizer_begin(const lud_tokenizer *tokenizer) {
    return tokenizer->begin;
}
int32_t lud_tokenizer_end(const lud_tokenizer *tokenizer) {
    return tokenizer->end;
}

const char *lud_tokenizer_token(const lud_tokenizer *tokenizer, int32_t token, size_t *length) {
    const bool known = token >= 0 && token < tokenizer->n && tokenizer->tokens[token].bytes &&
                       !tokenizer->tokens[token].silent;
    *length = known ? (size_t)tokenizer->tokens[token].length : 0;
    return known ? tokenizer->tokens[token].bytes : "";
}

void lud_tokenizer_decode(const lud_tokenizer *tokenizer, int64_t n, const int32_t *tokens, lud_text *out) {
    for (int64_t i = 0; i < n; i++) {
        size_t length;
        const char *bytes = lud_tokenizer_token(tokenizer, tokens[i], &length);
        lud_text_append_bytes(out, bytes, length);
    }
}

uint64_t lud_tokenizer_hash(const lud_tokenizer *tokenizer) {
    uint64_t hash = (uint64_t)tokenizer->n;
    for (int32_t i = 0; i < tokenizer->n; i++) {
        const lud_token *token = &tokenizer->tokens[i];
        hash = XXH3_64bits_withSeed(token->bytes ? token->bytes : "", (size_t)token->length, hash + 1);
    }
    return hash;
}

/* --- encoding --- */

/* Each time the longest token that fits. */
static int64_t encode_longest(const lud_tokenizer *t, const char *text, size_t length, int32_t *tokens,
                              int64_t most) {
    int64_t n = 0;
    for (size_t at = 0; at < length; n++) {
        size_t size = length - at < (size_t)t->longest ? length - at : (size_t)t->longest;
        int32_t token = -1;
        for (; size > 1 && token < 0; size -= token < 0) token = lud_tokenizer_find(t, text + at, size);
        if (token < 0) {
            token = t->byte[(unsigned char)text[at]];
            size = 1;
        }
        if (n < most) tokens[n] = token;
        at += size;
    }
    return n;
}

int64_t lud_tokenizer_encode(const lud_tokenizer *tokenizer, const char *text, size_t length, int32_t *tokens,
                             int64_t most) {
    return tokenizer->merges ? lud_byte_pairs_encode(tokenizer, text, length, tokens, most)
                             : encode_longest(tokenizer, text, length, tokens, most);
}
