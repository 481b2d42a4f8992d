/* From a scenario to a RUN folder with its exact EMPO solution.
 *
 * RUN holds scenario.yaml (effective), solution.empo (learn/empo/exact/solution.h) and summary.json. */
#pragma once

#include "learn/empo/exact/options.h"
#include "learn/empo/exact/solution.h"
#include "learn/runs/lock.h"
#include "sim/scenario.h"
#include "sim/statespace/levels.h"

/* How: with the whole graph, what memory does not hold of it in files; or level by level, with two levels in
 * memory and the graph listed twice, which takes a world that counts its steps. The results are the same. */
typedef enum lud_empo_method { LUD_EMPO_BY_GRAPH, LUD_EMPO_BY_LEVELS } lud_empo_method;

typedef struct lud_empo_solve_options {
    const char *run;        /* folder; made when missing. Null: only for lud_empo_case_open, which then keeps
                               the graph in memory */
    bool resume;            /* take up an unfinished solution */
    lud_empo_method method; /* by levels: needs `run`, and `device` is not used */
    uint64_t
        memory_limit; /* bytes for the graph, 0: three quarters of what is free; the rest goes to files */
    int n_threads;
    FILE *progress;       /* or null */
    lud_device *device;   /* solves the levels if it can; null: the processors */
    bool device_may_fail; /* the processors take over where its memory is too small */
    /* null: one process. By levels only; each solves a stretch of every level, the first has the folder and
     * writes, the others have their levels in a file without a name in TMPDIR (/tmp). */
    struct lud_ranks *ranks;
} lud_empo_solve_options;

/* How large a world turned out to be. */
typedef struct lud_empo_size {
    uint64_t n_states, n_terminal, n_transitions;
    int32_t n_joint_actions;
    uint64_t graph_bytes, graph_file_bytes; /* of the graph, or of the levels' file */
} lud_empo_size;

/* A world, its graph and its problem, ready to be solved. */
typedef struct lud_empo_case {
    const lud_scenario *scenario;
    lud_arena *arena;
    lud_empo_exact_options options;
    lud_empo_policies policies; /* habit and belief, when the options name them */
    lud_statespace *space;      /* null by levels; then these: */
    lud_levels levels;
    lud_level_file *level_file; /* RUN/solution.empo.levels.partial until the solution is there */
    lud_empo_problem *problem;
    double graph_seconds, solve_seconds;
    lud_run_lock lock; /* of RUN */
} lud_empo_case;

/* Reads the options and builds the graph, or finds the levels (the slow part: progress, Ctrl-C, memory
 * limit). With `resume` levels that an ended session has finished are not found again. */
lud_status lud_empo_case_open(const lud_scenario *scenario, const lud_empo_solve_options *options,
                              lud_empo_case *c, lud_error *error);
void lud_empo_case_close(lud_empo_case *c);
lud_empo_size lud_empo_case_size(const lud_empo_case *c);

/* Solves into RUN. The solution is open for reading afterwards; close it with lud_empo_solution_close. Of
 * several processes only the first has one. */
lud_status lud_empo_case_solve(lud_empo_case *c, const lud_empo_solve_options *options,
                               lud_empo_solution **solution, lud_error *error);
