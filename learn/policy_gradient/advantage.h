/* Returns and advantages of a rollout.
 *
 *     delta_t = r_t + gamma V(s_{t+1}) - V(s_t)
 *     A_t     = sum_l (gamma lambda)^l delta_{t+l}       (Schulman et al., "High-dimensional continuous
 * control using generalised advantage estimation", ICLR 2016, eq. 16), cut at the ends of episodes R_t     =
 * A_t + V(s_t), or the discounted sum of rewards
 *
 * Step t of column i is number t * n + i of an array. */
#pragma once

#include "kernels/device.h"
#include "learn/policy_gradient/options.h"

typedef struct lud_returns {
    lud_device *device;
    float *workspace; /* memory of the device for lud_returns_numbers(n_steps, n) */
    int64_t n_steps, n;
    const float *reward; /* [n_steps][n] */
    const float *value;  /* [n_steps + 1][n] in units of reward */
    const float *mask;   /* [n_steps + 1][n] 0 where an episode begins */
    const float *cut;    /* [n_steps + 1][n] 0 where the one before was cut off by its length; read unless
                            time_limits is LUD_LIMIT_TERMINAL */
    const float
        *final_value;       /* [n_steps][n] in units of reward, of what was seen last where an episode was
                               cut   off; read when time_limits is LUD_LIMIT_BOOTSTRAP, as part of the last
                               reward   (Pardo et al., "Time limits in reinforcement learning", ICML 2018) */
    lud_baseline *baseline; /* null, or of type critic: the value. Else the advantage is the return less what
                               this says of all returns in their order */
    const int32_t *group;   /* [n_steps][n] of its group_mean; null: all are one */
    float *advantage, *returns; /* [n_steps][n] results */
} lud_returns;

int64_t lud_returns_numbers(int64_t n_steps, int64_t n);
/* Fills advantage and returns; advantages are normalised when the options say so of the rollout. */
void lud_returns_estimate(const lud_returns *r, const lud_policy_gradient_options *options);
/* (A - mean) / (max(deviation, least) + 1e-5), over all n. What is left of advantages where the critic
 * explains nearly all is noise, which `least` keeps from being blown up to full size. */
void lud_advantage_normalise(int64_t n, double least, float *advantage);
/* The same as options->scale says of a rollout, LUD_ADVANTAGE_OF_ROLLOUT: of n samples with these returns. */
void lud_advantage_scale_rollout(int64_t n, const lud_policy_gradient_options *options, const float *returns,
                                 float *advantage);
/* Mean of advantage[row[i]], i < n, and their deviation (of a sample of the whole) + 1e-8, n > 1; else 0 and
 * 1. */
void lud_advantage_moments(int64_t n, const int32_t *row, const float *advantage, double *mean,
                           double *deviation);
/* 1 - Var(return - value) / Var(return); not a number where all returns are the same. */
double lud_explained_variance(int64_t n, const float *returns, const float *value);
