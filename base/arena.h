/* Memory taken in one piece and given back in one piece.
 *
 * An arena hands out aligned pieces of growing blocks. `mark` and `release` make it a scratch stack: what was
 * taken since the mark is given back at once. Under the address sanitizer free space is poisoned, so that a
 * pointer kept past its release is reported. */
#pragma once

#include <stddef.h>

typedef struct lud_arena lud_arena;

typedef struct lud_arena_mark {
    void *block;
    size_t used;
} lud_arena_mark;

/* A new arena whose first block holds `first_bytes` (0: a small default). Null when memory is out. */
lud_arena *lud_arena_create(size_t first_bytes);
/* Gives everything back. Null is allowed. */
void lud_arena_destroy(lud_arena *arena);

/* `bytes` zeroed bytes, aligned to 64. Null when memory is out. 0 bytes give a valid, empty piece. */
void *lud_arena_take(lud_arena *arena, size_t bytes);
/* The same for n elements of a size; null also when n * size overflows. */
void *lud_arena_take_array(lud_arena *arena, size_t n, size_t size);
/* A copy of the first `length` bytes of `text` with a zero byte behind it. */
char *lud_arena_text(lud_arena *arena, const char *text, size_t length);

lud_arena_mark lud_arena_get_mark(const lud_arena *arena);
/* Gives back everything taken since the mark; the memory stays with the arena for reuse. */
void lud_arena_release(lud_arena *arena, lud_arena_mark mark);
/* Bytes held from the operating system. */
size_t lud_arena_bytes(const lud_arena *arena);

/* Gives back pieces that malloc and the like gave: LUD_FREE(a, b, c). Null is allowed. */
#define LUD_FREE(...)                                                                                        \
    lud_free_all(sizeof(void *[]){__VA_ARGS__} / sizeof(void *), (void *const[]){__VA_ARGS__})
void lud_free_all(size_t n, void *const *pieces);
