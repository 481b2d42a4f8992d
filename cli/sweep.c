/* `ludus sweep`: one solution after another over ranges or samples of parameters, a CSV row each. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/random.h"
#include "cli/cli.h"
#include "learn/empo/exact/solve.h"

typedef struct sweep_values {
    lud_scenario_flags scenario;
    lud_flag_list vary;
    const char *output;
    int64_t samples;
    bool quiet;
} sweep_values;

#define FLAGS sweep_values
static const lud_flag flags[] = {
    LIST_FLAG("vary", 'v', vary, "KEY=RANGE",
              "a parameter and its values: a,b,c or low:high:count (add :log for a geometric grid); may be "
              "repeated"),
    INT_FLAG("samples", 'n', samples, 1, 1e9, "N",
             "draw N seeded random points within the ranges instead of the grid"),
    TEXT_FLAG("output", 'o', output, "FILE", "CSV file (default: standard output)"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((sweep_values *)values)->scenario);
}

enum { MAX_KEYS = 16, MAX_LIST = 256 };

typedef struct range {
    char key[128];
    double values[MAX_LIST]; /* a list, or the points of the grid */
    int n;
    double low, high;
    bool logarithmic,
        continuous; /* continuous: samples are drawn between low and high, not from the values */
} range;

static lud_status range_error(const char *text, lud_error *error) {
    return lud_invalid(error, "--vary %s: expected KEY=a,b,c or KEY=low:high:count or KEY=low:high:count:log",
                       text);
}

static lud_status read_range(const char *text, range *r, lud_error *error) {
    const char *equals = strchr(text, '=');
    *r = (range){0};
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof r->key)
        return range_error(text, error);
    memcpy(r->key, text, (size_t)(equals - text));
    const char *at = equals + 1;
    const char *end;
    if (!strchr(at, ':')) {
        do {
            if (r->n == MAX_LIST)
                return lud_fail(error, LUD_ERROR_LIMIT, "--vary %s: more than 256 values", r->key);
            if (!lud_number_real(at, &end, &r->values[r->n++])) return range_error(text, error);
            at = end + 1;
        } while (*end == ',');
        return *end ? range_error(text, error) : LUD_OK;
    }
    r->continuous = true;
    if (!lud_number_real(at, &end, &r->low) || *end != ':') return range_error(text, error);
    at = end + 1;
    if (!lud_number_real(at, &end, &r->high) || *end != ':') return range_error(text, error);
    at = end + 1;
    int64_t count = 0;
    const bool counted = lud_number_integer(at, &end, &count) > 0;
    r->logarithmic = !strcmp(end, ":log");
    if (!counted || (*end && !r->logarithmic) || count < 1 || count > MAX_LIST || !(r->low <= r->high) ||
        (r->logarithmic && !(r->low > 0)))
        return range_error(text, error);
    r->n = (int)count;
    for (int i = 0; i < r->n; i++) {
        double t = r->n > 1 ? (double)i / (r->n - 1) : 0;
        r->values[i] = r->logarithmic ? r->low * pow(r->high / r->low, t) : r->low + (r->high - r->low) * t;
    }
    return LUD_OK;
}

/* Coordinates of a point: digits of its number on the grid, or random numbers keyed by it. */
static void point_of(const range *ranges, int n_ranges, bool sampled, uint64_t seed, int64_t number,
                     double *values) {
    int64_t rest = number;
    for (int k = 0; k < n_ranges; k++) {
        const range *r = &ranges[k];
        if (!sampled) {
            values[k] = r->values[rest % r->n];
            rest /= r->n;
            continue;
        }
        lud_words words =
            lud_draw((lud_random_key){seed, (uint32_t)k}, (uint32_t)number, 0, LUD_PURPOSE_USER, 0);
        double t = lud_unit53(words.v[0], words.v[1]);
        if (!r->continuous)
            values[k] = r->values[lud_below(words.v[2], (uint32_t)r->n)];
        else
            values[k] = r->logarithmic ? r->low * pow(r->high / r->low, t) : r->low + (r->high - r->low) * t;
    }
}

/* The row of a solved point: parameters, then what the start state's record says. */
static void write_row(lud_text *row, const double *values, int n_ranges, const lud_empo_layout *layout,
                      const double *record, double states) {
    for (int k = 0; k < n_ranges; k++) lud_text_append(row, "%.17g,", values[k]);
    lud_text_append(row, "%.0f", states);
    for (int i = 0; i < layout->policies; i++) lud_text_append(row, ",%.17g", record[i]);
    lud_text_append(row, "\n");
}

static void write_header(lud_text *row, const range *ranges, int n_ranges, const lud_model *model,
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
    const char *path;
    const lud_scenario_flags *flags;
    const range *ranges;
    int n_ranges;
    bool sampled;
    uint64_t seed;
    const lud_empo_case
        *shared; /* its graph serves all points when only the learner's parameters vary; else null */
} job;

/* The scenario with these values of what varies. */
static lud_status open_point(const job *j, const double *values, lud_scenario **scenario, lud_error *error) {
    struct lud_scenario_number numbers[MAX_KEYS];
    lud_scenario_flags own = *j->flags;
    for (int k = 0; k < j->n_ranges; k++)
        numbers[k] = (struct lud_scenario_number){"--vary", j->ranges[k].key, values[k]};
    own.numbers = numbers;
    own.n_numbers = j->n_ranges;
    own.run.threads = -1; /* the number of threads is the sweep's */
    return lud_scenario_open(j->path, &own, scenario, error);
}

/* The first and the last point of the grid, which have the least and the greatest values: a key or a value
 * that cannot be is found before the graph is built. */
static lud_status check_ends(const job *j, lud_error *error) {
    lud_status status = LUD_OK;
    for (int end = 0; end < 2 && !status; end++) {
        double values[MAX_KEYS];
        for (int k = 0; k < j->n_ranges; k++) values[k] = j->ranges[k].values[end ? j->ranges[k].n - 1 : 0];
        lud_scenario *scenario = NULL;
        lud_empo_exact_options exact;
        status = open_point(j, values, &scenario, error);
        if (!status) status = lud_empo_exact_read(scenario->arena, scenario->learner, &exact, error);
        lud_scenario_destroy(scenario);
    }
    return status;
}

/* Solves one point in memory with one thread. */
static lud_status solve_point(const job *j, int64_t number, lud_text *row, lud_error *error) {
    double values[MAX_KEYS];
    lud_scenario *scenario;
    point_of(j->ranges, j->n_ranges, j->sampled, j->seed, number, values);
    lud_status status = open_point(j, values, &scenario, error);
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
        if (!status) write_row(row, values, j->n_ranges, &problem->layout, records, (double)space->n_states);
    }
    if (status) lud_fail_context(error, "point %lld of the sweep", (long long)number);
    free(records);
    if (j->shared) lud_empo_problem_destroy(problem);
    lud_empo_case_close(&c);
    lud_scenario_destroy(scenario);
    return status;
}

/* Points are solved side by side; rows are kept until all before them are there, so the file does not depend
 * on the number of threads. Each process has every so many-th point. */
static lud_status solve_points(const job *j, int64_t n, int n_threads, FILE *show, lud_text *rows,
                               lud_error *error) {
    const int64_t first = lud_ranks_rank(lud_processes()), stride = lud_ranks_size(lud_processes());
    lud_progress progress;
    lud_progress_start(&progress, show, "sweep", "solutions", (uint64_t)((n - first + stride - 1) / stride));
    lud_status status = LUD_OK;
    uint64_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
    for (int64_t i = first; i < n; i += stride) {
        lud_status now;
#pragma omp atomic read
        now = status;
        if (now) continue;
        lud_error own = {0};
        lud_status result = lud_interrupt_check(&own);
        if (!result) result = solve_point(j, i, &rows[i], &own);
#pragma omp critical(lud_sweep)
        {
            if (result && !status) {
                status = result;
                if (error) *error = own;
            }
            lud_progress_update(&progress, ++done);
        }
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
            if (k != lud_ranks_rank(ranks) && end > at)
                lud_text_append(&rows[i], "%.*s\n", (int)(end - at), at);
            at = end + 1;
        }
    free(all);
    lud_text_free(&own);
    return status;
}

static lud_status write_rows(const char *path, const lud_text *header, const lud_text *rows, int64_t n,
                             lud_error *error) {
    lud_file_writer writer = {0};
    FILE *out = stdout;
    bool whole = !header->failed;
    for (int64_t i = 0; i < n; i++) whole = whole && !rows[i].failed;
    if (!whole) return lud_no_memory(error, "rows");
    if (path) {
        lud_file_remove_leftovers(path);
        LUD_TRY(lud_file_write_begin(&writer, path, error));
        out = writer.stream;
    }
    fputs(header->bytes, out);
    for (int64_t i = 0; i < n; i++)
        if (rows[i].bytes) fputs(rows[i].bytes, out);
    return path ? lud_file_write_commit(&writer, error) : lud_flush_output(error);
}

static lud_status sweep(const sweep_values *values, const lud_scenario *scenario, job *j, int64_t n,
                        lud_error *error) {
    int n_threads = scenario->run.threads > 0 ? (int)scenario->run.threads : omp_get_max_threads();
    FILE *show = values->quiet || !lud_ranks_leads(lud_processes()) ? NULL : stderr;
    lud_empo_solve_options options = {.n_threads = n_threads, .progress = show};
    lud_empo_case shared;
    LUD_TRY(check_ends(j, error));
    LUD_TRY(lud_empo_case_open(scenario, &options, &shared, error));
    bool same_world = true;
    for (int k = 0; k < j->n_ranges; k++) same_world &= !strncmp(j->ranges[k].key, "learner.", 8);
    j->shared = same_world ? &shared : NULL;
    lud_text header = {0}, *rows = calloc((size_t)n, sizeof *rows);
    write_header(&header, j->ranges, j->n_ranges, scenario->model, &shared.problem->layout);
    lud_status status =
        rows ? solve_points(j, n, n_threads, show, rows, error) : lud_no_memory(error, "rows");
    const bool stopped = status == LUD_INTERRUPTED;
    status = lud_ranks_agree(lud_processes(), stopped ? LUD_OK : status, error);
    if (!status) status = collect_rows(rows, n, error);
    if (!status) /* one of them is enough */
        status = lud_ranks_agree(lud_processes(), stopped ? LUD_INTERRUPTED : LUD_OK, error);
    /* what was finished before an interruption or an error is kept */
    lud_error ignored = {0};
    if (rows && lud_ranks_leads(lud_processes()) && (!status || status == LUD_INTERRUPTED)) {
        lud_status written = write_rows(values->output, &header, rows, n, status ? &ignored : error);
        if (!status) status = written;
    }
    for (int64_t i = 0; rows && i < n; i++) lud_text_free(&rows[i]);
    free(rows);
    lud_text_free(&header);
    lud_empo_case_close(&shared);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    const sweep_values *values = data;
    if (n_arguments > 1)
        return lud_invalid(error, "sweep: what varies stands behind -v: -v %s%s", arguments[1],
                           strchr(arguments[1], '=') ? "" : "=1:100:10:log");
    static range ranges[MAX_KEYS];
    if (values->vary.n == 0)
        return lud_invalid(error, "sweep SCENARIO needs something to vary: -v learner.beta_r=1:100:10:log");
    if (values->vary.n > MAX_KEYS)
        return lud_fail(error, LUD_ERROR_LIMIT, "more than %d --vary", (int)MAX_KEYS);
    int64_t n = 1;
    for (int k = 0; k < values->vary.n; k++) {
        LUD_TRY(read_range(values->vary.items[k], &ranges[k], error));
        n *= ranges[k].n;
        if (n > 10000000)
            return lud_fail(error, LUD_ERROR_LIMIT,
                            "the grid has more than 10 million points; use --samples");
    }
    bool sampled = values->samples > 0;
    lud_scenario *scenario;
    LUD_TRY(lud_scenario_open(arguments[0], &values->scenario, &scenario, error));
    job j = {arguments[0], &values->scenario, ranges, values->vary.n, sampled, (uint64_t)scenario->run.seed,
             NULL};
    lud_status status = sweep(values, scenario, &j, sampled ? values->samples : n, error);
    lud_scenario_destroy(scenario);
    return status;
}

const lud_verb lud_verb_sweep = {
    .name = "sweep",
    .about = "solve over ranges of parameters, one row of a table each",
    .arguments = "SCENARIO",
    .min_arguments = 1,
    .max_arguments = 2,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .over_processes = true,
    .notes = "Each row: the parameters, the number of states, and V_r, U_r, X_h, V_h^e, V_h^m, Q_r, pi_r at "
             "the start.\n"
             "Solutions run side by side. Keys under `learner.` share one graph; others build it anew.\n\n"
             "example: ludus sweep scenarios/empo/fetch_the_key.yaml -v learner.beta_r=1:100:20:log -v "
             "learner.zeta=1,2,3 "
             "-o sweep.csv\n",
    .run = run};
