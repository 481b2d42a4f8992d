/* A random game of tables, solved exactly. */
#pragma once

#include "learn/empo/exact/exact.h"
#include "learn/empo/exact/support_table_world.h"

typedef struct support_solved {
    table_model *m;
    lud_statespace *space;
    lud_empo_problem *problem;
    double *records;
} support_solved;

extern const lud_empo_theory support_theory; /* of all of them */

/* With three actions of an agent and six layers of twelve states; with `skips` successors may lie in any
 * later layer. Fails the test when it cannot. Give it back with support_release. */
support_solved support_solve(uint64_t seed, int n_humans, int n_robots, bool skips);
void support_release(support_solved *s);

/* Its solution as a finished file. */
void support_write(const support_solved *s, const char *path);

/* Equal within 1e-12, relative above 1. */
void support_assert_close(double got, double expected);
