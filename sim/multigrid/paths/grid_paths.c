#include "sim/multigrid/paths/grid_paths.h"

#include <string.h>

#include "kernels/grid_code.h"
#include "sim/directions.h"

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

uint8_t lud_grid_entering_cell(int32_t word, lud_grid_walker walker) {
    return (uint8_t)entering(lud_grid_code_fields(word), walker);
}

void lud_grid_entering(const int32_t *words, int n_cells, lud_grid_walker walker, uint8_t *cost) {
    /* most cells are empty or walls */
    const int32_t agent = 7 << LUD_CODE_AGENT_SHIFT;
    for (int c = 0; c < n_cells; c++) {
        const int32_t word = words[c] | agent;
        cost[c] = word == LUD_CODE_EMPTY  ? 1
                  : word == LUD_CODE_WALL ? 0
                                          : lud_grid_entering_cell(word, walker);
    }
}

/* Places (cell and direction) wait in three lists: those that take as many actions as are looked at now, one
 * more, and two more. */
typedef struct search {
    const uint8_t *cost;
    int height, width;
    uint16_t *actions;
    int32_t *list[3];
    int32_t n[3];
} search;

static search begin(const uint8_t *cost, int height, int width, uint16_t *actions, int32_t *memory) {
    const int32_t places = 4 * height * width;
    search s = {.cost = cost, .height = height, .width = width, .actions = actions};
    for (int k = 0; k < 3; k++) s.list[k] = memory + k * places;
    memset(actions, 0xff, (size_t)places * sizeof *actions);
    return s;
}

size_t lud_grid_paths_words(int height, int width) {
    return 3 * 4 * (size_t)height * (size_t)width;
}

static void reach(search *s, int now, int more, int32_t place) {
    const int to = (now + more) % 3, actions = now + more;
    if (actions >= s->actions[place]) return;
    s->actions[place] = (uint16_t)actions;
    s->list[to][s->n[to]++] = place;
}

/* From what was reached without an action; backwards: of each place it is found out how one comes there. */
static void spread(search *s, bool backwards) {
    const uint8_t *cost = s->cost;
    const int way = backwards ? -1 : 1;
    for (int now = 0; s->n[0] + s->n[1] + s->n[2] > 0 && now < LUD_GRID_NO_PATH - 2; now++) {
        const int32_t *list = s->list[now % 3];
        const int32_t n = s->n[now % 3];
        s->n[now % 3] = 0;
        for (int32_t i = 0; i < n; i++) {
            const int32_t place = list[i], cell = place / 4, d = place % 4;
            if (s->actions[place] != now) continue; /* it was reached in fewer */
            reach(s, now, 1, 4 * cell + (d + 1) % 4);
            reach(s, now, 1, 4 * cell + (d + 3) % 4);
            const int32_t next = lud_cell_onward(cell, s->width, s->height, d, way);
            if (next >= 0 && cost[next]) reach(s, now, cost[backwards ? cell : next], 4 * next + d);
        }
    }
}

void lud_grid_paths_to(const uint8_t *cost, int height, int width, const uint8_t *into, uint16_t *actions,
                       int32_t *memory) {
    search s = begin(cost, height, width, actions, memory);
    for (int c = 0; c < height * width; c++)
        for (int d = 0; d < 4 && into[c] && cost[c]; d++) reach(&s, 0, 0, 4 * c + d);
    spread(&s, true);
}

void lud_grid_paths_from(const uint8_t *cost, int height, int width, int32_t place, uint16_t *actions,
                         int32_t *memory) {
    search s = begin(cost, height, width, actions, memory);
    reach(&s, 0, 0, place);
    spread(&s, false);
}
