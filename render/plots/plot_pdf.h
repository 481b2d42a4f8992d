/* A plot as a PDF of one page: lines and letters for papers. */
#pragma once

#include "render/plots/plot.h"

/* lud_plot_write for .pdf: the same picture, three quarters of a point a pixel. Letters are Helvetica, which
 * every reader of PDF has; what Windows' Latin-1 (code page 1252) has no letter for becomes a question mark.
 * The same plot gives the same bytes. */
lud_status lud_plot_write_pdf(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                              int height, float scale, lud_theme_name theme, lud_error *error);
