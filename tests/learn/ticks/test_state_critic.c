/* The critic of what a transformer has read, against a few plain lines: values of more states than pass at
 * once, losses, and the gradient of its last number. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/ticks/state_critic.h"

enum { WIDTH = 6, HIDDEN = 64, STATES = 1100, VALUED = 700 };

typedef struct rig {
    lud_device *device;
    lud_parameters *parameters;
    lud_state_critic critic;
    float state[STATES * WIDTH];
} rig;

static float number(uint32_t i, uint32_t lane) {
    return 2.0f * lud_unit_float(lud_draw((lud_random_key){8, 2}, i, lane, LUD_PURPOSE_USER, 0).v[0]) - 1.0f;
}

static rig *make(double huber_delta, lud_value_normaliser_kind kind) {
    rig *r = calloc(1, sizeof *r);
    lud_error error = {0};
    const lud_tick_options options = {
        .huber_delta = huber_delta, .normaliser = (int)kind, .normaliser_beta = 0.5};
    assert_non_null(r);
    assert_int_equal(lud_device_open("cpu", 1, &r->device, &error), LUD_OK);
    r->parameters = lud_parameters_create(r->device, false);
    assert_true(lud_state_critic_declare(&r->critic, r->parameters, WIDTH));
    assert_int_equal(lud_parameters_build(r->parameters, 3, &error), LUD_OK);
    assert_int_equal(lud_state_critic_build(&r->critic, &options, STATES, &error), LUD_OK);
    for (uint32_t i = 0; i < STATES * WIDTH; i++) r->state[i] = number(i, 0);
    return r;
}

static void unmake(rig *r) {
    lud_state_critic_destroy(&r->critic);
    lud_parameters_destroy(r->parameters);
    lud_device_close(r->device);
    free(r);
}

static float *of(const rig *r, const char *name, bool gradient) {
    const lud_parameter *p = &r->parameters->items[lud_parameters_find(r->parameters, name)];
    return (float *)(gradient ? r->parameters->gradients : r->parameters->values) + p->offset;
}

static double plain_value(const rig *r, int i) {
    const float *w = of(r, "critic.hidden.weight", false), *b = of(r, "critic.hidden.bias", false),
                *out = of(r, "critic.out.weight", false);
    double value = (double)*of(r, "critic.out.bias", false);
    for (int h = 0; h < HIDDEN; h++) {
        double sum = (double)b[h];
        for (int k = 0; k < WIDTH; k++) sum += (double)w[h * WIDTH + k] * (double)r->state[i * WIDTH + k];
        value += (double)out[h] * tanh(sum);
    }
    return value;
}

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-5 * (1 + fabs(expected))))
        fail_msg("%.9g, expected %.9g", found, expected);
}

static void values_of_states(void **state) {
    (void)state;
    rig *r = make(0, LUD_VALUE_PLAIN);
    float value[STATES + 1];
    static const int counts[] = {0, 1, 511, 512, 513, STATES};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        for (int i = 0; i <= STATES; i++) value[i] = 777;
        lud_state_critic_values(&r->critic, counts[k], r->state, value);
        for (int i = 0; i < counts[k]; i++) near((double)value[i], plain_value(r, i));
        for (int i = counts[k]; i <= STATES; i++) assert_true(value[i] == 777);
    }
    unmake(r);
}

/* Statistics follow the targets, or others that were seen; values are in units of reward all the same. */
static void lessons(void **state) {
    (void)state;
    for (int form = 0; form < 12; form++) {
        const bool weighted = form & 1, apart = form & 2;
        const double delta = form % 3 ? 0.3 : 0;
        rig *r = make(delta, form < 6 ? LUD_VALUE_PLAIN : LUD_VALUE_NORM);
        int32_t valued[VALUED];
        float target[VALUED], weight[VALUED], seen[10], value[STATES];
        double expected[VALUED], loss = 0, slope = 0, mean = 0, square = 0;
        for (int i = 0; i < VALUED; i++) {
            valued[i] = i * STATES / VALUED;
            target[i] = 3 + 2 * number((uint32_t)i, 1);
            weight[i] = 1 + number((uint32_t)i, 2);
            expected[i] = plain_value(r, valued[i]);
            mean += apart ? 0 : (double)target[i] / VALUED;
            square += apart ? 0 : (double)target[i] * (double)target[i] / VALUED;
        }
        for (int i = 0; i < 10; i++) {
            seen[i] = 5 + number((uint32_t)i, 3);
            mean += apart ? (double)seen[i] / 10 : 0;
            square += apart ? (double)seen[i] * (double)seen[i] / 10 : 0;
        }
        const double deviation = form < 6 ? 1 : sqrt(fmax(square - mean * mean, 1e-2));
        if (form < 6) mean = 0;
        for (int i = 0; i < VALUED; i++) {
            const double e = expected[i] - ((double)target[i] - mean) / deviation;
            loss += (delta == 0         ? e * e
                     : fabs(e) <= delta ? e * e / 2
                                        : delta * (fabs(e) - delta / 2)) /
                    VALUED;
            slope += 0.7 / VALUED * (weighted ? (double)weight[i] : 1) *
                     (delta == 0 ? 2 * e : fmax(-delta, fmin(e, delta)));
        }
        lud_parameters_zero_gradients(r->parameters);
        const lud_tick_lesson lesson = {.n_valued = VALUED,
                                        .valued = valued,
                                        .target = target,
                                        .value_weight = weighted ? weight : NULL,
                                        .value_coefficient = 0.7,
                                        .n_seen = apart ? 10 : 0,
                                        .seen = apart ? seen : NULL};
        near(lud_state_critic_learn(&r->critic, &lesson, r->state), loss);
        near((double)*of(r, "critic.out.bias", true), slope);
        lud_state_critic_values(&r->critic, STATES, r->state, value);
        for (int i = 0; i < VALUED; i++) near((double)value[valued[i]], expected[i] * deviation + mean);
        unmake(r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_of_states), cmocka_unit_test(lessons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
