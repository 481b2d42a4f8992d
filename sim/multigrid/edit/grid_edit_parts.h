/* Shared by the files of this folder. */
#pragma once

#include "sim/multigrid/edit/grid_edit.h"
#include "sim/multigrid/file/grid_parse.h"

/* A text as it reads. */
typedef struct lud_grid_edit_reading {
    lud_arena *arena;
    lud_tree *root, *section;
    lud_grid_options options;
    lud_grid_spec spec;
    lud_grid_legend *legend;
    size_t n_legend;
    lud_grid_rows rows;
    size_t *offset; /* [rows.height * rows.width] of each code in the text */
    lud_grid_edit_world world;
    lud_model *model;
} lud_grid_edit_reading;

/* A change of the text: at `at` the bytes `before` became `after`. */
typedef struct lud_grid_edit_change {
    size_t at;
    char *before, *after, *name;
} lud_grid_edit_change;

struct lud_grid_edit {
    char *path, *target; /* as it was called, and what is written: links are followed */
    const char *const *set;
    int n_set, map;
    lud_text text;
    char *saved; /* the text of the file */
    uint64_t stamp;
    lud_grid_edit_reading now;
    lud_grid_edit_change *changes; /* [n_changes], the first n_done of them are in force */
    int n_changes, n_done, capacity;
    char *stroke; /* text at the begin of the stroke; null: there is none */
    bool stroke_has_change;
    uint64_t version;
};

/* The tree alone of a text, with the overrides, in an arena. */
lud_status lud_grid_edit_tree(const lud_grid_edit *edit, const lud_text *text, lud_arena *arena,
                              lud_tree **root, lud_error *error);
/* All of it. Fails where it is no world that can be edited. */
lud_status lud_grid_edit_read(const lud_grid_edit *edit, const lud_text *text, lud_grid_edit_reading *reading,
                              lud_error *error);
void lud_grid_edit_reading_free(lud_grid_edit_reading *reading);
/* Takes over text and reading as one change of the name. */
lud_status lud_grid_edit_commit(lud_grid_edit *edit, lud_text *text, lud_grid_edit_reading *reading,
                                const char *name, lud_error *error);
/* The section, or the entry of the ensemble, in which the map stands; null where there is none. */
lud_tree *lud_grid_edit_holder(const lud_grid_edit *edit, lud_tree *root);
/* Whether two things, agents included, are the same. */
bool lud_grid_edit_same(const lud_grid_thing *a, const lud_grid_thing *b);
/* Whether everything but what is edited reads the same: `path` is the key of the section that was set, null:
 * the map, the legend, agents and goals. */
bool lud_grid_edit_rest_same(const lud_grid_edit *edit, const lud_grid_edit_reading *a,
                             const lud_grid_edit_reading *b, const char *path);
