/* The tutorials (guide, EMPO in plain words, a knowledge graph of one's own) are followed to the letter, each
 * in a folder of its own that holds the scenarios, and what they show must be what the program prints.
 *
 * What a page says, and how it is read:
 *   - A block of code with a file's name behind its language (```yaml flat.yaml) is that file. It is written
 * when its turn comes.
 *   - A line `$ ludus ...` in a block is run to its end. `view` opens a window and is left out
 * (test_documents.c checks its flags); `export` is the shell's.
 *   - The lines below it, up to the next `$ ` or the end of the block, are what it prints: on standard
 * output, or where it fails, as a page may show, on standard error. A line `...` stands for lines that are
 * left out, `...` at the end of a line for the rest of it. Blank lines and the number of blanks do not count.
 *   - Two kinds of numbers depend on the machine, and need only be numbers: those with a unit of time, memory
 * or speed behind them (s, ms, min, B to GiB, anything/s), and all numbers below a command that trains or
 * names what was trained on the page, because processors round sums in their own ways.
 *   - A picture that a page shows (images/.../NAME) is a file NAME that its commands write.
 *
 * LUDUS_MAKE_DOCUMENTS=1 (`make docs`) does the same for the gallery too, tells every command, and puts the
 * pictures into docs/images. */
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

#define DOCS LUDUS_SOURCE_DIR "/docs/"

enum { MOST_RUNS = 40, MOST_LINE = 2000, LONGEST_MS = 1000 * 1000 };

typedef struct page {
    const char *name;
    char folder[40];
    char *trained[MOST_RUNS]; /* folders of trainings */
    int n_trained, n_commands, n_compared, n_pictures;
} page;

static const char *making; /* the page that is made, all, or null: compared only */

/* ---- lines without what depends on the machine ---- */

/* The length of a number at `at`, 0 where there is none. */
static size_t number_length(const char *at) {
    char *end;
    const char *digits = at + (*at == '-' || *at == '+');
    if (!isdigit((unsigned char)*digits)) return 0;
    (void)strtod(at, &end);
    return (size_t)(end - at);
}

/* The length of a blank, of a letter for thousands or millions, and of a unit of time, memory or speed; 0
 * where there is no such unit. */
static size_t unit_length(const char *at) {
    static const char *const units[] = {"s", "ms", "min", "h", "B", "KiB", "MiB", "GiB"};
    const char *unit = at + (*at == ' ');
    if (strchr("kMG", *unit) && *unit && unit[1] == ' ') unit += 2;
    const size_t length = strcspn(unit, " ,;:()\n");
    bool is_one = length > 2 && strncmp(unit + length - 2, "/s", 2) == 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        is_one = is_one || (length == strlen(units[i]) && strncmp(unit, units[i], length) == 0);
    return is_one ? (size_t)(unit - at) + length : 0;
}

/* Runs of blanks as one, numbers that depend on the machine as `#`. */
static void bare(const char *line, bool all, char to[MOST_LINE]) {
    size_t n = 0;
    bool word = false; /* the number belongs to a word before it */
    line += strspn(line, " ");
    while (*line && *line != '\n' && n + 2 < MOST_LINE) {
        const size_t length = word ? 0 : number_length(line);
        const size_t unit = length ? unit_length(line + length) : 0;
        if (length && (all || unit)) {
            to[n++] = '#';
            line += length + unit;
        } else if (length) {
            for (size_t i = 0; i < length && n + 2 < MOST_LINE; i++) to[n++] = *line++;
        } else {
            if (*line != ' ' || (n && to[n - 1] != ' ')) to[n++] = *line;
            line++;
        }
        word = !all && n && (isalnum((unsigned char)to[n - 1]) || to[n - 1] == '_');
    }
    while (n && to[n - 1] == ' ') n--;
    to[n] = 0;
}

static bool same_line(const char *shown, const char *printed, bool all) {
    char a[MOST_LINE], b[MOST_LINE];
    bare(shown, all, a);
    bare(printed, all, b);
    const size_t length = strlen(a);
    if (length > 3 && strcmp(a + length - 3, "...") == 0) return strncmp(a, b, length - 3) == 0;
    return strcmp(a, b) == 0;
}

static const char *next_line(const char *at) {
    at += strcspn(at, "\n");
    return at + (*at == '\n');
}

static bool is_blank(const char *line) {
    return line[strspn(line, " \t\r")] == '\n' || line[strspn(line, " \t\r")] == 0;
}

static bool is_gap(const char *line) {
    return strncmp(line, "...", 3) == 0 && (line[3] == '\n' || line[3] == 0);
}

/* Null where what is shown is what was printed, else the line that is not. Of lines left out it takes the
 * fewest. */
static const char *first_difference(const char *shown, const char *printed, bool all) {
    bool gap = false;
    for (; *shown; shown = next_line(shown)) {
        if (is_blank(shown)) continue;
        if (is_gap(shown)) {
            gap = true;
            continue;
        }
        while (*printed && (is_blank(printed) || (gap && !same_line(shown, printed, all))))
            printed = next_line(printed);
        if (!*printed || !same_line(shown, printed, all)) return shown;
        printed = next_line(printed);
        gap = false;
    }
    while (is_blank(printed) && *printed) printed = next_line(printed);
    return gap || !*printed ? NULL : "(the page ends before the program does: a line `...` says so)";
}

/* ---- running ---- */

static bool was_trained(const page *p, char *const *words, int n) {
    if (strcmp(words[0], "train") == 0) return true;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < p->n_trained; k++)
            if (strcmp(words[i], p->trained[k]) == 0) return true;
    return false;
}

static void note_training(page *p, char *const *words, int n) {
    const char *out = page_value(words, n, "-o", "--out");
    if (strcmp(words[0], "train") != 0 || !out) return;
    assert_true(p->n_trained < MOST_RUNS);
    p->trained[p->n_trained++] = strdup(out);
}

/* Adds the lines that begin so to `to`, with /home/you in place of the folder. */
static void add_lines(const page *p, const char *from, const char *beginning, char *to) {
    to += strlen(to);
    for (const char *line = from; *line; line = next_line(line)) {
        if (strncmp(line, beginning, strlen(beginning)) != 0) continue;
        for (const char *at = line, *end = next_line(line); at < end;) {
            const bool here = strncmp(at, p->folder, strlen(p->folder)) == 0;
            if (here)
                to = stpcpy(to, "/home/you");
            else
                *to++ = *at;
            at += here ? strlen(p->folder) : 1;
        }
    }
    *to = 0;
}

/* What a reader sees of it, without progress. The caller frees it. */
static char *seen(const page *p, const program_result *r) {
    char *text =
        calloc(strlen(r->out) + strlen(r->err) + 1, 1); /* the folder's name is longer than the one it gets */
    add_lines(p, r->err, r->exit_code ? "ludus: " : "ludus: warning: ", text);
    if (r->exit_code == 0) add_lines(p, r->out, "", text);
    return text;
}

/* Runs a command and compares it with what is shown below it, if anything is. */
static void follow(page *p, const char *command, const char *shown) {
    char *words[PAGE_WORDS + 1];
    const int n = page_words(command, words);
    if (n == 0 || (strcmp(words[0], "ludus") != 0 && strcmp(words[0], "export") != 0))
        fail_msg("%s: only `ludus` is run by this test, not `%s`", p->name, command);
    if (n > 1 && words[0][0] == 'l' && strcmp(words[1], "view") != 0) {
        if (making) print_message("%s: $ %s\n", p->name, command);
        program_result r = program_run_at_most(p->folder, (const char *const *)words + 1, LONGEST_MS);
        const bool shows = shown[strspn(shown, " \n")] != 0;
        if (r.exit_code != 0 && !shows) fail_msg("%s: `%s` failed: %s", p->name, command, r.err);
        char *printed = seen(p, &r);
        const bool all = was_trained(p, words + 1, n - 1);
        const char *difference = shows ? first_difference(shown, printed, all) : NULL;
        if (difference)
            fail_msg("%s: below `%s` the page shows\n%.*s\nbut the program prints\n%s", p->name, command,
                     (int)strcspn(difference, "\n"), difference, printed);
        free(printed);
        note_training(p, words + 1, n - 1);
        p->n_commands++;
        p->n_compared += shows;
        program_free(&r);
    }
    for (int i = 0; i < n; i++) free(words[i]);
}

/* A block of commands with what they print. */
static void follow_block(page *p, char *block) {
    for (char *at = block; *at;) {
        char *line = at, *end = line + strcspn(line, "\n");
        at = *end ? end + 1 : end;
        if (strncmp(line, "$ ", 2) != 0) continue;
        *end = 0;
        while (end > line && end[-1] == '\\' && *at) { /* a command over several lines */
            end[-1] = *end = ' ';
            end = at + strcspn(at, "\n");
            at = *end ? end + 1 : end;
            *end = 0;
        }
        char *shown = at;
        while (*at && strncmp(at, "$ ", 2) != 0) at += (size_t)(next_line(at) - at);
        const char after = *at;
        *at = 0;
        follow(p, line + 2, shown);
        *at = after;
    }
}

static void write_block(const page *p, const char *name, size_t name_length, const char *text) {
    char path[400];
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/%.*s", p->folder, (int)name_length, name);
    assert_null(strstr(path, ".."));
    for (char *slash = path + strlen(p->folder) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0777);
    }
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s: %s", p->name, error.text);
}

/* Blocks in the order of the page: files are written, commands run. */
static void follow_blocks(page *p, char *text) {
    static const char fence[] = "```";
    for (char *at = strncmp(text, fence, 3) == 0 ? text : strstr(text, "\n```"); at;
         at = strstr(at, "\n```")) {
        char *first = at + (*at == '\n'), *info = first + 3;
        char *begin = (char *)next_line(info), *end = strstr(begin, "\n```");
        if (!end) fail_msg("%s: a block of code has no end", p->name);
        const size_t info_length = strcspn(info, "\n"), language = strcspn(info, " \n");
        end[1] = 0; /* the last line keeps its end */
        if (language < info_length)
            write_block(p, info + language + 1, info_length - language - 1, begin);
        else if (language == 0)
            follow_block(p, begin);
        at = end + 2;
    }
}

/* ---- pictures ---- */

static void copy_picture(const page *p, const char *from, const char *to) {
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length = 0;
    lud_error error = {0};
    if (lud_file_read(arena, from, 0, &bytes, &length, &error) || lud_file_write(to, bytes, length, &error))
        fail_msg("%s: %s", p->name, error.text);
    lud_arena_destroy(arena);
}

/* Every picture that the page shows was made by its commands, and is there. */
static void check_pictures(page *p, const char *text) {
    static const char link[] = "](images/";
    for (const char *at = text; (at = strstr(at, link));) {
        at += strlen("](");
        const size_t length = strcspn(at, ")");
        char shown[400], made[400];
        snprintf(shown, sizeof shown, DOCS "%.*s", (int)length, at);
        snprintf(made, sizeof made, "%s/%s", p->folder, strrchr(shown, '/') + 1);
        if (!lud_file_exists(made)) fail_msg("%s: no command makes %.*s", p->name, (int)length, at);
        if (making) copy_picture(p, made, shown);
        if (!lud_file_exists(shown)) fail_msg("%s: %s is not there: make docs", p->name, shown);
        p->n_pictures++;
    }
}

/* ---- the pages ---- */

static void follow_page(const char *name) {
    if (making && strcmp(making, "all") != 0 && strcmp(making, name) != 0) return;
    page p = {.name = name, .folder = "/tmp/ludus-guide-XXXXXX"};
    char path[400];
    assert_non_null(mkdtemp(p.folder));
    snprintf(path, sizeof path, "%s/scenarios", p.folder);
    assert_int_equal(symlink(LUDUS_SOURCE_DIR "/scenarios", path), 0);
    snprintf(path, sizeof path, DOCS "%s", name);
    char *text = page_read(path), *copy = strdup(text);
    follow_blocks(&p, copy);
    check_pictures(&p, text);
    print_message("%s: %d commands run, %d compared with the page, %d pictures\n", name, p.n_commands,
                  p.n_compared, p.n_pictures);
    assert_true(p.n_commands > 3);
    assert_true(p.n_compared > 3 || strcmp(name, "gallery.md") == 0);
    free(text);
    free(copy);
    for (int i = 0; i < p.n_trained; i++) free(p.trained[i]);
    snprintf(path, sizeof path, "rm -rf '%s'", p.folder);
    assert_int_equal(system(path), 0);
}

static void guide(void **state) {
    (void)state;
    follow_page("guide.md");
}

static void empo(void **state) {
    (void)state;
    follow_page("empo.md");
}

static void knowledge_graph(void **state) {
    (void)state;
    follow_page("knowledge-graph.md");
}

static void gallery(void **state) {
    (void)state;
    if (making) follow_page("gallery.md");
}

/* What the comparison lets pass, and what not. */
static void comparison(void **state) {
    (void)state;
    static const char printed[] =
        "states   4.00 k in 0.12 s\n\n  X_h = 0.5  (91 B)\nspeed 2.1 M steps/s\nend\n";
    assert_null(first_difference("states 4.00 k in 9 s\nX_h = 0.5 (2 KiB)\nspeed 900 steps/s\nend\n", printed,
                                 false));
    assert_null(first_difference("...\nX_h = 0.5 ...\n...\n", printed, false));
    assert_null(first_difference("...\n", printed, false));
    assert_null(first_difference("states 7 k in 9 s\nX_h = -3e-7 (1 B)\n...\n", printed, true));
    assert_non_null(first_difference("states 4.01 k in 0.12 s\n...\n", printed, false));
    assert_non_null(first_difference("...\nX_h = 0.6  (91 B)\n...\n", printed, false));
    assert_non_null(first_difference("X_h = 0.5  (91 B)\n...\n", printed, false));
    assert_non_null(first_difference("states 4.00 k in 1 s\n", printed, false));
    assert_non_null(first_difference("...\nX_r = 0.5  (91 B)\n...\n", printed, true));
    assert_non_null(first_difference("...\nend\nmore\n", printed, true));
    assert_non_null(first_difference("...\nspeed # steps/s\nend\nstates\n", printed, true));
}

int main(void) {
    making = getenv("LUDUS_MAKE_DOCUMENTS");
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(comparison), cmocka_unit_test(guide),
                                       cmocka_unit_test(empo), cmocka_unit_test(knowledge_graph),
                                       cmocka_unit_test(gallery)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
