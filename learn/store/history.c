#include "learn/store/history.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

const char *lud_run_name(lud_arena *arena, const char *folder) {
    size_t end = strlen(folder), begin;
    while (end > 1 && folder[end - 1] == '/') end--;
    for (begin = end; begin > 0 && folder[begin - 1] != '/'; begin--) {
    }
    if (begin == end) begin = 0; /* the root */
    return lud_arena_text(arena, folder + begin, end - begin);
}

static int column_of(const char *line, const char *name) {
    const size_t length = strlen(name);
    for (int k = 0;; k++) {
        const size_t width = strcspn(line, ",\r\n");
        if (width == length && !strncmp(line, name, length)) return k;
        if (line[width] != ',') return -1;
        line += width + 1;
    }
}

static double field(const char *line, int column) {
    for (; column > 0; column--) {
        line += strcspn(line, ",\r\n");
        if (*line != ',') return NAN;
        line++;
    }
    if (!*line || strchr(",\r\n", *line)) return NAN; /* a number behind it is another line's */
    char *end;
    const double value = strtod(line, &end);
    return end == line ? NAN : value;
}

/* Null where there is no such file. */
static lud_status read_text(lud_arena *arena, const char *folder, char **text, lud_error *error) {
    lud_text path = {0};
    size_t length;
    *text = NULL;
    lud_text_append(&path, "%s/metrics.csv", folder);
    lud_status status = path.failed ? lud_no_memory(error, "metrics") : LUD_OK;
    if (!status && lud_file_exists(path.bytes))
        status = lud_file_read(arena, path.bytes, 0, text, &length, error);
    lud_text_free(&path);
    return status;
}

lud_status lud_history_read(lud_arena *arena, const char *folder, const char *column, lud_history *history,
                            lud_error *error) {
    return lud_history_read_over(arena, folder, NULL, column, history, error);
}

lud_status lud_history_read_over(lud_arena *arena, const char *folder, const char *over, const char *column,
                                 lud_history *history, lud_error *error) {
    char *text;
    *history = (lud_history){0};
    lud_status status = read_text(arena, folder, &text, error);
    if (status || !text) return status;
    const int counted = column_of(text, "steps"), from = column_of(text, column);
    history->steps_name = counted >= 0 ? "environment steps" : "iteration";
    int x = counted >= 0 ? counted : column_of(text, "iteration");
    if (over) {
        x = column_of(text, over);
        history->steps_name = over;
    }
    if (x < 0 || from < 0) return LUD_OK;
    size_t lines = 1;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    double *steps = lud_arena_take_array(arena, lines, sizeof *steps);
    double *value = lud_arena_take_array(arena, lines, sizeof *value);
    if (!steps || !value) return lud_no_memory(error, "metrics");
    for (const char *at = strchr(text, '\n'); at && at[1]; at = strchr(at + 1, '\n')) {
        steps[history->n] = field(at + 1, x);
        value[history->n] = field(at + 1, from);
        history->n += isfinite(steps[history->n]) && isfinite(value[history->n]);
    }
    history->steps = steps;
    history->value = value;
    return LUD_OK;
}

static bool has_metrics(const char *folder) {
    lud_text path = {0};
    lud_text_append(&path, "%s/metrics.csv", folder);
    const bool there = !path.failed && lud_file_exists(path.bytes);
    lud_text_free(&path);
    return there;
}

lud_status lud_history_group(lud_arena *arena, const char *folder, const char *const **runs, int *n,
                             lud_error *error) {
    struct dirent **entries = NULL;
    const bool single = has_metrics(folder);
    const int n_entries = single ? 0 : scandir(folder, &entries, NULL, alphasort);
    const char **names = lud_arena_take_array(arena, n_entries > 0 ? (size_t)n_entries : 1, sizeof *names);
    lud_status status = names ? LUD_OK : lud_no_memory(error, "runs");
    *n = 0;
    if (!status && single) names[(*n)++] = folder;
    for (int k = 0; k < n_entries; k++) {
        lud_text path = {0};
        if (entries[k]->d_name[0] != '.') lud_text_append(&path, "%s/%s", folder, entries[k]->d_name);
        if (!status && path.length && !path.failed && has_metrics(path.bytes) &&
            !(names[(*n)++] = lud_arena_text(arena, path.bytes, path.length)))
            status = lud_no_memory(error, "runs");
        lud_text_free(&path);
        free(entries[k]);
    }
    free(entries);
    *runs = names;
    return status;
}

/* The value at a step within the history; *k is where it was found last. */
static double value_at(const lud_history *h, double step, int *k) {
    while (*k + 1 < h->n && h->steps[*k + 1] <= step) ++*k;
    if (*k + 1 >= h->n || h->steps[*k] == step) return h->value[*k];
    const double t = (step - h->steps[*k]) / (h->steps[*k + 1] - h->steps[*k]);
    return h->value[*k] + t * (h->value[*k + 1] - h->value[*k]);
}

lud_status lud_history_spread(lud_arena *arena, const lud_history *runs, int n_runs, lud_history_band *band,
                              lud_error *error) {
    *band = (lud_history_band){0};
    if (n_runs == 0) return LUD_OK;
    const size_t most = (size_t)runs[0].n;
    double *steps = lud_arena_take_array(arena, most, sizeof *steps);
    double *mean = lud_arena_take_array(arena, most, sizeof *mean);
    double *low = lud_arena_take_array(arena, most, sizeof *low);
    double *high = lud_arena_take_array(arena, most, sizeof *high);
    int *at = lud_arena_take_array(arena, (size_t)n_runs, sizeof *at);
    if (!steps || !mean || !low || !high || !at) return lud_no_memory(error, "curves");
    double begin = -INFINITY, end = INFINITY;
    for (int r = 0; r < n_runs; r++) {
        begin = fmax(begin, runs[r].steps[0]);
        end = fmin(end, runs[r].steps[runs[r].n - 1]);
    }
    int n = 0;
    for (int k = 0; k < runs[0].n; k++) {
        const double step = runs[0].steps[k];
        if (step < begin || step > end) continue;
        steps[n] = step;
        mean[n] = 0.0;
        low[n] = INFINITY;
        high[n] = -INFINITY;
        for (int r = 0; r < n_runs; r++) {
            const double value = value_at(&runs[r], step, &at[r]);
            mean[n] += value / n_runs;
            low[n] = fmin(low[n], value);
            high[n] = fmax(high[n], value);
        }
        n++;
    }
    *band = (lud_history_band){steps, mean, low, high, n};
    return LUD_OK;
}

lud_status lud_history_columns(lud_arena *arena, const char *folder, const char **names, lud_error *error) {
    char *text;
    lud_status status = read_text(arena, folder, &text, error);
    if (!status && text) text[strcspn(text, "\r\n")] = 0;
    *names = text ? text : "";
    return status;
}
