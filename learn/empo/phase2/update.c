#include "learn/empo/phase2/update.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/networks/training.h"
#include "learn/empo/targets/batch.h"
#include "learn/nn/shares.h"

const char *const lud_empo_update_stages[LUD_UPDATE_STAGES] = {
    "stage1_collect",    "stage2_encode", "stage3_forward", "stage4_scatter", "stage5_v_h_e",
    "tensor_conversion", "loss",          "backward_pass",  "optimizer_step", "actor"};

/* The network that learns a set of quantities, or two that do so at the same time. */
typedef struct training_net {
    unsigned heads;
    int n_parts;
    struct {
        unsigned heads;
        lud_nn *net;
        lud_empo_graph graph;
    } part[2];
} training_net;

/* One of them, at work. */
typedef struct learning {
    struct lud_empo_update *update;
    lud_device *device;
    unsigned heads;
    lud_nn *net;
} learning;

/* Device arrays. */
typedef struct targets {
    /* [n] of the batch */
    float *q_r, *v_h_e, *x_h, *y, *v, *uniform, *weight, *small;
    float *x_h_entry;   /* of every entry of a state, where there are several of a person */
    float *transformed; /* of a quantity in the space of its loss */
    float *loss;        /* [LUD_EMPO_NETS] of these */
    int32_t *person;    /* [n][n_entries] place of the entry's person in x_h */
    const float *gamma; /* [n_actions] gamma_r, once the upload was sent */
} targets;

/* Of every transition of the batch, on the host: [batch][width]. */
typedef struct kept {
    float *prediction, *target, *loss;
    int64_t width;
} kept;

/* MOST_EXCHANGED: arrays that processes complete for one another. */
enum { N_COUNTS = sizeof(lud_empo_trajectory_counts) / sizeof(double), N_VIEWS = 3 };
enum { MOST_EXCHANGED = 3 * LUD_EMPO_NETS + N_VIEWS };

struct lud_empo_update {
    lud_empo_values *values;
    lud_empo_replay *replay;
    const lud_empo_learner_options *options;
    lud_device *device;
    uint64_t seed;
    int64_t size;                           /* of the batch */
    int64_t n;                              /* transitions of it at hand: all, or those of a share */
    lud_shares shares;                      /* of the networks' gradients; none where there are no networks */
    int share;                              /* at hand */
    int64_t n_actions, n_humans, n_entries; /* entries of a state, see learn/empo/targets/values.h */
    training_net nets[LUD_EMPO_NETS];
    lud_empo_optimiser optimiser; /* none where tables learn everything */
    lud_empo_sample batch;
    lud_empo_staging staging; /* of the networks that learn */
    lud_empo_ability ability; /* targets of X_h */
    lud_upload_batch upload;
    lud_arrays arrays;
    targets targets;
    int64_t width;                /* max(n_actions, n_entries) */
    float *host_targets[N_VIEWS]; /* [size * width] for lud_empo_update_targets */
    kept kept[LUD_EMPO_NETS];
    lud_ranks_array exchanged[MOST_EXCHANGED];
    int n_exchanged;
    lud_empo_trajectory_counts trajectories;
    float *gamma;         /* [n_actions] */
    lud_capture updating; /* all device work of an update, on CUDA from a recorded graph */
    struct {
        const lud_empo_now *now;
        bool with_states, divided; /* divided: into shares, whose gradients are added up before the steps */
        unsigned heads, copied;    /* networks that learn, and whose copies are due */
        training_net *own;
        const float *x_h;            /* its targets by entry */
    } work;                          /* of the update at hand */
    int stage;                       /* of the profile, -1: none */
    lud_empo_update_figures figures; /* those that are measured */
};

/* ---- making and freeing ---- */

static unsigned active_heads(const lud_empo_now *now, const lud_empo_learner_options *o) {
    unsigned heads = 0;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (now->active[net] && !o->use_lookup[net]) heads |= 1u << net;
    return heads;
}

static lud_status make_part(lud_empo_update *t, unsigned heads, training_net *made, lud_error *error) {
    const int k = made->n_parts++;
    made->part[k].heads = heads;
    return lud_empo_training_net(t->values->online, &t->values->shape, heads, t->n, t->n * t->n_entries,
                                 &made->part[k].net, &made->part[k].graph, error);
}

static lud_status make_net(lud_empo_update *t, unsigned heads, training_net *made, lud_error *error) {
    unsigned parts[2];
    made->heads = heads;
    if (!lud_empo_heads_apart(t->device, heads, parts)) return make_part(t, heads, made, error);
    lud_status status = make_part(t, parts[0], made, error);
    return status ? status : make_part(t, parts[1], made, error);
}

/* One network for every set of quantities that learn together at some time. */
static lud_status make_nets(lud_empo_update *t, lud_error *error) {
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
        LUD_TRY(make_net(t, heads, &t->nets[n++], error));
    }
    return LUD_OK;
}

/* Where the target of X_h of an entry's person stands, when there are several entries of a person. */
static bool make_persons(lud_empo_update *t) {
    if (!t->options->expected_people) return true;
    const size_t bytes = (size_t)(t->n * t->n_entries) * sizeof(int32_t);
    int32_t *person = malloc(bytes);
    LUD_TAKE_ON_DEVICE(&t->arrays, t->targets.person, (size_t)(t->n * t->n_entries));
    const bool complete = person && t->targets.person;
    for (int64_t i = 0; complete && i < t->n; i++)
        for (int k = 0; k < t->n_entries; k++) {
            int h, goal;
            lud_empo_values_entry(t->values, k, NULL, &h, &goal);
            person[i * t->n_entries + k] = (int32_t)(i * t->n_humans + h);
        }
    if (complete) lud_device_upload(t->device, t->targets.person, person, bytes);
    free(person);
    return complete;
}

static bool make_arrays(lud_empo_update *t) {
    const size_t n = (size_t)t->n, entries = (size_t)t->n_entries, actions = (size_t)t->n_actions;
    const size_t width = actions > entries ? actions : entries;
    targets *d = &t->targets;
    lud_arrays *a = &t->arrays;
    a->device = t->device;
    t->width = (int64_t)width;
    for (int i = 0; i < N_VIEWS; i++) LUD_TAKE(a, t->host_targets[i], n * width);
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        LUD_TAKE(a, t->kept[net].prediction, n * width);
        LUD_TAKE(a, t->kept[net].target, n * width);
        LUD_TAKE(a, t->kept[net].loss, n * width);
    }
    LUD_TAKE(a, t->gamma, actions);
    float **const device[] = {&d->q_r,     &d->v_h_e,  &d->x_h,   &d->y,         &d->v,
                              &d->uniform, &d->weight, &d->small, &d->x_h_entry, &d->transformed};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++) LUD_TAKE_ON_DEVICE(a, *device[i], n * width);
    LUD_TAKE_ON_DEVICE(a, d->loss, LUD_EMPO_NETS * n * width);
    const bool complete = make_persons(t) && !a->failed;
    if (complete)
        t->device->ops->fill(t->device, t->n * t->n_actions, 1.0 / (double)t->n_actions, d->uniform);
    return complete && lud_empo_values_start_ability(t->values, &t->ability) &&
           lud_empo_staging_create(t->device, t->values->features, &t->values->shape.walk, t->n,
                                   t->n * t->n_entries, &t->staging);
}

static void queue_update(void *update);

lud_status lud_empo_update_create(lud_empo_values *values, lud_empo_replay *replay,
                                  const lud_empo_learner_options *options, uint64_t seed,
                                  lud_empo_update **update, lud_error *error) {
    *update = NULL;
    lud_empo_update *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "an update");
    *t = (lud_empo_update){.values = values,
                           .replay = replay,
                           .options = options,
                           .device = values->device,
                           .seed = seed,
                           .size = options->batch_size,
                           .n = options->batch_size,
                           .n_actions = values->features->layout.n_robot_actions,
                           .n_humans = values->features->layout.n_humans,
                           .n_entries = values->n_entries,
                           .stage = -1};
    lud_capture_start(&t->updating, t->device, queue_update, t);
    lud_upload_batch_start(&t->upload, t->device);
    lud_status status = make_arrays(t) ? LUD_OK : lud_no_memory(error, "a batch");
    if (status == LUD_OK) status = lud_empo_sample_create(values, replay, options, seed, &t->batch, error);
    if (status == LUD_OK) status = make_nets(t, error);
    for (int net = 0; net < LUD_EMPO_NETS; net++) t->optimiser.groups[net] = -1;
    if (status == LUD_OK && values->online)
        status = lud_empo_optimiser_create(values->online, options, seed, &t->optimiser, error);
    if (status == LUD_OK && values->online)
        status = lud_shares_open(values->online, (int)options->shares, N_COUNTS, &t->shares, error);
    if (status)
        lud_empo_update_destroy(t);
    else
        *update = t;
    return status;
}

void lud_empo_update_destroy(lud_empo_update *t) {
    if (!t) return;
    lud_capture_end(&t->updating);
    for (int i = 0; i < LUD_EMPO_NETS; i++)
        for (int k = 0; k < t->nets[i].n_parts; k++) lud_nn_destroy(t->nets[i].part[k].net);
    lud_optimiser_destroy(t->optimiser.all);
    lud_shares_close(&t->shares);
    lud_empo_sample_free(&t->batch);
    lud_empo_staging_free(&t->staging);
    lud_empo_ability_free(&t->ability);
    lud_upload_batch_end(&t->upload);
    lud_arrays_free(&t->arrays);
    free(t);
}

/* ---- pieces of an update ---- */

/* The profile goes on with another stage; -1: none. A replayed graph counts for the stage it begins in. */
static void enter(lud_empo_update *t, int stage) {
    if (t->stage >= 0) lud_profile_end(t->values->profile, t->stage);
    if (stage >= 0) lud_profile_begin(t->values->profile, stage);
    t->stage = stage;
}

/* ---- targets, one function an equation ---- */

/* (4): gamma_r times the mean of V_r over the successors of each joint robot action. */
static void q_r_targets(lud_empo_update *t) {
    const lud_ops *ops = t->device->ops;
    const lud_empo_sample *b = &t->batch;
    float *v_r = t->values->v_r, *q_r = t->targets.q_r;
    ops->multiply(t->device, b->run_rows, v_r, b->on_device.continues, v_r);
    ops->combine(t->device, b->run_rows, 1.0, v_r, 1.0, b->on_device.terminal, v_r);
    ops->gather_rows(t->device, b->run_flat, 1, v_r, b->on_device.row, b->on_device.v_r);
    lud_empo_q_r_targets(t->device, b->run_flat, t->n * t->n_actions, 1.0, b->on_device.slot,
                         b->on_device.probability, b->on_device.v_r, q_r);
    ops->scale_columns(t->device, t->n, t->n_actions, q_r, t->targets.gamma, q_r);
    if (b->trajectory) lud_empo_trajectory_robots(b->trajectory, q_r);
}

/* (8): y, of which U_r is -y^eta. */
static void u_r_targets(lud_empo_update *t) {
    const lud_empo_theory *theory = &t->options->theory;
    targets *d = &t->targets;
    lud_empo_intrinsic_reward(t->device, t->n, t->n_humans, theory->xi, theory->eta, t->values->x_h, d->y,
                              d->small, d->weight);
}

/* (9) */
static void v_r_targets(lud_empo_update *t) {
    const lud_empo_values *v = t->values;
    targets *d = &t->targets;
    t->device->ops->combine(t->device, t->n, v->reward_scale, v->u_r, 0.0, NULL, d->small);
    lud_empo_state_value(t->device, t->n, t->n_actions, d->small, v->pi_r, v->q_r, d->v, d->weight);
}

/* (6): under pi_r, which is uniform until robots learn. */
static void v_h_e_targets(lud_empo_update *t) {
    const lud_empo_sample *b = &t->batch;
    const int64_t n_expanded = b->run_flat * b->n_entries;
    const float *pi = t->work.with_states && t->work.now->beta_r > 0.0 ? t->values->pi_r : t->targets.uniform;
    t->device->ops->gather_rows(t->device, n_expanded, 1, t->values->v_h_e, b->on_device.value_index,
                                b->on_device.v_h_e_next);
    lud_empo_v_h_e_targets(t->device, n_expanded, t->n * t->n_entries, 1.0, b->on_device.entry,
                           b->on_device.expanded_slot, b->on_device.expanded_probability,
                           b->on_device.achieved, b->on_device.expanded_discount, pi, b->on_device.v_h_e_next,
                           t->targets.v_h_e, b->on_device.scratch);
    if (b->trajectory) lud_empo_trajectory_people(b->trajectory, t->targets.v_h_e);
}

/* ---- learning ---- */

static float *loss_of(const lud_empo_update *t, int net) {
    return t->targets.loss + net * t->n * t->width;
}

static void measure_loss(lud_empo_update *t, int net) {
    const kept *k = &t->kept[net];
    const int64_t n = t->size * k->width;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)k->loss[i];
        t->batch.error[i / k->width] += k->loss[i] / (float)k->width;
    }
    t->figures.loss[net] = sum / (double)n;
}

static void spread_of(const float *values, int64_t n, double *mean, double *deviation) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)values[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += ((double)values[i] - *mean) * ((double)values[i] - *mean);
    *deviation = sqrt(squares / (double)n);
}

static void measure_spread(lud_empo_update *t, int net) {
    const kept *k = &t->kept[net];
    lud_empo_spread *s = &t->figures.spread[net];
    spread_of(k->prediction, t->size * k->width, &s->prediction_mean, &s->prediction_deviation);
    spread_of(k->target, t->size * k->width, &s->target_mean, &s->target_deviation);
}

static void square_loss(const learning *l, int which, int value, const float *target, const float *weight,
                        int64_t n, double scale) {
    l->device->ops->mse_loss(l->device, n, lud_nn_value(l->net, value), target, weight, scale,
                             loss_of(l->update, which), lud_nn_gradient(l->net, value), false);
}

static void no_gradient(const learning *l, int value, int64_t n) {
    if (value >= 0) l->device->ops->fill(l->device, n, 0.0, lud_nn_gradient(l->net, value));
}

/* weight = pi (1 - pi) + floor, divided by its sum over the actions of a state */
static const float *advantage_weights(const learning *l) {
    const lud_empo_update *t = l->update;
    const lud_ops *ops = l->device->ops;
    const int64_t size = t->n * t->n_actions;
    float *weight = t->targets.weight, *sum = t->targets.small;
    ops->multiply(l->device, size, t->values->pi_r, t->values->pi_r, weight);
    ops->combine(l->device, size, 1.0, t->values->pi_r, -1.0, weight, weight);
    ops->map(l->device, (lud_map){LUD_MAP_AFFINE, 1.0, t->options->advantage_floor + 1e-12}, size, weight,
             weight);
    ops->sum_groups(l->device, t->n, t->n_actions, 1, 1.0, weight, sum, false);
    ops->map(l->device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, t->n, sum, sum);
    ops->scale_rows(l->device, t->n, t->n_actions, weight, sum, weight);
    return weight;
}

/* Loss of Q_r or V_r, in the value, in z = (-value)^(-1 / (eta xi)) or in ln(1 - value). */
static void robot_loss(const learning *l, int which, int value, int z, const float *target, int64_t width) {
    const lud_empo_update *t = l->update;
    const lud_empo_now *now = t->work.now;
    const lud_ops *ops = l->device->ops;
    const int64_t n = t->n * width;
    const bool weighted = which == LUD_NET_Q_R && t->options->advantage_loss && now->beta_r > 0.0;
    const float *weight = weighted ? advantage_weights(l) : NULL;
    float *to = t->targets.transformed;
    const double scale = 1.0 / (double)(weighted ? t->n : n);
    if (now->z_loss) {
        const double power = -1.0 / (t->options->theory.eta * t->options->theory.xi);
        /* z = sigmoid(raw) says no value above -1: where a horizon ends the nearest is aimed at */
        ops->map(l->device, (lud_map){LUD_MAP_CLAMP, -1e30, -1.0}, n, target, to);
        ops->map(l->device, (lud_map){LUD_MAP_LOG_NEGATED, 0.0, 0.0}, n, to, to);
        ops->map(l->device, (lud_map){LUD_MAP_AFFINE, power, 0.0}, n, to, to);
        ops->map(l->device, (lud_map){LUD_MAP_EXP, 0.0, 0.0}, n, to, to);
    } else if (t->options->log_space) {
        ops->map(l->device, (lud_map){LUD_MAP_AFFINE, 1.0, -1.0}, n, target, to);
        ops->map(l->device, (lud_map){LUD_MAP_LOG_NEGATED, 0.0, 0.0}, n, to, to);
    } else {
        square_loss(l, which, value, target, weight, n, scale);
        no_gradient(l, z, n);
        return;
    }
    square_loss(l, which, z, to, weight, n, scale);
    no_gradient(l, value, n);
}

/* Forward pass, losses and gradients of one network. Only what is its own is written. */
static void learn_part(lud_device *device, int k, lud_empo_update *t) {
    training_net *own = t->work.own;
    const lud_empo_graph *g = &own->part[k].graph;
    const targets *d = &t->targets;
    const int64_t entries = t->n * t->n_entries;
    const learning l = {t, device, own->part[k].heads, own->part[k].net};
    lud_nn_run_on(l.net, device);
    lud_empo_staging_bind(&t->staging, l.net, g, 0, 0, entries);
    lud_nn_forward(l.net, t->n, true);
    if (l.heads & LUD_EMPO_V_H_E)
        square_loss(&l, LUD_NET_V_H_E, g->v_h_e, d->v_h_e, t->batch.on_device.entry_weight, entries,
                    1.0 / (double)entries);
    if (l.heads & LUD_EMPO_X_H)
        square_loss(&l, LUD_NET_X_H, g->x_h, t->work.x_h, NULL, entries, 1.0 / (double)entries);
    if (l.heads & LUD_EMPO_U_R) {
        square_loss(&l, LUD_NET_U_R, g->y, d->y, NULL, t->n, 1.0 / (double)t->n);
        no_gradient(&l, g->u_r, t->n);
    }
    if (l.heads & LUD_EMPO_Q_R) robot_loss(&l, LUD_NET_Q_R, g->q_r, g->q_r_z, d->q_r, t->n_actions);
    if (l.heads & LUD_EMPO_V_R) robot_loss(&l, LUD_NET_V_R, g->v_r, g->v_r_z, d->v, 1);
    if (own->n_parts == 1) enter(t, LUD_STAGE_BACKWARD); /* two have no common moment */
    lud_nn_backward(l.net);
    lud_nn_run_on(l.net, NULL);
}

static void learn_first(lud_device *device, void *update) {
    learn_part(device, 0, update);
}
static void learn_second(lud_device *device, void *update) {
    learn_part(device, 1, update);
}

static void queue_learning(lud_empo_update *t) {
    const targets *d = &t->targets;
    enter(t, LUD_STAGE_LOSS);
    if (t->work.heads & LUD_EMPO_X_H && t->work.x_h == d->x_h_entry)
        t->device->ops->gather_rows(t->device, t->n * t->n_entries, 1, d->x_h, d->person, d->x_h_entry);
    lud_parameters_zero_gradients(t->values->online);
    if (t->work.own->n_parts > 1)
        lud_device_run_both(t->device, learn_first, t, learn_second, t);
    else
        learn_first(t->device, t);
}

static void queue_steps(lud_empo_update *t) {
    enter(t, LUD_STAGE_OPTIMISER);
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (t->work.heads & 1u << net) lud_optimiser_apply(t->optimiser.all, t->optimiser.groups[net]);
    lud_empo_values_copy(t->values, t->work.copied);
    enter(t, -1);
}

/* Whether the optimiser decides things on the host: then its steps follow the recorded piece. */
static bool steps_apart(const lud_empo_update *t) {
    return t->optimiser.all && !lud_optimiser_records(t->optimiser.all);
}

/* What the device does in an update, operations only, so that it can be recorded. */
static void queue_update(void *update) {
    lud_empo_update *t = update;
    const bool *active = t->work.now->active;
    lud_empo_values_queue(t->values); /* stage 3: (5), (7), (8), (9) of all states by the target networks */
    enter(t, LUD_STAGE_SCATTER);      /* stage 4 */
    if (t->work.with_states) q_r_targets(t);
    if (active[LUD_NET_U_R]) u_r_targets(t);
    if (active[LUD_NET_V_R]) v_r_targets(t);
    enter(t, LUD_STAGE_V_H_E); /* stage 5 */
    v_h_e_targets(t);
    if (active[LUD_NET_X_H]) {
        enter(t, LUD_STAGE_FORWARD);
        lud_empo_ability_queue(&t->ability, t->targets.x_h); /* (7) */
    }
    if (t->work.heads) queue_learning(t);
    if (!t->work.divided && !steps_apart(t)) queue_steps(t);
}

/* Stands for everything that shapes an update. */
static uint64_t update_key(const lud_empo_update *t) {
    const lud_empo_now *now = t->work.now;
    const lud_empo_sample *b = &t->batch;
    const uint64_t parts[] = {(uint64_t)t->n,
                              lud_empo_values_key(t->values),
                              lud_upload_batch_key(&t->upload),
                              b->n_grown,
                              b->trajectory ? lud_empo_trajectory_grown(b->trajectory) : 0,
                              t->work.heads,
                              t->work.copied,
                              (uint64_t)(t->work.with_states | (now->beta_r > 0.0) << 1 | now->z_loss << 2)};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) key = lud_capture_key(key, parts[i]);
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        key = lud_capture_key(key, (uint64_t)(now->active[net] | (now->clip[net] > 0.0) << 1));
    return key;
}

/* Writes what the device needs into the upload and sends it: the last thing the host does before the device
 * works through the update. */
static lud_status send_update(lud_empo_update *t, int64_t step, lud_error *error) {
    const lud_empo_now *now = t->work.now;
    lud_empo_sample *b = &t->batch;
    /* draws are numbered by the row at hand */
    const uint32_t of_share = (uint32_t)lud_shares_seed(0, t->share);
    lud_upload_batch_clear(&t->upload);
    LUD_TRY(lud_empo_values_prepare(t->values, b->n_rows, b->records, b->goals,
                                    t->work.with_states ? LUD_WANT_ALL : LUD_WANT_V_H_E, now->beta_r,
                                    (uint32_t)step ^ of_share, &t->upload, error));
    enter(t, LUD_STAGE_CONVERSION);
    lud_empo_sample_pack(b, &t->upload);
    for (int64_t a = 0; a < t->n_actions; a++) t->gamma[a] = (float)now->gamma_r;
    lud_upload_batch_add(&t->upload, &t->targets.gamma, t->gamma, (size_t)t->n_actions * sizeof *t->gamma);
    const int32_t **records = b->records, **goals = b->goals; /* collected rows are used up */
    for (int64_t i = 0; i < t->n; i++) {
        records[i] = b->transitions[i].state;
        goals[i] = b->transitions[i].goals;
    }
    enum { GROUP = 64 };
    bool complete =
        !now->active[LUD_NET_X_H] ||
        lud_empo_ability_stage(&t->ability, t->n, t->n, records, (uint32_t)(step * 0x9e3779b1) ^ of_share,
                               GROUP, false, &t->upload);
    if (t->work.heads) {
        lud_empo_values_encode(t->values, &t->staging, t->n, t->n, records, goals, t->n, t->n_entries);
        lud_empo_staging_pack(&t->staging, t->n, t->n * t->n_entries, &t->upload);
    }
    for (int net = 0; net < LUD_EMPO_NETS && !t->work.divided; net++) {
        if (!(t->work.heads & 1u << net)) continue;
        lud_optimiser_set_max_norm(t->optimiser.all, t->optimiser.groups[net], now->clip[net]);
        lud_optimiser_pack(t->optimiser.all, t->optimiser.groups[net], now->lr[net], &t->upload);
    }
    for (int k = 0; t->work.heads && k < t->work.own->n_parts; k++)
        lud_nn_pack_step(t->work.own->part[k].net, lud_shares_seed(t->seed, t->share), (uint32_t)step,
                         &t->upload);
    complete = complete && lud_upload_batch_send(&t->upload);
    enter(t, -1);
    return complete ? LUD_OK : lud_no_memory(error, "an update");
}

/* Keeps numbers of the transitions at hand, `width` of each; processes that divide them exchange these. */
static void keep(lud_empo_update *t, float *to, const float *from, int64_t width) {
    const size_t bytes = (size_t)width * sizeof *to;
    lud_device_download(t->device, to + t->batch.first * width, from, (size_t)t->n * bytes);
    if (!t->work.divided || t->share > t->shares.first) return;
    assert(t->n_exchanged < MOST_EXCHANGED);
    t->exchanged[t->n_exchanged++] = (lud_ranks_array){to, bytes, 1, t->size};
}

/* What the host reads of networks that learn: losses, and with `measure` predictions and targets. */
static void keep_learning(lud_empo_update *t, bool measure) {
    const targets *d = &t->targets;
    for (int k = 0; t->work.heads && k < t->work.own->n_parts; k++) {
        const lud_empo_graph *g = &t->work.own->part[k].graph;
        const struct {
            int value;
            const float *target;
            int64_t width;
        } learnt[LUD_EMPO_NETS] = {{g->v_h_e, d->v_h_e, t->n_entries},
                                   {g->x_h, t->work.x_h, t->n_entries},
                                   {g->y, d->y, 1},
                                   {g->q_r, d->q_r, t->n_actions},
                                   {g->v_r, d->v, 1}};
        for (int net = 0; net < LUD_EMPO_NETS; net++) {
            if (!(t->work.own->part[k].heads & 1u << net)) continue;
            kept *own = &t->kept[net];
            own->width = learnt[net].width;
            if (measure) {
                keep(t, own->prediction, lud_nn_value(t->work.own->part[k].net, learnt[net].value),
                     own->width);
                keep(t, own->target, learnt[net].target, own->width);
            }
            if (measure || t->options->replay_contest > 1) keep(t, own->loss, loss_of(t, net), own->width);
        }
    }
}

/* Targets of what tables learn. */
static void keep_table_targets(lud_empo_update *t) {
    const float *const all[LUD_EMPO_NETS] = {t->targets.v_h_e, t->targets.x_h, t->targets.y, t->targets.q_r,
                                             t->targets.v};
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if (!t->work.now->active[net] || !t->values->tables[net]) continue;
        t->kept[net].width =
            lud_empo_values_rows_of(t->values, net) * (net == LUD_NET_Q_R ? t->n_actions : 1);
        keep(t, t->kept[net].target, all[net], t->kept[net].width);
    }
}

/* Figures of the whole batch. */
static void measure_learning(lud_empo_update *t, bool measure) {
    for (int net = 0; measure && net < LUD_EMPO_NETS; net++) {
        t->figures.loss[net] = NAN;
        t->figures.spread[net] = (lud_empo_spread){NAN, NAN, NAN, NAN};
    }
    for (int k = 0; t->work.heads && k < t->work.own->n_parts; k++)
        for (int net = 0; net < LUD_EMPO_NETS; net++) {
            if (!(t->work.own->part[k].heads & 1u << net)) continue;
            if (measure) measure_spread(t, net);
            if (measure || t->options->replay_contest > 1) measure_loss(t, net);
        }
}

static double deviation_of(double mean, double mean_square) {
    return sqrt(fmax(mean_square - mean * mean, 0.0));
}

/* Moves the entries of a table to its targets, [size][per_state][width]. */
static lud_status move_table(lud_empo_update *t, int net, bool measure, lud_error *error) {
    const lud_empo_learner_options *o = t->options;
    const int64_t width = net == LUD_NET_Q_R ? t->n_actions : 1;
    const int64_t per_state = lud_empo_values_rows_of(t->values, net);
    lud_empo_table *table = t->values->tables[net];
    const double rate = o->lookup_use_adaptive_lr ? o->lookup_adaptive_lr_min : o->lookup_lr;
    const float *weights =
        t->batch.hindsight && net == LUD_NET_V_H_E ? lud_empo_hindsight_weights(t->batch.hindsight) : NULL;
    double sum = 0, moments[4] = {0}; /* of predictions and targets: sum, sum of squares */
    for (int64_t i = 0; i < t->size; i++) {
        const lud_empo_transition *own = &t->batch.all[i];
        const uint64_t state = lud_empo_state_key(t->values->features, own->state);
        for (int64_t e = 0; e < per_state; e++) {
            const uint64_t key = lud_empo_values_row_key(t->values, net, state, (int)e, own->goals);
            const float *goal = t->kept[net].target + (i * per_state + e) * width;
            const float *present = lud_empo_table_read(table, key);
            double squares = 0;
            for (int64_t k = 0; k < width; k++) {
                squares += pow((double)goal[k] - (double)present[k], 2.0);
                moments[0] += (double)present[k];
                moments[1] += (double)present[k] * (double)present[k];
                moments[2] += (double)goal[k];
                moments[3] += (double)goal[k] * (double)goal[k];
            }
            sum += squares / (double)(t->size * per_state * width);
            t->batch.error[i] += (float)(squares / (double)(per_state * width));
            const double weight = weights ? (double)weights[i * per_state + e] : 1.0;
            if (!lud_empo_table_move(table, key, goal, o->lookup_use_adaptive_lr, rate,
                                     o->lookup_adaptive_lr_power, weight))
                return lud_no_memory(error, "a table");
        }
    }
    if (!measure) return LUD_OK;
    const double n = (double)(t->size * per_state * width);
    t->figures.loss[net] = sum;
    t->figures.spread[net] =
        (lud_empo_spread){.prediction_mean = moments[0] / n,
                          .prediction_deviation = deviation_of(moments[0] / n, moments[1] / n),
                          .target_mean = moments[2] / n,
                          .target_deviation = deviation_of(moments[2] / n, moments[3] / n)};
    return LUD_OK;
}

static lud_status move_tables(lud_empo_update *t, const lud_empo_now *now, bool measure, lud_error *error) {
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (now->active[net] && t->values->tables[net]) LUD_TRY(move_table(t, net, measure, error));
    return LUD_OK;
}

/* Targets for lud_empo_update_targets; zeros of what does not learn. */
static void keep_targets(lud_empo_update *t, bool with_q_r, bool with_x_h) {
    const struct {
        const float *from;
        int64_t n;
        bool present;
    } all[N_VIEWS] = {{t->targets.v_h_e, t->n_entries, true},
                      {t->targets.q_r, t->n_actions, with_q_r},
                      {t->targets.x_h, t->n_humans, with_x_h}};
    for (int i = 0; i < N_VIEWS; i++) {
        if (all[i].present)
            keep(t, t->host_targets[i], all[i].from, all[i].n);
        else
            memset(t->host_targets[i], 0, (size_t)(t->size * all[i].n) * sizeof *t->host_targets[i]);
    }
}

/* What there is to do at training step `step`. */
static void begin_update(lud_empo_update *t, int64_t step, const lud_empo_now *now) {
    t->work.now = now;
    t->work.with_states = now->active[LUD_NET_U_R] || now->active[LUD_NET_Q_R] || now->active[LUD_NET_V_R];
    t->work.heads = active_heads(now, t->options);
    t->work.divided = t->shares.n > 1 && t->work.heads;
    t->n_exchanged = 0;
    t->work.copied = t->values->online ? lud_empo_copies_due(t->options, step) : 0;
    t->work.x_h = t->options->expected_people ? t->targets.x_h_entry : t->targets.x_h;
    t->work.own = t->nets;
    while (t->work.heads && t->work.own->heads != t->work.heads) t->work.own++;
}

/* Targets of the transitions first .. first + n - 1, and gradients of the networks that learn them. Where
 * these are all transitions, the networks' steps, too. */
static lud_status learn_stretch(lud_empo_update *t, int64_t first, int64_t n, int64_t step, bool measure,
                                lud_error *error) {
    const lud_empo_now *now = t->work.now;
    t->n = n;
    enter(t, LUD_STAGE_COLLECT); /* stage 1: the transitions, flattened */
    lud_status status = lud_empo_sample_collect(&t->batch, first, n, now, t->work.with_states, error);
    enter(t, -1);
    if (status == LUD_OK) status = send_update(t, step, error); /* stage 2: the networks' inputs */
    if (status) return status;
    t->updating.never = t->values->capture.never;
    lud_capture_run(&t->updating, update_key(t)); /* stages 3 to 5, losses, gradients and steps */
    if (t->work.divided)
        enter(t, -1);
    else if (steps_apart(t))
        queue_steps(t);
    lud_profile_begin(t->values->profile, LUD_STAGE_OPTIMISER);
    if (measure) keep_targets(t, now->active[LUD_NET_Q_R], now->active[LUD_NET_X_H]);
    keep_learning(t, measure);
    keep_table_targets(t);
    lud_profile_end(t->values->profile, LUD_STAGE_OPTIMISER);
    return LUD_OK;
}

static lud_empo_trajectory_counts counts_of(const lud_empo_update *t) {
    return t->batch.trajectory ? lud_empo_trajectory_count(t->batch.trajectory)
                               : (lud_empo_trajectory_counts){0};
}

/* The shares of this process, and steps by the gradients of all; `status`: of what came before. What is kept
 * is then that of the whole batch. A stop leaves networks and tables as they were. */
static lud_status learn_shares(lud_empo_update *t, lud_status status, int64_t step, bool measure,
                               lud_error *error) {
    const lud_empo_now *now = t->work.now;
    lud_shares *shares = &t->shares;
    lud_shares_begin(shares);
    for (t->share = shares->first; t->share < shares->end && !status; t->share++) {
        const int64_t first = lud_share_begin(t->size, shares->n, t->share),
                      n = lud_share_begin(t->size, shares->n, t->share + 1) - first;
        status = learn_stretch(t, first, n, step, measure, error);
        const lud_empo_trajectory_counts counts = counts_of(t);
        lud_shares_keep(shares, t->share, (double)n / (double)t->size, (const double *)&counts);
    }
    LUD_TRY(lud_shares_add(shares, status, (double *)&t->trajectories, error));
    LUD_TRY(lud_ranks_complete(shares->ranks, t->exchanged, t->n_exchanged, shares->n, error));
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if (!(t->work.heads & 1u << net)) continue;
        lud_optimiser_set_max_norm(t->optimiser.all, t->optimiser.groups[net], now->clip[net]);
        lud_optimiser_prepare(t->optimiser.all, t->optimiser.groups[net], now->lr[net]);
    }
    queue_steps(t);
    return LUD_OK;
}

lud_status lud_empo_update_run(lud_empo_update *t, int64_t step, const lud_empo_now *now, bool measure,
                               lud_error *error) {
    assert(lud_empo_replay_count(t->replay) >= t->size);
    lud_profile *profile = t->values->profile;
    begin_update(t, step, now);
    enter(t, LUD_STAGE_COLLECT);
    lud_status status = lud_empo_sample_draw(&t->batch, step, now, error);
    enter(t, -1);
    t->share = 0;
    if (t->work.divided) {
        status = learn_shares(t, status, step, measure, error);
    } else if (status == LUD_OK) {
        status = learn_stretch(t, 0, t->size, step, measure, error);
        t->trajectories = counts_of(t);
    }
    if (status) return status;
    lud_profile_begin(profile, LUD_STAGE_OPTIMISER);
    measure_learning(t, measure);
    status = move_tables(t, now, measure, error);
    for (int64_t i = 0; i < t->size && t->options->replay_contest > 1; i++)
        lud_empo_replay_set_priority(t->replay, t->batch.drawn[i], t->batch.error[i]);
    lud_profile_end(profile, LUD_STAGE_OPTIMISER);
    lud_profile_call(profile);
    return status;
}

lud_empo_update_figures lud_empo_update_get(const lud_empo_update *t) {
    lud_empo_update_figures f = t->figures;
    const lud_empo_sample *b = &t->batch;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        f.norm[net] = t->optimiser.groups[net] < 0
                          ? NAN
                          : lud_optimiser_norm(t->optimiser.all, t->optimiser.groups[net]);
    f.trajectories = b->trajectory ? lud_empo_trajectory_figures_of(&t->trajectories)
                                   : (lud_empo_trajectory_figures){NAN, NAN, NAN, NAN, NAN, NAN};
    f.hindsight_share = b->hindsight ? lud_empo_hindsight_share(b->hindsight) : NAN;
    f.hindsight_weight = b->hindsight ? lud_empo_hindsight_mean_weight(b->hindsight) : NAN;
    f.n = t->updating.runs;
    f.n_replayed = t->updating.n_replayed;
    return f;
}

lud_empo_batch_view lud_empo_update_targets(lud_empo_update *t) {
    return (lud_empo_batch_view){
        .n = t->size,
        .indices = t->batch.drawn,
        .goals = t->batch.hindsight ? lud_empo_hindsight_goals(t->batch.hindsight) : NULL,
        .weights = t->batch.hindsight ? lud_empo_hindsight_weights(t->batch.hindsight) : NULL,
        .v_h_e = t->host_targets[0],
        .q_r = t->host_targets[1],
        .x_h = t->host_targets[2]};
}

void lud_empo_update_visit(lud_empo_update *t, lud_checkpoint *checkpoint) {
    if (t->optimiser.all) lud_optimiser_visit(t->optimiser.all, "optimiser.", checkpoint);
}
