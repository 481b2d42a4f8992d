#include "learn/proof_ppo/decisions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

lud_status lud_proof_decisions_create(const lud_proof_model *model, int64_t n, bool ordered,
                                      lud_proof_decisions *d, lud_error *error) {
    *d = (lud_proof_decisions){.ordered = ordered};
    const int64_t successors = n * model->limits.max_successors, states = n + successors;
    const int64_t atoms = states * model->limits.max_goals;
    if (states > INT32_MAX / 4 || atoms > INT32_MAX)
        return lud_fail(error, LUD_ERROR_LIMIT,
                        "%lld decisions of up to %d successors with %d goals are more than 2^31 goals; "
                        "lower n_envs, n_steps or limits.successors",
                        (long long)n, model->limits.max_successors, model->limits.max_goals);
    uint32_t size = 16;
    while (size < 2 * (uint64_t)states) size *= 2;
    d->capacity = (int32_t)n;
    d->successor_capacity = (int32_t)successors;
    d->state_capacity = (int32_t)states;
    d->atom_capacity = atoms;
    d->mask = size - 1;
    d->state_begin = calloc((size_t)states + 1, sizeof *d->state_begin);
    d->atoms = calloc((size_t)atoms, sizeof *d->atoms);
    d->hash = calloc((size_t)states, sizeof *d->hash);
    d->current = calloc((size_t)n + 1, sizeof *d->current);
    d->begin = calloc((size_t)n + 1, sizeof *d->begin);
    d->successor = calloc((size_t)successors + 1, sizeof *d->successor);
    d->place = calloc((size_t)states, sizeof *d->place);
    d->table = calloc(size, sizeof *d->table);
    if (d->state_begin && d->atoms && d->hash && d->current && d->begin && d->successor && d->place &&
        d->table)
        return LUD_OK;
    lud_proof_decisions_free(d);
    return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for %lld decisions", (long long)n);
}

void lud_proof_decisions_free(lud_proof_decisions *d) {
    free(d->state_begin);
    free(d->atoms);
    free(d->hash);
    free(d->current);
    free(d->begin);
    free(d->successor);
    free(d->place);
    free(d->table);
    *d = (lud_proof_decisions){0};
}

void lud_proof_decisions_clear(lud_proof_decisions *d) {
    for (int32_t s = 0; s < d->n_states; s++) d->table[d->place[s]] = 0;
    d->n_states = d->n = 0;
}

int32_t lud_proof_decisions_state(lud_proof_decisions *d, const lud_proof_atom *goals, int32_t n_goals,
                                  uint64_t hash) {
    if (d->ordered) {
        hash = 0;
        for (int32_t g = 0; g < n_goals; g++)
            hash = (hash ^ hash >> 31) * UINT64_C(0x9e3779b97f4a7c15) + lud_proof_atom_hash(&goals[g]);
        hash ^= hash >> 29;
    }
    uint32_t i = (uint32_t)hash & d->mask;
    for (; d->table[i] != 0; i = (i + 1) & d->mask)
        if (d->hash[d->table[i] - 1] == hash) return d->table[i] - 1;
    const int32_t state = d->n_states++, begin = d->state_begin[state];
    assert(state < d->state_capacity && begin + n_goals <= d->atom_capacity);
    memcpy(d->atoms + begin, goals, (size_t)n_goals * sizeof *goals);
    d->state_begin[state + 1] = begin + n_goals;
    d->hash[state] = hash;
    d->table[i] = state + 1;
    d->place[state] = i;
    return state;
}

void lud_proof_decisions_add(lud_proof_decisions *d, const lud_proof_atom *goals, int32_t n_goals,
                             const lud_proof_lists *lists, int32_t first, int32_t n) {
    assert(d->n < d->capacity);
    d->current[d->n] = lud_proof_decisions_state(d, goals, n_goals, lud_proof_state_hash(goals, n_goals));
    int32_t at = d->begin[d->n];
    for (int32_t i = first; i < first + n; i++)
        d->successor[at++] = lud_proof_decisions_state(d, lists->atoms + lists->begin[i],
                                                       lists->begin[i + 1] - lists->begin[i], lists->hash[i]);
    d->begin[++d->n] = at;
}

void lud_proof_decisions_add_batch(lud_proof_decisions *d, const lud_proof_batch *batch) {
    for (int slot = 0; slot < batch->n_slots; slot++) {
        const int32_t first = batch->slot_begin[slot], n = batch->slot_begin[slot + 1] - first;
        if (n == 0) {
            d->current[d->n] = -1;
            d->begin[d->n + 1] = d->begin[d->n];
            d->n++;
            continue;
        }
        const int32_t begin = batch->current.begin[slot];
        lud_proof_decisions_add(d, batch->current.atoms + begin, batch->current.begin[slot + 1] - begin,
                                &batch->successors, first, n);
    }
}
