/* A RUN of `ludus solve`: who acts on its solution, what it shows of a state, and the evaluation of other
 * policies in its world. */
#pragma once

#include "learn/learner.h"

/* empo-exact, which is solved and not trained: its RUN holds solution.empo. */
extern const lud_learner_kind lud_empo_exact;
