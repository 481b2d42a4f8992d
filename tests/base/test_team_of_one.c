/* Parallel regions of one thread: those in no team run without one, those in a team of several have one of
 * their own. */
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { N = 100 };

/* What a region of so many threads saw, and how often each number of a loop was met. */
typedef struct seen {
    int n_threads, largest_number, times[N];
} seen;

static void look(int n_threads, seen *s) {
    *s = (seen){0};
#pragma omp parallel num_threads(n_threads)
    {
#pragma omp single
        s->n_threads = omp_get_num_threads();
#pragma omp critical(test_team_of_one)
        if (omp_get_thread_num() > s->largest_number) s->largest_number = omp_get_thread_num();
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) s->times[i]++;
    }
}

static void expect(int n_threads, const seen *s) {
    assert_int_equal(s->n_threads, n_threads);
    assert_int_equal(s->largest_number, n_threads - 1);
    for (int i = 0; i < N; i++) assert_int_equal(s->times[i], 1);
}

static void test_regions(void **state) {
    (void)state;
    seen s;
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        look(n_threads, &s);
        expect(n_threads, &s);
    }
}

static void test_inside_a_team(void **state) {
    (void)state;
    enum { TEAM = 3 };
    seen of[TEAM];
    int met = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : met)
    {
        look(1, &of[omp_get_thread_num()]);
        met += omp_get_num_threads(); /* the team is what it was */
    }
    assert_int_equal(met, TEAM * TEAM);
    for (int t = 0; t < TEAM; t++) expect(1, &of[t]);
}

static void test_regions_inside_a_region_of_one(void **state) {
    (void)state;
    seen s[3];
#pragma omp parallel num_threads(1)
    for (int n_threads = 1; n_threads <= 3; n_threads++) look(n_threads, &s[n_threads - 1]);
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
        /* a region in a region of several would need another level of teams; one in a region of one does not
         */
        assert_true(s[n_threads - 1].n_threads >= 1 && s[n_threads - 1].n_threads <= n_threads);
        for (int i = 0; i < N; i++) assert_int_equal(s[n_threads - 1].times[i], 1);
    }
}

/* Loops whose iterations are handed out one by one, inside each other. */
static void test_loops_inside_loops(void **state) {
    (void)state;
    int times[N][N] = {{0}}, met[2] = {0};
#pragma omp parallel num_threads(1)
    {
        met[0]++; /* else the compiler joins region and loop */
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < N; i++) {
#pragma omp parallel num_threads(1)
            {
                met[1]++;
#pragma omp for schedule(dynamic, 1)
                for (int j = 0; j < N; j++) times[i][j]++;
            }
        }
    }
    assert_int_equal(met[0], 1);
    assert_int_equal(met[1], N);
    for (int i = 0; i < N * N; i++) assert_int_equal(times[i / N][i % N], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_regions), cmocka_unit_test(test_inside_a_team),
                                       cmocka_unit_test(test_regions_inside_a_region_of_one),
                                       cmocka_unit_test(test_loops_inside_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
