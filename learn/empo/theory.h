/* The EMPO theory: parameters and the equations that turn values into policies, power and reward.
 *
 * Heitzig & Potham, "Model-Based Soft Maximization of Suitable Metrics of Long-Term Human Power", arXiv
 * 2508.00159. Equation numbers below are the paper's; the exact solver and the learner both call these
 * functions; learn/empo/equations.h has the arithmetic. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/options/options.h"

typedef enum lud_empo_aggregate { LUD_EMPO_MEAN, LUD_EMPO_SUM } lud_empo_aggregate;
typedef enum lud_empo_reward_weight { LUD_EMPO_BY_DURATION, LUD_EMPO_ONE } lud_empo_reward_weight;

typedef struct lud_empo_theory {
    double beta_h;         /* people's inverse temperature, up to infinity (greedy, ties shared) */
    double gamma_h;        /* people's discount per step, (0, 1] */
    double rho_h;          /* the same as a rate, gamma_h = exp(-rho_h); negative: not given */
    double nu_h;           /* weight of the habit policy in people's behaviour, [0, 1] */
    bool optimistic;       /* people expect the robot at its best (max) instead of at its worst (min) */
    double gamma_r, rho_r; /* the robot's discount, likewise */
    double beta_r;         /* exponent of the robot's power law, 0: uniform */
    double zeta;           /* preference for reliable achievement, >= 1 */
    double xi;             /* aversion to inequality between people, >= 1 */
    double eta;            /* aversion to inequality over time, >= 1 */
    double terminal_value; /* V_r of a terminal state, < 0 */
    int aggregate;         /* lud_empo_aggregate: over people in equation (8) */
    int reward_weight;     /* lud_empo_reward_weight: of U_r in equation (9) */
} lud_empo_theory;

/* The rows of the theory (base/options/option_rows.h) for the table of a learner; `at` is its
 * lud_empo_theory. */
#define LUD_EMPO_THEORY_OPTIONS(at)                                                                          \
    REAL_AT("beta_h", at.beta_h, "10", 0, INFINITY,                                                          \
            "how sharply people prefer better actions; .inf: the best"),                                     \
        REAL_AT("gamma_h", at.gamma_h, "1", 0, 1, "people's discount factor per step"),                      \
        REAL_AT("rho_h", at.rho_h, "-1", -1, INFINITY,                                                       \
                "the same as a rate: gamma_h = exp(-rho_h); -1: not used"),                                  \
        REAL_AT("nu_h", at.nu_h, "0", 0, 1, "weight of habit in what people do"),                            \
        BOOL_AT("optimistic", at.optimistic, "false",                                                        \
                "people expect the robots at their best instead of at their worst"),                         \
        REAL_AT("gamma_r", at.gamma_r, "1", 0, 1, "the robots' discount factor per step"),                   \
        REAL_AT("rho_r", at.rho_r, "-1", -1, INFINITY, "the same as a rate; -1: not used"),                  \
        REAL_AT("beta_r", at.beta_r, "10", 0, 1e12, "exponent of the robots' power-law policy; 0: uniform"), \
        REAL_AT("zeta", at.zeta, "1", 1, 1e6, "preference for reliable over lucky achievement"),             \
        REAL_AT("xi", at.xi, "1", 1, 1e6, "aversion to inequality between people"),                          \
        REAL_AT("eta", at.eta, "1", 1, 1e6, "aversion to inequality over time"),                             \
        REAL_AT("terminal_value", at.terminal_value, "-1e-10", -1e12, -1e-300, "V_r of a terminal state"),   \
        CHOICE_AT("aggregate", at.aggregate, "mean", lud_empo_aggregate_names,                               \
                  "how X_h^-xi is combined over people"),                                                    \
        CHOICE_AT("reward_weight", at.reward_weight, "duration", lud_empo_reward_weight_names,               \
                  "weight of U_r in V_r: the discounted time spent in the state, or 1")
extern const char *const lud_empo_aggregate_names[];
extern const char *const lud_empo_reward_weight_names[];

/* Checks what ranges alone cannot say and resolves rho_h, rho_r into gamma_h, gamma_r. */
lud_status lud_empo_theory_check(lud_empo_theory *theory, lud_place place, lud_error *error);

/* Weight w of U_r in V_r = w U_r + sum pi_r Q_r: 1, or the discounted time spent in one step,
 * (1 - gamma_r) / (-ln gamma_r), which tends to 1 as gamma_r does. */
double lud_empo_reward_weight_of(const lud_empo_theory *theory);

/* The index that `uniform` in [0, 1) draws from the distribution p[n]; what rounding leaves over belongs to
 * the last possible one. */
int lud_empo_draw(const double *p, int n, double uniform);
