#include "render/viewer/panels/comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/plots/chart.h"

enum { DIFFERENCES = 6 };

typedef struct panel {
    const lud_compared *what;
    lud_canvas *canvas;
    const lud_theme *theme;
    lud_box inner;
    float y, row, s;
} panel;

static float row_of(const lud_canvas *canvas) {
    return lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 3 * lud_canvas_scale(canvas);
}
static float chart_height(const lud_canvas *canvas) {
    return row_of(canvas) + 62 * lud_canvas_scale(canvas);
}
/* Title and a line for each side. */
static float table_height(const lud_compared *c, const lud_canvas *canvas) {
    return (float)(c->n + 1) * row_of(canvas) + 20 * lud_canvas_scale(canvas);
}

/* ---- returns ---- */

/* An agent's return up to a step, or the mean over agents; steps are asked for upward, then the present one.
 * An episode that is over keeps its return. */
typedef struct return_so_far {
    const lud_player *player;
    int agent, n_agents;
    size_t step;
    double sum;
} return_so_far;

static double reward_at(const return_so_far *r, size_t step) {
    const float *rewards = lud_player_rewards_at(r->player, step);
    double sum = 0;
    if (r->agent >= 0) return (double)rewards[r->agent];
    for (int i = 0; i < r->n_agents; i++) sum += (double)rewards[i];
    return sum / r->n_agents;
}

static bool return_value(void *context, size_t step, double *value) {
    return_so_far *r = context;
    const size_t last = lud_player_known(r->player) - 1;
    if (step > last) step = last;
    if (step < r->step) {
        r->step = 0;
        r->sum = 0;
    }
    while (r->step < step) r->sum += reward_at(r, ++r->step);
    *value = r->sum;
    return true;
}

static return_so_far return_of(const lud_compared *c, int side) {
    return (return_so_far){.player = c->stages[side].player,
                           .agent = c->agent,
                           .n_agents = lud_stage_layout(&c->stages[side])->n_agents};
}

/* The ends of all curves; false where nobody was ever paid. */
static bool return_range(const lud_compared *c, double *low, double *high) {
    bool paid = false;
    *low = *high = 0;
    for (int k = 0; k < c->n; k++) {
        return_so_far r = return_of(c, k);
        for (size_t t = 0; t < lud_player_known(r.player); t++) {
            double value;
            return_value(&r, t, &value);
            paid = paid || value != 0;
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    }
    return paid;
}

float lud_comparison_panel_height(const lud_compared *c, const lud_canvas *canvas, float most) {
    const float row = row_of(canvas), s = lud_canvas_scale(canvas);
    double low, high;
    const float curves = return_range(c, &low, &high) ? chart_height(canvas) + 8 * s : 0;
    const lud_sides sides = lud_stage_sides(c->stages, c->n);
    bool parted = false;
    for (int k = 1; k < c->n; k++) parted = parted || lud_sides_parted(&sides, k) < SIZE_MAX;
    const float parts[] = {table_height(c, canvas), curves,
                           parted ? (float)(DIFFERENCES + 1) * row + 8 * s : 0};
    float height = 0;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (k == 0 || height + parts[k] <= most) height += parts[k];
    return height;
}

static void draw_table(panel *p, lud_box rows[LUD_SIDES]) {
    const lud_compared *c = p->what;
    char text[64];
    const float chip = 4 * p->s;
    if (c->agent >= 0)
        snprintf(text, sizeof text, "Return of agent %d, in step", c->agent);
    else
        snprintf(text, sizeof text, "Returns, in step");
    lud_canvas_text_cut(p->canvas, p->inner.x, p->y, p->inner.w, LUD_TEXT_SMALL, p->theme->accent, text);
    p->y += p->row;
    const lud_sides sides = lud_stage_sides(c->stages, c->n);
    for (int k = 0; k < c->n; k++, p->y += p->row) {
        const float x = p->inner.x, width = p->inner.w, inset = 2 * chip + 7 * p->s;
        rows[k] = (lud_box){x - 6 * p->s, p->y - 2 * p->s, width + 12 * p->s, p->row};
        if (k == c->chosen)
            lud_canvas_round_rect(p->canvas, rows[k], 5 * p->s, lud_faded(p->theme->accent, 0.14f));
        lud_canvas_disc(p->canvas, x + chip, p->y + p->row * 0.5f - 1.5f * p->s, chip,
                        lud_chart_colour(p->theme, k));
        return_so_far r = return_of(c, k);
        double value = 0;
        return_value(&r, lud_player_position(c->stages[k].player), &value);
        snprintf(text, sizeof text, "%.3f", value);
        const float taken = fmaxf(64 * p->s, lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, text));
        lud_canvas_text(p->canvas, x + width - lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, text), p->y,
                        LUD_TEXT_SMALL, p->theme->text, text);
        const char *relation = k == 0 ? "" : lud_sides_same(&sides, k) ? "same state" : "other state";
        const float said = 82 * p->s;
        lud_canvas_text(p->canvas, x + width - taken - said, p->y, LUD_TEXT_SMALL,
                        lud_sides_same(&sides, k) ? p->theme->good : p->theme->bad, relation);
        lud_canvas_text_cut(p->canvas, x + inset, p->y, width - inset - taken - said - 6 * p->s,
                            LUD_TEXT_SMALL, p->theme->text, c->stages[k].who.bytes);
    }
    p->y += 6 * p->s;
}

static void draw_curves(panel *p) {
    const lud_compared *c = p->what;
    double low, high;
    if (!return_range(c, &low, &high)) return;
    const lud_span span = lud_stages_span(c->stages, c->n);
    lud_chart chart = {.length = span.length, .known = span.known, .position = span.position};
    lud_chart_range(&chart, low, high);
    const float height = chart_height(p->canvas);
    lud_chart_begin(&chart, p->canvas, p->theme, (lud_box){p->inner.x, p->y, p->inner.w, height},
                    c->agent >= 0 ? "Its return so far" : "Mean return so far");
    for (int k = c->n - 1; k >= 0; k--) {
        return_so_far r = return_of(c, k);
        lud_chart_curve(&chart, p->canvas, return_value, &r, lud_chart_colour(p->theme, k));
    }
    p->y += height + 8 * p->s;
}

/* How far from where they stand on the first side agents are, for worlds that tell changes in other words. */
static void append_distances(const lud_stage *first, const lud_stage *stage, lud_text *out) {
    const lud_draw_world *kind = stage->drawing->kind;
    const lud_moment from = {.state = lud_player_state(first->player)},
                     to = {.state = lud_player_state(stage->player)};
    for (int i = 0; i < lud_stage_layout(stage)->n_agents; i++) {
        float x, y, u, v;
        kind->agent_position(first->drawing, &from, i, &x, &y);
        kind->agent_position(stage->drawing, &to, i, &u, &v);
        const double distance = hypot((double)(u - x), (double)(v - y));
        if (distance > 0.005) lud_text_append(out, "agent %d stands %.2f away\n", i, distance);
    }
}

/* What is otherwise in the chosen side, of the second where the first is chosen. */
static void draw_differences(panel *p) {
    const lud_compared *c = p->what;
    const int other = c->chosen > 0 ? c->chosen : 1;
    const lud_stage *first = &c->stages[0], *stage = &c->stages[other];
    const lud_sides sides = lud_stage_sides(c->stages, c->n);
    const float bottom = p->inner.y + p->inner.h;
    lud_text text = {0};
    if (p->y + 2 * p->row > bottom || lud_sides_same(&sides, other)) return;
    lud_text_append(&text, "In %s, otherwise than in %s", stage->who.bytes, first->who.bytes);
    lud_canvas_text_cut(p->canvas, p->inner.x, p->y, p->inner.w, LUD_TEXT_SMALL, p->theme->accent,
                        text.failed ? "Differences" : text.bytes);
    p->y += p->row;
    lud_text_clear(&text);
    if (!stage->drawing->kind->whole_cells) append_distances(first, stage, &text);
    if (stage->drawing->kind->describe_change)
        stage->drawing->kind->describe_change(stage->drawing, lud_player_state(first->player),
                                              lud_player_state(stage->player), &text);
    for (char *line = text.failed ? NULL : text.bytes, *end; line && *line && p->y + p->row <= bottom;
         line = end) {
        end = strchr(line, '\n');
        const bool last = p->y + 2 * p->row > bottom && end && end[1];
        if (end) *end++ = 0;
        lud_canvas_text_cut(p->canvas, p->inner.x, p->y, p->inner.w, LUD_TEXT_SMALL, p->theme->text,
                            last ? "and more" : line);
        p->y += p->row;
        if (!end) break;
    }
    lud_canvas_text_done(p->canvas, &text);
}

void lud_comparison_panel_draw(const lud_compared *c, lud_canvas *canvas, const lud_theme *theme, lud_box box,
                               lud_box rows[LUD_SIDES]) {
    const float s = lud_canvas_scale(canvas), pad = 16 * s;
    lud_canvas_round_rect(canvas, box, 10 * s, theme->panel);
    lud_canvas_frame(canvas, box, 10 * s, 1, theme->grid_line);
    panel p = {.what = c,
               .canvas = canvas,
               .theme = theme,
               .inner = {box.x + pad, box.y + 8 * s, box.w - 2 * pad, box.h - 16 * s},
               .y = box.y + 9 * s,
               .row = row_of(canvas),
               .s = s};
    draw_table(&p, rows);
    if (p.y + chart_height(canvas) <= p.inner.y + p.inner.h) draw_curves(&p);
    draw_differences(&p);
}
