#include "render/viewer/training.h"

#include <math.h>
#include <stdio.h>

#include "render/plots/chart.h"

static float row_of(const lud_canvas *canvas) {
    return lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 3 * lud_canvas_scale(canvas);
}
static float head_height(const lud_canvas *canvas) {
    return 2 * row_of(canvas) + 30 * lud_canvas_scale(canvas);
}
static float chart_height(const lud_canvas *canvas) {
    return row_of(canvas) + 50 * lud_canvas_scale(canvas);
}

float lud_training_panel_height(const lud_view_training *t, const lud_canvas *canvas, float most) {
    const float head = head_height(canvas) + 6 * lud_canvas_scale(canvas), chart = chart_height(canvas);
    const float room = floorf((most - head) / chart);
    return fminf(most, head + fmaxf(0, fminf((float)t->n_curves, room)) * chart);
}

static bool value_at(void *context, size_t step, double *value) {
    const lud_training_curve *curve = context;
    *value = curve->value[step];
    return isfinite(*value);
}

static void draw_curve(const lud_training_curve *curve, lud_canvas *canvas, const lud_theme *theme,
                       lud_box area, int number) {
    lud_chart chart = {.length = curve->n, .known = curve->n, .position = curve->n ? curve->n - 1 : 0};
    double low = INFINITY, high = -INFINITY, last = NAN;
    char title[128];
    for (size_t k = 0; k < curve->n; k++) {
        if (!isfinite(curve->value[k])) continue;
        last = curve->value[k];
        low = fmin(low, last);
        high = fmax(high, last);
    }
    snprintf(title, sizeof title, isfinite(last) ? "%s %.4g" : "%s", curve->name, last);
    lud_chart_range(&chart, low, high);
    lud_chart_begin(&chart, canvas, theme, area, title);
    lud_chart_curve(&chart, canvas, value_at, (void *)(uintptr_t)curve, lud_chart_colour(theme, number));
}

void lud_training_panel_draw(const lud_view_training *t, lud_canvas *canvas, const lud_theme *theme,
                             lud_box box) {
    const float s = lud_canvas_scale(canvas), row = row_of(canvas), pad = 12 * s;
    const float x = box.x + pad, width = box.w - 2 * pad, bottom = box.y + box.h;
    float y = box.y + pad;
    lud_canvas_round_rect(canvas, box, 8 * s, theme->panel);
    lud_canvas_frame(canvas, box, 8 * s, 1, theme->grid_line);
    lud_canvas_text_cut(canvas, x, y, width, LUD_TEXT_SMALL, theme->text, t->state);
    y += row + 2 * s;
    const lud_box bar = {x, y, width, 5 * s};
    lud_canvas_round_rect(canvas, bar, 2 * s, lud_mixed(theme->panel, theme->grid_line, 0.8f));
    const float done = (float)fmin(fmax(t->share, 0), 1) * width;
    if (done >= 1)
        lud_canvas_round_rect(canvas, (lud_box){x, y, done, bar.h}, fminf(2 * s, done * 0.5f), theme->accent);
    y += bar.h + 5 * s;
    lud_canvas_text_cut(canvas, x, y, width, LUD_TEXT_SMALL, theme->muted,
                        t->running ? "Ctrl S  save      Ctrl E  save and end" : "Ctrl Q  closes the window");
    y += row + 6 * s;
    for (int k = 0; k < t->n_curves && y + chart_height(canvas) <= bottom; k++) {
        draw_curve(&t->curves[k], canvas, theme, (lud_box){x, y, width, chart_height(canvas) - 8 * s}, k);
        y += chart_height(canvas);
    }
}
