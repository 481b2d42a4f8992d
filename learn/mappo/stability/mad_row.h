/* One row of magnitude and direction, for the host and for devices alike; see mad.h. */
#pragma once

#include <math.h>

#include "base/random.h" /* LUD_HD */
#include "learn/mappo/options.h"

enum { LUD_MAD_NUMBERS = 2 };

#define LUD_MAD_GUARD             1e-8
#define LUD_MAD_LARGEST_DIRECTION 0.999
#define LUD_MAD_HALF_LOG_TWO_PI   0.91893853320467274178
#define LUD_MAD_LOG_TWO           0.69314718055994530942

/* Magnitude of the block's output; see lud_mad_magnitude. */
LUD_HD static inline double lud_mad_row_magnitude(int control, const lud_mappo_mad_options *mad, double raw,
                                                  bool in_action, double *slope) {
    if (slope) *slope = 0.0;
    if (control == LUD_MAPPO_BASE) return 1.0;
    const double low = in_action && !mad->floor_in_action ? 0.0 : mad->floor;
    double value = raw, derivative = 1.0;
    switch ((lud_mappo_magnitude)mad->magnitude) {
    case LUD_MAGNITUDE_ABS:
        value = fabs(raw);
        derivative = raw > 0.0 ? 1.0 : raw < 0.0 ? -1.0 : 0.0;
        break;
    case LUD_MAGNITUDE_SOFTPLUS:
        value = (raw > 0.0 ? raw + log1p(exp(-raw)) : log1p(exp(raw))) - LUD_MAD_LOG_TWO;
        derivative = 1.0 / (1.0 + exp(-raw));
        break;
    case LUD_MAGNITUDE_RELU:
        value = raw > 0.0 ? raw : 0.0;
        derivative = raw > 0.0 ? 1.0 : 0.0;
        break;
    }
    if (value < low) return low;
    if (value > mad->limit) return mad->limit;
    if (slope) *slope = derivative;
    return value;
}

/* offset[2] = m tanh(y) */
LUD_HD static inline void lud_mad_row_offset(int control, const lud_mappo_mad_options *mad, const float *y,
                                             double raw, float *offset) {
    const double m = lud_mad_row_magnitude(control, mad, raw, true, NULL);
    for (int k = 0; k < LUD_MAD_NUMBERS; k++) offset[k] = (float)(m * tanh((double)y[k]));
}

/* The direction that leads to an offset; *inside: the inverse was not cut off. */
LUD_HD static inline double lud_mad_row_direction(double offset, double m, bool *inside) {
    const double d = offset / (m + LUD_MAD_GUARD);
    *inside = fabs(d) <= LUD_MAD_LARGEST_DIRECTION;
    return *inside ? d : d < 0.0 ? -LUD_MAD_LARGEST_DIRECTION : LUD_MAD_LARGEST_DIRECTION;
}

/* mean[2], log_std[2], offset[2]; entropy may be null. */
LUD_HD static inline void lud_mad_row_log_prob(int control, const lud_mappo_mad_options *mad,
                                               const float *mean, const float *log_std, double raw,
                                               const float *offset, float *log_prob, float *entropy) {
    const double m = lud_mad_row_magnitude(control, mad, raw, false, NULL);
    double jacobian = LUD_MAD_NUMBERS * log(m + LUD_MAD_GUARD), gaussian = 0.0, spread = 0.0;
    for (int k = 0; k < LUD_MAD_NUMBERS; k++) {
        bool inside;
        const double d = lud_mad_row_direction((double)offset[k], m, &inside), s = (double)log_std[k];
        const double z = (atanh(d) - (double)mean[k]) * exp(-s);
        gaussian -= 0.5 * z * z + s + LUD_MAD_HALF_LOG_TWO_PI;
        jacobian += log(1.0 - d * d + LUD_MAD_GUARD);
        spread += 0.5 + LUD_MAD_HALF_LOG_TWO_PI + s;
    }
    *log_prob = (float)(gaussian - jacobian);
    if (entropy) *entropy = (float)(spread + jacobian);
}
