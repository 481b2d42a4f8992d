/* The panel of sides that go in step: their returns beside each other as numbers and curves, and what is
 * otherwise in one than in the first. */
#pragma once

#include "render/viewer/stage.h"

typedef struct lud_compared {
    const lud_stage *stages; /* [n] */
    int n, chosen;           /* that panels are about */
    int agent;               /* whose return, -1: the mean over agents */
} lud_compared;

/* The panel's height, at most `most`; differences and then the curve are left out where there is no room. */
float lud_comparison_panel_height(const lud_compared *compared, const lud_canvas *canvas, float most);
/* Draws it. rows[n] get where the sides' lines are, to be clicked on. */
void lud_comparison_panel_draw(const lud_compared *compared, lud_canvas *canvas, const lud_theme *theme,
                               lud_box box, lud_box rows[LUD_SIDES]);
