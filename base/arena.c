#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define LUD_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LUD_POISON 1
#endif
#endif
#ifdef LUD_POISON
#include <sanitizer/asan_interface.h>
enum { BEHIND = 1 }; /* poison stands between any two pieces */
#else
enum { BEHIND = 0 };
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum { ALIGNMENT = 64, DEFAULT_BYTES = 4096 };

typedef struct block {
    struct block *previous, *next;
    size_t capacity, used;
    char *memory; /* ALIGNMENT-aligned, `capacity` bytes */
} block;

struct lud_arena {
    block *first, *current;
    size_t bytes;
};

static block *block_create(size_t capacity) {
    block *b = malloc(sizeof *b);
    if (!b) return NULL;
    char *memory = aligned_alloc(ALIGNMENT, capacity);
    if (!memory) {
        free(b);
        return NULL;
    }
    *b = (block){.capacity = capacity, .memory = memory};
    ASAN_POISON_MEMORY_REGION(memory, capacity);
    return b;
}

static size_t round_up(size_t bytes) {
    return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

lud_arena *lud_arena_create(size_t first_bytes) {
    if (first_bytes > SIZE_MAX / 2) return NULL;
    lud_arena *arena = malloc(sizeof *arena);
    if (!arena) return NULL;
    block *b = block_create(round_up(first_bytes ? first_bytes : DEFAULT_BYTES));
    if (!b) {
        free(arena);
        return NULL;
    }
    *arena = (lud_arena){.first = b, .current = b, .bytes = b->capacity};
    return arena;
}

void lud_arena_destroy(lud_arena *arena) {
    if (!arena) return;
    for (block *b = arena->first; b;) {
        block *next = b->next;
        ASAN_UNPOISON_MEMORY_REGION(b->memory, b->capacity);
        free(b->memory);
        free(b);
        b = next;
    }
    free(arena);
}

/* Moves on to a block with room for `bytes`, reusing blocks kept by an earlier release. */
static block *next_block(lud_arena *arena, size_t bytes) {
    for (block *b = arena->current->next; b; b = b->next) {
        if (b->capacity >= bytes) {
            arena->current = b;
            return b;
        }
        b->used = 0; /* passed over: counts as empty until the mark before it is released */
    }
    size_t capacity = arena->current->capacity * 2;
    if (capacity < bytes) capacity = bytes;
    block *b = block_create(capacity);
    if (!b) return NULL;
    block *last = arena->current;
    while (last->next) last = last->next;
    last->next = b;
    b->previous = last;
    arena->bytes += capacity;
    arena->current = b;
    return b;
}

void *lud_arena_take(lud_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX / 2) return NULL;
    const size_t need = round_up(bytes + BEHIND);
    block *b = arena->current;
    if (b->capacity - b->used < need) {
        b = next_block(arena, need);
        if (!b) return NULL;
    }
    char *piece = b->memory + b->used;
    b->used += need;
    ASAN_UNPOISON_MEMORY_REGION(piece, bytes);
    if (bytes) memset(piece, 0, bytes);
    return piece;
}

void *lud_arena_take_array(lud_arena *arena, size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) return NULL;
    return lud_arena_take(arena, n * size);
}

char *lud_arena_text(lud_arena *arena, const char *text, size_t length) {
    if (length == SIZE_MAX) return NULL;
    char *copy = lud_arena_take(arena, length + 1);
    if (copy && length) memcpy(copy, text, length);
    return copy;
}

lud_arena_mark lud_arena_get_mark(const lud_arena *arena) {
    return (lud_arena_mark){arena->current, arena->current->used};
}

void lud_arena_release(lud_arena *arena, lud_arena_mark mark) {
    block *b = mark.block;
    assert(mark.used <= b->used);
    ASAN_POISON_MEMORY_REGION(b->memory + mark.used, b->capacity - mark.used);
    b->used = mark.used;
    arena->current = b;
    for (b = b->next; b; b = b->next) {
        ASAN_POISON_MEMORY_REGION(b->memory, b->capacity);
        b->used = 0;
    }
}

size_t lud_arena_bytes(const lud_arena *arena) {
    return arena->bytes;
}

void lud_free_all(size_t n, void *const *pieces) {
    for (size_t i = 0; i < n; i++) free(pieces[i]);
}
