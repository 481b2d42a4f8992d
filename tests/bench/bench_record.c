/* Recording beside running: the same episodes of the same environments, once counted and once written, in
 * turns. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/rollout.h"
#include "learn/episodes/recorder.h"
#include "tests/bench/bench.h"

/* A 7x7 world of two people and two robots among a door, a key, a rock and a block. */
static const char world_text[] =
    "ludus: 1\nname: bench\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We Ay .. .. .. .. We\n    We .. .. We .. Ky We\n"
    "    We .. Bl .. Ro .. We\n    We .. Ly We We .. We\n    We Ae .. .. Ay Ae We\n"
    "    We We We We We We We\n  max_steps: 100\n"
    "run: {environments: 256}\npolicies:\n";

typedef struct actors {
    const char *name, *text;
} actors;

typedef struct mode {
    const char *name;
    bool frames, views;
    int level;
} mode;

enum { PAIRS = 5, EPISODES = 512 };

typedef struct bench_case {
    const lud_scenario *scenario;
    const lud_cast *cast;
    const char *path;
} bench_case;

/* Steps a second of a run. */
static lud_status run_once(const bench_case *c, double *rate, lud_error *error) {
    lud_rollout r;
    const lud_status status = lud_rollout_run(c->scenario, c->cast, EPISODES, 0, NULL, &r, error);
    *rate = (double)r.steps / r.seconds;
    lud_rollout_free(&r);
    return status;
}

static lud_status record_once(const bench_case *c, const mode *m, double *rate, double *bytes,
                              lud_error *error) {
    const lud_recording_options options = {
        .path = c->path, .episodes = EPISODES, .frames = m->frames, .views = m->views, .level = m->level};
    lud_recording_result r;
    const lud_status status = lud_record_data(c->scenario, c->cast, &options, &r, error);
    struct stat info;
    *rate = (double)r.steps_taken / r.seconds_in_all;
    if (!status && !stat(c->path, &info)) *bytes = (double)info.st_size * 1e6 / (double)r.steps;
    return status;
}

static lud_status add(lud_bench_report *report, const char *actors_name, const char *what, double *values,
                      const char *unit, double floor, lud_error *error) {
    char name[160];
    snprintf(name, sizeof name, "%s: %s", actors_name, what);
    const lud_bench_row row = {.name = name, .unit = unit, .floor = floor};
    return lud_bench_add_runs(report, row, PAIRS, values, error);
}

/* A B B A ...: a pair's cost is how much slower the second of it was. */
static lud_status compare_mode(lud_bench_report *report, const bench_case *c, const char *actors_name,
                               const mode *m, lud_error *error) {
    double plain[PAIRS], recorded[PAIRS], cost[PAIRS], bytes[PAIRS] = {0};
    lud_status status = LUD_OK;
    for (int k = 0; k < PAIRS && !status; k++) {
        if (k % 2) status = record_once(c, m, &recorded[k], &bytes[k], error);
        if (!status) status = run_once(c, &plain[k], error);
        if (!status && k % 2 == 0) status = record_once(c, m, &recorded[k], &bytes[k], error);
        cost[k] = 100 * (1 - recorded[k] / plain[k]);
        bytes[k] /= 1e6;
    }
    char what[96];
    if (!status && !m->frames) status = add(report, actors_name, "run", plain, "steps/s", 0, error);
    snprintf(what, sizeof what, "record, %s", m->name);
    if (!status) status = add(report, actors_name, what, recorded, "steps/s", 0, error);
    snprintf(what, sizeof what, "cost, %s", m->name);
    if (!status) status = add(report, actors_name, what, cost, "%", 10, error);
    snprintf(what, sizeof what, "a million steps, %s", m->name);
    if (!status) status = add(report, actors_name, what, bytes, "MB", 60, error);
    return status;
}

static lud_status measure(lud_bench_report *report, const actors *a, lud_error *error) {
    static const mode modes[] = {{"replayed", false, false, 1},
                                 {"stored", true, false, 1},
                                 {"stored, views", true, true, 1},
                                 {"stored, views, level 6", true, true, 6}};
    char text[2048], path[] = "/tmp/ludus-bench-record-XXXXXX";
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    const int n = snprintf(text, sizeof text, "%s%s", world_text, a->text), file = mkstemp(path);
    if (file < 0) return lud_fail(error, LUD_ERROR_IO, "%s: cannot be made", path);
    close(file);
    lud_status status = lud_scenario_read("bench.yaml", text, (size_t)n, NULL, 0, &scenario, error);
    if (!status) status = lud_cast_create(scenario->model, scenario->policies, "bench.yaml", &cast, error);
    const bench_case c = {scenario, cast, path};
    for (size_t k = 0; k < sizeof modes / sizeof *modes && !status; k++)
        status = compare_mode(report, &c, a->name, &modes[k], error);
    lud_cast_destroy(cast);
    lud_scenario_destroy(scenario);
    unlink(path);
    return status;
}

static lud_status bench_record(lud_bench_report *report, lud_error *error) {
    static const actors all[] = {
        {"random", "  robot: {type: random}\n"},
        {"heuristic", "  human: {type: heuristic, beta: 5}\n  robot: {type: weighted}\n"}};
    lud_status status = LUD_OK;
    for (size_t k = 0; k < sizeof all / sizeof *all && !status; k++) status = measure(report, &all[k], error);
    return status;
}

const lud_bench lud_bench_record = {
    .name = "record",
    .about = "recording episodes of a 7x7 multigrid world of four agents beside running them",
    .run = bench_record};
