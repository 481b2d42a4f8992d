#include "render/worlds/draw_tribes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "render/overlay.h"
#include "sim/directions.h"

static const float pi = 3.14159265f;

/* --- Making --- */

static lud_tribes_drawing *drawing_of(lud_drawing *drawing) {
    return (lud_tribes_drawing *)drawing;
}

static void destroy(lud_drawing *drawing) {
    lud_tribes_drawing *d = drawing_of(drawing);
    free(d->map_key);
    free(d->events);
    free(d->at);
    free(d->order);
    free(d);
}

static lud_status create(const lud_model *model, lud_drawing **drawing, lud_error *error) {
    const lud_tribes_model *m = lud_tribes_of(model);
    lud_tribes_drawing *d = calloc(1, sizeof *d);
    if (d) {
        d->drawing = (lud_drawing){&lud_draw_tribes, model};
        d->map_key = calloc((size_t)m->spec.n_maps, sizeof *d->map_key);
        d->events = calloc((size_t)m->n_agents, sizeof *d->events);
        d->at = calloc((size_t)m->n_cells + 1, sizeof *d->at);
        d->order = calloc((size_t)m->n_agents, sizeof *d->order);
    }
    if (!d || !d->map_key || !d->events || !d->at || !d->order) {
        if (d) destroy(&d->drawing);
        return lud_no_memory(error, "drawing the world");
    }
    for (int k = 0; k < m->spec.n_maps; k++)
        d->map_key[k] = XXH3_64bits_withSeed(m->spec.maps[k], (size_t)m->n_cells, (uint64_t)m->spec.width);
    *drawing = &d->drawing;
    return LUD_OK;
}

static lud_box extent(const lud_drawing *drawing) {
    const lud_tribes_spec *spec = &lud_tribes_of(drawing->model)->spec;
    return (lud_box){0, 0, (float)spec->width, (float)spec->height};
}

lud_rgba lud_tribes_colour(const lud_theme *theme, int team) {
    static const int colours[LUD_TRIBES_MAX_TEAMS] = {0, 2, 1, 4, 3, 6}; /* red, blue, green, yellow, ... */
    return theme->colours[colours[team]];
}

lud_sprite lud_tribes_body(int team) {
    static const lud_sprite bodies[LUD_TRIBES_MAX_TEAMS] = {
        LUD_SPRITE_TRIBE_DISC,    LUD_SPRITE_TRIBE_SQUARE,  LUD_SPRITE_TRIBE_TRIANGLE,
        LUD_SPRITE_TRIBE_DIAMOND, LUD_SPRITE_TRIBE_HEXAGON, LUD_SPRITE_TRIBE_STAR};
    return bodies[team];
}

/* --- Motion --- */

static int action_of(const lud_tribes_painter *p, int agent) {
    return p->before && p->moment->actions ? p->moment->actions[agent] : LUD_TRIBES_WAIT;
}

static bool is_shown(const lud_tribes_painter *p, int agent) {
    const uint8_t *shown = p->before && p->progress < 1 ? p->before : p->moment->state;
    return lud_tribes_cell(p->m, shown, agent) != LUD_TRIBES_NOBODY;
}

/* The upper left corner of an agent's cell, in cells, at this moment. */
static void pose_of(const lud_tribes_painter *p, int agent, float *x, float *y) {
    const int width = p->m->spec.width;
    int to = lud_tribes_cell(p->m, p->moment->state, agent);
    int from = p->before ? lud_tribes_cell(p->m, p->before, agent) : to;
    if (to == LUD_TRIBES_NOBODY) to = from;
    if (to == LUD_TRIBES_NOBODY) to = from = 0;
    if (from == LUD_TRIBES_NOBODY) from = to;
    const int dx = to % width - from % width, dy = to / width - from / width;
    const bool steps = abs(dx) + abs(dy) == 1; /* further is no step: it jumps */
    *x = (float)(to % width) - (steps ? (1 - p->progress) * (float)dx : 0);
    *y = (float)(to / width) - (steps ? (1 - p->progress) * (float)dy : 0);
    const int direction = action_of(p, agent) - LUD_TRIBES_EAST;
    if (from != to || p->progress >= 1) return;
    const lud_tribes_event *event = &p->d->events[agent];
    const float nudge = sinf(pi * p->progress);
    if (direction >= 0 && direction < 4) { /* the way was closed */
        *x += 0.12f * nudge * (float)lud_step_x(direction);
        *y += 0.12f * nudge * (float)lud_step_y(direction);
    } else if ((event->deed == LUD_DEED_STOLE || event->deed == LUD_DEED_FOILED) && event->cell >= 0) {
        *x += 0.22f * nudge * (float)(event->cell % width - to % width); /* a thief lunges */
        *y += 0.22f * nudge * (float)(event->cell / width - to / width);
    }
}

/* Where it looks: where it goes, or at whom or what it has to do with; ahead of the picture otherwise. */
static void look_of(const lud_tribes_painter *p, int agent, float *x, float *y) {
    const int direction = action_of(p, agent) - LUD_TRIBES_EAST, width = p->m->spec.width;
    const lud_tribes_event *event = &p->d->events[agent];
    *x = 0;
    *y = 0.35f;
    if (direction >= 0 && direction < 4) {
        *x = (float)lud_step_x(direction);
        *y = (float)lud_step_y(direction);
    } else if (p->before && event->deed != LUD_DEED_NONE && event->deed != LUD_DEED_GATHERED) {
        const int from = lud_tribes_cell(p->m, p->before, agent);
        *x = (float)(event->cell % width - from % width);
        *y = (float)(event->cell / width - from / width);
    }
}

static void to_pixels(const lud_tribes_painter *p, float x, float y, float *px, float *py) {
    *px = p->left + x * p->s;
    *py = p->top + y * p->s;
}

/* --- Agents --- */

static void draw_eyes(const lud_tribes_painter *p, int agent, float cx, float cy) {
    float look_x, look_y;
    if (p->s < 14) return;
    look_of(p, agent, &look_x, &look_y);
    const lud_rgba white = {255, 255, 255, 255}, ink = lud_theme_get(LUD_THEME_LIGHT)->text;
    const float apart = 0.105f * p->s, r = 0.078f * p->s;
    for (int side = -1; side <= 1; side += 2) {
        const float x = cx + (float)side * apart + 0.07f * p->s * look_x;
        const float y = cy + 0.02f * p->s + 0.06f * p->s * look_y;
        lud_canvas_disc(p->canvas, x, y, r + fmaxf(0.6f, 0.016f * p->s), ink);
        lud_canvas_disc(p->canvas, x, y, r, white);
        lud_canvas_disc(p->canvas, x + 0.030f * p->s * look_x, y + 0.030f * p->s * look_y, r * 0.58f, ink);
    }
}

/* The load as it is carried on the back: what is on its way is drawn with the event. */
static void draw_load(const lud_tribes_painter *p, int agent, float cx, float cy) {
    const lud_tribes_event *event = &p->d->events[agent];
    const uint8_t *load = lud_tribes_load(p->m, p->moment->state, agent);
    const bool moving = p->before && p->progress < 1;
    int kinds[16], n = 0;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        int units = load[k];
        if (moving && event->deed != LUD_DEED_NONE && event->got == k) units--;
        for (int i = 0; i < units && n < 16; i++) kinds[n++] = k;
    }
    if (n == 0) return;
    const float side = p->s * 0.34f, spread = fminf(0.19f, 0.56f / (float)n) * p->s;
    const float y = cy - 0.30f * p->s;
    for (int i = 0; i < n; i++) {
        const float x = cx + ((float)i - 0.5f * (float)(n - 1)) * spread;
        lud_tribes_draw_unit(p->canvas, kinds[i], x, y - (i % 2 ? 0.035f * p->s : 0), side, 1);
    }
}

static void draw_number(const lud_tribes_painter *p, int agent, float px, float py) {
    char number[16];
    if (!p->moment->labels || p->s < 20) return;
    snprintf(number, sizeof number, "%d", agent);
    const float w = lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, number) + 6;
    const float h = lud_canvas_line_height(p->canvas, LUD_TEXT_SMALL);
    const lud_box tag = {px + p->s * 0.02f, py + p->s - h, w, h};
    lud_canvas_round_rect(p->canvas, tag, h * 0.3f, lud_faded(p->theme->text, 0.85f));
    lud_canvas_text(p->canvas, tag.x + 3, tag.y, LUD_TEXT_SMALL, p->theme->floor, number);
}

static void draw_agent(const lud_tribes_painter *p, int agent) {
    float x, y, px, py;
    if (!is_shown(p, agent)) return;
    pose_of(p, agent, &x, &y);
    to_pixels(p, x, y, &px, &py);
    const int size = (int)p->s, team = p->m->team[agent];
    const bool dies = lud_tribes_cell(p->m, p->moment->state, agent) == LUD_TRIBES_NOBODY;
    lud_rgba colour = lud_tribes_colour(p->theme, team);
    if (dies) colour = lud_faded(lud_mixed(colour, p->theme->muted, p->progress), 1 - p->progress);
    const float hop = p->before && p->progress < 1 ? 0.05f * p->s * fabsf(sinf(2 * pi * p->progress)) : 0;
    const bool walks = p->before && lud_tribes_cell(p->m, p->before, agent) !=
                                        lud_tribes_cell(p->m, p->moment->state, agent);
    if (walks && !dies) py -= hop;
    if (!dies) lud_canvas_sprite(p->canvas, LUD_SPRITE_SHADOW, p->theme->text, px, py + hop, size, 0);
    lud_canvas_sprite(p->canvas, lud_tribes_body(team), colour, px, py, size, 0);
    const float cx = px + 0.5f * p->s, cy = py + 0.5f * p->s;
    if (dies) return;
    draw_eyes(p, agent, cx, cy);
    draw_load(p, agent, cx, cy);
    if (action_of(p, agent) == LUD_TRIBES_DEFEND) {
        const int side = (int)(p->s * 0.46f);
        lud_canvas_sprite(p->canvas, LUD_SPRITE_SHIELD, colour, cx + 0.02f * p->s, cy + 0.06f * p->s, side,
                          0);
    }
    if (p->m->spec.health > 0 && p->s >= 18) {
        const int health = lud_tribes_health(p->m, p->moment->state, agent), most = (int)p->m->spec.health;
        for (int k = 0; k < most && health < most; k++)
            lud_canvas_disc(p->canvas, cx + ((float)k - 0.5f * (float)(most - 1)) * 0.13f * p->s,
                            cy + 0.42f * p->s, 0.045f * p->s, k < health ? p->theme->good : p->theme->bad);
    }
    draw_number(p, agent, px, py);
}

/* --- Events --- */

static float smooth(float t) {
    t = fminf(fmaxf(t, 0), 1);
    return t * t * (3 - 2 * t);
}

/* A unit on its way along an arc from one point to another, in pixels. */
static void draw_flight(const lud_tribes_painter *p, int kind, const float from[2], const float to[2],
                        float height, float t) {
    t = smooth(t);
    const float dx = to[0] - from[0], dy = to[1] - from[1], length = fmaxf(1, hypotf(dx, dy));
    const float bow = 4 * t * (1 - t) * height * p->s;
    lud_tribes_draw_unit(p->canvas, kind, from[0] + dx * t + dy / length * bow,
                         from[1] + dy * t - dx / length * bow, 0.36f * p->s, 1);
}

/* The arc of a bargain between two who swap. */
static void draw_arc(const lud_tribes_painter *p, const float from[2], const float to[2], float alpha) {
    enum { POINTS = 13 };
    float points[POINTS][2];
    const float dx = to[0] - from[0], dy = to[1] - from[1], length = fmaxf(1, hypotf(dx, dy));
    for (int k = 0; k < POINTS; k++) {
        const float t = (float)k / (POINTS - 1), bow = 4 * t * (1 - t) * 0.42f * p->s;
        points[k][0] = from[0] + dx * t + dy / length * bow;
        points[k][1] = from[1] + dy * t - dx / length * bow;
    }
    lud_canvas_polyline(p->canvas, (const float(*)[2])points, POINTS, fmaxf(1.5f, p->s * 0.055f),
                        lud_faded(p->theme->good, alpha));
}

static void middle_of(const lud_tribes_painter *p, int cell, float point[2]) {
    const int width = p->m->spec.width;
    to_pixels(p, (float)(cell % width) + 0.5f, (float)(cell / width) + 0.5f, &point[0], &point[1]);
}

static void draw_spark(const lud_tribes_painter *p, const float at[2], float size, float alpha) {
    const int side = (int)(p->s * size * (0.6f + 0.4f * sinf(pi * fminf(1, p->progress * 1.4f))));
    const lud_rgba tint = {255, 255, 255, (uint8_t)(255 * fminf(1, fmaxf(0, alpha)))};
    if (side >= 3)
        lud_canvas_sprite(p->canvas, LUD_SPRITE_SPARK, tint, at[0] - 0.5f * (float)side,
                          at[1] - 0.5f * (float)side, side, (int)(p->progress * 24));
}

static void draw_event(const lud_tribes_painter *p, int agent) {
    const lud_tribes_event *event = &p->d->events[agent];
    const float t = p->progress, fade = sinf(pi * fminf(1, fmaxf(0, t)));
    float x, y, here[2], there[2];
    if (event->deed == LUD_DEED_NONE) return;
    pose_of(p, agent, &x, &y);
    to_pixels(p, x + 0.5f, y + 0.5f, &here[0], &here[1]);
    middle_of(p, event->cell, there);
    const float back[2] = {here[0], here[1] - 0.30f * p->s};
    const float between[2] = {0.45f * here[0] + 0.55f * there[0], 0.45f * here[1] + 0.55f * there[1]};
    switch (event->deed) {
    case LUD_DEED_GATHERED:
        draw_flight(p, event->got, there, back, 0.1f, t);
        break;
    case LUD_DEED_DELIVERED:
        for (int k = 0, n = 0; k < LUD_RESOURCES; k++)
            for (int i = 0; i < lud_tribes_load(p->m, p->before, agent)[k]; i++, n++)
                if (t * 1.5f - 0.12f * (float)n < 1)
                    draw_flight(p, k, back, there, 0.25f, t * 1.5f - 0.12f * (float)n);
        break;
    case LUD_DEED_TRADED:
        draw_arc(p, there, here, 0.75f * fade);
        draw_flight(p, event->got, there, back, 0.42f, t);
        break;
    case LUD_DEED_STOLE:
        draw_spark(p, between, 0.62f, 1.6f * fade);
        draw_flight(p, event->got, there, back, 0.3f, t);
        break;
    case LUD_DEED_FOILED:
        draw_spark(p, between, 0.40f, 0.8f * fade);
        break;
    default:
        break;
    }
}

/* What an agent was paid rises from it and fades. */
static void draw_reward(const lud_tribes_painter *p, int agent) {
    float x, y, px, py;
    char text[24];
    if (!p->before || !p->moment->rewards || p->s < 20 || !is_shown(p, agent)) return;
    const float reward = p->moment->rewards[agent], t = p->progress;
    if (fabsf(reward) < (p->s < 26 ? 0.5f : 0.05f) || t >= 1) return; /* small pictures show what counts */
    snprintf(text, sizeof text, fabsf(reward) < 9.95f ? "%+.1f" : "%+.0f", (double)reward);
    const size_t length = strlen(text);
    if (length > 2 && !strcmp(text + length - 2, ".0")) text[length - 2] = 0;
    pose_of(p, agent, &x, &y);
    to_pixels(p, x + 0.5f, y - 0.08f - 0.6f * t, &px, &py);
    const lud_text_size size = p->s >= 64 ? LUD_TEXT_LARGE : LUD_TEXT_SMALL;
    const float alpha = fminf(1, 5 * t) * (t < 0.55f ? 1 : (1 - t) / 0.45f);
    const float w = lud_canvas_text_width(p->canvas, size, text), h = lud_canvas_line_height(p->canvas, size);
    const lud_box tag = {px - 0.5f * w - 4, py - h, w + 8, h};
    lud_canvas_round_rect(p->canvas, tag, 0.45f * h, lud_faded(p->theme->panel, 0.5f * alpha));
    lud_canvas_text(
        p->canvas, px - 0.5f * w, py - h, size,
        lud_faded(lud_mixed(reward > 0 ? p->theme->good : p->theme->bad, p->theme->text, 0.3f), alpha), text);
}

/* --- The whole --- */

static void draw_selection(const lud_tribes_painter *p) {
    float x = (float)p->moment->cell_x, y = (float)p->moment->cell_y, px, py;
    if (p->moment->selected_agent >= 0)
        pose_of(p, p->moment->selected_agent, &x, &y);
    else if (!p->moment->cell_selected)
        return;
    to_pixels(p, x, y, &px, &py);
    lud_canvas_frame(p->canvas, (lud_box){px, py, p->s, p->s}, p->s * 0.2f, fmaxf(2, roundf(p->s * 0.045f)),
                     p->theme->accent);
}

/* From north to south, so that who stands in front hides who stands behind. */
static void find_order(const lud_tribes_painter *p) {
    for (int i = 0; i < p->m->n_agents; i++) {
        const int cell = lud_tribes_cell(p->m, p->moment->state, i);
        int k = i;
        for (; k > 0 && lud_tribes_cell(p->m, p->moment->state, p->d->order[k - 1]) > cell; k--)
            p->d->order[k] = p->d->order[k - 1];
        p->d->order[k] = i;
    }
}

static void draw_land(const lud_tribes_painter *p, const lud_tribes_map *map) {
    struct {
        uint64_t map;
        float left, top, s;
        uint32_t theme;
    } key = {p->d->map_key[map - p->m->maps], p->left, p->top, p->s, p->theme->ground.r};
    if (lud_canvas_layer_begin(p->canvas, XXH3_64bits(&key, sizeof key), p->theme->ground)) {
        lud_tribes_draw_ground(p, map);
        lud_canvas_layer_end(p->canvas);
    }
    lud_canvas_layer_draw(p->canvas);
}

static lud_tribes_painter begin(lud_drawing *drawing, const lud_moment *moment) {
    lud_tribes_painter p = {.d = drawing_of(drawing), .m = lud_tribes_of(drawing->model), .moment = moment};
    const bool follows = moment->before && lud_tribes_step_count(p.m, moment->before) + 1 ==
                                               lud_tribes_step_count(p.m, moment->state);
    p.before = follows ? moment->before : NULL; /* another episode: nothing moves there */
    p.progress = p.before ? moment->progress : 1;
    lud_tribes_find_events(p.m, p.before ? p.before : moment->state, moment->state,
                           p.before ? moment->actions : NULL, p.d->at, p.d->events);
    return p;
}

static void draw(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment) {
    lud_tribes_painter p = begin(drawing, moment);
    p.canvas = canvas;
    p.theme = theme;
    p.s = camera->scale;
    lud_camera_to_screen(camera, 0, 0, &p.left, &p.top);
    const lud_tribes_map *map = lud_tribes_map_of(p.m, moment->state);
    const uint8_t *shown = p.before && p.progress < 0.6f ? p.before : moment->state;
    draw_land(&p, map);
    if (moment->overlay) {
        lud_overlay_draw_ground(moment->overlay, canvas, theme, camera, moment);
        p = begin(drawing, moment); /* the overlay asks about the world while it draws */
        p.canvas = canvas;
        p.theme = theme;
        p.s = camera->scale;
        lud_camera_to_screen(camera, 0, 0, &p.left, &p.top);
    }
    lud_tribes_draw_fields(&p, map, shown);
    lud_tribes_draw_houses(&p, map, shown);
    find_order(&p);
    for (int i = 0; i < p.m->n_agents; i++) draw_agent(&p, p.d->order[i]);
    if (p.before && p.progress < 1)
        for (int i = 0; i < p.m->n_agents; i++) draw_event(&p, i);
    for (int i = 0; i < p.m->n_agents; i++) draw_reward(&p, i);
    draw_selection(&p);
}

static void agent_position(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y) {
    const lud_tribes_painter p = begin(drawing, moment);
    pose_of(&p, agent, x, y);
    *x += 0.5f;
    *y += 0.5f;
}

static int agent_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    const int cx = (int)floorf(x), cy = (int)floorf(y);
    if (cx < 0 || cy < 0 || cx >= m->spec.width || cy >= m->spec.height) return -1;
    lud_tribes_board(m, state, drawing_of(drawing)->at);
    return drawing_of(drawing)->at[cy * m->spec.width + cx];
}

/* --- For overlays --- */

static bool goal_area(const lud_drawing *drawing, int agent, int goal, lud_box *area) {
    const lud_tribes_goal *g = &lud_tribes_of(drawing->model)->spec.goals[goal];
    (void)agent;
    *area = (lud_box){(float)g->x1, (float)g->y1, (float)(g->x2 - g->x1 + 1), (float)(g->y2 - g->y1 + 1)};
    return !g->stored;
}

static bool walkable(lud_drawing *drawing, const uint8_t *state, int x, int y) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    if (x < 0 || y < 0 || x >= m->spec.width || y >= m->spec.height) return false;
    const int ground = lud_tribes_map_of(m, state)->ground[y * m->spec.width + x];
    return ground == LUD_TRIBES_GROUND || ground == LUD_TRIBES_FIELD;
}

static bool vacant(lud_drawing *drawing, const uint8_t *state, int x, int y) {
    return walkable(drawing, state, x, y) && agent_at(drawing, state, (float)x, (float)y) < 0;
}

static lud_action_sign action_sign(lud_drawing *drawing, const uint8_t *state, int agent, int action) {
    (void)drawing, (void)state, (void)agent;
    if (action >= LUD_TRIBES_EAST && action <= LUD_TRIBES_NORTH)
        return (lud_action_sign){.shape = LUD_ACTION_MOVE,
                                 .dx = (float)lud_step_x(action - LUD_TRIBES_EAST),
                                 .dy = (float)lud_step_y(action - LUD_TRIBES_EAST)};
    return (lud_action_sign){.shape = LUD_ACTION_STAY};
}

static void portrait(lud_drawing *drawing, lud_canvas *canvas, const uint8_t *state, int agent, float x,
                     float y, int size) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    lud_rgba colour = lud_tribes_colour(lud_theme_get(LUD_THEME_LIGHT), m->team[agent]);
    if (lud_tribes_cell(m, state, agent) == LUD_TRIBES_NOBODY) colour = (lud_rgba){168, 172, 180, 255};
    lud_canvas_sprite(canvas, lud_tribes_body(m->team[agent]), colour, x, y, size, 0);
}

const lud_draw_world lud_draw_tribes = {
    .name = "tribes",
    .whole_cells = true,
    .create = create,
    .destroy = destroy,
    .extent = extent,
    .draw = draw,
    .agent_position = agent_position,
    .agent_at = agent_at,
    .describe_agent = lud_tribes_tell_agent,
    .describe_cell = lud_tribes_tell_cell,
    .describe_change = lud_tribes_tell_change,
    .differing_cells = lud_tribes_differing_cells,
    .events = lud_tribes_step_events,
    .goal_area = goal_area,
    .walkable = walkable,
    .vacant = vacant,
    .action_sign = action_sign,
    .portrait = portrait,
    .legend = lud_tribes_draw_legend,
};
