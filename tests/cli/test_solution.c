/* solve, and what works on its RUN folder: run, record, inspect, eval; sweep. All through the program. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/file.h"
#include "cli/support_program.h"

#define KEY "scenarios/empo/fetch_the_key.yaml"

static char folder[] = "/tmp/ludus-solution-XXXXXX";
static char run_path[64], other_path[64];

static void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

static void check_failure(program_result r, int exit_code, const char *message) {
    if (r.exit_code != exit_code) fail_msg("exit code %d, expected %d: %s", r.exit_code, exit_code, r.err);
    assert_contains(r.err, message);
    program_free(&r);
}

static json_t *json_of(program_result r) {
    if (r.exit_code) fail_msg("exit code %d: %s", r.exit_code, r.err);
    json_error_t error;
    json_t *root = json_loads(r.out, 0, &error);
    if (!root) fail_msg("not JSON (%s):\n%s", error.text, r.out);
    program_free(&r);
    return root;
}

/* The number at `path`: keys with dots between them, numbers for places in lists. */
static double number_at(const json_t *root, const char *path) {
    const json_t *at = root;
    char word[64];
    for (const char *p = path; *p && at;) {
        size_t length = strcspn(p, ".");
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(word)) : json_object_get(at, word);
        p += length + (p[length] == '.');
    }
    if (!json_is_number(at)) fail_msg("no number at %s", path);
    return json_number_value(at);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(run_path, sizeof run_path, "%s/run", folder);
    snprintf(other_path, sizeof other_path, "%s/other", folder);
    program_result r = LUDUS("solve", KEY, "-o", run_path, "-q");
    if (r.exit_code) fail_msg("%s", r.err);
    assert_contains(r.out, "1.59 k");
    program_free(&r);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void test_run_acts_on_it(void **state) {
    (void)state;
    json_t *with = json_of(LUDUS("run", run_path, "-n", "400", "--json"));
    json_t *without = json_of(LUDUS("run", KEY, "-n", "400", "--json"));
    const json_t *robot = json_array_get(json_object_get(with, "agents"), 1);
    assert_string_equal(json_string_value(json_object_get(robot, "policy")), "solution");
    /* the robot opens the door: the person gets what it wants far more often */
    double reached = number_at(with, "agents.0.goals_reached.mean");
    assert_true(reached > number_at(without, "agents.0.goals_reached.mean") + 0.2);
    json_decref(with);
    json_decref(without);
    json_t *again = json_of(LUDUS("run", run_path, "-n", "400", "--json", "-t", "1"));
    assert_true(number_at(again, "agents.0.goals_reached.mean") == reached); /* for any number of threads */
    json_decref(again);
}

/* A solution acts where it is one: not on another map, for other goals, or for longer episodes. */
static void test_fits(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"s/We Ae We/.. Ae We/", "it does not have this state, which can be reached here: step"},
        {"s/cell: \\[1, 2\\]/cell: [1, 1]/", "agent 0 may want to be at (1, 1) here, to be at (1, 2) there"},
        {"s/max_steps: 4/max_steps: 5/", "from another start, or of shorter episodes"},
    };
    char path[96], solved[96], other[96], command[480];
    snprintf(command, sizeof command, "mkdir %s/fits", folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/fits/cellar.yaml", folder);
    snprintf(solved, sizeof solved, "%s/fits/cellar", folder);
    snprintf(other, sizeof other, "%s/fits/other.yaml", folder);
    static const char cellar[] =
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay Ly Ky We\n"
        "    We .. We Ae We\n    We We We We We\n  max_steps: 4\ngoals:\n  - {cell: [1, 2]}\n"
        "  - {rectangle: [1, 1, 3, 3]}\n";
    lud_error error = {0};
    assert_int_equal(lud_file_write(path, cellar, strlen(cellar), &error), LUD_OK);
    program_result r = LUDUS("solve", path, "-o", solved, "-q");
    if (r.exit_code) fail_msg("%s", r.err);
    program_free(&r);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(command, sizeof command, "sed '%s' %s > %s && ! cmp -s %s %s", cases[i][0], path, other,
                 path, other);
        assert_int_equal(system(command), 0);
        check_failure(LUDUS("run", other, "--policy", solved, "-n", "1"), 2, cases[i][1]);
    }
    json_decref(json_of(LUDUS("run", path, "--policy", solved, "-n", "9", "--json", "--set",
                              "multigrid.max_steps=3", "--seed", "7")));
    check_failure(LUDUS("eval", solved, "--policy", path), 2, "is a file, expected a RUN");
    check_failure(LUDUS("eval", solved, "--policy", "runs/nowhere"), 2,
                  "--policy: runs/nowhere: no such file");
}

static void test_record(void **state) {
    (void)state;
    char path[96], first[96];
    snprintf(path, sizeof path, "%s/frames.png", folder);
    snprintf(first, sizeof first, "%s/frames-00001.png", folder);
    json_t *all = json_of(LUDUS("record", run_path, "-o", path, "-f", "1", "--json", "-q"));
    assert_true(number_at(all, "frames") == 11);
    assert_true(number_at(all, "width") == 920);
    assert_true(lud_file_exists(first));
    json_decref(all);
    json_t *map =
        json_of(LUDUS("record", run_path, "-o", path, "-f", "1", "--overlay", "arrows", "--json", "-q"));
    assert_true(number_at(map, "width") == 640); /* no panel */
    json_decref(map);
    check_failure(LUDUS("record", run_path, "-o", path, "--overlay", "bars,arows"), 2,
                  "found 'arows', did you mean 'arrows'?");
    check_failure(LUDUS("record", KEY, "-o", path, "--overlay", "bars"), 2, "has no solution");
}

static void test_inspect(void **state) {
    (void)state;
    char file[96];
    snprintf(file, sizeof file, "%s/solution.empo", run_path);
    json_t *summary = json_of(LUDUS("solve", KEY, "-o", other_path, "--json"));
    json_t *start = json_of(LUDUS("inspect", run_path, "--json"));
    assert_true(number_at(start, "solution.states") == number_at(summary, "states"));
    assert_true(number_at(start, "solution.state") == 0);
    assert_true(number_at(start, "solution.values.V_r") == number_at(summary, "start.V_r"));
    assert_true(number_at(start, "solution.beta_r") == 40);
    /* the same by the file's name, and for a state given by its bytes */
    const char *hex = json_string_value(json_object_get(start, "state"));
    json_t *named = json_of(LUDUS("inspect", file, "--json", "--state", hex));
    assert_true(json_equal(json_object_get(named, "solution"), json_object_get(start, "solution")));
    program_result r = LUDUS("inspect", run_path, "--after", "3");
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "person 0: power X_h = ");
    assert_contains(r.out, "beta_h 10, gamma_h 0.99");
    program_free(&r);
    json_decref(summary);
    json_decref(start);
    json_decref(named);
}

static void test_eval(void **state) {
    (void)state;
    json_t *own = json_of(LUDUS("eval", run_path, "--policy", run_path, "--json"));
    assert_true(fabs(number_at(own, "regret")) < 1e-12);
    assert_true(fabs(number_at(own, "total_variation")) < 1e-12);
    json_t *random = json_of(LUDUS("eval", run_path, "--policy", "random", "--json"));
    assert_true(number_at(random, "regret") > 0.1);
    assert_true(number_at(random, "total_variation") > 0.1);
    assert_true(number_at(random, "V_r_solution") == number_at(own, "V_r_solution"));
    json_decref(own);
    json_decref(random);
    check_failure(LUDUS("eval", run_path, "--policy", "radnom"), 2, "random");
    check_failure(LUDUS("eval", folder, "--policy", "random"), 2, "scenario.yaml");
}

static void test_exports(void **state) {
    (void)state;
    char path[96];
    program_result r = LUDUS("solve", KEY, "-o", other_path, "-q", "-x", "drn", "-x", "mdp", "-x", "prism",
                             "-x", "csv", "-x", "dot");
    assert_int_equal(r.exit_code, 0);
    program_free(&r);
    static const char *const names[] = {"chain.drn",  "graph.drn",    "chain.tra", "chain.sta",   "chain.lab",
                                        "chain.srew", "solution.csv", "chain.dot", "summary.json"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(path, sizeof path, "%s/%s", other_path, names[k]);
        if (!lud_file_exists(path)) fail_msg("%s is missing", path);
    }
    check_failure(LUDUS("solve", KEY, "-o", other_path, "-x", "prims"), 2, "did you mean 'prism'?");
    check_failure(LUDUS("solve", KEY), 2, "-o RUN");
}

static void test_damaged_file(void **state) {
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "cp -r %s %s-cut && truncate -s 5000 %s-cut/solution.empo", run_path,
             run_path, run_path);
    assert_int_equal(system(command), 0);
    char cut[96];
    snprintf(cut, sizeof cut, "%s-cut", run_path);
    check_failure(LUDUS("run", cut), 2, "truncated: 5000 bytes");
    check_failure(LUDUS("inspect", cut), 2, "truncated");
    check_failure(LUDUS("eval", cut), 2, "truncated");
}

/* A world that takes a second or so: two people and a robot on open ground. */
static const char wide_world[] =
    "ludus: 1\nname: wide\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We Ay .. .. .. .. We\n    We .. .. .. .. .. We\n"
    "    We .. .. .. .. .. We\n    We .. .. Ae .. Ay We\n    We We We We We We We\n"
    "  max_steps: 5\n  actions: small\n"
    "goals:\n  - {rectangle: [1, 1, 5, 2]}\n  - {rectangle: [1, 3, 5, 4]}\n"
    "learner: {type: empo-exact, gamma_h: 0.9, gamma_r: 0.9}\n";

static void check_same(const char *a, const char *b) {
    char command[256];
    snprintf(command, sizeof command, "cmp %s/solution.empo %s/solution.empo", a, b);
    assert_int_equal(system(command), 0);
}

/* With a tenth of the memory the graph goes to files, and the solution is the same, byte for byte. So it is
 * after any number of interruptions. */
static void test_little_memory_and_interruptions(void **state) {
    (void)state;
    char world[96], whole[96], little[96], parts[96];
    snprintf(world, sizeof world, "%s/wide.yaml", folder);
    snprintf(whole, sizeof whole, "%s/whole", folder);
    snprintf(little, sizeof little, "%s/little", folder);
    snprintf(parts, sizeof parts, "%s/parts", folder);
    lud_error error = {0};
    if (lud_file_write(world, wide_world, sizeof wide_world - 1, &error)) fail_msg("%s", error.text);
    json_t *all = json_of(LUDUS("solve", world, "-o", whole, "--json"));
    json_t *few = json_of(LUDUS("solve", world, "-o", little, "--json", "-m", "0.012", "--method", "graph"));
    assert_true(number_at(all, "graph_file_bytes") == 0);
    assert_true(number_at(few, "graph_file_bytes") > 1e6);
    assert_true(number_at(few, "states") == number_at(all, "states"));
    check_same(whole, little);
    json_decref(all);
    json_decref(few);

    char file[128];
    snprintf(file, sizeof file, "%s/solution.empo", parts);
    const char *const words[] = {"solve", world, "-o", parts, "--resume", "-q", NULL};
    program_result r = program_run_interrupted(words);
    assert_int_equal(r.exit_code, 130);
    assert_contains(r.err, "interrupted");
    program_free(&r);
    /* then wherever it happens to be, later each time, until a run gets to its end */
    for (int milliseconds = 40; !lud_file_exists(file); milliseconds += milliseconds / 3 + 1) {
        r = program_run_interrupted_after(words, milliseconds);
        if (r.exit_code > 0) assert_contains(r.err, "interrupted");
        program_free(&r);
    }
    check_same(whole, parts);
}

/* Killed wherever it happens to be, later each time, until a session gets to its end: then the file is that
 * of the whole graph. */
static void test_levels_and_kills(void **state) {
    (void)state;
    char world[96], whole[96], levels[96], parts[96], file[128], command[512];
    snprintf(world, sizeof world, "%s/wide.yaml", folder);
    snprintf(whole, sizeof whole, "%s/whole", folder);
    snprintf(levels, sizeof levels, "%s/levels", folder);
    snprintf(parts, sizeof parts, "%s/killed", folder);
    snprintf(file, sizeof file, "%s/solution.empo", parts);
    /* memory that does not hold the graph: levels without being asked for, and said to be */
    json_t *few = json_of(LUDUS("solve", world, "-o", levels, "--json", "-m", "0.012"));
    assert_string_equal(json_string_value(json_object_get(few, "method")), "levels");
    check_same(whole, levels);
    json_t *all = json_of(LUDUS("solve", world, "-o", levels, "--json"));
    assert_string_equal(json_string_value(json_object_get(all, "method")), "graph");
    static const char *const equal[] = {"states", "transitions", "terminal", "joint_actions"};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        assert_true(number_at(few, equal[i]) == number_at(all, equal[i]));
    assert_true(json_equal(json_object_get(few, "start"), json_object_get(all, "start")));
    json_decref(few);
    json_decref(all);
    /* so are they when they are only counted */
    all = json_of(LUDUS("inspect", world, "--count", "--json"));
    few = json_of(LUDUS("inspect", world, "--count", "--json", "-m", "0.012"));
    const json_t *in_memory = json_object_get(all, "reachable"),
                 *by_levels = json_object_get(few, "reachable");
    assert_string_equal(json_string_value(json_object_get(in_memory, "method")), "graph");
    assert_string_equal(json_string_value(json_object_get(by_levels, "method")), "levels");
    static const char *const counted[] = {"states", "transitions", "terminal", "layers"};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        assert_true(number_at(by_levels, counted[i]) == number_at(in_memory, counted[i]));
    assert_true(number_at(by_levels, "bytes") < number_at(in_memory, "bytes"));
    json_decref(few);
    json_decref(all);
    check_failure(LUDUS("inspect", world, "--count", "-m", "0.001"), 1, "memory limit of ");
    int killed = 0;
    for (int milliseconds = 30; !lud_file_exists(file); milliseconds += milliseconds / 3 + 1) {
        snprintf(command, sizeof command,
                 "timeout -s KILL %d.%03d %s/ludus solve %s -o %s --method levels --resume -q > %s/out 2>&1",
                 milliseconds / 1000, milliseconds % 1000, LUDUS_BINARY_DIR, world, parts, folder);
        killed += system(command) != 0;
    }
    assert_true(killed > 0);
    check_same(whole, parts);
    snprintf(file, sizeof file, "%s/solution.empo.levels.partial", parts);
    assert_false(lud_file_exists(file));

    check_failure(LUDUS("solve", KEY, "-o", other_path, "--method", "level"), 2, "did you mean 'levels'?");
    /* an export is the same; where memory does not hold its graph that is told before the solution */
    program_result r = LUDUS("solve", KEY, "-o", parts, "-q", "--method", "levels", "-x", "mdp", "-x", "csv");
    assert_int_equal(r.exit_code, 0);
    program_free(&r);
    r = LUDUS("solve", KEY, "-o", levels, "-q", "--method", "graph", "-x", "mdp", "-x", "csv");
    assert_int_equal(r.exit_code, 0);
    program_free(&r);
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "solution.csv" : "graph.drn";
        snprintf(command, sizeof command, "cmp %s/%s %s/%s", parts, name, levels, name);
        assert_int_equal(system(command), 0);
    }
    check_failure(LUDUS("solve", world, "-o", levels, "--method", "levels", "-m", "0.012", "-x", "csv"), 1,
                  "memory limit of ");
    /* what would never fit is told before the work, with the estimate */
    check_failure(LUDUS("solve", world, "-o", levels, "--method", "levels", "-m", "0.001"), 1,
                  "two levels of the world have ");
}

/* A person who can get where no goal is: the message names the person, the goals and the state. */
static void test_uncovered_cells(void **state) {
    (void)state;
    static const char *const goals = "goals=[{cell: [1, 1]}]";
    program_result r = LUDUS("solve", KEY, "-o", other_path, "-q", "--set", goals);
    assert_int_not_equal(r.exit_code, 0);
    assert_contains(
        r.err,
        "no goal is open to agent 0 any more in a state that can be reached: agent 0 (yellow, human) at (");
    assert_contains(r.err, "be at (1, 1)");
    assert_contains(r.err, "agent 0 (yellow, human) at (");
    program_free(&r);
    check_failure(LUDUS("solve", KEY, "-o", other_path, "-q", "--set", goals, "--set",
                        "multigrid.goals_must_cover=true"),
                  2, "no goal of agent 0 covers the walkable cell (");
}

/* A sweep's row is the solution with those parameters. */
static void test_sweep(void **state) {
    (void)state;
    char table[96];
    snprintf(table, sizeof table, "%s/sweep.csv", folder);
    program_result r = LUDUS("sweep", KEY, "-o", table, "--vary", "learner.beta_r=1,40", "-q");
    if (r.exit_code) fail_msg("%s", r.err);
    program_free(&r);
    FILE *in = fopen(table, "r");
    assert_non_null(in);
    char header[4096], row[2][4096];
    assert_non_null(fgets(header, sizeof header, in));
    for (int k = 0; k < 2; k++) assert_non_null(fgets(row[k], sizeof row[k], in));
    assert_null(fgets(header + 2048, 2048, in));
    fclose(in);
    assert_contains(header, "learner.beta_r");
    assert_contains(header, "V_r");
    int column = 0, wanted = -1;
    for (char *word = strtok(header, ",\n"); word; word = strtok(NULL, ",\n"), column++)
        if (!strcmp(word, "V_r")) wanted = column;
    assert_true(wanted >= 0);
    json_t *solved = json_of(LUDUS("inspect", run_path, "--json"));
    column = 0;
    double value = NAN;
    for (char *word = strtok(row[1], ",\n"); word; word = strtok(NULL, ",\n"), column++)
        if (column == wanted) value = atof(word);
    double expected = number_at(solved, "solution.values.V_r");
    if (!(fabs(value - expected) < 1e-9 * fabs(expected)))
        fail_msg("the table says %.17g, the solution %.17g", value, expected);
    json_decref(solved);
}

int main(void) {
    if (chdir(LUDUS_SOURCE_DIR)) return 1; /* scenarios are named from there */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_acts_on_it),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_eval),
        cmocka_unit_test(test_exports),
        cmocka_unit_test(test_damaged_file),
        cmocka_unit_test(test_little_memory_and_interruptions),
        cmocka_unit_test(test_levels_and_kills),
        cmocka_unit_test(test_uncovered_cells),
        cmocka_unit_test(test_sweep),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
