/* Progress of long work: on a terminal one line that is redrawn (bar, count, rate, time left), elsewhere a
 * plain line now and then. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lud_progress {
    FILE *out;
    bool terminal;
    const char *label, *unit;
    uint64_t total, done; /* total 0: unknown */
    double started, last_shown;
    double interval; /* seconds between two showings */
    char note[96];   /* free text behind the figures, e.g. a loss */
    int width;       /* columns of the line now on the terminal */
} lud_progress;

/* Starts; `out` is usually stderr, null is silent. `label` and `unit` must outlive it. */
void lud_progress_start(lud_progress *progress, FILE *out, const char *label, const char *unit,
                        uint64_t total);
/* Sets the count; shows at most every `interval` seconds, so it may be called often. */
void lud_progress_update(lud_progress *progress, uint64_t done);
void lud_progress_note(lud_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Shows the last state and ends the line. */
void lud_progress_finish(lud_progress *progress);

/* `1.24 M`, `512`, `3.1 G`: three significant digits with a decimal prefix. Returns `text`. */
char *lud_format_count(double value, char text[16]);
/* `12 s`, `3:07`, `2:15:00`. Returns `text`. */
char *lud_format_seconds(double seconds, char text[24]);

/* Installs a handler for Ctrl-C and SIGTERM and lets them through where a parent had blocked them; the first
 * sets the flag below, one that comes 0.3 seconds later or more ends the program. The handler runs on a
 * thread of its own: the caller and the threads it makes from then on are never interrupted. */
void lud_interrupt_install(void);
bool lud_interrupted(void);
