/* `ludus sweep` over trainings: grids, random search, halving; what goes on after a stop; what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/support_program.h"
#include "folder.h"
#include "learn/store/checkpoint.h"
#include "learn/store/history.h"

TEST_FOLDER("/tmp/ludus-sweep-XXXXXX")

static char *read_file(const char *name) {
    static char text[4][16384];
    static int k;
    k = (k + 1) % 4;
    FILE *stream = fopen(in_folder(name), "rb");
    if (!stream) fail_msg("%s is not there", name);
    text[k][fread(text[k], 1, sizeof text[k] - 1, stream)] = '\0';
    fclose(stream);
    return text[k];
}

/* 16 iterations. */
static const char *scenario(void) {
    static const char text[] =
        "ludus: 1\nname: point\nworld: particle\nparticle: {task: simple}\nrun: {environments: 4}\n"
        "learner: {type: graph-mappo, automatic: false, steps: 1600, rollout_length: 25, hidden_size: 8, "
        "recurrent: false, epochs: 1, minibatches: 1, evaluation_episodes: 4}\n";
    const char *path = in_folder("point.yaml");
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
    return path;
}

/* The last number of a column within so many iterations. */
static double score_at(const char *run, const char *column, double iterations) {
    lud_history h;
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    if (lud_history_read_over(arena, in_folder(run), "iteration", column, &h, &error))
        fail_msg("%s", error.text);
    double value = NAN;
    for (int k = 0; k < h.n && h.steps[k] <= iterations; k++) value = h.value[k];
    assert_true(value == value);
    lud_arena_destroy(arena);
    return value;
}

/* All tensors of a file of parameters but the clock's, and the texts that the training has in it. */
static uint64_t hash_of(const char *run, const char *file) {
    char name[160];
    lud_checkpoint *checkpoint = NULL;
    lud_error error = {0};
    uint64_t hash = 0;
    snprintf(name, sizeof name, "%s/%s", run, file);
    if (lud_checkpoint_open(in_folder(name), &checkpoint, &error)) fail_msg("%s", error.text);
    assert_true(lud_checkpoint_n_tensors(checkpoint) > 3);
    for (int i = 0; i < lud_checkpoint_n_tensors(checkpoint); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(checkpoint, i);
        if (strcmp(tensor->name, "seconds") != 0)
            hash += XXH3_64bits_withSeed(tensor->data, tensor->bytes,
                                         XXH3_64bits(tensor->name, strlen(tensor->name)));
    }
    const char *best = lud_checkpoint_text(checkpoint, "ludus.best");
    if (best) hash += XXH3_64bits(best, strlen(best));
    lud_checkpoint_destroy(checkpoint);
    return hash;
}

/* The number of lines of a text that begin so. */
static int count_lines(const char *text, const char *begin) {
    int n = 0;
    for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        n += *at && strncmp(at, begin, strlen(begin)) == 0;
    return n;
}

static program_result sweep(const char *out, const char *more[]) {
    const char *words[60] = {"sweep", scenario(), "-o", in_folder(out), "-q", "-t", "1", "-j", "2"};
    int n = 9;
    for (int k = 0; more[k]; k++) words[n++] = more[k];
    return program_run(words);
}
#define SWEEP(out, ...) sweep(out, (const char *[]){__VA_ARGS__, NULL})

static void works(program_result r, const char *part) {
    if (r.exit_code != 0) fail_msg("%d: %s", r.exit_code, r.err);
    if (!strstr(r.out, part)) fail_msg("'%s' is not in %s", part, r.out);
    program_free(&r);
}
static void refused(program_result r, int code, const char *part) {
    if (r.exit_code != code || !strstr(r.err, part))
        fail_msg("%d, not %d with %s: %s", r.exit_code, code, part, r.err);
    program_free(&r);
}

/* ---- what is trained ---- */

static void a_grid_is_trained_once(void **state) {
    (void)state;
    static const char rates[] = "learner.learning_rate=0.0001,0.01";
    works(SWEEP("grid", "-v", rates, "-v", "learner.tanh=true,false", "--seeds", "3,5"), "best: ");
    const char *table = read_file("grid/sweep.csv"), *runs = read_file("grid/runs.csv");
    assert_int_equal(count_lines(table, "0.0001,"), 2);
    assert_int_equal(count_lines(table, "0.01,"), 2);
    assert_int_equal(count_lines(runs, "0.0"), 8);
    assert_int_equal(
        count_lines(table, "learner.learning_rate,learner.tanh,iterations,runs,evaluation/return,"), 1);
    /* a row is what the training with these settings reaches, its mean over seeds is the table's */
    double sum = 0.0, best = -INFINITY;
    for (int seed = 3; seed <= 5; seed += 2) {
        char run[64], word[16], line[256];
        snprintf(run, sizeof run, "alone-%d", seed);
        snprintf(word, sizeof word, "%d", seed);
        works(LUDUS("train", scenario(), "-o", in_folder(run), "-q", "-s", word, "--set",
                    "learner.learning_rate=0.01", "--set", "learner.tanh=false"),
              "iterations");
        const double score = score_at(run, "evaluation/return", 16);
        snprintf(line, sizeof line, "0.01,false,learning_rate-0.01__tanh-false,%d,16,%.17g\n", seed, score);
        if (!strstr(runs, line)) fail_msg("no %s in %s", line, runs);
        sum += score;
    }
    char row[128];
    snprintf(row, sizeof row, "0.01,false,16,2,%.6g,", sum / 2);
    if (!strstr(table, row)) fail_msg("no %s in %s", row, table);
    /* the best first */
    double scores[4];
    const char *at = table;
    for (int k = 0; k < 4; k++) {
        at = strchr(at, '\n') + 1;
        assert_int_equal(sscanf(at, "%*[^,],%*[^,],16,2,%lf", &scores[k]), 1);
        best = fmax(best, scores[k]);
        assert_true(k == 0 || scores[k] <= scores[k - 1]);
    }
    assert_true(scores[0] == best);
    assert_non_null(strstr(read_file("grid/sweep.tex"), "learning\\_rate & tanh & iterations"));
    assert_non_null(strstr(read_file("grid/sweep.md"), "| learning_rate | tanh | iterations |"));
    /* again: nothing is left to do; one value more: only that is done */
    const char *kept = in_folder("grid/point/learning_rate-0.01__tanh-true/seed-3/metrics.csv");
    const uint64_t stamp = lud_file_stamp(kept);
    char before[16384];
    snprintf(before, sizeof before, "%s", table);
    works(SWEEP("grid", "-v", rates, "-v", "learner.tanh=true,false", "--seeds", "3,5"),
          "(8 runs were there already)");
    assert_string_equal(read_file("grid/sweep.csv"), before);
    works(SWEEP("grid", "-v", "learner.learning_rate=0.0001,0.001,0.01", "-v", "learner.tanh=true,false",
                "--seeds", "3,5"),
          "(8 runs were there already)");
    assert_int_equal(count_lines(read_file("grid/sweep.csv"), "0.0"), 6);
    assert_true(lud_file_stamp(kept) == stamp);
    /* other settings in the same folder are refused */
    refused(SWEEP("grid", "-v", rates, "-v", "learner.tanh=true,false", "--seeds", "3,5", "--set",
                  "learner.discount=0.9"),
            2, "other settings");
    refused(SWEEP("grid", "-v", rates, "-v", "learner.tanh=true,false", "--seeds", "3,5", "--halving", "2"),
            2, "another first budget");
}

static void lists_and_words_are_values(void **state) {
    (void)state;
    works(SWEEP("words", "-v", "learner.groups=null,{one: agent, },kinds", "--score", "return"),
          "best: groups ");
    const char *table = read_file("words/sweep.csv");
    assert_int_equal(count_lines(table, "null,16,1,"), 1);
    assert_int_equal(count_lines(table, "kinds,16,1,"), 1);
    assert_int_equal(count_lines(table, "\"{one: agent, }\",16,1,"), 1);
}

/* ---- random search ---- */

static void draws_are_a_function_of_the_seed(void **state) {
    (void)state;
    static const char rate[] = "learner.learning_rate=1e-4:1e-2:log", size[] = "learner.hidden_size=4:9:int";
    works(SWEEP("first", "-v", rate, "-v", size, "-n", "4", "-s", "7", "--set", "learner.steps=200"),
          "best: ");
    works(SWEEP("again", "-v", rate, "-v", size, "-n", "4", "-s", "7", "--set", "learner.steps=200"),
          "best: ");
    char first[16384];
    snprintf(first, sizeof first, "%s", read_file("first/runs.csv"));
    assert_string_equal(read_file("again/runs.csv"), first);
    /* two more draws leave the four as they were */
    works(SWEEP("first", "-v", rate, "-v", size, "-n", "6", "-s", "7", "--set", "learner.steps=200"),
          "(4 runs were there already)");
    assert_int_equal(strncmp(read_file("first/runs.csv"), first, strlen(first)), 0);
    works(SWEEP("other", "-v", rate, "-v", size, "-n", "4", "-s", "8", "--set", "learner.steps=200"),
          "best: ");
    assert_string_not_equal(read_file("other/runs.csv"), first);
}

/* Many draws, of which no training runs: within the range, whole, spread as they should be. */
static void draws_are_spread(void **state) {
    (void)state;
    static const char *const ranges[] = {"learner.beta_r=1:4:int", "learner.beta_r=1:100:log",
                                         "learner.beta_r=1:3"};
    for (int k = 0; k < 3; k++) {
        program_result r = LUDUS("sweep", LUDUS_SOURCE_DIR "/scenarios/empo/fetch_the_key.yaml", "-q",
                                 "--set", "multigrid.max_steps=2", "-v", ranges[k], "-n", "1000", "-s", "3");
        if (r.exit_code) fail_msg("%s", r.err);
        int n = 0, count[5] = {0}, low = 0;
        for (const char *at = strchr(r.out, '\n'); at && at[1]; at = strchr(at + 1, '\n'), n++) {
            const double x = atof(at + 1);
            assert_true(x >= 1.0 && x <= (k == 0 ? 4.0 : k == 1 ? 100.0 : 3.0));
            if (k == 0) {
                assert_true(x == floor(x));
                count[(int)x]++;
            }
            low += x < (k == 1 ? 10.0 : 2.0); /* half of them */
        }
        assert_int_equal(n, 1000);
        for (int i = 1; i <= 4 && k == 0; i++) assert_true(count[i] > 190 && count[i] < 310);
        assert_true(k == 0 || (low > 420 && low < 580));
        program_free(&r);
    }
}

/* ---- halving ---- */

static const char rates[] = "learner.learning_rate=0.00001,0.0003,0.003,0.03";
static const char *const names[] = {"0.00001", "0.0003", "0.003", "0.03"};

/* Who goes on is who is best among trainings that nobody paused, and what goes on becomes such a training. */
static void the_best_go_on_as_if_never_paused(void **state) {
    (void)state;
    works(SWEEP("halved", "-v", rates, "--halving", "2", "--seeds", "2", "--budget-iterations", "4"),
          "best: ");
    double score[4][3];
    for (int c = 0; c < 4; c++)
        for (int seed = 1; seed <= 2; seed++) {
            char run[64], word[16], set[64];
            snprintf(run, sizeof run, "whole-%d-%d", c, seed);
            snprintf(word, sizeof word, "%d", seed);
            snprintf(set, sizeof set, "learner.learning_rate=%s", names[c]);
            works(LUDUS("train", scenario(), "-o", in_folder(run), "-q", "-s", word, "--set", set,
                        "--evaluate-every", "4"),
                  "16 of 16 iterations");
            for (int b = 0; b < 3; b++)
                score[c][b] =
                    (seed == 1 ? 0.0 : score[c][b]) + 0.5 * score_at(run, "evaluation/return", 4 << b);
        }
    bool part[4] = {true, true, true, true};
    const char *table = read_file("halved/sweep.csv"), *runs = read_file("halved/runs.csv");
    int n_rows = 0;
    for (int b = 0, n = 4; b < 3; b++, n /= 2) {
        for (int c = 0; c < 4; c++) {
            char line[96];
            snprintf(line, sizeof line, "%s,learning_rate-%s,1,%d,", names[c], names[c], 4 << b);
            assert_int_equal(count_lines(runs, line), part[c]);
            n_rows += part[c];
        }
        if (b == 2) break;
        for (int left = n / 2; left < n; left++) { /* the worst leave */
            int worst = -1;
            for (int c = 0; c < 4; c++)
                if (part[c] && (worst < 0 || score[c][b] <= score[worst][b])) worst = c;
            char row[96];
            snprintf(row, sizeof row, "%s,%d,2,%.6g,", names[worst], 4 << b, score[worst][b]);
            assert_int_equal(count_lines(table, row), 1);
            part[worst] = false;
        }
    }
    assert_int_equal(n_rows, 7);
    for (int c = 0; c < 4; c++)
        for (int seed = 1; seed <= 2 && part[c]; seed++) {
            char own[96], whole[64];
            snprintf(own, sizeof own, "halved/point/learning_rate-%s/seed-%d", names[c], seed);
            snprintf(whole, sizeof whole, "whole-%d-%d", c, seed);
            assert_true(hash_of(own, "checkpoint.safetensors") == hash_of(whole, "checkpoint.safetensors"));
            assert_true(hash_of(own, "policy.safetensors") == hash_of(whole, "policy.safetensors"));
        }
    /* a plan with a candidate more goes on with what is there */
    works(SWEEP("halved", "-v", "learner.learning_rate=0.00001,0.0003,0.003,0.03,0.1", "--halving", "2",
                "--seeds", "2", "--budget-iterations", "4"),
          " runs were there already)");
    assert_int_equal(count_lines(read_file("halved/sweep.csv"), "0.1,"), 1);
}

static void budgets_may_be_steps(void **state) {
    (void)state;
    program_result r =
        LUDUS("sweep", scenario(), "--dry", "-v", rates, "--halving", "2", "--budget-steps", "500");
    if (r.exit_code) fail_msg("%s", r.err);
    assert_non_null(strstr(r.out, "budget 1: 4 candidates, 5 iterations"));
    assert_non_null(strstr(r.out, "budget 2: 2 candidates, 10 iterations"));
    assert_non_null(strstr(r.out, "budget 3: 1 candidates, 16 iterations"));
    assert_null(strstr(r.out, "budget 4"));
    program_free(&r);
    r = LUDUS("sweep", scenario(), "--dry", "-v", "learner.learning_rate=1e-4:1e-2:log", "-n", "9",
              "--halving", "3");
    assert_int_equal(r.exit_code, 0);
    assert_non_null(strstr(r.out, "budget 1: 9 candidates, 1 iterations"));
    assert_non_null(strstr(r.out, "budget 2: 3 candidates, 3 iterations"));
    assert_non_null(strstr(r.out, "budget 3: 1 candidates, 16 iterations"));
    program_free(&r);
}

/* ---- stops ---- */

/* Ctrl-C and kills at any time, as often as it takes: the same tables. The first come after a part of the
 * time that it takes undisturbed, however fast the machine is. */
static void stops_change_nothing(void **state) {
    (void)state;
    static const char steps[] = "learner.steps=40000";
    char command[1024];
    const double began = lud_clock_seconds();
    works(SWEEP("calm", "-v", rates, "--halving", "2", "--set", steps), "best: ");
    const double whole = lud_clock_seconds() - began;
    snprintf(command, sizeof command,
             "timeout -s KILL $SECONDS_LEFT %s/ludus sweep %s -o %s -q -t 1 -j 2 -v %s --halving 2 --set %s "
             ">/dev/null 2>&1",
             LUDUS_BINARY_DIR, scenario(), in_folder("stormy"), rates, steps);
    int stops = 0, code = -1;
    for (int k = 0; k < 60 && code != 0; k++) {
        if (k % 2) {
            char seconds[32];
            snprintf(seconds, sizeof seconds, "%.3f", whole * (0.1 + 0.05 * (k % 7)));
            setenv("SECONDS_LEFT", seconds, 1);
            const int how = system(command);
            stops += !WIFEXITED(how) || WEXITSTATUS(how) == 137;
            sleep(1); /* whoever was left has saved */
            continue;
        }
        const char *const words[] = {
            "sweep", scenario(), "-o",  in_folder("stormy"), "-q", "-t",    "1",   "-j",
            "2",     "-v",       rates, "--halving",         "2",  "--set", steps, NULL};
        program_result r = program_run_interrupted_after(words, (int)(whole * (200 + 100 * k)));
        code = r.exit_code;
        stops += code != 0;
        /* or before any training had begun */
        if (code == 130 && !strstr(r.err, "the same command goes on") && !strstr(r.err, "error: interrupted"))
            fail_msg("%s", r.err);
        program_free(&r);
    }
    assert_int_equal(code, 0);
    assert_true(stops > 1);
    char calm[16384];
    snprintf(calm, sizeof calm, "%s", read_file("calm/sweep.csv"));
    assert_string_equal(read_file("stormy/sweep.csv"), calm);
    snprintf(calm, sizeof calm, "%s", read_file("calm/runs.csv"));
    assert_string_equal(read_file("stormy/runs.csv"), calm);
}

/* A training that fails does not stop the others, is told, and is tried again. */
static void a_failure_is_left_out(void **state) {
    (void)state;
    lud_error error = {0};
    assert_int_equal(lud_folder_make(in_folder("failing/point/learning_rate-0.03"), &error), LUD_OK);
    const char *way = in_folder("failing/point/learning_rate-0.03/seed-1");
    assert_int_equal(lud_file_write(way, "in the way", 10, &error), LUD_OK);
    program_result r = SWEEP("failing", "-v", rates);
    assert_int_equal(r.exit_code, 1);
    assert_non_null(strstr(r.err, "1 runs failed; the same command tries them again"));
    program_free(&r);
    assert_int_equal(count_lines(read_file("failing/sweep.csv"), "0.03,,0,,,,"), 1);
    unlink(way);
    works(SWEEP("failing", "-v", rates), "(3 runs were there already)");
    assert_int_equal(count_lines(read_file("failing/sweep.csv"), "0.03,16,1,"), 1);
}

/* ---- exact solutions ---- */

#define KEY LUDUS_SOURCE_DIR "/scenarios/empo/fetch_the_key.yaml"

/* Rows that are there are taken as they are, and only where they were solved by the same settings. */
static void solutions_are_not_solved_twice(void **state) {
    (void)state;
    lud_error error = {0};
    const char *out = in_folder("solved.csv");
    static const char three[] = "learner.beta_r=1:9:3", five[] = "learner.beta_r=1:9:5";
    works(LUDUS("sweep", KEY, "-q", "-v", five), "learner.beta_r,states");
    program_result whole = LUDUS("sweep", KEY, "-q", "-v", five);
    works(LUDUS("sweep", KEY, "-q", "-v", three, "-o", out), "");
    /* a row that only its being kept can bring about, one that is cut off, and one of another table */
    char marked[16384], *at;
    snprintf(marked, sizeof marked, "%s", read_file("solved.csv"));
    at = strstr(marked, "\n5,");
    assert_non_null(at);
    memcpy(at + 3, "7777", 4);
    char *last = strstr(marked, "\n9,");
    assert_non_null(last);
    snprintf(last + 1, 32, "9,8888\n");
    assert_int_equal(lud_file_write(out, marked, strlen(marked), &error), LUD_OK);
    works(LUDUS("sweep", KEY, "-q", "-v", five, "-o", out), "");
    const char *table = read_file("solved.csv");
    assert_int_equal(count_lines(table, "5,7777,"), 1);
    assert_int_equal(count_lines(table, "9,8888"), 0);
    assert_int_equal(count_lines(table, ""), 6);
    works(LUDUS("sweep", KEY, "-q", "-v", five, "-o", out, "--set", "learner.zeta=3"), "");
    assert_int_equal(count_lines(read_file("solved.csv"), "5,7777,"), 0);
    works(LUDUS("sweep", KEY, "-q", "-v", five, "-o", out), "");
    assert_string_equal(read_file("solved.csv"), whole.out);
    program_free(&whole);
}

static void kills_leave_solutions(void **state) {
    (void)state;
    static const char ranges[] = "-v learner.beta_r=1:9:200 -v learner.zeta=1,2,3 -q -t 1";
    char command[1024];
    snprintf(command, sizeof command,
             "cd '%s' && '%s/ludus' sweep '%s' %s -o calm.csv && "
             "for k in 1 2 3; do timeout -s KILL 2.5 '%s/ludus' sweep '%s' %s -o killed.csv; done; "
             "'%s/ludus' sweep '%s' %s -o killed.csv && cmp calm.csv killed.csv",
             folder, LUDUS_BINARY_DIR, KEY, ranges, LUDUS_BINARY_DIR, KEY, ranges, LUDUS_BINARY_DIR, KEY,
             ranges);
    assert_int_equal(system(command), 0);
}

static void mistakes_are_told(void **state) {
    (void)state;
    static const struct {
        const char *words[8], *message;
        int code;
    } cases[] = {
        {{"-v", "learner.learning_rat=1e-4,1e-3"}, "--vary learner.learning_rat=1e-4: ", 2},
        {{"-v", "learner.learning_rate=fast"}, "--vary learner.learning_rate=fast: ", 2},
        {{"-v", "learner.hidden_size=4.5"}, "--vary learner.hidden_size=4.5: ", 2},
        {{"-v", "learner.hidden_size=4.2:4.8:3:int"}, "expected KEY=a,b,c", 2},
        {{"-v", "run.seed=1,2"}, "behind --seeds", 2},
        {{"-v", "learner.tanh=true", "--set", "run.seed=3"}, "behind --seeds", 2},
        {{"-v", "learner.tanh=true", "--seeds", "1,1"}, "--seeds 1,1: expected", 2},
        {{"-v", "learner.tanh=true", "--seeds", "0"}, "--seeds 0: expected", 2},
        {{"-v", "learner.tanh=true", "--score", "retrun"}, "did you mean 'return'?", 2},
        {{"-v", "learner.tanh=true", "--budget-steps", "3"},
         "--budget-steps is the first budget of --halving",
         2},
        {{"-v", "learner.learning_rate=1e-4:1e-2"}, "with --samples without the count", 2},
        {{"-v", "learner.learning_rate=1:2:200", "-v", "learner.discount=0:1:200"},
         "more than 4096 points",
         1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        refused(sweep("wrong", (const char **)(uintptr_t)cases[k].words), cases[k].code, cases[k].message);
        assert_false(lud_folder_exists(in_folder("wrong")));
    }
    refused(LUDUS("sweep", scenario(), "-v", "learner.tanh=true", "--solve"), 2, "needs empo-exact");
    refused(LUDUS("sweep", scenario(), "-v", "learner.tanh=true"), 2,
            "sweep needs a folder for its trainings: -o DIR");
    refused(LUDUS("sweep", LUDUS_SOURCE_DIR "/scenarios/empo/fetch_the_key.yaml", "-v", "learner.zeta=1",
                  "--seeds", "2"),
            2, "--seeds is for trainings");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_grid_is_trained_once),
                                       cmocka_unit_test(lists_and_words_are_values),
                                       cmocka_unit_test(draws_are_a_function_of_the_seed),
                                       cmocka_unit_test(draws_are_spread),
                                       cmocka_unit_test(the_best_go_on_as_if_never_paused),
                                       cmocka_unit_test(budgets_may_be_steps),
                                       cmocka_unit_test(stops_change_nothing),
                                       cmocka_unit_test(a_failure_is_left_out),
                                       cmocka_unit_test(solutions_are_not_solved_twice),
                                       cmocka_unit_test(kills_leave_solutions),
                                       cmocka_unit_test(mistakes_are_told)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
