/* Trained agents of a run acting in a cast: for running, watching and recording. */
#pragma once

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
/* Parameters of a policy that was joined. */
const lud_parameters *lud_mappo_policy_parameters(const lud_policy *policy);
/* Lets the policy in folder/checkpoint.safetensors act for every agent. The scenario may have another number
 * of agents than `trained`, the run's own, when the policy does not depend on it (its own observation and the
 * graph do not). LUD_ERROR_INPUT when the checkpoint does not fit. */
lud_status lud_mappo_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                          lud_cast *cast, lud_error *error);
