/* Rollouts of the prover: queries played side by side with actions drawn from the policy. */
#pragma once

#include "base/status.h"

typedef struct lud_proof_learner_state lud_proof_learner_state;

/* Sums over episodes that ended, of true queries (positives) and corrupted ones. */
typedef struct lud_proof_episodes {
    double n, returns, length, positives, proved, negatives, proved_false;
} lud_proof_episodes;

/* One rollout: decisions, actions, rewards and values of all steps, values behind the last.
 * LUD_INTERRUPTED. */
lud_status lud_proof_collect(lud_proof_learner_state *learner, lud_proof_episodes *episodes,
                             lud_error *error);
