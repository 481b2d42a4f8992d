/* What carries messages between processes: a table that ludus_mpi.so exports, so that one build runs with and
 * without MPI. Calls return immediately; `done` is asked until they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raised by whoever changes this file. */
enum { LUD_RANKS_ABI = 1 };
#define LUD_RANKS_SYMBOL "lud_ranks_backend"

typedef struct lud_ranks_backend {
    uint32_t abi;
    /* Begins; false with a message: it cannot. */
    bool (*open)(int *rank, int *size, char message[256]);
    void (*close)(void);
    /* Ends all processes, with this exit code. */
    void (*abandon)(int code);
    /* One exchange at a time. Counts and offsets are in bytes, [size] each, and below 2^31. */
    bool (*broadcast)(void *bytes, size_t n);
    bool (*gather)(const void *own, size_t n, void *all, const int *counts, const int *offsets);
    bool (*exchange)(const void *from, const int *from_counts, const int *from_offsets, void *to,
                     const int *to_counts, const int *to_offsets);
    /* Whether the exchange is over; false in *well: it failed. */
    bool (*done)(bool *well);
} lud_ranks_backend;
