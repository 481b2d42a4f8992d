/* The particle world drawn: every shipped task, both themes, positions where they should be, words and
 * events. With the environment variable LUDUS_PICTURES set, the pictures are written into that folder. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/canvas/picture.h"
#include "render/overlay.h"
#include "render/record.h"
#include "render/worlds/draw_particle.h"
#include "sim/particle/particle.h"

enum { SIDE = 700 };

static lud_model *read_model(const char *section) {
    lud_error error = {0};
    lud_tree *root;
    lud_model *model = NULL;
    lud_arena *arena = lud_arena_create(0);
    if (lud_tree_read_text(arena, "test", section, strlen(section), &root, &error) ||
        lud_particle_world.parse(&lud_particle_world, root, "test", 0, &model, &error))
        fail_msg("%s", error.text);
    lud_arena_destroy(arena);
    return model;
}

/* A reset and some steps with changing actions; `before` gets the state one step earlier. */
static void play(const lud_model *model, uint8_t *state, uint8_t *before, uint32_t steps) {
    uint32_t tick = 0;
    lud_range range = {12, 0, 1, &tick};
    lud_particle_world.reset(model, range, state);
    for (; tick < steps; tick++) {
        int32_t actions[64];
        for (int a = 0; a < model->layout.n_agents; a++)
            actions[a] = (int32_t)lud_below(
                lud_draw((lud_random_key){3, 0}, tick / 2, (uint32_t)a, LUD_PURPOSE_ACTION, 0).v[0],
                (uint32_t)model->layout.actions[a].n_discrete);
        memcpy(before, state, model->layout.state_bytes);
        lud_particle_world.step(model, range, state, (lud_actions){.discrete = actions}, (lud_outcome){0});
    }
}

static void draw_task(const char *name, const char *section, lud_theme_name theme) {
    lud_error error = {0};
    lud_model *model = read_model(section);
    const lud_particle_model *m = (const lud_particle_model *)model;
    lud_drawing *drawing;
    lud_canvas *canvas;
    uint8_t *state = malloc(model->layout.state_bytes), *before = malloc(model->layout.state_bytes);
    play(model, state, before, 4);
    assert_int_equal(lud_drawing_create(model, &drawing, &error), LUD_OK);
    assert_int_equal(lud_canvas_create_offscreen(SIDE, SIDE, 1, &canvas, &error), LUD_OK);
    lud_moment moment = {
        .state = state, .before = before, .progress = 1, .selected_agent = 0, .labels = true};
    lud_draw_frame(drawing, canvas, lud_theme_get(theme), &moment);
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
    const char *folder = getenv("LUDUS_PICTURES");
    if (folder) {
        char path[500];
        snprintf(path, sizeof path, "%s/%s.png", folder, name);
        assert_int_equal(lud_picture_write(path, pixels, SIDE, SIDE, pitch, &error), LUD_OK);
    }
    /* the middle of an agent in view is neither ground nor floor */
    lud_box box = drawing->kind->extent(drawing);
    lud_camera camera;
    lud_camera_fit(&camera, (lud_box){0, 0, SIDE, SIDE}, box, 0, false);
    int seen = 0;
    for (int a = 0; a < model->layout.n_agents; a++) {
        float x, y;
        drawing->kind->agent_position(drawing, &moment, a, &x, &y);
        lud_particle_body body = lud_particle_get_body(m, state, a);
        assert_true(fabs((double)x - body.position[0]) < 1e-6 && fabs((double)y + body.position[1]) < 1e-6);
        assert_true(drawing->kind->agent_at(drawing, state, x, y) >= a);
        if (x > box.x && x < box.x + box.w && y > box.y && y < box.y + box.h) seen++;
        lud_text text = {0};
        drawing->kind->describe_agent(drawing, state, a, &text);
        assert_non_null(strstr(text.bytes, "position\t"));
        lud_text_free(&text);
    }
    assert_true(seen > 0);
    uint32_t corner = pixels[0] & 0xffffff;
    size_t different = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            different += (((const uint32_t *)(const void *)((const char *)pixels + y * pitch))[x] &
                          0xffffff) != corner;
    assert_true(different > SIDE * SIDE / 2); /* the floor at least */
    assert_int_equal(drawing->kind->agent_at(drawing, state, 1e6f, 0), -1);
    lud_canvas_destroy(canvas);
    lud_drawing_destroy(drawing);
    lud_particle_world.free(model);
    free(state);
    free(before);
}

static void test_every_task(void **unused) {
    (void)unused;
    const char *name;
    for (int i = 0; (name = lud_particle_task_name(i)); i++) {
        char section[100];
        snprintf(section, sizeof section, "particle: {task: %s}", name);
        draw_task(name, section, i % 2 ? LUD_THEME_DARK : LUD_THEME_LIGHT);
    }
    draw_task("walls",
              "particle: {bodies: [{name: a, type: agent, role: robot, radius: 0.08, colour: [0.9, 0.6, "
              "0.1]}, {name: b, type: "
              "agent, role: human, radius: 0.08, count: 3, colour: [0.2, 0.3, 0.9]}, {name: ball, movable: "
              "true, radius: "
              "0.15}], walls: [{at: 0.5}, {at: -0.4, orientation: vertical, hard: false, to: 0}]}",
              LUD_THEME_LIGHT);
}

static void test_words_and_events(void **unused) {
    (void)unused;
    lud_error error = {0};
    lud_model *model = read_model("particle: {task: navigation_graph, agents: 2}");
    const lud_particle_model *m = (const lud_particle_model *)model;
    lud_drawing *drawing;
    uint8_t *state = malloc(model->layout.state_bytes), *before = malloc(model->layout.state_bytes);
    assert_int_equal(lud_drawing_create(model, &drawing, &error), LUD_OK);
    play(model, state, before, 1);
    lud_particle_set_body(m, state, 0, lud_particle_get_body(m, state, 2)); /* on its goal */
    lud_particle_set_body(m, state, 1, lud_particle_get_body(m, state, 4)); /* on an obstacle */
    memcpy(before, state, model->layout.state_bytes);
    uint32_t tick = 1;
    const int32_t still[2] = {0};
    lud_particle_world.step(model, (lud_range){1, 0, 1, &tick}, state, (lud_actions){.discrete = still},
                            (lud_outcome){0});
    assert_int_equal(drawing->kind->events(drawing, before, state) & LUD_EVENT_GOAL, LUD_EVENT_GOAL);
    assert_int_equal(drawing->kind->events(drawing, state, state), 0);
    lud_text text = {0};
    drawing->kind->describe_change(drawing, before, state, &text);
    assert_non_null(strstr(text.bytes, "agent 0 reaches its goal"));
    lud_text_clear(&text);
    drawing->kind->describe_cell(drawing, state, 0, 0, &text);
    assert_non_null(strstr(text.bytes, "step\t2"));
    assert_non_null(strstr(text.bytes, "distance\t"));
    lud_text_free(&text);
    lud_drawing_destroy(drawing);
    lud_particle_world.free(model);
    free(state);
    free(before);
}

/* --- each thing that is shown --- */

/* Two agents in the upper half with their goals below them, an obstacle between and above the agents; agents
 * and obstacle are 0.67 apart, everything else more than 1. */
static const double places[5][2] = {{-0.6, 0.5}, {0.6, 0.5}, {-0.6, -0.6}, {0.6, -0.6}, {0.0, 0.8}};

typedef struct scene {
    lud_model *model;
    const lud_particle_model *particle;
    lud_drawing *drawing;
    lud_canvas *canvas;
    lud_camera camera;
    uint8_t *state, *before; /* one step apart */
} scene;

static scene open_scene(const char *section) {
    scene s = {.model = read_model(section)};
    lud_error error = {0};
    s.particle = (const lud_particle_model *)s.model;
    s.state = malloc(s.model->layout.state_bytes);
    s.before = malloc(s.model->layout.state_bytes);
    play(s.model, s.state, s.before, 1);
    assert_int_equal(lud_drawing_create(s.model, &s.drawing, &error), LUD_OK);
    assert_int_equal(lud_canvas_create_offscreen(SIDE, SIDE, 1, &s.canvas, &error), LUD_OK);
    lud_camera_fit(&s.camera, (lud_box){0, 0, SIDE, SIDE}, s.drawing->kind->extent(s.drawing), 0, false);
    return s;
}

static scene open_navigation(const char *edge_distance) {
    char section[160];
    snprintf(section, sizeof section,
             "particle: {task: navigation_graph, agents: 2, obstacles: 1, graph: {edge_distance: %s}}",
             edge_distance);
    scene s = open_scene(section);
    for (int e = 0; e < 5; e++) {
        const lud_particle_body body = {.position = {places[e][0], places[e][1]}};
        lud_particle_set_body(s.particle, s.state, e, body);
        lud_particle_set_body(s.particle, s.before, e, body);
    }
    return s;
}

static void close_scene(scene *s) {
    lud_canvas_destroy(s->canvas);
    lud_drawing_destroy(s->drawing);
    lud_particle_world.free(s->model);
    free(s->state);
    free(s->before);
}

/* The pixels of a moment, [SIDE][SIDE], to be freed. */
static uint32_t *paint(scene *s, lud_moment moment) {
    moment.state = s->state;
    moment.progress = 1;
    lud_draw_frame(s->drawing, s->canvas, lud_theme_get(LUD_THEME_LIGHT), &moment);
    int pitch;
    const char *pixels = (const char *)lud_canvas_pixels(s->canvas, &pitch);
    uint32_t *copy = malloc(SIDE * SIDE * sizeof *copy);
    for (int y = 0; y < SIDE; y++) memcpy(copy + y * SIDE, pixels + y * pitch, SIDE * sizeof *copy);
    return copy;
}

/* Pixels that differ within `half` of a point of the world, in both directions. */
static int changed(const scene *s, const uint32_t *a, const uint32_t *b, double x, double y, double half) {
    float left, top, right, bottom;
    lud_camera_to_screen(&s->camera, (float)(x - half), (float)(-y - half), &left, &top);
    lud_camera_to_screen(&s->camera, (float)(x + half), (float)(-y + half), &right, &bottom);
    int n = 0;
    for (int row = (int)fmaxf(top, 0); row < (int)fminf(bottom, SIDE); row++)
        for (int column = (int)fmaxf(left, 0); column < (int)fminf(right, SIDE); column++)
            n += a[row * SIDE + column] != b[row * SIDE + column];
    return n;
}

static const double everywhere = 10;

static void test_edges(void **unused) {
    (void)unused;
    scene near = open_navigation("0.5"), far = open_navigation("0.7");
    uint32_t *without = paint(&near, (lud_moment){.selected_agent = -1}),
             *with = paint(&far, (lud_moment){.selected_agent = -1});
    /* from both agents to the obstacle, nowhere else */
    const int n[] = {changed(&near, without, with, -0.3, 0.65, 0.3),
                     changed(&near, without, with, 0.3, 0.65, 0.3)};
    assert_true(n[0] > 100 && n[1] > 100);
    assert_int_equal(changed(&near, without, with, 0, 0, everywhere), n[0] + n[1]);
    free(without);
    free(with);
    close_scene(&near);
    close_scene(&far);
}

static void test_motion_marks(void **unused) {
    (void)unused;
    scene s = open_navigation("0.5");
    const lud_moment plain = {.selected_agent = -1};
    uint32_t *still = paint(&s, plain);
    /* where agent 0 was: a trail, which ends where the episode began */
    lud_particle_set_body(s.particle, s.before, 0, (lud_particle_body){.position = {-0.9, 0.5}});
    const uint8_t *trail[] = {s.before};
    uint32_t *moved = paint(&s, (lud_moment){.selected_agent = -1, .trail = trail, .n_trail = 1});
    assert_true(changed(&s, still, moved, -0.75, 0.5, 0.1) > 100);
    assert_int_equal(changed(&s, still, moved, 0.5, 0, 1), 0);
    free(moved);
    trail[0] = s.state; /* not earlier: of another episode */
    moved = paint(&s, (lud_moment){.selected_agent = -1, .trail = trail, .n_trail = 1});
    assert_int_equal(changed(&s, still, moved, 0, 0, everywhere), 0);
    free(moved);
    /* where it will be: an arrow ahead of it and nothing behind */
    lud_particle_set_body(
        s.particle, s.state, 0,
        (lud_particle_body){.position = {places[0][0], places[0][1]}, .velocity = {0.8, 0}});
    moved = paint(&s, plain);
    assert_true(changed(&s, still, moved, -0.45, 0.5, 0.08) > 30);
    assert_int_equal(changed(&s, still, moved, -0.75, 0.5, 0.09), 0);
    free(moved);
    free(still);
    close_scene(&s);
}

/* Pixels of exactly this colour. */
static int count_colour(const uint32_t *pixels, lud_rgba colour) {
    const uint32_t sought = (uint32_t)colour.r << 16 | (uint32_t)colour.g << 8 | colour.b;
    int n = 0;
    for (int i = 0; i < SIDE * SIDE; i++) n += (pixels[i] & 0xffffff) == sought;
    return n;
}

static void test_contacts_and_goals(void **unused) {
    (void)unused;
    scene s = open_navigation("0.1");
    const lud_moment plain = {.selected_agent = -1};
    const lud_rgba red = lud_theme_get(LUD_THEME_LIGHT)->bad;
    int n[2];
    for (int touch = 0; touch < 2; touch++) { /* radii are 0.05 */
        const lud_particle_body obstacle = {.position = {places[1][0] + (touch ? 0.09 : 0.11), places[1][1]}};
        lud_particle_set_body(s.particle, s.state, 4, obstacle);
        uint32_t *pixels = paint(&s, plain);
        n[touch] = count_colour(pixels, red);
        free(pixels);
    }
    assert_true(n[0] == 0 && n[1] > 20);
    /* a goal is where it is, and the way there leads to it */
    uint32_t *before = paint(&s, plain);
    lud_particle_set_body(s.particle, s.state, 2, (lud_particle_body){.position = {-0.1, -0.6}});
    uint32_t *after = paint(&s, plain);
    assert_true(changed(&s, before, after, -0.6, -0.6, 0.06) > 50);
    assert_true(changed(&s, before, after, -0.1, -0.6, 0.06) > 50);
    assert_true(changed(&s, before, after, -0.35, -0.05, 0.06) > 5);
    assert_int_equal(changed(&s, before, after, 0.7, 0, 0.5), 0);
    free(before);
    free(after);
    close_scene(&s);
}

static void test_words(void **unused) {
    (void)unused;
    scene s = open_scene("particle: {task: simple_speaker_listener}");
    const lud_moment plain = {.selected_agent = -1};
    lud_particle_set_body(s.particle, s.state, 0, (lud_particle_body){.position = {0, 0}});
    uint32_t *pixels[3];
    for (int k = 0; k < 3; k++) { /* silence, the first word, the second */
        const double speech[3] = {k == 1, k == 2, 0};
        lud_particle_set_speech(s.particle, s.state, 0, speech);
        pixels[k] = paint(&s, plain);
    }
    const int bubble = changed(&s, pixels[0], pixels[1], 0, 0, everywhere),
              letter = changed(&s, pixels[1], pixels[2], 0, 0, everywhere);
    assert_true(letter > 5 && bubble > 2 * letter);
    assert_int_equal(changed(&s, pixels[0], pixels[1], 0.15, 0.15, 0.3), bubble); /* beside the speaker */
    for (int k = 0; k < 3; k++) free(pixels[k]);
    close_scene(&s);
}

/* Agent 0 attends to the obstacle, so strongly. */
typedef struct attentive {
    lud_overlay_source base;
    float weight;
} attentive;

static bool attend(lud_overlay_source *source, const uint8_t *state, int agent, float *weights) {
    (void)state;
    for (int e = 0; e < 5; e++) weights[e] = agent == 0 && e == 4 ? ((attentive *)source)->weight : 0.0f;
    return true;
}

static void forget(lud_overlay_source *source) {
    free(source);
}

static void test_attention(void **unused) {
    (void)unused;
    scene s = open_navigation("0.1");
    uint32_t *none = paint(&s, (lud_moment){.selected_agent = -1});
    int n[2];
    for (int strong = 0; strong < 2; strong++) {
        attentive *source = calloc(1, sizeof *source);
        source->base = (lud_overlay_source){.attention = attend, .destroy = forget};
        source->weight = strong ? 0.9f : 0.3f;
        lud_overlay *overlay;
        lud_error error = {0};
        assert_int_equal(lud_overlay_create(&source->base, s.drawing, &overlay, &error), LUD_OK);
        uint32_t *with = paint(&s, (lud_moment){.selected_agent = -1, .overlay = overlay});
        n[strong] = changed(&s, none, with, 0, 0, everywhere);
        assert_int_equal(changed(&s, none, with, -0.3, 0.65, 0.32), n[strong]);
        free(with);
        lud_overlay_show(overlay, LUD_OVERLAY_ALL & ~LUD_OVERLAY_EDGES);
        with = paint(&s, (lud_moment){.selected_agent = -1, .overlay = overlay});
        assert_int_equal(changed(&s, none, with, 0, 0, everywhere), 0);
        free(with);
        lud_overlay_destroy(overlay);
    }
    assert_true(n[0] > 100 && n[1] > n[0] + n[0] / 2); /* wider */
    free(none);
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_task),
                                       cmocka_unit_test(test_words_and_events),
                                       cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_motion_marks),
                                       cmocka_unit_test(test_contacts_and_goals),
                                       cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_attention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
