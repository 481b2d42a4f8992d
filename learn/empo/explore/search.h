/* Tree search over joint robot actions while acting, guided by the learned values: the selection rule of
 * Silver et al., "Mastering the game of Go without human knowledge" (Nature 2017), with people as part of the
 * world. Their actions are drawn from the prior for their present goals, one successor is drawn a step.
 *
 *   select   argmax_a Q(a) + c_puct prior(a) sqrt(max(N, 1)) / (1 + n_a), Q(a) the mean of what was backed
 * up, the learned Q_r where nothing was; prior = pi_r of the learned Q_r expand   a state not met before
 * counts its learned V_r, a terminal one the terminal value back up  gamma_r x the value of the state that
 * followed; the value of a state is U_r + sum_a pi(a) Q(a) with pi in proportion to visits^(1/temperature)
 *
 * The trees of all environments grow side by side, so that the networks see one batch a simulation. */
#pragma once

#include "learn/empo/options.h"
#include "learn/empo/people/prior.h"

/* Learned values of n states: q[n][n_robot_actions], the weighted U_r u[n], v[n] under the policy with
 * exponent beta_r. goals[n] pointers to [n_humans]. */
typedef lud_status (*lud_empo_search_values)(void *context, int n, const int32_t *const *records,
                                             const int32_t *const *goals, double beta_r, float *q, float *u,
                                             float *v, lud_error *error);

typedef struct lud_empo_search lud_empo_search;

/* For at most n_envs states at once, as the options say; they, features and prior must outlive it. */
lud_status lud_empo_search_create(const lud_empo_learner_options *options, int n_envs, uint64_t seed,
                                  const lud_empo_features *features, const lud_empo_prior *prior,
                                  lud_empo_search **search, lud_error *error);
/* Null is allowed. */
void lud_empo_search_destroy(lud_empo_search *search);
/* policy[n][n_robot_actions] for n <= n_envs environments that are not terminal. Environment i draws with key
 * (seed, first_environment + i) at tick[i]. states[n][state_bytes], goals[n][n_humans]. */
lud_status lud_empo_search_run(lud_empo_search *search, int n, uint32_t first_environment,
                               const uint8_t *states, const int32_t *goals, const uint32_t *tick,
                               double beta_r, double gamma_r, lud_empo_search_values values, void *context,
                               double *policy, lud_error *error);
/* What the last run found in environment i: visits[n_robot_actions] of the root, the mean value q of each
 * action (the learned one where it was not visited), and the root's value. Any may be null. */
void lud_empo_search_root(lud_empo_search *search, int i, int32_t *visits, double *q, double *value);
