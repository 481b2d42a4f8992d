/* The column of the editor: buttons, palette, parameters, and what is known of the world. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/editor/editor_parts.h"

const char *const lud_editor_command_names[LUD_COMMANDS] = {"Select", "Goal",      "Undo", "Redo",
                                                            "Save",   "Solve now", "Done"};

static const char *const command_hints[LUD_COMMANDS] = {
    "V: click selects, again what lies below; drag moves; beside things it moves the world",
    "G: click makes a goal of a cell, drag one of a rectangle",
    "Ctrl Z",
    "Ctrl Y",
    "Ctrl S: writes the map and what else was changed into the file; all else of it stays",
    "N: what people and robots would do, exactly, for small worlds",
    "E: back to the viewer"};

/* Where the next line goes. */
typedef struct pen {
    lud_editor *e;
    lud_canvas *canvas;
    const lud_theme *theme;
    float x, y, width, row, s, seconds;
    bool measured; /* nothing is drawn yet */
} pen;

static bool is_on(const lud_editor *e, lud_editor_command command) {
    switch (command) {
    case LUD_COMMAND_UNDO:
        return lud_grid_edit_undo_name(e->edit) != NULL;
    case LUD_COMMAND_REDO:
        return lud_grid_edit_redo_name(e->edit) != NULL;
    case LUD_COMMAND_SAVE:
        return lud_grid_edit_changed(e->edit);
    case LUD_COMMAND_SOLVE:
        return e->options.solve && !e->wants_solving;
    default:
        return true;
    }
}

static bool is_pressed(const lud_editor *e, lud_editor_command command) {
    return (command == LUD_COMMAND_SELECT && e->tool == LUD_TOOL_SELECT) ||
           (command == LUD_COMMAND_GOAL && e->tool == LUD_TOOL_GOAL);
}

/* Buttons side by side, `n` from `first` on. */
static void draw_buttons(pen *p, lud_editor_command first, int n) {
    const float gap = 6 * p->s, wide = (p->width - gap * (float)(n - 1)) / (float)n, high = p->row + 8 * p->s;
    for (int k = 0; k < n; k++) {
        const lud_editor_command command = (lud_editor_command)((int)first + k);
        const lud_box box = {p->x + (float)k * (wide + gap), p->y, wide, high};
        const bool on = is_on(p->e, command), pressed = is_pressed(p->e, command);
        const char *name = lud_editor_command_names[command];
        lud_canvas_round_rect(p->canvas, box, 6 * p->s, pressed ? p->theme->accent : p->theme->panel);
        lud_canvas_frame(p->canvas, box, 6 * p->s, 1, p->theme->grid_line);
        const float text = lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, name);
        lud_canvas_text_cut(p->canvas, box.x + fmaxf(4 * p->s, (wide - text) * 0.5f), box.y + 4 * p->s, wide,
                            LUD_TEXT_SMALL,
                            pressed ? p->theme->floor
                            : on    ? p->theme->text
                                    : lud_faded(p->theme->muted, 0.6f),
                            name);
        lud_canvas_hint(p->canvas, box, command_hints[command]);
        p->e->commands[command] = box;
    }
    p->y += high + gap;
}

static void heading(pen *p, const char *text) {
    p->y += 4 * p->s;
    lud_canvas_text_cut(p->canvas, p->x, p->y, p->width, LUD_TEXT_SMALL, p->theme->accent, text);
    p->y += p->row + 2 * p->s;
}

static void wrapped(pen *p, float inset, lud_rgba colour, const char *text) {
    p->y +=
        p->row * (float)lud_canvas_text_wrapped(p->canvas, p->x + inset, p->y, p->width - inset - 8 * p->s,
                                                p->row, LUD_TEXT_SMALL, colour, text);
}

/* Lines of a text, each of which may be longer than the panel. */
static void lines(pen *p, lud_rgba colour, const char *text) {
    wrapped(p, 0, colour, text);
}

/* ---- parameters ---- */

static void draw_arrow(const pen *p, float x, float y, float size, bool right, lud_rgba colour) {
    const float d = right ? size : -size;
    const float points[3][2] = {{x - d * 0.5f, y - size}, {x + d * 0.5f, y}, {x - d * 0.5f, y + size}};
    lud_canvas_polygon(p->canvas, points, 3, colour);
}

float lud_editor_arrow_width(lud_box value, bool number) {
    return number ? fminf(0.75f * value.h, 0.3f * value.w) : 0.5f * value.w;
}

/* A number that is typed comes into what is seen. */
static void reveal(lud_editor *e, lud_box value, lud_box seen) {
    if (value.y + value.h > seen.y + seen.h)
        e->details_scroll.offset += value.y + value.h - seen.y - seen.h + 4;
    if (value.y < seen.y) e->details_scroll.offset -= seen.y - value.y + 4;
    e->typing.reveal = false;
}

/* A name and its value between two arrows. */
static void draw_parameter(pen *p, const lud_grid_parameter *q, lud_box seen) {
    lud_editor *e = p->e;
    const float high = p->row + 6 * p->s, name = p->width * 0.5f, s = p->s;
    const lud_box box = {p->x + name, p->y, p->width - name - 8 * s, high - 2 * s};
    const float arrow = lud_editor_arrow_width(box, q->number);
    const lud_box field = {box.x + arrow, box.y, box.w - 2 * arrow, box.h};
    const bool typed = e->typing.on && e->typing.number == e->n_values;
    lud_canvas_text_cut(p->canvas, p->x, p->y + 2 * s, name - 6 * s, LUD_TEXT_SMALL,
                        typed ? p->theme->text : p->theme->muted, q->name);
    lud_canvas_round_rect(p->canvas, box, 5 * s, p->theme->panel);
    lud_canvas_frame(p->canvas, box, 5 * s, 1, p->theme->grid_line);
    draw_arrow(p, box.x + 9 * s, box.y + box.h * 0.5f, 4 * s, false, p->theme->muted);
    draw_arrow(p, box.x + box.w - 9 * s, box.y + box.h * 0.5f, 4 * s, true, p->theme->muted);
    float x = box.x + 20 * s;
    if (q->colours) {
        lud_canvas_disc(p->canvas, x + 5 * s, box.y + box.h * 0.5f, 5 * s,
                        lud_theme_thing(p->theme, (int)q->value));
        x += 16 * s;
    }
    const bool is_seen = box.y >= seen.y - 1 && box.y + box.h <= seen.y + seen.h + 1;
    if (typed)
        lud_editor_type_draw(e, p->canvas, p->theme, field, p->seconds);
    else
        lud_canvas_text_cut(p->canvas, x, p->y + 2 * s, box.x + box.w - 18 * s - x, LUD_TEXT_SMALL,
                            p->theme->text, q->shown);
    if (typed && e->typing.reveal && !p->measured) reveal(e, box, seen);
    const lud_box line = {p->x, p->y, name, high};
    if (is_seen && q->help) lud_canvas_hint(p->canvas, line, q->help);
    if (is_seen && q->number && !typed) {
        char expected[128], hint[160];
        lud_grid_parameter_expects(q, expected, sizeof expected);
        snprintf(hint, sizeof hint, "Click or Enter: type %s", expected);
        lud_canvas_hint(p->canvas, field, hint);
    }
    e->values[e->n_values] = is_seen ? box : (lud_box){0};
    e->value_is_number[e->n_values] = q->number;
    snprintf(e->value_names[e->n_values++], sizeof *e->value_names, "%.63s", q->name);
    p->y += high;
}

int lud_editor_parameters(const lud_editor *e, lud_grid_parameter *parameters) {
    if (e->tool == LUD_TOOL_BRUSH)
        return lud_grid_thing_parameters(&e->palette.brushes[e->brush].thing, 0, parameters);
    return lud_grid_edit_parameters(e->edit, e->pick, parameters);
}

static void draw_parameters(pen *p, lud_box seen) {
    lud_editor *e = p->e;
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    lud_text title = {0};
    if (e->tool == LUD_TOOL_BRUSH)
        lud_text_append(&title, "places: %s", e->palette.brushes[e->brush].name);
    else
        lud_grid_pick_describe(e->edit, e->pick, &title);
    heading(p, title.bytes ? title.bytes : "");
    lud_text_free(&title);
    e->n_values = 0;
    for (int k = 0; k < n; k++) draw_parameter(p, &parameters[k], seen);
    if (!n) lines(p, p->theme->muted, "It has no parameters.");
}

/* ---- findings ---- */

static void draw_problem(pen *p, const lud_grid_problem *problem) {
    const float r = 4 * p->s;
    lud_canvas_disc(p->canvas, p->x + r, p->y + p->row * 0.5f, r,
                    problem->refused ? p->theme->bad : p->theme->caution);
    wrapped(p, 3.5f * r, p->theme->text, problem->text);
}

static void draw_findings(pen *p) {
    lud_editor *e = p->e;
    p->y += 4 * p->s;
    heading(p, "checks");
    for (int k = 0; k < e->n_problems; k++) draw_problem(p, &e->problems[k]);
    if (!e->n_problems) {
        lud_canvas_disc(p->canvas, p->x + 4 * p->s, p->y + p->row * 0.5f, 4 * p->s, p->theme->good);
        wrapped(p, 14 * p->s, p->theme->muted, "nothing wrong is seen");
    }
    lines(p, p->theme->muted,
          e->study_known && e->findings.bytes ? e->findings.bytes : "counting states ...");
    if (!e->wants_solving && !e->solution.length) return;
    p->y += 4 * p->s;
    heading(p, e->wants_solving                  ? "solving ..."
               : e->solved_version == e->version ? "solved"
                                                 : "solved, before the last changes");
    if (!e->wants_solving) lines(p, p->theme->text, e->solution.bytes);
}

/* ---- the whole ---- */

static void draw_details(pen *p, lud_box seen) {
    if (p->e->pick.kind == LUD_PICK_WORLD && p->e->tool != LUD_TOOL_BRUSH) { /* it has many */
        draw_findings(p);
        p->y += 6 * p->s;
        draw_parameters(p, seen);
    } else {
        draw_parameters(p, seen);
        draw_findings(p);
    }
}

static void draw_colours(pen *p) {
    const float high = p->row + 6 * p->s, step = fminf(high + 4 * p->s, p->width / LUD_COLOURS);
    for (int c = 0; c < LUD_COLOURS; c++) {
        const lud_box box = {p->x + (float)c * step, p->y, step - 4 * p->s, high};
        char hint[64];
        snprintf(hint, sizeof hint, "%d: %s, for what is placed or selected", c + 1, lud_colour_names[c]);
        lud_canvas_round_rect(p->canvas, box, 5 * p->s, lud_theme_thing(p->theme, c));
        lud_canvas_frame(p->canvas, box, 5 * p->s, 1, p->theme->grid_line);
        lud_canvas_hint(p->canvas, box, hint);
        p->e->colours[c] = box;
    }
    p->y += high + 4 * p->s;
}

void lud_editor_draw_panel(lud_editor *e, lud_canvas *canvas, const lud_theme *theme, float seconds) {
    const float s = lud_canvas_scale(canvas), pad = 12 * s;
    lud_canvas_rect(canvas, e->column, theme->ground);
    lud_canvas_rect(canvas, (lud_box){e->column.x, 0, 1, e->column.h}, theme->grid_line);
    pen p = {.e = e,
             .canvas = canvas,
             .theme = theme,
             .x = e->column.x + pad,
             .y = pad,
             .width = e->column.w - 2 * pad,
             .row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL),
             .s = s,
             .seconds = seconds};
    draw_buttons(&p, LUD_COMMAND_UNDO, 3);
    draw_buttons(&p, LUD_COMMAND_SOLVE, 2);
    draw_buttons(&p, LUD_COMMAND_SELECT, 2);
    draw_colours(&p);
    const float bottom = e->column.h, whole = lud_palette_height(&e->palette, canvas, p.width),
                shown = fminf(whole, fmaxf((bottom - p.y) * 0.52f, fminf(whole, bottom - p.y - 300 * s)));
    const lud_box palette = {p.x, p.y, p.width, shown};
    const float top = lud_scroll_begin(&e->palette_scroll, canvas, palette, whole);
    lud_palette_draw(&e->palette, canvas, theme, p.x, top, p.width, palette,
                     e->tool == LUD_TOOL_BRUSH ? e->brush : -1, seconds);
    lud_scroll_end(&e->palette_scroll, canvas, theme);
    const lud_box details = {p.x, palette.y + palette.h + 6 * s, e->column.w - pad,
                             bottom - palette.y - palette.h - 6 * s};
    lud_canvas_rect(canvas, (lud_box){p.x, details.y - 3 * s, p.width, 1}, theme->grid_line);
    pen measured = p;
    measured.y = 0;
    measured.measured = true;
    lud_canvas_measure(canvas, true);
    draw_details(&measured, details);
    lud_canvas_measure(canvas, false);
    p.y = lud_scroll_begin(&e->details_scroll, canvas, details, measured.y + 8 * s);
    draw_details(&p, details);
    lud_scroll_end(&e->details_scroll, canvas, theme);
}

/* What the mouse does with the tool, and where it is. */
void lud_editor_draw_status(lud_editor *e, lud_canvas *canvas, const lud_theme *theme) {
    const float s = lud_canvas_scale(canvas), pad = 12 * s, y = e->status.y + 6 * s;
    static const char *const hints[] = {
        [LUD_TOOL_SELECT] = "Click selects, drag moves, R turns, Delete removes, Ctrl arrows enlarge",
        [LUD_TOOL_GOAL] = "Click or drag makes a goal, Esc ends",
        [LUD_TOOL_BRUSH] = "Click or drag places, right button removes, 1-7 colour, R turns, Esc ends"};
    lud_canvas_rect(canvas, e->status, theme->panel);
    lud_canvas_rect(canvas, (lud_box){0, e->status.y, e->status.w, 1}, theme->grid_line);
    lud_text here = {0};
    if (e->hover_x >= 0) {
        const lud_grid_pick pick =
            lud_grid_pick_next(e->edit, (lud_grid_pick){.kind = LUD_PICK_WORLD}, e->hover_x, e->hover_y);
        if (pick.kind == LUD_PICK_WORLD)
            lud_text_append(&here, "(%d, %d)", e->hover_x, e->hover_y);
        else
            lud_grid_pick_describe(e->edit, pick, &here);
    }
    const char *left = here.bytes && here.length ? here.bytes : "";
    char expected[256], typing[320];
    const bool fits = lud_editor_type_fits(e, expected, sizeof expected);
    snprintf(typing, sizeof typing, "%s; Enter takes it, Tab the next, Esc leaves it", expected);
    const char *hint = e->typing.on ? typing : hints[e->tool];
    const float right_width = e->column.w - 2 * pad, middle = e->world.w - 2 * pad,
                half = fminf(lud_canvas_text_width(canvas, LUD_TEXT_SMALL, hint) + pad, middle);
    lud_canvas_text_cut(canvas, pad, y, middle, LUD_TEXT_SMALL,
                        !e->typing.on ? theme->muted
                        : fits        ? theme->text
                                      : theme->bad,
                        hint);
    if (*left && middle - half > 60 * s)
        lud_canvas_text_cut(canvas, pad + half + pad, y, middle - half - pad, LUD_TEXT_SMALL, theme->text,
                            left);
    lud_text_free(&here);
    const bool changed = lud_grid_edit_changed(e->edit);
    const char *path = lud_grid_edit_path(e->edit), *slash = strrchr(path, '/');
    char text[256];
    snprintf(text, sizeof text, "%.200s%s", slash ? slash + 1 : path, changed ? ", not saved" : "");
    if (changed)
        lud_canvas_disc(canvas, e->column.x + pad + 4 * s, e->status.y + e->status.h * 0.5f, 4 * s,
                        theme->bad);
    lud_canvas_text_cut(canvas, e->column.x + pad + (changed ? 14 * s : 0), y, right_width, LUD_TEXT_SMALL,
                        theme->text, text);
}
