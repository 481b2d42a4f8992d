#include "render/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "render/video/video.h"

static const float glow_seconds = 0.3f;

static float margin_of(int width, int height) {
    return roundf(fminf((float)width, (float)height) * 0.025f);
}

void lud_picture_size(const lud_drawing *drawing, int side, int *width, int *height) {
    lud_box world = drawing->kind->extent(drawing);
    float margin = roundf((float)side * 0.025f);
    float scale = ((float)side - 2 * margin) / fmaxf(world.w, world.h);
    if (drawing->kind->whole_cells) scale = fmaxf(4, floorf(scale));
    float shorter = fminf(world.w, world.h) * scale + 2 * margin;
    *width = world.w >= world.h ? side : (int)shorter;
    *height = world.w >= world.h ? (int)shorter : side;
    *width = (*width + 1) & ~1;
    *height = (*height + 1) & ~1;
    if (*width < 16) *width = 16;
    if (*height < 16) *height = 16;
}

static void draw_world(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                       const lud_moment *moment) {
    lud_camera camera = {0};
    lud_camera_fit(&camera, box, drawing->kind->extent(drawing), margin_of((int)box.w, (int)box.h),
                   drawing->kind->whole_cells);
    drawing->kind->draw(drawing, canvas, theme, &camera, moment);
    if (moment->overlay) lud_overlay_draw_top(moment->overlay, canvas, theme, &camera, moment);
}

void lud_draw_frame(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                    const lud_moment *moment) {
    int width = lud_canvas_width(canvas), height = lud_canvas_height(canvas);
    lud_canvas_begin(canvas, theme->ground);
    draw_world(drawing, canvas, theme, (lud_box){0, 0, (float)width, (float)height}, moment);
    lud_canvas_end(canvas);
}

typedef struct recorder {
    const lud_record_options *options;
    const lud_theme *theme;
    lud_player *player;
    lud_drawing *drawing;
    lud_canvas *canvas;
    lud_video *video;
    lud_overlay_source *source; /* until the overlay takes it over */
    lud_overlay *overlay;       /* or null */
    int panel;                  /* width of the overlay's panel beside the world, 0: none */
    int caption;                /* height of the caption below, 0: none */
    double *returns;            /* [n_agents] since the episode began */
    lud_record_result result;
} recorder;

/* The world, the panel of the overlay to its right and the caption below. */
static void draw(recorder *r, const lud_moment *moment) {
    if (!r->panel && !r->caption) {
        lud_draw_frame(r->drawing, r->canvas, r->theme, moment);
        return;
    }
    const float width = (float)r->result.width, panel = (float)r->panel, caption = (float)r->caption;
    const float height = (float)r->result.height - caption;
    lud_canvas_begin(r->canvas, r->theme->ground);
    draw_world(r->drawing, r->canvas, r->theme, (lud_box){0, 0, width - panel, height}, moment);
    if (r->panel) {
        const float margin = margin_of(r->result.width - r->panel, (int)height);
        int limit = r->drawing->model->layout.max_steps;
        if (r->options->max_steps > 0 && (limit <= 0 || r->options->max_steps < limit))
            limit = r->options->max_steps;
        const size_t known = lud_player_known(r->player), length = (size_t)limit + 1;
        const float tall = fminf(lud_overlay_panel_height(r->overlay, r->canvas), height - 2 * margin);
        lud_overlay_draw_panel(r->overlay, r->canvas, r->theme,
                               (lud_box){width - panel, margin, panel - margin, tall}, r->player,
                               limit > 0 && length > known ? length : known);
    }
    if (r->caption)
        lud_caption_draw(&r->options->caption, r->canvas, r->theme, (lud_box){0, height, width, caption},
                         r->drawing->model, r->player, r->returns);
    lud_canvas_end(r->canvas);
}

static lud_status add_frame(recorder *r, float progress, bool moving, lud_error *error) {
    const lud_record_options *o = r->options;
    double began = lud_clock_seconds();
    float since = progress * (float)o->frames_per_step / (float)o->fps -
                  0.5f * (float)o->frames_per_step / (float)o->fps;
    const uint8_t *trail[LUD_TRAIL_STATES];
    lud_moment moment = {.state = lud_player_state(r->player),
                         .trail = trail,
                         .n_trail = o->still ? 0 : lud_player_trail(r->player, trail, LUD_TRAIL_STATES),
                         .before = moving && o->frames_per_step > 1 ? lud_player_before(r->player) : NULL,
                         .came_from = lud_player_before(r->player),
                         .actions = lud_player_actions(r->player),
                         .rewards = lud_player_rewards(r->player),
                         .progress = lud_eased(progress),
                         .glow = since < 0 ? 0 : fmaxf(0, 1 - since / glow_seconds),
                         .seconds = o->still ? 0 : (float)r->result.frames / (float)o->fps,
                         .hidden = lud_player_hidden(r->player),
                         .goals = o->goals ? lud_player_goals(r->player) : NULL,
                         .selected_agent = -1,
                         .labels = o->labels,
                         .overlay = r->overlay};
    draw(r, &moment);
    r->result.drawing_seconds += lud_clock_seconds() - began;
    r->result.frames++;
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(r->canvas, &pitch);
    LUD_TRY(lud_canvas_check(r->canvas, error));
    return lud_video_add(r->video, pixels, pitch, error);
}

static lud_status hold(recorder *r, lud_error *error) {
    int n = (int)(r->options->hold * (float)r->options->fps);
    if (r->options->frames_per_step == 1) n = 0; /* one frame a state, no more */
    for (int k = 0; k < n; k++) LUD_TRY(add_frame(r, 1, false, error));
    return LUD_OK;
}

static lud_status record_episode(recorder *r, lud_progress *progress, lud_error *error) {
    const lud_record_options *o = r->options;
    const int n_agents = r->drawing->model->layout.n_agents;
    memset(r->returns, 0, (size_t)n_agents * sizeof *r->returns);
    LUD_TRY(add_frame(r, 1, false, error));
    LUD_TRY(hold(r, error));
    for (int step = 0; o->max_steps <= 0 || step < o->max_steps; step++) {
        if (lud_interrupted()) return lud_fail(error, LUD_INTERRUPTED, "interrupted");
        bool moved;
        LUD_TRY(lud_player_step(r->player, NULL, &moved, error));
        if (!moved) break;
        r->result.steps++;
        for (int i = 0; i < n_agents; i++) r->returns[i] += (double)lud_player_rewards(r->player)[i];
        for (int k = 1; k <= o->frames_per_step; k++)
            LUD_TRY(add_frame(r, (float)k / (float)o->frames_per_step, true, error));
        lud_progress_update(progress, (uint64_t)r->result.frames);
    }
    return hold(r, error);
}

static lud_status check(const lud_record_options *o, lud_error *error) {
    if (o->frames_per_step < 1 || o->frames_per_step > 240)
        return lud_invalid(error, "%d frames a step; 1 to 240 are possible", o->frames_per_step);
    if (o->episodes < 1) return lud_invalid(error, "%d episodes; at least 1 is needed", o->episodes);
    if (o->width < 16 || o->width > 4096 || o->height < 0 || o->height > 4096)
        return lud_invalid(error, "a picture side must be 16 to 4096 pixels");
    return lud_video_check_path(o->path, error);
}

/* A picture that follows the world's shape becomes taller by its caption. */
static lud_status add_caption(recorder *r, const lud_canvas *measure, lud_error *error) {
    r->caption = lud_caption_height(measure);
    if (!r->options->height)
        r->result.height += r->caption;
    else if (r->result.height < 3 * r->caption)
        return lud_invalid(error, "a picture of %d pixels has no room for a caption of %d", r->result.height,
                           r->caption);
    return LUD_OK;
}

/* The overlay, and the size of the picture with its panel. A picture as large as asked for is divided between
 * world and panel; one that follows the world's shape becomes wider, and tall enough for the panel. */
static lud_status add_overlay(recorder *r, const lud_canvas *measure, lud_error *error) {
    const lud_record_options *o = r->options;
    enum { PANEL = 280 };
    lud_overlay_source *source = r->source;
    r->source = NULL;
    LUD_TRY(lud_overlay_create(source, r->drawing, &r->overlay, error));
    lud_overlay_show(r->overlay, o->overlay);
    float height = lud_overlay_panel_height(r->overlay, measure);
    if (height <= 0) return LUD_OK;
    r->panel = PANEL;
    if (o->height) {
        if (r->panel > r->result.width / 2) r->panel = r->result.width / 2;
        return LUD_OK;
    }
    r->result.width += r->panel;
    int least = ((int)height + 2 * (int)margin_of(r->result.width, r->result.height) + 1) & ~1;
    if (r->result.height < least) r->result.height = least;
    return LUD_OK;
}

/* The size of the picture, with the overlay's panel and the caption. */
static lud_status compose(recorder *r, lud_error *error) {
    const lud_record_options *o = r->options;
    lud_canvas *measure; /* knows how high lines are */
    r->result.width = (o->width + 1) & ~1;
    r->result.height = (o->height + 1) & ~1;
    if (!o->height) lud_picture_size(r->drawing, o->width, &r->result.width, &r->result.height);
    if (!r->source && !o->caption.title) return LUD_OK;
    LUD_TRY(lud_canvas_create_offscreen(16, 16, 1, &measure, error));
    lud_status status = r->source ? add_overlay(r, measure, error) : LUD_OK;
    if (!status && o->caption.title) status = add_caption(r, measure, error);
    lud_canvas_destroy(measure);
    return status;
}

lud_status lud_record(const lud_model *model, lud_cast *cast, const lud_record_options *options,
                      lud_record_result *result, lud_error *error) {
    recorder r = {.options = options, .theme = lud_theme_get(options->theme), .source = options->source};
    double began = lud_clock_seconds();
    lud_status status = check(options, error);
    if (!status) status = lud_drawing_create(model, &r.drawing, error);
    if (!status) status = compose(&r, error);
    if (!status && !(r.returns = calloc((size_t)model->layout.n_agents, sizeof *r.returns)))
        status = lud_no_memory(error, "a recording");
    if (!status) status = lud_canvas_create_offscreen(r.result.width, r.result.height, 1, &r.canvas, error);
    /* the panel's curves need the episode's states */
    if (!status)
        status = lud_player_create(model, cast, options->seed, r.panel > 0 || r.drawing->kind->trails,
                                   &r.player, error);
    lud_video_options video = {r.result.width, r.result.height, options->fps};
    if (!status) status = lud_video_open(options->path, video, &r.video, error);
    lud_progress progress;
    lud_progress_start(&progress, options->progress, "recording", "frames", 0);
    for (int e = 0; !status && e < options->episodes; e++) {
        if (e) lud_player_next_episode(r.player);
        status = record_episode(&r, &progress, error);
    }
    if (r.video && (status == LUD_OK || status == LUD_INTERRUPTED)) {
        lud_status finished = lud_video_finish(r.video, error);
        if (finished) status = finished;
    } else {
        lud_video_abandon(r.video);
    }
    lud_progress_finish(&progress);
    lud_player_destroy(r.player);
    lud_canvas_destroy(r.canvas);
    lud_overlay_destroy(r.overlay);
    lud_overlay_source_destroy(r.source);
    lud_drawing_destroy(r.drawing);
    free(r.returns);
    r.result.seconds = lud_clock_seconds() - began;
    if (result) *result = r.result;
    return status;
}
