#include "learn/policy_gradient/gate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const lud_gate_priority_names[] = {"delight",  "advantage", "abs_advantage", "surprisal",
                                               "additive", "uniform",   "abs_delight",   NULL};

lud_gate lud_gate_default(void) {
    return (lud_gate){.mode = LUD_GATE_THRESHOLD,
                      .rate = 0.03,
                      .temperature = 0.1,
                      .min_keep = 1,
                      .warmup_rate = 0.3,
                      .history_min = 32};
}

/* Whether the price follows from a rate. */
static bool goes_by_rate(const lud_gate *gate) {
    return !gate->fixed_price && gate->mode != LUD_GATE_OFF && gate->mode != LUD_GATE_DELIGHT;
}

lud_status lud_gate_check(const lud_gate *gate, lud_error *error) {
    if (goes_by_rate(gate) && !(gate->rate > 0 && gate->rate <= 1))
        return lud_invalid(error, "gate rate %g, expected above 0 and at most 1", gate->rate);
    if (goes_by_rate(gate) && gate->warmup_experiences > 0 &&
        !(gate->warmup_rate > 0 && gate->warmup_rate <= 1))
        return lud_invalid(error, "gate warmup_rate %g, expected above 0 and at most 1", gate->warmup_rate);
    if (gate->history > 0 && gate->history_min > gate->history)
        return lud_invalid(error, "gate history_min %lld, expected at most the history of %lld",
                           (long long)gate->history_min, (long long)gate->history);
    if (!(gate->temperature > 0) && !(gate->mode == LUD_GATE_DELIGHT && gate->temperature == 0))
        return lud_invalid(error, "gate temperature %g, expected above 0", gate->temperature);
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
        case LUD_PRIORITY_ABS_DELIGHT:
            out[i] = fabsf(a * surprisal);
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

float lud_gate_kth_largest(int64_t n, const float *delight, int64_t k, float *scratch) {
    assert(k >= 1 && k <= n);
    sorted_copy(n, delight, scratch);
    return scratch[n - k];
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
    float limit = lud_gate_kth_largest(n, delight, k, scratch);
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

/* The share of rows that are drawn whatever their delight, so that no weight passes its inverse (defensive
 * importance sampling: Hesterberg, "Weighted average importance sampling and defensive mixture
 * distributions", Technometrics 1995). */
static const double drawn_anyway = 0.1;

void lud_gate_sample(double rate, int64_t n, const float *size, float start, float *weight,
                     float *probability) {
    double total = 0, sum = (double)start;
    for (int64_t i = 0; i < n; ++i) total += isfinite(size[i]) ? fabs((double)size[i]) : 0;
    for (int64_t i = 0; i < n; ++i) {
        double own = isfinite(size[i]) ? fabs((double)size[i]) : 0;
        double share =
            total > 0 ? (1 - drawn_anyway) * own / total + drawn_anyway / (double)n : 1 / (double)n;
        double p = fmin(rate * (double)n * share, 1), before = floor(sum);
        sum += p;
        if (probability) probability[i] = (float)p;
        weight[i] = floor(sum) > before ? (float)(rate / p) : 0;
    }
}

float lud_gate_weights(const lud_gate *gate, int64_t n, const float *delight, const float *uniform,
                       float *weight, float *probability, float *scratch) {
    float price = gate->fixed_price ? (float)gate->price : 0;
    if (n == 0) return price;
    if (gate->mode == LUD_GATE_IMPORTANCE) {
        lud_gate_sample(gate->rate, n, delight, uniform[0], weight, probability);
        return 0;
    }
    if (gate->mode == LUD_GATE_TOP_K)
        price = keep_top(n, delight, lud_gate_top_count(gate, n), weight, scratch);
    else if (goes_by_rate(gate))
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
        case LUD_GATE_IMPORTANCE: /* above */
            break;
        }
    }
    return price;
}

bool lud_gate_draws(const lud_gate *gate) {
    return gate->mode == LUD_GATE_BERNOULLI || gate->mode == LUD_GATE_IMPORTANCE ||
           gate->priority == LUD_PRIORITY_UNIFORM;
}

double lud_gate_rate(const lud_gate *gate, uint64_t experiences) {
    return experiences < (uint64_t)gate->warmup_experiences ? gate->warmup_rate : gate->rate;
}

static bool keeps_or_drops(const lud_gate *gate) {
    return gate->mode == LUD_GATE_THRESHOLD || gate->mode == LUD_GATE_BERNOULLI ||
           gate->mode == LUD_GATE_TOP_K;
}

static bool all_the_same(int64_t n, const float *delight) {
    for (int64_t i = 1; i < n; ++i)
        if (delight[i] != delight[0]) return false;
    return true;
}

/* Keeps rows of largest |delight| among those that are dropped until there are `least`. */
static int64_t keep_more(int64_t n, const float *delight, int64_t n_kept, int64_t least, float *weight) {
    for (; n_kept < least && n_kept < n; ++n_kept) {
        int64_t best = -1;
        float most = 0;
        for (int64_t i = 0; i < n; ++i) {
            if (weight[i] > 0) continue;
            float size = isnan(delight[i]) ? -1 : fabsf(delight[i]);
            if (best < 0 || size > most) {
                best = i;
                most = size;
            }
        }
        weight[best] = 1;
    }
    return n_kept;
}

static int64_t count_kept(int64_t n, const float *weight) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; ++i) k += weight[i] > 0;
    return k;
}

lud_gate_decision lud_gate_decide(const lud_gate *gate, const lud_gate_batch *b) {
    const bool warm = b->experiences < (uint64_t)gate->warmup_experiences;
    lud_gate now = *gate;
    now.rate = lud_gate_rate(gate, b->experiences);
    bool by_rate = goes_by_rate(gate);
    float price;
    if (by_rate && gate->mode != LUD_GATE_TOP_K && gate->mode != LUD_GATE_IMPORTANCE && b->history &&
        lud_gate_history_price(b->history, now.rate, &price)) {
        now.fixed_price = true;
        now.price = (double)price;
        by_rate = false;
    }
    if (by_rate && gate->mode == LUD_GATE_THRESHOLD && b->n > 1 && all_the_same(b->n, b->delight))
        now.mode = LUD_GATE_TOP_K;
    lud_gate_decision d = {.rate = now.rate};
    d.price = lud_gate_weights(&now, b->n, b->delight, b->uniform, b->weight, b->probability, b->scratch);
    if (by_rate && b->n == 1 && keeps_or_drops(gate)) b->weight[0] = 1;
    d.n_kept = count_kept(b->n, b->weight);
    const int64_t least = gate->min_keep > 0 ? gate->min_keep : warm;
    if (keeps_or_drops(gate)) d.n_kept = keep_more(b->n, b->delight, d.n_kept, least, b->weight);
    return d;
}

int64_t lud_gate_kept(int64_t n, const float *weight, int32_t *index) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; ++i)
        if (weight[i] > 0) index[k++] = (int32_t)i;
    return k;
}
