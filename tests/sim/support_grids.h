/* Random small grids with every kind of object, and random states of them, reachable or not. */
#pragma once

#include "sim/multigrid/grid_model.h"
#include "sim/multigrid/grid_view.h"

typedef struct random_source {
    uint64_t state;
} random_source;

uint32_t random_below(random_source *source, uint32_t n);
bool random_chance(random_source *source, double probability);

enum { RANDOM_GRID_CELLS = 64, RANDOM_GRID_AGENTS = 4 };

typedef struct random_grid {
    lud_grid_spec spec;
    lud_grid_map map;
    lud_grid_object cells[RANDOM_GRID_CELLS];
    lud_grid_piece pieces[RANDOM_GRID_CELLS];
    lud_grid_agent agents[RANDOM_GRID_AGENTS];
} random_grid;

/* A grid of at most 7x7 with 1 to 4 agents; its pointers point into itself. */
void random_grid_make(random_source *source, random_grid *grid);
/* Moves agents, pieces and conditions of the scene at random: agents anywhere they could stand (two may share
 * a magic wall), pieces on free ground, some carried, some boxes gone. */
void random_scene(random_source *source, const lud_grid_spec *spec, lud_grid_scene *scene, int n_actions);
