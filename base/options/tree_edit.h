/* Changes of a YAML text at the places of a tree that was read from it, so that all else of the text stays as
 * it is, comments included.
 *
 * A tree tells where values stood when it was read: after a change the text is read anew before the next one.
 * Nodes whose place is not known (written elsewhere, under an alias) give LUD_ERROR_UNSUPPORTED. Who changes
 * a text checks what it reads as afterwards. */
#pragma once

#include "base/options/tree.h"
#include "base/text.h"

/* Puts `with` in the place of the bytes begin .. end - 1. */
lud_status lud_text_replace(lud_text *text, size_t begin, size_t end, const char *with, lud_error *error);
/* Puts `with` in the place of a value. */
lud_status lud_tree_edit_value(lud_text *text, const lud_tree *node, const char *with, lud_error *error);
/* The value, from the text. */
char *lud_tree_edit_written(lud_arena *arena, const lud_text *text, const lud_tree *node);
/* Where the keys of a section that has some are written in lines of their own: the column of their first
 * character, counted from 0. -1: in brackets. */
int lud_tree_edit_indent(const lud_text *text, const lud_tree *mapping);
/* Adds `key: value` to a section that has keys: behind the key `after` where that is one of its keys and not
 * the last, else before its first. */
lud_status lud_tree_edit_add_key(lud_text *text, const lud_tree *mapping, const char *after, const char *key,
                                 const char *value, lud_error *error);
/* Adds a value on one line to a list, as its item number `index`. */
lud_status lud_tree_edit_insert_item(lud_text *text, const lud_tree *list, size_t index, const char *value,
                                     lud_error *error);
/* Takes an item out of a list, with the comment on its last line. */
lud_status lud_tree_edit_remove_item(lud_text *text, const lud_tree *list, size_t index, lud_error *error);
/* Puts the items in another order, comments on their last lines with them: item k becomes what was item
 * order[k]. */
lud_status lud_tree_edit_permute(lud_text *text, const lud_tree *list, const int *order, lud_error *error);
