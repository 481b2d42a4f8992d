#include "sim/large_array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LARGE_PAGE = 2 << 20, OWN_PAGES_FROM = 1 << 20 };

void lud_prefer_large_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    /* all whole pages, so that memory which is one mapping stays one */
    const uintptr_t first = ((uintptr_t)memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
                    last = ((uintptr_t)memory + bytes) & ~(uintptr_t)(PAGE - 1);
    if (first < last && last - first >= LARGE_PAGE) (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static lud_status file_error(const char *what, int number, lud_error *error) {
    return lud_fail(error, LUD_ERROR_IO, "cannot %s a file for what memory does not hold: %s", what,
                    strerror(number));
}

static lud_status map_more(lud_large_array *array, uint64_t capacity, lud_error *error) {
    capacity = whole_pages(capacity);
    int refused = posix_fallocate(array->file, 0, (off_t)capacity);
    if (refused) return file_error("enlarge", refused, error);
    void *moved = array->bytes ? mremap(array->bytes, array->capacity, capacity, MREMAP_MAYMOVE)
                               : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, array->file, 0);
    if (moved == MAP_FAILED) return file_error("map", errno, error);
    array->bytes = moved;
    array->capacity = capacity;
    return LUD_OK;
}

/* Memory of `capacity` bytes with what the array holds; null when there is none. */
static void *grow(lud_large_array *array, uint64_t capacity) {
    if (capacity > SIZE_MAX / 2) return NULL;
    if (!array->paged && capacity < OWN_PAGES_FROM) return realloc(array->bytes, capacity);
    void *moved = array->paged
                      ? mremap(array->bytes, array->capacity, capacity, MREMAP_MAYMOVE)
                      : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (moved == MAP_FAILED) return NULL;
    lud_prefer_large_pages(moved, capacity);
    if (array->paged) return moved;
    if (array->bytes) memcpy(moved, array->bytes, array->capacity);
    free(array->bytes);
    array->paged = true;
    return moved;
}

lud_status lud_large_array_reserve(lud_large_array *array, uint64_t capacity, lud_error *error) {
    if (capacity <= array->capacity) return LUD_OK;
    if (array->mapped) return map_more(array, capacity, error);
    if (array->paged || capacity >= OWN_PAGES_FROM) capacity = whole_pages(capacity);
    void *moved = grow(array, capacity);
    if (!moved) return lud_no_memory(error, "an array of %llu MiB", (unsigned long long)(capacity >> 20));
    array->bytes = moved;
    array->capacity = capacity;
    return LUD_OK;
}

/* Shrinking cannot fail in a way that matters. */
void lud_large_array_trim(lud_large_array *array, uint64_t used) {
    if (!used || used >= array->capacity) return;
    if (!array->mapped && !array->paged) {
        void *smaller = realloc(array->bytes, used);
        if (!smaller) return;
        array->bytes = smaller;
        array->capacity = used;
        return;
    }
    uint64_t capacity = whole_pages(used);
    if (capacity >= array->capacity) return;
    void *smaller = mremap(array->bytes, array->capacity, capacity, MREMAP_MAYMOVE);
    if (smaller == MAP_FAILED) return;
    array->bytes = smaller;
    array->capacity = capacity;
    if (array->paged) return;
    if (ftruncate(array->file, (off_t)capacity) != 0) return; /* it only stays larger than it must be */
}

/* A file of the folder without a name. */
static int nameless_file(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    char path[4096]; /* some file systems need a name for a moment */
    if (snprintf(path, sizeof path, "%s/ludus-XXXXXX", folder) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}

lud_status lud_large_array_to_file(lud_large_array *array, uint64_t used, const char *folder,
                                   lud_error *error) {
    if (array->mapped) return LUD_OK;
    lud_large_array moved = {.mapped = true, .file = nameless_file(folder)};
    if (moved.file < 0)
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot make a file for what memory does not hold: %s",
                        folder, strerror(errno));
    lud_status status = map_more(&moved, array->capacity ? array->capacity : 1, error);
    if (status) {
        close(moved.file);
        return status;
    }
    if (used) memcpy(moved.bytes, array->bytes, used);
    lud_large_array_free(array);
    *array = moved;
    return LUD_OK;
}

void lud_large_array_free(lud_large_array *array) {
    if (array->mapped || array->paged)
        munmap(array->bytes, array->capacity);
    else
        free(array->bytes);
    if (array->mapped) close(array->file);
    *array = (lud_large_array){0};
}
