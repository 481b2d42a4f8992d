#include "render/viewer/panels/inspector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "render/plots/chart.h"

/* Where the next line goes. */
typedef struct cursor {
    const lud_inspected *what;
    const lud_stage *stage;
    const lud_layout *layout;
    int selected; /* agent, -1: none */
    lud_canvas *canvas;
    const lud_theme *theme;
    float x, y, width, row, s;
    float bottom; /* of what is seen without scrolling */
    bool rows;    /* agents have a row each; else they stand side by side */
} cursor;

/* A text on as many lines as it needs. */
static void wrapped(cursor *c, float x, float width, float row, lud_text_size size, lud_rgba colour,
                    const char *text) {
    c->y += row * (float)lud_canvas_text_wrapped(c->canvas, x, c->y, width, row, size, colour, text);
}

static void heading(cursor *c, const char *text) {
    wrapped(c, c->x, c->width, lud_canvas_line_height(c->canvas, LUD_TEXT_LARGE), LUD_TEXT_LARGE,
            c->theme->text, text);
    c->y += 2 * c->s;
}

static void small_heading(cursor *c, const char *text) {
    c->y += 8 * c->s;
    wrapped(c, c->x, c->width, c->row, LUD_TEXT_SMALL, c->theme->accent, text);
}

static void paragraph(cursor *c, const char *text) {
    wrapped(c, c->x, c->width, c->row, LUD_TEXT_SMALL, c->theme->muted, text);
    c->y += 4 * c->s;
}

static void lines(cursor *c, const char *text) {
    wrapped(c, c->x, c->width, c->row, LUD_TEXT_SMALL, c->theme->text, text);
}

/* A name and its value beside it; both go on below where they are long. */
static void pair(cursor *c, const char *name, const char *value) {
    const float column = fminf(112 * c->s, c->width * 0.45f), top = c->y;
    wrapped(c, c->x, column - 6, c->row, LUD_TEXT_SMALL, c->theme->muted, name);
    const float below = c->y;
    c->y = top;
    wrapped(c, c->x + column, c->width - column, c->row, LUD_TEXT_SMALL, c->theme->text, value);
    c->y = fmaxf(fmaxf(c->y, below), top + c->row);
}

/* Lines `name<tab>value`; a line without a tab is a heading. */
static void pairs(cursor *c, char *text) {
    for (char *line = text, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end) *end++ = 0;
        char *tab = strchr(line, '\t');
        if (tab) {
            *tab = 0;
            pair(c, line, tab + 1);
        } else {
            heading(c, line);
        }
    }
}

/* What an action of an agent is in a state. */
static void append_action(const cursor *c, const uint8_t *state, int agent, int32_t action, lud_text *out) {
    const lud_model *model = c->stage->scenario->model;
    const lud_action_space *space = &c->layout->actions[agent];
    bool named = space->names && action >= 0 && action < space->n_discrete;
    const size_t length = out->length;
    if (model->world->describe_action) model->world->describe_action(model, state, agent, action, out);
    if (out->length > length) return;
    lud_text_append(out, "%s", named && !model->world->describe_action ? space->names[action] : "-");
}

/* What an agent did last; `none` where it did nothing yet. */
static void append_last_action(const cursor *c, int agent, const char *none, lud_text *out) {
    const int32_t *actions = lud_player_actions(c->stage->player);
    if (actions)
        append_action(c, lud_player_before(c->stage->player), agent, actions[agent], out);
    else
        lud_text_append(out, "%s", none);
}

/* The keys of an agent that was taken over: those of its actions by name, or its choices by number. */
static void draw_keys(cursor *c, int agent) {
    const lud_model *model = c->stage->scenario->model;
    const uint8_t *state = lud_player_state(c->stage->player);
    lud_text keys = {0}, choice = {0};
    small_heading(c, "You act: your keys");
    if (!model->world->describe_action) lud_takeover_keys(c->layout, agent, &keys);
    for (int a = 0; model->world->describe_action && a < 9; a++) {
        lud_text_clear(&choice);
        if (!model->world->describe_action(model, state, agent, a, &choice)) break;
        lud_text_append(&keys, "%d\t%s\n", a + 1, choice.bytes ? choice.bytes : "");
    }
    if (keys.bytes) pairs(c, keys.bytes);
    lud_canvas_text_done(c->canvas, &keys);
    lud_canvas_text_done(c->canvas, &choice);
}

/* The world's small picture of an agent; a disc where it draws none. */
static void portrait(const cursor *c, int agent, float x, float y, int side) {
    const lud_draw_world *kind = c->stage->drawing->kind;
    const float half = 0.5f * (float)side;
    if (kind->portrait)
        kind->portrait(c->stage->drawing, c->canvas, lud_player_state(c->stage->player), agent, x, y, side);
    else
        lud_canvas_disc(c->canvas, x + half, y + half, half, c->theme->colours[agent % 7]);
}

/* The parts of the last reward and of all so far, those that ever paid. */
static void draw_components(cursor *c, int agent) {
    double last[32], sum[32];
    const int n = c->layout->n_components;
    if (n == 0 || n > 32) return;
    lud_player_components(c->stage->player, agent, last, sum);
    for (int k = 0; k < n; k++) {
        char number[64];
        if (sum[k] == 0 && last[k] == 0) continue;
        snprintf(number, sizeof number, "%+.3g (%.3g in all)", last[k], sum[k]);
        pair(c, c->layout->components[k], number);
    }
}

/* What an agent that reads and writes was told when it chose its last action, and what it answered. */
static void draw_exchange(cursor *c, int agent) {
    const uint8_t *before = lud_player_before(c->stage->player);
    lud_text read = {0}, written = {0};
    if (before && c->stage->overlay &&
        lud_overlay_agent_text(c->stage->overlay, before, agent, &read, &written)) {
        small_heading(c, "It wrote");
        lines(c, written.bytes ? written.bytes : "");
        small_heading(c, "It had read");
        lines(c, read.bytes ? read.bytes : "");
    }
    lud_canvas_text_done(c->canvas, &read);
    lud_canvas_text_done(c->canvas, &written);
}

static void draw_agent(cursor *c, int agent) {
    lud_text text = {0};
    const lud_draw_world *kind = c->stage->drawing->kind;
    if (kind->describe_agent)
        kind->describe_agent(c->stage->drawing, lud_player_state(c->stage->player), agent, &text);
    if (text.bytes) pairs(c, text.bytes);
    lud_text_clear(&text);
    const lud_scenario *scenario = c->stage->scenario;
    int goal = lud_player_goal(c->stage->player, agent);
    if (goal >= 0 && scenario->world->describe_goal) {
        scenario->world->describe_goal(scenario->model, agent, goal, &text);
        pair(c, "goal", text.bytes ? text.bytes : "");
    }
    lud_text_clear(&text);
    append_last_action(c, agent, "-", &text);
    pair(c, "last action", text.bytes ? text.bytes : "");
    lud_canvas_text_done(c->canvas, &text);
    char number[64];
    pair(c, "policy",
         c->what->takeover->taken[agent] ? "you" : lud_cast_get(c->stage->cast, agent)->kind->name);
    const float *rewards = lud_player_rewards(c->stage->player);
    snprintf(number, sizeof number, "%.3g (%.3g in all)", rewards ? (double)rewards[agent] : 0.0,
             lud_player_return(c->stage->player, agent));
    pair(c, "reward", number);
    draw_components(c, agent);
    if (c->what->takeover->taken[agent]) {
        draw_keys(c, agent);
    } else {
        c->y += 4 * c->s;
        paragraph(c, "C  take the controls");
    }
    draw_exchange(c, agent);
}

/* ---- agents ---- */

static float portrait_side(const cursor *c) {
    return 26 * c->s;
}

static void highlight(const cursor *c, int agent, lud_box box) {
    if (agent == c->selected)
        lud_canvas_round_rect(c->canvas, box, 6 * c->s, lud_faded(c->theme->accent, 0.14f));
}

/* A row an agent: portrait, number, who acts, what was done. */
static void draw_agent_rows(cursor *c, float height) {
    float side = portrait_side(c);
    lud_text action = {0};
    for (int i = 0; i < c->layout->n_agents; i++) {
        highlight(c, i, (lud_box){c->x - 6 * c->s, c->y - 2, c->width + 12 * c->s, height});
        portrait(c, i, c->x, c->y, (int)side);
        char text[160];
        snprintf(text, sizeof text, "%d  %s", i,
                 c->what->takeover->taken[i] ? "you" : lud_cast_get(c->stage->cast, i)->kind->name);
        float y = c->y + (side - c->row) * 0.5f;
        lud_canvas_text_cut(c->canvas, c->x + side + 10 * c->s, y, c->width * 0.5f, LUD_TEXT_SMALL,
                            c->theme->text, text);
        lud_text_clear(&action);
        append_last_action(c, i, "", &action);
        const char *name = action.bytes ? action.bytes : "";
        float most = c->width * 0.6f, w = lud_canvas_text_width(c->canvas, LUD_TEXT_SMALL, name);
        if (w <= most)
            lud_canvas_text(c->canvas, c->x + c->width - w, y, LUD_TEXT_SMALL, c->theme->muted, name);
        else
            lud_canvas_text_cut(c->canvas, c->x + c->width - most, y, most, LUD_TEXT_SMALL, c->theme->muted,
                                name);
        c->y += height;
    }
    lud_canvas_text_done(c->canvas, &action);
}

static float chip_width(const cursor *c) {
    return portrait_side(c) + 34 * c->s;
}

static int chips_a_row(const cursor *c) {
    int n = (int)((c->width + 12 * c->s) / chip_width(c));
    return n > 1 ? n : 1;
}

/* Where rows have no room: portraits with numbers, side by side. */
static void draw_agent_chips(cursor *c, float height) {
    float side = portrait_side(c), width = chip_width(c);
    const int a_row = chips_a_row(c), n = c->layout->n_agents;
    for (int i = 0; i < n; i++) {
        float x = c->x + (float)(i % a_row) * width, y = c->y + (float)(i / a_row) * height;
        highlight(c, i, (lud_box){x - 6 * c->s, y - 2, width - 4 * c->s, height});
        portrait(c, i, x, y, (int)side);
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        lud_canvas_text(c->canvas, x + side + 5 * c->s, y + (side - c->row) * 0.5f, LUD_TEXT_SMALL,
                        c->theme->text, text);
    }
    c->y += height * (float)((n + a_row - 1) / a_row);
}

static void draw_agents(cursor *c, lud_inspector *inspector) {
    const float height = portrait_side(c) + 4 * c->s;
    const bool rows = c->rows;
    if (rows)
        small_heading(c, "Agents");
    else
        c->y += 8 * c->s;
    inspector->agents = (lud_box){c->x - 6 * c->s, c->y, c->width + 12 * c->s, 0};
    inspector->row_height = height;
    inspector->agent_width = rows ? inspector->agents.w : chip_width(c);
    inspector->a_row = rows ? 1 : chips_a_row(c);
    if (rows)
        draw_agent_rows(c, height);
    else
        draw_agent_chips(c, height);
    inspector->agents.h = c->y - inspector->agents.y;
}

/* ---- rewards ---- */

/* The sum of an agent's rewards up to a step; steps are asked for upward, then the present one. */
typedef struct return_so_far {
    const lud_player *player;
    int agent;
    size_t step;
    double sum;
} return_so_far;

static bool return_value(void *context, size_t step, double *value) {
    return_so_far *r = context;
    if (step < r->step) {
        r->step = 0;
        r->sum = 0;
    }
    while (r->step < step) r->sum += (double)lud_player_rewards_at(r->player, ++r->step)[r->agent];
    *value = r->sum;
    return true;
}

/* Least and greatest return of an agent; false when it was never rewarded. */
static bool return_range(const lud_player *player, int agent, double *low, double *high) {
    bool rewarded = false;
    double sum = 0;
    for (size_t k = 1; k < lud_player_known(player); k++) {
        double reward = (double)lud_player_rewards_at(player, k)[agent];
        rewarded = rewarded || reward != 0;
        sum += reward;
        *low = fmin(*low, sum);
        *high = fmax(*high, sum);
    }
    return rewarded;
}

/* A chart an agent in two columns, where there is room for all of them; else the selected agent's, or all in
 * one. Nothing in episodes without rewards. */
static void draw_returns(cursor *c) {
    int n = c->layout->n_agents;
    float s = c->s, gap = 16 * s, height = 64 * s;
    double low = 0, high = 0;
    bool rewarded = false;
    for (int i = 0; i < n; i++) rewarded |= return_range(c->stage->player, i, &low, &high);
    if (!rewarded) return;
    const float left = c->bottom - c->y - 8 * s - c->row; /* below the heading, without scrolling */
    const int rows = (n + 1) / 2;
    const bool each = left >= (float)rows * height;
    height = fminf(fmaxf(left / (float)(each ? rows : 1), height), 120 * s);
    bool together = !each && c->selected < 0;
    small_heading(c, together ? "Rewards so far, all agents" : "Rewards so far");
    lud_chart chart = {.length = lud_stage_length(c->stage),
                       .known = lud_player_known(c->stage->player),
                       .position = lud_player_position(c->stage->player)};
    if (!together) {
        float width = each && n > 1 ? (c->width - gap) * 0.5f : c->width;
        for (int i = 0, k = 0; i < n; i++) {
            if (!each && i != c->selected) continue;
            char title[32];
            low = high = 0;
            return_range(c->stage->player, i, &low, &high);
            lud_chart_range(&chart, low, high);
            snprintf(title, sizeof title, "agent %d", i);
            lud_box area = {c->x + (float)(k % 2) * (width + gap), c->y + (float)(k / 2) * height, width,
                            height - 10 * s};
            lud_chart_begin(&chart, c->canvas, c->theme, area, title);
            return_so_far sum = {.player = c->stage->player, .agent = i};
            lud_chart_curve(&chart, c->canvas, return_value, &sum,
                            i == c->selected || c->selected < 0 ? c->theme->accent : c->theme->muted);
            k++;
        }
        c->y += height * (float)(each ? rows : 1);
        return;
    }
    lud_chart_range(&chart, low, high);
    lud_chart_begin(&chart, c->canvas, c->theme, (lud_box){c->x, c->y, c->width, height - 10 * s}, "");
    for (int i = n - 1; i >= 0; i--) {
        return_so_far sum = {.player = c->stage->player, .agent = i};
        lud_chart_curve(&chart, c->canvas, return_value, &sum, lud_chart_colour(c->theme, i));
    }
    c->y += height;
}

/* Lines as one, with semicolons between them. */
static void join_lines(const char *text, lud_text *line) {
    lud_text_clear(line);
    for (const char *at = text; at && *at; at++)
        if (*at != '\n')
            lud_text_append(line, "%c", *at);
        else if (at[1])
            lud_text_append(line, "; ");
}

/* ---- successors ---- */

static void draw_successors(cursor *c) {
    const lud_successor_list *list = c->what->successors;
    const lud_successors *found = &list->found;
    const uint8_t *state = lud_player_state(c->stage->player);
    small_heading(c, "Next, under this joint action");
    if (!lud_successor_list_possible(c->stage)) {
        pair(c, "none", "this world has no exact model");
        return;
    }
    lud_text text = {0}, line = {0};
    for (int i = 0; i < c->layout->n_agents; i++) {
        if (i) lud_text_append(&text, ", ");
        append_action(c, state, i, list->plan[i], &text);
    }
    lines(c, text.bytes ? text.bytes : "");
    if (!found->n) pair(c, "none", "the state is terminal");
    /* likeliest first; few enough to look for the next best each time */
    double last = 2;
    size_t last_index = 0;
    for (size_t shown = 0; shown < found->n; shown++) {
        size_t best = found->n;
        for (size_t k = 0; k < found->n; k++) {
            double p = found->probability[k];
            bool later = p < last || (p == last && k > last_index);
            if (later && (best == found->n || p > found->probability[best])) best = k;
        }
        if (best == found->n) break;
        last = found->probability[best];
        last_index = best;
        lud_text_clear(&text);
        const lud_draw_world *kind = c->stage->drawing->kind;
        if (kind->describe_change)
            kind->describe_change(c->stage->drawing, state, found->states + best * found->state_bytes, &text);
        join_lines(text.bytes, &line);
        float bar = 56 * c->s;
        lud_box box = {c->x, c->y + 3 * c->s, bar, c->row - 4 * c->s};
        lud_canvas_round_rect(c->canvas, box, 3 * c->s, c->theme->grid_line);
        box.w *= (float)last;
        lud_canvas_round_rect(c->canvas, box, 3 * c->s, lud_faded(c->theme->accent, 0.55f));
        char percent[16];
        snprintf(percent, sizeof percent, "%.1f%%", 100 * last);
        lud_canvas_text(c->canvas, c->x + 6 * c->s, c->y, LUD_TEXT_SMALL, c->theme->text, percent);
        const float top = c->y;
        wrapped(c, c->x + bar + 8 * c->s, c->width - bar - 8 * c->s, c->row, LUD_TEXT_SMALL, c->theme->muted,
                line.bytes ? line.bytes : "");
        c->y = fmaxf(c->y, top + c->row) + 3 * c->s;
    }
    lud_canvas_text_done(c->canvas, &line);
    lud_canvas_text_done(c->canvas, &text);
}

/* What is selected, or the scenario. */
static void draw_subject(cursor *c) {
    const lud_scenario *scenario = c->stage->scenario;
    const lud_player *player = c->stage->player;
    const lud_selection *selection = c->what->selection;
    if (c->selected >= 0) {
        draw_agent(c, c->selected);
    } else if (selection->cell) {
        lud_text text = {0};
        const lud_draw_world *kind = c->stage->drawing->kind;
        if (kind->describe_cell)
            kind->describe_cell(c->stage->drawing, lud_player_state(player), selection->cell_x,
                                selection->cell_y, &text);
        if (text.bytes) pairs(c, text.bytes);
        lud_canvas_text_done(c->canvas, &text);
    } else {
        char text[64];
        heading(c, scenario->name ? scenario->name : scenario->world->name);
        if (scenario->about && c->what->about) paragraph(c, scenario->about);
        pair(c, "world", scenario->world->name);
        snprintf(text, sizeof text, "%llu", (unsigned long long)lud_player_seed(player));
        pair(c, "seed", text);
        snprintf(text, sizeof text, "%u", lud_player_episode(player) + 1);
        pair(c, "episode", text);
        pair(c, "state",
             lud_player_over(player) ? "the episode is over"
             : c->what->playing      ? "playing"
                                     : "paused");
        const lud_draw_world *kind = c->stage->drawing->kind;
        if (!kind->legend) return;
        c->y += 8 * c->s;
        const lud_box box = {c->x, c->y, c->width, 1e5f}; /* as high as it likes */
        c->y += kind->legend(c->stage->drawing, c->canvas, c->theme, lud_player_state(player), box);
    }
}

enum { SUBJECT = 1, AGENTS = 2, REST = 4 };

static void draw_parts(cursor *c, lud_inspector *inspector, int parts) {
    if (parts & SUBJECT) draw_subject(c);
    if (parts & AGENTS) draw_agents(c, inspector);
    if (parts & REST && c->what->successors) draw_successors(c);
    if (parts & REST) draw_returns(c);
}

/* The height that parts take. */
static float height_of(cursor c, int parts) {
    lud_inspector ignored = {0};
    const float top = c.y;
    lud_canvas_measure(c.canvas, true);
    draw_parts(&c, &ignored, parts);
    lud_canvas_measure(c.canvas, false);
    return c.y - top;
}

void lud_inspector_draw(lud_inspector *inspector, lud_scroll *scroll, lud_canvas *canvas,
                        const lud_theme *theme, lud_box card, const lud_inspected *what) {
    float s = lud_canvas_scale(canvas), pad = 16 * s;
    lud_canvas_round_rect(canvas, card, 10 * s, theme->panel);
    lud_canvas_frame(canvas, card, 10 * s, 1, theme->grid_line);
    lud_box inner = {card.x + 2, card.y + 12 * s, card.w - 4, card.h - 20 * s};
    cursor c = {.what = what,
                .stage = what->stage,
                .layout = lud_stage_layout(what->stage),
                .selected = what->selection->agent,
                .canvas = canvas,
                .theme = theme,
                .x = card.x + pad,
                .y = inner.y,
                .width = card.w - 2 * pad,
                .bottom = inner.y + inner.h,
                .row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL) + 2 * s,
                .s = s,
                .rows = true};
    int parts = SUBJECT | AGENTS | REST;
    float content = height_of(c, parts);
    if (content > inner.h) { /* agents take less room side by side */
        c.rows = false;
        content = height_of(c, parts);
    }
    const float agents = height_of(c, AGENTS);
    if (content > inner.h && agents <= 0.4f * inner.h) { /* they stay while the rest is scrolled */
        cursor below = c;
        inner.h -= agents + 4 * s;
        below.y = inner.y + inner.h + 4 * s;
        draw_agents(&below, inspector);
        parts = SUBJECT | REST;
        c.bottom = inner.y + inner.h;
        content = height_of(c, parts);
    }
    const float top = c.y;
    c.y = lud_scroll_begin(scroll, canvas, inner, content);
    c.bottom += c.y - top;
    draw_parts(&c, inspector, parts);
    lud_scroll_end(scroll, canvas, theme);
    if (parts & AGENTS) { /* what is scrolled away is not clicked on */
        const float first = fmaxf(inspector->agents.y, inner.y);
        inspector->seen = (lud_box){inner.x, first, inner.w, inner.y + inner.h - first};
    } else {
        inspector->seen = inspector->agents;
    }
}

int lud_inspector_agent_at(const lud_inspector *inspector, int n_agents, float x, float y) {
    if (!lud_box_contains(inspector->agents, x, y) || !lud_box_contains(inspector->seen, x, y)) return -1;
    int row = (int)((y - inspector->agents.y) / inspector->row_height),
        column = (int)((x - inspector->agents.x) / inspector->agent_width),
        agent = row * inspector->a_row + column;
    return column < inspector->a_row && agent < n_agents ? agent : -1;
}
