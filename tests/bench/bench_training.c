/* What the learners reach: each group of rows trains a shipped scenario with several seeds and evaluates the
 * result, so that the figures of the documentation can be made again. Minutes; run from the folder that holds
 * `scenarios`.
 *
 * To add a result: one line in `results`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/progress.h"
#include "learn/mappo/mappo.h"
#include "tests/bench/bench.h"

enum { SEEDS = 3, MAX_COLUMNS = 64 };

/* Lines with the same scenario follow each other and share the training, which the first one describes. */
typedef struct training_result {
    const char *label, *scenario;
    const char *world;  /* trained and evaluated with this assignment, null: the scenario as it is */
    const char *set;    /* evaluated with this one (another number of agents), null: as trained */
    const char *column; /* of the evaluation */
    const char *unit;
    double target; /* 0: none */
} training_result;

#define KEY        "scenarios/multigrid/key_door_8x8.yaml"
#define OTHER      "scenarios/multigrid/open_for_the_other.yaml"
#define NAVIGATION "scenarios/particle/navigation_3.yaml"
#define FIVE       "scenarios/particle/navigation_5.yaml"
#define LISTENER   "scenarios/particle/simple_speaker_listener.yaml"
#define SPREAD     "scenarios/particle/simple_spread.yaml"
#define REFERENCE  "scenarios/particle/simple_reference.yaml"
#define TAG        "scenarios/particle/simple_tag.yaml"
#define SUCCESS    "evaluation/success"
#define RETURN     "evaluation/return"

static const training_result results[] = {
    {"key, door and goal 8x8, episodes solved", KEY, NULL, NULL, "evaluation/ended", "share", 0.95},
    {"open for the other, episodes solved", OTHER, NULL, NULL, "evaluation/ended", "share", 0.95},
    {"navigation, 3 agents, success", NAVIGATION, NULL, NULL, SUCCESS, "share", 0.98},
    {"navigation, trained with 3, 5 agents", NAVIGATION, NULL, "particle.agents=5", SUCCESS, "share", 0.96},
    {"navigation, trained with 3, 7 agents", NAVIGATION, NULL, "particle.agents=7", SUCCESS, "share", 0.94},
    {"navigation, trained with 3, 10 agents", NAVIGATION, NULL, "particle.agents=10", SUCCESS, "share", 0},
    {"speaker and listener, return", LISTENER, NULL, NULL, RETURN, "", 0},
    {"spread, return", SPREAD, NULL, NULL, RETURN, "", 0},
    {"reference, return", REFERENCE, "particle.local_ratio=0", NULL, RETURN, "", 0},
    {"tag, return", TAG, NULL, NULL, RETURN, "", 0},
    {"navigation with magnitude and direction, 5 agents, success", FIVE, NULL, NULL, SUCCESS, "share", 0.96},
};
enum { N_RESULTS = sizeof results / sizeof *results };

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

lud_status lud_bench_learn(lud_learner *learner, const char *label, double *seconds, lud_error *error) {
    double row[MAX_COLUMNS];
    const double began = processor_seconds();
    lud_progress progress;
    lud_progress_start(&progress, stderr, label, "iterations", learner->n_iterations);
    lud_status status = LUD_OK;
    for (uint64_t i = 0; i < learner->n_iterations && !status; i++) {
        status = learner->kind->iterate(learner, row, error);
        if (lud_interrupted()) status = lud_fail(error, LUD_INTERRUPTED, "interrupted");
        lud_progress_update(&progress, i + 1);
    }
    lud_progress_finish(&progress);
    *seconds += processor_seconds() - began;
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

/* A learner for the result's scenario; free with close_learner, also after a failure. */
typedef struct training {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
} training;

static lud_status open_learner(const training_result *result, const char *extra, int seed, training *t,
                               lud_error *error) {
    char set[32];
    snprintf(set, sizeof set, "run.seed=%d", seed);
    const char *sets[3] = {set};
    int n = 1;
    if (result->world) sets[n++] = result->world;
    if (extra) sets[n++] = extra;
    lud_status status = lud_scenario_load(result->scenario, sets, n, &t->scenario, error);
    if (!status) status = lud_scenario_device(t->scenario, "cpu", &t->device, error);
    return status ? status : lud_learner_create(t->scenario, t->device, &t->learner, error);
}

static void close_learner(training *t) {
    lud_learner_destroy(t->learner);
    lud_device_close(t->device);
    lud_scenario_destroy(t->scenario);
}

/* Evaluates what was learned in the scenario with the result's assignment. */
static lud_status transfer(const training_result *result, int seed, const lud_learner *learned, double *value,
                           lud_error *error) {
    if (learned->kind != &lud_mappo_learner)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s does not transfer", learned->kind->name);
    training other = {0};
    lud_status status = open_learner(result, result->set, seed, &other, error);
    if (!status) {
        lud_parameters_copy(((lud_mappo_learner_state *)other.learner)->update->parameters,
                            ((const lud_mappo_learner_state *)learned)->update->parameters);
        status = evaluate(other.learner, result->column, value, error);
    }
    close_learner(&other);
    return status;
}

/* Trains the scenario of results[0] and evaluates it for `n` results; value[n][SEEDS]. */
static lud_status train(const training_result *group, int n, int seed, double (*value)[SEEDS],
                        double *seconds, lud_error *error) {
    char label[128];
    snprintf(label, sizeof label, "%s, seed %d", group->scenario, seed);
    training t = {0};
    double spent = 0.0;
    lud_status status = open_learner(group, NULL, seed, &t, error);
    if (!status) status = lud_bench_learn(t.learner, label, &spent, error);
    *seconds += spent / SEEDS;
    for (int r = 0; r < n && !status; r++) {
        double *to = &value[r][seed - 1];
        status = group[r].set ? transfer(&group[r], seed, t.learner, to, error)
                              : evaluate(t.learner, group[r].column, to, error);
    }
    close_learner(&t);
    return status;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static lud_status add_rows(const training_result *result, double value[SEEDS], lud_bench_report *report,
                           lud_error *error) {
    qsort(value, SEEDS, sizeof *value, ascending);
    lud_bench_row row = {.name = result->label,
                         .value = value[SEEDS / 2],
                         .spread = (value[SEEDS - 1] - value[0]) / 2.0,
                         .unit = result->unit,
                         .floor = result->target};
    lud_status status = lud_bench_add(report, row, error);
    char name[128];
    snprintf(name, sizeof name, "%s, lowest of %d seeds", result->label, SEEDS);
    row = (lud_bench_row){.name = name, .value = value[0], .unit = result->unit};
    return status ? status : lud_bench_add(report, row, error);
}

static lud_status run_training(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    lud_interrupt_install();
    for (int first = 0, end = 0; first < N_RESULTS && !status; first = end) {
        while (end < N_RESULTS && strcmp(results[end].scenario, results[first].scenario) == 0) end++;
        bool wanted = false;
        for (int r = first; r < end; r++) wanted = wanted || lud_bench_wants(report, results[r].label);
        if (!wanted) continue;
        double value[N_RESULTS][SEEDS], seconds = 0.0;
        for (int s = 1; s <= SEEDS && !status; s++)
            status = train(results + first, end - first, s, value, &seconds, error);
        for (int r = first; r < end && !status; r++)
            status = add_rows(&results[r], value[r - first], report, error);
        char name[128];
        snprintf(name, sizeof name, "%s, processor time", results[first].label);
        const lud_bench_row row = {.name = name, .value = seconds, .unit = "s"};
        if (!status) status = lud_bench_add(report, row, error);
    }
    return status;
}

const lud_bench lud_bench_training = {.name = "learn/mappo",
                                      .about = "what graph MAPPO reaches, three seeds each",
                                      .run = run_training,
                                      .slow = true};
