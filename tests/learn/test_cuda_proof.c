/* The proof network on CUDA, padded and with logits of its own, against the CPU's: logits, values and
 * gradients are near, for every way to embed atoms and states; replayed graphs give what single operations
 * give. Runs on a GPU where there is one, and in any case as `test_cuda_proof_emulated` on tests/emulation.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/proof_ppo/proof_net.h"
#include "learn/support_trainings.h"
#include "support_proof.h"

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
        net->never_record = unrecorded & OTHERS;
        lud_proof_net_forward(net, false);
        memcpy(r.evaluated + r.n_logits, net->logits, (size_t)n * sizeof *net->logits);
        net->never_record = unrecorded & FOR_TRAINING;
        lud_proof_net_forward(net, true);
        memcpy(r.logits + r.n_logits, net->logits, (size_t)n * sizeof *net->logits);
        memcpy(r.values + r.n_values, net->values, (size_t)taken * sizeof *net->values);
        for (int32_t i = 0; i < n; i++) net->dlogits[i] = sin(1.0 + r.n_logits + i);
        for (int32_t i = 0; i < taken; i++) net->dvalues[i] = cos(2.0 * (r.n_values + i));
        net->never_record = unrecorded & OTHERS;
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

static void same(const results *a, const results *b) {
    assert_memory_equal(a->logits, b->logits, (size_t)b->n_logits * sizeof *b->logits);
    assert_memory_equal(a->evaluated, b->evaluated, (size_t)b->n_logits * sizeof *b->evaluated);
    assert_memory_equal(a->values, b->values, (size_t)b->n_values * sizeof *b->values);
    assert_memory_equal(a->gradients, b->gradients, (size_t)b->n_gradients * sizeof *b->gradients);
}

static lud_scenario *scenario;
static const lud_proof_model *model;

/* Decisions of a few steps, in which some slot may rest. */
static void collect(int sees, bool rest, lud_proof_decisions *d) {
    lud_proof_batch_options options = lud_proof_training_options(model, SLOTS, 3);
    options.n_threads = 1;
    lud_proof_batch *batch;
    assert_int_equal(lud_proof_batch_create(model, &options, &batch, NULL), LUD_OK);
    assert_int_equal(lud_proof_decisions_create(model, STEPS * SLOTS + 1, sees, d, NULL), LUD_OK);
    int32_t actions[SLOTS] = {0};
    for (int step = 0; step < STEPS; step++) {
        lud_proof_decisions_add_batch(d, batch);
        lud_proof_batch_step_reset(batch, actions);
    }
    if (rest) {
        d->current[d->n] = -1;
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
}

/* Chunks with as many rows as there may be have one of padding. */
static void full_chunks_are_near(void **state) {
    (void)state;
    if (!have_cuda) skip();
    lud_proof_net_options options = small_options();
    options.states = LUD_PROOF_STATE_ATTENTION;
    assert_true(compare(&options, 65) > 1);
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
                                       cmocka_unit_test(full_chunks_are_near)};
    return cmocka_run_group_tests(tests, load_scenario, drop_scenario);
}
