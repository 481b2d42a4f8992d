/* What a newcomer types: it is done as meant, or answered with what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "cli/support_program.h"
#include "folder.h"

#define RESCUE LUDUS_SOURCE_DIR "/scenarios/multigrid/rescue.yaml"
#define KEY    LUDUS_SOURCE_DIR "/scenarios/empo/fetch_the_key.yaml"
#define SPREAD LUDUS_SOURCE_DIR "/scenarios/particle/simple_spread.yaml"
#define NICHE  LUDUS_SOURCE_DIR "/scenarios/empo/learned/step_out_of_the_way.yaml"

static char folder[] = "/tmp/ludus-first-hour-XXXXXX";

static const char *in_folder(const char *name) {
    return path_in(folder, name);
}

static void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

/* A call that must fail with 2, nothing on stdout and this message. */
static void refused(program_result r, const char *message) {
    if (r.exit_code != 2) fail_msg("exit code %d: %s", r.exit_code, r.err);
    assert_string_equal(r.out, "");
    assert_contains(r.err, message);
    program_free(&r);
}

/* A call that must succeed and print this. */
static void done(program_result r, const char *part) {
    if (r.exit_code != 0) fail_msg("exit code %d: %s", r.exit_code, r.err);
    assert_contains(r.out, part);
    program_free(&r);
}

static void write_text(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

/* ---- hints ---- */

static void test_hints(void **state) {
    (void)state;
    refused(LUDUS("run", RESCUE, "--set", "max_steps=3"),
            "found 'max_steps'; its place is multigrid.max_steps, as in --set multigrid.max_steps=...");
    refused(LUDUS("run", RESCUE, "--set", "seed=3"), "its place is run.seed");
    refused(LUDUS("run", RESCUE, "--set", "beta_r=3"),
            "its place is learner.beta_r, as in --set learner.beta_r=...");
    refused(LUDUS("sweep", RESCUE, "-v", "beta_r=1,2"),
            "place is learner.beta_r, as in --vary learner.beta_r=...");
    refused(LUDUS("sweep", RESCUE, "-v", "learner.beta=1,2"), "did you mean 'beta_h'?");
    refused(LUDUS("sweep", RESCUE, "-v", "learner.beta_r=1,-2"),
            "--vary learner.beta_r=-2: beta_r: expected");
    refused(LUDUS("run", RESCUE, "--set", "stumble=1"), "its place is multigrid.chances.stumble");
    refused(
        LUDUS("train", RESCUE, "-o", in_folder("none")),
        "there is no `learner:` section to train with, for instance --set learner.type=NAME; in multigrid: "
        "empo-phase1, empo-phase2, graph-mappo");
    assert_false(lud_folder_exists(in_folder("none")));
    refused(LUDUS("eval", RESCUE), "rescue.yaml is a scenario, expected a RUN; `ludus solve ");
    refused(LUDUS("eval", NICHE), "is a scenario, expected a RUN; `ludus train ");
    refused(LUDUS("run", LUDUS_SOURCE_DIR "/scenarios/empo"),
            "a folder of scenarios, expected one of them or a RUN");
    refused(LUDUS("view", folder), "a folder without scenario.yaml, so no RUN");
    refused(LUDUS("eval", folder), "a folder without scenario.yaml, so no RUN");
    refused(LUDUS("train", folder), "--resume goes on with a RUN, -o RUN makes another");
    refused(LUDUS("sweep", KEY, "learner.beta_r"),
            "sweep: what varies stands behind -v: -v learner.beta_r=1:100:10:log");
    refused(LUDUS("sweep", KEY, "-q", "-v", "learner.beta_rr=1,2"), "did you mean 'beta_r'?");
    refused(LUDUS("plot", folder, "-c", "loss", "-o", "x.jpg"),
            "x.jpg: a plot is written as .png, .svg or .pdf");
    refused(LUDUS("plot", folder, "-c", "loss", "-o", "-"), "-: a plot is written as .png, .svg or .pdf");
}

/* `--policy` is a RUN whose learner can act here, or an error. */
static void test_policies(void **state) {
    (void)state;
    const char *const verbs[] = {"run", "record"};
    const char *other = in_folder("spread");
    done(LUDUS("train", SPREAD, "-o", other, "-q", "--set", "run.steps=400", "--set", "run.environments=4",
               "--set", "learner.evaluation_episodes=2"),
         "graph-mappo, 4 of 4 iterations");
    for (int i = 0; i < 2; i++) {
        const char *out = in_folder("never.png");
        const char *const more = i ? "-o" : "-n", *const value = i ? out : "1";
        refused(LUDUS(verbs[i], RESCUE, "--policy", "random", more, value), "--policy: random");
        refused(LUDUS(verbs[i], RESCUE, "--policy", folder, more, value), "--policy: ");
        refused(LUDUS(verbs[i], RESCUE, "--policy", other, more, value),
                "a run of the world 'particle', the scenario has 'multigrid'");
        assert_false(lud_file_exists(out));
    }
}

/* ---- help ---- */

/* Every key of every table is in the help of its world, its policy or its learner, and all of them in
 * `options`. */
static void test_keys(void **state) {
    (void)state;
    static const struct {
        const char *topic, *keys[8];
    } topics[] = {
        {"particle",
         {"local_ratio", "control_noise", "hidden_in", "over_from", "hard", "terminate", "paint"}},
        {"proof", {"fact_cap_random", "per_positive", "shaping_gamma", "format", "with_rules"}},
        {"multigrid", {"goals_must_cover", "solidify", "legend", "ensemble", "extra_doors", "trigger"}},
        {"heuristic", {"beta"}},
        {"graph-mappo", {"rollout_length", "base_gain"}},
        {"empo-exact", {"beta_r", "terminal_value"}}};
    program_result all = LUDUS("help", "options");
    assert_int_equal(all.exit_code, 0);
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        program_result r = LUDUS("help", topics[i].topic);
        assert_int_equal(r.exit_code, 0);
        for (int k = 0; k < 8 && topics[i].keys[k]; k++) {
            assert_contains(r.out, topics[i].keys[k]);
            assert_contains(all.out, topics[i].keys[k]);
        }
        program_free(&r);
    }
    program_free(&all);
    done(LUDUS("--version"), "ludus 0.");
}

/* The page has the table that the program prints, and every code of it reads as a map. */
static void test_codes(void **state) {
    (void)state;
    lud_arena *arena = lud_arena_create(0);
    char *page = NULL;
    size_t length = 0;
    assert_int_equal(lud_file_read(arena, LUDUS_SOURCE_DIR "/docs/multigrid.md", 0, &page, &length, NULL),
                     LUD_OK);
    program_result r = LUDUS("help", "codes", "--markdown");
    assert_int_equal(r.exit_code, 0);
    assert_contains(page, r.out);
    int n = 0;
    const char *path = in_folder("map.yaml");
    for (const char *at = r.out; (at = strchr(at, '`'));) {
        char code[3] = {at[1], at[2] == '*' ? 'r' : at[2], 0};
        const bool whole = at[3] == '`';
        at = strchr(at + 1, '`') + 1;
        if (!whole) continue; /* a letter of a colour */
        char map[200];
        snprintf(map, sizeof map,
                 "ludus: 1\nworld: multigrid\nmultigrid: {map: [We We We We, We Ay %s We, We We We We]}\n",
                 code);
        write_text(path, map);
        program_result read = LUDUS("inspect", path);
        if (read.exit_code != 0) fail_msg("%s: %s", code, read.err);
        program_free(&read);
        n++;
    }
    assert_true(n > 30);
    program_free(&r);
    lud_arena_destroy(arena);
}

/* ---- numbers, names, lengths ---- */

static void test_numbers(void **state) {
    (void)state;
    done(LUDUS("run", RESCUE, "-n", "0x2", "--seed", "0o17"), "seed 15");
    done(LUDUS("run", RESCUE, "-n", "2", "--set", "run.seed=0x10"), "seed 16");
    refused(LUDUS("run", RESCUE, "--set", "multigrid.rewards.step=1e-400"), "found '1e-400'");
    refused(LUDUS("run", RESCUE, "--set", "multigrid.rewards.step=1e400"), "found '1e400'");
    refused(LUDUS("sweep", KEY, "-v", "learner.beta_r=1e-400,1"), "expected KEY=a,b,c");
    refused(LUDUS("solve", KEY, "-o", in_folder("none"), "--memory", "1e-400"), "found '1e-400'");
    done(LUDUS("inspect", KEY, "--count", "--memory", "0.5"), "reachable: 1589 states");
    done(LUDUS("inspect", KEY, "--count", "--memory", "500M"), "reachable: 1589 states");
    done(LUDUS("inspect", KEY, "--count", "-m", "1 GiB"), "KiB of memory");
    refused(
        LUDUS("inspect", KEY, "--count", "--memory", "8GB"),
        "--memory: expected memory in GiB, or with its unit (8, 8G, 500M), from 0.001 to 1e+06 GiB, found "
        "'8GB'");
    refused(LUDUS("solve", KEY, "-o", in_folder("none"), "--memory=10K"), "found '10K'");
    refused(LUDUS("train", NICHE, "-o", in_folder("none"), "--set", "learner.met_memory=1GB"),
            "met_memory: expected memory in GiB, or with its unit (0.5, 512M, 8G), from 0 to 1000 GiB, found "
            "'1GB'");
    refused(LUDUS("train", NICHE, "-o", in_folder("none"), "--set", "run.steps=100"),
            "run.steps counts environment steps, by which empo-phase2 does not");
}

static void test_control_characters(void **state) {
    (void)state;
    const char *path = in_folder("names.yaml");
    write_text(path,
               "ludus: 1\nname: \"red \\e[31m\\x9b name\"\nabout: |\n  two\n  lines\a\nworld: particle\n"
               "particle: {task: simple}\n");
    program_result r = LUDUS("inspect", path);
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "red ?[31m? name: two lines?\n");
    program_free(&r);
}

/* ---- folders ---- */

static void test_unsolved(void **state) {
    (void)state;
    const char *run = in_folder("solved");
    refused(LUDUS("solve", KEY, "-o", run, "-q", "--set", "goals=[{cell: [4, 1]}]"),
            "no goal is open to agent 0");
    assert_false(lud_folder_exists(run));
    /* before the graph: nothing of it is built */
    program_result r = LUDUS("solve", LUDUS_SOURCE_DIR "/scenarios/empo/large.yaml", "-o", run, "--set",
                             "goals=[{cell: [1, 1]}]");
    assert_int_equal(r.exit_code, 2);
    assert_contains(r.err, "no goal is open to agent 0");
    assert_contains(r.err, "(yellow, human) at (");
    assert_null(strstr(r.err, "state space:"));
    assert_false(lud_folder_exists(run));
    program_free(&r);
    const char *const words[] = {"solve", KEY, "-o", run, "-q", NULL};
    r = program_run_interrupted(words);
    assert_int_equal(r.exit_code, 130);
    program_free(&r);
    if (lud_folder_exists(run)) refused(LUDUS("run", run), run);
    done(LUDUS("solve", KEY, "-o", run, "-q"), "1.59 k");
    /* what fails does not harm the RUN that is there */
    refused(LUDUS("solve", KEY, "-o", run, "-q", "--set", "goals=[{cell: [4, 1]}]"), "no goal is open");
    done(LUDUS("eval", run), "at the start V_r = ");
}

/* A training that cannot begin leaves nothing that looks like one: the next is not told that there is a run.
 */
static void test_no_start(void **state) {
    (void)state;
    const char *run = in_folder("no_start");
    for (int i = 0; i < 2; i++)
        refused(LUDUS("train", SPREAD, "-o", run, "-q", "--set", "learner.start=nowhere"), "learner.start: ");
    refused(LUDUS("train", LUDUS_SOURCE_DIR "/scenarios/tribes/village_ticks.yaml", "-o", run, "-q", "--set",
                  "learner.start=nowhere"),
            "learner.start: ");
    refused(LUDUS("run", run), "a folder without scenario.yaml, so no RUN");
    refused(LUDUS("train", SPREAD, "-o", run, "-q", "--set", "learner.novelty_relative=true"),
            "nothing is paid for what is new");
}

/* A training says how it went and what comes next, and goes on by its folder's name alone. */
/* Types what a training says can be done next, but what opens a window. */
static int type_next(const char *out) {
    int n = 0;
    const char *line = strstr(out, "Next:\n");
    assert_non_null(line);
    for (line += strlen("Next:\n"); strncmp(line, "  ", 2) == 0; line = strchr(line, '\n') + 1) {
        char command[900];
        const int length = (int)strcspn(line, "\n");
        snprintf(command, sizeof command, "cd '%s' && %.*s > typed.txt 2>&1", folder, length, line);
        if (strstr(command, " view ")) continue;
        if (system(command) != 0) fail_msg("%s", command);
        n++;
    }
    return n;
}

static void test_training(void **state) {
    (void)state;
    const char *run = in_folder("trained");
    const char *const words[] = {"train",
                                 SPREAD,
                                 "-o",
                                 run,
                                 "-q",
                                 "--set",
                                 "run.environments=4",
                                 "--set",
                                 "run.steps=400",
                                 "--set",
                                 "learner.evaluation_episodes=2",
                                 NULL};
    program_result r = program_run_interrupted(words);
    assert_int_equal(r.exit_code, 130);
    assert_contains(r.err, "stopped after 0 of 4 iterations, the state is saved; --resume continues");
    char next[200];
    snprintf(next, sizeof next, "ludus train %s --resume", run);
    assert_contains(r.out, next);
    program_free(&r);
    r = LUDUS("train", run, "--resume", "-q");
    if (r.exit_code != 0) fail_msg("%s", r.err);
    assert_contains(r.out, "graph-mappo, 4 of 4 iterations");
    assert_contains(r.out, "evaluation/return");
    assert_contains(r.out, "policy.safetensors: parameters of iteration 4");
    snprintf(next, sizeof next, "ludus eval %s\n", run);
    assert_contains(r.out, next);
    assert_int_equal(type_next(r.out), 3);
    program_free(&r);
    /* two columns with a comma are two panels */
    const char *both = in_folder("both.png"), *each = in_folder("each.png");
    done(LUDUS("plot", run, "-c", "reward,entropy", "-o", both), "both.png written");
    done(LUDUS("plot", run, "-c", "reward", "-c", "entropy", "-o", each), "each.png written");
    lud_arena *arena = lud_arena_create(0);
    char *a = NULL, *b = NULL;
    size_t n_a = 0, n_b = 0;
    assert_int_equal(lud_file_read(arena, both, 0, &a, &n_a, NULL), LUD_OK);
    assert_int_equal(lud_file_read(arena, each, 0, &b, &n_b, NULL), LUD_OK);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(a, b, n_a);
    lud_arena_destroy(arena);
}

/* A prover's RUN is asked something that its own files know. */
static void test_prover(void **state) {
    (void)state;
    program_result r =
        LUDUS("train", LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml", "-o", in_folder("prover"), "-q",
              "--set", "learner.total_steps=2000", "--set", "learner.evaluation.queries=2");
    if (r.exit_code != 0) fail_msg("%s", r.err);
    assert_contains(r.out, "(x, y)\"\n");
    assert_int_equal(type_next(r.out), 4);
    program_free(&r);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hints),    cmocka_unit_test(test_policies),
        cmocka_unit_test(test_keys),     cmocka_unit_test(test_codes),
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_unsolved), cmocka_unit_test(test_no_start),
        cmocka_unit_test(test_training), cmocka_unit_test(test_prover)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char line[96];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    return system(line) == 0 ? failed : 1;
}
