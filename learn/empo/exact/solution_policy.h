/* Acting on a solution: people by their computed policies for the goal they have (or the marginal one without
 * a goal), robots by one common draw from pi_r. */
#ifndef LUDUS_LEARN_EMPO_EXACT_SOLUTION_POLICY_H
#define LUDUS_LEARN_EMPO_EXACT_SOLUTION_POLICY_H

#include "agents/policy.h"
#include "learn/empo/exact/solution.h"

/* A policy for all agents of the model; the solution stays the caller's and must outlive it. LUD_ERROR_INPUT
 * when the solution is not one of this model. In states that the solution does not have (after a user took
 * over, say) actions are uniformly random. */
lud_status lud_empo_solution_policy_create(const lud_empo_solution *solution, const lud_model *model,
                                           lud_policy **policy, lud_error *error);

#endif
