/* How a person might walk to a goal in a multigrid world: doors and keys on the way, then a softmax over what
 * each turn or step gains in path potential. The human prior of EMPO where no exact one is computed. */
#pragma once

#include "agents/policy.h"

/* A heuristic policy with inverse temperature beta >= 0; who has no goal does anything. LUD_ERROR_UNSUPPORTED
 * when the model is not multigrid. */
lud_status lud_heuristic_create(const lud_model *model, double beta, lud_policy **policy, lud_error *error);

/* Path potential of a cell for a goal in a state: minus the passing costs of the shortest path (walls, magic
 * walls, lava and bushes of the map closed), over 50 (width + height); 0 in the goal, -1 where no path leads
 * to it. */
double lud_heuristic_potential(lud_policy *policy, const uint8_t *state, int x, int y, int agent, int goal);

/* The same walk to a cell, whatever the agent's goals: p[n_discrete of the agent], sum 1. */
void lud_heuristic_walk(lud_policy *policy, const uint8_t *state, int agent, int cell, double *p);
/* A cell that it may be worth walking to, by `uniform` in [0, 1): in half of all cases one where something
 * lies or stands that can be used (a key, a door, a rock), else any that is open in the map. */
int lud_heuristic_destination(lud_policy *policy, const uint8_t *state, double uniform);
