/* What a plot is made of before it is drawn: the ends of its axes, its ticks, its points. */
#pragma once

#include "base/curves.h"

/* Both axes end on ticks, which are `up` and `along` apart. */
typedef struct lud_plot_axes {
    double x0, x1, y0, y1, up, along;
} lud_plot_axes;

void lud_plot_axes_find(const lud_plot_panel *panel, lud_plot_axes *axes);
/* A number at a tick: `250 k`, `0.2`. */
void lud_plot_number(double value, char text[24]);
/* Whether point i of a curve is finite, and whether the band around it is. */
bool lud_plot_is_point(const lud_plot_curve *curve, int i);
bool lud_plot_has_band(const lud_plot_curve *curve, int i);
/* Numbers near the largest that there are: a range between two of them would be infinite. */
double lud_plot_kept(double value);
