#include "render/worlds/draw_multigrid.h"
#include "render/worlds/draw_particle.h"
#include "render/worlds/draw_proof.h"
#include "render/worlds/draw_tribes.h"

enum { MOST_WORLDS = 32 };

/* One line a world; those that are registered follow. */
static const lud_draw_world *worlds[MOST_WORLDS] = {
    &lud_draw_multigrid,
    &lud_draw_particle,
    &lud_draw_proof,
    &lud_draw_tribes,
};

const lud_draw_world *const *lud_draw_worlds(int *n) {
    for (*n = 0; *n < MOST_WORLDS && worlds[*n];) ++*n;
    return worlds;
}

lud_status lud_draw_register(const lud_draw_world *world, lud_error *error) {
    int n;
    lud_draw_worlds(&n);
    if (n == MOST_WORLDS)
        return lud_fail(error, LUD_ERROR_LIMIT, "world '%s': there are %d already, the most there may be",
                        world->name, n);
    worlds[n] = world;
    return LUD_OK;
}
