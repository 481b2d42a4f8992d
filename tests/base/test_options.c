/* Option tables: reading, defaults, errors with their places, writing back, help and docs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/option_rows.h"

typedef struct inner {
    double x;
    int64_t needed;
} inner;

typedef struct values {
    bool flag;
    int64_t count;
    double rate;
    int side;
    const char *name, *path;
    lud_int_list sizes;
    lud_real_list rates;
    lud_text_list words;
    inner part;
    lud_tree *rest;
} values;

static const char *const sides[] = {"left", "right", NULL};
#define OPTIONS inner
static const lud_option inner_options[] = {
    REAL(x, "0.5", 0, 1, "a part"),
    INT(needed, NULL, 0, 9, "must be there"),
};
static const lud_option_table inner_table = OPTION_TABLE("part", "an inner section", inner_options);
#undef OPTIONS
#define OPTIONS values
static const lud_option options[] = {
    BOOL(flag, "true", "on or off"),
    INT(count, "3", 1, 1e19, "how many", "steps"),
    REAL(rate, "1e-3", 0, 1, "how fast"),
    CHOICE(side, "right", sides, "where"),
    TEXT(name, "''", "what"),
    TEXT(path, NULL, "a file"),
    INTS(sizes, "[64, 64]", 1, 100, "sizes"),
    REALS(rates, "[]", -1e300, 1e300, "rates"),
    TEXTS(words, "[a, '1']", "words"),
    SECTION(part, inner_table, "inner"),
    TREE(rest, "read elsewhere"),
};
static const lud_option_table table = OPTION_TABLE("thing", "a thing", options);

typedef struct store {
    double held;
} store;
#undef OPTIONS
#define OPTIONS store
static const lud_option store_options[] = {MEMORY(held, "0.25", 0, 1000, "how much")};
static const lud_option_table store_table = OPTION_TABLE("store", "a store", store_options);

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

static lud_tree *tree(const char *text) {
    lud_tree *root;
    lud_error error = {0};
    if (lud_tree_read_text(arena, "o.yaml", text, strlen(text), &root, &error)) fail_msg("%s", error.text);
    return root;
}

static values read_ok(const char *text) {
    values v;
    lud_error error = {0};
    if (lud_options_read(&table, arena, tree(text), &v, &error)) fail_msg("%s", error.text);
    return v;
}

static void read_fails(const char *text, const char *message) {
    values v;
    lud_error error = {0};
    assert_int_equal(lud_options_read(&table, arena, tree(text), &v, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, message);
}

static void test_defaults(void **state) {
    (void)state;
    values v = read_ok("part: {needed: 2}\npath: ~\nrest:\n");
    assert_true(v.flag);
    assert_int_equal(v.count, 3);
    assert_true(v.rate == 1e-3);
    assert_int_equal(v.side, 1);
    assert_string_equal(v.name, "");
    assert_null(v.path);
    assert_null(v.rest);
    assert_int_equal(v.sizes.n, 2);
    assert_int_equal(v.sizes.items[1], 64);
    assert_int_equal(v.rates.n, 0);
    assert_string_equal(v.words.items[1], "1");
    assert_true(v.part.x == 0.5);
    assert_int_equal(v.part.needed, 2);
}

static void test_read(void **state) {
    (void)state;
    values v = read_ok(
        "{flag: false, count: 9223372036854775807, rate: 1, side: left, name: n, path: p, sizes: [1], "
        "rates: [1, -2.5], words: [], part: {x: 1, needed: 0}, rest: {a: 1}}");
    assert_false(v.flag);
    assert_int_equal(v.count, INT64_MAX);
    assert_int_equal(v.side, 0);
    assert_string_equal(v.path, "p");
    assert_true(v.rates.items[1] == -2.5);
    assert_int_equal(v.words.n, 0);
    assert_non_null(v.rest);
}

static void test_memory(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double gibibytes; /* negative: refused */
    } cases[] = {{"{}", 0.25},         {"held: 2", 2},          {"held: 512M", 0.5}, {"held: 3 GiB", 3},
                 {"held: 1T", -1},     {"held: -1", -1},        {"held: 1GB", -1},   {"held: '1'", -1},
                 {"held: [1, 2]", -1}, {"held: 1000 GiB", 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        store v;
        lud_error error = {0};
        const lud_status status = lud_options_read(&store_table, arena, tree(cases[i].text), &v, &error);
        if (cases[i].gibibytes < 0.0) {
            assert_int_equal(status, LUD_ERROR_INPUT);
            assert_non_null(strstr(error.text, "o.yaml:1:7: held: expected memory in GiB, or with its unit "
                                               "(0.5, 512M, 8G), from 0 to 1000 GiB, found "));
            continue;
        }
        if (status || v.held != cases[i].gibibytes) fail_msg("%s: %g %s", cases[i].text, v.held, error.text);
        lud_tree *out = lud_tree_add_mapping(arena, NULL, NULL);
        assert_int_equal(lud_options_write(&store_table, arena, &v, out, &error), LUD_OK);
        store again;
        assert_int_equal(lud_options_read(&store_table, arena, out, &again, &error), LUD_OK);
        assert_true(again.held == v.held);
    }
}

static void test_errors(void **state) {
    (void)state;
    read_fails("part: {needed: 1}\nfalg: true\n", "o.yaml:2:1: expected flag, count, rate, side, name, path, "
                                                  "sizes, rates, words, part or rest as key, found "
                                                  "'falg'; did you mean 'flag'?");
    read_fails("part: {neded: 1}\n",
               "o.yaml:1:8: expected x or needed as key in 'part', found 'neded'; did you mean 'needed'?");
    read_fails("part: {x: 1}\n",
               "o.yaml:1:7: expected the key 'needed' in 'part' (must be there), found none");
    read_fails("flag: true\n", "expected the key 'needed' in 'part' (must be there), found none");
    read_fails("part: 3\n", "o.yaml:1:7: part: expected a section of `key: value` lines, found '3'");
    read_fails("[1]\n", "o.yaml:1:1: expected a section of `key: value` lines, found a list of 1");
    read_fails("part: {needed: 1}\ncount: 0\n",
               "o.yaml:2:8: count: expected an integer of at least 1, found '0'");
    read_fails("part: {needed: 1}\ncount:\n",
               "o.yaml:2:1: count: expected an integer of at least 1, found nothing");
    read_fails("part: {needed: 1}\nrate: 1.5\n",
               "o.yaml:2:7: rate: expected a number from 0 to 1, found '1.5'");
    read_fails("part: {needed: 1}\nside: rihgt\n",
               "o.yaml:2:7: side: expected left or right, found 'rihgt'; did you mean 'right'?");
    read_fails("part: {needed: 1}\nflag: 1\n", "o.yaml:2:7: flag: expected true or false, found '1'");
    read_fails("part: {needed: 1}\nname: [a]\n", "o.yaml:2:7: name: expected text, found a list of 1");
    read_fails("part: {needed: 1}\nsizes: 3\n", "o.yaml:2:8: sizes: expected a list of integers, found '3'");
    read_fails("part: {needed: 1}\nrates: 3\n", "o.yaml:2:8: rates: expected a list of numbers, found '3'");
    read_fails("part: {needed: 1}\nwords: a\n", "o.yaml:2:8: words: expected a list of texts, found 'a'");
    read_fails("part: {needed: 1}\nsizes: [1, 101]\n",
               "o.yaml:2:12: expected an integer from 1 to 100, found '101'");
}

static void test_round_trip(void **state) {
    (void)state;
    values v = read_ok(
        "{flag: false, rate: 0.1, name: 'a: b', sizes: [3], rates: [0.3333333333333333], part: {needed: 4}, "
        "rest: [1, {k: 'v'}]}");
    lud_tree out = {.kind = LUD_TREE_MAPPING};
    lud_error error = {0};
    char *text, *again;
    size_t length;
    assert_int_equal(lud_options_write(&table, arena, &v, &out, &error), LUD_OK);
    assert_int_equal(lud_tree_write(arena, &out, &text, &length, &error), LUD_OK);
    values w = read_ok(text);
    lud_tree second = {.kind = LUD_TREE_MAPPING};
    assert_int_equal(lud_options_write(&table, arena, &w, &second, &error), LUD_OK);
    assert_int_equal(lud_tree_write(arena, &second, &again, &length, &error), LUD_OK);
    assert_string_equal(text, again);
    assert_true(v.rates.items[0] == w.rates.items[0]);
    assert_string_equal(w.name, "a: b");
    assert_non_null(strstr(text, "count: 3\n")); /* defaults are written too */
}

static void test_help(void **state) {
    (void)state;
    char *bytes;
    size_t length;
    FILE *out = open_memstream(&bytes, &length);
    lud_options_help(&table, out);
    fclose(out);
    assert_string_equal(bytes, "thing: a thing\n"
                               "  flag   on or off (true or false; default true)\n"
                               "  count  how many [steps] (integer of at least 1; default 3)\n"
                               "  rate   how fast (number from 0 to 1; default 1e-3)\n"
                               "  side   where (left, right; default right)\n"
                               "  name   what (text; default '')\n"
                               "  path   a file (text)\n"
                               "  sizes  sizes (list of integers from 1 to 100; default [64, 64])\n"
                               "  rates  rates (list of numbers; default [])\n"
                               "  words  words (list of texts; default [a, '1'])\n"
                               "  part   inner (section)\n"
                               "      x       a part (number from 0 to 1; default 0.5)\n"
                               "      needed  must be there (integer from 0 to 9; required)\n"
                               "  rest   read elsewhere (see the text)\n");
    free(bytes);
    out = open_memstream(&bytes, &length);
    lud_options_markdown(&table, out);
    fclose(out);
    assert_non_null(strstr(
        bytes, "| key | type | default | meaning |\n|---|---|---|---|\n| `flag` | true or false | `true` | "
               "on or off |\n"));
    assert_non_null(strstr(bytes, "| `part.needed` | integer from 0 to 9 | required | must be there |\n"));
    assert_non_null(strstr(bytes, "| `path` | text | | a file |\n"));
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),   cmocka_unit_test(test_read),
                                       cmocka_unit_test(test_memory),     cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_round_trip), cmocka_unit_test(test_help)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
