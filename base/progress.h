/* Progress of long work: on a terminal one line that is redrawn (bar, count, rate, time left), elsewhere a
 * plain line now and then. A line that is wider than the terminal loses whole parts, from its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

typedef struct lud_progress {
    FILE *out;
    bool terminal;
    const char *label, *unit;
    uint64_t total, done; /* total 0: unknown */
    uint64_t before;      /* of those: done before it started, by an earlier session */
    double part;          /* of the unit in hand that is done, 0 to 1 */
    double part_before;   /* what says nothing of the rest (lud_progress_anew): of these, */
    double skipped;       /* and of the seconds */
    double started, last_shown;
    double interval;   /* seconds between two showings */
    const char *stage; /* of the unit in hand; null: it has none */
    double stage_started;
    char note[256]; /* free text behind the figures, e.g. losses; two blanks part what belongs together */
    int width;      /* columns of the line now on the terminal */
} lud_progress;

/* Starts; `out` is usually stderr, null is silent. `label` and `unit` must outlive it. */
void lud_progress_start(lud_progress *progress, FILE *out, const char *label, const char *unit,
                        uint64_t total);
/* Sets the count; shows at most every `interval` seconds, so it may be called often. */
void lud_progress_update(lud_progress *progress, uint64_t done);
/* Says that so much (0 to 1) of the next unit is done, where a unit takes long, and asks whether to stop:
 * LUD_INTERRUPTED (base/interrupt.h). `progress` may be null: it asks only. */
lud_status lud_progress_beat(lud_progress *progress, double part, lud_error *error);
/* What was done so far, `part` of the unit in hand included, says nothing of how long the rest takes: the
 * rate and the time that is left count from here. Null is allowed. */
void lud_progress_anew(lud_progress *progress, double part);
/* What stands behind the figures. Null is allowed. */
void lud_progress_note(lud_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In place of a note: so much (0 to 1) of a long stage of the unit in hand is done, as "34 % of WHAT, 1:20
 * left". The time counts from the first call with this `what`, which must outlive the stage. Null is allowed.
 */
void lud_progress_stage(lud_progress *progress, const char *what, double part);
/* The same and a beat, where a unit has nothing else to tell or none is in hand. */
lud_status lud_progress_stage_beat(lud_progress *progress, const char *what, double part, lud_error *error);
/* Shows the last state and ends the line. */
void lud_progress_finish(lud_progress *progress);

/* `1.24 M`, `512`, `3.1 G`: three significant digits with a decimal prefix. Returns `text`. */
char *lud_format_count(double value, char text[16]);
/* Memory: `4.24 GiB`, `612 MiB`, `37 B`: three significant digits with a binary unit. Returns `text`. */
char *lud_format_memory(double bytes, char text[16]);
/* The most memory that this process has held so far, in bytes, mapped pages of files included. */
double lud_memory_peak(void);
/* `12 s`, `3:07`, `2:15:00`. Returns `text`. */
char *lud_format_seconds(double seconds, char text[24]);
