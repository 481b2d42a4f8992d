/* Ticks of a shared vector policy on the CPU: agents one at a time against all at once, from 1 to 200 agents;
 * the learn phase with and without the gate; what each part holds in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ticks/ticks.h"
#include "tests/bench/bench.h"

/* A learner in a world of tribes; free with close_case, also after a failure. */
typedef struct tick_case {
    lud_scenario *scenario;
    lud_learner *learner;
    lud_status status;
    lud_error error;
} tick_case;

static lud_tick_learner *learner_of(const tick_case *c) {
    return (lud_tick_learner *)c->learner;
}

static lud_status open_case(int n_agents, int n_envs, const char *options, lud_device *device, tick_case *c,
                            lud_error *error) {
    char text[1024];
    *c = (tick_case){0};
    snprintf(text, sizeof text,
             "ludus: 1\nname: bench\nworld: tribes\n"
             "tribes: {generate: {size: [40, 30], houses: 3, grain: 40, wood: 40, ore: 40}, max_steps: 128, "
             "teams: [{agents: %d}]}\nrun: {environments: %d, seed: 1}\nlearner: {type: ticks, %s}\n",
             n_agents, n_envs, options);
    lud_status status = lud_scenario_read("bench", text, strlen(text), NULL, 0, &c->scenario, error);
    if (!status) status = lud_learner_create(c->scenario, device, &c->learner, error);
    for (int i = 0; i < 3 && !status; i++) status = lud_tick_run(learner_of(c), error); /* grows workspaces */
    return status;
}

static void close_case(tick_case *c) {
    lud_learner_destroy(c->learner);
    lud_scenario_destroy(c->scenario);
}

/* ---- one at a time against all at once ---- */

static void act_together(void *context) {
    tick_case *c = context;
    if (!c->status) c->status = lud_tick_act(learner_of(c), &learner_of(c)->training, false, &c->error);
}

static void act_one_by_one(void *context) {
    tick_case *c = context;
    lud_tick_stepping *s = &learner_of(c)->training;
    lud_tick_policy *policy = learner_of(c)->policy;
    for (int64_t i = 0; i < s->rows.n && !c->status; i++) {
        lud_tick_rows row = s->rows;
        lud_tick_choices choice = s->choices;
        row.n = 1;
        row.environment += i;
        row.agent += i;
        choice.discrete += i;
        choice.continuous = choice.confidence = NULL;
        choice.log_prob += i;
        choice.n_tokens += i;
        choice.failed += i;
        choice.entropy += i;
        c->status = policy->kind->act(policy, &row, &choice, &c->error);
    }
}

static void tick_together(void *context) {
    tick_case *c = context;
    if (!c->status) c->status = lud_tick_run(learner_of(c), &c->error);
}

/* The loop that ticks take the place of: every agent acts, learns and steps the optimiser by itself; the
 * world steps when all have. */
static void tick_one_by_one(void *context) {
    tick_case *c = context;
    lud_tick_learner *l = learner_of(c);
    lud_tick_stepping *s = &l->training;
    const int32_t own = 0;
    const float coefficient = -1.0f, target = 0.5f;
    const int64_t n = s->rows.n;
    for (int64_t i = 0; i < n && !c->status; i++) {
        lud_tick_rows row = s->rows;
        lud_tick_choices choice = {.discrete = s->choices.discrete + i, .log_prob = s->choices.log_prob + i};
        lud_tick_losses losses;
        float value;
        row.n = 1;
        row.environment += i;
        row.agent += i;
        const lud_tick_lesson lesson = {.rows = &row,
                                        .n = 1,
                                        .row = &own,
                                        .coefficient = &coefficient,
                                        .entropy_coefficient = l->options.entropy_coefficient,
                                        .n_valued = 1,
                                        .valued = &own,
                                        .target = &target,
                                        .value_coefficient = 1.0};
        c->status = l->policy->kind->act(l->policy, &row, &choice, &c->error);
        if (!c->status) c->status = l->policy->kind->value(l->policy, &row, &value, &c->error);
        lud_parameters_zero_gradients(l->policy->parameters);
        if (!c->status) c->status = l->policy->kind->learn(l->policy, &lesson, &losses, &c->error);
        lud_optimiser_step(l->optimiser, l->actor_group, 1e-6);
        lud_optimiser_step(l->optimiser, l->critic_group, 1e-6);
    }
    if (!c->status) c->status = lud_tick_step(l, s, NULL, &c->error);
    if (!c->status) c->status = lud_tick_act(l, s, false, &c->error); /* the rows of the next */
}

static lud_status compare(const char *what, int n_agents, void (*one_by_one)(void *),
                          void (*together)(void *), lud_device *device, lud_bench_report *report,
                          lud_error *error) {
    char single[96], batched[96], ratio[96];
    snprintf(single, sizeof single, "%s, %d agents one at a time", what, n_agents);
    snprintf(batched, sizeof batched, "%s, %d agents at once", what, n_agents);
    snprintf(ratio, sizeof ratio, "%s, %d agents, at once over one at a time", what, n_agents);
    if (!lud_bench_wants(report, single) && !lud_bench_wants(report, batched)) return LUD_OK;
    tick_case c;
    lud_status status =
        open_case(n_agents, 1, "learning_rate: 1e-6, critic_learning_rate: 1e-6", device, &c, error);
    lud_bench_piece pieces[] = {{.work = one_by_one, .items = n_agents},
                                {.work = together, .items = n_agents}};
    if (!status) lud_bench_rates(2, pieces, &c);
    if (!status && c.status) {
        *error = c.error;
        status = c.status;
    }
    close_case(&c);
    const lud_bench_row rows[] = {
        {.name = single, .value = pieces[0].rate, .spread = pieces[0].spread, .unit = "agents/s"},
        {.name = batched, .value = pieces[1].rate, .spread = pieces[1].spread, .unit = "agents/s"},
        {.name = ratio, .value = pieces[1].rate / pieces[0].rate, .unit = "times"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++)
        status = lud_bench_add(report, rows[i], error);
    return status;
}

/* ---- the learn phase ---- */

static lud_status measure_learning(const char *label, const char *options, lud_device *device,
                                   lud_bench_report *report, lud_error *error) {
    enum { TICKS = 40, REPETITIONS = 5, AGENTS = 30, ENVS = 64 };
    char name[96], whole[96];
    snprintf(name, sizeof name, "learn phase, %d rows, %s", AGENTS * ENVS, label);
    snprintf(whole, sizeof whole, "tick, %d rows, %s", AGENTS * ENVS, label);
    if (!lud_bench_wants(report, name) && !lud_bench_wants(report, whole)) return LUD_OK;
    tick_case c;
    lud_status status = open_case(AGENTS, ENVS, options, device, &c, error);
    double learn[REPETITIONS], all[REPETITIONS];
    for (int r = 0; r < REPETITIONS && !status; r++) {
        lud_profile *profile = &learner_of(&c)->profile;
        lud_profile_reset(profile);
        for (int t = 0; t < TICKS && !status; t++) status = lud_tick_run(learner_of(&c), error);
        learn[r] = all[r] = 0.0;
        for (int stage = 0; stage < LUD_TICK_STAGES; stage++)
            all[r] += lud_profile_milliseconds(profile, stage);
        learn[r] = lud_profile_milliseconds(profile, LUD_TICK_STAGE_LEARN) +
                   lud_profile_milliseconds(profile, LUD_TICK_STAGE_STEP);
    }
    close_case(&c);
    if (!status)
        status = lud_bench_add_runs(report, (lud_bench_row){.name = name, .unit = "ms"}, REPETITIONS, learn,
                                    error);
    return status ? status
                  : lud_bench_add_runs(report, (lud_bench_row){.name = whole, .unit = "ms"}, REPETITIONS, all,
                                       error);
}

/* ---- memory ---- */

static lud_status measure_memory(int n_agents, lud_device *device, lud_bench_report *report,
                                 lud_error *error) {
    char name[96];
    snprintf(name, sizeof name, "memory, %d agents, ", n_agents);
    tick_case c;
    lud_status status = open_case(n_agents, 1, "optimiser: {type: apollo}", device, &c, error);
    if (!status) {
        const lud_tick_learner *l = learner_of(&c);
        const double weights = (double)l->policy->parameters->size * 4.0 / 1024.0;
        const struct {
            const char *part;
            double kilobytes;
        } parts[] = {{"weights", weights},
                     {"gradients", weights},
                     {"optimiser", (double)lud_optimiser_numbers(l->optimiser) * 4.0 / 1024.0},
                     {"activations of acting", (double)l->policy->act_bytes / 1024.0},
                     {"activations of learning", (double)l->policy->learn_bytes / 1024.0}};
        for (size_t i = 0; i < sizeof parts / sizeof *parts && !status; i++) {
            snprintf(name, sizeof name, "memory, %d agents, %s", n_agents, parts[i].part);
            status = lud_bench_add(
                report, (lud_bench_row){.name = name, .value = parts[i].kilobytes, .unit = "KiB"}, error);
        }
    }
    close_case(&c);
    return status;
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    static const int agents[] = {1, 3, 10, 30, 100, 200};
    lud_device *device = NULL;
    lud_status status = lud_device_open("cpu", 0, &device, error);
    for (size_t i = 0; i < sizeof agents / sizeof *agents && !status; i++) {
        status = compare("act", agents[i], act_one_by_one, act_together, device, report, error);
        if (!status)
            status = compare("tick", agents[i], tick_one_by_one, tick_together, device, report, error);
    }
    if (!status) status = measure_learning("all of them", "gate: {mode: off}", device, report, error);
    if (!status)
        status = measure_learning("gate of 3 %", "gate: {mode: importance, warmup_experiences: 0}", device,
                                  report, error);
    for (size_t i = 3; i < sizeof agents / sizeof *agents && !status; i++)
        status = measure_memory(agents[i], device, report, error);
    lud_device_close(device);
    return status;
}

const lud_bench lud_bench_ticks = {.name = "ticks",
                                   .about =
                                       "many agents, one policy: one at a time against all at once, the gate",
                                   .run = run};
