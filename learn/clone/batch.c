#include "learn/clone/batch.h"

#include <string.h>

/* ---- memory ---- */

static void take(lud_clone_batch *b, lud_clone_array *array, int64_t words) {
    *array = (lud_clone_array){.words = words > 0 ? words : 1};
    float *host, *device;
    LUD_TAKE(&b->arrays, host, (size_t)array->words);
    array->host = array->device = host;
    if (b->device->backend->host_memory) return;
    LUD_TAKE_ON_DEVICE(&b->arrays, device, (size_t)array->words);
    array->device = device;
}

static void send(const lud_clone_batch *b, const lud_clone_array *array, int64_t first, int64_t words) {
    if (array->host == array->device || words == 0) return;
    lud_device_upload(b->device, (float *)array->device + first, (const float *)array->host + first,
                      (size_t)words * sizeof(float));
}

static bool has_choices(const lud_clone_batch *b) {
    return b->data->choices;
}

static int64_t row_words(const lud_clone_batch *b) {
    return has_choices(b) ? 1 : b->networks->width;
}

lud_status lud_clone_batch_open(const lud_clone_data *data, lud_clone_networks *networks, int64_t capacity,
                                lud_clone_batch *b, lud_error *error) {
    lud_device *device = networks->base->device;
    const size_t n = (size_t)capacity;
    const int64_t horizon = networks->horizon, width = networks->width;
    *b = (lud_clone_batch){.data = data,
                           .networks = networks,
                           .device = device,
                           .capacity = capacity,
                           .arrays = {.device = device}};
    LUD_TAKE(&b->arrays, b->track, n);
    LUD_TAKE(&b->arrays, b->step, n);
    LUD_TAKE(&b->arrays, b->weight, n);
    LUD_TAKE(&b->arrays, b->place, 3 * n);
    LUD_TAKE(&b->arrays, b->agent, 3 * n);
    LUD_TAKE(&b->arrays, b->nought, 3 * n);
    LUD_TAKE(&b->arrays, b->pairs, n);
    LUD_TAKE(&b->arrays, b->scratch, 2 * n);
    LUD_TAKE(&b->arrays, b->lengths, n);
    take(b, &b->rows, data->row_capacity * row_words(b));
    take(b, &b->target, capacity * horizon * row_words(b));
    take(b, &b->weights, capacity * horizon * row_words(b));
    take(b, &b->choices, networks->base->shape.masked ? (capacity * horizon * width + 3) / 4 : 0);
    take(b, &b->summary, capacity * width);
    take(b, &b->pair_target, capacity * width);
    take(b, &b->first, capacity);
    take(b, &b->second, capacity);
    take(b, &b->pad, row_words(b));
    lud_status status = b->arrays.failed ? lud_no_memory(error, "samples") : LUD_OK;
    if (!status) status = lud_window_set_create(device, capacity, &b->windows, error);
    if (!status) status = lud_window_set_create(device, capacity, &b->sums, error);
    if (!status) status = lud_window_set_create(device, capacity, &b->between, error);
    if (status) return status;
    lud_clone_batch_send_rows(b, 0);
    if (networks->pairs >= 0) {
        lud_nn_bind(networks->base->actor.nn, networks->pair_first, b->first.device);
        lud_nn_bind(networks->base->actor.nn, networks->pair_second, b->second.device);
    }
    return LUD_OK;
}

void lud_clone_batch_close(lud_clone_batch *b) {
    lud_window_set_destroy(&b->windows);
    lud_window_set_destroy(&b->sums);
    lud_window_set_destroy(&b->between);
    lud_arrays_free(&b->arrays);
    *b = (lud_clone_batch){0};
}

void lud_clone_batch_send_rows(lud_clone_batch *b, int64_t first) {
    const int64_t words = row_words(b), n = b->data->n_rows - first;
    const void *from = has_choices(b) ? (const void *)(b->data->choices + first)
                                      : (const void *)(b->data->normal + first * words);
    if (n <= 0) return;
    memcpy((float *)b->rows.host + first * words, from, (size_t)(n * words) * sizeof(float));
    send(b, &b->rows, first * words, n * words);
}

/* ---- chunks ---- */

/* What stands behind the valid actions. Choices that count nothing are -1. */
static lud_padding choose_padding(lud_clone_batch *b) {
    const lud_clone_window_options *w = &b->data->options->windows;
    const int32_t idle = lud_idle_choice(&b->data->shape->model->layout, 0);
    const int32_t value = w->train_on_padding ? idle : -1;
    if (w->padding == LUD_CLONE_PAD_LAST) return LUD_PAD_LAST;
    if (!has_choices(b) || (w->padding == LUD_CLONE_PAD_ZERO && w->train_on_padding)) return LUD_PAD_ZERO;
    memcpy(b->pad.host, &value, sizeof value);
    send(b, &b->pad, 0, 1);
    return LUD_PAD_VALUE;
}

/* Whether in all of the window nothing is done. */
static bool is_idle(const lud_clone_batch *b, const lud_clone_track *track, int64_t step, int64_t n) {
    const lud_layout *layout = &b->data->shape->model->layout;
    if (!has_choices(b) || !layout->idle || layout->idle[track->agent] < 0 || n == 0) return false;
    const int32_t *choices = b->data->choices + track->first + step;
    for (int64_t k = 0; k < n; k++)
        if (choices[k] != layout->idle[track->agent]) return false;
    return true;
}

/* Which of the positions count how much: [n][horizon] sums to 1, or to the share of valid ones. */
static void weigh(lud_clone_batch *b) {
    const lud_clone_options *o = b->data->options;
    const int64_t horizon = b->networks->horizon, words = row_words(b);
    float *weights = b->weights.host;
    b->n_positions = 0;
    for (int64_t i = 0; i < b->n; i++) b->n_positions += b->lengths[i];
    for (int64_t i = 0; i < b->n; i++) {
        const lud_clone_track *track = b->data->tracks + b->track[i];
        const int64_t n = b->lengths[i];
        b->weight[i] = is_idle(b, track, b->step[i], b->windows.valid[i]) ? (float)o->idle_weight : 1.0f;
        const double share = o->average_positions ? 1.0 / (double)(b->n_positions > 0 ? b->n_positions : 1)
                                                  : 1.0 / (double)(b->n * (n > 0 ? n : 1));
        for (int64_t k = 0; k < horizon * words; k++)
            weights[i * horizon * words + k] = k < n * words ? b->weight[i] * (float)share : 0.0f;
    }
    send(b, &b->weights, 0, b->n * horizon * words);
}

static void make_chunks(lud_clone_batch *b) {
    const int64_t horizon = b->networks->horizon, words = row_words(b);
    const bool padded = b->data->options->windows.train_on_padding;
    const lud_padding padding = choose_padding(b);
    lud_window_set_some(&b->windows, &b->data->all, horizon, b->n, b->track, b->step, NULL);
    for (int64_t i = 0; i < b->n; i++) b->lengths[i] = b->windows.happened[i];
    if (!padded) /* an action that led nowhere is none */
        lud_window_set_some(&b->windows, &b->data->all, horizon, b->n, b->track, b->step, b->lengths);
    lud_window_set_gather(&b->windows, words * (int64_t)sizeof(float), b->rows.device, padding, b->pad.device,
                          b->target.device);
    for (int64_t i = 0; i < b->n && padded; i++) b->lengths[i] = (int32_t)horizon;
    weigh(b);
}

static void allow_choices(lud_clone_batch *b) {
    const int64_t horizon = b->networks->horizon, width = b->networks->width;
    uint8_t *allowed = b->choices.host;
    if (!b->networks->base->shape.masked) return;
    for (int64_t i = 0; i < b->n; i++)
        for (int64_t k = 0; k < horizon; k++)
            lud_clone_data_allowed(b->data, b->track[i], b->step[i] + k, allowed + (i * horizon + k) * width);
    send(b, &b->choices, 0, (b->n * horizon * width + 3) / 4);
}

/* ---- sums ---- */

/* What the windows of a set come to, as parts of `steps`: choices counted, or normalised numbers added. */
static void sum_windows(const lud_clone_batch *b, const lud_window_set *set, int64_t n, int64_t steps,
                        float *sums) {
    const int64_t width = b->networks->width;
    memset(sums, 0, (size_t)(n * width) * sizeof *sums);
    for (int64_t i = 0; i < n; i++)
        for (int64_t row = set->first[i]; row < set->first[i] + set->valid[i]; row++) {
            const float part = 1.0f / (float)steps;
            if (has_choices(b))
                sums[i * width + b->data->choices[row]] += part;
            else
                for (int64_t j = 0; j < width; j++)
                    sums[i * width + j] += part * b->data->normal[row * width + j];
        }
}

static void make_summary(lud_clone_batch *b) {
    const lud_clone_options *o = b->data->options;
    const int64_t steps = o->summary.steps > 0 ? o->summary.steps : o->windows.horizon;
    if (b->networks->summary < 0) return;
    lud_window_set_some(&b->sums, &b->data->all, steps, b->n, b->track, b->step, NULL);
    memcpy(b->sums.valid, b->sums.happened, (size_t)b->n * sizeof *b->sums.valid);
    sum_windows(b, &b->sums, b->n, steps, b->summary.host);
    send(b, &b->summary, 0, b->n * b->networks->width);
}

/* The pairs among the samples, and their frames as rows behind them. */
static void make_pairs(lud_clone_batch *b, bool truth) {
    const lud_clone_pair_options *p = &b->data->options->pairs;
    const lud_pair_options options = {.max_horizon = p->max_horizon,
                                      .summation_steps = p->steps,
                                      .farthest = p->sampling == 1,
                                      .delta_rule = truth ? LUD_DELTA_REALISED : p->delta_rule,
                                      .drop_zero = p->drop_zero || truth,
                                      .probability = truth ? 1.0 : p->probability,
                                      .primary_probability = 1.0,
                                      .seed = b->data->seed};
    b->n_pairs = 0;
    for (int64_t i = 0; i < b->n && b->networks->pairs >= 0; i++) {
        const lud_clone_track *track = b->data->tracks + b->track[i];
        /* one track by itself, under its own keys */
        const lud_tracks one = {.n = 1, .offsets = b->data->offsets + b->track[i]};
        const uint32_t agent = (uint32_t)track->agent;
        const lud_pair_source source = {&one, &track->episode, &agent};
        if (!lud_pair_is_drawn(&options, &source, 0, b->step[i], NULL)) continue;
        lud_pair pair =
            lud_pair_at(&options, &one, 0, b->step[i], lud_pair_draw(&options, &source, 0, b->step[i]));
        if (pair.realised == 0 && options.drop_zero) continue;
        pair.track = b->track[i];
        b->pairs[b->n_pairs++] = pair;
    }
    if (b->n_pairs == 0) return;
    lud_pairs_windows(&options, &b->data->all, b->n_pairs, b->pairs, &b->between, b->scratch);
    sum_windows(b, &b->between, b->n_pairs, p->steps, b->pair_target.host);
    lud_pairs_frames(&b->data->all, b->n_pairs, b->pairs, b->scratch);
    int32_t *rows[2] = {b->first.host, b->second.host};
    for (int64_t i = 0; i < 2 * b->n_pairs; i++) {
        rows[i % 2][i / 2] = (int32_t)(b->n + i);
        b->place[b->n + i] = (int32_t)b->scratch[i];
        b->agent[b->n + i] = b->data->tracks[b->pairs[i / 2].track].agent;
    }
    send(b, &b->pair_target, 0, b->n_pairs * b->networks->width);
    send(b, &b->first, 0, b->n_pairs);
    send(b, &b->second, 0, b->n_pairs);
}

void lud_clone_batch_make(lud_clone_batch *b, int64_t n, bool truth) {
    b->n = n;
    for (int64_t i = 0; i < n; i++) {
        b->place[i] = (int32_t)lud_track_observation(&b->data->all, b->track[i], b->step[i]);
        b->agent[i] = b->data->tracks[b->track[i]].agent;
    }
    make_chunks(b);
    allow_choices(b);
    make_summary(b);
    make_pairs(b, truth);
    lud_clone_networks_feed(b->networks, (const void *const *)b->data->parts, n + 2 * b->n_pairs, b->place,
                            b->agent, b->nought);
}
