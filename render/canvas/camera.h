/* Where the world appears on the screen: a centre, a scale and a part of the window.
 *
 * World units are cells (or metres), x right and y down; screen units are pixels. */
#pragma once

#include <stdbool.h>

#include <cglm/cglm.h>

/* A rectangle in screen pixels or world units. */
typedef struct lud_box {
    float x, y, w, h;
} lud_box;

typedef struct lud_camera {
    lud_box viewport; /* pixels */
    vec2 centre;      /* world point in the middle of the viewport */
    float scale;      /* pixels of one world unit */
    bool whole;       /* scale and offset are whole pixels: for worlds of cells */
    mat3 to_screen, to_world;
} lud_camera;

/* Shows all of `world` in `viewport` with `margin` pixels around. */
void lud_camera_fit(lud_camera *camera, lud_box viewport, lud_box world, float margin, bool whole);
/* Keeps centre and scale in a changed viewport. */
void lud_camera_set_viewport(lud_camera *camera, lud_box viewport);
/* So many times as large as it is, with a point of the world in the middle. */
void lud_camera_look(lud_camera *camera, double zoom, float x, float y);
/* Moves the picture by pixels. */
void lud_camera_pan(lud_camera *camera, float dx, float dy);
/* Scales by `factor`, keeping the world point under the pixel (x, y) where it is. Scale stays in 4..1024. */
void lud_camera_zoom(lud_camera *camera, float factor, float x, float y);
/* Moves the centre to a world point; `share` of the way, 1 at once. */
void lud_camera_follow(lud_camera *camera, float x, float y, float share);

void lud_camera_to_screen(const lud_camera *camera, float x, float y, float *screen_x, float *screen_y);
void lud_camera_to_world(const lud_camera *camera, float screen_x, float screen_y, float *x, float *y);
bool lud_box_contains(lud_box box, float x, float y);
