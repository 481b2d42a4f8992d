/* What people do in a state, for targets in expectation: their policies for every goal, and from these the
 * probabilities of their joint actions. */
#pragma once

#include "learn/empo/memory/features.h"

/* Probabilities of people's joint actions ("profiles", the first person fastest) when everybody follows the
 * marginal policy, marginal[n_human_profiles], and when the person whose goal has column g pursues it and the
 * others follow their marginals, pursuing[n_goals][n_human_profiles]. From policies[policy_begin[n_humans]],
 * for each person [goals][actions]. `scratch` [n_humans][n_human_profiles]. */
void lud_empo_people_profiles(const lud_empo_features *features, const float *policies, double *marginal,
                              double *pursuing, double *scratch);

/* Whether some goal of every person leads to its part of the profile with positive probability. */
bool lud_empo_people_possible(const lud_empo_layout *layout, const float *policies, int profile);
