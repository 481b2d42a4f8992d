/* The learner clone: imitation of recorded episodes by chunks of actions, with labels asked for on the way.
 */
#pragma once

#include "learn/learner.h"

extern const lud_learner_kind lud_clone_learner;
