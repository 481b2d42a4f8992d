#include "learn/mappo/update.h"

#include <string.h>

#include "learn/mappo/mappo.h"

typedef lud_mappo_learner_state mappo;

/* --- a slice --- */

/* One slice for one of the two networks: they share inputs and nothing that is written. */
static void enqueue_actor(lud_device *device, void *ppo) {
    const lud_mappo_ppo *p = ppo;
    lud_mappo_networks *t = p->networks;
    lud_nn_run_on(t->actor.nn, device);
    lud_mappo_net_forward(&t->actor, true);
    lud_ppo_policy_gradient(&p->core.ppo, device, &lud_mappo_head, t);
    lud_nn_backward(t->actor.nn);
    lud_nn_run_on(t->actor.nn, NULL);
}

static void enqueue_critic(lud_device *device, void *ppo) {
    const lud_mappo_ppo *p = ppo;
    lud_mappo_net *critic = &p->networks->critic;
    lud_nn_run_on(critic->nn, device);
    lud_mappo_net_forward(critic, true);
    lud_ppo_value_gradient(&p->core.ppo, device, lud_nn_value(critic->nn, critic->out),
                           lud_nn_gradient(critic->nn, critic->out));
    lud_nn_backward(critic->nn);
    lud_nn_run_on(critic->nn, NULL);
}

/* A recorded piece: it calls operations and nothing else. */
static void enqueue_slice(void *ppo) {
    const lud_mappo_ppo *p = ppo;
    lud_device *device = p->networks->device;
    switch ((lud_ppo_pass)p->core.ppo.pass) {
    case LUD_PPO_BOTH:
        lud_device_run_both(device, enqueue_actor, ppo, enqueue_critic, ppo);
        break;
    case LUD_PPO_POLICY:
        enqueue_actor(device, ppo);
        break;
    case LUD_PPO_CRITIC:
        enqueue_critic(device, ppo);
        break;
    }
}

void lud_mappo_ppo_add_slice(lud_mappo_ppo *p) {
    lud_row_arrays_send(&p->core.ppo.rows);
    lud_mappo_send_actions(p->networks);
    if (lud_mappo_is_direct(p->networks))
        lud_mappo_run(p->networks, &p->adding, (uint64_t)p->core.ppo.pass);
    else
        enqueue_slice(p);
    lud_ppo_add_sums(&p->core.ppo, p->networks->inputs.n, &p->core.minibatch);
}

/* --- creation --- */

static lud_status build_optimiser(lud_mappo_ppo *p, const lud_mappo_options *o, uint64_t seed,
                                  lud_error *error) {
    p->optimiser = lud_optimiser_create(p->networks->parameters);
    if (!p->optimiser) return lud_no_memory(error, "an optimiser");
    lud_optimiser_options steps = o->optimiser;
    steps.max_norm = o->max_norm;
    int magnitude = -1;
    if (o->control == LUD_MAPPO_MAD && o->mad.learning_rate > 0.0)
        magnitude = lud_optimiser_group(p->optimiser, "actor.magnitude.", &steps, false);
    const int actor = lud_optimiser_group(p->optimiser, "actor.", &steps, false);
    const int critic = lud_optimiser_group(p->optimiser, "critic.", &steps, false);
    if (actor < 0 || critic < 0) return lud_no_memory(error, "an optimiser");
    p->magnitude = lud_update_add_group(&p->core, magnitude, 0.0);
    p->actor = lud_update_add_group(&p->core, actor, 0.0);
    p->critic = lud_update_add_group(&p->core, critic, 0.0);
    if (p->magnitude >= 0) p->core.groups[p->magnitude].pass = LUD_PPO_POLICY;
    p->core.groups[p->actor].pass = LUD_PPO_POLICY;
    p->core.groups[p->critic].pass = LUD_PPO_CRITIC;
    lud_mappo_ppo_set_rates(p, o, 1.0);
    return lud_optimiser_build(p->optimiser, seed, error);
}

lud_status lud_mappo_ppo_create(lud_mappo_ppo *p, lud_mappo_networks *t, const lud_mappo_options *options,
                                uint64_t seed, int64_t n_samples, int64_t n_rows, lud_error *error) {
    *p = (lud_mappo_ppo){.networks = t,
                         .normaliser = {.device = t->device,
                                        .kind = (lud_value_normaliser_kind)options->normaliser,
                                        .beta = options->normaliser_beta,
                                        .parameters = t->parameters,
                                        .weight = lud_parameters_find(t->parameters, "critic.out.weight"),
                                        .bias = lud_parameters_find(t->parameters, "critic.out.bias")}};
    lud_capture_start(&p->adding, t->device, enqueue_slice, p);
    LUD_TRY(build_optimiser(p, options, seed, error));
    if (!lud_value_normaliser_create(&p->normaliser))
        return lud_no_memory(error, "the statistics of returns");
    p->core.ppo.device = t->device;
    p->core.ppo.options = &options->update;
    p->core.ppo.entropy_coefficient = options->update.entropy_coefficient;
    p->core.parameters = t->parameters;
    p->core.optimiser = p->optimiser;
    p->core.normaliser = &p->normaliser;
    p->core.seed = seed;
    p->core.stride = n_rows;
    p->core.n_environments = n_rows / t->shape.n_agents;
    return lud_update_create(&p->core, n_samples, t->inputs.max_rows, 0, error);
}

void lud_mappo_ppo_destroy(lud_mappo_ppo *p) {
    lud_capture_end(&p->adding);
    lud_update_destroy(&p->core);
    lud_value_normaliser_destroy(&p->normaliser);
    lud_optimiser_destroy(p->optimiser);
    p->optimiser = NULL;
}

void lud_mappo_ppo_set_rates(lud_mappo_ppo *p, const lud_mappo_options *o, double factor) {
    if (p->magnitude >= 0) p->core.groups[p->magnitude].rate = factor * o->mad.learning_rate;
    p->core.groups[p->actor].rate = factor * o->learning_rate;
    p->core.groups[p->critic].rate = factor * o->critic_learning_rate;
}

enum { NAME_BYTES = 256 };

void lud_mappo_ppo_visit_policy(lud_mappo_ppo *p, const char *prefix, lud_checkpoint *checkpoint) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%snormaliser", prefix);
    lud_parameters_visit(p->networks->parameters, prefix, checkpoint);
    lud_checkpoint_tensor(checkpoint, name, LUD_TENSOR_F32, 1, (const int64_t[]){LUD_NORMALISER_FIELDS},
                          p->normaliser.state);
}

void lud_mappo_ppo_visit(lud_mappo_ppo *p, const char *prefix, lud_checkpoint *checkpoint) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%soptimiser.", prefix);
    lud_mappo_ppo_visit_policy(p, prefix, checkpoint);
    lud_optimiser_visit(p->optimiser, name, checkpoint);
    lud_update_visit(&p->core, checkpoint); /* nothing with several groups, see lud_mappo_groups_find */
}

/* --- an update --- */

lud_status lud_mappo_gather(mappo *m, lud_mappo_group *g, const lud_chunk *chunks, int64_t n,
                            lud_error *error) {
    lud_mappo_networks *u = g->update;
    const lud_mappo_buffer *b = &m->training.buffer;
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
    LUD_TRY(lud_mappo_inputs_remember(&u->inputs, n, m->row, &memory, error));
    lud_mappo_inputs_upload(&u->inputs);
    lud_mappo_allow(u, rows, m->agent);
    lud_ppo_fill(&g->ppo.core.ppo, rows, m->row, rows, 0);
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

/* The group whose update is run. */
typedef struct updating {
    mappo *m;
    lud_mappo_group *group;
} updating;

/* Chunks of equal length, so that no row is padding. */
static lud_status add_slice(void *context, const lud_chunk *chunks, int64_t n, int64_t *n_taken,
                            lud_error *error) {
    const updating *of = context;
    mappo *m = of->m;
    const int64_t most = of->group->update->inputs.max_rows / chunks[0].length;
    int64_t taken = 1;
    while (taken < n && taken < most && chunks[taken].length == chunks[0].length) taken++;
    lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_GATHER);
    lud_status status = lud_mappo_gather(m, of->group, chunks, taken, error);
    lud_profile_end(&m->profile, LUD_MAPPO_STAGE_GATHER);
    if (status) return status;
    lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_GRADIENT);
    lud_mappo_ppo_add_slice(&of->group->ppo);
    lud_profile_end(&m->profile, LUD_MAPPO_STAGE_GRADIENT);
    *n_taken = taken;
    return LUD_OK;
}

/* The group's columns of array[n][n_agents] into part[n][agents of the group], or back. */
static void take_columns(const mappo *m, const lud_mappo_group *g, int64_t n, float *array, float *part,
                         bool back) {
    const int64_t n_agents = m->training.buffer.shape->n_agents;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < g->n_agents; k++) {
            float *whole = array + i * n_agents + g->agents[k], *own = part + i * g->n_agents + k;
            if (back)
                *whole = *own;
            else
                *own = *whole;
        }
}

/* n values of all agents, in units of reward: those of a group's critic by what the group has seen. */
static void denormalise(mappo *m, int64_t n, float *values) {
    const int64_t n_agents = m->training.buffer.shape->n_agents;
    for (int k = 0; k < m->n_groups; k++) {
        const lud_mappo_group *g = &m->groups[k];
        if (g->whole) {
            lud_value_normaliser_denormalise(&g->ppo.normaliser, n, values);
            continue;
        }
        const int64_t steps = n / n_agents;
        take_columns(m, g, steps, values, m->columns_of_group, false);
        lud_value_normaliser_denormalise(&g->ppo.normaliser, steps * g->n_agents, m->columns_of_group);
        take_columns(m, g, steps, values, m->columns_of_group, true);
    }
}

/* Each group's advantages are measured by themselves: roles are paid differently. */
static void scale_advantages(mappo *m) {
    lud_mappo_buffer *b = &m->training.buffer;
    const int64_t samples = b->n_steps * b->n_rows, steps = samples / b->shape->n_agents;
    for (int k = 0; k < m->n_groups; k++) {
        const lud_mappo_group *g = &m->groups[k];
        const int64_t n = steps * g->n_agents;
        if (g->whole) {
            lud_advantage_scale_rollout(samples, &m->options.update, b->returns, b->advantages);
            continue;
        }
        float *returns = m->columns_of_group + samples;
        take_columns(m, g, steps, b->advantages, m->columns_of_group, false);
        take_columns(m, g, steps, b->returns, returns, false);
        lud_advantage_scale_rollout(n, &m->options.update, returns, m->columns_of_group);
        take_columns(m, g, steps, b->advantages, m->columns_of_group, true);
    }
}

static void estimate_returns(mappo *m) {
    lud_mappo_buffer *b = &m->training.buffer;
    const int64_t samples = b->n_steps * b->n_rows, slots = samples + b->n_rows;
    const double weight = lud_mappo_novelty_weight(m->options.novelty, m->iteration, m->base.n_iterations);
    for (int64_t i = 0; i < samples && m->novelty.counts; i++)
        b->rewards[i] += (float)weight * m->novelty.found[i];
    float *final_values = m->values + slots;
    memcpy(m->values, b->values, (size_t)slots * sizeof *m->values);
    denormalise(m, slots, m->values);
    if (b->final_values) {
        memcpy(final_values, b->final_values, (size_t)samples * sizeof *final_values);
        denormalise(m, samples, final_values);
    }
    lud_returns returns = lud_mappo_buffer_returns(b, m->values, final_values);
    returns.baseline = &m->groups[0].ppo.core.baseline; /* several groups have a critic alone */
    returns.group = m->group;
    lud_policy_gradient_options unscaled = m->options.update;
    unscaled.scale = LUD_ADVANTAGE_PLAIN;
    lud_returns_estimate(&returns, &unscaled);
    scale_advantages(m);
}

/* Of all chunks those of the group's agents, in their order. */
static int64_t keep_own(const mappo *m, const lud_mappo_group *g, lud_chunk *chunks, int64_t n) {
    const int64_t n_agents = m->training.buffer.shape->n_agents;
    int64_t kept = 0;
    if (g->whole) return n;
    for (int64_t c = 0; c < n; c++)
        for (int64_t k = 0; k < g->n_agents; k++)
            if (chunks[c].first % n_agents == g->agents[k]) chunks[kept++] = chunks[c];
    return kept;
}

static lud_status update_group(mappo *m, lud_mappo_group *g, lud_error *error) {
    static const lud_update_calls calls = {.slice = add_slice};
    lud_mappo_buffer *b = &m->training.buffer;
    const lud_mappo_options *o = &m->options;
    lud_update *u = &g->ppo.core;
    lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_RETURNS);
    u->n_chunks = keep_own(m, g, u->chunks, lud_mappo_buffer_cut(b, o->chunk_length, u->chunks));
    lud_profile_end(&m->profile, LUD_MAPPO_STAGE_RETURNS);
    const int64_t samples = b->n_steps * b->n_envs * g->n_agents;
    int64_t parts = o->minibatches > 0 ? o->minibatches : samples / o->minibatch_size;
    if (parts < 1) parts = 1;
    u->n_minibatches = parts < u->n_chunks ? parts : u->n_chunks;
    const double done = (double)m->iteration / (double)m->base.n_iterations;
    lud_mappo_ppo_set_rates(&g->ppo, o, o->decay_learning_rate ? 1.0 - done : 1.0);
    if (o->decay_entropy) u->ppo.entropy_coefficient = (1.0 - 0.9 * done) * o->update.entropy_coefficient;
    const double begin = LUD_MAPPO_ROLLOUT_PART, part = (1.0 - begin) / m->n_groups;
    u->progress = m->base.progress;
    u->part_begin = begin + part * (double)(g - m->groups);
    u->part_end = u->part_begin + part;
    return lud_update_run(u, m->iteration, &calls, &(updating){m, g}, error);
}

lud_status lud_mappo_update(mappo *m, lud_error *error) {
    lud_profile_begin(&m->profile, LUD_MAPPO_STAGE_RETURNS);
    estimate_returns(m);
    lud_profile_end(&m->profile, LUD_MAPPO_STAGE_RETURNS);
    for (int k = 0; k < m->n_groups; k++)
        if (k != m->opponents.group) LUD_TRY(update_group(m, &m->groups[k], error));
    lud_mappo_buffer_after_update(&m->training.buffer);
    return LUD_OK;
}
