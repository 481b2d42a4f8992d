#include "sim/snapshot.h"

#include <string.h>

size_t lud_snapshot_bytes(const lud_snapshot_part *parts, int n_parts) {
    size_t bytes = 0;
    for (int i = 0; i < n_parts; i++) bytes += parts[i].n;
    return bytes;
}

void lud_snapshot_save(const lud_snapshot_part *parts, int n_parts, void *snapshot) {
    for (char *to = snapshot; n_parts-- > 0; to += parts++->n) memcpy(to, parts->bytes, parts->n);
}

void lud_snapshot_load(const lud_snapshot_part *parts, int n_parts, const void *snapshot) {
    for (const char *from = snapshot; n_parts-- > 0; from += parts++->n) memcpy(parts->bytes, from, parts->n);
}
