#include "learn/runs/aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

/* What begins with it belongs to a RUN. Results first: what is left of a move that was ended then is only
 * what describes them. */
static const struct {
    const char *begin, *end; /* of the name */
    bool is_result;
} parts[] = {{"policy", ".safetensors", true},
             {"checkpoint", ".safetensors", true},
             {"solution.empo", "", true},
             {"solution.csv", "", false},
             {"summary.json", "", false},
             {"chain.", "", false},
             {"graph.drn", "", false},
             {"train_proofs.txt", "", true},
             {"valid_proofs.txt", "", true},
             {"test_proofs.txt", "", true},
             {"metrics.csv", "", false},
             {"events.out.tfevents.", "", false},
             {"files", "", false},
             {"scenario.yaml", "", false}};
enum { N_PARTS = sizeof parts / sizeof *parts };

static bool is_part(int p, const char *name) {
    const size_t begin = strlen(parts[p].begin), end = strlen(parts[p].end), n = strlen(name);
    if (strncmp(name, parts[p].begin, begin) != 0 || n < begin + end) return false;
    if (strcmp(parts[p].begin, "files") == 0 || strcmp(parts[p].begin, "scenario.yaml") == 0)
        return n == begin;
    return strcmp(name + n - end, parts[p].end) == 0 && !strstr(name, ".partial-");
}

/* What is unfinished (solution.empo.partial) is nobody's result. */
static int part_of(const char *name) {
    static const char unfinished[] = ".partial";
    const size_t n = strlen(name), end = sizeof unfinished - 1;
    int p = 0;
    if (n > end && strcmp(name + n - end, unfinished) == 0) return N_PARTS;
    while (p < N_PARTS && !is_part(p, name)) p++;
    return p;
}

bool lud_run_has_results(const char *folder) {
    bool found = false;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        const int p = part_of(entry->d_name);
        found = p < N_PARTS && parts[p].is_result;
    }
    if (directory) closedir(directory);
    return found;
}

/* Lies in a folder aside-N as long as not all is moved that belongs there. */
static const char moving[] = ".moving";

static char *beside(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* The folder aside-N that a move which was ended has begun to fill; null: there is none, or memory is out. */
static char *find_unfinished(const char *folder) {
    char *found = NULL;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        if (strncmp(entry->d_name, "aside-", 6) != 0) continue;
        char *room = beside(folder, entry->d_name), *mark = room ? beside(room, moving) : NULL;
        if (mark && lud_file_exists(mark)) found = strdup(entry->d_name);
        free(room);
        free(mark);
    }
    if (directory) closedir(directory);
    return found;
}

static lud_status mark_room(const char *room, lud_error *error) {
    char *mark = beside(room, moving);
    const int descriptor = mark ? lud_file_own(mark, O_WRONLY) : -1;
    const lud_status status =
        descriptor >= 0 ? LUD_OK
        : mark          ? lud_fail(error, LUD_ERROR_IO, "%s: cannot be made: %s", mark, strerror(errno))
                        : lud_no_memory(error, "a path");
    if (descriptor >= 0) close(descriptor);
    free(mark);
    return status;
}

/* A folder aside-N in which nothing lies yet: a new one, or one whose maker was ended before it was marked.
 */
static lud_status make_room(const char *folder, char **path, char **name, lud_error *error) {
    for (int n = 1;; n++) {
        *path = *name = NULL;
        if (asprintf(name, "aside-%d", n) < 0 || !(*path = beside(folder, *name)))
            return lud_no_memory(error, "a path");
        rmdir(*path); /* does nothing where something lies in it */
        if (mkdir(*path, 0777) == 0) return mark_room(*path, error);
        if (errno != EEXIST)
            return lud_fail(error, LUD_ERROR_IO, "%s: cannot be made: %s", *path, strerror(errno));
        free(*path);
        free(*name);
    }
}

/* Moves the entries of part p; makes the room for them with the first. */
static lud_status move_part(const char *folder, int p, char **room, char **name, lud_error *error) {
    lud_status status = LUD_OK;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && !status && (entry = readdir(directory));) {
        if (part_of(entry->d_name) != p) continue;
        if (!*room) status = make_room(folder, room, name, error);
        lud_text from = {0}, to = {0};
        if (!status) {
            lud_text_append(&from, "%s/%s", folder, entry->d_name);
            lud_text_append(&to, "%s/%s", *room, entry->d_name);
            if (from.failed || to.failed)
                status = lud_no_memory(error, "a path");
            else if (rename(from.bytes, to.bytes) != 0)
                status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be moved to %s: %s", from.bytes, *room,
                                  strerror(errno));
        }
        lud_text_free(&from);
        lud_text_free(&to);
    }
    if (directory) closedir(directory);
    return status;
}

lud_status lud_run_set_aside(const char *folder, char **name, lud_error *error) {
    *name = find_unfinished(folder);
    char *room = *name ? beside(folder, *name) : NULL;
    lud_status status = *name && !room ? lud_no_memory(error, "a path") : LUD_OK;
    for (int p = 0; p < N_PARTS && !status; p++) status = move_part(folder, p, &room, name, error);
    char *mark = room && !status ? beside(room, moving) : NULL;
    if (mark) unlink(mark);
    free(mark);
    free(room);
    if (status) {
        free(*name);
        *name = NULL;
    }
    return status;
}
