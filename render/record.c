#include "render/record.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "render/film.h"
#include "render/viewer/portrait.h"
#include "sim/batch.h"

typedef struct recorder {
    const lud_record_options *options;
    lud_film film;
    lud_viewer *viewer; /* paints, where pictures are the window's; or null */
    lud_film_painter painter;
    lud_record_result result;
} recorder;

static lud_status hold(recorder *r, lud_error *error) {
    int n = (int)(r->options->hold * (float)r->options->fps);
    if (r->options->frames_per_step == 1) n = 0; /* one frame a state, no more */
    for (int k = 0; k < n; k++) LUD_TRY(lud_film_add(&r->film, 1, false, error));
    return LUD_OK;
}

static lud_status record_episode(recorder *r, lud_progress *progress, lud_error *error) {
    const lud_record_options *o = r->options;
    LUD_TRY(lud_film_add(&r->film, 1, false, error));
    LUD_TRY(hold(r, error));
    const int limit = lud_batch_limit(r->film.sides.side[0].drawing->model),
              most = o->max_steps > 0 ? o->max_steps : limit;
    for (int step = 0; most <= 0 || step < most; step++) {
        if (lud_interrupted()) return lud_fail(error, LUD_INTERRUPTED, "interrupted");
        bool moved;
        LUD_TRY(lud_sides_step(&r->film.sides, NULL, &moved, error));
        if (!moved) break;
        r->result.steps++;
        LUD_TRY(lud_film_add_step(&r->film, error));
        lud_progress_update(progress, (uint64_t)r->film.frames);
    }
    return hold(r, error);
}

static lud_status check(const lud_record_options *o, lud_error *error) {
    if (o->frames_per_step < 1 || o->frames_per_step > 240)
        return lud_invalid(error, "%d frames a step; 1 to 240 are possible", o->frames_per_step);
    if (o->episodes < 1) return lud_invalid(error, "%d episodes; at least 1 is needed", o->episodes);
    if (o->width < 16 || o->width > 4096 || o->height < 0 || o->height > 4096)
        return lud_invalid(error, "a picture side must be 16 to 4096 pixels");
    LUD_TRY(lud_sides_check(o->apart ? o->n_others + 1 : 0, o->apart ? 1 : o->n_others + 1, error));
    return lud_video_check_path(o->path, error);
}

/* The drawing and the overlay of a side; takes over its source. */
static lud_status open_side(recorder *r, const lud_record_side *from, lud_error *error) {
    lud_side *side = &r->film.sides.side[r->film.sides.n++];
    lud_overlay_source *source = from->source;
    side->name = from->name;
    side->path = from->path;
    const lud_status status = lud_drawing_create(from->model, &side->drawing, error);
    if (status) {
        lud_overlay_source_destroy(source);
        return status;
    }
    if (!source) return LUD_OK;
    LUD_TRY(lud_overlay_create(source, side->drawing, &side->overlay, error));
    lud_overlay_show(side->overlay, r->options->overlay);
    return LUD_OK;
}

/* All sides, the first that of the options; every source is taken over, also when it fails. */
static lud_status open_sides(recorder *r, const lud_model *model, lud_status status, lud_error *error) {
    const lud_record_options *o = r->options;
    r->film.sides.apart = o->apart && o->n_others > 0;
    const lud_record_side first = {.name = o->name, .path = o->from, .model = model, .source = o->source};
    for (int k = 0; k <= o->n_others; k++) {
        const lud_record_side *from = k ? &o->others[k - 1] : &first;
        if (!status && k) status = lud_sides_fit(model, o->from, from->model, from->path, error);
        if (!status)
            status = open_side(r, from, error);
        else
            lud_overlay_source_destroy(from->source);
    }
    return status;
}

/* Who plays; sides that are compared, curves and trails need the episode's states. */
static lud_status open_players(recorder *r, const lud_model *model, lud_cast *cast, lud_error *error) {
    lud_sides *sides = &r->film.sides;
    const lud_record_options *o = r->options;
    const bool remember =
        o->scenario || sides->n > 1 || r->film.panel > 0 || sides->side[0].drawing->kind->trails;
    LUD_TRY(lud_player_create(model, cast, o->seed, remember, &sides->side[0].player, error));
    for (int k = 1; k < sides->n; k++)
        LUD_TRY(lud_player_create(o->others[k - 1].model, o->others[k - 1].cast,
                                  o->seed + (sides->apart ? (uint64_t)k : 0), remember,
                                  &sides->side[k].player, error));
    return lud_sides_begin(sides, error);
}

/* The window without its frame, about the same players. */
static lud_status open_painter(recorder *r, lud_cast *cast, lud_error *error) {
    const lud_record_options *o = r->options;
    const lud_scenario *scenarios[LUD_SIDES] = {o->scenario};
    lud_cast *casts[LUD_SIDES] = {cast};
    if (!o->scenario) return LUD_OK;
    for (int k = 1; k < r->film.sides.n; k++) {
        scenarios[k] = o->others[k - 1].scenario;
        casts[k] = o->others[k - 1].cast;
    }
    LUD_TRY(lud_portrait_open(&r->film.sides, scenarios, casts, o->caption.title, &r->viewer, error));
    r->painter = (lud_film_painter){r->viewer, lud_portrait_paint};
    return LUD_OK;
}

static lud_status record_all(recorder *r, lud_error *error) {
    lud_progress progress;
    lud_status status = LUD_OK;
    lud_progress_start(&progress, r->options->progress, "recording", "frames", 0);
    for (int e = 0; !status && e < r->options->episodes; e++) {
        if (e) status = lud_sides_next_episode(&r->film.sides, error);
        if (!status) status = record_episode(r, &progress, error);
    }
    lud_progress_finish(&progress);
    return status;
}

lud_status lud_record(const lud_model *model, lud_cast *cast, const lud_record_options *options,
                      lud_record_result *result, lud_error *error) {
    recorder r = {.options = options, .film = {.options = options}};
    const double began = lud_clock_seconds();
    lud_status status = open_sides(&r, model, check(options, error), error);
    if (options->scenario) r.film.painter = &r.painter;
    if (!status) status = lud_film_compose(&r.film, true, error);
    if (!status) status = open_players(&r, model, cast, error);
    if (!status) status = open_painter(&r, cast, error);
    if (!status) status = lud_film_open(&r.film, error);
    if (!status) status = record_all(&r, error);
    if (status == LUD_OK || status == LUD_INTERRUPTED) {
        const lud_status finished = lud_film_finish(&r.film, error);
        if (finished) status = finished;
    } else {
        lud_film_abandon(&r.film);
    }
    lud_viewer_destroy(r.viewer);
    for (int k = 0; k < r.film.sides.n; k++) {
        lud_player_destroy(r.film.sides.side[k].player);
        lud_overlay_destroy(r.film.sides.side[k].overlay);
        lud_drawing_destroy(r.film.sides.side[k].drawing);
    }
    r.result.width = r.film.width;
    r.result.height = r.film.height;
    r.result.frames = r.film.frames;
    r.result.drawing_seconds = r.film.drawing_seconds;
    r.result.seconds = lud_clock_seconds() - began;
    if (result) *result = r.result;
    return status;
}
