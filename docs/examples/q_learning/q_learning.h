/* The learner `q-learning`: every agent by itself keeps a table of what its actions are worth in each state
 * (Watkins and Dayan, "Q-learning", Machine Learning 8, 1992) and takes the others for part of the world. */
#pragma once

#include "learn/learner.h"

extern const lud_learner_kind q_learning;
