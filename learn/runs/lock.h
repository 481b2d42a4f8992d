/* One folder, one writer. */
#pragma once

#include "base/status.h"

/* Zeroed: none is held. */
typedef struct lud_run_lock {
    char *path;
    int descriptor; /* where path is not null */
} lud_run_lock;

/* Makes this process the writer of a folder, which is made when it is missing, by a lock on RUN/.lock, which
 * ends with the process however that ends; what killed writers left in it is removed. LUD_ERROR_INPUT with
 * the other's number when another process, or another training of this one, is at it. */
lud_status lud_run_lock_take(const char *folder, lud_run_lock *lock, lud_error *error);
/* Gives it back and removes the file. A zeroed one is allowed. */
void lud_run_lock_release(lud_run_lock *lock);
