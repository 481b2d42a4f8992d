#include "learn/empo/met/kinds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/random.h"
#include "learn/empo/memory/environments.h"
#include "learn/nn/arrays.h"
#include "sim/multigrid/grid_observe.h"

#define NOBODY UINT32_MAX

enum { MOST_KINDS = 4096, STATES = 32, SLOTS = 4 * MOST_KINDS };

enum { LEAVING = 16 }; /* drawn before one has to leave */
enum { LANE_RESERVOIR = 0x500, LANE_LEAVE, LANE_SCALE, LANE_DRAW };

struct lud_empo_kinds {
    const lud_empo_features *features;
    const lud_model *model;
    uint64_t seed;
    int64_t n;
    lud_arrays arrays;
    uint64_t *hash, *shown, *acted, *last; /* [MOST_KINDS] last: n_acted then */
    double *promise;                       /* [MOST_KINDS] */
    uint8_t *states;                       /* [MOST_KINDS][STATES][state_bytes] */
    uint64_t n_shown, n_acted;
    uint32_t *slots; /* [SLOTS] number + 1, 0: free */
    int32_t *record; /* [words] */
};

lud_empo_kinds *lud_empo_kinds_create(const lud_empo_features *features, uint64_t seed) {
    lud_empo_kinds *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->features = features;
    k->model = &features->grid->model;
    k->seed = seed;
    LUD_TAKE(&k->arrays, k->hash, MOST_KINDS);
    LUD_TAKE(&k->arrays, k->shown, MOST_KINDS);
    LUD_TAKE(&k->arrays, k->acted, MOST_KINDS);
    LUD_TAKE(&k->arrays, k->last, MOST_KINDS);
    LUD_TAKE(&k->arrays, k->promise, MOST_KINDS);
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
        memcpy(carried + 2 * i, lud_empo_features_agent(f, k->record, i) + LUD_GRID_AGENT_CARRIED_TYPE,
               2 * sizeof *carried);
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

static void hash_again(lud_empo_kinds *k) {
    memset(k->slots, 0, SLOTS * sizeof *k->slots);
    for (int64_t i = 0; i < k->n; i++) *slot_of(k, k->hash[i]) = (uint32_t)(i + 1);
}

/* Of some drawn the one that promises least. */
static int64_t least_of_some(const lud_empo_kinds *k) {
    int64_t least = -1;
    for (uint32_t i = 0; i < LEAVING; i++) {
        const lud_words w = lud_draw((lud_random_key){k->seed, i}, (uint32_t)k->n_shown,
                                     (uint32_t)(k->n_shown >> 32), LUD_PURPOSE_EXPLORE, LANE_LEAVE);
        const int64_t drawn = (int64_t)(lud_unit53(w.v[0], w.v[1]) * (double)k->n);
        if (least < 0 || k->promise[drawn] < k->promise[least]) least = drawn;
    }
    return least;
}

/* The number of a configuration, which joins when it is new and there is room for it; else -1. */
static int64_t number_of(lud_empo_kinds *k, uint64_t hash, double promise) {
    uint32_t *slot = slot_of(k, hash);
    if (*slot) return *slot - 1;
    int64_t kind = k->n;
    if (k->n == MOST_KINDS) {
        kind = least_of_some(k);
        if (promise <= k->promise[kind]) return -1;
    } else {
        k->n++;
    }
    k->hash[kind] = hash;
    k->shown[kind] = k->acted[kind] = k->last[kind] = 0;
    k->promise[kind] = promise;
    if (kind + 1 == k->n)
        *slot_of(k, hash) = (uint32_t)(kind + 1);
    else
        hash_again(k);
    return kind;
}

void lud_empo_kinds_show(lud_empo_kinds *k, const uint8_t *state, double promise) {
    k->n_shown++;
    const int64_t kind = number_of(k, hash_of(k, state), promise);
    if (kind < 0) return;
    uint64_t place = k->shown[kind]++;
    if (place >= STATES) { /* Vitter, "Random sampling with a reservoir", ACM TOMS 11, 1985 */
        const lud_words w = lud_draw((lud_random_key){k->seed, (uint32_t)kind}, (uint32_t)place,
                                     (uint32_t)(place >> 32), LUD_PURPOSE_EXPLORE, LANE_RESERVOIR);
        place = (uint64_t)(lud_unit53(w.v[0], w.v[1]) * (double)(place + 1));
    }
    if (place < STATES) memcpy(state_of(k, kind, place), state, k->model->layout.state_bytes);
}

int64_t lud_empo_kinds_count(const lud_empo_kinds *k) {
    return k->n;
}

int lud_empo_kinds_draw(const lud_empo_kinds *k, lud_random_key key, uint32_t tick,
                        int64_t kind[LUD_EMPO_KINDS_DRAWN], const uint8_t *states[LUD_EMPO_KINDS_DRAWN]) {
    const lud_words scale = lud_draw(key, tick, NOBODY, LUD_PURPOSE_EXPLORE, LANE_SCALE);
    const int n = (int)pow(LUD_EMPO_KINDS_DRAWN, lud_unit(scale.v[0]));
    for (int i = 0; i < n; i++) {
        const lud_words w = lud_draw(key, tick, NOBODY, LUD_PURPOSE_EXPLORE, LANE_DRAW + (uint32_t)i);
        kind[i] = (int64_t)(lud_unit53(w.v[0], w.v[1]) * (double)k->n);
        const uint64_t held = k->shown[kind[i]] < STATES ? k->shown[kind[i]] : STATES;
        states[i] = state_of(k, kind[i], (uint64_t)(lud_unit53(w.v[2], w.v[3]) * (double)held));
    }
    return n;
}

bool lud_empo_kinds_act(lud_empo_kinds *k, const uint8_t *state, double promise) {
    enum { REMEMBERED = 30 };
    const uint32_t slot = *slot_of(k, hash_of(k, state));
    k->n_acted++;
    if (!slot) return false;
    const uint64_t n = ++k->acted[slot - 1];
    double *mean = &k->promise[slot - 1];
    *mean += (promise - *mean) / (double)(n < REMEMBERED ? n : REMEMBERED);
    k->last[slot - 1] = k->n_acted;
    return true;
}

bool lud_empo_kinds_known(const lud_empo_kinds *k, int64_t kind, double *promise) {
    enum { LATELY = 8 }; /* in this part of all that was done so far */
    *promise = k->promise[kind];
    return k->acted[kind] > 0 && k->n_acted - k->last[kind] <= k->n_acted / LATELY;
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
    snprintf(text, sizeof text, "%skinds.acted", prefix);
    lud_checkpoint_bytes(checkpoint, text, k->acted, (size_t)n * sizeof *k->acted);
    snprintf(text, sizeof text, "%skinds.last", prefix);
    lud_checkpoint_bytes(checkpoint, text, k->last, (size_t)n * sizeof *k->last);
    snprintf(text, sizeof text, "%skinds.promise", prefix);
    lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_F64, 1, (const int64_t[]){k->n}, k->promise);
    snprintf(text, sizeof text, "%skinds.n_shown", prefix);
    lud_checkpoint_u64(checkpoint, text, &k->n_shown);
    snprintf(text, sizeof text, "%skinds.n_acted", prefix);
    lud_checkpoint_u64(checkpoint, text, &k->n_acted);
    snprintf(text, sizeof text, "%skinds.states", prefix);
    lud_checkpoint_bytes(checkpoint, text, k->states, (size_t)n * STATES * k->model->layout.state_bytes);
    if (!lud_checkpoint_loading(checkpoint) || lud_checkpoint_status(checkpoint, NULL)) return;
    for (int64_t i = 0; i < k->n; i++) {
        const uint64_t held = k->shown[i] < STATES ? k->shown[i] : STATES;
        if (!isfinite(k->promise[i]))
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%s: a promise that is no number", text);
        if (held == 0) lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%s: an empty configuration", text);
        lud_empo_check_states(k->model, (int64_t)held, state_of(k, i, 0), text, checkpoint);
    }
    hash_again(k);
}
