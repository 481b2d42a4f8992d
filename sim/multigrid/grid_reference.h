/* The reference's world files (spec of its loader: docs page of the world). */
#pragma once

#include "sim/multigrid/file/grid_spec.h"

/* Reads a file whose top level has the map and a few other keys; keys without meaning here are ignored. */
lud_status lud_grid_reference_read(lud_arena *arena, lud_tree *root, lud_grid_spec *spec, lud_error *error);
