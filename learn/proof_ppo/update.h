/* Updates of the prover: proximal policy optimisation (learn/policy_gradient) over the decisions of a
 * rollout, in chunks of as many as pass through the network at once. */
#pragma once

#include "base/status.h"

typedef struct lud_proof_learner_state lud_proof_learner_state;

/* After the network is built: the optimiser with its groups, the head, and memory of updates. */
lud_status lud_proof_update_create(lud_proof_learner_state *learner, lud_error *error);
void lud_proof_update_destroy(lud_proof_learner_state *learner);
/* Returns and advantages of the rollout, then all epochs. LUD_INTERRUPTED. */
lud_status lud_proof_update(lud_proof_learner_state *learner, lud_error *error);
