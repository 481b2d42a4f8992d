/* Processes that do one job together, on one machine or on many.
 *
 * All of them run the same program on the same input and hold the same state; what is heavy is cut into
 * parts, each process computes its own, and they exchange what came out. What they add up is added in an
 * order that does not depend on their number, so results are the same bytes for any number of processes.
 *
 * They are started by a launcher of MPI (`mpirun -n 4 ludus train ...`, `srun ...`); messages go through
 * ludus_mpi.so, which is loaded only then. A null `lud_ranks` everywhere stands for one process alone.
 *
 * Calls that exchange something are made by all processes, in the same order, from one thread. They return
 * the same status everywhere: LUD_INTERRUPTED when a stop was asked for and the others do not answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ranks/memory.h"
#include "base/status.h"

typedef struct lud_ranks lud_ranks;
/* More are refused. */
enum { LUD_RANKS_MOST = 4096 };

/* What a launcher has started: *ranks is null for one process alone. LUD_ERROR_UNSUPPORTED when several were
 * started and this build cannot let them talk. */
lud_status lud_ranks_open(lud_ranks **ranks, lud_error *error);
/* Ends what is between the processes; null is allowed. A `status` that the others do not know of ends all of
 * them at once. */
void lud_ranks_close(lud_ranks *ranks, lud_status status);

/* The environment of this process without what launchers have put there, for a program that it starts alone:
 * an array that ends with null, in the arena; null when memory is out. */
struct lud_arena;
char **lud_ranks_plain_environment(struct lud_arena *arena);

/* Which one of how many: 0 and 1 for null. The first one writes files and talks to the user. */
int lud_ranks_rank(const lud_ranks *ranks);
int lud_ranks_size(const lud_ranks *ranks);
/* Which one among the processes of its machine. */
int lud_ranks_place(const lud_ranks *ranks);
/* Whether a process runs on the machine of the first one. */
bool lud_ranks_near(const lud_ranks *ranks, int rank);
/* Whether of[size] holds of all processes but the first. */
bool lud_ranks_all(const lud_ranks *ranks, const bool *of);
/* Whether this is the process that writes. */
bool lud_ranks_leads(const lud_ranks *ranks);
/* Processor cores for each process of this machine: those that its launcher gave it, shared with the
 * processes that were given the same; 0 where that is not known. */
int lud_ranks_threads(const lud_ranks *ranks);
/* Bytes that this process has sent, and exchanges it was part of. */
void lud_ranks_traffic(const lud_ranks *ranks, uint64_t *bytes, uint64_t *exchanges);

/* Whether all are well: the status and the message of the first process that is not, everywhere. */
lud_status lud_ranks_agree(lud_ranks *ranks, lud_status status, lud_error *error);
/* The same as a last word, by a process that fails where the others may not expect it: they are waited for no
 * longer than two seconds. */
lud_status lud_ranks_give_up(lud_ranks *ranks, lud_status status, lud_error *error);
/* The status that lud_ranks_agree gave last was a failure: everybody knows, one of them tells. */
bool lud_ranks_agreed_to_fail(const lud_ranks *ranks);
/* An exchange was left, since others are gone or do not answer: there can be no other. */
bool lud_ranks_parted(const lud_ranks *ranks);
/* bytes[n] of the first process, everywhere. */
lud_status lud_ranks_broadcast(lud_ranks *ranks, void *bytes, size_t n, lud_error *error);

/* An array [n_slots][n_items] of items, of which each process has computed some of every slot. */
typedef struct lud_ranks_array {
    void *items;
    size_t item_bytes;
    int64_t n_slots, n_items;
} lud_ranks_array;
/* Completes arrays: each process has the items of its shares (below) in every slot; afterwards everybody has
 * all. Arrays without items (null) are passed over. */
lud_status lud_ranks_complete(lud_ranks *ranks, const lud_ranks_array *arrays, int n, int n_shares,
                              lud_error *error);
/* Completes items[n_items] for the first process alone; the others keep what they have. Nothing is sent by
 * processes whose items come there by themselves: there[size], the same everywhere; null: none does. */
lud_status lud_ranks_collect(lud_ranks *ranks, void *items, size_t item_bytes, int64_t n_items, int n_shares,
                             const bool *there, lud_error *error);
/* Lists of different length, one behind the other in the order of the processes: `own` of n items becomes
 * all[*n_all], which has room for `capacity` and may be `own` where there is one process; LUD_ERROR_LIMIT
 * when that is too small. */
lud_status lud_ranks_join_lists(lud_ranks *ranks, const void *own, int64_t n, size_t item_bytes, void *all,
                                int64_t capacity, int64_t *n_all, lud_error *error);
/* A list for each process: items begin[k] .. begin[k + 1] of `own` go to process k (begin[size + 1]). First
 * came[size + 1] says where those of process k will begin in what comes; then all[came[size]] is filled. */
lud_status lud_ranks_count_lists(lud_ranks *ranks, const int64_t *begin, int64_t *came, lud_error *error);
lud_status lud_ranks_exchange_lists(lud_ranks *ranks, const void *own, const int64_t *begin,
                                    size_t item_bytes, void *all, const int64_t *came, lud_error *error);
/* For tests: exchanges of lists are cut where they have more bytes. */
void lud_ranks_limit(lud_ranks *ranks, int most_bytes);

/* Shares are the parts that a sum is cut into, however many processes compute them. Share s of `n_shares` has
 * items lud_share_begin(n_items, n_shares, s) up to that of s + 1. */
int64_t lud_share_begin(int64_t n_items, int n_shares, int share);
int lud_share_of(int64_t n_items, int n_shares, int64_t item);
/* The first share of process r; those of r end where those of r + 1 begin. */
int lud_ranks_first_share(const lud_ranks *ranks, int n_shares, int rank);
/* The first item of process r's shares; its items end where those of r + 1 begin. */
int64_t lud_ranks_first_item(const lud_ranks *ranks, int64_t n_items, int n_shares, int rank);
/* LUD_ERROR_INPUT unless every process has the same number of shares, at least one. */
lud_status lud_ranks_check_shares(const lud_ranks *ranks, int n_shares, lud_error *error);
/* sum[n] = shares[0] + ... + shares[n_shares - 1], added in pairs along a binary tree over the shares
 * (halves, the larger half first), which the number of processes does not change. `own` holds this process'
 * shares, [own shares][n], and is overwritten; `sum` may be own's first. Both lie in `memory`; null: the
 * host's. */
lud_status lud_ranks_add(lud_ranks *ranks, const lud_ranks_memory *memory, int n_shares, int64_t n,
                         float *own, float *sum, lud_error *error);
