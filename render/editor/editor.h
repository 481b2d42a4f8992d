/* The editor of multigrid worlds in the viewer's window: a palette made from the world's tables, the world to
 * be drawn on with the mouse, the parameters of what is selected, what is wrong with the world and how large
 * it is. What it edits is the text of the scenario file (sim/multigrid/edit). */
#pragma once

#include "render/canvas/canvas.h"
#include "render/viewer/panels/message.h"
#include "sim/multigrid/edit/grid_edit.h"
#include "sim/scenario.h"

typedef struct lud_editor_options {
    const char *path;                        /* of the scenario */
    const lud_scenario_overrides *overrides; /* or null */
    int map;                                 /* of an ensemble */
    /* Solves a small world exactly and says the result, a line each; called on a thread of its own. Null:
     * worlds are not solved. */
    lud_status (*solve)(void *context, const lud_scenario *scenario, lud_text *report, lud_error *error);
    void *context;
    lud_message *message; /* what happens is said there */
} lud_editor_options;

typedef struct lud_editor lud_editor;

/* Opens the file. Fails where it cannot be edited, with the reason. */
lud_status lud_editor_create(const lud_editor_options *options, lud_editor **editor, lud_error *error);
void lud_editor_destroy(lud_editor *editor);
/* The file has changed: it is read again, unless there are changes that are not saved. */
void lud_editor_reload(lud_editor *editor);

void lud_editor_update(lud_editor *editor, double seconds);
/* `seconds`: clock of what moves by itself. */
void lud_editor_draw(lud_editor *editor, lud_canvas *canvas, const lud_theme *theme, float seconds);

/* Keys by SDL's numbers. */
typedef enum lud_editor_answer { LUD_EDITOR_IGNORED, LUD_EDITOR_TOOK, LUD_EDITOR_LEFT } lud_editor_answer;
lud_editor_answer lud_editor_key(lud_editor *editor, int key, bool shift, bool control);
/* Text that was typed: digits of a number, where one is asked for. */
void lud_editor_text(lud_editor *editor, const char *text);
typedef enum lud_editor_button { LUD_EDITOR_MAIN, LUD_EDITOR_SECOND } lud_editor_button;
/* True where it leaves: its button was pressed. */
bool lud_editor_mouse_down(lud_editor *editor, lud_editor_button button, float x, float y, bool shift);
void lud_editor_mouse_move(lud_editor *editor, float x, float y);
void lud_editor_mouse_up(lud_editor *editor, float x, float y);
void lud_editor_wheel(lud_editor *editor, float by, float x, float y);

/* Whether there are changes that are not saved. */
bool lud_editor_changed(const lud_editor *editor);
/* Whether something computes or will, so that time must go on. */
bool lud_editor_busy(const lud_editor *editor);

/* For tests: the document, where the world is on the picture, and where a brush of the palette, a button (at
 * the sides of the map: `grow east`, `cut north`) or the arrow of a parameter's value was drawn last (`next`:
 * its right one); an empty box when it is not there. */
lud_grid_edit *lud_editor_document(const lud_editor *editor);
const lud_camera *lud_editor_camera(const lud_editor *editor);
lud_box lud_editor_find(const lud_editor *editor, const char *name, bool next);
/* Where the value of a parameter is clicked to be typed. */
lud_box lud_editor_find_field(const lud_editor *editor, const char *name);
/* What was found out about the world, in lines; null: nothing yet. */
const char *lud_editor_findings(const lud_editor *editor);
