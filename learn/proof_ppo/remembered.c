#include "learn/proof_ppo/remembered.h"

#include <string.h>

lud_status lud_proof_remembered_create(int64_t width, size_t bytes, lud_proof_remembered *m,
                                       lud_error *error) {
    *m = (lud_proof_remembered){.width = width, .empty = true};
    if (bytes == 0) return LUD_OK;
    const size_t a_set = LUD_PROOF_WAYS * ((size_t)width * sizeof *m->head + sizeof *m->key);
    m->n_sets = 1;
    while (m->n_sets < UINT32_MAX / 4 && 2 * (size_t)m->n_sets * a_set <= bytes) m->n_sets *= 2;
    const size_t places = (size_t)m->n_sets * LUD_PROOF_WAYS;
    lud_arrays *a = &m->arrays;
    LUD_TAKE(a, m->key, places);
    LUD_TAKE(a, m->head, places * (size_t)width);
    LUD_TAKE(a, m->next, m->n_sets);
    if (!a->failed) return LUD_OK;
    lud_proof_remembered_free(m);
    return lud_no_memory(error, "the heads of states");
}

void lud_proof_remembered_free(lud_proof_remembered *m) {
    lud_arrays_free(&m->arrays);
    *m = (lud_proof_remembered){0};
}

void lud_proof_remembered_forget(lud_proof_remembered *m) {
    if (m->n_sets > 0 && !m->empty) memset(m->key, 0, (size_t)m->n_sets * LUD_PROOF_WAYS * sizeof *m->key);
    m->empty = true;
}

/* 0 marks a free place. */
static uint64_t key_of(uint64_t hash) {
    return hash ? hash : 1;
}

/* The first place of a state's set. Hashes are sums of mixed numbers: any bits do. */
static size_t set_of(const lud_proof_remembered *m, uint64_t hash) {
    return (size_t)((uint32_t)(hash >> 32) & (m->n_sets - 1)) * LUD_PROOF_WAYS;
}

const float *lud_proof_remembered_find(lud_proof_remembered *m, uint64_t hash) {
    if (m->n_sets == 0) return NULL;
    const size_t first = set_of(m, hash);
    for (size_t i = first; i < first + LUD_PROOF_WAYS; i++)
        if (m->key[i] == key_of(hash)) {
            m->hits++;
            return m->head + i * (size_t)m->width;
        }
    return NULL;
}

void lud_proof_remembered_add(lud_proof_remembered *m, uint64_t hash, const double *head) {
    m->news++;
    if (m->n_sets == 0) return;
    m->empty = false;
    const size_t first = set_of(m, hash), set = first / LUD_PROOF_WAYS, at = first + m->next[set];
    m->next[set] = (uint8_t)((m->next[set] + 1) % LUD_PROOF_WAYS);
    m->key[at] = key_of(hash);
    for (int64_t k = 0; k < m->width; k++) m->head[at * (size_t)m->width + (size_t)k] = (float)head[k];
}
