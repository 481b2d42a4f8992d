/* What a trained prover is worth: the ranking of a split's queries. */
#pragma once

#include "learn/learner.h"

/* Ranks the first 500 queries, or as many as are asked for, of the test split, or of `valid`, with the run's
 * policy: for all, by depth of their proofs and by predicate (lud_learner_kind.evaluate_run). */
lud_status lud_proof_evaluate_run(const lud_report_request *request, lud_report *report, lud_error *error);
