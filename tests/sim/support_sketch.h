/* Small grids drawn in text, for tests of single rules. */
#pragma once

#include "sim/multigrid/grid_model.h"
#include "sim/multigrid/grid_view.h"

enum { SKETCH_CELLS = 256 };

typedef struct sketch {
    lud_grid_spec spec;
    lud_grid_map map;
    lud_grid_object cells[SKETCH_CELLS];
    lud_grid_piece pieces[SKETCH_CELLS];
    lud_grid_agent agents[16];
} sketch;

/* Rows of one letter a cell:
 *   # wall  . empty  ~ unsteady  M magic wall of all sides  D closed  O open  L locked red door  * bush  l
 * lava  g goal K kill button  P pause switch  C control button  B block  R rock  k red key  b red ball  x red
 * box y e r  yellow, grey, red agent, facing as the letters of `facing` say (e s w n, in reading order) Grey
 * agents push rocks; every agent can enter magic walls when `magic`. The spec can be changed before the model
 * is made. Object actions, 100 steps. */
void sketch_draw(sketch *s, const char *const *rows, const char *facing, bool magic);
/* The model; fails the test on an error. */
lud_model *sketch_model(const sketch *s);
