/* Snapshots of things that consist of several arrays: all of them, one behind the other. */
#pragma once

#include <stddef.h>

typedef struct lud_snapshot_part {
    void *bytes; /* [n] */
    size_t n;
} lud_snapshot_part;

/* Bytes of all parts; copying them out, and back in. */
size_t lud_snapshot_bytes(const lud_snapshot_part *parts, int n_parts);
void lud_snapshot_save(const lud_snapshot_part *parts, int n_parts, void *snapshot);
void lud_snapshot_load(const lud_snapshot_part *parts, int n_parts, const void *snapshot);
