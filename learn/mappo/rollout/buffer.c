#include "learn/mappo/rollout/buffer.h"

#include <string.h>

static lud_status out_of_memory(const lud_mappo_buffer *b, lud_error *error) {
    return lud_no_memory(error, "a rollout of %lld steps in %lld environments", (long long)b->n_steps,
                         (long long)b->n_envs);
}

lud_status lud_mappo_buffer_create(const lud_mappo_shape *shape, const lud_mappo_options *options,
                                   lud_device *device, int64_t n_steps, int64_t n_envs, lud_mappo_buffer *b,
                                   lud_error *error) {
    const lud_layout *layout = &shape->model->layout;
    *b = (lud_mappo_buffer){.shape = shape,
                            .device = device,
                            .arrays = {.device = device},
                            .n_steps = n_steps,
                            .n_envs = n_envs,
                            .n_rows = n_envs * layout->n_agents,
                            .hidden_width = options->recurrent ? options->hidden_size : 0,
                            .state_width = lud_mappo_state_width(options)};
    lud_arrays *a = &b->arrays;
    const int64_t slots = n_steps + 1;
    const bool whole = slots * b->n_rows <= INT32_MAX; /* chunks and gathers count rows in 32 bits */
    for (int p = 0; p < layout->n_parts && whole; p++) {
        b->part_bytes[p] = layout->parts[p].bytes;
        if (!lud_mappo_shape_reads(shape, p)) continue;
        b->parts[p] = lud_arrays_add(a, calloc((size_t)(slots * n_envs), b->part_bytes[p]));
    }
    if (!whole) return out_of_memory(b, error);
    const size_t all = (size_t)(slots * b->n_rows), hidden = all * (size_t)b->hidden_width;
    LUD_TAKE(a, b->masks, all);
    LUD_TAKE(a, b->bad_masks, all);
    LUD_TAKE(a, b->values, all);
    LUD_TAKE(a, b->log_probs, all);
    LUD_TAKE(a, b->rewards, all);
    LUD_TAKE(a, b->advantages, all);
    LUD_TAKE(a, b->returns, all);
    if (options->update.time_limits == LUD_LIMIT_BOOTSTRAP) LUD_TAKE(a, b->final_values, all);
    if (hidden > 0) LUD_TAKE(a, b->actor_hidden, hidden);
    if (hidden > 0) LUD_TAKE(a, b->critic_hidden, hidden);
    if (b->state_width > 0) LUD_TAKE(a, b->states, all * (size_t)b->state_width);
    if (shape->n_discrete > 0)
        LUD_TAKE(a, b->actions, all);
    else
        LUD_TAKE(a, b->numbers, all * (size_t)shape->n_continuous);
    LUD_TAKE_ON_DEVICE(a, b->workspace, (size_t)lud_returns_numbers(n_steps, b->n_rows));
    return a->failed ? out_of_memory(b, error) : LUD_OK;
}

void lud_mappo_buffer_destroy(lud_mappo_buffer *b) {
    lud_arrays_free(&b->arrays);
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

lud_returns lud_mappo_buffer_returns(const lud_mappo_buffer *b, const float *values,
                                     const float *final_values) {
    return (lud_returns){.device = b->device,
                         .workspace = b->workspace,
                         .n_steps = b->n_steps,
                         .n = b->n_rows,
                         .reward = b->rewards,
                         .value = values,
                         .mask = b->masks,
                         .cut = b->bad_masks,
                         .final_value = final_values,
                         .advantage = b->advantages,
                         .returns = b->returns};
}

int64_t lud_mappo_buffer_cut(const lud_mappo_buffer *b, int64_t length, lud_chunk *chunks) {
    int64_t n = 0;
    for (int64_t row = 0; row < b->n_rows; row++) {
        int64_t begin = 0;
        while (begin < b->n_steps) {
            int64_t end = begin + 1;
            while (end < b->n_steps && end - begin < length && b->masks[end * b->n_rows + row] != 0.0f) end++;
            chunks[n++] = (lud_chunk){(int32_t)(begin * b->n_rows + row), (int32_t)(end - begin)};
            begin = end;
        }
    }
    return n;
}
