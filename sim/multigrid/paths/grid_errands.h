/* What robots could do about what is in people's way in a multigrid: open a locked door, fetching its key
 * first, or push a rock on. */
#pragma once

#include "sim/multigrid/paths/grid_paths.h"

enum { LUD_GRID_ERRANDS = 24, LUD_GRID_PUSHES = 3 };

typedef struct lud_grid_errand {
    int32_t cell;  /* of the door or rock */
    int direction; /* in which the rock is pushed; -1: a door is opened */
    int pushes;    /* by how many cells, 1 .. LUD_GRID_PUSHES */
    int actions;   /* that it takes a robot, at least */
} lud_grid_errand;

typedef struct lud_grid_errands {
    int n;
    lud_grid_errand list[LUD_GRID_ERRANDS];
} lud_grid_errands;

/* A robot. */
typedef struct lud_grid_seeker {
    lud_grid_walker walker;
    bool carries;  /* something */
    int32_t place; /* 4 * cell + direction */
} lud_grid_seeker;

/* What a robot could do, the soonest if it is more than LUD_GRID_ERRANDS. words: kernels/grid_code.h. Other
 * agents are taken to step aside, and rocks on the way to keys and doors to give way to who can push them.
 * memory[lud_grid_errands_bytes] is working memory. */
void lud_grid_errands_find(const int32_t *words, int height, int width, const lud_grid_seeker *robot,
                           lud_grid_errands *errands, void *memory);
size_t lud_grid_errands_bytes(int height, int width);

/* Adds what another robot could do; of the same errand the soonest stays. */
void lud_grid_errands_add(lud_grid_errands *errands, const lud_grid_errands *more);

/* The cells that an errand changes, and what their words are then; how many there are. */
int lud_grid_errand_done(const lud_grid_errand *errand, int height, int width, const int32_t *words,
                         int32_t cells[2], int32_t changed[2]);
