#include "learn/mappo/mappo.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "learn/mappo/automatic.h"
#include "learn/mappo/policy.h"
#include "learn/mappo/stability/stability.h"
#include "learn/mappo/start.h"

typedef lud_mappo_learner_state mappo;

/* SLICE_ROWS: rows of one run of a network in an update, the same on every device. */
enum { SLICE_ROWS = 1024, FIRST_EVALUATED = 1 << 24 };

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

static const char *const stages[LUD_MAPPO_STAGES] = {"act",    "world",    "values", "returns",
                                                     "gather", "gradient", "step",   "rollout"};

static void destroy(lud_learner *learner) {
    mappo *m = (mappo *)learner;
    lud_mappo_device_rollout_destroy(m->device_rollout);
    lud_mappo_opponents_destroy(&m->opponents);
    for (int k = 0; k < LUD_MAPPO_GROUPS; k++) {
        lud_mappo_networks_destroy(m->groups[k].rollout);
        lud_mappo_ppo_destroy(&m->groups[k].ppo);
        lud_mappo_networks_destroy(m->groups[k].update);
    }
    lud_mappo_stepping *const steppings[] = {&m->training, &m->evaluation};
    for (int i = 0; i < 2; i++) {
        lud_mappo_buffer_destroy(&steppings[i]->buffer);
        lud_batch_destroy(steppings[i]->batch);
    }
    lud_arrays_free(&m->arrays);
    lud_arena_destroy(m->arena);
    free(m);
}

/* Returns are compared between the copies of the world: those of a team's agents at the same step. */
static void write_groups(mappo *m) {
    const lud_mappo_buffer *b = &m->training.buffer;
    const lud_layout *layout = &b->shape->model->layout;
    const int n_teams = layout->n_teams > 0 ? layout->n_teams : 1;
    for (int64_t i = 0; i < b->n_steps * b->n_rows; i++)
        m->group[i] =
            (int32_t)(i / b->n_rows * n_teams) + (layout->teams ? layout->teams[i % b->shape->n_agents] : 0);
}

static bool take_arrays(mappo *m) {
    const lud_mappo_buffer *b = &m->training.buffer;
    const size_t rows = (size_t)b->n_rows, envs = (size_t)b->n_envs, samples = (size_t)b->n_steps * rows,
                 index = (rows > SLICE_ROWS ? rows : SLICE_ROWS) + (size_t)m->options.chunk_length;
    lud_arrays *a = &m->arrays;
    LUD_TAKE(a, m->place, index);
    LUD_TAKE(a, m->agent, index);
    LUD_TAKE(a, m->row, index);
    LUD_TAKE(a, m->values, 2 * samples + rows);
    if (m->options.update.baseline.type == LUD_BASELINE_GROUP_MEAN && LUD_TAKE(a, m->group, samples))
        write_groups(m);
    if (m->n_groups > 1) LUD_TAKE(a, m->columns_of_group, 2 * samples + rows);
    LUD_TAKE(a, m->actions, rows * (size_t)b->shape->n_continuous + 1);
    LUD_TAKE(a, m->terminated, envs);
    LUD_TAKE(a, m->truncated, envs);
    LUD_TAKE(a, m->final_states, envs * b->shape->model->layout.state_bytes);
    const int64_t episodes = m->options.evaluation_episodes, most = b->n_steps * b->n_envs;
    m->ended_width = 4 + m->n_measures + lud_mappo_n_group_returns(m);
    m->ended_capacity = (most > episodes ? most : episodes) + m->evaluation.buffer.n_envs;
    LUD_TAKE(a, m->ended, (size_t)(m->ended_capacity * m->ended_width));
    m->ended_of_all = m->ended;
    if (m->device->ranks) LUD_TAKE(a, m->ended_of_all, (size_t)(m->ended_capacity * m->ended_width));
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS && b->final_values; p++)
        if (b->parts[p]) m->final_parts[p] = lud_arrays_add(a, calloc(envs, b->part_bytes[p]));
    return !a->failed;
}

/* Which environments this process steps: those of its shares. */
static void divide(const mappo *m, lud_mappo_stepping *s) {
    lud_batch_divide(s->batch, m->device->ranks, (int)m->options.update.shares);
    s->first = s->batch->first_stepped;
    s->end = s->first + s->batch->n_stepped;
}

/* `n_envs` environments, `first` and those behind it, with room for n_steps steps of them. */
static lud_status open_environments(mappo *m, int64_t n_envs, uint32_t first, int64_t n_steps,
                                    lud_mappo_stepping *s, lud_error *error) {
    lud_status status = lud_mappo_buffer_create(&m->groups[0].rollout->shape, &m->options, m->device, n_steps,
                                                n_envs, &s->buffer, error);
    if (!status) status = lud_batch_create(m->scenario->model, (int)n_envs, m->seed, first, &s->batch, error);
    if (status) return status;
    LUD_TAKE(&m->arrays, s->episode_return, (size_t)n_envs);
    LUD_TAKE(&m->arrays, s->group_return, (size_t)n_envs * (size_t)m->n_groups);
    if (!s->episode_return || !s->group_return) return lud_no_memory(error, "a learner");
    divide(m, s);
    return LUD_OK;
}

int lud_mappo_n_group_returns(const mappo *m) {
    return m->n_groups > 1 ? m->n_groups : 0;
}

/* Groups begin with other weights each, the first one as all agents together do. */
static uint64_t seed_of(const mappo *m, int group) {
    return m->seed + (uint64_t)group * UINT64_C(0x9e3779b97f4a7c15);
}

static lud_status find_groups(mappo *m, lud_error *error) {
    const lud_layout *layout = &m->scenario->model->layout;
    lud_mappo_grouping grouping;
    LUD_TRY(lud_mappo_groups_find(layout, &m->options, m->arena, &grouping, error));
    m->n_groups = grouping.n;
    for (int k = 0; k < grouping.n; k++) {
        lud_mappo_group *g = &m->groups[k];
        g->name = grouping.names[k];
        g->prefix = grouping.prefixes[k];
        g->agents = lud_arena_take_array(m->arena, (size_t)layout->n_agents, sizeof *g->agents);
        if (!g->agents) return lud_no_memory(error, "groups");
        for (int i = 0; i < layout->n_agents; i++)
            if (grouping.of[i] == k) g->agents[g->n_agents++] = i;
        g->whole = g->n_agents == layout->n_agents;
    }
    return LUD_OK;
}

static lud_status build_networks(mappo *m, int64_t envs, lud_error *error) {
    lud_mappo_options *o = &m->options;
    const lud_model *model = m->scenario->model;
    const int64_t most = o->chunk_length > SLICE_ROWS ? o->chunk_length : SLICE_ROWS;
    for (int k = 0; k < m->n_groups; k++) {
        lud_mappo_group *g = &m->groups[k];
        const int64_t samples = envs * o->rollout_length * g->n_agents,
                      slice = samples < most ? samples : most;
        const uint64_t seed = seed_of(m, k);
        LUD_TRY(lud_mappo_networks_create(model, o, m->device, seed, slice, LUD_MAPPO_UPDATE, NULL,
                                          &g->update, error));
        *o = g->update->options; /* `auto` resolved */
        LUD_TRY(lud_mappo_networks_create(model, o, m->device, seed, m->slice_envs * g->n_agents,
                                          LUD_MAPPO_ROLLOUT, g->update->parameters, &g->rollout, error));
    }
    return LUD_OK;
}

static lud_status build_updates(mappo *m, lud_error *error) {
    const lud_mappo_buffer *b = &m->training.buffer;
    for (int k = 0; k < m->n_groups; k++) {
        lud_mappo_group *g = &m->groups[k];
        LUD_TRY(lud_mappo_ppo_create(&g->ppo, g->update, &m->options, seed_of(m, k), b->n_steps * b->n_rows,
                                     b->n_rows, error));
        g->ppo.core.ppo.samples = (lud_samples){b->log_probs, b->values, b->advantages, b->returns};
        g->ppo.core.profile = &m->profile;
        g->ppo.core.step_stage = LUD_MAPPO_STAGE_STEP;
    }
    return LUD_OK;
}

/* `PREFIX/GROUP` for each of several groups behind the columns that are there. */
static lud_status name_group_columns(mappo *m, const char *prefix, lud_metric *to, int *n, lud_error *error) {
    for (int k = 0; k < lud_mappo_n_group_returns(m); k++) {
        lud_text name = {0};
        lud_text_append(&name, "%s/%s", prefix, m->groups[k].name);
        const char *text = name.failed ? NULL : lud_arena_text(m->arena, name.bytes, name.length);
        lud_text_free(&name);
        if (!text) return lud_no_memory(error, "a learner");
        to[(*n)++] = (lud_metric){text, "%.4g", "the same, mean over the agents of this group"};
    }
    return LUD_OK;
}

static lud_status open_novelty(mappo *m, const lud_scenario *s, lud_error *error) {
    const lud_mappo_buffer *b = &m->training.buffer;
    if (!s->model->world->situation)
        return lud_invalid_at(error, s->learner ? s->learner->place : (lud_place){0},
                              "learner.novelty: in the world %s hardly anything is met twice; expected 0",
                              s->model->world->name);
    lud_mappo_novelty_open(&m->novelty, &m->arrays, b->n_steps * b->n_rows, s->model->layout.n_agents,
                           m->options.novelty_relative);
    return LUD_OK;
}

static lud_status build(mappo *m, const lud_scenario *s, lud_device *device, lud_error *error) {
    lud_mappo_options *o = &m->options;
    lud_status status = lud_mappo_options_begin(m->arena, s->learner, o, error);
    if (!status) status = lud_mappo_choose(s, m->arena, o, &m->base, error);
    if (!status) status = lud_mappo_options_end(s->learner, o, error);
    if (status) return status;
    LUD_TRY(find_groups(m, error));
    if (o->start && !(o->start = lud_path_find(m->arena, s->path, o->start)))
        return lud_no_memory(error, "a learner");
    const int64_t n_agents = s->model->layout.n_agents,
                  envs = m->base.n_environments > 0 ? m->base.n_environments : s->run.environments;
    const int64_t evaluated = envs < LUD_MAPPO_MAX_EVALUATED ? envs : LUD_MAPPO_MAX_EVALUATED;
    m->seed = (uint64_t)s->run.seed;
    const int64_t most = device->backend->rows_per_run;
    m->slice_envs = most / n_agents > 0 ? most / n_agents : 1;
    if (m->slice_envs > envs) m->slice_envs = envs;
    status = build_networks(m, envs, error);
    if (!status)
        status = lud_shares_check(o->update.shares, envs, "environments",
                                  s->learner ? s->learner->place : (lud_place){0}, error);
    if (!status) status = open_environments(m, envs, 0, o->rollout_length, &m->training, error);
    if (!status) status = open_environments(m, evaluated, FIRST_EVALUATED, 1, &m->evaluation, error);
    if (!status) m->evaluation.batch->most_steps = lud_batch_limit(m->scenario->model);
    const lud_mappo_buffer *b = &m->training.buffer;
    /* one run has rows of all environments; visits are counted where the host sees every step */
    if (!status && o->update.shares == 1 && m->n_groups == 1 && !(o->novelty > 0.0))
        status = lud_mappo_device_rollout_create(m->groups[0].rollout, b, m->training.batch, m->slice_envs,
                                                 &m->device_rollout, error);
    if (!status) status = build_updates(m, error);
    if (!status)
        status =
            lud_mappo_opponents_open(&m->opponents, o->opponents, m->groups, m->n_groups, m->arena, error);
    if (!status && o->novelty > 0.0) status = open_novelty(m, s, error);
    if (!status && !take_arrays(m)) status = lud_no_memory(error, "a learner");
    if (status) return status;
    m->base.n_columns += lud_update_n_gate_columns(&o->update);
    LUD_TRY(name_group_columns(m, "return", m->row_columns, &m->base.n_columns, error));
    LUD_TRY(name_group_columns(m, "evaluation/return", m->evaluation_columns, &m->base.n_evaluation_columns,
                               error));
    m->base.keeps_last = m->n_groups > 1; /* what is good for one group may be bad for another */
    const uint64_t per_iteration = (uint64_t)(envs * o->rollout_length);
    m->base.n_iterations = ((uint64_t)o->steps + per_iteration - 1) / per_iteration;
    return LUD_OK;
}

/* Our own columns with the world's measures among them, and memory for the measures. */
static lud_status name_columns(mappo *m, const lud_layout *layout, lud_error *error) {
    const int n = m->n_measures = layout->n_columns;
    const size_t most = (size_t)(LUD_MAPPO_COLUMNS + n + LUD_UPDATE_GATE_COLUMNS + LUD_MAPPO_GROUPS);
    lud_metric *row = lud_arena_take_array(m->arena, most, sizeof *row);
    lud_metric *evaluation = lud_arena_take_array(
        m->arena, (size_t)(LUD_MAPPO_EVALUATION_COLUMNS + n + LUD_MAPPO_GROUPS), sizeof *evaluation);
    m->measures = lud_arena_take_array(m->arena, 2 * (size_t)layout->n_measures + 1, sizeof *m->measures);
    bool whole = row && evaluation && m->measures;
    for (int k = 0; k < LUD_MAPPO_COLUMNS && whole; k++)
        row[k < LUD_MAPPO_POLICY_LOSS ? k : k + n] = columns[k];
    for (int k = 0; k < LUD_UPDATE_GATE_COLUMNS && whole; k++)
        row[LUD_MAPPO_COLUMNS + n + k] = lud_update_gate_columns[k];
    for (int k = 0; k < LUD_MAPPO_EVALUATION_COLUMNS && whole; k++)
        evaluation[k] = lud_mappo_evaluation_columns[k];
    for (int k = 0; k < n && whole; k++) {
        const lud_measure *measure = &layout->measures[k];
        char name[96];
        snprintf(name, sizeof name, "evaluation/%s", measure->name);
        const char *text = lud_arena_text(m->arena, name, strlen(name));
        row[LUD_MAPPO_POLICY_LOSS + k] = (lud_metric){measure->name, measure->format, measure->help};
        evaluation[LUD_MAPPO_EVALUATION_COLUMNS + k] = (lud_metric){text, measure->format, measure->help};
        whole = text != NULL;
    }
    m->row_columns = row;
    m->evaluation_columns = evaluation;
    m->base.columns = row;
    m->base.n_columns = LUD_MAPPO_COLUMNS + n; /* those of the gate stand behind, see build */
    m->base.evaluation_columns = evaluation;
    m->base.n_evaluation_columns = LUD_MAPPO_EVALUATION_COLUMNS + n;
    return whole ? LUD_OK : lud_no_memory(error, "a learner");
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    mappo *m = calloc(1, sizeof *m);
    if (!m) return lud_no_memory(error, "a learner");
    m->base = (lud_learner){.kind = &lud_mappo_learner};
    m->scenario = scenario;
    m->device = device;
    m->profile = (lud_profile){.title = "graph-mappo", .stages = stages, .n = LUD_MAPPO_STAGES};
    m->arena = lud_arena_create(0);
    lud_status status =
        m->arena ? name_columns(m, &scenario->model->layout, error) : lud_no_memory(error, "a learner");
    if (!status) status = build(m, scenario, device, error);
    if (status)
        destroy(&m->base);
    else
        *learner = &m->base;
    return status;
}

/* What the updates of all groups came to. */
typedef struct learned {
    lud_ppo_sums sums;
    double actor_norm, critic_norm; /* means over the groups that learned */
} learned;

static learned sum_groups(const mappo *m) {
    learned all = {0};
    const int first = m->opponents.group == 0; /* who has learned */
    const int n = m->opponents.group >= 0 ? m->n_groups - 1 : m->n_groups;
    for (int k = first; k < m->n_groups; k++) {
        if (k == m->opponents.group) continue;
        const lud_mappo_ppo *p = &m->groups[k].ppo;
        const lud_update *u = &p->core;
        const double n_stepped = u->n_stepped > 0 ? (double)u->n_stepped : 1.0; /* a gate may keep nothing */
        if (k == first)
            all.sums = u->sums;
        else
            lud_ppo_sums_add(&all.sums, &u->sums);
        all.actor_norm += u->groups[p->actor].norm / n_stepped / n;
        all.critic_norm += u->groups[p->critic].norm / n_stepped / n;
    }
    return all;
}

static lud_status can_begin(lud_learner *learner, lud_error *error) {
    const mappo *m = (mappo *)learner;
    return m->options.start ? lud_mappo_begin_with(m->groups[0].update, m->options.start, error) : LUD_OK;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    mappo *m = (mappo *)learner;
    const double began = lud_clock_seconds();
    lud_status status = LUD_OK;
    if (m->iteration == 0 && m->options.start) /* not in create: a run that goes on needs no start */
        status = lud_mappo_begin_with(m->groups[0].update, m->options.start, error);
    lud_mappo_opponents_begin(&m->opponents, m->groups, m->seed, m->iteration);
    if (!status) status = lud_mappo_collect(m, row, error);
    lud_mappo_opponents_end(&m->opponents, m->groups);
    if (!status) status = lud_mappo_update(m, error);
    if (!status) status = lud_device_check(m->device, error);
    LUD_TRY(lud_ranks_agree(m->device->ranks, status, error));
    LUD_TRY(lud_mappo_complete(m, error));
    m->iteration++;
    const double steps = (double)(m->training.buffer.n_steps * m->training.buffer.n_envs);
    const learned found = sum_groups(m);
    const lud_ppo_sums *l = &found.sums;
    row[LUD_MAPPO_STEPS] = steps * (double)m->iteration;
    row += m->n_measures; /* those of the world stand before the following */
    row[LUD_MAPPO_POLICY_LOSS] = l->policy_loss / l->rows;
    row[LUD_MAPPO_VALUE_LOSS] = l->value_loss / l->value_rows;
    row[LUD_MAPPO_ENTROPY] = l->entropy / l->rows;
    row[LUD_MAPPO_RATIO] = l->ratio / l->rows;
    row[LUD_MAPPO_CLIPPED] = l->clipped / l->rows;
    lud_update_gate_row(&m->groups[0].ppo.core,
                        row + LUD_MAPPO_COLUMNS); /* one group where there is a gate */
    row[LUD_MAPPO_ACTOR_NORM] = found.actor_norm;
    row[LUD_MAPPO_CRITIC_NORM] = found.critic_norm;
    row[LUD_MAPPO_SPEED] = steps / (lud_clock_seconds() - began);
    lud_profile_call(&m->profile);
    LUD_TRY(lud_device_check(m->device, error));
    if (!isfinite(l->policy_loss) || !isfinite(l->value_loss) || !isfinite(found.actor_norm))
        return lud_fail(error, LUD_ERROR_NUMERIC,
                        "graph-mappo: a loss is not finite; try a smaller learning_rate or max_norm");
    return LUD_OK;
}

/* --- checkpoints --- */

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    mappo *m = (mappo *)learner;
    for (int k = 0; k < m->n_groups; k++)
        lud_mappo_ppo_visit_policy(&m->groups[k].ppo, m->groups[k].prefix, checkpoint);
}

/* What is seen follows from the states, so it is not taken from a file. A GPU's own real numbers may differ
 * from these in their last bit: they stay, being finite. */
static void observe_again(mappo *m) {
    const lud_mappo_buffer *b = &m->training.buffer;
    const lud_layout *layout = &m->scenario->model->layout;
    const bool same = m->device->backend->host_memory;
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++)
        if (same || layout->parts[p].dtype != LUD_F32) parts[p] = b->parts[p];
    lud_batch_observe(m->training.batch, parts);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    mappo *m = (mappo *)learner;
    const lud_mappo_buffer *b = &m->training.buffer;
    uint64_t started = m->started;
    for (int k = 0; k < m->n_groups; k++)
        lud_mappo_ppo_visit(&m->groups[k].ppo, m->groups[k].prefix, checkpoint);
    lud_checkpoint_u64(checkpoint, "mappo.iteration", &m->iteration);
    lud_checkpoint_u64(checkpoint, "mappo.started", &started);
    m->started = started != 0;
    lud_mappo_opponents_visit(&m->opponents, m->groups, m->iteration, checkpoint);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) {
        char name[64];
        snprintf(name, sizeof name, "mappo.observation.%d", p);
        if (b->parts[p])
            lud_checkpoint_bytes(checkpoint, name, b->parts[p], (size_t)b->n_envs * b->part_bytes[p]);
    }
    const struct {
        const char *name;
        float *rows; /* null: these options have none */
        int64_t width;
    } kept[] = {{"mappo.masks", b->masks, 1},
                {"mappo.actor_hidden", b->actor_hidden, b->hidden_width},
                {"mappo.critic_hidden", b->critic_hidden, b->hidden_width},
                {"mappo.states", b->states, b->state_width}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i].rows)
            lud_checkpoint_tensor(checkpoint, kept[i].name, LUD_TENSOR_F32, 2,
                                  (const int64_t[]){b->n_rows, kept[i].width}, kept[i].rows);
    lud_checkpoint_tensor(checkpoint, "mappo.episode_return", LUD_TENSOR_F64, 1, &b->n_envs,
                          m->training.episode_return);
    if (m->n_groups > 1)
        lud_checkpoint_tensor(checkpoint, "mappo.group_return", LUD_TENSOR_F64, 2,
                              (const int64_t[]){b->n_envs, m->n_groups}, m->training.group_return);
    if (m->novelty.counts) lud_mappo_novelty_visit(&m->novelty, checkpoint);
    lud_batch *batch = m->training.batch;
    const int64_t bytes = (int64_t)lud_batch_snapshot_bytes(batch);
    void *place = lud_checkpoint_place(checkpoint, "mappo.worlds", LUD_TENSOR_U8, 1, &bytes);
    if (!place) return;
    if (!lud_checkpoint_loading(checkpoint)) {
        lud_batch_save(batch, place);
        return;
    }
    lud_checkpoint_limit(checkpoint, "mappo.iteration", m->iteration, LUD_CHECKPOINT_MOST);
    if (!m->started || lud_checkpoint_status(checkpoint, NULL)) return; /* nobody has begun an episode */
    lud_error error = {0};
    const lud_status status = lud_batch_load(batch, place, &error);
    lud_checkpoint_require(checkpoint, "mappo.worlds", status, &error);
    if (!status) observe_again(m);
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    return lud_mappo_evaluation_run((mappo *)learner, row, error);
}

static void report(lud_learner *learner, lud_text *out) {
    const lud_profile *profile = &((const mappo *)learner)->profile;
    if (profile->calls > 0) lud_profile_print(profile, out);
}

const lud_learner_kind lud_mappo_learner = {
    .name = "graph-mappo",
    .about = "PPO with networks that agents share: MAPPO, IPPO, graph networks, magnitude and direction",
    .options = &lud_mappo_option_table,
    .values = offsetof(mappo, options),
    .counts_steps = true,
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .can_begin = can_begin,
    .evaluate = evaluate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "evaluation/return"},
    .training_score = {.column = "return"},
    .join = lud_mappo_join,
    .report = report,
    .honours = LUD_HONOURS_CURVES | LUD_HONOURS_AGAINST | LUD_HONOURS_EVALUATION_EPISODES,
    .adds_to_evaluation = true,
    .evaluate_run = lud_mappo_evaluate_run,
};
