#include "base/options/tree_edit.h"

#include <stdlib.h>
#include <string.h>

/* Puts the changed text, which is then the text's, in the place of what was; without memory nothing changes.
 */
static lud_status put(lud_text *text, lud_text *changed, lud_error *error) {
    if (changed->failed) {
        lud_text_free(changed);
        return lud_no_memory(error, "a change of a text");
    }
    lud_text_free(text);
    *text = *changed;
    return LUD_OK;
}

lud_status lud_text_replace(lud_text *text, size_t begin, size_t end, const char *with, lud_error *error) {
    lud_text changed = {0};
    lud_text_append_bytes(&changed, text->bytes, begin);
    lud_text_append_bytes(&changed, with, strlen(with));
    lud_text_append_bytes(&changed, text->bytes + end, text->length - end);
    return put(text, &changed, error);
}

static bool is_known(const lud_text *text, const lud_tree *node) {
    return node && node->end > node->begin && node->end <= text->length;
}

static lud_status unknown(const lud_tree *node, lud_error *error) {
    if (!node) return lud_fail(error, LUD_ERROR_UNSUPPORTED, "what should be changed is not there");
    return lud_fail_at(error, LUD_ERROR_UNSUPPORTED, node->place,
                       "%.60s is not written where it can be changed in place", node->key ? node->key : "it");
}

lud_status lud_tree_edit_value(lud_text *text, const lud_tree *node, const char *with, lud_error *error) {
    if (!is_known(text, node)) return unknown(node, error);
    return lud_text_replace(text, node->begin, node->end, with, error);
}

char *lud_tree_edit_written(lud_arena *arena, const lud_text *text, const lud_tree *node) {
    return is_known(text, node) ? lud_arena_text(arena, text->bytes + node->begin, node->end - node->begin)
                                : lud_arena_text(arena, "", 0);
}

static bool in_brackets(const lud_text *text, const lud_tree *node) {
    return text->bytes[node->begin] == '{' || text->bytes[node->begin] == '[';
}

static size_t line_begin(const lud_text *text, size_t at) {
    while (at > 0 && text->bytes[at - 1] != '\n') at--;
    return at;
}

static size_t line_end(const lud_text *text, size_t at) {
    while (at < text->length && text->bytes[at] != '\n' && text->bytes[at] != '\r') at++;
    return at;
}

static const lud_tree *child_at(const lud_tree *list, size_t index) {
    const lud_tree *c = list->child;
    while (c && index--) c = c->next;
    return c;
}

/* Whether only blanks and a comment follow on the line. */
static bool ends_line(const lud_text *text, size_t at) {
    while (at < text->length && (text->bytes[at] == ' ' || text->bytes[at] == '\t')) at++;
    return at == text->length || text->bytes[at] == '\n' || text->bytes[at] == '\r' || text->bytes[at] == '#';
}

int lud_tree_edit_indent(const lud_text *text, const lud_tree *mapping) {
    if (!is_known(text, mapping) || in_brackets(text, mapping) || !mapping->child) return -1;
    const size_t key = mapping->child->key_begin;
    return (int)(key - line_begin(text, key));
}

lud_status lud_tree_edit_add_key(lud_text *text, const lud_tree *mapping, const char *after, const char *key,
                                 const char *value, lud_error *error) {
    if (!is_known(text, mapping)) return unknown(mapping, error);
    lud_text added = {0};
    const bool flow = in_brackets(text, mapping);
    const char *colon = *value == '\n' ? ":" : ": ";
    const lud_tree *at = mapping->child, *last = NULL;
    for (const lud_tree *c = mapping->child; c && after; c = c->next) {
        if (strcmp(c->key, after) != 0) continue;
        at = c->next ? c->next : at;
        last = c->next ? NULL : c;
    }
    if (at && (!is_known(text, at) || at->key_begin >= at->begin)) return unknown(at, error);
    const size_t first = at ? at->key_begin : 0;
    const int indent = (int)(first - line_begin(text, first));
    size_t place = at ? first : mapping->begin + 1;
    if (flow && last && is_known(text, last)) {
        place = last->end;
        lud_text_append(&added, ", %s%s%s", key, colon, value);
    } else if (flow) {
        lud_text_append(&added, at ? "%s%s%s, " : "%s%s%s", key, colon, value);
    } else if (last && is_known(text, last) && ends_line(text, last->end)) {
        place = line_end(text, last->end);
        lud_text_append(&added, "\n%*s%s%s%s", indent, "", key, colon, value);
    } else { /* a section without brackets has a key, and that begins at the column of all others */
        lud_text_append(&added, "%s%s%s\n%*s", key, colon, value, indent, "");
    }
    const lud_status status = added.failed ? lud_no_memory(error, "a change of a text")
                                           : lud_text_replace(text, place, place, added.bytes, error);
    lud_text_free(&added);
    return status;
}

/* The dash of an item that is written without brackets; SIZE_MAX: it is not on the line. */
static size_t dash_of(const lud_text *text, const lud_tree *item) {
    size_t at = item->begin;
    while (at > 0 && text->bytes[at - 1] == ' ') at--;
    return at > 0 && text->bytes[at - 1] == '-' ? at - 1 : SIZE_MAX;
}

/* What an item has of the text: without brackets to the end of the line, where nothing else is on it. */
static size_t item_end(const lud_text *text, const lud_tree *list, const lud_tree *item) {
    if (in_brackets(text, list) || !ends_line(text, item->end)) return item->end;
    return line_end(text, item->end);
}

static lud_status check_items(const lud_text *text, const lud_tree *list, lud_error *error) {
    if (!is_known(text, list)) return unknown(list, error);
    for (const lud_tree *c = list->child; c; c = c->next) {
        if (!is_known(text, c)) return unknown(c, error);
        if (!in_brackets(text, list) && dash_of(text, c) == SIZE_MAX) return unknown(c, error);
    }
    return LUD_OK;
}

lud_status lud_tree_edit_insert_item(lud_text *text, const lud_tree *list, size_t index, const char *value,
                                     lud_error *error) {
    LUD_TRY(check_items(text, list, error));
    lud_text added = {0};
    const bool flow = in_brackets(text, list);
    const lud_tree *at = child_at(list, index), *last = NULL;
    for (const lud_tree *c = list->child; c; c = c->next) last = c;
    size_t place;
    if (flow) {
        place = at ? at->begin : last ? last->end : list->begin + 1;
        lud_text_append(&added, at ? "%s, " : last ? ", %s" : "%s", value);
    } else {
        const size_t dash = dash_of(text, at ? at : last);
        const int indent = (int)(dash - line_begin(text, dash));
        place = at ? dash : item_end(text, list, last);
        if (at)
            lud_text_append(&added, "- %s\n%*s", value, indent, "");
        else
            lud_text_append(&added, "\n%*s- %s", indent, "", value);
    }
    const lud_status status = added.failed ? lud_no_memory(error, "a change of a text")
                                           : lud_text_replace(text, place, place, added.bytes, error);
    lud_text_free(&added);
    return status;
}

lud_status lud_tree_edit_remove_item(lud_text *text, const lud_tree *list, size_t index, lud_error *error) {
    LUD_TRY(check_items(text, list, error));
    const lud_tree *item = child_at(list, index), *before = index ? child_at(list, index - 1) : NULL;
    if (!item) return unknown(list, error);
    if (in_brackets(text, list)) {
        const size_t begin = item->next || !before ? item->begin : before->end;
        return lud_text_replace(text, begin, item->next ? item->next->begin : item->end, "", error);
    }
    const size_t dash = dash_of(text, item), begin = line_begin(text, dash);
    size_t end = item_end(text, list, item);
    if (list->n_children == 1) return lud_text_replace(text, dash, item->end, "[]", error);
    if (strspn(text->bytes + begin, " ") != dash - begin) /* the first of a list within a list */
        return item->next ? lud_text_replace(text, dash, dash_of(text, item->next), "", error)
                          : unknown(item, error);
    if (end < text->length && text->bytes[end] == '\r') end++;
    if (end < text->length && text->bytes[end] == '\n') end++;
    return lud_text_replace(text, begin, end, "", error);
}

lud_status lud_tree_edit_permute(lud_text *text, const lud_tree *list, const int *order, lud_error *error) {
    LUD_TRY(check_items(text, list, error));
    lud_text changed = {0};
    size_t done = 0, k = 0;
    for (const lud_tree *c = list->child; c; c = c->next, k++) {
        const lud_tree *from = child_at(list, (size_t)order[k]);
        if (!from) {
            lud_text_free(&changed);
            return unknown(list, error);
        }
        lud_text_append_bytes(&changed, text->bytes + done, c->begin - done);
        lud_text_append_bytes(&changed, text->bytes + from->begin, item_end(text, list, from) - from->begin);
        done = item_end(text, list, c);
    }
    lud_text_append_bytes(&changed, text->bytes + done, text->length - done);
    return put(text, &changed, error);
}
