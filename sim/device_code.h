/* What a world's CUDA half gives to device_batch.c: a table of functions, exported by the device's module
 * under the name lud_world.device_code. Also read by nvcc. */
#pragma once

#include "kernels/device.h"
#include "sim/batch.h"

/* The environments of a batch, by value; all arrays are memory of the device. */
typedef struct lud_device_envs {
    uint64_t seed;
    uint32_t first_environment;
    int n;
    bool auto_reset;
    uint8_t *states;
    uint32_t *tick;
    int32_t *episode_step;
    uint32_t *episode;
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* observations; null: not wanted */
} lud_device_envs;

typedef struct lud_device_code {
    /* `model`: for sizes, on the host; `uploaded`: what lud_world.upload gave. */
    void (*reset)(lud_device *device, const lud_model *model, const void *uploaded,
                  const lud_device_envs *envs);
    /* out->terminated and out->truncated are given always. */
    void (*step)(lud_device *device, const lud_model *model, const void *uploaded,
                 const lud_device_envs *envs, lud_actions actions, const lud_batch_out *out);
} lud_device_code;
