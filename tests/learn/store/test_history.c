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
    assert_string_equal(lud_run_name(runs[0]), "a");
    assert_string_equal(lud_run_name(runs[1]), "b");
    assert_int_equal(lud_history_group(arena, runs[1], &runs, &n, &error), LUD_OK);
    assert_int_equal(n, 1);
    assert_string_equal(lud_run_name(runs[0]), "b");
    assert_int_equal(lud_history_group(arena, "/tmp/no such folder", &runs, &n, &error), LUD_OK);
    assert_int_equal(n, 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
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
                                       cmocka_unit_test(groups_are_found)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
