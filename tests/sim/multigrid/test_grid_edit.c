/* Editing a scenario file: whatever is done, the text means what was wanted and all else of it stays. */
#include <dirent.h>
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
#include "sim/multigrid/support_grid_edit.h"
#include "sim/scenario.h"

static uint32_t draw(uint64_t *state, uint32_t n) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % n;
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
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    const lud_grid_thing lava = edit_kind("lava", LUD_RED);
    assert_int_equal(lud_grid_edit_put(edit, 1, 1, &lava, &error), LUD_OK);
    expect_line(edit, edit_plain, "We .. .. .. We .. .. .. We   # a row",
                "We La .. .. We .. .. .. We   # a row");
    assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);

    lud_grid_pick robot = {.kind = LUD_PICK_CELL, .x = 1, .y = 2};
    assert_int_equal(lud_grid_edit_turn(edit, robot, 1, &error), LUD_OK);
    expect_line(edit, edit_plain, "{facing: east}", "{facing: south}");
    lud_grid_edit_undo(edit, &error);

    const lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2};
    assert_int_equal(lud_grid_edit_turn(edit, person, 1, &error), LUD_OK);
    expect_line(edit, edit_plain, "facing: west ", "facing: north ");
    lud_grid_edit_undo(edit, &error);
    assert_int_equal(lud_grid_edit_turn(edit, person, 2, &error), LUD_OK); /* past the last side */
    expect_line(edit, edit_plain, "facing: west ", "facing: east ");
    lud_grid_edit_undo(edit, &error);
    assert_int_equal(lud_grid_edit_turn(edit, person, -5, &error), LUD_OK);
    expect_line(edit, edit_plain, "facing: west ", "facing: south ");
    lud_grid_edit_undo(edit, &error);

    /* a rectangle stays on the map, as large as it is, wherever it is moved */
    assert_int_equal(lud_grid_edit_add_goal(edit, 1, 1, 3, 2, &error), LUD_OK);
    lud_grid_pick wide = {.kind = LUD_PICK_GOAL, .goal = lud_grid_edit_get(edit)->n_goals - 1};
    const int width = lud_grid_edit_get(edit)->width, height = lud_grid_edit_get(edit)->height;
    for (int y = -2; y < height + 2; y++)
        for (int x = -2; x < width + 2; x++) {
            assert_int_equal(lud_grid_edit_move(edit, &wide, x, y, &error), LUD_OK);
            const lud_grid_edit_goal *at = &lud_grid_edit_get(edit)->goals[wide.goal];
            assert_int_equal(at->x1, x < 0 ? 0 : x > width - 3 ? width - 3 : x);
            assert_int_equal(at->y1, y < 0 ? 0 : y > height - 2 ? height - 2 : y);
            assert_true(at->x2 == at->x1 + 2 && at->y2 == at->y1 + 1);
        }
    while (strcmp(lud_grid_edit_text(edit), edit_plain) != 0)
        assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);

    lud_grid_pick goal = {.kind = LUD_PICK_GOAL, .goal = 1};
    assert_int_equal(lud_grid_edit_move(edit, &goal, 6, 1, &error), LUD_OK);
    expect_line(edit, edit_plain, "cell: [5, 1]", "cell: [6, 1]");
    lud_grid_edit_undo(edit, &error);

    assert_int_equal(lud_grid_edit_remove(edit, goal, &error), LUD_OK);
    expect_line(edit, edit_plain, "  - cell: [5, 1]\n    agents: [1]   # hers\n", "");
    lud_grid_edit_undo(edit, &error);

    assert_int_equal(lud_grid_edit_add_goal(edit, 1, 1, 2, 1, &error), LUD_OK);
    expect_line(edit, edit_plain, "  - {cell: [7, 4]}\n",
                "  - {cell: [7, 4]}\n  - {rectangle: [1, 1, 2, 1]}\n");
    lud_grid_edit_undo(edit, &error);

    /* a parameter that no code has: the legend explains it, below the map */
    const lud_grid_pick ground = {.kind = LUD_PICK_CELL, .x = 7, .y = 4};
    assert_int_equal(lud_grid_edit_change_parameter(edit, ground, 0, 0.25, &error), LUD_OK);
    assert_non_null(strstr(lud_grid_edit_text(edit), "We .. .. .. We .. .. 1a We\n"));
    assert_non_null(strstr(lud_grid_edit_text(edit),
                           "  legend:\n    1a: {unsteady_ground: {stumble: 0.25}}\n  max_steps"));
    lud_grid_edit_undo(edit, &error);

    assert_int_equal(lud_grid_edit_set(edit, "max_steps", "70", &error), LUD_OK);
    expect_line(edit, edit_plain, "max_steps: 60   # short", "max_steps: 70   # short");
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);
    assert_false(lud_grid_edit_changed(edit));
    lud_grid_edit_close(edit);
}

/* Who comes to have another number takes entry, comment and goals along. */
static void test_agents_change_numbers(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    lud_grid_pick person = {.kind = LUD_PICK_CELL, .x = 6, .y = 2};
    if (lud_grid_edit_move(edit, &person, 6, 1, &error)) fail_msg("%s", error.text);
    const char *text = lud_grid_edit_text(edit);
    assert_non_null(strstr(text,
                           "- facing: west     # the person\n      can_push_rocks: true\n    # between\n"
                           "    - {facing: east}   # the robot\n"));
    assert_non_null(strstr(text, "agents: [0]   # hers"));
    edit_check_text(edit);
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
    edit_check_text(edit);
    lud_grid_edit_undo(edit, &error);
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), edit_plain);
    lud_grid_edit_close(edit);
}

/* A list of agents that nobody has written stands where the map does: in an ensemble in the section. */
static void test_new_list_of_agents(void **state) {
    (void)state;
    static const struct {
        const char *text, *list;
    } documents[] = {{edit_bare, "We We We We\n  agents:\n    - {facing: north}\n"},
                     {edit_ensemble, "multigrid:\n  agents:\n    - {facing: north}\n  ensemble:\n"}};
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        lud_error error = {0};
        lud_grid_edit *edit = edit_open_text(documents[i].text, 0);
        lud_grid_edit_world wanted;
        assert_true(lud_grid_edit_copy(lud_grid_edit_get(edit), &wanted));
        for (int cell = 0; cell < wanted.width * wanted.height; cell++)
            if (wanted.agent[cell] == 0) wanted.things[cell].agent.direction = LUD_NORTH;
        if (lud_grid_edit_apply(edit, &wanted, "turn", &error)) fail_msg("%s", error.text);
        if (!strstr(lud_grid_edit_text(edit), documents[i].list)) fail_msg("%s", lud_grid_edit_text(edit));
        edit_check_text(edit);
        lud_grid_edit_world_free(&wanted);
        lud_grid_edit_close(edit);
    }
}

/* What is put below an agent leaves it who it is. */
static void test_ground_below_agents(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
    const lud_grid_thing floor = edit_kind("floor", LUD_BLUE);
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
        edit_check_text(edit);
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

static void count_things(const lud_grid_edit *edit, int counts[LUD_GRID_TYPES + 1]) {
    const lud_grid_edit_world *w = lud_grid_edit_get(edit);
    memset(counts, 0, (LUD_GRID_TYPES + 1) * sizeof *counts);
    for (int c = 0; c < w->width * w->height; c++) {
        const lud_grid_thing *t = &w->things[c];
        counts[LUD_GRID_TYPES] += t->is_agent;
        counts[t->object.type] += t->object.type != LUD_EMPTY;
        counts[t->under.type] += t->under.type != LUD_EMPTY;
    }
}

/* Whatever is moved wherever, it stands there, and nothing comes or goes. */
static void test_moves_lose_nothing(void **state) {
    (void)state;
    enum { MOVES = 300 };
    uint64_t random = 5;
    int n_moved = 0;
    for (int d = 0; d < EDIT_DOCUMENTS; d++) {
        lud_grid_edit *edit = edit_open_text(edit_documents[d].text, edit_documents[d].map);
        int before[LUD_GRID_TYPES + 1], after[LUD_GRID_TYPES + 1];
        for (int k = 0; k < MOVES; k++) {
            const lud_grid_edit_world *w = lud_grid_edit_get(edit);
            const int x = (int)draw(&random, (uint32_t)w->width), y = (int)draw(&random, (uint32_t)w->height);
            const lud_grid_thing *t = &w->things[y * w->width + x];
            lud_grid_pick pick = {.kind = LUD_PICK_CELL, .x = x, .y = y, .layer = t->is_agent && k % 3 == 0};
            if (!t->is_agent && t->object.type == LUD_EMPTY) continue;
            const bool person = t->is_agent && pick.layer == 0;
            const lud_grid_type type = person ? LUD_EMPTY : t->object.type;
            const int x2 = (int)draw(&random, (uint32_t)w->width),
                      y2 = (int)draw(&random, (uint32_t)w->height);
            const lud_grid_thing *to = &w->things[y2 * w->width + x2];
            const bool is_free = !to->is_agent && to->object.type == LUD_EMPTY;
            lud_error error = {0};
            count_things(edit, before);
            if (lud_grid_edit_move(edit, &pick, x2, y2, &error)) continue;
            count_things(edit, after);
            if (!is_free &&
                memcmp(before, after, sizeof before) != 0) { /* it took the place of another thing */
                assert_int_equal(lud_grid_edit_undo(edit, &error), LUD_OK);
                continue;
            }
            assert_memory_equal(before, after, sizeof before);
            w = lud_grid_edit_get(edit);
            const lud_grid_thing *there = &w->things[y2 * w->width + x2];
            assert_true(person ? there->is_agent : there->object.type == type || there->under.type == type);
            assert_true(lud_grid_pick_is(edit, pick) && pick.x == x2 &&
                        pick.y == y2); /* still what was picked */
            if (person)
                assert_int_equal(pick.layer, 0);
            else
                assert_int_equal((pick.layer ? there->under : there->object).type, type);
            n_moved += x != x2 || y != y2;
        }
        lud_grid_edit_close(edit);
    }
    assert_true(n_moved > 200);
}

/* Many cells at once that no code means so far. */
static void test_new_codes_at_once(void **state) {
    (void)state;
    enum { CELLS = 12 };
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
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
    int n_legend = edit_count(lud_grid_edit_text(edit), "{unsteady_ground: {stumble: ");
    assert_true(n_legend >= CELLS - 3);
    edit_check_text(edit);
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
    for (int d = 0; d < EDIT_DOCUMENTS; d++)
        for (uint64_t seed = 1; seed <= (SANITIZED ? 1 : 4); seed++) {
            uint64_t random = seed * 977 + (uint64_t)d;
            lud_grid_edit *edit = edit_open_text(edit_documents[d].text, edit_documents[d].map);
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
                if (k % 8 == 0 && !lud_grid_edit_options(edit)->spec.goals_must_cover) edit_check_text(edit);
            }
            assert_true(done > STEPS / 4);
            /* every comment that belongs to what cannot be removed is still there */
            const char *const kept[] = {
                "# A person is locked in.", "# a name",    "# the outer wall", "# short",
                "# what is wanted",         "# she knows", "# the end"};
            for (size_t i = 0; d == 0 && i < sizeof kept / sizeof *kept; i++)
                assert_int_equal(edit_count(lud_grid_edit_text(edit), kept[i]), 1);
            int n = 0; /* back to the first text, and forward to the last */
            lud_error error = {0};
            texts[0] = strdup(lud_grid_edit_text(edit));
            while (lud_grid_edit_undo_name(edit)) {
                if (lud_grid_edit_undo(edit, &error)) fail_msg("%s", error.text);
                if (++n <= STEPS) texts[n] = strdup(lud_grid_edit_text(edit));
            }
            assert_string_equal(lud_grid_edit_text(edit), edit_documents[d].text);
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
    lud_grid_edit *edit = edit_open_text(edit_plain, 0);
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
    edit_check_text(edit);
    /* the size of the map is typed, too */
    assert_string_equal(parameters[0].name, "width");
    if (lud_grid_edit_type_parameter(edit, world, 0, 12, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_grid_edit_get(edit)->width, 12);
    edit_check_text(edit);
    lud_grid_edit_close(edit);
}

/* What is in a box is told, and changed by counting on. */
static void test_what_is_in_a_box(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We We\n    We X1 X2 Xr Ay We\n"
        "    We We We We We We\n  legend:\n    X1: {box: {colour: red, contains: {key: {colour: purple}}}}\n"
        "    X2: {box: {colour: blue, contains: {ball: {colour: red}}}}\n",
        0);
    static const char *const inside[] = {"purple key", "red ball", "nothing"};
    for (int x = 1; x <= 3; x++) {
        const lud_grid_pick box = {.kind = LUD_PICK_CELL, .x = x, .y = 1};
        lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
        const int n = lud_grid_edit_parameters(edit, box, parameters);
        int k = 0;
        while (k < n && strcmp(parameters[k].name, "contains") != 0) k++;
        assert_true(k < n);
        assert_string_equal(parameters[k].shown, inside[x - 1]);
        assert_int_equal(parameters[k].value == 0, x == 3);
        const double was = parameters[k].value;
        assert_int_equal(lud_grid_edit_change_parameter(edit, box, k, was == 0 ? 1 : was - 1, &error),
                         LUD_OK);
        lud_grid_edit_parameters(edit, box, parameters);
        assert_true(parameters[k].value == (was == 0 ? 1 : was - 1));
        lud_grid_edit_undo(edit, &error);
    }
    lud_grid_edit_close(edit);
}

/* Changes of one stroke are undone together. */
static void test_strokes(void **state) {
    (void)state;
    lud_error error = {0};
    lud_grid_edit *edit = edit_open_text(edit_bare, 0);
    const lud_grid_thing lava = edit_kind("lava", LUD_RED), floor = edit_kind("floor", LUD_BLUE);
    lud_grid_edit_begin_stroke(edit);
    assert_int_equal(lud_grid_edit_put(edit, 2, 1, &lava, &error), LUD_OK);
    assert_int_equal(lud_grid_edit_put(edit, 2, 2, &floor, &error), LUD_OK);
    lud_grid_edit_end_stroke(edit);
    assert_int_equal(lud_grid_edit_put(edit, 2, 1, &floor, &error), LUD_OK);
    lud_grid_edit_undo(edit, &error);
    assert_int_equal(lud_grid_edit_get(edit)->things[1 * 4 + 2].object.type, LUD_LAVA);
    lud_grid_edit_undo(edit, &error);
    assert_string_equal(lud_grid_edit_text(edit), edit_bare);
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
    write_file("world.yaml", edit_plain);
    lud_error error = {0};
    lud_grid_edit *edit;
    if (lud_grid_edit_open("world.yaml", NULL, NULL, 0, 0, &edit, &error)) fail_msg("%s", error.text);
    const lud_grid_thing ball = edit_kind("ball", LUD_BROWN); /* no code has this colour */
    if (lud_grid_edit_put(edit, 2, 2, &ball, &error)) fail_msg("%s", error.text);
    assert_true(lud_grid_edit_changed(edit));
    if (lud_grid_edit_save(edit, false, &error)) fail_msg("%s", error.text);
    assert_false(lud_grid_edit_changed(edit));
    lud_arena *arena = lud_arena_create(0);
    char *bytes;
    size_t length;
    assert_int_equal(lud_file_read(arena, "world.yaml", 0, &bytes, &length, &error), LUD_OK);
    assert_string_equal(bytes, lud_grid_edit_text(edit));
    edit_check_text(edit);
    /* somebody else has written it meanwhile */
    lud_grid_edit_undo(edit, &error);
    write_file("world.yaml", edit_bare);
    assert_int_equal(lud_grid_edit_save(edit, false, &error), LUD_ERROR_IO);
    assert_non_null(strstr(error.text, "has changed meanwhile"));
    assert_int_equal(lud_grid_edit_save(edit, true, &error), LUD_OK);
    lud_grid_edit_close(edit);
    lud_arena_destroy(arena);

    /* what is elsewhere is edited there */
    write_file("map.yaml", edit_plain);
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

/* ---- picks ---- */

/* Clicks on one point go through what is there: the thing on top, the ground below it, each goal that covers
 * the point, and the top again. Elsewhere they begin anew. */
static void test_what_is_picked_next(void **state) {
    (void)state;
    static const char text[] =
        "ludus: 1\nname: picks\nworld: multigrid\nmultigrid:\n  map: |\n"
        "    We We We We We\n    We .. Ay .. We\n    We La .. Ae We\n    We We We We We\n"
        "goals: [{rectangle: [1, 1, 2, 2]}, {cell: [2, 1]}, {rectangle: [3, 2, 3, 2]}]\n";
    const lud_grid_pick world = {.kind = LUD_PICK_WORLD};
    lud_grid_edit *edit = edit_open_text(text, 0);
    lud_error error = {0};
    /* of each point: the layers in their order (0, 1), then goals (10 and so on) */
    static const struct {
        int x, y, n, order[4];
    } points[] = {{0, 0, 1, {0}},     {1, 1, 1, {10}},    {2, 1, 3, {0, 10, 11}},
                  {3, 1, 0, {0}},     {1, 2, 2, {0, 10}}, {2, 2, 1, {10}},
                  {3, 2, 2, {0, 12}}, {9, 1, 0, {0}},     {-1, 0, 0, {0}}};
    for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
        lud_grid_pick pick = world;
        for (int turn = 0; turn < 2 * points[k].n + 1; turn++) {
            pick = lud_grid_pick_next(edit, pick, points[k].x, points[k].y);
            if (points[k].n == 0) {
                assert_int_equal(pick.kind, LUD_PICK_WORLD);
                continue;
            }
            const int wanted = points[k].order[turn % points[k].n];
            assert_int_equal(pick.kind, wanted < 10 ? LUD_PICK_CELL : LUD_PICK_GOAL);
            if (wanted < 10)
                assert_true(pick.x == points[k].x && pick.y == points[k].y && pick.layer == wanted);
            else
                assert_int_equal(pick.goal, wanted - 10);
            assert_true(lud_grid_pick_is(edit, pick));
        }
        /* whatever was picked at another point, the first comes first */
        if (points[k].n) {
            const lud_grid_pick fresh = lud_grid_pick_next(
                edit, (lud_grid_pick){.kind = LUD_PICK_CELL, .x = 4, .y = 3}, points[k].x, points[k].y);
            assert_int_equal(fresh.kind, points[k].order[0] < 10 ? LUD_PICK_CELL : LUD_PICK_GOAL);
        }
        for (int goal = 0; goal < 3 && points[k].n; goal++) {
            bool here = false;
            for (int i = 0; i < points[k].n; i++) here |= points[k].order[i] == 10 + goal;
            if (here) continue;
            const lud_grid_pick fresh = lud_grid_pick_next(
                edit, (lud_grid_pick){.kind = LUD_PICK_GOAL, .goal = goal}, points[k].x, points[k].y);
            assert_int_equal(fresh.kind, points[k].order[0] < 10 ? LUD_PICK_CELL : LUD_PICK_GOAL);
            if (fresh.kind == LUD_PICK_GOAL) assert_int_equal(fresh.goal, points[k].order[0] - 10);
        }
    }
    /* ground below an agent comes second */
    const lud_grid_thing lava = edit_kind("lava", LUD_RED);
    lud_grid_thing ice = edit_kind("unsteady ground", LUD_RED);
    assert_int_equal(lud_grid_edit_put(edit, 1, 2, &lava, &error), LUD_OK);
    assert_int_equal(lud_grid_edit_put(edit, 3, 2, &ice, &error), LUD_OK);
    lud_grid_pick pick = lud_grid_pick_next(edit, world, 3, 2);
    assert_true(pick.kind == LUD_PICK_CELL && pick.layer == 0);
    pick = lud_grid_pick_next(edit, pick, 3, 2);
    assert_true(pick.kind == LUD_PICK_CELL && pick.layer == 1);
    pick = lud_grid_pick_next(edit, pick, 3, 2);
    assert_true(pick.kind == LUD_PICK_GOAL && pick.goal == 2);
    pick = lud_grid_pick_next(edit, pick, 3, 2);
    assert_true(pick.kind == LUD_PICK_CELL && pick.layer == 0);
    lud_grid_edit_close(edit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_edits),
        cmocka_unit_test(test_what_is_picked_next),
        cmocka_unit_test(test_agents_change_numbers),
        cmocka_unit_test(test_new_list_of_agents),
        cmocka_unit_test(test_ground_below_agents),
        cmocka_unit_test(test_moves_lose_nothing),
        cmocka_unit_test(test_new_codes_at_once),
        cmocka_unit_test(test_random_edits),
        cmocka_unit_test(test_typed_numbers),
        cmocka_unit_test(test_what_is_in_a_box),
        cmocka_unit_test(test_strokes),
        cmocka_unit_test(test_saving),
        cmocka_unit_test(test_shipped_worlds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
