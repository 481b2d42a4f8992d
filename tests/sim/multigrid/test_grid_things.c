/* Every parameter of every thing: read from a legend it is what the file says, written and read again it
 * still is, and of its values as an editor shows them it is made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "sim/multigrid/file/grid_codes.h"
#include "sim/multigrid/file/grid_generate.h"
#include "sim/multigrid/file/grid_options.h"
#include "sim/multigrid/file/grid_parse.h"

static lud_arena *arena;

static int set_up(void **state) {
    (void)state;
    arena = lud_arena_create(0);
    return arena == NULL;
}

static int tear_down(void **state) {
    (void)state;
    lud_arena_destroy(arena);
    return 0;
}

static lud_grid_spec read_file(const char *text) {
    lud_tree *root;
    lud_grid_spec spec;
    lud_error error = {0};
    if (lud_tree_read_text(arena, "things", text, strlen(text), &root, &error) ||
        lud_grid_spec_read(arena, root, 5, &spec, &error))
        fail_msg("%s\n%s", error.text, text);
    return spec;
}

/* The thing in the middle of the map. */
static lud_grid_object thing_in(const lud_grid_spec *spec) {
    const lud_grid_map *map = &spec->maps[0];
    return map->n_pieces > 0 ? map->pieces[0].object : map->cells[spec->width + 2];
}

/* What a value of an option says, as a number. */
static double number_of(const lud_option *option, const lud_grid_thing_options *values) {
    const char *at = (const char *)values + option->offset;
    switch (option->type) {
    case LUD_OPTION_BOOL:
        return *(const bool *)at;
    case LUD_OPTION_CHOICE:
        return *(const int *)(const void *)at;
    default:
        return *(const double *)(const void *)at;
    }
}

static void expect_same(const lud_grid_object *a, const lud_grid_object *b) {
    const lud_option_table *table = lud_grid_thing_table(a->type);
    const lud_grid_thing_options x = lud_grid_thing_values(a), y = lud_grid_thing_values(b);
    assert_int_equal(a->type, b->type);
    for (int i = 0; i < table->n; i++)
        if (table->options[i].type != LUD_OPTION_TREE)
            assert_true(number_of(&table->options[i], &x) == number_of(&table->options[i], &y));
}

static lud_grid_object read_thing_with(const char *type, const char *key, const char *value) {
    char text[400];
    snprintf(text, sizeof text,
             "ludus: 1\nmultigrid:\n  map: [We We We We, We Ay X1 We, We We We We]\n"
             "  legend: {X1: {%s: {%s: %s}}}\n",
             type, key, value);
    const lud_grid_spec spec = read_file(text);
    const lud_grid_object read = thing_in(&spec);
    /* as it is written */
    lud_tree root = {.kind = LUD_TREE_MAPPING};
    lud_error error = {0};
    char *written = NULL;
    size_t length;
    lud_tree_add_int(arena, &root, "ludus", 1);
    if (lud_grid_spec_write(&spec, arena, &root, &error) ||
        lud_tree_write(arena, &root, &written, &length, &error))
        fail_msg("%s", error.text);
    const lud_grid_spec again = read_file(written);
    const lud_grid_object other = thing_in(&again);
    expect_same(&read, &other);
    return read;
}

/* Value k of an option and what it is as a number; false: there are no more. */
static bool value_of(const lud_option *option, int k, char text[64], double *number) {
    *number = k;
    if (option->type == LUD_OPTION_BOOL) {
        snprintf(text, 64, "%s", k ? "true" : "false");
        return k < 2;
    }
    if (option->type == LUD_OPTION_CHOICE) {
        if (!option->choices[k]) return false;
        snprintf(text, 64, "%s", option->choices[k]);
        return true;
    }
    *number = k * 0.25;
    snprintf(text, 64, "%g", *number);
    return k <= 4;
}

static void parameters_are_kept(void **state) {
    (void)state;
    int n = 0;
    for (int type = 0; type < LUD_GRID_TYPES; type++) {
        const lud_option_table *table = lud_grid_thing_table((lud_grid_type)type);
        for (int i = 0; table && i < table->n; i++) {
            const lud_option *option = &table->options[i];
            char text[64];
            double number;
            if (option->type == LUD_OPTION_TREE) continue;
            for (int k = 0; value_of(option, k, text, &number); k++) {
                /* a control button that commands its own kind is none */
                if (type == LUD_CONTROL_BUTTON &&
                    ((!strcmp(option->key, "trigger") && !strcmp(text, "grey")) ||
                     (!strcmp(option->key, "target") && !strcmp(text, "yellow"))))
                    continue;
                const lud_grid_object thing = read_thing_with(lud_grid_type_names[type], option->key, text);
                assert_int_equal(thing.type, type);
                const lud_grid_thing_options values = lud_grid_thing_values(&thing);
                if (number_of(option, &values) != number)
                    fail_msg("%s: {%s: %s} is read as %g", table->name, option->key, text,
                             number_of(option, &values));
                /* in the place of whatever was there before */
                for (int before = 0; before < 2; before++) {
                    lud_grid_object made = {.type = (lud_grid_type)type};
                    if (before) memset(&made, 1, sizeof made);
                    made.type = (lud_grid_type)type;
                    lud_grid_thing_apply(&values, &made);
                    expect_same(&made, &thing);
                }
                n++;
            }
        }
    }
    assert_in_range(n, 100, 300);
}

/* Codes that a legend can take: two letters each, none twice, none that means something already, as many as
 * there are of both. */
static void codes_are_fresh(void **state) {
    (void)state;
    static const lud_grid_chances chances = {0};
    static char codes[4096][3];
    int next = 0, n = 0;
    for (char code[3] = ""; lud_grid_fresh_code(&next, &chances, code); n++) {
        lud_grid_thing thing;
        lud_error error = {0};
        assert_in_range(n, 0, 4095);
        assert_int_equal(strlen(code), 2);
        for (int k = 0; k < 2; k++)
            assert_true((code[k] >= '0' && code[k] <= '9') || (code[k] >= 'a' && code[k] <= 'z') ||
                        (code[k] >= 'A' && code[k] <= 'Z'));
        assert_int_equal(lud_grid_code_read(code, &chances, (lud_place){0}, &thing, &error), LUD_ERROR_INPUT);
        for (int k = 0; k < n; k++) assert_string_not_equal(codes[k], code);
        memcpy(codes[n], code, 3);
    }
    assert_in_range(n, 2900, 50 * 62);
    char code[3] = "";
    assert_false(lud_grid_fresh_code(&next, &chances, code)); /* nor later */
}

/* Worlds of very many generated cells are refused, of just as many as may be they are not. */
static void generated_cells_have_a_limit(void **state) {
    (void)state;
    static const struct {
        int side, maps;
        bool too_many;
    } cases[] = {{255, 64, false}, {255, 65, true}, {128, 256, false}, {128, 257, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[256];
        lud_tree *root;
        lud_grid_generate g;
        lud_error error = {0};
        lud_arena *own = lud_arena_create(0);
        snprintf(text, sizeof text, "{style: open, size: [%d, %d], maps: %d}", cases[k].side, cases[k].side,
                 cases[k].maps);
        if (lud_tree_read_text(own, "section", text, strlen(text), &root, &error)) fail_msg("%s", error.text);
        const lud_status status = lud_grid_generate_read(own, root, 3, &g, &error);
        if (cases[k].too_many) {
            assert_int_equal(status, LUD_ERROR_INPUT);
            assert_non_null(strstr(error.text, "maps of at most 4194304 cells together"));
        } else if (status) {
            fail_msg("%s", error.text);
        }
        lud_arena_destroy(own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters_are_kept),
                                       cmocka_unit_test(codes_are_fresh),
                                       cmocka_unit_test(generated_cells_have_a_limit)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
