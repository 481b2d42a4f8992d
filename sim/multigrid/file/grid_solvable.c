#include <stdlib.h>
#include <string.h>

#include "sim/directions.h"
#include "sim/multigrid/file/grid_generate.h"

/* What stands in the way of a person in one cell. */
typedef enum way { WAY_FREE, WAY_BLOCKED, WAY_LOCKED, WAY_KEY } way;

typedef struct search {
    const lud_grid_spec *spec;
    const lud_grid_map *map;
    int n_cells;
    uint8_t *way;     /* [n_cells] now */
    uint8_t *initial; /* [n_cells] at the start */
    uint8_t *colour;  /* [n_cells] of the locked door or key in the cell */
    uint8_t *seen;    /* [n_cells] in the region of the last flood */
    uint8_t *visited; /* [n_cells] reached at some time */
    uint8_t *tried;   /* [n_cells] initial regions from which a search was made */
    int *queue;       /* [n_cells] the region in the order in which it was found */
    int n_region;
    bool out_of_memory;
} search;

enum { DROP_TRIES = 64 };

static int neighbour(const search *s, int cell, int direction) {
    return lud_cell_onward(cell, s->spec->width, s->spec->height, direction, 1);
}

static void flood(search *s, int start) {
    memset(s->seen, 0, (size_t)s->n_cells);
    s->n_region = 0;
    s->queue[s->n_region++] = start;
    s->seen[start] = 1;
    for (int i = 0; i < s->n_region; i++)
        for (int d = 0; d < 4; d++) {
            int next = neighbour(s, s->queue[i], d);
            if (next < 0 || s->seen[next] || s->way[next] != WAY_FREE) continue;
            s->seen[next] = 1;
            s->queue[s->n_region++] = next;
        }
}

static void flood_and_visit(search *s, int start) {
    flood(s, start);
    for (int i = 0; i < s->n_region; i++) s->visited[s->queue[i]] = 1;
}

static bool touches_region(const search *s, int cell) {
    for (int d = 0; d < 4; d++) {
        int next = neighbour(s, cell, d);
        if (next >= 0 && s->seen[next]) return true;
    }
    return false;
}

static bool has_locked_door(const search *s, int colour, bool near) {
    for (int c = 0; c < s->n_cells; c++)
        if (s->way[c] == WAY_LOCKED && (colour < 0 || s->colour[c] == colour) &&
            (!near || touches_region(s, c)))
            return true;
    return false;
}

/* Takes a key within reach with which a locked door can be opened; returns the key's cell, or -1. */
static int take_key(search *s, int start) {
    for (int c = 0; c < s->n_cells; c++) {
        if (s->way[c] != WAY_KEY || !touches_region(s, c)) continue;
        s->way[c] = WAY_FREE;
        flood(s, start);
        if (has_locked_door(s, s->colour[c], true)) return c;
        s->way[c] = WAY_KEY;
        flood(s, start);
    }
    return -1;
}

/* Finds where the key can be put down: the region must stay in one piece and everything that was within reach
 * must stay so. Cells found last by the flood are the least likely to be in the way. Returns a start for the
 * next flood. */
static int drop_key(search *s, int colour) {
    int n = s->n_region;
    int *region = malloc((size_t)n * sizeof *region);
    uint8_t *reached = malloc((size_t)s->n_cells);
    int start = -1;
    s->out_of_memory |= !region || !reached;
    if (region && reached) {
        memcpy(region, s->queue, (size_t)n * sizeof *region);
        for (int c = 0; c < s->n_cells; c++) reached[c] = s->way[c] > WAY_BLOCKED && touches_region(s, c);
        for (int i = n - 1; i > 0 && i >= n - DROP_TRIES && start < 0; i--) {
            int d = region[i];
            lud_grid_type ground = s->map->cells[d].type;
            if (ground != LUD_EMPTY && ground != LUD_FLOOR) continue;
            s->way[d] = WAY_KEY;
            flood(s, region[0]);
            bool fits = s->n_region == n - 1;
            for (int c = 0; c < s->n_cells && fits; c++) fits = !reached[c] || touches_region(s, c);
            if (fits)
                start = region[0];
            else
                s->way[d] = WAY_FREE;
            if (fits) s->colour[d] = (uint8_t)colour;
        }
    }
    free(region);
    free(reached);
    return start;
}

static void explore(search *s, int start) {
    memcpy(s->way, s->initial, (size_t)s->n_cells);
    memset(s->visited, 0, (size_t)s->n_cells);
    flood_and_visit(s, start);
    for (int i = 0; i < s->n_region; i++) s->tried[s->queue[i]] = 1;
    while (has_locked_door(s, -1, false)) {
        int key = take_key(s, start);
        if (key < 0) return;
        int colour = s->colour[key];
        flood_and_visit(s, start);
        while (has_locked_door(s, colour, true)) {
            for (int c = 0; c < s->n_cells; c++)
                if (s->way[c] == WAY_LOCKED && s->colour[c] == colour && touches_region(s, c))
                    s->way[c] = WAY_FREE;
            flood_and_visit(s, start);
        }
        if (!has_locked_door(s, -1, false)) return;
        start = drop_key(s, colour);
        if (start < 0) return;
    }
}

/* Whether what was visited has every goal object and a cell of every room. */
static bool is_complete(search *s, const int *room) {
    int n_rooms = 0;
    for (int c = 0; c < s->n_cells; c++) {
        if (s->map->cells[c].type == LUD_GOAL && !s->visited[c]) return false;
        if (room && room[c] > n_rooms) n_rooms = room[c];
    }
    if (!n_rooms) return true;
    uint8_t *entered = calloc((size_t)n_rooms + 1, 1);
    s->out_of_memory |= !entered;
    if (!entered) return false;
    int left = 0;
    for (int c = 0; c < s->n_cells; c++)
        if (room[c] && !entered[room[c]]) {
            left++;
            entered[room[c]] = 1;
        }
    for (int c = 0; c < s->n_cells; c++)
        if (s->visited[c] && room[c] && entered[room[c]] == 1) {
            entered[room[c]] = 2;
            left--;
        }
    free(entered);
    return left == 0;
}

static way way_of(const lud_grid_object *object, bool can_toggle) {
    switch (object->type) {
    case LUD_EMPTY:
    case LUD_FLOOR:
    case LUD_GOAL:
    case LUD_SWITCH:
    case LUD_UNSTEADY_GROUND:
        return WAY_FREE;
    case LUD_BUSH:
        return object->enter >= 1 ? WAY_FREE : WAY_BLOCKED;
    case LUD_DOOR:
        if (object->door == LUD_DOOR_OPEN) return WAY_FREE;
        if (!can_toggle) return WAY_BLOCKED;
        return object->door == LUD_DOOR_CLOSED ? WAY_FREE : WAY_LOCKED;
    default:
        return WAY_BLOCKED;
    }
}

static void read_map(search *s) {
    const int actions = s->spec->actions;
    bool can_toggle =
        actions == LUD_ACTIONS_AUTOMATIC || actions == LUD_ACTIONS_FULL || actions == LUD_ACTIONS_OBJECT;
    for (int c = 0; c < s->n_cells; c++) {
        s->initial[c] = (uint8_t)way_of(&s->map->cells[c], can_toggle);
        s->colour[c] = (uint8_t)s->map->cells[c].colour;
    }
    for (int i = 0; i < s->map->n_pieces; i++) {
        const lud_grid_piece *piece = &s->map->pieces[i];
        int c = piece->y * s->spec->width + piece->x;
        s->initial[c] = piece->object.type == LUD_KEY && can_toggle ? WAY_KEY : WAY_BLOCKED;
        s->colour[c] = (uint8_t)piece->object.colour;
    }
}

lud_status lud_grid_is_solvable(const lud_grid_spec *spec, const lud_grid_map *map, const int *room,
                                bool *answer, lud_error *error) {
    search s = {.spec = spec, .map = map, .n_cells = spec->width * spec->height};
    size_t n = (size_t)s.n_cells;
    uint8_t *bytes = calloc(6, n);
    s.queue = malloc(n * sizeof *s.queue);
    bool solvable = bytes && s.queue;
    s.out_of_memory = !solvable;
    if (solvable) {
        s.way = bytes;
        s.initial = bytes + n;
        s.colour = bytes + 2 * n;
        s.seen = bytes + 3 * n;
        s.visited = bytes + 4 * n;
        s.tried = bytes + 5 * n;
        bool has_human = false;
        for (int i = 0; i < spec->n_agents; i++) has_human |= map->agents[i].role == LUD_ROLE_HUMAN;
        for (int i = 0; i < spec->n_agents && solvable && !spec->random_start; i++) {
            if (map->agents[i].role != LUD_ROLE_HUMAN) continue;
            read_map(&s); /* a key that was moved took its colour with it */
            explore(&s, map->agents[i].y * spec->width + map->agents[i].x);
            solvable = is_complete(&s, room);
        }
        for (int c = 0; c < s.n_cells && solvable && spec->random_start && has_human; c++) {
            read_map(&s);
            if (s.tried[c] || s.initial[c] != WAY_FREE) continue;
            explore(&s, c);
            solvable = is_complete(&s, room);
        }
    }
    free(bytes);
    free(s.queue);
    *answer = solvable;
    return s.out_of_memory ? lud_fail(error, LUD_ERROR_MEMORY, "no memory to see whether a map is solvable")
                           : LUD_OK;
}
