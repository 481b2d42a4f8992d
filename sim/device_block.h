/* A model's tables as one block of memory of a device: a copy of the model with every pointer that a step
 * follows led to where its array lies there. */
#pragma once

#include "kernels/device.h"

/* The block, first counted (bytes null), then filled on the host. */
typedef struct lud_device_block {
    uint8_t *bytes, *device; /* on the host; where it will stand */
    size_t used;
} lud_device_block;

/* Writes a model and all its arrays with lud_device_block_put, the model first. Called twice. */
typedef void lud_device_block_build(lud_device_block *block, const void *model);

/* Room for `bytes`, with their contents; returns their address on the device. The address on the host goes to
 * *host where that is asked for. Both are null while the block is counted. */
void *lud_device_block_put(lud_device_block *block, const void *from, size_t bytes, void **host);

/* Builds a block of a model and sends it to the device: *uploaded, memory of the device, belongs to the
 * caller. LUD_ERROR_MEMORY when there is none. */
lud_status lud_device_block_upload(lud_device *device, lud_device_block_build *build, const void *model,
                                   void **uploaded, lud_error *error);
