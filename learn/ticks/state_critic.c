#include "learn/ticks/state_critic.h"

enum { PASS = 512, HIDDEN = 64 };

bool lud_state_critic_declare(lud_state_critic *c, lud_parameters *parameters, int64_t width) {
    *c = (lud_state_critic){.device = parameters->device, .width = width};
    c->net = lud_nn_create(parameters, PASS);
    if (!c->net) return false;
    c->state = lud_nn_input(c->net, width);
    const int hidden = lud_nn_linear(c->net, c->state, "critic.hidden", HIDDEN, LUD_TANH);
    c->value = lud_nn_linear(c->net, hidden, "critic.out", 1, LUD_LINEAR);
    lud_nn_output(c->net, c->value);
    c->normaliser.parameters = parameters;
    return true;
}

lud_status lud_state_critic_build(lud_state_critic *c, const lud_tick_options *o, int64_t n_learning,
                                  lud_error *error) {
    lud_parameters *parameters = c->normaliser.parameters;
    LUD_TRY(lud_nn_plan(c->net, LUD_NN_TRAIN, error));
    c->huber_delta = o->huber_delta;
    c->normaliser = (lud_value_normaliser){.device = c->device,
                                           .kind = (lud_value_normaliser_kind)o->normaliser,
                                           .beta = o->normaliser_beta,
                                           .parameters = parameters,
                                           .weight = lud_parameters_find(parameters, "critic.out.weight"),
                                           .bias = lud_parameters_find(parameters, "critic.out.bias")};
    lud_arrays *a = &c->arrays;
    a->device = c->device;
    LUD_TAKE_ON_DEVICE(a, c->target, PASS);
    LUD_TAKE_ON_DEVICE(a, c->normalised, PASS);
    LUD_TAKE_ON_DEVICE(a, c->loss, PASS);
    LUD_TAKE_ON_DEVICE(a, c->weight, PASS);
    LUD_TAKE(a, c->host_loss, PASS);
    LUD_TAKE(a, c->in_order, (size_t)n_learning + 1);
    for (int64_t i = 0; i < n_learning && c->in_order; i++) c->in_order[i] = (int32_t)i;
    return lud_value_normaliser_create(&c->normaliser) && !a->failed ? LUD_OK
                                                                     : lud_no_memory(error, "a critic");
}

void lud_state_critic_destroy(lud_state_critic *c) {
    lud_nn_destroy(c->net);
    lud_value_normaliser_destroy(&c->normaliser);
    lud_arrays_free(&c->arrays);
    *c = (lud_state_critic){0};
}

void lud_state_critic_values(lud_state_critic *c, int64_t n, const float *state, float *value) {
    for (int64_t first = 0, m; first < n; first += m) {
        m = n - first < PASS ? n - first : PASS;
        lud_device_upload(c->device, lud_nn_value(c->net, c->state), state + first * c->width,
                          (size_t)(m * c->width) * sizeof *state);
        lud_nn_forward(c->net, m, false);
        lud_device_download(c->device, value + first, lud_nn_value(c->net, c->value),
                            (size_t)m * sizeof *value);
    }
    lud_value_normaliser_denormalise(&c->normaliser, n, value);
}

double lud_state_critic_learn(lud_state_critic *c, const lud_tick_lesson *lesson, const float *state) {
    const lud_ops *ops = c->device->ops;
    const int64_t n = lesson->n_valued;
    const double scale = lesson->value_coefficient / (double)n;
    double total = 0.0;
    lud_tick_lesson_follow(lesson, &c->normaliser, c->in_order);
    if (n == 0) return 0.0;
    for (int64_t first = 0, m; first < n; first += m) {
        m = n - first < PASS ? n - first : PASS;
        const size_t bytes = (size_t)m * sizeof(float);
        float *to = lud_nn_value(c->net, c->state);
        for (int64_t i = 0; i < m; i++)
            lud_device_upload(c->device, to + i * c->width, state + lesson->valued[first + i] * c->width,
                              (size_t)c->width * sizeof *state);
        lud_device_upload(c->device, c->target, lesson->target + first, bytes);
        const float *weight = lesson->value_weight ? c->weight : NULL;
        if (weight) lud_device_upload(c->device, c->weight, lesson->value_weight + first, bytes);
        lud_nn_forward(c->net, m, true);
        const float *wanted =
            lud_value_normaliser_targets(&c->normaliser, c->device, m, c->target, c->normalised);
        const float *got = lud_nn_value(c->net, c->value);
        float *gradient = lud_nn_gradient(c->net, c->value);
        if (c->huber_delta > 0.0)
            ops->huber_loss(c->device, m, c->huber_delta, got, wanted, weight, scale, c->loss, gradient,
                            false);
        else
            ops->mse_loss(c->device, m, got, wanted, weight, scale, c->loss, gradient, false);
        lud_nn_backward(c->net);
        lud_device_download(c->device, c->host_loss, c->loss, bytes);
        for (int64_t i = 0; i < m; i++) total += (double)c->host_loss[i];
    }
    return total / (double)n;
}
