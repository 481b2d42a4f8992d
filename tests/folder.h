/* A folder of the test program's own: made before its first test, gone after the last. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static inline int remove_folder(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* folder/name; the last PATHS of them are there at a time. */
static inline const char *path_in(const char *folder, const char *name) {
    enum { PATHS = 64, LENGTH = 512 };
    static char paths[PATHS][LENGTH];
    static int next;
    char *path = paths[next++ % PATHS];
    snprintf(path, LENGTH, "%s/%s", folder, name);
    return path;
}

/* Defines `folder`, which becomes its path, in_folder(name), and set_up and tear_down for the group of tests.
 */
#define TEST_FOLDER(pattern)                                                                                 \
    static char folder[] = pattern;                                                                          \
    __attribute__((unused)) static const char *in_folder(const char *name) {                                 \
        return path_in(folder, name);                                                                        \
    }                                                                                                        \
    static int set_up(void **state) {                                                                        \
        (void)state;                                                                                         \
        return mkdtemp(folder) ? 0 : -1;                                                                     \
    }                                                                                                        \
    static int tear_down(void **state) {                                                                     \
        (void)state;                                                                                         \
        return remove_folder(folder);                                                                        \
    }
