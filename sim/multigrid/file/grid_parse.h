/* Scenario file -> multigrid model, and back.
 *
 * Two formats are read: our own (section `multigrid` and the list `goals`, see docs/scenario-format.md) and,
 * in a file without the line `ludus: 1`, the reference's world files (a map and a few keys at the top level;
 * others ignored). */
#pragma once

#include "base/options/options.h"
#include "sim/multigrid/file/grid_codes.h"
#include "sim/multigrid/file/grid_spec.h"

/* The `parse` and `write` of the world: see sim/world.h. */
lud_status lud_grid_parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                          lud_model **model, lud_error *error);
lud_status lud_grid_write(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error);

/* Reads either format into a spec that lives in `arena`. `seed` is that of random maps where the file names
 * none. */
lud_status lud_grid_spec_read(lud_arena *arena, lud_tree *root, uint64_t seed, lud_grid_spec *spec,
                              lud_error *error);
/* Appends section `multigrid` and list `goals`; they read back as the same spec. */
lud_status lud_grid_spec_write(const lud_grid_spec *spec, lud_arena *arena, lud_tree *root, lud_error *error);

/* A code of the legend, two characters, and what it stands for. */
typedef struct lud_grid_legend {
    const char *code;
    lud_grid_thing thing;
} lud_grid_legend;
/* Reads the legend of the section's options: entries[n] in `arena`. */
lud_status lud_grid_legend_read(lud_arena *arena, const lud_grid_options *options, lud_grid_legend **entries,
                                size_t *n, lud_error *error);
