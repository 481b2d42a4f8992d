// Streams, events, recorded graphs, launches. Work waits in its stream until somebody waits for it.
#include <dlfcn.h>
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "emulation.h"

typedef std::function<int()> piece_of_work; // an outcome
typedef std::vector<piece_of_work> work_list;

struct emulated_stream {
    work_list waiting, recorded;
    bool recording, spoiled_recording;
};
struct emulated_event {
    emulated_stream *stream;
    uint64_t asked, reached; // how often it was recorded, and which of these has been
    double seconds;
};
struct emulated_graph {
    std::shared_ptr<work_list> work;
};
struct emulated_executable {
    std::shared_ptr<work_list> work;
};

namespace {

enum { MAX_THREADS = 1024, MAX_SHARED = 48 << 10, MAX_WAITING = 1 << 14 };

std::recursive_mutex one_at_a_time;
std::set<emulated_stream *> streams;
cudaError_t last_error = cudaSuccess;
bool device_failed; // sticky, as on a GPU
int device_in_use;

typedef std::lock_guard<std::recursive_mutex> lock;

cudaError_t report(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

// Runs what waits in the stream; without `to_the_end` up to what must wait for another process.
cudaError_t run_stream(emulated_stream *stream, bool to_the_end = true) {
    work_list now;
    now.swap(stream->waiting);
    size_t next = 0;
    if (!now.empty()) emulation::memory_open();
    while (next < now.size() && !device_failed) {
        const int how = now[next]();
        if (how == emulation::FAILED) device_failed = true;
        if (how == emulation::DONE) ++next;
        if (how == emulation::NOT_YET && !to_the_end) break;
        if (how == emulation::NOT_YET) sched_yield();
    }
    if (!now.empty()) emulation::memory_close();
    if (device_failed) return report(cudaErrorLaunchFailure);
    stream->waiting.assign(now.begin() + (ptrdiff_t)next, now.end());
    return stream->waiting.empty() ? cudaSuccess : report(cudaErrorNotReady);
}

cudaError_t run_all() {
    for (emulated_stream *stream : streams) run_stream(stream);
    return report(device_failed ? cudaErrorLaunchFailure : cudaSuccess);
}

// A call that must not be made while a stream of this thread records; it spoils the recording.
bool refused_while_recording() {
    bool refused = false;
    for (emulated_stream *stream : streams)
        if (stream->recording) refused = stream->spoiled_recording = true;
    return refused;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

namespace emulation {

const char *own_file() {
    static Dl_info info;
    return dladdr(&device_in_use, &info) ? info.dli_fname : "";
}

int chosen_device() {
    return device_in_use;
}

cudaError_t enqueue_work(cudaStream_t stream, piece_of_work work) {
    lock hold(one_at_a_time);
    if (streams.count(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    if (device_failed) return report(cudaErrorLaunchFailure);
    (stream->recording ? stream->recorded : stream->waiting).push_back(std::move(work));
    return stream->waiting.size() > MAX_WAITING ? run_stream(stream) : cudaSuccess;
}

void enqueue(const shape &launch, cudaStream_t stream, std::function<void()> thread) {
    const dim3 &g = launch.grid, &b = launch.block;
    bool fits = g.x >= 1 && g.y >= 1 && g.z >= 1 && g.x <= 0x7fffffffu && g.y <= 65535 && g.z <= 65535 &&
                b.x >= 1 && b.y >= 1 && b.z >= 1 && b.x <= 1024 && b.y <= 1024 && b.z <= 64 &&
                (uint64_t)b.x * b.y * b.z <= MAX_THREADS;
    lock hold(one_at_a_time);
    if (!fits)
        report(cudaErrorInvalidConfiguration);
    else if (launch.shared_bytes > MAX_SHARED)
        report(cudaErrorInvalidValue);
    else
        enqueue_work(stream, [launch, thread] { return run_blocks(launch, thread); });
}

} // namespace emulation

using emulation::enqueue_work;

const char *cudaGetErrorString(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
        return "operation failed due to a previous error during capture";
    }
    return "unknown error";
}

cudaError_t cudaGetLastError() {
    lock hold(one_at_a_time);
    cudaError_t error = last_error;
    last_error = device_failed ? cudaErrorLaunchFailure : cudaSuccess;
    return error;
}

cudaError_t cudaGetDeviceCount(int *count) {
    const char *devices = getenv("LUDUS_EMULATED_DEVICES");
    *count = devices ? atoi(devices) : 1;
    return cudaSuccess;
}

static bool there_is(int device) {
    int count = 0;
    cudaGetDeviceCount(&count);
    return device >= 0 && device < count;
}

cudaError_t cudaSetDevice(int device) {
    if (!there_is(device)) return report(cudaErrorInvalidDevice);
    device_in_use = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    if (!there_is(device)) return report(cudaErrorInvalidDevice);
    snprintf(properties->name, sizeof properties->name, "emulated on the host, no GPU");
    return cudaSuccess;
}

// ---- memory

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    lock hold(one_at_a_time);
    *total_bytes = emulation::memory_limit();
    *free_bytes = *total_bytes - emulation::memory_in_use();
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    lock hold(one_at_a_time);
    if (refused_while_recording()) return report(cudaErrorStreamCaptureUnsupported);
    *memory = emulation::memory_take(bytes);
    return report(*memory || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory) {
    if (!memory) return cudaSuccess;
    lock hold(one_at_a_time);
    if (refused_while_recording()) return report(cudaErrorStreamCaptureUnsupported);
    run_all();
    return report(emulation::memory_release(memory) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    lock hold(one_at_a_time);
    if (bytes == 0) return cudaSuccess;
    if (!emulation::memory_covers(memory, bytes)) return report(cudaErrorInvalidValue);
    return enqueue_work(stream, [=] {
        memset(memory, value, bytes);
        return true;
    });
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    lock hold(one_at_a_time);
    if (bytes == 0) return cudaSuccess;
    bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
    if ((to_device ? !emulation::memory_covers(to, bytes) : emulation::memory_touches(to, bytes)) ||
        (from_device ? !emulation::memory_covers(from, bytes) : emulation::memory_touches(from, bytes)))
        return report(cudaErrorInvalidValue);
    return enqueue_work(stream, [=] { // the host's side is read or written when its turn comes, not now
        memcpy(to, from, bytes);
        return true;
    });
}

// ---- streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    lock hold(one_at_a_time);
    const char *seed = getenv("LUDUS_EMULATED_ORDER");
    emulation::seed_order(seed ? strtoull(seed, nullptr, 10) : 1);
    *stream = new emulated_stream();
    streams.insert(*stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    lock hold(one_at_a_time);
    if (streams.count(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    run_stream(stream);
    streams.erase(stream);
    delete stream;
    if (streams.empty()) device_failed = false; // as after the end of a process
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    lock hold(one_at_a_time);
    if (streams.count(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    if (stream->recording) {
        stream->spoiled_recording = true;
        return report(cudaErrorStreamCaptureUnsupported);
    }
    return run_stream(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    lock hold(one_at_a_time);
    if (streams.count(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    if (stream->recording) return report(cudaErrorStreamCaptureUnsupported);
    return run_stream(stream, false);
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new emulated_event();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    lock hold(one_at_a_time);
    if (event->stream && streams.count(event->stream)) run_stream(event->stream);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    lock hold(one_at_a_time);
    if (streams.count(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    if (stream->recording)
        return report(cudaErrorStreamCaptureUnsupported); // nobody here times inside a graph
    event->stream = stream;
    uint64_t number = ++event->asked;
    return enqueue_work(stream, [=] {
        event->reached = number;
        event->seconds = seconds_now();
        return true;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    lock hold(one_at_a_time);
    return event->stream ? run_stream(event->stream) : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to) {
    lock hold(one_at_a_time);
    if (from->asked == 0 || to->asked == 0 || from->reached != from->asked || to->reached != to->asked)
        return report(cudaErrorInvalidResourceHandle);
    *milliseconds = (float)((to->seconds - from->seconds) * 1e3);
    return cudaSuccess;
}

// ---- recorded graphs

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    lock hold(one_at_a_time);
    if (streams.count(stream) == 0) return report(cudaErrorInvalidResourceHandle);
    if (stream->recording) return report(cudaErrorStreamCaptureUnsupported);
    stream->recording = true;
    stream->spoiled_recording = false;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    lock hold(one_at_a_time);
    *graph = nullptr;
    if (streams.count(stream) == 0 || !stream->recording) return report(cudaErrorInvalidValue);
    auto work = std::make_shared<work_list>();
    work->swap(stream->recorded);
    stream->recording = false;
    if (stream->spoiled_recording) return report(cudaErrorStreamCaptureInvalidated);
    *graph = new emulated_graph{work};
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
    lock hold(one_at_a_time);
    *executable = new emulated_executable{graph->work};
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    std::shared_ptr<work_list> work = executable->work;
    return enqueue_work(stream, [work] {
        for (piece_of_work &piece : *work)
            if (!piece()) return false;
        return true;
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    delete executable; // what was launched keeps its list
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
