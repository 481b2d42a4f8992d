/* The learner clone: imitation of recorded episodes by chunks of actions, with labels asked for on the way.
 */
#ifndef LUDUS_LEARN_CLONE_CLONE_H
#define LUDUS_LEARN_CLONE_CLONE_H

#include "learn/learner.h"

extern const lud_learner_kind lud_clone_learner;

#endif
