/* Whether what was learned can be relied on, as far as that shows without an exact solution: episodes of the
 * learned robots, people by the prior, nobody exploring. */
#pragma once

#include "base/progress.h"
#include "learn/empo/memory/environments.h"
#include "learn/empo/met/ahead.h"

typedef struct lud_empo_worth {
    double predicted, returned; /* mean at the start, mean of what then came */
    double deviation;           /* standard error of their difference */
} lud_empo_worth;

typedef struct lud_empo_trust {
    bool complete;            /* all that can be reached is in the table: nothing is estimated */
    int64_t episodes, states; /* how many, and steps in them */
    double met;               /* share of states that are expanded in the table */
    double from_table;        /* mean share of the look-ahead that the table answered for */
    double
        residual;   /* mean |V_r before - V_r after one step of look-ahead| / |V_r after| over those states */
    double choices; /* actions that robots choose among, the mean exponential of the entropy of pi_r; */
    int n_actions;  /* of all that there are, joint ones of all robots */
    lud_empo_worth v_r;
    /* of the person who came out furthest from what was predicted: of one goal, drawn by weight, that the
     * person pursues until it is reached */
    lud_empo_worth v_h_e;
    int person; /* an agent */
} lud_empo_trust;

/* `episodes`, and as many for each person, from where the world begins; steps_per_episode 0: until it ends.
 * beta_r as in the table. */
lud_status lud_empo_trust_measure(lud_empo_ahead *ahead, const lud_empo_theory *theory, uint64_t seed,
                                  int episodes, int64_t steps_per_episode, lud_progress *progress,
                                  lud_empo_trust *trust, lud_error *error);
/* Whether the residual is small enough and what came is what was predicted, as far as the episodes can tell.
 * V_r is of what values say of each state on the way, the goals are those that were really reached: values
 * that agree with each other and are wrong together show there. */
bool lud_empo_trusted(const lud_empo_trust *trust);
/* That, with the figures, and what to change if not. */
void lud_empo_trust_print(const lud_empo_trust *trust, const lud_empo_met_figures *met, lud_text *out);
