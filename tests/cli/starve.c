/* A library to preload: the allocation number LUDUS_STARVE of the program, by whoever asks for it, is
 * refused, and no other. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

static atomic_long asked, refused = -1;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("LUDUS_STARVE");
    long n = 0;
    while (text && *text >= '0' && *text <= '9') n = 10 * n + (*text++ - '0');
    atomic_store(&asked, 0);
    atomic_store(&refused, text ? n : -1);
}

static int refuse(void) {
    if (atomic_load(&refused) < 0 || atomic_fetch_add(&asked, 1) + 1 != atomic_load(&refused)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes) {
    return refuse() ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
    return refuse() ? NULL : __libc_calloc(n, bytes);
}
void *realloc(void *memory, size_t bytes) {
    return refuse() ? NULL : __libc_realloc(memory, bytes);
}
