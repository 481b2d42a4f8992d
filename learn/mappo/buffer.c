#include "learn/mappo/buffer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool wants(const lud_mappo_shape *shape, int part) {
    for (int k = 0; k < shape->n_pieces; k++)
        if (shape->pieces[k].part == part) return true;
    const int others[] = {shape->grid,        shape->nodes,       shape->edge_begin,
                          shape->edge_source, shape->edge_length, shape->disturbance};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (others[k] == part) return true;
    return false;
}

static bool take(float **array, int64_t n) {
    *array = calloc((size_t)(n > 0 ? n : 1), sizeof **array);
    return *array;
}

lud_status lud_mappo_buffer_create(const lud_mappo_shape *shape, const lud_mappo_options *options,
                                   lud_device *device, int64_t n_steps, int64_t n_envs, lud_mappo_buffer *b,
                                   lud_error *error) {
    const lud_layout *layout = &shape->model->layout;
    *b = (lud_mappo_buffer){.shape = shape,
                            .device = device,
                            .n_steps = n_steps,
                            .n_envs = n_envs,
                            .n_rows = n_envs * layout->n_agents};
    const int64_t slots = n_steps + 1, all = slots * b->n_rows;
    bool whole = all <= INT32_MAX; /* chunks and gathers count rows in 32 bits */
    for (int p = 0; p < layout->n_parts && whole; p++) {
        b->part_bytes[p] = layout->parts[p].bytes;
        if (!wants(shape, p)) continue;
        b->parts[p] = calloc((size_t)(slots * n_envs), b->part_bytes[p]);
        whole = b->parts[p];
    }
    whole = whole && take(&b->masks, all) && take(&b->bad_masks, all) && take(&b->values, all) &&
            take(&b->log_probs, all) && take(&b->rewards, all) && take(&b->advantages, all) &&
            take(&b->returns, all);
    if (options->time_limits == LUD_LIMIT_BOOTSTRAP) whole = whole && take(&b->final_values, all);
    if (options->recurrent) {
        b->hidden_width = options->hidden_size;
        whole = whole && take(&b->actor_hidden, all * b->hidden_width) &&
                take(&b->critic_hidden, all * b->hidden_width);
    }
    if (options->control == LUD_MAPPO_MAD) {
        b->state_width = lud_mappo_state_width(options);
        whole = whole && take(&b->states, all * b->state_width);
    }
    if (shape->n_discrete > 0) {
        b->actions = calloc((size_t)all, sizeof *b->actions);
        whole = whole && b->actions;
    } else {
        whole = whole && take(&b->numbers, all * shape->n_continuous);
    }
    b->workspace = lud_device_allocate(device, (size_t)(5 * all) * sizeof *b->workspace);
    if (whole && b->workspace) return LUD_OK;
    lud_mappo_buffer_destroy(b);
    return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a rollout of %lld steps in %lld environments",
                    (long long)n_steps, (long long)n_envs);
}

void lud_mappo_buffer_destroy(lud_mappo_buffer *b) {
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(b->parts[p]);
    float *arrays[] = {b->masks,  b->bad_masks,    b->actor_hidden, b->critic_hidden,
                       b->states, b->numbers,      b->log_probs,    b->rewards,
                       b->values, b->final_values, b->advantages,   b->returns};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(b->actions);
    if (b->workspace) lud_device_release(b->device, b->workspace);
    *b = (lud_mappo_buffer){0};
}

lud_mappo_memory lud_mappo_buffer_memory(const lud_mappo_buffer *b) {
    return (lud_mappo_memory){.masks = b->masks,
                              .actor_hidden = b->actor_hidden,
                              .critic_hidden = b->critic_hidden,
                              .states = b->states,
                              .hidden_width = b->hidden_width,
                              .state_width = b->state_width};
}

void lud_mappo_buffer_end_episodes(lud_mappo_buffer *b, int64_t t, const uint8_t *terminated,
                                   const uint8_t *truncated) {
    const int64_t n_agents = b->shape->n_agents;
    for (int64_t row = 0; row < b->n_rows; row++) {
        const int64_t e = row / n_agents, at = (t + 1) * b->n_rows + row;
        const bool done = terminated[e] || truncated[e];
        b->masks[at] = done ? 0.0f : 1.0f;
        b->bad_masks[at] = done && !terminated[e] ? 0.0f : 1.0f;
        if (!done) continue;
        const size_t hidden = (size_t)b->hidden_width * sizeof(float);
        if (b->actor_hidden) memset(b->actor_hidden + at * b->hidden_width, 0, hidden);
        if (b->critic_hidden) memset(b->critic_hidden + at * b->hidden_width, 0, hidden);
        if (b->states) memset(b->states + at * b->state_width, 0, (size_t)b->state_width * sizeof(float));
    }
}

static void last_to_first(lud_mappo_buffer *b, float *array, int64_t width) {
    if (array)
        memcpy(array, array + b->n_steps * b->n_rows * width, (size_t)(b->n_rows * width) * sizeof *array);
}

void lud_mappo_buffer_after_update(lud_mappo_buffer *b) {
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        if (b->parts[p]) {
            const size_t slot = (size_t)b->n_envs * b->part_bytes[p];
            memcpy(b->parts[p], (char *)b->parts[p] + (size_t)b->n_steps * slot, slot);
        }
    last_to_first(b, b->masks, 1);
    last_to_first(b, b->bad_masks, 1);
    last_to_first(b, b->actor_hidden, b->hidden_width);
    last_to_first(b, b->critic_hidden, b->hidden_width);
    last_to_first(b, b->states, b->state_width);
}

void lud_mappo_buffer_returns(lud_mappo_buffer *b, const lud_mappo_options *options, const float *values,
                              const float *final_values) {
    lud_device *device = b->device;
    const int64_t n = b->n_steps * b->n_rows, slots = n + b->n_rows;
    /* small arrays: the device's operation on device memory */
    enum { REWARD, VALUE, MASK, BAD, RETURN, N_ARRAYS };
    const float *from[] = {b->rewards, values, b->masks, b->bad_masks};
    float *on_device[N_ARRAYS];
    for (int i = 0; i < N_ARRAYS; i++) {
        on_device[i] = b->workspace + i * slots;
        if (i < RETURN)
            lud_device_upload(device, on_device[i], from[i],
                              (size_t)(i == REWARD ? n : slots) * sizeof(float));
    }
    if (options->time_limits == LUD_LIMIT_BOOTSTRAP) {
        float *reward = b->returns; /* not needed before the download */
        for (int64_t i = 0; i < n; i++) {
            reward[i] = b->rewards[i];
            if (b->bad_masks[i + b->n_rows] == 0.0f) reward[i] += (float)options->discount * final_values[i];
        }
        lud_device_upload(device, on_device[REWARD], reward, (size_t)n * sizeof *reward);
    }
    const float *bad = options->time_limits == LUD_LIMIT_DISCARD ? on_device[BAD] : NULL;
    if (options->gae)
        device->ops->gae(device, b->n_steps, b->n_rows, options->discount, options->lambda, on_device[REWARD],
                         on_device[VALUE], on_device[MASK], bad, NULL, on_device[RETURN]);
    else
        device->ops->discounted_returns(device, b->n_steps, b->n_rows, options->discount, on_device[REWARD],
                                        on_device[VALUE], on_device[MASK], bad, on_device[RETURN]);
    lud_device_download(device, b->returns, on_device[RETURN], (size_t)n * sizeof(float));
    double mean = 0.0, square = 0.0;
    for (int64_t i = 0; i < n; i++) {
        b->advantages[i] = b->returns[i] - values[i];
        mean += (double)b->advantages[i];
    }
    mean /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)b->advantages[i] - mean;
        square += d * d;
    }
    const double scale = 1.0 / (sqrt(square / (double)n) + 1e-5);
    for (int64_t i = 0; i < n; i++) b->advantages[i] = (float)(((double)b->advantages[i] - mean) * scale);
}

int64_t lud_mappo_buffer_cut(const lud_mappo_buffer *b, int64_t length, lud_mappo_chunk *chunks) {
    int64_t n = 0;
    for (int64_t row = 0; row < b->n_rows; row++) {
        int64_t begin = 0;
        while (begin < b->n_steps) {
            int64_t end = begin + 1;
            while (end < b->n_steps && end - begin < length && b->masks[end * b->n_rows + row] != 0.0f) end++;
            chunks[n++] = (lud_mappo_chunk){(int32_t)(begin * b->n_rows + row), (int32_t)(end - begin)};
            begin = end;
        }
    }
    return n;
}
