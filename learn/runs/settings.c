#include "learn/runs/settings.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xxhash.h>

#include "base/file.h"
#include "learn/runs/parameters.h"

/* Of a file, this much counts, and its length: data sets may be large, and are looked at whenever a RUN is
 * opened. */
enum { BYTES_OF_A_FILE = 16 << 20, MOST_SHOWN = 60 };

/* Of what is here no result depends. */
static bool is_of_no_account(const char *path) {
    static const char *const keys[] = {"name", "about", "view", "run.threads", "run.episodes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t n = strlen(keys[i]);
        if (strncmp(path, keys[i], n) == 0 && (path[n] == 0 || path[n] == '.')) return true;
    }
    return false;
}

/* ---- walking through a configuration ---- */

/* What is done with every scalar and every empty list or mapping. */
typedef void visit_leaf(void *context, const char *path, const lud_tree *leaf);

static void walk(const lud_tree *node, lud_text *path, visit_leaf *visit, void *context) {
    if (!node->child) {
        visit(context, path->bytes ? path->bytes : "", node);
        return;
    }
    int index = 0;
    for (const lud_tree *c = node->child; c; c = c->next, index++) {
        const size_t before = path->length;
        if (c->key)
            lud_text_append(path, "%s%s", before ? "." : "", c->key);
        else
            lud_text_append(path, "%s%d", before ? "." : "", index);
        if (path->failed) return;
        walk(c, path, visit, context);
        path->length = before;
        path->bytes[before] = 0;
    }
}

static const char *text_of(const lud_tree *leaf) {
    return leaf->kind == LUD_TREE_SCALAR     ? leaf->text
           : leaf->kind == LUD_TREE_SEQUENCE ? "[]"
           : leaf->kind == LUD_TREE_MAPPING  ? "{}"
                                             : "null";
}

/* ---- keys ---- */

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static lud_status add_file(XXH3_state_t *state, const char *path, const struct stat *info, lud_error *error) {
    const uint64_t bytes = (uint64_t)info->st_size;
    FILE *stream = lud_file_stream(path);
    char *buffer = stream ? malloc(BYTES_OF_A_FILE) : NULL;
    const size_t n = buffer ? fread(buffer, 1, BYTES_OF_A_FILE, stream) : 0;
    const bool read = buffer && !ferror(stream);
    if (read) {
        XXH3_64bits_update(state, &bytes, sizeof bytes);
        XXH3_64bits_update(state, buffer, n);
    }
    free(buffer);
    if (stream) fclose(stream);
    return read ? LUD_OK : lud_fail(error, LUD_ERROR_IO, "%s: cannot be read", path);
}

/* All that lies in a folder and its folders, with its names. */
static lud_status add_folder(XXH3_state_t *state, const char *folder, lud_error *error) {
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, by_name);
    lud_status status = LUD_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        lud_text path = {0};
        struct stat info;
        lud_text_append(&path, "%s/%s", folder, name);
        if (!status && path.failed) status = lud_no_memory(error, "a path");
        if (!status && name[0] != '.' && stat(path.bytes, &info) == 0) {
            XXH3_64bits_update(state, name, strlen(name) + 1);
            status = S_ISDIR(info.st_mode) ? add_folder(state, path.bytes, error)
                                           : add_file(state, path.bytes, &info, error);
        }
        lud_text_free(&path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

typedef struct keying {
    XXH3_state_t *state;
    const char *folder;
    lud_status status;
    lud_error *error;
} keying;

/* A setting, and what it names in RUN/files. */
static void add_leaf(void *context, const char *path, const lud_tree *leaf) {
    keying *k = context;
    const char *text = text_of(leaf);
    if (k->status || is_of_no_account(path)) return;
    XXH3_64bits_update(k->state, path, strlen(path) + 1);
    XXH3_64bits_update(k->state, text, strlen(text) + 1);
    if (strncmp(text, "files/", 6) != 0 || strstr(text, "..")) return;
    lud_text named = {0};
    struct stat info;
    lud_text_append(&named, "%s/%s", k->folder, text);
    if (named.failed)
        k->status = lud_no_memory(k->error, "a path");
    else if (stat(named.bytes, &info) == 0)
        k->status = S_ISDIR(info.st_mode) ? add_folder(k->state, named.bytes, k->error)
                                          : add_file(k->state, named.bytes, &info, k->error);
    lud_text_free(&named);
}

lud_status lud_settings_key(const char *folder, const char *configuration, char key[LUD_KEY_BYTES],
                            lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    keying k = {XXH3_createState(), folder, LUD_OK, error};
    lud_text path = {0};
    lud_tree *root = NULL;
    if (!arena || !k.state) k.status = lud_no_memory(error, "a run's settings");
    if (!k.status)
        k.status =
            lud_tree_read_text(arena, "configuration", configuration, strlen(configuration), &root, error);
    if (!k.status) {
        XXH3_64bits_reset(k.state);
        walk(root, &path, add_leaf, &k);
        if (!k.status && path.failed) k.status = lud_no_memory(error, "a run's settings");
    }
    if (!k.status) snprintf(key, LUD_KEY_BYTES, "%016" PRIx64, XXH3_64bits_digest(k.state));
    lud_text_free(&path);
    XXH3_freeState(k.state);
    lud_arena_destroy(arena);
    return k.status;
}

/* ---- scenario.yaml ---- */

static lud_status read_text(const char *folder, lud_settings *settings, lud_error *error) {
    *settings = (lud_settings){.arena = lud_arena_create(0)};
    lud_text path = {0};
    char *text = NULL;
    size_t length = 0, top = 0;
    lud_text_append(&path, "%s/scenario.yaml", folder);
    lud_status status = settings->arena && !path.failed ? LUD_OK : lud_no_memory(error, "a run's settings");
    if (!status)
        status = lud_file_read(settings->arena, path.bytes, LUD_TREE_MAX_BYTES, &text, &length, error);
    lud_text_free(&path);
    if (status) return status;
    while (text[top] == '#') {
        top += strcspn(text + top, "\n");
        top += text[top] == '\n';
    }
    settings->text = text + top;
    settings->comments = lud_arena_text(settings->arena, text, top);
    return settings->comments ? LUD_OK : lud_no_memory(error, "a run's settings");
}

lud_status lud_settings_read(const char *folder, lud_settings *settings, lud_error *error) {
    LUD_TRY(read_text(folder, settings, error));
    return lud_settings_key(folder, settings->text, settings->key, error);
}

lud_status lud_settings_find_text(const char *folder, lud_settings *settings, bool *there, lud_error *error) {
    *settings = (lud_settings){0};
    LUD_TRY(lud_run_holds(folder, "scenario.yaml", there, error));
    return *there ? read_text(folder, settings, error) : LUD_OK;
}

lud_status lud_settings_find(const char *folder, lud_settings *settings, bool *there, lud_error *error) {
    LUD_TRY(lud_settings_find_text(folder, settings, there, error));
    return *there ? lud_settings_key(folder, settings->text, settings->key, error) : LUD_OK;
}

void lud_settings_free(lud_settings *settings) {
    lud_arena_destroy(settings->arena);
    *settings = (lud_settings){0};
}

bool lud_settings_made(const lud_settings *settings, const char *key) {
    if (strcmp(settings->key, key) == 0) return true;
    return strlen(key) == LUD_KEY_BYTES - 1 && strstr(settings->comments, key);
}

/* ---- differences ---- */

/* The leaves of one side by path. */
typedef struct leaves {
    lud_arena *arena;
    struct {
        const char *path, *text;
    } * items;
    size_t n, capacity;
    bool failed;
} leaves;

static void keep_leaf(void *context, const char *path, const lud_tree *leaf) {
    leaves *l = context;
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 256;
        void *grown = realloc(l->items, l->capacity * sizeof *l->items);
        if (!grown) {
            l->failed = true;
            l->capacity = l->n;
            return;
        }
        l->items = grown;
    }
    const char *kept = lud_arena_text(l->arena, path, strlen(path));
    l->failed = l->failed || !kept;
    l->items[l->n].path = kept;
    l->items[l->n++].text = text_of(leaf);
}

static lud_status find_leaves(lud_arena *arena, const char *name, const char *text, leaves *l,
                              lud_error *error) {
    lud_tree *root = NULL;
    lud_text path = {0};
    *l = (leaves){.arena = arena};
    LUD_TRY(lud_tree_read_text(arena, name, text, strlen(text), &root, error));
    walk(root, &path, keep_leaf, l);
    const bool failed = path.failed || l->failed;
    lud_text_free(&path);
    return failed ? lud_no_memory(error, "a run's settings") : LUD_OK;
}

/* Two configurations are mostly alike: what stands `near` is looked at first. */
static const char *value_of(const leaves *l, const char *path, size_t near) {
    for (size_t k = 0; k < l->n; k++) {
        const size_t i = (near + k) % l->n;
        if (strcmp(l->items[i].path, path) == 0) return l->items[i].text;
    }
    return NULL;
}

/* A value on one line. */
static void append_value(lud_text *out, const char *value) {
    char shown[MOST_SHOWN + 1];
    if (!value) {
        lud_text_append(out, "nothing");
        return;
    }
    snprintf(shown, sizeof shown, "%s", value);
    lud_text_tame(shown);
    lud_text_append(out, "%s%s", shown, strlen(value) > MOST_SHOWN ? "..." : "");
}

/* What is compared, and what is said of it. */
typedef struct comparison {
    const leaves *plain; /* null: none */
    const char *where;
    int most;
    bool (*skip)(const void *context, const char *path);
    const void *context;
    lud_text *out;
    int n;
} comparison;

static bool same_value(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether a path is that of a copy in RUN/files of what another names: runs of before named the files
 * themselves. */
static bool is_copy(const char *was, const char *is) {
    if (!was || !is || strncmp(is, "files/", 6) != 0) return false;
    const size_t n = strlen(was), copied = strlen(is + 5);
    return n >= copied && strcmp(was + n - copied, is + 5) == 0;
}

/* Settings of `now` that were otherwise `before`; with `gone` those that are not there any more. */
static void compare(const leaves *before, const leaves *now, bool gone, comparison *c) {
    const leaves *from = gone ? before : now;
    for (size_t i = 0; i < from->n; i++) {
        const char *path = from->items[i].path, *was = value_of(before, path, i),
                   *is = value_of(now, path, i);
        if (same_value(was, is) || is_copy(was, is) || (gone && is) || is_of_no_account(path)) continue;
        if ((c->skip && c->skip(c->context, path)) ||
            (c->plain && !same_value(value_of(c->plain, path, i), is)))
            continue;
        if (c->n++ >= c->most) continue;
        lud_text_append(c->out, "%s%s: ", c->out->length ? "; " : "", path);
        append_value(c->out, was);
        lud_text_append(c->out, " in %s, ", c->where);
        append_value(c->out, is);
        lud_text_append(c->out, " now");
    }
}

lud_status lud_settings_differences(const char *old_text, const char *new_text, const char *plain_text,
                                    const char *where, int most,
                                    bool (*skip)(const void *context, const char *path), const void *context,
                                    lud_text *out, int *n, lud_error *error) {
    *n = 0;
    if (strcmp(old_text, new_text) == 0) return LUD_OK;
    lud_arena *arena = lud_arena_create(0);
    leaves before = {0}, now = {0}, plain = {0};
    lud_status status = arena ? find_leaves(arena, where, old_text, &before, error)
                              : lud_no_memory(error, "a run's settings");
    if (!status) status = find_leaves(arena, "the scenario", new_text, &now, error);
    if (!status && plain_text) status = find_leaves(arena, "the scenario", plain_text, &plain, error);
    comparison c = {plain_text ? &plain : NULL, where, most, skip, context, out, 0};
    if (!status) {
        compare(&before, &now, false, &c);
        compare(&before, &now, true, &c);
    }
    *n = c.n;
    LUD_FREE(before.items, now.items, plain.items);
    lud_arena_destroy(arena);
    return status ? status : out->failed ? lud_no_memory(error, "a run's settings") : LUD_OK;
}
