/* The panel of the overlay: colour bar, bars of the present state, curves over the episode. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/overlay_parts.h"

enum { MOST_CHOICES = 9, MOST_CURVES = 7 };

static float text_scale(const lud_canvas *canvas) {
    return lud_canvas_scale(canvas);
}

typedef struct column {
    lud_canvas *canvas;
    const lud_theme *theme;
    float x, y, width, bottom, row, s;
} column;

static float row_height(const lud_canvas *canvas) {
    return lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 3 * text_scale(canvas);
}

/* The colours of curves and bars, one after another; what is drawn has the same colour in both. */
static lud_rgba curve_colour(const lud_theme *theme, int number) {
    static const int order[] = {2, 0, 1, 3, 6, 4, 5}; /* blue, red, green, purple, brown, yellow, grey */
    return number == 0 ? theme->accent : theme->colours[order[number % 7]];
}

static bool has_map(const lud_overlay *o) {
    return o->shown & LUD_OVERLAY_VALUES && o->person >= 0 && o->source->goal_value_name &&
           o->drawing->kind->goal_area;
}

static int shown_choices(const lud_overlay *o) {
    int n = o->source->n_choices;
    return n > MOST_CHOICES ? MOST_CHOICES : n;
}

/* Quantities of the group that begins here. */
static int group_size(const lud_overlay_source *source, int begin) {
    int n = 1;
    while (begin + n < source->n_quantities &&
           !strcmp(source->quantities[begin].group, source->quantities[begin + n].group))
        n++;
    return n;
}

static int count_charts(const lud_overlay *o) {
    int n = o->source->n_choices > 0;
    for (int q = 0; q < o->source->n_quantities; q += group_size(o->source, q)) n++;
    return n;
}

static float map_height(const column *c) {
    return 2 * c->row + 22 * c->s;
}
static float bars_height(const lud_overlay *o, const column *c) {
    int lines = o->source->n_quantities + shown_choices(o);
    return (float)lines * c->row + (o->source->n_choices ? c->row + 10 * c->s : 0) + 8 * c->s;
}
static float chart_height(const column *c) {
    return c->row + 44 * c->s;
}

float lud_overlay_panel_height(const lud_overlay *o, const lud_canvas *canvas) {
    column c = {.s = text_scale(canvas), .row = row_height(canvas)};
    float height = 0;
    if (has_map(o)) height += map_height(&c);
    if (o->shown & LUD_OVERLAY_BARS) height += bars_height(o, &c);
    if (o->shown & LUD_OVERLAY_TRACE) height += (float)count_charts(o) * chart_height(&c);
    return height > 0 ? height + 24 * c.s : 0;
}

/* ---- colour bar ---- */

static void draw_colour_bar(const lud_overlay *o, column *c) {
    char text[96];
    snprintf(text, sizeof text, "%s of the goals of person %d", o->source->goal_value_name, o->person);
    lud_canvas_text_cut(c->canvas, c->x, c->y, c->width, LUD_TEXT_SMALL, c->theme->text, text);
    c->y += c->row;
    enum { STEPS = 64 };
    float left = c->x, each = c->width / STEPS, high = 10 * c->s;
    for (int k = 0; k < STEPS; k++) {
        float from = roundf(left + each * (float)k), to = roundf(left + each * (float)(k + 1));
        lud_canvas_rect(c->canvas, (lud_box){from, c->y, to - from, high},
                        lud_overlay_ramp(c->theme, ((double)k + 0.5) / STEPS));
    }
    lud_canvas_frame(c->canvas, (lud_box){left, c->y, c->width, high}, 0, 1, c->theme->grid_line);
    c->y += high + 2 * c->s;
    for (int k = 0; k <= 2; k++) {
        snprintf(text, sizeof text, "%.3g", o->source->goal_value_most * k / 2);
        float width = lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, text);
        lud_canvas_text(c->canvas, c->x + (c->width - width) * 0.5f * (float)k, c->y, LUD_TEXT_SMALL,
                        c->theme->muted, text);
    }
    c->y += c->row + 10 * c->s;
}

/* ---- bars ---- */

static const char *number_text(double value, char text[24]) {
    double size = fabs(value);
    if (size > 0 && size < 1e-3)
        snprintf(text, 24, "0.000"); /* a terminal state's value is as good as none */
    else
        snprintf(text, 24, size >= 1000 ? "%.3g" : size >= 10 ? "%.2f" : "%.3f", value);
    return text;
}

static void draw_bar(column *c, const char *name, double value, double most, const char *number,
                     lud_rgba colour, float name_width) {
    if (c->y + c->row > c->bottom) return;
    float number_width = 56 * c->s, left = c->x + name_width, width = c->width - name_width - number_width;
    lud_canvas_text_cut(c->canvas, c->x, c->y, name_width - 6 * c->s, LUD_TEXT_SMALL, c->theme->text, name);
    float high = fmaxf(4, c->row - 9 * c->s);
    lud_box box = {left, roundf(c->y + (c->row - high) * 0.5f - 1 * c->s), width, high};
    lud_canvas_round_rect(c->canvas, box, 2 * c->s, lud_mixed(c->theme->panel, c->theme->grid_line, 0.8f));
    double share = most > 0 ? fmin(fabs(value) / most, 1) : 0;
    box.w = (float)share * width;
    if (box.w >= 1) lud_canvas_round_rect(c->canvas, box, fminf(2 * c->s, box.w * 0.5f), colour);
    float text_width = lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, number);
    lud_canvas_text(c->canvas, c->x + c->width - text_width, c->y, LUD_TEXT_SMALL, c->theme->text, number);
    c->y += c->row;
}

/* The largest amount of a column over the known part of the episode. */
static double largest(lud_overlay *o, const lud_player *player, int column_index) {
    double most = 0;
    for (size_t k = 0; k < lud_player_known(player); k++) {
        const double *row = lud_overlay_row(o, lud_player_state_at(player, k), k);
        if (row) most = fmax(most, fabs(row[column_index]));
    }
    return most;
}

/* The likeliest choices first when not all of them have room; in their own order otherwise. */
static int next_choice(const lud_overlay *o, const double *p, int shown, const bool *used) {
    if (o->source->n_choices <= MOST_CHOICES) return shown;
    int best = -1;
    for (int k = 0; k < o->source->n_choices && k < 4096; k++)
        if (!used[k] && (best < 0 || p[k] > p[best])) best = k;
    return best;
}

static void draw_bars(lud_overlay *o, column *c, const lud_player *player) {
    lud_overlay_source *source = o->source;
    const double *row = lud_overlay_row(o, lud_player_state(player), lud_player_position(player));
    if (!row) {
        lud_canvas_text_cut(c->canvas, c->x, c->y, c->width, LUD_TEXT_SMALL, c->theme->muted,
                            "nothing is known about this state");
        c->y += bars_height(o, c);
        return;
    }
    float name_width = 0;
    for (int q = 0; q < source->n_quantities; q++)
        name_width =
            fmaxf(name_width, lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, source->quantities[q].name));
    for (int k = 0; k < source->n_choices && k < 64; k++)
        name_width =
            fmaxf(name_width, lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, source->choice_names[k]));
    name_width = fminf(name_width + 12 * c->s, c->width * 0.42f);
    char number[24];
    for (int q = 0, in_group = 0; q < source->n_quantities; q++) {
        const lud_overlay_quantity *quantity = &source->quantities[q];
        in_group = q && !strcmp(quantity->group, source->quantities[q - 1].group) ? in_group + 1 : 0;
        double most = quantity->unit ? quantity->most : largest(o, player, q);
        draw_bar(c, quantity->name, row[q], most, number_text(row[q], number),
                 curve_colour(c->theme, in_group), name_width);
    }
    if (source->n_choices) {
        c->y += 6 * c->s;
        if (c->y + c->row <= c->bottom)
            lud_canvas_text_cut(c->canvas, c->x, c->y, c->width, LUD_TEXT_SMALL, c->theme->muted,
                                source->choice_name);
        c->y += c->row;
        const double *p = row + source->n_quantities;
        bool used[4096] = {false};
        for (int shown = 0; shown < shown_choices(o); shown++) {
            int k = next_choice(o, p, shown, used);
            if (k < 0) break;
            if (k < 4096) used[k] = true;
            snprintf(number, sizeof number, "%.3f", p[k]);
            lud_rgba colour = source->n_choices <= MOST_CURVES ? curve_colour(c->theme, k) : c->theme->accent;
            draw_bar(c, source->choice_names[k], p[k], 1, number, colour, name_width);
        }
    }
    c->y += 12 * c->s;
}

/* ---- curves ---- */

typedef struct plot {
    lud_box box;
    double low, high;
    size_t length;
} plot;

static void draw_curve(lud_overlay *o, column *c, const lud_player *player, const plot *chart,
                       int column_index, lud_rgba colour) {
    enum { MOST_POINTS = 512 };
    float points[MOST_POINTS][2];
    size_t known = lud_player_known(player);
    size_t stride = known / MOST_POINTS + 1;
    int n = 0;
    for (size_t k = 0; k < known; k += stride) {
        const double *row = lud_overlay_row(o, lud_player_state_at(player, k), k);
        if (!row) {
            if (n > 1) lud_canvas_polyline(c->canvas, (const float(*)[2])points, n, 2 * c->s, colour);
            n = 0;
            continue;
        }
        double share = (row[column_index] - chart->low) / (chart->high - chart->low);
        points[n][0] =
            chart->box.x + chart->box.w * (float)k / (float)(chart->length > 1 ? chart->length - 1 : 1);
        points[n][1] = chart->box.y + chart->box.h * (1 - (float)fmin(fmax(share, 0), 1));
        n++;
    }
    if (n > 1) lud_canvas_polyline(c->canvas, (const float(*)[2])points, n, 2 * c->s, colour);
    const double *row = lud_overlay_row(o, lud_player_state(player), lud_player_position(player));
    if (!row) return;
    double share = (row[column_index] - chart->low) / (chart->high - chart->low);
    float x = chart->box.x + chart->box.w * (float)lud_player_position(player) /
                                 (float)(chart->length > 1 ? chart->length - 1 : 1);
    lud_canvas_disc(c->canvas, x, chart->box.y + chart->box.h * (1 - (float)fmin(fmax(share, 0), 1)),
                    3.5f * c->s, colour);
}

/* Charts stand one below the other, or in two columns where that gives too little room. */
typedef struct rack {
    float x, y, width, height; /* of the next chart */
    int n, columns;
    float gap;
} rack;

/* Title with the ends of the axis, and the frame; false when there is no room. */
static bool begin_chart(column *c, rack *r, const lud_player *player, plot *chart, const char *title) {
    if (r->y + r->height > c->bottom + 1) return false;
    char range[64];
    snprintf(range, sizeof range, "%.3g to %.3g", chart->low, chart->high);
    float width = lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, range);
    lud_canvas_text_cut(c->canvas, r->x, r->y, r->width - width - 8 * c->s, LUD_TEXT_SMALL, c->theme->text,
                        title);
    lud_canvas_text(c->canvas, r->x + r->width - width, r->y, LUD_TEXT_SMALL, c->theme->muted, range);
    float pad = 5 * c->s;
    lud_box face = {r->x, r->y + c->row, r->width, r->height - c->row - 10 * c->s};
    lud_canvas_round_rect(c->canvas, face, 3 * c->s, lud_mixed(c->theme->panel, c->theme->grid_line, 0.45f));
    chart->box = (lud_box){face.x + pad, face.y + pad, face.w - 2 * pad, face.h - 2 * pad};
    float now = chart->box.x + chart->box.w * (float)lud_player_position(player) /
                                   (float)(chart->length > 1 ? chart->length - 1 : 1);
    lud_canvas_rect(c->canvas, (lud_box){roundf(now), face.y, 1, face.h}, lud_faded(c->theme->muted, 0.7f));
    r->n++;
    bool next_row = r->n % r->columns == 0;
    r->x = next_row ? c->x : r->x + r->width + r->gap;
    if (next_row) r->y += r->height;
    return true;
}

static rack divide(const lud_overlay *o, const column *c) {
    rack r = {.x = c->x, .y = c->y, .columns = 1, .gap = 16 * c->s};
    float left = c->bottom - c->y, wide = 300 * c->s;
    int n = count_charts(o);
    if ((float)n * chart_height(c) > left + 1 && c->width >= wide) r.columns = 2;
    int rows = (n + r.columns - 1) / r.columns;
    r.width = (c->width - (float)(r.columns - 1) * r.gap) / (float)r.columns;
    r.height = fminf(left / (float)(rows ? rows : 1), chart_height(c) * 1.5f);
    r.height = floorf(fmaxf(r.height, c->row + 28 * c->s));
    return r;
}

/* The ends of a group's axis: those of its unit, or what the episode has shown so far. */
static plot plot_of(lud_overlay *o, const lud_player *player, int begin, int n, size_t length) {
    plot chart = {.low = INFINITY, .high = -INFINITY, .length = length};
    const lud_overlay_quantity *quantity = &o->source->quantities[begin];
    if (quantity->unit) {
        chart.low = 0;
        chart.high = quantity->most;
        return chart;
    }
    for (size_t k = 0; k < lud_player_known(player); k++) {
        const double *row = lud_overlay_row(o, lud_player_state_at(player, k), k);
        for (int i = 0; row && i < n; i++) {
            chart.low = fmin(chart.low, row[begin + i]);
            chart.high = fmax(chart.high, row[begin + i]);
        }
    }
    if (!(chart.high >= chart.low)) return (plot){.low = 0, .high = 1, .length = length};
    double least = fmax(1e-9, 1e-3 * fabs(chart.high)); /* a constant is a line in the middle */
    if (chart.high - chart.low < least) {
        chart.low -= least;
        chart.high += least;
    }
    return chart;
}

static void draw_trace(lud_overlay *o, column *c, const lud_player *player, size_t length) {
    lud_overlay_source *source = o->source;
    rack r = divide(o, c);
    for (int q = 0; q < source->n_quantities;) {
        int n = group_size(source, q);
        plot chart = plot_of(o, player, q, n, length);
        if (!begin_chart(c, &r, player, &chart, source->quantities[q].group)) return;
        for (int i = n - 1; i >= 0; i--) draw_curve(o, c, player, &chart, q + i, curve_colour(c->theme, i));
        q += n;
    }
    plot chart = {.low = 0, .high = 1, .length = length};
    if (!source->n_choices || !begin_chart(c, &r, player, &chart, source->choice_group)) return;
    bool told_apart = source->n_choices <= MOST_CURVES;
    for (int k = source->n_choices - 1; k >= 0; k--)
        draw_curve(o, c, player, &chart, source->n_quantities + k,
                   told_apart ? curve_colour(c->theme, k) : lud_faded(c->theme->accent, 0.6f));
}

void lud_overlay_draw_panel(lud_overlay *o, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                            const lud_player *player, size_t length) {
    float s = text_scale(canvas), pad = 16 * s;
    lud_canvas_round_rect(canvas, box, 10 * s, theme->panel);
    lud_canvas_frame(canvas, box, 10 * s, 1, theme->grid_line);
    column c = {.canvas = canvas,
                .theme = theme,
                .x = roundf(box.x + pad),
                .y = roundf(box.y + 12 * s),
                .width = roundf(box.w - 2 * pad),
                .bottom = box.y + box.h - 8 * s,
                .row = row_height(canvas),
                .s = s};
    if (has_map(o) && c.y + map_height(&c) <= c.bottom) draw_colour_bar(o, &c);
    if (o->shown & LUD_OVERLAY_BARS) draw_bars(o, &c, player);
    if (o->shown & LUD_OVERLAY_TRACE) draw_trace(o, &c, player, length);
}
