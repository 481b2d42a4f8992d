/* The palette: every kind of thing that a map may hold, with its picture, which the world's own drawing
 * makes, and its name. */
#pragma once

#include "render/draw.h"
#include "sim/multigrid/edit/grid_edit_tools.h"

enum { LUD_PALETTE_BRUSHES = 40 };

typedef struct lud_palette_brush {
    char name[40];
    lud_grid_thing thing; /* with the parameters that it was given */
    lud_box box;          /* where it was drawn last */
} lud_palette_brush;

typedef struct lud_grid_palette {
    int n;
    lud_palette_brush brushes[LUD_PALETTE_BRUSHES];
    lud_model *model; /* a world with a brush in every so many cells */
    lud_drawing *drawing;
    uint8_t *state;
    int columns, rows, cells; /* cells: of a column, the picture and its name */
} lud_grid_palette;

/* Takes the brushes of the document's tables; those that are there keep their parameters. */
lud_status lud_palette_fill(lud_grid_palette *palette, const lud_grid_edit *edit, lud_error *error);
/* The pictures are out of date: a brush has other parameters. */
void lud_palette_forget(lud_grid_palette *palette);
void lud_palette_free(lud_grid_palette *palette);
/* Height of all of it in a panel of this width. */
float lud_palette_height(const lud_grid_palette *palette, const lud_canvas *canvas, float width);
/* Draws it with its upper left corner at (x, y), `chosen` marked; `seen` is the part that is not scrolled
 * away. */
void lud_palette_draw(lud_grid_palette *palette, lud_canvas *canvas, const lud_theme *theme, float x, float y,
                      float width, lud_box seen, int chosen, float seconds);
/* The brush at a point, -1: none. */
int lud_palette_at(const lud_grid_palette *palette, float x, float y);
