/* Large pages for much memory: less translating of addresses, and a five-hundredth of the page faults. */
#pragma once

#include <stddef.h>

/* Asks for them where memory[bytes] has room for some. Advice only: nothing else changes. */
void lud_prefer_large_pages(void *memory, size_t bytes);
