#include <string.h>

#include "base/text.h"
#include "sim/multigrid/file/grid_codes.h"
#include "sim/multigrid/file/grid_generate.h"
#include "sim/multigrid/file/grid_parse.h"
#include "sim/multigrid/grid_model.h"

enum { MAX_CODES = 4096 }; /* more than lud_grid_fresh_code has */

typedef struct writer {
    lud_arena *arena;
    const lud_grid_spec *spec;
    lud_grid_options options;
    lud_grid_thing *new_things; /* of the codes that the legend explains */
    char (*new_codes)[2];
    int n_new, next; /* at most MAX_CODES */
    lud_error *error;
} writer;

/* The chances that most objects share: those of the first of each type, so that few need parameters of their
 * own. */
static void find_chances(const lud_grid_spec *spec, lud_grid_chances *chances) {
    bool stumble = false, magic = false, bush = false;
    int n_cells = spec->width * spec->height;
    for (int k = 0; k < spec->n_maps; k++)
        for (int c = 0; c < n_cells; c++) {
            const lud_grid_object *o = &spec->maps[k].cells[c];
            if (o->type == LUD_UNSTEADY_GROUND && !stumble) {
                chances->stumble = o->stumble;
                stumble = true;
            } else if (o->type == LUD_BUSH && !bush) {
                chances->enter_bush = o->enter;
                bush = true;
            } else if (o->type == LUD_MAGIC_WALL && !magic) {
                chances->enter_magic_wall = o->entry;
                chances->solidify = o->solidify;
                magic = true;
            }
        }
}

/* ---- map and legend ---- */

static bool same(const lud_grid_thing *a, const lud_grid_thing *b) {
    if (a->is_agent != b->is_agent || !lud_grid_object_equal(&a->under, &b->under)) return false;
    return a->is_agent ? a->agent.colour == b->agent.colour : lud_grid_object_equal(&a->object, &b->object);
}

static lud_status code_of(writer *w, const lud_grid_thing *thing, char code[2]) {
    if (lud_grid_code_find(thing, &w->options.chances, code)) return LUD_OK;
    for (int i = 0; i < w->n_new; i++)
        if (same(thing, &w->new_things[i])) {
            memcpy(code, w->new_codes[i], 2);
            return LUD_OK;
        }
    if (!lud_grid_fresh_code(&w->next, &w->options.chances, code))
        return lud_fail(w->error, LUD_ERROR_LIMIT,
                        "the map has more kinds of things than there are codes for a legend");
    memcpy(w->new_codes[w->n_new], code, 2);
    w->new_things[w->n_new++] = *thing;
    return LUD_OK;
}

static bool add_parameters(writer *w, const lud_grid_object *o, lud_tree *out) {
    lud_grid_thing_options v = lud_grid_thing_values(o);
    lud_tree *section = lud_tree_add_mapping(w->arena, out, lud_grid_type_names[o->type]);
    if (!section || lud_options_write(lud_grid_thing_table(o->type), w->arena, &v, section, w->error))
        return false;
    if (o->type != LUD_BOX || o->content_type == LUD_EMPTY) return true;
    lud_tree *contains = lud_tree_add_mapping(w->arena, section, "contains");
    lud_tree *content =
        contains ? lud_tree_add_mapping(w->arena, contains, lud_grid_type_names[o->content_type]) : NULL;
    return content && lud_tree_add_text(w->arena, content, "colour", lud_colour_names[o->content_colour]);
}

static bool add_thing(writer *w, const lud_grid_thing *thing, const char code[2], lud_tree *legend) {
    char key[3] = {code[0], code[1], 0};
    lud_tree *entry = lud_tree_add_mapping(w->arena, legend, key);
    if (!entry) return false;
    if (thing->is_agent) {
        lud_tree *agent = lud_tree_add_mapping(w->arena, entry, "agent");
        if (!agent || !lud_tree_add_text(w->arena, agent, "colour", lud_colour_names[thing->agent.colour]))
            return false;
    } else if (!add_parameters(w, &thing->object, entry)) {
        return false;
    }
    if (thing->under.type == LUD_EMPTY) return true;
    lud_tree *under = lud_tree_add_mapping(w->arena, entry, "under");
    return under && add_parameters(w, &thing->under, under);
}

/* The text of one map, as a child of `holder`; codes that the legend must explain are collected. */
static lud_status write_map(writer *w, const lud_grid_map *map, lud_grid_thing *things, lud_tree *holder,
                            const char *key, lud_tree **node) {
    const lud_grid_spec *spec = w->spec;
    if (!lud_grid_things_of(spec, map, things))
        return lud_fail(w->error, LUD_ERROR_UNSUPPORTED,
                        "a map whose agents do not come in reading order, each in a "
                        "cell of its own, cannot be written");
    lud_text text = {0};
    lud_status status = LUD_OK;
    for (int c = 0; c < spec->width * spec->height && !status; c++) {
        char code[2] = "..";
        status = code_of(w, &things[c], code);
        lud_text_append_bytes(&text, code, 2);
        lud_text_append(&text, (c + 1) % spec->width ? " " : "\n");
    }
    *node = status || text.failed ? NULL : lud_tree_add_text(w->arena, holder, key, text.bytes);
    lud_text_free(&text);
    if (!status && !*node) return lud_out_of_memory(w->error);
    return status;
}

static lud_status write_agents(writer *w, const lud_grid_map *map, lud_tree *list);

/* A map, or an ensemble of maps with their agents; and the legend that they share. */
static lud_status build_maps(writer *w) {
    const lud_grid_spec *spec = w->spec;
    size_t n_cells = (size_t)spec->width * (size_t)spec->height;
    lud_grid_thing *things = lud_arena_take_array(w->arena, n_cells, sizeof *things);
    w->new_things = lud_arena_take_array(w->arena, MAX_CODES, sizeof *w->new_things);
    w->new_codes = lud_arena_take_array(w->arena, MAX_CODES, sizeof *w->new_codes);
    lud_tree *list = lud_arena_take(w->arena, sizeof *list);
    if (!things || !w->new_things || !w->new_codes || !list) return lud_out_of_memory(w->error);
    list->kind = LUD_TREE_SEQUENCE;
    if (spec->n_maps == 1) {
        LUD_TRY(write_map(w, spec->maps, things, list, NULL, &w->options.map));
    } else {
        w->options.ensemble = list;
    }
    for (int k = 0; k < spec->n_maps && w->options.ensemble; k++) {
        lud_tree *entry = lud_tree_add_mapping(w->arena, list, NULL), *ignored;
        if (!entry) return lud_out_of_memory(w->error);
        LUD_TRY(write_map(w, &spec->maps[k], things, entry, "map", &ignored));
        lud_tree *agents = spec->n_agents ? lud_tree_add_sequence(w->arena, entry, "agents") : NULL;
        if (!spec->n_agents) continue;
        LUD_TRY(agents ? write_agents(w, &spec->maps[k], agents) : lud_out_of_memory(w->error));
    }
    if (!w->n_new) return LUD_OK;
    w->options.legend = lud_arena_take(w->arena, sizeof *w->options.legend);
    if (!w->options.legend) return lud_out_of_memory(w->error);
    w->options.legend->kind = LUD_TREE_MAPPING;
    for (int i = 0; i < w->n_new; i++)
        if (!add_thing(w, &w->new_things[i], w->new_codes[i], w->options.legend))
            return lud_out_of_memory(w->error);
    return LUD_OK;
}

/* ---- agents, goals, section ---- */

/* An entry for each agent; where generated maps turn it differently, without where it faces. */
static lud_status write_agents(writer *w, const lud_grid_map *map, lud_tree *list) {
    const lud_grid_spec *spec = w->spec;
    for (int i = 0; i < spec->n_agents; i++) {
        const lud_grid_agent *a = &map->agents[i];
        bool same_facing = true;
        for (int k = 0; k < spec->n_maps && spec->is_generated; k++)
            same_facing &= spec->maps[k].agents[i].direction == a->direction;
        lud_tree *entry = lud_tree_add_mapping(w->arena, list, NULL);
        bool ok = entry && lud_tree_add_text(w->arena, entry, "role", lud_grid_role_names[a->role]) &&
                  lud_tree_add_text(w->arena, entry, "colour", lud_colour_names[a->colour]) &&
                  lud_tree_add_bool(w->arena, entry, "can_push_rocks", a->can_push_rocks) &&
                  lud_tree_add_bool(w->arena, entry, "can_enter_magic_walls", a->can_enter_magic_walls);
        if (ok && same_facing)
            ok = lud_tree_add_text(w->arena, entry, "facing", lud_direction_names[a->direction]);
        if (!ok) return lud_out_of_memory(w->error);
    }
    return LUD_OK;
}

/* The list of the section: in an ensemble each map has its own. */
static lud_status build_agents(writer *w) {
    if (!w->spec->n_agents || w->options.ensemble) return LUD_OK;
    lud_tree *list = lud_arena_take(w->arena, sizeof *list);
    if (!list) return lud_out_of_memory(w->error);
    list->kind = LUD_TREE_SEQUENCE;
    w->options.agents = list;
    return write_agents(w, w->spec->maps, list);
}

static lud_status write_goals(writer *w, lud_tree *root) {
    const lud_grid_spec *spec = w->spec;
    if (!spec->n_goals) return LUD_OK;
    lud_tree *list = lud_tree_add_sequence(w->arena, root, "goals");
    bool ok = list != NULL;
    for (int g = 0; g < spec->n_goals && ok; g++) {
        const lud_grid_goal *goal = &spec->goals[g];
        lud_tree *entry = lud_tree_add_mapping(w->arena, list, NULL);
        lud_tree *place =
            entry ? lud_tree_add_sequence(w->arena, entry, goal->cell ? "cell" : "rectangle") : NULL;
        ok = place && lud_tree_add_int(w->arena, place, NULL, goal->x1) &&
             lud_tree_add_int(w->arena, place, NULL, goal->y1);
        if (ok && !goal->cell)
            ok = lud_tree_add_int(w->arena, place, NULL, goal->x2) &&
                 lud_tree_add_int(w->arena, place, NULL, goal->y2);
        if (ok) ok = lud_tree_add_real(w->arena, entry, "weight", goal->weight);
        if (!ok || goal->agent < 0) continue;
        lud_tree *agents = lud_tree_add_sequence(w->arena, entry, "agents");
        ok = agents && lud_tree_add_int(w->arena, agents, NULL, goal->agent);
    }
    return ok ? LUD_OK : lud_out_of_memory(w->error);
}

lud_status lud_grid_spec_write(const lud_grid_spec *spec, lud_arena *arena, lud_tree *root,
                               lud_error *error) {
    writer w = {.arena = arena, .spec = spec, .error = error};
    LUD_TRY(lud_options_default(&lud_grid_option_table, arena, &w.options, error));
    const int64_t size = w.options.spec.observation.size; /* what a full view does not use */
    w.options.spec = *spec;
    if (!spec->observation.size) w.options.spec.observation.size = size;
    find_chances(spec, &w.options.chances);
    if (spec->is_generated) {
        w.options.generate = lud_arena_take(arena, sizeof *w.options.generate);
        if (!w.options.generate) return lud_out_of_memory(error);
        w.options.generate->kind = LUD_TREE_MAPPING;
        LUD_TRY(lud_grid_generate_write(&spec->generate, arena, w.options.generate, error));
    } else {
        LUD_TRY(build_maps(&w));
    }
    LUD_TRY(build_agents(&w));
    lud_tree *section = lud_tree_add_mapping(arena, root, "multigrid");
    if (!section) return lud_out_of_memory(error);
    LUD_TRY(lud_options_write(&lud_grid_option_table, arena, &w.options, section, error));
    return write_goals(&w, root);
}

lud_status lud_grid_write(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error) {
    return lud_grid_spec_write(&((const lud_grid_model *)model)->spec, arena, root, error);
}
