/* How worlds that a program registered are drawn: its functions behind the table of render/draw.h. */
#include <math.h>
#include <stdlib.h>

#include "library/registered.h"
#include "render/draw.h"

struct ludus_canvas {
    lud_canvas *canvas;
    const lud_theme *theme;
    const lud_camera *camera;
};

static lud_rgba colour_of(const lud_theme *theme, int colour) {
    if (colour == 7) return theme->grid_line;
    return colour >= 0 && colour < 7 ? theme->colours[colour] : theme->wall;
}

void ludus_canvas_rectangle(ludus_canvas *c, float x, float y, float width, float height, int colour) {
    float left, top, right, bottom;
    lud_camera_to_screen(c->camera, x, y, &left, &top);
    lud_camera_to_screen(c->camera, x + width, y + height, &right, &bottom);
    lud_canvas_rect(c->canvas, (lud_box){left, top, right - left, bottom - top}, colour_of(c->theme, colour));
}

void ludus_canvas_disc(ludus_canvas *c, float x, float y, float radius, int colour) {
    lud_camera_to_screen(c->camera, x, y, &x, &y);
    lud_canvas_disc(c->canvas, x, y, radius * c->camera->scale, colour_of(c->theme, colour));
}

static lud_status create_drawing(const lud_model *m, lud_drawing **drawing, lud_error *error) {
    *drawing = calloc(1, sizeof **drawing);
    if (!*drawing) return lud_no_memory(error, "a drawing");
    **drawing = (lud_drawing){&world_of(m)->drawing, m};
    return LUD_OK;
}

static void destroy_drawing(lud_drawing *drawing) {
    free(drawing);
}

static lud_box extent(const lud_drawing *drawing) {
    const ludus_world *given = &world_of(drawing->model)->given;
    return (lud_box){0, 0, given->width, given->height};
}

static void agent_position(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y) {
    const lud_model *m = drawing->model;
    float from_x, from_y;
    world_of(m)->given.agent_position(options_of(m), moment->state, agent, x, y);
    if (!moment->before) return;
    world_of(m)->given.agent_position(options_of(m), moment->before, agent, &from_x, &from_y);
    *x = from_x + (*x - from_x) * moment->progress;
    *y = from_y + (*y - from_y) * moment->progress;
}

/* An agent's radius: a part of the smaller side, so that it is seen in a world of any unit. */
static float agent_radius(const lud_model *m) {
    const ludus_world *given = &world_of(m)->given;
    return fminf(0.3f, 0.1f * fminf(given->width, given->height));
}

static void draw(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment) {
    static const int colours[] = {[LUD_ROLE_NONE] = 3, [LUD_ROLE_HUMAN] = 2, [LUD_ROLE_ROBOT] = 0};
    const lud_model *m = drawing->model;
    const registered *w = world_of(m);
    ludus_canvas c = {canvas, theme, camera};
    lud_canvas_rect(canvas, camera->viewport, theme->ground);
    if (w->given.draw) w->given.draw(options_of(m), moment->state, &c);
    for (int i = 0; i < w->given.n_agents; i++) {
        float x, y;
        agent_position(drawing, moment, i, &x, &y);
        lud_camera_to_screen(camera, x, y, &x, &y);
        const float radius = agent_radius(m) * camera->scale;
        if (i == moment->selected_agent) lud_canvas_disc(canvas, x, y, 1.2f * radius, theme->accent);
        lud_canvas_disc(canvas, x, y, radius, theme->colours[colours[w->roles[i]]]);
    }
}

static int agent_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    const float radius = agent_radius(drawing->model);
    for (int i = 0; i < world_of(drawing->model)->given.n_agents; i++) {
        float at_x, at_y;
        agent_position(drawing, &(lud_moment){.state = state, .progress = 1.0f}, i, &at_x, &at_y);
        if (hypotf(x - at_x, y - at_y) <= radius) return i;
    }
    return -1;
}

lud_status ludus_register_drawing(registered *world, lud_error *error) {
    world->drawing = (lud_draw_world){.name = world->given.name,
                                      .create = create_drawing,
                                      .destroy = destroy_drawing,
                                      .extent = extent,
                                      .draw = draw,
                                      .agent_position = agent_position,
                                      .agent_at = agent_at};
    return lud_draw_register(&world->drawing, error);
}
