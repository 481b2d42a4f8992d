#include "learn/clone/clone.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "learn/clone/dagger.h"
#include "learn/clone/evaluation.h"
#include "learn/clone/policy.h"

typedef enum column { UPDATES, EPOCHS, LOSS, SUMMARY_LOSS, PAIR_LOSS, NORM, LABELS, SPEED, COLUMNS } column;

static const lud_metric columns[COLUMNS] = {
    [UPDATES] = {"updates", NULL, "minibatches so far"},
    [EPOCHS] = {"epochs", NULL, "passes over the samples that were begun"},
    [LOSS] = {"loss", "%.4g", "of an action: cross-entropy of choices, squared error of normalised numbers"},
    [SUMMARY_LOSS] = {"loss/summary", NULL, "squared error of what the coming window sums up to"},
    [PAIR_LOSS] = {"loss/pairs", NULL, "squared error of what was done between two frames"},
    [NORM] = {"norm", NULL, "mean norm of the gradient before clipping"},
    [LABELS] = {"labels", "%.0f", "actions that were learned from: recorded ones, and answers of the expert"},
    [SPEED] = {"speed", NULL, "samples a second"}};

typedef struct cloning {
    lud_learner base;
    const lud_scenario *scenario;
    lud_device *device;
    lud_clone_options options;
    lud_arena *arena;
    lud_mappo_shape shape;
    lud_clone_data data;
    lud_clone_update update;
    lud_clone_evaluation evaluation;
    lud_clone_dagger dagger;
    uint64_t updates, rounds; /* done */
} cloning;

static void destroy(lud_learner *learner) {
    cloning *c = (cloning *)learner;
    lud_clone_dagger_close(&c->dagger);
    lud_clone_evaluation_close(&c->evaluation);
    lud_clone_update_close(&c->update);
    lud_clone_data_close(&c->data);
    lud_arena_destroy(c->arena);
    free(c);
}

static lud_status name_columns(cloning *c, lud_error *error) {
    const lud_layout *layout = &c->scenario->model->layout;
    const int n = layout->n_columns;
    lud_metric *judged =
        lud_arena_take_array(c->arena, (size_t)(LUD_CLONE_JUDGED_COLUMNS + n), sizeof *judged);
    bool whole = judged;
    for (int k = 0; k < LUD_CLONE_JUDGED_COLUMNS && whole; k++) judged[k] = lud_clone_judged_columns[k];
    for (int k = 0; k < n && whole; k++) {
        const lud_measure *measure = &layout->measures[k];
        char name[96];
        snprintf(name, sizeof name, "evaluation/%s", measure->name);
        const char *text = lud_arena_text(c->arena, name, strlen(name));
        judged[LUD_CLONE_JUDGED_COLUMNS + k] = (lud_metric){text, measure->format, measure->help};
        whole = text != NULL;
    }
    c->base.columns = columns;
    c->base.n_columns = COLUMNS;
    c->base.evaluation_columns = judged;
    c->base.n_evaluation_columns = LUD_CLONE_JUDGED_COLUMNS + n;
    return whole ? LUD_OK : lud_no_memory(error, "a learner");
}

static lud_status check_agents(const cloning *c, lud_error *error) {
    const lud_layout *layout = &c->scenario->model->layout;
    for (int a = 0; a < layout->n_agents; a++)
        if (lud_clone_imitates(&c->options, layout, a)) return LUD_OK;
    return lud_invalid_at(error, c->scenario->learner->place,
                          "learner.agents: expected agents that the scenario has, found none");
}

/* Episodes that are not there are told where the scenario names them. */
static lud_status check_data(const cloning *c, lud_error *error) {
    const lud_tree *learner = c->scenario->learner, *list = lud_tree_find(learner, "data");
    const lud_tree *node = list ? list->child : NULL;
    for (size_t i = 0; i < c->options.data.n; i++, node = node ? node->next : NULL) {
        const char *path = c->options.data.items[i];
        if (lud_file_exists(path) || lud_folder_exists(path)) continue;
        return lud_invalid_at(error, node ? node->place : learner->place,
                              "data: expected recorded episodes, found no %s; `ludus record SCENARIO -o "
                              "FILE.h5` records some",
                              path);
    }
    return LUD_OK;
}

static lud_status build(cloning *c, lud_error *error) {
    const lud_scenario *s = c->scenario;
    lud_clone_options *o = &c->options;
    const uint64_t seed = (uint64_t)s->run.seed;
    lud_status status = lud_clone_options_read(c->arena, s, o, error);
    if (!status) status = check_agents(c, error);
    if (!status) status = check_data(c, error);
    if (!status) status = lud_mappo_shape_find(s->model, &o->network, &c->shape, error); /* resolves `auto` */
    if (!status)
        status =
            lud_clone_data_open(o, &c->shape, seed, o->dagger.rounds * o->dagger.labels, &c->data, error);
    if (!status) status = lud_clone_update_open(o, &c->data, s->model, c->device, seed, &c->update, error);
    if (!status)
        status = lud_clone_evaluation_open(o, s, &c->data, c->device, c->update.networks.base->parameters,
                                           &c->evaluation, error);
    if (!status) status = lud_clone_dagger_open(o, s, &c->data, c->evaluation.cast, &c->dagger, error);
    if (!status) c->base.n_iterations = (uint64_t)((o->steps + o->report_every - 1) / o->report_every);
    return status;
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    cloning *c = calloc(1, sizeof *c);
    if (!c) return lud_no_memory(error, "a learner");
    c->base = (lud_learner){.kind = &lud_clone_learner};
    c->scenario = scenario;
    c->device = device;
    c->arena = lud_arena_create(0);
    lud_status status = c->arena ? name_columns(c, error) : lud_no_memory(error, "a learner");
    if (!status) status = build(c, error);
    if (status)
        destroy(&c->base);
    else
        *learner = &c->base;
    return status;
}

/* ---- an iteration ---- */

/* Labels that came since: to the device, and into the order of samples. */
static lud_status take_labels(cloning *c, int64_t first_row, bool anew, lud_error *error) {
    lud_clone_batch_send_rows(&c->update.batch, first_row);
    lud_clone_batch_send_rows(&c->evaluation.batch, first_row);
    return lud_clone_update_order(&c->update, anew, error);
}

static lud_status ask_expert(cloning *c, lud_error *error) {
    const lud_clone_dagger_options *o = &c->options.dagger;
    while (c->rounds < (uint64_t)o->rounds &&
           c->updates * (uint64_t)o->rounds >= c->rounds * (uint64_t)c->options.steps) {
        const int64_t first_row = c->data.n_rows;
        lud_clone_update_stop_reading(&c->update);
        lud_status status = lud_clone_dagger_round(&c->dagger, (int64_t)c->rounds, error);
        if (!status) status = take_labels(c, first_row, true, error);
        if (status) return status;
        c->rounds++;
    }
    return LUD_OK;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    cloning *c = (cloning *)learner;
    const lud_clone_options *o = &c->options;
    const double began = lud_clock_seconds();
    lud_clone_sums sums = {0};
    for (int64_t k = 0; k < o->report_every && c->updates < (uint64_t)o->steps; k++) {
        const bool last = k + 1 == o->report_every || c->updates + 1 == (uint64_t)o->steps;
        LUD_TRY(lud_ranks_agree(
            c->device->ranks, lud_progress_beat(c->base.progress, (double)k / (double)o->report_every, error),
            error));
        LUD_TRY(ask_expert(c, error));
        const double done = (double)c->updates / (double)o->steps;
        const double rate = o->learning_rate * (o->decay_learning_rate ? 1.0 - done : 1.0);
        LUD_TRY(lud_clone_update_step(&c->update, rate, last, &sums, error));
        c->updates++;
    }
    lud_clone_update_deviation(&c->update, &sums);
    LUD_TRY(lud_device_check(c->device, error));
    row[UPDATES] = (double)c->updates;
    row[EPOCHS] = (double)c->update.cursor.epoch;
    row[LOSS] = sums.loss / sums.positions;
    row[SUMMARY_LOSS] = sums.summary / sums.samples;
    row[PAIR_LOSS] = sums.pairs / sums.n_pairs;
    row[NORM] = sums.norm / sums.batches;
    row[LABELS] = (double)(c->data.source_first[c->data.n_sources] - c->data.n_labels + c->data.n_asked);
    row[SPEED] = sums.batches * (double)o->batch / (lud_clock_seconds() - began);
    if (!isfinite(sums.norm))
        return lud_fail(error, LUD_ERROR_NUMERIC,
                        "clone: a gradient is not finite; try a smaller learning_rate or max_norm");
    return LUD_OK;
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    return lud_clone_evaluation_run(&((cloning *)learner)->evaluation, row, error);
}

/* ---- checkpoints ---- */

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    cloning *c = (cloning *)learner;
    lud_clone_data *d = &c->data;
    uint64_t kind = d->normalisation.kind;
    lud_parameters_visit(c->update.networks.base->parameters, "", checkpoint);
    lud_normalisation_visit(d->columns, d->shape->n_continuous, &kind, checkpoint);
    lud_clone_visit_semantics(checkpoint);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    cloning *c = (cloning *)learner;
    lud_clone_data *d = &c->data;
    visit_policy(learner, checkpoint);
    lud_clone_update_visit(&c->update, checkpoint);
    lud_checkpoint_u64(checkpoint, "clone.updates", &c->updates);
    lud_checkpoint_u64(checkpoint, "clone.rounds", &c->rounds);
    lud_checkpoint_limit(checkpoint, "clone.updates", c->updates, LUD_CHECKPOINT_MOST);
    lud_clone_data_visit(d, checkpoint);
    /* room was taken for those of all rounds */
    const uint64_t most = c->rounds * (uint64_t)c->options.dagger.labels;
    lud_checkpoint_limit(checkpoint, "clone.rounds", c->rounds, (uint64_t)c->options.dagger.rounds);
    lud_checkpoint_limit(checkpoint, "clone.label.n", (uint64_t)d->n_labels,
                         d->choices ? LUD_CLONE_DRAWS * most : most);
    lud_checkpoint_limit(checkpoint, "clone.label.frames", (uint64_t)(d->n_frames - d->first_labelled_frame),
                         most);
    if (!lud_checkpoint_loading(checkpoint) || lud_checkpoint_status(checkpoint, NULL)) return;
    lud_error error = {0};
    if (take_labels(c, d->first_labelled_row, false, &error))
        lud_checkpoint_fail(checkpoint, error.status, "%s", error.text);
}

const lud_learner_kind lud_clone_learner = {
    .name = "clone",
    .honours = LUD_HONOURS_EVALUATION_EPISODES,
    .about = "imitation of recorded episodes by chunks of actions, with labels asked for on the way (DAgger)",
    .options = &lud_clone_option_table,
    .values = offsetof(cloning, options),
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .evaluate = evaluate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "evaluation/return"},
    .join = lud_clone_join};
