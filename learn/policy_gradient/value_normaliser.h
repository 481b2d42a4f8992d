/* Running statistics of returns, by which the targets of a critic are normalised.
 *
 * ValueNorm (Yu et al., "The surprising effectiveness of PPO in cooperative multi-agent games", NeurIPS
 * 2022): exponential averages of returns and of their squares, debiased. PopArt (van Hasselt et al.,
 * "Learning values across many orders of magnitude", NeurIPS 2016): the critic's output layer is rescaled
 * with them, so that its values in units of reward stay. */
#pragma once

#include "learn/nn/parameters.h"

typedef enum lud_value_normaliser_kind {
    LUD_VALUE_PLAIN, /* none: values are in units of reward */
    LUD_VALUE_NORM,
    LUD_VALUE_POPART
} lud_value_normaliser_kind;
extern const char *const lud_value_normaliser_names[]; /* null-terminated */

typedef struct lud_value_normaliser {
    lud_device *device;
    lud_value_normaliser_kind kind;
    double beta; /* what is left of the statistics after a minibatch */
    float state[LUD_NORMALISER_FIELDS];
    float *on_device; /* the state, then scratch */
    /* of the critic's output layer, for PopArt */
    lud_parameters *parameters;
    int weight, bias;
} lud_value_normaliser;

/* Takes memory for `device`, which the caller has set with the rest. False: memory is out. */
bool lud_value_normaliser_create(lud_value_normaliser *normaliser);
/* Safe on a zeroed struct. */
void lud_value_normaliser_destroy(lud_value_normaliser *normaliser);
/* Moves the statistics on by returns[row[i]], i < n, in units of reward; with PopArt rescales the output
 * layer. */
void lud_value_normaliser_update(lud_value_normaliser *normaliser, int64_t n, const int32_t *row,
                                 const float *returns);
/* Queues target[n] = normalised returns[n], memory of the device; gives back where they are (the returns
 * themselves when there is nothing to do). */
const float *lud_value_normaliser_targets(const lud_value_normaliser *normaliser, lud_device *device,
                                          int64_t n, const float *returns, float *target);
/* Values of the critic in units of reward, in place, on the host. */
void lud_value_normaliser_denormalise(const lud_value_normaliser *normaliser, int64_t n, float *values);
