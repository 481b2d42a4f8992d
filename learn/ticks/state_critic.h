/* A critic on what a transformer has read: a small network over the state of a prompt's last token, through
 * which no gradient reaches the transformer. Its parameters are named `critic.`. */
#pragma once

#include "learn/nn/arrays.h"
#include "learn/nn/nn.h"
#include "learn/policy_gradient/value_normaliser.h"
#include "learn/ticks/options.h"
#include "learn/ticks/tick_policy.h"

typedef struct lud_state_critic {
    lud_device *device;
    lud_nn *net;
    int state, value;
    int64_t width;
    double huber_delta;
    lud_value_normaliser normaliser;
    float *target, *normalised, *loss, *weight; /* [rows of a pass] on the device */
    float *host_loss;
    int32_t *in_order; /* [n_learning] 0, 1, ... */
    lud_arrays arrays;
} lud_state_critic;

/* Declares the network on parameters that are not built yet. False when memory is out. */
bool lud_state_critic_declare(lud_state_critic *critic, lud_parameters *parameters, int64_t width);
/* Takes all memory; the parameters are built. */
lud_status lud_state_critic_build(lud_state_critic *critic, const lud_tick_options *options,
                                  int64_t n_learning, lud_error *error);
/* Safe on a zeroed struct. */
void lud_state_critic_destroy(lud_state_critic *critic);
/* value[n] in units of reward of state[n][width], on the host. */
void lud_state_critic_values(lud_state_critic *critic, int64_t n, const float *state, float *value);
/* Adds the gradient of the values of a lesson, after the normaliser took in the targets; returns the mean
 * loss. What a valued row saw is that row of state[][width]. */
double lud_state_critic_learn(lud_state_critic *critic, const lud_tick_lesson *lesson, const float *state);
