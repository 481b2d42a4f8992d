#include "render/viewer/panels/column.h"

#include <math.h>

static const char *const names[LUD_PANELS] = {"Training", "Comparison", "Inspector", "Overlay"};

static const float least_share = 0.1f, most_share = 0.8f; /* of the picture, that dragging gives the column */

bool *lud_panel_folded(lud_view_panels *panels, int panel) {
    bool *const folded[LUD_PANELS] = {&panels->training_folded, &panels->comparison_folded,
                                      &panels->inspector_folded, &panels->overlay_folded};
    return panel >= 0 && panel < LUD_PANELS ? folded[panel] : NULL;
}

/* The share of the column that the view gives a panel; null: of the inspector, which has what is left. */
static double *fixed_height(lud_view_panels *panels, int panel) {
    double *const heights[LUD_PANELS] = {&panels->training_height, &panels->comparison_height, NULL,
                                         &panels->overlay_height};
    return heights[panel];
}

static float gap_above(float s) {
    return 6 * s;
}
static float title_height(const lud_canvas *canvas) {
    return lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 3 * lud_canvas_scale(canvas);
}

static bool is_open(const lud_column *c, const lud_column_wishes *wishes, int panel) {
    return wishes->there[panel] && !c->panels[panel].folded;
}

/* Pixels of a panel other than the inspector, of the `room` that is left for it. */
static float height_of(const lud_column *c, const lud_column_wishes *wishes, lud_view_panels *panels,
                       int panel, float room) {
    if (!is_open(c, wishes, panel)) return 0;
    const double fixed = *fixed_height(panels, panel);
    return fmaxf(0, fminf(room, fixed > 0 ? (float)fixed * c->box.h : wishes->height[panel]));
}

/* What a panel that is dragged shares its place with lies below it, or above the overlay: the inspector. */
static void set_edge(lud_column *c, int panel, bool inspector, float s) {
    lud_panel_place *p = &c->panels[panel];
    const float gap = gap_above(s);
    if (p->box.h <= 0 || panel == LUD_PANEL_INSPECTOR) return;
    p->edge = panel == LUD_PANEL_OVERLAY && inspector
                  ? (lud_box){p->title.x, p->title.y - gap, p->title.w, gap}
                  : (lud_box){p->box.x, p->box.y + p->box.h, p->box.w, gap};
}

void lud_column_divide(lud_column *c, const lud_canvas *canvas, lud_box box, float picture,
                       const lud_column_wishes *wishes, const lud_view_panels *panels) {
    const float s = lud_canvas_scale(canvas), pad = 16 * s, head = gap_above(s) + title_height(canvas);
    lud_view_panels view = *panels;
    float heights[LUD_PANELS] = {0}, room = box.h - pad;
    *c = (lud_column){.box = box, .picture = picture, .least = 44 * s};
    if (box.w <= 0) return;
    c->edge = (lud_box){box.x - 4 * s, box.y, 8 * s, box.h};
    for (int k = 0; k < LUD_PANELS; k++) {
        c->panels[k].folded = *lud_panel_folded(&view, k);
        if (wishes->there[k]) room -= head;
    }
    const bool inspector = is_open(c, wishes, LUD_PANEL_INSPECTOR);
    const float kept = inspector ? c->least : 0;
    for (int k = LUD_PANEL_TRAINING; k < LUD_PANEL_INSPECTOR; k++)
        room -= heights[k] = height_of(c, wishes, &view, k, room - kept);
    /* an overlay whose height nobody fixed leaves the inspector what that needs, up to a half */
    const float wish = fminf(wishes->height[LUD_PANEL_INSPECTOR], room * 0.52f),
                left = inspector && view.overlay_height <= 0 ? fmaxf(kept, wish) : kept;
    room -= heights[LUD_PANEL_OVERLAY] = height_of(c, wishes, &view, LUD_PANEL_OVERLAY, room - left);
    if (inspector) heights[LUD_PANEL_INSPECTOR] = fmaxf(0, room);
    float y = box.y;
    for (int k = 0; k < LUD_PANELS; k++) {
        if (!wishes->there[k]) continue;
        c->panels[k].title = (lud_box){box.x, y + gap_above(s), box.w - pad, title_height(canvas)};
        y += head;
        if (heights[k] > 0) c->panels[k].box = (lud_box){box.x, y, box.w - pad, heights[k]};
        y += heights[k];
        set_edge(c, k, inspector, s);
    }
}

int lud_column_title_at(const lud_column *c, float x, float y) {
    for (int k = 0; k < LUD_PANELS; k++)
        if (lud_box_contains(c->panels[k].title, x, y)) return k;
    return -1;
}

int lud_column_edge_at(const lud_column *c, float x, float y) {
    for (int k = 0; k < LUD_PANELS; k++)
        if (lud_box_contains(c->panels[k].edge, x, y)) return k;
    return lud_box_contains(c->edge, x, y) ? LUD_COLUMN_EDGE : LUD_NO_EDGE;
}

/* Whether the panel's upper edge is the one that is dragged. */
static bool dragged_above(const lud_panel_place *p) {
    return p->edge.y < p->box.y;
}

float lud_column_edge_position(const lud_column *c, int edge) {
    if (edge == LUD_COLUMN_EDGE) return c->box.x;
    const lud_panel_place *p = &c->panels[edge];
    return dragged_above(p) ? p->box.y : p->box.y + p->box.h;
}

void lud_column_drag(const lud_column *c, int edge, float position, lud_view_panels *panels) {
    if (edge == LUD_COLUMN_EDGE) {
        const float share = (c->box.x + c->box.w - position) / c->picture;
        panels->width = (double)fminf(fmaxf(share, least_share), most_share);
        return;
    }
    const lud_panel_place *p = &c->panels[edge];
    double *fixed = fixed_height(panels, edge);
    const float height = dragged_above(p) ? p->box.y + p->box.h - position : position - p->box.y;
    if (fixed && c->box.h > 0 && p->box.h > 0) *fixed = (double)fminf(fmaxf(height, c->least) / c->box.h, 1);
}

/* Points down where the panel is open, to the right where it is folded. */
static void draw_chevron(lud_canvas *canvas, lud_box title, bool folded, lud_rgba colour) {
    const float s = lud_canvas_scale(canvas), x = title.x + 8 * s, y = title.y + title.h * 0.5f, a = 3.5f * s,
                b = 1.8f * s;
    const float down[3][2] = {{x - a, y - b}, {x, y + b}, {x + a, y - b}},
                right[3][2] = {{x - b, y - a}, {x + b, y}, {x - b, y + a}};
    lud_canvas_polyline(canvas, folded ? right : down, 3, 1.5f * s, colour);
}

void lud_column_draw(const lud_column *c, lud_canvas *canvas, const lud_theme *theme, float x, float y,
                     int edge) {
    const float s = lud_canvas_scale(canvas);
    for (int k = 0; k < LUD_PANELS; k++) {
        const lud_panel_place *p = &c->panels[k];
        if (p->title.h <= 0) continue;
        const lud_rgba colour = lud_box_contains(p->title, x, y) ? theme->text : theme->muted;
        draw_chevron(canvas, p->title, p->folded, colour);
        lud_canvas_text_cut(canvas, p->title.x + 18 * s, p->title.y, p->title.w - 18 * s, LUD_TEXT_SMALL,
                            colour, names[k]);
        lud_canvas_hint(canvas, p->title,
                        p->folded ? "A click unfolds it; Shift P: all panels as at first"
                                  : "A click folds it; its edge is dragged; Shift P: all panels as at first");
    }
    if (edge == LUD_COLUMN_EDGE) {
        lud_canvas_rect(canvas, (lud_box){c->box.x - s, c->box.y, 2 * s, c->box.h}, theme->accent);
    } else if (edge != LUD_NO_EDGE) {
        const lud_box e = c->panels[edge].edge;
        lud_canvas_rect(canvas, (lud_box){e.x, e.y + e.h * 0.5f - s, e.w, 2 * s}, theme->accent);
    }
}
