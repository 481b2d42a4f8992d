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
    lud_text note; /* what the last change did besides */
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

/* ---- a change on its way (grid_edit_apply.c) ---- */

/* The text so far, and the tree that it reads as. */
typedef struct lud_grid_edit_work {
    lud_grid_edit *edit;
    const lud_grid_edit_reading *now;
    lud_text text;
    lud_arena *arena;
    lud_tree *root;
    lud_error *error;
    /* of a world that is wanted */
    const lud_grid_edit_world *wanted;
    int n_agents;
    int origin[LUD_GRID_MAX_AGENTS];  /* [n_agents] number of each wanted agent in the document, -1: new */
    int cell[LUD_GRID_MAX_AGENTS];    /* [n_agents] its cell */
    int renamed[LUD_GRID_MAX_AGENTS]; /* number that an agent of the document gets, -1: it goes */
} lud_grid_edit_work;

/* Copies the document's text; `edit`, `now` and `error` are set. End it, also on failure. */
lud_status lud_grid_edit_begin_work(lud_grid_edit_work *work);
void lud_grid_edit_end_work(lud_grid_edit_work *work);
/* The tree of the text as it is by now. */
lud_status lud_grid_edit_read_again(lud_grid_edit_work *work);
/* The value of a key; null where there is none, or no node. */
lud_tree *lud_grid_edit_child(const lud_tree *node, const char *key);
/* Puts the goal of this number to the place of `goal`, which is of the same kind. */
lud_status lud_grid_edit_place_goal(lud_grid_edit_work *work, int number, const lud_grid_edit_goal *goal);
/* Whether two goals are the same to the file. */
bool lud_grid_edit_same_goal(const lud_grid_edit_goal *a, const lud_grid_edit_goal *b);

/* ---- codes of the map (grid_edit_codes.c) ---- */

/* Codes that the legend has to explain yet. */
typedef struct lud_grid_edit_codes {
    struct lud_grid_edit_code {
        char code[3];
        lud_grid_thing thing;
    } * items; /* [n], with room for one of every cell that changes */
    size_t n;
    int next;
} lud_grid_edit_codes;

/* The code of a thing in this file, a fresh one where there is none. `agent`: its number in the document, -1:
 * none or a new one. */
lud_status lud_grid_edit_find_code(lud_grid_edit_work *work, lud_grid_edit_codes *fresh,
                                   const lud_grid_thing *wanted, int agent, char code[2]);
/* Explains the fresh ones in the legend. */
lud_status lud_grid_edit_explain_codes(lud_grid_edit_work *work, const lud_grid_edit_codes *fresh);

/* An object in words, such as `yellow key`. */
void lud_grid_edit_describe_object(const lud_grid_object *object, lud_text *out);
