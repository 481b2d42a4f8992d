/* The viewer without its window: what is shown, and what keys and the mouse do. It draws on any canvas and
 * takes SDL events, so it runs under tests as it runs on a screen. */
#pragma once

#include "render/draw.h"
#include "render/episode.h"
#include "render/overlay.h"
#include "render/viewer/training.h"
#include "sim/scenario.h"

/* What is shown beside the first, in step with it. */
typedef struct lud_view_side {
    const char *path; /* of the scenario */
    const char *run;  /* folder of the RUN that acts; null: none */
    void *context;    /* for `loaded` */
} lud_view_side;

typedef struct lud_view_options {
    const char *path;            /* of the scenario */
    const char *run;             /* folder of the RUN that acts, for captions; null: none */
    const lud_view_side *others; /* [n_others] */
    int n_others;
    int n_environments; /* above 1: so many of the first side's, with seeds that follow each other; no others
                         */
    const char *text;   /* the scenario itself, `path` its name; null: it is read from there */
    lud_episode_source *episodes;            /* are shown, of that scenario; null: the cast plays */
    int64_t first_episode;                   /* of them */
    const lud_scenario_overrides *overrides; /* null: none */
    bool playing;                            /* starts by itself */
    bool once;                               /* stops where an episode ends; else the next begins */
    const char *keep;            /* file that the look is written to, see lud_viewer_save_look; null: none */
    const char *remembered;      /* file of how the user has put the panels, see remembered.h; null: none */
    lud_view_training *training; /* is followed: agents act as it teaches them; null: none */
    /* Called when the scenario was loaded, and after every change of its file: may let other policies act
     * (lud_cast_set) and give a source of overlays, which the viewer takes over. Null: not called. */
    lud_status (*loaded)(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error);
    void *context;
    /* Solves a small world exactly, for the editor (render/editor/editor.h); null: nothing does. */
    lud_status (*solve)(void *context, const lud_scenario *scenario, lud_text *report, lud_error *error);
    void *solve_context;
} lud_view_options;

typedef struct lud_viewer lud_viewer;
union SDL_Event;

/* Loads the scenario. The options and what they point to must outlive the viewer. */
lud_status lud_viewer_create(const lud_view_options *options, lud_viewer **viewer, lud_error *error);
void lud_viewer_destroy(lud_viewer *viewer);

/* A key, the mouse, or the window's size. Mouse positions are multiplied by `pixels` (pixels of a window
 * unit). */
void lud_viewer_event(lud_viewer *viewer, const union SDL_Event *event, float pixels);
/* Time goes on by `seconds`: plays, moves, and looks whether the scenario file changed. */
void lud_viewer_update(lud_viewer *viewer, double seconds);
void lud_viewer_draw(lud_viewer *viewer, lud_canvas *canvas);
/* Whether anything on the picture moves by itself, so that it must be drawn again. */
bool lud_viewer_moving(const lud_viewer *viewer);
/* Seconds until it wants to be updated again, when nothing happens: of a picture that moves a sixtieth, half
 * as often beside a training, which wants the processor; seldom where it is paused. */
double lud_viewer_rest(const lud_viewer *viewer);
/* Texts and panels so many times as large, within 0.5 and 4. A small window shows them as large as it has
 * room for: a picture of W x H pixels at most W / 640 or H / 480 times, at least once. */
void lud_viewer_set_scale(lud_viewer *viewer, float scale);
/* The same, and the scale that it goes back to. */
void lud_viewer_begin_scale(lud_viewer *viewer, float scale);
/* Writes the look that is shown now as a file for `--view`. */
lud_status lud_viewer_save_look(const lud_viewer *viewer, const char *path, lud_error *error);
bool lud_viewer_wants_full_screen(const lud_viewer *viewer);
bool lud_viewer_wants_to_quit(const lud_viewer *viewer);

/* The editor, null while the world is not edited. */
struct lud_editor *lud_viewer_editor(const lud_viewer *viewer);
/* For the window and for tests. */
lud_player *lud_viewer_player(const lud_viewer *viewer);
const lud_scenario *lud_viewer_scenario(const lud_viewer *viewer);
/* The message now shown; empty when there is none. */
const char *lud_viewer_message(const lud_viewer *viewer);
/* Path of the last screenshot or recording; empty when there is none. */
const char *lud_viewer_last_file(const lud_viewer *viewer);
int lud_viewer_selected_agent(const lud_viewer *viewer);
const lud_camera *lud_viewer_camera(const lud_viewer *viewer);
/* Null when there is none. */
lud_overlay *lud_viewer_overlay(const lud_viewer *viewer);
