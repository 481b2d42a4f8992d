/* The exact EMPO sweep for worlds whose graph memory does not hold: successors are not read but listed again,
 * and found by a table of the next level's states alone. Two levels are in memory. The records are, byte for
 * byte, those of lud_empo_solve. */
#pragma once

#include "learn/empo/exact/exact.h"

/* Levels as sim/levels finds them: successors of the states of one are in the next, states lie by level. */
typedef struct lud_empo_layers {
    int n;
    const uint64_t *begin; /* [n + 1] */
    const uint8_t *states; /* [begin[n]][state_bytes] of the problem's model */
} lud_empo_layers;

/* Solves a problem made by lud_empo_problem_of_model into run->records, from run->first_level back.
 * run->device is not used. LUD_ERROR_INPUT too when a successor is not in the next level: these are not the
 * world's states.
 */
lud_status lud_empo_solve_levels(const lud_empo_problem *problem, const lud_empo_layers *layers,
                                 const lud_empo_run *run, lud_error *error);
/* Bytes it holds for each state of two levels, beside their states and the table (lud_levels_sweep_bytes). */
uint64_t lud_empo_level_bytes_beside(const lud_empo_layout *layout);
