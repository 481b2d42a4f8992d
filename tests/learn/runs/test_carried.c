/* What a RUN takes along: files that the world, the learner and `policies` name, each once, under names of
 * its own; the configuration then names the copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "learn/empo/exact/options.h"
#include "learn/runs/carried.h"

TEST_FOLDER("/tmp/ludus-carried-XXXXXX")

static const char scenario_text[] =
    "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay Ae .. "
    "We\n"
    "    We We We We We\n  max_steps: 3\ngoals: [{cell: [1, 1]}]\n"
    "policies: {human: {type: script, file: moves.yaml}}\n"
    "learner:\n  type: empo-exact\n  habit: {type: script, file: own/moves.yaml}\n"
    "  belief: {type: script, file: nowhere.yaml}\n";
static const char moves[] = "actions: [still]\n", others[] = "actions: [forward]\n";

static const char *in_folder(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    lud_error error = {0};
    if (lud_file_write(in_folder(name), text, strlen(text), &error)) fail_msg("%s", error.text);
}

static void holds(const char *name, const char *expected) {
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    char *text;
    size_t n;
    if (lud_file_read(arena, in_folder(name), 0, &text, &n, &error)) fail_msg("%s", error.text);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(text, expected, n);
    lud_arena_destroy(arena);
}

static const char *named(lud_tree *root, const char *section, const char *key) {
    return lud_tree_find(lud_tree_find(lud_tree_find(root, section), key), "file")->text;
}

static void what_is_named_is_taken_along(void **state) {
    (void)state;
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    lud_carried carried;
    assert_int_equal(mkdir(in_folder("own"), 0700), 0);
    assert_int_equal(mkdir(in_folder("run"), 0700), 0);
    put("moves.yaml", moves);
    put("own/moves.yaml", others);
    put("s.yaml", scenario_text);
    char run[512];
    snprintf(run, sizeof run, "%s", in_folder("run"));
    if (lud_scenario_load(in_folder("s.yaml"), NULL, 0, &scenario, &error) ||
        lud_scenario_effective(scenario, arena, &root, &error) ||
        lud_carried_plan(scenario, &lud_empo_exact_table, run, false, root, &carried, &error) ||
        lud_carried_copy(&carried, in_folder("run/files"), &error))
        fail_msg("%s", error.text);
    assert_int_equal(carried.n, 2);
    const char *acts = named(root, "policies", "human"), *habit = named(root, "learner", "habit");
    assert_string_not_equal(acts, habit); /* two files of one name */
    assert_int_equal(strncmp(acts, "files/", 6), 0);
    assert_int_equal(strncmp(habit, "files/", 6), 0);
    assert_string_equal(named(root, "learner", "belief"), "nowhere.yaml");
    char path[512];
    snprintf(path, sizeof path, "run/%s", acts);
    holds(path, moves);
    snprintf(path, sizeof path, "run/%s", habit);
    holds(path, others);
    lud_carried_free(&carried);
    assert_int_equal(carried.n, 0);
    lud_scenario_destroy(scenario);
    lud_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_named_is_taken_along)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
