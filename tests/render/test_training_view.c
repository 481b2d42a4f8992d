/* What plays by itself: one episode after another, and agents that act as a training teaches them meanwhile.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <SDL.h>

#include "base/file.h"
#include "render/canvas/picture.h"
#include "render/viewer/viewer.h"

static const char scenario_text[] =
    "ludus: 1\nname: rooms\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 12\n"
    "  actions: object\nrun: {seed: 5}\n";

typedef struct stage {
    lud_view_training training; /* its functions take the stage */
    int n_loaded, n_saved, n_stopped;
    bool news; /* what look answers next */
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} stage;

static bool look(lud_view_training *training, double seconds) {
    stage *s = (stage *)training;
    assert_true(seconds >= 0);
    const bool news = s->news;
    s->news = false;
    return news;
}
static void save(lud_view_training *training) {
    ((stage *)training)->n_saved++;
}
static void stop(lud_view_training *training) {
    ((stage *)training)->n_stopped++;
}
static lud_status loaded(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error) {
    (void)scenario, (void)cast, (void)source, (void)error;
    ((stage *)context)->n_loaded++;
    return LUD_OK;
}

static const struct lud_scenario_value speed = {"--speed", "view.speed", "20", false};
static const lud_scenario_overrides fast = {.values = &speed, .n_values = 1, .run = {-1, -1, -1, -1, -1, -1}};

static void open_stage(stage *s, bool once, bool follows) {
    *s = (stage){.training = {.look = look, .save = save, .stop = stop, .running = true, .share = 0.25}};
    snprintf(s->training.state, sizeof s->training.state, "iteration 50 of 200, 1:05, 3:15 left");
    s->options = (lud_view_options){.path = "rooms.yaml",
                                    .text = scenario_text,
                                    .overrides = &fast,
                                    .playing = true,
                                    .once = once,
                                    .training = follows ? &s->training : NULL,
                                    .loaded = loaded,
                                    .context = s};
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error)) fail_msg("%s", error.text);
    if (lud_canvas_create_offscreen(1280, 800, 1, &s->canvas, &error)) fail_msg("%s", error.text);
}

static void close_stage(stage *s) {
    lud_viewer_destroy(s->viewer);
    lud_canvas_destroy(s->canvas);
}

static void pass(stage *s, double seconds) {
    for (double t = 0; t < seconds; t += 0.02) lud_viewer_update(s->viewer, 0.02);
    lud_viewer_draw(s->viewer, s->canvas);
}

static void key(stage *s, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(s->viewer, &event, 1);
}

static size_t position(const stage *s) {
    return lud_player_position(lud_viewer_player(s->viewer));
}
static uint32_t episode(const stage *s) {
    return lud_player_episode(lud_viewer_player(s->viewer));
}

static void episodes_follow_each_other(void **state) {
    (void)state;
    stage s;
    open_stage(&s, false, false);
    pass(&s, 0.9); /* twelve steps at twenty a second, and the end is still shown */
    assert_int_equal(position(&s), 12);
    assert_int_equal(episode(&s), 0);
    pass(&s, 1.2);
    assert_int_equal(episode(&s), 1);
    pass(&s, 20);
    assert_in_range(episode(&s), 9, 13); /* 1.8 seconds each */
    assert_true(lud_viewer_moving(s.viewer));
    key(&s, SDLK_SPACE, 0); /* pauses, in the middle as at the end */
    const size_t stands = position(&s);
    assert_true(lud_viewer_rest(s.viewer) < 0.02); /* the last step may still be on its way */
    const uint32_t at = episode(&s);
    pass(&s, 5);
    assert_int_equal(position(&s), stands);
    assert_int_equal(episode(&s), at);
    key(&s, SDLK_END, 0);
    key(&s, SDLK_SPACE, 0);
    pass(&s, 5);
    assert_true(episode(&s) > at);
    close_stage(&s);
}

static void an_end_can_be_the_end(void **state) {
    (void)state;
    stage s;
    open_stage(&s, true, false);
    pass(&s, 5);
    assert_int_equal(position(&s), 12);
    assert_int_equal(episode(&s), 0);
    assert_non_null(strstr(lud_viewer_message(s.viewer), "episode is over"));
    key(&s, SDLK_SPACE, 0); /* plays: there is nothing more to play but the next */
    pass(&s, 0.3);
    assert_int_equal(episode(&s), 1);
    assert_in_range(position(&s), 3, 8);
    key(&s, SDLK_x, 0);
    pass(&s, 5);
    assert_in_range(episode(&s), 2, 4);
    close_stage(&s);
}

/* The first parameters act at once, newer ones from the next episode on. */
static void a_training_is_followed(void **state) {
    (void)state;
    stage s;
    open_stage(&s, false, true);
    assert_int_equal(s.n_loaded, 1);
    pass(&s, 0.2);
    s.news = true;
    pass(&s, 0.1);
    assert_int_equal(s.n_loaded, 2);
    assert_true(position(&s) < 4);
    s.news = true;
    pass(&s, 0.3);
    assert_int_equal(s.n_loaded, 2);
    const uint64_t seed = lud_player_seed(lud_viewer_player(s.viewer));
    pass(&s, 1.8);
    assert_int_equal(s.n_loaded, 3);
    assert_int_equal(lud_player_seed(lud_viewer_player(s.viewer)), seed + 1);
    pass(&s, 5); /* nothing new: the same agents go on */
    assert_int_equal(s.n_loaded, 3);

    key(&s, SDLK_s, KMOD_LCTRL);
    assert_int_equal(s.n_saved, 1);
    assert_non_null(strstr(lud_viewer_message(s.viewer), "saves"));
    key(&s, SDLK_e, KMOD_LCTRL);
    assert_int_equal(s.n_stopped, 1);
    s.training.running = false; /* nobody is there to be asked */
    key(&s, SDLK_s, KMOD_LCTRL);
    key(&s, SDLK_e, KMOD_LCTRL);
    assert_int_equal(s.n_saved, 1);
    assert_int_equal(s.n_stopped, 1);
    close_stage(&s);
}

/* Pixels that two pictures have differently. */
static int differing(lud_canvas *canvas, const uint32_t *before, int width, int height) {
    int pitch, n = 0;
    const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
    for (int y = 0; y < height; y++)
        n += memcmp(pixels + (size_t)y * (size_t)pitch / 4, before + y * width, (size_t)width * 4) != 0;
    return n;
}

/* Its panel shows what is known, at every size, and is drawn again when that is new, also while all stands.
 */
static void its_curves_grow(void **state) {
    (void)state;
    enum { N = 40 };
    static const int sizes[][2] = {{800, 600}, {1280, 800}, {480, 320}};
    double value[N];
    for (int k = 0; k < N; k++) value[k] = k % 9 ? 1 - exp(-k / 12.0) : NAN;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        stage s;
        lud_error error = {0};
        const int width = sizes[i][0], height = sizes[i][1];
        open_stage(&s, false, true);
        lud_canvas_destroy(s.canvas);
        if (lud_canvas_create_offscreen(width, height, 1, &s.canvas, &error)) fail_msg("%s", error.text);
        key(&s, SDLK_SPACE, 0);
        key(&s, SDLK_m, 0);
        pass(&s, 4);
        assert_false(lud_viewer_moving(s.viewer));
        assert_true(lud_viewer_rest(s.viewer) > 0.2);
        uint32_t *before = malloc((size_t)(width * height) * 4);
        int pitch;
        const uint32_t *pixels = lud_canvas_pixels(s.canvas, &pitch);
        for (int y = 0; y < height; y++)
            memcpy(before + y * width, pixels + (size_t)y * (size_t)pitch / 4, (size_t)width * 4);
        s.training.n_curves = 2;
        s.training.curves[0] = (lud_training_curve){"return", value, N};
        s.training.curves[1] = (lud_training_curve){"success", value, N / 2};
        snprintf(s.training.state, sizeof s.training.state, "iteration 60 of 200");
        s.training.version++;
        assert_true(lud_viewer_moving(s.viewer));
        pass(&s, 0.1);
        assert_false(lud_viewer_moving(s.viewer));
        assert_true(differing(s.canvas, before, width, height) >
                    (height < 600 ? 5 : 60)); /* no room for curves */
        if (getenv("LUDUS_PICTURES")) {
            char path[256];
            snprintf(path, sizeof path, "%s/training-%d.png", getenv("LUDUS_PICTURES"), width);
            pixels = lud_canvas_pixels(s.canvas, &pitch);
            assert_int_equal(lud_picture_write(path, pixels, width, height, pitch, &error), LUD_OK);
        }
        free(before);
        close_stage(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(episodes_follow_each_other), cmocka_unit_test(an_end_can_be_the_end),
        cmocka_unit_test(a_training_is_followed), cmocka_unit_test(its_curves_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
