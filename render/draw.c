#include "render/draw.h"

#include <string.h>

const lud_draw_world *lud_draw_find(const char *world) {
    int n;
    const lud_draw_world *const *worlds = lud_draw_worlds(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(worlds[i]->name, world)) return worlds[i];
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
