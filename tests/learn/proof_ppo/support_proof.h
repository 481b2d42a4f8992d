/* The shipped family tree with a small proof-ppo learner, for tests. */
#pragma once

#include "learn/proof_ppo/proof_ppo.h"

/* Fails the test when it cannot be loaded. */
lud_scenario *support_proof_scenario(const char *const *set, int n_set);
