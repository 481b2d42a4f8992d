#include "learn/episodes/statistics.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const lud_normalisation_names[] = {"none", "normal", "bounds", "bounds_q99", NULL};
const char *const lud_merge_names[] = {"per_dim", "padded", "padded_zero", NULL};

static const double bin_margin = 1e-12;

lud_status lud_statistics_sums_create(int64_t width, lud_statistics_sums *sums, lud_error *error) {
    const size_t n = width > 0 ? (size_t)width : 1;
    *sums = (lud_statistics_sums){.width = width};
    sums->low = calloc(n, sizeof *sums->low);
    sums->high = calloc(n, sizeof *sums->high);
    sums->sum = calloc(n, sizeof *sums->sum);
    sums->squares = calloc(n, sizeof *sums->squares);
    sums->counts = calloc(n * LUD_QUANTILE_BINS, sizeof *sums->counts);
    if (!sums->low || !sums->high || !sums->sum || !sums->squares || !sums->counts) {
        lud_statistics_sums_destroy(sums);
        return lud_no_memory(error, "statistics of %lld columns", (long long)width);
    }
    return LUD_OK;
}

void lud_statistics_sums_destroy(lud_statistics_sums *sums) {
    free(sums->low);
    free(sums->high);
    free(sums->sum);
    free(sums->squares);
    free(sums->counts);
    *sums = (lud_statistics_sums){0};
}

void lud_statistics_begin_second(lud_statistics_sums *sums, const lud_statistics_sums *extremes) {
    const size_t bytes = (size_t)sums->width * sizeof(double);
    assert(sums->width == extremes->width);
    if (sums != extremes && bytes > 0) {
        memcpy(sums->low, extremes->low, bytes);
        memcpy(sums->high, extremes->high, bytes);
    }
    sums->second = true;
    sums->n_rows = 0;
}

static bool is_finite_row(lud_numbers x, int64_t first, int64_t width) {
    for (int64_t j = 0; j < width; j++)
        if (!isfinite(lud_number(x, first + j))) return false;
    return true;
}

static double edge_of(int64_t bin, double low, double high) {
    const double from = low - bin_margin, to = high + bin_margin;
    return from + (double)bin * ((to - from) / LUD_QUANTILE_BINS);
}

/* The bin whose edges x lies between: the quotient alone can be off by one at an edge. */
static int64_t bin_of(double x, double low, double high) {
    const double from = low - bin_margin, to = high + bin_margin;
    int64_t bin = (int64_t)((x - from) / (to - from) * LUD_QUANTILE_BINS);
    if (!(bin > 0)) bin = 0;
    if (bin > LUD_QUANTILE_BINS - 1) bin = LUD_QUANTILE_BINS - 1;
    if (bin > 0 && x < edge_of(bin, low, high)) return bin - 1;
    if (bin < LUD_QUANTILE_BINS - 1 && x >= edge_of(bin + 1, low, high)) return bin + 1;
    return bin;
}

/* Not low + high: that can pass the largest double. */
static double middle(double low, double high) {
    return 0.5 * low + 0.5 * high;
}

void lud_statistics_add(lud_statistics_sums *s, int64_t n_rows, lud_numbers x) {
    for (int64_t i = 0; i < n_rows; i++) {
        if (!is_finite_row(x, i * s->width, s->width)) continue;
        for (int64_t j = 0; j < s->width; j++) {
            const double value = lud_number(x, i * s->width + j);
            if (s->second) {
                const double shifted = value - middle(s->low[j], s->high[j]);
                s->sum[j] += shifted;
                s->squares[j] += shifted * shifted;
                s->counts[j * LUD_QUANTILE_BINS + bin_of(value, s->low[j], s->high[j])]++;
            } else {
                if (s->n_rows == 0 || value < s->low[j]) s->low[j] = value;
                if (s->n_rows == 0 || value > s->high[j]) s->high[j] = value;
            }
        }
        s->n_rows++;
    }
}

void lud_statistics_join(lud_statistics_sums *s, const lud_statistics_sums *other) {
    assert(s->width == other->width && s->second == other->second);
    if (other->n_rows == 0) return;
    for (int64_t j = 0; j < s->width; j++) {
        if (!s->second && (s->n_rows == 0 || other->low[j] < s->low[j])) s->low[j] = other->low[j];
        if (!s->second && (s->n_rows == 0 || other->high[j] > s->high[j])) s->high[j] = other->high[j];
        s->sum[j] += other->sum[j];
        s->squares[j] += other->squares[j];
    }
    for (int64_t k = 0; k < s->width * LUD_QUANTILE_BINS; k++) s->counts[k] += other->counts[k];
    s->n_rows += other->n_rows;
}

/* The left edge of the first bin with at least a share q of all at or before it. */
static double quantile(const lud_statistics_sums *s, int64_t j, double q) {
    const int64_t *counts = s->counts + j * LUD_QUANTILE_BINS;
    if (s->low[j] == s->high[j]) return s->low[j];
    int64_t seen = 0;
    for (int64_t bin = 0; bin < LUD_QUANTILE_BINS; bin++) {
        seen += counts[bin];
        if ((double)seen >= q * (double)s->n_rows) return edge_of(bin, s->low[j], s->high[j]);
    }
    return s->high[j];
}

int64_t lud_statistics_finish(const lud_statistics_sums *s, lud_column_statistics *columns) {
    const double n = (double)s->n_rows;
    int64_t raised = 0;
    assert(s->second);
    for (int64_t j = 0; j < s->width; j++) {
        lud_column_statistics *c = columns + j;
        *c = (lud_column_statistics){.deviation = 1.0, .high = 0.0, .q99 = 0.0};
        if (s->n_rows == 0) continue;
        const double shift = s->sum[j] / n;
        double variance = s->squares[j] / n - shift * shift;
        if (variance < 0.0) {
            variance = 0.0;
            raised++;
        }
        *c = (lud_column_statistics){.n = s->n_rows,
                                     .mean = middle(s->low[j], s->high[j]) + shift,
                                     .deviation = s->low[j] == s->high[j] ? 0.0 : sqrt(variance),
                                     .low = s->low[j],
                                     .high = s->high[j],
                                     .q01 = quantile(s, j, 0.01),
                                     .q99 = quantile(s, j, 0.99)};
    }
    return raised;
}

lud_status lud_statistics_of(int64_t n_rows, int64_t width, lud_numbers x, int64_t n_tracks,
                             lud_column_statistics *columns, lud_statistics *statistics, lud_error *error) {
    lud_statistics_sums sums;
    LUD_TRY(lud_statistics_sums_create(width, &sums, error));
    lud_statistics_add(&sums, n_rows, x);
    lud_statistics_begin_second(&sums, &sums);
    lud_statistics_add(&sums, n_rows, x);
    (void)lud_statistics_finish(&sums, columns); /* a raised variance is rounding of a nearly constant one */
    *statistics =
        (lud_statistics){.width = width, .n_rows = sums.n_rows, .n_tracks = n_tracks, .columns = columns};
    lud_statistics_sums_destroy(&sums);
    return LUD_OK;
}

static lud_column_statistics missing(int64_t n_rows, lud_merge_kind kind) {
    const double one = kind == LUD_MERGE_PADDED_ZERO ? 0.0 : 1.0;
    return (lud_column_statistics){
        .n = kind == LUD_MERGE_PER_DIMENSION ? 0 : n_rows, .deviation = one, .high = one, .q99 = one};
}

static lud_column_statistics column_of(const lud_statistics *source, int64_t j, lud_merge_kind kind) {
    if (j < source->width && source->columns[j].n > 0) return source->columns[j];
    return missing(source->n_rows, kind);
}

static lud_column_statistics merge_column(int n_sources, const lud_statistics *sources, lud_merge_kind kind,
                                          int64_t j) {
    lud_column_statistics all = missing(0, LUD_MERGE_PER_DIMENSION);
    double mean = 0.0, variance = 0.0;
    for (int i = 0; i < n_sources; i++) {
        const lud_column_statistics c = column_of(sources + i, j, kind);
        if (c.n == 0) continue;
        if (all.n == 0 || c.low < all.low) all.low = c.low;
        if (all.n == 0 || c.high > all.high) all.high = c.high;
        if (all.n == 0 || c.q01 < all.q01) all.q01 = c.q01;
        if (all.n == 0 || c.q99 > all.q99) all.q99 = c.q99;
        all.n += c.n;
        mean += (double)c.n * c.mean;
    }
    if (all.n == 0) return all;
    mean /= (double)all.n;
    for (int i = 0; i < n_sources; i++) {
        const lud_column_statistics c = column_of(sources + i, j, kind);
        const double away = c.mean - mean;
        variance += (double)c.n * (c.deviation * c.deviation + away * away);
    }
    all.mean = mean;
    all.deviation = sqrt(variance / (double)all.n);
    return all;
}

int64_t lud_statistics_merge(int n_sources, const lud_statistics *sources, lud_merge_kind kind, int64_t width,
                             lud_column_statistics *columns) {
    int64_t n_rows = 0;
    for (int i = 0; i < n_sources; i++) {
        assert(sources[i].width <= width);
        n_rows += sources[i].n_rows;
    }
    for (int64_t j = 0; j < width; j++) columns[j] = merge_column(n_sources, sources, kind, j);
    return n_rows;
}

lud_normalisation lud_normalisation_of(lud_normalisation_kind kind, const lud_column_statistics *columns) {
    return (lud_normalisation){.kind = kind, .epsilon = 1e-6, .bounds_epsilon = 1e-8, .columns = columns};
}

static void bounds_of(const lud_normalisation *n, int64_t column, double *low, double *high) {
    const lud_column_statistics *c = n->columns + column;
    *low = n->kind == LUD_NORMALISE_BOUNDS ? c->low : c->q01;
    *high = n->kind == LUD_NORMALISE_BOUNDS ? c->high : c->q99;
}

double lud_normalise(const lud_normalisation *n, int64_t column, double x) {
    const lud_column_statistics *c = n->columns + column;
    double low, high;
    if (n->kind == LUD_NORMALISE_NONE) return x;
    if (n->kind == LUD_NORMALISE_NORMAL) return (x - c->mean) / (c->deviation + n->epsilon);
    bounds_of(n, column, &low, &high);
    if (low == high) return 0.0;
    return fmin(fmax(2.0 * (x - low) / (high - low + n->bounds_epsilon) - 1.0, -1.0), 1.0);
}

double lud_denormalise(const lud_normalisation *n, int64_t column, double y) {
    const lud_column_statistics *c = n->columns + column;
    double low, high;
    if (n->kind == LUD_NORMALISE_NONE) return y;
    if (n->kind == LUD_NORMALISE_NORMAL) return y * (c->deviation + n->epsilon) + c->mean;
    bounds_of(n, column, &low, &high);
    if (low == high) return low;
    return low + (y + 1.0) / 2.0 * (high - low + n->bounds_epsilon);
}

void lud_normalisation_visit(lud_column_statistics *columns, int64_t n, uint64_t *kind,
                             lud_checkpoint *checkpoint) {
    static const struct {
        const char *name;
        size_t at;
    } fields[] = {{"mean", offsetof(lud_column_statistics, mean)},
                  {"deviation", offsetof(lud_column_statistics, deviation)},
                  {"low", offsetof(lud_column_statistics, low)},
                  {"high", offsetof(lud_column_statistics, high)},
                  {"q01", offsetof(lud_column_statistics, q01)},
                  {"q99", offsetof(lud_column_statistics, q99)}};
    lud_checkpoint_u64(checkpoint, "normalisation.kind", kind);
    for (int64_t j = 0; j < n; j++)
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
            char name[64];
            snprintf(name, sizeof name, "normalisation.%lld.%s", (long long)j, fields[k].name);
            lud_checkpoint_real(checkpoint, name, (double *)(void *)((char *)(columns + j) + fields[k].at));
        }
    if (lud_checkpoint_loading(checkpoint) && *kind > LUD_NORMALISE_BOUNDS_Q99)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "actions are normalised in a way that is not known");
}
