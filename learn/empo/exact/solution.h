/* The solution of a world as one file, mapped into memory.
 *
 *   bytes 0..4095   header (struct lud_empo_header, little endian); the last 64 are a text, the key of the
 * settings that made it (learn/runs/settings.h), empty where it is not known layer_begin     uint64[n_layers
 * + 1] states          uint8[n_states][state_bytes], sorted within each layer records
 * double[n_states][record_doubles], parts at the offsets that the header names checksums uint64[blocks], XXH3
 * of each block of block_bytes of the records, the last may be shorter
 *
 * Every part begins at a multiple of 4096, with zeros between them. Opening checks everything but the records
 * of large files, which lud_empo_solution_verify does. While a solution is computed the file is called
 * FILE.partial and its header says which levels are finished; it is renamed when all are. */
#pragma once

#include "learn/empo/exact/exact.h"

typedef struct lud_empo_header {
    char magic[8];                /* "LUDEMPO" and a zero byte */
    uint32_t version, byte_order; /* 2, 0x01020304 */
    uint64_t n_states, n_layers, state_bytes, record_doubles;
    uint64_t layers_at, states_at, records_at, file_bytes; /* offsets and length in bytes */
    uint64_t states_hash; /* XXH3 of layer_begin and states: resuming needs the same ones */
    int64_t first_level;  /* levels from this one on are finished; 0: all; n_states: none */
    uint32_t n_humans, n_robots, n_goals, n_robot_actions, n_policies;
    uint32_t v_r, u_r, x_h, v_h_e, v_h_m, q_r, pi_r, policies; /* offsets into a record, in doubles */
    uint32_t optimistic, aggregate, reward_weight;
    double beta_h, gamma_h, nu_h, gamma_r, beta_r, zeta, xi, eta, terminal_value;
    uint64_t checksums_at, block_bytes;
    uint64_t checksums_hash; /* XXH3 of the checksums, once all levels are finished */
    uint64_t header_hash;    /* XXH3 of the first 4096 bytes with zeros in its place, likewise */
} lud_empo_header;

typedef struct lud_empo_solution {
    char *path; /* where it will be, or is */
    bool partial;
    int descriptor;
    int n_sharers; /* beside the first owner; the last of all closes it */
    uint64_t bytes;
    lud_empo_header *header; /* the mapping's first byte */
    const uint64_t *layer_begin;
    const uint8_t *states;
    double *records;
} lud_empo_solution;

/* The states of a solution, where not all of them are in memory. */
typedef struct lud_empo_states {
    uint64_t n_states;
    int n_layers;
    const uint64_t *layer_begin; /* [n_layers + 1]; successors of a layer's states are all in the next */
    /* Reads the states of a layer: states[layer_begin[layer + 1] - layer_begin[layer]][state_bytes]. */
    lud_status (*read)(void *context, int layer, uint8_t *states, lud_error *error);
    void *context;
} lud_empo_states;

/* A new file PATH.partial of full size with header and states in place, no level finished. With `resume` an
 * existing partial file of the same problem is taken up instead (one of another problem is an error; one
 * whose writer was ended before it had its header is begun anew). */
lud_status lud_empo_solution_create(const char *path, const lud_empo_problem *problem, bool resume,
                                    lud_empo_solution **solution, lud_error *error);
/* The same for a problem without a state space; it has these states. */
lud_status lud_empo_solution_create_from(const char *path, const lud_empo_problem *problem,
                                         const lud_empo_states *states, bool resume,
                                         lud_empo_solution **solution, lud_error *error);
/* The same in this process' memory, for one that solves beside others: there is no file, and what is released
 * is forgotten. Records take memory from when they are written until they are released. */
lud_status lud_empo_solution_create_beside(const lud_empo_problem *problem, const lud_empo_states *states,
                                           lud_empo_solution **solution, lud_error *error);
/* The very file that a process of this machine, which goes on to write it, has created: what one writes in
 * records the other reads. `device` and `inode` are that file's; null, without an error, where PATH.partial
 * is another, or cannot be opened. Closing leaves the file to its writer. */
lud_status lud_empo_solution_join(const char *path, uint64_t device, uint64_t inode,
                                  lud_empo_solution **solution, lud_error *error);
/* Which file a solution is, for that. */
lud_status lud_empo_solution_file(const lud_empo_solution *solution, uint64_t *device, uint64_t *inode,
                                  lud_error *error);
/* Notes in the file that levels from `level` on are finished, after their records have reached the disk. */
lud_status lud_empo_solution_finish_level(lud_empo_solution *solution, int level, lud_error *error);
/* The records of a layer are not needed in memory for now: they stay in the file and come back when read. */
void lud_empo_solution_release(lud_empo_solution *solution, uint64_t layer);
/* The same of the records of states begin .. end - 1, and of the states of a layer. */
void lud_empo_solution_release_records(lud_empo_solution *solution, uint64_t begin, uint64_t end);
void lud_empo_solution_release_states(lud_empo_solution *solution, uint64_t layer);
/* All levels are done: flushes and renames. `key` of the settings that made it; null: not known. */
lud_status lud_empo_solution_commit(lud_empo_solution *solution, const char *key, lud_error *error);
/* That key, empty where the file has none. */
const char *lud_empo_solution_key(const lud_empo_solution *solution);
/* Maps a complete file for reading; a truncated, foreign or damaged one is an error that says so. Records of
 * more than 64 MiB are not looked at. */
lud_status lud_empo_solution_open(const char *path, lud_empo_solution **solution, lud_error *error);
/* Reads all records: whether they are as they were written, and whether their values can be: none is NaN,
 * chances are between 0 and 1, power is not negative. */
lud_status lud_empo_solution_verify(const lud_empo_solution *solution, lud_error *error);
/* One more owner, who closes it too. */
lud_empo_solution *lud_empo_solution_share(lud_empo_solution *solution);
/* Removes the unfinished file. Null is allowed. */
void lud_empo_solution_discard(lud_empo_solution *solution);
void lud_empo_solution_close(lud_empo_solution *solution);

/* Number of a state, UINT64_MAX when the solution does not have it. */
uint64_t lud_empo_solution_find(const lud_empo_solution *solution, const uint8_t *state);
static inline const double *lud_empo_solution_record(const lud_empo_solution *solution, uint64_t state) {
    return solution->records + state * solution->header->record_doubles;
}
