// The emulation itself: does it compute what CUDA would, and does it notice what it promises to notice?
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cublas_v2.h"
#include "emulation.h"

static int failures;
#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition) && ++failures <= 20)                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
    } while (0)

static cudaStream_t stream;

static void open_stream(int order) {
    char text[16];
    snprintf(text, sizeof text, "%d", order);
    setenv("LUDUS_EMULATED_ORDER", text, 1);
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
}
static void close_stream() {
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
}

template <class T> static T *device_array(size_t n) {
    void *memory = nullptr;
    EXPECT(cudaMalloc(&memory, n * sizeof(T)) == cudaSuccess);
    return static_cast<T *>(memory);
}
template <class T> static std::vector<T> fetch(const T *from, size_t n) {
    std::vector<T> host(n);
    EXPECT(cudaMemcpyAsync(host.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    return host;
}

// ---- kernels that are right

// y[i] = sum of the block's x, by shared memory, shuffles and a barrier
static void block_sums(int n, const int *x, int *y) {
    __shared__ int of_warp[32];
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), lane = (int)threadIdx.x % 32,
        warp = (int)threadIdx.x / 32;
    int sum = i < n ? x[i] : 0;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    int total = 0;
    for (int k = 0; k < (int)blockDim.x / 32; ++k) total += of_warp[k];
    if (i < n) y[i] = total;
}

static void shuffles(unsigned *out) {
    unsigned lane = threadIdx.x;
    out[lane] = __shfl_sync(0xffffffffu, lane * 10, 5);
    out[32 + lane] = __shfl_up_sync(0xffffffffu, lane, 3);
    out[64 + lane] = __shfl_down_sync(0xffffffffu, lane, 3);
    out[96 + lane] = __ballot_sync(0xffffffffu, lane % 3 == 0);
    out[128 + lane] = lane < 16
                          ? (unsigned)__shfl_xor_sync(0x0000ffffu, lane, 1)
                          : (unsigned)__shfl_xor_sync(0xffff0000u, lane, 2); // two meetings of half a warp
    out[160 + lane] =
        (unsigned)__all_sync(0xffffffffu, lane < 32) + 2u * (unsigned)__any_sync(0xffffffffu, lane == 40);
}

static void places(unsigned *out, unsigned *count) {
    unsigned at = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y *
                      blockDim.z +
                  (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[at] = at;
    atomicAdd(count, 1u);
}

static void dynamic(float *out) {
    LUD_DYNAMIC_SHARED(float, shared);
    if (threadIdx.x < 8) shared[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = shared[threadIdx.x % 16]; // 8 .. 15 were never written
}

static void test_right_kernels() {
    for (int order = 1; order < 6; ++order) {
        open_stream(order);
        const int n = 1000;
        std::vector<int> x(n);
        for (int i = 0; i < n; ++i) x[(size_t)i] = i * i % 101;
        int *dx = device_array<int>(n), *dy = device_array<int>(n);
        EXPECT(cudaMemcpyAsync(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream) == cudaSuccess);
        LUD_LAUNCH(block_sums, 4, 256, 0, stream, n, dx, dy);
        std::vector<int> y = fetch(dy, n);
        for (int i = 0; i < n; ++i) {
            int sum = 0;
            for (int j = i / 256 * 256; j < n && j < (i / 256 + 1) * 256; ++j) sum += x[(size_t)j];
            EXPECT(y[(size_t)i] == sum);
        }
        unsigned *out = device_array<unsigned>(192);
        LUD_LAUNCH(shuffles, 1, 32, 0, stream, out);
        std::vector<unsigned> s = fetch(out, 192);
        for (unsigned lane = 0; lane < 32; ++lane) {
            EXPECT(s[lane] == 50);
            EXPECT(s[32 + lane] == (lane < 3 ? lane : lane - 3));
            EXPECT(s[64 + lane] == (lane > 28 ? lane : lane + 3));
            EXPECT(s[96 + lane] == 0x49249249u);
            EXPECT(s[128 + lane] == (lane < 16 ? lane ^ 1 : lane ^ 2));
            EXPECT(s[160 + lane] == 1);
        }
        unsigned *at = device_array<unsigned>(1440), *count = device_array<unsigned>(1);
        EXPECT(cudaMemsetAsync(count, 0, sizeof *count, stream) == cudaSuccess);
        LUD_LAUNCH(places, dim3(2, 3, 4), dim3(5, 6, 2), 0, stream, at, count);
        std::vector<unsigned> where = fetch(at, 1440);
        for (unsigned i = 0; i < 1440; ++i) EXPECT(where[i] == i);
        EXPECT(fetch(count, 1)[0] == 1440);
        float *f = device_array<float>(64);
        LUD_LAUNCH(dynamic, 1, 64, 16 * sizeof(float), stream, f);
        std::vector<float> d = fetch(f, 64);
        for (int i = 0; i < 64; ++i)
            EXPECT(i % 16 < 8 ? d[(size_t)i] == (float)(i % 16) : std::isnan(d[(size_t)i]));
        void *const used[] = {dx, dy, out, at, count, f};
        for (void *memory : used) EXPECT(cudaFree(memory) == cudaSuccess);
        EXPECT(cudaGetLastError() == cudaSuccess);
        close_stream();
    }
}

// ---- kernels that are wrong in a way that gives an error

static void half_a_barrier(int *out) {
    if (threadIdx.x < 32) return;
    __syncthreads();
    *out = 1;
}
static void lane_missing(int *out) {
    if (threadIdx.x == 3) return;
    *out = __shfl_xor_sync(0xffffffffu, 1, 1);
}
static void different_meetings(int *out) {
    if (threadIdx.x < 16)
        *out = __shfl_xor_sync(0xffffffffu, 1, 1);
    else
        *out = (int)__ballot_sync(0xffffffffu, 1);
}
static void barrier_against_warp(int *out) {
    if (threadIdx.x < 16)
        __syncthreads();
    else
        *out = (int)__ballot_sync(0xffffffffu, 1);
}
static void outside_mask(int *out) {
    *out = __shfl_sync(threadIdx.x < 16 ? 0xffffu : 0xffff0000u, 1, 20);
}

template <class Kernel> static void fails(Kernel kernel) {
    open_stream(1);
    int *out = device_array<int>(1);
    kernel(out);
    EXPECT(cudaGetLastError() == cudaSuccess); // launching is well; running is not
    EXPECT(cudaStreamSynchronize(stream) == cudaErrorLaunchFailure);
    EXPECT(cudaGetLastError() == cudaErrorLaunchFailure);
    EXPECT(cudaGetLastError() == cudaErrorLaunchFailure); // stays
    cudaFree(out);
    close_stream();
    cudaGetLastError();
    EXPECT(cudaGetLastError() == cudaSuccess);
}

static void test_wrong_kernels() {
    fails([](int *out) { LUD_LAUNCH(half_a_barrier, 1, 64, 0, stream, out); });
    fails([](int *out) { LUD_LAUNCH(lane_missing, 1, 32, 0, stream, out); });
    fails([](int *out) { LUD_LAUNCH(lane_missing, 1, 30, 0, stream, out); });
    fails([](int *out) { LUD_LAUNCH(different_meetings, 1, 32, 0, stream, out); });
    fails([](int *out) { LUD_LAUNCH(barrier_against_warp, 1, 32, 0, stream, out); });
    fails([](int *out) { LUD_LAUNCH(outside_mask, 1, 32, 0, stream, out); });
}

// ---- races: another order gives another result

static void race_in_block(int *out) {
    __shared__ int shared[128];
    shared[threadIdx.x] = (int)threadIdx.x;
    // a barrier belongs here
    out[threadIdx.x] = shared[127 - threadIdx.x];
}
static void race_of_blocks(int *out) {
    *out = (int)blockIdx.x;
}

static void test_races() {
    bool in_block = false, of_blocks = false;
    for (int order = 1; order < 4; ++order) {
        open_stream(order);
        int *out = device_array<int>(128);
        LUD_LAUNCH(race_in_block, 1, 128, 0, stream, out);
        std::vector<int> got = fetch(out, 128);
        for (int i = 0; i < 128; ++i) in_block |= got[(size_t)i] != 127 - i;
        LUD_LAUNCH(race_of_blocks, 50, 1, 0, stream, out);
        of_blocks |= fetch(out, 1)[0] != 49;
        EXPECT(cudaFree(out) == cudaSuccess);
        close_stream();
    }
    EXPECT(in_block);
    EXPECT(of_blocks);
}

// ---- memory faults end the process: each in a child

template <class Act> static bool dies(Act act) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        static_cast<void>(freopen("/dev/null", "w", stderr));
        act();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void read_at(const float *x, int64_t i, float *y) {
    *y = x[i];
}

static void test_memory_faults() {
    open_stream(1);
    float *x = device_array<float>(64), *y = device_array<float>(64), *gone = device_array<float>(64);
    EXPECT(std::isnan(fetch(x, 64)[63])); // fresh memory holds nothing of use
    EXPECT(cudaFree(gone) == cudaSuccess);
    auto reads = [&](const float *from, int64_t at) {
        return [=] {
            LUD_LAUNCH(read_at, 1, 1, 0, stream, from, at, y);
            cudaStreamSynchronize(stream);
        };
    };
    EXPECT(!dies(reads(x, 63)));
    EXPECT(dies(reads(x, 64)));
    EXPECT(dies(reads(x, -5000)));
    EXPECT(dies(reads(gone, 0)));
    float on_host = 0;
    EXPECT(dies(reads(nullptr, 0)));
    EXPECT(cudaMemcpyAsync(x, y, 65 * sizeof *x, cudaMemcpyDeviceToDevice, stream) == cudaErrorInvalidValue);
    EXPECT(cudaMemcpyAsync(&on_host, y, 4, cudaMemcpyHostToDevice, stream) == cudaErrorInvalidValue);
    EXPECT(cudaMemcpyAsync(x, y, 4, cudaMemcpyHostToDevice, stream) == cudaErrorInvalidValue);
    EXPECT(cudaMemsetAsync(gone, 0, 4, stream) == cudaErrorInvalidValue);
    EXPECT(cudaFree(gone) == cudaErrorInvalidValue);
    EXPECT(cudaFree(x + 1) == cudaErrorInvalidValue);
#ifdef PKEY_DISABLE_ACCESS
    int key = pkey_alloc(0, 0); // whether this processor and kernel have them at all
    if (key >= 0) {
        pkey_free(key);
        EXPECT(dies([=] { *static_cast<volatile float *>(x) = 1; }));
    }
#endif
    EXPECT(cudaFree(x) == cudaSuccess);
    EXPECT(cudaFree(y) == cudaSuccess);
    cudaGetLastError();
    close_stream();
}

// ---- limits, order of work, recorded graphs

static void nothing(int) {}
static void add_one(int *x) {
    ++*x;
}

static void test_launch_limits() {
    open_stream(1);
    auto error_of = [](dim3 grid, dim3 block, size_t bytes) {
        LUD_LAUNCH(nothing, grid, block, bytes, stream, 0);
        return cudaGetLastError();
    };
    EXPECT(error_of(1, 1024, 48 << 10) == cudaSuccess);
    EXPECT(error_of(1, 1025, 0) == cudaErrorInvalidConfiguration);
    EXPECT(error_of(1, dim3(32, 32, 2), 0) == cudaErrorInvalidConfiguration);
    EXPECT(error_of(1, dim3(1, 1, 65), 0) == cudaErrorInvalidConfiguration);
    EXPECT(error_of(0, 32, 0) == cudaErrorInvalidConfiguration);
    EXPECT(error_of(dim3(1, 65536), 32, 0) == cudaErrorInvalidConfiguration);
    EXPECT(error_of(1, 32, (48 << 10) + 1) == cudaErrorInvalidValue);
    close_stream();
}

static void test_work_waits() {
    open_stream(1);
    int *x = device_array<int>(1), host = -1;
    EXPECT(cudaMemsetAsync(x, 0, sizeof *x, stream) == cudaSuccess);
    LUD_LAUNCH(add_one, 1, 1, 0, stream, x);
    EXPECT(cudaMemcpyAsync(&host, x, sizeof host, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    EXPECT(host == -1); // nobody has waited yet
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(host == 1);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    for (int i = 0; i < 3; ++i) LUD_LAUNCH(add_one, 1, 1, 0, stream, x);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(fetch(x, 1)[0] == 1); // recorded, not run
    EXPECT(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    for (int i = 0; i < 2; ++i) EXPECT(cudaGraphLaunch(executable, stream) == cudaSuccess);
    EXPECT(cudaGraphExecDestroy(executable) == cudaSuccess);
    EXPECT(cudaGraphDestroy(graph) == cudaSuccess);
    EXPECT(fetch(x, 1)[0] == 7);

    void *memory = nullptr; // what must not happen while recording, and spoils the recording
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    EXPECT(cudaMalloc(&memory, 4) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    EXPECT(cudaFree(x) == cudaSuccess);
    cudaGetLastError();
    close_stream();
}

static void test_products() {
    open_stream(1);
    cublasHandle_t handle = nullptr;
    EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    EXPECT(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
    // columns of a (2 x 3, leading dimension 4) and b (3 x 2); c = a b by hand
    const float a[12] = {1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0}, b[6] = {1, 0, 2, -1, 1, 1}, one = 1, none = 0;
    float *da = device_array<float>(12), *db = device_array<float>(6), *dc = device_array<float>(4);
    EXPECT(cudaMemcpyAsync(da, a, sizeof a, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    EXPECT(cudaMemcpyAsync(db, b, sizeof b, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    auto multiply = [&](cublasOperation_t op, int ld, float factor, cublasComputeType_t type) {
        return cublasGemmEx(handle, op, CUBLAS_OP_N, 2, 2, 3, &factor, da, CUDA_R_32F, ld, db, CUDA_R_32F, 3,
                            &none, dc, CUDA_R_32F, 2, type, CUBLAS_GEMM_DEFAULT);
    };
    EXPECT(multiply(CUBLAS_OP_N, 4, one, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_SUCCESS);
    EXPECT((fetch(dc, 4) == std::vector<float>{11, 14, 7, 8}));
    EXPECT(multiply(CUBLAS_OP_T, 4, one, CUBLAS_COMPUTE_32F) ==
           CUBLAS_STATUS_SUCCESS); // rows of op(a): 1 2 0, 3 4 0
    EXPECT((fetch(dc, 4) == std::vector<float>{1, 3, 1, 1}));
    EXPECT(multiply(CUBLAS_OP_N, 1, one, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_INVALID_VALUE);
    EXPECT(multiply(CUBLAS_OP_T, 2, one, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_INVALID_VALUE);
    // 1 + 2^-8 has one bit more than bfloat16 keeps and rounds to even; 1 + 3 2^-8 rounds up
    const float fine[12] = {1 + 1 / 256.0F, 1 + 3 / 256.0F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    EXPECT(cudaMemcpyAsync(da, fine, sizeof fine, cudaMemcpyHostToDevice, stream) == cudaSuccess);
    EXPECT(multiply(CUBLAS_OP_N, 4, one, CUBLAS_COMPUTE_32F_FAST_16BF) == CUBLAS_STATUS_SUCCESS);
    std::vector<float> c = fetch(dc, 4);
    EXPECT(c[0] == 1 && c[1] == 1 + 4 / 256.0F);
    EXPECT(multiply(CUBLAS_OP_N, 4, one, CUBLAS_COMPUTE_32F_FAST_TF32) == CUBLAS_STATUS_SUCCESS);
    c = fetch(dc, 4);
    EXPECT(c[0] == fine[0] && c[1] == fine[1]);
    EXPECT(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
    float *const used[] = {da, db, dc};
    for (float *memory : used) EXPECT(cudaFree(memory) == cudaSuccess);
    close_stream();
}

int main() {
    test_right_kernels();
    test_wrong_kernels();
    test_races();
    test_memory_faults();
    test_launch_limits();
    test_work_waits();
    test_products();
    if (failures) fprintf(stderr, "%d expectations failed\n", failures);
    return failures != 0;
}
