#include "learn/empo/values.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/random.h"
#include "learn/empo/staging.h"
#include "learn/empo/targets.h"

/* States that go through a network at once (more when a batch is larger), and entries at least. */
enum { CHUNK = 512, ENTRIES = 2048 };

/* Networks for a pass: with all heads, with V_h^e, with Q_r. */
enum { FULL, LIGHT, ROBOTS, PASSES };

/* Nets, staging and scratch of the values. */
struct lud_empo_workshop {
    int64_t chunk, entries; /* most states and entries at once */
    unsigned heads;         /* networks that exist */
    lud_nn *nets[PASSES];   /* null where there is no such network */
    lud_empo_graph graphs[PASSES];
    lud_empo_staging staging;         /* of one chunk */
    const int32_t **records, **goals; /* [chunk] with padding */
    int64_t pass_rows;                /* of the pass in work */
    struct {
        int64_t n;
        unsigned want;
        double beta_r;
    } closing;          /* what is in work */
    float *entry_value; /* [entries] read back, host */
    uint64_t *keys;     /* [capacity] table keys of states, host */
    float *host;        /* [capacity * width] */
    float *scratch;     /* [capacity * width] device */
    int64_t capacity;   /* of states in the results */
};

uint64_t lud_empo_state_key(const lud_empo_features *f, const int32_t *record) {
    return XXH3_64bits(record, (size_t)f->words * sizeof *record);
}
uint64_t lud_empo_person_key(uint64_t state_key, int h) {
    const uint64_t parts[2] = {state_key, (uint64_t)h};
    return XXH3_64bits(parts, sizeof parts);
}
uint64_t lud_empo_goal_key(uint64_t state_key, int h, int goal) {
    const uint64_t parts[3] = {state_key, (uint64_t)h, (uint64_t)goal};
    return XXH3_64bits(parts, sizeof parts);
}

/* ---- making and freeing ---- */

static int64_t width_of(const lud_empo_values *v) {
    const lud_empo_layout *layout = &v->features->layout;
    return layout->n_robot_actions > v->n_entries ? layout->n_robot_actions : v->n_entries;
}

/* The smallest chance of a goal: X_h is at least that where some goal is always within reach. */
static double least_weight(const lud_empo_features *f) {
    double least = INFINITY;
    for (int g = 0; g < f->layout.n_goals; g++)
        if (f->goal_weight[g] > 0 && f->goal_weight[g] < least) least = f->goal_weight[g];
    return fmin(least, 0.5);
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
    return s;
}

static unsigned network_heads(const lud_empo_learner_options *o) {
    unsigned heads = 0;
    const bool exists[LUD_EMPO_NETS] = {true, o->stages.x_h_network, o->stages.u_r_network, true,
                                        o->stages.v_r_network};
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (exists[net] && !o->use_lookup[net]) heads |= 1u << net;
    return heads;
}

static bool make_net(lud_empo_values *v, int which, unsigned heads, int64_t entries, lud_error *error) {
    struct lud_empo_workshop *w = v->workshop;
    lud_nn *net = w->nets[which] = lud_nn_create(v->target, w->chunk);
    if (!net) return false;
    w->graphs[which] = lud_empo_declare(net, &v->shape, heads, entries);
    return lud_nn_plan(net, LUD_NN_INFERENCE, error) == LUD_OK &&
           lud_empo_prepare(net, &w->graphs[which], &v->shape);
}

static bool make_networks(lud_empo_values *v, uint64_t seed, lud_error *error) {
    struct lud_empo_workshop *w = v->workshop;
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

static bool make_staging(lud_empo_values *v) {
    struct lud_empo_workshop *w = v->workshop;
    w->entry_value = calloc((size_t)w->entries, sizeof(float));
    w->records = calloc((size_t)w->chunk, sizeof *w->records);
    w->goals = calloc((size_t)w->chunk, sizeof *w->goals);
    return lud_empo_staging_create(v->device, v->features, w->chunk, w->entries, &w->staging) &&
           w->entry_value && w->records && w->goals;
}

/* The recorded pieces: they call operations and nothing else. */
static void queue_full(void *values);
static void queue_light(void *values);
static void queue_robots(void *values);
static void queue_closing(void *values);

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
    static void (*const passes[PASSES])(void *) = {queue_full, queue_light, queue_robots};
    for (int i = 0; i < PASSES; i++) lud_replay_start(&v->passing[i], device, passes[i], v);
    lud_replay_start(&v->closing, device, queue_closing, v);
    v->workshop = calloc(1, sizeof *v->workshop);
    lud_error reason = {0};
    bool complete = v->workshop;
    if (complete) {
        struct lud_empo_workshop *w = v->workshop;
        w->chunk = options->batch_size > CHUNK ? options->batch_size : CHUNK;
        w->entries = w->chunk * v->n_entries;
        if (w->entries < ENTRIES) w->entries = ENTRIES;
        if (w->entries < layout->n_goals) w->entries = layout->n_goals;
        if (w->entries < options->x_h_goals * layout->n_humans)
            w->entries = options->x_h_goals * layout->n_humans;
        w->heads = network_heads(options);
        complete = make_networks(v, seed, &reason) && make_tables(v) && make_staging(v);
    }
    if (complete) return LUD_OK;
    lud_empo_values_free(v);
    if (!reason.status) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for networks and tables");
    if (error) *error = reason;
    return reason.status;
}

static void free_results(lud_empo_values *v) {
    float *const device[] = {v->v_h_e, v->x_h, v->y, v->u_r, v->v_r, v->q_r, v->pi_r, v->workshop->scratch};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (device[i]) lud_device_release(v->device, device[i]);
    free(v->workshop->keys);
    free(v->workshop->host);
}

void lud_empo_values_free(lud_empo_values *v) {
    struct lud_empo_workshop *w = v->workshop;
    if (w) {
        for (int i = 0; i < PASSES; i++) lud_replay_end(&v->passing[i]);
        lud_replay_end(&v->closing);
        free_results(v);
        for (int i = 0; i < PASSES; i++) lud_nn_destroy(w->nets[i]);
        lud_empo_staging_free(&w->staging);
        free(w->entry_value);
        free(w->records);
        free(w->goals);
        free(w);
    }
    for (int net = 0; net < LUD_EMPO_NETS; net++) lud_empo_table_destroy(v->tables[net]);
    lud_parameters_destroy(v->target);
    lud_parameters_destroy(v->online);
    *v = (lud_empo_values){0};
}

/* Makes room for the results of n states. */
static lud_status make_room(lud_empo_values *v, int64_t n, lud_error *error) {
    struct lud_empo_workshop *w = v->workshop;
    if (lud_replay_rows(v->device, n) <= w->capacity) return LUD_OK;
    const int64_t capacity = lud_replay_rows(v->device, n) + n / 2;
    v->n_grown++;
    const size_t states = (size_t)capacity, humans = (size_t)v->features->layout.n_humans,
                 entries = (size_t)v->n_entries;
    const size_t actions = (size_t)v->features->layout.n_robot_actions, real = sizeof(float);
    free_results(v);
    v->v_h_e = lud_device_allocate(v->device, states * entries * real);
    v->x_h = lud_device_allocate(v->device, states * humans * real);
    v->y = lud_device_allocate(v->device, states * real);
    v->u_r = lud_device_allocate(v->device, states * real);
    v->v_r = lud_device_allocate(v->device, states * real);
    v->q_r = lud_device_allocate(v->device, states * actions * real);
    v->pi_r = lud_device_allocate(v->device, states * actions * real);
    w->scratch = lud_device_allocate(v->device, states * (size_t)width_of(v) * real);
    w->keys = malloc(states * sizeof *w->keys);
    w->host = malloc(states * (size_t)width_of(v) * real);
    const bool complete = v->v_h_e && v->x_h && v->y && v->u_r && v->v_r && v->q_r && v->pi_r && w->scratch &&
                          w->keys && w->host;
    w->capacity = complete ? capacity : 0;
    return complete
               ? LUD_OK
               : lud_fail(error, LUD_ERROR_MEMORY, "no memory for the values of %lld states", (long long)n);
}

/* ---- filling inputs ---- */

static void begin(lud_empo_values *v, int stage) {
    if (v->profile) lud_profile_begin(v->profile, stage);
}
static void end(lud_empo_values *v, int stage) {
    if (v->profile) lud_profile_end(v->profile, stage);
}

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

void lud_empo_values_stage(lud_empo_values *v, lud_nn *net, const lud_empo_graph *g, int64_t n,
                           const int32_t *const *records, const int32_t *const *goals) {
    lud_empo_staging *staging = &v->workshop->staging;
    lud_empo_staging_states(staging, net, g, n, records);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < v->n_entries; k++) {
            int h, goal;
            lud_empo_values_entry(v, k, goals ? goals[i] : NULL, &h, &goal);
            lud_empo_staging_entry(staging, i * v->n_entries + k, i, records[i], h, goal);
        }
    lud_empo_staging_entries(staging, net, g, n * v->n_entries);
}

/* ---- networks ---- */

static void run_piece(lud_empo_values *v, lud_replay *piece, uint64_t key) {
    if (v->never_record)
        piece->body(v);
    else
        lud_replay_run(piece, key);
}

static void queue_pass(lud_empo_values *v, int which) {
    lud_nn_forward(v->workshop->nets[which], v->workshop->pass_rows, false);
}
static void queue_full(void *values) {
    queue_pass(values, FULL);
}
static void queue_light(void *values) {
    queue_pass(values, LIGHT);
}
static void queue_robots(void *values) {
    queue_pass(values, ROBOTS);
}

/* One pass of a network whose inputs and other rows are set. */
static void pass(lud_empo_values *v, int which, int64_t rows) {
    const struct lud_empo_workshop *w = v->workshop;
    v->workshop->pass_rows = rows;
    run_piece(v, &v->passing[which],
              lud_replay_key(lud_replay_key(0, (uint64_t)rows),
                             (uint64_t)lud_nn_rows(w->nets[which], w->graphs[which].entries)));
}

/* Writes the inputs of a pass over the given rows, and of the padding, which repeats the last; returns how
 * many these are. */
static int64_t stage_pass(lud_empo_values *v, int which, int64_t rows, const int32_t *const *records,
                          const int32_t *const *goals) {
    struct lud_empo_workshop *w = v->workshop;
    const lud_empo_graph *g = &w->graphs[which];
    int64_t padded = lud_replay_rows(v->device, rows);
    if (padded > w->chunk) padded = w->chunk;
    if (padded > rows) {
        for (int64_t i = 0; i < padded; i++) {
            w->records[i] = records[i < rows ? i : rows - 1];
            w->goals[i] = goals ? goals[i < rows ? i : rows - 1] : NULL;
        }
        records = w->records;
        if (goals) goals = w->goals;
    }
    if (g->v_h_e >= 0 || g->x_h >= 0) {
        lud_empo_values_stage(v, w->nets[which], g, padded, records, goals);
    } else {
        lud_empo_staging_states(&w->staging, w->nets[which], g, padded, records);
        lud_nn_set_rows(w->nets[which], g->entries, 0);
    }
    return padded;
}

/* X_h of each person from its entries, which all say the same: to[rows][n_humans]. */
static void first_entries(lud_empo_values *v, const float *x_h, int64_t rows, float *to) {
    const lud_empo_layout *layout = &v->features->layout;
    const int n_humans = layout->n_humans;
    if (!v->options->expected_people) {
        lud_device_copy(v->device, to, x_h, (size_t)(rows * n_humans) * sizeof(float));
        return;
    }
    float *host = v->workshop->host;
    float *entries = v->workshop->entry_value;
    lud_device_download(v->device, entries, x_h, (size_t)(rows * v->n_entries) * sizeof(float));
    for (int64_t i = 0; i < rows; i++)
        for (int h = 0; h < n_humans; h++)
            host[i * n_humans + h] = entries[i * v->n_entries + layout->goal_begin[h]];
    lud_device_upload(v->device, to, host, (size_t)(rows * n_humans) * sizeof(float));
}

/* Runs a net over all states and keeps the values of its heads. */
static void run_net(lud_empo_values *v, int which, int64_t n, const int32_t *const *records,
                    const int32_t *const *goals) {
    const lud_nn *net = v->workshop->nets[which];
    const lud_empo_graph *g = &v->workshop->graphs[which];
    const int64_t n_humans = v->features->layout.n_humans, n_actions = v->shape.n_actions;
    const struct {
        int value;
        float *to;
        int64_t width;
    } outputs[] = {{g->v_h_e, v->v_h_e, v->n_entries},
                   {g->y, v->y, 1},
                   {g->u_r, v->u_r, 1},
                   {g->q_r, v->q_r, n_actions},
                   {g->v_r, v->v_r, 1}};
    for (int64_t first = 0; first < n; first += v->workshop->chunk) {
        const int64_t rows = n - first < v->workshop->chunk ? n - first : v->workshop->chunk;
        begin(v, LUD_STAGE_ENCODE);
        const int64_t padded = stage_pass(v, which, rows, records + first, goals ? goals + first : NULL);
        end(v, LUD_STAGE_ENCODE);
        begin(v, LUD_STAGE_FORWARD);
        pass(v, which, padded);
        for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++)
            if (outputs[k].value >= 0)
                lud_device_copy(v->device, outputs[k].to + first * outputs[k].width,
                                lud_nn_value(net, outputs[k].value),
                                (size_t)(rows * outputs[k].width) * sizeof(float));
        if (g->x_h >= 0) first_entries(v, lud_nn_value(net, g->x_h), rows, v->x_h + first * n_humans);
        end(v, LUD_STAGE_FORWARD);
    }
}

/* ---- tables ---- */

static void read_table(lud_empo_values *v, int net, int64_t n, const int32_t *const *goals, float *to) {
    struct lud_empo_workshop *w = v->workshop;
    const int n_humans = v->features->layout.n_humans;
    const size_t width = net == LUD_NET_Q_R ? (size_t)v->shape.n_actions : 1;
    const int per_state = net == LUD_NET_V_H_E ? v->n_entries : net == LUD_NET_X_H ? n_humans : 1;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < per_state; k++) {
            uint64_t key = w->keys[i];
            if (net == LUD_NET_X_H) key = lud_empo_person_key(key, k);
            if (net == LUD_NET_V_H_E) {
                int h, goal;
                lud_empo_values_entry(v, k, goals ? goals[i] : NULL, &h, &goal);
                key = lud_empo_goal_key(key, h, goal);
            }
            float *row = w->host + (size_t)(i * per_state + k) * width;
            memcpy(row, lud_empo_table_read(v->tables[net], key), width * sizeof *row);
        }
    const size_t total = (size_t)n * (size_t)per_state * width;
    lud_device_upload(v->device, to, w->host, total * sizeof(float));
}

static void read_tables(lud_empo_values *v, int64_t n, const int32_t *const *records,
                        const int32_t *const *goals, unsigned want) {
    bool any = false;
    for (int net = 0; net < LUD_EMPO_NETS; net++) any |= v->tables[net] != NULL;
    if (!any) return;
    begin(v, LUD_STAGE_ENCODE);
    for (int64_t i = 0; i < n; i++) v->workshop->keys[i] = lud_empo_state_key(v->features, records[i]);
    end(v, LUD_STAGE_ENCODE);
    begin(v, LUD_STAGE_FORWARD);
    float *const to[LUD_EMPO_NETS] = {v->v_h_e, v->x_h, v->y, v->q_r, v->v_r};
    const unsigned wanted[LUD_EMPO_NETS] = {LUD_WANT_V_H_E, LUD_WANT_ALL, LUD_WANT_ALL, LUD_WANT_Q_R,
                                            LUD_WANT_ALL};
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (v->tables[net] && (want & wanted[net]) == wanted[net]) read_table(v, net, n, goals, to[net]);
    end(v, LUD_STAGE_FORWARD);
}

/* ---- closed forms ---- */

/* X_h = sum_g w_g V_h^e^zeta of n states whose V_h^e of all goals stands in the results. */
static void power_from_entries(lud_empo_values *v, int64_t n) {
    const lud_empo_layout *layout = &v->features->layout;
    const double zeta = v->options->theory.zeta;
    const int64_t width = v->n_entries, n_humans = layout->n_humans;
    float *entries = v->workshop->entry_value;
    for (int64_t first = 0; first < n; first += v->workshop->chunk) {
        const int64_t rows = n - first < v->workshop->chunk ? n - first : v->workshop->chunk;
        lud_device_download(v->device, entries, v->v_h_e + first * width,
                            (size_t)(rows * width) * sizeof *entries);
        for (int64_t i = 0; i < rows; i++)
            for (int h = 0; h < n_humans; h++) {
                double sum = 0;
                for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
                    const double value = (double)entries[i * width + g];
                    sum += v->features->goal_weight[g] * (zeta == 2.0 ? value * value : pow(value, zeta));
                }
                v->workshop->host[i * n_humans + h] = (float)sum;
            }
        lud_device_upload(v->device, v->x_h + first * n_humans, v->workshop->host,
                          (size_t)(rows * n_humans) * sizeof(float));
    }
}

/* Least X_h of the closed form and of tables: far below any real one, but -X_h^-xi stays finite. */
static double power_floor(const lud_empo_values *v) {
    return v->options->x_h_floor > 0 ? v->options->x_h_floor : 1e-3 * least_weight(v->features);
}

/* X_h without a network, on the host. */
static void close_power(lud_empo_values *v, int64_t n, const int32_t *const *records, uint32_t draw) {
    if (v->options->stages.x_h_network) return;
    if (v->options->expected_people) {
        power_from_entries(v, n);
        return;
    }
    lud_empo_values_power(v, n, records, draw, v->workshop->host, NULL);
    lud_device_upload(v->device, v->x_h, v->workshop->host,
                      (size_t)(n * v->features->layout.n_humans) * sizeof(float));
}

static void queue_closing(void *values) {
    lud_empo_values *v = values;
    const lud_ops *ops = v->device->ops;
    const lud_empo_theory *theory = &v->options->theory;
    const int64_t n = v->workshop->closing.n, n_humans = v->features->layout.n_humans,
                  n_actions = v->shape.n_actions;
    const double beta_r = v->workshop->closing.beta_r;
    if (v->workshop->closing.want == LUD_WANT_Q_R) {
        lud_empo_policy(v->device, n, n_actions, beta_r, v->q_r, v->pi_r, v->workshop->scratch);
        return;
    }
    ops->map(v->device, (lud_map){LUD_MAP_CLAMP, power_floor(v), 1e30}, n * n_humans, v->x_h, v->x_h);
    if (!v->options->stages.u_r_network)
        lud_empo_intrinsic_reward(v->device, n, n_humans, theory->xi, theory->eta, v->x_h, v->y, v->u_r,
                                  v->workshop->scratch);
    else if (v->tables[LUD_NET_U_R])
        ops->map(v->device, (lud_map){LUD_MAP_NEG_POWER, theory->eta, 0.0}, n, v->y, v->u_r);
    lud_empo_policy(v->device, n, n_actions, beta_r, v->q_r, v->pi_r, v->workshop->scratch);
    if (!v->options->stages.v_r_network) {
        float *weighted = v->y; /* y is not read any more once V_r is composed from U_r */
        ops->combine(v->device, n, v->reward_scale, v->u_r, 0.0, NULL, weighted);
        lud_empo_state_value(v->device, n, n_actions, weighted, v->pi_r, v->q_r, v->v_r,
                             v->workshop->scratch);
    }
}

/* U_r, pi_r and V_r, as far as they are computed from the rest. */
static void close_forms(lud_empo_values *v, int64_t n, unsigned want, double beta_r) {
    struct lud_empo_workshop *w = v->workshop;
    const int64_t padded = lud_replay_rows(v->device, n);
    w->closing.n = padded;
    w->closing.want = want;
    w->closing.beta_r = beta_r;
    begin(v, LUD_STAGE_FORWARD);
    uint64_t key = lud_replay_key(0, (uint64_t)padded), bits;
    memcpy(&bits, &beta_r, sizeof bits);
    key = lud_replay_key(lud_replay_key(key, bits), want);
    run_piece(v, &v->closing, lud_replay_key(key, v->n_grown));
    end(v, LUD_STAGE_FORWARD);
}

lud_status lud_empo_values_run(lud_empo_values *v, int64_t n, const int32_t *const *records,
                               const int32_t *const *goals, unsigned want, double beta_r, uint32_t draw,
                               lud_error *error) {
    lud_status status = make_room(v, n, error);
    if (status) return status;
    const int which = want == LUD_WANT_ALL ? FULL : want == LUD_WANT_V_H_E ? LIGHT : ROBOTS;
    v->n = n;
    if (v->workshop->nets[which]) run_net(v, which, n, records, want == LUD_WANT_Q_R ? NULL : goals);
    read_tables(v, n, records, goals, want);
    if (want == LUD_WANT_ALL) close_power(v, n, records, draw);
    if (want != LUD_WANT_V_H_E) close_forms(v, n, want, beta_r);
    return LUD_OK;
}

lud_status lud_empo_values_for_search(lud_empo_values *v, int n, const int32_t *const *records,
                                      const int32_t *const *goals, double beta_r, float *q, float *u,
                                      float *value, lud_error *error) {
    lud_profile *profile = v->profile;
    v->profile = NULL; /* the actor's time is measured as a whole */
    const lud_status status = lud_empo_values_run(v, n, records, goals, LUD_WANT_ALL, beta_r, 0, error);
    v->profile = profile;
    if (status) return status;
    lud_device_download(v->device, q, v->q_r, (size_t)(n * v->shape.n_actions) * sizeof *q);
    lud_device_download(v->device, u, v->u_r, (size_t)n * sizeof *u);
    lud_device_download(v->device, value, v->v_r, (size_t)n * sizeof *value);
    for (int i = 0; i < n; i++) u[i] *= (float)v->reward_scale;
    return LUD_OK;
}

/* ---- X_h from V_h^e ---- */

/* Goal k of person h: the k-th of all, or a draw. */
static int goal_of(const lud_empo_values *v, bool all, int64_t row, int h, int k, uint32_t draw) {
    if (all) return k;
    const lud_random_key key = {(uint64_t)draw, (uint32_t)row};
    const lud_words words = lud_draw(key, (uint32_t)k, (uint32_t)h, LUD_PURPOSE_GOAL, 0x100);
    return lud_empo_features_draw_goal(v->features, h, lud_unit53(words.v[0], words.v[1]));
}

static int goals_of(const lud_empo_values *v, bool all, int h) {
    const lud_empo_layout *layout = &v->features->layout;
    return all ? layout->goal_begin[h + 1] - layout->goal_begin[h] : (int)v->options->x_h_goals;
}

/* V_h^e of all entries of rows first .. first + rows - 1, in order of row, person, goal. */
static void entry_values(lud_empo_values *v, bool all, int64_t first, int64_t rows,
                         const int32_t *const *records, uint32_t draw) {
    struct lud_empo_workshop *w = v->workshop;
    const int n_humans = v->features->layout.n_humans;
    const lud_empo_table *table = v->tables[LUD_NET_V_H_E];
    int64_t n = 0;
    begin(v, LUD_STAGE_ENCODE);
    if (!table)
        lud_empo_staging_states(&w->staging, w->nets[LIGHT], &w->graphs[LIGHT], rows, records + first);
    for (int64_t i = 0; i < rows; i++) {
        const int32_t *record = records[first + i];
        const uint64_t key = table ? lud_empo_state_key(v->features, record) : 0;
        for (int h = 0; h < n_humans; h++)
            for (int k = 0; k < goals_of(v, all, h); k++, n++) {
                const int goal = goal_of(v, all, first + i, h, k, draw);
                if (table)
                    w->entry_value[n] = *lud_empo_table_read(table, lud_empo_goal_key(key, h, goal));
                else
                    lud_empo_staging_entry(&w->staging, n, i, record, h, goal);
            }
    }
    if (!table) lud_empo_staging_entries(&w->staging, w->nets[LIGHT], &w->graphs[LIGHT], n);
    end(v, LUD_STAGE_ENCODE);
    if (table) return;
    begin(v, LUD_STAGE_FORWARD);
    pass(v, LIGHT, rows);
    lud_device_download(v->device, w->entry_value, lud_nn_value(w->nets[LIGHT], w->graphs[LIGHT].v_h_e),
                        (size_t)n * sizeof(float));
    end(v, LUD_STAGE_FORWARD);
}

void lud_empo_values_power(lud_empo_values *v, int64_t n, const int32_t *const *records, uint32_t draw,
                           float *x, float *v_h_e) {
    struct lud_empo_workshop *w = v->workshop;
    const lud_empo_layout *layout = &v->features->layout;
    const bool all = v_h_e || v->options->x_h_goals == 0;
    const double zeta = v->options->theory.zeta;
    int64_t per_row = 0;
    for (int h = 0; h < layout->n_humans; h++) per_row += goals_of(v, all, h);
    int64_t chunk = w->entries / per_row;
    if (chunk > w->chunk) chunk = w->chunk;
    for (int64_t first = 0; first < n; first += chunk) {
        const int64_t rows = n - first < chunk ? n - first : chunk;
        entry_values(v, all, first, rows, records, draw);
        const float *value = w->entry_value;
        for (int64_t i = first; i < first + rows; i++)
            for (int h = 0; h < layout->n_humans; h++) {
                const int n_goals = goals_of(v, all, h);
                double sum = 0;
                for (int k = 0; k < n_goals; k++, value++) {
                    const double weight = all ? v->features->goal_weight[layout->goal_begin[h] + k]
                                              : v->features->weight_sum[h] / n_goals;
                    sum +=
                        weight * (zeta == 2.0 ? (double)*value * (double)*value : pow((double)*value, zeta));
                    if (v_h_e) v_h_e[i * layout->n_goals + layout->goal_begin[h] + k] = *value;
                }
                x[i * layout->n_humans + h] = (float)sum;
            }
    }
}

void lud_empo_values_visit(lud_empo_values *v, lud_checkpoint *checkpoint) {
    static const char *const names[LUD_EMPO_NETS] = {"table.v_h_e", "table.x_h", "table.y", "table.q_r",
                                                     "table.v_r"};
    if (v->online) {
        lud_parameters_visit(v->online, "online.", checkpoint);
        lud_parameters_visit(v->target, "target.", checkpoint);
    }
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (v->tables[net]) lud_empo_table_visit(v->tables[net], names[net], checkpoint);
}
