#include "learn/runs/carried.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "learn/runs/parameters.h"

/* Of a RUN that another one names: what acts, what it was made from, and what it names itself. */
static const char *const parts_of_run[] = {"scenario.yaml", "policy.safetensors", "solution.empo", "files"};
/* In place of the second where it is missing. */
static const char whole[] = "checkpoint.safetensors";

/* ---- finding ---- */

typedef struct plan {
    lud_carried *carried;
    const char *base;   /* the scenario's path */
    const char *folder; /* RUN/files without links; null: nothing lies there yet */
} plan;

static bool is_run(const char *path) {
    bool there = false;
    return !lud_run_holds(path, "scenario.yaml", &there, NULL) && there;
}

/* Whether two files hold the same. */
static bool same_file(const char *a, const char *b) {
    enum { BLOCK = 1 << 16 };
    FILE *x = lud_file_stream(a), *y = lud_file_stream(b);
    char *p = malloc(2 * BLOCK);
    bool same = x && y && p;
    for (size_t n = BLOCK; same && n == BLOCK;) {
        n = fread(p, 1, BLOCK, x);
        same = fread(p + BLOCK, 1, BLOCK, y) == n && memcmp(p, p + BLOCK, n) == 0;
    }
    if (x) fclose(x);
    if (y) fclose(y);
    free(p);
    return same;
}

/* Whether `copy` has what a copy of `from` would have. */
static bool same_item(const char *from, const char *copy) {
    if (!lud_folder_exists(from)) return !lud_folder_exists(copy) && same_file(from, copy);
    if (!lud_folder_exists(copy)) return false;
    bool same = true;
    DIR *directory = opendir(copy);
    for (struct dirent *entry; directory && same && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        lud_text a = {0}, b = {0};
        lud_text_append(&a, "%s/%s", from, entry->d_name);
        lud_text_append(&b, "%s/%s", copy, entry->d_name);
        same = !a.failed && !b.failed && same_item(a.bytes, b.bytes);
        lud_text_free(&a);
        lud_text_free(&b);
    }
    if (directory) closedir(directory);
    return same && directory;
}

static bool holds(const char *folder, const char *name) {
    lud_text path = {0};
    lud_text_append(&path, "%s/%s", folder, name);
    const bool there = !path.failed && (lud_file_exists(path.bytes) || lud_folder_exists(path.bytes));
    lud_text_free(&path);
    return there;
}

/* Whether the name is still to be had for `from`. */
static bool is_free(const plan *p, const char *from, const char *name) {
    const lud_carried *c = p->carried;
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->items[i].name, name) == 0) return false;
    if (!p->folder) return true;
    lud_text path = {0};
    lud_text_append(&path, "%s/%s", p->folder, name);
    const bool taken = path.failed || lud_file_exists(path.bytes) || lud_folder_exists(path.bytes);
    const bool same = taken && !path.failed && same_item(from, path.bytes);
    lud_text_free(&path);
    return !taken || same;
}

/* NAME, else NAME-2.ENDING and so on. */
static const char *find_name(const plan *p, const char *from) {
    const char *slash = strrchr(from, '/'), *base = slash ? slash + 1 : from, *dot = strrchr(base, '.');
    const int stem = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    for (int k = 1; k < 10000; k++) {
        lud_text name = {0};
        if (k == 1)
            lud_text_append(&name, "%s", base);
        else
            lud_text_append(&name, "%.*s-%d%s", stem, base, k, base + stem);
        const char *kept = !name.failed && is_free(p, from, name.bytes)
                               ? lud_arena_text(p->carried->arena, name.bytes, name.length)
                               : NULL;
        const bool failed = name.failed;
        lud_text_free(&name);
        if (kept || failed) return kept;
    }
    return NULL;
}

/* `parameters`: of a RUN, the file of its own that it is named by, or null. */
static const char *name_for(plan *p, const char *from, lud_option_names kind, const char *parameters) {
    lud_carried *c = p->carried;
    const char *known = NULL;
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->items[i].from, from) != 0) continue;
        known = c->items[i].name;
        if (!parameters || (c->items[i].parameters && strcmp(c->items[i].parameters, parameters) == 0))
            return known;
    }
    if (c->n == c->capacity) {
        const int capacity = c->capacity ? 2 * c->capacity : 16;
        void *grown = realloc(c->items, (size_t)capacity * sizeof *c->items);
        if (!grown) return NULL;
        c->items = grown;
        c->capacity = capacity;
    }
    const char *name = known ? known : find_name(p, from);
    if (name) c->items[c->n++] = (struct lud_carried_item){from, name, kind, parameters};
    return name;
}

/* The part of a path behind RUN/files/, for what lies there already; null: it lies elsewhere. */
static const char *within(const plan *p, const char *path) {
    const size_t n = p->folder ? strlen(p->folder) : 0;
    return n && strncmp(path, p->folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

static lud_status found(void *context, lud_option_names kind, lud_tree *text, lud_error *error) {
    plan *p = context;
    lud_arena *arena = p->carried->arena;
    const char *from = lud_path_find(arena, p->base, text->text);
    if (!from) return lud_no_memory(error, "a path");
    const bool folder = lud_folder_exists(from);
    if (kind == LUD_NAMES_POLICY) kind = LUD_NAMES_RUN; /* or the name of a policy */
    const char *parameters = kind == LUD_NAMES_RUN && lud_file_exists(from) ? lud_run_file(from) : NULL;
    const char *run = parameters ? lud_arena_text(arena, from, (size_t)(parameters - from - 1)) : from;
    if (!run) return lud_no_memory(error, "a path");
    if (kind == LUD_NAMES_RUN && !((folder || parameters) && is_run(run))) return LUD_OK;
    if (kind == LUD_NAMES_FOLDER && !folder) return LUD_OK;
    if (kind == LUD_NAMES_FILE && !folder && !lud_file_exists(from)) return LUD_OK;
    const char *lies = within(p, from), *name = lies ? lies : name_for(p, run, kind, parameters);
    lud_text copy = {0};
    lud_text_append(&copy, "files/%s", name ? name : "");
    if (!lies && parameters) lud_text_append(&copy, "/%s", parameters);
    text->text = name && !copy.failed ? lud_arena_text(arena, copy.bytes, copy.length) : NULL;
    text->text_length = copy.length;
    text->quoted = true;
    lud_text_free(&copy);
    return text->text ? LUD_OK : lud_no_memory(error, "a path");
}

lud_status lud_carried_plan(const lud_scenario *scenario, const lud_option_table *learner, const char *folder,
                            bool resume, lud_tree *root, lud_carried *carried, lud_error *error) {
    static const lud_option acting = {
        .key = "policies", .type = LUD_OPTION_TREE, .names = LUD_NAMES_POLICY, .help = ""};
    static const lud_option_table top = {.name = "scenario", .help = "", .options = &acting, .n = 1};
    *carried = (lud_carried){.arena = lud_arena_create(0)};
    lud_text own = {0};
    lud_text_append(&own, "%s/files", folder);
    if (!carried->arena || own.failed) {
        lud_text_free(&own);
        return lud_no_memory(error, "a run's files");
    }
    char *files = resume ? realpath(own.bytes, NULL) : NULL;
    lud_text_free(&own);
    plan p = {carried, scenario->path, files};
    lud_tree *section = lud_tree_find(root, scenario->world->name);
    const lud_option_table *world = scenario->world->options ? scenario->world->options[0] : NULL;
    lud_status status = world && section ? lud_options_named(world, section, found, &p, error) : LUD_OK;
    section = lud_tree_find(root, "learner");
    if (!status && learner && section) status = lud_options_named(learner, section, found, &p, error);
    if (!status) status = lud_options_named(&top, root, found, &p, error);
    free(files);
    return status;
}

void lud_carried_free(lud_carried *carried) {
    lud_arena_destroy(carried->arena);
    free(carried->items);
    *carried = (lud_carried){0};
}

/* ---- copying ---- */

static lud_status copy_file(const char *from, const char *to, lud_error *error) {
    enum { BLOCK = 1 << 20 };
    lud_file_writer writer;
    FILE *stream = lud_file_stream(from);
    if (!stream) return lud_fail(error, LUD_ERROR_IO, "%s: cannot be opened: %s", from, strerror(errno));
    char *block = malloc(BLOCK);
    lud_status status = block ? lud_file_write_begin(&writer, to, error) : lud_no_memory(error, "a copy");
    if (!status) {
        size_t n = BLOCK;
        bool written = true;
        while (written && n == BLOCK) {
            n = fread(block, 1, BLOCK, stream);
            written = fwrite(block, 1, n, writer.stream) == n;
        }
        if (!written)
            status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be written: %s", to, strerror(errno));
        else if (ferror(stream))
            status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be read", from);
        if (!status) status = lud_file_write_commit(&writer, error);
        lud_file_write_abandon(&writer);
    }
    free(block);
    fclose(stream);
    return status;
}

static lud_status copy_into(const char *from, const char *to, const char *name, lud_error *error);

/* Files and folders; what is neither, and what begins with a dot, stays. */
static lud_status copy_any(const char *from, const char *to, lud_error *error) {
    if (!lud_folder_exists(from)) return copy_file(from, to, error);
    LUD_TRY(lud_folder_make(to, error));
    DIR *directory = opendir(from);
    if (!directory) return lud_fail(error, LUD_ERROR_IO, "%s: cannot be read: %s", from, strerror(errno));
    lud_status status = LUD_OK;
    for (struct dirent *entry; !status && (entry = readdir(directory));)
        if (entry->d_name[0] != '.') status = copy_into(from, to, entry->d_name, error);
    closedir(directory);
    return status;
}

static lud_status copy_into(const char *from, const char *to, const char *name, lud_error *error) {
    lud_text source = {0}, target = {0};
    struct stat info;
    lud_text_append(&source, "%s/%s", from, name);
    lud_text_append(&target, "%s/%s", to, name);
    lud_status status = source.failed || target.failed ? lud_no_memory(error, "a path") : LUD_OK;
    if (!status && stat(source.bytes, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
        status = copy_any(source.bytes, target.bytes, error);
    lud_text_free(&source);
    lud_text_free(&target);
    return status;
}

static lud_status copy_run(const char *from, const char *to, lud_error *error) {
    lud_status status = lud_folder_make(to, error);
    const int n = (int)(sizeof parts_of_run / sizeof *parts_of_run);
    for (int i = 0; i < n && !status; i++)
        if (holds(from, parts_of_run[i])) status = copy_into(from, to, parts_of_run[i], error);
    if (!status && !holds(from, parts_of_run[1]) && holds(from, whole))
        status = copy_into(from, to, whole, error);
    return status;
}

/* A folder is made beside and renamed: one that a killed process has begun is nobody's copy. */
static lud_status copy_item(const struct lud_carried_item *item, const char *to, lud_error *error) {
    if (!lud_folder_exists(item->from)) return copy_file(item->from, to, error);
    lud_text beside = {0};
    lud_text_append(&beside, "%s.partial-%ld", to, (long)getpid());
    lud_status status = beside.failed                 ? lud_no_memory(error, "a path")
                        : item->kind == LUD_NAMES_RUN ? copy_run(item->from, beside.bytes, error)
                                                      : copy_any(item->from, beside.bytes, error);
    if (!status && rename(beside.bytes, to) != 0)
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be made: %s", to, strerror(errno));
    if (status) lud_file_remove_leftovers(to);
    lud_text_free(&beside);
    return status;
}

lud_status lud_carried_copy(const lud_carried *carried, const char *folder, lud_error *error) {
    lud_status status = carried->n ? lud_folder_make(folder, error) : LUD_OK;
    if (carried->n) lud_folder_remove_leftovers(folder, NULL);
    for (int i = 0; i < carried->n && !status; i++) {
        const struct lud_carried_item *item = &carried->items[i];
        lud_text to = {0};
        lud_text_append(&to, "%s/%s", folder, item->name);
        if (to.failed)
            status = lud_no_memory(error, "a path");
        else if (!same_item(item->from, to.bytes))
            status = copy_item(item, to.bytes, error);
        if (!status && item->parameters && !holds(to.bytes, item->parameters))
            status = copy_into(item->from, to.bytes, item->parameters, error);
        lud_text_free(&to);
    }
    return status;
}
