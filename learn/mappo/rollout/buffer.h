/* What a rollout leaves behind, and how it is cut into chunks for an update. Host memory; slot t of T + 1 is
 * what the agents saw and remembered at step t, environment-major. */
#pragma once

#include "learn/mappo/inputs.h"
#include "learn/nn/arrays.h"
#include "learn/policy_gradient/update.h"

typedef struct lud_mappo_buffer {
    const lud_mappo_shape *shape;
    int64_t n_steps, n_envs, n_rows;              /* n_rows = n_envs * n_agents: rows of a slot */
    void *parts[LUD_MAX_OBSERVATION_PARTS];       /* [T + 1][n_envs](part), null: not needed */
    size_t part_bytes[LUD_MAX_OBSERVATION_PARTS]; /* of one environment */
    float *masks;                                 /* [T + 1][rows] 0 where an episode begins */
    float *bad_masks;                    /* [T + 1][rows] 0 where the one before was cut off by its length */
    float *actor_hidden, *critic_hidden; /* [T + 1][rows][hidden] or null */
    float *states;                       /* [T + 1][rows][state][2] or null */
    int64_t hidden_width, state_width;
    int32_t *actions;            /* [T][rows] or null */
    float *numbers;              /* [T][rows][n_continuous] or null */
    float *log_probs, *rewards;  /* [T][rows] */
    float *values;               /* [T + 1][rows] normalised, as the critic gives them */
    float *final_values;         /* [T][rows] of what was seen last where an episode was cut off, or null */
    float *advantages, *returns; /* [T][rows] */
    float *workspace;            /* device memory, see lud_returns */
    lud_device *device;
    lud_arrays arrays;
} lud_mappo_buffer;

/* After an error too the buffer is to be destroyed. */
lud_status lud_mappo_buffer_create(const lud_mappo_shape *shape, const lud_mappo_options *options,
                                   lud_device *device, int64_t n_steps, int64_t n_envs,
                                   lud_mappo_buffer *buffer, lud_error *error);
/* Safe on a zeroed struct. */
void lud_mappo_buffer_destroy(lud_mappo_buffer *buffer);
/* Its masks and states, all slots, as inputs take them. */
lud_mappo_memory lud_mappo_buffer_memory(const lud_mappo_buffer *buffer);
/* After step t: episodes that ended begin anew in slot t + 1 with mask 0 and zero states. */
void lud_mappo_buffer_end_episodes(lud_mappo_buffer *buffer, int64_t t, const uint8_t *terminated,
                                   const uint8_t *truncated);
/* Slot 0 := slot T: observations, masks, states. */
void lud_mappo_buffer_after_update(lud_mappo_buffer *buffer);
/* What returns and advantages are estimated from, with denormalised values[T + 1][rows] and
 * final_values[T][rows]; results are the buffer's. */
lud_returns lud_mappo_buffer_returns(const lud_mappo_buffer *buffer, const float *values,
                                     const float *final_values);
/* Cuts the rollout into chunks, rows first, first + n_rows, ..., of one agent in one environment within one
 * episode, of at most `length` steps; chunks has room for n_steps * n_rows. Returns their number. */
int64_t lud_mappo_buffer_cut(const lud_mappo_buffer *buffer, int64_t length, lud_chunk *chunks);
