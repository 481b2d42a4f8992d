/* The particle world on the screen: bodies, goals, walls, velocity, contact, speech and the edges of the
 * observation graph. World units are those of the model; y points up there and down on the screen. */
#include "render/worlds/draw_particle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/overlay.h"
#include "sim/particle/particle.h"

typedef struct particle_drawing {
    lud_drawing drawing;
    int n, n_agents;
    float (*position)[2]; /* [n] at the moment drawn, screen sense (y down) */
    float *attention;     /* [n] of one agent */
} particle_drawing;

typedef struct painter {
    const particle_drawing *d;
    const lud_particle_model *model;
    lud_canvas *canvas;
    const lud_theme *theme;
    const lud_camera *camera;
    const lud_moment *moment;
} painter;

static const lud_particle_model *model_of(const lud_drawing *drawing) {
    return (const lud_particle_model *)drawing->model;
}

static void destroy(lud_drawing *drawing) {
    LUD_FREE(((particle_drawing *)drawing)->position, ((particle_drawing *)drawing)->attention, drawing);
}

static lud_status create(const lud_model *model, lud_drawing **drawing, lud_error *error) {
    particle_drawing *d = calloc(1, sizeof *d);
    int n = lud_particle_entity_count((const lud_particle_model *)model);
    if (d) d->position = calloc((size_t)n, sizeof *d->position);
    if (d) d->attention = calloc((size_t)n, sizeof *d->attention);
    if (!d || !d->position || !d->attention) {
        if (d) free(d->position);
        if (d) free(d->attention);
        free(d);
        return lud_no_memory(error, "a drawing");
    }
    d->drawing = (lud_drawing){&lud_draw_particle, model};
    d->n = n;
    d->n_agents = model->layout.n_agents;
    *drawing = &d->drawing;
    return LUD_OK;
}

static lud_box extent(const lud_drawing *drawing) {
    float half = 0.575f * (float)lud_particle_world_size(model_of(drawing)); /* a rim for who runs out */
    return (lud_box){-half, -half, 2 * half, 2 * half};
}

/* --- where bodies are --- */

/* The step before belongs to the same episode. */
static bool moves(const lud_particle_model *m, const lud_moment *moment) {
    return moment->before && moment->progress < 1 &&
           lud_particle_step_count(m, moment->before) < lud_particle_step_count(m, moment->state);
}

static void body_at(const lud_particle_model *m, const lud_moment *moment, int entity, float position[2]) {
    lud_particle_body to = lud_particle_get_body(m, moment->state, entity), from = to;
    float t = 1;
    if (moves(m, moment)) {
        from = lud_particle_get_body(m, moment->before, entity);
        t = moment->progress;
    }
    position[0] = (float)from.position[0] + t * (float)(to.position[0] - from.position[0]);
    position[1] = -(float)from.position[1] - t * (float)(to.position[1] - from.position[1]);
}

static void place_bodies(particle_drawing *d, const lud_moment *moment) {
    for (int e = 0; e < d->n; e++) body_at(model_of(&d->drawing), moment, e, d->position[e]);
}

/* --- colours --- */

/* The colour of the set that is nearest to a body's in kind: grey, a primary, or a mixture of two. */
static lud_rgba colour_of(const lud_particle_model *m, const lud_theme *theme, const uint8_t *state,
                          int entity) {
    enum { RED, GREEN, BLUE, PURPLE, YELLOW, GREY };
    float c[3];
    lud_particle_colour(m, state, entity, c);
    float most = fmaxf(c[0], fmaxf(c[1], c[2])), least = fminf(c[0], fminf(c[1], c[2]));
    if (most - least < 0.12f) return theme->colours[GREY];
    float middle = least + 0.6f * (most - least);
    bool red = c[0] > middle, green = c[1] > middle, blue = c[2] > middle;
    return theme->colours[red && green ? YELLOW : red && blue ? PURPLE : red ? RED : green ? GREEN : BLUE];
}

/* --- the ground --- */

static lud_box on_screen(const painter *p, float x0, float y0, float x1, float y1) {
    float a, b, c, d;
    lud_camera_to_screen(p->camera, x0, y0, &a, &b);
    lud_camera_to_screen(p->camera, x1, y1, &c, &d);
    return (lud_box){roundf(a), roundf(b), roundf(c) - roundf(a), roundf(d) - roundf(b)};
}

static void draw_ground(const painter *p) {
    lud_canvas_rect(p->canvas, p->camera->viewport, p->theme->ground);
    float half = 0.5f * (float)lud_particle_world_size(p->model);
    lud_canvas_round_rect(p->canvas, on_screen(p, -1.1f * half, -1.1f * half, 1.1f * half, 1.1f * half),
                          0.05f * half * p->camera->scale, p->theme->floor);
    for (int i = -2; i <= 2; i++) {
        float at = 0.5f * half * (float)i;
        lud_box across = on_screen(p, at, -half, at, half), along = on_screen(p, -half, at, half, at);
        across.w = along.h = 1;
        lud_canvas_rect(p->canvas, across, p->theme->grid_line);
        lud_canvas_rect(p->canvas, along, p->theme->grid_line);
    }
    for (int w = 0; w < lud_particle_wall_count(p->model); w++) {
        lud_particle_wall wall = lud_particle_get_wall(p->model, w);
        float at = (float)wall.at, from = (float)wall.from, to = (float)wall.to,
              half_width = 0.5f * (float)wall.width;
        lud_box box = wall.vertical ? on_screen(p, at - half_width, -to, at + half_width, -from)
                                    : on_screen(p, from, -at - half_width, to, -at + half_width);
        lud_canvas_round_rect(p->canvas, box, 3,
                              wall.hard ? p->theme->wall : lud_faded(p->theme->wall, 0.45f));
        box.h = fmaxf(2, 0.15f * (float)wall.width * p->camera->scale);
        lud_canvas_rect(p->canvas, box, lud_faded(p->theme->wall_edge, 0.6f));
    }
}

/* --- between bodies --- */

static void screen_of(const painter *p, int entity, float *x, float *y) {
    lud_camera_to_screen(p->camera, p->d->position[entity][0], p->d->position[entity][1], x, y);
}

static float distance_of(const painter *p, int a, int b) {
    const float *x = p->d->position[a], *y = p->d->position[b];
    return hypotf(x[0] - y[0], x[1] - y[1]);
}

/* Edges of the observation graph; nearer pairs have stronger ones. */
static void draw_edges(const painter *p) {
    if (!lud_particle_has_edges(p->model)) return;
    float reach = (float)lud_particle_edge_distance(p->model);
    for (int a = 0; a < p->d->n; a++)
        for (int b = a + 1; b < p->d->n; b++) {
            float d = distance_of(p, a, b), x0, y0, x1, y1;
            if (!(d > 0 && d < reach)) continue;
            screen_of(p, a, &x0, &y0);
            screen_of(p, b, &x1, &y1);
            float strength = 1 - d / reach;
            lud_canvas_line(p->canvas, x0, y0, x1, y1, 1 + strength,
                            lud_faded(p->theme->muted, 0.08f + 0.3f * strength));
        }
}

/* Whom agents attend to: the stronger, the wider; of the selected agent alone when there is one. */
static void draw_attention(const painter *p) {
    const float least = 0.02f;
    for (int a = 0; p->moment->overlay && a < p->d->n_agents; a++) {
        if (p->moment->selected_agent >= 0 && p->moment->selected_agent != a) continue;
        if (!lud_overlay_attention(p->moment->overlay, p->moment->state, a, p->d->attention)) return;
        float x0, y0, x1, y1;
        screen_of(p, a, &x0, &y0);
        const lud_rgba colour = colour_of(p->model, p->theme, p->moment->state, a);
        for (int e = 0; e < p->d->n; e++) {
            const float weight = p->d->attention[e];
            if (e == a || weight < least) continue;
            screen_of(p, e, &x1, &y1);
            lud_canvas_line(p->canvas, x0, y0, x1, y1, 1 + 0.05f * weight * p->camera->scale,
                            lud_faded(colour, 0.12f + 0.6f * weight));
        }
    }
}

/* A dotted way from an agent to the body it has to reach. */
static void draw_way(const painter *p, int agent) {
    int goal = lud_particle_goal(p->model, p->moment->state, agent);
    if (goal < 0) return;
    float x0, y0, x1, y1;
    screen_of(p, agent, &x0, &y0);
    screen_of(p, goal, &x1, &y1);
    float length = hypotf(x1 - x0, y1 - y0), gap = fmaxf(6, 0.035f * p->camera->scale);
    lud_rgba colour = lud_faded(colour_of(p->model, p->theme, p->moment->state, agent), 0.55f);
    for (float along = gap; along < length; along += gap)
        lud_canvas_disc(p->canvas, x0 + (x1 - x0) * along / length, y0 + (y1 - y0) * along / length,
                        fmaxf(1.2f, 0.005f * p->camera->scale), colour);
}

static void draw_contacts(const painter *p) {
    for (int a = 0; a < p->d->n; a++) {
        lud_particle_entity x = lud_particle_get_entity(p->model, a);
        for (int b = a + 1; x.collides && b < p->d->n; b++) {
            lud_particle_entity y = lud_particle_get_entity(p->model, b);
            float d = distance_of(p, a, b), reach = (float)(x.radius + y.radius);
            if (!y.collides || (!x.movable && !y.movable) || !(d < reach)) continue;
            float share = reach > 0 ? (float)x.radius / reach : 0.5f, sx, sy;
            const float *u = p->d->position[a], *v = p->d->position[b];
            lud_camera_to_screen(p->camera, u[0] + (v[0] - u[0]) * share, u[1] + (v[1] - u[1]) * share, &sx,
                                 &sy);
            float radius = fmaxf(5, (float)fmin(x.radius, y.radius) * 0.7f * p->camera->scale);
            lud_canvas_disc(p->canvas, sx, sy, radius + 2,
                            p->theme->floor); /* seen on bodies of that colour too */
            lud_canvas_disc(p->canvas, sx, sy, radius, lud_faded(p->theme->bad, 0.3f));
            lud_canvas_arc(p->canvas, sx, sy, radius, 2, 0, 6.2832f, p->theme->bad);
        }
    }
}

/* --- bodies --- */

static void draw_landmark(const painter *p, int e) {
    lud_particle_entity entity = lud_particle_get_entity(p->model, e);
    lud_rgba colour = colour_of(p->model, p->theme, p->moment->state, e);
    float x, y, radius = (float)entity.radius * p->camera->scale;
    screen_of(p, e, &x, &y);
    if (entity.collides) { /* solid */
        lud_rgba solid = lud_mixed(colour, p->theme->wall, 0.7f);
        lud_canvas_disc(p->canvas, x, y, radius, solid);
        lud_canvas_disc(p->canvas, x - 0.2f * radius, y - 0.22f * radius, 0.62f * radius,
                        lud_mixed(solid, p->theme->wall_edge, 0.35f));
        return;
    }
    /* a mark on the ground: where somebody goes, eats or hides */
    float thick = fmaxf(1.5f, 0.12f * fminf(radius, 0.06f * p->camera->scale));
    lud_canvas_disc(p->canvas, x, y, radius, lud_faded(colour, 0.2f));
    lud_canvas_arc(p->canvas, x, y, radius, thick, 0, 6.2832f, colour);
    if (radius < 0.12f * p->camera->scale)
        lud_canvas_disc(p->canvas, x, y, fmaxf(1.5f, 0.28f * radius), colour);
}

/* What an agent says: the letter of the strongest component, in a bubble. */
static void draw_speech(const painter *p, int agent, float x, float y, float radius) {
    double speech[LUD_PARTICLE_MAX_SPEECH];
    int size = lud_particle_speech_size(p->model), loudest = 0;
    lud_particle_get_speech(p->model, p->moment->state, agent, speech);
    for (int c = 1; c < size; c++)
        if (speech[c] > speech[loudest]) loudest = c;
    if (size == 0 || !(speech[loudest] > 0)) return;
    char text[12];
    if (loudest < 26)
        snprintf(text, sizeof text, "%c", 'A' + loudest);
    else
        snprintf(text, sizeof text, "%d", loudest);
    float w = lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, text) + 10;
    float h = lud_canvas_line_height(p->canvas, LUD_TEXT_SMALL);
    lud_box box = {roundf(x + 0.6f * radius), roundf(y - 0.6f * radius - h), w, h};
    const float tail[3][2] = {
        {box.x + 3, box.y + h - 4}, {box.x + 10, box.y + h - 1}, {box.x - 2, box.y + h + 5}};
    lud_canvas_polygon(p->canvas, tail, 3, p->theme->text);
    lud_canvas_round_rect(p->canvas, box, 0.4f * h, p->theme->text);
    lud_canvas_text(p->canvas, box.x + 5, box.y, LUD_TEXT_SMALL, p->theme->floor, text);
}

/* The body of an agent by its role: robots are rounded squares with a lens, people discs with a nose, others
 * discs. */
static void draw_figure(lud_canvas *canvas, const lud_theme *theme, lud_role role, lud_rgba colour, float x,
                        float y, float radius, float heading) {
    lud_rgba edge = lud_mixed(colour, theme->text, 0.45f);
    float thick = fmaxf(1.2f, 0.09f * radius);
    if (role == LUD_ROLE_ROBOT) {
        lud_box box = {roundf(x - 0.9f * radius), roundf(y - 0.9f * radius), roundf(1.8f * radius),
                       roundf(1.8f * radius)};
        lud_canvas_round_rect(canvas, box, 0.45f * radius, colour);
        lud_canvas_frame(canvas, box, 0.45f * radius, thick, edge);
        lud_canvas_disc(canvas, x + 0.35f * radius * cosf(heading), y + 0.35f * radius * sinf(heading),
                        0.33f * radius, theme->floor);
        return;
    }
    if (role == LUD_ROLE_HUMAN)
        lud_canvas_disc(canvas, x + radius * cosf(heading), y + radius * sinf(heading), 0.28f * radius, edge);
    lud_canvas_disc(canvas, x, y, radius, colour);
    lud_canvas_arc(canvas, x, y, radius, thick, 0, 6.2832f, edge);
}

/* Who has left the picture is shown by an arrow at its rim; false when the point is inside. */
static bool draw_outside(const painter *p, float x, float y, lud_rgba colour) {
    const lud_box *v = &p->camera->viewport;
    if (lud_box_contains(*v, x, y)) return false;
    const float rim = 12;
    float edge_x = fminf(fmaxf(x, v->x + rim), v->x + v->w - rim),
          edge_y = fminf(fmaxf(y, v->y + rim), v->y + v->h - rim);
    float length = hypotf(x - edge_x, y - edge_y), ux = (x - edge_x) / length, uy = (y - edge_y) / length;
    const float points[3][2] = {{edge_x + 9 * ux, edge_y + 9 * uy},
                                {edge_x - 7 * ux - 7 * uy, edge_y - 7 * uy + 7 * ux},
                                {edge_x - 7 * ux + 7 * uy, edge_y - 7 * uy - 7 * ux}};
    lud_canvas_polygon(p->canvas, points, 3, colour);
    return true;
}

/* Where an agent has been, fading. */
static void draw_trail(const painter *p, int agent) {
    const lud_rgba colour = colour_of(p->model, p->theme, p->moment->state, agent);
    const float radius = (float)lud_particle_get_entity(p->model, agent).radius * p->camera->scale;
    int step = lud_particle_step_count(p->model, p->moment->state);
    float x1, y1;
    screen_of(p, agent, &x1, &y1);
    for (int k = 0; k < p->moment->n_trail; k++) {
        const uint8_t *state = p->moment->trail[k];
        const int earlier = lud_particle_step_count(p->model, state);
        if (earlier >= step) return; /* another episode */
        step = earlier;
        const lud_particle_body body = lud_particle_get_body(p->model, state, agent);
        float x0, y0;
        lud_camera_to_screen(p->camera, (float)body.position[0], -(float)body.position[1], &x0, &y0);
        const float age = (float)(k + 1) / (float)(LUD_TRAIL_STATES + 1);
        const lud_rgba faded = lud_faded(colour, 0.5f * (1 - age));
        if (hypotf(x1 - x0, y1 - y0) >
            0.5f) { /* beads: where lines that shine through meet they would show anyway */
            lud_canvas_line(p->canvas, x0, y0, x1, y1, fmaxf(1.5f, radius * (0.3f - 0.2f * age)), faded);
            lud_canvas_disc(p->canvas, x0, y0, fmaxf(1.5f, radius * (0.3f - 0.15f * age)), faded);
        }
        x1 = x0;
        y1 = y0;
    }
}

static void draw_agent(const painter *p, int agent) {
    lud_particle_entity entity = lud_particle_get_entity(p->model, agent);
    lud_particle_body body = lud_particle_get_body(p->model, p->moment->state, agent);
    lud_rgba colour = colour_of(p->model, p->theme, p->moment->state, agent);
    float x, y, scale = p->camera->scale, radius = fmaxf(3, (float)entity.radius * scale);
    screen_of(p, agent, &x, &y);
    if (draw_outside(p, x, y, colour)) return;
    float vx = (float)body.velocity[0], vy = -(float)body.velocity[1], speed = hypotf(vx, vy);
    if (p->moment->selected_agent == agent)
        lud_canvas_arc(p->canvas, x, y, radius + 5, 2.5f, 0, 6.2832f, p->theme->accent);
    draw_figure(p->canvas, p->theme, p->d->drawing.model->layout.roles[agent], colour, x, y, radius,
                speed > 1e-4f ? atan2f(vy, vx) : -1.5708f);
    if (speed > 0.03f) { /* where it will be in a quarter of a second */
        float tip = radius + 0.25f * speed * scale, ux = vx / speed, uy = vy / speed;
        lud_canvas_arrow(p->canvas, x + 0.5f * radius * ux, y + 0.5f * radius * uy, x + tip * ux,
                         y + tip * uy, fmaxf(1.5f, 0.006f * scale), lud_mixed(colour, p->theme->text, 0.6f));
    }
    draw_speech(p, agent, x, y, radius);
    if (!p->moment->labels) return;
    char number[16];
    snprintf(number, sizeof number, "%d", agent);
    float w = lud_canvas_text_width(p->canvas, LUD_TEXT_SMALL, number);
    float h = lud_canvas_line_height(p->canvas, LUD_TEXT_SMALL);
    lud_box tag = {roundf(x - radius - w - 8), roundf(y - radius - 0.5f * h), w + 8, h};
    lud_canvas_round_rect(p->canvas, tag, 0.3f * h, lud_faded(p->theme->text, 0.88f));
    lud_canvas_text(p->canvas, tag.x + 4, tag.y, LUD_TEXT_SMALL, p->theme->floor, number);
}

static void draw(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme, const lud_camera *camera,
                 const lud_moment *moment) {
    particle_drawing *d = (particle_drawing *)drawing;
    place_bodies(d, moment);
    painter p = {d, model_of(drawing), canvas, theme, camera, moment};
    draw_ground(&p);
    draw_edges(&p);
    draw_attention(&p);
    for (int e = d->n - 1; e >= d->n_agents; e--)
        draw_landmark(&p, e); /* wide ones stand last in the tables */
    for (int a = 0; a < d->n_agents; a++) draw_way(&p, a);
    for (int a = 0; a < d->n_agents; a++) draw_trail(&p, a);
    for (int a = 0; a < d->n_agents; a++) draw_agent(&p, a);
    draw_contacts(&p);
}

static void agent_position(lud_drawing *drawing, const lud_moment *moment, int agent, float *x, float *y) {
    float position[2];
    body_at(model_of(drawing), moment, agent, position);
    *x = position[0];
    *y = position[1];
}

static bool is_at(const lud_particle_model *m, const uint8_t *state, int entity, float x, float y) {
    const lud_particle_body body = lud_particle_get_body(m, state, entity);
    return hypot((double)x - body.position[0], -(double)y - body.position[1]) <=
           lud_particle_get_entity(m, entity).radius;
}

static int agent_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    int agent = drawing->model->layout.n_agents - 1; /* the last one is drawn on top */
    while (agent >= 0 && !is_at(model_of(drawing), state, agent, x, y)) agent--;
    return agent;
}

/* --- dragging --- */

static int thing_at(lud_drawing *drawing, const uint8_t *state, float x, float y) {
    const lud_particle_model *m = model_of(drawing);
    const int agent = agent_at(drawing, state, x, y);
    for (int e = drawing->model->layout.n_agents; e < lud_particle_entity_count(m) && agent < 0; e++)
        if (is_at(m, state, e, x, y)) return e;
    return agent;
}

static void move_thing(lud_drawing *drawing, uint8_t *state, int thing, float x, float y) {
    /* it is held, so it rests */
    lud_particle_set_body(model_of(drawing), state, thing,
                          (lud_particle_body){.position = {(double)x, -(double)y}});
}

/* --- in words --- */

static void describe_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out) {
    const lud_particle_model *m = model_of(drawing);
    lud_particle_entity entity = lud_particle_get_entity(m, agent);
    lud_particle_body body = lud_particle_get_body(m, state, agent);
    lud_particle_tally tally = lud_particle_get_tally(m, state, agent);
    lud_text_append(out, "%s %d\n", entity.kind, entity.member);
    lud_text_append(out, "position\t%.3f, %.3f\n", body.position[0], body.position[1]);
    lud_text_append(out, "velocity\t%.3f, %.3f\n", body.velocity[0], body.velocity[1]);
    int goal = lud_particle_goal(m, state, agent);
    if (goal >= 0) {
        lud_particle_body to = lud_particle_get_body(m, state, goal);
        lud_text_append(out, "goal\t%s %d\n", lud_particle_get_entity(m, goal).kind,
                        lud_particle_get_entity(m, goal).member);
        lud_text_append(out, "distance\t%.3f\n",
                        hypot(to.position[0] - body.position[0], to.position[1] - body.position[1]));
        if (tally.reached >= 0) lud_text_append(out, "reached at step\t%d\n", tally.reached);
    }
    lud_text_append(out, "collisions\t%d with agents, %d with obstacles\n", tally.agent_collisions,
                    tally.obstacle_collisions);
    double speech[LUD_PARTICLE_MAX_SPEECH];
    if (!entity.speaks) return;
    lud_particle_get_speech(m, state, agent, speech);
    lud_text_append(out, "says\t");
    for (int c = 0; c < lud_particle_speech_size(m); c++)
        lud_text_append(out, "%s%.2g", c ? " " : "", speech[c]);
    lud_text_append(out, "\n");
}

static void describe_cell(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out) {
    lud_particle_metrics metrics = lud_particle_get_metrics(model_of(drawing), state);
    (void)x; /* the plane has no cells: the episode instead */
    (void)y;
    lud_text_append(out, "Episode\nstep\t%d\nreward\t%.3f\ncollisions\t%g\n",
                    lud_particle_step_count(model_of(drawing), state), metrics.reward, metrics.collisions);
    if (metrics.has_success) lud_text_append(out, "success\t%s\n", metrics.success > 0 ? "yes" : "not yet");
    for (int r = 0; r < lud_particle_reward_count(model_of(drawing)); r++)
        lud_text_append(out, "%s\t%.3f\n", lud_particle_reward_name(model_of(drawing), r),
                        lud_particle_reward_return(model_of(drawing), state, r));
}

/* Calls for what an agent met between two states. */
static int compare(lud_drawing *drawing, const uint8_t *before, const uint8_t *after, lud_text *out) {
    const lud_particle_model *m = model_of(drawing);
    int events = 0;
    if (lud_particle_step_count(m, before) >= lud_particle_step_count(m, after)) return 0;
    for (int a = 0; a < drawing->model->layout.n_agents; a++) {
        lud_particle_tally from = lud_particle_get_tally(m, before, a),
                           to = lud_particle_get_tally(m, after, a);
        lud_particle_entity entity = lud_particle_get_entity(m, a);
        if (from.reached < 0 && to.reached >= 0) {
            events |= LUD_EVENT_GOAL;
            if (out) lud_text_append(out, "%s %d reaches its goal\n", entity.kind, entity.member);
        }
        if (to.agent_collisions > from.agent_collisions ||
            to.obstacle_collisions > from.obstacle_collisions) {
            events |= LUD_EVENT_ACT;
            if (out)
                lud_text_append(out, "%s %d touches %s\n", entity.kind, entity.member,
                                to.agent_collisions > from.agent_collisions ? "another agent"
                                                                            : "an obstacle");
        }
    }
    return events;
}

static void describe_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after,
                            lud_text *out) {
    compare(drawing, before, after, out);
}

static int events(lud_drawing *drawing, const uint8_t *before, const uint8_t *after) {
    return compare(drawing, before, after, NULL);
}

static void portrait(lud_drawing *drawing, lud_canvas *canvas, const uint8_t *state, int agent, float x,
                     float y, int size) {
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    float half = 0.5f * (float)size;
    draw_figure(canvas, theme, drawing->model->layout.roles[agent],
                colour_of(model_of(drawing), theme, state, agent), x + half, y + half, 0.8f * half, -1.5708f);
}

const lud_draw_world lud_draw_particle = {.name = "particle",
                                          .trails = true,
                                          .thing_at = thing_at,
                                          .move_thing = move_thing,
                                          .create = create,
                                          .destroy = destroy,
                                          .extent = extent,
                                          .draw = draw,
                                          .agent_position = agent_position,
                                          .agent_at = agent_at,
                                          .describe_agent = describe_agent,
                                          .describe_cell = describe_cell,
                                          .describe_change = describe_change,
                                          .events = events,
                                          .portrait = portrait};
