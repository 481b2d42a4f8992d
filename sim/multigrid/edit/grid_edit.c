#include "sim/multigrid/edit/grid_edit.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/options/tree_edit.h"
#include "sim/multigrid/edit/grid_edit_parts.h"
#include "sim/multigrid/grid_model.h"

/* ---- worlds ---- */

bool lud_grid_edit_copy(const lud_grid_edit_world *world, lud_grid_edit_world *copy) {
    const size_t n = (size_t)world->width * (size_t)world->height;
    *copy = *world;
    copy->things = malloc(n * sizeof *copy->things);
    copy->agent = malloc(n * sizeof *copy->agent);
    copy->goals = malloc(((size_t)world->n_goals + 1) * sizeof *copy->goals); /* room for one more */
    if (!copy->things || !copy->agent || !copy->goals) {
        lud_grid_edit_world_free(copy);
        return false;
    }
    memcpy(copy->things, world->things, n * sizeof *copy->things);
    memcpy(copy->agent, world->agent, n * sizeof *copy->agent);
    if (world->n_goals) memcpy(copy->goals, world->goals, (size_t)world->n_goals * sizeof *copy->goals);
    return true;
}

void lud_grid_edit_world_free(lud_grid_edit_world *world) {
    LUD_FREE(world->things, world->agent, world->goals);
    *world = (lud_grid_edit_world){0};
}

bool lud_grid_edit_same(const lud_grid_thing *a, const lud_grid_thing *b) {
    if (a->is_agent != b->is_agent || !lud_grid_object_equal(&a->under, &b->under)) return false;
    if (!a->is_agent) return lud_grid_object_equal(&a->object, &b->object);
    const lud_grid_agent *x = &a->agent, *y = &b->agent;
    return x->direction == y->direction && x->colour == y->colour && x->role == y->role &&
           x->can_push_rocks == y->can_push_rocks && x->can_enter_magic_walls == y->can_enter_magic_walls;
}

/* ---- reading ---- */

lud_status lud_grid_edit_tree(const lud_grid_edit *edit, const lud_text *text, lud_arena *arena,
                              lud_tree **root, lud_error *error) {
    LUD_TRY(lud_tree_read_instead(arena, edit->path, text->bytes ? text->bytes : "", text->length, NULL, root,
                                  error));
    for (int i = 0; i < edit->n_set; i++) LUD_TRY(lud_tree_set(arena, *root, edit->set[i], error));
    return LUD_OK;
}

lud_tree *lud_grid_edit_holder(const lud_grid_edit *edit, lud_tree *root) {
    lud_tree *section = lud_tree_find(root, "multigrid");
    if (!section || section->kind != LUD_TREE_MAPPING) return NULL;
    const lud_tree *ensemble = lud_tree_find(section, "ensemble");
    if (!ensemble) return section;
    lud_tree *entry = ensemble->child;
    for (int k = edit->map; entry && k > 0; k--) entry = entry->next;
    return entry && entry->kind == LUD_TREE_MAPPING ? entry : NULL;
}

/* Where each code of the map stands in the text. */
static lud_status find_offsets(const lud_grid_edit *edit, const lud_text *text, lud_grid_edit_reading *r,
                               lud_error *error) {
    const int n = r->rows.width * r->rows.height;
    size_t n_lines = 1, line = 1;
    for (size_t i = 0; i < text->length; i++) n_lines += text->bytes[i] == '\n';
    size_t *begin = lud_arena_take_array(r->arena, n_lines + 1, sizeof *begin);
    r->offset = lud_arena_take_array(r->arena, (size_t)n, sizeof *r->offset);
    if (!begin || !r->offset) return lud_out_of_memory(error);
    for (size_t i = 0; i < text->length; i++)
        if (text->bytes[i] == '\n') begin[line++] = i + 1;
    for (int c = 0; c < n; c++) {
        const lud_place place = r->rows.places[c];
        if (!place.file || strcmp(place.file, edit->path) != 0)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED, "the map comes from %.300s: edit it there",
                            place.file ? place.file : "elsewhere");
        const bool has_place = place.line > 0 && place.column > 0 && (size_t)place.line <= n_lines;
        const size_t at = has_place ? begin[place.line - 1] + (size_t)place.column - 1 : text->length;
        if (at + 2 > text->length || memcmp(text->bytes + at, r->rows.codes[c], 2) != 0)
            return lud_fail_at(error, LUD_ERROR_UNSUPPORTED, place,
                               "this map cannot be changed in place; write its rows behind `map: |`");
        r->offset[c] = at;
    }
    return LUD_OK;
}

static lud_status read_corner(lud_tree *list, int n, int *corner, lud_error *error) {
    int i = 0;
    for (lud_tree *c = list->child; c && i < n; c = c->next, i++) {
        int64_t value;
        LUD_TRY(lud_tree_int(c, 0, LUD_GRID_MAX_SIDE, &value, error));
        corner[i] = (int)value;
    }
    return LUD_OK;
}

/* The list as it is written, which the spec has spread over agents. It was read before, so it is right. */
static lud_status read_goals(lud_grid_edit_reading *r, lud_error *error) {
    lud_tree *list = lud_tree_find(r->root, "goals");
    const size_t n = list && list->kind == LUD_TREE_SEQUENCE ? list->n_children : 0;
    r->world.goals = lud_arena_take_array(r->arena, n, sizeof *r->world.goals);
    if (!r->world.goals) return lud_out_of_memory(error);
    for (lud_tree *node = n ? list->child : NULL; node; node = node->next) {
        lud_grid_goal_options v;
        LUD_TRY(lud_options_read(&lud_grid_goal_option_table, r->arena, node, &v, error));
        int p[4] = {0};
        LUD_TRY(read_corner(v.cell ? v.cell : v.rectangle, v.cell ? 2 : 4, p, error));
        if (v.cell) memcpy(p + 2, p, 2 * sizeof *p);
        lud_grid_edit_goal *goal = &r->world.goals[r->world.n_goals];
        *goal = (lud_grid_edit_goal){.x1 = p[0] < p[2] ? p[0] : p[2],
                                     .y1 = p[1] < p[3] ? p[1] : p[3],
                                     .x2 = p[0] < p[2] ? p[2] : p[0],
                                     .y2 = p[1] < p[3] ? p[3] : p[1],
                                     .cell = v.cell != NULL,
                                     .weight = v.weight,
                                     .for_all = !v.agents,
                                     .origin = r->world.n_goals++};
        for (lud_tree *c = v.agents ? v.agents->child : NULL; c; c = c->next) {
            int64_t agent;
            LUD_TRY(lud_tree_int(c, 0, LUD_GRID_MAX_AGENTS - 1, &agent, error));
            goal->agents |= UINT64_C(1) << agent;
        }
    }
    return LUD_OK;
}

static lud_status read_world(const lud_grid_edit *edit, lud_grid_edit_reading *r, lud_error *error) {
    lud_grid_edit_world *w = &r->world;
    w->width = r->spec.width;
    w->height = r->spec.height;
    w->map_width = r->rows.width;
    w->map_height = r->rows.height;
    const size_t n = (size_t)w->width * (size_t)w->height;
    w->things = lud_arena_take_array(r->arena, n, sizeof *w->things);
    w->agent = lud_arena_take_array(r->arena, n, sizeof *w->agent);
    if (!w->things || !w->agent) return lud_out_of_memory(error);
    const lud_grid_map *map = &r->spec.maps[edit->map];
    if (!lud_grid_things_of(&r->spec, map, w->things))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "the agents of this map are not in cells of their own");
    for (size_t c = 0; c < n; c++) w->agent[c] = -1;
    for (int i = 0; i < r->spec.n_agents; i++) w->agent[map->agents[i].y * w->width + map->agents[i].x] = i;
    return read_goals(r, error);
}

static lud_status read_all(const lud_grid_edit *edit, const lud_text *text, lud_grid_edit_reading *r,
                           lud_error *error) {
    LUD_TRY(lud_grid_edit_tree(edit, text, r->arena, &r->root, error));
    if (!lud_tree_find(r->root, "ludus"))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "only files of our own format can be edited, which begin with the line `ludus: 1`");
    r->section = lud_tree_find(r->root, "multigrid");
    if (!r->section || r->section->kind != LUD_TREE_MAPPING)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "only multigrid worlds can be edited");
    LUD_TRY(lud_options_read(&lud_grid_option_table, r->arena, r->section, &r->options, error));
    if (r->options.generate)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "the maps of this world are generated, so there is none to be edited");
    LUD_TRY(lud_grid_spec_read(r->arena, r->root, 0, &r->spec, error));
    if (edit->map >= r->spec.n_maps)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "there is no map %d", edit->map);
    const lud_tree *holder = lud_grid_edit_holder(edit, r->root);
    lud_tree *map = holder ? lud_tree_find(holder, "map") : NULL;
    if (!map) return lud_fail(error, LUD_ERROR_UNSUPPORTED, "there is no map to be edited");
    LUD_TRY(lud_grid_rows_read(r->arena, map, &r->rows, error));
    LUD_TRY(find_offsets(edit, text, r, error));
    LUD_TRY(lud_grid_legend_read(r->arena, &r->options, &r->legend, &r->n_legend, error));
    LUD_TRY(read_world(edit, r, error));
    lud_grid_spec open = r->spec;
    open.goals_must_cover = false; /* a world that is not finished can be looked at */
    return lud_grid_model_create(&open, &r->model, error);
}

void lud_grid_edit_reading_free(lud_grid_edit_reading *reading) {
    if (reading->model) lud_grid_model_destroy(reading->model);
    lud_arena_destroy(reading->arena);
    *reading = (lud_grid_edit_reading){0};
}

lud_status lud_grid_edit_read(const lud_grid_edit *edit, const lud_text *text, lud_grid_edit_reading *reading,
                              lud_error *error) {
    *reading = (lud_grid_edit_reading){.arena = lud_arena_create(1 << 16)};
    if (!reading->arena) return lud_out_of_memory(error);
    const lud_status status = read_all(edit, text, reading, error);
    if (status) lud_grid_edit_reading_free(reading);
    return status;
}

/* ---- opening and closing ---- */

static lud_status open_text(lud_grid_edit *edit, const char *path, const char *text, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length = 0;
    lud_status status = arena ? LUD_OK : lud_out_of_memory(error);
    edit->path = strdup(path);
    edit->target = text ? NULL : realpath(path, NULL); /* what a link names is written, not the link */
    if (!edit->target) edit->target = strdup(path);
    if (!status && (!edit->path || !edit->target)) status = lud_out_of_memory(error);
    if (!status && !text) {
        edit->stamp = lud_file_stamp(edit->target);
        status = lud_file_read(arena, edit->target, LUD_TREE_MAX_BYTES, &bytes, &length, error);
    }
    if (!status) {
        lud_text_append_bytes(&edit->text, text ? text : bytes, text ? strlen(text) : length);
        edit->saved = edit->text.failed ? NULL : strdup(edit->text.bytes ? edit->text.bytes : "");
        if (!edit->saved) status = lud_out_of_memory(error);
    }
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_grid_edit_open(const char *path, const char *text, const char *const *set, int n_set, int map,
                              lud_grid_edit **edit, lud_error *error) {
    lud_grid_edit *e = calloc(1, sizeof *e);
    *edit = NULL;
    if (!e) return lud_out_of_memory(error);
    e->set = set;
    e->n_set = n_set;
    e->map = map;
    lud_status status = open_text(e, path, text, error);
    if (!status) status = lud_grid_edit_read(e, &e->text, &e->now, error);
    if (status) {
        lud_grid_edit_close(e);
        return status;
    }
    *edit = e;
    return LUD_OK;
}

static void free_change(lud_grid_edit_change *change) {
    LUD_FREE(change->before, change->after, change->name);
}

void lud_grid_edit_close(lud_grid_edit *edit) {
    if (!edit) return;
    lud_grid_edit_reading_free(&edit->now);
    for (int i = 0; i < edit->n_changes; i++) free_change(&edit->changes[i]);
    lud_text_free(&edit->text);
    lud_text_free(&edit->note);
    LUD_FREE(edit->changes, edit->saved, edit->stroke, edit->path, edit->target, edit);
}

const char *lud_grid_edit_text(const lud_grid_edit *edit) {
    return edit->text.bytes ? edit->text.bytes : "";
}
const char *lud_grid_edit_path(const lud_grid_edit *edit) {
    return edit->path;
}
const lud_grid_edit_world *lud_grid_edit_get(const lud_grid_edit *edit) {
    return &edit->now.world;
}
const lud_model *lud_grid_edit_model(const lud_grid_edit *edit) {
    return edit->now.model;
}
const lud_grid_options *lud_grid_edit_options(const lud_grid_edit *edit) {
    return &edit->now.options;
}
const char *lud_grid_edit_note(const lud_grid_edit *edit) {
    return edit->note.length ? edit->note.bytes : NULL;
}
uint64_t lud_grid_edit_version(const lud_grid_edit *edit) {
    return edit->version;
}

/* ---- what stays ---- */

/* The first child from here on whose key is none of `but`. */
static const lud_tree *skip(const lud_tree *child, const char *const *but) {
    for (; child; child = child->next) {
        bool skipped = false;
        for (int i = 0; but && but[i] && !skipped; i++) skipped = child->key && !strcmp(child->key, but[i]);
        if (!skipped) return child;
    }
    return NULL;
}

/* Whether two trees read the same; children under the keys of `but` do not count. */
static bool same_tree(const lud_tree *a, const lud_tree *b, const char *const *but) {
    if (a->kind != b->kind || a->quoted != b->quoted || !a->text != !b->text) return false;
    if (a->text && (a->text_length != b->text_length || memcmp(a->text, b->text, a->text_length) != 0))
        return false;
    const lud_tree *x = skip(a->child, but), *y = skip(b->child, but);
    for (; x && y; x = skip(x->next, but), y = skip(y->next, but)) {
        if (!x->key != !y->key || (x->key && strcmp(x->key, y->key) != 0)) return false;
        if (!same_tree(x, y, NULL)) return false;
    }
    return !x && !y;
}

/* Whether a map is the same in two sizes: what one has beyond the other is the wall around it. */
static bool same_map(const lud_grid_spec *a, const lud_grid_spec *b, const lud_grid_thing *x,
                     const lud_grid_thing *y) {
    const int width = a->width > b->width ? a->width : b->width,
              height = a->height > b->height ? a->height : b->height;
    for (int c = 0; c < width * height; c++) {
        const int cx = c % width, cy = c / width;
        const lud_grid_thing *p = cx < a->width && cy < a->height ? &x[cy * a->width + cx] : NULL,
                             *q = cx < b->width && cy < b->height ? &y[cy * b->width + cx] : NULL;
        if (p && q ? !lud_grid_edit_same(p, q) : (p || q) && (p ? p : q)->object.type != LUD_WALL)
            return false;
    }
    return true;
}

/* The other maps of an ensemble. */
static bool other_maps_same(const lud_grid_edit *edit, const lud_grid_spec *a, const lud_grid_spec *b) {
    if (a->n_maps != b->n_maps) return false;
    if (a->n_maps == 1) return true;
    const size_t n = (size_t)a->width * (size_t)a->height, m = (size_t)b->width * (size_t)b->height;
    lud_grid_thing *things = calloc(n + m, sizeof *things);
    bool same = things != NULL;
    for (int k = 0; k < a->n_maps && same; k++) {
        if (k == edit->map) continue;
        same = lud_grid_things_of(a, &a->maps[k], things) == lud_grid_things_of(b, &b->maps[k], things + n) &&
               same_map(a, b, things, things + n);
    }
    free(things);
    return same;
}

bool lud_grid_edit_rest_same(const lud_grid_edit *edit, const lud_grid_edit_reading *a,
                             const lud_grid_edit_reading *b, const char *path) {
    static const char *const edited[] = {"multigrid", "goals", NULL};
    static const char *const section_edited[] = {"map", "ensemble", "legend", "agents", NULL};
    char set[LUD_TREE_MAX_KEY_BYTES + 1] = "";
    if (path) strncat(set, path, strcspn(path, ".") < sizeof set ? strcspn(path, ".") : sizeof set - 1);
    const char *const only[] = {set, NULL};
    return same_tree(a->root, b->root, path ? (const char *const[]){"multigrid", NULL} : edited) &&
           same_tree(a->section, b->section, path ? only : section_edited) &&
           (path || other_maps_same(edit, &a->spec, &b->spec));
}

/* ---- changes ---- */

static void forget_undone(lud_grid_edit *edit) {
    while (edit->n_changes > edit->n_done) free_change(&edit->changes[--edit->n_changes]);
}

/* The difference of two texts without what they begin and end with alike. */
static bool describe_change(const char *before, const char *after, const char *name,
                            lud_grid_edit_change *change) {
    const size_t a = strlen(before), b = strlen(after);
    size_t same = 0, tail = 0;
    while (same < a && same < b && before[same] == after[same]) same++;
    while (tail < a - same && tail < b - same && before[a - 1 - tail] == after[b - 1 - tail]) tail++;
    *change = (lud_grid_edit_change){.at = same,
                                     .before = strndup(before + same, a - same - tail),
                                     .after = strndup(after + same, b - same - tail),
                                     .name = strdup(name)};
    if (change->before && change->after && change->name) return true;
    free_change(change);
    return false;
}

lud_status lud_grid_edit_commit(lud_grid_edit *edit, lud_text *text, lud_grid_edit_reading *reading,
                                const char *name, lud_error *error) {
    const char *from = edit->stroke ? edit->stroke : lud_grid_edit_text(edit);
    const bool goes_on = edit->stroke_has_change;
    lud_grid_edit_change change;
    if (!goes_on && edit->n_done == edit->capacity) {
        const int capacity = edit->capacity ? 2 * edit->capacity : 64;
        lud_grid_edit_change *changes = realloc(edit->changes, (size_t)capacity * sizeof *changes);
        if (!changes) return lud_no_memory(error, "another change");
        edit->changes = changes;
        edit->capacity = capacity;
    }
    if (!describe_change(from, text->bytes ? text->bytes : "", name, &change))
        return lud_no_memory(error, "another change");
    forget_undone(edit);
    if (goes_on)
        free_change(&edit->changes[edit->n_done - 1]);
    else
        edit->n_changes = ++edit->n_done;
    edit->changes[edit->n_done - 1] = change;
    edit->stroke_has_change = edit->stroke != NULL;
    lud_text_clear(&edit->note);
    lud_text_free(&edit->text);
    edit->text = *text;
    *text = (lud_text){0};
    lud_grid_edit_reading_free(&edit->now);
    edit->now = *reading;
    *reading = (lud_grid_edit_reading){0};
    edit->version++;
    return LUD_OK;
}

void lud_grid_edit_begin_stroke(lud_grid_edit *edit) {
    lud_grid_edit_end_stroke(edit);
    edit->stroke = strdup(lud_grid_edit_text(edit)); /* without memory each change is one of its own */
}

void lud_grid_edit_end_stroke(lud_grid_edit *edit) {
    free(edit->stroke);
    edit->stroke = NULL;
    edit->stroke_has_change = false;
}

const char *lud_grid_edit_undo_name(const lud_grid_edit *edit) {
    return edit->n_done > 0 ? edit->changes[edit->n_done - 1].name : NULL;
}
const char *lud_grid_edit_redo_name(const lud_grid_edit *edit) {
    return edit->n_done < edit->n_changes ? edit->changes[edit->n_done].name : NULL;
}

static lud_status go(lud_grid_edit *edit, const lud_grid_edit_change *change, bool back, lud_error *error) {
    lud_grid_edit_end_stroke(edit);
    lud_text text = {0};
    lud_grid_edit_reading reading = {0};
    lud_text_append_bytes(&text, edit->text.bytes, edit->text.length);
    lud_status status = text.failed ? lud_no_memory(error, "a change") : LUD_OK;
    if (!status)
        status =
            lud_text_replace(&text, change->at, change->at + strlen(back ? change->after : change->before),
                             back ? change->before : change->after, error);
    if (!status) status = lud_grid_edit_read(edit, &text, &reading, error);
    if (status) {
        lud_text_free(&text);
        return status;
    }
    lud_text_clear(&edit->note);
    lud_text_free(&edit->text);
    lud_grid_edit_reading_free(&edit->now);
    edit->text = text;
    edit->now = reading;
    edit->version++;
    edit->n_done += back ? -1 : 1;
    return LUD_OK;
}

lud_status lud_grid_edit_undo(lud_grid_edit *edit, lud_error *error) {
    return edit->n_done > 0 ? go(edit, &edit->changes[edit->n_done - 1], true, error) : LUD_OK;
}

lud_status lud_grid_edit_redo(lud_grid_edit *edit, lud_error *error) {
    return edit->n_done < edit->n_changes ? go(edit, &edit->changes[edit->n_done], false, error) : LUD_OK;
}

/* ---- saving ---- */

bool lud_grid_edit_changed(const lud_grid_edit *edit) {
    return strcmp(lud_grid_edit_text(edit), edit->saved) != 0;
}

bool lud_grid_edit_stale(const lud_grid_edit *edit) {
    return lud_file_stamp(edit->target) != edit->stamp;
}

lud_status lud_grid_edit_save(lud_grid_edit *edit, bool force, lud_error *error) {
    if (!force && lud_grid_edit_stale(edit))
        return lud_fail(error, LUD_ERROR_IO, "%.300s has changed meanwhile; saving once more writes over it",
                        edit->path);
    char *saved = strdup(lud_grid_edit_text(edit));
    if (!saved) return lud_no_memory(error, "a copy of the file");
    const lud_status status = lud_file_write(edit->target, edit->text.bytes, edit->text.length, error);
    if (status) {
        free(saved);
        return status;
    }
    free(edit->saved);
    edit->saved = saved;
    edit->stamp = lud_file_stamp(edit->target);
    return LUD_OK;
}
