/* Recording of episodes to a video file, without a window. */
#pragma once

#include <stdio.h>

#include "render/caption.h"
#include "render/draw.h"
#include "render/episode.h"
#include "render/overlay.h"
#include "sim/scenario.h"

/* Another side beside the first, in the same world. */
typedef struct lud_record_side {
    const char *name, *path; /* of who acts; and of what messages call it */
    const lud_model *model;
    lud_cast *cast;
    lud_overlay_source *source;   /* or null; taken over by lud_record */
    const lud_scenario *scenario; /* of `model` */
} lud_record_side;

typedef struct lud_record_options {
    const char *path; /* where to; the ending says the format, see video.h */
    int width,
        height;  /* pixels; height 0: `width` is the longer side of a world's picture, which has its shape */
    float scale; /* of texts and panels */
    int fps;     /* frames a second */
    int frames_per_step; /* 1 shows states exactly as they are; more shows the motion between them */
    int episodes;
    int max_steps; /* of an episode; 0: to its end, LUD_ENDLESS_STEPS where the world sets none */
    uint64_t seed;
    lud_theme_name theme;
    bool still;                 /* nothing moves but what a step moves: no waves, no shimmer */
    bool jumps;                 /* nor does a step: states follow each other */
    bool goals;                 /* shows the agents' goals */
    bool labels;                /* shows the agents' numbers */
    float hold;                 /* seconds that the first and the last state of an episode stay */
    lud_caption caption;        /* below the picture */
    FILE *progress;             /* where progress is shown, or null */
    lud_overlay_source *source; /* of overlays, or null; taken over by lud_record */
    int overlay;                /* parts of it that are shown, lud_overlay_part or-ed */
    const char *name, *from;    /* name and path of the first side, where there are others */
    lud_record_side *others;    /* [n_others] that go in step with it */
    int n_others;
    bool apart; /* the others are environments of the same world, with seeds that follow each other */
    const lud_scenario *scenario; /* of the model, where its view makes the window's pictures; else null */
} lud_record_options;

/* 640 pixels, 30 frames a second, 8 frames a step, one episode. */
lud_record_options lud_record_defaults(void);

/* What the scenario's `view` section says of pictures: theme, size, scale, what is shown, the caption. Where
 * it fixes the panels the recording has the window's pictures, for which the scenario must outlive it. */
void lud_record_as_shown(const lud_scenario *scenario, lud_record_options *options);

typedef struct lud_record_result {
    int width, height;
    int64_t frames, steps;
    double drawing_seconds, seconds; /* drawing alone, and all */
} lud_record_result;

/* lud_overlay_part or-ed, as a view has them. */
int lud_overlay_parts(const lud_view_overlay *shown);

/* Plays and records. Ctrl-C completes the file with what was recorded and returns LUD_INTERRUPTED. `result`
 * may be null. The same model, cast and options give the same bytes. */
lud_status lud_record(const lud_model *model, lud_cast *cast, const lud_record_options *options,
                      lud_record_result *result, lud_error *error);

/* A frame of a world (with the map and the arrows of moment->overlay) that fills its canvas. */
void lud_draw_frame(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                    const lud_moment *moment);
/* The size of a picture of the world whose longer side is `side` pixels, both even. */
void lud_picture_size(const lud_drawing *drawing, int side, int *width, int *height);
