/* N environments of one world where a device's memory is: what lud_batch (batch.h) does, with every array on
 * the device, so that a learner there reads observations and writes actions without a copy. On the CPU it is
 * lud_batch. On CUDA the world's own source runs, one thread an environment, for worlds that have a CUDA half
 * (particle in single precision, multigrid with compact observations).
 *
 * Discrete results are the same bytes on every device. Numbers are, too, except where the world draws from a
 * normal distribution or takes an exponential: there the last bit is the device's. */
#pragma once

#include "kernels/device.h"
#include "sim/batch.h"

/* Every array is memory of the device; shapes are those of lud_batch. */
typedef struct lud_device_batch {
    const lud_model *model;
    lud_device *device;
    uint64_t seed;
    uint32_t first_environment;
    int n_envs;
    bool auto_reset; /* as in lud_batch; on at first */
    uint8_t *states;
    uint32_t *tick;
    int32_t *episode_step;
    uint32_t *episode;
} lud_device_batch;

/* The model and the device must outlive the batch. Fails with LUD_ERROR_UNSUPPORTED where the world cannot
 * step on the device. */
lud_status lud_device_batch_create(const lud_model *model, lud_device *device, int n_envs, uint64_t seed,
                                   uint32_t first_environment, lud_device_batch **batch, lud_error *error);
void lud_device_batch_destroy(lud_device_batch *batch);
/* As lud_batch_reset and lud_batch_step. `actions` and what `out` points to are memory of the device;
 * out->observations itself is a host array of n_parts device pointers. Work is only queued: a download or
 * lud_device_synchronise waits for it. */
void lud_device_batch_reset(lud_device_batch *batch, const lud_batch_out *out);
void lud_device_batch_step(lud_device_batch *batch, lud_actions actions, const lud_batch_out *out);
