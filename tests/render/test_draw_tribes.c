/* Tribes drawn: events found in pairs of states, agents where they should be, words, the legend, the parts of
 * a reward, and what sources publish of agents. With the environment variable LUDUS_PICTURES set, the
 * pictures are written into that folder. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <SDL.h>

#include "render/canvas/picture.h"
#include "render/record.h"
#include "render/viewer/viewer.h"
#include "render/worlds/draw_tribes.h"

enum { SIDE = 480 };

static lud_scenario *read_world(const char *section) {
    lud_text text = {0};
    lud_error error = {0};
    lud_scenario *scenario;
    lud_text_append(&text, "ludus: 1\nworld: tribes\ntribes:\n%s", section);
    if (lud_scenario_read("test", text.bytes, text.length, NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    lud_text_free(&text);
    return scenario;
}

static void put(const lud_tribes_model *m, uint8_t *state, int agent, int x, int y, int grain, int wood) {
    lud_tribes_put(state + m->at.cell + 2 * (uint32_t)agent, 2, (uint32_t)(y * m->spec.width + x));
    state[m->at.load + 3 * (uint32_t)agent] = (uint8_t)grain;
    state[m->at.load + 3 * (uint32_t)agent + 1] = (uint8_t)wood;
}

static const char world_text[] = "  map: ['A....', '.12g.', '1.2.B']\n  steal: {open: 1, guarded: 0}\n"
                                 "  teams: [{values: [1, 3, 2]}, {values: [2, 1, 3]}]\n";

/* A step of the world above under these actions; finds what happened. */
static void step(const lud_model *model, const uint8_t *before, uint8_t *after, const int32_t *actions,
                 lud_tribes_event *events) {
    const uint32_t tick = 0;
    int16_t at[16];
    memcpy(after, before, model->layout.state_bytes);
    model->world->step(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, after,
                       (lud_actions){.discrete = actions}, (lud_outcome){0});
    lud_tribes_find_events(lud_tribes_of(model), before, after, actions, at, events);
}

static void test_events_are_found(void **unused) {
    (void)unused;
    lud_scenario *scenario = read_world(world_text);
    const lud_model *model = scenario->model;
    const lud_tribes_model *m = lud_tribes_of(model);
    uint8_t before[256], after[256];
    lud_tribes_event events[4];
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, before);
    put(m, before, 0, 1, 1, 1, 0); /* agents 0 and 1 are red, 2 and 3 blue */
    put(m, before, 2, 2, 1, 0, 1);
    step(model, before, after, (int32_t[]){LUD_TRIBES_TRADE, 0, LUD_TRIBES_TRADE, 0}, events);
    assert_true(events[0].deed == LUD_DEED_TRADED && events[0].other == 2 && events[0].got == LUD_WOOD);
    assert_true(events[2].deed == LUD_DEED_TRADED && events[2].other == 0 && events[2].got == LUD_GRAIN);
    assert_true(events[1].deed == LUD_DEED_NONE && events[3].deed == LUD_DEED_NONE);
    step(model, before, after, (int32_t[]){LUD_TRIBES_STEAL, 0, 0, 0}, events);
    assert_true(events[0].deed == LUD_DEED_STOLE && events[0].other == 2 && events[0].got == LUD_WOOD);
    step(model, before, after, (int32_t[]){LUD_TRIBES_STEAL, 0, LUD_TRIBES_DEFEND, 0}, events);
    assert_true(events[0].deed == LUD_DEED_FOILED && events[0].other == 2 && events[0].got == -1);
    put(m, before, 2, 3, 1, 0, 0);
    put(m, before, 0, 1, 0, 2, 0);
    step(model, before, after, (int32_t[]){LUD_TRIBES_DEPOSIT, 0, LUD_TRIBES_GATHER, 0}, events);
    assert_true(events[0].deed == LUD_DEED_DELIVERED && events[0].cell == 0);
    assert_true(events[2].deed == LUD_DEED_GATHERED && events[2].got == LUD_GRAIN);
    lud_drawing *drawing;
    lud_error error = {0};
    assert_int_equal(lud_drawing_create(model, &drawing, &error), LUD_OK);
    assert_int_equal(drawing->kind->events(drawing, before, after), LUD_EVENT_GOAL);
    lud_text text = {0};
    drawing->kind->describe_change(drawing, before, after, &text);
    assert_non_null(strstr(text.bytes, "agent 0 -2 grain\n"));
    assert_non_null(strstr(text.bytes, "agent 2 +1 grain\n"));
    lud_text_clear(&text);
    drawing->kind->describe_agent(drawing, after, 2, &text);
    assert_non_null(strstr(text.bytes, "carries\t1 grain\n"));
    lud_text_clear(&text);
    drawing->kind->describe_cell(drawing, after, 0, 0, &text);
    assert_non_null(strstr(text.bytes, "ground\tstorehouse of red\nstore\tgrain 2, wood 0, ore 0\n"));
    lud_text_free(&text);
    lud_drawing_destroy(drawing);
    lud_scenario_destroy(scenario);
}

static bool is_near(uint32_t pixel, lud_rgba colour) {
    const int r = (int)(pixel >> 16 & 255) - colour.r, g = (int)(pixel >> 8 & 255) - colour.g,
              b = (int)(pixel & 255) - colour.b;
    return abs(r) + abs(g) + abs(b) < 60;
}

/* Pixels of about a colour in a box. */
static int count(const lud_canvas *canvas, lud_box box, lud_rgba colour) {
    int pitch, n = 0;
    const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
    for (int y = (int)box.y; y < (int)(box.y + box.h); y++)
        for (int x = (int)box.x; x < (int)(box.x + box.w); x++)
            n += is_near(pixels[(size_t)y * (size_t)pitch / 4 + (size_t)x], colour);
    return n;
}

static void save(const lud_canvas *canvas, const char *name) {
    const char *folder = getenv("LUDUS_PICTURES");
    char path[500];
    int pitch;
    lud_error error = {0};
    if (!folder) return;
    const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
    snprintf(path, sizeof path, "%s/%s.png", folder, name);
    assert_int_equal(
        lud_picture_write(path, pixels, lud_canvas_width(canvas), lud_canvas_height(canvas), pitch, &error),
        LUD_OK);
}

static void test_agents_have_their_places_and_colours(void **unused) {
    (void)unused;
    lud_scenario *scenario = read_world(world_text);
    const lud_model *model = scenario->model;
    const lud_tribes_model *m = lud_tribes_of(model);
    for (int theme = 0; theme < LUD_THEMES; theme++) {
        lud_drawing *drawing;
        lud_canvas *canvas;
        lud_error error = {0};
        uint8_t state[256], before[256];
        const uint32_t tick = 0;
        model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, before);
        memcpy(state, before, model->layout.state_bytes);
        lud_tribes_put(state + m->at.step, 2, 1);
        put(m, state, 0, 1, 0, 0, 0); /* one step to the north */
        assert_int_equal(lud_drawing_create(model, &drawing, &error), LUD_OK);
        assert_int_equal(lud_canvas_create_offscreen(SIDE, SIDE, 1, &canvas, &error), LUD_OK);
        const int32_t actions[4] = {LUD_TRIBES_NORTH, 0, LUD_TRIBES_DEFEND, 0};
        const float rewards[4] = {0, 2, -1, 0};
        lud_moment moment = {.state = state,
                             .before = before,
                             .actions = actions,
                             .rewards = rewards,
                             .progress = 0.5f,
                             .selected_agent = -1};
        lud_draw_frame(drawing, canvas, lud_theme_get((lud_theme_name)theme), &moment);
        save(canvas, theme ? "tribes_dark" : "tribes_light");
        float x, y;
        drawing->kind->agent_position(drawing, &moment, 0, &x, &y);
        assert_true(x == 1.5f && y == 1.0f); /* half way */
        moment.progress = 1;
        lud_draw_frame(drawing, canvas, lud_theme_get((lud_theme_name)theme), &moment);
        lud_camera camera = {0};
        lud_camera_fit(&camera, (lud_box){0, 0, SIDE, SIDE}, drawing->kind->extent(drawing),
                       roundf(SIDE * 0.025f), true);
        for (int i = 0; i < m->n_agents; i++) {
            const int cell = lud_tribes_cell(m, state, i);
            lud_box box = {.w = camera.scale, .h = camera.scale};
            lud_camera_to_screen(&camera, (float)(cell % 5), (float)(cell / 5), &box.x, &box.y);
            const lud_rgba colour = lud_tribes_colour(lud_theme_get((lud_theme_name)theme), m->team[i]);
            assert_true(count(canvas, box, colour) > 400);
            assert_int_equal(
                drawing->kind->agent_at(drawing, state, (float)(cell % 5) + 0.5f, (float)(cell / 5) + 0.5f),
                i);
        }
        assert_int_equal(drawing->kind->agent_at(drawing, state, 1.5f, 1.5f), -1);
        assert_false(drawing->kind->walkable(drawing, state, 0, 0));
        assert_true(drawing->kind->walkable(drawing, state, 3, 1));
        lud_canvas_destroy(canvas);
        lud_drawing_destroy(drawing);
    }
    lud_scenario_destroy(scenario);
}

/* --- What is published of agents --- */

typedef struct made_up {
    lud_overlay_source base;
    int n_agents;
} made_up;

/* -1, 0, 1, not known, and so on. */
static bool agent_numbers(lud_overlay_source *source, const uint8_t *before, const int32_t *actions,
                          const float *rewards, const uint8_t *after, double *values) {
    (void)before, (void)actions, (void)rewards, (void)after;
    for (int i = 0; i < ((made_up *)source)->n_agents; i++) values[i] = i % 4 == 3 ? (double)NAN : i % 4 - 1;
    return true;
}

static bool agent_text(lud_overlay_source *source, const uint8_t *state, int agent, lud_text *read,
                       lud_text *written) {
    (void)source, (void)state;
    lud_text_append(read, "step 0 of 200\nyou are agent %d and this is a line that is far too long for one\n",
                    agent);
    lud_text_append(written, "{\"action\": \"gather\"}");
    return true;
}

static void destroy_source(lud_overlay_source *source) {
    free(source);
}

static lud_status loaded(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error) {
    (void)context, (void)cast;
    made_up *made = calloc(1, sizeof *made);
    *source = made ? &made->base : NULL;
    if (!made) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    made->n_agents = scenario->model->layout.n_agents;
    made->base = (lud_overlay_source){.agent_number_name = "delight",
                                      .agent_numbers = agent_numbers,
                                      .agent_text = agent_text,
                                      .destroy = destroy_source};
    return LUD_OK;
}

static void press(lud_viewer *viewer, lud_canvas *canvas, SDL_Keycode code) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code}}};
    lud_viewer_event(viewer, &event, 1);
    for (int k = 0; k < 20; k++) lud_viewer_update(viewer, 0.1);
    lud_viewer_draw(viewer, canvas);
}

static const struct lud_scenario_value no_motion = {"--still", "view.motion", "false", false};
static const lud_scenario_overrides still = {
    .values = &no_motion, .n_values = 1, .run = {-1, -1, -1, -1, -1, -1}};

static void test_viewer_shows_what_is_published(void **unused) {
    (void)unused;
    const lud_view_options options = {
        .path = LUDUS_SOURCE_DIR "/scenarios/tribes/market.yaml", .overrides = &still, .loaded = loaded};
    lud_error error = {0};
    lud_viewer *viewer;
    lud_canvas *canvas;
    if (lud_viewer_create(&options, &viewer, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_canvas_create_offscreen(1400, 900, 1, &canvas, &error), LUD_OK);
    lud_viewer_draw(viewer, canvas);
    for (int k = 0; k < 12; k++) press(viewer, canvas, SDLK_RIGHT);
    press(viewer, canvas, SDLK_o);
    press(viewer, canvas, SDLK_o);
    save(canvas, "tribes_viewer");
    press(viewer, canvas, SDLK_TAB);
    save(canvas, "tribes_viewer_agent");
    lud_text read = {0}, written = {0};
    assert_true(lud_overlay_agent_text(lud_viewer_overlay(viewer),
                                       lud_player_state(lud_viewer_player(viewer)), 2, &read, &written));
    assert_string_equal(written.bytes, "{\"action\": \"gather\"}");
    lud_text_free(&read);
    lud_text_free(&written);
    double last[LUD_TRIBES_COMPONENTS], sum[LUD_TRIBES_COMPONENTS], all = 0;
    const lud_player *player = lud_viewer_player(viewer);
    lud_player_components(player, 0, last, sum);
    for (int k = 0; k < LUD_TRIBES_COMPONENTS; k++) all += sum[k];
    assert_true(fabs(all - lud_player_return(player, 0)) < 1e-4 && all > 0);
    lud_canvas_destroy(canvas);
    lud_viewer_destroy(viewer);
}

/* Bars below agents: green to the right for more than nothing, orange to the left for less. */
static void test_numbers_of_agents_are_bars(void **unused) {
    (void)unused;
    lud_scenario *scenario = read_world("  map: ['A.....', '......', '1..12.', '......', '...2.B']\n"
                                        "  teams: [{}, {}]\n");
    const lud_model *model = scenario->model;
    lud_drawing *drawing;
    lud_overlay *overlay;
    lud_overlay_source *source;
    lud_canvas *canvas;
    lud_error error = {0};
    uint8_t state[256], before[256];
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, before);
    memcpy(state, before, model->layout.state_bytes);
    lud_tribes_put(state + lud_tribes_of(model)->at.step, 2, 1);
    assert_int_equal(lud_drawing_create(model, &drawing, &error), LUD_OK);
    assert_int_equal(loaded(NULL, scenario, NULL, &source, &error), LUD_OK);
    assert_int_equal(lud_overlay_create(source, drawing, &overlay, &error), LUD_OK);
    assert_int_equal(lud_canvas_create_offscreen(SIDE, SIDE, 1, &canvas, &error), LUD_OK);
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    const int32_t actions[4] = {0};
    const float rewards[4] = {0};
    const lud_moment moment = {.state = state,
                               .came_from = before,
                               .actions = actions,
                               .rewards = rewards,
                               .progress = 1,
                               .selected_agent = -1,
                               .overlay = overlay};
    lud_draw_frame(drawing, canvas, theme, &moment);
    save(canvas, "tribes_numbers");
    lud_camera camera = {0};
    lud_camera_fit(&camera, (lud_box){0, 0, SIDE, SIDE}, drawing->kind->extent(drawing),
                   roundf(SIDE * 0.025f), true);
    for (int i = 0; i < 4; i++) { /* -1, 0, 1, not known */
        float x, y, px, py;
        drawing->kind->agent_position(drawing, &moment, i, &x, &y);
        lud_camera_to_screen(&camera, x, y, &px, &py);
        const float s = camera.scale;
        const lud_box left = {px - 0.44f * s, py + 0.40f * s, 0.40f * s, 0.12f * s};
        const lud_box right = {px + 0.04f * s, py + 0.40f * s, 0.40f * s, 0.12f * s};
        assert_int_equal(count(canvas, left, theme->bad) > 100, i == 0);
        assert_int_equal(count(canvas, right, theme->good) > 100, i == 2);
    }
    lud_overlay_destroy(overlay);
    lud_canvas_destroy(canvas);
    lud_drawing_destroy(drawing);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_found),
        cmocka_unit_test(test_agents_have_their_places_and_colours),
        cmocka_unit_test(test_numbers_of_agents_are_bars),
        cmocka_unit_test(test_viewer_shows_what_is_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
