#include "cli/rollout.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sim/batch.h"
#include "sim/particle/particle.h"

void lud_mean_add(lud_mean *mean, double value) {
    mean->n++;
    double difference = value - mean->mean;
    mean->mean += difference / mean->n;
    mean->squares += difference * (value - mean->mean);
}

double lud_mean_deviation(const lud_mean *mean) {
    return mean->n < 2 ? 0 : sqrt(mean->squares / (mean->n - 1));
}

typedef struct buffers {
    uint8_t *hidden, *final_states, *terminated, *truncated;
    int32_t *discrete;
    float *continuous, *rewards;
    double *sum;     /* [n_envs][n_agents] rewards of the present episode */
    int64_t *left;   /* [n_envs] episodes still to count */
    uint32_t *start; /* [n_envs] tick at which the present episode began */
    void *observations[LUD_MAX_OBSERVATION_PARTS];
} buffers;

static void free_buffers(buffers *b) {
    free(b->hidden);
    free(b->final_states);
    free(b->terminated);
    free(b->truncated);
    free(b->discrete);
    free(b->continuous);
    free(b->rewards);
    free(b->sum);
    free(b->left);
    free(b->start);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(b->observations[p]);
}

static bool create_buffers(buffers *b, const lud_model *model, const lud_cast *cast, size_t n_envs) {
    size_t n_agents = (size_t)model->layout.n_agents, cells = n_envs * n_agents + 1;
    b->hidden = calloc(n_envs, lud_cast_hidden_bytes(cast) + 8);
    b->final_states = calloc(n_envs, model->layout.state_bytes + 1);
    b->terminated = calloc(n_envs, 1);
    b->truncated = calloc(n_envs, 1);
    b->discrete = calloc(cells, sizeof *b->discrete);
    b->continuous = calloc(cells * (size_t)(lud_max_continuous(&model->layout) + 1), sizeof *b->continuous);
    b->rewards = calloc(cells, sizeof *b->rewards);
    b->sum = calloc(cells, sizeof *b->sum);
    b->left = calloc(n_envs, sizeof *b->left);
    b->start = calloc(n_envs, sizeof *b->start);
    bool complete = b->hidden && b->final_states && b->terminated && b->truncated && b->discrete &&
                    b->continuous && b->rewards && b->sum && b->left && b->start;
    if (lud_cast_needs_observations(cast))
        for (int p = 0; p < model->layout.n_parts; p++) {
            b->observations[p] = calloc(n_envs, model->layout.parts[p].bytes);
            complete = complete && b->observations[p];
        }
    return complete;
}

/* Rows of measures of a particle world; those that the task does not have are left out. */
static bool create_measures(lud_rollout *r, const lud_model *world) {
    if (world->world != &lud_particle_world) return true;
    const lud_particle_model *model = (const lud_particle_model *)world;
    const int n_rewards = lud_particle_reward_count(model);
    r->measures = calloc((size_t)n_rewards + 4, sizeof *r->measures);
    if (!r->measures) return false;
    const bool succeeds = lud_particle_has_success(model);
    if (succeeds) {
        r->measures[r->n_measures++] = (lud_measure){.name = "success", .help = "episodes that succeeded"};
        r->measures[r->n_measures++] =
            (lud_measure){.name = "fraction", .help = "mean share of the episode until goals are met"};
    }
    r->measures[r->n_measures++] = (lud_measure){.name = "collisions", .help = "in an episode"};
    if (lud_particle_has_goals(model))
        r->measures[r->n_measures++] = (lud_measure){.name = "error", .help = "error norm at the end"};
    for (int k = 0; k < n_rewards; k++)
        r->measures[r->n_measures++] = (lud_measure){.name = lud_particle_reward_name(model, k),
                                                     .help = "return of this reward, mean over agents"};
    return true;
}

static void count_measures(lud_rollout *r, const lud_model *world, const uint8_t *last) {
    if (!r->measures) return;
    const lud_particle_model *model = (const lud_particle_model *)world;
    const lud_particle_metrics metrics = lud_particle_get_metrics(model, last);
    lud_measure *m = r->measures;
    if (metrics.has_success) {
        lud_mean_add(&m++->value, metrics.success);
        lud_mean_add(&m++->value, metrics.fraction);
    }
    lud_mean_add(&m++->value, metrics.collisions);
    if (lud_particle_has_goals(model)) lud_mean_add(&m++->value, lud_particle_error_norm(model, last));
    for (int k = 0; k < lud_particle_reward_count(model); k++)
        lud_mean_add(&m++->value, lud_particle_reward_return(model, last, k));
}

/* Adds the episode that environment e has just finished. */
static void count_episode(lud_rollout *r, const lud_model *model, const lud_cast *cast, const buffers *b,
                          int e, int length) {
    r->episodes++;
    r->terminated += b->terminated[e];
    r->truncated += b->truncated[e] && !b->terminated[e];
    lud_mean_add(&r->length, length);
    const uint8_t *hidden = b->hidden + (size_t)e * lud_cast_hidden_bytes(cast);
    const uint8_t *last = b->final_states + (size_t)e * model->layout.state_bytes;
    count_measures(r, model, last);
    for (int i = 0; i < r->n_agents; i++) {
        lud_mean_add(&r->agents[i].episode_return, b->sum[e * r->n_agents + i]);
        int goal = lud_cast_goal(cast, hidden, i);
        if (goal < 0) continue;
        r->agents[i].has_goals = true;
        /* the cast counts when it acts; nobody acts in the last state */
        int reached = lud_cast_goals_reached(cast, hidden, i) + model->world->achieved(model, last, i, goal);
        lud_mean_add(&r->agents[i].goals, reached);
    }
}

static lud_status run_steps(const lud_scenario *scenario, lud_cast *cast, lud_batch *batch, buffers *b,
                            int64_t episodes, uint64_t max_steps, lud_progress *progress, lud_rollout *r,
                            lud_error *error) {
    const lud_model *model = scenario->model;
    int n_envs = batch->n_envs, n_agents = r->n_agents;
    size_t hidden_bytes = lud_cast_hidden_bytes(cast);
    for (int e = 0; e < n_envs; e++) b->left[e] = episodes / n_envs + (e < episodes % n_envs);
    bool observe = lud_cast_needs_observations(cast);
    lud_batch_out out = {.observations = observe ? b->observations : NULL,
                         .rewards = b->rewards,
                         .terminated = b->terminated,
                         .truncated = b->truncated,
                         .final_states = b->final_states};
    lud_range range = {
        .seed = batch->seed, .first_environment = batch->first_environment, .n = n_envs, .tick = batch->tick};
    bool continuous = lud_max_continuous(&model->layout) > 0;
    lud_batch_reset(batch, &out);
    lud_cast_reset(cast, range, batch->states, b->hidden);
    while (r->episodes < episodes && (!max_steps || r->steps < max_steps)) {
        if (lud_interrupted())
            return lud_fail(error, LUD_INTERRUPTED, "interrupted after %" PRId64 " of %" PRId64 " episodes",
                            r->episodes, episodes);
        lud_cast_act(cast, range, batch->states, out.observations, b->hidden, b->discrete,
                     continuous ? b->continuous : NULL);
        lud_batch_step(batch, (lud_actions){b->discrete, continuous ? b->continuous : NULL}, &out);
        r->steps += (uint64_t)n_envs;
        for (int e = 0; e < n_envs; e++) {
            for (int i = 0; i < n_agents; i++) b->sum[e * n_agents + i] += b->rewards[e * n_agents + i];
            if (!b->terminated[e] && !b->truncated[e]) continue;
            if (b->left[e]) {
                b->left[e]--;
                count_episode(r, model, cast, b, e, (int)(batch->tick[e] - b->start[e]));
            }
        }
        for (int e = 0; e < n_envs; e++) {
            if (!b->terminated[e] && !b->truncated[e]) continue;
            b->start[e] = batch->tick[e];
            for (int i = 0; i < n_agents; i++) b->sum[e * n_agents + i] = 0;
            lud_range one = {.seed = range.seed,
                             .first_environment = range.first_environment + (uint32_t)e,
                             .n = 1,
                             .tick = batch->tick + e};
            lud_cast_reset(cast, one, batch->states + (size_t)e * model->layout.state_bytes,
                           b->hidden + (size_t)e * hidden_bytes);
        }
        lud_progress_update(progress, (uint64_t)r->episodes);
    }
    return LUD_OK;
}

lud_status lud_rollout_run(const lud_scenario *scenario, lud_cast *cast, int64_t episodes, uint64_t max_steps,
                           FILE *progress_out, lud_rollout *r, lud_error *error) {
    const lud_model *model = scenario->model;
    int n_envs = (int)(scenario->run.environments < episodes ? scenario->run.environments : episodes);
    *r = (lud_rollout){.n_agents = model->layout.n_agents, .n_envs = n_envs};
    buffers b = {0};
    lud_batch *batch = NULL;
    r->agents = calloc((size_t)r->n_agents + 1, sizeof *r->agents);
    if (!r->agents || !create_measures(r, model) || !create_buffers(&b, model, cast, (size_t)n_envs)) {
        free_buffers(&b);
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for %d environments", n_envs);
    }
    lud_status status = lud_batch_create(model, n_envs, (uint64_t)scenario->run.seed, 0, &batch, error);
    if (!status) {
        batch->n_threads = (int)scenario->run.threads;
        lud_progress progress;
        lud_progress_start(&progress, progress_out, "run", "episodes", (uint64_t)episodes);
        double started = lud_clock_seconds();
        status = run_steps(scenario, cast, batch, &b, episodes, max_steps, &progress, r, error);
        r->seconds = lud_clock_seconds() - started;
        lud_progress_finish(&progress);
    }
    lud_batch_destroy(batch);
    free_buffers(&b);
    return status;
}

json_t *lud_mean_json(const lud_mean *mean) {
    return json_pack("{s:f, s:f}", "mean", mean->mean, "deviation", lud_mean_deviation(mean));
}

json_t *lud_rollout_measures_json(const lud_rollout *result) {
    json_t *measures = json_object();
    for (int k = 0; measures && k < result->n_measures; k++)
        json_object_set_new(measures, result->measures[k].name, lud_mean_json(&result->measures[k].value));
    return measures;
}

void lud_rollout_print_measures(const lud_rollout *r) {
    for (int k = 0; k < r->n_measures; k++)
        printf("%-12s %10.3f ± %-10.3f %s\n", r->measures[k].name, r->measures[k].value.mean,
               lud_mean_deviation(&r->measures[k].value), r->measures[k].help);
}

void lud_rollout_free(lud_rollout *result) {
    free(result->measures);
    free(result->agents);
    *result = (lud_rollout){0};
}
