/* Where the parts of the picture are, and where the camera looks. */
#pragma once

#include "render/viewer/stage.h"
#include "render/viewer/training.h"

typedef struct lud_view_layout {
    int width, height; /* of the last picture */
    float scale;       /* of its text */
    lud_box world;
    lud_box column, timeline; /* empty when folded */
    lud_box training;         /* above the column; empty where none is followed */
    lud_box overlay;          /* the lower part of the column; empty without overlays */
    lud_camera camera;
    bool fitted; /* the camera follows the window's size */
    bool follow; /* and else the selected agent */
} lud_view_layout;

/* Divides a canvas, with or without panels; `training` may be null; `selected`: an agent is, and needs more
 * room in the column. */
void lud_view_layout_divide(lud_view_layout *layout, const lud_canvas *canvas, const lud_stage *stage,
                            const lud_view_training *training, bool panels, bool selected);
/* Lets the camera look at the whole world, and follow the window's size. */
void lud_view_layout_fit(lud_view_layout *layout, const lud_drawing *drawing);
void lud_view_layout_zoom(lud_view_layout *layout, float factor, float x, float y);
void lud_view_layout_pan(lud_view_layout *layout, float dx, float dy);
