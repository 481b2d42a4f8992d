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
#include <jansson.h>

#include "base/file.h"
#include "cli/support_program.h"

#define RESCUE "scenarios/multigrid/rescue.yaml"

static void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

/* A call that must fail: exit code, nothing on stdout, one message. */
static void check_failure(program_result r, int exit_code, const char *message) {
    if (r.exit_code != exit_code) fail_msg("exit code %d, expected %d: %s", r.exit_code, exit_code, r.err);
    assert_string_equal(r.out, "");
    assert_contains(r.err, message);
    program_free(&r);
}

static void test_mistakes(void **state) {
    (void)state;
    check_failure(LUDUS("rnu"), 2, "unknown verb 'rnu', did you mean 'ludus run'?");
    check_failure(LUDUS("xyzzy"), 2, "unknown verb 'xyzzy'; 'ludus help' lists the verbs");
    check_failure(LUDUS("run", RESCUE, "--epsiodes", "3"), 2,
                  "unknown option '--epsiodes' of 'ludus run', did you mean '--episodes'?");
    check_failure(LUDUS("run", RESCUE, "--qqqqqq"), 2,
                  "unknown option '--qqqqqq' of 'ludus run'; 'ludus run --help' lists them");
    check_failure(LUDUS("run"), 2, "'ludus run' needs SCENARIO|RUN; see 'ludus run --help'");
    check_failure(LUDUS("run", RESCUE, "more"), 2, "'ludus run' does not know what to do with 'more'");
    check_failure(LUDUS("run", RESCUE, "--episodes"), 2, "--episodes needs a value: --episodes N");
    check_failure(LUDUS("run", RESCUE, "--episodes", "many"), 2,
                  "--episodes: expected an integer from 1 to 1e+12, found 'many'");
    check_failure(LUDUS("run", RESCUE, "--episodes=0"), 2,
                  "--episodes: expected an integer from 1 to 1e+12, found '0'");
    check_failure(LUDUS("run", RESCUE, "--json=yes"), 2, "--json takes no value");
    check_failure(
        LUDUS("run", "scenarios/multigrid/rescu.yaml"), 2,
        "scenarios/multigrid/rescu.yaml: no such file, did you mean 'scenarios/multigrid/rescue.yaml'?");
    check_failure(LUDUS("run", "nowhere/at/all"), 2, "nowhere/at/all: no such file");
    check_failure(LUDUS("run", RESCUE, "--set", "run.sede=3"), 2, "seed");
    check_failure(LUDUS("run", RESCUE, "--set", "policies.robot.type=radnom"), 2, "random");
    check_failure(LUDUS("bench", "multigird"), 2, "unknown benchmark 'multigird', did you mean 'multigrid'?");
    check_failure(LUDUS("bench", "kernels", "--rows", "no such row"), 2,
                  "no row of these benchmarks has 'no such row' in its name");
    check_failure(LUDUS("help", "scenaro"), 2, "no help on 'scenaro', did you mean 'ludus help scenario'?");
    check_failure(LUDUS("help", "xyzzy"), 2, "no help on 'xyzzy'; 'ludus help' lists what there is");
    check_failure(LUDUS("inspect", RESCUE, "--state", "12"), 2, "hexadecimal digits, found 2");
    check_failure(LUDUS("record", RESCUE), 2, "'ludus record' needs -o FILE");
    check_failure(LUDUS("record", RESCUE, "-o", "x.mp4", "--size", "wide"), 2, "--size: expected N or WxH");
    check_failure(LUDUS("record", RESCUE, "-o", "x.mp4", "--theme", "drak"), 2,
                  "--theme: expected light or dark, found 'drak'; did you mean 'dark'?");
    check_failure(LUDUS("record", RESCUE, "-o", "x.avi"), 2, "mp4");
    check_failure(LUDUS("record", RESCUE, "-o", "x.mp4", "--caption", "x", "--no-caption"), 2,
                  "expected one of them");
    check_failure(LUDUS("record", RESCUE, RESCUE, "-o", "x.h5"), 2,
                  "a data set is made of one scenario or run");
    check_failure(LUDUS("record", RESCUE, RESCUE, "-o", "x.mp4", "--policy", "runs"), 2,
                  "--policy: is about one scenario");
    check_failure(LUDUS("record", RESCUE, "scenarios/particle/simple.yaml", "-o", "x.mp4"), 2,
                  "simple.yaml: expected the world of");
    check_failure(LUDUS("view", RESCUE, RESCUE, "--follow"), 2,
                  "--follow: expected the folder of one training");
    check_failure(LUDUS("view", RESCUE, "--caption", "x", "--no-caption"), 2,
                  "--caption and --no-caption: expected one");
    check_failure(LUDUS("record", RESCUE, "-o", "x.h5", "--no-caption"), 2,
                  "--no-caption: is about pictures");
}

#define SWEEP LUDUS("sweep", "scenarios/empo/fetch_the_key.yaml", "-o", "/tmp/ludus-never-written.csv",

/* Mistakes in the flags of single verbs. */
static void test_more_mistakes(void **state) {
    (void)state;
    check_failure(LUDUS("view", RESCUE, "--theme", "drak"), 2,
                  "--theme: expected light or dark, found 'drak'");
    char zeros[1000];
    memset(zeros, '0', sizeof zeros - 1);
    zeros[sizeof zeros - 1] = 0;
    program_result r = LUDUS("inspect", RESCUE, "--json");
    json_t *root = json_loads(r.out, 0, NULL);
    size_t digits = strlen(json_string_value(json_object_get(root, "state")));
    assert_in_range(digits, 2, sizeof zeros - 1);
    json_decref(root);
    program_free(&r);
    zeros[digits] = 0;
    zeros[digits - 2] = 'x';
    check_failure(LUDUS("inspect", RESCUE, "--state", zeros), 2,
                  "--state: expected hexadecimal digits, found 'x0'");
    check_failure(LUDUS("train", RESCUE), 2, "train needs a folder for its results: -o RUN");
    check_failure(LUDUS("train", RESCUE, "-o", "/tmp/ludus-never-written", "--precision", "f8"), 2,
                  "error: --precision: expected f32, tf32 or bf16, found 'f8'");
    check_failure(LUDUS("run", RESCUE, "--query", "p(a, b)"), 2, "expected a RUN");
    /* numbers of flags are no assignments: what is wrong is the file */
    char empty[] = "/tmp/ludus-empty-XXXXXX", text[128];
    const int made = mkstemp(empty);
    assert_true(made >= 0);
    close(made);
    snprintf(text, sizeof text, "error: %s:1:1: expected a scenario", empty);
    check_failure(LUDUS("run", empty, "--episodes", "1"), 2, text);
    check_failure(LUDUS("solve", empty, "-o", "/tmp/ludus-never-written", "--threads", "1"), 2, text);
    snprintf(text, sizeof text, "--set run.seed=1: %s:1:1: expected a file of", empty);
    check_failure(LUDUS("run", empty, "--set", "run.seed=1"), 2, text);
    remove(empty);
    enum { MOST = 64 };
    const char *words[2 + 2 * (MOST + 1) + 1] = {"run", RESCUE};
    for (int k = 0; k < 2 * MOST; k += 2) {
        words[2 + k] = "--set";
        words[3 + k] = "run.seed=3";
    }
    r = program_run(words);
    assert_int_equal(r.exit_code, 0);
    program_free(&r);
    words[2 + 2 * MOST] = "--set=run.seed=3";
    check_failure(program_run(words), 2, "--set: more than 64 times");
    words[0] = "sweep";
    words[1] = "scenarios/empo/fetch_the_key.yaml";
    words[2 + 2 * MOST] = "--vary=learner.beta_r=1";
    words[3 + 2 * MOST] = NULL; /* what is varied takes no place of theirs */
    r = program_run(words);
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "learner.beta_r,states"));
    program_free(&r);
    static const struct {
        const char *vary, *message;
    } sweeps[] = {
        {"beta_r", "--vary beta_r: expected KEY=a,b,c or KEY=low:high:count or KEY=low:high:count:log"},
        {"=1", "--vary =1: expected KEY=a,b,c"},
        {"k=a", "found 'k'"},
        {"k=,a", "--vary k=,a: expected KEY=a,b,c"},
        {"k=1,2x", "--vary k=1,2x: expected KEY=a,b,c"},
        {"k=1:", "--vary k=1:: expected KEY=a,b,c"},
        {"k=x:2:3", "--vary k=x:2:3: expected KEY=a,b,c"},
        {"k=1:2", "--vary k=1:2: expected KEY=a,b,c"},
        {"k=0:2:3:log", "--vary k=0:2:3:log: expected KEY=a,b,c"},
        {"k=2:1:3", "--vary k=2:1:3: expected KEY=a,b,c"}};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
        check_failure(SWEEP "--vary", sweeps[i].vary), 2, sweeps[i].message);
    check_failure(SWEEP "--vary", "learner.zeta=0.5"), 2, "--vary learner.zeta=0.5: zeta: expected");
    const char *varied[2 + 17 + 1] = {"sweep", RESCUE};
    for (int k = 0; k < 17; k++) varied[2 + k] = "--vary=run.seed=1";
    check_failure(program_run(varied), 1, "more than 16 --vary");
    check_failure(SWEEP "-q"), 2, "sweep SCENARIO needs something to vary: -v learner.beta_r=1:100:10:log");
    char many[600] = "k=1";
    for (int i = 0; i < 257; i++) strcat(many, ",1");
    check_failure(SWEEP "--vary", many), 1, "--vary k: more than 256 values");
    check_failure(SWEEP "--vary", "a=1:2:250", "--vary", "b=1:2:250", "--vary", "c=1:2:250"), 1,
                  "the grid has more than 10000000 points; use --samples");
}

/* What a verb prints must arrive. */
static void test_full_output(void **state) {
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    static const char message[] = "could not write the results to standard output";
    check_failure(LUDUS_TO("/dev/full", "run", RESCUE, "-n", "2", "--json"), 1, message);
    check_failure(LUDUS_TO("/dev/full", "run", RESCUE, "-n", "2"), 1, message);
    check_failure(LUDUS_TO("/dev/full", "inspect", RESCUE, "--json"), 1, message);
    check_failure(LUDUS_TO("/dev/full", "bench", "--list", "--json"), 1, message);
    check_failure(LUDUS_TO("/dev/full", "help"), 1, message);
}

/* The message of a broken file says where. */
static void test_file_with_a_mistake(void **state) {
    (void)state;
    char path[] = "/tmp/ludus-cli-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    static const char text[] =
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We\n    We Ay We\n    We We We\n"
        "  max_stesp: 5\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    program_result r = LUDUS("run", path);
    assert_int_equal(r.exit_code, 2);
    assert_string_equal(r.out, "");
    char expected[64];
    snprintf(expected, sizeof expected, "%s:8:3: ", path);
    assert_contains(r.err, expected);
    assert_contains(r.err, "max_steps");
    program_free(&r);
    unlink(path);
}

static void test_help(void **state) {
    (void)state;
    program_result bare = LUDUS("help"), dashed = LUDUS("--help");
    assert_int_equal(bare.exit_code, 0);
    assert_string_equal(bare.out, dashed.out);
    assert_string_equal(bare.err, "");
    program_free(&bare);
    program_free(&dashed);
    static const char *const verbs[] = {"run", "record", "inspect", "bench", "help"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        program_result flag = LUDUS(verbs[i], "--help"), topic = LUDUS("help", verbs[i]);
        assert_int_equal(flag.exit_code, 0);
        assert_string_equal(flag.out, topic.out);
        char usage[32];
        snprintf(usage, sizeof usage, "usage: ludus %s", verbs[i]);
        assert_contains(flag.out, usage);
        program_free(&flag);
        program_free(&topic);
    }
    program_result r = LUDUS("help", "scenario");
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "multigrid");
    assert_contains(r.out, "heuristic");
    assert_contains(r.out, "environments");
    program_free(&r);
    r = LUDUS("help", "options", "--markdown");
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "| `max_steps`");
    assert_contains(r.out, "| `beta`");
    program_free(&r);
    r = LUDUS("help", "multigrid");
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "max_steps");
    program_free(&r);
}

static json_t *json_of(const program_result *r) {
    json_error_t error;
    if (r->exit_code != 0) fail_msg("exit code %d: %s", r->exit_code, r->err);
    json_t *root = json_loads(r->out, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("not JSON: %s in\n%s", error.text, r->out);
    assert_string_equal(r->err, "");
    return root;
}

static double number(json_t *root, const char *key) {
    return json_number_value(json_object_get(root, key));
}

static void test_run_json(void **state) {
    (void)state;
    program_result r = LUDUS("run", RESCUE, "--episodes", "40", "--envs", "8", "--seed", "5", "--json");
    json_t *root = json_of(&r);
    assert_int_equal(number(root, "episodes"), 40);
    assert_int_equal(number(root, "environments"), 8);
    assert_int_equal(number(root, "seed"), 5);
    assert_int_equal(number(root, "steps"), 40 * 60);
    assert_true(number(root, "truncated") == 1 && number(root, "terminated") == 0);
    json_t *agents = json_object_get(root, "agents");
    assert_int_equal(json_array_size(agents), 2);
    assert_true(json_is_null(json_object_get(json_array_get(agents, 0), "goals_reached")));
    assert_true(number(json_object_get(json_array_get(agents, 1), "goals_reached"), "mean") > 0);

    /* the same for any number of threads; other seeds differ */
    static const char *const threads[] = {"1", "2", "5"};
    for (int i = 0; i < 3; i++) {
        program_result other =
            LUDUS("run", RESCUE, "-n", "40", "-e8", "-s5", "--threads", threads[i], "--json");
        json_t *same = json_of(&other);
        assert_true(json_equal(json_object_get(same, "agents"), agents));
        json_decref(same);
        program_free(&other);
    }
    program_result other = LUDUS("run", RESCUE, "--episodes", "40", "--envs", "8", "--seed", "6", "--json");
    json_t *different = json_of(&other);
    assert_false(json_equal(json_object_get(different, "agents"), agents));
    json_decref(different);
    program_free(&other);
    json_decref(root);
    program_free(&r);
}

static void test_run_table(void **state) {
    (void)state;
    program_result r = LUDUS("run", RESCUE, "--episodes", "20", "--set", "policies.robot=random", "--set",
                             "multigrid.rewards.step=-0.5");
    assert_int_equal(r.exit_code, 0);
    assert_string_equal(r.err, ""); /* no progress line outside a terminal */
    assert_contains(r.out, "rescue (multigrid), seed 1, 16 environments");
    assert_contains(r.out, "    0  robot  random        -30.000 ± 0.000");
    assert_contains(r.out, "    1  human  heuristic     -30.000 ± 0.000");
    program_free(&r);
}

static void test_run_limits(void **state) {
    (void)state;
    /* a limit of steps ends it before any episode does */
    program_result r = LUDUS("run", RESCUE, "--steps", "160", "--envs", "16", "--json");
    json_t *root = json_of(&r);
    assert_int_equal(number(root, "steps"), 160);
    assert_int_equal(number(root, "episodes"), 0);
    json_decref(root);
    program_free(&r);
    /* Ctrl-C: what was finished is shown, exit code 130 */
    const char *const words[] = {"run", RESCUE, "--episodes", "1000000000", "--json", NULL};
    r = program_run_interrupted(words);
    assert_int_equal(r.exit_code, 130);
    assert_contains(r.err, "interrupted after");
    root = json_loads(r.out, 0, NULL);
    assert_non_null(root);
    assert_true(number(root, "episodes") < 1e9);
    json_decref(root);
    program_free(&r);
}

static void test_inspect(void **state) {
    (void)state;
    program_result r = LUDUS("inspect", RESCUE);
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "joint actions 49");
    assert_contains(r.out, "goal 1, weight 0.25: be at (5, 1)");
    assert_contains(r.out, "yellow door at (4, 3): locked");
    program_free(&r);

    /* a state printed as JSON can be shown again */
    r = LUDUS("inspect", RESCUE, "--after", "7", "--json");
    json_t *root = json_of(&r);
    assert_int_equal(number(root, "joint_actions"), 49);
    const char *hex = json_string_value(json_object_get(root, "state"));
    const char *description = json_string_value(json_object_get(root, "description"));
    assert_contains(description, "step 7 of 60");
    program_result again = LUDUS("inspect", RESCUE, "--state", hex, "--json");
    json_t *same = json_of(&again);
    assert_string_equal(json_string_value(json_object_get(same, "description")), description);
    json_decref(same);
    program_free(&again);
    json_decref(root);
    program_free(&r);
}

static void test_inspect_counts(void **state) {
    (void)state;
    program_result r = LUDUS("inspect", "scenarios/multigrid/tiny.yaml", "--estimate", "--count", "--json");
    json_t *root = json_of(&r), *counted = json_object_get(root, "reachable"),
           *estimated = json_object_get(root, "estimate");
    /* one agent, 4 actions, 4 cells and 4 directions, steps 0 to 6 */
    assert_int_equal(number(counted, "layers"), 7);
    assert_true(number(counted, "states") > 7 && number(counted, "states") <= 7 * 16);
    assert_true(number(estimated, "states") == number(counted, "states"));
    assert_string_equal(json_string_value(json_object_get(estimated, "kind")), "exact");
    assert_true(number(counted, "transitions") ==
                4 * (number(counted, "states") - number(counted, "terminal")));
    json_decref(root);
    program_free(&r);
}

/* The effective configuration is itself a scenario, and the same one. */
static void test_effective(void **state) {
    (void)state;
    program_result r = LUDUS("inspect", RESCUE, "--effective", "--seed", "9");
    assert_int_equal(r.exit_code, 0);
    char path[] = "/tmp/ludus-cli-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_int_equal(write(fd, r.out, strlen(r.out)), strlen(r.out));
    close(fd);
    program_result again = LUDUS("inspect", path, "--effective");
    assert_int_equal(again.exit_code, 0);
    assert_string_equal(again.out, r.out);
    program_free(&again);
    program_free(&r);
    unlink(path);
}

static void test_bench_list(void **state) {
    (void)state;
    program_result r = LUDUS("bench", "--list");
    assert_int_equal(r.exit_code, 0);
    assert_contains(r.out, "multigrid");
    assert_contains(r.out, "statespace");
    assert_contains(r.out, " (slow)"); /* what runs only when it is named */
    program_free(&r);
}

static void test_record(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-cli-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/run.gif", folder);
    program_result r = LUDUS("record", RESCUE, "-o", path, "--steps", "3", "--size", "96", "-f", "1",
                             "--hold", "0", "--json");
    json_t *root = json_of(&r);
    assert_int_equal(number(root, "steps"), 3);
    assert_true(number(root, "frames") >= 4);
    assert_int_equal(access(path, R_OK), 0);
    json_decref(root);
    program_free(&r);
    unlink(path);
    rmdir(folder);
}

/* Sixteen robots with four actions each. */
static void test_too_many_joint_actions(void **state) {
    (void)state;
    char path[] = "/tmp/ludus-cli-XXXXXX.yaml";
    const int file = mkstemps(path, 5);
    FILE *out = fdopen(file, "w");
    assert_non_null(out);
    fputs("ludus: 1\nworld: multigrid\nmultigrid: {max_steps: 3, actions: small, map: \"", out);
    for (int row = 0; row < 3; row++)
        for (int x = 0; x < 18; x++) fputs(x == 17 ? "We\\n" : row != 1 || x == 0 ? "We " : "Ae ", out);
    fputs("\"}\n", out);
    assert_int_equal(fclose(out), 0);
    check_failure(LUDUS("inspect", path, "--count", "--json"), 2,
                  "world 'multigrid' has no finite number of joint actions here (at most 2^31 - 1)");
    unlink(path);
}

static void test_interrupted_bench(void **state) {
    (void)state;
    check_failure(program_run_interrupted((const char *const[]){"bench", "update", NULL}), 130,
                  "interrupted");
}

/* What was learned in pictures: error norms as curves, and frames with attention and the error norm beside.
 */
static void check_pictures(const char *folder, const char *run) {
    char plot[80], path[80], frame[80];
    snprintf(plot, sizeof plot, "%s/loop.png", folder);
    snprintf(path, sizeof path, "%s/frame.png", folder);
    snprintf(frame, sizeof frame, "%s/frame-00002.png", folder);
    program_result r = LUDUS("eval", run, "--against", run, "--plot", plot);
    if (r.exit_code != 0) fail_msg("%s", r.err);
    assert_non_null(strstr(r.out, "loop.png written"));
    program_free(&r);
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    char *bytes[4];
    size_t n[4];
    assert_int_equal(lud_file_read(arena, plot, 0, &bytes[0], &n[0], &error), LUD_OK);
    assert_true(n[0] > 1000 && memcmp(bytes[0], "\x89PNG", 4) == 0);
    static const char *const overlays[] = {"none", "edges", "edges,trace"};
    static const int widths[] = {640, 640, 920}; /* curves stand beside the world */
    for (int k = 0; k < 3; k++) {
        r = LUDUS("record", run, "-o", path, "-f", "1", "--steps", "2", "--overlay", overlays[k], "--json",
                  "-q", "--set", "particle.graph.edge_distance=1");
        json_t *root = json_of(&r);
        assert_int_equal(number(root, "width"), widths[k]);
        json_decref(root);
        program_free(&r);
        assert_int_equal(lud_file_read(arena, frame, 0, &bytes[k + 1], &n[k + 1], &error), LUD_OK);
    }
    assert_true(n[1] != n[2] || memcmp(bytes[1], bytes[2], n[1]) != 0);
    lud_arena_destroy(arena);
}

/* `eval --episodes` is the option evaluation_episodes of the learner's own evaluation: other episodes, other
 * figures. */
static void test_eval_episodes(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-cli-XXXXXX", run[64], command[64];
    assert_non_null(mkdtemp(folder));
    double returns[3];
    const char *const how[3][2] = {
        {"--episodes", "7"}, {"--set", "learner.evaluation_episodes=7"}, {"--episodes", "2"}};
    snprintf(run, sizeof run, "%s/few", folder);
    program_result r =
        LUDUS("train", "scenarios/particle/simple.yaml", "-o", run, "-q", "--set", "run.environments=2",
              "--set", "learner.steps=100", "--set", "learner.hidden_size=8");
    if (r.exit_code != 0) fail_msg("%s", r.err);
    program_free(&r);
    for (int k = 0; k < 3; k++) {
        r = LUDUS("eval", run, "--json", how[k][0], how[k][1]);
        json_t *root = json_of(&r);
        returns[k] = number(root, "evaluation/return");
        json_decref(root);
        program_free(&r);
    }
    assert_true(returns[0] == returns[1]);
    assert_true(returns[0] != returns[2]);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* Trains a policy with a magnitude for a moment; its closed loop and a team of another size as JSON. */
static void test_eval_json(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-cli-XXXXXX", run[64], command[64];
    assert_non_null(mkdtemp(folder));
    snprintf(run, sizeof run, "%s/run", folder);
    program_result r =
        LUDUS("train", "scenarios/particle/navigation_5.yaml", "-o", run, "-q", "--set", "particle.agents=2",
              "--set", "particle.graph.edge_distance=0.3", "--set", "run.environments=2", "--set",
              "learner.steps=100", "--set", "learner.evaluation_episodes=2", "--set", "learner.hidden_size=8",
              "--set", "learner.graph={hidden_size: 4, heads: 1, embed_hidden_size: 4, layers: 0}");
    if (r.exit_code != 0) fail_msg("%s", r.err);
    program_free(&r);

    r = LUDUS("eval", run, "--json");
    json_t *root = json_of(&r), *loop = json_object_get(root, "closed_loop"), *one;
    assert_true(json_is_number(json_object_get(root, "evaluation/return")));
    const double modulus = number(loop, "largest_eigenvalue");
    assert_true(modulus > 0 && modulus < 1);
    assert_true(number(loop, "gain_bound") > 0);
    assert_true(json_is_boolean(json_object_get(loop, "stable")));
    json_t *loops = json_object_get(loop, "loops");
    assert_int_equal(json_array_size(loops), 3 + 2 * 4); /* and two a team of 3, 5, 7, 10 */
    bool all_fall = true;
    size_t i;
    json_array_foreach(loops, i, one) {
        json_t *norms = json_object_get(one, "error_norm");
        assert_int_equal(json_array_size(norms), 201);
        assert_true(json_number_value(json_array_get(norms, 0)) > 0);
        assert_true(number(one, "largest") >= json_number_value(json_array_get(norms, 0)));
        if (i > 0) all_fall = all_fall && json_is_true(json_object_get(one, "falls"));
    }
    assert_int_equal(json_is_true(json_object_get(loop, "stable")), all_fall);
    assert_int_equal(number(json_array_get(loops, 0), "agents"), 2);
    assert_int_equal(number(json_array_get(loops, 10), "agents"), 10);
    json_decref(root);
    program_free(&r);

    r = LUDUS("eval", run, "--json", "--set", "particle.agents=4", "--against", run, "--episodes", "7");
    root = json_of(&r);
    assert_int_equal(number(root, "trained_agents"), 2);
    assert_int_equal(number(root, "agents"), 4);
    assert_int_equal(number(root, "episodes"), 7);
    assert_true(json_is_number(
        json_object_get(json_object_get(json_object_get(root, "measures"), "success"), "mean")));
    loops = json_object_get(json_object_get(root, "closed_loop"), "loops");
    assert_int_equal(number(json_array_get(loops, 1), "agents"), 4);
    loops = json_object_get(json_object_get(root, "against"), "loops");
    assert_int_equal(number(json_array_get(loops, 1), "agents"), 2);
    json_decref(root);
    program_free(&r);

    /* the likeliest actions, as it was trained to be evaluated, or drawn ones */
    double returns[3];
    const char *how[] = {"run.seed=1", "learner.deterministic=true", "learner.deterministic=false"};
    for (int k = 0; k < 3; k++) {
        r = LUDUS("run", run, "--json", "--episodes", "4", "--set", how[k]);
        root = json_of(&r);
        one = json_array_get(json_object_get(root, "agents"), 0);
        returns[k] = number(json_object_get(one, "return"), "mean");
        json_decref(root);
        program_free(&r);
    }
    assert_true(returns[0] == returns[1]);
    assert_true(returns[0] != returns[2]);
    check_pictures(folder, run);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    if (chdir(LUDUS_SOURCE_DIR)) return 1; /* scenarios are named from there */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_more_mistakes),
        cmocka_unit_test(test_full_output),
        cmocka_unit_test(test_file_with_a_mistake),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_run_json),
        cmocka_unit_test(test_run_table),
        cmocka_unit_test(test_run_limits),
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_inspect_counts),
        cmocka_unit_test(test_effective),
        cmocka_unit_test(test_bench_list),
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_eval_json),
        cmocka_unit_test(test_eval_episodes),
        cmocka_unit_test(test_too_many_joint_actions),
        cmocka_unit_test(test_interrupted_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
