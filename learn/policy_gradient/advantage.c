#include "learn/policy_gradient/advantage.h"

#include <math.h>

enum { REWARD, VALUE, MASK, CUT, ADVANTAGE, RETURN, N_ARRAYS };

int64_t lud_returns_numbers(int64_t n_steps, int64_t n) {
    return N_ARRAYS * (n_steps + 1) * n;
}

static void find_moments(int64_t n, const float *x, double *mean, double *deviation) {
    double square = 0.0;
    *mean = 0.0;
    for (int64_t i = 0; i < n; i++) *mean += (double)x[i];
    *mean /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - *mean;
        square += d * d;
    }
    *deviation = sqrt(square / (double)n);
}

void lud_returns_estimate(const lud_returns *r, const lud_policy_gradient_options *o) {
    lud_device *device = r->device;
    const int64_t n = r->n_steps * r->n, slots = n + r->n;
    const bool bootstrap = o->time_limits == LUD_LIMIT_BOOTSTRAP,
               discard = o->time_limits == LUD_LIMIT_DISCARD;
    const float *reward = r->reward;
    if (bootstrap) {
        for (int64_t i = 0; i < n; i++) { /* `returns` is not needed before the download */
            r->returns[i] = r->reward[i];
            if (r->cut[i + r->n] == 0.0f) r->returns[i] += (float)o->gamma * r->final_value[i];
        }
        reward = r->returns;
    }
    const float *from[] = {reward, r->value, r->mask, discard ? r->cut : NULL};
    float *on_device[N_ARRAYS];
    for (int i = 0; i < N_ARRAYS; i++) {
        on_device[i] = r->workspace + i * slots;
        if (i < ADVANTAGE && from[i])
            lud_device_upload(device, on_device[i], from[i],
                              (size_t)(i == REWARD ? n : slots) * sizeof(float));
    }
    const float *cut = discard ? on_device[CUT] : NULL;
    if (o->gae)
        device->ops->gae(device, r->n_steps, r->n, o->gamma, o->lambda, on_device[REWARD], on_device[VALUE],
                         on_device[MASK], cut, on_device[ADVANTAGE], on_device[RETURN]);
    else
        device->ops->discounted_returns(device, r->n_steps, r->n, o->gamma, on_device[REWARD],
                                        on_device[VALUE], on_device[MASK], cut, on_device[RETURN]);
    lud_device_download(device, r->returns, on_device[RETURN], (size_t)n * sizeof(float));
    if (o->gae && !o->of_returns)
        lud_device_download(device, r->advantage, on_device[ADVANTAGE], (size_t)n * sizeof(float));
    else
        for (int64_t i = 0; i < n; i++) r->advantage[i] = r->returns[i] - r->value[i];
    if (r->baseline && r->baseline->options.type != LUD_BASELINE_CRITIC) {
        lud_baseline_advantages(r->baseline, n, r->returns, r->group, NULL, r->advantage);
        for (int64_t i = 0; i < n && discard; i++)
            if (r->cut[i + r->n] == 0.0f) r->advantage[i] = 0.0f;
    }
    if (o->scale == LUD_ADVANTAGE_OF_ROLLOUT) lud_advantage_scale_rollout(n, o, r->returns, r->advantage);
}

void lud_advantage_scale_rollout(int64_t n, const lud_policy_gradient_options *o, const float *returns,
                                 float *advantage) {
    double mean = 0.0, deviation = 0.0;
    if (o->advantage_floor > 0.0) find_moments(n, returns, &mean, &deviation);
    lud_advantage_normalise(n, o->advantage_floor * hypot(mean, deviation), advantage);
}

void lud_advantage_normalise(int64_t n, double least, float *advantage) {
    double mean = 0.0, deviation = 0.0;
    find_moments(n, advantage, &mean, &deviation);
    const double scale = 1.0 / ((deviation > least ? deviation : least) + 1e-5);
    for (int64_t i = 0; i < n; i++) advantage[i] = (float)(((double)advantage[i] - mean) * scale);
}

void lud_advantage_moments(int64_t n, const int32_t *row, const float *advantage, double *mean,
                           double *deviation) {
    *mean = 0.0;
    *deviation = 1.0;
    if (n < 2) return;
    double square = 0.0;
    for (int64_t i = 0; i < n; i++) *mean += (double)advantage[row[i]] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)advantage[row[i]] - *mean;
        square += d * d;
    }
    *deviation = sqrt(square / (double)(n - 1)) + 1e-8;
}

double lud_explained_variance(int64_t n, const float *returns, const float *value) {
    double mean = 0.0, mean_error = 0.0, variance = 0.0, error_variance = 0.0;
    bool differ = false; /* the mean of equal numbers is rounded, and then nothing is exactly at it */
    for (int64_t i = 0; i < n; i++) {
        differ = differ || returns[i] != returns[0];
        mean += (double)returns[i] / (double)n;
        mean_error += ((double)returns[i] - (double)value[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)returns[i] - mean, e = (double)returns[i] - (double)value[i] - mean_error;
        variance += d * d;
        error_variance += e * e;
    }
    return differ ? 1.0 - error_variance / variance : NAN;
}
