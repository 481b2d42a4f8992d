/* The neural EMPO learner on the reference's setting: random 7 x 7 maps, two people, two robots with 16 joint
 * actions, batch 32, F = 64, all five networks learning. One thread, training on two, and on CUDA, where
 * there is a device, with larger batches too. */
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/empo/phase2/phase2.h"
#include "tests/bench/bench.h"

static const char scenario_text[] = "ludus: 1\n"
                                    "name: ensemble\n"
                                    "world: multigrid\n"
                                    "multigrid:\n"
                                    "  generate:\n"
                                    "    style: open\n"
                                    "    size: [7, 7]\n"
                                    "    walls: 0.12\n"
                                    "    objects: {block: 1, rock: 1, unsteady_ground: 2}\n"
                                    "    humans: 2\n"
                                    "    robots: 2\n"
                                    "    maps: 16\n"
                                    "  max_steps: 30\n"
                                    "  actions: small\n"
                                    "goals:\n"
                                    "  - {rectangle: [1, 1, 3, 5]}\n"
                                    "  - {rectangle: [4, 1, 5, 5]}\n"
                                    "learner:\n"
                                    "  type: empo-phase2\n  automatic: false\n"
                                    "  zeta: 2\n"
                                    "  eta: 1.1\n"
                                    "  gamma_h: 0.99\n"
                                    "  gamma_r: 0.99\n"
                                    "  hidden_dim: 64\n"
                                    "  batch_size: 32\n"
                                    "  environments: 32\n"
                                    "  steps_per_episode: 0\n"
                                    "  u_r_use_network: true\n"
                                    "  v_r_use_network: true\n"
                                    "  exact_max_states: 0\n";

typedef struct run {
    lud_scenario *scenario;
    lud_device *device;
    lud_empo_phase2_learner *learner;
    lud_empo_now now;
    int64_t step;
    double checksum; /* of what would otherwise be computed for nothing */
    lud_status status;
    lud_error error;
} run;

/* No values: the rollout alone, with robots at random. */
static void act(void *context) {
    run *r = context;
    lud_empo_now now = r->now;
    now.beta_r = 0.0;
    if (!r->status)
        r->status = lud_empo_rollout_step(r->learner->rollout, &now, 1000000, r->learner->replay, &r->error);
}

static void update(void *context) {
    run *r = context;
    if (!r->status) r->status = lud_empo_update_run(r->learner->update, r->step++, &r->now, false, &r->error);
}

/* The actor with the robots' networks asked: one pass for all environments of a step. */
static void act_by_networks(void *context) {
    run *r = context;
    if (!r->status) r->status = lud_empo_phase2_act(r->learner, &r->now, &r->error);
}

/* Targets without batching: every listed successor of every joint action by itself, one state at a time, and
 * the policies of the transitions' own states. The same numbers as the batched stages 1 to 5. */
static void naive_targets(void *context) {
    run *r = context;
    lud_empo_values *v = &r->learner->values;
    lud_profile *profile = v->profile;
    v->profile = NULL;
    int64_t indices[32];
    lud_empo_replay_sample(r->learner->replay, 32, INT64_MIN, 1, (uint32_t)r->step++, indices);
    const lud_empo_layout *layout = &r->learner->features.layout;
    double q = 0, people = 0;
    for (int i = 0; i < 32 && !r->status; i++) {
        const lud_empo_transition t = lud_empo_replay_get(r->learner->replay, indices[i]);
        const int32_t *records[1] = {t.state}, *goals[1] = {t.goals};
        float pi[16] = {0};
        r->status = lud_empo_values_run(v, 1, records, goals, LUD_WANT_ALL, r->now.beta_r, 0, &r->error);
        memcpy(pi, v->pi_r, sizeof pi);
        for (int action = 0; action < layout->n_robot_actions; action++)
            for (int32_t k = t.offsets[action]; k < t.offsets[action + 1] && !r->status; k++) {
                records[0] = t.successor + (size_t)t.link[k] * (size_t)r->learner->features.words;
                r->status =
                    lud_empo_values_run(v, 1, records, goals, LUD_WANT_ALL, r->now.beta_r, 0, &r->error);
                q += (double)t.probability[k] * (double)v->v_r[0];
                for (int h = 0; h < layout->n_humans; h++)
                    people += (double)pi[action] * (double)t.probability[k] * (double)v->v_h_e[h];
            }
    }
    r->checksum += q + people;
    v->profile = profile;
}

static lud_status open_run(run *r, const char *device, int threads, int64_t batch, lud_error *error) {
    char batch_size[48];
    const char *const set[] = {batch_size};
    snprintf(batch_size, sizeof batch_size, "learner.batch_size=%" PRId64, batch);
    lud_status status =
        lud_scenario_read("ensemble", scenario_text, sizeof scenario_text - 1, set, 1, &r->scenario, error);
    if (!status) status = lud_device_open(device, threads, &r->device, error);
    lud_learner *learner = NULL;
    if (!status) status = lud_learner_create(r->scenario, r->device, &learner, error);
    r->learner = (lud_empo_phase2_learner *)learner;
    if (!status) r->now = lud_empo_stages_at(&r->learner->options.stages, r->learner->options.stages.total);
    return status;
}

static lud_status measure(run *r, lud_bench_report *report, lud_error *error) {
    double spread = 0;
    const double environments = (double)r->learner->options.environments;
    const struct {
        lud_bench_row row;
        void (*work)(void *);
    } actors[] = {
        {{.name = "actor, successors of 16 joint actions", .unit = "env steps/s", .floor = 20000}, act},
        {{.name = "actor with the robots' networks", .unit = "env steps/s"}, act_by_networks}};
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof actors / sizeof *actors && !status; i++) {
        lud_bench_row row = actors[i].row;
        if (!lud_bench_wants(report, row.name)) continue;
        row.value = lud_bench_rate(actors[i].work, r, environments, &row.spread);
        status = lud_bench_add(report, row, error);
    }
    lud_profile *profile = &r->learner->profile;
    lud_profile_reset(profile);
    const double updates = lud_bench_rate(update, r, 1, &spread);
    if (!status)
        status = lud_bench_add(report, (lud_bench_row){"training", updates, spread, "steps/s", 50}, error);
    double batched = 0;
    for (int stage = 0; stage < LUD_STAGE_ACTOR && !status; stage++) {
        const double ms = lud_profile_milliseconds(profile, stage);
        if (stage < LUD_BATCHING_STAGES) batched += ms;
        status = lud_bench_add(report, (lud_bench_row){lud_empo_update_stages[stage], ms, 0, "ms", 0}, error);
    }
    const bool compares = lud_bench_wants(report, "targets, one state at a time") ||
                          lud_bench_wants(report, "gain of batching");
    const double naive = compares ? 1000.0 / lud_bench_rate(naive_targets, r, 1, &spread) : 0.0;
    const lud_bench_row compared[] = {{"targets, one state at a time", naive, 0, "ms", 0},
                                      {"targets, batched", batched, 0, "ms", 0},
                                      {"gain of batching", naive / batched, 0, "x", 0}};
    for (size_t i = 0; i < sizeof compared / sizeof *compared && !status; i++)
        status = lud_bench_add(report, compared[i], error);
    const lud_empo_rollout_counts counts = lud_empo_rollout_get_counts(r->learner->rollout);
    if (!status)
        status = lud_bench_add(report,
                               (lud_bench_row){"bytes of a state",
                                               (double)r->learner->features.words * (double)sizeof(int32_t),
                                               0, "bytes", 0},
                               error);
    if (!status)
        status = lud_bench_add(report,
                               (lud_bench_row){"bytes of a transition",
                                               lud_empo_replay_mean_bytes(r->learner->replay), 0, "bytes", 0},
                               error);
    if (!status)
        status =
            lud_bench_add(report,
                          (lud_bench_row){"distinct successors",
                                          (double)counts.successors / (double)counts.steps, 0, "states", 0},
                          error);
    if (!status && r->status) {
        status = r->status;
        if (error) *error = r->error;
    }
    return status;
}

static lud_status fill(run *r, lud_error *error) {
    const int64_t batches = 2 * r->learner->options.batch_size;
    for (int i = 0; !r->status && (i < 32 || lud_empo_replay_count(r->learner->replay) < batches); i++)
        act(r); /* something to learn from */
    if (r->status && error) *error = r->error;
    return r->status;
}

static void close_run(run *r) {
    if (r->learner) lud_learner_destroy(&r->learner->base);
    lud_device_close(r->device);
    lud_scenario_destroy(r->scenario);
}

/* Training steps alone. */
static lud_status measure_training(const char *name, const char *device, int threads, int64_t batch,
                                   double bound, lud_bench_report *report, lud_error *error) {
    run r = {0};
    double spread = 0;
    if (!lud_bench_wants(report, name)) return LUD_OK;
    lud_status status = open_run(&r, device, threads, batch, error);
    if (!status) status = fill(&r, error);
    if (!status) {
        const double updates = lud_bench_rate(update, &r, 1, &spread);
        status = r.status;
        if (status && error) *error = r.error;
        const char *failure = lud_device_failure(r.device);
        if (!status && failure) status = lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s", failure);
        if (!status)
            status = lud_bench_add(report, (lud_bench_row){name, updates, spread, "steps/s", bound}, error);
    }
    close_run(&r);
    return status;
}

static lud_status measure_cuda(lud_bench_report *report, lud_error *error) {
    static const int64_t batches[] = {32, 256, 2048};
    lud_device *device;
    lud_status status = lud_bench_open_cuda(report, &device, error);
    if (status || !device) return status;
    lud_device_close(device); /* each training opens its own */
    for (size_t i = 0; i < sizeof batches / sizeof *batches && !status; i++) {
        char name[48];
        snprintf(name, sizeof name, "training on CUDA, batch %" PRId64, batches[i]);
        status = measure_training(name, "cuda", 0, batches[i], 0, report, error);
    }
    return status;
}

static lud_status bench(lud_bench_report *report, lud_error *error) {
    if (!lud_bench_measures(report, "cpu")) return measure_cuda(report, error);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    run r = {0};
    lud_status status = open_run(&r, "cpu", 1, 32, error);
    if (!status) status = fill(&r, error);
    if (!status) status = measure(&r, report, error);
    close_run(&r);
    omp_set_num_threads(2);
    if (!status) status = measure_training("training, two threads", "cpu", 2, 32, 100, report, error);
    omp_set_num_threads(threads);
    if (!status) status = measure_cuda(report, error);
    return status;
}

const lud_bench lud_bench_empo = {.name = "phase2",
                                  .about = "the neural EMPO learner: actor and training steps by stage",
                                  .on_cuda = true,
                                  .run = bench};
