/* What the options of EMPO's phase 2 are where nobody gives them: rules of thumb, from the number of states
 * where they can be counted. */
#pragma once

#include "learn/empo/evaluation/reference.h"
#include "learn/empo/options.h"
#include "sim/scenario.h"

/* Between lud_empo_learner_options_begin and _end: gives open options of `o` a value, and human_prior, for
 * which it may solve `reference` (zeroed before). *chosen says which and why, in the arena. */
lud_status lud_empo_phase2_choose(const lud_scenario *scenario, lud_arena *arena, lud_empo_learner_options *o,
                                  lud_empo_reference *reference, const char **chosen, lud_error *error);
