#include "learn/mappo/mappo.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/mappo/policy.h"

typedef lud_mappo_learner_state mappo;

/* SLICE_ROWS: rows of one run of a network in an update, the same on every device. */
enum { SLICE_ROWS = 1024, FIRST_TRIAL = 1 << 24, MAX_TRIALS = 128 };

/* The world's measures stand before LUD_MAPPO_POLICY_LOSS. */
static const lud_metric columns[LUD_MAPPO_COLUMNS] = {
    [LUD_MAPPO_STEPS] = {"steps", NULL, "environment steps so far"},
    [LUD_MAPPO_REWARD] = {"reward", "%.4g", "mean reward of a step, times the episode's length limit"},
    [LUD_MAPPO_RETURN] = {"return", "%.4g", "mean over agents of the return of episodes that ended"},
    [LUD_MAPPO_ENDED] = {"ended", NULL, "share of those that the world's rules ended"},
    [LUD_MAPPO_POLICY_LOSS] = {"policy_loss", NULL, "clipped surrogate, mean over samples"},
    [LUD_MAPPO_VALUE_LOSS] = {"value_loss", NULL, "mean over samples"},
    [LUD_MAPPO_ENTROPY] = {"entropy", "%.3f", "of the policy, mean over samples"},
    [LUD_MAPPO_RATIO] = {"ratio", NULL, "mean probability ratio"},
    [LUD_MAPPO_CLIPPED] = {"clipped", NULL, "share of ratios beyond the clip"},
    [LUD_MAPPO_ACTOR_NORM] = {"actor_norm", NULL, "mean norm of the actor's gradient before clipping"},
    [LUD_MAPPO_CRITIC_NORM] = {"critic_norm", NULL, "the same of the critic"},
    [LUD_MAPPO_SPEED] = {"speed", NULL, "environment steps a second, updates included"}};

/* The world's measures stand behind these. */
enum { EVAL_RETURN, EVAL_ENDED, EVAL_COLUMNS };
static const lud_metric evaluation_columns[EVAL_COLUMNS] = {
    [EVAL_RETURN] = {"evaluation/return", "%.4g", "mean over agents, over episodes"},
    [EVAL_ENDED] = {"evaluation/ended", NULL, "share of episodes that the world's rules ended"}};

enum {
    STAGE_ACT,
    STAGE_WORLD,
    STAGE_VALUE,
    STAGE_RETURNS,
    STAGE_GATHER,
    STAGE_GRADIENT,
    STAGE_STEP,
    STAGE_ROLLOUT,
    STAGES
};
static const char *const stages[STAGES] = {"act",    "world",    "values", "returns",
                                           "gather", "gradient", "step",   "rollout"};

static void destroy(lud_learner *learner) {
    mappo *m = (mappo *)learner;
    lud_mappo_rollout_destroy(m->device_rollout);
    lud_mappo_trainer_destroy(m->rollout);
    lud_mappo_trainer_destroy(m->update);
    lud_mappo_buffer_destroy(&m->buffer);
    lud_mappo_buffer_destroy(&m->trial_buffer);
    lud_batch_destroy(m->batch);
    lud_batch_destroy(m->trial);
    void *arrays[] = {m->chunks,       m->order,          m->place,       m->agent,      m->row,
                      m->values,       m->returns,        m->actions,     m->terminated, m->truncated,
                      m->final_states, m->episode_return, m->trial_return};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(m->final_parts[p]);
    lud_arena_destroy(m->arena);
    free(m);
}

static bool take_arrays(mappo *m, int64_t envs, int64_t n_steps) {
    const int64_t n_agents = m->scenario->model->layout.n_agents, rows = envs * n_agents;
    const size_t samples = (size_t)(n_steps * rows),
                 index = (size_t)(rows > SLICE_ROWS ? rows : SLICE_ROWS) + (size_t)m->options.chunk_length;
    const int64_t width = m->rollout->shape.n_continuous;
    m->chunks = calloc(samples, sizeof *m->chunks);
    m->order = calloc(samples, sizeof *m->order);
    m->place = calloc(index, sizeof *m->place);
    m->agent = calloc(index, sizeof *m->agent);
    m->row = calloc(index, sizeof *m->row);
    m->values = calloc(2 * samples + (size_t)rows, sizeof *m->values);
    m->returns = calloc(samples, sizeof *m->returns);
    m->actions = calloc((size_t)(rows * (width + 1)), sizeof *m->actions);
    m->terminated = calloc((size_t)envs, 1);
    m->truncated = calloc((size_t)envs, 1);
    m->final_states = calloc((size_t)envs, m->scenario->model->layout.state_bytes + 1);
    m->episode_return = calloc((size_t)envs, sizeof *m->episode_return);
    m->trial_return = calloc((size_t)envs, sizeof *m->trial_return);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS && m->buffer.final_values; p++) {
        if (!m->buffer.parts[p]) continue;
        m->final_parts[p] = calloc((size_t)envs, m->buffer.part_bytes[p]);
        if (!m->final_parts[p]) return false;
    }
    return m->chunks && m->order && m->place && m->agent && m->row && m->values && m->returns && m->actions &&
           m->terminated && m->truncated && m->final_states && m->episode_return && m->trial_return;
}

static lud_status build(mappo *m, const lud_scenario *s, lud_device *device, lud_error *error) {
    lud_mappo_options *o = &m->options;
    lud_status status = lud_options_read(&lud_mappo_option_table, m->arena, s->learner, o, error);
    if (status) return status;
    if (o->mad.r_min >= o->mad.r_max || o->mad.r_max >= 1.0)
        return lud_fail_at(error, LUD_ERROR_INPUT, s->learner->place,
                           "learner.mad: expected r_min < r_max < 1, not %g and %g", o->mad.r_min,
                           o->mad.r_max);
    if (!o->recurrent) o->chunk_length = 1;
    if (o->chunk_length > o->rollout_length) o->chunk_length = o->rollout_length;
    const int64_t n_agents = s->model->layout.n_agents, envs = s->run.environments;
    m->seed = (uint64_t)s->run.seed;
    const int64_t most = device->backend->rows_per_run;
    m->slice_envs = most / n_agents > 0 ? most / n_agents : 1;
    if (m->slice_envs > envs) m->slice_envs = envs;
    const int64_t slice = o->chunk_length > SLICE_ROWS ? o->chunk_length : SLICE_ROWS;
    const int64_t trials = envs < MAX_TRIALS ? envs : MAX_TRIALS;
    status = lud_mappo_trainer_create(s->model, o, device, m->seed, slice, LUD_MAPPO_UPDATE, NULL, &m->update,
                                      error);
    if (!status) {
        *o = m->update->options; /* `auto` resolved */
        status = lud_mappo_trainer_create(s->model, o, device, m->seed, m->slice_envs * n_agents,
                                          LUD_MAPPO_ROLLOUT, m->update->parameters, &m->rollout, error);
    }
    if (!status)
        status = lud_mappo_buffer_create(&m->rollout->shape, o, device, o->rollout_length, envs, &m->buffer,
                                         error);
    if (!status)
        status = lud_mappo_buffer_create(&m->rollout->shape, o, device, 1, trials, &m->trial_buffer, error);
    if (!status) status = lud_batch_create(s->model, (int)envs, m->seed, 0, &m->batch, error);
    if (!status) status = lud_batch_create(s->model, (int)trials, m->seed, FIRST_TRIAL, &m->trial, error);
    if (!status)
        status = lud_mappo_rollout_create(m->rollout, &m->buffer, m->batch, m->slice_envs, &m->device_rollout,
                                          error);
    if (!status && !take_arrays(m, envs, o->rollout_length))
        status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
    if (status) return status;
    const uint64_t per_iteration = (uint64_t)(envs * o->rollout_length);
    m->base.n_iterations = ((uint64_t)o->steps + per_iteration - 1) / per_iteration;
    return LUD_OK;
}

/* Our own columns with the world's measures among them, and memory for the measures. */
static lud_status name_columns(mappo *m, const lud_layout *layout, lud_error *error) {
    const int n = m->n_measures = layout->n_columns;
    lud_metric *row = lud_arena_take_array(m->arena, (size_t)(LUD_MAPPO_COLUMNS + n), sizeof *row);
    lud_metric *trial = lud_arena_take_array(m->arena, (size_t)(EVAL_COLUMNS + n), sizeof *trial);
    m->measures = lud_arena_take_array(m->arena, 2 * (size_t)layout->n_measures + 1, sizeof *m->measures);
    bool whole = row && trial && m->measures;
    for (int k = 0; k < LUD_MAPPO_COLUMNS && whole; k++)
        row[k < LUD_MAPPO_POLICY_LOSS ? k : k + n] = columns[k];
    for (int k = 0; k < EVAL_COLUMNS && whole; k++) trial[k] = evaluation_columns[k];
    for (int k = 0; k < n && whole; k++) {
        const lud_measure *measure = &layout->measures[k];
        char name[96];
        snprintf(name, sizeof name, "evaluation/%s", measure->name);
        const char *text = lud_arena_text(m->arena, name, strlen(name));
        row[LUD_MAPPO_POLICY_LOSS + k] = (lud_metric){measure->name, measure->format, measure->help};
        trial[EVAL_COLUMNS + k] = (lud_metric){text, measure->format, measure->help};
        whole = text != NULL;
    }
    m->base.columns = row;
    m->base.n_columns = LUD_MAPPO_COLUMNS + n;
    m->base.evaluation_columns = trial;
    m->base.n_evaluation_columns = EVAL_COLUMNS + n;
    return whole ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    mappo *m = calloc(1, sizeof *m);
    if (!m) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
    m->base = (lud_learner){.kind = &lud_mappo_learner};
    m->scenario = scenario;
    m->device = device;
    m->profile = (lud_profile){.title = "graph-mappo", .stages = stages, .n = STAGES};
    m->arena = lud_arena_create(0);
    lud_status status = m->arena ? name_columns(m, &scenario->model->layout, error)
                                 : lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
    if (!status) status = build(m, scenario, device, error);
    if (status)
        destroy(&m->base);
    else
        *learner = &m->base;
    return status;
}

/* --- rollout --- */

/* Rows of environments first .. first + n in slot t of a buffer. */
static int64_t index_rows(mappo *m, const lud_mappo_buffer *b, int64_t t, int64_t first, int64_t n) {
    const int64_t n_agents = b->shape->n_agents;
    int64_t k = 0;
    for (int64_t e = first; e < first + n; e++)
        for (int64_t a = 0; a < n_agents; a++, k++) {
            m->place[k] = (int32_t)(t * b->n_envs + e);
            m->agent[k] = (int32_t)a;
            m->row[k] = (int32_t)((t * b->n_envs + e) * n_agents + a);
        }
    return k;
}

/* Actions as the world takes them: the stored number on top of the base controller. */
static void write_actions(mappo *m, const lud_mappo_buffer *b, int64_t first_row, int64_t n,
                          const float *number) {
    const lud_mappo_shape *shape = b->shape;
    const int64_t width = shape->n_continuous;
    const float *observation = m->rollout->inputs.items[LUD_MAPPO_OBSERVATION].host;
    float *to = m->actions + first_row * width;
    memcpy(to, number, (size_t)(n * width) * sizeof *to);
    if (m->options.control == LUD_MAPPO_DIRECT) return;
    const float gain = (float)m->options.mad.base_gain;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < width; k++)
            to[i * width + k] += gain * observation[i * shape->observation + shape->goal_offset + k];
}

/* Decisions of all environments of slot t: actions, log-probabilities and values there, new states in slot
 * t + 1. With `values_only` the critic alone runs. */
static lud_status decide(mappo *m, lud_mappo_buffer *b, const lud_batch *batch, int64_t t, bool values,
                         bool values_only, bool deterministic, lud_error *error) {
    lud_mappo_trainer *r = m->rollout;
    const int64_t n_agents = b->shape->n_agents;
    for (int64_t first = 0; first < b->n_envs; first += m->slice_envs) {
        const int64_t left = b->n_envs - first, envs = left < m->slice_envs ? left : m->slice_envs;
        const int64_t n = index_rows(m, b, t, first, envs), at = first * n_agents;
        lud_mappo_inputs_observe(&r->inputs, (const void *const *)b->parts, n, m->place, m->agent);
        const lud_mappo_memory memory = lud_mappo_buffer_memory(b);
        lud_status status = lud_mappo_inputs_remember(&r->inputs, n, m->row, &memory, error);
        if (status) return status;
        lud_mappo_inputs_upload(&r->inputs);
        for (int64_t k = 0; k < n; k++) m->row[k] += (int32_t)b->n_rows; /* the slot behind */
        if (values) {
            lud_profile_begin(&m->profile, STAGE_VALUE);
            lud_mappo_value(r, b->values + t * b->n_rows + at);
            if (!values_only) lud_mappo_read_critic(r, m->row, b->critic_hidden);
            lud_profile_end(&m->profile, STAGE_VALUE);
        }
        if (values_only) continue;
        lud_profile_begin(&m->profile, STAGE_ACT);
        const lud_draws draws = {.seed = batch->seed,
                                 .first_environment = batch->first_environment + (uint32_t)first,
                                 .n_agents = (uint32_t)n_agents,
                                 .step = batch->tick[first],
                                 .purpose = LUD_PURPOSE_ACTION};
        lud_mappo_allow(r, n, m->agent);
        lud_mappo_act(r, &draws, deterministic);
        lud_mappo_read_states(r, m->row, b->actor_hidden, b->states);
        memcpy(b->log_probs + t * b->n_rows + at, r->fields[LUD_FIELD_LOG_PROB].host,
               (size_t)n * sizeof(float));
        if (b->actions) {
            memcpy(b->actions + t * b->n_rows + at, r->fields[LUD_FIELD_ACTION].host,
                   (size_t)n * sizeof(int32_t));
        } else {
            const int64_t width = b->shape->n_continuous;
            const float *number = r->fields[LUD_FIELD_NUMBER].host;
            memcpy(b->numbers + (t * b->n_rows + at) * width, number, (size_t)(n * width) * sizeof *number);
            write_actions(m, b, at, n, number);
        }
        lud_profile_end(&m->profile, STAGE_ACT);
    }
    return LUD_OK;
}

/* Values of what was seen last in episodes that step t cut off, before slot t + 1 forgets them. */
static lud_status value_final(mappo *m, lud_mappo_buffer *b, const lud_batch *batch, int64_t t,
                              lud_error *error) {
    lud_mappo_trainer *r = m->rollout;
    const lud_model *model = m->scenario->model;
    const int64_t n_agents = b->shape->n_agents;
    for (int64_t e = 0; e < b->n_envs;) {
        int64_t n = 0;
        for (; e < b->n_envs && n < m->slice_envs * n_agents; e++) {
            if (!m->truncated[e] || m->terminated[e]) continue;
            void *parts[LUD_MAX_OBSERVATION_PARTS];
            for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
                parts[p] =
                    m->final_parts[p] ? (char *)m->final_parts[p] + (size_t)e * b->part_bytes[p] : NULL;
            model->world->observe(model,
                                  (lud_range){.seed = batch->seed,
                                              .first_environment = batch->first_environment + (uint32_t)e,
                                              .n = 1,
                                              .tick = batch->tick + e},
                                  m->final_states + (size_t)e * model->layout.state_bytes, parts);
            for (int64_t a = 0; a < n_agents; a++, n++) {
                m->place[n] = (int32_t)e;
                m->agent[n] = (int32_t)a;
                m->row[n] = (int32_t)(((t + 1) * b->n_envs + e) * n_agents + a);
                b->masks[m->row[n]] = 1.0f; /* the episode goes on in what the critic remembers */
            }
        }
        if (n == 0) continue;
        lud_mappo_inputs_observe(&r->inputs, (const void *const *)m->final_parts, n, m->place, m->agent);
        const lud_mappo_memory memory = lud_mappo_buffer_memory(b);
        lud_status status = lud_mappo_inputs_remember(&r->inputs, n, m->row, &memory, error);
        if (status) return status;
        lud_mappo_inputs_upload(&r->inputs);
        lud_mappo_value(r, m->returns);
        for (int64_t i = 0; i < n; i++) b->final_values[m->row[i] - b->n_rows] = m->returns[i];
    }
    return LUD_OK;
}

/* Sums over episodes that ended; those of the world's measures stand in m->measures. */
typedef struct episode_sums {
    double n, returns, ended;
} episode_sums;

static void clear_sums(mappo *m, episode_sums *sums) {
    *sums = (episode_sums){0};
    memset(m->measures, 0, (size_t)m->n_measures * sizeof *m->measures);
}

/* Adds the measures of an episode that is at `last`. */
static void add_measures(mappo *m, const uint8_t *last) {
    const lud_model *model = m->scenario->model;
    double *own = m->measures + model->layout.n_measures;
    if (m->n_measures == 0) return;
    model->world->measure(model, 1, last, own);
    for (int k = 0; k < m->n_measures; k++) m->measures[k] += own[k];
}

static void slot_parts(const lud_mappo_buffer *b, int64_t t, void **parts) {
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        parts[p] = b->parts[p] ? (char *)b->parts[p] + (size_t)(t * b->n_envs) * b->part_bytes[p] : NULL;
}

/* What follows from step t: values of what was seen last, episodes that begin anew, and the tallies of those
 * that ended. */
static lud_status end_step(mappo *m, lud_mappo_buffer *b, const lud_batch *batch, int64_t t, double *returns,
                           int64_t *left, episode_sums *sums, lud_error *error) {
    const lud_model *model = m->scenario->model;
    const int64_t n_agents = b->shape->n_agents;
    const float *rewards = b->rewards + t * b->n_rows;
    lud_status status = b == &m->buffer && b->final_values ? value_final(m, b, batch, t, error) : LUD_OK;
    lud_mappo_buffer_end_episodes(b, t, m->terminated, m->truncated);
    for (int64_t e = 0; e < b->n_envs; e++) {
        for (int64_t a = 0; a < n_agents; a++)
            returns[e] += (double)rewards[e * n_agents + a] / (double)n_agents;
        if (!m->terminated[e] && !m->truncated[e]) continue;
        if (!left || left[e] > 0) {
            sums->n++;
            sums->returns += returns[e];
            sums->ended += m->terminated[e];
            add_measures(m, m->final_states + (size_t)e * model->layout.state_bytes);
            if (left) left[e]--;
        }
        returns[e] = 0.0;
    }
    return status;
}

/* Steps the world from slot t to slot t + 1 and counts episodes that end; `left` (null: no limit) is how many
 * each environment may still count. */
static lud_status step_world(mappo *m, lud_mappo_buffer *b, lud_batch *batch, int64_t t, double *returns,
                             int64_t *left, episode_sums *sums, lud_error *error) {
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    slot_parts(b, t + 1, parts);
    const lud_batch_out out = {.observations = parts,
                               .rewards = b->rewards + t * b->n_rows,
                               .terminated = m->terminated,
                               .truncated = m->truncated,
                               .final_states = m->final_states};
    const int32_t *discrete = b->actions ? b->actions + t * b->n_rows : NULL;
    lud_batch_step(batch, (lud_actions){discrete, b->actions ? NULL : m->actions}, &out);
    if (!batch->auto_reset) { /* nothing begins anew, so nothing has ended */
        memset(m->terminated, 0, (size_t)b->n_envs);
        memset(m->truncated, 0, (size_t)b->n_envs);
    }
    return end_step(m, b, batch, t, returns, left, sums, error);
}

/* The first observations; everybody begins, so that the first decisions get the kick. */
static void start(lud_mappo_buffer *b, lud_batch *batch) {
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    slot_parts(b, 0, parts);
    const lud_batch_out out = {.observations = parts};
    lud_batch_reset(batch, &out);
    memset(b->masks, 0, (size_t)b->n_rows * sizeof *b->masks);
    const size_t hidden = (size_t)(b->n_rows * b->hidden_width) * sizeof(float);
    if (b->actor_hidden) memset(b->actor_hidden, 0, hidden);
    if (b->critic_hidden) memset(b->critic_hidden, 0, hidden);
    if (b->states) memset(b->states, 0, (size_t)(b->n_rows * b->state_width) * sizeof(float));
    for (int64_t i = 0; i < b->n_rows; i++) b->bad_masks[i] = 1.0f;
}

static lud_status roll_out_on_host(mappo *m, episode_sums *sums, lud_error *error) {
    lud_mappo_buffer *b = &m->buffer;
    for (int64_t t = 0; t < b->n_steps; t++) {
        lud_status status = decide(m, b, m->batch, t, true, false, false, error);
        if (status) return status;
        lud_profile_begin(&m->profile, STAGE_WORLD);
        status = step_world(m, b, m->batch, t, m->episode_return, NULL, sums, error);
        lud_profile_end(&m->profile, STAGE_WORLD);
        if (status) return status;
    }
    return decide(m, b, m->batch, b->n_steps, true, true, false, error);
}

static lud_status roll_out_on_device(mappo *m, episode_sums *sums, lud_error *error) {
    lud_mappo_buffer *b = &m->buffer;
    lud_status status = LUD_OK;
    lud_profile_begin(&m->profile, STAGE_ROLLOUT);
    lud_mappo_rollout_run(m->device_rollout, b, m->batch);
    lud_profile_end(&m->profile, STAGE_ROLLOUT);
    lud_profile_begin(&m->profile, STAGE_WORLD);
    for (int64_t t = 0; t < b->n_steps && !status; t++) {
        lud_mappo_rollout_ends(m->device_rollout, t, m->terminated, m->truncated, m->final_states);
        status = end_step(m, b, m->batch, t, m->episode_return, NULL, sums, error);
    }
    lud_profile_end(&m->profile, STAGE_WORLD);
    return status;
}

lud_status lud_mappo_collect(mappo *m, double *row, lud_error *error) {
    lud_mappo_buffer *b = &m->buffer;
    if (!m->started) start(b, m->batch);
    m->started = true;
    episode_sums sums;
    clear_sums(m, &sums);
    lud_status status =
        m->device_rollout ? roll_out_on_device(m, &sums, error) : roll_out_on_host(m, &sums, error);
    if (status) return status;
    double reward = 0.0;
    for (int64_t i = 0; i < b->n_steps * b->n_rows; i++) reward += (double)b->rewards[i];
    const int limit = m->scenario->model->layout.max_steps;
    row[LUD_MAPPO_REWARD] = reward / (double)(b->n_steps * b->n_rows) * (limit > 0 ? limit : 1);
    if (sums.n > 0) {
        row[LUD_MAPPO_RETURN] = sums.returns / sums.n;
        row[LUD_MAPPO_ENDED] = sums.ended / sums.n;
    }
    for (int k = 0; k < m->n_measures && sums.n > 0; k++)
        row[LUD_MAPPO_POLICY_LOSS + k] = m->measures[k] / sums.n;
    return status;
}

/* --- update --- */

lud_status lud_mappo_gather(mappo *m, const lud_mappo_chunk *chunks, int64_t n, lud_error *error) {
    lud_mappo_trainer *u = m->update;
    const lud_mappo_buffer *b = &m->buffer;
    const int64_t length = chunks[0].length, rows = n * length, n_agents = b->shape->n_agents;
    for (int64_t s = 0, k = 0; s < length; s++)
        for (int64_t c = 0; c < n; c++, k++) {
            const int64_t row = chunks[c].first + s * b->n_rows;
            m->row[k] = (int32_t)row;
            m->place[k] = (int32_t)(row / n_agents);
            m->agent[k] = (int32_t)(row % n_agents);
        }
    lud_mappo_inputs_observe(&u->inputs, (const void *const *)b->parts, rows, m->place, m->agent);
    const lud_mappo_memory memory = lud_mappo_buffer_memory(b);
    lud_status status = lud_mappo_inputs_remember(&u->inputs, n, m->row, &memory, error);
    if (status) return status;
    lud_mappo_inputs_upload(&u->inputs);
    lud_mappo_allow(u, rows, m->agent);
    const struct {
        lud_mappo_field field;
        const float *from;
    } copies[] = {{LUD_FIELD_OLD_LOG_PROB, b->log_probs},
                  {LUD_FIELD_ADVANTAGE, b->advantages},
                  {LUD_FIELD_OLD_VALUE, b->values},
                  {LUD_FIELD_RETURN, b->returns}};
    for (size_t f = 0; f < sizeof copies / sizeof *copies; f++) {
        float *to = u->fields[copies[f].field].host;
        for (int64_t k = 0; k < rows; k++) to[k] = copies[f].from[m->row[k]];
    }
    int32_t *action = u->fields[LUD_FIELD_ACTION].host;
    float *number = u->fields[LUD_FIELD_NUMBER].host;
    const int64_t width = b->shape->n_continuous;
    for (int64_t k = 0; k < rows; k++)
        if (b->actions)
            action[k] = b->actions[m->row[k]];
        else
            memcpy(number + k * width, b->numbers + m->row[k] * width, (size_t)width * sizeof *number);
    return LUD_OK;
}

/* Chunks in a new order, a function of the seed, the iteration and the epoch. */
static void shuffle(mappo *m, int64_t n, uint32_t epoch) {
    for (int64_t i = n - 1; i > 0; i--) {
        const lud_words words = lud_draw((lud_random_key){m->seed, (uint32_t)m->iteration}, (uint32_t)i,
                                         epoch, LUD_PURPOSE_SHUFFLE, 0);
        const int64_t j = lud_below(words.v[0], (uint32_t)(i + 1));
        const lud_mappo_chunk chunk = m->chunks[i];
        m->chunks[i] = m->chunks[j];
        m->chunks[j] = chunk;
    }
}

/* One minibatch: its chunks in slices of equal length, so that no row is padding. */
static lud_status take_minibatch(mappo *m, const lud_mappo_chunk *chunks, int64_t n, double rate,
                                 lud_error *error) {
    const lud_mappo_buffer *b = &m->buffer;
    int64_t rows = 0;
    for (int64_t c = 0; c < n; c++)
        for (int64_t s = 0; s < chunks[c].length; s++)
            m->returns[rows++] = b->returns[chunks[c].first + s * b->n_rows];
    lud_mappo_minibatch_begin(m->update, rows, m->returns);
    for (int64_t length = m->options.chunk_length; length >= 1; length--) {
        int64_t k = 0;
        for (int64_t c = 0; c < n; c++)
            if (chunks[c].length == length) m->order[k++] = chunks[c];
        const int64_t most = m->update->inputs.max_rows / length;
        for (int64_t first = 0; first < k; first += most) {
            const int64_t count = k - first < most ? k - first : most;
            lud_profile_begin(&m->profile, STAGE_GATHER);
            lud_status status = lud_mappo_gather(m, m->order + first, count, error);
            lud_profile_end(&m->profile, STAGE_GATHER);
            if (status) return status;
            lud_profile_begin(&m->profile, STAGE_GRADIENT);
            lud_mappo_minibatch_add(m->update, 1.0 / (double)rows);
            lud_profile_end(&m->profile, STAGE_GRADIENT);
        }
    }
    lud_profile_begin(&m->profile, STAGE_STEP);
    lud_mappo_minibatch_end(m->update, rate);
    lud_profile_end(&m->profile, STAGE_STEP);
    return LUD_OK;
}

lud_status lud_mappo_update(mappo *m, lud_error *error) {
    lud_mappo_buffer *b = &m->buffer;
    const lud_mappo_options *o = &m->options;
    const int64_t samples = b->n_steps * b->n_rows;
    lud_profile_begin(&m->profile, STAGE_RETURNS);
    memcpy(m->values, b->values, (size_t)(samples + b->n_rows) * sizeof *m->values);
    lud_mappo_denormalise(m->update, samples + b->n_rows, m->values);
    float *final_values = m->values + samples + b->n_rows;
    if (b->final_values) {
        memcpy(final_values, b->final_values, (size_t)samples * sizeof *final_values);
        lud_mappo_denormalise(m->update, samples, final_values);
    }
    lud_mappo_buffer_returns(b, o, m->values, final_values);
    const int64_t n_chunks = lud_mappo_buffer_cut(b, o->chunk_length, m->chunks);
    lud_profile_end(&m->profile, STAGE_RETURNS);
    int64_t parts = o->minibatches > 0 ? o->minibatches : samples / o->minibatch_size;
    if (parts < 1) parts = 1;
    if (parts > n_chunks) parts = n_chunks;
    const double done = (double)m->iteration / (double)m->base.n_iterations;
    const double rate = o->decay_learning_rate ? 1.0 - done : 1.0;
    m->update->losses = (lud_mappo_losses){0};
    for (int64_t epoch = 0; epoch < o->epochs; epoch++) {
        shuffle(m, n_chunks, (uint32_t)epoch);
        for (int64_t k = 0; k < parts; k++) {
            const int64_t begin = k * n_chunks / parts, end = (k + 1) * n_chunks / parts;
            lud_status status = take_minibatch(m, m->chunks + begin, end - begin, rate, error);
            if (status) return status;
        }
    }
    lud_mappo_buffer_after_update(b);
    return LUD_OK;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    mappo *m = (mappo *)learner;
    const double began = lud_clock_seconds();
    lud_status status = lud_mappo_collect(m, row, error);
    if (!status) status = lud_mappo_update(m, error);
    if (status) return status;
    m->iteration++;
    const lud_mappo_losses *l = &m->update->losses;
    const double steps = (double)(m->buffer.n_steps * m->buffer.n_envs);
    row[LUD_MAPPO_STEPS] = steps * (double)m->iteration;
    row += m->n_measures; /* those of the world stand before the following */
    row[LUD_MAPPO_POLICY_LOSS] = l->policy_loss / l->rows;
    row[LUD_MAPPO_VALUE_LOSS] = l->value_loss / l->rows;
    row[LUD_MAPPO_ENTROPY] = l->entropy / l->rows;
    row[LUD_MAPPO_RATIO] = l->ratio / l->rows;
    row[LUD_MAPPO_CLIPPED] = l->clipped / l->rows;
    row[LUD_MAPPO_ACTOR_NORM] = l->actor_norm / l->minibatches;
    row[LUD_MAPPO_CRITIC_NORM] = l->critic_norm / l->minibatches;
    row[LUD_MAPPO_SPEED] = steps / (lud_clock_seconds() - began);
    lud_profile_call(&m->profile);
    if (!isfinite(l->policy_loss) || !isfinite(l->value_loss) || !isfinite(l->actor_norm))
        return lud_fail(error, LUD_ERROR_NUMERIC,
                        "graph-mappo: a loss is not finite; try a smaller learning_rate or max_norm");
    return LUD_OK;
}

/* --- evaluation --- */

void lud_mappo_trial_start(mappo *m) {
    /* the same episodes every time */
    memset(m->trial->tick, 0, (size_t)m->trial->n_envs * sizeof *m->trial->tick);
    memset(m->trial_return, 0, (size_t)m->trial->n_envs * sizeof *m->trial_return);
    start(&m->trial_buffer, m->trial);
}

lud_status lud_mappo_trial_decide(mappo *m, bool deterministic, lud_error *error) {
    return decide(m, &m->trial_buffer, m->trial, 0, false, false, deterministic, error);
}

void lud_mappo_trial_step(mappo *m) {
    episode_sums sums;
    clear_sums(m, &sums);
    (void)step_world(m, &m->trial_buffer, m->trial, 0, m->trial_return, NULL, &sums, NULL); /* no critic */
    lud_mappo_buffer_after_update(&m->trial_buffer);
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    mappo *m = (mappo *)learner;
    lud_mappo_buffer *b = &m->trial_buffer;
    int64_t left[MAX_TRIALS], remaining = m->options.evaluation_episodes;
    for (int64_t e = 0; e < b->n_envs; e++)
        left[e] = remaining / b->n_envs + (e < remaining % b->n_envs ? 1 : 0);
    lud_mappo_trial_start(m);
    episode_sums sums;
    clear_sums(m, &sums);
    while (sums.n < (double)remaining) {
        lud_status status = lud_mappo_trial_decide(m, m->options.deterministic, error);
        if (status) return status;
        status = step_world(m, b, m->trial, 0, m->trial_return, left, &sums, error);
        if (status) return status;
        lud_mappo_buffer_after_update(b);
    }
    row[EVAL_RETURN] = sums.returns / sums.n;
    row[EVAL_ENDED] = sums.ended / sums.n;
    for (int k = 0; k < m->n_measures; k++) row[EVAL_COLUMNS + k] = m->measures[k] / sums.n;
    return LUD_OK;
}

/* --- checkpoints --- */

static void visit_rows(lud_checkpoint *checkpoint, const char *name, float *array, int64_t rows,
                       int64_t width) {
    if (array)
        lud_checkpoint_tensor(checkpoint, name, LUD_TENSOR_F32, 2, (const int64_t[]){rows, width}, array);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    mappo *m = (mappo *)learner;
    lud_mappo_buffer *b = &m->buffer;
    uint64_t started = m->started;
    lud_mappo_trainer_visit(m->update, checkpoint);
    lud_checkpoint_u64(checkpoint, "mappo.iteration", &m->iteration);
    lud_checkpoint_u64(checkpoint, "mappo.started", &started);
    m->started = started != 0;
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) {
        char name[64];
        snprintf(name, sizeof name, "mappo.observation.%d", p);
        if (b->parts[p])
            lud_checkpoint_bytes(checkpoint, name, b->parts[p], (size_t)b->n_envs * b->part_bytes[p]);
    }
    visit_rows(checkpoint, "mappo.masks", b->masks, b->n_rows, 1);
    visit_rows(checkpoint, "mappo.actor_hidden", b->actor_hidden, b->n_rows, b->hidden_width);
    visit_rows(checkpoint, "mappo.critic_hidden", b->critic_hidden, b->n_rows, b->hidden_width);
    visit_rows(checkpoint, "mappo.states", b->states, b->n_rows, b->state_width);
    lud_checkpoint_tensor(checkpoint, "mappo.episode_return", LUD_TENSOR_F64, 1, &b->n_envs,
                          m->episode_return);
    const int64_t bytes = (int64_t)lud_batch_snapshot_bytes(m->batch);
    void *place = lud_checkpoint_place(checkpoint, "mappo.worlds", LUD_TENSOR_U8, 1, &bytes);
    if (!place) return;
    if (lud_checkpoint_loading(checkpoint))
        lud_batch_load(m->batch, place);
    else
        lud_batch_save(m->batch, place);
}

static void report(lud_learner *learner, lud_text *out) {
    const lud_profile *profile = &((const mappo *)learner)->profile;
    if (profile->calls > 0) lud_profile_print(profile, out);
}

const lud_learner_kind lud_mappo_learner = {
    .name = "graph-mappo",
    .about = "PPO with shared parameters: MAPPO and IPPO, graph networks, magnitude and direction",
    .options = &lud_mappo_option_table,
    .values = offsetof(mappo, options),
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .evaluate = evaluate,
    .visit = visit,
    .join = lud_mappo_join,
    .report = report};
