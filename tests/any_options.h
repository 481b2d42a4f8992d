/* Options that nobody has chosen: values drawn for the rows of an option table, at and around the ends of
 * what it allows, as `--set` takes them. And a test of many such draws, each a process of its own, so that
 * one that crashes or hangs is told with what it said.
 *
 *     TEST                                              the draws of seed 1
 *     LUDUS_OPTIONS=200 LUDUS_OPTIONS_SEED=7 TEST       200 others
 *     LUDUS_OPTIONS_SEED=7 TEST 23                      number 23 of them alone */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options/options.h"
#include "base/random.h"

enum { ANY_BYTES = 256, ANY_MOST_LEAVES = 512 };

typedef struct any_draw {
    uint32_t seed, number, asked;
} any_draw;

static inline uint32_t any_below(any_draw *d, uint32_t n) {
    const lud_words w = lud_draw((lud_random_key){d->seed, d->number}, d->asked++, 0, LUD_PURPOSE_EXPLORE, 0);
    return lud_below(w.v[0], n);
}

static inline double any_between(any_draw *d, double low, double high) {
    return low + (high - low) * (double)any_below(d, 1001) / 1000;
}

/* Small whole numbers, as large ones only take longer. */
static inline int64_t any_whole_number(any_draw *d, const lud_option *option) {
    const double low = option->minimum, high = option->maximum;
    const double values[] = {low, low + 1, low + any_below(d, 8), low + any_below(d, 8),
                             high <= 64 ? high : low + 2};
    return (int64_t)fmin(values[any_below(d, 5)], high);
}

static inline double any_real_number(any_draw *d, const lud_option *option) {
    const double low = option->minimum, high = option->maximum,
                 usual = option->default_value ? strtod(option->default_value, NULL) : low;
    /* what has a chance of a millionth takes a million steps to happen */
    const double least = low > 0 && low < usual / 100 ? usual / 100 : low;
    switch (any_below(d, 6)) {
    case 0:
        return least;
    case 1:
        return fabs(high) < 1e7 ? high : usual;
    case 2:
        return usual;
    case 3:
        return fmax(least, usual / 2);
    case 4:
        return fmax(least, fmin(2 * usual, high));
    default:
        return any_between(d, least, fmin(high, least + 1));
    }
}

/* An option that is no section, and its name from that of its table on. */
typedef struct any_leaf {
    const lud_option *option;
    char path[96];
} any_leaf;

static inline int any_collect(const lud_option_table *table, const char *before, any_leaf *leaves, int n) {
    for (int k = 0; k < table->n; k++) {
        const lud_option *option = &table->options[k];
        char path[96];
        snprintf(path, sizeof path, "%.48s.%.46s", before, option->key);
        if (option->type == LUD_OPTION_SECTION) {
            n = any_collect(option->section, path, leaves, n);
        } else if (option->type != LUD_OPTION_TEXT && option->type != LUD_OPTION_TEXTS &&
                   option->type != LUD_OPTION_TREE) {
            assert_true(n < ANY_MOST_LEAVES);
            leaves[n].option = option;
            memcpy(leaves[n++].path, path, sizeof path);
        }
    }
    return n;
}

/* `path=value` to to[ANY_BYTES]. */
static inline void any_value(any_draw *d, const any_leaf *l, char *to) {
    const size_t size = ANY_BYTES;
    const lud_option *option = l->option;
    size_t n = (size_t)snprintf(to, size, "%s=", l->path);
    if (option->automatic && any_below(d, 4) == 0) {
        snprintf(to + n, size - n, "auto");
        return;
    }
    int choices = 0;
    while (option->choices && option->choices[choices]) choices++;
    const int items = 1 + (int)any_below(d, 3);
    switch (option->type) {
    case LUD_OPTION_BOOL:
        snprintf(to + n, size - n, "%s", any_below(d, 2) ? "true" : "false");
        break;
    case LUD_OPTION_INT:
        snprintf(to + n, size - n, "%lld", (long long)any_whole_number(d, option));
        break;
    case LUD_OPTION_REAL:
        snprintf(to + n, size - n, "%.6g", any_real_number(d, option));
        break;
    case LUD_OPTION_MEMORY:
        snprintf(to + n, size - n, "%uK", 1 + any_below(d, 4000));
        break;
    case LUD_OPTION_CHOICE:
        snprintf(to + n, size - n, "%s", option->choices[any_below(d, (uint32_t)choices)]);
        break;
    case LUD_OPTION_INTS:
    case LUD_OPTION_REALS:
        for (int i = 0; i < items; i++)
            n += option->type == LUD_OPTION_INTS
                     ? (size_t)snprintf(to + n, size - n, "%s%lld", i ? ", " : "[",
                                        (long long)any_whole_number(d, option))
                     : (size_t)snprintf(to + n, size - n, "%s%.6g", i ? ", " : "[",
                                        any_real_number(d, option));
        snprintf(to + n, size - n, "]");
        break;
    default:
        fail_msg("%s", l->path);
    }
}

/* ---- a test of many draws ---- */

static uint32_t any_seed = 1, any_number; /* of the draw in hand */

/* What the process that tries draw k says goes to `said`; whether it ends well. */
static inline bool any_process(uint32_t k, FILE *said) {
    char number[16];
    int end = 0;
    snprintf(number, sizeof number, "%u", k);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fileno(said), STDOUT_FILENO);
        dup2(fileno(said), STDERR_FILENO);
        execl("/proc/self/exe", "any_options", number, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    if (WIFSIGNALED(end)) fprintf(said, "signal %d\n", WTERMSIG(end));
    return WIFEXITED(end) && WEXITSTATUS(end) == 0;
}

/* Tries so many draws, or those that the environment asks for; at least a third must print `well`. */
static inline void any_draws(int n, const char *well) {
    const char *count = getenv("LUDUS_OPTIONS");
    int failed = 0, done = 0;
    if (count) n = atoi(count);
    for (int k = 0; k < n; k++) {
        char line[1024];
        bool is_well = false;
        FILE *said = tmpfile();
        assert_non_null(said);
        const bool ended = any_process((uint32_t)k, said);
        rewind(said);
        if (!ended) print_error("seed %u, number %d:\n", any_seed, k);
        while (fgets(line, sizeof line, said)) {
            is_well |= strncmp(line, well, strlen(well)) == 0;
            if (!ended && line[0] != '[') print_error("    %s", line);
        }
        fclose(said);
        done += is_well;
        failed += !ended;
    }
    print_message("%d draws, %d %s\n", n, done, well);
    assert_int_equal(failed, 0);
    assert_true(done >= n / 3);
}

/* main of such a test: `all` calls any_draws, `alone` tries number any_number and prints what it is. */
static inline int any_main(int n, char **arguments, void (*all)(void **), void (*alone)(void **),
                           CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    const struct CMUnitTest each[] = {cmocka_unit_test(all)}, single[] = {cmocka_unit_test(alone)};
    const char *given = getenv("LUDUS_OPTIONS_SEED");
    if (given) any_seed = (uint32_t)strtoul(given, NULL, 10);
    if (n > 1) any_number = (uint32_t)strtoul(arguments[1], NULL, 10);
    return n > 1 ? cmocka_run_group_tests(single, set_up, tear_down)
                 : cmocka_run_group_tests(each, set_up, tear_down);
}
