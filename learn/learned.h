/* What a run has learned, as actors: puts the policy of a RUN folder's learner into a cast. */
#ifndef LUDUS_LEARN_LEARNED_H
#define LUDUS_LEARN_LEARNED_H

#include "agents/policy.h"
#include "sim/scenario.h"

/* Loads the learner of `scenario` from folder/checkpoint.safetensors and lets it act for the cast's agents:
 * for all but people for whom the scenario's `policies:` names somebody. Does nothing when the folder has no
 * checkpoint or the learner has no policy. The scenario must outlive the cast; what was loaded is given back
 * with it. */
lud_status lud_learned_cast(const char *folder, const lud_scenario *scenario, lud_cast *cast,
                            lud_error *error);

#endif
