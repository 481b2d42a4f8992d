/* Why the closed loop of the magnitude-and-direction policy stays stable, in numbers: the recurrence decays,
 * its gain is bounded, and errors fall whatever the directions are. */
#ifndef LUDUS_LEARN_MAPPO_STABILITY_H
#define LUDUS_LEARN_MAPPO_STABILITY_H

#include "learn/mappo/mappo.h"

/* Largest |lambda| of the recurrences of an actor with a magnitude. */
double lud_mappo_largest_eigenvalue(const lud_parameters *parameters);
/* Bound of the gain from inputs to magnitudes in any l_p: with the recurrence's
 * sum_k |C_k| gamma_k |B_k| / (1 - |lambda_k|) + |D|, the layers' 1.1 times the product of their spectral
 * norms (the slope of SiLU is at most 1.1), and |L|. Two blocks (a central policy): the larger of both times
 * sqrt 2, as their inputs are one vector. */
double lud_mappo_gain_bound(const lud_parameters *parameters);

/* Which directions the closed loop is run with. */
typedef enum lud_mappo_directions {
    LUD_DIRECTIONS_POLICY, /* the policy's mean */
    LUD_DIRECTIONS_AWAY    /* of full size, away from the goals: the worst that a direction can do at once */
} lud_mappo_directions;

enum { LUD_MAPPO_LOOP_ENVIRONMENTS = 16 };

/* A closed loop: a policy in a scenario, run beyond the length of its episodes. */
typedef struct lud_mappo_loop {
    double *error_norm;  /* [n_steps + 1] mean over environments of E_t = sqrt(sum_i |goal_i - p_i|^2 + |v_i|^2) */
    double free_start, free_end; /* the same at t = 0 and n_steps over environments without held agents */
    double largest;      /* of any environment at any time */
    int n_held;          /* environments in which somebody touches somebody or an obstacle in the last quarter */
    int n_environments;
} lud_mappo_loop;

/* Runs the policy of `trained` (its learner section) in `scenario`, a navigation task, which may have another
 * number of agents; parameters from folder/checkpoint.safetensors, or, when `folder` is null, as they are
 * before training. Fills loop, whose error_norm is given. LUD_ERROR_INPUT when the policy does not fit, when
 * nobody has a goal, or when LUD_DIRECTIONS_AWAY is asked of a policy without a magnitude. */
lud_status lud_mappo_run_loop(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                              lud_mappo_directions directions, int n_steps, lud_mappo_loop *loop, lud_error *error);
/* Whether errors fall for good in a loop: in environments without held agents to a twentieth, and nowhere
 * beyond three times the start. */
bool lud_mappo_loop_falls(const lud_mappo_loop *loop);

#endif
