/* The proof network: ragged equals a naive padded computation, chunks and batches do not matter, gradients
 * are right. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/proof_ppo/support_proof.h"

enum { SLOTS = 12, EMBEDDING = 10, HIDDEN = 12 };

typedef struct setup {
    lud_scenario *scenario;
    const lud_proof_model *model;
    lud_device *device;
    lud_parameters *parameters;
    lud_proof_net *net;
    lud_proof_batch *batch;
    lud_proof_decisions decisions;
} setup;

static lud_proof_net_options small_options(void) {
    return (lud_proof_net_options){.atoms = LUD_PROOF_EMBED_TRANSE,
                                   .states = LUD_PROOF_STATE_MEAN,
                                   .embedding_size = EMBEDDING,
                                   .hidden = HIDDEN,
                                   .layers = 2,
                                   .constant_scale = 0.5,
                                   .l2_norm = true,
                                   .temperature = 0.3,
                                   .separate_value = true,
                                   .value_head_scale = 0.5};
}

/* A batch after a few steps, its decisions, and a network. */
static void open_with(setup *s, const lud_proof_net_options *options, int64_t max_rows, bool in_double,
                      int n_threads) {
    *s = (setup){.scenario = support_proof_scenario(NULL, 0)};
    s->model = (const lud_proof_model *)(const void *)s->scenario->model;
    assert_int_equal(lud_device_open("cpu", n_threads, &s->device, NULL), LUD_OK);
    s->parameters = lud_parameters_create(s->device, in_double);
    assert_int_equal(lud_proof_net_create(s->model, options, s->parameters, max_rows, &s->net, NULL), LUD_OK);
    assert_int_equal(lud_parameters_build(s->parameters, 5, NULL), LUD_OK);
    assert_int_equal(lud_proof_net_plan(s->net, LUD_NN_TRAIN, NULL), LUD_OK);
    lud_proof_batch_options batch = lud_proof_training_options(s->model, SLOTS, 3);
    batch.n_threads = 1;
    assert_int_equal(lud_proof_batch_create(s->model, &batch, &s->batch, NULL), LUD_OK);
    assert_int_equal(
        lud_proof_decisions_create(s->model, 4 * SLOTS, lud_proof_net_sees(s->net), &s->decisions, NULL),
        LUD_OK);
    int32_t actions[SLOTS] = {0};
    for (int step = 0; step < 4; step++) {
        lud_proof_decisions_add_batch(&s->decisions, s->batch);
        lud_proof_batch_step_reset(s->batch, actions);
    }
}

static void open(setup *s, const lud_proof_net_options *options, int64_t max_rows) {
    open_with(s, options, max_rows, true, 1);
}

static void close_setup(setup *s) {
    lud_proof_decisions_free(&s->decisions);
    lud_proof_batch_destroy(s->batch);
    lud_proof_net_destroy(s->net);
    lud_parameters_destroy(s->parameters);
    lud_device_close(s->device);
    lud_scenario_destroy(s->scenario);
}

/* ---- the naive computation: one padded state at a time, straight from the formulas ---- */

static double *read_parameter(const setup *s, const char *name) {
    const int index = lud_parameters_find(s->parameters, name);
    assert_true(index >= 0);
    double *values = malloc((size_t)s->parameters->items[index].n * sizeof *values);
    lud_parameters_read(s->parameters, index, values);
    return values;
}

static void naive_linear(const setup *s, const char *name, const double *x, int n_in, double *y, int n_out,
                         bool relu) {
    char text[96];
    snprintf(text, sizeof text, "%s.weight", name);
    double *w = read_parameter(s, text);
    snprintf(text, sizeof text, "%s.bias", name);
    double *b = read_parameter(s, text);
    for (int o = 0; o < n_out; o++) {
        y[o] = b[o];
        for (int i = 0; i < n_in; i++) y[o] += w[o * n_in + i] * x[i];
        if (relu && y[o] < 0.0) y[o] = 0.0;
    }
    free(w);
    free(b);
}

static void naive_norm(double *x, int n) {
    double mean = 0.0, variance = 0.0;
    for (int i = 0; i < n; i++) mean += x[i] / n;
    for (int i = 0; i < n; i++) variance += (x[i] - mean) * (x[i] - mean) / n;
    for (int i = 0; i < n; i++) x[i] = (x[i] - mean) / sqrt(variance + 1e-5);
}

static void naive_body(const setup *s, const char *body, const double *state, int width, double x[HIDDEN]) {
    for (int layer = 0; layer <= 2; layer++) {
        char name[64];
        double y[HIDDEN];
        snprintf(name, sizeof name, "%s.body%d", body, layer);
        naive_linear(s, name, layer ? x : state, layer ? HIDDEN : width, y, HIDDEN, true);
        naive_norm(y, HIDDEN);
        for (int i = 0; i < HIDDEN; i++) x[i] = layer ? x[i] + y[i] : y[i];
    }
}

/* e^score / sum over n of e^score */
static void naive_softmax(double *score, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += score[i] = exp(score[i]);
    for (int i = 0; i < n; i++) score[i] /= sum;
}

enum { PARTS = 3, WIDEST = PARTS * EMBEDDING };

/* Roots are taken of 1e-12 more. */
static double modulus(double real, double imaginary) {
    return sqrt(real * real + imaginary * imaginary + 1e-12);
}

static void naive_rotate(double e[PARTS][EMBEDDING], double out[EMBEDDING / 2]) {
    const int half = EMBEDDING / 2;
    for (int k = 0; k < half; k++) {
        const double length = modulus(e[0][k], e[0][half + k]);
        const double real = e[0][k] / length, imaginary = e[0][half + k] / length;
        out[k] = modulus(e[1][k] * real - e[1][half + k] * imaginary - e[2][k],
                         e[1][k] * imaginary + e[1][half + k] * real - e[2][half + k]);
    }
}

static void naive_gru(const setup *s, double e[PARTS][EMBEDDING], double h[EMBEDDING]) {
    memset(h, 0, EMBEDDING * sizeof *h);
    for (int t = 0; t < PARTS; t++) {
        double x[3 * EMBEDDING], u[3 * EMBEDDING];
        naive_linear(s, "atom.gru.input", e[t], EMBEDDING, x, 3 * EMBEDDING, false);
        naive_linear(s, "atom.gru.hidden", h, EMBEDDING, u, 3 * EMBEDDING, false);
        for (int k = 0; k < EMBEDDING; k++) {
            const double r = 1.0 / (1.0 + exp(-x[k] - u[k]));
            const double z = 1.0 / (1.0 + exp(-x[EMBEDDING + k] - u[EMBEDDING + k]));
            const double c = tanh(x[2 * EMBEDDING + k] + r * u[2 * EMBEDDING + k]);
            h[k] = (1.0 - z) * c + z * h[k];
        }
    }
}

static void naive_attention(const setup *s, double e[PARTS][EMBEDDING], double out[EMBEDDING]) {
    double score[PARTS], value[EMBEDDING];
    char name[32];
    for (int t = 0; t < PARTS; t++) {
        snprintf(name, sizeof name, "atom.score%d", t);
        naive_linear(s, name, e[t], EMBEDDING, &score[t], 1, false);
    }
    naive_softmax(score, PARTS);
    memset(out, 0, EMBEDDING * sizeof *out);
    for (int t = 0; t < PARTS; t++) {
        snprintf(name, sizeof name, "atom.value%d", t);
        naive_linear(s, name, e[t], EMBEDDING, value, EMBEDDING, false);
        for (int k = 0; k < EMBEDDING; k++) out[k] += score[t] * value[k];
    }
}

static void naive_transformer(const setup *s, double e[PARTS][EMBEDDING], double out[EMBEDDING]) {
    double x[PARTS][EMBEDDING], query[PARTS][EMBEDDING], key[PARTS][EMBEDDING], value[PARTS][EMBEDDING];
    for (int t = 0; t < PARTS; t++) {
        char name[32];
        snprintf(name, sizeof name, "atom.input%d", t);
        naive_linear(s, name, e[t], EMBEDDING, x[t], EMBEDDING, false);
        naive_linear(s, "atom.query", x[t], EMBEDDING, query[t], EMBEDDING, false);
        naive_linear(s, "atom.key", x[t], EMBEDDING, key[t], EMBEDDING, false);
        naive_linear(s, "atom.value", x[t], EMBEDDING, value[t], EMBEDDING, false);
    }
    memset(out, 0, EMBEDDING * sizeof *out);
    for (int t = 0; t < PARTS; t++) {
        double weight[PARTS] = {0}, seen[EMBEDDING] = {0}, y[EMBEDDING], wide[2 * EMBEDDING],
               narrow[EMBEDDING];
        for (int u = 0; u < PARTS; u++)
            for (int k = 0; k < EMBEDDING; k++) weight[u] += query[t][k] * key[u][k] / sqrt(EMBEDDING);
        naive_softmax(weight, PARTS);
        for (int u = 0; u < PARTS; u++)
            for (int k = 0; k < EMBEDDING; k++) seen[k] += weight[u] * value[u][k];
        naive_linear(s, "atom.output", seen, EMBEDDING, y, EMBEDDING, false);
        for (int k = 0; k < EMBEDDING; k++) y[k] += x[t][k];
        naive_norm(y, EMBEDDING);
        naive_linear(s, "atom.forward1", y, EMBEDDING, wide, 2 * EMBEDDING, true);
        naive_linear(s, "atom.forward2", wide, 2 * EMBEDDING, narrow, EMBEDDING, false);
        for (int k = 0; k < EMBEDDING; k++) y[k] += narrow[k];
        naive_norm(y, EMBEDDING);
        for (int k = 0; k < EMBEDDING; k++) out[k] += y[k] / PARTS;
    }
}

/* The embedding of an atom; returns its width. */
static int naive_atom(const setup *s, const lud_proof_atom *atom, double out[WIDEST]) {
    const int half = EMBEDDING / 2;
    double *p = read_parameter(s, "embedding.predicate.weight"),
           *t = read_parameter(s, "embedding.term.weight"), e[PARTS][EMBEDDING] = {{0}};
    for (int k = 0; k < EMBEDDING; k++) {
        e[0][k] = p[(atom->predicate - 1) * EMBEDDING + k];
        for (int i = 0; i < 2; i++)
            if (atom->terms[i]) e[1 + i][k] = t[(atom->terms[i] - 1) * EMBEDDING + k];
    }
    free(p);
    free(t);
    switch (s->net->options.atoms) {
    case LUD_PROOF_EMBED_CONCAT:
        memcpy(out, e, sizeof e);
        return WIDEST;
    case LUD_PROOF_EMBED_COMPLEX:
        for (int k = 0; k < half; k++) {
            const double real = e[0][k] * e[1][k] - e[0][half + k] * e[1][half + k];
            const double imaginary = e[0][k] * e[1][half + k] + e[0][half + k] * e[1][k];
            out[k] = real * e[2][k] + imaginary * e[2][half + k];
            out[half + k] = imaginary * e[2][k] - real * e[2][half + k];
        }
        return EMBEDDING;
    case LUD_PROOF_EMBED_ROTATE:
        naive_rotate(e, out);
        return half;
    case LUD_PROOF_EMBED_RNN:
        naive_gru(s, e, out);
        return EMBEDDING;
    case LUD_PROOF_EMBED_ATTENTION:
        naive_attention(s, e, out);
        return EMBEDDING;
    case LUD_PROOF_EMBED_TRANSFORMER:
        naive_transformer(s, e, out);
        return EMBEDDING;
    default:
        for (int k = 0; k < EMBEDDING; k++)
            out[k] = e[0][k] + (s->net->options.atoms == LUD_PROOF_EMBED_SUM ? -1 : 1) * e[1][k] - e[2][k];
        return EMBEDDING;
    }
}

static int naive_state(const setup *s, int32_t state, double out[WIDEST]) {
    const lud_proof_decisions *d = &s->decisions;
    const int first = d->state_begin[state], n = d->state_begin[state + 1] - first;
    const int states = s->net->options.states;
    double embedded[LUD_PROOF_MAX_GOALS][WIDEST], weight[LUD_PROOF_MAX_GOALS];
    int width = 0;
    for (int goal = 0; goal < n; goal++) width = naive_atom(s, &d->atoms[first + goal], embedded[goal]);
    for (int goal = 0; goal < n; goal++) weight[goal] = 1.0;
    if (states == LUD_PROOF_STATE_MEAN)
        for (int goal = 0; goal < n; goal++) weight[goal] = 1.0 / s->model->limits.max_goals;
    if (states == LUD_PROOF_STATE_TRANSFORMER) {
        for (int goal = 0; goal < n; goal++)
            naive_linear(s, "state.query", embedded[goal], width, &weight[goal], 1, false);
        naive_softmax(weight, n);
    }
    double sum[WIDEST] = {0}, value[WIDEST];
    for (int goal = 0; goal < n; goal++) {
        const double *of = embedded[goal];
        if (states == LUD_PROOF_STATE_TRANSFORMER)
            naive_linear(s, "state.value", embedded[goal], width, value, width, false), of = value;
        for (int k = 0; k < width; k++) sum[k] += weight[goal] * of[k];
    }
    memcpy(out, sum, sizeof sum);
    if (states == LUD_PROOF_STATE_TRANSFORMER) naive_linear(s, "state.output", sum, width, out, width, false);
    return width;
}

static void naive_head(const setup *s, int32_t state, double head[EMBEDDING]) {
    double e[WIDEST], x[HIDDEN], y[HIDDEN], length = 0.0;
    const int width = naive_state(s, state, e);
    naive_body(s, "policy", e, width, x);
    naive_linear(s, "policy.head1", x, HIDDEN, y, HIDDEN, true);
    naive_linear(s, "policy.head2", y, HIDDEN, head, EMBEDDING, false);
    for (int k = 0; k < EMBEDDING; k++) length += head[k] * head[k];
    for (int k = 0; k < EMBEDDING; k++) head[k] /= fmax(sqrt(length), 1e-12);
}

static double naive_value(const setup *s, int32_t state) {
    double e[WIDEST], x[HIDDEN], y[HIDDEN], v;
    const int width = naive_state(s, state, e);
    naive_body(s, "value", e, width, x);
    naive_linear(s, "value.head1", x, HIDDEN, y, HIDDEN / 2, true);
    naive_linear(s, "value.head2", y, HIDDEN / 2, &v, 1, false);
    return v;
}

static void compare_with_formulas(const lud_proof_net_options *options) {
    setup s;
    open(&s, options, 4096);
    const lud_proof_decisions *d = &s.decisions;
    assert_int_equal(lud_proof_net_load(s.net, d, NULL, 0, d->n), d->n);
    assert_int_equal(s.net->n_rows, d->n_states); /* every state once */
    assert_true(d->n_states < d->n + d->begin[d->n]);
    lud_proof_net_forward(s.net, true);
    const double factor = 1.0 / options->temperature;
    for (int32_t i = 0; i < d->n; i++) {
        double from[EMBEDDING], to[EMBEDDING];
        naive_head(&s, d->current[i], from);
        assert_true(fabs(s.net->values[i] - naive_value(&s, d->current[i])) < 1e-9);
        for (int32_t k = d->begin[i]; k < d->begin[i + 1]; k++) {
            naive_head(&s, d->successor[k], to);
            double logit = 0.0;
            for (int j = 0; j < EMBEDDING; j++) logit += factor * from[j] * to[j];
            assert_true(fabs(s.net->logits[k] - logit) < 1e-9);
        }
    }
    close_setup(&s);
}

/* Every embedder of atoms, and those of states that are sums. */
static void ragged_equals_padded(void **state) {
    (void)state;
    lud_proof_net_options options = small_options();
    static const int sums[] = {LUD_PROOF_STATE_MEAN, LUD_PROOF_STATE_SUM, LUD_PROOF_STATE_TRANSFORMER};
    for (int atoms = LUD_PROOF_EMBED_TRANSE; atoms <= LUD_PROOF_EMBED_TRANSFORMER; atoms++) {
        options.atoms = atoms;
        options.states = sums[atoms % 3];
        compare_with_formulas(&options);
    }
}

/* A decision alone, in another order, and in small chunks gives what it gives in the batch. */
static void batches_do_not_matter(void **state) {
    (void)state;
    setup s, small;
    const lud_proof_net_options options = small_options();
    open(&s, &options, 4096);
    open(&small, &options, 16); /* raised to what one decision may need */
    const lud_proof_decisions *d = &s.decisions;
    lud_proof_net_load(s.net, d, NULL, 0, d->n);
    lud_proof_net_forward(s.net, true);
    int32_t order[4 * SLOTS], chunks = 0;
    for (int32_t i = 0; i < d->n; i++) order[i] = d->n - 1 - i;
    for (int32_t done = 0; done < d->n; chunks++) {
        const int32_t taken = lud_proof_net_load(small.net, d, order, done, d->n - done);
        lud_proof_net_forward(small.net, true);
        for (int32_t i = 0; i < taken; i++) {
            const int32_t decision = order[done + i], n = d->begin[decision + 1] - d->begin[decision];
            assert_int_equal(small.net->begin[i + 1] - small.net->begin[i], n);
            assert_true(fabs(small.net->values[i] - s.net->values[decision]) < 1e-12);
            for (int32_t k = 0; k < n; k++)
                assert_true(fabs(small.net->logits[small.net->begin[i] + k] -
                                 s.net->logits[d->begin[decision] + k]) < 1e-12);
        }
        done += taken;
    }
    assert_true(chunks > 1);
    close_setup(&small);
    close_setup(&s);
}

/* Gradients of logits and values that depend on the decision alone. */
static void backward(setup *s, const int32_t *order, int32_t first, int32_t n) {
    lud_proof_net *net = s->net;
    const lud_proof_decisions *d = &s->decisions;
    for (int32_t i = 0; i < n; i++) {
        const int32_t decision = order[first + i];
        net->dvalues[i] = sin(3.0 + decision);
        for (int32_t k = 0; k < d->begin[decision + 1] - d->begin[decision]; k++)
            net->dlogits[net->begin[i] + k] = cos(2.0 * decision + k);
    }
    lud_proof_net_backward(net);
}

/* The states of a large chunk go in two parts: nobody sees it. Logits, values and gradients are those of
 * small chunks, which go in one, up to rounding, and the same bytes with one thread and with two; goals in
 * order, as sums and through a recurrent unit. */
static void parts_do_not_matter(void **state) {
    (void)state;
    static const int states[] = {LUD_PROOF_STATE_MEAN, LUD_PROOF_STATE_CONCAT, LUD_PROOF_STATE_RNN};
    enum { WHOLE, TWO_THREADS, SMALL, N };
    for (int k = 0; k < 3; k++) {
        setup s[N];
        lud_proof_net_options options = small_options();
        options.states = states[k];
        options.separate_value = k != 1;
        int32_t order[4 * SLOTS];
        double *logits = NULL, values[4 * SLOTS];
        for (int i = 0; i < N; i++) {
            open_with(&s[i], &options, i == SMALL ? 100 : 4096, false, i == TWO_THREADS ? 2 : 1);
            lud_proof_net *net = s[i].net;
            const lud_proof_decisions *d = &s[i].decisions;
            for (int32_t j = 0; j < d->n; j++) order[j] = d->n - 1 - j;
            if (!logits) logits = malloc((size_t)d->begin[d->n] * sizeof *logits);
            lud_parameters_zero_gradients(s[i].parameters);
            int chunks = 0;
            for (int32_t done = 0, taken; done < d->n; done += taken, chunks++) {
                taken = lud_proof_net_load(net, d, order, done, d->n - done);
                lud_proof_net_forward(net, true);
                assert_int_equal(net->part[1].rows > 0, i != SMALL);
                if (i != SMALL) {
                    assert_int_equal(taken, d->n);
                    assert_true(labs((long)(net->part[0].rows - net->part[1].rows)) <= 8);
                    assert_int_equal(net->part[0].rows + net->part[1].rows, net->n_rows);
                    assert_true(net->part[0].decisions > 0 && net->part[1].decisions > 0);
                    assert_int_equal(net->part[0].decisions + net->part[1].decisions, d->n);
                }
                for (int32_t j = 0; j < taken; j++) {
                    const int32_t decision = order[done + j], n = d->begin[decision + 1] - d->begin[decision];
                    const double *own = net->logits + net->begin[j];
                    double *known = logits + d->begin[decision];
                    if (i == WHOLE) {
                        values[decision] = net->values[j];
                        memcpy(known, own, (size_t)n * sizeof *own);
                    }
                    const double most = i == SMALL ? 1e-5 : 0.0;
                    assert_true(fabs(net->values[j] - values[decision]) <= most);
                    for (int32_t c = 0; c < n; c++) assert_true(fabs(own[c] - known[c]) <= most);
                }
                backward(&s[i], order, done, taken);
            }
            assert_int_equal(chunks > 1, i == SMALL);
            lud_proof_net_add_up(net);
            lud_proof_net_add_up(net); /* nothing more */
        }
        const int64_t size = s[WHOLE].parameters->size;
        const float *whole = s[WHOLE].parameters->gradients, *small = s[SMALL].parameters->gradients;
        double most = 0.0;
        for (int64_t i = 0; i < size; i++) most = fmax(most, fabs((double)small[i]));
        assert_true(most > 0.0);
        for (int64_t i = 0; i < size; i++) assert_true(fabs((double)(whole[i] - small[i])) < 1e-5 * most);
        assert_memory_equal(whole, s[TWO_THREADS].parameters->gradients, (size_t)size * sizeof *whole);
        free(logits);
        for (int i = 0; i < N; i++) close_setup(&s[i]);
    }
}

/* Dropout draws by the place of a state in its chunk, whatever part it is in: as in doubles, where there is
 * one. */
static void dropout_draws_by_the_place(void **state) {
    (void)state;
    setup s[2];
    lud_proof_net_options options = small_options();
    options.dropout = 0.3;
    for (int i = 0; i < 2; i++) {
        open_with(&s[i], &options, 4096, i, 1);
        lud_proof_net_load(s[i].net, &s[i].decisions, NULL, 0, s[i].decisions.n);
        lud_proof_net_set_step(s[i].net, 3, 9);
        lud_proof_net_forward(s[i].net, true);
        assert_int_equal(s[i].net->part[1].rows > 0, !i);
    }
    const int32_t n = s[0].decisions.begin[s[0].decisions.n];
    for (int32_t k = 0; k < n; k++) assert_true(fabs(s[0].net->logits[k] - s[1].net->logits[k]) < 1e-4);
    for (int i = 0; i < 2; i++) close_setup(&s[i]);
}

/* Without training there are the same logits, in every bit, and the value network does not run. */
static void logits_need_no_values(void **state) {
    (void)state;
    for (int separate = 0; separate < 2; separate++) {
        setup s;
        lud_proof_net_options options = small_options();
        options.separate_value = separate;
        open(&s, &options, 4096);
        const lud_proof_decisions *d = &s.decisions;
        lud_proof_net_load(s.net, d, NULL, 0, d->n);
        lud_proof_net_forward(s.net, true);
        const size_t bytes = (size_t)d->begin[d->n] * sizeof(double);
        double *logits = malloc(bytes);
        memcpy(logits, s.net->logits, bytes);
        const double whole = lud_nn_multiply_adds(s.net->part[0].nn);
        for (int32_t i = 0; i < d->n; i++) s.net->values[i] = 7.0;
        lud_proof_net_forward(s.net, false);
        assert_memory_equal(s.net->logits, logits, bytes);
        for (int32_t i = 0; i < d->n; i++) assert_true(s.net->values[i] == 7.0);
        const double value_weights =
            (HIDDEN / 2) * HIDDEN + HIDDEN / 2 + (separate ? HIDDEN * (EMBEDDING + 2 * HIDDEN) : 0);
        assert_true(lud_nn_multiply_adds(s.net->part[0].nn) == whole - d->n * value_weights);
        free(logits);
        close_setup(&s);
    }
}

static double weighted(setup *s, bool gradients) {
    lud_proof_net_load(s->net, &s->decisions, NULL, 0, SLOTS);
    lud_proof_net_forward(s->net, true);
    double sum = 0.0;
    for (int32_t k = 0; k < s->net->begin[s->net->n_decisions]; k++) {
        s->net->dlogits[k] = sin(1.0 + k);
        sum += s->net->dlogits[k] * s->net->logits[k];
    }
    for (int32_t i = 0; i < s->net->n_decisions; i++) {
        s->net->dvalues[i] = cos(2.0 * i);
        sum += s->net->dvalues[i] * s->net->values[i];
    }
    if (gradients) {
        lud_parameters_zero_gradients(s->parameters);
        lud_proof_net_backward(s->net);
    }
    return sum;
}

static void check_gradients(const lud_proof_net_options *options) {
    setup s;
    open(&s, options, 512);
    weighted(&s, true);
    int checked = 0;
    for (int p = 0; p < s.parameters->n; p++) {
        const int64_t n = s.parameters->items[p].n;
        double *values = malloc((size_t)n * sizeof *values), *gradient = malloc((size_t)n * sizeof *gradient);
        lud_parameters_read(s.parameters, p, values);
        lud_parameters_read_gradient(s.parameters, p, gradient);
        int64_t largest = 0;
        for (int64_t k = 0; k < n; k++)
            if (fabs(gradient[k]) > fabs(gradient[largest])) largest = k;
        for (int64_t k = largest; k <= largest + 1 && k < n; k++) {
            const double kept = values[k], h = 1e-6;
            values[k] = kept + h;
            lud_parameters_write(s.parameters, p, values);
            const double above = weighted(&s, false);
            values[k] = kept - h;
            lud_parameters_write(s.parameters, p, values);
            const double below = weighted(&s, false);
            values[k] = kept;
            lud_parameters_write(s.parameters, p, values);
            const double difference = (above - below) / (2.0 * h);
            if (fabs(difference - gradient[k]) > 1e-5 * (1.0 + fabs(difference)))
                print_error("%s[%d]: %g, by differences %g\n", s.parameters->items[p].name, (int)k,
                            gradient[k], difference);
            assert_true(fabs(difference - gradient[k]) <= 1e-5 * (1.0 + fabs(difference)));
            checked += gradient[k] != 0.0;
        }
        free(values);
        free(gradient);
    }
    assert_true(checked > s.parameters->n / 2);
    close_setup(&s);
}

static void gradients_are_right(void **state) {
    (void)state;
    lud_proof_net_options options = small_options();
    check_gradients(&options);
    options.l2_norm = false;
    options.sqrt_scale = true;
    options.separate_value = false;
    options.atoms = LUD_PROOF_EMBED_CONCAT;
    options.states = LUD_PROOF_STATE_SUM;
    check_gradients(&options);
    options.states = LUD_PROOF_STATE_CONCAT;
    options.fact_counts = true;
    check_gradients(&options);
    options.atoms = LUD_PROOF_EMBED_TRANSE;
    check_gradients(&options);
    options.atoms = LUD_PROOF_EMBED_COMPLEX;
    options.states = LUD_PROOF_STATE_ATTENTION;
    check_gradients(&options);
    options.states = LUD_PROOF_STATE_RNN;
    check_gradients(&options);
    for (int atoms = LUD_PROOF_EMBED_ROTATE; atoms <= LUD_PROOF_EMBED_TRANSFORMER; atoms++) {
        options.atoms = atoms;
        options.fact_counts = atoms != LUD_PROOF_EMBED_RNN;
        options.states = atoms % 2 ? LUD_PROOF_STATE_TRANSFORMER : LUD_PROOF_STATE_MEAN;
        check_gradients(&options);
    }
}

static void decisions_keep_states_once(void **state) {
    (void)state;
    setup s;
    const lud_proof_net_options options = small_options();
    open(&s, &options, 512);
    lud_proof_decisions *d = &s.decisions;
    for (int32_t a = 0; a < d->n_states; a++)
        for (int32_t b = 0; b < a; b++) assert_true(d->hash[a] != d->hash[b]);
    const int32_t n_states = d->n_states;
    lud_proof_decisions_clear(d);
    for (uint32_t i = 0; i <= d->mask; i++) assert_int_equal(d->table[i], 0);
    lud_proof_batch_reset(s.batch);
    int32_t actions[SLOTS] = {0};
    for (int step = 0; step < 4; step++) {
        lud_proof_decisions_add_batch(d, s.batch);
        lud_proof_batch_step_reset(s.batch, actions);
    }
    assert_int_equal(d->n_states, n_states);
    close_setup(&s);
}

/* What a decision says of a successor's successors is what the environment offers once it is entered. */
static void look_ahead_is_what_comes(void **state) {
    (void)state;
    setup s;
    lud_proof_net_options options = small_options();
    options.look_ahead = 1;
    open(&s, &options, 512);
    lud_proof_decisions *d = &s.decisions;
    const lud_proof_base *base = s.model->base;
    const int last = LUD_PROOF_MATCH_CLASSES;
    int went_on = 0, proofs = 0, dead_ends = 0;
    lud_proof_batch_reset(s.batch);
    for (uint32_t step = 0; step < 60; step++) {
        int32_t actions[SLOTS];
        lud_proof_decisions_clear(d);
        lud_proof_decisions_add_batch(d, s.batch);
        for (int32_t slot = 0; slot < SLOTS; slot++) {
            const int32_t n = d->begin[slot + 1] - d->begin[slot];
            actions[slot] = n > 1 ? (int32_t)((step * 7 + (uint32_t)slot * 5) % (uint32_t)(n - 1)) : 0;
        }
        lud_proof_batch_step_reset(s.batch, actions);
        lud_proof_decisions_add_batch(d, s.batch);
        for (int32_t slot = 0; slot < SLOTS; slot++) {
            const int32_t here = d->current[SLOTS + slot], first = s.batch->slot_begin[slot];
            const int32_t n = s.batch->slot_begin[slot + 1] - first;
            const lud_proof_atom *goal = s.batch->successors.atoms + s.batch->successors.begin[first];
            const bool proof = goal->predicate == lud_proof_true(base);
            const bool dead_end = goal->predicate == lud_proof_false(base);
            const int class = d->matches[d->state_begin[here]], others = n - 1; /* the last gives up */
            proofs += proof;
            dead_ends += dead_end;
            assert_int_equal(class == last, proof);
            if (dead_end) assert_int_equal(class, 0);
            if (!proof && !dead_end)
                assert_true(others <= (1 << class) / 2 && (class < 2 || others > (1 << class) / 4));
            if (s.batch->terminated[slot] || s.batch->truncated[slot]) continue;
            assert_int_equal(d->successor[d->begin[slot] + actions[slot]], here);
            went_on++;
        }
    }
    assert_true(went_on > 100 && proofs > 10 && dead_ends > 10);
    close_setup(&s);
}

/* The least number of steps from a state to a proof, 0: more than `most`. */
static int steps_to_proof(const lud_proof_model *model, const uint8_t *state, int most) {
    const size_t room = (size_t)model->limits.max_successors, bytes = model->model.layout.state_bytes;
    lud_proof_successors out = {.begin = calloc(room + 1, sizeof *out.begin),
                                .atoms = calloc(room * (size_t)model->limits.max_goals, sizeof *out.atoms),
                                .hash = calloc(room, sizeof *out.hash),
                                .step = calloc(room, sizeof *out.step)};
    uint8_t *next = calloc(1, bytes);
    assert_true(next && out.begin && out.atoms && out.hash && out.step);
    lud_proof_successors_of(model, state, &out, NULL);
    int least = 0;
    for (int32_t i = 0; i < out.n && most > 0; i++) {
        memcpy(next, state, bytes);
        lud_proof_enter(model, out.atoms + out.begin[i], out.begin[i + 1] - out.begin[i], out.step[i], next);
        const int32_t outcome = ((const lud_proof_state *)(const void *)next)->outcome;
        const int rest = outcome == LUD_PROOF_RUNNING ? steps_to_proof(model, next, most - 1) : 0;
        const int steps = outcome == LUD_PROOF_PROVED ? 1 : rest ? rest + 1 : 0;
        if (steps && (!least || steps < least)) least = steps;
    }
    free(out.begin);
    free(out.atoms);
    free(out.hash);
    free(out.step);
    free(next);
    return least;
}

/* Every state and successor says how near a proof is, up to the number of steps looked ahead. */
static void look_ahead_counts_steps(void **state) {
    (void)state;
    enum { STEPS = 3 };
    setup s;
    lud_proof_net_options options = small_options();
    options.look_ahead = STEPS;
    open(&s, &options, 512);
    lud_proof_decisions *d = &s.decisions;
    const size_t bytes = s.model->model.layout.state_bytes;
    int met[STEPS + 1] = {0}, found[STEPS + 1] = {0};
    uint8_t *next = calloc(1, bytes);
    assert_non_null(next);
    lud_proof_batch_reset(s.batch);
    for (uint32_t step = 0; step < 6; step++) {
        int32_t actions[SLOTS];
        lud_proof_decisions_clear(d);
        lud_proof_decisions_add_batch(d, s.batch);
        for (int32_t slot = 0; slot < SLOTS; slot++) {
            const uint8_t *here = s.batch->states + (size_t)slot * bytes;
            const lud_proof_lists *lists = &s.batch->successors;
            const int32_t first = s.batch->slot_begin[slot], n = s.batch->slot_begin[slot + 1] - first;
            int class = d->matches[d->state_begin[d->current[slot]]];
            int steps = class < LUD_PROOF_MATCH_CLASSES ? 0 : class - LUD_PROOF_MATCH_CLASSES + 1;
            assert_int_equal(steps, steps_to_proof(s.model, here, STEPS));
            met[steps]++;
            for (int32_t i = 0; i < n; i++) {
                memcpy(next, here, bytes);
                lud_proof_enter(s.model, lists->atoms + lists->begin[first + i],
                                lists->begin[first + i + 1] - lists->begin[first + i],
                                s.batch->steps[first + i], next);
                class = d->matches[d->state_begin[d->successor[d->begin[slot] + i]]];
                steps = class < LUD_PROOF_MATCH_CLASSES ? 0 : class - LUD_PROOF_MATCH_CLASSES + 1;
                const bool runs = ((const lud_proof_state *)(const void *)next)->outcome == LUD_PROOF_RUNNING;
                assert_int_equal(steps, runs ? steps_to_proof(s.model, next, STEPS) : 0);
                found[steps]++;
            }
            actions[slot] = n > 1 ? (int32_t)((step * 7 + (uint32_t)slot * 5) % (uint32_t)(n - 1)) : 0;
        }
        lud_proof_batch_step_reset(s.batch, actions);
    }
    for (int k = 0; k <= STEPS; k++) assert_true(met[k] > 0 && found[k] > 0);
    free(next);
    close_setup(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_equals_padded),       cmocka_unit_test(batches_do_not_matter),
        cmocka_unit_test(parts_do_not_matter),        cmocka_unit_test(dropout_draws_by_the_place),
        cmocka_unit_test(logits_need_no_values),      cmocka_unit_test(gradients_are_right),
        cmocka_unit_test(decisions_keep_states_once), cmocka_unit_test(look_ahead_is_what_comes),
        cmocka_unit_test(look_ahead_counts_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
