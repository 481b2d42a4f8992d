// Rows by index, segments, layer norm, softmax.
#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

void gather_rows(lud_device *device, int64_t n, int64_t width, const float *table, const int32_t *index,
                 float *y) {
    each(device, n * width, [=] __device__(int64_t at) {
        int32_t row = index[at / width];
        y[at] = row >= 0 ? table[row * width + at % width] : 0;
    });
}

void scatter_rows(lud_device *device, int64_t n, int64_t width, const float *x, const int32_t *index,
                  float *y) {
    each(device, n * width, [=] __device__(int64_t at) {
        int32_t row = index[at / width];
        if (row >= 0) y[row * width + at % width] = x[at];
    });
}

// A warp a group.
void quantise_rows(lud_device *device, int64_t n, int64_t width, int64_t group, const float *x,
                   const int32_t *index, int8_t *code, float *scale) {
    int64_t groups = width / group;
    each_warp(device, n * groups, [=] __device__(int64_t at, int lane) {
        int64_t i = at / groups, g = at % groups, row = index[i];
        if (row < 0) return;
        const float *from = x + i * width + g * group;
        float largest = 0;
        for (int64_t j = lane; j < group; j += WARP) largest = fmaxf(largest, fabsf(from[j]));
        largest = warp_max(largest);
        float inverse = largest > 0 ? 127 / largest : 0;
        if (lane == 0) scale[row * groups + g] = largest / 127;
        for (int64_t j = lane; j < group; j += WARP)
            code[row * width + g * group + j] = (int8_t)rintf(from[j] * inverse);
    });
}

void dequantise_rows(lud_device *device, int64_t n, int64_t width, int64_t group, const int8_t *code,
                     const float *scale, float *y) {
    each(device, n * width, [=] __device__(int64_t at) { y[at] = (float)code[at] * scale[at / group]; });
}

void segment_reduce(lud_device *device, lud_reduce reduce, int64_t n_segments, int64_t width,
                    const int32_t *offsets, const int32_t *index, const float *x, float *y, int32_t *place) {
    each(device, n_segments * width, [=] __device__(int64_t at) {
        int64_t s = at / width, j = at % width;
        int32_t first = offsets[s], end = offsets[s + 1], best = -1;
        float total = 0;
        for (int32_t e = first; e < end; ++e) {
            float value = x[(index ? index[e] : e) * width + j];
            if (reduce == LUD_REDUCE_MAX) {
                if (best < 0 || value > total) {
                    total = value;
                    best = e;
                }
            } else {
                total += value;
            }
        }
        if (reduce == LUD_REDUCE_MEAN && end > first) total *= 1 / (float)(end - first);
        y[at] = total;
        if (reduce == LUD_REDUCE_MAX && place) place[at] = best;
    });
}

void segment_reduce_backward(lud_device *device, lud_reduce reduce, int64_t n_segments, int64_t width,
                             const int32_t *offsets, const int32_t *place, const float *dy, float *dx,
                             bool add) {
    each(device, n_segments * width, [=] __device__(int64_t at) {
        int64_t s = at / width, j = at % width;
        int32_t first = offsets[s], end = offsets[s + 1];
        float factor = reduce == LUD_REDUCE_MEAN && end > first ? 1 / (float)(end - first) : 1;
        for (int32_t e = first; e < end; ++e)
            put(dx + e * width + j, reduce == LUD_REDUCE_MAX && place[at] != e ? 0 : factor * dy[at], add);
    });
}

void segment_softmax(lud_device *device, int64_t n_segments, int64_t width, const int32_t *offsets,
                     const float *x, float *y) {
    each(device, n_segments * width, [=] __device__(int64_t at) {
        int64_t j = at % width;
        int32_t first = offsets[at / width], end = offsets[at / width + 1];
        float largest = -FLT_MAX, total = 0;
        for (int32_t e = first; e < end; ++e) largest = fmaxf(largest, x[e * width + j]);
        for (int32_t e = first; e < end; ++e) {
            float p = lud_expf(x[e * width + j] - largest);
            y[e * width + j] = p;
            total += p;
        }
        for (int32_t e = first; e < end; ++e) y[e * width + j] /= total;
    });
}

void segment_softmax_backward(lud_device *device, int64_t n_segments, int64_t width, const int32_t *offsets,
                              const float *y, const float *dy, float *dx, bool add) {
    each(device, n_segments * width, [=] __device__(int64_t at) {
        int64_t j = at % width;
        int32_t first = offsets[at / width], end = offsets[at / width + 1];
        float inner = 0;
        for (int32_t e = first; e < end; ++e) inner += y[e * width + j] * dy[e * width + j];
        for (int32_t e = first; e < end; ++e)
            put(dx + e * width + j, y[e * width + j] * (dy[e * width + j] - inner), add);
    });
}

// ---- layer norm: a warp a row

void layer_norm(lud_device *device, int64_t n, int64_t width, double epsilon, const float *x,
                const float *gain, const float *bias, float *y, float *mean, float *scale) {
    float small = (float)epsilon;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *from = x + i * width;
        float s = 0, squares = 0;
        for (int64_t j = lane; j < width; j += WARP) s += from[j];
        float m = warp_sum(s) / (float)width;
        for (int64_t j = lane; j < width; j += WARP) squares += (from[j] - m) * (from[j] - m);
        float r = 1 / sqrtf(warp_sum(squares) / (float)width + small);
        for (int64_t j = lane; j < width; j += WARP)
            y[i * width + j] = gain ? (from[j] - m) * r * gain[j] + bias[j] : (from[j] - m) * r;
        if (lane == 0 && mean) mean[i] = m;
        if (lane == 0 && scale) scale[i] = r;
    });
}

void layer_norm_backward(lud_device *device, int64_t n, int64_t width, const float *x, const float *gain,
                         const float *mean, const float *scale, const float *dy, float *dx, bool add,
                         float *dgain, float *dbias) {
    if (dgain) {
        int64_t n_blocks = column_blocks(n);
        float *part = static_cast<float *>(workspace(device, (size_t)(n_blocks * width * 2) * sizeof(float)));
        if (!part) return;
        each(device, n_blocks * width, [=] __device__(int64_t at) {
            int64_t block = at / width, j = at % width;
            int64_t end = (block + 1) * ROW_BLOCK < n ? (block + 1) * ROW_BLOCK : n;
            float to_gain = 0, to_bias = 0;
            for (int64_t i = block * ROW_BLOCK; i < end; ++i) {
                to_gain += dy[i * width + j] * (x[i * width + j] - mean[i]) * scale[i];
                to_bias += dy[i * width + j];
            }
            part[2 * at] = to_gain;
            part[2 * at + 1] = to_bias;
        });
        each_warp(device, width, [=] __device__(int64_t j, int lane) {
            float to_gain = 0, to_bias = 0;
            for (int64_t block = lane; block < n_blocks; block += WARP) {
                to_gain += part[2 * (block * width + j)];
                to_bias += part[2 * (block * width + j) + 1];
            }
            to_gain = warp_sum(to_gain);
            to_bias = warp_sum(to_bias);
            if (lane == 0) {
                dgain[j] += to_gain;
                dbias[j] += to_bias;
            }
        });
    }
    if (!dx) return;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *from = x + i * width, *g = dy + i * width;
        float m = mean[i], r = scale[i], s = 0, inner = 0;
        for (int64_t j = lane; j < width; j += WARP) {
            float e = gain ? g[j] * gain[j] : g[j];
            s += e;
            inner += e * (from[j] - m) * r;
        }
        s = warp_sum(s) / (float)width;
        inner = warp_sum(inner) / (float)width;
        for (int64_t j = lane; j < width; j += WARP) {
            float e = gain ? g[j] * gain[j] : g[j];
            put(dx + i * width + j, r * (e - s - (from[j] - m) * r * inner), add);
        }
    });
}

// ---- root mean square norm: a warp a row

void rms_norm(lud_device *device, int64_t n, int64_t width, double epsilon, const float *x, const float *gain,
              float *y, float *scale) {
    float small = (float)epsilon;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *from = x + i * width;
        float squares = 0;
        for (int64_t j = lane; j < width; j += WARP) squares += from[j] * from[j];
        float r = 1 / sqrtf(warp_sum(squares) / (float)width + small);
        for (int64_t j = lane; j < width; j += WARP) y[i * width + j] = from[j] * r * gain[j];
        if (lane == 0 && scale) scale[i] = r;
    });
}

void rms_norm_backward(lud_device *device, int64_t n, int64_t width, const float *x, const float *gain,
                       const float *scale, const float *dy, float *dx, bool add, float *dgain) {
    if (dgain) {
        int64_t n_blocks = column_blocks(n);
        float *part = static_cast<float *>(workspace(device, (size_t)(n_blocks * width) * sizeof(float)));
        if (!part) return;
        each(device, n_blocks * width, [=] __device__(int64_t at) {
            int64_t block = at / width, j = at % width;
            int64_t end = (block + 1) * ROW_BLOCK < n ? (block + 1) * ROW_BLOCK : n;
            float to_gain = 0;
            for (int64_t i = block * ROW_BLOCK; i < end; ++i)
                to_gain += dy[i * width + j] * x[i * width + j] * scale[i];
            part[at] = to_gain;
        });
        each_warp(device, width, [=] __device__(int64_t j, int lane) {
            float to_gain = 0;
            for (int64_t block = lane; block < n_blocks; block += WARP) to_gain += part[block * width + j];
            to_gain = warp_sum(to_gain);
            if (lane == 0) dgain[j] += to_gain;
        });
    }
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        const float *from = x + i * width, *g = dy + i * width;
        float r = scale[i], inner = 0;
        for (int64_t j = lane; j < width; j += WARP) inner += g[j] * gain[j] * from[j];
        inner = warp_sum(inner) / (float)width * r * r;
        for (int64_t j = lane; j < width; j += WARP)
            put(dx + i * width + j, r * (g[j] * gain[j] - from[j] * inner), add);
    });
}

// ---- softmax: a warp a row

void softmax(lud_device *device, int64_t n, int64_t width, double factor, const float *x, const uint8_t *mask,
             float *y) {
    float f = (float)factor;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        float largest = -FLT_MAX, total = 0;
        for (int64_t j = lane; j < width; j += WARP)
            if (!mask || mask[i * width + j]) largest = fmaxf(largest, f * x[i * width + j]);
        largest = warp_max(largest);
        for (int64_t j = lane; j < width; j += WARP) {
            float p = !mask || mask[i * width + j] ? lud_expf(f * x[i * width + j] - largest) : 0;
            y[i * width + j] = p;
            total += p;
        }
        total = warp_sum(total);
        float scale = total > 0 ? 1 / total : 0;
        for (int64_t j = lane; j < width; j += WARP) y[i * width + j] *= scale;
    });
}

void softmax_backward(lud_device *device, int64_t n, int64_t width, double factor, const float *y,
                      const float *dy, float *dx, bool add) {
    float f = (float)factor;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        float inner = 0;
        for (int64_t j = lane; j < width; j += WARP) inner += y[i * width + j] * dy[i * width + j];
        inner = warp_sum(inner);
        for (int64_t j = lane; j < width; j += WARP) {
            int64_t at = i * width + j;
            put(dx + at, f * y[at] * (dy[at] - inner), add);
        }
    });
}

void log_softmax(lud_device *device, int64_t n, int64_t width, double factor, const float *x,
                 const uint8_t *mask, float *y) {
    float f = (float)factor;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        float largest = -FLT_MAX, total = 0;
        for (int64_t j = lane; j < width; j += WARP)
            if (!mask || mask[i * width + j]) largest = fmaxf(largest, f * x[i * width + j]);
        largest = warp_max(largest);
        for (int64_t j = lane; j < width; j += WARP)
            if (!mask || mask[i * width + j]) total += lud_expf(f * x[i * width + j] - largest);
        float shift = largest + lud_logf(warp_sum(total));
        for (int64_t j = lane; j < width; j += WARP)
            y[i * width + j] = !mask || mask[i * width + j] ? f * x[i * width + j] - shift : -FLT_MAX;
    });
}

void log_softmax_backward(lud_device *device, int64_t n, int64_t width, double factor, const float *y,
                          const uint8_t *mask, const float *dy, float *dx, bool add) {
    float f = (float)factor;
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        float total = 0;
        for (int64_t j = lane; j < width; j += WARP)
            if (!mask || mask[i * width + j]) total += dy[i * width + j];
        total = warp_sum(total);
        for (int64_t j = lane; j < width; j += WARP) {
            int64_t at = i * width + j;
            put(dx + at, !mask || mask[at] ? f * (dy[at] - lud_expf(y[at]) * total) : 0, add);
        }
    });
}

} // namespace lud_cuda
