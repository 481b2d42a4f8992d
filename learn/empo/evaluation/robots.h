/* Who acts for the robots when `ludus eval --policy` evaluates others. */
#pragma once

#include "agents/cast.h"
#include "learn/empo/layout.h"
#include "sim/scenario.h"

/* The scenario's agents, with robots that follow `text`: a RUN folder, or a policy in YAML, of which each
 * robot has its own. The scenario must outlive the cast, which is the caller's. */
lud_status lud_empo_robots_cast(const char *text, const lud_scenario *scenario, const lud_empo_layout *layout,
                                lud_cast **cast, lud_error *error);
