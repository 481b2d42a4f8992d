/* What the options of proof-ppo are where nobody gives them: rules of thumb, from the size of the knowledge
 * graph. */
#pragma once

#include "learn/proof_ppo/options.h"
#include "sim/proof/proof_model.h"
#include "sim/scenario.h"

/* Between lud_proof_ppo_options_begin and _end: gives open options of `o` a value. *chosen says which and
 * why, in the arena. */
lud_status lud_proof_ppo_choose(const lud_scenario *scenario, const lud_proof_model *model, lud_arena *arena,
                                lud_proof_ppo_options *o, const char **chosen, lud_error *error);
