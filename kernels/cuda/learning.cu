// Losses, returns, windows, statistics, optimisers.
#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

__device__ static inline float huber(float e, float delta) {
    float size = fabsf(e);
    return size <= delta ? 0.5f * e * e : delta * (size - 0.5f * delta);
}
__device__ static inline float huber_slope(float e, float delta) {
    return clamped(e, -delta, delta);
}

void mse_loss(lud_device *device, int64_t n, const float *x, const float *target, const float *weight,
              double scale, float *loss, float *dx, bool add) {
    float f = (float)scale;
    each(device, n, [=] __device__(int64_t i) {
        float e = x[i] - target[i];
        if (loss) loss[i] = e * e;
        if (dx) put(dx + i, 2 * e * f * (weight ? weight[i] : 1), add);
    });
}

void huber_loss(lud_device *device, int64_t n, double delta, const float *x, const float *target,
                const float *weight, double scale, float *loss, float *dx, bool add) {
    float f = (float)scale, d = (float)delta;
    each(device, n, [=] __device__(int64_t i) {
        float e = x[i] - target[i];
        if (loss) loss[i] = huber(e, d);
        if (dx) put(dx + i, huber_slope(e, d) * f * (weight ? weight[i] : 1), add);
    });
}

void cross_entropy_loss(lud_device *device, int64_t n, int64_t n_choices, const float *logits,
                        const uint8_t *mask, const int32_t *target, const float *weight, double scale,
                        float *loss, float *dlogits, bool add) {
    float f = (float)scale;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *x = logits + i * n_choices;
        const uint8_t *m = mask ? mask + i * n_choices : nullptr;
        float largest = -FLT_MAX;
        bool any = !mask;
        for (int64_t j = lane; j < n_choices; j += WARP)
            if (!m || m[j]) {
                largest = fmaxf(largest, x[j]);
                any = true;
            }
        largest = warp_max(largest);
        any = __any_sync(0xffffffffu, any);
        double own = 0;
        for (int64_t j = lane; j < n_choices; j += WARP)
            if (!m || m[j]) own += (double)lud_expf(x[j] - largest);
        float total = (float)warp_sum(own), g = f * (weight ? weight[i] : 1);
        bool counts = target[i] >= 0 && any;
        if (loss && lane == 0)
            loss[i] = !counts ? 0 : m && !m[target[i]] ? FLT_MAX : lud_logf(total) - (x[target[i]] - largest);
        for (int64_t j = lane; j < n_choices && dlogits; j += WARP) {
            bool in = !m || m[j];
            float p = in ? lud_expf(x[j] - largest) / total : 0;
            put(dlogits + i * n_choices + j, counts ? g * (p - (j == target[i] && in ? 1 : 0)) : 0, add);
        }
    });
}

void ppo_policy_loss(lud_device *device, int64_t n, double clip, const float *log_prob,
                     const float *old_log_prob, const float *advantage, const float *weight, double scale,
                     float *loss, float *ratio, float *dlog_prob, bool add) {
    float f = (float)scale, low = (float)(1 - clip), high = (float)(1 + clip);
    each(device, n, [=] __device__(int64_t i) {
        float r = lud_expf(log_prob[i] - old_log_prob[i]), a = advantage[i];
        float plain = r * a, cut = clamped(r, low, high) * a;
        if (loss) loss[i] = -fminf(plain, cut);
        if (ratio) ratio[i] = r;
        if (dlog_prob) put(dlog_prob + i, plain <= cut ? -plain * f * (weight ? weight[i] : 1) : 0, add);
    });
}

void ppo_value_loss(lud_device *device, int64_t n, double clip, double delta, bool clipped_only,
                    const float *value, const float *old_value, const float *target, const float *weight,
                    double scale, float *loss, float *dvalue, bool add) {
    float f = (float)scale, d = (float)delta, limit = (float)clip;
    each(device, n, [=] __device__(int64_t i) {
        float e = value[i] - target[i], result = d > 0 ? huber(e, d) : e * e,
              slope = d > 0 ? huber_slope(e, d) : 2 * e;
        if (limit > 0) {
            float change = value[i] - old_value[i], cut = clamped(change, -limit, limit);
            float e_cut = old_value[i] + cut - target[i], clipped = d > 0 ? huber(e_cut, d) : e_cut * e_cut;
            if (clipped_only || clipped > result) {
                result = clipped;
                slope = change != cut ? 0 : d > 0 ? huber_slope(e_cut, d) : 2 * e_cut;
            }
        }
        if (loss) loss[i] = result;
        if (dvalue) put(dvalue + i, slope * f * (weight ? weight[i] : 1), add);
    });
}

// ---- returns: a thread a column

void gae(lud_device *device, int64_t n_steps, int64_t n, double gamma, double lambda, const float *reward,
         const float *value, const float *mask, const float *bad_mask, float *advantage, float *returns) {
    float g = (float)gamma, gl = (float)(gamma * lambda);
    each(device, n, [=] __device__(int64_t i) {
        float carried = 0;
        for (int64_t t = n_steps - 1; t >= 0; --t) {
            int64_t at = t * n + i;
            float keep = mask[at + n], delta = reward[at] + g * value[at + n] * keep - value[at];
            carried = delta + gl * keep * carried;
            if (bad_mask) carried *= bad_mask[at + n];
            if (advantage) advantage[at] = carried;
            if (returns) returns[at] = carried + value[at];
        }
    });
}

void discounted_returns(lud_device *device, int64_t n_steps, int64_t n, double gamma, const float *reward,
                        const float *value, const float *mask, const float *bad_mask, float *returns) {
    float g = (float)gamma;
    each(device, n, [=] __device__(int64_t i) {
        float carried = value[n_steps * n + i];
        for (int64_t t = n_steps - 1; t >= 0; --t) {
            int64_t at = t * n + i;
            carried = reward[at] + g * mask[at + n] * carried;
            if (bad_mask) carried = bad_mask[at + n] * carried + (1 - bad_mask[at + n]) * value[at];
            returns[at] = carried;
        }
    });
}

void n_step_returns(lud_device *device, int64_t n_steps, int64_t n, int64_t horizon, double gamma,
                    const float *reward, const float *value, const float *mask, float *returns) {
    float g = (float)gamma;
    each(device, n_steps * n, [=] __device__(int64_t at) {
        int64_t t = at / n, i = at % n, end = t + horizon < n_steps ? t + horizon : n_steps;
        float total = 0, power = 1;
        bool ended = false;
        for (int64_t u = t; u < end && !ended; ++u) {
            total += power * reward[u * n + i];
            power *= g;
            ended = mask[(u + 1) * n + i] == 0;
        }
        returns[at] = total + (ended ? 0 : power * value[end * n + i]);
    });
}

namespace {

struct alignas(16) sixteen_bytes {
    uint64_t half[2];
};

// A row is `width` words; one thread a word.
template <class word>
void gather_words(lud_device *device, const lud_windows &w, const void *data, lud_padding padding,
                  const void *value, void *out, int32_t *valid) {
    const word *rows = static_cast<const word *>(data), *pad = static_cast<const word *>(value);
    word *to = static_cast<word *>(out);
    const int64_t width = w.row_bytes / (int64_t)sizeof(word), window = width * w.horizon;
    auto first_of = [=] __device__(int64_t i) { return w.first ? w.first[i] : i; };
    auto left_of = [=] __device__(int64_t i) { return (w.end ? w.end[i] : w.n) - first_of(i); };
    auto count_of = [=] __device__(int64_t i) {
        const int64_t left = left_of(i);
        int64_t count = w.horizon < left ? w.horizon : left > 0 ? left : 0;
        if (w.length && w.length[i] < count) count = w.length[i] > 0 ? w.length[i] : 0;
        return count;
    };
    if (valid) each(device, w.n, [=] __device__(int64_t i) { valid[i] = (int32_t)count_of(i); });
    if (window == 0) return;
    each(device, w.n * window, [=] __device__(int64_t at) {
        const int64_t i = at / window, k = at % window / width, j = at % width, count = count_of(i);
        const bool last = padding == LUD_PAD_LAST && left_of(i) > 0;
        const int64_t row = first_of(i) + (k < count ? k : count > 0 ? count - 1 : 0);
        to[at] = k < count || last ? rows[row * width + j] : padding == LUD_PAD_VALUE ? pad[j] : word{};
    });
}

} // namespace

// The largest words that rows and addresses are multiples of.
void gather_windows(lud_device *device, const lud_windows *windows, const void *data, lud_padding padding,
                    const void *value, void *out, int32_t *valid) {
    const uintptr_t all = (uintptr_t)windows->row_bytes | (uintptr_t)data | (uintptr_t)value | (uintptr_t)out;
    auto gather = all % 16 == 0  ? gather_words<sixteen_bytes>
                  : all % 8 == 0 ? gather_words<uint64_t>
                  : all % 4 == 0 ? gather_words<uint32_t>
                                 : gather_words<uint8_t>;
    gather(device, *windows, data, padding, value, out, valid);
}

// ---- statistics

void moments(lud_device *device, int64_t n, int64_t width, const float *x, const float *weight, float *mean,
             float *mean_square) {
    int64_t n_blocks = column_blocks(n);
    double *part = static_cast<double *>(workspace(device, (size_t)(3 * n_blocks * width) * sizeof(double)));
    if (!part) return;
    each(device, n_blocks * width, [=] __device__(int64_t at) {
        int64_t block = at / width, j = at % width;
        int64_t end = (block + 1) * ROW_BLOCK < n ? (block + 1) * ROW_BLOCK : n;
        double s = 0, squares = 0, weights = 0;
        for (int64_t i = block * ROW_BLOCK; i < end; ++i) {
            double w = weight ? (double)weight[i] : 1, value = (double)x[i * width + j];
            s += w * value;
            squares += w * value * value;
            weights += w;
        }
        part[3 * at] = s;
        part[3 * at + 1] = squares;
        part[3 * at + 2] = weights;
    });
    each_warp(device, width, [=] __device__(int64_t j, int lane) {
        double s = 0, squares = 0, weights = 0;
        for (int64_t block = lane; block < n_blocks; block += WARP) {
            s += part[3 * (block * width + j)];
            squares += part[3 * (block * width + j) + 1];
            weights += part[3 * (block * width + j) + 2];
        }
        s = warp_sum(s);
        squares = warp_sum(squares);
        weights = warp_sum(weights);
        if (lane == 0) {
            mean[j] = (float)(weights != 0 ? s / weights : 0);
            mean_square[j] = (float)(weights != 0 ? squares / weights : 0);
        }
    });
}

void normaliser_update(lud_device *device, int64_t width, double beta, const float *mean,
                       const float *mean_square, float *state) {
    each(device, width, [=] __device__(int64_t j) {
        float *s = state + j * LUD_NORMALISER_FIELDS;
        s[LUD_NORMALISER_MEAN] =
            (float)(beta * (double)s[LUD_NORMALISER_MEAN] + (1 - beta) * (double)mean[j]);
        s[LUD_NORMALISER_MEAN_SQUARE] =
            (float)(beta * (double)s[LUD_NORMALISER_MEAN_SQUARE] + (1 - beta) * (double)mean_square[j]);
        s[LUD_NORMALISER_DEBIAS] = (float)(beta * (double)s[LUD_NORMALISER_DEBIAS] + (1 - beta));
    });
}

void normalise(lud_device *device, int64_t n, int64_t width, const float *state, bool inverse, const float *x,
               float *y) {
    each(device, n * width, [=] __device__(int64_t at) {
        const float *s = state + at % width * LUD_NORMALISER_FIELDS;
        float debias = fmaxf(s[LUD_NORMALISER_DEBIAS], 1e-5f), mean = s[LUD_NORMALISER_MEAN] / debias;
        float deviation = sqrtf(fmaxf(s[LUD_NORMALISER_MEAN_SQUARE] / debias - mean * mean, 1e-2f));
        y[at] = inverse ? x[at] * deviation + mean : (x[at] - mean) / deviation;
    });
}

__device__ static inline float biased_deviation(const float *state) {
    float mean = state[LUD_NORMALISER_MEAN], variance = state[LUD_NORMALISER_MEAN_SQUARE] - mean * mean;
    return fmaxf(sqrtf(fmaxf(variance, 0)), 1e-4f);
}

void popart_rescale(lud_device *device, int64_t n_in, int64_t width, const float *old_state,
                    const float *state, float *w, float *b) {
    each(device, width * (n_in + 1), [=] __device__(int64_t at) {
        int64_t j = at / (n_in + 1), i = at % (n_in + 1);
        const float *from = old_state + j * LUD_NORMALISER_FIELDS, *to = state + j * LUD_NORMALISER_FIELDS;
        bool fresh = from[LUD_NORMALISER_DEBIAS] == 0;
        float old_mean = fresh ? 0 : from[LUD_NORMALISER_MEAN],
              old_deviation = fresh ? 1 : biased_deviation(from);
        float deviation = biased_deviation(to);
        if (i < n_in)
            w[j * n_in + i] *= old_deviation / deviation;
        else
            b[j] = (old_deviation * b[j] + old_mean - to[LUD_NORMALISER_MEAN]) / deviation;
    });
}

// ---- optimisers

void sgd_step(lud_device *device, int64_t n, double momentum, double l2, const float *schedule,
              const float *scale, const float *g, float *m, float *w) {
    float keep = (float)momentum, decay = (float)l2;
    each(device, n, [=] __device__(int64_t i) {
        float change = (scale ? *scale : 1) * g[i] + decay * w[i];
        if (m) {
            change = keep * m[i] + change;
            m[i] = change;
        }
        w[i] = w[i] * (1 - schedule[1]) - schedule[0] * change;
    });
}

void adam_step(lud_device *device, int64_t n, const lud_adam *adam, const float *schedule, const float *scale,
               const float *g, float *m, float *v, float *w) {
    float b1 = (float)adam->beta1, b2 = (float)adam->beta2, epsilon = (float)adam->epsilon,
          l2 = (float)adam->l2;
    float c1 = (float)(1 - adam->beta1), c2 = (float)(1 - adam->beta2);
    bool decay_after = adam->decay_after;
    each(device, n, [=] __device__(int64_t i) {
        float shrink = 1 - schedule[2], gradient = (scale ? *scale : 1) * g[i] + l2 * w[i];
        float mean = b1 * m[i] + c1 * gradient, square = b2 * v[i] + c2 * gradient * gradient;
        float step = schedule[0] * mean / (schedule[1] * sqrtf(square) + epsilon);
        m[i] = mean;
        v[i] = square;
        w[i] = decay_after ? (w[i] - step) * shrink : w[i] * shrink - step;
    });
}

void clip_scale(lud_device *device, double max_norm, const float *sum_squares, float *norm, float *scale) {
    float limit = (float)max_norm;
    each(device, 1, [=] __device__(int64_t) {
        *norm = sqrtf(*sum_squares);
        float factor = limit / (*norm + 1e-6f);
        *scale = limit > 0 && factor < 1 ? factor : 1;
    });
}

} // namespace lud_cuda
