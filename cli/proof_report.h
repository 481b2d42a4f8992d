/* What `ludus eval`, `run --query` and `solve` print about the proof world. */
#ifndef LUDUS_CLI_PROOF_REPORT_H
#define LUDUS_CLI_PROOF_REPORT_H

#include "agents/policy.h"
#include "sim/scenario.h"

/* Whether `path` is the folder of a run of learner proof-ppo. */
bool lud_proof_run_is(const lud_scenario *scenario, const char *path);

/* `ludus eval RUN`: ranks the test queries (n_queries 0: all; split: valid or test) with the run's policy. */
lud_status lud_proof_report_ranking(const lud_scenario *scenario, const char *run, const char *split,
                                    int64_t n_queries, bool json, lud_error *error);
/* `ludus run RUN --query ATOM`: searches for a proof with the run's policy and prints its tree. */
lud_status lud_proof_report_query(const lud_scenario *scenario, const char *run, const char *query,
                                  int64_t beam, lud_error *error);
/* `ludus solve SCENARIO`: which validation and test queries follow at all, by the exact prover. */
lud_status lud_proof_report_solve(const lud_scenario *scenario, const char *folder, bool json,
                                  lud_error *error);

#endif
