/* The program with one allocation refused, by itself or by a library: it says so and fails, or what it prints
 * and writes is what it always is. Never success with something missing.
 *
 * LUDUS_STARVED=N tries N refusals of each command instead of a few, LUDUS_STARVED_SEED others. */
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
#include "base/random.h"
#include "base/text.h"
#include "cli/support_program.h"
#include "folder.h"

TEST_FOLDER("/tmp/ludus-starved-XXXXXX")

/* Commands and what they leave that is worth a look; @ stands for a new folder each time, SOLVED for a solved
 * run, DATA for a data set, TRAINED for a training. */
static const struct {
    const char *command;
    const char *files;   /* of the folder, or of where `@` begins a name */
    const char *varying; /* keys whose lines tell a clock or what else is never twice the same */
} cases[] = {
    {"solve scenarios/empo/fetch_the_key.yaml -q -j -t 1 -o @", "summary.json solution.empo scenario.yaml",
     "seconds per_second peak_memory"},
    {"record scenarios/empo/fetch_the_key.yaml -q -t 1 -n 2 -o @/data.h5", "data.h5", "steps/s)"},
    {"train scenarios/particle/simple_spread.yaml -q -t 1 -o @ --set 'learner={type: graph-mappo, "
     "rollout_length: 3, steps: 12, evaluation_episodes: 2, hidden_size: 16}' --set run.environments=2",
     "policy.safetensors checkpoint.safetensors metrics.csv scenario.yaml", "graph-mappo, ms"},
    {"run scenarios/multigrid/rescue.yaml -j -n 4 -t 1", NULL, "seconds per_second"},
    {"run scenarios/multigrid/rescue.yaml -n 4 -t 1 -q", NULL, "speed"},
    {"run scenarios/particle/simple_spread.yaml --policy TRAINED -j -n 4 -t 1", NULL, "seconds per_second"},
    {"inspect scenarios/empo/fetch_the_key.yaml -j", NULL, ""},
    /* a graph for which there is no memory is counted by levels, which the answer says */
    {"inspect scenarios/empo/fetch_the_key.yaml -j --count", NULL,
     "seconds peak_memory bytes method branches"},
    {"inspect DATA -j", NULL, ""},
    {"eval SOLVED -j -t 1", NULL, "seconds"},
    {"eval SOLVED -j -t 1 --policy random", NULL, "seconds"},
    {"eval TRAINED -j -t 1", NULL, "seconds"},
    {"sweep scenarios/empo/fetch_the_key.yaml -q -t 1 -v learner.beta_r=1,2 -o @/sweep.csv", "sweep.csv", ""},
    {"plot TRAINED -c reward -o @/curve.png", "curve.png", ""},
    {"convert DATA -q -t 1 -o @/again.h5", "again.h5", "steps/s)"},
    {"record scenarios/multigrid/rescue.yaml -q -t 1 -n 1 --steps 1 --size 96 -f 1 -o @/film.mp4", "film.mp4",
     "frames/s"},
    {"record scenarios/multigrid/rescue.yaml -q -t 1 -n 1 --steps 1 --size 96 -f 1 -o @/film.gif", "film.gif",
     "frames/s"},
    {"record scenarios/multigrid/rescue.yaml -q -t 1 -n 1 --steps 1 --size 96 -f 1 -o @/film.png",
     "film-00001.png film-00002.png", "frames/s"},
    {"train scenarios/empo/clone_fetch_the_key.yaml -q -t 1 -o @ --set learner.data=[DATA] --set "
     "learner.steps=4 "
     "--set learner.report_every=2 --set learner.batch=8",
     "policy.safetensors checkpoint.safetensors metrics.csv scenario.yaml", "clone, ms"},
    /* with less memory fewer rows are taken at a time, whose sums round otherwise */
    {"train scenarios/tribes/village_ticks.yaml -q -t 1 -o @ --set learner.ticks=2 --set run.environments=1",
     "checkpoint.safetensors metrics.csv scenario.yaml", "ticks, ms"},
    {"train scenarios/empo/learned/step_out_of_the_way.yaml -q -t 1 -o @ --set 'learner={type: empo-phase1, "
     "num_training_steps: 4, updates_per_iteration: 2, batch_size: 4, environments: 2}'",
     "policy.safetensors checkpoint.safetensors metrics.csv scenario.yaml", "empo-phase1, ms"},
    {"train scenarios/proof/family_tree.yaml -q -t 1 -o @ --set 'learner={type: kge, epochs: 1, dimension: "
     "8}'",
     "policy.safetensors checkpoint.safetensors metrics.csv scenario.yaml", "kge, ms"},
    {"help options", NULL, ""},
};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef struct outcome {
    char *text; /* what it printed and wrote, for strcmp */
    int exit_code;
    long asked;
} outcome;

static const char *place(char path[256], const char *name) {
    snprintf(path, 256, "%s/%s", folder, name);
    return path;
}

/* Text with the words for places replaced by these. */
static void put(char *command, size_t capacity, const char *pattern, const char *own) {
    static const char *const words[] = {"@", "SOLVED", "DATA", "TRAINED"};
    static const char *const names[] = {NULL, "0-0", "1-0/data.h5", "2-0"};
    size_t n = 0;
    while (*pattern && n + 256 < capacity) {
        int k = 0;
        while (k < 4 && strncmp(pattern, words[k], strlen(words[k])) != 0) k++;
        if (k == 4) {
            command[n++] = *pattern++;
            continue;
        }
        char path[256];
        n += (size_t)snprintf(command + n, capacity - n, "%s", names[k] ? place(path, names[k]) : own);
        pattern += strlen(words[k]);
    }
    command[n] = 0;
}

static bool ends_with(const char *text, const char *end) {
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* A file as a text: JSON and YAML as they are, of numbers by time the first field of every line, of data
 * sets, which know the date, and of a checkpoint, which knows the seconds, its size; else a hash of its
 * bytes. */
static void describe(const char *path, const char *name, lud_text *out) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        lud_text_append(out, "no %s\n", name);
        return;
    }
    uint64_t n = 0, hash = 0xcbf29ce484222325u;
    bool field = true;
    const bool csv = ends_with(name, "metrics.csv"),
               text = ends_with(name, ".json") || ends_with(name, ".yaml");
    for (int c; (c = fgetc(file)) != EOF; n++) {
        hash = (hash ^ (uint64_t)c) * 0x100000001b3u;
        if (text || (csv && (field || c == '\n'))) lud_text_append(out, "%c", c);
        field = c == '\n' || (field && c != ',');
    }
    fclose(file);
    if (ends_with(name, "checkpoint.safetensors") || ends_with(name, ".h5")) hash = 0;
    if (!text && !csv) lud_text_append(out, "%s: %lu bytes, %016lx\n", name, n, hash);
}

/* Leaves out lines in which one of the words stands. */
static void leave_out(char *text, const char *words) {
    char *to = text;
    for (char *line = text, *end; *line; line = end) {
        end = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line);
        bool varies = false;
        char keys[128];
        snprintf(keys, sizeof keys, "%s", words);
        const char saved = *end;
        *end = 0;
        for (char *key = strtok(keys, " "); key; key = strtok(NULL, " ")) varies |= strstr(line, key) != NULL;
        *end = saved;
        if (varies) continue;
        memmove(to, line, (size_t)(end - line));
        to += end - line;
    }
    *to = 0;
}

/* Runs a case with its allocation number `starve` refused; 0: none. */
static outcome run_case(int c, const char *own, long starve, char command[2048]) {
    char path[256], words[4096], counted[256];
    outcome o = {0};
    lud_text text = {0};
    put(command, 2048, cases[c].command, own);
    if (strstr(cases[c].command, "@/")) assert_int_equal(lud_folder_make(own, NULL), LUD_OK);
    place(counted, "count");
    unlink(counted);
    /* a minute is for ever: a library that waits for itself is ended, and tells who it is */
    snprintf(words, sizeof words,
             "cd " LUDUS_SOURCE_DIR " && timeout -s ABRT 60 env OMP_WAIT_POLICY=passive OMP_NUM_THREADS=1 "
             "LUDUS_STARVE=%ld LUDUS_STARVE_COUNT=%s LD_PRELOAD=" LUDUS_BINARY_DIR
             "/starve.so " LUDUS_BINARY_DIR "/ludus %s 2>%s",
             starve, counted, command, place(path, "errors"));
    FILE *pipe = popen(words, "r");
    assert_non_null(pipe);
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, pipe)) > 0;) lud_text_append(&text, "%.*s", (int)n, part);
    const int status = pclose(pipe);
    o.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    lud_text_append(&text, "\n");
    char names[256];
    snprintf(names, sizeof names, "%s", cases[c].files ? cases[c].files : "");
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        char file[1024];
        snprintf(file, sizeof file, "%s/%s", own, name);
        describe(file, name, &text);
    }
    assert_false(text.failed);
    o.text = strdup(text.bytes);
    assert_non_null(o.text);
    lud_text_free(&text);
    /* what the folder is called is no difference */
    for (char *at = o.text; (at = strstr(at, own)) != NULL;) memset(at, '@', strlen(own));
    leave_out(o.text, cases[c].varying);
    FILE *count = fopen(counted, "r");
    if (count && fscanf(count, "%ld", &o.asked) != 1) o.asked = 0;
    if (count) fclose(count);
    return o;
}

/* 1 when it was the program itself and no library, which the preloaded one tells. */
static int check_who_died(const char *command, long at, int exit_code) {
    char path[256];
    lud_text text = {0};
    describe(place(path, "errors"), "errors.json", &text);
    const char *died = text.bytes ? strstr(text.bytes, "starve: died in ") : NULL;
    const bool own = died && strncmp(died + strlen("starve: died in "), "ludus\n", strlen("ludus\n")) == 0;
    if (own || getenv("LUDUS_STARVED"))
        print_message("%s, allocation %ld refused: exit code %d\n%s\n", command, at, exit_code, text.bytes);
    lud_text_free(&text);
    return own;
}

static void never_success_with_something_missing(void **state) {
    (void)state;
    const char *wanted = getenv("LUDUS_STARVED"), *begin = getenv("LUDUS_STARVED_SEED");
    const int n = wanted ? atoi(wanted) : 6;
    const uint64_t seed = begin ? strtoull(begin, NULL, 10) : 1;
    int told = 0, whole = 0, ended = 0, silent = 0, own_code = 0;
    for (int c = 0; c < N_CASES; c++) {
        char command[2048], own[256], name[64];
        int own_told = 0, own_whole = 0, own_ended = 0;
        snprintf(name, sizeof name, "%d-0", c);
        outcome expected = run_case(c, place(own, name), 0, command);
        if (expected.exit_code || expected.asked == 0) {
            char path[256];
            lud_text told_by = {0};
            describe(place(path, "errors"), "errors.json", &told_by);
            fail_msg("%s: exit code %d, %ld allocations: %s", command, expected.exit_code, expected.asked,
                     told_by.bytes);
        }
        for (int i = 1; i <= n; i++) {
            const lud_random_key key = {seed, (uint32_t)(c * 100003 + i)};
            const long at =
                1 + (long)lud_below(lud_draw(key, 0, 0, LUD_PURPOSE_USER, 0).v[0], (uint32_t)expected.asked);
            snprintf(name, sizeof name, "%d-x", c); /* as long as the one before */
            outcome o = run_case(c, place(own, name), at, command);
            if (o.exit_code == 0) {
                own_whole++;
                if (strcmp(o.text, expected.text) != 0) {
                    size_t same = 0;
                    while (o.text[same] && o.text[same] == expected.text[same]) same++;
                    while (same && o.text[same - 1] != '\n') same--;
                    silent++;
                    print_message("%s, allocation %ld refused: exit code 0 and\n%.300s\ninstead of\n%.300s\n",
                                  command, at, o.text + same, expected.text + same);
                }
            } else if (o.exit_code == 1 || o.exit_code == 2) {
                own_told++;
            } else {
                own_ended++; /* the loader, or a library that gives up: nobody takes that for a result */
                own_code += check_who_died(command, at, o.exit_code);
            }
            free(o.text);
            char remove[300];
            snprintf(remove, sizeof remove, "rm -rf %s", own);
            assert_int_equal(system(remove), 0);
        }
        if (n > 100)
            print_message("%d told, %d whole, %d ended, of %ld allocations: %s\n", own_told, own_whole,
                          own_ended, expected.asked, cases[c].command);
        told += own_told;
        whole += own_whole;
        ended += own_ended;
        free(expected.text);
    }
    print_message("%d runs with an allocation refused: %d told, %d whole, %d ended in a library\n",
                  told + whole + ended, told, whole, ended);
    assert_int_equal(silent, 0);
    assert_int_equal(own_code, 0);
    assert_true(told > 0 && whole > 0);
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
