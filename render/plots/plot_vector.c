#include "render/plots/plot_vector.h"

#include <math.h>

#include "render/plots/plot_axes.h"

/* Sizes of letters in units of the scale. */
static const double small = 13, large = 17;

typedef struct writer {
    lud_plot_pen *pen;
    const lud_theme *theme;
    double s, left, top, width, height; /* of the curves */
    lud_plot_axes axes;
} writer;

static double x_of(const writer *w, double x) {
    return w->left + w->width * (lud_plot_kept(x) - w->axes.x0) / (w->axes.x1 - w->axes.x0);
}
static double y_of(const writer *w, double y) {
    return w->top + w->height * (w->axes.y1 - lud_plot_kept(y)) / (w->axes.y1 - w->axes.y0);
}

static void put_words(const writer *w, double x, double y, double size, lud_plot_anchor anchor,
                      lud_rgba colour, const char *text) {
    w->pen->words(w->pen, x, y, size * w->s, anchor, colour, text);
}

static void put_line(const writer *w, double x0, double y0, double x1, double y1, double width,
                     lud_rgba colour) {
    w->pen->line(w->pen, x0, y0, x1, y1, width, colour);
}

static lud_rgba colour_of(const writer *w, const lud_plot_curve *curve) {
    const lud_rgba colour = w->theme->colours[curve->colour % 7];
    return curve->faint ? lud_mixed(colour, w->theme->floor, 0.5f) : colour;
}

static void put_axes(const writer *w, const char *x_name) {
    const lud_plot_axes *a = &w->axes;
    char text[24];
    for (int k = 0; a->y0 + a->up * k <= a->y1 + 1e-9 * a->up; k++) {
        const double y = y_of(w, a->y0 + a->up * k);
        put_line(w, w->left, y, w->left + w->width, y, w->s, w->theme->grid_line);
        lud_plot_number(a->y0 + a->up * k, text);
        put_words(w, w->left - 8 * w->s, y + 0.35 * small * w->s, small, LUD_PLOT_END, w->theme->muted, text);
    }
    const double below = w->top + w->height + 6 * w->s + small * w->s;
    for (double x = ceil(a->x0 / a->along) * a->along; x <= a->x1 + 1e-9 * a->along; x += a->along) {
        lud_plot_number(x, text);
        put_words(w, x_of(w, x), below, small, LUD_PLOT_MIDDLE, w->theme->muted, text);
    }
    put_words(w, w->left + w->width, below + 1.3 * small * w->s, small, LUD_PLOT_END, w->theme->muted,
              x_name);
}

/* Every unbroken stretch of the band: along the upper end, and back along the lower. */
static void put_band(const writer *w, const lud_plot_curve *curve) {
    for (int i = 0, end; i < curve->n; i = end) {
        end = i + 1;
        if (!lud_plot_is_point(curve, i) || !lud_plot_has_band(curve, i)) continue;
        while (end < curve->n && lud_plot_is_point(curve, end) && lud_plot_has_band(curve, end)) end++;
        w->pen->band_begin(w->pen, colour_of(w, curve));
        for (int k = i; k < end; k++)
            w->pen->band_point(w->pen, x_of(w, curve->x[k]), y_of(w, curve->high[k]), k == i);
        for (int k = end - 1; k >= i; k--)
            w->pen->band_point(w->pen, x_of(w, curve->x[k]), y_of(w, curve->low[k]), false);
        w->pen->band_end(w->pen);
    }
}

static void put_curve(const writer *w, const lud_plot_curve *curve) {
    for (int i = 0, end; i < curve->n; i = end) {
        end = i + 1;
        if (!lud_plot_is_point(curve, i)) continue;
        while (end < curve->n && lud_plot_is_point(curve, end)) end++;
        if (end == i + 1) continue;
        w->pen->curve_begin(w->pen, (curve->faint ? 1.6 : 2.6) * w->s, colour_of(w, curve));
        for (int k = i; k < end; k++)
            w->pen->curve_point(w->pen, x_of(w, curve->x[k]), y_of(w, curve->y[k]), k == i);
        w->pen->curve_end(w->pen);
    }
}

static void put_panel(writer *w, const lud_plot_panel *panel, double left, double width, double height) {
    const double s = w->s, pad = 18 * s, row = 1.5 * small * s;
    double x = left + pad, y = pad + large * s;
    put_words(w, x, y, large, LUD_PLOT_START, w->theme->text, panel->title);
    y += 1.6 * small * s;
    for (int c = 0; c < panel->n_curves; c++) {
        const lud_plot_curve *curve = &panel->curves[c];
        if (!curve->name) continue;
        const double wide = (30 + small * w->pen->width(curve->name)) * s;
        if (x + wide > left + width - pad && x > left + pad) {
            x = left + pad;
            y += row;
        }
        put_line(w, x, y - 0.35 * small * s, x + 18 * s, y - 0.35 * small * s, (curve->faint ? 1.6 : 2.6) * s,
                 colour_of(w, curve));
        put_words(w, x + 24 * s, y, small, LUD_PLOT_START, w->theme->text, curve->name);
        x += wide + 14 * s;
    }
    w->left = left + pad + 40 * s;
    w->top = y + 20 * s;
    w->width = left + width - pad - 14 * s - w->left;
    w->height = height - w->top - pad - 2 * row - 8 * s;
    lud_plot_axes_find(panel, &w->axes);
    put_axes(w, panel->x_name);
    for (int c = 0; c < panel->n_curves; c++) put_band(w, &panel->curves[c]);
    for (int faint = 1; faint >= 0; faint--)
        for (int c = panel->n_curves - 1; c >= 0; c--)
            if (panel->curves[c].faint == faint) put_curve(w, &panel->curves[c]);
}

void lud_plot_draw(lud_plot_pen *pen, const lud_plot_panel *panels, int n, int panel_width, int height,
                   float scale, lud_theme_name theme) {
    writer w = {.pen = pen, .theme = lud_theme_get(theme), .s = (double)scale};
    pen->ground(pen, n * panel_width, height, w.theme->floor);
    for (int i = 0; i < n; i++) put_panel(&w, &panels[i], i * panel_width, panel_width, height);
}
