/* Evaluation of robot policies: what a policy achieves in the world of a solved problem, exactly, people
 * staying as they are, and which states are visited on the way. Worlds that start in several ways (ensembles
 * of maps, random places) are evaluated by the mean over their starts. */
#pragma once

#include "learn/empo/exact/exact.h"
#include "learn/nn/arrays.h"

typedef struct lud_empo_policy_evaluation {
    int64_t n_episodes;      /* 0: exact; else estimated from so many (policy_estimate.h) */
    double v_r, v_r_optimal; /* mean over starts; regret = v_r_optimal - v_r */
    double v_r_interval;     /* of an estimate: the true value is within v_r +- this in 95 of 100 cases */
    double mean_regret; /* V_r difference averaged over the states the policy visits, weighted by visits */
    double divergence;  /* mean over the same states of the total variation between the two robot policies;
                           not a number in an estimate */
    double kl;          /* and of the Kullback-Leibler divergence KL(policy || solution) in nats */
    double *power, *power_optimal; /* [n_humans] X_h, mean over starts */
    double *power_interval;        /* [n_humans] */
    double *v_h_e;                 /* [n_goals] under the policy, mean over starts */
    double *visits;                /* [n_states] expected visits under the policy, mean over starts */
    lud_arrays arrays;
} lud_empo_policy_evaluation;

/* Exact evaluation of the hooks' robot policy against the solved records[n_states][record_doubles].
 * starts[n_starts] are state numbers. */
lud_status lud_empo_evaluate_policy(const lud_empo_problem *problem, const double *records,
                                    const uint32_t *starts, int n_starts, const lud_empo_hooks *robot,
                                    int n_threads, lud_empo_policy_evaluation *evaluation, lud_error *error);
/* Takes the arrays, all zero. */
lud_status lud_empo_policy_evaluation_create(const lud_empo_problem *problem,
                                             lud_empo_policy_evaluation *evaluation, lud_error *error);
/* Safe on a zeroed struct. */
void lud_empo_policy_evaluation_free(lud_empo_policy_evaluation *evaluation);

/* Differences between two distributions p[n] and q[n]: half the absolute difference, and the sum of p ln(p /
 * q), in which an outcome with p = 0 counts nothing. */
double lud_empo_total_variation(const double *p, const double *q, int n);
double lud_empo_kullback_leibler(const double *p, const double *q, int n);
