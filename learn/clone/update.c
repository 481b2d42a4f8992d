#include "learn/clone/update.h"

#include <math.h>
#include <string.h>

/* ---- creation ---- */

/* Numbers of the sums of a minibatch. */
enum { N_SUMS = sizeof(lud_clone_sums) / sizeof(double) };
_Static_assert(sizeof(lud_clone_sums) % sizeof(double) == 0, "sums are doubles");

static int64_t largest(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static lud_status build_optimiser(lud_clone_update *u, lud_error *error) {
    u->optimiser = lud_optimiser_create(u->networks.base->parameters);
    if (!u->optimiser) return lud_no_memory(error, "an optimiser");
    lud_optimiser_options steps = u->options->optimiser;
    steps.max_norm = u->options->max_norm;
    u->group = lud_optimiser_group(u->optimiser, "", &steps, false);
    if (u->group < 0) return lud_no_memory(error, "an optimiser");
    return lud_optimiser_build(u->optimiser, u->seed, error);
}

lud_status lud_clone_update_open(const lud_clone_options *options, lud_clone_data *data,
                                 const lud_model *model, lud_device *device, uint64_t seed,
                                 lud_clone_update *u, lud_error *error) {
    const int64_t n = options->batch;
    *u = (lud_clone_update){.options = options, .data = data, .seed = seed, .arrays = {.device = device}};
    lud_status status = lud_clone_networks_open(model, options, device, seed, 3 * n, n, LUD_CLONE_UPDATE,
                                                NULL, &u->networks, error);
    if (status) return status;
    const int64_t width = u->networks.width;
    u->loss_words = largest(n * u->networks.horizon * (data->choices ? 1 : width), n * width);
    LUD_TAKE(&u->arrays, u->sources, (size_t)data->n_sources);
    LUD_TAKE(&u->arrays, u->source_of, (size_t)data->n_sources);
    LUD_TAKE(&u->arrays, u->track, (size_t)n);
    LUD_TAKE(&u->arrays, u->step, (size_t)n);
    LUD_TAKE(&u->arrays, u->loss, (size_t)u->loss_words);
    LUD_TAKE(&u->arrays, u->values, (size_t)(n * u->networks.horizon * width));
    LUD_TAKE_ON_DEVICE(&u->arrays, u->device_loss, (size_t)u->loss_words);
    if (u->arrays.failed) return lud_no_memory(error, "minibatches");
    status = lud_clone_batch_open(data, &u->networks, n, &u->batch, error);
    if (!status) status = build_optimiser(u, error);
    if (!status)
        status =
            lud_shares_open(u->networks.base->parameters, (int)options->shares, N_SUMS, &u->shares, error);
    if (!status) status = lud_clone_update_order(u, false, error);
    return status;
}

void lud_clone_update_stop_reading(lud_clone_update *u) {
    lud_feeder_destroy(u->feeder);
    u->feeder = NULL;
}

void lud_clone_update_close(lud_clone_update *u) {
    lud_clone_update_stop_reading(u);
    lud_optimiser_destroy(u->optimiser);
    lud_shares_close(&u->shares);
    lud_sampler_free(&u->sampler);
    lud_clone_batch_close(&u->batch);
    lud_clone_networks_close(&u->networks);
    lud_arrays_free(&u->arrays);
    *u = (lud_clone_update){0};
}

lud_status lud_clone_update_order(lud_clone_update *u, bool anew, lud_error *error) {
    const lud_clone_data *d = u->data;
    int n = 0;
    for (int i = 0; i < d->n_sources; i++) {
        const int64_t samples = d->source_first[i + 1] - d->source_first[i];
        const bool is_file = i < (int)u->options->weights.n;
        if (samples == 0) continue;
        u->sources[n] = (lud_sample_source){(uint64_t)samples, is_file ? u->options->weights.items[i] : 1.0};
        u->source_of[n++] = i;
    }
    lud_clone_update_stop_reading(u);
    lud_sampler_free(&u->sampler);
    if (anew) u->cursor = (lud_sample_cursor){.epoch = u->cursor.epoch + 1};
    return n > 0 ? lud_sampler_create(u->sources, n, u->seed, true, u->options->balance, &u->sampler, error)
                 : LUD_OK;
}

/* ---- losses ---- */

static float *gradient_of(const lud_clone_update *u, int value) {
    return lud_nn_gradient(u->networks.base->actor.nn, value);
}

static float *value_of(const lud_clone_update *u, int value) {
    return lud_nn_value(u->networks.base->actor.nn, value);
}

/* The sum of the first n losses. */
static double add_losses(lud_clone_update *u, int64_t n, const float *weights) {
    double total = 0.0;
    lud_device_download(u->networks.base->device, u->loss, u->device_loss, (size_t)n * sizeof *u->loss);
    for (int64_t i = 0; i < n; i++)
        if (!weights || weights[i] > 0.0f) total += (double)u->loss[i];
    return total;
}

static void learn_actions(lud_clone_update *u, lud_clone_sums *sums) {
    lud_clone_batch *b = &u->batch;
    lud_device *device = b->device;
    const int64_t horizon = u->networks.horizon, width = u->networks.width, rows = b->n + 2 * b->n_pairs;
    const float *out = value_of(u, u->networks.actions);
    float *gradient = gradient_of(u, u->networks.actions), *own = gradient_of(u, u->networks.base->actor.out);
    const int64_t n = b->n * horizon * (u->data->choices ? 1 : width);
    lud_device_zero(device, own, (size_t)(rows * width) * sizeof *own);
    lud_device_zero(device, gradient, (size_t)(rows * horizon * width) * sizeof *gradient);
    if (u->data->choices)
        device->ops->cross_entropy_loss(
            device, n, width, out, u->networks.base->shape.masked ? b->choices.device : NULL,
            b->target.device, b->weights.device, 1.0, u->device_loss, gradient, false);
    else
        device->ops->mse_loss(device, n, out, b->target.device, b->weights.device, 1.0, u->device_loss,
                              gradient, false);
    sums->loss += add_losses(u, n, b->weights.host) / (u->data->choices ? 1.0 : (double)width);
    sums->positions += (double)b->n_positions;
}

static void learn_summary(lud_clone_update *u, lud_clone_sums *sums) {
    lud_clone_batch *b = &u->batch;
    const int64_t width = u->networks.width, n = b->n * width, rows = b->n + 2 * b->n_pairs;
    if (u->networks.summary < 0) return;
    float *gradient = gradient_of(u, u->networks.summary);
    lud_device_zero(b->device, gradient, (size_t)(rows * width) * sizeof *gradient);
    b->device->ops->mse_loss(b->device, n, value_of(u, u->networks.summary), b->summary.device, NULL,
                             u->options->summary.weight / (double)n, u->device_loss, gradient, false);
    sums->summary += add_losses(u, n, NULL) / (double)width;
    sums->samples += (double)b->n;
}

static void learn_pairs(lud_clone_update *u, lud_clone_sums *sums) {
    lud_clone_batch *b = &u->batch;
    const int64_t n = b->n_pairs * u->networks.width;
    if (u->networks.pairs < 0 || n == 0) return;
    b->device->ops->mse_loss(b->device, n, value_of(u, u->networks.pairs), b->pair_target.device, NULL,
                             u->options->pairs.weight / (double)n, u->device_loss,
                             gradient_of(u, u->networks.pairs), false);
    sums->pairs += add_losses(u, n, NULL) / (double)u->networks.width;
    sums->n_pairs += (double)b->n_pairs;
}

/* ---- a minibatch ---- */

/* Threads that read ahead wait for the disk, not for a processor. What lies in memory needs none. */
enum { READERS = 4, BATCHES_AHEAD = 8 };

typedef struct place_of_sample {
    int64_t track, step;
} place_of_sample;

/* Finds the samples of a minibatch and, where frames lie on disk, has them read. */
static lud_status find_samples(void *context, const lud_sample *samples, int n, void *slot,
                               lud_error *error) {
    const lud_clone_update *u = context;
    const lud_clone_data *d = u->data;
    place_of_sample *places = slot;
    (void)error;
    for (int i = 0; i < n; i++) {
        const int64_t at = d->source_first[u->source_of[samples[i].source]] + (int64_t)samples[i].index;
        places[i] = (place_of_sample){d->sample_track[at], d->sample_step[at]};
        if (d->store.on_disk)
            lud_clone_frames_touch(&d->store,
                                   lud_track_observation(&d->all, places[i].track, places[i].step));
    }
    return LUD_OK;
}

static lud_status choose_samples(lud_clone_update *u, int64_t n, lud_error *error) {
    const lud_feed feed = {.sampler = &u->sampler,
                           .batch = (int)n,
                           .n_threads = u->data->store.on_disk ? READERS : 0,
                           .n_slots = BATCHES_AHEAD,
                           .slot_bytes = (size_t)n * sizeof(place_of_sample),
                           .fill = find_samples,
                           .context = u};
    const void *slot;
    if (!u->feeder) LUD_TRY(lud_feeder_create(&feed, u->cursor, &u->feeder, error));
    LUD_TRY(lud_feeder_next(u->feeder, &slot, &u->cursor, error));
    const place_of_sample *places = slot;
    for (int64_t i = 0; i < n; i++) {
        u->track[i] = places[i].track;
        u->step[i] = places[i].step;
    }
    return LUD_OK;
}

/* Squared errors of the next actions. */
static void judge_next(lud_clone_update *u, lud_clone_sums *sums) {
    const lud_clone_batch *b = &u->batch;
    const int64_t width = u->networks.width, horizon = u->networks.horizon;
    const float *target = b->target.host;
    if (u->data->choices || width > LUD_MAX_DEVIATIONS) return;
    lud_device_download(b->device, u->values, value_of(u, u->networks.base->actor.out),
                        (size_t)(b->n * width) * sizeof *u->values);
    if (b->target.host != b->target.device)
        lud_device_download(b->device, b->target.host, b->target.device,
                            (size_t)(b->n * horizon * width) * sizeof *target);
    for (int64_t i = 0; i < b->n; i++) {
        if (b->lengths[i] == 0) continue;
        sums->n_next += 1.0;
        for (int64_t j = 0; j < width; j++) {
            const double e = (double)u->values[i * width + j] - (double)target[i * horizon * width + j];
            sums->next[j] += e * e;
        }
    }
}

/* Gradients of the samples of one share. */
static void learn_share(lud_clone_update *u, int share, bool last) {
    const int64_t all = u->options->batch, first = lud_share_begin(all, u->shares.n, share),
                  n = lud_share_begin(all, u->shares.n, share + 1) - first;
    lud_clone_sums sums = {0};
    memcpy(u->batch.track, u->track + first, (size_t)n * sizeof *u->track);
    memcpy(u->batch.step, u->step + first, (size_t)n * sizeof *u->step);
    lud_clone_batch_make(&u->batch, n, false);
    lud_clone_networks_forward(&u->networks, u->batch.n_pairs, true);
    learn_actions(u, &sums);
    learn_summary(u, &sums);
    learn_pairs(u, &sums);
    lud_nn_backward(u->networks.base->actor.nn);
    if (last) judge_next(u, &sums);
    lud_shares_keep(&u->shares, share, (double)n / (double)all, (const double *)&sums);
}

lud_status lud_clone_update_step(lud_clone_update *u, double rate, bool last, lud_clone_sums *sums,
                                 lud_error *error) {
    lud_clone_sums now = {0};
    const lud_status status = choose_samples(u, u->options->batch, error);
    lud_shares_begin(&u->shares);
    for (int s = u->shares.first; s < u->shares.end && !status; s++) learn_share(u, s, last);
    LUD_TRY(lud_shares_add(&u->shares, status, (double *)&now, error));
    lud_optimiser_step(u->optimiser, u->group, rate);
    now.norm = lud_optimiser_norm(u->optimiser, u->group);
    now.batches = 1.0;
    const double *from = (const double *)&now;
    for (int i = 0; i < N_SUMS; i++) ((double *)sums)[i] += from[i];
    return LUD_OK;
}

void lud_clone_update_deviation(lud_clone_update *u, const lud_clone_sums *sums) {
    const int64_t width = u->networks.width;
    double deviation[LUD_MAX_DEVIATIONS];
    if (u->data->choices || width > LUD_MAX_DEVIATIONS || sums->batches == 0.0) return;
    for (int64_t j = 0; j < width; j++) /* never quite certain */
        deviation[j] = 0.5 * log(fmax(sums->next[j] / fmax(sums->n_next, 1.0), 1e-6));
    lud_parameters_write(u->networks.base->parameters, u->networks.base->log_std, deviation);
}

void lud_clone_update_visit(lud_clone_update *u, lud_checkpoint *checkpoint) {
    if (lud_checkpoint_loading(checkpoint)) lud_clone_update_stop_reading(u);
    lud_optimiser_visit(u->optimiser, "optimiser.", checkpoint);
    lud_checkpoint_u64(checkpoint, "clone.epoch", &u->cursor.epoch);
    lud_checkpoint_u64(checkpoint, "clone.position", &u->cursor.position);
    lud_checkpoint_limit(checkpoint, "clone.epoch", u->cursor.epoch, UINT32_MAX);
}
