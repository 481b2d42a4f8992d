/* The particle world drawn: every shipped task, both themes, positions where they should be, words and
 * events. With the environment variable LUDUS_PICTURES set, the pictures are written into that folder. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/draw_particle.h"
#include "render/picture.h"
#include "render/record.h"
#include "sim/particle/particle.h"

enum { SIDE = 700 };

static lud_model *read_model(const char *section) {
    lud_error error = {0};
    lud_tree *root;
    lud_model *model = NULL;
    lud_arena *arena = lud_arena_create(0);
    if (lud_tree_read_text(arena, "test", section, strlen(section), &root, &error) ||
        lud_particle_world.parse(root, "test", 0, &model, &error))
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_task),
                                       cmocka_unit_test(test_words_and_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
