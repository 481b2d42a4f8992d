/* What keys and the mouse do in the editor. */
#include <math.h>
#include <string.h>

#include <SDL.h>

#include "render/editor/editor_parts.h"

/* ---- commands ---- */

static void save(lud_editor *e) {
    lud_error error = {0};
    const lud_status status = lud_grid_edit_save(e->edit, e->force_save, &error);
    e->force_save = status == LUD_ERROR_IO;
    if (status)
        lud_message_error(e->options.message, 10, &error);
    else
        lud_message_say(e->options.message, 3, "Saved %.300s", lud_grid_edit_path(e->edit));
}

static void go(lud_editor *e, bool back) {
    lud_error error = {0};
    const char *name = back ? lud_grid_edit_undo_name(e->edit) : lud_grid_edit_redo_name(e->edit);
    if (!name) {
        lud_message_say(e->options.message, 2,
                        back ? "There is nothing to undo" : "There is nothing to redo");
        return;
    }
    lud_message_say(e->options.message, 1.5, "%s: %s", back ? "Undone" : "Done again", name);
    const lud_grid_edit_world was = *lud_grid_edit_get(e->edit);
    const lud_status status =
        back ? lud_grid_edit_undo(e->edit, &error) : lud_grid_edit_redo(e->edit, &error);
    const lud_grid_edit_world *is = lud_grid_edit_get(e->edit);
    if (was.map_width != is->map_width || was.map_height != is->map_height) /* other cells have its place */
        e->pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
    lud_editor_after(e, status, &error);
}

bool lud_editor_command_do(lud_editor *e, lud_editor_command command) {
    switch (command) {
    case LUD_COMMAND_SELECT:
        e->tool = LUD_TOOL_SELECT;
        break;
    case LUD_COMMAND_GOAL:
        e->tool = LUD_TOOL_GOAL;
        break;
    case LUD_COMMAND_UNDO:
        go(e, true);
        break;
    case LUD_COMMAND_REDO:
        go(e, false);
        break;
    case LUD_COMMAND_SAVE:
        save(e);
        break;
    case LUD_COMMAND_SOLVE:
        e->wants_solving = e->options.solve != NULL;
        if (!e->options.solve) lud_message_say(e->options.message, 3, "Worlds are not solved from here");
        break;
    case LUD_COMMAND_LEAVE:
    case LUD_COMMANDS:
        break;
    }
    return command == LUD_COMMAND_LEAVE;
}

static void remove_picked(lud_editor *e, lud_grid_pick pick) {
    lud_error error = {0};
    lud_editor_after(e, lud_grid_edit_remove(e->edit, pick, &error), &error);
}

void lud_editor_change(lud_editor *e, int number, double value) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    lud_error error = {0};
    if (number < 0 || number >= n) return;
    if (e->tool == LUD_TOOL_BRUSH) {
        lud_grid_thing_change(e->edit, &e->palette.brushes[e->brush].thing, 0, number,
                              lud_grid_parameter_fit(&parameters[number], value));
        lud_palette_forget(&e->palette);
        return;
    }
    lud_editor_after(e, lud_grid_edit_change_parameter(e->edit, e->pick, number, value, &error), &error);
}

void lud_editor_give(lud_editor *e, int number, double value) {
    lud_error error = {0};
    if (e->tool == LUD_TOOL_BRUSH) {
        lud_grid_thing_change(e->edit, &e->palette.brushes[e->brush].thing, 0, number, value);
        lud_palette_forget(&e->palette);
        return;
    }
    lud_editor_after(e, lud_grid_edit_type_parameter(e->edit, e->pick, number, value, &error), &error);
}

static void choose_colour(lud_editor *e, int colour) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    for (int k = 0; k < n; k++)
        if (parameters[k].colours) {
            lud_editor_change(e, k, colour);
            return;
        }
    lud_message_say(e->options.message, 2, "This has no colour");
}

static void turn(lud_editor *e, int by) {
    lud_error error = {0};
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    if (e->tool != LUD_TOOL_BRUSH) {
        lud_editor_after(e, lud_grid_edit_turn(e->edit, e->pick, by, &error), &error);
        return;
    }
    const int n = lud_editor_parameters(e, parameters);
    for (int k = 0; k < n; k++)
        if (parameters[k].turns) lud_editor_change(e, k, parameters[k].value + by);
}

static void move_picked(lud_editor *e, int dx, int dy) {
    lud_error error = {0};
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    int x = e->pick.x, y = e->pick.y;
    if (e->pick.kind == LUD_PICK_GOAL) {
        x = w->goals[e->pick.goal].x1;
        y = w->goals[e->pick.goal].y1;
    }
    lud_editor_after(e, lud_grid_edit_move(e->edit, &e->pick, x + dx, y + dy, &error), &error);
}

static bool press_control(lud_editor *e, int key, bool shift) {
    switch (key) {
    case SDLK_z:
        go(e, !shift);
        return true;
    case SDLK_y:
        go(e, false);
        return true;
    case SDLK_s:
        save(e);
        return true;
    case SDLK_RIGHT:
        lud_editor_resize(e, LUD_EAST, shift ? -1 : 1);
        return true;
    case SDLK_LEFT:
        lud_editor_resize(e, LUD_WEST, shift ? -1 : 1);
        return true;
    case SDLK_DOWN:
        lud_editor_resize(e, LUD_SOUTH, shift ? -1 : 1);
        return true;
    case SDLK_UP:
        lud_editor_resize(e, LUD_NORTH, shift ? -1 : 1);
        return true;
    default:
        return false;
    }
}

lud_editor_answer lud_editor_key(lud_editor *e, int key, bool shift, bool control) {
    const bool typed = e->typing.on;
    if (lud_editor_type_key(e, key, shift, control)) return LUD_EDITOR_TOOK;
    if (typed && !control) return LUD_EDITOR_IGNORED;
    if (control) return press_control(e, key, shift) ? LUD_EDITOR_TOOK : LUD_EDITOR_IGNORED;
    if (key >= SDLK_1 && key < SDLK_1 + LUD_COLOURS) {
        choose_colour(e, key - SDLK_1);
        return LUD_EDITOR_TOOK;
    }
    switch (key) {
    case SDLK_e:
        return LUD_EDITOR_LEFT;
    case SDLK_ESCAPE:
        if (e->tool == LUD_TOOL_SELECT && e->pick.kind == LUD_PICK_WORLD) return LUD_EDITOR_LEFT;
        if (e->tool == LUD_TOOL_SELECT) e->pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
        e->tool = LUD_TOOL_SELECT;
        break;
    case SDLK_v:
        lud_editor_command_do(e, LUD_COMMAND_SELECT);
        break;
    case SDLK_g:
        lud_editor_command_do(e, LUD_COMMAND_GOAL);
        break;
    case SDLK_RETURN:
    case SDLK_KP_ENTER:
        lud_editor_type_any(e);
        break;
    case SDLK_n:
        lud_editor_command_do(e, LUD_COMMAND_SOLVE);
        break;
    case SDLK_r:
        turn(e, shift ? -1 : 1);
        break;
    case SDLK_DELETE:
    case SDLK_BACKSPACE:
        remove_picked(e, e->pick);
        break;
    case SDLK_LEFT:
        move_picked(e, -1, 0);
        break;
    case SDLK_RIGHT:
        move_picked(e, 1, 0);
        break;
    case SDLK_UP:
        move_picked(e, 0, -1);
        break;
    case SDLK_DOWN:
        move_picked(e, 0, 1);
        break;
    case SDLK_f:
        e->fitted = true;
        break;
    case SDLK_t: /* these are the viewer's */
    case SDLK_h:
    case SDLK_F1:
    case SDLK_QUESTION:
    case SDLK_F11:
    case SDLK_m:
    case SDLK_s:
        return LUD_EDITOR_IGNORED;
    default:
        break;
    }
    return LUD_EDITOR_TOOK;
}

/* ---- mouse ---- */

/* The cell at a point of the picture; false: it is not in the world. */
static bool cell_at(const lud_editor *e, float x, float y, int *cell_x, int *cell_y) {
    float wx, wy;
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    if (!lud_box_contains(e->world, x, y)) return false;
    lud_camera_to_world(&e->camera, x, y, &wx, &wy);
    *cell_x = (int)floorf(wx);
    *cell_y = (int)floorf(wy);
    return *cell_x >= 0 && *cell_y >= 0 && *cell_x < w->width && *cell_y < w->height;
}

static void paint(lud_editor *e, int x, int y) {
    lud_error error = {0};
    lud_editor_after(e, lud_grid_edit_put(e->edit, x, y, &e->palette.brushes[e->brush].thing, &error),
                     &error);
}

static void erase(lud_editor *e, int x, int y) {
    const lud_grid_pick pick = {.kind = LUD_PICK_CELL, .x = x, .y = y};
    if (lud_grid_pick_is(e->edit, pick)) remove_picked(e, pick);
}

/* Whether what is selected is at the cell, so that the mouse takes it along. */
static bool holds(lud_editor *e, int x, int y) {
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    if (e->pick.kind == LUD_PICK_CELL) return e->pick.x == x && e->pick.y == y;
    if (e->pick.kind != LUD_PICK_GOAL) return false;
    const lud_grid_edit_goal *goal = &w->goals[e->pick.goal];
    e->offset_x = x - goal->x1;
    e->offset_y = y - goal->y1;
    return x >= goal->x1 && x <= goal->x2 && y >= goal->y1 && y <= goal->y2;
}

static void take_hold(lud_editor *e, int x, int y) {
    e->again = holds(e, x, y);
    if (!e->again) e->pick = lud_grid_pick_next(e->edit, (lud_grid_pick){.kind = LUD_PICK_WORLD}, x, y);
    const lud_grid_pick picked = e->pick;
    const bool held = picked.kind != LUD_PICK_WORLD && holds(e, x, y);
    e->grip = held ? LUD_GRIP_MOVE : LUD_GRIP_PAN;
    if (picked.kind == LUD_PICK_CELL) e->offset_x = e->offset_y = 0;
}

static void grip_world(lud_editor *e, lud_editor_button button, float x, float y) {
    int cx, cy;
    e->last_x = x;
    e->last_y = y;
    e->moved = false;
    if (!cell_at(e, x, y, &cx, &cy)) {
        e->grip = LUD_GRIP_PAN;
        return;
    }
    e->grip_x = cx;
    e->grip_y = cy;
    if (button == LUD_EDITOR_SECOND) {
        lud_grid_edit_begin_stroke(e->edit);
        e->grip = LUD_GRIP_ERASE;
        erase(e, cx, cy);
    } else if (e->tool == LUD_TOOL_BRUSH) {
        lud_grid_edit_begin_stroke(e->edit);
        e->grip = LUD_GRIP_PAINT;
        paint(e, cx, cy);
    } else if (e->tool == LUD_TOOL_GOAL) {
        e->grip = LUD_GRIP_GOAL;
    } else {
        take_hold(e, cx, cy);
    }
}

/* The value of a parameter: its left arrow goes down, its right one up, and between them a number is typed.
 */
static bool press_value(lud_editor *e, float x, float y, bool shift) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    for (int k = 0; k < n && k < e->n_values; k++) {
        const lud_box box = e->values[k];
        if (!lud_box_contains(box, x, y)) continue;
        const float arrow = lud_editor_arrow_width(box, parameters[k].number);
        const bool up = x >= box.x + box.w - arrow;
        const double step = parameters[k].step * (shift && !parameters[k].wraps ? 10 : 1);
        if (!up && x >= box.x + arrow)
            lud_editor_type(e, k);
        else
            lud_editor_change(e, k, parameters[k].value + (up ? step : -step));
        return true;
    }
    return false;
}

bool lud_editor_mouse_down(lud_editor *e, lud_editor_button button, float x, float y, bool shift) {
    lud_grid_edit_end_stroke(e->edit);
    e->grip = LUD_GRIP_NONE;
    e->pointer_x = x;
    e->pointer_y = y;
    lud_editor_type_end(e);
    if (button == LUD_EDITOR_MAIN && lud_editor_press_side(e, x, y)) return false;
    if (lud_box_contains(e->world, x, y)) {
        grip_world(e, button, x, y);
        return false;
    }
    for (int k = 0; k < LUD_COMMANDS; k++)
        if (lud_box_contains(e->commands[k], x, y)) return lud_editor_command_do(e, (lud_editor_command)k);
    for (int c = 0; c < LUD_COLOURS; c++)
        if (lud_box_contains(e->colours[c], x, y)) choose_colour(e, c);
    const int brush = lud_palette_at(&e->palette, x, y);
    if (brush >= 0) {
        e->tool = LUD_TOOL_BRUSH;
        e->brush = brush;
        e->details_scroll.offset = 0;
    } else if (lud_box_contains(e->details_scroll.box, x, y)) {
        press_value(e, x, y, shift);
    }
    return false;
}

/* Along the line of cells from where the mouse was last, so that none is left out where it is fast. */
static void stroke_to(lud_editor *e, int x, int y) {
    while (e->grip_x != x || e->grip_y != y) {
        const int dx = x - e->grip_x, dy = y - e->grip_y;
        if (dx * dx >= dy * dy)
            e->grip_x += dx > 0 ? 1 : -1;
        else
            e->grip_y += dy > 0 ? 1 : -1;
        if (e->grip == LUD_GRIP_PAINT)
            paint(e, e->grip_x, e->grip_y);
        else
            erase(e, e->grip_x, e->grip_y);
    }
}

void lud_editor_mouse_move(lud_editor *e, float x, float y) {
    int cx = -1, cy = -1;
    const bool inside = cell_at(e, x, y, &cx, &cy);
    e->pointer_x = x;
    e->pointer_y = y;
    e->hover_x = inside ? cx : -1;
    e->hover_y = inside ? cy : -1;
    if (e->grip == LUD_GRIP_PAN) {
        if (!e->moved && hypotf(x - e->last_x, y - e->last_y) < 4) return;
        e->moved = true;
        e->fitted = false;
        lud_camera_pan(&e->camera, x - e->last_x, y - e->last_y);
        e->last_x = x;
        e->last_y = y;
    }
    if (!inside) return;
    if (e->grip == LUD_GRIP_PAINT || e->grip == LUD_GRIP_ERASE) stroke_to(e, cx, cy);
    if (e->grip == LUD_GRIP_MOVE && (cx != e->grip_x || cy != e->grip_y)) e->moved = true;
}

void lud_editor_mouse_up(lud_editor *e, float x, float y) {
    int cx, cy;
    const bool inside = cell_at(e, x, y, &cx, &cy);
    lud_error error = {0};
    const lud_editor_grip grip = e->grip;
    e->grip = LUD_GRIP_NONE;
    lud_grid_edit_end_stroke(e->edit);
    if (grip == LUD_GRIP_GOAL && inside)
        lud_editor_after(e, lud_grid_edit_add_goal(e->edit, e->grip_x, e->grip_y, cx, cy, &error), &error);
    if (grip == LUD_GRIP_MOVE && e->moved && inside) /* what it passed over has stayed */
        lud_editor_after(e, lud_grid_edit_move(e->edit, &e->pick, cx - e->offset_x, cy - e->offset_y, &error),
                         &error);
    if (grip == LUD_GRIP_MOVE && !e->moved && e->again && inside)
        e->pick = lud_grid_pick_next(e->edit, e->pick, cx, cy);
    if (grip == LUD_GRIP_PAN && !e->moved) e->pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
}

void lud_editor_wheel(lud_editor *e, float by, float x, float y) {
    if (lud_box_contains(e->palette_scroll.box, x, y)) {
        lud_scroll_turn(&e->palette_scroll, -by * 42);
    } else if (lud_box_contains(e->details_scroll.box, x, y)) {
        lud_scroll_turn(&e->details_scroll, -by * 42);
    } else if (lud_box_contains(e->world, x, y)) {
        e->fitted = false;
        lud_camera_zoom(&e->camera, powf(1.15f, by), x, y);
    }
}
