/* Validation of the prover while it learns: the ranking of queries that it is not trained on. */
#pragma once

#include "learn/proof_ppo/evaluation/ranking.h"

typedef struct lud_proof_learner_state lud_proof_learner_state;

/* Ranks the validation queries (there is at least one) with the present weights, which are kept when they are
 * the best so far. `begin` and `end`: of the iteration in hand that is done before and after it. */
lud_status lud_proof_validate(lud_proof_learner_state *learner, double begin, double end,
                              lud_proof_ranking_summary *summary, lud_error *error);
