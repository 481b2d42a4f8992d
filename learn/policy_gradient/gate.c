#include "learn/policy_gradient/gate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

lud_gate lud_gate_default(void) {
    return (lud_gate){.mode = LUD_GATE_THRESHOLD, .rate = 0.03, .temperature = 0.1, .min_keep = 1};
}

lud_status lud_gate_check(const lud_gate *gate, lud_error *error) {
    bool uses_rate = !gate->fixed_price && gate->mode != LUD_GATE_OFF && gate->mode != LUD_GATE_DELIGHT;
    if (uses_rate && !(gate->rate > 0 && gate->rate <= 1))
        return lud_fail(error, LUD_ERROR_INPUT, "gate rate %g, expected above 0 and at most 1", gate->rate);
    if (!(gate->temperature > 0) && !(gate->mode == LUD_GATE_DELIGHT && gate->temperature == 0))
        return lud_fail(error, LUD_ERROR_INPUT, "gate temperature %g, expected above 0", gate->temperature);
    return LUD_OK;
}

void lud_gate_priorities(int priority, double alpha, int64_t n, const float *advantage, const float *log_prob,
                         const float *uniform, float *out) {
    for (int64_t i = 0; i < n; ++i) {
        float a = advantage[i], surprisal = -log_prob[i];
        switch (priority) {
        case LUD_PRIORITY_DELIGHT:
            out[i] = a * surprisal;
            break;
        case LUD_PRIORITY_ADVANTAGE:
            out[i] = a;
            break;
        case LUD_PRIORITY_ABS_ADVANTAGE:
            out[i] = fabsf(a);
            break;
        case LUD_PRIORITY_SURPRISAL:
            out[i] = surprisal;
            break;
        case LUD_PRIORITY_ADDITIVE:
            out[i] = (float)((1 - alpha) * (double)a + alpha * (double)surprisal);
            break;
        case LUD_PRIORITY_UNIFORM:
            out[i] = uniform[i];
            break;
        }
    }
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* A copy without NaN, sorted. */
static void sorted_copy(int64_t n, const float *from, float *to) {
    for (int64_t i = 0; i < n; ++i) to[i] = isnan(from[i]) ? -INFINITY : from[i];
    qsort(to, (size_t)n, sizeof *to, ascending);
}

float lud_gate_quantile(int64_t n, const float *delight, double rate, float *scratch) {
    assert(n >= 1);
    sorted_copy(n, delight, scratch);
    float position = (float)(1 - rate) * (float)(n - 1);
    int64_t i = (int64_t)floorf(position);
    if (i >= n - 1) return scratch[n - 1];
    float w = position - (float)i;
    return w > 0 ? scratch[i] + w * (scratch[i + 1] - scratch[i]) : scratch[i];
}

int64_t lud_gate_top_count(const lud_gate *gate, int64_t n) {
    double wanted = gate->rate * (double)n;
    int64_t k = (int64_t)(gate->rounding == LUD_GATE_FLOOR  ? floor(wanted)
                          : gate->rounding == LUD_GATE_CEIL ? ceil(wanted)
                                                            : nearbyint(wanted));
    if (k < gate->min_keep) k = gate->min_keep;
    return k < n ? k : n;
}

/* Weight 1 for the k rows of largest delight, lower index first among equals; 0 for the rest. Returns the
 * k-th. */
static float keep_top(int64_t n, const float *delight, int64_t k, float *weight, float *scratch) {
    for (int64_t i = 0; i < n; ++i) weight[i] = 0;
    if (k <= 0) return INFINITY;
    sorted_copy(n, delight, scratch);
    float limit = scratch[n - k];
    int64_t left = k;
    for (int64_t i = 0; i < n; ++i)
        if (delight[i] > limit) {
            weight[i] = 1;
            --left;
        }
    for (int64_t i = 0; i < n && left > 0; ++i) {
        float value = isnan(delight[i]) ? -INFINITY : delight[i];
        if (value == limit && weight[i] == 0) {
            weight[i] = 1;
            --left;
        }
    }
    return limit;
}

static float sigmoid(double x) {
    return (float)(1 / (1 + exp(-x)));
}

float lud_gate_weights(const lud_gate *gate, int64_t n, const float *delight, const float *uniform,
                       float *weight, float *probability, float *scratch) {
    float price = gate->fixed_price ? (float)gate->price : 0;
    bool by_rate = !gate->fixed_price && gate->mode != LUD_GATE_OFF && gate->mode != LUD_GATE_DELIGHT;
    if (n == 0) return price;
    if (gate->mode == LUD_GATE_TOP_K)
        price = keep_top(n, delight, lud_gate_top_count(gate, n), weight, scratch);
    else if (by_rate)
        price = lud_gate_quantile(n, delight, gate->rate, scratch);
    for (int64_t i = 0; i < n; ++i) {
        float over = delight[i] - price;
        float p = gate->temperature > 0 ? sigmoid((double)over / gate->temperature) : over > 0;
        if (probability) probability[i] = p;
        switch (gate->mode) {
        case LUD_GATE_OFF:
            weight[i] = 1;
            break;
        case LUD_GATE_THRESHOLD:
            weight[i] = delight[i] >= price;
            break;
        case LUD_GATE_BERNOULLI:
            weight[i] = uniform[i] < p;
            break;
        case LUD_GATE_SOFT:
        case LUD_GATE_DELIGHT:
            weight[i] = p;
            break;
        case LUD_GATE_TOP_K:
            break;
        }
    }
    return price;
}

int64_t lud_gate_kept(int64_t n, const float *weight, int32_t *index) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; ++i)
        if (weight[i] > 0) index[k++] = (int32_t)i;
    return k;
}
