#include "render/draw.h"

#include <string.h>

#include "render/draw_multigrid.h"
#include "render/draw_particle.h"
#include "render/draw_proof.h"

/* One line a world. */
static const lud_draw_world *const draw_worlds[] = {
    &lud_draw_multigrid,
    &lud_draw_particle,
    &lud_draw_proof,
    NULL,
};

const lud_draw_world *lud_draw_find(const char *world) {
    for (const lud_draw_world *const *w = draw_worlds; *w; w++)
        if (!strcmp((*w)->name, world)) return *w;
    return NULL;
}

lud_status lud_drawing_create(const lud_model *model, lud_drawing **drawing, lud_error *error) {
    const lud_draw_world *kind = lud_draw_find(model->world->name);
    if (!kind)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "worlds of kind `%s` cannot be drawn yet",
                        model->world->name);
    return kind->create(model, drawing, error);
}

void lud_drawing_destroy(lud_drawing *drawing) {
    if (drawing) drawing->kind->destroy(drawing);
}

float lud_eased(float t) {
    return t <= 0 ? 0 : t >= 1 ? 1 : t * t * (3 - 2 * t);
}
