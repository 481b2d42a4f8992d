/* A set of states that several threads fill at once without locks: an open-addressing hash table of state
 * numbers.
 *
 * A slot is one 64-bit word, the upper half of the state's XXH3 hash (its tag) and the state's number + 1; 0
 * is empty. The home slot is given by the tag's leading bits, so the table grows without looking at states. A
 * new state is written to its place first and then published by one compare-and-swap (as in Laarman, van de
 * Pol, Weber, "Boosting multi-core reachability performance with shared hash tables", FMCAD 2010). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* At most this many states. */
#define LUD_MAX_STATES 0x7ffffffeu
/* Numbers of fresh states have this bit, so that old and final numbers never meet while states are
 * renumbered. */
#define LUD_STATE_FRESH 0x80000000u

typedef struct lud_state_table {
    uint64_t *slots; /* [1 << log2_slots] */
    unsigned log2_slots;
} lud_state_table;

/* Where the bytes of numbered states lie: number i in known[i], number LUD_STATE_FRESH + i in fresh[i]. */
typedef struct lud_state_store {
    size_t state_bytes;
    const uint8_t *known;
    uint8_t *fresh;
    uint64_t n_fresh; /* numbers given out so far; raised atomically by the threads */
} lud_state_store;

/* Numbers of fresh states a thread has taken from the store and not yet used. Zero-initialise. */
typedef struct lud_state_cursor {
    uint64_t next, end;
} lud_state_cursor;

enum { LUD_STATE_CURSOR_CHUNK = 64 };

uint32_t lud_state_tag(const uint8_t *state, size_t state_bytes);
/* tags[n] of states[n][state_bytes] */
void lud_state_tags(size_t n, const uint8_t *states, size_t state_bytes, uint32_t *tags);

lud_status lud_state_table_create(lud_state_table *table, uint64_t n_states, lud_error *error);
void lud_state_table_free(lud_state_table *table);
uint64_t lud_state_table_bytes(const lud_state_table *table);
/* Slots (a power of two) that keep n states at most three quarters full. */
unsigned lud_state_table_log2_slots(uint64_t n_states);
/* Forgets all states and keeps the memory. */
void lud_state_table_clear(lud_state_table *table);
/* Makes room for n states in all. Not to be called while others use the table. */
lud_status lud_state_table_reserve(lud_state_table *table, uint64_t n_states, lud_error *error);

/* Finds or adds n states[n][state_bytes] with their tags; number[n] gets each one's number. Threads call this
 * at the same time, each with its own cursor. The table must have room for all, and `fresh` for n_fresh + n +
 * LUD_STATE_CURSOR_CHUNK states a thread. Which number a new state gets depends on timing. */
void lud_state_table_insert(lud_state_table *table, lud_state_store *store, lud_state_cursor *cursor,
                            size_t n, const uint8_t *states, const uint32_t *tags, uint32_t *number);
/* The number of a state, UINT32_MAX when it is not there. */
uint32_t lud_state_table_find(const lud_state_table *table, const lud_state_store *store,
                              const uint8_t *state, uint32_t tag);
/* The numbers of n states[n][state_bytes], as above. Threads may do this at once. */
void lud_state_table_find_all(const lud_state_table *table, const lud_state_store *store, size_t n,
                              const uint8_t *states, const uint32_t *tags, uint32_t *number);
/* Adds a state that is not in the table and has this number already. Threads may do this for different states
 * at once. */
void lud_state_table_place(lud_state_table *table, uint32_t tag, uint32_t number);
/* Gives the state that has the number `from` the number `to`. Threads may do this for different states at
 * once. */
void lud_state_table_renumber(lud_state_table *table, uint32_t tag, uint32_t from, uint32_t to);
/* Fetches the home slot of a tag into the cache ahead of its use. */
static inline void lud_state_table_prefetch(const lud_state_table *table, uint32_t tag) {
    __builtin_prefetch(&table->slots[(uint64_t)tag >> (32 - table->log2_slots)]);
}
