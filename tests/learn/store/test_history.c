/* Histories of several runs as one: against a slow loop, and at ends and places that only some runs have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/random.h"
#include "learn/store/history.h"

static lud_arena *arena;

static void near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("%.17g, expected %.17g", found, expected);
}

static void runs_lie_on_lines_between_their_steps(void **state) {
    (void)state;
    static const double a_steps[] = {0, 10, 20, 30, 40}, a[] = {1, 2, 3, 4, 5};
    static const double b_steps[] = {5, 15, 35}, b[] = {0, 10, 30};
    const lud_history runs[] = {{a_steps, a, 5, "steps"}, {b_steps, b, 3, "steps"}};
    lud_history_band band;
    lud_error error = {0};
    assert_int_equal(lud_history_spread(arena, runs, 2, &band, &error), LUD_OK);
    assert_int_equal(band.n, 3); /* from 5 to 35, at the first run's steps */
    static const double other[] = {5, 15, 25};
    for (int k = 0; k < 3; k++) {
        near(band.steps[k], 10 * (k + 1));
        near(band.mean[k], (a[k + 1] + other[k]) / 2);
        near(band.low[k], fmin(a[k + 1], other[k]));
        near(band.high[k], fmax(a[k + 1], other[k]));
    }
    assert_int_equal(lud_history_spread(arena, runs, 0, &band, &error), LUD_OK);
    assert_int_equal(band.n, 0);
    static const double late_steps[] = {50, 60}, late[] = {1, 1};
    const lud_history apart[] = {runs[0], {late_steps, late, 2, "steps"}};
    assert_int_equal(lud_history_spread(arena, apart, 2, &band, &error), LUD_OK);
    assert_int_equal(band.n, 0); /* nowhere together */
}

static void many_runs_agree_with_a_slow_loop(void **state) {
    (void)state;
    enum { RUNS = 5, STEPS = 60 };
    static double steps[RUNS][STEPS], values[RUNS][STEPS];
    lud_history runs[RUNS];
    lud_history_band band;
    lud_error error = {0};
    for (int r = 0; r < RUNS; r++) {
        double at = r;
        for (int k = 0; k < STEPS; k++) {
            const lud_words w =
                lud_draw((lud_random_key){1, (uint32_t)r}, (uint32_t)k, 0, LUD_PURPOSE_USER, 0);
            steps[r][k] = at;
            values[r][k] = lud_unit53(w.v[0], w.v[1]);
            at += 0.1 + 3 * lud_unit53(w.v[2], w.v[3]);
        }
        runs[r] = (lud_history){steps[r], values[r], STEPS, "steps"};
    }
    assert_int_equal(lud_history_spread(arena, runs, RUNS, &band, &error), LUD_OK);
    assert_true(band.n > 40);
    for (int i = 0; i < band.n; i++) {
        double sum = 0, low = INFINITY, high = -INFINITY;
        for (int r = 0; r < RUNS; r++) {
            double value = NAN;
            for (int k = 0; k + 1 < STEPS; k++)
                if (steps[r][k] <= band.steps[i] && band.steps[i] <= steps[r][k + 1])
                    value = values[r][k] + (band.steps[i] - steps[r][k]) / (steps[r][k + 1] - steps[r][k]) *
                                               (values[r][k + 1] - values[r][k]);
            sum += value;
            low = fmin(low, value);
            high = fmax(high, value);
        }
        near(band.mean[i], sum / RUNS);
        near(band.low[i], low);
        near(band.high[i], high);
    }
}

static void groups_are_found(void **state) {
    (void)state;
    char folder[] = "/tmp/ludus-history-XXXXXX", path[128], command[128];
    static const char text[] = "iteration,seconds,return\n1,0.5,3\n2,1,4\n";
    static const char *const made[] = {"b", "a", "empty"};
    const char *const *runs;
    int n;
    lud_error error = {0};
    assert_non_null(mkdtemp(folder));
    for (int k = 0; k < 3; k++) {
        snprintf(path, sizeof path, "%s/%s", folder, made[k]);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%s/metrics.csv", folder, made[k]);
        if (k < 2) assert_int_equal(lud_file_write(path, text, strlen(text), &error), LUD_OK);
    }
    assert_int_equal(lud_history_group(arena, folder, &runs, &n, &error), LUD_OK);
    assert_int_equal(n, 2);
    assert_string_equal(lud_run_name(arena, runs[0]), "a");
    assert_string_equal(lud_run_name(arena, runs[1]), "b");
    assert_int_equal(lud_history_group(arena, runs[1], &runs, &n, &error), LUD_OK);
    assert_int_equal(n, 1);
    assert_string_equal(lud_run_name(arena, runs[0]), "b");
    assert_int_equal(lud_history_group(arena, "/tmp/no such folder", &runs, &n, &error), LUD_OK);
    assert_int_equal(n, 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* What a file of metrics says, written by hand. */
typedef struct metrics_file {
    char folder[64], path[96];
} metrics_file;

static metrics_file write_metrics(const char *text) {
    metrics_file f = {.folder = "/tmp/ludus-history-XXXXXX"};
    lud_error error = {0};
    assert_non_null(mkdtemp(f.folder));
    snprintf(f.path, sizeof f.path, "%s/metrics.csv", f.folder);
    if (text) assert_int_equal(lud_file_write(f.path, text, strlen(text), &error), LUD_OK);
    return f;
}

static void remove_metrics(const metrics_file *f) {
    remove(f->path);
    assert_int_equal(rmdir(f->folder), 0);
}

static void expect_history(const char *folder, const char *over, const char *column, const char *steps_name,
                           int n, const double *steps, const double *value) {
    lud_history h;
    lud_error error = {0};
    if (lud_history_read_over(arena, folder, over, column, &h, &error)) fail_msg("%s", error.text);
    assert_int_equal(h.n, n);
    if (steps_name) assert_string_equal(h.steps_name, steps_name);
    for (int i = 0; i < n; i++) {
        near(h.steps[i], steps[i]);
        near(h.value[i], value[i]);
    }
}

/* Rows that did not measure a column, or were cut, are left out; a column has its whole name. */
static void columns_are_read(void **state) {
    (void)state;
    const metrics_file f = write_metrics("iteration,seconds,return,re,steps,last\n"
                                         "1,0.5,3,30,100,7\n"
                                         "2,1,,31,200,\n"
                                         "3,1.5,5,32,300,9\n"
                                         "4,2,nan,33,400,10\n"
                                         "5,2.5,inf,34,500,11\n"
                                         "6,3,word,35,600,12\n"
                                         "7,3.5,-8e1,36,700,13\n"
                                         "8,4,9,37\n"
                                         "9,4.5,10");
    const char *names;
    lud_error error = {0};
    expect_history(f.folder, NULL, "return", "environment steps", 3, (const double[]){100, 300, 700},
                   (const double[]){3, 5, -80});
    expect_history(f.folder, "seconds", "return", "seconds", 5, (const double[]){0.5, 1.5, 3.5, 4, 4.5},
                   (const double[]){3, 5, -80, 9, 10});
    expect_history(f.folder, "iteration", "last", "iteration", 6, (const double[]){1, 3, 4, 5, 6, 7},
                   (const double[]){7, 9, 10, 11, 12, 13});
    expect_history(f.folder, "iteration", "re", "iteration", 8, (const double[]){1, 2, 3, 4, 5, 6, 7, 8},
                   (const double[]){30, 31, 32, 33, 34, 35, 36, 37});
    expect_history(f.folder, "seconds", "iteration", "seconds", 9,
                   (const double[]){0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5},
                   (const double[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    static const char *const absent[] = {"ret", "returns", "las", "lasts", "", "iteration,seconds"};
    for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) {
        expect_history(f.folder, NULL, absent[k], NULL, 0, NULL, NULL);
        expect_history(f.folder, absent[k], "return", NULL, 0, NULL, NULL);
    }
    assert_int_equal(lud_history_columns(arena, f.folder, &names, &error), LUD_OK);
    assert_string_equal(names, "iteration,seconds,return,re,steps,last");
    remove_metrics(&f);
}

/* Files of learners that count no steps, without rows, with lines that end as elsewhere, and none at all. */
static void other_files_are_read(void **state) {
    (void)state;
    const char *names;
    lud_error error = {0};
    metrics_file f = write_metrics("iteration,return\r\n1,3\r\n2,\r\n3,5\r\n");
    expect_history(f.folder, NULL, "return", "iteration", 2, (const double[]){1, 3}, (const double[]){3, 5});
    assert_int_equal(lud_history_columns(arena, f.folder, &names, &error), LUD_OK);
    assert_string_equal(names, "iteration,return");
    remove_metrics(&f);
    static const char *const empty[] = {"",  "\n", "iteration,return", "iteration,return\n", "return\n1\n",
                                        NULL};
    for (size_t k = 0; k < sizeof empty / sizeof *empty; k++) {
        f = write_metrics(empty[k]);
        expect_history(f.folder, NULL, "return", NULL, 0, NULL, NULL);
        assert_int_equal(lud_history_columns(arena, f.folder, &names, &error), LUD_OK);
        const size_t length = empty[k] ? strcspn(empty[k], "\n") : 0;
        assert_int_equal(strlen(names), length);
        if (length) assert_memory_equal(names, empty[k], length);
        remove_metrics(&f);
    }
}

static void runs_are_named_by_their_folder(void **state) {
    (void)state;
    static const char *const names[][2] = {{"run", "run"},    {"a/b/run", "run"}, {"/run", "run"},
                                           {"a/run/", "run"}, {"a/run//", "run"}, {"/", "/"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        assert_string_equal(lud_run_name(arena, names[k][0]), names[k][1]);
}

static int set_up(void **state) {
    (void)state;
    return (arena = lud_arena_create(0)) ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    lud_arena_destroy(arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_lie_on_lines_between_their_steps),
                                       cmocka_unit_test(many_runs_agree_with_a_slow_loop),
                                       cmocka_unit_test(groups_are_found),
                                       cmocka_unit_test(columns_are_read),
                                       cmocka_unit_test(other_files_are_read),
                                       cmocka_unit_test(runs_are_named_by_their_folder)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
