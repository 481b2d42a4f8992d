#include "render/viewer/file_watch.h"

#include "base/file.h"

void lud_file_watch_set(lud_file_watch *watch, lud_tree_files files) {
    lud_tree_files_free(&watch->files);
    watch->files = files;
}

void lud_file_watch_free(lud_file_watch *watch) {
    lud_tree_files_free(&watch->files);
}

bool lud_file_watch_update(lud_file_watch *watch, double seconds) {
    watch->clock += seconds;
    if (watch->clock - watch->checked < 0.3) return false;
    watch->checked = watch->clock;
    bool changed = false;
    for (int i = 0; i < watch->files.n; i++) {
        uint64_t stamp = lud_file_stamp(watch->files.paths[i]);
        if (!stamp && watch->files.stamps[i]) return false; /* editors take a file away for a moment */
        changed = changed || stamp != watch->files.stamps[i];
    }
    return changed;
}
