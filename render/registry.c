#include "render/worlds/draw_multigrid.h"
#include "render/worlds/draw_particle.h"
#include "render/worlds/draw_proof.h"
#include "render/worlds/draw_tribes.h"

/* One line a world. */
static const lud_draw_world *const worlds[] = {
    &lud_draw_multigrid,
    &lud_draw_particle,
    &lud_draw_proof,
    &lud_draw_tribes,
};

const lud_draw_world *const *lud_draw_worlds(int *n) {
    *n = (int)(sizeof worlds / sizeof *worlds);
    return worlds;
}
