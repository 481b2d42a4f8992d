#include "render/viewer/layout.h"

#include <math.h>

/* The overlay's panel takes the lower part of the column and leaves the inspector what it needs. */
static void divide_column(lud_view_layout *l, const lud_canvas *canvas, const lud_stage *stage,
                          bool selected) {
    float wanted = stage->overlay ? lud_overlay_panel_height(stage->overlay, canvas) : 0, pad = 16 * l->scale;
    if (wanted <= 0) return;
    lud_box *column = &l->column;
    float agents = 30 * (float)lud_stage_layout(stage)->n_agents, inspector = selected ? 290 : 195 + agents;
    float height = fminf(wanted, column->h - pad - fminf(inspector * l->scale, column->h * 0.52f));
    l->overlay = (lud_box){column->x, column->y + column->h - height - pad, column->w - pad, height};
    column->h -= height + pad * 0.75f;
}

/* The training's panel takes the upper part of the column. */
static void divide_training(lud_view_layout *l, const lud_canvas *canvas, const lud_view_training *training) {
    const float pad = 16 * l->scale;
    lud_box *column = &l->column;
    const float height = lud_training_panel_height(training, canvas, column->h * 0.45f);
    l->training = (lud_box){column->x, column->y + pad, column->w - pad, height};
    column->y += height + pad;
    column->h -= height + pad;
}

void lud_view_layout_divide(lud_view_layout *l, const lud_canvas *canvas, const lud_stage *stage,
                            const lud_view_training *training, bool panels, bool selected) {
    l->width = lud_canvas_width(canvas);
    l->height = lud_canvas_height(canvas);
    l->scale = lud_canvas_scale(canvas);
    float w = (float)l->width, h = (float)l->height, s = l->scale;
    l->world = (lud_box){0, 0, w, h};
    l->column = l->timeline = l->overlay = l->training = (lud_box){0};
    if (!panels) return;
    float line = fminf(58 * s, h * 0.2f), column = fminf(fmaxf(w / 3, 250 * s), w * 0.5f);
    l->timeline = (lud_box){0, h - line, w, line};
    l->column = (lud_box){w - column, 0, column, h - line};
    l->world = (lud_box){0, 0, w - column, h - line};
    if (training) divide_training(l, canvas, training);
    divide_column(l, canvas, stage, selected);
}

void lud_view_layout_fit(lud_view_layout *l, const lud_drawing *drawing) {
    lud_camera_fit(&l->camera, l->world, drawing->kind->extent(drawing), 18 * l->scale,
                   drawing->kind->whole_cells);
    l->fitted = true;
}

void lud_view_layout_zoom(lud_view_layout *l, float factor, float x, float y) {
    l->fitted = false;
    lud_camera_zoom(&l->camera, factor, x, y);
}

void lud_view_layout_pan(lud_view_layout *l, float dx, float dy) {
    l->fitted = l->follow = false;
    lud_camera_pan(&l->camera, dx, dy);
}
