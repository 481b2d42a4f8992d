/* The viewer is made of parts that know only themselves; viewer.c lets them work together, viewer_input.c
 * turns keys and the mouse into what is declared here. */
#pragma once

#include "render/viewer/editing.h"
#include "render/viewer/file_watch.h"
#include "render/viewer/layout.h"
#include "render/viewer/panels/inspector.h"
#include "render/viewer/panels/message.h"
#include "render/viewer/panels/timeline.h"
#include "render/viewer/panels/tip.h"
#include "render/viewer/playback.h"
#include "render/viewer/recording.h"

typedef struct lud_mouse {
    bool dragging, scrubbing, dragged;
    int grabbed; /* thing that follows the mouse, -1: none */
    int edge;    /* of panels that does, LUD_NO_EDGE: none */
    float x, y;
    float beside; /* pixels between the edge and the mouse */
} lud_mouse;

/* It paints for a film, in which nothing is that passes: what moves, and how far it is. */
typedef struct lud_portrait {
    bool on;
    lud_phase phase;
} lud_portrait;

struct lud_viewer {
    const lud_view_options *options;
    lud_view_options own_options; /* of one whose stages are borrowed, see render/viewer/portrait.h */
    bool borrowed;
    const char *title;           /* of its caption then */
    lud_stage stages[LUD_SIDES]; /* [n_stages] in step, the first leads */
    int n_stages;
    lud_stage *stage; /* the one that panels are about */
    bool grid;        /* environments that go apart are shown side by side; else that one alone, large */
    lud_file_watch watch;
    lud_playback playback;
    lud_takeover takeover;
    lud_selection selection;
    lud_successor_list successors;
    lud_shown shown;
    lud_view_panels panels; /* which, and how large */
    bool remembers;         /* how panels are put is that of the user's file, and goes there */
    char *look;             /* what the view said when it was taken over, as text; or null */
    lud_portrait portrait;
    lud_view_layout layout;
    lud_timeline timeline;
    lud_inspector inspector;
    lud_message message;
    lud_recording recording;
    lud_mouse mouse;
    lud_pointer pointer;
    lud_scroll scrolls[LUD_PANELS];
    float scale, first_scale; /* of texts and panels, as it is wished, and was before the keys */
    bool full_screen;         /* is wished */
    int64_t recorded;         /* number of the recorded episode that is shown */
    bool plays_on;            /* the next episode begins where one ends */
    double over_for;          /* seconds that it is over while playing */
    bool taught;              /* agents act as the training has taught them at some time */
    bool newer;               /* it has newer parameters than those that act */
    lud_editing editing;
    uint64_t drawn; /* version of what is known of it in the last picture */
    bool quit;
};

lud_sides lud_viewer_sides(const lud_viewer *viewer);
/* Whether the episodes of all sides are. */
bool lud_viewer_over(const lud_viewer *viewer);
/* The side whose world is at a point, -1: none. */
int lud_viewer_side_at(const lud_viewer *viewer, float x, float y);
/* Whether one of several environments is shown alone; and lets it be, or all of them. */
bool lud_viewer_shows_alone(const lud_viewer *viewer);
void lud_viewer_show_grid(lud_viewer *viewer, bool grid);
/* Lets the panels be about a side. */
void lud_viewer_choose_side(lud_viewer *viewer, int side);
void lud_viewer_step(lud_viewer *viewer);
void lud_viewer_seek(lud_viewer *viewer, size_t position);
/* What was planned or shown of the present state holds no longer. */
void lud_viewer_forget_plans(lud_viewer *viewer);
void lud_viewer_restart(lud_viewer *viewer, uint64_t seed);
/* The episode after this one: of the recording, or of the cast, which acts by the newest parameters. */
void lud_viewer_next_episode(lud_viewer *viewer);
/* Shows a recorded episode, the last or the first where there is none of that number. */
void lud_viewer_show_recorded(lud_viewer *viewer, int64_t number);
/* Writes the look as a view file, of the name that the options give or the next that is free. */
void lud_viewer_keep_look(lud_viewer *viewer);
/* Folds a panel, or unfolds it. */
void lud_viewer_fold(lud_viewer *viewer, int panel);
/* Keeps how panels are put for the next window, where the options name a file for it. */
void lud_viewer_remember(lud_viewer *viewer);
/* Panels as they were before anybody folded or dragged them, also in the next window. */
void lud_viewer_forget_panels(lud_viewer *viewer);
void lud_viewer_screenshot(lud_viewer *viewer);
void lud_viewer_toggle_recording(lud_viewer *viewer);
