/* Line charts as pictures: panels beside each other, each with curves over a common axis. */
#ifndef LUDUS_RENDER_PLOT_H
#define LUDUS_RENDER_PLOT_H

#include "render/theme.h"

typedef struct lud_plot_curve {
    const char *name;    /* beside the panel's curves; null: not named */
    const double *x, *y; /* [n], x rising; points that are not finite are left out */
    int n;
    int colour; /* number of a theme's colour */
    bool faint; /* thin and pale: what others are compared with */
} lud_plot_curve;

typedef struct lud_plot_panel {
    const char *title, *x_name;
    const lud_plot_curve *curves;
    int n_curves;
} lud_plot_panel;

/* Writes a PNG file of n panels beside each other, each of panel_width x height pixels at `scale`; axes begin
 * at zero where the numbers are positive. Replaces the file when complete. */
lud_status lud_plot_write(const char *path, const lud_plot_panel *panels, int n, int panel_width, int height,
                          float scale, lud_theme_name theme, lud_error *error);

/* Distance of ticks on an axis of this length with at most `most` of them: 1, 2 or 5 times a power of ten. */
double lud_plot_step(double length, int most);

#endif
