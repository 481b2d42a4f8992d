#include "sim/multigrid/file/grid_codes.h"

#include <ctype.h>
#include <string.h>

/* `*` stands for the letter of a colour. Fixed codes come first, so that `Kb` is the kill button. */
typedef struct code {
    char text[3];
    lud_grid_type type;
    int variant; /* side of a magic wall, state of a door, what a disabling switch disables */
} code;

static const code codes[] = {
    {"..", LUD_EMPTY, 0},
    {"Bl", LUD_BLOCK, 0},
    {"Ro", LUD_ROCK, 0},
    {"Bu", LUD_BUSH, 0},
    {"La", LUD_LAVA, 0},
    {"Sw", LUD_SWITCH, 0},
    {"Un", LUD_UNSTEADY_GROUND, 0},
    {"Mn", LUD_MAGIC_WALL, LUD_NORTH},
    {"Ms", LUD_MAGIC_WALL, LUD_SOUTH},
    {"Mw", LUD_MAGIC_WALL, LUD_WEST},
    {"Me", LUD_MAGIC_WALL, LUD_EAST},
    {"Ma", LUD_MAGIC_WALL, LUD_ALL_SIDES},
    {"Kb", LUD_KILL_BUTTON, 0},
    {"Ki", LUD_KILL_BUTTON, 0},
    {"Ps", LUD_PAUSE_SWITCH, 0},
    {"Pa", LUD_PAUSE_SWITCH, 0},
    {"Dk", LUD_DISABLING_SWITCH, LUD_KILL_BUTTON},
    {"dK", LUD_DISABLING_SWITCH, LUD_KILL_BUTTON},
    {"Dp", LUD_DISABLING_SWITCH, LUD_PAUSE_SWITCH},
    {"dP", LUD_DISABLING_SWITCH, LUD_PAUSE_SWITCH},
    {"DC", LUD_DISABLING_SWITCH, LUD_CONTROL_BUTTON},
    {"dC", LUD_DISABLING_SWITCH, LUD_CONTROL_BUTTON},
    {"CB", LUD_CONTROL_BUTTON, 0},
    {"W*", LUD_WALL, 0},
    {"L*", LUD_DOOR, LUD_DOOR_LOCKED},
    {"C*", LUD_DOOR, LUD_DOOR_CLOSED},
    {"O*", LUD_DOOR, LUD_DOOR_OPEN},
    {"K*", LUD_KEY, 0},
    {"B*", LUD_BALL, 0},
    {"X*", LUD_BOX, 0},
    {"G*", LUD_GOAL, 0},
    {"A*", LUD_AGENT, 0},
};
enum { N_CODES = sizeof codes / sizeof *codes };

static const char colour_letters[] = "rgbpye"; /* index: lud_colour; brown has none */

lud_grid_object lud_grid_object_with(lud_grid_type type, const lud_grid_chances *chances) {
    lud_grid_object object = lud_grid_object_default(type);
    if (type == LUD_UNSTEADY_GROUND) object.stumble = chances->stumble;
    if (type == LUD_BUSH) object.enter = chances->enter_bush;
    if (type == LUD_MAGIC_WALL) {
        object.entry = chances->enter_magic_wall;
        object.solidify = chances->solidify;
    }
    return object;
}

bool lud_grid_object_equal(const lud_grid_object *a, const lud_grid_object *b) {
    if (a->type != b->type) return false;
    if (a->type == LUD_EMPTY) return true;
    bool content =
        a->type != LUD_BOX || (a->content_type == b->content_type &&
                               (a->content_type == LUD_EMPTY || a->content_colour == b->content_colour));
    return a->colour == b->colour && a->door == b->door && a->side == b->side && a->stumble == b->stumble &&
           a->entry == b->entry && a->solidify == b->solidify && a->enter == b->enter &&
           a->trigger == b->trigger && a->target == b->target && a->target_type == b->target_type &&
           a->enabled == b->enabled && a->on == b->on && a->active == b->active && content;
}

bool lud_grid_is_piece(lud_grid_type type) {
    return type == LUD_BLOCK || type == LUD_ROCK || type == LUD_KEY || type == LUD_BALL || type == LUD_BOX;
}

bool lud_grid_has_colour(const lud_text_list *colours, lud_colour colour) {
    for (size_t i = 0; i < colours->n; i++)
        if (!strcmp(colours->items[i], lud_colour_names[colour])) return true;
    return false;
}

static lud_grid_thing thing_of(const code *c, int colour, const lud_grid_chances *chances) {
    lud_grid_thing thing = {.under = {.type = LUD_EMPTY}, .object = {.type = LUD_EMPTY}};
    if (c->type == LUD_AGENT) {
        thing.is_agent = true;
        thing.agent.colour = (lud_colour)colour;
        return thing;
    }
    if (c->type == LUD_EMPTY) return thing;
    thing.object = lud_grid_object_with(c->type, chances);
    if (c->text[1] == '*') thing.object.colour = (lud_colour)colour;
    if (c->type == LUD_DOOR) thing.object.door = (lud_door_state)c->variant;
    if (c->type == LUD_MAGIC_WALL) thing.object.side = (lud_direction)c->variant;
    if (c->type == LUD_DISABLING_SWITCH) thing.object.target_type = (lud_grid_type)c->variant;
    return thing;
}

lud_status lud_grid_code_read(const char text[2], const lud_grid_chances *chances, lud_place place,
                              lud_grid_thing *thing, lud_error *error) {
    const char *letter = text[1] ? strchr(colour_letters, text[1]) : NULL;
    bool needs_colour = false;
    for (int i = 0; i < N_CODES; i++) {
        const code *c = &codes[i];
        if (c->text[0] != text[0]) continue;
        if (c->text[1] == '*') needs_colour = true;
        if (c->text[1] != text[1] && !(c->text[1] == '*' && letter)) continue;
        *thing = thing_of(c, letter ? (int)(letter - colour_letters) : 0, chances);
        return LUD_OK;
    }
    char shown[3] = {text[0], text[1], 0};
    for (int i = 0; i < 2; i++)
        if (!isprint((unsigned char)shown[i])) shown[i] = '?';
    if (text[0] == 'M')
        return lud_invalid_at(error, place, "expected a magic wall Mn, Ms, Mw, Me or Ma, found '%s'", shown);
    if (needs_colour)
        return lud_invalid_at(error, place, "expected a colour r, g, b, p, y or e behind %c, found '%s'",
                              text[0], shown);
    return lud_invalid_at(error, place,
                          "expected a code of the map such as We, .. or Ay, or one of the legend, found '%s'",
                          shown);
}

static bool same_thing(const lud_grid_thing *a, const lud_grid_thing *b) {
    if (a->is_agent != b->is_agent || !lud_grid_object_equal(&a->under, &b->under)) return false;
    return a->is_agent ? a->agent.colour == b->agent.colour : lud_grid_object_equal(&a->object, &b->object);
}

bool lud_grid_code_find(const lud_grid_thing *thing, const lud_grid_chances *chances, char text[2]) {
    const lud_grid_type type = thing->is_agent ? LUD_AGENT : thing->object.type;
    for (int i = 0; i < N_CODES; i++) {
        if (codes[i].type != type) continue;
        for (int colour = 0; colour_letters[colour]; colour++) {
            char here[2] = {codes[i].text[0],
                            codes[i].text[1] == '*' ? colour_letters[colour] : codes[i].text[1]};
            lud_grid_thing other;
            lud_error ignored;
            /* read it back: a fixed code may stand for something else, as Kb does */
            if (lud_grid_code_read(here, chances, (lud_place){0}, &other, &ignored)) continue;
            if (!same_thing(thing, &other)) continue;
            memcpy(text, here, 2);
            return true;
        }
    }
    return false;
}

/* ---- the table for readers ---- */

static void append_words(lud_text *out, const char *name) {
    for (; *name; name++) lud_text_append(out, "%c", *name == '_' ? ' ' : *name);
}

/* `locked door`, `magic wall, entered from the north`. */
static void name_thing(const code *c, lud_text *out) {
    if (c->type == LUD_DOOR) lud_text_append(out, "%s ", lud_door_state_names[c->variant]);
    append_words(out, lud_grid_type_names[c->type]);
    if (c->type == LUD_EMPTY) lud_text_append(out, " cell");
    if (c->type == LUD_MAGIC_WALL)
        lud_text_append(out, ", entered from %s%s", c->variant == LUD_ALL_SIDES ? "" : "the ",
                        c->variant == LUD_ALL_SIDES ? "all sides" : lud_direction_names[c->variant]);
    if (c->type == LUD_DISABLING_SWITCH) {
        lud_text_append(out, ", of every ");
        append_words(out, lud_grid_type_names[c->variant]);
    }
}

static bool same_row(const code *a, const code *b) {
    return a->type == b->type && a->variant == b->variant;
}

void lud_grid_codes_describe(bool markdown, lud_text *out) {
    if (markdown) lud_text_append(out, "| code | stands for |\n|---|---|\n");
    for (int i = 0; i < N_CODES; i++) {
        lud_text names = {0};
        int width = 0;
        bool first = true;
        for (int k = 0; k < N_CODES; k++) {
            if (!same_row(&codes[i], &codes[k])) continue;
            if (k < i) first = false; /* stands in that row */
            lud_text_append(&names, markdown ? "%s`%s`" : "%s%s", width ? ", " : "", codes[k].text);
            width += 4;
        }
        if (first && names.bytes) {
            lud_text_append(out, markdown ? "| %s | " : "  %-8s", names.bytes);
            name_thing(&codes[i], out);
            lud_text_append(out, markdown ? " |\n" : "\n");
        }
        if (names.failed) out->failed = true;
        lud_text_free(&names);
    }
    lud_text_append(out, markdown ? "\nA `*` is the letter of a colour:" : "\n* is the letter of a colour:");
    for (int colour = 0; colour_letters[colour]; colour++)
        lud_text_append(out, markdown ? "%s `%c` %s" : "%s %c %s", colour ? "," : "", colour_letters[colour],
                        lud_colour_names[colour]);
    lud_text_append(out, ".\n");
}

bool lud_grid_kind(int index, lud_colour colour, const lud_grid_chances *chances, lud_grid_thing *thing,
                   bool *coloured, lud_text *name) {
    bool in_codes[LUD_GRID_TYPES] = {0};
    for (int i = 0; i < N_CODES; i++) {
        in_codes[codes[i].type] = true;
        bool first = true;
        for (int k = 0; k < i; k++) first &= !same_row(&codes[i], &codes[k]);
        if (!first || index--) continue;
        *thing = thing_of(&codes[i], (int)colour, chances);
        *coloured = codes[i].text[1] == '*';
        name_thing(&codes[i], name);
        return true;
    }
    for (int type = 0; type < LUD_GRID_TYPES; type++) {
        if (in_codes[type] || !lud_grid_thing_table((lud_grid_type)type) || index--) continue;
        *thing = (lud_grid_thing){.object = lud_grid_object_with((lud_grid_type)type, chances),
                                  .under = {.type = LUD_EMPTY}};
        const lud_option_table *table = lud_grid_thing_table((lud_grid_type)type);
        *coloured = table->n > 0 && !strcmp(table->options[0].key, "colour");
        if (*coloured) thing->object.colour = colour;
        append_words(name, lud_grid_type_names[type]);
        return true;
    }
    return false;
}

/* ---- parameters ---- */

static const lud_grid_type disabled_types[] = {LUD_KILL_BUTTON, LUD_PAUSE_SWITCH, LUD_CONTROL_BUTTON};

lud_grid_thing_options lud_grid_thing_values(const lud_grid_object *o) {
    int disables = 0;
    for (int i = 0; i < 3; i++)
        if (o->target_type == disabled_types[i]) disables = i;
    return (lud_grid_thing_options){.colour = (int)o->colour,
                                    .state = (int)o->door,
                                    .side = (int)o->side,
                                    .trigger = (int)o->trigger,
                                    .target = (int)o->target,
                                    .disables = disables,
                                    .stumble = o->stumble,
                                    .entry = o->entry,
                                    .solidify = o->solidify,
                                    .enter = o->enter,
                                    .enabled = o->enabled,
                                    .on = o->on,
                                    .active = o->active};
}

void lud_grid_thing_apply(const lud_grid_thing_options *v, lud_grid_object *o) {
    o->colour = (lud_colour)v->colour;
    o->door = (lud_door_state)v->state;
    o->side = (lud_direction)v->side;
    o->trigger = (lud_colour)v->trigger;
    o->target = (lud_colour)v->target;
    if (o->type == LUD_DISABLING_SWITCH) o->target_type = disabled_types[v->disables];
    o->stumble = v->stumble;
    o->entry = v->entry;
    o->solidify = v->solidify;
    o->enter = v->enter;
    o->enabled = v->enabled;
    o->on = v->on;
    o->active = v->active;
}

bool lud_grid_fits_box(lud_grid_type type) {
    return type == LUD_KEY || type == LUD_BALL || type == LUD_BOX || type == LUD_EMPTY;
}

/* ---- rows ---- */

typedef struct cells {
    lud_arena *arena;
    lud_grid_rows *rows;
    size_t n, capacity;
    lud_error *error;
} cells;

static lud_status add_cell(cells *c, char a, char b, lud_place place) {
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 256;
        char(*codes_read)[2] = lud_arena_take_array(c->arena, capacity, sizeof *codes_read);
        lud_place *places = lud_arena_take_array(c->arena, capacity, sizeof *places);
        if (!codes_read || !places) return lud_out_of_memory(c->error);
        if (c->n) memcpy(codes_read, c->rows->codes, c->n * sizeof *codes_read);
        if (c->n) memcpy(places, c->rows->places, c->n * sizeof *places);
        c->rows->codes = codes_read;
        c->rows->places = places;
        c->capacity = capacity;
    }
    c->rows->codes[c->n][0] = a;
    c->rows->codes[c->n][1] = b;
    c->rows->places[c->n++] = place;
    return LUD_OK;
}

/* Checks the width of the row that was just read, of `width` cells. */
static lud_status end_row(cells *c, size_t width, lud_place place) {
    if (width < LUD_GRID_MIN_SIDE || width > LUD_GRID_MAX_SIDE)
        return lud_invalid_at(c->error, place, "expected %d to %d cells in a row of the map, found %zu",
                              (int)LUD_GRID_MIN_SIDE, (int)LUD_GRID_MAX_SIDE, width);
    if (c->rows->height && width != (size_t)c->rows->width)
        return lud_invalid_at(c->error, place,
                              "expected a row of %d cells like the first of the map, found %zu",
                              c->rows->width, width);
    if (c->rows->height == LUD_GRID_MAX_SIDE)
        return lud_invalid_at(c->error, place, "expected at most %d rows in the map, found more",
                              (int)LUD_GRID_MAX_SIDE);
    c->rows->width = (int)width;
    c->rows->height++;
    return LUD_OK;
}

/* YAML knows no comments inside of a text, but who explains a row writes one. */
static bool is_comment(const char *at, const char *end) {
    return at < end && *at == '#' && (at + 1 == end || isspace((unsigned char)at[1]));
}

/* One line of codes. `place` is that of its first character; with `exact` the columns that follow are known
 * too. */
static lud_status read_line(cells *c, const char *line, size_t length, lud_place place, bool exact) {
    size_t width = 0, first = 0;
    bool half = false;
    for (size_t i = 0; i < length; i++) {
        if (isspace((unsigned char)line[i])) continue;
        if (!half && is_comment(line + i, line + length)) break;
        if (half) {
            lud_place there = place;
            if (exact) there.column += (int)first;
            LUD_TRY(add_cell(c, line[first], line[i], there));
            width++;
        }
        half = !half;
        first = i;
    }
    if (!half) return end_row(c, width, place);
    if (exact) place.column += (int)first;
    return lud_invalid_at(c->error, place, "expected two characters for every cell, found one left over");
}

static lud_status read_text(cells *c, const lud_tree *node) {
    const char *text = node->text, *end = text + node->text_length;
    while (end > text && isspace((unsigned char)end[-1])) end--;
    int line = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        lud_place place = node->place;
        if (node->literal) place.line += line;
        size_t blank = 0;
        while (text + blank < stop && isspace((unsigned char)text[blank])) blank++;
        const bool leading = c->rows->height == 0 && text + blank == stop; /* before the map, so no row */
        if (!leading && !is_comment(text + blank, stop))
            LUD_TRY(read_line(c, text, (size_t)(stop - text), place, node->literal));
        text = newline ? newline + 1 : end;
        line++;
    }
    return LUD_OK;
}

static lud_status read_list_row(cells *c, lud_tree *row) {
    if (row->kind == LUD_TREE_SCALAR) {
        lud_place place = row->place;
        if (row->quoted && !row->literal) place.column++; /* behind the quote */
        bool exact = !memchr(row->text, '\n', row->text_length);
        return read_line(c, row->text, row->text_length, place, exact);
    }
    if (row->kind != LUD_TREE_SEQUENCE) return lud_tree_expected(row, c->error, "a row of the map");
    for (const lud_tree *cell = row->child; cell; cell = cell->next) {
        if (cell->kind != LUD_TREE_SCALAR || cell->text_length != 2)
            return lud_tree_expected(cell, c->error, "a code of two characters");
        LUD_TRY(add_cell(c, cell->text[0], cell->text[1], cell->place));
    }
    return end_row(c, row->n_children, row->place);
}

lud_status lud_grid_rows_read(lud_arena *arena, lud_tree *node, lud_grid_rows *rows, lud_error *error) {
    *rows = (lud_grid_rows){0};
    cells c = {.arena = arena, .rows = rows, .error = error};
    lud_status status = LUD_OK;
    if (node->kind == LUD_TREE_SCALAR)
        status = read_text(&c, node);
    else if (node->kind == LUD_TREE_SEQUENCE)
        for (lud_tree *row = node->child; row && !status; row = row->next) status = read_list_row(&c, row);
    else
        status = lud_tree_expected(node, error, "the rows of a map");
    if (!status && rows->height < LUD_GRID_MIN_SIDE)
        status = lud_invalid_at(
            error, node->place, "expected at least %d rows in the map, found %d%s", (int)LUD_GRID_MIN_SIDE,
            rows->height,
            node->kind == LUD_TREE_SCALAR && !node->literal ? "; YAML keeps rows apart behind `map: |`" : "");
    return status;
}

/* ---- agents and the map ---- */

bool lud_grid_fresh_code(int *next, const lud_grid_chances *chances, char text[2]) {
    static const char first[] = "1234567890abcefghijklmnopqrstuvwxyzEFHIJNQRSTUVYZ",
                      second[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const int n = (int)sizeof second - 1;
    for (; *next < ((int)sizeof first - 1) * n; (*next)++) {
        text[0] = first[*next / n];
        text[1] = second[*next % n];
        lud_grid_thing ignored;
        lud_error error;
        if (!lud_grid_code_read(text, chances, (lud_place){0}, &ignored, &error)) continue;
        (*next)++;
        return true;
    }
    return false;
}

bool lud_grid_things_of(const lud_grid_spec *spec, const lud_grid_map *map, lud_grid_thing *things) {
    for (int c = 0; c < spec->width * spec->height; c++)
        things[c] = (lud_grid_thing){.object = map->cells[c], .under = {.type = LUD_EMPTY}};
    for (int i = 0; i < map->n_pieces; i++) {
        lud_grid_thing *thing = &things[map->pieces[i].y * spec->width + map->pieces[i].x];
        thing->under = thing->object;
        thing->object = map->pieces[i].object;
    }
    int last = -1;
    for (int i = 0; i < spec->n_agents; i++) {
        int c = map->agents[i].y * spec->width + map->agents[i].x;
        if (c <= last || lud_grid_is_piece(things[c].object.type)) return false;
        last = c;
        things[c].is_agent = true;
        things[c].agent = map->agents[i];
        things[c].under = things[c].object;
        things[c].object = (lud_grid_object){.type = LUD_EMPTY};
    }
    return true;
}

lud_status lud_grid_agent_read(lud_arena *arena, lud_tree *node, lud_grid_thing *agent, lud_error *error) {
    lud_grid_agent_options values;
    LUD_TRY(lud_options_read(&lud_grid_agent_option_table, arena, node, &values, error));
    if (lud_tree_get(node, "colour")) agent->agent.colour = (lud_colour)values.colour;
    if (lud_tree_get(node, "facing")) agent->agent.direction = (lud_direction)values.facing;
    if (lud_tree_get(node, "role")) {
        agent->agent.role = (lud_role)values.role;
        agent->gives_role = true;
    }
    if (lud_tree_get(node, "can_push_rocks")) {
        agent->agent.can_push_rocks = values.can_push_rocks;
        agent->gives_rocks = true;
    }
    if (lud_tree_get(node, "can_enter_magic_walls")) {
        agent->agent.can_enter_magic_walls = values.can_enter_magic_walls;
        agent->gives_magic = true;
    }
    return LUD_OK;
}

lud_status lud_grid_agents_apply(lud_arena *arena, lud_tree *list, lud_grid_thing *agents, int n_agents,
                                 lud_error *error) {
    if (!list) return LUD_OK;
    if (list->kind != LUD_TREE_SEQUENCE || list->n_children > (size_t)n_agents)
        return lud_tree_expected(list, error, "a list of at most %d agents, in the reading order of the map",
                                 n_agents);
    for (lud_tree *c = list->child; c; c = c->next) LUD_TRY(lud_grid_agent_read(arena, c, agents++, error));
    return LUD_OK;
}

lud_status lud_grid_agents_collect(lud_arena *arena, const lud_grid_thing *things, const lud_grid_rows *rows,
                                   lud_grid_thing **agents, int *n_agents, lud_error *error) {
    *n_agents = 0;
    *agents = lud_arena_take_array(arena, LUD_GRID_MAX_AGENTS, sizeof **agents);
    if (!*agents) return lud_out_of_memory(error);
    for (int c = 0; c < rows->width * rows->height; c++) {
        if (!things[c].is_agent) continue;
        if (*n_agents == LUD_GRID_MAX_AGENTS)
            return lud_invalid_at(error, rows->places[c], "expected at most %d agents in the map, found more",
                                  (int)LUD_GRID_MAX_AGENTS);
        lud_grid_thing *agent = &(*agents)[(*n_agents)++];
        *agent = things[c];
        agent->agent.x = c % rows->width;
        agent->agent.y = c / rows->width;
    }
    return LUD_OK;
}

static lud_grid_agent finish_agent(const lud_grid_thing *thing, const lud_grid_options *options) {
    lud_grid_agent agent = thing->agent;
    if (!thing->gives_role) agent.role = (lud_role)options->roles.of[agent.colour];
    if (!thing->gives_rocks)
        agent.can_push_rocks = lud_grid_has_colour(&options->can_push_rocks, agent.colour);
    if (!thing->gives_magic)
        agent.can_enter_magic_walls = lud_grid_has_colour(&options->can_enter_magic_walls, agent.colour);
    return agent;
}

lud_status lud_grid_map_build(lud_arena *arena, const lud_grid_thing *things, const lud_grid_thing *agents,
                              int n_agents, const lud_grid_options *options, lud_grid_spec *spec,
                              lud_grid_map *map, lud_error *error) {
    int n_cells = spec->width * spec->height;
    *map = (lud_grid_map){0};
    for (int c = 0; c < n_cells; c++) map->n_pieces += lud_grid_is_piece(things[c].object.type);
    map->cells = lud_arena_take_array(arena, (size_t)n_cells, sizeof *map->cells);
    map->pieces = lud_arena_take_array(arena, (size_t)map->n_pieces, sizeof *map->pieces);
    map->agents = lud_arena_take_array(arena, (size_t)n_agents, sizeof *map->agents);
    if (!map->cells || !map->pieces || !map->agents) return lud_out_of_memory(error);
    for (int c = 0, piece = 0; c < n_cells; c++) {
        const lud_grid_thing *thing = &things[c];
        bool is_piece = lud_grid_is_piece(thing->object.type);
        map->cells[c] = thing->is_agent || is_piece ? thing->under : thing->object;
        if (is_piece)
            map->pieces[piece++] = (lud_grid_piece){thing->object, c % spec->width, c / spec->width};
    }
    for (int i = 0; i < n_agents; i++) map->agents[i] = finish_agent(&agents[i], options);
    spec->n_agents = n_agents;
    return LUD_OK;
}
