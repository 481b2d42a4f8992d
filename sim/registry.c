#include <stddef.h>
#include <string.h>

#include "sim/multigrid/grid_model.h"
#include "sim/particle/particle.h"
#include "sim/proof/proof_model.h"
#include "sim/world.h"

/* One line a world. */
static const lud_world *const worlds[] = {
    &lud_multigrid_world,
    &lud_particle_world,
    &lud_proof_world,
    NULL,
};

const lud_world *const *lud_worlds(int *n) {
    *n = (int)(sizeof worlds / sizeof *worlds) - 1;
    return worlds;
}

const lud_world *lud_world_find(const char *name) {
    for (const lud_world *const *world = worlds; *world; world++)
        if (!strcmp((*world)->name, name)) return *world;
    return NULL;
}
