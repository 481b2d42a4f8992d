/* The editor within the viewer: while the world is edited it has the picture, the mouse and the keys that it
 * knows; else the viewer has them. */
#pragma once

#include "render/editor/editor.h"

struct lud_viewer;
union SDL_Event;

typedef struct lud_editing {
    lud_editor
        *editor; /* null before it was opened; it keeps what is not saved while the viewer is looked at */
    bool on;
    bool warned; /* that something is not saved, when it was to end */
} lud_editing;

/* Begins to edit what is shown, or says why it cannot be. */
void lud_viewer_edit(struct lud_viewer *viewer);
/* The rest returns false where the viewer goes on by itself. */
bool lud_viewer_update_editing(struct lud_viewer *viewer, double seconds);
bool lud_viewer_draw_editing(struct lud_viewer *viewer, lud_canvas *canvas, const lud_theme *theme);
bool lud_viewer_editing_event(struct lud_viewer *viewer, const union SDL_Event *event, float pixels);
bool lud_viewer_editing_moves(const struct lud_viewer *viewer);
void lud_editing_free(lud_editing *editing);
