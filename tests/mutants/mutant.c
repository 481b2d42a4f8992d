/* Built into every program of the instrumented copy. It stands between a test program and cmocka:
 *
 *   LUDUS_MUTANT        the number of the mutant that is switched on
 *   LUDUS_MUTANT_TESTS  which of the program's tests are run, in this order, until one fails: 3,0,7
 *   LUDUS_MUTANT_TRACE  a file that gets a line a test
 *
 * A line: the test's number, processor seconds, whether it passed, and the numbers of the mutants whose
 * functions it entered. What processes that test NUMBER starts enter stands in FILE.NUMBER, of those that no
 * test starts in FILE itself, behind a space. */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "mutant.h"

int lud_mutant_active;
unsigned char lud_mutant_entered[LUD_MUTANTS_MOST];

static char trace[4096];
static pid_t tests_in; /* the process that runs tests; 0: none in this program */
static int nested;     /* a test of another process started this one, which may be of cmocka's as well */

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("LUDUS_MUTANT"), *path = getenv("LUDUS_MUTANT_TRACE");
    lud_mutant_active = text ? atoi(text) : -1;
    nested = getenv("LUDUS_MUTANT_NESTED") != NULL;
    if (path) snprintf(trace, sizeof trace, "%s", path);
}

/* One line, in one piece: processes write into one file. */
static void write_line(int file, const char *text) {
    static char line[128 + 8 * LUD_MUTANTS_MOST];
    int n = sprintf(line, "%.100s", text);
    for (int i = 0; i < LUD_MUTANTS_MOST; i++)
        if (lud_mutant_entered[i]) n += sprintf(line + n, " %d", i);
    line[n++] = '\n';
    if (write(file, line, (size_t)n) != n) _exit(1);
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("LUDUS_MUTANT_TRACE"); /* of a process that a test started: FILE.NUMBER */
    if (!path || !*path || tests_in == getpid()) return;
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) return;
    write_line(file, "");
    close(file);
}

/* ---- between a program and cmocka ---- */

enum { TESTS_MOST = 512 };
static struct CMUnitTest original[TESTS_MOST], chosen[TESTS_MOST];
static int numbers[TESTS_MOST], now;              /* of the test that runs, among all of the program */
static unsigned char in_common[LUD_MUTANTS_MOST]; /* entered before the first test */
static double began;
static int passed, n_before;

static double seconds_used(void) {
    struct rusage own, of_children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &of_children);
    return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + of_children.ru_utime.tv_sec +
                    of_children.ru_stime.tv_sec) +
           1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + of_children.ru_utime.tv_usec +
                           of_children.ru_stime.tv_usec);
}

static int before_test(void **state) {
    now++;
    passed = 0;
    began = seconds_used();
    setenv("LUDUS_MUTANT_NESTED", "1", 1);
    if (*trace) {
        char path[sizeof trace + 16];
        snprintf(path, sizeof path, "%s.%d", trace, n_before + numbers[now]);
        setenv("LUDUS_MUTANT_TRACE", path, 1);
    }
    const CMFixtureFunction set_up = original[numbers[now]].setup_func;
    return set_up ? set_up(state) : 0;
}

static void run_original(void **state) {
    original[numbers[now]].test_func(state);
    passed = 1;
}

static int after_test(void **state) {
    const CMFixtureFunction tear_down = original[numbers[now]].teardown_func;
    const int result = tear_down ? tear_down(state) : 0;
    if (*trace) {
        const int file = open(trace, O_WRONLY | O_CREAT | O_APPEND, 0644);
        char text[64];
        snprintf(text, sizeof text, "%d %.3f %d", n_before + numbers[now], seconds_used() - began,
                 passed && result == 0);
        write_line(file, text);
        close(file);
        memcpy(lud_mutant_entered, in_common, sizeof in_common);
    } else if (!passed || result != 0) {
        _exit(1);
    }
    return result;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const tests, const size_t n,
                            CMFixtureFunction set_up, CMFixtureFunction tear_down);
static CMFixtureFunction group_set_up;
static int before_group(void **state) {
    const int result = group_set_up ? group_set_up(state) : 0;
    memcpy(in_common, lud_mutant_entered, sizeof in_common);
    return result;
}

/* A program may have several groups; tests count on. */
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *const tests, const size_t n,
                            CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    int (*run)(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction);
    *(void **)&run = dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    if (!run || n > TESTS_MOST) abort();
    if (nested) return run(name, tests, n, set_up, tear_down);
    tests_in = getpid();
    const char *list = getenv("LUDUS_MUTANT_TESTS");
    size_t n_chosen = 0;
    for (size_t i = 0; i < n; i++) original[i] = tests[i];
    for (size_t i = 0; !list && i < n; i++) numbers[n_chosen++] = (int)i;
    for (const char *at = list; at && *at && n_chosen < TESTS_MOST; at += *at == ',') {
        const long number = strtol(at, (char **)&at, 10) - n_before;
        if (number >= 0 && number < (long)n) numbers[n_chosen++] = (int)number;
    }
    for (size_t i = 0; i < n_chosen; i++) {
        chosen[i] = original[numbers[i]];
        chosen[i].test_func = run_original;
        chosen[i].setup_func = before_test;
        chosen[i].teardown_func = after_test;
    }
    now = -1;
    group_set_up = set_up;
    const int failed = n_chosen ? run(name, chosen, n_chosen, before_group, tear_down) : 0;
    n_before += (int)n;
    return failed;
}
