// The part of the CUDA runtime that kernels/cuda uses, emulated on the host: the same .cu files compile
// against this header as C++, and every kernel really runs. For tests only; cmake/emulation.cmake builds it,
// tests/emulation/README.md says what it checks and what it cannot show.
//
// Threads of a block are fibers that meet at __syncthreads and, within a warp, at shuffles and votes
// (threads.cc). Streams keep their work until somebody waits for them, so what is missing a wait shows
// (runtime.cc). Device memory lies apart from the host's, begins as NaN, and faults beyond its ends and after
// its release (memory.cc).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
// One block runs at a time, so its shared memory is one static object; the section lets the launcher spoil
// it.
#define __shared__                     static __attribute__((section("emulated_shared")))
#define LUD_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(::emulation::dynamic_shared())
#define LUD_LAUNCH(kernel, grid, block, bytes, stream, ...)                                                  \
    ::emulation::launch([](const auto &...arguments) { kernel(arguments...); }, grid, block, bytes, stream,  \
                        __VA_ARGS__)

// The functions of NCCL are in this module too (nccl.cc).
#define LUD_NCCL_FILE ::emulation::own_file()

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorLaunchFailure = 719,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum { cudaStreamNonBlocking = 1 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };
struct cudaDeviceProp {
    char name[256];
};
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_executable *cudaGraphExec_t;

const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

namespace emulation {

// The file that this module was loaded from.
const char *own_file();

struct shape {
    dim3 grid, block;
    size_t shared_bytes;
};

// Where the running thread stands; set by the launcher.
extern dim3 thread_index, block_index;
extern shape running;

void *dynamic_shared();
// Puts a kernel with its arguments into the stream; what is wrong with the launch shows in cudaGetLastError.
void enqueue(const shape &launch, cudaStream_t stream, std::function<void()> thread);

template <class Kernel, class... Arguments>
void launch(Kernel kernel, dim3 grid, dim3 block, size_t bytes, cudaStream_t stream, Arguments... arguments) {
    // arguments travel as bytes; 4 KiB of them is what every architecture takes
    static_assert((std::is_trivially_copyable<Arguments>::value && ...),
                  "kernel arguments are copied as bytes");
    static_assert((sizeof(Arguments) + ... + 0) <= 4096, "kernel arguments are at most 4 KiB");
    enqueue({grid, block, bytes}, stream,
            [kernel, all = std::make_tuple(arguments...)] { std::apply(kernel, all); });
}

// Meetings of the lanes of a warp: all lanes of the mask must come, to the same one.
enum meeting { SHUFFLE, SHUFFLE_XOR, SHUFFLE_UP, SHUFFLE_DOWN, BALLOT, SYNC, BARRIER };
uint64_t meet(meeting kind, unsigned mask, uint64_t value, int parameter);

template <class T> T shuffle(meeting kind, unsigned mask, T value, int parameter) {
    static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= sizeof(uint64_t),
                  "a shuffle moves 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = meet(kind, mask, bits, parameter);
    memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace emulation

#define threadIdx (::emulation::thread_index)
#define blockIdx  (::emulation::block_index)
#define blockDim  (::emulation::running.block)
#define gridDim   (::emulation::running.grid)

static inline void __syncthreads() {
    emulation::meet(emulation::BARRIER, 0, 0, 0);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    emulation::meet(emulation::SYNC, mask, 0, 0);
}
template <class T> T __shfl_sync(unsigned mask, T value, int lane) {
    return emulation::shuffle(emulation::SHUFFLE, mask, value, lane);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int lanes) {
    return emulation::shuffle(emulation::SHUFFLE_XOR, mask, value, lanes);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned lanes) {
    return emulation::shuffle(emulation::SHUFFLE_UP, mask, value, (int)lanes);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned lanes) {
    return emulation::shuffle(emulation::SHUFFLE_DOWN, mask, value, (int)lanes);
}
static inline unsigned __ballot_sync(unsigned mask, int vote) {
    return (unsigned)emulation::meet(emulation::BALLOT, mask, vote != 0, 0);
}
static inline int __any_sync(unsigned mask, int vote) {
    return __ballot_sync(mask, vote) != 0;
}
static inline int __all_sync(unsigned mask, int vote) {
    return __ballot_sync(mask, vote) == mask;
}
static inline int __ffs(int x) {
    return __builtin_ffs(x);
}
static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}

// Threads take turns on one processor, so a plain update is atomic.
template <class T> T atomicAdd(T *at, T value) {
    T before = *at;
    *at = before + value;
    return before;
}
template <class T> T atomicMin(T *at, T value) {
    T before = *at;
    if (value < before) *at = value;
    return before;
}
template <class T> T atomicMax(T *at, T value) {
    T before = *at;
    if (value > before) *at = value;
    return before;
}
template <class T> T atomicCAS(T *at, T expected, T value) {
    T before = *at;
    if (before == expected) *at = value;
    return before;
}
