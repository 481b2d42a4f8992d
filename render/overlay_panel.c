/* The panel of the overlay: colour bar, bars of the present state, curves over the episode. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/overlay_parts.h"
#include "render/plots/chart.h"

enum { MOST_CHOICES = 9, MOST_CURVES = 7, MOST_COMPARED = 4096 };

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

static bool has_map(const lud_overlay *o) {
    return o->shown & LUD_OVERLAY_VALUES && o->person >= 0 && o->source->goal_value_name &&
           o->drawing->kind->goal_area;
}

static int at_most(int n, int most) {
    return n < most ? n : most;
}

/* Bars of an agent's policy: as many as the agent with the most actions has. */
static int policy_lines(const lud_overlay *o) {
    const lud_layout *layout = &o->drawing->model->layout;
    int n = 0;
    if (!o->source->policy_name || o->drawing->kind->choices) return 0;
    for (int i = 0; i < layout->n_agents; i++)
        if (layout->actions[i].n_discrete > n) n = layout->actions[i].n_discrete;
    return at_most(n, MOST_CHOICES);
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
/* A title and so many bars below it. */
static float list_height(const column *c, int n) {
    return n ? (float)(n + 1) * c->row + 6 * c->s : 0;
}
static float bars_height(const lud_overlay *o, const column *c) {
    float lists =
        list_height(c, at_most(o->source->n_choices, MOST_CHOICES)) + list_height(c, policy_lines(o));
    float height = (float)o->source->n_quantities * c->row + lists;
    return height > 0 ? height + (lists > 0 ? 12 : 8) * c->s : 0;
}
static float numbers_height(const lud_overlay *o, const column *c) {
    return o->source->agent_numbers ? c->row + 62 * c->s : 0;
}
static float chart_height(const column *c) {
    return c->row + 44 * c->s;
}

float lud_overlay_panel_height(const lud_overlay *o, const lud_canvas *canvas) {
    column c = {.s = text_scale(canvas), .row = row_height(canvas)};
    float height = 0;
    if (has_map(o)) height += map_height(&c);
    if (o->shown & LUD_OVERLAY_BARS) height += bars_height(o, &c) + numbers_height(o, &c);
    if (o->shown & LUD_OVERLAY_TRACE) height += (float)count_charts(o) * chart_height(&c);
    return height > 0 ? height + 24 * c.s : 0;
}

/* What a line stands for is said when it is pointed at. */
static void explain(const column *c, float y, float height, const char *about) {
    if (about) lud_canvas_hint(c->canvas, (lud_box){c->x, y, c->width, height}, about);
}

/* ---- colour bar ---- */

static void draw_colour_bar(const lud_overlay *o, column *c) {
    const float top = c->y;
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
    explain(c, top, c->y - top, o->source->goal_value_about);
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

/* Choices and how likely each is, as bars below a title. */
typedef struct choice_list {
    const char *title;
    int n;
    const double *p;   /* [n] */
    const char *about; /* or null */
    const char *const *names;
    lud_rgba colour;
    bool told_apart; /* each has the colour of its curve */
    float name_width;
} choice_list;

/* The likeliest choices first when not all of them have room; in their own order otherwise. */
static int next_choice(const choice_list *list, int shown, int room, const bool *used) {
    if (list->n <= room) return shown;
    int best = -1;
    for (int k = 0; k < list->n && k < MOST_COMPARED; k++)
        if (!used[k] && (best < 0 || list->p[k] > list->p[best])) best = k;
    return best;
}

static void draw_choices(column *c, const choice_list *list) {
    c->y += 6 * c->s;
    if (c->y + c->row <= c->bottom)
        lud_canvas_text_cut(c->canvas, c->x, c->y, c->width, LUD_TEXT_SMALL, c->theme->muted, list->title);
    c->y += c->row;
    bool used[MOST_COMPARED] = {false};
    float room = fmaxf(0, floorf((c->bottom - c->y) / c->row));
    int n = (int)fminf((float)at_most(list->n, MOST_CHOICES), room);
    for (int shown = 0; shown < n; shown++) {
        int k = next_choice(list, shown, n, used);
        if (k < 0) break;
        if (k < MOST_COMPARED) used[k] = true;
        char number[24];
        snprintf(number, sizeof number, "%.3f", list->p[k]);
        explain(c, c->y, c->row, list->about);
        draw_bar(c, list->names[k], list->p[k], 1, number,
                 list->told_apart ? lud_chart_colour(c->theme, k) : list->colour, list->name_width);
    }
}

static float widest(const column *c, const char *const *names, int n, float width) {
    for (int k = 0; k < n && k < 64; k++)
        width = fmaxf(width, lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, names[k]));
    return width;
}

static void draw_quantities(lud_overlay *o, column *c, const lud_player *player, const double *row,
                            float name_width) {
    const lud_overlay_source *source = o->source;
    char number[24];
    for (int q = 0, in_group = 0; q < source->n_quantities; q++) {
        const lud_overlay_quantity *quantity = &source->quantities[q];
        in_group = q && !strcmp(quantity->group, source->quantities[q - 1].group) ? in_group + 1 : 0;
        double most = quantity->unit ? quantity->most : largest(o, player, q);
        explain(c, c->y, c->row, quantity->about);
        draw_bar(c, quantity->name, row[q], most, number_text(row[q], number),
                 lud_chart_colour(c->theme, in_group), name_width);
    }
}

/* The policy of the selected agent, else of the first that has one in this state. Agents have the colours of
 * their arrows. */
static bool find_policy(lud_overlay *o, const column *c, const lud_player *player, choice_list *list,
                        char title[96]) {
    const lud_layout *layout = &o->drawing->model->layout;
    if (!policy_lines(o)) return false;
    for (int i = o->agent >= 0 ? o->agent : 0; i < layout->n_agents && !list->p; i++) {
        list->p = lud_overlay_policy(o, lud_player_state(player), lud_player_hidden(player), i,
                                     lud_player_goal(player, i));
        list->n = layout->actions[i].n_discrete;
        list->names = layout->actions[i].names;
        list->colour = layout->roles[i] == LUD_ROLE_HUMAN ? c->theme->caution : c->theme->accent;
        snprintf(title, 96, layout->n_agents > 1 ? "%s, agent %d" : "%s", o->source->policy_name, i);
        if (o->agent >= 0) break;
    }
    list->title = title;
    return list->p && list->names;
}

static void draw_bars(lud_overlay *o, column *c, const lud_player *player) {
    const lud_overlay_source *source = o->source;
    for (size_t k = 0; source->restart && k < lud_player_position(player); k++)
        (void)lud_overlay_row(o, lud_player_state_at(player, k), k);
    const double *row = lud_overlay_row(o, lud_player_state(player), lud_player_position(player));
    char title[96];
    choice_list policy = {0};
    bool has_policy = find_policy(o, c, player, &policy, title);
    float name_width = has_policy ? widest(c, policy.names, policy.n, 0) : 0;
    for (int q = 0; q < source->n_quantities; q++)
        name_width =
            fmaxf(name_width, lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, source->quantities[q].name));
    name_width =
        fminf(widest(c, source->choice_names, source->n_choices, name_width) + 12 * c->s, c->width * 0.42f);
    if (!row && !has_policy) {
        lud_canvas_text_cut(c->canvas, c->x, c->y, c->width, LUD_TEXT_SMALL, c->theme->muted,
                            "nothing is known about this state");
        c->y += bars_height(o, c);
        return;
    }
    if (row) draw_quantities(o, c, player, row, name_width);
    if (row && source->n_choices)
        draw_choices(c, &(choice_list){.title = source->choice_name,
                                       .about = source->choice_about,
                                       .n = source->n_choices,
                                       .p = row + source->n_quantities,
                                       .names = source->choice_names,
                                       .colour = c->theme->accent,
                                       .told_apart = source->n_choices <= MOST_CURVES,
                                       .name_width = name_width});
    policy.name_width = name_width;
    float below = c->y + list_height(c, policy_lines(o)); /* the same whoever is selected */
    if (has_policy) draw_choices(c, &policy);
    c->y = below + 12 * c->s;
}

/* A column for every agent, in their order, upward for numbers above zero; all of them have room. */
static void draw_agent_numbers(lud_overlay *o, column *c, const lud_player *player) {
    const int n = o->drawing->model->layout.n_agents;
    const double most = lud_overlay_find_numbers(o, lud_player_before(player), lud_player_actions(player),
                                                 lud_player_rewards(player), lud_player_state(player));
    const float high = 50 * c->s, each = c->width / (float)n,
                thick = fmaxf(1, fminf(each * 0.72f, 14 * c->s));
    if (!o->source->agent_numbers || c->y + numbers_height(o, c) > c->bottom) return;
    char title[96], number[24];
    snprintf(title, sizeof title, "%s of agents 0 to %d, at most %s", o->source->agent_number_name, n - 1,
             number_text(most, number));
    lud_canvas_text_cut(c->canvas, c->x, c->y, c->width, LUD_TEXT_SMALL, c->theme->muted, title);
    c->y += c->row;
    const float zero = roundf(c->y + high * 0.5f);
    lud_canvas_rect(c->canvas, (lud_box){c->x, zero, c->width, 1}, c->theme->grid_line);
    for (int i = 0; i < n && most > 0; i++) {
        if (!isfinite(o->numbers[i])) continue;
        const float length = fmaxf(1, (float)(fabs(o->numbers[i]) / most) * high * 0.5f);
        const lud_box bar = {c->x + ((float)i + 0.5f) * each - 0.5f * thick,
                             o->numbers[i] < 0 ? zero + 1 : zero - length, thick, length};
        const lud_rgba colour = o->numbers[i] < 0 ? c->theme->bad : c->theme->good;
        lud_canvas_rect(c->canvas, bar, i == o->agent || o->agent < 0 ? colour : lud_faded(colour, 0.45f));
    }
    c->y += high + 12 * c->s;
}

/* ---- curves ---- */

/* One column of the overlay's rows, as a curve. */
typedef struct curve {
    lud_overlay *overlay;
    const lud_player *player;
    int column;
} curve;

static bool curve_value(void *context, size_t step, double *value) {
    const curve *at = context;
    const double *row = lud_overlay_row(at->overlay, lud_player_state_at(at->player, step), step);
    if (row) *value = row[at->column];
    return row != NULL;
}

/* Charts stand one below the other, or in two columns where that gives too little room. */
typedef struct rack {
    float x, y, width, height; /* of the next chart */
    int n, columns;
    float gap;
} rack;

/* The place of the next chart; false when there is no room. */
static bool begin_chart(column *c, rack *r, lud_chart *chart, const char *title) {
    if (r->y + r->height > c->bottom + 1) return false;
    lud_box area = {r->x, r->y, r->width, r->height - 10 * c->s};
    lud_chart_begin(chart, c->canvas, c->theme, area, title);
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
static lud_chart chart_of(lud_overlay *o, const lud_player *player, int begin, int n, size_t length) {
    lud_chart chart = {.low = 0,
                       .high = 1,
                       .length = length,
                       .known = lud_player_known(player),
                       .position = lud_player_position(player)};
    if (n == 0) return chart; /* probabilities */
    const lud_overlay_quantity *quantity = &o->source->quantities[begin];
    chart.high = quantity->most;
    if (quantity->unit) return chart;
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < lud_player_known(player); k++) {
        const double *row = lud_overlay_row(o, lud_player_state_at(player, k), k);
        for (int i = 0; row && i < n; i++) {
            low = fmin(low, row[begin + i]);
            high = fmax(high, row[begin + i]);
        }
    }
    lud_chart_range(&chart, low, high);
    return chart;
}

static void explain_chart(const column *c, const lud_chart *chart, const char *about) {
    const lud_box box = chart->box;
    if (about)
        lud_canvas_hint(c->canvas, (lud_box){box.x, box.y - 2 * c->row, box.w, box.h + 2 * c->row}, about);
}

static void draw_trace(lud_overlay *o, column *c, const lud_player *player, size_t length) {
    lud_overlay_source *source = o->source;
    rack r = divide(o, c);
    curve line = {.overlay = o, .player = player};
    for (int q = 0; q < source->n_quantities;) {
        int n = group_size(source, q);
        lud_chart chart = chart_of(o, player, q, n, length);
        if (!begin_chart(c, &r, &chart, source->quantities[q].group)) return;
        explain_chart(c, &chart, source->quantities[q].about);
        for (int i = n - 1; i >= 0; i--) {
            line.column = q + i;
            lud_chart_curve(&chart, c->canvas, curve_value, &line, lud_chart_colour(c->theme, i));
        }
        q += n;
    }
    lud_chart chart = chart_of(o, player, 0, 0, length);
    if (!source->n_choices || !begin_chart(c, &r, &chart, source->choice_group)) return;
    explain_chart(c, &chart, source->choice_about);
    bool told_apart = source->n_choices <= MOST_CURVES;
    for (int k = source->n_choices - 1; k >= 0; k--) {
        line.column = source->n_quantities + k;
        lud_chart_curve(&chart, c->canvas, curve_value, &line,
                        told_apart ? lud_chart_colour(c->theme, k) : lud_faded(c->theme->accent, 0.6f));
    }
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
    if (o->shown & LUD_OVERLAY_BARS && bars_height(o, &c) > 0) draw_bars(o, &c, player);
    if (o->shown & LUD_OVERLAY_BARS) draw_agent_numbers(o, &c, player);
    if (o->shown & LUD_OVERLAY_TRACE) draw_trace(o, &c, player, length);
}
