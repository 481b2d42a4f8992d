#include "learn/mappo/stability/mad.h"

#include <math.h>

double lud_mad_magnitude(const lud_mappo_options *options, double raw, bool in_action, double *slope) {
    return lud_mad_row_magnitude(options->control, &options->mad, raw, in_action, slope);
}

void lud_mad_offset(const lud_mappo_options *options, int64_t n, const float *y, const float *raw,
                    float *offset) {
    for (int64_t i = 0; i < n; i++)
        lud_mad_row_offset(options->control, &options->mad, y + i * LUD_MAD_NUMBERS,
                           raw ? (double)raw[i] : 0.0, offset + i * LUD_MAD_NUMBERS);
}

void lud_mad_log_prob(const lud_mappo_options *options, int64_t n, const float *mean, const float *log_std,
                      const float *raw, const float *offset, float *log_prob, float *entropy) {
    for (int64_t i = 0; i < n; i++)
        lud_mad_row_log_prob(options->control, &options->mad, mean + i * LUD_MAD_NUMBERS, log_std,
                             raw ? (double)raw[i] : 0.0, offset + i * LUD_MAD_NUMBERS, log_prob + i,
                             entropy + i);
}

void lud_mad_backward(const lud_mappo_options *options, int64_t n, const float *mean, const float *log_std,
                      const float *raw, const float *offset, const float *dlog_prob, const float *dentropy,
                      float *dmean, float *draw, float *dlog_std) {
    const bool pathwise = options->mad.entropy == LUD_ENTROPY_PATHWISE;
    double sum[LUD_MAD_NUMBERS] = {0};
    for (int64_t i = 0; i < n; i++) {
        double slope;
        const double m = lud_mad_magnitude(options, raw ? (double)raw[i] : 0.0, false, &slope);
        const double dl = (double)dlog_prob[i], de = (double)dentropy[i], replayed = pathwise ? 0.0 : de;
        double dm = LUD_MAD_NUMBERS * (de - dl) / (m + LUD_MAD_GUARD);
        for (int k = 0; k < LUD_MAD_NUMBERS; k++) {
            bool inside;
            const int64_t at = i * LUD_MAD_NUMBERS + k;
            const double u = (double)offset[at], d = lud_mad_row_direction(u, m, &inside),
                         s = (double)log_std[k];
            const double z = (atanh(d) - (double)mean[at]) * exp(-s);
            dmean[at] = (float)(dl * z * exp(-s));
            sum[k] += dl * (z * z - 1.0) + de;
            if (pathwise) { /* d ln(1 - tanh(y)^2) / dy = -2 tanh(y), y = mean + exp(s) z */
                dmean[at] -= (float)(de * 2.0 * d);
                sum[k] -= de * 2.0 * d * z * exp(s);
            }
            if (!inside || options->mad.detach) continue;
            const double dd =
                -dl * z * exp(-s) / (1.0 - d * d) + (dl - replayed) * 2.0 * d / (1.0 - d * d + LUD_MAD_GUARD);
            dm -= dd * u / ((m + LUD_MAD_GUARD) * (m + LUD_MAD_GUARD));
        }
        if (draw) draw[i] = (float)(dm * slope);
    }
    for (int k = 0; k < LUD_MAD_NUMBERS; k++) dlog_std[k] += (float)sum[k];
}
