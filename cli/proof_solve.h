/* `ludus solve` of the proof world. */
#pragma once

#include "sim/scenario.h"

/* Prints which validation and test queries follow at all, by the exact prover, and writes their proofs. */
lud_status lud_proof_solve(const lud_scenario *scenario, const char *folder, bool json, lud_error *error);
