/* Options that are auto: what is given holds, what is open gets a value and a line that says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/automatic.h"
#include "base/options/option_rows.h"

typedef struct inner {
    int64_t layers;
} inner;

typedef struct values {
    bool automatic, flag;
    int64_t count;
    double rate;
    int side;
    inner part;
} values;

static const char *const sides[] = {"left", "right", NULL};
#define OPTIONS inner
TABLE(inner_table, "part", "an inner section", INT(layers, "2", 0, 8, "layers", AUTO));
#undef OPTIONS
#define OPTIONS values
TABLE(table, "thing", "a thing", LUD_AUTOMATIC_ROW, BOOL(flag, "true", "on or off", AUTO),
      INT(count, "3", 1, 100, "how many", AUTO), REAL(rate, "1e-3", 0, 1, "how fast", AUTO),
      CHOICE(side, "right", sides, "where", AUTO), SECTION(part, inner_table, "inner"));

static lud_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = lud_arena_create(0);
    return arena == NULL;
}

static int teardown(void **state) {
    (void)state;
    lud_arena_destroy(arena);
    return 0;
}

/* What is in effect after every option was chosen otherwise than its default, and what is said. */
static values choose(const char *text, const char **said) {
    values v;
    lud_tree *mapping = NULL;
    lud_error error = {0};
    if (text && lud_tree_read_text(arena, "o.yaml", text, strlen(text), &mapping, &error))
        fail_msg("%s", error.text);
    if (lud_options_read(&table, arena, mapping, &v, &error)) fail_msg("%s", error.text);
    lud_automatic a = {.table = &table, .mapping = mapping, .values = &v, .off = !v.automatic};
    lud_automatic_set(&a, &v.flag, 0, "there is no need");
    lud_automatic_set(&a, &v.count, 1000, "of %d", 7);
    lud_automatic_set(&a, &v.rate, 0.25, NULL);
    lud_automatic_set(&a, &v.side, 0, "it is shorter");
    lud_automatic_set(&a, &v.part.layers, 5, "deep");
    *said = lud_automatic_end(&a, arena);
    assert_non_null(*said);
    return v;
}

static void open_options_are_chosen(void **state) {
    (void)state;
    static const char *const texts[] = {
        NULL, "{}", "{flag: auto, count: auto, rate: auto, side: auto, part: {layers: auto}}", "{part: {}}"};
    for (int i = 0; i < 4; i++) {
        const char *said;
        const values v = choose(texts[i], &said);
        assert_false(v.flag);
        assert_int_equal(v.count, 100); /* its range ends there */
        assert_true(v.rate == 0.25);
        assert_int_equal(v.side, 0);
        assert_int_equal(v.part.layers, 5);
        assert_string_equal(said, "  flag                       false      there is no need\n"
                                  "  count                      100        of 7\n"
                                  "  side                       left       it is shorter\n"
                                  "  part.layers                5          deep\n");
    }
}

static void given_options_stay(void **state) {
    (void)state;
    const char *said;
    values v = choose("{flag: true, count: 3, rate: 0.001, side: right, part: {layers: 2}}", &said);
    assert_true(v.flag);
    assert_int_equal(v.count, 3);
    assert_true(v.rate == 0.001);
    assert_int_equal(v.side, 1);
    assert_int_equal(v.part.layers, 2);
    assert_string_equal(said, "");
    v = choose("{part: {layers: 7}}", &said);
    assert_int_equal(v.part.layers, 7);
    assert_int_equal(v.count, 100);
    assert_null(strstr(said, "layers"));
}

static void off_keeps_the_fixed_values(void **state) {
    (void)state;
    const char *said;
    const values v = choose("{automatic: false, count: 4, side: auto}", &said);
    assert_true(v.flag);
    assert_int_equal(v.count, 4);
    assert_true(v.rate == 0.001);
    assert_int_equal(v.side, 1);
    assert_int_equal(v.part.layers, 2);
    assert_string_equal(said, "");
}

static void open_or_not(void **state) {
    (void)state;
    values v;
    lud_tree *mapping;
    lud_error error = {0};
    static const char text[] = "{count: 5, rate: auto}";
    assert_int_equal(lud_tree_read_text(arena, "o.yaml", text, strlen(text), &mapping, &error), LUD_OK);
    assert_int_equal(lud_options_read(&table, arena, mapping, &v, &error), LUD_OK);
    lud_automatic a = {.table = &table, .mapping = mapping, .values = &v};
    assert_false(lud_automatic_is_open(&a, &v.count));
    assert_true(lud_automatic_is_open(&a, &v.rate));
    assert_true(lud_automatic_is_open(&a, &v.part.layers));
    a.off = true;
    assert_false(lud_automatic_is_open(&a, &v.rate));
    assert_non_null(lud_automatic_end(&a, arena));
}

/* `auto` is a word for options that can be it, and for no other. */
static void only_where_it_can_be(void **state) {
    (void)state;
    values v;
    lud_tree *mapping;
    lud_error error = {0};
    static const char text[] = "{automatic: auto}";
    assert_int_equal(lud_tree_read_text(arena, "o.yaml", text, strlen(text), &mapping, &error), LUD_OK);
    assert_int_equal(lud_options_read(&table, arena, mapping, &v, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "o.yaml:1:13: automatic: expected true or false, found 'auto'");
}

static void help_says_so(void **state) {
    (void)state;
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    assert_non_null(out);
    lud_options_help(&table, out);
    lud_options_markdown(&table, out);
    fclose(out);
    assert_non_null(strstr(bytes, "  count      how many (integer from 1 to 100; default auto [3])\n"));
    assert_non_null(strstr(bytes, "| `part.layers` | integer from 0 to 8 | `auto` [2] | layers |\n"));
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_options_are_chosen),    cmocka_unit_test(given_options_stay),
        cmocka_unit_test(off_keeps_the_fixed_values), cmocka_unit_test(open_or_not),
        cmocka_unit_test(only_where_it_can_be),       cmocka_unit_test(help_says_so)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
