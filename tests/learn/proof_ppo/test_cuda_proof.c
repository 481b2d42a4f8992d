/* The proof network on CUDA, padded and with logits of its own, against the CPU's: logits, values and
 * gradients are near, for every way to embed atoms and states; so are choices and what is learned from them,
 * computed on the device, and what formulas give for the CPU's logits. Replayed graphs give what single
 * operations give. Runs on a GPU where there is one, and in any case as `test_cuda_proof_emulated` on
 * tests/emulation.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/proof_ppo/head.h"
#include "learn/proof_ppo/support_proof.h"
#include "learn/support_calls.h"
#include "learn/support_trainings.h"

enum { SLOTS = 4, STEPS = 3 };

static bool have_cuda;

static int look_for_cuda(void **state) {
    (void)state;
    have_cuda = support_has_cuda();
    return !have_cuda && getenv("LUDUS_CUDA_MODULE") ? -1 : 0; /* asked for and not there */
}

typedef struct bed {
    lud_device *device;
    lud_parameters *parameters;
    lud_proof_net *net;
} bed;

static bed open_bed(const char *device, const lud_proof_model *model, const lud_proof_net_options *options,
                    int64_t max_rows) {
    bed b = {0};
    assert_int_equal(lud_device_open(device, 1, &b.device, NULL), LUD_OK);
    b.parameters = lud_parameters_create(b.device, false);
    assert_int_equal(lud_proof_net_create(model, options, b.parameters, max_rows, &b.net, NULL), LUD_OK);
    assert_int_equal(lud_parameters_build(b.parameters, 5, NULL), LUD_OK);
    assert_int_equal(lud_proof_net_plan(b.net, LUD_NN_TRAIN, NULL), LUD_OK);
    return b;
}

static void close_bed(bed *b) {
    lud_proof_net_destroy(b->net);
    lud_parameters_destroy(b->parameters);
    if (lud_device_failure(b->device)) fail_msg("%s", lud_device_failure(b->device));
    lud_device_close(b->device);
}

/* Logits, values and gradients of all decisions, in as many chunks as it takes. */
typedef struct results {
    int32_t n_logits, n_values, n_chunks;
    double *logits, *values, *evaluated; /* the last: logits of runs that are not for training */
    int64_t n_gradients;
    double *gradients;
} results;

/* Which runs are not recorded. */
enum { FOR_TRAINING = 1, OTHERS = 2, ALL = 3 };

static void never_record(lud_proof_net *net, bool never) {
    net->forwards.never = net->backwards.never = never;
}

static results run(bed *b, const lud_proof_decisions *d, int unrecorded) {
    results r = {0};
    const size_t n_logits = (size_t)d->begin[d->n];
    r.logits = malloc(n_logits * sizeof *r.logits);
    r.evaluated = malloc(n_logits * sizeof *r.evaluated);
    r.values = malloc((size_t)d->n * sizeof *r.values);
    r.gradients = malloc((size_t)b->parameters->size * sizeof *r.gradients);
    lud_parameters_zero_gradients(b->parameters);
    lud_proof_net_set_step(b->net, 3, 9);
    for (int32_t done = 0; done < d->n; r.n_chunks++) {
        lud_proof_net *net = b->net;
        const int32_t taken = lud_proof_net_load(net, d, NULL, done, d->n - done), n = net->begin[taken];
        never_record(net, unrecorded & OTHERS);
        lud_proof_net_forward(net, false);
        memcpy(r.evaluated + r.n_logits, net->logits, (size_t)n * sizeof *net->logits);
        never_record(net, unrecorded & FOR_TRAINING);
        lud_proof_net_forward(net, true);
        memcpy(r.logits + r.n_logits, net->logits, (size_t)n * sizeof *net->logits);
        memcpy(r.values + r.n_values, net->values, (size_t)taken * sizeof *net->values);
        for (int32_t i = 0; i < n; i++) net->dlogits[i] = sin(1.0 + r.n_logits + i);
        for (int32_t i = 0; i < taken; i++) net->dvalues[i] = cos(2.0 * (r.n_values + i));
        never_record(net, unrecorded & OTHERS);
        lud_proof_net_backward(net);
        r.n_logits += n;
        r.n_values += taken;
        done += taken;
    }
    for (int p = 0; p < b->parameters->n; p++) {
        lud_parameters_read_gradient(b->parameters, p, r.gradients + r.n_gradients);
        r.n_gradients += b->parameters->items[p].n;
    }
    return r;
}

static void free_results(results *r) {
    free(r->logits);
    free(r->evaluated);
    free(r->values);
    free(r->gradients);
}

static void near(const char *what, const double *x, const double *y, int64_t n, double tolerance) {
    double largest = 1e-2;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= tolerance * largest))
            fail_msg("%s %ld: %.9g, on the CPU %.9g", what, (long)i, x[i], y[i]);
}

static void near_floats(const char *what, const float *x, const float *y, int64_t n, double tolerance) {
    for (int64_t i = 0; i < n; i++) {
        const double a = (double)x[i], b = (double)y[i];
        near(what, &a, &b, 1, tolerance);
    }
}

static void same(const results *a, const results *b) {
    assert_memory_equal(a->logits, b->logits, (size_t)b->n_logits * sizeof *b->logits);
    assert_memory_equal(a->evaluated, b->evaluated, (size_t)b->n_logits * sizeof *b->evaluated);
    assert_memory_equal(a->values, b->values, (size_t)b->n_values * sizeof *b->values);
    assert_memory_equal(a->gradients, b->gradients, (size_t)b->n_gradients * sizeof *b->gradients);
}

static lud_scenario *scenario;
static const lud_proof_model *model;

/* Decisions of a few steps; behind them one of a slot that rests and one without successors, if asked for. */
static void collect(int sees, bool rest, lud_proof_decisions *d) {
    lud_proof_batch_options options = lud_proof_training_options(model, SLOTS, 3);
    options.n_threads = 1;
    lud_proof_batch *batch;
    assert_int_equal(lud_proof_batch_create(model, &options, &batch, NULL), LUD_OK);
    assert_int_equal(lud_proof_decisions_create(model, STEPS * SLOTS + 2, sees, d, NULL), LUD_OK);
    int32_t actions[SLOTS] = {0};
    for (int step = 0; step < STEPS; step++) {
        lud_proof_decisions_add_batch(d, batch);
        lud_proof_batch_step_reset(batch, actions);
    }
    for (int i = 0; i < 2 && rest; i++) {
        d->current[d->n] = i == 0 ? -1 : d->current[1];
        d->begin[d->n + 1] = d->begin[d->n];
        d->n++;
    }
    lud_proof_batch_destroy(batch);
}

/* Returns how many chunks it took. */
static int compare(const lud_proof_net_options *options, int64_t max_rows) {
    bed cpu = open_bed("cpu", model, options, max_rows), cuda = open_bed("cuda", model, options, max_rows);
    lud_proof_decisions d;
    collect(lud_proof_net_sees(cpu.net), max_rows > 100, &d);
    results expected = run(&cpu, &d, ALL);
    results plain = run(&cuda, &d, ALL);
    assert_int_equal(cuda.net->forwards.runs, 0);
    assert_int_equal(plain.n_logits, expected.n_logits);
    near("logit", plain.logits, expected.logits, expected.n_logits, 1e-4);
    near("logit without dropout", plain.evaluated, expected.evaluated, expected.n_logits, 1e-4);
    near("value", plain.values, expected.values, expected.n_values, 1e-4);
    near("gradient", plain.gradients, expected.gradients, expected.n_gradients, 1e-3);
    assert_true(memcmp(plain.logits, plain.evaluated, (size_t)plain.n_logits * sizeof *plain.logits) != 0);
    /* plainly, recorded, replayed, and a backward run by itself after a forward run that is replayed */
    for (int i = 0; i < 4; i++) {
        results again = run(&cuda, &d, i < 3 ? 0 : OTHERS);
        same(&again, &plain);
        free_results(&again);
    }
    assert_int_equal(cuda.net->forwards.runs, 7 * expected.n_chunks);
    assert_true(cuda.net->forwards.n_replayed >= 5 * (uint64_t)expected.n_chunks);
    assert_true(cuda.net->backwards.n_replayed >= 2 * (uint64_t)expected.n_chunks);
    const int n_chunks = expected.n_chunks;
    free_results(&expected);
    free_results(&plain);
    lud_proof_decisions_free(&d);
    close_bed(&cpu);
    close_bed(&cuda);
    return n_chunks;
}

static lud_proof_net_options small_options(void) {
    return (lud_proof_net_options){.atoms = LUD_PROOF_EMBED_TRANSE,
                                   .states = LUD_PROOF_STATE_MEAN,
                                   .embedding_size = 10,
                                   .hidden = 12,
                                   .layers = 1,
                                   .dropout = 0.2,
                                   .constant_scale = 0.5,
                                   .l2_norm = true,
                                   .temperature = 0.3,
                                   .separate_value = true,
                                   .value_head_scale = 0.5};
}

static void every_network_is_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    lud_proof_net_options options = small_options();
    assert_int_equal(compare(&options, 512), 1);
    options.l2_norm = false;
    options.sqrt_scale = true;
    options.separate_value = false;
    options.atoms = LUD_PROOF_EMBED_CONCAT;
    options.states = LUD_PROOF_STATE_SUM;
    assert_int_equal(compare(&options, 512), 1);
    options = small_options();
    options.states = LUD_PROOF_STATE_CONCAT;
    options.look_ahead = 1;
    assert_int_equal(compare(&options, 512), 1);
    options.atoms = LUD_PROOF_EMBED_COMPLEX;
    options.states = LUD_PROOF_STATE_ATTENTION;
    assert_int_equal(compare(&options, 512), 1);
    options.states = LUD_PROOF_STATE_RNN;
    assert_int_equal(compare(&options, 512), 1);
    options.states = LUD_PROOF_STATE_TRANSFORMER;
    for (int atoms = LUD_PROOF_EMBED_ROTATE; atoms <= LUD_PROOF_EMBED_TRANSFORMER; atoms++) {
        options.atoms = atoms;
        assert_int_equal(compare(&options, 512), 1);
    }
}

/* Chunks with as many rows as there may be have one of padding. */
static void full_chunks_are_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    lud_proof_net_options options = small_options();
    options.states = LUD_PROOF_STATE_ATTENTION;
    assert_true(compare(&options, 65) > 1);
}

/* ---- choices and learning ---- */

enum { MOST = STEPS * SLOTS + 2 };
static const double clip = 0.2, value_clip = 0.3;

static double wave(double x) {
    return sin(1.7 * x) * cos(0.3 * x);
}

static double uniform_of(int32_t i) {
    return fmod(0.37 + 0.618034 * i, 1.0);
}

typedef struct acts {
    int32_t n, action[MOST];
    float log_prob[MOST], value[MOST];
} acts;

/* By the device, in as many chunks as it takes. */
static acts act(bed *b, lud_proof_head *head, const lud_proof_decisions *d, bool choose) {
    acts a = {0};
    double uniform[MOST];
    for (int32_t i = 0; i < d->n; i++) uniform[i] = uniform_of(i);
    lud_proof_net_set_step(b->net, 3, 9);
    while (a.n < d->n) {
        const int32_t taken = lud_proof_net_load(b->net, d, NULL, a.n, d->n - a.n);
        if (choose)
            lud_proof_head_act(head, uniform + a.n, a.action + a.n, a.log_prob + a.n, a.value + a.n);
        else
            lud_proof_head_act(head, NULL, NULL, NULL, a.value + a.n);
        a.n += taken;
    }
    return a;
}

/* The same from the CPU's logits; `edge`: how far a draw is from where the action changes. */
static acts expected_acts(bed *b, const lud_proof_decisions *d, double *edge) {
    acts a = {0};
    double log_probs[256];
    lud_proof_net *net = b->net;
    lud_proof_net_set_step(net, 3, 9);
    while (a.n < d->n) {
        const int32_t taken = lud_proof_net_load(net, d, NULL, a.n, d->n - a.n);
        lud_proof_net_forward(net, true);
        for (int32_t i = 0; i < taken; i++) {
            const int32_t at = a.n + i, n = net->begin[i + 1] - net->begin[i];
            double sum = 0.0;
            edge[at] = 1.0;
            a.value[at] = (float)net->values[i];
            assert_true(n < 256);
            if (n > 0) lud_proof_log_softmax(net->logits + net->begin[i], n, log_probs);
            for (int32_t k = 0; k < n; k++) {
                sum += exp(log_probs[k]);
                if (k + 1 < n) edge[at] = fmin(edge[at], fabs(sum - uniform_of(at)));
                if (k + 1 < n && sum <= uniform_of(at)) a.action[at] = k + 1;
            }
            if (n > 0) a.log_prob[at] = (float)log_probs[a.action[at]];
        }
        a.n += taken;
    }
    return a;
}

/* What a minibatch of all decisions, in some order, gives. */
typedef struct lesson {
    lud_ppo_sums sums;
    int32_t n_chunks;
    int64_t n_gradients;
    double *gradients;
} lesson;

typedef struct remembered {
    float log_prob[MOST], advantage[MOST], value[MOST], returns[MOST];
    const int32_t *action;
    int32_t order[MOST];
    lud_policy_gradient_options options;
    lud_ppo ppo;
} remembered;

/* Ratios and changes of values within and beyond their clip ranges, advantages of both signs. */
static void remember(const lud_proof_decisions *d, const acts *a, remembered *r) {
    for (int32_t i = 0; i < d->n; i++) {
        r->order[i] = (5 * i + 3) % d->n;
        const double log_prob = (double)a->log_prob[i] + 0.4 * wave(i),
                     value = (double)a->value[i] + 0.6 * wave(i + 80.0);
        r->log_prob[i] = d->begin[i + 1] > d->begin[i] ? (float)log_prob : 0.0f;
        r->advantage[i] = (float)wave(i + 40.0);
        r->value[i] = d->current[i] >= 0 ? (float)value : 0.0f;
        r->returns[i] = (float)wave(i + 120.0);
    }
    r->action = a->action;
    r->options = (lud_policy_gradient_options){
        .clip = clip, .value_clip = value_clip, .value_clipped = true, .value_coefficient = 0.6};
    r->ppo = (lud_ppo){.options = &r->options, .samples = {r->log_prob, r->value, r->advantage, r->returns}};
}

static void set_minibatch(remembered *r, int32_t n) {
    r->ppo.scale = 1.0 / n;
    r->ppo.entropy_coefficient = 0.04;
    r->ppo.mean = 0.05;
    r->ppo.deviation = 0.7;
}

static double clamped(double x, double limit) {
    return fmax(-limit, fmin(limit, x));
}

/* From the definition, for the chunk that the CPU's network has run on. */
static void expected_losses(lud_proof_net *net, const remembered *s, const int32_t *order,
                            lud_ppo_sums *sums) {
    const double scale = s->ppo.scale, bonus = s->ppo.entropy_coefficient;
    double log_probs[256];
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t at = order[i], begin = net->begin[i], n = net->begin[i + 1] - begin;
        const double entropy = n > 0 ? lud_proof_log_softmax(net->logits + begin, n, log_probs) : 0.0;
        const double ratio = exp((n > 0 ? log_probs[s->action[at]] : 0.0) - (double)s->log_prob[at]);
        const double advantage = ((double)s->advantage[at] - s->ppo.mean) / s->ppo.deviation;
        const double cut = (1.0 + clamped(ratio - 1.0, clip)) * advantage;
        const double slope = ratio * advantage <= cut ? -ratio * advantage : 0.0;
        for (int32_t k = 0; k < n; k++) {
            const double p = exp(log_probs[k]);
            net->dlogits[begin + k] =
                scale * (slope * ((k == s->action[at]) - p) + bonus * p * (log_probs[k] + entropy));
        }
        const double change = net->values[i] - (double)s->value[at];
        const double error = (double)s->value[at] + clamped(change, value_clip) - (double)s->returns[at];
        net->dvalues[i] =
            fabs(change) > value_clip ? 0.0 : scale * s->options.value_coefficient * 2.0 * error;
        sums->policy_loss -= fmin(ratio * advantage, cut);
        sums->value_loss += error * error;
        sums->entropy += entropy;
        sums->kl += ratio - 1.0 - log(ratio);
        sums->clipped += fabs(ratio - 1.0) > clip;
    }
}

/* On the CPU with head null. */
static lesson learn(bed *b, lud_proof_head *head, const lud_proof_decisions *d, remembered *r) {
    lesson l = {.gradients = malloc((size_t)b->parameters->size * sizeof *l.gradients)};
    lud_parameters_zero_gradients(b->parameters);
    lud_proof_net_set_step(b->net, 3, 9);
    for (int32_t done = 0; done < d->n; l.n_chunks++) {
        const int32_t taken = lud_proof_net_load(b->net, d, r->order, done, d->n - done);
        if (head) {
            lud_proof_head_learn(head, &r->ppo, r->action, r->order + done, &l.sums);
        } else {
            lud_proof_net_forward(b->net, true);
            expected_losses(b->net, r, r->order + done, &l.sums);
            lud_proof_net_backward(b->net);
        }
        done += taken;
    }
    for (int p = 0; p < b->parameters->n; p++) {
        lud_parameters_read_gradient(b->parameters, p, l.gradients + l.n_gradients);
        l.n_gradients += b->parameters->items[p].n;
    }
    return l;
}

static void acts_are_near(const acts *x, const acts *y, const double *edge) {
    int n_actions = 0;
    near_floats("value", x->value, y->value, y->n, 1e-4);
    for (int32_t i = 0; i < y->n; i++) {
        if (edge[i] < 1e-5) continue;
        n_actions += y->action[i] > 0;
        assert_int_equal(x->action[i], y->action[i]);
        near_floats("log-probability", x->log_prob + i, y->log_prob + i, 1, 1e-4);
    }
    assert_true(n_actions > y->n / 2);
}

/* With chunks whose sizes are known: one array up, one launch, one array down and nothing else. */
static void calls_are_launches(bed *b, lud_proof_head *head, const lud_proof_decisions *d, remembered *r) {
    for (int what = 0; what < 2; what++) {
        int32_t action[MOST];
        float log_prob[MOST], value[MOST];
        double uniform[MOST] = {0};
        lud_ppo_sums sums = {0};
        lud_proof_net_set_step(b->net, 3, 9);
        lud_proof_net_load(b->net, d, what ? r->order : NULL, 0, d->n);
        support_calls_begin(b->device);
        if (what)
            lud_proof_head_learn(head, &r->ppo, r->action, r->order, &sums);
        else
            lud_proof_head_act(head, uniform, action, log_prob, value);
        const support_calls calls = support_calls_end(b->device);
        assert_int_equal(calls.launches, 1);
        assert_int_equal(calls.uploads, 1);
        assert_int_equal(calls.downloads, 1);
        assert_int_equal(calls.others, 0);
    }
}

/* A chunk in which nobody stands anywhere. */
static void nothing_is_learned_from_rest(bed *b, lud_proof_head *head, const lud_proof_decisions *d,
                                         remembered *r) {
    const int32_t order[2] = {d->n - 2, d->n - 2};
    const double uniform[2] = {0.5, 0.9};
    int32_t action[2] = {7, 7};
    float log_prob[2] = {7.0f, 7.0f}, value[2] = {7.0f, 7.0f};
    lud_ppo_sums sums = {0};
    lud_parameters_zero_gradients(b->parameters);
    assert_int_equal(lud_proof_net_load(b->net, d, order, 0, 2), 2);
    lud_proof_head_act(head, uniform, action, log_prob, value);
    lud_proof_head_learn(head, &r->ppo, r->action, order, &sums);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(action[i], 0);
        assert_true(log_prob[i] == 0.0f && value[i] == 0.0f);
    }
    const double advantage = ((double)r->advantage[d->n - 2] - 0.05) / 0.7,
                 error = (double)r->returns[d->n - 2];
    assert_true(fabs(sums.policy_loss + 2.0 * advantage) < 1e-5);
    assert_true(fabs(sums.value_loss - 2.0 * error * error) < 1e-5);
    assert_true(sums.entropy == 0.0 && sums.kl == 0.0 && sums.clipped == 0.0);
    double *gradient = malloc((size_t)b->parameters->size * sizeof *gradient);
    for (int p = 0; p < b->parameters->n; p++) {
        lud_parameters_read_gradient(b->parameters, p, gradient);
        for (int64_t k = 0; k < b->parameters->items[p].n; k++) assert_true(gradient[k] == 0.0);
    }
    free(gradient);
}

/* An action is one that there is even where logits are no numbers. */
static void actions_exist_without_numbers(bed *b, lud_proof_head *head, const lud_proof_decisions *d) {
    const int bias = lud_parameters_find(b->parameters, "policy.head2.bias");
    const int64_t n = b->parameters->items[bias].n;
    double *values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++) values[i] = NAN;
    lud_parameters_write(b->parameters, bias, values);
    free(values);
    const acts a = act(b, head, d, true);
    for (int32_t i = 0; i < d->n; i++) {
        const int32_t n_successors = d->begin[i + 1] - d->begin[i];
        assert_in_range(a.action[i], 0, n_successors > 0 ? n_successors - 1 : 0);
    }
    assert_true(isnan(a.log_prob[0]));
}

/* Returns how many chunks a minibatch took. */
static int compare_learning(const lud_proof_net_options *options, int64_t max_rows) {
    bed cpu = open_bed("cpu", model, options, max_rows), cuda = open_bed("cuda", model, options, max_rows);
    lud_proof_decisions d;
    lud_proof_head head;
    double edge[MOST];
    remembered r;
    collect(lud_proof_net_sees(cpu.net), true, &d);
    assert_int_equal(d.n, MOST);
    assert_int_equal(lud_proof_head_create(cuda.net, MOST, &head, NULL), LUD_OK);
    const acts expected = expected_acts(&cpu, &d, edge);
    remember(&d, &expected, &r);
    r.ppo.device = cuda.device;
    assert_true(lud_ppo_create(&r.ppo, head.max_decisions, lud_proof_head_words(&head)));
    set_minibatch(&r, d.n);
    lesson right = learn(&cpu, NULL, &d, &r);
    assert_true(right.sums.clipped > 2.0 && right.sums.clipped < d.n - 4.0);

    never_record(cuda.net, true);
    head.acting.never = head.learning.never = true;
    const acts plain = act(&cuda, &head, &d, true);
    lesson learned = learn(&cuda, &head, &d, &r);
    assert_int_equal(head.acting.runs + head.learning.runs + cuda.net->forwards.runs, 0);
    acts_are_near(&plain, &expected, edge);
    assert_int_equal(learned.n_chunks, right.n_chunks);
    assert_true(fabs(learned.sums.policy_loss - right.sums.policy_loss) < 1e-4);
    assert_true(fabs(learned.sums.value_loss - right.sums.value_loss) < 1e-4);
    assert_true(fabs(learned.sums.entropy - right.sums.entropy) < 1e-4);
    assert_true(fabs(learned.sums.kl - right.sums.kl) < 1e-4);
    assert_true(learned.sums.clipped == right.sums.clipped);
    near("gradient", learned.gradients, right.gradients, right.n_gradients, 1e-3);

    never_record(cuda.net, false);
    head.acting.never = head.learning.never = false; /* plainly, recorded, replayed */
    for (int i = 0; i < 3; i++) {
        const acts again = act(&cuda, &head, &d, true), values = act(&cuda, &head, &d, false);
        assert_memory_equal(again.action, plain.action, sizeof plain.action);
        assert_memory_equal(again.log_prob, plain.log_prob, sizeof plain.log_prob);
        assert_memory_equal(again.value, plain.value, sizeof plain.value);
        assert_memory_equal(values.value, plain.value, sizeof plain.value);
        lesson repeated = learn(&cuda, &head, &d, &r);
        assert_memory_equal(&repeated.sums, &learned.sums, sizeof learned.sums);
        assert_memory_equal(repeated.gradients, learned.gradients,
                            (size_t)learned.n_gradients * sizeof *learned.gradients);
        free(repeated.gradients);
    }
    assert_int_equal(head.learning.runs, 3 * right.n_chunks);
    assert_true(head.learning.n_replayed >= 2 * (uint64_t)right.n_chunks);
    calls_are_launches(&cuda, &head, &d, &r);
    nothing_is_learned_from_rest(&cuda, &head, &d, &r);
    actions_exist_without_numbers(&cuda, &head, &d);
    const int n_chunks = right.n_chunks;
    free(learned.gradients);
    free(right.gradients);
    lud_proof_decisions_free(&d);
    lud_ppo_destroy(&r.ppo);
    lud_proof_head_destroy(&head);
    close_bed(&cpu);
    close_bed(&cuda);
    return n_chunks;
}

static void learning_is_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    lud_proof_net_options options = small_options();
    options.dropout = 0.02; /* it goes by places in a chunk, so that ratios are not only those remembered */
    assert_int_equal(compare_learning(&options, 512), 1);
    options.states = LUD_PROOF_STATE_CONCAT;
    options.separate_value = false;
    assert_true(compare_learning(&options, 65) > 1);
}

static int load_scenario(void **state) {
    scenario = support_proof_scenario(NULL, 0);
    model = (const lud_proof_model *)(const void *)scenario->model;
    return look_for_cuda(state);
}

static int drop_scenario(void **state) {
    (void)state;
    lud_scenario_destroy(scenario);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_network_is_near),
                                       cmocka_unit_test(full_chunks_are_near),
                                       cmocka_unit_test(learning_is_near)};
    return cmocka_run_group_tests(tests, load_scenario, drop_scenario);
}
