/* The levels of the exact EMPO sweep on a device that has kernels for them (sweep.h): states of
 * a level go there in chunks, their records come back, the credits of two levels stay. */
#pragma once

#include "base/progress.h"
#include "learn/empo/equations.h"
#include "learn/empo/exact/exact.h"
#include "learn/empo/exact/levels.h"
#include "learn/empo/exact/one_state.h"

typedef struct lud_empo_device lud_empo_device;

/* Whether the device has kernels for the sweep. The CPU has none: exact.c reads the state space where it
 * lies. */
bool lud_empo_device_sweeps(const lud_device *device);

/* Takes all memory, on run->device and on the host. problem, run, levels and the arrays of `game` (host
 * memory) must outlive it. LUD_ERROR_MEMORY when the device is too small. */
lud_status lud_empo_device_create(const lud_empo_problem *problem, const lud_empo_run *run,
                                  const lud_empo_game *game, const lud_empo_levels *levels, uint64_t window,
                                  lud_empo_device **made, lud_error *error);
/* Null is allowed. */
void lud_empo_device_destroy(lud_empo_device *d);
/* Solves the states at positions begin .. end - 1 into run->records. What stands in *powerless gives way to
 * lower states at which a person has no power. LUD_INTERRUPTED after Ctrl-C. */
lud_status lud_empo_device_level(lud_empo_device *d, uint64_t begin, uint64_t end, lud_progress *progress,
                                 lud_empo_powerless *powerless, lud_error *error);
/* Brings back the credits of states whose records are known. */
lud_status lud_empo_device_recall(lud_empo_device *d, uint64_t begin, uint64_t end, lud_error *error);
