/* Statistics of recorded numbers, column by column; merging those of several sources; normalising with them.
 *
 * Sums run in double around the middle of each column's range, in two passes over the data: extremes first,
 * then sums and histograms, so that a narrow column far from zero keeps its deviation. Passes may be split
 * over workers: lud_statistics_join adds what two of them found. */
#pragma once

#include <stdbool.h>

#include "learn/episodes/numbers.h"

enum { LUD_QUANTILE_BINS = 4096 };

typedef struct lud_column_statistics {
    int64_t n; /* rows it was measured on; 0: the source lacks this column */
    double mean, deviation, low, high, q01, q99;
} lud_column_statistics;

/* Of one source. */
typedef struct lud_statistics {
    int64_t width, n_rows; /* rows without a number that is not finite */
    int64_t n_tracks;
    lud_column_statistics *columns; /* [width] */
} lud_statistics;

/* What the passes collect. */
typedef struct lud_statistics_sums {
    int64_t width, n_rows;
    bool second;           /* pass */
    double *low, *high;    /* [width] */
    double *sum, *squares; /* [width] of x - (low + high) / 2 */
    int64_t *counts;       /* [width][LUD_QUANTILE_BINS] between low - 1e-12 and high + 1e-12 */
} lud_statistics_sums;

/* LUD_ERROR_MEMORY. */
lud_status lud_statistics_sums_create(int64_t width, lud_statistics_sums *sums, lud_error *error);
/* Safe on a zeroed struct. */
void lud_statistics_sums_destroy(lud_statistics_sums *sums);
/* Begins the second pass with the extremes found; workers of one source begin it with the joined ones. */
void lud_statistics_begin_second(lud_statistics_sums *sums, const lud_statistics_sums *extremes);
/* Adds rows x[n_rows][width] to the pass; rows with a number that is not finite are left out whole. */
void lud_statistics_add(lud_statistics_sums *sums, int64_t n_rows, lud_numbers x);
/* Adds what another worker found in the same pass. */
void lud_statistics_join(lud_statistics_sums *sums, const lud_statistics_sums *other);
/* After the second pass: fills columns[width]. Deviations are those of the population; quantiles the left
 * edge of the first bin that reaches their share; a constant column has deviation 0 and its value as both
 * quantiles. Returns how many variances had to be raised to 0. */
int64_t lud_statistics_finish(const lud_statistics_sums *sums, lud_column_statistics *columns);

/* Both passes over rows in memory. `columns` is the caller's, [width]. */
lud_status lud_statistics_of(int64_t n_rows, int64_t width, lud_numbers x, int64_t n_tracks,
                             lud_column_statistics *columns, lud_statistics *statistics, lud_error *error);

typedef enum lud_merge_kind {
    LUD_MERGE_PER_DIMENSION, /* over the sources that have a column; where none has it mean 0, deviation 1 */
    LUD_MERGE_PADDED, /* a source that lacks a column counts with mean 0, deviation 1 and quantiles 0 and 1 */
    LUD_MERGE_PADDED_ZERO /* the same with deviation 0 and upper quantile 0 */
} lud_merge_kind;
/* Merges sources of different widths into columns[width] (width at least that of each): means and variances
 * weighted by rows, the smallest lower and the largest upper quantile. Returns the rows of all. */
int64_t lud_statistics_merge(int n_sources, const lud_statistics *sources, lud_merge_kind kind, int64_t width,
                             lud_column_statistics *columns);

typedef enum lud_normalisation_kind {
    LUD_NORMALISE_NONE,
    LUD_NORMALISE_NORMAL,    /* (x - mean) / (deviation + epsilon) */
    LUD_NORMALISE_BOUNDS,    /* 2 (x - low) / (high - low + bounds_epsilon) - 1 into [-1, 1] */
    LUD_NORMALISE_BOUNDS_Q99 /* the same between the quantiles */
} lud_normalisation_kind;
extern const char *const lud_normalisation_names[]; /* null-terminated */
extern const char *const lud_merge_names[];         /* null-terminated */

typedef struct lud_normalisation {
    lud_normalisation_kind kind;
    double epsilon, bounds_epsilon;
    const lud_column_statistics *columns;
} lud_normalisation;

/* epsilon 1e-6, bounds_epsilon 1e-8. */
lud_normalisation lud_normalisation_of(lud_normalisation_kind kind, const lud_column_statistics *columns);
/* Number x of a column; constant columns give 0 between bounds. */
double lud_normalise(const lud_normalisation *normalisation, int64_t column, double x);
/* Undoes it: exactly, for x that were not clipped. Of a constant column between bounds its value. */
double lud_denormalise(const lud_normalisation *normalisation, int64_t column, double y);
/* Saves or loads how n columns of actions are normalised: *kind is a lud_normalisation_kind. */
void lud_normalisation_visit(lud_column_statistics *columns, int64_t n, uint64_t *kind,
                             lud_checkpoint *checkpoint);
