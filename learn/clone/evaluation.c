#include "learn/clone/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/clone/policy.h"
#include "learn/runs/run.h"

enum { MOST_HELD_OUT = 8192 };

const lud_metric lud_clone_judged_columns[LUD_CLONE_JUDGED_COLUMNS] = {
    [LUD_CLONE_JUDGED_RETURN] = {"evaluation/return", "%.4g",
                                 "mean over agents, over episodes that the clone acts in"},
    [LUD_CLONE_JUDGED_ENDED] = {"evaluation/ended", NULL, "share of episodes that the world's rules ended"},
    [LUD_CLONE_JUDGED_LOG_PROB] = {"held_out/log_prob", "%.4g",
                                   "mean log-probability of the next action in held-out episodes"},
    [LUD_CLONE_JUDGED_HITS] =
        {"held_out/hits", "%.3f",
         "share of next actions there that are the likeliest choice; of numbers the root "
         "of the mean squared error, in deviations"},
    [LUD_CLONE_JUDGED_LATER] = {"held_out/later", NULL,
                                "the same log-probability of the actions after the next one"},
    [LUD_CLONE_JUDGED_SUMMARY] = {"held_out/summary", NULL,
                                  "mean error of a count, or a sum, of the coming window"},
    [LUD_CLONE_JUDGED_PAIRS] = {"held_out/pairs", NULL,
                                "mean error of a count, or a sum, of what was done between two frames"}};

lud_status lud_clone_evaluation_open(const lud_clone_options *options, const lud_scenario *scenario,
                                     const lud_clone_data *data, lud_device *device,
                                     lud_parameters *parameters, lud_clone_evaluation *e, lud_error *error) {
    const lud_model *model = scenario->model;
    const int64_t n = options->batch;
    *e = (lud_clone_evaluation){.options = options, .scenario = scenario, .data = data};
    lud_status status = lud_clone_networks_open(model, options, device, 0, 3 * n, n, LUD_CLONE_JUDGE,
                                                parameters, &e->networks, error);
    if (!status) status = lud_clone_batch_open(data, &e->networks, n, &e->batch, error);
    if (!status) status = lud_run_cast(NULL, scenario, &e->cast, error);
    if (!status)
        status =
            lud_clone_join_learner(options, model, device, parameters, &data->normalisation, e->cast, error);
    if (status) return status;
    const size_t words = (size_t)(n * e->networks.horizon * e->networks.width);
    e->values = calloc(words, sizeof *e->values);
    e->target = calloc(words, sizeof *e->target);
    e->log_std = calloc((size_t)e->networks.width, sizeof *e->log_std);
    if (!e->values || !e->target || !e->log_std) return lud_no_memory(error, "an evaluation");
    return LUD_OK;
}

void lud_clone_evaluation_close(lud_clone_evaluation *e) {
    lud_cast_destroy(e->cast);
    lud_clone_batch_close(&e->batch);
    lud_clone_networks_close(&e->networks);
    free(e->values);
    free(e->target);
    free(e->log_std);
    *e = (lud_clone_evaluation){0};
}

/* ---- episodes ---- */

static lud_status play(lud_clone_evaluation *e, double *row, lud_error *error) {
    const lud_layout *layout = &e->scenario->model->layout;
    lud_rollout rollout = {0};
    lud_status status =
        lud_rollout_run(e->scenario, e->cast, e->options->evaluation_episodes, 0, NULL, &rollout, error);
    if (!status) {
        double total = 0.0;
        for (int a = 0; a < layout->n_agents; a++) total += rollout.agents[a].episode_return.mean;
        row[LUD_CLONE_JUDGED_RETURN] = total / layout->n_agents;
        row[LUD_CLONE_JUDGED_ENDED] = (double)rollout.terminated / (double)rollout.episodes;
        for (int k = 0; k < layout->n_columns; k++)
            row[LUD_CLONE_JUDGED_COLUMNS + k] = rollout.measures[k].mean;
    }
    lud_rollout_free(&rollout);
    return status;
}

/* ---- steps held out ---- */

typedef struct held_out {
    double n, log_prob, hits, n_later, later, n_summary, summary, n_pairs, pairs;
} held_out;

/* ln p of the choice among those allowed (null: all); *likeliest: whether none has a larger p. */
static double log_prob_of(int n, const float *logits, const uint8_t *allowed, int32_t choice,
                          bool *likeliest) {
    double largest = -INFINITY, sum = 0.0;
    for (int k = 0; k < n; k++)
        if (!allowed || allowed[k]) largest = fmax(largest, (double)logits[k]);
    for (int k = 0; k < n; k++)
        if (!allowed || allowed[k]) sum += exp((double)logits[k] - largest);
    *likeliest = (double)logits[choice] >= largest;
    return (double)logits[choice] - largest - log(sum);
}

static double log_density_of(int64_t n, const float *mean, const double *log_std, const float *x,
                             double *squares) {
    double total = 0.0;
    *squares = 0.0;
    for (int64_t j = 0; j < n; j++) {
        const double e = (double)x[j] - (double)mean[j], z = e / exp(log_std[j]);
        *squares += e * e / (double)n;
        total += -0.5 * z * z - log_std[j] - 0.5 * log(2.0 * M_PI);
    }
    return total;
}

/* Position k of sample i: adds to what stands for the next action, or for later ones. */
static void judge_position(lud_clone_evaluation *e, int64_t i, int64_t k, held_out *h) {
    const lud_layout *layout = &e->scenario->model->layout;
    const int64_t width = e->networks.width, at = i * e->networks.horizon + k;
    const float *out = e->values + at * width;
    double log_prob, hit;
    if (e->data->choices) {
        int32_t choice;
        bool likeliest;
        memcpy(&choice, e->target + at, sizeof choice);
        const uint8_t *allowed =
            e->networks.base->shape.masked ? (const uint8_t *)e->batch.choices.host + at * width : NULL;
        log_prob =
            log_prob_of(layout->actions[e->batch.agent[i]].n_discrete, out, allowed, choice, &likeliest);
        hit = likeliest;
    } else {
        log_prob = log_density_of(width, out, e->log_std, e->target + at * width, &hit);
    }
    h->n += k == 0;
    h->n_later += k > 0;
    h->hits += k == 0 ? hit : 0.0;
    *(k == 0 ? &h->log_prob : &h->later) += log_prob;
}

/* Adds the mean absolute error of n rows of sums, in actions. */
static void judge_sums(lud_clone_evaluation *e, int value, const lud_clone_array *target, int64_t n,
                       int64_t steps, double *count, double *total) {
    const int64_t width = e->networks.width;
    const float *expected = target->host;
    if (value < 0 || n == 0) return;
    lud_device_download(e->batch.device, e->values, lud_nn_value(e->networks.base->actor.nn, value),
                        (size_t)(n * width) * sizeof *e->values);
    for (int64_t i = 0; i < n * width; i++)
        *total += fabs((double)e->values[i] - (double)expected[i]) * (double)steps / (double)width;
    *count += (double)n;
}

static void judge_batch(lud_clone_evaluation *e, int64_t n, held_out *h) {
    const lud_clone_options *o = e->options;
    lud_clone_batch *b = &e->batch;
    const int64_t horizon = e->networks.horizon, width = e->networks.width;
    lud_clone_batch_make(b, n, true);
    lud_clone_networks_forward(&e->networks, b->n_pairs, false);
    lud_device_download(b->device, e->target, b->target.device,
                        (size_t)(n * horizon * (e->data->choices ? 1 : width)) * sizeof *e->target);
    lud_device_download(b->device, e->values, lud_nn_value(e->networks.base->actor.nn, e->networks.actions),
                        (size_t)(n * horizon * width) * sizeof *e->values);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < b->windows.happened[i]; k++) judge_position(e, i, k, h);
    judge_sums(e, e->networks.summary, &b->summary, n,
               o->summary.steps > 0 ? o->summary.steps : o->windows.horizon, &h->n_summary, &h->summary);
    judge_sums(e, e->networks.pairs, &b->pair_target, b->n_pairs, o->pairs.steps, &h->n_pairs, &h->pairs);
}

/* At even distances over all that is held out. */
static void judge_held_out(lud_clone_evaluation *e, double *row) {
    const lud_clone_data *d = e->data;
    const int64_t n = d->n_held_out < MOST_HELD_OUT ? d->n_held_out : MOST_HELD_OUT;
    held_out h = {0};
    if (!d->choices) lud_parameters_read(e->networks.base->parameters, e->networks.base->log_std, e->log_std);
    for (int64_t first = 0; first < n; first += e->batch.capacity) {
        const int64_t size = n - first < e->batch.capacity ? n - first : e->batch.capacity;
        for (int64_t i = 0; i < size; i++) {
            const int64_t at = (first + i) * d->n_held_out / n;
            e->batch.track[i] = d->held_out_track[at];
            e->batch.step[i] = d->held_out_step[at];
        }
        judge_batch(e, size, &h);
    }
    const double hits = h.hits / h.n;
    row[LUD_CLONE_JUDGED_LOG_PROB] = h.log_prob / h.n; /* NaN where nothing is held out */
    row[LUD_CLONE_JUDGED_HITS] = d->choices ? hits : sqrt(hits);
    row[LUD_CLONE_JUDGED_LATER] = h.later / h.n_later;
    row[LUD_CLONE_JUDGED_SUMMARY] = h.summary / h.n_summary;
    row[LUD_CLONE_JUDGED_PAIRS] = h.pairs / h.n_pairs;
}

lud_status lud_clone_evaluation_run(lud_clone_evaluation *e, double *row, lud_error *error) {
    LUD_TRY(play(e, row, error));
    judge_held_out(e, row);
    return lud_device_check(e->batch.device, error);
}
