/* Random maps.
 *
 * Every draw is keyed by (seed, map number, attempt), so the same options give the same maps everywhere, and
 * map k does not depend on how many maps there are.
 *
 * With `solvable`, a map is kept only when every human, alone and with nobody in its way, can get to every
 * room and every goal object without pushing anything, crossing lava or relying on luck, unlocking doors with
 * keys that it carries one at a time and puts down where they leave everything else within reach. Unsteady
 * ground counts as passable; with random starts the same holds from every free cell. */
#pragma once

#include "sim/multigrid/file/grid_options.h"

/* Section -> options; `seed` where the section has none. */
lud_status lud_grid_generate_read(lud_arena *arena, lud_tree *section, uint64_t seed,
                                  lud_grid_generate *generate, lud_error *error);
/* Appends the section. */
lud_status lud_grid_generate_write(const lud_grid_generate *generate, lud_arena *arena, lud_tree *out,
                                   lud_error *error);

/* Makes spec->n_maps maps as spec->generate says; fills width, height, n_agents and maps (in `arena`). Roles,
 * capabilities and chances come from `options`. An error when an option cannot be met or no attempt was
 * solvable. */
lud_status lud_grid_generate_maps(lud_arena *arena, const lud_grid_options *options, lud_grid_spec *spec,
                                  lud_error *error);

/* Whether every human of the map can get everywhere in the sense above. `room` numbers the cells of rooms
 * from 1, 0 elsewhere; null: only goal objects count. Fails only when memory is out. */
lud_status lud_grid_is_solvable(const lud_grid_spec *spec, const lud_grid_map *map, const int *room,
                                bool *answer, lud_error *error);
