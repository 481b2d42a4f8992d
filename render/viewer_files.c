/* What the viewer reads and writes: the scenario file, screenshots, recordings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "render/picture.h"
#include "render/record.h"
#include "render/viewer_parts.h"

enum { RECORD_SIDE = 640, RECORD_FPS = 30, RECORD_FRAMES_PER_STEP = 8 };

lud_status lud_viewer_load(lud_viewer *v, bool keep_seed, lud_error *error) {
    lud_scenario *scenario = NULL;
    lud_cast *cast = NULL;
    lud_drawing *drawing = NULL;
    lud_player *player = NULL;
    lud_overlay_source *source = NULL;
    lud_overlay *overlay = NULL;
    int32_t *chosen = NULL, *plan = NULL;
    bool *taken = NULL;
    lud_tree_files files = {0};
    lud_status status = lud_scenario_load_files(v->options->path, v->options->set, v->options->n_set, &files,
                                                &scenario, error);
    lud_tree_files_free(&v->files); /* those of a scenario with a mistake are watched too */
    v->files = files;
    if (!status)
        status = lud_cast_create(scenario->model, scenario->policies, v->options->path, &cast, error);
    if (!status && v->options->loaded)
        status = v->options->loaded(v->options->context, scenario, cast, &source, error);
    if (!status) status = lud_drawing_create(scenario->model, &drawing, error);
    if (!status && source) {
        status = lud_overlay_create(source, drawing, &overlay, error);
        source = NULL;
    }
    uint64_t seed = keep_seed ? lud_player_seed(v->player) : status ? 0 : (uint64_t)scenario->run.seed;
    if (!status) status = lud_player_create(scenario->model, cast, seed, true, &player, error);
    if (!status) {
        size_t n = (size_t)scenario->model->layout.n_agents + 1;
        chosen = malloc(n * sizeof *chosen);
        plan = calloc(n, sizeof *plan);
        taken = calloc(n, sizeof *taken);
        if (!chosen || !plan || !taken)
            status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for the viewer");
        for (size_t i = 0; chosen && i < n; i++) chosen[i] = -1;
    }
    if (status) { /* the old world stays */
        free(chosen);
        free(plan);
        free(taken);
        lud_player_destroy(player);
        lud_overlay_source_destroy(source);
        lud_overlay_destroy(overlay);
        lud_drawing_destroy(drawing);
        lud_cast_destroy(cast);
        lud_scenario_destroy(scenario);
        return status;
    }
    if (v->video) lud_viewer_toggle_recording(v); /* the picture may have another shape now */
    if (v->overlay && overlay) lud_overlay_show(overlay, lud_overlay_shown(v->overlay));
    lud_player_destroy(v->player);
    lud_overlay_destroy(v->overlay);
    lud_drawing_destroy(v->drawing);
    lud_cast_destroy(v->cast);
    lud_scenario_destroy(v->scenario);
    free(v->chosen);
    free(v->plan);
    free(v->taken);
    lud_successors_free(&v->successors);
    v->scenario = scenario;
    v->cast = cast;
    v->drawing = drawing;
    v->overlay = overlay;
    v->player = player;
    v->chosen = chosen;
    v->plan = plan;
    v->taken = taken;
    v->since_step = INFINITY;
    v->cell_selected = false;
    if (v->selected_agent >= scenario->model->layout.n_agents) v->selected_agent = -1;
    lud_viewer_forget_plans(v);
    return LUD_OK;
}

void lud_viewer_watch_file(lud_viewer *v) {
    if (v->clock - v->file_checked < 0.3) return;
    v->file_checked = v->clock;
    bool changed = false;
    for (int i = 0; i < v->files.n; i++) {
        uint64_t stamp = lud_file_stamp(v->files.paths[i]);
        if (!stamp && v->files.stamps[i]) return; /* editors take a file away for a moment */
        changed = changed || stamp != v->files.stamps[i];
    }
    if (!changed) return;
    lud_error error = {0};
    if (lud_viewer_load(v, true, &error))
        lud_viewer_say(v, true, INFINITY, "%s", error.text);
    else
        lud_viewer_say(v, false, 3, "The scenario was read anew");
}

/* The first free name of the form SCENARIO-NUMBER.ENDING in the present folder. */
static void free_name(lud_viewer *v, const char *ending) {
    for (int k = 1; k < 10000; k++) {
        snprintf(v->last_file, sizeof v->last_file, "%s-%d.%s",
                 v->scenario->name ? v->scenario->name : "ludus", k, ending);
        for (char *c = v->last_file; *c; c++)
            if (*c == '/' || *c == ' ') *c = '_';
        if (!lud_file_exists(v->last_file)) return;
    }
}

void lud_viewer_screenshot(lud_viewer *v) {
    lud_canvas *canvas = NULL;
    lud_error error = {0};
    if (v->width < 1) return; /* nothing was shown yet */
    free_name(v, "png");
    lud_status status = lud_canvas_create_offscreen(v->width, v->height, v->scale, &canvas, &error);
    if (!status) {
        char message[sizeof v->message];
        memcpy(message, v->message, sizeof message);
        v->message[0] = 0;
        lud_viewer_draw(v, canvas);
        memcpy(v->message, message, sizeof message);
        int pitch;
        const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
        status = lud_picture_write(v->last_file, pixels, v->width, v->height, pitch, &error);
    }
    lud_canvas_destroy(canvas);
    if (status)
        lud_viewer_say(v, true, 10, "%s", error.text);
    else
        lud_viewer_say(v, false, 4, "Saved %s", v->last_file);
}

static void add_frame(lud_viewer *v, float progress) {
    float seconds = (float)RECORD_FRAMES_PER_STEP / RECORD_FPS, since = (progress - 0.5f) * seconds;
    const uint8_t *trail[LUD_TRAIL_STATES];
    lud_moment moment = {.state = lud_player_state(v->player),
                         .trail = trail,
                         .n_trail = v->motion ? lud_player_trail(v->player, trail, LUD_TRAIL_STATES) : 0,
                         .before = progress > 0 && v->motion ? lud_player_before(v->player) : NULL,
                         .actions = lud_player_actions(v->player),
                         .progress = lud_eased(progress),
                         .glow = since < 0 ? 0 : fmaxf(0, 1 - since / 0.3f),
                         .seconds = v->motion ? (float)v->video_frames / RECORD_FPS : 0,
                         .goals = v->goals ? lud_player_goals(v->player) : NULL,
                         .selected_agent = -1,
                         .labels = v->labels,
                         .overlay = v->overlay};
    lud_error error = {0};
    lud_draw_frame(v->drawing, v->video_canvas, lud_theme_get(v->theme), &moment);
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(v->video_canvas, &pitch);
    v->video_frames++;
    if (!lud_video_add(v->video, pixels, pitch, &error)) return;
    lud_video_abandon(v->video);
    lud_canvas_destroy(v->video_canvas);
    v->video = NULL;
    v->video_canvas = NULL;
    lud_viewer_say(v, true, 10, "%s", error.text);
}

void lud_viewer_record_step(lud_viewer *v) {
    for (int k = 1; v->video && k <= RECORD_FRAMES_PER_STEP; k++)
        add_frame(v, (float)k / RECORD_FRAMES_PER_STEP);
}

void lud_viewer_toggle_recording(lud_viewer *v) {
    lud_error error = {0};
    if (v->video) {
        lud_status status = lud_video_finish(v->video, &error);
        lud_canvas_destroy(v->video_canvas);
        v->video = NULL;
        v->video_canvas = NULL;
        if (status)
            lud_viewer_say(v, true, 10, "%s", error.text);
        else
            lud_viewer_say(v, false, 5, "Saved %s, %lld frames", v->last_file, (long long)v->video_frames);
        return;
    }
    int width, height;
    lud_picture_size(v->drawing, RECORD_SIDE, &width, &height);
    free_name(v, "mp4");
    lud_status status = lud_canvas_create_offscreen(width, height, 1, &v->video_canvas, &error);
    if (!status)
        status =
            lud_video_open(v->last_file, (lud_video_options){width, height, RECORD_FPS}, &v->video, &error);
    if (status) {
        lud_canvas_destroy(v->video_canvas);
        v->video_canvas = NULL;
        lud_viewer_say(v, true, 10, "%s", error.text);
        return;
    }
    v->video_frames = 0;
    add_frame(v, 0);
    lud_viewer_say(v, false, 4, "Recording every step to %s; V ends it", v->last_file);
}
