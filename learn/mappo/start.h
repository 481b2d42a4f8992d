/* Training that begins with what another run has learned. */
#pragma once

#include "learn/mappo/networks.h"

/* Takes the actor's weights from the checkpoint of a RUN with the same network: of clone, whose normalisation
 * of actions becomes part of the output layer, of graph MAPPO, or of ticks. The critic stays as it is.
 * LUD_ERROR_INPUT when the actor does not fit. */
lud_status lud_mappo_begin_with(lud_mappo_networks *networks, const char *folder, lud_error *error);
