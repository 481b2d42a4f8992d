#include "render/editor/editor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "render/editor/editor_parts.h"

/* Seconds without a change until the world is looked at state by state. */
static const double pause_before_study = 0.5;

/* Draws what the document is now. */
static lud_status show(lud_editor *e, lud_error *error) {
    lud_drawing *drawing = NULL;
    const lud_model *model = lud_grid_edit_model(e->edit);
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    uint8_t *state = malloc(model->layout.state_bytes),
            *marked = calloc((size_t)w->width * (size_t)w->height, 1);
    lud_status status = state && marked ? LUD_OK : lud_no_memory(error, "the editor");
    if (!status) status = lud_drawing_create(model, &drawing, error);
    if (status) {
        LUD_FREE(state, marked);
        return status;
    }
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    lud_drawing_destroy(e->drawing);
    LUD_FREE(e->state, e->marked);
    e->drawing = drawing;
    e->state = state;
    e->marked = marked;
    e->version = lud_grid_edit_version(e->edit);
    e->n_problems = lud_grid_edit_check(e->edit, e->problems, LUD_EDITOR_PROBLEMS, marked);
    if (!lud_grid_pick_is(e->edit, e->pick)) e->pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
    if (e->hover_x >= w->width || e->hover_y >= w->height) e->hover_x = e->hover_y = -1;
    e->typing.on = false;
    e->study_known = false;
    e->unstudied = 0;
    lud_text_clear(&e->findings);
    return LUD_OK;
}

void lud_editor_after(lud_editor *e, lud_status status, const lud_error *error) {
    lud_error own = {0};
    if (status) lud_message_error(e->options.message, 5, error);
    if (e->version == lud_grid_edit_version(e->edit)) return;
    e->force_save = false;
    const char *note = lud_grid_edit_note(e->edit);
    if (!status && note)
        lud_message_say(e->options.message, 6, "%d x %d cells; %s", lud_grid_edit_get(e->edit)->map_width,
                        lud_grid_edit_get(e->edit)->map_height, note);
    if (show(e, &own)) lud_message_error(e->options.message, 10, &own);
}

static lud_status open_document(lud_editor *e, lud_error *error) {
    lud_grid_edit *edit;
    const lud_scenario_overrides *o = e->options.overrides;
    LUD_TRY(lud_grid_edit_open(e->options.path, NULL, o ? o->set : NULL, o ? o->n_set : 0, e->options.map,
                               &edit, error));
    lud_drawing_destroy(e->drawing); /* it draws the model of the old one */
    e->drawing = NULL;
    lud_grid_edit_close(e->edit);
    e->edit = edit;
    return show(e, error);
}

lud_status lud_editor_create(const lud_editor_options *options, lud_editor **editor, lud_error *error) {
    lud_editor *e = calloc(1, sizeof *e);
    *editor = NULL;
    if (!e) return lud_no_memory(error, "the editor");
    e->options = *options;
    e->study.options = &e->options;
    e->fitted = true;
    e->hover_x = e->hover_y = -1;
    lud_status status = open_document(e, error);
    if (!status) status = lud_palette_fill(&e->palette, e->edit, error);
    if (status) {
        lud_editor_destroy(e);
        return status;
    }
    *editor = e;
    return LUD_OK;
}

void lud_editor_destroy(lud_editor *e) {
    if (!e) return;
    lud_editor_study_free(&e->study);
    lud_palette_free(&e->palette);
    lud_drawing_destroy(e->drawing);
    lud_grid_edit_close(e->edit);
    lud_text_free(&e->findings);
    lud_text_free(&e->solution);
    LUD_FREE(e->state, e->marked, e);
}

void lud_editor_reload(lud_editor *e) {
    lud_error error = {0};
    if (!lud_grid_edit_stale(e->edit)) return;
    if (lud_grid_edit_changed(e->edit)) {
        lud_message_say(e->options.message, 8,
                        "The file has changed; what you have changed is not saved yet");
        return;
    }
    if (open_document(e, &error)) lud_message_error(e->options.message, 10, &error);
}

bool lud_editor_changed(const lud_editor *e) {
    return lud_grid_edit_changed(e->edit);
}

bool lud_editor_busy(const lud_editor *e) {
    return lud_editor_study_runs(&e->study) || !e->study_known || e->wants_solving;
}

lud_grid_edit *lud_editor_document(const lud_editor *e) {
    return e->edit;
}

const lud_camera *lud_editor_camera(const lud_editor *e) {
    return &e->camera;
}

const char *lud_editor_findings(const lud_editor *e) {
    return e->findings.bytes && e->findings.length ? e->findings.bytes : NULL;
}

lud_box lud_editor_find(const lud_editor *e, const char *name, bool next) {
    for (int i = 0; i < e->palette.n; i++)
        if (!strcmp(e->palette.brushes[i].name, name)) return e->palette.brushes[i].box;
    for (int k = 0; k < LUD_COMMANDS; k++)
        if (!strcmp(lud_editor_command_names[k], name)) return e->commands[k];
    for (int k = 0; k < e->n_values; k++) {
        lud_box box = e->values[k];
        if (strcmp(e->value_names[k], name) != 0) continue;
        const float arrow = lud_editor_arrow_width(box, e->value_is_number[k]);
        if (next) box.x += box.w - arrow;
        if (box.w > 0) box.w = arrow;
        return box;
    }
    static const char *const directions[LUD_EDITOR_SIDES] = {"east", "south", "west", "north"};
    for (int side = 0; side < LUD_EDITOR_SIDES; side++) {
        const char *space = strchr(name, ' ');
        if (space && !strcmp(space + 1, directions[side])) return e->sides[side][!strncmp(name, "grow", 4)];
    }
    return (lud_box){0};
}

lud_box lud_editor_find_field(const lud_editor *e, const char *name) {
    for (int k = 0; k < e->n_values; k++) {
        lud_box box = e->values[k];
        if (strcmp(e->value_names[k], name) != 0 || !e->value_is_number[k] || !(box.w > 0)) continue;
        const float arrow = lud_editor_arrow_width(box, true);
        box.x += arrow;
        box.w -= 2 * arrow;
        return box;
    }
    return (lud_box){0};
}

/* ---- what is found out beside ---- */

static void take_findings(lud_editor *e) {
    const lud_editor_look *s = e->study.look;
    if (s->solves) { /* whatever has changed meanwhile: it says of which world it is */
        e->wants_solving = false;
        lud_text_clear(&e->solution);
        lud_text_append(&e->solution, "%s",
                        s->error.status   ? s->error.text
                        : s->report.bytes ? s->report.bytes
                                          : "");
        e->solved_version = s->version;
    }
    char count[16];
    if (s->version != e->version) return;
    e->study_known = true;
    lud_text_clear(&e->findings);
    if (!s->size_known) {
        lud_text_append(&e->findings, "%s", s->error.text);
        return;
    }
    if (s->size.exact)
        lud_text_append(&e->findings, "%.0f states", s->size.states);
    else
        lud_text_append(&e->findings, "%s %s states", s->size.lower_bound ? "more than" : "about",
                        lud_format_count(s->size.states, count));
    for (int k = 0; k < s->size.n_out_of_reach; k++) {
        lud_text goal = {0};
        const lud_model *model = lud_grid_edit_model(e->edit);
        model->world->describe_goal(model, s->size.out_of_reach[k].agent, s->size.out_of_reach[k].goal,
                                    &goal);
        lud_text_append(&e->findings, "\nin no state: agent %d, %s", s->size.out_of_reach[k].agent,
                        goal.bytes ? goal.bytes : "");
        lud_text_free(&goal);
    }
    if (s->size.reach_known && !s->size.n_out_of_reach && lud_grid_edit_get(e->edit)->n_goals)
        lud_text_append(&e->findings, "\nevery goal can be reached");
}

void lud_editor_update(lud_editor *e, double seconds) {
    e->unstudied += seconds;
    if (lud_editor_study_ended(&e->study)) take_findings(e);
    if (lud_editor_study_runs(&e->study)) return;
    const bool due = !e->study_known && e->unstudied > pause_before_study;
    if (!due && !e->wants_solving) return;
    if (!lud_editor_study_begin(&e->study, lud_grid_edit_text(e->edit), e->version, e->wants_solving)) {
        e->study_known = true;
        e->wants_solving = false;
    }
}

/* ---- picture of the world ---- */

/* A frame around cells, within them. */
static lud_box frame_of(const lud_editor *e, int x1, int y1, int x2, int y2, float inset) {
    float left, top, right, bottom;
    lud_camera_to_screen(&e->camera, (float)x1, (float)y1, &left, &top);
    lud_camera_to_screen(&e->camera, (float)(x2 + 1), (float)(y2 + 1), &right, &bottom);
    inset *= e->camera.scale;
    return (lud_box){left + inset, top + inset, right - left - 2 * inset, bottom - top - 2 * inset};
}

static void draw_goals(lud_editor *e, lud_canvas *canvas, const lud_theme *theme) {
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    const float s = lud_canvas_scale(canvas), row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    for (int g = 0; g < w->n_goals; g++) {
        const lud_grid_edit_goal *goal = &w->goals[g];
        const bool picked = e->pick.kind == LUD_PICK_GOAL && e->pick.goal == g;
        const lud_box box = frame_of(e, goal->x1, goal->y1, goal->x2, goal->y2, 0.06f);
        lud_canvas_rect(canvas, box, lud_faded(theme->accent, picked ? 0.22f : 0.08f));
        lud_canvas_frame(canvas, box, 5 * s, fmaxf(1, (picked ? 3 : 1.5f) * s),
                         lud_faded(theme->accent, picked ? 1 : 0.75f));
        if (e->camera.scale < 26 * s) continue;
        char number[24];
        snprintf(number, sizeof number, "%d", g);
        const float wide = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, number) + 8 * s;
        const lud_box tag = {box.x + box.w - wide, box.y, wide, row};
        lud_canvas_round_rect(canvas, tag, 4 * s, lud_faded(theme->accent, 0.9f));
        lud_canvas_text(canvas, tag.x + 4 * s, tag.y, LUD_TEXT_SMALL, theme->floor, number);
    }
}

/* Cells that should be in a goal, and places of what is wrong. */
static void draw_problems(lud_editor *e, lud_canvas *canvas, const lud_theme *theme) {
    const lud_grid_edit_world *w = lud_grid_edit_get(e->edit);
    const float s = lud_canvas_scale(canvas);
    for (int c = 0; c < w->width * w->height; c++) {
        if (!e->marked[c]) continue;
        const lud_box box = frame_of(e, c % w->width, c / w->width, c % w->width, c / w->width, 0.16f);
        lud_canvas_line(canvas, box.x, box.y + box.h, box.x + box.w, box.y, fmaxf(1, 1.5f * s),
                        lud_faded(theme->bad, 0.8f));
    }
    for (int k = 0; k < e->n_problems; k++) {
        const lud_grid_problem *p = &e->problems[k];
        if (p->x < 0) continue;
        const lud_box box = frame_of(e, p->x, p->y, p->x, p->y, 0);
        const float r = fmaxf(5 * s, box.w * 0.13f), x = box.x + box.w - r, y = box.y + box.h - r;
        lud_canvas_disc(canvas, x, y, r, p->refused ? theme->bad : theme->caution);
        lud_canvas_rect(canvas, (lud_box){x - 1 * s, y - 0.6f * r, 2 * s, 0.7f * r}, theme->floor);
        lud_canvas_rect(canvas, (lud_box){x - 1 * s, y + 0.3f * r, 2 * s, 2 * s}, theme->floor);
        lud_canvas_hint(canvas, (lud_box){x - r, y - r, 2 * r, 2 * r}, p->text);
    }
}

static void draw_hover(lud_editor *e, lud_canvas *canvas, const lud_theme *theme) {
    const float s = lud_canvas_scale(canvas);
    if (e->hover_x < 0) return;
    int x1 = e->hover_x, y1 = e->hover_y, x2 = x1, y2 = y1;
    if (e->grip == LUD_GRIP_GOAL) {
        x1 = e->grip_x < x1 ? e->grip_x : x1;
        y1 = e->grip_y < y1 ? e->grip_y : y1;
        x2 = e->grip_x > x2 ? e->grip_x : x2;
        y2 = e->grip_y > y2 ? e->grip_y : y2;
    }
    const lud_box box = frame_of(e, x1, y1, x2, y2, 0);
    const bool moves = e->grip == LUD_GRIP_MOVE && e->moved, draws = e->tool != LUD_TOOL_SELECT || moves;
    if (moves) {
        const lud_box from = frame_of(e, e->grip_x, e->grip_y, e->grip_x, e->grip_y, 0);
        lud_canvas_arrow(canvas, from.x + from.w * 0.5f, from.y + from.h * 0.5f, box.x + box.w * 0.5f,
                         box.y + box.h * 0.5f, 3 * s, theme->accent);
    }
    if (e->tool == LUD_TOOL_GOAL) lud_canvas_rect(canvas, box, lud_faded(theme->accent, 0.15f));
    lud_canvas_frame(canvas, box, 4 * s, fmaxf(1, (draws ? 2 : 1) * s),
                     lud_faded(draws ? theme->accent : theme->muted, 0.9f));
}

static void draw_world(lud_editor *e, lud_canvas *canvas, const lud_theme *theme, float seconds) {
    if (e->fitted)
        lud_camera_fit(&e->camera, e->world, e->drawing->kind->extent(e->drawing),
                       34 * lud_canvas_scale(canvas), true); /* room for the buttons at its sides */
    else
        lud_camera_set_viewport(&e->camera, e->world);
    const bool cell = e->pick.kind == LUD_PICK_CELL;
    const lud_moment moment = {.state = e->state,
                               .progress = 1,
                               .seconds = seconds,
                               .selected_agent = -1,
                               .cell_selected = cell,
                               .cell_x = e->pick.x,
                               .cell_y = e->pick.y,
                               .labels = true};
    lud_canvas_layer_choose(canvas, 0);
    lud_canvas_clip(canvas, e->world);
    e->drawing->kind->draw(e->drawing, canvas, theme, &e->camera, &moment);
    draw_goals(e, canvas, theme);
    draw_problems(e, canvas, theme);
    draw_hover(e, canvas, theme);
    lud_editor_draw_sides(e, canvas, theme);
    lud_canvas_unclip(canvas);
}

void lud_editor_draw(lud_editor *e, lud_canvas *canvas, const lud_theme *theme, float seconds) {
    const float w = (float)lud_canvas_width(canvas), h = (float)lud_canvas_height(canvas),
                s = lud_canvas_scale(canvas);
    const float line = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 12 * s;
    const float column = fminf(fminf(fmaxf(w * 0.28f, 270 * s), 380 * s), w * 0.55f);
    e->world = (lud_box){0, 0, w - column, h - line};
    e->column = (lud_box){w - column, 0, column, h - line};
    e->status = (lud_box){0, h - line, w, line};
    draw_world(e, canvas, theme, seconds);
    lud_editor_draw_panel(e, canvas, theme, seconds);
    lud_editor_draw_status(e, canvas, theme);
}
