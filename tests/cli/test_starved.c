/* The program with one allocation refused, by itself or by a library: it says so and fails, or what it prints
 * and writes is what it always is. Never success with something missing.
 *
 * LUDUS_STARVED=N tries N refusals of each command instead of a few. */
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

#include "base/random.h"
#include "cli/support_program.h"

static char folder[] = "/tmp/ludus-starved-XXXXXX";

/* Commands and what they leave that is worth a look; @ stands for a new folder each time. */
static const struct {
    const char *command;
    const char *file;    /* of the folder; null: none */
    const char *varying; /* keys whose lines tell a clock */
    long most;           /* allocations that are worth refusing */
} cases[] = {
    {"run scenarios/multigrid/rescue.yaml -j -n 4 -t 1", NULL, "seconds per_second", 6000},
    {"inspect scenarios/empo/fetch_the_key.yaml -j", NULL, "", 6000},
    {"solve scenarios/empo/fetch_the_key.yaml -q -j -t 1 -o @", "summary.json", "seconds per_second", 9000},
    {"eval SOLVED -j -t 1", NULL, "seconds", 9000},
    {"run scenarios/multigrid/rescue.yaml -n 4 -t 1 -q", NULL, "speed", 6000},
    {"help options", NULL, "", 500},
};

/* The command's output, and the file's text behind it, without lines of varying keys. */
static char *outcome(const char *command, const char *own, const char *file, const char *varying, long starve,
                     int *exit_code) {
    char words[1024], path[256];
    FILE *pipe;
    char *text = calloc(1, 1 << 20);
    size_t length = 0;
    snprintf(words, sizeof words,
             "cd " LUDUS_SOURCE_DIR
             " && OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 LD_PRELOAD=" LUDUS_BINARY_DIR
             "/starve.so %s%ld " LUDUS_BINARY_DIR "/ludus %s 2>%s/errors",
             starve ? "LUDUS_STARVE=" : "LUDUS_NOTHING=", starve, command, folder);
    assert_non_null(text);
    pipe = popen(words, "r");
    assert_non_null(pipe);
    length += fread(text, 1, (1 << 19) - 1, pipe);
    const int status = pclose(pipe);
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    snprintf(path, sizeof path, "%s/%s", own, file ? file : "");
    FILE *kept = file ? fopen(path, "r") : NULL;
    if (kept) {
        length += fread(text + length, 1, (1 << 19) - 1, kept);
        fclose(kept);
    }
    char *to = text;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line);
        bool varies = false;
        char keys[128];
        snprintf(keys, sizeof keys, "%s", varying);
        const char saved = *end;
        *end = 0;
        for (char *key = strtok(keys, " "); key; key = strtok(NULL, " ")) varies |= strstr(line, key) != NULL;
        *end = saved;
        if (varies) continue;
        memmove(to, line, (size_t)(end - line));
        to += end - line;
    }
    *to = 0;
    return text;
}

static void never_success_with_something_missing(void **state) {
    (void)state;
    const char *wanted = getenv("LUDUS_STARVED");
    const int n = wanted ? atoi(wanted) : 25;
    int told = 0, whole = 0, ended = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char command[512], own[96], solved[96];
        snprintf(solved, sizeof solved, "%s/solved", folder);
        char *expected = NULL;
        for (int i = 0; i <= n; i++) {
            const lud_random_key key = {(uint64_t)c, (uint32_t)i};
            const long at = i == 0 ? 0
                                   : 1 + (long)lud_below(lud_draw(key, 0, 0, LUD_PURPOSE_USER, 0).v[0],
                                                         (uint32_t)cases[c].most);
            snprintf(own, sizeof own, "%s/%zu-%d", folder, c, i);
            const char *at_folder = strchr(cases[c].command, '@'), *run = strstr(cases[c].command, "SOLVED");
            snprintf(command, sizeof command, "%s", cases[c].command);
            if (at_folder)
                snprintf(command, sizeof command, "%.*s%s", (int)(at_folder - cases[c].command),
                         cases[c].command, own);
            if (run)
                snprintf(command, sizeof command, "%.*s%s%s", (int)(run - cases[c].command), cases[c].command,
                         solved, run + strlen("SOLVED"));
            int exit_code;
            char *text = outcome(command, own, cases[c].file, cases[c].varying, at, &exit_code);
            if (i == 0) {
                if (exit_code) fail_msg("%s: exit code %d", command, exit_code);
                expected = text;
                if (at_folder && rename(own, solved)) fail_msg("%s", own);
                continue;
            }
            if (exit_code == 0) {
                whole++;
                if (strcmp(text, expected) != 0)
                    fail_msg("%s, allocation %ld refused: exit code 0 and\n%s\ninstead of\n%s", command, at,
                             text, expected);
            } else if (exit_code == 1 || exit_code == 2) {
                told++;
            } else {
                ended++; /* the loader, or a library that gives up: nobody takes that for a result */
            }
            free(text);
        }
        free(expected);
    }
    print_message("%d runs with an allocation refused: %d told, %d whole, %d ended in a library\n",
                  told + whole + ended, told, whole, ended);
    assert_true(told > 0 && whole > 0);
}

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0; /* they bring an allocator of their own */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return 0;
#endif
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_success_with_something_missing)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
