/* `ludus solve` of the proof world. */
#ifndef LUDUS_CLI_PROOF_SOLVE_H
#define LUDUS_CLI_PROOF_SOLVE_H

#include "sim/scenario.h"

/* Prints which validation and test queries follow at all, by the exact prover, and writes their proofs. */
lud_status lud_proof_solve(const lud_scenario *scenario, const char *folder, bool json, lud_error *error);

#endif
