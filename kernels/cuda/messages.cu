// Messages between the GPUs of processes, by NCCL: every exchange is one group of sends and receives in the
// device's stream.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "kernels/cuda/cuda.cuh"
#include "kernels/cuda/nccl.cuh"

#if defined(__CUDACC__) && __has_include(<nccl.h>)
#include <nccl.h>
static_assert(sizeof(ncclUniqueId) == sizeof(lud_cuda::nccl_id) && (int)ncclInt8 == lud_cuda::NCCL_BYTES &&
                  (int)ncclSuccess == lud_cuda::NCCL_SUCCESS &&
                  (int)ncclInProgress == lud_cuda::NCCL_IN_PROGRESS,
              "nccl.cuh says what NCCL's header says");
#endif

// The emulation, which has these functions itself, names another file.
#ifndef LUD_NCCL_FILE
#define LUD_NCCL_FILE "libnccl.so.2"
#endif

namespace lud_cuda {

// Null, with the reason, where there is none.
static const nccl_library *load(char message[256]) {
    static nccl_library library;
    static bool loaded;
    if (loaded) return &library;
    void *file = dlopen(LUD_NCCL_FILE, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        snprintf(message, 256, "NCCL cannot be loaded: %.200s", dlerror());
        return nullptr;
    }
    const char *missing = nullptr;
    void *symbol;
#define LUD_LOAD(member, name)                                                                               \
    if ((symbol = dlsym(file, name)))                                                                        \
        memcpy(&library.member, &symbol, sizeof symbol);                                                     \
    else                                                                                                     \
        missing = name;
#define LUD_LOAD_CALL(member, name, arguments) LUD_LOAD(member, #name)
    LUD_NCCL_CALLS(LUD_LOAD_CALL)
    LUD_LOAD(text, "ncclGetErrorString")
#undef LUD_LOAD_CALL
#undef LUD_LOAD
    if (missing) snprintf(message, 256, "this NCCL has no %s", missing);
    loaded = !missing;
    return loaded ? &library : nullptr;
}

static bool prepare(char meeting[LUD_MEETING_BYTES], char message[256]) {
    static_assert(sizeof(nccl_id) == LUD_MEETING_BYTES, "names of meetings are NCCL's");
    const nccl_library *library = load(message);
    nccl_id id;
    if (!library) return false;
    const nccl_result result = library->unique_id(&id);
    if (result == NCCL_SUCCESS)
        memcpy(meeting, &id, sizeof id);
    else
        snprintf(message, 256, "NCCL: %.200s", library->text(result));
    return result == NCCL_SUCCESS;
}

static bool meet(lud_device *device, int rank, int size, const char meeting[LUD_MEETING_BYTES],
                 char carrier[64], char message[256]) {
    cuda_device *cuda = of(device);
    const nccl_library *library = load(message); // prepare has seen it
    nccl_id id;
    int version = 0;
    memcpy(&id, meeting, sizeof id);
    nccl_result result = library->version(&version);
    if (result == NCCL_SUCCESS) result = library->open(&cuda->communicator, size, id, rank);
    if (result != NCCL_SUCCESS) {
        cuda->communicator = nullptr;
        snprintf(message, 256, "NCCL: %.200s", library->text(result));
        return false;
    }
    cuda->nccl = library;
    cuda->rank = rank;
    cuda->size = size;
    snprintf(carrier, 64, "NCCL %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return true;
}

// Sends from[k] to every process k and receives to[k] from it; what goes to itself is copied.
template <class Send, class Receive> static bool in_a_group(lud_device *device, Send send, Receive receive) {
    cuda_device *cuda = of(device);
    const nccl_library *library = cuda->nccl;
    nccl_result result = library->group_start();
    cuda->exchanging = true;
    for (int k = 0; k < cuda->size && result == NCCL_SUCCESS; ++k) {
        if (k == cuda->rank) continue;
        const auto [from, n_from] = send(k);
        const auto [to, n_to] = receive(k);
        if (n_from > 0) result = library->send(from, n_from, NCCL_BYTES, k, cuda->communicator, cuda->stream);
        if (n_to > 0 && result == NCCL_SUCCESS)
            result = library->receive(to, n_to, NCCL_BYTES, k, cuda->communicator, cuda->stream);
    }
    const nccl_result end = library->group_end();
    if (result == NCCL_SUCCESS) result = end;
    const auto [from, n] = send(cuda->rank);
    void *to = receive(cuda->rank).first;
    if (n > 0 && to != from) device->backend->copy(device, to, from, n);
    return result == NCCL_SUCCESS;
}

static bool gather(void *device, const void *own, size_t n, void *all, const int *counts,
                   const int *offsets) {
    return in_a_group(
        static_cast<lud_device *>(device), [=](int) { return std::pair<const void *, size_t>(own, n); },
        [=](int k) {
            return std::pair<void *, size_t>(static_cast<char *>(all) + offsets[k], (size_t)counts[k]);
        });
}

static bool exchange(void *device, const void *from, const int *from_counts, const int *from_offsets,
                     void *to, const int *to_counts, const int *to_offsets) {
    return in_a_group(
        static_cast<lud_device *>(device),
        [=](int k) {
            return std::pair<const void *, size_t>(static_cast<const char *>(from) + from_offsets[k],
                                                   (size_t)from_counts[k]);
        },
        [=](int k) {
            return std::pair<void *, size_t>(static_cast<char *>(to) + to_offsets[k], (size_t)to_counts[k]);
        });
}

static bool done(void *device, bool *well) {
    cuda_device *cuda = of(static_cast<lud_device *>(device));
    nccl_result state = NCCL_SUCCESS;
    const nccl_result asked = cuda->nccl->state(cuda->communicator, &state);
    *well = asked == NCCL_SUCCESS && (state == NCCL_SUCCESS || state == NCCL_IN_PROGRESS);
    if (!*well) return true;
    const cudaError_t stream = cudaStreamQuery(cuda->stream);
    if (stream == cudaErrorNotReady) {
        cudaGetLastError(); // which has it, too
        return false;
    }
    *well = note(&cuda->device, stream, "messages");
    cuda->exchanging = false;
    return true;
}

static void abandon(void *device) {
    cuda_device *cuda = of(static_cast<lud_device *>(device));
    if (cuda->communicator) cuda->nccl->abort(cuda->communicator);
    cuda->communicator = nullptr;
}

void part(lud_device *device) {
    cuda_device *cuda = of(device);
    if (cuda->exchanging) abandon(device);
    if (cuda->communicator) cuda->nccl->close(cuda->communicator);
    cuda->communicator = nullptr;
}

const lud_device_messages messages = {prepare, meet, gather, exchange, done, abandon};

} // namespace lud_cuda
