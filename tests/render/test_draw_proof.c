/* The proof world drawn at every step of an episode, in both themes; words and events. With the environment
 * variable LUDUS_PICTURES set, the pictures are written into that folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/canvas/picture.h"
#include "render/record.h"
#include "render/worlds/draw_proof.h"
#include "sim/proof/prover.h"

enum { PIXELS_X = 1040, PIXELS_Y = 680 };

static lud_proof_model *load(void) {
    lud_error error = {0};
    lud_proof_options options;
    lud_proof_model *model = NULL;
    lud_arena *arena = lud_arena_create(0);
    assert_int_equal(lud_options_default(&lud_proof_option_table, arena, &options, &error), LUD_OK);
    options.folder = LUDUS_SOURCE_DIR "/scenarios/proof/family_tree";
    options.facts = "train.txt";
    options.rules = "rules.txt";
    options.queries.test = "test_depths.txt";
    if (lud_proof_model_load(&options, NULL, 1, &model, &error)) fail_msg("%s", error.text);
    model->option_arena = arena;
    return model;
}

static size_t draw_picture(lud_drawing *drawing, lud_theme_name theme, const lud_moment *moment, int number) {
    lud_error error = {0};
    lud_canvas *canvas;
    assert_int_equal(lud_canvas_create_offscreen(PIXELS_X, PIXELS_Y, 1, &canvas, &error), LUD_OK);
    lud_draw_frame(drawing, canvas, lud_theme_get(theme), moment);
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(canvas, &pitch);
    const char *folder = getenv("LUDUS_PICTURES");
    if (folder) {
        char path[500];
        snprintf(path, sizeof path, "%s/proof-%s-%d.png", folder, lud_theme_names[theme], number);
        assert_int_equal(lud_picture_write(path, pixels, PIXELS_X, PIXELS_Y, pitch, &error), LUD_OK);
    }
    /* pixels in the colour of facts' marks */
    lud_rgba good = lud_theme_get(theme)->good;
    uint32_t wanted = (uint32_t)good.r << 16 | (uint32_t)good.g << 8 | good.b;
    size_t n = 0;
    for (size_t y = 0; y < PIXELS_Y; y++)
        for (size_t x = 0; x < PIXELS_X; x++)
            n += (((const uint32_t *)(const void *)((const char *)pixels + y * (size_t)pitch))[x] &
                  0xffffff) == wanted;
    lud_canvas_destroy(canvas);
    return n;
}

/* Plays the shortest proof of a query that takes four steps, drawing every state. */
static void test_pictures(void **unused) {
    (void)unused;
    lud_error error = {0};
    lud_proof_model *model = load();
    lud_drawing *drawing;
    assert_int_equal(lud_drawing_create(&model->model, &drawing, &error), LUD_OK);
    int32_t q = 0;
    while (q < model->pools[LUD_PROOF_TEST].n && model->pool_depths[LUD_PROOF_TEST][q] != 4) q++;
    assert_true(q < model->pools[LUD_PROOF_TEST].n);
    lud_proof_search_result proof;
    assert_int_equal(lud_proof_search(model->base, &model->pools[LUD_PROOF_TEST].atoms[q],
                                      &(lud_proof_search_options){5, 6, 0}, &proof, &error),
                     LUD_OK);
    assert_int_equal(proof.steps, 4);
    size_t bytes = model->model.layout.state_bytes;
    uint8_t *state = malloc(bytes), *before = malloc(bytes);
    size_t room = (size_t)model->limits.max_successors;
    lud_proof_successors list = {.begin = calloc(room + 1, sizeof(int32_t)),
                                 .atoms =
                                     calloc(room * (size_t)model->limits.max_goals, sizeof(lud_proof_atom)),
                                 .hash = calloc(room, sizeof(uint64_t)),
                                 .step = calloc(room, sizeof(lud_proof_step))};
    lud_proof_start(model, &model->pools[LUD_PROOF_TEST].atoms[q], 1, q, state);
    memcpy(before, state, bytes);
    size_t marks[5];
    for (int i = 0; i <= 4; i++) {
        lud_moment moment = {
            .state = state, .before = i ? before : NULL, .progress = 1, .glow = 1, .selected_agent = 0};
        marks[i] = draw_picture(drawing, LUD_THEME_LIGHT, &moment, i);
        draw_picture(drawing, LUD_THEME_DARK, &moment, i);
        lud_text text = {0};
        drawing->kind->describe_agent(drawing, state, 0, &text);
        assert_non_null(strstr(text.bytes, "label\ttrue triple"));
        lud_text_clear(&text);
        drawing->kind->describe_cell(drawing, state, 1, 2, &text); /* the first row is the query */
        assert_non_null(strstr(text.bytes, i ? "shown\tby a rule" : "shown\topen"));
        lud_text_free(&text);
        if (i == 4) break;
        memcpy(before, state, bytes);
        list.n = list.begin[0] = 0;
        lud_proof_successors_of(model, state, &list, NULL);
        int32_t k = 0; /* the successor of the proof's next entry */
        while (k < list.n &&
               (list.step[k].kind == LUD_PROOF_BY_RULE ? 1 + list.step[k].index : -1 - list.step[k].index) !=
                   proof.path[i])
            k++;
        assert_true(k < list.n);
        lud_proof_enter(model, list.atoms + list.begin[k], list.begin[k + 1] - list.begin[k], list.step[k],
                        state);
        text = (lud_text){0};
        drawing->kind->describe_change(drawing, before, state, &text);
        assert_true(text.length > 0);
        lud_text_free(&text);
        assert_int_equal(drawing->kind->events(drawing, before, state), i == 3 ? LUD_EVENT_GOAL : 0);
    }
    assert_int_equal(marks[0], 0); /* no facts yet, some at the end */
    assert_true(marks[4] > marks[1] && marks[4] > 100);
    free(list.begin);
    free(list.atoms);
    free(list.hash);
    free(list.step);
    free(before);
    free(state);
    lud_proof_search_result_free(&proof);
    lud_drawing_destroy(drawing);
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pictures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
