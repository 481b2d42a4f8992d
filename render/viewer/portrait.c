#include "render/viewer/portrait.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "render/viewer/look.h"
#include "render/viewer/viewer_parts.h"

lud_status lud_portrait_open(const lud_sides *sides, const lud_scenario *const *scenarios,
                             lud_cast *const *casts, const char *title, lud_viewer **viewer,
                             lud_error *error) {
    lud_viewer *v = calloc(1, sizeof *v);
    if (!v) return lud_no_memory(error, "the viewer");
    v->borrowed = true;
    v->title = title;
    v->options = &v->own_options;
    v->n_stages = sides->n;
    v->grid = sides->apart;
    v->stage = &v->stages[0];
    for (int k = 0; k < sides->n; k++) {
        const lud_side *side = &sides->side[k];
        v->stages[k] = (lud_stage){.path = side->path,
                                   .scenario = (lud_scenario *)(uintptr_t)scenarios[k],
                                   .cast = casts[k],
                                   .drawing = side->drawing,
                                   .player = side->player,
                                   .apart = sides->apart,
                                   .overlay = side->overlay,
                                   .who = {.bytes = (char *)(uintptr_t)side->name}};
    }
    v->mouse.grabbed = v->mouse.edge = -1;
    lud_status status = lud_takeover_create(lud_stage_layout(&v->stages[0]), &v->takeover, error);
    if (!status) status = lud_successor_list_create(lud_stage_layout(&v->stages[0]), &v->successors, error);
    if (status) {
        lud_viewer_destroy(v);
        return status;
    }
    lud_playback_jump(&v->playback);
    lud_pointer_quiet(&v->pointer);
    lud_look_apply(v);
    *viewer = v;
    return LUD_OK;
}

/* Pins of the time line and lists of what comes next follow who plays the sides. */
static void follow_sides(lud_viewer *v) {
    if (!v->borrowed) return;
    lud_timeline_add(&v->timeline, v->stages, v->n_stages);
    lud_viewer_forget_plans(v);
}

/* The motion of a frame, with the glow of what a step has changed. */
static lud_phase phase_of(const lud_viewer *v, const lud_record_options *o, float progress, bool moving) {
    static const float glow_seconds = 0.3f;
    const float step = (float)o->frames_per_step / (float)o->fps, since = (progress - 0.5f) * step;
    const bool moves = moving && v->shown.motion && o->frames_per_step > 1;
    return (lud_phase){.moving = moves && progress < 1,
                       .progress = moves ? progress : 1,
                       .glow = moves && since >= 0 ? fmaxf(0, 1 - since / glow_seconds) : 0};
}

void lud_portrait_paint(void *viewer, lud_canvas *canvas, const lud_record_options *options, float progress,
                        bool moving, double seconds) {
    lud_viewer *v = viewer;
    const lud_playback playback = v->playback;
    const bool fresh = v->shown.fresh;
    follow_sides(v);
    v->playback.playing = options->frames_per_step > 1;
    v->playback.clock = seconds;
    v->portrait = (lud_portrait){.on = true, .phase = phase_of(v, options, progress, moving)};
    v->shown.fresh = false;
    if (!v->playback.playing) v->layout.at_once = true;
    lud_viewer_draw(v, canvas);
    v->shown.fresh = fresh;
    v->portrait.on = false;
    v->playback = playback;
}
