/* The viewer under made-up events, without a display. */
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
#include "render/viewer/viewer.h"
#include "render/window.h"
#include "sim/particle/particle.h"

static char folder[] = "/tmp/ludus-viewer-XXXXXX";
static const char scenario_text[] =
    "ludus: 1\nname: rooms\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 20\n"
    "  actions: object\nrun: {seed: 5}\n";

typedef struct stage {
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} stage;

static void write_file(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

static void write_scenario(const char *text) {
    write_file("rooms.yaml", text);
}

static int set_up(void **state) {
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    write_scenario(scenario_text);
    stage *s = calloc(1, sizeof *s);
    s->options = (lud_view_options){.path = "rooms.yaml"};
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error)) fail_msg("%s", error.text);
    if (lud_canvas_create_offscreen(900, 600, 1, &s->canvas, &error)) fail_msg("%s", error.text);
    lud_viewer_draw(s->viewer, s->canvas);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    stage *s = *state;
    lud_viewer_destroy(s->viewer);
    lud_canvas_destroy(s->canvas);
    free(s);
    char command[128];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    int code = system(command);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return code;
}

static void key(stage *s, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(s->viewer, &event, 1);
    lud_viewer_update(s->viewer, 0.02);
    lud_viewer_draw(s->viewer, s->canvas);
}

static void mouse(stage *s, Uint32 type, int x, int y) {
    SDL_Event event = {.button = {.type = type, .button = SDL_BUTTON_LEFT, .x = x, .y = y}};
    if (type == SDL_MOUSEMOTION) event = (SDL_Event){.motion = {.type = type, .x = x, .y = y}};
    lud_viewer_event(s->viewer, &event, 1);
    lud_viewer_draw(s->viewer, s->canvas);
}

static size_t position(const stage *s) {
    return lud_player_position(lud_viewer_player(s->viewer));
}

static void test_step_and_rewind(void **state) {
    stage *s = *state;
    lud_player *player = lud_viewer_player(s->viewer);
    size_t bytes = lud_viewer_scenario(s->viewer)->model->layout.state_bytes;
    uint8_t *kept = calloc(6, bytes);
    for (int k = 0; k < 6; k++) {
        memcpy(kept + (size_t)k * bytes, lud_player_state(player), bytes);
        if (k < 5) key(s, SDLK_PERIOD, 0);
    }
    assert_int_equal(position(s), 5);
    for (int k = 4; k >= 0; k--) {
        key(s, SDLK_COMMA, 0);
        assert_memory_equal(lud_player_state(player), kept + (size_t)k * bytes, bytes);
    }
    key(s, SDLK_END, 0);
    assert_int_equal(position(s), 5);
    assert_memory_equal(lud_player_state(player), kept + 5 * bytes, bytes);
    key(s, SDLK_r, KMOD_LSHIFT); /* the same seed once more */
    for (int k = 0; k < 5; k++) key(s, SDLK_PERIOD, 0);
    assert_memory_equal(lud_player_state(player), kept + 5 * bytes, bytes);
    key(s, SDLK_r, 0);
    assert_int_equal(lud_player_seed(player), 6);
    free(kept);
}

static void test_play(void **state) {
    stage *s = *state;
    key(s, SDLK_x, 0);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "Stops where an episode ends"));
    key(s, SDLK_SPACE, 0);
    for (int k = 0; k < 100; k++) lud_viewer_update(s->viewer, 0.02);
    assert_in_range(position(s), 7, 10); /* two seconds at four steps a second */
    for (int k = 0; k < 300; k++) {
        lud_viewer_update(s->viewer, 0.02);
        lud_viewer_draw(s->viewer, s->canvas);
    }
    assert_int_equal(position(s), 20);
    assert_true(lud_player_over(lud_viewer_player(s->viewer)));
    assert_non_null(strstr(lud_viewer_message(s->viewer), "episode is over"));
    key(s, SDLK_n, 0);
    assert_int_equal(lud_player_episode(lud_viewer_player(s->viewer)), 1);
    assert_int_equal(position(s), 0);
}

static void test_take_over(void **state) {
    stage *s = *state;
    lud_player *player = lud_viewer_player(s->viewer);
    key(s, SDLK_TAB, 0);
    assert_int_equal(lud_viewer_selected_agent(s->viewer), 0);
    key(s, SDLK_c, 0);
    const SDL_Keycode keys[] = {SDLK_LEFT, SDLK_RIGHT, SDLK_UP,     SDLK_DOWN,
                                SDLK_e,    SDLK_q,     SDLK_RETURN, SDLK_4};
    const int32_t actions[] = {1, 2, 3, 0, 4, 5, 6, 3};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        key(s, keys[k], 0);
        assert_int_equal(position(s), k + 1);
        assert_int_equal(lud_player_actions(player)[0], actions[k]);
    }
    key(s, SDLK_c, 0);
    key(s, SDLK_LEFT, 0); /* a step back again */
    assert_int_equal(position(s), 7);
}

static void test_mouse(void **state) {
    stage *s = *state;
    for (int k = 0; k < 10; k++) key(s, SDLK_PERIOD, 0);
    mouse(s, SDL_MOUSEBUTTONDOWN, 260, 571); /* the left end of the time line */
    mouse(s, SDL_MOUSEBUTTONUP, 260, 571);
    assert_int_equal(position(s), 0);
    mouse(s, SDL_MOUSEBUTTONDOWN, 260, 571);
    mouse(s, SDL_MOUSEMOTION, 740, 571); /* only known states can be reached */
    mouse(s, SDL_MOUSEBUTTONUP, 740, 571);
    assert_int_equal(position(s), 10);
    key(s, SDLK_HOME, 0);
    bool found[2] = {false, false}; /* clicking all over the world finds both agents */
    for (int y = 20; y < 520; y += 30)
        for (int x = 20; x < 580; x += 30) {
            mouse(s, SDL_MOUSEBUTTONDOWN, x, y);
            mouse(s, SDL_MOUSEBUTTONUP, x, y);
            int agent = lud_viewer_selected_agent(s->viewer);
            if (agent >= 0) found[agent] = true;
        }
    assert_true(found[0] && found[1]);
}

static lud_particle_body body_of(const stage *s, int entity) {
    return lud_particle_get_body((const lud_particle_model *)lud_viewer_scenario(s->viewer)->model,
                                 lud_player_state(lud_viewer_player(s->viewer)), entity);
}

/* Agents and goals of the plane follow the mouse; what was known to come is forgotten. */
static void test_dragging_things(void **state) {
    stage *s = *state;
    write_file("plane.yaml", "ludus: 1\nname: plane\nworld: particle\n"
                             "particle: {task: navigation_graph, agents: 2, obstacles: 1}\nrun: {seed: 5}\n");
    stage plane = {.options = {.path = "plane.yaml"}, .canvas = s->canvas};
    lud_error error = {0};
    if (lud_viewer_create(&plane.options, &plane.viewer, &error)) fail_msg("%s", error.text);
    for (int k = 0; k < 6; k++) key(&plane, SDLK_PERIOD, 0);
    for (int k = 0; k < 2; k++) key(&plane, SDLK_COMMA, 0);
    assert_int_equal(lud_player_known(lud_viewer_player(plane.viewer)), 7);
    for (int e = 0; e < 5; e++) { /* two agents, two goals, an obstacle */
        const lud_particle_body before = body_of(&plane, e);
        float x, y;
        lud_camera_to_screen(lud_viewer_camera(plane.viewer), (float)before.position[0],
                             -(float)before.position[1], &x, &y);
        mouse(&plane, SDL_MOUSEBUTTONDOWN, (int)x, (int)y);
        mouse(&plane, SDL_MOUSEMOTION, (int)x + 40, (int)y);
        mouse(&plane, SDL_MOUSEBUTTONUP, (int)x + 40, (int)y);
        const lud_particle_body after = body_of(&plane, e);
        const double shift = 40.0 / (double)lud_viewer_camera(plane.viewer)->scale;
        assert_true(fabs(after.position[0] - before.position[0] - shift) < 0.02);
        assert_true(fabs(after.position[1] - before.position[1]) < 0.02);
        assert_true(after.velocity[0] == 0.0 && after.velocity[1] == 0.0);
        assert_int_equal(lud_player_known(lud_viewer_player(plane.viewer)), 5);
        assert_int_equal(position(&plane), 4);
    }
    key(&plane, SDLK_PERIOD, 0);
    assert_int_equal(position(&plane), 5);
    lud_viewer_destroy(plane.viewer);
}

/* In the plane every arrow is a push its way, and the first action waits. */
static void test_take_over_in_the_plane(void **state) {
    stage *s = *state;
    write_file("plane.yaml", "ludus: 1\nname: plane\nworld: particle\n"
                             "particle: {task: navigation_graph, agents: 2, obstacles: 0}\nrun: {seed: 5}\n");
    stage plane = {.options = {.path = "plane.yaml"}, .canvas = s->canvas};
    lud_error error = {0};
    if (lud_viewer_create(&plane.options, &plane.viewer, &error)) fail_msg("%s", error.text);
    key(&plane, SDLK_TAB, 0);
    key(&plane, SDLK_c, 0);
    const struct {
        SDL_Keycode code;
        double push[2];
    } keys[] = {{SDLK_LEFT, {-1, 0}},
                {SDLK_RIGHT, {1, 0}},
                {SDLK_UP, {0, 1}},
                {SDLK_DOWN, {0, -1}},
                {SDLK_1, {0, 0}}};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const lud_particle_body before = body_of(&plane, 0);
        key(&plane, keys[k].code, 0);
        assert_int_equal(position(&plane), k + 1);
        const lud_particle_body after = body_of(&plane, 0);
        for (int i = 0; i < 2;
             i++) { /* a quarter of the velocity is lost, then 5 * 0.1 of the push is gained */
            const double gained = after.velocity[i] - 0.75 * before.velocity[i];
            assert_true(fabs(gained - 0.5 * keys[k].push[i]) < 1e-5);
        }
    }
    lud_viewer_destroy(plane.viewer);
}

/* The section `view` says how the window begins; the caller's wishes come before it. */
static void test_view_section(void **state) {
    stage *s = *state;
    write_file("plain.yaml", "ludus: 1\nname: plain\nworld: particle\nparticle: {task: simple}\n");
    write_file("shown.yaml", "ludus: 1\nname: plain\nworld: particle\nparticle: {task: simple}\n"
                             "view: {theme: dark, motion: false, speed: 0.5}\n");
    const struct lud_scenario_value wishes[] = {{"--theme", "view.theme", "light", true},
                                                {"--speed", "view.speed", "100", false}};
    const lud_scenario_overrides wished = {.values = wishes, .n_values = 2, .run = lud_run_as_written};
    static const size_t steps[] = {6, 1, 25};
    uint32_t corner[3];
    for (int k = 0; k < 3; k++) {
        stage shown = {.options = {.path = k ? "shown.yaml" : "plain.yaml", .playing = true, .once = true},
                       .canvas = s->canvas};
        if (k == 2) shown.options.overrides = &wished;
        lud_error error = {0};
        if (lud_viewer_create(&shown.options, &shown.viewer, &error)) fail_msg("%s", error.text);
        lud_viewer_draw(shown.viewer, s->canvas);
        int pitch;
        corner[k] = lud_canvas_pixels(s->canvas, &pitch)[0] & 0xffffff;
        lud_viewer_update(shown.viewer, 0.01); /* the first step comes at once */
        for (int j = 0; j < 14; j++) lud_viewer_update(shown.viewer, 0.1);
        assert_int_equal(position(&shown), steps[k]);
        lud_viewer_destroy(shown.viewer);
    }
    assert_true(corner[0] != corner[1]);
    assert_int_equal(corner[0], corner[2]);
}

static void test_every_key_draws(void **state) {
    stage *s = *state;
    const char keys[] = "bolpmtghfp[]+-gbsc,.";
    for (size_t k = 0; k < sizeof keys - 1; k++) key(s, (SDL_Keycode)keys[k], 0);
    assert_true(lud_file_exists("rooms-1.png"));
    key(s, SDLK_ESCAPE, 0);
    key(s, SDLK_q, KMOD_LCTRL);
    assert_true(lud_viewer_wants_to_quit(s->viewer));
}

static void test_recording(void **state) {
    stage *s = *state;
    key(s, SDLK_v, 0);
    for (int k = 0; k < 3; k++) key(s, SDLK_PERIOD, 0);
    assert_false(lud_file_exists("rooms-1.mp4")); /* appears when it is complete */
    key(s, SDLK_v, 0);
    assert_string_equal(lud_viewer_last_file(s->viewer), "rooms-1.mp4");
    assert_true(lud_file_exists("rooms-1.mp4"));
}

static void test_reload(void **state) {
    stage *s = *state;
    const lud_scenario *old = lud_viewer_scenario(s->viewer);
    char text[sizeof scenario_text + 16];
    strcpy(text, scenario_text);
    memcpy(strstr(text, "multigrid"), "multigird", 9);
    write_scenario(text);
    lud_viewer_update(s->viewer, 0.5);
    assert_ptr_equal(lud_viewer_scenario(s->viewer), old); /* the old world stays */
    assert_non_null(strstr(lud_viewer_message(s->viewer), "rooms.yaml:"));
    lud_viewer_draw(s->viewer, s->canvas);
    strcpy(strstr(text, "max_steps: 20"), "max_steps: 33\n");
    memcpy(strstr(text, "multigird"), "multigrid", 9);
    write_scenario(text);
    lud_viewer_update(s->viewer, 0.5);
    assert_int_equal(lud_viewer_scenario(s->viewer)->model->layout.max_steps, 33);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "read anew"));
    lud_viewer_draw(s->viewer, s->canvas);
}

/* Included files are watched too, those with a mistake and those that are missing as well. */
static void test_reload_of_includes(void **state) {
    stage *s = *state;
    write_file("base.yaml", scenario_text);
    write_scenario("include: [base.yaml, more.yaml]\nmultigrid: {max_steps: 7}\n");
    lud_viewer_update(s->viewer, 0.5);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "more.yaml: no such file"));
    write_file("more.yaml", "about: more\nmultigrid: {max_stesp: 8}\n");
    lud_viewer_update(s->viewer, 0.5);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "more.yaml:2:13: "));
    write_file("more.yaml", "about: more\n");
    lud_viewer_update(s->viewer, 0.5);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "read anew"));
    assert_int_equal(lud_viewer_scenario(s->viewer)->model->layout.max_steps, 7);
    const lud_scenario *old = lud_viewer_scenario(s->viewer);
    assert_int_equal(unlink("more.yaml"), 0);
    lud_viewer_update(s->viewer, 0.5);
    assert_ptr_equal(lud_viewer_scenario(s->viewer), old); /* perhaps it comes back */
    write_file("more.yaml", "about: less\n");
    lud_viewer_update(s->viewer, 0.5);
    assert_string_equal(lud_viewer_scenario(s->viewer)->about, "less");
    lud_viewer_draw(s->viewer, s->canvas);
}

/* The whole window on SDL's dummy driver: events come through SDL's own queue. */
static void test_window(void **state) {
    stage *s = *state;
    SDL_setenv("SDL_VIDEODRIVER", "dummy", 1);
    assert_int_equal(SDL_InitSubSystem(SDL_INIT_VIDEO), 0);
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = SDLK_PERIOD}}};
    assert_int_equal(SDL_PushEvent(&event), 1);
    event.key.keysym.sym = SDLK_s;
    assert_int_equal(SDL_PushEvent(&event), 1);
    event.key.keysym = (SDL_Keysym){.sym = SDLK_q, .mod = KMOD_LCTRL};
    assert_int_equal(SDL_PushEvent(&event), 1);
    lud_error error = {0};
    lud_window_report report;
    assert_int_equal(lud_view(&s->options, &report, &error), LUD_OK);
    assert_true(report.frames >= 1);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    SDL_setenv("SDL_VIDEODRIVER", "no-such-driver", 1);
    assert_int_equal(lud_view(&s->options, &report, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "ludus record"));
}

/* --- recorded episodes --- */

/* Two episodes that a viewer has played, as a source. */
typedef struct tapes {
    lud_episode_source source; /* stands first */
    size_t state_bytes, n[2];
    uint8_t states[2][64 * 1024];
    int32_t actions[2][64];
    float rewards[2][64];
    uint32_t first_tick[2];
} tapes;

static lud_status load_tape(lud_episode_source *source, int64_t number, lud_recorded_episode *episode,
                            lud_error *error) {
    tapes *t = (tapes *)source;
    if (number > 1) return lud_fail(error, LUD_ERROR_IO, "no such tape");
    *episode = (lud_recorded_episode){.number = number,
                                      .seed = 5,
                                      .first_tick = t->first_tick[number],
                                      .n_states = t->n[number],
                                      .states = t->states[number],
                                      .actions = t->actions[number],
                                      .rewards = t->rewards[number],
                                      .over = true};
    return LUD_OK;
}

static void record_tape(stage *s, tapes *t, int number) {
    lud_player *player = lud_viewer_player(s->viewer);
    bool moved = true;
    for (; moved; t->n[number]++) {
        const size_t k = t->n[number];
        memcpy(t->states[number] + k * t->state_bytes, lud_player_state(player), t->state_bytes);
        if (k) {
            memcpy(t->actions[number] + 2 * (k - 1), lud_player_actions(player), 2 * sizeof(int32_t));
            memcpy(t->rewards[number] + 2 * (k - 1), lud_player_rewards(player), 2 * sizeof(float));
        }
        lud_error error = {0};
        assert_int_equal(lud_player_step(player, NULL, &moved, &error), LUD_OK);
    }
}

static void test_recorded_episodes(void **state) {
    stage *s = *state;
    tapes *t = calloc(1, sizeof *t);
    lud_player *player = lud_viewer_player(s->viewer);
    t->source = (lud_episode_source){.n = 2, .load = load_tape};
    t->state_bytes = lud_viewer_scenario(s->viewer)->model->layout.state_bytes;
    int32_t goals[20][2];
    record_tape(s, t, 0);
    assert_int_equal(t->n[0], 21);
    for (size_t k = 0; k < 20; k++) {
        lud_player_seek(player, k);
        memcpy(goals[k], lud_player_goals(player), sizeof goals[k]);
    }
    lud_player_seek(player, 20);
    lud_player_next_episode(player);
    t->first_tick[1] = 20;
    record_tape(s, t, 1);
    lud_viewer_destroy(s->viewer);
    s->options = (lud_view_options){.path = "data.h5", .text = scenario_text, .episodes = &t->source};
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error)) fail_msg("%s", error.text);
    player = lud_viewer_player(s->viewer);
    key(s, SDLK_p, 0);
    for (int episode = 0; episode < 2; episode++) {
        assert_int_equal(lud_player_known(player), t->n[episode]);
        assert_int_equal(position(s), 0);
        for (size_t k = 0; k < t->n[episode]; k++) {
            assert_memory_equal(lud_player_state(player), t->states[episode] + k * t->state_bytes,
                                t->state_bytes);
            if (!episode && k < 20) assert_memory_equal(lud_player_goals(player), goals[k], sizeof goals[k]);
            key(s, SDLK_PERIOD, 0);
        }
        assert_true(lud_player_over(player));
        assert_non_null(strstr(lud_viewer_message(s->viewer), "Shift N"));
        key(s, SDLK_HOME, 0);
        assert_int_equal(position(s), 0);
        key(s, SDLK_n, 0); /* behind the last comes the first */
    }
    key(s, SDLK_n, KMOD_LSHIFT);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "Episode 2 of 2"));
    assert_memory_equal(lud_player_state(player), t->states[1], t->state_bytes);
    /* another action leads away from what was recorded, and R comes back to it */
    for (int k = 0; k < 3; k++) key(s, SDLK_PERIOD, 0);
    const int32_t other[2] = {t->actions[1][6] ? 0 : 1, -1};
    bool moved;
    assert_int_equal(lud_player_step(player, other, &moved, &error), LUD_OK);
    assert_int_equal(lud_player_known(player), 5);
    key(s, SDLK_r, 0);
    assert_int_equal(lud_player_known(player), t->n[1]);
    t->source.n = 3; /* the third cannot be loaded */
    key(s, SDLK_n, 0);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "no such tape"));
    lud_viewer_destroy(s->viewer);
    s->viewer = NULL;
    free(t);
}

int main(void) {
#define WITH_VIEWER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {WITH_VIEWER(test_step_and_rewind),
                                       WITH_VIEWER(test_play),
                                       WITH_VIEWER(test_recorded_episodes),
                                       WITH_VIEWER(test_take_over),
                                       WITH_VIEWER(test_mouse),
                                       WITH_VIEWER(test_dragging_things),
                                       WITH_VIEWER(test_take_over_in_the_plane),
                                       WITH_VIEWER(test_view_section),
                                       WITH_VIEWER(test_every_key_draws),
                                       WITH_VIEWER(test_recording),
                                       WITH_VIEWER(test_reload),
                                       WITH_VIEWER(test_reload_of_includes),
                                       WITH_VIEWER(test_window)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
