/* Proximal policy optimisation (Schulman et al., "Proximal policy optimization algorithms", 2017): the
 * objective of one slice of rows and its gradient, on the device.
 *
 *     r_t  = pi(a_t | s_t) / pi_old(a_t | s_t)                              (eq. 6)
 *     L_P  = -min(r_t A_t, clip(r_t, 1 - clip, 1 + clip) A_t)               (eq. 7)
 *     L_V  = max(l(V - R), l(V_clipped - R)), V_clipped = V_old + clip(V - V_old, -value_clip, value_clip);
 *            l the square or the Huber loss (Yu et al., NeurIPS 2022); or the clipped one alone
 *     L    = mean over the samples of a minibatch of  w (L_P + c_1 L_V - c_2 H)     (eq. 9), H the entropy
 *
 * w is the weight of a sample: 1, or what a gate says. A minibatch is computed in slices, as many rows as
 * pass through the networks at once; their gradients add up. Where a gate keeps few samples the losses of the
 * policy and of the critic are two passes over different samples.
 *
 * What distribution actions come from is a head's affair: two functions. */
#pragma once

#include "learn/policy_gradient/options.h"
#include "learn/policy_gradient/row_arrays.h"
#include "learn/policy_gradient/value_normaliser.h"

typedef enum lud_ppo_array {
    /* known of a row before its slice is run, sent to the device */
    LUD_PPO_OLD_LOG_PROB,
    LUD_PPO_ADVANTAGE,
    LUD_PPO_OLD_VALUE,        /* as the critic gave it */
    LUD_PPO_RETURN,           /* in units of reward */
    LUD_PPO_POLICY_WEIGHT,    /* w / samples of the minibatch */
    LUD_PPO_VALUE_WEIGHT,     /* c_1 w / samples */
    LUD_PPO_ENTROPY_GRADIENT, /* of L by H: -c_2 w / samples */
    /* found by the slice, fetched */
    LUD_PPO_LOG_PROB,
    LUD_PPO_ENTROPY,
    LUD_PPO_RATIO,
    LUD_PPO_POLICY_LOSS,
    LUD_PPO_VALUE_LOSS,
    /* stay on the device */
    LUD_PPO_LOG_PROB_GRADIENT,
    LUD_PPO_TARGET, /* of the critic, normalised */
    LUD_PPO_VALUE,  /* for learners whose network does not give values of all rows side by side, with */
    LUD_PPO_VALUE_GRADIENT, /* the gradient of L by them */
    LUD_PPO_ARRAYS,
    LUD_PPO_SENT = LUD_PPO_LOG_PROB,
    LUD_PPO_FETCHED = LUD_PPO_LOG_PROB_GRADIENT - LUD_PPO_LOG_PROB
} lud_ppo_array;

/* What a slice is for. */
typedef enum lud_ppo_pass {
    LUD_PPO_BOTH,
    LUD_PPO_POLICY, /* L_P and H: the value loss has no weight */
    LUD_PPO_CRITIC  /* L_V: every sample counts alike, and policy and entropy have no weight */
} lud_ppo_pass;

/* The distribution of actions, over the rows of the slice; arrays are memory of the device, [rows]. Where
 * both only queue operations the slice can be recorded (learn/nn/capture.h). */
typedef struct lud_ppo_head {
    /* After the policy's forward run: log-probabilities and entropies of the actions that were taken. */
    void (*evaluate)(void *context, lud_device *device, float *log_prob, float *entropy);
    /* From the gradients by those to gradients by the network's outputs. */
    void (*backward)(void *context, lud_device *device, const float *dlog_prob, const float *dentropy);
} lud_ppo_head;

/* What a rollout left behind: arrays of the host, one number a sample. */
typedef struct lud_samples {
    const float *log_prob, *value, *advantage, *returns;
} lud_samples;

/* Sums over rows. */
typedef struct lud_ppo_sums {
    double rows, value_rows; /* of the policy's losses and of the critic's */
    double policy_loss, value_loss, entropy, ratio;
    double kl;      /* r - 1 - ln r, whose mean estimates the divergence from the old policy */
    double clipped; /* ratios outside the clip range */
} lud_ppo_sums;

typedef struct lud_ppo {
    lud_device *device;
    const lud_policy_gradient_options *options;
    const lud_value_normaliser *normaliser; /* null: values are in units of reward */
    lud_samples samples;
    lud_row_arrays rows; /* lud_ppo_array, and the words of the head */
    /* of the minibatch */
    int pass;            /* lud_ppo_pass */
    double scale;        /* 1 / samples, or what a gate divides by */
    double critic_scale; /* 1 / samples of a pass for the critic */
    double entropy_coefficient;
    double mean, deviation; /* (advantage - mean) / deviation counts */
    const float *weight;    /* of each sample of the rollout, null: all 1 */
} lud_ppo;

/* Takes memory for slices of at most max_rows rows, and max_words words beside their arrays, with `device`
 * and `options` set. False: memory is out. */
bool lud_ppo_create(lud_ppo *ppo, int64_t max_rows, int64_t max_words);
/* Safe on a zeroed struct. */
void lud_ppo_destroy(lud_ppo *ppo);
/* Begins a slice: row i is sample row[i], i < n. Rows n .. n_padded - 1 are zeros and have no weight; n_words
 * words are the head's to fill. */
void lud_ppo_fill(lud_ppo *ppo, int64_t n, const int32_t *row, int64_t n_padded, int64_t n_words);
/* The weight of a sample in the minibatch. */
double lud_ppo_weight(const lud_ppo *ppo, int32_t sample);
/* Whether the slice at hand has losses of the policy, and of the critic. */
bool lud_ppo_of_policy(const lud_ppo *ppo);
bool lud_ppo_of_critic(const lud_ppo *ppo);
/* After the policy's forward run: L_P and the entropy, and their gradients through the head. `device` is
 * where the work is queued, which may be one of two (lud_device_run_both). */
void lud_ppo_policy_gradient(const lud_ppo *ppo, lud_device *device, const lud_ppo_head *head, void *context);
/* After the critic's forward run: L_V of value[rows], and dvalue[rows], its gradient. */
void lud_ppo_value_gradient(const lud_ppo *ppo, lud_device *device, const float *value, float *dvalue);
/* Fetches what the slice has found and adds its first n rows to `sums`, each counted once whatever its
 * weight, as far as the pass has found it. */
void lud_ppo_add_sums(const lud_ppo *ppo, int64_t n, lud_ppo_sums *sums);
