/* What the program says on small worlds, command by command, stands in tests/cli/transcripts/NAME.txt: every
 * `$ command`, what it prints, `! ` before what goes to standard error, [N] where the exit code is not 0.
 * `$ show FILE` shows what was written. Figures of clocks and memory are #; profiles, whose order they
 * decide, are left out. What is learned agrees to rounding, since sums of products depend on the processor.
 *
 * LUDUS_TRANSCRIPTS=FOLDER writes what is said now into that folder; the tests' own, and git shows what it
 * would change: LUDUS_TRANSCRIPTS=tests/cli/transcripts build/release/cli_test_transcripts */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
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

#include "base/file.h"
#include "base/text.h"
#include "cli/support_program.h"
#include "folder.h"

enum { MOST_TRANSCRIPTS = 64, MOST_WORDS = 64, PATH = 512 };

TEST_FOLDER("/tmp/ludus-transcripts-XXXXXX")

/* Lines with these words hold figures that are never twice the same. */
static const char *const varying[] = {"seconds", "per second", "/s,", "/s ",    "/s)",        " s)",
                                      " s,",     " ms ",       "MiB", " took ", "per_second", "peak_memory"};
enum { N_VARYING = sizeof varying / sizeof *varying };

static bool ends_with(const char *line, size_t n, const char *end) {
    return n >= strlen(end) && !memcmp(line + n - strlen(end), end, strlen(end));
}

static bool varies(const char *line, size_t n) {
    char own[4096];
    snprintf(own, sizeof own, "%.*s", (int)(n < sizeof own ? n : sizeof own - 1), line);
    for (int i = 0; i < N_VARYING; i++)
        if (strstr(own, varying[i])) return true;
    return ends_with(line, n, " s") || ends_with(line, n, "/s") || ends_with(line, n, " ms");
}

/* A line with # for every figure and one blank for several. */
static void mask(const char *line, size_t n, lud_text *out) {
    for (size_t i = 0; i < n;) {
        if (isdigit((unsigned char)line[i]) && (i == 0 || !isalpha((unsigned char)line[i - 1]))) {
            char *end;
            strtod(line + i, &end);
            i = (size_t)(end - line);
            while (i + 3 < n && line[i] == ',' && isdigit((unsigned char)line[i + 1])) /* of thousands */
                i += 1 + strspn(line + i + 1, "0123456789");
            const bool thousands = n - i > 3 && line[i] == ' ' && strchr("kMG", line[i + 1]);
            if (thousands && (line[i + 2] == ' ' || line[i + 2] == '/')) i += 2;
            lud_text_append(out, "#");
        } else if (line[i] == ' ' && i + 1 < n && line[i + 1] == ' ') {
            i++;
        } else {
            lud_text_append(out, "%c", line[i++]);
        }
    }
}

static void add_lines(char *text, const char *before, lud_text *out) {
    static const char program[] = LUDUS_BINARY_DIR "/ludus";
    for (char *at; (at = strstr(text, program)) != NULL;) /* the program is named as it was called */
        memmove(at, at + sizeof program - sizeof "ludus", strlen(at + sizeof program - sizeof "ludus") + 1);
    bool column = false;  /* the last one of a table is of seconds */
    bool profile = false; /* its lines stand in the order of what took longest */
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");
        size_t kept = n;
        if (*before && varies(line, n) &&
            strncmp(line, "ludus:", 6) != 0) { /* of progress there are as many as there is time for */
            line += n + (line[n] == '\n');
            continue;
        }
        profile |= n > 3 && !memcmp(line, "===", 3) && ends_with(line, n, "calls) ===");
        if (profile) {
            profile = memcmp(line + strspn(line, " "), "TOTAL", 5) != 0;
            line += n + (line[n] == '\n');
            continue;
        }
        while (column && kept > 0 && line[kept - 1] != ' ') kept--;
        lud_text_append(out, "%s", before);
        if (varies(line, n) && !ends_with(line, n, " seconds"))
            mask(line, n, out);
        else
            lud_text_append(out, "%.*s%s", (int)kept, line, kept < n ? "#" : "");
        lud_text_append(out, "\n");
        column = n > 0 && (column || ends_with(line, n, " seconds"));
        line += n + (line[n] == '\n');
    }
}

/* Runs a command line, whose words may stand in single quotes, in the folder; or shows a file of it. */
static void say(const char *folder_of, const char *command, lud_text *out) {
    char copy[2048], *words[MOST_WORDS + 1];
    int n = 0;
    snprintf(copy, sizeof copy, "%s", command);
    for (char *at = copy; *at;) {
        while (*at == ' ') *at++ = 0;
        if (!*at) break;
        assert_true(n < MOST_WORDS);
        const bool quoted = *at == '\'';
        words[n++] = at += quoted;
        at += strcspn(at, quoted ? "'" : " ");
        if (quoted && *at) *at++ = 0;
    }
    words[n] = NULL;
    lud_text_append(out, "$ %s\n", command);
    if (n == 2 && !strcmp(words[0], "show")) {
        char path[PATH + 2048];
        snprintf(path, sizeof path, "%s/%s", folder_of, words[1]);
        lud_arena *arena = lud_arena_create(0);
        lud_error error = {0};
        char *text;
        size_t length;
        if (lud_file_read(arena, path, SIZE_MAX, &text, &length, &error)) fail_msg("%s", error.text);
        add_lines(text, "", out);
        lud_arena_destroy(arena);
        return;
    }
    program_result r = program_run_at_most(folder_of, (const char *const *)words, 120000);
    add_lines(r.out, "", out);
    add_lines(r.err, "! ", out);
    if (r.exit_code) lud_text_append(out, "[%d]\n", r.exit_code);
    program_free(&r);
}

/* What stands before the first command is kept, then commands and what is said to them. */
static void play(const char *transcript, const char *own, lud_text *out) {
    bool begun = false;
    for (const char *line = transcript; *line;) {
        const size_t n = strcspn(line, "\n");
        char command[2048];
        snprintf(command, sizeof command, "%.*s", (int)n, line);
        line += n + (line[n] == '\n');
        const bool asks = !strncmp(command, "$ ", 2);
        if (asks)
            say(own, command + 2, out);
        else if (!begun)
            lud_text_append(out, "%s\n", command);
        begun |= asks;
    }
}

/* The number that begins here, unless it is part of a word; null: none does. */
static const char *number_at(const char *line, size_t i, size_t n, double *value, bool *real) {
    const bool within = i > 0 && (isalnum((unsigned char)line[i - 1]) || line[i - 1] == '.');
    const size_t digit = i + (line[i] == '-');
    if (within || digit >= n || !isdigit((unsigned char)line[digit])) return NULL;
    char copy[64], *end;
    snprintf(copy, sizeof copy, "%.*s", (int)(n - i < sizeof copy ? n - i : sizeof copy - 1), line + i);
    *value = strtod(copy, &end);
    *real = memchr(copy, '.', (size_t)(end - copy)) != NULL;
    return line + i + (end - copy);
}

/* The same line, but for the last digits of real numbers, which depend on the processor, and the blanks
 * beside them. */
static bool alike(const char *a, size_t n_a, const char *b, size_t n_b) {
    size_t i = 0, j = 0;
    while (i < n_a && j < n_b) {
        double x, y;
        bool real_x, real_y;
        const char *end_x = number_at(a, i, n_a, &x, &real_x), *end_y = number_at(b, j, n_b, &y, &real_y);
        if (end_x && end_y && (real_x || real_y)) {
            if (fabs(x - y) > 1e-6 + 2e-3 * fabs(x)) return false;
            i = (size_t)(end_x - a);
            j = (size_t)(end_y - b);
        } else if (a[i] == ' ' && b[j] == ' ') {
            while (i < n_a && a[i] == ' ') i++;
            while (j < n_b && b[j] == ' ') j++;
        } else if (a[i++] != b[j++]) {
            return false;
        }
    }
    return i == n_a && j == n_b;
}

/* What worlds and exact solutions say is the same on every processor, to the last digit. */
static bool is_exact(const char *command) {
    static const char *const exact[] = {"$ run scenarios/", "$ inspect scenarios/", "$ solve "};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (!strncmp(command, exact[i], strlen(exact[i]))) return true;
    return false;
}

static void compare(const char *name, const char *expected, const char *said) {
    const char *a = expected, *b = said;
    bool exact = true;
    for (int number = 1; *a || *b; number++) {
        const size_t n_a = strcspn(a, "\n"), n_b = strcspn(b, "\n");
        if (!strncmp(a, "$ ", 2)) exact = is_exact(a);
        if (exact ? n_a != n_b || strncmp(a, b, n_a) != 0 : !alike(a, n_a, b, n_b))
            fail_msg("%s, line %d:\nexpected: %.*s\nsaid:     %.*s", name, number, (int)n_a, a, (int)n_b, b);
        a += n_a + (a[n_a] == '\n');
        b += n_b + (b[n_b] == '\n');
    }
}

static void transcript(void **state) {
    const char *name = *state;
    char path[PATH], own[PATH];
    snprintf(path, sizeof path, "%s/tests/cli/transcripts/%s", LUDUS_SOURCE_DIR, name);
    snprintf(own, sizeof own, "%s/%s", folder, name);
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    char *expected;
    size_t length;
    if (lud_file_read(arena, path, SIZE_MAX, &expected, &length, &error)) fail_msg("%s", error.text);
    char command[3 * PATH];
    snprintf(command, sizeof command, "mkdir '%s' && ln -s '%s/scenarios' '%s/assets' '%s'", own,
             LUDUS_SOURCE_DIR, LUDUS_SOURCE_DIR, own);
    assert_int_equal(system(command), 0);
    lud_text said = {0};
    play(expected, own, &said);
    assert_false(said.failed);
    const char *into = getenv("LUDUS_TRANSCRIPTS");
    if (into) {
        snprintf(path, sizeof path, "%s/%s", into, name);
        if (lud_file_write(path, said.bytes, said.length, &error)) fail_msg("%s", error.text);
    } else {
        compare(name, expected, said.bytes);
    }
    lud_text_free(&said);
    lud_arena_destroy(arena);
}

int main(void) {
    static char names[MOST_TRANSCRIPTS][64];
    static struct CMUnitTest tests[MOST_TRANSCRIPTS];
    struct dirent **entries;
    size_t n = 0;
    const int found = scandir(LUDUS_SOURCE_DIR "/tests/cli/transcripts", &entries, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        if (strstr(entries[i]->d_name, ".txt") && n < MOST_TRANSCRIPTS) {
            snprintf(names[n], sizeof names[n], "%.63s", entries[i]->d_name);
            tests[n] = (struct CMUnitTest){names[n], transcript, NULL, NULL, names[n]};
            n++;
        }
        free(entries[i]);
    }
    if (found >= 0) free(entries);
    return _cmocka_run_group_tests("transcripts", tests, n, set_up, tear_down);
}
