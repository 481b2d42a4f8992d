#include "render/canvas/camera.h"

#include <math.h>

static void update(lud_camera *camera) {
    float scale = camera->scale;
    float left = camera->viewport.x + camera->viewport.w * 0.5f - camera->centre[0] * scale;
    float top = camera->viewport.y + camera->viewport.h * 0.5f - camera->centre[1] * scale;
    if (camera->whole) {
        left = floorf(left + 0.5f);
        top = floorf(top + 0.5f);
    }
    glm_mat3_identity(camera->to_screen);
    camera->to_screen[0][0] = camera->to_screen[1][1] = scale;
    camera->to_screen[2][0] = left;
    camera->to_screen[2][1] = top;
    glm_mat3_inv(camera->to_screen, camera->to_world);
}

static void set_scale(lud_camera *camera, float scale) {
    if (camera->whole) scale = floorf(scale);
    camera->scale = fminf(fmaxf(scale, 4), 1024);
}

void lud_camera_fit(lud_camera *camera, lud_box viewport, lud_box world, float margin, bool whole) {
    camera->viewport = viewport;
    camera->whole = whole;
    glm_vec2_copy((vec2){world.x + world.w * 0.5f, world.y + world.h * 0.5f}, camera->centre);
    set_scale(camera, fminf((viewport.w - 2 * margin) / world.w, (viewport.h - 2 * margin) / world.h));
    update(camera);
}

void lud_camera_look(lud_camera *camera, double zoom, float x, float y) {
    static const double rounding = 1e-3; /* of a zoom that was found as a quotient of whole scales */
    glm_vec2_copy((vec2){x, y}, camera->centre);
    set_scale(camera, (float)((double)camera->scale * zoom + (camera->whole ? rounding : 0)));
    update(camera);
}

void lud_camera_set_viewport(lud_camera *camera, lud_box viewport) {
    camera->viewport = viewport;
    update(camera);
}

void lud_camera_pan(lud_camera *camera, float dx, float dy) {
    camera->centre[0] -= dx / camera->scale;
    camera->centre[1] -= dy / camera->scale;
    update(camera);
}

void lud_camera_zoom(lud_camera *camera, float factor, float x, float y) {
    float before_x, before_y, after_x, after_y;
    lud_camera_to_world(camera, x, y, &before_x, &before_y);
    float scale = camera->scale * factor;
    if (camera->whole && fabsf(scale - camera->scale) < 1)
        scale = camera->scale + (factor > 1 ? 1.0f : -1.0f);
    set_scale(camera, scale);
    update(camera);
    lud_camera_to_world(camera, x, y, &after_x, &after_y);
    camera->centre[0] += before_x - after_x;
    camera->centre[1] += before_y - after_y;
    update(camera);
}

void lud_camera_follow(lud_camera *camera, float x, float y, float share) {
    glm_vec2_lerp(camera->centre, (vec2){x, y}, share, camera->centre);
    update(camera);
}

void lud_camera_to_screen(const lud_camera *camera, float x, float y, float *screen_x, float *screen_y) {
    *screen_x = camera->to_screen[0][0] * x + camera->to_screen[2][0];
    *screen_y = camera->to_screen[1][1] * y + camera->to_screen[2][1];
}

void lud_camera_to_world(const lud_camera *camera, float screen_x, float screen_y, float *x, float *y) {
    *x = camera->to_world[0][0] * screen_x + camera->to_world[2][0];
    *y = camera->to_world[1][1] * screen_y + camera->to_world[2][1];
}

bool lud_box_contains(lud_box box, float x, float y) {
    return x >= box.x && y >= box.y && x < box.x + box.w && y < box.y + box.h;
}
