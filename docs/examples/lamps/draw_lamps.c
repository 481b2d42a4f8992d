/* The lamps in a row, the two agents below them. A lamp is a unit wide; agents stand on y = 1.5. */
#include "render/worlds/draw_lamps.h"

#include <stdlib.h>

#include "sim/lamps/lamps.h"

static const lamps_state *state_of(const uint8_t *state) {
    return (const lamps_state *)(const void *)state;
}

static void destroy(lud_drawing *drawing) {
    free(drawing);
}

static lud_status create(const lud_model *model, lud_drawing **drawing, lud_error *error) {
    *drawing = calloc(1, sizeof **drawing);
    if (!*drawing) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a drawing");
    **drawing = (lud_drawing){&lud_draw_lamps, model};
    return LUD_OK;
}

static lud_box extent(const lud_drawing *drawing) {
    return (lud_box){0, 0, (float)((const lamps_model *)drawing->model)->options.lamps, 2.2f};
}

/* Between the place before and the present one; the two agents stand side by side. */
static void agent_position(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y) {
    (void)drawing;
    const float to = state_of(moment->state)->place[agent];
    const float from = moment->before ? state_of(moment->before)->place[agent] : to;
    *x = from + (to - from) * moment->progress + (agent ? 0.7f : 0.3f);
    *y = 1.5f;
}

static void draw(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment) {
    lud_canvas_rect(canvas, camera->viewport, theme->ground);
    const int n = (int)((const lamps_model *)drawing->model)->options.lamps;
    float x, y, unit = camera->scale;
    for (int k = 0; k < n; k++) {
        const bool lit = state_of(moment->state)->lit >> k & 1;
        lud_camera_to_screen(camera, (float)k + 0.5f, 0.6f, &x, &y);
        if (lit) lud_canvas_disc(canvas, x, y, 0.45f * unit, lud_faded(theme->colours[4], 0.25f));
        lud_canvas_disc(canvas, x, y, 0.28f * unit, lit ? theme->colours[4] : theme->grid_line);
        lud_canvas_line(canvas, x, y + 0.28f * unit, x, y + 1.3f * unit, 0.05f * unit, theme->wall);
    }
    for (int i = 0; i < LAMPS_AGENTS; i++) {
        agent_position(drawing, moment, i, &x, &y);
        lud_camera_to_screen(camera, x, y, &x, &y);
        if (i == moment->selected_agent) lud_canvas_disc(canvas, x, y, 0.24f * unit, theme->accent);
        lud_canvas_disc(canvas, x, y, 0.2f * unit, theme->colours[i ? 5 : 2]);
    }
}

static int agent_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    for (int i = 0; i < LAMPS_AGENTS; i++) {
        float ax, ay;
        agent_position(drawing, &(lud_moment){.state = state, .progress = 1}, i, &ax, &ay);
        if ((x - ax) * (x - ax) + (y - ay) * (y - ay) < 0.05f) return i;
    }
    return -1;
}

static void describe_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out) {
    (void)drawing;
    lud_text_append(out, "%s\nat lamp\t%d\n", agent ? "robot" : "person", state_of(state)->place[agent]);
}

static void describe_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after,
                            lud_text *out) {
    const int lit = state_of(after)->lit, changed = state_of(before)->lit ^ lit;
    for (int k = 0; k < ((const lamps_model *)drawing->model)->options.lamps; k++)
        if (changed >> k & 1) lud_text_append(out, "lamp %d goes %s\n", k, lit >> k & 1 ? "on" : "out");
}

const lud_draw_world lud_draw_lamps = {.name = "lamps",
                                       .create = create,
                                       .destroy = destroy,
                                       .extent = extent,
                                       .draw = draw,
                                       .agent_position = agent_position,
                                       .agent_at = agent_at,
                                       .describe_agent = describe_agent,
                                       .describe_change = describe_change};
