/* Returns and advantages of a rollout by their definition, for every way to treat time limits, every form of
 * advantages and every baseline that they may be judged by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/policy_gradient/advantage.h"

enum { STEPS = 7, COLUMNS = 5, N = STEPS * COLUMNS, SLOTS = N + COLUMNS };

/* A rollout in which some episodes end and some are cut off. */
typedef struct rollout {
    float reward[N], value[SLOTS], mask[SLOTS], cut[SLOTS], final_value[N];
    int32_t group[N];
} rollout;

static float number(uint32_t i, uint32_t lane) {
    return 4.0f * lud_unit_float(lud_draw((lud_random_key){21, 4}, i, lane, LUD_PURPOSE_USER, 0).v[0]) - 1.5f;
}

static rollout make_rollout(void) {
    rollout r;
    for (uint32_t i = 0; i < N; i++) {
        r.reward[i] = number(i, 0);
        r.final_value[i] = number(i, 1);
        r.group[i] = (int32_t)(i % 3);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        r.value[i] = 3.0f * number(i, 2);
        r.cut[i] = i % 11 == 6 ? 0.0f : 1.0f;
        r.mask[i] = i % 11 == 6 || i % 7 == 3 ? 0.0f : 1.0f;
    }
    return r;
}

/* Step by step from behind. */
static void estimate(const rollout *r, const lud_policy_gradient_options *o, double *advantage,
                     double *returns) {
    for (int c = 0; c < COLUMNS; c++) {
        double own = 0.0, sum = (double)r->value[N + c];
        for (int t = STEPS - 1; t >= 0; t--) {
            const int i = t * COLUMNS + c, next = i + COLUMNS;
            const bool cut = r->cut[next] == 0.0f, goes_on = r->mask[next] != 0.0f;
            const bool counts = !(cut && o->time_limits == LUD_LIMIT_DISCARD);
            double reward = (double)r->reward[i];
            if (cut && o->time_limits == LUD_LIMIT_BOOTSTRAP) reward += o->gamma * (double)r->final_value[i];
            const double value = (double)r->value[i];
            own = reward - value + (goes_on ? o->gamma * ((double)r->value[next] + o->lambda * own) : 0.0);
            sum = reward + (goes_on ? o->gamma * sum : 0.0);
            if (!counts) own = 0.0, sum = value;
            returns[i] = o->gae ? own + value : sum;
            advantage[i] = returns[i] - value;
        }
    }
}

static double mean_of(const double *x) {
    double sum = 0.0;
    for (int i = 0; i < N; i++) sum += x[i] / N;
    return sum;
}
static double mean_square_of(const double *x) {
    double sum = 0.0;
    for (int i = 0; i < N; i++) sum += x[i] * x[i] / N;
    return sum;
}

/* What a baseline makes of all returns, but for those that give no advantage. */
static void judge(const rollout *r, const lud_policy_gradient_options *o, bool grouped, const double *returns,
                  double *advantage) {
    for (int i = 0; i < N; i++) {
        double total = 0.0, n = 0.0;
        for (int k = 0; k < N; k++) {
            if (grouped && r->group[k] != r->group[i]) continue;
            total += returns[k];
            n += 1.0;
        }
        const bool counts = !(r->cut[i + COLUMNS] == 0.0f && o->time_limits == LUD_LIMIT_DISCARD);
        advantage[i] = !counts                                       ? 0.0
                       : o->baseline.type == LUD_BASELINE_GROUP_MEAN ? returns[i] - total / n
                                                                     : returns[i];
    }
}

static void scale(const lud_policy_gradient_options *o, const double *returns, double *advantage) {
    const double mean = mean_of(advantage), deviation = sqrt(mean_square_of(advantage) - mean * mean);
    const double divisor = fmax(deviation, o->advantage_floor * sqrt(mean_square_of(returns))) + 1e-5;
    for (int i = 0; i < N; i++) advantage[i] = (advantage[i] - mean) / divisor;
}

static void check(const char *what, const lud_policy_gradient_options *o, const float *found,
                  const double *expected) {
    for (int i = 0; i < N; i++)
        if (!(fabs((double)found[i] - expected[i]) <= 1e-4 * (1.0 + fabs(expected[i]))))
            fail_msg("%s %d is %.7g, expected %.7g (limits %d, gae %d, of returns %d, baseline %d, scale %d)",
                     what, i, (double)found[i], expected[i], o->time_limits, o->gae, o->of_returns,
                     o->baseline.type, o->scale);
}

static void advantages_are_their_definition(void **state) {
    (void)state;
    static const int baselines[] = {LUD_BASELINE_CRITIC, LUD_BASELINE_ZERO, LUD_BASELINE_GROUP_MEAN};
    const rollout r = make_rollout();
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 1, &device, NULL), LUD_OK);
    float *workspace =
        lud_device_allocate(device, (size_t)lud_returns_numbers(STEPS, COLUMNS) * sizeof *workspace);
    assert_non_null(workspace);
    for (int form = 0; form < 3 * 2 * 2 * 3 * 2 * 4; form++) {
        const lud_policy_gradient_options o = {.gamma = 0.9,
                                               .lambda = 0.75,
                                               .time_limits = form % 3,
                                               .gae = form / 3 % 2,
                                               .of_returns = form / 6 % 2,
                                               .baseline = {.type = baselines[form / 12 % 3]},
                                               .scale = form / 72 % 4 > 1 ? LUD_ADVANTAGE_OF_ROLLOUT
                                                                          : LUD_ADVANTAGE_PLAIN,
                                               .advantage_floor = form / 72 % 4 == 3 ? 2.0 : 0.0};
        const bool grouped = form / 36 % 2;
        lud_baseline baseline;
        lud_baseline_init(&baseline, &o.baseline);
        float advantage[N], returns[N];
        double expected_advantage[N], expected_returns[N];
        const lud_returns given = {.device = device,
                                   .workspace = workspace,
                                   .n_steps = STEPS,
                                   .n = COLUMNS,
                                   .reward = r.reward,
                                   .value = r.value,
                                   .mask = r.mask,
                                   .cut = o.time_limits == LUD_LIMIT_TERMINAL ? NULL : r.cut,
                                   .final_value = o.time_limits == LUD_LIMIT_BOOTSTRAP ? r.final_value : NULL,
                                   .baseline =
                                       o.baseline.type == LUD_BASELINE_CRITIC && grouped ? NULL : &baseline,
                                   .group = grouped ? r.group : NULL,
                                   .advantage = advantage,
                                   .returns = returns};
        lud_returns_estimate(&given, &o);
        estimate(&r, &o, expected_advantage, expected_returns);
        if (o.baseline.type != LUD_BASELINE_CRITIC)
            judge(&r, &o, grouped, expected_returns, expected_advantage);
        if (o.scale == LUD_ADVANTAGE_OF_ROLLOUT) scale(&o, expected_returns, expected_advantage);
        check("return", &o, returns, expected_returns);
        check("advantage", &o, advantage, expected_advantage);
    }
    lud_device_release(device, workspace);
    lud_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(advantages_are_their_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
