/* Acting on a solution: people by their computed policies for the goal they have (or the marginal one without
 * a goal), robots by one common draw from pi_r. */
#pragma once

#include "agents/policy.h"
#include "learn/empo/exact/solution.h"

/* A policy for all agents of the model, which shares the solution. LUD_ERROR_INPUT
 * when the solution is not one of this model. In states that the solution does not have (after a user took
 * over, say) actions are uniformly random. */
lud_status lud_empo_solution_policy_create(lud_empo_solution *solution, const lud_model *model,
                                           lud_policy **policy, lud_error *error);
/* For policies that know pi_r[n_robot_actions]: replaces a robot's action in environment e by its part of one
 * joint draw, whose key names no agent, so that every robot finds the same one, and its log_prob by that of
 * what it then does, from its own part of pi_r. */
void lud_empo_act_jointly(const lud_empo_layout *layout, const lud_act *act, int e, int agent,
                          const double *pi_r, const double *own);
