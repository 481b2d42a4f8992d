// Elementwise operations, sums, random numbers.
#include "kernels/cuda/map.cuh"

namespace lud_cuda {

void fill(lud_device *device, int64_t n, double value, float *y) {
    float v = (float)value;
    each(device, n, [=] __device__(int64_t i) { y[i] = v; });
}

void combine(lud_device *device, int64_t n, double alpha, const float *a, double beta, const float *b,
             float *y) {
    float p = (float)alpha, q = (float)beta;
    if (b)
        each(device, n, [=] __device__(int64_t i) { y[i] = p * a[i] + q * b[i]; });
    else
        each(device, n, [=] __device__(int64_t i) { y[i] = p * a[i]; });
}

void multiply(lud_device *device, int64_t n, const float *a, const float *b, float *y) {
    each(device, n, [=] __device__(int64_t i) { y[i] = a[i] * b[i]; });
}

void multiply_backward(lud_device *device, int64_t n, const float *a, const float *b, const float *dy,
                       float *da, float *db, bool add) {
    each(device, n, [=] __device__(int64_t i) {
        float to_a = dy[i] * b[i], to_b = dy[i] * a[i];
        if (da) put(da + i, to_a, add);
        if (db) put(db + i, to_b, add);
    });
}

void map(lud_device *device, lud_map f, int64_t n, const float *x, float *y) {
    each(device, n, [=] __device__(int64_t i) { y[i] = apply_map(f, x[i]); });
}

void map_backward(lud_device *device, lud_map f, int64_t n, const float *x, const float *y, const float *dy,
                  float *dx, bool add) {
    const float *from = lud_map_needs_input(f.kind) ? x : y;
    bool constant = f.kind == LUD_MAP_IDENTITY || f.kind == LUD_MAP_AFFINE; // then neither array need exist
    each(device, n,
         [=] __device__(int64_t i) { put(dx + i, dy[i] * slope_of(f, constant ? 0 : from[i]), add); });
}

void copy_block(lud_device *device, int64_t n, int64_t width, const float *x, int64_t stride_x, float *y,
                int64_t stride_y, bool add) {
    each(device, n * width, [=] __device__(int64_t at) {
        int64_t i = at / width, j = at % width;
        put(y + i * stride_y + j, x[i * stride_x + j], add);
    });
}

enum { TILE = 32, TILE_ROWS = 8 };

static __global__ void transpose_kernel(int64_t rows, int64_t columns, int64_t n_blocks, const float *x,
                                        float *y) {
    __shared__ float tile[TILE][TILE + 1];
    int64_t row_tiles = (rows + TILE - 1) / TILE, column_tiles = (columns + TILE - 1) / TILE;
    for (int64_t job = blockIdx.x; job < n_blocks * row_tiles * column_tiles; job += gridDim.x) {
        int64_t block = job / (row_tiles * column_tiles), at = job % (row_tiles * column_tiles);
        int64_t r0 = at / column_tiles * TILE, c0 = at % column_tiles * TILE;
        const float *from = x + block * rows * columns;
        float *to = y + block * rows * columns;
        for (int k = threadIdx.y; k < TILE; k += TILE_ROWS)
            if (r0 + k < rows && c0 + threadIdx.x < columns)
                tile[k][threadIdx.x] = from[(r0 + k) * columns + c0 + threadIdx.x];
        __syncthreads();
        for (int k = threadIdx.y; k < TILE; k += TILE_ROWS)
            if (c0 + k < columns && r0 + threadIdx.x < rows)
                to[(c0 + k) * rows + r0 + threadIdx.x] = tile[threadIdx.x][k];
        __syncthreads();
    }
}

void transpose(lud_device *device, int64_t n_blocks, int64_t rows, int64_t columns, const float *x,
               float *y) {
    int64_t jobs = n_blocks * ((rows + TILE - 1) / TILE) * ((columns + TILE - 1) / TILE);
    if (jobs <= 0 || device->failure.status) return;
    LUD_LAUNCH(transpose_kernel, (unsigned)(jobs < 65536 ? jobs : 65536), dim3(TILE, TILE_ROWS), 0,
               of(device)->stream, rows, columns, n_blocks, x, y);
    note(device, cudaGetLastError(), "transpose");
}

void dropout(lud_device *device, int64_t n, double rate, uint64_t seed, uint32_t stream, uint32_t step,
             const uint32_t *step_added, uint32_t first, const float *x, float *y) {
    lud_random_key key = {seed, stream};
    float scale = (float)(1 / (1 - rate));
    each(device, (n + 3) / 4, [=] __device__(int64_t i) {
        lud_words words =
            lud_draw(key, step + (step_added ? *step_added : 0), first + (uint32_t)i, LUD_PURPOSE_DROPOUT, 0);
        for (int k = 0; k < 4; ++k) {
            int64_t j = 4 * i + k;
            if (j < n) y[j] = lud_unit(words.v[k]) >= rate ? x[j] * scale : 0;
        }
    });
}

// ---- sums: blocks of 4096 elements by a warp each, blocks in order by one warp

enum { SUM_BLOCK = 4096 };

void dot(lud_device *device, int64_t n, const float *a, const float *b, float *result, bool add) {
    int64_t n_blocks = (n + SUM_BLOCK - 1) / SUM_BLOCK;
    double *part = static_cast<double *>(workspace(device, (size_t)n_blocks * sizeof(double)));
    if (!part) return;
    each_warp(device, n_blocks, [=] __device__(int64_t block, int lane) {
        double s = 0;
        int64_t end = (block + 1) * SUM_BLOCK < n ? (block + 1) * SUM_BLOCK : n;
        for (int64_t i = block * SUM_BLOCK + lane; i < end; i += WARP)
            s += (double)a[i] * (b ? (double)b[i] : 1.0);
        s = warp_sum(s);
        if (lane == 0) part[block] = s;
    });
    each_warp(device, 1, [=] __device__(int64_t, int lane) {
        double s = 0;
        for (int64_t i = lane; i < n_blocks; i += WARP) s += part[i];
        s = warp_sum(s);
        if (lane == 0) *result = (float)((add ? (double)*result : 0) + s);
    });
}

void sum(lud_device *device, int64_t n, const float *x, float *result, bool add) {
    dot(device, n, x, nullptr, result, add);
}
void sum_squares(lud_device *device, int64_t n, const float *x, float *result, bool add) {
    dot(device, n, x, x, result, add);
}

void column_sum_with(lud_device *device, int64_t n, int64_t width, const float *x, float *part, float *y,
                     bool add) {
    int64_t n_blocks = column_blocks(n);
    each(device, n_blocks * width, [=] __device__(int64_t at) {
        int64_t block = at / width, j = at % width;
        int64_t end = (block + 1) * ROW_BLOCK < n ? (block + 1) * ROW_BLOCK : n;
        float s = 0;
        for (int64_t i = block * ROW_BLOCK; i < end; ++i) s += x[i * width + j];
        part[at] = s;
    });
    each_warp(device, width, [=] __device__(int64_t j, int lane) {
        float s = 0;
        for (int64_t block = lane; block < n_blocks; block += WARP) s += part[block * width + j];
        s = warp_sum(s);
        if (lane == 0) put(y + j, s, add);
    });
}

void column_sum(lud_device *device, int64_t n, int64_t width, const float *x, float *y, bool add) {
    float *part = static_cast<float *>(workspace(device, (size_t)(column_blocks(n) * width) * sizeof(float)));
    if (part) column_sum_with(device, n, width, x, part, y, add);
}

void sum_groups(lud_device *device, int64_t n, int64_t k, int64_t width, double scale, const float *x,
                float *y, bool add) {
    float factor = (float)scale;
    each(device, n * width, [=] __device__(int64_t at) {
        const float *from = x + at / width * k * width + at % width;
        float s = 0;
        for (int64_t g = 0; g < k; ++g) s += from[g * width];
        put(y + at, factor * s, add);
    });
}

void broadcast_groups(lud_device *device, int64_t n, int64_t k, int64_t width, double scale, const float *y,
                      float *x, bool add) {
    float factor = (float)scale;
    each(device, n * k * width,
         [=] __device__(int64_t at) { put(x + at, factor * y[at / width / k * width + at % width], add); });
}

void row_norms(lud_device *device, int64_t n, int64_t width, const float *x, float *y) {
    each_warp(device, n, [=] __device__(int64_t i, int lane) {
        double s = 0;
        for (int64_t j = lane; j < width; j += WARP) s += (double)x[i * width + j] * (double)x[i * width + j];
        s = warp_sum(s);
        if (lane == 0) y[i] = (float)sqrt(s);
    });
}

void column_norms(lud_device *device, int64_t n, int64_t width, const float *x, float *y) {
    int64_t n_blocks = column_blocks(n);
    double *part = static_cast<double *>(workspace(device, (size_t)(n_blocks * width) * sizeof(double)));
    if (!part) return;
    each(device, n_blocks * width, [=] __device__(int64_t at) {
        int64_t block = at / width, j = at % width;
        int64_t end = (block + 1) * ROW_BLOCK < n ? (block + 1) * ROW_BLOCK : n;
        double s = 0;
        for (int64_t i = block * ROW_BLOCK; i < end; ++i)
            s += (double)x[i * width + j] * (double)x[i * width + j];
        part[at] = s;
    });
    each_warp(device, width, [=] __device__(int64_t j, int lane) {
        double s = 0;
        for (int64_t block = lane; block < n_blocks; block += WARP) s += part[block * width + j];
        s = warp_sum(s);
        if (lane == 0) y[j] = (float)sqrt(s);
    });
}

void scale_rows(lud_device *device, int64_t n, int64_t width, const float *x, const float *factor, float *y) {
    each(device, n * width, [=] __device__(int64_t at) { y[at] = factor[at / width] * x[at]; });
}
void scale_columns(lud_device *device, int64_t n, int64_t width, const float *x, const float *factor,
                   float *y) {
    each(device, n * width, [=] __device__(int64_t at) { y[at] = factor[at % width] * x[at]; });
}

// ---- random numbers

void random_uniform(lud_device *device, int64_t n, uint64_t seed, uint32_t stream, uint32_t step, double low,
                    double high, float *y) {
    lud_random_key key = {seed, stream};
    float largest = (float)high; // rounding must not reach it
    if (low < high && (double)largest >= high) largest = nextafterf(largest, (float)low);
    each(device, (n + 3) / 4, [=] __device__(int64_t i) {
        lud_words words = lud_draw(key, step, (uint32_t)i, LUD_PURPOSE_PARAMETERS, 0);
        for (int k = 0; k < 4; ++k)
            if (4 * i + k < n)
                y[4 * i + k] =
                    fminf(largest, (float)(low + (high - low) * (double)lud_unit_float(words.v[k])));
    });
}

void random_normal(lud_device *device, int64_t n, uint64_t seed, uint32_t stream, uint32_t step,
                   double deviation, float *y) {
    lud_random_key key = {seed, stream};
    each(device, (n + 3) / 4, [=] __device__(int64_t i) {
        lud_words words = lud_draw(key, step, (uint32_t)i, LUD_PURPOSE_PARAMETERS, 0);
        for (int k = 0; k < 4; ++k)
            if (4 * i + k < n) y[4 * i + k] = (float)(deviation * (double)lud_normal_quantile(words.v[k]));
    });
}

} // namespace lud_cuda
