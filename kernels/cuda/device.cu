// The CUDA backend: memory, queue, recorded graphs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/cuda/cuda.cuh"
#include "module_abi.h"

struct lud_graph {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
};

extern "C" const lud_backend lud_cuda_backend;

namespace lud_cuda {

// The host half of base/status.c is not linked into the shared object: messages are written here.
static lud_status fail(lud_error *error, lud_status status, const char *library, const char *what,
                       const char *reason) {
    if (error && !error->status) {
        error->status = status;
        snprintf(error->text, sizeof error->text, "%s: %s: %.900s", library, what, reason);
    }
    return status;
}

bool note(lud_device *device, cudaError_t error, const char *what) {
    lud_status status = error == cudaErrorMemoryAllocation ? LUD_ERROR_MEMORY : LUD_ERROR_NUMERIC;
    if (error != cudaSuccess) fail(&device->failure, status, "CUDA", what, cudaGetErrorString(error));
    return !device->failure.status;
}

bool note(lud_device *device, cublasStatus_t error, const char *what) {
    lud_status status = error == CUBLAS_STATUS_ALLOC_FAILED ? LUD_ERROR_MEMORY : LUD_ERROR_NUMERIC;
    if (error != CUBLAS_STATUS_SUCCESS)
        fail(&device->failure, status, "cuBLAS", what, cublasGetStatusString(error));
    return !device->failure.status;
}

static bool reserve(lud_device *device, size_t bytes) {
    if (bytes <= device->workspace_bytes) return true;
    if (of(device)->recording) {
        fail(&device->failure, LUD_ERROR_LIMIT, "CUDA", "recording",
             "the workspace would grow while recording; run the operations once before");
        return false;
    }
    size_t rounded = (bytes + bytes / 4 + 0xfffff) / 0x100000 * 0x100000;
    void *memory = 0;
    cudaStreamSynchronize(of(device)->stream); // earlier work may still use the old one
    if (!note(device, cudaMalloc(&memory, rounded), "growing the workspace")) return false;
    cudaFree(device->workspace);
    device->workspace = memory;
    device->workspace_bytes = rounded;
    return true;
}

void *workspace(lud_device *device, size_t bytes) {
    return reserve(device, bytes) ? device->workspace : 0;
}

static const lud_ops *operations() {
    static const lud_ops table = [] {
        lud_ops ops;
#define ENTRY(name) ops.name = name;
        LUD_OPERATIONS(ENTRY)
#undef ENTRY
        return ops;
    }();
    return &table;
}

static void destroy(lud_device *device) {
    cuda_device *cuda = of(device);
    part(device); // before anybody waits for what an exchange has left in the stream
    if (cuda->stream) cudaStreamSynchronize(cuda->stream);
    if (cuda->blas) cublasDestroy(cuda->blas);
    cudaFree(device->workspace);
    if (cuda->stream) cudaStreamDestroy(cuda->stream);
    free(cuda);
}

static lud_status create(int, int place, lud_device **device, lud_error *error) {
    int count = 0;
    cudaError_t problem = cudaGetDeviceCount(&count);
    if (problem != cudaSuccess)
        return fail(error, LUD_ERROR_UNSUPPORTED, "cannot use CUDA", "driver", cudaGetErrorString(problem));
    if (count == 0) return fail(error, LUD_ERROR_UNSUPPORTED, "cannot use CUDA", "driver", "no GPU");
    cuda_device *cuda = static_cast<cuda_device *>(calloc(1, sizeof(cuda_device)));
    if (!cuda) return fail(error, LUD_ERROR_MEMORY, "cannot use CUDA", "device", "out of memory");
    cuda->device.backend = &lud_cuda_backend;
    cuda->device.ops = operations();
    cuda->device.n_threads = 1;
    cudaDeviceProp properties;
    lud_device *base = &cuda->device;
    if (note(base, cudaSetDevice(place % count), "device") &&
        note(base, cudaGetDeviceProperties(&properties, place % count), "device properties") &&
        note(base, cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), "stream") &&
        note(base, cublasCreate(&cuda->blas), "handle") &&
        note(base, cublasSetStream(cuda->blas, cuda->stream), "stream of the handle") &&
        reserve(base, 64 << 20)) {
        snprintf(base->name, sizeof base->name, "cuda, %.80s", properties.name);
        *device = base;
        return LUD_OK;
    }
    lud_status status = fail(error, LUD_ERROR_UNSUPPORTED, "cannot use CUDA", "device", base->failure.text);
    destroy(base);
    return status;
}

static void *allocate(lud_device *device, size_t bytes) {
    void *memory = 0;
    if (cudaMalloc(&memory, bytes ? bytes : 1) != cudaSuccess) {
        cudaGetLastError(); // running out is reported by the null, not as a failure of the device
        return 0;
    }
    note(device, cudaMemsetAsync(memory, 0, bytes, of(device)->stream), "clearing memory");
    return memory;
}

static void release(lud_device *device, void *memory) {
    cudaStreamSynchronize(of(device)->stream);
    cudaFree(memory);
}

static void upload(lud_device *device, void *to, const void *from, size_t bytes) {
    note(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, of(device)->stream), "upload");
    // pageable memory is staged before the call returns; page-locked memory may not be: wait, callers reuse
    // it
    note(device, cudaStreamSynchronize(of(device)->stream), "upload");
}

static void download(lud_device *device, void *to, const void *from, size_t bytes) {
    note(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, of(device)->stream), "download");
    note(device, cudaStreamSynchronize(of(device)->stream), "download");
}

static void copy(lud_device *device, void *to, const void *from, size_t bytes) {
    note(device, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, of(device)->stream), "copy");
}

static void zero(lud_device *device, void *memory, size_t bytes) {
    note(device, cudaMemsetAsync(memory, 0, bytes, of(device)->stream), "clearing memory");
}

static void synchronise(lud_device *device) {
    note(device, cudaStreamSynchronize(of(device)->stream), "running");
}

static bool record_begin(lud_device *device) {
    of(device)->recording = note(
        device, cudaStreamBeginCapture(of(device)->stream, cudaStreamCaptureModeThreadLocal), "recording");
    return of(device)->recording;
}

static lud_graph *record_end(lud_device *device) {
    of(device)->recording = false;
    lud_graph made = {};
    if (note(device, cudaStreamEndCapture(of(device)->stream, &made.graph), "recording") &&
        note(device, cudaGraphInstantiate(&made.executable, made.graph, 0), "recording"))
        if (lud_graph *graph = new (std::nothrow) lud_graph(made)) return graph;
    if (made.executable) cudaGraphExecDestroy(made.executable);
    if (made.graph) cudaGraphDestroy(made.graph);
    return 0;
}

static void graph_launch(lud_device *device, lud_graph *graph) {
    note(device, cudaGraphLaunch(graph->executable, of(device)->stream), "replay");
}

static void graph_destroy(lud_device *device, lud_graph *graph) {
    cudaStreamSynchronize(of(device)->stream);
    cudaGraphExecDestroy(graph->executable);
    cudaGraphDestroy(graph->graph);
    delete graph;
}

} // namespace lud_cuda

// In the order of lud_backend.
extern "C" __attribute__((visibility("default")))
const lud_backend lud_cuda_backend = {LUD_MODULE_ABI,
                                      "cuda",
                                      false, // host_memory
                                      true,  // records_graphs
                                      16384, // rows_per_run
                                      lud_cuda::create,
                                      lud_cuda::destroy,
                                      lud_cuda::allocate,
                                      lud_cuda::release,
                                      lud_cuda::upload,
                                      lud_cuda::download,
                                      lud_cuda::copy,
                                      lud_cuda::zero,
                                      lud_cuda::synchronise,
                                      lud_cuda::reserve,
                                      nullptr, // run_both
                                      lud_cuda::record_begin,
                                      lud_cuda::record_end,
                                      lud_cuda::graph_launch,
                                      lud_cuda::graph_destroy,
                                      &lud_cuda::messages};
