#include "sim/multigrid/grid_model.h"
#include "sim/particle/particle.h"
#include "sim/proof/proof_model.h"
#include "sim/tribes/tribes.h"
#include "sim/world.h"

/* One line a world. */
static const lud_world *const worlds[] = {
    &lud_multigrid_world,
    &lud_particle_world,
    &lud_proof_world,
    &lud_tribes_world,
};

const lud_world *const *lud_worlds(int *n) {
    *n = (int)(sizeof worlds / sizeof *worlds);
    return worlds;
}
