/* Several environments of one world: each plays what it plays alone with its seed, a click shows one as if it
 * were alone, and a key all of them again. */
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
#include "render/support_pictures.h"
#include "render/viewer/viewer_parts.h"

enum { SEED = 5, MOST_STEPS = 12 };

static char folder[] = "/tmp/ludus-environments-XXXXXX";
static const char rooms[] =
    "ludus: 1\nname: rooms\nabout: A robot and a person.\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 12\n  actions: object\n"
    "policies: {0: {type: random}, 1: {type: random}}\nrun: {seed: 5}\n"
    "view: {motion: false, panels: {timeline: false}}\n";

static int set_up(void **state) {
    (void)state;
    lud_error error = {0};
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    return (int)lud_file_write("rooms.yaml", rooms, strlen(rooms), &error);
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

typedef struct window {
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} window;

static window *open_window(int n, uint64_t seed) {
    window *w = calloc(1, sizeof *w);
    lud_error error = {0};
    w->options = (lud_view_options){.path = "rooms.yaml", .n_environments = n};
    if (lud_viewer_create(&w->options, &w->viewer, &error)) fail_msg("%s", error.text);
    if (lud_canvas_create_offscreen(1000, 640, 1, &w->canvas, &error)) fail_msg("%s", error.text);
    if (seed != SEED) lud_viewer_restart(w->viewer, seed);
    lud_viewer_draw(w->viewer, w->canvas);
    return w;
}

static void close_window(window *w) {
    lud_viewer_destroy(w->viewer);
    lud_canvas_destroy(w->canvas);
    free(w);
}

static void settle(window *w) {
    for (int k = 0; k < 60; k++) lud_viewer_update(w->viewer, 0.2); /* messages are gone */
    lud_viewer_draw(w->viewer, w->canvas);
}

static void key(window *w, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(w->viewer, &event, 1);
    settle(w);
}

static void click(window *w, lud_box box) {
    const int x = (int)(box.x + box.w * 0.5f), y = (int)(box.y + box.h * 0.5f);
    SDL_Event event = {.button = {.type = SDL_MOUSEBUTTONDOWN, .button = SDL_BUTTON_LEFT, .x = x, .y = y}};
    lud_viewer_event(w->viewer, &event, 1);
    event.button.type = SDL_MOUSEBUTTONUP;
    lud_viewer_event(w->viewer, &event, 1);
    settle(w);
}

static bool differ(const window *a, const window *b) {
    picture one = picture_of(a->canvas), other = picture_of(b->canvas);
    const bool other_pixels = picture_differing(one, other) != 0;
    picture_free(&one);
    picture_free(&other);
    return other_pixels;
}

/* The states of every environment are those of a player alone, in this episode. */
static void check_alone(const lud_viewer *v, lud_player *const *alone) {
    for (int k = 0; k < v->n_stages; k++) {
        lud_player *player = v->stages[k].player;
        const size_t bytes = lud_stage_layout(&v->stages[k])->state_bytes;
        assert_true(lud_player_seed(player) == lud_player_seed(alone[k]));
        assert_int_equal(lud_player_episode(player), lud_player_episode(alone[k]));
        assert_int_equal(lud_player_position(player), lud_player_position(alone[k]));
        assert_memory_equal(lud_player_state(player), lud_player_state(alone[k]), bytes);
    }
}

static void test_as_alone(void **state) {
    (void)state;
    enum { N = LUD_SIDES };
    window *w = open_window(N, SEED);
    lud_viewer *v = w->viewer;
    lud_player *alone[N];
    lud_error error = {0};
    assert_int_equal(v->n_stages, N);
    for (int k = 0; k < N; k++)
        if (lud_player_create(v->stages[k].scenario->model, v->stages[k].cast, SEED + (uint64_t)k, true,
                              &alone[k], &error))
            fail_msg("%s", error.text);
    check_alone(v, alone);
    bool moved;
    int n_other = 0;
    for (int step = 0; step < 5; step++) {
        lud_viewer_step(v);
        for (int k = 0; k < N; k++) assert_int_equal(lud_player_step(alone[k], NULL, &moved, &error), LUD_OK);
        check_alone(v, alone);
    }
    for (int k = 1; k < N; k++)
        n_other += memcmp(lud_player_state(alone[k]), lud_player_state(alone[0]),
                          lud_stage_layout(&v->stages[0])->state_bytes) != 0;
    assert_true(n_other > N / 2); /* other seeds, other episodes */
    lud_viewer_next_episode(v);
    for (int k = 0; k < N; k++) lud_player_next_episode(alone[k]);
    check_alone(v, alone);
    lud_viewer_step(v);
    for (int k = 0; k < N; k++) assert_int_equal(lud_player_step(alone[k], NULL, &moved, &error), LUD_OK);
    check_alone(v, alone);
    lud_viewer_restart(v, 100);
    for (int k = 0; k < N; k++) lud_player_restart(alone[k], 100 + (uint64_t)k);
    check_alone(v, alone);
    key(w, SDLK_r, 0); /* seeds that none of them had */
    assert_true(lud_player_seed(v->stages[0].player) == 100 + N);
    for (int k = 0; k < N; k++) lud_player_destroy(alone[k]);
    close_window(w);
}

/* What is chosen is drawn as if it were alone; back in the grid all is as before. */
static void test_choose(void **state) {
    (void)state;
    window *grid = open_window(6, SEED), *before = open_window(6, SEED), *alone = open_window(1, SEED + 4);
    key(grid, SDLK_p, 0); /* the first key ends the line of keys */
    key(grid, SDLK_p, 0);
    for (int step = 0; step < 4; step++) {
        key(grid, SDLK_PERIOD, 0);
        key(before, SDLK_PERIOD, 0);
        key(alone, SDLK_PERIOD, 0);
    }
    assert_true(grid->viewer->layout.column.box.w <= 0);
    for (int k = 0; k < 6; k++) assert_true(grid->viewer->layout.side[k].w > 100);
    assert_false(differ(grid, before));
    click(grid, grid->viewer->layout.side[4]);
    assert_int_equal(grid->viewer->stage - grid->viewer->stages, 4);
    assert_false(differ(grid, alone));
    key(grid, SDLK_PERIOD, 0); /* all go on meanwhile */
    key(before, SDLK_PERIOD, 0);
    key(alone, SDLK_PERIOD, 0);
    assert_false(differ(grid, alone));
    /* a click in it is one in the world, as in a window of its own */
    click(grid, grid->viewer->layout.side[4]);
    click(alone, alone->viewer->layout.side[0]);
    assert_false(differ(grid, alone));
    key(grid, SDLK_ESCAPE, 0);
    key(grid, SDLK_k, 0);
    assert_int_equal(grid->viewer->stage - grid->viewer->stages, 5);
    assert_true(lud_viewer_shows_alone(grid->viewer));
    for (int k = 0; k < 5; k++) key(grid, SDLK_k, 0);
    key(before, SDLK_k, 0);
    for (int k = 0; k < 3; k++) key(before, SDLK_k, 0);
    assert_int_equal(grid->viewer->stage - grid->viewer->stages, 4);
    key(grid, SDLK_k, KMOD_LSHIFT);
    assert_false(lud_viewer_shows_alone(grid->viewer));
    assert_false(differ(grid, before));
    close_window(grid);
    close_window(before);
    close_window(alone);
}

static void test_refused(void **state) {
    (void)state;
    lud_viewer *viewer;
    lud_error error = {0};
    const lud_view_side other = {.path = "rooms.yaml"};
    lud_view_options options = {.path = "rooms.yaml", .n_environments = LUD_SIDES + 1};
    assert_int_equal(lud_viewer_create(&options, &viewer, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "at most 16"));
    options = (lud_view_options){.path = "rooms.yaml", .others = &other, .n_others = 1, .n_environments = 4};
    assert_int_equal(lud_viewer_create(&options, &viewer, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "expected one scenario or RUN, found 2"));
}

/* What is shown is recorded: the grid, or the one; going from one to the other ends it. */
static void test_recorded(void **state) {
    (void)state;
    window *w = open_window(LUD_SIDES, SEED);
    for (int k = 1; k <= 2; k++) {
        char name[32];
        snprintf(name, sizeof name, "rooms-%d.mp4", k);
        key(w, SDLK_v, 0);
        assert_true(w->viewer->recording.on);
        assert_int_equal(w->viewer->recording.film.sides.n, k == 1 ? LUD_SIDES : 1);
        key(w, SDLK_PERIOD, 0);
        key(w, SDLK_k, KMOD_LSHIFT);
        assert_false(w->viewer->recording.on);
        assert_string_equal(lud_viewer_last_file(w->viewer), name);
        assert_true(lud_file_exists(name));
    }
    close_window(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_alone), cmocka_unit_test(test_choose),
                                       cmocka_unit_test(test_recorded), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
