/* How far people have to walk, as inputs of networks: what a network of V_h^e or V_r would have to find out
 * about every map and every arrangement of doors and rocks is computed, and what is left for it to learn
 * changes little from one to the next.
 *
 * Three walks are looked at for each person and goal: as everything lies; as if every door, rock and thing
 * that lies about were out of the way; and after an errand of a robot (sim/multigrid/paths/grid_errands.h),
 * the one that makes the most of V_r, not sooner than the robot is done. Nobody else moves. A walk of d
 * actions (turns, steps, opening of doors that are closed or that the person has the key to) within the
 * remaining steps is worth gamma_h^(d - 1), as V_h^e would be if that were all; from these follow X_h and U_r
 * by equations (7) and (8), for each remaining step, and what V_r would be for each of them if everybody
 * stayed where they are, or if a robot ran its errand and then stayed.
 *
 * Of robots it is told how soon one of them could push a rock or open a locked door of each colour, fetching
 * its key first. */
#pragma once

#include "learn/empo/memory/features.h"

/* Numbers for a person's goal: worth of the three walks, how near the goal is, how much time they leave. The
 * first is an estimate of V_h^e. */
enum { LUD_EMPO_GOAL_PATHS = 9, LUD_EMPO_ALONE = 0 };

/* What they follow from. */
typedef struct lud_empo_walk {
    bool read; /* false: networks read none of this */
    double gamma_h, gamma_r, zeta, xi, eta;
    double power_floor; /* least X_h, above 0 */
    bool mean;          /* U_r is of the mean over people, else of the sum */
} lud_empo_walk;

/* Numbers for a state: ln(-V_r) for each remaining step under the three walks, ln X_h for each person, and
 * how near robots are to doing something about what is in the way; scaled to about -1 .. 1. */
int64_t lud_empo_state_paths(int n_humans);

typedef struct lud_empo_paths lud_empo_paths;
/* Null when memory is out; the features must outlive it. For one thread at a time. */
lud_empo_paths *lud_empo_paths_create(const lud_empo_features *features, const lud_empo_walk *walk);
void lud_empo_paths_destroy(lud_empo_paths *paths);
/* of_goals[layout.n_goals][LUD_EMPO_GOAL_PATHS] and of_state[lud_empo_state_paths] from a record. Returns
 * ln(-V_r) for each remaining step with the best errand, or none, as it is. */
float lud_empo_paths_find(lud_empo_paths *paths, const int32_t *record, float *of_goals, float *of_state);
