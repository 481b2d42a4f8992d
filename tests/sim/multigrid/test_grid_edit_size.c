/* Editing the size of a map: growing and cutting, goals and people along. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/support_grid_edit.h"

/* Whether a goal of the document has the cell. */
static bool has_cell(const lud_grid_edit_world *w, int g, int x, int y) {
    const lud_grid_edit_goal *goal = &w->goals[g];
    return x >= goal->x1 && x <= goal->x2 && y >= goal->y1 && y <= goal->y2;
}

static bool is_wall_at(const lud_grid_edit_world *w, int x, int y) {
    const lud_grid_thing *thing = &w->things[y * w->width + x];
    return !thing->is_agent && thing->object.type == LUD_WALL;
}

/* Cell by cell: `small` is `large` without its n columns or rows from `at` on, and every goal has the same of
 * those cells in both. */
static void compare_sizes(const lud_grid_edit_world *small, const lud_grid_edit_world *large, bool columns,
                          int at, int n) {
    assert_int_equal(large->width, small->width + (columns ? n : 0));
    assert_int_equal(large->height, small->height + (columns ? 0 : n));
    assert_int_equal(large->n_goals, small->n_goals);
    for (int y = 0; y < small->height; y++)
        for (int x = 0; x < small->width; x++) {
            const int lx = x + (columns && x >= at ? n : 0), ly = y + (!columns && y >= at ? n : 0);
            const int c = y * small->width + x, l = ly * large->width + lx;
            assert_true(lud_grid_edit_same(&small->things[c], &large->things[l]));
            assert_int_equal(small->agent[c], large->agent[l]);
            for (int g = 0; g < small->n_goals; g++)
                assert_int_equal(has_cell(small, g, x, y), has_cell(large, g, lx, ly));
        }
}

/* A copy that stays when the document changes. */
static lud_grid_edit_world keep(const lud_grid_edit *edit) {
    lud_grid_edit_world copy;
    assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &copy));
    return copy;
}

static const char *const side_names[] = {"east", "south", "west", "north"};

/* Lines end as those of the document did, in all places. */
static void check_line_ends(const char *text, const char *before) {
    const bool returns = strstr(before, "\r\n") != NULL;
    for (const char *end = text; (end = strchr(end, '\n')) != NULL; end++)
        assert_true((end > text && end[-1] == '\r') == returns);
}

/* Every side of every document grows, and is cut back to the first bytes. */
static void test_growing(void **state) {
    (void)state;
    for (int d = 0; d < EDIT_DOCUMENTS; d++)
        for (int side = 0; side < 4; side++)
            for (int by = 1; by <= 3; by += 2) {
                lud_error error = {0};
                lud_grid_edit *edit = edit_open_text(edit_documents[d].text, edit_documents[d].map);
                lud_grid_edit_world was = keep(edit);
                const bool columns = side == LUD_EAST || side == LUD_WEST;
                const int size = columns ? was.map_width : was.map_height,
                          at = side == LUD_EAST || side == LUD_SOUTH ? size - 1 : 1;
                lud_grid_pick pick = {.kind = LUD_PICK_CELL, .x = was.map_width - 2, .y = was.map_height - 2};
                const lud_grid_thing picked = was.things[pick.y * was.width + pick.x];
                if (lud_grid_edit_resize(edit, (lud_direction)side, by, &pick, &error))
                    fail_msg("document %d, %s: %s", d, side_names[side], error.text);
                assert_null(lud_grid_edit_note(edit));
                edit_check_text(edit);
                check_line_ends(lud_grid_edit_text(edit), edit_documents[d].text);
                const lud_grid_edit_world *now = lud_grid_edit_get(edit);
                assert_int_equal(columns ? now->map_width : now->map_height, size + by);
                assert_true(lud_grid_edit_same(&picked, &now->things[pick.y * now->width + pick.x]));
                if (was.width == was.map_width && was.height == was.map_height)
                    compare_sizes(&was, now, columns, at, by);
                for (int k = 0; k < (columns ? now->map_height : now->map_width); k++) /* the wall goes on */
                    for (int line = at; line < at + by; line++) {
                        const bool first = is_wall_at(now, columns ? at - 1 : k, columns ? k : at - 1),
                                   last = is_wall_at(now, columns ? at + by : k, columns ? k : at + by);
                        const lud_grid_thing *new =
                            &now->things[(columns ? k : line) * now->width + (columns ? line : k)];
                        assert_int_equal(new->object.type, first && last ? LUD_WALL : LUD_EMPTY);
                    }
                if (lud_grid_edit_resize(edit, (lud_direction)side, -by, NULL, &error))
                    fail_msg("document %d, %s: %s", d, side_names[side], error.text);
                assert_string_equal(lud_grid_edit_text(edit), edit_documents[d].text);
                lud_grid_edit_undo(edit, &error);
                edit_check_text(edit);
                lud_grid_edit_undo(edit, &error);
                assert_string_equal(lud_grid_edit_text(edit), edit_documents[d].text);
                lud_grid_edit_world_free(&was);
                lud_grid_edit_close(edit);
            }
}

/* Cutting: what is wanted goes on, smaller perhaps; nobody is lost; what lay there is named. */
static void test_cutting(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    lud_grid_edit_world was = keep(edit);
    /* the goal in the corner is one cell of column 7 */
    assert_int_equal(lud_grid_edit_resize(edit, LUD_EAST, -1, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "goal 2 at (7, 4) would be cut off"));
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);
    /* and the robot stands in column 1 */
    assert_int_equal(lud_grid_edit_resize(edit, LUD_WEST, -1, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "agent 0 at (1, 2) would be cut off"));
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);

    lud_grid_pick corner = {.kind = LUD_PICK_GOAL, .goal = 2};
    if (lud_grid_edit_remove(edit, corner, &error)) fail_msg("%s", error.text);
    lud_grid_pick ground = {.kind = LUD_PICK_CELL, .x = 7, .y = 4};
    if (lud_grid_edit_resize(edit, LUD_SOUTH, -1, &ground, &error)) fail_msg("%s", error.text);
    assert_string_equal(lud_grid_edit_note(edit), "goal 0 is smaller, cut off: unsteady ground");
    assert_int_equal(ground.kind, LUD_PICK_WORLD); /* it went with its row */
    assert_non_null(strstr(lud_grid_edit_text(edit),
                           "We .. .. Ky Ly .. .. .. We\n    We We We We We We We We We\n  max_steps"));
    assert_non_null(strstr(lud_grid_edit_text(edit), "- {rectangle: [1, 1, 3, 3], weight: 2}   # left\n"));
    edit_check_text(edit);
    lud_grid_edit_undo(edit, &error);
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);

    /* a row with its comment; what is above moves with it, agents and goals keep their numbers */
    lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2}, goal = {.kind = LUD_PICK_GOAL, .goal = 1};
    if (lud_grid_edit_move(edit, &goal, 5, 2, &error)) fail_msg("%s", error.text);
    lud_grid_edit_world before = keep(edit);
    if (lud_grid_edit_resize(edit, LUD_NORTH, -1, &person, &error)) fail_msg("%s", error.text);
    assert_null(strstr(lud_grid_edit_text(edit), "# a row"));
    assert_int_equal(edit_count(lud_grid_edit_text(edit), "# the outer wall"), 1);
    assert_int_equal(person.y, 1);
    assert_non_null(strstr(lud_grid_edit_text(edit), "cell: [5, 1]\n    agents: [1]   # hers"));
    compare_sizes(lud_grid_edit_get(edit), &before, false, 1, 1);
    edit_check_text(edit);
    lud_grid_edit_world_free(&before);
    lud_grid_edit_world_free(&was);
    lud_grid_edit_close(edit);

    /* the sizes that can be read are those that can be made */
    edit = edit_open_text(edit_bare, 0);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_EAST, -2, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "expected 3 to 255 columns in a map, this would be 2"));
    if (lud_grid_edit_resize(edit, LUD_EAST, -1, NULL, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->width, 3);
    if (lud_grid_edit_resize(edit, LUD_SOUTH, 251, NULL, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->height, 255);
    edit_check_text(edit);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_NORTH, 1, NULL, &error), LUD_ERROR_INPUT);
    const int far = -2147483647 - 1;
    assert_int_equal(lud_grid_edit_resize(edit, LUD_NORTH, far, NULL, &error), LUD_ERROR_INPUT);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_NORTH, 2147483647, NULL, &error), LUD_ERROR_INPUT);
    lud_grid_edit_close(edit);
}

/* Up to four things that are cut off are named, and of more it is said that there are. */
static void test_what_is_named(void **state) {
    (void)state;
    static const char *const rows[] = {"Ky Ro La Bl ..", "Ky Ro La Bl Ky", "k1 .. .. k1 .."},
                             *const said[] = {"cut off: yellow key, rock, lava, block",
                                              "cut off: yellow key, rock, lava, block, ...",
                                              /* and what lies below */
                                              "cut off: blue key, green goal, blue key, green goal"};
    for (int k = 0; k < 3; k++) {
        lud_text text = {0};
        lud_error error = {0};
        lud_text_append(&text,
                        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    Ay .. .. .. ..\n"
                        "    .. .. .. .. ..\n    .. .. .. .. ..\n    %s\n"
                        "  legend: {k1: {key: {colour: blue}, under: {goal: {colour: green}}}}\n",
                        rows[k]);
        lud_grid_edit *edit = edit_open_text(text.bytes, 0);
        if (lud_grid_edit_resize(edit, LUD_SOUTH, -1, NULL, &error)) fail_msg("%s", error.text);
        assert_string_equal(lud_grid_edit_note(edit), said[k]);
        lud_grid_edit_close(edit);
        lud_text_free(&text);
    }
}

/* A side is a wall where its corners are and at least half of it is: what is new comes next to it, else at
 * the edge. */
static void test_what_is_a_wall(void **state) {
    (void)state;
    static const struct {
        const char *column;
        bool walled;
    } cases[] = {{"We .. .. We", true},       {"We We We We", true},     {"We We We ..", false},
                 {".. We We We", false},      {"We .. .. .. We", false}, {"We .. We .. We", true},
                 {"We .. .. .. .. We", false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_text text = {0};
        lud_error error = {0};
        lud_text_append(&text, "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n");
        for (const char *code = cases[k].column; *code; code += code[2] ? 3 : 2)
            lud_text_append(&text, "    .. Ky %.2s\n", code);
        lud_grid_edit *edit = edit_open_text(text.bytes, 0);
        if (lud_grid_edit_resize(edit, LUD_EAST, 1, NULL, &error)) fail_msg("%s", error.text);
        const lud_grid_edit_world *w = lud_grid_edit_get(edit);
        for (int y = 0; y < w->height; y++) {
            const bool wall = !strncmp(cases[k].column + 3 * y, "We", 2);
            assert_int_equal(is_wall_at(w, cases[k].walled ? 3 : 2, y), wall);
            if (!wall || !cases[k].walled) assert_false(is_wall_at(w, cases[k].walled ? 2 : 3, y));
        }
        lud_grid_edit_close(edit);
        lud_text_free(&text);
    }
}

/* What is new is written as what is beside it: as far apart, and not into a comment. */
static void test_what_stands_between_codes(void **state) {
    (void)state;
    static const struct {
        const char *rows;
        lud_direction side;
        const char *wanted;
    } cases[] = {
        {"|\n    Ay  ..   ..    ..\n    .. .. .. ..\n    .. .. .. ..\n", LUD_EAST,
         "    Ay  ..   ..    ..    ..\n"},
        {"|\n    Ay  ..   ..    ..\n    .. .. .. ..\n    .. .. .. ..\n", LUD_WEST,
         "    ..  Ay  ..   ..    ..\n"},
        {"\n    - [We, # here\n       We,  We, We]\n    - [We, .., Ay, We]\n    - [We, We, We, We]\n",
         LUD_WEST, "    - [We,  We, # here\n       We,  We, We]\n"},
        {"\n    - [We, We,  # here\n       We,   We]\n    - [We, .., Ay, We]\n    - [We, We, We, We]\n",
         LUD_EAST, "    - [We, We,  # here\n       We,   We,   We]\n"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_text text = {0};
        lud_error error = {0};
        lud_text_append(&text, "ludus: 1\nworld: multigrid\nmultigrid:\n  map: %s", cases[k].rows);
        lud_grid_edit *edit = edit_open_text(text.bytes, 0);
        if (lud_grid_edit_resize(edit, cases[k].side, 1, NULL, &error)) fail_msg("%s", error.text);
        edit_expect(edit, cases[k].wanted);
        lud_grid_edit_close(edit);
        lud_text_free(&text);
    }
}

/* Without a wall around it the map grows at its edge; a code of one's own for the ground; rows as lists. */
static void test_styles_of_maps(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    Ay....\n    ......\n    ....Ky", 0);
    if (lud_grid_edit_resize(edit, LUD_WEST, 1, NULL, &error)) fail_msg("%s", error.text);
    if (lud_grid_edit_resize(edit, LUD_SOUTH, 1, NULL, &error)) fail_msg("%s", error.text);
    assert_non_null(
        strstr(lud_grid_edit_text(edit), "    ..Ay....\n    ........\n    ......Ky\n    ........\n"));
    if (lud_grid_edit_resize(edit, LUD_EAST, -1, NULL, &error)) fail_msg("%s", error.text);
    assert_string_equal(lud_grid_edit_note(edit), "cut off: yellow key");
    edit_check_text(edit);
    lud_grid_edit_close(edit);

    edit = edit_open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  legend: {'..': lava}\n  map:\n    - We We We We\n"
        "    - 'We Ay .. We'   # quoted\n    - [We, .., .., We]\n    - [We, We,  # one\n       We, We]\n",
        0);
    if (lud_grid_edit_resize(edit, LUD_EAST, 1, NULL, &error)) fail_msg("%s", error.text);
    edit_check_text(edit);
    assert_int_equal(lud_grid_edit_get(edit)->things[1 * 5 + 3].object.type, LUD_EMPTY);
    assert_int_equal(lud_grid_edit_get(edit)->things[1 * 5 + 2].object.type, LUD_LAVA);
    assert_int_equal(edit_count(lud_grid_edit_text(edit), ": empty"), 1);
    if (lud_grid_edit_resize(edit, LUD_NORTH, 2, NULL, &error)) fail_msg("%s", error.text);
    if (lud_grid_edit_resize(edit, LUD_SOUTH, 1, NULL, &error)) fail_msg("%s", error.text);
    edit_check_text(edit);
    assert_int_equal(edit_count(lud_grid_edit_text(edit), "# one"), 1);
    assert_int_equal(edit_count(lud_grid_edit_text(edit), "# quoted"), 1);
    while (lud_grid_edit_undo_name(edit)) assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
    assert_false(lud_grid_edit_changed(edit));
    lud_grid_edit_close(edit);

    /* goals are those of all maps of an ensemble */
    lud_text text = {0};
    lud_text_append(&text, "%sgoals:\n  - {cell: [1, 1]}\n", edit_ensemble);
    edit = edit_open_text(text.bytes, 1);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_WEST, 1, NULL, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "other maps of the ensemble"));
    if (lud_grid_edit_resize(edit, LUD_EAST, 2, NULL, &error)) fail_msg("%s", error.text);
    edit_check_text(edit);
    assert_int_equal(lud_grid_edit_get(edit)->width, 7);
    lud_grid_edit_close(edit);
    lud_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_growing),
                                       cmocka_unit_test(test_cutting),
                                       cmocka_unit_test(test_what_is_named),
                                       cmocka_unit_test(test_what_is_a_wall),
                                       cmocka_unit_test(test_what_stands_between_codes),
                                       cmocka_unit_test(test_styles_of_maps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
