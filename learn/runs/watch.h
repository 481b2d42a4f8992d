/* A training that is watched while it goes on, by another process or by many.
 *
 * Who watches says so once a second in RUN/.watched; as long as somebody does, the training hands its newest
 * parameters over in RUN/newest.safetensors, which names the run as they act (learn/runs/parameters.h), and
 * flushes its metrics. A wish to save or to stop goes the same way. Nothing of this reaches what is learned:
 * watched or not, a training has the same bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "learn/store/checkpoint.h"
#include "learn/store/metrics.h"

enum { LUD_WATCH_COLUMNS = 4, LUD_WATCH_NAME = 96 };

/* ---- who watches ---- */

typedef struct lud_watch {
    char *folder, *mark, *newest; /* paths */
    uint64_t save, stop;          /* the last wish of each kind; 0: none */
    double said;                  /* when the mark was last written, by base/clock.h */
    uint64_t stamp;               /* of the newest parameters that were found */
} lud_watch;

/* What is known of the training. */
typedef struct lud_watched {
    bool running;         /* a process writes the run */
    bool newer;           /* there are other parameters than at the last look */
    bool known;           /* the rest was found with them */
    uint64_t done, total; /* iterations */
    double seconds;       /* of training until then */
    int n_columns;        /* what its progress line shows first */
    char columns[LUD_WATCH_COLUMNS][LUD_WATCH_NAME];
} lud_watched;

/* The folder need not be there yet. */
lud_status lud_watch_open(const char *folder, lud_watch *watch, lud_error *error);
/* Watches no more. A zeroed one is allowed. */
void lud_watch_close(lud_watch *watch);
/* Says that somebody watches, and looks what is new; what was found before stays in `watched` where nothing
 * is. Fails when the folder cannot be written. */
lud_status lud_watch_look(lud_watch *watch, lud_watched *watched, lud_error *error);
/* Asks the training to save now, or to save and stop, after the iteration in hand. */
void lud_watch_save(lud_watch *watch);
void lud_watch_stop(lud_watch *watch);

/* ---- who is watched ---- */

typedef struct lud_watchers {
    char *mark, *newest;
    uint64_t save, stop;           /* wishes that were seen */
    double looked, due;            /* when the mark was last read, and when parameters may be written again */
    double handing;                /* when it was begun */
    lud_checkpoint_writer *writer; /* null: nobody has watched yet */
    bool failed;                   /* it was told that parameters cannot be written */
} lud_watchers;

/* What watchers want now. */
typedef struct lud_watchers_wish {
    bool parameters, save, stop;
} lud_watchers_wish;

/* Of the writer of a folder: what is left of earlier watching goes. */
lud_status lud_watchers_open(const char *folder, lud_watchers *watchers, lud_error *error);
void lud_watchers_close(lud_watchers *watchers);
/* Costs next to nothing, and reads a file at most twice a second. */
lud_watchers_wish lud_watchers_look(lud_watchers *watchers);
/* A checkpoint for the newest parameters, after a wish for them, with what lud_watched tells; null when
 * memory is out. */
lud_checkpoint *lud_watchers_begin(lud_watchers *watchers, uint64_t done, uint64_t total, double seconds,
                                   const lud_metric *columns, int n_columns);
/* Hands it over to a thread that writes it. A failure is told once and what is newer is tried later: a
 * training does not end because somebody looks. */
void lud_watchers_submit(lud_watchers *watchers);
