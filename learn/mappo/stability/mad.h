/* Magnitude and direction: u = u_base + m tanh(y), y normal, m >= 0 from the state-space block.
 *
 * Arrays are host memory. `offset` is u - u_base, kept as it was made, so that nothing is lost when m is
 * small. Log-probabilities are found by inversion with the present magnitude: D = offset / m, y = atanh(D),
 *   log p = sum_k ln N(y_k) - sum_k ln(1 - D_k^2 + 1e-8) - K ln(m + 1e-8). */
#pragma once

#include <stdint.h>

#include "learn/mappo/stability/mad_row.h"

/* Magnitude of the block's output `raw`; in log-probabilities it is at least the floor, in actions only with
 * floor_in_action. *slope (may be null) is its derivative. Without a block (control: base) it is 1. */
double lud_mad_magnitude(const lud_mappo_options *options, double raw, bool in_action, double *slope);
/* offset[n][2] = m tanh(y); raw may be null for control: base. */
void lud_mad_offset(const lud_mappo_options *options, int64_t n, const float *y, const float *raw,
                    float *offset);
/* log_prob[n], and entropy[n] of the Gaussian plus the logarithm of the Jacobian at the given offset. */
void lud_mad_log_prob(const lud_mappo_options *options, int64_t n, const float *mean, const float *log_std,
                      const float *raw, const float *offset, float *log_prob, float *entropy);
/* From the gradients of both, per row: dmean[n][2] and draw[n] are written (draw null: none), dlog_std[2] is
 * added to. */
void lud_mad_backward(const lud_mappo_options *options, int64_t n, const float *mean, const float *log_std,
                      const float *raw, const float *offset, const float *dlog_prob, const float *dentropy,
                      float *dmean, float *draw, float *dlog_std);
