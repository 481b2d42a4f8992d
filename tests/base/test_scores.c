/* Aggregates and their intervals against plain lines of their own, and against figures that follow by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/scores.h"

static void near(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance)) fail_msg("%.9g, expected %.9g", found, expected);
}

static void middle_halves(void **state) {
    (void)state;
    double eight[] = {100, 1, 2, 3, 4, 5, 6, -100}, five[] = {9, 1, 2, 3, -7}, one[] = {4};
    near(lud_interquartile_mean(eight, 8), (2 + 3 + 4 + 5) / 4.0, 1e-12);
    near(lud_interquartile_mean(five, 5), (1 + 2 + 3) / 3.0, 1e-12); /* one at each end */
    near(lud_interquartile_mean(one, 1), 4, 0);
    assert_true(isnan(lud_interquartile_mean(one, 0)));
}

static void aggregates(void **state) {
    (void)state;
    /* the second task has a run less; the third none */
    const double score[] = {1, 2, 3, 10, 20, 0, 0, 0, 0};
    const int n[] = {3, 2, 0};
    const lud_scores s = {3, 3, n, score};
    lud_interval i;
    assert_true(lud_scores_aggregate(&s, LUD_MEAN, 0, 1, &i));
    near(i.value, (2 + 15) / 2.0, 1e-12);
    assert_true(i.low == i.value && i.high == i.value);
    assert_true(lud_scores_aggregate(&s, LUD_INTERQUARTILE_MEAN, 0, 1, &i));
    near(i.value, (2 + 3 + 10) / 3.0, 1e-12);
    const int none[] = {0, 0, 0};
    assert_true(lud_scores_aggregate(&(lud_scores){3, 3, none, score}, LUD_MEAN, 100, 1, &i));
    assert_true(isnan(i.value) && isnan(i.low) && isnan(i.high));
}

/* The bootstrap of a mean has a known spread: the deviation of the runs divided by the root of their number.
 */
static void intervals_are_as_wide_as_they_should(void **state) {
    (void)state;
    enum { RUNS = 40, RESAMPLES = 4000 };
    double score[RUNS], mean = 0, squares = 0;
    for (int k = 0; k < RUNS; k++) {
        const lud_words w = lud_draw((lud_random_key){5, 0}, (uint32_t)k, 0, LUD_PURPOSE_USER, 0);
        score[k] = lud_unit53(w.v[0], w.v[1]) + lud_unit53(w.v[2], w.v[3]);
        mean += score[k] / RUNS;
    }
    for (int k = 0; k < RUNS; k++) squares += (score[k] - mean) * (score[k] - mean) / RUNS;
    const int n[] = {RUNS};
    const double half = 1.96 * sqrt(squares / RUNS);
    lud_interval i, again, other;
    assert_true(lud_scores_aggregate(&(lud_scores){1, RUNS, n, score}, LUD_MEAN, RESAMPLES, 1, &i));
    near(i.value, mean, 1e-12);
    near(i.low, mean - half, 0.12 * half);
    near(i.high, mean + half, 0.12 * half);
    /* a function of the seed */
    assert_true(lud_scores_aggregate(&(lud_scores){1, RUNS, n, score}, LUD_MEAN, RESAMPLES, 1, &again));
    assert_true(lud_scores_aggregate(&(lud_scores){1, RUNS, n, score}, LUD_MEAN, RESAMPLES, 2, &other));
    assert_true(again.low == i.low && again.high == i.high);
    assert_true(other.low != i.low);
    /* stratified: runs are drawn within their task, so tasks that lie far apart do not widen it */
    double two[2 * RUNS];
    for (int k = 0; k < RUNS; k++) {
        two[k] = score[k];
        two[RUNS + k] = score[k] + 1000;
    }
    const int both[] = {RUNS, RUNS};
    assert_true(lud_scores_aggregate(&(lud_scores){2, RUNS, both, two}, LUD_MEAN, RESAMPLES, 1, &i));
    near(i.value, mean + 500, 1e-9);
    near(i.high - i.low, 2 * half / sqrt(2), 0.24 * half);
    assert_true(
        lud_scores_aggregate(&(lud_scores){1, RUNS, n, score}, LUD_INTERQUARTILE_MEAN, RESAMPLES, 1, &i));
    assert_true(i.low < i.value && i.value < i.high && i.high - i.low < 6 * half);
}

static void improvements(void **state) {
    (void)state;
    const double a[] = {1, 2, 3, 5, 5, 0}, b[] = {0, 1, 2, 5, 6, 7};
    const int n[] = {3, 2}, m[] = {3, 3};
    const lud_scores x = {2, 3, n, a}, y = {2, 3, m, b};
    lud_interval i;
    assert_true(lud_scores_improvement(&x, &y, 0, 1, &i));
    /* task 1: 1 beats 0, ties 1; 2 beats two, ties one; 3 beats all: 1.5 + 2.5 + 3 of 9. task 2: two ties of
     * 6 */
    near(i.value, (7 / 9.0 + 1 / 6.0) / 2, 1e-12);
    lud_interval back;
    assert_true(lud_scores_improvement(&y, &x, 0, 1, &back));
    near(i.value + back.value, 1, 1e-12);
    assert_true(lud_scores_improvement(&x, &y, 2000, 1, &i));
    assert_true(i.low <= i.value && i.value <= i.high && i.low >= 0 && i.high <= 1 && i.low < i.high);
    assert_true(lud_scores_improvement(&x, &x, 0, 1, &i));
    near(i.value, 0.5, 1e-12);
    const double above[] = {10, 11, 12, 10, 11, 0};
    assert_true(lud_scores_improvement(&(lud_scores){2, 3, n, above}, &y, 500, 1, &i));
    assert_true(i.value == 1 && i.low == 1 && i.high == 1);
}

/* A table that is the sum of its axes: the variances of their means add up. */
static void tables_are_drawn_along_every_axis(void **state) {
    (void)state;
    enum { N = 40, M = 25 };
    double table[N * M], of_row[N], of_column[M], mean = 0, rows = 0, columns = 0, row_mean = 0,
                                                  column_mean = 0;
    for (int i = 0; i < N; i++) row_mean += (of_row[i] = sin(12.9 * i)) / N;
    for (int j = 0; j < M; j++) column_mean += (of_column[j] = 3 * cos(7.1 * j)) / M;
    for (int i = 0; i < N; i++) rows += (of_row[i] - row_mean) * (of_row[i] - row_mean) / N;
    for (int j = 0; j < M; j++) columns += (of_column[j] - column_mean) * (of_column[j] - column_mean) / M;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) mean += (table[i * M + j] = of_row[i] + of_column[j]) / (N * M);
    lud_interval x;
    assert_true(lud_scores_crossed(table, (const int[]){N, M}, 2, 4000, 1, &x));
    near(x.value, mean, 1e-12);
    near((x.high - x.low) / 2, 1.96 * sqrt(rows / N + columns / M), 0.1 * (x.high - x.low) / 2);
    /* of one axis alone it is the bootstrap of that axis */
    assert_true(lud_scores_crossed(of_row, (const int[]){1, N, 1}, 3, 4000, 1, &x));
    near(x.value, row_mean, 1e-12);
    near((x.high - x.low) / 2, 1.96 * sqrt(rows / N), 0.1 * (x.high - x.low) / 2);
    /* one of each is sure of itself */
    assert_true(lud_scores_crossed(of_row, (const int[]){1, 1}, 2, 100, 1, &x));
    assert_true(x.value == of_row[0] && x.low == of_row[0] && x.high == of_row[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(middle_halves), cmocka_unit_test(aggregates),
                                       cmocka_unit_test(intervals_are_as_wide_as_they_should),
                                       cmocka_unit_test(improvements),
                                       cmocka_unit_test(tables_are_drawn_along_every_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
