/* What is said of RUNs: whom one can act for, how its agents are described, of which iteration its parameters
 * are and why. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "learn/runs/kept.h"
#include "learn/runs/run_named.h"

/* ---- who fits ---- */

static const char *const four[] = {"still", "left", "right", "forward"};
static const char *const other_four[] = {"still", "left", "right", "toggle"};
static const char *const ten[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

static void told(const lud_action_space *actions, const char *expected) {
    lud_text out = {0};
    const lud_layout layout = {.n_agents = 1, .actions = (lud_action_space *)(uintptr_t)actions};
    lud_run_describe_agent(&layout, 0, &out);
    assert_string_equal(out.bytes, expected);
    lud_text_free(&out);
}

/* The same actions, by number and, where both have them, by name. */
static void actions_fit(void **state) {
    (void)state;
    static const lud_action_space kinds[] = {
        {.n_discrete = 4, .names = four},
        {.n_discrete = 4, .names = other_four},
        {.n_discrete = 3, .names = four},
        {.n_continuous = 2},
        {.n_discrete = 4, .n_continuous = 2, .names = four},
        {.n_continuous = 3},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    static const lud_action_space unnamed = {.n_discrete = 4};
    for (int a = 0; a < KINDS; a++)
        for (int b = 0; b < KINDS; b++) {
            lud_action_space one[2] = {kinds[a], kinds[(a + 1) % KINDS]}, three[3];
            for (int i = 0; i < 3; i++) three[i] = kinds[b];
            const lud_layout trained = {.n_agents = 2, .actions = one};
            const lud_layout same_size = {.n_agents = 2, .actions = three};
            const lud_layout larger = {.n_agents = 3, .actions = three};
            /* in a team of the same size an agent stands for the one with its number, else any will do */
            assert_int_equal(lud_run_has_actions(&trained, &same_size, 0), a == b);
            assert_int_equal(lud_run_has_actions(&trained, &same_size, 1), (a + 1) % KINDS == b);
            for (int i = 0; i < 3; i++)
                assert_int_equal(lud_run_has_actions(&trained, &larger, i), a == b || (a + 1) % KINDS == b);
        }
    lud_action_space one[2] = {unnamed, unnamed}, named[2] = {kinds[0], kinds[1]};
    const lud_layout trained = {.n_agents = 2, .actions = one}, here = {.n_agents = 2, .actions = named};
    for (int i = 0; i < 2; i++) {
        assert_true(lud_run_has_actions(&trained, &here, i));
        assert_true(lud_run_has_actions(&here, &trained, i));
    }
}

static void agents_are_described(void **state) {
    (void)state;
    told(&(lud_action_space){.n_discrete = 4, .names = four}, "4 actions (still, left, right, forward)");
    told(&(lud_action_space){.n_discrete = 1, .names = four}, "1 action (still)");
    told(&(lud_action_space){.n_discrete = 8, .names = ten}, "8 actions (a, b, c, d, e, f, g, h)");
    told(&(lud_action_space){.n_discrete = 9, .names = ten}, "9 actions (a, b, c, d, e, f, g, h, ...)");
    told(&(lud_action_space){.n_discrete = 9}, "9 actions");
    told(&(lud_action_space){.n_continuous = 2}, "2 real numbers as actions");
    told(&(lud_action_space){.n_discrete = 5, .n_continuous = 3}, "5 actions, 3 real numbers as actions");
    lud_action_space actions[2] = {{.n_discrete = 2}, {.n_continuous = 1}};
    const lud_layout layout = {
        .n_agents = 2,
        .actions = actions,
        .n_parts = 2,
        .parts = {{.name = "grid", .n_dimensions = 3, .dimensions = {7, 8, 9}},
                  {.name = "vector", .n_dimensions = 1, .dimensions = {6}}},
    };
    lud_text out = {0};
    lud_run_describe_agent(&layout, 1, &out);
    assert_string_equal(out.bytes, "grid [7, 8, 9], vector [6], 1 real number as an action");
    lud_text_free(&out);
}

/* ---- what is kept ---- */

/* What is written is read as it was; what cannot be is nothing. */
static void kept_is_read_as_written(void **state) {
    (void)state;
    static const lud_kept kinds[] = {
        {.iteration = 0, .scored = true, .score = 0.0, .column = "return", .over = 1},
        {.iteration = UINT64_MAX,
         .scored = true,
         .score = -1.0 / 3.0,
         .column = "a column of words",
         .over = 7},
        {.iteration = 3, .scored = true, .score = 1e-310, .column = "evaluation/mrr", .over = UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lud_kept read;
        lud_text text = {0};
        lud_kept_format(&kinds[i], &text);
        assert_true(lud_kept_parse(text.bytes, &read));
        assert_true(read.iteration == kinds[i].iteration && read.score == kinds[i].score &&
                    read.over == kinds[i].over && read.scored);
        assert_string_equal(read.column, kinds[i].column);
        lud_text_free(&text);
    }
    static const char *const wrong[] = {NULL,        "",          "3",         "3 0.5",      "3 x 1 return",
                                        "x 0.5 1 r", "3 nan 1 r", "3 inf 1 r", "3 -inf 2 r", "3 0.5 0 return",
                                        "3 0.5 r"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lud_kept read;
        memset(&read, 0x55, sizeof read);
        assert_false(lud_kept_parse(wrong[i], &read));
        assert_true(read.iteration == 0 && !read.scored && read.score == 0 && read.over == 0 &&
                    read.column[0] == 0);
    }
    /* a name is cut to its room, and does nothing to a terminal */
    char long_text[256] = "1 2.5 1 \033[31m";
    memset(long_text + strlen(long_text), 'x', 200);
    lud_kept read;
    assert_true(lud_kept_parse(long_text, &read));
    assert_int_equal(strlen(read.column), sizeof read.column - 1);
    assert_null(strchr(read.column, '\033'));
}

static void kept_is_told(void **state) {
    (void)state;
    static const struct {
        lud_kept kept;
        const char *told;
    } kinds[] = {
        {{.iteration = 12, .score = 3.0, .over = 4}, "iteration 12"},
        {{.iteration = 12, .scored = true, .score = 0.25, .column = "return", .over = 1},
         "iteration 12, the best by return: 0.25"},
        {{.iteration = 12, .scored = true, .score = 0.25, .column = "return", .over = 2},
         "iteration 12, the best by return: 0.25 (mean of 2 iterations)"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        lud_text out = {0};
        lud_kept_print(&kinds[i].kept, &out);
        assert_string_equal(out.bytes, kinds[i].told);
        lud_text_free(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_fit),
        cmocka_unit_test(agents_are_described),
        cmocka_unit_test(kept_is_read_as_written),
        cmocka_unit_test(kept_is_told),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
