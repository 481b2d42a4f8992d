/* A folder of the test program's own: made before its first test, gone after the last. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static inline int remove_folder(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

/* Defines `folder`, which becomes its path, and set_up and tear_down for the group of tests. */
#define TEST_FOLDER(pattern)                                                                                 \
    static char folder[] = pattern;                                                                          \
    static int set_up(void **state) {                                                                        \
        (void)state;                                                                                         \
        return mkdtemp(folder) ? 0 : -1;                                                                     \
    }                                                                                                        \
    static int tear_down(void **state) {                                                                     \
        (void)state;                                                                                         \
        return remove_folder(folder);                                                                        \
    }
