/* Changes of a document: what is one for undo, what is told of the last, and what of the file follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/support_grid_edit.h"
#include "written.h"

TEST_FOLDER("/tmp/ludus-edit-changes-XXXXXX")

static void put(lud_grid_edit *edit, int x, int y, const char *kind, lud_colour colour) {
    lud_error error = {0};
    const lud_grid_thing thing = edit_kind(kind, colour);
    if (lud_grid_edit_put(edit, x, y, &thing, &error)) fail_msg("%s", error.text);
}

static void undo(lud_grid_edit *edit) {
    lud_error error = {0};
    if (lud_grid_edit_undo(edit, &error)) fail_msg("%s", error.text);
}

static void redo(lud_grid_edit *edit) {
    lud_error error = {0};
    if (lud_grid_edit_redo(edit, &error)) fail_msg("%s", error.text);
}

/* A stroke takes back itself alone: neither what was done before it nor a stroke that follows at once. */
static void test_strokes_are_apart(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    put(edit, 2, 1, "lava", LUD_RED);
    char *before = strdup(lud_grid_edit_text(edit));
    lud_grid_edit_begin_stroke(edit);
    put(edit, 2, 1, "floor", LUD_BLUE);
    put(edit, 2, 2, "floor", LUD_BLUE);
    char *between = strdup(lud_grid_edit_text(edit));
    lud_grid_edit_begin_stroke(edit); /* without an end of the first */
    put(edit, 2, 1, "goal", LUD_GREEN);
    put(edit, 2, 2, "goal", LUD_GREEN);
    lud_grid_edit_end_stroke(edit);
    undo(edit);
    assert_string_equal(lud_grid_edit_text(edit), between);
    undo(edit);
    assert_string_equal(lud_grid_edit_text(edit), before);
    undo(edit);
    assert_string_equal(lud_grid_edit_text(edit), edit_bare);
    free(before);
    free(between);
    lud_grid_edit_close(edit);
}

/* What is taken back while a stroke lasts ends it: what follows is a change of its own. */
static void test_undo_ends_a_stroke(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    put(edit, 2, 1, "lava", LUD_RED);
    lud_grid_edit_begin_stroke(edit);
    put(edit, 2, 2, "lava", LUD_RED);
    undo(edit);
    put(edit, 2, 2, "floor", LUD_BLUE);
    assert_null(lud_grid_edit_redo_name(edit));
    undo(edit);
    assert_int_equal(edit_thing_at(edit, 2, 1).object.type, LUD_LAVA);
    assert_int_equal(edit_thing_at(edit, 2, 2).object.type, LUD_EMPTY);
    lud_grid_edit_close(edit);
}

/* At the ends of what was done nothing more is taken back or made again. */
static void test_ends_of_the_changes(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    undo(edit);
    redo(edit);
    assert_string_equal(lud_grid_edit_text(edit), edit_bare);
    put(edit, 2, 1, "lava", LUD_RED);
    redo(edit);
    assert_int_equal(edit_thing_at(edit, 2, 1).object.type, LUD_LAVA);
    undo(edit);
    undo(edit);
    assert_string_equal(lud_grid_edit_text(edit), edit_bare);
    lud_grid_edit_close(edit);
}

/* However many there are, each is taken back and made again, in their order. */
static void test_many_changes(void **state) {
    (void)state;
    enum { CHANGES = 300 };
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    for (int k = 0; k < CHANGES; k++) put(edit, 2, 1 + k % 2, k / 2 % 2 ? "floor" : "lava", LUD_BLUE);
    char *last = strdup(lud_grid_edit_text(edit));
    for (int k = CHANGES - 1; k >= 0; k--) {
        const lud_grid_type type = edit_thing_at(edit, 2, 1 + k % 2).object.type;
        assert_int_equal(type, k / 2 % 2 ? LUD_FLOOR : LUD_LAVA);
        undo(edit);
    }
    assert_string_equal(lud_grid_edit_text(edit), edit_bare);
    for (int k = 0; k < CHANGES; k++) redo(edit);
    assert_string_equal(lud_grid_edit_text(edit), last);
    free(last);
    lud_grid_edit_close(edit);
}

/* What a change did besides is told until the next one, also where that takes one back. */
static void test_notes_are_of_the_last_change(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    Ay .. .. ..\n"
                                         "    .. .. .. ..\n    .. .. .. ..\n    Ky .. Ro ..\n",
                                         0);
    for (int way = 0; way < 2; way++) {
        if (lud_grid_edit_resize(edit, LUD_SOUTH, -1, NULL, &error)) fail_msg("%s", error.text);
        assert_string_equal(lud_grid_edit_note(edit), "cut off: yellow key, rock");
        if (way)
            undo(edit);
        else
            put(edit, 2, 1, "lava", LUD_RED);
        assert_null(lud_grid_edit_note(edit));
        while (lud_grid_edit_undo_name(edit)) undo(edit);
    }
    lud_grid_edit_close(edit);
}

/* Every change is another version, and so is every one that is taken back or made again. */
static void test_versions(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    uint64_t versions[4];
    versions[0] = lud_grid_edit_version(edit);
    put(edit, 2, 1, "lava", LUD_RED);
    versions[1] = lud_grid_edit_version(edit);
    undo(edit);
    versions[2] = lud_grid_edit_version(edit);
    redo(edit);
    versions[3] = lud_grid_edit_version(edit);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++) assert_true(versions[i] != versions[k]);
    lud_grid_edit_close(edit);
}

/* What was saved is what the file is, so the next time nobody has changed it meanwhile. */
static void test_saving_again(void **state) {
    (void)state;
    lud_error error = {0};
    write_in(folder, "world.yaml", edit_bare);
    lud_grid_edit *edit;
    if (lud_grid_edit_open(in_folder("world.yaml"), NULL, NULL, 0, 0, &edit, &error))
        fail_msg("%s", error.text);
    for (int k = 0; k < 3; k++) {
        assert_false(lud_grid_edit_stale(edit));
        put(edit, 2, 1, k % 2 ? "lava" : "floor", LUD_BLUE);
        assert_true(lud_grid_edit_changed(edit));
        if (lud_grid_edit_save(edit, false, &error)) fail_msg("%s", error.text);
        assert_false(lud_grid_edit_changed(edit));
    }
    lud_grid_edit_close(edit);
}

/* Maps of an ensemble count from 0. */
static void test_maps_there_are(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit;
    assert_int_equal(lud_grid_edit_open("file.yaml", edit_ensemble, NULL, 0, 2, &edit, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "there is no map 2");
    assert_int_equal(lud_grid_edit_open("file.yaml", edit_bare, NULL, 0, 1, &edit, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "there is no map 1");
    edit = edit_open_text(edit_ensemble, 1);
    assert_int_equal(lud_grid_edit_get(edit)->map_width, 5);
    /* and beyond the smaller of them there is wall that is in no text */
    lud_grid_edit_close(edit);
    edit = edit_open_text(edit_ensemble, 0);
    const lud_grid_thing lava = edit_kind("lava", LUD_RED);
    assert_int_equal(lud_grid_edit_put(edit, 4, 1, &lava, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "(4, 1) is beyond this map"));
    lud_grid_edit_close(edit);
}

/* Two that are alike change places: what is wanted of each goes with it. */
static void test_places_are_changed(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n"
                                         "    We We We We\n    We Ay Ay We\n    We We We We\n"
                                         "goals:\n  - {cell: [2, 1], agents: [1]}\n",
                                         0);
    lud_grid_edit_world wanted;
    assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted));
    wanted.agent[1 * 4 + 1] = 1;
    wanted.agent[1 * 4 + 2] = 0;
    if (lud_grid_edit_apply(edit, &wanted, "change places", &error)) fail_msg("%s", error.text);
    edit_expect(edit, "{cell: [2, 1], agents: [0]}");
    lud_grid_edit_world_free(&wanted);
    lud_grid_edit_close(edit);
}

/* Nothing is put, moved or wanted outside of the map, on whichever side. */
static void test_outside_of_the_map(void **state) {
    (void)state;
    static const struct { int x, y; } outside[] = {{-1, 2}, {2, -1}, {4, 2}, {2, 4}};
    const lud_grid_thing lava = edit_kind("lava", LUD_RED);
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    for (size_t k = 0; k < sizeof outside / sizeof *outside; k++) {
        const int x = outside[k].x, y = outside[k].y;
        lud_grid_pick agent = {.kind = LUD_PICK_CELL, .x = 1, .y = 1};
        for (int way = 0; way < 4; way++) {
            lud_error error = {0};
            const lud_status status = way == 0   ? lud_grid_edit_put(edit, x, y, &lava, &error)
                                      : way == 1 ? lud_grid_edit_move(edit, &agent, x, y, &error)
                                      : way == 2 ? lud_grid_edit_add_goal(edit, x, y, 1, 1, &error)
                                                 : lud_grid_edit_add_goal(edit, 1, 1, x, y, &error);
            assert_int_equal(status, LUD_ERROR_INPUT);
            assert_non_null(strstr(error.text, "is outside of the map"));
        }
        assert_true(agent.x == 1 && agent.y == 1);
        assert_false(lud_grid_pick_is(edit, (lud_grid_pick){.kind = LUD_PICK_CELL, .x = x, .y = y}));
    }
    assert_string_equal(lud_grid_edit_text(edit), edit_bare);
    lud_grid_edit_close(edit);
}

/* Goals count from 0, and layers are two. */
static void test_what_cannot_be_picked(void **state) {
    (void)state;
    lud_grid_edit *edit = edit_open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We\n    We Un We\n    We We We\n"
        "goals: [{rectangle: [0, 0, 1, 1]}]\n",
        0);
    const lud_grid_thing person = edit_kind("agent", LUD_YELLOW);
    lud_error error = {0};
    if (lud_grid_edit_put(edit, 1, 1, &person, &error)) fail_msg("%s", error.text);
    for (int layer = -1; layer <= 3; layer++)
        assert_int_equal(
            lud_grid_pick_is(edit, (lud_grid_pick){.kind = LUD_PICK_CELL, .x = 1, .y = 1, .layer = layer}),
            layer == 0 || layer == 1);
    for (int goal = -2; goal <= 2; goal++)
        assert_int_equal(lud_grid_pick_is(edit, (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = goal}),
                         goal == 0);
    /* a goal that is there no more was not picked here */
    const lud_grid_pick next =
        lud_grid_pick_next(edit, (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = 1}, 0, 0);
    assert_true(next.kind == LUD_PICK_CELL && next.layer == 0);
    lud_grid_edit_close(edit);
}

/* What is put is the thing itself: what lay below it elsewhere stays there. */
static void test_things_come_alone(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    lud_grid_thing key = edit_kind("key", LUD_YELLOW), floor = edit_kind("floor", LUD_BLUE);
    key.under = edit_kind("unsteady ground", LUD_RED).object;
    floor.under = key.under;
    if (lud_grid_edit_put(edit, 2, 1, &floor, &error)) fail_msg("%s", error.text);
    assert_int_equal(edit_thing_at(edit, 2, 1).under.type, LUD_EMPTY);
    if (lud_grid_edit_put(edit, 2, 1, &key, &error)) fail_msg("%s", error.text);
    assert_int_equal(edit_thing_at(edit, 2, 1).under.type, LUD_FLOOR);
    if (lud_grid_edit_put(edit, 3, 1, &key, &error)) fail_msg("%s", error.text); /* a wall carries nothing */
    assert_int_equal(edit_thing_at(edit, 3, 1).object.type, LUD_KEY);
    assert_int_equal(edit_thing_at(edit, 3, 1).under.type, LUD_EMPTY);
    edit_check_text(edit);
    lud_grid_edit_close(edit);
}

/* A quarter turn after the other, either way, as often as one likes. */
static void test_turns(void **state) {
    (void)state;
    for (int by = -9; by <= 9; by++) {
        lud_error error = {0};
        lud_grid_edit *edit = edit_open_text(edit_plain, 0);
        const lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2};
        const int before = (int)edit_thing_at(edit, 6, 2).agent.direction;
        if (lud_grid_edit_turn(edit, person, by, &error)) fail_msg("%s", error.text);
        assert_int_equal(edit_thing_at(edit, 6, 2).agent.direction, (before + by + 12) % 4);
        lud_grid_edit_close(edit);
    }
}

/* Corners of a goal may be written in any order. */
static void test_corners_in_any_order(void **state) {
    (void)state;
    static const char *const corners[] = {"1, 1, 3, 2", "3, 1, 1, 2", "1, 2, 3, 1", "3, 2, 1, 1"};
    for (size_t k = 0; k < sizeof corners / sizeof *corners; k++) {
        lud_text text = {0};
        lud_text_append(&text,
                        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n"
                        "    We Ay .. .. We\n    We .. .. .. We\n    We We We We We\n"
                        "goals:\n  - {rectangle: [%s]}\n",
                        corners[k]);
        lud_grid_edit *edit = edit_open_text(text.bytes, 0);
        const lud_grid_edit_goal *goal = &lud_grid_edit_get(edit)->goals[0];
        assert_true(goal->x1 == 1 && goal->y1 == 1 && goal->x2 == 3 && goal->y2 == 2);
        lud_grid_edit_close(edit);
        lud_text_free(&text);
    }
    static const struct {
        int x1, y1, x2, y2;
    } drawn[] = {{1, 1, 2, 2}, {2, 1, 1, 2}, {1, 2, 2, 1}, {2, 2, 1, 1}};
    for (size_t k = 0; k < sizeof drawn / sizeof *drawn; k++) {
        lud_error error = {0};
        lud_grid_edit *edit = edit_open_text(edit_bare, 0);
        if (lud_grid_edit_add_goal(edit, drawn[k].x1, drawn[k].y1, drawn[k].x2, drawn[k].y2, &error))
            fail_msg("%s", error.text);
        edit_expect(edit, "  - {rectangle: [1, 1, 2, 2]}\n");
        lud_grid_edit_close(edit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strokes_are_apart),
        cmocka_unit_test(test_undo_ends_a_stroke),
        cmocka_unit_test(test_ends_of_the_changes),
        cmocka_unit_test(test_many_changes),
        cmocka_unit_test(test_notes_are_of_the_last_change),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_saving_again),
        cmocka_unit_test(test_maps_there_are),
        cmocka_unit_test(test_places_are_changed),
        cmocka_unit_test(test_outside_of_the_map),
        cmocka_unit_test(test_what_cannot_be_picked),
        cmocka_unit_test(test_things_come_alone),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_corners_in_any_order),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
