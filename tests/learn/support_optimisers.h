/* One training of every learner with any optimiser. */
#pragma once

#include "learn/support_trainings.h"

extern const int n_support_optimised;
/* Training k with the section `optimiser` of that type; apollo of rank 2, sgd with momentum. */
void support_optimised(int k, const char *type, support_training *training);
/* Trains to the end, and with a checkpoint in between that another learner continues; fails the test unless
 * both end with the same bytes. */
void support_resume_optimised(int k, const char *type, const char *device);
