#include "learn/empo/met/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/random.h"
#include "learn/empo/memory/environments.h"
#include "learn/nn/arrays.h"

enum { MOST_KINDS = 2048, STATES = 32, SLOTS = 4 * MOST_KINDS, CARRIED_AT = 8 };

struct lud_empo_kinds {
    const lud_empo_features *features;
    const lud_model *model;
    uint64_t seed;
    int64_t n;
    lud_arrays arrays;
    uint64_t *hash, *shown; /* [MOST_KINDS] */
    uint8_t *states;        /* [MOST_KINDS][STATES][state_bytes] */
    uint32_t *slots;        /* [SLOTS] number + 1, 0: free */
    int32_t *record;        /* [words] */
};

lud_empo_kinds *lud_empo_kinds_create(const lud_empo_features *features, uint64_t seed) {
    lud_empo_kinds *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->features = features;
    k->model = &features->grid->model;
    k->seed = seed;
    LUD_TAKE(&k->arrays, k->hash, MOST_KINDS);
    LUD_TAKE(&k->arrays, k->shown, MOST_KINDS);
    LUD_TAKE(&k->arrays, k->states, MOST_KINDS * STATES * k->model->layout.state_bytes);
    LUD_TAKE(&k->arrays, k->slots, SLOTS);
    LUD_TAKE(&k->arrays, k->record, (size_t)features->words);
    if (!k->arrays.failed) return k;
    lud_empo_kinds_destroy(k);
    return NULL;
}

void lud_empo_kinds_destroy(lud_empo_kinds *k) {
    if (!k) return;
    lud_arrays_free(&k->arrays);
    free(k);
}

static uint8_t *state_of(const lud_empo_kinds *k, int64_t kind, uint64_t i) {
    return k->states + ((uint64_t)kind * STATES + i) * k->model->layout.state_bytes;
}

/* The configuration: everything of the record but times, places and directions. */
static uint64_t hash_of(lud_empo_kinds *k, const uint8_t *state) {
    const lud_empo_features *f = k->features;
    float carried[2 * LUD_EMPO_MAX_AGENTS] = {0};
    lud_empo_features_encode(f, state, k->record);
    for (int i = 0; i < f->grid->n_agents; i++)
        memcpy(carried + 2 * i, lud_empo_features_agent(f, k->record, i) + CARRIED_AT, 2 * sizeof *carried);
    const uint64_t parts[2] = {XXH3_64bits(k->record + f->interactive_at,
                                           (size_t)(f->words - f->interactive_at) * sizeof *k->record),
                               XXH3_64bits(carried, 2 * (size_t)f->grid->n_agents * sizeof *carried)};
    return XXH3_64bits(parts, sizeof parts);
}

static uint32_t *slot_of(const lud_empo_kinds *k, uint64_t hash) {
    uint64_t i = hash % SLOTS;
    while (k->slots[i] && k->hash[k->slots[i] - 1] != hash) i = (i + 1) % SLOTS;
    return &k->slots[i];
}

void lud_empo_kinds_show(lud_empo_kinds *k, const uint8_t *state) {
    const uint64_t hash = hash_of(k, state);
    uint32_t *slot = slot_of(k, hash);
    if (!*slot) {
        if (k->n == MOST_KINDS) return;
        k->hash[k->n] = hash;
        k->shown[k->n] = 0;
        *slot = (uint32_t)++k->n;
    }
    const int64_t kind = *slot - 1;
    uint64_t place = k->shown[kind]++;
    if (place >= STATES) { /* Vitter, "Random sampling with a reservoir", ACM TOMS 11, 1985 */
        const lud_words w = lud_draw((lud_random_key){k->seed, (uint32_t)kind}, (uint32_t)place,
                                     (uint32_t)(place >> 32), LUD_PURPOSE_EXPLORE, 0x500);
        place = (uint64_t)(lud_unit53(w.v[0], w.v[1]) * (double)(place + 1));
    }
    if (place < STATES) memcpy(state_of(k, kind, place), state, k->model->layout.state_bytes);
}

int64_t lud_empo_kinds_count(const lud_empo_kinds *k) {
    return k->n;
}

const uint8_t *lud_empo_kinds_draw(const lud_empo_kinds *k, double kind, double which) {
    const int64_t drawn = (int64_t)(kind * (double)k->n);
    const uint64_t held = k->shown[drawn] < STATES ? k->shown[drawn] : STATES;
    return state_of(k, drawn, (uint64_t)(which * (double)held));
}

void lud_empo_kinds_visit(lud_empo_kinds *k, const char *prefix, lud_checkpoint *checkpoint) {
    char text[128];
    uint64_t n = (uint64_t)k->n;
    snprintf(text, sizeof text, "%skinds", prefix);
    lud_checkpoint_u64(checkpoint, text, &n);
    lud_checkpoint_limit(checkpoint, text, n, MOST_KINDS);
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    k->n = (int64_t)n;
    snprintf(text, sizeof text, "%skinds.hash", prefix);
    lud_checkpoint_bytes(checkpoint, text, k->hash, (size_t)n * sizeof *k->hash);
    snprintf(text, sizeof text, "%skinds.shown", prefix);
    lud_checkpoint_bytes(checkpoint, text, k->shown, (size_t)n * sizeof *k->shown);
    snprintf(text, sizeof text, "%skinds.states", prefix);
    lud_checkpoint_bytes(checkpoint, text, k->states, (size_t)n * STATES * k->model->layout.state_bytes);
    if (!lud_checkpoint_loading(checkpoint) || lud_checkpoint_status(checkpoint, NULL)) return;
    memset(k->slots, 0, SLOTS * sizeof *k->slots);
    for (int64_t i = 0; i < k->n; i++) {
        const uint64_t held = k->shown[i] < STATES ? k->shown[i] : STATES;
        if (held == 0) lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%s: an empty configuration", text);
        lud_empo_check_states(k->model, (int64_t)held, state_of(k, i, 0), text, checkpoint);
        *slot_of(k, k->hash[i]) = (uint32_t)(i + 1);
    }
}
