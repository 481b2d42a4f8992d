#include "render/viewer/remembered.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { MOST_BYTES = 1 << 20 };

void lud_remembered_path(lud_text *path) {
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (folder && *folder == '/') /* others are to be ignored: XDG Base Directory Specification */
        lud_text_append(path, "%s/ludus/view.yaml", folder);
    else if (home && *home == '/')
        lud_text_append(path, "%s/.config/ludus/view.yaml", home);
}

static lud_status read_panels(lud_arena *arena, const char *path, lud_view_panels *panels, lud_error *error) {
    char *text;
    size_t length;
    lud_tree *root;
    lud_view_section view;
    LUD_TRY(lud_file_read(arena, path, MOST_BYTES, &text, &length, error));
    LUD_TRY(lud_tree_read_text(arena, path, text, length, &root, error));
    LUD_TRY(lud_view_section_read(arena, root, &view, error));
    *panels = view.panels;
    return LUD_OK;
}

static void set_aside(const char *path) {
    lud_text aside = {0};
    lud_text_append(&aside, "%s.broken", path);
    if (!aside.failed) (void)rename(path, aside.bytes); /* else it is told of again the next time */
    lud_text_free(&aside);
}

lud_status lud_remembered_read(const char *path, lud_view_panels *panels, lud_error *error) {
    if (!lud_file_exists(path)) return LUD_OK;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_no_memory(error, "a view");
    const lud_status status = read_panels(arena, path, panels, error);
    lud_arena_destroy(arena);
    if (status && status != LUD_ERROR_MEMORY) set_aside(path);
    return status;
}

static lud_status make_folder(const char *path, lud_error *error) {
    const char *slash = strrchr(path, '/');
    if (!slash) return LUD_OK;
    char *folder = strndup(path, (size_t)(slash - path));
    if (!folder) return lud_no_memory(error, "a path");
    const lud_status status = lud_folder_make(folder, error);
    free(folder);
    return status;
}

lud_status lud_remembered_write(const char *path, const lud_view_panels *panels, lud_error *error) {
    char *text;
    size_t length;
    LUD_TRY(make_folder(path, error));
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? LUD_OK : lud_no_memory(error, "a view");
    if (!status) status = lud_view_panels_write(arena, panels, &text, &length, error);
    if (!status) status = lud_file_write(path, text, length, error);
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_remembered_forget(const char *path, lud_error *error) {
    if (unlink(path) == 0 || errno == ENOENT) return LUD_OK;
    return lud_fail(error, LUD_ERROR_IO, "%s: cannot be removed: %s", path, strerror(errno));
}
