/* Any text as a tribes section: either an error, or a model that runs, observes, tells its agents what they
 * see and writes itself back. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/tribes/tribes.h"
#include "tests/fuzz/section.h"

const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_section(&lud_tribes_world, data, size);
}
