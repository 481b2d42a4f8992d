/* Editing a scenario file: whatever is done, the text means what was wanted and all else of it stays. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "effort.h"
#include "sim/multigrid/edit/grid_edit_check.h"
#include "sim/multigrid/edit/grid_edit_parts.h"
#include "sim/multigrid/edit/grid_edit_tools.h"
#include "sim/scenario.h"

/* Written in every style that the editor has to cope with. */
static const char plain[] =
    "# A person is locked in.\nludus: 1\nname: rescue   # a name\nworld: multigrid\n\nmultigrid:\n"
    "  map: |\n    # the outer wall\n    We We We We We We We We We\n"
    "    We .. .. .. We .. .. .. We   # a row\n    We Ae .. .. We .. Ay .. We\n"
    "    We .. .. Ky Ly .. .. .. We\n    We .. .. .. We .. .. Un We\n    We We We We We We We We We\n"
    "  max_steps: 60   # short\n  agents:   # two of them\n    - {facing: east}   # the robot\n"
    "    # between\n    - facing: west     # the person\n      can_push_rocks: true\n\n# what is "
    "wanted\ngoals:\n"
    "  - {rectangle: [1, 1, 3, 4], weight: 2}   # left\n  - cell: [5, 1]\n    agents: [1]   # hers\n"
    "  - {cell: [7, 4]}\n\npolicies:\n  human: {type: heuristic, beta: 300}   # she knows\n# the end\n";
static const char flow[] =
    "{ludus: 1, world: multigrid, multigrid: {map: [We We We We We, We Ay .. Ky We, 'We .. La 1a We', "
    "[We, Bu, Un, Ae, We],\n  We We We We We], legend: {1a: {magic_wall: {side: north, entry: 0.25}}}, "
    "agents: [{facing: south}, {}], max_steps: 9}, goals: [{cell: [1, 2]}, {rectangle: [1, 1, 3, 1], weight: "
    "0.5}]}\n";
static const char bare[] =
    "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n    We Ay .. We\n"
    "    We Ae .. We\n    We We We We\n";
static const char ensemble[] =
    "ludus: 1\nworld: multigrid\nmultigrid:\n  ensemble:\n    - map: |\n        We We We We\n        We Ay "
    ".. "
    "We\n        We .. .. We\n        We We We We\n    - map: |   # the second\n        We We We We We\n"
    "        We .. .. Ay We\n        We .. Ky .. We\n        We We We We We\n      agents:\n"
    "        - {facing: north}   # up\n  legend:   # own\n    1a: floor   # blue\n";
static const char windows[] = "ludus: 1\r\nworld: multigrid\r\nmultigrid:\r\n  map: |\r\n    We We We We\r\n"
                              "    We Ay .. We\r\n    We Ae .. We\r\n    We We We We\r\n  agents:\r\n"
                              "    - {facing: south}\r\n";

static const struct {
    const char *text;
    int map;
} documents[] = {{plain, 0}, {flow, 0}, {bare, 0}, {ensemble, 0}, {ensemble, 1}, {windows, 0}};
enum { N_DOCUMENTS = sizeof documents / sizeof *documents };

static lud_grid_edit *open_text(const char *text, int map) {
    lud_grid_edit *edit;
    lud_error error = {0};
    if (lud_grid_edit_open("file.yaml", text, NULL, 0, map, &edit, &error)) fail_msg("%s", error.text);
    return edit;
}

static lud_grid_thing kind_named(const char *wanted, lud_colour colour) {
    const lud_grid_chances chances = {0.5, 0.1, 1, 0.5};
    lud_grid_thing thing;
    bool coloured, found = false;
    for (int i = 0; !found; i++) {
        lud_text name = {0};
        if (!lud_grid_kind(i, colour, &chances, &thing, &coloured, &name)) fail_msg("no %s", wanted);
        found = !strcmp(name.bytes, wanted);
        lud_text_free(&name);
    }
    return thing;
}

static uint32_t draw(uint64_t *state, uint32_t n) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
}

/* ---- an oracle: what the file says, read by the reader of scenarios alone ---- */

static lud_model *model_of(const char *text) {
    lud_error error = {0};
    lud_scenario *scenario;
    if (lud_scenario_read("again.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s\n%s", error.text, text);
    lud_model *model = scenario->model;
    scenario->model = NULL;
    lud_scenario_destroy(scenario);
    return model;
}

/* The text as it stands, read from the start, is the model that the document shows. */
static void check_text(const lud_grid_edit *edit) {
    lud_model *again = model_of(lud_grid_edit_text(edit));
    const lud_model *shown = lud_grid_edit_model(edit);
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    char *texts[2];
    size_t length;
    for (int k = 0; k < 2; k++) {
        lud_tree *root = lud_tree_add_mapping(arena, NULL, NULL);
        const lud_model *model = k ? again : shown;
        if (model->world->write(model, arena, root, &error)) fail_msg("%s", error.text);
        if (lud_tree_write(arena, root, &texts[k], &length, &error)) fail_msg("%s", error.text);
    }
    assert_string_equal(texts[0], texts[1]);
    lud_arena_destroy(arena);
    again->world->free(again);
}

/* How often a text has a part. */
static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* ---- single edits, byte for byte ---- */

/* The one line that differs. */
static void expect_line(const lud_grid_edit *edit, const char *before, const char *old_line,
                        const char *new_line) {
    const char *at = strstr(before, old_line);
    assert_non_null(at);
    lud_text expected = {0};
    lud_text_append_bytes(&expected, before, (size_t)(at - before));
    lud_text_append(&expected, "%s%s", new_line, at + strlen(old_line));
    assert_string_equal(lud_grid_edit_text(edit), expected.bytes);
    lud_text_free(&expected);
}

static void test_single_edits(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_text(plain, 0);
    const lud_grid_thing lava = kind_named("lava", LUD_RED);
    assert_int_equal(lud_grid_edit_put(edit, 1, 1, &lava, &error), LUD_OK);
    expect_line(edit, plain, "We .. .. .. We .. .. .. We   # a row", "We La .. .. We .. .. .. We   # a row");
    assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
    assert_string_equal(lud_grid_edit_text(edit), plain);

    lud_grid_pick robot = {.kind = LUD_PICK_CELL, .x = 1, .y = 2};
    assert_int_equal(lud_grid_edit_turn(edit, robot, 1, &error), LUD_OK);
    expect_line(edit, plain, "{facing: east}", "{facing: south}");
    lud_grid_edit_undo(edit, &error);

    const lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2};
    assert_int_equal(lud_grid_edit_turn(edit, person, 1, &error), LUD_OK);
    expect_line(edit, plain, "facing: west ", "facing: north ");
    lud_grid_edit_undo(edit, &error);

    lud_grid_pick goal = {.kind = LUD_PICK_GOAL, .goal = 1};
    assert_int_equal(lud_grid_edit_move(edit, &goal, 6, 1, &error), LUD_OK);
    expect_line(edit, plain, "cell: [5, 1]", "cell: [6, 1]");
    lud_grid_edit_undo(edit, &error);

    assert_int_equal(lud_grid_edit_remove(edit, goal, &error), LUD_OK);
    expect_line(edit, plain, "  - cell: [5, 1]\n    agents: [1]   # hers\n", "");
    lud_grid_edit_undo(edit, &error);

    assert_int_equal(lud_grid_edit_add_goal(edit, 1, 1, 2, 1, &error), LUD_OK);
    expect_line(edit, plain, "  - {cell: [7, 4]}\n", "  - {cell: [7, 4]}\n  - {rectangle: [1, 1, 2, 1]}\n");
    lud_grid_edit_undo(edit, &error);

    /* a parameter that no code has: the legend explains it, below the map */
    const lud_grid_pick ground = {.kind = LUD_PICK_CELL, .x = 7, .y = 4};
    assert_int_equal(lud_grid_edit_change_parameter(edit, ground, 0, 0.25, &error), LUD_OK);
    assert_non_null(strstr(lud_grid_edit_text(edit), "We .. .. .. We .. .. 1a We\n"));
    assert_non_null(strstr(lud_grid_edit_text(edit),
                           "  legend:\n    1a: {unsteady_ground: {stumble: 0.25}}\n  max_steps"));
    lud_grid_edit_undo(edit, &error);

    assert_int_equal(lud_grid_edit_set(edit, "max_steps", "70", &error), LUD_OK);
    expect_line(edit, plain, "max_steps: 60   # short", "max_steps: 70   # short");
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), plain);
    assert_false(lud_grid_edit_changed(edit));
    lud_grid_edit_close(edit);
}

/* Who comes to have another number takes entry, comment and goals along. */
static void test_agents_change_numbers(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_text(plain, 0);
    lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2};
    if (lud_grid_edit_move(edit, &person, 6, 1, &error)) fail_msg("%s", error.text);
    const char *text = lud_grid_edit_text(edit);
    assert_non_null(strstr(text,
                           "- facing: west     # the person\n      can_push_rocks: true\n    # between\n"
                           "    - {facing: east}   # the robot\n"));
    assert_non_null(strstr(text, "agents: [0]   # hers"));
    check_text(edit);
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    assert_int_equal(w->agent[1 * w->width + 6], 0);
    assert_int_equal(w->things[1 * w->width + 6].agent.direction, LUD_WEST);
    assert_true(w->things[1 * w->width + 6].agent.can_push_rocks);
    assert_int_equal(w->things[2 * w->width + 1].agent.direction, LUD_EAST);
    /* and when the person goes, so does the goal that was hers alone */
    person = (lud_grid_pick){.kind = LUD_PICK_CELL, .x = 6, .y = 1};
    if (lud_grid_edit_remove(edit, person, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->n_goals, 2);
    assert_null(strstr(lud_grid_edit_text(edit), "# hers"));
    assert_non_null(strstr(lud_grid_edit_text(edit), "# the robot"));
    assert_null(strstr(lud_grid_edit_text(edit), "facing: west"));
    check_text(edit);
    lud_grid_edit_undo(edit, &error);
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), plain);
    lud_grid_edit_close(edit);
}

/* What is put below an agent leaves it who it is. */
static void test_ground_below_agents(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_text(plain, 0);
    const lud_grid_thing floor = kind_named("floor", LUD_BLUE);
    static const struct { int x, y; } agents[] = {{6, 2}, {1, 2}};
    for (int i = 0; i < 2; i++) {
        const lud_grid_edit_world *w = lud_grid_edit_get(edit);
        const int cell = agents[i].y * w->width + agents[i].x, number = w->agent[cell];
        const lud_grid_agent before = w->things[cell].agent;
        if (lud_grid_edit_put(edit, agents[i].x, agents[i].y, &floor, &error)) fail_msg("%s", error.text);
        w = lud_grid_edit_get(edit);
        assert_int_equal(w->things[cell].under.type, floor.object.type);
        assert_int_equal(w->agent[cell], number);
        assert_true(w->things[cell].is_agent && w->things[cell].agent.direction == before.direction &&
                    w->things[cell].agent.can_push_rocks == before.can_push_rocks);
        assert_int_equal(w->n_goals, 3);
        assert_non_null(strstr(lud_grid_edit_text(edit), "agents: [1]   # hers"));
        assert_non_null(strstr(lud_grid_edit_text(edit), "    - {facing: east}   # the robot\n"));
        assert_non_null(strstr(lud_grid_edit_text(edit), "- facing: west     # the person\n"));
        check_text(edit);
    }
    /* which then is what is picked, one layer down */
    lud_grid_pick ground = {.kind = LUD_PICK_CELL, .x = 7, .y = 4};
    if (lud_grid_edit_move(edit, &ground, 6, 2, &error)) fail_msg("%s", error.text);
    assert_int_equal(ground.x, 6);
    assert_int_equal(ground.y, 2);
    assert_int_equal(ground.layer, 1);
    assert_true(lud_grid_pick_is(edit, ground));
    lud_grid_edit_close(edit);
}

/* Many cells at once that no code means so far. */
static void test_new_codes_at_once(void **state) {
    (void)state;
    enum { CELLS = 12 };
    lud_error error = {0};
    lud_grid_edit *edit = open_text(plain, 0);
    lud_grid_edit_world wanted;
    assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted));
    int cells[CELLS];
    for (int i = 0; i < CELLS; i++) {
        const lud_grid_chances chances = {.stumble = 0.01 * (i + 1)};
        cells[i] = (1 + i / 3 % 4) * wanted.width + (i < 6 ? 1 + i % 3 : 5 + i % 3);
        if (wanted.things[cells[i]].is_agent) continue;
        wanted.things[cells[i]] = (lud_grid_thing){
            .object = lud_grid_object_with(LUD_UNSTEADY_GROUND, &chances), .under = {.type = LUD_EMPTY}};
    }
    if (lud_grid_edit_apply(edit, &wanted, "all", &error)) fail_msg("%s", error.text);
    int n_legend = count(lud_grid_edit_text(edit), "{unsteady_ground: {stumble: ");
    assert_true(n_legend >= CELLS - 3);
    check_text(edit);
    for (int i = 0; i < CELLS; i++)
        assert_true(lud_grid_edit_same(&lud_grid_edit_get(edit)->things[cells[i]], &wanted.things[cells[i]]));
    lud_grid_edit_world_free(&wanted);
    lud_grid_edit_close(edit);
}

/* ---- whatever is done ---- */

/* Types a number within the range of a parameter, which then has it. */
static lud_status type_somehow(lud_grid_edit *edit, lud_grid_pick pick, uint64_t *random, lud_error *error) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_grid_edit_parameters(edit, pick, parameters);
    if (!n) return LUD_ERROR_INPUT;
    const int k = (int)draw(random, (uint32_t)n);
    const lud_grid_parameter p = parameters[k];
    const double most = fmin(p.maximum, p.minimum + 40);
    double value = p.minimum + (most - p.minimum) * draw(random, 1000003) / 1000002.0;
    char typed[64];
    if (p.whole) value = floor(value);
    snprintf(typed, sizeof typed, " %.17g ", value);
    if (!p.number) return lud_grid_parameter_read(&p, typed, &value, error);
    double read;
    if (lud_grid_parameter_read(&p, typed, &read, error)) fail_msg("%s", error->text);
    assert_true(read == value);
    const lud_status status = lud_grid_edit_type_parameter(edit, pick, k, read, error);
    if (status || !lud_grid_pick_is(edit, pick)) return status;
    assert_int_equal(lud_grid_edit_parameters(edit, pick, parameters), n);
    if (parameters[k].value != value) fail_msg("%s: %.17g instead of %s", p.name, parameters[k].value, typed);
    return LUD_OK;
}

static void act(lud_grid_edit *edit, uint64_t *random, int *done, lud_error *error) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    const int x = (int)draw(random, (uint32_t)w->width), y = (int)draw(random, (uint32_t)w->height);
    const int x2 = (int)draw(random, (uint32_t)w->width), y2 = (int)draw(random, (uint32_t)w->height);
    lud_grid_pick pick = {.kind = LUD_PICK_CELL, .x = x, .y = y, .layer = (int)draw(random, 2)};
    if (draw(random, 4) == 0)
        pick = (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = (int)draw(random, (uint32_t)w->n_goals + 1)};
    if (draw(random, 12) == 0) pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
    lud_grid_thing thing;
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    bool coloured;
    lud_text name = {0};
    int n;
    lud_status status = LUD_ERROR_INPUT;
    switch (draw(random, 10)) {
    case 0:
    case 1:
    case 2:
        if (lud_grid_kind((int)draw(random, 30), (lud_colour)draw(random, LUD_COLOURS),
                          &lud_grid_edit_options(edit)->chances, &thing, &coloured, &name))
            status = lud_grid_edit_put(edit, x, y, &thing, error);
        break;
    case 3:
        status = lud_grid_edit_move(edit, &pick, x2, y2, error);
        break;
    case 4:
        status = lud_grid_edit_remove(edit, pick, error);
        break;
    case 5:
        status = lud_grid_edit_turn(edit, pick, (int)draw(random, 7) - 3, error);
        break;
    case 6:
        status = lud_grid_edit_add_goal(edit, x, y, x2, y2, error);
        break;
    case 7:
        status = lud_grid_edit_resize(edit, (lud_direction)draw(random, 4), (int)draw(random, 5) - 2, &pick,
                                      error);
        break;
    case 8:
        status = type_somehow(edit, pick, random, error);
        break;
    default:
        n = lud_grid_edit_parameters(edit, pick, parameters);
        if (!n) break;
        n = (int)draw(random, (uint32_t)n);
        status = lud_grid_edit_change_parameter(
            edit, pick, n, parameters[n].value + (double)((int)draw(random, 5) - 2) * parameters[n].step,
            error);
        break;
    }
    lud_text_free(&name);
    *done += !status;
}

static void test_random_edits(void **state) {
    (void)state;
    for (int d = 0; d < N_DOCUMENTS; d++)
        for (uint64_t seed = 1; seed <= (SANITIZED ? 1 : 4); seed++) {
            uint64_t random = seed * 977 + (uint64_t)d;
            lud_grid_edit *edit = open_text(documents[d].text, documents[d].map);
            int done = 0;
            enum { STEPS = 80 };
            char *texts[STEPS + 1];
            for (int k = 0; k < STEPS; k++) {
                lud_error error = {0};
                const int before = done;
                char *was = strdup(lud_grid_edit_text(edit));
                act(edit, &random, &done, &error);
                if (done == before)
                    assert_string_equal(lud_grid_edit_text(edit), was); /* refused: untouched */
                if (done == before && strstr(error.text, "cannot be changed in place"))
                    fail_msg("document %d, seed %d, step %d: %s\n%s", d, (int)seed, k, error.text, was);
                free(was);
                lud_grid_problem problems[8];
                lud_grid_edit_check(edit, problems, 8, NULL);
                if (k % 8 == 0 && !lud_grid_edit_options(edit)->spec.goals_must_cover) check_text(edit);
            }
            assert_true(done > STEPS / 4);
            /* every comment that belongs to what cannot be removed is still there */
            const char *const kept[] = {
                "# A person is locked in.", "# a name",    "# the outer wall", "# short",
                "# what is wanted",         "# she knows", "# the end"};
            for (size_t i = 0; d == 0 && i < sizeof kept / sizeof *kept; i++)
                assert_int_equal(count(lud_grid_edit_text(edit), kept[i]), 1);
            int n = 0; /* back to the first text, and forward to the last */
            lud_error error = {0};
            texts[0] = strdup(lud_grid_edit_text(edit));
            while (lud_grid_edit_undo_name(edit)) {
                if (lud_grid_edit_undo(edit, &error)) fail_msg("%s", error.text);
                if (++n <= STEPS) texts[n] = strdup(lud_grid_edit_text(edit));
            }
            assert_string_equal(lud_grid_edit_text(edit), documents[d].text);
            assert_false(lud_grid_edit_changed(edit));
            for (int k = n - 1; k >= 0; k--) {
                if (lud_grid_edit_redo(edit, &error)) fail_msg("%s", error.text);
                assert_string_equal(lud_grid_edit_text(edit), texts[k]);
            }
            assert_null(lud_grid_edit_redo_name(edit));
            for (int k = 0; k <= n; k++) free(texts[k]);
            lud_grid_edit_close(edit);
        }
}

/* ---- the size of the map ---- */

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

/* Every side of every document grows, and is cut back to the first bytes. */
static void test_growing(void **state) {
    (void)state;
    for (int d = 0; d < N_DOCUMENTS; d++)
        for (int side = 0; side < 4; side++)
            for (int by = 1; by <= 3; by += 2) {
                lud_error error = {0};
                lud_grid_edit *edit = open_text(documents[d].text, documents[d].map);
                lud_grid_edit_world was = keep(edit);
                const bool columns = side == LUD_EAST || side == LUD_WEST;
                const int size = columns ? was.map_width : was.map_height,
                          at = side == LUD_EAST || side == LUD_SOUTH ? size - 1 : 1;
                lud_grid_pick pick = {.kind = LUD_PICK_CELL, .x = was.map_width - 2, .y = was.map_height - 2};
                const lud_grid_thing picked = was.things[pick.y * was.width + pick.x];
                if (lud_grid_edit_resize(edit, (lud_direction)side, by, &pick, &error))
                    fail_msg("document %d, %s: %s", d, side_names[side], error.text);
                assert_null(lud_grid_edit_note(edit));
                check_text(edit);
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
                assert_string_equal(lud_grid_edit_text(edit), documents[d].text);
                lud_grid_edit_undo(edit, &error);
                check_text(edit);
                lud_grid_edit_undo(edit, &error);
                assert_string_equal(lud_grid_edit_text(edit), documents[d].text);
                lud_grid_edit_world_free(&was);
                lud_grid_edit_close(edit);
            }
}

/* Cutting: what is wanted goes on, smaller perhaps; nobody is lost; what lay there is named. */
static void test_cutting(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_text(plain, 0);
    lud_grid_edit_world was = keep(edit);
    /* the goal in the corner is one cell of column 7 */
    assert_int_equal(lud_grid_edit_resize(edit, LUD_EAST, -1, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "goal 2 at (7, 4) would be cut off"));
    assert_string_equal(lud_grid_edit_text(edit), plain);
    /* and the robot stands in column 1 */
    assert_int_equal(lud_grid_edit_resize(edit, LUD_WEST, -1, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "agent 0 at (1, 2) would be cut off"));
    assert_string_equal(lud_grid_edit_text(edit), plain);

    lud_grid_pick corner = {.kind = LUD_PICK_GOAL, .goal = 2};
    if (lud_grid_edit_remove(edit, corner, &error)) fail_msg("%s", error.text);
    lud_grid_pick ground = {.kind = LUD_PICK_CELL, .x = 7, .y = 4};
    if (lud_grid_edit_resize(edit, LUD_SOUTH, -1, &ground, &error)) fail_msg("%s", error.text);
    assert_string_equal(lud_grid_edit_note(edit), "goal 0 is smaller, cut off: unsteady ground");
    assert_int_equal(ground.kind, LUD_PICK_WORLD); /* it went with its row */
    assert_non_null(strstr(lud_grid_edit_text(edit),
                           "We .. .. Ky Ly .. .. .. We\n    We We We We We We We We We\n  max_steps"));
    assert_non_null(strstr(lud_grid_edit_text(edit), "- {rectangle: [1, 1, 3, 3], weight: 2}   # left\n"));
    check_text(edit);
    lud_grid_edit_undo(edit, &error);
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), plain);

    /* a row with its comment; what is above moves with it, agents and goals keep their numbers */
    lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2}, goal = {.kind = LUD_PICK_GOAL, .goal = 1};
    if (lud_grid_edit_move(edit, &goal, 5, 2, &error)) fail_msg("%s", error.text);
    lud_grid_edit_world before = keep(edit);
    if (lud_grid_edit_resize(edit, LUD_NORTH, -1, &person, &error)) fail_msg("%s", error.text);
    assert_null(strstr(lud_grid_edit_text(edit), "# a row"));
    assert_int_equal(count(lud_grid_edit_text(edit), "# the outer wall"), 1);
    assert_int_equal(person.y, 1);
    assert_non_null(strstr(lud_grid_edit_text(edit), "cell: [5, 1]\n    agents: [1]   # hers"));
    compare_sizes(lud_grid_edit_get(edit), &before, false, 1, 1);
    check_text(edit);
    lud_grid_edit_world_free(&before);
    lud_grid_edit_world_free(&was);
    lud_grid_edit_close(edit);

    /* the sizes that can be read are those that can be made */
    edit = open_text(bare, 0);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_EAST, -2, NULL, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "expected 3 to 255 columns in a map, this would be 2"));
    if (lud_grid_edit_resize(edit, LUD_EAST, -1, NULL, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->width, 3);
    if (lud_grid_edit_resize(edit, LUD_SOUTH, 251, NULL, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->height, 255);
    check_text(edit);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_NORTH, 1, NULL, &error), LUD_ERROR_INPUT);
    const int far = -2147483647 - 1;
    assert_int_equal(lud_grid_edit_resize(edit, LUD_NORTH, far, NULL, &error), LUD_ERROR_INPUT);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_NORTH, 2147483647, NULL, &error), LUD_ERROR_INPUT);
    lud_grid_edit_close(edit);
}

/* Without a wall around it the map grows at its edge; a code of one's own for the ground; rows as lists. */
static void test_styles_of_maps(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit =
        open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    Ay....\n    ......\n    ....Ky", 0);
    if (lud_grid_edit_resize(edit, LUD_WEST, 1, NULL, &error)) fail_msg("%s", error.text);
    if (lud_grid_edit_resize(edit, LUD_SOUTH, 1, NULL, &error)) fail_msg("%s", error.text);
    assert_non_null(
        strstr(lud_grid_edit_text(edit), "    ..Ay....\n    ........\n    ......Ky\n    ........\n"));
    if (lud_grid_edit_resize(edit, LUD_EAST, -1, NULL, &error)) fail_msg("%s", error.text);
    assert_string_equal(lud_grid_edit_note(edit), "cut off: yellow key");
    check_text(edit);
    lud_grid_edit_close(edit);

    edit = open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  legend: {'..': lava}\n  map:\n    - We We We We\n"
        "    - 'We Ay .. We'   # quoted\n    - [We, .., .., We]\n    - [We, We,  # one\n       We, We]\n",
        0);
    if (lud_grid_edit_resize(edit, LUD_EAST, 1, NULL, &error)) fail_msg("%s", error.text);
    check_text(edit);
    assert_int_equal(lud_grid_edit_get(edit)->things[1 * 5 + 3].object.type, LUD_EMPTY);
    assert_int_equal(lud_grid_edit_get(edit)->things[1 * 5 + 2].object.type, LUD_LAVA);
    assert_int_equal(count(lud_grid_edit_text(edit), ": empty"), 1);
    if (lud_grid_edit_resize(edit, LUD_NORTH, 2, NULL, &error)) fail_msg("%s", error.text);
    if (lud_grid_edit_resize(edit, LUD_SOUTH, 1, NULL, &error)) fail_msg("%s", error.text);
    check_text(edit);
    assert_int_equal(count(lud_grid_edit_text(edit), "# one"), 1);
    assert_int_equal(count(lud_grid_edit_text(edit), "# quoted"), 1);
    while (lud_grid_edit_undo_name(edit)) assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
    assert_false(lud_grid_edit_changed(edit));
    lud_grid_edit_close(edit);

    /* goals are those of all maps of an ensemble */
    lud_text text = {0};
    lud_text_append(&text, "%sgoals:\n  - {cell: [1, 1]}\n", ensemble);
    edit = open_text(text.bytes, 1);
    assert_int_equal(lud_grid_edit_resize(edit, LUD_WEST, 1, NULL, &error), LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "other maps of the ensemble"));
    if (lud_grid_edit_resize(edit, LUD_EAST, 2, NULL, &error)) fail_msg("%s", error.text);
    check_text(edit);
    assert_int_equal(lud_grid_edit_get(edit)->width, 7);
    lud_grid_edit_close(edit);
    lud_text_free(&text);
}

/* ---- typed numbers ---- */

static void test_typed_numbers(void **state) {
    (void)state;
    lud_grid_parameter chance = {.name = "stumble", .minimum = 0, .maximum = 1, .number = true},
                       steps = {.name = "max_steps",
                                .minimum = 1,
                                .maximum = 65535,
                                .number = true,
                                .whole = true},
                       word = {.name = "facing", .maximum = 3, .wraps = true};
    const struct {
        const lud_grid_parameter *parameter;
        const char *typed;
        double value; /* below 0: it is refused */
    } cases[] = {{&chance, "0.25", 0.25}, {&chance, " 1 ", 1},      {&chance, "1e-3", 0.001},
                 {&chance, "1.0001", -1}, {&chance, "-0.1", -1},    {&chance, "", -1},
                 {&chance, "0.5x", -1},   {&chance, "nan", -1},     {&chance, "inf", -1},
                 {&chance, "0.5 0", -1},  {&steps, "65535", 65535}, {&steps, "65536", -1},
                 {&steps, "0", -1},       {&steps, "2.5", -1},      {&steps, "1e3", 1000},
                 {&steps, "+7", 7},       {&word, "1", -1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        lud_error error = {0};
        double value;
        const lud_status status = lud_grid_parameter_read(cases[k].parameter, cases[k].typed, &value, &error);
        if ((cases[k].value < 0) != (status == LUD_ERROR_INPUT))
            fail_msg("`%s`: %s", cases[k].typed, error.text);
        if (!status) assert_true(value == cases[k].value);
    }
    lud_error error = {0};
    double value;
    lud_grid_parameter_read(&chance, "1.5", &value, &error);
    assert_string_equal(error.text, "stumble: expected a number from 0 to 1, found 1.5");
    lud_grid_parameter_read(&steps, "", &value, &error);
    assert_string_equal(error.text, "max_steps: expected a whole number from 1 to 65535, found nothing");

    /* what is typed stands in the file as it is, however fine */
    lud_grid_edit *edit = open_text(plain, 0);
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const lud_grid_pick goal = {.kind = LUD_PICK_GOAL, .goal = 0}, world = {.kind = LUD_PICK_WORLD};
    const int n = lud_grid_edit_parameters(edit, goal, parameters);
    assert_true(n > 0 && !strcmp(parameters[0].name, "weight"));
    if (lud_grid_edit_type_parameter(edit, goal, 0, 0.123456789012345, &error)) fail_msg("%s", error.text);
    assert_non_null(strstr(lud_grid_edit_text(edit), "weight: 0.123456789012345}   # left"));
    for (int k = lud_grid_edit_parameters(edit, world, parameters) - 1; k >= 0; k--)
        if (!strcmp(parameters[k].name, "chances.stumble")) {
            if (lud_grid_edit_type_parameter(edit, world, k, 1e-12, &error)) fail_msg("%s", error.text);
            assert_int_equal(lud_grid_edit_type_parameter(edit, world, k, 1.5, &error), LUD_ERROR_INPUT);
        }
    assert_true(lud_grid_edit_options(edit)->chances.stumble == 1e-12);
    check_text(edit);
    /* the size of the map is typed, too */
    assert_string_equal(parameters[0].name, "width");
    if (lud_grid_edit_type_parameter(edit, world, 0, 12, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->width, 12);
    check_text(edit);
    lud_grid_edit_close(edit);
}

/* Changes of one stroke are undone together. */
static void test_strokes(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_text(bare, 0);
    const lud_grid_thing lava = kind_named("lava", LUD_RED), floor = kind_named("floor", LUD_BLUE);
    lud_grid_edit_begin_stroke(edit);
    assert_int_equal(lud_grid_edit_put(edit, 2, 1, &lava, &error), LUD_OK);
    assert_int_equal(lud_grid_edit_put(edit, 2, 2, &floor, &error), LUD_OK);
    lud_grid_edit_end_stroke(edit);
    assert_int_equal(lud_grid_edit_put(edit, 2, 1, &floor, &error), LUD_OK);
    lud_grid_edit_undo(edit, &error);
    assert_int_equal(lud_grid_edit_get(edit)->things[1 * 4 + 2].object.type, LUD_LAVA);
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), bare);
    assert_null(lud_grid_edit_undo_name(edit));
    lud_grid_edit_close(edit);
}

/* ---- files ---- */

static void write_file(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

static void test_saving(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-edit-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    write_file("world.yaml", plain);
    lud_error error = {0};
    lud_grid_edit *edit;
    if (lud_grid_edit_open("world.yaml", NULL, NULL, 0, 0, &edit, &error)) fail_msg("%s", error.text);
    const lud_grid_thing ball = kind_named("ball", LUD_BROWN); /* no code has this colour */
    if (lud_grid_edit_put(edit, 2, 2, &ball, &error)) fail_msg("%s", error.text);
    assert_true(lud_grid_edit_changed(edit));
    if (lud_grid_edit_save(edit, false, &error)) fail_msg("%s", error.text);
    assert_false(lud_grid_edit_changed(edit));
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t length;
    assert_int_equal(lud_file_read(arena, "world.yaml", 0, &bytes, &length, &error), LUD_OK);
    assert_string_equal(bytes, lud_grid_edit_text(edit));
    check_text(edit);
    /* somebody else has written it meanwhile */
    lud_grid_edit_undo(edit, &error);
    write_file("world.yaml", bare);
    assert_int_equal(lud_grid_edit_save(edit, false, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, "has changed meanwhile"));
    assert_int_equal(lud_grid_edit_save(edit, true, &error), LUD_OK);
    lud_grid_edit_close(edit);
    lud_arena_destroy(arena);

    /* what is elsewhere is edited there */
    write_file("map.yaml", plain);
    write_file("includes.yaml", "include: map.yaml\nrun: {seed: 3}\n");
    assert_int_equal(lud_grid_edit_open("includes.yaml", NULL, NULL, 0, 0, &edit, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "comes from map.yaml"));
    /* the map here, the rest elsewhere */
    write_file("rest.yaml", "goals:\n  - {cell: [1, 1]}\n");
    write_file("own.yaml",
               "include: rest.yaml\nludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We\n"
               "    We Ay .. We\n    We .. .. We\n    We We We We\n");
    if (lud_grid_edit_open("own.yaml", NULL, NULL, 0, 0, &edit, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_put(edit, 2, 2, &ball, &error), LUD_OK);
    error = (lud_error){0};
    lud_grid_pick goal = {.kind = LUD_PICK_GOAL};
    assert_int_equal(lud_grid_edit_remove(edit, goal, &error), LUD_ERROR_UNSUPPORTED);
    if (!strstr(error.text, "rest.yaml")) fail_msg("%s", error.text);
    lud_grid_edit_close(edit);

    static const struct {
        const char *text, *message;
    } refused[] = {{"ludus: 1\nworld: multigrid\nmultigrid:\n  generate: {style: open}\n", "generated"},
                   {"map: |\n  We We We\n  We Ay We\n  We We We\n", "our own format"},
                   {"ludus: 1\nworld: multigrid\nmultigrid:\n  map: \"We We We\\nWe Ay We\\nWe We We\\n\"\n",
                    "in place"},
                   {"ludus: 1\nworld: particle\nparticle: {task: simple}\n", "only multigrid"}};
    for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
        error = (lud_error){0};
        assert_int_equal(lud_grid_edit_open("other.yaml", refused[k].text, NULL, 0, 0, &edit, &error),
                         LUD_ERROR_UNSUPPORTED);
        if (!strstr(error.text, refused[k].message)) fail_msg("%s", error.text);
    }
    assert_int_equal(chdir("/"), 0);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* Every world that ships can be edited, unless it is generated or of another kind. */
static void test_shipped_worlds(void **state) {
    (void)state;
    static const char *const folders[] = {"multigrid", "empo"};
    int n_edited = 0;
    for (size_t f = 0; f < 2; f++) {
        char name[512];
        snprintf(name, sizeof name, "%s/scenarios/%s", LUDUS_SOURCE_DIR, folders[f]);
        DIR *folder = opendir(name);
        assert_non_null(folder);
        for (const struct dirent *entry; (entry = readdir(folder));) {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
            if (!strstr(entry->d_name, ".yaml")) continue;
            lud_error error = {0};
            lud_grid_edit *edit;
            const lud_status status = lud_grid_edit_open(path, NULL, NULL, 0, 0, &edit, &error);
            if (status == LUD_ERROR_UNSUPPORTED) {
                if (!strstr(error.text, "generated") && !strstr(error.text, "comes from"))
                    fail_msg("%s: %s", path, error.text);
                continue;
            }
            if (status) fail_msg("%s: %s", path, error.text);
            char *first = strdup(lud_grid_edit_text(edit));
            uint64_t random = 5;
            int done = 0;
            for (int k = 0; k < 15; k++) {
                error = (lud_error){0};
                act(edit, &random, &done, &error);
                if (strstr(error.text, "cannot be changed in place")) fail_msg("%s: %s", path, error.text);
            }
            assert_true(done > 0);
            while (lud_grid_edit_undo_name(edit)) assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
            assert_string_equal(lud_grid_edit_text(edit), first);
            free(first);
            lud_grid_edit_close(edit);
            n_edited++;
        }
        closedir(folder);
    }
    assert_true(n_edited > 25);
}

/* ---- problems ---- */

static bool finds(const lud_grid_edit *edit, const char *part) {
    lud_grid_problem problems[32];
    const int n = lud_grid_edit_check(edit, problems, 32, NULL);
    for (int k = 0; k < n; k++)
        if (strstr(problems[k].text, part)) return true;
    return false;
}

/* Who is walled in still is where she is. */
static void test_problems_of_who_is_walled_in(void **state) {
    (void)state;
    static const char walled[] = "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n"
                                 "    We Ay We .. We\n    We We We We We\n"
                                 "goals: [{cell: [1, 1]}, {cell: [3, 1]}]\n";
    lud_grid_edit *edit = open_text(walled, 0);
    assert_false(finds(edit, "cannot reach goal 0"));
    assert_true(finds(edit, "cannot reach goal 1"));
    lud_grid_edit_close(edit);
}

static void test_problems(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = open_text(plain, 0);
    assert_false(finds(edit, "reach"));
    lud_grid_pick key = {.kind = LUD_PICK_CELL, .x = 3, .y = 3};
    assert_int_equal(lud_grid_edit_remove(edit, key, &error), LUD_OK);
    assert_true(finds(edit, "no yellow key for the door at (4, 3)"));
    assert_true(finds(edit, "agent 1 cannot reach goal 0"));
    assert_false(finds(edit, "cannot reach goal 1"));
    lud_grid_study study;
    if (lud_grid_study_model(lud_grid_edit_model(edit), &study, &error)) fail_msg("%s", error.text);
    lud_grid_edit_undo(edit, &error);
    if (lud_grid_edit_set(edit, "goals_must_cover", "true", &error)) fail_msg("%s", error.text);
    uint8_t marked[9 * 6];
    lud_grid_problem problems[8];
    assert_true(lud_grid_edit_check(edit, problems, 8, marked) > 0);
    assert_true(problems[0].refused);
    assert_int_equal(marked[1 * 9 + 1], 0); /* in goal 0 */
    assert_int_equal(marked[2 * 9 + 6], 1);
    lud_grid_edit_close(edit);

    /* a small world is known state by state: with one step nobody comes far */
    edit =
        open_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay .. .. We\n"
                  "    We We We We We\n  max_steps: 1\n  actions: minimal\ngoals:\n  - {cell: [3, 1]}\n"
                  "  - {cell: [2, 1]}\n",
                  0);
    if (lud_grid_study_model(lud_grid_edit_model(edit), &study, &error)) fail_msg("%s", error.text);
    assert_true(study.exact && study.reach_known);
    assert_true(study.states == 3); /* the start, one forward, one turned */
    assert_int_equal(study.n_out_of_reach, 1);
    assert_int_equal(study.out_of_reach[0].goal, 0);
    lud_grid_edit_close(edit);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_single_edits),
                                       cmocka_unit_test(test_agents_change_numbers),
                                       cmocka_unit_test(test_ground_below_agents),
                                       cmocka_unit_test(test_new_codes_at_once),
                                       cmocka_unit_test(test_random_edits),
                                       cmocka_unit_test(test_growing),
                                       cmocka_unit_test(test_cutting),
                                       cmocka_unit_test(test_styles_of_maps),
                                       cmocka_unit_test(test_typed_numbers),
                                       cmocka_unit_test(test_strokes),
                                       cmocka_unit_test(test_saving),
                                       cmocka_unit_test(test_shipped_worlds),
                                       cmocka_unit_test(test_problems),
                                       cmocka_unit_test(test_problems_of_who_is_walled_in)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
