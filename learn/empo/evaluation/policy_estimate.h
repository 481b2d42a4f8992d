/* What a robot policy achieves in the world of a solved problem, by playing: for policies whose choices do
 * not follow from the state alone, because they remember. People act as in the solution.
 *
 * V_r sums what people can do in every state on the way, which itself has to be estimated: an episode is
 * played, and from each of its states, with what the robots remember there, so many rollouts for every goal
 * of every person give V_h^e, X_h and U_r by equations (6) to (8). U_r is not linear in X_h, so its mean over
 * few rollouts is off by a term in 1 / rollouts, which the two halves of the rollouts show and which is taken
 * off (the jackknife of Quenouille, "Notes on bias in estimation", 1956).
 *
 * What an episode is worth varies much less as a difference to the solution: with its V_r and Q_r,
 *     V_r(policy, start) = V_r(start) + E[ sum_t gamma_r^t (w U_r + Q_r(s_t, a_t) - V_r(s_t)) ]
 * where U_r is the policy's and a_t what its robots did (the performance difference lemma of Kakade and
 * Langford, "Approximately optimal approximate reinforcement learning", 2002). */
#pragma once

#include "agents/policy.h"
#include "learn/empo/evaluation/policy_evaluation.h"
#include "learn/empo/exact/solve.h"

typedef struct lud_empo_estimate_options {
    int64_t episodes; /* at least 2, for the intervals */
    int rollouts;     /* for each goal in every state of an episode, even */
    uint64_t seed;
} lud_empo_estimate_options;

/* robots[n_robots of the layout]: each robot's policy, the same one twice acts for both. Fills everything but
 * the divergences, with intervals of 95 %. LUD_ERROR_NUMERIC when no rollout reaches any goal of a person:
 * its power is then too small to be estimated. LUD_INTERRUPTED after Ctrl-C. */
lud_status lud_empo_estimate_policy(const lud_empo_problem *problem, const double *records, uint32_t start,
                                    lud_policy *const *robots, const lud_empo_estimate_options *options,
                                    lud_empo_policy_evaluation *evaluation, lud_error *error);

/* What robots[n_robots] achieve in the world of a solution: exactly where their policies say their
 * probabilities (lud_policy_distribution), else estimated. The evaluation is the caller's to free. */
lud_status lud_empo_case_evaluate(lud_empo_case *c, const lud_empo_solution *solution,
                                  lud_policy *const *robots, const lud_empo_estimate_options *estimate,
                                  int n_threads, lud_empo_policy_evaluation *evaluation, lud_error *error);
