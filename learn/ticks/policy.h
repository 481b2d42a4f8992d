/* Trained agents of a run of ticks acting in a cast: for running, watching and recording. */
#pragma once

#include "agents/cast.h"
#include "sim/scenario.h"

/* Lets the policy in folder/checkpoint.safetensors act for every agent. The scenario may have another number
 * of agents than `trained`, the run's own, when the policy does not depend on it. A scenario whose learner
 * says whether it is `deterministic` is obeyed. LUD_ERROR_INPUT when the checkpoint does not fit. */
lud_status lud_tick_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                         lud_cast *cast, lud_error *error);
