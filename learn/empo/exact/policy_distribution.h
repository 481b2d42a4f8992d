/* Asking an ordinary policy for the distribution of one agent in one state. */
#ifndef LUDUS_LEARN_EMPO_EXACT_POLICY_DISTRIBUTION_H
#define LUDUS_LEARN_EMPO_EXACT_POLICY_DISTRIBUTION_H

#include "agents/policy.h"

/* Distribution of `policy` for one agent in one state with one goal (-1: none). probability[n_discrete] */
void lud_empo_policy_distribution(lud_policy *policy, const lud_model *model, const uint8_t *state, int agent,
                                  int goal, double *probability);

/* Whether a policy can be asked like this: it must say its probabilities, and they must follow from the state
 * alone. */
lud_status lud_empo_check_policy(lud_policy *policy, const lud_model *model, int agent, lud_error *error);

#endif
