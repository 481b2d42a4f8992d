/* Makes the text mean a world: codes of the map first, then the lists, each change at places of a tree that
 * was read from the text as it is by then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/options/tree_edit.h"
#include "sim/multigrid/edit/grid_edit_parts.h"

typedef lud_grid_edit_work work;

/* A change on its way may have made of the text what it should not: then there is nothing. */
lud_tree *lud_grid_edit_child(const lud_tree *node, const char *key) {
    return node ? lud_tree_find(node, key) : NULL;
}

static lud_tree *find(const lud_tree *node, const char *key) {
    return lud_grid_edit_child(node, key);
}

lud_status lud_grid_edit_read_again(work *w) {
    lud_arena_destroy(w->arena);
    w->arena = lud_arena_create(1 << 15);
    if (!w->arena) return lud_out_of_memory(w->error);
    return lud_grid_edit_tree(w->edit, &w->text, w->arena, &w->root, w->error);
}

static lud_status read_again(work *w) {
    return lud_grid_edit_read_again(w);
}

/* ---- agents: who is who ---- */

static lud_status number_agents(work *w) {
    const lud_grid_edit_world *world = w->wanted;
    for (int i = 0; i < LUD_GRID_MAX_AGENTS; i++) w->renamed[i] = -1;
    for (int c = 0; c < world->width * world->height; c++) {
        if (!world->things[c].is_agent) continue;
        if (w->n_agents == LUD_GRID_MAX_AGENTS)
            return lud_fail(w->error, LUD_ERROR_LIMIT, "at most %d agents can be in a map",
                            (int)LUD_GRID_MAX_AGENTS);
        if (world->agent[c] >= 0) w->renamed[world->agent[c]] = w->n_agents;
        w->cell[w->n_agents] = c;
        w->origin[w->n_agents++] = world->agent[c];
    }
    return LUD_OK;
}

/* ---- the map ---- */

static lud_status write_codes(work *w) {
    const lud_grid_edit_world *wanted = w->wanted, *is = &w->now->world;
    size_t n_changed = 0;
    for (int c = 0; c < is->width * is->height; c++)
        n_changed += !lud_grid_edit_same(&wanted->things[c], &is->things[c]);
    lud_grid_edit_codes fresh = {.items = calloc(n_changed + 1, sizeof *fresh.items)};
    lud_status status = fresh.items ? LUD_OK : lud_out_of_memory(w->error);
    for (int c = 0; c < is->width * is->height && !status; c++) {
        if (lud_grid_edit_same(&wanted->things[c], &is->things[c])) continue;
        const int x = c % is->width, y = c / is->width;
        char code[2] = {0};
        if (x >= w->now->rows.width || y >= w->now->rows.height)
            status =
                lud_fail(w->error, LUD_ERROR_UNSUPPORTED,
                         "(%d, %d) is beyond this map, which is smaller than others of its ensemble", x, y);
        if (!status)
            status = lud_grid_edit_find_code(w, &fresh, &wanted->things[c],
                                             wanted->things[c].is_agent ? wanted->agent[c] : -1, code);
        if (!status) memcpy(w->text.bytes + w->now->offset[y * w->now->rows.width + x], code, 2);
    }
    if (!status) status = lud_grid_edit_explain_codes(w, &fresh);
    free(fresh.items);
    return status;
}

/* ---- the list of agents ---- */

/* The list that is in force for the map; `holder` gets the section that it stands in, or would. */
static lud_tree *agent_list(work *w, lud_tree **holder) {
    lud_tree *section = find(w->root, "multigrid"), *own = lud_grid_edit_holder(w->edit, w->root);
    lud_tree *list = own ? find(own, "agents") : NULL;
    *holder = list || !find(section, "ensemble") ? own : section;
    return list ? list : find(section, "agents");
}

static lud_status add_agent_entry(work *w) {
    lud_tree *holder, *list = agent_list(w, &holder);
    lud_status status = LUD_OK;
    if (list && list->kind == LUD_TREE_SEQUENCE) {
        status = lud_tree_edit_insert_item(&w->text, list, list->n_children, "{}", w->error);
    } else if (list) {
        status = lud_tree_expected(list, w->error, "a list of agents");
    } else {
        const int indent = holder ? lud_tree_edit_indent(&w->text, holder) : -1;
        lud_text value = {0};
        if (indent < 0)
            lud_text_append(&value, "[{}]");
        else
            lud_text_append(&value, "\n%*s- {}", indent + 2, "");
        status = value.failed
                     ? lud_out_of_memory(w->error)
                     : lud_tree_edit_add_key(&w->text, holder, "map", "agents", value.bytes, w->error);
        lud_text_free(&value);
    }
    return status ? status : read_again(w);
}

/* Entries follow their agents to the places in the list that these come to have. */
static lud_status order_agents(work *w) {
    LUD_TRY(read_again(w));
    lud_tree *holder, *list = agent_list(w, &holder);
    const int m = list && list->kind == LUD_TREE_SEQUENCE ? (int)list->n_children : 0;
    if (m > LUD_GRID_MAX_AGENTS) return lud_tree_expected(list, w->error, "a list of agents");
    int wish[LUD_GRID_MAX_AGENTS], n = 0; /* entry of each place, -1: an empty one */
    bool same = true;
    for (int k = 0; k < w->n_agents; k++) {
        wish[k] = w->origin[k] < m ? w->origin[k] : -1;
        if (wish[k] >= 0) n = k + 1;
    }
    for (int k = 0; k < n; k++) same &= wish[k] == k;
    if (same && n == m) return LUD_OK;
    int present[LUD_GRID_MAX_AGENTS], n_present = m;
    for (int i = 0; i < m; i++) present[i] = i;
    for (int i = m - 1; i >= 0; i--) { /* those that go */
        bool stays = false;
        for (int k = 0; k < n; k++) stays |= wish[k] == i;
        if (stays) continue;
        list = agent_list(w, &holder);
        LUD_TRY(lud_tree_edit_remove_item(&w->text, list, (size_t)i, w->error));
        LUD_TRY(read_again(w));
        memmove(&present[i], &present[i + 1], (size_t)(n_present - 1 - i) * sizeof *present);
        n_present--;
    }
    while (n_present < n) {
        LUD_TRY(add_agent_entry(w));
        present[n_present++] = -1;
    }
    int order[LUD_GRID_MAX_AGENTS];
    bool taken[LUD_GRID_MAX_AGENTS] = {0};
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n_present; i++)
            if (!taken[i] && present[i] == wish[k]) {
                order[k] = i;
                taken[i] = true;
                break;
            }
    if (!n) return LUD_OK;
    list = agent_list(w, &holder);
    LUD_TRY(lud_tree_edit_permute(&w->text, list, order, w->error));
    return read_again(w);
}

/* Says something of an agent in its entry. */
static lud_status say_of_agent(work *w, int agent, const char *key, const char *value) {
    lud_tree *holder, *list = agent_list(w, &holder);
    while (!list || list->n_children <= (size_t)agent) {
        LUD_TRY(add_agent_entry(w));
        list = agent_list(w, &holder);
    }
    lud_tree *entry = list->child;
    for (int k = 0; k < agent; k++) entry = entry->next;
    lud_tree *node = entry->kind == LUD_TREE_MAPPING ? find(entry, key) : NULL;
    lud_text whole = {0};
    lud_status status;
    if (node) {
        status = lud_tree_edit_value(&w->text, node, value, w->error);
    } else if (entry->kind == LUD_TREE_MAPPING) {
        const lud_tree *last = entry->child;
        while (last && last->next) last = last->next;
        status = lud_tree_edit_add_key(&w->text, entry, last ? last->key : NULL, key, value, w->error);
    } else {
        lud_text_append(&whole, "{%s: %s}", key, value);
        status = lud_tree_edit_value(&w->text, entry, whole.bytes, w->error);
        lud_text_free(&whole);
    }
    return status ? status : read_again(w);
}

/* What is not yet as it is wanted of the agents. */
static lud_status describe_agents(work *w, const lud_grid_edit_reading *reading) {
    LUD_TRY(read_again(w));
    for (int k = 0; k < w->n_agents; k++) {
        const lud_grid_agent *wanted = &w->wanted->things[w->cell[k]].agent;
        const lud_grid_thing *thing = &reading->world.things[w->cell[k]];
        const lud_grid_agent *is = &thing->agent;
        if (!thing->is_agent) return lud_fail(w->error, LUD_ERROR_UNSUPPORTED, "agent %d was lost", k);
        if (is->colour != wanted->colour)
            LUD_TRY(say_of_agent(w, k, "colour", lud_colour_names[wanted->colour]));
        if (is->direction != wanted->direction)
            LUD_TRY(say_of_agent(w, k, "facing", lud_direction_names[wanted->direction]));
        if (is->role != wanted->role) LUD_TRY(say_of_agent(w, k, "role", lud_grid_role_names[wanted->role]));
        if (is->can_push_rocks != wanted->can_push_rocks)
            LUD_TRY(say_of_agent(w, k, "can_push_rocks", wanted->can_push_rocks ? "true" : "false"));
        if (is->can_enter_magic_walls != wanted->can_enter_magic_walls)
            LUD_TRY(say_of_agent(w, k, "can_enter_magic_walls",
                                 wanted->can_enter_magic_walls ? "true" : "false"));
    }
    return LUD_OK;
}

/* ---- the list of goals ---- */

static uint64_t renamed_agents(const work *w, uint64_t agents) {
    uint64_t now = 0;
    for (int i = 0; i < LUD_GRID_MAX_AGENTS; i++)
        if (agents >> i & 1 && w->renamed[i] >= 0) now |= UINT64_C(1) << w->renamed[i];
    return now;
}

static void write_place(const lud_grid_edit_goal *goal, lud_text *out) {
    if (goal->cell)
        lud_text_append(out, "[%d, %d]", goal->x1, goal->y1);
    else
        lud_text_append(out, "[%d, %d, %d, %d]", goal->x1, goal->y1, goal->x2, goal->y2);
}

static void write_agents(uint64_t agents, lud_text *out) {
    lud_text_append(out, "[");
    for (int i = 0, n = 0; i < LUD_GRID_MAX_AGENTS; i++)
        if (agents >> i & 1) lud_text_append(out, "%s%d", n++ ? ", " : "", i);
    lud_text_append(out, "]");
}

static lud_tree *goal_entry(const work *w, int number) {
    const lud_tree *list = find(w->root, "goals");
    lud_tree *entry = list ? list->child : NULL;
    for (int k = 0; entry && k < number; k++) entry = entry->next;
    return entry;
}

static lud_status say_of_goal(work *w, int number, const char *key, const char *value) {
    lud_tree *entry = goal_entry(w, number);
    if (!entry) return lud_fail(w->error, LUD_ERROR_UNSUPPORTED, "goal %d was lost", number);
    const lud_tree *node = find(entry, key), *last = entry->child;
    while (last && last->next) last = last->next;
    LUD_TRY(node ? lud_tree_edit_value(&w->text, node, value, w->error)
                 : lud_tree_edit_add_key(&w->text, entry, last ? last->key : NULL, key, value, w->error));
    return read_again(w);
}

lud_status lud_grid_edit_place_goal(work *w, int number, const lud_grid_edit_goal *goal) {
    lud_text value = {0};
    write_place(goal, &value);
    const lud_status status = value.failed
                                  ? lud_out_of_memory(w->error)
                                  : say_of_goal(w, number, goal->cell ? "cell" : "rectangle", value.bytes);
    lud_text_free(&value);
    return status;
}

/* From `cell: [..]` to `rectangle: [..]` or back: key and value in one. */
static lud_status change_kind(work *w, int number, const lud_grid_edit_goal *goal) {
    const lud_tree *entry = goal_entry(w, number);
    const lud_tree *node = entry ? find(entry, goal->cell ? "rectangle" : "cell") : NULL;
    if (!node || node->end <= node->begin || node->key_begin >= node->begin)
        return lud_fail(w->error, LUD_ERROR_UNSUPPORTED, "goal %d cannot be changed in place", number);
    lud_text whole = {0};
    lud_text_append(&whole, "%s: ", goal->cell ? "cell" : "rectangle");
    write_place(goal, &whole);
    const lud_status status =
        whole.failed ? lud_out_of_memory(w->error)
                     : lud_text_replace(&w->text, node->key_begin, node->end, whole.bytes, w->error);
    lud_text_free(&whole);
    return status ? status : read_again(w);
}

static lud_status change_goal(work *w, const lud_grid_edit_goal *is, const lud_grid_edit_goal *goal) {
    const bool moved = is->x1 != goal->x1 || is->y1 != goal->y1 || is->x2 != goal->x2 || is->y2 != goal->y2;
    lud_text value = {0};
    lud_status status = LUD_OK;
    if (is->cell != goal->cell) {
        status = change_kind(w, goal->origin, goal);
    } else if (moved) {
        status = lud_grid_edit_place_goal(w, goal->origin, goal);
    }
    if (!status && is->weight != goal->weight) {
        char weight[LUD_NUMBER_BYTES];
        lud_number_write(goal->weight, weight);
        status = say_of_goal(w, goal->origin, "weight", weight);
    }
    lud_text_clear(&value);
    if (!status && !goal->for_all && (is->for_all || is->agents != goal->agents)) {
        write_agents(goal->agents, &value);
        status = say_of_goal(w, goal->origin, "agents", value.bytes);
    }
    lud_text_free(&value);
    return status;
}

static lud_status add_goal(work *w, const lud_grid_edit_goal *goal) {
    const lud_tree *list = find(w->root, "goals");
    lud_text value = {0}, whole = {0};
    lud_text_append(&value, "{%s: ", goal->cell ? "cell" : "rectangle");
    write_place(goal, &value);
    if (goal->weight != 1) {
        char weight[LUD_NUMBER_BYTES];
        lud_number_write(goal->weight, weight);
        lud_text_append(&value, ", weight: %s", weight);
    }
    if (!goal->for_all) {
        lud_text_append(&value, ", agents: ");
        write_agents(goal->agents, &value);
    }
    lud_text_append(&value, "}");
    lud_status status = value.failed ? lud_out_of_memory(w->error) : LUD_OK;
    if (!status && list && list->kind == LUD_TREE_SEQUENCE) {
        status = lud_tree_edit_insert_item(&w->text, list, list->n_children, value.bytes, w->error);
    } else if (!status && list) {
        status = lud_tree_expected(list, w->error, "a list of goals");
    } else if (!status) {
        const int indent = lud_tree_edit_indent(&w->text, w->root);
        if (indent < 0)
            lud_text_append(&whole, "[%s]", value.bytes);
        else
            lud_text_append(&whole, "\n%*s- %s", indent + 2, "", value.bytes);
        status = lud_tree_edit_add_key(&w->text, w->root, "multigrid", "goals", whole.bytes, w->error);
    }
    lud_text_free(&value);
    lud_text_free(&whole);
    return status ? status : read_again(w);
}

/* `goals` are the wanted ones with agents by their new numbers. */
static lud_status write_goals(work *w, const lud_grid_edit_goal *goals, int n) {
    const lud_grid_edit_world *is = &w->now->world;
    for (int k = 0; k < n; k++)
        if (goals[k].origin >= 0) LUD_TRY(change_goal(w, &is->goals[goals[k].origin], &goals[k]));
    for (int i = is->n_goals - 1; i >= 0; i--) {
        bool stays = false;
        for (int k = 0; k < n; k++) stays |= goals[k].origin == i;
        if (stays) continue;
        LUD_TRY(lud_tree_edit_remove_item(&w->text, find(w->root, "goals"), (size_t)i, w->error));
        LUD_TRY(read_again(w));
    }
    for (int k = 0; k < n; k++)
        if (goals[k].origin < 0) LUD_TRY(add_goal(w, &goals[k]));
    return LUD_OK;
}

/* ---- the whole ---- */

bool lud_grid_edit_same_goal(const lud_grid_edit_goal *a, const lud_grid_edit_goal *b) {
    return a->x1 == b->x1 && a->y1 == b->y1 && a->x2 == b->x2 && a->y2 == b->y2 && a->cell == b->cell &&
           a->weight == b->weight && a->for_all == b->for_all && (a->for_all || a->agents == b->agents);
}

static bool as_wanted(const work *w, const lud_grid_edit_reading *reading, const lud_grid_edit_goal *goals,
                      int n_goals) {
    const lud_grid_edit_world *is = &reading->world, *wanted = w->wanted;
    if (is->width != wanted->width || is->height != wanted->height || is->n_goals != n_goals) return false;
    for (int c = 0; c < is->width * is->height; c++)
        if (!lud_grid_edit_same(&is->things[c], &wanted->things[c])) return false;
    for (int k = 0; k < n_goals; k++)
        if (!lud_grid_edit_same_goal(&is->goals[k], &goals[k])) return false;
    return lud_grid_edit_rest_same(w->edit, w->now, reading, NULL);
}

static lud_status make_so(work *w, const char *name) {
    lud_grid_edit_goal *goals = lud_arena_take_array(w->arena, (size_t)w->wanted->n_goals + 1, sizeof *goals);
    if (!goals) return lud_out_of_memory(w->error);
    LUD_TRY(number_agents(w));
    int n = 0;
    for (int k = 0; k < w->wanted->n_goals; k++) { /* goals of nobody go with the last who had them */
        goals[n] = w->wanted->goals[k];
        goals[n].agents = goals[n].for_all ? 0 : renamed_agents(w, goals[n].agents);
        if (goals[n].for_all || goals[n].agents) n++;
    }
    lud_grid_edit_goal *kept = malloc(((size_t)n + 1) * sizeof *kept);
    if (!kept) return lud_out_of_memory(w->error);
    memcpy(kept, goals, (size_t)n * sizeof *kept);
    lud_grid_edit_reading reading = {0};
    lud_status status = write_codes(w);
    if (!status) status = order_agents(w);
    if (!status) status = write_goals(w, kept, n);
    bool done = false;
    for (int pass = 0; pass < 3 && !status && !done; pass++) { /* what is said of a colour changes more */
        lud_grid_edit_reading_free(&reading);
        status = lud_grid_edit_read(w->edit, &w->text, &reading, w->error);
        done = !status && as_wanted(w, &reading, kept, n);
        if (!status && !done && pass < 2) status = describe_agents(w, &reading);
    }
    if (!status && !done)
        status = lud_fail(w->error, LUD_ERROR_UNSUPPORTED,
                          "this file is written so that this cannot be changed in place");
    free(kept);
    if (!status) status = lud_grid_edit_commit(w->edit, &w->text, &reading, name, w->error);
    lud_grid_edit_reading_free(&reading);
    return status;
}

lud_status lud_grid_edit_begin_work(work *w) {
    w->arena = lud_arena_create(1 << 15);
    lud_text_append_bytes(&w->text, w->edit->text.bytes, w->edit->text.length);
    return w->arena && !w->text.failed ? LUD_OK : lud_out_of_memory(w->error);
}

void lud_grid_edit_end_work(work *w) {
    lud_arena_destroy(w->arena);
    lud_text_free(&w->text);
}

static bool is_same_world(const lud_grid_edit_world *a, const lud_grid_edit_world *b) {
    if (a->n_goals != b->n_goals) return false;
    for (int c = 0; c < a->width * a->height; c++)
        if (a->agent[c] != b->agent[c] || !lud_grid_edit_same(&a->things[c], &b->things[c])) return false;
    for (int k = 0; k < a->n_goals; k++)
        if (!lud_grid_edit_same_goal(&a->goals[k], &b->goals[k])) return false;
    return true;
}

lud_status lud_grid_edit_apply(lud_grid_edit *edit, const lud_grid_edit_world *wanted, const char *name,
                               lud_error *error) {
    if (is_same_world(&edit->now.world, wanted)) return LUD_OK;
    work w = {.edit = edit, .now = &edit->now, .wanted = wanted, .error = error};
    lud_status status = lud_grid_edit_begin_work(&w);
    if (!status) status = make_so(&w, name);
    lud_grid_edit_end_work(&w);
    return status;
}

lud_status lud_grid_edit_set(lud_grid_edit *edit, const char *path, const char *value, lud_error *error) {
    work w = {.edit = edit, .now = &edit->now, .error = error};
    lud_grid_edit_reading reading = {0};
    lud_text whole = {0};
    const char *dot = strchr(path, '.'), *key = dot ? dot + 1 : path;
    lud_status status = lud_grid_edit_begin_work(&w);
    if (!status) status = read_again(&w);
    if (!status) {
        lud_tree *section = find(w.root, "multigrid"), *at = section;
        char outer[64] = "";
        if (dot) {
            snprintf(outer, sizeof outer, "%.*s", (int)(dot - path), path);
            at = find(section, outer);
        }
        const lud_tree *node = at && at->kind == LUD_TREE_MAPPING ? find(at, key) : NULL;
        const char *behind = find(section, "map") ? "map" : "ensemble";
        if (node)
            status = lud_tree_edit_value(&w.text, node, value, error);
        else if (at && at->kind == LUD_TREE_MAPPING)
            status = lud_tree_edit_add_key(&w.text, at, behind, key, value, error);
        else if (at)
            status = lud_tree_expected(at, error, "a section");
        else {
            lud_text_append(&whole, "{%s: %s}", key, value);
            status = lud_tree_edit_add_key(&w.text, section, behind, outer, whole.bytes, error);
        }
    }
    if (!status) status = lud_grid_edit_read(edit, &w.text, &reading, error);
    if (!status && !lud_grid_edit_rest_same(edit, &edit->now, &reading, path))
        status = lud_fail(error, LUD_ERROR_UNSUPPORTED,
                          "this file is written so that %s cannot be changed in place", path);
    if (!status) status = lud_grid_edit_commit(edit, &w.text, &reading, path, error);
    lud_grid_edit_reading_free(&reading);
    lud_text_free(&whole);
    lud_grid_edit_end_work(&w);
    return status;
}
