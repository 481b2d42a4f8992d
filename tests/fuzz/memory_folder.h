/* A folder of a fuzz target's own, in memory where the machine has a file system there: targets that write
 * files wait for no disk. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMORY_FOLDER = 64 }; /* the longest path */

static inline void make_memory_folder(char path[MEMORY_FOLDER], const char *name) {
    const char *parent = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(path, MEMORY_FOLDER, "%s/ludus-fuzz-%s-XXXXXX", parent, name);
    if (!mkdtemp(path)) abort();
}
