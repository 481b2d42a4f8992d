/* A plot drawn as pixels, into a PNG file: what lud_plot_write does where the path does not end with .svg. */
#pragma once

#include "render/plots/plot.h"

/* Whether this build draws at all; LUD_ERROR_UNSUPPORTED says what is missing. */
lud_status lud_plot_picture_check(const char *path, lud_error *error);
lud_status lud_plot_write_picture(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                                  int height, float scale, lud_theme_name theme, lud_error *error);
