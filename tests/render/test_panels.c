/* Panels at every size: what is higher than its place is scrolled, long texts are broken, texts grow and
 * shrink within the window, and what is pointed at explains itself. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include <SDL.h>

#include "base/file.h"
#include "render/viewer/panels/scroll.h"
#include "render/viewer/viewer.h"

static char folder[] = "/tmp/ludus-panels-XXXXXX";
static const char scenario_text[] =
    "ludus: 1\nname: rooms\nabout: A very long account of two rooms, of a robot in one of them, of a person "
    "in the "
    "other, of the key that lies beside the robot, of the door that the key opens, and of what they could "
    "do.\n"
    "world: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 20\n  actions: object\nrun: {seed: "
    "5}\n";

typedef struct stage {
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} stage;

/* Nothing moves, and texts are of a size. */
static const struct lud_scenario_value wishes[] = {{"--still", "view.motion", "false", false},
                                                   {"--scale", "view.scale", "1.25", false},
                                                   {"--still", "view.motion", "false", false},
                                                   {"--scale", "view.scale", "1.5", false}};
static const lud_scenario_overrides still = {
    .values = wishes, .n_values = 1, .run = {-1, -1, -1, -1, -1, -1}};
static const lud_scenario_overrides large = {
    .values = wishes, .n_values = 2, .run = {-1, -1, -1, -1, -1, -1}};
static const lud_scenario_overrides larger = {
    .values = wishes + 2, .n_values = 2, .run = {-1, -1, -1, -1, -1, -1}};

static stage opened(void) {
    return (stage){.options = {.path = "rooms.yaml", .overrides = &still}};
}

static void show(stage *s, int width, int height, float display) {
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error) ||
        lud_canvas_create_offscreen(width, height, display, &s->canvas, &error))
        fail_msg("%s", error.text);
    lud_viewer_draw(s->viewer, s->canvas);
}

static void closed(stage *s) {
    lud_viewer_destroy(s->viewer);
    lud_canvas_destroy(s->canvas);
}

static void settle(stage *s) {
    for (int k = 0; k < 40; k++) lud_viewer_update(s->viewer, 0.2); /* messages are gone */
    lud_viewer_draw(s->viewer, s->canvas);
}

static void key(stage *s, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(s->viewer, &event, 1);
    settle(s);
}

static void point(stage *s, int x, int y) {
    SDL_Event event = {.motion = {.type = SDL_MOUSEMOTION, .x = x, .y = y}};
    lud_viewer_event(s->viewer, &event, 1);
}

static void wheel(stage *s, int x, int y, int by) {
    SDL_Event event = {.wheel = {.type = SDL_MOUSEWHEEL, .y = by, .mouseX = x, .mouseY = y}};
    lud_viewer_event(s->viewer, &event, 1);
    settle(s);
}

static uint64_t picture(const stage *s) {
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(s->canvas, &pitch);
    return XXH3_64bits(pixels, (size_t)pitch * (size_t)lud_canvas_height(s->canvas));
}

static int make_folder(void **state) {
    (void)state;
    lud_error error = {0};
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    return (int)lud_file_write("rooms.yaml", scenario_text, strlen(scenario_text), &error);
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

/* Every line has room, and together they are the text without the spaces at their ends. */
static void test_broken_texts(void **state) {
    (void)state;
    static const char *const texts[] = {"", "one",
                                        "a few words that go on and on and on until they are broken",
                                        "averyveryverylongwordthathasnospaceatallandstillhastobebroken",
                                        "pi \xcf\x80_r \xe2\x80\xa6 caf\xc3\xa9 nai\xc3\xafve"};
    lud_canvas *canvas;
    lud_error error = {0};
    if (lud_canvas_create_offscreen(64, 64, 1, &canvas, &error)) fail_msg("%s", error.text);
    for (int size = LUD_TEXT_SMALL; size <= LUD_TEXT_LARGE; size++)
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            for (float width = 40; width < 400; width += 37) {
                int lines = 0;
                for (const char *at = texts[k]; *at; lines++) {
                    char line[256];
                    const size_t n = lud_canvas_text_breaking(canvas, (lud_text_size)size, at, width);
                    assert_in_range(n, 1, strlen(at));
                    snprintf(line, sizeof line, "%.*s", (int)n, at);
                    assert_true(lud_canvas_text_width(canvas, (lud_text_size)size, line) <= width);
                    assert_true(((unsigned char)at[n] & 0xc0) != 0x80); /* no letter is broken */
                    for (at += n; *at == ' ';) at++;
                }
                lud_canvas_measure(canvas, true);
                assert_int_equal(lud_canvas_text_wrapped(canvas, 0, 0, width, 10, (lud_text_size)size,
                                                         (lud_rgba){0, 0, 0, 255}, texts[k]),
                                 lines);
                lud_canvas_measure(canvas, false);
            }
    lud_canvas_destroy(canvas);
}

static void test_scroll(void **state) {
    (void)state;
    lud_canvas *canvas;
    lud_error error = {0};
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    if (lud_canvas_create_offscreen(100, 100, 1, &canvas, &error)) fail_msg("%s", error.text);
    lud_scroll scroll = {.offset = 1e6f};
    lud_canvas_begin(canvas, theme->ground);
    assert_true(lud_scroll_begin(&scroll, canvas, (lud_box){10, 20, 50, 60}, 200) == 20 - 140);
    lud_scroll_end(&scroll, canvas, theme);
    assert_false(lud_scroll_turn(&scroll, 5));
    assert_true(lud_scroll_turn(&scroll, -30) && scroll.offset == 110);
    assert_true(lud_scroll_turn(&scroll, -1e5f) && scroll.offset == 0);
    /* what has room is not scrolled, also when it was before */
    scroll.offset = 50;
    assert_true(lud_scroll_begin(&scroll, canvas, (lud_box){10, 20, 50, 60}, 60) == 20);
    lud_scroll_end(&scroll, canvas, theme);
    assert_false(lud_scroll_turn(&scroll, 30));
    lud_canvas_end(canvas);
    lud_canvas_destroy(canvas);
}

/* In a small window the column is scrolled to its end and back to the same picture; in a tall one all of it
 * is seen. The wheel over it leaves the world alone, over the world it zooms. */
static void test_column(void **state) {
    (void)state;
    stage s = opened();
    s.options.overrides = &large;
    show(&s, 800, 600, 1);
    key(&s, SDLK_TAB, 0);
    key(&s, SDLK_b, 0);
    key(&s, SDLK_c, 0); /* the keys of the agent are shown as well */
    const uint64_t top = picture(&s);
    const float zoom = lud_viewer_camera(s.viewer)->scale;
    int turns = 0;
    for (uint64_t before = 0; before != picture(&s) && turns < 100; turns++) {
        before = picture(&s);
        wheel(&s, 700, 200, -1);
    }
    assert_in_range(turns, 2, 99);
    assert_true(lud_viewer_camera(s.viewer)->scale == zoom);
    for (int k = 0; k < 10; k++) key(&s, SDLK_PAGEUP, 0);
    assert_true(picture(&s) == top);
    wheel(&s, 200, 200, 1);
    assert_true(lud_viewer_camera(s.viewer)->scale > zoom);
    closed(&s);
    show(&s, 800, 2400, 1);
    key(&s, SDLK_TAB, 0);
    key(&s, SDLK_b, 0);
    key(&s, SDLK_c, 0);
    const uint64_t all = picture(&s);
    key(&s, SDLK_PAGEDOWN, 0);
    assert_true(picture(&s) == all);
    closed(&s);
}

/* Ctrl + as often as one likes ends where the window has no more room; Ctrl 0 is the first picture again. On
 * a display of twice the density all is twice as large. */
static void test_scale(void **state) {
    (void)state;
    stage s = opened();
    show(&s, 1280, 960, 1);
    key(&s, SDLK_TAB, 0);
    const uint64_t first = picture(&s);
    float scale = lud_canvas_scale(s.canvas);
    for (int k = 0; k < 30; k++) {
        key(&s, SDLK_PLUS, KMOD_CTRL);
        assert_true(lud_canvas_scale(s.canvas) >= scale);
        scale = lud_canvas_scale(s.canvas);
    }
    assert_true(fabsf(scale - 2) < 0.01f); /* 1280 / 640 */
    key(&s, SDLK_MINUS, KMOD_CTRL);
    assert_true(lud_canvas_scale(s.canvas) < scale);
    key(&s, SDLK_h, 0);
    key(&s, SDLK_h, 0); /* the page of keys came and went */
    key(&s, SDLK_0, KMOD_CTRL);
    assert_true(picture(&s) == first);
    assert_false(lud_viewer_wants_full_screen(s.viewer));
    key(&s, SDLK_F11, 0);
    assert_true(lud_viewer_wants_full_screen(s.viewer));
    key(&s, SDLK_F11, 0);
    assert_false(lud_viewer_wants_full_screen(s.viewer));
    closed(&s);
    s.options.overrides = &larger;
    show(&s, 1280, 960, 1);
    assert_true(fabsf(lud_canvas_scale(s.canvas) - 1.5f) < 0.01f);
    /* screenshots are what is seen */
    key(&s, SDLK_TAB, 0);
    key(&s, SDLK_s, 0);
    assert_true(lud_file_exists(lud_viewer_last_file(s.viewer)));
    closed(&s);
    show(&s, 1280, 960, 2);
    assert_true(fabsf(lud_canvas_scale(s.canvas) - 2) < 0.01f); /* 3 has no room */
    closed(&s);
}

/* A tip comes after a moment at the place and goes with a click; what is cut says itself whole. */
static void test_tips(void **state) {
    (void)state;
    stage s = opened();
    show(&s, 800, 600, 1);
    key(&s, SDLK_TAB, 0);
    const uint64_t plain = picture(&s);
    point(&s, 97, 571); /* the button in the middle */
    lud_viewer_draw(s.viewer, s.canvas);
    assert_true(picture(&s) == plain);
    assert_true(lud_viewer_moving(s.viewer)); /* the moment passes */
    settle(&s);
    assert_true(picture(&s) != plain);
    assert_string_equal(lud_canvas_hint_at(s.canvas, 97, 571), "play, pause: Space");
    assert_false(lud_viewer_moving(s.viewer));
    point(&s, 300, 300);
    settle(&s);
    assert_true(picture(&s) == plain);
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    lud_canvas_begin(s.canvas, theme->ground);
    lud_canvas_text_cut(s.canvas, 10, 10, 60, LUD_TEXT_SMALL, theme->text, "much longer than its place");
    lud_canvas_text_cut(s.canvas, 10, 50, 600, LUD_TEXT_SMALL, theme->text, "short enough");
    lud_canvas_clip(s.canvas, (lud_box){0, 80, 100, 20});
    lud_canvas_text_cut(s.canvas, 10, 140, 60, LUD_TEXT_SMALL, theme->text, "cut, but not to be seen at all");
    lud_canvas_unclip(s.canvas);
    lud_canvas_end(s.canvas);
    assert_string_equal(lud_canvas_hint_at(s.canvas, 20, 15), "much longer than its place");
    assert_null(lud_canvas_hint_at(s.canvas, 20, 55));
    assert_null(lud_canvas_hint_at(s.canvas, 20, 145));
    closed(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_broken_texts), cmocka_unit_test(test_scroll),
                                       cmocka_unit_test(test_column), cmocka_unit_test(test_scale),
                                       cmocka_unit_test(test_tips)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
