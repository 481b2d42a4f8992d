/* The size of the map: two buttons at each of its sides, and what they do. */
#include <math.h>
#include <stdio.h>

#include "render/editor/editor_parts.h"

/* By lud_direction. */
static const struct {
    const char *where, *key;
} sides[LUD_EDITOR_SIDES] = {
    {"at the right", "Right"}, {"below", "Down"}, {"at the left", "Left"}, {"above", "Up"}};

static bool of_columns(lud_direction side) {
    return side == LUD_EAST || side == LUD_WEST;
}

void lud_editor_resize(lud_editor *e, lud_direction side, int by) {
    lud_error error = {0};
    const lud_status status = lud_grid_edit_resize(e->edit, side, by, &e->pick, &error);
    lud_editor_after(e, status, &error);
    if (status) return;
    if (!e->fitted && (side == LUD_WEST || side == LUD_NORTH)) { /* what was looked at stays where it is */
        const float moved = -(float)by * e->camera.scale;
        lud_camera_pan(&e->camera, side == LUD_WEST ? moved : 0, side == LUD_NORTH ? moved : 0);
    }
    if (lud_grid_edit_note(e->edit)) return; /* lud_editor_after has said it, with the size */
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    lud_message_say(e->options.message, 2, "%d x %d cells", w->map_width, w->map_height);
}

/* Whether the map may become so much larger or smaller. */
static bool can(const lud_editor *e, lud_direction side, int by) {
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    const int size = (of_columns(side) ? w->map_width : w->map_height) + by;
    return size >= LUD_GRID_MIN_SIDE && size <= LUD_GRID_MAX_SIDE;
}

static void draw_sign(lud_canvas *canvas, lud_box box, bool plus, lud_rgba colour) {
    const float x = roundf(box.x + box.w * 0.5f), y = roundf(box.y + box.h * 0.5f),
                arm = roundf(box.w * 0.22f), thick = fmaxf(1, roundf(box.w * 0.09f));
    lud_canvas_rect(canvas, (lud_box){x - arm, y - thick * 0.5f, 2 * arm, thick}, colour);
    if (plus) lud_canvas_rect(canvas, (lud_box){x - thick * 0.5f, y - arm, thick, 2 * arm}, colour);
}

static void draw_side(lud_editor *e, lud_canvas *canvas, const lud_theme *theme, lud_direction side,
                      lud_box map) {
    const float s = lud_canvas_scale(canvas), size = 20 * s, gap = 6 * s, edge = 4 * s;
    const bool upright = of_columns(side);
    lud_box whole = {.w = upright ? size : 2 * size, .h = upright ? 2 * size : size};
    whole.x = side == LUD_EAST   ? map.x + map.w + gap
              : side == LUD_WEST ? map.x - gap - size
                                 : map.x + map.w * 0.5f - size;
    whole.y = side == LUD_SOUTH   ? map.y + map.h + gap
              : side == LUD_NORTH ? map.y - gap - size
                                  : map.y + map.h * 0.5f - size;
    whole.x = roundf(fminf(fmaxf(whole.x, e->world.x + edge), e->world.x + e->world.w - edge - whole.w));
    whole.y = roundf(fminf(fmaxf(whole.y, e->world.y + edge), e->world.y + e->world.h - edge - whole.h));
    lud_canvas_round_rect(canvas, whole, 6 * s, theme->panel);
    lud_canvas_frame(canvas, whole, 6 * s, 1, theme->grid_line);
    if (upright)
        lud_canvas_rect(canvas, (lud_box){whole.x + 4 * s, whole.y + size, size - 8 * s, 1},
                        theme->grid_line);
    else
        lud_canvas_rect(canvas, (lud_box){whole.x + size, whole.y + 4 * s, 1, size - 8 * s},
                        theme->grid_line);
    for (int more = 0; more < 2; more++) {
        /* what makes it larger is above, or at the right */
        const lud_box box = {whole.x + (upright ? 0 : (float)more * size),
                             whole.y + (upright ? (float)(1 - more) * size : 0), size, size};
        const bool on = can(e, side, more ? 1 : -1),
                   under = lud_box_contains(box, e->pointer_x, e->pointer_y);
        char hint[96];
        if (on && under) lud_canvas_round_rect(canvas, box, 6 * s, lud_faded(theme->accent, 0.22f));
        draw_sign(canvas, box, more,
                  on ? under ? theme->accent : theme->text : lud_faded(theme->muted, 0.45f));
        snprintf(hint, sizeof hint, "Ctrl %s%s: a %s %s %s", more ? "" : "Shift ", sides[side].key,
                 upright ? "column" : "row", more ? "more" : "less", sides[side].where);
        lud_canvas_hint(canvas, box, hint);
        e->sides[side][more] = box;
    }
}

void lud_editor_draw_sides(lud_editor *e, lud_canvas *canvas, const lud_theme *theme) {
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    lud_box map;
    float right, bottom;
    const bool shown = e->tool == LUD_TOOL_SELECT && (e->grip == LUD_GRIP_NONE || e->grip == LUD_GRIP_PAN);
    lud_camera_to_screen(&e->camera, 0, 0, &map.x, &map.y);
    lud_camera_to_screen(&e->camera, (float)w->map_width, (float)w->map_height, &right, &bottom);
    map.w = right - map.x;
    map.h = bottom - map.y;
    for (int side = 0; side < LUD_EDITOR_SIDES; side++) {
        e->sides[side][0] = e->sides[side][1] = (lud_box){0};
        if (shown) draw_side(e, canvas, theme, (lud_direction)side, map);
    }
}

bool lud_editor_press_side(lud_editor *e, float x, float y) {
    for (int side = 0; side < LUD_EDITOR_SIDES; side++)
        for (int more = 0; more < 2; more++) {
            if (!lud_box_contains(e->sides[side][more], x, y)) continue;
            lud_editor_resize(e, (lud_direction)side, more ? 1 : -1);
            return true;
        }
    return false;
}
