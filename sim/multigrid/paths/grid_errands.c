#include "sim/multigrid/paths/grid_errands.h"

#include <string.h>

#include "kernels/grid_code.h"
#include "sim/directions.h"

/* A robot that looks for something to do. */
typedef struct search {
    const int32_t *words;
    int height, width;
    const lud_grid_seeker *robot;
    uint16_t *actions, *with_key; /* [n_cells][4] to every place; and from where a key was taken */
    int32_t *lists;               /* of the search */
    uint8_t *cost;                /* [n_cells] */
    lud_grid_errands *errands;
} search;

size_t lud_grid_errands_bytes(int height, int width) {
    const size_t cells = (size_t)height * (size_t)width;
    return lud_grid_paths_words(height, width) * sizeof(int32_t) + 2 * 4 * cells * sizeof(uint16_t) + cells;
}

static int n_cells(const search *s) {
    return s->height * s->width;
}

static int32_t onward(const search *s, int32_t cell, int direction, int steps) {
    return lud_cell_onward(cell, s->width, s->height, direction, steps);
}

/* Fewest actions until the cell is in front; *place: where that is. */
static int until_before(const search *s, const uint16_t *actions, int32_t cell, int32_t *place) {
    int least = LUD_GRID_NO_PATH;
    for (int d = 0; d < 4; d++) {
        const int32_t from = onward(s, cell, d, -1);
        if (from < 0 || actions[4 * from + d] >= least) continue;
        least = actions[4 * from + d];
        *place = 4 * from + d;
    }
    return least;
}

static void add(lud_grid_errands *errands, lud_grid_errand found) {
    lud_grid_errand *list = errands->list;
    int at = 0, last = 0;
    while (at < errands->n && (list[at].cell != found.cell || list[at].direction != found.direction ||
                               list[at].pushes != found.pushes))
        at++;
    if (at == LUD_GRID_ERRANDS) {
        for (int i = 1; i < errands->n; i++)
            if (list[i].actions > list[last].actions) last = i;
        at = last;
    }
    if (at < errands->n && list[at].actions <= found.actions) return;
    errands->n += at == errands->n;
    list[at] = found;
}

void lud_grid_errands_add(lud_grid_errands *errands, const lud_grid_errands *more) {
    for (int i = 0; i < more->n; i++) add(errands, more->list[i]);
}

/* ---- doors ---- */

static bool is_locked(lud_grid_cell cell) {
    return cell.type == LUD_CODE_DOOR && cell.door == 3;
}

/* Adds the locked doors of a colour to which somebody comes who has its key after so many actions. */
static void open_doors(search *s, int colour, int until_key, const uint16_t *actions) {
    for (int32_t c = 0; c < n_cells(s); c++) {
        const lud_grid_cell cell = lud_grid_code_fields(s->words[c]);
        int32_t place;
        if (!is_locked(cell) || cell.colour != colour) continue;
        const int walk = until_before(s, actions, c, &place);
        if (walk != LUD_GRID_NO_PATH)
            add(s->errands, (lud_grid_errand){.cell = c, .direction = -1, .actions = until_key + walk + 1});
    }
}

/* The key in cell c is fetched first. */
static void fetch(search *s, int32_t c, int colour) {
    int32_t place;
    const int walk = until_before(s, s->actions, c, &place);
    if (walk == LUD_GRID_NO_PATH) return;
    const uint8_t before = s->cost[c];
    s->cost[c] = 1; /* it does not lie there any more */
    lud_grid_paths_from(s->cost, s->height, s->width, place, s->with_key, s->lists);
    s->cost[c] = before;
    /* what is in hand is put down first */
    open_doors(s, colour, walk + 1 + s->robot->carries, s->with_key);
}

/* Colours of locked doors, a bit each. */
static unsigned locked(const search *s) {
    unsigned colours = 0;
    for (int32_t c = 0; c < n_cells(s); c++) {
        const lud_grid_cell cell = lud_grid_code_fields(s->words[c]);
        if (is_locked(cell)) colours |= 1u << cell.colour;
    }
    return colours;
}

static void find_doors(search *s) {
    const unsigned colours = locked(s);
    if (!colours) return;
    lud_grid_entering(s->words, n_cells(s), s->robot->walker, s->cost);
    lud_grid_paths_from(s->cost, s->height, s->width, s->robot->place, s->actions, s->lists);
    if (s->robot->walker.key >= 0) open_doors(s, s->robot->walker.key, 0, s->actions);
    for (int32_t c = 0; c < n_cells(s); c++) {
        const lud_grid_cell cell = lud_grid_code_fields(s->words[c]);
        if (cell.type == LUD_CODE_KEY && cell.colour != s->robot->walker.key && colours >> cell.colour & 1)
            fetch(s, c, cell.colour);
    }
}

/* ---- rocks ---- */

static bool takes_rock(const search *s, int32_t c) {
    if (c < 0) return false;
    const lud_grid_cell cell = lud_grid_code_fields(s->words[c]);
    return cell.other == 0 && cell.magic == 0 &&
           (cell.type == LUD_CODE_NOTHING || cell.type == LUD_CHANNEL_GOAL ||
            cell.type == LUD_CHANNEL_FLOOR || cell.type == LUD_CHANNEL_SWITCH ||
            (cell.type == LUD_CODE_DOOR && cell.door == 1));
}

static void push(search *s, int32_t c) {
    for (int d = 0; d < 4; d++) {
        const int32_t behind = onward(s, c, d, -1);
        const int until = behind < 0 ? LUD_GRID_NO_PATH : s->actions[4 * behind + d];
        if (until == LUD_GRID_NO_PATH) continue;
        for (int k = 1; k <= LUD_GRID_PUSHES && takes_rock(s, onward(s, c, d, k)); k++)
            add(s->errands, (lud_grid_errand){.cell = c, .direction = d, .pushes = k, .actions = until + k});
    }
}

static void find_rocks(search *s) {
    if (!s->robot->walker.rocks) return;
    lud_grid_walker around = s->robot->walker;
    around.rocks = false; /* they stay where they are until it is behind the one that it pushes */
    bool any = false;
    for (int32_t c = 0; c < n_cells(s) && !any; c++)
        any = lud_grid_code_fields(s->words[c]).type == LUD_CHANNEL_ROCK;
    if (!any) return;
    lud_grid_entering(s->words, n_cells(s), around, s->cost);
    lud_grid_paths_from(s->cost, s->height, s->width, s->robot->place, s->actions, s->lists);
    for (int32_t c = 0; c < n_cells(s); c++)
        if (lud_grid_code_fields(s->words[c]).type == LUD_CHANNEL_ROCK) push(s, c);
}

void lud_grid_errands_find(const int32_t *words, int height, int width, const lud_grid_seeker *robot,
                           lud_grid_errands *errands, void *memory) {
    const size_t cells = (size_t)height * (size_t)width;
    search s = {.words = words, .height = height, .width = width, .robot = robot, .errands = errands};
    s.lists = memory;
    s.actions = (uint16_t *)(void *)(s.lists + lud_grid_paths_words(height, width));
    s.with_key = s.actions + 4 * cells;
    s.cost = (uint8_t *)(s.with_key + 4 * cells);
    errands->n = 0;
    find_doors(&s);
    find_rocks(&s);
}

int lud_grid_errand_done(const lud_grid_errand *e, int height, int width, const int32_t *words,
                         int32_t cells[2], int32_t changed[2]) {
    lud_grid_cell cell = lud_grid_code_fields(words[e->cell]);
    cells[0] = e->cell;
    if (e->direction < 0) {
        cell.door = 1;
        changed[0] = lud_grid_code_make(cell);
        return 1;
    }
    cells[1] = lud_cell_onward(e->cell, width, height, e->direction, e->pushes);
    lud_grid_cell there = lud_grid_code_fields(words[cells[1]]);
    there.type = cell.type;
    there.colour = 0; /* a door below keeps its state */
    cell.type = LUD_CODE_NOTHING;
    changed[0] = lud_grid_code_make(cell);
    changed[1] = lud_grid_code_make(there);
    return 2;
}
