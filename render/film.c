#include "render/film.h"

#include <math.h>

#include "base/clock.h"
#include "render/sides_draw.h"

enum { PANEL = 280, MOST_PIXELS = 16384 };
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

static lud_camera camera_in(const lud_drawing *drawing, lud_box box) {
    lud_camera camera = {0};
    lud_camera_fit(&camera, box, drawing->kind->extent(drawing), margin_of((int)box.w, (int)box.h),
                   drawing->kind->whole_cells);
    return camera;
}

static void draw_world(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                       const lud_camera *camera, const lud_moment *moment) {
    drawing->kind->draw(drawing, canvas, theme, camera, moment);
    if (moment->overlay) lud_overlay_draw_top(moment->overlay, canvas, theme, camera, moment);
}

void lud_draw_frame(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                    const lud_moment *moment) {
    int width = lud_canvas_width(canvas), height = lud_canvas_height(canvas);
    lud_canvas_begin(canvas, theme->ground);
    const lud_camera camera = camera_in(drawing, (lud_box){0, 0, (float)width, (float)height});
    draw_world(drawing, canvas, theme, &camera, moment);
    lud_canvas_end(canvas);
}

/* ---- size ---- */

/* A picture that follows the world's shape becomes taller by its caption. */
static lud_status add_caption(lud_film *f, const lud_canvas *measure, lud_error *error) {
    f->caption = lud_caption_height(measure);
    if (!f->options->height)
        f->height += f->caption;
    else if (f->height < 3 * f->caption)
        return lud_invalid(error, "a picture of %d pixels has no room for a caption of %d", f->height,
                           f->caption);
    return LUD_OK;
}

/* The size of the picture with the overlay's panel. A picture as large as asked for is divided between
 * world and panel; one that follows the world's shape becomes wider, and tall enough for the panel. */
static void add_panel(lud_film *f, const lud_canvas *measure) {
    float height = lud_overlay_panel_height(f->sides.side[0].overlay, measure);
    if (height <= 0) return;
    f->panel = ((int)(PANEL * f->options->scale) + 1) & ~1;
    if (f->options->height) {
        if (f->panel > f->width / 2) f->panel = f->width / 2;
        return;
    }
    f->width += f->panel;
    int least = ((int)height + 2 * (int)margin_of(f->width, f->height) + 1) & ~1;
    if (f->height < least) f->height = least;
}

/* Worlds beside and below each other, each with its heading. */
static lud_status add_sides(lud_film *f, const lud_canvas *measure, lud_error *error) {
    f->heading =
        f->sides.apart ? (lud_sides_label_height(measure) + 1) & ~1 : lud_sides_heading_height(measure);
    if (f->options->height) {
        if (f->height < 3 * f->heading * f->rows)
            return lud_invalid(error, "a picture of %d pixels has no room for %d worlds with headings of %d",
                               f->height, f->sides.n, f->heading);
        return LUD_OK;
    }
    lud_sides_arrange(f->sides.n, f->width, f->height + f->heading, &f->columns, &f->rows);
    f->width *= f->columns;
    f->height = (f->height + f->heading) * f->rows;
    if (f->width > MOST_PIXELS || f->height > MOST_PIXELS)
        return lud_invalid(error,
                           "%d worlds of this size make a picture of %d x %d; at most %d pixels a side",
                           f->sides.n, f->width, f->height, MOST_PIXELS);
    return LUD_OK;
}

lud_status lud_film_compose(lud_film *f, bool panel, lud_error *error) {
    const lud_record_options *o = f->options;
    lud_canvas *measure; /* knows how high lines are */
    const bool overlay = panel && f->sides.n == 1 && f->sides.side[0].overlay;
    f->width = (o->width + 1) & ~1;
    f->height = (o->height + 1) & ~1;
    f->columns = f->rows = 1;
    if (f->painter) return LUD_OK; /* who divides it as it paints */
    if (!o->height) lud_picture_size(f->sides.side[0].drawing, o->width, &f->width, &f->height);
    if (!overlay && !o->caption.title && f->sides.n == 1) return LUD_OK;
    LUD_TRY(lud_canvas_create_offscreen(16, 16, o->scale, &measure, error));
    lud_status status = LUD_OK;
    if (overlay) add_panel(f, measure);
    if (f->sides.n > 1) status = add_sides(f, measure, error);
    if (!status && o->caption.title) status = add_caption(f, measure, error);
    lud_canvas_destroy(measure);
    return status;
}

/* ---- frames ---- */

static void draw_panel(const lud_film *f, const lud_theme *theme, float height) {
    const lud_side *side = &f->sides.side[0];
    const float width = (float)f->width, panel = (float)f->panel,
                margin = margin_of(f->width - f->panel, (int)height);
    int limit = side->drawing->model->layout.max_steps;
    if (f->options->max_steps > 0 && (limit <= 0 || f->options->max_steps < limit))
        limit = f->options->max_steps;
    const size_t known = lud_player_known(side->player), length = (size_t)limit + 1;
    const float tall = fminf(lud_overlay_panel_height(side->overlay, f->canvas), height - 2 * margin);
    lud_overlay_draw_panel(side->overlay, f->canvas, theme,
                           (lud_box){width - panel, margin, panel - margin, tall}, side->player,
                           limit > 0 && length > known ? length : known);
}

/* The worlds in boxes of their own with headings and marks. */
static void draw_sides(lud_film *f, const lud_theme *theme, float height, const lud_moment *moments) {
    lud_box boxes[LUD_SIDES];
    const float heading = (float)f->heading;
    const lud_drawing *first = f->sides.side[0].drawing;
    const lud_box area = {0, 0, (float)f->width, height};
    if (f->options->height)
        lud_sides_divide(f->sides.n, first->kind->extent(first), area, heading, boxes);
    else
        lud_sides_grid(f->sides.n, f->columns, area, boxes);
    for (int k = 0; k < f->sides.n; k++) {
        const lud_box box = boxes[k], world = {box.x, box.y + heading, box.w, box.h - heading};
        const lud_camera camera = camera_in(f->sides.side[k].drawing, world);
        lud_canvas_layer_choose(f->canvas, k);
        lud_canvas_clip(f->canvas, world);
        draw_world(f->sides.side[k].drawing, f->canvas, theme, &camera, &moments[k]);
        lud_sides_draw_marks(&f->sides, k, f->canvas, theme, &camera, moments);
        lud_canvas_unclip(f->canvas);
    }
    for (int k = 0; k < f->sides.n; k++)
        lud_sides_draw_heading(&f->sides, k, f->canvas, theme,
                               (lud_box){boxes[k].x, boxes[k].y, boxes[k].w, heading}, false);
    lud_sides_draw_rules(f->sides.n, boxes, f->canvas, theme);
}

/* The world, the panel of the overlay to its right and the caption below; or the worlds of all sides. */
static void draw(lud_film *f, const lud_moment *moments) {
    const lud_theme *theme = lud_theme_get(f->options->theme);
    const float width = (float)f->width, panel = (float)f->panel, caption = (float)f->caption,
                height = (float)f->height - caption;
    lud_canvas_begin(f->canvas, theme->ground);
    if (f->sides.n > 1) {
        draw_sides(f, theme, height, moments);
    } else {
        lud_drawing *drawing = f->sides.side[0].drawing;
        const lud_camera camera = camera_in(drawing, (lud_box){0, 0, width - panel, height});
        draw_world(drawing, f->canvas, theme, &camera, &moments[0]);
    }
    if (f->panel) draw_panel(f, theme, height);
    if (f->caption)
        lud_caption_draw(&f->options->caption, f->canvas, theme, (lud_box){0, height, width, caption},
                         &f->sides);
    lud_canvas_end(f->canvas);
}

/* `trail` holds LUD_TRAIL_STATES states and must outlive the moment. */
static lud_moment moment_of(const lud_film *f, const lud_side *side, float progress, bool moving,
                            const uint8_t **trail) {
    const lud_record_options *o = f->options;
    lud_player *player = side->player;
    const bool moved = lud_player_position(player) == lud_sides_position(&f->sides);
    const float since = progress * (float)o->frames_per_step / (float)o->fps -
                        0.5f * (float)o->frames_per_step / (float)o->fps;
    return (lud_moment){
        .state = lud_player_state(player),
        .trail = trail,
        .n_trail = o->still ? 0 : lud_player_trail(player, trail, LUD_TRAIL_STATES),
        .before = moved && moving && o->frames_per_step > 1 && !o->jumps ? lud_player_before(player) : NULL,
        .came_from = lud_player_before(player),
        .actions = lud_player_actions(player),
        .rewards = lud_player_rewards(player),
        .progress = lud_eased(progress),
        .glow = since < 0 || !moved ? 0 : fmaxf(0, 1 - since / glow_seconds),
        .seconds = o->still ? 0 : (float)f->frames / (float)o->fps,
        .hidden = lud_player_hidden(player),
        .goals = o->goals ? lud_player_goals(player) : NULL,
        .selected_agent = -1,
        .labels = o->labels,
        .overlay = side->overlay};
}

lud_status lud_film_open(lud_film *f, lud_error *error) {
    const lud_video_options video = {f->width, f->height, f->options->fps};
    LUD_TRY(lud_canvas_create_offscreen(f->width, f->height, f->painter ? 1 : f->options->scale, &f->canvas,
                                        error));
    return lud_video_open(f->options->path, video, &f->video, error);
}

lud_status lud_film_add(lud_film *f, float progress, bool moving, lud_error *error) {
    const double began = lud_clock_seconds();
    const uint8_t *trails[LUD_SIDES][LUD_TRAIL_STATES];
    lud_moment moments[LUD_SIDES];
    const double seconds = (double)f->frames / f->options->fps;
    for (int k = 0; k < f->sides.n && !f->painter; k++)
        moments[k] = moment_of(f, &f->sides.side[k], progress, moving, trails[k]);
    if (f->painter)
        f->painter->paint(f->painter->context, f->canvas, f->options, progress, moving, seconds);
    else
        draw(f, moments);
    f->drawing_seconds += lud_clock_seconds() - began;
    f->frames++;
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(f->canvas, &pitch);
    LUD_TRY(lud_canvas_check(f->canvas, error));
    return lud_video_add(f->video, pixels, pitch, error);
}

lud_status lud_film_add_step(lud_film *f, lud_error *error) {
    const int n = f->options->frames_per_step;
    for (int k = 1; k <= n; k++) LUD_TRY(lud_film_add(f, (float)k / (float)n, true, error));
    return LUD_OK;
}

static void close_canvas(lud_film *f) {
    lud_canvas_destroy(f->canvas);
    f->canvas = NULL;
    f->video = NULL;
}

lud_status lud_film_finish(lud_film *f, lud_error *error) {
    const lud_status status = f->video ? lud_video_finish(f->video, error) : LUD_OK;
    close_canvas(f);
    return status;
}

void lud_film_abandon(lud_film *f) {
    lud_video_abandon(f->video);
    close_canvas(f);
}
