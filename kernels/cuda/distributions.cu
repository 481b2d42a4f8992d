// Categorical and Gaussian distributions. Sums that decide a draw are taken in double in the CPU's order.
#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

struct row_sums {
    float largest;
    double total;
    bool any; // an unmasked entry exists
};

// The 32 interleaved lanes of the CPU, then lane by lane: the same total on every device.
__device__ static row_sums sums_of(int64_t width, const float *x, const uint8_t *mask, int lane) {
    row_sums s = {-FLT_MAX, 0, false};
    for (int64_t j = lane; j < width; j += WARP)
        if (!mask || mask[j]) {
            s.largest = fmaxf(s.largest, x[j]);
            s.any = true;
        }
    s.largest = warp_max(s.largest);
    s.any = __any_sync(0xffffffffu, s.any) || !mask;
    double own = 0;
    for (int64_t j = lane; j < width; j += WARP)
        if (!mask || mask[j]) own += (double)lud_expf(x[j] - s.largest);
    for (int k = 0; k < WARP; ++k) s.total += __shfl_sync(0xffffffffu, own, k);
    return s;
}

void categorical_sample(lud_device *device, int64_t n, int64_t n_choices, const float *logits,
                        const uint8_t *mask, const lud_draws *draws, const float *uniform, int32_t *action,
                        float *log_prob) {
    lud_draws from = draws ? *draws : lud_draws();
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *x = logits + i * n_choices;
        const uint8_t *m = mask ? mask + i * n_choices : nullptr;
        double u = uniform ? (double)uniform[i] : lud_unit(draw_row(from, i, 0).v[0]);
        row_sums s = sums_of(n_choices, x, m, lane);
        if (lane != 0) return;
        if (!s.any) {
            action[i] = (int32_t)(u * (double)n_choices);
            if (log_prob) log_prob[i] = -lud_logf((float)n_choices);
            return;
        }
        double target = u * s.total, passed = 0;
        int32_t chosen = -1, last = 0;
        for (int64_t j = 0; j < n_choices && chosen < 0; ++j) {
            if (m && !m[j]) continue;
            float p = lud_expf(x[j] - s.largest);
            passed += (double)p;
            if (p > 0) last = (int32_t)j;
            if (passed > target) chosen = (int32_t)j;
        }
        if (chosen < 0) chosen = last;
        action[i] = chosen;
        if (log_prob) log_prob[i] = x[chosen] - s.largest - lud_logf((float)s.total);
    });
}

void categorical_log_prob(lud_device *device, int64_t n, int64_t n_choices, const float *logits,
                          const uint8_t *mask, const int32_t *action, float *log_prob, float *entropy) {
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *x = logits + i * n_choices;
        const uint8_t *m = mask ? mask + i * n_choices : nullptr;
        row_sums s = sums_of(n_choices, x, m, lane);
        float log_total = lud_logf((float)s.total), h = 0;
        if (entropy && s.any) {
            for (int64_t j = lane; j < n_choices; j += WARP) {
                if (m && !m[j]) continue;
                float p = lud_expf(x[j] - s.largest);
                h += p > 0 ? p * (x[j] - s.largest) : 0;
            }
            h = warp_sum(h);
        }
        if (lane != 0) return;
        float uniform = lud_logf((float)n_choices);
        if (log_prob)
            log_prob[i] = !s.any               ? -uniform
                          : m && !m[action[i]] ? -FLT_MAX
                                               : x[action[i]] - s.largest - log_total;
        if (entropy) entropy[i] = s.any ? log_total - h / (float)s.total : uniform;
    });
}

void categorical_backward(lud_device *device, int64_t n, int64_t n_choices, const float *logits,
                          const uint8_t *mask, const int32_t *action, const float *dlog_prob,
                          const float *dentropy, float *dlogits, bool add) {
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *x = logits + i * n_choices;
        const uint8_t *m = mask ? mask + i * n_choices : nullptr;
        float *to = dlogits + i * n_choices;
        row_sums s = sums_of(n_choices, x, m, lane);
        float total = (float)s.total, log_total = lud_logf(total), h = 0;
        float from_log_prob = dlog_prob ? dlog_prob[i] : 0, from_entropy = dentropy ? dentropy[i] : 0;
        if (dentropy && s.any) {
            for (int64_t j = lane; j < n_choices; j += WARP) {
                if (m && !m[j]) continue;
                float p = lud_expf(x[j] - s.largest) / total;
                h -= p > 0 ? p * (x[j] - s.largest - log_total) : 0;
            }
            h = warp_sum(h);
        }
        for (int64_t j = lane; j < n_choices; j += WARP) {
            float g = 0;
            if (s.any && (!m || m[j])) {
                float p = lud_expf(x[j] - s.largest) / total;
                g = -from_log_prob * p;
                if (dentropy && p > 0) g -= from_entropy * p * (x[j] - s.largest - log_total + h);
                if (dlog_prob && j == action[i]) g += from_log_prob;
            }
            put(to + j, g, add);
        }
    });
}

// A warp a row; instead of sorting, every entry counts who stands before it: fine for the vocabularies of
// this program (hundreds of entries).
void filter_logits(lud_device *device, int64_t n, int64_t n_choices, double temperature, int64_t top_k,
                   double top_p, const float *logits, float *y) {
    float factor = temperature > 0 ? (float)(1 / temperature) : 0;
    if (temperature <= 0) {
        each_warp(device, n, [=] __device__(int64_t i, int lane) {
            const float *x = logits + i * n_choices;
            float largest = -INFINITY;
            for (int64_t j = lane; j < n_choices; j += WARP) largest = fmaxf(largest, x[j]);
            largest = warp_max(largest);
            int best = INT32_MAX;
            for (int64_t j = lane; j < n_choices; j += WARP)
                if (x[j] == largest && j < best) best = (int)j;
            for (int step = WARP / 2; step > 0; step /= 2) {
                int other = __shfl_xor_sync(0xffffffffu, best, step);
                best = other < best ? other : best;
            }
            for (int64_t j = lane; j < n_choices; j += WARP)
                y[i * n_choices + j] = j == best ? largest : -FLT_MAX;
        });
        return;
    }
    each(device, n * n_choices, [=] __device__(int64_t at) {
        const float *x = logits + at / n_choices * n_choices;
        float own = logits[at];
        bool stays = own > -FLT_MAX;
        if (top_k > 0 && top_k < n_choices) {
            int64_t larger = 0;
            for (int64_t j = 0; j < n_choices; ++j) larger += x[j] > own;
            stays = stays && larger < top_k;
        }
        y[at] = stays ? own * factor : -FLT_MAX;
    });
    if (!(top_p < 1)) return;
    float *copy = static_cast<float *>(workspace(device, (size_t)(n * n_choices) * sizeof(float)));
    if (!copy) return;
    combine(device, n * n_choices, 1, y, 0, nullptr, copy);
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *x = copy + i * n_choices;
        float largest = -FLT_MAX;
        double total = 0;
        for (int64_t j = lane; j < n_choices; j += WARP) largest = fmaxf(largest, x[j]);
        largest = warp_max(largest);
        for (int64_t j = lane; j < n_choices; j += WARP) total += (double)lud_expf(x[j] - largest);
        total = warp_sum(total);
        for (int64_t j = lane; j < n_choices; j += WARP) {
            double mass = 0; /* of the entries up to and with this one in the ascending order */
            int64_t before = 0;
            for (int64_t k = 0; k < n_choices; ++k)
                if (x[k] < x[j] || (x[k] == x[j] && k <= j)) {
                    mass += (double)lud_expf(x[k] - largest);
                    ++before;
                }
            if (before < n_choices && mass <= (1 - top_p) * total) y[i * n_choices + j] = -FLT_MAX;
        }
    });
}

// ---- Gaussian

__device__ constexpr float HALF_LOG_2_PI = 0.91893853320467274178f;

void gaussian_sample(lud_device *device, int64_t n, int64_t width, const float *mean, const float *log_std,
                     int64_t log_std_stride, const lud_draws *draws, const float *normal, float *action,
                     float *log_prob) {
    lud_draws from = draws ? *draws : lud_draws();
    each(device, n, [=] __device__(int64_t i) {
        const float *s = log_std + i * log_std_stride;
        float total = 0;
        lud_words words = {{0, 0, 0, 0}};
        for (int64_t j = 0; j < width; ++j) {
            if (!normal && j % 4 == 0) words = draw_row(from, i, (uint32_t)(j / 4));
            float e = normal ? normal[i * width + j] : lud_normal_quantile(words.v[j % 4]);
            action[i * width + j] = mean[i * width + j] + lud_expf(s[j]) * e;
            total += -0.5f * e * e - s[j] - HALF_LOG_2_PI;
        }
        if (log_prob) log_prob[i] = total;
    });
}

void gaussian_log_prob(lud_device *device, int64_t n, int64_t width, const float *mean, const float *log_std,
                       int64_t log_std_stride, const float *action, float *log_prob, float *entropy) {
    each(device, n, [=] __device__(int64_t i) {
        const float *s = log_std + i * log_std_stride;
        float total = 0, h = 0;
        for (int64_t j = 0; j < width; ++j) {
            if (log_prob) {
                float e = (action[i * width + j] - mean[i * width + j]) * lud_expf(-s[j]);
                total += -0.5f * e * e - s[j] - HALF_LOG_2_PI;
            }
            h += s[j] + (0.5f + HALF_LOG_2_PI);
        }
        if (log_prob) log_prob[i] = total;
        if (entropy) entropy[i] = h;
    });
}

void gaussian_backward(lud_device *device, int64_t n, int64_t width, const float *mean, const float *log_std,
                       int64_t log_std_stride, const float *action, const float *dlog_prob,
                       const float *dentropy, float *dmean, float *daction, float *dlog_std, bool add) {
    bool shared = log_std_stride == 0;
    int64_t n_part = column_blocks(n) * width;
    float *rows = nullptr;
    if (shared && dlog_std) {
        rows = static_cast<float *>(workspace(device, (size_t)(n * width + n_part) * sizeof(float)));
        if (!rows) return;
    }
    each(device, n * width, [=] __device__(int64_t at) {
        int64_t i = at / width, j = at % width;
        float s = log_std[i * log_std_stride + j], inverse = lud_expf(-s),
              e = (action[at] - mean[at]) * inverse;
        float from_log_prob = dlog_prob ? dlog_prob[i] : 0, from_entropy = dentropy ? dentropy[i] : 0;
        float to_mean = from_log_prob * e * inverse, to_log_std = from_log_prob * (e * e - 1) + from_entropy;
        if (dmean) put(dmean + at, to_mean, add);
        if (daction) put(daction + at, -to_mean, add);
        if (rows)
            rows[at] = to_log_std;
        else if (dlog_std && !shared)
            put(dlog_std + i * log_std_stride + j, to_log_std, add);
    });
    if (rows) column_sum_with(device, n, width, rows, rows + n * width, dlog_std, true);
}

} // namespace lud_cuda
