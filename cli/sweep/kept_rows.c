#include "cli/sweep/kept_rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Fields of a line of CSV. */
static int count_fields(const char *line) {
    bool quoted = false;
    int n = 1;
    for (; *line && *line != '\n'; line++) {
        if (*line == '"') quoted = !quoted;
        n += *line == ',' && !quoted;
    }
    return n;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

lud_status lud_kept_rows_read(lud_arena *arena, char *text, const char *header, lud_kept_rows *rows,
                              lud_error *error) {
    const size_t length = strlen(header);
    const int n_fields = count_fields(header);
    size_t most = 1;
    *rows = (lud_kept_rows){0};
    if (strncmp(text, header, length) != 0) return LUD_OK;
    for (const char *at = text; *at; at++) most += *at == '\n';
    rows->lines = lud_arena_take_array(arena, most, sizeof *rows->lines);
    if (!rows->lines) return lud_no_memory(error, "rows");
    for (char *at = text + length, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0'; /* what has no end is no row */
        if (count_fields(at) == n_fields) rows->lines[rows->n++] = at;
    }
    qsort(rows->lines, rows->n, sizeof *rows->lines, by_text);
    return LUD_OK;
}

const char *lud_kept_rows_find(const lud_kept_rows *rows, const char *fields) {
    const size_t length = strlen(fields);
    size_t low = 0, high = rows->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strncmp(rows->lines[middle], fields, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows->n && strncmp(rows->lines[low], fields, length) == 0 ? rows->lines[low] : NULL;
}
