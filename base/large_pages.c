#include "base/large_pages.h"

#include <stdint.h>
#include <sys/mman.h>

void lud_prefer_large_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    enum { PAGE = 4096, LARGE = 2 << 20 };
    /* all whole pages, so that memory which is one mapping stays one */
    const uintptr_t first = ((uintptr_t)memory + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
                    last = ((uintptr_t)memory + bytes) & ~(uintptr_t)(PAGE - 1);
    if (first < last && last - first >= LARGE) (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}
