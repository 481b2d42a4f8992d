/* What the policies of any cast know about a state, and what the world measures in it, to be drawn. */
#pragma once

#include "agents/cast.h"
#include "agents/overlay_source.h"

/* Action probabilities, values of states and attention of policies that come from a RUN, and the world's
 * measures with a curve. *source stays null where there is nothing of these. The cast must outlive it;
 * policies that are replaced later are asked no more. */
lud_status lud_cast_overlay(const lud_model *model, const lud_cast *cast, lud_overlay_source **source,
                            lud_error *error);
