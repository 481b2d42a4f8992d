#include "base/options/options.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static int n_choices(const lud_option *option) {
    int n = 0;
    while (option->choices[n]) n++;
    return n;
}

/* The ends of an INT range as integers; doubles beyond int64_t mean no limit. */
static int64_t integer_limit(double limit) {
    if (limit >= 9.2e18) return INT64_MAX;
    if (limit <= -9.2e18) return INT64_MIN;
    return (int64_t)limit;
}

static lud_status read_list(const lud_option *option, lud_arena *arena, lud_tree *node, void *field,
                            lud_error *error) {
    if (node->kind != LUD_TREE_SEQUENCE)
        return lud_tree_expected(node, error, "a list of %s",
                                 option->type == LUD_OPTION_INTS    ? "integers"
                                 : option->type == LUD_OPTION_REALS ? "numbers"
                                                                    : "texts");
    size_t n = node->n_children, i = 0;
    size_t size = option->type == LUD_OPTION_TEXTS ? sizeof(char *) : 8;
    void *items = lud_arena_take_array(arena, n, size);
    if (!items) return lud_out_of_memory(error);
    lud_status status = LUD_OK;
    for (lud_tree *c = node->child; c && !status; c = c->next, i++) {
        if (option->type == LUD_OPTION_INTS)
            status = lud_tree_int(c, integer_limit(option->minimum), integer_limit(option->maximum),
                                  (int64_t *)items + i, error);
        else if (option->type == LUD_OPTION_REALS)
            status = lud_tree_real(c, option->minimum, option->maximum, (double *)items + i, error);
        else
            status = lud_tree_text(c, (const char **)items + i, error);
    }
    if (status) return status;
    if (option->type == LUD_OPTION_INTS)
        *(lud_int_list *)field = (lud_int_list){items, n};
    else if (option->type == LUD_OPTION_REALS)
        *(lud_real_list *)field = (lud_real_list){items, n};
    else
        *(lud_text_list *)field = (lud_text_list){items, n};
    return LUD_OK;
}

static lud_status read_option(const lud_option *option, lud_arena *arena, lud_tree *node, void *field,
                              lud_error *error) {
    switch (option->type) {
    case LUD_OPTION_BOOL:
        return lud_tree_bool(node, field, error);
    case LUD_OPTION_INT:
        return lud_tree_int(node, integer_limit(option->minimum), integer_limit(option->maximum), field,
                            error);
    case LUD_OPTION_REAL:
        return lud_tree_real(node, option->minimum, option->maximum, field, error);
    case LUD_OPTION_MEMORY:
        return lud_tree_memory(node, option->minimum, option->maximum, field, error);
    case LUD_OPTION_CHOICE:
        return lud_tree_choice(node, option->choices, n_choices(option), field, error);
    case LUD_OPTION_TEXT: {
        const char *text;
        LUD_TRY(lud_tree_text(node, &text, error));
        /* a copy: the tree may live in another arena */
        const char *copy = lud_arena_text(arena, text, strlen(text));
        if (!copy) return lud_out_of_memory(error);
        *(const char **)field = copy;
        return LUD_OK;
    }
    case LUD_OPTION_TEXTS: {
        lud_status status = read_list(option, arena, node, field, error);
        lud_text_list *list = field;
        for (size_t i = 0; !status && i < list->n; i++) {
            list->items[i] = lud_arena_text(arena, list->items[i], strlen(list->items[i]));
            if (!list->items[i]) status = lud_out_of_memory(error);
        }
        return status;
    }
    case LUD_OPTION_INTS:
    case LUD_OPTION_REALS:
        return read_list(option, arena, node, field, error);
    case LUD_OPTION_SECTION:
        return lud_options_read(option->section, arena, node, field, error);
    case LUD_OPTION_TREE:
        *(lud_tree **)field = node;
        return LUD_OK;
    }
    assert(0 && "option of no type");
    return LUD_ERROR_UNSUPPORTED;
}

lud_status lud_options_default(const lud_option_table *table, lud_arena *arena, void *values,
                               lud_error *error) {
    memset(values, 0, table->bytes);
    for (int i = 0; i < table->n; i++) {
        const lud_option *option = &table->options[i];
        void *field = (char *)values + option->offset;
        lud_status status = LUD_OK;
        if (option->type == LUD_OPTION_SECTION) {
            status = lud_options_default(option->section, arena, field, error);
        } else if (option->default_value) {
            lud_tree *node;
            status = lud_tree_read_text(arena, option->key, option->default_value,
                                        strlen(option->default_value), &node, error);
            if (!status) status = read_option(option, arena, node, field, error);
        }
        assert(status == LUD_OK || status == LUD_ERROR_MEMORY); /* anything else: the table itself is wrong */
        if (status) return status;
    }
    return LUD_OK;
}

static bool is_required(const lud_option *option) {
    return !option->default_value && option->type != LUD_OPTION_TEXT && option->type != LUD_OPTION_TREE &&
           option->type != LUD_OPTION_SECTION;
}

/* What may be left empty (`key:` and nothing behind it), which means the same as leaving the key out. */
static bool may_be_empty(const lud_option *option) {
    return option->type == LUD_OPTION_SECTION || option->type == LUD_OPTION_TREE ||
           (option->type == LUD_OPTION_TEXT && !option->default_value);
}

bool lud_option_is_auto(const lud_option *option, const lud_tree *node) {
    return option->automatic && node && node->kind == LUD_TREE_SCALAR && strcmp(node->text, "auto") == 0;
}

static bool has_key(const lud_option_table *table, const char *key) {
    for (int i = 0; i < table->n; i++)
        if (!strcmp(table->options[i].key, key)) return true;
    return false;
}

/* Says where the first unknown key of the mapping would have its place: in which nested section. */
static void tell_section(const lud_option_table *table, const lud_tree *mapping, lud_error *error) {
    const lud_tree *wrong = mapping->child;
    while (wrong && has_key(table, wrong->key)) wrong = wrong->next;
    for (int i = 0; error && wrong && i < table->n; i++) {
        const lud_option *option = &table->options[i];
        const size_t used = strlen(error->text);
        if (option->section && has_key(option->section, wrong->key))
            snprintf(error->text + used, sizeof error->text - used, "; '%s' has such a key", option->key);
    }
}

static lud_status check_keys(const lud_option_table *table, lud_arena *arena, const lud_tree *mapping,
                             lud_error *error) {
    lud_arena_mark mark = lud_arena_get_mark(arena);
    const char **names = lud_arena_take_array(arena, (size_t)table->n, sizeof *names);
    if (!names) return lud_out_of_memory(error);
    for (int i = 0; i < table->n; i++) names[i] = table->options[i].key;
    lud_status status = lud_tree_check_keys(mapping, names, table->n, error);
    if (status && mapping->kind == LUD_TREE_MAPPING) tell_section(table, mapping, error);
    lud_arena_release(arena, mark);
    return status;
}

lud_status lud_options_read(const lud_option_table *table, lud_arena *arena, lud_tree *mapping, void *values,
                            lud_error *error) {
    LUD_TRY(lud_options_default(table, arena, values, error));
    if (mapping && mapping->kind == LUD_TREE_NULL) mapping = NULL;
    if (mapping) LUD_TRY(check_keys(table, arena, mapping, error));
    if (mapping) mapping->used = true;
    for (int i = 0; i < table->n; i++) {
        const lud_option *option = &table->options[i];
        lud_tree *node = mapping ? lud_tree_get(mapping, option->key) : NULL;
        if (node && node->kind == LUD_TREE_NULL && may_be_empty(option)) node = NULL;
        if (lud_option_is_auto(option, node)) node = NULL;
        if (!node && option->type == LUD_OPTION_SECTION) /* its required keys are missed all the same */
            LUD_TRY(lud_options_read(option->section, arena, NULL, (char *)values + option->offset, error));
        else if (!node && is_required(option))
            return lud_invalid_at(error, mapping ? mapping->place : (lud_place){0},
                                  "expected the key '%s' in '%s' (%s), found none", option->key, table->name,
                                  option->help);
        else if (node)
            LUD_TRY(read_option(option, arena, node, (char *)values + option->offset, error));
    }
    return LUD_OK;
}

static bool write_list(const lud_option *option, lud_arena *arena, const void *field, lud_tree *out) {
    lud_tree *list = lud_tree_add_sequence(arena, out, option->key);
    bool ok = list != NULL;
    if (option->type == LUD_OPTION_INTS) {
        const lud_int_list *values = field;
        for (size_t i = 0; ok && i < values->n; i++)
            ok = lud_tree_add_int(arena, list, NULL, values->items[i]);
    } else if (option->type == LUD_OPTION_REALS) {
        const lud_real_list *values = field;
        for (size_t i = 0; ok && i < values->n; i++)
            ok = lud_tree_add_real(arena, list, NULL, values->items[i]);
    } else {
        const lud_text_list *values = field;
        for (size_t i = 0; ok && i < values->n; i++)
            ok = lud_tree_add_text(arena, list, NULL, values->items[i]);
    }
    return ok;
}

static bool write_option(const lud_option *option, lud_arena *arena, const void *field, lud_tree *out,
                         lud_error *error) {
    switch (option->type) {
    case LUD_OPTION_BOOL:
        return lud_tree_add_bool(arena, out, option->key, *(const bool *)field);
    case LUD_OPTION_INT:
        return lud_tree_add_int(arena, out, option->key, *(const int64_t *)field);
    case LUD_OPTION_REAL:
    case LUD_OPTION_MEMORY:
        return lud_tree_add_real(arena, out, option->key, *(const double *)field);
    case LUD_OPTION_CHOICE:
        return lud_tree_add_text(arena, out, option->key, option->choices[*(const int *)field]);
    case LUD_OPTION_TEXT: {
        const char *text = *(const char *const *)field;
        return !text || lud_tree_add_text(arena, out, option->key, text);
    }
    case LUD_OPTION_INTS:
    case LUD_OPTION_REALS:
    case LUD_OPTION_TEXTS:
        return write_list(option, arena, field, out);
    case LUD_OPTION_SECTION: {
        lud_tree *section = lud_tree_add_mapping(arena, out, option->key);
        return section && !lud_options_write(option->section, arena, field, section, error);
    }
    case LUD_OPTION_TREE: {
        const lud_tree *tree = *(lud_tree *const *)field;
        return !tree || lud_tree_add_copy(arena, out, option->key, tree);
    }
    }
    return false;
}

lud_status lud_options_write(const lud_option_table *table, lud_arena *arena, const void *values,
                             lud_tree *out, lud_error *error) {
    for (int i = 0; i < table->n; i++)
        if (!write_option(&table->options[i], arena, (const char *)values + table->options[i].offset, out,
                          error))
            return lud_out_of_memory(error);
    return LUD_OK;
}

/* ---- what is named ---- */

static lud_status named_in_policy(lud_tree *node,
                                  lud_status (*found)(void *context, lud_option_names names, lud_tree *text,
                                                      lud_error *error),
                                  void *context, lud_error *error) {
    for (lud_tree *c = node->child; c; c = c->next) {
        const bool file = c->key && strcmp(c->key, "file") == 0, run = c->key && strcmp(c->key, "run") == 0;
        if (c->kind != LUD_TREE_SCALAR)
            LUD_TRY(named_in_policy(c, found, context, error));
        else if (file || run)
            LUD_TRY(found(context, file ? LUD_NAMES_FILE : LUD_NAMES_RUN, c, error));
    }
    return LUD_OK;
}

lud_status lud_options_named(const lud_option_table *table, lud_tree *mapping,
                             lud_status (*found)(void *context, lud_option_names names, lud_tree *text,
                                                 lud_error *error),
                             void *context, lud_error *error) {
    for (int i = 0; i < table->n; i++) {
        const lud_option *option = &table->options[i];
        lud_tree *node = lud_tree_find(mapping, option->key);
        if (!node) continue;
        if (option->type == LUD_OPTION_SECTION)
            LUD_TRY(lud_options_named(option->section, node, found, context, error));
        else if (option->names == LUD_NAMES_POLICY && node->kind != LUD_TREE_SCALAR)
            LUD_TRY(named_in_policy(node, found, context, error));
        else if (option->names && node->kind == LUD_TREE_SCALAR)
            LUD_TRY(found(context, option->names, node, error));
        else if (option->names && node->kind == LUD_TREE_SEQUENCE)
            for (lud_tree *c = node->child; c; c = c->next) LUD_TRY(found(context, option->names, c, error));
    }
    return LUD_OK;
}

/* ---- help ---- */

static void print_type(const lud_option *option, FILE *out) {
    static const char *const names[] = {[LUD_OPTION_BOOL] = "true or false",
                                        [LUD_OPTION_INT] = "integer",
                                        [LUD_OPTION_REAL] = "number",
                                        [LUD_OPTION_MEMORY] = "memory in GiB, or with K, M, G or T,",
                                        [LUD_OPTION_CHOICE] = "",
                                        [LUD_OPTION_TEXT] = "text",
                                        [LUD_OPTION_INTS] = "list of integers",
                                        [LUD_OPTION_REALS] = "list of numbers",
                                        [LUD_OPTION_TEXTS] = "list of texts",
                                        [LUD_OPTION_SECTION] = "section",
                                        [LUD_OPTION_TREE] = "see the text"};
    fputs(names[option->type], out);
    if (option->type == LUD_OPTION_CHOICE)
        for (int i = 0; option->choices[i]; i++) fprintf(out, "%s%s", i ? ", " : "", option->choices[i]);
    bool ranged = option->type == LUD_OPTION_INT || option->type == LUD_OPTION_REAL ||
                  option->type == LUD_OPTION_MEMORY || option->type == LUD_OPTION_INTS ||
                  option->type == LUD_OPTION_REALS;
    if (!ranged) return;
    bool below = option->minimum > -9.2e18, above = option->maximum < 9.2e18;
    if (below && above)
        fprintf(out, " from %.10g to %.10g", option->minimum, option->maximum);
    else if (below)
        fprintf(out, " of at least %.10g", option->minimum);
    else if (above)
        fprintf(out, " of at most %.10g", option->maximum);
}

static void print_help(const lud_option_table *table, int indent, FILE *out) {
    int width = 0;
    for (int i = 0; i < table->n; i++) {
        int length = (int)strlen(table->options[i].key);
        if (length > width) width = length;
    }
    for (int i = 0; i < table->n; i++) {
        const lud_option *option = &table->options[i];
        fprintf(out, "%*s%-*s  %s", indent, "", width, option->key, option->help);
        if (option->unit) fprintf(out, " [%s]", option->unit);
        fputs(" (", out);
        print_type(option, out);
        if (option->automatic)
            fprintf(out, "; default auto [%s]", option->default_value);
        else if (option->default_value)
            fprintf(out, "; default %s", *option->default_value ? option->default_value : "\"\"");
        else if (is_required(option))
            fputs("; required", out);
        fputs(")\n", out);
        if (option->type == LUD_OPTION_SECTION) print_help(option->section, indent + 4, out);
    }
}

bool lud_option_place(const lud_option_table *table, const char *section, const char *key, char *place,
                      size_t size) {
    for (int i = 0; i < table->n; i++)
        if (strcmp(table->options[i].key, key) == 0) return snprintf(place, size, "%s.%s", section, key) > 0;
    for (int i = 0; i < table->n; i++) {
        const lud_option *option = &table->options[i];
        char nested[128];
        snprintf(nested, sizeof nested, "%s.%s", section, option->key);
        if (option->section && lud_option_place(option->section, nested, key, place, size)) return true;
    }
    return false;
}

void lud_options_help(const lud_option_table *table, FILE *out) {
    fprintf(out, "%s: %s\n", table->name, table->help);
    print_help(table, 2, out);
}

static void print_markdown(const lud_option_table *table, const char *prefix, FILE *out) {
    for (int i = 0; i < table->n; i++) {
        const lud_option *option = &table->options[i];
        fprintf(out, "| `%s%s` | ", prefix, option->key);
        print_type(option, out);
        if (option->automatic)
            fprintf(out, " | `auto` [%s] | ", option->default_value);
        else if (option->default_value)
            fprintf(out, " | `%s` | ", *option->default_value ? option->default_value : "\"\"");
        else
            fputs(is_required(option) ? " | required | " : " | | ", out);
        fputs(option->help, out);
        if (option->unit) fprintf(out, " [%s]", option->unit);
        fputs(" |\n", out);
        if (option->type == LUD_OPTION_SECTION) {
            char longer[256];
            snprintf(longer, sizeof longer, "%s%s.", prefix, option->key);
            print_markdown(option->section, longer, out);
        }
    }
}

void lud_options_markdown(const lud_option_table *table, FILE *out) {
    fprintf(out, "| key | type | default | meaning |\n|---|---|---|---|\n");
    print_markdown(table, "", out);
}
