/* The reachable states of a world that counts its steps, level by level, for worlds whose graph is larger
 * than memory.
 *
 * Where states say how many steps have passed, all successors of the states of one level lie in the next, so
 * a state can have been found before only in the level that is being found. Two levels are in memory;
 * finished ones go to a file (sim/levels/level_file.h); transitions are counted and not kept: whoever needs
 * them lists them again. Levels, and the order of states within them, are those of lud_statespace_build. */
#pragma once

#include <stdio.h>

#include "sim/statespace/level_file.h"
#include "sim/statespace/statespace.h"

/* In all levels together; one level has fewer than 2^31. */
#define LUD_LEVELS_MOST_STATES (UINT64_C(1) << 40)

typedef struct lud_levels_options {
    uint64_t seed;         /* key of the reset that draws the first state */
    uint64_t memory_limit; /* bytes; 0: three quarters of the machine's free memory */
    uint64_t bytes_beside; /* what a later sweep holds for each state of two levels, counted against it too */
    lud_level_file *file; /* gets the levels; those it has are not found again. Null: they are only counted */
    int n_threads;        /* 0: OpenMP's default */
    FILE *progress;       /* where progress is shown, or null */
    /* null: one process. Each lists the successors of a stretch of every level, then all have all that were
     * found. The levels of the first one's file are those of all, and every process has a file of its own. */
    struct lud_ranks *ranks;
} lud_levels_options;

typedef struct lud_levels {
    int32_t n_joint_actions;
    int n;
    uint64_t *begin; /* [n + 1] index of each level's first state; free with lud_levels_free */
    uint64_t n_states, n_terminal, n_transitions;
    uint64_t n_before;   /* of the states: found by an earlier session */
    uint64_t peak_bytes; /* memory held at most */
    double seconds;
} lud_levels;

/* Whether the world's states say their step, so that this can be tried. */
bool lud_levels_possible(const lud_model *model);
/* Bytes that the two widest levels will take, after an estimate that may be low (lud_statespace_guess). */
double lud_levels_guess_bytes(const lud_statespace_estimate *estimate, size_t state_bytes,
                              uint64_t bytes_beside);
/* LUD_ERROR_MEMORY, with the estimate, where that passes the options' limit: asked before the work. */
lud_status lud_levels_check_memory(const lud_statespace_estimate *estimate, size_t state_bytes,
                                   const lud_levels_options *options, lud_error *error);
/* Finds them. LUD_ERROR_UNSUPPORTED when the world has no successors, or its states do not count every step;
 * LUD_ERROR_MEMORY when two levels do not fit into the limit, with how far it came; LUD_INTERRUPTED on
 * Ctrl-C; LUD_ERROR_IO. In all cases the file keeps the finished levels. */
lud_status lud_levels_find(const lud_model *model, const lud_levels_options *options, lud_levels *levels,
                           lud_error *error);
void lud_levels_free(lud_levels *levels);
/* Bytes that two neighbouring levels of so many states take while a sweep goes back through them: states,
 * what the sweep holds beside each, and the table that finds those of the later one. */
uint64_t lud_levels_sweep_bytes(uint64_t n_states, uint64_t n_next, size_t state_bytes,
                                uint64_t bytes_beside);
