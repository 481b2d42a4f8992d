#include "learn/clone/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/shared_policy.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "learn/clone/clone.h"
#include "learn/mappo/head.h"
#include "learn/nn/arrays.h"
#include "learn/runs/parameters.h"

enum { ROWS = 256 };

/* What the agents of a cast share. */
typedef struct core {
    lud_shared shared;
    bool owns_device;
    lud_device *device;
    lud_arena *arena;
    lud_clone_options options;
    lud_clone_networks networks;
    lud_normalisation normalisation;
    lud_column_statistics *columns; /* of a run that was loaded */
    int64_t
        remembered; /* numbers a row keeps: steps so far, predictions [horizon][horizon][width]; 0: none */
    int32_t place[ROWS], agent[ROWS], nought[ROWS];
    float *out;          /* [ROWS][horizon][width] */
    float *mixed;        /* [width] of one row */
    float *kept;         /* [remembered] of one row that is asked about */
    double *p, *log_std; /* [width] */
    lud_arrays arrays;
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* of one state that is asked about */
} core;

static core *core_of(const lud_policy *policy) {
    return (core *)((const lud_shared_policy *)policy)->shared;
}

static void release(lud_shared *shared) {
    core *c = (core *)shared;
    lud_clone_networks_close(&c->networks);
    lud_arrays_free(&c->arrays);
    if (c->owns_device) lud_device_close(c->device);
    lud_arena_destroy(c->arena);
}

static bool has_choices(const core *c) {
    return c->networks.base->shape.n_discrete > 0;
}

/* ---- from predictions to an action ---- */

/* What was predicted k steps ago for the present step. */
static const float *prediction_of(const core *c, const float *kept, int64_t step, int64_t k) {
    const int64_t horizon = c->networks.horizon, width = c->networks.width;
    return kept + 1 + ((step - k) % horizon * horizon + k) * width;
}

/* Which choices there are now for a row that was fed; null: all. */
static const uint8_t *allowed_to(const core *c, int64_t row) {
    const lud_mappo_array *choices = &c->networks.base->fields[LUD_FIELD_CHOICES];
    return choices->width > 0 ? (const uint8_t *)choices->host + row * choices->width : NULL;
}

/* The mean over predictions of several ages into c->mixed: of numbers, or of probabilities as logits. */
static void mix(core *c, const float *kept, int64_t step, int n, const uint8_t *allowed) {
    const int64_t horizon = c->networks.horizon, width = has_choices(c) ? n : c->networks.width;
    const int64_t oldest = step < horizon - 1 ? step : horizon - 1;
    double weights = 0.0;
    double *sums = c->p + c->networks.width; /* behind the room for one row's probabilities */
    for (int64_t j = 0; j < width; j++) sums[j] = 0.0;
    for (int64_t k = 0; k <= oldest; k++) {
        const float *predicted = prediction_of(c, kept, step, k);
        const double weight = exp(-c->options.ensemble_decay * (double)k);
        if (has_choices(c)) lud_mappo_softmax(n, predicted, allowed, c->p);
        for (int64_t j = 0; j < width; j++)
            sums[j] += weight * (has_choices(c) ? c->p[j] : (double)predicted[j]);
        weights += weight;
    }
    for (int64_t j = 0; j < width; j++) {
        const double mean = sums[j] / weights;
        c->mixed[j] = (float)(has_choices(c) ? log(mean) : mean);
    }
}

/* What the row's present action is made of: its first prediction, one made a few steps ago, or a mean. */
static const float *recall(core *c, const float *predicted, float *kept, int n, const uint8_t *allowed) {
    const int64_t horizon = c->networks.horizon, size = horizon * c->networks.width;
    if (c->remembered == 0) return predicted;
    const int64_t step = (int64_t)kept[0];
    memcpy(kept + 1 + step % horizon * size, predicted, (size_t)size * sizeof *kept);
    kept[0] += 1.0f;
    if (c->options.ensemble) {
        mix(c, kept, step, n, allowed);
        return c->mixed;
    }
    return prediction_of(c, kept, step, step % c->options.execute);
}

/* p[n] that a choice is drawn with. */
static void chances_of(const core *c, int n, const float *logits, const uint8_t *allowed, double *p) {
    const int likeliest = lud_mappo_softmax(n, logits, allowed, p);
    for (int k = 0; k < n && c->options.deterministic; k++) p[k] = k == likeliest;
}

static void act_choice(core *c, const lud_act *act, int e, int slot, const float *logits,
                       const uint8_t *allowed) {
    chances_of(c, c->networks.base->shape.model->layout.actions[act->agents[slot]].n_discrete, logits,
               allowed, c->p);
    lud_policy_choose(act, e, slot, c->p);
}

/* Normal numbers of a row: two a block. */
static double draw_normal(const lud_act *act, int e, int slot, int64_t j) {
    const lud_random_key key = {act->range.seed, act->range.first_environment + (uint32_t)e};
    const lud_words w =
        lud_draw(key, act->range.tick[e], (uint32_t)act->agents[slot], LUD_PURPOSE_ACTION, (uint32_t)(j / 2));
    double pair[2];
    lud_normal_pair(w.v[0], w.v[1], pair);
    return pair[j % 2];
}

static void act_numbers(core *c, const lud_act *act, int e, int slot, const float *mean) {
    const lud_layout *layout = &c->networks.base->shape.model->layout;
    const lud_action_space *space = &layout->actions[act->agents[slot]];
    const int64_t width = c->networks.width;
    const int64_t at = (int64_t)e * layout->n_agents + act->agents[slot];
    double log_prob = 0.0;
    for (int64_t j = 0; j < width; j++) {
        const double deviation = exp(c->log_std[j]);
        const double normal = c->options.deterministic ? 0.0 : draw_normal(act, e, slot, j);
        const double y = (double)mean[j] + deviation * normal;
        const double x = lud_denormalise(&c->normalisation, j, y);
        const double scale =
            lud_denormalise(&c->normalisation, j, y + 1.0) - x; /* of what is normalised, to a number */
        log_prob +=
            -0.5 * normal * normal - c->log_std[j] - 0.5 * log(2.0 * M_PI) - (scale > 0.0 ? log(scale) : 0.0);
        if (act->continuous)
            act->continuous[at * width + j] = (float)fmin(fmax(x, (double)space->low), (double)space->high);
    }
    if (act->log_prob)
        act->log_prob[at] =
            c->options.deterministic ? lud_policy_certain(act->model, act->agents[slot]) : (float)log_prob;
}

/* ---- acting ---- */

/* Runs the actor on the rows in place and agent; predictions in c->out. */
static void predict(core *c, const void *const *parts, int64_t n) {
    const int64_t size = c->networks.horizon * c->networks.width;
    lud_clone_networks_feed(&c->networks, parts, n, c->place, c->agent, c->nought);
    lud_clone_networks_forward(&c->networks, 0, false);
    lud_device_download(c->device, c->out, lud_nn_value(c->networks.base->actor.nn, c->networks.actions),
                        (size_t)(n * size) * sizeof *c->out);
}

static void read_deviations(core *c) {
    if (!has_choices(c))
        lud_parameters_read(c->networks.base->parameters, c->networks.base->log_std, c->log_std);
}

static void act_in_range(lud_policy *policy, const lud_act *act) {
    core *c = core_of(policy);
    const lud_layout *layout = &policy->model->layout;
    const int64_t per = act->n_agents_acting, total = act->range.n * per;
    const int64_t size = c->networks.horizon * c->networks.width;
    read_deviations(c);
    for (int64_t first = 0; first < total; first += ROWS) {
        const int64_t n = total - first < ROWS ? total - first : ROWS;
        for (int64_t i = 0; i < n; i++) {
            c->place[i] = (int32_t)((first + i) / per);
            c->agent[i] = act->agents[(first + i) % per];
        }
        predict(c, (const void *const *)act->observations, n);
        for (int64_t i = 0; i < n; i++) {
            const int e = c->place[i], slot = (int)((first + i) % per);
            float *kept =
                c->remembered == 0
                    ? NULL
                    : (float *)(void *)(act->hidden + (size_t)e * act->hidden_stride) + slot * c->remembered;
            const int n_choices = layout->actions[c->agent[i]].n_discrete;
            const uint8_t *allowed = allowed_to(c, i);
            const float *action = recall(c, c->out + i * size, kept, n_choices, allowed);
            if (has_choices(c))
                act_choice(c, act, e, slot, action, allowed);
            else
                act_numbers(c, act, e, slot, action);
        }
    }
}

/* Of a choice with what the row remembers; null: nothing. */
static bool choice(lud_policy *policy, const uint8_t *state, const uint8_t *hidden, int agent, double *p) {
    core *c = core_of(policy);
    const lud_model *model = policy->model;
    const int n = model->layout.actions[agent].n_discrete;
    static const uint32_t tick = 0;
    if (n == 0) return false;
    pthread_mutex_lock(&c->shared.lock);
    model->world->observe(model, (lud_range){.n = 1, .tick = &tick}, state, c->parts);
    c->place[0] = 0;
    c->agent[0] = agent;
    predict(c, (const void *const *)c->parts, 1);
    if (hidden) memcpy(c->kept, hidden, (size_t)c->remembered * sizeof *c->kept);
    const uint8_t *allowed = allowed_to(c, 0);
    chances_of(c, n, recall(c, c->out, c->kept, n, allowed), allowed, p);
    pthread_mutex_unlock(&c->shared.lock);
    return true;
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    (void)goal;
    return core_of(policy)->remembered == 0 && choice(policy, state, NULL, agent, p);
}

static bool recalled_distribution(lud_policy *policy, const uint8_t *state, const uint8_t *hidden, int agent,
                                  double *p) {
    return choice(policy, state, hidden, agent, p);
}

static const lud_policy_kind kind = {.name = "clone",
                                     .about = "the clone of a run",
                                     .destroy = lud_shared_policy_destroy,
                                     .act = act_in_range,
                                     .distribution = distribution,
                                     .recalled_distribution = recalled_distribution};

/* ---- creation ---- */

void lud_clone_visit_semantics(lud_checkpoint *checkpoint) {
    uint64_t semantics = LUD_WINDOW_SEMANTICS;
    lud_checkpoint_u64(checkpoint, "clone.window_semantics", &semantics);
    if (semantics != LUD_WINDOW_SEMANTICS && !lud_checkpoint_status(checkpoint, NULL))
        lud_log(NULL, LUD_LOG_WARNING,
                "the clone was trained on windows of semantics %llu, those of this program are of %d",
                (unsigned long long)semantics, (int)LUD_WINDOW_SEMANTICS);
}

static lud_status load(core *c, const char *folder, lud_error *error) {
    lud_checkpoint *checkpoint = NULL;
    const int64_t n = c->networks.base->shape.n_continuous;
    uint64_t normalisation = 0;
    lud_status status = lud_run_parameters(folder, lud_clone_learner.name, NULL, &checkpoint, NULL, error);
    if (!status) {
        lud_parameters_visit(c->networks.base->parameters, "", checkpoint);
        lud_normalisation_visit(c->columns, n, &normalisation, checkpoint);
        lud_clone_visit_semantics(checkpoint);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_fail_context(error, "%s: the run's clone does not fit this scenario", folder);
        c->normalisation = lud_normalisation_of((lud_normalisation_kind)normalisation, c->columns);
    }
    lud_checkpoint_destroy(checkpoint);
    return status;
}

/* Networks and memory for the model. */
static lud_status open_core(core *c, const lud_model *model, lud_parameters *parameters, lud_error *error) {
    LUD_TRY(lud_clone_networks_open(model, &c->options, c->device, 0, ROWS, 1, LUD_CLONE_ACT, parameters,
                                    &c->networks, error));
    const int64_t horizon = c->networks.horizon, width = c->networks.width;
    if (c->options.ensemble || c->options.execute > 1) c->remembered = 1 + horizon * horizon * width;
    LUD_TAKE(&c->arrays, c->out, (size_t)(ROWS * horizon * width));
    LUD_TAKE(&c->arrays, c->mixed, (size_t)width);
    LUD_TAKE(&c->arrays, c->kept, (size_t)(c->remembered + 1));
    LUD_TAKE(&c->arrays, c->p, (size_t)(2 * width));
    LUD_TAKE(&c->arrays, c->log_std, (size_t)width);
    LUD_TAKE(&c->arrays, c->columns, (size_t)width);
    for (int p = 0; p < model->layout.n_parts; p++)
        c->parts[p] = lud_arrays_add(&c->arrays, calloc(1, model->layout.parts[p].bytes));
    return c->arrays.failed ? lud_fail(error, LUD_ERROR_MEMORY, "memory is out") : LUD_OK;
}

static lud_status cast_all(core *c, const lud_model *model, lud_cast *cast, lud_error *error) {
    for (int i = 0; i < model->layout.n_agents; i++) {
        if (!lud_clone_imitates(&c->options, &model->layout, i)) continue;
        const lud_policy base = {.kind = &kind,
                                 .model = model,
                                 .hidden_bytes = (size_t)c->remembered * sizeof(float),
                                 .needs_observations = true,
                                 .reads_no_states = true,
                                 .device = c->device};
        LUD_TRY(lud_shared_policy_set(&c->shared, &base, cast, i, error));
    }
    return LUD_OK;
}

/* As it was trained, but a scenario of cloning that says how to act is obeyed. */
static lud_status read_options(core *c, const lud_scenario *trained, const lud_scenario *scenario,
                               lud_error *error) {
    lud_status status = lud_clone_options_read(c->arena, trained, &c->options, error);
    lud_tree *type = scenario->learner ? lud_tree_get(scenario->learner, "type") : NULL;
    if (status || !type || !type->text || strcmp(type->text, "clone") != 0) return status;
    lud_clone_options played;
    status = lud_clone_options_read(c->arena, scenario, &played, error);
    if (status || played.windows.horizon != c->options.windows.horizon) return status;
    c->options.deterministic = played.deterministic;
    c->options.execute = played.execute;
    c->options.ensemble = played.ensemble;
    c->options.ensemble_decay = played.ensemble_decay;
    return status;
}

lud_status lud_clone_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                          lud_cast *cast, lud_error *error) {
    core *c = lud_shared_create(sizeof *c, release);
    if (!c) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    lud_status status = lud_scenario_device(scenario, "cpu", &c->device, error);
    c->owns_device = !status;
    c->arena = lud_arena_create(0);
    if (!status && !c->arena) status = lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    if (!status) status = read_options(c, trained, scenario, error);
    if (!status) status = open_core(c, scenario->model, NULL, error);
    if (!status) status = load(c, folder, error);
    if (!status) status = cast_all(c, scenario->model, cast, error);
    lud_shared_leave(&c->shared);
    return status;
}

lud_status lud_clone_join_learner(const lud_clone_options *options, const lud_model *model,
                                  lud_device *device, lud_parameters *parameters,
                                  const lud_normalisation *normalisation, lud_cast *cast, lud_error *error) {
    core *c = lud_shared_create(sizeof *c, release);
    if (!c) return lud_fail(error, LUD_ERROR_MEMORY, "memory is out");
    c->device = device;
    c->options = *options;
    c->normalisation = *normalisation;
    lud_status status = open_core(c, model, parameters, error);
    if (!status) status = cast_all(c, model, cast, error);
    lud_shared_leave(&c->shared);
    return status;
}
