/* What the viewer writes: screenshots, and recordings of every step that is made. */
#pragma once

#include "render/video/video.h"
#include "render/viewer/selection.h"
#include "render/viewer/stage.h"

typedef struct lud_recording {
    char last_file[512]; /* the last thing written, or being written */
    lud_video *video;    /* null: not recording */
    lud_canvas *canvas;
    int64_t frames;
} lud_recording;

/* Sets last_file to the first free name of the form SCENARIO-NUMBER.ENDING in the present folder. */
void lud_recording_name(lud_recording *recording, const lud_scenario *scenario, const char *ending);
/* Begins with the present state. */
lud_status lud_recording_start(lud_recording *recording, const lud_stage *stage, const lud_shown *shown,
                               lud_error *error);
/* Adds the motion of the step that led to the present state. A recording that failed has ended. */
lud_status lud_recording_add_step(lud_recording *recording, const lud_stage *stage, const lud_shown *shown,
                                  lud_error *error);
lud_status lud_recording_finish(lud_recording *recording, lud_error *error);
