#include "render/viewer/layout.h"

#include <math.h>
#include <string.h>

#include "render/sides_draw.h"

/* Which panels are there, and how much of a column of this height they would like. */
static lud_column_wishes wishes_of(const lud_canvas *canvas, const lud_compared *compared,
                                   const lud_view_training *training, const lud_view_panels *panels,
                                   float column, bool selected) {
    const lud_stage *stage = &compared->stages[compared->chosen];
    const float s = lud_canvas_scale(canvas), agents = 30 * (float)lud_stage_layout(stage)->n_agents;
    lud_column_wishes w = {0};
    if (training && panels->training)
        w.height[LUD_PANEL_TRAINING] = lud_training_panel_height(training, canvas, column * 0.45f);
    if (compared->n > 1 && !stage->apart && panels->comparison)
        w.height[LUD_PANEL_COMPARISON] = lud_comparison_panel_height(compared, canvas, column * 0.5f);
    if (stage->overlay && panels->overlay)
        w.height[LUD_PANEL_OVERLAY] = lud_overlay_panel_height(stage->overlay, canvas);
    if (panels->inspector) w.height[LUD_PANEL_INSPECTOR] = (selected ? 290 : 195 + agents) * s;
    for (int k = 0; k < LUD_PANELS; k++) w.there[k] = w.height[k] > 0;
    return w;
}

/* Pixels of the column's width, 0: nothing of it is shown. */
static float column_width(const lud_view_layout *l, const lud_column_wishes *wishes,
                          const lud_view_panels *panels) {
    const float w = (float)l->width;
    bool any = false;
    for (int k = 0; k < LUD_PANELS; k++) any = any || wishes->there[k];
    if (!any) return 0;
    return panels->width > 0 ? w * (float)panels->width : fminf(fmaxf(w / 3, 250 * l->scale), w * 0.5f);
}

/* Column and time line take their parts of the canvas, the caption its own below all. */
static void divide_panels(lud_view_layout *l, const lud_canvas *canvas, const lud_compared *compared,
                          const lud_view_training *training, const lud_view_panels *panels, float caption,
                          bool selected) {
    l->width = lud_canvas_width(canvas);
    l->height = lud_canvas_height(canvas);
    l->scale = lud_canvas_scale(canvas);
    float w = (float)l->width, h = (float)l->height - caption, s = l->scale;
    l->world = (lud_box){0, 0, w, h};
    l->caption = (lud_box){0, h, w, caption};
    l->timeline = (lud_box){0};
    l->column = (lud_column){0};
    memset(l->compared, 0, sizeof l->compared);
    if (!panels) return;
    const float line = panels->timeline ? fminf(58 * s, h * 0.2f) : 0;
    const lud_column_wishes wishes = wishes_of(canvas, compared, training, panels, h - line, selected);
    const float column = column_width(l, &wishes, panels);
    if (line > 0) l->timeline = (lud_box){0, h - line, w, line};
    l->world = (lud_box){0, 0, w - column, h - line};
    lud_column_divide(&l->column, canvas, (lud_box){w - column, 0, column, h - line}, w, &wishes, panels);
}

/* Worlds side by side in what the panels leave. */
static void divide_world(lud_view_layout *l, const lud_canvas *canvas, const lud_stage *first) {
    const lud_drawing *drawing = first->drawing;
    const float heading = l->n == 1      ? 0
                          : first->apart ? (float)lud_sides_label_height(canvas)
                                         : (float)lud_sides_heading_height(canvas);
    lud_box boxes[LUD_SIDES];
    l->lead = 0;
    lud_sides_divide(l->n, drawing->kind->extent(drawing), l->world, heading, boxes);
    for (int k = 0; k < l->n; k++) {
        const lud_box b = boxes[k];
        l->heading[k] = (lud_box){b.x, b.y, b.w, heading};
        l->side[k] = (lud_box){b.x, b.y + heading, b.w, b.h - heading};
    }
}

/* One of several in all that the panels leave. */
static void show_alone(lud_view_layout *l, int chosen) {
    lud_box whole[LUD_SIDES]; /* as of one that is alone */
    memset(l->heading, 0, sizeof l->heading);
    memset(l->side, 0, sizeof l->side);
    lud_sides_grid(1, 1, l->world, whole);
    l->side[chosen] = whole[0];
    l->lead = chosen;
}

void lud_view_layout_spread(lud_view_layout *l) {
    for (int k = 0; k < l->n; k++) {
        l->cameras[k] = l->camera;
        if (k != l->lead) lud_camera_set_viewport(&l->cameras[k], l->side[k]);
    }
}

void lud_view_layout_divide(lud_view_layout *l, const lud_canvas *canvas, const lud_compared *compared,
                            const lud_view_training *training, const lud_view_panels *panels, bool alone,
                            bool fresh, float caption, bool selected) {
    l->n = compared->n;
    divide_panels(l, canvas, compared, training, panels, caption, selected);
    if (fresh) l->world.h -= 24 * l->scale; /* room for the line of keys */
    if (alone)
        show_alone(l, compared->chosen);
    else
        divide_world(l, canvas, &compared->stages[0]);
}

void lud_view_layout_fit(lud_view_layout *l, const lud_drawing *drawing) {
    const bool stays = l->follow && !l->at_once;
    const float x = l->camera.centre[0], y = l->camera.centre[1];
    lud_camera_fit(&l->camera, l->side[l->lead], drawing->kind->extent(drawing), 18 * l->scale,
                   drawing->kind->whole_cells);
    if (stays)
        lud_camera_look(&l->camera, l->zoom, x, y);
    else if (l->centred)
        lud_camera_look(&l->camera, l->zoom, l->centre[0], l->centre[1]);
    else if (l->zoom != 1)
        lud_camera_look(&l->camera, l->zoom, l->camera.centre[0], l->camera.centre[1]);
    l->fitted = true;
}

void lud_view_layout_fit_whole(lud_view_layout *l, const lud_drawing *drawing) {
    l->follow = l->centred = false;
    l->zoom = 1;
    lud_view_layout_fit(l, drawing);
}

void lud_view_layout_fit_next(lud_view_layout *l) {
    l->follow = l->centred = false;
    l->zoom = 1;
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
