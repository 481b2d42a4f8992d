#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/canvas/picture.h"
#include "render/sides_draw.h"
#include "render/viewer/look.h"
#include "render/viewer/panels/help.h"
#include "render/viewer/portrait.h"
#include "render/viewer/remembered.h"
#include "render/viewer/viewer_parts.h"

static void free_stages(lud_stage *stages, int n) {
    for (int k = 0; k < n; k++) lud_stage_free(&stages[k]);
}

/* What overlays show stays when the scenario is read anew. */
static void keep_shown(const lud_viewer *v, const lud_stage *stages) {
    for (int k = 0; k < v->n_stages; k++)
        if (v->stages[k].overlay && stages[k].overlay)
            lud_overlay_show(stages[k].overlay, lud_overlay_shown(v->stages[k].overlay));
}

/* Reads the scenarios; when that fails the old worlds stay. */
static lud_status load(lud_viewer *v, const uint64_t *seed, lud_error *error) {
    lud_stage stages[LUD_SIDES] = {0};
    lud_takeover takeover = {0};
    lud_successor_list successors = {0};
    lud_tree_files files = {0};
    const int n = lud_stages_number(v->options);
    lud_status status = lud_stages_load(v->options, seed, stages, &files, error);
    lud_file_watch_set(&v->watch, files); /* those of a scenario with a mistake are watched too */
    if (!status) status = lud_takeover_create(lud_stage_layout(&stages[0]), &takeover, error);
    if (!status) status = lud_successor_list_create(lud_stage_layout(&stages[0]), &successors, error);
    if (status) {
        lud_takeover_free(&takeover);
        free_stages(stages, LUD_SIDES);
        return status;
    }
    if (v->recording.on) lud_viewer_toggle_recording(v); /* the picture may have another shape now */
    keep_shown(v, stages);
    free_stages(v->stages, v->n_stages);
    lud_takeover_free(&v->takeover);
    lud_successor_list_free(&v->successors);
    memcpy(v->stages, stages, sizeof stages);
    v->n_stages = n;
    if (!v->stage) v->stage = &v->stages[0];
    v->takeover = takeover;
    v->successors = successors;
    lud_playback_jump(&v->playback);
    v->selection.cell = false;
    if (v->selection.agent >= lud_stage_layout(v->stage)->n_agents) v->selection.agent = -1;
    return LUD_OK;
}

/* Loads a recorded episode into the player, with the pins of its whole time line. */
static lud_status show_recorded(lud_viewer *v, int64_t number, lud_error *error) {
    lud_recorded_episode episode = {0};
    lud_episode_source *source = v->options->episodes;
    lud_status status = source->load(source, number, &episode, error);
    if (!status) status = lud_player_show(v->stages[0].player, &episode, error);
    if (status) return status;
    v->recorded = number;
    for (size_t position = 0; position < episode.n_states; position++) {
        lud_player_seek(v->stage->player, position);
        lud_timeline_add(&v->timeline, v->stages, v->n_stages);
    }
    lud_player_seek(v->stage->player, 0);
    return LUD_OK;
}

lud_status lud_viewer_create(const lud_view_options *options, lud_viewer **viewer, lud_error *error) {
    lud_viewer *v = calloc(1, sizeof *v);
    if (!v) return lud_no_memory(error, "the viewer");
    v->options = options;
    v->selection.agent = v->mouse.grabbed = v->mouse.edge = -1;
    lud_status status = load(v, NULL, error);
    if (!status && options->episodes) status = show_recorded(v, options->first_episode, error);
    if (status) {
        lud_viewer_destroy(v);
        return status;
    }
    v->playback.playing = options->playing;
    v->plays_on = !options->once;
    v->grid = v->stages[0].apart;
    lud_pointer_quiet(&v->pointer);
    lud_look_apply(v);
    *viewer = v;
    return LUD_OK;
}

void lud_viewer_destroy(lud_viewer *viewer) {
    if (!viewer) return;
    if (viewer->recording.on) lud_viewer_toggle_recording(viewer);
    lud_editing_free(&viewer->editing);
    lud_successor_list_free(&viewer->successors);
    lud_takeover_free(&viewer->takeover);
    if (!viewer->borrowed) free_stages(viewer->stages, viewer->n_stages);
    free(viewer->look);
    lud_file_watch_free(&viewer->watch);
    lud_timeline_free(&viewer->timeline);
    free(viewer);
}

lud_player *lud_viewer_player(const lud_viewer *viewer) {
    return viewer->stage->player;
}
const lud_scenario *lud_viewer_scenario(const lud_viewer *viewer) {
    return viewer->stage->scenario;
}
const char *lud_viewer_message(const lud_viewer *viewer) {
    return viewer->message.text;
}
const char *lud_viewer_last_file(const lud_viewer *viewer) {
    return viewer->recording.last_file;
}
int lud_viewer_selected_agent(const lud_viewer *viewer) {
    return viewer->selection.agent;
}
const lud_camera *lud_viewer_camera(const lud_viewer *viewer) {
    return &viewer->layout.camera;
}
lud_overlay *lud_viewer_overlay(const lud_viewer *viewer) {
    return viewer->stage->overlay;
}
void lud_viewer_begin_scale(lud_viewer *viewer, float scale) {
    lud_viewer_set_scale(viewer, scale);
    viewer->first_scale = viewer->scale;
}
void lud_viewer_set_scale(lud_viewer *viewer, float scale) {
    viewer->scale = fminf(fmaxf(scale, 0.5f), 4);
}
bool lud_viewer_wants_full_screen(const lud_viewer *viewer) {
    return viewer->full_screen;
}
bool lud_viewer_wants_to_quit(const lud_viewer *viewer) {
    return viewer->quit;
}

/* ---- sides ---- */

int lud_viewer_side_at(const lud_viewer *v, float x, float y) {
    for (int k = 0; k < v->n_stages; k++)
        if (lud_box_contains(v->layout.side[k], x, y) || lud_box_contains(v->layout.heading[k], x, y) ||
            lud_box_contains(v->layout.compared[k], x, y))
            return k;
    return -1;
}

void lud_viewer_choose_side(lud_viewer *v, int side) {
    v->stage = &v->stages[side];
    lud_viewer_forget_plans(v);
}

bool lud_viewer_shows_alone(const lud_viewer *v) {
    return v->n_stages > 1 && v->stage->apart && !v->grid;
}

void lud_viewer_show_grid(lud_viewer *v, bool grid) {
    if (v->recording.on) lud_viewer_toggle_recording(v); /* its picture has another shape */
    v->grid = grid;
    lud_view_layout_fit_next(&v->layout);
}

/* ---- time ---- */

void lud_viewer_forget_plans(lud_viewer *v) {
    v->successors.valid = false;
}

lud_sides lud_viewer_sides(const lud_viewer *v) {
    return lud_stage_sides(v->stages, v->n_stages);
}

bool lud_viewer_over(const lud_viewer *v) {
    const lud_sides sides = lud_viewer_sides(v);
    return lud_sides_over(&sides);
}

void lud_viewer_step(lud_viewer *v) {
    bool moved;
    lud_error error = {0};
    const lud_sides sides = lud_viewer_sides(v);
    if (lud_sides_step(&sides, v->takeover.chosen, &moved, &error)) {
        v->playback.playing = false;
        lud_message_error(&v->message, 10, &error);
        return;
    }
    lud_takeover_rest(&v->takeover);
    if (!moved) {
        if (v->playback.playing && v->plays_on) return; /* the next one begins, see lud_viewer_update */
        v->playback.playing = false;
        lud_message_say(&v->message, 6, "The episode is over: N next episode, %s, Home to its start",
                        v->options->episodes ? "Shift N the one before" : "R another seed");
        return;
    }
    v->playback.since_step = 0;
    lud_timeline_add(&v->timeline, v->stages, v->n_stages);
    lud_viewer_forget_plans(v);
    if (v->recording.on && lud_recording_add_step(&v->recording, &error))
        lud_message_error(&v->message, 10, &error);
}

void lud_viewer_seek(lud_viewer *v, size_t position) {
    const lud_sides sides = lud_viewer_sides(v);
    lud_sides_seek(&sides, position);
    lud_playback_jump(&v->playback); /* scrubbing jumps */
    lud_viewer_forget_plans(v);
}

void lud_viewer_restart(lud_viewer *v, uint64_t seed) {
    lud_error error = {0};
    const lud_sides sides = lud_viewer_sides(v);
    lud_message_say(&v->message, 3, "Seed %llu", (unsigned long long)seed);
    if (lud_sides_restart(&sides, seed, &error)) lud_message_error(&v->message, 10, &error);
    lud_viewer_forget_plans(v);
    lud_playback_jump(&v->playback);
}

void lud_viewer_next_episode(lud_viewer *v) {
    if (v->options->episodes) {
        lud_viewer_show_recorded(v, v->recorded + 1);
        return;
    }
    lud_error error = {0};
    lud_player *player = v->stages[0].player;
    if (v->newer) { /* policies are those of a stage: another stage, with its episodes in another order */
        const uint64_t seed = lud_player_seed(player) + 1;
        v->newer = false;
        v->taught = true;
        if (load(v, &seed, &error)) lud_message_error(&v->message, 10, &error);
        return;
    }
    const lud_sides sides = lud_viewer_sides(v);
    if (lud_sides_next_episode(&sides, &error)) lud_message_error(&v->message, 10, &error);
    lud_playback_jump(&v->playback);
    lud_viewer_forget_plans(v);
}

void lud_viewer_show_recorded(lud_viewer *v, int64_t number) {
    lud_error error = {0};
    const int64_t n = v->options->episodes->n;
    number = number < 0 ? n - 1 : number >= n ? 0 : number;
    if (show_recorded(v, number, &error))
        lud_message_error(&v->message, 10, &error);
    else
        lud_message_say(&v->message, 2, "Episode %lld of %lld", (long long)number + 1, (long long)n);
    lud_playback_jump(&v->playback);
    lud_viewer_forget_plans(v);
}

static void load_again(lud_viewer *v) {
    lud_error error = {0};
    uint64_t seed = lud_player_seed(v->stages[0].player);
    if (load(v, &seed, &error))
        lud_message_error(&v->message, INFINITY, &error);
    else
        lud_message_say(&v->message, 3, "The scenario was read anew");
    if (v->editing.editor) lud_editor_reload(v->editing.editor);
    lud_look_follow(v);
}

/* Newer parameters act from the next episode on, the first ones at once. */
static void follow_training(lud_viewer *v, double seconds) {
    lud_view_training *training = v->options->training;
    if (!training || !training->look(training, seconds)) return;
    v->newer = true;
    if (!v->taught) lud_viewer_next_episode(v);
}

/* Where an episode is over while it plays: shows its end for a moment, then the next. */
static bool play_on(lud_viewer *v, double seconds) {
    static const double linger = 1.2;
    const bool over = v->playback.playing && v->plays_on && lud_viewer_over(v);
    v->over_for = over ? v->over_for + seconds : 0;
    if (!over || v->over_for < fmin(linger, 24 / v->playback.speed)) return over;
    v->over_for = 0;
    lud_viewer_next_episode(v);
    v->playback.since_step = 0;
    return true;
}

void lud_viewer_update(lud_viewer *v, double seconds) {
    lud_playback_update(&v->playback, seconds);
    lud_message_update(&v->message, seconds);
    v->pointer.rested += seconds;
    if (lud_file_watch_update(&v->watch, seconds)) load_again(v);
    if (lud_viewer_update_editing(v, seconds)) return;
    follow_training(v, seconds);
    if (play_on(v, seconds)) return;
    double rest;
    for (int k = 0; k < 64 && lud_playback_due(&v->playback, &rest); k++) {
        lud_viewer_step(v);
        if (v->playback.playing) v->playback.since_step = rest;
    }
}

/* Whether something other than what always moves (water, lava) moves. */
static bool is_lively(const lud_viewer *v) {
    const lud_view_training *training = v->options->training;
    return lud_viewer_editing_moves(v) || (training && training->version != v->drawn) ||
           v->playback.playing || v->playback.since_step < 1 || v->message.text[0] ||
           lud_pointer_waits(&v->pointer) || v->mouse.dragging || v->mouse.scrubbing ||
           v->mouse.edge != LUD_NO_EDGE;
}

bool lud_viewer_moving(const lud_viewer *v) {
    return is_lively(v) || v->shown.motion;
}

double lud_viewer_rest(const lud_viewer *v) {
    static const double lively = 1.0 / 60, beside_training = 1.0 / 30, idle = 1.0 / 12, still = 0.25;
    const lud_view_training *training = v->options->training;
    if (is_lively(v)) return training && training->running ? beside_training : lively;
    return v->shown.motion ? idle : still;
}

/* ---- files ---- */

void lud_viewer_screenshot(lud_viewer *v) {
    lud_canvas *canvas = NULL;
    lud_error error = {0};
    const lud_view_layout *l = &v->layout;
    if (l->width < 1) return; /* nothing was shown yet */
    lud_recording_name(&v->recording, v->stage->scenario, "png");
    lud_status status =
        lud_canvas_create_offscreen(l->width, l->height, l->scale / l->magnified, &canvas, &error);
    if (!status) {
        lud_message message = v->message;
        v->message.text[0] = 0;
        lud_viewer_draw(v, canvas);
        v->message = message;
        int pitch;
        const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
        status = lud_canvas_check(canvas, &error);
        if (!status)
            status = lud_picture_write(v->recording.last_file, pixels, l->width, l->height, pitch, &error);
    }
    lud_canvas_destroy(canvas);
    if (status)
        lud_message_error(&v->message, 10, &error);
    else
        lud_message_say(&v->message, 4, "Saved %s", v->recording.last_file);
}

/* What is written below recordings, and where the view says so below the window's picture. */
static lud_caption caption_of(const lud_viewer *v) {
    const char *title = v->borrowed ? v->title : lud_caption_title(v->stages[0].scenario);
    return (lud_caption){title, v->stages[0].who.bytes};
}

lud_status lud_viewer_save_look(const lud_viewer *v, const char *path, lud_error *error) {
    return lud_look_write(v, path, error);
}

void lud_viewer_keep_look(lud_viewer *v) {
    lud_error error = {0};
    if (v->options->keep)
        snprintf(v->recording.last_file, sizeof v->recording.last_file, "%s", v->options->keep);
    else
        lud_recording_name(&v->recording, v->stage->scenario, "view.yaml");
    if (lud_look_write(v, v->recording.last_file, &error))
        lud_message_error(&v->message, 10, &error);
    else
        lud_message_say(&v->message, 5, "Saved %s: ludus record ... --view %s", v->recording.last_file,
                        v->recording.last_file);
}

void lud_viewer_remember(lud_viewer *v) {
    lud_error error = {0};
    if (v->remembers && lud_remembered_write(v->options->remembered, &v->panels, &error))
        lud_message_error(&v->message, 10, &error);
}

void lud_viewer_fold(lud_viewer *v, int panel) {
    bool *folded = lud_panel_folded(&v->panels, panel);
    if (!folded) return;
    *folded = !*folded;
    lud_viewer_remember(v);
}

void lud_viewer_forget_panels(lud_viewer *v) {
    lud_error error = {0};
    v->panels = v->stages[0].scenario->view.panels;
    v->shown.panels = v->panels.show != LUD_VIEW_NEVER;
    if (v->remembers && lud_remembered_forget(v->options->remembered, &error))
        lud_message_error(&v->message, 10, &error);
    else
        lud_message_say(&v->message, 2, "Panels as at first");
}

void lud_viewer_toggle_recording(lud_viewer *v) {
    lud_error error = {0};
    lud_recording *r = &v->recording;
    const bool starts = !r->on;
    const lud_recorded_view shown = {
        .shown = &v->shown, .caption = caption_of(v), .painter = {v, lud_portrait_paint}};
    const bool alone = lud_viewer_shows_alone(v);
    if (starts ? lud_recording_start(r, alone ? v->stage : v->stages, alone ? 1 : v->n_stages, &shown, &error)
               : lud_recording_finish(r, &error))
        lud_message_error(&v->message, 10, &error);
    else if (starts)
        lud_message_say(&v->message, 4, "Recording every step to %s; V ends it", r->last_file);
    else
        lud_message_say(&v->message, 5, "Saved %s, %lld frames", r->last_file, (long long)r->film.frames);
}

/* ---- picture ---- */

/* `trail` holds LUD_TRAIL_STATES states and must outlive the moment. A side that is over while others go on
 * rests. */
static lud_moment moment_of(const lud_viewer *v, const lud_stage *stage, const uint8_t **trail) {
    const lud_shown *shown = &v->shown;
    lud_player *player = stage->player;
    const bool rests = lud_player_position(player) < lud_stages_span(v->stages, v->n_stages).position;
    const lud_phase resting = {.progress = 1}, phase = rests ? resting
                                                       : v->portrait.on
                                                           ? v->portrait.phase
                                                           : lud_playback_phase(&v->playback, shown->motion);
    return (lud_moment){.state = lud_player_state(player),
                        .before = phase.moving || phase.glow > 0 ? lud_player_before(player) : NULL,
                        .came_from = lud_player_before(player),
                        .actions = lud_player_actions(player),
                        .rewards = lud_player_rewards(player),
                        .progress = lud_eased(phase.progress),
                        .glow = phase.glow,
                        .seconds = shown->motion ? (float)fmod(v->playback.clock, 3600) : 0,
                        .hidden = lud_player_hidden(player),
                        .goals = shown->goals ? lud_player_goals(player) : NULL,
                        .selected_agent = v->selection.agent,
                        .cell_selected = v->selection.cell,
                        .cell_x = v->selection.cell_x,
                        .cell_y = v->selection.cell_y,
                        .labels = shown->labels,
                        .trail = trail,
                        .n_trail = shown->motion ? lud_player_trail(player, trail, LUD_TRAIL_STATES) : 0,
                        .overlay = shown->fresh ? NULL : stage->overlay};
}

static lud_compared compared(const lud_viewer *v) {
    return (lud_compared){v->stages, v->n_stages, (int)(v->stage - v->stages), v->selection.agent};
}

static void lay_out(lud_viewer *v, const lud_canvas *canvas, const lud_moment *moment) {
    lud_view_layout *l = &v->layout;
    const lud_shown *shown = &v->shown;
    const lud_compared what = compared(v);
    const bool captioned = shown->caption && caption_of(v).title;
    lud_view_panels panels = v->panels;
    if (v->grid) panels.inspector = panels.overlay = false; /* they are about one, which a click chooses */
    lud_view_layout_divide(l, canvas, &what, v->options->training,
                           shown->panels && !shown->fresh ? &panels : NULL, lud_viewer_shows_alone(v),
                           shown->fresh, captioned ? (float)lud_caption_height(canvas) : 0,
                           v->selection.agent >= 0);
    lud_timeline_lay_out(&v->timeline, l->timeline, l->scale);
    if (l->fitted)
        lud_view_layout_fit(l, v->stages[0].drawing);
    else
        lud_camera_set_viewport(&l->camera, l->side[l->lead]);
    if (l->follow && v->selection.agent >= 0) {
        float x, y;
        v->stage->drawing->kind->agent_position(v->stage->drawing, moment, v->selection.agent, &x, &y);
        lud_camera_follow(&l->camera, x, y, shown->motion && !l->at_once ? 0.2f : 1);
    }
    l->at_once = false;
    lud_view_layout_spread(l);
}

/* The world of each side, with heading and marks where there are several. */
static void draw_worlds(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme,
                        const lud_moment *moments) {
    const lud_view_layout *l = &v->layout;
    const lud_sides sides = lud_viewer_sides(v);
    for (int k = 0; k < v->n_stages; k++) {
        lud_drawing *drawing = v->stages[k].drawing;
        const lud_moment *moment = &moments[k];
        if (l->side[k].w <= 0) continue;
        lud_canvas_layer_choose(canvas, k);
        lud_canvas_clip(canvas, l->side[k]);
        if (moment->overlay) lud_overlay_select(moment->overlay, moment->state, v->selection.agent);
        drawing->kind->draw(drawing, canvas, theme, &l->cameras[k], moment);
        if (moment->overlay) lud_overlay_draw_top(moment->overlay, canvas, theme, &l->cameras[k], moment);
        lud_sides_draw_marks(&sides, k, canvas, theme, &l->cameras[k], moments);
        lud_canvas_unclip(canvas);
    }
    if (v->n_stages == 1 || lud_viewer_shows_alone(v)) return;
    lud_box boxes[LUD_SIDES];
    for (int k = 0; k < v->n_stages; k++) {
        lud_sides_draw_heading(&sides, k, canvas, theme, l->heading[k], &v->stages[k] == v->stage);
        boxes[k] = l->heading[k];
        boxes[k].h += l->side[k].h;
    }
    lud_sides_draw_rules(v->n_stages, boxes, canvas, theme);
}

/* A panel of this height in a box that may be lower; returns where it is drawn. */
static lud_box begin_panel(lud_viewer *v, int panel, lud_canvas *canvas, lud_box box, float content) {
    content = fmaxf(content, box.h);
    const float y = lud_scroll_begin(&v->scrolls[panel], canvas, box, content);
    return (lud_box){box.x, y, box.w, content};
}

/* A panel that goes on beyond its box is closed by lines. */
static void end_panel(lud_viewer *v, int panel, lud_canvas *canvas, const lud_theme *theme) {
    const lud_scroll *scroll = &v->scrolls[panel];
    lud_scroll_end(scroll, canvas, theme);
    const lud_box box = scroll->box;
    if (scroll->content <= box.h + 0.5f) return;
    lud_canvas_rect(canvas, (lud_box){box.x, box.y, box.w, 1}, theme->grid_line);
    lud_canvas_rect(canvas, (lud_box){box.x, box.y + box.h - 1, box.w, 1}, theme->grid_line);
}

static void draw_inspector(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                           bool about) {
    lud_inspector_draw(&v->inspector, &v->scrolls[LUD_PANEL_INSPECTOR], canvas, theme, box,
                       &(lud_inspected){.stage = v->stage,
                                        .selection = &v->selection,
                                        .takeover = &v->takeover,
                                        .successors = v->shown.successors ? &v->successors : NULL,
                                        .playing = v->playback.playing,
                                        .about = about});
}

/* The panels that are open, at their places. */
static void draw_contents(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    lud_view_layout *l = &v->layout;
    const lud_panel_place *panels = l->column.panels;
    const lud_box comparison = panels[LUD_PANEL_COMPARISON].box, training = panels[LUD_PANEL_TRAINING].box,
                  inspector = panels[LUD_PANEL_INSPECTOR].box, overlay = panels[LUD_PANEL_OVERLAY].box;
    if (inspector.h > 0) draw_inspector(v, canvas, theme, inspector, overlay.h <= 0);
    if (comparison.h > 0) {
        const lud_compared what = compared(v);
        const float high = lud_comparison_panel_height(&what, canvas, INFINITY);
        lud_comparison_panel_draw(&what, canvas, theme,
                                  begin_panel(v, LUD_PANEL_COMPARISON, canvas, comparison, high),
                                  l->compared);
        end_panel(v, LUD_PANEL_COMPARISON, canvas, theme);
    }
    if (training.h > 0) {
        const float high = lud_training_panel_height(v->options->training, canvas, 1e5f);
        lud_training_panel_draw(v->options->training, canvas, theme,
                                begin_panel(v, LUD_PANEL_TRAINING, canvas, training, high));
        end_panel(v, LUD_PANEL_TRAINING, canvas, theme);
    }
    if (overlay.h > 0) {
        const float high = lud_overlay_panel_height(v->stage->overlay, canvas);
        lud_overlay_draw_panel(v->stage->overlay, canvas, theme,
                               begin_panel(v, LUD_PANEL_OVERLAY, canvas, overlay, high), v->stage->player,
                               lud_stage_length(v->stage));
        end_panel(v, LUD_PANEL_OVERLAY, canvas, theme);
    }
}

/* Titles, with what the mouse is at; a recording has no mouse. */
static void draw_titles(const lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    const lud_column *column = &v->layout.column;
    const bool moused = !v->portrait.on;
    const float x = moused ? v->pointer.x : -1, y = moused ? v->pointer.y : -1;
    int edge = moused ? v->mouse.edge : LUD_NO_EDGE;
    if (moused && edge == LUD_NO_EDGE && !v->mouse.dragging && !v->mouse.scrubbing)
        edge = lud_column_edge_at(column, x, y);
    lud_column_draw(column, canvas, theme, x, y, edge);
}

static void draw_panels(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    lud_view_layout *l = &v->layout;
    const lud_box column = l->column.box;
    lud_error error = {0};
    v->inspector = (lud_inspector){0};
    for (int k = 0; k < LUD_PANELS; k++) v->scrolls[k].box = (lud_box){0};
    if (l->timeline.h > 0) {
        lud_canvas_rect(canvas, l->timeline, theme->ground);
        lud_timeline_draw(&v->timeline, canvas, theme, v->stages, v->n_stages, &v->playback,
                          v->recording.on && !v->portrait.on);
    }
    if (column.w <= 0) return;
    if (v->shown.successors &&
        lud_successor_list_update(&v->successors, v->stage, v->takeover.chosen, &error)) {
        lud_message_error(&v->message, 6, &error);
        if (error.status == LUD_ERROR_MEMORY) lud_canvas_miss(canvas);
    }
    lud_canvas_rect(canvas, (lud_box){column.x, 0, column.w, l->world.h}, theme->ground);
    draw_contents(v, canvas, theme);
    draw_titles(v, canvas, theme);
}

static void draw_caption(const lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    const bool alone = lud_viewer_shows_alone(v);
    const lud_sides sides = lud_stage_sides(alone ? v->stage : v->stages, alone ? 1 : v->n_stages);
    const lud_caption caption = caption_of(v);
    if (v->layout.caption.h > 0 && caption.title)
        lud_caption_draw(&caption, canvas, theme, v->layout.caption, &sides);
}

/* What no recording has. */
static void draw_passing(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    lud_message_draw(&v->message, canvas, theme, v->layout.world);
    if (v->shown.help)
        lud_help_draw(canvas, theme);
    else
        lud_tip_draw(&v->pointer, canvas, theme);
}

/* As large as it is wished and the window has room for. */
static void magnify(lud_viewer *v, lud_canvas *canvas) {
    lud_canvas_magnify(canvas, 1);
    const float own = lud_canvas_scale(canvas), w = (float)lud_canvas_width(canvas),
                h = (float)lud_canvas_height(canvas), most = fmaxf(1, fminf(w / 640, h / 480) / own);
    v->layout.magnified = fminf(v->scale, most);
    lud_canvas_magnify(canvas, v->layout.magnified);
}

void lud_viewer_draw(lud_viewer *v, lud_canvas *canvas) {
    const lud_theme *theme = lud_theme_get(v->shown.theme);
    const uint8_t *trails[LUD_SIDES][LUD_TRAIL_STATES];
    lud_moment moments[LUD_SIDES];
    for (int k = 0; k < v->n_stages; k++) moments[k] = moment_of(v, &v->stages[k], trails[k]);
    lud_canvas_begin(canvas, theme->ground);
    magnify(v, canvas);
    if (lud_viewer_draw_editing(v, canvas, theme)) return;
    lay_out(v, canvas, &moments[v->stage - v->stages]);
    draw_worlds(v, canvas, theme, moments);
    draw_panels(v, canvas, theme);
    draw_caption(v, canvas, theme);
    if (v->shown.fresh) lud_help_draw_first_keys(canvas, theme);
    if (v->options->training) v->drawn = v->options->training->version;
    if (!v->portrait.on) draw_passing(v, canvas, theme);
    lud_canvas_end(canvas);
}
