#include "learn/proof_ppo/proof_ppo.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nn/capture.h"
#include "learn/nn/optimiser.h"
#include "learn/proof_ppo/device_ppo.h"
#include "learn/proof_ppo/proof_policy.h"
#include "learn/store/profile.h"

enum column {
    STEPS,
    RETURN,
    PROVED,
    PROVED_FALSE,
    LENGTH,
    SUCCESSORS,
    POLICY_LOSS,
    VALUE_LOSS,
    ENTROPY,
    KL,
    CLIPPED,
    EXPLAINED,
    GRADIENT,
    RATE,
    ENTROPY_COEFFICIENT,
    BATCHES,
    MRR,
    HITS1,
    HITS10,
    VALID_PROVED,
    BEST_MRR,
    N_COLUMNS
};

static const lud_metric columns[N_COLUMNS] = {
    [STEPS] = {"steps", NULL, "environment steps so far"},
    [RETURN] = {"episode/return", "%.3f", "mean return of the episodes that ended"},
    [PROVED] = {"episode/proved", "%.3f", "share of true queries that were proved"},
    [PROVED_FALSE] = {"episode/proved_corrupted", "%.3f", "share of corrupted queries that were proved"},
    [LENGTH] = {"episode/length", NULL, "mean number of actions"},
    [SUCCESSORS] = {"episode/successors", NULL, "mean number of choices"},
    [POLICY_LOSS] = {"loss/policy", NULL, "clipped surrogate, mean over the update"},
    [VALUE_LOSS] = {"loss/value", NULL, "mean squared error, clipped"},
    [ENTROPY] = {"policy/entropy", "%.3f", "nats"},
    [KL] = {"policy/kl", "%.4f", "mean over the last epoch's batches of ratio - 1 - ln ratio"},
    [CLIPPED] = {"policy/clipped", NULL, "share of ratios outside the clip range"},
    [EXPLAINED] = {"value/explained_variance", NULL, "1 - Var(return - value) / Var(return)"},
    [GRADIENT] = {"gradient_norm", NULL, "of the last batch, before clipping"},
    [RATE] = {"learning_rate", NULL, "at the last batch"},
    [ENTROPY_COEFFICIENT] = {"entropy_coefficient", NULL, "at the last batch"},
    [BATCHES] = {"batches", NULL, "optimiser steps taken"},
    [MRR] = {"valid/mrr", "%.4f", "mean reciprocal rank of validation queries"},
    [HITS1] = {"valid/hits_1", NULL, "share ranked first"},
    [HITS10] = {"valid/hits_10", NULL, "share ranked among the first ten"},
    [VALID_PROVED] = {"valid/proved", NULL, "share of validation queries proved"},
    [BEST_MRR] = {"valid/best_mrr", NULL, "best so far, whose weights are kept"},
};

enum stage {
    STAGE_EXPAND,
    STAGE_ROLLOUT_NET,
    STAGE_RECORD,
    STAGE_UPDATE_NET,
    STAGE_LOSS,
    STAGE_STEP,
    STAGE_RANK,
    N_STAGES
};
static const char *const stages[N_STAGES] = {
    "environments", "network, rollout", "recording", "network, update", "losses", "optimiser", "ranking"};

typedef struct proof_ppo {
    lud_learner base;
    lud_arena *arena;
    const lud_scenario *scenario;
    const lud_proof_model *model;
    lud_device *device;
    lud_proof_ppo_options options;
    lud_parameters *parameters, *best;
    lud_proof_net *net;
    lud_proof_device_ppo *on_device; /* null on the CPU */
    lud_optimiser *optimiser;
    int value_group;      /* -1: all parameters in one */
    lud_capture stepping; /* the optimiser's steps */
    lud_proof_batch *batch;
    void *snapshot;
    lud_proof_ranker *ranker;
    lud_proof_ranking_query *ranking; /* [n_ranked] */
    int32_t n_ranked;
    lud_schedule rate, entropy;
    lud_profile profile;
    double rollout_flops, update_flops; /* of matrix products */

    /* one rollout: decisions t * n_envs + slot, and one more row for the value behind the end */
    lud_proof_decisions decisions;
    int32_t n_envs, n_steps, n_samples;
    int32_t *action;
    double *log_prob, *value, *reward, *mask, *advantage, *returns; /* value, mask: n_steps + 1 rows */
    double *log_probs;                                              /* [largest number of successors] */
    double *uniform;                                                /* [n_envs] */
    int32_t *order;

    /* one minibatch on the device, and its host sides */
    void *reals[8]; /* [largest of n_samples + n_envs] reals each */
    double *host;
    double *chosen, *gradient_log_prob, *ratio;

    uint64_t iteration, env_steps, n_updates;
    double best_mrr;
} proof_ppo;

static void destroy(lud_learner *learner) {
    proof_ppo *p = (proof_ppo *)learner;
    lud_capture_end(&p->stepping);
    lud_proof_ranker_destroy(p->ranker);
    lud_proof_device_ppo_destroy(p->on_device);
    lud_proof_net_destroy(p->net);
    lud_optimiser_destroy(p->optimiser);
    lud_parameters_destroy(p->best);
    lud_parameters_destroy(p->parameters);
    lud_proof_batch_destroy(p->batch);
    lud_proof_decisions_free(&p->decisions);
    for (size_t i = 0; i < sizeof p->reals / sizeof *p->reals; i++)
        if (p->reals[i]) lud_device_release(p->device, p->reals[i]);
    free(p->snapshot);
    free(p->ranking);
    free(p->action);
    free(p->log_prob);
    free(p->value);
    free(p->reward);
    free(p->mask);
    free(p->advantage);
    free(p->returns);
    free(p->log_probs);
    free(p->uniform);
    free(p->order);
    free(p->host);
    free(p->chosen);
    free(p->gradient_log_prob);
    free(p->ratio);
    lud_arena_destroy(p->arena);
    free(p);
}

/* ---- creation ---- */

static lud_status take_memory(proof_ppo *p, lud_error *error) {
    const size_t n = (size_t)p->n_samples, more = n + (size_t)p->n_envs;
    p->action = calloc(n, sizeof *p->action);
    p->log_prob = calloc(n, sizeof *p->log_prob);
    p->value = calloc(more, sizeof *p->value);
    p->reward = calloc(n, sizeof *p->reward);
    p->mask = calloc(more, sizeof *p->mask);
    p->advantage = calloc(n, sizeof *p->advantage);
    p->returns = calloc(n, sizeof *p->returns);
    p->log_probs = calloc((size_t)p->model->limits.max_successors, sizeof *p->log_probs);
    p->uniform = calloc((size_t)p->n_envs, sizeof *p->uniform);
    p->order = calloc(n, sizeof *p->order);
    p->host = calloc(more, sizeof *p->host);
    p->chosen = calloc(n, sizeof *p->chosen);
    p->gradient_log_prob = calloc(n, sizeof *p->gradient_log_prob);
    p->ratio = calloc(n, sizeof *p->ratio);
    p->ranking = calloc((size_t)p->n_ranked + 1, sizeof *p->ranking);
    p->snapshot = calloc(1, lud_proof_batch_snapshot_bytes(p->batch));
    bool complete = p->action && p->log_prob && p->value && p->reward && p->mask && p->advantage &&
                    p->returns && p->log_probs && p->uniform && p->order && p->host && p->chosen &&
                    p->gradient_log_prob && p->ratio && p->ranking && p->snapshot;
    for (size_t i = 0; i < sizeof p->reals / sizeof *p->reals; i++) {
        p->reals[i] = lud_device_allocate(p->device, more * p->parameters->real_bytes);
        complete = complete && p->reals[i];
    }
    return complete ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a rollout");
}

static lud_status build_network(proof_ppo *p, lud_error *error) {
    const lud_proof_ppo_options *o = &p->options;
    p->parameters = lud_parameters_create(p->device, false);
    if (!p->parameters) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a network");
    lud_status status =
        lud_proof_net_create(p->model, &o->network, p->parameters, o->chunk_rows, &p->net, error);
    if (!status) status = lud_parameters_build(p->parameters, (uint64_t)p->scenario->run.seed, error);
    if (!status) status = lud_proof_net_plan(p->net, LUD_NN_TRAIN, error);
    if (status) return status;
    p->best = lud_parameters_clone(p->parameters);
    p->optimiser = lud_optimiser_create(p->parameters);
    if (!p->best || !p->optimiser) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a network");
    lud_optimiser_options adam = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
    adam.epsilon = 1e-5;
    adam.max_norm = o->max_grad_norm;
    p->value_group = -1;
    int first = 0;
    if (o->learning_rate.value > 0.0)
        first = p->value_group = lud_optimiser_group(p->optimiser, "value.", &adam, false);
    if (first < 0 || lud_optimiser_group(p->optimiser, "", &adam, false) < 0)
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for the optimiser");
    return lud_optimiser_build(p->optimiser, (uint64_t)p->scenario->run.seed, error);
}

static lud_status build(proof_ppo *p, lud_error *error) {
    lud_status status = lud_proof_ppo_options_read(p->arena, p->scenario->learner, &p->options, error);
    if (status) return status;
    const lud_proof_ppo_options *o = &p->options;
    if (o->evaluation.rank.score == LUD_PROOF_SCORE_ODDS && !p->model->limits.end_action)
        return lud_fail_at(error, LUD_ERROR_INPUT, p->scenario->learner->place,
                           "evaluation: score: odds is that of giving up, which this world does not offer "
                           "(proof.limits.end_action)");
    if (p->scenario->run.steps > 0) p->options.total_steps = p->scenario->run.steps;
    const int n_threads = (int)p->scenario->run.threads;
    if (o->n_envs * o->n_steps > INT32_MAX / 4)
        return lud_fail(error, LUD_ERROR_LIMIT, "n_envs x n_steps is too large");
    p->n_envs = (int32_t)o->n_envs;
    p->n_steps = (int32_t)o->n_steps;
    p->n_samples = p->n_envs * p->n_steps;
    const int64_t iterations = (o->total_steps + p->n_samples - 1) / p->n_samples;
    p->base.n_iterations = (uint64_t)iterations;
    const int64_t batches = (p->n_samples + o->batch_size - 1) / o->batch_size;
    const double updates = (double)(iterations * o->n_epochs * batches);
    p->rate = lud_proof_ppo_learning_rate(o, updates);
    p->entropy = lud_proof_ppo_entropy(o, updates);
    const lud_proof_pool valid = p->model->pools[LUD_PROOF_VALID];
    p->n_ranked = o->evaluation.n_queries > 0 && o->evaluation.n_queries < valid.n
                      ? (int32_t)o->evaluation.n_queries
                      : valid.n;

    lud_proof_batch_options batch =
        lud_proof_training_options(p->model, p->n_envs, (uint64_t)p->scenario->run.seed);
    batch.n_threads = n_threads;
    status = lud_proof_batch_create(p->model, &batch, &p->batch, error);
    if (!status) status = build_network(p, error);
    if (!status && !p->net->on_cpu) {
        const int64_t batch_size = o->batch_size < p->n_samples ? o->batch_size : p->n_samples;
        status = lud_proof_device_ppo_create(p->net, o->clip_range, o->value_clip_range,
                                             batch_size > p->n_envs ? batch_size : p->n_envs, &p->on_device,
                                             error);
    }
    if (!status)
        status = lud_proof_ranker_create(p->model, p->net, &o->evaluation.rank,
                                         (lud_proof_corrupt)p->model->options.negatives.corrupt, n_threads,
                                         &p->ranker, error);
    if (!status)
        status = lud_proof_decisions_create(p->model, (int64_t)p->n_samples + p->n_envs,
                                            lud_proof_net_sees(p->net), &p->decisions, error);
    return status ? status : take_memory(p, error);
}

/* A recorded piece: it calls operations and nothing else. */
static void queue_steps(void *learner);

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    proof_ppo *p = calloc(1, sizeof *p);
    if (!p) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
    p->base = (lud_learner){.kind = &lud_learner_proof_ppo, .columns = columns, .n_columns = N_COLUMNS};
    p->scenario = scenario;
    p->model = (const lud_proof_model *)(const void *)scenario->model;
    p->device = device;
    lud_capture_start(&p->stepping, device, queue_steps, p);
    p->best_mrr = -1.0;
    p->profile = (lud_profile){.title = "proof-ppo, one iteration", .stages = stages, .n = N_STAGES};
    p->arena = lud_arena_create(0);
    lud_status status = p->arena ? build(p, error) : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (status) {
        destroy(&p->base);
        return status;
    }
    *learner = &p->base;
    return LUD_OK;
}

/* ---- collecting ---- */

static int32_t draw_action(const double *log_probs, double uniform, int32_t n) {
    for (int32_t i = 0; i + 1 < n; i++) {
        uniform -= exp(log_probs[i]);
        if (uniform < 0.0) return i;
    }
    return n > 0 ? n - 1 : 0;
}

/* Choices for the decisions that the network has run on, decisions at, at + 1, ... of the rollout. */
static void choose_on_host(proof_ppo *p, int32_t at, const double *uniform) {
    const lud_proof_net *net = p->net;
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t begin = net->begin[i], n = net->begin[i + 1] - begin;
        if (n > 0) lud_proof_log_softmax(net->logits + begin, n, p->log_probs);
        p->action[at + i] = draw_action(p->log_probs, uniform[i], n);
        p->log_prob[at + i] = n > 0 ? p->log_probs[p->action[at + i]] : 0.0;
    }
}

/* Values of the decisions from `first` on, and, with actions, choices for them. */
static void decide(proof_ppo *p, int32_t first, uint32_t step, bool choose) {
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    for (int32_t slot = 0; choose && slot < p->n_envs; slot++) {
        const lud_words w = lud_draw((lud_random_key){seed, (uint32_t)slot}, step, 0, LUD_PURPOSE_ACTION, 0);
        p->uniform[slot] = lud_unit53(w.v[0], w.v[1]);
    }
    uint32_t chunk = 0;
    for (int32_t done = 0; done < p->n_envs; chunk++) {
        const int32_t at = first + done;
        lud_profile_begin(&p->profile, STAGE_ROLLOUT_NET);
        lud_proof_net_set_step(p->net, seed, (step << 8) + chunk);
        const int32_t taken = lud_proof_net_load(p->net, &p->decisions, NULL, at, p->n_envs - done);
        if (!p->on_device)
            lud_proof_net_forward(p->net, true);
        else if (choose)
            lud_proof_device_act(p->on_device, p->uniform + done, p->action + at, p->log_prob + at,
                                 p->value + at);
        else
            lud_proof_device_act(p->on_device, NULL, NULL, NULL, p->value + at);
        p->rollout_flops += 2.0 * lud_nn_multiply_adds(p->net->nn);
        lud_profile_end(&p->profile, STAGE_ROLLOUT_NET);
        if (!p->on_device) {
            memcpy(p->value + at, p->net->values, (size_t)taken * sizeof *p->value);
            if (choose) choose_on_host(p, at, p->uniform + done);
        }
        done += taken;
    }
}

typedef struct tally {
    double episodes, returns, length, positives, proved, negatives, proved_false;
} tally;

static void count_episode(tally *t, const lud_proof_batch *batch, int slot) {
    t->episodes++;
    t->returns += (double)batch->episode_return[slot];
    t->length += batch->length[slot];
    if (batch->label[slot]) {
        t->positives++;
        t->proved += batch->success[slot];
    } else {
        t->negatives++;
        t->proved_false += batch->success[slot];
    }
}

static void collect(proof_ppo *p, double *row) {
    lud_proof_batch *batch = p->batch;
    tally t = {0};
    lud_proof_decisions_clear(&p->decisions);
    for (int32_t slot = 0; slot < p->n_envs; slot++) p->mask[slot] = 1.0;
    for (int32_t step = 0; step <= p->n_steps; step++) {
        const int32_t first = step * p->n_envs;
        lud_profile_begin(&p->profile, STAGE_RECORD);
        lud_proof_decisions_add_batch(&p->decisions, batch);
        lud_profile_end(&p->profile, STAGE_RECORD);
        decide(p, first, (uint32_t)p->env_steps, step < p->n_steps);
        if (step == p->n_steps) break;
        lud_profile_begin(&p->profile, STAGE_EXPAND);
        lud_proof_batch_step_reset(batch, p->action + first);
        lud_profile_end(&p->profile, STAGE_EXPAND);
        p->env_steps++;
        for (int32_t slot = 0; slot < p->n_envs; slot++) {
            const bool done = batch->terminated[slot] || batch->truncated[slot];
            p->reward[first + slot] = (double)batch->rewards[slot];
            p->mask[first + p->n_envs + slot] = !done;
            if (done) count_episode(&t, batch, slot);
        }
    }
    row[STEPS] = (double)p->env_steps * p->n_envs;
    row[RETURN] = t.returns / t.episodes;
    row[LENGTH] = t.length / t.episodes;
    row[PROVED] = t.proved / t.positives;
    row[PROVED_FALSE] = t.proved_false / t.negatives;
    row[SUCCESSORS] = (double)p->decisions.begin[p->n_samples] / p->n_samples;
}

static void upload(proof_ppo *p, int i, int64_t n, const double *values) {
    lud_write_reals(p->device, p->parameters->real_bytes, p->reals[i], n, values);
}
static void download(proof_ppo *p, int i, int64_t n, double *values) {
    lud_read_reals(p->device, p->parameters->real_bytes, p->reals[i], n, values);
}

static void estimate_advantages(proof_ppo *p, double *row) {
    const int64_t n = p->n_samples, more = n + p->n_envs;
    upload(p, 0, n, p->reward);
    upload(p, 1, more, p->value);
    upload(p, 2, more, p->mask);
    p->device->ops->gae(p->device, p->n_steps, p->n_envs, p->options.gamma, p->options.gae_lambda,
                        p->reals[0], p->reals[1], p->reals[2], NULL, p->reals[3], p->reals[4]);
    download(p, 3, n, p->advantage);
    download(p, 4, n, p->returns);
    double mean = 0.0, mean_error = 0.0, variance = 0.0, error_variance = 0.0;
    for (int64_t i = 0; i < n; i++) {
        mean += p->returns[i] / (double)n;
        mean_error += (p->returns[i] - p->value[i]) / (double)n;
    }
    for (int64_t i = 0; i < n; i++) {
        variance += (p->returns[i] - mean) * (p->returns[i] - mean);
        const double e = p->returns[i] - p->value[i] - mean_error;
        error_variance += e * e;
    }
    row[EXPLAINED] = variance > 0.0 ? 1.0 - error_variance / variance : NAN;
}

/* ---- updating ---- */

/* Losses and gradients of the loaded chunk after a forward run, decisions order[0], order[1], ... */
static void losses_on_host(proof_ppo *p, const lud_proof_samples *samples, const int32_t *order,
                           lud_proof_sums *s) {
    const lud_proof_ppo_options *o = &p->options;
    const lud_ops *ops = p->device->ops;
    lud_proof_net *net = p->net;
    const int32_t n = net->n_decisions;
    const double scale = samples->scale;
    for (int32_t i = 0; i < n; i++) { /* for now dlogits holds log-probabilities */
        const int32_t begin = net->begin[i], count = net->begin[i + 1] - begin;
        p->ratio[i] =
            count > 0 ? lud_proof_log_softmax(net->logits + begin, count, net->dlogits + begin) : 0.0;
        p->chosen[i] = count > 0 ? net->dlogits[begin + p->action[order[i]]] : 0.0;
        s->entropy += p->ratio[i];
    }
    /* `ratio` now holds entropies; they are used up before the ratios come back from the device */
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = net->begin[i]; k < net->begin[i + 1]; k++) {
            const double lp = net->dlogits[k];
            net->logits[k] = scale * samples->entropy_coefficient * exp(lp) * (lp + p->ratio[i]);
        }
    upload(p, 0, n, p->chosen);
    for (int32_t i = 0; i < n; i++) p->host[i] = p->log_prob[order[i]];
    upload(p, 1, n, p->host);
    for (int32_t i = 0; i < n; i++)
        p->host[i] = (p->advantage[order[i]] - samples->mean) / samples->deviation;
    upload(p, 2, n, p->host);
    ops->ppo_policy_loss(p->device, n, o->clip_range, p->reals[0], p->reals[1], p->reals[2], NULL, scale,
                         p->reals[3], p->reals[4], p->reals[5], false);
    download(p, 3, n, p->host);
    download(p, 4, n, p->ratio);
    download(p, 5, n, p->gradient_log_prob);
    for (int32_t i = 0; i < n; i++) {
        const double log_ratio = p->chosen[i] - p->log_prob[order[i]];
        s->policy += p->host[i];
        s->kl += p->ratio[i] - 1.0 - log_ratio;
        s->clipped += fabs(p->ratio[i] - 1.0) > o->clip_range;
        const int32_t begin = net->begin[i], end = net->begin[i + 1];
        for (int32_t k = begin; k < end; k++) {
            const double indicator = k - begin == p->action[order[i]];
            net->dlogits[k] = net->logits[k] + p->gradient_log_prob[i] * (indicator - exp(net->dlogits[k]));
        }
    }
    upload(p, 0, n, net->values);
    for (int32_t i = 0; i < n; i++) p->host[i] = p->value[order[i]];
    upload(p, 1, n, p->host);
    for (int32_t i = 0; i < n; i++) p->host[i] = p->returns[order[i]];
    upload(p, 2, n, p->host);
    ops->ppo_value_loss(p->device, n, o->value_clip_range, 0.0, true, p->reals[0], p->reals[1], p->reals[2],
                        NULL, scale * samples->value_coefficient, p->reals[3], p->reals[4], false);
    download(p, 3, n, p->host);
    download(p, 4, n, net->dvalues);
    for (int32_t i = 0; i < n; i++) s->value += p->host[i];
}

/* Mean and deviation of a batch's advantages; 0 and 1 when they are not normalised. */
static void advantage_moments(const proof_ppo *p, int32_t first, int32_t n, double *mean, double *deviation) {
    *mean = 0.0;
    *deviation = 1.0;
    if (!p->options.normalise_advantage || n < 2) return;
    double squares = 0.0;
    for (int32_t i = 0; i < n; i++) *mean += p->advantage[p->order[first + i]] / n;
    for (int32_t i = 0; i < n; i++) {
        const double e = p->advantage[p->order[first + i]] - *mean;
        squares += e * e;
    }
    *deviation = sqrt(squares / (n - 1)) + 1e-8;
}

/* Adds the gradients of the loaded chunk, decisions order[0], order[1], ...; within STAGE_UPDATE_NET. */
static void learn_chunk(proof_ppo *p, const lud_proof_samples *samples, const int32_t *order,
                        lud_proof_sums *s) {
    if (p->on_device) {
        lud_proof_device_learn(p->on_device, samples, order, s);
        return;
    }
    lud_proof_net_forward(p->net, true);
    lud_profile_end(&p->profile, STAGE_UPDATE_NET);
    lud_profile_begin(&p->profile, STAGE_LOSS);
    losses_on_host(p, samples, order, s);
    lud_profile_end(&p->profile, STAGE_LOSS);
    lud_profile_begin(&p->profile, STAGE_UPDATE_NET);
    lud_proof_net_backward(p->net);
}

/* Gradients of one minibatch, in as many chunks as it takes: the sum is the same for any size of chunk. */
static void batch_gradients(proof_ppo *p, int32_t first, int32_t n, double entropy_coefficient,
                            lud_proof_sums *s) {
    lud_proof_samples samples = {.action = p->action,
                                 .log_prob = p->log_prob,
                                 .advantage = p->advantage,
                                 .value = p->value,
                                 .returns = p->returns,
                                 .scale = 1.0 / n,
                                 .value_coefficient = p->options.value_coefficient,
                                 .entropy_coefficient = entropy_coefficient};
    advantage_moments(p, first, n, &samples.mean, &samples.deviation);
    lud_parameters_zero_gradients(p->parameters);
    uint32_t chunk = 0;
    for (int32_t done = 0; done < n; chunk++) {
        lud_profile_begin(&p->profile, STAGE_UPDATE_NET);
        lud_proof_net_set_step(p->net, (uint64_t)p->scenario->run.seed ^ UINT64_C(0x9e3779b97f4a7c15),
                               (uint32_t)(p->n_updates << 8) + chunk);
        const int32_t taken = lud_proof_net_load(p->net, &p->decisions, p->order, first + done, n - done);
        learn_chunk(p, &samples, p->order + first + done, s);
        p->update_flops += 6.0 * lud_nn_multiply_adds(p->net->nn); /* backward: two products for each */
        lud_profile_end(&p->profile, STAGE_UPDATE_NET);
        done += taken;
    }
}

static void shuffle(proof_ppo *p, uint32_t epoch) {
    for (int32_t i = 0; i < p->n_samples; i++) p->order[i] = i;
    const lud_random_key key = {(uint64_t)p->scenario->run.seed, (uint32_t)p->iteration};
    for (int32_t i = p->n_samples - 1; i > 0; i--) {
        const lud_words w = lud_draw(key, (uint32_t)i, epoch, LUD_PURPOSE_SHUFFLE, 0);
        const int32_t j = (int32_t)lud_below(w.v[0], (uint32_t)i + 1), swap = p->order[i];
        p->order[i] = p->order[j];
        p->order[j] = swap;
    }
}

static void queue_steps(void *learner) {
    proof_ppo *p = learner;
    for (int group = 0; group <= p->value_group + 1; group++) lud_optimiser_apply(p->optimiser, group);
}

/* The same decay for the value network's own rate. */
static void step_optimiser(proof_ppo *p, double rate) {
    const lud_proof_ppo_options *o = &p->options;
    if (p->value_group >= 0)
        lud_optimiser_prepare(p->optimiser, p->value_group,
                              o->learning_rate.start > 0.0
                                  ? rate / o->learning_rate.start * o->learning_rate.value
                                  : o->learning_rate.value);
    lud_optimiser_prepare(p->optimiser, p->value_group + 1, rate);
    if (p->net->never_record)
        queue_steps(p);
    else
        lud_capture_run(&p->stepping, 0);
}

static void update(proof_ppo *p, double *row) {
    const lud_proof_ppo_options *o = &p->options;
    const int32_t batch_size = (int32_t)(o->batch_size < p->n_samples ? o->batch_size : p->n_samples);
    const int32_t n_batches = (p->n_samples + batch_size - 1) / batch_size;
    lud_proof_sums all = {0};
    double n_all = 0.0, taken = 0.0, epoch_kl = 0.0, epoch_n = 0.0, rate = 0.0, coefficient = 0.0;
    bool stop = false;
    for (int32_t epoch = 0; epoch < o->n_epochs && !stop; epoch++) {
        shuffle(p, (uint32_t)epoch);
        epoch_kl = epoch_n = 0.0;
        for (int32_t b = 0; b < n_batches && !stop; b++) {
            const int32_t first = b * batch_size;
            const int32_t n = p->n_samples - first < batch_size ? p->n_samples - first : batch_size;
            /* schedules go by what was planned, so that an early stop does not stretch them */
            const double place = ((double)p->iteration * (double)o->n_epochs + epoch) * n_batches + b;
            rate = lud_schedule_at(&p->rate, place);
            coefficient = lud_schedule_at(&p->entropy, place);
            lud_proof_sums s = {0};
            batch_gradients(p, first, n, coefficient, &s);
            all.policy += s.policy;
            all.value += s.value;
            all.entropy += s.entropy;
            all.clipped += s.clipped;
            n_all += n;
            epoch_kl += s.kl;
            epoch_n += n;
            stop = o->target_kl > 0.0 && s.kl / n > 1.5 * o->target_kl;
            if (stop) break;
            lud_profile_begin(&p->profile, STAGE_STEP);
            step_optimiser(p, rate);
            lud_profile_end(&p->profile, STAGE_STEP);
            p->n_updates++;
            taken++;
        }
    }
    row[POLICY_LOSS] = all.policy / n_all;
    row[VALUE_LOSS] = all.value / n_all;
    row[ENTROPY] = all.entropy / n_all;
    row[CLIPPED] = all.clipped / n_all;
    row[KL] = epoch_kl / epoch_n;
    row[GRADIENT] = taken > 0.0 ? lud_optimiser_norm(p->optimiser, p->value_group + 1) : NAN;
    row[RATE] = rate;
    row[ENTROPY_COEFFICIENT] = coefficient;
    row[BATCHES] = taken;
}

/* ---- validation ---- */

static lud_status validate(proof_ppo *p, double *row, lud_error *error) {
    if (p->n_ranked == 0) return LUD_OK;
    lud_profile_begin(&p->profile, STAGE_RANK);
    lud_status status =
        lud_proof_rank(p->ranker, p->model->pools[LUD_PROOF_VALID], 0, p->n_ranked, p->ranking, error);
    lud_profile_end(&p->profile, STAGE_RANK);
    if (status) return status;
    const lud_proof_ranking_summary s =
        lud_proof_ranking_summarise(&p->options.evaluation.rank, p->ranking, p->n_ranked, NULL);
    if (s.mrr >= p->best_mrr) { /* of equal ones the later, which has learned longer */
        p->best_mrr = s.mrr;
        lud_parameters_copy(p->best, p->parameters);
    }
    row[MRR] = s.mrr;
    row[HITS1] = s.hits1;
    row[HITS10] = s.hits10;
    row[VALID_PROVED] = (double)s.n_proved / (double)s.n_queries;
    row[BEST_MRR] = p->best_mrr;
    return LUD_OK;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    proof_ppo *p = (proof_ppo *)learner;
    double before[N_COLUMNS];
    lud_proof_net_use(p->net, p->parameters); /* who looked in between may have left others in use */
    lud_status status = p->iteration == 0 ? validate(p, before, error) : LUD_OK;
    if (status) return status;
    collect(p, row);
    estimate_advantages(p, row);
    update(p, row);
    p->iteration++;
    lud_profile_call(&p->profile);
    const uint64_t every = (uint64_t)p->options.evaluation.every;
    if (p->iteration == p->base.n_iterations || (every && p->iteration % every == 0))
        status = validate(p, row, error);
    const char *failure = lud_device_failure(p->device);
    if (!status && failure) status = lud_fail(error, LUD_ERROR_NUMERIC, "%s", failure);
    return status;
}

/* ---- saving ---- */

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    proof_ppo *p = (proof_ppo *)learner;
    lud_checkpoint_u64(checkpoint, "proof_ppo.iteration", &p->iteration);
    lud_checkpoint_u64(checkpoint, "proof_ppo.env_steps", &p->env_steps);
    lud_checkpoint_u64(checkpoint, "proof_ppo.n_updates", &p->n_updates);
    lud_checkpoint_real(checkpoint, "proof_ppo.best_mrr", &p->best_mrr);
    lud_parameters_visit(p->parameters, "", checkpoint);
    lud_parameters_visit(p->best, "best.", checkpoint);
    lud_optimiser_visit(p->optimiser, "optimiser.", checkpoint);
    const bool loading = lud_checkpoint_loading(checkpoint);
    if (!loading) lud_proof_batch_save(p->batch, p->snapshot);
    lud_checkpoint_bytes(checkpoint, "proof_ppo.environments", p->snapshot,
                         lud_proof_batch_snapshot_bytes(p->batch));
    if (loading && lud_checkpoint_status(checkpoint, NULL) == LUD_OK)
        lud_proof_batch_load(p->batch, p->snapshot);
}

static void report(lud_learner *learner, lud_text *out) {
    proof_ppo *p = (proof_ppo *)learner;
    const double seconds = p->profile.seconds[STAGE_ROLLOUT_NET] + p->profile.seconds[STAGE_UPDATE_NET];
    lud_profile_print(&p->profile, out);
    lud_text_append(out, "matrix products: %.3g GFLOP in rollouts, %.3g in updates, %.0f GFLOP/s\n",
                    p->rollout_flops * 1e-9, p->update_flops * 1e-9,
                    (p->rollout_flops + p->update_flops) * 1e-9 / fmax(seconds, 1e-9));
    uint64_t pieces, replayed;
    lud_proof_ppo_pieces(learner, &pieces, &replayed);
    if (replayed)
        lud_text_append(out,
                        "replayed from recorded graphs: %" PRIu64 " of %" PRIu64 " pieces of device work\n",
                        replayed, pieces);
    lud_text_append(out, "\nbest validation MRR %.4f; ludus eval RUN ranks the test queries\n", p->best_mrr);
}

static lud_status acting(lud_learner *learner, lud_policy **policy, lud_error *error) {
    return lud_proof_policy_create(lud_proof_ppo_net(learner, true), policy, error);
}

const lud_learner_kind lud_learner_proof_ppo = {
    .name = "proof-ppo",
    .about = "a policy that searches for proofs, by proximal policy optimisation",
    .options = &lud_proof_ppo_table,
    .values = offsetof(proof_ppo, options),
    .world = "proof",
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .visit = visit,
    .report = report,
    .policy = acting,
};

lud_proof_net *lud_proof_ppo_net(lud_learner *learner, bool best) {
    proof_ppo *p = (proof_ppo *)learner;
    const bool kept = best && p->options.evaluation.keep_best && p->best_mrr >= 0.0;
    lud_proof_net_use(p->net, kept ? p->best : p->parameters);
    return p->net;
}

void lud_proof_ppo_rollout(lud_learner *learner) {
    proof_ppo *p = (proof_ppo *)learner;
    double row[N_COLUMNS];
    lud_proof_net_use(p->net, p->parameters);
    collect(p, row);
}

void lud_proof_ppo_pieces(const lud_learner *learner, uint64_t *n, uint64_t *n_replayed) {
    const proof_ppo *p = (const proof_ppo *)learner;
    const lud_proof_device_ppo *d = p->on_device;
    const lud_capture *const pieces[] = {&p->net->forwards, &p->net->backwards, &p->stepping,
                                         d ? &d->acting : NULL, d ? &d->learning : NULL};
    *n = *n_replayed = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        if (!pieces[i]) continue;
        *n += pieces[i]->runs;
        *n_replayed += pieces[i]->n_replayed;
    }
}

const lud_proof_ppo_options *lud_proof_ppo_get_options(const lud_learner *learner) {
    return &((const proof_ppo *)learner)->options;
}

const lud_proof_model *lud_proof_ppo_model(const lud_learner *learner) {
    return ((const proof_ppo *)learner)->model;
}
