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

/* Rows of a group in environments first .. first + n in slot t of a buffer. */
static int64_t index_rows(mappo *m, const lud_mappo_group *g, const lud_mappo_buffer *b, int64_t t,
                          int64_t first, int64_t n) {
    const int64_t n_agents = b->shape->n_agents;
    int64_t k = 0;
    for (int64_t e = first; e < first + n; e++)
        for (int64_t i = 0; i < g->n_agents; i++, k++) {
            m->place[k] = (int32_t)(t * b->n_envs + e);
            m->agent[k] = g->agents[i];
            m->row[k] = (int32_t)((t * b->n_envs + e) * n_agents + g->agents[i]);
        }
    return k;
}

/* Actions as the world takes them: the stored number on top of the base controller, which one group has. */
static void write_actions(mappo *m, const lud_mappo_group *g, const lud_mappo_buffer *b, int64_t n,
                          const int32_t *row, const float *number) {
    const lud_mappo_shape *shape = b->shape;
    const int64_t width = shape->n_continuous;
    const float *observation = g->rollout->inputs.items[LUD_MAPPO_OBSERVATION].host;
    const float gain = m->options.control == LUD_MAPPO_DIRECT ? 0.0f : (float)m->options.mad.base_gain;
    for (int64_t i = 0; i < n; i++) {
        float *to = m->actions + row[i] % b->n_rows * width;
        memcpy(to, number + i * width, (size_t)width * sizeof *to);
        for (int64_t k = 0; k < width && m->options.control != LUD_MAPPO_DIRECT; k++)
            to[k] += gain * observation[i * shape->observation + shape->goal_offset + k];
    }
}

/* What the actor has drawn, into slot t: rows of the slot behind, as lud_mappo_read_states takes them. */
static void keep_actions(mappo *m, const lud_mappo_group *g, lud_mappo_buffer *b, int64_t n) {
    const lud_mappo_networks *r = g->rollout;
    const int64_t width = b->shape->n_continuous;
    const float *log_prob = r->fields[LUD_FIELD_LOG_PROB].host, *number = r->fields[LUD_FIELD_NUMBER].host;
    const int32_t *action = r->fields[LUD_FIELD_ACTION].host;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = m->row[k] - b->n_rows;
        b->log_probs[row] = log_prob[k];
        if (b->actions)
            b->actions[row] = action[k];
        else
            memcpy(b->numbers + row * width, number + k * width, (size_t)width * sizeof *number);
    }
    if (!b->actions) write_actions(m, g, b, n, m->row, number);
}

/* Environments first .. first + envs, for the agents of a group. */
static lud_status decide_slice(mappo *m, const lud_mappo_group *g, lud_mappo_stepping *stepping, int64_t t,
                               int64_t first, int64_t envs, lud_mappo_deciding what, bool deterministic,
                               lud_error *error) {
    lud_mappo_buffer *b = &stepping->buffer;
    const lud_batch *batch = stepping->batch;
    lud_mappo_networks *r = g->rollout;
    const int64_t n = index_rows(m, g, b, t, first, envs);
    lud_mappo_inputs_observe(&r->inputs, (const void *const *)b->parts, n, m->place, m->agent);
    const lud_mappo_memory memory = lud_mappo_buffer_memory(b);
    LUD_TRY(lud_mappo_inputs_remember(&r->inputs, n, m->row, &memory, error));
    lud_mappo_inputs_upload(&r->inputs);
    for (int64_t k = 0; k < n; k++) m->row[k] += (int32_t)b->n_rows; /* the slot behind */
    /* a group draws as if it were alone, with a seed of its own */
    const uint64_t apart = (uint64_t)(g - m->groups) * UINT64_C(0x9e3779b97f4a7c15);
    const lud_draws draws = {.seed = batch->seed + apart,
                             .first_environment = batch->first_environment + (uint32_t)first,
                             .n_agents = (uint32_t)g->n_agents,
                             .step = batch->tick[first],
                             .purpose = LUD_PURPOSE_ACTION};
    if (what != LUD_DECIDE_VALUES) lud_mappo_allow(r, n, m->agent);
    const int stage = what == LUD_DECIDE_VALUES ? LUD_MAPPO_STAGE_VALUE : LUD_MAPPO_STAGE_ACT;
    lud_profile_begin(&m->profile, stage);
    /* m->values are not in use before returns are estimated */
    switch (what) {
    case LUD_DECIDE_ACTIONS:
        lud_mappo_act(r, &draws, deterministic);
        break;
    case LUD_DECIDE_VALUES:
        lud_mappo_value(r, m->values);
        break;
    case LUD_DECIDE_BOTH:
        lud_mappo_act_and_value(r, &draws, deterministic, m->values);
        lud_mappo_read_critic(r, m->row, b->critic_hidden);
        break;
    }
    for (int64_t k = 0; k < n && what != LUD_DECIDE_ACTIONS; k++)
        b->values[m->row[k] - b->n_rows] = m->values[k];
    if (what != LUD_DECIDE_VALUES) {
        lud_mappo_read_states(r, m->row, b->actor_hidden, b->states);
        keep_actions(m, g, b, n);
    }
    lud_profile_end(&m->profile, stage);
    return LUD_OK;
}

lud_status lud_mappo_decide(mappo *m, lud_mappo_stepping *stepping, int64_t t, lud_mappo_deciding what,
                            bool deterministic, lud_error *error) {
    for (int64_t first = stepping->first, envs; first < stepping->end; first += envs) {
        const int64_t left = share_end(m, stepping, first) - first;
        envs = left < m->slice_envs ? left : m->slice_envs;
        for (int k = 0; k < m->n_groups; k++)
            LUD_TRY(decide_slice(m, &m->groups[k], stepping, t, first, envs, what, deterministic, error));
    }
    return LUD_OK;
}

/* Values of what was seen last in episodes that step t cut off, before slot t + 1 forgets them. */
static lud_status value_final(mappo *m, const lud_mappo_group *g, int64_t t, lud_error *error) {
    lud_mappo_buffer *b = &m->training.buffer;
    const lud_batch *batch = m->training.batch;
    lud_mappo_networks *r = g->rollout;
    const lud_model *model = m->scenario->model;
    const int64_t n_agents = b->shape->n_agents;
    for (int64_t e = m->training.first; e < m->training.end;) {
        const int64_t end = share_end(m, &m->training, e);
        int64_t n = 0;
        for (; e < end && n < m->slice_envs * g->n_agents; e++) {
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
            for (int64_t i = 0; i < g->n_agents; i++, n++) {
                m->place[n] = (int32_t)e;
                m->agent[n] = g->agents[i];
                m->row[n] = (int32_t)(((t + 1) * b->n_envs + e) * n_agents + g->agents[i]);
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
static void keep_episode(mappo *m, const lud_mappo_stepping *s, int64_t environment, bool ended,
                         const uint8_t *last) {
    const lud_model *model = m->scenario->model;
    double *measures = m->measures + model->layout.n_measures,
           *row = m->ended + m->n_ended++ * m->ended_width;
    row[STEP] = (double)m->steps_counted;
    row[ENVIRONMENT] = (double)environment;
    row[RETURN] = s->episode_return[environment];
    row[ENDED] = ended;
    for (int k = 0; k < lud_mappo_n_group_returns(m); k++)
        row[MEASURES + m->n_measures + k] = s->group_return[environment * m->n_groups + k];
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
        for (int k = 0; k < lud_mappo_n_group_returns(m); k++)
            sums->of_group[k] += row[MEASURES + m->n_measures + k];
    }
    return LUD_OK;
}

static void slot_parts(const lud_mappo_buffer *b, int64_t t, void **parts) {
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        parts[p] = b->parts[p] ? (char *)b->parts[p] + (size_t)(t * b->n_envs) * b->part_bytes[p] : NULL;
}

/* The rewards of one step of an environment. */
static void add_group_returns(const mappo *m, const float *rewards, double *returns) {
    for (int k = 0; k < lud_mappo_n_group_returns(m); k++) {
        const lud_mappo_group *g = &m->groups[k];
        for (int64_t i = 0; i < g->n_agents; i++)
            returns[k] += (double)rewards[g->agents[i]] / (double)g->n_agents;
    }
}

/* What follows from step t: values of what was seen last, episodes that begin anew, and the tallies of those
 * that ended. */
static lud_status end_step(mappo *m, lud_mappo_stepping *s, int64_t t, int64_t *left, lud_error *error) {
    lud_mappo_buffer *b = &s->buffer;
    double *returns = s->episode_return;
    const lud_model *model = m->scenario->model;
    const int64_t n_agents = b->shape->n_agents;
    const float *rewards = b->rewards + t * b->n_rows;
    lud_status status = LUD_OK;
    for (int k = 0; k < m->n_groups && !status && s == &m->training && b->final_values; k++)
        status = value_final(m, &m->groups[k], t, error);
    lud_mappo_buffer_end_episodes(b, t, m->terminated, m->truncated);
    for (int64_t e = s->first; e < s->end; e++) {
        for (int64_t a = 0; a < n_agents; a++)
            returns[e] += (double)rewards[e * n_agents + a] / (double)n_agents;
        add_group_returns(m, rewards + e * n_agents, s->group_return + e * m->n_groups);
        if (!m->terminated[e] && !m->truncated[e]) continue;
        if (!left || left[e] > 0) {
            keep_episode(m, s, e, m->terminated[e], m->final_states + (size_t)e * model->layout.state_bytes);
            if (left) left[e]--;
        }
        returns[e] = 0.0;
        memset(s->group_return + e * m->n_groups, 0, (size_t)m->n_groups * sizeof *s->group_return);
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
    return lud_ranks_complete(m->device->ranks, arrays, sizeof arrays / sizeof *arrays,
                              m->groups[0].ppo.core.shares.n, error);
}

lud_status lud_mappo_complete(mappo *m, lud_error *error) {
    lud_mappo_stepping *s = &m->training;
    const lud_mappo_buffer *b = &s->buffer;
    const size_t row = (size_t)b->shape->n_agents * sizeof(float), hidden = row * (size_t)b->hidden_width;
    const int64_t n = b->n_envs;
    const int n_shares = m->groups[0].ppo.core.shares.n;
    enum { KEPT = 5 };
    lud_ranks_array arrays[LUD_MAX_OBSERVATION_PARTS + KEPT] = {
        {b->actor_hidden, hidden, 1, n},
        {b->critic_hidden, hidden, 1, n},
        {b->states, row * (size_t)b->state_width, 1, n},
        {s->episode_return, sizeof *s->episode_return, 1, n},
        {s->group_return, (size_t)m->n_groups * sizeof *s->group_return, 1, n}};
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        arrays[KEPT + p] = (lud_ranks_array){b->parts[p], b->part_bytes[p], 1, n};
    LUD_TRY(lud_ranks_complete(m->device->ranks, arrays, LUD_MAX_OBSERVATION_PARTS + KEPT, n_shares, error));
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
    for (int k = 0; k < lud_mappo_n_group_returns(m) && sums.n > 0; k++)
        row[LUD_MAPPO_COLUMNS + m->n_measures + k] = sums.of_group[k] / sums.n;
    return status;
}
