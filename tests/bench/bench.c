#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"

enum { N_REPETITIONS = 9 };

static const double repetition_seconds = 0.1;

bool lud_bench_is(const lud_bench *bench, const char *name) {
    size_t n = strlen(name);
    return strncmp(bench->name, name, n) == 0 && (bench->name[n] == 0 || bench->name[n] == '/');
}

bool lud_bench_wants(const lud_bench_report *report, const char *name) {
    return !report->only || strstr(name, report->only);
}

bool lud_bench_measures(const lud_bench_report *report, const char *device) {
    return !report->device || strcmp(report->device, device) == 0;
}

lud_status lud_bench_open_cuda(const lud_bench_report *report, lud_device **device, lud_error *error) {
    lud_error none = {0};
    *device = NULL;
    if (!lud_bench_measures(report, "cuda")) return LUD_OK;
    const lud_status status = lud_device_open("cuda", 0, device, report->device ? error : &none);
    return report->device ? status : LUD_OK;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

lud_status lud_bench_add(lud_bench_report *report, lud_bench_row row, lud_error *error) {
    lud_status status = lud_interrupt_check(error); /* then what was measured is worth nothing */
    if (status || !lud_bench_wants(report, row.name)) return status;
    if (report->n == report->capacity) {
        int capacity = report->capacity ? 2 * report->capacity : 16;
        lud_bench_row *rows = realloc(report->rows, (size_t)capacity * sizeof *rows);
        if (!rows) return lud_no_memory(error, "benchmark rows");
        report->rows = rows;
        report->capacity = capacity;
    }
    row.name = strdup(row.name);
    row.unit = strdup(row.unit);
    report->rows[report->n++] = row;
    if (!row.name || !row.unit) return lud_no_memory(error, "benchmark rows");
    return LUD_OK;
}

lud_status lud_bench_add_runs(lud_bench_report *report, lud_bench_row row, int n, double *values,
                              lud_error *error) {
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    row.value = values[n / 2];
    row.spread = (values[n - 1] - values[0]) / 2.0;
    return lud_bench_add(report, row, error);
}

void lud_bench_report_free(lud_bench_report *report) {
    for (int i = 0; i < report->n; i++) {
        free((void *)report->rows[i].name);
        free((void *)report->rows[i].unit);
    }
    free(report->rows);
    *report = (lud_bench_report){0};
}

void lud_bench_rates(int n, lud_bench_piece *pieces, void *context) {
    double rate[LUD_BENCH_PIECES][N_REPETITIONS] = {{0}};
    for (int i = 0; i < n; i++) pieces[i].work(context); /* caches and pages */
    for (int r = 0; r < N_REPETITIONS; r++)
        for (int i = 0; i < n && !lud_interrupted(); i++) { /* lud_bench_add says that it was */
            double begin = lud_clock_seconds(), elapsed = 0;
            long calls = 0;
            for (; elapsed < repetition_seconds; elapsed = lud_clock_seconds() - begin, calls++)
                pieces[i].work(context);
            rate[i][r] = pieces[i].items * (double)calls / elapsed;
        }
    for (int i = 0; i < n; i++) {
        qsort(rate[i], N_REPETITIONS, sizeof **rate, compare_doubles);
        pieces[i].rate = rate[i][N_REPETITIONS / 2];
        pieces[i].spread = (rate[i][N_REPETITIONS * 3 / 4] - rate[i][N_REPETITIONS / 4]) / 2;
    }
}

double lud_bench_rate(void (*work)(void *context), void *context, double items, double *spread) {
    lud_bench_piece piece = {work, items, 0, 0};
    lud_bench_rates(1, &piece, context);
    if (spread) *spread = piece.spread;
    return piece.rate;
}
