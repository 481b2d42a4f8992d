#include "sim/merger.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SCAN_OUTCOMES = 24 };

lud_status lud_merger_begin(lud_merger *merger, size_t n, lud_error *error) {
    merger->slot = merger->few;
    merger->mask = 0;
    if (n <= SCAN_OUTCOMES) return LUD_OK;
    size_t slots = 64;
    while (slots < 2 * n) slots *= 2;
    merger->mask = slots - 1;
    if (slots > LUD_MERGER_FEW) merger->slot = malloc(slots * sizeof *merger->slot);
    if (!merger->slot) return lud_no_memory(error, "%zu outcomes", n);
    memset(merger->slot, 0, slots * sizeof *merger->slot);
    return LUD_OK;
}

void lud_merger_add(lud_merger *merger, lud_successors *out, double probability) {
    size_t bytes = out->state_bytes;
    const uint8_t *state = out->states + out->n * bytes;
    if (merger->mask == 0) {
        for (size_t k = 0; k < out->n; k++)
            if (memcmp(out->states + k * bytes, state, bytes) == 0) {
                out->probability[k] += probability;
                return;
            }
    } else {
        size_t at = XXH3_64bits(state, bytes) & merger->mask;
        for (; merger->slot[at]; at = (at + 1) & merger->mask) {
            size_t k = merger->slot[at] - 1;
            if (memcmp(out->states + k * bytes, state, bytes) != 0) continue;
            out->probability[k] += probability;
            return;
        }
        merger->slot[at] = (uint32_t)out->n + 1;
    }
    out->probability[out->n++] = probability;
}

void lud_merger_end(lud_merger *merger) {
    if (merger->slot != merger->few) free(merger->slot);
}
