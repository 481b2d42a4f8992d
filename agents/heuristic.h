/* How a person might walk to a goal in a multigrid world: doors and keys on the way, then a softmax over what
 * each turn or step gains in path potential. The human prior of EMPO where no exact one is computed. */
#ifndef LUDUS_AGENTS_HEURISTIC_H
#define LUDUS_AGENTS_HEURISTIC_H

#include "agents/policy.h"

/* A heuristic policy with inverse temperature beta >= 0. LUD_ERROR_UNSUPPORTED when the model is not
 * multigrid. */
lud_status lud_heuristic_create(const lud_model *model, double beta, lud_policy **policy, lud_error *error);

/* Exact action probabilities of one agent in one state with one of its goals (-1: none, then uniform).
 * p[n_discrete of the agent]. May be called by several threads. */
void lud_heuristic_probabilities(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p);

/* Path potential of a cell for a goal in a state: minus the passing costs of the shortest path (walls, magic
 * walls, lava and bushes of the map closed), over 50 (width + height); 0 in the goal, -1 where no path leads
 * to it. */
double lud_heuristic_potential(lud_policy *policy, const uint8_t *state, int x, int y, int agent, int goal);

#endif
