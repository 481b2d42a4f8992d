/* RUNs that a scenario names under `policies:` as those who act. */
#pragma once

#include "agents/cast.h"
#include "sim/scenario.h"

/* Opens the RUNs that the scenario's `policies` name for agents of the cast who have nobody yet
 * (lud_cast_create_open), each once, and lets them act for these agents as they were trained, on the
 * scenario's device "cpu". LUD_ERROR_INPUT with the entry's place when a RUN is not there, is of another
 * world, has nobody for an agent, or was trained with other actions or observations; the message says which
 * were expected. The scenario must outlive the cast. */
lud_status lud_run_fill(const lud_scenario *scenario, lud_cast *cast, lud_error *error);
/* Whether what was learned in `trained` can act for the agent of the scenario, by its actions: those of the
 * agent of the same number, in a team of another size those of any agent. */
bool lud_run_has_actions(const lud_layout *trained, const lud_layout *layout, int agent);
/* Appends what an agent sees and does: `observation [16], 5 actions (none, left, right, down, up)`. */
void lud_run_describe_agent(const lud_layout *layout, int agent, lud_text *out);
