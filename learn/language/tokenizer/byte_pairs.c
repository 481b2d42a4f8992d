#include "learn/language/tokenizer/byte_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "learn/language/tokenizer/tokenizer_parts.h"

/* A merge that may be done: of the token at `left` with the next one, as long as both are what they were. */
typedef struct candidate {
    int32_t rank, merged;
    int32_t left, left_token, right_token;
} candidate;

typedef struct merger {
    const lud_tokenizer *tokenizer;
    int32_t *token, *next, *before; /* [bytes] a list of tokens; next -1: the last */
    candidate *heap;
    int32_t n_heap;
} merger;

static bool goes_first(const candidate *a, const candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push(merger *m, candidate c) {
    int32_t at = m->n_heap++;
    for (; at > 0 && goes_first(&c, &m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = c;
}

static candidate pop(merger *m) {
    const candidate first = m->heap[0], last = m->heap[--m->n_heap];
    int32_t at = 0;
    for (int32_t child; (child = 2 * at + 1) < m->n_heap; at = child) {
        if (child + 1 < m->n_heap && goes_first(&m->heap[child + 1], &m->heap[child])) child++;
        if (!goes_first(&m->heap[child], &last)) break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = last;
    return first;
}

static void consider(merger *m, int32_t left) {
    if (left < 0 || m->next[left] < 0) return;
    const int32_t a = m->token[left], b = m->token[m->next[left]];
    const lud_token_pair *pair = lud_tokenizer_pair(m->tokenizer, a, b);
    if (pair) push(m, (candidate){pair->rank, pair->merged, left, a, b});
}

static bool still_there(const merger *m, const candidate *c) {
    return m->token[c->left] == c->left_token && m->next[c->left] >= 0 &&
           m->token[m->next[c->left]] == c->right_token;
}

/* Tokens of a piece of n > 0 bytes; they stand at the list's places from 0 on. */
static void merge(merger *m, const char *piece, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        m->token[i] = m->tokenizer->byte[(unsigned char)piece[i]];
        m->next[i] = i + 1 < n ? i + 1 : -1;
        m->before[i] = i - 1;
    }
    m->n_heap = 0;
    for (int32_t i = 0; i + 1 < n; i++) consider(m, i);
    while (m->n_heap > 0) {
        const candidate c = pop(m);
        if (!still_there(m, &c)) continue;
        const int32_t right = m->next[c.left];
        m->token[c.left] = c.merged;
        m->token[right] = -1;
        m->next[c.left] = m->next[right];
        if (m->next[right] >= 0) m->before[m->next[right]] = c.left;
        consider(m, c.left);
        consider(m, m->before[c.left]);
    }
}

typedef struct output {
    int32_t *tokens;
    int64_t n, most;
} output;

static void emit(output *out, int32_t token) {
    if (out->n < out->most) out->tokens[out->n] = token;
    out->n++;
}

/* Each merge adds at most two candidates to the n - 1 of the beginning, and there are at most n - 1 merges.
 */
enum { CANDIDATES_PER_BYTE = 3 };

static bool reserve(merger *m, size_t n, size_t *room) {
    if (n <= *room) return true;
    free(m->token);
    free(m->heap);
    *room = 2 * n;
    m->token = malloc(3 * *room * sizeof *m->token);
    m->heap = malloc(CANDIDATES_PER_BYTE * *room * sizeof *m->heap);
    if (!m->token || !m->heap) return false;
    m->next = m->token + *room;
    m->before = m->next + *room;
    return true;
}

/* A stretch of text without reserved tokens. */
static bool encode_plain(merger *m, size_t *room, const char *text, size_t length, output *out) {
    const lud_tokenizer *t = m->tokenizer;
    for (size_t at = 0; at < length;) {
        const size_t n = lud_pre_tokenizer_next(t->pre_tokenizer, text + at, length - at);
        const int32_t whole = t->whole_first ? lud_tokenizer_find(t, text + at, n) : -1;
        if (whole >= 0) {
            emit(out, whole);
        } else {
            if (!reserve(m, n, room)) return false;
            merge(m, text + at, (int32_t)n);
            for (int32_t i = 0; i >= 0; i = m->next[i]) emit(out, m->token[i]);
        }
        at += n;
    }
    return true;
}

/* The reserved token that begins here, -1: none. */
static int32_t reserved_at(const lud_tokenizer *t, const char *text, size_t length) {
    for (int32_t i = 0; i < t->n_reserved; i++) {
        const lud_token *token = &t->tokens[t->reserved[i]];
        if ((size_t)token->length <= length && memcmp(token->bytes, text, (size_t)token->length) == 0)
            return t->reserved[i];
    }
    return -1;
}

int64_t lud_byte_pairs_encode(const lud_tokenizer *tokenizer, const char *text, size_t length,
                              int32_t *tokens, int64_t most) {
    if (length > INT32_MAX / 8) return -1;
    merger m = {.tokenizer = tokenizer};
    output out = {tokens, 0, most};
    size_t room = 0, begin = 0;
    bool ok = true, first[256] = {false};
    for (int32_t i = 0; i < tokenizer->n_reserved; i++)
        first[(unsigned char)*tokenizer->tokens[tokenizer->reserved[i]].bytes] = true;
    for (size_t at = 0; ok && at < length;) {
        const int32_t found =
            first[(unsigned char)text[at]] ? reserved_at(tokenizer, text + at, length - at) : -1;
        if (found < 0) {
            at++;
            continue;
        }
        ok = encode_plain(&m, &room, text + begin, at - begin, &out);
        emit(&out, found);
        begin = at += (size_t)tokenizer->tokens[found].length;
    }
    ok = ok && encode_plain(&m, &room, text + begin, length - begin, &out);
    free(m.token);
    free(m.heap);
    return ok ? out.n : -1;
}
