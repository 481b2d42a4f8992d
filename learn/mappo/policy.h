/* Trained agents of a run acting in a cast: for running, watching and recording. */
#ifndef LUDUS_LEARN_MAPPO_POLICY_H
#define LUDUS_LEARN_MAPPO_POLICY_H

#include "agents/cast.h"
#include "learn/nn/parameters.h"
#include "sim/scenario.h"

/* Which directions a policy with a magnitude takes. */
typedef enum lud_mappo_directions {
    LUD_DIRECTIONS_POLICY,
    LUD_DIRECTIONS_AWAY /* of full size, away from the goals: the worst that a direction can do at once */
} lud_mappo_directions;

/* How a policy acts. */
typedef struct lud_mappo_play {
    const char *folder; /* whose checkpoint it is; null: as it is before training */
    bool deterministic; /* means instead of draws, whatever the options say */
    lud_mappo_directions directions;
} lud_mappo_play;

/* As lud_mappo_join below, with these choices. LUD_ERROR_INPUT for LUD_DIRECTIONS_AWAY without a magnitude.
 */
lud_status lud_mappo_join_as(const lud_scenario *trained, const lud_scenario *scenario,
                             const lud_mappo_play *play, lud_cast *cast, lud_error *error);
/* Whether a policy was joined by these functions; null is none. */
bool lud_mappo_policy_is(const lud_policy *policy);
/* How strongly every agent attends to every entity in a state: the weights of the last attention layer on the
 * edges into the agent's own node, mean over heads, weights[n_agents][n_entities]; they sum to 1 over the
 * entities within reach, or all are 0 where there is none. False: the policy has no graph. */
bool lud_mappo_policy_attention(lud_policy *policy, const uint8_t *state, float *weights);
/* Parameters of a policy that was joined. */
const lud_parameters *lud_mappo_policy_parameters(const lud_policy *policy);
/* Lets the policy in folder/checkpoint.safetensors act for every agent. The scenario may have another number
 * of agents than `trained`, the run's own, when the policy does not depend on it (its own observation and the
 * graph do not). LUD_ERROR_INPUT when the checkpoint does not fit. */
lud_status lud_mappo_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                          lud_cast *cast, lud_error *error);

#endif
