#include "base/options/json_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <jansson.h>

static atomic_bool failed;

static void *take(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory && bytes) atomic_store(&failed, true);
    return memory;
}

void lud_json_watch(void) {
    json_set_alloc_funcs(take, free);
}

bool lud_json_failed(void) {
    return atomic_load(&failed);
}
