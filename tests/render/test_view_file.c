/* A view fixes a picture: the window and the recorder make the same pixels of it, and what the window shows
 * is kept as a file that makes them again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "render/record.h"
#include "render/support_pictures.h"
#include "render/viewer/viewer.h"
#include <SDL.h>

static char folder[] = "/tmp/ludus-view-XXXXXX";
static const char rooms[] =
    "ludus: 1\nname: rooms\nabout: A robot and a person.\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 20\n  actions: object\nrun: {seed: "
    "5}\n";

static int set_up(void **state) {
    (void)state;
    return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

static void write_file(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

/* ---- the two ways ---- */

typedef struct window {
    lud_scenario_overrides overrides;
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} window;

/* As lud_view opens it; the size is that of the view. */
static window *open_window(const char *path, const char *view, int n_environments) {
    window *w = calloc(1, sizeof *w);
    lud_error error = {0};
    w->overrides = (lud_scenario_overrides){.view = view, .run = lud_run_as_written};
    w->options =
        (lud_view_options){.path = path, .overrides = &w->overrides, .n_environments = n_environments};
    if (lud_viewer_create(&w->options, &w->viewer, &error)) fail_msg("%s", error.text);
    const lud_view_section *shown = &lud_viewer_scenario(w->viewer)->view;
    const bool sized = shown->size.n == 2;
    if (lud_canvas_create_offscreen(sized ? (int)shown->size.items[0] : 1180,
                                    sized ? (int)shown->size.items[1] : 780, 1, &w->canvas, &error))
        fail_msg("%s", error.text);
    lud_viewer_draw(w->viewer, w->canvas);
    return w;
}

static void close_window(window *w) {
    lud_viewer_destroy(w->viewer);
    lud_canvas_destroy(w->canvas);
    free(w);
}

static void key(window *w, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(w->viewer, &event, 1);
    for (int k = 0; k < 60; k++) lud_viewer_update(w->viewer, 0.2); /* messages and glow are gone */
    lud_viewer_draw(w->viewer, w->canvas);
}

/* Records every state of n environments once, as NAME-00001.png and so on; with seeds from the first one on,
 * 0: from that of the scenario. Worlds alone are `side` pixels wide. */
static void record(const char *path, const char *view, const char *to, int steps, int n, uint64_t seed,
                   int side) {
    lud_error error = {0};
    lud_scenario *scenarios[LUD_SIDES];
    lud_cast *casts[LUD_SIDES];
    lud_record_side sides[LUD_SIDES] = {0};
    const lud_scenario_overrides overrides = {.view = view, .run = lud_run_as_written};
    lud_text who = {0};
    for (int k = 0; k < n; k++) {
        if (lud_scenario_load_with(path, &overrides, NULL, &scenarios[k], &error)) fail_msg("%s", error.text);
        if (lud_cast_create(scenarios[k]->model, scenarios[k]->policies, path, &casts[k], &error))
            fail_msg("%s", error.text);
        sides[k] = (lud_record_side){
            .path = path, .model = scenarios[k]->model, .cast = casts[k], .scenario = scenarios[k]};
    }
    lud_caption_who(casts[0], scenarios[0]->model->layout.n_agents, NULL, &who);
    lud_record_options options = lud_record_defaults();
    options.path = to;
    options.frames_per_step = 1;
    options.max_steps = steps;
    options.seed = seed ? seed : (uint64_t)scenarios[0]->run.seed;
    lud_record_as_shown(scenarios[0], &options);
    options.caption.who = options.name = who.bytes;
    options.others = sides + 1;
    options.n_others = n - 1;
    options.apart = true;
    if (side) {
        options.caption.title = NULL;
        options.width = side;
        options.height = 0;
    }
    if (lud_record(scenarios[0]->model, casts[0], &options, NULL, &error)) fail_msg("%s", error.text);
    lud_text_free(&who);
    for (int k = 0; k < n; k++) {
        lud_cast_destroy(casts[k]);
        lud_scenario_destroy(scenarios[k]);
    }
}

static void check_same(const char *path, const char *view, int steps, int n) {
    write_file("paper.yaml", view);
    window *w = open_window(path, "paper.yaml", n);
    record(path, "paper.yaml", "frame.png", steps, n, 0, 0);
    for (int step = 0; step <= steps; step++) {
        if (step) key(w, SDLK_PERIOD, 0);
        char name[32];
        snprintf(name, sizeof name, "frame-%05d.png", step + 1);
        picture shown = picture_of(w->canvas), recorded = picture_read(name);
        if (picture_differing(shown, recorded) != 0)
            fail_msg("%s with %s: step %d: %d of %dx%d pixels differ, recorded are %dx%d", path, view, step,
                     picture_differing(shown, recorded), shown.width, shown.height, recorded.width,
                     recorded.height);
        picture_free(&shown);
        picture_free(&recorded);
        unlink(name);
    }
    close_window(w);
}

static void test_same_pictures(void **state) {
    (void)state;
    static const char *const views[] = {
        "motion: false\npanels: {show: always}\n",
        "motion: false\npanels: {show: never}\n",
        "motion: false\nsize: [800, 600]\ntheme: dark\nscale: 1.25\nagent: 1\nlabels: true\n"
        "panels: {show: always, width: 0.4, timeline: false}\ncaption: {show: always, text: A title}\n",
        "motion: false\nsize: [900, 500]\nscale: 2\npanels: {show: always, inspector: false}\n"
        "caption: {show: always}\ncamera: {zoom: 2, centre: [2, 2]}\n",
        "motion: false\nsize: [640, 480]\nagent: 0\ncamera: {zoom: 1.5, follow: true}\n"
        "panels: {show: always}\nsuccessors: true\n",
        "motion: false\nsize: [700, 480]\ncell: [3, 3]\npanels: {show: always}\n"};
    write_file("rooms.yaml", rooms);
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) check_same("rooms.yaml", views[k], 4, 1);
    check_same(LUDUS_SOURCE_DIR "/scenarios/particle/navigation_3.yaml", views[2], 3, 1);
    check_same(LUDUS_SOURCE_DIR "/scenarios/tribes/market.yaml", views[0], 2, 1);
    check_same(LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml", views[0], 2, 1);
}

/* A grid of environments: the window's, and of worlds alone the pictures of each environment by itself, below
 * the line that names its seed. */
static void test_environments(void **state) {
    (void)state;
    enum { N = 5, SEED = 5, SIDE = 120, STEPS = 3 };
    write_file("rooms.yaml", rooms);
    check_same("rooms.yaml", "motion: false\nsize: [900, 600]\npanels: {show: always}\n", 3, 6);
    check_same(
        LUDUS_SOURCE_DIR "/scenarios/particle/navigation_3.yaml",
        "motion: false\nsize: [900, 600]\ntheme: dark\npanels: {show: never}\ncaption: {show: always}\n", 2,
        16);
    write_file("still.yaml", "motion: false\n");
    record("rooms.yaml", "still.yaml", "grid.png", STEPS, N, 0, SIDE);
    int n_other = 0;
    for (int k = 0; k < N; k++) {
        record("rooms.yaml", "still.yaml", "alone.png", STEPS, 1, SEED + (uint64_t)k, SIDE);
        for (int step = 0; step <= STEPS; step++) {
            char name[2][32];
            snprintf(name[0], sizeof name[0], "grid-%05d.png", step + 1);
            snprintf(name[1], sizeof name[1], "alone-%05d.png", step + 1);
            picture grid = picture_read(name[0]), alone = picture_read(name[1]);
            const int columns = grid.width / alone.width, rows = (N + columns - 1) / columns,
                      high = grid.height / rows, left = k % columns * alone.width,
                      top = (k / columns + 1) * high - alone.height;
            assert_int_equal(columns * alone.width, grid.width);
            assert_true(high > alone.height && columns > 1);
            for (int y = 0; y < alone.height; y++) /* without the line between neighbours */
                for (int x = 1; x < alone.width; x++) {
                    const uint32_t pixel = grid.pixels[(top + y) * grid.width + left + x];
                    assert_int_equal(pixel, alone.pixels[y * alone.width + x]);
                    n_other += k && pixel != grid.pixels[(high - alone.height + y) * grid.width + x];
                }
            picture_free(&grid);
            picture_free(&alone);
        }
    }
    assert_true(n_other > 0); /* other seeds, other episodes */
}

/* What differs from view to view is to be seen. */
static void test_every_key_matters(void **state) {
    (void)state;
    static const char base[] = "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\n";
    static const char *const others[] = {
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\ntheme: dark\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\nscale: 0.75\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\nlabels: true\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\nsuccessors: true\n",
        "size: [800, 600]\nmotion: false\nagent: 1\npanels: {show: always}\n",
        "size: [800, 600]\nmotion: false\ncell: [4, 2]\npanels: {show: always}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: never}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always, width: 0.5}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always, timeline: false}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always, inspector: false}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\ncamera: {zoom: 1.5}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\ncamera: {centre: [1, 1]}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\ncamera: {follow: true}\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\nspeed: 8\n",
        "size: [800, 600]\nmotion: false\nagent: 0\npanels: {show: always}\ncaption: {show: always}\n"};
    write_file("rooms.yaml", rooms);
    write_file("base.yaml", base);
    window *w = open_window("rooms.yaml", "base.yaml", 1);
    picture first = picture_of(w->canvas);
    close_window(w);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        write_file("other.yaml", others[k]);
        w = open_window("rooms.yaml", "other.yaml", 1);
        picture p = picture_of(w->canvas);
        if (picture_differing(first, p) == 0) fail_msg("nothing is otherwise with %s", others[k]);
        picture_free(&p);
        close_window(w);
    }
    picture_free(&first);
}

/* Shift S, and what --save-view writes. */
static void check_kept(window *w, const char *path) {
    lud_error error = {0};
    if (lud_viewer_save_look(w->viewer, "kept.yaml", &error)) fail_msg("%s", error.text);
    window *again = open_window(path, "kept.yaml", 1);
    const size_t steps = lud_player_position(lud_viewer_player(w->viewer));
    for (size_t k = 0; k < steps; k++) key(again, SDLK_PERIOD, 0);
    lud_viewer_draw(w->viewer, w->canvas);
    picture first = picture_of(w->canvas), second = picture_of(again->canvas);
    if (picture_differing(first, second) != 0)
        fail_msg("%d of %dx%d pixels differ, the second picture is %dx%d", picture_differing(first, second),
                 first.width, first.height, second.width, second.height);
    picture_free(&first);
    picture_free(&second);
    close_window(again);
}

static void test_kept(void **state) {
    (void)state;
    write_file("rooms.yaml", rooms);
    window *w = open_window("rooms.yaml", NULL, 1);
    static const SDL_Keycode keys[] = {SDLK_PERIOD, SDLK_t, SDLK_l, SDLK_TAB, SDLK_RIGHTBRACKET,
                                       SDLK_g,      SDLK_b, SDLK_p, SDLK_o,   SDLK_f};
    key(w, SDLK_m, 0);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        key(w, keys[k], 0);
        check_kept(w, "rooms.yaml");
    }
    key(w, SDLK_p, 0);
    key(w, SDLK_PLUS, KMOD_LCTRL);
    check_kept(w, "rooms.yaml");
    key(w, SDLK_s, KMOD_LSHIFT);
    assert_string_equal(lud_viewer_last_file(w->viewer), "rooms-1.view.yaml");
    assert_true(lud_file_exists("rooms-1.view.yaml"));
    close_window(w);
}

/* The window's own recording is its picture, too, where the view fixes it. */
static void test_recorded_in_the_window(void **state) {
    (void)state;
    write_file("rooms.yaml", rooms);
    write_file("paper.yaml", "motion: false\nsize: [640, 400]\npanels: {show: always}\n");
    window *w = open_window("rooms.yaml", "paper.yaml", 1);
    key(w, SDLK_PERIOD, 0);
    key(w, SDLK_s, 0);
    picture shown = picture_of(w->canvas), kept = picture_read("rooms-1.png");
    assert_int_equal(picture_differing(shown, kept), 0);
    picture_free(&shown);
    picture_free(&kept);
    key(w, SDLK_v, 0);
    key(w, SDLK_PERIOD, 0);
    key(w, SDLK_v, 0);
    assert_string_equal(lud_viewer_last_file(w->viewer), "rooms-1.mp4");
    assert_true(lud_file_exists("rooms-1.mp4"));
    close_window(w);
}

/* A view file is followed while it is shown, as the scenario is; with a mistake the old look stays. */
static void test_followed(void **state) {
    (void)state;
    write_file("rooms.yaml", rooms);
    write_file("paper.yaml", "motion: false\ntheme: light\npanels: {show: always}\n");
    window *w = open_window("rooms.yaml", "paper.yaml", 1);
    picture first = picture_of(w->canvas);
    write_file("paper.yaml", "motion: false\ntheme: drak\npanels: {show: always}\n");
    for (int k = 0; k < 10; k++) lud_viewer_update(w->viewer, 0.2);
    assert_non_null(strstr(lud_viewer_message(w->viewer), "paper.yaml:2:8: theme: expected light or dark"));
    write_file("paper.yaml", "motion: false\ntheme: dark\npanels: {show: always}\n\n");
    for (int k = 0; k < 40; k++) lud_viewer_update(w->viewer, 0.2);
    lud_viewer_draw(w->viewer, w->canvas);
    picture second = picture_of(w->canvas);
    assert_true(picture_differing(first, second) > first.width * first.height / 2);
    picture_free(&first);
    picture_free(&second);
    close_window(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_pictures),          cmocka_unit_test(test_environments),
        cmocka_unit_test(test_every_key_matters),      cmocka_unit_test(test_kept),
        cmocka_unit_test(test_recorded_in_the_window), cmocka_unit_test(test_followed)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
