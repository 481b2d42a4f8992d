/* What a RUN's metrics.csv says of its training. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

/* What pictures call a run: the last part of its folder's path. Null when memory is out. */
const char *lud_run_name(lud_arena *arena, const char *folder);

/* One column over the training; rows that did not measure it are left out. */
typedef struct lud_history {
    const double *steps, *value; /* [n], in the arena */
    int n;
    const char *steps_name; /* of the horizontal axis: "environment steps" where the learner counts them, else
                               "iteration"; or the column that was asked for */
} lud_history;

/* Empty when the folder has no metrics.csv or that no such column: runs of other versions are shown without
 * it. Fails when the file cannot be read. */
lud_status lud_history_read(lud_arena *arena, const char *folder, const char *column, lud_history *history,
                            lud_error *error);
/* The same over another column `x` than steps ("seconds"); null: steps. Empty where there is no such. `x`
 * must outlive the history. */
lud_status lud_history_read_over(lud_arena *arena, const char *folder, const char *x, const char *column,
                                 lud_history *history, lud_error *error);
/* The runs of a group: `folder` itself where it has metrics.csv, else the folders in it that have, by name.
 * None is no error. Names lie in the arena. */
lud_status lud_history_group(lud_arena *arena, const char *folder, const char *const **runs, int *n,
                             lud_error *error);
/* Several runs' histories of a column as one: the mean, the lowest and the highest of them at every step at
 * which the first measured, from where all have begun to where one ends; between its steps a run lies on a
 * line. */
typedef struct lud_history_band {
    const double *steps, *mean, *low, *high; /* [n], in the arena */
    int n;
} lud_history_band;
/* n_runs histories that are not empty; no run gives an empty band. */
lud_status lud_history_spread(lud_arena *arena, const lud_history *runs, int n_runs, lud_history_band *band,
                              lud_error *error);
/* The names of the columns, separated by commas; empty without metrics.csv. In the arena. */
lud_status lud_history_columns(lud_arena *arena, const char *folder, const char **names, lud_error *error);
