/* How a user has put the panels, kept from window to window as a view file in a folder of hers. */
#pragma once

#include "base/text.h"
#include "sim/view.h"

/* Appends the name of that file, `ludus/view.yaml` in $XDG_CONFIG_HOME, else in ~/.config; nothing where
 * there is no such folder. */
void lud_remembered_path(lud_text *path);
/* Reads it. A file that is not there leaves `panels` as they are. So does one that cannot be read, which is
 * the error; it is renamed to `path.broken` then. */
lud_status lud_remembered_read(const char *path, lud_view_panels *panels, lud_error *error);
/* Writes it, and makes its folder. */
lud_status lud_remembered_write(const char *path, const lud_view_panels *panels, lud_error *error);
/* Removes it; also fine where it is not there. */
lud_status lud_remembered_forget(const char *path, lud_error *error);
