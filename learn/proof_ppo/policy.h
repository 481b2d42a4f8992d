/* A trained proof policy as a policy for running, watching and recording. */
#pragma once

#include "agents/policy.h"
#include "learn/proof_ppo/networks.h"

/* Acts in environments of the network's model, which outlives the policy, as does the network. */
lud_status lud_proof_policy_create(lud_proof_net *net, lud_policy **policy, lud_error *error);
