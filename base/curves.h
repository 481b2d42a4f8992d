/* Line charts as data: panels, each with curves over a common axis; render/plots/plot.h draws them. */
#pragma once

#include <stdbool.h>

typedef struct lud_plot_curve {
    const char *name;         /* beside the panel's curves; null: not named */
    const double *x, *y;      /* [n], x rising; points that are not finite are left out */
    const double *low, *high; /* [n] ends of a band around y; null: there is none */
    int n;
    int colour; /* number of a theme's colour */
    bool faint; /* thin and pale: what others are compared with */
} lud_plot_curve;

typedef struct lud_plot_panel {
    const char *title, *x_name;
    const lud_plot_curve *curves;
    int n_curves;
} lud_plot_panel;
