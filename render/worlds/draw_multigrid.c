#include "render/worlds/draw_multigrid.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "render/overlay.h"
#include "sim/directions.h"
#include "sim/multigrid/grid_model.h"

/* What all helpers of one call share. */
typedef struct painter {
    lud_grid_drawing *g;
    lud_canvas *canvas;
    const lud_theme *theme;
    const lud_moment *moment;
    float left, top, s; /* pixels: the corner of cell (0, 0) and the side of a cell */
    int size;           /* the side again, as a whole number */
    float progress;
} painter;

/* ---- making ---- */

static void destroy(lud_drawing *drawing) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_destroy(g->before);
    lud_grid_scene_destroy(g->after);
    LUD_FREE(g->map_key, g->arrived, g->lifted, g);
}

/* What the picture of the ground depends on. */
static uint64_t ground_key(const lud_grid_spec *spec, const lud_grid_map *map) {
    uint64_t key = XXH3_64bits_withSeed(&spec->width, sizeof spec->width, (uint64_t)spec->height);
    for (int c = 0; c < spec->width * spec->height; c++) {
        uint32_t cell = (uint32_t)map->cells[c].type << 8 | (uint32_t)map->cells[c].colour;
        key = XXH3_64bits_withSeed(&cell, sizeof cell, key);
    }
    return key;
}

static lud_status create(const lud_model *model, lud_drawing **drawing, lud_error *error) {
    const lud_grid_spec *spec = lud_grid_model_spec(model);
    size_t n_cells = (size_t)spec->width * (size_t)spec->height;
    lud_grid_drawing *g = calloc(1, sizeof *g);
    if (g) {
        g->drawing = (lud_drawing){&lud_draw_multigrid, model};
        g->before = lud_grid_scene_create(model);
        g->after = lud_grid_scene_create(model);
        g->map_key = calloc((size_t)spec->n_maps, sizeof *g->map_key);
        g->arrived = calloc(n_cells, sizeof *g->arrived);
        g->lifted = calloc(n_cells, sizeof *g->lifted);
    }
    if (!g || !g->before || !g->after || !g->map_key || !g->arrived || !g->lifted) {
        if (g) destroy(&g->drawing);
        return lud_no_memory(error, "drawing the world");
    }
    for (int m = 0; m < spec->n_maps; m++) g->map_key[m] = ground_key(spec, &spec->maps[m]);
    *drawing = &g->drawing;
    return LUD_OK;
}

static lud_box extent(const lud_drawing *drawing) {
    const lud_grid_spec *spec = lud_grid_model_spec(drawing->model);
    return (lud_box){0, 0, (float)spec->width, (float)spec->height};
}

/* ---- motion ---- */

static int verb_of(const painter *p, int agent) {
    const lud_grid_model *m = (const lud_grid_model *)p->g->drawing.model;
    if (!p->moment->actions) return LUD_VERB_STILL;
    int forced = p->g->before->agents[agent].forced_action;
    int32_t action = forced >= 0 ? forced : p->moment->actions[agent];
    return action >= 0 && action < m->n_actions ? m->verb[action] : LUD_VERB_STILL;
}

static lud_grid_scene_cell *cell_at(lud_grid_scene *scene, int x, int y) {
    if (x < 0 || y < 0 || x >= scene->width || y >= scene->height) return NULL;
    return &scene->cells[y * scene->width + x];
}

static bool pushable(const lud_grid_scene *scene, const lud_grid_scene_cell *cell) {
    if (!cell || cell->piece < 0) return false;
    lud_grid_type type = scene->pieces[cell->piece].object.type;
    return type == LUD_BLOCK || type == LUD_ROCK;
}

/* Finds out which pieces were pushed, and which are on their way to or from a carrier. */
static void trace_pieces(painter *p) {
    lud_grid_scene *a = p->g->before, *b = p->g->after;
    size_t n_cells = (size_t)(a->width * a->height);
    memset(p->g->arrived, 0, n_cells);
    memset(p->g->lifted, 0, n_cells);
    if (!p->moment->before) return;
    for (int i = 0; i < a->n_agents; i++) {
        const lud_grid_scene_agent *from = &a->agents[i], *to = &b->agents[i];
        int dx = to->x - from->x, dy = to->y - from->y;
        if (abs(dx) + abs(dy) == 1) {
            int direction = dx > 0 ? 0 : dy > 0 ? 1 : dx < 0 ? 2 : 3;
            for (int x = to->x, y = to->y; pushable(a, cell_at(a, x, y)); x += dx, y += dy)
                if (pushable(b, cell_at(b, x + dx, y + dy)))
                    p->g->arrived[(y + dy) * a->width + x + dx] = (int8_t)(1 + direction);
        }
        if (from->carries && !to->carries) {
            int x = to->x + lud_step_x((int)from->direction), y = to->y + lud_step_y((int)from->direction);
            lud_grid_scene_cell *cell = cell_at(b, x, y);
            if (cell && cell->piece >= 0) p->g->lifted[y * a->width + x] = 1;
        }
    }
}

/* Position (upper left corner, in cells) and turn (in quarter turns) of an agent at this moment. */
static void agent_pose(const painter *p, int agent, float *x, float *y, float *turn) {
    const lud_grid_scene_agent *to = &p->g->after->agents[agent];
    *x = (float)to->x;
    *y = (float)to->y;
    *turn = (float)to->direction;
    if (!p->moment->before || p->progress >= 1) return;
    const lud_grid_scene_agent *from = &p->g->before->agents[agent];
    float t = p->progress;
    int dx = to->x - from->x, dy = to->y - from->y;
    if (abs(dx) + abs(dy) <= 2) { /* further is no step (another episode): jump */
        *x = (float)from->x + (float)dx * t;
        *y = (float)from->y + (float)dy * t;
    }
    int quarter = ((int)to->direction - (int)from->direction + 6) % 4 - 2;
    if (quarter == -2) quarter = 2;
    *turn = (float)from->direction + (float)quarter * t;
    if (!dx && !dy && !from->terminated && !from->paused && verb_of(p, agent) == LUD_VERB_FORWARD) {
        float nudge = 0.13f * sinf(3.14159265f * t);
        *x += nudge * (float)lud_step_x((int)from->direction);
        *y += nudge * (float)lud_step_y((int)from->direction);
    }
}

/* ---- things ---- */

static lud_sprite sprite_of(lud_grid_type type) {
    switch (type) {
    case LUD_KEY:
        return LUD_SPRITE_KEY;
    case LUD_BALL:
        return LUD_SPRITE_BALL;
    case LUD_BOX:
        return LUD_SPRITE_BOX;
    case LUD_BLOCK:
        return LUD_SPRITE_BLOCK;
    case LUD_ROCK:
        return LUD_SPRITE_ROCK;
    default:
        return LUD_SPRITE_OBJECT_GOAL;
    }
}

static void draw_object(const painter *p, const lud_grid_object *object, float x, float y, float share) {
    int size = (int)lroundf(p->s * share);
    if (size < 2) return;
    float inset = (p->s - (float)size) * 0.5f;
    lud_canvas_sprite(p->canvas, sprite_of(object->type),
                      object->type == LUD_ROCK ? p->theme->colours[object->colour]
                                               : lud_theme_thing(p->theme, (int)object->colour),
                      p->left + x * p->s + inset, p->top + y * p->s + inset, size, 0);
}

static void draw_pieces(const painter *p) {
    const lud_grid_scene *b = p->g->after;
    float back = p->moment->before ? 1 - p->progress : 0;
    for (int k = 0; k < b->n_pieces; k++) {
        const lud_grid_piece *piece = &b->pieces[k];
        int cell = piece->y * b->width + piece->x;
        if (p->g->lifted[cell] && p->progress < 1) continue;
        float x = (float)piece->x, y = (float)piece->y;
        int arrived = p->g->arrived[cell];
        if (arrived && (piece->object.type == LUD_BLOCK || piece->object.type == LUD_ROCK)) {
            x -= back * (float)lud_step_x(arrived - 1);
            y -= back * (float)lud_step_y(arrived - 1);
        }
        lud_canvas_sprite(p->canvas, LUD_SPRITE_SHADOW, p->theme->text, p->left + x * p->s,
                          p->top + (y + 0.06f) * p->s, p->size, 0);
        draw_object(p, &piece->object, x, y, 1);
    }
}

/* Who may press a button and whom it concerns: two dots at the foot of the plate. */
static void draw_button_dots(const painter *p, float px, float py, lud_rgba who, lud_rgba whom,
                             bool has_whom) {
    if (p->size < 28) return;
    float r = p->s * 0.075f, y = py + p->s * 0.745f, x = px + p->s * (has_whom ? 0.36f : 0.5f);
    lud_rgba ink = lud_theme_get(LUD_THEME_LIGHT)->text;
    lud_canvas_disc(p->canvas, x, y, r + fmaxf(1, p->s * 0.022f), ink);
    lud_canvas_disc(p->canvas, x, y, r, who);
    if (!has_whom) return;
    float x2 = px + p->s * 0.64f, h = p->s * 0.055f;
    const float arrow[3][2] = {
        {px + p->s * 0.46f, y - h}, {px + p->s * 0.545f, y}, {px + p->s * 0.46f, y + h}};
    lud_canvas_polygon(p->canvas, arrow, 3, (lud_rgba){255, 255, 255, 255});
    lud_canvas_disc(p->canvas, x2, y, r + fmaxf(1, p->s * 0.022f), ink);
    lud_canvas_disc(p->canvas, x2, y, r, whom);
}

static void draw_button(const painter *p, const lud_grid_scene_cell *cell, float px, float py) {
    const lud_grid_object *o = &cell->ground;
    const lud_rgba *colours = p->theme->colours;
    bool down = (o->type == LUD_PAUSE_SWITCH && o->on) || (o->type == LUD_CONTROL_BUTTON && cell->awaiting);
    lud_canvas_sprite(p->canvas, down ? LUD_SPRITE_PLATE_DOWN : LUD_SPRITE_PLATE, colours[o->colour], px, py,
                      p->size, 0);
    lud_sprite symbol = o->type == LUD_KILL_BUTTON      ? LUD_SPRITE_SYMBOL_KILL
                        : o->type == LUD_PAUSE_SWITCH   ? LUD_SPRITE_SYMBOL_PAUSE
                        : o->type == LUD_CONTROL_BUTTON ? LUD_SPRITE_SYMBOL_CONTROL
                                                        : LUD_SPRITE_SYMBOL_DISABLE;
    lud_canvas_sprite(p->canvas, symbol, colours[o->colour], px, py - p->s * 0.02f, p->size, 0);
    if (o->type == LUD_DISABLING_SWITCH) {
        /* its second dot has the colour of the kind of button it switches off: kill red, pause blue, control
         * green */
        lud_colour kind = o->target_type == LUD_KILL_BUTTON    ? LUD_RED
                          : o->target_type == LUD_PAUSE_SWITCH ? LUD_BLUE
                                                               : LUD_GREEN;
        draw_button_dots(p, px, py, colours[o->trigger], colours[kind], true);
        return;
    }
    draw_button_dots(p, px, py, colours[o->trigger], colours[o->target], true);
    if (!o->enabled)
        lud_canvas_sprite(p->canvas, LUD_SPRITE_DISABLED, colours[o->colour], px, py, p->size, 0);
    if (o->type == LUD_CONTROL_BUTTON && cell->recorded_action >= 0 && p->size >= 44) {
        const lud_layout *layout = &p->g->drawing.model->layout;
        const char *name = layout->n_agents && cell->recorded_action < layout->actions[0].n_discrete
                               ? layout->actions[0].names[cell->recorded_action]
                               : "";
        float w = lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, name);
        float h = lud_canvas_line_height(p->canvas, LUD_TEXT_SMALL);
        lud_box tag = {px + (p->s - w) * 0.5f - 3, py + p->s * 0.06f, w + 6, h};
        lud_canvas_round_rect(p->canvas, tag, 4, lud_faded(lud_theme_get(LUD_THEME_LIGHT)->text, 0.85f));
        lud_canvas_text(p->canvas, tag.x + 3, tag.y, LUD_TEXT_SMALL, (lud_rgba){255, 255, 255, 255}, name);
    }
}

static void draw_magic_wall(const painter *p, const lud_grid_object *o, float px, float py) {
    lud_rgba stone = lud_mixed(p->theme->wall, p->theme->colours[LUD_PURPLE], o->active ? 0.35f : 0.12f);
    lud_canvas_sprite(p->canvas, LUD_SPRITE_MAGIC_WALL, stone, px, py, p->size, 0);
    if (!o->active) {
        lud_canvas_sprite(p->canvas, LUD_SPRITE_SOLIDIFIED, stone, px, py, p->size, 0);
        return;
    }
    float shimmer = 0.80f + 0.20f * sinf(p->moment->seconds * 2.2f + px * 0.01f);
    lud_rgba light = {255, 255, 255, (uint8_t)(255 * shimmer)};
    for (int side = 0; side < 4; side++)
        if (o->side == LUD_ALL_SIDES || (int)o->side == side)
            lud_canvas_sprite(p->canvas, LUD_SPRITE_MAGIC_SIDE, light, px, py, p->size, 32 * side);
    light.a = (uint8_t)(255 * (0.75f + 0.25f * sinf(p->moment->seconds * 1.3f + py * 0.01f)));
    lud_canvas_sprite(p->canvas, LUD_SPRITE_MAGIC_SPARKLE, light, px, py, p->size, 0);
}

/* Ground that moves or changes. */
static void draw_changing_ground(const painter *p, const lud_grid_scene *scene) {
    for (int y = 0; y < scene->height; y++)
        for (int x = 0; x < scene->width; x++) {
            const lud_grid_scene_cell *cell = &scene->cells[y * scene->width + x];
            const lud_grid_object *o = &cell->ground;
            lud_rgba colour = lud_theme_thing(p->theme, (int)o->colour);
            float px = p->left + (float)x * p->s, py = p->top + (float)y * p->s;
            switch (o->type) {
            case LUD_LAVA:
                lud_canvas_sprite_rolled(p->canvas, LUD_SPRITE_LAVA_WAVE, colour, px, py, p->size,
                                         (int)floorf(p->moment->seconds * p->s * 0.12f));
                break;
            case LUD_DOOR:
                lud_canvas_sprite(p->canvas,
                                  o->door == LUD_DOOR_OPEN     ? LUD_SPRITE_DOOR_OPEN
                                  : o->door == LUD_DOOR_CLOSED ? LUD_SPRITE_DOOR_CLOSED
                                                               : LUD_SPRITE_DOOR_LOCKED,
                                  colour, px, py, p->size, 0);
                break;
            case LUD_BUSH:
                lud_canvas_sprite(p->canvas, cell->trampled ? LUD_SPRITE_TRAMPLED : LUD_SPRITE_BUSH, colour,
                                  px, py, p->size, 0);
                break;
            case LUD_MAGIC_WALL:
                draw_magic_wall(p, o, px, py);
                break;
            case LUD_KILL_BUTTON:
            case LUD_PAUSE_SWITCH:
            case LUD_DISABLING_SWITCH:
            case LUD_CONTROL_BUTTON:
                draw_button(p, cell, px, py);
                break;
            default:
                break;
            }
        }
}

/* ---- agents ---- */

static lud_sprite body_of(lud_role role) {
    return role == LUD_ROLE_ROBOT   ? LUD_SPRITE_ROBOT
           : role == LUD_ROLE_HUMAN ? LUD_SPRITE_PERSON
                                    : LUD_SPRITE_ACTOR;
}

static void draw_carried(const painter *p, int agent, float x, float y) {
    const lud_grid_scene_agent *from = &p->g->before->agents[agent], *to = &p->g->after->agents[agent];
    const float small = 0.46f, up = -0.36f;
    bool moving = p->moment->before && p->progress < 1;
    if (to->carries) {
        float t = moving && !from->carries ? p->progress : 1;
        float x0 = (float)to->x + (float)lud_step_x((int)to->direction),
              y0 = (float)to->y + (float)lud_step_y((int)to->direction);
        draw_object(p, &to->carried, x0 + (x - x0) * t, y0 + (y + up - y0) * t, 1 + (small - 1) * t);
    } else if (moving && from->carries) {
        float t = p->progress;
        int cx = to->x + lud_step_x((int)from->direction), cy = to->y + lud_step_y((int)from->direction);
        const lud_grid_scene_cell *cell = cell_at(p->g->after, cx, cy);
        if (cell && cell->piece >= 0)
            draw_object(p, &from->carried, x + ((float)cx - x) * t, y + up + ((float)cy - y - up) * t,
                        small + (1 - small) * t);
    }
}

static void draw_agent(const painter *p, int agent) {
    const lud_grid_scene_agent *to = &p->g->after->agents[agent];
    const lud_grid_scene_agent *shown =
        p->moment->before && p->progress < 0.5f ? &p->g->before->agents[agent] : to;
    float x, y, turn;
    agent_pose(p, agent, &x, &y, &turn);
    float px = p->left + x * p->s, py = p->top + y * p->s;
    int angle = (int)lroundf(turn * 32);
    lud_rgba colour = p->theme->colours[to->colour];
    if (shown->terminated) {
        lud_rgba grey = {168, 172, 180, 235};
        lud_canvas_sprite(p->canvas, body_of(to->role), grey, px, py + p->s * 0.06f, p->size, angle + 22);
        lud_canvas_sprite(p->canvas, LUD_SPRITE_FALLEN, grey, px, py, p->size, 0);
    } else {
        lud_canvas_sprite(p->canvas, LUD_SPRITE_SHADOW, colour, px, py, p->size, 0);
        lud_canvas_sprite(p->canvas, body_of(to->role), colour, px, py, p->size, angle);
    }
    if (shown->paused && !shown->terminated)
        lud_canvas_sprite(p->canvas, LUD_SPRITE_PAUSED, colour, px, py, p->size, 0);
    if (to->forced_action >= 0) {
        int small = (int)(p->s * 0.42f);
        lud_canvas_sprite(p->canvas, LUD_SPRITE_FORCED, colour, px + p->s * 0.62f, py - p->s * 0.04f, small,
                          0);
    }
    draw_carried(p, agent, x, y);
    if (p->moment->labels && p->size >= 20) {
        char number[16];
        snprintf(number, sizeof number, "%d", agent);
        float w = lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, number) + 8;
        float h = lud_canvas_line_height(p->canvas, LUD_TEXT_SMALL);
        lud_box tag = {px + p->s * 0.04f, py + p->s * 0.04f, w, h};
        lud_canvas_round_rect(p->canvas, tag, h * 0.3f, lud_faded(p->theme->text, 0.88f));
        lud_canvas_text(p->canvas, tag.x + 4, tag.y, LUD_TEXT_SMALL, p->theme->floor, number);
    }
}

/* ---- marks over the world ---- */

/* A dashed frame round the cells of a goal, and a dotted way to it. */
static void draw_goal(const painter *p, int agent, int goal) {
    const lud_grid_model *m = (const lud_grid_model *)p->g->drawing.model;
    const lud_grid_goal *g = &m->spec.goals[m->goal_index[m->goal_begin[agent] + goal]];
    lud_rgba colour = p->theme->accent;
    float x0 = p->left + (float)g->x1 * p->s + p->s * 0.07f, y0 = p->top + (float)g->y1 * p->s + p->s * 0.07f;
    float x1 = p->left + (float)(g->x2 + 1) * p->s - p->s * 0.07f;
    float y1 = p->top + (float)(g->y2 + 1) * p->s - p->s * 0.07f;
    float dash = p->s * 0.125f, thick = fmaxf(1.5f, p->s * 0.04f);
    lud_canvas_rect(p->canvas, (lud_box){x0, y0, x1 - x0, y1 - y0}, lud_faded(colour, 0.10f));
    int n_x = (int)((x1 - x0) / dash) | 1, n_y = (int)((y1 - y0) / dash) | 1;
    for (int k = 0; k < n_x; k += 2) {
        float a = x0 + (x1 - x0) * (float)k / (float)n_x, w = (x1 - x0) / (float)n_x;
        lud_canvas_rect(p->canvas, (lud_box){a, y0, w, thick}, colour);
        lud_canvas_rect(p->canvas, (lud_box){a, y1 - thick, w, thick}, colour);
    }
    for (int k = 0; k < n_y; k += 2) {
        float a = y0 + (y1 - y0) * (float)k / (float)n_y, h = (y1 - y0) / (float)n_y;
        lud_canvas_rect(p->canvas, (lud_box){x0, a, thick, h}, colour);
        lud_canvas_rect(p->canvas, (lud_box){x1 - thick, a, thick, h}, colour);
    }
    float ax, ay, turn;
    agent_pose(p, agent, &ax, &ay, &turn);
    ax = p->left + (ax + 0.5f) * p->s;
    ay = p->top + (ay + 0.5f) * p->s;
    float gx = fminf(fmaxf(ax, x0), x1), gy = fminf(fmaxf(ay, y0), y1), length = hypotf(gx - ax, gy - ay);
    float gap = fmaxf(5, p->s * 0.16f);
    for (float along = p->s * 0.5f; along < length; along += gap)
        lud_canvas_disc(p->canvas, ax + (gx - ax) * along / length, ay + (gy - ay) * along / length,
                        fmaxf(1.2f, p->s * 0.03f), lud_faded(colour, 0.75f));
}

static bool ground_differs(const lud_grid_scene_cell *a, const lud_grid_scene_cell *b) {
    return a->ground.door != b->ground.door || a->ground.active != b->ground.active ||
           a->ground.enabled != b->ground.enabled || a->ground.on != b->ground.on ||
           a->trampled != b->trampled || a->awaiting != b->awaiting ||
           a->recorded_action != b->recorded_action;
}

static void draw_glow(const painter *p) {
    const lud_grid_scene *a = p->g->before, *b = p->g->after;
    if (!p->moment->before || p->moment->glow <= 0) return;
    lud_rgba colour = lud_faded(p->theme->accent, p->moment->glow);
    for (int c = 0; c < b->width * b->height; c++)
        if (ground_differs(&a->cells[c], &b->cells[c]))
            lud_canvas_sprite(p->canvas, LUD_SPRITE_GLOW, colour, p->left + (float)(c % b->width) * p->s,
                              p->top + (float)(c / b->width) * p->s, p->size, 0);
    for (int i = 0; i < b->n_agents; i++) {
        const lud_grid_scene_agent *from = &a->agents[i], *to = &b->agents[i];
        if (from->terminated == to->terminated && from->paused == to->paused && from->carries == to->carries)
            continue;
        float x, y, turn;
        agent_pose(p, i, &x, &y, &turn);
        lud_canvas_sprite(p->canvas, LUD_SPRITE_GLOW,
                          to->terminated && !from->terminated ? lud_faded(p->theme->bad, p->moment->glow)
                                                              : colour,
                          p->left + x * p->s, p->top + y * p->s, p->size, 0);
    }
}

static void draw_selection(const painter *p) {
    float x, y, turn;
    if (p->moment->selected_agent >= 0)
        agent_pose(p, p->moment->selected_agent, &x, &y, &turn);
    else if (p->moment->cell_selected) {
        x = (float)p->moment->cell_x;
        y = (float)p->moment->cell_y;
    } else
        return;
    float t = fmaxf(2, roundf(p->s * 0.045f));
    lud_canvas_frame(p->canvas, (lud_box){p->left + x * p->s, p->top + y * p->s, p->s, p->s}, p->s * 0.16f, t,
                     p->theme->accent);
}

/* ---- the whole ---- */

static void read_scenes(lud_grid_drawing *g, const lud_moment *moment) {
    lud_grid_scene_read(g->after, g->drawing.model, moment->state);
    if (moment->before) lud_grid_scene_read(g->before, g->drawing.model, moment->before);
}

static void draw(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    read_scenes(g, moment);
    painter p = {.g = g,
                 .canvas = canvas,
                 .theme = theme,
                 .moment = moment,
                 .s = camera->scale,
                 .size = (int)camera->scale,
                 .progress = moment->before ? moment->progress : 1};
    lud_moment jump = *moment;
    if (moment->before && (g->before->map != g->after->map || g->after->step < g->before->step)) {
        jump.before = NULL; /* another episode: nothing moves there */
        p.moment = &jump;
        p.progress = 1;
    }
    lud_camera_to_screen(camera, 0, 0, &p.left, &p.top);
    struct {
        uint64_t map;
        float left, top, s;
        uint32_t theme;
    } key = {g->map_key[g->after->map], p.left, p.top, p.s, theme->ground.r};
    if (lud_canvas_layer_begin(canvas, XXH3_64bits(&key, sizeof key), theme->ground)) {
        lud_grid_draw_ground(g, canvas, theme, camera, g->after->map);
        lud_canvas_layer_end(canvas);
    }
    lud_canvas_layer_draw(canvas);
    bool early = p.moment->before && p.progress < 0.5f;
    if (moment->overlay) lud_overlay_draw_ground(moment->overlay, canvas, theme, camera, moment);
    /* the overlay asks about the world while it draws */
    read_scenes(g, moment);
    draw_changing_ground(&p, early ? g->before : g->after);
    if (moment->goals)
        for (int i = 0; i < g->after->n_agents; i++)
            if (moment->goals[i] >= 0) draw_goal(&p, i, moment->goals[i]);
    trace_pieces(&p);
    draw_pieces(&p);
    for (int i = 0; i < g->after->n_agents; i++) /* who has fallen lies under who stands */
        if (g->after->agents[i].terminated) draw_agent(&p, i);
    for (int i = 0; i < g->after->n_agents; i++)
        if (!g->after->agents[i].terminated) draw_agent(&p, i);
    draw_glow(&p);
    draw_selection(&p);
}

static void agent_position(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    read_scenes(g, moment);
    painter p = {.g = g, .moment = moment, .progress = moment->before ? moment->progress : 1};
    float turn;
    agent_pose(&p, agent, x, y, &turn);
    *x += 0.5f;
    *y += 0.5f;
}

static int agent_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->after, drawing->model, state);
    const lud_grid_scene_cell *cell = cell_at(g->after, (int)floorf(x), (int)floorf(y));
    return cell ? cell->agent : -1;
}

/* ---- for overlays ---- */

static bool goal_area(const lud_drawing *drawing, int agent, int goal, lud_box *area) {
    const lud_grid_model *m = (const lud_grid_model *)drawing->model;
    const lud_grid_goal *g = &m->spec.goals[m->goal_index[m->goal_begin[agent] + goal]];
    *area = (lud_box){(float)g->x1, (float)g->y1, (float)(g->x2 - g->x1 + 1), (float)(g->y2 - g->y1 + 1)};
    return true;
}

static bool walkable(lud_drawing *drawing, const uint8_t *state, int x, int y) {
    const lud_grid_model *m = (const lud_grid_model *)drawing->model;
    uint16_t map = 0;
    if (m->n_maps > 1) memcpy(&map, state + m->at.map, sizeof map);
    return x >= 0 && y >= 0 && x < m->width && y < m->height &&
           m->spec.maps[map].cells[y * m->width + x].type != LUD_WALL; /* walls stay where they are */
}

static bool vacant(lud_drawing *drawing, const uint8_t *state, int x, int y) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->after, drawing->model, state);
    const lud_grid_scene_cell *cell = cell_at(g->after, x, y);
    return cell && cell->piece < 0 && cell->agent < 0 &&
           (cell->ground.type == LUD_EMPTY || cell->ground.type == LUD_FLOOR);
}

static lud_action_sign action_sign(lud_drawing *drawing, const uint8_t *state, int agent, int action) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    const lud_grid_model *m = (const lud_grid_model *)drawing->model;
    lud_grid_scene_read(g->after, drawing->model, state);
    const lud_grid_scene_agent *a = &g->after->agents[agent];
    lud_action_sign sign = {.dx = (float)lud_step_x((int)a->direction),
                            .dy = (float)lud_step_y((int)a->direction)};
    if (a->terminated || a->paused) return sign;
    switch (m->verb[action]) {
    case LUD_VERB_FORWARD:
        sign.shape = LUD_ACTION_MOVE;
        break;
    case LUD_VERB_LEFT:
    case LUD_VERB_RIGHT:
        sign.shape = LUD_ACTION_TURN;
        sign.turn = m->verb[action] == LUD_VERB_RIGHT ? 1 : -1;
        break;
    case LUD_VERB_PICKUP:
    case LUD_VERB_DROP: /* never both open: one lane is enough */
        sign.shape = LUD_ACTION_USE;
        sign.lane = -0.2f;
        break;
    case LUD_VERB_TOGGLE:
        sign.shape = LUD_ACTION_USE;
        sign.lane = 0.2f;
        break;
    default:
        sign.shape = LUD_ACTION_STAY;
        break;
    }
    return sign;
}

static void portrait(lud_drawing *drawing, lud_canvas *canvas, const uint8_t *state, int agent, float x,
                     float y, int size) {
    lud_grid_drawing *g = (lud_grid_drawing *)drawing;
    lud_grid_scene_read(g->after, drawing->model, state);
    const lud_grid_scene_agent *a = &g->after->agents[agent];
    lud_rgba colour = lud_theme_get(LUD_THEME_LIGHT)->colours[a->colour];
    if (a->terminated) colour = (lud_rgba){168, 172, 180, 255};
    lud_canvas_sprite(canvas, body_of(a->role), colour, x, y, size, 32 * (int)a->direction);
}

const lud_draw_world lud_draw_multigrid = {
    .name = "multigrid",
    .whole_cells = true,
    .create = create,
    .destroy = destroy,
    .extent = extent,
    .draw = draw,
    .agent_position = agent_position,
    .agent_at = agent_at,
    .describe_agent = lud_grid_describe_agent,
    .describe_cell = lud_grid_describe_cell,
    .describe_change = lud_grid_describe_change,
    .differing_cells = lud_grid_differing_cells,
    .events = lud_grid_events,
    .goal_area = goal_area,
    .walkable = walkable,
    .vacant = vacant,
    .action_sign = action_sign,
    .portrait = portrait,
};
