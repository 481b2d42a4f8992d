/* How many backward rows a policy gradient needs: a contextual bandit that sees an image, names its kind, and
 * is paid 1 when it is right. Plain policy gradient, weighted by delight (arXiv 2603.14608), and gates that
 * keep 10, 3 and 1 % of the rows (arXiv 2603.20526), with the baseline sum of pi^2. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "base/random.h"
#include "learn/nn/arrays.h"
#include "learn/nn/nn.h"
#include "learn/nn/optimiser.h"
#include "learn/policy_gradient/baseline.h"
#include "learn/policy_gradient/gated_loss.h"
#include "tests/bench/bandit_images.h"
#include "tests/bench/bench.h"

enum {
    BATCH = 100,
    HIDDEN = 100,
    STEPS = 10000,
    EVALUATE_EVERY = 100,
    LAST = 10, /* evaluations whose mean is the final error */
    SEEDS = 5,
    TRAINING = 20000,
    TEST = 4000
};

static const double learning_rate = 1e-3, target_error = 0.2;

typedef struct method {
    const char *name;
    int mode; /* lud_gate_mode */
    double rate, temperature;
} method;
static const method methods[] = {{"plain policy gradient", LUD_GATE_OFF, 1.0, 1.0},
                                 {"weighted by delight", LUD_GATE_DELIGHT, 1.0, 1.0},
                                 {"gate 10 %", LUD_GATE_THRESHOLD, 0.1, 0.1},
                                 {"gate 3 %", LUD_GATE_THRESHOLD, 0.03, 0.1},
                                 {"gate 1 %", LUD_GATE_THRESHOLD, 0.01, 0.1}};
enum { METHODS = sizeof methods / sizeof *methods };

typedef struct images {
    float *pixel;
    int32_t *kind;
} images;

typedef struct bandit {
    lud_device *device;
    lud_parameters *parameters;
    lud_optimiser *optimiser;
    lud_nn *net;
    int input, logits;
    lud_arrays arrays;
    images training, test;
    /* of a batch */
    int32_t index[BATCH], action[BATCH], row[BATCH];
    float uniform[BATCH], probability[BATCH * LUD_BANDIT_KINDS], log_prob[BATCH], reward[BATCH],
        expected[BATCH], advantage[BATCH], delight[BATCH], weight[BATCH], scratch[BATCH];
} bandit;

/* What one training has come to. */
typedef struct outcome {
    double error, rows, steps_to_target, rows_to_target; /* not a number: never */
} outcome;

static bool draw_images(bandit *b, uint32_t first, int n, images *to) {
    LUD_TAKE(&b->arrays, to->pixel, (size_t)n * LUD_BANDIT_PIXELS);
    LUD_TAKE(&b->arrays, to->kind, (size_t)n);
    for (int i = 0; i < n && !b->arrays.failed; i++)
        to->kind[i] = lud_bandit_image(first + (uint32_t)i, to->pixel + (size_t)i * LUD_BANDIT_PIXELS);
    return !b->arrays.failed;
}

static lud_status open_policy(bandit *b, uint64_t seed, lud_error *error) {
    const lud_optimiser_options adam = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
    b->parameters = lud_parameters_create(b->device, false);
    b->net = b->parameters ? lud_nn_create(b->parameters, BATCH) : NULL;
    if (!b->net) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a bandit");
    b->input = lud_nn_input(b->net, LUD_BANDIT_PIXELS);
    const int first = lud_nn_linear(b->net, b->input, "hidden1", HIDDEN, LUD_RELU);
    const int second = lud_nn_linear(b->net, first, "hidden2", HIDDEN, LUD_RELU);
    b->logits = lud_nn_linear(b->net, second, "out", LUD_BANDIT_KINDS, LUD_LINEAR);
    lud_nn_output(b->net, b->logits);
    lud_status status = lud_parameters_build(b->parameters, seed, error);
    if (!status) status = lud_nn_plan(b->net, LUD_NN_TRAIN, error);
    if (status) return status;
    b->optimiser = lud_optimiser_create(b->parameters);
    if (!b->optimiser || lud_optimiser_group(b->optimiser, "", &adam, false) != 0)
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a bandit");
    return lud_optimiser_build(b->optimiser, seed, error);
}

static void close_policy(bandit *b) {
    lud_optimiser_destroy(b->optimiser);
    lud_nn_destroy(b->net);
    lud_parameters_destroy(b->parameters);
    b->optimiser = NULL;
    b->net = NULL;
    b->parameters = NULL;
}

/* Runs the network on n images, those of `index`. */
static const float *see(bandit *b, const images *from, const int32_t *index, int64_t n, bool training) {
    float *to = lud_nn_value(b->net, b->input);
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * LUD_BANDIT_PIXELS, from->pixel + (int64_t)index[i] * LUD_BANDIT_PIXELS,
               LUD_BANDIT_PIXELS * sizeof *to);
    lud_nn_forward(b->net, n, training);
    return lud_nn_value(b->net, b->logits);
}

static double test_error(bandit *b) {
    int wrong = 0;
    for (int first = 0; first < TEST; first += BATCH) {
        for (int i = 0; i < BATCH; i++) b->index[i] = first + i;
        const float *logits = see(b, &b->test, b->index, BATCH, false);
        for (int i = 0; i < BATCH; i++, logits += LUD_BANDIT_KINDS) {
            int best = 0;
            for (int k = 1; k < LUD_BANDIT_KINDS; k++)
                if (logits[k] > logits[best]) best = k;
            wrong += best != b->test.kind[first + i];
        }
    }
    return (double)wrong / TEST;
}

/* Acts on a batch: actions, log-probabilities, advantages. */
static void act(bandit *b, uint64_t seed, uint32_t step) {
    const lud_ops *ops = b->device->ops;
    for (uint32_t i = 0; i < BATCH; i++) {
        const lud_words w = lud_draw((lud_random_key){seed, 0}, step, i, LUD_PURPOSE_ACTION, 0);
        b->index[i] = (int32_t)lud_below(w.v[0], TRAINING);
        b->uniform[i] = lud_unit_float(w.v[1]);
    }
    const float *logits = see(b, &b->training, b->index, BATCH, false);
    ops->softmax(b->device, BATCH, LUD_BANDIT_KINDS, 1.0, logits, NULL, b->probability);
    ops->categorical_sample(b->device, BATCH, LUD_BANDIT_KINDS, logits, NULL, NULL, b->uniform, b->action,
                            b->log_prob);
    for (int i = 0; i < BATCH; i++) b->reward[i] = b->action[i] == b->training.kind[b->index[i]];
    lud_baseline baseline;
    lud_baseline_init(&baseline, &(lud_baseline_options){.type = LUD_BASELINE_EXPECTED_CONFIDENCE});
    lud_baseline_expected_confidence(BATCH, LUD_BANDIT_KINDS, b->probability, b->expected);
    lud_baseline_advantages(&baseline, BATCH, b->reward, NULL, b->expected, b->advantage);
}

/* One step from the rows that the gate keeps, which alone pass through the network again. Their number. */
static int64_t learn(bandit *b, const method *m) {
    lud_gate gate = lud_gate_default();
    gate.mode = m->mode;
    gate.rate = m->rate;
    gate.temperature = m->temperature;
    lud_gate_priorities(LUD_PRIORITY_DELIGHT, 0.0, BATCH, b->advantage, b->log_prob, NULL, b->delight);
    lud_gate_decide(
        &gate,
        &(lud_gate_batch){.n = BATCH, .delight = b->delight, .weight = b->weight, .scratch = b->scratch});
    const int64_t n = lud_gate_kept(BATCH, b->weight, b->row);
    for (int64_t i = 0; i < n; i++) { /* kept rows stand in order, so none is overwritten before it moved */
        const int32_t from = b->row[i];
        b->index[i] = b->index[from];
        b->action[i] = b->action[from];
        b->advantage[i] = b->advantage[from];
        b->log_prob[i] = b->log_prob[from];
        b->weight[i] = b->weight[from];
    }
    const float *logits = see(b, &b->training, b->index, n, true);
    lud_gated_loss(n, b->weight, b->advantage, NULL, b->log_prob, (double)n, b->scratch);
    b->device->ops->categorical_backward(b->device, n, LUD_BANDIT_KINDS, logits, NULL, b->action, b->scratch,
                                         NULL, lud_nn_gradient(b->net, b->logits), false);
    lud_parameters_zero_gradients(b->parameters);
    lud_nn_backward(b->net);
    lud_optimiser_step(b->optimiser, 0, learning_rate);
    return n;
}

static lud_status train(bandit *b, const method *m, uint64_t seed, outcome *o, lud_error *error) {
    lud_status status = open_policy(b, seed, error);
    *o = (outcome){.steps_to_target = NAN, .rows_to_target = NAN};
    for (int step = 1; step <= STEPS && !status; step++) {
        act(b, seed, (uint32_t)step);
        o->rows += (double)learn(b, m);
        if (step % EVALUATE_EVERY) continue;
        const double now = test_error(b);
        if (step > STEPS - LAST * EVALUATE_EVERY) o->error += now / LAST;
        if (now <= target_error && isnan(o->steps_to_target)) {
            o->steps_to_target = step;
            o->rows_to_target = o->rows;
        }
        if (lud_interrupted()) status = lud_fail(error, LUD_INTERRUPTED, "interrupted");
    }
    close_policy(b);
    return status;
}

/* The rows of one method. `plain` is the error of the plain gradient, which is set by its own rows. */
static lud_status report_method(lud_bench_report *report, const method *m, const outcome *o, double *plain,
                                lud_error *error) {
    static const char *const names[] = {"error", "rows in backward passes", "steps to an error of 20 %",
                                        "backward rows to an error of 20 %"};
    static const char *const units[] = {"%", "rows", "steps", "rows"};
    lud_status status = LUD_OK;
    for (int k = 0; k < 4 && !status; k++) {
        double values[SEEDS];
        char name[96];
        int n = 0;
        for (int s = 0; s < SEEDS; s++) {
            const double of[] = {100.0 * o[s].error, o[s].rows, o[s].steps_to_target, o[s].rows_to_target};
            if (!isnan(of[k])) values[n++] = of[k];
        }
        if (n < SEEDS) continue; /* not all came so far */
        snprintf(name, sizeof name, "%s, %s", m->name, names[k]);
        status = lud_bench_add_runs(
            report, (lud_bench_row){.name = name, .unit = units[k], .floor = k == 0 ? *plain : 0.0}, n,
            values, error);
        if (k == 0 && *plain == 0.0) *plain = values[n / 2];
    }
    return status;
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    bandit *b = calloc(1, sizeof *b);
    if (!b) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a bandit");
    lud_status status = lud_device_open("cpu", 1, &b->device, error);
    if (!status && !(draw_images(b, 0, TRAINING, &b->training) && draw_images(b, TRAINING, TEST, &b->test)))
        status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for images");
    double plain = 0.0;
    for (int m = 0; m < METHODS && !status; m++) {
        outcome outcomes[SEEDS];
        for (uint64_t s = 0; s < SEEDS && !status; s++)
            status = train(b, &methods[m], s + 1, &outcomes[s], error);
        if (!status) status = report_method(report, &methods[m], outcomes, &plain, error);
    }
    lud_arrays_free(&b->arrays);
    lud_device_close(b->device);
    free(b);
    return status;
}

const lud_bench lud_bench_bandit = {
    .name = "bandit",
    .about = "policy gradients of an image bandit, plain, weighted by delight and gated",
    .run = run,
    .slow = true};
