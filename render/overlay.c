#include "render/overlay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/overlay_parts.h"

/* ---- making ---- */

lud_status lud_overlay_create(lud_overlay_source *source, lud_drawing *drawing, lud_overlay **overlay,
                              lud_error *error) {
    const lud_model *model = drawing->model;
    lud_box extent = drawing->kind->extent(drawing);
    int most_actions = 1, most_goals = 1;
    for (int i = 0; i < model->layout.n_agents; i++) {
        int n_actions = model->layout.actions[i].n_discrete;
        int n_goals = model->world->n_goals ? model->world->n_goals(model, i) : 0;
        if (n_actions > most_actions) most_actions = n_actions;
        if (n_goals > most_goals) most_goals = n_goals;
    }
    lud_overlay *o = calloc(1, sizeof *o);
    if (o) {
        o->source = source;
        o->drawing = drawing;
        o->shown = LUD_OVERLAY_ALL;
        o->person = o->agent = -1;
        o->width = (int)ceilf(extent.w);
        o->height = (int)ceilf(extent.h);
        o->state_bytes = model->layout.state_bytes;
        o->goal_values = calloc((size_t)most_goals, sizeof *o->goal_values);
        o->goal_areas = calloc((size_t)most_goals, sizeof *o->goal_areas);
        o->actions = calloc((size_t)most_actions, sizeof *o->actions);
        o->numbers = calloc((size_t)model->layout.n_agents + 1, sizeof *o->numbers);
        o->cell_goal = calloc((size_t)o->width * (size_t)o->height + 1, sizeof *o->cell_goal);
    }
    if (!o || !o->goal_values || !o->goal_areas || !o->actions || !o->numbers || !o->cell_goal) {
        if (o)
            lud_overlay_destroy(o);
        else
            lud_overlay_source_destroy(source);
        return lud_no_memory(error, "the overlay");
    }
    for (int i = 0; i < model->layout.n_agents && o->person < 0; i++)
        if (model->layout.roles[i] == LUD_ROLE_HUMAN) o->person = i;
    *overlay = o;
    return LUD_OK;
}

void lud_overlay_destroy(lud_overlay *overlay) {
    if (!overlay) return;
    lud_overlay_source_destroy(overlay->source);
    LUD_FREE(overlay->goal_values, overlay->goal_areas, overlay->actions, overlay->numbers,
             overlay->cell_goal, overlay->row_state, overlay->row_kind, overlay->rows, overlay);
}

int lud_overlay_shown(const lud_overlay *overlay) {
    return overlay->shown;
}
void lud_overlay_show(lud_overlay *overlay, int parts) {
    overlay->shown = parts & LUD_OVERLAY_ALL;
}

void lud_overlay_select(lud_overlay *overlay, const uint8_t *state, int agent) {
    lud_overlay_source *source = overlay->source;
    overlay->agent = agent;
    if (agent < 0 || agent == overlay->person || !source->goal_values) return;
    if (source->goal_values(source, state, agent, overlay->goal_values)) overlay->person = agent;
}

bool lud_overlay_attention(lud_overlay *overlay, const uint8_t *state, int agent, float *weights) {
    lud_overlay_source *source = overlay->source;
    return overlay->shown & LUD_OVERLAY_EDGES && source->attention &&
           source->attention(source, state, agent, weights);
}

const double *lud_overlay_policy(lud_overlay *o, const uint8_t *state, const uint8_t *hidden, int agent,
                                 int goal) {
    lud_overlay_source *source = o->source;
    bool shown = o->shown & LUD_OVERLAY_BARS && source->policy_name && source->action_probabilities;
    return shown && o->drawing->model->layout.actions[agent].n_discrete > 0 &&
                   source->action_probabilities(source, state, hidden, agent, goal, o->actions)
               ? o->actions
               : NULL;
}

/* ---- what is known ---- */

static bool make_rows(lud_overlay *o, size_t n) {
    size_t columns = (size_t)(o->source->n_quantities + o->source->n_choices), capacity = n * 2 + 64;
    uint8_t *state = realloc(o->row_state, capacity * o->state_bytes);
    if (state) o->row_state = state;
    uint8_t *kind = realloc(o->row_kind, capacity);
    if (kind) o->row_kind = kind;
    double *rows = realloc(o->rows, capacity * columns * sizeof *rows);
    if (rows) o->rows = rows;
    if (!state || !kind || !rows) return false;
    memset(kind + o->row_capacity, 0, capacity - o->row_capacity);
    o->row_capacity = capacity;
    return true;
}

/* Has the source see the states before a position, where its quantities follow from them; false where they
 * are not known. `row` is room for what it says meanwhile. */
static bool see_earlier(lud_overlay *o, size_t position, double *row) {
    lud_overlay_source *source = o->source;
    if (position > o->n_rows) return false;
    if (o->at != position || position == 0) {
        source->restart(source);
        for (size_t k = 0; k < position; k++)
            (void)source->quantity_values(source, o->row_state + k * o->state_bytes, row);
    }
    /* the episode goes another way from here on */
    memset(o->row_kind + position, 0, o->row_capacity - position);
    o->n_rows = o->at = position + 1;
    return true;
}

const double *lud_overlay_row(lud_overlay *o, const uint8_t *state, size_t position) {
    lud_overlay_source *source = o->source;
    size_t columns = (size_t)(source->n_quantities + source->n_choices);
    if (!columns || (position >= o->row_capacity && !make_rows(o, position + 1))) return NULL;
    double *row = o->rows + position * columns;
    uint8_t *kept = o->row_state + position * o->state_bytes, *kind = &o->row_kind[position];
    if (!*kind || memcmp(kept, state, o->state_bytes) != 0) {
        if (source->restart && !see_earlier(o, position, row)) return NULL;
        memcpy(kept, state, o->state_bytes);
        bool known = true;
        if (source->n_quantities) known &= source->quantity_values(source, state, row);
        if (source->n_choices)
            known &= source->choice_probabilities(source, state, row + source->n_quantities);
        *kind = known ? 1 : 2;
    }
    return *kind == 1 ? row : NULL;
}

/* ---- the map of goals' values ---- */

lud_rgba lud_overlay_ramp(const lud_theme *theme, double share) {
    float t = fminf(fmaxf((float)share, 0), 1);
    return lud_mixed(theme->floor, theme->accent, 0.06f + 0.86f * t);
}

static lud_rgba ink_on(lud_rgba face) {
    float light = 0.299f * (float)face.r + 0.587f * (float)face.g + 0.114f * (float)face.b;
    return light > 140 ? (lud_rgba){30, 34, 42, 255} : (lud_rgba){255, 255, 255, 255};
}

/* Asks for the values and finds the goal of every cell: the smallest one that has it. */
static bool find_map(lud_overlay *o, const uint8_t *state) {
    lud_overlay_source *source = o->source;
    const lud_draw_world *kind = o->drawing->kind;
    const lud_model *model = o->drawing->model;
    if (!(o->shown & LUD_OVERLAY_VALUES) || o->person < 0 || !kind->goal_area || !source->goal_values ||
        !model->world->n_goals)
        return false;
    if (!source->goal_values(source, state, o->person, o->goal_values)) return false;
    o->n_goals = model->world->n_goals(model, o->person);
    for (int c = 0; c < o->width * o->height; c++) o->cell_goal[c] = -1;
    for (int g = 0; g < o->n_goals; g++) {
        lud_box *area = &o->goal_areas[g];
        if (!kind->goal_area(o->drawing, o->person, g, area)) {
            *area = (lud_box){0};
            continue;
        }
        for (int y = (int)area->y; y < (int)(area->y + area->h) && y < o->height; y++)
            for (int x = (int)area->x; x < (int)(area->x + area->w) && x < o->width; x++) {
                int32_t *cell = &o->cell_goal[y * o->width + x];
                const lud_box *other = *cell < 0 ? NULL : &o->goal_areas[*cell];
                if (!kind->walkable(o->drawing, state, x, y)) continue;
                if (!other || area->w * area->h < other->w * other->h) *cell = g;
            }
    }
    return true;
}

static int goal_of(const lud_overlay *o, int x, int y) {
    return x < 0 || y < 0 || x >= o->width || y >= o->height ? -1 : o->cell_goal[y * o->width + x];
}

/* Where one goal's cells end and another's begin. */
static void draw_borders(const lud_overlay *o, lud_canvas *canvas, const lud_theme *theme, lud_box cell,
                         int x, int y) {
    int goal = goal_of(o, x, y);
    float t = fmaxf(1, roundf(cell.w * 0.03f));
    lud_rgba colour = lud_mixed(theme->accent, theme->text, 0.15f);
    if (goal_of(o, x - 1, y) != goal) lud_canvas_rect(canvas, (lud_box){cell.x, cell.y, t, cell.h}, colour);
    if (goal_of(o, x, y - 1) != goal) lud_canvas_rect(canvas, (lud_box){cell.x, cell.y, cell.w, t}, colour);
    if (goal_of(o, x + 1, y) != goal)
        lud_canvas_rect(canvas, (lud_box){cell.x + cell.w - t, cell.y, t, cell.h}, colour);
    if (goal_of(o, x, y + 1) != goal)
        lud_canvas_rect(canvas, (lud_box){cell.x, cell.y + cell.h - t, cell.w, t}, colour);
}

static lud_box cell_box(const lud_camera *camera, int x, int y) {
    lud_box box = {.w = camera->scale, .h = camera->scale};
    lud_camera_to_screen(camera, (float)x, (float)y, &box.x, &box.y);
    return box;
}

void lud_overlay_draw_ground(lud_overlay *o, lud_canvas *canvas, const lud_theme *theme,
                             const lud_camera *camera, const lud_moment *moment) {
    if (!find_map(o, moment->state)) return;
    for (int y = 0; y < o->height; y++)
        for (int x = 0; x < o->width; x++) {
            int goal = goal_of(o, x, y);
            if (goal < 0) continue;
            lud_box box = cell_box(camera, x, y);
            lud_rgba face = lud_overlay_ramp(theme, o->goal_values[goal] / o->source->goal_value_most);
            lud_canvas_rect(canvas, box, lud_faded(face, 0.9f));
            lud_canvas_rect(canvas, (lud_box){box.x, box.y, box.w, 1}, lud_faded(theme->floor, 0.35f));
            lud_canvas_rect(canvas, (lud_box){box.x, box.y, 1, box.h}, lud_faded(theme->floor, 0.35f));
            draw_borders(o, canvas, theme, box, x, y);
        }
}

/* Whether something is drawn in the cell that a number there would hide. */
static bool occupied(const lud_overlay *o, const lud_moment *moment, int x, int y) {
    const lud_draw_world *kind = o->drawing->kind;
    for (int i = 0; i < o->drawing->model->layout.n_agents; i++) {
        float ax, ay;
        kind->agent_position(o->drawing, moment, i, &ax, &ay);
        float aside = fabsf(ax - (float)x - 0.5f), above = fabsf(ay - (float)y - 0.5f);
        if (aside < 0.95f && above < 0.95f) return true;
        /* an arrow may reach into the next cell */
        if (o->shown & LUD_OVERLAY_ARROWS && fminf(aside, above) < 0.5f && fmaxf(aside, above) < 1.5f)
            return true;
    }
    return !kind->vacant(o->drawing, moment->state, x, y);
}

/* A goal's number stands once, in the free cell nearest to the middle of its cells. */
static void draw_number(const lud_overlay *o, lud_canvas *canvas, const lud_theme *theme,
                        const lud_camera *camera, const lud_moment *moment, int goal) {
    float middle_x = 0, middle_y = 0, best = INFINITY;
    int n = 0, at_x = -1, at_y = -1;
    for (int c = 0; c < o->width * o->height; c++)
        if (o->cell_goal[c] == goal) {
            middle_x += (float)(c % o->width);
            middle_y += (float)(c / o->width);
            n++;
        }
    if (!n) return;
    for (int c = 0; c < o->width * o->height; c++) {
        if (o->cell_goal[c] != goal) continue;
        int x = c % o->width, y = c / o->width;
        float distance = hypotf((float)x - middle_x / (float)n, (float)y - middle_y / (float)n) +
                         (occupied(o, moment, x, y) ? 1000.0f : 0.0f);
        if (distance >= best) continue;
        best = distance;
        at_x = x;
        at_y = y;
    }
    char text[16];
    snprintf(text, sizeof text, "%.2f", o->goal_values[goal]);
    lud_box box = cell_box(camera, at_x, at_y);
    float width = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, text),
          row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    if (width + 8 > box.w || row + 4 > box.h) return;
    lud_rgba face = lud_overlay_ramp(theme, o->goal_values[goal] / o->source->goal_value_most);
    if (best < 1000) {
        lud_canvas_text(canvas, box.x + (box.w - width) * 0.5f, box.y + (box.h - row) * 0.5f, LUD_TEXT_SMALL,
                        ink_on(face), text);
        return;
    }
    /* something is there: a label in the corner */
    lud_box label = {box.x + box.w - width - 10, box.y + box.h - row - 2, width + 8, row};
    lud_canvas_round_rect(canvas, label, row * 0.5f, lud_faded(face, 0.95f));
    lud_canvas_text(canvas, label.x + 4, label.y, LUD_TEXT_SMALL, ink_on(face), text);
}

/* ---- arrows ---- */

typedef struct pen {
    lud_canvas *canvas;
    lud_rgba colour, edge;
    float x, y, s; /* the agent's middle and the side of a cell, in pixels */
} pen;

/* A head at (x, y) that points along (dx, dy), of half width `half`. */
static void draw_head(const pen *p, float x, float y, float dx, float dy, float half) {
    for (int pass = 0; pass < 2; pass++) {
        float h = pass ? half : half + p->s * 0.022f, back = h * 0.55f;
        const float points[3][2] = {{x + dx * h * 1.15f, y + dy * h * 1.15f},
                                    {x - dx * back - dy * h, y - dy * back + dx * h},
                                    {x - dx * back + dy * h, y - dy * back - dx * h}};
        lud_canvas_polygon(p->canvas, points, 3, pass ? p->colour : p->edge);
    }
}

static void draw_straight(const pen *p, float dx, float dy, float aside, float from, float length, bool dot) {
    float thick = fmaxf(2, p->s * 0.055f), halo = fmaxf(1, p->s * 0.02f);
    float x0 = p->x + (dx * from - dy * aside) * p->s, y0 = p->y + (dy * from + dx * aside) * p->s;
    float x1 = x0 + dx * length * p->s, y1 = y0 + dy * length * p->s;
    lud_canvas_line(p->canvas, x0, y0, x1, y1, thick + 2 * halo, p->edge);
    if (dot) {
        float radius = p->s * (0.035f + 0.035f * length / 0.5f);
        lud_canvas_disc(p->canvas, x1, y1, radius + halo, p->edge);
        lud_canvas_line(p->canvas, x0, y0, x1, y1, thick, p->colour);
        lud_canvas_disc(p->canvas, x1, y1, radius, p->colour);
        return;
    }
    draw_head(p, x1, y1, dx, dy, p->s * (0.055f + 0.045f * length / 0.62f));
    lud_canvas_line(p->canvas, x0, y0, x1, y1, thick, p->colour);
}

/* An arc round the agent; `head` where it turns to, none when it stays. */
static void draw_round(const pen *p, float from, float sweep, bool head) {
    float radius = 0.47f * p->s, thick = fmaxf(2, p->s * 0.055f), halo = fmaxf(1, p->s * 0.02f);
    float low = sweep < 0 ? from + sweep : from, wide = fabsf(sweep), over = halo / radius;
    lud_canvas_arc(p->canvas, p->x, p->y, radius + thick * 0.5f + halo, thick + 2 * halo, low - over,
                   wide + 2 * over, p->edge);
    float end = from + sweep, sign = sweep < 0 ? -1.0f : 1.0f;
    if (head)
        draw_head(p, p->x + radius * cosf(end), p->y + radius * sinf(end), -sinf(end) * sign,
                  cosf(end) * sign, p->s * (0.05f + 0.04f * wide / 1.15f));
    lud_canvas_arc(p->canvas, p->x, p->y, radius + thick * 0.5f, thick, low, wide, p->colour);
}

static void draw_action(const pen *p, const lud_action_sign *sign, float probability) {
    const float pi = 3.14159265f, least = 0.02f;
    if (probability < least) return;
    float facing = atan2f(sign->dy, sign->dx);
    switch (sign->shape) {
    case LUD_ACTION_MOVE:
        draw_straight(p, sign->dx, sign->dy, 0, 0.40f, 0.62f * probability, false);
        break;
    case LUD_ACTION_USE: /* beside the arrow of a move, on its own lane */
        draw_straight(p, sign->dx, sign->dy, sign->lane, 0.36f, 0.5f * probability, true);
        break;
    case LUD_ACTION_TURN:
        draw_round(p, facing + sign->turn * 0.38f, sign->turn * probability * 1.15f, true);
        break;
    case LUD_ACTION_STAY: /* behind the agent's back */
        draw_round(p, facing + pi - 0.62f * probability, 1.24f * probability, false);
        break;
    case LUD_ACTION_UNSEEN:
        break;
    }
}

static void draw_arrows(lud_overlay *o, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                        const lud_moment *moment) {
    const lud_draw_world *kind = o->drawing->kind;
    const lud_layout *layout = &o->drawing->model->layout;
    lud_overlay_source *source = o->source;
    if (!(o->shown & LUD_OVERLAY_ARROWS) || !kind->action_sign || !source->action_probabilities) return;
    for (int i = 0; i < layout->n_agents; i++) {
        int goal = moment->goals ? moment->goals[i] : -1;
        if (!source->action_probabilities(source, moment->state, moment->hidden, i, goal, o->actions))
            continue;
        pen p = {.canvas = canvas,
                 .colour = layout->roles[i] == LUD_ROLE_HUMAN ? theme->caution : theme->accent,
                 .edge = (lud_rgba){30, 34, 42, 255},
                 .s = camera->scale};
        if (layout->roles[i] != LUD_ROLE_HUMAN) p.edge = (lud_rgba){255, 255, 255, 255};
        float x, y;
        kind->agent_position(o->drawing, moment, i, &x, &y);
        lud_camera_to_screen(camera, x, y, &p.x, &p.y);
        for (int a = 0; a < layout->actions[i].n_discrete; a++) {
            lud_action_sign sign = kind->action_sign(o->drawing, moment->state, i, a);
            draw_action(&p, &sign, (float)o->actions[a]);
        }
    }
}

bool lud_overlay_agent_text(lud_overlay *overlay, const uint8_t *state, int agent, lud_text *read,
                            lud_text *written) {
    lud_overlay_source *source = overlay->source;
    return source->agent_text && source->agent_text(source, state, agent, read, written);
}

double lud_overlay_find_numbers(lud_overlay *o, const uint8_t *before, const int32_t *actions,
                                const float *rewards, const uint8_t *after) {
    lud_overlay_source *source = o->source;
    double most = 0;
    if (!(o->shown & LUD_OVERLAY_BARS) || !source->agent_numbers || !before || !actions || !rewards) return 0;
    if (!source->agent_numbers(source, before, actions, rewards, after, o->numbers)) return 0;
    for (int i = 0; i < o->drawing->model->layout.n_agents; i++)
        if (isfinite(o->numbers[i])) most = fmax(most, fabs(o->numbers[i]));
    return most;
}

/* A bar below each agent, the longest as wide as a cell, to the right for numbers above zero. */
static void draw_agent_numbers(lud_overlay *o, lud_canvas *canvas, const lud_theme *theme,
                               const lud_camera *camera, const lud_moment *moment) {
    const double most =
        lud_overlay_find_numbers(o, moment->came_from, moment->actions, moment->rewards, moment->state);
    const float s = camera->scale, high = fmaxf(2, roundf(s * 0.085f));
    for (int i = 0; i < o->drawing->model->layout.n_agents && most > 0; i++) {
        float x, y, px, py;
        if (!isfinite(o->numbers[i])) continue;
        o->drawing->kind->agent_position(o->drawing, moment, i, &x, &y);
        lud_camera_to_screen(camera, x, y, &px, &py);
        const float width = 0.45f * s * (float)(fabs(o->numbers[i]) / most);
        const lud_box back = {px - 0.47f * s, py + 0.40f * s, 0.94f * s, high + 2};
        lud_canvas_round_rect(canvas, back, high * 0.5f, lud_faded(theme->panel, 0.8f));
        lud_canvas_rect(canvas,
                        (lud_box){o->numbers[i] < 0 ? px - width : px, back.y + 1, fmaxf(1, width), high},
                        o->numbers[i] < 0 ? theme->bad : theme->good);
    }
}

void lud_overlay_draw_top(lud_overlay *o, lud_canvas *canvas, const lud_theme *theme,
                          const lud_camera *camera, const lud_moment *moment) {
    draw_arrows(o, canvas, theme, camera, moment);
    draw_agent_numbers(o, canvas, theme, camera, moment);
    if (find_map(o, moment->state)) /* last, to be read whatever lies there */
        for (int g = 0; g < o->n_goals; g++) draw_number(o, canvas, theme, camera, moment, g);
}
