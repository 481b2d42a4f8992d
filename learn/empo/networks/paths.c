#include "learn/empo/networks/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/grid_code.h"
#include "learn/nn/arrays.h"
#include "sim/multigrid/grid_paths.h"

/* Places of an agent's features (sim/multigrid/grid_observe.h). */
enum { DIRECTION = 2, ROCKS = 7, CARRIED_TYPE, CARRIED_COLOUR, PAUSED, TERMINATED };

static const double near_by = 16.0, soon = 4.0; /* actions */

/* How many walks are looked at. */
enum { WALKS = 2 };

/* What robots could do about what is in the way: push a rock, or open a locked door of one of the colours. */
enum { ERRANDS = 1 + LUD_COLOURS, FIELDS = 1 + 2 * LUD_COLOURS, SCALES = 2 };
/* Marks in an arrangement above the actions of entering: a rock, a locked door or a key of a colour. */
enum { KIND_SHIFT = 2, ROCK = 1, DOOR = 2, KEY = DOOR + LUD_COLOURS };

struct lud_empo_paths {
    const lud_empo_features *features;
    lud_empo_walk walk;
    int n_cells, n_places, n_rectangles;
    uint8_t *inside;                     /* [n_rectangles][n_cells] distinct goals; */
    int *rectangle_of;                   /* [n_goals] each goal's */
    lud_grid_paths_kept *goals, *things; /* paths to goals, and to what robots could do something about */
    uint8_t *arrangement, *cost, *into;  /* [n_cells] in hand */
    int32_t *memory;
    int *distance[WALKS]; /* [n_goals] of the state in hand; LUD_GRID_NO_PATH: none */
    int *rising;          /* [n_goals] distances, sorted */
    double *power;        /* [n_humans] */
    double half_a_goal;   /* X_h of who reaches the least likely goal half the time, about */
    lud_arrays arrays;
};

int64_t lud_empo_state_paths(int n_humans) {
    return WALKS * (n_humans + 1) + SCALES * ERRANDS;
}

/* Distinct rectangles of goals, as marked cells. */
static void find_rectangles(lud_empo_paths *p) {
    const lud_empo_features *f = p->features;
    for (int g = 0; g < f->layout.n_goals; g++) {
        const int32_t *r = f->goals + 4 * g;
        uint8_t *inside = p->inside + (size_t)p->n_rectangles * (size_t)p->n_cells;
        for (int c = 0; c < p->n_cells; c++) {
            const int x = c % f->width, y = c / f->width;
            inside[c] = x >= r[0] && y >= r[1] && x <= r[2] && y <= r[3];
        }
        int k = 0;
        while (memcmp(p->inside + (size_t)k * (size_t)p->n_cells, inside, (size_t)p->n_cells) != 0) k++;
        p->rectangle_of[g] = k;
        p->n_rectangles += k == p->n_rectangles;
    }
}

lud_empo_paths *lud_empo_paths_create(const lud_empo_features *f, const lud_empo_walk *walk) {
    enum { KEPT_BYTES = 4 << 20 };
    lud_empo_paths *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    const size_t n_goals = (size_t)f->layout.n_goals;
    lud_arrays *a = &p->arrays;
    p->features = f;
    p->walk = *walk;
    p->n_cells = f->height * f->width;
    p->n_places = 4 * p->n_cells;
    const size_t cells = (size_t)p->n_cells;
    LUD_TAKE(a, p->inside, n_goals * cells);
    LUD_TAKE(a, p->rectangle_of, n_goals);
    LUD_TAKE(a, p->arrangement, cells);
    LUD_TAKE(a, p->cost, cells);
    LUD_TAKE(a, p->into, cells);
    LUD_TAKE(a, p->memory, lud_grid_paths_words(f->height, f->width));
    for (int k = 0; k < WALKS; k++) LUD_TAKE(a, p->distance[k], n_goals);
    LUD_TAKE(a, p->rising, n_goals);
    LUD_TAKE(a, p->power, (size_t)f->layout.n_humans);
    if (!a->failed) {
        find_rectangles(p);
        const double least = lud_empo_features_least_weight(f);
        p->half_a_goal = isinf(least) ? 0.0 : 0.5 * least;
        p->goals = lud_grid_paths_kept_create(p->n_cells, p->n_rectangles, KEPT_BYTES);
        p->things = lud_grid_paths_kept_create(p->n_cells, FIELDS, KEPT_BYTES);
    }
    if (p->goals && p->things) return p;
    lud_empo_paths_destroy(p);
    return NULL;
}

void lud_empo_paths_destroy(lud_empo_paths *p) {
    if (!p) return;
    lud_grid_paths_kept_destroy(p->goals);
    lud_grid_paths_kept_destroy(p->things);
    lud_arrays_free(&p->arrays);
    free(p);
}

/* An agent in a record. */
typedef struct walker {
    const float *own;
    int32_t cell, place; /* the cell is n_cells where it is nowhere */
    int key;             /* colour of what it carries, -1: no key */
    bool gone, paused;
} walker;

static walker walker_of(const lud_empo_paths *p, const int32_t *record, int agent) {
    const float *own = lud_empo_features_agent(p->features, record, agent);
    const int32_t cell = lud_empo_features_cell(p->features, record, agent);
    int direction = 0;
    while (direction < 3 && own[DIRECTION + direction] == 0.0f) direction++;
    return (walker){.own = own,
                    .cell = cell,
                    .place = 4 * cell + direction,
                    .key = own[CARRIED_TYPE] == (float)LUD_CODE_KEY ? (int)own[CARRIED_COLOUR] : -1,
                    .gone = own[TERMINATED] != 0.0f || cell == p->n_cells,
                    .paused = own[PAUSED] != 0.0f};
}

static void find_paths(lud_empo_paths *p, const uint8_t *cost, const uint8_t *into, bool closed,
                       uint16_t *to) {
    lud_grid_paths_to(cost, p->features->height, p->features->width, into, closed, to, p->memory);
}

/* ---- people and their goals ---- */

/* Actions to all rectangles in a grid as somebody finds it: [n_rectangles][n_places]. */
static const uint16_t *to_goals(lud_empo_paths *p, const int32_t *record, lud_grid_walker how) {
    bool known;
    lud_grid_entering(record + p->features->grid_at, p->n_cells, how, p->arrangement);
    uint16_t *actions = lud_grid_paths_kept_of(p->goals, p->arrangement, &known);
    for (int k = 0; k < p->n_rectangles && !known; k++)
        find_paths(p, p->arrangement, p->inside + (size_t)k * (size_t)p->n_cells, false,
                   actions + (size_t)k * (size_t)p->n_places);
    return actions;
}

/* Distances of person h to all its goals, under both walks. */
static void find_distances(lud_empo_paths *p, const int32_t *record, int h) {
    const lud_empo_features *f = p->features;
    const int begin = f->layout.goal_begin[h], end = f->layout.goal_begin[h + 1];
    const walker w = walker_of(p, record, f->layout.humans[h]);
    for (int k = 0; k < WALKS; k++) {
        const bool cleared = k == 1;
        const lud_grid_walker how = {.key = w.key, .rocks = w.own[ROCKS] != 0.0f, .cleared = cleared};
        const bool walks = !w.gone && (cleared || !w.paused);
        const uint16_t *actions = walks ? to_goals(p, record, how) : NULL;
        for (int g = begin; g < end; g++)
            p->distance[k][g] = lud_empo_features_achieved(f, record, h, g - begin) ? 0
                                : actions ? actions[p->rectangle_of[g] * p->n_places + w.place]
                                          : LUD_GRID_NO_PATH;
    }
}

/* ---- robots and what is in the way ---- */

static int kind_of(lud_grid_cell cell) {
    if (cell.type == LUD_CHANNEL_ROCK) return ROCK;
    if (cell.type == LUD_CODE_DOOR && cell.door == 3) return DOOR + cell.colour;
    return cell.type == LUD_CODE_KEY ? KEY + cell.colour : 0;
}

/* Actions to things of every kind as a robot finds the grid, fields[FIELDS][n_places]; p->arrangement says
 * what there is. */
static const uint16_t *to_things(lud_empo_paths *p, const int32_t *record, lud_grid_walker how) {
    bool known, any[FIELDS] = {false};
    const int32_t *words = record + p->features->grid_at;
    lud_grid_entering(words, p->n_cells, how, p->cost);
    for (int c = 0; c < p->n_cells; c++)
        p->arrangement[c] = (uint8_t)(p->cost[c] | kind_of(lud_grid_code_fields(words[c])) << KIND_SHIFT);
    uint16_t *actions = lud_grid_paths_kept_of(p->things, p->arrangement, &known);
    for (int c = 0; c < p->n_cells && !known; c++)
        if (p->arrangement[c] >> KIND_SHIFT) any[(p->arrangement[c] >> KIND_SHIFT) - 1] = true;
    for (int k = 0; k < FIELDS && !known; k++) {
        uint16_t *to = actions + (size_t)k * (size_t)p->n_places;
        for (int c = 0; c < p->n_cells; c++) p->into[c] = p->arrangement[c] >> KIND_SHIFT == k + 1;
        if (any[k])
            find_paths(p, p->cost, p->into, true, to);
        else
            memset(to, 0xff, (size_t)p->n_places * sizeof *to);
    }
    return actions;
}

/* Fewest actions from beside a key of this colour to what the field leads to. */
static int from_key(const lud_empo_paths *p, int colour, const uint16_t *field) {
    const int width = p->features->width;
    const int beside[4] = {1, width, -1, -width};
    int least = LUD_GRID_NO_PATH;
    for (int c = width; c < p->n_cells - width; c++) {
        if (p->arrangement[c] >> KIND_SHIFT != KEY + colour) continue;
        for (int k = 0; k < 4; k++)
            for (int d = 0; d < 4; d++)
                if (field[4 * (c + beside[k]) + d] < least) least = field[4 * (c + beside[k]) + d];
    }
    return least;
}

/* Fewest actions to each errand by a robot; left as they are where another is there sooner. */
static void find_errands(lud_empo_paths *p, const int32_t *record, int robot, int soonest[ERRANDS]) {
    const walker w = walker_of(p, record, p->features->layout.robots[robot]);
    const lud_grid_walker how = {.key = w.key, .rocks = w.own[ROCKS] != 0.0f};
    if (w.gone || w.paused) return;
    const uint16_t *fields = to_things(p, record, how);
    if (how.rocks && fields[w.place] < soonest[0]) soonest[0] = fields[w.place];
    for (int colour = 0; colour < LUD_COLOURS; colour++) {
        const uint16_t *door = fields + (DOOR + colour - 1) * p->n_places,
                       *key = fields + (KEY + colour - 1) * p->n_places;
        const bool holds = w.key == colour;
        if (!holds && key[w.place] == LUD_GRID_NO_PATH) continue;
        const int opens = holds ? door[w.place] : from_key(p, colour, door);
        if (opens == LUD_GRID_NO_PATH) continue;
        const int needs = opens + (holds ? 0 : key[w.place]);
        if (needs < soonest[1 + colour]) soonest[1 + colour] = needs;
    }
}

/* to[SCALES][ERRANDS]: how near the robots are to each errand; 0: it is none. */
static void tell_errands(lud_empo_paths *p, const int32_t *record, float *to) {
    static const double scale[SCALES] = {16.0, 64.0}; /* actions */
    int soonest[ERRANDS];
    for (int e = 0; e < ERRANDS; e++) soonest[e] = LUD_GRID_NO_PATH;
    for (int r = 0; r < p->features->layout.n_robots; r++) find_errands(p, record, r, soonest);
    for (int s = 0; s < SCALES; s++)
        for (int e = 0; e < ERRANDS; e++)
            to[s * ERRANDS + e] = soonest[e] == LUD_GRID_NO_PATH ? 0.0f : (float)exp(-soonest[e] / scale[s]);
}

/* ---- what follows ---- */

/* Remaining steps; infinite where nothing counts them. */
static double steps_left(const int32_t *record) {
    const float left = *(const float *)(const void *)record;
    return left > 0.0f ? (double)left : INFINITY;
}

static double worth(const lud_empo_walk *w, int distance, double left) {
    if (distance == LUD_GRID_NO_PATH || distance > left) return 0.0;
    return distance < 2 ? 1.0 : pow(w->gamma_h, distance - 1);
}

/* X_h of everybody with so much time, into p->power; U_r. Who can go anywhere will hardly be where no goal is
 * near just when time is up, so that for these X_h ends at half of a goal and not at next to nothing. */
static double reward(lud_empo_paths *p, int walk, double left) {
    const lud_empo_layout *layout = &p->features->layout;
    const lud_empo_walk *w = &p->walk;
    for (int h = 0; h < layout->n_humans; h++) {
        double sum = 0, least = w->power_floor;
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            const int d = p->distance[walk][g];
            sum += p->features->goal_weight[g] * lud_empo_power_of(worth(w, d, left), w->zeta);
            if (d != LUD_GRID_NO_PATH) least = fmax(least, p->half_a_goal);
        }
        p->power[h] = fmax(sum, least);
    }
    return lud_empo_reward_of(w->mean, w->xi, w->eta, p->power, layout->n_humans);
}

static int by_size(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* What 1 in each of n steps is worth, discounted. */
static double annuity(double gamma, double n) {
    return gamma == 1.0 ? n : (1.0 - pow(gamma, n)) / (1.0 - gamma);
}

/* V_r for each remaining step if everybody stayed where they are: between two distances U_r is the same. */
static double standing(lud_empo_paths *p, int walk, double left) {
    const int n = p->features->layout.n_goals;
    const double gamma = p->walk.gamma_r;
    if (isinf(left)) return reward(p, walk, left);
    memcpy(p->rising, p->distance[walk], (size_t)n * sizeof *p->rising);
    qsort(p->rising, (size_t)n, sizeof *p->rising, by_size);
    double sum = 0, done = 0; /* with `done` steps left */
    for (int i = 0; done < left;) {
        while (i < n && p->rising[i] <= done + 1) i++; /* within reach from done + 1 steps on */
        const double until = i < n ? fmin(left, p->rising[i] - 1) : left;
        sum = reward(p, walk, until) * annuity(gamma, until - done) + pow(gamma, until - done) * sum;
        done = until;
    }
    return sum / annuity(gamma, left);
}

static void of_goal(const lud_empo_paths *p, int g, double left, float *to) {
    for (int k = 0; k < WALKS; k++) {
        const int d = p->distance[k][g];
        const bool reaches = d != LUD_GRID_NO_PATH;
        to[k] = (float)worth(&p->walk, d, left);
        to[WALKS + k] = reaches ? (float)exp(-d / near_by) : 0.0f;
        to[2 * WALKS + k] = reaches ? (float)tanh((left - d) / soon) : -1.0f;
    }
}

float lud_empo_paths_find(lud_empo_paths *p, const int32_t *record, float *of_goals, float *of_state) {
    const lud_empo_layout *layout = &p->features->layout;
    static const double most = 40.0;     /* whatever the exponents of the theory make of it */
    static const double scale = 1.0 / 8; /* logarithms of what counts go from -8 to 8 or so */
    const double left = steps_left(record);
    double log_v_r[WALKS];
    for (int h = 0; h < layout->n_humans; h++) find_distances(p, record, h);
    for (int g = 0; g < layout->n_goals; g++) of_goal(p, g, left, of_goals + g * LUD_EMPO_GOAL_PATHS);
    for (int k = 0; k < WALKS; k++) {
        log_v_r[k] = fmin(fmax(log(-standing(p, k, left)), -most), most);
        of_state[k] = (float)(log_v_r[k] * scale);
        (void)reward(p, k, left);
        for (int h = 0; h < layout->n_humans; h++)
            of_state[WALKS * (h + 1) + k] = (float)(log(p->power[h]) * scale);
    }
    tell_errands(p, record, of_state + WALKS * (layout->n_humans + 1));
    return (float)log_v_r[0];
}
