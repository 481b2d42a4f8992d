/* The right column: panels one below the other, each with a title that folds it and an edge that is dragged.
 */
#pragma once

#include "render/canvas/canvas.h"
#include "sim/view.h"

/* From above. The inspector takes what the others leave. */
enum { LUD_PANEL_TRAINING, LUD_PANEL_COMPARISON, LUD_PANEL_INSPECTOR, LUD_PANEL_OVERLAY, LUD_PANELS };
/* The column's own edge, beside those of panels. */
enum { LUD_NO_EDGE = -1, LUD_COLUMN_EDGE = LUD_PANELS };

typedef struct lud_panel_place {
    lud_box title; /* a click folds or unfolds; empty where the panel is not there */
    lud_box box;   /* of its content; empty where it is not there or folded */
    lud_box edge;  /* is dragged; empty where nothing is beyond it that could give way */
    bool folded;
} lud_panel_place;

typedef struct lud_column {
    lud_box box;   /* empty where nothing stands in it */
    float picture; /* width of the whole picture, of which the column has a share */
    float least;   /* pixels that a panel which is dragged keeps */
    lud_box edge;  /* between the world and the column */
    lud_panel_place panels[LUD_PANELS];
} lud_column;

/* What panels would like to have: whether they are there, and pixels (of the inspector, that it needs). */
typedef struct lud_column_wishes {
    bool there[LUD_PANELS];
    float height[LUD_PANELS];
} lud_column_wishes;

/* Whether the view folds a panel; null where there is none of the number. */
bool *lud_panel_folded(lud_view_panels *panels, int panel);

/* Divides the column's box, which is at the right of a picture of this width. Panels have the heights that
 * the view fixes, else those that they wish for, as far as there is room. */
void lud_column_divide(lud_column *column, const lud_canvas *canvas, lud_box box, float picture,
                       const lud_column_wishes *wishes, const lud_view_panels *panels);
/* The panel whose title is at a point, -1: none. */
int lud_column_title_at(const lud_column *column, float x, float y);
/* The edge at a point: a panel's number, LUD_COLUMN_EDGE or LUD_NO_EDGE. */
int lud_column_edge_at(const lud_column *column, float x, float y);
/* Where the edge lies on the axis that it is dragged along. */
float lud_column_edge_position(const lud_column *column, int edge);
/* Lets the view fix what puts the edge there, within bounds. */
void lud_column_drag(const lud_column *column, int edge, float position, lud_view_panels *panels);
/* The titles; that at the point (x, y), and the edge of this number, are marked. */
void lud_column_draw(const lud_column *column, lud_canvas *canvas, const lud_theme *theme, float x, float y,
                     int edge);
