/* Whether the files of a scenario have changed on disk. */
#pragma once

#include "base/options/tree.h"

typedef struct lud_file_watch {
    lud_tree_files files;
    double clock, checked; /* seconds in all, and at the last look */
} lud_file_watch;

/* Watches these files, which it takes over, instead of the present ones. */
void lud_file_watch_set(lud_file_watch *watch, lud_tree_files files);
void lud_file_watch_free(lud_file_watch *watch);
/* Time goes on; true when some file was changed since it was read. Looks only now and then. */
bool lud_file_watch_update(lud_file_watch *watch, double seconds);
