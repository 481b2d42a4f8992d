/* Networks drawn at random against the same operations with memory of their own for every value: what is
 * planned to lie where something else lay before, to be passed on, held or left out must not show. Gradients
 * are compared with central differences of that plain reading, which holds what a stopped gradient hides. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cpu_device.h"
#include "learn/nn/nn.h"

TEST_DEVICE(1)

enum { ROWS = 3, WIDTH = 4, NUMBERS = ROWS * WIDTH, WEIGHTS = WIDTH * WIDTH, MOST = 16, NETWORKS = 2000 };

typedef enum kind { INPUT, LINEAR, ADD, MULTIPLY, TANH, SOFTMAX, HALVES, DROPOUT, STOP, N_KINDS } kind;

/* Value i is what operation i makes of values a and b; all are [ROWS][WIDTH]. */
typedef struct operation {
    kind kind;
    int a, b;
    bool output, frozen;
    double weights[WEIGHTS]; /* of a linear layer, [out][in] */
} operation;

typedef struct drawn {
    operation operations[MOST];
    int n;
} drawn;

typedef double values[MOST][NUMBERS];

static const double dropout_rate = 0.4;

static double number(uint32_t stream, int i) {
    double pair[2];
    const lud_words w = lud_draw((lud_random_key){57, stream}, (uint32_t)i, 0, LUD_PURPOSE_USER, 0);
    lud_normal_pair(w.v[0], w.v[1], pair);
    return pair[0];
}

static drawn draw_network(uint32_t seed) {
    drawn d = {.n = 2};
    uint32_t count = 0;
#define DRAW(below)                                                                                          \
    ((int)lud_below(lud_draw((lud_random_key){91, seed}, count++, 0, LUD_PURPOSE_USER, 0).v[0],              \
                    (uint32_t)(below)))
    const int n = 4 + DRAW(MOST - 4 + 1);
    while (d.n < n) {
        operation *o = &d.operations[d.n];
        o->kind = LINEAR + DRAW(N_KINDS - LINEAR);
        /* mostly of what was made last, so that chains are long */
        o->a = DRAW(3) ? d.n - 1 - DRAW(d.n < 3 ? d.n : 3) : DRAW(d.n);
        o->b = DRAW(d.n);
        o->frozen = DRAW(4) == 0;
        o->output = DRAW(6) == 0 && o->kind != STOP;
        d.n++;
    }
#undef DRAW
    operation *last = &d.operations[n - 1];
    if (last->kind == STOP) last->kind = LINEAR;
    last->output = true;
    return d;
}

/* ---- the plain reading ---- */

/* `masks`: what each dropout multiplies by, null: nothing is dropped. `held`: values before stopped
 * gradients, null: those of this run. */
static void run_plainly(const drawn *d, const double *inputs, values masks, values held, values v) {
    for (int i = 0; i < d->n; i++) {
        const operation *o = &d->operations[i];
        const double *a = v[o->a], *b = v[o->b];
        for (int k = 0; k < NUMBERS; k++) {
            const int row = k / WIDTH, column = k % WIDTH;
            double sum = 0.0;
            switch (o->kind) {
            case INPUT:
                v[i][k] = inputs[i * NUMBERS + k];
                break;
            case LINEAR:
                for (int j = 0; j < WIDTH; j++) sum += a[row * WIDTH + j] * o->weights[column * WIDTH + j];
                v[i][k] = sum;
                break;
            case ADD:
                v[i][k] = a[k] + b[k];
                break;
            case MULTIPLY:
                v[i][k] = a[k] * b[k];
                break;
            case TANH:
                v[i][k] = tanh(a[k]);
                break;
            case SOFTMAX:
                for (int j = 0; j < WIDTH; j++) sum += exp(a[row * WIDTH + j] - a[k]);
                v[i][k] = 1.0 / sum;
                break;
            case HALVES: /* the second of one, the first of the other */
                v[i][k] = column < WIDTH / 2 ? a[k + WIDTH / 2] : b[k - WIDTH / 2];
                break;
            case DROPOUT:
                v[i][k] = masks ? a[k] * masks[i][k] : a[k];
                break;
            case STOP:
                v[i][k] = held ? held[o->a][k] : a[k];
                break;
            case N_KINDS:
                break;
            }
        }
    }
}

static double loss(const drawn *d, const double *inputs, values masks, values held) {
    values v;
    double sum = 0.0;
    run_plainly(d, inputs, masks, held, v);
    for (int i = 0; i < d->n; i++)
        for (int k = 0; k < NUMBERS && d->operations[i].output; k++)
            sum += number(1000 + (uint32_t)i, k) * v[i][k];
    return sum;
}

static double difference(const drawn *d, const double *inputs, values masks, values held, double *place) {
    const double h = 1e-5, old = *place;
    *place = old + h;
    const double above = loss(d, inputs, masks, held);
    *place = old - h;
    const double below = loss(d, inputs, masks, held);
    *place = old;
    return (above - below) / (2.0 * h);
}

/* ---- as it is planned ---- */

static void declare(const drawn *d, lud_nn *net, int *at) {
    for (int i = 0; i < d->n; i++) {
        const operation *o = &d->operations[i];
        const int a = at[o->a], b = at[o->b];
        char name[32];
        snprintf(name, sizeof name, "layer%d", i);
        switch (o->kind) {
        case INPUT:
            at[i] = lud_nn_input(net, WIDTH);
            break;
        case LINEAR:
            at[i] = lud_nn_linear_without_bias(net, a, name, WIDTH, LUD_LINEAR);
            break;
        case ADD:
            at[i] = lud_nn_add(net, a, b);
            break;
        case MULTIPLY:
            at[i] = lud_nn_multiply(net, a, b);
            break;
        case TANH:
            at[i] = lud_nn_map(net, a, LUD_TANH);
            break;
        case SOFTMAX:
            at[i] = lud_nn_softmax(net, a, -1, 1.0);
            break;
        case HALVES:
            at[i] = lud_nn_slice(net, lud_nn_concat(net, (const int[]){a, b}, 2), WIDTH / 2, WIDTH);
            break;
        case DROPOUT:
            at[i] = lud_nn_dropout(net, a, dropout_rate, (uint32_t)i);
            break;
        case STOP:
            at[i] = lud_nn_stop_gradient(net, a);
            break;
        case N_KINDS:
            break;
        }
        if (o->output) lud_nn_output(net, at[i]);
    }
}

static void plan(lud_nn *net, lud_nn_mode mode) {
    lud_error error = {0};
    if (lud_nn_plan(net, mode, &error)) fail_msg("%s", error.text);
}

/* What each dropout of a training run multiplies by: dropouts of ones with the same draws. */
static void read_masks(const drawn *d, values masks) {
    lud_parameters *parameters = lud_parameters_create(device, true);
    lud_nn *net = lud_nn_create(parameters, ROWS);
    int at[MOST] = {0};
    const int x = lud_nn_input(net, WIDTH);
    double ones[NUMBERS];
    for (int i = 0; i < d->n; i++) {
        if (d->operations[i].kind != DROPOUT) continue;
        at[i] = lud_nn_dropout(net, x, dropout_rate, (uint32_t)i);
        lud_nn_output(net, at[i]);
    }
    assert_int_equal(lud_parameters_build(parameters, 1, NULL), LUD_OK);
    plan(net, LUD_NN_TRAIN);
    for (int k = 0; k < NUMBERS; k++) ones[k] = 1.0;
    lud_nn_write(net, x, ROWS, ones);
    lud_nn_set_step(net, 7, 3);
    lud_nn_forward(net, ROWS, true);
    for (int i = 0; i < d->n; i++)
        if (d->operations[i].kind == DROPOUT) lud_nn_read(net, at[i], ROWS, masks[i]);
    lud_nn_destroy(net);
    lud_parameters_destroy(parameters);
}

static void check(double actual, double expected, double within, uint32_t seed, const char *what, int i) {
    if (!(fabs(actual - expected) <= within * (1.0 + fabs(expected))))
        fail_msg("network %u, %s of %d: %.12g, expected %.12g", seed, what, i, actual, expected);
}

static void check_outputs(const drawn *d, lud_nn *net, const int *at, values expected, uint32_t seed,
                          const char *what) {
    double read[NUMBERS];
    for (int i = 0; i < d->n; i++) {
        if (!d->operations[i].output) continue;
        lud_nn_read(net, at[i], ROWS, read);
        for (int k = 0; k < NUMBERS; k++) check(read[k], expected[i][k], 1e-12, seed, what, i);
    }
}

static void check_backward(drawn *d, lud_parameters *parameters, lud_nn *net, const int *at, double *inputs,
                           values masks, uint32_t seed) {
    values held;
    double weights[NUMBERS], gradient[WEIGHTS];
    run_plainly(d, inputs, masks, NULL, held);
    lud_parameters_zero_gradients(parameters);
    for (int round = 1; round <= 2; round++) { /* parameters' gradients are added to, inputs' are not */
        lud_nn_forward(net, ROWS, true);
        check_outputs(d, net, at, held, seed, "output in training");
        for (int i = 0; i < d->n; i++) {
            for (int k = 0; k < NUMBERS; k++) weights[k] = number(1000 + (uint32_t)i, k);
            if (d->operations[i].output) lud_nn_write_gradient(net, at[i], ROWS, weights);
        }
        lud_nn_backward(net);
        for (int i = 0; i < d->n; i++) {
            operation *o = &d->operations[i];
            char name[32];
            snprintf(name, sizeof name, "layer%d.weight", i);
            if (o->kind == LINEAR)
                lud_parameters_read_gradient(parameters, lud_parameters_find(parameters, name), gradient);
            for (int k = 0; k < WEIGHTS && o->kind == LINEAR; k++)
                check(gradient[k],
                      o->frozen ? 0.0 : round * difference(d, inputs, masks, held, &o->weights[k]), 1e-6,
                      seed, "gradient", i);
        }
    }
    double expected[NUMBERS], sum = 0.0;
    for (int k = 0; k < NUMBERS; k++) {
        expected[k] = difference(d, inputs, masks, held, &inputs[k]);
        sum += fabs(expected[k]);
    }
    const double *of_input = lud_nn_gradient(net, at[0]);
    for (int k = 0; k < NUMBERS && sum > 0.0; k++) /* else no operation writes one */
        check(of_input[k], expected[k], 1e-6, seed, "gradient of input", 0);
}

static void draws_are_as_if_nothing_was_shared(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < NETWORKS; seed++) {
        drawn d = draw_network(seed);
        lud_parameters *parameters = lud_parameters_create(device, true);
        lud_nn *training = lud_nn_create(parameters, ROWS), *inference = lud_nn_create(parameters, ROWS);
        int at[MOST] = {0}, inference_at[MOST] = {0};
        double inputs[2 * NUMBERS];
        values masks, expected;
        declare(&d, training, at);
        declare(&d, inference, inference_at);
        lud_nn_want_gradient(training, at[0]);
        lud_nn_set_constant(inference, inference_at[0]);
        assert_int_equal(lud_parameters_build(parameters, seed, NULL), LUD_OK);
        for (int i = 0; i < d.n; i++) {
            char name[32];
            snprintf(name, sizeof name, "layer%d.", i);
            if (d.operations[i].frozen) lud_parameters_freeze(parameters, name, true);
            snprintf(name, sizeof name, "layer%d.weight", i);
            if (d.operations[i].kind == LINEAR)
                lud_parameters_read(parameters, lud_parameters_find(parameters, name),
                                    d.operations[i].weights);
        }
        plan(training, LUD_NN_TRAIN);
        plan(inference, LUD_NN_INFERENCE);
        for (int k = 0; k < 2 * NUMBERS; k++) inputs[k] = number(seed, k);
        for (int i = 0; i < 2; i++) {
            lud_nn_write(training, at[i], ROWS, inputs + i * NUMBERS);
            lud_nn_write(inference, inference_at[i], ROWS, inputs + i * NUMBERS);
        }
        read_masks(&d, masks);
        lud_nn_set_step(training, 7, 3);
        check_backward(&d, parameters, training, at, inputs, masks, seed);
        run_plainly(&d, inputs, NULL, NULL, expected);
        lud_nn_forward(training, ROWS, false);
        check_outputs(&d, training, at, expected, seed, "output");
        lud_nn_hold(inference, 1);
        for (int round = 0; round < 3; round++) { /* the second input changes, the first is held */
            lud_nn_forward(inference, ROWS, false);
            check_outputs(&d, inference, inference_at, expected, seed, "output in inference");
            for (int k = NUMBERS; k < 2 * NUMBERS; k++) inputs[k] = number(2000 + seed, k + 100 * round);
            lud_nn_write(inference, inference_at[1], ROWS, inputs + NUMBERS);
            run_plainly(&d, inputs, NULL, NULL, expected);
        }
        assert_true(lud_nn_bytes(training) <= lud_nn_bytes_unshared(training));
        lud_nn_destroy(training);
        lud_nn_destroy(inference);
        lud_parameters_destroy(parameters);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws_are_as_if_nothing_was_shared)};
    return cmocka_run_group_tests(tests, open_device, close_device);
}
