/* Pixels at places, text measures, and that the same drawing gives the same bytes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/draw.h"
#include "render/support_worlds.h"

static lud_canvas *canvas_of(int width, int height) {
    lud_canvas *canvas;
    lud_error error = {0};
    if (lud_canvas_create_offscreen(width, height, 1, &canvas, &error)) fail_msg("%s", error.text);
    return canvas;
}

static uint32_t pixel(const lud_canvas *canvas, int x, int y) {
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
    return pixels[y * (pitch / 4) + x] & 0xFFFFFF;
}

static const lud_rgba white = {255, 255, 255, 255}, black = {0, 0, 0, 255}, red = {200, 0, 0, 255};

static void test_shapes(void **state) {
    (void)state;
    lud_canvas *c = canvas_of(100, 100);
    lud_canvas_begin(c, white);
    lud_canvas_rect(c, (lud_box){10, 10, 5, 5}, red);
    lud_canvas_disc(c, 50, 50, 20, black);
    lud_canvas_round_rect(c, (lud_box){70, 10, 20, 20}, 8, black);
    lud_canvas_line(c, 10, 80, 60, 95, 3, black);
    lud_canvas_end(c);
    assert_int_equal(pixel(c, 9, 12), 0xFFFFFF);
    assert_int_equal(pixel(c, 10, 12), 0xC80000);
    assert_int_equal(pixel(c, 14, 14), 0xC80000);
    assert_int_equal(pixel(c, 15, 12), 0xFFFFFF);
    assert_int_equal(pixel(c, 50, 50), 0);
    assert_int_equal(pixel(c, 50, 28), 0xFFFFFF);
    assert_int_equal(pixel(c, 70, 10), 0xFFFFFF); /* the corner is round */
    assert_int_equal(pixel(c, 80, 10), 0);
    assert_int_equal(pixel(c, 80, 20), 0);
    assert_true(pixel(c, 35, 87) < 0x404040);
    int grey = 0, inside = 0; /* an antialiased edge, and an area near pi r^2 */
    for (int y = 28; y < 72; y++)
        for (int x = 28; x < 72; x++) {
            uint32_t value = pixel(c, x, y) & 255;
            grey += value > 20 && value < 235;
            inside += 255 - (int)value;
        }
    assert_true(grey > 60);
    assert_in_range(inside / 255, 1240, 1275); /* pi 20^2 = 1256.6 */
    lud_canvas_destroy(c);
}

static void test_text(void **state) {
    (void)state;
    lud_canvas *c = canvas_of(200, 60);
    assert_true(lud_canvas_text_width(c, LUD_TEXT_SMALL, "1111") ==
                lud_canvas_text_width(c, LUD_TEXT_SMALL, "8080"));
    assert_true(lud_canvas_text_width(c, LUD_TEXT_LARGE, "a") >
                lud_canvas_text_width(c, LUD_TEXT_SMALL, "a"));
    lud_canvas_begin(c, white);
    float drawn = lud_canvas_text(c, 5, 5, LUD_TEXT_SMALL, black, "Überall");
    assert_true(fabsf(drawn - lud_canvas_text_width(c, LUD_TEXT_SMALL, "Überall")) < 0.01f);
    assert_true(lud_canvas_text_cut(c, 5, 30, 40, LUD_TEXT_SMALL, black, "a very long line of text") <= 40);
    lud_canvas_text(c, 150, 5, LUD_TEXT_SMALL, black, "\xff\xc3"); /* not UTF-8: shown, not read beyond */
    lud_canvas_end(c);
    int dark = 0;
    for (int y = 5; y < 25; y++)
        for (int x = 5; x < 60; x++) dark += (pixel(c, x, y) & 255) < 100;
    assert_true(dark > 40);
    for (int y = 30; y < 50; y++) assert_int_equal(pixel(c, 47, y), 0xFFFFFF);
    lud_canvas_destroy(c);
}

static void test_camera(void **state) {
    (void)state;
    lud_camera camera = {0};
    lud_camera_fit(&camera, (lud_box){0, 0, 640, 480}, (lud_box){0, 0, 9, 7}, 10, true);
    assert_true(camera.scale == 65); /* floor((480 - 20) / 7) */
    float x, y, wx, wy;
    lud_camera_to_screen(&camera, 4.5f, 3.5f, &x, &y);
    assert_true(x > 319 && x < 321 && y > 239 && y < 241);
    lud_camera_to_world(&camera, 100, 200, &wx, &wy);
    lud_camera_zoom(&camera, 1.5f, 100, 200);
    lud_camera_to_screen(&camera, wx, wy, &x, &y);
    assert_true(x > 98.5f && x < 101.5f && y > 198.5f && y < 201.5f);
}

/* Draws the world with one of everything in the middle of a step. */
static uint32_t *world_picture(lud_theme_name theme, int side) {
    lud_error error = {0};
    lud_model *model = support_grid(support_everything, 50);
    lud_drawing *drawing;
    if (lud_drawing_create(model, &drawing, &error)) fail_msg("%s", error.text);
    uint32_t tick = 0;
    lud_range range = {.seed = 1, .n = 1, .tick = &tick};
    uint8_t *before = calloc(1, model->layout.state_bytes), *after = calloc(1, model->layout.state_bytes);
    model->world->reset(model, range, before);
    memcpy(after, before, model->layout.state_bytes);
    int32_t actions[] = {3, 2, 1};
    model->world->step(model, range, after, (lud_actions){actions, NULL}, (lud_outcome){0});
    lud_canvas *c = canvas_of(side, side);
    lud_camera camera = {0};
    lud_camera_fit(&camera, (lud_box){0, 0, (float)side, (float)side}, drawing->kind->extent(drawing), 4,
                   true);
    lud_moment moment = {.state = after,
                         .before = before,
                         .actions = actions,
                         .progress = 0.4f,
                         .glow = 0.5f,
                         .selected_agent = 0,
                         .labels = true};
    const lud_theme *t = lud_theme_get(theme);
    for (int k = 0; k < 2; k++) { /* the second time from what was kept */
        lud_canvas_begin(c, t->ground);
        drawing->kind->draw(drawing, c, t, &camera, &moment);
        lud_canvas_end(c);
    }
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(c, &pitch);
    uint32_t *copy = malloc((size_t)side * (size_t)side * 4);
    for (int y = 0; y < side; y++) memcpy(copy + y * side, pixels + y * (pitch / 4), (size_t)side * 4);
    lud_canvas_destroy(c);
    lud_drawing_destroy(drawing);
    free(before);
    free(after);
    model->world->free(model);
    return copy;
}

static void test_world_is_reproducible(void **state) {
    (void)state;
    for (int theme = 0; theme < LUD_THEMES; theme++)
        for (int side = 100; side <= 600; side += 500) {
            uint32_t *a = world_picture((lud_theme_name)theme, side),
                     *b = world_picture((lud_theme_name)theme, side);
            assert_memory_equal(a, b, (size_t)side * (size_t)side * 4);
            int colours = 0; /* many, so something was drawn */
            for (int k = 1; k < side * side; k++) colours += a[k] != a[k - 1];
            assert_true(colours > side * 4);
            free(a);
            free(b);
        }
}

static void test_words(void **state) {
    (void)state;
    lud_error error = {0};
    lud_model *model = support_grid(support_rooms, 50);
    lud_drawing *drawing;
    assert_int_equal(lud_drawing_create(model, &drawing, &error), LUD_OK);
    uint32_t tick = 0;
    lud_range range = {.seed = 1, .n = 1, .tick = &tick};
    uint8_t *before = calloc(1, model->layout.state_bytes), *after = calloc(1, model->layout.state_bytes);
    model->world->reset(model, range, before);
    memcpy(after, before, model->layout.state_bytes);
    int32_t actions[] = {4, 0}; /* the robot picks up the key before it */
    model->world->step(model, range, after, (lud_actions){actions, NULL}, (lud_outcome){0});
    lud_text text = {0};
    drawing->kind->describe_change(drawing, before, after, &text);
    assert_string_equal(text.bytes, "agent 0 takes yellow key\n");
    assert_int_equal(drawing->kind->events(drawing, before, after), LUD_EVENT_PICKUP);
    lud_text_clear(&text);
    drawing->kind->describe_agent(drawing, after, 0, &text);
    assert_non_null(strstr(text.bytes, "carries\tyellow key"));
    lud_text_clear(&text);
    drawing->kind->describe_cell(drawing, after, 3, 3, &text);
    assert_non_null(strstr(text.bytes, "door\tlocked"));
    assert_int_equal(drawing->kind->agent_at(drawing, after, 5.5f, 2.5f), 1);
    assert_int_equal(drawing->kind->agent_at(drawing, after, 1.5f, 1.5f), -1);
    lud_text_free(&text);
    lud_drawing_destroy(drawing);
    free(before);
    free(after);
    model->world->free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_text), cmocka_unit_test(test_camera),
        cmocka_unit_test(test_world_is_reproducible), cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
