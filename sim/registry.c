#include "sim/multigrid/grid_model.h"
#include "sim/particle/particle.h"
#include "sim/proof/proof_model.h"
#include "sim/tribes/tribes.h"
#include "sim/world.h"

enum { MOST_WORLDS = 32 };

/* One line a world; those that are registered follow. */
static const lud_world *worlds[MOST_WORLDS] = {
    &lud_multigrid_world,
    &lud_particle_world,
    &lud_proof_world,
    &lud_tribes_world,
};

const lud_world *const *lud_worlds(int *n) {
    for (*n = 0; *n < MOST_WORLDS && worlds[*n];) ++*n;
    return worlds;
}

lud_status lud_world_register(const lud_world *world, lud_error *error) {
    int n;
    if (lud_world_find(world->name))
        return lud_invalid(error, "world '%s': there is one of this name", world->name);
    lud_worlds(&n);
    if (n == MOST_WORLDS)
        return lud_fail(error, LUD_ERROR_LIMIT, "world '%s': there are %d already, the most there may be",
                        world->name, n);
    worlds[n] = world;
    return LUD_OK;
}
