/* Any files as a scenario with includes: an error with a message, or a scenario that writes itself, whatever
 * lies where a file should: a pipe, a folder, a link, a loop of files, one without an end.
 *
 * The input is four files, one behind the other: a byte for what lies there, a byte for what it includes, the
 * text up to a zero byte. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers.h"
#include "memory_folder.h"
#include "sim/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
const char *__lsan_default_suppressions(void);

/* libfyaml 0.7 loses the buffer of a long quoted scalar when a syntax error follows in it. */
const char *__lsan_default_suppressions(void) {
    return "leak:libfyaml";
}

enum { FILES = 4, PATH = 128 };
enum { A_FILE, A_LINK, A_PIPE, A_FOLDER, ENDLESS, NOTHING, KINDS };

static char folder[MEMORY_FOLDER];
static const char *const names[FILES] = {"a.yaml", "b.yaml", "c.yaml", "d.yaml"};

static const char *path_of(int i) {
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    return path;
}

static void clean(void) {
    for (int i = 0; i < FILES; i++) {
        unlink(path_of(i));
        rmdir(path_of(i));
    }
    rmdir(folder);
}

static void begin(void) {
    make_memory_folder(folder, "include");
    atexit(clean);
}

static void write_file(int i, uint8_t includes, const uint8_t *text, size_t length) {
    FILE *file = fopen(path_of(i), "wb");
    if (!file) abort();
    if (includes & 0x80) { /* one by a way around */
        fprintf(file, "include: ../%s/./%s\n", strrchr(folder, '/') + 1, names[includes % FILES]);
    } else if (includes & 0x40) {
        fprintf(file, "include: %s\n",
                includes & 1   ? "/etc/passwd"
                : includes & 2 ? "/dev/zero"
                               : "/dev/stdin");
    } else if (includes & 0x0f) {
        fprintf(file, "include: [");
        for (int k = 0; k < FILES; k++)
            if (includes >> k & 1) fprintf(file, "%s, ", names[k]);
        fprintf(file, "]\n");
    }
    if (fwrite(text, 1, length, file) != length || fclose(file)) abort();
}

static void put(int i, uint8_t kind, uint8_t includes, const uint8_t *text, size_t length) {
    static const char *const targets[] = {"a.yaml",      "b.yaml",    "c.yaml",  "d.yaml",          ".", "..",
                                          "/etc/passwd", "/dev/zero", "nowhere", "d.yaml/../a.yaml"};
    const char *path = path_of(i);
    unlink(path);
    rmdir(path);
    switch (kind % 16 < 11 ? A_FILE : kind % 16 - 10) {
    case A_LINK:
        if (symlink(targets[includes % (sizeof targets / sizeof *targets)], path)) abort();
        break;
    case A_PIPE:
        if (mkfifo(path, 0600)) abort();
        break;
    case A_FOLDER:
        if (mkdir(path, 0700)) abort();
        break;
    case ENDLESS: /* zeros, more than a scenario may have */
        write_file(i, includes, text, length);
        if (truncate(path, (off_t)1 << 40)) unlink(path);
        break;
    case NOTHING:
        break;
    default:
        write_file(i, includes, text, length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    if (!folder[0]) begin();
    const uint8_t *end = bytes + length;
    for (int i = 0; i < FILES; i++) {
        const uint8_t kind = bytes < end ? *bytes++ : NOTHING + 10, includes = bytes < end ? *bytes++ : 0;
        const uint8_t *stop = bytes < end ? memchr(bytes, 0, (size_t)(end - bytes)) : NULL;
        if (!stop) stop = end;
        put(i, kind, includes, bytes, (size_t)(stop - bytes));
        bytes = stop < end ? stop + 1 : end;
    }
    lud_error error = {0};
    lud_scenario *scenario = NULL, *again = NULL;
    lud_tree_files files = {0};
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    if (lud_scenario_load_with(path_of(0), &none, &files, &scenario, &error)) {
        if (scenario || !error.text[0]) abort(); /* nothing of a foreign file */
        fuzz_answer_without(error.text, folder);
    } else {
        lud_arena *arena = lud_arena_create(0);
        lud_tree *root;
        char *text;
        size_t n;
        if (lud_scenario_effective(scenario, arena, &root, &error) ||
            lud_tree_write(arena, root, &text, &n, &error))
            abort();
        fuzz_answer_without(text, folder);
        if (lud_scenario_read("again", text, n, NULL, 0, &again, &error)) abort();
        if (again->model->layout.state_bytes != scenario->model->layout.state_bytes) abort();
        lud_scenario_destroy(again);
        lud_scenario_destroy(scenario);
        lud_arena_destroy(arena);
    }
    if (files.n < 1 || files.n > LUD_TREE_MAX_FILES) abort();
    lud_tree_files_free(&files);
    return 0;
}
