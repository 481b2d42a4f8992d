/* Rows of a table of solutions that an earlier call has written. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

typedef struct lud_kept_rows {
    const char **lines; /* [n] sorted, without their ends */
    size_t n;
} lud_kept_rows;

/* The rows of a CSV text that begins with `header`, a line with its end, and that have as many fields as it;
 * none where it begins otherwise. The text is changed, and holds the rows. */
lud_status lud_kept_rows_read(lud_arena *arena, char *text, const char *header, lud_kept_rows *rows,
                              lud_error *error);
/* A row that begins with these fields, commas included; null: there is none. */
const char *lud_kept_rows_find(const lud_kept_rows *rows, const char *fields);
