#include "sim/multigrid/file/grid_generate.h"

#include "base/random.h"
#include "sim/directions.h"
#include "sim/multigrid/file/grid_codes.h"

typedef struct maker {
    const lud_grid_generate *g;
    const lud_grid_options *options;
    lud_arena *arena;
    int map, attempt;
    uint32_t n_draws;
    lud_words words;
    int n_cells;
    lud_grid_thing *things; /* [n_cells] */
    int *room;              /* [n_cells] from 1, 0: none */
    int *gates;             /* [n_cells] cells where a locked door may be */
    int n_gates;
    int *free; /* [n_cells] empty cells in random order; the next to use is the last */
    int n_free;
    const char *fault; /* why this attempt failed */
} maker;

/* ---- random draws ---- */

static uint32_t word(maker *m) {
    lud_random_key key = {(uint64_t)m->g->seed, (uint32_t)m->map};
    if (m->n_draws % 4 == 0)
        m->words = lud_draw(key, (uint32_t)m->attempt, m->n_draws / 4, LUD_PURPOSE_GENERATE, 0);
    return m->words.v[m->n_draws++ % 4];
}

static int below(maker *m, int n) {
    return (int)lud_below(word(m), (uint32_t)n);
}

static bool happens(maker *m, double probability) {
    return lud_unit(word(m)) < probability;
}

static void shuffle(maker *m, int *items, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = below(m, i + 1), item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

static lud_colour random_colour(maker *m) {
    int n = 0;
    for (int c = 0; c < LUD_COLOURS; c++) n += (int)(m->g->colours >> c & 1);
    int k = below(m, n);
    for (int c = 0;; c++)
        if (m->g->colours >> c & 1 && k-- == 0) return (lud_colour)c;
}

/* ---- walls ---- */

static void set(maker *m, int cell, lud_grid_type type) {
    m->things[cell] = (lud_grid_thing){.object = {.type = LUD_EMPTY}, .under = {.type = LUD_EMPTY}};
    if (type != LUD_EMPTY) m->things[cell].object = lud_grid_object_with(type, &m->options->chances);
}

static bool is_empty(const maker *m, int cell) {
    return m->things[cell].object.type == LUD_EMPTY && !m->things[cell].is_agent;
}

/* Line i of `n` rooms on a side of `size` cells: where its wall stands. */
static int wall_line(int i, int n, int size) {
    return i * (size - 1) / n;
}

static int find_set(int *parent, int a) {
    while (parent[a] != a) a = parent[a] = parent[parent[a]];
    return a;
}

static void make_gate(maker *m, int cell) {
    m->gates[m->n_gates++] = cell;
    set(m, cell, m->g->doors == LUD_GATE_GAP ? LUD_EMPTY : LUD_DOOR);
    if (m->g->doors == LUD_GATE_GAP) return;
    m->things[cell].object.colour = random_colour(m);
    m->things[cell].object.door = m->g->doors == LUD_GATE_OPEN ? LUD_DOOR_OPEN : LUD_DOOR_CLOSED;
}

/* A gate somewhere in the wall between room (i, j) and its eastern or southern neighbour. */
static void join_rooms(maker *m, int i, int j, bool east) {
    const lud_grid_generate *g = m->g;
    int x1 = wall_line(i, g->rooms_x, g->width), x2 = wall_line(i + 1, g->rooms_x, g->width);
    int y1 = wall_line(j, g->rooms_y, g->height), y2 = wall_line(j + 1, g->rooms_y, g->height);
    int x = east ? x2 : x1 + 1 + below(m, x2 - x1 - 1);
    int y = east ? y1 + 1 + below(m, y2 - y1 - 1) : y2;
    make_gate(m, y * g->width + x);
}

static const char memory_is_out[] = "memory is out"; /* the fault that no other attempt mends */

static void make_rooms(maker *m) {
    const lud_grid_generate *g = m->g;
    for (int c = 0; c < m->n_cells; c++) {
        int x = c % g->width, y = c / g->width, i = 0, j = 0;
        while (wall_line(i + 1, g->rooms_x, g->width) < x) i++;
        while (wall_line(j + 1, g->rooms_y, g->height) < y) j++;
        bool wall = x == 0 || y == 0 || x == wall_line(i + 1, g->rooms_x, g->width) ||
                    y == wall_line(j + 1, g->rooms_y, g->height);
        set(m, c, wall ? LUD_WALL : LUD_EMPTY);
        m->room[c] = wall ? 0 : 1 + j * g->rooms_x + i;
    }
    /* a random tree over the rooms, and some joints more (Kruskal) */
    int n_rooms = g->rooms_x * g->rooms_y, n = 0;
    int *parent = lud_arena_take_array(m->arena, (size_t)n_rooms, sizeof *parent);
    int *pairs = lud_arena_take_array(m->arena, (size_t)n_rooms * 2, sizeof *pairs);
    if (!parent || !pairs) {
        m->fault = memory_is_out;
        return;
    }
    for (int r = 0; r < n_rooms; r++) {
        parent[r] = r;
        if (r % g->rooms_x + 1 < g->rooms_x) pairs[n++] = 2 * r;
        if (r / g->rooms_x + 1 < g->rooms_y) pairs[n++] = 2 * r + 1;
    }
    shuffle(m, pairs, n);
    for (int p = 0; p < n; p++) {
        int r = pairs[p] / 2;
        bool east = pairs[p] % 2 == 0;
        int a = find_set(parent, r), b = find_set(parent, east ? r + 1 : r + g->rooms_x);
        if (a == b && !happens(m, g->extra_doors)) continue;
        parent[a] = b;
        join_rooms(m, r % g->rooms_x, r / g->rooms_x, east);
    }
}

/* The cell `by` steps away, or -1 outside the outer wall. */
static int away(const maker *m, int cell, int direction, int by) {
    int x = cell % m->g->width + by * lud_step_x(direction),
        y = cell / m->g->width + by * lud_step_y(direction);
    if (x < 1 || y < 1 || x >= m->g->width - 1 || y >= m->g->height - 1) return -1;
    return y * m->g->width + x;
}

/* A random spanning tree by depth-first search over the cells of odd coordinates, then dead ends opened. */
static void make_maze(maker *m) {
    const lud_grid_generate *g = m->g;
    for (int c = 0; c < m->n_cells; c++) set(m, c, LUD_WALL);
    int n = 0, *stack = m->free;
    stack[n++] = g->width + 1;
    set(m, stack[0], LUD_EMPTY);
    while (n) {
        int here = stack[n - 1], choices[4], n_choices = 0;
        for (int d = 0; d < 4; d++) {
            int next = away(m, here, d, 2);
            if (next >= 0 && !is_empty(m, next)) choices[n_choices++] = d;
        }
        if (!n_choices) {
            n--;
            continue;
        }
        int d = choices[below(m, n_choices)];
        set(m, away(m, here, d, 1), LUD_EMPTY);
        stack[n] = away(m, here, d, 2);
        set(m, stack[n++], LUD_EMPTY);
    }
    for (int y = 1; y < g->height; y += 2)
        for (int x = 1; x < g->width; x += 2) {
            int here = y * g->width + x, walls[4], n_walls = 0, n_open = 0;
            for (int d = 0; d < 4; d++) {
                int next = away(m, here, d, 1);
                if (next >= 0 && is_empty(m, next))
                    n_open++;
                else if (next >= 0)
                    walls[n_walls++] = next;
            }
            if (n_open == 1 && n_walls && happens(m, g->braid)) set(m, walls[below(m, n_walls)], LUD_EMPTY);
        }
}

/* Numbers the connected parts of the empty cells from 1 in `room`; returns how many there are. */
static int number_parts(maker *m) {
    int n_parts = 0, *queue = m->free;
    for (int c = 0; c < m->n_cells; c++) m->room[c] = 0;
    for (int c = 0; c < m->n_cells; c++) {
        if (m->room[c] || !is_empty(m, c)) continue;
        int n = 0;
        queue[n++] = c;
        m->room[c] = ++n_parts;
        for (int i = 0; i < n; i++)
            for (int d = 0; d < 4; d++) {
                int next = away(m, queue[i], d, 1);
                if (next < 0 || m->room[next] || !is_empty(m, next)) continue;
                m->room[next] = n_parts;
                queue[n++] = next;
            }
    }
    return n_parts;
}

/* Walls at random; what is cut off from the largest part becomes wall too. */
static void make_open(maker *m) {
    const lud_grid_generate *g = m->g;
    for (int c = 0; c < m->n_cells; c++) {
        int x = c % g->width, y = c / g->width;
        bool border = x == 0 || y == 0 || x == g->width - 1 || y == g->height - 1;
        set(m, c, border || happens(m, g->walls) ? LUD_WALL : LUD_EMPTY);
    }
    const int n_parts = number_parts(m);
    int *size = m->free, best = 0; /* not filled yet: room for the size of every part */
    for (int p = 0; p < n_parts; p++) size[p] = 0;
    for (int c = 0; c < m->n_cells; c++)
        if (m->room[c]) size[m->room[c] - 1]++;
    for (int p = 1; p <= n_parts; p++)
        if (best == 0 || size[p - 1] > size[best - 1]) best = p;
    for (int c = 0; c < m->n_cells; c++)
        if (m->room[c] && m->room[c] != best) set(m, c, LUD_WALL);
}

/* In mazes and open fields a door may stand where a cell has free neighbours on two opposite sides only. */
static void find_gates(maker *m) {
    for (int c = 0; c < m->n_cells; c++) {
        if (!is_empty(m, c)) continue;
        int open = 0;
        for (int d = 0; d < 4; d++) {
            int next = away(m, c, d, 1);
            if (next >= 0 && is_empty(m, next)) open |= 1 << d;
        }
        if (open == 5 || open == 10) m->gates[m->n_gates++] = c;
    }
}

/* Locks some gates; returns the colours, as bits, for which a key is needed. */
static unsigned lock_doors(maker *m) {
    unsigned colours = 0;
    if (m->n_gates < m->g->locked_doors) {
        m->fault = "there are fewer places for doors than locked_doors";
        return 0;
    }
    shuffle(m, m->gates, m->n_gates);
    for (int i = 0; i < m->g->locked_doors; i++) {
        set(m, m->gates[i], LUD_DOOR);
        m->things[m->gates[i]].object.door = LUD_DOOR_LOCKED;
        m->things[m->gates[i]].object.colour = random_colour(m);
        colours |= 1u << m->things[m->gates[i]].object.colour;
    }
    return colours;
}

/* ---- things and agents ---- */

static void list_free(maker *m) {
    m->n_free = 0;
    for (int c = 0; c < m->n_cells; c++) {
        bool gap = m->g->style == LUD_STYLE_ROOMS && !m->room[c]; /* an open gate stays open */
        if (is_empty(m, c) && !gap) m->free[m->n_free++] = c;
    }
    shuffle(m, m->free, m->n_free);
}

static int take_free(maker *m) {
    if (m->n_free) return m->free[--m->n_free];
    m->fault = "there are more things and agents than free cells";
    return -1;
}

static lud_grid_type random_target(maker *m) {
    static const lud_grid_type types[] = {LUD_KILL_BUTTON, LUD_PAUSE_SWITCH, LUD_CONTROL_BUTTON};
    lud_grid_type present[3];
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (m->g->objects.of[types[i]]) present[n++] = types[i];
    return n ? present[below(m, n)] : LUD_KILL_BUTTON;
}

static void place(maker *m, lud_grid_type type, int colour) {
    int cell = take_free(m);
    if (cell < 0) return;
    set(m, cell, type);
    lud_grid_object *object = &m->things[cell].object;
    bool coloured = type == LUD_KEY || type == LUD_BALL || type == LUD_BOX || type == LUD_GOAL;
    if (coloured) object->colour = colour >= 0 ? (lud_colour)colour : random_colour(m);
    if (type == LUD_DISABLING_SWITCH) object->target_type = random_target(m);
}

/* A magic wall takes the place of a wall inside the map, where there is one. */
static void place_magic_wall(maker *m) {
    int n = 0, chosen = -1;
    for (int c = 0; c < m->n_cells; c++) {
        int x = c % m->g->width, y = c / m->g->width;
        bool inside = x > 0 && y > 0 && x < m->g->width - 1 && y < m->g->height - 1;
        if (inside && m->things[c].object.type == LUD_WALL && below(m, ++n) == 0) chosen = c;
    }
    if (chosen >= 0)
        set(m, chosen, LUD_MAGIC_WALL);
    else
        place(m, LUD_MAGIC_WALL, -1);
}

static void place_things(maker *m, unsigned key_colours) {
    for (int i = 0; i < m->g->objects.of[LUD_MAGIC_WALL] && !m->fault; i++) place_magic_wall(m);
    list_free(m);
    for (int colour = 0; colour < LUD_COLOURS; colour++)
        if (key_colours >> colour & 1) place(m, LUD_KEY, colour);
    for (int type = 0; type < LUD_GRID_TYPES; type++)
        for (int i = 0; i < m->g->objects.of[type] && type != LUD_MAGIC_WALL && !m->fault; i++)
            place(m, (lud_grid_type)type, -1);
}

static void place_agents(maker *m, lud_grid_thing *agents) {
    for (int i = 0; i < m->g->humans + m->g->robots && !m->fault; i++) {
        int cell = take_free(m);
        if (cell < 0) return;
        agents[i] =
            (lud_grid_thing){.is_agent = true, .under = {.type = LUD_EMPTY}, .object = {.type = LUD_EMPTY}};
        agents[i].agent = (lud_grid_agent){.x = cell % m->g->width,
                                           .y = cell / m->g->width,
                                           .direction = (lud_direction)below(m, 4),
                                           .colour = i < m->g->humans ? LUD_YELLOW : LUD_GREY};
        m->things[cell].is_agent = true;
    }
}

/* ---- a map ---- */

static void make(maker *m, lud_grid_thing *agents) {
    m->n_draws = 0;
    m->n_gates = 0;
    m->fault = NULL;
    switch (m->g->style) {
    case LUD_STYLE_ROOMS:
        make_rooms(m);
        break;
    case LUD_STYLE_MAZE:
        make_maze(m);
        find_gates(m);
        break;
    case LUD_STYLE_OPEN:
        make_open(m);
        find_gates(m);
        break;
    }
    unsigned key_colours = m->fault ? 0 : lock_doors(m);
    if (m->g->style != LUD_STYLE_ROOMS) number_parts(m);
    if (!m->fault) place_things(m, key_colours);
    if (!m->fault) place_agents(m, agents);
}

static lud_status make_map(maker *m, lud_grid_thing *agents, lud_grid_spec *spec, lud_error *error) {
    const int n_agents = (int)(m->g->humans + m->g->robots);
    for (m->attempt = 0; m->attempt < m->g->attempts; m->attempt++) {
        lud_arena_mark mark = lud_arena_get_mark(m->arena);
        make(m, agents);
        if (m->fault == memory_is_out) return lud_no_memory(error, "the rooms of a map");
        if (!m->fault) {
            lud_grid_map *map = &spec->maps[m->map];
            lud_status status = lud_grid_agents_apply(m->arena, m->options->agents, agents, n_agents, error);
            if (!status)
                status =
                    lud_grid_map_build(m->arena, m->things, agents, n_agents, m->options, spec, map, error);
            bool good = !m->g->solvable;
            if (!status && !good) status = lud_grid_is_solvable(spec, map, m->room, &good, error);
            if (status || good) return status;
            m->fault = "a human could not get everywhere";
        }
        lud_arena_release(m->arena, mark);
    }
    return lud_invalid(
        error,
        "expected options under which a random map can be made, found none in %d attempts for map %d (the "
        "last one failed because %s)",
        (int)m->g->attempts, m->map, m->fault);
}

lud_status lud_grid_generate_maps(lud_arena *arena, const lud_grid_options *options, lud_grid_spec *spec,
                                  lud_error *error) {
    const lud_grid_generate *g = &spec->generate;
    spec->width = g->width;
    spec->height = g->height;
    maker m = {.g = g, .options = options, .arena = arena, .n_cells = g->width * g->height};
    size_t n = (size_t)m.n_cells;
    m.things = lud_arena_take_array(arena, n, sizeof *m.things);
    m.room = lud_arena_take_array(arena, n, sizeof *m.room);
    m.gates = lud_arena_take_array(arena, n, sizeof *m.gates);
    m.free = lud_arena_take_array(arena, n, sizeof *m.free);
    lud_grid_thing *agents = lud_arena_take_array(arena, LUD_GRID_MAX_AGENTS, sizeof *agents);
    spec->maps = lud_arena_take_array(arena, (size_t)spec->n_maps, sizeof *spec->maps);
    if (!m.things || !m.room || !m.gates || !m.free || !agents || !spec->maps)
        return lud_out_of_memory(error);
    for (m.map = 0; m.map < spec->n_maps; m.map++) LUD_TRY(make_map(&m, agents, spec, error));
    return LUD_OK;
}

/* ---- the section ---- */

static lud_status read_pair(lud_tree *section, const char *key, const lud_int_list *list, int *a, int *b,
                            lud_error *error) {
    lud_tree *node = lud_tree_get(section, key);
    if (list->n != 2) return lud_tree_expected(node, error, "[across, down]");
    *a = (int)list->items[0];
    *b = (int)list->items[1];
    return LUD_OK;
}

static lud_status check_section(lud_tree *section, const lud_grid_generate *g, lud_error *error) {
    lud_tree *size = lud_tree_get(section, "size"), *rooms = lud_tree_get(section, "rooms");
    const lud_tree *at = rooms ? rooms : size ? size : section;
    if (g->humans + g->robots > LUD_GRID_MAX_AGENTS)
        return lud_tree_expected(section, error, "at most %d humans and robots", (int)LUD_GRID_MAX_AGENTS);
    if (g->style == LUD_STYLE_ROOMS && ((g->width - 1) / g->rooms_x < 2 || (g->height - 1) / g->rooms_y < 2))
        return lud_tree_expected(at, error, "a size of at least %d x %d for %d x %d rooms",
                                 2 * g->rooms_x + 1, 2 * g->rooms_y + 1, g->rooms_x, g->rooms_y);
    if (g->style == LUD_STYLE_MAZE && (g->width % 2 == 0 || g->height % 2 == 0))
        return lud_tree_expected(size ? size : section, error, "an odd width and height for a maze");
    /* keeps a file of a few lines from asking for gigabytes */
    if ((int64_t)g->width * g->height * g->maps > 4 << 20)
        return lud_tree_expected(lud_tree_get(section, "maps"), error, "maps of at most %d cells together",
                                 4 << 20);
    return LUD_OK;
}

lud_status lud_grid_generate_read(lud_arena *arena, lud_tree *section, uint64_t seed, lud_grid_generate *g,
                                  lud_error *error) {
    lud_grid_generate_options v;
    LUD_TRY(lud_options_read(&lud_grid_generate_option_table, arena, section, &v, error));
    *g = v.generate;
    if (g->seed < 0) g->seed = (int64_t)seed;
    lud_status status = read_pair(section, "size", &v.size, &g->width, &g->height, error);
    if (!status) status = read_pair(section, "rooms", &v.rooms, &g->rooms_x, &g->rooms_y, error);
    lud_tree *colours = lud_tree_get(section, "colours");
    for (lud_tree *c = colours ? colours->child : NULL; c && !status; c = c->next) {
        int colour;
        status = lud_tree_choice(c, lud_colour_names, LUD_COLOURS, &colour, error);
        if (!status) g->colours |= 1u << colour;
    }
    if (!colours) g->colours = (1u << LUD_BROWN) - 1;
    if (!status && !g->colours) status = lud_tree_expected(colours, error, "at least one colour");
    return status ? status : check_section(section, g, error);
}

lud_status lud_grid_generate_write(const lud_grid_generate *g, lud_arena *arena, lud_tree *out,
                                   lud_error *error) {
    int64_t size[2] = {g->width, g->height}, rooms[2] = {g->rooms_x, g->rooms_y};
    const char *colours[LUD_COLOURS];
    lud_grid_generate_options v = {
        .generate = *g, .size = {size, 2}, .rooms = {rooms, 2}, .colours = {colours, 0}};
    for (int c = 0; c < LUD_COLOURS; c++)
        if (g->colours >> c & 1) colours[v.colours.n++] = lud_colour_names[c];
    return lud_options_write(&lud_grid_generate_option_table, arena, &v, out, error);
}
