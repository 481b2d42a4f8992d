/* What libludus of a build without SDL2 answers: pictures are an error, drawings of registered worlds are not
 * asked for. */
#include "library/registered.h"

ludus_status ludus_renderer_create(const ludus_scenario *scenario, int width, int height, const char *theme,
                                   ludus_renderer **renderer, ludus_error *error) {
    LUDUS_REQUIRE(renderer, error);
    *renderer = NULL;
    LUDUS_REQUIRE(scenario, error);
    (void)width, (void)height, (void)theme;
    lud_error inner = {0};
    const lud_status status = lud_fail(&inner, LUD_ERROR_UNSUPPORTED,
                                       "pictures: this libludus was built without SDL2 and draws nothing");
    return ludus_lift(status, &inner, error);
}

void ludus_renderer_free(ludus_renderer *renderer) {
    (void)renderer;
}

void ludus_renderer_size(const ludus_renderer *renderer, int *width, int *height) {
    (void)renderer;
    if (width) *width = 0;
    if (height) *height = 0;
}

ludus_status ludus_render(ludus_renderer *renderer, const uint8_t *state, const uint8_t *before,
                          uint8_t *rgba, ludus_error *error) {
    (void)state, (void)before, (void)rgba;
    LUDUS_REQUIRE(renderer, error); /* there never is one */
    return LUDUS_ERROR_UNSUPPORTED;
}

lud_status ludus_register_drawing(registered *world, lud_error *error) {
    (void)world, (void)error;
    return LUD_OK;
}

void ludus_canvas_rectangle(ludus_canvas *canvas, float x, float y, float width, float height, int colour) {
    (void)canvas, (void)x, (void)y, (void)width, (void)height, (void)colour;
}

void ludus_canvas_disc(ludus_canvas *canvas, float x, float y, float radius, int colour) {
    (void)canvas, (void)x, (void)y, (void)radius, (void)colour;
}
