#include "render/plots/plot_svg.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "render/plots/plot_vector.h"

static void put_colour(const lud_plot_pen *p, const char *what, lud_rgba c) {
    lud_text_append(p->out, " %s=\"#%02x%02x%02x\"", what, c.r, c.g, c.b);
}

/* Text as XML takes it; bytes that it knows no character for become spaces. */
static void put_escaped(const lud_plot_pen *p, const char *text) {
    for (const char *c = text; *c; c++) {
        if (*c == '&' || *c == '<' || *c == '>')
            lud_text_append(p->out, *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : "&gt;");
        else
            lud_text_append(p->out, "%c", (unsigned char)*c < ' ' ? ' ' : *c);
    }
}

static void ground(const lud_plot_pen *p, double width, double height, lud_rgba colour) {
    lud_text_append(p->out, "<rect width=\"%.0f\" height=\"%.0f\"", width, height);
    put_colour(p, "fill", colour);
    lud_text_append(p->out, "/>\n");
}

static void words(const lud_plot_pen *p, double x, double y, double size, lud_plot_anchor anchor,
                  lud_rgba colour, const char *text) {
    static const char *const anchors[] = {
        [LUD_PLOT_START] = "start", [LUD_PLOT_MIDDLE] = "middle", [LUD_PLOT_END] = "end"};
    lud_text_append(p->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\" text-anchor=\"%s\"", x, y, size,
                    anchors[anchor]);
    put_colour(p, "fill", colour);
    lud_text_append(p->out, ">");
    put_escaped(p, text);
    lud_text_append(p->out, "</text>\n");
}

/* The reader's letters are not known: a mean width. */
static double width(const char *text) {
    static const double letter = 0.56;
    return letter * (double)strlen(text);
}

static void line(const lud_plot_pen *p, double x0, double y0, double x1, double y1, double thick,
                 lud_rgba colour) {
    lud_text_append(p->out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke-width=\"%.2f\"", x0,
                    y0, x1, y1, thick);
    put_colour(p, "stroke", colour);
    lud_text_append(p->out, "/>\n");
}

static void curve_begin(const lud_plot_pen *p, double thick, lud_rgba colour) {
    lud_text_append(p->out, "<polyline fill=\"none\" stroke-linejoin=\"round\" stroke-width=\"%.2f\"", thick);
    put_colour(p, "stroke", colour);
    lud_text_append(p->out, " points=\"");
}
static void curve_point(const lud_plot_pen *p, double x, double y, bool first) {
    (void)first;
    lud_text_append(p->out, "%.2f,%.2f ", x, y);
}
static void curve_end(const lud_plot_pen *p) {
    lud_text_append(p->out, "\"/>\n");
}

static void band_begin(const lud_plot_pen *p, lud_rgba colour) {
    lud_text_append(p->out, "<path stroke=\"none\" fill-opacity=\"" LUD_PLOT_BAND "\"");
    put_colour(p, "fill", colour);
    lud_text_append(p->out, " d=\"M");
}
static void band_point(const lud_plot_pen *p, double x, double y, bool first) {
    (void)first;
    lud_text_append(p->out, "%.2f %.2f ", x, y);
}
static void band_end(const lud_plot_pen *p) {
    lud_text_append(p->out, "Z\"/>\n");
}

lud_status lud_plot_write_svg(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                              int height, float scale, lud_theme_name theme, lud_error *error) {
    lud_text out = {0};
    lud_plot_pen pen = {.out = &out,
                        .height = height,
                        .ground = ground,
                        .words = words,
                        .width = width,
                        .line = line,
                        .curve_begin = curve_begin,
                        .curve_point = curve_point,
                        .curve_end = curve_end,
                        .band_begin = band_begin,
                        .band_point = band_point,
                        .band_end = band_end};
    lud_text_append(&out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                    "font-family=\"Inter, Helvetica, Arial, sans-serif\">\n",
                    n * panel_width, height);
    lud_plot_draw(&pen, panels, n, panel_width, height, scale, theme);
    lud_text_append(&out, "</svg>\n");
    const lud_status status =
        out.failed ? lud_no_memory(error, "a plot") : lud_file_write(path, out.bytes, out.length, error);
    lud_text_free(&out);
    return status;
}
