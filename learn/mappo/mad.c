#include "learn/mappo/mad.h"

#include <math.h>

static const double guard = 1e-8, largest_direction = 0.999;
static const double half_log_two_pi = 0.91893853320467274178, log_two = 0.69314718055994530942;

double lud_mad_magnitude(const lud_mappo_options *options, double raw, bool in_action, double *slope) {
    if (slope) *slope = 0.0;
    if (options->control == LUD_MAPPO_BASE) return 1.0;
    const lud_mappo_mad_options *mad = &options->mad;
    const double low = in_action && !mad->floor_in_action ? 0.0 : mad->floor;
    double value = raw, derivative = 1.0;
    switch ((lud_mappo_magnitude)mad->magnitude) {
    case LUD_MAGNITUDE_ABS:
        value = fabs(raw);
        derivative = raw > 0.0 ? 1.0 : raw < 0.0 ? -1.0 : 0.0;
        break;
    case LUD_MAGNITUDE_SOFTPLUS:
        value = (raw > 0.0 ? raw + log1p(exp(-raw)) : log1p(exp(raw))) - log_two;
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

void lud_mad_offset(const lud_mappo_options *options, int64_t n, const float *y, const float *raw,
                    float *offset) {
    for (int64_t i = 0; i < n; i++) {
        const double m = lud_mad_magnitude(options, raw ? (double)raw[i] : 0.0, true, NULL);
        for (int k = 0; k < LUD_MAD_NUMBERS; k++)
            offset[i * LUD_MAD_NUMBERS + k] = (float)(m * tanh((double)y[i * LUD_MAD_NUMBERS + k]));
    }
}

/* The direction that leads to an offset; *inside: the inverse was not cut off. */
static double direction(double offset, double m, bool *inside) {
    const double d = offset / (m + guard);
    *inside = fabs(d) <= largest_direction;
    return *inside ? d : d < 0.0 ? -largest_direction : largest_direction;
}

void lud_mad_log_prob(const lud_mappo_options *options, int64_t n, const float *mean, const float *log_std,
                      const float *raw, const float *offset, float *log_prob, float *entropy) {
    for (int64_t i = 0; i < n; i++) {
        const double m = lud_mad_magnitude(options, raw ? (double)raw[i] : 0.0, false, NULL);
        double jacobian = LUD_MAD_NUMBERS * log(m + guard), gaussian = 0.0, spread = 0.0;
        for (int k = 0; k < LUD_MAD_NUMBERS; k++) {
            bool inside;
            const int64_t at = i * LUD_MAD_NUMBERS + k;
            const double d = direction((double)offset[at], m, &inside), s = (double)log_std[k];
            const double z = (atanh(d) - (double)mean[at]) * exp(-s);
            gaussian -= 0.5 * z * z + s + half_log_two_pi;
            jacobian += log(1.0 - d * d + guard);
            spread += 0.5 + half_log_two_pi + s;
        }
        log_prob[i] = (float)(gaussian - jacobian);
        entropy[i] = (float)(spread + jacobian);
    }
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
        double dm = LUD_MAD_NUMBERS * (de - dl) / (m + guard);
        for (int k = 0; k < LUD_MAD_NUMBERS; k++) {
            bool inside;
            const int64_t at = i * LUD_MAD_NUMBERS + k;
            const double u = (double)offset[at], d = direction(u, m, &inside), s = (double)log_std[k];
            const double z = (atanh(d) - (double)mean[at]) * exp(-s);
            dmean[at] = (float)(dl * z * exp(-s));
            sum[k] += dl * (z * z - 1.0) + de;
            if (pathwise) { /* d ln(1 - tanh(y)^2) / dy = -2 tanh(y), y = mean + exp(s) z */
                dmean[at] -= (float)(de * 2.0 * d);
                sum[k] -= de * 2.0 * d * z * exp(s);
            }
            if (!inside || options->mad.detach) continue;
            const double dd =
                -dl * z * exp(-s) / (1.0 - d * d) + (dl - replayed) * 2.0 * d / (1.0 - d * d + guard);
            dm -= dd * u / ((m + guard) * (m + guard));
        }
        if (draw) draw[i] = (float)(dm * slope);
    }
    for (int k = 0; k < LUD_MAD_NUMBERS; k++) dlog_std[k] += (float)sum[k];
}
