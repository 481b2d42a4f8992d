// What the CUDA operations share: the device, launching, sums over warps and rows.
//
// Sums run in fixed orders (butterflies over the 32 lanes of a warp, blocks of rows in ascending order): no
// result depends on scheduling, and there are no floating-point atomics. The backend is compiled without
// contraction, so that elementwise results and draws equal the CPU's.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cfloat>
#include <cstdint>
#include <type_traits>

#include "kernels/device.h"
#include "kernels/real_math.h"

// How kernels are launched and name their dynamic shared memory. Without nvcc these sources are compiled for
// the host, where tests/emulation, which then stands behind cuda_runtime.h, gives both another meaning.
#if defined(__CUDACC__)
#define LUD_LAUNCH(kernel, grid, block, bytes, stream, ...)                                                  \
    kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
#define LUD_DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

// Every operation of the table, declared from the table's own types.
namespace lud_cuda {
#define LUD_DECLARE(name) std::remove_pointer_t<decltype(lud_ops::name)> name;
LUD_OPERATIONS(LUD_DECLARE)
#undef LUD_DECLARE

struct cuda_device {
    lud_device device;
    cudaStream_t stream;
    cublasHandle_t blas;
    bool recording;
    const struct nccl_library *nccl; // with the devices of other processes (messages.cu); null: alone
    struct nccl_opaque *communicator;
    int rank, size;
    bool exchanging; // an exchange has begun, and nobody has seen its end
};

static inline cuda_device *of(lud_device *device) {
    return reinterpret_cast<cuda_device *>(device);
}

// Keeps the first error in device->failure. Returns whether all is well.
bool note(lud_device *device, cudaError_t error, const char *what);
bool note(lud_device *device, cublasStatus_t status, const char *what);
// Scratch of at least `bytes`; null (and noted) when it would have to grow while a graph is recorded, or
// memory is out.
void *workspace(lud_device *device, size_t bytes);

// What other processes send and are sent.
extern const lud_device_messages messages;
// The device leaves the others.
void part(lud_device *device);

constexpr int WARP = 32, THREADS = 256, ROW_BLOCK = 64;

template <class F> __global__ void each_kernel(int64_t n, F f) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) f(i);
}

// f(i) for i < n, one thread each.
template <class F> void each(lud_device *device, int64_t n, F f) {
    if (n <= 0 || device->failure.status) return;
    int64_t blocks = (n + THREADS - 1) / THREADS;
    LUD_LAUNCH(each_kernel, (unsigned)(blocks < 65536 ? blocks : 65536), THREADS, 0, of(device)->stream, n,
               f);
    note(device, cudaGetLastError(), "kernel launch");
}

template <class F> __global__ void each_warp_kernel(int64_t n, F f) {
    int lane = threadIdx.x % WARP;
    int64_t stride = (int64_t)gridDim.x * (blockDim.x / WARP);
    for (int64_t i = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; i < n; i += stride)
        f(i, lane);
}

// f(i, lane) for i < n, one warp each; all 32 lanes take part.
template <class F> void each_warp(lud_device *device, int64_t n, F f) {
    if (n <= 0 || device->failure.status) return;
    int64_t blocks = (n + THREADS / WARP - 1) / (THREADS / WARP);
    LUD_LAUNCH(each_warp_kernel, (unsigned)(blocks < 65536 ? blocks : 65536), THREADS, 0, of(device)->stream,
               n, f);
    note(device, cudaGetLastError(), "kernel launch");
}

template <class T> __device__ static inline T warp_sum(T x) {
    for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}
__device__ static inline float warp_max(float x) {
    for (int step = WARP / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

// y[width] (+)= column sums of x[n][width] in blocks of ROW_BLOCK rows; part[(n / ROW_BLOCK + 1) * width] is
// scratch.
static inline int64_t column_blocks(int64_t n) {
    return (n + ROW_BLOCK - 1) / ROW_BLOCK;
}
void column_sum_with(lud_device *device, int64_t n, int64_t width, const float *x, float *part, float *y,
                     bool add);

__device__ static inline float clamped(float x, float low, float high) {
    return fminf(fmaxf(x, low), high);
}
__device__ static inline void put(float *to, float value, bool add) {
    *to = add ? *to + value : value;
}

__device__ static inline lud_words draw_row(const lud_draws &draws, int64_t row, uint32_t block) {
    lud_random_key key = {draws.seed, draws.environment
                                          ? draws.environment[row]
                                          : draws.first_environment + (uint32_t)(row / draws.n_agents)};
    uint32_t agent = draws.agent ? draws.agent[row] : (uint32_t)(row % draws.n_agents);
    uint32_t step = draws.step + (draws.step_added ? *draws.step_added : 0);
    return lud_draw(key, step, agent, draws.purpose, draws.lane + block);
}

} // namespace lud_cuda
