/* A multigrid scenario file that is being edited.
 *
 * The document is the text of the file. Every edit changes the text at the places where the map, the legend,
 * the lists `agents` and `goals` or a value stand, reads it anew, and holds only if it then means what was
 * wanted and all else means what it meant: so comments and all other keys stay as they are, byte for byte,
 * and what cannot be changed in place is refused, with the reason, and leaves the text alone. Undo and redo
 * go through these changes of the text. Nothing here draws; render/editor/ is its window. */
#pragma once

#include "sim/multigrid/file/grid_codes.h"

typedef struct lud_grid_edit lud_grid_edit;

/* An entry of the list `goals`. */
typedef struct lud_grid_edit_goal {
    int x1, y1, x2, y2;
    bool cell;
    double weight;   /* as it is written */
    bool for_all;    /* every human may have it; else those of `agents` */
    uint64_t agents; /* bit i: agent i */
    int origin;      /* its number in the document, -1: a new one */
} lud_grid_edit_goal;

/* What can be edited of a map. */
typedef struct lud_grid_edit_world {
    int width, height;
    int map_width, map_height; /* of the map itself: in an ensemble walls make it as large as the others */
    lud_grid_thing *things;    /* [height * width], agents with all they are */
    int *agent; /* [height * width] number of the agent here in the document, -1: none, a new one */
    lud_grid_edit_goal *goals; /* [n_goals] */
    int n_goals;
} lud_grid_edit_world;

/* Opens the file, or `text` in its place (null: the file). `set[n_set]` are overrides (lud_tree_set), what
 * they give cannot be edited; `map` is the number of the map in an ensemble. LUD_ERROR_UNSUPPORTED, with the
 * reason, where the map is not in this file or cannot be changed in place. */
lud_status lud_grid_edit_open(const char *path, const char *text, const char *const *set, int n_set, int map,
                              lud_grid_edit **edit, lud_error *error);
void lud_grid_edit_close(lud_grid_edit *edit);

/* The present text, world and model; good until the next change. The model has no need of goals that cover
 * all cells: who draws it draws a world that is not finished. */
const char *lud_grid_edit_text(const lud_grid_edit *edit);
const char *lud_grid_edit_path(const lud_grid_edit *edit);
const lud_grid_edit_world *lud_grid_edit_get(const lud_grid_edit *edit);
const lud_model *lud_grid_edit_model(const lud_grid_edit *edit);
const lud_grid_options *lud_grid_edit_options(const lud_grid_edit *edit);
/* What the last change did besides, in words; null: nothing. */
const char *lud_grid_edit_note(const lud_grid_edit *edit);
/* Counts the changes, undone ones too: another number, another world. */
uint64_t lud_grid_edit_version(const lud_grid_edit *edit);

/* Makes the document mean this world (of the same size), as one change of the name. Numbers of agents in
 * goals are those of the document; they follow when agents come to have others. */
lud_status lud_grid_edit_apply(lud_grid_edit *edit, const lud_grid_edit_world *wanted, const char *name,
                               lud_error *error);
/* Gives a key of the section, `max_steps` or `chances.stumble`, a value. */
lud_status lud_grid_edit_set(lud_grid_edit *edit, const char *path, const char *value, lud_error *error);

/* Changes between these two are one for undo: a stroke of the mouse. */
void lud_grid_edit_begin_stroke(lud_grid_edit *edit);
void lud_grid_edit_end_stroke(lud_grid_edit *edit);
/* The name of the change that the next one takes back or makes again; null: there is none. */
const char *lud_grid_edit_undo_name(const lud_grid_edit *edit);
const char *lud_grid_edit_redo_name(const lud_grid_edit *edit);
lud_status lud_grid_edit_undo(lud_grid_edit *edit, lud_error *error);
lud_status lud_grid_edit_redo(lud_grid_edit *edit, lud_error *error);

/* Whether the text is other than that of the file as it was opened or saved. */
bool lud_grid_edit_changed(const lud_grid_edit *edit);
/* Whether the file was written by somebody else since it was opened or saved. */
bool lud_grid_edit_stale(const lud_grid_edit *edit);
/* Writes the text beside the file and renames it. LUD_ERROR_IO where the file has changed meanwhile; `force`
 * writes over it. */
lud_status lud_grid_edit_save(lud_grid_edit *edit, bool force, lud_error *error);

/* A copy of a world to be changed; false: no memory. */
bool lud_grid_edit_copy(const lud_grid_edit_world *world, lud_grid_edit_world *copy);
void lud_grid_edit_world_free(lud_grid_edit_world *world);
