/* A plot as lines and letters instead of pixels, for papers: laid out here, put down by a pen, one a format.
 */
#pragma once

#include "base/text.h"
#include "render/plots/plot.h"

typedef enum lud_plot_anchor { LUD_PLOT_START, LUD_PLOT_MIDDLE, LUD_PLOT_END } lud_plot_anchor;

/* What a format can do. Lengths are pixels of the picture, y grows downward; texts are UTF-8 and stand on
 * their baseline; a curve is an open line of points, a band a filled area, pale. */
typedef struct lud_plot_pen lud_plot_pen;
struct lud_plot_pen {
    lud_text *out;
    double height; /* of the picture */
    void (*ground)(const lud_plot_pen *pen, double width, double height, lud_rgba colour);
    void (*words)(const lud_plot_pen *pen, double x, double y, double size, lud_plot_anchor anchor,
                  lud_rgba colour, const char *text);
    /* Width of a text in letters of size 1. */
    double (*width)(const char *text);
    void (*line)(const lud_plot_pen *pen, double x0, double y0, double x1, double y1, double width,
                 lud_rgba colour);
    void (*curve_begin)(const lud_plot_pen *pen, double width, lud_rgba colour);
    void (*curve_point)(const lud_plot_pen *pen, double x, double y, bool first);
    void (*curve_end)(const lud_plot_pen *pen);
    void (*band_begin)(const lud_plot_pen *pen, lud_rgba colour);
    void (*band_point)(const lud_plot_pen *pen, double x, double y, bool first);
    void (*band_end)(const lud_plot_pen *pen);
};

/* How opaque a band is. */
#define LUD_PLOT_BAND "0.16"

/* The n panels, each of panel_width x height, beside each other. */
void lud_plot_draw(lud_plot_pen *pen, const lud_plot_panel *panels, int n, int panel_width, int height,
                   float scale, lud_theme_name theme);
