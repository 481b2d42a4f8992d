/* Which results lie in a folder, and how old ones make room for new ones. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

/* Whether a folder holds what a training or a solution has found: parameters, a checkpoint, a solution. */
bool lud_run_has_results(const char *folder);

/* Moves all that a RUN consists of (scenario, files, metrics, events, parameters, checkpoints, solution;
 * nothing else that lies there) into a new folder RUN/aside-N, so that what comes next stands beside nothing
 * of another run. *name gets `aside-N`, which the caller frees; null where there was nothing to move. Ended
 * in between, the next call moves the rest to the same place. */
lud_status lud_run_set_aside(const char *folder, char **name, lud_error *error);
