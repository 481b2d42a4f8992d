#include "learn/mappo/trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mappo/mad.h"

static bool take_fields(lud_mappo_trainer *t, int64_t rows) {
    for (int f = 0; f < LUD_FIELDS; f++) {
        lud_mappo_array *field = &t->fields[f];
        *field = (lud_mappo_array){.type = LUD_NN_REAL, .width = 1, .max_rows = rows};
        if (f == LUD_FIELD_ACTION) field->type = LUD_NN_I32;
        if (f == LUD_FIELD_NUMBER || f == LUD_FIELD_NORMAL) field->width = t->shape.n_continuous;
        if (f == LUD_FIELD_CHOICES) {
            field->type = LUD_NN_U8;
            field->width = t->shape.masked ? t->shape.n_discrete : 0;
        }
        if (field->width == 0) continue;
        const size_t bytes = (size_t)(rows * field->width) * (field->type == LUD_NN_U8 ? 1 : 4);
        field->device = lud_device_allocate(t->device, bytes);
        field->host = t->device->backend->host_memory ? field->device : calloc(bytes, 1);
        if (!field->device || !field->host) return false;
        for (int64_t i = 0; f == LUD_FIELD_WEIGHT && i < rows; i++) ((float *)field->host)[i] = 1.0f;
    }
    t->device_normaliser = lud_device_allocate(t->device, 2 * sizeof t->normaliser);
    t->device_moments = lud_device_allocate(t->device, 2 * sizeof(float));
    t->device_step = lud_device_allocate(t->device, sizeof *t->device_step);
    const int64_t wide = t->shape.n_discrete > 6 ? t->shape.n_discrete : 6;
    t->scratch = malloc((size_t)(rows * wide) * sizeof *t->scratch);
    return t->device_normaliser && t->device_moments && t->device_step && t->scratch;
}

static lud_status build(lud_mappo_trainer *t, uint64_t seed, bool own, lud_error *error) {
    const lud_nn_mode mode = t->use == LUD_MAPPO_UPDATE ? LUD_NN_TRAIN : LUD_NN_INFERENCE;
    lud_status status = LUD_OK;
    lud_mappo_net_declare(&t->actor, t->parameters, LUD_MAPPO_ACTOR, &t->options, &t->inputs, mode);
    const bool critic = t->use != LUD_MAPPO_PLAY;
    if (critic)
        lud_mappo_net_declare(&t->critic, t->parameters, LUD_MAPPO_CRITIC, &t->options, &t->inputs, mode);
    if (own) status = lud_parameters_build(t->parameters, seed, error);
    if (!status) status = lud_mappo_net_plan(&t->actor, mode, error);
    if (!status && critic) status = lud_mappo_net_plan(&t->critic, mode, error);
    t->log_std = lud_parameters_find(t->parameters, "actor.log_std");
    if (status || t->use != LUD_MAPPO_UPDATE) return status;
    t->optimiser = lud_optimiser_create(t->parameters);
    if (!t->optimiser) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for an optimiser");
    lud_optimiser_options adam = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
    adam.epsilon = t->options.epsilon;
    adam.weight_decay = t->options.weight_decay;
    adam.max_norm = t->options.max_norm;
    t->magnitude_group = -1;
    if (t->options.control == LUD_MAPPO_MAD && t->options.mad.learning_rate > 0.0)
        t->magnitude_group = lud_optimiser_group(t->optimiser, "actor.magnitude.", &adam, false);
    t->actor_group = lud_optimiser_group(t->optimiser, "actor.", &adam, false);
    t->critic_group = lud_optimiser_group(t->optimiser, "critic.", &adam, false);
    if (t->actor_group < 0 || t->critic_group < 0)
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for an optimiser");
    return lud_optimiser_build(t->optimiser, seed, error);
}

/* The recorded pieces: they call operations and nothing else. */
static void queue_slice(void *trainer);
static void queue_steps(void *trainer);
static void queue_actions(void *trainer);
static void queue_values(void *trainer);

/* Runs a piece; everything that shapes one is the rows of the inputs and `number`. */
static void run(lud_mappo_trainer *t, lud_capture *piece, uint64_t number) {
    uint64_t key = lud_capture_key(0, number);
    key = lud_capture_key(key, (uint64_t)t->inputs.n);
    key = lud_capture_key(key, (uint64_t)t->inputs.n_edges);
    key = lud_capture_key(key, (uint64_t)t->inputs.n_chunks);
    if (t->never_record)
        piece->body(t);
    else
        lud_capture_run(piece, key);
}

lud_status lud_mappo_trainer_create(const lud_model *model, const lud_mappo_options *options,
                                    lud_device *device, uint64_t seed, int64_t max_rows, lud_mappo_use use,
                                    lud_parameters *parameters, lud_mappo_trainer **trainer,
                                    lud_error *error) {
    *trainer = NULL;
    lud_mappo_trainer *t = calloc(1, sizeof *t);
    if (!t) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
    t->device = device;
    t->options = *options;
    t->use = use;
    t->shares_parameters = parameters;
    lud_capture_start(&t->adding, device, queue_slice, t);
    lud_capture_start(&t->stepping, device, queue_steps, t);
    lud_capture_start(&t->acting, device, queue_actions, t);
    lud_capture_start(&t->valuing, device, queue_values, t);
    lud_status status = lud_mappo_shape_find(model, &t->options, &t->shape, error);
    if (!status)
        status = lud_mappo_inputs_create(device, &t->shape, &t->options, max_rows, &t->inputs, error);
    if (!status) {
        t->parameters = parameters ? parameters : lud_parameters_create(device, false);
        if (!t->parameters || !take_fields(t, max_rows))
            status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
    }
    if (!status) status = build(t, seed, !parameters, error);
    if (status) {
        lud_mappo_trainer_destroy(t);
        return status;
    }
    *trainer = t;
    return LUD_OK;
}

void lud_mappo_trainer_destroy(lud_mappo_trainer *t) {
    if (!t) return;
    lud_capture *const recorded[] = {&t->adding, &t->stepping, &t->acting, &t->valuing};
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) lud_capture_end(recorded[i]);
    lud_optimiser_destroy(t->optimiser);
    lud_mappo_net_destroy(&t->actor);
    lud_mappo_net_destroy(&t->critic);
    lud_mappo_inputs_destroy(&t->inputs);
    for (int f = 0; f < LUD_FIELDS; f++) {
        if (t->fields[f].host != t->fields[f].device) free(t->fields[f].host);
        if (t->fields[f].device) lud_device_release(t->device, t->fields[f].device);
    }
    if (t->device_normaliser) lud_device_release(t->device, t->device_normaliser);
    if (t->device_moments) lud_device_release(t->device, t->device_moments);
    if (t->device_step) lud_device_release(t->device, t->device_step);
    if (!t->shares_parameters) lud_parameters_destroy(t->parameters);
    free(t->scratch);
    free(t);
}

/* The first n rows of a field to or from the device. */
static size_t field_bytes(const lud_mappo_array *field, int64_t n) {
    return (size_t)(n * field->width) * (field->type == LUD_NN_U8 ? 1 : 4);
}
static void send(lud_mappo_trainer *t, lud_mappo_field f) {
    const lud_mappo_array *field = &t->fields[f];
    if (field->host != field->device)
        lud_device_upload(t->device, field->device, field->host, field_bytes(field, t->inputs.n));
}
static void fetch(lud_mappo_trainer *t, lud_mappo_field f) {
    const lud_mappo_array *field = &t->fields[f];
    if (field->host != field->device)
        lud_device_download(t->device, field->host, field->device, field_bytes(field, t->inputs.n));
}
static float *device_field(const lud_mappo_trainer *t, lud_mappo_field f) {
    return t->fields[f].device;
}
static float *host_field(const lud_mappo_trainer *t, lud_mappo_field f) {
    return t->fields[f].host;
}

void lud_mappo_allow(lud_mappo_trainer *t, int64_t n, const int32_t *agent) {
    const int64_t width = t->fields[LUD_FIELD_CHOICES].width;
    uint8_t *allowed = t->fields[LUD_FIELD_CHOICES].host;
    for (int64_t i = 0; i < n && width > 0; i++)
        for (int64_t k = 0; k < width; k++)
            allowed[i * width + k] = k < t->shape.model->layout.actions[agent[i]].n_discrete;
}

void lud_mappo_allow_all(lud_mappo_trainer *t, int64_t n) {
    const lud_mappo_array *field = &t->fields[LUD_FIELD_CHOICES];
    for (int64_t i = 0; i < n && field->width > 0; i++)
        for (int64_t k = 0; k < field->width; k++)
            ((uint8_t *)field->host)[i * field->width + k] =
                k < t->shape.model->layout.actions[i % t->shape.n_agents].n_discrete;
    if (field->width > 0 && field->host != field->device)
        lud_device_upload(t->device, field->device, field->host, field_bytes(field, n));
}

static const uint8_t *choices(const lud_mappo_trainer *t) {
    return t->fields[LUD_FIELD_CHOICES].width > 0 ? t->fields[LUD_FIELD_CHOICES].device : NULL;
}
static void send_choices(lud_mappo_trainer *t) {
    if (t->fields[LUD_FIELD_CHOICES].width > 0) send(t, LUD_FIELD_CHOICES);
}

static const float *log_std(const lud_mappo_trainer *t) {
    return lud_parameters_value(t->parameters, t->log_std);
}

/* What the magnitude and direction head works on, on the host. On the CPU these are views. */
typedef struct head_view {
    const float *mean, *raw;
    float log_std[LUD_MAD_NUMBERS];
} head_view;

/* `scratch` holds copies where device memory is not the host's: [rows][3]. */
static head_view view_head(lud_mappo_trainer *t, float *scratch) {
    const int64_t n = t->inputs.n;
    head_view view = {0};
    const size_t bytes = (size_t)n * sizeof(float);
    lud_device_download(t->device, view.log_std, log_std(t), sizeof view.log_std);
    if (t->device->backend->host_memory) {
        view.mean = lud_nn_value(t->actor.nn, t->actor.out);
        if (t->actor.magnitude >= 0) view.raw = lud_nn_value(t->actor.nn, t->actor.magnitude);
        return view;
    }
    lud_device_download(t->device, scratch, lud_nn_value(t->actor.nn, t->actor.out), 2 * bytes);
    view.mean = scratch;
    if (t->actor.magnitude >= 0) {
        lud_device_download(t->device, scratch + 2 * n, lud_nn_value(t->actor.nn, t->actor.magnitude), bytes);
        view.raw = scratch + 2 * n;
    }
    return view;
}

/* Whether the network's output is the policy's, so that the host has no part in log-probabilities. */
static bool direct(const lud_mappo_trainer *t) {
    return t->shape.n_discrete > 0 || t->options.control == LUD_MAPPO_DIRECT;
}

/* Log-probabilities and entropies of actions that are on the device; not for magnitude and direction. */
static void queue_evaluation(lud_mappo_trainer *t, lud_device *device) {
    const lud_ops *ops = device->ops;
    const int64_t n = t->inputs.n;
    const float *out = lud_nn_value(t->actor.nn, t->actor.out);
    if (t->shape.n_discrete > 0)
        ops->categorical_log_prob(device, n, t->actor.out_width, out, choices(t),
                                  t->fields[LUD_FIELD_ACTION].device, device_field(t, LUD_FIELD_LOG_PROB),
                                  device_field(t, LUD_FIELD_ENTROPY));
    else
        ops->gaussian_log_prob(device, n, t->actor.out_width, out, log_std(t), 0,
                               device_field(t, LUD_FIELD_NUMBER), device_field(t, LUD_FIELD_LOG_PROB),
                               device_field(t, LUD_FIELD_ENTROPY));
}

/* The same on the host, for magnitude and direction. */
static void evaluate_on_host(lud_mappo_trainer *t) {
    const head_view head = view_head(t, t->scratch);
    lud_mad_log_prob(&t->options, t->inputs.n, head.mean, head.log_std, head.raw,
                     host_field(t, LUD_FIELD_NUMBER), host_field(t, LUD_FIELD_LOG_PROB),
                     host_field(t, LUD_FIELD_ENTROPY));
    send(t, LUD_FIELD_LOG_PROB);
}

static void send_actions(lud_mappo_trainer *t) {
    send(t, t->shape.n_discrete > 0 ? LUD_FIELD_ACTION : LUD_FIELD_NUMBER);
    send_choices(t);
}

void lud_mappo_evaluate(lud_mappo_trainer *t) {
    if (!direct(t)) {
        evaluate_on_host(t);
        return;
    }
    send_actions(t);
    queue_evaluation(t, t->device);
    fetch(t, LUD_FIELD_LOG_PROB);
    fetch(t, LUD_FIELD_ENTROPY);
}

/* The likeliest choice of every row. */
static void choose_likeliest(lud_mappo_trainer *t) {
    const int64_t n = t->inputs.n, width = t->actor.out_width;
    const uint8_t *allowed = t->shape.masked ? t->fields[LUD_FIELD_CHOICES].host : NULL;
    const float *logits = lud_nn_value(t->actor.nn, t->actor.out);
    int32_t *action = t->fields[LUD_FIELD_ACTION].host;
    if (!t->device->backend->host_memory) {
        lud_device_download(t->device, t->scratch, logits, (size_t)(n * width) * sizeof *logits);
        logits = t->scratch;
    }
    for (int64_t i = 0; i < n; i++) {
        action[i] = -1;
        for (int32_t k = 0; k < width; k++) {
            if (allowed && !allowed[i * width + k]) continue;
            if (action[i] < 0 || logits[i * width + k] > logits[i * width + action[i]]) action[i] = k;
        }
    }
}

/* The actor's run and its draws, and what they are worth when the host has no part in it. */
static void queue_actions(void *trainer) {
    lud_mappo_trainer *t = trainer;
    const lud_ops *ops = t->device->ops;
    const int64_t n = t->inputs.n;
    lud_mappo_net_forward(&t->actor, false);
    const float *out = lud_nn_value(t->actor.nn, t->actor.out);
    if (t->shape.n_discrete > 0)
        ops->categorical_sample(t->device, n, t->actor.out_width, out, choices(t), &t->draws, NULL,
                                t->fields[LUD_FIELD_ACTION].device, NULL);
    else
        ops->gaussian_sample(t->device, n, t->actor.out_width, out, log_std(t), 0, &t->draws, NULL,
                             device_field(t, LUD_FIELD_NUMBER), NULL);
    if (direct(t)) queue_evaluation(t, t->device);
}

void lud_mappo_queue_actions(lud_mappo_trainer *t, const lud_draws *draws) {
    t->draws = *draws;
    queue_actions(t);
}

static void act_deterministically(lud_mappo_trainer *t) {
    lud_mappo_net_forward(&t->actor, false);
    const float *out = lud_nn_value(t->actor.nn, t->actor.out);
    if (t->shape.n_discrete > 0) {
        choose_likeliest(t);
    } else { /* a normal number of zero is the mean */
        t->device->ops->gaussian_sample(t->device, t->inputs.n, t->actor.out_width, out, log_std(t), 0,
                                        &t->draws, device_field(t, LUD_FIELD_NORMAL),
                                        device_field(t, LUD_FIELD_NUMBER), NULL);
        fetch(t, LUD_FIELD_NUMBER);
    }
}

void lud_mappo_act(lud_mappo_trainer *t, const lud_draws *draws, bool deterministic) {
    t->draws = *draws;
    send_choices(t);
    if (deterministic) {
        act_deterministically(t);
    } else {
        /* from run to run of a rollout the step alone changes: the graph reads it */
        lud_device_upload(t->device, t->device_step, &draws->step, sizeof draws->step);
        t->draws.step = 0;
        t->draws.step_added = t->device_step;
        uint64_t key = lud_capture_key(draws->seed, draws->first_environment);
        key = lud_capture_key(key, draws->n_agents);
        key = lud_capture_key(key, (uint64_t)draws->purpose << 32 | draws->lane);
        run(t, &t->acting, lud_capture_key(key, (uint64_t)(uintptr_t)draws->environment));
        fetch(t, t->shape.n_discrete > 0 ? LUD_FIELD_ACTION : LUD_FIELD_NUMBER);
    }
    if (!direct(t)) {
        const head_view head = view_head(t, t->scratch);
        float *number = host_field(t, LUD_FIELD_NUMBER);
        lud_mad_offset(&t->options, t->inputs.n, number, head.raw, number);
        evaluate_on_host(t);
    } else if (deterministic) {
        lud_mappo_evaluate(t);
    } else {
        fetch(t, LUD_FIELD_LOG_PROB);
        fetch(t, LUD_FIELD_ENTROPY);
    }
}

static void read_rows(lud_mappo_trainer *t, const lud_mappo_net *net, int value, const int32_t *row,
                      float *to) {
    if (value < 0) return;
    const int64_t width = lud_nn_width(net->nn, value);
    const float *from = lud_nn_value(net->nn, value);
    for (int64_t i = 0; i < t->inputs.n; i++)
        lud_device_download(t->device, to + row[i] * width, from + i * width, (size_t)width * sizeof *to);
}

void lud_mappo_read_states(lud_mappo_trainer *t, const int32_t *row, float *actor_hidden, float *states) {
    assert(t->use != LUD_MAPPO_UPDATE);
    read_rows(t, &t->actor, t->actor.hidden, row, actor_hidden);
    read_rows(t, &t->actor, t->actor.state, row, states);
}

void lud_mappo_read_critic(lud_mappo_trainer *t, const int32_t *row, float *critic_hidden) {
    assert(t->use == LUD_MAPPO_ROLLOUT);
    read_rows(t, &t->critic, t->critic.hidden, row, critic_hidden);
}

static void queue_values(void *trainer) {
    lud_mappo_net_forward(&((lud_mappo_trainer *)trainer)->critic, false);
}

void lud_mappo_queue_values(lud_mappo_trainer *t) {
    queue_values(t);
}

void lud_mappo_value(lud_mappo_trainer *t, float *values) {
    run(t, &t->valuing, 0);
    lud_device_download(t->device, values, lud_nn_value(t->critic.nn, t->critic.out),
                        (size_t)t->inputs.n * sizeof *values);
}

/* The debiased statistics as a state of their own, in which weights are rescaled: what normalises targets and
 * what rescales the output then agree from the first minibatch on. */
static void debiased(const float *state, float *out) {
    const float debias = state[LUD_NORMALISER_DEBIAS] > 1e-5f ? state[LUD_NORMALISER_DEBIAS] : 1e-5f;
    const float mean = state[LUD_NORMALISER_MEAN] / debias;
    float square = state[LUD_NORMALISER_MEAN_SQUARE] / debias;
    if (square < mean * mean + 1e-2f) square = mean * mean + 1e-2f; /* the smallest variance of normalise */
    out[LUD_NORMALISER_MEAN] = mean;
    out[LUD_NORMALISER_MEAN_SQUARE] = square;
    out[LUD_NORMALISER_DEBIAS] = state[LUD_NORMALISER_DEBIAS] > 0.0f ? 1.0f : 0.0f;
}

void lud_mappo_minibatch_begin(lud_mappo_trainer *t, int64_t n, const float *returns) {
    lud_parameters_zero_gradients(t->parameters);
    if (t->options.normaliser == LUD_VALUE_PLAIN) return;
    float old[LUD_NORMALISER_FIELDS];
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) {
        mean += (double)returns[i];
        square += (double)returns[i] * (double)returns[i];
    }
    const float moments[2] = {(float)(mean / (double)n), (float)(square / (double)n)};
    const lud_ops *ops = t->device->ops;
    debiased(t->normaliser, old);
    lud_device_upload(t->device, t->device_normaliser, t->normaliser, sizeof t->normaliser);
    lud_device_upload(t->device, t->device_moments, moments, sizeof moments);
    ops->normaliser_update(t->device, 1, t->options.normaliser_beta, t->device_moments, t->device_moments + 1,
                           t->device_normaliser);
    lud_device_download(t->device, t->normaliser, t->device_normaliser, sizeof t->normaliser);
    if (t->options.normaliser != LUD_VALUE_POPART) return;
    float states[2 * LUD_NORMALISER_FIELDS];
    memcpy(states, old, sizeof old);
    debiased(t->normaliser, states + LUD_NORMALISER_FIELDS);
    lud_device_upload(t->device, t->device_normaliser, states, sizeof states);
    const int weight = lud_parameters_find(t->parameters, "critic.out.weight");
    const int bias = lud_parameters_find(t->parameters, "critic.out.bias");
    ops->popart_rescale(t->device, t->parameters->items[weight].n, 1, t->device_normaliser,
                        t->device_normaliser + LUD_NORMALISER_FIELDS,
                        lud_parameters_value(t->parameters, weight),
                        lud_parameters_value(t->parameters, bias));
}

static double sum_of(const float *x, const float *weight, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)weight[i];
    return sum;
}

/* Gradients of the head, from those of log-probabilities and entropies. */
static void head_backward(lud_mappo_trainer *t, lud_device *device) {
    const lud_ops *ops = device->ops;
    const int64_t n = t->inputs.n, width = t->actor.out_width;
    const float *out = lud_nn_value(t->actor.nn, t->actor.out);
    float *dout = lud_nn_gradient(t->actor.nn, t->actor.out);
    float *dlog_prob = device_field(t, LUD_FIELD_GRADIENT);
    float *dentropy = device_field(t, LUD_FIELD_ENTROPY_GRADIENT);
    if (t->shape.n_discrete > 0) {
        ops->categorical_backward(device, n, width, out, choices(t), t->fields[LUD_FIELD_ACTION].device,
                                  dlog_prob, dentropy, dout, false);
        return;
    }
    float *dlog_std = lud_parameters_gradient(t->parameters, t->log_std);
    if (direct(t)) {
        ops->gaussian_backward(device, n, width, out, log_std(t), 0, device_field(t, LUD_FIELD_NUMBER),
                               dlog_prob, dentropy, dout, NULL, dlog_std, false);
        return;
    }
    fetch(t, LUD_FIELD_GRADIENT);
    fetch(t, LUD_FIELD_ENTROPY_GRADIENT);
    const head_view head = view_head(t, t->scratch);
    float *dmean = t->scratch + 3 * n, *draw = head.raw ? t->scratch + 5 * n : NULL;
    float dstd[LUD_MAD_NUMBERS];
    lud_device_download(t->device, dstd, dlog_std, sizeof dstd);
    lud_mad_backward(&t->options, n, head.mean, head.log_std, head.raw, host_field(t, LUD_FIELD_NUMBER),
                     host_field(t, LUD_FIELD_GRADIENT), host_field(t, LUD_FIELD_ENTROPY_GRADIENT), dmean,
                     draw, dstd);
    lud_device_upload(t->device, dlog_std, dstd, sizeof dstd);
    lud_device_upload(t->device, dout, dmean, (size_t)(2 * n) * sizeof *dmean);
    if (draw)
        lud_device_upload(t->device, lud_nn_gradient(t->actor.nn, t->actor.magnitude), draw,
                          (size_t)n * sizeof *draw);
}

void lud_mappo_actor_backward(lud_mappo_trainer *t) {
    head_backward(t, t->device);
    lud_nn_backward(t->actor.nn);
}

/* One slice for one of the two networks: they share inputs and nothing that is written. */
static void queue_actor(lud_device *device, void *trainer) {
    lud_mappo_trainer *t = trainer;
    const double scale = t->slice_scale;
    const lud_ops *ops = device->ops;
    const int64_t n = t->inputs.n;
    lud_nn_run_on(t->actor.nn, device);
    lud_mappo_net_forward(&t->actor, true);
    if (direct(t))
        queue_evaluation(t, device);
    else
        evaluate_on_host(t);
    ops->ppo_policy_loss(device, n, t->options.clip, device_field(t, LUD_FIELD_LOG_PROB),
                         device_field(t, LUD_FIELD_OLD_LOG_PROB), device_field(t, LUD_FIELD_ADVANTAGE),
                         device_field(t, LUD_FIELD_WEIGHT), scale, device_field(t, LUD_FIELD_LOSS),
                         device_field(t, LUD_FIELD_RATIO), device_field(t, LUD_FIELD_GRADIENT), false);
    ops->fill(device, n, -t->options.entropy_coefficient * scale,
              device_field(t, LUD_FIELD_ENTROPY_GRADIENT));
    head_backward(t, device);
    lud_nn_backward(t->actor.nn);
    lud_nn_run_on(t->actor.nn, NULL);
}

static void queue_critic(lud_device *device, void *trainer) {
    lud_mappo_trainer *t = trainer;
    const double scale = t->slice_scale;
    const lud_ops *ops = device->ops;
    const int64_t n = t->inputs.n;
    lud_nn_run_on(t->critic.nn, device);
    lud_mappo_net_forward(&t->critic, true);
    float *target = device_field(t, LUD_FIELD_TARGET);
    if (t->options.normaliser == LUD_VALUE_PLAIN)
        ops->combine(device, n, 1.0, device_field(t, LUD_FIELD_RETURN), 0.0, NULL, target);
    else
        ops->normalise(device, n, 1, t->device_normaliser, false, device_field(t, LUD_FIELD_RETURN), target);
    ops->ppo_value_loss(device, n, t->options.clip_value ? t->options.clip : 0.0, t->options.huber_delta,
                        false, lud_nn_value(t->critic.nn, t->critic.out),
                        device_field(t, LUD_FIELD_OLD_VALUE), target, device_field(t, LUD_FIELD_WEIGHT),
                        scale * t->options.value_coefficient, device_field(t, LUD_FIELD_VALUE_LOSS),
                        lud_nn_gradient(t->critic.nn, t->critic.out), false);
    lud_nn_backward(t->critic.nn);
    lud_nn_run_on(t->critic.nn, NULL);
}

static void queue_slice(void *trainer) {
    lud_mappo_trainer *t = trainer;
    lud_device_run_both(t->device, queue_actor, t, queue_critic, t);
}

static void send_slice(lud_mappo_trainer *t) {
    static const lud_mappo_field read[] = {LUD_FIELD_OLD_LOG_PROB, LUD_FIELD_ADVANTAGE, LUD_FIELD_WEIGHT,
                                           LUD_FIELD_OLD_VALUE, LUD_FIELD_RETURN};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) send(t, read[i]);
    send_actions(t);
    if (t->options.normaliser != LUD_VALUE_PLAIN)
        lud_device_upload(t->device, t->device_normaliser, t->normaliser, sizeof t->normaliser);
}

static void add_losses(lud_mappo_trainer *t) {
    const int64_t n = t->inputs.n;
    fetch(t, LUD_FIELD_LOSS);
    fetch(t, LUD_FIELD_RATIO);
    fetch(t, LUD_FIELD_VALUE_LOSS);
    if (direct(t)) fetch(t, LUD_FIELD_ENTROPY); /* else it is the host's already */
    const float *weight = host_field(t, LUD_FIELD_WEIGHT), *ratio = host_field(t, LUD_FIELD_RATIO);
    t->losses.policy_loss += sum_of(host_field(t, LUD_FIELD_LOSS), weight, n);
    t->losses.value_loss += sum_of(host_field(t, LUD_FIELD_VALUE_LOSS), weight, n);
    t->losses.ratio += sum_of(ratio, weight, n);
    for (int64_t i = 0; i < n; i++) {
        t->losses.entropy += (double)host_field(t, LUD_FIELD_ENTROPY)[i];
        t->losses.clipped += fabs((double)ratio[i] - 1.0) > t->options.clip;
    }
    t->losses.rows += (double)n;
}

void lud_mappo_minibatch_add(lud_mappo_trainer *t, double scale) {
    assert(t->use == LUD_MAPPO_UPDATE);
    uint64_t bits;
    memcpy(&bits, &scale, sizeof bits);
    t->slice_scale = scale;
    send_slice(t);
    if (direct(t))
        run(t, &t->adding, bits);
    else
        queue_slice(t);
    add_losses(t);
}

static void queue_steps(void *trainer) {
    lud_mappo_trainer *t = trainer;
    const int groups[] = {t->magnitude_group, t->actor_group, t->critic_group};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (groups[i] >= 0) lud_optimiser_apply(t->optimiser, groups[i]);
}

void lud_mappo_minibatch_end(lud_mappo_trainer *t, double rate) {
    if (t->magnitude_group >= 0)
        lud_optimiser_prepare(t->optimiser, t->magnitude_group, rate * t->options.mad.learning_rate);
    lud_optimiser_prepare(t->optimiser, t->actor_group, rate * t->options.learning_rate);
    lud_optimiser_prepare(t->optimiser, t->critic_group, rate * t->options.critic_learning_rate);
    /* rows do not shape it */
    if (t->never_record)
        queue_steps(t);
    else
        lud_capture_run(&t->stepping, 0);
    t->losses.actor_norm += lud_optimiser_norm(t->optimiser, t->actor_group);
    t->losses.critic_norm += lud_optimiser_norm(t->optimiser, t->critic_group);
    t->losses.minibatches++;
}

void lud_mappo_denormalise(const lud_mappo_trainer *t, int64_t n, float *values) {
    if (t->options.normaliser == LUD_VALUE_PLAIN) return;
    /* before the first update the statistics are those of nothing: values are taken as they are */
    if (t->normaliser[LUD_NORMALISER_DEBIAS] == 0.0f) return;
    float state[LUD_NORMALISER_FIELDS];
    debiased(t->normaliser, state);
    const float mean = state[LUD_NORMALISER_MEAN];
    const float deviation = sqrtf(state[LUD_NORMALISER_MEAN_SQUARE] - mean * mean);
    for (int64_t i = 0; i < n; i++) values[i] = values[i] * deviation + mean;
}

void lud_mappo_trainer_visit(lud_mappo_trainer *t, lud_checkpoint *checkpoint) {
    lud_parameters_visit(t->parameters, "", checkpoint);
    lud_checkpoint_tensor(checkpoint, "normaliser", LUD_TENSOR_F32, 1,
                          (const int64_t[]){LUD_NORMALISER_FIELDS}, t->normaliser);
    if (t->optimiser) lud_optimiser_visit(t->optimiser, "optimiser.", checkpoint);
}
