#include "learn/mappo/rollout/rollout.h"

#include <stdlib.h>
#include <string.h>

#include "learn/mappo/mappo.h"

typedef lud_mappo_learner_state mappo;

/* Where the share of environments ends that e is in. One run of a network has rows of one share: rounding may
 * depend on how many rows there are, and which they are must not depend on the number of processes. */
static int64_t share_end(const mappo *m, const lud_mappo_stepping *s, int64_t e) {
    const int64_t n_envs = s->buffer.n_envs;
    const int n_shares = (int)m->options.update.shares;
    return lud_share_begin(n_envs, n_shares, lud_share_of(n_envs, n_shares, e) + 1);
}

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

lud_status lud_mappo_decide(mappo *m, lud_mappo_stepping *stepping, int64_t t, lud_mappo_deciding what,
                            bool deterministic, lud_error *error) {
    lud_mappo_buffer *b = &stepping->buffer;
    const lud_batch *batch = stepping->batch;
    lud_mappo_networks *r = m->rollout;
    const int64_t n_agents = b->shape->n_agents;
    for (int64_t first = stepping->first, envs; first < stepping->end; first += envs) {
        const int64_t left = share_end(m, stepping, first) - first;
        envs = left < m->slice_envs ? left : m->slice_envs;
        const int64_t n = index_rows(m, b, t, first, envs), at = first * n_agents;
        lud_mappo_inputs_observe(&r->inputs, (const void *const *)b->parts, n, m->place, m->agent);
        const lud_mappo_memory memory = lud_mappo_buffer_memory(b);
        LUD_TRY(lud_mappo_inputs_remember(&r->inputs, n, m->row, &memory, error));
        lud_mappo_inputs_upload(&r->inputs);
        for (int64_t k = 0; k < n; k++) m->row[k] += (int32_t)b->n_rows; /* the slot behind */
        if (what != LUD_DECIDE_ACTIONS) {
            lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_VALUE);
            lud_mappo_value(r, b->values + t * b->n_rows + at);
            if (what == LUD_DECIDE_BOTH) lud_mappo_read_critic(r, m->row, b->critic_hidden);
            lud_profile_end(&m->profile, LUD_MAPPO_STAGE_VALUE);
        }
        if (what == LUD_DECIDE_VALUES) continue;
        lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_ACT);
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
        lud_profile_end(&m->profile, LUD_MAPPO_STAGE_ACT);
    }
    return LUD_OK;
}

/* Values of what was seen last in episodes that step t cut off, before slot t + 1 forgets them. */
static lud_status value_final(mappo *m, int64_t t, lud_error *error) {
    lud_mappo_buffer *b = &m->training.buffer;
    const lud_batch *batch = m->training.batch;
    lud_mappo_networks *r = m->rollout;
    const lud_model *model = m->scenario->model;
    const int64_t n_agents = b->shape->n_agents;
    for (int64_t e = m->training.first; e < m->training.end;) {
        const int64_t end = share_end(m, &m->training, e);
        int64_t n = 0;
        for (; e < end && n < m->slice_envs * n_agents; e++) {
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
        LUD_TRY(lud_mappo_inputs_remember(&r->inputs, n, m->row, &memory, error));
        lud_mappo_inputs_upload(&r->inputs);
        lud_mappo_value(r, m->values);
        for (int64_t i = 0; i < n; i++) b->final_values[m->row[i] - b->n_rows] = m->values[i];
    }
    return LUD_OK;
}

/* ---- episodes that ended ---- */

/* Of one of them: the step and the environment, by which they are in order, and what it came to; behind it
 * the world's measures. */
enum { STEP, ENVIRONMENT, RETURN, ENDED, MEASURES };

void lud_mappo_clear_episodes(mappo *m) {
    m->n_ended = 0;
    m->steps_counted = 0;
}

/* Keeps one that is at `last`. */
static void keep_episode(mappo *m, int64_t environment, double episode_return, bool ended,
                         const uint8_t *last) {
    const lud_model *model = m->scenario->model;
    double *measures = m->measures + model->layout.n_measures,
           *row = m->ended + m->n_ended++ * m->ended_width;
    row[STEP] = (double)m->steps_counted;
    row[ENVIRONMENT] = (double)environment;
    row[RETURN] = episode_return;
    row[ENDED] = ended;
    if (m->n_measures == 0) return;
    model->world->measure(model, 1, last, measures);
    memcpy(row + MEASURES, measures, (size_t)m->n_measures * sizeof *row);
}

static int in_order(const void *a, const void *b) {
    const double *x = a, *y = b;
    const int key = x[STEP] != y[STEP] ? STEP : ENVIRONMENT;
    return (x[key] > y[key]) - (x[key] < y[key]);
}

lud_status lud_mappo_sum_episodes(mappo *m, lud_mappo_episodes *sums, lud_error *error) {
    const size_t bytes = (size_t)m->ended_width * sizeof *m->ended;
    int64_t n = 0;
    *sums = (lud_mappo_episodes){0};
    memset(m->measures, 0, (size_t)m->n_measures * sizeof *m->measures);
    LUD_TRY(lud_ranks_join_lists(m->device->ranks, m->ended, m->n_ended, bytes, m->ended_of_all,
                                 m->ended_capacity, &n, error));
    qsort(m->ended_of_all, (size_t)n, bytes, in_order);
    for (int64_t i = 0; i < n; i++) {
        const double *row = m->ended_of_all + i * m->ended_width;
        sums->n++;
        sums->returns += row[RETURN];
        sums->ended += row[ENDED];
        for (int k = 0; k < m->n_measures; k++) m->measures[k] += row[MEASURES + k];
    }
    return LUD_OK;
}

static void slot_parts(const lud_mappo_buffer *b, int64_t t, void **parts) {
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        parts[p] = b->parts[p] ? (char *)b->parts[p] + (size_t)(t * b->n_envs) * b->part_bytes[p] : NULL;
}

/* What follows from step t: values of what was seen last, episodes that begin anew, and the tallies of those
 * that ended. */
static lud_status end_step(mappo *m, lud_mappo_stepping *s, int64_t t, int64_t *left, lud_error *error) {
    lud_mappo_buffer *b = &s->buffer;
    double *returns = s->episode_return;
    const lud_model *model = m->scenario->model;
    const int64_t n_agents = b->shape->n_agents;
    const float *rewards = b->rewards + t * b->n_rows;
    lud_status status = s == &m->training && b->final_values ? value_final(m, t, error) : LUD_OK;
    lud_mappo_buffer_end_episodes(b, t, m->terminated, m->truncated);
    for (int64_t e = s->first; e < s->end; e++) {
        for (int64_t a = 0; a < n_agents; a++)
            returns[e] += (double)rewards[e * n_agents + a] / (double)n_agents;
        if (!m->terminated[e] && !m->truncated[e]) continue;
        if (!left || left[e] > 0) {
            keep_episode(m, e, returns[e], m->terminated[e],
                         m->final_states + (size_t)e * model->layout.state_bytes);
            if (left) left[e]--;
        }
        returns[e] = 0.0;
    }
    m->steps_counted++;
    return status;
}

lud_status lud_mappo_step(mappo *m, lud_mappo_stepping *s, int64_t t, int64_t *left, lud_error *error) {
    lud_mappo_buffer *b = &s->buffer;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    slot_parts(b, t + 1, parts);
    const lud_batch_out out = {.observations = parts,
                               .rewards = b->rewards + t * b->n_rows,
                               .terminated = m->terminated,
                               .truncated = m->truncated,
                               .final_states = m->final_states};
    const int32_t *discrete = b->actions ? b->actions + t * b->n_rows : NULL;
    lud_batch_step(s->batch, (lud_actions){discrete, b->actions ? NULL : m->actions}, &out);
    if (s->batch->end != LUD_END_RESETS) { /* nothing begins anew, so nothing has ended */
        memset(m->terminated, 0, (size_t)b->n_envs);
        memset(m->truncated, 0, (size_t)b->n_envs);
    }
    if (s == &m->training && m->novelty.counts)
        lud_mappo_novelty_meet(&m->novelty, s->batch, t, m->terminated, m->truncated, m->final_states);
    return end_step(m, s, t, left, error);
}

void lud_mappo_reset(lud_mappo_stepping *s) {
    lud_mappo_buffer *b = &s->buffer;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    slot_parts(b, 0, parts);
    const lud_batch_out out = {.observations = parts};
    lud_batch_reset(s->batch, &out);
    memset(b->masks, 0, (size_t)b->n_rows * sizeof *b->masks);
    const size_t hidden = (size_t)(b->n_rows * b->hidden_width) * sizeof(float);
    if (b->actor_hidden) memset(b->actor_hidden, 0, hidden);
    if (b->critic_hidden) memset(b->critic_hidden, 0, hidden);
    if (b->states) memset(b->states, 0, (size_t)(b->n_rows * b->state_width) * sizeof(float));
    for (int64_t i = 0; i < b->n_rows; i++) b->bad_masks[i] = 1.0f;
}

static lud_status roll_out_on_host(mappo *m, lud_error *error) {
    const int64_t n_steps = m->training.buffer.n_steps;
    for (int64_t t = 0; t < n_steps; t++) {
        const double part = LUD_MAPPO_ROLLOUT_PART * (double)t / (double)n_steps;
        lud_status status = lud_progress_beat(m->base.progress, part, error);
        if (!status) status = lud_mappo_decide(m, &m->training, t, LUD_DECIDE_BOTH, false, error);
        if (status) return status;
        lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_WORLD);
        status = lud_mappo_step(m, &m->training, t, NULL, error);
        lud_profile_end(&m->profile, LUD_MAPPO_STAGE_WORLD);
        if (status) return status;
    }
    return lud_mappo_decide(m, &m->training, n_steps, LUD_DECIDE_VALUES, false, error);
}

static lud_status roll_out_on_device(mappo *m, lud_error *error) {
    lud_mappo_stepping *s = &m->training;
    lud_status status = LUD_OK;
    LUD_TRY(lud_progress_beat(m->base.progress, 0.0, error));
    lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_ROLLOUT);
    lud_mappo_device_rollout_run(m->device_rollout, &s->buffer, s->batch);
    lud_profile_end(&m->profile, LUD_MAPPO_STAGE_ROLLOUT);
    lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_WORLD);
    for (int64_t t = 0; t < s->buffer.n_steps && !status; t++) {
        lud_mappo_device_rollout_ends(m->device_rollout, t, m->terminated, m->truncated, m->final_states);
        status = end_step(m, s, t, NULL, error);
    }
    lud_profile_end(&m->profile, LUD_MAPPO_STAGE_WORLD);
    return status;
}

/* What everybody needs of everybody's rollout; what was seen stays where it was seen. */
static lud_status complete_rollout(mappo *m, lud_error *error) {
    const lud_mappo_buffer *b = &m->training.buffer;
    const size_t row = (size_t)b->shape->n_agents * sizeof(float); /* of an environment */
    const int64_t t = b->n_steps, n = b->n_envs;
    const size_t met = (size_t)b->shape->n_agents * sizeof(uint64_t);
    const lud_ranks_array arrays[] = {{m->novelty.met, met, t, n},  {b->log_probs, row, t, n},
                                      {b->rewards, row, t, n},      {b->final_values, row, t, n},
                                      {b->values, row, t + 1, n},   {b->masks, row, t + 1, n},
                                      {b->bad_masks, row, t + 1, n}};
    return lud_ranks_complete(m->device->ranks, arrays, sizeof arrays / sizeof *arrays, m->ppo.core.shares.n,
                              error);
}

lud_status lud_mappo_complete(mappo *m, lud_error *error) {
    lud_mappo_stepping *s = &m->training;
    const lud_mappo_buffer *b = &s->buffer;
    const size_t row = (size_t)b->shape->n_agents * sizeof(float), hidden = row * (size_t)b->hidden_width;
    const int64_t n = b->n_envs;
    const int n_shares = m->ppo.core.shares.n;
    lud_ranks_array arrays[LUD_MAX_OBSERVATION_PARTS + 4] = {
        {b->actor_hidden, hidden, 1, n},
        {b->critic_hidden, hidden, 1, n},
        {b->states, row * (size_t)b->state_width, 1, n},
        {s->episode_return, sizeof *s->episode_return, 1, n}};
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        arrays[4 + p] = (lud_ranks_array){b->parts[p], b->part_bytes[p], 1, n};
    LUD_TRY(lud_ranks_complete(m->device->ranks, arrays, LUD_MAX_OBSERVATION_PARTS + 4, n_shares, error));
    return lud_batch_complete(s->batch, m->device->ranks, n_shares, error);
}

lud_status lud_mappo_collect(mappo *m, double *row, lud_error *error) {
    const lud_mappo_buffer *b = &m->training.buffer;
    if (!m->started) lud_mappo_reset(&m->training);
    m->started = true;
    lud_mappo_episodes sums;
    lud_mappo_clear_episodes(m);
    lud_status status = m->device_rollout ? roll_out_on_device(m, error) : roll_out_on_host(m, error);
    LUD_TRY(lud_ranks_agree(m->device->ranks, status, error));
    LUD_TRY(complete_rollout(m, error));
    if (m->novelty.counts) lud_mappo_novelty_count(&m->novelty, b->n_steps * b->n_rows);
    LUD_TRY(lud_mappo_sum_episodes(m, &sums, error));
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
