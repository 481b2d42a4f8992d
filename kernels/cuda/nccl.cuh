// The part of NCCL that messages between GPUs need, declared from its binary interface (version 2): neither
// its header nor its library is needed to build, and the library is loaded when processes with GPUs meet.
#pragma once

#include <cuda_runtime.h>

namespace lud_cuda {

struct nccl_id {
    char internal[128];
};
typedef struct nccl_opaque *nccl_communicator;
enum nccl_result { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum nccl_type { NCCL_BYTES = 0 }; // ncclInt8

// X(member, the library's name, arguments)
#define LUD_NCCL_CALLS(X)                                                                                    \
    X(version, ncclGetVersion, (int *version))                                                               \
    X(unique_id, ncclGetUniqueId, (nccl_id * id))                                                            \
    X(open, ncclCommInitRank, (nccl_communicator * communicator, int size, nccl_id id, int rank))            \
    X(close, ncclCommDestroy, (nccl_communicator communicator))                                              \
    X(abort, ncclCommAbort, (nccl_communicator communicator))                                                \
    X(state, ncclCommGetAsyncError, (nccl_communicator communicator, nccl_result * state))                   \
    X(group_start, ncclGroupStart, ())                                                                       \
    X(group_end, ncclGroupEnd, ())                                                                           \
    X(send, ncclSend,                                                                                        \
      (const void *from, size_t n, nccl_type type, int rank, nccl_communicator communicator,                 \
       cudaStream_t stream))                                                                                 \
    X(receive, ncclRecv,                                                                                     \
      (void *to, size_t n, nccl_type type, int rank, nccl_communicator communicator, cudaStream_t stream))

struct nccl_library {
#define LUD_MEMBER(member, name, arguments) nccl_result(*member) arguments;
    LUD_NCCL_CALLS(LUD_MEMBER)
#undef LUD_MEMBER
    const char *(*text)(nccl_result result); // ncclGetErrorString
};

} // namespace lud_cuda
