#include "agents/rollout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"

/* --- a cast in a batch --- */

static bool take_observations(lud_runner *r, const lud_layout *layout, size_t n_envs) {
    bool whole = true;
    r->observed = true;
    for (int p = 0; p < layout->n_parts; p++) {
        r->observations[p] = calloc(n_envs, layout->parts[p].bytes + 1);
        whole = whole && r->observations[p];
    }
    return whole;
}

lud_status lud_runner_create(const lud_model *model, const lud_cast *cast, int n_envs, uint64_t seed,
                             uint32_t first_environment, lud_runner *r, lud_error *error) {
    const lud_layout *layout = &model->layout;
    const size_t n = n_envs > 0 ? (size_t)n_envs : 0, cells = n * (size_t)layout->n_agents + 1;
    const size_t n_continuous = (size_t)lud_max_continuous(layout);
    *r = (lud_runner){.cast = cast,
                      .hidden = calloc(n, lud_cast_hidden_bytes(cast) + 8),
                      .final_states = calloc(n, layout->state_bytes + 1),
                      .terminated = calloc(n, 1),
                      .truncated = calloc(n, 1),
                      .discrete = calloc(cells, sizeof *r->discrete),
                      .rewards = calloc(cells, sizeof *r->rewards)};
    bool whole = r->hidden && r->final_states && r->terminated && r->truncated && r->discrete && r->rewards;
    if (layout->n_components > 0) {
        r->components = calloc(cells * (size_t)layout->n_components, sizeof *r->components);
        whole = whole && r->components;
    }
    if (n_continuous > 0) {
        r->continuous = calloc(cells * n_continuous, sizeof *r->continuous);
        whole = whole && r->continuous;
    }
    if (lud_cast_needs_observations(cast)) whole = take_observations(r, layout, n) && whole;
    lud_status status = whole ? lud_batch_create(model, n_envs, seed, first_environment, &r->batch, error)
                              : lud_no_memory(error, "%d environments", n_envs);
    if (status) lud_runner_destroy(r);
    return status;
}

void lud_runner_destroy(lud_runner *r) {
    lud_batch_destroy(r->batch);
    free(r->hidden);
    free(r->final_states);
    free(r->terminated);
    free(r->truncated);
    free(r->discrete);
    free(r->continuous);
    free(r->rewards);
    free(r->log_probs);
    free(r->components);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(r->observations[p]);
    *r = (lud_runner){0};
}

lud_status lud_runner_tell(lud_runner *r, bool observations, lud_error *error) {
    const lud_layout *layout = &r->batch->model->layout;
    const size_t n = (size_t)r->batch->n_envs;
    r->log_probs = calloc(n * (size_t)layout->n_agents + 1, sizeof *r->log_probs);
    if (r->log_probs && (!observations || r->observed || take_observations(r, layout, n))) return LUD_OK;
    return lud_no_memory(error, "%zu environments", n);
}

static lud_batch_out out_of(lud_runner *r) {
    return (lud_batch_out){.observations = r->observed ? r->observations : NULL,
                           .rewards = r->rewards,
                           .components = r->components,
                           .terminated = r->terminated,
                           .truncated = r->truncated,
                           .final_states = r->final_states};
}

void lud_runner_start(lud_runner *r) {
    const lud_batch_out out = out_of(r);
    lud_batch_reset(r->batch, &out);
    lud_cast_reset(r->cast, lud_batch_range(r->batch, 0, r->batch->n_envs), r->batch->states, r->hidden);
}

void lud_runner_act(lud_runner *r) {
    lud_cast_act_told(r->cast, lud_batch_range(r->batch, 0, r->batch->n_envs), r->batch->states,
                      r->observed ? r->observations : NULL, r->hidden, r->discrete, r->continuous,
                      r->log_probs);
}

void lud_runner_step(lud_runner *r) {
    const lud_batch_out out = out_of(r);
    lud_runner_act(r);
    lud_batch_step(r->batch, (lud_actions){r->discrete, r->continuous}, &out);
}

void lud_runner_renew(lud_runner *r) {
    for (int e = 0; e < r->batch->n_envs; e++)
        if (r->terminated[e] || r->truncated[e])
            lud_cast_reset(r->cast, lud_batch_range(r->batch, e, 1),
                           r->batch->states + (size_t)e * r->batch->model->layout.state_bytes,
                           r->hidden + (size_t)e * lud_cast_hidden_bytes(r->cast));
}

/* --- episodes --- */

typedef struct tally {
    double *sum;           /* [n_envs][n_agents] rewards of the present episode */
    int64_t *left;         /* [n_envs] episodes still to count */
    uint32_t *start;       /* [n_envs] tick at which the present episode began */
    double *measures;      /* [n_measures] of one episode */
    lud_rollout_kept kept; /* the caller's */
} tally;

static void free_tally(tally *t) {
    free(t->sum);
    free(t->left);
    free(t->start);
    free(t->measures);
}

static bool create_tally(tally *t, const lud_layout *layout, size_t n_envs) {
    *t = (tally){.sum = calloc(n_envs * (size_t)layout->n_agents + 1, sizeof *t->sum),
                 .left = calloc(n_envs, sizeof *t->left),
                 .start = calloc(n_envs, sizeof *t->start),
                 .measures = calloc((size_t)layout->n_measures + 1, sizeof *t->measures)};
    return t->sum && t->left && t->start && t->measures;
}

/* Adds the episode that environment e has just finished. */
static void count_episode(lud_rollout *r, const lud_runner *runner, const tally *t, int e) {
    const lud_model *model = runner->batch->model;
    const uint8_t *last = runner->final_states + (size_t)e * model->layout.state_bytes;
    if (t->kept.returns)
        memcpy(t->kept.returns + r->episodes * r->n_agents, t->sum + e * r->n_agents,
               (size_t)r->n_agents * sizeof *t->kept.returns);
    if (t->kept.last_states)
        memcpy(t->kept.last_states + (size_t)r->episodes * model->layout.state_bytes, last,
               model->layout.state_bytes);
    r->episodes++;
    r->terminated += runner->terminated[e];
    r->truncated += runner->truncated[e] && !runner->terminated[e];
    lud_mean_add(&r->length, (int)(runner->batch->tick[e] - t->start[e]));
    const uint8_t *hidden = runner->hidden + (size_t)e * lud_cast_hidden_bytes(runner->cast);
    if (model->layout.n_measures) model->world->measure(model, 1, last, t->measures);
    for (int k = 0; k < model->layout.n_measures; k++) lud_mean_add(&r->measures[k], t->measures[k]);
    for (int i = 0; i < r->n_agents; i++) {
        lud_mean_add(&r->agents[i].episode_return, t->sum[e * r->n_agents + i]);
        int goal = lud_cast_goal(runner->cast, hidden, i);
        if (goal < 0) continue;
        r->agents[i].has_goals = true;
        /* the cast counts when it acts; nobody acts in the last state */
        int reached =
            lud_cast_goals_reached(runner->cast, hidden, i) + model->world->achieved(model, last, i, goal);
        lud_mean_add(&r->agents[i].goals, reached);
    }
}

static lud_status run_steps(lud_runner *runner, tally *t, int64_t episodes, uint64_t max_steps,
                            lud_progress *progress, lud_rollout *r, lud_error *error) {
    const int n_envs = r->n_envs, n_agents = r->n_agents;
    for (int e = 0; e < n_envs; e++) t->left[e] = episodes / n_envs + (e < episodes % n_envs);
    lud_runner_start(runner);
    while (r->episodes < episodes && (!max_steps || r->steps < max_steps)) {
        if (lud_interrupted())
            return lud_fail(error, LUD_INTERRUPTED, "interrupted after %" PRId64 " of %" PRId64 " episodes",
                            r->episodes, episodes);
        lud_runner_step(runner);
        r->steps += (uint64_t)n_envs;
        for (int e = 0; e < n_envs; e++) {
            double *sum = t->sum + e * n_agents;
            for (int i = 0; i < n_agents; i++) sum[i] += runner->rewards[e * n_agents + i];
            if (!runner->terminated[e] && !runner->truncated[e]) continue;
            if (t->left[e] > 0) {
                t->left[e]--;
                count_episode(r, runner, t, e);
            }
            t->start[e] = runner->batch->tick[e];
            memset(sum, 0, (size_t)n_agents * sizeof *sum);
        }
        lud_runner_renew(runner);
        lud_progress_update(progress, (uint64_t)r->episodes);
    }
    return lud_cast_check(runner->cast, error);
}

static lud_status roll_out(const lud_scenario *scenario, const lud_cast *cast, int64_t episodes,
                           uint64_t max_steps, FILE *progress_out, lud_rollout_kept kept, lud_rollout *r,
                           lud_error *error) {
    const lud_model *model = scenario->model;
    const lud_layout *layout = &model->layout;
    int n_envs = (int)(scenario->run.environments < episodes ? scenario->run.environments : episodes);
    *r = (lud_rollout){.layout = layout,
                       .n_agents = layout->n_agents,
                       .n_envs = n_envs,
                       .agents = calloc((size_t)layout->n_agents + 1, sizeof *r->agents),
                       .measures = calloc((size_t)layout->n_measures + 1, sizeof *r->measures)};
    tally t;
    lud_runner runner = {0};
    lud_status status = create_tally(&t, layout, (size_t)n_envs) && r->agents && r->measures
                            ? LUD_OK
                            : lud_no_memory(error, "%d environments", n_envs);
    t.kept = kept;
    if (!status)
        status = lud_runner_create(model, cast, n_envs, (uint64_t)scenario->run.seed, 0, &runner, error);
    if (!status) {
        runner.batch->n_threads = (int)scenario->run.threads;
        runner.batch->most_steps = lud_batch_limit(model);
        lud_progress progress;
        lud_progress_start(&progress, progress_out, "run", "episodes", (uint64_t)episodes);
        double started = lud_clock_seconds();
        status = run_steps(&runner, &t, episodes, max_steps, &progress, r, error);
        r->seconds = lud_clock_seconds() - started;
        lud_progress_finish(&progress);
    }
    lud_runner_destroy(&runner);
    free_tally(&t);
    return status;
}

lud_status lud_rollout_run(const lud_scenario *scenario, const lud_cast *cast, int64_t episodes,
                           uint64_t max_steps, FILE *progress, lud_rollout *r, lud_error *error) {
    return roll_out(scenario, cast, episodes, max_steps, progress, (lud_rollout_kept){0}, r, error);
}

lud_status lud_rollout_run_kept(const lud_scenario *scenario, const lud_cast *cast, int64_t episodes,
                                FILE *progress, lud_rollout_kept kept, lud_rollout *r, lud_error *error) {
    return roll_out(scenario, cast, episodes, 0, progress, kept, r, error);
}

void lud_rollout_free(lud_rollout *result) {
    free(result->measures);
    free(result->agents);
    *result = (lud_rollout){0};
}
