#include "render/plots/chart.h"

#include <math.h>
#include <stdio.h>

lud_rgba lud_chart_colour(const lud_theme *theme, int number) {
    static const int order[] = {2, 0, 1, 3, 6, 4, 5};
    return number == 0 ? theme->accent : theme->colours[order[number % 7]];
}

void lud_chart_range(lud_chart *chart, double low, double high) {
    if (!(high >= low)) {
        low = 0;
        high = 1;
    }
    double least = fmax(1e-9, 1e-3 * fabs(high));
    if (high - low < least) {
        low -= least;
        high += least;
    }
    chart->low = low;
    chart->high = high;
}

static float x_of(const lud_chart *chart, size_t step) {
    return chart->box.x + chart->box.w * (float)step / (float)(chart->length > 1 ? chart->length - 1 : 1);
}

static float y_of(const lud_chart *chart, double value) {
    double share = (value - chart->low) / (chart->high - chart->low);
    return chart->box.y + chart->box.h * (1 - (float)fmin(fmax(share, 0), 1));
}

void lud_chart_begin(lud_chart *chart, lud_canvas *canvas, const lud_theme *theme, lud_box area,
                     const char *title) {
    float s = lud_canvas_scale(canvas), row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 3 * s;
    char range[64];
    snprintf(range, sizeof range, "%.3g to %.3g", chart->low, chart->high);
    float width = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, range);
    lud_canvas_text_cut(canvas, area.x, area.y, area.w - width - 8 * s, LUD_TEXT_SMALL, theme->text, title);
    lud_canvas_text(canvas, area.x + area.w - width, area.y, LUD_TEXT_SMALL, theme->muted, range);
    float pad = 5 * s;
    lud_box face = {area.x, area.y + row, area.w, area.h - row};
    lud_canvas_round_rect(canvas, face, 3 * s, lud_mixed(theme->panel, theme->grid_line, 0.45f));
    chart->box = (lud_box){face.x + pad, face.y + pad, face.w - 2 * pad, face.h - 2 * pad};
    lud_canvas_rect(canvas, (lud_box){roundf(x_of(chart, chart->position)), face.y, 1, face.h},
                    lud_faded(theme->muted, 0.7f));
}

void lud_chart_curve(const lud_chart *chart, lud_canvas *canvas, lud_chart_value value, void *context,
                     lud_rgba colour) {
    enum { MOST_POINTS = 512 };
    float points[MOST_POINTS][2], s = lud_canvas_scale(canvas);
    size_t stride = chart->known / MOST_POINTS + 1;
    int n = 0;
    double at;
    for (size_t k = 0; k < chart->known; k += stride) {
        if (!value(context, k, &at)) {
            if (n > 1) lud_canvas_polyline(canvas, (const float(*)[2])points, n, 2 * s, colour);
            n = 0;
            continue;
        }
        points[n][0] = x_of(chart, k);
        points[n++][1] = y_of(chart, at);
    }
    if (n > 1) lud_canvas_polyline(canvas, (const float(*)[2])points, n, 2 * s, colour);
    if (value(context, chart->position, &at))
        lud_canvas_disc(canvas, x_of(chart, chart->position), y_of(chart, at), 3.5f * s, colour);
}
