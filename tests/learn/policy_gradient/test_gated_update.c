/* Updates with a gate: what it drops is in no slice, what it keeps gives the gradients that it gave with
 * weights of 0 for the rest, the critic goes on learning from all, and other baselines than a critic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/mappo/support_mappo.h"
#include "learn/proof_ppo/support_proof.h"
#include "learn/train.h"

#define TAG(gate, more)                                                                                      \
    "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_tag, episode_length: 5}\n"                  \
    "run: {environments: 5, seed: 9}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 8, "    \
    "identify: true, "                                                                                       \
    "normaliser: none, output_gain: 1, gate: {warmup_experiences: 0, " gate "}, " more                       \
    ", " SUPPORT_MAPPO_SMALL "}\n"

static void assert_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.12g, expected %.12g", got, expected);
}

static double number(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 16777216.0;
}

/* A rollout with invented advantages and returns, cut into chunks. */
static support_mappo rolled_out(const char *text) {
    support_mappo b = support_mappo_open(text);
    assert_int_equal(support_mappo_collect(&b), LUD_OK);
    const lud_mappo_buffer *buffer = &b.learner->training.buffer;
    lud_update *u = &b.learner->groups[0].ppo.core;
    uint32_t random = 11;
    u->n_chunks = lud_mappo_buffer_cut(buffer, b.learner->options.chunk_length, u->chunks);
    for (int64_t i = 0; i < buffer->n_steps * buffer->n_rows; i++) {
        buffer->advantages[i] = (float)(2.0 * number(&random) - 1.0);
        buffer->returns[i] = (float)(4.0 * number(&random));
    }
    return b;
}

static int by_length(const void *a, const void *b) {
    const lud_chunk *x = a, *y = b;
    return x->length != y->length ? y->length - x->length : x->first - y->first;
}

/* The gradients of one pass over some chunks; the caller frees them. */
static double *gradients_of(support_mappo *b, lud_ppo_pass pass, const lud_chunk *chunks, int64_t n) {
    lud_mappo_learner_state *m = b->learner;
    lud_parameters *p = m->groups[0].update->parameters;
    lud_error error = {0};
    double *gradients = malloc((size_t)p->size * sizeof *gradients);
    lud_parameters_zero_gradients(p);
    m->groups[0].ppo.core.ppo.pass = (int)pass;
    for (int64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && chunks[end].length == chunks[first].length; end++) {
        }
        assert_int_equal(lud_mappo_gather(m, &m->groups[0], chunks + first, end - first, &error), LUD_OK);
        lud_mappo_ppo_add_slice(&m->groups[0].ppo);
    }
    for (int64_t i = 0; i < p->size; i++) gradients[i] = (double)((const float *)p->gradients)[i];
    return gradients;
}

static void near(const char *what, int64_t n, const double *got, const double *expected) {
    double largest = 0.0, difference = 0.0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(expected[i]));
        difference = fmax(difference, fabs(got[i] - expected[i]));
    }
    assert_true(largest > 1e-4);
    if (difference > 1e-5 * largest) fail_msg("%s: gradients differ by %g of %g", what, difference, largest);
}

/* Chunks with fewer than k of larger delight, from mean advantage and mean surprisal of their steps. */
static int64_t most_delightful(const support_mappo *b, const lud_chunk *chunks, int64_t n, int64_t k,
                               lud_chunk *kept) {
    const lud_mappo_buffer *buffer = &b->learner->training.buffer;
    double *delight = malloc((size_t)n * sizeof *delight);
    int64_t found = 0;
    for (int64_t c = 0; c < n; c++) {
        double advantage = 0.0, surprisal = 0.0;
        for (int32_t s = 0; s < chunks[c].length; s++) {
            const int64_t row = chunks[c].first + s * buffer->n_rows;
            advantage += (double)buffer->advantages[row] / chunks[c].length;
            surprisal -= (double)buffer->log_probs[row] / chunks[c].length;
        }
        delight[c] = advantage * surprisal;
    }
    for (int64_t c = 0; c < n; c++) {
        int64_t before = 0;
        for (int64_t o = 0; o < n; o++) before += delight[o] > delight[c];
        if (before < k) kept[found++] = chunks[c];
    }
    free(delight);
    return found;
}

/* The policy's gradient from kept chunks alone is the masked gradient of all, divided by what the options
 * say; single steps and chunks of a recurrent policy. */
static void kept_chunks_give_the_masked_gradient(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int normalise;
    } cases[] = {{TAG("mode: top_k, rate: 0.25", "recurrent: false"), LUD_GATE_BY_KEPT},
                 {TAG("mode: top_k, rate: 0.25, normalise: all", "recurrent: false"), LUD_GATE_BY_ALL},
                 {TAG("mode: top_k, rate: 0.25, normalise: none", "chunk_length: 3"), LUD_GATE_BY_NONE},
                 {TAG("mode: top_k, rate: 0.25", "chunk_length: 3"), LUD_GATE_BY_KEPT}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        support_mappo b = rolled_out(cases[k].text);
        lud_update *u = &b.learner->groups[0].ppo.core;
        const int64_t n = u->n_chunks, size = b.learner->groups[0].update->parameters->size;
        qsort(u->chunks, (size_t)n, sizeof *u->chunks, by_length);
        lud_update_begin(u, u->chunks, n, (lud_random_key){9, 0}, 0);
        double *masked = gradients_of(&b, LUD_PPO_POLICY, u->chunks, n);
        lud_chunk *kept = malloc((size_t)n * sizeof *kept);
        const int64_t few = most_delightful(&b, u->chunks, n, (int64_t)nearbyint(0.25 * (double)n), kept);
        memcpy(u->chosen, u->chunks, (size_t)n * sizeof *u->chosen);
        assert_int_equal(lud_minibatch_gate_compact(&u->gate, u->chosen, n), few);
        assert_memory_equal(u->chosen, kept, (size_t)few * sizeof *kept);
        double rows = 0.0;
        for (int64_t c = 0; c < few; c++) rows += kept[c].length;
        assert_near((double)u->gate.n_kept, rows, 0.0);
        double *alone = gradients_of(&b, LUD_PPO_POLICY, kept, few);
        near("compacted", size, alone, masked);
        /* as if there were no gate, and only these samples */
        u->ppo.weight = NULL;
        u->ppo.scale = 1.0 / (cases[k].normalise == LUD_GATE_BY_KEPT  ? rows
                              : cases[k].normalise == LUD_GATE_BY_ALL ? (double)u->gate.n_rows
                                                                      : 1.0);
        double *plain = gradients_of(&b, LUD_PPO_POLICY, kept, few);
        near("divided", size, alone, plain);
        free(masked), free(alone), free(plain), free(kept);
        support_mappo_close(&b);
    }
}

/* Without a gate both passes together are the gradient of one; with one the critic's is that of all. */
static void two_passes_are_one(void **state) {
    (void)state;
    support_mappo plain = rolled_out(TAG("mode: off", "chunk_length: 3")),
                  gated = rolled_out(TAG("mode: top_k, rate: 0.1", "chunk_length: 3"));
    lud_update *u = &plain.learner->groups[0].ppo.core, *g = &gated.learner->groups[0].ppo.core;
    const int64_t n = u->n_chunks, size = plain.learner->groups[0].update->parameters->size;
    qsort(u->chunks, (size_t)n, sizeof *u->chunks, by_length);
    qsort(g->chunks, (size_t)n, sizeof *g->chunks, by_length);
    lud_update_begin(u, u->chunks, n, (lud_random_key){9, 0}, 0);
    lud_update_begin(g, g->chunks, n, (lud_random_key){9, 0}, 0);
    double *both = gradients_of(&plain, LUD_PPO_BOTH, u->chunks, n),
           *policy = gradients_of(&plain, LUD_PPO_POLICY, u->chunks, n),
           *critic = gradients_of(&plain, LUD_PPO_CRITIC, u->chunks, n),
           *ungated = gradients_of(&gated, LUD_PPO_CRITIC, g->chunks, n);
    near("of a critic with a gate", size, ungated, critic);
    for (int64_t i = 0; i < size; i++) policy[i] += critic[i];
    near("of both", size, policy, both);
    free(both), free(policy), free(critic), free(ungated);
    support_mappo_close(&plain);
    support_mappo_close(&gated);
}

/* What passes through the networks in whole updates, and the columns that say so. */
static void dropped_rows_are_in_no_slice(void **state) {
    (void)state;
    for (int keeps = 0; keeps < 2; keeps++) {
        support_mappo b =
            support_mappo_open(keeps ? TAG("mode: top_k, rate: 0.2, critic: kept", "recurrent: false")
                                     : TAG("mode: top_k, rate: 0.2", "recurrent: false"));
        const lud_learner *l = &b.learner->base;
        const lud_update *u = &b.learner->groups[0].ppo.core;
        double row[64];
        lud_error error = {0};
        assert_int_equal(l->kind->iterate(&b.learner->base, row, &error), LUD_OK);
        const double all = 2.0 * 8 * 5 * 4, kept = 0.2 * all; /* epochs, steps, environments, agents */
        assert_near(u->sums.rows, kept, 0.0);
        assert_near(u->sums.value_rows, keeps ? kept : all, 0.0);
        assert_string_equal(l->columns[l->n_columns - 2].name, "gate/kept");
        assert_near(row[l->n_columns - 2], 0.2, 1e-12);
        assert_true(isfinite(row[l->n_columns - 1]));
        support_mappo_close(&b);
    }
}

/* A price that nothing reaches: the policy rests, its optimiser too, and the critic learns. */
static void nothing_kept_is_no_step(void **state) {
    (void)state;
    support_mappo b =
        support_mappo_open(TAG("mode: threshold, fixed_price: true, price: 1e9, min_keep: 0", "layers: 1"));
    lud_parameters *p = b.learner->groups[0].update->parameters;
    float *before = malloc((size_t)p->size * sizeof *before);
    memcpy(before, p->values, (size_t)p->size * sizeof *before);
    double row[64];
    lud_error error = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(b.learner->base.kind->iterate(&b.learner->base, row, &error), LUD_OK);
    double critic = 0.0;
    for (int i = 0; i < p->n; i++) {
        const lud_parameter *item = &p->items[i];
        for (int64_t k = item->offset; k < item->offset + item->n; k++) {
            const double change = fabs((double)((const float *)p->values)[k] - (double)before[k]);
            if (strncmp(item->name, "actor.", 6) == 0)
                assert_true(change == 0.0);
            else
                critic += change;
        }
    }
    assert_true(critic > 0.0);
    assert_true(isfinite(row[LUD_MAPPO_VALUE_LOSS + b.learner->n_measures]));
    free(before);
    support_mappo_close(&b);
}

/* The same for a critic that learns from what is kept: nobody steps, and no step is counted. */
static void nothing_kept_for_anybody(void **state) {
    (void)state;
    support_mappo b = support_mappo_open(
        TAG("mode: threshold, fixed_price: true, price: 1e9, min_keep: 0, critic: kept", "layers: 1"));
    const lud_parameters *p = b.learner->groups[0].update->parameters;
    float *before = malloc((size_t)p->size * sizeof *before);
    memcpy(before, p->values, (size_t)p->size * sizeof *before);
    double row[64];
    lud_error error = {0};
    assert_int_equal(b.learner->base.kind->iterate(&b.learner->base, row, &error), LUD_OK);
    assert_memory_equal(before, p->values, (size_t)p->size * sizeof *before);
    assert_int_equal(b.learner->groups[0].ppo.core.n_steps, 0);
    free(before);
    support_mappo_close(&b);
}

/* ---- the prover ---- */

static const char *const prover[] = {
    ("learner.network={embedding_size: 12, hidden: 16, layers: 1, dropout: 0, "
     "constant_scale: 0.02, states: concat, temperature: 0.2}"),
    "learner.n_envs=8",
    "learner.n_steps=8",
    "learner.batch_size=64",
    "learner.n_epochs=1",
    "learner.total_steps=192",
    "learner.evaluation={every: 2, queries: 3, candidates: 3, slots: 4}"};
enum { N_PROVER = sizeof prover / sizeof *prover };

typedef struct support_prover {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
    lud_proof_learner_state *state;
} support_prover;

static support_prover open_prover(const char *more) {
    const char *set[N_PROVER + 1];
    memcpy(set, prover, sizeof prover);
    set[N_PROVER] = more;
    support_prover p = {.scenario = support_proof_scenario(set, N_PROVER + 1)};
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &p.device, &error), LUD_OK);
    if (lud_learner_create(p.scenario, p.device, &p.learner, &error)) fail_msg("%s", error.text);
    p.state = (lud_proof_learner_state *)p.learner;
    return p;
}

static void close_prover(support_prover *p) {
    lud_learner_destroy(p->learner);
    lud_device_close(p->device);
    lud_scenario_destroy(p->scenario);
}

/* The gradients of one pass over all decisions, and the states that passed through the network. */
static double *prover_gradients(support_prover *p, lud_ppo_pass pass, int64_t *states) {
    lud_proof_learner_state *s = p->state;
    double *gradients = malloc((size_t)s->parameters->size * sizeof *gradients);
    s->update.ppo.pass = (int)pass;
    lud_parameters_zero_gradients(s->parameters);
    *states = 0;
    for (int32_t done = 0; done < s->n_samples;) {
        const int32_t n = s->n_samples - done;
        for (int32_t i = 0; i < n; i++) s->order[i] = done + i;
        done += pass == LUD_PPO_CRITIC ? lud_proof_net_load_states(s->net, &s->decisions, s->order, 0, n)
                                       : lud_proof_net_load(s->net, &s->decisions, s->order, 0, n);
        *states += s->net->n_rows;
        lud_proof_head_learn(&s->head, &s->update.ppo, s->action, s->order, &s->update.minibatch);
    }
    lud_proof_net_add_up(s->net);
    for (int64_t i = 0; i < s->parameters->size; i++)
        gradients[i] = (double)((const float *)s->parameters->gradients)[i];
    return gradients;
}

/* The critic's pass sees the states that decisions are made in, not their successors, and together with the
 * policy's gives the gradient of both. */
static void values_need_no_successors(void **state) {
    (void)state;
    static const char *const nets[] = {"learner.network.separate_value=true",
                                       "learner.network.separate_value=false"};
    for (int k = 0; k < 2; k++) {
        support_prover p = open_prover(nets[k]);
        lud_proof_learner_state *s = p.state;
        lud_proof_ppo_rollout(p.learner);
        uint32_t random = 3;
        for (int32_t i = 0; i < s->n_samples; i++) {
            s->update.chunks[i] = (lud_chunk){i, 1};
            s->advantage[i] = (float)(2.0 * number(&random) - 1.0);
            s->returns[i] = (float)number(&random);
        }
        lud_update_begin(&s->update, s->update.chunks, s->n_samples, (lud_random_key){1, 0}, 0);
        int64_t states[3];
        double *both = prover_gradients(&p, LUD_PPO_BOTH, &states[0]),
               *policy = prover_gradients(&p, LUD_PPO_POLICY, &states[1]),
               *critic = prover_gradients(&p, LUD_PPO_CRITIC, &states[2]);
        assert_true(states[0] == states[1] && 2 * states[2] < states[0]);
        for (int64_t i = 0; i < s->parameters->size; i++) policy[i] += critic[i];
        near("of both", s->parameters->size, policy, both);
        free(both), free(policy), free(critic);
        close_prover(&p);
    }
}

/* ---- resuming ---- */

static void train_part(const char *folder, const char *name, const char *text, bool resume, uint64_t stop) {
    char path[128];
    lud_error error = {0};
    lud_train_result result;
    support_mappo b = support_mappo_open(text);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const lud_train_options options = {
        .folder = path, .resume = resume, .stop_after = stop, .configuration = "ludus: 1\n"};
    const lud_status status = lud_train(&b.learner->base, &options, &result, &error);
    if (status != (stop ? LUD_INTERRUPTED : LUD_OK)) fail_msg("%s", error.text);
    support_mappo_close(&b);
}

/* With a price from a history that began before, a warm-up that ends in the middle and running means of
 * returns. */
static void resuming_gives_the_same_bytes(void **state) {
    (void)state;
    static const char *const text =
        "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_spread, episode_length: 5}\n"
        "run: {environments: 4, seed: 9}\nlearner: {type: graph-mappo, automatic: false, rollout_length: 6, "
        "chunk_length: 3, "
        "gate: {mode: threshold, rate: 0.2, warmup_experiences: 100, history: 50, history_min: 10}, "
        "baseline: {type: warmup_then_ema, warmup: 100}, hidden_size: 8, steps: 96, epochs: 2, minibatches: "
        "2, graph: {hidden_size: 4, heads: 2, embed_hidden_size: 8, layers: 1}}\n";
    char folder[] = "/tmp/ludus-gated-XXXXXX", path[128], command[64];
    assert_non_null(mkdtemp(folder));
    train_part(folder, "whole", text, false, 0);
    train_part(folder, "parts", text, false, 1);
    train_part(folder, "parts", text, true, 2);
    train_part(folder, "parts", text, true, 0);
    lud_checkpoint *whole = NULL, *parts = NULL;
    snprintf(path, sizeof path, "%s/whole/checkpoint.safetensors", folder);
    assert_int_equal(lud_checkpoint_open(path, &whole, NULL), LUD_OK);
    snprintf(path, sizeof path, "%s/parts/checkpoint.safetensors", folder);
    assert_int_equal(lud_checkpoint_open(path, &parts, NULL), LUD_OK);
    assert_non_null(lud_checkpoint_find(whole, "gate.history.delights"));
    assert_non_null(lud_checkpoint_find(whole, "baseline.statistics"));
    for (int i = 0; i < lud_checkpoint_n_tensors(whole); i++) {
        const lud_tensor *x = lud_checkpoint_get(whole, i), *y = lud_checkpoint_find(parts, x->name);
        assert_non_null(y);
        if (strcmp(x->name, "seconds") != 0 && memcmp(x->data, y->data, x->bytes) != 0)
            fail_msg("%s differs after resuming", x->name);
    }
    lud_checkpoint_destroy(whole);
    lud_checkpoint_destroy(parts);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Draws of a gate are functions of the seed: two trainings are alike, and other than one without. */
static void gated_training_repeats(void **state) {
    (void)state;
    static const char *const texts[] = {
        TAG("mode: bernoulli, rate: 0.5, temperature: 0.5", "chunk_length: 3"),
        TAG("mode: bernoulli, rate: 0.5, temperature: 0.5", "chunk_length: 3"),
        TAG("mode: off", "chunk_length: 3")};
    float weights[3] = {0};
    for (int k = 0; k < 3; k++) {
        support_mappo b = support_mappo_open(texts[k]);
        double row[64];
        lud_error error = {0};
        for (int i = 0; i < 2; i++)
            assert_int_equal(b.learner->base.kind->iterate(&b.learner->base, row, &error), LUD_OK);
        const lud_parameters *p = b.learner->groups[0].update->parameters;
        for (int64_t i = 0; i < p->size; i++) weights[k] += fabsf(((const float *)p->values)[i]);
        support_mappo_close(&b);
    }
    assert_true(weights[0] == weights[1] && weights[0] != weights[2]);
}

/* ---- baselines ---- */

/* Advantages are returns less the mean of the copies of the world at the same step, then of deviation 1. */
static void returns_are_compared_with_their_group(void **state) {
    (void)state;
    static const char *const types[] = {"group_mean", "zero"};
    for (int k = 0; k < 2; k++) {
        char text[600];
        snprintf(text, sizeof text,
                 "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple_spread, episode_length: 5}\n"
                 "run: {environments: 4, seed: 9}\nlearner: {type: graph-mappo, automatic: false, "
                 "rollout_length: 6, "
                 "baseline: {type: %s}, " SUPPORT_MAPPO_SMALL "}\n",
                 types[k]);
        support_mappo b = support_mappo_open(text);
        assert_int_equal(support_mappo_collect(&b), LUD_OK);
        lud_error error = {0};
        assert_int_equal(lud_mappo_update(b.learner, &error), LUD_OK);
        const lud_mappo_buffer *buffer = &b.learner->training.buffer;
        enum { ROWS = 4 * 3, STEPS = 6, N = ROWS * STEPS };
        double expected[N], mean = 0.0, square = 0.0;
        for (int i = 0; i < N; i++) {
            expected[i] = (double)buffer->returns[i];
            for (int o = 0; o < ROWS && k == 0; o++)
                expected[i] -= (double)buffer->returns[i / ROWS * ROWS + o] / ROWS;
            mean += expected[i] / N;
        }
        for (int i = 0; i < N; i++) square += (expected[i] - mean) * (expected[i] - mean) / N;
        for (int i = 0; i < N; i++)
            assert_near((double)buffer->advantages[i], (expected[i] - mean) / (sqrt(square) + 1e-5), 1e-4);
        support_mappo_close(&b);
    }
}

static void a_baseline_without_its_numbers_is_refused(void **state) {
    (void)state;
    static const char *const text =
        "ludus: 1\nname: t\nworld: particle\nparticle: {task: simple}\nlearner: "
        "{type: graph-mappo, automatic: false, baseline: {type: expected_confidence}}\n";
    lud_device *device;
    lud_scenario *scenario;
    lud_learner *learner = NULL;
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    assert_int_equal(lud_scenario_read("test", text, strlen(text), NULL, 0, &scenario, &error), LUD_OK);
    assert_int_equal(lud_learner_create(scenario, device, &learner, &error), LUD_ERROR_INPUT);
    if (!strstr(error.text, "learner.baseline: expected_confidence")) fail_msg("%s", error.text);
    lud_scenario_destroy(scenario);
    lud_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_chunks_give_the_masked_gradient),
                                       cmocka_unit_test(two_passes_are_one),
                                       cmocka_unit_test(dropped_rows_are_in_no_slice),
                                       cmocka_unit_test(nothing_kept_is_no_step),
                                       cmocka_unit_test(nothing_kept_for_anybody),
                                       cmocka_unit_test(values_need_no_successors),
                                       cmocka_unit_test(resuming_gives_the_same_bytes),
                                       cmocka_unit_test(gated_training_repeats),
                                       cmocka_unit_test(returns_are_compared_with_their_group),
                                       cmocka_unit_test(a_baseline_without_its_numbers_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
