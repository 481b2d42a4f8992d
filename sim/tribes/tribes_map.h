/* Maps of tribes: as characters, and compiled. One character a cell:
 *
 *   .        ground              g w o  a field of grain, wood, ore
 *   ~        water               A..F   a storehouse of the first .. sixth team
 *   1..6     an agent of the first .. sixth team, on ground */
#pragma once

#include "sim/tribes/tribes.h"

/* A drawn map, a text of lines (blanks in it are ignored) or a list of lines: sets spec->width, height and
 * the one map of spec->maps, in `arena`. Every character is checked against the number of teams. */
lud_status lud_tribes_map_read(lud_arena *arena, lud_tree *node, lud_tribes_spec *spec, lud_error *error);
/* The same back, a list of lines. */
bool lud_tribes_map_write(lud_arena *arena, const lud_tribes_spec *spec, lud_tree *section);

/* Makes spec->generate.maps maps, drawn with spec->generate.seed, in which everybody can get to every field
 * and every storehouse of its team. Sets spec->width, height, n_maps and maps (in `arena`). An error when
 * there is no room for what is asked for. */
lud_status lud_tribes_generate_maps(lud_arena *arena, lud_tribes_spec *spec, lud_error *error);

/* Whether every start, every field and a cell beside every storehouse can be reached from one another on
 * foot; fields and starts are walked over. mark[height * width] and queue[height * width] are scratch. */
bool lud_tribes_is_connected(const char *map, int width, int height, uint8_t *mark, uint16_t *queue);

/* Compiles map `index` of the model's spec into m->maps[index]; n_fields, field_begin, n_agents and
 * team_begin of the model are set and true of every map. False when memory is out. */
bool lud_tribes_map_compile(lud_tribes_model *m, int index);
