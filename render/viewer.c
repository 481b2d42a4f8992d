#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/viewer_parts.h"

lud_status lud_viewer_create(const lud_view_options *options, lud_viewer **viewer, lud_error *error) {
    lud_viewer *v = calloc(1, sizeof *v);
    if (!v) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for the viewer");
    v->options = options;
    v->theme = options->theme;
    v->motion = !options->no_motion;
    v->speed = options->speed > 0 ? options->speed : 4;
    v->playing = options->playing;
    v->fresh = !options->playing;
    v->panels = v->goals = v->fitted = true;
    v->selected_agent = v->grabbed = -1;
    v->since_step = INFINITY;
    lud_status status = lud_viewer_load(v, false, error);
    if (status) {
        lud_viewer_destroy(v);
        return status;
    }
    *viewer = v;
    return LUD_OK;
}

void lud_viewer_destroy(lud_viewer *viewer) {
    if (!viewer) return;
    if (viewer->video) lud_viewer_toggle_recording(viewer);
    lud_successors_free(&viewer->successors);
    lud_player_destroy(viewer->player);
    lud_overlay_destroy(viewer->overlay);
    lud_drawing_destroy(viewer->drawing);
    lud_cast_destroy(viewer->cast);
    lud_scenario_destroy(viewer->scenario);
    lud_tree_files_free(&viewer->files);
    free(viewer->chosen);
    free(viewer->taken);
    free(viewer->plan);
    free(viewer->events);
    free(viewer);
}

lud_player *lud_viewer_player(const lud_viewer *viewer) {
    return viewer->player;
}
const lud_scenario *lud_viewer_scenario(const lud_viewer *viewer) {
    return viewer->scenario;
}
const char *lud_viewer_message(const lud_viewer *viewer) {
    return viewer->message;
}
const char *lud_viewer_last_file(const lud_viewer *viewer) {
    return viewer->last_file;
}
int lud_viewer_selected_agent(const lud_viewer *viewer) {
    return viewer->selected_agent;
}
lud_overlay *lud_viewer_overlay(const lud_viewer *viewer) {
    return viewer->overlay;
}
bool lud_viewer_wants_to_quit(const lud_viewer *viewer) {
    return viewer->quit;
}

void lud_viewer_say(lud_viewer *v, bool is_error, double seconds, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->message, sizeof v->message, format, arguments);
    va_end(arguments);
    v->message_is_error = is_error;
    v->message_until = v->clock + seconds;
}

/* ---- time ---- */

void lud_viewer_forget_plans(lud_viewer *v) {
    v->successors_valid = false;
}

/* Remembers what kind of step led to the present state. */
static void note_events(lud_viewer *v) {
    size_t position = lud_player_position(v->player);
    if (position >= v->events_capacity) {
        size_t capacity = position * 2 + 64;
        uint8_t *events = realloc(v->events, capacity);
        if (!events) return;
        memset(events + v->events_capacity, 0, capacity - v->events_capacity);
        v->events = events;
        v->events_capacity = capacity;
    }
    const uint8_t *before = lud_player_before(v->player);
    v->events[position] =
        before ? (uint8_t)v->drawing->kind->events(v->drawing, before, lud_player_state(v->player)) : 0;
}

/* Agents that were taken over wait unless a key says otherwise. */
static int32_t waiting_action(const lud_viewer *v, int agent) {
    const lud_action_space *space = &v->scenario->model->layout.actions[agent];
    for (int a = 0; a < space->n_discrete; a++)
        if (!strcmp(space->names[a], "still")) return a;
    return 0;
}

void lud_viewer_step(lud_viewer *v) {
    bool moved;
    lud_error error = {0};
    if (lud_player_step(v->player, v->chosen, &moved, &error)) {
        v->playing = false;
        lud_viewer_say(v, true, 10, "%s", error.text);
        return;
    }
    for (int i = 0; i < v->scenario->model->layout.n_agents; i++)
        if (v->taken[i]) v->chosen[i] = waiting_action(v, i);
    if (!moved) {
        v->playing = false;
        lud_viewer_say(v, false, 6, "The episode is over: N next episode, R another seed, Home to its start");
        return;
    }
    v->since_step = 0;
    note_events(v);
    lud_viewer_forget_plans(v);
    lud_viewer_record_step(v);
}

void lud_viewer_seek(lud_viewer *v, size_t position) {
    lud_player_seek(v->player, position);
    v->since_step = INFINITY; /* scrubbing jumps */
    lud_viewer_forget_plans(v);
}

void lud_viewer_restart(lud_viewer *v, uint64_t seed) {
    lud_player_restart(v->player, seed);
    v->since_step = INFINITY;
    lud_viewer_forget_plans(v);
    lud_viewer_say(v, false, 3, "Seed %llu", (unsigned long long)seed);
}

static float step_seconds(const lud_viewer *v) {
    float seconds = 1 / (float)v->speed;
    return v->playing ? seconds : fminf(seconds, 0.3f);
}

void lud_viewer_update(lud_viewer *v, double seconds) {
    v->clock += seconds;
    v->since_step += seconds;
    if (v->message[0] && v->clock > v->message_until) v->message[0] = 0;
    lud_viewer_watch_file(v);
    if (!v->playing) return;
    double one = 1 / v->speed;
    /* after a pause of the machine itself do not run after the lost time */
    for (int k = 0; k < 64 && v->playing && v->since_step >= one; k++) {
        double rest = isinf(v->since_step) || v->since_step > 64 * one ? 0 : v->since_step - one;
        lud_viewer_step(v);
        if (v->playing) v->since_step = rest;
    }
}

bool lud_viewer_moving(const lud_viewer *v) {
    return v->playing || v->since_step < 1 || v->motion || v->message[0] || v->dragging || v->scrubbing;
}

/* ---- picture ---- */

lud_moment lud_viewer_moment(lud_viewer *v) {
    float t = isinf(v->since_step) ? 1 : (float)v->since_step / step_seconds(v);
    bool moving = v->motion && t < 1 && v->speed <= 32;
    float after_middle = (float)v->since_step - (moving || t >= 1 ? 0.5f * step_seconds(v) : 0);
    float glow = isinf(v->since_step) || after_middle < 0 ? 0 : fmaxf(0, 1 - after_middle / 0.3f);
    return (lud_moment){.state = lud_player_state(v->player),
                        .before = moving || glow > 0 ? lud_player_before(v->player) : NULL,
                        .actions = lud_player_actions(v->player),
                        .progress = moving ? lud_eased(t) : 1,
                        .glow = glow,
                        .seconds = v->motion ? (float)fmod(v->clock, 3600) : 0,
                        .goals = v->goals ? lud_player_goals(v->player) : NULL,
                        .selected_agent = v->selected_agent,
                        .cell_selected = v->cell_selected,
                        .cell_x = v->cell_x,
                        .cell_y = v->cell_y,
                        .labels = v->labels,
                        .trail = v->trail,
                        .n_trail = v->motion ? lud_player_trail(v->player, v->trail, LUD_TRAIL_STATES) : 0,
                        .overlay = v->fresh ? NULL : v->overlay};
}

/* The overlay's panel takes the lower part of the column and leaves the inspector what it needs. */
static void lay_out_overlay(lud_viewer *v, const lud_canvas *canvas) {
    float wanted = v->overlay ? lud_overlay_panel_height(v->overlay, canvas) : 0, pad = 16 * v->scale;
    if (wanted <= 0) return;
    lud_box *column = &v->boxes.column;
    float agents = 30 * (float)v->scenario->model->layout.n_agents;
    float inspector = v->selected_agent >= 0 ? 290 : 195 + agents;
    float height = fminf(wanted, column->h - pad - fminf(inspector * v->scale, column->h * 0.52f));
    v->boxes.overlay = (lud_box){column->x, column->y + column->h - height - pad, column->w - pad, height};
    column->h -= height + pad * 0.75f;
}

static void lay_out(lud_viewer *v, const lud_canvas *canvas) {
    float w = (float)v->width, h = (float)v->height, s = v->scale;
    lud_layout_boxes *b = &v->boxes;
    memset(b, 0, sizeof *b);
    b->world = (lud_box){0, 0, w, h};
    if (v->panels && !v->fresh) {
        float line = fminf(58 * s, h * 0.2f), column = fminf(fmaxf(w / 3, 250 * s), w * 0.5f);
        b->timeline = (lud_box){0, h - line, w, line};
        b->column = (lud_box){w - column, 0, column, h - line};
        b->world = (lud_box){0, 0, w - column, h - line};
        lay_out_overlay(v, canvas);
        float side = 30 * s, x = 14 * s;
        for (int k = 0; k < 5; k++, x += side + 4 * s)
            b->buttons[k] = (lud_box){x, b->timeline.y + (line - side) * 0.5f, side, side};
        float left = x + 70 * s, right = w - 150 * s;
        b->track = (lud_box){left, b->timeline.y, fmaxf(right - left, 20), line};
    }
}

void lud_viewer_fit(lud_viewer *v) {
    lud_camera_fit(&v->camera, v->boxes.world, v->drawing->kind->extent(v->drawing), 18 * v->scale,
                   v->drawing->kind->whole_cells);
    v->fitted = true;
}

static void draw_first_keys(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    const char *keys = "Space  play      .  one step      H  all keys";
    float width = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, keys);
    float y = (float)v->height - lud_canvas_line_height(canvas, LUD_TEXT_SMALL) - 9 * v->scale;
    lud_canvas_text(canvas, ((float)v->width - width) * 0.5f, y, LUD_TEXT_SMALL, theme->muted, keys);
}

void lud_viewer_draw(lud_viewer *v, lud_canvas *canvas) {
    const lud_theme *theme = lud_theme_get(v->theme);
    lud_canvas_begin(canvas, theme->ground);
    v->width = lud_canvas_width(canvas);
    v->height = lud_canvas_height(canvas);
    v->scale = lud_canvas_scale(canvas);
    lay_out(v, canvas);
    if (v->fresh) v->boxes.world.h -= 24 * v->scale; /* room for the line of keys */
    if (v->fitted)
        lud_viewer_fit(v);
    else
        lud_camera_set_viewport(&v->camera, v->boxes.world);
    lud_moment moment = lud_viewer_moment(v);
    if (v->follow && v->selected_agent >= 0) {
        float x, y;
        v->drawing->kind->agent_position(v->drawing, &moment, v->selected_agent, &x, &y);
        lud_camera_follow(&v->camera, x, y, v->motion ? 0.2f : 1);
    }
    lud_canvas_clip(canvas, v->boxes.world);
    if (moment.overlay) lud_overlay_select(v->overlay, moment.state, v->selected_agent);
    v->drawing->kind->draw(v->drawing, canvas, theme, &v->camera, &moment);
    if (moment.overlay) lud_overlay_draw_top(v->overlay, canvas, theme, &v->camera, &moment);
    lud_canvas_unclip(canvas);
    if (v->boxes.column.w > 0) {
        lud_box side = {v->boxes.column.x, 0, v->boxes.column.w, v->boxes.timeline.y};
        lud_canvas_rect(canvas, side, theme->ground);
        lud_canvas_rect(canvas, v->boxes.timeline, theme->ground);
        lud_viewer_draw_inspector(v, canvas, theme);
        if (v->boxes.overlay.h > 0)
            lud_overlay_draw_panel(v->overlay, canvas, theme, v->boxes.overlay, v->player,
                                   lud_viewer_track_length(v));
        lud_viewer_draw_timeline(v, canvas, theme);
    }
    if (v->fresh) draw_first_keys(v, canvas, theme);
    lud_viewer_draw_message(v, canvas, theme);
    if (v->help) lud_viewer_draw_help(v, canvas, theme);
    lud_canvas_end(canvas);
}
