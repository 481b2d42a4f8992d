#include "sim/multigrid/grid_reference.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "sim/multigrid/file/grid_codes.h"

/* A present, non-null value of the file. */
static lud_tree *get(lud_tree *root, const char *key) {
    lud_tree *node = lud_tree_get(root, key);
    return node && node->kind != LUD_TREE_NULL ? node : NULL;
}

static lud_status read_chance(lud_tree *root, const char *key, double *chance, lud_error *error) {
    lud_tree *node = get(root, key);
    return node ? lud_tree_real(node, 0, 1, chance, error) : LUD_OK;
}

static lud_status read_direction(lud_tree *node, lud_direction *direction, lud_error *error) {
    static const char letters[] = "eswn"; /* index: lud_direction */
    node->used = true;
    const char *letter =
        node->kind == LUD_TREE_SCALAR && node->text_length == 1 ? strchr(letters, node->text[0]) : NULL;
    if (letter) {
        *direction = (lud_direction)(letter - letters);
        return LUD_OK;
    }
    int64_t number;
    lud_error ignored;
    if (lud_tree_int(node, 0, 3, &number, &ignored))
        return lud_tree_expected(node, error, "a direction e, s, w, n or 0 to 3");
    *direction = (lud_direction)number;
    return LUD_OK;
}

/* One direction for all agents, or one an agent with east for those missing. */
static lud_status read_orientations(lud_tree *node, const lud_grid_spec *spec, lud_error *error) {
    lud_grid_agent *agents = spec->maps[0].agents;
    lud_direction direction = LUD_EAST;
    if (node->kind != LUD_TREE_SEQUENCE) {
        LUD_TRY(read_direction(node, &direction, error));
        for (int i = 0; i < spec->n_agents; i++) agents[i].direction = direction;
        return LUD_OK;
    }
    int i = 0;
    for (lud_tree *c = node->child; c; c = c->next, i++) {
        LUD_TRY(read_direction(c, &direction, error));
        if (i < spec->n_agents) agents[i].direction = direction;
    }
    return LUD_OK;
}

static lud_status read_rock_pushers(lud_arena *arena, lud_tree *node, lud_text_list *colours,
                                    lud_error *error) {
    static const char letters[] = "rgbpye";
    const char *text;
    LUD_TRY(lud_tree_text(node, &text, error));
    colours->n = strlen(text);
    colours->items = lud_arena_take_array(arena, colours->n, sizeof *colours->items);
    if (!colours->items) return lud_out_of_memory(error);
    for (size_t i = 0; i < colours->n; i++) {
        const char *letter = strchr(letters, text[i]);
        if (!letter) return lud_tree_expected(node, error, "letters of the colours r, g, b, p, y and e");
        colours->items[i] = lud_colour_names[letter - letters];
    }
    return LUD_OK;
}

static lud_status read_actions(lud_tree *node, int *actions, lud_error *error) {
    static const char *const names[] = {"Actions", "ObjectActions", "SmallActions", "MinimalActions",
                                        "MineActions"};
    /* the reference cannot tell `Actions` from its default */
    static const int sets[] = {LUD_ACTIONS_AUTOMATIC, LUD_ACTIONS_OBJECT, LUD_ACTIONS_SMALL,
                               LUD_ACTIONS_MINIMAL, LUD_ACTIONS_MINE};
    int index;
    LUD_TRY(lud_tree_choice(node, names, 5, &index, error));
    *actions = sets[index];
    return LUD_OK;
}

/* "1,2" or "1, 2, 3, 4": how many numbers, -1 when something else is there. */
static int text_numbers(const char *text, int64_t numbers[4]) {
    for (int n = 0;; n++) {
        while (isspace((unsigned char)*text)) text++;
        char *end;
        long long number = strtoll(text, &end, 10);
        if (end == text || n == 4) return -1;
        numbers[n] = number;
        while (isspace((unsigned char)*end)) end++;
        if (!*end) return n + 1;
        if (*end != ',') return -1;
        text = end + 1;
    }
}

/* [1, 2], [1, 2, 3, 4] or [[1, 2], [3, 4]]. */
static int list_numbers(const lud_tree *list, int64_t numbers[4]) {
    int n = 0;
    bool pairs = list->n_children == 2 && list->child->kind == LUD_TREE_SEQUENCE;
    for (lud_tree *c = list->child; c; c = c->next) {
        if (pairs && (c->kind != LUD_TREE_SEQUENCE || c->n_children != 2)) return -1;
        for (lud_tree *number = pairs ? c->child : c; number; number = pairs ? number->next : NULL) {
            lud_error ignored;
            if (n == 4 || lud_tree_int(number, -1000000, 1000000, &numbers[n], &ignored)) return -1;
            n++;
        }
    }
    return n;
}

static lud_status read_goal(lud_tree *node, const lud_grid_spec *spec, lud_grid_goal *goal,
                            lud_error *error) {
    int64_t v[4];
    int n = -1;
    if (node->kind == LUD_TREE_SCALAR) n = text_numbers(node->text, v);
    if (node->kind == LUD_TREE_SEQUENCE) n = list_numbers(node, v);
    if (n != 2 && n != 4)
        return lud_tree_expected(node, error, "a goal: x and y of a cell, or x1, y1, x2, y2 of a rectangle");
    for (int i = 0; i < n; i++)
        if (v[i] < 0 || v[i] >= (i % 2 ? spec->height : spec->width))
            return lud_tree_expected(node, error, "a goal in the %d x %d grid", spec->width, spec->height);
    if (n == 2) {
        v[2] = v[0];
        v[3] = v[1];
    }
    *goal = (lud_grid_goal){.x1 = (int)(v[0] < v[2] ? v[0] : v[2]),
                            .y1 = (int)(v[1] < v[3] ? v[1] : v[3]),
                            .x2 = (int)(v[0] < v[2] ? v[2] : v[0]),
                            .y2 = (int)(v[1] < v[3] ? v[3] : v[1]),
                            .cell = n == 2,
                            .weight = goal->weight,
                            .agent = -1};
    return LUD_OK;
}

static lud_status read_goals(lud_arena *arena, lud_tree *node, lud_grid_spec *spec, lud_error *error) {
    if (node->kind != LUD_TREE_SEQUENCE) return lud_tree_expected(node, error, "a list of goals");
    spec->goals = lud_arena_take_array(arena, node->n_children, sizeof *spec->goals);
    if (!spec->goals) return lud_out_of_memory(error);
    for (lud_tree *c = node->child; c; c = c->next) {
        lud_grid_goal *goal = &spec->goals[spec->n_goals++];
        goal->weight = 1.0 / (double)node->n_children;
        LUD_TRY(read_goal(c, spec, goal, error));
    }
    spec->goals_must_cover = true;
    return LUD_OK;
}

lud_status lud_grid_reference_read(lud_arena *arena, lud_tree *root, lud_grid_spec *spec, lud_error *error) {
    lud_grid_options options;
    LUD_TRY(lud_options_default(&lud_grid_option_table, arena, &options, error));
    lud_tree *node = lud_tree_get(root, "grid_size");
    if (node && node->kind != LUD_TREE_NULL)
        return lud_tree_expected(node, error, "no grid_size in a file with a map");
    *spec = options.spec;
    spec->n_maps = 1;
    if ((node = get(root, "max_steps"))) LUD_TRY(lud_tree_int(node, 1, 65535, &spec->max_steps, error));
    LUD_TRY(read_chance(root, "stumble_probability", &options.chances.stumble, error));
    LUD_TRY(read_chance(root, "solidify_probability", &options.chances.solidify, error));
    LUD_TRY(read_chance(root, "enter_bush_success_prob", &options.chances.enter_bush, error));
    if ((node = get(root, "can_push_rocks")))
        LUD_TRY(read_rock_pushers(arena, node, &options.can_push_rocks, error));
    if ((node = get(root, "action_class"))) LUD_TRY(read_actions(node, &spec->actions, error));
    lud_grid_rows rows;
    if (!(node = lud_tree_get(root, "map"))) return lud_tree_expected(root, error, "a map");
    LUD_TRY(lud_grid_rows_read(arena, node, &rows, error));

    spec->width = rows.width;
    spec->height = rows.height;
    size_t n_cells = (size_t)rows.width * (size_t)rows.height;
    spec->maps = lud_arena_take(arena, sizeof *spec->maps);
    lud_grid_thing *things = lud_arena_take_array(arena, n_cells, sizeof *things);
    if (!spec->maps || !things) return lud_out_of_memory(error);
    for (size_t c = 0; c < n_cells; c++)
        LUD_TRY(lud_grid_code_read(rows.codes[c], &options.chances, rows.places[c], &things[c], error));
    lud_grid_thing *agents;
    int n_agents;
    LUD_TRY(lud_grid_agents_collect(arena, things, &rows, &agents, &n_agents, error));
    LUD_TRY(lud_grid_map_build(arena, things, agents, n_agents, &options, spec, spec->maps, error));
    if ((node = get(root, "orientations"))) LUD_TRY(read_orientations(node, spec, error));
    if ((node = get(root, "possible_goals"))) LUD_TRY(read_goals(arena, node, spec, error));
    return LUD_OK;
}
