#include "cli/sweep/trainings.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cli/experiment/jobs.h"
#include "cli/experiment/table.h"
#include "cli/sweep/candidates.h"
#include "cli/sweep/halving.h"

enum { PATH = 4096, RESAMPLES = 2000, MOST_SHOWN = 20 };

typedef struct sweep {
    const lud_sweep *w;
    lud_arena *arena;
    lud_candidates candidates;
    const lud_experiment *e; /* its */
    int n_budgets;
    int *reached;  /* [variants] the budget that each takes part in last, as far as is known */
    double *known; /* [budgets][variants][seeds] scores, NaN: not there */
} sweep;

/* ---- scores ---- */

static double *score_at(const sweep *s, int budget, int variant, int seed) {
    return &s->known[(budget * s->e->n_variants + variant) * s->e->n_seeds + seed];
}

static uint64_t budget_of(const sweep *s, int variant, int budget) {
    return lud_halving_budget(lud_experiment_training_of(s->e, 0, variant), s->w->halving, budget,
                              s->n_budgets);
}

/* Reads what has been measured since. */
static lud_status read_scores(const sweep *s, lud_error *error) {
    for (int v = 0; v < s->e->n_variants; v++)
        for (int b = 0; b <= s->reached[v]; b++)
            for (int k = 0; k < s->e->n_seeds; k++) {
                double *score = score_at(s, b, v, k);
                if (isnan(*score))
                    LUD_TRY(lud_experiment_score(s->e, s->w->output, (lud_experiment_run){0, v, k},
                                                 budget_of(s, v, b), score, error));
            }
    return LUD_OK;
}

/* The scores of a candidate in a budget: n of them, in scores[seeds]; their mean, NaN for none. */
static double mean_score(const sweep *s, int budget, int variant, double *scores, int *n) {
    double sum = 0.0;
    *n = 0;
    for (int k = 0; k < s->e->n_seeds; k++) {
        const double x = *score_at(s, budget, variant, k);
        if (isnan(x)) continue;
        if (scores) scores[*n] = x;
        sum += x;
        ++*n;
    }
    return *n > 0 ? sum / *n : NAN;
}

/* The last budget in which a candidate has a score; negative: none. */
static int scored_budget(const sweep *s, int variant) {
    int n, b = s->reached[variant];
    while (b >= 0 && isnan(mean_score(s, b, variant, NULL, &n))) b--;
    return b;
}

/* ---- tables ---- */

/* Candidates in the order of the table: those of the longest budget first, in it the best. */
static void order(const sweep *s, int *rows) {
    const int n = s->e->n_variants;
    int n_rows = 0, seeds;
    bool part[LUD_SWEEP_CANDIDATES] = {false};
    double score[LUD_SWEEP_CANDIDATES] = {0};
    for (int b = s->n_budgets - 1; b >= -1; b--) {
        int left = 0;
        for (int v = 0; v < n; v++) {
            part[v] = scored_budget(s, v) == b;
            /* those without any: as they stand in the plan */
            score[v] = !part[v] ? NAN : b < 0 ? 0.0 : mean_score(s, b, v, NULL, &seeds);
            left += part[v];
        }
        for (; left > 0; left--) {
            bool best[LUD_SWEEP_CANDIDATES];
            int at = 0;
            memcpy(best, part, sizeof best);
            lud_halving_promote(score, n, INT32_MAX, s->e->least, best); /* the best one */
            while (!best[at]) at++;
            part[at] = false;
            rows[n_rows++] = at;
        }
    }
}

/* The folder of a candidate's runs, in the arena; null when memory is out. */
static const char *folder_of(const sweep *s, int variant, const char *behind) {
    lud_text text = {0};
    lud_text_append(&text, "%s/%s/%s%s", s->w->output, s->e->tasks[0].name, s->e->variants[variant].name,
                    behind);
    const char *kept = text.failed ? NULL : lud_arena_text(s->arena, text.bytes, text.length);
    lud_text_free(&text);
    return kept;
}

/* Columns behind the keys. */
enum { BUDGET, RUNS, SCORE, NAME, N_MORE };

static lud_status make_row(const sweep *s, int variant, lud_table_cell *cells, lud_error *error) {
    const int n_keys = s->w->n_ranges, b = scored_budget(s, variant);
    double *scores = lud_arena_take_array(s->arena, (size_t)s->e->n_seeds, sizeof *scores);
    int n = 0;
    if (!scores) return lud_no_memory(error, "a table");
    for (int k = 0; k < n_keys; k++)
        cells[k].text = s->candidates.texts[(size_t)variant * (size_t)n_keys + (size_t)k];
    cells += n_keys;
    cells[BUDGET].value.value = b < 0 ? NAN : (double)budget_of(s, variant, b);
    if (b >= 0) mean_score(s, b, variant, scores, &n);
    const lud_scores own = {1, s->e->n_seeds, &n, scores};
    if (!lud_scores_aggregate(&own, LUD_MEAN, RESAMPLES, 1, &cells[SCORE].value))
        return lud_no_memory(error, "a table");
    cells[RUNS].value.value = n;
    cells[NAME].text = s->e->variants[variant].name;
    return LUD_OK;
}

/* The table with its rows in this order, in the arena. */
static lud_status make_table(const sweep *s, const int *rows, lud_table *table, lud_error *error) {
    const int n_keys = s->w->n_ranges, n = n_keys + N_MORE, n_rows = s->e->n_variants;
    lud_table_column *columns = lud_arena_take_array(s->arena, (size_t)n, sizeof *columns);
    lud_table_cell *cells = lud_arena_take_array(s->arena, (size_t)(n * n_rows), sizeof *cells);
    if (!columns || !cells) return lud_no_memory(error, "a table");
    for (int k = 0; k < n_keys; k++)
        columns[k] = (lud_table_column){s->candidates.short_keys[k], s->w->ranges[k].key, LUD_TABLE_TEXT};
    columns[n_keys + BUDGET] = (lud_table_column){"iterations", "iterations", LUD_TABLE_COUNT};
    columns[n_keys + RUNS] = (lud_table_column){"runs", "runs", LUD_TABLE_COUNT};
    columns[n_keys + SCORE] = (lud_table_column){s->e->score, s->e->score, LUD_TABLE_INTERVAL};
    columns[n_keys + NAME] = (lud_table_column){"name", "name", LUD_TABLE_TEXT};
    for (int r = 0; r < n_rows; r++) LUD_TRY(make_row(s, rows[r], cells + r * n, error));
    *table = (lud_table){columns, n, n_rows, cells};
    return LUD_OK;
}

/* A row a run and budget. */
static lud_status write_runs(const sweep *s, lud_error *error) {
    const lud_experiment *e = s->e;
    const int n_keys = s->w->n_ranges;
    lud_text out = {0};
    for (int k = 0; k < n_keys; k++) lud_text_append(&out, "%s,", s->w->ranges[k].key);
    lud_text_append(&out, "name,seed,iterations,%s\n", e->score);
    for (int v = 0; v < e->n_variants; v++)
        for (int k = 0; k < e->n_seeds; k++)
            for (int b = 0; b <= s->reached[v]; b++) {
                const double score = *score_at(s, b, v, k);
                for (int i = 0; i < n_keys; i++) {
                    lud_table_put_csv(s->candidates.texts[(size_t)v * (size_t)n_keys + (size_t)i], &out);
                    lud_text_append(&out, ",");
                }
                lud_text_append(&out, "%s,%" PRId64 ",%" PRIu64 ",", e->variants[v].name, e->seeds[k],
                                budget_of(s, v, b));
                if (!isnan(score)) lud_text_append(&out, "%.17g", score);
                lud_text_append(&out, "\n");
            }
    const lud_status status = lud_table_write_text(s->w->output, "runs.csv", &out, error);
    lud_text_free(&out);
    return status;
}

/* Writes all tables; `shown` gets the first rows as Markdown, and `best` the candidate that leads; negative:
 * nothing was measured. Both may be null. */
static lud_status write_tables(sweep *s, lud_text *shown, int *best, lud_error *error) {
    lud_arena *kept = s->arena;
    lud_arena *arena = s->arena = lud_arena_create(0); /* of this table */
    int *rows = arena ? lud_arena_take_array(arena, (size_t)s->e->n_variants, sizeof *rows) : NULL;
    lud_table table = {0};
    lud_text said = {0};
    lud_status status = rows ? read_scores(s, error) : lud_no_memory(error, "a table");
    if (!status) order(s, rows);
    if (!status) status = make_table(s, rows, &table, error);
    if (!status) {
        lud_text_append(&said, "# sweep of %s\n\n", s->e->tasks[0].name);
        lud_table_put_markdown(&table, &said);
        lud_text_append(&said,
                        "\nThe last numbers of %s within so many iterations, %s is better: mean over seeds, "
                        "and the middle 95 %% of %d bootstrap samples of them.\n",
                        s->e->score, s->e->least ? "less" : "more", RESAMPLES);
        status = lud_table_write(&table, s->w->output, "sweep", &said, error);
    }
    if (!status) status = write_runs(s, error);
    if (!status && shown) {
        table.n_rows = table.n_rows < MOST_SHOWN ? table.n_rows : MOST_SHOWN;
        lud_table_put_markdown(&table, shown);
    }
    if (!status && best) *best = scored_budget(s, rows[0]) < 0 ? -1 : rows[0];
    lud_text_free(&said);
    lud_arena_destroy(arena);
    s->arena = kept;
    return status;
}

static void run_ended(void *context) {
    lud_error error = {0};
    if (write_tables(context, NULL, NULL, &error)) lud_log(NULL, LUD_LOG_WARNING, "%s", error.text);
}

/* ---- budgets ---- */

/* Which candidates go on to the next budget: their iterations in it, 0 for the others. */
static lud_status promote(const sweep *s, int budget, uint64_t *until, lud_error *error) {
    const int n = s->e->n_variants;
    bool part[LUD_SWEEP_CANDIDATES] = {false};
    double score[LUD_SWEEP_CANDIDATES] = {0};
    int seeds;
    for (int v = 0; v < n; v++) {
        part[v] = s->reached[v] == budget;
        score[v] = part[v] ? mean_score(s, budget, v, NULL, &seeds) : NAN;
    }
    if (lud_halving_promote(score, n, s->w->halving, s->e->least, part) == 0)
        return lud_fail(error, LUD_ERROR_IO,
                        "no training has measured '%s' in its first %" PRIu64 " iterations", s->e->score,
                        budget_of(s, 0, budget));
    for (int v = 0; v < n; v++) until[v] = part[v] ? budget_of(s, v, budget + 1) : 0;
    return LUD_OK;
}

/* Trains through all budgets. What is there of the tables is written whatever happens. */
static lud_status run_budgets(sweep *s, lud_experiment_jobs *jobs, uint64_t *until,
                              lud_experiment_outcome *sum, lud_error *error) {
    const size_t n = (size_t)s->e->n_variants;
    const bool leads = lud_ranks_leads(jobs->ranks);
    char title[64];
    *sum = (lud_experiment_outcome){0};
    for (size_t v = 0; v < n; v++) until[v] = budget_of(s, (int)v, 0);
    for (int b = 0; b < s->n_budgets; b++) {
        lud_experiment_outcome outcome;
        lud_error ignored = {0};
        snprintf(title, sizeof title, s->n_budgets > 1 ? "sweep, budget %d of %d" : "sweep", b + 1,
                 s->n_budgets);
        jobs->title = title;
        for (size_t v = 0; v < n; v++)
            if (until[v]) s->reached[v] = b;
        lud_status status = lud_experiment_jobs_run(jobs, &outcome, error);
        sum->done += outcome.done;
        sum->found += outcome.found;
        sum->failed += outcome.failed;
        if (leads && (!status || status == LUD_INTERRUPTED)) {
            const lud_status written = write_tables(s, NULL, NULL, status ? &ignored : error);
            if (!status) status = written;
        }
        if (!status && leads && b + 1 < s->n_budgets) status = promote(s, b, until, error);
        LUD_TRY(lud_ranks_agree(jobs->ranks, status, error));
        LUD_TRY(lud_ranks_broadcast(jobs->ranks, until, n * sizeof *until, error));
    }
    return LUD_OK;
}

/* ---- what is said ---- */

static void print_plan(const sweep *s, const lud_experiment_jobs *jobs) {
    const lud_experiment *e = s->e;
    if (!lud_ranks_leads(jobs->ranks)) return;
    printf("sweep of %s: %d candidates x %d seeds, %d trainings side by side with %d threads each; by %s, "
           "%s is better\n",
           e->tasks[0].name, e->n_variants, e->n_seeds, jobs->n_parallel, jobs->n_threads, e->score,
           e->least ? "less" : "more");
    if (s->candidates.n_repeated)
        printf("%d points have the values of another and are left out\n", s->candidates.n_repeated);
    for (int b = 0, n = e->n_variants; b < s->n_budgets && s->n_budgets > 1; b++) {
        printf("  budget %d: %d candidates, %" PRIu64 " iterations\n", b + 1, n, budget_of(s, 0, b));
        n = n / (int)s->w->halving > 0 ? n / (int)s->w->halving : 1;
    }
    fflush(stdout);
}

/* The seed whose run is the best of the candidate's. */
static int best_seed(const sweep *s, int variant) {
    const int b = scored_budget(s, variant);
    int best = -1;
    for (int k = 0; k < s->e->n_seeds; k++) {
        const double x = *score_at(s, b, variant, k), y = best < 0 ? NAN : *score_at(s, b, variant, best);
        if (!isnan(x) && (isnan(y) || (s->e->least ? x < y : x > y))) best = k;
    }
    return best;
}

static lud_status print_best(const sweep *s, int best, lud_error *error) {
    const lud_experiment *e = s->e;
    const int b = scored_budget(s, best), seed = best_seed(s, best);
    char behind[40];
    int n = 0;
    lud_text settings = {0}, command = {0}, word = {0};
    snprintf(behind, sizeof behind, "/seed-%" PRId64, e->seeds[seed]);
    const char *run = folder_of(s, best, behind), *group = folder_of(s, best, "");
    if (!run || !group) return lud_no_memory(error, "a table");
    lud_candidate_describe(&s->candidates, s->w->n_ranges, best, &settings);
    const double score = mean_score(s, b, best, NULL, &n);
    printf("best: %s: %s %.6g after %" PRIu64 " iterations, mean of %d\n", settings.bytes, e->score, score,
           budget_of(s, best, b), n);
    const char *program = lud_program(), *named = lud_text_word(&word, run);
    printf("its RUN%s %s%s. Next:\n  %s view %s\n  %s eval %s\n", n > 1 ? "s lie in" : " is",
           n > 1 ? group : run, n > 1 ? "/seed-N" : "", program, named, program, named);
    lud_text_append(&command, "  %s train ", program);
    lud_text_append_word(&command, s->w->path);
    lud_text_clear(&word);
    lud_text_append(&word, "%s-best", s->w->output);
    lud_text_append(&command, " -o ");
    lud_text_append_word(&command, word.bytes ? word.bytes : "");
    for (int i = 0; i < e->set.n; i++) {
        lud_text_append(&command, " --set ");
        lud_text_append_word(&command, e->set.items[i]);
    }
    for (int i = 0; i < e->variants[best].set.n; i++) {
        lud_text_append(&command, " --set ");
        lud_text_append_word(&command, e->variants[best].set.items[i]);
    }
    printf("%s\n", command.bytes ? command.bytes : "");
    const bool whole = !settings.failed && !command.failed && !word.failed;
    lud_text_free(&settings);
    lud_text_free(&command);
    lud_text_free(&word);
    return whole ? LUD_OK : lud_no_memory(error, "a table");
}

static lud_status print_end(sweep *s, const lud_experiment_outcome *sum, lud_error *error) {
    lud_text shown = {0};
    int best = -1;
    lud_status status = write_tables(s, &shown, &best, error);
    if (!status) {
        printf("\n%s", shown.bytes ? shown.bytes : "");
        if (s->e->n_variants > MOST_SHOWN) printf("... %d more rows\n", s->e->n_variants - MOST_SHOWN);
        printf("\n%s holds sweep.csv, sweep.md, sweep.tex, and runs.csv with a row a run and budget\n",
               s->w->output);
        if (sum->found) printf("(%d runs were there already)\n", sum->found);
        if (best >= 0) status = print_best(s, best, error);
    }
    lud_text_free(&shown);
    if (!status) status = lud_flush_output(error);
    if (!status && sum->failed)
        return lud_fail(error, LUD_ERROR_IO, "%d runs failed; the same command tries them again",
                        sum->failed);
    return status;
}

/* ---- all of it ---- */

static lud_status run(sweep *s, lud_experiment_jobs *jobs, lud_error *error) {
    const lud_experiment *e = s->e;
    const size_t n_scores = (size_t)s->n_budgets * (size_t)(e->n_variants * e->n_seeds);
    uint64_t *until = lud_arena_take_array(s->arena, (size_t)e->n_variants, sizeof *until);
    s->reached = lud_arena_take_array(s->arena, (size_t)e->n_variants, sizeof *s->reached);
    s->known = lud_arena_take_array(s->arena, n_scores, sizeof *s->known);
    jobs->environment = lud_ranks_plain_environment(s->arena);
    if (!until || !s->reached || !s->known || !jobs->environment) return lud_no_memory(error, "a sweep");
    for (size_t k = 0; k < n_scores; k++) s->known[k] = NAN;
    for (int v = 0; v < e->n_variants; v++) s->reached[v] = -1;
    LUD_TRY(lud_ranks_agree(jobs->ranks, lud_folder_make(s->w->output, error), error));
    jobs->until = until;
    jobs->ended = run_ended;
    jobs->context = s;
    lud_experiment_outcome sum;
    LUD_TRY(run_budgets(s, jobs, until, &sum, error));
    return lud_ranks_leads(jobs->ranks) ? print_end(s, &sum, error) : LUD_OK;
}

static lud_status prepare_and_run(sweep *s, lud_error *error) {
    const lud_sweep *w = s->w;
    lud_experiment *e = &s->candidates.experiment;
    LUD_TRY(lud_halving_check(w, error));
    LUD_TRY(lud_candidates_make(s->arena, w, &s->candidates, error));
    s->e = e;
    lud_interrupt_install();
    LUD_TRY(lud_experiment_check(s->arena, e, error));
    LUD_TRY(lud_halving_plan(w, e, &s->n_budgets, error));
    lud_experiment_jobs jobs = {
        .experiment = e, .title = "sweep", .folder = w->output, .quiet = w->quiet, .ranks = lud_processes()};
    lud_experiment_share_out(&jobs, w->jobs, w->flags->run.threads);
    if (!w->quiet || w->dry) print_plan(s, &jobs);
    return w->dry ? LUD_OK : run(s, &jobs, error);
}

lud_status lud_sweep_train(const lud_sweep *w, lud_error *error) {
    if (!w->output && !w->dry) return lud_invalid(error, "sweep needs a folder for its trainings: -o DIR");
    lud_arena *arena = lud_arena_create(0);
    sweep *s = arena ? lud_arena_take(arena, sizeof *s) : NULL;
    if (s) *s = (sweep){.w = w, .arena = arena};
    const lud_status status = s ? prepare_and_run(s, error) : lud_no_memory(error, "a sweep");
    lud_arena_destroy(arena);
    return status;
}
