#include "learn/empo/targets/values.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/targets/targets.h"
#include "learn/nn/arrays.h"

/* States that go through a network at once (more when a batch is larger), and entries at least. On the host
 * so many are halved, whatever the number of threads, as two threads take a half each; and passes begin at
 * multiples of as many states as go through a layer together. */
enum { CHUNK = 512, ENTRIES = 2048, HALVED = 64, TOGETHER = 16 };

/* Networks for a pass: with all heads, with V_h^e, with Q_r. */
enum { FULL, LIGHT, ROBOTS, PASSES };

/* Nets, staging and scratch of the values. */
struct lud_empo_workspace {
    int64_t chunk, entries; /* most states and entries at once */
    unsigned heads;         /* networks that exist */
    lud_nn *nets[PASSES];   /* null where there is no such network */
    lud_nn *twins[PASSES];  /* the same for the second half of a run, where the device runs two at a time */
    lud_empo_graph graphs[PASSES];
    lud_empo_staging staging; /* of the states of a run */
    lud_empo_ability ability; /* X_h without its network */
    lud_upload_batch upload;  /* of lud_empo_values_run */
    int32_t *first_entry;     /* [chunk][n_humans] of each person, device; with several entries of a person */
    float *exponents;         /* [n_actions] -beta_r */
    struct {
        int64_t n, rows, at_once; /* states, with padding; of a pass */
        unsigned want;
        int which;              /* network */
        const float *exponents; /* on the device */
    } query;
    lud_arrays arrays;  /* that do not grow */
    lud_arrays results; /* those below and in lud_empo_values */
    uint64_t *keys;     /* [capacity] table keys of states, host */
    float *host;        /* [capacity * width] */
    float *scratch;     /* [capacity * width] device */
    int64_t capacity;   /* of states in the results */
};

/* ---- making and freeing ---- */

static int64_t width_of(const lud_empo_values *v) {
    const lud_empo_layout *layout = &v->features->layout;
    return layout->n_robot_actions > v->n_entries ? layout->n_robot_actions : v->n_entries;
}

/* X_h is at least that where some goal is always within reach. */
static double least_weight(const lud_empo_features *f) {
    return fmin(lud_empo_features_least_weight(f), 0.5);
}

/* Least X_h of the closed form and of tables: far below any real one, but -X_h^-xi stays finite. */
static double power_floor(const lud_empo_features *f, const lud_empo_learner_options *o) {
    return o->x_h_floor > 0 ? o->x_h_floor : 1e-3 * least_weight(f);
}

static lud_empo_walk walk_of(const lud_empo_features *f, const lud_empo_learner_options *o) {
    const lud_empo_theory *theory = &o->theory;
    return (lud_empo_walk){.read = o->path_features,
                           .gamma_h = theory->gamma_h,
                           .gamma_r = theory->gamma_r,
                           .zeta = theory->zeta,
                           .xi = theory->xi,
                           .eta = theory->eta,
                           .power_floor = power_floor(f, o),
                           .mean = theory->aggregate == LUD_EMPO_MEAN};
}

static lud_empo_shape shape_of(const lud_empo_features *f, const lud_empo_learner_options *o) {
    lud_empo_shape s = lud_empo_shape_of(f);
    s.n_actions = f->layout.n_robot_actions;
    s.hidden = o->hidden_dim;
    s.goal_features = o->goal_feature_dim;
    s.agent_embedding = o->agent_embedding_dim;
    s.position_features = o->agent_position_feature_dim;
    s.agent_features = o->agent_feature_dim;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        s.dropout[net] = o->head_dropout[net] < 0 ? o->dropout : o->head_dropout[net];
    s.eta = o->theory.eta;
    s.xi = o->theory.xi;
    s.x_h_floor = o->x_h_floor > 0 ? o->x_h_floor : least_weight(f);
    s.z_space = o->z_space;
    s.log_space = o->log_space;
    s.dueling = o->dueling;
    s.walk = walk_of(f, o);
    return s;
}

static bool plan_net(lud_empo_values *v, lud_nn **net, lud_empo_graph *graph, unsigned heads, int64_t entries,
                     lud_error *error) {
    *net = lud_nn_create(v->target, v->workspace->chunk);
    if (!*net) return false;
    *graph = lud_empo_declare(*net, &v->shape, heads, entries);
    return lud_nn_plan(*net, LUD_NN_INFERENCE, error) == LUD_OK && lud_empo_prepare(*net, graph, &v->shape);
}

static bool make_net(lud_empo_values *v, int which, unsigned heads, int64_t entries, lud_error *error) {
    struct lud_empo_workspace *w = v->workspace;
    lud_empo_graph same;
    return plan_net(v, &w->nets[which], &w->graphs[which], heads, entries, error) &&
           (v->device->n_threads < 2 || !v->device->backend->run_both ||
            plan_net(v, &w->twins[which], &same, heads, entries, error));
}

static bool make_networks(lud_empo_values *v, uint64_t seed, lud_error *error) {
    struct lud_empo_workspace *w = v->workspace;
    if (!w->heads) return true;
    v->online = lud_parameters_create(v->device, false);
    if (!v->online || !lud_empo_register(v->online, &v->shape) ||
        lud_parameters_build(v->online, seed, error) != LUD_OK)
        return false;
    v->target = lud_parameters_clone(v->online);
    if (!v->target || !make_net(v, FULL, w->heads, w->entries, error)) return false;
    if (w->heads & LUD_EMPO_V_H_E && !make_net(v, LIGHT, LUD_EMPO_V_H_E, w->entries, error)) return false;
    return !(w->heads & LUD_EMPO_Q_R) || make_net(v, ROBOTS, LUD_EMPO_Q_R, 0, error);
}

static bool make_tables(lud_empo_values *v) {
    const lud_empo_learner_options *o = v->options;
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if (!o->use_lookup[net]) continue;
        const int width = net == LUD_NET_Q_R ? v->features->layout.n_robot_actions : 1;
        v->tables[net] = lud_empo_table_create(width, o->lookup_default[net]);
        if (!v->tables[net]) return false;
    }
    return true;
}

/* Where X_h of each person stands in the values of a chunk's entries, all of which say the same. */
static bool make_first_entries(lud_empo_values *v) {
    struct lud_empo_workspace *w = v->workspace;
    const lud_empo_layout *layout = &v->features->layout;
    if (!(w->heads & LUD_EMPO_X_H) || !v->options->expected_people) return true;
    const size_t bytes = (size_t)(w->chunk * layout->n_humans) * sizeof(int32_t);
    int32_t *index = malloc(bytes);
    LUD_TAKE_ON_DEVICE(&w->arrays, w->first_entry, (size_t)(w->chunk * layout->n_humans));
    const bool complete = index && w->first_entry;
    for (int64_t i = 0; complete && i < w->chunk; i++)
        for (int h = 0; h < layout->n_humans; h++)
            index[i * layout->n_humans + h] = (int32_t)(i * v->n_entries + layout->goal_begin[h]);
    if (complete) lud_device_upload(v->device, w->first_entry, index, bytes);
    free(index);
    return complete;
}

bool lud_empo_values_start_ability(lud_empo_values *v, lud_empo_ability *ability) {
    struct lud_empo_workspace *w = v->workspace;
    *ability = (lud_empo_ability){.device = v->device,
                                  .features = v->features,
                                  .options = v->options,
                                  .table = v->tables[LUD_NET_V_H_E],
                                  .net = w->nets[LIGHT],
                                  .graph = &w->graphs[LIGHT],
                                  .walk = &v->shape.walk,
                                  .max_states = w->chunk,
                                  .max_entries = w->entries,
                                  .n_grown = &v->n_grown};
    return lud_empo_ability_start(ability);
}

static bool make_staging(lud_empo_values *v) {
    struct lud_empo_workspace *w = v->workspace;
    return LUD_TAKE(&w->arrays, w->exponents, (size_t)v->shape.n_actions) &&
           lud_empo_staging_create(v->device, v->features, &v->shape.walk, w->chunk, w->entries,
                                   &w->staging) &&
           make_first_entries(v) && lud_empo_values_start_ability(v, &w->ability);
}

static void queue_values(void *values) {
    lud_empo_values_queue(values);
}

lud_status lud_empo_values_create(lud_device *device, const lud_empo_features *features,
                                  const lud_empo_learner_options *options, uint64_t seed, lud_empo_values *v,
                                  lud_error *error) {
    const lud_empo_layout *layout = &features->layout;
    *v = (lud_empo_values){.device = device,
                           .features = features,
                           .options = options,
                           .n_entries = options->expected_people ? layout->n_goals : layout->n_humans};
    v->shape = shape_of(features, options);
    v->reward_scale = lud_empo_reward_weight_of(&options->theory);
    if (options->theory.aggregate == LUD_EMPO_SUM)
        v->reward_scale *= pow((double)layout->n_humans, options->theory.eta);
    assert(features->height >= 2 && features->width >= 2); /* the world's own limit is 3 */
    lud_capture_start(&v->capture, device, queue_values, v);
    v->workspace = calloc(1, sizeof *v->workspace);
    lud_error reason = {0};
    bool complete = v->workspace;
    if (complete) {
        struct lud_empo_workspace *w = v->workspace;
        lud_upload_batch_start(&w->upload, device);
        w->arrays.device = w->results.device = device;
        w->chunk = options->batch_size > CHUNK ? options->batch_size : CHUNK;
        w->entries = w->chunk * v->n_entries;
        if (w->entries < ENTRIES) w->entries = ENTRIES;
        if (w->entries < layout->n_goals) w->entries = layout->n_goals;
        if (w->entries < options->x_h_goals * layout->n_humans)
            w->entries = options->x_h_goals * layout->n_humans;
        w->heads = lud_empo_learner_networks(options);
        complete = make_networks(v, seed, &reason) && make_tables(v) && make_staging(v);
    }
    if (complete) {
        lud_empo_values_changed(v);
        return LUD_OK;
    }
    lud_empo_values_free(v);
    if (!reason.status) return lud_no_memory(error, "networks and tables");
    if (error) *error = reason;
    return reason.status;
}

void lud_empo_values_free(lud_empo_values *v) {
    struct lud_empo_workspace *w = v->workspace;
    if (w) {
        lud_capture_end(&v->capture);
        lud_arrays_free(&w->results);
        lud_arrays_free(&w->arrays);
        for (int i = 0; i < PASSES; i++) {
            lud_nn_destroy(w->nets[i]);
            lud_nn_destroy(w->twins[i]);
        }
        lud_empo_ability_free(&w->ability);
        lud_empo_staging_free(&w->staging);
        lud_upload_batch_end(&w->upload);
        free(w);
    }
    for (int net = 0; net < LUD_EMPO_NETS; net++) lud_empo_table_destroy(v->tables[net]);
    lud_parameters_destroy(v->target);
    lud_parameters_destroy(v->online);
    *v = (lud_empo_values){0};
}

/* Makes room for the results of n states. */
static lud_status make_room(lud_empo_values *v, int64_t n, lud_error *error) {
    struct lud_empo_workspace *w = v->workspace;
    if (lud_capture_rows(v->device, n) <= w->capacity) return LUD_OK;
    const int64_t capacity = lud_capture_rows(v->device, n) + n / 2;
    v->n_grown++;
    const size_t states = (size_t)capacity, humans = (size_t)v->features->layout.n_humans,
                 actions = (size_t)v->features->layout.n_robot_actions, width = (size_t)width_of(v);
    lud_arrays *a = &w->results;
    lud_arrays_free(a);
    LUD_TAKE_ON_DEVICE(a, v->v_h_e, states * (size_t)v->n_entries);
    LUD_TAKE_ON_DEVICE(a, v->x_h, states * humans);
    LUD_TAKE_ON_DEVICE(a, v->y, states);
    LUD_TAKE_ON_DEVICE(a, v->u_r, states);
    LUD_TAKE_ON_DEVICE(a, v->v_r, states);
    LUD_TAKE_ON_DEVICE(a, v->q_r, states * actions);
    LUD_TAKE_ON_DEVICE(a, v->pi_r, states * actions);
    LUD_TAKE_ON_DEVICE(a, w->scratch, states * width);
    LUD_TAKE(a, w->keys, states);
    LUD_TAKE(a, w->host, states * width);
    w->capacity = a->failed ? 0 : capacity;
    return a->failed ? lud_no_memory(error, "the values of %lld states", (long long)n) : LUD_OK;
}

/* ---- filling inputs ---- */

void lud_empo_values_entry(const lud_empo_values *v, int k, const int32_t *goals, int *h, int *goal) {
    const lud_empo_layout *layout = &v->features->layout;
    if (v->options->expected_people) {
        for (*h = 0; k >= layout->goal_begin[*h + 1];) ++*h;
        *goal = k - layout->goal_begin[*h];
    } else {
        *h = k;
        *goal = goals ? goals[k] : -1;
    }
}

void lud_empo_values_encode(const lud_empo_values *v, lud_empo_staging *staging, int64_t n, int64_t rows,
                            const int32_t *const *records, const int32_t *const *goals, int64_t at_once,
                            int64_t n_entries) {
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = i < n ? i : n - 1;
        lud_empo_staging_state(staging, i, records[from]);
        for (int k = 0; k < n_entries; k++) {
            int h, goal;
            lud_empo_values_entry(v, k, goals ? goals[from] : NULL, &h, &goal);
            lud_empo_staging_entry(staging, i * n_entries + k, i % at_once, records[from], h, goal);
        }
    }
}

bool lud_empo_values_stage(lud_empo_values *v, lud_nn *net, const lud_empo_graph *g, int64_t n,
                           const int32_t *const *records, const int32_t *const *goals) {
    struct lud_empo_workspace *w = v->workspace;
    const int64_t entries = n * v->n_entries;
    if (!lud_empo_staging_room(&w->staging, n, entries)) return false;
    lud_upload_batch_clear(&w->upload);
    lud_empo_values_encode(v, &w->staging, n, n, records, goals, n, v->n_entries);
    lud_empo_staging_pack(&w->staging, n, entries, &w->upload);
    if (!lud_upload_batch_send(&w->upload)) return false;
    lud_empo_staging_bind(&w->staging, net, g, 0, 0, entries);
    return true;
}

/* ---- networks ---- */

/* Entries of a state that a pass needs. */
static int64_t entries_of(const lud_empo_values *v, int which) {
    const lud_empo_graph *g = &v->workspace->graphs[which];
    return g->v_h_e >= 0 || g->x_h >= 0 ? v->n_entries : 0;
}

/* X_h of each person from the entries of a chunk: to[rows][n_humans]. */
static void first_entries(const lud_empo_values *v, lud_device *device, const float *x_h, int64_t rows,
                          float *to) {
    const int32_t *index = v->workspace->first_entry;
    const int64_t n = rows * v->features->layout.n_humans;
    if (index)
        device->ops->gather_rows(device, n, 1, x_h, index, to);
    else
        lud_device_copy(device, to, x_h, (size_t)n * sizeof(float));
}

/* States of a pass where there are so many rows. */
static int64_t rows_at_once(const lud_empo_values *v, int64_t rows) {
    const int64_t chunk = v->workspace->chunk;
    if (!v->device->backend->run_both || rows < HALVED) return chunk;
    const int64_t n_pairs = (rows + 2 * chunk - 1) / (2 * chunk);
    const int64_t each = (rows + 2 * n_pairs - 1) / (2 * n_pairs);
    const int64_t rounded = (each + TOGETHER - 1) / TOGETHER * TOGETHER;
    return rounded < chunk ? rounded : chunk;
}

/* Passes of a network over rows first .. end, which keep the values of its heads. */
static void queue_passes(lud_empo_values *v, lud_device *device, lud_nn *net, int64_t begin, int64_t end) {
    struct lud_empo_workspace *w = v->workspace;
    const int which = w->query.which;
    const lud_empo_graph *g = &w->graphs[which];
    const int64_t n_humans = v->features->layout.n_humans, n_actions = v->shape.n_actions,
                  n_entries = entries_of(v, which);
    const struct {
        int value;
        float *to;
        int64_t width;
    } outputs[] = {{g->v_h_e, v->v_h_e, v->n_entries},
                   {g->y, v->y, 1},
                   {g->u_r, v->u_r, 1},
                   {g->q_r, v->q_r, n_actions},
                   {g->v_r, v->v_r, 1}};
    lud_nn_run_on(net, device);
    for (int64_t first = begin; first < end; first += w->query.at_once) {
        const int64_t rows = end - first < w->query.at_once ? end - first : w->query.at_once;
        lud_empo_staging_bind(&w->staging, net, g, first, first * n_entries, rows * n_entries);
        lud_nn_forward(net, rows, false);
        for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++)
            if (outputs[k].value >= 0)
                lud_device_copy(device, outputs[k].to + first * outputs[k].width,
                                lud_nn_value(net, outputs[k].value),
                                (size_t)(rows * outputs[k].width) * sizeof(float));
        if (g->x_h >= 0) first_entries(v, device, lud_nn_value(net, g->x_h), rows, v->x_h + first * n_humans);
    }
    lud_nn_run_on(net, NULL);
}

/* Where the second half of the passes begins. */
static int64_t half_of(const struct lud_empo_workspace *w) {
    const int64_t n_passes = (w->query.rows + w->query.at_once - 1) / w->query.at_once;
    return (n_passes + 1) / 2 * w->query.at_once;
}

static void queue_first_half(lud_device *device, void *values) {
    lud_empo_values *v = values;
    const struct lud_empo_workspace *w = v->workspace;
    queue_passes(v, device, w->nets[w->query.which], 0, half_of(w));
}
static void queue_second_half(lud_device *device, void *values) {
    lud_empo_values *v = values;
    const struct lud_empo_workspace *w = v->workspace;
    queue_passes(v, device, w->twins[w->query.which], half_of(w), w->query.rows);
}

static void queue_networks(lud_empo_values *v) {
    const struct lud_empo_workspace *w = v->workspace;
    if (w->twins[w->query.which] && half_of(w) < w->query.rows)
        lud_device_run_both(v->device, queue_first_half, v, queue_second_half, v);
    else if (w->nets[w->query.which])
        queue_passes(v, v->device, w->nets[w->query.which], 0, w->query.rows);
}

/* ---- tables ---- */

uint64_t lud_empo_values_row_key(const lud_empo_values *v, int net, uint64_t state_key, int k,
                                 const int32_t *goals) {
    int h = k, goal = 0;
    if (net == LUD_NET_X_H) return lud_empo_person_key(state_key, h);
    if (net != LUD_NET_V_H_E) return state_key;
    lud_empo_values_entry(v, k, goals, &h, &goal);
    return lud_empo_goal_key(state_key, h, goal);
}

int lud_empo_values_rows_of(const lud_empo_values *v, int net) {
    return net == LUD_NET_V_H_E ? v->n_entries : net == LUD_NET_X_H ? v->features->layout.n_humans : 1;
}

static void read_table(lud_empo_values *v, int net, int64_t n, const int32_t *const *goals, float *to) {
    struct lud_empo_workspace *w = v->workspace;
    const size_t width = net == LUD_NET_Q_R ? (size_t)v->shape.n_actions : 1;
    const int per_state = lud_empo_values_rows_of(v, net);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < per_state; k++) {
            const uint64_t key = lud_empo_values_row_key(v, net, w->keys[i], k, goals ? goals[i] : NULL);
            memcpy(w->host + (size_t)(i * per_state + k) * width, lud_empo_table_read(v->tables[net], key),
                   width * sizeof *w->host);
        }
    lud_device_upload(v->device, to, w->host, (size_t)(n * per_state) * width * sizeof(float));
}

static void read_tables(lud_empo_values *v, int64_t n, const int32_t *const *records,
                        const int32_t *const *goals, unsigned want) {
    bool any = false;
    for (int net = 0; net < LUD_EMPO_NETS; net++) any |= v->tables[net] != NULL;
    if (!any) return;
    lud_profile_begin(v->profile, LUD_STAGE_ENCODE);
    for (int64_t i = 0; i < n; i++) v->workspace->keys[i] = lud_empo_state_key(v->features, records[i]);
    lud_profile_end(v->profile, LUD_STAGE_ENCODE);
    lud_profile_begin(v->profile, LUD_STAGE_FORWARD);
    float *const to[LUD_EMPO_NETS] = {v->v_h_e, v->x_h, v->y, v->q_r, v->v_r};
    const unsigned wanted[LUD_EMPO_NETS] = {LUD_WANT_V_H_E, LUD_WANT_ALL, LUD_WANT_ALL, LUD_WANT_Q_R,
                                            LUD_WANT_ALL};
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (v->tables[net] && (want & wanted[net]) == wanted[net]) read_table(v, net, n, goals, to[net]);
    lud_profile_end(v->profile, LUD_STAGE_FORWARD);
}

/* ---- closed forms ---- */

/* Whether X_h is wanted and has no network. */
static bool needs_power(const lud_empo_values *v) {
    return v->workspace->query.want == LUD_WANT_ALL && !v->options->stages.x_h_network;
}

/* U_r, pi_r and V_r, as far as they are computed from the rest. */
static void queue_closing(lud_empo_values *v) {
    const struct lud_empo_workspace *w = v->workspace;
    const lud_ops *ops = v->device->ops;
    const lud_empo_theory *theory = &v->options->theory;
    const int64_t n = w->query.rows, n_humans = v->features->layout.n_humans, n_actions = v->shape.n_actions;
    const float *exponents = w->query.exponents;
    if (w->query.want == LUD_WANT_Q_R) {
        lud_empo_policy_by(v->device, n, n_actions, exponents, v->q_r, v->pi_r, w->scratch);
        return;
    }
    ops->map(v->device, (lud_map){LUD_MAP_CLAMP, power_floor(v->features, v->options), 1e30}, n * n_humans,
             v->x_h, v->x_h);
    if (!v->options->stages.u_r_network)
        lud_empo_intrinsic_reward(v->device, n, n_humans, theory->xi, theory->eta, v->x_h, v->y, v->u_r,
                                  w->scratch);
    else if (v->tables[LUD_NET_U_R])
        ops->map(v->device, (lud_map){LUD_MAP_NEG_POWER, theory->eta, 0.0}, n, v->y, v->u_r);
    lud_empo_policy_by(v->device, n, n_actions, exponents, v->q_r, v->pi_r, w->scratch);
    if (!v->options->stages.v_r_network) {
        float *weighted = v->y; /* y is not read any more once V_r is composed from U_r */
        ops->combine(v->device, n, v->reward_scale, v->u_r, 0.0, NULL, weighted);
        lud_empo_state_value(v->device, n, n_actions, weighted, v->pi_r, v->q_r, v->v_r, w->scratch);
    }
}

lud_status lud_empo_values_prepare(lud_empo_values *v, int64_t n, const int32_t *const *records,
                                   const int32_t *const *goals, unsigned want, double beta_r, uint32_t draw,
                                   lud_upload_batch *upload, lud_error *error) {
    LUD_TRY(make_room(v, n, error));
    struct lud_empo_workspace *w = v->workspace;
    const int which = want == LUD_WANT_ALL || want == LUD_WANT_WORTH ? FULL
                      : want == LUD_WANT_V_H_E                       ? LIGHT
                                                                     : ROBOTS;
    const int64_t rows = lud_capture_rows(v->device, n), n_entries = entries_of(v, which);
    v->n = w->query.n = n;
    w->query.rows = rows;
    w->query.want = want;
    w->query.which = which;
    w->query.at_once = rows_at_once(v, rows);
    bool complete = true;
    lud_profile_begin(v->profile, LUD_STAGE_ENCODE);
    if (w->nets[which]) {
        complete = lud_empo_staging_room(&w->staging, rows, rows * n_entries);
        if (complete) {
            lud_empo_values_encode(v, &w->staging, n, rows, records, want == LUD_WANT_Q_R ? NULL : goals,
                                   w->query.at_once, n_entries);
            lud_empo_staging_pack(&w->staging, rows, rows * n_entries, upload);
        }
    }
    lud_profile_end(v->profile, LUD_STAGE_ENCODE);
    read_tables(v, n, records, goals, want);
    lud_profile_begin(v->profile, LUD_STAGE_ENCODE);
    if (needs_power(v) && complete)
        complete =
            v->options->expected_people
                ? lud_empo_ability_stage_known(&w->ability, rows, v->v_h_e, upload)
                : lud_empo_ability_stage(&w->ability, n, rows, records, draw, INT64_MAX, false, upload);
    for (int64_t a = 0; a < v->shape.n_actions; a++) w->exponents[a] = (float)-beta_r;
    lud_upload_batch_add(upload, &w->query.exponents, w->exponents,
                         (size_t)v->shape.n_actions * sizeof *w->exponents);
    lud_profile_end(v->profile, LUD_STAGE_ENCODE);
    return complete ? LUD_OK : lud_no_memory(error, "the values of %lld states", (long long)n);
}

void lud_empo_values_queue(lud_empo_values *v) {
    struct lud_empo_workspace *w = v->workspace;
    lud_profile_begin(v->profile, LUD_STAGE_FORWARD);
    queue_networks(v);
    if (needs_power(v)) lud_empo_ability_queue(&w->ability, v->x_h);
    if (w->query.want != LUD_WANT_V_H_E && w->query.want != LUD_WANT_WORTH) queue_closing(v);
    lud_profile_end(v->profile, LUD_STAGE_FORWARD);
}

uint64_t lud_empo_values_key(const lud_empo_values *v) {
    const struct lud_empo_workspace *w = v->workspace;
    uint64_t key = lud_capture_key(lud_capture_key(0, v->n_grown), (uint64_t)w->query.rows);
    key = lud_capture_key(key, (uint64_t)w->ability.n);
    return lud_capture_key(key, w->query.want);
}

lud_status lud_empo_values_run(lud_empo_values *v, int64_t n, const int32_t *const *records,
                               const int32_t *const *goals, unsigned want, double beta_r, uint32_t draw,
                               lud_error *error) {
    lud_upload_batch *upload = &v->workspace->upload;
    lud_upload_batch_clear(upload);
    LUD_TRY(lud_empo_values_prepare(v, n, records, goals, want, beta_r, draw, upload, error));
    if (!lud_upload_batch_send(upload))
        return lud_no_memory(error, "the inputs of %lld states", (long long)n);
    lud_capture_run(&v->capture, lud_capture_key(lud_empo_values_key(v), lud_upload_batch_key(upload)));
    return lud_device_check(v->device, error);
}

lud_empo_estimates lud_empo_values_estimates(const lud_empo_values *v) {
    const lud_empo_inputs *host = &v->workspace->staging.host;
    if (!v->shape.walk.read) return (lud_empo_estimates){0};
    return (lud_empo_estimates){host->entry_alone, v->shape.log_space ? host->helped : NULL};
}

static lud_status run_unprofiled(lud_empo_values *v, int n, const int32_t *const *records,
                                 const int32_t *const *goals, unsigned want, double beta_r, float *q,
                                 lud_error *error) {
    lud_profile *profile = v->profile;
    v->profile = NULL;
    const lud_status status = lud_empo_values_run(v, n, records, goals, want, beta_r, 0, error);
    v->profile = profile;
    if (!status) lud_device_download(v->device, q, v->q_r, (size_t)(n * v->shape.n_actions) * sizeof *q);
    return status;
}

lud_status lud_empo_values_for_acting(lud_empo_values *v, int n, const int32_t *const *records, double beta_r,
                                      float *q, lud_error *error) {
    return run_unprofiled(v, n, records, NULL, LUD_WANT_Q_R, beta_r, q, error);
}

lud_status lud_empo_values_for_search(void *values, int n, const int32_t *const *records,
                                      const int32_t *const *goals, double beta_r, float *q, float *u,
                                      float *value, lud_error *error) {
    lud_empo_values *v = values;
    LUD_TRY(run_unprofiled(v, n, records, goals, LUD_WANT_ALL, beta_r, q, error));
    lud_device_download(v->device, u, v->u_r, (size_t)n * sizeof *u);
    lud_device_download(v->device, value, v->v_r, (size_t)n * sizeof *value);
    for (int i = 0; i < n; i++) u[i] *= (float)v->reward_scale;
    return LUD_OK;
}

lud_status lud_empo_values_power(lud_empo_values *v, int64_t n, const int32_t *const *records, uint32_t draw,
                                 float *x, float *v_h_e, lud_error *error) {
    struct lud_empo_workspace *w = v->workspace;
    const lud_empo_layout *layout = &v->features->layout;
    LUD_TRY(make_room(v, n, error));
    lud_upload_batch_clear(&w->upload);
    if (!lud_empo_ability_stage(&w->ability, n, n, records, draw, INT64_MAX, v_h_e != NULL, &w->upload) ||
        !lud_upload_batch_send(&w->upload))
        return lud_no_memory(error, "the power of people in %lld states", (long long)n);
    lud_empo_ability_queue(&w->ability, w->scratch);
    lud_device_download(v->device, x, w->scratch, (size_t)(n * layout->n_humans) * sizeof(float));
    if (v_h_e)
        lud_device_download(v->device, v_h_e, w->ability.value,
                            (size_t)(n * layout->n_goals) * sizeof(float));
    return lud_device_check(v->device, error);
}

/* On the host alone: a recorded run does what it did when it was recorded. */
void lud_empo_values_changed(lud_empo_values *v) {
    const struct lud_empo_workspace *w = v->workspace;
    if (!v->device->backend->host_memory) return;
    v->version++;
    for (int i = 0; i < PASSES; i++) {
        if (w->nets[i]) lud_nn_hold(w->nets[i], v->version);
        if (w->twins[i]) lud_nn_hold(w->twins[i], v->version);
    }
}

void lud_empo_values_copy(lud_empo_values *v, unsigned nets) {
    if (nets) lud_empo_values_changed(v);
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if (!(nets & 1u << net)) continue;
        const size_t length = strlen(lud_empo_net_prefixes[net]);
        for (int i = 0; i < v->online->n; i++)
            if (strncmp(v->online->items[i].name, lud_empo_net_prefixes[net], length) == 0)
                lud_device_copy(v->device, lud_parameters_value(v->target, i),
                                lud_parameters_value(v->online, i),
                                (size_t)v->online->items[i].n * v->online->real_bytes);
    }
}

double lud_empo_values_power_floor(const lud_empo_values *v) {
    return power_floor(v->features, v->options);
}

void lud_empo_values_visit(lud_empo_values *v, lud_checkpoint *checkpoint) {
    if (v->online) lud_parameters_visit(v->online, "online.", checkpoint);
    lud_empo_values_visit_policy(v, checkpoint);
}

void lud_empo_values_visit_policy(lud_empo_values *v, lud_checkpoint *checkpoint) {
    static const char *const names[LUD_EMPO_NETS] = {"table.v_h_e", "table.x_h", "table.y", "table.q_r",
                                                     "table.v_r"};
    if (v->target) lud_parameters_visit(v->target, "target.", checkpoint);
    lud_empo_values_changed(v);
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (v->tables[net]) lud_empo_table_visit(v->tables[net], names[net], checkpoint);
}
