/* What is wrong with a world that is being edited, and how large it is. */
#pragma once

#include "sim/multigrid/edit/grid_edit.h"

typedef struct lud_grid_problem {
    char text[160];
    int x, y;     /* a cell that it is about, -1: none */
    bool refused; /* the world cannot be run like this; else it is only worth knowing */
} lud_grid_problem;

/* Finds at most `most` problems, by looking at the map alone; returns how many. `marked`, [height * width]
 * or null, gets 1 for each cell that should be in a goal and is not. A goal is only said to be out of reach
 * when nothing that may happen lets an agent get there. */
int lud_grid_edit_check(const lud_grid_edit *edit, lud_grid_problem *problems, int most, uint8_t *marked);

/* How many states can be reached, and what cannot, by an estimate and, where that is small, by the states
 * themselves. */
enum { LUD_GRID_STUDIED_STATES = 200000, LUD_GRID_OUT_OF_REACH = 16 };
typedef struct lud_grid_study {
    double states;
    bool exact;         /* they were counted; else it is an estimate, */
    bool lower_bound;   /* which may be far too low */
    bool reach_known;   /* whether goals can be reached was found out */
    int n_out_of_reach; /* goals that no reachable state achieves; at most so many: */
    struct lud_out_of_reach {
        int agent, goal; /* the agent's goal of this number */
    } out_of_reach[LUD_GRID_OUT_OF_REACH];
} lud_grid_study;

/* Of any model with an exact form; takes up to seconds and may run on a thread of its own. */
lud_status lud_grid_study_model(const lud_model *model, lud_grid_study *study, lud_error *error);
