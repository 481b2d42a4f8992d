/* What a view fixes of the window (sim/view.h): taken over, and kept as a file that others can be given. */
#pragma once

#include "render/viewer/viewer.h"

/* Shows what the leading scenario's view says. */
void lud_look_apply(lud_viewer *viewer);
/* The same where it says something else than the last time: a file that was changed while it is shown. */
void lud_look_follow(lud_viewer *viewer);
/* Writes what is shown now to a file for `--view`, which fixes the whole picture. */
lud_status lud_look_write(const lud_viewer *viewer, const char *path, lud_error *error);
