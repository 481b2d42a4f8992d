/* Processes that compute together (base/ranks), each on a device of its own: what GPUs hold is added there
 * and goes from GPU to GPU, where they reach one another. */
#pragma once

#include "base/ranks/ranks.h"
#include "kernels/device.h"

/* As lud_device_open; of several GPUs in a machine each process of it takes one, in turn. All processes call
 * it, or none does; null `ranks`: one process alone. device->carrier is what takes messages from memory to
 * memory; without one they go through the host's, and device->no_carrier says why. */
lud_status lud_device_open_among(lud_ranks *ranks, const char *choice, int n_threads, lud_device **device,
                                 lud_error *error);

/* Whether the sums of processes can be made in the device's memory. */
bool lud_device_adds_up(const lud_device *device);
/* That memory, for lud_ranks_add; of a device that adds up. */
lud_ranks_memory lud_device_memory(lud_device *device);
