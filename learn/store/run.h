/* What a run has learned: the learner of a RUN folder, and its policy as an actor. */
#ifndef LUDUS_LEARN_STORE_RUN_H
#define LUDUS_LEARN_STORE_RUN_H

#include "agents/cast.h"
#include "sim/scenario.h"

/* learn/learner.h and kernels/device.h, which the viewer's headers do not go with */
typedef struct lud_device lud_device;
typedef struct lud_learner lud_learner;
typedef struct lud_learner_kind lud_learner_kind;

/* A run's learner as its checkpoint left it, on a device of its own. */
typedef struct lud_learned {
    lud_device *device;
    lud_learner *learner;
    uint64_t iterations; /* that it has been trained for */
} lud_learned;

/* Whether the folder holds a checkpoint. */
bool lud_learned_is(const char *folder);
/* Makes the learner of `scenario` on the device of that name ("cpu", "auto") and loads the folder's
 * checkpoint. `kind`: what it has to be trained by, null: anything. The scenario must outlive it. */
lud_status lud_learned_open(const char *folder, const lud_scenario *scenario, const char *device,
                            const lud_learner_kind *kind, lud_learned *learned, lud_error *error);
/* A zeroed one is allowed. */
void lud_learned_close(lud_learned *learned);

/* Loads the learner of `scenario` from folder/checkpoint.safetensors and lets it act for the cast's agents:
 * for all but people for whom the scenario's `policies:` names somebody. Does nothing when the folder has no
 * checkpoint or the learner has no policy. The scenario must outlive the cast; what was loaded is given back
 * with it. */
lud_status lud_learned_cast(const char *folder, const lud_scenario *scenario, lud_cast *cast,
                            lud_error *error);

#endif
