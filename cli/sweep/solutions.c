#include "cli/sweep/solutions.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/experiment/table.h"
#include "cli/sweep/kept_rows.h"
#include "learn/empo/exact/solve.h"

enum { MOST_POINTS = 10000000 };

/* The values of what varies, with a comma behind each. */
static void write_values(lud_text *row, const lud_sweep_value *values, int n) {
    for (int k = 0; k < n; k++) {
        if (isnan(values[k].number))
            lud_table_put_csv(values[k].text, row);
        else
            lud_text_append(row, "%.17g", values[k].number);
        lud_text_append(row, ",");
    }
}

/* The row of a solved point: parameters, then what the start state's record says. */
static void write_row(lud_text *row, const lud_sweep_value *values, int n_ranges,
                      const lud_empo_layout *layout, const double *record, double states) {
    write_values(row, values, n_ranges);
    lud_text_append(row, "%.0f", states);
    for (int i = 0; i < layout->policies; i++) lud_text_append(row, ",%.17g", record[i]);
    lud_text_append(row, "\n");
}

static void write_header(lud_text *row, const lud_sweep_range *ranges, int n_ranges, const lud_model *model,
                         const lud_empo_layout *layout) {
    char name[256];
    for (int k = 0; k < n_ranges; k++) lud_text_append(row, "%s,", ranges[k].key);
    lud_text_append(row, "states,V_r,U_r");
    for (int h = 0; h < layout->n_humans; h++) lud_text_append(row, ",X_%d", layout->humans[h]);
    static const char *const parts[] = {"V_e", "V_m"};
    for (int part = 0; part < 2; part++)
        for (int h = 0; h < layout->n_humans; h++)
            for (int g = 0; g < lud_empo_goals_of(layout, h); g++)
                lud_text_append(row, ",%s_%d_%d", parts[part], layout->humans[h], g);
    static const char *const robots[] = {"Q", "pi"};
    for (int part = 0; part < 2; part++)
        for (int r = 0; r < layout->n_robot_actions; r++)
            lud_text_append(row, ",%s_%s", robots[part], lud_empo_robot_name(model, layout, r, name));
    lud_text_append(row, "\n");
}

typedef struct job {
    const lud_sweep *sweep;
    /* its graph serves all points when only the learner's parameters vary; else null */
    const lud_empo_case *shared;
} job;

/* The scenario with these values of what varies. */
static lud_status open_point(const lud_sweep *w, const lud_sweep_value *values, lud_scenario **scenario,
                             lud_error *error) {
    struct lud_scenario_number numbers[LUD_SWEEP_KEYS];
    lud_text assignments[LUD_SWEEP_KEYS] = {{0}};
    lud_scenario_flags own = *w->flags;
    bool whole = true;
    for (int k = 0; k < w->n_ranges; k++) {
        numbers[k] = (struct lud_scenario_number){"--vary", w->ranges[k].key, values[k].number, NULL};
        if (!isnan(values[k].number)) continue;
        lud_text_append(&assignments[k], "%s=%s", w->ranges[k].key, values[k].text);
        whole = whole && !assignments[k].failed;
        numbers[k].assignment = assignments[k].bytes;
    }
    own.numbers = numbers;
    own.n_numbers = w->n_ranges;
    own.run.threads = -1; /* the number of threads is the sweep's */
    const lud_status status = whole ? lud_scenario_open(w->path, &own, scenario, error)
                                    : lud_no_memory(error, "a point of the sweep");
    for (int k = 0; k < w->n_ranges; k++) lud_text_free(&assignments[k]);
    return status;
}

/* The first and the last point of the grid, which have the least and the greatest values: a key or a value
 * that cannot be is found before the graph is built. */
static lud_status check_ends(const lud_sweep *w, lud_error *error) {
    lud_status status = LUD_OK;
    for (int end = 0; end < 2 && !status; end++) {
        lud_sweep_value values[LUD_SWEEP_KEYS];
        for (int k = 0; k < w->n_ranges; k++) values[k] = w->ranges[k].values[end ? w->ranges[k].n - 1 : 0];
        lud_scenario *scenario = NULL;
        lud_empo_exact_options exact;
        status = open_point(w, values, &scenario, error);
        if (!status) status = lud_empo_exact_read(scenario->arena, scenario->learner, &exact, error);
        lud_scenario_destroy(scenario);
    }
    return status;
}

/* Solves one point in memory with one thread. */
static lud_status solve_point(const job *j, int64_t number, lud_text *row, lud_error *error) {
    const lud_sweep *w = j->sweep;
    lud_sweep_value values[LUD_SWEEP_KEYS];
    lud_scenario *scenario;
    lud_sweep_point(w->ranges, w->n_ranges, w->n_samples > 0, w->seed, number, values);
    lud_status status = open_point(w, values, &scenario, error);
    if (status) return status;
    lud_empo_solve_options options = {.n_threads = 1};
    lud_empo_case c = {0};
    lud_empo_problem *problem = NULL;
    double *records = NULL;
    if (j->shared) {
        lud_arena *arena = lud_arena_create(0);
        lud_empo_exact_options exact;
        status = arena ? lud_empo_exact_read(arena, scenario->learner, &exact, error)
                       : lud_no_memory(error, "options");
        if (!status) status = lud_empo_problem_create(j->shared->space, &exact.theory, &problem, error);
        lud_arena_destroy(arena);
    } else {
        status = lud_empo_case_open(scenario, &options, &c, error);
        problem = c.problem;
    }
    if (!status) {
        const lud_statespace *space = problem->space;
        records = malloc(space->n_states * (size_t)problem->layout.record_doubles * sizeof *records);
        lud_empo_policies policies = j->shared ? j->shared->policies : c.policies;
        lud_empo_hooks hooks;
        lud_empo_policies_hook(&policies, &hooks);
        lud_empo_run run = {.records = records, .hooks = &hooks, .n_threads = 1, .first_level = INT32_MAX};
        status = records ? lud_empo_solve(problem, &run, error)
                         : lud_fail(error, LUD_ERROR_MEMORY, "no memory to solve");
        if (!status) write_row(row, values, w->n_ranges, &problem->layout, records, (double)space->n_states);
    }
    if (status) lud_fail_context(error, "point %lld of the sweep", (long long)number);
    free(records);
    if (j->shared) lud_empo_problem_destroy(problem);
    lud_empo_case_close(&c);
    lud_scenario_destroy(scenario);
    return status;
}

/* ---- the table ---- */

/* Rows of all points, and the file that they go to. */
typedef struct table {
    const lud_sweep *sweep;
    lud_text header, *rows; /* [n] */
    int64_t n, found;       /* found: rows that were there already */
    char key[20];           /* of the settings of all points */
    double interval, next;  /* seconds between two writings, and when the next is due */
} table;

/* Beside the table: by what settings its rows were solved, `KEY`. */
static lud_status state_path(const table *t, lud_text *path, lud_error *error) {
    lud_text_append(path, "%s.state", t->sweep->output);
    return path->failed ? lud_no_memory(error, "a table") : LUD_OK;
}

/* What the scenario is without what varies, as a number. */
static lud_status find_key(table *t, lud_error *error) {
    lud_tree *root = NULL;
    char *text = NULL;
    size_t length = 0;
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? LUD_OK : lud_no_memory(error, "a sweep");
    if (!status) status = lud_scenario_effective(t->sweep->scenario, arena, &root, error);
    if (!status) status = lud_tree_set(arena, root, "run.threads=1", error);
    if (!status) status = lud_tree_write(arena, root, &text, &length, error);
    if (!status) snprintf(t->key, sizeof t->key, "%016llx\n", (unsigned long long)XXH3_64bits(text, length));
    lud_arena_destroy(arena);
    return status;
}

/* Takes the rows of points that an earlier call has solved with the same settings. */
static lud_status find_rows(table *t, lud_arena *arena, lud_error *error) {
    const lud_sweep *w = t->sweep;
    lud_text path = {0}, fields = {0};
    char *state = NULL, *text = NULL;
    size_t length;
    lud_kept_rows kept = {0};
    LUD_TRY(find_key(t, error));
    lud_status status = state_path(t, &path, error);
    const bool there = !status && lud_file_exists(path.bytes) && lud_file_exists(w->output);
    if (there) status = lud_file_read(arena, path.bytes, 0, &state, &length, error);
    if (there && !status && strcmp(state, t->key) == 0) {
        status = lud_file_read(arena, w->output, SIZE_MAX, &text, &length, error);
        if (!status) status = lud_kept_rows_read(arena, text, t->header.bytes, &kept, error);
    }
    for (int64_t i = 0; i < t->n && kept.n > 0 && !status; i++) {
        lud_sweep_value values[LUD_SWEEP_KEYS];
        lud_sweep_point(w->ranges, w->n_ranges, w->n_samples > 0, w->seed, i, values);
        lud_text_clear(&fields);
        write_values(&fields, values, w->n_ranges);
        const char *row = fields.failed ? NULL : lud_kept_rows_find(&kept, fields.bytes);
        if (row) lud_text_append(&t->rows[i], "%s\n", row);
        t->found += row != NULL;
    }
    lud_text_free(&path);
    lud_text_free(&fields);
    return status;
}

static lud_status put_rows(const table *t, FILE *out, lud_error *error) {
    bool whole = !t->header.failed;
    for (int64_t i = 0; i < t->n; i++) whole = whole && !t->rows[i].failed;
    if (!whole) return lud_no_memory(error, "rows");
    fputs(t->header.bytes, out);
    for (int64_t i = 0; i < t->n; i++)
        if (t->rows[i].bytes) fputs(t->rows[i].bytes, out);
    return LUD_OK;
}

/* Writes the rows that there are. While they change hands nobody takes them for those of other settings. */
static lud_status write_table(table *t, lud_error *error) {
    lud_file_writer writer = {0};
    lud_text state = {0};
    if (!t->sweep->output) {
        LUD_TRY(put_rows(t, stdout, error));
        return lud_flush_output(error);
    }
    const double begin = lud_clock_seconds();
    lud_status status = state_path(t, &state, error);
    if (!status && t->next == 0.0) {
        unlink(state.bytes);
        lud_file_remove_leftovers(t->sweep->output);
    }
    if (!status) status = lud_file_write_begin(&writer, t->sweep->output, error);
    if (!status) status = put_rows(t, writer.stream, error);
    if (!status) status = lud_file_write_commit(&writer, error);
    lud_file_write_abandon(&writer);
    if (!status && t->next == 0.0) status = lud_file_write(state.bytes, t->key, strlen(t->key), error);
    lud_text_free(&state);
    t->next = lud_clock_seconds();
    t->interval = fmax(2.0, 20.0 * (t->next - begin)); /* a large table is written seldom */
    t->next += t->interval;
    return status;
}

static lud_status open_table(table *t, lud_arena *arena, lud_error *error) {
    const lud_status status = t->rows && !t->header.failed ? LUD_OK : lud_no_memory(error, "rows");
    if (status || !t->sweep->output) return status;
    return find_rows(t, arena, error);
}

static void close_table(table *t) {
    for (int64_t i = 0; t->rows && i < t->n; i++) lud_text_free(&t->rows[i]);
    free(t->rows);
    lud_text_free(&t->header);
}

/* ---- all points ---- */

/* Keeps what came of a point; the table is written now and then. */
static lud_status keep_row(table *t, int64_t i, lud_text *row, lud_error *error) {
    t->rows[i] = *row;
    *row = (lud_text){0};
    if (!t->sweep->output || !lud_ranks_leads(lud_processes())) return LUD_OK;
    return lud_clock_seconds() >= t->next ? write_table(t, error) : LUD_OK;
}

/* Points are solved side by side; rows are kept until all before them are there, so the file does not depend
 * on the number of threads. Each process has every so many-th point. */
static lud_status solve_points(const job *j, int n_threads, FILE *show, table *t, lud_error *error) {
    const int64_t first = lud_ranks_rank(lud_processes()), stride = lud_ranks_size(lud_processes());
    const int64_t n = t->n;
    lud_progress progress;
    lud_progress_start(&progress, show, "sweep", "solutions", (uint64_t)((n - first + stride - 1) / stride));
    lud_status status = LUD_OK;
    uint64_t done = 0;
    for (int64_t i = first; i < n; i += stride) done += t->rows[i].bytes != NULL;
    progress.done = progress.before = done;
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
    for (int64_t i = first; i < n; i += stride) {
        lud_status now;
#pragma omp atomic read
        now = status;
        if (now || t->rows[i].bytes) continue;
        lud_error own = {0};
        lud_text row = {0};
        lud_status result = lud_interrupt_check(&own);
        if (!result) result = solve_point(j, i, &row, &own);
#pragma omp critical(lud_sweep)
        {
            if (!result) result = keep_row(t, i, &row, &own);
            if (result && !status) {
                status = result;
                if (error) *error = own;
            }
            lud_progress_update(&progress, ++done);
        }
        lud_text_free(&row);
    }
    lud_progress_finish(&progress);
    return status;
}

/* The rows of all processes come to the first, which has those of points 0, size, 2 size ... itself. */
static lud_status collect_rows(lud_text *rows, int64_t n, lud_error *error) {
    lud_ranks *ranks = lud_processes();
    if (!ranks) return LUD_OK;
    const int size = lud_ranks_size(ranks);
    lud_text own = {0};
    int64_t lengths[LUD_RANKS_MOST], n_ranks = 0, total = 0, n_all = 0;
    for (int64_t i = lud_ranks_rank(ranks); i < n; i += size)
        lud_text_append(&own, "%s", rows[i].bytes ? rows[i].bytes : "\n");
    const int64_t length = (int64_t)own.length;
    lud_status status = lud_ranks_agree(ranks, own.failed ? lud_no_memory(error, "rows") : LUD_OK, error);
    if (!status)
        status =
            lud_ranks_join_lists(ranks, &length, 1, sizeof length, lengths, LUD_RANKS_MOST, &n_ranks, error);
    for (int64_t k = 0; k < n_ranks; k++) total += lengths[k];
    char *all = malloc((size_t)total + 1);
    if (!status) status = lud_ranks_agree(ranks, all ? LUD_OK : lud_no_memory(error, "rows"), error);
    if (!status) status = lud_ranks_join_lists(ranks, own.bytes, length, 1, all, total, &n_all, error);
    const char *at = all;
    for (int k = 0; k < size && !status; k++)
        for (int64_t i = k; i < n; i += size) {
            const char *end = memchr(at, '\n', (size_t)(all + total - at));
            const bool others = k != lud_ranks_rank(ranks) && end > at;
            if (others) lud_text_clear(&rows[i]);
            if (others) lud_text_append(&rows[i], "%.*s\n", (int)(end - at), at);
            at = end + 1;
        }
    free(all);
    lud_text_free(&own);
    return status;
}

static lud_status sweep(job *j, table *t, lud_arena *arena, lud_error *error) {
    const lud_sweep *w = j->sweep;
    lud_ranks *ranks = lud_processes();
    const int n_threads =
        w->scenario->run.threads > 0 ? (int)w->scenario->run.threads : omp_get_max_threads();
    FILE *show = w->quiet || !lud_ranks_leads(ranks) ? NULL : stderr;
    /* nobody writes before all have looked */
    LUD_TRY(lud_ranks_agree(ranks, open_table(t, arena, error), error));
    if (t->found && !w->quiet && lud_ranks_leads(ranks))
        lud_log(NULL, LUD_LOG_INFO, "%s: %lld solutions were there already", w->output, (long long)t->found);
    lud_status status = solve_points(j, n_threads, show, t, error);
    const bool stopped = status == LUD_INTERRUPTED;
    status = lud_ranks_agree(ranks, stopped ? LUD_OK : status, error);
    if (!status) status = collect_rows(t->rows, t->n, error);
    if (!status) /* one of them is enough */
        status = lud_ranks_agree(ranks, stopped ? LUD_INTERRUPTED : LUD_OK, error);
    /* what was finished before an interruption or an error is kept */
    lud_error ignored = {0};
    if (lud_ranks_leads(ranks) && (!status || status == LUD_INTERRUPTED)) {
        const lud_status written = write_table(t, status ? &ignored : error);
        if (!status) status = written;
    }
    return status;
}

lud_status lud_sweep_solve(const lud_sweep *w, lud_error *error) {
    const bool shows = !w->quiet && lud_ranks_leads(lud_processes());
    const lud_empo_solve_options options = {
        .n_threads = w->scenario->run.threads > 0 ? (int)w->scenario->run.threads : omp_get_max_threads(),
        .progress = shows ? stderr : NULL};
    lud_empo_case shared;
    job j = {.sweep = w};
    table t = {.sweep = w, .n = w->n_samples};
    bool same_world = true;
    if (t.n == 0) LUD_TRY(lud_sweep_count(w->ranges, w->n_ranges, MOST_POINTS, &t.n, error));
    LUD_TRY(check_ends(w, error));
    LUD_TRY(lud_empo_case_open(w->scenario, &options, &shared, error));
    for (int k = 0; k < w->n_ranges; k++) same_world &= !strncmp(w->ranges[k].key, "learner.", 8);
    j.shared = same_world ? &shared : NULL;
    t.rows = calloc((size_t)t.n, sizeof *t.rows);
    write_header(&t.header, w->ranges, w->n_ranges, w->scenario->model, &shared.problem->layout);
    lud_arena *arena = lud_arena_create(0);
    const lud_status status = arena ? sweep(&j, &t, arena, error) : lud_no_memory(error, "a sweep");
    lud_arena_destroy(arena);
    close_table(&t);
    lud_empo_case_close(&shared);
    return status;
}
