#include "sim/multigrid/grid_paths.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/arena.h"
#include "kernels/grid_code.h"

/* Actions to enter what lies or stands in a cell; 0: never. */
static int entering(lud_grid_cell cell, lud_grid_walker walker) {
    const bool magic = cell.magic >= 1 && cell.magic <= 5;
    if (cell.other > 1 || magic) return 0;
    switch (cell.type) {
    case LUD_CODE_NOTHING:
    case LUD_CHANNEL_GOAL:
    case LUD_CHANNEL_FLOOR:
    case LUD_CHANNEL_SWITCH:
    case LUD_CHANNEL_UNSTEADY_GROUND:
        return 1;
    case LUD_CODE_DOOR: {
        const bool open = cell.door == 1, opens = cell.door == 2 || walker.key == cell.colour;
        return open ? 1 : opens || walker.cleared ? 2 : 0;
    }
    case LUD_CHANNEL_BLOCK:
        return 1; /* whoever walks pushes it */
    case LUD_CHANNEL_ROCK:
        return walker.rocks ? 1 : walker.cleared ? 2 : 0;
    case LUD_CODE_KEY:
    case LUD_CHANNEL_BALL:
    case LUD_CHANNEL_BOX:
        return walker.cleared ? 2 : 0;
    default:
        return 0;
    }
}

void lud_grid_entering(const int32_t *words, int n_cells, lud_grid_walker walker, uint8_t *cost) {
    for (int c = 0; c < n_cells; c++) cost[c] = (uint8_t)entering(lud_grid_code_fields(words[c]), walker);
}

/* A search backwards from the rectangle. Places (cell and direction) wait in three lists: those that take as
 * many actions as are looked at now, one more, and two more. */
typedef struct search {
    const uint8_t *cost;
    uint16_t *actions;
    int32_t *list[3];
    int32_t n[3];
} search;

static void reach(search *s, int now, int more, int32_t place) {
    const int to = (now + more) % 3, actions = now + more;
    if (actions >= s->actions[place]) return;
    s->actions[place] = (uint16_t)actions;
    s->list[to][s->n[to]++] = place;
}

size_t lud_grid_paths_words(int height, int width) {
    return 3 * 4 * (size_t)height * (size_t)width;
}

/* Every direction of the marked cells; `closed`: also of those that cannot be entered. */
static void begin(search *s, int n_cells, const uint8_t *into, bool closed) {
    for (int c = 0; c < n_cells; c++)
        for (int d = 0; d < 4 && into[c] && (closed || s->cost[c]); d++) reach(s, 0, 0, 4 * c + d);
}

void lud_grid_paths_to(const uint8_t *cost, int height, int width, const uint8_t *into, bool closed,
                       uint16_t *actions, int32_t *memory) {
    static const int step_x[4] = {1, 0, -1, 0}, step_y[4] = {0, 1, 0, -1};
    const int32_t places = 4 * height * width;
    search s = {.cost = cost, .actions = actions};
    for (int k = 0; k < 3; k++) s.list[k] = memory + k * places;
    memset(actions, 0xff, (size_t)places * sizeof *actions);
    begin(&s, height * width, into, closed);
    for (int now = 0; s.n[0] + s.n[1] + s.n[2] > 0 && now < LUD_GRID_NO_PATH - 2; now++) {
        const int32_t *list = s.list[now % 3];
        const int32_t n = s.n[now % 3];
        s.n[now % 3] = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t place = list[i], cell = place / 4, d = place % 4;
            if (actions[place] != now) continue; /* it was reached in fewer */
            if (cost[cell]) {
                reach(&s, now, 1, 4 * cell + (d + 1) % 4);
                reach(&s, now, 1, 4 * cell + (d + 3) % 4);
            }
            const int x = cell % width - step_x[d], y = cell / width - step_y[d];
            if (x < 0 || y < 0 || x >= width || y >= height || !cost[y * width + x]) continue;
            reach(&s, now, cost[cell] ? cost[cell] : 1, 4 * (y * width + x) + d);
        }
    }
}

/* ---- kept ---- */

/* A table in which an arrangement has one place. */
struct lud_grid_paths_kept {
    size_t n_cells, n_actions; /* n_actions: of an arrangement */
    uint64_t n;
    bool *used;
    uint8_t *arrangement;
    uint16_t *actions;
};

lud_grid_paths_kept *lud_grid_paths_kept_create(int n_cells, int n_fields, size_t bytes) {
    enum { LEAST = 4, MOST = 256 };
    lud_grid_paths_kept *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->n_cells = (size_t)n_cells;
    k->n_actions = 4 * (size_t)n_fields * k->n_cells;
    k->n = bytes / (k->n_actions * sizeof *k->actions + 1);
    k->n = k->n < LEAST ? LEAST : k->n > MOST ? MOST : k->n;
    k->used = calloc(k->n, sizeof *k->used);
    k->arrangement = calloc(k->n, k->n_cells);
    k->actions = calloc(k->n, k->n_actions * sizeof *k->actions + 1);
    if (k->used && k->arrangement && k->actions) return k;
    lud_grid_paths_kept_destroy(k);
    return NULL;
}

void lud_grid_paths_kept_destroy(lud_grid_paths_kept *k) {
    if (k) LUD_FREE(k->used, k->arrangement, k->actions, k);
}

uint16_t *lud_grid_paths_kept_of(lud_grid_paths_kept *k, const uint8_t *arrangement, bool *known) {
    const size_t at = (size_t)(XXH3_64bits(arrangement, k->n_cells) % k->n);
    uint8_t *there = k->arrangement + at * k->n_cells;
    *known = k->used[at] && memcmp(there, arrangement, k->n_cells) == 0;
    k->used[at] = true;
    if (!*known) memcpy(there, arrangement, k->n_cells);
    return k->actions + at * k->n_actions;
}
