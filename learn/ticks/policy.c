#include "learn/ticks/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "agents/shared_policy.h"
#include "learn/runs/parameters.h"
#include "learn/ticks/ticks.h"

enum { ROWS = 1024, REMEMBERED = 1024 };

/* With which draws agents acted in a state: what they wrote follows from these. */
typedef struct occasion {
    uint64_t state; /* hash */
    uint64_t seed;
    uint32_t environment, tick;
} occasion;

/* What the agents of a cast share. */
typedef struct core {
    lud_shared shared;
    lud_device *device;
    lud_arena *arena;
    lud_tick_options options;
    lud_tick_policy *policy;
    lud_arrays arrays;
    int32_t *environment, *agent, *discrete; /* [ROWS] */
    float *continuous, *log_prob, *values;   /* [ROWS]... */
    float *chosen;                           /* [n_agents][n_discrete] */
    lud_policy_kind kind;                    /* what this policy has to tell */
    /* what the gate compared when the training stopped */
    lud_baseline baseline;
    double square, square_weight; /* running mean of squared advantages, see lud_tick_scoring */
    /* [n_agents] of one step that is asked about */
    float *reward, *expected, *advantage, *next;
    int32_t *team, *n_tokens;
    double *numbers; /* of the step that was asked about last, with its hash */
    uint64_t numbered;
    bool knows_numbers;
    /* of agents that write: the last states they acted in, and the text that was asked for last */
    occasion *occasions; /* [REMEMBERED] the newest at n_occasions - 1, in turn */
    uint64_t n_occasions;
    uint64_t texted;
    lud_text read, written;
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* of one state that is asked about */
} core;

static core *core_of(const lud_policy *policy) {
    return (core *)((const lud_shared_policy *)policy)->shared;
}

static void release(lud_shared *shared) {
    core *c = (core *)shared;
    if (c->policy) c->policy->kind->destroy(c->policy);
    lud_device_close(c->device);
    lud_arena_destroy(c->arena);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(c->parts[p]);
    lud_arrays_free(&c->arrays);
    lud_text_free(&c->read);
    lud_text_free(&c->written);
}

/* Who of the acting agents is alive, from place k of environments and agents on, as many as pass at once; the
 * dead idle. *next gets the place behind. */
static int64_t list_rows(core *c, const lud_act *act, int64_t k, int64_t *next) {
    const lud_layout *layout = &act->model->layout;
    const int64_t per = act->n_agents_acting, total = act->range.n * per;
    int64_t n = 0;
    for (; k < total && n < ROWS; k++) {
        const int64_t e = k / per;
        const int agent = act->agents[k % per];
        if (!lud_tick_is_alive(act->model, act->states + (size_t)e * layout->state_bytes, agent)) {
            if (act->discrete) act->discrete[e * layout->n_agents + agent] = lud_tick_idle(layout, agent);
            continue;
        }
        c->environment[n] = (int32_t)e;
        c->agent[n++] = agent;
    }
    *next = k;
    return n;
}

static void remember(core *c, const lud_act *act) {
    if (!c->policy->kind->describe || act->range.n == 0) return;
    const occasion now = {.state = XXH3_64bits(act->states, act->model->layout.state_bytes),
                          .seed = act->range.seed,
                          .environment = act->range.first_environment,
                          .tick = act->range.tick[0]};
    const occasion *last = &c->occasions[(c->n_occasions - 1) % REMEMBERED];
    if (c->n_occasions > 0 && last->state == now.state && last->seed == now.seed &&
        last->environment == now.environment && last->tick == now.tick)
        return; /* another agent of the same step */
    c->occasions[c->n_occasions++ % REMEMBERED] = now;
}

static void act_in_range(lud_policy *policy, const lud_act *act) {
    core *c = core_of(policy);
    const lud_layout *layout = &act->model->layout;
    const int64_t total = act->range.n * act->n_agents_acting, width = lud_max_continuous(layout);
    pthread_mutex_lock(&c->shared.lock);
    remember(c, act);
    for (int64_t k = 0; k < total;) {
        const lud_tick_rows rows = {.model = act->model,
                                    .range = act->range,
                                    .states = act->states,
                                    .observations = act->observations,
                                    .n = list_rows(c, act, k, &k),
                                    .environment = c->environment,
                                    .agent = c->agent,
                                    .greedy = c->options.deterministic};
        const lud_tick_choices choices = {
            .discrete = c->discrete, .continuous = c->continuous, .log_prob = c->log_prob};
        lud_error failure = {0};
        if (rows.n > 0 && c->policy->kind->act(c->policy, &rows, &choices, &failure))
            lud_device_keep(c->device, &failure);
        for (int64_t i = 0; i < rows.n; i++) {
            const int64_t at = lud_tick_place(&rows, i);
            if (act->discrete) act->discrete[at] = choices.discrete[i];
            if (act->continuous)
                memcpy(act->continuous + at * width, choices.continuous + i * width,
                       (size_t)width * sizeof *act->continuous);
            if (act->log_prob)
                act->log_prob[at] = c->options.deterministic ? lud_policy_certain(act->model, rows.agent[i])
                                                             : choices.log_prob[i];
        }
    }
    pthread_mutex_unlock(&c->shared.lock);
}

/* The first n rows listed of a state that was observed. */
static lud_tick_rows rows_of(core *c, const lud_model *model, lud_range range, const uint8_t *state,
                             int64_t n) {
    return (lud_tick_rows){.model = model,
                           .range = range,
                           .states = state,
                           .observations = c->parts,
                           .n = n,
                           .environment = c->environment,
                           .agent = c->agent,
                           .greedy = c->options.deterministic};
}

/* One agent in one state, at the clock 0. */
static lud_tick_rows look(core *c, const lud_model *model, const uint8_t *state, int agent) {
    static const uint32_t tick = 0;
    const lud_range range = {.n = 1, .tick = &tick};
    model->world->observe(model, range, state, c->parts);
    c->environment[0] = 0;
    c->agent[0] = agent;
    return rows_of(c, model, range, state, 1);
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    core *c = core_of(policy);
    const int n = policy->model->layout.actions[agent].n_discrete;
    (void)goal;
    if (n == 0 || !c->policy->kind->probabilities) return false;
    pthread_mutex_lock(&c->shared.lock);
    const lud_tick_rows rows = look(c, policy->model, state, agent);
    lud_error failure = {0};
    if (c->policy->kind->probabilities(c->policy, &rows, c->chosen, &failure))
        lud_device_keep(c->device, &failure);
    int likeliest = 0;
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += (double)c->chosen[k];
    for (int k = 1; k < n; k++)
        if (c->chosen[k] > c->chosen[likeliest]) likeliest = k;
    for (int k = 0; k < n; k++) p[k] = rows.greedy ? k == likeliest : (double)c->chosen[k] / sum;
    pthread_mutex_unlock(&c->shared.lock);
    return true;
}

static bool value(lud_policy *policy, const uint8_t *state, int agent, double *v) {
    core *c = core_of(policy);
    if (!c->policy->has_critic) return false;
    pthread_mutex_lock(&c->shared.lock);
    const lud_tick_rows rows = look(c, policy->model, state, agent);
    lud_error failure = {0};
    if (c->policy->kind->value(c->policy, &rows, c->values, &failure)) lud_device_keep(c->device, &failure);
    *v = (double)c->values[0];
    pthread_mutex_unlock(&c->shared.lock);
    return true;
}

/* ---- what a step was worth, and what was written in it ---- */

/* Everybody alive in a state, with the draws of the last time that somebody acted there; at the clock 0 where
 * nobody did. */
static lud_tick_rows look_at_all(core *c, const lud_model *model, const uint8_t *state, uint32_t *tick) {
    lud_range range = {.n = 1, .tick = tick};
    *tick = 0;
    if (c->occasions) {
        const uint64_t hash = XXH3_64bits(state, model->layout.state_bytes);
        for (uint64_t k = c->n_occasions; k > 0 && k + REMEMBERED > c->n_occasions; k--) {
            const occasion *o = &c->occasions[(k - 1) % REMEMBERED];
            if (o->state != hash) continue;
            range.seed = o->seed;
            range.first_environment = o->environment;
            *tick = o->tick;
            break;
        }
    }
    model->world->observe(model, range, state, c->parts);
    int64_t n = 0;
    for (int a = 0; a < model->layout.n_agents; a++) {
        if (!lud_tick_is_alive(model, state, a)) continue;
        c->environment[n] = 0;
        c->agent[n++] = a;
    }
    return rows_of(c, model, range, state, n);
}

/* Log-probabilities of what was done, not a number where that is not what the agent says there (somebody else
 * acted for it, or it said nothing); with them the expected confidence, as far as it is known. */
static lud_status find_log_probs(core *c, const lud_tick_rows *rows, const int32_t *actions,
                                 lud_error *error) {
    const int64_t width = lud_max_discrete(&rows->model->layout);
    if (!c->policy->kind->probabilities) {
        const lud_tick_choices choices = {
            .discrete = c->discrete, .log_prob = c->log_prob, .n_tokens = c->n_tokens};
        LUD_TRY(c->policy->kind->act(c->policy, rows, &choices, error));
        for (int64_t i = 0; i < rows->n; i++) {
            if (c->n_tokens[i] < 1 || c->discrete[i] != actions[rows->agent[i]]) c->log_prob[i] = NAN;
            c->expected[i] = 0.0f;
        }
        return LUD_OK;
    }
    LUD_TRY(c->policy->kind->probabilities(c->policy, rows, c->chosen, error));
    for (int64_t i = 0; i < rows->n; i++)
        c->log_prob[i] = logf(c->chosen[i * width + actions[rows->agent[i]]]);
    lud_baseline_expected_confidence(rows->n, width, c->chosen, c->expected);
    return LUD_OK;
}

/* Adds to rewards what the critic expects behind them; nothing of the dead and of worlds that have ended. */
static lud_status look_ahead(core *c, const lud_model *model, const uint8_t *after, lud_error *error) {
    uint32_t tick;
    memset(c->next, 0, (size_t)model->layout.n_agents * sizeof *c->next);
    if (model->world->is_terminal && model->world->is_terminal(model, after)) return LUD_OK;
    const lud_tick_rows rows = look_at_all(c, model, after, &tick);
    if (rows.n == 0) return LUD_OK;
    LUD_TRY(c->policy->kind->value(c->policy, &rows, c->values, error));
    for (int64_t i = 0; i < rows.n; i++) c->next[rows.agent[i]] = c->values[i];
    return LUD_OK;
}

static lud_status find_delights(core *c, const lud_model *model, const uint8_t *before,
                                const int32_t *actions, const float *rewards, const uint8_t *after,
                                lud_error *error) {
    const lud_layout *layout = &model->layout;
    const bool critic = c->policy->has_critic;
    uint32_t tick;
    for (int a = 0; a < layout->n_agents; a++) c->numbers[a] = (double)NAN;
    if (critic) LUD_TRY(look_ahead(c, model, after, error));
    const lud_tick_rows rows = look_at_all(c, model, before, &tick);
    if (rows.n == 0) return LUD_OK;
    LUD_TRY(find_log_probs(c, &rows, actions, error));
    if (critic) LUD_TRY(c->policy->kind->value(c->policy, &rows, c->expected, error));
    for (int64_t i = 0; i < rows.n; i++) {
        const int a = rows.agent[i];
        c->reward[i] = rewards[a] + (critic ? (float)c->options.discount * c->next[a] : 0.0f);
        c->team[i] = layout->n_teams > 0 ? layout->teams[a] : 0;
    }
    lud_baseline known = c->baseline; /* judges without counting */
    known.options.update = LUD_BASELINE_TICK;
    lud_baseline_advantages(&known, rows.n, c->reward, c->team, c->expected, c->advantage);
    const double root = critic && c->options.standardise && c->square_weight > 0.0
                            ? fmax(sqrt(c->square / c->square_weight), 1e-8)
                            : 1.0;
    for (int64_t i = 0; i < rows.n; i++)
        if (layout->actions[rows.agent[i]].n_discrete > 0)
            c->numbers[rows.agent[i]] = -(double)c->log_prob[i] * (double)c->advantage[i] / root;
    return LUD_OK;
}

/* A frame asks for the same step several times. */
static bool agent_numbers(lud_policy *policy, const uint8_t *before, const int32_t *actions,
                          const float *rewards, const uint8_t *after, double *values) {
    core *c = core_of(policy);
    const lud_layout *layout = &policy->model->layout;
    const size_t n = (size_t)layout->n_agents;
    pthread_mutex_lock(&c->shared.lock);
    uint64_t hash = XXH3_64bits(before, layout->state_bytes);
    hash = XXH3_64bits_withSeed(after, layout->state_bytes, hash);
    hash = XXH3_64bits_withSeed(actions, n * sizeof *actions, hash);
    hash = XXH3_64bits_withSeed(rewards, n * sizeof *rewards, hash);
    hash ^= c->n_occasions; /* the same state may have been acted in with other draws since */
    if (hash != c->numbered) {
        lud_error failure = {0};
        c->knows_numbers = !find_delights(c, policy->model, before, actions, rewards, after, &failure);
        if (!c->knows_numbers) lud_device_keep(c->device, &failure);
        c->numbered = hash;
    }
    memcpy(values, c->numbers, n * sizeof *values);
    const bool known = c->knows_numbers;
    pthread_mutex_unlock(&c->shared.lock);
    return known;
}

/* What the agent said when it acted in the state; in a state that nobody acted in, what it says there at the
 * clock 0. */
static bool agent_text(lud_policy *policy, const uint8_t *state, int agent, lud_text *read,
                       lud_text *written) {
    core *c = core_of(policy);
    if (!lud_tick_is_alive(policy->model, state, agent)) return false;
    pthread_mutex_lock(&c->shared.lock);
    const uint64_t hash =
        XXH3_64bits_withSeed(state, policy->model->layout.state_bytes, c->n_occasions) + (uint64_t)agent;
    bool known = true;
    if (hash != c->texted) {
        uint32_t tick;
        lud_error failure = {0};
        lud_tick_rows rows = look_at_all(c, policy->model, state, &tick);
        c->agent[0] = agent;
        rows.n = 1;
        const lud_tick_choices choices = {.discrete = c->discrete};
        lud_text_clear(&c->read);
        lud_text_clear(&c->written);
        known = !c->policy->kind->act(c->policy, &rows, &choices, &failure);
        if (known)
            c->policy->kind->describe(c->policy, 0, &c->read, &c->written);
        else
            lud_device_keep(c->device, &failure);
        c->texted = known ? hash : 0;
    }
    if (known) {
        lud_text_append(read, "%s", c->read.bytes ? c->read.bytes : "");
        lud_text_append(written, "%s", c->written.bytes ? c->written.bytes : "");
    }
    pthread_mutex_unlock(&c->shared.lock);
    return known;
}

static const lud_policy_kind kind = {.name = "ticks",
                                     .about = "the policy of a run of ticks",
                                     .destroy = lud_shared_policy_destroy,
                                     .act = act_in_range,
                                     .distribution = distribution,
                                     .value = value,
                                     .agent_number_name = "delight",
                                     .agent_numbers = agent_numbers,
                                     .agent_text = agent_text};

/* ---- opening ---- */

static lud_status load(core *c, const char *folder, lud_error *error) {
    lud_checkpoint *checkpoint = NULL;
    lud_status status = lud_run_parameters(folder, lud_learner_ticks.name, NULL, &checkpoint, NULL, error);
    if (!status) {
        lud_parameters_visit(c->policy->parameters, "", checkpoint);
        if (c->policy->kind->visit) c->policy->kind->visit(c->policy, checkpoint);
        lud_baseline_visit(&c->baseline, checkpoint, "ticks.baseline");
        lud_checkpoint_real(checkpoint, "ticks.square", &c->square);
        lud_checkpoint_real(checkpoint, "ticks.square_weight", &c->square_weight);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_fail_context(error, "%s: the run's policy does not fit this scenario", folder);
    }
    lud_checkpoint_destroy(checkpoint);
    return status;
}

/* How the policy acts is as it was trained, but a scenario that says whether it draws its actions is obeyed.
 */
static lud_status read_options(core *c, const lud_scenario *trained, const lud_scenario *scenario,
                               lud_error *error) {
    lud_status status = lud_tick_options_read(c->arena, trained->learner, &c->options, error);
    const lud_learner_kind *learner;
    lud_error other = {0};
    if (status || !scenario->learner || !lud_tree_get(scenario->learner, "deterministic") ||
        lud_learner_kind_of(scenario, &learner, &other) || learner != &lud_learner_ticks)
        return status;
    lud_tick_options played;
    status = lud_tick_options_read(c->arena, scenario->learner, &played, error);
    if (!status) c->options.deterministic = played.deterministic;
    return status;
}

static lud_status open_core(core *c, const lud_scenario *trained, const lud_scenario *scenario,
                            const char *folder, lud_error *error) {
    const lud_layout *layout = &scenario->model->layout;
    lud_status status = lud_scenario_device(scenario, "cpu", &c->device, error);
    c->arena = lud_arena_create(0);
    if (!status && !c->arena) status = lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    if (!status) status = read_options(c, trained, scenario, error);
    if (status) return status;
    const lud_tick_policy_request request = {.model = scenario->model,
                                             .device = c->device,
                                             .seed = (uint64_t)trained->run.seed,
                                             .n_acting = ROWS,
                                             .max_rows = c->options.max_rows,
                                             .critic = c->options.baseline.type == LUD_BASELINE_CRITIC};
    LUD_TRY(lud_tick_policy_open(&request, &c->options, trained->path, &c->policy, error));
    lud_arrays *a = &c->arrays;
    LUD_TAKE(a, c->environment, ROWS);
    LUD_TAKE(a, c->agent, ROWS);
    LUD_TAKE(a, c->discrete, ROWS);
    LUD_TAKE(a, c->continuous, ROWS * (size_t)lud_max_continuous(layout) + 1);
    LUD_TAKE(a, c->log_prob, ROWS);
    LUD_TAKE(a, c->values, ROWS);
    const size_t n_agents = (size_t)layout->n_agents;
    LUD_TAKE(a, c->chosen, n_agents * (size_t)lud_max_discrete(layout) + 1);
    LUD_TAKE(a, c->reward, n_agents);
    LUD_TAKE(a, c->expected, n_agents);
    LUD_TAKE(a, c->advantage, n_agents);
    LUD_TAKE(a, c->next, n_agents);
    LUD_TAKE(a, c->team, n_agents);
    LUD_TAKE(a, c->n_tokens, n_agents);
    LUD_TAKE(a, c->numbers, n_agents);
    if (c->policy->kind->describe) LUD_TAKE(a, c->occasions, REMEMBERED);
    lud_baseline_init(&c->baseline, &c->options.baseline);
    c->kind = kind;
    if (!c->policy->kind->describe) c->kind.agent_text = NULL;
    if (lud_max_discrete(layout) == 0 || layout->n_agents > ROWS) c->kind.agent_numbers = NULL;
    bool whole = !a->failed;
    for (int p = 0; p < layout->n_parts && whole; p++)
        if (c->policy->reads[p]) whole = (c->parts[p] = calloc(1, layout->parts[p].bytes));
    return whole ? load(c, folder, error) : lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
}

lud_status lud_tick_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                         lud_cast *cast, lud_error *error) {
    core *c = lud_shared_create(sizeof *c, release);
    if (!c) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    lud_status status = open_core(c, trained, scenario, folder, error);
    for (int i = 0; i < scenario->model->layout.n_agents && !status; i++) {
        const lud_policy base = {
            .kind = &c->kind, .model = scenario->model, .needs_observations = true, .device = c->device};
        status = lud_shared_policy_set(&c->shared, &base, cast, i, error);
    }
    lud_shared_leave(&c->shared);
    return status;
}
