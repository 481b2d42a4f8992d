/* The exact solution of a learner's world, kept in memory: the people's exact policies for the actor, and
 * the yardstick for what was learned. Worlds that start in several ways (ensembles of maps, random places)
 * are solved from all starts that a few thousand resets find. */
#pragma once

#include "agents/policy.h"
#include "base/progress.h"
#include "learn/empo/evaluation/policy_evaluation.h"
#include "sim/scenario.h"

typedef struct lud_empo_reference {
    bool solved, missing; /* neither before lud_empo_reference_ensure */
    lud_error reason;     /* why there is none */
    lud_statespace *space;
    lud_empo_problem *problem;
    double *records;  /* [n_states][record_doubles] */
    double *visits;   /* [n_states] expected visits in an episode, mean over starts */
    uint32_t *starts; /* [n_starts] state numbers */
    int n_starts;
    lud_empo_policy_evaluation random; /* what the uniformly random robot policy achieves */
    lud_policy *people;                /* not owned; null: exact people */
} lud_empo_reference;

/* Solves. `people` (may be null) is what people do instead of equation (2); it stays the caller's and must
 * outlive the reference. LUD_ERROR_LIMIT when there are more than max_states states, or when comparing them
 * would take more memory than is free. */
lud_status lud_empo_reference_create(const lud_model *model, const lud_empo_theory *theory,
                                     lud_policy *people, uint64_t seed, uint64_t max_states, int n_threads,
                                     lud_empo_reference *reference, lud_error *error);
/* How many states the world has, from all starts that resets find; 0: more than max_states. LUD_ERROR_MEMORY.
 */
lud_status lud_empo_count_states(const lud_model *model, uint64_t seed, uint64_t max_states, int n_threads,
                                 uint64_t *n, lud_error *error);
/* For comparison: solves a scenario's world when this has not been tried yet (0 states at most: never). A
 * world of more than max_states states, or of more than memory suffices for, is no error but `missing`, and
 * so is one in which somebody can lose all power, so that V_r is infinite. `progress` may be null. */
lud_status lud_empo_reference_ensure(const lud_scenario *scenario, const lud_empo_theory *theory,
                                     lud_policy *people, int64_t max_states, lud_progress *progress,
                                     lud_empo_reference *reference, lud_error *error);
/* Says why nothing is compared; nothing where it was tried and is there, or was not tried. */
void lud_empo_reference_report_missing(const lud_empo_reference *reference, lud_text *out);
/* Safe on a zeroed struct. */
void lud_empo_reference_free(lud_empo_reference *reference);

/* Values that were learned for all states. v_r, u_r[n_states], x_h[n_states][n_humans],
 * v_h_e[n_states][n_goals], q_r, pi_r[n_states][n_robot_actions]. */
typedef struct lud_empo_learned {
    const float *v_r, *u_r, *x_h, *v_h_e, *q_r, *pi_r;
} lud_empo_learned;

/* Mean relative errors |learned - exact| / |exact| over some states. */
typedef struct lud_empo_errors {
    double v_r, x_h;
} lud_empo_errors;

/* How far they are from the exact ones. Which states the mean is over matters, so errors of V_r and X_h come
 * in four means, none of which counts terminal states: over the states that the exact, the learned and the
 * random robot policy visit, weighted by how often, and over all reachable states, each counting once. The
 * first one says how good the values are where a good policy goes; the others, away from there. */
typedef struct lud_empo_distance {
    lud_empo_errors exact, learned, random, everywhere;
    double v_h_e, q_r;     /* v_h_e: absolute error, mean over goals; q_r: relative, at states that do not
                              precede a terminal one with certainty; over states the exact policy visits */
    double divergence, kl; /* over the same states as q_r: total variation between pi_r, KL(learned || exact)
                              in nats */
    double start_learned, start_v_r; /* mean over starts: V_r learned, and exact */
    double policy_v_r;               /* mean over starts: exact value of the learned policy */
    double random_v_r;               /* and of the uniformly random policy */
    double regret; /* (start_v_r - policy_v_r) / (start_v_r - random_v_r), 0 without a gap */
} lud_empo_distance;
lud_status lud_empo_reference_compare(const lud_empo_reference *reference, const lud_empo_learned *learned,
                                      int n_threads, lud_empo_distance *distance, lud_error *error);
