#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "library/handles.h"

_Static_assert(sizeof((ludus_error *)NULL)->text >= LUD_ERROR_TEXT_BYTES, "a message fits");
_Static_assert((int)LUDUS_ERROR_INPUT == (int)LUD_ERROR_INPUT &&
                   (int)LUDUS_ERROR_NUMERIC == (int)LUD_ERROR_NUMERIC &&
                   (int)LUDUS_INTERRUPTED == (int)LUD_INTERRUPTED,
               "statuses have the same numbers");

int ludus_abi(void) {
    return LUDUS_ABI;
}

const char *ludus_version(void) {
    return LUDUS_VERSION;
}

void ludus_free(void *memory) {
    free(memory);
}

void ludus_interrupt(bool stop) {
    lud_interrupt_set(stop);
}

/* Splits `file:line:column: message`; what has no such beginning is all message. */
static void split_place(const char *text, ludus_error *error) {
    const char *end = strstr(text, ": ");
    int line = 0, column = 0, used = 0;
    const char *colon = end;
    for (int part = 0; colon && part < 2; part++) do
            colon = colon > text ? colon - 1 : NULL;
        while (colon && *colon != ':');
    if (colon && sscanf(colon, ":%d:%d%n", &line, &column, &used) == 2 && colon + used == end &&
        (size_t)(colon - text) < sizeof error->file) {
        error->line = line;
        error->column = column;
        memcpy(error->file, text, (size_t)(colon - text));
        text = end + 2;
    }
    snprintf(error->message, sizeof error->message, "%s", text);
}

/* Nothing went wrong; the texts, which are long, are only ended. */
static void clear(ludus_error *error) {
    error->status = LUDUS_OK;
    error->line = error->column = 0;
    *error->file = *error->message = *error->text = 0;
}

ludus_status ludus_lift(lud_status status, const lud_error *inner, ludus_error *error) {
    if (!error) return (ludus_status)status;
    clear(error);
    error->status = (ludus_status)status;
    if (!status) return LUDUS_OK;
    snprintf(error->text, sizeof error->text, "%s", inner->text);
    split_place(error->text, error);
    return error->status;
}

ludus_status ludus_lift_from(const char *path, lud_status status, const lud_error *inner,
                             ludus_error *error) {
    ludus_lift(status, inner, error);
    const size_t length = strlen(path);
    if (status && error && !*error->file && length < sizeof error->file &&
        strncmp(error->text, path, length) == 0 && strncmp(error->text + length, ": ", 2) == 0) {
        memcpy(error->file, path, length + 1);
        snprintf(error->message, sizeof error->message, "%s", error->text + length + 2);
    }
    return (ludus_status)status;
}

ludus_status ludus_invalid(ludus_error *error, const char *format, ...) {
    if (!error) return LUDUS_ERROR_INPUT;
    clear(error);
    error->status = LUDUS_ERROR_INPUT;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    memcpy(error->message, error->text, sizeof error->message);
    return LUDUS_ERROR_INPUT;
}

ludus_status ludus_no_memory(ludus_error *error) {
    const lud_error inner = {.text = "out of memory"};
    return ludus_lift(LUD_ERROR_MEMORY, &inner, error);
}

ludus_status ludus_take_text(lud_text *text, char **out, ludus_error *error) {
    *out = NULL;
    if (!text->failed) *out = text->bytes ? text->bytes : calloc(1, 1);
    if (*out) return ludus_lift(LUD_OK, NULL, error);
    lud_text_free(text);
    return ludus_no_memory(error);
}

/* ---- warnings ---- */

static void (*warn)(void *context, const char *message);
static void *warn_context;

static void pass_on(lud_log_level level, const char *message) {
    if (warn && level <= LUD_LOG_WARNING) warn(warn_context, message);
}

void ludus_on_warning(void (*callback)(void *context, const char *message), void *context) {
    warn = callback;
    warn_context = context;
}

/* A library says nothing on its own. */
__attribute__((constructor)) static void be_silent(void) {
    lud_log_set_sink(pass_on);
}
