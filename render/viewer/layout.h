/* Where the parts of the picture are, and where the camera looks. */
#pragma once

#include "render/viewer/panels/comparison.h"
#include "render/viewer/training.h"

typedef struct lud_view_layout {
    int width, height; /* of the last picture */
    float scale;       /* of its text */
    float magnified;   /* the part of the scale that was wished, not the display's own */
    lud_box world;     /* all that is not panels */
    int n;             /* worlds that go in step */
    lud_box heading[LUD_SIDES], side[LUD_SIDES]; /* [n] of each; no heading where there is one */
    lud_camera cameras[LUD_SIDES];               /* [n] as `camera`, in their boxes */
    lud_box column, timeline;                    /* empty when folded */
    lud_box training;                            /* above the column; empty where none is followed */
    lud_box comparison;                          /* there; empty where there is one world */
    lud_box compared[LUD_SIDES];                 /* the lines of its sides */
    lud_box overlay;                             /* the lower part of the column; empty without overlays */
    lud_camera camera;                           /* of the first world */
    bool fitted;                                 /* the camera follows the window's size */
    bool follow;                                 /* and else the selected agent */
} lud_view_layout;

/* Divides a canvas between the worlds, with or without panels about the chosen one; `training` may be null;
 * `fresh`: there are no panels but a line of keys; `selected`: an agent is, and needs more room in the
 * column. */
void lud_view_layout_divide(lud_view_layout *layout, const lud_canvas *canvas, const lud_compared *compared,
                            const lud_view_training *training, bool panels, bool fresh, bool selected);
/* Puts the cameras of all worlds to where the first looks. */
void lud_view_layout_spread(lud_view_layout *layout);
/* Lets the camera look at the whole world, and follow the window's size. */
void lud_view_layout_fit(lud_view_layout *layout, const lud_drawing *drawing);
void lud_view_layout_zoom(lud_view_layout *layout, float factor, float x, float y);
void lud_view_layout_pan(lud_view_layout *layout, float dx, float dy);
