#include "render/plots/plot_axes.h"

#include <math.h>
#include <stdio.h>

#include "render/plots/plot.h"

double lud_plot_step(double length, int most) {
    if (!(length > 0.0) || !isfinite(length)) return 1.0;
    const double raw = length / most, power = pow(10.0, floor(log10(raw)));
    for (int k = 0; k < 3; k++) {
        static const double steps[] = {1.0, 2.0, 5.0};
        if (steps[k] * power >= raw * (1.0 - 1e-9)) return steps[k] * power;
    }
    return 10.0 * power;
}

bool lud_plot_is_point(const lud_plot_curve *curve, int i) {
    return isfinite(curve->x[i]) && isfinite(curve->y[i]);
}

bool lud_plot_has_band(const lud_plot_curve *curve, int i) {
    return curve->low && curve->high && isfinite(curve->low[i]) && isfinite(curve->high[i]);
}

double lud_plot_kept(double value) {
    return fmax(-1e300, fmin(value, 1e300));
}

/* Of an axis: 1 where all is the same, and wide enough for its marks to be different numbers. */
static double least_range(double first, double last) {
    const double size = fmax(fabs(first), fabs(last));
    return first == last ? fmax(1.0, 1e-6 * size) : 1e-9 * size;
}

void lud_plot_axes_find(const lud_plot_panel *panel, lud_plot_axes *d) {
    d->x0 = d->y0 = 0.0;
    d->x1 = d->y1 = -INFINITY;
    for (int c = 0; c < panel->n_curves; c++)
        for (int i = 0; i < panel->curves[c].n; i++) {
            if (!lud_plot_is_point(&panel->curves[c], i)) continue;
            if (lud_plot_has_band(&panel->curves[c], i)) {
                d->y0 = fmin(d->y0, lud_plot_kept(panel->curves[c].low[i]));
                d->y1 = fmax(d->y1, lud_plot_kept(panel->curves[c].high[i]));
            }
            d->x0 = fmin(d->x0, lud_plot_kept(panel->curves[c].x[i]));
            d->x1 = fmax(d->x1, lud_plot_kept(panel->curves[c].x[i]));
            d->y0 = fmin(d->y0, lud_plot_kept(panel->curves[c].y[i]));
            d->y1 = fmax(d->y1, lud_plot_kept(panel->curves[c].y[i]));
        }
    d->x1 = fmax(d->x1, d->x0 + least_range(d->x0, d->x1));
    d->y1 = fmax(d->y1, d->y0 + least_range(d->y0, d->y1));
    d->along = lud_plot_step(d->x1 - d->x0, 5);
    d->up = lud_plot_step(d->y1 - d->y0, 5);
    d->y0 = floor(d->y0 / d->up) * d->up;
    d->y1 = ceil(d->y1 / d->up) * d->up;
}

void lud_plot_number(double value, char text[24]) {
    const double size = fabs(value);
    if (size >= 1e6)
        snprintf(text, 24, "%g M", value / 1e6);
    else if (size >= 1e4)
        snprintf(text, 24, "%g k", value / 1e3);
    else
        snprintf(text, 24, "%g", fabs(value) < 1e-12 ? 0.0 : value);
}
