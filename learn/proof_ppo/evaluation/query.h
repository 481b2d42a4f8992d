/* One query, answered by a trained prover: what its variables may stand for, each with a proof. */
#pragma once

#include "learn/learner.h"

/* Without variables: the most probable proof that the run's policy finds. With variables: the exact prover
 * says what they may stand for, and the policy proves the first `answers` of them. An atom that is a fact is
 * proved without itself where rules allow it (lud_learner_kind.query). */
lud_status lud_proof_answer_query(const lud_report_request *request, lud_report *report, lud_error *error);
/* What its first list of queries asks about, with variables: `grandfather(x, y)` (lud_learner_kind). */
void lud_proof_example_query(const lud_model *model, lud_text *out);
