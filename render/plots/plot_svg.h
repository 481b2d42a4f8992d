/* A plot as SVG: lines and letters instead of pixels, for papers. */
#pragma once

#include "render/plots/plot.h"

/* lud_plot_write for .svg: the same picture, in units of panel_width x height, with the reader's own letters.
 */
lud_status lud_plot_write_svg(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                              int height, float scale, lud_theme_name theme, lud_error *error);
