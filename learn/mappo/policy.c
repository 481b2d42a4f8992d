#include "learn/mappo/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/shared_policy.h"
#include "base/text.h"
#include "learn/learner.h"
#include "learn/mappo/head.h"
#include "learn/mappo/mappo.h"
#include "learn/mappo/stability/mad.h"
#include "learn/policy_gradient/value_normaliser.h"
#include "learn/runs/parameters.h"

enum { ROWS = 1024, MOST_NODES = 512 };

/* What the agents of a cast share. */
typedef struct core {
    lud_shared shared;
    lud_mappo_play play;
    const char *prefix; /* of its group's tensors */
    bool *acts;         /* [n_agents] whom the group has */
    lud_device *device;
    lud_arena *arena;
    lud_mappo_networks *networks;
    /* networks of one row with the critic, which acting does without; null: the run has none for this world
     */
    lud_mappo_networks *judging;
    lud_value_normaliser normaliser; /* of its values */
    int64_t hidden_width, state_width;
    int64_t remembered; /* numbers a row keeps, 0: what it does follows from what it sees */
    int32_t place[ROWS], agent[ROWS], row[ROWS];
    uint32_t environment[ROWS], number[ROWS];
    float masks[ROWS], *hidden, *states;
    float *judged; /* [n_agents][remembered] what a recurrent critic has seen of each; null: it is none */
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* of one state that is asked about */
} core;

static core *core_of(const lud_policy *policy) {
    return (core *)((const lud_shared_policy *)policy)->shared;
}

static void release(lud_shared *shared) {
    core *c = (core *)shared;
    lud_value_normaliser_destroy(&c->normaliser);
    lud_mappo_networks_destroy(c->judging);
    lud_mappo_networks_destroy(c->networks);
    lud_device_close(c->device);
    lud_arena_destroy(c->arena);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(c->parts[p]);
    free(c->hidden);
    free(c->states);
    free(c->judged);
}

/* The memory of a row in the hidden bytes: 1 once it has acted (0: an episode begins), recurrent state, state
 * of the magnitude. */
static float *memory_of(const core *c, const lud_act *act, int64_t k) {
    const int64_t slot = k % act->n_agents_acting, e = k / act->n_agents_acting;
    return (float *)(void *)(act->hidden + (size_t)e * act->hidden_stride) + slot * c->remembered;
}

/* Whether it leaves something to chance. */
static bool draws(const core *c) {
    return !c->networks->options.deterministic && !c->play.deterministic;
}

static void write_out(const core *c, const lud_act *act, int64_t i) {
    const lud_mappo_networks *t = c->networks;
    const lud_mappo_shape *shape = &t->shape;
    const size_t at = (size_t)c->place[i] * (size_t)shape->n_agents + (size_t)c->agent[i];
    if (act->log_prob)
        act->log_prob[at] = draws(c) ? ((float *)t->fields[LUD_FIELD_LOG_PROB].host)[i]
                                     : lud_policy_certain(act->model, c->agent[i]);
    if (shape->n_discrete > 0) {
        if (act->discrete) act->discrete[at] = ((int32_t *)t->fields[LUD_FIELD_ACTION].host)[i];
        return;
    }
    const int64_t width = shape->n_continuous;
    const float *number = (float *)t->fields[LUD_FIELD_NUMBER].host + i * width;
    const float *observation = (float *)t->inputs.items[LUD_MAPPO_OBSERVATION].host + i * shape->observation;
    const bool direct = t->options.control == LUD_MAPPO_DIRECT,
               away = c->play.directions == LUD_DIRECTIONS_AWAY;
    const float *raw = away ? lud_nn_value(t->actor.nn, t->actor.magnitude) : NULL;
    const float size = away ? (float)lud_mad_magnitude(&t->options, (double)raw[i], true, NULL) : 0.0f;
    for (int64_t j = 0; j < width && act->continuous; j++) {
        const float goal = direct ? 0.0f : observation[shape->goal_offset + j];
        act->continuous[(int64_t)at * width + j] =
            (away ? (goal > 0.0f ? -size : size) : number[j]) + (float)t->options.mad.base_gain * goal;
    }
}

/* Hands networks n rows: what the agents of `agent` in the environments of `place` see in `observations`,
 * and what stands in hidden, states and masks as remembered. */
static void feed(core *c, lud_mappo_networks *t, const void *const *observations, int64_t n) {
    lud_mappo_inputs *inputs = &t->inputs;
    lud_mappo_inputs_observe(inputs, observations, n, c->place, c->agent);
    const lud_mappo_memory memory = {.masks = c->masks,
                                     .actor_hidden = c->hidden,
                                     .critic_hidden = c->hidden,
                                     .states = c->states,
                                     .hidden_width = c->hidden_width,
                                     .state_width = c->state_width};
    (void)lud_mappo_inputs_remember(inputs, n, c->row, &memory,
                                    NULL); /* all is given: nothing can be missing */
    lud_mappo_inputs_upload(inputs);
}

/* Puts what a row remembers where the networks read it. */
static void recall(core *c, int64_t i, const float *kept) {
    c->masks[i] = kept[0];
    memcpy(c->hidden + i * c->hidden_width, kept + 1, (size_t)c->hidden_width * sizeof *kept);
    memcpy(c->states + i * c->state_width, kept + 1 + c->hidden_width, (size_t)c->state_width * sizeof *kept);
}

/* Rows first .. first + n, of environments whose clocks agree. */
static void act_rows(core *c, const lud_act *act, int64_t first, int64_t n) {
    lud_mappo_networks *t = c->networks;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = first + i;
        c->place[i] = (int32_t)(k / act->n_agents_acting);
        c->agent[i] = act->agents[k % act->n_agents_acting];
        c->row[i] = (int32_t)i;
        c->environment[i] = act->range.first_environment + (uint32_t)c->place[i];
        c->number[i] = (uint32_t)c->agent[i];
        if (c->remembered > 0) recall(c, i, memory_of(c, act, k));
    }
    feed(c, t, (const void *const *)act->observations, n);
    const lud_draws place = {.seed = act->range.seed,
                             .environment = c->environment,
                             .agent = c->number,
                             .n_agents = 1,
                             .step = act->range.tick[c->place[0]],
                             .purpose = LUD_PURPOSE_ACTION};
    lud_mappo_allow(t, n, c->agent);
    lud_mappo_act(t, &place, !draws(c));
    lud_mappo_read_states(t, c->row, c->hidden, c->states);
    for (int64_t i = 0; i < n; i++) {
        write_out(c, act, i);
        if (c->remembered == 0) continue;
        float *kept = memory_of(c, act, first + i);
        kept[0] = 1.0f;
        memcpy(kept + 1, c->hidden + i * c->hidden_width, (size_t)c->hidden_width * sizeof *kept);
        memcpy(kept + 1 + c->hidden_width, c->states + i * c->state_width,
               (size_t)c->state_width * sizeof *kept);
    }
}

static void act_in_range(lud_policy *policy, const lud_act *act) {
    core *c = core_of(policy);
    const int64_t per = act->n_agents_acting, total = act->range.n * per;
    for (int64_t first = 0; first < total;) {
        int64_t end = first + 1;
        const uint32_t tick = act->range.tick[first / per];
        while (end < total && end - first < ROWS && act->range.tick[end / per] == tick) end++;
        act_rows(c, act, first, end - first);
        first = end;
    }
}

/* Hands networks what agents first .. first + n see in a state; `kept`: what the one agent remembers, null:
 * at the start of an episode. */
static void look(core *c, lud_mappo_networks *t, const lud_model *model, const uint8_t *state, int first,
                 int64_t n, const float *kept) {
    static const uint32_t tick = 0;
    model->world->observe(model, (lud_range){.n = 1, .tick = &tick}, state, c->parts);
    memset(c->hidden, 0, (size_t)(n * c->hidden_width) * sizeof *c->hidden);
    memset(c->states, 0, (size_t)(n * c->state_width) * sizeof *c->states);
    for (int64_t i = 0; i < n; i++) {
        c->place[i] = 0;
        c->agent[i] = first + (int32_t)i;
        c->row[i] = (int32_t)i;
        c->masks[i] = 0.0f;
    }
    if (kept) recall(c, 0, kept);
    feed(c, t, (const void *const *)c->parts, n);
}

/* Of a choice with what the agent remembers; null: nothing. */
static bool choice(lud_policy *policy, const uint8_t *state, const float *kept, int agent, double *p) {
    core *c = core_of(policy);
    lud_mappo_networks *t = c->networks;
    const int n = policy->model->layout.actions[agent].n_discrete;
    if (n == 0) return false;
    pthread_mutex_lock(&c->shared.lock);
    look(c, t, policy->model, state, agent, 1, kept);
    lud_mappo_net_forward(&t->actor, false);
    const float *logits = lud_nn_value(t->actor.nn, t->actor.out); /* on the CPU, see open_core */
    const int likeliest = lud_mappo_softmax(n, logits, c->networks->inputs.choices, p);
    for (int k = 0; k < n && !draws(c); k++) p[k] = k == likeliest;
    pthread_mutex_unlock(&c->shared.lock);
    return true;
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    (void)goal;
    return core_of(policy)->remembered == 0 && choice(policy, state, NULL, agent, p);
}

static bool recalled_distribution(lud_policy *policy, const uint8_t *state, const uint8_t *hidden, int agent,
                                  double *p) {
    return choice(policy, state, (const float *)(const void *)hidden, agent, p);
}

static void restart_values(lud_policy *policy) {
    core *c = core_of(policy);
    if (!c->judged) return;
    pthread_mutex_lock(&c->shared.lock);
    memset(c->judged, 0, (size_t)(policy->model->layout.n_agents * c->remembered) * sizeof *c->judged);
    pthread_mutex_unlock(&c->shared.lock);
}

/* In units of reward. */
static bool value(lud_policy *policy, const uint8_t *state, int agent, double *v) {
    core *c = core_of(policy);
    float found;
    if (!c->judging) return false;
    pthread_mutex_lock(&c->shared.lock);
    float *kept = c->judged ? c->judged + agent * c->remembered : NULL;
    look(c, c->judging, policy->model, state, agent, 1, kept);
    lud_mappo_value(c->judging, &found);
    if (kept) {
        kept[0] = 1.0f;
        lud_mappo_read_critic(c->judging, c->row, kept + 1);
    }
    lud_value_normaliser_denormalise(&c->normaliser, 1, &found);
    pthread_mutex_unlock(&c->shared.lock);
    *v = (double)found;
    return true;
}

/* Adds the weights of one head to those of an agent. */
static void add_head(const core *c, int64_t agent, int64_t head, const float *edge_weight, float *weights) {
    const lud_mappo_networks *t = c->networks;
    const lud_mappo_inputs *in = &t->inputs;
    const int64_t heads = t->options.graph.heads, channels = t->options.graph.hidden_size;
    const int64_t ego = ((int32_t *)in->items[LUD_MAPPO_EGO].host)[agent], v = t->shape.n_nodes;
    const int32_t *offsets = in->items[LUD_MAPPO_NODE_OFFSETS].host,
                  *source = in->items[LUD_MAPPO_EDGE_SOURCE].host;
    const float *length = in->items[LUD_MAPPO_EDGE_LENGTH].host;
    const float *query = (float *)lud_nn_value(t->actor.nn, t->actor.query) + (ego * heads + head) * channels;
    const float *key = (float *)lud_nn_value(t->actor.nn, t->actor.key) + head * channels;
    double logits[MOST_NODES], largest = -INFINITY, sum = 0.0;
    for (int32_t e = offsets[ego]; e < offsets[ego + 1]; e++) {
        double dot = 0.0;
        for (int64_t k = 0; k < channels; k++)
            dot += (double)query[k] * ((double)key[source[e] * heads * channels + k] +
                                       (double)(edge_weight[head * channels + k] * length[e]));
        logits[e - offsets[ego]] = dot / sqrt((double)channels);
        largest = fmax(largest, logits[e - offsets[ego]]);
    }
    for (int32_t e = offsets[ego]; e < offsets[ego + 1]; e++) sum += exp(logits[e - offsets[ego]] - largest);
    for (int32_t e = offsets[ego]; e < offsets[ego + 1]; e++)
        weights[source[e] - agent * v] +=
            (float)(exp(logits[e - offsets[ego]] - largest) / sum / (double)heads);
}

/* The weights of the last attention layer on the edges into the agent's own node, mean over heads; they sum
 * to 1 over the entities within reach, or all are 0 where there is none. */
static int attention(lud_policy *policy, const uint8_t *state, float *weights) {
    core *c = core_of(policy);
    lud_mappo_networks *t = c->networks;
    const lud_model *model = policy->model;
    const int64_t n = model->layout.n_agents, v = t->shape.n_nodes;
    if (t->actor.query < 0 || v > MOST_NODES || n > ROWS) return 0;
    if (!weights) return (int)v;
    pthread_mutex_lock(&c->shared.lock);
    look(c, t, model, state, 0, n, NULL); /* what agents remember does not reach the graph: zeros do */
    lud_mappo_net_forward(&t->actor, false);
    const int edge = lud_parameters_find(t->parameters, t->actor.edge_weight);
    const float *edge_weight = lud_parameters_value(t->parameters, edge);
    memset(weights, 0, (size_t)(n * v) * sizeof *weights);
    for (int64_t a = 0; a < n; a++)
        for (int64_t head = 0; head < t->options.graph.heads && c->acts[a]; head++)
            add_head(c, a, head, edge_weight, weights + a * v);
    pthread_mutex_unlock(&c->shared.lock);
    return (int)v;
}

static const lud_policy_kind kind = {.name = "trained",
                                     .about = "the policy of a run",
                                     .destroy = lud_shared_policy_destroy,
                                     .act = act_in_range,
                                     .distribution = distribution,
                                     .recalled_distribution = recalled_distribution,
                                     .value = value,
                                     .restart_values = restart_values,
                                     .attention = attention};

const lud_parameters *lud_mappo_policy_parameters(const lud_policy *policy) {
    return core_of(policy)->networks->parameters;
}

/* The critic, where the checkpoint has one for this world: of another number of agents it may see another
 * number of numbers. */
static lud_status load_critic(core *c, const lud_model *model, lud_checkpoint *checkpoint, lud_error *error) {
    const lud_mappo_options *o = &c->networks->options;
    lud_error other = {0};
    LUD_TRY(
        lud_mappo_networks_create(model, o, c->device, 0, 1, LUD_MAPPO_ROLLOUT, NULL, &c->judging, error));
    c->normaliser = (lud_value_normaliser){.device = c->device,
                                           .kind = (lud_value_normaliser_kind)o->normaliser,
                                           .beta = o->normaliser_beta,
                                           .weight = -1,
                                           .bias = -1};
    if (o->recurrent) c->judged = calloc((size_t)(model->layout.n_agents * c->remembered), sizeof *c->judged);
    if ((o->recurrent && !c->judged) || !lud_value_normaliser_create(&c->normaliser))
        return lud_no_memory(error, "a critic");
    lud_text name = {0};
    lud_text_append(&name, "%snormaliser", c->prefix);
    if (name.failed) return lud_no_memory(error, "a critic");
    lud_parameters_visit(c->judging->parameters, c->prefix, checkpoint);
    lud_checkpoint_tensor(checkpoint, name.bytes, LUD_TENSOR_F32, 1, (const int64_t[]){LUD_NORMALISER_FIELDS},
                          c->normaliser.state);
    lud_text_free(&name);
    const lud_status status = lud_checkpoint_status(checkpoint, &other);
    if (!status) return LUD_OK;
    lud_mappo_networks_destroy(c->judging);
    c->judging = NULL;
    return status == LUD_ERROR_MEMORY ? lud_no_memory(error, "a critic") : LUD_OK;
}

static lud_status load(core *c, const lud_model *model, const char *folder, lud_error *error) {
    lud_checkpoint *checkpoint = NULL;
    lud_status status = lud_run_parameters(folder, lud_mappo_learner.name, model, &checkpoint, NULL, error);
    if (!status) {
        lud_parameters_visit(c->networks->parameters, c->prefix, checkpoint);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_fail_context(error, "%s: the run's policy does not fit this scenario", folder);
    }
    if (!status) status = load_critic(c, model, checkpoint, error);
    lud_checkpoint_destroy(checkpoint);
    return status;
}

/* How the policy acts is as it was trained, but a scenario that says whether it draws its actions is obeyed.
 */
static lud_status read_options(lud_arena *arena, const lud_scenario *trained, const lud_scenario *scenario,
                               lud_mappo_options *options, lud_error *error) {
    lud_status status = lud_mappo_options_read(arena, trained->learner, options, error);
    const lud_learner_kind *learner;
    lud_error other = {0};
    if (status || !scenario->learner || !lud_tree_get(scenario->learner, "deterministic") ||
        lud_learner_kind_of(scenario, &learner, &other) || learner != &lud_mappo_learner)
        return status;
    lud_mappo_options played;
    status = lud_mappo_options_read(arena, scenario->learner, &played, error);
    if (!status) options->deterministic = played.deterministic;
    return status;
}

/* The group's names, and which of the scenario's agents it has. */
static lud_status find_group(core *c, const lud_layout *layout, const lud_mappo_options *options, int group,
                             int *n_groups, lud_error *error) {
    lud_mappo_grouping grouping;
    LUD_TRY(lud_mappo_groups_find(layout, options, c->arena, &grouping, error));
    c->acts = lud_arena_take_array(c->arena, (size_t)layout->n_agents + 1, sizeof *c->acts);
    if (!c->acts) return lud_no_memory(error, "groups");
    for (int i = 0; i < layout->n_agents; i++) c->acts[i] = grouping.of[i] == group;
    c->prefix = grouping.prefixes[group];
    *n_groups = grouping.n;
    return LUD_OK;
}

static lud_status open_core(core *c, const lud_scenario *trained, const lud_scenario *scenario, int group,
                            int *n_groups, lud_error *error) {
    lud_mappo_options options;
    lud_status status = lud_scenario_device(scenario, "cpu", &c->device, error);
    c->arena = lud_arena_create(0);
    if (!status && !c->arena) status = lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    if (!status) status = read_options(c->arena, trained, scenario, &options, error);
    if (!status) status = find_group(c, &scenario->model->layout, &options, group, n_groups, error);
    if (!status)
        status = lud_mappo_networks_create(scenario->model, &options, c->device, (uint64_t)trained->run.seed,
                                           ROWS, LUD_MAPPO_PLAY, NULL, &c->networks, error);
    if (status) return status;
    if (c->play.directions == LUD_DIRECTIONS_AWAY && options.control != LUD_MAPPO_MAD)
        return lud_invalid(error, "only a policy with control: mad has a magnitude");
    if (options.recurrent) c->hidden_width = options.hidden_size;
    c->state_width = lud_mappo_state_width(&options);
    if (c->hidden_width + c->state_width > 0) c->remembered = 1 + c->hidden_width + c->state_width;
    c->hidden = calloc((size_t)(ROWS * c->hidden_width + 1), sizeof *c->hidden);
    c->states = calloc((size_t)(ROWS * c->state_width + 1), sizeof *c->states);
    bool whole = c->hidden && c->states;
    for (int p = 0; p < scenario->model->layout.n_parts; p++) {
        c->parts[p] = calloc(1, scenario->model->layout.parts[p].bytes);
        whole = whole && c->parts[p];
    }
    if (!whole) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    return c->play.folder ? load(c, scenario->model, c->play.folder, error) : LUD_OK;
}

lud_status lud_mappo_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                          lud_cast *cast, lud_error *error) {
    return lud_mappo_join_as(trained, scenario, &(lud_mappo_play){.folder = folder}, cast, error);
}

/* One group's policy for its agents. */
static lud_status join_group(const lud_scenario *trained, const lud_scenario *scenario,
                             const lud_mappo_play *play, int group, int *n_groups, lud_cast *cast,
                             lud_error *error) {
    core *c = lud_shared_create(sizeof *c, release);
    if (!c) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    c->play = *play;
    lud_status status = open_core(c, trained, scenario, group, n_groups, error);
    for (int i = 0; i < scenario->model->layout.n_agents && !status; i++) {
        const lud_policy base = {.kind = &kind,
                                 .model = scenario->model,
                                 .hidden_bytes = (size_t)c->remembered * sizeof(float),
                                 .needs_observations = true,
                                 .value_remembers = c->judging && c->judged,
                                 .reads_no_states = true,
                                 .device = c->device};
        if (c->acts[i]) status = lud_shared_policy_set(&c->shared, &base, cast, i, error);
    }
    lud_shared_leave(&c->shared);
    return status;
}

lud_status lud_mappo_join_as(const lud_scenario *trained, const lud_scenario *scenario,
                             const lud_mappo_play *play, lud_cast *cast, lud_error *error) {
    int n_groups = 1;
    for (int k = 0; k < n_groups; k++)
        LUD_TRY(join_group(trained, scenario, play, k, &n_groups, cast, error));
    return LUD_OK;
}
