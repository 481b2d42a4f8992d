/* What people have of the robots in a world that may be too large to be solved: by playing.
 *
 * Episodes of the scenario are played as `ludus run` plays them, and the goals that people reach in them are
 * counted. What robots leave behind is measured by the power that people have *on their own*: X_h, equations
 * (6) and (7), where robots do nothing at all and all the time of an episode is given again, in the states in
 * which episodes begin and in those in which they end. So it says what people could do now, whatever becomes
 * of the robots, and nothing of it is anybody's estimate: each V_h^e is the mean of rollouts in which the
 * person pursues that goal, and the others pursue theirs. X_h is not linear in V_h^e; what it is off by in
 * the mean is taken off as in learn/empo/evaluation/policy_estimate.h. */
#pragma once

#include "agents/cast.h"
#include "base/mean.h"
#include "base/progress.h"
#include "learn/empo/exact/exact.h"
#include "learn/nn/arrays.h"
#include "sim/scenario.h"

typedef struct lud_empo_benefit_options {
    int64_t episodes; /* at least 2, for the intervals */
    int rollouts;     /* of every goal in every state, even */
} lud_empo_benefit_options;

typedef struct lud_empo_benefit {
    int64_t episodes, ended; /* ended: by the rules of the world, before the time was up */
    lud_mean *goals;         /* [n_humans] reached in an episode */
    lud_mean *begin, *end;   /* [n_humans] X_h on their own where episodes begin and end */
    lud_arrays arrays;
} lud_empo_benefit;

/* Everybody acts as the cast says. LUD_ERROR_UNSUPPORTED when people remember or read observations, so that
 * nobody can act for them in a state alone, or a robot has no choice that does nothing. LUD_INTERRUPTED after
 * Ctrl-C. The benefit is the caller's to free, in any case. */
lud_status lud_empo_benefit_measure(const lud_scenario *scenario, const lud_cast *cast,
                                    const lud_empo_theory *theory, const lud_empo_benefit_options *options,
                                    FILE *progress, lud_empo_benefit *benefit, lud_error *error);
void lud_empo_benefit_free(lud_empo_benefit *benefit);

/* Half of the interval of 95 % of a mean. */
double lud_empo_benefit_interval(const lud_mean *mean);
