// Attention over graph edges and over packed sequences, rotary positions.
#include "kernels/cuda/cuda.cuh"

namespace lud_cuda {

// Of what a warp does for one (node, head): the edges that end in the node, and where a head's numbers begin.
// Jobs are counted in 32 bits, whose division is several times as fast: a device has no memory for more.
struct head_job {
    int64_t i, h, at; // node, head, the head's channels in a row of nodes
    int32_t first, end;
    __device__ head_job(const lud_edges &edges, int64_t job, int64_t heads, int64_t channels)
        : i((uint32_t)job / (uint32_t)heads), h((uint32_t)job % (uint32_t)heads),
          at(i * heads * channels + h * channels), first(edges.offsets[i]), end(edges.offsets[i + 1]) {}
};

// A key or value with what the edge adds to it.
__device__ static inline float with_edge(float value, int64_t edge_dim, const float *w, const float *d) {
    for (int64_t f = 0; f < edge_dim; ++f) value += w[f] * d[f];
    return value;
}

// A warp a (node, head). Edges come 32 at a time: a lane scores one edge, then all lanes add the values, each
// to its own channels. Every sum is over edges, or channels, in ascending order.
void graph_attention(lud_device *device, const lud_edges *all, int64_t heads, int64_t channels,
                     int64_t edge_dim, const float *q, const float *k, const float *v, const float *d,
                     const float *we, float *a, float *m) {
    lud_edges edges = *all;
    int64_t width = heads * channels;
    float scale = 1 / sqrtf((float)channels);
    each_warp(device, edges.n_nodes * heads, [=] __device__(int64_t job, int lane) {
        const head_job own(edges, job, heads, channels);
        const float *qi = q + own.at, *w = we + own.h * channels * edge_dim;
        float largest = -FLT_MAX, denominator = 0;
        for (int32_t e = own.first + lane; e < own.end; e += WARP) {
            const float *kj = k + edges.source[e] * width + own.h * channels;
            float s = 0;
            for (int64_t c = 0; c < channels; ++c)
                s += qi[c] * with_edge(kj[c], edge_dim, w + c * edge_dim, d + e * edge_dim);
            a[e * heads + own.h] = s * scale;
            largest = fmaxf(largest, s * scale);
        }
        largest = warp_max(largest);
        for (int32_t strip = own.first; strip < own.end; strip += WARP) {
            const int32_t e = strip + lane;
            const float p = e < own.end ? lud_expf(a[e * heads + own.h] - largest) : 0;
            if (e < own.end) a[e * heads + own.h] = p;
            for (int j = 0; j < WARP && strip + j < own.end; ++j)
                denominator += __shfl_sync(0xffffffffu, p, j);
        }
        const float inverse = 1 / (denominator + 1e-16f);
        for (int32_t e = own.first + lane; e < own.end; e += WARP) a[e * heads + own.h] *= inverse;
        __syncwarp();
        for (int64_t c = lane; c < channels; c += WARP) {
            float sum = 0;
            for (int32_t e = own.first; e < own.end; ++e) {
                const float value = v[edges.source[e] * width + own.h * channels + c];
                sum += a[e * heads + own.h] * with_edge(value, edge_dim, w + c * edge_dim, d + e * edge_dim);
            }
            m[own.at + c] = sum;
        }
    });
}

void graph_attention_backward(lud_device *device, const lud_edges *all, int64_t heads, int64_t channels,
                              int64_t edge_dim, const float *q, const float *k, const float *v,
                              const float *d, const float *we, const float *a, const float *dm, float *dq,
                              float *dk, float *dv, float *dwe, bool add) {
    lud_edges edges = *all;
    int64_t width = heads * channels, n_we = width * edge_dim;
    float scale = 1 / sqrtf((float)channels);
    bool wants_we = dwe && edge_dim > 0;
    int64_t n_rows = wants_we ? edges.n_nodes * n_we : 0,
            n_part = wants_we ? column_blocks(edges.n_nodes) * n_we : 0;
    float *ds = static_cast<float *>(
        workspace(device, (size_t)(edges.n_edges * heads + n_rows + n_part + 1) * sizeof(float)));
    if (!ds) return;
    float *rows = ds + edges.n_edges * heads;
    each_warp(device, edges.n_nodes * heads, [=] __device__(int64_t job, int lane) {
        const head_job own(edges, job, heads, channels);
        const float *g = dm + own.at, *w = we + own.h * channels * edge_dim;
        float inner = 0;
        for (int32_t strip = own.first; strip < own.end; strip += WARP) {
            const int32_t e = strip + lane;
            float s = 0, share = 0;
            if (e < own.end) {
                const float *vj = v + edges.source[e] * width + own.h * channels;
                for (int64_t c = 0; c < channels; ++c)
                    s += g[c] * with_edge(vj[c], edge_dim, w + c * edge_dim, d + e * edge_dim);
                ds[e * heads + own.h] = s;
                share = a[e * heads + own.h] * s;
            }
            for (int j = 0; j < WARP && strip + j < own.end; ++j) inner += __shfl_sync(0xffffffffu, share, j);
        }
        for (int32_t e = own.first + lane; e < own.end; e += WARP)
            ds[e * heads + own.h] = a[e * heads + own.h] * (ds[e * heads + own.h] - inner) * scale;
        __syncwarp();
        float *own_we = rows + own.i * n_we + own.h * channels * edge_dim;
        for (int64_t c = lane; c < channels; c += WARP) {
            const float qi = q[own.at + c], gi = g[c];
            float sum = add ? dq[own.at + c] : 0;
            for (int64_t f = 0; f < edge_dim && wants_we; ++f) own_we[c * edge_dim + f] = 0;
            for (int32_t e = own.first; e < own.end; ++e) {
                const float key = k[edges.source[e] * width + own.h * channels + c];
                const float s = ds[e * heads + own.h], p = a[e * heads + own.h], *de = d + e * edge_dim;
                for (int64_t f = 0; f < edge_dim && wants_we; ++f)
                    own_we[c * edge_dim + f] += (s * qi + p * gi) * de[f];
                sum += s * with_edge(key, edge_dim, w + c * edge_dim, de);
            }
            dq[own.at + c] = sum;
        }
    });
    each(device, edges.n_nodes * width, [=] __device__(int64_t at) {
        int64_t j = at / width, c = at % width, h = c / channels;
        float to_k = 0, to_v = 0;
        for (int32_t slot = edges.source_offsets[j]; slot < edges.source_offsets[j + 1]; ++slot) {
            int32_t e = edges.source_edges[slot], i = edges.target[e];
            to_k += ds[e * heads + h] * q[i * width + c];
            to_v += a[e * heads + h] * dm[i * width + c];
        }
        put(dk + at, to_k, add);
        put(dv + at, to_v, add);
    });
    if (wants_we) column_sum_with(device, edges.n_nodes, n_we, rows, rows + n_rows, dwe, true);
}

// ---- packed sequences

__device__ static inline int64_t key_token(const lud_attention &s, int64_t r, int64_t key) {
    int64_t prefix = s.prefix_lengths ? s.prefix_lengths[r] : 0;
    return key < prefix ? s.prefix_offsets[r] + key : s.key_offsets[r] + key - prefix;
}
__device__ static inline int64_t key_count(const lud_attention &s, int64_t r) {
    return s.key_lengths[r] + (s.prefix_lengths ? s.prefix_lengths[r] : 0);
}
__device__ static inline int64_t keys_seen(const lud_attention &s, int64_t r, int64_t j) {
    int64_t n_keys = key_count(s, r), n_queries = s.query_offsets[r + 1] - s.query_offsets[r];
    int64_t seen = s.causal ? n_keys - n_queries + j + 1 : n_keys;
    return seen < 0 ? 0 : seen;
}
// The row that a token belongs to: the last one whose first token is not behind it, empty rows passed over.
__device__ static inline int64_t row_of(const lud_attention &s, int64_t token) {
    int64_t low = 0, high = s.n_rows - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (s.query_offsets[middle] <= token)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

__device__ static inline float dot_row(const float *a, const float *b, int64_t n) {
    float s = 0;
    for (int64_t c = 0; c < n; ++c) s += a[c] * b[c];
    return s;
}

// A warp a (token, head). Keys come 32 at a time: a lane scores one key, then all lanes add the 32 values,
// each to its own channels. The running maximum rescales what was added before (Milakov and Gimelshein,
// 2018).
void attention(lud_device *device, const lud_attention *shape, const float *q, const float *k, const float *v,
               float *y, float *log_sum) {
    lud_attention s = *shape;
    float scale = (float)s.scale;
    int64_t dim = s.head_dim, width = s.heads * dim, kv_width = s.kv_heads * dim;
    each_warp(device, s.n_tokens * s.heads, [=] __device__(int64_t job, int lane) {
        int64_t token = job / s.heads, h = job % s.heads, group = h * s.kv_heads / s.heads,
                r = row_of(s, token);
        int64_t seen = keys_seen(s, r, token - s.query_offsets[r]);
        const float *qt = q + token * width + h * dim;
        float *to = y + token * width + h * dim, largest = -FLT_MAX, total = 0;
        for (int64_t c = lane; c < dim; c += WARP) to[c] = 0;
        for (int64_t first = 0; first < seen; first += WARP) {
            int64_t key = first + lane;
            float score = -FLT_MAX;
            if (key < seen)
                score = dot_row(qt, k + key_token(s, r, key) * kv_width + group * dim, dim) * scale;
            float now = fmaxf(largest, warp_max(score)), rescale = lud_expf(largest - now);
            float p = key < seen ? lud_expf(score - now) : 0;
            total = total * rescale + warp_sum(p);
            largest = now;
            int64_t in_strip = seen - first < WARP ? seen - first : WARP;
            for (int64_t c0 = 0; c0 < dim; c0 += WARP) { // uniform, so that every lane joins the shuffles
                int64_t c = c0 + lane;
                float sum = c < dim ? to[c] * rescale : 0;
                for (int j = 0; j < in_strip; ++j) {
                    float weight = __shfl_sync(0xffffffffu, p, j);
                    if (c < dim) sum += weight * v[key_token(s, r, first + j) * kv_width + group * dim + c];
                }
                if (c < dim) to[c] = sum;
            }
        }
        float inverse = seen > 0 ? 1 / total : 0;
        for (int64_t c = lane; c < dim; c += WARP) to[c] *= inverse;
        if (log_sum && lane == 0) log_sum[token * s.heads + h] = seen > 0 ? largest + lud_logf(total) : 0;
    });
}

void attention_backward(lud_device *device, const lud_attention *shape, const float *q, const float *k,
                        const float *v, const float *y, const float *log_sum, const float *dy, float *dq,
                        float *dk, float *dv, bool add) {
    lud_attention s = *shape;
    float scale = (float)s.scale;
    int64_t dim = s.head_dim, width = s.heads * dim, kv_width = s.kv_heads * dim,
            per_group = s.heads / s.kv_heads;
    float *inner =
        static_cast<float *>(workspace(device, (size_t)(s.n_tokens * s.heads + 1) * sizeof(float)));
    if (!inner) return;
    each_warp(device, s.n_tokens * s.heads, [=] __device__(int64_t job, int lane) {
        int64_t token = job / s.heads, h = job % s.heads, group = h * s.kv_heads / s.heads,
                r = row_of(s, token);
        int64_t seen = keys_seen(s, r, token - s.query_offsets[r]), at = token * width + h * dim;
        float own = 0;
        for (int64_t c = lane; c < dim; c += WARP) own += dy[at + c] * y[at + c];
        own = warp_sum(own);
        if (lane == 0) inner[job] = own;
        for (int64_t c = lane; c < dim && !add; c += WARP) dq[at + c] = 0;
        for (int64_t first = 0; first < seen; first += WARP) {
            int64_t key = first + lane;
            float ds = 0;
            if (key < seen) {
                int64_t from = key_token(s, r, key) * kv_width + group * dim;
                float p = lud_expf(dot_row(q + at, k + from, dim) * scale - log_sum[job]);
                ds = p * (dot_row(dy + at, v + from, dim) - own) * scale;
            }
            int64_t in_strip = seen - first < WARP ? seen - first : WARP;
            for (int64_t c0 = 0; c0 < dim; c0 += WARP) {
                int64_t c = c0 + lane;
                float sum = 0;
                for (int j = 0; j < in_strip; ++j) {
                    float weight = __shfl_sync(0xffffffffu, ds, j);
                    if (c < dim) sum += weight * k[key_token(s, r, first + j) * kv_width + group * dim + c];
                }
                if (c < dim) dq[at + c] += sum;
            }
        }
    });
    // dk and dv: a warp a (row, key, key head) goes through the queries that see the key. Rows that share a
    // prefix are done one after the other, so that no two warps add to one token at once.
    int64_t rows_at_once = s.prefix_lengths ? 1 : s.n_rows;
    for (int64_t first_row = 0; first_row < s.n_rows; first_row += rows_at_once)
        each_warp(device, rows_at_once * s.max_keys * s.kv_heads, [=] __device__(int64_t job, int lane) {
            int64_t group = job % s.kv_heads, key = job / s.kv_heads % s.max_keys;
            int64_t r = first_row + job / s.kv_heads / s.max_keys;
            if (key >= key_count(s, r)) return;
            int64_t to = key_token(s, r, key) * kv_width + group * dim;
            int64_t first = s.query_offsets[r], n_queries = s.query_offsets[r + 1] - first;
            for (int64_t h = group * per_group; h < (group + 1) * per_group; ++h)
                for (int64_t j0 = 0; j0 < n_queries; j0 += WARP) {
                    int64_t j = j0 + lane, at = (first + j) * width + h * dim;
                    float p = 0, ds = 0;
                    if (j < n_queries && key < keys_seen(s, r, j)) {
                        int64_t row = (first + j) * s.heads + h;
                        p = lud_expf(dot_row(q + at, k + to, dim) * scale - log_sum[row]);
                        ds = p * (dot_row(dy + at, v + to, dim) - inner[row]) * scale;
                    }
                    int64_t in_strip = n_queries - j0 < WARP ? n_queries - j0 : WARP;
                    for (int64_t c0 = 0; c0 < dim; c0 += WARP) {
                        int64_t c = c0 + lane;
                        float to_k = 0, to_v = 0;
                        for (int64_t i = 0; i < in_strip; ++i) {
                            float weight_k = __shfl_sync(0xffffffffu, ds, (int)i);
                            float weight_v = __shfl_sync(0xffffffffu, p, (int)i);
                            int64_t from = (first + j0 + i) * width + h * dim + c;
                            if (c < dim) {
                                to_k += weight_k * q[from];
                                to_v += weight_v * dy[from];
                            }
                        }
                        if (c < dim) {
                            dk[to + c] += to_k;
                            dv[to + c] += to_v;
                        }
                    }
                }
        });
}

void rotary(lud_device *device, int64_t n, int64_t heads, int64_t head_dim, double base,
            const int32_t *position, bool inverse, const float *x, float *y) {
    int64_t pairs = (head_dim + 1) / 2;
    each(device, n * heads * pairs, [=] __device__(int64_t job) {
        int64_t c = job % pairs, row = job / pairs, at = row * head_dim + 2 * c;
        if (2 * c + 1 >= head_dim) { // the odd one out stays
            y[at] = x[at];
            return;
        }
        double angle = (double)position[row / heads] * pow(base, -2.0 * (double)c / (double)head_dim);
        float cosine = (float)cos(angle), sine = (float)(inverse ? -sin(angle) : sin(angle)), a = x[at],
              b = x[at + 1];
        y[at] = a * cosine - b * sine;
        y[at + 1] = a * sine + b * cosine;
    });
}

} // namespace lud_cuda
