#include "learn/mappo/head.h"

#include <math.h>
#include <string.h>

#include "learn/mappo/stability/mad.h"

static float *device_field(const lud_mappo_networks *t, lud_mappo_field f) {
    return t->fields[f].device;
}
static float *host_field(const lud_mappo_networks *t, lud_mappo_field f) {
    return t->fields[f].host;
}

bool lud_mappo_is_direct(const lud_mappo_networks *t) {
    return t->shape.n_discrete > 0 || t->options.control == LUD_MAPPO_DIRECT;
}

static const uint8_t *choices(const lud_mappo_networks *t) {
    return t->fields[LUD_FIELD_CHOICES].width > 0 ? t->fields[LUD_FIELD_CHOICES].device : NULL;
}

static const float *log_std(const lud_mappo_networks *t) {
    return lud_parameters_value(t->parameters, t->log_std);
}

static lud_mappo_field actions(const lud_mappo_networks *t) {
    return t->shape.n_discrete > 0 ? LUD_FIELD_ACTION : LUD_FIELD_NUMBER;
}

void lud_mappo_allow(lud_mappo_networks *t, int64_t n, const int32_t *agent) {
    const int64_t width = t->fields[LUD_FIELD_CHOICES].width;
    uint8_t *allowed = t->fields[LUD_FIELD_CHOICES].host;
    for (int64_t i = 0; i < n && width > 0; i++)
        for (int64_t k = 0; k < width; k++)
            allowed[i * width + k] =
                k < t->shape.model->layout.actions[agent ? agent[i] : i % t->shape.n_agents].n_discrete &&
                (!t->inputs.choices || t->inputs.choices[i * width + k]);
}

void lud_mappo_allow_all(lud_mappo_networks *t, int64_t n) {
    const lud_mappo_array *field = &t->fields[LUD_FIELD_CHOICES];
    lud_mappo_allow(t, n, NULL);
    if (field->width > 0 && field->host != field->device)
        lud_device_upload(t->device, field->device, field->host, (size_t)(n * field->width));
}

int lud_mappo_softmax(int n, const float *logits, const uint8_t *allowed, double *p) {
    int likeliest = -1;
    double sum = 0.0;
    for (int k = 0; k < n; k++)
        if ((!allowed || allowed[k]) && (likeliest < 0 || logits[k] > logits[likeliest])) likeliest = k;
    if (likeliest < 0) likeliest = 0;
    for (int k = 0; k < n; k++)
        sum += p[k] = k == likeliest || !allowed || allowed[k]
                          ? exp((double)logits[k] - (double)logits[likeliest])
                          : 0.0;
    for (int k = 0; k < n; k++) p[k] /= sum;
    return likeliest;
}

void lud_mappo_send_actions(lud_mappo_networks *t) {
    lud_mappo_field_send(t, actions(t));
    lud_mappo_field_send(t, LUD_FIELD_CHOICES);
}

/* --- magnitude and direction, on the host --- */

/* What it works on. On the CPU these are views. */
typedef struct head_view {
    const float *mean, *raw;
    float log_std[LUD_MAD_NUMBERS];
} head_view;

/* Parts of the scratch, in numbers a row: copies where device memory is not the host's. */
enum { MEAN = 0, RAW = 2, DMEAN = 3, DRAW = 5, LOG_PROBS = 6, ENTROPIES = 7 };

static float *scratch(const lud_mappo_networks *t, int part) {
    return t->scratch + part * t->inputs.n;
}

/* n * width numbers of the device on the host. */
static const float *view(lud_mappo_networks *t, const float *from, int64_t width, float *copy) {
    if (t->device->backend->host_memory) return from;
    lud_device_download(t->device, copy, from, (size_t)(t->inputs.n * width) * sizeof *copy);
    return copy;
}

static head_view view_head(lud_mappo_networks *t) {
    head_view head = {.mean = view(t, lud_nn_value(t->actor.nn, t->actor.out), 2, scratch(t, MEAN))};
    lud_device_download(t->device, head.log_std, log_std(t), sizeof head.log_std);
    if (t->actor.magnitude >= 0)
        head.raw = view(t, lud_nn_value(t->actor.nn, t->actor.magnitude), 1, scratch(t, RAW));
    return head;
}

static void evaluate_on_host(lud_mappo_networks *t, float *log_prob, float *entropy) {
    const head_view head = view_head(t);
    const size_t bytes = (size_t)t->inputs.n * sizeof(float);
    lud_mad_log_prob(&t->options, t->inputs.n, head.mean, head.log_std, head.raw,
                     host_field(t, LUD_FIELD_NUMBER), scratch(t, LOG_PROBS), scratch(t, ENTROPIES));
    lud_device_upload(t->device, log_prob, scratch(t, LOG_PROBS), bytes);
    lud_device_upload(t->device, entropy, scratch(t, ENTROPIES), bytes);
}

static void backward_on_host(lud_mappo_networks *t, const float *dlog_prob, const float *dentropy) {
    const int64_t n = t->inputs.n;
    const head_view head = view_head(t);
    float *dlog_std = lud_parameters_gradient(t->parameters, t->log_std), dstd[LUD_MAD_NUMBERS];
    float *dmean = scratch(t, DMEAN), *draw = head.raw ? scratch(t, DRAW) : NULL;
    lud_device_download(t->device, dstd, dlog_std, sizeof dstd);
    lud_mad_backward(&t->options, n, head.mean, head.log_std, head.raw, host_field(t, LUD_FIELD_NUMBER),
                     view(t, dlog_prob, 1, scratch(t, LOG_PROBS)),
                     view(t, dentropy, 1, scratch(t, ENTROPIES)), dmean, draw, dstd);
    lud_device_upload(t->device, dlog_std, dstd, sizeof dstd);
    lud_device_upload(t->device, lud_nn_gradient(t->actor.nn, t->actor.out), dmean,
                      (size_t)(2 * n) * sizeof *dmean);
    if (draw)
        lud_device_upload(t->device, lud_nn_gradient(t->actor.nn, t->actor.magnitude), draw,
                          (size_t)n * sizeof *draw);
}

/* --- what updates need of a head --- */

static void evaluate(void *networks, lud_device *device, float *log_prob, float *entropy) {
    lud_mappo_networks *t = networks;
    const int64_t n = t->inputs.n, width = t->actor.out_width;
    const float *out = lud_nn_value(t->actor.nn, t->actor.out);
    if (t->shape.n_discrete > 0)
        device->ops->categorical_log_prob(device, n, width, out, choices(t),
                                          t->fields[LUD_FIELD_ACTION].device, log_prob, entropy);
    else if (lud_mappo_is_direct(t))
        device->ops->gaussian_log_prob(device, n, width, out, log_std(t), 0,
                                       device_field(t, LUD_FIELD_NUMBER), log_prob, entropy);
    else
        evaluate_on_host(t, log_prob, entropy);
}

static void backward(void *networks, lud_device *device, const float *dlog_prob, const float *dentropy) {
    lud_mappo_networks *t = networks;
    const int64_t n = t->inputs.n, width = t->actor.out_width;
    const float *out = lud_nn_value(t->actor.nn, t->actor.out);
    float *dout = lud_nn_gradient(t->actor.nn, t->actor.out);
    if (t->shape.n_discrete > 0)
        device->ops->categorical_backward(device, n, width, out, choices(t),
                                          t->fields[LUD_FIELD_ACTION].device, dlog_prob, dentropy, dout,
                                          false);
    else if (lud_mappo_is_direct(t))
        device->ops->gaussian_backward(device, n, width, out, log_std(t), 0,
                                       device_field(t, LUD_FIELD_NUMBER), dlog_prob, dentropy, dout, NULL,
                                       lud_parameters_gradient(t->parameters, t->log_std), false);
    else
        backward_on_host(t, dlog_prob, dentropy);
}

const lud_ppo_head lud_mappo_head = {evaluate, backward};

void lud_mappo_evaluate(lud_mappo_networks *t) {
    lud_mappo_send_actions(t);
    evaluate(t, t->device, device_field(t, LUD_FIELD_LOG_PROB), device_field(t, LUD_FIELD_ENTROPY));
    lud_mappo_field_fetch(t, LUD_FIELD_LOG_PROB);
    lud_mappo_field_fetch(t, LUD_FIELD_ENTROPY);
}

/* --- acting --- */

/* The likeliest choice of every row. */
static void choose_likeliest(lud_mappo_networks *t) {
    const int64_t n = t->inputs.n, width = t->actor.out_width;
    const uint8_t *allowed = t->shape.masked ? t->fields[LUD_FIELD_CHOICES].host : NULL;
    const float *logits = view(t, lud_nn_value(t->actor.nn, t->actor.out), width, t->scratch);
    int32_t *action = t->fields[LUD_FIELD_ACTION].host;
    for (int64_t i = 0; i < n; i++) {
        action[i] = -1;
        for (int32_t k = 0; k < width; k++) {
            if (allowed && !allowed[i * width + k]) continue;
            if (action[i] < 0 || logits[i * width + k] > logits[i * width + action[i]]) action[i] = k;
        }
    }
}

void lud_mappo_enqueue_actions(void *networks) {
    lud_mappo_networks *t = networks;
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
    if (lud_mappo_is_direct(t))
        evaluate(t, t->device, device_field(t, LUD_FIELD_LOG_PROB), device_field(t, LUD_FIELD_ENTROPY));
}

static void act_deterministically(lud_mappo_networks *t) {
    lud_mappo_net_forward(&t->actor, false);
    if (t->shape.n_discrete > 0) {
        choose_likeliest(t);
        return;
    }
    /* a normal number of zero is the mean */
    t->device->ops->gaussian_sample(
        t->device, t->inputs.n, t->actor.out_width, lud_nn_value(t->actor.nn, t->actor.out), log_std(t), 0,
        &t->draws, device_field(t, LUD_FIELD_NORMAL), device_field(t, LUD_FIELD_NUMBER), NULL);
    lud_mappo_field_fetch(t, LUD_FIELD_NUMBER);
}

void lud_mappo_act(lud_mappo_networks *t, const lud_draws *draws, bool deterministic) {
    t->draws = *draws;
    lud_mappo_field_send(t, LUD_FIELD_CHOICES);
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
        lud_mappo_run(t, &t->acting, lud_capture_key(key, (uint64_t)(uintptr_t)draws->environment));
        lud_mappo_field_fetch(t, actions(t));
    }
    if (!lud_mappo_is_direct(t)) {
        float *number = host_field(t, LUD_FIELD_NUMBER);
        lud_mad_offset(&t->options, t->inputs.n, number, view_head(t).raw, number);
    }
    if (deterministic || !lud_mappo_is_direct(t)) {
        lud_mappo_evaluate(t);
    } else {
        lud_mappo_field_fetch(t, LUD_FIELD_LOG_PROB);
        lud_mappo_field_fetch(t, LUD_FIELD_ENTROPY);
    }
}

typedef struct deciding {
    lud_mappo_networks *networks;
    const lud_draws *draws;
    bool deterministic;
} deciding;

static void act_beside(lud_device *device, void *context) {
    const deciding *d = context;
    (void)device; /* the networks' own */
    lud_mappo_act(d->networks, d->draws, d->deterministic);
}

static void value_beside(lud_device *device, void *context) {
    lud_mappo_net *critic = &((const deciding *)context)->networks->critic;
    lud_nn_run_on(critic->nn, device);
    lud_mappo_net_forward(critic, false);
    lud_nn_run_on(critic->nn, NULL);
}

void lud_mappo_act_and_value(lud_mappo_networks *t, const lud_draws *draws, bool deterministic,
                             float *values) {
    deciding d = {t, draws, deterministic};
    if (t->device->backend->host_memory) {
        lud_device_run_both(t->device, act_beside, &d, value_beside, &d);
        memcpy(values, lud_nn_value(t->critic.nn, t->critic.out), (size_t)t->inputs.n * sizeof *values);
    } else { /* two recorded pieces */
        lud_mappo_value(t, values);
        lud_mappo_act(t, draws, deterministic);
    }
}
