/* The window's pictures without its window: what `record` paints where a view fixes the panels, and what the
 * window itself records and keeps then. */
#pragma once

#include "render/film.h"
#include "render/viewer/viewer.h"

/* A viewer of sides that somebody else plays, who keeps them, their scenarios and casts [sides->n] and the
 * caption's `title` (null: none) until it is destroyed. It shows what the first scenario's view says. */
lud_status lud_portrait_open(const lud_sides *sides, const lud_scenario *const *scenarios,
                             lud_cast *const *casts, const char *title, lud_viewer **viewer,
                             lud_error *error);
/* Paints the picture, for a lud_film_painter with a lud_viewer as context: nothing of a message, a tip or a
 * page of keys is in it. Frames of motion show a viewer that plays, single states one that rests. */
void lud_portrait_paint(void *viewer, lud_canvas *canvas, const lud_record_options *options, float progress,
                        bool moving, double seconds);
