#include "learn/empo/explore/novelty.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nn/optimiser.h"

enum { CHUNK = 512, LEAST_DEVIATION_PARTS = 100000000 };

static const char *const encoders[LUD_EMPO_NETS] = {"v_h_e.state_encoder", "x_h.own_state_encoder",
                                                    "u_r.own_state_encoder", "q_r.own_state_encoder",
                                                    "v_r.own_state_encoder"};

/* A random network and its predictor on features from the encoders. */
typedef struct distiller {
    int n_parts;
    int network[LUD_EMPO_NETS]; /* whose encoder part k is */
    lud_nn *encoders;           /* on the target networks */
    lud_empo_graph graph;
    int part[LUD_EMPO_NETS]; /* values of `encoders` */
    lud_parameters *parameters;
    lud_nn *net;
    int input[LUD_EMPO_NETS], random, predicted;
    int64_t groups; /* numbers of novelty a row: 1, or actions */
    lud_optimiser *optimiser;
    int group;
    int64_t rows;          /* at once */
    float *loss, *novelty; /* device: [rows][groups d], [rows][groups] */
    float *weight;         /* device: [rows][groups d] of the loss */
    float *host_weight;
} distiller;

struct lud_empo_novelty {
    lud_empo_values *values;
    const lud_empo_learner_options *options;
    lud_device *device;
    distiller states, actions; /* the second only with use_human_action_rnd */
    lud_empo_staging staging;
    int max_actions;
    double fade[LUD_EMPO_NETS];
    double lr;
    float *host;          /* [rows][groups] */
    double statistics[3]; /* updates, running mean, running variance of the novelty of states */
    lud_empo_novelty_figures figures;
};

/* ---- making ---- */

static int tower(lud_nn *net, int x, const char *name, int layers, int64_t hidden, int64_t width) {
    char text[64];
    for (int i = 0; i < layers; i++) {
        snprintf(text, sizeof text, "%s.%d", name, 2 * i);
        x = lud_nn_linear(net, x, text, i + 1 < layers ? hidden : width,
                          i + 1 < layers ? LUD_RELU : LUD_LINEAR);
    }
    return x;
}

/* Declares the two towers on inputs of the parts' widths. */
static void declare(const lud_empo_novelty *v, distiller *d, lud_nn *net, const int64_t *widths,
                    int random_layers) {
    const lud_empo_learner_options *o = v->options;
    for (int k = 0; k < d->n_parts; k++) d->input[k] = lud_nn_input(net, widths[k]);
    const int all = d->n_parts > 1 ? lud_nn_concat(net, d->input, d->n_parts) : d->input[0];
    const int64_t width = d->groups * o->rnd_feature_dim;
    d->random = tower(net, all, "random", random_layers, o->rnd_hidden_dim, width);
    d->predicted = tower(net, all, "predictor", random_layers + 1, o->rnd_hidden_dim, width);
    lud_nn_output(net, d->random);
    lud_nn_output(net, d->predicted);
}

static lud_status make_towers(lud_empo_novelty *v, distiller *d, const int64_t *widths, int random_layers,
                              uint64_t seed, lud_error *error) {
    const lud_empo_learner_options *o = v->options;
    d->parameters = lud_parameters_create(v->device, false);
    lud_nn *registering = d->parameters ? lud_nn_create(d->parameters, 0) : NULL;
    if (!registering) return lud_no_memory(error, "a network of novelty");
    declare(v, d, registering, widths, random_layers);
    lud_nn_destroy(registering);
    lud_parameters_freeze(d->parameters, "random.", true);
    LUD_TRY(lud_parameters_build(d->parameters, seed ^ 0x6e6f76656c7479u, error));
    d->net = lud_nn_create(d->parameters, d->rows);
    d->optimiser = lud_optimiser_create(d->parameters);
    if (!d->net || !d->optimiser) return lud_no_memory(error, "a network");
    declare(v, d, d->net, widths, random_layers);
    LUD_TRY(lud_nn_plan(d->net, LUD_NN_TRAIN, error));
    lud_optimiser_options options = o->optimiser;
    if (o->rnd_weight_decay >= 0) options.weight_decay = o->rnd_weight_decay;
    options.max_norm = o->rnd_grad_clip;
    d->group = lud_optimiser_group(d->optimiser, "predictor.", &options, false);
    const size_t numbers = (size_t)(d->rows * d->groups * o->rnd_feature_dim);
    d->loss = lud_device_allocate(v->device, numbers * sizeof(float));
    d->weight = lud_device_allocate(v->device, numbers * sizeof(float));
    d->novelty = lud_device_allocate(v->device, (size_t)(d->rows * d->groups) * sizeof(float));
    d->host_weight = calloc(numbers, sizeof(float));
    if (d->group < 0 || !d->loss || !d->weight || !d->novelty || !d->host_weight)
        return lud_no_memory(error, "a network of novelty");
    return lud_optimiser_build(d->optimiser, seed, error);
}

static lud_status plan_encoders(lud_empo_novelty *v, distiller *d, lud_error *error) {
    for (int k = 0; k < d->n_parts; k++) lud_nn_output(d->encoders, d->part[k]);
    LUD_TRY(lud_nn_plan(d->encoders, LUD_NN_INFERENCE, error));
    if (!lud_empo_prepare(d->encoders, &d->graph, &v->values->shape))
        return lud_no_memory(error, "a network of novelty");
    return LUD_OK;
}

static lud_status make_states(lud_empo_novelty *v, uint64_t seed, lud_error *error) {
    distiller *d = &v->states;
    const lud_empo_learner_options *o = v->options;
    int64_t widths[LUD_EMPO_NETS];
    d->groups = 1;
    d->rows = o->batch_size > CHUNK ? o->batch_size : CHUNK;
    d->encoders = lud_nn_create(v->values->target, d->rows);
    if (!d->encoders) return lud_no_memory(error, "a network of novelty");
    d->graph = lud_empo_declare_inputs(d->encoders, &v->values->shape, 1);
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        if (net != LUD_NET_V_H_E && !(lud_empo_learner_networks(o) & 1u << net)) continue;
        d->network[d->n_parts] = net;
        d->part[d->n_parts] =
            lud_empo_state_encoder(d->encoders, &d->graph, &v->values->shape, encoders[net]);
        widths[d->n_parts] = lud_nn_width(d->encoders, d->part[d->n_parts]);
        d->n_parts++;
    }
    lud_status status = plan_encoders(v, d, error);
    return status ? status : make_towers(v, d, widths, 3, seed, error);
}

static lud_status make_actions(lud_empo_novelty *v, uint64_t seed, lud_error *error) {
    distiller *d = &v->actions;
    const int64_t n_humans = v->values->features->layout.n_humans;
    d->groups = v->max_actions;
    d->rows = v->states.rows * n_humans;
    d->encoders = lud_nn_create(v->values->target, v->states.rows);
    if (!d->encoders) return lud_no_memory(error, "a network of novelty");
    d->graph = lud_empo_declare_inputs(d->encoders, &v->values->shape, d->rows);
    const int state = lud_empo_state_encoder(d->encoders, &d->graph, &v->values->shape, encoders[0]);
    d->part[0] = lud_nn_gather(d->encoders, state, d->graph.entry_state);
    d->part[1] = lud_empo_agent_encoder(d->encoders, &d->graph, &v->values->shape, "v_h_e.agent_encoder");
    d->n_parts = 2;
    const int64_t widths[2] = {lud_nn_width(d->encoders, d->part[0]), lud_nn_width(d->encoders, d->part[1])};
    lud_status status = plan_encoders(v, d, error);
    return status ? status : make_towers(v, d, widths, 2, seed + 1, error);
}

lud_status lud_empo_novelty_create(lud_empo_values *values, uint64_t seed, lud_empo_novelty **novelty,
                                   lud_error *error) {
    *novelty = NULL;
    const lud_empo_layout *layout = &values->features->layout;
    if (!values->target)
        return lud_invalid(error,
                           "learner.use_rnd: needs networks; with tables use use_count_based_curiosity");
    lud_empo_novelty *v = calloc(1, sizeof *v);
    if (!v) return lud_no_memory(error, "novelty");
    *v = (lud_empo_novelty){.values = values,
                            .options = values->options,
                            .device = values->device,
                            .max_actions = layout->max_human_actions,
                            .lr = values->options->lr_rnd,
                            .figures = {NAN, NAN, NAN, NAN, NAN}};
    lud_status status = make_states(v, seed, error);
    if (status == LUD_OK && v->options->use_human_action_rnd) status = make_actions(v, seed, error);
    const int64_t rows = v->states.rows, entries = rows * layout->n_humans;
    v->host = calloc((size_t)(entries * v->max_actions), sizeof *v->host);
    if (status == LUD_OK &&
        (!v->host || !lud_empo_staging_create(v->device, values->features, &values->shape.walk, rows, entries,
                                              &v->staging)))
        status = lud_no_memory(error, "novelty");
    if (status) {
        lud_empo_novelty_destroy(v);
        return status;
    }
    lud_empo_novelty_set_step(v, 0);
    *novelty = v;
    return LUD_OK;
}

static void free_distiller(lud_empo_novelty *v, distiller *d) {
    lud_nn_destroy(d->encoders);
    lud_nn_destroy(d->net);
    lud_optimiser_destroy(d->optimiser);
    lud_parameters_destroy(d->parameters);
    float *const device[] = {d->loss, d->novelty, d->weight};
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        if (device[i]) lud_device_release(v->device, device[i]);
    free(d->host_weight);
}

void lud_empo_novelty_destroy(lud_empo_novelty *v) {
    if (!v) return;
    free_distiller(v, &v->states);
    free_distiller(v, &v->actions);
    lud_empo_staging_free(&v->staging);
    free(v->host);
    free(v);
}

void lud_empo_novelty_set_step(lud_empo_novelty *v, int64_t step) {
    const lud_empo_stages *stages = &v->options->stages;
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        const int64_t begin = net ? lud_empo_stage_end(stages, net - 1) : 0,
                      end = lud_empo_stage_end(stages, net);
        const double share = end > begin ? (double)(step - begin) / (double)(end - begin) : step >= begin;
        v->fade[net] = fmin(fmax(share, 0.0), 1.0);
    }
}

/* ---- running ---- */

/* Features of the encoders into the towers' inputs, then both towers: n rows. */
static void run(lud_empo_novelty *v, distiller *d, int64_t n_states, int64_t n) {
    const bool fades = d == &v->states;
    lud_nn_forward(d->encoders, n_states, false);
    for (int k = 0; k < d->n_parts; k++)
        v->device->ops->combine(v->device, n * lud_nn_width(d->net, d->input[k]),
                                fades ? v->fade[d->network[k]] : 1.0, lud_nn_value(d->encoders, d->part[k]),
                                0.0, NULL, lud_nn_value(d->net, d->input[k]));
    lud_nn_forward(d->net, n, true);
}

static void run_states(lud_empo_novelty *v, int64_t n, const int32_t *const *records) {
    lud_empo_staging_states(&v->staging, v->states.encoders, &v->states.graph, n, records);
    lud_nn_set_rows(v->states.encoders, v->states.graph.entries, 0);
    run(v, &v->states, n, n);
}

static int64_t run_actions(lud_empo_novelty *v, int64_t n, const int32_t *const *records) {
    const int n_humans = v->values->features->layout.n_humans;
    distiller *d = &v->actions;
    lud_empo_staging_states(&v->staging, d->encoders, &d->graph, n, records);
    for (int64_t i = 0; i < n; i++)
        for (int h = 0; h < n_humans; h++)
            lud_empo_staging_entry(&v->staging, i * n_humans + h, i, records[i], h, -1);
    lud_empo_staging_entries(&v->staging, d->encoders, &d->graph, n * n_humans);
    run(v, d, n, n * n_humans);
    return n * n_humans;
}

/* Squared differences, their means by group on the host; with `scale` the gradient of their weighted sum. */
static void differences(lud_empo_novelty *v, distiller *d, int64_t n, double scale, const float *weight) {
    const lud_ops *ops = v->device->ops;
    const int64_t width = v->options->rnd_feature_dim, numbers = n * d->groups * width;
    float *gradient = scale > 0 ? lud_nn_gradient(d->net, d->predicted) : NULL;
    ops->mse_loss(v->device, numbers, lud_nn_value(d->net, d->predicted), lud_nn_value(d->net, d->random),
                  weight, scale, d->loss, gradient, false);
    ops->sum_groups(v->device, n * d->groups, width, 1, 1.0 / (double)width, d->loss, d->novelty, false);
    lud_device_download(v->device, v->host, d->novelty, (size_t)(n * d->groups) * sizeof(float));
}

static void step(lud_empo_novelty *v, distiller *d) {
    lud_parameters_zero_gradients(d->parameters);
    lud_nn_backward(d->net);
    lud_optimiser_step(d->optimiser, d->group, v->lr);
}

static double scale_of(const lud_empo_novelty *v) {
    if (!v->options->normalize_rnd || v->statistics[0] == 0.0) return 1.0;
    return 1.0 / fmax(sqrt(v->statistics[2]), 1.0 / LEAST_DEVIATION_PARTS);
}

void lud_empo_novelty_states(lud_empo_novelty *v, int64_t n, const int32_t *const *records, float *result) {
    const double scale = scale_of(v);
    for (int64_t first = 0; first < n; first += v->states.rows) {
        const int64_t rows = n - first < v->states.rows ? n - first : v->states.rows;
        run_states(v, rows, records + first);
        differences(v, &v->states, rows, 0.0, NULL);
        for (int64_t i = 0; i < rows; i++) result[first + i] = (float)(scale * (double)v->host[i]);
    }
}

void lud_empo_novelty_actions(lud_empo_novelty *v, int64_t n, const int32_t *const *records, float *result) {
    const lud_empo_layout *layout = &v->values->features->layout;
    for (int64_t first = 0; first < n; first += v->states.rows) {
        const int64_t states = n - first < v->states.rows ? n - first : v->states.rows;
        const int64_t rows = run_actions(v, states, records + first);
        differences(v, &v->actions, rows, 0.0, NULL);
        float *to = result + first * layout->n_humans * v->max_actions;
        for (int64_t i = 0; i < rows * v->max_actions; i++)
            to[i] = i % v->max_actions < layout->n_human_actions[i / v->max_actions % layout->n_humans]
                        ? v->host[i]
                        : 0.0f;
    }
}

void lud_empo_novelty_learn(lud_empo_novelty *v, int64_t n, const int32_t *const *records) {
    assert(n <= v->states.rows);
    run_states(v, n, records);
    differences(v, &v->states, n, 1.0 / (double)(n * v->options->rnd_feature_dim), NULL);
    step(v, &v->states);
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; i++) mean += (double)v->host[i] / (double)n;
    for (int64_t i = 0; i < n; i++) variance += pow((double)v->host[i] - mean, 2.0) / (double)n;
    const double keep = v->statistics[0] == 0.0 ? 0.0 : v->options->rnd_normalization_decay;
    v->statistics[0] += 1.0;
    v->statistics[1] = keep * v->statistics[1] + (1.0 - keep) * mean;
    v->statistics[2] = keep * v->statistics[2] + (1.0 - keep) * variance;
    v->figures.loss = mean;
    v->figures.mean = v->statistics[1];
    v->figures.deviation = sqrt(v->statistics[2]);
    v->figures.batch = v->statistics[1] > 0 ? mean / v->statistics[1] : 1.0;
}

void lud_empo_novelty_learn_actions(lud_empo_novelty *v, int64_t n, const int32_t *const *records,
                                    const int32_t *actions) {
    distiller *d = &v->actions;
    const int64_t width = v->options->rnd_feature_dim;
    assert(n <= v->states.rows);
    const int64_t rows = run_actions(v, n, records);
    for (int64_t i = 0; i < rows * d->groups * width; i++)
        d->host_weight[i] = i / width % d->groups == actions[i / (width * d->groups)] ? 1.0f : 0.0f;
    lud_device_upload(v->device, d->weight, d->host_weight,
                      (size_t)(rows * d->groups * width) * sizeof(float));
    differences(v, d, rows, 1.0 / (double)(rows * width), d->weight);
    v->figures.loss_actions = 0;
    for (int64_t i = 0; i < rows; i++)
        v->figures.loss_actions += (double)v->host[i * d->groups + actions[i]] / (double)rows;
    step(v, d);
}

lud_empo_novelty_figures lud_empo_novelty_get_figures(const lud_empo_novelty *v) {
    return v->figures;
}

/* ---- copying and saving ---- */

size_t lud_empo_novelty_floats(const lud_empo_novelty *v) {
    return (size_t)v->states.parameters->size +
           (v->actions.parameters ? (size_t)v->actions.parameters->size : 0) +
           (sizeof v->statistics) / (sizeof(float));
}

void lud_empo_novelty_export(const lud_empo_novelty *v, float *numbers) {
    const distiller *const both[] = {&v->states, &v->actions};
    for (int i = 0; i < 2; i++) {
        if (!both[i]->parameters) continue;
        lud_device_download(v->device, numbers, both[i]->parameters->values,
                            (size_t)both[i]->parameters->size * sizeof(float));
        numbers += both[i]->parameters->size;
    }
    memcpy(numbers, v->statistics, sizeof v->statistics);
}

void lud_empo_novelty_import(lud_empo_novelty *v, const float *numbers) {
    const distiller *const both[] = {&v->states, &v->actions};
    for (int i = 0; i < 2; i++) {
        if (!both[i]->parameters) continue;
        lud_device_upload(v->device, both[i]->parameters->values, numbers,
                          (size_t)both[i]->parameters->size * sizeof(float));
        numbers += both[i]->parameters->size;
    }
    memcpy(v->statistics, numbers, sizeof v->statistics);
}

void lud_empo_novelty_visit(lud_empo_novelty *v, lud_checkpoint *checkpoint) {
    distiller *const both[] = {&v->states, &v->actions};
    static const char *const names[] = {"rnd.states.", "rnd.actions."};
    for (int i = 0; i < 2; i++) {
        if (!both[i]->parameters) continue;
        char text[64];
        lud_parameters_visit(both[i]->parameters, names[i], checkpoint);
        snprintf(text, sizeof text, "%soptimiser.", names[i]);
        lud_optimiser_visit(both[i]->optimiser, text, checkpoint);
    }
    lud_checkpoint_tensor(checkpoint, "rnd.statistics", LUD_TENSOR_F64, 1, (const int64_t[]){3},
                          v->statistics);
    if (lud_checkpoint_loading(checkpoint) && (v->statistics[0] < 0 || v->statistics[2] < 0))
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "'rnd.statistics' of the checkpoint is negative");
    /* adaptive rates go on from the last batch; there is none in runs of before, nor before the first one */
    static const char batch[] = "rnd.batch";
    const bool kept = !lud_checkpoint_loading(checkpoint) || lud_checkpoint_find(checkpoint, batch);
    if (v->options->rnd_use_adaptive_lr && kept)
        lud_checkpoint_any_tensor(checkpoint, batch, LUD_TENSOR_F64, 0, NULL, &v->figures.batch);
}
