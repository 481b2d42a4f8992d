/* Why the closed loop of the magnitude-and-direction policy stays stable, in numbers: the recurrence decays,
 * its gain is bounded, and errors fall whatever the directions are. */
#pragma once

#include "learn/mappo/mappo.h"
#include "learn/mappo/policy.h"

/* Largest |lambda| of the recurrences of an actor with a magnitude. */
double lud_mappo_largest_eigenvalue(const lud_parameters *parameters);
/* Bound of the gain from inputs to magnitudes in any l_p: with the recurrence's
 * sum_k |C_k| gamma_k |B_k| / (1 - |lambda_k|) + |D|, the layers' 1.1 times the product of their spectral
 * norms (the slope of SiLU is at most 1.1), and |L|. Two blocks (a central policy): the larger of both times
 * sqrt 2, as their inputs are one vector. */
double lud_mappo_gain_bound(const lud_parameters *parameters);

enum { LUD_MAPPO_LOOP_ENVIRONMENTS = 16 };

/* A closed loop: a policy run beyond the length of its episodes. */
typedef struct lud_mappo_loop {
    double *
        error_norm; /* [n_steps + 1] mean over environments of E_t = sqrt(sum_i |goal_i - p_i|^2 + |v_i|^2) */
    double free_start, free_end; /* the same at t = 0 and n_steps over environments that are not held */
    double largest;              /* of any environment at any time */
    double largest_eigenvalue, gain_bound; /* of the policy; not a number: it has no magnitude */
    int n_held; /* environments in which somebody touches another or an obstacle in the last quarter: an
                   obstacle can stand between an agent and its goal for good */
} lud_mappo_loop;

/* A loop that is asked for. */
typedef struct lud_mappo_loop_case {
    const lud_scenario *scenario; /* may have another number of agents than the policy was trained with */
    lud_mappo_play play;
    lud_mappo_loop *loop; /* filled; its error_norm is given */
} lud_mappo_loop_case;

/* Runs the policy of `trained` (its learner section) in n cases, as many at a time as there are threads.
 * LUD_ERROR_INPUT when the policy does not fit, or when somebody has no goal. */
lud_status lud_mappo_run_loops(const lud_scenario *trained, int n, const lud_mappo_loop_case *cases,
                               int n_steps, lud_error *error);
/* Whether a world can run as a closed loop: everybody has a goal. */
bool lud_mappo_has_goals(const lud_model *model);
/* Whether errors fall for good: where nobody is held to a twentieth of the start, and nowhere beyond three
 * times what they were. */
bool lud_mappo_loop_falls(const lud_mappo_loop *loop);

/* Stability of the closed loop of a RUN (lud_learner_kind.evaluate_run): its policy on teams of several
 * sizes, whichever directions it takes. The largest |lambda| and the gain bound of a policy with a magnitude,
 * error norms, and the verdict; as an object with every step. Nothing where somebody has no goal. */
lud_status lud_mappo_evaluate_run(const lud_report_request *request, lud_report *report, lud_error *error);
