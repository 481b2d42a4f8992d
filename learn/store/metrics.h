/* Metrics of a training run: one row of numbers per iteration, to `metrics.csv` and to a TensorBoard event
 * file.
 *
 * The columns are one table, named once; a row is an array of doubles in its order. NaN means "not measured
 * in this iteration": an empty field in the CSV file, no point in TensorBoard. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

typedef struct lud_metric {
    const char *name;   /* column name and TensorBoard tag, e.g. "loss/q_r" */
    const char *format; /* printf format of one double for the progress line, or null: not shown there */
    const char *help;   /* one line, for the docs */
} lud_metric;

/* A table of columns COLUMNS(X) with rows X(CONSTANT, name, format, help) names each column once: these make
 * of it the constants COLUMN_... of an enum, which count the columns, and the metrics. */
#define LUD_COLUMN_CONSTANT(constant, ...) COLUMN_##constant,
#define LUD_COLUMN_METRIC(constant, ...)   {__VA_ARGS__},

typedef struct lud_metrics lud_metrics;

/* Opens `folder`/metrics.csv and a new event file in `folder`. The files begin with the columns `iteration`
 * and `seconds` (of training, all sessions together). With `resume_iteration` > 0 an existing metrics.csv is
 * continued: rows at or after that iteration are dropped, so a resumed run has each row once; its columns
 * must be the same. `columns` must outlive the metrics. */
lud_status lud_metrics_open(const char *folder, const lud_metric *columns, int n_columns,
                            uint64_t resume_iteration, lud_metrics **metrics, lud_error *error);
/* Writes row[n_columns]. Rows reach the files at the latest with the next flush. */
lud_status lud_metrics_write(lud_metrics *metrics, uint64_t iteration, double seconds, const double *row,
                             lud_error *error);
lud_status lud_metrics_flush(lud_metrics *metrics, lud_error *error);
/* Flushes and closes. Null is allowed. */
lud_status lud_metrics_close(lud_metrics *metrics, lud_error *error);

/* Appends the columns that have a format as `name value  name value` (for the progress line). */
void lud_metrics_print(const lud_metric *columns, int n_columns, const double *row, lud_text *out);
