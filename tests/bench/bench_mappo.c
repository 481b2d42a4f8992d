/* Graph MAPPO at the size of the published runs: 128 environments, 25 steps, 3 agents (9,600 samples), 10
 * epochs of minibatches of 128; and the rollouts alone. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/mappo/mappo.h"
#include "tests/bench/bench.h"

enum { ENVS = 128, STEPS = 25, AGENTS = 3, REPETITIONS = 3 };

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static lud_status measure(lud_mappo_learner_state *m, const char *label, lud_bench_report *report,
                          lud_error *error) {
    double rollout[REPETITIONS], update[REPETITIONS], row[LUD_MAPPO_COLUMNS];
    lud_status status = lud_mappo_collect(m, row, error); /* grows workspaces */
    for (int i = 0; i < REPETITIONS && !status; i++) {
        const double began = lud_clock_seconds();
        status = lud_mappo_collect(m, row, error);
        const double collected = lud_clock_seconds();
        if (!status) status = lud_mappo_update(m, error);
        rollout[i] = (double)(ENVS * STEPS * AGENTS) / (collected - began);
        update[i] = lud_clock_seconds() - collected;
    }
    if (status) return status;
    qsort(rollout, REPETITIONS, sizeof *rollout, ascending);
    qsort(update, REPETITIONS, sizeof *update, ascending);
    char name[96];
    lud_bench_row r = {.name = name, .unit = "samples/s", .value = rollout[REPETITIONS / 2]};
    r.spread = (rollout[REPETITIONS - 1] - rollout[0]) / 2.0;
    snprintf(name, sizeof name, "%s, rollout", label);
    status = lud_bench_add(report, r, error);
    snprintf(name, sizeof name, "%s, update", label);
    r.unit = "s";
    r.value = update[REPETITIONS / 2];
    r.spread = (update[REPETITIONS - 1] - update[0]) / 2.0;
    r.floor = 2.5; /* what is asked for on two cores */
    return status ? status : lud_bench_add(report, r, error);
}

static lud_status run_mappo(lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *label, *learner;
    } cases[] = {{"graph, recurrent", "control: direct"},
                 {"magnitude and direction", "control: mad"},
                 {"observations only", "encoder: mlp, recurrent: false"}};
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !status; i++) {
        char text[640];
        const int length = snprintf(
            text, sizeof text,
            "ludus: 1\nname: bench\nworld: particle\n"
            "particle: {task: navigation_graph, actions: continuous}\nrun: {environments: %d, seed: 1}\n"
            "learner: {type: graph-mappo, centralised: false, tanh: true, rollout_length: %d, epochs: 10, "
            "minibatches: 0, minibatch_size: 128, %s}\n",
            ENVS, STEPS, cases[i].learner);
        lud_device *device = NULL;
        lud_scenario *scenario = NULL;
        lud_learner *learner = NULL;
        status = lud_device_open("cpu", 0, &device, error);
        if (!status) status = lud_scenario_read("bench", text, (size_t)length, NULL, 0, &scenario, error);
        if (!status) status = lud_learner_create(scenario, device, &learner, error);
        if (!status) status = measure((lud_mappo_learner_state *)learner, cases[i].label, report, error);
        lud_learner_destroy(learner);
        lud_scenario_destroy(scenario);
        lud_device_close(device);
    }
    return status;
}

const lud_bench lud_bench_mappo = {
    .name = "mappo", .about = "rollouts and updates of graph MAPPO", .run = run_mappo};
