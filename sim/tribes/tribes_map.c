#include "sim/tribes/tribes_map.h"

#include <ctype.h>
#include <string.h>

#include "sim/directions.h"

/* --- Drawn maps --- */

typedef struct drawer {
    lud_arena *arena;
    lud_tribes_spec *spec;
    lud_error *error;
    char *cells; /* [MAX_SIDE * MAX_SIDE] rows as they come */
} drawer;

static bool is_cell(char c, int n_teams) {
    return (c && strchr(".~gwo", c)) || (c >= 'A' && c < 'A' + n_teams) || (c >= '1' && c < '1' + n_teams);
}

static lud_status read_line(drawer *d, const char *line, size_t length, lud_place place, bool exact) {
    lud_tribes_spec *spec = d->spec;
    int width = 0;
    for (size_t i = 0; i < length; i++) {
        lud_place there = place;
        if (exact) there.column += (int)i;
        char c = line[i];
        if (c == ' ' || c == '\t' || c == '\r') continue;
        if (!is_cell(c, spec->n_teams)) {
            char shown[2] = {isprint((unsigned char)c) ? c : '?', 0};
            return lud_invalid_at(d->error, there,
                                  "expected one of . ~ g w o, A to %c or 1 to %d (%d teams), found '%s'",
                                  'A' + spec->n_teams - 1, spec->n_teams, spec->n_teams, shown);
        }
        if (width == LUD_TRIBES_MAX_SIDE || spec->height == LUD_TRIBES_MAX_SIDE)
            return lud_invalid_at(d->error, there, "expected a map of at most %d by %d cells",
                                  (int)LUD_TRIBES_MAX_SIDE, (int)LUD_TRIBES_MAX_SIDE);
        d->cells[spec->height * LUD_TRIBES_MAX_SIDE + width++] = c;
    }
    if (width == 0) return LUD_OK;
    if (spec->height > 0 && width != spec->width)
        return lud_invalid_at(d->error, place, "expected a row of %d cells, found %d", spec->width, width);
    spec->width = width;
    spec->height++;
    return LUD_OK;
}

static lud_status read_text(drawer *d, const lud_tree *node) {
    lud_place place = node->place;
    const char *at = node->text, *end = at + node->text_length;
    lud_status status = LUD_OK;
    while (at < end && !status) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        status = read_line(d, at, (size_t)(stop - at), place, node->literal);
        if (node->literal) place.line++;
        at = newline ? newline + 1 : end;
    }
    return status;
}

lud_status lud_tribes_map_read(lud_arena *arena, lud_tree *node, lud_tribes_spec *spec, lud_error *error) {
    drawer d = {arena, spec, error, lud_arena_take(arena, (size_t)LUD_TRIBES_MAX_SIDE * LUD_TRIBES_MAX_SIDE)};
    char **maps = lud_arena_take(arena, sizeof *maps);
    if (!d.cells || !maps) return lud_no_memory(error, "a map");
    spec->width = spec->height = 0;
    lud_status status = LUD_OK;
    if (node->kind == LUD_TREE_SCALAR)
        status = read_text(&d, node);
    else if (node->kind == LUD_TREE_SEQUENCE)
        for (lud_tree *row = node->child; row && !status; row = row->next) {
            if (row->kind != LUD_TREE_SCALAR) return lud_tree_expected(row, error, "a row of the map");
            row->used = true;
            lud_place place = row->place;
            if (row->quoted) place.column++;
            status = read_line(&d, row->text, row->text_length, place, true);
        }
    else
        status = lud_tree_expected(node, error, "the rows of a map");
    if (status) return status;
    if (spec->width * spec->height < 2) return lud_tree_expected(node, error, "a map of two cells or more");
    const size_t width = (size_t)spec->width, height = (size_t)spec->height;
    maps[0] = lud_arena_take(arena, width * height);
    if (!maps[0]) return lud_no_memory(error, "a map");
    for (size_t y = 0; y < height; y++) memcpy(maps[0] + y * width, d.cells + y * LUD_TRIBES_MAX_SIDE, width);
    spec->maps = maps;
    spec->n_maps = 1;
    return LUD_OK;
}

bool lud_tribes_map_write(lud_arena *arena, const lud_tribes_spec *spec, lud_tree *section) {
    lud_tree *list = lud_tree_add_sequence(arena, section, "map");
    for (int y = 0; y < spec->height && list; y++) {
        const char *row = lud_arena_text(arena, spec->maps[0] + y * spec->width, (size_t)spec->width);
        if (!row || !lud_tree_add_text(arena, list, NULL, row)) return false;
    }
    return list != NULL;
}

/* --- What a map is like --- */

static bool is_walked(char c) {
    return c != '~' && !(c >= 'A' && c <= 'F');
}

bool lud_tribes_is_connected(const char *map, int width, int height, uint8_t *mark, uint16_t *queue) {
    const int n = width * height;
    int head = 0, tail = 0;
    memset(mark, 0, (size_t)n);
    for (int c = 0; c < n && tail == 0; c++)
        if (is_walked(map[c]) && map[c] != '.') {
            queue[tail++] = (uint16_t)c;
            mark[c] = 1;
        }
    while (head < tail) {
        const int c = queue[head++];
        for (int d = 0; d < 4; d++) {
            const int to = lud_cell_onward(c, width, height, d, 1);
            if (to < 0 || mark[to]) continue;
            mark[to] = 1;
            if (is_walked(map[to])) queue[tail++] = (uint16_t)to;
        }
    }
    for (int c = 0; c < n; c++)
        if (map[c] != '.' && map[c] != '~' && !mark[c]) return false;
    return true;
}

/* --- Compiling --- */

static bool find_way_home(lud_tribes_model *m, lud_tribes_map *map, int team) {
    uint16_t *way = map->way_home + (size_t)team * (size_t)(m->n_cells + 1);
    lud_arena_mark mark = lud_arena_get_mark(m->arena);
    uint16_t *queue = lud_arena_take_array(m->arena, (size_t)m->n_cells, sizeof *queue);
    if (!queue) return false;
    int head = 0, tail = 0;
    for (int c = 0; c <= m->n_cells; c++) {
        way[c] = LUD_TRIBES_NOBODY;
        if (c == m->n_cells || map->ground[c] >= LUD_TRIBES_WATER || !lud_tribes_at_home(m, map, c, team))
            continue;
        way[c] = 0;
        queue[tail++] = (uint16_t)c;
    }
    while (head < tail) {
        const int c = queue[head++];
        for (int d = 0; d < 4; d++) {
            const int to = lud_tribes_neighbour(m, c, d);
            if (map->ground[to] >= LUD_TRIBES_WATER || way[to] != LUD_TRIBES_NOBODY) continue;
            way[to] = (uint16_t)(way[c] + 1);
            queue[tail++] = (uint16_t)to;
        }
    }
    lud_arena_release(m->arena, mark);
    return true;
}

static bool take_arrays(lud_tribes_model *m, lud_tribes_map *map) {
    const size_t n = (size_t)m->n_cells + 1;
    map->ground = lud_arena_take(m->arena, n);
    map->field_at = lud_arena_take_array(m->arena, n, sizeof *map->field_at);
    map->field = lud_arena_take_array(m->arena, (size_t)m->n_fields, sizeof *map->field);
    map->start = lud_arena_take_array(m->arena, (size_t)m->n_agents, sizeof *map->start);
    map->free = lud_arena_take_array(m->arena, n, sizeof *map->free);
    map->house = lud_arena_take_array(m->arena, n, sizeof *map->house);
    map->owner = lud_arena_take(m->arena, n);
    map->way_home = lud_arena_take_array(m->arena, n * (size_t)m->spec.n_teams, sizeof *map->way_home);
    return map->ground && map->field_at && map->field && map->start && map->free && map->house &&
           map->owner && map->way_home;
}

bool lud_tribes_map_compile(lud_tribes_model *m, int index) {
    static const char kinds[] = "gwo";
    const char *cells = m->spec.maps[index];
    lud_tribes_map *map = &m->maps[index];
    if (!take_arrays(m, map)) return false;
    int fields[LUD_RESOURCES], agents[LUD_TRIBES_MAX_TEAMS];
    for (int k = 0; k < LUD_RESOURCES; k++) fields[k] = m->field_begin[k];
    for (int t = 0; t < m->spec.n_teams; t++) agents[t] = m->team_begin[t];
    for (int c = 0; c < m->n_cells; c++) {
        const char *kind = strchr(kinds, cells[c]);
        map->field_at[c] = -1;
        map->ground[c] = LUD_TRIBES_GROUND;
        if (cells[c] == '~') map->ground[c] = LUD_TRIBES_WATER;
        if (kind) {
            const int f = fields[kind - kinds]++;
            map->ground[c] = LUD_TRIBES_FIELD;
            map->field_at[c] = (int16_t)f;
            map->field[f] = (uint16_t)c;
        }
        if (cells[c] >= '1' && cells[c] <= '6') map->start[agents[cells[c] - '1']++] = (uint16_t)c;
        if (cells[c] >= 'A' && cells[c] <= 'F') {
            map->ground[c] = (uint8_t)(LUD_TRIBES_HOUSE + cells[c] - 'A');
            map->house[map->n_houses] = (uint16_t)c;
            map->owner[map->n_houses++] = (uint8_t)(cells[c] - 'A');
        }
        if (map->ground[c] == LUD_TRIBES_GROUND) map->free[map->n_free++] = (uint16_t)c;
    }
    map->ground[m->n_cells] = LUD_TRIBES_WATER;
    map->field_at[m->n_cells] = -1;
    for (int t = 0; t < m->spec.n_teams; t++)
        if (!find_way_home(m, map, t)) return false;
    return true;
}
