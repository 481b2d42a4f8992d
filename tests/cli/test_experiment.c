/* `ludus experiment`: what runs, what is told, what goes on after an interrupt, what the tables say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/support_program.h"
#include "folder.h"
#include "learn/store/history.h"

TEST_FOLDER("/tmp/ludus-experiment-XXXXXX")

static const char *write_file(const char *name, const char *text) {
    lud_error error = {0};
    const char *path = in_folder(name);
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
    return path;
}

static char *read_file(const char *path) {
    static char text[4][8192];
    static int k;
    k = (k + 1) % 4;
    FILE *stream = fopen(path, "rb");
    if (!stream) fail_msg("%s is not there", path);
    text[k][fread(text[k], 1, sizeof text[k] - 1, stream)] = '\0';
    fclose(stream);
    return text[k];
}

static const char scenario[] =
    "ludus: 1\nname: point\nworld: particle\nparticle: {task: simple}\nrun: {environments: 4}\n"
    "learner: {type: graph-mappo, automatic: false, steps: 1200, rollout_length: 25, hidden_size: 8, "
    "recurrent: false, "
    "epochs: 1, minibatches: 1, evaluation_episodes: 4}\n";
static const char plan[] =
    "experiment: small\nscore: evaluation/return\nscenarios: [point.yaml]\n"
    "variants:\n  slow: {learner.learning_rate: 0.0001}\n  fast: {learner.learning_rate: 0.01}\n"
    "seeds: [3, 5]\n";

static double last_of(const char *run, const char *column) {
    lud_history h;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    if (lud_history_read(arena, run, column, &h, &error)) fail_msg("%s", error.text);
    assert_true(h.n > 0);
    const double value = h.value[h.n - 1];
    lud_arena_destroy(arena);
    return value;
}

static void everything_runs_once(void **state) {
    (void)state;
    write_file("point.yaml", scenario);
    const char *file = write_file("small.yaml", plan);
    char out[128], line[512];
    snprintf(out, sizeof out, "%s", in_folder("small"));
    program_result r = LUDUS("experiment", file, "-o", out, "-j", "2");
    if (r.exit_code != 0) fail_msg("%s", r.err);
    assert_non_null(strstr(r.out, "1 scenarios x 2 variants x 2 seeds = 4 trainings"));
    assert_non_null(strstr(r.out, "| slow | 2 | "));
    assert_null(strstr(r.out, "were there already"));
    program_free(&r);
    static const char *const made[] = {"small/summary.csv", "small/summary.tex", "small/summary.md",
                                       "small/curves.png", "small/point/fast/seed-5.log"};
    for (size_t k = 0; k < sizeof made / sizeof *made; k++) assert_true(lud_file_exists(in_folder(made[k])));
    /* the table has what the runs measured, and a run is the training with these settings */
    const char *table = read_file(in_folder("small/runs.csv"));
    static const char *const variants[] = {"slow", "fast"};
    for (int v = 0; v < 2; v++)
        for (int seed = 3; seed <= 5; seed += 2) {
            char run[256];
            snprintf(run, sizeof run, "%s/point/%s/seed-%d", out, variants[v], seed);
            snprintf(line, sizeof line, "point,%s,%d,%.17g,\n", variants[v], seed,
                     last_of(run, "evaluation/return"));
            if (!strstr(table, line)) fail_msg("no line %s in %s", line, table);
        }
    r = LUDUS("train", in_folder("point.yaml"), "-o", in_folder("alone"), "--seed", "5", "--set",
              "learner.learning_rate=0.01", "-q");
    assert_int_equal(r.exit_code, 0);
    program_free(&r);
    assert_true(last_of(in_folder("alone"), "evaluation/return") ==
                last_of(in_folder("small/point/fast/seed-5"), "evaluation/return"));
    /* again: nothing is left to do, the tables are the same */
    char before[8192];
    snprintf(before, sizeof before, "%s", read_file(in_folder("small/summary.csv")));
    const uint64_t stamp = lud_file_stamp(in_folder("small/point/fast/seed-5/metrics.csv"));
    r = LUDUS("experiment", file, "-o", out);
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "4 runs were there already"));
    program_free(&r);
    assert_string_equal(read_file(in_folder("small/summary.csv")), before);
    assert_true(lud_file_stamp(in_folder("small/point/fast/seed-5/metrics.csv")) == stamp);
    /* other settings in the same folder are refused */
    char other[1024];
    snprintf(other, sizeof other, "%sset: {learner.discount: 0.9}\n", plan);
    r = LUDUS("experiment", write_file("other.yaml", other), "-o", out);
    assert_int_equal(r.exit_code, 2);
    assert_non_null(strstr(r.err, "other settings"));
    program_free(&r);
}

static void an_interrupted_one_goes_on(void **state) {
    (void)state;
    char text[2048], whole[256], parts[256];
    write_file("point.yaml", scenario);
    snprintf(text, sizeof text, "%sset: {learner.steps: 60000}\n", plan);
    const char *file = write_file("long.yaml", text);
    snprintf(whole, sizeof whole, "%s", in_folder("whole"));
    snprintf(parts, sizeof parts, "%s", in_folder("parts"));
    const double began = lud_clock_seconds();
    program_result r = LUDUS("experiment", file, "-o", whole, "-j", "2", "-q");
    const double seconds = lud_clock_seconds() - began; /* undisturbed */
    if (r.exit_code != 0) fail_msg("%s", r.err);
    program_free(&r);
    int interrupted = 0;
    for (int k = 0; k < 40; k++) {
        const char *const words[] = {"experiment", file, "-o", parts, "-j", "2", "-q", NULL};
        r = program_run_interrupted_after(words, (int)(seconds * (300 + 60 * k)));
        const int code = r.exit_code;
        /* before its first run and after the last it is only interrupted */
        if (code == 130 && !strstr(r.err, "the same command goes on") && !strstr(r.err, "interrupted"))
            fail_msg("%s", r.err);
        interrupted += code == 130;
        program_free(&r);
        if (code == 0) break;
        assert_true(code == 130 || code == -1); /* -1: it did not listen yet */
        if (k == 2) sleep(1);                   /* whoever was left by a sudden end has saved */
    }
    assert_true(interrupted > 0);
    assert_string_equal(read_file(in_folder("parts/runs.csv")), read_file(in_folder("whole/runs.csv")));
    assert_string_equal(read_file(in_folder("parts/summary.tex")), read_file(in_folder("whole/summary.tex")));
}

static void a_failure_does_not_stop_the_others(void **state) {
    (void)state;
    write_file("point.yaml", scenario);
    const char *file = write_file("small.yaml", plan);
    mkdir(in_folder("failing"), 0700);
    mkdir(in_folder("failing/point"), 0700);
    mkdir(in_folder("failing/point/slow"), 0700);
    write_file("failing/point/slow/seed-5", "in the way of a folder");
    program_result r = LUDUS("experiment", file, "-o", in_folder("failing"), "-j", "2", "-q");
    assert_int_equal(r.exit_code, 1);
    assert_non_null(strstr(r.err, "point, slow, seed 5 failed: "));
    assert_non_null(strstr(r.err, "1 of 4 runs failed"));
    assert_non_null(strstr(r.out, "| slow | 1 | "));
    assert_non_null(strstr(r.out, "| fast | 2 | "));
    program_free(&r);
    unlink(in_folder("failing/point/slow/seed-5"));
    r = LUDUS("experiment", file, "-o", in_folder("failing"), "-q");
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "| slow | 2 | "));
    program_free(&r);
}

static void mistakes_are_told_before_anything_runs(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"score: x\nscenarios: [point.yaml]\n", "expected the key experiment"},
        {"experiment: a\nscore: evaluation/retrun\nscenarios: [point.yaml]\n",
         "did you mean 'evaluation/return'?"},
        {"experiment: a\nscore: reward\nscenarios: [nowhere.yaml]\n", "no such file"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml]\nvariant: {}\n", "wrong.yaml:4:1"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml]\nvariants: {a/b: {}}\n", "letters, digits"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml]\nvariants: {b: {learner.widht: 3}}\n",
         "widht"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml]\nvariants: {b: {run.seed: 3}}\n", "seeds"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml, point.yaml]\n", "another name than 'point'"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml]\nseeds: [1, 1]\n", "a seed once"},
        {"experiment: a\nscore: reward\nscenarios: [point.yaml]\nvariants: {b: {}}\nbaseline: c\n",
         "expected b"},
        {"experiment: a\nscore: reward\nscenarios: [{file: point.yaml, low: 1}]\n", "both low and high"},
    };
    write_file("point.yaml", scenario);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *file = write_file("wrong.yaml", cases[k].text);
        program_result r = LUDUS("experiment", file, "-o", in_folder("wrong"));
        if (r.exit_code != 2 || !strstr(r.err, cases[k].message))
            fail_msg("%s: %d, %s", cases[k].text, r.exit_code, r.err);
        program_free(&r);
        assert_false(lud_folder_exists(in_folder("wrong")));
    }
    program_result r = LUDUS("experiment", write_file("small.yaml", plan), "--dry");
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "4 trainings"));
    program_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_runs_once),
                                       cmocka_unit_test(an_interrupted_one_goes_on),
                                       cmocka_unit_test(a_failure_does_not_stop_the_others),
                                       cmocka_unit_test(mistakes_are_told_before_anything_runs)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
