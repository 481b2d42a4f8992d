#include "learn/policy_gradient/value_normaliser.h"

#include <math.h>
#include <string.h>

const char *const lud_value_normaliser_names[] = {"none", "valuenorm", "popart", NULL};

enum { FIELDS = LUD_NORMALISER_FIELDS, MOMENTS = 2 };

bool lud_value_normaliser_create(lud_value_normaliser *v) {
    v->on_device = lud_device_allocate(v->device, (2 * FIELDS + MOMENTS) * sizeof(float));
    if (v->on_device) lud_device_upload(v->device, v->on_device, v->state, sizeof v->state);
    return v->on_device;
}

void lud_value_normaliser_destroy(lud_value_normaliser *v) {
    if (v->on_device) lud_device_release(v->device, v->on_device);
    v->on_device = NULL;
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

static void rescale_output(lud_value_normaliser *v, const float *before) {
    float states[2 * FIELDS], *scratch = v->on_device;
    memcpy(states, before, FIELDS * sizeof *states);
    debiased(v->state, states + FIELDS);
    lud_device_upload(v->device, scratch, states, sizeof states);
    v->device->ops->popart_rescale(v->device, v->parameters->items[v->weight].n, 1, scratch, scratch + FIELDS,
                                   lud_parameters_value(v->parameters, v->weight),
                                   lud_parameters_value(v->parameters, v->bias));
}

void lud_value_normaliser_update(lud_value_normaliser *v, int64_t n, const int32_t *row,
                                 const float *returns) {
    if (v->kind == LUD_VALUE_PLAIN) return;
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)returns[row[i]];
        mean += x;
        square += x * x;
    }
    const float moments[MOMENTS] = {(float)(mean / (double)n), (float)(square / (double)n)};
    float before[FIELDS], *on_device = v->on_device + 2 * FIELDS;
    debiased(v->state, before);
    lud_device_upload(v->device, v->on_device, v->state, sizeof v->state);
    lud_device_upload(v->device, on_device, moments, sizeof moments);
    v->device->ops->normaliser_update(v->device, 1, v->beta, on_device, on_device + 1, v->on_device);
    lud_device_download(v->device, v->state, v->on_device, sizeof v->state);
    if (v->kind != LUD_VALUE_POPART) return;
    rescale_output(v, before);
    lud_device_upload(v->device, v->on_device, v->state, sizeof v->state);
}

const float *lud_value_normaliser_targets(const lud_value_normaliser *v, lud_device *device, int64_t n,
                                          const float *returns, float *target) {
    if (v->kind == LUD_VALUE_PLAIN) return returns;
    device->ops->normalise(device, n, 1, v->on_device, false, returns, target);
    return target;
}

void lud_value_normaliser_denormalise(const lud_value_normaliser *v, int64_t n, float *values) {
    /* before the first update the statistics are those of nothing: values are taken as they are */
    if (v->kind == LUD_VALUE_PLAIN || v->state[LUD_NORMALISER_DEBIAS] == 0.0f) return;
    float state[FIELDS];
    debiased(v->state, state);
    const float mean = state[LUD_NORMALISER_MEAN];
    const float deviation = sqrtf(state[LUD_NORMALISER_MEAN_SQUARE] - mean * mean);
    for (int64_t i = 0; i < n; i++) values[i] = values[i] * deviation + mean;
}
