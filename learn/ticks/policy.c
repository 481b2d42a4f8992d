#include "learn/ticks/policy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "learn/ticks/ticks.h"

enum { ROWS = 1024 };

/* What the agents of a cast share. */
typedef struct core {
    int n_users;
    lud_device *device;
    lud_arena *arena;
    lud_tick_options options;
    lud_tick_policy *policy;
    lud_arrays arrays;
    int32_t *environment, *agent, *discrete;        /* [ROWS] */
    float *continuous, *log_prob, *values, *chosen; /* [ROWS]...; chosen: [n_discrete] */
    void *parts[LUD_MAX_OBSERVATION_PARTS];         /* of one state that is asked about */
    pthread_mutex_t lock;                           /* around everything above */
} core;

typedef struct tick_policy {
    lud_policy base;
    core *core;
} tick_policy;

static void leave(core *c) {
    if (--c->n_users > 0) return;
    if (c->policy) c->policy->kind->destroy(c->policy);
    lud_device_close(c->device);
    lud_arena_destroy(c->arena);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(c->parts[p]);
    lud_arrays_free(&c->arrays);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static void destroy(lud_policy *policy) {
    leave(((tick_policy *)policy)->core);
    free(policy);
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

static void act_in_range(lud_policy *policy, const lud_act *act) {
    core *c = ((tick_policy *)policy)->core;
    const lud_layout *layout = &act->model->layout;
    const int64_t total = act->range.n * act->n_agents_acting, width = lud_max_continuous(layout);
    pthread_mutex_lock(&c->lock);
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
            const int64_t at = (int64_t)rows.environment[i] * layout->n_agents + rows.agent[i];
            if (act->discrete) act->discrete[at] = choices.discrete[i];
            if (act->continuous)
                memcpy(act->continuous + at * width, choices.continuous + i * width,
                       (size_t)width * sizeof *act->continuous);
            if (act->log_prob) act->log_prob[at] = choices.log_prob[i];
        }
    }
    pthread_mutex_unlock(&c->lock);
}

/* One agent in one state, at the clock 0. */
static lud_tick_rows look(core *c, const lud_model *model, const uint8_t *state, int agent) {
    static const uint32_t tick = 0;
    const lud_range range = {.n = 1, .tick = &tick};
    model->world->observe(model, range, state, c->parts);
    c->environment[0] = 0;
    c->agent[0] = agent;
    return (lud_tick_rows){.model = model,
                           .range = range,
                           .states = state,
                           .observations = c->parts,
                           .n = 1,
                           .environment = c->environment,
                           .agent = c->agent,
                           .greedy = c->options.deterministic};
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    core *c = ((tick_policy *)policy)->core;
    const int n = policy->model->layout.actions[agent].n_discrete;
    (void)goal;
    if (n == 0 || !c->policy->kind->probabilities) return false;
    pthread_mutex_lock(&c->lock);
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
    pthread_mutex_unlock(&c->lock);
    return true;
}

static bool value(lud_policy *policy, const uint8_t *state, int agent, double *v) {
    core *c = ((tick_policy *)policy)->core;
    if (!c->policy->has_critic) return false;
    pthread_mutex_lock(&c->lock);
    const lud_tick_rows rows = look(c, policy->model, state, agent);
    lud_error failure = {0};
    if (c->policy->kind->value(c->policy, &rows, c->values, &failure)) lud_device_keep(c->device, &failure);
    *v = (double)c->values[0];
    pthread_mutex_unlock(&c->lock);
    return true;
}

static const lud_policy_kind kind = {.name = "ticks",
                                     .about = "the policy of a run of ticks",
                                     .destroy = destroy,
                                     .act = act_in_range,
                                     .distribution = distribution,
                                     .value = value};

/* ---- opening ---- */

static lud_status load(core *c, const char *folder, lud_error *error) {
    lud_text path = {0};
    lud_text_append(&path, "%s/checkpoint.safetensors", folder);
    if (path.failed) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    lud_checkpoint *checkpoint = NULL;
    lud_status status = lud_checkpoint_open(path.bytes, &checkpoint, error);
    if (!status) {
        lud_parameters_visit(c->policy->parameters, "", checkpoint);
        if (c->policy->kind->visit) c->policy->kind->visit(c->policy, checkpoint);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_fail_context(error, "%s: the run's policy does not fit this scenario", path.bytes);
    }
    lud_checkpoint_destroy(checkpoint);
    lud_text_free(&path);
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
    LUD_TAKE(a, c->chosen, (size_t)lud_max_discrete(layout) + 1);
    bool whole = !a->failed;
    for (int p = 0; p < layout->n_parts && whole; p++)
        if (c->policy->reads[p]) whole = (c->parts[p] = calloc(1, layout->parts[p].bytes));
    return whole ? load(c, folder, error) : lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
}

lud_status lud_tick_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                         lud_cast *cast, lud_error *error) {
    core *c = calloc(1, sizeof *c);
    if (!c) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    c->n_users = 1;
    pthread_mutex_init(&c->lock, NULL);
    lud_status status = open_core(c, trained, scenario, folder, error);
    for (int i = 0; i < scenario->model->layout.n_agents && !status; i++) {
        tick_policy *p = calloc(1, sizeof *p);
        if (!p) {
            status = lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
            break;
        }
        c->n_users++;
        p->core = c;
        p->base = (lud_policy){
            .kind = &kind, .model = scenario->model, .needs_observations = true, .device = c->device};
        lud_cast_set(cast, i, &p->base);
    }
    leave(c);
    return status;
}
