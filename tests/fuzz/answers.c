#include "answers.h"

#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

static uint64_t sum;

void fuzz_answer(const void *bytes, size_t n) {
    sum = XXH3_64bits_withSeed(bytes, n, sum + 1);
}

void fuzz_answer_text(const char *text) {
    fuzz_answer(text ? text : "", text ? strlen(text) : 0);
}

void fuzz_answer_without(const char *text, const char *folder) {
    const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    for (const char *found; (found = strstr(text, name)) != NULL; text = found + strlen(name)) {
        const size_t before = (size_t)(name - folder), n = (size_t)(found - text);
        const bool whole = n >= before && memcmp(found - before, folder, before) == 0;
        fuzz_answer(text, whole ? n - before : n);
    }
    fuzz_answer_text(text);
}

void fuzz_answer_of_descriptor(const char *text) {
    static const char start[] = "/proc/self/fd/";
    const char *at = strstr(text, start);
    if (at) text = at + sizeof start - 1 + strspn(at + sizeof start - 1, "0123456789");
    fuzz_answer_text(text);
}

uint64_t fuzz_answers(void) {
    return sum;
}
