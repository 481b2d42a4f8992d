/* What a RUN takes along: files that the world, the learner and `policies` name, each once, under names of
 * its own; the configuration then names the copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "learn/clone/options.h"
#include "learn/empo/exact/options.h"
#include "learn/runs/carried.h"
#include "written.h"

TEST_FOLDER("/tmp/ludus-carried-XXXXXX")

static const char scenario_text[] =
    "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay Ae .. "
    "We\n"
    "    We We We We We\n  max_steps: 3\ngoals: [{cell: [1, 1]}]\n"
    "policies: {human: {type: script, file: moves.yaml}}\n"
    "learner:\n  type: empo-exact\n  habit: {type: script, file: own/moves.yaml}\n"
    "  belief: {type: script, file: nowhere.yaml}\n";
static const char moves[] = "actions: [still]\n", others[] = "actions: [forward]\n";

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

/* A scenario whose files lie in a RUN's folder. */
typedef struct {
    lud_scenario *scenario;
    lud_arena *arena;
    lud_tree *root;
    lud_carried carried;
} carry;

/* Plans what the RUN `run` takes along of the scenario in `file`, with `setting` where it is not NULL, and
 * copies it. */
static carry take_along(const char *file, const char *setting, const lud_option_table *learner,
                        const char *run, bool resume) {
    lud_error error = {0};
    carry c = {.arena = lud_arena_create(0)};
    char path[512], files[64];
    snprintf(path, sizeof path, "%s", in_folder(run));
    snprintf(files, sizeof files, "%s/files", run);
    if (lud_scenario_load(in_folder(file), &setting, setting != NULL, &c.scenario, &error) ||
        lud_scenario_effective(c.scenario, c.arena, &c.root, &error) ||
        lud_carried_plan(c.scenario, learner, path, resume, c.root, &c.carried, &error) ||
        lud_carried_copy(&c.carried, in_folder(files), &error))
        fail_msg("%s", error.text);
    return c;
}

static void leave(carry *c) {
    lud_carried_free(&c->carried);
    lud_scenario_destroy(c->scenario);
    lud_arena_destroy(c->arena);
}

static const char *named(lud_tree *root, const char *section, const char *key) {
    return lud_tree_find(lud_tree_find(lud_tree_find(root, section), key), "file")->text;
}

static void what_is_named_is_taken_along(void **state) {
    (void)state;
    assert_int_equal(mkdir(in_folder("own"), 0700), 0);
    assert_int_equal(mkdir(in_folder("run"), 0700), 0);
    write_in(folder, "moves.yaml", moves);
    write_in(folder, "own/moves.yaml", others);
    write_in(folder, "s.yaml", scenario_text);
    carry c = take_along("s.yaml", NULL, &lud_empo_exact_table, "run", false);
    assert_int_equal(c.carried.n, 2);
    const char *acts = named(c.root, "policies", "human"), *habit = named(c.root, "learner", "habit");
    assert_string_not_equal(acts, habit); /* two files of one name */
    assert_int_equal(strncmp(acts, "files/", 6), 0);
    assert_int_equal(strncmp(habit, "files/", 6), 0);
    assert_string_equal(named(c.root, "learner", "belief"), "nowhere.yaml");
    char path[512];
    snprintf(path, sizeof path, "run/%s", acts);
    holds(path, moves);
    snprintf(path, sizeof path, "run/%s", habit);
    holds(path, others);
    leave(&c);
    assert_int_equal(c.carried.n, 0);
}

/* ---- going on ---- */

static const char acting_text[] =
    "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay Ae .. "
    "We\n    We We We We We\n  max_steps: 3\ngoals: [{cell: [1, 1]}]\n"
    "policies: {human: {type: run, run: trained}, robot: {type: script, file: moves.yaml}}\n";

/* Plans and copies into again/files, and says how the RUN and the file are named there. */
static void go_on(char run[64], char file[64]) {
    carry c = take_along("acting.yaml", NULL, NULL, "again", true);
    assert_int_equal(c.carried.n, 2);
    lud_tree *human = lud_tree_find(lud_tree_find(c.root, "policies"), "human");
    snprintf(run, 64, "%s", lud_tree_find(human, "run")->text);
    snprintf(file, 64, "%s", named(c.root, "policies", "robot"));
    leave(&c);
}

static void make_folder(const char *name) {
    assert_int_equal(mkdir(in_folder(name), 0700), 0);
}

/* The number of a process that is no more. */
static long number_of_none(void) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (long)child;
}

/* A text longer than what is compared and copied at once; texts of two kinds differ in the last byte. */
static const char *long_text(char last) {
    enum { LENGTH = (1 << 20) + (1 << 16) };
    static char text[LENGTH + 1];
    memset(text, '#', LENGTH);
    text[LENGTH - 1] = last;
    return text;
}

/* What lies in a RUN keeps its name as long as it is the same to the last byte; else another name is found
 * and nothing is overwritten. Of a RUN only what acts is taken. A copy that a killed process has begun is
 * none. */
static void going_on_overwrites_nothing(void **state) {
    (void)state;
    char run[64], file[64];
    make_folder("trained");
    make_folder("trained/files");
    make_folder("again");
    write_in(folder, "moves.yaml", moves);
    write_in(folder, "acting.yaml", acting_text);
    write_in(folder, "trained/scenario.yaml", scenario_text);
    write_in(folder, "trained/policy.safetensors", long_text('1'));
    write_in(folder, "trained/checkpoint.safetensors", "from which training goes on");
    write_in(folder, "trained/metrics.csv", "a table");
    write_in(folder, "trained/files/map.txt", "one");
    make_folder("again/files");
    char begun[96], begun_file[128];
    snprintf(begun, sizeof begun, "again/files/trained.partial-%ld", number_of_none());
    make_folder(begun);
    snprintf(begun_file, sizeof begun_file, "%s/scenario.yaml", begun);
    write_in(folder, begun_file, scenario_text);

    go_on(run, file);
    assert_string_equal(run, "files/trained");
    assert_string_equal(file, "files/moves.yaml");
    assert_false(lud_folder_exists(in_folder(begun)));
    holds("again/files/moves.yaml", moves);
    holds("again/files/trained/scenario.yaml", scenario_text);
    holds("again/files/trained/policy.safetensors", long_text('1'));
    holds("again/files/trained/files/map.txt", "one");
    assert_false(lud_file_exists(in_folder("again/files/trained/checkpoint.safetensors")));
    assert_false(lud_file_exists(in_folder("again/files/trained/metrics.csv")));

    go_on(run, file); /* all is there */
    assert_string_equal(run, "files/trained");
    assert_string_equal(file, "files/moves.yaml");

    write_in(folder, "trained/policy.safetensors", long_text('2'));
    write_in(folder, "moves.yaml", others);
    go_on(run, file);
    assert_string_equal(run, "files/trained-2");
    assert_string_equal(file, "files/moves-2.yaml");
    holds("again/files/trained/policy.safetensors", long_text('1'));
    holds("again/files/trained-2/policy.safetensors", long_text('2'));
    holds("again/files/moves.yaml", moves);
    holds("again/files/moves-2.yaml", others);

    write_in(folder, "trained/files/map.txt", "two"); /* in a folder within */
    write_in(folder, "moves.yaml", moves);
    go_on(run, file);
    assert_string_equal(run, "files/trained-3");
    assert_string_equal(file, "files/moves.yaml");
    holds("again/files/trained-2/files/map.txt", "one");
    holds("again/files/trained-3/files/map.txt", "two");

    /* without a policy its checkpoint acts */
    assert_int_equal(unlink(in_folder("trained/policy.safetensors")), 0);
    go_on(run, file);
    assert_string_equal(run, "files/trained-4");
    holds("again/files/trained-4/checkpoint.safetensors", "from which training goes on");
    assert_false(lud_file_exists(in_folder("again/files/trained-4/policy.safetensors")));

    /* a file where the RUN's copy would be, a folder where the file's */
    char left[512];
    snprintf(left, sizeof left, "%s", in_folder("again/before"));
    assert_int_equal(rename(in_folder("again/files"), left), 0);
    make_folder("again/files");
    make_folder("again/files/moves.yaml");
    write_in(folder, "again/files/trained", "a file");
    go_on(run, file);
    assert_string_equal(run, "files/trained-2");
    assert_string_equal(file, "files/moves-2.yaml");
    holds("again/files/trained", "a file");
}

/* A RUN may be named by a file of its parameters, which is then taken along, and by its folder besides. */
static void runs_are_named_by_their_files(void **state) {
    (void)state;
    make_folder("best");
    make_folder("named");
    write_in(folder, "best/scenario.yaml", scenario_text);
    write_in(folder, "best/policy.safetensors", "the best");
    write_in(folder, "best/checkpoint.safetensors", "the last");
    write_in(folder, "alone.safetensors", "of no RUN");
    const char *const policies[] = {
        "policies={human: {type: run, run: best/checkpoint.safetensors}}",
        ("policies={human: {type: run, run: best}, robot: {type: run, run: best/checkpoint.safetensors}, "
         "other: {type: run, run: best/checkpoint.safetensors}, 0: {type: run, run: alone.safetensors}, "
         "1: {type: run, run: best/policy.safetensors}}"),
    };
    write_in(folder, "two.yaml", acting_text);
    for (int named_by = 0; named_by < 2; named_by++)
        for (int again = 0; again < 2; again++) {
            carry c = take_along("two.yaml", policies[named_by], NULL, "named", true);
            const lud_tree *list = lud_tree_find(c.root, "policies");
            const char *const runs[][2] = {
                {"human", named_by ? "files/best" : "files/best/checkpoint.safetensors"},
                {"robot", "files/best/checkpoint.safetensors"},
                {"other", "files/best/checkpoint.safetensors"},
                {"0", "alone.safetensors"},
                {"1", "files/best/policy.safetensors"},
            };
            for (int i = 0; i < (named_by ? 5 : 1); i++)
                assert_string_equal(lud_tree_find(lud_tree_find(list, runs[i][0]), "run")->text, runs[i][1]);
            holds("named/files/best/scenario.yaml", scenario_text);
            holds("named/files/best/policy.safetensors", "the best");
            holds("named/files/best/checkpoint.safetensors", "the last");
            assert_false(lud_folder_exists(in_folder("named/files/best-2")));
            leave(&c);
        }
}

/* Data that is a folder is taken along as a file is. */
static void folders_of_data_are_taken_along(void **state) {
    (void)state;
    make_folder("set");
    make_folder("set/data");
    make_folder("cloned");
    write_in(folder, "set/data/main_data.hdf5", "episodes");
    write_in(folder, "more.h5", "more episodes");
    write_in(folder, "clone.yaml", scenario_text);
    const char *learner = "learner={type: clone, data: [set, more.h5, nowhere]}";
    carry c = take_along("clone.yaml", learner, &lud_clone_option_table, "cloned", false);
    const lud_tree *data = lud_tree_find(lud_tree_find(c.root, "learner"), "data")->child;
    assert_string_equal(data->text, "files/set");
    assert_string_equal(data->next->text, "files/more.h5");
    assert_string_equal(data->next->next->text, "nowhere");
    holds("cloned/files/set/data/main_data.hdf5", "episodes");
    holds("cloned/files/more.h5", "more episodes");
    leave(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named_is_taken_along),
        cmocka_unit_test(going_on_overwrites_nothing),
        cmocka_unit_test(runs_are_named_by_their_files),
        cmocka_unit_test(folders_of_data_are_taken_along),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
