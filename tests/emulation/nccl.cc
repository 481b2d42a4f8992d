// The part of NCCL that kernels/cuda uses, between processes of one machine: rings of bytes in shared memory,
// one for each pair. A group is one piece of work in the stream, which waits until all it sends has left and
// all it receives is there.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "emulation.h"

namespace {

enum { RING_BYTES = 1 << 16, MOST_PROCESSES = 64 };
const double PATIENCE = 60.0; // seconds for a meeting

struct ring {
    std::atomic<uint64_t> written, read;
    char bytes[RING_BYTES];
};

struct meeting_place {
    std::atomic<int> arrived, device_of[MOST_PROCESSES]; // devices begin at 1
    ring rings[1];                                       // [size][size], from and to
};

struct transfer {
    ring *way;
    char *to;         // receives
    const char *from; // sends
    size_t n, moved;
};

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Moves what the ring has, or has room for.
void move_on(transfer *t) {
    ring *way = t->way;
    const uint64_t written = way->written.load(), read = way->read.load();
    const size_t ready = t->from ? (size_t)(RING_BYTES - (written - read)) : (size_t)(written - read);
    const size_t left = t->n - t->moved, n = ready < left ? ready : left;
    for (size_t i = 0; i < n; ++i)
        if (t->from)
            way->bytes[(written + i) % RING_BYTES] = t->from[t->moved + i];
        else
            t->to[t->moved + i] = way->bytes[(read + i) % RING_BYTES];
    t->moved += n;
    (t->from ? way->written : way->read).fetch_add(n);
}

struct group {
    bool open;
    std::vector<transfer> transfers;
    cudaStream_t stream;
    std::shared_ptr<bool> left; // of the communicator
} waiting;

} // namespace

struct nccl_opaque {
    meeting_place *place;
    size_t bytes;
    int rank, size;
    std::shared_ptr<bool> left;
};

#define EXPORTED extern "C" __attribute__((visibility("default")))
enum result { SUCCESS, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
struct unique_id {
    char name[128];
};

EXPORTED const char *ncclGetErrorString(int result) {
    switch (result) {
    case SUCCESS:
        return "no error";
    case SYSTEM_ERROR:
        return "unhandled system error";
    case INVALID_ARGUMENT:
        return "invalid argument";
    case INVALID_USAGE:
        return "invalid usage";
    }
    return "unknown result code";
}

EXPORTED int ncclGetVersion(int *version) {
    *version = 20000;
    return SUCCESS;
}

EXPORTED int ncclGetUniqueId(unique_id *id) {
    static int number;
    memset(id, 0, sizeof *id);
    snprintf(id->name, sizeof id->name, "/ludus-emulated-nccl-%d-%d", (int)getpid(), number++);
    return SUCCESS;
}

// All of a meeting wait for one another; two with one device are refused, as NCCL does.
EXPORTED int ncclCommInitRank(nccl_opaque **communicator, int size, unique_id id, int rank) {
    if (size < 1 || size > MOST_PROCESSES || rank < 0 || rank >= size) return INVALID_ARGUMENT;
    const size_t bytes = sizeof(meeting_place) + (size_t)(size * size) * sizeof(ring);
    const int file = shm_open(id.name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return SYSTEM_ERROR;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return SYSTEM_ERROR;
    meeting_place *place = static_cast<meeting_place *>(memory);
    place->device_of[rank] = emulation::chosen_device() + 1;
    ++place->arrived;
    const double began = seconds();
    while (place->arrived < size && seconds() - began < PATIENCE) sched_yield();
    int status = place->arrived < size ? SYSTEM_ERROR : SUCCESS;
    if (rank == 0) shm_unlink(id.name);
    for (int i = 0; i < size && !status; ++i)
        for (int k = 0; k < i; ++k)
            if (place->device_of[i] == place->device_of[k]) status = INVALID_USAGE;
    if (status) {
        munmap(memory, bytes);
        return status;
    }
    *communicator = new nccl_opaque{place, bytes, rank, size, std::make_shared<bool>(false)};
    return SUCCESS;
}

EXPORTED int ncclCommAbort(nccl_opaque *communicator) {
    *communicator->left = true; // its memory stays: a piece of work may still hold it
    delete communicator;
    return SUCCESS;
}

EXPORTED int ncclCommDestroy(nccl_opaque *communicator) {
    munmap(communicator->place, communicator->bytes);
    delete communicator;
    return SUCCESS;
}

EXPORTED int ncclCommGetAsyncError(nccl_opaque *communicator, int *state) {
    if (!communicator) return INVALID_ARGUMENT;
    *state = SUCCESS;
    return SUCCESS;
}

EXPORTED int ncclGroupStart() {
    if (waiting.open) return INVALID_USAGE;
    waiting.open = true;
    return SUCCESS;
}

static int add(nccl_opaque *c, int from, int to, const void *sent, void *received, size_t n, int type,
               int peer, cudaStream_t stream) {
    const void *memory = sent ? sent : received;
    if (!waiting.open || !c) return INVALID_USAGE;
    if (type != 0 || peer < 0 || peer >= c->size || peer == c->rank || !emulation::memory_covers(memory, n) ||
        (waiting.stream && waiting.stream != stream))
        return INVALID_ARGUMENT;
    waiting.transfers.push_back({&c->place->rings[from * c->size + to], static_cast<char *>(received),
                                 static_cast<const char *>(sent), n, 0});
    waiting.stream = stream;
    waiting.left = c->left;
    return SUCCESS;
}

EXPORTED int ncclSend(const void *from, size_t n, int type, int peer, nccl_opaque *c, cudaStream_t stream) {
    return add(c, c->rank, peer, from, nullptr, n, type, peer, stream);
}

EXPORTED int ncclRecv(void *to, size_t n, int type, int peer, nccl_opaque *c, cudaStream_t stream) {
    return add(c, peer, c->rank, nullptr, to, n, type, peer, stream);
}

EXPORTED int ncclGroupEnd() {
    if (!waiting.open) return INVALID_USAGE;
    auto all = std::make_shared<group>(std::move(waiting));
    waiting = group();
    if (all->transfers.empty()) return SUCCESS;
    const cudaError_t error = emulation::enqueue_work(all->stream, [all]() -> int {
        bool over = true;
        for (transfer &t : all->transfers) {
            if (!*all->left && t.moved < t.n) move_on(&t);
            over = over && t.moved == t.n;
        }
        return over || *all->left ? emulation::DONE : emulation::NOT_YET;
    });
    return error == cudaSuccess ? SUCCESS : SYSTEM_ERROR;
}
