/* Every `ludus` command of README, docs and --help is tried, in a folder of its own that holds the scenarios,
 * and so is every whole scenario that a page shows (a block that begins with `ludus: 1`).
 *
 * The rules, in this order:
 *   - A pattern is not run: it names what is not there (SCENARIO, RUN, other.yaml, a RUN that no page makes),
 * a data set that does not ship, or says nothing but the verb. Its verb and its flags must stand in the help.
 *   - The tutorials are followed to the letter by test_guide.c: flags as of a pattern.
 *   - `view` opens a window and `bench` measures for minutes: flags as of a pattern; what they name must be
 * there.
 *   - Everything else runs as it is printed. What makes the RUN that it names comes before, what it writes is
 *     removed before. After half a second it is interrupted, as Ctrl-C would: then it has to say so. */
#include <ctype.h>
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

#include "base/file.h"
#include "cli/documents/support_pages.h"
#include "cli/support_program.h"

enum { MOST_COMMANDS = 400, MILLISECONDS = 500 };

typedef struct command {
    char *page, *text;
    char *words[PAGE_WORDS + 1]; /* behind `ludus`; null-terminated */
    int n;
    bool tried, followed; /* by test_guide.c */
} command;

static command commands[MOST_COMMANDS];
static int n_commands, n_run, n_interrupted, n_patterns, n_scenarios;
static char folder[] = "/tmp/ludus-documents-XXXXXX";

/* ---- what the pages say ---- */

static bool is_followed(const char *page) {
    static const char *const pages[] = {"docs/guide.md", "docs/empo.md", "docs/knowledge-graph.md"};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strcmp(page, pages[i]) == 0) return true;
    return false;
}

static void add(const char *page, const char *text, size_t length) {
    char *copy = strndup(text, length);
    for (int i = 0; i < n_commands; i++)
        if (strcmp(commands[i].text, copy) == 0) { /* said before */
            free(copy);
            return;
        }
    assert_true(n_commands < MOST_COMMANDS);
    command *c = &commands[n_commands++];
    *c = (command){.page = strdup(page), .text = copy, .followed = is_followed(page)};
    c->n = page_words(c->text, c->words);
}

/* Behind `ludus ` at the beginning of a text, null where there is none. */
static const char *behind_name(const char *text) {
    static const char *const names[] = {"$ ", "build/release/", "ludus "};
    for (int i = 0; i < 3; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            text += strlen(names[i]);
        else if (i == 2)
            return NULL;
    return text;
}

/* A line of code, with those that a backslash joins to it. */
static size_t joined_line(char *line) {
    size_t length = strcspn(line, "\n");
    while (length > 0 && line[length - 1] == '\\' && line[length]) {
        line[length - 1] = line[length] = ' ';
        length = strcspn(line, "\n");
    }
    return length;
}

/* Commands of fenced and indented code, and between backquotes. */
static void read_page(const char *page, char *text) {
    for (char *line = text; line && *line;) {
        char *code = line + strspn(line, " ");
        const char *whole = behind_name(code);
        const size_t length = joined_line(line);
        if (whole) add(page, whole, length - (size_t)(whole - line));
        for (const char *at = line; !whole && (at = memchr(at, '`', (size_t)(line + length - at)));) {
            const char *end = memchr(at + 1, '`', (size_t)(line + length - at - 1));
            const char *inner = end ? behind_name(at + 1) : NULL;
            if (inner && inner < end) add(page, inner, (size_t)(end - inner));
            at = end ? end + 1 : line + length;
        }
        line = line[length] ? line + length + 1 : NULL;
    }
}

/* Runs the scenarios of a page, but those whose own files it cannot have. */
static void try_scenarios(const char *page, const char *text) {
    static const char fence[] = "```yaml\n", first[] = "ludus: 1";
    for (const char *at = text; (at = strstr(at, fence));) {
        const char *begin = at + strlen(fence), *end = strstr(begin, "```");
        assert_non_null(end);
        at = end;
        if (strncmp(begin, first, strlen(first)) != 0) continue;
        char path[200];
        lud_error error = {0};
        snprintf(path, sizeof path, "%s/page.yaml", folder);
        assert_int_equal(lud_file_write(path, begin, (size_t)(end - begin), &error), LUD_OK);
        program_result r = LUDUS("run", path, "-n", "2");
        if (r.exit_code && !strcasestr(r.err, "no such file"))
            fail_msg("a scenario of %s is not one: %s", page, r.err);
        n_scenarios += r.exit_code == 0;
        program_free(&r);
    }
}

/* add-a-... is followed to the letter by test_examples.c. */
static void visit_page(const char *page, char *text) {
    if (strstr(page, "/add-a-")) return;
    try_scenarios(page, text);
    read_page(page, text);
}

/* `example: ludus ...` of every verb. */
static void read_help(void) {
    program_result all = LUDUS("help");
    for (const char *line = all.out; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char verb[32];
        if (sscanf(line, "  %31[a-z] ", verb) != 1 || strcmp(verb, "ludus") == 0) continue;
        program_result help = LUDUS(verb, "--help");
        for (const char *example = help.out; (example = strstr(example, "ludus "));) {
            const bool backquoted = example > help.out && example[-1] == '`';
            const bool begins = example > help.out + 8 && strncmp(example - 9, "example: ", 9) == 0;
            example += strlen("ludus ");
            if (begins || backquoted) add(verb, example, strcspn(example, backquoted ? "`" : "\n"));
        }
        program_free(&help);
    }
    program_free(&all);
}

/* ---- what is there ---- */

static bool is_there(const char *path) {
    char whole[600];
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    return lud_file_exists(whole) || lud_folder_exists(whole);
}

static const char *value_of(const command *c, const char *letter, const char *name) {
    return page_value(c->words, c->n, letter, name);
}

/* A data set that does not ship: a scenario with a `folder:` that is not beside it. */
static bool misses_data(const char *path) {
    char whole[600], named[200], beside[900];
    const size_t length = strlen(path);
    if (length < 5 || strcmp(path + length - 5, ".yaml") != 0) return false;
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    char *text = page_read(whole), *key = strstr(text, "folder: ");
    const bool has = key && sscanf(key, "folder: %199[^ ,}\n]", named) == 1;
    free(text);
    char *slash = strrchr(whole, '/');
    *slash = 0;
    snprintf(beside, sizeof beside, "%s/%s", whole, has ? named : "");
    return has && !lud_folder_exists(beside);
}

/* ---- trying ---- */

/* Verb and flags stand in the help. */
static void check_flags(const command *c) {
    program_result help = LUDUS("help", c->words[0]);
    const bool known = help.exit_code == 0;
    if (!known && !isupper((unsigned char)c->words[0][0]) && c->words[0][0] != '-')
        fail_msg("%s: `ludus %s`: no such verb", c->page, c->text);
    for (int i = 1; i < c->n && known; i++) {
        const char *word = c->words[i] + strspn(c->words[i], "[(");
        if (word[0] != '-' || (!isalpha((unsigned char)word[1]) && word[1] != '-')) continue;
        char flag[64];
        const size_t length = strcspn(word, "=]),;");
        snprintf(flag, sizeof flag, "%.*s%s", (int)length, word, word[1] == '-' ? " " : ",");
        if (!strstr(help.out, flag)) fail_msg("%s: `ludus %s`: no flag %s", c->page, c->text, word);
    }
    program_free(&help);
}

static void try_command(command *c);

/* RUN, SCENARIO, P: it stands for something. */
static bool stands_for(const char *word) {
    const size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return length > 0 && word[length] == 0;
}

/* What it names is there, made by another command where one makes it. */
static bool is_ready(const command *c) {
    const char *verb = c->words[0];
    if (strcmp(verb, "help") == 0) return c->n == 1 || !isupper((unsigned char)c->words[1][0]);
    for (int i = 1; i < c->n; i++)
        if (strcmp(c->words[i], "--help") == 0 && !isupper((unsigned char)verb[0])) return true;
    for (int i = 0; i < c->n; i++)
        if (stands_for(c->words[i])) return false;
    int n_named = 0;
    for (int i = 1; i < c->n && c->words[i][0] != '-'; i++, n_named++) {
        if (!is_there(c->words[i]))
            for (int k = 0; k < n_commands; k++) {
                const char *out = commands[k].n ? value_of(&commands[k], "-o", "--out") : NULL;
                if (out && strcmp(out, c->words[i]) == 0 && !commands[k].tried) try_command(&commands[k]);
            }
        if (strncmp(c->words[i], "scenarios/", 10) == 0 && !is_there(c->words[i]))
            fail_msg("%s: `ludus %s`: %s does not ship", c->page, c->text, c->words[i]);
        if (!is_there(c->words[i]) || misses_data(c->words[i])) return false;
    }
    const char *policy = value_of(c, "-p", "--policy");
    if (policy && strncmp(policy, "runs/", 5) == 0 && !is_there(policy)) return false;
    return n_named > 0;
}

static void check_bench(const command *c) {
    program_result list = LUDUS("bench", "--list");
    for (int i = 1; i < c->n && islower((unsigned char)c->words[i][0]); i++) {
        char name[100];
        snprintf(name, sizeof name, "\n%s", c->words[i]);
        if (!strstr(list.out, name) && strncmp(list.out, name + 1, strlen(name) - 1) != 0)
            fail_msg("%s: `ludus %s`: no such benchmark", c->page, c->text);
    }
    program_free(&list);
    check_flags(c);
}

/* What another command takes must hold something, on a slow machine too. */
static bool is_taken(const char *out) {
    for (int k = 0; out && k < n_commands; k++)
        for (int i = 1; i < commands[k].n && commands[k].words[i][0] != '-'; i++)
            if (strcmp(commands[k].words[i], out) == 0) return true;
    return false;
}

static void run_command(const command *c) {
    const char *out = value_of(c, "-o", "--out");
    const bool trains = strcmp(c->words[0], "train") == 0; /* saves where it is interrupted */
    const int at_first = is_taken(out) && !trains ? 10 * MILLISECONDS : MILLISECONDS;
    char line[700];
    if (out && !value_of(c, "-r", "--resume")) {
        assert_null(strstr(out, ".."));
        snprintf(line, sizeof line, "rm -rf '%s/%s'", folder, out);
        if (out[0] != '/') assert_int_equal(system(line), 0);
    }
    program_result r = program_run_at_most(folder, (const char *const *)c->words, at_first);
    for (int wait = 4 * at_first; r.exit_code < 0 && wait < 100 * MILLISECONDS; wait *= 4) {
        program_free(&r); /* it did not listen yet: a slow machine */
        r = program_run_at_most(folder, (const char *const *)c->words, wait);
    }
    const bool interrupted =
        r.exit_code == 130 && (strstr(r.err, "interrupted") || strstr(r.err, "stopped after"));
    if (r.exit_code != 0 && !interrupted)
        fail_msg("%s: `ludus %s` ended with %d: %s", c->page, c->text, r.exit_code, r.err);
    n_run++;
    n_interrupted += interrupted;
    program_free(&r);
}

static void try_command(command *c) {
    c->tried = true;
    if (c->n == 0) return;
    const char *verb = c->words[0];
    if (strcmp(verb, "bench") == 0) {
        check_bench(c);
    } else if (c->followed || !is_ready(c)) {
        check_flags(c);
        n_patterns++;
    } else if (strcmp(verb, "view") == 0) {
        check_flags(c);
    } else {
        run_command(c);
    }
}

static void commands_of_the_documents_work(void **state) {
    (void)state;
    page_each(visit_page);
    read_help();
    for (int i = 0; i < n_commands; i++)
        if (!commands[i].tried) try_command(&commands[i]);
    print_message("%d commands: %d run, of which %d were interrupted; %d patterns\n", n_commands, n_run,
                  n_interrupted, n_patterns);
    assert_true(n_run > 40);
    assert_true(n_scenarios > 3);
    for (int i = 0; i < n_commands; i++) {
        for (int k = 0; k < commands[i].n; k++) free(commands[i].words[k]);
        free(commands[i].page);
        free(commands[i].text);
    }
}

int main(void) {
    setenv("SDL_VIDEODRIVER", "dummy", 1); /* for the windows of `train --view` */
    char path[300], line[400];
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/scenarios", folder);
    if (symlink(LUDUS_SOURCE_DIR "/scenarios", path) != 0) return 1;
    snprintf(path, sizeof path, "%s/runs", folder);
    if (mkdir(path, 0777) != 0) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(commands_of_the_documents_work)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    return system(line) == 0 ? failed : 1;
}
