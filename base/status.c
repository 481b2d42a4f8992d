#include "base/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void format_error(lud_error *error, lud_status status, lud_place place, const char *format,
                         va_list arguments) {
    if (!error) return;
    error->status = status;
    int used = 0;
    if (place.file && place.line > 0)
        used = snprintf(error->text, sizeof error->text, "%s:%d:%d: ", place.file, place.line, place.column);
    else if (place.file)
        used = snprintf(error->text, sizeof error->text, "%s: ", place.file);
    if (used < 0 || (size_t)used >= sizeof error->text) return;
    vsnprintf(error->text + used, sizeof error->text - (size_t)used, format, arguments);
}

/* The body of a function that takes a format and its arguments. */
#define FORMAT_ERROR(status, place)                                                                          \
    va_list arguments;                                                                                       \
    va_start(arguments, format);                                                                             \
    format_error(error, status, place, format, arguments);                                                   \
    va_end(arguments);                                                                                       \
    return status

lud_status lud_fail(lud_error *error, lud_status status, const char *format, ...) {
    FORMAT_ERROR(status, (lud_place){0});
}

lud_status lud_fail_at(lud_error *error, lud_status status, lud_place place, const char *format, ...) {
    FORMAT_ERROR(status, place);
}

lud_status lud_invalid(lud_error *error, const char *format, ...) {
    FORMAT_ERROR(LUD_ERROR_INPUT, (lud_place){0});
}

lud_status lud_invalid_at(lud_error *error, lud_place place, const char *format, ...) {
    FORMAT_ERROR(LUD_ERROR_INPUT, place);
}

lud_status lud_out_of_memory(lud_error *error) {
    return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
}

lud_status lud_no_memory(lud_error *error, const char *format, ...) {
    char what[LUD_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return lud_fail(error, LUD_ERROR_MEMORY, "no memory for %s", what);
}

lud_status lud_fail_context(lud_error *error, const char *format, ...) {
    if (!error) return LUD_ERROR_INPUT;
    char whole[LUD_ERROR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(whole, sizeof whole - 2, format, arguments);
    va_end(arguments);
    size_t length = used < 0 ? 0 : (size_t)used;
    if (length > sizeof whole - 3) length = sizeof whole - 3;
    memcpy(whole + length, ": ", 2);
    length += 2;
    size_t rest = strnlen(error->text, sizeof whole - 1 - length);
    memcpy(whole + length, error->text, rest);
    whole[length + rest] = 0;
    memcpy(error->text, whole, sizeof whole);
    return error->status;
}

enum { LONGEST_NAME = 64 };

/* Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
static int edit_distance(const char *a, size_t n, const char *b, size_t m) {
    int rows[3][LONGEST_NAME + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) last[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
        int *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

const char *lud_nearest_name(const char *word, const char *const *names, int n) {
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST_NAME) return NULL;
    int limit = length < 6 ? 1 : (int)(length / 3);
    if (length >= 4 && limit < 2) limit = 2;
    const char *nearest = NULL;
    for (int i = 0; i < n && length >= 3; i++)
        if (!strncmp(word, names[i], length) && (!nearest || strlen(names[i]) < strlen(nearest)))
            nearest = names[i];
    if (nearest) return nearest;
    for (int i = 0; i < n; i++) {
        size_t other = strlen(names[i]);
        if (other > LONGEST_NAME) continue;
        int distance = edit_distance(word, length, names[i], other);
        if (distance <= limit) {
            nearest = names[i];
            limit = distance - 1;
        }
    }
    return nearest;
}
