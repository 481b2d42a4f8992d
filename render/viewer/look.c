#include "render/viewer/look.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "render/record.h"
#include "render/viewer/remembered.h"
#include "render/viewer/viewer_parts.h"

/* The view as text, to be compared; null where there is no memory for it. Freed by the caller. */
static char *told(const lud_view_section *view) {
    char *text, *kept = NULL;
    size_t length;
    lud_arena *arena = lud_arena_create(0);
    if (arena && !lud_view_section_write(arena, view, &text, &length, NULL)) kept = strdup(text);
    lud_arena_destroy(arena);
    return kept;
}

static void apply_camera(lud_view_layout *l, const lud_view_camera *camera) {
    l->fitted = l->at_once = true;
    l->follow = camera->follow;
    l->zoom = camera->zoom;
    l->centred = camera->centre.n == 2;
    for (size_t k = 0; k < camera->centre.n; k++) l->centre[k] = (float)camera->centre.items[k];
}

/* Whether a scenario, its view file or a flag says how panels are. */
static bool says_panels(const lud_scenario *scenario) {
    lud_tree *view = lud_tree_find(scenario->root, "view");
    return view && view->kind == LUD_TREE_MAPPING && lud_tree_find(view, "panels");
}

void lud_look_apply(lud_viewer *v) {
    const lud_view_section *view = &v->stages[0].scenario->view;
    lud_view_panels remembered = view->panels;
    const lud_view_panels *panels = &remembered;
    lud_error error = {0};
    v->remembers = v->options->remembered && !says_panels(v->stages[0].scenario);
    if (v->remembers && lud_remembered_read(v->options->remembered, &remembered, &error))
        lud_message_error(&v->message, 15, &error);
    const bool fixed = panels->show != LUD_VIEW_USUALLY || view->caption.show == LUD_VIEW_ALWAYS;
    v->panels = *panels;
    v->playback.speed = view->speed;
    lud_viewer_set_scale(v, view->scale > 0 ? (float)view->scale : 1);
    v->first_scale = v->scale;
    v->selection.agent = (int)view->agent;
    v->selection.cell = view->agent < 0 && view->cell.n == 2;
    if (v->selection.cell) {
        v->selection.cell_x = (int)view->cell.items[0];
        v->selection.cell_y = (int)view->cell.items[1];
    }
    v->shown = (lud_shown){.theme = (lud_theme_name)view->theme,
                           .fresh = !fixed && !v->options->playing && !v->options->training,
                           .panels = panels->show != LUD_VIEW_NEVER,
                           .goals = view->goals,
                           .labels = view->labels,
                           .motion = view->motion,
                           .successors = view->successors,
                           .caption = view->caption.show == LUD_VIEW_ALWAYS};
    apply_camera(&v->layout, &view->camera);
    for (int k = 0; k < v->n_stages; k++)
        if (v->stages[k].overlay) lud_overlay_show(v->stages[k].overlay, lud_overlay_parts(&view->overlay));
    free(v->look);
    v->look = told(view);
}

void lud_look_follow(lud_viewer *v) {
    char *now = told(&v->stages[0].scenario->view);
    const bool same = now && v->look && strcmp(now, v->look) == 0;
    free(now);
    if (!same) lud_look_apply(v);
}

/* Where the camera looks, as it is found again in a picture of the same size. */
static void tell_camera(const lud_viewer *v, lud_view_camera *camera, double centre[2]) {
    const lud_view_layout *l = &v->layout;
    camera->follow = l->follow && v->selection.agent >= 0;
    camera->centre = (lud_real_list){0};
    if (l->fitted) {
        camera->zoom = l->zoom;
    } else {
        lud_view_layout whole = *l;
        whole.zoom = 1;
        whole.centred = false;
        lud_view_layout_fit(&whole, v->stages[0].drawing);
        camera->zoom = (double)l->camera.scale / (double)whole.camera.scale;
    }
    if (camera->follow || (l->fitted && !l->centred)) return;
    for (int k = 0; k < 2; k++) centre[k] = (double)(l->fitted ? l->centre[k] : l->camera.centre[k]);
    camera->centre = (lud_real_list){centre, 2};
}

static void tell_overlay(const lud_viewer *v, lud_view_overlay *shown) {
    const lud_overlay *overlay = NULL;
    for (int k = 0; k < v->n_stages && !overlay; k++) overlay = v->stages[k].overlay;
    if (!overlay) return; /* as it was asked for */
    const int parts = lud_overlay_shown(overlay);
    *shown =
        (lud_view_overlay){parts & LUD_OVERLAY_VALUES, parts & LUD_OVERLAY_ARROWS, parts & LUD_OVERLAY_BARS,
                           parts & LUD_OVERLAY_TRACE, parts & LUD_OVERLAY_EDGES};
}

lud_status lud_look_write(const lud_viewer *v, const char *path, lud_error *error) {
    const lud_view_layout *l = &v->layout;
    const float density = l->magnified > 0 ? l->scale / l->magnified : 1;
    int64_t size[2] = {2 * lroundf((float)l->width / density * 0.5f),
                       2 * lroundf((float)l->height / density * 0.5f)},
            cell[2] = {v->selection.cell_x, v->selection.cell_y};
    double centre[2];
    lud_view_section view = v->stages[0].scenario->view;
    view.theme = (int)v->shown.theme;
    view.speed = v->playback.speed;
    view.motion = v->shown.motion;
    view.goals = v->shown.goals;
    view.labels = v->shown.labels;
    view.successors = v->shown.successors;
    view.size = (lud_int_list){size, l->width > 0 ? 2 : 0};
    view.scale = (double)v->scale;
    view.agent = v->selection.agent;
    view.cell = (lud_int_list){cell, v->selection.cell ? 2 : 0};
    view.panels = v->panels;
    view.panels.show = v->shown.panels && !v->shown.fresh ? LUD_VIEW_ALWAYS : LUD_VIEW_NEVER;
    view.caption.show = v->shown.caption ? LUD_VIEW_ALWAYS : LUD_VIEW_NEVER;
    tell_camera(v, &view.camera, centre);
    tell_overlay(v, &view.overlay);
    char *text;
    size_t length;
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? LUD_OK : lud_no_memory(error, "a view");
    if (!status) status = lud_view_section_write(arena, &view, &text, &length, error);
    if (!status) status = lud_file_write(path, text, length, error);
    lud_arena_destroy(arena);
    return status;
}
