#include "learn/empo/networks/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

enum { FIRST_CAPACITY = 1 << 10 };

struct lud_empo_table {
    int width;
    int64_t capacity, n; /* capacity: a power of two, at most half full */
    uint64_t *keys;      /* [capacity] 0: free */
    uint64_t *visits;    /* [capacity] */
    float *rows;         /* [capacity][width] */
    float *start;        /* [width] */
};

uint64_t lud_empo_state_key(const lud_empo_features *f, const int32_t *record) {
    return XXH3_64bits(record, (size_t)f->words * sizeof *record);
}
uint64_t lud_empo_person_key(uint64_t state_key, int h) {
    const uint64_t parts[2] = {state_key, (uint64_t)h};
    return XXH3_64bits(parts, sizeof parts);
}
uint64_t lud_empo_goal_key(uint64_t state_key, int h, int goal) {
    const uint64_t parts[3] = {state_key, (uint64_t)h, (uint64_t)goal};
    return XXH3_64bits(parts, sizeof parts);
}

static bool allocate(lud_empo_table *t, int64_t capacity) {
    t->capacity = capacity;
    t->keys = calloc((size_t)capacity, sizeof *t->keys);
    t->visits = calloc((size_t)capacity, sizeof *t->visits);
    t->rows = calloc((size_t)capacity * (size_t)t->width, sizeof *t->rows);
    return t->keys && t->visits && t->rows;
}

static void release(lud_empo_table *t) {
    LUD_FREE(t->keys, t->visits, t->rows);
}

lud_empo_table *lud_empo_table_create(int width, double start) {
    lud_empo_table *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->width = width;
    t->start = malloc((size_t)width * sizeof *t->start);
    if (!t->start || !allocate(t, FIRST_CAPACITY)) {
        lud_empo_table_destroy(t);
        return NULL;
    }
    for (int i = 0; i < width; i++) t->start[i] = (float)start;
    return t;
}

void lud_empo_table_destroy(lud_empo_table *t) {
    if (!t) return;
    release(t);
    free(t->start);
    free(t);
}

/* Slot of a key, or the free one where it belongs. Keys are hashes already; 0 is taken for 1. */
static int64_t slot_of(const lud_empo_table *t, uint64_t key) {
    const uint64_t mask = (uint64_t)t->capacity - 1;
    uint64_t i = key & mask;
    while (t->keys[i] && t->keys[i] != key) i = (i + 1) & mask;
    return (int64_t)i;
}

static uint64_t proper(uint64_t key) {
    return key ? key : 1;
}

const float *lud_empo_table_read(const lud_empo_table *t, uint64_t key) {
    const int64_t i = slot_of(t, proper(key));
    return t->keys[i] ? t->rows + i * t->width : t->start;
}

uint64_t lud_empo_table_visits(const lud_empo_table *t, uint64_t key) {
    return t->visits[slot_of(t, proper(key))];
}

static bool grow(lud_empo_table *t) {
    lud_empo_table old = *t;
    if (!allocate(t, old.capacity * 2)) {
        release(t);
        *t = old;
        return false;
    }
    for (int64_t i = 0; i < old.capacity; i++) {
        if (!old.keys[i]) continue;
        const int64_t to = slot_of(t, old.keys[i]);
        t->keys[to] = old.keys[i];
        t->visits[to] = old.visits[i];
        memcpy(t->rows + to * t->width, old.rows + i * t->width, (size_t)t->width * sizeof *t->rows);
    }
    release(&old);
    return true;
}

bool lud_empo_table_move(lud_empo_table *t, uint64_t key, const float *target, bool adaptive, double rate,
                         double power, double weight) {
    if (2 * (t->n + 1) > t->capacity && !grow(t)) return false;
    key = proper(key);
    const int64_t i = slot_of(t, key);
    float *row = t->rows + i * t->width;
    if (!t->keys[i]) {
        t->keys[i] = key;
        t->n++;
        memcpy(row, t->start, (size_t)t->width * sizeof *row);
    }
    t->visits[i]++;
    const double step = fmin(weight * (adaptive ? fmax(rate, pow((double)t->visits[i], -power)) : rate), 1.0);
    for (int k = 0; k < t->width; k++) row[k] += (float)(step * ((double)target[k] - (double)row[k]));
    return true;
}

int64_t lud_empo_table_rows(const lud_empo_table *t) {
    return t->n;
}

void lud_empo_table_visit(lud_empo_table *t, const char *name, lud_checkpoint *checkpoint) {
    char text[128];
    uint64_t capacity = (uint64_t)t->capacity, n = (uint64_t)t->n;
    snprintf(text, sizeof text, "%s.capacity", name);
    lud_checkpoint_u64(checkpoint, text, &capacity);
    snprintf(text, sizeof text, "%s.n", name);
    lud_checkpoint_u64(checkpoint, text, &n);
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    if (lud_checkpoint_loading(checkpoint)) {
        const bool sound = capacity >= FIRST_CAPACITY && !(capacity & (capacity - 1)) &&
                           capacity <= UINT64_C(1) << 34 && 2 * n <= capacity;
        lud_empo_table old = *t;
        if (!sound) {
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "the table %s makes no sense", name);
            return;
        }
        if (!allocate(t, (int64_t)capacity)) {
            release(t);
            *t = old;
            lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "no memory for the table %s", name);
            return;
        }
        release(&old);
        t->n = (int64_t)n;
    }
    const int64_t shape[2] = {t->capacity, t->width};
    snprintf(text, sizeof text, "%s.keys", name);
    lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_U64, 1, shape, t->keys);
    snprintf(text, sizeof text, "%s.visits", name);
    lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_U64, 1, shape, t->visits);
    snprintf(text, sizeof text, "%s.rows", name);
    lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_F32, 2, shape, t->rows);
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    int64_t taken = 0; /* a full table would be searched for ever */
    for (int64_t i = 0; i < t->capacity; i++) taken += t->keys[i] != 0;
    if (taken != t->n)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "the table %s has %lld rows, expected %lld", name,
                            (long long)taken, (long long)t->n);
}
