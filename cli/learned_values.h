/* A RUN folder of the learner empo-phase2: what it has learned about a state, to be drawn over the world. */
#ifndef LUDUS_CLI_LEARNED_VALUES_H
#define LUDUS_CLI_LEARNED_VALUES_H

#include "render/overlay.h"
#include "sim/scenario.h"

/* Loads the run's learner; *source stays null when the path is no such run. The scenario must outlive it. */
lud_status lud_learned_overlay(const char *path, const lud_scenario *scenario, lud_overlay_source **source,
                               lud_error *error);

#endif
