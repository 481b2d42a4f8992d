/* Where the parts of the picture are, and where the camera looks. */
#pragma once

#include "render/viewer/panels/column.h"
#include "render/viewer/panels/comparison.h"
#include "render/viewer/training.h"

typedef struct lud_view_layout {
    int width, height; /* of the last picture */
    float scale;       /* of its text */
    float magnified;   /* the part of the scale that was wished, not the display's own */
    lud_box world;     /* all that is not panels */
    int n;             /* worlds that go in step */
    int lead;          /* whose box `camera` looks in: the first, or the one that is shown alone */
    lud_box heading[LUD_SIDES], side[LUD_SIDES]; /* [n] of each, empty where it is not shown; no heading
                                                    where one is */
    lud_camera cameras[LUD_SIDES];               /* [n] as `camera`, in their boxes */
    lud_box timeline;                            /* empty when folded */
    lud_column column;                           /* panels, empty when folded */
    lud_box compared[LUD_SIDES];                 /* the lines of its sides */
    lud_box caption;                             /* below all; empty where there is none */
    lud_camera camera;                           /* of the leading world */
    bool fitted;                                 /* the camera follows the window's size: */
    double zoom;                                 /* so many times what shows the whole world, */
    bool centred;                                /* with this point in the middle, else the world's own */
    float centre[2];
    bool follow;  /* the selected agent is in the middle */
    bool at_once; /* in the next picture, not little by little */
} lud_view_layout;

/* Divides a canvas between the worlds (or the chosen one alone, where `alone`) and panels about the chosen
 * one (null: none); `training` may be null; `fresh`: there is a line of keys; `caption`: pixels of the line
 * below; `selected`: an agent is, and needs more room in the column. */
void lud_view_layout_divide(lud_view_layout *layout, const lud_canvas *canvas, const lud_compared *compared,
                            const lud_view_training *training, const lud_view_panels *panels, bool alone,
                            bool fresh, float caption, bool selected);
/* Puts the cameras of all worlds to where the first looks. */
void lud_view_layout_spread(lud_view_layout *layout);
/* Lets the camera look where it is set to, and follow the window's size; and at the whole world. */
void lud_view_layout_fit(lud_view_layout *layout, const lud_drawing *drawing);
void lud_view_layout_fit_whole(lud_view_layout *layout, const lud_drawing *drawing);
/* The same in the next picture, whose worlds have other boxes. */
void lud_view_layout_fit_next(lud_view_layout *layout);
void lud_view_layout_zoom(lud_view_layout *layout, float factor, float x, float y);
void lud_view_layout_pan(lud_view_layout *layout, float dx, float dy);
