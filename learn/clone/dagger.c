#include "learn/clone/dagger.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "learn/runs/parameters.h"
#include "learn/runs/run.h"

/* Environments that neither training nor evaluation touches; ticks of a round never meet those of another. */
enum { FIRST_VISITED = 3 << 24, TICKS_OF_ROUND = 1 << 20 };

/* The scenario's cast with the expert for those who are imitated. */
static lud_status open_expert(lud_clone_dagger *d, lud_error *error) {
    lud_tree *expert = d->options->dagger.expert;
    const lud_scenario *s = d->scenario;
    lud_status status = lud_run_cast(NULL, s, &d->expert, error);
    if (status) return status;
    if (expert->kind == LUD_TREE_SCALAR && lud_run_is(expert->text)) {
        status = lud_run_act(expert->text, s, d->expert, error);
        return status ? lud_fail_context(error, "learner.dagger.expert") : LUD_OK;
    }
    for (int a = 0; a < s->model->layout.n_agents && !status; a++) {
        lud_policy *policy;
        if (!lud_clone_imitates(d->options, &s->model->layout, a)) continue;
        status = lud_policy_create(s->model, expert, s->path, &policy, error);
        if (!status) lud_cast_set(d->expert, a, policy);
    }
    return status ? lud_fail_context(error, "learner.dagger.expert") : LUD_OK;
}

lud_status lud_clone_dagger_open(const lud_clone_options *options, const lud_scenario *scenario,
                                 lud_clone_data *data, lud_cast *clone, lud_clone_dagger *d,
                                 lud_error *error) {
    const lud_layout *layout = &scenario->model->layout;
    const int n = (int)options->dagger.environments;
    const uint64_t seed = (uint64_t)scenario->run.seed;
    *d = (lud_clone_dagger){.options = options, .scenario = scenario, .data = data, .clone = clone};
    if (options->dagger.rounds == 0) return LUD_OK;
    lud_status status = open_expert(d, error);
    if (!status)
        status = lud_runner_create(scenario->model, d->expert, n, seed, FIRST_VISITED, &d->by_expert, error);
    if (!status)
        status = lud_runner_create(scenario->model, clone, n, seed, FIRST_VISITED, &d->by_clone, error);
    if (status) return status;
    const size_t agents = (size_t)(n * layout->n_agents);
    d->asked = calloc((size_t)n, lud_cast_hidden_bytes(d->expert) + 8);
    d->discrete = calloc(agents, sizeof *d->discrete);
    d->continuous = calloc(agents * (size_t)lud_max_continuous(layout) + 1, sizeof *d->continuous);
    d->p = calloc((size_t)lud_max_discrete(layout) + 1, sizeof *d->p);
    bool whole = d->asked && d->discrete && d->continuous && d->p;
    for (int p = 0; p < layout->n_parts; p++) {
        d->parts[p] = calloc((size_t)n, layout->parts[p].bytes);
        whole = whole && d->parts[p];
    }
    return whole ? LUD_OK : lud_no_memory(error, "%d environments", n);
}

void lud_clone_dagger_close(lud_clone_dagger *d) {
    lud_runner_destroy(&d->by_expert);
    lud_runner_destroy(&d->by_clone);
    lud_cast_destroy(d->expert);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(d->parts[p]);
    free(d->asked);
    free(d->discrete);
    free(d->continuous);
    free(d->p);
    *d = (lud_clone_dagger){0};
}

/* The answer of an agent's expert: its choice, or where it knows them its probabilities in so many draws. */
static void label_agent(lud_clone_dagger *d, const lud_batch *batch, int e, int a, int64_t frame) {
    const lud_layout *layout = &batch->model->layout;
    const uint8_t *state = batch->states + (size_t)e * layout->state_bytes;
    const uint8_t *hidden = d->asked + (size_t)e * lud_cast_hidden_bytes(d->expert);
    const int64_t at = (int64_t)e * layout->n_agents + a, width = lud_max_continuous(layout);
    const int n = layout->actions[a].n_discrete;
    if (n == 0 || !lud_policy_distribution(lud_cast_get(d->expert, a), state, a,
                                           lud_cast_goal(d->expert, hidden, a), d->p)) {
        lud_clone_data_label(d->data, frame, a, d->discrete[at], d->continuous + at * width, true);
        return;
    }
    double sum = d->p[0];
    for (int i = 0, k = 0; i < LUD_CLONE_DRAWS; i++) {
        while (k < n - 1 && sum * LUD_CLONE_DRAWS < i + 0.5) sum += d->p[++k];
        lud_clone_data_label(d->data, frame, a, k, NULL, i == 0);
    }
}

/* Answers for environment e, as far as any are still wanted. */
static int64_t label_one(lud_clone_dagger *d, const lud_batch *batch, int e, int64_t wanted) {
    const lud_layout *layout = &d->scenario->model->layout;
    int64_t n = 0, frame = -1;
    for (int a = 0; a < layout->n_agents && n < wanted; a++) {
        if (!lud_clone_imitates(d->options, layout, a)) continue;
        if (frame < 0) {
            frame = lud_clone_data_frame(d->data);
            for (int p = 0; p < layout->n_parts; p++) {
                const size_t bytes = layout->parts[p].bytes;
                if (d->data->parts[p])
                    memcpy((uint8_t *)d->data->parts[p] + (size_t)frame * bytes,
                           (const uint8_t *)d->parts[p] + (size_t)e * bytes, bytes);
            }
        }
        label_agent(d, batch, e, a, frame);
        n++;
    }
    return n;
}

/* The expert says what it would do in the present states. */
static int64_t label_all(lud_clone_dagger *d, const lud_batch *batch, int64_t wanted) {
    const lud_model *model = d->scenario->model;
    const lud_range range = lud_batch_range(batch, 0, batch->n_envs);
    int64_t n = 0;
    model->world->observe(model, range, batch->states, d->parts);
    lud_cast_act(d->expert, range, batch->states, d->parts, d->asked, d->discrete, d->continuous);
    for (int e = 0; e < batch->n_envs && n < wanted; e++) n += label_one(d, batch, e, wanted - n);
    return n;
}

/* The expert begins anew where episodes did. */
static void renew(const lud_clone_dagger *d, const lud_runner *runner) {
    const size_t hidden = lud_cast_hidden_bytes(d->expert), state = runner->batch->model->layout.state_bytes;
    for (int e = 0; e < runner->batch->n_envs; e++)
        if (runner->terminated[e] || runner->truncated[e])
            lud_cast_reset(d->expert, lud_batch_range(runner->batch, e, 1),
                           runner->batch->states + (size_t)e * state, d->asked + (size_t)e * hidden);
}

lud_status lud_clone_dagger_round(lud_clone_dagger *d, int64_t round, lud_error *error) {
    const bool first = round == 0 && d->options->data.n == 0; /* nothing is known yet */
    lud_runner *runner = first ? &d->by_expert : &d->by_clone;
    lud_batch *batch = runner->batch;
    for (int e = 0; e < batch->n_envs; e++) batch->tick[e] = (uint32_t)round * TICKS_OF_ROUND;
    lud_runner_start(runner);
    lud_cast_reset(d->expert, lud_batch_range(batch, 0, batch->n_envs), batch->states, d->asked);
    for (int64_t n = 0; n < d->options->dagger.labels;) {
        LUD_TRY(lud_interrupt_check(error));
        n += label_all(d, batch, d->options->dagger.labels - n);
        lud_runner_step(runner);
        renew(d, runner);
        lud_runner_renew(runner);
    }
    const lud_status status = lud_cast_check(d->expert, error);
    return status ? status : lud_cast_check(d->clone, error);
}
