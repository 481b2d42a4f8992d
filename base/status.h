/* Status codes and messages.
 *
 * A function that can fail for a reason outside the program (a file, an option, memory, the user) returns
 * lud_status and writes a message into the lud_error its caller gave it. A broken promise between our own
 * functions is an assert. */
#pragma once

#include <stdarg.h>

typedef enum lud_status {
    LUD_OK = 0,
    LUD_ERROR_INPUT,       /* a call, option or file content was wrong (exit code 2) */
    LUD_ERROR_IO,          /* the operating system refused a file operation */
    LUD_ERROR_MEMORY,      /* an allocation failed or would exceed a limit that the user set */
    LUD_ERROR_LIMIT,       /* a stated limit of the program was reached */
    LUD_ERROR_UNSUPPORTED, /* asked for something this build, device or world does not offer */
    LUD_ERROR_NUMERIC,     /* a computation met NaN, infinity or a violated invariant of the data */
    LUD_INTERRUPTED        /* the user asked to stop; what was finished is kept */
} lud_status;

enum { LUD_ERROR_TEXT_BYTES = 1024 };

/* What went wrong. Zero-initialise before use: `lud_error error = {0};` */
typedef struct lud_error {
    lud_status status;
    char text[LUD_ERROR_TEXT_BYTES]; /* one line, `file:line:col: message` where a place is known */
} lud_error;

/* A place in a text file; line and column count from 1, 0 means unknown. `file` is not owned. */
typedef struct lud_place {
    const char *file;
    int line, column;
} lud_place;

/* Writes the message (printf format, cut to fit) into `error` (may be null) and returns `status`. */
lud_status lud_fail(lud_error *error, lud_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with `file:line:col: ` in front. */
lud_status lud_fail_at(lud_error *error, lud_status status, lud_place place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Either with LUD_ERROR_INPUT. */
lud_status lud_invalid(lud_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
lud_status lud_invalid_at(lud_error *error, lud_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* LUD_ERROR_MEMORY: "no memory for " and what it was for (printf format), or merely "out of memory". */
lud_status lud_out_of_memory(lud_error *error);
lud_status lud_no_memory(lud_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts `prefix (format...): ` context in front of the message already in `error`; returns its status. */
lud_status lud_fail_context(lud_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Leaves the function with the status of `call` unless that is LUD_OK. Where something has to be given back
 * first, the status is kept in a variable instead. */
#define LUD_TRY(call)                                                                                        \
    do {                                                                                                     \
        const lud_status status_of_call = (call);                                                            \
        if (status_of_call) return status_of_call;                                                           \
    } while (0)

/* The nearest of `n` names to `word` for a "did you mean" hint: the shortest that begins with it, if that has
 * three letters; else by Damerau-Levenshtein distance, null when nothing is near (above a third of the
 * word's length, at least 1). */
const char *lud_nearest_name(const char *word, const char *const *names, int n);
