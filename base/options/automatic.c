#include "base/options/automatic.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PATH = 128 };

/* The option at this place of the table's struct, with its path of keys and what was given for it. */
static const lud_option *find(const lud_option_table *table, lud_tree *mapping, size_t offset, char *path,
                              const lud_tree **given) {
    if (mapping && mapping->kind != LUD_TREE_MAPPING) mapping = NULL;
    const size_t used = strlen(path);
    for (int i = 0; i < table->n; i++) {
        const lud_option *o = &table->options[i];
        const bool section = o->type == LUD_OPTION_SECTION;
        if (section ? offset < o->offset || offset - o->offset >= o->section->bytes : offset != o->offset)
            continue;
        lud_tree *node = mapping ? lud_tree_get(mapping, o->key) : NULL;
        snprintf(path + used, MOST_PATH - used, "%s%s", used ? "." : "", o->key);
        if (!section) {
            *given = lud_option_is_auto(o, node) ? NULL : node;
            return o;
        }
        const lud_option *inner = find(o->section, node, offset - o->offset, path, given);
        if (inner) return inner;
        path[used] = '\0';
    }
    return NULL;
}

static const lud_option *option_of(const lud_automatic *a, const void *field, char *path,
                                   const lud_tree **given) {
    const size_t offset = (size_t)((const char *)field - (const char *)a->values);
    path[0] = '\0';
    const lud_option *o = find(a->table, a->mapping, offset, path, given);
    assert(o && o->automatic);
    return o;
}

bool lud_automatic_is_open(const lud_automatic *a, const void *field) {
    char path[MOST_PATH];
    const lud_tree *given = NULL;
    (void)option_of(a, field, path, &given);
    return !given && !a->off;
}

static void say(lud_automatic *a, const char *key, const char *value, const char *why, va_list arguments) {
    char reason[400];
    if (!why || a->off) return;
    vsnprintf(reason, sizeof reason, why, arguments);
    lud_text_append(&a->said, "  %-26s %-10s %s\n", key, value, reason);
}

void lud_automatic_say(lud_automatic *a, const char *key, const char *value, const char *why, ...) {
    va_list arguments;
    va_start(arguments, why);
    say(a, key, value, why, arguments);
    va_end(arguments);
}

void lud_automatic_set(lud_automatic *a, void *field, double value, const char *why, ...) {
    char path[MOST_PATH], text[32];
    const lud_tree *given = NULL;
    const lud_option *o = option_of(a, field, path, &given);
    if (given || a->off) return;
    if (o->type == LUD_OPTION_INT || o->type == LUD_OPTION_REAL || o->type == LUD_OPTION_MEMORY)
        value = fmin(fmax(value, o->minimum), o->maximum);
    snprintf(text, sizeof text, "%.10g", o->type == LUD_OPTION_INT ? floor(value) : value);
    switch (o->type) {
    case LUD_OPTION_INT:
        *(int64_t *)field = (int64_t)value;
        break;
    case LUD_OPTION_REAL:
    case LUD_OPTION_MEMORY:
        *(double *)field = value;
        break;
    case LUD_OPTION_BOOL:
        *(bool *)field = value != 0.0;
        snprintf(text, sizeof text, "%s", value != 0.0 ? "true" : "false");
        break;
    case LUD_OPTION_CHOICE:
        *(int *)field = (int)value;
        snprintf(text, sizeof text, "%s", o->choices[(int)value]);
        break;
    default:
        assert(0 && "no automatic option of this type");
    }
    va_list arguments;
    va_start(arguments, why);
    say(a, path, text, why, arguments);
    va_end(arguments);
}

const char *lud_automatic_end(lud_automatic *a, lud_arena *arena) {
    const char *text = a->said.bytes ? a->said.bytes : "";
    const char *copy = a->said.failed ? NULL : lud_arena_text(arena, text, strlen(text));
    lud_text_free(&a->said);
    return copy;
}
