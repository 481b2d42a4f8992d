/* Multigrid models for the tests of render/, from maps in the two-letter notation. */
#pragma once

#include "sim/world.h"

/* Rows of two-letter cells separated by newlines. Agents: Ae is a grey robot, Ay a yellow person, Ab another,
 * all facing east. Fails the running test when the map is wrong. Destroy with model->world->free. */
lud_model *support_grid(const char *map, int max_steps);

extern const char support_everything[]; /* a map with every kind of object */
extern const char support_rooms[];      /* a robot, a person, a locked door and its key */
