/* What was found out, by what it follows from: most is asked for again at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct lud_kept lud_kept;

/* A table in which a key of so many bytes has one place, where another key may take over; `bytes`: about what
 * it may take in all. Null when memory is out. */
lud_kept *lud_kept_create(size_t key_bytes, size_t value_bytes, size_t bytes);
void lud_kept_destroy(lud_kept *kept);
/* The value of a key, until the next call; *known: whether it is there already, else the caller fills it. */
void *lud_kept_of(lud_kept *kept, const void *key, bool *known);
