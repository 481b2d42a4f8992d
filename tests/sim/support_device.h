/* A world stepped on a device beside the CPU. */
#pragma once

#include "kernels/device.h"
#include "sim/world.h"

enum { DEVICE_ENVS = 37, DEVICE_SEED = 11, DEVICE_FIRST = 3 };

/* Steps environments of the model on both, with random actions and automatic resets, and fails where states,
 * observations, rewards, ends or clocks differ: with `exact` in a byte, else in a number by more than the
 * last bits that a device may have of its own. Every step begins in the CPU's states, so that a last bit
 * cannot grow. As many episodes as environments must end within n_steps. */
void compare_on_device(const char *what, const lud_model *model, lud_device *cuda, int n_steps, bool exact);
