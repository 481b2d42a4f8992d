/* Graph MAPPO at the size of the published runs: 128 environments, 25 steps, 3 agents (9,600 samples), 10
 * epochs of minibatches of 128; and the rollouts alone. Then whole trainings as the shipped scenarios have
 * them, on a GPU in up to 65,536 environments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "learn/mappo/mappo.h"
#include "tests/bench/bench.h"

/* Trainings in MANY environments are measured once. */
enum { ENVS = 128, STEPS = 25, AGENTS = 3, REPETITIONS = 3, MANY = 65536 };

static lud_status measure(lud_mappo_learner_state *m, const char *rollout_name, const char *update_name,
                          lud_bench_report *report, lud_error *error) {
    double rollout[REPETITIONS], update[REPETITIONS], row[64];
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
    status = lud_bench_add_runs(report, (lud_bench_row){.name = rollout_name, .unit = "samples/s"},
                                REPETITIONS, rollout, error);
    /* what is asked for on two cores */
    const lud_bench_row updates = {.name = update_name, .unit = "s", .floor = 2.5};
    return status ? status : lud_bench_add_runs(report, updates, REPETITIONS, update, error);
}

/* A learner for a scenario text; free with close_training, also after a failure. */
typedef struct training {
    lud_scenario *scenario;
    lud_learner *learner;
} training;

static lud_status open_training(const char *text, lud_device *device, training *t, lud_error *error) {
    *t = (training){0};
    lud_status status = lud_scenario_read("bench", text, strlen(text), NULL, 0, &t->scenario, error);
    return status ? status : lud_learner_create(t->scenario, device, &t->learner, error);
}

static void close_training(training *t) {
    lud_learner_destroy(t->learner);
    lud_scenario_destroy(t->scenario);
}

static lud_status run_published(lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *label, *learner;
    } cases[] = {{"graph, recurrent", "control: direct"},
                 {"magnitude and direction", "control: mad"},
                 {"observations only", "encoder: mlp, recurrent: false"}};
    lud_device *device = NULL;
    lud_status status = lud_device_open("cpu", 0, &device, error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !status; i++) {
        char text[640], rollout[96], update[96];
        snprintf(rollout, sizeof rollout, "%s, rollout", cases[i].label);
        snprintf(update, sizeof update, "%s, update", cases[i].label);
        if (!lud_bench_wants(report, rollout) && !lud_bench_wants(report, update)) continue;
        snprintf(text, sizeof text,
                 "ludus: 1\nname: bench\nworld: particle\n"
                 "particle: {task: navigation_graph, actions: continuous}\nrun: {environments: %d, seed: 1}\n"
                 "learner: {type: graph-mappo, automatic: false, centralised: false, tanh: true, "
                 "rollout_length: %d, epochs: 10, "
                 "minibatches: 0, minibatch_size: 128, %s}\n",
                 ENVS, STEPS, cases[i].learner);
        training t;
        status = open_training(text, device, &t, error);
        if (!status) status = measure((lud_mappo_learner_state *)t.learner, rollout, update, report, error);
        close_training(&t);
    }
    lud_device_close(device);
    return status;
}

/* Environment steps a second of whole iterations: rollout and update. */
static lud_status measure_training(const char *label, const char *where, const char *learner,
                                   lud_device *device, int n_envs, lud_bench_report *report,
                                   lud_error *error) {
    char name[96], text[640];
    snprintf(name, sizeof name, "%s, training, %s, %d environments", label, where, n_envs);
    if (!lud_bench_wants(report, name)) return LUD_OK;
    snprintf(text, sizeof text,
             "ludus: 1\nname: bench\nworld: particle\n"
             "particle: {task: navigation_graph, collaborative: false, actions: continuous}\n"
             "run: {environments: %d, seed: 1}\n"
             "learner: {type: graph-mappo, automatic: false, centralised: false, recurrent: false, "
             "time_limits: bootstrap, "
             "rollout_length: %d, epochs: 3, minibatches: 6, graph: {layers: 1, ego_critic: true}, %s}\n",
             n_envs, STEPS, learner);
    training t;
    double row[64], rate[REPETITIONS];
    const int repetitions = n_envs < MANY ? REPETITIONS : 1;
    lud_status status = open_training(text, device, &t, error);
    if (status == LUD_ERROR_MEMORY) { /* a smaller device: the other rows can still be had */
        lud_log(NULL, LUD_LOG_WARNING, "%s: %s", name, error->text);
        close_training(&t);
        return LUD_OK;
    }
    /* the first records and grows workspaces */
    for (int i = -1; i < repetitions && !status; i++) {
        const double began = lud_clock_seconds();
        status = t.learner->kind->iterate(t.learner, row, error);
        if (i >= 0) rate[i] = (double)n_envs * STEPS / (lud_clock_seconds() - began);
    }
    close_training(&t);
    if (status) return status;
    return lud_bench_add_runs(report, (lud_bench_row){.name = name, .unit = "steps/s"}, repetitions, rate,
                              error);
}

/* Trainings as navigation_3.yaml and navigation_5.yaml have them, on the CPU and on a GPU where there is one.
 */
static lud_status run_trainings(lud_bench_report *report, lud_error *error) {
    static const struct {
        const char *label, *learner;
    } cases[] = {{"graph", "control: direct"}, {"magnitude and direction", "control: mad"}};
    static const struct {
        const char *device;
        int n_envs;
    } places[] = {{"cpu", 128}, {"cuda", 128}, {"cuda", 4096}, {"cuda", MANY}};
    lud_status status = LUD_OK;
    for (size_t k = 0; k < sizeof places / sizeof *places && !status; k++) {
        lud_device *device = NULL;
        if (!lud_bench_measures(report, places[k].device)) continue;
        if (strcmp(places[k].device, "cuda") == 0)
            status = lud_bench_open_cuda(report, &device, error);
        else
            status = lud_device_open(places[k].device, 0, &device, error);
        if (status || !device) break;
        for (size_t i = 0; i < sizeof cases / sizeof *cases && !status; i++)
            status = measure_training(cases[i].label, places[k].device, cases[i].learner, device,
                                      places[k].n_envs, report, error);
        lud_device_close(device);
    }
    return status;
}

static lud_status run_mappo(lud_bench_report *report, lud_error *error) {
    lud_status status = lud_bench_measures(report, "cpu") ? run_published(report, error) : LUD_OK;
    return status ? status : run_trainings(report, error);
}

const lud_bench lud_bench_mappo = {.name = "mappo",
                                   .about = "rollouts, updates and trainings of graph MAPPO",
                                   .on_cuda = true,
                                   .run = run_mappo};
