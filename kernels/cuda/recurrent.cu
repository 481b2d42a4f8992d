// Linear recurrent unit and gated recurrent unit.
#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

struct lru_numbers {
    float re, im, gamma;
};

__device__ static inline lru_numbers lru_of(const float *nu_log, const float *theta_log,
                                            const float *gamma_log, int64_t s) {
    double modulus = exp(-exp((double)nu_log[s])), phase = exp((double)theta_log[s]);
    lru_numbers c = {(float)(modulus * cos(phase)), (float)(modulus * sin(phase)),
                     (float)exp((double)gamma_log[s])};
    return c;
}

// A thread a complex number of a row walks through time. Long sequences are cut into chunks as on the CPU,
// whatever the number of rows: chunks from a zero state, their last states chained, the rest added.
static const int64_t LRU_CHUNK = 128;

void lru(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const float *nu_log,
         const float *theta_log, const float *gamma_log, const float *v, const float *h0, const float *mask,
         float *h) {
    bool chunked = n_steps >= 4 * LRU_CHUNK && size <= 1024;
    int64_t length = chunked ? LRU_CHUNK : n_steps,
            n_chunks = n_steps > 0 ? (n_steps + length - 1) / length : 0;
    each(device, n_chunks * n * size, [=] __device__(int64_t job) {
        int64_t s = job % size, i = job / size % n, chunk = job / (size * n);
        int64_t end = (chunk + 1) * length < n_steps ? (chunk + 1) * length : n_steps;
        lru_numbers c = lru_of(nu_log, theta_log, gamma_log, s);
        float a = 0, b = 0;
        if (chunk == 0 && h0) {
            a = h0[(i * size + s) * 2];
            b = h0[(i * size + s) * 2 + 1];
        }
        for (int64_t t = chunk * length; t < end; ++t) {
            int64_t at = ((t * n + i) * size + s) * 2;
            float keep = mask ? mask[t * n + i] : 1;
            if (keep == 0) {
                a = 0;
                b = 0;
            }
            a *= keep;
            b *= keep;
            float next = c.re * a - c.im * b + c.gamma * v[at];
            b = c.re * b + c.im * a + c.gamma * v[at + 1];
            a = next;
            h[at] = a;
            h[at + 1] = b;
        }
    });
    if (n_chunks <= 1) return;
    each(device, n * size, [=] __device__(int64_t job) {
        int64_t s = job % size, i = job / size;
        lru_numbers c = lru_of(nu_log, theta_log, gamma_log, s);
        float power_a = c.re, power_b = c.im;
        for (int64_t k = 1; k < LRU_CHUNK; k *= 2) {
            float square = power_a * power_a - power_b * power_b;
            power_b = 2 * power_a * power_b;
            power_a = square;
        }
        for (int64_t chunk = 1; chunk < n_chunks - 1; ++chunk) {
            float keep = 1;
            for (int64_t t = chunk * length; t < (chunk + 1) * length && mask; ++t) keep *= mask[t * n + i];
            const float *before = h + (((chunk * length - 1) * n + i) * size + s) * 2;
            float *to = h + ((((chunk + 1) * length - 1) * n + i) * size + s) * 2;
            to[0] += keep * (power_a * before[0] - power_b * before[1]);
            to[1] += keep * (power_a * before[1] + power_b * before[0]);
        }
    });
    each(device, (n_chunks - 1) * n * size, [=] __device__(int64_t job) {
        int64_t s = job % size, i = job / size % n, chunk = 1 + job / (size * n), start = chunk * length;
        int64_t end = chunk == n_chunks - 1 ? n_steps : start + length - 1; // the last state is right already
        lru_numbers c = lru_of(nu_log, theta_log, gamma_log, s);
        const float *before = h + (((start - 1) * n + i) * size + s) * 2;
        float a = before[0], b = before[1];
        for (int64_t t = start; t < end; ++t) {
            float keep = mask ? mask[t * n + i] : 1, *to = h + ((t * n + i) * size + s) * 2;
            if (keep == 0) break;
            a *= keep;
            b *= keep;
            float next = c.re * a - c.im * b;
            b = c.re * b + c.im * a;
            a = next;
            to[0] += a;
            to[1] += b;
        }
    });
}

void lru_backward(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const float *nu_log,
                  const float *theta_log, const float *gamma_log, const float *v, const float *h0,
                  const float *mask, const float *h, const float *dh, float *dv, float *dh0, float *dnu_log,
                  float *dtheta_log, float *dgamma_log, bool add) {
    bool wants = dnu_log != nullptr;
    int64_t width = 3 * size, n_rows = wants ? n * width : 0, n_part = wants ? column_blocks(n) * width : 0;
    float *rows = static_cast<float *>(workspace(device, (size_t)(n_rows + n_part + width) * sizeof(float)));
    if (!rows) return;
    each(device, n * size, [=] __device__(int64_t job) {
        int64_t s = job % size, i = job / size;
        lru_numbers c = lru_of(nu_log, theta_log, gamma_log, s);
        float ga = 0, gb = 0, to_re = 0, to_im = 0, to_gamma = 0;
        for (int64_t t = n_steps - 1; t >= 0; --t) {
            int64_t at = ((t * n + i) * size + s) * 2;
            float keep = mask ? mask[t * n + i] : 1, a = ga + dh[at], b = gb + dh[at + 1];
            if (dv) {
                put(dv + at, c.gamma * a, add);
                put(dv + at + 1, c.gamma * b, add);
            }
            to_gamma += a * v[at] + b * v[at + 1];
            const float *before = t > 0 ? h + (((t - 1) * n + i) * size + s) * 2
                                  : h0  ? h0 + (i * size + s) * 2
                                        : nullptr;
            if (before) {
                float x = keep * before[0], y = keep * before[1];
                to_re += a * x + b * y;
                to_im += b * x - a * y;
            }
            ga = keep * (c.re * a + c.im * b);
            gb = keep * (c.re * b - c.im * a);
        }
        if (dh0) {
            put(dh0 + (i * size + s) * 2, ga, add);
            put(dh0 + (i * size + s) * 2 + 1, gb, add);
        }
        if (wants) {
            rows[i * width + s] = to_re;
            rows[i * width + size + s] = to_im;
            rows[i * width + 2 * size + s] = to_gamma;
        }
    });
    if (!wants || n <= 0) return;
    float *total = rows + n_rows + n_part;
    column_sum_with(device, n, width, rows, rows + n_rows, total, false);
    each(device, size, [=] __device__(int64_t s) {
        lru_numbers c = lru_of(nu_log, theta_log, gamma_log, s);
        double nu = exp((double)nu_log[s]), theta = exp((double)theta_log[s]);
        double dre = total[s], dim = total[size + s], lre = c.re, lim = c.im;
        dnu_log[s] += (float)(-nu * (dre * lre + dim * lim));
        dtheta_log[s] += (float)(theta * (dim * lre - dre * lim));
        dgamma_log[s] += (float)((double)c.gamma * (double)total[2 * size + s]);
    });
}

void gru(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const float *i, const float *wh,
         const float *bh, const float *h0, const float *mask, float *h, float *gates) {
    if (n * size <= 0) return;
    float *before = static_cast<float *>(workspace(device, (size_t)(n * size * 4) * sizeof(float)));
    if (!before) return;
    float *g = before + n * size;
    for (int64_t t = 0; t < n_steps; ++t) {
        const float *last = t > 0 ? h + (t - 1) * n * size : h0, *keep = mask ? mask + t * n : nullptr;
        const float *x = i + t * n * 3 * size;
        float *saved = gates + t * n * 4 * size, *to = h + t * n * size;
        each(device, n * size, [=] __device__(int64_t at) {
            float m = keep ? keep[at / size] : 1;
            before[at] = last && m != 0 ? m * last[at] : 0;
        });
        matmul(device, false, true, n, 3 * size, size, 1, before, size, wh, size, 0, g, 3 * size);
        each(device, n * size, [=] __device__(int64_t at) {
            int64_t r = at / size, j = at % size;
            const float *xr = x + r * 3 * size, *gr = g + r * 3 * size;
            float reset = lud_sigmoidf(xr[j] + gr[j] + (bh ? bh[j] : 0));
            float update = lud_sigmoidf(xr[size + j] + gr[size + j] + (bh ? bh[size + j] : 0));
            float gn = gr[2 * size + j] + (bh ? bh[2 * size + j] : 0);
            float candidate = lud_tanhf(xr[2 * size + j] + reset * gn);
            float *row = saved + r * 4 * size;
            row[j] = reset;
            row[size + j] = update;
            row[2 * size + j] = candidate;
            row[3 * size + j] = gn;
            to[at] = (1 - update) * candidate + update * before[at];
        });
    }
}

void gru_backward(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const float *wh,
                  const float *h0, const float *mask, const float *h, const float *gates, const float *dh,
                  float *di, float *dh0, float *dwh, float *dbh, bool add) {
    if (n * size <= 0) return;
    int64_t part = column_blocks(n) * 3 * size;
    float *carried = static_cast<float *>(workspace(device, (size_t)(n * size * 5 + part) * sizeof(float)));
    if (!carried) return;
    float *before = carried + n * size, *dg = before + n * size, *sums = dg + 3 * n * size;
    fill(device, n * size, 0, carried);
    for (int64_t t = n_steps - 1; t >= 0; --t) {
        const float *last = t > 0 ? h + (t - 1) * n * size : h0, *keep = mask ? mask + t * n : nullptr;
        const float *saved = gates + t * n * 4 * size, *outside = dh + t * n * size;
        float *to = di + t * n * 3 * size;
        each(device, n * size, [=] __device__(int64_t at) {
            int64_t r = at / size, j = at % size;
            const float *row = saved + r * 4 * size;
            float m = keep ? keep[r] : 1, p = last && m != 0 ? m * last[at] : 0,
                  d = outside[at] + carried[at];
            float reset = row[j], update = row[size + j], candidate = row[2 * size + j],
                  gn = row[3 * size + j];
            float dc = d * (1 - update) * (1 - candidate * candidate);
            float dz = d * (p - candidate) * update * (1 - update);
            float dr = dc * gn * reset * (1 - reset);
            float *to_i = to + r * 3 * size, *to_g = dg + r * 3 * size;
            put(to_i + j, dr, add);
            put(to_i + size + j, dz, add);
            put(to_i + 2 * size + j, dc, add);
            to_g[j] = dr;
            to_g[size + j] = dz;
            to_g[2 * size + j] = dc * reset;
            before[at] = p;
            carried[at] = d * update;
        });
        if (dwh) matmul(device, true, false, 3 * size, size, n, 1, dg, 3 * size, before, size, 1, dwh, size);
        if (dbh) column_sum_with(device, n, 3 * size, dg, sums, dbh, true);
        matmul(device, false, false, n, size, 3 * size, 1, dg, 3 * size, wh, size, 1, carried, size);
        if (keep) each(device, n * size, [=] __device__(int64_t at) { carried[at] *= keep[at / size]; });
    }
    if (dh0) each(device, n * size, [=] __device__(int64_t at) { put(dh0 + at, carried[at], add); });
}

} // namespace lud_cuda
