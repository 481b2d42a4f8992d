#include "learn/store/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "learn/store/events.h"

struct lud_metrics {
    const lud_metric *columns;
    int n_columns;
    const char **tags; /* [n_columns] */
    char *path;
    FILE *csv;
    lud_events events;
};

static void append_header(const lud_metric *columns, int n_columns, lud_text *out) {
    lud_text_append(out, "iteration,seconds");
    for (int i = 0; i < n_columns; i++) lud_text_append(out, ",%s", columns[i].name);
    lud_text_append(out, "\n");
}

/* Checks the old file's header and appends its rows before `resume_iteration` to `out`. */
static lud_status keep_rows(const char *path, uint64_t resume_iteration, lud_text *out, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length = 0;
    lud_status status = arena ? lud_file_read(arena, path, 0, &bytes, &length, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", path);
    if (status == LUD_OK && strncmp(bytes, out->bytes, out->length) != 0)
        status = lud_invalid(
            error, "%s:1:1: the columns are not those of this run; move the file away to start a new one",
            path);
    if (status == LUD_OK) {
        /* a row cut by a kill has no newline and is dropped with the rest */
        for (char *line = bytes + out->length, *end; (end = strchr(line, '\n')); line = end + 1)
            if (strtoull(line, NULL, 10) < resume_iteration)
                lud_text_append_bytes(out, line, (size_t)(end - line) + 1);
    }
    lud_arena_destroy(arena);
    return status;
}

static lud_status open_csv(lud_metrics *metrics, uint64_t resume_iteration, lud_error *error) {
    lud_text text = {0};
    append_header(metrics->columns, metrics->n_columns, &text);
    lud_status status = text.failed ? lud_out_of_memory(error) : LUD_OK;
    if (status == LUD_OK && resume_iteration > 0 && lud_file_exists(metrics->path))
        status = keep_rows(metrics->path, resume_iteration, &text, error);
    if (status == LUD_OK) status = lud_file_write(metrics->path, text.bytes, text.length, error);
    lud_text_free(&text);
    if (status) return status;
    metrics->csv = lud_file_own_stream(metrics->path, true);
    if (!metrics->csv)
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", metrics->path, strerror(errno));
    return LUD_OK;
}

lud_status lud_metrics_open(const char *folder, const lud_metric *columns, int n_columns,
                            uint64_t resume_iteration, lud_metrics **metrics, lud_error *error) {
    *metrics = NULL;
    lud_metrics *opened = calloc(1, sizeof *opened);
    const char **tags = calloc((size_t)n_columns + 1, sizeof *tags);
    if (!opened || !tags || asprintf(&opened->path, "%s/metrics.csv", folder) < 0) {
        free(tags);
        free(opened);
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: memory is out", folder);
    }
    opened->columns = columns;
    opened->n_columns = n_columns;
    opened->tags = tags;
    for (int i = 0; i < n_columns; i++) tags[i] = columns[i].name;
    lud_status status = open_csv(opened, resume_iteration, error);
    if (status == LUD_OK) status = lud_events_open(folder, &opened->events, error);
    if (status)
        lud_metrics_close(opened, NULL);
    else
        *metrics = opened;
    return status;
}

lud_status lud_metrics_write(lud_metrics *metrics, uint64_t iteration, double seconds, const double *row,
                             lud_error *error) {
    int written = fprintf(metrics->csv, "%" PRIu64 ",%.3f", iteration, seconds);
    for (int i = 0; written >= 0 && i < metrics->n_columns; i++)
        written = isnan(row[i]) ? fprintf(metrics->csv, ",") : fprintf(metrics->csv, ",%.9g", row[i]);
    if (written < 0 || fprintf(metrics->csv, "\n") < 0)
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", metrics->path, strerror(errno));
    return lud_events_scalars(&metrics->events, iteration, metrics->n_columns, metrics->tags, row, error);
}

lud_status lud_metrics_flush(lud_metrics *metrics, lud_error *error) {
    if (fflush(metrics->csv) != 0)
        return lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", metrics->path, strerror(errno));
    return lud_events_flush(&metrics->events, error);
}

lud_status lud_metrics_close(lud_metrics *metrics, lud_error *error) {
    if (!metrics) return LUD_OK;
    lud_status status = LUD_OK;
    if (metrics->csv && fclose(metrics->csv) != 0)
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot write: %s", metrics->path, strerror(errno));
    lud_status events_status = lud_events_close(&metrics->events, status ? NULL : error);
    LUD_FREE(metrics->path, metrics->tags, metrics);
    return status ? status : events_status;
}

void lud_metrics_print(const lud_metric *columns, int n_columns, const double *row, lud_text *out) {
    const char *gap = out->length ? "  " : "";
    for (int i = 0; i < n_columns; i++) {
        if (!columns[i].format || isnan(row[i])) continue;
        char value[64];
        /* the format comes from a learner's own constant table */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(value, sizeof value, columns[i].format, row[i]);
#pragma GCC diagnostic pop
        lud_text_append(out, "%s%s %s", gap, columns[i].name, value);
        gap = "  ";
    }
}
