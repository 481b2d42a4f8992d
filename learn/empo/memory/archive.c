#include "learn/empo/memory/archive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/arena.h"
#include "learn/empo/memory/environments.h"
#include "learn/nn/arrays.h"

enum { FIRST_ROOM = 256 };

struct lud_empo_archive {
    size_t state_bytes;
    int64_t capacity, n, room;
    uint8_t *states;  /* [room][state_bytes] */
    uint32_t *starts; /* [room] */
    int64_t n_slots;  /* a power of two, at least 2 room */
    int32_t *slots;   /* [n_slots] number of a state + 1, 0: free */
};

static uint8_t *state_of(const lud_empo_archive *a, int64_t index) {
    return a->states + (size_t)index * a->state_bytes;
}

/* The slot of a state, or the free one where it belongs. */
static int64_t find(const lud_empo_archive *a, const uint8_t *state) {
    const uint64_t mask = (uint64_t)a->n_slots - 1;
    uint64_t i = XXH3_64bits(state, a->state_bytes) & mask;
    while (a->slots[i] && memcmp(state_of(a, a->slots[i] - 1), state, a->state_bytes) != 0)
        i = (i + 1) & mask;
    return (int64_t)i;
}

/* Room for at least `wanted` states, and the slots anew. */
static bool make_room(lud_empo_archive *a, int64_t wanted) {
    int64_t room = a->room ? a->room : FIRST_ROOM;
    while (room < wanted) room *= 2;
    int32_t *slots = calloc((size_t)room * 2, sizeof *slots);
    if (!slots || !lud_grow(&a->states, (size_t)room, a->state_bytes) ||
        !lud_grow(&a->starts, (size_t)room, sizeof *a->starts)) {
        free(slots);
        return false;
    }
    free(a->slots);
    a->slots = slots;
    a->n_slots = room * 2;
    a->room = room;
    for (int64_t i = 0; i < a->n; i++) a->slots[find(a, state_of(a, i))] = (int32_t)(i + 1);
    return true;
}

lud_empo_archive *lud_empo_archive_create(size_t state_bytes, int64_t capacity) {
    lud_empo_archive *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    assert(capacity > 0 && capacity < INT32_MAX / 4);
    a->state_bytes = state_bytes;
    a->capacity = capacity;
    if (make_room(a, 1)) return a;
    lud_empo_archive_destroy(a);
    return NULL;
}

void lud_empo_archive_destroy(lud_empo_archive *a) {
    if (!a) return;
    LUD_FREE(a->states, a->starts, a->slots, a);
}

bool lud_empo_archive_add(lud_empo_archive *a, const uint8_t *state) {
    int64_t slot = find(a, state);
    if (a->slots[slot] || a->n == a->capacity) return true;
    if (a->n == a->room) {
        if (!make_room(a, a->n + 1)) return false;
        slot = find(a, state);
    }
    memcpy(state_of(a, a->n), state, a->state_bytes);
    a->starts[a->n] = 0;
    a->slots[slot] = (int32_t)++a->n;
    return true;
}

int64_t lud_empo_archive_count(const lud_empo_archive *a) {
    return a->n;
}

uint32_t lud_empo_archive_starts(const lud_empo_archive *a, int64_t index) {
    return a->starts[index];
}

const uint8_t *lud_empo_archive_draw(lud_empo_archive *a, int n, const double *uniform) {
    assert(a->n > 0 && n > 0);
    int64_t best = -1;
    for (int i = 0; i < n; i++) {
        const int64_t index = (int64_t)(uniform[i] * (double)a->n);
        if (best < 0 || a->starts[index] < a->starts[best]) best = index;
    }
    a->starts[best]++;
    return state_of(a, best);
}

void lud_empo_archive_visit(lud_empo_archive *a, const lud_model *model, const char *prefix,
                            lud_checkpoint *checkpoint) {
    char text[128];
    uint64_t n = (uint64_t)a->n;
    snprintf(text, sizeof text, "%sn", prefix);
    lud_checkpoint_u64(checkpoint, text, &n);
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    if (lud_checkpoint_loading(checkpoint)) {
        if (n > (uint64_t)a->capacity) {
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "the archive of the checkpoint is larger");
            return;
        }
        a->n = 0;
        if (!make_room(a, (int64_t)n)) {
            lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "no memory for an archive of %llu states",
                                (unsigned long long)n);
            return;
        }
    }
    snprintf(text, sizeof text, "%sstates", prefix);
    lud_checkpoint_bytes(checkpoint, text, a->states, (size_t)n * a->state_bytes);
    if (model && lud_checkpoint_loading(checkpoint) && !lud_checkpoint_status(checkpoint, NULL))
        lud_empo_check_states(model, (int64_t)n, a->states, text, checkpoint);
    snprintf(text, sizeof text, "%sstarts", prefix);
    lud_checkpoint_bytes(checkpoint, text, a->starts, (size_t)n * sizeof *a->starts);
    if (!lud_checkpoint_loading(checkpoint) || lud_checkpoint_status(checkpoint, NULL)) return;
    a->n = (int64_t)n;
    if (!make_room(a, a->n)) /* the room is there: the slots are set anew */
        lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "no memory for an archive of %llu states",
                            (unsigned long long)n);
}
