#include "base/options/tree.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/options/yaml.h"
#include "base/text.h"

lud_tree *lud_tree_find(const lud_tree *mapping, const char *key) {
    if (mapping->kind != LUD_TREE_MAPPING) return NULL;
    for (lud_tree *c = mapping->child; c; c = c->next)
        if (!strcmp(c->key, key)) return c;
    return NULL;
}

static void append(lud_tree *parent, lud_tree *child) {
    lud_tree **link = &parent->child;
    while (*link) link = &(*link)->next;
    *link = child;
    parent->n_children++;
}

static void remove_child(lud_tree *parent, const lud_tree *child) {
    lud_tree **link = &parent->child;
    while (*link != child) link = &(*link)->next;
    *link = child->next;
    parent->n_children--;
}

/* Puts `child` where `old` stands. */
static void replace_child(lud_tree *parent, const lud_tree *old, lud_tree *child) {
    lud_tree **link = &parent->child;
    while (*link != old) link = &(*link)->next;
    child->next = old->next;
    *link = child;
}

/* ---- reading ---- */

typedef struct including {
    const char *path; /* resolved, so that a cycle is seen however it is spelled */
    const struct including *by;
    int depth;
} including;

void lud_tree_merge(lud_tree *base, const lud_tree *over) {
    base->place = over->place;
    base->key_place = over->key_place;
    for (lud_tree *c = over->child, *next; c; c = next) {
        next = c->next;
        c->next = NULL;
        lud_tree *old = lud_tree_find(base, c->key);
        if (old && old->kind == LUD_TREE_MAPPING && c->kind == LUD_TREE_MAPPING)
            lud_tree_merge(old, c);
        else if (old)
            replace_child(base, old, c);
        else
            append(base, c);
    }
}

/* What is read in the place of a file. */
typedef struct file_text {
    const char *text;
    size_t length;
} file_text;

static lud_status read_with_includes(lud_arena *arena, const char *path, const file_text *instead,
                                     const including *by, lud_tree_files *files, lud_tree **root,
                                     lud_error *error);

static lud_status include_one(lud_arena *arena, const lud_tree *name, const including *by,
                              lud_tree_files *files, lud_tree **merged, lud_error *error) {
    if (name->kind != LUD_TREE_SCALAR) return lud_tree_expected(name, error, "the path of a file");
    if (by->depth >= LUD_TREE_MAX_INCLUDES)
        return lud_invalid_at(error, name->place, "expected at most %d files that include each other",
                              (int)LUD_TREE_MAX_INCLUDES);
    char *path = lud_path_beside(arena, name->place.file, name->text);
    if (!path) return lud_out_of_memory(error);
    lud_tree *included;
    lud_status status = read_with_includes(arena, path, NULL, by, files, &included, error);
    if (status)
        return lud_fail_context(error, "%s:%d:%d: include", name->place.file, name->place.line,
                                name->place.column);
    if (included->kind != LUD_TREE_MAPPING)
        return lud_invalid_at(error, name->place, "expected a file of `key: value` lines, found '%.200s'",
                              name->text);
    if (*merged)
        lud_tree_merge(*merged, included);
    else
        *merged = included;
    return LUD_OK;
}

/* Either a file, or the text that is given in its place. */
static lud_status read_with_includes(lud_arena *arena, const char *path, const file_text *instead,
                                     const including *by, lud_tree_files *files, lud_tree **root,
                                     lud_error *error) {
    char *bytes = NULL;
    size_t length = 0;
    if (files->n >= LUD_TREE_MAX_FILES)
        return lud_invalid(error, "%s: expected at most %d included files", path, (int)LUD_TREE_MAX_FILES);
    if (!(files->paths[files->n] = strdup(path))) return lud_out_of_memory(error);
    files->stamps[files->n++] = lud_file_stamp(path);
    if (!instead) LUD_TRY(lud_file_read(arena, path, LUD_TREE_MAX_BYTES, &bytes, &length, error));
    LUD_TRY(lud_yaml_parse(arena, path, instead ? instead->text : bytes, instead ? instead->length : length,
                           false, root, error));
    lud_tree *include = lud_tree_find(*root, "include");
    if (!include) return LUD_OK;

    char *resolved = realpath(path, NULL);
    if (!resolved) return lud_fail(error, LUD_ERROR_IO, "%s: %s", path, strerror(errno));
    including here = {lud_arena_text(arena, resolved, strlen(resolved)), by, by ? by->depth + 1 : 1};
    free(resolved);
    if (!here.path) return lud_out_of_memory(error);
    for (const including *i = by; i; i = i->by)
        if (!strcmp(i->path, here.path))
            return lud_invalid_at(error, include->place,
                                  "expected files that do not include themselves, found '%.200s' again",
                                  path);
    lud_tree *merged = NULL;
    if (include->kind == LUD_TREE_SEQUENCE) {
        if (!include->child)
            return lud_tree_expected(include, error, "the path of a file or a list of paths");
        for (const lud_tree *c = include->child; c; c = c->next)
            LUD_TRY(include_one(arena, c, &here, files, &merged, error));
    } else {
        LUD_TRY(include_one(arena, include, &here, files, &merged, error));
    }
    remove_child(*root, include);
    lud_tree_merge(merged, *root);
    *root = merged;
    return LUD_OK;
}

void lud_tree_files_free(lud_tree_files *files) {
    for (int i = 0; i < files->n; i++) free(files->paths[i]);
    files->n = 0;
}

lud_status lud_tree_read_file(lud_arena *arena, const char *path, lud_tree_files *files, lud_tree **root,
                              lud_error *error) {
    lud_tree_files own = {0};
    *root = NULL;
    lud_status status = read_with_includes(arena, path, NULL, NULL, files ? files : &own, root, error);
    lud_tree_files_free(&own);
    return status;
}

lud_status lud_tree_read_instead(lud_arena *arena, const char *path, const char *text, size_t length,
                                 lud_tree_files *files, lud_tree **root, lud_error *error) {
    lud_tree_files own = {0};
    const file_text instead = {text, length};
    *root = NULL;
    lud_status status = read_with_includes(arena, path, &instead, NULL, files ? files : &own, root, error);
    lud_tree_files_free(&own);
    return status;
}

lud_status lud_tree_read_text(lud_arena *arena, const char *name, const char *text, size_t length,
                              lud_tree **root, lud_error *error) {
    *root = NULL;
    LUD_TRY(lud_yaml_parse(arena, name, text, length, false, root, error));
    const lud_tree *include = lud_tree_find(*root, "include");
    if (include)
        return lud_invalid_at(error, include->key_place,
                              "expected no include in a text that is not a file, found one");
    return LUD_OK;
}

/* ---- assignments ---- */

/* The element of a sequence that a path segment names, or an error. */
static lud_status element(const lud_tree *sequence, const char *segment, const char *name, lud_tree **child,
                          lud_error *error) {
    char *end;
    unsigned long index = isdigit((unsigned char)segment[0]) ? strtoul(segment, &end, 10) : ULONG_MAX;
    if (index == ULONG_MAX || *end || index >= sequence->n_children)
        return lud_invalid(error, "%s: expected an index below %zu, found '%.60s'", name,
                           sequence->n_children, segment);
    *child = sequence->child;
    while (index--) *child = (*child)->next;
    return LUD_OK;
}

/* Puts `value` at `path`, which it takes apart; `name` is what to call the assignment. */
static lud_status assign(lud_arena *arena, lud_tree *root, char *path, const char *name, lud_tree *value,
                         lud_error *error) {
    lud_tree *node = root;
    int depth = 0;
    for (char *segment = path, *dot; segment; segment = dot ? dot + 1 : NULL) {
        dot = strchr(segment, '.');
        if (dot) *dot = 0;
        if (!*segment || ++depth >= LUD_TREE_MAX_DEPTH || strlen(segment) > LUD_TREE_MAX_KEY_BYTES)
            return lud_invalid(error,
                               "%.200s: expected a path such as run.seed, found an empty or too "
                               "long part of a path",
                               name);
        lud_tree *child = NULL;
        if (node->kind == LUD_TREE_SEQUENCE) {
            LUD_TRY(element(node, segment, name, &child, error));
        } else {
            child = lud_tree_find(node, segment);
        }
        bool is_container = child && (child->kind == LUD_TREE_MAPPING || child->kind == LUD_TREE_SEQUENCE);
        if (dot && child && !is_container && child->kind != LUD_TREE_NULL)
            return lud_invalid(error, "%.200s: expected a section to set keys in, found the value '%.60s'",
                               name, child->text);
        if (dot && is_container) {
            node = child;
            continue;
        }
        lud_tree *fresh = value;
        if (dot) {
            fresh = lud_arena_take(arena, sizeof *fresh);
            if (!fresh) return lud_out_of_memory(error);
            fresh->kind = LUD_TREE_MAPPING;
            fresh->place = (lud_place){name, 0, 0};
        }
        fresh->key = node->kind == LUD_TREE_MAPPING ? segment : NULL;
        fresh->key_place = (lud_place){name, 0, 0};
        if (child)
            replace_child(node, child, fresh);
        else
            append(node, fresh);
        node = fresh;
    }
    return LUD_OK;
}

/* A file in which nothing can be set is told of by its own name. */
static lud_status check_root(const lud_tree *root, const char *name, lud_error *error) {
    if (root->kind == LUD_TREE_MAPPING) return LUD_OK;
    lud_tree_expected(root, error, "a file of `key: value` lines");
    return lud_fail_context(error, "%.200s", name);
}

lud_status lud_tree_set_from(lud_arena *arena, lud_tree *root, const char *source, const char *assignment,
                             lud_error *error) {
    const char *equals = strchr(assignment, '=');
    const size_t length = strlen(assignment), size = strlen(source) + length + 2;
    char *name = lud_arena_take(arena, size);
    if (!name) return lud_out_of_memory(error);
    snprintf(name, size, "%s %s", source, assignment);
    if (!equals || equals == assignment || length > 65536)
        return lud_invalid(error, "%.200s: expected key=value, for instance run.seed=3", name);
    char *path = lud_arena_text(arena, assignment, (size_t)(equals - assignment));
    if (!path) return lud_out_of_memory(error);
    lud_tree *value;
    lud_status status = check_root(root, name, error);
    if (!status) status = lud_yaml_parse(arena, name, equals + 1, strlen(equals + 1), true, &value, error);
    return status ? status : assign(arena, root, path, name, value, error);
}

lud_status lud_tree_set(lud_arena *arena, lud_tree *root, const char *assignment, lud_error *error) {
    return lud_tree_set_from(arena, root, "--set", assignment, error);
}

lud_status lud_tree_set_real(lud_arena *arena, lud_tree *root, const char *source, const char *key,
                             double value, lud_error *error) {
    const bool whole = value == rint(value) && fabs(value) < 1e15;
    lud_tree *node = whole ? lud_tree_add_int(arena, NULL, NULL, (int64_t)value)
                           : lud_tree_add_real(arena, NULL, NULL, value);
    lud_text name = {0};
    lud_text_append(&name, "%s %s=%.6g", source, key, value);
    const lud_status status =
        name.failed ? lud_out_of_memory(error) : lud_tree_put(arena, root, key, name.bytes, node, error);
    lud_text_free(&name);
    return status;
}

lud_status lud_tree_set_value(lud_arena *arena, lud_tree *root, const char *source, const char *key,
                              const char *text, bool words, lud_error *error) {
    lud_tree *value = words ? lud_tree_add_text(arena, NULL, NULL, text) : NULL;
    if (!words) LUD_TRY(lud_yaml_parse(arena, source, text, strlen(text), true, &value, error));
    return lud_tree_put(arena, root, key, source, value, error);
}

lud_status lud_tree_put(lud_arena *arena, lud_tree *root, const char *key, const char *source,
                        lud_tree *value, lud_error *error) {
    char *path = lud_arena_text(arena, key, strlen(key)),
         *name = lud_arena_text(arena, source, strlen(source));
    if (!path || !name || !value) return lud_out_of_memory(error);
    LUD_TRY(check_root(root, name, error));
    if (!value->place.file) value->place = (lud_place){name, 0, 0};
    return assign(arena, root, path, name, value, error);
}

/* ---- access ---- */

lud_tree *lud_tree_get(lud_tree *mapping, const char *key) {
    lud_tree *node = lud_tree_find(mapping, key);
    if (node) node->used = true;
    return node;
}

/* What stands at a node, in at most `size` bytes, with nothing in it that could disturb a terminal. */
static void found(const lud_tree *node, char *text, size_t size) {
    switch (node->kind) {
    case LUD_TREE_NULL:
        snprintf(text, size, "nothing");
        return;
    case LUD_TREE_SEQUENCE:
        snprintf(text, size, "a list of %zu", node->n_children);
        return;
    case LUD_TREE_MAPPING:
        snprintf(text, size, "a section of %zu keys", node->n_children);
        return;
    case LUD_TREE_SCALAR:
        break;
    }
    size_t shown = strcspn(node->text, "\n");
    bool cut = shown < node->text_length || shown > 60;
    if (shown > 60) shown = 60;
    while (shown && cut && ((unsigned char)node->text[shown] & 0xc0) == 0x80) shown--; /* whole characters */
    const char *quote = node->quoted ? "\"" : "'";
    snprintf(text, size, "%s%.*s%s%s", quote, (int)shown, node->text, cut ? "..." : "", quote);
    lud_text_tame(text);
}

lud_status lud_tree_expected(const lud_tree *node, lud_error *error, const char *what, ...) {
    char expected[400], text[128];
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(expected, sizeof expected, what, arguments);
    va_end(arguments);
    found(node, text, sizeof text);
    const char *file = node->place.file; /* a flag that is called as the key says it already */
    const bool said = node->key && file && !strncmp(file, "--", 2) && !strcmp(file + 2, node->key);
    const bool tell = node->key && !said;
    return lud_invalid_at(error, node->place, "%.60s%sexpected %s, found %s", tell ? node->key : "",
                          tell ? ": " : "", expected, text);
}

static int parse_int(const char *text, int64_t *value) {
    const char *end;
    const int known = lud_number_integer(text, &end, value);
    return *end ? 0 : known;
}

static bool parse_real(const char *text, double *value) {
    const char *c = text + (*text == '-' || *text == '+'), *end;
    if (!strcmp(c, ".inf") || !strcmp(c, ".Inf") || !strcmp(c, ".INF")) {
        *value = *text == '-' ? -HUGE_VAL : HUGE_VAL;
        return true;
    }
    if (!strcmp(text, ".nan") || !strcmp(text, ".NaN") || !strcmp(text, ".NAN")) {
        *value = (double)NAN;
        return true;
    }
    return lud_number_real(text, &end, value) && !*end;
}

lud_status lud_tree_int(lud_tree *node, int64_t minimum, int64_t maximum, int64_t *value, lud_error *error) {
    node->used = true;
    int64_t read = 0;
    int known = node->kind == LUD_TREE_SCALAR && !node->quoted ? parse_int(node->text, &read) : 0;
    if (known > 0 && read >= minimum && read <= maximum) {
        *value = read;
        return LUD_OK;
    }
    if (minimum == INT64_MIN && maximum == INT64_MAX) return lud_tree_expected(node, error, "an integer");
    if (maximum == INT64_MAX)
        return lud_tree_expected(node, error, "an integer of at least %lld", (long long)minimum);
    return lud_tree_expected(node, error, "an integer from %lld to %lld", (long long)minimum,
                             (long long)maximum);
}

lud_status lud_tree_memory(lud_tree *node, double minimum, double maximum, double *gibibytes,
                           lud_error *error) {
    node->used = true;
    double read;
    const char *end;
    if (node->kind == LUD_TREE_SCALAR && !node->quoted && lud_number_memory(node->text, &end, &read) &&
        !*end && read >= minimum && read <= maximum) {
        *gibibytes = read;
        return LUD_OK;
    }
    return lud_tree_expected(
        node, error, "memory in GiB, or with its unit (0.5, 512M, 8G), from %g to %g GiB", minimum, maximum);
}

lud_status lud_tree_real(lud_tree *node, double minimum, double maximum, double *value, lud_error *error) {
    node->used = true;
    double read;
    if (node->kind == LUD_TREE_SCALAR && !node->quoted && parse_real(node->text, &read) && read >= minimum &&
        read <= maximum) { /* not a number is outside every range */
        *value = read;
        return LUD_OK;
    }
    if (minimum == -HUGE_VAL && maximum == HUGE_VAL) return lud_tree_expected(node, error, "a number");
    if (maximum == HUGE_VAL) return lud_tree_expected(node, error, "a number of at least %g", minimum);
    if (minimum == -HUGE_VAL) return lud_tree_expected(node, error, "a number of at most %g", maximum);
    return lud_tree_expected(node, error, "a number from %g to %g", minimum, maximum);
}

lud_status lud_tree_check_file(const lud_tree *node, const char *path, lud_error *error) {
    const int descriptor = lud_file_descriptor(path);
    if (descriptor >= 0) {
        close(descriptor);
        return LUD_OK;
    }
    const int reason = errno;
    return lud_invalid_at(
        error, node ? node->place : (lud_place){0}, "%s%sexpected a file that can be read, found %s: %s",
        node && node->key ? node->key : "", node && node->key ? ": " : "", path, strerror(reason));
}

lud_status lud_tree_bool(lud_tree *node, bool *value, lud_error *error) {
    node->used = true;
    if (node->kind == LUD_TREE_SCALAR && !node->quoted) {
        const char *t = node->text;
        if (!strcmp(t, "true") || !strcmp(t, "True") || !strcmp(t, "TRUE")) {
            *value = true;
            return LUD_OK;
        }
        if (!strcmp(t, "false") || !strcmp(t, "False") || !strcmp(t, "FALSE")) {
            *value = false;
            return LUD_OK;
        }
    }
    return lud_tree_expected(node, error, "true or false");
}

lud_status lud_tree_text(lud_tree *node, const char **value, lud_error *error) {
    node->used = true;
    if (node->kind != LUD_TREE_SCALAR) return lud_tree_expected(node, error, "text");
    *value = node->text;
    return LUD_OK;
}

/* `a, b or c` of the names, cut where it grows too long to be read. */
static void list_names(const char *const *names, int n, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < n; i++) {
        const char *between = i == 0 ? "" : i + 1 == n ? " or " : ", ";
        if (used + strlen(between) + strlen(names[i]) + 5 > size) {
            snprintf(text + used, size - used, " ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", between, names[i]);
    }
}

static void add_hint(lud_error *error, const char *word, const char *const *names, int n) {
    const char *nearest = lud_nearest_name(word, names, n);
    size_t used = error ? strlen(error->text) : 0;
    if (error && nearest)
        snprintf(error->text + used, sizeof error->text - used, "; did you mean '%s'?", nearest);
}

lud_status lud_tree_choice(lud_tree *node, const char *const *names, int n, int *index, lud_error *error) {
    node->used = true;
    if (node->kind == LUD_TREE_SCALAR)
        for (int i = 0; i < n; i++)
            if (!strcmp(node->text, names[i])) {
                *index = i;
                return LUD_OK;
            }
    char list[300];
    list_names(names, n, list, sizeof list);
    lud_tree_expected(node, error, "%s", list);
    if (node->kind == LUD_TREE_SCALAR) add_hint(error, node->text, names, n);
    return LUD_ERROR_INPUT;
}

lud_status lud_tree_check_keys(const lud_tree *mapping, const char *const *names, int n, lud_error *error) {
    if (mapping->kind != LUD_TREE_MAPPING)
        return lud_tree_expected(mapping, error, "a section of `key: value` lines");
    for (const lud_tree *c = mapping->child; c; c = c->next) {
        bool known = false;
        for (int i = 0; i < n && !known; i++) known = !strcmp(c->key, names[i]);
        if (known) continue;
        char list[300], key[64];
        list_names(names, n, list, sizeof list);
        snprintf(key, sizeof key, "%.60s", c->key);
        lud_text_tame(key);
        lud_invalid_at(error, c->key_place, "expected %s%s%s%.60s%s, found '%s'", n ? list : "no keys",
                       n ? " as key" : "", mapping->key ? " in '" : "", mapping->key ? mapping->key : "",
                       mapping->key ? "'" : "", key);
        add_hint(error, c->key, names, n);
        return LUD_ERROR_INPUT;
    }
    return LUD_OK;
}

/* ---- building and writing ---- */

static lud_tree *add(lud_arena *arena, lud_tree *parent, const char *key, lud_tree_kind kind) {
    assert(!parent || parent->kind == (key ? LUD_TREE_MAPPING : LUD_TREE_SEQUENCE));
    lud_tree *node = lud_arena_take(arena, sizeof *node);
    if (!node) return NULL;
    node->kind = kind;
    if (key && !(node->key = lud_arena_text(arena, key, strlen(key)))) return NULL;
    if (parent) append(parent, node);
    return node;
}

static lud_tree *add_scalar(lud_arena *arena, lud_tree *parent, const char *key, const char *text,
                            bool quoted) {
    size_t length = strlen(text);
    char *copy = lud_arena_text(arena, text, length);
    lud_tree *node = copy ? add(arena, parent, key, LUD_TREE_SCALAR) : NULL;
    if (!node) return NULL;
    node->text = copy;
    node->text_length = length;
    node->quoted = quoted;
    return node;
}

lud_tree *lud_tree_add_mapping(lud_arena *arena, lud_tree *parent, const char *key) {
    return add(arena, parent, key, LUD_TREE_MAPPING);
}

lud_tree *lud_tree_add_sequence(lud_arena *arena, lud_tree *parent, const char *key) {
    return add(arena, parent, key, LUD_TREE_SEQUENCE);
}

lud_tree *lud_tree_add_text(lud_arena *arena, lud_tree *parent, const char *key, const char *text) {
    double number;
    static const char *const words[] = {"~",    "null", "Null",  "NULL",  "true",
                                        "True", "TRUE", "false", "False", "FALSE"};
    bool quoted = !lud_yaml_is_plain(text, strlen(text)) || parse_real(text, &number);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) quoted |= !strcmp(text, words[i]);
    return add_scalar(arena, parent, key, text, quoted);
}

lud_tree *lud_tree_add_int(lud_arena *arena, lud_tree *parent, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return add_scalar(arena, parent, key, text, false);
}

lud_tree *lud_tree_add_real(lud_arena *arena, lud_tree *parent, const char *key, double value) {
    char text[LUD_NUMBER_BYTES];
    if (isnan(value)) return add_scalar(arena, parent, key, ".nan", false);
    if (isinf(value)) return add_scalar(arena, parent, key, value < 0 ? "-.inf" : ".inf", false);
    lud_number_write(value, text);
    return add_scalar(arena, parent, key, text, false);
}

lud_tree *lud_tree_add_bool(lud_arena *arena, lud_tree *parent, const char *key, bool value) {
    return add_scalar(arena, parent, key, value ? "true" : "false", false);
}

lud_tree *lud_tree_add_copy(lud_arena *arena, lud_tree *parent, const char *key, const lud_tree *node) {
    lud_tree *copy = add(arena, parent, key, node->kind);
    if (!copy) return NULL;
    copy->quoted = node->quoted;
    copy->place = node->place;
    copy->key_place = node->key_place;
    if (node->kind == LUD_TREE_SCALAR) {
        copy->text = lud_arena_text(arena, node->text, node->text_length);
        copy->text_length = node->text_length;
        if (!copy->text) return NULL;
    }
    lud_tree **link = &copy->child; /* not `append`: long lists are copied in linear time */
    for (const lud_tree *c = node->child; c; c = c->next) {
        lud_tree holder = {.kind = copy->kind};
        if (!lud_tree_add_copy(arena, &holder, c->key, c)) return NULL;
        *link = holder.child;
        link = &(*link)->next;
        copy->n_children++;
    }
    return copy;
}

lud_status lud_tree_write(lud_arena *arena, const lud_tree *root, char **text, size_t *length,
                          lud_error *error) {
    lud_text out = {0};
    lud_yaml_print(root, &out);
    *text = out.failed ? NULL : lud_arena_text(arena, out.bytes ? out.bytes : "", out.length);
    *length = out.length;
    lud_text_free(&out);
    return *text ? LUD_OK : lud_out_of_memory(error);
}
