#include "learn/empo/networks/paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kept.h"
#include "kernels/grid_code.h"
#include "learn/nn/arrays.h"
#include "sim/multigrid/grid_observe.h"
#include "sim/multigrid/paths/grid_errands.h"

static const double near_by = 16.0, soon = 4.0; /* actions */

typedef enum walk_kind { AS_IT_LIES, CLEARED, HELPED, WALKS } walk_kind;

/* What is told of errands: the soonest push of a rock, opening of a door of each colour. */
enum { ERRANDS = 1 + LUD_COLOURS, SCALES = 2 };

struct lud_empo_paths {
    const lud_empo_features *features;
    lud_empo_walk walk;
    int n_cells, n_places, n_rectangles;
    uint8_t *inside;   /* [n_rectangles][n_cells] distinct goals; */
    int *rectangle_of; /* [n_goals] each goal's */
    double *worth;     /* [n_worth] V_h^e of a walk of so many actions */
    double *power_of;  /* [n_worth] what it is in X_h */
    int n_worth;
    lud_kept *to_goals, *of_robots;
    uint8_t *arrangement, *lying; /* [n_cells] in hand; [n_humans][n_cells] as everything lies */
    int32_t *view;                /* [n_cells + 2] a robot's, without agents */
    int32_t *memory;              /* of searches */
    char *seeking;                /* of errands */
    int *distance[WALKS], *after; /* [n_goals] of the state in hand; LUD_GRID_NO_PATH: none */
    int *rising;                  /* [n_goals] distances, sorted */
    double *power;                /* [n_humans] */
    double half_a_goal;           /* X_h of who reaches the least likely goal half the time, about */
    lud_grid_errands errands;
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

static double worth_of(const lud_empo_walk *w, int distance) {
    return distance < 2 ? 1.0 : pow(w->gamma_h, distance - 1);
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
    /* in a cell a walk turns twice and enters in two actions at most; an errand is two walks and three
     * actions */
    p->n_worth = 2 * p->n_places + 4;
    const size_t cells = (size_t)p->n_cells;
    LUD_TAKE(a, p->inside, n_goals * cells);
    LUD_TAKE(a, p->rectangle_of, n_goals);
    LUD_TAKE(a, p->worth, (size_t)p->n_worth);
    LUD_TAKE(a, p->power_of, (size_t)p->n_worth);
    LUD_TAKE(a, p->arrangement, cells);
    LUD_TAKE(a, p->lying, (size_t)f->layout.n_humans * cells);
    LUD_TAKE(a, p->view, cells + 2);
    LUD_TAKE(a, p->memory, lud_grid_paths_words(f->height, f->width));
    for (int k = 0; k < WALKS; k++) LUD_TAKE(a, p->distance[k], n_goals);
    LUD_TAKE(a, p->after, n_goals);
    LUD_TAKE(a, p->rising, n_goals);
    LUD_TAKE(a, p->power, (size_t)f->layout.n_humans);
    LUD_TAKE(a, p->seeking, lud_grid_errands_bytes(f->height, f->width));
    if (!a->failed) {
        find_rectangles(p);
        for (int d = 0; d < p->n_worth; d++) {
            p->worth[d] = worth_of(walk, d);
            p->power_of[d] = lud_empo_power_of(p->worth[d], walk->zeta);
        }
        p->half_a_goal = 0.5 * lud_empo_features_least_weight(f); /* without goals nobody asks */
        const size_t fields = (size_t)p->n_rectangles * (size_t)p->n_places;
        p->to_goals = lud_kept_create(cells, fields * sizeof(uint16_t), KEPT_BYTES);
        p->of_robots = lud_kept_create((cells + 2) * sizeof *p->view, sizeof(lud_grid_errands), KEPT_BYTES);
    }
    if (p->to_goals && p->of_robots) return p;
    lud_empo_paths_destroy(p);
    return NULL;
}

void lud_empo_paths_destroy(lud_empo_paths *p) {
    if (!p) return;
    lud_kept_destroy(p->to_goals);
    lud_kept_destroy(p->of_robots);
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
    while (direction < 3 && own[LUD_GRID_AGENT_DIRECTION + direction] == 0.0f) direction++;
    return (walker){.own = own,
                    .cell = cell,
                    .place = 4 * cell + direction,
                    .key = own[LUD_GRID_AGENT_CARRIED_TYPE] == (float)LUD_CODE_KEY
                               ? (int)own[LUD_GRID_AGENT_CARRIED_COLOUR]
                               : -1,
                    .gone = own[LUD_GRID_AGENT_TERMINATED] != 0.0f || cell == p->n_cells,
                    .paused = own[LUD_GRID_AGENT_PAUSED] != 0.0f};
}

/* ---- people and their goals ---- */

/* Actions to all rectangles as p->arrangement takes them to enter cells: [n_rectangles][n_places]. */
static const uint16_t *to_goals(lud_empo_paths *p) {
    bool known;
    uint16_t *actions = lud_kept_of(p->to_goals, p->arrangement, &known);
    for (int k = 0; k < p->n_rectangles && !known; k++)
        lud_grid_paths_to(p->arrangement, p->features->height, p->features->width,
                          p->inside + (size_t)k * (size_t)p->n_cells,
                          actions + (size_t)k * (size_t)p->n_places, p->memory);
    return actions;
}

/* How person h finds the grid, into p->arrangement; after an errand: as everything lies, but for what that
 * changes. */
static void arrange(lud_empo_paths *p, const int32_t *record, int h, lud_grid_walker how,
                    const lud_grid_errand *errand) {
    const int32_t *words = record + p->features->grid_at;
    uint8_t *lying = p->lying + (size_t)h * (size_t)p->n_cells;
    int32_t cells[2], changed[2];
    if (!errand) {
        lud_grid_entering(words, p->n_cells, how, p->arrangement);
        if (!how.cleared) memcpy(lying, p->arrangement, (size_t)p->n_cells);
        return;
    }
    memcpy(p->arrangement, lying, (size_t)p->n_cells);
    const int n =
        lud_grid_errand_done(errand, p->features->height, p->features->width, words, cells, changed);
    for (int i = 0; i < n; i++) p->arrangement[cells[i]] = lud_grid_entering_cell(changed[i], how);
}

/* Distances of everybody to all their goals, distance[n_goals]; errand: null or the one that is done. */
static void find_distances(lud_empo_paths *p, const int32_t *record, bool cleared,
                           const lud_grid_errand *errand, int *distance) {
    const lud_empo_features *f = p->features;
    for (int h = 0; h < f->layout.n_humans; h++) {
        const int begin = f->layout.goal_begin[h], end = f->layout.goal_begin[h + 1];
        const walker w = walker_of(p, record, f->layout.humans[h]);
        const lud_grid_walker how = {
            .key = w.key, .rocks = w.own[LUD_GRID_AGENT_PUSHES_ROCKS] != 0.0f, .cleared = cleared};
        const uint16_t *actions = NULL;
        if (!w.gone && (cleared || !w.paused)) {
            arrange(p, record, h, how, errand);
            actions = to_goals(p);
        }
        for (int g = begin; g < end; g++)
            distance[g] = lud_empo_features_achieved(f, record, h, g - begin) ? 0
                          : actions ? actions[p->rectangle_of[g] * p->n_places + w.place]
                                    : LUD_GRID_NO_PATH;
    }
}

/* ---- robots and what is in the way ---- */

/* What a robot could do, whoever else is where. */
static const lud_grid_errands *errands_of(lud_empo_paths *p, const int32_t *record, const walker *w) {
    const lud_empo_features *f = p->features;
    const lud_grid_seeker robot = {
        .walker = {.key = w->key, .rocks = w->own[LUD_GRID_AGENT_PUSHES_ROCKS] != 0.0f},
        .carries = w->own[LUD_GRID_AGENT_CARRIED_TYPE] >= 0.0f,
        .place = w->place};
    bool known;
    for (int c = 0; c < p->n_cells; c++) p->view[c] = record[f->grid_at + c] | 7 << LUD_CODE_AGENT_SHIFT;
    p->view[p->n_cells] = robot.place;
    p->view[p->n_cells + 1] = 4 * robot.walker.key + 2 * robot.walker.rocks + robot.carries;
    lud_grid_errands *found = lud_kept_of(p->of_robots, p->view, &known);
    if (!known) lud_grid_errands_find(p->view, f->height, f->width, &robot, found, p->seeking);
    return found;
}

static void find_errands(lud_empo_paths *p, const int32_t *record) {
    const lud_empo_layout *layout = &p->features->layout;
    p->errands.n = 0;
    for (int r = 0; r < layout->n_robots; r++) {
        const walker w = walker_of(p, record, layout->robots[r]);
        if (!w.gone && !w.paused) lud_grid_errands_add(&p->errands, errands_of(p, record, &w));
    }
}

/* to[SCALES][ERRANDS]: how near the robots are to each errand; 0: it is none. */
static void tell_errands(const lud_empo_paths *p, const int32_t *record, float *to) {
    static const double scale[SCALES] = {16.0, 64.0}; /* actions */
    int soonest[ERRANDS];
    for (int e = 0; e < ERRANDS; e++) soonest[e] = LUD_GRID_NO_PATH;
    for (int i = 0; i < p->errands.n; i++) {
        const lud_grid_errand *errand = &p->errands.list[i];
        const lud_grid_cell cell = lud_grid_code_fields(record[p->features->grid_at + errand->cell]);
        int *of = &soonest[errand->direction < 0 ? 1 + cell.colour : 0];
        if (errand->actions < *of) *of = errand->actions;
    }
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

/* Whether a walk comes to its end in time. */
static bool reaches(int distance, double left) {
    return distance != LUD_GRID_NO_PATH && distance <= left;
}

/* X_h of everybody with so much time, into p->power; U_r. Who can go anywhere will hardly be where no goal is
 * near just when time is up, so that for these X_h ends at half of a goal and not at next to nothing. */
static double reward(lud_empo_paths *p, const int *distance, double left) {
    const lud_empo_layout *layout = &p->features->layout;
    const lud_empo_walk *w = &p->walk;
    for (int h = 0; h < layout->n_humans; h++) {
        double sum = 0, least = w->power_floor;
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            if (reaches(distance[g], left)) sum += p->features->goal_weight[g] * p->power_of[distance[g]];
            if (distance[g] != LUD_GRID_NO_PATH) least = fmax(least, p->half_a_goal);
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

/* V_r with `until` steps left from what it is with `done` left, if everybody stayed where they are: between
 * two distances U_r is the same. */
static double staying(lud_empo_paths *p, const int *distance, double done, double until, double sum) {
    const int n = p->features->layout.n_goals;
    const double gamma = p->walk.gamma_r;
    memcpy(p->rising, distance, (size_t)n * sizeof *p->rising);
    qsort(p->rising, (size_t)n, sizeof *p->rising, by_size);
    for (int i = 0; done < until;) {
        while (i < n && p->rising[i] <= done + 1) i++; /* within reach from done + 1 steps on */
        const double next = i < n ? fmin(until, p->rising[i] - 1) : until;
        sum = reward(p, distance, next) * annuity(gamma, next - done) + pow(gamma, next - done) * sum;
        done = next;
    }
    return sum;
}

/* V_r for each remaining step if everybody stayed. */
static double standing(lud_empo_paths *p, const int *distance, double left) {
    if (isinf(left)) return reward(p, distance, left);
    return staying(p, distance, 0, left, 0) / annuity(p->walk.gamma_r, left);
}

/* The same if distances were different after so many actions, fewer than are left. */
static double changing(lud_empo_paths *p, const int *before, int actions, const int *after, double left) {
    const double gamma = p->walk.gamma_r;
    if (isinf(left)) {
        const double later = pow(gamma, actions);
        return (1.0 - later) * reward(p, before, left) + later * reward(p, after, left);
    }
    const double later = staying(p, after, 0, left - actions, 0);
    return staying(p, before, left - actions, left, later) / annuity(gamma, left);
}

/* V_r for each remaining step with the errand that makes the most of it, or none; how far people then have to
 * walk. */
static double helped(lud_empo_paths *p, const int32_t *record, double left) {
    const size_t n = (size_t)p->features->layout.n_goals;
    const int *before = p->distance[AS_IT_LIES];
    int *best = p->distance[HELPED];
    double most = standing(p, before, left);
    memcpy(best, before, n * sizeof *best);
    for (int i = 0; i < p->errands.n; i++) {
        const lud_grid_errand *errand = &p->errands.list[i];
        if (errand->actions >= left) continue;
        find_distances(p, record, false, errand, p->after);
        if (memcmp(p->after, before, n * sizeof *before) == 0) continue;
        const double v_r = changing(p, before, errand->actions, p->after, left);
        if (v_r <= most) continue;
        most = v_r;
        for (size_t g = 0; g < n; g++) {
            const int after = p->after[g] > errand->actions ? p->after[g] : errand->actions;
            best[g] = after < before[g] ? after : before[g];
        }
    }
    return most;
}

static void of_goal(const lud_empo_paths *p, int g, double left, float *to) {
    for (int k = 0; k < WALKS; k++) {
        const int d = p->distance[k][g];
        const bool ends = d != LUD_GRID_NO_PATH;
        to[k] = reaches(d, left) ? (float)p->worth[d] : 0.0f;
        to[WALKS + k] = ends ? (float)exp(-d / near_by) : 0.0f;
        to[2 * WALKS + k] = ends ? (float)tanh((left - d) / soon) : -1.0f;
    }
}

float lud_empo_paths_find(lud_empo_paths *p, const int32_t *record, float *of_goals, float *of_state) {
    const lud_empo_layout *layout = &p->features->layout;
    static const double most = 40.0;     /* whatever the exponents of the theory make of it */
    static const double scale = 1.0 / 8; /* logarithms of what counts go from -8 to 8 or so */
    const double left = steps_left(record);
    double v_r[WALKS], log_v_r = 0;
    find_errands(p, record);
    find_distances(p, record, false, NULL, p->distance[AS_IT_LIES]);
    find_distances(p, record, true, NULL, p->distance[CLEARED]);
    for (int k = 0; k < WALKS; k++)
        v_r[k] = k == HELPED ? helped(p, record, left) : standing(p, p->distance[k], left);
    for (int g = 0; g < layout->n_goals; g++) of_goal(p, g, left, of_goals + g * LUD_EMPO_GOAL_PATHS);
    for (int k = 0; k < WALKS; k++) {
        log_v_r = fmin(fmax(log(-v_r[k]), -most), most);
        of_state[k] = (float)(log_v_r * scale);
        (void)reward(p, p->distance[k], left);
        for (int h = 0; h < layout->n_humans; h++)
            of_state[WALKS * (h + 1) + k] = (float)(log(p->power[h]) * scale);
    }
    tell_errands(p, record, of_state + WALKS * (layout->n_humans + 1));
    return (float)log_v_r; /* of who is helped, the last of them */
}
