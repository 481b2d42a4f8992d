#include "render/plots/plot_picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/canvas/canvas.h"
#include "render/canvas/picture.h"
#include "render/plots/plot_axes.h"

typedef struct drawer {
    lud_canvas *canvas;
    const lud_theme *theme;
    float s;
    lud_box box; /* of the curves */
    lud_plot_axes axes;
    bool incomplete; /* a curve is missing */
} drawer;

static float x_of(const drawer *d, double x) {
    return d->box.x + d->box.w * (float)((lud_plot_kept(x) - d->axes.x0) / (d->axes.x1 - d->axes.x0));
}
static float y_of(const drawer *d, double y) {
    return d->box.y + d->box.h * (float)((d->axes.y1 - lud_plot_kept(y)) / (d->axes.y1 - d->axes.y0));
}

static void draw_axes(const drawer *d, const char *x_name) {
    const float line = lud_canvas_line_height(d->canvas, LUD_TEXT_SMALL);
    char text[24];
    const double up = d->axes.up, along = d->axes.along;
    for (int k = 0; d->axes.y0 + up * k <= d->axes.y1 + 1e-9 * up; k++) {
        const float y = roundf(y_of(d, d->axes.y0 + up * k));
        lud_canvas_rect(d->canvas, (lud_box){d->box.x, y, d->box.w, fmaxf(1, d->s)}, d->theme->grid_line);
        lud_plot_number(d->axes.y0 + up * k, text);
        lud_canvas_text(d->canvas,
                        d->box.x - 8 * d->s - lud_canvas_text_width(d->canvas, LUD_TEXT_SMALL, text),
                        y - 0.5f * line, LUD_TEXT_SMALL, d->theme->muted, text);
    }
    for (double x = ceil(d->axes.x0 / along) * along; x <= d->axes.x1 + 1e-9 * along; x += along) {
        lud_plot_number(x, text);
        lud_canvas_text(d->canvas, x_of(d, x) - 0.5f * lud_canvas_text_width(d->canvas, LUD_TEXT_SMALL, text),
                        d->box.y + d->box.h + 6 * d->s, LUD_TEXT_SMALL, d->theme->muted, text);
    }
    lud_canvas_text(d->canvas, d->box.x + d->box.w - lud_canvas_text_width(d->canvas, LUD_TEXT_SMALL, x_name),
                    d->box.y + d->box.h + 6 * d->s + line, LUD_TEXT_SMALL, d->theme->muted, x_name);
}

static lud_rgba colour_of(const drawer *d, const lud_plot_curve *curve) {
    const lud_rgba colour = d->theme->colours[curve->colour % 7];
    return curve->faint ? lud_mixed(colour, d->theme->floor, 0.5f) : colour;
}

/* A column of pixels at a time: neighbours never overlap, so that the band is evenly pale. */
static void draw_band(const drawer *d, const lud_plot_curve *curve) {
    const lud_rgba colour = lud_faded(colour_of(d, curve), 0.16f);
    for (int i = 0; i + 1 < curve->n; i++) {
        if (!lud_plot_is_point(curve, i) || !lud_plot_is_point(curve, i + 1) ||
            !lud_plot_has_band(curve, i) || !lud_plot_has_band(curve, i + 1))
            continue;
        const float left = x_of(d, curve->x[i]), right = x_of(d, curve->x[i + 1]);
        for (float x = ceilf(left); x < right; x++) {
            const double t = (double)((x - left) / (right - left));
            const float top = y_of(d, curve->high[i] + t * (curve->high[i + 1] - curve->high[i])),
                        bottom = y_of(d, curve->low[i] + t * (curve->low[i + 1] - curve->low[i]));
            lud_canvas_rect(d->canvas, (lud_box){x, top, 1, bottom - top}, colour);
        }
    }
}

static void draw_curve(drawer *d, const lud_plot_curve *curve) {
    float(*points)[2] = malloc(((size_t)curve->n + 1) * sizeof *points);
    d->incomplete = d->incomplete || !points;
    int n = 0;
    for (int i = 0; points && i <= curve->n; i++) {
        if (i < curve->n && lud_plot_is_point(curve, i)) {
            points[n][0] = x_of(d, curve->x[i]);
            points[n++][1] = y_of(d, curve->y[i]);
            continue;
        }
        if (n > 1)
            lud_canvas_polyline(d->canvas, (const float(*)[2])points, n, (curve->faint ? 1.6f : 2.6f) * d->s,
                                colour_of(d, curve));
        n = 0;
    }
    free(points);
}

static void draw_panel(drawer *d, const lud_plot_panel *panel, lud_box face) {
    const float line = lud_canvas_line_height(d->canvas, LUD_TEXT_SMALL), pad = 18 * d->s;
    lud_canvas_text_cut(d->canvas, face.x + pad, face.y + pad, face.w - 2 * pad, LUD_TEXT_LARGE,
                        d->theme->text, panel->title);
    float x = face.x + pad, y = face.y + pad + lud_canvas_line_height(d->canvas, LUD_TEXT_LARGE) + 6 * d->s;
    for (int c = 0; c < panel->n_curves; c++) {
        const lud_plot_curve *curve = &panel->curves[c];
        if (!curve->name) continue;
        const float width = 30 * d->s + lud_canvas_text_width(d->canvas, LUD_TEXT_SMALL, curve->name);
        if (x + width > face.x + face.w - pad && x > face.x + pad) {
            x = face.x + pad;
            y += line + 2 * d->s;
        }
        lud_canvas_line(d->canvas, x, y + 0.55f * line, x + 18 * d->s, y + 0.55f * line,
                        (curve->faint ? 1.6f : 2.6f) * d->s, colour_of(d, curve));
        lud_canvas_text(d->canvas, x + 24 * d->s, y, LUD_TEXT_SMALL, d->theme->text, curve->name);
        x += width + 14 * d->s;
    }
    const float top = y + line + 14 * d->s, left = face.x + pad + 40 * d->s;
    const float right = pad + 14 * d->s; /* half of the last number stands beyond the axis */
    d->box = (lud_box){left, top, face.x + face.w - right - left,
                       face.y + face.h - top - pad - 2 * line - 8 * d->s};
    lud_plot_axes_find(panel, &d->axes);
    draw_axes(d, panel->x_name);
    for (int c = 0; c < panel->n_curves; c++) draw_band(d, &panel->curves[c]);
    for (int faint = 1; faint >= 0; faint--)
        for (int c = panel->n_curves - 1; c >= 0; c--)
            if (panel->curves[c].faint == faint) draw_curve(d, &panel->curves[c]);
}

lud_status lud_plot_picture_check(const char *path, lud_error *error) {
    (void)path, (void)error;
    return LUD_OK;
}

lud_status lud_plot_write_picture(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                                  int height, float scale, lud_theme_name theme, lud_error *error) {
    drawer d = {.theme = lud_theme_get(theme), .s = scale};
    LUD_TRY(lud_canvas_create_offscreen(n * panel_width, height, scale, &d.canvas, error));
    lud_canvas_begin(d.canvas, d.theme->floor);
    for (int i = 0; i < n; i++)
        draw_panel(&d, &panels[i], (lud_box){(float)(i * panel_width), 0, (float)panel_width, (float)height});
    lud_canvas_end(d.canvas);
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(d.canvas, &pitch);
    lud_status status = d.incomplete ? lud_no_memory(error, "a curve") : lud_canvas_check(d.canvas, error);
    if (!status) status = lud_picture_write(path, pixels, n * panel_width, height, pitch, error);
    lud_canvas_destroy(d.canvas);
    return status;
}
