/* The frames of a video or of numbered pictures: the worlds of all sides with their headings, the panel of
 * the overlay beside a world alone, and the caption below. `record` and the window's recordings are made of
 * it. */
#pragma once

#include "render/record.h"
#include "render/video/video.h"

/* Who draws whole pictures of the sides otherwise than the film does by itself. */
typedef struct lud_film_painter {
    void *context;
    /* The present states: `progress` and `moving` as for lud_film_add, `seconds` since the film began. */
    void (*paint)(void *context, lud_canvas *canvas, const lud_record_options *options, float progress,
                  bool moving, double seconds);
} lud_film_painter;

typedef struct lud_film {
    const lud_record_options *options; /* path, size, frames, theme and what is shown; the rest is not used */
    lud_sides sides;                   /* drawings and overlays for compose, players from open on */
    int width, height;                 /* of the picture */
    int panel, caption, heading;       /* pixels of its parts, 0: none */
    int columns, rows;                 /* of worlds */
    const lud_film_painter *painter;   /* null: the film draws */
    lud_canvas *canvas;
    lud_video *video;
    int64_t frames;
    double drawing_seconds;
} lud_film;

/* Finds the size of the picture and of its parts; `panel`: that of the overlay has a place beside a world
 * that is alone. LUD_ERROR_INPUT where a given size has no room for them. */
lud_status lud_film_compose(lud_film *film, bool panel, lud_error *error);
/* Opens the file. */
lud_status lud_film_open(lud_film *film, lud_error *error);
/* Adds a frame of the present states: `progress` 0..1 of the step that led there, 1 shows them exactly;
 * `moving`: the way there is shown. Of several sides those that made the last step move. */
lud_status lud_film_add(lud_film *film, float progress, bool moving, lud_error *error);
/* Adds the frames of the motion of the last step. */
lud_status lud_film_add_step(lud_film *film, lud_error *error);
/* Completes the file, or leaves none. Both close the film; a zeroed one is allowed. */
lud_status lud_film_finish(lud_film *film, lud_error *error);
void lud_film_abandon(lud_film *film);
