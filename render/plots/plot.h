/* Line charts (base/curves.h) as pictures. */
#pragma once

#include "base/curves.h"
#include "render/canvas/theme.h"

/* Whether a path ends as a plot can be written. */
lud_status lud_plot_check_path(const char *path, lud_error *error);
/* Writes a PNG or, where the path ends so, an SVG or PDF file of n panels beside each other, each of
 * panel_width x height pixels at `scale`; axes begin at zero where the numbers are positive. Replaces the
 * file when complete. */
lud_status lud_plot_write(const char *path, const lud_plot_panel *panels, int n, int panel_width, int height,
                          float scale, lud_theme_name theme, lud_error *error);

/* Distance of ticks on an axis of this length with at most `most` of them: 1, 2 or 5 times a power of ten. */
double lud_plot_step(double length, int most);
