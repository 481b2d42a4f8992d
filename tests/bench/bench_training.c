/* What the learners reach: each row trains a shipped scenario with several seeds and evaluates the result, so
 * that every figure of the documentation can be made again. Minutes to hours; run from the folder that holds
 * `scenarios`.
 *
 * To add a result: one line in `results`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "learn/learner.h"
#include "tests/bench/bench.h"

enum { SEEDS = 3, MAX_COLUMNS = 64 };

typedef struct training_result {
    const char *label, *scenario;
    const char *column; /* of the evaluation */
    const char *unit;
    double target; /* 0: none */
} training_result;

static const training_result results[] = {
    {"multigrid: key, door, goal, episodes solved", "scenarios/multigrid/key_door_8x8.yaml",
     "evaluation/ended", "share", 0.95},
    {"multigrid: open for the other, episodes solved", "scenarios/multigrid/open_for_the_other.yaml",
     "evaluation/ended", "share", 0.95},
};
enum { N_RESULTS = sizeof results / sizeof *results };

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static lud_status iterate(lud_learner *learner, const char *label, lud_error *error) {
    double row[MAX_COLUMNS];
    lud_progress progress;
    lud_progress_start(&progress, stderr, label, "iterations", learner->n_iterations);
    lud_status status = LUD_OK;
    for (uint64_t i = 0; i < learner->n_iterations && !status; i++) {
        status = learner->kind->iterate(learner, row, error);
        if (lud_interrupted()) status = lud_fail(error, LUD_INTERRUPTED, "interrupted");
        lud_progress_update(&progress, i + 1);
    }
    lud_progress_finish(&progress);
    return status;
}

static lud_status evaluate(lud_learner *learner, const char *column, double *value, lud_error *error) {
    double row[MAX_COLUMNS];
    for (int c = 0; c < learner->n_evaluation_columns; c++) {
        if (strcmp(learner->evaluation_columns[c].name, column) != 0) continue;
        lud_status status = learner->kind->evaluate(learner, row, error);
        *value = row[c];
        return status;
    }
    return lud_fail(error, LUD_ERROR_INPUT, "%s has no column %s", learner->kind->name, column);
}

static lud_status train(const training_result *result, int seed, double *value, lud_error *error) {
    char set[32], label[128];
    snprintf(set, sizeof set, "run.seed=%d", seed);
    snprintf(label, sizeof label, "%s, seed %d", result->label, seed);
    const char *const sets[] = {set};
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    lud_status status = lud_scenario_load(result->scenario, sets, 1, &scenario, error);
    if (!status) status = lud_device_open("cpu", (int)scenario->run.threads, &device, error);
    if (!status) status = lud_learner_create(scenario, device, &learner, error);
    if (!status) status = iterate(learner, label, error);
    if (!status) status = evaluate(learner, result->column, value, error);
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    return status;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static lud_status run_training(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    lud_interrupt_install();
    for (int r = 0; r < N_RESULTS && !status; r++) {
        double value[SEEDS];
        const double began = processor_seconds();
        for (int s = 0; s < SEEDS && !status; s++) status = train(&results[r], s + 1, &value[s], error);
        if (status) break;
        qsort(value, SEEDS, sizeof *value, ascending);
        lud_bench_row row = {.name = results[r].label,
                             .value = value[SEEDS / 2],
                             .spread = (value[SEEDS - 1] - value[0]) / 2.0,
                             .unit = results[r].unit,
                             .floor = results[r].target};
        status = lud_bench_add(report, row, error);
        char name[128];
        snprintf(name, sizeof name, "%s, worst of %d seeds", results[r].label, SEEDS);
        if (!status)
            status = lud_bench_add(report, (lud_bench_row){.name = name, .value = value[0], .unit = row.unit},
                                   error);
        snprintf(name, sizeof name, "%s, processor time a seed", results[r].label);
        row = (lud_bench_row){.name = name, .value = (processor_seconds() - began) / SEEDS, .unit = "s"};
        if (!status) status = lud_bench_add(report, row, error);
    }
    return status;
}

const lud_bench lud_bench_training = {.name = "training",
                                      .about = "what the learners reach, three seeds each",
                                      .run = run_training,
                                      .slow = true};
