#include "learn/policy_gradient/baseline.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/options/option_rows.h"

const char *const lud_baseline_names[] = {"ema_only", "warmup_then_ema", "group_mean", "expected_confidence",
                                          "zero",     "critic",          NULL};
static const char *const order_names[] = {"sequential", "tick", NULL};

#define OPTIONS lud_baseline_options
#define ROWS(preset)                                                                                         \
    {                                                                                                        \
        CHOICE(type, preset, lud_baseline_names,                                                             \
               "what rewards are compared with: their running mean (ema_only; warmup_then_ema: exact at "    \
               "first), the mean of their group, the expected confidence of the policy, nothing (zero), or " \
               "a critic"),                                                                                  \
            REAL(alpha, "0.01", 0, 1, "running: weight of a new reward"),                                    \
            INT(warmup, "20", 1, 1e9, "warmup_then_ema: rewards of which the exact mean is kept"),           \
            CHOICE(update, "sequential", order_names,                                                        \
                   "running: a reward is judged by those before it in its batch too, or all by what was "    \
                   "known before (tick)"),                                                                   \
    }
static const lud_option options[] = ROWS("warmup_then_ema"), critic_options[] = ROWS("critic");
const lud_option_table lud_baseline_table =
    OPTION_TABLE("baseline", "what rewards are compared with", options);
const lud_option_table lud_critic_baseline_table =
    OPTION_TABLE("baseline", "what rewards are compared with", critic_options);

void lud_baseline_init(lud_baseline *b, const lud_baseline_options *o) {
    *b = (lud_baseline){.options = *o, .var = 1.0};
}

bool lud_baseline_needs_expected(const lud_baseline *b) {
    return b->options.type == LUD_BASELINE_EXPECTED_CONFIDENCE || b->options.type == LUD_BASELINE_CRITIC;
}

static double standardised(double difference, double var) {
    return difference / fmax(sqrt(var), 1e-8);
}

/* Mean and variance of all rewards so far, this one among them. */
static double warm_up(lud_baseline *b, double reward) {
    const double d = reward - b->first, n = (double)b->count;
    b->sum += d;
    b->sum_of_squares += d * d;
    const double mean = b->sum / n;
    b->mean = b->first + mean;
    b->var = fmax(b->sum_of_squares / n - mean * mean, 0.0);
    return standardised(d - mean, b->var);
}

double lud_baseline_update(lud_baseline *b, double reward) {
    b->count++;
    if (b->count == 1) {
        b->first = b->mean = reward;
        return 0.0;
    }
    if (b->options.type == LUD_BASELINE_WARMUP_THEN_EMA && b->count <= (uint64_t)b->options.warmup)
        return warm_up(b, reward);
    const double alpha = b->options.alpha, d = reward - b->mean;
    b->mean += alpha * d;
    b->var = (1.0 - alpha) * b->var + alpha * d * d;
    return standardised(d, b->var);
}

static void run(lud_baseline *b, int64_t n, const float *reward, float *advantage) {
    const lud_baseline before = *b;
    for (int64_t i = 0; i < n; i++) {
        const double r = (double)reward[i], judged = lud_baseline_update(b, r);
        const double known = before.count > 0 ? standardised(r - before.mean, before.var) : 0.0;
        advantage[i] = (float)(b->options.update == LUD_BASELINE_TICK ? known : judged);
    }
}

void lud_baseline_group_means(int64_t n, const float *reward, const float *mask, const int32_t *group,
                              float *mean) {
    for (int64_t i = 0; i < n; i++) {
        int64_t first = 0;
        while (group && group[first] != group[i]) first++;
        if (first < i) {
            mean[i] = mean[first];
            continue;
        }
        double total = 0.0, number = 1e-9;
        for (int64_t j = i; j < n; j++) {
            if (group && group[j] != group[i]) continue;
            const double weight = mask ? (double)mask[j] : 1.0;
            total += weight * (double)reward[j];
            number += weight;
        }
        mean[i] = (float)(total / number);
    }
}

void lud_baseline_advantages(lud_baseline *b, int64_t n, const float *reward, const int32_t *group,
                             const float *expected, float *advantage) {
    switch ((lud_baseline_type)b->options.type) {
    case LUD_BASELINE_EMA_ONLY:
    case LUD_BASELINE_WARMUP_THEN_EMA:
        run(b, n, reward, advantage);
        return;
    case LUD_BASELINE_GROUP_MEAN:
        assert(advantage != reward);
        lud_baseline_group_means(n, reward, NULL, group, advantage);
        for (int64_t i = 0; i < n; i++) advantage[i] = reward[i] - advantage[i];
        return;
    case LUD_BASELINE_EXPECTED_CONFIDENCE:
    case LUD_BASELINE_CRITIC:
        assert(expected || n == 0);
        for (int64_t i = 0; i < n; i++) advantage[i] = reward[i] - expected[i];
        return;
    case LUD_BASELINE_ZERO:
        for (int64_t i = 0; i < n; i++) advantage[i] = reward[i];
        return;
    }
}

void lud_baseline_expected_confidence(int64_t n, int64_t n_choices, const float *probability,
                                      float *confidence) {
    for (int64_t i = 0; i < n; i++) {
        double total = 0.0;
        for (int64_t a = 0; a < n_choices; a++) {
            const double p = (double)probability[i * n_choices + a];
            total += p * p;
        }
        confidence[i] = (float)total;
    }
}

void lud_baseline_visit(lud_baseline *b, lud_checkpoint *checkpoint, const char *name) {
    char key[256];
    double state[] = {b->mean, b->var, b->first, b->sum, b->sum_of_squares};
    uint64_t count = b->count;
    snprintf(key, sizeof key, "%s.statistics", name);
    lud_checkpoint_tensor(checkpoint, key, LUD_TENSOR_F64, 1,
                          (int64_t[]){(int64_t)(sizeof state / sizeof *state)}, state);
    snprintf(key, sizeof key, "%s.count", name);
    lud_checkpoint_u64(checkpoint, key, &count);
    if (!lud_checkpoint_loading(checkpoint) || lud_checkpoint_status(checkpoint, NULL) != LUD_OK) return;
    if (state[1] < 0.0) {
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%s: statistics of rewards that cannot be", name);
        return;
    }
    b->mean = state[0];
    b->var = state[1];
    b->first = state[2];
    b->sum = state[3];
    b->sum_of_squares = state[4];
    b->count = count;
}
