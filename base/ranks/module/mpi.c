/* Messages by MPI: the module ludus_mpi.so. */
#include <mpi.h>
#include <stdio.h>

#include "base/ranks/backend.h"

static MPI_Request request = MPI_REQUEST_NULL;

static bool begin(int *rank, int *size, char message[256]) {
    int given = MPI_THREAD_SINGLE, length = 0,
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
    if (code == MPI_SUCCESS && given >= MPI_THREAD_FUNNELED) return true;
    char text[MPI_MAX_ERROR_STRING] = "it does not let a program have threads";
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    snprintf(message, 256, "%.200s", text);
    return false;
}

static void finish(void) {
    MPI_Finalize();
}

static void abandon(int code) {
    MPI_Abort(MPI_COMM_WORLD, code);
}

static bool broadcast(void *bytes, size_t n) {
    return MPI_Ibcast(bytes, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS;
}

static bool gather(const void *own, size_t n, void *all, const int *counts, const int *offsets) {
    return MPI_Iallgatherv(own, (int)n, MPI_BYTE, all, counts, offsets, MPI_BYTE, MPI_COMM_WORLD, &request) ==
           MPI_SUCCESS;
}

static bool exchange(const void *from, const int *from_counts, const int *from_offsets, void *to,
                     const int *to_counts, const int *to_offsets) {
    return MPI_Ialltoallv(from, from_counts, from_offsets, MPI_BYTE, to, to_counts, to_offsets, MPI_BYTE,
                          MPI_COMM_WORLD, &request) == MPI_SUCCESS;
}

static bool done(bool *well) {
    int over = 0;
    *well = MPI_Test(&request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    return over || !*well;
}

extern const lud_ranks_backend lud_ranks_backend_table __asm__(LUD_RANKS_SYMBOL);
const lud_ranks_backend lud_ranks_backend_table = {.abi = LUD_RANKS_ABI,
                                                   .open = begin,
                                                   .close = finish,
                                                   .abandon = abandon,
                                                   .broadcast = broadcast,
                                                   .gather = gather,
                                                   .exchange = exchange,
                                                   .done = done};
