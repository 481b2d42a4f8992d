/* The size of the map: columns and rows that it gains or loses at its sides. */
#include <stdlib.h>
#include <string.h>

#include "base/options/tree_edit.h"
#include "sim/multigrid/edit/grid_edit_parts.h"
#include "sim/multigrid/edit/grid_edit_tools.h"

/* Lines of a map: columns or rows. New ones come before line `at`, or those from it on go. */
typedef struct lines {
    bool columns, cut;
    int at, n;
    int length;                              /* cells of each */
    char code[LUD_GRID_MAX_SIDE][2];         /* [length] of the new ones, */
    lud_grid_thing thing[LUD_GRID_MAX_SIDE]; /* [length] and what they stand for */
} lines;

/* ---- which lines ---- */

/* What is in the cell `along` of line `line`. */
static const lud_grid_thing *thing_at(const lud_grid_edit_world *w, bool columns, int line, int along) {
    return columns ? &w->things[along * w->width + line] : &w->things[line * w->width + along];
}

static bool is_wall(const lud_grid_thing *thing) {
    return !thing->is_agent && thing->object.type == LUD_WALL;
}

/* Whether a line is a wall of the map, with a gap or a door perhaps. */
static bool is_walled(const lud_grid_edit_world *w, bool columns, int line, int length) {
    int n = 0;
    for (int k = 0; k < length; k++) n += is_wall(thing_at(w, columns, line, k));
    return is_wall(thing_at(w, columns, line, 0)) && is_wall(thing_at(w, columns, line, length - 1)) &&
           2 * n >= length;
}

static lud_status find_lines(const lud_grid_edit_world *w, lud_direction side, int by, lines *l,
                             lud_error *error) {
    const bool columns = side == LUD_EAST || side == LUD_WEST, far = side == LUD_EAST || side == LUD_SOUTH;
    const int size = columns ? w->map_width : w->map_height;
    if (by < LUD_GRID_MIN_SIDE - size || by > LUD_GRID_MAX_SIDE - size)
        return lud_invalid(error, "expected %d to %d %s in a map, this would be %lld", (int)LUD_GRID_MIN_SIDE,
                           (int)LUD_GRID_MAX_SIDE, columns ? "columns" : "rows", (long long)size + by);
    *l = (lines){
        .columns = columns, .cut = by < 0, .n = abs(by), .length = columns ? w->map_height : w->map_width};
    const int wall = is_walled(w, columns, far ? size - 1 : 0, l->length);
    l->at = far ? size - wall - (l->cut ? l->n : 0) : wall;
    return LUD_OK;
}

/* Where line `line` of the map comes from: -1 where it is new. */
static int origin_of(const lines *l, int line) {
    if (line < l->at) return line;
    if (l->cut) return line + l->n;
    return line < l->at + l->n ? -1 : line - l->n;
}

/* Where it comes to be; `end`: the line that ends something, which lies before one that goes. */
static int place_of(const lines *l, int line, bool end) {
    if (line < l->at) return line;
    if (!l->cut) return line + l->n;
    return line >= l->at + l->n ? line - l->n : l->at - end;
}

/* ---- what would be cut ---- */

static bool is_cut(const lines *l, int x, int y) {
    const int line = l->columns ? x : y;
    return l->cut && line >= l->at && line < l->at + l->n;
}

static lud_status check_agents(const lud_grid_edit_world *w, const lines *l, lud_error *error) {
    for (int c = 0; c < w->width * w->height; c++) {
        const int x = c % w->width, y = c / w->width;
        if (w->things[c].is_agent && is_cut(l, x, y))
            return lud_invalid(error, "agent %d at (%d, %d) would be cut off: move or remove it first",
                               w->agent[c], x, y);
    }
    return LUD_OK;
}

/* Goals with their new places: moved[n_goals]. Of some the note says that they are smaller. */
static lud_status move_goals(const lud_grid_edit *edit, const lines *l, lud_grid_edit_goal *moved,
                             lud_text *note, lud_error *error) {
    const lud_grid_edit_world *w = &edit->now.world;
    for (int g = 0; g < w->n_goals; g++) {
        const lud_grid_edit_goal *was = &w->goals[g];
        lud_grid_edit_goal *goal = &moved[g];
        *goal = *was;
        int *first = l->columns ? &goal->x1 : &goal->y1, *last = l->columns ? &goal->x2 : &goal->y2;
        const int length = *last - *first;
        *first = place_of(l, *first, false);
        *last = place_of(l, *last, true);
        if (*last < *first)
            return lud_invalid(error, "goal %d at (%d, %d) would be cut off: move or remove it first", g,
                               was->x1, was->y1);
        if (edit->now.spec.n_maps > 1 && !lud_grid_edit_same_goal(was, goal))
            return lud_fail(
                error, LUD_ERROR_UNSUPPORTED,
                "goal %d would have to move, and it is also that of the other maps of the ensemble", g);
        if (*last - *first < length)
            lud_text_append(note, "%sgoal %d is smaller", note->length ? ", " : "", g);
    }
    return LUD_OK;
}

static void count_object(const lud_grid_object *object, lud_text *words, int *n) {
    enum { NAMED = 4 };
    if (object->type == LUD_EMPTY || object->type == LUD_WALL) return;
    if (++*n > NAMED + 1) return;
    lud_text_append(words, "%s", *n > 1 ? ", " : "");
    if (*n > NAMED)
        lud_text_append(words, "...");
    else
        lud_grid_edit_describe_object(object, words);
}

/* What else than walls and ground goes. */
static void note_what_goes(const lud_grid_edit_world *w, const lines *l, lud_text *note) {
    lud_text words = {0};
    int n = 0;
    for (int c = 0; c < w->width * w->height; c++) {
        if (!is_cut(l, c % w->width, c / w->width)) continue;
        count_object(&w->things[c].object, &words, &n);
        count_object(&w->things[c].under, &words, &n);
    }
    if (n && words.bytes) lud_text_append(note, "%scut off: %s", note->length ? ", " : "", words.bytes);
    lud_text_free(&words);
}

/* ---- new cells ---- */

static lud_status fill(lud_grid_edit_work *w, lines *l, lud_grid_edit_codes *fresh) {
    const lud_grid_edit_world *is = &w->now->world;
    const int size = l->columns ? is->map_width : is->map_height;
    for (int k = 0; k < l->length; k++) {
        const lud_grid_thing *before = l->at > 0 ? thing_at(is, l->columns, l->at - 1, k) : NULL,
                             *after = l->at < size ? thing_at(is, l->columns, l->at, k) : NULL;
        const lud_grid_thing ground = {.object = {.type = LUD_EMPTY}, .under = {.type = LUD_EMPTY}};
        const bool wall = before && after && is_wall(before) && is_wall(after);
        l->thing[k] = wall ? *before : ground;
        LUD_TRY(lud_grid_edit_find_code(w, fresh, &l->thing[k], -1, l->code[k]));
    }
    return LUD_OK;
}

/* ---- the text ---- */

/* Where the code of a cell begins. */
static size_t code_at(const lud_grid_edit_work *w, int x, int y) {
    return w->now->offset[y * w->now->rows.width + x];
}

/* What stands between the codes x and x + 1 of a row, or between two near them where that is a comment. */
static lud_status find_separator(lud_grid_edit_work *w, int x, int y, lud_text *separator) {
    const int n = w->now->rows.width - 1;
    for (int k = 0; k < n; k++) {
        const int at = (x + k) % n;
        const size_t begin = code_at(w, at, y) + 2, end = code_at(w, at + 1, y);
        if (memchr(w->text.bytes + begin, '#', end - begin)) continue;
        lud_text_append_bytes(separator, w->text.bytes + begin, end - begin);
        return separator->failed ? lud_out_of_memory(w->error) : LUD_OK;
    }
    return lud_fail(w->error, LUD_ERROR_UNSUPPORTED, "this map cannot be changed in place");
}

/* Rows from the last to the first, so that the places of what is before still hold. */
static lud_status change_columns(lud_grid_edit_work *w, const lines *l) {
    const int width = w->now->rows.width;
    for (int y = w->now->rows.height - 1; y >= 0; y--) {
        size_t begin = l->at ? code_at(w, l->at - 1, y) + 2 : code_at(w, 0, y), end = begin;
        lud_text with = {0}, separator = {0};
        lud_status status = LUD_OK;
        if (l->cut)
            end = l->at ? code_at(w, l->at + l->n - 1, y) + 2 : code_at(w, l->n, y);
        else
            status = find_separator(w, l->at == width ? width - 2 : l->at ? l->at - 1 : 0, y, &separator);
        const char *apart = separator.bytes ? separator.bytes : "";
        for (int k = 0; k < l->n && !l->cut && !status; k++)
            lud_text_append(&with, "%s%.2s%s", l->at ? apart : "", l->code[y], l->at ? "" : apart);
        if (!status && with.failed) status = lud_out_of_memory(w->error);
        if (!status) status = lud_text_replace(&w->text, begin, end, with.bytes ? with.bytes : "", w->error);
        lud_text_free(&with);
        lud_text_free(&separator);
        if (status) return status;
    }
    return LUD_OK;
}

static size_t line_begin(const lud_text *text, size_t at) {
    while (at > 0 && text->bytes[at - 1] != '\n') at--;
    return at;
}

/* Behind the line break. */
static size_t line_end(const lud_text *text, size_t at) {
    while (at < text->length && text->bytes[at] != '\n') at++;
    return at < text->length ? at + 1 : at;
}

/* The codes of a new row, as those of row y are written. */
static lud_status write_row(lud_grid_edit_work *w, const lines *l, int y, lud_text *out) {
    for (int x = 0; x < l->length; x++) {
        if (x) LUD_TRY(find_separator(w, x - 1, y, out));
        lud_text_append_bytes(out, l->code[x], 2);
    }
    return out->failed ? lud_out_of_memory(w->error) : LUD_OK;
}

/* Of a map behind `|` every row is a line. */
static lud_status add_lines(lud_grid_edit_work *w, const lines *l) {
    const bool behind = l->at == w->now->rows.height;
    const int like = behind ? l->at - 1 : l->at;
    const size_t code = code_at(w, 0, like), begin = line_begin(&w->text, code);
    const size_t end = line_end(&w->text, code);
    const bool ends = end > 0 && w->text.bytes[end - 1] == '\n',
               returns = ends && end > 1 && w->text.bytes[end - 2] == '\r';
    const char *const end_of_line = returns ? "\r\n" : "\n";
    lud_text row = {0}, with = {0};
    lud_status status = write_row(w, l, like, &row);
    if (behind && !ends) lud_text_append(&with, "\n");
    for (int k = 0; k < l->n && !status; k++) {
        lud_text_append_bytes(&with, w->text.bytes + begin, code - begin);
        lud_text_append(&with, "%s%s", row.bytes, end_of_line);
    }
    if (!status && with.failed) status = lud_out_of_memory(w->error);
    if (!status) {
        const size_t place = behind ? end : begin;
        status = lud_text_replace(&w->text, place, place, with.bytes ? with.bytes : "", w->error);
    }
    lud_text_free(&row);
    lud_text_free(&with);
    return status;
}

static lud_status cut_lines(lud_grid_edit_work *w, const lines *l) {
    for (int y = l->at + l->n - 1; y >= l->at; y--) {
        const size_t code = code_at(w, 0, y);
        LUD_TRY(
            lud_text_replace(&w->text, line_begin(&w->text, code), line_end(&w->text, code), "", w->error));
    }
    return LUD_OK;
}

static lud_tree *find_map(const lud_grid_edit_work *w) {
    lud_tree *holder = lud_grid_edit_holder(w->edit, w->root);
    return lud_grid_edit_child(holder, "map");
}

/* Of a list every row is an item. */
static lud_status change_items(lud_grid_edit_work *w, const lines *l) {
    lud_text row = {0}, value = {0};
    lud_status status = LUD_OK;
    if (!l->cut) {
        const int like = l->at == w->now->rows.height ? l->at - 1 : l->at;
        const lud_tree *item = find_map(w)->child;
        for (int k = 0; item && k < like; k++) item = item->next;
        const bool list = item && item->kind == LUD_TREE_SEQUENCE;
        for (int x = 0; list && x < l->length; x++) lud_text_append(&row, x ? ", %.2s" : "%.2s", l->code[x]);
        if (!list) status = write_row(w, l, like, &row);
        if (!status) lud_text_append(&value, list ? "[%s]" : item && item->quoted ? "'%s'" : "%s", row.bytes);
        if (!status && (row.failed || value.failed)) status = lud_out_of_memory(w->error);
    }
    for (int k = 0; k < l->n && !status; k++) {
        lud_tree *map = find_map(w);
        status = l->cut ? lud_tree_edit_remove_item(&w->text, map, (size_t)l->at, w->error)
                        : lud_tree_edit_insert_item(&w->text, map, (size_t)l->at, value.bytes, w->error);
        if (!status) status = lud_grid_edit_read_again(w);
    }
    lud_text_free(&row);
    lud_text_free(&value);
    return status;
}

static lud_status change_text(lud_grid_edit_work *w, const lines *l, const lud_grid_edit_goal *goals) {
    LUD_TRY(lud_grid_edit_read_again(w));
    const lud_tree *map = find_map(w);
    if (!map) return lud_fail(w->error, LUD_ERROR_UNSUPPORTED, "there is no map to be edited");
    if (l->columns)
        LUD_TRY(change_columns(w, l));
    else if (map->kind == LUD_TREE_SEQUENCE)
        LUD_TRY(change_items(w, l));
    else
        LUD_TRY(l->cut ? cut_lines(w, l) : add_lines(w, l));
    LUD_TRY(lud_grid_edit_read_again(w));
    for (int g = 0; g < w->now->world.n_goals; g++)
        if (!lud_grid_edit_same_goal(&w->now->world.goals[g], &goals[g]))
            LUD_TRY(lud_grid_edit_place_goal(w, g, &goals[g]));
    return LUD_OK;
}

/* ---- the whole ---- */

/* Whether the text reads as the map with these lines more or less, and all else as it did. */
static bool as_wanted(const lud_grid_edit_work *w, const lines *l, const lud_grid_edit_goal *goals,
                      const lud_grid_edit_reading *reading) {
    const lud_grid_edit_world *is = &reading->world, *was = &w->now->world;
    const int by = l->cut ? -l->n : l->n;
    if (is->map_width != was->map_width + (l->columns ? by : 0)) return false;
    if (is->map_height != was->map_height + (l->columns ? 0 : by) || is->n_goals != was->n_goals)
        return false;
    for (int c = 0; c < is->width * is->height; c++) {
        const int x = c % is->width, y = c / is->width;
        if (x >= is->map_width || y >= is->map_height) continue; /* filled up with walls */
        const int from = origin_of(l, l->columns ? x : y), along = l->columns ? y : x;
        const lud_grid_thing *thing = from < 0 ? &l->thing[along] : thing_at(was, l->columns, from, along);
        if (!lud_grid_edit_same(&is->things[c], thing)) return false;
    }
    for (int g = 0; g < is->n_goals; g++)
        if (!lud_grid_edit_same_goal(&is->goals[g], &goals[g])) return false;
    return lud_grid_edit_rest_same(w->edit, w->now, reading, NULL);
}

static lud_status make_so(lud_grid_edit_work *w, lines *l, lud_text *note) {
    lud_grid_edit_goal *goals = calloc((size_t)w->now->world.n_goals + 1, sizeof *goals);
    lud_grid_edit_codes fresh = {.items = calloc(LUD_GRID_MAX_SIDE, sizeof *fresh.items)};
    lud_grid_edit_reading reading = {0};
    lud_status status = goals && fresh.items ? LUD_OK : lud_out_of_memory(w->error);
    if (!status) status = check_agents(&w->now->world, l, w->error);
    if (!status) status = move_goals(w->edit, l, goals, note, w->error);
    if (!status && l->cut) note_what_goes(&w->now->world, l, note);
    if (!status && !l->cut) status = fill(w, l, &fresh);
    if (!status) status = change_text(w, l, goals);
    if (!status) status = lud_grid_edit_explain_codes(w, &fresh);
    if (!status) status = lud_grid_edit_read(w->edit, &w->text, &reading, w->error);
    if (!status && !as_wanted(w, l, goals, &reading))
        status = lud_fail(w->error, LUD_ERROR_UNSUPPORTED,
                          "this file is written so that the size of the map cannot be changed in place");
    if (!status)
        status = lud_grid_edit_commit(w->edit, &w->text, &reading, l->cut ? "cut the map" : "larger map",
                                      w->error);
    lud_grid_edit_reading_free(&reading);
    LUD_FREE(goals, fresh.items);
    return status;
}

/* A cell keeps what is picked in it; one that goes lets go of it. */
static void follow(const lines *l, lud_grid_pick *pick) {
    if (!pick || pick->kind != LUD_PICK_CELL) return;
    int *line = l->columns ? &pick->x : &pick->y;
    if (is_cut(l, pick->x, pick->y))
        *pick = (lud_grid_pick){.kind = LUD_PICK_WORLD};
    else
        *line = place_of(l, *line, false);
}

lud_status lud_grid_edit_resize(lud_grid_edit *edit, lud_direction side, int by, lud_grid_pick *pick,
                                lud_error *error) {
    lud_grid_edit_work w = {.edit = edit, .now = &edit->now, .error = error};
    lud_text note = {0};
    if (!by) return LUD_OK;
    lines *l = malloc(sizeof *l);
    if (!l) return lud_no_memory(error, "a change");
    lud_status status = find_lines(&edit->now.world, side, by, l, error);
    if (!status) status = lud_grid_edit_begin_work(&w);
    if (!status) status = make_so(&w, l, &note);
    if (!status) {
        follow(l, pick);
        lud_text_free(&edit->note);
        edit->note = note;
        note = (lud_text){0};
    }
    lud_text_free(&note);
    lud_grid_edit_end_work(&w);
    free(l);
    return status;
}
