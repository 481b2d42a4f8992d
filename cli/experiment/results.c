#include "cli/experiment/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scores.h"
#include "cli/experiment/jobs.h"
#include "cli/experiment/table.h"
#include "learn/store/history.h"
#include "render/plots/plot.h"

enum {
    PATH = 4096,
    RESAMPLES = 2000,
    PANEL_WIDTH = 900,
    PANEL_HEIGHT = 720,
    MOST_PANELS = 6,
    MOST_CURVES = 7
};

typedef struct results {
    const lud_experiment *e;
    const char *folder;
    lud_arena *arena;
    double *raw;   /* [runs] the score of each, NaN: not there */
    int *n;        /* [variants][tasks] */
    double *score; /* [variants][tasks][seeds] normalised, those that are there first */
    double low[LUD_EXPERIMENT_TASKS], high[LUD_EXPERIMENT_TASKS]; /* scores that count as 0 and 1 */
    bool normalised;
} results;

/* ---- scores ---- */

/* One task without ends of its own keeps its units. */
static void find_ends(results *r) {
    const lud_experiment *e = r->e;
    const int per_task = e->n_variants * e->n_seeds;
    for (int t = 0; t < e->n_tasks; t++) {
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < per_task; k++) {
            const double x = r->raw[t * per_task + k];
            if (!isfinite(x)) continue;
            low = fmin(low, x);
            high = fmax(high, x);
        }
        r->low[t] = e->least ? high : low;
        r->high[t] = e->least ? low : high;
        if (!isnan(e->tasks[t].low)) {
            r->low[t] = e->tasks[t].low;
            r->high[t] = e->tasks[t].high;
        }
        r->normalised |= !isnan(e->tasks[t].low) || e->n_tasks > 1;
    }
}

static double normalised(const results *r, int task, double x) {
    if (!r->normalised) return r->e->least ? -x : x; /* larger is better, for comparisons */
    const double length = r->high[task] - r->low[task];
    return length == 0.0 || !isfinite(length) ? 0.0 : (x - r->low[task]) / length;
}

static lud_status read_scores(results *r, lud_error *error) {
    const lud_experiment *e = r->e;
    const int n = lud_experiment_n_runs(e);
    r->raw = lud_arena_take_array(r->arena, (size_t)n, sizeof *r->raw);
    r->score = lud_arena_take_array(r->arena, (size_t)n, sizeof *r->score);
    r->n = lud_arena_take_array(r->arena, (size_t)(e->n_tasks * e->n_variants), sizeof *r->n);
    if (!r->raw || !r->score || !r->n) return lud_no_memory(error, "scores");
    for (int k = 0; k < n; k++) {
        const lud_experiment_run run = lud_experiment_run_at(e, k);
        const uint64_t all = lud_experiment_training_of(e, run.task, run.variant)->iterations;
        LUD_TRY(lud_experiment_score(e, r->folder, run, all, &r->raw[k], error));
    }
    find_ends(r);
    for (int k = 0; k < n; k++) {
        const lud_experiment_run run = lud_experiment_run_at(e, k);
        const int place = run.variant * e->n_tasks + run.task;
        if (isfinite(r->raw[k]))
            r->score[place * e->n_seeds + r->n[place]++] = normalised(r, run.task, r->raw[k]);
    }
    return LUD_OK;
}

static lud_scores scores_of(const results *r, int variant) {
    const lud_experiment *e = r->e;
    const int first = variant * e->n_tasks;
    return (lud_scores){e->n_tasks, e->n_seeds, r->n + first, r->score + first * e->n_seeds};
}

/* ---- tables ---- */

static lud_status write_runs(const results *r, lud_error *error) {
    const lud_experiment *e = r->e;
    lud_text out = {0};
    lud_text_append(&out, "scenario,variant,seed,%s,normalised\n", e->score);
    for (int k = 0; k < lud_experiment_n_runs(e); k++) {
        const lud_experiment_run run = lud_experiment_run_at(e, k);
        lud_text_append(&out, "%s,%s,%" PRId64 ",", e->tasks[run.task].name, e->variants[run.variant].name,
                        e->seeds[run.seed]);
        if (isfinite(r->raw[k])) lud_text_append(&out, "%.17g", r->raw[k]);
        lud_text_append(&out, ",");
        if (isfinite(r->raw[k]) && r->normalised)
            lud_text_append(&out, "%.17g", normalised(r, run.task, r->raw[k]));
        lud_text_append(&out, "\n");
    }
    const lud_status status = lud_table_write_text(r->folder, "runs.csv", &out, error);
    lud_text_free(&out);
    return status;
}

enum { VARIANT, RUNS, MIDDLE, MEAN, IMPROVEMENT, TASKS }; /* columns */

/* The row of a variant: cells[TASKS + tasks]. */
static lud_status make_row(const results *r, int variant, lud_table_cell *cells, lud_error *error) {
    const lud_experiment *e = r->e;
    const lud_scores own = scores_of(r, variant), base = scores_of(r, e->baseline);
    int n_runs = 0;
    for (int t = 0; t < e->n_tasks; t++) {
        double sum = 0.0;
        for (int s = 0; s < e->n_seeds; s++) {
            const double x = r->raw[(t * e->n_variants + variant) * e->n_seeds + s];
            if (isfinite(x)) sum += x;
        }
        n_runs += own.n[t];
        cells[TASKS + t].value.value = own.n[t] > 0 ? sum / own.n[t] : NAN;
    }
    cells[VARIANT].text = e->variants[variant].name;
    cells[RUNS].value.value = n_runs;
    lud_interval *const both[] = {&cells[MIDDLE].value, &cells[MEAN].value};
    const bool memory = lud_scores_aggregate(&own, LUD_INTERQUARTILE_MEAN, RESAMPLES, 1, both[0]) &&
                        lud_scores_aggregate(&own, LUD_MEAN, RESAMPLES, 1, both[1]) &&
                        lud_scores_improvement(&own, &base, RESAMPLES, 1, &cells[IMPROVEMENT].value);
    if (!memory) return lud_no_memory(error, "a table");
    if (variant == e->baseline) cells[IMPROVEMENT].value.value = NAN;
    for (int k = 0; k < 2 && e->least && !r->normalised; k++)
        *both[k] = (lud_interval){-both[k]->value, -both[k]->high, -both[k]->low};
    return LUD_OK;
}

/* The table of variants, in the arena. */
static lud_status make_table(const results *r, lud_table *table, lud_error *error) {
    const lud_experiment *e = r->e;
    const int n = TASKS + e->n_tasks;
    lud_table_column *columns = lud_arena_take_array(r->arena, (size_t)n, sizeof *columns);
    lud_table_cell *cells = lud_arena_take_array(r->arena, (size_t)(n * e->n_variants), sizeof *cells);
    lud_text improves = {0};
    lud_text_append(&improves, "improves on %s", e->variants[e->baseline].name);
    const char *title = improves.failed ? NULL : lud_arena_text(r->arena, improves.bytes, improves.length);
    lud_text_free(&improves);
    if (!columns || !cells || !title) return lud_no_memory(error, "a table");
    columns[VARIANT] = (lud_table_column){"variant", "variant", LUD_TABLE_TEXT};
    columns[RUNS] = (lud_table_column){"runs", "runs", LUD_TABLE_COUNT};
    columns[MIDDLE] = (lud_table_column){"interquartile mean", "iqm", LUD_TABLE_INTERVAL};
    columns[MEAN] = (lud_table_column){"mean", "mean", LUD_TABLE_INTERVAL};
    columns[IMPROVEMENT] = (lud_table_column){title, "improvement", LUD_TABLE_INTERVAL};
    for (int t = 0; t < e->n_tasks; t++)
        columns[TASKS + t] = (lud_table_column){e->tasks[t].name, e->tasks[t].name, LUD_TABLE_NUMBER};
    for (int v = 0; v < e->n_variants; v++) LUD_TRY(make_row(r, v, cells + v * n, error));
    *table = (lud_table){columns, n, e->n_variants, cells};
    return LUD_OK;
}

static void put_explanation(const results *r, lud_text *out) {
    const lud_experiment *e = r->e;
    lud_text_append(out,
                    "\nIntervals hold the middle 95 %% of %d bootstrap samples, drawn within each scenario. ",
                    RESAMPLES);
    if (r->normalised)
        lud_text_append(out, "Interquartile mean and mean are of %s normalised for each scenario: 0 is",
                        e->score);
    for (int t = 0; t < e->n_tasks && r->normalised; t++)
        lud_text_append(out, "%s %.4g and 1 is %.4g in %s", t ? "," : "", r->low[t], r->high[t],
                        e->tasks[t].name);
    if (!r->normalised) lud_text_append(out, "Scores are %s as measured", e->score);
    lud_text_append(
        out,
        "; %s is better. `improves on %s` is the probability that a run of the variant beats one of "
        "%s on the same scenario. The last columns are means of %s in its own units.\n",
        r->normalised || !e->least ? "more" : "less", e->variants[e->baseline].name,
        e->variants[e->baseline].name, e->score);
}

static lud_status write_summary(const results *r, lud_text *said, lud_error *error) {
    const lud_experiment *e = r->e;
    lud_table table;
    LUD_TRY(make_table(r, &table, error));
    lud_text_append(said, "# %s\n\n%s%s", e->name, e->about ? e->about : "", e->about ? "\n\n" : "");
    lud_table_put_markdown(&table, said);
    put_explanation(r, said);
    return lud_table_write(&table, r->folder, "summary", said, error);
}

/* ---- figure ---- */

/* The curve of a variant: the mean of its runs, with a band from the lowest to the highest. */
static lud_status make_curve(const results *r, int task, int variant, lud_plot_curve *curve,
                             const char **x_name, lud_error *error) {
    const lud_experiment *e = r->e;
    lud_history *runs = lud_arena_take_array(r->arena, (size_t)e->n_seeds, sizeof *runs);
    int n = 0;
    if (!runs) return lud_no_memory(error, "curves");
    for (int s = 0; s < e->n_seeds; s++) {
        char path[PATH];
        if (!lud_experiment_run_path(e, r->folder, (lud_experiment_run){task, variant, s}, "", path,
                                     sizeof path))
            continue;
        LUD_TRY(lud_history_read(r->arena, path, e->curve, &runs[n], error));
        if (runs[n].n > 0) *x_name = runs[n].steps_name;
        n += runs[n].n > 0;
    }
    *curve = (lud_plot_curve){.name = e->variants[variant].name,
                              .colour = (int[]){2, 0, 1, 3, 4, 6, 5}[variant % 7]};
    lud_history_band band;
    LUD_TRY(lud_history_spread(r->arena, runs, n, &band, error));
    curve->x = band.steps;
    curve->y = band.mean;
    curve->low = band.low;
    curve->high = band.high;
    curve->n = band.n;
    return LUD_OK;
}

static lud_status draw_curves(const results *r, lud_error *error) {
    const lud_experiment *e = r->e;
    const int n = e->n_tasks < MOST_PANELS ? e->n_tasks : MOST_PANELS;
    const int n_curves = e->n_variants < MOST_CURVES ? e->n_variants : MOST_CURVES;
    lud_plot_panel panels[MOST_PANELS];
    lud_plot_curve *curves = lud_arena_take_array(r->arena, (size_t)(n * n_curves), sizeof *curves);
    lud_text path = {0}, titles[MOST_PANELS] = {{0}};
    lud_status status = curves ? LUD_OK : lud_no_memory(error, "curves");
    for (int t = 0; t < n && !status; t++) {
        lud_text_append(&titles[t], "%s, %s", e->tasks[t].name, e->curve);
        panels[t] = (lud_plot_panel){.title = titles[t].bytes ? titles[t].bytes : "",
                                     .x_name = "iteration",
                                     .curves = curves + t * n_curves,
                                     .n_curves = n_curves};
        for (int v = 0; v < n_curves && !status; v++)
            status = make_curve(r, t, v, &curves[t * n_curves + v], &panels[t].x_name, error);
    }
    static const char *const endings[] = {"png", "svg", "pdf"};
    for (int k = 0; k < 3 && !status; k++) {
        lud_text_clear(&path);
        lud_text_append(&path, "%s/curves.%s", r->folder, endings[k]);
        if (path.failed)
            status = lud_no_memory(error, "curves");
        else if (!lud_plot_check_path(path.bytes, NULL)) /* else this build does not draw it */
            status =
                lud_plot_write(path.bytes, panels, n, PANEL_WIDTH, PANEL_HEIGHT, 2, LUD_THEME_LIGHT, error);
    }
    for (int t = 0; t < MOST_PANELS; t++) lud_text_free(&titles[t]);
    lud_text_free(&path);
    return status;
}

lud_status lud_experiment_results(const lud_experiment *e, const char *folder, lud_text *said,
                                  lud_error *error) {
    results r = {.e = e, .folder = folder, .arena = lud_arena_create(0)};
    lud_status status = r.arena ? read_scores(&r, error) : lud_no_memory(error, "results");
    if (!status) status = write_runs(&r, error);
    if (!status) status = write_summary(&r, said, error);
    if (!status) status = draw_curves(&r, error);
    lud_arena_destroy(r.arena);
    return status;
}
