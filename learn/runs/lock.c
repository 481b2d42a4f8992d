#include "learn/runs/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Whether the name still stands for the file that was locked: its last holder may have removed it meanwhile.
 */
static bool is_still(int descriptor, const char *path) {
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

static lud_status held_by_other(int descriptor, const char *folder, lud_error *error) {
    char text[32] = "";
    const ssize_t n = pread(descriptor, text, sizeof text - 1, 0);
    const long pid = n > 0 ? strtol(text, NULL, 10) : 0;
    if (pid > 0)
        return lud_invalid(error, "%s: process %ld is writing this run; wait for it, or end it (kill %ld)",
                           folder, pid, pid);
    return lud_invalid(error, "%s: another process is writing this run", folder);
}

static void sign(int descriptor) {
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text, (size_t)n, 0) != n)
        errno = 0; /* a full disk: the lock holds, only its holder's number is not known to others */
}

lud_status lud_run_lock_take(const char *folder, lud_run_lock *lock, lud_error *error) {
    *lock = (lud_run_lock){0};
    char *path = NULL;
    LUD_TRY(lud_folder_make(folder, error));
    if (asprintf(&path, "%s/.lock", folder) < 0) return lud_no_memory(error, "a run");
    lud_status status = LUD_OK;
    int descriptor = -1;
    for (bool held = false; !held && !status;) {
        descriptor = lud_file_own(path, O_RDWR);
        if (descriptor < 0) {
            status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be written: %s", folder, strerror(errno));
        } else if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            status = held_by_other(descriptor, folder, error);
        } else {
            /* a file system without locks: one writer cannot be told from another */
            held = is_still(descriptor, path);
        }
        if (!held && descriptor >= 0) close(descriptor);
    }
    if (status) {
        free(path);
        return status;
    }
    sign(descriptor);
    lud_folder_remove_leftovers(folder, NULL);
    *lock = (lud_run_lock){path, descriptor};
    return LUD_OK;
}

void lud_run_lock_release(lud_run_lock *lock) {
    if (!lock->path) return;
    unlink(lock->path); /* while it is held: who waits for it finds another file, or none */
    close(lock->descriptor);
    free(lock->path);
    *lock = (lud_run_lock){0};
}
