#include "sim/support_oracle.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_AGENTS = 8, MOST_CELLS = 64, MOST_LOOSE = 64 };

typedef struct person {
    int x, y, dir;
    lud_colour colour;
    bool dead, paused, pushes, enters, carries;
    lud_grid_object thing;
    int forced;
} person;

typedef struct world {
    const lud_grid_spec *spec;
    int w, h, n, step;
    lud_grid_scene_cell ground[MOST_CELLS];
    bool vacated_by_push[MOST_CELLS];
    lud_grid_piece loose[MOST_LOOSE];
    int n_loose;
    person who[MOST_AGENTS];
    bool taken[MOST_CELLS]; /* START: cells of the living at the start of the step */
} world;

typedef struct seen {
    lud_grid_type type; /* LUD_AGENT, LUD_EMPTY, ... what the cell shows */
    lud_grid_scene_cell *fixed;
    int loose; /* index of the piece, or -1 */
} seen;

typedef struct task {
    const char *const *names;
    int action[MOST_AGENTS];
    oracle_emit *emit;
    void *context;
    lud_grid_scene *scratch;
    /* the plan */
    int n_blocks, block_size[MOST_AGENTS], block[MOST_AGENTS][MOST_AGENTS];
    bool normal[MOST_AGENTS], wobbly[MOST_AGENTS], magic[MOST_AGENTS], bushy[MOST_AGENTS];
    int winner[MOST_AGENTS], wobble[MOST_AGENTS], attempt[MOST_AGENTS], entry[MOST_AGENTS];
} task;

static const int step_x[4] = {1, 0, -1, 0}, step_y[4] = {0, 1, 0, -1};

static bool is_inside(const world *v, int x, int y) {
    return x >= 0 && y >= 0 && x < v->w && y < v->h;
}

static bool is(const task *t, int i, const char *name) {
    return strcmp(t->names[t->action[i]], name) == 0;
}

static seen look(world *v, int x, int y) {
    seen s = {LUD_WALL, NULL, -1};
    if (!is_inside(v, x, y)) return s;
    for (int i = 0; i < v->n; i++)
        if (v->who[i].x == x && v->who[i].y == y) {
            s.type = LUD_AGENT;
            return s;
        }
    for (int k = 0; k < v->n_loose; k++)
        if (v->loose[k].x == x && v->loose[k].y == y) {
            s.type = v->loose[k].object.type;
            s.loose = k;
            return s;
        }
    lud_grid_scene_cell *cell = &v->ground[y * v->w + x];
    if (v->vacated_by_push[y * v->w + x] || cell->trampled) {
        s.type = LUD_EMPTY;
        return s;
    }
    s.type = cell->ground.type;
    s.fixed = cell;
    return s;
}

static seen look_ahead(world *v, int i) {
    return look(v, v->who[i].x + step_x[v->who[i].dir], v->who[i].y + step_y[v->who[i].dir]);
}

static bool can_overlap(seen s) {
    switch (s.type) {
    case LUD_EMPTY:
    case LUD_FLOOR:
    case LUD_GOAL:
    case LUD_LAVA:
    case LUD_SWITCH:
    case LUD_UNSTEADY_GROUND:
        return true;
    case LUD_DOOR:
        return s.fixed->ground.door == LUD_DOOR_OPEN;
    default:
        return false;
    }
}

static bool is_taken(const world *v, int x, int y) {
    return is_inside(v, x, y) && v->taken[y * v->w + x];
}
static bool is_rollable(seen s) {
    return s.type == LUD_BLOCK || s.type == LUD_ROCK;
}
static bool is_trampler(const person *p) {
    return p->pushes || p->enters || p->colour == LUD_GREY;
}

/* Can i push the run that begins at (x, y)? Its landing cell goes to (*ex, *ey). */
static bool pushable(world *v, int i, int x, int y, int *ex, int *ey) {
    int d = v->who[i].dir;
    for (;;) {
        if (!is_inside(v, x, y)) return false;
        seen s = look(v, x, y);
        if (!is_rollable(s)) {
            *ex = x;
            *ey = y;
            return can_overlap(s) && !is_taken(v, x, y);
        }
        if (s.type == LUD_ROCK && !v->who[i].pushes) return false;
        x += step_x[d];
        y += step_y[d];
    }
}

static void push(world *v, int i, int x, int y) {
    int ex, ey, d = v->who[i].dir;
    if (!pushable(v, i, x, y, &ex, &ey)) return;
    while (ex != x || ey != y) { /* from the far end, one object after the other */
        int bx = ex - step_x[d], by = ey - step_y[d];
        seen s = look(v, bx, by);
        v->loose[s.loose].x = ex;
        v->loose[s.loose].y = ey;
        ex = bx;
        ey = by;
    }
    v->vacated_by_push[v->who[i].y * v->w + v->who[i].x] = true;
    v->who[i].x = x;
    v->who[i].y = y;
}

static void walk(world *v, int i) {
    person *p = &v->who[i];
    int x = p->x + step_x[p->dir], y = p->y + step_y[p->dir];
    seen s = look(v, x, y);
    if (is_taken(v, x, y)) {
        /* not in this step */
    } else if (is_rollable(s)) {
        push(v, i, x, y);
    } else if (s.type == LUD_BUSH) {
        if (is_trampler(p)) s.fixed->trampled = true;
        p->x = x;
        p->y = y;
    } else if (can_overlap(s)) {
        p->x = x;
        p->y = y;
    }
    if (s.type == LUD_LAVA) p->dead = true;
}

static bool is_thing(seen s) {
    return s.type == LUD_KEY || s.type == LUD_BALL || s.type == LUD_BOX;
}

static void remove_loose(world *v, int k) {
    v->loose[k] = v->loose[--v->n_loose];
}

static void grab(world *v, int i) {
    seen s = look_ahead(v, i);
    if (!is_thing(s) || v->who[i].carries) return;
    v->who[i].carries = true;
    v->who[i].thing = v->loose[s.loose].object;
    remove_loose(v, s.loose);
}

static void put_down(world *v, int i) {
    person *p = &v->who[i];
    if (!p->carries || !can_overlap(look_ahead(v, i))) return;
    p->carries = false;
    v->loose[v->n_loose++] =
        (lud_grid_piece){.object = p->thing, .x = p->x + step_x[p->dir], .y = p->y + step_y[p->dir]};
}

static void disable_all(world *v, lud_grid_type type) {
    for (int c = 0; c < v->w * v->h; c++) {
        lud_grid_object *o = &v->ground[c].ground;
        if (o->type != type) continue;
        o->enabled = !o->enabled;
        if (type != LUD_PAUSE_SWITCH || o->enabled || !o->on) continue;
        for (int j = 0; j < v->n; j++)
            if (v->who[j].colour == o->target) v->who[j].paused = false;
    }
}

/* Returns the control button that has just begun to wait because of this toggle. */
static lud_grid_scene_cell *press(world *v, int i) {
    person *p = &v->who[i];
    seen s = look_ahead(v, i);
    if (s.type == LUD_BOX) {
        lud_grid_object *box = &v->loose[s.loose].object;
        bool full =
            box->content_type == LUD_KEY || box->content_type == LUD_BALL || box->content_type == LUD_BOX;
        if (full) {
            lud_grid_object inside = lud_grid_object_default(box->content_type);
            inside.colour = box->content_colour;
            *box = inside;
        } else {
            remove_loose(v, s.loose);
        }
        return NULL;
    }
    if (!s.fixed) return NULL;
    lud_grid_object *o = &s.fixed->ground;
    switch (o->type) {
    case LUD_DOOR:
        if (o->door == LUD_DOOR_OPEN)
            o->door = LUD_DOOR_CLOSED;
        else if (o->door == LUD_DOOR_CLOSED)
            o->door = LUD_DOOR_OPEN;
        else if (p->carries && p->thing.type == LUD_KEY && p->thing.colour == o->colour)
            o->door = LUD_DOOR_OPEN;
        return NULL;
    case LUD_KILL_BUTTON:
        if (p->colour == o->trigger && o->enabled)
            for (int j = 0; j < v->n; j++)
                if (v->who[j].colour == o->target) v->who[j].dead = true;
        return NULL;
    case LUD_PAUSE_SWITCH:
        if (p->colour != o->trigger || !o->enabled) return NULL;
        o->on = !o->on;
        for (int j = 0; j < v->n; j++)
            if (v->who[j].colour == o->target) v->who[j].paused = o->on;
        return NULL;
    case LUD_DISABLING_SWITCH:
        if (p->colour == o->trigger) disable_all(v, o->target_type);
        return NULL;
    case LUD_CONTROL_BUTTON:
        if (!o->enabled) return NULL;
        if (p->colour == o->target) {
            if (s.fixed->awaiting && s.fixed->controlled_agent == i) return NULL;
            s.fixed->awaiting = true;
            s.fixed->controlled_agent = i;
            return s.fixed;
        }
        if (p->colour == o->trigger && s.fixed->controlled_agent >= 0 && s.fixed->recorded_action >= 0)
            v->who[s.fixed->controlled_agent].forced = s.fixed->recorded_action;
        return NULL;
    default:
        return NULL;
    }
}

static void execute(const task *t, world *v, int i) {
    person *p = &v->who[i];
    lud_grid_scene_cell *fresh = NULL;
    if (p->dead || p->paused || is(t, i, "still")) return;
    if (is(t, i, "left")) p->dir = (p->dir + 3) % 4;
    if (is(t, i, "right")) p->dir = (p->dir + 1) % 4;
    if (is(t, i, "forward")) walk(v, i);
    if (is(t, i, "pickup")) grab(v, i);
    if (is(t, i, "drop")) put_down(v, i);
    if (is(t, i, "toggle")) fresh = press(v, i);
    for (int c = 0; c < v->w * v->h; c++) {
        lud_grid_scene_cell *cell = &v->ground[c];
        if (cell->ground.type != LUD_CONTROL_BUTTON || cell == fresh) continue;
        if (!cell->awaiting || cell->controlled_agent != i) continue;
        cell->recorded_action = t->action[i];
        cell->awaiting = false;
    }
}

/* --- Late phases --- */

static void stumble_phase(const task *t, world *v) {
    bool in[MOST_AGENTS] = {false}, full[MOST_AGENTS] = {false};
    int cx[MOST_AGENTS] = {0}, cy[MOST_AGENTS] = {0};
    for (int i = 0; i < v->n; i++) {
        person *p = &v->who[i];
        in[i] = t->wobbly[i] && !p->dead && !p->paused;
        if (in[i]) p->dir = (p->dir + (t->wobble[i] == 1 ? 3 : t->wobble[i] == 2 ? 1 : 0)) % 4;
    }
    for (int i = 0; i < v->n; i++) {
        if (!in[i]) continue;
        int x = v->who[i].x + step_x[v->who[i].dir], y = v->who[i].y + step_y[v->who[i].dir];
        cx[i] = x;
        cy[i] = y;
        int ex, ey;
        if (is_rollable(look(v, x, y)) && pushable(v, i, x, y, &ex, &ey)) {
            cx[i] = ex;
            cy[i] = ey;
        }
    }
    for (int i = 0; i < v->n; i++) {
        if (!in[i]) continue;
        full[i] = look(v, cx[i], cy[i]).type == LUD_AGENT || is_taken(v, cx[i], cy[i]);
        for (int j = 0; j < v->n; j++)
            if (j != i && in[j] && cx[j] == cx[i] && cy[j] == cy[i]) full[i] = true;
    }
    for (int i = 0; i < v->n; i++) {
        if (!in[i] || full[i]) continue;
        person *p = &v->who[i];
        int x = p->x + step_x[p->dir], y = p->y + step_y[p->dir];
        seen s = look(v, x, y);
        if (is_rollable(s)) {
            push(v, i, x, y);
        } else if (s.type == LUD_BUSH || can_overlap(s)) {
            if (s.type == LUD_BUSH && is_trampler(p)) s.fixed->trampled = true;
            p->x = x;
            p->y = y;
            if (s.type == LUD_LAVA) p->dead = true;
        }
    }
}

static void attempts(const task *t, world *v) {
    for (int i = 0; i < v->n; i++) {
        if (!t->magic[i]) continue;
        person *p = &v->who[i];
        seen s = look_ahead(v, i);
        if (t->attempt[i] == 0) {
            p->x += step_x[p->dir];
            p->y += step_y[p->dir];
        } else if (t->attempt[i] == 2 && s.type == LUD_MAGIC_WALL) {
            s.fixed->ground.active = false;
        }
    }
    for (int i = 0; i < v->n; i++) {
        if (!t->bushy[i] || t->entry[i] != 0 || look_ahead(v, i).type != LUD_BUSH) continue;
        v->who[i].x += step_x[v->who[i].dir];
        v->who[i].y += step_y[v->who[i].dir];
    }
}

/* --- Outcomes --- */

static void emit_outcome(const task *t, const world *v, double probability) {
    lud_grid_scene *s = t->scratch;
    if (probability == 0.0) return;
    s->step = v->step + 1;
    memcpy(s->cells, v->ground, (size_t)(v->w * v->h) * sizeof *s->cells);
    s->n_pieces = v->n_loose;
    memcpy(s->pieces, v->loose, (size_t)v->n_loose * sizeof *s->pieces);
    for (int i = 0; i < v->n; i++) {
        const person *p = &v->who[i];
        lud_grid_scene_agent *a = &s->agents[i];
        a->x = p->x;
        a->y = p->y;
        a->direction = (lud_direction)p->dir;
        a->terminated = p->dead;
        a->paused = p->paused;
        a->forced_action = p->forced;
        a->carries = p->carries;
        a->carried = p->thing;
    }
    t->emit(t->context, s, probability);
}

static void everybody_in_turn(const task *t, const world *start) {
    world v = *start;
    for (int i = 0; i < v.n; i++) execute(t, &v, i);
    emit_outcome(t, &v, 1.0);
}

static void resolve(const task *t, const world *start, double probability) {
    world v = *start;
    bool went[MOST_AGENTS] = {false};
    for (int b = 0; b < t->n_blocks; b++) {
        execute(t, &v, t->winner[b]);
        went[t->winner[b]] = true;
    }
    for (int i = 0; i < v.n; i++)
        if (t->normal[i] && !went[i]) execute(t, &v, i);
    stumble_phase(t, &v);
    attempts(t, &v);
    emit_outcome(t, &v, probability);
}

static void choose_late(task *t, world *v, int i, double probability) {
    while (i < v->n && !t->wobbly[i] && !t->magic[i] && !t->bushy[i]) i++;
    if (i == v->n) {
        resolve(t, v, probability);
        return;
    }
    if (t->wobbly[i]) {
        double q = v->ground[v->who[i].y * v->w + v->who[i].x].ground.stumble;
        for (t->wobble[i] = 0; t->wobble[i] < 3; t->wobble[i]++)
            choose_late(t, v, i + 1, probability * (t->wobble[i] == 0 ? 1 - q : q / 2));
        return;
    }
    const lud_grid_object *o = &look_ahead(v, i).fixed->ground;
    if (t->magic[i]) {
        double e = o->entry, z = o->solidify;
        const double chance[3] = {e, (1 - e) * (1 - z), (1 - e) * z};
        for (t->attempt[i] = 0; t->attempt[i] < 3; t->attempt[i]++)
            choose_late(t, v, i + 1, probability * chance[t->attempt[i]]);
        return;
    }
    for (t->entry[i] = 0; t->entry[i] < 2; t->entry[i]++)
        choose_late(t, v, i + 1, probability * (t->entry[i] == 0 ? o->enter : 1 - o->enter));
}

static void choose_winners(task *t, world *v, int b, double probability) {
    if (b == t->n_blocks) {
        choose_late(t, v, 0, probability);
        return;
    }
    for (int k = 0; k < t->block_size[b]; k++) {
        t->winner[b] = t->block[b][k];
        choose_winners(t, v, b + 1, probability / t->block_size[b]);
    }
}

/* --- Plan --- */

/* What i claims: kind 0 is private. */
static void claim(const task *t, world *v, int i, int key[3]) {
    const person *p = &v->who[i];
    seen s = look_ahead(v, i);
    key[0] = 0;
    key[1] = p->x + step_x[p->dir];
    key[2] = p->y + step_y[p->dir];
    if (is(t, i, "forward")) {
        int ex = 0, ey = 0;
        if (!is_rollable(s)) {
            key[0] = 'c';
        } else if (pushable(v, i, key[1], key[2], &ex, &ey)) {
            key[0] = 'c';
            key[1] = ex;
            key[2] = ey;
        }
    } else if (is(t, i, "pickup") && is_thing(s)) {
        key[0] = 'p';
    } else if (is(t, i, "drop") && s.type == LUD_AGENT) {
        key[0] = 'd';
    }
}

static int block_with(const task *t, int agent) {
    for (int b = 0; b < t->n_blocks; b++)
        for (int k = 0; k < t->block_size[b]; k++)
            if (t->block[b][k] == agent) return b;
    return -1;
}

static void unite(task *t, int a, int b) {
    if (a == b) return;
    int low = a < b ? a : b, high = a < b ? b : a;
    for (int k = 0; k < t->block_size[high]; k++) t->block[low][t->block_size[low]++] = t->block[high][k];
    for (int c = high; c + 1 < t->n_blocks; c++) {
        t->block_size[c] = t->block_size[c + 1];
        memcpy(t->block[c], t->block[c + 1], sizeof t->block[c]);
    }
    t->n_blocks--;
}

static void make_blocks(task *t, world *v) {
    int keys[MOST_AGENTS][3];
    t->n_blocks = 0;
    for (int i = 0; i < v->n; i++) {
        if (!t->normal[i]) continue;
        claim(t, v, i, keys[i]);
        int b = -1;
        for (int j = 0; j < i && b < 0; j++)
            if (t->normal[j] && keys[i][0] && memcmp(keys[i], keys[j], sizeof keys[i]) == 0)
                b = block_with(t, j);
        if (b < 0) {
            b = t->n_blocks++;
            t->block_size[b] = 0;
        }
        t->block[b][t->block_size[b]++] = i;
    }
    for (int i = 0; i < v->n; i++) {
        if (!t->normal[i] || !is(t, i, "toggle")) continue;
        seen s = look_ahead(v, i);
        if (s.type != LUD_KILL_BUTTON && s.type != LUD_PAUSE_SWITCH) continue;
        if (!s.fixed->ground.enabled || s.fixed->ground.trigger != v->who[i].colour) continue;
        for (int j = 0; j < v->n; j++)
            if (j != i && t->normal[j] && v->who[j].colour == s.fixed->ground.target)
                unite(t, block_with(t, i), block_with(t, j));
    }
}

static bool rotates(const task *t, int i) {
    return is(t, i, "left") || is(t, i, "right");
}

static void plan_and_choose(task *t, world *v) {
    bool active[MOST_AGENTS] = {false}, unst[MOST_AGENTS] = {false}, bush[MOST_AGENTS] = {false},
         mw[MOST_AGENTS] = {false}, full[MOST_AGENTS] = {false};
    int n_active = 0, n_beyond = 0;
    bool any_unst = false, any_bush = false, any_mw = false, any_mw_active = false;
    for (int i = 0; i < v->n; i++) {
        const person *p = &v->who[i];
        active[i] = !p->dead && !p->paused && !is(t, i, "still");
        if (!active[i]) continue;
        n_active++;
        n_beyond += !rotates(t, i);
        if (!is(t, i, "forward")) continue;
        seen s = look_ahead(v, i);
        unst[i] = v->ground[p->y * v->w + p->x].ground.type == LUD_UNSTEADY_GROUND;
        bush[i] = s.type == LUD_BUSH && !is_trampler(p) && s.fixed->ground.enter < 1;
        if (p->enters && s.type == LUD_MAGIC_WALL) {
            int opposite = (p->dir + 2) % 4;
            mw[i] = opposite == (int)s.fixed->ground.side;
            full[i] = s.fixed->ground.active && (mw[i] || s.fixed->ground.side == LUD_ALL_SIDES);
            any_mw_active |= mw[i] && s.fixed->ground.active;
        }
        any_unst |= unst[i];
        any_bush |= bush[i];
        any_mw |= mw[i];
    }
    if ((n_active <= 1 && !any_unst && !any_bush && !any_mw_active) ||
        (n_beyond < 2 && !any_unst && !any_bush && !any_mw)) {
        everybody_in_turn(t, v);
        return;
    }
    bool late = false;
    for (int i = 0; i < v->n; i++) {
        t->magic[i] = active[i] && full[i];
        t->bushy[i] = active[i] && !t->magic[i] && bush[i];
        t->wobbly[i] = active[i] && !t->magic[i] && !t->bushy[i] && unst[i];
        t->normal[i] = active[i] && !t->magic[i] && !t->bushy[i] && !t->wobbly[i];
        late |= t->magic[i] || t->bushy[i] || t->wobbly[i];
    }
    make_blocks(t, v);
    bool clash = false;
    for (int b = 0; b < t->n_blocks; b++) clash |= t->block_size[b] > 1;
    if (clash || late)
        choose_winners(t, v, 0, 1.0);
    else
        everybody_in_turn(t, v);
}

static void read_world(world *v, const lud_grid_spec *spec, const lud_grid_scene *from) {
    memset(v, 0, sizeof *v);
    v->spec = spec;
    v->w = from->width;
    v->h = from->height;
    v->n = from->n_agents;
    v->step = from->step;
    memcpy(v->ground, from->cells, (size_t)(v->w * v->h) * sizeof *v->ground);
    v->n_loose = from->n_pieces;
    memcpy(v->loose, from->pieces, (size_t)from->n_pieces * sizeof *v->loose);
    for (int i = 0; i < v->n; i++) {
        const lud_grid_scene_agent *a = &from->agents[i];
        v->who[i] = (person){.x = a->x,
                             .y = a->y,
                             .dir = (int)a->direction,
                             .colour = a->colour,
                             .dead = a->terminated,
                             .paused = a->paused,
                             .pushes = a->can_push_rocks,
                             .enters = a->can_enter_magic_walls,
                             .carries = a->carries,
                             .thing = a->carried,
                             .forced = a->forced_action};
        if (!a->terminated) v->taken[a->y * v->w + a->x] = true;
    }
}

void oracle_outcomes(const lud_grid_spec *spec, const lud_grid_scene *from, const int32_t *actions,
                     const char *const *names, oracle_emit *emit, void *context) {
    static world v; /* large; the tests are single-threaded */
    if (from->step >= spec->max_steps) return;
    read_world(&v, spec, from);
    task t = {.names = names, .emit = emit, .context = context};
    lud_grid_scene scratch = *from;
    scratch.cells = calloc((size_t)(v.w * v.h), sizeof *scratch.cells);
    scratch.agents = calloc((size_t)v.n + 1, sizeof *scratch.agents);
    scratch.pieces = calloc(MOST_LOOSE, sizeof *scratch.pieces);
    memcpy(scratch.agents, from->agents, (size_t)v.n * sizeof *scratch.agents);
    t.scratch = &scratch;
    for (int i = 0; i < v.n; i++) {
        t.action[i] = v.who[i].forced >= 0 ? v.who[i].forced : actions[i];
        v.who[i].forced = -1;
    }
    plan_and_choose(&t, &v);
    free(scratch.cells);
    free(scratch.agents);
    free(scratch.pieces);
}
