/* Exact EMPO: graph and both phases, from nothing to every state's record. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "learn/empo/exact/level_sweep.h"
#include "sim/scenario.h"
#include "sim/statespace/levels.h"
#include "tests/bench/bench.h"

enum { N_TRIALS = 5 };

/* One person and one robot in the 6 x 4 world, six goals, 16 joint actions, horizon 20; then two people and
 * a robot in a room of the same size, 64 joint actions. `asked`: states a second on two cores. */
static const struct {
    const char *name, *text;
    double asked;
} worlds[] = {
    {"one person, one robot",
     "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We Ay .. .. .. We\n"
     "    We .. .. .. Ae We\n    We We We We We We\n  max_steps: 20\n  actions: small\n"
     "goals: [{cell: [1, 1]}, {cell: [4, 1]}, {cell: [1, 2]}, {cell: [4, 2]}, {rectangle: [2, 1, 2, 2]},\n"
     "  {rectangle: [3, 1, 3, 2]}]\n",
     200e3},
    {"two people, one robot",
     "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We Ay .. .. Ay We\n"
     "    We .. .. .. Ae We\n    We We We We We We\n  max_steps: 10\n  actions: small\n"
     "goals: [{rectangle: [1, 1, 2, 2]}, {rectangle: [3, 1, 4, 2]}]\n",
     40e3},
};

typedef struct figures {
    double graph_seconds, solve_seconds, levels_seconds, states, expanded, graph_bytes, probabilities,
        record_bytes, widest, credit_bytes, peak;
} figures;

/* Levels of a world that counts steps are its layers: states of the widest two neighbouring ones. */
static double widest_levels(const lud_statespace *space) {
    uint64_t widest = 0;
    for (int i = 0; i < space->n_layers; i++) {
        uint64_t end = space->layer_begin[i + 2 <= space->n_layers ? i + 2 : space->n_layers];
        if (end - space->layer_begin[i] > widest) widest = end - space->layer_begin[i];
    }
    return (double)widest;
}

static lud_status solve_once(const lud_model *model, int n_threads, figures *f, lud_error *error) {
    lud_statespace *space = NULL;
    lud_empo_problem *problem = NULL;
    double *records = NULL;
    lud_status status =
        lud_statespace_build(model, &(lud_statespace_options){.n_threads = n_threads}, &space, error);
    if (!status) status = lud_empo_problem_create(space, &lud_bench_theory, &problem, error);
    if (!status) {
        size_t n = space->n_states * (size_t)problem->layout.record_doubles;
        records = malloc(n * sizeof *records);
        if (!records) status = lud_no_memory(error, "a benchmark");
    }
    if (!status) {
        lud_empo_run run = {.records = records, .n_threads = n_threads, .first_level = INT32_MAX};
        double began = lud_clock_seconds();
        status = lud_empo_solve(problem, &run, error);
        f->solve_seconds = lud_clock_seconds() - began;
    }
    if (!status) {
        f->graph_seconds = space->seconds;
        f->states = (double)space->n_states;
        f->graph_bytes = (double)space->bytes;
        f->probabilities =
            (double)(space->n_states * (uint64_t)space->n_joint_actions * sizeof *space->rows +
                     space->n_branches * (sizeof *space->branch_begin + sizeof *space->branch_kind) +
                     space->n_successors * sizeof *space->successor);
        f->record_bytes = (double)problem->layout.record_doubles * sizeof *records;
        f->widest = widest_levels(space);
        f->credit_bytes = f->widest * (2 * problem->layout.n_goals + 1 + 7) * sizeof *records;
        /* finished levels' records leave memory for the solution's file, two levels stay (see credits) */
        double solving = f->graph_bytes + f->credit_bytes + f->widest * f->record_bytes;
        f->peak = solving > (double)space->peak_bytes ? solving : (double)space->peak_bytes;
    }
    free(records);
    lud_empo_problem_destroy(problem);
    lud_statespace_destroy(space);
    return status;
}

/* States and records as they would lie in the solution's file. */
static lud_status sweep_levels(const lud_model *model, int n_threads, const lud_levels *levels,
                               const lud_level_file *file, lud_error *error) {
    const size_t state_bytes = model->layout.state_bytes;
    lud_empo_problem *problem = NULL;
    LUD_TRY(lud_empo_problem_of_model(model, &lud_bench_theory, &problem, error));
    uint8_t *states = malloc(levels->n_states * state_bytes);
    double *records = malloc(levels->n_states * (size_t)problem->layout.record_doubles * sizeof *records);
    lud_status status = states && records ? LUD_OK : lud_no_memory(error, "a benchmark");
    for (int i = 0; i < levels->n && !status; i++)
        status = lud_level_file_read(file, i, states + levels->begin[i] * state_bytes, error);
    const lud_empo_layers layers = {levels->n, levels->begin, states};
    const lud_empo_run run = {.records = records, .n_threads = n_threads, .first_level = INT32_MAX};
    if (!status) status = lud_empo_solve_levels(problem, &layers, &run, error);
    free(states);
    free(records);
    lud_empo_problem_destroy(problem);
    return status;
}

/* The same by levels, with their file: from nothing to every record. */
static lud_status solve_by_levels(const lud_model *model, int n_threads, double *seconds, lud_error *error) {
    char path[] = "/tmp/ludus-bench-levels-XXXXXX";
    const int made = mkstemp(path);
    if (made < 0) return lud_fail(error, LUD_ERROR_IO, "%s: cannot be made", path);
    close(made);
    lud_level_file *file;
    lud_levels levels = {0};
    const double began = lud_clock_seconds();
    lud_status status = lud_level_file_open(path, model->layout.state_bytes, 0, false, &file, error);
    if (!status) {
        const lud_levels_options options = {.file = file, .n_threads = n_threads};
        status = lud_levels_find(model, &options, &levels, error);
        if (!status) status = sweep_levels(model, n_threads, &levels, file, error);
        *seconds = lud_clock_seconds() - began;
        lud_levels_free(&levels);
        lud_level_file_close(file);
    }
    unlink(path);
    return status;
}

static lud_status add(lud_bench_report *report, const char *world, const char *what, int n_threads,
                      double value, const char *unit, double bound, lud_error *error) {
    char name[96];
    snprintf(name, sizeof name, "%s: %s, %d thread%s", world, what, n_threads, n_threads == 1 ? "" : "s");
    return lud_bench_add(report, (lud_bench_row){.name = name, .value = value, .unit = unit, .floor = bound},
                         error);
}

static lud_status measure(lud_bench_report *report, int world, const lud_model *model, int n_threads,
                          lud_error *error) {
    figures best = {.graph_seconds = 1e30};
    double by_levels = 1e30;
    for (int trial = 0; trial < N_TRIALS; trial++) { /* the fastest: each is long enough to be disturbed */
        figures f = {0};
        LUD_TRY(solve_once(model, n_threads, &f, error));
        LUD_TRY(solve_by_levels(model, n_threads, &f.levels_seconds, error));
        if (f.levels_seconds < by_levels) by_levels = f.levels_seconds;
        if (f.graph_seconds + f.solve_seconds < best.graph_seconds + best.solve_seconds) best = f;
    }
    const char *name = worlds[world].name;
    double n = best.states, seconds = best.graph_seconds + best.solve_seconds;
    lud_status status = add(report, name, "graph and both phases", n_threads, n / seconds, "states/s",
                            n_threads > 1 ? worlds[world].asked : 0, error);
    if (!status)
        status = add(report, name, "both phases", n_threads, n / best.solve_seconds, "states/s", 0, error);
    if (!status)
        status = add(report, name, "by levels", n_threads, n / by_levels, "states/s",
                     n / seconds / 2 /* asked: half of what the graph allows */, error);
    if (status || n_threads > 1) return status;
    status = add(report, name, "states", n_threads, n, "states", 0, error);
    if (!status)
        status = add(report, name, "graph's probabilities and indices", n_threads, best.probabilities / n,
                     "bytes/state", 0, error);
    if (!status)
        status = add(report, name, "solution", n_threads, best.record_bytes, "bytes/state", 0, error);
    if (!status)
        status = add(report, name, "memory at most beside probabilities and indices", n_threads,
                     (best.peak - best.probabilities) / n, "bytes/state", 400, error);
    return status;
}

static lud_status run_bench(lud_bench_report *report, lud_error *error) {
    int all = omp_get_max_threads();
    for (int w = 0; w < (int)(sizeof worlds / sizeof *worlds); w++) {
        lud_scenario *scenario;
        lud_status status = lud_scenario_read(worlds[w].name, worlds[w].text, strlen(worlds[w].text), NULL, 0,
                                              &scenario, error);
        if (status) return status;
        status = measure(report, w, scenario->model, 1, error);
        if (!status && all > 1) status = measure(report, w, scenario->model, all, error);
        lud_scenario_destroy(scenario);
        if (status) return status;
    }
    return LUD_OK;
}

const lud_bench lud_bench_solve = {.name = "solve",
                                   .about = "exact EMPO solutions: graph, people's policies, power, robots",
                                   .run = run_bench};
