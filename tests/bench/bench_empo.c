/* The neural EMPO learner on the reference's setting: random 7 x 7 maps, two people, two robots with 16 joint
 * actions, batch 32, F = 64, all five networks learning. One thread. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/empo/phase2.h"
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
                                    "  type: empo-phase2\n"
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
    lud_status status;
    lud_error error;
} run;

/* No values: the actor alone, with robots at random. */
static void no_values(void *context, int n, const int32_t *records, float *q) {
    (void)context;
    (void)n;
    (void)records;
    (void)q;
}

static void act(void *context) {
    run *r = context;
    lud_empo_now now = r->now;
    now.beta_r = 0.0;
    if (!r->status)
        r->status = lud_empo_actor_step(r->learner->actor, &now, 1000000, no_values, NULL, r->learner->replay,
                                        &r->error);
}

static void update(void *context) {
    run *r = context;
    if (!r->status)
        r->status = lud_empo_trainer_update(r->learner->trainer, r->step++, &r->now, false, &r->error);
}

/* Values of a batch's successors one state at a time, as a loop without batching would have them. */
static void naive_values(void *context) {
    run *r = context;
    lud_empo_values *v = &r->learner->values;
    lud_profile *profile = v->profile;
    v->profile = NULL;
    int64_t indices[32];
    lud_empo_replay_sample(r->learner->replay, 32, INT64_MIN, 1, (uint32_t)r->step++, indices);
    for (int i = 0; i < 32 && !r->status; i++) {
        const lud_empo_transition t = lud_empo_replay_get(r->learner->replay, indices[i]);
        for (int32_t k = 0; k < t.n_links && !r->status; k++) {
            const int32_t *records[1] = {t.successor +
                                         (size_t)t.link[k] * (size_t)r->learner->features.words};
            const int32_t *goals[1] = {t.goals};
            r->status = lud_empo_values_run(v, 1, records, goals, LUD_WANT_ALL, r->now.beta_r, 0, &r->error);
        }
    }
    v->profile = profile;
}

static lud_status open_run(run *r, lud_error *error) {
    lud_status status =
        lud_scenario_read("ensemble", scenario_text, sizeof scenario_text - 1, NULL, 0, &r->scenario, error);
    if (!status) status = lud_device_open("cpu", 1, &r->device, error);
    lud_learner *learner = NULL;
    if (!status) status = lud_learner_create(r->scenario, r->device, &learner, error);
    r->learner = (lud_empo_phase2_learner *)learner;
    if (!status) r->now = lud_empo_stages_at(&r->learner->options.stages, r->learner->options.stages.total);
    return status;
}

static lud_status measure(run *r, lud_bench_report *report, lud_error *error) {
    double spread = 0;
    const double environments = (double)r->learner->options.environments;
    const double acted = lud_bench_rate(act, r, environments, &spread);
    lud_status status = lud_bench_add(
        report, (lud_bench_row){"actor, successors of 16 joint actions", acted, spread, "env steps/s", 20000},
        error);
    const double updates = lud_bench_rate(update, r, 1, &spread);
    if (!status)
        status = lud_bench_add(report, (lud_bench_row){"training", updates, spread, "steps/s", 50}, error);
    for (int stage = 0; stage < LUD_STAGE_ACTOR && !status; stage++) {
        const double ms = lud_profile_milliseconds(&r->learner->profile, stage);
        status =
            lud_bench_add(report, (lud_bench_row){lud_empo_trainer_stages[stage], ms, 0, "ms", 0}, error);
    }
    const double batched = lud_profile_milliseconds(&r->learner->profile, LUD_STAGE_ENCODE) +
                           lud_profile_milliseconds(&r->learner->profile, LUD_STAGE_FORWARD);
    const double naive = 1000.0 / lud_bench_rate(naive_values, r, 1, &spread);
    if (!status)
        status =
            lud_bench_add(report, (lud_bench_row){"values one state at a time", naive, 0, "ms", 0}, error);
    if (!status)
        status =
            lud_bench_add(report, (lud_bench_row){"gain of batching", naive / batched, 0, "x", 34}, error);
    const lud_empo_actor_counts counts = lud_empo_actor_get_counts(r->learner->actor);
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

static lud_status bench(lud_bench_report *report, lud_error *error) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    run r = {0};
    lud_status status = open_run(&r, error);
    for (int i = 0; i < 32 && !status; i++) { /* something to learn from */
        act(&r);
        status = r.status;
        if (status && error) *error = r.error;
    }
    if (!status) status = measure(&r, report, error);
    if (r.learner) lud_learner_destroy(&r.learner->base);
    lud_device_close(r.device);
    lud_scenario_destroy(r.scenario);
    omp_set_num_threads(threads);
    return status;
}

const lud_bench lud_bench_empo = {
    .name = "phase2", .about = "the neural EMPO learner: actor and training steps by stage", .run = bench};
