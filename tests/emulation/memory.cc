// Device memory: every block has pages of its own between pages that nobody may touch, ends at the end of its
// last page as far as alignment allows, and stays out of reach once it is released. A protection key keeps
// the host out.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "emulation.h"

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifdef ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)   ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace emulation {

void spoil(void *memory, size_t bytes) {
    uint32_t *to = static_cast<uint32_t *>(memory); // aligned, as all that is spoiled
    for (size_t i = 0; i < bytes / sizeof SPOILED; ++i) to[i] = SPOILED;
    memcpy(to + bytes / sizeof SPOILED, &SPOILED, bytes % sizeof SPOILED);
}

namespace {

const size_t REGION_BYTES = (size_t)1
                            << 40; // of addresses, used once each: a stale pointer never hits a new block
const size_t ALIGNMENT = 256;      // of cudaMalloc

struct block {
    size_t bytes, mapped; // asked for, and of its pages
    char *pages;
};

struct memory_region {
    char *begin, *next, *end;
    std::map<char *, block> blocks; // by what the user holds
    size_t in_use, limit, page;
    int key; // protection key, negative without

    memory_region() : in_use(0), page((size_t)sysconf(_SC_PAGESIZE)), key(-1) {
        void *all = MAP_FAILED;
        size_t bytes = REGION_BYTES;
        for (; all == MAP_FAILED && bytes >= ((size_t)1 << 34); bytes /= all == MAP_FAILED ? 2 : 1)
            all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) {
            perror("emulated device memory");
            abort();
        }
        begin = next = static_cast<char *>(all);
        end = begin + bytes;
        const char *text = getenv("LUDUS_EMULATED_MEMORY");
        limit = text ? (size_t)strtoull(text, nullptr, 10) : (size_t)16 << 30;
#ifdef PKEY_DISABLE_ACCESS
        key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
#endif
    }
};

memory_region &region() {
    static memory_region only;
    return only;
}

size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// Pages as they were before they were taken. A fresh mapping in their place is one with those beside it;
// pages with a key, or that were written, stay mappings of their own, of which a process may have only so
// many.
void give_back(char *pages, size_t bytes) {
    mmap(pages, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

// The block that begins at or before an address.
const std::pair<char *const, block> *block_before(const void *memory) {
    auto after = region().blocks.upper_bound(static_cast<char *>(const_cast<void *>(memory)));
    return after == region().blocks.begin() ? nullptr : &*--after;
}

} // namespace

size_t memory_in_use() {
    return region().in_use;
}
size_t memory_limit() {
    return region().limit;
}

void memory_open() {
#ifdef PKEY_DISABLE_ACCESS
    if (region().key >= 0) pkey_set(region().key, 0);
#endif
}
void memory_close() {
#ifdef PKEY_DISABLE_ACCESS
    if (region().key >= 0) pkey_set(region().key, PKEY_DISABLE_ACCESS);
#endif
}

void *memory_take(size_t bytes) {
    memory_region &r = region();
    if (bytes == 0 || bytes > r.limit || r.in_use > r.limit - bytes) return nullptr;
    size_t mapped = round_up(round_up(bytes, ALIGNMENT), r.page);
    if ((size_t)(r.end - r.next) < mapped + 2 * r.page) return nullptr;
    char *pages = r.next + r.page;
    if (mprotect(pages, mapped, PROT_READ | PROT_WRITE) != 0) return nullptr;
    r.next = pages + mapped; // the page behind is the next block's page in front
    char *memory = pages + mapped - round_up(bytes, ALIGNMENT);
    memory_open();
    spoil(memory, bytes);
    memory_close();
    ASAN_POISON_MEMORY_REGION(pages, (size_t)(memory - pages));
    ASAN_POISON_MEMORY_REGION(memory + bytes, (size_t)(pages + mapped - memory) - bytes);
#ifdef PKEY_DISABLE_ACCESS
    if (r.key >= 0) pkey_mprotect(pages, mapped, PROT_READ | PROT_WRITE, r.key);
#endif
    r.blocks[memory] = {bytes, mapped, pages};
    r.in_use += bytes;
    return memory;
}

bool memory_release(void *memory) {
    memory_region &r = region();
    auto found = r.blocks.find(static_cast<char *>(memory));
    if (found == r.blocks.end()) return false;
    const block &b = found->second;
    ASAN_UNPOISON_MEMORY_REGION(b.pages, b.mapped);
    give_back(b.pages, b.mapped);
    r.in_use -= b.bytes;
    r.blocks.erase(found);
    return true;
}

bool memory_covers(const void *memory, size_t bytes) {
    const auto *b = block_before(memory);
    if (!b) return false;
    size_t offset = (size_t)(static_cast<const char *>(memory) - b->first);
    return offset <= b->second.bytes && bytes <= b->second.bytes - offset;
}

bool memory_touches(const void *memory, size_t bytes) {
    const char *from = static_cast<const char *>(memory);
    return from < region().end && from + bytes > region().begin;
}

} // namespace emulation
