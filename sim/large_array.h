/* An array that grows: in memory, or in a file that is mapped into it, so that the system keeps only the
 * pages in memory that are in use.
 *
 * The file has no name (it is gone when the program ends, however it ends) and its blocks are reserved when
 * it grows, so a full disk is an error there and not a signal later. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zero-initialise: an empty array in memory. */
typedef struct lud_large_array {
    void *bytes;
    uint64_t capacity; /* in bytes */
    bool mapped;       /* in a file */
    bool paged;        /* in memory of its own pages, which growing moves and does not copy */
    int file;
} lud_large_array;

/* Makes room for at least `capacity` bytes; contents stay, the address may change. LUD_ERROR_MEMORY, or
 * LUD_ERROR_IO when the file cannot grow. */
lud_status lud_large_array_reserve(lud_large_array *array, uint64_t capacity, lud_error *error);
/* Gives back what is beyond `used` bytes. */
void lud_large_array_trim(lud_large_array *array, uint64_t used);
/* Moves `used` bytes of an array in memory to a file in the folder. */
lud_status lud_large_array_to_file(lud_large_array *array, uint64_t used, const char *folder,
                                   lud_error *error);
void lud_large_array_free(lud_large_array *array);

/* Asks for large pages where memory[bytes] has room for some: less translating of addresses, and a
 * five-hundredth of the page faults. Advice only: nothing else changes. */
void lud_prefer_large_pages(void *memory, size_t bytes);
