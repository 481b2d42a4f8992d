/* The line below: buttons, the episode from its start, and pins where something happened. */
#pragma once

#include "render/viewer/playback.h"
#include "render/viewer/stage.h"

typedef enum lud_timeline_button {
    LUD_BUTTON_START,
    LUD_BUTTON_BACK,
    LUD_BUTTON_PLAY,
    LUD_BUTTON_FORWARD,
    LUD_BUTTON_END,
    LUD_BUTTONS
} lud_timeline_button;

typedef struct lud_timeline {
    lud_box line;  /* the whole; empty when folded */
    lud_box track; /* where it is clicked */
    lud_box buttons[LUD_BUTTONS];
    uint8_t *events; /* [capacity] lud_step_event of the step that led to a state */
    size_t capacity;
    bool incomplete; /* there was no memory for some */
} lud_timeline;

void lud_timeline_free(lud_timeline *timeline);
/* Places its parts in a box, which may be empty. */
void lud_timeline_lay_out(lud_timeline *timeline, lud_box box, float scale);
/* Remembers what kind of step led to the present states of n stages in step. Without memory it is not
 * remembered. */
void lud_timeline_add(lud_timeline *timeline, const lud_stage *stages, int n);
/* Of several stages also where their states differ. */
void lud_timeline_draw(const lud_timeline *timeline, lud_canvas *canvas, const lud_theme *theme,
                       const lud_stage *stages, int n, const lud_playback *playback, bool recording);
/* The button at a point, LUD_BUTTONS: none; the known state that is nearest to x. */
lud_timeline_button lud_timeline_button_at(const lud_timeline *timeline, float x, float y);
size_t lud_timeline_position_at(const lud_timeline *timeline, lud_span span, float x);
