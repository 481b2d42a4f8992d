/* What the tests of the editor share: documents, and an oracle that reads the text again. */
#pragma once

#include "sim/multigrid/edit/grid_edit_parts.h"
#include "sim/multigrid/edit/grid_edit_tools.h"

/* Written in every style that the editor has to cope with. */
extern const char edit_plain[], edit_flow[], edit_bare[], edit_ensemble[], edit_windows[];

typedef struct edit_document {
    const char *text;
    int map;
} edit_document;
enum { EDIT_DOCUMENTS = 6 };
extern const edit_document edit_documents[EDIT_DOCUMENTS];

/* Both fail the test where the text cannot be read; to be freed as the editor and the world say. */
lud_grid_edit *edit_open_text(const char *text, int map);
lud_model *edit_model_of(const char *text);
/* The text as it stands, read from the start, is the model that the document shows. */
void edit_check_text(const lud_grid_edit *edit);
/* How often a text has a part. */
int edit_count(const char *text, const char *part);
/* The kind of thing of this name (lud_grid_kind), with the colour where it has one. */
lud_grid_thing edit_kind(const char *wanted, lud_colour colour);
/* The number of the parameter of this name. */
int edit_parameter(const lud_grid_edit *edit, lud_grid_pick pick, const char *name);
lud_grid_thing edit_thing_at(const lud_grid_edit *edit, int x, int y);
/* The text has this part, and is the model that the document shows. */
void edit_expect(const lud_grid_edit *edit, const char *part);
