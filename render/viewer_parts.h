/* What the files of the viewer share. */
#ifndef LUDUS_RENDER_VIEWER_PARTS_H
#define LUDUS_RENDER_VIEWER_PARTS_H

#include "render/video.h"
#include "render/viewer.h"

typedef struct lud_layout_boxes {
    lud_box world, column, timeline; /* column and timeline empty when folded */
    lud_box overlay;                 /* the lower part of the column; empty without overlays */
    lud_box track;                   /* where the time line is clicked */
    lud_box buttons[5];              /* start, back, play, forward, end */
    lud_box agent_rows;              /* the agents in the column, `agents_a_row` of them side by side */
    float agent_row_height, agent_width;
    int agents_a_row;
} lud_layout_boxes;

struct lud_viewer {
    const lud_view_options *options;
    lud_scenario *scenario;
    lud_cast *cast;
    lud_drawing *drawing;
    lud_player *player;
    lud_overlay *overlay; /* or null */

    /* time */
    bool playing;
    double speed;      /* steps a second */
    double since_step; /* seconds since the present state was reached by a step */
    double clock;
    double file_checked;  /* clock of the last look */
    lud_tree_files files; /* that the scenario was read from */

    /* what is shown */
    lud_theme_name theme;
    bool fresh; /* nothing was touched yet: the world and three keys, no more */
    bool panels, help, goals, labels, motion, successors_shown;
    int selected_agent;
    bool cell_selected;
    int cell_x, cell_y;
    bool follow, fitted; /* fitted: the camera follows the window's size */
    lud_camera camera;
    lud_layout_boxes boxes;
    char message[512];
    double message_until; /* clock; infinity for errors that stay */
    bool message_is_error;
    char last_file[512];

    /* the mouse */
    bool dragging, scrubbing, dragged;
    int grabbed; /* thing that follows the mouse, -1: none */
    float mouse_x, mouse_y;

    /* taking over: -1 means that the cast acts; else the action of the next step */
    int32_t *chosen;
    bool *taken;

    /* events of the steps known, one byte a state */
    uint8_t *events;
    size_t events_capacity;

    const uint8_t *trail[LUD_TRAIL_STATES]; /* of the moment drawn */

    lud_successors successors;
    size_t successors_position;
    bool successors_valid;
    int32_t *plan;

    /* recording of what is shown */
    lud_video *video;
    lud_canvas *video_canvas;
    int64_t video_frames;

    bool quit;
    int width, height; /* of the last picture */
    float scale;
};

/* viewer.c */
void lud_viewer_say(lud_viewer *v, bool is_error, double seconds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void lud_viewer_step(lud_viewer *v);
void lud_viewer_seek(lud_viewer *v, size_t position);
void lud_viewer_restart(lud_viewer *v, uint64_t seed);
void lud_viewer_forget_plans(lud_viewer *v);
void lud_viewer_fit(lud_viewer *v);
/* States for which the time line has room: those known, or the whole episode where its length is limited. */
size_t lud_viewer_track_length(const lud_viewer *v);
lud_moment lud_viewer_moment(lud_viewer *v);

/* viewer_files.c */
void lud_viewer_screenshot(lud_viewer *v);
void lud_viewer_toggle_recording(lud_viewer *v);
void lud_viewer_record_step(lud_viewer *v);
void lud_viewer_watch_file(lud_viewer *v);
lud_status lud_viewer_load(lud_viewer *v, bool keep_seed, lud_error *error);

/* viewer_panels.c */
void lud_viewer_draw_timeline(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme);
void lud_viewer_draw_help(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme);
/* Bytes of `text` (small) that fit into `width`, broken at a space where there is one. */
size_t lud_viewer_fitting(lud_canvas *canvas, const char *text, float width);
void lud_viewer_draw_message(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme);
/* viewer_inspector.c */
void lud_viewer_draw_inspector(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme);

/* viewer_input.c: the action of an agent under this key, -1: none. */
int lud_viewer_key_action(const lud_viewer *v, int agent, SDL_Keycode key);
/* `up forward, e pickup ...`: the keys of an agent's actions. */
void lud_viewer_action_keys(const lud_viewer *v, int agent, lud_text *out);

#endif
