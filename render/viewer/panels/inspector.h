/* The right column: what is selected, who acts, what they got, and what may come next. */
#pragma once

#include "render/viewer/panels/scroll.h"
#include "render/viewer/panels/successor_list.h"
#include "render/viewer/selection.h"
#include "render/viewer/takeover.h"

/* Where its agents were drawn, `a_row` of them side by side. */
typedef struct lud_inspector {
    lud_box agents; /* empty when folded */
    lud_box seen;   /* where they can be clicked on: the rest of them is scrolled away */
    float row_height, agent_width;
    int a_row;
} lud_inspector;

/* What it tells about. */
typedef struct lud_inspected {
    const lud_stage *stage;
    const lud_selection *selection;
    const lud_takeover *takeover;
    const lud_successor_list *successors; /* null: not shown */
    bool playing;
    bool about; /* there is room for the scenario's words about itself */
} lud_inspected;

/* What is higher than its card is scrolled. */
void lud_inspector_draw(lud_inspector *inspector, lud_scroll *scroll, lud_canvas *canvas,
                        const lud_theme *theme, lud_box card, const lud_inspected *what);
/* The agent at a point, -1: none. */
int lud_inspector_agent_at(const lud_inspector *inspector, int n_agents, float x, float y);
