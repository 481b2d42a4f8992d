/* Why the closed loop of the magnitude-and-direction policy stays stable, in numbers: the recurrence decays,
 * its gain is bounded, and errors fall whatever the directions are. */
#ifndef LUDUS_LEARN_MAPPO_STABILITY_H
#define LUDUS_LEARN_MAPPO_STABILITY_H

#include "learn/mappo/mappo.h"

/* Largest |lambda| of the recurrence. */
double lud_mappo_largest_eigenvalue(const lud_parameters *parameters);
/* Bound of the gain from inputs to magnitudes in any l_p: with the recurrence's
 * sum_k |C_k| gamma_k |B_k| / (1 - |lambda_k|) + |D|, the layers' 1.1 times the product of their spectral
 * norms (the slope of SiLU is at most 1.1), and |L|. */
double lud_mappo_gain_bound(const lud_parameters *parameters);
/* Mean over trials of the error norm E_t = sqrt(sum_i |goal_i - p_i|^2 + |v_i|^2), t = 0 .. n_steps, with the
 * policy's mean directions, or with directions of full size away from the goals. error_norm[n_steps + 1] */
lud_status lud_mappo_error_norms(lud_mappo_learner_state *learner, bool worst_case, int n_steps,
                                 double *error_norm, lud_error *error);
/* For `ludus eval`: all of these and the verdict; nothing for policies that control directly. */
lud_status lud_mappo_inspect(lud_learner *learner, lud_text *out, lud_error *error);

#endif
