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
/* For policies that know pi_r[n_robot_actions] of environment e: acts for the robot agents[slot] by its part
 * of one joint draw, whose key names no agent, so that every robot finds the same one. `distribution`:
 * scratch [n_discrete]. */
void lud_empo_act_robot(const lud_empo_layout *layout, const lud_act *act, int e, int slot,
                        const double *pi_r, double *distribution);
/* The place of a person in the layout, -1 for anybody else. */
int lud_empo_person_of(const lud_empo_layout *layout, int agent);
/* pi_r as a hook for lud_empo_solve on the same model: context is the policy above. */
void lud_empo_solution_robot(void *context, uint64_t index, const uint8_t *state, double *pi_r);

#endif
