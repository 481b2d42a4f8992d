/* TensorBoard event files: TFRecord frames (length, masked CRC-32C, payload, masked CRC-32C) around the
 * protocol buffers `Event` and `Summary` of TensorBoard, of which a few fields are written by hand. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef struct lud_events {
    FILE *stream;
    char *path;
} lud_events;

/* A new file `folder`/events.out.tfevents.<time>.<host>.<pid> with its version record. */
lud_status lud_events_open(const char *folder, lud_events *events, lud_error *error);
/* One record with a scalar value per tag; NaN values are left out. */
lud_status lud_events_scalars(lud_events *events, uint64_t step, int n, const char *const *tags,
                              const double *values, lud_error *error);
lud_status lud_events_flush(lud_events *events, lud_error *error);
/* Safe on a zeroed struct. */
lud_status lud_events_close(lud_events *events, lud_error *error);

/* CRC-32C (Castagnoli polynomial, reflected), as in RFC 3720. */
uint32_t lud_crc32c(const void *bytes, size_t n);
