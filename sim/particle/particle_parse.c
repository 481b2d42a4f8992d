/* A particle section: the built-in task it starts from, parameters, and the rows of its tables. */
#include <stdlib.h>
#include <string.h>

#include "particle_tasks.h"
#include "sim/particle/particle_rows.h"

const char *lud_particle_task_name(int i) {
    return i >= 0 && i < (int)(sizeof task_files / sizeof *task_files) ? task_files[i].name : NULL;
}

const char *lud_particle_task_text(int i, size_t *length) {
    *length = task_files[i].length;
    return (const char *)task_files[i].bytes;
}

static lud_tree *find(const lud_tree *mapping, const char *key) {
    if (!mapping || mapping->kind != LUD_TREE_MAPPING) return NULL;
    for (lud_tree *child = mapping->child; child; child = child->next)
        if (!strcmp(child->key, key)) return child;
    return NULL;
}

/* The model reads a copy and checks the copy's keys itself. */
static void mark_used(lud_tree *node) {
    node->used = true;
    for (lud_tree *child = node->child; child; child = child->next) mark_used(child);
}

static lud_tree *empty_mapping(lud_arena *arena) {
    lud_tree *mapping = lud_arena_take(arena, sizeof *mapping);
    if (mapping) mapping->kind = LUD_TREE_MAPPING;
    return mapping;
}

static bool merge(lud_arena *arena, lud_tree *out, const lud_tree *low, const lud_tree *high) {
    for (const lud_tree *child = low ? low->child : NULL; child; child = child->next) {
        const lud_tree *over = find(high, child->key);
        if (over && over->kind == LUD_TREE_MAPPING && child->kind == LUD_TREE_MAPPING) {
            lud_tree *both = lud_tree_add_mapping(arena, out, child->key);
            if (!both || !merge(arena, both, child, over)) return false;
            both->place = over->place;
        } else if (!lud_tree_add_copy(arena, out, child->key, over ? over : child))
            return false;
    }
    for (const lud_tree *child = high ? high->child : NULL; child; child = child->next)
        if (!find(low, child->key) && !lud_tree_add_copy(arena, out, child->key, child)) return false;
    return true;
}

/* Lets node stand for what `value` says, keeping its own key and place in the list. */
static void become(lud_tree *node, const lud_tree *value) {
    node->kind = value->kind;
    node->quoted = value->quoted;
    node->text = value->text;
    node->text_length = value->text_length;
    node->place = value->place;
    node->child = value->child;
    node->n_children = value->n_children;
}

static lud_status unknown_parameter(const lud_tree *parameters, const lud_tree *node, const char *name,
                                    lud_error *error) {
    const char *names[64];
    int n = 0;
    for (const lud_tree *p = parameters ? parameters->child : NULL; p && n < 64; p = p->next)
        names[n++] = p->key;
    const char *near = lud_nearest_name(name, names, n);
    return lud_invalid_at(error, node->place, "no parameter `%s`%s%s%s", name, near ? "; did you mean `" : "",
                          near ? near : "", near ? "`?" : "");
}

/* {pick: [a, b], by: name} is a or b by a whole number or a truth value; {pick: {x: a}, by: name} by word. */
static lud_status pick(lud_tree *node, const lud_tree *parameters, lud_error *error) {
    static const char *const keys[] = {"pick", "by"};
    LUD_TRY(lud_tree_check_keys(node, keys, 2, error));
    const lud_tree *options = find(node, "pick"), *by = find(node, "by");
    if (!by || by->kind != LUD_TREE_SCALAR)
        return lud_invalid_at(error, node->place, "`pick` needs `by`, the name of a parameter");
    const char *name = by->text[0] == '$' ? by->text + 1 : by->text;
    const lud_tree *parameter = find(parameters, name);
    if (!parameter) return unknown_parameter(parameters, by, name, error);
    const char *value = parameter->kind == LUD_TREE_SCALAR ? parameter->text : "";
    const lud_tree *chosen = NULL;
    if (options->kind == LUD_TREE_MAPPING)
        chosen = find(options, value);
    else if (options->kind == LUD_TREE_SEQUENCE) {
        char *end;
        long index = !strcmp(value, "true") ? 1 : !strcmp(value, "false") ? 0 : strtol(value, &end, 10);
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0 && (end == value || *end)) index = -1;
        if (index >= 0)
            for (chosen = options->child; chosen && index > 0; index--) chosen = chosen->next;
    }
    if (!chosen)
        return lud_invalid_at(error, parameter->place, "`%s: %s` is none of the %zu that `pick` offers", name,
                              value, options->n_children);
    become(node, chosen);
    return LUD_OK;
}

/* Replaces $name and {pick, by} everywhere below. Parameters cannot refer to parameters, so this ends. */
static lud_status substitute(lud_tree *node, const lud_tree *parameters, lud_error *error) {
    if (node->kind == LUD_TREE_MAPPING && find(node, "pick")) LUD_TRY(pick(node, parameters, error));
    if (node->kind == LUD_TREE_SCALAR && node->text[0] == '$') {
        const lud_tree *value = find(parameters, node->text + 1);
        if (!value) return unknown_parameter(parameters, node, node->text + 1, error);
        become(node, value);
        return LUD_OK;
    }
    for (lud_tree *child = node->child; child; child = child->next)
        LUD_TRY(substitute(child, parameters, error));
    return LUD_OK;
}

/* The built-in task's section, null when `section` names none. */
static lud_status load_task(lud_arena *arena, const lud_tree *section, lud_tree **task, lud_error *error) {
    *task = NULL;
    const lud_tree *name = find(section, "task");
    if (!name) return LUD_OK;
    if (name->kind != LUD_TREE_SCALAR)
        return lud_invalid_at(error, name->place, "`task` must be the name of a task");
    const char *names[64];
    int n = 0;
    for (; n < 64 && (names[n] = lud_particle_task_name(n)); n++)
        if (!strcmp(names[n], name->text)) {
            size_t length;
            const char *text = lud_particle_task_text(n, &length);
            lud_tree *root;
            lud_status status = lud_tree_read_text(arena, names[n], text, length, &root, error);
            if (!status) *task = find(root, "particle");
            return status;
        }
    const char *near = lud_nearest_name(name->text, names, n);
    return lud_invalid_at(error, name->place, "no task `%s`%s%s%s", name->text,
                          near ? "; did you mean `" : " (see scenarios/particle)", near ? near : "",
                          near ? "`?" : "");
}

/* The whole table: the task's with the section's keys over it, parameters replaced, `task` and `parameters`
 * gone. *source gets it with parameters, at their values in effect, in place; null when there are none. */
static lud_status resolve(lud_arena *arena, const lud_tree *section, lud_tree **table, lud_tree **source,
                          lud_error *error) {
    lud_tree *task;
    LUD_TRY(load_task(arena, section, &task, error));
    lud_tree *merged = empty_mapping(arena), *result = empty_mapping(arena), *kept = empty_mapping(arena);
    lud_tree *values = kept ? lud_tree_add_mapping(arena, kept, "parameters") : NULL;
    if (!merged || !result || !values || !merge(arena, merged, task, section))
        return lud_out_of_memory(error);
    merged->place = result->place = section->place;
    const lud_tree *parameters = find(merged, "parameters");
    if (parameters && parameters->kind != LUD_TREE_MAPPING)
        return lud_invalid_at(error, parameters->place, "`parameters` must be a mapping of names to values");
    for (const lud_tree *p = parameters ? parameters->child : NULL; p; p = p->next) {
        for (int i = 0; i < lud_particle_option_table.n; i++)
            if (!strcmp(p->key, lud_particle_option_table.options[i].key))
                return lud_invalid_at(error, p->key_place,
                                      "a parameter cannot be called `%s`, that is a key of this section",
                                      p->key);
        const lud_tree *direct = find(merged, p->key);
        if (!lud_tree_add_copy(arena, values, p->key, direct ? direct : p)) return lud_out_of_memory(error);
    }
    for (lud_tree *child = merged->child; child; child = child->next) {
        if (!strcmp(child->key, "task") || !strcmp(child->key, "parameters") || find(values, child->key))
            continue;
        lud_tree *copy = lud_tree_add_copy(arena, result, child->key, child);
        if (!copy || !lud_tree_add_copy(arena, kept, child->key, child)) return lud_out_of_memory(error);
        LUD_TRY(substitute(copy, values, error));
    }
    *table = result;
    *source = values->child ? kept : NULL;
    return LUD_OK;
}

lud_status lud_particle_parse(lud_tree *root, lud_particle_model **model, lud_error *error) {
    lud_tree *section = lud_tree_get(root, "particle");
    if (!section || section->kind != LUD_TREE_MAPPING)
        return lud_invalid_at(error, section ? section->place : root->place,
                              "the particle world needs a section `particle` with `task` or `bodies`");
    mark_used(section);
    lud_arena *arena = lud_arena_create(0);
    lud_particle_model *m = arena ? lud_arena_take(arena, sizeof *m) : NULL;
    if (!m) {
        lud_arena_destroy(arena);
        return lud_out_of_memory(error);
    }
    m->arena = arena;
    lud_status status = resolve(arena, section, &m->section, &m->source, error);
    if (!status) status = lud_options_read(&lud_particle_option_table, arena, m->section, &m->options, error);
    if (!status) status = lud_particle_compile(m, error);
    if (status)
        lud_arena_destroy(arena);
    else
        *model = m;
    return status;
}

void lud_particle_free(lud_model *model) {
    if (model) lud_arena_destroy(((lud_particle_model *)model)->arena);
}
