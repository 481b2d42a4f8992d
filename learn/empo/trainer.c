#include "learn/empo/trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/sample.h"
#include "learn/optimiser.h"

const char *const lud_empo_trainer_stages[LUD_TRAINER_STAGES] = {
    "stage1_collect",    "stage2_encode", "stage3_forward", "stage4_scatter", "stage5_v_h_e",
    "tensor_conversion", "loss",          "backward_pass",  "optimizer_step", "actor"};

static const char *const prefixes[LUD_EMPO_NETS] = {"v_h_e.", "x_h.", "u_r.", "q_r.", "v_r."};

/* The network that learns a set of quantities. */
typedef struct training_net {
    unsigned heads;
    lud_nn *net;
    lud_empo_graph graph;
} training_net;

/* Device arrays. */
typedef struct targets {
    /* [n] of the batch */
    float *q_r, *v_h_e, *x_h, *y, *v, *uniform, *weight, *small;
    float *loss; /* [LUD_EMPO_NETS] of these */
} targets;

struct lud_empo_trainer {
    lud_empo_values *values;
    lud_empo_replay *replay;
    const lud_empo_learner_options *options;
    lud_device *device;
    uint64_t seed;
    int64_t n;                              /* batch size */
    int64_t n_actions, n_humans, n_entries; /* entries of a state, see learn/empo/values.h */
    training_net nets[LUD_EMPO_NETS];
    lud_optimiser *optimiser;
    int groups[LUD_EMPO_NETS]; /* -1: no network */
    lud_empo_sample batch;
    targets targets;
    int64_t width;          /* max(n_actions, n_entries) */
    float *host;            /* [n * width] */
    float *host_targets[3]; /* for lud_empo_trainer_targets */
    /* On CUDA recorded graphs: targets; losses and gradients; the steps of the optimiser. */
    lud_replay aiming, learning, stepping;
    struct {
        const lud_empo_now *now;
        bool with_states, measure;
        unsigned heads;
        training_net *own;
        const float *x_h; /* its targets */
    } work;               /* of the update at hand */
    int stage;            /* of the profile, -1: none */
    double loss[LUD_EMPO_NETS];
    lud_empo_spread spread[LUD_EMPO_NETS];
};

/* ---- making and freeing ---- */

static unsigned active_heads(const lud_empo_now *now, const lud_empo_learner_options *o) {
    unsigned heads = 0;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (now->active[net] && !o->use_lookup[net]) heads |= 1u << net;
    return heads;
}

static lud_status make_net(lud_empo_trainer *t, unsigned heads, training_net *made, lud_error *error) {
    made->heads = heads;
    made->net = lud_nn_create(t->values->online, t->n);
    if (!made->net) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a network");
    made->graph = lud_empo_declare(made->net, &t->values->shape, heads, t->n * t->n_entries);
    lud_status status = lud_nn_plan(made->net, LUD_NN_TRAIN, error);
    if (status == LUD_OK && !lud_empo_prepare(made->net, &made->graph, &t->values->shape))
        status = lud_fail(error, LUD_ERROR_MEMORY, "no memory for a network");
    return status;
}

/* One network for every set of quantities that learn together at some time. */
static lud_status make_nets(lud_empo_trainer *t, lud_error *error) {
    int n = 0;
    for (int stage = 0; stage < LUD_EMPO_STAGES; stage++) {
        const int64_t end = lud_empo_stage_end(&t->options->stages, stage);
        const int64_t step = stage == LUD_STAGE_FULL ? end : end - 1;
        if (step < 0) continue;
        const lud_empo_now now = lud_empo_stages_at(&t->options->stages, step);
        const unsigned heads = active_heads(&now, t->options);
        bool known = heads == 0;
        for (int i = 0; i < n; i++) known |= t->nets[i].heads == heads;
        if (known) continue;
        assert(n < LUD_EMPO_NETS);
        lud_status status = make_net(t, heads, &t->nets[n++], error);
        if (status) return status;
    }
    return LUD_OK;
}

static lud_status make_optimiser(lud_empo_trainer *t, lud_error *error) {
    for (int net = 0; net < LUD_EMPO_NETS; net++) t->groups[net] = -1;
    if (!t->values->online) return LUD_OK;
    t->optimiser = lud_optimiser_create(t->values->online);
    if (!t->optimiser) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for an optimiser");
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        const bool exists[LUD_EMPO_NETS] = {true, t->options->stages.x_h_network,
                                            t->options->stages.u_r_network, true,
                                            t->options->stages.v_r_network};
        if (!exists[net] || t->options->use_lookup[net]) continue;
        lud_optimiser_options o = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
        o.weight_decay = t->options->weight_decay[net];
        o.max_norm = t->options->stages.clip[net];
        t->groups[net] = lud_optimiser_group(t->optimiser, prefixes[net], &o, false);
        if (t->groups[net] < 0) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for an optimiser");
    }
    return lud_optimiser_build(t->optimiser, t->seed, error);
}

static bool make_arrays(lud_empo_trainer *t) {
    const size_t n = (size_t)t->n, entries = (size_t)t->n_entries, actions = (size_t)t->n_actions;
    const size_t width = actions > entries ? actions : entries, real = sizeof(float);
    targets *d = &t->targets;
    t->width = (int64_t)width;
    t->host = calloc(n * width, real);
    for (int i = 0; i < 3; i++) t->host_targets[i] = calloc(n * width, real);
    float **const device[] = {&d->q_r, &d->v_h_e, &d->x_h, &d->y, &d->v, &d->uniform, &d->weight, &d->small};
    bool complete = t->host && t->host_targets[0] && t->host_targets[1] && t->host_targets[2];
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) {
        *device[i] = lud_device_allocate(t->device, n * width * real);
        complete = complete && *device[i];
    }
    d->loss = lud_device_allocate(t->device, LUD_EMPO_NETS * n * width * real);
    complete = complete && d->loss;
    if (complete)
        t->device->ops->fill(t->device, t->n * t->n_actions, 1.0 / (double)t->n_actions, d->uniform);
    return complete;
}

/* The recorded pieces: they call operations and nothing else. */
static void queue_targets(void *trainer);
static void queue_learning(void *trainer);
static void queue_steps(void *trainer);

lud_status lud_empo_trainer_create(lud_empo_values *values, lud_empo_replay *replay,
                                   const lud_empo_learner_options *options, uint64_t seed,
                                   lud_empo_trainer **trainer, lud_error *error) {
    *trainer = NULL;
    lud_empo_trainer *t = calloc(1, sizeof *t);
    if (!t) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a trainer");
    *t = (lud_empo_trainer){.values = values,
                            .replay = replay,
                            .options = options,
                            .device = values->device,
                            .seed = seed,
                            .n = options->batch_size,
                            .n_actions = values->features->layout.n_robot_actions,
                            .n_humans = values->features->layout.n_humans,
                            .n_entries = values->n_entries,
                            .stage = -1};
    lud_replay_start(&t->aiming, t->device, queue_targets, t);
    lud_replay_start(&t->learning, t->device, queue_learning, t);
    lud_replay_start(&t->stepping, t->device, queue_steps, t);
    lud_status status = make_arrays(t) ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "no memory for a batch");
    if (status == LUD_OK) status = lud_empo_sample_create(values, replay, options, seed, &t->batch, error);
    if (status == LUD_OK) status = make_nets(t, error);
    if (status == LUD_OK) status = make_optimiser(t, error);
    if (status)
        lud_empo_trainer_destroy(t);
    else
        *trainer = t;
    return status;
}

void lud_empo_trainer_destroy(lud_empo_trainer *t) {
    if (!t) return;
    lud_replay *const recorded[] = {&t->aiming, &t->learning, &t->stepping};
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) lud_replay_end(recorded[i]);
    for (int i = 0; i < LUD_EMPO_NETS; i++) lud_nn_destroy(t->nets[i].net);
    lud_optimiser_destroy(t->optimiser);
    lud_empo_sample_free(&t->batch);
    targets *d = &t->targets;
    float *const fixed[] = {d->q_r, d->v_h_e, d->x_h, d->y, d->v, d->uniform, d->weight, d->loss, d->small};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i]) lud_device_release(t->device, fixed[i]);
    free(t->host);
    for (int i = 0; i < 3; i++) free(t->host_targets[i]);
    free(t);
}

/* ---- pieces of an update ---- */

/* The profile goes on with another stage; -1: none. A replayed graph counts for the stage it begins in. */
static void enter(lud_empo_trainer *t, int stage) {
    lud_profile *profile = t->values->profile;
    if (!profile) return;
    if (t->stage >= 0) lud_profile_end(profile, t->stage);
    if (stage >= 0) lud_profile_begin(profile, stage);
    t->stage = stage;
}

static void run_piece(lud_empo_trainer *t, lud_replay *piece, bool plain, uint64_t key) {
    if (plain || t->values->never_record)
        piece->body(t);
    else
        lud_replay_run(piece, key);
}

static uint64_t key_of_real(uint64_t key, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return lud_replay_key(key, bits);
}

/* ---- stages 4 and 5: targets ---- */

static void robot_targets(lud_empo_trainer *t, const lud_empo_now *now) {
    const lud_ops *ops = t->device->ops;
    const lud_empo_sample *b = &t->batch;
    const lud_empo_values *v = t->values;
    targets *d = &t->targets;
    const lud_empo_theory *theory = &t->options->theory;
    ops->multiply(t->device, b->run_rows, v->v_r, b->on_device.continues, v->v_r);
    ops->combine(t->device, b->run_rows, 1.0, v->v_r, 1.0, b->on_device.terminal, v->v_r);
    ops->gather_rows(t->device, b->run_flat, 1, v->v_r, b->on_device.row, b->on_device.v_r);
    lud_empo_q_r_targets(t->device, b->run_flat, t->n * t->n_actions, now->gamma_r, b->on_device.slot,
                         b->on_device.probability, b->on_device.v_r, d->q_r);
    if (t->batch.trajectory) lud_empo_trajectory_robots(t->batch.trajectory, d->q_r);
    if (now->active[LUD_NET_U_R])
        lud_empo_intrinsic_reward(t->device, t->n, t->n_humans, theory->xi, theory->eta, v->x_h, d->y,
                                  d->small, d->weight);
    if (now->active[LUD_NET_V_R]) {
        ops->combine(t->device, t->n, v->reward_scale, v->u_r, 0.0, NULL, d->small);
        lud_empo_state_value(t->device, t->n, t->n_actions, d->small, v->pi_r, v->q_r, d->v, d->weight);
    }
}

static void human_targets(lud_empo_trainer *t, const lud_empo_now *now, bool with_states) {
    const lud_empo_sample *b = &t->batch;
    const lud_empo_values *v = t->values;
    targets *d = &t->targets;
    const int64_t n_expanded = b->run_flat * b->n_entries;
    t->device->ops->gather_rows(t->device, n_expanded, 1, v->v_h_e, b->on_device.value_index,
                                b->on_device.v_h_e_next);
    /* until robots learn their policy is uniform */
    const float *pi = with_states && now->beta_r > 0.0 ? v->pi_r : d->uniform;
    lud_empo_v_h_e_targets(t->device, n_expanded, t->n * t->n_entries, now->gamma_h, b->on_device.entry,
                           b->on_device.expanded_slot, b->on_device.expanded_probability,
                           b->on_device.achieved, b->on_device.expanded_continues, pi,
                           b->on_device.v_h_e_next, d->v_h_e, b->on_device.scratch);
    if (t->batch.trajectory) lud_empo_trajectory_people(t->batch.trajectory, d->v_h_e);
}

static void queue_targets(void *trainer) {
    lud_empo_trainer *t = trainer;
    if (t->work.with_states) robot_targets(t, t->work.now);
    enter(t, LUD_STAGE_V_H_E);
    human_targets(t, t->work.now, t->work.with_states);
}

static void run_targets(lud_empo_trainer *t) {
    const lud_empo_now *now = t->work.now;
    uint64_t key = lud_replay_key(lud_replay_key(0, t->batch.n_grown), t->values->n_grown);
    key = lud_replay_key(lud_replay_key(key, (uint64_t)t->batch.run_rows), (uint64_t)t->batch.run_flat);
    key = key_of_real(key_of_real(key, now->gamma_h), now->gamma_r);
    key = lud_replay_key(key, (uint64_t)(t->work.with_states | (now->beta_r > 0.0) << 1 |
                                         now->active[LUD_NET_U_R] << 2 | now->active[LUD_NET_V_R] << 3));
    /* trajectories have other lengths in every update */
    run_piece(t, &t->aiming, t->batch.trajectory != NULL, key);
}

static void power_targets(lud_empo_trainer *t, int64_t step) {
    const int32_t *records[64];
    enum { AT_ONCE = sizeof records / sizeof *records };
    for (int64_t first = 0; first < t->n; first += AT_ONCE) {
        const int64_t n = t->n - first < AT_ONCE ? t->n - first : AT_ONCE;
        for (int64_t i = 0; i < n; i++) records[i] = t->batch.transitions[first + i].state;
        lud_empo_values_power(t->values, n, records, (uint32_t)(step * 0x9e3779b1) + (uint32_t)first,
                              t->host + first * t->n_humans, NULL);
    }
    lud_device_upload(t->device, t->targets.x_h, t->host, (size_t)(t->n * t->n_humans) * sizeof(float));
}

/* ---- learning ---- */

/* Targets of X_h for every entry of a state, when there are several of a person: weight[n][n_entries]. */
static const float *power_of_entries(lud_empo_trainer *t) {
    if (!t->options->expected_people) return t->targets.x_h;
    const size_t people = (size_t)(t->n * t->n_humans), entries = (size_t)(t->n * t->n_entries);
    lud_device_download(t->device, t->host_targets[2], t->targets.x_h, people * sizeof(float));
    for (int64_t i = 0; i < t->n; i++)
        for (int k = 0; k < t->n_entries; k++) {
            int h, goal;
            lud_empo_values_entry(t->values, k, NULL, &h, &goal);
            t->host[i * t->n_entries + k] = t->host_targets[2][i * t->n_humans + h];
        }
    lud_device_upload(t->device, t->targets.weight, t->host, entries * sizeof(float));
    return t->targets.weight;
}

static float *loss_of(const lud_empo_trainer *t, int net) {
    return t->targets.loss + net * t->n * t->width;
}

static void keep_loss(lud_empo_trainer *t, int net, int64_t n) {
    const int64_t width = n / t->n;
    double sum = 0;
    lud_device_download(t->device, t->host, loss_of(t, net), (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        sum += (double)t->host[i];
        t->batch.error[i / width] += t->host[i] / (float)width;
    }
    t->loss[net] = sum / (double)n;
}

/* Of n numbers on the device. */
static void spread_of(lud_empo_trainer *t, const float *values, int64_t n, double *mean, double *deviation) {
    double sum = 0, squares = 0;
    lud_device_download(t->device, t->host, values, (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) sum += (double)t->host[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += ((double)t->host[i] - *mean) * ((double)t->host[i] - *mean);
    *deviation = sqrt(squares / (double)n);
}

static void keep_spread(lud_empo_trainer *t, int which, const training_net *own, int value,
                        const float *target, int64_t n) {
    lud_empo_spread *s = &t->spread[which];
    spread_of(t, lud_nn_value(own->net, value), n, &s->prediction_mean, &s->prediction_deviation);
    spread_of(t, target, n, &s->target_mean, &s->target_deviation);
}

static void square_loss(lud_empo_trainer *t, int which, training_net *own, int value, const float *target,
                        const float *weight, int64_t n, double scale) {
    t->device->ops->mse_loss(t->device, n, lud_nn_value(own->net, value), target, weight, scale,
                             loss_of(t, which), lud_nn_gradient(own->net, value), false);
}

static void no_gradient(lud_empo_trainer *t, training_net *own, int value, int64_t n) {
    if (value >= 0) t->device->ops->fill(t->device, n, 0.0, lud_nn_gradient(own->net, value));
}

/* weight = pi (1 - pi) + floor, divided by its sum over the actions of a state */
static const float *advantage_weights(lud_empo_trainer *t) {
    const lud_ops *ops = t->device->ops;
    const int64_t size = t->n * t->n_actions;
    float *weight = t->targets.weight, *sum = t->targets.small;
    ops->multiply(t->device, size, t->values->pi_r, t->values->pi_r, weight);
    ops->combine(t->device, size, 1.0, t->values->pi_r, -1.0, weight, weight);
    ops->map(t->device, (lud_map){LUD_MAP_AFFINE, 1.0, t->options->advantage_floor + 1e-12}, size, weight,
             weight);
    ops->sum_groups(t->device, t->n, t->n_actions, 1, 1.0, weight, sum, false);
    ops->map(t->device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, t->n, sum, sum);
    ops->scale_rows(t->device, t->n, t->n_actions, weight, sum, weight);
    return weight;
}

/* Loss of Q_r or V_r, in the value, in z = (-value)^(-1 / (eta xi)) or in ln(1 - value). */
static void robot_loss(lud_empo_trainer *t, int which, training_net *own, int value, int z, float *target,
                       int64_t width) {
    const lud_empo_now *now = t->work.now;
    const int64_t n = t->n * width;
    const bool weighted = which == LUD_NET_Q_R && t->options->advantage_loss && now->beta_r > 0.0;
    const float *weight = weighted ? advantage_weights(t) : NULL;
    if (t->work.measure) keep_spread(t, which, own, value, target, n);
    const double scale = 1.0 / (double)(weighted ? t->n : n);
    if (now->z_loss) {
        const lud_ops *ops = t->device->ops;
        const double power = -1.0 / (t->options->theory.eta * t->options->theory.xi);
        ops->map(t->device, (lud_map){LUD_MAP_CLAMP, -1e30, -1e-10}, n, target, target);
        ops->map(t->device, (lud_map){LUD_MAP_LOG_NEGATED, 0.0, 0.0}, n, target, target);
        ops->map(t->device, (lud_map){LUD_MAP_AFFINE, power, 0.0}, n, target, target);
        ops->map(t->device, (lud_map){LUD_MAP_EXP, 0.0, 0.0}, n, target, target);
        square_loss(t, which, own, z, target, weight, n, scale);
        no_gradient(t, own, value, n);
    } else if (t->options->log_space) {
        const lud_ops *ops = t->device->ops;
        ops->map(t->device, (lud_map){LUD_MAP_AFFINE, 1.0, -1.0}, n, target, target);
        ops->map(t->device, (lud_map){LUD_MAP_LOG_NEGATED, 0.0, 0.0}, n, target, target);
        square_loss(t, which, own, z, target, weight, n, scale);
        no_gradient(t, own, value, n);
    } else {
        square_loss(t, which, own, value, target, weight, n, scale);
        no_gradient(t, own, z, n);
    }
}

static void queue_learning(void *trainer) {
    lud_empo_trainer *t = trainer;
    training_net *own = t->work.own;
    const lud_empo_graph *g = &own->graph;
    const targets *d = &t->targets;
    const unsigned heads = t->work.heads;
    const bool measure = t->work.measure;
    const int64_t entries = t->n * t->n_entries;
    lud_nn_forward(own->net, t->n, true);
    if (heads & LUD_EMPO_V_H_E) {
        if (measure) keep_spread(t, LUD_NET_V_H_E, own, g->v_h_e, d->v_h_e, entries);
        square_loss(t, LUD_NET_V_H_E, own, g->v_h_e, d->v_h_e, t->batch.on_device.entry_weight, entries,
                    1.0 / (double)entries);
    }
    if (heads & LUD_EMPO_X_H) {
        if (measure) keep_spread(t, LUD_NET_X_H, own, g->x_h, t->work.x_h, entries);
        square_loss(t, LUD_NET_X_H, own, g->x_h, t->work.x_h, NULL, entries, 1.0 / (double)entries);
    }
    if (heads & LUD_EMPO_U_R) {
        if (measure) keep_spread(t, LUD_NET_U_R, own, g->y, d->y, t->n);
        square_loss(t, LUD_NET_U_R, own, g->y, d->y, NULL, t->n, 1.0 / (double)t->n);
        no_gradient(t, own, g->u_r, t->n);
    }
    if (heads & LUD_EMPO_Q_R) robot_loss(t, LUD_NET_Q_R, own, g->q_r, g->q_r_z, d->q_r, t->n_actions);
    if (heads & LUD_EMPO_V_R) robot_loss(t, LUD_NET_V_R, own, g->v_r, g->v_r_z, d->v, 1);
    enter(t, LUD_STAGE_BACKWARD);
    lud_parameters_zero_gradients(t->values->online);
    lud_nn_backward(own->net);
}

static void run_learning(lud_empo_trainer *t) {
    const lud_empo_now *now = t->work.now;
    uint64_t key = lud_replay_key(lud_replay_key(0, t->work.heads), t->values->n_grown);
    key = lud_replay_key(key, (uint64_t)(now->z_loss | (now->beta_r > 0.0) << 1));
    /* what is measured is read between operations */
    run_piece(t, &t->learning, t->work.measure, key);
}

static void queue_steps(void *trainer) {
    lud_empo_trainer *t = trainer;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (t->work.heads & 1u << net) lud_optimiser_apply(t->optimiser, t->groups[net]);
}

static void run_steps(lud_empo_trainer *t) {
    const lud_empo_now *now = t->work.now;
    uint64_t key = lud_replay_key(0, t->work.heads);
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if (!(t->work.heads & 1u << net)) continue;
        lud_optimiser_set_max_norm(t->optimiser, t->groups[net], now->clip[net]);
        lud_optimiser_prepare(t->optimiser, t->groups[net], now->lr[net]);
        key = key_of_real(key, now->clip[net]);
    }
    run_piece(t, &t->stepping, false, key);
}

static void learn_networks(lud_empo_trainer *t, int64_t step, const lud_empo_now *now, bool measure) {
    const unsigned heads = active_heads(now, t->options);
    if (!heads) return;
    training_net *own = t->nets;
    while (own->heads != heads) own++;
    enter(t, LUD_STAGE_LOSS);
    const int32_t **records = t->batch.records, **goals = t->batch.goals; /* collected rows are used up */
    for (int64_t i = 0; i < t->n; i++) {
        records[i] = t->batch.transitions[i].state;
        goals[i] = t->batch.transitions[i].goals;
    }
    lud_empo_values_stage(t->values, own->net, &own->graph, t->n, records, goals);
    lud_nn_set_step(own->net, t->seed, (uint32_t)step);
    t->work.heads = heads;
    t->work.own = own;
    t->work.measure = measure;
    t->work.x_h = heads & LUD_EMPO_X_H ? power_of_entries(t) : NULL;
    run_learning(t);
    const int64_t numbers[LUD_EMPO_NETS] = {t->n * t->n_entries, t->n * t->n_entries, t->n,
                                            t->n * t->n_actions, t->n};
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (heads & 1u << net && (measure || t->options->replay_contest > 1)) keep_loss(t, net, numbers[net]);
    enter(t, LUD_STAGE_OPTIMISER);
    run_steps(t);
    enter(t, -1);
}

static double deviation_of(double mean, double mean_square) {
    return sqrt(fmax(mean_square - mean * mean, 0.0));
}

/* Moves the entries of a table: target[n][per_state][width] on the device. */
static lud_status move_table(lud_empo_trainer *t, int net, const float *target, bool measure,
                             lud_error *error) {
    const lud_empo_learner_options *o = t->options;
    const int64_t width = net == LUD_NET_Q_R ? t->n_actions : 1;
    const int64_t per_state = net == LUD_NET_V_H_E ? t->n_entries : net == LUD_NET_X_H ? t->n_humans : 1;
    lud_empo_table *table = t->values->tables[net];
    const double rate = o->lookup_use_adaptive_lr ? o->lookup_adaptive_lr_min : o->lookup_lr;
    const float *weights =
        t->batch.hindsight && net == LUD_NET_V_H_E ? lud_empo_hindsight_weights(t->batch.hindsight) : NULL;
    double sum = 0, moments[4] = {0}; /* of predictions and targets: sum, sum of squares */
    lud_device_download(t->device, t->host, target, (size_t)(t->n * per_state * width) * sizeof(float));
    for (int64_t i = 0; i < t->n; i++) {
        const lud_empo_transition *own = &t->batch.transitions[i];
        const uint64_t state = lud_empo_state_key(t->values->features, own->state);
        for (int64_t e = 0; e < per_state; e++) {
            uint64_t key = state;
            if (net == LUD_NET_X_H) key = lud_empo_person_key(state, (int)e);
            if (net == LUD_NET_V_H_E) {
                int h, of;
                lud_empo_values_entry(t->values, (int)e, own->goals, &h, &of);
                key = lud_empo_goal_key(state, h, of);
            }
            const float *goal = t->host + (i * per_state + e) * width;
            const float *present = lud_empo_table_read(table, key);
            double squares = 0;
            for (int64_t k = 0; k < width; k++) {
                squares += pow((double)goal[k] - (double)present[k], 2.0);
                moments[0] += (double)present[k];
                moments[1] += (double)present[k] * (double)present[k];
                moments[2] += (double)goal[k];
                moments[3] += (double)goal[k] * (double)goal[k];
            }
            sum += squares / (double)(t->n * per_state * width);
            t->batch.error[i] += (float)(squares / (double)(per_state * width));
            const double weight = weights ? (double)weights[i * per_state + e] : 1.0;
            if (!lud_empo_table_move_weighted(table, key, goal, o->lookup_use_adaptive_lr, rate,
                                              o->lookup_adaptive_lr_power, weight))
                return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a table");
        }
    }
    if (!measure) return LUD_OK;
    const double n = (double)(t->n * per_state * width);
    t->loss[net] = sum;
    t->spread[net] = (lud_empo_spread){.prediction_mean = moments[0] / n,
                                       .prediction_deviation = deviation_of(moments[0] / n, moments[1] / n),
                                       .target_mean = moments[2] / n,
                                       .target_deviation = deviation_of(moments[2] / n, moments[3] / n)};
    return LUD_OK;
}

static lud_status move_tables(lud_empo_trainer *t, const lud_empo_now *now, bool measure, lud_error *error) {
    const float *const all[LUD_EMPO_NETS] = {t->targets.v_h_e, t->targets.x_h, t->targets.y, t->targets.q_r,
                                             t->targets.v};
    lud_status status = LUD_OK;
    for (int net = 0; net < LUD_EMPO_NETS && status == LUD_OK; net++)
        if (now->active[net] && t->values->tables[net]) status = move_table(t, net, all[net], measure, error);
    return status;
}

/* After training step `step`: hard copies of the networks that are due. */
static void copy_targets(lud_empo_trainer *t, int64_t step) {
    lud_empo_values *v = t->values;
    if (!v->online) return;
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if ((step + 1) % t->options->target_interval[net]) continue;
        const size_t length = strlen(prefixes[net]);
        for (int i = 0; i < v->online->n; i++)
            if (strncmp(v->online->items[i].name, prefixes[net], length) == 0)
                lud_device_copy(t->device, lud_parameters_value(v->target, i),
                                lud_parameters_value(v->online, i),
                                (size_t)v->online->items[i].n * v->online->real_bytes);
    }
}

static void keep_targets(lud_empo_trainer *t, bool with_states, bool with_x_h) {
    const int64_t humans = t->n * t->n_humans, actions = t->n * t->n_actions;
    lud_device_download(t->device, t->host_targets[0], t->targets.v_h_e,
                        (size_t)(t->n * t->n_entries) * sizeof(float));
    if (with_states)
        lud_device_download(t->device, t->host_targets[1], t->targets.q_r, (size_t)actions * sizeof(float));
    else
        memset(t->host_targets[1], 0, (size_t)actions * sizeof(float));
    if (with_x_h)
        lud_device_download(t->device, t->host_targets[2], t->targets.x_h, (size_t)humans * sizeof(float));
    else
        memset(t->host_targets[2], 0, (size_t)humans * sizeof(float));
}

static lud_status compute_targets(lud_empo_trainer *t, int64_t step, const lud_empo_now *now,
                                  lud_error *error) {
    const bool with_states = now->active[LUD_NET_U_R] || now->active[LUD_NET_Q_R] || now->active[LUD_NET_V_R];
    enter(t, LUD_STAGE_COLLECT);
    lud_status status = lud_empo_sample_collect(&t->batch, step, now, with_states, error);
    enter(t, -1);
    if (status) return status;
    const lud_empo_sample *b = &t->batch;
    status =
        lud_empo_values_run(t->values, b->n_rows, b->records, b->goals,
                            with_states ? LUD_WANT_ALL : LUD_WANT_V_H_E, now->beta_r, (uint32_t)step, error);
    if (status) return status;
    enter(t, LUD_STAGE_CONVERSION);
    lud_empo_sample_upload(&t->batch);
    enter(t, LUD_STAGE_SCATTER);
    t->work.with_states = with_states;
    run_targets(t);
    enter(t, -1);
    if (now->active[LUD_NET_X_H]) power_targets(t, step);
    return LUD_OK;
}

lud_status lud_empo_trainer_update(lud_empo_trainer *t, int64_t step, const lud_empo_now *now, bool measure,
                                   lud_error *error) {
    assert(lud_empo_replay_count(t->replay) >= t->n);
    for (int net = 0; measure && net < LUD_EMPO_NETS; net++) {
        t->loss[net] = NAN;
        t->spread[net] = (lud_empo_spread){NAN, NAN, NAN, NAN};
    }
    t->work.now = now;
    lud_status status = compute_targets(t, step, now, error);
    if (status) return status;
    if (measure) keep_targets(t, now->active[LUD_NET_Q_R], now->active[LUD_NET_X_H]);
    lud_profile *profile = t->values->profile;
    learn_networks(t, step, now, measure);
    if (profile) lud_profile_begin(profile, LUD_STAGE_OPTIMISER);
    status = move_tables(t, now, measure, error);
    for (int64_t i = 0; i < t->n && t->options->replay_contest > 1; i++)
        lud_empo_replay_set_priority(t->replay, t->batch.indices[i], t->batch.error[i]);
    copy_targets(t, step);
    if (profile) lud_profile_end(profile, LUD_STAGE_OPTIMISER);
    if (profile) lud_profile_call(profile);
    return status;
}

double lud_empo_trainer_loss(const lud_empo_trainer *t, int net) {
    return t->loss[net];
}

lud_empo_spread lud_empo_trainer_spread(const lud_empo_trainer *t, int net) {
    return t->spread[net];
}

lud_empo_trajectory_figures lud_empo_trainer_trajectories(const lud_empo_trainer *t) {
    if (t->batch.trajectory) return lud_empo_trajectory_get(t->batch.trajectory);
    return (lud_empo_trajectory_figures){NAN, NAN, NAN, NAN, NAN, NAN};
}

void lud_empo_trainer_hindsight(const lud_empo_trainer *t, double *share, double *weight) {
    *share = t->batch.hindsight ? lud_empo_hindsight_share(t->batch.hindsight) : NAN;
    *weight = t->batch.hindsight ? lud_empo_hindsight_mean_weight(t->batch.hindsight) : NAN;
}

double lud_empo_trainer_norm(const lud_empo_trainer *t, int net) {
    return t->groups[net] < 0 ? NAN : lud_optimiser_norm(t->optimiser, t->groups[net]);
}

lud_empo_batch_view lud_empo_trainer_targets(lud_empo_trainer *t) {
    return (lud_empo_batch_view){
        .n = t->n,
        .indices = t->batch.indices,
        .goals = t->batch.hindsight ? lud_empo_hindsight_goals(t->batch.hindsight) : NULL,
        .weights = t->batch.hindsight ? lud_empo_hindsight_weights(t->batch.hindsight) : NULL,
        .v_h_e = t->host_targets[0],
        .q_r = t->host_targets[1],
        .x_h = t->host_targets[2]};
}

void lud_empo_trainer_pieces(const lud_empo_trainer *t, uint64_t *n, uint64_t *n_replayed) {
    const lud_empo_values *v = t->values;
    const lud_replay *const pieces[] = {&t->aiming,     &t->learning,   &t->stepping, &v->passing[0],
                                        &v->passing[1], &v->passing[2], &v->closing};
    *n = *n_replayed = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        *n += pieces[i]->runs;
        *n_replayed += pieces[i]->n_replayed;
    }
}

void lud_empo_trainer_visit(lud_empo_trainer *t, lud_checkpoint *checkpoint) {
    if (t->optimiser) lud_optimiser_visit(t->optimiser, "optimiser.", checkpoint);
}
