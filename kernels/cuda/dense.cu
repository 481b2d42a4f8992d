// Matrix products, linear layers, convolutions, pooling, compact grids.
#include "kernels/cuda/map.cuh"

namespace lud_cuda {

// cuBLAS is column-major: c^T = op(b)^T op(a)^T.
void matmul(lud_device *device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
            double alpha, const float *a, int64_t lda, const float *b, int64_t ldb, double beta, float *c,
            int64_t ldc) {
    if (m <= 0 || n <= 0 || device->failure.status) return;
    if (k <= 0) { // an empty sum
        float keep = (float)beta;
        each(device, m * n, [=] __device__(int64_t at) {
            float *to = c + at / n * ldc + at % n;
            *to = keep == 0 ? 0 : keep * *to;
        });
        return;
    }
    float p = (float)alpha, q = (float)beta;
    cublasComputeType_t type = device->precision == LUD_PRECISION_BF16   ? CUBLAS_COMPUTE_32F_FAST_16BF
                               : device->precision == LUD_PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                         : CUBLAS_COMPUTE_32F;
    note(device,
         cublasGemmEx(of(device)->blas, transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                      transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)n, (int)m, (int)k, &p, b, CUDA_R_32F,
                      (int)ldb, a, CUDA_R_32F, (int)lda, &q, c, CUDA_R_32F, (int)ldc, type,
                      CUBLAS_GEMM_DEFAULT),
         "matrix product");
}

void linear(lud_device *device, lud_map f, int64_t n, int64_t n_in, int64_t n_out, const float *x,
            const float *w, const float *b, float *z, float *y) {
    float *raw = z ? z : y;
    matmul(device, false, true, n, n_out, n_in, 1, x, n_in, w, n_in, 0, raw, n_out);
    if (!b && f.kind == LUD_MAP_IDENTITY && raw == y) return;
    each(device, n * n_out, [=] __device__(int64_t at) {
        float value = raw[at] + (b ? b[at % n_out] : 0);
        raw[at] = value;
        y[at] = apply_map(f, value); // the last write where y is raw
    });
}

void linear_backward(lud_device *device, lud_map f, int64_t n, int64_t n_in, int64_t n_out, const float *x,
                     const float *w, const float *z, const float *y, const float *dy, float *dz, float *dx,
                     bool add, float *dw, float *db) {
    const float *g = dy;
    if (f.kind != LUD_MAP_IDENTITY) {
        map_backward(device, f, n * n_out, z, y, dy, dz, false);
        g = dz;
    }
    if (dx) matmul(device, false, false, n, n_in, n_out, 1, g, n_out, w, n_in, add ? 1 : 0, dx, n_in);
    if (dw) matmul(device, true, false, n_out, n_in, n, 1, g, n_out, x, n_in, 1, dw, n_in);
    if (db) column_sum(device, n, n_out, g, db, true);
}

// ---- layers of few rows

__device__ static inline uint16_t half_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return (uint16_t)(bits >> 16 | 64);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

void pack_weights(lud_device *device, bool half, int64_t n_out, int64_t n_in, const float *w, void *packed) {
    each(device, lud_pack_numbers(n_out, n_in), [=] __device__(int64_t at) {
        int64_t row = at / LUD_PACK / n_in * LUD_PACK + at % LUD_PACK, l = at / LUD_PACK % n_in;
        float value = row < n_out ? w[row * n_in + l] : 0;
        if (half)
            static_cast<uint16_t *>(packed)[at] = half_of(value);
        else
            static_cast<float *>(packed)[at] = value;
    });
}

constexpr int INPUT_PARTS = 16;

// A block takes 32 neighbouring outputs of one row, which read neighbouring weights; each of its warps sums
// one part of the inputs, the same whatever the number of rows, and the first one adds the parts.
__global__ void linear_packed_kernel(bool half, int64_t n_in, int64_t n_out, int64_t strips, const float *x,
                                     const void *packed, float *y, bool add) {
    __shared__ float part[INPUT_PARTS][WARP];
    const int lane = (int)threadIdx.x % WARP, own = (int)threadIdx.x / WARP;
    const int64_t i = blockIdx.x / strips, j = blockIdx.x % strips * WARP + lane;
    const int64_t first = j / LUD_PACK * n_in * LUD_PACK + j % LUD_PACK;
    const int64_t length = (n_in + INPUT_PARTS - 1) / INPUT_PARTS, begin = own * length;
    const int64_t end = j < n_out ? (begin + length < n_in ? begin + length : n_in) : begin;
    const float *row = x + i * n_in;
    float sum = 0;
    if (half)
        for (int64_t l = begin; l < end; ++l) {
            uint32_t bits = (uint32_t) static_cast<const uint16_t *>(packed)[first + l * LUD_PACK] << 16;
            float weight;
            memcpy(&weight, &bits, sizeof weight);
            sum += row[l] * weight;
        }
    else
        for (int64_t l = begin; l < end; ++l)
            sum += row[l] * static_cast<const float *>(packed)[first + l * LUD_PACK];
    part[own][lane] = sum;
    __syncthreads();
    if (own > 0 || j >= n_out) return;
    float total = 0;
    for (int p = 0; p < INPUT_PARTS; ++p) total += part[p][lane];
    put(y + i * n_out + j, total, add);
}

void linear_packed(lud_device *device, bool half, int64_t n, int64_t n_in, int64_t n_out, const float *x,
                   const void *packed, float *y, bool add) {
    const int64_t strips = (n_out + WARP - 1) / WARP;
    if (n * strips <= 0 || device->failure.status) return;
    LUD_LAUNCH(linear_packed_kernel, (unsigned)(n * strips), INPUT_PARTS * WARP, 0, of(device)->stream, half,
               n_in, n_out, strips, x, packed, y, add);
    note(device, cudaGetLastError(), "kernel launch");
}

// ---- convolution by patches: patches[image, place][channel_in, tap], a piece of the images at a time

struct patch_plan {
    int64_t place, patch, images; // output places of an image, numbers of a patch, images of a piece
};

static patch_plan plan(const lud_conv &s) {
    patch_plan p;
    p.place = lud_conv_height_out(&s) * lud_conv_width_out(&s);
    p.patch = s.channels_in * s.kernel * s.kernel;
    int64_t fit = (int64_t)(16 << 20) / (p.place * (p.patch + s.channels_out) + 1);
    p.images = fit < 1 ? 1 : fit < s.n ? fit : s.n;
    return p;
}

static void take_patches(lud_device *device, const lud_conv &s, const patch_plan &p, int64_t first,
                         int64_t images, const float *x, float *patches) {
    int64_t width_out = lud_conv_width_out(&s), k = s.kernel;
    each(device, images * p.place * p.patch, [=] __device__(int64_t at) {
        int64_t tap = at % p.patch, row = at / p.patch, place = row % p.place, image = first + row / p.place;
        int64_t c = tap / (k * k), r = place / width_out * s.stride - s.padding + tap / k % k;
        int64_t q = place % width_out * s.stride - s.padding + tap % k;
        bool inside = r >= 0 && r < s.height && q >= 0 && q < s.width;
        patches[at] = inside ? x[((image * s.channels_in + c) * s.height + r) * s.width + q] : 0;
    });
}

void conv2d(lud_device *device, lud_map f, const lud_conv *shape, const float *x, const float *w,
            const float *b, float *z, float *y) {
    lud_conv s = *shape;
    patch_plan p = plan(s);
    if (s.n * p.place * s.channels_out <= 0) return;
    float *patches = static_cast<float *>(
        workspace(device, (size_t)(p.images * p.place * (p.patch + s.channels_out)) * sizeof(float)));
    if (!patches) return;
    float *rows = patches + p.images * p.place * p.patch, *raw = z ? z : y;
    for (int64_t first = 0; first < s.n; first += p.images) {
        int64_t images = first + p.images < s.n ? p.images : s.n - first;
        take_patches(device, s, p, first, images, x, patches);
        matmul(device, false, true, images * p.place, s.channels_out, p.patch, 1, patches, p.patch, w,
               p.patch, 0, rows, s.channels_out);
        each(device, images * p.place * s.channels_out, [=] __device__(int64_t at) {
            int64_t place = at % p.place, o = at / p.place % s.channels_out,
                    i = at / p.place / s.channels_out;
            float value = rows[(i * p.place + place) * s.channels_out + o] + (b ? b[o] : 0);
            int64_t to = (first + i) * s.channels_out * p.place + at % (p.place * s.channels_out);
            raw[to] = value;
            y[to] = apply_map(f, value);
        });
    }
}

void conv2d_backward(lud_device *device, lud_map f, const lud_conv *shape, const float *x, const float *w,
                     const float *z, const float *y, const float *dy, float *dz, float *dx, bool add,
                     float *dw, float *db) {
    lud_conv s = *shape;
    patch_plan p = plan(s);
    int64_t n_out = s.n * p.place * s.channels_out, width_out = lud_conv_width_out(&s);
    int64_t height_out = lud_conv_height_out(&s), k = s.kernel;
    const float *g = dy;
    if (f.kind != LUD_MAP_IDENTITY) {
        map_backward(device, f, n_out, z, y, dy, dz, false);
        g = dz;
    }
    if (n_out <= 0) {
        if (dx && !add) fill(device, s.n * s.channels_in * s.height * s.width, 0, dx);
        return;
    }
    int64_t rows_max = p.images * p.place;
    int64_t part = column_blocks(rows_max) * s.channels_out;
    float *patches = static_cast<float *>(
        workspace(device, (size_t)(rows_max * (p.patch + s.channels_out) + part) * sizeof(float)));
    if (!patches) return;
    float *rows = patches + rows_max * p.patch, *sums = rows + rows_max * s.channels_out;
    for (int64_t first = 0; first < s.n; first += p.images) {
        int64_t images = first + p.images < s.n ? p.images : s.n - first;
        each(device, images * p.place * s.channels_out, [=] __device__(int64_t at) {
            int64_t o = at % s.channels_out, row = at / s.channels_out, place = row % p.place,
                    i = row / p.place;
            rows[at] = g[((first + i) * s.channels_out + o) * p.place + place];
        });
        if (db) column_sum_with(device, images * p.place, s.channels_out, rows, sums, db, true);
        if (dw) {
            take_patches(device, s, p, first, images, x, patches);
            matmul(device, true, false, s.channels_out, p.patch, images * p.place, 1, rows, s.channels_out,
                   patches, p.patch, 1, dw, p.patch);
        }
        if (!dx) continue;
        matmul(device, false, false, images * p.place, p.patch, s.channels_out, 1, rows, s.channels_out, w,
               p.patch, 0, patches, p.patch);
        each(device, images * s.channels_in * s.height * s.width, [=] __device__(int64_t at) {
            int64_t q = at % s.width, r = at / s.width % s.height,
                    c = at / (s.width * s.height) % s.channels_in;
            int64_t i = at / (s.width * s.height * s.channels_in);
            float total = 0;
            for (int64_t u = 0; u < k; ++u)
                for (int64_t v = 0; v < k; ++v) {
                    int64_t row = r + s.padding - u, column = q + s.padding - v;
                    if (row < 0 || column < 0 || row % s.stride || column % s.stride) continue;
                    row /= s.stride;
                    column /= s.stride;
                    if (row >= height_out || column >= width_out) continue;
                    total +=
                        patches[(i * p.place + row * width_out + column) * p.patch + (c * k + u) * k + v];
                }
            put(dx + first * s.channels_in * s.height * s.width + at, total, add);
        });
    }
}

void max_pool(lud_device *device, int64_t n, int64_t height, int64_t width, int64_t size, const float *x,
              float *y, int32_t *place) {
    int64_t rows = height / size, columns = width / size;
    each(device, n * rows * columns, [=] __device__(int64_t at) {
        int64_t q = at % columns, r = at / columns % rows;
        const float *plane = x + at / (rows * columns) * height * width;
        int64_t best = r * size * width + q * size;
        for (int64_t u = 0; u < size; ++u)
            for (int64_t v = 0; v < size; ++v) {
                int64_t from = (r * size + u) * width + q * size + v;
                if (plane[from] > plane[best]) best = from;
            }
        y[at] = plane[best];
        if (place) place[at] = (int32_t)best;
    });
}

// Squares do not overlap: every input cell asks whether it was the largest of its own.
void max_pool_backward(lud_device *device, int64_t n, int64_t height, int64_t width, int64_t size,
                       const int32_t *place, const float *dy, float *dx, bool add) {
    int64_t rows = height / size, columns = width / size;
    each(device, n * height * width, [=] __device__(int64_t at) {
        int64_t cell = at % (height * width), r = cell / width / size, q = cell % width / size;
        float g = 0;
        if (r < rows && q < columns) {
            int64_t from = at / (height * width) * rows * columns + r * columns + q;
            if (place[from] == cell) g = dy[from];
        }
        put(dx + at, g, add);
    });
}

// ---- compact grids

void grid_decode(lud_device *device, lud_grid_form form, int64_t n, int64_t cells, const int32_t *code,
                 float *y) {
    each(device, n * cells, [=] __device__(int64_t at) {
        lud_grid_active active[LUD_GRID_MAX_ACTIVE];
        int n_active = lud_grid_code_active(code[at], form, active);
        float *to = y + at / cells * LUD_GRID_CHANNELS * cells + at % cells;
        for (int c = 0; c < LUD_GRID_CHANNELS; ++c) to[c * cells] = 0;
        for (int a = 0; a < n_active; ++a) to[active[a].channel * cells] = active[a].value;
    });
}

// What the cells of an image set, in shared memory.
struct grid_image {
    const int *count;
    const lud_grid_active *active;
};

// The sum for one (channel_out, row, column), in the order of the CPU.
static __device__ float grid_sum(const lud_conv &s, const grid_image &image, const float *w, const float *b,
                                 int o, int r, int q) {
    int taps = (int)(s.kernel * s.kernel), height = (int)s.height, width = (int)s.width, k = (int)s.kernel;
    int pad = (int)s.padding;
    float total = b ? b[o] : 0;
    for (int u = 0; u < k; ++u)
        for (int v = 0; v < k; ++v) {
            int row = r - pad + u, column = q - pad + v;
            if (row < 0 || row >= height || column < 0 || column >= width) continue;
            int from = row * width + column;
            for (int a = 0; a < image.count[from]; ++a) {
                lud_grid_active set = image.active[from * LUD_GRID_MAX_ACTIVE + a];
                total += set.value * w[(o * LUD_GRID_CHANNELS + set.channel) * taps + u * k + v];
            }
        }
    return total;
}

// One block an image: the set channels of its cells are decoded once into shared memory, then every
// (channel_out, cell) sums weights over the kernel's cells; with `pools` every (channel_out, square of
// cells).
static __global__ void grid_conv_kernel(lud_map f, bool pools, lud_grid_form form, lud_conv s, int cells,
                                        const int32_t *code, const float *w, const float *b, float *raw,
                                        float *y) {
    LUD_DYNAMIC_SHARED(int, shared);
    int *count = shared;
    lud_grid_active *active = reinterpret_cast<lud_grid_active *>(shared + cells);
    const grid_image image = {count, active};
    int width = pools ? (int)s.width / 2 : (int)s.width, height = pools ? (int)s.height / 2 : (int)s.height;
    int places = width * height, out = (int)s.channels_out;
    for (int64_t i = blockIdx.x; i < s.n; i += gridDim.x) {
        for (int j = threadIdx.x; j < cells; j += blockDim.x)
            count[j] = lud_grid_code_active(code[i * cells + j], form, active + j * LUD_GRID_MAX_ACTIVE);
        __syncthreads();
        for (int at = threadIdx.x; at < out * places; at += blockDim.x) {
            int o = at / places, r = at % places / width, q = at % places % width;
            float best = 0;
            for (int k = 0; k < (pools ? 4 : 1); ++k) {
                float total = pools ? grid_sum(s, image, w, b, o, 2 * r + k / 2, 2 * q + k % 2)
                                    : grid_sum(s, image, w, b, o, r, q);
                float mapped = apply_map(f, total);
                best = k == 0 || mapped > best ? mapped : best;
                if (!pools) raw[i * out * places + at] = total;
            }
            y[i * out * places + at] = best;
        }
        __syncthreads();
    }
}

// A grid too large for shared memory: the plain way, image by image. With `pools` the planes stand in the
// workspace.
static void grid_conv_plainly(lud_device *device, lud_map f, bool pools, lud_grid_form form,
                              const lud_conv *shape, const int32_t *code, const float *w, const float *b,
                              float *raw, float *y) {
    const lud_conv s = *shape;
    const int64_t cells = s.height * s.width, out = s.channels_out, k = s.kernel;
    float *decoded = static_cast<float *>(
        workspace(device, (size_t)((LUD_GRID_CHANNELS + (pools ? out : 0)) * cells) * sizeof(float)));
    if (!decoded) return;
    for (int64_t i = 0; i < s.n; ++i) {
        float *to_raw = pools ? decoded + LUD_GRID_CHANNELS * cells : raw + i * out * cells;
        float *to = pools ? to_raw : y + i * out * cells;
        grid_decode(device, form, 1, cells, code + i * cells, decoded);
        each(device, out * cells, [=] __device__(int64_t at) {
            int64_t o = at / cells, r = at % cells / s.width, q = at % cells % s.width;
            float total = b ? b[o] : 0;
            for (int64_t u = 0; u < k; ++u)
                for (int64_t v = 0; v < k; ++v) {
                    int64_t row = r - s.padding + u, column = q - s.padding + v;
                    if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
                    for (int64_t c = 0; c < LUD_GRID_CHANNELS; ++c)
                        total += decoded[c * cells + row * s.width + column] *
                                 w[((o * LUD_GRID_CHANNELS + c) * k + u) * k + v];
                }
            to_raw[at] = total;
            to[at] = apply_map(f, total);
        });
        if (pools)
            max_pool(device, out, s.height, s.width, 2, to, y + i * out * (s.height / 2) * (s.width / 2),
                     nullptr);
    }
}

static void grid_conv_by_size(lud_device *device, lud_map f, bool pools, lud_grid_form form,
                              const lud_conv *shape, const int32_t *code, const float *w, const float *b,
                              float *raw, float *y) {
    if (shape->n * shape->height * shape->width * shape->channels_out <= 0 || device->failure.status) return;
    size_t bytes = (size_t)(shape->height * shape->width) *
                   (sizeof(int) + LUD_GRID_MAX_ACTIVE * sizeof(lud_grid_active));
    if (bytes > 48 * 1024) {
        grid_conv_plainly(device, f, pools, form, shape, code, w, b, raw, y);
        return;
    }
    unsigned blocks = (unsigned)(shape->n < 65536 ? shape->n : 65536);
    LUD_LAUNCH(grid_conv_kernel, blocks, THREADS, bytes, of(device)->stream, f, pools, form, *shape,
               (int)(shape->height * shape->width), code, w, b, raw, y);
    note(device, cudaGetLastError(), "grid convolution");
}

void grid_conv(lud_device *device, lud_map f, lud_grid_form form, const lud_conv *shape, const int32_t *code,
               const float *w, const float *b, float *z, float *y) {
    grid_conv_by_size(device, f, false, form, shape, code, w, b, z ? z : y, y);
}

void grid_conv_pool(lud_device *device, lud_map f, lud_grid_form form, const lud_conv *shape,
                    const int32_t *code, const float *w, const float *b, float *y) {
    grid_conv_by_size(device, f, true, form, shape, code, w, b, nullptr, y);
}

// Images in parts; a thread owns one (tap, channel_out) of one part and walks images and cells in order,
// adding to its own columns; parts are added in order. No two threads write the same number.
void grid_conv_backward(lud_device *device, lud_map f, lud_grid_form form, const lud_conv *shape,
                        const int32_t *code, const float *z, const float *y, const float *dy, float *dz,
                        float *dw, float *db) {
    lud_conv s = *shape;
    int64_t cells = s.height * s.width, out = s.channels_out, taps = s.kernel * s.kernel;
    const float *g = dy;
    if (f.kind != LUD_MAP_IDENTITY) {
        map_backward(device, f, s.n * out * cells, z, y, dy, dz, false);
        g = dz;
    }
    if (s.n <= 0 || cells <= 0) return;
    const int64_t PARTS = 128;
    int64_t n_parts = s.n < PARTS ? s.n : PARTS, n_columns = LUD_GRID_CHANNELS * taps * out;
    size_t numbers = (size_t)(n_parts * n_columns + s.n * out);
    float *sums = static_cast<float *>(workspace(device, numbers * sizeof(float)));
    if (!sums) return;
    if (db) {
        float *plane_sums = sums + n_parts * n_columns;
        each_warp(device, s.n * out, [=] __device__(int64_t i, int lane) {
            float total = 0;
            for (int64_t j = lane; j < cells; j += WARP) total += g[i * cells + j];
            total = warp_sum(total);
            if (lane == 0) plane_sums[i] = total;
        });
        each_warp(device, out, [=] __device__(int64_t o, int lane) {
            double total = 0;
            for (int64_t i = lane; i < s.n; i += WARP) total += (double)plane_sums[i * out + o];
            total = warp_sum(total);
            if (lane == 0) db[o] += (float)total;
        });
    }
    if (!dw) return;
    fill(device, n_parts * n_columns, 0, sums);
    each(device, n_parts * taps * out, [=] __device__(int64_t at) {
        int64_t o = at % out, tap = at / out % taps, part = at / (out * taps), u = tap / s.kernel,
                v = tap % s.kernel;
        float *columns = sums + part * n_columns;
        for (int64_t i = s.n * part / n_parts; i < s.n * (part + 1) / n_parts; ++i)
            for (int64_t cell = 0; cell < cells; ++cell) {
                int64_t row = cell / s.width + s.padding - u, column = cell % s.width + s.padding - v;
                if (row < 0 || row >= s.height || column < 0 || column >= s.width) continue;
                lud_grid_active active[LUD_GRID_MAX_ACTIVE];
                int n_active = lud_grid_code_active(code[i * cells + cell], form, active);
                if (n_active == 0) continue;
                float d = g[(i * out + o) * cells + row * s.width + column];
                for (int a = 0; a < n_active; ++a)
                    columns[(active[a].channel * taps + tap) * out + o] += active[a].value * d;
            }
    });
    each(device, n_columns, [=] __device__(int64_t at) {
        int64_t tap = at % taps, c = at / taps % LUD_GRID_CHANNELS, o = at / (taps * LUD_GRID_CHANNELS);
        float total = 0;
        for (int64_t part = 0; part < n_parts; ++part)
            total += sums[part * n_columns + (c * taps + tap) * out + o];
        dw[at] += total;
    });
}

} // namespace lud_cuda
