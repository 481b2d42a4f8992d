/* What the learners reach: each group of rows trains a shipped scenario with several seeds and evaluates the
 * result, so that the figures of the documentation can be made again. Hours; run from the folder that holds
 * `scenarios`.
 *
 * To add a result: one line in `results`. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "learn/mappo/mappo.h"
#include "tests/bench/bench.h"

enum { SEEDS = 3, MAX_COLUMNS = 64, MAX_SETS = 4 };

/* Assignments to keys of a scenario, as --set has them, ended by a null. */
typedef const char *assignments[MAX_SETS + 1];

/* Lines with the same scenario and `trained` follow each other and share the training. */
typedef struct training_result {
    const char *label, *scenario;
    assignments trained;   /* hold in training and evaluation */
    assignments evaluated; /* hold in the evaluation too (another number of agents); none: as trained */
    const char *column;    /* of the evaluation */
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
#define ENDED      "evaluation/ended"
#define SUCCESS    "evaluation/success"
#define RETURN     "evaluation/return"

/* navigation_5.yaml trained with three agents ... */
#define THREE(steps) "particle.agents=3", "learner.steps=" steps
#define PLAIN                                                                                                \
    { THREE("400000"), "learner.control=direct" }
#define MAD                                                                                                  \
    { THREE("400000"), "learner.mad.learning_rate=0.0001" }
#define MAD_LONG                                                                                             \
    { THREE("1200000"), "learner.mad.learning_rate=0.0003" }
/* ... and put into the world of the logged reference runs: five, who get the sum of all rewards, and draw
 * their actions. */
#define IN_FIVE "particle.agents=5", "particle.collaborative=true"
#define DRAWN                                                                                                \
    { IN_FIVE, "learner.deterministic=false" }
#define LIKELY                                                                                               \
    { IN_FIVE }

/* docs/gate.md */
#define GATE(rate) "learner.gate={mode: threshold, warmup_experiences: 0, rate: " rate "}"

static const training_result results[] = {
    {"key, door and goal 8x8, episodes solved", KEY, {0}, {0}, ENDED, "share", 0.95},
    {"open for the other, episodes solved", OTHER, {0}, {0}, ENDED, "share", 0.95},
    {"navigation, 3 agents, success", NAVIGATION, {0}, {0}, SUCCESS, "share", 0.98},
    {"navigation, 3 agents, return", NAVIGATION, {0}, {0}, RETURN, "", 0},
    {"navigation, trained with 3, 5 agents", NAVIGATION, {0}, {"particle.agents=5"}, SUCCESS, "share", 0.96},
    {"navigation, trained with 3, 7 agents", NAVIGATION, {0}, {"particle.agents=7"}, SUCCESS, "share", 0.94},
    {"navigation, trained with 3, 10 agents", NAVIGATION, {0}, {"particle.agents=10"}, SUCCESS, "share", 0},
    {"navigation, gate 50 %, return", NAVIGATION, {GATE("0.5")}, {0}, RETURN, "", 0},
    {"navigation, gate 50 %, success", NAVIGATION, {GATE("0.5")}, {0}, SUCCESS, "share", 0},
    {"navigation, gate 25 %, return", NAVIGATION, {GATE("0.25")}, {0}, RETURN, "", 0},
    {"navigation, gate 25 %, success", NAVIGATION, {GATE("0.25")}, {0}, SUCCESS, "share", 0},
    {"navigation, gate 10 %, return", NAVIGATION, {GATE("0.1")}, {0}, RETURN, "", 0},
    {"navigation, gate 10 %, success", NAVIGATION, {GATE("0.1")}, {0}, SUCCESS, "share", 0},
    {"navigation, gate 3 %, return", NAVIGATION, {GATE("0.03")}, {0}, RETURN, "", 0},
    {"navigation, gate 3 %, success", NAVIGATION, {GATE("0.03")}, {0}, SUCCESS, "share", 0},
    {"speaker and listener, return", LISTENER, {0}, {0}, RETURN, "", 0},
    {"spread, return", SPREAD, {0}, {0}, RETURN, "", 0},
    {"reference, return", REFERENCE, {"particle.local_ratio=0"}, {0}, RETURN, "", 0},
    {"tag, return", TAG, {0}, {0}, RETURN, "", 0},
    {"world of five, plain, 0.4 M, drawn reward", FIVE, PLAIN, DRAWN, RETURN, "", 160},
    {"world of five, plain, 0.4 M, likeliest reward", FIVE, PLAIN, LIKELY, RETURN, "", 0},
    {"world of five, plain, 0.4 M, success", FIVE, PLAIN, LIKELY, SUCCESS, "share", 0.96},
    {"world of five, MAD, 0.4 M, drawn reward", FIVE, MAD, DRAWN, RETURN, "", 160},
    {"world of five, MAD, 0.4 M, likeliest reward", FIVE, MAD, LIKELY, RETURN, "", 0},
    {"world of five, MAD, 0.4 M, success", FIVE, MAD, LIKELY, SUCCESS, "share", 0.96},
    {"world of five, MAD, 1.2 M, drawn reward", FIVE, MAD_LONG, DRAWN, RETURN, "", 261},
    {"world of five, MAD, 1.2 M, likeliest reward", FIVE, MAD_LONG, LIKELY, RETURN, "", 0},
    {"world of five, MAD, 1.2 M, success", FIVE, MAD_LONG, LIKELY, SUCCESS, "share", 0.96},
    {"navigation_5.yaml, drawn reward", FIVE, {0}, DRAWN, RETURN, "", 160},
    {"navigation_5.yaml, likeliest reward", FIVE, {0}, LIKELY, RETURN, "", 0},
    {"navigation_5.yaml, success", FIVE, {0}, {0}, SUCCESS, "share", 0.96},
    {"navigation_5.yaml, success with 3 agents", FIVE, {0}, {"particle.agents=3"}, SUCCESS, "share", 0},
    {"navigation_5.yaml, success with 7 agents", FIVE, {0}, {"particle.agents=7"}, SUCCESS, "share", 0},
    {"navigation_5.yaml, success with 10 agents", FIVE, {0}, {"particle.agents=10"}, SUCCESS, "share", 0},
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
    learner->progress = &progress;
    lud_status status = LUD_OK;
    for (uint64_t i = 0; i < learner->n_iterations && !status; i++) {
        status = learner->kind->iterate(learner, row, error);
        if (!status) status = lud_interrupt_check(error);
        lud_progress_update(&progress, i + 1);
    }
    learner->progress = NULL;
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
    return lud_invalid(error, "%s has no column %s", learner->kind->name, column);
}

/* A learner for the result's scenario. */
static lud_status open_learner(const training_result *result, bool evaluated, int seed, lud_bench_learner *t,
                               lud_error *error) {
    char seeded[32];
    snprintf(seeded, sizeof seeded, "run.seed=%d", seed);
    const char *sets[2 * MAX_SETS + 1] = {seeded};
    int n = 1;
    for (int i = 0; result->trained[i]; i++) sets[n++] = result->trained[i];
    for (int i = 0; evaluated && result->evaluated[i]; i++) sets[n++] = result->evaluated[i];
    return lud_bench_learner_open(result->scenario, sets, n, t, error);
}

/* Evaluates what was learned in the scenario with the result's other assignments. */
static lud_status transfer(const training_result *result, int seed, const lud_learner *learned, double *value,
                           lud_error *error) {
    if (learned->kind != &lud_mappo_learner)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s does not transfer", learned->kind->name);
    lud_bench_learner other = {0};
    lud_status status = open_learner(result, true, seed, &other, error);
    if (!status) {
        lud_parameters_copy(((lud_mappo_learner_state *)other.learner)->groups[0].update->parameters,
                            ((const lud_mappo_learner_state *)learned)->groups[0].update->parameters);
        status = evaluate(other.learner, result->column, value, error);
    }
    lud_bench_learner_close(&other);
    return status;
}

/* Trains the scenario of results[0] and evaluates it for `n` results; value[n][SEEDS]. */
static lud_status train(const training_result *group, int n, int seed, double (*value)[SEEDS],
                        double *seconds, lud_error *error) {
    char label[256];
    int length = snprintf(label, sizeof label, "%s", group->scenario);
    for (int i = 0; group->trained[i]; i++)
        length += snprintf(label + length, sizeof label - (size_t)length, " %s", group->trained[i]);
    snprintf(label + length, sizeof label - (size_t)length, ", seed %d", seed);
    lud_bench_learner t = {0};
    double spent = 0.0;
    lud_status status = open_learner(group, false, seed, &t, error);
    if (!status) status = lud_bench_learn(t.learner, label, &spent, error);
    *seconds += spent / SEEDS;
    for (int r = 0; r < n && !status; r++) {
        double *to = &value[r][seed - 1];
        status = group[r].evaluated[0] ? transfer(&group[r], seed, t.learner, to, error)
                                       : evaluate(t.learner, group[r].column, to, error);
    }
    lud_bench_learner_close(&t);
    return status;
}

/* Whether two results come from one training. */
static bool trained_alike(const training_result *a, const training_result *b) {
    if (strcmp(a->scenario, b->scenario) != 0) return false;
    int i = 0;
    while (a->trained[i] && b->trained[i] && strcmp(a->trained[i], b->trained[i]) == 0) i++;
    return !a->trained[i] && !b->trained[i];
}

static lud_status add_rows(const training_result *result, double value[SEEDS], lud_bench_report *report,
                           lud_error *error) {
    lud_bench_row row = {.name = result->label, .unit = result->unit, .floor = result->target};
    lud_status status = lud_bench_add_runs(report, row, SEEDS, value, error);
    char name[128];
    snprintf(name, sizeof name, "%s, lowest of %d seeds", result->label, SEEDS);
    row = (lud_bench_row){.name = name, .value = value[0], .unit = result->unit};
    return status ? status : lud_bench_add(report, row, error);
}

static lud_status run_training(lud_bench_report *report, lud_error *error) {
    lud_status status = LUD_OK;
    lud_interrupt_install();
    for (int first = 0, end = 0; first < N_RESULTS && !status; first = end) {
        while (end < N_RESULTS && trained_alike(&results[end], &results[first])) end++;
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
