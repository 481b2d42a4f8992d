#include "learn/empo/met/fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "learn/empo/networks/training.h"
#include "learn/nn/shares.h"

/* Updates that a batch is learned from where networks are asked for its targets: these cost much more than a
 * pass over them, and do not grow old so soon. */
enum { KEPT = 4 };

/* Squared errors of a share, summed up. */
typedef struct loss_sums {
    double v_h_e, v_r;
} loss_sums;
enum { N_SUMS = sizeof(loss_sums) / sizeof(double) };

struct lud_empo_fit {
    lud_empo_values *values;
    lud_empo_asker *asker;
    lud_empo_met *met;
    const lud_empo_learner_options *options;
    lud_device *device;
    uint64_t seed;
    int64_t n, n_goals; /* states of a batch */
    uint64_t n_drawn;   /* batches so far; number i is kept at place i % kept(t) */
    lud_nn *net;
    lud_empo_graph graph;
    lud_empo_optimiser optimiser;
    lud_shares shares; /* of the gradients */
    lud_empo_staging staging;
    lud_upload_batch upload;
    lud_arrays arrays;
    int64_t *node; /* [n] of the newest batch, */
    int *level;    /* [n] each at one level */
    uint8_t *state;
    int32_t *record;          /* [KEPT * n][words] */
    const int32_t **records;  /* [KEPT * n] */
    double *look;             /* a record of the exact solver's kind */
    float *v_h_e, *v_r;       /* targets: [KEPT * n][n_goals], [KEPT * n] in the space of the loss */
    float *to_v_h_e, *to_v_r; /* the same on the device, once the upload was sent */
    float *loss, *host;       /* [KEPT * n * n_goals] on the device, on the host */
    lud_empo_fit_figures figures;
};

static bool make_arrays(lud_empo_fit *t) {
    const lud_empo_features *f = t->values->features;
    const size_t n = KEPT * (size_t)t->n, entries = n * (size_t)t->n_goals, words = (size_t)f->words;
    lud_arrays *a = &t->arrays;
    a->device = t->device;
    LUD_TAKE(a, t->node, (size_t)t->n);
    LUD_TAKE(a, t->level, (size_t)t->n);
    LUD_TAKE(a, t->state, f->grid->model.layout.state_bytes);
    LUD_TAKE(a, t->record, n * words);
    LUD_TAKE(a, t->records, n);
    LUD_TAKE(a, t->look, (size_t)f->layout.record_doubles);
    LUD_TAKE(a, t->v_h_e, entries);
    LUD_TAKE(a, t->v_r, n);
    LUD_TAKE(a, t->host, entries);
    LUD_TAKE_ON_DEVICE(a, t->loss, entries);
    for (size_t i = 0; !a->failed && i < n; i++) t->records[i] = t->record + i * words;
    return !a->failed && lud_empo_staging_create(t->device, f, &t->values->shape.walk, (int64_t)n,
                                                 (int64_t)entries, &t->staging);
}

lud_status lud_empo_fit_create(lud_empo_values *values, lud_empo_asker *asker,
                               const lud_empo_learner_options *options, uint64_t seed, lud_empo_fit **fit,
                               lud_error *error) {
    *fit = NULL;
    lud_empo_fit *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "an update");
    *t = (lud_empo_fit){.values = values,
                        .asker = asker,
                        .met = asker->met,
                        .options = options,
                        .device = values->device,
                        .seed = seed,
                        .n = options->batch_size,
                        .n_goals = values->features->layout.n_goals};
    for (int net = 0; net < LUD_EMPO_NETS; net++) t->figures.loss[net] = t->figures.norm[net] = NAN;
    lud_upload_batch_start(&t->upload, t->device);
    lud_status status = make_arrays(t) ? LUD_OK : lud_no_memory(error, "a batch");
    if (status == LUD_OK)
        status = lud_empo_training_net(values->online, &values->shape, LUD_EMPO_V_H_E | LUD_EMPO_V_R,
                                       KEPT * t->n, KEPT * t->n * t->n_goals, &t->net, &t->graph, error);
    if (status == LUD_OK)
        status = lud_empo_optimiser_create(values->online, options, seed, &t->optimiser, error);
    if (status == LUD_OK)
        status = lud_shares_open(values->online, (int)options->shares, N_SUMS, &t->shares, error);
    if (status)
        lud_empo_fit_destroy(t);
    else
        *fit = t;
    return status;
}

void lud_empo_fit_destroy(lud_empo_fit *t) {
    if (!t) return;
    lud_nn_destroy(t->net);
    lud_optimiser_destroy(t->optimiser.all);
    lud_shares_close(&t->shares);
    lud_empo_staging_free(&t->staging);
    lud_upload_batch_end(&t->upload);
    lud_arrays_free(&t->arrays);
    free(t);
}

/* An expanded state and one of its levels, all pairs of both being about as likely. */
static int64_t draw_state(const lud_empo_fit *t, int64_t step, int64_t i, int *level) {
    enum { TRIES = 16 };
    const int64_t expanded = lud_empo_met_get(t->met).expanded;
    const int most = lud_empo_met_levels(t->met) - 1;
    for (uint32_t k = 1;; k++) {
        const lud_words w = lud_draw((lud_random_key){t->seed, (uint32_t)i}, (uint32_t)step,
                                     (uint32_t)(step >> 32), LUD_PURPOSE_SHUFFLE, k);
        const int64_t node =
            lud_empo_met_expanded_at(t->met, (int64_t)(lud_unit53(w.v[0], w.v[1]) * (double)expanded));
        const double uniform = lud_unit53(w.v[2], w.v[3]);
        const int highest = lud_empo_met_highest(t->met, node);
        *level = most > 0 ? 1 + (int)(uniform * most) : 0;
        if (*level <= highest) return node;
        *level = highest > 0 ? lud_empo_met_some_level(t->met, node, uniform) : most > 0;
        if (k == TRIES) return node;
    }
}

static uint64_t kept(const lud_empo_fit *t) {
    return lud_empo_met_complete(t->met) ? 1 : KEPT;
}

bool lud_empo_fit_has_drawn(const lud_empo_fit *t, int64_t step) {
    return t->n_drawn > (uint64_t)step;
}

/* What the networks said of the rim when it was met may be long ago, and a table whose rim is of all ages
 * learns from the past: so they are asked again where the targets read it. */
lud_status lud_empo_fit_draw(lud_empo_fit *t, int64_t step, lud_error *error) {
    const lud_empo_features *f = t->values->features;
    for (int64_t i = 0; i < t->n; i++) t->node[i] = draw_state(t, step, i, &t->level[i]);
    double shares;
    LUD_TRY(lud_empo_ask_after(t->asker, t->n, t->node, t->level, &shares, error));
    lud_empo_met_ground(t->met, t->n, shares);
    const int64_t first = (int64_t)(t->n_drawn++ % kept(t)) * t->n;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t row = first + i;
        lud_empo_met_state(t->met, t->node[i], t->level[i], t->state);
        lud_empo_features_encode(f, t->state, t->record + row * f->words);
        lud_empo_met_look(t->met, t->node[i], t->level[i], t->look);
        for (int64_t g = 0; g < t->n_goals; g++)
            t->v_h_e[row * t->n_goals + g] = (float)t->look[f->layout.v_h_e + g];
        const double v_r = t->look[f->layout.v_r] / lud_empo_met_annuity(t->met, t->level[i]);
        t->v_r[row] = (float)(t->options->log_space ? log1p(-v_r) : v_r);
    }
    return LUD_OK;
}

/* The sum of n errors. */
static double sum_of_loss(lud_empo_fit *t, int64_t n) {
    double sum = 0;
    lud_device_download(t->device, t->host, t->loss, (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) sum += (double)t->host[i];
    return sum;
}

/* States of the batches at hand. */
static int64_t rows_of(const lud_empo_fit *t) {
    return (int64_t)(t->n_drawn < kept(t) ? t->n_drawn : kept(t)) * t->n;
}

/* Gradients of the mean errors of `all` states from n of them, the first of which is `first`. */
static lud_status learn(lud_empo_fit *t, int64_t first, int64_t n, int64_t all, bool measure,
                        loss_sums *losses, lud_error *error) {
    const lud_ops *ops = t->device->ops;
    const lud_empo_graph *g = &t->graph;
    const int64_t entries = n * t->n_goals;
    const int of_v_r = t->options->log_space ? g->v_r_z : g->v_r;
    lud_upload_batch_clear(&t->upload);
    lud_empo_values_encode(t->values, &t->staging, n, n, t->records + first, NULL, n, t->n_goals);
    lud_empo_staging_pack(&t->staging, n, entries, &t->upload);
    lud_upload_batch_add(&t->upload, &t->to_v_h_e, t->v_h_e + first * t->n_goals,
                         (size_t)entries * sizeof(float));
    lud_upload_batch_add(&t->upload, &t->to_v_r, t->v_r + first, (size_t)n * sizeof(float));
    if (!lud_upload_batch_send(&t->upload)) return lud_no_memory(error, "an update");
    lud_empo_staging_bind(&t->staging, t->net, g, 0, 0, entries);
    lud_nn_forward(t->net, n, true);
    ops->mse_loss(t->device, entries, lud_nn_value(t->net, g->v_h_e), t->to_v_h_e, NULL,
                  1.0 / (double)(all * t->n_goals), t->loss, lud_nn_gradient(t->net, g->v_h_e), false);
    if (measure) losses->v_h_e = sum_of_loss(t, entries);
    if (t->options->log_space) ops->fill(t->device, n, 0.0, lud_nn_gradient(t->net, g->v_r));
    ops->mse_loss(t->device, n, lud_nn_value(t->net, of_v_r), t->to_v_r, NULL, 1.0 / (double)all, t->loss,
                  lud_nn_gradient(t->net, of_v_r), false);
    if (measure) losses->v_r = sum_of_loss(t, n);
    lud_nn_backward(t->net);
    return LUD_OK;
}

/* The gradients of all shares. */
static lud_status add_gradients(lud_empo_fit *t, int64_t step, bool measure, lud_error *error) {
    lud_shares *shares = &t->shares;
    const int64_t rows = rows_of(t);
    loss_sums all;
    lud_status status = LUD_OK;
    lud_shares_begin(shares);
    for (int s = shares->first; s < shares->end && !status; s++) {
        const int64_t first = lud_share_begin(rows, shares->n, s),
                      n = lud_share_begin(rows, shares->n, s + 1) - first;
        loss_sums own = {0};
        lud_nn_set_step(t->net, lud_shares_seed(t->seed, s), (uint32_t)step);
        status = learn(t, first, n, rows, measure, &own, error);
        lud_shares_keep(shares, s, 1.0, (const double *)&own);
    }
    LUD_TRY(lud_shares_add(shares, status, (double *)&all, error));
    if (!measure) return LUD_OK;
    t->figures.loss[LUD_NET_V_H_E] = all.v_h_e / (double)(rows * t->n_goals);
    t->figures.loss[LUD_NET_V_R] = all.v_r / (double)rows;
    return LUD_OK;
}

lud_status lud_empo_fit_learn(lud_empo_fit *t, int64_t step, const lud_empo_now *now, bool measure,
                              lud_error *error) {
    LUD_TRY(add_gradients(t, step, measure, error));
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        const int group = t->optimiser.groups[net];
        if (group < 0) continue;
        lud_optimiser_set_max_norm(t->optimiser.all, group, now->clip[net]);
        lud_optimiser_step(t->optimiser.all, group, now->lr[net]);
        t->figures.norm[net] = lud_optimiser_norm(t->optimiser.all, group);
    }
    lud_empo_values_copy(t->values,
                         lud_empo_copies_due(t->options, step) & lud_empo_learner_networks(t->options));
    return lud_device_check(t->device, error);
}

lud_empo_fit_figures lud_empo_fit_get(const lud_empo_fit *t) {
    return t->figures;
}

void lud_empo_fit_visit(lud_empo_fit *t, lud_checkpoint *checkpoint) {
    lud_optimiser_visit(t->optimiser.all, "optimiser.", checkpoint);
    const int64_t rows = KEPT * t->n;
    lud_checkpoint_u64(checkpoint, "fit.drawn", &t->n_drawn);
    lud_checkpoint_tensor(checkpoint, "fit.record", LUD_TENSOR_I32, 2,
                          (const int64_t[]){rows, t->values->features->words}, t->record);
    lud_checkpoint_tensor(checkpoint, "fit.v_h_e", LUD_TENSOR_F32, 2, (const int64_t[]){rows, t->n_goals},
                          t->v_h_e);
    lud_checkpoint_tensor(checkpoint, "fit.v_r", LUD_TENSOR_F32, 1, (const int64_t[]){rows}, t->v_r);
    for (int64_t i = 0; i < rows && !lud_checkpoint_status(checkpoint, NULL); i++)
        if (!lud_empo_features_is_record(t->values->features, t->record + i * t->values->features->words))
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "fit.record: state %lld makes no sense",
                                (long long)i);
    /* what was measured last; below 0: nothing yet */
    double *const figures[] = {&t->figures.loss[LUD_NET_V_H_E], &t->figures.loss[LUD_NET_V_R],
                               &t->figures.norm[LUD_NET_V_H_E], &t->figures.norm[LUD_NET_V_R]};
    double kept[4];
    for (int i = 0; i < 4; i++) kept[i] = isfinite(*figures[i]) ? *figures[i] : -1.0;
    lud_checkpoint_tensor(checkpoint, "fit.figures", LUD_TENSOR_F64, 1, (const int64_t[]){4}, kept);
    for (int i = 0; i < 4; i++) *figures[i] = kept[i] >= 0.0 ? kept[i] : NAN;
}
