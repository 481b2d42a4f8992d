#include <stdlib.h>
#include <string.h>

#include "library/handles.h"
#include "render/record.h"

struct ludus_renderer {
    const ludus_scenario *scenario;
    const lud_theme *theme;
    lud_drawing *drawing;
    lud_canvas *canvas;
};

void ludus_renderer_free(ludus_renderer *renderer) {
    if (!renderer) return;
    lud_canvas_destroy(renderer->canvas);
    lud_drawing_destroy(renderer->drawing);
    free(renderer);
}

ludus_status ludus_renderer_create(const ludus_scenario *scenario, int width, int height, const char *theme,
                                   ludus_renderer **renderer, ludus_error *error) {
    LUDUS_REQUIRE(renderer, error);
    *renderer = NULL;
    LUDUS_REQUIRE(scenario, error);
    LUDUS_REQUIRE(width >= 16 && width <= 4096 && (height == 0 || (height >= 16 && height <= 4096)), error);
    lud_theme_name name = LUD_THEME_LIGHT;
    lud_error inner = {0};
    lud_status status = theme ? lud_theme_find(theme, &name, &inner) : LUD_OK;
    if (status) return ludus_lift(status, &inner, error);
    ludus_renderer *r = calloc(1, sizeof *r);
    if (!r) return ludus_no_memory(error);
    r->scenario = scenario;
    r->theme = lud_theme_get(name);
    status = lud_drawing_create(scenario->inner->model, &r->drawing, &inner);
    if (!status && !height) lud_picture_size(r->drawing, width, &width, &height);
    if (!status) status = lud_canvas_create_offscreen(width, height, 1, &r->canvas, &inner);
    if (status)
        ludus_renderer_free(r);
    else
        *renderer = r;
    return ludus_lift(status, &inner, error);
}

void ludus_renderer_size(const ludus_renderer *renderer, int *width, int *height) {
    if (width) *width = renderer ? lud_canvas_width(renderer->canvas) : 0;
    if (height) *height = renderer ? lud_canvas_height(renderer->canvas) : 0;
}

ludus_status ludus_render(ludus_renderer *renderer, const uint8_t *state, const uint8_t *before,
                          uint8_t *rgba, ludus_error *error) {
    LUDUS_REQUIRE(renderer && rgba, error);
    ludus_status status = ludus_state_check(renderer->scenario, state, error);
    if (!status && before) status = ludus_state_check(renderer->scenario, before, error);
    if (status) return status;
    const lud_moment moment = {.state = state, .came_from = before, .progress = 1, .selected_agent = -1};
    lud_draw_frame(renderer->drawing, renderer->canvas, renderer->theme, &moment);
    int pitch;
    const char *row = (const char *)lud_canvas_pixels(renderer->canvas, &pitch);
    const int width = lud_canvas_width(renderer->canvas), height = lud_canvas_height(renderer->canvas);
    for (int y = 0; y < height; y++, row += pitch)
        for (int x = 0; x < width; x++, rgba += 4) {
            uint32_t word; /* 0xxxRRGGBB */
            memcpy(&word, row + 4 * (size_t)x, sizeof word);
            rgba[0] = (uint8_t)(word >> 16);
            rgba[1] = (uint8_t)(word >> 8);
            rgba[2] = (uint8_t)word;
            rgba[3] = 255;
        }
    return ludus_lift(LUD_OK, NULL, error);
}
