/* What is shown over a particle world: how strongly trained agents attend to what is near, and the error norm
 * over the episode. */
#ifndef LUDUS_CLI_PARTICLE_OVERLAY_H
#define LUDUS_CLI_PARTICLE_OVERLAY_H

#include "agents/cast.h"
#include "render/overlay.h"
#include "sim/scenario.h"

/* *source stays null where there is nothing to show: in other worlds, and without goals and a trained graph
 * policy. The cast must outlive the source. */
lud_status lud_particle_overlay(const lud_scenario *scenario, const lud_cast *cast,
                                lud_overlay_source **source, lud_error *error);

#endif
