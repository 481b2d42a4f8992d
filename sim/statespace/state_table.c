#include "sim/statespace/state_table.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL /* states have a few bytes: a call takes as long as the hash */
#include <xxhash.h>

#include "sim/large_array.h"

enum { MIN_LOG2_SLOTS = 10, MAX_LOG2_SLOTS = 32, LOOK_AHEAD = 16 };

uint32_t lud_state_tag(const uint8_t *state, size_t state_bytes) {
    return (uint32_t)(XXH3_64bits(state, state_bytes) >> 32);
}

unsigned lud_state_table_log2_slots(uint64_t n_states) {
    unsigned log2_slots = MIN_LOG2_SLOTS;
    while (log2_slots < MAX_LOG2_SLOTS && ((uint64_t)3 << log2_slots) / 4 < n_states) log2_slots++;
    return log2_slots;
}

uint64_t lud_state_table_bytes(const lud_state_table *table) {
    return sizeof(uint64_t) << table->log2_slots;
}

static uint64_t *slots_create(unsigned log2_slots, lud_error *error) {
    size_t bytes = sizeof(uint64_t) << log2_slots;
    uint64_t *slots = calloc(1, bytes);
    if (!slots) {
        lud_no_memory(error, "a state table of %zu MiB", bytes >> 20);
        return NULL;
    }
    lud_prefer_large_pages(slots, bytes); /* every access is to another place */
    return slots;
}

lud_status lud_state_table_create(lud_state_table *table, uint64_t n_states, lud_error *error) {
    unsigned log2_slots = lud_state_table_log2_slots(n_states);
    *table = (lud_state_table){.slots = slots_create(log2_slots, error), .log2_slots = log2_slots};
    return table->slots ? LUD_OK : LUD_ERROR_MEMORY;
}

void lud_state_table_free(lud_state_table *table) {
    free(table->slots);
    *table = (lud_state_table){0};
}

void lud_state_table_clear(lud_state_table *table) {
    memset(table->slots, 0, lud_state_table_bytes(table));
}

void lud_state_tags(size_t n, const uint8_t *states, size_t state_bytes, uint32_t *tags) {
    for (size_t i = 0; i < n; i++)
        tags[i] = (uint32_t)(XXH3_64bits(states + i * state_bytes, state_bytes) >> 32);
}

/* memcmp of few bytes: words that overlap at the end. */
static inline bool is_same(const uint8_t *a, const uint8_t *b, size_t n) {
    if (n < sizeof(uint64_t)) return memcmp(a, b, n) == 0;
    uint64_t x, y;
    for (size_t at = 0; at < n; at += sizeof x) {
        const size_t from = at + sizeof x <= n ? at : n - sizeof x;
        memcpy(&x, a + from, sizeof x);
        memcpy(&y, b + from, sizeof y);
        if (x != y) return false;
    }
    return true;
}

static inline uint64_t home(const lud_state_table *table, uint32_t tag) {
    return (uint64_t)tag >> (32 - table->log2_slots);
}

lud_status lud_state_table_reserve(lud_state_table *table, uint64_t n_states, lud_error *error) {
    unsigned log2_slots = lud_state_table_log2_slots(n_states);
    if (log2_slots <= table->log2_slots) return LUD_OK;
    lud_state_table larger = {.slots = slots_create(log2_slots, error), .log2_slots = log2_slots};
    if (!larger.slots) return LUD_ERROR_MEMORY;
    uint64_t mask = ((uint64_t)1 << log2_slots) - 1;
    for (uint64_t i = 0; i < (uint64_t)1 << table->log2_slots; i++) {
        uint64_t slot = table->slots[i];
        if (!slot) continue;
        uint64_t at = home(&larger, (uint32_t)(slot >> 32));
        while (larger.slots[at]) at = (at + 1) & mask;
        larger.slots[at] = slot;
    }
    free(table->slots);
    *table = larger;
    return LUD_OK;
}

static inline const uint8_t *state_at(const lud_state_store *store, uint32_t number) {
    return number < LUD_STATE_FRESH ? store->known + (size_t)number * store->state_bytes
                                    : store->fresh + (size_t)(number - LUD_STATE_FRESH) * store->state_bytes;
}

static inline uint32_t slot_tag(uint64_t slot) {
    return (uint32_t)(slot >> 32);
}
static inline uint32_t slot_number(uint64_t slot) {
    return (uint32_t)slot - 1;
}
static inline uint64_t slot_of(uint32_t tag, uint32_t number) {
    return (uint64_t)tag << 32 | (number + 1);
}

static uint32_t insert_one(lud_state_table *table, lud_state_store *store, lud_state_cursor *cursor,
                           const uint8_t *state, uint32_t tag) {
    uint64_t mask = ((uint64_t)1 << table->log2_slots) - 1;
    for (uint64_t at = home(table, tag);; at = (at + 1) & mask) {
        uint64_t slot = __atomic_load_n(&table->slots[at], __ATOMIC_ACQUIRE);
        if (!slot) {
            if (cursor->next == cursor->end) {
                cursor->next = __atomic_fetch_add(&store->n_fresh, LUD_STATE_CURSOR_CHUNK, __ATOMIC_RELAXED);
                cursor->end = cursor->next + LUD_STATE_CURSOR_CHUNK;
            }
            memcpy(store->fresh + cursor->next * store->state_bytes, state, store->state_bytes);
            uint32_t number = LUD_STATE_FRESH + (uint32_t)cursor->next;
            if (__atomic_compare_exchange_n(&table->slots[at], &slot, slot_of(tag, number), false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
                cursor->next++;
                return number;
            }
            /* another thread took the slot just now; `slot` holds what it put there, perhaps this state */
        }
        if (slot_tag(slot) == tag && is_same(state_at(store, slot_number(slot)), state, store->state_bytes))
            return slot_number(slot);
    }
}

/* Asks for the slots of a group of states, then for the states there. Slots and states lie anywhere in
 * memory: this overlaps the waits that would otherwise be most of the time. */
static void fetch_group(const lud_state_table *table, const lud_state_store *store, size_t n,
                        const uint32_t *tags) {
    for (size_t i = 0; i < n; i++) lud_state_table_prefetch(table, tags[i]);
    for (size_t i = 0; i < n; i++) {
        uint64_t slot = __atomic_load_n(&table->slots[home(table, tags[i])], __ATOMIC_RELAXED);
        if (slot && slot_tag(slot) == tags[i]) __builtin_prefetch(state_at(store, slot_number(slot)));
    }
}

void lud_state_table_insert(lud_state_table *table, lud_state_store *store, lud_state_cursor *cursor,
                            size_t n, const uint8_t *states, const uint32_t *tags, uint32_t *number) {
    for (size_t begin = 0; begin < n; begin += LOOK_AHEAD) {
        size_t end = begin + LOOK_AHEAD < n ? begin + LOOK_AHEAD : n;
        fetch_group(table, store, end - begin, tags + begin);
        for (size_t i = begin; i < end; i++)
            number[i] = insert_one(table, store, cursor, states + i * store->state_bytes, tags[i]);
    }
}

uint32_t lud_state_table_find(const lud_state_table *table, const lud_state_store *store,
                              const uint8_t *state, uint32_t tag) {
    uint64_t mask = ((uint64_t)1 << table->log2_slots) - 1;
    for (uint64_t at = home(table, tag); table->slots[at]; at = (at + 1) & mask) {
        uint64_t slot = table->slots[at];
        if (slot_tag(slot) == tag && is_same(state_at(store, slot_number(slot)), state, store->state_bytes))
            return slot_number(slot);
    }
    return UINT32_MAX;
}

void lud_state_table_find_all(const lud_state_table *table, const lud_state_store *store, size_t n,
                              const uint8_t *states, const uint32_t *tags, uint32_t *number) {
    for (size_t begin = 0; begin < n; begin += LOOK_AHEAD) {
        size_t end = begin + LOOK_AHEAD < n ? begin + LOOK_AHEAD : n;
        fetch_group(table, store, end - begin, tags + begin);
        for (size_t i = begin; i < end; i++)
            number[i] = lud_state_table_find(table, store, states + i * store->state_bytes, tags[i]);
    }
}

void lud_state_table_place(lud_state_table *table, uint32_t tag, uint32_t number) {
    const uint64_t mask = ((uint64_t)1 << table->log2_slots) - 1, slot = slot_of(tag, number);
    for (uint64_t at = home(table, tag);; at = (at + 1) & mask) {
        uint64_t empty = 0;
        if (__atomic_compare_exchange_n(&table->slots[at], &empty, slot, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return;
    }
}

void lud_state_table_renumber(lud_state_table *table, uint32_t tag, uint32_t from, uint32_t to) {
    uint64_t mask = ((uint64_t)1 << table->log2_slots) - 1;
    uint64_t old = slot_of(tag, from), at = home(table, tag);
    while (__atomic_load_n(&table->slots[at], __ATOMIC_RELAXED) != old) at = (at + 1) & mask;
    __atomic_store_n(&table->slots[at], slot_of(tag, to), __ATOMIC_RELAXED);
}
