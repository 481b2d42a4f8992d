/* Rollouts on a device that steps the world itself: observe, edges, forward, sample, step and store are one
 * piece of work over memory taken beforehand, recorded once and replayed for every step. The host sees a
 * rollout when it is over. */
#pragma once

#include "learn/mappo/head.h"
#include "learn/mappo/rollout/buffer.h"
#include "sim/batch.h"
#include "sim/device_batch.h"

typedef struct lud_mappo_device_rollout {
    lud_mappo_networks *networks;
    lud_device *device;
    const struct lud_mappo_code *code;
    lud_device_batch *worlds;
    int64_t n_envs, n_agents, n_rows, n_steps, slice_envs;
    /* the step in progress, memory of the device */
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    float *mask, *actor_hidden, *critic_hidden, *states; /* [rows](width) */
    int32_t *actions;                                    /* [rows] or null */
    float *numbers, *world_actions;      /* [rows][n_continuous] or null; as the world takes them */
    float *log_probs, *values, *rewards; /* [rows] */
    uint8_t *terminated, *truncated, *final_states; /* [n_envs] whole words */
    int32_t *first_edge;                            /* [n_envs] */
    uint32_t *slot, *tick;
    /* what it leaves behind: see device_rollout.c */
    struct lud_mappo_trace *trace;
    lud_capture stepping, ending; /* a step; the observations, states and values of the last slot */
} lud_mappo_device_rollout;

/* Rollouts into buffers and for batches like these, with networks for rollouts on `slice_envs` environments
 * at most at a time, which must outlive them. *rollout is null where the device does not step the world: then
 * the host has to. */
lud_status lud_mappo_device_rollout_create(lud_mappo_networks *networks, const lud_mappo_buffer *buffer,
                                           const lud_batch *batch, int64_t slice_envs,
                                           lud_mappo_device_rollout **rollout, lud_error *error);
/* Null is allowed. */
void lud_mappo_device_rollout_destroy(lud_mappo_device_rollout *rollout);
/* From slot 0 of the buffer and the environments of the batch: fills actions, log-probabilities and rewards
 * of all steps, observations, states and values of slots up to the last, and brings the batch to where the
 * rollout ended. Masks, and zero states where an episode begins, are left to lud_mappo_buffer_end_episodes,
 * with what lud_mappo_device_rollout_ends says about each step. */
void lud_mappo_device_rollout_run(lud_mappo_device_rollout *rollout, lud_mappo_buffer *buffer,
                                  lud_batch *batch);
/* Which episodes step t of the last run ended, and their last states: arrays of the host, in shapes of
 * lud_batch_out. */
void lud_mappo_device_rollout_ends(const lud_mappo_device_rollout *rollout, int64_t t, uint8_t *terminated,
                                   uint8_t *truncated, uint8_t *final_states);
