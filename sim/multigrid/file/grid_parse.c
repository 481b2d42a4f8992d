#include "sim/multigrid/file/grid_parse.h"

#include <string.h>

#include "sim/multigrid/file/grid_codes.h"
#include "sim/multigrid/file/grid_generate.h"
#include "sim/multigrid/grid_model.h"
#include "sim/multigrid/grid_reference.h"

enum { MAX_GOALS = 65536 };

typedef struct reader {
    lud_arena *arena;
    lud_grid_options options;
    lud_error *error;
} reader;

/* ---- the legend ---- */

/* Names of what a legend may hold, and their types. */
static int thing_names(const char *names[LUD_GRID_TYPES], lud_grid_type types[LUD_GRID_TYPES]) {
    int n = 0;
    for (int type = 0; type < LUD_GRID_TYPES; type++) {
        if (!lud_grid_thing_table((lud_grid_type)type) && type != LUD_AGENT && type != LUD_EMPTY) continue;
        names[n] = lud_grid_type_names[type];
        types[n++] = (lud_grid_type)type;
    }
    return n;
}

static lud_status read_thing(reader *r, lud_tree *node, lud_grid_thing *thing);

static lud_status read_content(reader *r, lud_tree *node, lud_grid_object *box) {
    lud_grid_thing content;
    LUD_TRY(read_thing(r, node, &content));
    lud_grid_type type = content.object.type;
    bool holds = lud_grid_fits_box(type) && !content.is_agent;
    bool simple =
        content.under.type == LUD_EMPTY && !(type == LUD_BOX && content.object.content_type != LUD_EMPTY);
    if (!holds || !simple)
        return lud_tree_expected(node, r->error, "a key, a ball or an empty box inside the box");
    box->content_type = type;
    box->content_colour = type == LUD_EMPTY ? LUD_RED : content.object.colour;
    return LUD_OK;
}

static lud_status read_object(reader *r, lud_grid_type type, lud_tree *node, lud_grid_object *object) {
    static const lud_grid_type targets[] = {LUD_KILL_BUTTON, LUD_PAUSE_SWITCH, LUD_CONTROL_BUTTON};
    *object = lud_grid_object_with(type, &r->options.chances);
    lud_grid_thing_options v;
    lud_status status = lud_options_read(lud_grid_thing_table(type), r->arena, node, &v, r->error);
    if (status || !node || node->kind == LUD_TREE_NULL) return status;
    if (lud_tree_get(node, "colour")) object->colour = (lud_colour)v.colour;
    if (lud_tree_get(node, "state")) object->door = (lud_door_state)v.state;
    if (lud_tree_get(node, "side")) object->side = (lud_direction)v.side;
    if (lud_tree_get(node, "trigger")) object->trigger = (lud_colour)v.trigger;
    if (lud_tree_get(node, "target")) object->target = (lud_colour)v.target;
    if (lud_tree_get(node, "disables")) object->target_type = targets[v.disables];
    if (lud_tree_get(node, "stumble")) object->stumble = v.stumble;
    if (lud_tree_get(node, "entry")) object->entry = v.entry;
    if (lud_tree_get(node, "solidify")) object->solidify = v.solidify;
    if (lud_tree_get(node, "enter")) object->enter = v.enter;
    if (lud_tree_get(node, "enabled")) object->enabled = v.enabled;
    if (lud_tree_get(node, "on")) object->on = v.on;
    if (lud_tree_get(node, "active")) object->active = v.active;
    if (type == LUD_CONTROL_BUTTON && object->trigger == object->target)
        return lud_tree_expected(node, r->error, "a control button whose trigger and target differ");
    return v.contains ? read_content(r, v.contains, object) : LUD_OK;
}

static lud_status read_under(reader *r, lud_tree *node, lud_grid_object *under) {
    lud_grid_thing ground;
    LUD_TRY(read_thing(r, node, &ground));
    if (ground.is_agent || lud_grid_is_piece(ground.object.type))
        return lud_tree_expected(node, r->error,
                                 "something under it that stays where it is, such as goal or floor");
    *under = ground.object;
    return LUD_OK;
}

/* The one key of a legend entry that is not `under`. */
static lud_status find_type(reader *r, lud_tree *node, lud_tree **type, lud_tree **under) {
    const char *names[LUD_GRID_TYPES + 1];
    lud_grid_type types[LUD_GRID_TYPES];
    int n = thing_names(names, types);
    names[n++] = "under";
    LUD_TRY(lud_tree_check_keys(node, names, n, r->error));
    *under = lud_tree_get(node, "under");
    *type = NULL;
    for (lud_tree *c = node->child; c; c = c->next) {
        if (c == *under) continue;
        if (*type) return lud_tree_expected(node, r->error, "one thing, such as {wall: {colour: red}}");
        *type = c;
    }
    return *type ? LUD_OK : lud_tree_expected(node, r->error, "one thing, such as {wall: {colour: red}}");
}

/* A word (`floor`), a code (`Gg`) or a section (`{door: {colour: red}, under: ...}`). */
static lud_status read_thing(reader *r, lud_tree *node, lud_grid_thing *thing) {
    const char *names[LUD_GRID_TYPES];
    lud_grid_type types[LUD_GRID_TYPES];
    int n = thing_names(names, types), index;
    *thing = (lud_grid_thing){.object = {.type = LUD_EMPTY}, .under = {.type = LUD_EMPTY}};
    node->used = true;
    if (node->kind == LUD_TREE_SCALAR && node->text_length == 2)
        return lud_grid_code_read(node->text, &r->options.chances, node->place, thing, r->error);
    lud_tree *parameters = NULL, *under = NULL;
    lud_status status = LUD_OK;
    if (node->kind == LUD_TREE_MAPPING) {
        LUD_TRY(find_type(r, node, &parameters, &under));
        for (index = 0; strcmp(names[index], parameters->key) != 0;) index++;
        parameters->used = true;
    } else {
        LUD_TRY(lud_tree_choice(node, names, n, &index, r->error));
    }
    if (parameters && parameters->kind == LUD_TREE_NULL) parameters = NULL;
    if (types[index] == LUD_AGENT) {
        thing->is_agent = true;
        thing->agent.colour = LUD_YELLOW;
        if (parameters) status = lud_grid_agent_read(r->arena, parameters, thing, r->error);
    } else if (types[index] == LUD_EMPTY) {
        if (parameters) return lud_tree_expected(parameters, r->error, "nothing behind empty");
    } else {
        status = read_object(r, types[index], parameters, &thing->object);
    }
    if (status || !under) return status;
    if (!thing->is_agent && !lud_grid_is_piece(thing->object.type))
        return lud_tree_expected(under, r->error, "nothing under a thing that stays where it is");
    return read_under(r, under, &thing->under);
}

typedef lud_grid_legend legend;

static lud_status read_legend(reader *r, lud_tree *node, legend **entries, size_t *n) {
    *n = 0;
    *entries = NULL;
    if (!node) return LUD_OK;
    if (node->kind != LUD_TREE_MAPPING)
        return lud_tree_expected(node, r->error,
                                 "a section of codes, such as M1: {magic_wall: {side: north}}");
    *entries = lud_arena_take_array(r->arena, node->n_children, sizeof **entries);
    if (!*entries) return lud_out_of_memory(r->error);
    for (lud_tree *c = node->child; c; c = c->next) {
        bool printable =
            strlen(c->key) == 2 && c->key[0] > ' ' && c->key[0] < 127 && c->key[1] > ' ' && c->key[1] < 127;
        if (!printable)
            return lud_invalid_at(
                r->error, c->key_place,
                "expected a code of two printable ASCII characters in the legend, found %zu bytes",
                strlen(c->key));
        (*entries)[*n].code = c->key;
        LUD_TRY(read_thing(r, c, &(*entries)[(*n)++].thing));
    }
    return LUD_OK;
}

lud_status lud_grid_legend_read(lud_arena *arena, const lud_grid_options *options, lud_grid_legend **entries,
                                size_t *n, lud_error *error) {
    reader r = {.arena = arena, .options = *options, .error = error};
    return read_legend(&r, options->legend, entries, n);
}

/* One map of the file before it is built. */
typedef struct variant {
    lud_tree *map, *agent_list;
    lud_grid_rows rows;
    lud_place place;
} variant;

/* What each cell holds: codes are two bytes, so a table finds a legend entry without a search. */
static lud_status read_things(reader *r, const legend *const at[128 * 128], const lud_grid_rows *rows,
                              lud_grid_thing *things) {
    for (int c = 0; c < rows->width * rows->height; c++) {
        unsigned char a = (unsigned char)rows->codes[c][0], b = (unsigned char)rows->codes[c][1];
        const legend *entry = a < 128 && b < 128 ? at[a * 128 + b] : NULL;
        if (entry)
            things[c] = entry->thing;
        else
            LUD_TRY(lud_grid_code_read(rows->codes[c], &r->options.chances, rows->places[c], &things[c],
                                       r->error));
    }
    return LUD_OK;
}

/* The map with walls at the right and below up to the size of the largest. */
static lud_status pad(reader *r, const lud_grid_rows *rows, const lud_grid_spec *spec,
                      lud_grid_thing **things) {
    if (rows->width == spec->width && rows->height == spec->height) return LUD_OK;
    lud_grid_thing *larger =
        lud_arena_take_array(r->arena, (size_t)spec->width * (size_t)spec->height, sizeof *larger);
    if (!larger) return lud_out_of_memory(r->error);
    const lud_grid_thing wall = {.object = lud_grid_object_with(LUD_WALL, &r->options.chances),
                                 .under = {.type = LUD_EMPTY}};
    for (int y = 0; y < spec->height; y++)
        for (int x = 0; x < spec->width; x++)
            larger[y * spec->width + x] =
                x < rows->width && y < rows->height ? (*things)[y * rows->width + x] : wall;
    *things = larger;
    return LUD_OK;
}

static lud_status build_variant(reader *r, const legend *const at[128 * 128], const variant *v,
                                lud_grid_spec *spec, int index) {
    size_t n_cells = (size_t)v->rows.width * (size_t)v->rows.height;
    lud_grid_thing *things = lud_arena_take_array(r->arena, n_cells, sizeof *things), *agents;
    int n_agents;
    if (!things) return lud_out_of_memory(r->error);
    LUD_TRY(read_things(r, at, &v->rows, things));
    LUD_TRY(lud_grid_agents_collect(r->arena, things, &v->rows, &agents, &n_agents, r->error));
    if (index && n_agents != spec->n_agents)
        return lud_invalid_at(r->error, v->place,
                              "expected as many agents as in the first map of the ensemble, %d, found %d",
                              spec->n_agents, n_agents);
    LUD_TRY(lud_grid_agents_apply(r->arena, v->agent_list, agents, n_agents, r->error));
    LUD_TRY(pad(r, &v->rows, spec, &things));
    return lud_grid_map_build(r->arena, things, agents, n_agents, &r->options, spec, &spec->maps[index],
                              r->error);
}

static lud_status read_maps(reader *r, variant *variants, int n, lud_grid_spec *spec) {
    legend *entries;
    size_t n_entries;
    LUD_TRY(read_legend(r, r->options.legend, &entries, &n_entries));
    for (int k = 0; k < n; k++) {
        lud_grid_rows *rows = &variants[k].rows;
        LUD_TRY(lud_grid_rows_read(r->arena, variants[k].map, rows, r->error));
        spec->width = rows->width > spec->width ? rows->width : spec->width;
        spec->height = rows->height > spec->height ? rows->height : spec->height;
    }
    spec->n_maps = n;
    spec->maps = lud_arena_take_array(r->arena, (size_t)n, sizeof *spec->maps);
    const legend **at = lud_arena_take_array(r->arena, (size_t)128 * 128, sizeof(legend *));
    if (!spec->maps || !at) return lud_out_of_memory(r->error);
    for (size_t i = 0; i < n_entries; i++) at[entries[i].code[0] * 128 + entries[i].code[1]] = &entries[i];
    for (int k = 0; k < n; k++) LUD_TRY(build_variant(r, at, &variants[k], spec, k));
    return LUD_OK;
}

static lud_status read_ensemble(reader *r, lud_grid_spec *spec) {
    lud_tree *list = r->options.ensemble;
    if (list->kind != LUD_TREE_SEQUENCE || !list->child)
        return lud_tree_expected(list, r->error, "a list of maps, each after `- map: |`");
    if (list->n_children > LUD_GRID_MAX_MAPS)
        return lud_tree_expected(list, r->error, "at most %d maps", (int)LUD_GRID_MAX_MAPS);
    variant *variants = lud_arena_take_array(r->arena, list->n_children, sizeof *variants);
    if (!variants) return lud_out_of_memory(r->error);
    int n = 0;
    for (lud_tree *c = list->child; c; c = c->next) {
        lud_grid_variant_options v;
        LUD_TRY(lud_options_read(&lud_grid_variant_option_table, r->arena, c, &v, r->error));
        if (!v.map) return lud_tree_expected(c, r->error, "a map in every entry of the ensemble");
        variants[n++] =
            (variant){.map = v.map, .agent_list = v.agents ? v.agents : r->options.agents, .place = c->place};
    }
    return read_maps(r, variants, n, spec);
}

/* ---- goals ---- */

static lud_status read_corner(reader *r, lud_tree *list, int n, const lud_grid_spec *spec, int *values) {
    if (list->kind != LUD_TREE_SEQUENCE || list->n_children != (size_t)n)
        return lud_tree_expected(list, r->error, n == 2 ? "[x, y]" : "[x1, y1, x2, y2]");
    lud_tree *c = list->child;
    for (int i = 0; i < n; i++, c = c->next) {
        int64_t value;
        LUD_TRY(lud_tree_int(c, 0, (i % 2 ? spec->height : spec->width) - 1, &value, r->error));
        values[i] = (int)value;
    }
    return LUD_OK;
}

static lud_status read_goal(reader *r, lud_tree *node, const lud_grid_spec *spec, lud_grid_goal *goal,
                            lud_tree **agents) {
    lud_grid_goal_options v;
    LUD_TRY(lud_options_read(&lud_grid_goal_option_table, r->arena, node, &v, r->error));
    if (!v.cell == !v.rectangle)
        return lud_tree_expected(node, r->error, "a goal with either a cell or a rectangle");
    int p[4];
    LUD_TRY(read_corner(r, v.cell ? v.cell : v.rectangle, v.cell ? 2 : 4, spec, p));
    if (v.cell) {
        p[2] = p[0];
        p[3] = p[1];
    }
    *goal = (lud_grid_goal){.x1 = p[0] < p[2] ? p[0] : p[2],
                            .y1 = p[1] < p[3] ? p[1] : p[3],
                            .x2 = p[0] < p[2] ? p[2] : p[0],
                            .y2 = p[1] < p[3] ? p[3] : p[1],
                            .cell = v.cell != NULL,
                            .weight = v.weight};
    *agents = v.agents;
    return LUD_OK;
}

static lud_status add_goal(reader *r, lud_grid_spec *spec, const lud_grid_goal *goal, int agent,
                           lud_place place) {
    if (spec->n_goals == MAX_GOALS)
        return lud_invalid_at(r->error, place, "expected at most %d goals, found more", (int)MAX_GOALS);
    spec->goals[spec->n_goals] = *goal;
    spec->goals[spec->n_goals++].agent = agent;
    return LUD_OK;
}

/* One copy of the goal for each of its agents. */
static lud_status expand_goal(reader *r, lud_grid_spec *spec, const lud_grid_goal *goal, lud_tree *agents,
                              lud_place place) {
    if (!agents) {
        for (int i = 0; i < spec->n_agents; i++)
            if (spec->maps[0].agents[i].role == LUD_ROLE_HUMAN) LUD_TRY(add_goal(r, spec, goal, i, place));
        return LUD_OK;
    }
    if (agents->kind != LUD_TREE_SEQUENCE || !agents->child)
        return lud_tree_expected(agents, r->error, "a list of numbers of agents");
    for (lud_tree *c = agents->child; c; c = c->next) {
        int64_t agent;
        LUD_TRY(lud_tree_int(c, 0, spec->n_agents - 1, &agent, r->error));
        LUD_TRY(add_goal(r, spec, goal, (int)agent, place));
    }
    return LUD_OK;
}

/* Scales the weights of the goals of one agent (-1: of those for all humans) to the sum 1. */
static lud_status scale_weights(reader *r, lud_grid_spec *spec, int agent, const lud_tree *list) {
    double sum = 0;
    int n = 0;
    for (int g = 0; g < spec->n_goals; g++)
        if (spec->goals[g].agent == agent) {
            sum += spec->goals[g].weight;
            n++;
        }
    if (n && sum <= 0)
        return lud_tree_expected(list, r->error,
                                 "a goal with a weight above 0 for every agent that has goals");
    bool scaled = sum > 1 - 1e-12 && sum < 1 + 1e-12; /* as written by us: leave it to the bit */
    for (int g = 0; g < spec->n_goals && !scaled; g++)
        if (spec->goals[g].agent == agent) spec->goals[g].weight /= sum;
    return LUD_OK;
}

static lud_status read_goals(reader *r, lud_tree *list, lud_grid_spec *spec) {
    if (!list || list->kind == LUD_TREE_NULL) return LUD_OK;
    if (list->kind != LUD_TREE_SEQUENCE)
        return lud_tree_expected(list, r->error, "a list of goals, such as - {cell: [1, 2]}");
    size_t n = list->n_children, i = 0;
    lud_grid_goal *goals = lud_arena_take_array(r->arena, n, sizeof *goals);
    lud_tree **agents = lud_arena_take_array(r->arena, n, sizeof(lud_tree *));
    if (!goals || !agents) return lud_out_of_memory(r->error);
    bool for_all = true;
    for (lud_tree *c = list->child; c; c = c->next, i++) {
        LUD_TRY(read_goal(r, c, spec, &goals[i], &agents[i]));
        if (agents[i]) for_all = false;
    }
    size_t capacity = for_all ? n : n * (size_t)(spec->n_agents + 1);
    if (!for_all) /* an agent may be named twice */
        for (i = 0; i < n; i++) capacity += agents[i] ? agents[i]->n_children : 0;
    spec->goals =
        lud_arena_take_array(r->arena, capacity < MAX_GOALS ? capacity : MAX_GOALS, sizeof *spec->goals);
    if (!spec->goals) return lud_out_of_memory(r->error);
    i = 0;
    for (lud_tree *c = list->child; c; c = c->next, i++)
        LUD_TRY(for_all ? add_goal(r, spec, &goals[i], -1, c->place)
                        : expand_goal(r, spec, &goals[i], agents[i], c->place));
    for (int agent = -1; agent < spec->n_agents; agent++) LUD_TRY(scale_weights(r, spec, agent, list));
    return LUD_OK;
}

/* ---- the section ---- */

static lud_status check_colours(reader *r, lud_tree *section, const char *key) {
    lud_tree *list = lud_tree_get(section, key);
    int ignored;
    for (lud_tree *c = list ? list->child : NULL; c; c = c->next)
        LUD_TRY(lud_tree_choice(c, lud_colour_names, LUD_COLOURS, &ignored, r->error));
    return LUD_OK;
}

static lud_status read_section(reader *r, lud_tree *section, uint64_t seed, lud_grid_spec *spec) {
    LUD_TRY(lud_options_read(&lud_grid_option_table, r->arena, section, &r->options, r->error));
    LUD_TRY(check_colours(r, section, "can_push_rocks"));
    LUD_TRY(check_colours(r, section, "can_enter_magic_walls"));
    const lud_grid_options *o = &r->options;
    if (o->spec.observation.size % 2 == 0)
        return lud_tree_expected(lud_tree_get(lud_tree_get(section, "observation"), "size"), r->error,
                                 "an odd number");
    if (!!o->map + !!o->generate + !!o->ensemble != 1)
        return lud_tree_expected(section, r->error, "either a map, an ensemble or the section generate");
    *spec = o->spec;
    if (o->map) return read_maps(r, &(variant){.map = o->map, .agent_list = o->agents}, 1, spec);
    if (o->ensemble) return read_ensemble(r, spec);
    if (o->legend) return lud_tree_expected(o->legend, r->error, "no legend beside generate");
    spec->is_generated = true;
    LUD_TRY(lud_grid_generate_read(r->arena, o->generate, seed, &spec->generate, r->error));
    spec->n_maps = (int)spec->generate.maps;
    lud_status status = lud_grid_generate_maps(r->arena, o, spec, r->error);
    lud_place at = o->generate->place;
    /* errors in the list of agents have a place already */
    if (status && r->error && !strncmp(r->error->text, "expected", 8))
        lud_fail_context(r->error, "%s:%d:%d", at.file, at.line, at.column);
    return status;
}

lud_status lud_grid_spec_read(lud_arena *arena, lud_tree *root, uint64_t seed, lud_grid_spec *spec,
                              lud_error *error) {
    if (!lud_tree_get(root, "ludus")) return lud_grid_reference_read(arena, root, spec, error);
    lud_tree *section = lud_tree_get(root, "multigrid");
    if (!section) return lud_invalid_at(error, root->place, "expected the section 'multigrid', found none");
    if (section->kind != LUD_TREE_MAPPING)
        return lud_tree_expected(section, error, "the keys of the world, a map among them");
    reader r = {.arena = arena, .error = error};
    lud_status status = read_section(&r, section, seed, spec);
    return status ? status : read_goals(&r, lud_tree_get(root, "goals"), spec);
}

lud_status lud_grid_parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                          lud_model **model, lud_error *error) {
    (void)world;
    (void)file;
    lud_arena *arena = lud_arena_create(1 << 16);
    if (!arena) return lud_out_of_memory(error);
    lud_grid_spec spec;
    lud_status status = lud_grid_spec_read(arena, root, seed, &spec, error);
    if (!status) {
        status = lud_grid_model_create(&spec, model, error);
        const lud_tree *section = lud_tree_get(root, "multigrid");
        lud_place at = section ? section->place : root->place;
        if (status && at.file) lud_fail_context(error, "%s:%d:%d", at.file, at.line, at.column);
    }
    lud_arena_destroy(arena);
    return status;
}
