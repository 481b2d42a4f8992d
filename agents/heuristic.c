#include "agents/heuristic.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"
#include "base/options/option_rows.h"
#include "sim/directions.h"
#include "sim/multigrid/grid_model.h"
#include "sim/multigrid/grid_view.h"

typedef struct heuristic_options {
    const char *type;
    double beta;
} heuristic_options;

#define OPTIONS heuristic_options
TABLE(option_table, "heuristic", "walks to its goal, opens doors, fetches keys (multigrid)",
      TEXT(type, NULL, "heuristic"),
      REAL(beta, "1000", 0, 1e9, "inverse temperature: 0 wanders, large goes straight"));

enum { MAX_ACTIONS = 16, WORST_COST = 50 };

/* What a thread works with while it looks at one state. Places are those of cells with a closed border of one
 * cell around the grid, so that no search leaves it. */
typedef struct scratch {
    int busy; /* set atomically */
    lud_grid_scene *scene;
    uint8_t *state; /* the one that the scene shows, once `shows` */
    bool shows;
    const uint8_t *closed; /* [places] of the map in force */
    float *passing;        /* [places] cost of passing a cell in this state */
    uint8_t *wanted;       /* [places] cells of the goal */
    float *cost;           /* [places] of the path from the source, while a search runs */
    uint8_t *seen;         /* [places] closed, or reached by the search */
    int32_t *queue;        /* [cells] */
} scratch;

typedef struct heuristic_policy {
    lud_policy policy;
    double beta;
    int width, n_cells, n_places;
    uint8_t *closed; /* [n_maps][n_places] cells that no path passes, and the border */
    int still, left, right, forward, pickup, drop, toggle, n_actions; /* action numbers, -1: not in the set */
    int n_scratches;
    scratch *scratches;
} heuristic_policy;

/* One decision: whose, where, what for. */
typedef struct view {
    const heuristic_policy *self;
    scratch *s;
    const lud_grid_scene *scene;
    const lud_grid_scene_agent *agent;
    int n_wanted; /* cells of the goal, which the scratch marks */
} view;

static const lud_grid_goal *goal_of(const lud_model *model, int agent, int goal) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    return &m->spec.goals[m->goal_index[m->goal_begin[agent] + goal]];
}

static bool inside(const lud_grid_scene *scene, int x, int y) {
    return x >= 0 && y >= 0 && x < scene->width && y < scene->height;
}

static const lud_grid_scene_cell *neighbour(const view *v, int direction) {
    int x = v->agent->x + lud_step_x(direction), y = v->agent->y + lud_step_y(direction);
    return inside(v->scene, x, y) ? &v->scene->cells[y * v->scene->width + x] : NULL;
}

/* What one meets on top of a cell, agents aside. */
static const lud_grid_object *top_of(const lud_grid_scene *scene, const lud_grid_scene_cell *cell) {
    return cell->piece >= 0 ? &scene->pieces[cell->piece].object : &cell->ground;
}

static float passing_cost(const lud_grid_scene *scene, const lud_grid_scene_cell *cell) {
    if (cell->agent >= 0) return 2;
    const lud_grid_object *top = top_of(scene, cell);
    switch (top->type) {
    case LUD_EMPTY:
    case LUD_GOAL:
    case LUD_FLOOR:
    case LUD_SWITCH:
        return 1;
    case LUD_DOOR:
        return top->door == LUD_DOOR_OPEN ? 1 : top->door == LUD_DOOR_CLOSED ? 2 : 25;
    case LUD_KEY:
    case LUD_BALL:
    case LUD_BOX:
        return 3;
    case LUD_ROCK:
        return WORST_COST;
    default:
        return 2;
    }
}

static bool can_stand_on(const lud_grid_scene_cell *cell) {
    switch (cell->ground.type) {
    case LUD_EMPTY:
    case LUD_GOAL:
    case LUD_FLOOR:
    case LUD_SWITCH:
    case LUD_UNSTEADY_GROUND:
        return true;
    case LUD_DOOR:
        return cell->ground.door == LUD_DOOR_OPEN;
    case LUD_BUSH:
        return cell->trampled;
    default:
        return false;
    }
}

static int place_of(const heuristic_policy *self, int x, int y) {
    return (y + 1) * (self->width + 2) + x + 1;
}

static void set_goal(view *v, lud_grid_goal goal) {
    v->n_wanted = (goal.x2 - goal.x1 + 1) * (goal.y2 - goal.y1 + 1);
    memset(v->s->wanted, 0, (size_t)v->self->n_places);
    for (int y = goal.y1; y <= goal.y2; y++)
        memset(v->s->wanted + place_of(v->self, goal.x1, y), 1, (size_t)(goal.x2 - goal.x1 + 1));
}

/* Breadth-first search from (x, y), neighbours in the order south, north, east, west, that carries along the
 * cost of the path. The potential of the cheapest goal cell. */
static double potential(const view *v, int x, int y) {
    scratch *s = v->s;
    const int source = place_of(v->self, x, y), line = v->self->width + 2;
    const int order[4] = {line, -line, 1, -1};
    if (s->wanted[source]) return 0;
    if (s->closed[source]) return -1;
    int head = 0, tail = 0, wanted = v->n_wanted;
    float best = INFINITY;
    memcpy(s->seen, s->closed, (size_t)v->self->n_places);
    s->seen[source] = 1;
    s->cost[source] = 0;
    s->queue[tail++] = source;
    while (head < tail && wanted > 0) {
        const int from = s->queue[head++];
        for (int i = 0; i < 4; i++) {
            const int next = from + order[i];
            if (s->seen[next]) continue;
            s->seen[next] = 1;
            s->cost[next] = s->cost[from] + s->passing[next];
            s->queue[tail++] = next;
            if (!s->wanted[next]) continue;
            if (s->cost[next] < best) best = s->cost[next];
            wanted--;
        }
    }
    if (best == INFINITY) return -1;
    return -(double)best / ((v->scene->width + v->scene->height) * WORST_COST);
}

static bool fits_a_locked_door(const lud_grid_scene *scene, lud_colour colour) {
    for (int c = 0; c < scene->width * scene->height; c++) {
        const lud_grid_object *ground = &scene->cells[c].ground;
        if (ground->type == LUD_DOOR && ground->door == LUD_DOOR_LOCKED && ground->colour == colour)
            return true;
    }
    return false;
}

/* Puts all probability on `action` when the direction is faced, else on a turn towards it (right when
 * behind). */
static void turn_or(const view *v, int direction, int action, double *p) {
    const heuristic_policy *self = v->self;
    int difference = (direction - (int)v->agent->direction + 4) % 4;
    int chosen = difference == 0 ? action : difference == 3 || self->right < 0 ? self->left : self->right;
    for (int k = 0; k < self->n_actions; k++) p[k] = k == chosen;
}

/* The four sides, the faced one first, then right, left and behind. */
static int side(const view *v, int i) {
    static const int turn[4] = {0, 1, 3, 2};
    return ((int)v->agent->direction + turn[i]) % 4;
}

static bool open_door(const view *v, double *p) {
    int action = v->self->toggle >= 0 ? v->self->toggle : v->self->forward;
    for (int i = 0; i < 4; i++) {
        const lud_grid_scene_cell *cell = neighbour(v, side(v, i));
        if (!cell || cell->agent >= 0 || cell->piece >= 0 || cell->ground.type != LUD_DOOR) continue;
        bool has_key = v->agent->carries && v->agent->carried.type == LUD_KEY &&
                       v->agent->carried.colour == cell->ground.colour;
        if (cell->ground.door != LUD_DOOR_CLOSED && !(cell->ground.door == LUD_DOOR_LOCKED && has_key))
            continue;
        turn_or(v, side(v, i), action, p);
        return true;
    }
    return false;
}

static bool fetch_key(const view *v, double *p) {
    if (v->self->pickup < 0 || v->agent->carries) return false;
    for (int i = 0; i < 4; i++) {
        const lud_grid_scene_cell *cell = neighbour(v, side(v, i));
        if (!cell || cell->agent >= 0) continue;
        const lud_grid_object *top = top_of(v->scene, cell);
        if (top->type != LUD_KEY || !fits_a_locked_door(v->scene, top->colour)) continue;
        turn_or(v, side(v, i), v->self->pickup, p);
        return true;
    }
    return false;
}

static bool drop_useless_key(const view *v, double *p) {
    const lud_grid_scene_agent *agent = v->agent;
    if (v->self->drop < 0 || !agent->carries || agent->carried.type != LUD_KEY ||
        fits_a_locked_door(v->scene, agent->carried.colour))
        return false;
    int worst_side = -1;
    double worst = INFINITY;
    for (int i = 0; i < 4; i++) {
        const lud_grid_scene_cell *cell = neighbour(v, side(v, i));
        if (!cell || cell->agent >= 0 || cell->piece >= 0 || !can_stand_on(cell)) continue;
        double here = potential(v, agent->x + lud_step_x(side(v, i)), agent->y + lud_step_y(side(v, i)));
        if (here < worst) {
            worst = here;
            worst_side = side(v, i);
        }
    }
    if (worst_side < 0) return false;
    turn_or(v, worst_side, v->self->drop, p);
    return true;
}

/* Softmax over standing, turning and walking; the other actions gain nothing here and get no probability. */
static void walk(const view *v, double *p) {
    const heuristic_policy *self = v->self;
    double here = potential(v, v->agent->x, v->agent->y), value[4];
    int faced = (int)v->agent->direction, best = 0;
    for (int d = 0; d < 4; d++) {
        const lud_grid_scene_cell *cell = neighbour(v, d);
        bool block = cell && cell->piece >= 0 && top_of(v->scene, cell)->type == LUD_BLOCK;
        bool enters = cell && cell->agent < 0 && (block || (cell->piece < 0 && can_stand_on(cell)));
        value[d] =
            enters ? potential(v, v->agent->x + lud_step_x(d), v->agent->y + lud_step_y(d)) - here : -1;
        if (value[d] > value[best]) best = d;
    }
    double gain_right = 0.5 * value[(faced + 1) % 4], gain_left = 0.5 * value[(faced + 3) % 4];
    int turn = (best - faced + 4) % 4;
    if (value[best] > 0) {
        if (turn == 1) gain_right = 0.8 * value[best];
        if (turn == 3) gain_left = 0.8 * value[best];
        if (turn == 2) gain_right = gain_left = 0.6 * value[best];
    }
    const int actions[4] = {self->still, self->left, self->right, self->forward};
    const double gains[4] = {0, gain_left, gain_right, value[faced]};
    double largest = -INFINITY, sum = 0;
    for (int k = 0; k < self->n_actions; k++) p[k] = 0;
    for (int i = 0; i < 4; i++)
        if (actions[i] >= 0 && gains[i] > largest) largest = gains[i];
    for (int i = 0; i < 4; i++) {
        if (actions[i] < 0) continue;
        p[actions[i]] = exp(self->beta * (gains[i] - largest));
        sum += p[actions[i]];
    }
    for (int k = 0; k < self->n_actions; k++) p[k] /= sum;
}

/* Several people and goals are asked for in a state, one after the other. */
static view look(const heuristic_policy *self, scratch *s, const uint8_t *state) {
    const size_t bytes = self->policy.model->layout.state_bytes;
    const view v = {.self = self, .s = s, .scene = s->scene};
    if (s->shows && memcmp(s->state, state, bytes) == 0) return v;
    memcpy(s->state, state, bytes);
    s->shows = true;
    lud_grid_scene_read(s->scene, self->policy.model, state);
    s->closed = self->closed + (size_t)s->scene->map * (size_t)self->n_places;
    const lud_grid_scene_cell *cell = s->scene->cells;
    for (int y = 0; y < s->scene->height; y++)
        for (int x = 0, place = place_of(self, 0, y); x < self->width; x++)
            s->passing[place++] = passing_cost(s->scene, cell++);
    return v;
}

/* What the agent does to come to the goal. */
static void pursue(view *v, int agent, double *p) {
    const heuristic_policy *self = v->self;
    v->agent = &v->scene->agents[agent];
    if (open_door(v, p) || fetch_key(v, p) || drop_useless_key(v, p)) return;
    if (v->s->wanted[place_of(self, v->agent->x, v->agent->y)] && self->still >= 0) {
        turn_or(v, (int)v->agent->direction, self->still, p);
        return;
    }
    walk(v, p);
}

static void decide(view *v, int agent, int goal, double *p) {
    const heuristic_policy *self = v->self;
    if (goal < 0) {
        for (int k = 0; k < self->n_actions; k++) p[k] = 1.0 / self->n_actions;
        return;
    }
    set_goal(v, *goal_of(self->policy.model, agent, goal));
    pursue(v, agent, p);
}

/* A scratch of one's own for a while. There is one a thread, so waiting ends. */
static scratch *take_scratch(heuristic_policy *self) {
    for (int i = 0;; i = (i + 1) % self->n_scratches)
        if (!__atomic_exchange_n(&self->scratches[i].busy, 1, __ATOMIC_ACQUIRE)) return &self->scratches[i];
}
static void give_scratch(scratch *s) {
    __atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    heuristic_policy *self = (heuristic_policy *)policy;
    scratch *s = take_scratch(self);
    view v = look(self, s, state);
    decide(&v, agent, goal, p);
    give_scratch(s);
    return true;
}

double lud_heuristic_potential(lud_policy *policy, const uint8_t *state, int x, int y, int agent, int goal) {
    heuristic_policy *self = (heuristic_policy *)policy;
    scratch *s = take_scratch(self);
    view v = look(self, s, state);
    set_goal(&v, *goal_of(policy->model, agent, goal));
    double result = potential(&v, x, y);
    give_scratch(s);
    return result;
}

void lud_heuristic_walk(lud_policy *policy, const uint8_t *state, int agent, int cell, double *p) {
    heuristic_policy *self = (heuristic_policy *)policy;
    scratch *s = take_scratch(self);
    view v = look(self, s, state);
    const int x = cell % v.scene->width, y = cell / v.scene->width;
    set_goal(&v, (lud_grid_goal){.x1 = x, .y1 = y, .x2 = x, .y2 = y});
    pursue(&v, agent, p);
    give_scratch(s);
}

/* An open cell of the map; `of_use`: where something lies or stands that can be used, agents aside. */
static bool is_destination(const view *v, int c, bool of_use) {
    const lud_grid_type type = top_of(v->scene, &v->scene->cells[c])->type;
    const int place = place_of(v->self, c % v->self->width, c / v->self->width);
    return !v->s->closed[place] && (!of_use || (type != LUD_EMPTY && type != LUD_FLOOR && type != LUD_GOAL));
}

static int count_destinations(const view *v, bool of_use) {
    int n = 0;
    for (int c = 0; c < v->self->n_cells; c++) n += is_destination(v, c, of_use);
    return n;
}

int lud_heuristic_destination(lud_policy *policy, const uint8_t *state, double uniform) {
    heuristic_policy *self = (heuristic_policy *)policy;
    scratch *s = take_scratch(self);
    view v = look(self, s, state);
    const bool of_use = uniform < 0.5 && count_destinations(&v, true) > 0;
    int left = (int)(fmod(2 * uniform, 1.0) * count_destinations(&v, of_use)), cell = 0;
    while (cell + 1 < self->n_cells && !(is_destination(&v, cell, of_use) && left-- == 0)) cell++;
    give_scratch(s);
    return cell;
}

static void act(lud_policy *policy, const lud_act *act) {
    heuristic_policy *self = (heuristic_policy *)policy;
    size_t state_bytes = act->model->layout.state_bytes;
    enum { FEW = 32 }; /* below this waking other threads costs more than it saves */
#pragma omp parallel if (act->range.n >= FEW)
    {
        scratch *s = take_scratch(self);
#pragma omp for schedule(static)
        for (int e = 0; e < act->range.n; e++) {
            view v = look(self, s, act->states + (size_t)e * state_bytes);
            for (int slot = 0; slot < act->n_agents_acting; slot++) {
                double p[MAX_ACTIONS];
                int agent = act->agents[slot];
                int goal = act->goals ? act->goals[(size_t)e * act->goal_stride + (size_t)agent] : -1;
                decide(&v, agent, goal, p);
                lud_policy_choose(act, e, slot, p);
            }
        }
        give_scratch(s);
    }
}

static void destroy(lud_policy *policy) {
    heuristic_policy *self = (heuristic_policy *)policy;
    for (int i = 0; self->scratches && i < self->n_scratches; i++) {
        scratch *s = &self->scratches[i];
        if (s->scene) lud_grid_scene_destroy(s->scene);
        LUD_FREE(s->state, s->passing, s->wanted, s->cost, s->seen, s->queue);
    }
    LUD_FREE(self->scratches, self->closed, self);
}

static bool create_scratch(scratch *s, const heuristic_policy *self) {
    const size_t n_places = (size_t)self->n_places;
    s->scene = lud_grid_scene_create(self->policy.model);
    s->state = malloc(self->policy.model->layout.state_bytes + 1);
    s->passing = calloc(n_places, sizeof *s->passing);
    s->wanted = calloc(n_places, sizeof *s->wanted);
    s->cost = calloc(n_places, sizeof *s->cost);
    s->seen = calloc(n_places, sizeof *s->seen);
    s->queue = calloc((size_t)self->n_cells, sizeof *s->queue);
    return s->scene && s->state && s->passing && s->wanted && s->cost && s->seen && s->queue;
}

static int find_action(const lud_action_space *space, const char *name) {
    for (int k = 0; k < space->n_discrete; k++)
        if (strcmp(space->names[k], name) == 0) return k;
    return -1;
}

static void find_actions(heuristic_policy *self, const lud_action_space *space) {
    self->n_actions = space->n_discrete;
    self->still = find_action(space, "still");
    self->left = find_action(space, "left");
    self->right = find_action(space, "right");
    self->forward = find_action(space, "forward");
    self->pickup = find_action(space, "pickup");
    self->drop = find_action(space, "drop");
    self->toggle = find_action(space, "toggle");
    assert(self->n_actions <= MAX_ACTIONS && self->left >= 0 && self->forward >= 0);
}

lud_status lud_heuristic_create(const lud_model *model, double beta, lud_policy **policy, lud_error *error) {
    if (!lud_grid_is_model(model))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "the policy 'heuristic' knows multigrid worlds only, this one is '%s'",
                        model->world->name);
    heuristic_policy *self = calloc(1, sizeof *self);
    if (!self) return lud_no_memory(error, "a policy");
    self->policy = (lud_policy){.kind = &lud_policy_heuristic, .model = model};
    const lud_grid_spec *spec = lud_grid_model_spec(model);
    self->beta = beta;
    self->width = spec->width;
    self->n_cells = spec->width * spec->height;
    self->n_places = (spec->width + 2) * (spec->height + 2);
    if (model->layout.n_agents) find_actions(self, &model->layout.actions[0]);
    self->n_scratches =
        omp_get_max_threads() > omp_get_num_procs() ? omp_get_max_threads() : omp_get_num_procs();
    self->scratches = calloc((size_t)self->n_scratches, sizeof *self->scratches);
    self->closed = malloc((size_t)spec->n_maps * (size_t)self->n_places);
    bool complete = self->scratches && self->closed;
    for (int i = 0; i < self->n_scratches && complete; i++)
        complete = create_scratch(&self->scratches[i], self);
    if (!complete) {
        destroy(&self->policy);
        return lud_no_memory(error, "a policy");
    }
    memset(self->closed, 1, (size_t)spec->n_maps * (size_t)self->n_places);
    for (int m = 0; m < spec->n_maps; m++)
        for (int c = 0; c < self->n_cells; c++) {
            lud_grid_type type = spec->maps[m].cells[c].type;
            self->closed[m * self->n_places + place_of(self, c % spec->width, c / spec->width)] =
                type == LUD_WALL || type == LUD_MAGIC_WALL || type == LUD_LAVA || type == LUD_BUSH;
        }
    *policy = &self->policy;
    return LUD_OK;
}

static lud_status create(const lud_policy_kind *kind, const lud_model *model, lud_tree *options,
                         const char *file, lud_policy **policy, lud_error *error) {
    (void)kind;
    (void)file;
    heuristic_options values;
    LUD_TRY(lud_policy_options_read(&option_table, options, &values, error));
    return lud_heuristic_create(model, values.beta, policy, error);
}

const lud_policy_kind lud_policy_heuristic = {.name = "heuristic",
                                              .about =
                                                  "walks to its goal, opens doors, fetches keys (multigrid)",
                                              .options = &option_table,
                                              .create = create,
                                              .destroy = destroy,
                                              .act = act,
                                              .distribution = distribution,
                                              .ignores_clock = true};
