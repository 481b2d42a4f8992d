#include "render/plots/plot_svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "render/plots/plot_axes.h"

/* Sizes of letters in units of the scale, and the mean width of one. */
static const double small = 13, large = 17, letter = 0.56;

typedef struct writer {
    lud_text *out;
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

static void put_colour(const writer *w, const char *what, lud_rgba c) {
    lud_text_append(w->out, " %s=\"#%02x%02x%02x\"", what, c.r, c.g, c.b);
}

/* Text as XML takes it; bytes that it knows no character for become spaces. */
static void put_escaped(const writer *w, const char *text) {
    for (const char *c = text; *c; c++) {
        if (*c == '&' || *c == '<' || *c == '>')
            lud_text_append(w->out, *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : "&gt;");
        else
            lud_text_append(w->out, "%c", (unsigned char)*c < ' ' ? ' ' : *c);
    }
}

static void put_words(const writer *w, double x, double y, double size, const char *anchor, lud_rgba colour,
                      const char *text) {
    lud_text_append(w->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"%s\"", x, y,
                    size * w->s, anchor);
    put_colour(w, "fill", colour);
    lud_text_append(w->out, ">");
    put_escaped(w, text);
    lud_text_append(w->out, "</text>\n");
}

static void put_line(const writer *w, double x0, double y0, double x1, double y1, double width,
                     lud_rgba colour) {
    lud_text_append(w->out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke-width=\"%.2f\"", x0,
                    y0, x1, y1, width);
    put_colour(w, "stroke", colour);
    lud_text_append(w->out, "/>\n");
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
        put_words(w, w->left - 8 * w->s, y + 0.35 * small * w->s, small, "end", w->theme->muted, text);
    }
    const double below = w->top + w->height + 6 * w->s + small * w->s;
    for (double x = ceil(a->x0 / a->along) * a->along; x <= a->x1 + 1e-9 * a->along; x += a->along) {
        lud_plot_number(x, text);
        put_words(w, x_of(w, x), below, small, "middle", w->theme->muted, text);
    }
    put_words(w, w->left + w->width, below + 1.3 * small * w->s, small, "end", w->theme->muted, x_name);
}

/* Every unbroken stretch of the band: along the upper end, and back along the lower. */
static void put_band(const writer *w, const lud_plot_curve *curve) {
    for (int i = 0, end; i < curve->n; i = end) {
        end = i + 1;
        if (!lud_plot_is_point(curve, i) || !lud_plot_has_band(curve, i)) continue;
        while (end < curve->n && lud_plot_is_point(curve, end) && lud_plot_has_band(curve, end)) end++;
        lud_text_append(w->out, "<path stroke=\"none\" fill-opacity=\"0.16\"");
        put_colour(w, "fill", colour_of(w, curve));
        lud_text_append(w->out, " d=\"M");
        for (int k = i; k < end; k++)
            lud_text_append(w->out, "%.2f %.2f ", x_of(w, curve->x[k]), y_of(w, curve->high[k]));
        for (int k = end - 1; k >= i; k--)
            lud_text_append(w->out, "%.2f %.2f ", x_of(w, curve->x[k]), y_of(w, curve->low[k]));
        lud_text_append(w->out, "Z\"/>\n");
    }
}

static void put_curve(const writer *w, const lud_plot_curve *curve) {
    for (int i = 0, end; i < curve->n; i = end) {
        end = i + 1;
        if (!lud_plot_is_point(curve, i)) continue;
        while (end < curve->n && lud_plot_is_point(curve, end)) end++;
        if (end == i + 1) continue;
        lud_text_append(w->out, "<polyline fill=\"none\" stroke-linejoin=\"round\" stroke-width=\"%.2f\"",
                        (curve->faint ? 1.6 : 2.6) * w->s);
        put_colour(w, "stroke", colour_of(w, curve));
        lud_text_append(w->out, " points=\"");
        for (int k = i; k < end; k++)
            lud_text_append(w->out, "%.2f,%.2f ", x_of(w, curve->x[k]), y_of(w, curve->y[k]));
        lud_text_append(w->out, "\"/>\n");
    }
}

static void put_panel(writer *w, const lud_plot_panel *panel, double left, double width, double height) {
    const double s = w->s, pad = 18 * s, row = 1.5 * small * s;
    double x = left + pad, y = pad + large * s;
    put_words(w, x, y, large, "start", w->theme->text, panel->title);
    y += 1.6 * small * s;
    for (int c = 0; c < panel->n_curves; c++) {
        const lud_plot_curve *curve = &panel->curves[c];
        if (!curve->name) continue;
        const double wide = (30 + letter * small * (double)strlen(curve->name)) * s;
        if (x + wide > left + width - pad && x > left + pad) {
            x = left + pad;
            y += row;
        }
        put_line(w, x, y - 0.35 * small * s, x + 18 * s, y - 0.35 * small * s, (curve->faint ? 1.6 : 2.6) * s,
                 colour_of(w, curve));
        put_words(w, x + 24 * s, y, small, "start", w->theme->text, curve->name);
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

lud_status lud_plot_write_svg(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                              int height, float scale, lud_theme_name theme, lud_error *error) {
    lud_text out = {0};
    writer w = {.out = &out, .theme = lud_theme_get(theme), .s = (double)scale};
    lud_text_append(&out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"Inter, Helvetica, Arial, sans-serif\">\n<rect width=\"%d\" height=\"%d\"",
                    n * panel_width, height, n * panel_width, height);
    put_colour(&w, "fill", w.theme->floor);
    lud_text_append(&out, "/>\n");
    for (int i = 0; i < n; i++) put_panel(&w, &panels[i], i * panel_width, panel_width, height);
    lud_text_append(&out, "</svg>\n");
    const lud_status status =
        out.failed ? lud_no_memory(error, "a plot") : lud_file_write(path, out.bytes, out.length, error);
    lud_text_free(&out);
    return status;
}
