/* What the viewer writes: screenshots, and recordings of every step that is made. */
#pragma once

#include "render/film.h"
#include "render/viewer/selection.h"
#include "render/viewer/stage.h"

typedef struct lud_recording {
    char last_file[512]; /* the last thing written, or being written */
    bool on;             /* recording */
    lud_record_options options;
    lud_film_painter painter;
    lud_film film;
} lud_recording;

/* What recordings show. */
typedef struct lud_recorded_view {
    const lud_shown *shown;
    lud_caption caption;      /* its title null: none */
    lud_film_painter painter; /* of the whole picture, where the scenario's view fixes it */
} lud_recorded_view;

/* Sets last_file to the first free name of the form SCENARIO-NUMBER.ENDING in the present folder. */
void lud_recording_name(lud_recording *recording, const lud_scenario *scenario, const char *ending);
/* Begins with the present state: of one stage, or of several side by side. */
lud_status lud_recording_start(lud_recording *recording, const lud_stage *stages, int n,
                               const lud_recorded_view *view, lud_error *error);
/* Adds the motion of the step that led to the present state. A recording that failed has ended. */
lud_status lud_recording_add_step(lud_recording *recording, lud_error *error);
lud_status lud_recording_finish(lud_recording *recording, lud_error *error);
