/* What a data set says of its agents and observations, as JSON: written and read again it is the same, and
 * whatever is missing, of another type or out of range is refused. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/episodes/file/schema.h"

static const char *const turns[] = {"left", "right"}, *const moves[] = {"stay", "step", "jump"};
static const char *const *const names[] = {turns, moves, NULL};
static const char *const agents[] = {"robot", "person", "bird"};
static const int32_t n_choices[] = {2, 3, 4}, idle[] = {-1, 0, 3};
static const lud_observation_part parts[] = {
    {.name = "grid",
     .dtype = LUD_U8,
     .per_agent = true,
     .n_dimensions = 2,
     .dimensions = {5, 4},
     .bytes = 60},
    {.name = "time", .dtype = LUD_F32, .n_dimensions = 0, .bytes = 4}};
static const lud_data_info schema = {.n_agents = 3,
                                     .n_continuous = 2,
                                     .low = -1.5f,
                                     .high = 2.5f,
                                     .n_choices = n_choices,
                                     .choice_names = names,
                                     .idle = idle,
                                     .choices_vary = true,
                                     .agent_names = agents,
                                     .state_bytes = 24,
                                     .n_parts = 2,
                                     .parts = parts};

static void comes_back(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    char *text = lud_data_schema_write(&schema);
    lud_data_info info = {0};
    lud_error error = {0};
    if (lud_data_schema_read(text, "t", arena, &info, &error)) fail_msg("%s", error.text);
    free(text);
    assert_int_equal(info.n_agents, 3);
    assert_int_equal(info.n_continuous, 2);
    assert_float_equal(info.low, -1.5f, 0);
    assert_float_equal(info.high, 2.5f, 0);
    assert_true(info.choices_vary);
    assert_int_equal(info.state_bytes, 24);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(info.n_choices[i], n_choices[i]);
        assert_int_equal(info.idle[i], idle[i]);
        assert_string_equal(info.agent_names[i], agents[i]);
        assert_int_equal(info.choice_names[i] != NULL, names[i] != NULL);
        for (int k = 0; names[i] && k < n_choices[i]; k++)
            assert_string_equal(info.choice_names[i][k], names[i][k]);
    }
    assert_int_equal(info.n_parts, 2);
    for (int p = 0; p < 2; p++) {
        assert_string_equal(info.parts[p].name, parts[p].name);
        assert_int_equal(info.parts[p].dtype, parts[p].dtype);
        assert_int_equal(info.parts[p].per_agent, parts[p].per_agent);
        assert_int_equal(info.parts[p].n_dimensions, parts[p].n_dimensions);
        for (int d = 0; d < parts[p].n_dimensions; d++)
            assert_int_equal(info.parts[p].dimensions[d], parts[p].dimensions[d]);
        assert_int_equal(info.parts[p].bytes, parts[p].bytes);
    }
    lud_arena_destroy(arena);
}

/* Whether the schema can be read again, and how. */
static lud_status read_back(const lud_data_info *written, lud_arena *arena, lud_data_info *info) {
    lud_error error = {0};
    char *text = lud_data_schema_write(written);
    const lud_status status = lud_data_schema_read(text, "t", arena, info, &error);
    free(text);
    return status;
}

/* As many numbers of an action as there may be, and one more. */
static void the_most_numbers_of_an_action(void **state) {
    (void)state;
    enum { MOST = 4096 };
    for (int n = MOST; n <= MOST + 1; n++) {
        lud_arena *arena = lud_arena_create(0);
        lud_data_info wide = schema, info = {0};
        wide.n_continuous = n;
        const lud_status status = read_back(&wide, arena, &info);
        assert_int_equal(status, n == MOST ? LUD_OK : LUD_ERROR_INPUT);
        if (!status) assert_int_equal(info.n_continuous, n);
        lud_arena_destroy(arena);
    }
}

/* The same of parts of an observation. */
static void the_most_parts(void **state) {
    (void)state;
    lud_observation_part many[LUD_MAX_OBSERVATION_PARTS + 1];
    for (int p = 0; p <= LUD_MAX_OBSERVATION_PARTS; p++) many[p] = parts[0];
    for (int n = LUD_MAX_OBSERVATION_PARTS; n <= LUD_MAX_OBSERVATION_PARTS + 1; n++) {
        lud_arena *arena = lud_arena_create(0);
        lud_data_info wide = schema, info = {0};
        wide.n_parts = n;
        wide.parts = many;
        const lud_status status = read_back(&wide, arena, &info);
        assert_int_equal(status, n == LUD_MAX_OBSERVATION_PARTS ? LUD_OK : LUD_ERROR_INPUT);
        if (!status) assert_int_equal(info.n_parts, n);
        lud_arena_destroy(arena);
    }
}

/* ---- changed in one place ---- */

enum { MISSING, NOTHING, OTHER_TYPE, TOO_SMALL, TOO_LARGE, CHANGES };

/* What stands in the place of a value; null: this change does not concern it. */
static json_t *instead_of(const json_t *value, int change) {
    if (change == NOTHING) return json_null();
    if (change == OTHER_TYPE) return json_is_string(value) ? json_integer(1) : json_string("1");
    if (change == TOO_SMALL && json_is_integer(value)) return json_integer(-2);
    if (change == TOO_LARGE && json_is_integer(value)) return json_integer((json_int_t)1 << 40);
    return NULL;
}

static char *changed_text, changed_place[64];

static bool change_below(json_t *root, json_t *node, int change, int *left);

/* The same for one value, which stands under `key` or, where that is null, at place i of a list. */
static bool change_here_or_below(json_t *root, json_t *node, const char *key, size_t i, json_t *value,
                                 int change, int *left) {
    if ((*left)-- > 0) return change_below(root, value, change, left);
    if (key)
        snprintf(changed_place, sizeof changed_place, "%s", key);
    else
        snprintf(changed_place, sizeof changed_place, "item %zu", i);
    json_t *instead = instead_of(value, change);
    if (key && strcmp(key, "choices_vary") == 0) { /* may be left out */
        json_decref(instead);
        return true;
    }
    if (key && change == MISSING)
        json_object_del(node, key);
    else if (key && instead)
        json_object_set_new(node, key, instead);
    else if (instead)
        json_array_set_new(node, i, instead);
    else
        return true;
    changed_text = json_dumps(root, 0);
    return true;
}

/* Changes the place number `*left` below a node, counted from 0 in the order of a walk; true: it is done. */
static bool change_below(json_t *root, json_t *node, int change, int *left) {
    const char *key;
    json_t *value;
    size_t i;
    json_object_foreach(node, key, value) {
        if (change_here_or_below(root, node, key, 0, value, change, left)) return true;
    }
    json_array_foreach(node, i, value) {
        if (change_here_or_below(root, node, NULL, i, value, change, left)) return true;
    }
    return false;
}

static void what_is_wrong_is_refused(void **state) {
    (void)state;
    char *text = lud_data_schema_write(&schema);
    int tried = 0;
    for (int change = 0; change < CHANGES; change++)
        for (int place = 0;; place++) {
            json_t *root = json_loads(text, 0, NULL);
            int left = place;
            changed_text = NULL;
            const bool there = change_below(root, root, change, &left);
            if (changed_text) {
                lud_arena *arena = lud_arena_create(0);
                lud_data_info info = {0};
                lud_error error = {0};
                if (lud_data_schema_read(changed_text, "t", arena, &info, &error) != LUD_ERROR_INPUT)
                    fail_msg("change %d of %s was taken: %s", change, changed_place, changed_text);
                assert_non_null(strstr(error.text, "t: expected agents, actions and observations"));
                lud_arena_destroy(arena);
                tried++;
            }
            free(changed_text);
            json_decref(root);
            if (!there) break;
        }
    assert_in_range(tried, 100, 1000);
    free(text);
}

/* The ends of what is allowed. */
static void ends_of_ranges(void **state) {
    (void)state;
    static const struct {
        int32_t n_choices, idle;
        bool good;
    } cases[] = {{1, 0, true},  {1, 1, false}, {1, -1, true}, {0, -1, true},
                 {0, 0, false}, {5, 4, true},  {5, 5, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_data_info one = schema;
        one.n_agents = 1;
        one.n_choices = &cases[i].n_choices;
        one.idle = &cases[i].idle;
        one.choice_names = NULL;
        char *text = lud_data_schema_write(&one);
        lud_arena *arena = lud_arena_create(0);
        lud_data_info info = {0};
        assert_int_equal(lud_data_schema_read(text, "t", arena, &info, NULL) == LUD_OK, cases[i].good);
        lud_arena_destroy(arena);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back), cmocka_unit_test(the_most_numbers_of_an_action),
        cmocka_unit_test(the_most_parts), cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(ends_of_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
