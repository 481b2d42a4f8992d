/* What the options of graph MAPPO are where nobody gives them: rules of thumb, from the size of the world. */
#pragma once

#include "learn/learner.h"
#include "learn/mappo/options.h"

/* Between lud_mappo_options_begin and _end: gives open options of `o` a value, and `base` the list of what
 * was chosen and the number of environments. */
lud_status lud_mappo_choose(const lud_scenario *scenario, lud_arena *arena, lud_mappo_options *o,
                            lud_learner *base, lud_error *error);
