/* Targets of the neural EMPO learner for a whole batch at once: successors flattened into parallel arrays,
 * network values of all of them in one pass, sums by scatter-add. Every function works on device memory of
 * float and queues its work there, except lud_empo_flatten, which runs on the host. */
#pragma once

#include "kernels/device.h"

/* Transitions of a batch with the successors of every joint robot action, on the host.
 * slot = transition * n_actions + action. */
typedef struct lud_empo_transitions {
    int64_t n, n_actions;
    const int32_t
        *offsets; /* [n * n_actions + 1] successors of a slot are offsets[slot] .. offsets[slot + 1] - 1 */
    const double *probability;    /* [offsets[n * n_actions]] */
    const int32_t *entry_offsets; /* [n + 1] entries (a human and its goal) of a transition */
} lud_empo_transitions;

/* The same, flattened. Caller's arrays; capacities are the number of successors, and the sum over
 * successors of the entries of their transition. */
typedef struct lud_empo_flat {
    int64_t n;                   /* successors with positive probability */
    int32_t *successor;          /* [n] its number among those of the transitions */
    int32_t *slot;               /* [n] */
    float *probability;          /* [n] */
    int64_t n_expanded;          /* successors x entries of their transition */
    int32_t *expanded_row;       /* [n_expanded] row of the successor in this flat list */
    int32_t *entry;              /* [n_expanded] */
    int32_t *expanded_slot;      /* [n_expanded] */
    float *expanded_probability; /* [n_expanded] */
} lud_empo_flat;

/* Stage 1: fills `flat`, in ascending order of slot, then successor, then entry. */
void lud_empo_flatten(const lud_empo_transitions *transitions, lud_empo_flat *flat);

/* pi[n][n_actions] proportional to (-q)^(-beta), -q at least 1e-10, pi at least 1e-10 before the last
 * normalisation. `scratch` [n] floats. */
void lud_empo_policy(lud_device *device, int64_t n, int64_t n_actions, double beta, const float *q, float *pi,
                     float *scratch);
/* The same bits with an exponent that may change between replays of a recorded piece: exponents[n_actions],
 * each -beta, in device memory. */
void lud_empo_policy_by(lud_device *device, int64_t n, int64_t n_actions, const float *exponents,
                        const float *q, float *pi, float *scratch);
/* v[n] = u_r + sum_a pi q. `scratch` [n][n_actions]. */
void lud_empo_state_value(lud_device *device, int64_t n, int64_t n_actions, const float *u_r, const float *pi,
                          const float *q, float *v, float *scratch);
/* y[n] = mean over humans of x_h^-xi, u[n] = -y^eta, x_h[n][n_humans]. `scratch` [n][n_humans]. */
void lud_empo_intrinsic_reward(lud_device *device, int64_t n, int64_t n_humans, double xi, double eta,
                               const float *x_h, float *y, float *u, float *scratch);
/* x[n] = weight[n] v_h_e[n]^zeta. */
void lud_empo_x_h_targets(lud_device *device, int64_t n, double zeta, const float *weight, const float *v_h_e,
                          float *x);
/* Stage 4: q[n_slots] = gamma_r sum over successors of probability x v_r; v_r[n], slot[n], probability[n]. */
void lud_empo_q_r_targets(lud_device *device, int64_t n, int64_t n_slots, double gamma_r, const int32_t *slot,
                          const float *probability, const float *v_r, float *q);
/* Stage 5: v[n_entries] = sum over expanded successors of pi(action) x probability x t, t = achieved + (1 -
 * achieved) gamma_h continues v_h_e. achieved[n_expanded] is 0 or 1; continues[n_expanded] (may be null:
 * ones) is 0 where the episode ends, so that only achievements count there, and elsewhere 1, or a discount of
 * its own beside a gamma_h of 1. pi[n_slots]. `scratch` [2][n_expanded]. */
void lud_empo_v_h_e_targets(lud_device *device, int64_t n_expanded, int64_t n_entries, double gamma_h,
                            const int32_t *entry, const int32_t *expanded_slot,
                            const float *expanded_probability, const float *achieved, const float *continues,
                            const float *pi, const float *v_h_e, float *v, float *scratch);
