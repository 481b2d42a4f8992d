/* The agent or the cell that was clicked, and the switches of what is shown. */
#pragma once

#include <stdbool.h>

#include "render/canvas/theme.h"

typedef struct lud_selection {
    int agent; /* -1: none */
    bool cell;
    int cell_x, cell_y;
} lud_selection;

typedef struct lud_shown {
    lud_theme_name theme;
    bool fresh; /* nothing was touched yet: the world and three keys, no more */
    bool panels, help, goals, labels, motion, successors, caption;
} lud_shown;
